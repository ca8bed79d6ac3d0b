/* objective.c - minus the log posterior of a generalised linear model, its gradient and curvature.
 *
 * Rows come in blocks: eta = X theta, slopes and curvatures row by row, then products again.
 *
 *   value     = -sum w log p(y | eta) + (theta - m0)' A0 (theta - m0) / 2
 *   gradient  = -sum w slope (x, 1) + A0 (theta - m0)
 *   A         =  sum w curvature (x, 1)(x, 1)' + A0            block (k, l) for classes k, l
 *
 * SPDX-License-Identifier: MIT */
#include "infer/objective.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "la/small.h"
#include "posterior/solver.h"
#include <math.h>
#include <string.h>

enum { ROWS = FAB_OBJECTIVE_ROWS };

/* ---- life ------------------------------------------------------------------------------------- */

typedef struct built {
    fab_objective o;
    int full, dense;
} built;

static void layout(fab_layout *l, void *handle)
{
    fab_objective *o = handle;
    const built *b = handle;
    const int64_t C = o->m.classes;
    o->a0 = fab_place(l, o->P, sizeof(double));
    o->m0 = fab_place(l, o->P, sizeof(double));
    o->A0 = b->full ? fab_place(l, o->P * o->P, sizeof(double)) : NULL;
    o->x = fab_place(l, o->width * ROWS, sizeof(double));
    o->z = fab_place(l, o->width * ROWS, sizeof(double));
    o->eta = fab_place(l, C * ROWS, sizeof(double));
    o->slope = fab_place(l, C * ROWS, sizeof(double));
    o->curve = fab_place(l, C * C * ROWS, sizeof(double));
    o->small = b->dense ? fab_place(l, o->width * o->width, sizeof(double)) : NULL;
    o->diff = fab_place(l, o->P, sizeof(double));
}

/* A0 from a given prior. */
static fab_status take_prior(fab_objective *o, const fab_gauss *prior, const fab_exec *x)
{
    fab_solver *s;
    double *work = NULL;
    FAB_TRY(fab_solver_init(&s, prior, x));
    fab_status status =
        fab_alloc_array((void **)&work, fab_solver_matrix_work(s), sizeof *work, o->who);
    if (status == FAB_OK) status = fab_solver_matrix(s, prior->form == FAB_COVARIANCE, o->A0, work);
    if (status == FAB_OK) status = fab_solver_logdet(s, &o->log_prior);
    o->log_prior = -o->log_prior;
    memcpy(o->m0, prior->mu, (size_t)o->P * sizeof *o->m0);
    fab_release(work);
    fab_solver_free(s);
    return status;
}

fab_status fab_objective_init(fab_objective **o, const char *who, const fab_glm *m,
                              const fab_gauss *prior, int dense, const fab_exec *x)
{
    const built proto = {
        .o = {.who = who, .m = *m, .width = m->D + m->intercept, .P = fab_glm_size(m)},
        .full = prior != NULL,
        .dense = dense};
    FAB_TRY(fab_build((void **)o, sizeof proto, &proto, layout));
    if (!prior) return FAB_OK;
    const fab_status s = take_prior(*o, prior, x);
    if (s == FAB_OK) return FAB_OK;
    fab_objective_free(*o);
    *o = NULL;
    return s;
}

void fab_objective_free(fab_objective *o)
{
    fab_release(o);
}

void fab_objective_diagonal(fab_objective *o, double alpha, double intercept_alpha)
{
    o->log_prior = 0;
    for (int64_t i = 0; i < o->P; i++) {
        o->a0[i] = i % o->width < o->m.D ? alpha : intercept_alpha;
        o->m0[i] = 0;
        o->log_prior += log(o->a0[i]);
    }
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* Rows with their 1, as columns of o->x, and eta. */
static void load(fab_objective *o, const double *theta, int64_t first, int64_t n)
{
    const int64_t D = o->m.D, width = o->width, C = o->m.classes;
    for (int64_t j = 0; j < n; j++) {
        double *x = o->x + j * width;
        for (int64_t i = 0; i < D; i++) x[i] = fab_rows_at(&o->e->x, first + j, i);
        if (width > D) x[D] = 1;
    }
    fab_mm(FAB_T, FAB_N, C, n, width, 1, theta, o->x, 0, o->eta);
    for (int64_t j = 0; j < n && o->e->offset; j++)
        for (int64_t k = 0; k < C; k++) o->eta[j * C + k] += o->e->offset[first + j];
}

/* Log-likelihoods of the block, weighted; slopes and curvatures likewise. */
static double score(fab_objective *o, int64_t first, int64_t n, int curve)
{
    const int64_t C = o->m.classes;
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        const double w = o->e->weight ? o->e->weight[first + j] : 1;
        double *h = curve ? o->curve + j * C * C : NULL;
        sum += w * fab_glm_loglik(&o->m, o->e->y[first + j], o->eta + j * C, o->slope + j * C, h);
        for (int64_t k = 0; k < C; k++) o->slope[j * C + k] *= w;
        for (int64_t k = 0; k < C * C && h; k++) h[k] *= w;
    }
    return sum;
}

/* A(k, l) += sum curvature_kl x x' for one pair of classes */
static void add_block(fab_objective *o, int64_t n, int64_t k, int64_t l, double *A)
{
    const int64_t width = o->width, C = o->m.classes, P = o->P;
    for (int64_t j = 0; j < n; j++) {
        const double h = o->curve[j * C * C + k * C + l];
        for (int64_t i = 0; i < width; i++) o->z[j * width + i] = h * o->x[j * width + i];
    }
    fab_mm(FAB_N, FAB_T, width, width, n, 1, o->z, o->x, 0, o->small);
    for (int64_t j = 0; j < width; j++)
        for (int64_t i = 0; i < width; i++) {
            const double v = o->small[i + j * width];
            A[k * width + i + (l * width + j) * P] += v;
            if (k != l) A[l * width + j + (k * width + i) * P] += v;
        }
}

/* ---- value, gradient, curvature --------------------------------------------------------------- */

/* (theta - m0)' A0 (theta - m0) / 2 */
static double prior(fab_objective *o, const double *theta, double *gradient, double *A)
{
    const int64_t P = o->P;
    double sum = 0, *pull = o->diff;
    for (int64_t i = 0; i < P; i++) pull[i] = theta[i] - o->m0[i];
    for (int64_t i = 0; i < P; i++) {
        double p = o->A0 ? 0 : o->a0[i] * pull[i];
        for (int64_t j = 0; j < P && o->A0; j++) p += o->A0[j + i * P] * pull[j];
        sum += p * pull[i];
        if (gradient) gradient[i] = p;
    }
    if (A && o->A0) memcpy(A, o->A0, (size_t)(P * P) * sizeof *A);
    if (A && !o->A0) {
        memset(A, 0, (size_t)(P * P) * sizeof *A);
        for (int64_t i = 0; i < P; i++) A[i + i * P] = o->a0[i];
    }
    return sum / 2;
}

double fab_objective_at(fab_objective *o, const double *theta, double *gradient, double *A)
{
    const int64_t N = o->e->x.n, C = o->m.classes;
    double value = prior(o, theta, gradient, A);
    for (int64_t first = 0; first < N; first += ROWS) {
        const int64_t n = N - first < ROWS ? N - first : ROWS;
        load(o, theta, first, n);
        value -= score(o, first, n, A != NULL);
        if (gradient) fab_mm(FAB_N, FAB_T, o->width, C, n, -1, o->x, o->slope, 1, gradient);
        for (int64_t k = 0; k < C && A; k++)
            for (int64_t l = k; l < C; l++) add_block(o, n, k, l, A);
    }
    if (A) fab_symmetrise(o->P, A);
    return value;
}

void fab_objective_columns(fab_objective *o, const double *theta, int64_t first, int64_t n,
                           double *out)
{
    load(o, theta, first, n);
    score(o, first, n, 1);
    for (int64_t j = 0; j < n; j++) {
        const double root = sqrt(o->curve[j]);
        for (int64_t i = 0; i < o->width; i++)
            out[j * o->width + i] = root * o->x[j * o->width + i];
    }
}
