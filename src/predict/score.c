/* score.c - how good predictions are: densities, errors, coverage, calibration.
 *
 * SPDX-License-Identifier: MIT */
#include "predict/score.h"
#include "base/memory.h"
#include "model/likelihoods/likelihood.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAR_ABOVE_0 1e-6 /* a log probability may exceed 0 by rounding */

enum { BINS = 15 };
/* Operations, for whoever watches: of a row's density, of a probability that is made or counted, of a row that is
 * sorted, of one that is merged or read. */
enum { DENSITY_WORK = 1000, PROBABILITY_WORK = 100, SORT_WORK = 100, READ_WORK = 20 };
enum { PIECE = 1 << 15 }; /* rows that are sorted without a question */

void fab_score_coverage(double cdf, fab_scores *s)
{
    const double inside = fabs(2 * cdf - 1); /* of the central interval that reaches y */
    s->coverage50 += inside <= 0.50;
    s->coverage90 += inside <= 0.90;
    s->coverage95 += inside <= 0.95;
}

/* ---- classes -------------------------------------------------------------------------------------------- */

typedef struct scored {
    double p, y;
} scored;

static int by_p(const void *a, const void *b)
{
    const double p = ((const scored *)a)->p, q = ((const scored *)b)->p;
    return (p > q) - (p < q);
}

/* Of a (n), in the order of p: pieces, which are then merged two by two.  room: n more. */
static fab_status sort_by_p(scored *a, scored *room, int64_t n, fab_watch *w)
{
    scored *from = a, *to = room;
    for (int64_t first = 0; first < n; first += PIECE) {
        const int64_t count = n - first < PIECE ? n - first : PIECE;
        qsort(a + first, (size_t)count, sizeof *a, by_p);
        FAB_TRY(fab_watch_work(w, SORT_WORK * (double)count, "score: order", first, n));
    }
    for (int64_t width = PIECE; width < n; width *= 2) {
        for (int64_t first = 0; first < n; first += 2 * width) {
            const int64_t middle = first + width < n ? first + width : n;
            const int64_t end = middle + width < n ? middle + width : n;
            int64_t i = first, j = middle;
            for (int64_t k = first; k < end; k++) {
                const int left = j == end || (i < middle && from[i].p <= from[j].p);
                to[k] = left ? from[i++] : from[j++];
                FAB_TRY(fab_watch_work(w, READ_WORK, "score: order", k, n));
            }
        }
        scored *const merged = to;
        to = from;
        from = merged;
    }
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
    return FAB_OK;
}

/* The chance that a 1 has a larger p than a 0, equal ones counting half: by ranks. */
static fab_status area(scored *a, scored *room, int64_t n, fab_watch *w, double *area)
{
    double ranks = 0, ones = 0;
    FAB_TRY(sort_by_p(a, room, n, w));
    for (int64_t i = 0; i < n;) {
        int64_t end = i;
        while (end < n && a[end].p == a[i].p) end++;
        for (int64_t j = i; j < end; j++)
            if (a[j].y > 0) {
                ranks += (double)(i + 1 + end) / 2;
                ones++;
            }
        FAB_TRY(fab_watch_work(w, READ_WORK * (double)(end - i), "score: ranks", i, n));
        i = end;
    }
    *area = (ranks - ones * (ones + 1) / 2) / (ones * ((double)n - ones));
    return FAB_OK;
}

/* sum over bins of |right - confidence| */
typedef struct bins {
    double gap[BINS];
} bins;

static void put_in_bin(bins *b, double confidence, int right)
{
    const int at = (int)(confidence * BINS);
    b->gap[at < BINS ? at : BINS - 1] += right - confidence;
}

static double calibration_error(const bins *b, int64_t n)
{
    double sum = 0;
    for (int i = 0; i < BINS; i++) sum += fabs(b->gap[i]);
    return sum / (double)n;
}

static fab_status score_pairs(scored *a, int64_t n, fab_watch *w, fab_scores *s)
{
    bins b = {{0}};
    for (int64_t i = 0; i < n; i++) {
        FAB_TRY(fab_watch_work(w, PROBABILITY_WORK, "score", i, n));
        const int says = a[i].p >= 0.5, right = says == (a[i].y > 0);
        s->accuracy += right;
        s->brier += (a[i].p - a[i].y) * (a[i].p - a[i].y);
        put_in_bin(&b, says ? a[i].p : 1 - a[i].p, right);
    }
    s->accuracy /= (double)n;
    s->brier /= (double)n;
    s->ece = calibration_error(&b, n);
    return area(a, a + n, n, w, &s->auc);
}

fab_status fab_score_probabilities(int64_t n, const double *p, const double *y, fab_watch *w,
                                   fab_scores *s)
{
    scored *a; /* and room */
    FAB_TRY(fab_alloc_array((void **)&a, 2 * n, sizeof *a, "score"));
    for (int64_t i = 0; i < n; i++) a[i] = (scored){p[i], y[i]};
    const fab_status done = score_pairs(a, n, w, s);
    fab_release(a);
    return done;
}

/* Two classes of one predictor. */
static fab_status score_two(const fab_glm *m, int64_t n, const double *eta, const double *v,
                            const double *y, fab_watch *w, fab_scores *s)
{
    const fab_likelihood_row *l = fab_glm_likelihood(m);
    fab_status done = FAB_OK;
    double *p, variance;
    FAB_TRY(fab_alloc_array((void **)&p, n, sizeof *p, "score"));
    for (int64_t i = 0; i < n; i++) {
        l->moments(m, eta[i], v[i], &p[i], &variance);
        done = fab_watch_work(w, PROBABILITY_WORK, "score", i, n);
        if (done != FAB_OK) break;
    }
    if (done == FAB_OK) done = fab_score_probabilities(n, p, y, w, s);
    fab_release(p);
    return done;
}

/* ---- several classes -------------------------------------------------------------------------------------- */

static fab_status check_classes(int64_t C, int64_t n, const double *logp, const double *y,
                                fab_watch *w)
{
    if (n < 1) return FAB_FAIL(FAB_BAD_DATA, "score: there are no rows");
    if (C < 2)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "score: %lld classes, expected 2 or more", (long long)C);
    for (int64_t i = 0; i < n; i++) {
        FAB_TRY(fab_watch_work(w, READ_WORK + (double)C, "score: check", i, n));
        if (!(y[i] >= 0 && y[i] < (double)C && y[i] == floor(y[i])))
            return FAB_FAIL(FAB_BAD_DATA, "score: row %lld: y = %g is no class of 0 .. %lld",
                            (long long)i, y[i], (long long)(C - 1));
        for (int64_t k = 0; k < C; k++)
            if (!(logp[i * C + k] < FAR_ABOVE_0 && logp[i * C + k] > -INFINITY))
                return FAB_FAIL(FAB_BAD_DATA, "score: row %lld: %g is no log probability",
                                (long long)i, logp[i * C + k]);
    }
    return FAB_OK;
}

/* One row: its likeliest class, the first of equal ones. */
static void score_row(int64_t C, const double *logp, int64_t mine, bins *b, fab_scores *s)
{
    int64_t best = 0;
    for (int64_t k = 0; k < C; k++) {
        const double gap = exp(logp[k]) - (k == mine);
        if (logp[k] > logp[best]) best = k;
        s->brier += gap * gap;
    }
    s->nll -= logp[mine];
    s->accuracy += best == mine;
    put_in_bin(b, exp(logp[best]), best == mine);
}

/* The mean over classes of the area of each against all others; NaN when one is missing. */
static fab_status macro_area(int64_t C, int64_t n, const double *logp, const double *y, scored *a,
                             fab_watch *w, double *mean)
{
    double sum = 0, one;
    for (int64_t k = 0; k < C; k++) {
        for (int64_t i = 0; i < n; i++) a[i] = (scored){logp[i * C + k], y[i] == (double)k};
        FAB_TRY(area(a, a + n, n, w, &one));
        sum += one;
    }
    *mean = sum / (double)C;
    return FAB_OK;
}

fab_status fab_score_classes(int64_t C, int64_t n, const double *logp, const double *y,
                             const fab_exec *exec, fab_scores *s)
{
    fab_watch w = fab_watch_of(exec);
    fab_status done = FAB_OK;
    bins b = {{0}};
    scored *a; /* and room */
    *s = (fab_scores){.n = n};
    FAB_TRY(check_classes(C, n, logp, y, &w));
    FAB_TRY(fab_alloc_array((void **)&a, 2 * n, sizeof *a, "score"));
    for (int64_t i = 0; i < n; i++) {
        score_row(C, logp + i * C, (int64_t)y[i], &b, s);
        done = fab_watch_work(&w, PROBABILITY_WORK * (double)C, "score", i, n);
        if (done != FAB_OK) break;
    }
    s->nll /= (double)n;
    s->accuracy /= (double)n;
    s->brier /= (double)n;
    s->ece = calibration_error(&b, n);
    if (done == FAB_OK) done = macro_area(C, n, logp, y, a, &w, &s->auc);
    s->rmse = s->mae = s->crps = s->coverage50 = s->coverage90 = s->coverage95 = s->dispersion =
        NAN;
    fab_release(a);
    return done;
}

fab_status fab_score_add(int64_t row, double y, double logp, double mean, double variance,
                         fab_scores *s)
{
    const double square = (y - mean) * (y - mean);
    if (!isfinite(logp) || !isfinite(square) || !isfinite(variance))
        return FAB_FAIL(FAB_NUMERIC,
                        "score: row %lld: y = %g is too far from a prediction of mean %g and "
                        "variance %g, log p = %g, to be scored in double precision",
                        (long long)row, y, mean, variance, logp);
    s->nll -= logp;
    s->rmse += square;
    s->dispersion += square / variance;
    return FAB_OK;
}

/* ---- all -------------------------------------------------------------------------------------------------- */

void fab_score_finish(fab_target target, fab_scores *s)
{
    const int real = target == FAB_TARGET_REAL, count = target == FAB_TARGET_COUNTS;
    const double n = (double)s->n;
    s->nll /= n;
    s->rmse = real || count ? sqrt(s->rmse / n) : NAN;
    s->mae = real ? s->mae / n : NAN;
    s->crps = real ? s->crps / n : NAN;
    s->coverage50 = real ? s->coverage50 / n : NAN;
    s->coverage90 = real ? s->coverage90 / n : NAN;
    s->coverage95 = real ? s->coverage95 / n : NAN;
    s->dispersion = count ? s->dispersion / n : NAN;
    if (real || count) s->accuracy = s->brier = s->ece = s->auc = NAN;
}

fab_status fab_score(const fab_glm *m, int64_t n, const double *eta, const double *v,
                     const double *y, const fab_exec *exec, fab_scores *s)
{
    const fab_likelihood_row *l = fab_glm_likelihood(m);
    fab_watch w = fab_watch_of(exec);
    *s = (fab_scores){.n = n};
    if (l->several)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "score: a %s model is scored by its probabilities: fab_score_classes",
                        l->name);
    if (n < 1) return FAB_FAIL(FAB_BAD_DATA, "score: there are no rows");
    for (int64_t i = 0; i < n; i++) {
        double mean, variance;
        FAB_TRY(fab_watch_work(&w, DENSITY_WORK, "score", i, n));
        if (!isfinite(eta[i]) || !(v[i] >= 0 && isfinite(v[i])))
            return FAB_FAIL(FAB_BAD_DATA,
                            "score: row %lld: a predictor of mean %g and variance %g is none",
                            (long long)i, eta[i], v[i]);
        l->moments(m, eta[i], v[i], &mean, &variance);
        const double logp = l->logp(m, eta[i], v[i], y[i]);
        FAB_TRY(fab_score_add(i, y[i], logp, mean, variance, s));
        if (l->target != FAB_TARGET_REAL) continue;
        s->mae += fabs(y[i] - mean);
        s->crps += l->crps(m, eta[i], v[i], y[i]);
        fab_score_coverage(l->cdf(m, eta[i], v[i], y[i]), s);
    }
    if (l->target == FAB_TARGET_CLASSES) FAB_TRY(score_two(m, n, eta, v, y, &w, s));
    fab_score_finish(l->target, s);
    return FAB_OK;
}
