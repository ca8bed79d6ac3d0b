/* exact.c - exact Bayesian linear regression: the way through few or many rows, and the method's verbs.
 *
 * With X the weighted rows, A = alpha I + beta X'X, and an intercept that is not penalised:
 *
 *   N >= D, or a prior in covariance form:   covariance form (tall.c)
 *   N < D:                                   precision form (wide.c)
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/memory.h"
#include "methods/exact/evidence.h"
#include "methods/exact/exact.h"
#include "train/glm_fields.h"
#include "fit/method.h"
#include "la/ops.h"
#include "la/small.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Up to here singular values come each to relative accuracy (Jacobi, 0.1 s); above from the Gram matrix,
 * good to rounding of the largest, which tells alpha and beta as well for columns of one scale. */
enum { JACOBI_MAX = 256 };

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_exact_settings
static const fab_field fields[] = {GLM_FIELDS};
GLM_LAYOUT(fields);
const fab_fields fab_exact_table = TABLE("exact", fields);
const fab_fields fab_ridge_table = TABLE("ridge", fields);
#undef SETTINGS

/* ---- alpha and beta --------------------------------------------------------------------------- */

static int64_t jacobi_work(int64_t n)
{
    const int64_t plain = n * n + fab_svd_work(n, n), own = fab_jacobi_work(n, n);
    return 2 * n * n + (plain > own ? plain : own);
}

/* Does a column of B follow from the others, but for the rounding of nu rows?  Whatever their scales: each is taken by its
 * length. */
static fab_status is_deficient(int64_t n, const double *B, double least, double *s, double *work,
                               int *deficient)
{
    double *A = work, *U = A + n * n, *room = U + n * n;
    for (int64_t j = 0; j < n; j++) {
        const double *b = B + j * n;
        double most = 0, sum = 0;
        for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(b[i]));
        if (most > 0) {
            for (int64_t i = 0; i < n; i++) sum += (b[i] / most) * (b[i] / most);
            for (int64_t i = 0; i < n; i++) A[i + j * n] = b[i] / most / sqrt(sum);
        } else { /* no column at all */
            for (int64_t i = 0; i < n; i++) A[i + j * n] = i == j;
        }
    }
    FAB_TRY(fab_svd(n, n, A, U, s, room, room + n * n));
    *deficient = !(s[n - 1] > least * s[0]);
    return FAB_OK;
}

/* B = U s V',  u = U' z.  Where a column follows from the others, as the levels of two columns of words do, directions are
 * nothing but rounding: Jacobi's singular values are exact there too, and the evidence would learn from them what the order of
 * the rows put in.  They are none, and are left out of the SVD that is accurate beside the largest. */
static fab_status jacobi(int64_t n, double *B, const double *z, fab_evidence *v, double *work)
{
    const double least = fmax((double)n, v->nu) * DBL_EPSILON;
    double *copy = work, *U = copy + n * n, *room = U + n * n;
    int deficient;
    FAB_TRY(is_deficient(n, B, least, v->s2, work, &deficient));
    memcpy(copy, B, (size_t)(n * n) * sizeof *B);
    if (!deficient && fab_jacobi(n, n, B, v->s2, room) == FAB_OK) {
        U = B;
    } else {
        FAB_TRY(fab_svd(n, n, copy, U, v->s2, room, room + n * n));
        for (int64_t j = 0; j < n; j++) {
            if (v->s2[j] > least * v->s2[0]) continue;
            v->s2[j] = 0;
            memset(U + j * n, 0, (size_t)n * sizeof *U);
        }
    }
    for (int64_t j = 0; j < n; j++) {
        double u = 0;
        for (int64_t i = 0; i < n; i++) u += U[i + j * n] * z[i];
        v->s2[j] *= v->s2[j];
        v->u2[j] = u * u;
    }
    return FAB_OK;
}

/* B'B = V s^2 V',  u_j = v_j'B'z / s_j */
static fab_status gram(int64_t n, const double *B, const double *z, fab_evidence *v, double *work)
{
    double *A = work, *b = A + n * n, *room = b + n;
    fab_mm(FAB_T, FAB_N, n, n, n, 1, B, B, 0, A);
    fab_mv(FAB_T, n, n, 1, B, z, 0, b);
    FAB_TRY(fab_eig(n, A, v->s2, room));
    const double least = 1e-15 * v->s2[n - 1];
    for (int64_t j = 0; j < n; j++) {
        double u = 0;
        for (int64_t i = 0; i < n; i++) u += A[i + j * n] * b[i];
        v->s2[j] = v->s2[j] > least ? v->s2[j] : 0;
        v->u2[j] = v->s2[j] > 0 ? u * u / v->s2[j] : 0;
    }
    return FAB_OK;
}

/* cavi: priors, and what was found, in the caller's units. */
static fab_status climb(fab_exact_fit *fit, fab_evidence *v, double a_unit, double b_unit)
{
    fab_cavi c = fit->cavi;
    c.prior_alpha.rate /= a_unit;
    c.prior_beta.rate /= b_unit;
    FAB_TRY(fab_cavi_climb(v, &c));
    c.alpha.rate *= a_unit;
    c.beta.rate *= b_unit;
    c.prior_alpha = fit->cavi.prior_alpha;
    c.prior_beta = fit->cavi.prior_beta;
    fit->cavi = c;
    return FAB_OK;
}

static fab_status spectrum(int64_t n, double *B, const double *z, double rest, fab_evidence *v,
                           double *work)
{
    FAB_TRY(n <= JACOBI_MAX ? jacobi(n, B, z, v, work) : gram(n, B, z, v, work));
    double missing = 0; /* of y: where singular values are 0 */
    for (int64_t i = 0; i < n; i++) missing += z[i] * z[i] - v->u2[i];
    v->rest = rest + (missing > 0 ? missing : 0);
    return FAB_OK;
}

fab_status fab_exact_choose(fab_exact_fit *fit, int64_t n, double *B, const double *z, double rest,
                            double nu, double c_unit, double y_unit)
{
    fab_report *r = &fit->report;
    const double a_unit = (y_unit / c_unit) * (y_unit / c_unit), b_unit = y_unit * y_unit;
    fab_evidence v = {.who = fit->who, .watch = fit->watch, .n = n, .nu = nu};
    if (!fab_is_auto_f64(r->alpha) && !fab_is_auto_f64(r->beta)) return FAB_OK;
    v.alpha = fab_is_auto_f64(r->alpha) ? r->alpha : r->alpha * a_unit;
    v.beta = fab_is_auto_f64(r->beta) ? r->beta : r->beta * b_unit;
    const int64_t room = n <= JACOBI_MAX ? jacobi_work(n) : n * n + n + fab_eig_work(n);
    FAB_TRY(fab_alloc_array((void **)&v.s2, 2 * n + room, sizeof *v.s2, fit->who));
    v.u2 = v.s2 + n;
    fab_status s = spectrum(n, B, z, rest, &v, v.u2 + n);
    if (s == FAB_OK) s = fit->has_gammas ? climb(fit, &v, a_unit, b_unit) : fab_exact_evidence(&v);
    fab_release(v.s2);
    FAB_TRY(s);
    r->alpha = v.alpha / a_unit;
    r->beta = v.beta / b_unit;
    r->iterations = v.calls;
    r->converged = fit->has_gammas ? fit->cavi.converged : 1;
    if (fit->has_gammas && !fit->cavi.converged) r->gain = fit->cavi.gain; /* else rounding */
    if (!(r->alpha > 0 && r->beta > 0 && isfinite(r->alpha) && isfinite(r->beta)))
        return FAB_FAIL(
            FAB_NUMERIC,
            "%s: the evidence leads to alpha = %g, beta = %g: bring the columns to size", fit->who,
            r->alpha, r->beta);
    return FAB_OK;
}

/* ---- the verbs -------------------------------------------------------------------------------- */

fab_status fab_exact_init(void **handle, const char *who, int point, const void *settings,
                          const fab_input *in, const fab_exec *x)
{
    const fab_exact_settings *s = settings;
    fab_exact_fit *fit;
    *handle = NULL;
    if (in->model->head.likelihood != FAB_LIKELIHOOD_GAUSSIAN)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: a %s target has no closed form; laplace or lrvga fit it", who,
                        fab_likelihood_name(in->model->head.likelihood));
    FAB_TRY(fab_check_alone(who, x));
    FAB_TRY(fab_alloc_array((void **)&fit, 1, sizeof *fit, who));
    *fit = (fab_exact_fit){.who = who,
                           .s = *s,
                           .model = in->model->head,
                           .prior = in->prior,
                           .point = point,
                           .type = x && x->ops ? x->ops->type : FAB_F64};
    if (x) fit->exec = *x;
    fit->watch = fab_watch_of(x);
    *handle = fit;
    return FAB_OK;
}

void fab_exact_free(void *handle)
{
    fab_exact_fit *fit = handle;
    if (!fit) return;
    fab_gauss_free(fit->q);
    fab_release(fit);
}

fab_status fab_exact_update(void *handle, const fab_examples *e)
{
    fab_exact_fit *fit = handle;
    const int64_t D = fit->model.D, n = e->x.n < D ? e->x.n : D;
    if (n > FAB_EXACT_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: min(N, D) = %lld is above %d; lrvga fits it at rank K", fit->who,
                        (long long)n, FAB_EXACT_MAX);
    fit->e = *e;
    return FAB_OK;
}

/* Few rows keep the precision form, unless the prior stands in its way. */
static int is_wide(const fab_exact_fit *fit)
{
    const int64_t P = fit->model.D + fit->model.intercept;
    if (!fit->prior) return fit->e.x.n < fit->model.D;
    if (fit->prior->form != FAB_FORM_PRECISION) return 0;
    return fit->e.x.n + fit->prior->K < P &&
           (fit->prior->K == 0 || !fab_is_auto_f64(fit->s.glm.beta));
}

fab_status fab_exact_result(void *handle, const fab_gauss **q)
{
    fab_exact_fit *fit = handle;
    fab_gauss_free(fit->q);
    fit->q = NULL;
    fit->report = (fab_report){
        .alpha = fit->prior ? NAN : fit->s.glm.alpha, .beta = fit->s.glm.beta, .converged = -1};
    const int before = fab_blas_enter();
    fab_status s = is_wide(fit) ? fab_exact_wide(fit) : fab_exact_tall(fit);
    fab_blas_leave(before);
    FAB_TRY(s);
    fit->report.log_evidence += fit->cavi.more;
    s = fab_gauss_check(fit->q);
    if (s != FAB_OK)
        return fab_prefix(FAB_NUMERIC,
                          "%s: the posterior is not finite (alpha = %g, beta = %g): ", fit->who,
                          fit->report.alpha, fit->report.beta);
    *q = fit->q;
    return FAB_OK;
}

fab_status fab_exact_report(void *handle, fab_report *r)
{
    *r = ((const fab_exact_fit *)handle)->report;
    return FAB_OK;
}

double fab_exact_bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_glm *m = &in->model->head;
    (void)settings;
    const double P = (double)(m->D + m->intercept), N = (double)n;
    const double element = x && x->ops && x->ops->type == FAB_F32 ? 4 : 8;
    if (n < m->D) return 8 * (P * N + 4 * N * N + 70 * N + 8 * P) + element * P * (N + 1);
    return 8 * (9 * P * P + 80 * P) + element * P * P;
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    return fab_exact_init(handle, "exact", 0, settings, in, x);
}

const fab_method fab_exact_method = {
    .name = "exact",
    .summary =
        "linear regression, exactly: the posterior in closed form, evidence for alpha and beta",
    .fields = &fab_exact_table,
    FAB_EXACT_VERBS,
};
