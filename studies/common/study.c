/* study.c - what the studies in C share.
 *
 * SPDX-License-Identifier: MIT */
#include "study.h"
#include <stdio.h>
#include <stdlib.h>

void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "%s\n", fab_detail());
    exit(1);
}

double *numbers(int64_t n)
{
    double *p = calloc((size_t)n, sizeof *p);
    if (!p) exit(1);
    return p;
}
