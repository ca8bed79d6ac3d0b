/* parts.c - one step of EM for the parts of a mixture, in blocks of rows ([N] 9.4, Ghahramani and Hinton 1996).
 *
 *   begin, of each part:
 *   1  L L' = I + F' psi^-1 F,  P = psi^-1 F L'^-1
 *      full: F F' = S, P = F'^-1
 *   for each block of rows x:
 *   2  d = x - mu_g,  a = P_g' d,  log p_g = log w_g - (D log 2 pi + log det S_g + d' psi^-1 d - |a|^2) / 2
 *      full: .. + |a|^2.  The a of all parts come from one product with [P_1 .. P_G], of rows that a centre is taken from
 *   3  r_g = p_g / sum_h p_h, by logarithms with the largest taken out; below LEAST of the whole it is 0
 *   4  n_g += r,  s_g += r d,  V_g += r d a',  v_g += r d^2;  full: S_g += r d d'
 *   maximise:
 *   5  w = n_g / n,  e = s_g / n_g,  mu_g += e
 *   6  C = P' S P and V = S P of S = the covariance about the new mean: V / n - e (P'e)'
 *      F <- V right, psi <- diag S - |f_i|^2: parameter-expanded EM (posterior/em.h); full: S itself
 *   7  psi at least `least` variances of the column; eigenvalues of a full covariance in standard deviations likewise
 *   8  a part of less than one row dies: its weight is 0
 *
 * d' psi^-1 d of 2 is x' psi^-1 x - 2 x' psi^-1 m + m' psi^-1 m of rows and means from the centre of all rows, by products, where the
 * last of these is at most FAR; else it is summed from differences.  Rows enter step 4 where r > 0 alone, as
 * differences from the mean so far, so that nothing cancels.  No array has rows x parts x columns numbers but for a block.
 * Blocks, pieces and the order of sums are fixed: the same bytes for any number of threads.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/mixture/parts.h"
#include "base/fail.h"
#include "base/rows.h"
#include "la/small.h"
#include "la/threads.h"
#include "posterior/element.h"
#include "posterior/em.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    MOST_PIECE = 256, /* rows of a task, and of a product with those of a part: */
    LEAST_PIECE = 16,
    PIECE_NUMBERS = 1 << 25, /* fewer where they have so many numbers */
    MOST_BLOCK = 2048,
    TRIANGLE = 48,          /* columns of a triangle that are multiplied at a time */
    BLOCK_NUMBERS = 1 << 19 /* of a block of rows */
};
#define LEAST      1e-30 /* of a responsibility: what is less does not reach the last bit of a sum */
#define LOG_LEAST  -69.0775527898213705
#define LOG_2PI    1.8378770664093454836
#define FAR        1e6   /* of (mu - c)' psi^-1 (mu - c): 1e-10 of it is lost beside d' psi^-1 d */
#define UNKNOWN    1e-14 /* of the largest eigenvalue, for each column: hidden by rounding */
#define LEAST_ROWS 1.0   /* of a part that lives */

static int is_full(const fab_parts *p)
{
    return p->shape >= FAB_SHAPE_FULL;
}

int64_t fab_parts_columns(int64_t D, int64_t q, fab_shape shape)
{
    return shape >= FAB_SHAPE_FULL ? D : q;
}

int64_t fab_parts_size_of_F(int64_t D, int64_t G, int64_t q, fab_shape shape)
{
    return (shape == FAB_SHAPE_TIED ? 1 : G) * D * fab_parts_columns(D, q, shape);
}

void fab_parts_layout(fab_layout *l, fab_parts *p)
{
    const int64_t D = p->D, G = p->G, summing = !p->density_only;
    p->k = fab_parts_columns(D, p->q, p->shape);
    p->sets = p->shape == FAB_SHAPE_TIED ? 1 : G;
    const int64_t k = p->k, full = is_full(p);
    p->width = p->sets * k + (full ? 0 : G);
    const int64_t room = BLOCK_NUMBERS / (D + p->width + G);
    p->piece = PIECE_NUMBERS / D;
    if (p->piece > MOST_PIECE) p->piece = MOST_PIECE;
    if (p->piece < LEAST_PIECE) p->piece = LEAST_PIECE;
    p->block = room > MOST_BLOCK ? MOST_BLOCK : room / p->piece * p->piece;
    if (p->block < p->piece) p->block = p->piece;
    p->P = fab_place(l, D * p->width, sizeof *p->P);
    p->M = fab_place(l, p->sets * k * k, sizeof *p->M);
    p->gram = fab_place(l, p->sets * k * k, sizeof *p->gram);
    p->shift = fab_place(l, G * k, sizeof *p->shift);
    p->inverse = fab_place(l, G * D, sizeof *p->inverse);
    p->from = fab_place(l, G * D, sizeof *p->from);
    p->offset = fab_place(l, G, sizeof *p->offset);
    p->top = fab_place(l, G, sizeof *p->top);
    p->n = fab_place(l, G, sizeof *p->n);
    p->sum = fab_place(l, summing * G * (k + 1) * D, sizeof *p->sum);
    p->square = fab_place(l, summing * G * D, sizeof *p->square);
    p->Y = fab_place(l, p->block * D, sizeof *p->Y);
    p->A = fab_place(l, p->block * p->width, sizeof *p->A);
    p->R = fab_place(l, p->block * G, sizeof *p->R);
    p->taken = fab_place(l, summing * p->block * G, sizeof *p->taken);
    p->density = fab_place(l, p->block, sizeof *p->density);
    p->T = fab_place(l, p->threads * p->piece * (D + k + 1), sizeof *p->T);
    p->small = fab_place(l, 7 * k * k + (k + 1) * D + (is_full(p) ? fab_eig_work(D) + D : 0),
                         sizeof *p->small);
}

/* ---- 1 ---------------------------------------------------------------------------------------------- */

/* P and log det of a set of columns; psi: its diagonal. */
static fab_status prepare(fab_parts *p, int64_t set, double *logdet)
{
    const int64_t D = p->D, k = p->k;
    const double *F = p->F + set * D * k, *psi = p->psi + set * D;
    double *L = p->M + set * k * k, *G = p->gram + set * k * k, *T = p->small;
    *logdet = 0;
    if (is_full(
            p)) { /* F, row-major and lower, is upper in columns: its transpose is what chol would give */
        for (int64_t j = 0; j < D; j++)
            for (int64_t i = 0; i < D; i++) L[i + j * D] = F[i * D + j];
        for (int64_t i = 0; i < D; i++) {
            if (!(L[i + i * D] > 0) || !isfinite(L[i + i * D]))
                return FAB_FAIL(FAB_NUMERIC, "%s: the covariance of part %lld is not positive",
                                p->who, (long long)set);
            *logdet += 2 * log(L[i + i * D]);
        }
        memset(T, 0, (size_t)(D * D) * sizeof *T);
        fab_add_identity(D, T);
        fab_tri_solve(FAB_LEFT, FAB_N, D, D, L, T); /* in columns L^-1, in rows its transpose */
    } else {
        for (int64_t i = 0; i < D; i++) *logdet += log(psi[i]);
        if (k == 0) return FAB_OK;
        for (int64_t i = 0; i < D; i++)
            for (int64_t j = 0; j < k; j++)
                T[i * k + j] = F[i * k + j] / psi[i]; /* k x D in columns */
        fab_mm(FAB_N, FAB_T, k, k, D, 1, T, F, 0, G);
        fab_symmetrise(k, G);
        memcpy(L, G, (size_t)(k * k) * sizeof *L);
        fab_add_identity(k, L);
        FAB_TRY(fab_chol(k, L));
        *logdet += fab_chol_logdet(k, L);
        fab_tri_solve(FAB_LEFT, FAB_N, k, D, L, T);
    }
    for (int64_t i = 0; i < D; i++)
        memcpy(p->P + i * p->width + set * k, T + i * k, (size_t)k * sizeof *T);
    return FAB_OK;
}

fab_status fab_parts_begin(fab_parts *p)
{
    const int64_t D = p->D, G = p->G, k = p->k;
    double logdet = 0;
    for (int64_t g = 0; g < G; g++) {
        const int64_t set = p->sets == 1 ? 0 : g;
        if (p->sets == G || g == 0) FAB_TRY(prepare(p, set, &logdet)); /* 1 */
        p->top[g] = log(p->weight[g]) - ((double)D * LOG_2PI + logdet) / 2;
        for (int64_t i = 0; i < D; i++) {
            p->inverse[g * D + i] = 1 / p->psi[g * D + i];
            p->from[g * D + i] = p->mu[g * D + i] - p->centre[i];
        }
        p->offset[g] = 0;
        for (int64_t i = 0; i < D && !is_full(p); i++) {
            const double pull = p->from[g * D + i] / p->psi[g * D + i];
            p->P[i * p->width + p->sets * k + g] = pull; /* the last G columns */
            p->offset[g] += p->from[g * D + i] * pull;
        }
        double *shift = p->shift + g * k;
        memset(shift, 0, (size_t)k * sizeof *shift);
        for (int64_t i = 0; i < D; i++) {
            const double *row = p->P + i * p->width + set * k, c = p->from[g * D + i];
            for (int64_t j = 0; j < k; j++) shift[j] += c * row[j];
        }
    }
    memset(p->n, 0, (size_t)G * sizeof *p->n);
    p->loglik = p->rows = 0;
    if (p->density_only) return FAB_OK;
    memset(p->sum, 0, (size_t)(G * (k + 1) * D) * sizeof *p->sum);
    memset(p->square, 0, (size_t)(G * D) * sizeof *p->square);
    return FAB_OK;
}

/* ---- 2, 3 ------------------------------------------------------------------------------------------- */

typedef struct block_task {
    fab_parts *p;
    const fab_rows *x;
    const double *weight;
    const int64_t *label;
    int64_t first, n;
    double *density, *share;
} block_task;

/* d' psi^-1 d for a row that the centre is taken from. */
static double quadratic(int64_t D, const double *restrict y, const double *restrict from,
                        const double *restrict inverse)
{
    double q = 0;
#pragma omp simd reduction(+ : q)
    for (int64_t i = 0; i < D; i++) {
        const double d = y[i] - from[i];
        q += d * d * inverse[i];
    }
    return q;
}

static double distance(int64_t k, const double *restrict a, const double *restrict shift)
{
    double q = 0;
#pragma omp simd reduction(+ : q)
    for (int64_t j = 0; j < k; j++) {
        const double d = a[j] - shift[j];
        q += d * d;
    }
    return q;
}

/* From logarithms to shares of a whole of 1; the logarithm of what they were shares of. */
static double normalise(int64_t G, double *r)
{
    double high = -INFINITY, sum = 0;
#pragma omp simd reduction(max : high)
    for (int64_t g = 0; g < G; g++) high = r[g] > high ? r[g] : high;
    if (!(high > -INFINITY)) { /* so far from all parts that no logarithm is left */
        for (int64_t g = 0; g < G; g++) r[g] = 1 / (double)G;
        return high;
    }
    for (int64_t g = 0; g < G; g++) {
        const double l = r[g] - high;
        r[g] = l < LOG_LEAST ? 0 : exp(l);
        sum += r[g];
    }
#pragma omp simd
    for (int64_t g = 0; g < G; g++) r[g] /= sum;
    return high + log(sum);
}

/* n rows of x from number `first` on, less the centre. */
static void read_rows(const fab_parts *p, const fab_rows *x, int64_t first, int64_t n, double *Y)
{
    const int64_t D = p->D;
    const double *restrict c = p->centre;
    for (int64_t j = 0; j < n; j++) {
        double *restrict y = Y + j * D;
        if (x->type == FAB_F64 && !x->start)
            fab_rows_copy(x, first + j, D, y);
        else
            fab_rows_get(x, first + j, D, y);
        for (int64_t i = 0; i < D; i++) y[i] -= c[i];
    }
}

/* A = Y P where each P is upper triangular: so many columns of it at a time, and the rows that they have. */
static void project_triangles(const fab_parts *p, int64_t n, const double *Y, double *A)
{
    const int64_t D = p->D, wide = p->width;
    if (D <= TRIANGLE) {
        fab_gemm(FAB_F64, FAB_N, FAB_N, n, wide, D, 1, Y, D, p->P, wide, 0, A, wide);
        return;
    }
    for (int64_t set = 0; set < p->sets; set++)
        for (int64_t c = 0; c < D; c += TRIANGLE) {
            const int64_t columns = D - c < TRIANGLE ? D - c : TRIANGLE, at = set * D + c;
            fab_gemm(FAB_F64, FAB_N, FAB_N, n, columns, c + columns, 1, Y, D, p->P + at, wide, 0,
                     A + at, wide);
        }
}

/* d' psi^-1 d of n rows and all parts, n x G: by products where the mean is so near the centre that nothing is lost. */
static void squared_distances(const fab_parts *p, int64_t n, const double *Y, const double *A,
                              double *square, double *q)
{
    const int64_t D = p->D, G = p->G;
    int64_t far = 0;
    for (int64_t g = 0; g < G; g++) far += p->offset[g] > FAR;
    for (int64_t i = 0; i < n * D; i++) square[i] = Y[i] * Y[i];
    fab_gemm(FAB_F64, FAB_N, FAB_T, n, G, D, 1, square, D, p->inverse, D, 0, q, G);
    for (int64_t j = 0; j < n; j++) {
        const double *restrict linear = A + j * p->width + p->sets * p->k;
        double *restrict row = q + j * G;
        for (int64_t g = 0; g < G; g++) row[g] += p->offset[g] - 2 * linear[g];
    }
    for (int64_t g = 0; g < G && far; g++)
        for (int64_t j = 0; j < n && p->offset[g] > FAR; j++)
            q[j * G + g] = quadratic(D, Y + j * D, p->from + g * D, p->inverse + g * D);
}

static void expectation(void *ctx, int64_t piece, int thread)
{
    const block_task *t = ctx;
    fab_parts *p = t->p;
    const int64_t D = p->D, G = p->G, k = p->k, wide = p->width, at = piece * p->piece;
    const int64_t n = t->n - at < p->piece ? t->n - at : p->piece;
    double *Y = p->Y + at * D, *A = p->A + at * wide;
    read_rows(p, t->x, t->first + at, n, Y);
    if (is_full(p))
        project_triangles(p, n, Y, A);
    else
        fab_gemm(FAB_F64, FAB_N, FAB_N, n, wide, D, 1, Y, D, p->P, wide, 0, A, wide);
    if (!is_full(p))
        squared_distances(p, n, Y, A, p->T + thread * p->piece * (D + k + 1), p->R + at * G);
    for (int64_t j = 0; j < n; j++) {
        double *r = p->R + (at + j) * G;
        const int64_t row = t->first + at + j;
        if (k == 0) { /* top of a part that has died is -infinity */
#pragma omp simd
            for (int64_t g = 0; g < G; g++) r[g] = p->top[g] - r[g] / 2; /* 2 */
        }
        for (int64_t g = 0; g < G && k > 0; g++) {
            const double *a = A + j * wide + (p->sets == 1 ? 0 : g * k);
            const double inside = distance(k, a, p->shift + g * k);
            const double q = is_full(p) ? inside : r[g] - inside;
            r[g] = p->weight[g] > 0 ? p->top[g] - q / 2 : -INFINITY; /* 2 */
        }
        p->density[at + j] = normalise(G, r); /* 3 */
        if (t->density) t->density[row] = p->density[at + j];
        if (t->share) memcpy(t->share + row * G, r, (size_t)G * sizeof *r);
        if (t->label)
            for (int64_t g = 0; g < G; g++) r[g] = t->label[row] == g;
        if (p->density_only) continue;
        const double w = t->weight ? t->weight[row] : 1;
        for (int64_t g = 0; g < G; g++) p->taken[g * p->block + at + j] = w * r[g];
    }
}

/* ---- 4 ---------------------------------------------------------------------------------------------- */

/* m gathered rows d, behind them r a and r (full: sqrt r d, r d is added as they come). */
static void add_gathered(fab_parts *p, int64_t g, int64_t m, const double *T, const double *U)
{
    const int64_t D = p->D, k = p->k;
    double *sum = p->sum + g * (k + 1) * D;
    if (is_full(p))
        fab_syrk(m, D, T, D, sum, D);
    else
        fab_gemm(FAB_F64, FAB_T, FAB_N, k + 1, D, m, 1, U, k + 1, T, D, 1, sum, D);
}

/* A diagonal needs no gathered rows. */
static void accumulate_diagonal(const block_task *t, int64_t g)
{
    fab_parts *p = t->p;
    const int64_t D = p->D;
    const double *restrict from = p->from + g * D, *taken = p->taken + g * p->block;
    double *restrict square = p->square + g * D, *restrict mean = p->sum + g * D;
    for (int64_t j = 0; j < t->n; j++) {
        const double r = taken[j], *restrict y = p->Y + j * D;
        if (!(r > 0)) continue;
        p->n[g] += r;
#pragma omp simd
        for (int64_t i = 0; i < D; i++) {
            const double d = y[i] - from[i];
            mean[i] += r * d;
            square[i] += r * d * d;
        }
    }
}

static void accumulate(void *ctx, int64_t g, int thread)
{
    const block_task *t = ctx;
    fab_parts *p = t->p;
    const int64_t D = p->D, k = p->k, wide = p->width;
    const double *from = p->from + g * D, *shift = p->shift + g * k,
                 *taken = p->taken + g * p->block;
    double *T = p->T + thread * p->piece * (D + k + 1), *U = T + p->piece * D;
    double *square = p->square + g * D, *mean = p->sum + g * (k + 1) * D + k * D;
    const int full = is_full(p);
    int64_t m = 0;
    if (k == 0) {
        accumulate_diagonal(t, g);
        return;
    }
    for (int64_t j = 0; j < t->n; j++) {
        const double r = taken[j];
        if (!(r > 0)) continue;
        const double *restrict y = p->Y + j * D, *a = p->A + j * wide + (p->sets == 1 ? 0 : g * k);
        double *restrict d = T + m * D, *u = U + m * (k + 1);
        p->n[g] += r;
        if (full) {
            const double root = sqrt(r);
#pragma omp simd
            for (int64_t i = 0; i < D; i++) {
                const double e = y[i] - from[i];
                mean[i] += r * e;
                d[i] = root * e;
            }
        } else {
#pragma omp simd
            for (int64_t i = 0; i < D; i++) {
                d[i] = y[i] - from[i];
                square[i] += r * d[i] * d[i];
            }
            for (int64_t l = 0; l < k; l++) u[l] = r * (a[l] - shift[l]);
            u[k] = r;
        }
        if (++m == p->piece) {
            add_gathered(p, g, m, T, U);
            m = 0;
        }
    }
    if (m) add_gathered(p, g, m, T, U);
}

void fab_parts_rows(fab_parts *p, const fab_rows *x, const double *weight, const int64_t *label,
                    double *density, double *share)
{
    block_task t = {
        .p = p, .x = x, .weight = weight, .label = label, .density = density, .share = share};
    const int before = fab_blas_enter();
    for (; t.first < x->n; t.first += t.n) {
        t.n = x->n - t.first < p->block ? x->n - t.first : p->block;
        fab_parallel(p->threads, (t.n + p->piece - 1) / p->piece, expectation, &t);
        if (!p->density_only) fab_parallel(p->threads, p->G, accumulate, &t);
        for (int64_t j = 0; j < t.n; j++) {
            const double w = weight ? weight[t.first + j] : 1;
            p->loglik += w * p->density[j];
            p->rows += w;
        }
    }
    fab_blas_leave(before);
}

/* ---- 5 - 8 ------------------------------------------------------------------------------------------ */

/* 6, factors: F, and in psi what is left of the variances. */
static fab_status move_factors(fab_parts *p, int64_t g, const double *e)
{
    const int64_t D = p->D, k = p->k;
    const double n = p->n[g];
    double *V = p->sum + g * (k + 1) * D; /* k x D in rows */
    double *F = p->F + g * D * k, *psi = p->psi + g * D, *M = p->M + g * k * k;
    double *C = p->small, *PV = C + k * k, *right = PV + k * k, *Q = right + k * k,
           *work = Q + k * k;
    const double *P = p->P + g * k;
    double *Pe = work + 2 * k * k;
    memset(Pe, 0, (size_t)k * sizeof *Pe);
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j < k; j++) Pe[j] += P[i * p->width + j] * e[i];
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < D; i++) V[j * D + i] = V[j * D + i] / n - Pe[j] * e[i]; /* S P */
    for (int64_t i = 0; i < D; i++) psi[i] = p->square[g * D + i] / n - e[i] * e[i];
    if (k == 0) return FAB_OK;
    fab_gemm(FAB_F64, FAB_T, FAB_T, k, k, D, 1, P, p->width, V, D, 0, C, k); /* P' S P */
    fab_symmetrise(k, C);
    fab_mm(FAB_N, FAB_N, k, k, k, 1, M, C, 0, right);
    fab_mm(FAB_N, FAB_T, k, k, k, 1, right, M, 0, PV); /* of P L' = psi^-1 F */
    fab_symmetrise(k, PV);
    memcpy(C, p->gram + g * k * k, (size_t)(k * k) * sizeof *C);
    FAB_TRY(fab_em_step(k, 1, C, PV, right, Q, work));
    fab_mm(FAB_T, FAB_N, k, k, k, 1, M, right, 0, Q); /* L' right */
    fab_gemm(FAB_F64, FAB_T, FAB_T, D, k, k, 1, V, D, Q, k, 0, F, k);
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j < k; j++) psi[i] -= F[i * k + j] * F[i * k + j];
    return FAB_OK;
}

/* 7, full: S of part g, in columns and full, to F; what is below the floor is raised. */
static fab_status move_full(fab_parts *p, int64_t set, double *S)
{
    const int64_t D = p->D;
    double *L = p->small, *F = p->F + set * D * D, *values = L + 2 * D * D, *work = values + D;
    for (int64_t j = 0; j < D; j++) /* in standard deviations of the columns */
        for (int64_t i = 0; i < D; i++) S[i + j * D] /= sqrt(p->variance[i]) * sqrt(p->variance[j]);
    memcpy(L, S, (size_t)(D * D) * sizeof *L);
    for (int64_t i = 0; i < D; i++) L[i + i * D] -= p->least;
    if (fab_chol(D, L) != FAB_OK) {
        memcpy(L, S, (size_t)(D * D) * sizeof *L);
        FAB_TRY(fab_eig(D, L, values, work));
        double *half = L + D * D;
        const double known = UNKNOWN * (double)D * values[D - 1];
        const double least = p->least > known ? p->least : known;
        for (int64_t j = 0; j < D; j++) {
            p->floored += values[j] < least;
            const double root = sqrt(values[j] < least ? least : values[j]);
            for (int64_t i = 0; i < D; i++) half[i + j * D] = L[i + j * D] * root;
        }
        fab_mm(FAB_N, FAB_T, D, D, D, 1, half, half, 0, S);
        fab_symmetrise(D, S);
    }
    FAB_TRY(fab_chol(D, S));
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++) F[i * D + j] = S[i + j * D] * sqrt(p->variance[i]);
    return FAB_OK;
}

/* The sums of a full covariance about the new mean, over n: S in columns, added to `to`. */
static void full_of(const fab_parts *p, int64_t g, double n, const double *e, double *to)
{
    const int64_t D = p->D;
    const double *sum = p->sum + g * (D + 1) * D, own = p->n[g];
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j <= i; j++) { /* lower in rows */
            const double v = (sum[i * D + j] - own * e[i] * e[j]) / n;
            to[i + j * D] += v;
            if (i != j) to[j + i * D] += v;
        }
}

/* 7, of the diagonals. */
static void raise_psi(fab_parts *p)
{
    const int64_t D = p->D, G = p->G;
    if (p->shape == FAB_SHAPE_COMMON) {
        double *all = p->small;
        memset(all, 0, (size_t)D * sizeof *all);
        for (int64_t g = 0; g < G; g++)
            for (int64_t i = 0; i < D; i++) all[i] += p->weight[g] * p->psi[g * D + i];
        for (int64_t g = 0; g < G; g++) memcpy(p->psi + g * D, all, (size_t)D * sizeof *all);
    }
    for (int64_t g = 0; g < G; g++) {
        double *psi = p->psi + g * D, mean = 0, least = 0;
        if (!(p->weight[g] > 0)) continue;
        for (int64_t i = 0; i < D; i++)
            mean += psi[i] / (double)D, least += p->variance[i] / (double)D;
        for (int64_t i = 0; i < D; i++) {
            const int one = p->shape == FAB_SHAPE_ISOTROPIC;
            const double floor = p->least * (one ? least : p->variance[i]);
            if (one) psi[i] = mean;
            if (psi[i] > floor) continue;
            psi[i] = floor;
            p->floored++;
        }
    }
}

fab_status fab_parts_maximise(fab_parts *p)
{
    const int64_t D = p->D, G = p->G, k = p->k;
    const double all = p->rows;
    double living = 0;
    p->floored = 0;
    for (int64_t g = 0; g < G; g++) { /* 8 */
        if (p->weight[g] > 0 && p->n[g] < LEAST_ROWS) p->dropped++;
        if (p->n[g] < LEAST_ROWS) p->n[g] = 0;
        living += p->n[g];
    }
    if (!(living > 0))
        return FAB_FAIL(FAB_NUMERIC, "%s: every part has died: fewer of them?", p->who);
    double *tied = p->shape == FAB_SHAPE_TIED ? p->M : NULL;
    if (tied) memset(tied, 0, (size_t)(D * D) * sizeof *tied);
    for (int64_t g = 0; g < G; g++) {
        double *e = p->sum + g * (k + 1) * D + k * D;
        p->weight[g] = p->n[g] / living; /* 5 */
        if (!(p->n[g] > 0)) {
            for (int64_t i = 0; i < D; i++) p->psi[g * D + i] = p->variance[i];
            continue;
        }
        for (int64_t i = 0; i < D; i++) e[i] /= p->n[g];
        for (int64_t i = 0; i < D; i++) p->mu[g * D + i] += e[i];
        if (!is_full(p)) {
            FAB_TRY(move_factors(p, g, e));
        } else if (tied) {
            full_of(p, g, living, e, tied);
        } else {
            double *S = p->M + g * D * D;
            assert(S);
            memset(S, 0, (size_t)(D * D) * sizeof *S);
            full_of(p, g, p->n[g], e, S);
            FAB_TRY(move_full(p, g, S));
        }
    }
    (void)all;
    if (tied) FAB_TRY(move_full(p, 0, tied));
    if (!is_full(p)) raise_psi(p);
    return FAB_OK;
}

/* ---- out -------------------------------------------------------------------------------------------- */

/* F of a full covariance less half its floor, which becomes psi. */
static fab_status give_full(const fab_parts *p, int64_t set, fab_gauss *q)
{
    const int64_t D = p->D;
    const double *F = p->F + set * D * D;
    double *S = p->small;
    fab_mm(FAB_T, FAB_N, D, D, D, 1, F, F, 0, S); /* F in rows is F' in columns */
    fab_symmetrise(D, S);
    for (int64_t i = 0; i < D; i++) S[i + i * D] -= q->psi[i] = p->least / 2 * p->variance[i];
    FAB_TRY(fab_chol(D, S));
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j < D; j++) fab_gauss_put(q, i * D + j, S[i + j * D]);
    return FAB_OK;
}

fab_status fab_parts_give(const fab_parts *p, fab_gauss *const *own, const fab_gauss **part,
                          double *weight, int64_t *n)
{
    const int64_t D = p->D, k = p->k;
    *n = 0;
    for (int64_t g = 0; g < p->G; g++) {
        fab_gauss *q = own[*n];
        if (!(p->weight[g] > 0)) continue;
        memcpy(q->mu, p->mu + g * D, (size_t)D * sizeof *q->mu);
        if (is_full(p)) {
            FAB_TRY(give_full(p, p->sets == 1 ? 0 : g, q));
        } else {
            memcpy(q->psi, p->psi + g * D, (size_t)D * sizeof *q->psi);
            if (k) memcpy(q->F, p->F + g * D * k, (size_t)(D * k) * sizeof(double));
        }
        FAB_TRY(fab_gauss_check(q));
        part[*n] = q;
        weight[(*n)++] = p->weight[g];
    }
    return FAB_OK;
}
