/* scores.c - loadings and factor scores as files.
 *
 * The score of a row is E[z | x] = F' S^-1 (x - mu), with S = F F' + diag(psi): the same as
 * (I + F' psi^-1 F)^-1 F' psi^-1 (x - mu).
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "print/csv.h"
#include "factors.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- loadings ------------------------------------------------------------------------------------- */

int loadings_write(const factors *f, const data *d, const char *path)
{
    csv c;
    double *row = malloc((size_t)(f->K + 1) * sizeof *row);
    if (!row) return say_failed("out of memory");
    if (csv_open(&c, path) != DONE) {
        free(row);
        return FAILED;
    }
    fputs("name", c.f);
    for (int64_t k = 0; k < f->K; k++) fprintf(c.f, ",factor%" PRId64, k + 1);
    fputs(",psi\n", c.f);
    for (int64_t i = 0; i < f->D; i++) {
        factors_row(f, i, row);
        csv_name(c.f, data_name(d, i));
        for (int64_t k = 0; k < f->K; k++) fprintf(c.f, ",%.17g", row[k]);
        fprintf(c.f, ",%.17g\n", f->g->psi[i]);
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
    const factors *f;
    data data;
    fab_solver *solver;
    double *centred, *solved, *z; /* rows at once x D, x D, x K */
    int64_t done;
} scorer;

static int scorer_open(scorer *s, const factors *f, const fit *source)
{
    data_options o = source->data.o;
    int status = data_open(&s->data, &o);
    if (status != DONE) return status;
    s->f = f;
    if (s->data.D != f->D)
        return say_failed("%s: has changed while it was read: D = %" PRId64 ", and %" PRId64
                          " before",
                          o.file, s->data.D, f->D);
    const size_t n = (size_t)s->data.rows_at_once;
    s->centred = malloc(n * (size_t)f->D * sizeof *s->centred);
    s->solved = malloc(n * (size_t)f->D * sizeof *s->solved);
    s->z = malloc(n * (size_t)f->K * sizeof *s->z);
    if (!s->centred || !s->solved || !s->z) return say_failed("no memory for the scores");
    const fab_status made = fab_solver_init(&s->solver, f->g, &source->exec);
    return made == FAB_OK ? DONE : say_status(made);
}

static void scorer_close(scorer *s)
{
    data_close(&s->data);
    fab_solver_free(s->solver);
    free(s->centred);
    free(s->solved);
    free(s->z);
}

/* z = F' y, F row-major in either type */
static void project(const fab_gauss *g, const double *y, double *z)
{
    const int64_t K = g->K;
    memset(z, 0, (size_t)K * sizeof *z);
    for (int64_t d = 0; d < g->D; d++) {
        const double *F64 = (const double *)g->F + d * K;
        const float *F32 = (const float *)g->F + d * K;
        for (int64_t k = 0; k < K; k++)
            z[k] += y[d] * (g->type == FAB_F32 ? (double)F32[k] : F64[k]);
    }
}

/* The scores of the next rows into s->z; *n = 0 at the end. */
static int next_scores(scorer *s, int64_t *n)
{
    const fab_gauss *g = s->f->g;
    fab_rows rows;
    const int status = data_next(&s->data, INT64_MAX, &rows);
    *n = rows.n;
    if (status != DONE || rows.n == 0) return status;
    for (int64_t j = 0; j < rows.n; j++)
        for (int64_t d = 0; d < g->D; d++)
            s->centred[j * g->D + d] = ((const double *)rows.p)[j * rows.ld + d] - g->mu[d];
    const fab_rows x = {s->centred, FAB_F64, rows.n, g->D};
    const fab_status solved = fab_solver_times_precision(s->solver, &x, s->solved);
    if (solved != FAB_OK) return say_status(solved);
    for (int64_t j = 0; j < rows.n; j++) project(g, s->solved + j * g->D, s->z + j * g->K);
    factors_turn(s->f, s->z, rows.n);
    s->done += rows.n;
    return data_tick(&s->data, "scores") ? say_failed("scores: stopped") : DONE;
}

static int write_npy(scorer *s, const char *path, int64_t rows)
{
    fab_npy_writer *w = NULL;
    fab_status written = fab_npy_open(&w, path, FAB_F64, rows, s->f->K);
    if (written != FAB_OK) return say_status(written);
    int64_t n = 0;
    int status = next_scores(s, &n);
    while (status == DONE && n > 0 && written == FAB_OK) {
        written = fab_npy_append(w, s->z, n * s->f->K);
        if (written == FAB_OK) status = next_scores(s, &n);
    }
    if (status == DONE && written == FAB_OK) {
        written = fab_npy_close(w);
        return written == FAB_OK ? DONE : say_status(written);
    }
    fab_npy_discard(w);
    return status == DONE ? say_status(written) : status;
}

static int write_csv(scorer *s, const char *path)
{
    csv c;
    const int64_t K = s->f->K;
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

int scores_write(const factors *f, const fit *source, const char *path, int64_t rows)
{
    scorer s = {0};
    int status = scorer_open(&s, f, source);
    if (status == DONE)
        status = ends_in(path, ".npy") ? write_npy(&s, path, rows) : write_csv(&s, path);
    scorer_close(&s);
    return status;
}
