/* vifa_optimum.c - the Gaussian of rank K nearest to a given one: where vifa converges to, without noise.
 *
 *   p = N(m, A^-1);  q = N(m, S),  S = F F' + diag(psi),  psi = exp gamma, in units in which A has diagonal 1
 *   1  KL(q || p) = (tr(A S) - log det S - log det A - D) / 2
 *   2  M = I + F' psi^-1 F,  C = psi^-1 F M^-1,  log det S = sum gamma + log det M
 *   3  gradients: A F - C,  (psi - 1 + rowdot(C, F)) / 2
 *   4  L-BFGS from several random places; the best q stays
 *
 * The expectation of a linear model with Gaussian noise is this in closed form: its posterior is p, and the ELBO
 * is its log evidence less the KL.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "fabayes/random.h"
#include "fabayes/vifa.h"
#include "la/small.h"
#include <math.h>
#include <nlopt.h>
#include <string.h>

enum { MEMORY = 30, ROUNDS = 40, EVALUATIONS = 20000 };
#define FIRST_F 0.3 /* size of F at the start, in units of the conditional standard deviations */
#define LEAST \
    1e-8 /* of psi, in units of the conditional variances: below, F psi^-1 F' drowns in rounding */
#define NO_GAIN 1e-13 /* a round that brings less, relative to 1 + KL, is the last */

typedef struct problem {
    const fab_gauss *p;
    int64_t D, K, n;        /* n = D (K + 1) */
    double logdet;          /* of A in its units */
    double *unit;           /* D: A_ii^-1/2 */
    double *A, *I;          /* D x D; the identity */
    double *x, *best, *low; /* n: F (column-major), then gamma; the lower bounds of it */
    double *AF, *C, *M;     /* D x K, D x K, K x K */
    double value;
} problem;

static void layout(fab_layout *l, void *handle)
{
    problem *o = handle;
    const int64_t D = o->D, K = o->K;
    o->unit = fab_place(l, D, sizeof(double));
    o->A = fab_place(l, D * D, sizeof(double));
    o->I = fab_place(l, D * D, sizeof(double));
    o->x = fab_place(l, o->n, sizeof(double));
    o->best = fab_place(l, o->n, sizeof(double));
    o->low = fab_place(l, o->n, sizeof(double));
    o->AF = fab_place(l, D * K, sizeof(double));
    o->C = fab_place(l, D * K, sizeof(double));
    o->M = fab_place(l, K * K, sizeof(double));
}

/* A of p, scaled to diagonal 1, and its log determinant. */
static fab_status take_precision(problem *o)
{
    fab_solver *s;
    double logdet = 0;
    FAB_TRY(fab_solver_init(&s, o->p, NULL));
    fab_add_identity(o->D, o->I);
    const fab_rows rows = {o->I, FAB_F64, o->D, o->D};
    fab_status status = fab_solver_times_precision(s, &rows, o->A);
    if (status == FAB_OK) status = fab_solver_logdet(s, &logdet);
    fab_solver_free(s);
    FAB_TRY(status);
    fab_symmetrise(o->D, o->A);
    o->logdet = -logdet;
    for (int64_t i = 0; i < o->D; i++) {
        o->unit[i] = 1 / sqrt(o->A[i + i * o->D]);
        o->logdet += 2 * log(o->unit[i]);
    }
    for (int64_t j = 0; j < o->D; j++)
        for (int64_t i = 0; i < o->D; i++) o->A[i + j * o->D] *= o->unit[i] * o->unit[j];
    return FAB_OK;
}

/* 2: C = psi^-1 F M^-1; log det S, or NaN */
static double factor(problem *o, const double *F, const double *gamma)
{
    const int64_t D = o->D, K = o->K;
    double logdet = 0;
    for (int64_t i = 0; i < D; i++) logdet += gamma[i];
    if (K == 0) return logdet;
    for (int64_t k = 0; k < K; k++)
        for (int64_t i = 0; i < D; i++) o->C[i + k * D] = F[i + k * D] * exp(-gamma[i]);
    fab_mm(FAB_T, FAB_N, K, K, D, 1, F, o->C, 0, o->M);
    fab_add_identity(K, o->M);
    if (fab_chol(K, o->M) != FAB_OK) return NAN;
    fab_tri_solve(FAB_RIGHT, FAB_T, D, K, o->M, o->C);
    fab_tri_solve(FAB_RIGHT, FAB_N, D, K, o->M, o->C);
    return logdet + fab_chol_logdet(K, o->M);
}

/* 1 - 3 */
static double divergence(unsigned n, const double *x, double *gradient, void *ctx)
{
    problem *o = ctx;
    const int64_t D = o->D, K = o->K;
    const double *gamma = x + D * K, logdet = factor(o, x, gamma);
    double trace = 0;
    (void)n;
    if (K > 0) fab_mm(FAB_N, FAB_N, D, K, D, 1, o->A, x, 0, o->AF);
    for (int64_t i = 0; i < D * K; i++) trace += o->AF[i] * x[i];
    for (int64_t i = 0; i < D; i++) trace += exp(gamma[i]);
    for (int64_t i = 0; i < D * K && gradient; i++) gradient[i] = o->AF[i] - o->C[i];
    for (int64_t i = 0; i < D && gradient; i++) {
        double dot = 0;
        for (int64_t k = 0; k < K; k++) dot += o->C[i + k * D] * x[i + k * D];
        gradient[D * K + i] = (exp(gamma[i]) - 1 + dot) / 2;
    }
    const double kl = (trace - logdet - o->logdet - (double)D) / 2;
    return isfinite(kl) ? kl : HUGE_VAL;
}

static fab_status descend(problem *o, double *value)
{
    const nlopt_opt opt = nlopt_create(NLOPT_LD_LBFGS, (unsigned)o->n);
    if (!opt) return FAB_FAIL(FAB_NO_MEMORY, "vifa: the optimiser has no memory");
    nlopt_set_min_objective(opt, divergence, o);
    nlopt_set_vector_storage(opt, MEMORY);
    nlopt_set_maxeval(opt, EVALUATIONS);
    nlopt_set_lower_bounds(opt, o->low);
    const nlopt_result r = nlopt_optimize(opt, o->x, value);
    nlopt_destroy(opt);
    return r == NLOPT_OUT_OF_MEMORY ? FAB_FAIL(FAB_NO_MEMORY, "vifa: the optimiser has no memory")
                                    : FAB_OK;
}

/* 4, one place */
static fab_status search(problem *o, uint64_t seed, int64_t number)
{
    double value = HUGE_VAL, before = HUGE_VAL;
    fab_random_normal(seed, (uint64_t)number, 0, o->n, FAB_F64, o->x);
    for (int64_t i = 0; i < o->n; i++) o->x[i] *= i < o->D * o->K ? FIRST_F : 0;
    for (int round = 0; round < ROUNDS; round++) {
        FAB_TRY(descend(o, &value));
        if (!(before - value > NO_GAIN * (1 + fabs(value)))) break;
        before = value;
    }
    if (!(value < o->value)) return FAB_OK;
    o->value = value;
    memcpy(o->best, o->x, (size_t)o->n * sizeof(double));
    return FAB_OK;
}

static fab_status give(const problem *o, fab_gauss **q)
{
    const int64_t D = o->D, K = o->K;
    fab_gauss *g;
    if (!isfinite(o->value))
        return FAB_FAIL(FAB_NUMERIC, "vifa: no Gaussian of rank %lld was found", (long long)K);
    FAB_TRY(fab_gauss_create(&g, FAB_COVARIANCE, FAB_F64, D, K));
    double *F = g->F;
    memcpy(g->mu, o->p->mu, (size_t)D * sizeof(double));
    for (int64_t i = 0; i < D; i++) {
        g->psi[i] = exp(o->best[D * K + i]) * o->unit[i] * o->unit[i];
        for (int64_t k = 0; k < K; k++) F[i * K + k] = o->best[i + k * D] * o->unit[i];
    }
    *q = g;
    return FAB_OK;
}

static fab_status best_of(problem *o, int64_t starts, uint64_t seed, fab_gauss **q)
{
    FAB_TRY(take_precision(o));
    for (int64_t i = 0; i < o->n; i++) o->low[i] = i < o->D * o->K ? -HUGE_VAL : log(LEAST);
    for (int64_t i = 0; i < starts; i++) FAB_TRY(search(o, seed, i));
    return give(o, q);
}

fab_status fab_vifa_optimum(fab_gauss **q, double *kl, const fab_gauss *p, int64_t K,
                            int64_t starts, uint64_t seed)
{
    problem proto = {.p = p, .D = p->D, .K = K, .n = p->D * (K + 1), .value = HUGE_VAL}, *o;
    *q = NULL;
    if (p->D > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "vifa: D = %lld is above %d, where the optimum is searched for",
                        (long long)p->D, FAB_DENSE_MAX);
    if (K < 0 || K > p->D || starts < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "vifa: K = %lld of D = %lld from %lld starts",
                        (long long)K, (long long)p->D, (long long)starts);
    FAB_TRY(fab_build((void **)&o, sizeof proto, &proto, layout));
    const fab_status s = best_of(o, starts, seed, q);
    if (kl) *kl = o->value;
    fab_release(o);
    return s;
}
