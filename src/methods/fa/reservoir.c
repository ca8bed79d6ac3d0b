/* reservoir.c - rows that a stream holds, drawn at random from all that came.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/fa/reservoir.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/settings.h"
#include <math.h>
#include <string.h>

#define MOST_SIZE 1e12 /* squared deviation over variance: of a column that wakes up */
enum { HELD_BYTES = 4000000, LEAST_HELD = 10, MOST_HELD = 10000 };

int64_t fab_reservoir_room(int64_t held, int64_t D)
{
    if (!fab_is_auto_i64(held)) return held;
    const int64_t fit = HELD_BYTES / 8 / D;
    if (fit < LEAST_HELD) return LEAST_HELD;
    return fit < MOST_HELD ? fit : MOST_HELD;
}

void fab_reservoir_layout(fab_layout *l, fab_reservoir *r)
{
    r->rows = fab_place(l, r->room * r->D, sizeof *r->rows);
    r->key = fab_place(l, r->room, sizeof *r->key);
    r->weight = fab_place(l, r->room, sizeof *r->weight);
    r->size = fab_place(l, r->room, sizeof *r->size);
    r->row = fab_place(l, r->room, sizeof *r->row);
    const int64_t D = r->room ? r->D : 0;
    r->mean = fab_place(l, D, sizeof *r->mean);
    r->var = fab_place(l, D, sizeof *r->var);
    r->x = fab_place(l, D, sizeof *r->x);
    r->tau = FAB_RESERVOIR_ALL;
}

/* Row slot i of the heap changes places with slot j. */
static void swap(fab_reservoir *r, int64_t i, int64_t j)
{
    const double key = r->key[i], weight = r->weight[i], size = r->size[i];
    const int64_t row = r->row[i];
    r->key[i] = r->key[j], r->weight[i] = r->weight[j], r->size[i] = r->size[j];
    r->row[i] = r->row[j];
    r->key[j] = key, r->weight[j] = weight, r->size[j] = size, r->row[j] = row;
}

static void sink(fab_reservoir *r, int64_t i)
{
    for (;;) {
        int64_t top = i;
        for (int64_t child = 2 * i + 1; child <= 2 * i + 2 && child < r->n; child++)
            if (r->key[child] > r->key[top]) top = child;
        if (top == i) return;
        swap(r, i, top);
        i = top;
    }
}

static void rise(fab_reservoir *r, int64_t i)
{
    while (i > 0 && r->key[i] > r->key[(i - 1) / 2]) {
        swap(r, i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

/* log s of the row in x, of weight w; mean and var move on. */
static double size_of(fab_reservoir *r, double w)
{
    double sum = 0, count = 0;
    r->seen = (r->forget < 1 ? pow(r->forget, w) : 1) * r->seen + w;
    const double g = w / r->seen;
    double *mean = r->mean, *var = r->var;
    const double *x = r->x;
#pragma omp simd reduction(+ : sum, count)
    for (int64_t i = 0; i < r->D; i++) {
        const double v = var[i], e = x[i] - mean[i], q = e * e / (v > 0 ? v : 1);
        const double most = q < MOST_SIZE ? q : MOST_SIZE;
        sum += v > 0 ? most : 0;
        count += v > 0 ? 1 : 0;
        mean[i] += g * e;
        var[i] = (1 - g) * (v + g * e * e);
    }
    return count > 0 ? log1p(sum / count) : 0;
}

void fab_reservoir_offer(fab_reservoir *r, const fab_rows *rows, int64_t j, double w)
{
    double u;
    if (r->room == 0) return;
    fab_rows_get(rows, j, r->D, r->x);
    fab_random_uniform((uint64_t)r->seed, FAB_PURPOSE_HELD, 0, (uint64_t)r->offered++, 1, &u);
    if (r->forget < 1) r->age -= w * log(r->forget);
    const double a = log(w) + r->age, size = r->unsized ? 0 : size_of(r, w);
    const double key = log(-log(u)) - a - size;
    const int full = r->n == r->room;
    if (full) {
        const double out = key < r->key[0] ? r->key[0] : key; /* the largest goes */
        if (out < r->tau) r->tau = out;
        if (!(key < r->key[0])) return;
    }
    const int64_t at = full ? 0 : r->n;
    if (!full) r->row[at] = r->n++;
    r->key[at] = key;
    r->weight[at] = a;
    r->size[at] = size;
    memcpy(r->rows + r->row[at] * r->D, r->x, (size_t)r->D * sizeof *r->x);
    if (full)
        sink(r, at);
    else
        rise(r, at);
}

/* The probability that the row of slot i is here. */
static double chosen(const fab_reservoir *r, int64_t i)
{
    return -expm1(-exp(r->weight[i] + r->size[i] + r->tau));
}

/* z of every row held, by slot of the heap, and its mean over all rows. */
static fab_status sizes(const fab_reservoir *r, const double *mu, const double *variance,
                        const fab_exec *x, double *z, double *mean)
{
    const int64_t D = r->D;
    fab_run sum = {0};
    if (x && x->comm) sum.comm = *x->comm;
    *mean = 0;
    for (int64_t d = 0; d < D; d++) *mean += variance[d] > 0;
    for (int64_t i = 0; i < r->n; i++) {
        const double *row = r->rows + r->row[i] * D;
        z[i] = 0;
        for (int64_t d = 0; d < D; d++) {
            const double e = row[d] - mu[d];
            if (variance[d] > 0) z[i] += e * e / variance[d];
        }
    }
    FAB_TRY(fab_sum(&sum, mean, 1));
    return fab_sum(&sum, z, r->n);
}

/* Mean of l and its standard error, from the rows held, their z, and the mean of z over all rows. */
static void estimate(const fab_reservoir *r, const double *l, const double *z, double z_mean,
                     fab_report *report)
{
    double top = -INFINITY, sum = 0, ml = 0, mz = 0, lz = 0, zz = 0, spread = 0;
    for (int64_t i = 0; i < r->n; i++) top = fmax(top, r->weight[i]);
    for (int64_t i = 0; i < r->n; i++) {
        const double h = exp(r->weight[i] - top) / chosen(r, i);
        sum += h;
        ml += h * (l[i] - ml) / sum;
        mz += h * (z[i] - mz) / sum;
    }
    for (int64_t i = 0; i < r->n;
         i++) { /* what a row has in the variance below: none that is surely here */
        const double p = chosen(r, i), h = exp(r->weight[i] - top) / p, part = (1 - p) * h * h;
        lz += part * (l[i] - ml) * (z[i] - mz);
        zz += part * (z[i] - mz) * (z[i] - mz);
    }
    const double slope = zz > 0 ? lz / zz : 0;
    for (int64_t i = 0; i < r->n; i++) {
        const double p = chosen(r, i), d = l[i] - ml - slope * (z[i] - mz);
        const double part = exp(r->weight[i] - top) / p * d / sum;
        spread += (1 - p) * part * part;
    }
    report->loglik_mean = ml - slope * (mz - z_mean);
    report->loglik_se = sqrt(spread);
    report->loglik_rows = r->n;
}

fab_status fab_reservoir_loglik(const fab_reservoir *r, const fab_gauss *q, const double *variance,
                                const fab_exec *x, fab_report *report)
{
    fab_solver *solver = NULL;
    double *l, *z, *ordered, z_mean = 0;
    report->loglik_mean = report->loglik_se = NAN;
    report->loglik_rows = 0;
    if (r->n == 0) return FAB_OK;
    fab_status s = fab_alloc_array((void **)&l, 3 * r->n, sizeof *l, "log-likelihood");
    const int made = s == FAB_OK;
    s = fab_agree(x ? x->comm : NULL, s, 0, "");
    if (made && s != FAB_OK) fab_release(l);
    FAB_TRY(s);
    z = l + r->n, ordered = z + r->n;
    const fab_rows rows = {r->rows, FAB_F64, r->n, r->D};
    s = fab_solver_create(&solver, q, x);
    if (s == FAB_OK) s = fab_solver_logpdf(solver, &rows, ordered);
    fab_solver_free(solver);
    if (s == FAB_OK) s = sizes(r, q->mu, variance, x, z, &z_mean);
    if (s == FAB_OK) {
        for (int64_t i = 0; i < r->n; i++) l[i] = ordered[r->row[i]];
        estimate(r, l, z, z_mean, report);
    }
    fab_release(l);
    return s;
}

/* ---- files ------------------------------------------------------------------------------------ */

static fab_states state_of(fab_reservoir *r)
{
    return (fab_states){{{"state.held", FAB_F64, r->n, r->D, r->rows},
                         {"state.held_key", FAB_F64, r->n, 0, r->key},
                         {"state.held_weight", FAB_F64, r->n, 0, r->weight},
                         {"state.held_size", FAB_F64, r->n, 0, r->size},
                         {"state.held_row", FAB_I64, r->n, 0, r->row},
                         {"state.held_mean", FAB_F64, r->D, 0, r->mean},
                         {"state.held_variance", FAB_F64, r->D, 0, r->var},
                         {"state.held_seen", FAB_F64, 1, 0, &r->seen},
                         {"state.held_offered", FAB_I64, 1, 0, &r->offered},
                         {"state.held_age", FAB_F64, 1, 0, &r->age},
                         {"state.held_tau", FAB_F64, 1, 0, &r->tau}}};
}

fab_status fab_reservoir_save(fab_reservoir *r, fab_tensors *t)
{
    const fab_states all = state_of(r);
    return r->room ? fab_states_save(&all, t) : FAB_OK;
}

fab_status fab_reservoir_load(fab_reservoir *r, const fab_tensors *t)
{
    const fab_tensor *held = fab_tensors_find(t, "state.held");
    if (r->room == 0) return FAB_OK;
    if (!held || held->ndim != 2 || held->shape[0] < 0 || held->shape[0] > r->room)
        return FAB_FAIL(FAB_BAD_FILE,
                        "there is no tensor 'state.held' of at most %lld rows to continue from",
                        (long long)r->room);
    r->n = held->shape[0];
    const fab_states all = state_of(r);
    FAB_TRY(fab_states_load(&all, t));
    const fab_rows rows = {r->rows, FAB_F64, r->n, r->D};
    const fab_rows key = {r->key, FAB_F64, 1, r->n}, weight = {r->weight, FAB_F64, 1, r->n},
                   size = {r->size, FAB_F64, 1, r->n};
    if (fab_rows_check("state.held", &rows, r->D) != FAB_OK ||
        fab_rows_check("state.held_key", &key, r->n) != FAB_OK ||
        fab_rows_check("state.held_weight", &weight, r->n) != FAB_OK ||
        fab_rows_check("state.held_size", &size, r->n) != FAB_OK)
        return FAB_BAD_FILE;
    int fits = r->seen >= 0;
    for (int64_t i = 0; i < r->D; i++) fits = fits && r->var[i] >= 0;
    for (int64_t i = 0; i < r->n; i++) fits = fits && r->row[i] >= 0 && r->row[i] < r->n;
    if (!fits || r->offered < r->n || !isfinite(r->age) || !isfinite(r->tau))
        return FAB_FAIL(FAB_BAD_FILE, "the numbers of the rows held do not fit one another");
    return FAB_OK;
}
