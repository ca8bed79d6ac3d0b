/* tall.c - exact linear regression with at least as many rows as coordinates: covariance form.
 *
 *   1  R1 = R of the QR of the table [1, (x - centre)/scale, y], column by column brought to size
 *   2  alpha, beta: given, or by evidence from the singular values of R1
 *   3  R2 = R of [R1; prior root / sqrt(beta)];  A = beta R2'R2 is the posterior precision, z its last column
 *   4  mean = J R2^-1 z,  J from (b, c scaled) to (c, intercept):  c_j / scale_j,  b - centre'c
 *   5  G = J R2^-1: covariance = G G' / beta
 *   6  F F' + psi = G G' / beta, without loss (spread.c)
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "base/settings.h"
#include "methods/exact/exact.h"
#include "posterior/spread.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

#define LOG_2_PI 1.8378770664093454836
#define ILL      100. /* ratio of R2's diagonal from which the mean is refined */

typedef struct tall {
    fab_exact_fit *fit;
    fab_exact_columns c;
    int64_t D, P, W;                 /* features; coordinates; columns with the target */
    double *centre, *scale, *factor; /* D each */
    double *R1, *R2;                 /* W x W */
    double *stack;                   /* (W + P) x W; later scratch of 2 P x P */
    double *root;    /* P x P: root' root = prior precision, in the order of theta */
    double *prior_L; /* P x P: lower factor of F0 F0' + psi0 */
    double *G, *H;   /* P x P */
    double *base;    /* P: the theta whose prediction the target is taken from */
    double *work;
    double log_prior; /* log det of the prior precision */
} tall;

static int64_t stacked(const tall *t)
{
    const int64_t K = t->fit->prior ? t->fit->prior->K : 0, most = t->W > K ? t->W : K;
    return most + t->P;
}

static void layout(fab_layout *l, void *handle)
{
    tall *t = handle;
    const int64_t P2 = t->P * t->P, W2 = t->W * t->W;
    t->centre = fab_place(l, t->D, sizeof(double));
    t->scale = fab_place(l, t->D, sizeof(double));
    t->factor = fab_place(l, t->D, sizeof(double));
    t->base = fab_place(l, t->P, sizeof(double));
    t->R1 = fab_place(l, W2, sizeof(double));
    t->R2 = fab_place(l, W2, sizeof(double));
    t->stack = fab_place(l, stacked(t) * t->W, sizeof(double));
    t->root = t->fit->prior ? fab_place(l, P2, sizeof(double)) : NULL;
    t->prior_L = t->fit->prior ? fab_place(l, P2, sizeof(double)) : NULL;
    t->G = fab_place(l, P2, sizeof(double));
    t->H = fab_place(l, P2, sizeof(double));
    t->work = fab_place(l, fab_qr_work(stacked(t), t->W), sizeof(double));
}

/* ---- the prior -------------------------------------------------------------------------------- */

static double F_of(const fab_gauss *g, int64_t d, int64_t k)
{
    return ((const double *)g->F)[d * g->K + k]; /* the door's copy is f64 */
}

/* prior_L prior_L' = F0 F0' + psi0, by the QR of [F0'; psi0^1/2]. */
static void factor_prior(tall *t)
{
    const fab_gauss *g = t->fit->prior;
    const int64_t P = t->P, K = g->K, m = K + P;
    double *A = t->stack;
    memset(A, 0, (size_t)(m * P) * sizeof *A);
    for (int64_t i = 0; i < P; i++) {
        for (int64_t k = 0; k < K; k++) A[k + i * m] = F_of(g, i, k);
        A[K + i + i * m] = sqrt(g->psi[i]);
    }
    fab_qr_r(m, P, A, t->R2, t->work);
    for (int64_t j = 0; j < P; j++)
        for (int64_t i = 0; i < P; i++) t->prior_L[j + i * P] = t->R2[i + j * P];
}

/* root: L' of a precision, L^-1 of a covariance. */
static void root_of_prior(tall *t)
{
    const int64_t P = t->P;
    const int precision = t->fit->prior->form == FAB_FORM_PRECISION;
    double logdet = 0;
    factor_prior(t);
    for (int64_t i = 0; i < P; i++) logdet += 2 * log(fabs(t->prior_L[i + i * P]));
    t->log_prior = precision ? logdet : -logdet;
    memset(t->root, 0, (size_t)(P * P) * sizeof *t->root);
    if (precision)
        for (int64_t i = 0; i < P * P; i++) t->root[i] = t->prior_L[(i % P) * P + i / P];
    else {
        fab_add_identity(P, t->root);
        fab_tri_solve(FAB_LEFT, FAB_N, P, P, t->prior_L, t->root);
    }
}

/* ---- 2: alpha and beta ------------------------------------------------------------------------ */

/* R1's columns in the order and units of theta: c_j is column j times scale_j plus column 0 times centre_j. */
static void table_by_theta(const tall *t, double *B)
{
    const int64_t P = t->P, W = t->W, first = t->c.intercept;
    for (int64_t j = 0; j < t->D; j++)
        for (int64_t i = 0; i < P; i++)
            B[i + j * P] = t->R1[i + (first + j) * W] * t->scale[j] +
                           (first ? t->R1[i] * t->centre[j] : 0);
    if (first)
        for (int64_t i = 0; i < P; i++) B[i + t->D * P] = t->R1[i];
}

/* A given prior is the unit one for theta' = root theta. */
static fab_status choose_with_prior(tall *t)
{
    const int64_t P = t->P;
    double *B = t->H;
    table_by_theta(t, B);
    if (t->fit->prior->form == FAB_FORM_PRECISION)
        fab_tri_solve(FAB_RIGHT, FAB_T, P, P, t->prior_L, B); /* B root^-1, root = L' */
    else {
        fab_mm(FAB_N, FAB_N, P, P, P, 1, B, t->prior_L, 0, t->G);
        memcpy(B, t->G, (size_t)(P * P) * sizeof *B);
    }
    const double rest = t->R1[P + P * t->W];
    t->fit->report.alpha = 1;
    FAB_TRY(fab_exact_choose(t->fit, P, B, t->R1 + P * t->W, rest * rest, t->c.weights, 1,
                             t->c.y_scale));
    t->fit->report.alpha = NAN;
    return FAB_OK;
}

/* The features less what the intercept explains: the rest of R1, in units of the largest scale. */
static fab_status choose(tall *t)
{
    const int64_t D = t->D, W = t->W, first = t->c.intercept;
    double most = 0, *B = t->H;
    const double rest = t->R1[t->P + t->P * W];
    if (t->fit->prior) return choose_with_prior(t);
    for (int64_t j = 0; j < D; j++)
        most = t->factor[j] > 0 && t->scale[j] > most ? t->scale[j] : most;
    const double unit = most > 0 ? most : 1;
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++)
            B[i + j * D] = t->R1[first + i + (first + j) * W] * (t->scale[j] / unit);
    return fab_exact_choose(t->fit, D, B, t->R1 + first + t->P * W, rest * rest,
                            t->c.weights - (double)first, unit, t->c.y_scale);
}

/* ---- 3, 4: the factor and the mean ------------------------------------------------------------ */

/* What the prior says of theta - base, times sqrt(beta). */
static double prior_target(const tall *t, int64_t i)
{
    double s = 0;
    const int64_t j = i - t->c.intercept;
    if (!t->root) return j >= 0 ? -sqrt(t->fit->report.alpha) * t->base[j] : 0;
    for (int64_t k = 0; k < t->P; k++)
        s -= t->root[i + k * t->P] * (t->base[k] - t->fit->prior->mu[k]);
    return s;
}

/* Element (i, column) of the prior's root in the coordinates of the table, times sqrt(beta). */
static double prior_row(const tall *t, int64_t i, int64_t column)
{
    const int64_t P = t->P, first = t->c.intercept, j = column - first;
    if (column == P) return prior_target(t, i) / t->c.y_scale;
    if (!t->root) return j >= 0 && i == column ? sqrt(t->fit->report.alpha) / t->scale[j] : 0;
    if (j < 0) return t->root[i + t->D * P];
    const double shift = first ? t->root[i + t->D * P] * t->centre[j] : 0;
    return (t->root[i + j * P] - shift) / t->scale[j];
}

static fab_status posterior_factor(tall *t)
{
    const int64_t W = t->W, P = t->P, m = W + P;
    const double unit = 1 / sqrt(t->fit->report.beta);
    for (int64_t k = 0; k < W; k++) {
        double *a = t->stack + k * m;
        memcpy(a, t->R1 + k * W, (size_t)W * sizeof *a);
        for (int64_t i = 0; i < P; i++) a[W + i] = unit * prior_row(t, i, k);
    }
    fab_qr_r(m, W, t->stack, t->R2, t->work);
    for (int64_t i = 0; i < P; i++)
        if (!(fabs(t->R2[i + i * W]) > 0 && isfinite(t->R2[i + i * W])))
            return FAB_FAIL(
                FAB_NUMERIC,
                "%s: coordinate %lld of the table is settled neither by the rows nor by alpha = %g",
                t->fit->who, (long long)i, t->fit->report.alpha);
    return FAB_OK;
}

/* t->G = R2^-1 (upper triangular), rows in the order of the table */
static void invert(tall *t)
{
    const int64_t P = t->P;
    double *L = t->stack; /* R2' */
    for (int64_t j = 0; j < P; j++)
        for (int64_t i = 0; i < P; i++) L[j + i * P] = t->R2[i + j * t->W];
    memset(t->G, 0, (size_t)(P * P) * sizeof *t->G);
    fab_add_identity(P, t->G);
    fab_tri_solve(FAB_LEFT, FAB_T, P, P, L, t->G);
}

/* One vector from the coordinates of the table to those of theta: 4's J. */
static void to_theta(const tall *t, double *v)
{
    const int64_t first = t->c.intercept;
    double b = v[0];
    for (int64_t j = 0; j < t->D; j++) {
        v[j] = v[first + j] / t->scale[j];
        if (first) b -= t->centre[j] * v[j];
    }
    if (first) v[t->D] = b;
}

static void set_mean(tall *t)
{
    const int64_t P = t->P, W = t->W;
    double *mu = t->fit->q->mu;
    for (int64_t i = P - 1; i >= 0; i--) {
        double s = t->R2[i + P * W];
        for (int64_t k = i + 1; k < P; k++) s -= t->R2[i + k * W] * mu[k];
        mu[i] = s / t->R2[i + i * W];
    }
    for (int64_t i = 0; i < P; i++) mu[i] *= t->c.y_scale;
    if (t->c.intercept) mu[0] += t->c.y_centre;
    to_theta(t, mu);
    for (int64_t i = 0; i < P; i++) mu[i] += t->base[i];
}

/* The diagonal of R2 tells a condition from below. */
static int is_ill_conditioned(const tall *t)
{
    double least = INFINITY, most = 0;
    for (int64_t i = 0; i < t->P; i++) {
        least = fmin(least, fabs(t->R2[i + i * t->W]));
        most = fmax(most, fabs(t->R2[i + i * t->W]));
    }
    return most > ILL * least;
}

/* W/2 log(beta/2 pi) + (log det prior - log det A - beta |residual|^2)/2, + log(2 pi)/2 for a free intercept */
static void set_evidence(tall *t)
{
    fab_report *r = &t->fit->report;
    const int64_t P = t->P, W = t->W;
    const double beta = r->beta, residual = t->R2[P + P * W] * t->c.y_scale;
    double logdet = (double)P * log(beta),
           prior = t->fit->prior ? t->log_prior : (double)t->D * log(r->alpha);
    for (int64_t i = 0; i < P; i++) logdet += 2 * log(fabs(t->R2[i + i * W]));
    for (int64_t j = 0; j < t->D; j++) logdet += 2 * log(t->scale[j]);
    if (!t->fit->prior && t->c.intercept) prior += LOG_2_PI;
    r->log_evidence =
        0.5 * (t->c.weights * (log(beta) - LOG_2_PI) + prior - logdet - beta * residual * residual);
}

/* ---- 5, 6: the Gaussian ----------------------------------------------------------------------- */

/* G^-1 = R2 J^-1 */
static void inverse_root(const tall *t, double *Gi)
{
    const int64_t P = t->P, W = t->W, first = t->c.intercept;
    for (int64_t j = 0; j < P; j++)
        for (int64_t i = 0; i < P; i++) {
            const int b = j == t->D; /* the intercept is column 0 */
            Gi[i + j * P] = b ? t->R2[i] : t->R2[i + (first + j) * W] * t->scale[j];
            if (first && !b) Gi[i + j * P] += t->R2[i] * t->centre[j];
        }
}

static fab_status set_spread(tall *t)
{
    const int64_t P = t->P;
    invert(t);
    for (int64_t j = 0; j < P; j++) to_theta(t, t->G + j * P); /* 5 */
    inverse_root(t, t->H);
    return fab_spread(t->fit->q, 1 / sqrt(t->fit->report.beta), t->G, t->H, t->stack); /* 6 */
}

/* 1, with the target as it is left by theta = base */
static fab_status reduce(tall *t)
{
    FAB_TRY(fab_columns_measure(&t->c));
    return fab_columns_reduce(&t->c, t->R1);
}

/* Between the stages; each is a call of LAPACK or a few. */
static fab_status tick(const tall *t)
{
    return fab_watch_tick(&t->fit->watch, t->fit->who, 0, 0);
}

static fab_status run(tall *t)
{
    fab_exact_fit *fit = t->fit;
    t->c = (fab_exact_columns){.who = fit->who,
                               .watch = &fit->watch,
                               .e = &fit->e,
                               .D = t->D,
                               .intercept = fit->model.intercept,
                               .free = fit->model.intercept && !fit->prior,
                               .centre = t->centre,
                               .scale = t->scale,
                               .factor = t->factor};
    if (fit->prior) {
        memcpy(t->base, fit->prior->mu, (size_t)t->P * sizeof *t->base);
        t->c.m = t->base;
        root_of_prior(t);
    }
    FAB_TRY(reduce(t)); /* 1 */
    FAB_TRY(tick(t));
    FAB_TRY(choose(t)); /* 2 */
    FAB_TRY(tick(t));
    FAB_TRY(posterior_factor(t)); /* 3 */
    FAB_TRY(tick(t));
    set_mean(t);                 /* 4 */
    if (is_ill_conditioned(t)) { /* once more, for what is left of the target: twice the digits */
        memcpy(t->base, fit->q->mu, (size_t)t->P * sizeof *t->base);
        t->c.m = t->base;
        FAB_TRY(reduce(t));
        FAB_TRY(posterior_factor(t));
        set_mean(t);
    }
    set_evidence(t);
    FAB_TRY(tick(t));
    return fit->point ? FAB_OK : set_spread(t);
}

fab_status fab_exact_tall(fab_exact_fit *fit)
{
    const int64_t P = fit->model.D + fit->model.intercept;
    const tall proto = {.fit = fit, .D = fit->model.D, .P = P, .W = P + 1};
    tall *t;
    FAB_TRY(fab_gauss_create(&fit->q, fit->point ? FAB_FORM_POINT : FAB_FORM_COVARIANCE, fit->type,
                             P, fit->point ? 0 : P));
    FAB_TRY(fab_build((void **)&t, sizeof *t, &proto, layout));
    const fab_status s = run(t);
    fab_release(t);
    return s;
}
