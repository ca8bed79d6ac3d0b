/* gauss.c - make, copy, check and marginalise low-rank-plus-diagonal Gaussians.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/gauss.h"
#include "base/fail.h"
#include "base/memory.h"
#include "posterior/element.h"
#include "la/ops.h"
#include "posterior/factor.h"
#include <math.h>
#include <string.h>

const char *fab_form_name(fab_form f)
{
    static const char *const name[] = {"covariance", "precision", "point"};
    return (int)f >= 0 && (int)f <= FAB_FORM_POINT ? name[f] : "unknown";
}

/* ---- life ------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_gauss *g = handle;
    const size_t size = g->type == FAB_F32 ? sizeof(float) : sizeof(double);
    const int64_t spread = g->form != FAB_FORM_POINT;
    g->mu = fab_place(l, g->D, sizeof *g->mu);
    g->F = g->K ? fab_place(l, g->D, (size_t)g->K * size) : NULL;
    g->psi = spread ? fab_place(l, g->D, sizeof *g->psi) : NULL;
    g->theta = g->total ? fab_place(l, g->total, sizeof *g->theta) : NULL;
    g->index = g->total ? fab_place(l, g->D, sizeof *g->index) : NULL;
}

static fab_status check_shape(fab_form form, fab_dtype type, int64_t D, int64_t K, int64_t total)
{
    if ((int)form < 0 || form > FAB_FORM_POINT)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "gauss: form %d is not covariance, precision or point",
                        form);
    if (type != FAB_F64 && type != FAB_F32)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "gauss: F cannot be %s, only f64 or f32",
                        fab_dtype_name(type));
    if (D < 1 || D > (int64_t)1 << 40)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "gauss: D = %lld is outside [1, 2^40]", (long long)D);
    if (K < 0 || K > 65536)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "gauss: K = %lld is outside [0, 65536]", (long long)K);
    if (form == FAB_FORM_POINT && K != 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "gauss: a point has K = 0, not %lld", (long long)K);
    if (total != 0 && total < D)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "gauss: %lld coordinates of a theta of %lld",
                        (long long)D, (long long)total);
    return FAB_OK;
}

fab_status fab_gauss_create_part(fab_gauss **g, fab_form form, fab_dtype type, int64_t D, int64_t K,
                                 int64_t total)
{
    *g = NULL;
    FAB_TRY(check_shape(form, type, D, K, total));
    const fab_gauss proto = {.form = form, .type = type, .D = D, .K = K, .total = total};
    FAB_TRY(fab_build((void **)g, sizeof **g, &proto, layout));
    if ((*g)->psi)
        for (int64_t i = 0; i < D; i++) (*g)->psi[i] = 1;
    if ((*g)->index)
        for (int64_t i = 0; i < D; i++) (*g)->index[i] = i;
    return FAB_OK;
}

fab_status fab_gauss_create(fab_gauss **g, fab_form form, fab_dtype type, int64_t D, int64_t K)
{
    return fab_gauss_create_part(g, form, type, D, K, 0);
}

void fab_gauss_free(fab_gauss *g)
{
    fab_release(g);
}

/* Has every finite number of F a place in f32? */
static fab_status fits_f32(const fab_gauss *g)
{
    for (int64_t i = 0; i < g->D * g->K; i++)
        if (isfinite(fab_gauss_get(g, i)) && !isfinite((float)fab_gauss_get(g, i)))
            return FAB_FAIL(FAB_BAD_DATA, "F[%lld][%lld] = %g does not fit into f32",
                            (long long)(i / g->K), (long long)(i % g->K), fab_gauss_get(g, i));
    return FAB_OK;
}

fab_status fab_gauss_copy(fab_gauss **out, const fab_gauss *g, fab_dtype type)
{
    *out = NULL;
    if (type == FAB_F32 && g->type == FAB_F64) FAB_TRY(fits_f32(g));
    FAB_TRY(fab_gauss_create_part(out, g->form, type, g->D, g->K, g->total));
    memcpy((*out)->mu, g->mu, (size_t)g->D * sizeof *g->mu);
    if (g->psi) memcpy((*out)->psi, g->psi, (size_t)g->D * sizeof *g->psi);
    for (int64_t i = 0; i < g->D * g->K; i++) fab_gauss_put(*out, i, fab_gauss_get(g, i));
    if (g->total) memcpy((*out)->theta, g->theta, (size_t)g->total * sizeof *g->theta);
    if (g->total) memcpy((*out)->index, g->index, (size_t)g->D * sizeof *g->index);
    return FAB_OK;
}

/* ---- checks ----------------------------------------------------------------------------------- */

static fab_status check_vector(const char *name, const double *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return FAB_FAIL(FAB_BAD_DATA, "%s[%lld] = %g is not finite", name, (long long)i, v[i]);
    return FAB_OK;
}

/* Are the arrays there that form, K and total speak of? */
static fab_status check_arrays(const fab_gauss *g)
{
    const char *missing = NULL;
    if (g->total && !g->index) missing = "index";
    if (g->total && !g->theta) missing = "theta";
    if (g->K > 0 && !g->F) missing = "F";
    if (g->form != FAB_FORM_POINT && !g->psi) missing = "psi";
    if (!g->mu) missing = "mu";
    return missing ? FAB_FAIL(FAB_BAD_ARGUMENT, "gauss: %s is missing", missing) : FAB_OK;
}

static fab_status check_psi(const fab_gauss *g)
{
    if (!g->psi) return FAB_OK;
    for (int64_t i = 0; i < g->D; i++)
        if (!(g->psi[i] > 0) || !isfinite(g->psi[i]))
            return FAB_FAIL(FAB_BAD_DATA, "psi[%lld] = %g is not positive and finite", (long long)i,
                            g->psi[i]);
    return FAB_OK;
}

static fab_status check_factors(const fab_gauss *g)
{
    for (int64_t i = 0; i < g->D * g->K; i++)
        if (!isfinite(fab_gauss_get(g, i)))
            return FAB_FAIL(FAB_BAD_DATA, "F[%lld][%lld] = %g is not finite", (long long)(i / g->K),
                            (long long)(i % g->K), fab_gauss_get(g, i));
    return FAB_OK;
}

/* `index`: n increasing numbers in [0, limit). */
static fab_status check_index(const int64_t *index, int64_t n, int64_t limit)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t before = i ? index[i - 1] : -1;
        if (index[i] <= before || index[i] >= limit)
            return FAB_FAIL(FAB_BAD_DATA,
                            "index[%lld] = %lld, expected a number above %lld and below %lld",
                            (long long)i, (long long)index[i], (long long)before, (long long)limit);
    }
    return FAB_OK;
}

fab_status fab_gauss_check(const fab_gauss *g)
{
    FAB_TRY(check_shape(g->form, g->type, g->D, g->K, g->total));
    FAB_TRY(check_arrays(g));
    FAB_TRY(check_vector("mu", g->mu, g->D));
    FAB_TRY(check_psi(g));
    FAB_TRY(check_factors(g));
    if (!g->total) return FAB_OK;
    FAB_TRY(check_vector("theta", g->theta, g->total));
    return check_index(g->index, g->D, g->total);
}

/* ---- marginals -------------------------------------------------------------------------------- */

static void keep_rows(fab_gauss *out, const fab_gauss *g, const int64_t *index)
{
    const size_t row = (size_t)g->K * (g->type == FAB_F32 ? sizeof(float) : sizeof(double));
    for (int64_t i = 0; i < out->D; i++) {
        out->mu[i] = g->mu[index[i]];
        if (g->psi) out->psi[i] = g->psi[index[i]];
        if (row)
            memcpy((char *)out->F + (size_t)i * row, (const char *)g->F + (size_t)index[i] * row,
                   row);
    }
}

/* What integrate_out works in. */
typedef struct marginal {
    fab_run run;
    int64_t D, K;
    double *w;      /* D: 1 / psi of the rows left out, 0 of those kept */
    double *L, *Li; /* K x K */
    double *scratch;
} marginal;

static void marginal_layout(fab_layout *l, void *handle)
{
    marginal *m = handle;
    m->w = fab_place(l, m->D, sizeof *m->w);
    m->L = fab_place(l, m->K * m->K, sizeof *m->L);
    m->Li = fab_place(l, m->K * m->K, sizeof *m->Li);
    m->scratch = fab_place(l, fab_factor_scratch(m->K), sizeof *m->scratch);
    m->run.work = fab_place(l, (int64_t)m->run.ops->work(m->D, m->K, m->K, m->run.threads), 1);
}

/* Precision form: F_s <- F_s L'^-1 with L L' = I + sum over the rows left out of f f' / psi. */
static fab_status integrate_out(marginal *m, fab_gauss *out, const fab_gauss *g,
                                const int64_t *index)
{
    const fab_long F = fab_long_rows(g->F, g->D, g->K), Fs = fab_long_rows(out->F, out->D, g->K);
    int refine; /* nothing is solved here */
    for (int64_t i = 0; i < g->D; i++) m->w[i] = 1 / g->psi[i];
    for (int64_t i = 0; i < out->D; i++) m->w[index[i]] = 0;
    FAB_TRY(fab_factor(&m->run, &F, m->w, m->L, m->scratch, &refine));
    fab_factor_invert(g->K, m->L, m->Li);
    m->run.ops->mult(&m->run, NULL, &Fs, m->Li, 0, &Fs);
    return FAB_OK;
}

static fab_status marginal_precision(fab_gauss *out, const fab_gauss *g, const int64_t *index,
                                     const fab_exec *x)
{
    marginal proto = {.D = g->D, .K = g->K}, *m;
    FAB_TRY(fab_run_init(&proto.run, x, g->type));
    FAB_TRY(fab_build((void **)&m, sizeof proto, &proto, marginal_layout));
    const int before = fab_blas_enter();
    const fab_status s = integrate_out(m, out, g, index);
    fab_blas_leave(before);
    fab_release(m);
    return s;
}

fab_status fab_gauss_marginal(fab_gauss **out, const fab_gauss *g, const int64_t *index, int64_t n,
                              const fab_exec *x)
{
    *out = NULL;
    if (n < 1) return FAB_FAIL(FAB_BAD_ARGUMENT, "marginal: no coordinates were asked for");
    if (check_index(index, n, g->D) != FAB_OK) return fab_prefix(FAB_BAD_ARGUMENT, "marginal: ");
    FAB_TRY(fab_gauss_create(out, g->form, g->type, n, g->K));
    keep_rows(*out, g, index);
    if (g->form != FAB_FORM_PRECISION || g->K == 0) return FAB_OK;
    const fab_status s = marginal_precision(*out, g, index, x);
    if (s != FAB_OK) {
        fab_gauss_free(*out);
        *out = NULL;
    }
    return s;
}
