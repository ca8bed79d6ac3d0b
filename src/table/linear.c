/* linear.c - a linear model in the user's units: coefficients, draws, the Gaussian.
 *
 *   theta_user = A theta + a:
 *
 *     coefficient_j = theta_j s_y / s_j
 *     intercept     = m_y + s_y (theta_0 - sum_j theta_j m_j / s_j)
 *
 *   A is diagonal but for the row of an intercept.  The Gaussian in the user's units:
 *
 *   1  no column has a mean: A is diagonal, and F and psi are scaled as they stand
 *   2  else S = A cov A', dense, and back to F F' + psi without loss
 *
 * SPDX-License-Identifier: MIT */
#include "model/kernel.h"
#include "table/regression.h"
#include <math.h>
#include <string.h>

fab_status fab_regression_need_linear(fab_regression *r, const char *what)
{
    FAB_TRY(fab_regression_view(r));
    if (fab_regression_has_coefficients(r)) return FAB_OK;
    if (r->view.net || r->view.process)
        return FAB_FAIL(FAB_UNSUPPORTED, "regression: a %s has no %s",
                        r->view.net ? "network" : "Gaussian process", what);
    return FAB_FAIL(FAB_UNSUPPORTED, "regression: features of a kernel have no %s", what);
}

int fab_regression_has_coefficients(const fab_regression *r)
{
    if (fab_regression_is_network(r) || fab_regression_is_process(r)) return 0;
    return r->scaling ? r->scaling->inputs == NULL : r->map.kind == FAB_MAP_NONE;
}

static const fab_gauss *gauss_of(const fab_regression *r)
{
    return r->view.mix.part[0];
}

static int64_t width_of(const fab_regression *r)
{
    return r->view.model.D + r->view.model.intercept;
}

static fab_status need_solver(fab_regression *r)
{
    const fab_watch w = fab_watch_of(&r->exec);
    const fab_exec x = fab_watch_exec(&w, (fab_exec){.threads = r->exec.threads});
    if (r->view.solver) return FAB_OK;
    return fab_solver_create(&r->view.solver, gauss_of(r), &x);
}

/* A theta from fitting units to the user's, in place. */
static void to_user(const fab_regression *r, double *theta)
{
    const fab_scaling *k = r->scaling;
    for (int64_t c = 0; c < r->view.model.classes; c++, theta += width_of(r)) {
        double shift = 0;
        for (int64_t d = 0; d < k->D; d++) {
            theta[d] *= k->target_scale / k->scale[d];
            shift += theta[d] * k->mean[d];
        }
        if (r->view.model.intercept)
            theta[k->D] = k->target_mean + k->target_scale * theta[k->D] - shift;
    }
}

/* ---- coefficients ------------------------------------------------------------------------------------- */

int64_t fab_regression_size(const fab_regression *r)
{
    if (r->view.is_made) {
        const fab_gauss *q = gauss_of(r);
        return q->total ? q->total : q->D;
    }
    if (r->fit.net) return fab_net_model(r->fit.net)->D;
    if (r->fit.kernel) return fab_process_size(&r->fit.glm, r->fit.kernel);
    return r->fit.fit ? fab_glm_size(&r->fit.glm) : 0;
}

/* Intercept of class c:  a . theta + m_y,  its variance a' S a;  product: room for S a. */
static fab_status intercept(fab_regression *r, int64_t c, double *a, double *product, double *mean,
                            double *sd)
{
    const fab_scaling *k = r->scaling;
    const fab_gauss *q = gauss_of(r);
    const int64_t first = c * width_of(r);
    const fab_rows row = {.p = a, .type = FAB_F64, .n = 1, .ld = q->D};
    double variance = 0;
    *mean = k->target_mean;
    memset(a, 0, (size_t)q->D * sizeof *a);
    for (int64_t d = 0; d < k->D; d++) a[first + d] = -k->target_scale * k->mean[d] / k->scale[d];
    a[first + k->D] = k->target_scale;
    if (q->form != FAB_FORM_POINT)
        FAB_TRY(fab_solver_times_covariance(r->view.solver, &row, product));
    for (int64_t i = 0; i < q->D; i++) {
        *mean += a[i] * q->mu[i];
        if (q->form != FAB_FORM_POINT) variance += a[i] * product[i];
    }
    *sd = sqrt(fmax(0, variance));
    return FAB_OK;
}

/* work: 2 P numbers */
static fab_status coefficients(fab_regression *r, double *work, double *mean, double *sd)
{
    const fab_scaling *k = r->scaling;
    const fab_gauss *q = gauss_of(r);
    const int64_t width = width_of(r);
    if (q->form != FAB_FORM_POINT) FAB_TRY(fab_solver_variances(r->view.solver, work));
    for (int64_t i = 0; i < q->D; i++) {
        const int64_t d = i % width;
        if (d == k->D) continue; /* an intercept */
        const double unit = k->target_scale / k->scale[d];
        mean[i] = unit * q->mu[i];
        sd[i] = q->form == FAB_FORM_POINT ? 0 : unit * sqrt(work[i]);
    }
    if (!r->view.model.intercept) return FAB_OK;
    for (int64_t c = 0; c < r->view.model.classes; c++) {
        const int64_t at = c * width + k->D;
        FAB_TRY(intercept(r, c, work, work + q->D, &mean[at], &sd[at]));
    }
    return FAB_OK;
}

fab_status fab_regression_coefficients(fab_regression *r, double *mean, double *sd)
{
    double *work;
    FAB_TRY(fab_regression_need_linear(r, "coefficients"));
    FAB_TRY(need_solver(r));
    FAB_TRY(fab_alloc_array((void **)&work, 2 * gauss_of(r)->D, sizeof *work, "coefficients"));
    const fab_status s = coefficients(r, work, mean, sd);
    fab_release(work);
    return s;
}

static int has_coefficient(fab_regression *r, int64_t i)
{
    return fab_regression_view(r) == FAB_OK && !r->view.net && !r->view.process && i >= 0 &&
           i < gauss_of(r)->D;
}

const char *fab_regression_coefficient_name(fab_regression *r, int64_t i)
{
    if (!has_coefficient(r, i)) return NULL;
    const int64_t d = i % width_of(r);
    return d < r->scaling->D ? r->scaling->name[d] : "intercept";
}

const char *fab_regression_coefficient_class(fab_regression *r, int64_t i, char buf[32])
{
    if (!has_coefficient(r, i) || r->view.model.classes == 1) return NULL;
    return fab_scaling_class(r->scaling, i / width_of(r), buf);
}

/* ---- draws -------------------------------------------------------------------------------------------- */

/* Draws of coefficients are made as f64, one group of rows at a time, and brought to the user's units. */
static fab_status sample_linear(fab_regression *r, uint64_t seed, int64_t first, int64_t n,
                                fab_dtype type, void *out, int64_t ld)
{
    const int64_t P = gauss_of(r)->D;
    double *draws = out;
    if (type == FAB_F32) FAB_TRY(fab_alloc_array((void **)&draws, n * P, sizeof *draws, "sample"));
    const int64_t step = type == FAB_F32 ? P : ld;
    const fab_status s =
        fab_solver_sample(r->view.solver, seed, FAB_PURPOSE_SAMPLE, first, n, FAB_F64, draws, step);
    if (s == FAB_OK)
        for (int64_t j = 0; j < n; j++) {
            to_user(r, draws + j * step);
            if (type == FAB_F32)
                for (int64_t i = 0; i < P; i++)
                    ((float *)out)[j * ld + i] = (float)draws[j * step + i];
        }
    if (type == FAB_F32) fab_release(draws);
    return s;
}

fab_status fab_regression_sample(fab_regression *r, uint64_t seed, int64_t first, int64_t n,
                                 fab_dtype type, void *out, int64_t ld)
{
    const fab_watch w = fab_watch_of(&r->exec);
    const fab_exec x = fab_watch_exec(&w, (fab_exec){.threads = r->exec.threads});
    FAB_TRY(fab_regression_view(r));
    if (r->view.mix.n > 1)
        return fab_mixture_sample(&r->view.mix, seed, FAB_PURPOSE_SAMPLE, first, n, type, out, ld,
                                  NULL, &x);
    FAB_TRY(need_solver(r));
    if (!r->view.net && !r->view.process) return sample_linear(r, seed, first, n, type, out, ld);
    return fab_solver_sample(r->view.solver, seed, FAB_PURPOSE_SAMPLE, first, n, type, out, ld);
}

/* ---- the Gaussian ------------------------------------------------------------------------------------- */

static int has_means(const fab_regression *r)
{
    const fab_scaling *k = r->scaling;
    if (!r->view.model.intercept) return 0;
    for (int64_t d = 0; d < k->D; d++)
        if (k->mean[d] != 0) return 1;
    return 0;
}

/* 1: A_ii is the unit of coordinate i */
static void scale_rows(const fab_regression *r, fab_gauss *g)
{
    const fab_scaling *k = r->scaling;
    double *F = g->F;
    for (int64_t i = 0; i < g->D; i++) {
        const int64_t d = i % width_of(r);
        const double unit = d < k->D ? k->target_scale / k->scale[d] : k->target_scale;
        const double u = g->form == FAB_FORM_COVARIANCE ? unit : 1 / unit;
        for (int64_t j = 0; j < g->K; j++) F[i * g->K + j] *= u;
        g->psi[i] *= u * u;
    }
}

/* 2: A S A' in place: rows are vectors of theta, then columns are; zero: what theta = 0 becomes */
static void change_both(const fab_regression *r, double *S, const double *zero)
{
    const int64_t P = gauss_of(r)->D;
    for (int turn = 0; turn < 2; turn++) {
        for (int64_t i = 0; i < P; i++) {
            double *row = S + i * P;
            to_user(r, row);
            for (int64_t j = 0; j < P; j++) row[j] -= zero[j];
        }
        for (int64_t i = 0; i < P; i++)
            for (int64_t j = 0; j < i; j++) {
                const double t = S[i * P + j];
                S[i * P + j] = S[j * P + i];
                S[j * P + i] = t;
            }
    }
}

static fab_status change_densely(fab_regression *r, fab_gauss **g)
{
    const int64_t P = gauss_of(r)->D;
    double *S;
    FAB_TRY(need_solver(r));
    FAB_TRY(fab_alloc_array((void **)&S, P * P + P, sizeof *S, "the user's units"));
    double *zero = S + P * P;
    memset(zero, 0, (size_t)P * sizeof *zero);
    to_user(r, zero);
    fab_status s = fab_solver_dense(r->view.solver, S);
    if (s == FAB_OK) {
        change_both(r, S, zero);
        s = fab_gauss_from_dense(g, P, S);
    }
    fab_release(S);
    return s;
}

fab_status fab_regression_gauss(fab_regression *r, fab_gauss **g)
{
    *g = NULL;
    FAB_TRY(fab_regression_need_linear(r, "Gaussian in the user's units"));
    const fab_gauss *q = gauss_of(r);
    const int mixes = has_means(r);
    if (mixes && q->D > FAB_DENSE_MAX)
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "%lld coordinates are too many to be brought to the user's units: at most %d",
            (long long)q->D, FAB_DENSE_MAX);
    if (mixes && q->form != FAB_FORM_POINT) {
        FAB_TRY(change_densely(r, g));
    } else {
        FAB_TRY(fab_gauss_copy(g, q, FAB_F64));
        if (q->form != FAB_FORM_POINT) scale_rows(r, *g);
    }
    memcpy((*g)->mu, q->mu, (size_t)q->D * sizeof *q->mu);
    to_user(r, (*g)->mu);
    return FAB_OK;
}
