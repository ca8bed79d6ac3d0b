/* em_missing.c - EM factor analysis of rows with values missing: the likelihood of what is there.
 *
 *   1  W, psi, mu by em of the table whose holes have the means of their columns; then W and psi for the variances of
 *      what is there
 *   Rows that have the same columns o make a group.  For each of them, of weight n:
 *   2  M = I + W_o' psi_o^-1 W_o,   m_j = M^-1 W_o' psi_o^-1 (x_j - mu)_o                mean of z; covariance M^-1
 *      log p(x_j) = -(|o| log 2 pi + sum log psi_o + log det M + |x_j - mu|^2 / psi_o - m_j' M m_j) / 2
 *   3  E = sum w_j [m_j; 1][m_j; 1]' + n [M^-1, 0; 0, 0];  for each column i of o:
 *      A_i += E,   b_i += sum w_j (x_ij - mu_i)[m_j; 1],   c_i += sum w_j (x_ij - mu_i)^2
 *   4  [W_i; s_i] = A_i^-1 b_i,   psi_i = (c_i - b_i' [W_i; s_i]) / weight of column i,   mu_i += s_i
 *   5  over all rows z has a mean a and a covariance L L': mu += W a, W <- W L                  parameter expansion
 *   6  until the mean of log p changes by less than tol of itself, columns being measured in their standard deviations
 *
 * Right where what is missing tells nothing beyond what is there (missing at random).
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "la/small.h"
#include "methods/fa/batch.h"
#include "methods/fa/em_missing.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct key {
    uint64_t hash; /* of the columns that a row has */
    int64_t row;
} key;

typedef struct holes {
    fab_batch *b;
    int64_t n, D, K;
    double *X;           /* n x D: the rows, holes filled */
    unsigned char *have; /* n x D: 1 where there is a value */
    key *order;          /* n: rows of a group one behind the other */
    double *weight;      /* n */
    double total;        /* of them */
    double *v, *column;  /* D: variance and weight of what is there */
    double *mu;          /* D */
    double *A, *b_, *c;  /* D x (K + 1)^2, D x (K + 1), D */
    double *M, *inverse; /* K x K */
    double *E;           /* (K + 1)^2, of a group */
    double *All;         /* (K + 1)^2, of all rows */
    double *m;           /* K + 1 */
    double *W;           /* D x K, row after row */
    void *block;
} holes;

static void layout(fab_layout *l, holes *h)
{
    const int64_t n = h->n, D = h->D, K = h->K, one = K + 1;
    h->X = fab_place(l, n * D, sizeof *h->X);
    h->have = fab_place(l, n * D, sizeof *h->have);
    h->order = fab_place(l, n, sizeof *h->order);
    h->weight = fab_place(l, n, sizeof *h->weight);
    h->v = fab_place(l, D, sizeof *h->v);
    h->column = fab_place(l, D, sizeof *h->column);
    h->mu = fab_place(l, D, sizeof *h->mu);
    h->A = fab_place(l, D * one * one, sizeof *h->A);
    h->b_ = fab_place(l, D * one, sizeof *h->b_);
    h->c = fab_place(l, D, sizeof *h->c);
    h->M = fab_place(l, K * K, sizeof *h->M);
    h->inverse = fab_place(l, K * K, sizeof *h->inverse);
    h->E = fab_place(l, one * one, sizeof *h->E);
    h->All = fab_place(l, one * one, sizeof *h->All);
    h->m = fab_place(l, one, sizeof *h->m);
    h->W = fab_place(l, D * K, sizeof *h->W);
}

double fab_em_missing_bytes(int64_t D, int64_t K, int64_t n)
{
    holes h = {.n = n, .D = D, .K = K};
    fab_layout l = {0};
    layout(&l, &h);
    return (double)l.used;
}

/* ---- the rows ----------------------------------------------------------------------------------- */

static int by_hash(const void *a, const void *b)
{
    const key *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Values, holes and weights; means and variances of what is there; the groups. */
static fab_status take_rows(holes *h)
{
    const fab_rows *x = &h->b->rows;
    for (int64_t j = 0; j < h->n; j++) {
        uint64_t hash = 1469598103934665603u; /* FNV */
        h->weight[j] = h->b->weight ? h->b->weight[j] : 1;
        h->total += h->weight[j];
        for (int64_t i = 0; i < h->D; i++) {
            const double value = fab_rows_at(x, j, i);
            const unsigned char there = value == value;
            h->X[j * h->D + i] = value;
            h->have[j * h->D + i] = there;
            hash = (hash ^ there) * 1099511628211u;
            if (!there) continue;
            h->column[i] += h->weight[j];
            h->mu[i] += h->weight[j] * (value - h->mu[i]) / h->column[i];
        }
        h->order[j] = (key){hash, j};
    }
    qsort(h->order, (size_t)h->n, sizeof *h->order, by_hash);
    for (int64_t i = 0; i < h->D; i++)
        if (h->column[i] == 0)
            return FAB_FAIL(FAB_BAD_DATA,
                            "em: column %lld (from 0) has no value at all; leave it out",
                            (long long)i);
    for (int64_t j = 0; j < h->n; j++)
        for (int64_t i = 0; i < h->D; i++) {
            double *value = &h->X[j * h->D + i];
            if (!h->have[j * h->D + i]) *value = h->mu[i];
            h->v[i] += h->weight[j] * (*value - h->mu[i]) * (*value - h->mu[i]) / h->column[i];
        }
    return FAB_OK;
}

static int same_columns(const holes *h, int64_t first, int64_t at)
{
    const unsigned char *a = h->have + h->order[first].row * h->D,
                        *b = h->have + h->order[at].row * h->D;
    return memcmp(a, b, (size_t)h->D) == 0;
}

/* ---- a step ------------------------------------------------------------------------------------- */

/* 2, 3  Rows order[first] .. order[end - 1], which have the same columns; adds their log-likelihood. */
static fab_status add_group(holes *h, int64_t first, int64_t end, double *loglik)
{
    const int64_t D = h->D, K = h->K, one = K + 1;
    const unsigned char *have = h->have + h->order[first].row * D;
    const double *psi = h->b->q->psi;
    double constant = 0, n = 0;
    memset(h->M, 0, (size_t)(K * K) * sizeof *h->M);
    memset(h->E, 0, (size_t)(one * one) * sizeof *h->E);
    for (int64_t i = 0; i < D; i++) {
        const double *w = h->W + i * K;
        if (!have[i]) continue;
        constant += log(psi[i]) + 1.8378770664093454836;
        for (int64_t k = 0; k < K; k++)
            for (int64_t l = 0; l < K; l++) h->M[k * K + l] += w[k] * w[l] / psi[i];
    }
    fab_add_identity(K, h->M);
    FAB_TRY(fab_chol(K, h->M));
    fab_chol_inv(K, h->M, h->inverse);
    constant += fab_chol_logdet(K, h->M);
    for (int64_t g = first; g < end; g++) {
        const int64_t j = h->order[g].row;
        const double *x = h->X + j * D, weight = h->weight[j];
        double square = 0, explained = 0;
        memset(h->m, 0, (size_t)K * sizeof *h->m);
        for (int64_t i = 0; i < D; i++) {
            const double e = (x[i] - h->mu[i]) / psi[i];
            if (!have[i]) continue;
            square += e * (x[i] - h->mu[i]);
            for (int64_t k = 0; k < K; k++) h->m[k] += e * h->W[i * K + k];
        }
        memcpy(h->E + one * K, h->m,
               (size_t)K * sizeof *h->m); /* for a moment: W' psi^-1 (x - mu) */
        fab_chol_solve(K, 1, h->M, h->m);
        for (int64_t k = 0; k < K; k++) explained += h->m[k] * h->E[one * K + k];
        *loglik -= weight * (constant + square - explained) / 2;
        h->m[K] = 1;
        for (int64_t k = 0; k < K; k++) /* the last row of E is made from its last column */
            for (int64_t l = 0; l <= K; l++) h->E[k * one + l] += weight * h->m[k] * h->m[l];
        n += weight;
        for (int64_t i = 0; i < D; i++) {
            const double e = x[i] - h->mu[i];
            if (!have[i]) continue;
            h->c[i] += weight * e * e;
            for (int64_t k = 0; k <= K; k++) h->b_[i * one + k] += weight * e * h->m[k];
        }
    }
    for (int64_t k = 0; k < K; k++) {
        for (int64_t l = 0; l < K; l++) h->E[k * one + l] += n * h->inverse[k * K + l];
        h->E[K * one + k] = h->E[k * one + K];
    }
    h->E[K * one + K] = n;
    for (int64_t e = 0; e < one * one; e++) h->All[e] += h->E[e];
    for (int64_t i = 0; i < D; i++)
        if (have[i])
            for (int64_t e = 0; e < one * one; e++) h->A[i * one * one + e] += h->E[e];
    return FAB_OK;
}

/* 4, 5 */
static fab_status maximise(holes *h)
{
    const int64_t D = h->D, K = h->K, one = K + 1;
    double *psi = h->b->q->psi;
    for (int64_t i = 0; i < D; i++) {
        double *A = h->A + i * one * one, *b = h->b_ + i * one, used = 0;
        memcpy(h->m, b, (size_t)one * sizeof *b);
        FAB_TRY(fab_chol(one, A));
        fab_chol_solve(one, 1, A, h->m);
        for (int64_t k = 0; k <= K; k++) used += b[k] * h->m[k];
        const double floor = h->b->psi_min * h->v[i], rest = (h->c[i] - used) / h->column[i];
        memcpy(h->W + i * K, h->m, (size_t)K * sizeof *h->m);
        psi[i] = rest > floor ? rest : floor;
        h->mu[i] += h->m[K];
    }
    for (int64_t k = 0; k < K; k++) h->m[k] = h->All[K * one + k] / h->total; /* a */
    for (int64_t k = 0; k < K; k++)
        for (int64_t l = 0; l < K; l++)
            h->M[k * K + l] = h->All[k * one + l] / h->total - h->m[k] * h->m[l];
    FAB_TRY(fab_chol(K, h->M)); /* L, column after column */
    for (int64_t i = 0; i < D; i++) {
        double *w = h->W + i * K;
        for (int64_t k = 0; k < K; k++) h->mu[i] += w[k] * h->m[k];
        for (int64_t k = 0; k < K;
             k++) { /* L has nothing above its diagonal: w_l of l >= k alone */
            double sum = 0;
            for (int64_t l = k; l < K; l++) sum += w[l] * h->M[k * K + l];
            w[k] = sum;
        }
    }
    return FAB_OK;
}

static fab_status iterate(holes *h, const fab_em_settings *set, const fab_watch *watch)
{
    const int64_t D = h->D, one = h->K + 1;
    fab_report *r = &h->b->report;
    double now = -INFINITY, units = 0;
    for (int64_t i = 0; i < D; i++) units += log(h->v[i]) * h->column[i] / h->total / 2;
    r->converged = 0;
    for (int64_t step = 0; step < set->max_iter && !r->converged; step++) {
        const double before = now;
        memset(h->A, 0, (size_t)(D * one * one) * sizeof *h->A);
        memset(h->b_, 0, (size_t)(D * one) * sizeof *h->b_);
        memset(h->c, 0, (size_t)D * sizeof *h->c);
        memset(h->All, 0, (size_t)(one * one) * sizeof *h->All);
        now = 0;
        for (int64_t first = 0, end; first < h->n; first = end) {
            for (end = first + 1; end < h->n && same_columns(h, first, end);) end++;
            FAB_TRY(add_group(h, first, end, &now));
        }
        now /= h->total;
        r->loglik_mean = now;
        r->gain = step > 0 ? now - before : NAN;
        r->converged = fabs(now - before) <= set->tol * fabs(now + units); /* 6 */
        if (!r->converged) FAB_TRY(maximise(h));
        FAB_TRY(fab_watch_tick(watch, "em", ++r->iterations, set->max_iter));
    }
    return FAB_OK;
}

/* ---- the method --------------------------------------------------------------------------------- */

/* 1  From a fit of the filled table, whose variances are too small where there are holes. */
static void begin(holes *h, const fab_target *t)
{
    fab_batch *b = h->b;
    for (int64_t i = 0; i < h->D; i++) {
        const double wider = t->diag[i] > 0 ? h->v[i] / t->diag[i] : 1;
        b->q->psi[i] = fmax(b->q->psi[i] * wider, b->psi_min * h->v[i]);
        for (int64_t k = 0; k < h->K; k++) h->W[i * h->K + k] = b->F[i + k * h->D] * sqrt(wider);
    }
}

static fab_status fit(holes *h, const fab_em_settings *set)
{
    fab_batch *b = h->b;
    fab_target t;
    FAB_TRY(take_rows(h));
    const fab_rows filled = {.p = h->X, .type = FAB_F64, .n = h->n, .ld = h->D};
    FAB_TRY(fab_target_init(&t, b->name, &filled, b->weight, b->D, b->width, &b->exec));
    fab_status s = FAB_OK;
    for (int64_t i = 0; i < h->D; i++) /* a constant column has a floor all the same */
        if (!(h->v[i] > 0)) h->v[i] = t.mean;
    s = fab_batch_solve(b, &t);
    if (s == FAB_OK) begin(h, &t);
    const int before = fab_blas_enter();
    if (s == FAB_OK) s = iterate(h, set, &t.run.watch);
    fab_blas_leave(before);
    if (s == FAB_OK) {
        for (int64_t i = 0; i < h->D; i++)
            for (int64_t k = 0; k < h->K; k++) b->F[i + k * h->D] = h->W[i * h->K + k];
        memcpy(t.mu, h->mu, (size_t)h->D * sizeof *t.mu);
        memcpy(t.diag, h->v, (size_t)h->D * sizeof *t.diag);
        b->report.floored = 0;
        b->report.saturated = NAN;
        s = fab_batch_finish(b, &t);
    }
    fab_target_free(&t);
    return s;
}

fab_status fab_em_missing(fab_batch *b, const fab_em_settings *set)
{
    holes h = {.b = b, .n = b->rows.n, .D = b->D, .K = b->K};
    fab_layout l = {0};
    layout(&l, &h);
    FAB_TRY(fab_alloc_array(&h.block, l.used < INT64_MAX ? (int64_t)l.used : -1, 1, "em"));
    memset(h.block, 0, l.used);
    l = (fab_layout){.base = h.block};
    layout(&l, &h);
    const fab_status s = fit(&h, set);
    fab_release(h.block);
    return s;
}
