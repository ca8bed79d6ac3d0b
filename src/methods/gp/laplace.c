/* laplace.c - a Gaussian process given targets that are not normal: the mode of f and the curvature there.
 *
 *     Psi(f) = sum_i w_i log p(y_i | f_i + o_i) - f' K^-1 f / 2
 *
 *   1  g_i and W_i, first and negative second derivative of w_i log p;  S = W^1/2;  B = I + S K S = L L'
 *   2  b = W f + g,  a <- b - S B^-1 S K b,  f <- K a: Newton's step, halved until Psi rises.  B has eigenvalues of at least 1
 *      however little a row says; K + W^-1 would overflow there
 *   3  log q(y) = sum_i w_i log p - a'f / 2 - sum_i log L_ii
 *   4  its gradient: f moves with theta, and W with f.  R = S B^-1 S,  s_i = -(K^-1 + W)^-1_ii W'_i / 2 with
 *      (K^-1 + W)^-1_ii = (1 - B^-1_ii) / W_i,  u = s - R K s:
 *
 *          d log q = 1/2 sum_ij M_ij dK_ij,    M = a a' - R + u a' + a u'
 *
 * At the mode a = g.  W' comes from differences of W, whose error is below rounding beside W.  [Rasmussen and Williams], 3.4, 5.5.1.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/gp/laplace.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "la/ops.h"
#include "la/small.h"
#include "model/likelihoods/likelihood.h"
#include <math.h>
#include <string.h>

#define CLOSE    1e-7 /* a step of this size, relative: the next would be of its square */
#define SHORTEST 0x1p-40
#define NEARBY   2e-3 /* of f: the distance of differences, whose error is its fourth power / 30 */
#define ROUNDING 1e-12

enum { STEPS = 200 };

typedef struct laplace {
    fab_glm m;
    fab_kernel *k;
    int64_t n, D;
    fab_evidence_rows rows; /* borrowed */
    fab_exec exec;
    fab_watch watch;
    double *K, *L, *M;             /* n x n each: K, B and its factor, B^-1 and M */
    double *a, *f, *g, *W, *s;     /* n each; s: root of W */
    double *next, *move, *b, *row; /* n each: a and f of a step */
    double *theta;
    double loglik;
} laplace;

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    laplace *p = handle;
    const int64_t n = p->n;
    p->K = fab_place(l, n, (size_t)n * sizeof(double));
    p->L = fab_place(l, n, (size_t)n * sizeof(double));
    p->M = fab_place(l, n, (size_t)n * sizeof(double));
    double **const vectors[] = {&p->a,    &p->f,    &p->g, &p->W,  &p->s,
                                &p->next, &p->move, &p->b, &p->row};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = fab_place(l, n, sizeof(double));
}

static void close_laplace(void *self)
{
    laplace *p = self;
    if (!p) return;
    fab_kernel_free(p->k);
    fab_release(p);
}

static fab_status open_laplace(void **self, void *ctx, const fab_kernel *k,
                               const fab_evidence_rows *rows, const fab_exec *x)
{
    laplace proto = {.m = *(const fab_glm *)ctx,
                     .n = rows->n,
                     .D = fab_kernel_columns(k),
                     .rows = *rows,
                     .watch = fab_watch_of(x)},
            *p;
    *self = NULL;
    if (x) proto.exec = *x;
    FAB_TRY(fab_build((void **)&p, sizeof *p, &proto, layout));
    const fab_status s = fab_kernel_copy(&p->k, k);
    if (s == FAB_OK)
        *self = p;
    else
        close_laplace(p);
    return s;
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static double weight_of(const laplace *p, int64_t i)
{
    return p->rows.weight ? p->rows.weight[i] : 1;
}

static double eta_of(const laplace *p, const double *f, int64_t i)
{
    return f[i] + (p->rows.offset ? p->rows.offset[i] : 0);
}

static double loglik_at(const laplace *p, const double *f)
{
    double sum = 0;
    for (int64_t i = 0; i < p->n; i++) {
        const double eta = eta_of(p, f, i);
        sum += weight_of(p, i) * fab_glm_loglik(&p->m, p->rows.y[i], &eta, NULL, NULL);
    }
    return sum;
}

static void derivatives(laplace *p)
{
    p->loglik = 0;
    for (int64_t i = 0; i < p->n; i++) {
        const double eta = eta_of(p, p->f, i), w = weight_of(p, i);
        double g, c;
        p->loglik += w * fab_glm_loglik(&p->m, p->rows.y[i], &eta, &g, &c);
        p->g[i] = w * g;
        p->W[i] = w * fmax(c, 0);
        p->s[i] = sqrt(p->W[i]);
    }
}

static fab_status factor(laplace *p)
{
    const int64_t n = p->n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) p->L[i * n + j] = p->s[i] * p->K[i * n + j] * p->s[j];
        p->L[i * n + i] += 1;
    }
    FAB_TRY(fab_watch_work(&p->watch, pow((double)n, 3) / 4, "gp", 0, 0));
    return fab_chol(n, p->L);
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

static double psi_at(const laplace *p, const double *a, const double *f)
{
    return loglik_at(p, f) - dot(p->n, a, f) / 2;
}

/* From a, or from 0 where that is better, to the mode; derivatives and factor are those there. */
static fab_status find_mode(laplace *p)
{
    const int64_t n = p->n;
    fab_gemv(FAB_N, n, n, 1, p->K, n, p->a, 0, p->f);
    memset(p->row, 0, (size_t)n * sizeof *p->row);
    double psi = psi_at(p, p->a, p->f);
    if (!(psi > psi_at(p, p->row, p->row))) {
        memset(p->a, 0, (size_t)n * sizeof *p->a);
        memset(p->f, 0, (size_t)n * sizeof *p->f);
        psi = psi_at(p, p->a, p->f);
    }
    for (int step = 0; step < STEPS; step++) {
        double size = 0, most = 0, t = 1, psi_new;
        derivatives(p);
        FAB_TRY(factor(p)); /* 1 */
        for (int64_t i = 0; i < n; i++) p->b[i] = p->W[i] * p->f[i] + p->g[i];
        fab_gemv(FAB_N, n, n, 1, p->K, n, p->b, 0, p->row);
        for (int64_t i = 0; i < n; i++) p->row[i] *= p->s[i];
        fab_chol_solve(n, 1, p->L, p->row);
        for (int64_t i = 0; i < n; i++) p->next[i] = p->b[i] - p->s[i] * p->row[i]; /* 2 */
        fab_gemv(FAB_N, n, n, 1, p->K, n, p->next, 0, p->move);
        for (int64_t i = 0; i < n; i++) {
            p->next[i] -= p->a[i];
            p->move[i] -= p->f[i];
        }
        for (;; t /= 2) {
            for (int64_t i = 0; i < n; i++) {
                p->b[i] = p->a[i] + t * p->next[i];
                p->row[i] = p->f[i] + t * p->move[i];
            }
            psi_new = psi_at(p, p->b, p->row);
            if (psi_new >= psi - ROUNDING * (1 + fabs(psi)) || t < SHORTEST) break;
        }
        if (t < SHORTEST)
            return FAB_FAIL(FAB_NUMERIC, "gp: the mode of f cannot be found: no step raises it");
        for (int64_t i = 0; i < n; i++) {
            size = fmax(size, fabs(t * p->move[i]));
            most = fmax(most, fabs(p->row[i]));
        }
        memcpy(p->a, p->b, (size_t)n * sizeof *p->a);
        memcpy(p->f, p->row, (size_t)n * sizeof *p->f);
        psi = psi_new;
        if (!(size > CLOSE * (1 + most))) {
            derivatives(p);
            return factor(p);
        }
    }
    return FAB_FAIL(FAB_NUMERIC, "gp: the mode of f is not found after %d steps", STEPS);
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

/* d W_i / d f_i */
static double curvature_slope(const laplace *p, int64_t i)
{
    const double at[] = {-2, -1, 1, 2}, by[] = {1, -8, 8, -1};
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        const double eta = eta_of(p, p->f, i) + at[k] * NEARBY;
        double c;
        fab_glm_loglik(&p->m, p->rows.y[i], &eta, NULL, &c);
        sum += by[k] * c;
    }
    return weight_of(p, i) * sum / (12 * NEARBY);
}

static fab_status gradient_of(laplace *p, double *gradient)
{
    const int64_t n = p->n;
    double *s = p->next, *u = p->move;
    FAB_TRY(fab_watch_work(&p->watch, pow((double)n, 3) / 2, "gp", 0, 0));
    fab_chol_inv(n, p->L, p->M); /* B^-1 */
    for (int64_t i = 0; i < n; i++)
        s[i] = p->W[i] > 0 ? -(1 - p->M[i * n + i]) / p->W[i] * curvature_slope(p, i) / 2 : 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) p->M[i * n + j] *= p->s[i] * p->s[j]; /* R */
    fab_gemv(FAB_N, n, n, 1, p->K, n, s, 0, p->row);
    memcpy(u, s, (size_t)n * sizeof *u);
    fab_gemv(FAB_N, n, n, -1, p->M, n, p->row, 1, u); /* u = s - R K s */
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            p->M[i * n + j] =
                (p->a[i] * p->a[j] - p->M[i * n + j] + u[i] * p->a[j] + p->a[i] * u[j]) / 2;
    return fab_kernel_grad_dot(p->k, n, p->rows.X, p->D, n, NULL, 0, p->M, n, gradient, &p->exec);
}

static fab_status at_laplace(void *self, const double *theta, double noise, double *lml,
                             double *gradient)
{
    laplace *p = self;
    const int64_t n = p->n;
    (void)noise;
    FAB_TRY(fab_kernel_set(p->k, theta));
    FAB_TRY(fab_kernel_gram(p->k, n, p->rows.X, p->D, p->K, n, &p->exec));
    const int before = fab_blas_enter();
    fab_status s = find_mode(p);
    if (s == FAB_OK) {
        *lml = p->loglik - dot(n, p->a, p->f) / 2; /* 3 */
        for (int64_t i = 0; i < n; i++) *lml -= log(p->L[i * n + i]);
        memcpy(p->a, p->g, (size_t)n * sizeof *p->a); /* the same at the mode */
        if (gradient) s = gradient_of(p, gradient);
    }
    fab_blas_leave(before);
    return s;
}

const fab_evidence_of fab_gp_laplace = {open_laplace, close_laplace, at_laplace};

fab_status fab_gp_laplace_process(void *self, fab_process **process)
{
    laplace *p = self;
    const int64_t n = p->n;
    for (int64_t i = 0; i < n; i++) /* by rows */
        for (int64_t j = 0; j <= i; j++) {
            p->M[i * n + j] = p->L[j * n + i];
            if (j < i) p->M[j * n + i] = 0;
        }
    return fab_process_of_parts(process, p->k, n, p->rows.X, p->a, p->s, p->M, &p->exec);
}
