/* seeds.c - rows that are centroids to begin with (Arthur and Vassilvitskii 2007; [N] (2.14)).
 *
 *   rows:      G rows without replacement, all alike probable (by their weights)
 *   kmeans++:  1  the first at random, a row of weight w with probability proportional to w
 *              2  rho_i = the least |x_i - seed|^2
 *              3  the next: row i with probability proportional to w_i rho_i
 *   greedy:    3  2 + log G such candidates; the one that leaves the least sum_i w_i rho_i
 *
 * A row that is a seed has rho = 0 and is never drawn again: when all rho are 0 there are no more distinct rows.  The numbers rho
 * for all candidates are kept in columns, and the column of the one that is taken is the next rho.  Draws go by the sums over
 * chunks of rows, which are the same for any number of threads.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/mixture/seeds.h"
#include "base/fail.h"
#include "la/ops.h"
#include <math.h>

static int64_t candidates(const fab_seeds *s)
{
    if (s->how != FAB_KMEANS_GREEDY) return 1;
    const int64_t m = 2 + (int64_t)log((double)s->G);
    return m < FAB_CANDIDATES ? m : FAB_CANDIDATES;
}

int64_t fab_seeds_room(int64_t n, int64_t G, int64_t D)
{
    const fab_seeds s = {.G = G, .how = FAB_KMEANS_GREEDY};
    const int64_t m = candidates(&s);
    return (m + 1) * n + m * D + m * (FAB_MAX_CHUNKS + 1) + FAB_MAX_CHUNKS + 8;
}

static double uniform(const fab_seeds *s, int64_t index)
{
    double u;
    fab_random_uniform(s->seed, FAB_PURPOSE_START, s->stream, (uint64_t)index, 1, &u);
    return u;
}

static double weight(const fab_seeds *s, int64_t i)
{
    return s->weight ? s->weight[i] : 1;
}

/* The row at share u of the sum of w_i rho_i (rho NULL: 1), whose chunks sum to chunk[t * step]. */
static int64_t draw(const fab_seeds *s, double u, const double *rho, const double *chunk,
                    int64_t step)
{
    const int64_t n = s->x->n, rows = fab_centres_chunk(n), chunks = (n + rows - 1) / rows;
    double all = 0, before = 0;
    int64_t t = 0, last = 0;
    for (int64_t k = 0; k < chunks; k++) all += chunk[k * step];
    const double target = u * all;
    for (; t + 1 < chunks && before + chunk[t * step] <= target; t++) before += chunk[t * step];
    for (int64_t i = t * rows; i < n; i++) { /* rounding may leave the chunk */
        const double p = weight(s, i) * (rho ? rho[i] : 1);
        if (!(p > 0)) continue;
        last = i;
        before += p;
        if (before > target) return i;
    }
    for (int64_t i = n; last == 0 && i-- > 0;) /* or the end: the last row that may be drawn */
        if (weight(s, i) * (rho ? rho[i] : 1) > 0) last = i;
    return last;
}

/* G rows without replacement: a weighted row of the chunk sums, its weight then taken out. */
static fab_status some_rows(const fab_seeds *s, double *mu)
{
    const int64_t n = s->x->n, rows = fab_centres_chunk(n), D = s->c->D;
    double *left = s->room, *chunk = left + n;
    for (int64_t t = 0; t < FAB_MAX_CHUNKS; t++) chunk[t] = 0;
    for (int64_t i = 0; i < n; i++) {
        left[i] = 1;
        chunk[i / rows] += weight(s, i);
    }
    for (int64_t k = 0; k < s->G; k++) {
        const int64_t i = draw(s, uniform(s, k * FAB_CANDIDATES), left, chunk, 1);
        fab_rows_get(s->x, i, D, mu + k * D);
        left[i] = 0;
        chunk[i / rows] -= weight(s, i);
        if (!(chunk[i / rows] > 0)) chunk[i / rows] = 0;
    }
    return FAB_OK;
}

fab_status fab_seeds_choose(const fab_seeds *s, double *mu, double *potential)
{
    const int64_t n = s->x->n, D = s->c->D, m = candidates(s), rows = fab_centres_chunk(n);
    if (n < s->G)
        return FAB_FAIL(FAB_BAD_DATA, "%s: %lld rows for G = %lld clusters; ask for fewer clusters",
                        s->who, (long long)n, (long long)s->G);
    if (s->how == FAB_KMEANS_ROWS) return some_rows(s, mu);
    double *column[FAB_CANDIDATES], *rho = s->room, *candidate = rho + (m + 1) * n;
    double *sum = candidate + m * D, *partial = sum + m, *chunk = partial + m * FAB_MAX_CHUNKS;
    for (int64_t j = 0; j < m; j++) column[j] = rho + (j + 1) * n;
    for (int64_t t = 0; t < FAB_MAX_CHUNKS; t++) chunk[t] = 0;
    for (int64_t i = 0; i < n; i++) chunk[i / rows] += weight(s, i);
    const int64_t first = draw(s, uniform(s, 0), NULL, chunk, 1); /* 1 */
    fab_rows_get(s->x, first, D, mu);
    fab_potential p = {.x = s->x,
                       .weight = s->weight,
                       .m = 1,
                       .candidate = mu,
                       .lower = &rho,
                       .sum = sum,
                       .partial = partial};
    fab_centres_potential(s->c, &p); /* 2 */
    double left = sum[0];
    int64_t taken = 0, step = 1;
    p.m = m;
    p.candidate = candidate;
    p.lower = column;
    for (int64_t k = 1; k < s->G; k++) {
        if (!isfinite(left))
            return FAB_FAIL(FAB_NUMERIC,
                            "%s: the squared distances of the rows sum to %g: scale the columns",
                            s->who, left);
        if (!(left > 0))
            return FAB_FAIL(FAB_BAD_DATA,
                            "%s: %lld distinct rows for G = %lld clusters; ask for fewer clusters",
                            s->who, (long long)k, (long long)s->G);
        for (int64_t j = 0; j < m; j++) { /* 3 */
            const double u = uniform(s, k * FAB_CANDIDATES + j);
            const int64_t i = draw(s, u, rho, partial + taken, step);
            fab_rows_get(s->x, i, D, candidate + j * D);
        }
        p.best = rho;
        fab_centres_potential(s->c, &p);
        taken = 0;
        for (int64_t j = 1; j < m; j++)
            if (sum[j] < sum[taken]) taken = j;
        left = sum[taken];
        step = m;
        for (int64_t d = 0; d < D; d++) mu[k * D + d] = candidate[taken * D + d];
        double *const old = rho;
        rho = column[taken];
        column[taken] = old;
    }
    if (potential) *potential = left;
    return FAB_OK;
}
