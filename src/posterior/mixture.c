/* mixture.c - density, draws and moments of a weighted set of Gaussians.
 *
 *   1  log p(x) = log sum_j w_j p_j(x), by the largest term
 *   2  draw number i comes from the part where the uniform u_i falls among the cumulated weights
 *   3  mean = sum w_j mu_j,  variance = sum w_j (v_j + (mu_j - mean)^2)
 *   4  KL(a || b) = mean of log a(x) - log b(x) over draws x of a, its standard error that of a mean
 *   5  parts of two mixtures in pairs: the nearest means first, in standard deviations of the second
 *
 * SPDX-License-Identifier: MIT */
#include "posterior/mixture.h"
#include "base/fail.h"
#include "base/memory.h"
#include <math.h>
#include <string.h>

#define WEIGHT_TOLERANCE 1e-9
#define PART_STREAM      UINT64_MAX /* draws use streams from 0 on */

fab_status fab_mixture_check(const fab_mixture *m)
{
    if (m->n < 1)
        return FAB_FAIL(FAB_BAD_DATA, "mixture: %lld parts, expected at least 1", (long long)m->n);
    double sum = 0;
    for (int64_t j = 0; j < m->n; j++) {
        const fab_gauss *g = m->part[j], *g0 = m->part[0];
        if (!(m->weight[j] >= 0))
            return FAB_FAIL(FAB_BAD_DATA, "mixture: weight %lld is %g, expected >= 0", (long long)j,
                            m->weight[j]);
        if (g->D != g0->D || g->total != g0->total)
            return FAB_FAIL(
                FAB_BAD_DATA,
                "mixture: part %lld has D = %lld of a theta of %lld, part 0 has D = %lld of %lld",
                (long long)j, (long long)g->D, (long long)(g->total ? g->total : g->D),
                (long long)g0->D, (long long)(g0->total ? g0->total : g0->D));
        sum += m->weight[j];
    }
    if (!(fabs(sum - 1) <= WEIGHT_TOLERANCE))
        return FAB_FAIL(FAB_BAD_DATA, "mixture: the weights sum to %.12g, expected 1", sum);
    return FAB_OK;
}

/* Do `verb` with a solver of part j. */
typedef fab_status part_fn(fab_solver *s, const fab_mixture *m, int64_t j, void *ctx);

static fab_status each_part(const fab_mixture *m, const fab_exec *e, part_fn *verb, void *ctx)
{
    FAB_TRY(fab_mixture_check(m));
    for (int64_t j = 0; j < m->n; j++) {
        fab_solver *s;
        FAB_TRY(fab_solver_create(&s, m->part[j], e));
        const fab_status status = verb(s, m, j, ctx);
        fab_solver_free(s);
        FAB_TRY(status);
    }
    return FAB_OK;
}

/* ---- density ---------------------------------------------------------------------------------- */

typedef struct density {
    const fab_rows *x;
    double *out, *one; /* x->n each */
} density;

static double log_add(double a, double b) /* log(e^a + e^b) */
{
    const double high = a > b ? a : b, low = a > b ? b : a;
    return high == -INFINITY ? high : high + log1p(exp(low - high));
}

static fab_status add_density(fab_solver *s, const fab_mixture *m, int64_t j, void *ctx)
{
    const density *d = ctx;
    FAB_TRY(fab_solver_logpdf(s, d->x, d->one));
    for (int64_t i = 0; i < d->x->n; i++)
        d->out[i] = log_add(d->out[i], log(m->weight[j]) + d->one[i]); /* 1 */
    return FAB_OK;
}

fab_status fab_mixture_logpdf(const fab_mixture *m, const fab_rows *x, const fab_exec *e,
                              double *out)
{
    density d = {.x = x, .out = out};
    if (x->n < 0) return FAB_FAIL(FAB_BAD_ARGUMENT, "density: %lld rows", (long long)x->n);
    FAB_TRY(fab_alloc_array((void **)&d.one, x->n, sizeof *d.one, "mixture"));
    for (int64_t i = 0; i < x->n; i++) out[i] = -INFINITY;
    const fab_status s = each_part(m, e, add_density, &d);
    fab_release(d.one);
    return s;
}

/* ---- draws ------------------------------------------------------------------------------------ */

typedef struct draws {
    uint64_t seed;
    fab_purpose purpose;
    int64_t first, n, ld;
    fab_dtype type;
    void *out;
    int64_t *from;
} draws;

int64_t fab_mixture_part(const fab_mixture *m, uint64_t seed, fab_purpose purpose, int64_t number)
{
    double u, sum = 0;
    int64_t j = 0;
    fab_random_uniform(seed, purpose, PART_STREAM, (uint64_t)number, 1, &u);
    for (; j < m->n - 1; j++) { /* 2 */
        sum += m->weight[j];
        if (u < sum) break;
    }
    return j;
}

static fab_status draw_part(fab_solver *s, const fab_mixture *m, int64_t j, void *ctx)
{
    const draws *d = ctx;
    (void)m;
    const int64_t size = d->type == FAB_F32 ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    for (int64_t i = 0; i < d->n;) { /* runs of draws that belong to this part */
        int64_t end = i;
        while (end < d->n && d->from[end] == j) end++;
        if (end > i)
            FAB_TRY(fab_solver_sample(s, d->seed, d->purpose, d->first + i, end - i, d->type,
                                      (char *)d->out + i * d->ld * size, d->ld));
        i = end > i ? end : i + 1;
    }
    return FAB_OK;
}

fab_status fab_mixture_sample(const fab_mixture *m, uint64_t seed, fab_purpose purpose,
                              int64_t first, int64_t n, fab_dtype type, void *out, int64_t ld,
                              int64_t *from, const fab_exec *e)
{
    if (n < 0 || first < 0 || first > INT64_MAX - n)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "sample: %lld draws from number %lld", (long long)n,
                        (long long)first);
    FAB_TRY(fab_mixture_check(m));
    draws d = {seed, purpose, first, n, ld, type, out, from};
    int64_t *own = NULL;
    if (!from) FAB_TRY(fab_alloc_array((void **)&own, n, sizeof *own, "mixture"));
    if (!from) d.from = own;
    for (int64_t i = 0; i < n; i++) d.from[i] = fab_mixture_part(m, seed, purpose, first + i);
    const fab_status s = each_part(m, e, draw_part, &d);
    fab_release(own);
    return s;
}

/* ---- moments ---------------------------------------------------------------------------------- */

typedef struct moments {
    double *mean, *variance, *one; /* D */
} moments;

static fab_status add_moments(fab_solver *s, const fab_mixture *m, int64_t j, void *ctx)
{
    const moments *a = ctx;
    const fab_gauss *g = m->part[j];
    const double w = m->weight[j];
    memset(a->one, 0, (size_t)g->D * sizeof *a->one);
    if (g->form != FAB_FORM_POINT) FAB_TRY(fab_solver_variances(s, a->one));
    for (int64_t i = 0; i < g->D; i++) {
        const double d = g->mu[i] - a->mean[i];
        a->variance[i] += w * (a->one[i] + d * d); /* 3 */
    }
    return FAB_OK;
}

fab_status fab_mixture_moments(const fab_mixture *m, const fab_exec *e, double *mean,
                               double *variance)
{
    FAB_TRY(fab_mixture_check(m));
    const int64_t D = m->part[0]->D;
    moments a = {mean, variance, NULL};
    FAB_TRY(fab_alloc_array((void **)&a.one, D, sizeof *a.one, "mixture"));
    memset(mean, 0, (size_t)D * sizeof *mean);
    memset(variance, 0, (size_t)D * sizeof *variance);
    for (int64_t j = 0; j < m->n; j++)
        for (int64_t i = 0; i < D; i++) mean[i] += m->weight[j] * m->part[j]->mu[i];
    const fab_status s = each_part(m, e, add_moments, &a);
    fab_release(a.one);
    return s;
}

/* ---- two mixtures ------------------------------------------------------------------------------- */

static fab_status check_two(const fab_mixture *a, const fab_mixture *b)
{
    FAB_TRY(fab_mixture_check(a));
    FAB_TRY(fab_mixture_check(b));
    if (a->part[0]->D == b->part[0]->D && a->part[0]->total == b->part[0]->total) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "mixtures of D = %lld and D = %lld cannot be compared",
                    (long long)a->part[0]->D, (long long)b->part[0]->D);
}

enum { DRAWS = 512 }; /* at a time */

fab_status fab_mixture_kl(const fab_mixture *a, const fab_mixture *b, uint64_t seed, int64_t n,
                          const fab_exec *x, double *kl, double *se)
{
    double *row, mean = 0, square = 0;
    if (n < 2)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "KL by %lld draws, expected at least 2", (long long)n);
    FAB_TRY(check_two(a, b));
    const int64_t D = a->part[0]->D;
    if (a->part[0]->total)
        return FAB_FAIL(FAB_UNSUPPORTED, "KL of mixtures over part of theta is not offered");
    FAB_TRY(fab_alloc_array((void **)&row, DRAWS * (D + 2), sizeof *row, "KL of mixtures"));
    double *la = row + DRAWS * D, *lb = la + DRAWS;
    fab_status s = FAB_OK;
    for (int64_t first = 0, m; first < n && s == FAB_OK; first += m) {
        m = n - first < DRAWS ? n - first : DRAWS;
        const fab_rows rows = {.p = row, .type = FAB_F64, .n = m, .ld = D};
        s = fab_mixture_sample(a, seed, FAB_PURPOSE_SAMPLE, first, m, FAB_F64, row, D, NULL, x);
        if (s == FAB_OK) s = fab_mixture_logpdf(a, &rows, x, la);
        if (s == FAB_OK) s = fab_mixture_logpdf(b, &rows, x, lb);
        for (int64_t j = 0; j < m && s == FAB_OK; j++) { /* 4, by Welford's recursion */
            const double l = la[j] - lb[j], d = l - mean;
            mean += d / (double)(first + j + 1);
            square += d * (l - mean);
        }
    }
    fab_release(row);
    *kl = mean;
    *se = sqrt(square / (double)(n - 1) / (double)n);
    return s;
}

/* 5 */
static void pair_up(const fab_mixture *a, const fab_mixture *b, const double *variance,
                    int64_t *match, double *distance, double *far, int64_t *taken)
{
    const int64_t D = a->part[0]->D;
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t j = 0; j < b->n; j++) {
            double q = 0;
            for (int64_t d = 0; d < D; d++) {
                const double e = a->part[i]->mu[d] - b->part[j]->mu[d];
                q += variance[d] > 0 ? e * e / variance[d] : 0;
            }
            far[i * b->n + j] = sqrt(q / (double)D);
        }
    for (int64_t i = 0; i < a->n; i++) match[i] = -1;
    for (int64_t j = 0; j < b->n; j++) taken[j] = 0;
    for (int64_t pairs = a->n < b->n ? a->n : b->n; pairs > 0; pairs--) {
        int64_t best = -1, with = -1;
        for (int64_t i = 0; i < a->n; i++)
            for (int64_t j = 0; j < b->n && match[i] < 0; j++)
                if (!taken[j] && (best < 0 || far[i * b->n + j] < far[best * b->n + with]))
                    best = i, with = j;
        if (best < 0) break;
        match[best] = with;
        taken[with] = 1;
    }
    for (int64_t i = 0; i < a->n && distance; i++)
        distance[i] = match[i] < 0 ? NAN : far[i * b->n + match[i]];
}

fab_status fab_mixture_match(const fab_mixture *a, const fab_mixture *b, const fab_exec *x,
                             int64_t *match, double *distance)
{
    double *block;
    int64_t *taken;
    FAB_TRY(check_two(a, b));
    const int64_t D = a->part[0]->D;
    FAB_TRY(fab_alloc_array((void **)&block, 2 * D + a->n * b->n, sizeof *block, "matching"));
    fab_status s = fab_alloc_array((void **)&taken, b->n, sizeof *taken, "matching");
    if (s == FAB_OK) {
        s = fab_mixture_moments(b, x, block, block + D);
        if (s == FAB_OK) pair_up(a, b, block + D, match, distance, block + 2 * D, taken);
        fab_release(taken);
    }
    fab_release(block);
    return s;
}
