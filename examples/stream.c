/* stream.c - learn the Gaussian of a table that is read once: stream DATA K|auto [FILE].
 *
 * SPDX-License-Identifier: MIT */
#include <fabayes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    fab_factors_plan plan = {0}; /* online-ml, or recursive-em above D = 1000, with its defaults */
    fab_factors *f = NULL;
    const fab_gauss *q = NULL;
    fab_fa_report report = {0};
    if (argc < 3) return fprintf(stderr, "usage: stream DATA K|auto [FILE]\n"), 2;

    plan.K = strcmp(argv[2], "auto") == 0 ? FAB_AUTO_I64 : atoll(argv[2]);
    fab_status s = fab_source_open(&plan.source, argv[1], NULL);
    if (s == FAB_OK) s = fab_factors_create(&f, &plan, NULL);
    if (s == FAB_OK) s = fab_factors_read(f);
    if (s == FAB_OK) s = fab_factors_result(f, &q);
    if (s == FAB_OK) s = fab_factors_report(f, &report);
    if (s == FAB_OK && argc > 3) s = fab_factors_save(f, argv[3]);
    if (s == FAB_OK)
        printf("%lld rows, D = %lld, K = %lld, mu[0] = %.6g, psi[0] = %.6g\n", (long long)report.n,
               (long long)q->D, (long long)q->K, q->mu[0], q->psi[0]);
    else
        fprintf(stderr, "%s\n", fab_detail());
    fab_factors_free(f);
    fab_source_close(plan.source);
    return s != FAB_OK;
}
