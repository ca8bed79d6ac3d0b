/* classes.c - Gaussian processes given rows of several classes: the mode of all f_c and the curvature there.
 *
 * One process for each of C classes, independent and with one kernel: f_c ~ N(0, K).  p_ic = softmax of row i, y_ic = 1 for its
 * class and else 0.  The offset is the same for all classes, and softmax does not see it.
 *
 *     Psi(f) = sum_i w_i log p_i,y(i) - sum_c f_c' K^-1 f_c / 2
 *
 * The curvature of row i, w_i (diag(p_i) - p_i p_i'), couples the classes.  It is a diagonal less one matrix of rank N, so that with
 * D_c = w p_c nothing larger than N x N is factored:
 *
 *   1  g_c = w (y_c - p_c);  S_c = D_c^1/2;  B_c = I + S_c K S_c = L_c L_c';  E_c = S_c B_c^-1 S_c;  M M' = sum_c E_c
 *      Q = (K + W^-1)^-1 has the blocks Q_cd = [c = d] E_c - E_c (M M')^-1 E_d
 *   2  b_c = w p_c (f_c - sum_d p_d f_d) + g_c,  h_c = E_c K b_c,  a_c <- b_c - h_c + E_c (M M')^-1 sum_d h_d,  f_c <- K a_c: Newton's
 *      step, halved until Psi rises
 *   3  log q(y) = sum_i w_i log p_i,y(i) - sum_c a_c'f_c / 2 - sum_c sum_i log L_c,ii - sum_i log M_ii + sum_i log w_i / 2
 *   4  its gradient: f moves with theta, and W with f.  With U_c = M^-1 E_c and V_c = U_c K the covariance of row i is
 *      T_cd = [c = d] (1 - B_c^-1_ii) / D_c,ii + V_c,i' V_d,i;  t = sum_c p_c T_cc, v = T p, q = p'v,
 *      s_c = - w p_c (T_cc - t - 2 v_c + 2 q) / 2,  u = s - Q K s:
 *
 *          d log q = 1/2 sum_ij N_ij dK_ij,    N = sum_c (a_c a_c' + u_c a_c' + a_c u_c' - Q_cc)
 *
 * At the mode a = g.  Time O(C N^3) for each of Newton's steps, memory (C + 3) N^2 numbers.  [Rasmussen and Williams], algorithm 3.3,
 * whose common diagonal is the case w = 1; 4 they do not have.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/gp/classes.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "la/ops.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

#define CLOSE    1e-7 /* a step of this size, relative: the next would be of its square */
#define SHORTEST 0x1p-40
#define ROUNDING 1e-12

enum { STEPS = 200, SQUARES = 3, BLOCK = 64 };

typedef struct classes {
    fab_kernel *k;
    int64_t n, C, D;
    fab_evidence_rows rows; /* borrowed */
    fab_exec exec;
    fab_watch watch;
    double *K, *M, *N;           /* n x n each: K, sum E and its factor, B and N */
    double *E;                   /* C x n x n: E_c, and U_c in the gradient */
    double *V;                   /* C x BLOCK x n: columns of V_c */
    double *a, *f, *p, *g, *s;   /* C x n each; s: root of D */
    double *next, *move, *b, *h; /* C x n each: a and f of a step */
    double *x, *z;               /* n each */
    double *T;                   /* C */
    double loglik, det;          /* det: half the log determinant of 3 */
} classes;

int64_t fab_gp_classes_squares(int64_t C)
{
    return C + SQUARES;
}

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    classes *p = handle;
    const int64_t n = p->n, C = p->C;
    p->K = fab_place(l, n, (size_t)n * sizeof(double));
    p->M = fab_place(l, n, (size_t)n * sizeof(double));
    p->N = fab_place(l, n, (size_t)n * sizeof(double));
    p->E = fab_place(l, C * n, (size_t)n * sizeof(double));
    p->V = fab_place(l, C * BLOCK, (size_t)n * sizeof(double));
    double **const all[] = {&p->a, &p->f, &p->p, &p->g, &p->s, &p->next, &p->move, &p->b, &p->h};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = fab_place(l, C * n, sizeof(double));
    p->x = fab_place(l, n, sizeof(double));
    p->z = fab_place(l, n, sizeof(double));
    p->T = fab_place(l, C, sizeof(double));
}

static void close_classes(void *self)
{
    classes *p = self;
    if (!p) return;
    fab_kernel_free(p->k);
    fab_release(p);
}

static fab_status open_classes(void **self, void *ctx, const fab_kernel *k,
                               const fab_evidence_rows *rows, const fab_exec *x)
{
    const fab_glm *m = ctx;
    classes proto = {.n = rows->n,
                     .C = m->classes,
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
        close_classes(p);
    return s;
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static double weight_of(const classes *p, int64_t i)
{
    return p->rows.weight ? p->rows.weight[i] : 1;
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* log p of the class of row i, and p where there is room for it: C numbers n apart. */
static double log_softmax(const classes *p, const double *f, int64_t i, double *probability)
{
    const int64_t n = p->n, mine = (int64_t)p->rows.y[i];
    double top = f[i], sum = 0, others = 0;
    for (int64_t c = 1; c < p->C; c++) top = fmax(top, f[c * n + i]);
    for (int64_t c = 0; c < p->C; c++) {
        const double e = exp(f[c * n + i] - top);
        sum += e;
        if (c != mine) others += e;
        if (probability) probability[c * n + i] = e;
    }
    for (int64_t c = 0; c < p->C && probability; c++) probability[c * n + i] /= sum;
    return f[mine * n + i] < top ? f[mine * n + i] - top - log(sum) : -log1p(others);
}

static double psi_at(const classes *p, const double *a, const double *f)
{
    double sum = -dot(p->C * p->n, a, f) / 2;
    for (int64_t i = 0; i < p->n; i++) sum += weight_of(p, i) * log_softmax(p, f, i, NULL);
    return sum;
}

/* w (1 - p) of the class itself from the others, which does not cancel. */
static void derivatives(classes *p)
{
    const int64_t n = p->n, C = p->C;
    p->loglik = 0;
    for (int64_t i = 0; i < n; i++) {
        const double w = weight_of(p, i);
        const int64_t mine = (int64_t)p->rows.y[i];
        double others = 0;
        p->loglik += w * log_softmax(p, p->f, i, p->p);
        for (int64_t c = 0; c < C; c++) {
            const double P = p->p[c * n + i];
            if (c != mine) others += P;
            p->g[c * n + i] = -w * P;
            p->s[c * n + i] = sqrt(w * P);
        }
        p->g[mine * n + i] = w * others;
    }
}

/* y = K x of every class. */
static void times_K(const classes *p, const double *x, double *y)
{
    fab_mm(FAB_N, FAB_N, p->n, p->C, p->n, 1, p->K, x, 0, y);
}

/* B_c = L_c L_c' into p->N; the sum of log L_c,ii. */
static fab_status factor_class(classes *p, int64_t c, double *det)
{
    const int64_t n = p->n;
    const double *s = p->s + c * n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) p->N[i * n + j] = s[i] * p->K[i * n + j] * s[j];
        p->N[i * n + i] += 1;
    }
    FAB_TRY(fab_watch_work(&p->watch, pow((double)n, 3) / 2, "gp", 0, 0));
    FAB_TRY(fab_chol(n, p->N));
    for (int64_t i = 0; i < n; i++) *det += log(p->N[i * n + i]);
    return FAB_OK;
}

/* All E_c, M and the determinant. */
static fab_status factor(classes *p)
{
    const int64_t n = p->n;
    p->det = 0;
    memset(p->M, 0, (size_t)(n * n) * sizeof *p->M);
    for (int64_t c = 0; c < p->C; c++) {
        const double *s = p->s + c * n;
        double *E = p->E + c * n * n;
        FAB_TRY(factor_class(p, c, &p->det));
        fab_chol_inv(n, p->N, E);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                E[i * n + j] *= s[i] * s[j];
                p->M[i * n + j] += E[i * n + j];
            }
    }
    FAB_TRY(fab_chol(n, p->M));
    for (int64_t i = 0; i < n; i++) p->det += log(p->M[i * n + i]) - log(weight_of(p, i)) / 2;
    return FAB_OK;
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

static void newton_step(classes *p)
{
    const int64_t n = p->n, C = p->C;
    for (int64_t i = 0; i < n; i++) {
        double mean = 0;
        for (int64_t c = 0; c < C; c++) mean += p->p[c * n + i] * p->f[c * n + i];
        for (int64_t c = 0; c < C; c++)
            p->b[c * n + i] = weight_of(p, i) * p->p[c * n + i] * (p->f[c * n + i] - mean) +
                              p->g[c * n + i];
    }
    times_K(p, p->b, p->move);
    memset(p->x, 0, (size_t)n * sizeof *p->x);
    for (int64_t c = 0; c < C; c++) {
        fab_mv(FAB_N, n, n, 1, p->E + c * n * n, p->move + c * n, 0, p->h + c * n);
        for (int64_t i = 0; i < n; i++) p->x[i] += p->h[c * n + i];
    }
    fab_chol_solve(n, 1, p->M, p->x);
    for (int64_t i = 0; i < C * n; i++) p->next[i] = p->b[i] - p->h[i];
    for (int64_t c = 0; c < C; c++)
        fab_mv(FAB_N, n, n, 1, p->E + c * n * n, p->x, 1, p->next + c * n);
    times_K(p, p->next, p->move);
    for (int64_t i = 0; i < C * n; i++) {
        p->next[i] -= p->a[i];
        p->move[i] -= p->f[i];
    }
}

/* From a, or from 0 where that is better, to the mode; derivatives and factors are those there. */
static fab_status find_mode(classes *p)
{
    const int64_t all = p->C * p->n;
    const size_t bytes = (size_t)all * sizeof(double);
    times_K(p, p->a, p->f);
    memset(p->h, 0, bytes);
    double psi = psi_at(p, p->a, p->f);
    if (!(psi > psi_at(p, p->h, p->h))) {
        memset(p->a, 0, bytes);
        memset(p->f, 0, bytes);
        psi = psi_at(p, p->a, p->f);
    }
    for (int step = 0; step < STEPS; step++) {
        double size = 0, most = 0, t = 1, psi_new;
        derivatives(p);
        FAB_TRY(factor(p)); /* 1 */
        newton_step(p);     /* 2 */
        for (;; t /= 2) {
            for (int64_t i = 0; i < all; i++) {
                p->b[i] = p->a[i] + t * p->next[i];
                p->h[i] = p->f[i] + t * p->move[i];
            }
            psi_new = psi_at(p, p->b, p->h);
            if (psi_new >= psi - ROUNDING * (1 + fabs(psi)) || t < SHORTEST) break;
        }
        if (t < SHORTEST)
            return FAB_FAIL(FAB_NUMERIC, "gp: the mode of f cannot be found: no step raises it");
        for (int64_t i = 0; i < all; i++) {
            size = fmax(size, fabs(t * p->move[i]));
            most = fmax(most, fabs(p->h[i]));
        }
        memcpy(p->a, p->b, bytes);
        memcpy(p->f, p->h, bytes);
        psi = psi_new;
        if (!(size > CLOSE * (1 + most))) {
            derivatives(p);
            return factor(p);
        }
    }
    return FAB_FAIL(FAB_NUMERIC, "gp: the mode of f is not found after %d steps", STEPS);
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

/* s of rows first .. first + count - 1; p->h has the diagonals of E_c. */
static void slopes(classes *p, int64_t first, int64_t count)
{
    const int64_t n = p->n, C = p->C;
    for (int64_t c = 0; c < C; c++)
        fab_mm(FAB_N, FAB_N, n, count, n, 1, p->E + c * n * n, p->K + first * n, 0,
               p->V + c * BLOCK * n);
    for (int64_t j = 0; j < count; j++) {
        const int64_t i = first + j;
        double t = 0, q = 0;
        memset(p->z, 0, (size_t)n * sizeof *p->z); /* sum_d p_d V_d */
        for (int64_t c = 0; c < C; c++) {
            const double *V = p->V + (c * BLOCK + j) * n, P = p->p[c * n + i];
            for (int64_t l = 0; l < n; l++) p->z[l] += P * V[l];
        }
        for (int64_t c = 0; c < C; c++) {
            const double *V = p->V + (c * BLOCK + j) * n, P = p->p[c * n + i];
            const double D = p->s[c * n + i] * p->s[c * n + i];
            const double own = D > 0 ? (1 - p->h[c * n + i] / D) / D : 0;
            const double v = own * P + dot(n, V, p->z);
            p->T[c] = own + dot(n, V, V) - 2 * v;
            t += P * (own + dot(n, V, V));
            q += P * v;
        }
        for (int64_t c = 0; c < C; c++)
            p->next[c * n + i] = -weight_of(p, i) * p->p[c * n + i] * (p->T[c] - t + 2 * q) / 2;
    }
}

static fab_status gradient_of(classes *p, double *gradient)
{
    const int64_t n = p->n, C = p->C;
    double *s = p->next, *u = p->move;
    memset(p->N, 0, (size_t)(n * n) * sizeof *p->N);
    for (int64_t c = 0; c < C; c++) {
        double *E = p->E + c * n * n;
        for (int64_t i = 0; i < n; i++) p->h[c * n + i] = E[i * n + i];
        for (int64_t i = 0; i < n * n; i++) p->N[i] -= E[i];
        FAB_TRY(fab_watch_work(&p->watch, 2 * pow((double)n, 3), "gp", 0, 0));
        fab_tri_solve(FAB_LEFT, FAB_N, n, n, p->M, E);   /* U_c */
        fab_mm(FAB_T, FAB_N, n, n, n, 1, E, E, 1, p->N); /* - sum Q_cc */
    }
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        slopes(p, first, count);
        FAB_TRY(fab_watch_work(&p->watch, (double)(C * count) * pow((double)n, 2), "gp", 0, 0));
    }
    times_K(p, s, p->b);
    memset(p->z, 0, (size_t)n * sizeof *p->z);
    for (int64_t c = 0; c < C; c++) fab_mv(FAB_N, n, n, 1, p->E + c * n * n, p->b + c * n, 1, p->z);
    memcpy(u, s, (size_t)(C * n) * sizeof *u);
    for (int64_t c = 0; c < C; c++) { /* E_c x = M U_c x */
        const double *U = p->E + c * n * n;
        fab_mv(FAB_N, n, n, 1, U, p->b + c * n, 0, p->x);
        fab_mv(FAB_N, n, n, -1, p->M, p->x, 1, u + c * n);
        fab_mv(FAB_T, n, n, 1, U, p->z, 1, u + c * n);
    }
    for (int64_t c = 0; c < C; c++) {
        const double *a = p->a + c * n, *v = u + c * n;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                p->N[i * n + j] += a[i] * a[j] + v[i] * a[j] + a[i] * v[j];
    }
    for (int64_t i = 0; i < n * n; i++) p->N[i] /= 2;
    return fab_kernel_grad_dot(p->k, n, p->rows.X, p->D, n, NULL, 0, p->N, n, gradient, &p->exec);
}

static fab_status at_classes(void *self, const double *theta, double noise, double *lml,
                             double *gradient)
{
    classes *p = self;
    const int64_t n = p->n;
    (void)noise;
    FAB_TRY(fab_kernel_set(p->k, theta));
    FAB_TRY(fab_kernel_gram(p->k, n, p->rows.X, p->D, p->K, n, &p->exec));
    const int before = fab_blas_enter();
    fab_status s = find_mode(p);
    if (s == FAB_OK) {
        *lml = p->loglik - dot(p->C * n, p->a, p->f) / 2 - p->det; /* 3 */
        memcpy(p->a, p->g, (size_t)(p->C * n) * sizeof *p->a);     /* the same at the mode */
        if (gradient) s = gradient_of(p, gradient);
    }
    fab_blas_leave(before);
    return s;
}

const fab_evidence_of fab_gp_classes = {open_classes, close_classes, at_classes};

/* Lower by rows from lower by columns. */
static void by_rows(int64_t n, const double *L, double *out)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) out[i * n + j] = j <= i ? L[j * n + i] : 0;
}

fab_status fab_gp_classes_process(void *self, fab_class_process **process)
{
    classes *p = self;
    const int64_t n = p->n;
    double det = 0;
    *process = NULL;
    const int before = fab_blas_enter();
    fab_status s = FAB_OK;
    for (int64_t c = 0; c < p->C && s == FAB_OK; c++) { /* the place of E_c, which M has in it */
        s = factor_class(p, c, &det);
        if (s == FAB_OK) by_rows(n, p->N, p->E + c * n * n);
    }
    fab_blas_leave(before);
    FAB_TRY(s);
    by_rows(n, p->M, p->N);
    const fab_class_parts parts = {
        .n = n, .classes = p->C, .X = p->rows.X, .a = p->a, .s = p->s, .L = p->E, .M = p->N};
    return fab_class_process_create(process, p->k, &parts, &p->exec);
}
