/* wide.h - wide matrices, block by block to BLAS; part of ops_cpu_kernel.h.
 *
 * SPDX-License-Identifier: MIT */

static void TYPED(gemm)(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k,
                        const REAL *A, int64_t lda, const REAL *B, int64_t ldb, REAL beta, REAL *C,
                        int64_t ldc)
{
    if (m > 0 && n > 0) BLAS(gemm)
    (CblasColMajor, ta, tb, (int)m, (int)n, (int)k, 1, A, (int)(lda > 1 ? lda : 1), B,
     (int)(ldb > 1 ? ldb : 1), beta, C, (int)(ldc > 1 ? ldc : 1));
}

/* C' (m x rows, rows contiguous) = M' (a block of A)' + beta C'. */
static void TYPED(block_times)(const fab_long *A, int64_t first, int64_t rows, const REAL *M,
                               int64_t ldm, int64_t m, REAL beta, REAL *C)
{
    if (A->k == 0) {
        if (beta == 0) memset(C, 0, (size_t)(m * rows) * sizeof *C);
        return;
    }
    const int by_rows = A->cs == 1 && A->rs >= A->k; /* a single row may have both steps 1 */
    TYPED(gemm)
    (CblasTrans, by_rows ? CblasNoTrans : CblasTrans, m, rows, A->k, M, ldm, TYPED(at)(A, first, 0),
     by_rows ? A->rs : A->cs, beta, C, m);
}

/* A row-major copy of a block, row i times h[i] (NULL: 1). */
static void TYPED(copy_block)(const fab_long *A, int64_t first, int64_t count, const REAL *h,
                              REAL *to)
{
    const int64_t k = A->k;
    if (A->cs == 1) {
        for (int64_t i = 0; i < count; i++) {
            const REAL *p = TYPED(at)(A, first + i, 0), s = h ? h[i] : 1;
            for (int64_t j = 0; j < k; j++) to[i * k + j] = s * p[j];
        }
    } else {
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < count; i++)
                to[i * k + j] = (h ? h[i] : 1) * *TYPED(at)(A, first + i, j);
    }
}

/* The block itself where it is row-major already, else a copy. */
static const REAL *TYPED(see_block)(const fab_long *A, int64_t first, int64_t count, const REAL *h,
                                    REAL *to)
{
    if (!h && A->cs == 1 && A->rs == A->k) return TYPED(at)(A, first, 0);
    TYPED(copy_block)(A, first, count, h, to);
    return to;
}

static void TYPED(write_block)(const REAL *from, const fab_long *B, int64_t first, int64_t count)
{
    if (B->cs == 1) {
        for (int64_t i = 0; i < count; i++)
            memcpy(TYPED(at)(B, first + i, 0), from + i * B->k, (size_t)B->k * sizeof *from);
    } else {
        for (int64_t j = 0; j < B->k; j++)
            for (int64_t i = 0; i < count; i++) *TYPED(at)(B, first + i, j) = from[i * B->k + j];
    }
}

static REAL TYPED(row_product)(int64_t k, const REAL *a, const REAL *b)
{
    VEC sum = {0};
    int64_t j = 0;
    for (; j + LANES <= k; j += LANES)
        sum += *(const TYPED(vec_any) *)(a + j) * *(const TYPED(vec_any) *)(b + j);
    REAL total = 0;
    for (; j < k; j++) total += a[j] * b[j];
    for (int l = 0; l < LANES; l++) total += sum[l];
    return total;
}

static void TYPED(row_dots)(int64_t k, int64_t count, const REAL *P, const REAL *Q, REAL *dot)
{
    for (int64_t i = 0; i < count; i++) dot[i] = TYPED(row_product)(k, P + i * k, Q + i * k);
}

static void TYPED(scale_rows)(int64_t k, int64_t count, const REAL *h, REAL *P)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < k; j++) P[i * k + j] *= h[i];
}

#if REAL_BYTES == 8
#define SUMS(temporary, C)            (C) /* BLAS adds to the chunk's double sums directly */
#define ADD_SUMS(count, temporary, C) ((void)(temporary))
#define BETA                          1
#else
#define SUMS(temporary, C)            (temporary)
#define ADD_SUMS(count, temporary, C) TYPED(settle_block)(count, temporary, C)
#define BETA                          0

static void TYPED(settle_block)(int64_t count, const REAL *block, double *C)
{
    for (int64_t e = 0; e < count; e++) C[e] += (double)block[e];
}
#endif

/* G += P' P, in the lower triangle; the rest of G is not to be read.  P: rows x k. */
static void TYPED(add_gram)(int64_t k, int64_t rows, const REAL *P, REAL *temporary, double *G)
{
    BLAS(syrk)
    (CblasColMajor, CblasLower, CblasNoTrans, (int)k, (int)rows, 1, P, (int)k, BETA,
     SUMS(temporary, G), (int)k);
    ADD_SUMS(k * k, temporary, G);
}

/* C += P' Q. */
static void TYPED(add_cross)(int64_t k, const REAL *P, int64_t m, const REAL *Q, int64_t rows,
                             REAL *temporary, double *C)
{
    TYPED(gemm)(CblasNoTrans, CblasTrans, k, m, rows, P, k, Q, m, BETA, SUMS(temporary, C), k);
    ADD_SUMS(k * m, temporary, C);
}

/* Many vectors are read where they lie: a copy costs as much as their products with few columns.  (OpenBLAS
 * allocates in small products of two matrices that are both not transposed: these are large.) */
static int TYPED(many_vectors)(const fab_long *A, int64_t rows, int64_t k)
{
    return A->cs != 1 && A->k >= 64 && A->k * rows * k >= 2000000;
}

/* B (rows x m, row-major) += (a block of A) M;  room: m x rows. */
static void TYPED(add_vectors_times)(const fab_long *A, int64_t first, int64_t rows, const REAL *M,
                                     int64_t ldm, int64_t m, REAL *room, REAL *B)
{
    TYPED(gemm)
    (CblasNoTrans, CblasNoTrans, rows, m, A->k, TYPED(at)(A, first, 0), A->cs, M, ldm, 0, room,
     rows);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < m; j++) B[i * m + j] += room[j * rows + i];
}

/* C += P' (a block of A).  P: rows x k. */
static void TYPED(add_vectors_cross)(int64_t k, const REAL *P, const fab_long *A, int64_t first,
                                     int64_t rows, REAL *temporary, double *C)
{
    TYPED(gemm)
    (CblasNoTrans, CblasNoTrans, k, A->k, rows, P, k, TYPED(at)(A, first, 0), A->cs, BETA,
     SUMS(temporary, C), k);
    ADD_SUMS(k * A->k, temporary, C);
}

static void TYPED(mirror)(int64_t k, double *G)
{
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = j + 1; i < k; i++) G[j + i * k] = G[i + j * k];
}

static void TYPED(gram_wide)(const fab_job *job, fab_span rows, char *room, double *G)
{
    const int64_t k = job->A->k;
    REAL *h = TAKE(FAB_BLOCK_ROWS), *copy = TAKE(k * FAB_BLOCK_ROWS), *temporary = TAKE(k * k);
    memset(G, 0, (size_t)(k * k) * sizeof *G);
    memset(temporary, 0, (size_t)(k * k) * sizeof *temporary);
    FOR_BLOCKS(i, m, rows, FAB_BLOCK_ROWS)
    {
        const REAL *P = TYPED(see_block)(job->A, i, m, TYPED(roots)(job->w, i, m, h), copy);
        TYPED(add_gram)(k, m, P, temporary, G);
    }
    TYPED(mirror)(k, G);
}

static void TYPED(cross_wide)(const fab_job *job, fab_span rows, char *room, double *C)
{
    const int64_t k = job->A->k, m = job->B->k;
    REAL *h = TAKE(FAB_BLOCK_ROWS), *P = TAKE(k * FAB_BLOCK_ROWS), *Q = TAKE(m * FAB_BLOCK_ROWS);
    REAL *temporary = TAKE(k * m);
    memset(C, 0, (size_t)(k * m) * sizeof *C);
    FOR_BLOCKS(i, count, rows, FAB_BLOCK_ROWS)
    {
        const REAL *root = TYPED(roots)(job->w, i, count, h);
        const REAL *p = TYPED(see_block)(job->A, i, count, root, P);
        if (TYPED(many_vectors)(job->B, count, k)) {
            if (root) TYPED(scale_rows)(k, count, root, P);
            TYPED(add_vectors_cross)(k, p, job->B, i, count, temporary, C);
            continue;
        }
        const REAL *q = TYPED(see_block)(job->B, i, count, root, Q);
        TYPED(add_cross)(k, p, m, q, count, temporary, C);
    }
}

static void TYPED(mult_wide)(const fab_job *job, fab_span rows, char *room)
{
    const fab_long *A = job->A, *B = job->B;
    REAL *h = TAKE(FAB_BLOCK_ROWS), *Q = TAKE(B->k * FAB_BLOCK_ROWS);
    FOR_BLOCKS(i, m, rows, FAB_BLOCK_ROWS)
    {
        TYPED(block_times)(A, i, m, job->M, A->k, B->k, 0, Q);
        if (TYPED(factors)(job->w, i, m, h)) TYPED(scale_rows)(B->k, m, h, Q);
        if (job->beta != 0)
            for (int64_t r = 0; r < m; r++)
                for (int64_t j = 0; j < B->k; j++)
                    Q[r * B->k + j] += (REAL)job->beta * *TYPED(at)(B, i + r, j);
        TYPED(write_block)(Q, B, i, m);
    }
}

static void TYPED(rowquad_wide)(const fab_job *job, fab_span rows, char *room)
{
    const int64_t k = job->A->k, cols = job->M ? job->cols : k;
    REAL *dot = TAKE(FAB_BLOCK_ROWS), *Q = TAKE(cols * FAB_BLOCK_ROWS);
    FOR_BLOCKS(i, m, rows, FAB_BLOCK_ROWS)
    {
        const REAL *P = job->M ? Q : TYPED(see_block)(job->A, i, m, NULL, Q);
        if (job->M) TYPED(block_times)(job->A, i, m, job->M, k, cols, 0, Q);
        TYPED(row_dots)(cols, m, P, P, dot);
        TYPED(keep_dots)(job, i, m, dot);
    }
}
