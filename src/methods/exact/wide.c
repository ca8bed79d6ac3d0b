/* wide.c - exact linear regression with fewer rows than coordinates: precision form.
 *
 *   1  B = D x N: the rows, centred, in the units where the prior is a c^2: columns x_j psi^-1/2, and the
 *      columns F0 psi^-1/2 / sqrt(beta) of a given prior before them;  B = Q R
 *   2  alpha, beta: given, or by evidence from the singular values of R
 *   3  R2 = R of [R'; l I | y; 0],  l^2 = prior / beta;  mean = psi^-1/2 Q (R2^-1 z)
 *   4  psi = alpha (or the prior's), F = [F0, sqrt(beta) x_j];
 *      a free intercept adds the column sqrt(beta W) (centre, 1): the intercept is not independent of c
 *      unless the features have mean 0, and no prior gives its psi.  It gets SLACK times its precision.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "base/settings.h"
#include "methods/exact/exact.h"
#include "la/small.h"
#include "posterior/element.h"
#include <math.h>
#include <string.h>

#define LOG_2_PI 1.8378770664093454836
#define SLACK    1e-13 /* psi of a free intercept, relative to its precision: the error it makes */

typedef struct wide {
    fab_exact_fit *fit;
    fab_exact_columns c;
    int64_t D, P, N, K0, K; /* features, coordinates, rows, columns of the prior, all columns */
    int64_t rows;           /* of B: P with a prior, else D */
    double *centre, *scale, *factor, *row, *z;
    double *B;              /* rows x K, then Q */
    double *R, *R2, *stack; /* K x K, (K+1) x (K+1), 2K x (K+1) */
    double *work;
    double unit; /* of x, without a prior */
} wide;

static void layout(fab_layout *l, void *handle)
{
    wide *w = handle;
    const int64_t K = w->K, room = fab_qr_work(w->rows, K), more = fab_qr_work(2 * K, K + 1);
    w->centre = fab_place(l, w->D, sizeof(double));
    w->scale = fab_place(l, w->D, sizeof(double));
    w->factor = fab_place(l, w->D, sizeof(double));
    w->row = fab_place(l, w->P + 1, sizeof(double));
    w->z = fab_place(l, K, sizeof(double));
    w->B = fab_place(l, w->rows * K, sizeof(double));
    w->R = fab_place(l, K * K, sizeof(double));
    w->R2 = fab_place(l, (K + 1) * (K + 1), sizeof(double));
    w->stack = fab_place(l, 2 * K * (K + 1), sizeof(double));
    w->work = fab_place(l, room > more ? room : more, sizeof(double));
}

static fab_status measure(wide *w)
{
    fab_exact_fit *fit = w->fit;
    w->c = (fab_exact_columns){.who = fit->who,
                               .watch = &fit->watch,
                               .e = &fit->e,
                               .D = w->D,
                               .intercept = fit->model.intercept,
                               .free = fit->model.intercept && !fit->prior,
                               .m = fit->prior ? fit->prior->mu : NULL,
                               .centre = w->centre,
                               .scale = w->scale,
                               .factor = w->factor};
    FAB_TRY(fab_columns_measure(&w->c));
    w->unit = 0;
    for (int64_t i = 0; i < w->D; i++) {
        w->unit = w->factor[i] > 0 && w->scale[i] > w->unit ? w->scale[i] : w->unit;
        if (fit->prior) w->centre[i] = 0, w->factor[i] = 1 / w->scale[i];
    }
    if (!(w->unit > 0)) w->unit = 1;
    return FAB_OK;
}

/* sqrt(weight) (x_j - centre), with the constant after it when a prior speaks of the intercept; returns the
 * target, in its unit. */
static double load(const wide *w, int64_t j)
{
    const int64_t first = w->c.intercept;
    fab_columns_row(&w->c, j, w->row, 1);
    const double one = w->row[0], y = w->row[w->P];
    for (int64_t i = 0; i < w->D; i++) w->row[i] = w->row[first + i] * w->scale[i];
    if (first) w->row[w->D] = one;
    return y;
}

static double in_unit(const wide *w, int64_t i, double v)
{
    return w->fit->prior ? v / sqrt(w->fit->prior->psi[i]) : v / w->unit;
}

/* Between the stages; each is a call of LAPACK or a few. */
static fab_status tick(const wide *w)
{
    return fab_watch_tick(w->c.watch, w->c.who, 0, 0);
}

/* 1 */
static fab_status make_columns(wide *w)
{
    const fab_gauss *g = w->fit->prior;
    for (int64_t k = 0; k < w->K0; k++) {
        for (int64_t i = 0; i < w->rows; i++)
            w->B[i + k * w->rows] = in_unit(w, i, ((const double *)g->F)[i * w->K0 + k]) /
                                    sqrt(w->fit->report.beta);
        w->z[k] = 0;
    }
    for (int64_t j = 0; j < w->N; j++) {
        w->z[w->K0 + j] = load(w, j);
        for (int64_t i = 0; i < w->rows; i++)
            w->B[i + (w->K0 + j) * w->rows] = in_unit(w, i, w->row[i]);
        FAB_TRY(fab_watch_work(w->c.watch, 8 * (double)w->rows, w->c.who, j, w->N));
    }
    fab_qr(w->rows, w->K, w->B, w->R, w->work);
    return tick(w);
}

/* 2 */
static fab_status choose(wide *w)
{
    fab_report *r = &w->fit->report;
    const int64_t N = w->N, free = !w->fit->prior && w->c.intercept;
    const double nu = w->c.weights - (double)free;
    for (int64_t i = 0; i < N * N; i++) w->R2[i] = w->R[(i % N) * w->K + i / N]; /* R' */
    if (!w->fit->prior)
        return fab_exact_choose(w->fit, N, w->R2, w->z, 0, nu, w->unit, w->c.y_scale);
    r->alpha = 1;
    FAB_TRY(fab_exact_choose(w->fit, N, w->R2, w->z, 0, nu, 1, w->c.y_scale));
    r->alpha = NAN;
    return FAB_OK;
}

static double ridge_root(const wide *w)
{
    const fab_report *r = &w->fit->report;
    return (w->fit->prior ? 1 : sqrt(r->alpha) / w->unit) / sqrt(r->beta);
}

/* 3 */
static fab_status set_mean(wide *w)
{
    const int64_t K = w->K, m = 2 * K, W = K + 1;
    double *A = w->stack, *mu = w->fit->q->mu, *h = w->z;
    const double l = ridge_root(w);
    memset(A, 0, (size_t)(m * W) * sizeof *A);
    for (int64_t j = 0; j < K; j++) {
        for (int64_t i = 0; i < K; i++) A[i + j * m] = w->R[j + i * K];
        A[K + j + j * m] = l;
        A[j + K * m] = w->z[j];
    }
    fab_qr_r(m, W, A, w->R2, w->work);
    for (int64_t i = K - 1; i >= 0; i--) {
        double s = w->R2[i + K * W];
        for (int64_t k = i + 1; k < K; k++) s -= w->R2[i + k * W] * h[k];
        if (!(fabs(w->R2[i + i * W]) > 0))
            return FAB_FAIL(FAB_NUMERIC,
                            "%s: alpha = %g is too small beside beta = %g for rows that repeat",
                            w->fit->who, w->fit->report.alpha, w->fit->report.beta);
        h[i] = s / w->R2[i + i * W];
    }
    fab_mv(FAB_N, w->rows, K, w->c.y_scale, w->B, h, 0, mu);
    for (int64_t i = 0; i < w->rows; i++)
        mu[i] = in_unit(w, i, mu[i]) + (w->fit->prior ? w->fit->prior->mu[i] : 0);
    if (w->rows == w->P) return FAB_OK;
    mu[w->D] = w->c.y_centre;
    for (int64_t i = 0; i < w->D; i++) mu[w->D] -= w->centre[i] * mu[i];
    return FAB_OK;
}

/* W/2 log(beta/2 pi) + (log det prior - log det A - beta |residual|^2)/2, + log(2 pi/(beta W))/2 when free */
static fab_status set_evidence(wide *w)
{
    fab_report *r = &w->fit->report;
    const int64_t K = w->K, W = K + 1;
    const double residual = w->R2[K + K * W] * w->c.y_scale, l = ridge_root(w);
    double gain = 0, prior = 0; /* log det A - sum log psi;  log det prior - sum log psi */
    for (int64_t i = 0; i < K; i++) gain += 2 * log(fabs(w->R2[i + i * W]) / l);
    if (w->K0 > 0) {
        fab_solver *s;
        FAB_TRY(fab_solver_create(&s, w->fit->prior, &w->fit->exec));
        const fab_status done = fab_solver_logdet(s, &prior);
        fab_solver_free(s);
        FAB_TRY(done);
        prior = -prior;
        for (int64_t i = 0; i < w->P; i++) prior -= log(w->fit->prior->psi[i]);
    }
    if (w->rows < w->P) prior += LOG_2_PI - log(r->beta * w->c.weights);
    r->log_evidence = 0.5 * (w->c.weights * (log(r->beta) - LOG_2_PI) + prior - gain -
                             r->beta * residual * residual);
    return FAB_OK;
}

/* 4 */
static fab_status set_spread(wide *w)
{
    fab_gauss *q = w->fit->q;
    const fab_gauss *g = w->fit->prior;
    const double root = sqrt(w->fit->report.beta), alpha = w->fit->report.alpha;
    const int64_t K = q->K;
    double far = 0;
    for (int64_t i = 0; i < w->rows; i++) {
        q->psi[i] = g ? g->psi[i] : alpha;
        if (!g) continue; /* K0 = 0 */
        for (int64_t k = 0; k < w->K0; k++)
            fab_gauss_put(q, i * K + k, ((const double *)g->F)[i * w->K0 + k]);
    }
    for (int64_t j = 0; j < w->N; j++) {
        load(w, j);
        for (int64_t i = 0; i < w->rows; i++) fab_gauss_put(q, i * K + w->K0 + j, root * w->row[i]);
        FAB_TRY(fab_watch_work(w->c.watch, 8 * (double)w->rows, w->c.who, j, w->N));
    }
    if (w->rows == w->P) return FAB_OK;
    const double all = root * sqrt(w->c.weights);
    for (int64_t i = 0; i < w->D; i++) {
        fab_gauss_put(q, i * K + w->K, all * w->centre[i]);
        far += w->centre[i] * w->centre[i];
    }
    fab_gauss_put(q, w->D * K + w->K, all);
    q->psi[w->D] = SLACK / (1 / (all * all) + far / alpha);
    return FAB_OK;
}

static fab_status run(wide *w)
{
    FAB_TRY(measure(w));
    FAB_TRY(make_columns(w)); /* 1 */
    FAB_TRY(choose(w));       /* 2 */
    FAB_TRY(tick(w));
    FAB_TRY(set_mean(w)); /* 3 */
    FAB_TRY(tick(w));
    FAB_TRY(set_evidence(w));
    return w->fit->point ? FAB_OK : set_spread(w); /* 4 */
}

fab_status fab_exact_wide(fab_exact_fit *fit)
{
    const fab_gauss *g = fit->prior;
    const int64_t D = fit->model.D, P = D + fit->model.intercept, N = fit->e.x.n, K0 = g ? g->K : 0;
    const wide proto = {
        .fit = fit, .D = D, .P = P, .N = N, .K0 = K0, .K = K0 + N, .rows = g ? P : D};
    wide *w;
    const int64_t rank = K0 + N + (proto.rows < P);
    FAB_TRY(fab_gauss_create(&fit->q, fit->point ? FAB_FORM_POINT : FAB_FORM_PRECISION, fit->type,
                             P, fit->point ? 0 : rank));
    FAB_TRY(fab_build((void **)&w, sizeof *w, &proto, layout));
    const fab_status s = run(w);
    fab_release(w);
    return s;
}
