/* product.c - what several posteriors of one theta say together.
 *
 *   posterior j:  precision L_j, mean mu_j, from the prior N(0, diag(a_j)^-1) and its own rows
 *   1  its rows alone:   L_j - diag(a_j),   eta_j = L_j mu_j
 *   2  all rows:         A = sum_j s_j (L_j - diag(a_j)),   eta = sum_j s_j eta_j
 *   3  under the prior N(0, diag(a)^-1):   L = A + diag(a),   mu = L^-1 eta
 *   4  log evidence of a = 1/2 (sum log a_i - log det L + eta' mu) + constant
 *
 * Exact where each posterior is: rows that are independent given theta multiply.  In precision form L = F F' + diag(psi) the sums
 * are columns side by side and diagonals; a covariance form has no such sum, and D x D numbers are formed, up to FAB_DENSE_MAX.
 *
 * SPDX-License-Identifier: MIT */
#include "posterior/product.h"
#include "base/fail.h"
#include "base/memory.h"
#include "la/ops.h"
#include "la/small.h"
#include "posterior/element.h"
#include <math.h>
#include <string.h>

/* ---- life ------------------------------------------------------------------------------------- */

fab_status fab_product_open(fab_product *p, int64_t D, int64_t columns, const fab_exec *x)
{
    *p = (fab_product){.D = D, .columns = columns, .x = x};
    if (columns == 0 && D > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "product: %lld coordinates are too many for a dense matrix: at most %d",
                        (long long)D, FAB_DENSE_MAX);
    FAB_TRY(fab_alloc_array((void **)&p->eta, 2 * D, sizeof *p->eta, "product"));
    memset(p->eta, 0, (size_t)(2 * D) * sizeof *p->eta);
    p->p = p->eta + D;
    if (columns) return fab_gauss_create(&p->stack, FAB_FORM_PRECISION, FAB_F64, D, columns);
    FAB_TRY(fab_alloc_array((void **)&p->A, D * D, sizeof *p->A, "product"));
    memset(p->A, 0, (size_t)(D * D) * sizeof *p->A);
    return FAB_OK;
}

void fab_product_close(fab_product *p)
{
    fab_release(p->eta);
    fab_release(p->A);
    fab_gauss_free(p->stack);
    *p = (fab_product){0};
}

/* ---- parts ------------------------------------------------------------------------------------ */

fab_status fab_gauss_dense_precision(const fab_gauss *q, const fab_exec *x, double *A)
{
    const int64_t D = q->D;
    fab_solver *s;
    double *I;
    FAB_TRY(fab_solver_create(&s, q, x));
    fab_status status = fab_alloc_array((void **)&I, D * D, sizeof *I, "precision");
    if (status == FAB_OK) {
        memset(I, 0, (size_t)(D * D) * sizeof *I);
        fab_add_identity(D, I);
        status = fab_solver_times_precision(s, &(fab_rows){I, FAB_F64, D, D}, A);
        fab_symmetrise(D, A);
        fab_release(I);
    }
    fab_solver_free(s);
    return status;
}

/* eta += power L mu */
static fab_status add_eta(fab_product *p, const fab_gauss *q, double power)
{
    fab_solver *s;
    double *v;
    FAB_TRY(fab_solver_create(&s, q, p->x));
    fab_status status = fab_alloc_array((void **)&v, p->D, sizeof *v, "product");
    if (status == FAB_OK) {
        status = fab_solver_times_precision(s, &(fab_rows){q->mu, FAB_F64, 1, p->D}, v);
        if (status == FAB_OK)
            for (int64_t i = 0; i < p->D; i++) p->eta[i] += power * v[i];
        fab_release(v);
    }
    fab_solver_free(s);
    return status;
}

static fab_status add_densely(fab_product *p, const fab_gauss *q, const double *prior, double power)
{
    const int64_t D = p->D;
    double *A;
    FAB_TRY(fab_alloc_array((void **)&A, D * D, sizeof *A, "product"));
    const fab_status s = fab_gauss_dense_precision(q, p->x, A);
    if (s == FAB_OK) {
        for (int64_t i = 0; i < D; i++) A[i + i * D] -= prior[i];
        for (int64_t i = 0; i < D * D; i++) p->A[i] += power * A[i]; /* 2 */
    }
    fab_release(A);
    return s;
}

fab_status fab_product_add(fab_product *p, const fab_gauss *q, const double *prior, double power)
{
    const int64_t D = p->D, R = p->columns;
    FAB_TRY(fab_gauss_check(q));
    if (q->D != D || q->total || q->form == FAB_FORM_POINT)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "product: this is no Gaussian over %lld coordinates",
                        (long long)D);
    if (!p->stack) {
        FAB_TRY(add_densely(p, q, prior, power));
        return add_eta(p, q, power);
    }
    if (q->form != FAB_FORM_PRECISION || p->used + q->K > R)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "product: a part in %s form with %lld columns, %lld left",
                        fab_form_name(q->form), (long long)q->K, (long long)(R - p->used));
    double *F = p->stack->F;
    const double root = sqrt(power);
    for (int64_t i = 0; i < D; i++) {
        for (int64_t k = 0; k < q->K; k++)
            F[i * R + p->used + k] = root * fab_gauss_get(q, i * q->K + k);
        p->p[i] += power * (q->psi[i] - prior[i]); /* 2 */
    }
    p->used += q->K;
    return add_eta(p, q, power);
}

void fab_product_add_dense(fab_product *p, const double *A, const double *eta)
{
    for (int64_t i = 0; i < p->D * p->D; i++) p->A[i] += A[i];
    for (int64_t i = 0; i < p->D; i++) p->eta[i] += eta[i];
}

/* ---- the whole -------------------------------------------------------------------------------- */

static double log_prior(int64_t D, const double *after)
{
    double sum = 0;
    for (int64_t i = 0; i < D; i++)
        if (after[i] > 0) sum += log(after[i]);
    return sum;
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* L in a matrix of its own: L, then its Cholesky factor and the inverse; of units in which its diagonal is 1. */
static fab_status whole_densely(const fab_product *p, const double *after, double *work,
                                fab_gauss **q, double *log_evidence)
{
    const int64_t D = p->D;
    double *L = work, *S = L + D * D, *unit = S + D * D, *mu = unit + D, logdet = 0;
    for (int64_t i = 0; i < D; i++) {
        const double d = p->A[i + i * D] + after[i];
        if (!(d > 0 && isfinite(d)))
            return FAB_FAIL(FAB_NUMERIC, "product: coordinate %lld has the precision %g",
                            (long long)i, d);
        unit[i] = 1 / sqrt(d);
        logdet += log(d);
    }
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++)
            L[i + j * D] = i == j ? 1 : p->A[i + j * D] * unit[i] * unit[j];
    if (fab_chol(D, L) != FAB_OK)
        return FAB_FAIL(FAB_NUMERIC, "product: no positive definite precision is left");
    for (int64_t i = 0; i < D; i++) mu[i] = p->eta[i] * unit[i];
    fab_chol_solve(D, 1, L, mu);
    for (int64_t i = 0; i < D; i++) mu[i] *= unit[i]; /* 3 */
    *log_evidence = (log_prior(D, after) - logdet - fab_chol_logdet(D, L) + dot(D, p->eta, mu)) / 2;
    if (!q) return FAB_OK;
    fab_chol_inv(D, L, S);
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++) S[i + j * D] *= unit[i] * unit[j];
    FAB_TRY(fab_gauss_from_dense(q, D, S));
    memcpy((*q)->mu, mu, (size_t)D * sizeof *mu);
    return FAB_OK;
}

static fab_status dense_gauss(fab_product *p, const double *after, fab_gauss **q,
                              double *log_evidence)
{
    double *work;
    FAB_TRY(fab_alloc_array((void **)&work, 2 * p->D * p->D + 2 * p->D, sizeof *work, "product"));
    const int before = fab_blas_enter();
    const fab_status s = whole_densely(p, after, work, q, log_evidence);
    fab_blas_leave(before);
    fab_release(work);
    return s;
}

/* The stack is the Gaussian, with another psi and mean for each prior. */
static fab_status stacked_gauss(fab_product *p, const double *after, double *log_evidence)
{
    const int64_t D = p->D;
    fab_gauss *g = p->stack;
    fab_solver *s;
    double logdet; /* of the covariance */
    for (int64_t i = 0; i < D; i++) {
        g->psi[i] = p->p[i] + after[i];
        if (!(g->psi[i] > 0 && isfinite(g->psi[i])))
            return FAB_FAIL(FAB_NUMERIC,
                            "product: coordinate %lld has the precision %g beside its factors",
                            (long long)i, g->psi[i]);
    }
    memset(g->mu, 0, (size_t)D * sizeof *g->mu);
    FAB_TRY(fab_solver_create(&s, g, p->x));
    fab_status status =
        fab_solver_times_covariance(s, &(fab_rows){p->eta, FAB_F64, 1, D}, g->mu); /* 3 */
    if (status == FAB_OK) status = fab_solver_logdet(s, &logdet);
    fab_solver_free(s);
    if (status != FAB_OK) return status;
    *log_evidence = (log_prior(D, after) + logdet + dot(D, p->eta, g->mu)) / 2; /* 4 */
    return FAB_OK;
}

fab_status fab_product_gauss(fab_product *p, const double *after, fab_gauss **q,
                             double *log_evidence)
{
    if (q) *q = NULL;
    if (!p->stack) return dense_gauss(p, after, q, log_evidence);
    FAB_TRY(stacked_gauss(p, after, log_evidence));
    return q ? fab_gauss_copy(q, p->stack, FAB_F64) : FAB_OK;
}
