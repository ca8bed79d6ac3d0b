/* objective.c - minus the log posterior of a generalised linear model, its gradient and curvature.
 *
 * Rows come in blocks: eta = X theta, slopes and curvatures row by row, then products again.  Blocks of
 * sparse rows are made dense only where A is formed.
 *
 *   value     = -sum w log p(y | eta) + (theta - m0)' A0 (theta - m0) / 2
 *   gradient  = -sum w slope (x, 1) + A0 (theta - m0)
 *   A         =  sum w curvature (x, 1)(x, 1)' + A0            block (k, l) for classes k, l
 *   A V       =  sum (x, 1) [w curvature ((x, 1)' V)] + A0 V   curvature diag(p) - p p' for classes
 *
 * SPDX-License-Identifier: MIT */
#include "train/objective.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "la/small.h"
#include "posterior/solver.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 256, FEWEST_ROWS = 8 }; /* of a block */
#define BLOCK_NUMBERS 0x1p21 /* a block of rows has no more, but for the fewest rows */

/* ---- life ------------------------------------------------------------------------------------- */

typedef struct built {
    fab_objective o;
    int full, dense;
} built;

/* Are the rows such that a product takes them where they stand? */
static int as_they_are(const fab_rows *x)
{
    return x->type == FAB_F64 && !x->start && fab_rows_stride(x) == 1;
}

static void layout(fab_layout *l, void *handle)
{
    fab_objective *o = handle;
    const built *b = handle;
    const int64_t C = o->m.classes;
    o->a0 = fab_place(l, o->P, sizeof(double));
    o->m0 = fab_place(l, o->P, sizeof(double));
    o->A0 = b->full ? fab_place(l, o->P * o->P, sizeof(double)) : NULL;
    const int whole = b->dense || (!o->e->x.start && !as_they_are(&o->e->x));
    o->x = whole ? fab_place(l, o->width * o->rows, sizeof(double)) : NULL;
    o->z = fab_place(l, b->dense ? o->width * o->rows : 0, sizeof(double));
    o->eta = fab_place(l, C * o->rows, sizeof(double));
    o->slope = fab_place(l, C * o->rows, sizeof(double));
    o->hessian = fab_place(l, o->rows, sizeof(double));
    o->U = fab_place(l, b->dense && C > 1 ? o->P * o->rows : 0, sizeof(double));
    o->blocks = fab_place(l, b->dense && C > 1 ? o->P * o->width : 0, sizeof(double));
    o->curvature = fab_place(l, o->e->x.n * C, sizeof(double));
    o->XV = fab_place(l, C * o->rows * o->columns, sizeof(double));
    o->HXV = fab_place(l, C * o->rows * o->columns, sizeof(double));
    o->diff = fab_place(l, o->P, sizeof(double));
    o->A0diff = fab_place(l, o->P, sizeof(double));
}

/* A0 from a given prior. */
static fab_status form_prior(fab_objective *o, int inverse)
{
    double *work = NULL;
    FAB_TRY(
        fab_alloc_array((void **)&work, fab_solver_matrix_work(o->given), sizeof *work, o->who));
    const fab_status s = fab_solver_matrix(o->given, inverse, o->A0, work);
    fab_release(work);
    fab_solver_free(o->given);
    o->given = NULL;
    return s;
}

static fab_status take_prior(fab_objective *o, const fab_gauss *prior, const fab_exec *x)
{
    FAB_TRY(fab_solver_create(&o->given, prior, x));
    FAB_TRY(fab_solver_logdet(o->given, &o->log_prior));
    o->log_prior = -o->log_prior;
    o->precision = prior->form == FAB_FORM_PRECISION;
    memcpy(o->m0, prior->mu, (size_t)o->P * sizeof *o->m0);
    return o->A0 ? form_prior(o, !o->precision) : FAB_OK;
}

static int64_t rows_of_block(const fab_examples *e, int64_t width)
{
    const double fit = BLOCK_NUMBERS / (double)width;
    const int64_t rows = (int64_t)fmin(fmax(fit, FEWEST_ROWS), MOST_ROWS);
    return rows < e->x.n ? rows : e->x.n;
}

fab_status fab_objective_init(fab_objective **o, const char *who, const fab_glm *m,
                              const fab_examples *e, const fab_gauss *prior, int dense,
                              int64_t columns, const fab_exec *x)
{
    const built proto = {.o = {.who = who,
                               .watch = fab_watch_of(x),
                               .e = e,
                               .m = *m,
                               .width = m->D + m->intercept,
                               .P = fab_glm_size(m),
                               .columns = columns,
                               .rows = rows_of_block(e, m->D + m->intercept)},
                         .full = dense && prior != NULL,
                         .dense = dense};
    FAB_TRY(fab_build((void **)o, sizeof proto, &proto, layout));
    if (!prior) return FAB_OK;
    const fab_status s = take_prior(*o, prior, x);
    if (s == FAB_OK) return FAB_OK;
    fab_objective_free(*o);
    *o = NULL;
    return s;
}

double fab_objective_block(int64_t width)
{
    return fmax(BLOCK_NUMBERS, (double)FEWEST_ROWS * (double)width);
}

void fab_objective_free(fab_objective *o)
{
    if (!o) return;
    fab_solver_free(o->given);
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

static int64_t block_rows(const fab_objective *o, int64_t first)
{
    const int64_t left = o->e->x.n - first;
    return left < o->rows ? left : o->rows;
}

static double weight_of(const fab_objective *o, int64_t j)
{
    return o->e->weight ? o->e->weight[j] : 1;
}

/* Rows of features, ld apart: the caller's, or converted; p NULL: sparse ones. */
typedef struct view {
    const double *p;
    int64_t n, ld;
    fab_rows sparse;
} view;

static view view_of(fab_objective *o, int64_t first)
{
    const int64_t n = block_rows(o, first), D = o->m.D;
    const fab_rows rows = fab_rows_part(&o->e->x, first, n);
    if (rows.start && !o->x) return (view){NULL, n, D, rows};
    if (as_they_are(&rows)) return (view){rows.p, n, rows.ld, {0}};
    for (int64_t j = 0; j < n; j++) fab_rows_get(&rows, j, D, o->x + j * D);
    return (view){o->x, n, D, {0}};
}

/* out (n x k) = (x, 1) V, V (D + intercept) x k */
static void times(const fab_objective *o, const view *x, int64_t k, const double *V, double *out)
{
    const int64_t D = o->m.D;
    if (!x->p)
        for (int64_t j = 0; j < x->n; j++) fab_rows_dot(&x->sparse, j, k, V, out + j * k);
    else if (k == 1)
        fab_gemv(FAB_N, x->n, D, 1, x->p, x->ld, V, 0, out);
    else
        fab_gemm(FAB_F64, FAB_N, FAB_N, x->n, k, D, 1, x->p, x->ld, V, k, 0, out, k);
    if (o->m.intercept)
        for (int64_t j = 0; j < x->n; j++)
            for (int64_t i = 0; i < k; i++) out[j * k + i] += V[D * k + i];
}

/* out ((D + intercept) x k) += a (x, 1)' U, U n x k */
static void add_times_transposed(const fab_objective *o, const view *x, int64_t k, double a,
                                 const double *U, double *out)
{
    const int64_t D = o->m.D;
    if (!x->p)
        for (int64_t j = 0; j < x->n; j++) fab_rows_add(&x->sparse, j, k, a, U + j * k, out);
    else if (k == 1)
        fab_gemv(FAB_T, x->n, D, a, x->p, x->ld, U, 1, out);
    else
        fab_gemm(FAB_F64, FAB_T, FAB_N, D, k, x->n, a, x->p, x->ld, U, k, 1, out, k);
    if (o->m.intercept)
        for (int64_t j = 0; j < x->n; j++)
            for (int64_t i = 0; i < k; i++) out[D * k + i] += a * U[j * k + i];
}

/* o->eta (n x classes) = (x, 1) theta' + offset, theta classes x W */
static void predict(fab_objective *o, const double *theta, int64_t first, const view *x)
{
    const int64_t C = o->m.classes, D = o->m.D, W = o->width;
    if (C == 1)
        times(o, x, 1, theta, o->eta);
    else if (x->p)
        fab_gemm(FAB_F64, FAB_N, FAB_T, x->n, C, D, 1, x->p, x->ld, theta, W, 0, o->eta, C);
    else
        for (int64_t i = 0; i < x->n * C; i++)
            fab_rows_dot(&x->sparse, i / C, 1, theta + i % C * W, &o->eta[i]);
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t k = 0; k < C; k++) {
            if (C > 1 && o->m.intercept) o->eta[j * C + k] += theta[k * W + D];
            if (o->e->offset) o->eta[j * C + k] += o->e->offset[first + j];
        }
}

int64_t fab_objective_eta(fab_objective *o, const double *theta, int64_t first, const double **eta)
{
    const view x = view_of(o, first);
    predict(o, theta, first, &x);
    *eta = o->eta;
    return x.n;
}

void fab_objective_moves(fab_objective *o, int64_t k, const double *V, int64_t first,
                         const double **moves)
{
    const view x = view_of(o, first);
    for (int64_t l = 0; l < o->m.classes; l++)
        times(o, &x, k, V + l * o->width * k, o->XV + l * x.n * k);
    *moves = o->XV;
}

/* Log-likelihoods of the block, weighted; slopes likewise, and curvatures of one predictor. */
static double score(fab_objective *o, int64_t first, int64_t n, int curve)
{
    const int64_t C = o->m.classes;
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        const double w = weight_of(o, first + j);
        double *h = curve ? o->hessian + j : NULL;
        sum += w * fab_glm_loglik(&o->m, o->e->y[first + j], o->eta + j * C, o->slope + j * C, h);
        for (int64_t k = 0; k < C; k++) o->slope[j * C + k] *= w;
        if (h) *h *= w;
    }
    return sum;
}

/* gradient -= sum slope (x, 1) */
static void add_slopes(fab_objective *o, const view *x, double *gradient)
{
    const int64_t C = o->m.classes, D = o->m.D, W = o->width;
    if (C == 1) {
        add_times_transposed(o, x, 1, -1, o->slope, gradient);
        return;
    }
    if (x->p)
        fab_gemm(FAB_F64, FAB_T, FAB_N, C, D, x->n, -1, o->slope, C, x->p, x->ld, 1, gradient, W);
    else
        for (int64_t i = 0; i < x->n * C; i++)
            fab_rows_add(&x->sparse, i / C, 1, -1, &o->slope[i], gradient + i % C * W);
    if (o->m.intercept)
        for (int64_t j = 0; j < x->n; j++)
            for (int64_t k = 0; k < C; k++) gradient[k * W + D] -= o->slope[j * C + k];
}

/* o->x = (x, 1); x may lie in o->x, closer */
static void widen(fab_objective *o, const view *x)
{
    const int64_t D = o->m.D, W = o->width;
    for (int64_t j = x->n - 1; j >= 0; j--) {
        memmove(o->x + j * W, x->p + j * x->ld, (size_t)D * sizeof *o->x);
        if (W > D) o->x[j * W + D] = 1;
    }
}

/* A += sum curvature (x, 1)(x, 1)', its lower triangle, row-major. */
static void add_curvature(fab_objective *o, int64_t n, double *A)
{
    const int64_t W = o->width;
    for (int64_t j = 0; j < n; j++) {
        const double root = sqrt(o->hessian[j]);
        for (int64_t i = 0; i < W; i++) o->z[j * W + i] = root * o->x[j * W + i];
    }
    fab_syrk(n, W, o->z, W, A, o->P);
}

/* p_k (1 - p_k), from the slope of class k: 1 - p of the class that came, else -p.  Both factors are precise but where p
 * is all but 1 of a class that did not come, and there the curvature is as good as nothing. */
static double class_curvature(double slope)
{
    const double size =
        fmin(fabs(slope), 1); /* a weight multiplied and divided out may round above */
    return size * (1 - size);
}

/* Of classes, blocks (k, l): sum w p_k (1 - p_k) (x, 1)(x, 1)' for l = k, kept by themselves, and else minus
 * sum w p_k p_l (x, 1)(x, 1)', all of them one product U'U with U = (w^1/2 p_k (x, 1)) for all k.  A is kept negative. */
static void add_class_curvature(fab_objective *o, int64_t first, int64_t n, double *A)
{
    const int64_t C = o->m.classes, W = o->width, P = o->P;
    for (int64_t k = 0; k < C; k++) {
        for (int64_t j = 0; j < n; j++) {
            const double w = weight_of(o, first + j), *x = o->x + j * W;
            const double s = w > 0 ? o->slope[j * C + k] / w : 0;
            const double p = (o->e->y[first + j] == (double)k) - s;
            const double by = sqrt(w * class_curvature(s)), off = sqrt(w) * p;
            for (int64_t i = 0; i < W; i++) {
                o->z[j * W + i] = by * x[i];
                o->U[j * P + k * W + i] = off * x[i];
            }
        }
        fab_syrk(n, W, o->z, W, o->blocks + k * W * W, W);
    }
    fab_syrk(n, P, o->U, P, A, P);
}

/* The blocks (k, k) of A go to o->blocks, and back. */
static void part_blocks(fab_objective *o, int back, double *A)
{
    const int64_t C = o->m.classes, W = o->width, P = o->P;
    for (int64_t k = 0; k < C; k++)
        for (int64_t i = 0; i < W; i++) {
            double *in = A + (k * W + i) * P + k * W, *out = o->blocks + (k * W + i) * W;
            memcpy(back ? in : out, back ? out : in, (size_t)W * sizeof *in);
        }
}

static void negate(int64_t n, double *A)
{
    for (int64_t i = 0; i < n; i++) A[i] = -A[i];
}

/* ---- value, gradient, curvature --------------------------------------------------------------- */

/* o->A0diff = A0 o->diff */
static fab_status multiply_prior(fab_objective *o)
{
    const int64_t P = o->P;
    const fab_rows diff = {o->diff, FAB_F64, 1, P};
    if (o->given) return fab_solver_times_precision(o->given, &diff, o->A0diff);
    if (o->A0)
        fab_mv(FAB_N, P, P, 1, o->A0, o->diff, 0, o->A0diff);
    else
        for (int64_t i = 0; i < P; i++) o->A0diff[i] = o->a0[i] * o->diff[i];
    return FAB_OK;
}

/* (theta - m0)' A0 (theta - m0) / 2 */
static double prior(fab_objective *o, const double *theta, double *gradient, double *A)
{
    const int64_t P = o->P;
    double sum = 0;
    for (int64_t i = 0; i < P; i++) o->diff[i] = theta[i] - o->m0[i];
    if (multiply_prior(o) != FAB_OK) return NAN;
    for (int64_t i = 0; i < P; i++) sum += o->A0diff[i] * o->diff[i];
    if (gradient) memcpy(gradient, o->A0diff, (size_t)P * sizeof *gradient);
    if (A && o->A0) memcpy(A, o->A0, (size_t)(P * P) * sizeof *A);
    if (A && !o->A0) {
        memset(A, 0, (size_t)(P * P) * sizeof *A);
        for (int64_t i = 0; i < P; i++) A[i + i * P] = o->a0[i];
    }
    return sum / 2;
}

/* 0 when whoever watches says stop, and from then on. */
static int went_on(fab_objective *o, int64_t done, double work)
{
    if (o->stopped == FAB_OK) o->stopped = fab_watch_work(&o->watch, work, o->who, done, o->e->x.n);
    return o->stopped == FAB_OK;
}

double fab_objective_at(fab_objective *o, const double *theta, double *gradient, double *A)
{
    const int64_t P = o->P;
    const double work = A ? 2 + (double)P / 8 : 2; /* of a number of a row */
    const int classes = o->m.classes > 1;
    double value = prior(o, theta, gradient, A);
    if (A && classes) {
        part_blocks(o, 0, A);
        negate(P * P, A);
    }
    for (int64_t first = 0; first < o->e->x.n; first += o->rows) {
        const view x = view_of(o, first);
        predict(o, theta, first, &x);
        value -= score(o, first, x.n, A && !classes);
        if (gradient) add_slopes(o, &x, gradient);
        if (A) {
            widen(o, &x);
            if (classes)
                add_class_curvature(o, first, x.n, A);
            else
                add_curvature(o, x.n, A);
        }
        if (!went_on(o, first + x.n, work * (double)(x.n * P))) return NAN;
    }
    if (A && classes) {
        negate(P * P, A);
        part_blocks(o, 1, A);
    }
    if (A) /* its lower triangle was made */
        for (int64_t i = 0; i < P; i++)
            for (int64_t j = 0; j < i; j++) A[j * P + i] = A[i * P + j];
    return value;
}

/* ---- products with the curvature -------------------------------------------------------------- */

void fab_objective_curvature(fab_objective *o, const double *theta)
{
    const int64_t C = o->m.classes;
    for (int64_t first = 0; first < o->e->x.n; first += o->rows) {
        const view x = view_of(o, first);
        double *out = o->curvature + first * C;
        predict(o, theta, first, &x);
        score(o, first, x.n, C == 1);
        if (C == 1) memcpy(out, o->hessian, (size_t)x.n * sizeof *out);
        if (C > 1)
            for (int64_t i = 0; i < x.n * C; i++) { /* p = [y = class] - slope */
                const int64_t j = first + i / C;
                const double w = weight_of(o, j); /* 0: of a row left out, whose p is never used */
                out[i] = (o->e->y[j] == (double)(i % C)) - (w > 0 ? o->slope[i] / w : 0);
            }
        if (!went_on(o, first + x.n, (double)(x.n * o->P))) return;
    }
}

/* HXV = w curvature XV, for row j of the block: n x k numbers for each class */
static void multiply_row(fab_objective *o, int64_t first, int64_t n, int64_t k, int64_t j)
{
    const int64_t C = o->m.classes, ld = n * k;
    const double w = weight_of(o, first + j), *p = o->curvature + (first + j) * C;
    for (int64_t c = 0; c < k; c++) {
        const double *t = o->XV + j * k + c;
        double *u = o->HXV + j * k + c, mean = 0;
        if (C == 1) {
            *u = *p * *t;
            continue;
        }
        for (int64_t l = 0; l < C; l++) mean += p[l] * t[l * ld];
        for (int64_t l = 0; l < C; l++) u[l * ld] = w * p[l] * (t[l * ld] - mean);
    }
}

/* out = A0 V */
static fab_status times_prior(fab_objective *o, int64_t k, const double *V, double *out)
{
    if (!o->given && !o->A0) {
        for (int64_t i = 0; i < o->P * k; i++) out[i] = o->a0[i / k] * V[i];
        return FAB_OK;
    }
    for (int64_t c = 0; c < k; c++) {
        for (int64_t i = 0; i < o->P; i++) o->diff[i] = V[i * k + c];
        FAB_TRY(multiply_prior(o));
        for (int64_t i = 0; i < o->P; i++) out[i * k + c] = o->A0diff[i];
    }
    return FAB_OK;
}

fab_status fab_objective_times(fab_objective *o, int64_t k, const double *V, double *out)
{
    const int64_t C = o->m.classes, W = o->width;
    FAB_TRY(times_prior(o, k, V, out));
    for (int64_t first = 0; first < o->e->x.n; first += o->rows) {
        const view x = view_of(o, first);
        const int64_t ld = x.n * k;
        for (int64_t l = 0; l < C; l++) times(o, &x, k, V + l * W * k, o->XV + l * ld);
        for (int64_t j = 0; j < x.n; j++) multiply_row(o, first, x.n, k, j);
        for (int64_t l = 0; l < C; l++)
            add_times_transposed(o, &x, k, 1, o->HXV + l * ld, out + l * W * k);
        if (!went_on(o, first + x.n, (double)(x.n * o->P * k))) return o->stopped;
    }
    return o->stopped;
}

fab_status fab_objective_diag_prior(fab_objective *o, double *diag)
{
    if (o->given)
        return o->precision ? fab_solver_diag(o->given, diag)
                            : fab_solver_diag_inverse(o->given, diag);
    for (int64_t i = 0; i < o->P; i++) diag[i] = o->A0 ? o->A0[i + i * o->P] : o->a0[i];
    return FAB_OK;
}

/* out += h x^2 for row j of the block, coordinate by coordinate */
static void add_squares(const view *x, int64_t j, int64_t D, double h, double *out)
{
    if (x->p) {
        const double *row = x->p + j * x->ld;
        for (int64_t d = 0; d < D; d++) out[d] += h * row[d] * row[d];
        return;
    }
    const int64_t stored = fab_rows_stored(&x->sparse, j, D);
    for (int64_t k = 0; k < stored; k++) {
        const double value = fab_rows_value(&x->sparse, j, k);
        out[fab_rows_place(&x->sparse, j, k)] += h * value * value;
    }
}

fab_status fab_objective_diag(fab_objective *o, double *diag)
{
    const int64_t C = o->m.classes, W = o->width, D = o->m.D;
    FAB_TRY(fab_objective_diag_prior(o, diag));
    for (int64_t first = 0; first < o->e->x.n; first += o->rows) {
        const view x = view_of(o, first);
        for (int64_t i = 0; i < x.n * C; i++) {
            const double p = o->curvature[first * C + i];
            const double h = C == 1 ? p : weight_of(o, first + i / C) * p * (1 - p);
            double *out = diag + i % C * W;
            add_squares(&x, i / C, D, h, out);
            if (W > D) out[D] += h;
        }
        if (!went_on(o, first + x.n, (double)(x.n * o->P))) return o->stopped;
    }
    return o->stopped;
}

void fab_objective_columns(fab_objective *o, double *F)
{
    const int64_t N = o->e->x.n, W = o->width, D = o->m.D;
    for (int64_t j = 0; j < N; j++) {
        const double root = sqrt(o->curvature[j]);
        fab_rows_get(&o->e->x, j, D, o->diff); /* P = W: one predictor */
        for (int64_t i = 0; i < W; i++) F[i * N + j] = root * (i < D ? o->diff[i] : 1);
    }
}
