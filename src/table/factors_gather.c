/* factors_gather.c - a factor analysis whose coordinates several processes share: what they do alike, and all of it in one.
 *
 * Nothing but the sum is asked of the processes: a piece of coordinates is added up of zeros and the rows of whose they are.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/text.h"
#include "data/source/source.h"
#include "fit/fit.h"
#include "la/ops.h"
#include "table/factors.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1 << 16 };           /* numbers in one sum */
enum { MU, PSI, CONSTANT, BESIDE }; /* beside the K of F */

static int several(const fab_factors *f)
{
    return f->exec.comm && f->exec.comm->sum;
}

/* The smallest power of two that is a piece somewhere: one number for each power. */
fab_status fab_factors_agree_piece(fab_factors *f)
{
    enum { POWERS = 63 };
    double here[POWERS] = {0}, all = 0;
    int power = 0;
    if (!several(f)) return FAB_OK;
    while (power + 1 < POWERS && (int64_t)1 << (power + 1) <= f->piece) power++;
    here[power] = 1;
    FAB_TRY(f->exec.comm->sum(f->exec.comm->ctx, here, POWERS));
    for (int p = 0; p < POWERS; p++) all += here[p];
    f->whole.processes = (int64_t)all;
    for (power = 0; power + 1 < POWERS && !(here[power] > 0); power++) continue;
    f->piece = (int64_t)1 << power;
    return FAB_OK;
}

/* Rows from number `from` of q as a view. */
static fab_long rows_of_F(const fab_run *r, const fab_gauss *q, int64_t from, int64_t n)
{
    char *const F = q->F;
    return fab_long_rows(F + (size_t)(from * q->K) * r->ops->size, n, q->K);
}

/* n rows of q, from number `from`: what stands beside F, and F. */
static void put_rows(const fab_factors *f, const fab_run *r, const fab_gauss *q, int64_t from,
                     int64_t n, double *beside, double *F)
{
    const fab_long view = rows_of_F(r, q, from, n);
    int64_t c = 0;
    while (c < f->constants && f->constant[c] < from) c++;
    for (int64_t i = 0; i < n; i++, beside += BESIDE) {
        beside[MU] = q->mu[from + i];
        beside[PSI] = q->psi[from + i];
        beside[CONSTANT] = c < f->constants && f->constant[c] == from + i;
        c += beside[CONSTANT] > 0;
    }
    r->ops->get(r, &view, F);
}

static void take_rows(fab_factors *f, const fab_run *r, int64_t first, int64_t n,
                      const double *beside, const double *F)
{
    const fab_gauss *q = f->whole.q;
    const fab_long view = rows_of_F(r, q, first, n);
    for (int64_t i = 0; i < n; i++, beside += BESIDE) {
        q->mu[first + i] = beside[MU];
        q->psi[first + i] = beside[PSI];
        if (beside[CONSTANT] > 0) f->whole.places[f->constants++] = first + i;
    }
    r->ops->put(r, F, &view);
}

/* Piece by piece of the coordinates of all. */
static fab_status move_rows(fab_factors *f, const fab_run *r, const fab_gauss *q, double *piece,
                            int64_t rows)
{
    const fab_comm *c = f->exec.comm;
    const int64_t K = q->K, end = c->first_row + q->D, own = f->constants;
    int64_t found = 0;
    for (int64_t at = 0; at < c->total_rows; at += rows) {
        const int64_t n = c->total_rows - at < rows ? c->total_rows - at : rows;
        const int64_t lo = c->first_row > at ? c->first_row : at, hi = end < at + n ? end : at + n;
        double *const F = piece + n * BESIDE;
        memset(piece, 0, (size_t)(n * (K + BESIDE)) * sizeof *piece);
        f->constants = own;
        if (lo < hi)
            put_rows(f, r, q, lo - c->first_row, hi - lo, piece + (lo - at) * BESIDE,
                     F + (lo - at) * K);
        FAB_TRY(c->sum(c->ctx, piece, n * (K + BESIDE)));
        f->constants = found;
        if (f->whole.q) take_rows(f, r, at, n, piece, F);
        found = f->constants;
    }
    return FAB_OK;
}

static fab_status make_room(fab_factors *f, const fab_gauss *q, double **piece, int64_t rows)
{
    const int64_t D = f->exec.comm->total_rows;
    FAB_TRY(fab_alloc_array((void **)piece, rows * (q->K + BESIDE), sizeof **piece, f->who));
    if (f->exec.comm->first_row > 0) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&f->whole.places, D, 2 * sizeof *f->whole.places, f->who));
    return fab_gauss_create(&f->whole.q, q->form, q->type, D, q->K);
}

/* From here on the first process is alone. */
static void be_alone(fab_factors *f)
{
    f->columns += f->whole.D - f->D;
    f->D = f->whole.D;
    f->exec.comm = f->host.comm = NULL;
    fab_solver_free(f->solver);
    f->solver = NULL;
}

fab_status fab_factors_gather(fab_factors *f)
{
    const fab_gauss *q;
    fab_report found = {0};
    fab_run run = {0};
    double *piece = NULL;
    if (!several(f) || f->whole.D) return FAB_OK;
    FAB_TRY(fab_factors_result(f, &q));
    FAB_TRY(fab_factors_fit_report(f, &found));
    const int64_t rows = q->K + BESIDE < PIECE ? PIECE / (q->K + BESIDE) : 1;
    fab_status s = fab_run_init(&run, &f->host, q->type);
    if (s == FAB_OK) s = make_room(f, q, &piece, rows);
    s = fab_agree(f->exec.comm, s, 0, "");
    if (s == FAB_OK) s = move_rows(f, &run, q, piece, rows);
    fab_release(piece);
    if (s != FAB_OK) {
        fab_gauss_free(f->whole.q);
        fab_release(f->whole.places);
        f->whole.q = NULL;
        f->whole.places = NULL;
        return s;
    }
    f->whole.D = f->exec.comm->total_rows;
    f->whole.found = found;
    if (f->whole.q) be_alone(f);
    return FAB_OK;
}

static fab_status set_number(fab_tensors *t, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return fab_tensors_set(t, key, text);
}

fab_status fab_factors_describe_fit(const fab_factors *f, fab_tensors *t)
{
    char *settings;
    FAB_TRY(fab_settings_json(f->method->fields, fab_factors_settings(f), &settings));
    fab_status s = fab_tensors_set(t, "method", f->method->name);
    if (s == FAB_OK) s = fab_tensors_set(t, "settings", settings);
    fab_text_free(settings);
    FAB_TRY(s);
    FAB_TRY(set_number(t, "n", f->n));
    FAB_TRY(set_number(t, "seed", fab_factors_get(f, "seed")));
    return set_number(t, "processes", f->whole.processes);
}
