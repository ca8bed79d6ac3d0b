/* main.c - the smallest program that uses an installed fabayes: it proves headers and linking.
 *
 * SPDX-License-Identifier: MIT */
#include <fabayes/random.h>
#include <stdio.h>

int main(void)
{
    double u[2], again;
    fab_random_uniform(7, FAB_PURPOSE_DATA, 0, 0, 2, u);
    fab_random_uniform(7, FAB_PURPOSE_DATA, 0, 1, 1, &again);
    printf("fabayes %s: %.6f %.6f\n", fab_version(), u[0], u[1]);
    return again == u[1] ? 0 : 1;
}
