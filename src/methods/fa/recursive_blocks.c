/* recursive_blocks.c - recursive-em: how it starts, and how a block of rows is absorbed.
 *
 * The numbers in the margin are those of the pseudo-code in recursive_em.c.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "methods/fa/recursive_em.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

enum { SVD_ROWS = 10 };   /* rows per factor for the singular vectors of the start */
#define START_SIGNAL 0.05 /* least s^2 - 1 of a starting factor */
#define START_PSI    0.3  /* least psi of the start, relative to the variance */
enum {
    MOST_ROUNDS = 20,
    LEAST_ROUNDS = 2,
    ROWS_PER_ROUND = 5
};                          /* of settling: rows per factor earn rounds */
#define SETTLED       0.01  /* relative change of psi (root mean square) that ends the start */
#define SETTLE_WEIGHT 1e-6  /* weight of the start beside the first rows */
#define UNSEEN        1e-6  /* of W' psi^-1 W: a factor the first rows do not show */
#define ROUNDING      1e-14 /* deviation over mean below which a column does not vary but round */

int64_t fab_recursive_clamp(double v, int64_t lo, int64_t hi)
{
    if (v < (double)lo) return lo;
    return v > (double)hi ? hi : (int64_t)v;
}

int64_t fab_recursive_svd_rows(const recursive_em *e, int64_t rows)
{
    const int64_t enough = SVD_ROWS * e->set.inner_rank;
    return rows < enough ? rows : enough;
}

fab_long fab_recursive_columns(const recursive_em *e, int64_t first, int64_t k)
{
    char *p = (char *)fab_absorb_columns(e->absorb) + (size_t)(first * e->D) * e->run.ops->size;
    return fab_long_vectors(p, e->D, k, e->D);
}

/* ---- the start -------------------------------------------------------------------------------- */

/* v_i = variance of coordinate i in the centred columns X of `rows` rows, and their mean */
static fab_status variances(recursive_em *e, const fab_long *X, double rows, double *mean)
{
    double total[2] = {0, (double)e->D};
    e->run.ops->rowquad(&e->run, X, NULL, X->k, 0, e->v);
    for (int64_t i = 0; i < e->D; i++) total[0] += e->v[i] /= rows;
    FAB_TRY(fab_sum(&e->run, total, 2));
    *mean = total[0] / total[1];
    return FAB_OK;
}

/* Does coordinate i, of mean square v about the mean, not vary but round? */
static int only_rounds(const recursive_em *e, int64_t i, double v)
{
    return !(v > ROUNDING * ROUNDING * e->S->mu[i] * e->S->mu[i]);
}

/* A coordinate that is constant has psi_min of the mean variance for its own. */
static void mark_constants(recursive_em *e, double mean)
{
    e->constant_psi = e->set.psi_min * mean;
    e->constants = 0;
    for (int64_t i = 0; i < e->D; i++) {
        e->constant[i] = (unsigned char)only_rounds(e, i, e->v[i]);
        if (!e->constant[i]) continue;
        e->v[i] = e->constant_psi;
        e->constants++;
    }
}

/* Those that the columns X of a block, of weight w, show to vary are constant no more.  Till now they had no variance:
 * the psi that was lent is taken back, but for a trace of their own. */
static void unmark_constants(recursive_em *e, const fab_long *X, double w)
{
    e->run.ops->rowquad(&e->run, X, NULL, X->k, 0, e->v);
    for (int64_t i = 0; i < e->D; i++) {
        if (!e->constant[i] || only_rounds(e, i, e->v[i] / w)) continue;
        e->S->psi[i] = e->set.psi_min * e->v[i] / (e->n + w);
        e->constant[i] = 0;
        e->constants--;
    }
}

static double loading(double s2)
{
    return sqrt(s2 - 1 > START_SIGNAL ? s2 - 1 : START_SIGNAL);
}

/* 4 through the rows x rows Gram Z' Z = U s^2 U':  W = X U_R sqrt(..) / (s sqrt(m)) */
static fab_status svd_by_rows(recursive_em *e, const fab_long *X, double rows, const fab_long *W)
{
    const int64_t m = X->k, R = W->k;
    for (int64_t i = 0; i < e->D; i++) e->S->psi[i] = 1 / e->v[i];
    e->run.ops->gram(&e->run, X, e->S->psi, e->gram);
    FAB_TRY(fab_sum(&e->run, e->gram, m * m));
    FAB_TRY(fab_eig(m, e->gram, e->lambda, e->eig));
    for (int64_t k = 0; k < R; k++) {
        const int64_t from = m - 1 - k;
        const double s2 = from >= 0 ? e->lambda[from] / rows : 0;
        const double scale = s2 > 1e-12 ? loading(s2) / sqrt(s2 * rows) : 0;
        for (int64_t j = 0; j < m; j++)
            e->M[j + k * m] = from >= 0 ? scale * e->gram[j + from * m] : 0;
    }
    e->run.ops->mult(&e->run, NULL, X, e->M, 0, W);
    return FAB_OK;
}

/* 4 through the D x D matrix Z Z' = V s^2 V' */
static fab_status svd_by_columns(recursive_em *e, const fab_long *X, double rows, const fab_long *W)
{
    const int64_t D = e->D, R = W->k;
    const fab_long table_of_rows = {X->p, X->k, D, X->cs, 1};
    e->run.ops->gram(&e->run, &table_of_rows, NULL, e->gram);
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++) e->gram[i + j * D] /= rows * sqrt(e->v[i]) * sqrt(e->v[j]);
    FAB_TRY(fab_eig(D, e->gram, e->lambda, e->eig));
    for (int64_t i = 0; i < D; i++)
        for (int64_t k = 0; k < R; k++) {
            const int64_t from = D - 1 - k;
            e->M[i * R + k] = e->constant[i] ? 0
                                             : sqrt(e->v[i]) * loading(e->lambda[from]) *
                                                   e->gram[i + from * D];
        }
    e->run.ops->put(&e->run, e->M, W);
    return FAB_OK;
}

static fab_status start_svd(recursive_em *e, const fab_long *X, double rows)
{
    const fab_long W = fab_long_rows(e->S->F, e->D, e->set.inner_rank);
    const fab_long few = fab_long_vectors(X->p, X->n, fab_recursive_svd_rows(e, X->k), X->cs);
    const int by_rows = few.k < e->D || e->run.comm.sum;
    double first = 0, all = 0; /* weights of those few, of all */
    for (int64_t j = 0; j < X->k; j++) {
        all += e->w[j];
        if (j < few.k) first += e->w[j];
    }
    const double share = rows * first / all;
    FAB_TRY(by_rows ? svd_by_rows(e, &few, share, &W) : svd_by_columns(e, X, rows, &W));
    e->run.ops->rowquad(&e->run, &W, NULL, W.k, 0, e->S->psi);
    for (int64_t i = 0; i < e->D; i++) {
        const double rest = e->v[i] - e->S->psi[i], least = START_PSI * e->v[i];
        e->S->psi[i] = rest > least ? rest : least;
    }
    return FAB_OK;
}

/* 5: a direction per column, from the numbers of the seed */
static fab_status start_random(recursive_em *e, double c)
{
    const int64_t D = e->D, R = e->set.inner_rank;
    const fab_long W = fab_long_rows(e->S->F, D, R);
    double total = (double)D;
    FAB_TRY(fab_sum(&e->run, &total, 1));
    e->run.ops->randn(&e->run, (uint64_t)e->set.seed, FAB_PURPOSE_START, 0, &W);
    e->run.ops->colquad(&e->run, &W, NULL, e->norm);
    FAB_TRY(fab_sum(&e->run, e->norm, R));
    double *scale = e->M;
    memset(scale, 0, (size_t)(R * R) * sizeof *scale);
    for (int64_t k = 0; k < R; k++)
        scale[k + k * R] = sqrt(c) * sqrt(e->set.start_eps * total / (double)R / e->norm[k]);
    e->run.ops->mult(&e->run, NULL, &W, scale, 0, &W);
    for (int64_t i = 0; i < D; i++) e->S->psi[i] = (1 - e->set.start_eps) * c;
    return FAB_OK;
}

/* ---- blocks ----------------------------------------------------------------------------------- */

/* 4, end: EM on the first rows alone until psi settles; what is left over would be kept as if it had
 * been seen in so many rows.  A little of the state stays in the target so that constant coordinates
 * have a psi. */
static fab_status settle(recursive_em *e, double rows, int64_t k, double mean)
{
    const int64_t D = e->D;
    const double per_round = (double)(ROWS_PER_ROUND * e->set.inner_rank);
    const int64_t rounds = fab_recursive_clamp(
        rows / per_round, LEAST_ROUNDS, MOST_ROUNDS); /* few rows settle where psi vanishes */
    double change[2] = {INFINITY, 1};
    for (int64_t round = 0; round < rounds && change[0] > SETTLED * SETTLED * change[1]; round++) {
        for (int64_t i = 0; i < D; i++)
            if (e->constant[i])
                e->S->psi[i] = mean / SETTLE_WEIGHT; /* any number: the row of W is 0 */
        memcpy(e->before, e->S->psi, (size_t)D * sizeof *e->before);
        FAB_TRY(fab_absorb_loaded(e->absorb, e->S, SETTLE_WEIGHT, (1 - SETTLE_WEIGHT) / rows, k));
        change[0] = 0, change[1] = (double)D;
        for (int64_t i = 0; i < D; i++) {
            const double d = e->S->psi[i] / e->before[i] - 1;
            if (!e->constant[i]) change[0] += d * d;
        }
        FAB_TRY(fab_sum(&e->run, change, 2));
    }
    for (int64_t i = 0; i < D; i++)
        if (e->constant[i]) e->S->psi[i] = e->constant_psi;
    return FAB_OK;
}

/* W <- W U, U the eigenvectors of W' psi^-1 W, and where those show nothing a random direction; psi gives
 * what it takes, so that diag(S) is as it was. */
static fab_status add_unseen(recursive_em *e)
{
    const int64_t D = e->D, R = e->set.inner_rank;
    const fab_long W = fab_long_rows(e->S->F, D, R);
    for (int64_t i = 0; i < D; i++) e->before[i] = 1 / e->S->psi[i];
    e->run.ops->gram(&e->run, &W, e->before, e->M);
    FAB_TRY(fab_sum(&e->run, e->M, R * R));
    FAB_TRY(fab_eig(R, e->M, e->lambda, e->eig)); /* ascending */
    int64_t unseen = 0;
    while (unseen < R && unseen < e->columns && e->lambda[unseen] < UNSEEN) unseen++;
    if (!unseen) return FAB_OK;
    memset(e->M, 0, (size_t)(R * unseen) * sizeof *e->M);
    e->run.ops->mult(&e->run, NULL, &W, e->M, 0, &W);
    const fab_long Z =
        fab_long_rows(fab_absorb_columns(e->absorb), D, unseen); /* the columns are done with */
    double total = 0;
    e->run.ops->randn(&e->run, (uint64_t)e->set.seed, FAB_PURPOSE_START, 1, &Z);
    e->run.ops->rowquad(&e->run, &Z, NULL, unseen, 0, e->before);
    for (int64_t i = 0; i < D; i++) total += e->before[i];
    FAB_TRY(fab_sum(&e->run, &total, 1));
    const double c = sqrt(START_SIGNAL / total);
    for (int64_t i = 0; i < D; i++) {
        const double psi = e->S->psi[i], share = e->constant[i] ? 0 : c * c * e->before[i];
        e->before[i] = e->constant[i] ? 0 : c * sqrt(psi);
        e->S->psi[i] = psi * (1 - share);
    }
    memset(e->M, 0, (size_t)(unseen * R) * sizeof *e->M);
    for (int64_t k = 0; k < unseen; k++) e->M[k + k * unseen] = 1;
    e->run.ops->mult(&e->run, e->before, &Z, e->M, 1, &W);
    return FAB_OK;
}

/* L with L L' = B, B positive semidefinite: Cholesky, or scaled eigenvectors where that breaks down. */
static fab_status half(recursive_em *e)
{
    const int64_t D = e->D;
    double *B = e->B, *scale = e->B_work, *lambda = scale + D;
    memcpy(e->B_copy, B, (size_t)(D * D) * sizeof *B);
    if (fab_chol(D, B) == FAB_OK) return FAB_OK;
    memcpy(B, e->B_copy, (size_t)(D * D) * sizeof *B);
    for (int64_t i = 0; i < D; i++) scale[i] = B[i + i * D] > 0 ? sqrt(B[i + i * D]) : 0;
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++)
            B[i + j * D] = scale[i] > 0 && scale[j] > 0 ? B[i + j * D] / scale[i] / scale[j] : 0;
    FAB_TRY(fab_eig(D, B, lambda, lambda + D));
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++)
            B[i + j * D] *= scale[i] * sqrt(lambda[j] > 0 ? lambda[j] : 0);
    return FAB_OK;
}

/* Twice as many columns as coordinates: D columns with the same X X' do as well, for less work. */
static fab_status squeeze(recursive_em *e, int64_t *k)
{
    const int64_t D = e->D;
    if (*k < 2 * D || e->run.comm.sum) return FAB_OK;
    void *X = fab_absorb_columns(e->absorb);
    const fab_long rows = fab_long_rows(X, *k, D), columns_as_rows = fab_long_rows(X, D, D);
    e->run.ops->gram(&e->run, &rows, NULL, e->B);
    FAB_TRY(half(e));
    e->run.ops->put(&e->run, e->B, &columns_as_rows);
    *k = D;
    return FAB_OK;
}

/* The k columns of the first rows, which weigh `rows`, make the state; n stays 0 when none varies. */
static fab_status start(recursive_em *e, int64_t k, double rows)
{
    const fab_long X = fab_recursive_columns(e, 0, k);
    double mean;
    FAB_TRY(variances(e, &X, rows, &mean));
    if (!(mean > 0)) return FAB_OK;
    if (e->set.start == START_SVD) {
        mark_constants(e, mean);
        FAB_TRY(start_svd(e, &X, rows));
        FAB_TRY(squeeze(e, &k));
        e->n = rows;
        FAB_TRY(settle(e, rows, k, mean));
        return add_unseen(e);
    }
    FAB_TRY(start_random(e, mean));
    e->n = 1 + rows;
    return fab_absorb_loaded(e->absorb, e->S, 1 / e->n, 1 / e->n, k); /* 2 */
}

/* Absorb the m pending rows.  Their columns are sqrt(w) (x - mu - e), and one more for the step of the mean. */
fab_status fab_recursive_flush(recursive_em *e)
{
    const int64_t m = e->pending, D = e->D;
    const int centred = e->set.centre == CENTRE_EXACT;
    const fab_long X = fab_recursive_columns(e, 0, m);
    int64_t k = m;
    double w = 0; /* the weight of the block */
    for (int64_t j = 0; j < m; j++) w += e->w[j];
    const double keep = pow(e->set.forget, w);
    e->rows *= keep;
    e->n *= keep;
    e->pending = 0;

    if (centred) {
        const fab_long mean = fab_recursive_columns(e, m > 1 ? m : 0, 1); /* one row is its mean */
        const double after = e->rows + w, r = sqrt(e->rows * w / after);
        if (m > 1) {
            for (int64_t j = 0; j < m; j++) e->mix[j] = e->w[j] / w;
            e->run.ops->mult(&e->run, NULL, &X, e->mix, 0, &mean); /* 1  e = sum w (x - mu) / w */
            for (int64_t j = 0; j < m; j++) e->mix[j] = -1;
            e->run.ops->mult(&e->run, NULL, &mean, e->mix, 1, &X); /*    x - mu - e */
        }
        e->run.ops->get(&e->run, &mean, e->v);
        for (int64_t i = 0; i < D; i++) e->S->mu[i] += w / after * e->v[i]; /* 3 */
        e->run.ops->mult(&e->run, NULL, &mean, &r, 0, &mean);               /* 1  sqrt(..) e */
        if (m > 1 && e->rows > 0) e->w[k++] = 1;
    }
    if (e->weighted && !(centred && m == 1))
        for (int64_t j = 0; j < m; j++) {
            const fab_long x = fab_recursive_columns(e, j, 1);
            const double root = sqrt(e->w[j]);
            e->run.ops->mult(&e->run, NULL, &x, &root, 0, &x);
        }
    e->weighted = 0;
    e->rows += w;
    if (!(e->n > 0)) return start(e, k, e->rows); /* 4, 5 */

    const double after = e->n + w;
    if (e->constants) {
        const fab_long all = fab_recursive_columns(e, 0, k);
        unmark_constants(e, &all, w);
    }
    FAB_TRY(squeeze(e, &k));
    FAB_TRY(fab_absorb_loaded(e->absorb, e->S, e->n / after, 1 / after, k)); /* 2 */
    for (int64_t i = 0; i < D; i++)
        if (e->constant[i]) e->S->psi[i] = e->constant_psi; /* still constant: it keeps its psi */
    e->n = after;
    return FAB_OK;
}
