/* stream.c - learn the Gaussian of a table that is read once: stream DATA K [FILE].
 *
 * SPDX-License-Identifier: MIT */
#include <fabayes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1000 }; /* read at a time */

int main(int argc, char **argv)
{
    fab_source *source = NULL;
    fab_fit *f = NULL;
    const fab_gauss *q = NULL;
    int64_t got = 1;
    if (argc < 3) return fprintf(stderr, "usage: stream DATA K [FILE]\n"), 2;

    fab_status s = fab_source_open(&source, argv[1], NULL);
    const int64_t D = s == FAB_OK ? fab_source_columns(source) : 1;
    double *buffer = malloc(sizeof *buffer * ROWS * (size_t)D);
    const fab_recursive_em_settings settings = fab_recursive_em_defaults(atoll(argv[2]));
    if (s == FAB_OK)
        s = fab_fit_create(&f, "recursive-em", &settings, sizeof settings,
                           &(fab_input){.vectors = D}, NULL);
    while (s == FAB_OK && buffer && got > 0) {
        s = fab_source_next(source, ROWS, buffer, &got);
        const fab_rows rows = {buffer, FAB_F64, got, D};
        if (s == FAB_OK) s = fab_fit_update(f, &(fab_examples){.x = rows});
    }
    if (s == FAB_OK) s = fab_fit_gauss(f, &q);
    if (s == FAB_OK && argc > 3) s = fab_fit_save(f, argv[3], NULL);
    if (s == FAB_OK)
        printf("%lld rows, D = %lld, mu[0] = %.6g, psi[0] = %.6g\n", (long long)fab_fit_rows(f),
               (long long)q->D, q->mu[0], q->psi[0]);
    else
        fprintf(stderr, "%s\n", fab_detail());
    fab_fit_free(f);
    fab_source_close(source);
    free(buffer);
    return s != FAB_OK;
}
