/* kernel.h - the fast kernels, in one precision and for one instruction set.
 *
 * Included by ops_cpu_isa.h, once per precision, with
 *     REAL            double or float              TYPED(name)   the name in this precision
 *     VECTOR_BYTES    16, 32 or 64                 TILE          side of a tile of sums in registers
 *     UNPACK_LO/HI    shuffle indices              DEPTH         vectors of rows per step of a product
 *
 * Narrow matrices (at most FAB_NARROW columns).  A block of rows is read once and turned on its side
 * in the L1 cache: column j of the block becomes a contiguous run of SUB_ROWS numbers, and a vector
 * register holds one column of several rows.  Then nothing is wasted on K that is no multiple of the
 * vector length, and a Gram matrix costs its K(K+1)/2 distinct products:
 *
 *     rows (K = 3)              buffer, SUB_ROWS apart
 *     a0 b0 c0                  a0 a1 a2 a3 ...
 *     a1 b1 c1        ->        b0 b1 b2 b3 ...
 *     a2 b2 c2 ...              c0 c1 c2 c3 ...
 *
 * Sums stay spread over the lanes until the chunk ends: in REAL inside FAB_BLOCK_ROWS rows, then added
 * in double.  Weights are applied as square roots to both factors, so that w a b neither overflows
 * nor vanishes on the way.  Rows missing from the last vector are zeros.
 *
 * Wide matrices go to BLAS, FAB_BLOCK_ROWS rows at a time: the block stays in the L2 cache.
 *
 * SPDX-License-Identifier: MIT */

#define LANES    ((int)(VECTOR_BYTES / sizeof(REAL))) /* numbers in a vector */
#define QUARTER  ((int)(16 / sizeof(REAL)))           /* numbers in 128 bits: the unit of turning */
#define SUB_ROWS ((int)(1024 / sizeof(REAL)))         /* rows turned at a time */
#define COLUMN   (SUB_ROWS + LANES)                   /* numbers between columns: no power of 2 */
#define STRIDE   (COLUMN / LANES) /* vectors between columns of a turned block */
#define VEC      TYPED(vec)
#define INLINE   static inline __attribute__((always_inline))

typedef REAL VEC __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef REAL TYPED(vec_any)
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
typedef REAL TYPED(quarter) __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));

#include "la/cpu/turn.h"
#include "la/cpu/tile.h"
#include "la/cpu/fused.h"

/* ---- row factors --------------------------------------------------------------------------------- */

/* 1 / sqrt(v) of positive numbers: to about an ulp for doubles, to 28 bits for what becomes a float. */
INLINE vec_f64 TYPED(inverse_root)(vec_f64 v)
{
#if VECTOR_BYTES == 64
    vec_f64 y = (vec_f64)_mm512_rsqrt14_pd((__m512d)v);
    y += 0.5 * y * (1 - v * y * y); /* 28 bits */
    if (REAL_BYTES == 8) y += 0.5 * y * (1 - v * y * y);
    return y;
#else
    return 1 / ROOT_F64(v);
#endif
}

/* sqrt(v) of numbers that are not negative, as precise. */
INLINE vec_f64 TYPED(root)(vec_f64 v)
{
#if VECTOR_BYTES == 64
    const vec_f64 r = v * TYPED(inverse_root)(v);
    return (vec_f64)((bits_f64)(v > 0) & (bits_f64)r); /* 0 of 0 */
#else
    return ROOT_F64(v);
#endif
}

typedef REAL TYPED(rounded)
    __attribute__((vector_size(VECTOR_BYTES / 8 * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
#define DOUBLES ((int64_t)(VECTOR_BYTES / sizeof(double)))

/* sqrt(w), rounded once; NULL stays NULL: all ones. */
static const REAL *TYPED(roots)(const double *w, int64_t first, int64_t count, REAL *h)
{
    if (!w) return NULL;
    int64_t i = 0;
    for (; i + DOUBLES <= count; i += DOUBLES)
        *(TYPED(rounded) *)(h + i) = __builtin_convertvector(
            TYPED(root)(*(const vec_any_f64 *)(w + first + i)), TYPED(rounded));
    for (; i < count; i++) h[i] = (REAL)sqrt(w[first + i]);
    return h;
}

/* h = psi^-1/2, rounded once. */
static void TYPED(inverse_roots)(int64_t count, const double *psi, REAL *h)
{
    int64_t i = 0;
    for (; i + DOUBLES <= count; i += DOUBLES)
        *(TYPED(rounded) *)(h + i) = __builtin_convertvector(
            TYPED(inverse_root)(*(const vec_any_f64 *)(psi + i)), TYPED(rounded));
    for (; i < count; i++) h[i] = (REAL)(1 / sqrt(psi[i]));
}

/* h = psi0^1/2 psi^-1/2: it turns rows weighed by psi^-1/2 into rows weighed by psi0^1/2 psi^-1. */
static void TYPED(second_roots)(int64_t count, const double *psi0, const double *psi, REAL *h)
{
    int64_t i = 0;
    for (; i + DOUBLES <= count; i += DOUBLES) {
        const vec_f64 p0 = *(const vec_any_f64 *)(psi0 + i), p = *(const vec_any_f64 *)(psi + i);
        *(TYPED(rounded) *)(h + i) =
            __builtin_convertvector(TYPED(root)(p0) * TYPED(inverse_root)(p), TYPED(rounded));
    }
    for (; i < count; i++) h[i] = (REAL)(sqrt(psi0[i] / psi[i]));
}

static const REAL *TYPED(factors)(const double *s, int64_t first, int64_t count, REAL *h)
{
    if (!s) return NULL;
    for (int64_t i = 0; i < count; i++) h[i] = (REAL)s[first + i];
    return h;
}

/* The next `count` numbers of the scratch, on a cache line. */
static void *TYPED(take)(char **scratch, int64_t count, size_t size)
{
    char *p = *scratch;
    *scratch += ((size_t)count * size + 63) / 64 * 64;
    return p;
}
#define TAKE(count)         TYPED(take)(&room, (count), sizeof(REAL))
#define TAKE_DOUBLES(count) TYPED(take)(&room, (count), sizeof(double))

static int64_t TYPED(span_end)(fab_span s, int64_t i, int64_t step)
{
    return s.first + s.count - i < step ? s.first + s.count - i : step;
}

#define FOR_BLOCKS(i, m, rows, step)                                          \
    for (int64_t i = (rows).first, m = TYPED(span_end)(rows, i, step); m > 0; \
         i += m, m = TYPED(span_end)(rows, i, step))

/* Does this block of SUB_ROWS end a block of FAB_BLOCK_ROWS, or the chunk? */
static int TYPED(block_ends)(fab_span rows, int64_t i, int64_t m)
{
    return (i + m) % FAB_BLOCK_ROWS == 0 || i + m == rows.first + rows.count;
}

/* ---- narrow reductions --------------------------------------------------------------------------- */

static void TYPED(gram_narrow)(const fab_job *job, fab_span rows, char *room, double *G)
{
    const int64_t k = job->A->k, vectors = k * (k + 1) / 2;
    REAL *h = TAKE(SUB_ROWS), *P = TAKE(k * COLUMN), *acc = TAKE(vectors * LANES);
    double *sums = TAKE_DOUBLES(vectors * LANES);
    memset(acc, 0, (size_t)(vectors * LANES) * sizeof *acc);
    memset(sums, 0, (size_t)(vectors * LANES) * sizeof *sums);
    FOR_BLOCKS(i, m, rows, SUB_ROWS)
    {
        fab_ahead none = {.runs = 0};
        TYPED(pack)(job->A, i, m, TYPED(roots)(job->w, i, m, h), 1, P);
        TYPED(gram_tiles)(k, TYPED(steps)(m), P, &none, (VEC *)acc);
        if (TYPED(block_ends)(rows, i, m)) TYPED(settle)(vectors, acc, sums);
    }
    TYPED(gram_fold)(k, sums, G);
}

static void TYPED(cross_narrow)(const fab_job *job, fab_span rows, char *room, double *C)
{
    const int64_t k = job->A->k, m = job->B->k;
    REAL *h = TAKE(SUB_ROWS), *P = TAKE(k * COLUMN), *Q = TAKE(m * COLUMN),
         *acc = TAKE(k * m * LANES);
    double *sums = TAKE_DOUBLES(k * m * LANES);
    memset(acc, 0, (size_t)(k * m * LANES) * sizeof *acc);
    memset(sums, 0, (size_t)(k * m * LANES) * sizeof *sums);
    FOR_BLOCKS(i, count, rows, SUB_ROWS)
    {
        const REAL *root = TYPED(roots)(job->w, i, count, h);
        fab_ahead ahead = TYPED(rows_ahead)(job->A, NULL, i + count, TYPED(tile_turns)(k, m));
        TYPED(pack)(job->A, i, count, root, 0, P);
        TYPED(pack)(job->B, i, count, root, 0, Q);
        TYPED(cross_tiles)(k, P, m, Q, TYPED(steps)(count), &ahead, (VEC *)acc);
        if (TYPED(block_ends)(rows, i, count)) TYPED(settle)(k * m, acc, sums);
    }
    TYPED(cross_fold)(k, m, sums, C);
}

static void TYPED(colquad)(const fab_job *job, fab_span rows, void *scratch, double *q)
{
    char *room = scratch;
    const int64_t k = job->A->k;
    REAL *h = TAKE(SUB_ROWS), *P = TAKE(k * COLUMN);
    memset(q, 0, (size_t)k * sizeof *q);
    FOR_BLOCKS(i, m, rows, SUB_ROWS)
    {
        fab_ahead ahead = TYPED(rows_ahead)(job->A, NULL, i + m, k * STRIDE);
        TYPED(pack)(job->A, i, m, TYPED(roots)(job->w, i, m, h), 0, P);
        for (int64_t j = 0; j < k; j++) {
            const VEC *p = (const VEC *)(P + j * COLUMN);
            VEC sum[1] = {{0}};
            TYPED(tile)(1, 1, 1, TYPED(steps)(m), p, p, &ahead, sum);
            for (int l = 0; l < LANES; l++) q[j] += (double)sum[0][l];
        }
    }
}

/* ---- row by row, narrow -------------------------------------------------------------------------- */

/* B = A M of as many columns. */
static void TYPED(mult_fused)(const fab_job *job, fab_span rows, char *room)
{
    const int64_t k = job->A->k;
    REAL *M = TAKE((k + 1) * k), *zeros = TAKE(SUB_ROWS);
    memset(zeros, 0, SUB_ROWS * sizeof *zeros);
    for (int64_t j = 0; j < k; j++) {
        M[j * (k + 1)] = 0;
        memcpy(M + j * (k + 1) + 1, (const REAL *)job->M + j * k, (size_t)k * sizeof *M);
    }
    const TYPED(fused) f = {.w = job->A, .out = job->B, .M = M, .x = zeros};
    FOR_BLOCKS(i, m, rows, SUB_ROWS)
    {
        fab_ahead none = {.runs = 0};
        TYPED(fused_for)(k)->full(&f, i, m, &none);
    }
}

/* b = m a + beta b of vectors. */
static void TYPED(mult_vector)(const fab_job *job, fab_span rows)
{
    const REAL *a = TYPED(at)(job->A, rows.first, 0), m = *(const REAL *)job->M;
    const REAL beta = (REAL)job->beta;
    REAL *b = TYPED(at)(job->B, rows.first, 0);
    if (beta == 0)
        for (int64_t i = 0; i < rows.count; i++) b[i] = a[i] * m;
    else
        for (int64_t i = 0; i < rows.count; i++) b[i] = beta * b[i] + a[i] * m;
}

static void TYPED(mult_narrow)(const fab_job *job, fab_span rows, char *room)
{
    const fab_long *A = job->A, *B = job->B;
    if (A->k == 1 && B->k == 1 && A->rs == 1 && B->rs == 1 && !job->w) {
        TYPED(mult_vector)(job, rows);
        return;
    }
    if (A->k == B->k && !job->w && job->beta == 0 && TYPED(dense)(A) && TYPED(dense)(B) &&
        TYPED(fused_for)(A->k)) {
        TYPED(mult_fused)(job, rows, room);
        return;
    }
    REAL *h = TAKE(SUB_ROWS), *P = TAKE(A->k * COLUMN), *Q = TAKE(B->k * COLUMN);
    const TYPED(factor) f = {.in = P,
                             .M = job->M,
                             .k = A->k,
                             .ld = A->k,
                             .lead = A->k,
                             .start = job->beta != 0 ? Q : NULL,
                             .r0 = (REAL)job->beta};
    FOR_BLOCKS(i, m, rows, SUB_ROWS)
    {
        const int steps = TYPED(steps)(m);
        fab_ahead ahead = TYPED(rows_ahead)(A, B, i + m, TYPED(product_turns)(A->k, B->k));
        TYPED(pack)(A, i, m, TYPED(factors)(job->w, i, m, h), 0, P);
        if (job->beta != 0) TYPED(pack)(B, i, m, NULL, 0, Q);
        TYPED(product)(&f, B->k, steps, &ahead, Q);
        TYPED(unpack)(Q, B, i, m);
    }
}

/* q_i = dot_i + beta q_i */
static void TYPED(keep_dots)(const fab_job *job, int64_t first, int64_t count, const REAL *dot)
{
    for (int64_t i = 0; i < count; i++)
        job->q[first + i] = (double)dot[i] + (job->beta != 0 ? job->beta * job->q[first + i] : 0);
}

static void TYPED(rowquad_narrow)(const fab_job *job, fab_span rows, char *room)
{
    const int64_t k = job->A->k, cols = job->M ? job->cols : k;
    REAL *dot = TAKE(SUB_ROWS), *P = TAKE(k * COLUMN), *Q = job->M ? TAKE(cols * COLUMN) : P;
    const TYPED(factor) f = {.in = P, .M = job->M, .k = k, .ld = k, .lead = k, .dot = dot};
    FOR_BLOCKS(i, m, rows, SUB_ROWS)
    {
        const int steps = TYPED(steps)(m);
        fab_ahead ahead =
            TYPED(rows_ahead)(job->A, NULL, i + m, job->M ? TYPED(product_turns)(k, cols) : 0);
        TYPED(pack)(job->A, i, m, NULL, 0, P);
        if (job->M && cols > 0)
            TYPED(product)(&f, cols, steps, &ahead, Q);
        else
            TYPED(dots)(cols, steps, Q, Q, dot);
        TYPED(keep_dots)(job, i, m, dot);
    }
}

static void TYPED(rowdot)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)partial;
    char *room = scratch;
    const int64_t k = job->A->k;
    REAL *dot = TAKE(SUB_ROWS), *P = TAKE(k * COLUMN), *Q = TAKE(k * COLUMN);
    FOR_BLOCKS(i, m, rows, SUB_ROWS)
    {
        TYPED(pack)(job->A, i, m, NULL, 0, P);
        TYPED(pack)(job->B, i, m, NULL, 0, Q);
        TYPED(dots)(k, TYPED(steps)(m), P, Q, dot);
        TYPED(keep_dots)(job, i, m, dot);
    }
}

#include "la/cpu/wide.h"

/* ---- narrow or wide ------------------------------------------------------------------------------ */

static int TYPED(narrow)(int64_t k, int64_t m)
{
    return k <= FAB_NARROW_SIDE && m <= FAB_NARROW_SIDE && (k <= FAB_NARROW || m <= FAB_NARROW);
}

static void TYPED(gram)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    if (job->A->k <= FAB_NARROW)
        TYPED(gram_narrow)(job, rows, scratch, partial);
    else
        TYPED(gram_wide)(job, rows, scratch, partial);
}

static void TYPED(cross)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    if (TYPED(narrow)(job->A->k, job->B->k))
        TYPED(cross_narrow)(job, rows, scratch, partial);
    else
        TYPED(cross_wide)(job, rows, scratch, partial);
}

static void TYPED(mult)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)partial;
    if (TYPED(narrow)(job->A->k, job->B->k))
        TYPED(mult_narrow)(job, rows, scratch);
    else
        TYPED(mult_wide)(job, rows, scratch);
}

static void TYPED(rowquad)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)partial;
    if (TYPED(narrow)(job->A->k, job->M ? job->cols : 0))
        TYPED(rowquad_narrow)(job, rows, scratch);
    else
        TYPED(rowquad_wide)(job, rows, scratch);
}

/* ---- elementwise, in and out --------------------------------------------------------------------- */

/* Runs of contiguous numbers: rows of a row-major array, else the columns' pieces. */
static void TYPED(axpy)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)scratch;
    (void)partial;
    const fab_long *A = job->A, *B = job->B;
    const REAL beta = (REAL)job->beta;
    if (A->rs == 1 && B->rs == 1) { /* by columns */
        for (int64_t j = 0; j < A->k; j++) {
            const REAL *a = TYPED(at)(A, 0, j);
            REAL *b = TYPED(at)(B, 0, j);
            for (int64_t i = rows.first; i < rows.first + rows.count; i++)
                b[i] = (job->w ? (REAL)job->w[i] : 1) * a[i] + (beta != 0 ? beta * b[i] : 0);
        }
        return;
    }
    for (int64_t i = rows.first; i < rows.first + rows.count; i++) {
        const REAL s = job->w ? (REAL)job->w[i] : 1;
        for (int64_t j = 0; j < A->k; j++) {
            REAL *b = TYPED(at)(B, i, j);
            *b = s * *TYPED(at)(A, i, j) + (beta != 0 ? beta * *b : 0);
        }
    }
}

#define LOAD_COLUMN(type, stride)                                  \
    for (int64_t i = rows.first; i < rows.first + rows.count; i++) \
    to[i * X->rs] =                                                \
        (REAL)((double)((const type *)x->p)[j * x->ld + i * (stride)] - (mu ? mu[i] : 0))

/* Vector j of sparse rows, the coordinates of `rows` of it. */
static void TYPED(load_sparse)(const fab_rows *x, int64_t j, fab_span rows, const double *mu,
                               const fab_long *X)
{
    REAL *to = TYPED(at)(X, 0, j);
    const int64_t end = rows.first + rows.count;
    for (int64_t i = rows.first; i < end; i++) to[i * X->rs] = (REAL)(0 - (mu ? mu[i] : 0));
    for (int64_t k = fab_rows_seek(x, j, rows.first); k < x->start[j + 1] && x->index[k] < end;
         k++) {
        const int64_t i = x->index[k];
        to[i * X->rs] = (REAL)(fab_rows_value(x, j, k - x->start[j]) - (mu ? mu[i] : 0));
    }
}

static void TYPED(load)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)scratch;
    (void)partial;
    const fab_rows *x = job->rows;
    const fab_long *X = job->A;
    const double *mu = job->mu;
    const int64_t stride = fab_rows_stride(x);
    for (int64_t j = 0; j < x->n; j++) {
        REAL *to = TYPED(at)(X, 0, j);
        if (x->start)
            TYPED(load_sparse)(x, j, rows, mu, X);
        else if (x->type == FAB_F64 && stride == 1)
            LOAD_COLUMN(double, 1);
        else if (x->type == FAB_F64)
            LOAD_COLUMN(double, stride);
        else if (stride == 1)
            LOAD_COLUMN(float, 1);
        else
            LOAD_COLUMN(float, stride);
    }
}

static void TYPED(get)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)scratch;
    (void)partial;
    const fab_long *A = job->A;
    const int64_t end = rows.first + rows.count;
    if (A->k == 1 && A->rs == 1) {
        const REAL *a = A->p;
        for (int64_t i = rows.first; i < end; i++) job->out[i] = (double)a[i];
        return;
    }
    for (int64_t i = rows.first; i < end; i++)
        for (int64_t j = 0; j < A->k; j++) job->out[i * A->k + j] = (double)*TYPED(at)(A, i, j);
}

static void TYPED(put)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)scratch;
    (void)partial;
    const fab_long *A = job->A;
    const int64_t end = rows.first + rows.count;
    if (A->k == 1 && A->rs == 1) {
        REAL *a = A->p;
        for (int64_t i = rows.first; i < end; i++) a[i] = (REAL)job->in[i];
        return;
    }
    for (int64_t i = rows.first; i < end; i++)
        for (int64_t j = 0; j < A->k; j++) *TYPED(at)(A, i, j) = (REAL)job->in[i * A->k + j];
}

#include "la/cpu/sweep.h"
#include "la/cpu/normals.h"

#undef LANES
#undef QUARTER
#undef SUB_ROWS
#undef COLUMN
#undef STRIDE
#undef VEC
#undef INLINE
#undef LOW
#undef HIGH
#undef TAKE
#undef TAKE_DOUBLES
#undef FOR_BLOCKS
#undef SUMS
#undef ADD_SUMS
#undef BETA
#undef LOAD_COLUMN
#undef DOUBLES
