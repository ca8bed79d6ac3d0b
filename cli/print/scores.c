/* scores.c - loadings and factor scores as files.
 *
 * SPDX-License-Identifier: MIT */
#include "print/scores.h"
#include "print/csv.h"
#include "print/summary.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int loadings_write(fab_factors *f, const fab_rotation *r, const char *path)
{
    csv c;
    const fab_gauss *q;
    const fab_status s = fab_factors_result(f, &q);
    if (s != FAB_OK) return factors_failed("fa", s);
    double *row = malloc((size_t)(r->K + 1) * sizeof *row);
    if (!row) return say_failed("out of memory");
    if (csv_open(&c, path) != DONE) {
        free(row);
        return FAILED;
    }
    fputs("name", c.f);
    for (int64_t k = 0; k < r->K; k++) fprintf(c.f, ",factor%" PRId64, k + 1);
    fputs(r->standardised ? ",uniqueness\n" : ",psi\n", c.f);
    for (int64_t d = 0; d < r->D; d++) {
        fab_rotation_factors(r, q, d, 1, row);
        csv_name(c.f, fab_factors_name(f, d));
        for (int64_t k = 0; k < r->K; k++) fprintf(c.f, ",%.17g", row[k]);
        const double scale = r->scale ? r->scale[d] : 1;
        fprintf(c.f, ",%.17g\n", q->psi[d] * scale * scale);
    }
    free(row);
    return csv_close(&c, DONE);
}

/* ---- scores --------------------------------------------------------------------------------------- */

static int ends_in(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

int scores_check(const char *path)
{
    if (ends_in(path, ".npy") || ends_in(path, ".csv")) return DONE;
    return say_wrong("%s: the name of a file of scores ends in .npy or .csv", path);
}

typedef struct scorer {
    fab_factors *f;
    const fab_rotation *r;
    fab_source *source;
    double *z; /* a piece x K */
} scorer;

/* The scores of the next rows into s->z; *n = 0 at the end. */
static int next_scores(const scorer *s, int64_t *n)
{
    const fab_status status = fab_factors_scores(s->f, s->r, s->source, s->z, n);
    return status == FAB_OK ? DONE : factors_failed("scores", status);
}

static int write_npy(const scorer *s, const char *path, int64_t rows)
{
    fab_npy_writer *w = NULL;
    fab_status written = fab_npy_open(&w, path, FAB_F64, rows, s->r->K);
    if (written != FAB_OK) return say_status(written);
    int64_t n = 0;
    int status = next_scores(s, &n);
    while (status == DONE && n > 0 && written == FAB_OK) {
        written = fab_npy_append(w, s->z, n * s->r->K);
        if (written == FAB_OK) status = next_scores(s, &n);
    }
    if (status == DONE && written == FAB_OK) {
        written = fab_npy_close(w);
        return written == FAB_OK ? DONE : say_status(written);
    }
    fab_npy_discard(w);
    return status == DONE ? say_status(written) : status;
}

static int write_csv(const scorer *s, const char *path)
{
    csv c;
    const int64_t K = s->r->K;
    int64_t n = 0;
    if (csv_open(&c, path) != DONE) return FAILED;
    for (int64_t k = 0; k < K; k++) fprintf(c.f, "%sfactor%" PRId64, k ? "," : "", k + 1);
    fputc('\n', c.f);
    int status = next_scores(s, &n);
    while (status == DONE && n > 0) {
        for (int64_t i = 0; i < n * K; i++)
            fprintf(c.f, "%.17g%c", s->z[i], (i + 1) % K ? ',' : '\n');
        status = next_scores(s, &n);
    }
    return csv_close(&c, status);
}

int scores_write(fab_factors *f, const fab_rotation *r, const data_options *o, const char *path,
                 int64_t rows)
{
    scorer s = {.f = f, .r = r};
    int status = data_open(&s.source, o);
    if (status != DONE) return status;
    s.z = malloc((size_t)(fab_factors_piece(f) * r->K) * sizeof *s.z);
    if (!s.z)
        status = say_failed("no memory for the scores");
    else
        status = ends_in(path, ".npy") ? write_npy(&s, path, rows) : write_csv(&s, path);
    fab_source_close(s.source);
    free(s.z);
    return status;
}
