/* classes.c - the linear predictors of a categorical model, and the class probabilities that follow.
 *
 * Write the covariance of theta as diag(d) + s G G': covariance form d = psi, G = F, s = 1; precision form
 * d = 1/psi, G = psi^-1 F L'^-1, s = -1.  With theta cut into its classes and t_k = G_k' (x, 1):
 *
 *   1  mean_k = (x, 1) . mu_k
 *   2  cov_kl = s t_k . t_l,  and sum d_k (x, 1)^2 on the diagonal
 *   3  p = E softmax(eta)                                                        (softmax.c)
 *
 * The products with G cost O(C D K) a row, 2 O(C^2 K).  In precision form 2 subtracts: it is good to
 * rounding times the ratio of F F' to psi.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "fabayes/predict.h"
#include "la/small.h"
#include "model/likelihoods/likelihood.h"
#include "model/likelihoods/softmax.h"
#include "posterior/factor.h"
#include "posterior/solver.h"
#include "predict/eta.h"
#include <math.h>
#include <string.h>

enum { BLOCK = FAB_PREDICT_ROWS };

typedef struct predictors {
    const fab_glm *m;
    const fab_gauss *q;
    int64_t C, W, K; /* classes; features and intercept; rank */
    fab_run run;
    double *x;  /* BLOCK rows of W */
    double *d;  /* C W */
    double *t;  /* K x BLOCK for each class */
    double *tk; /* K x C of one row */
    double *v;  /* BLOCK for each class: sum d (x, 1)^2 */
    void *G;    /* C W x K, row-major: F, or in the block */
    void *X;    /* W x BLOCK in the type of G */
    fab_gauss *copy;
} predictors;

/* ---- life -------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    predictors *p = handle;
    const int64_t most = p->K > BLOCK ? p->K : BLOCK;
    p->x = fab_place(l, BLOCK * p->W, sizeof(double));
    if (p->q->form == FAB_FORM_POINT) return;
    p->d = fab_place(l, p->C * p->W, sizeof(double));
    p->t = fab_place(l, p->C * p->K * BLOCK, sizeof(double));
    p->tk = fab_place(l, p->C * p->K, sizeof(double));
    p->v = fab_place(l, p->C * BLOCK, sizeof(double));
    p->X = fab_place(l, BLOCK * p->W, p->run.ops->size);
    p->run.work =
        fab_place(l, (int64_t)p->run.ops->work(p->C * p->W, most, most, p->run.threads), 1);
}

/* G = psi^-1 F L'^-1 in double, in place of the F of a copy. */
static fab_status turn_precision(predictors *p, const fab_exec *exec)
{
    const int64_t K = p->K;
    fab_solver *solver;
    double *Li;
    fab_long G = fab_long_rows(p->copy->F, p->copy->D, K);
    for (int64_t i = 0; i < p->copy->D; i++) p->d[i] = 1 / p->copy->psi[i];
    if (K == 0) return FAB_OK;
    FAB_TRY(fab_solver_create(&solver, p->copy, exec));
    const fab_status s = fab_alloc_array((void **)&Li, K * K, sizeof *Li, "predict");
    if (s == FAB_OK) {
        fab_factor_invert(K, fab_solver_chol(solver), Li);
        p->run.ops->mult(&p->run, p->d, &G, Li, 0, &G);
        fab_release(Li);
    }
    fab_solver_free(solver);
    return s;
}

static fab_status take_spread(predictors *p, const fab_exec *exec)
{
    if (p->q->form == FAB_FORM_COVARIANCE) {
        p->G = p->q->F;
        memcpy(p->d, p->q->psi, (size_t)p->q->D * sizeof *p->d);
    }
    if (p->q->form != FAB_FORM_PRECISION) return FAB_OK;
    FAB_TRY(fab_gauss_copy(&p->copy, p->q, FAB_F64));
    p->G = p->copy->F;
    return turn_precision(p, exec);
}

static void predictors_free(predictors *p)
{
    if (!p) return;
    fab_gauss_free(p->copy);
    fab_release(p);
}

static fab_status predictors_init(predictors **p, const fab_gauss *q, const fab_glm *m,
                                  const fab_exec *exec)
{
    predictors proto = {.m = m, .q = q, .C = m->classes, .W = m->D + m->intercept, .K = q->K};
    const fab_dtype type = q->form == FAB_FORM_PRECISION ? FAB_F64 : q->type;
    *p = NULL;
    FAB_TRY(fab_gauss_check(q));
    FAB_TRY(fab_run_init(&proto.run, exec, type));
    FAB_TRY(fab_build((void **)p, sizeof proto, &proto, layout));
    const fab_status s = take_spread(*p, exec);
    if (s == FAB_OK) return FAB_OK;
    predictors_free(*p);
    *p = NULL;
    return s;
}

/* ---- 1, 2: means and covariances ----------------------------------------------------------------------- */

/* t and v of n gathered rows */
static void project(predictors *p, int64_t n)
{
    const fab_rows rows = {p->x, FAB_F64, n, p->W};
    const fab_long X = fab_long_vectors(p->X, p->W, n, p->W);
    p->run.ops->load(&p->run, &rows, NULL, &X);
    for (int64_t k = 0; k < p->C; k++) {
        if (p->K) {
            char *const from = (char *)p->G + (size_t)(k * p->W * p->K) * p->run.ops->size;
            const fab_long G = fab_long_rows(from, p->W, p->K);
            p->run.ops->cross(&p->run, &G, NULL, &X, p->t + k * p->K * BLOCK);
        }
        p->run.ops->colquad(&p->run, &X, p->d + k * p->W, p->v + k * BLOCK);
    }
}

/* 2, of row j of the block */
static void covariance_of(predictors *p, int64_t j, double *S)
{
    const int64_t C = p->C, K = p->K;
    const double sign = p->q->form == FAB_FORM_COVARIANCE ? 1 : -1;
    memset(S, 0, (size_t)(C * C) * sizeof *S);
    if (K) {
        for (int64_t k = 0; k < C; k++)
            memcpy(p->tk + k * K, p->t + (k * BLOCK + j) * K, (size_t)K * sizeof *p->tk);
        fab_mm(FAB_T, FAB_N, C, C, K, sign, p->tk, p->tk, 0, S);
    }
    for (int64_t k = 0; k < C; k++) {
        double *variance = &S[k + k * C];
        *variance += p->v[k * BLOCK + j];
        if (*variance < 0) *variance = 0; /* rounding; NaN stays and is refused */
    }
}

static int are_finite(int64_t n, const double *a)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(a[i])) return 0;
    return 1;
}

/* Means of rows first .. first + n - 1, C each; what 2 needs is ready after it. */
static void block(predictors *p, const fab_rows *x, const double *offset, int64_t first, int64_t n,
                  double *eta)
{
    const int64_t C = p->C;
    fab_predict_gather(p->m, x, first, n, p->x);
    fab_mm(FAB_T, FAB_N, C, n, p->W, 1, p->q->mu, p->x, 0, eta); /* 1 */
    if (offset)
        for (int64_t i = 0; i < n * C; i++) eta[i] += offset[first + i / C];
    if (p->q->form != FAB_FORM_POINT) project(p, n);
}

static fab_status check(const fab_gauss *q, const fab_glm *m, const fab_rows *x)
{
    FAB_TRY(fab_predict_check(q, m, x));
    if (!fab_glm_likelihood(m)->several)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "predict: the model has one predictor, no classes");
    if (m->classes > FAB_DENSE_MAX && q->form != FAB_FORM_POINT)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "predict: the spread of %lld classes is not offered, only up to %d",
                        (long long)m->classes, FAB_DENSE_MAX);
    return FAB_OK;
}

/* What is done with a block whose means are in `eta`. */
typedef struct visit {
    predictors *p;
    fab_softmax *softmax;
    double *eta, *S; /* BLOCK x C, C x C: of softmax */
    const fab_rows *x;
    const double *more; /* rows: variance of each predictor beside; NULL: none */
    double *means, *covariances, *logp;
} visit;

static fab_status keep_moments(visit *v, int64_t first, int64_t n)
{
    const int64_t C = v->p->C;
    for (int64_t j = 0; j < n; j++) {
        double *S = v->covariances + (first + j) * C * C;
        if (v->p->q->form == FAB_FORM_POINT)
            memset(S, 0, (size_t)(C * C) * sizeof *S);
        else
            covariance_of(v->p, j, S);
        if (!are_finite(C, v->means + (first + j) * C) || !are_finite(C * C, S))
            return fab_predict_no_number(v->p->m, v->x, first + j);
    }
    return FAB_OK;
}

/* 3 */
static fab_status keep_probabilities(visit *v, int64_t first, int64_t n)
{
    const int64_t C = v->p->C;
    const int point = v->p->q->form == FAB_FORM_POINT;
    for (int64_t j = 0; j < n; j++) {
        double *logp = v->logp + (first + j) * C;
        if (!point) covariance_of(v->p, j, v->S);
        if (point && v->more) memset(v->S, 0, (size_t)(C * C) * sizeof *v->S);
        for (int64_t c = 0; c < C && v->more; c++) v->S[c + c * C] += v->more[first + j];
        const double *S = point && !v->more ? NULL : v->S;
        if (!are_finite(C, v->eta + j * C) || (S && !are_finite(C * C, S)))
            return fab_predict_no_number(v->p->m, v->x, first + j);
        FAB_TRY(fab_softmax_logp(v->softmax, first + j, v->eta + j * C, S, logp));
        if (!are_finite(C, logp)) return fab_predict_no_number(v->p->m, v->x, first + j);
    }
    return FAB_OK;
}

static fab_status each_block(visit *v, const fab_rows *x, const double *offset)
{
    const int64_t C = v->p->C;
    for (int64_t first = 0; first < x->n; first += BLOCK) {
        const int64_t n = x->n - first < BLOCK ? x->n - first : BLOCK;
        block(v->p, x, offset, first, n, v->means ? v->means + first * C : v->eta);
        FAB_TRY(v->means ? keep_moments(v, first, n) : keep_probabilities(v, first, n));
        FAB_TRY(fab_watch_tick(&v->p->run.watch, "predict", first + n, x->n));
    }
    return FAB_OK;
}

/* ---- the public verbs ---------------------------------------------------------------------------------- */

fab_status fab_predict_etas(const fab_gauss *q, const fab_glm *m, const fab_rows *x,
                            const double *offset, const fab_exec *exec, double *eta,
                            double *covariance)
{
    visit v = {.x = x, .means = eta, .covariances = covariance};
    FAB_TRY(check(q, m, x));
    FAB_TRY(predictors_init(&v.p, q, m, exec));
    const int before = fab_blas_enter();
    const fab_status s = each_block(&v, x, offset);
    fab_blas_leave(before);
    predictors_free(v.p);
    return s;
}

static fab_status probabilities(visit *v, const fab_rows *x, const double *offset, int64_t samples,
                                int64_t seed)
{
    const int64_t C = v->p->C;
    FAB_TRY(fab_softmax_init(&v->softmax, C, samples, seed));
    fab_status s = fab_alloc_array((void **)&v->eta, (BLOCK + C) * C, sizeof *v->eta, "predict");
    if (s == FAB_OK) {
        v->S = v->eta + BLOCK * C;
        s = each_block(v, x, offset);
        fab_release(v->eta);
    }
    fab_softmax_free(v->softmax);
    return s;
}

fab_status fab_predict_classes(const fab_gauss *q, const fab_glm *m, const fab_rows *x,
                               const double *offset, int64_t samples, int64_t seed,
                               const fab_exec *exec, double *logp)
{
    return fab_predict_classes_wider(q, m, x, offset, NULL, samples, seed, exec, logp);
}

fab_status fab_predict_classes_wider(const fab_gauss *q, const fab_glm *m, const fab_rows *x,
                                     const double *offset, const double *more, int64_t samples,
                                     int64_t seed, const fab_exec *exec, double *logp)
{
    visit v = {.x = x, .more = more, .logp = logp};
    FAB_TRY(check(q, m, x));
    if (samples < 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "predict: samples = %lld, expected 0 or more",
                        (long long)samples);
    FAB_TRY(predictors_init(&v.p, q, m, exec));
    const int before = fab_blas_enter();
    const fab_status s = probabilities(&v, x, offset, samples, seed);
    fab_blas_leave(before);
    predictors_free(v.p);
    return s;
}
