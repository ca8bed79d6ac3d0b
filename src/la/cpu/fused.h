/* fused.h - rows turned, multiplied and turned back without leaving the registers; part of kernel.h.
 *
 *     w (row-major) -> a_1 .. a_K, a register each -> t_j = x C_j + s sum_i b_i T_ij + sum_i a_i R_ij -> out (row-major)
 *
 * or, of a chain, t_j = x C_j + sum_i a_i R_ij + f_1 (the same of the first term + f_2 (..)).
 *
 * One function for each number of columns, 2 to FUSED_MOST: all loops over columns have constant lengths.  The reading of
 * rows, the shuffles, the products and the writing are spread evenly over time, so that they overlap, and memory is read
 * in one smooth stream, which hardware foresees.  Where sums follow, the turned columns stay in the cache too.
 *
 * SPDX-License-Identifier: MIT */

/* out = x C + s u T + w R, or the chain, for a block of rows. */
typedef struct TYPED(fused) {
    /* K columns, row after row; u NULL: absent; out of no columns: not kept */
    const fab_long *w, *u, *out;
    /* column after column: C_j, then column j of R, then of T where there is a u, or those of each term */
    const REAL *M;
    int64_t terms; /* of a chain */
    const REAL *f; /* its factors, SUB_ROWS for each term, padded with zeros */
    const REAL *x; /* turned, one column; zeros where there is none */
    const REAL *s; /* factors of the rows of u, or NULL: 1; padded with zeros */
    REAL *W, *O;   /* turned copies of w, of out, or NULL */
    REAL *ww, *qq; /* |w_i|^2, |out_i|^2, or NULL */
} TYPED(fused);

/* LANES rows at p as K columns, and back. */
INLINE void TYPED(turn_in)(const int K, const REAL *p, int64_t rs, VEC *a)
{
    int j = 0;
#if VECTOR_BYTES == 64
    UNROLL for (; j + 2 * QUARTER <= K; j += 2 * QUARTER)
    {
        UNROLL for (int r = 0; r < QUARTER; r++)
            TYPED(collect_pair)(p + r * rs + j, QUARTER * rs, &a[j + r], &a[j + QUARTER + r]);
        TYPED(turn)(a + j);
        TYPED(turn)(a + j + QUARTER);
    }
#endif
    UNROLL for (; j < K; j += QUARTER)
    {
        const int at = j + QUARTER <= K ? j : K - QUARTER;
        VEC v[QUARTER];
        UNROLL for (int r = 0; r < QUARTER; r++)
            v[r] = TYPED(collect)(p + r * rs + at, QUARTER * rs);
        TYPED(turn)(v);
        UNROLL for (int c = 0; c < QUARTER; c++) a[at + c] = v[c];
    }
}

INLINE void TYPED(turn_out)(const int K, const VEC *a, REAL *p, int64_t rs)
{
    int j = 0;
#if VECTOR_BYTES == 64
    UNROLL for (; j + 2 * QUARTER <= K; j += 2 * QUARTER)
    {
        VEC v[2 * QUARTER];
        UNROLL for (int c = 0; c < 2 * QUARTER; c++) v[c] = a[j + c];
        TYPED(turn)(v);
        TYPED(turn)(v + QUARTER);
        UNROLL for (int r = 0; r < QUARTER; r++)
            TYPED(spread_pair)(p + r * rs + j, QUARTER * rs, v[r], v[QUARTER + r]);
    }
#endif
    UNROLL for (; j < K; j += QUARTER)
    {
        const int at = j + QUARTER <= K ? j : K - QUARTER;
        VEC v[QUARTER];
        UNROLL for (int c = 0; c < QUARTER; c++) v[c] = a[at + c];
        TYPED(turn)(v);
        UNROLL for (int r = 0; r < QUARTER; r++) TYPED(spread)(p + r * rs + at, QUARTER * rs, v[r]);
    }
}

/* x c_0 + sum_i a_i c_i of the first `rows` of them */
INLINE VEC TYPED(fused_dot)(const int rows, VEC x, const VEC *a, const REAL *c)
{
    VEC t = x * c[0];
    UNROLL for (int i = 0; i < rows; i++) t += a[i] * c[1 + i];
    return t;
}

enum { TYPED(PLAIN), TYPED(TWO), TYPED(CHAIN) }; /* what a product is made of */

/* LANES rows, the v-th vector of the block. */
INLINE void TYPED(fused_rows)(const int K, const int upper, const int kind, const TYPED(fused) * f,
                              int64_t v, const REAL *w, const REAL *u, REAL *out)
{
    const int two = kind == TYPED(TWO);
    const int64_t terms = kind == TYPED(CHAIN) ? f->terms : 0,
                  ld = two ? 2 * K + 1 : (terms + 1) * (K + 1);
    const REAL *M = f->M;
    const VEC x = ((const VEC *)f->x)[v];
    VEC a[FUSED_MOST], b[FUSED_MOST], o[FUSED_MOST], square = {0};
    TYPED(turn_in)(K, w, K, a);
    if (f->W) UNROLL for (int j = 0; j < K; j++)((VEC *)f->W)[j * STRIDE + v] = a[j];
    if (f->ww) {
        VEC sum = {0};
        UNROLL for (int j = 0; j < K; j++) sum += a[j] * a[j];
        ((VEC *)f->ww)[v] = sum;
    }
    if (two) {
        TYPED(turn_in)(K, u, K, b);
        if (f->s) UNROLL for (int j = 0; j < K; j++) b[j] *= ((const VEC *)f->s)[v];
    }
    UNROLL for (int j = K - 1; j >= 0; j--)
    {
        const REAL *column = M + j * ld;
        VEC t = TYPED(fused_dot)(upper ? j + 1 : K, x, a, column + terms * (K + 1));
        if (kind == TYPED(CHAIN))
            for (int64_t l = terms; l-- > 0;)
                t = t * ((const VEC *)(f->f + l * SUB_ROWS))[v] +
                    TYPED(fused_dot)(K, x, a, column + l * (K + 1));
        if (two) UNROLL for (int i = 0; i < K; i++) t += b[i] * column[1 + K + i];
        square += t * t;
        o[j] = t;
    }
    if (f->qq) ((VEC *)f->qq)[v] = square;
    if (f->O) UNROLL for (int j = 0; j < K; j++)((VEC *)f->O)[j * STRIDE + v] = o[j];
    if (out) TYPED(turn_out)(K, o, out, K);
}

/* `count` rows from `first` on; the last of them, fewer than LANES, by way of a full vector. */
#define AHEAD 8 /* vectors */
INLINE void TYPED(fused_block)(const int K, const int upper, const int kind, const TYPED(fused) * f,
                               int64_t first, int64_t count, fab_ahead *ahead)
{
    REAL last[3][LANES * FUSED_MOST];
    const REAL *const rows = TYPED(at)(f->w, first, 0), *w = rows;
    const REAL *u = kind == TYPED(TWO) ? TYPED(at)(f->u, first, 0) : w;
    REAL *out = f->out->k ? TYPED(at)(f->out, first, 0) : NULL, *to = out;
    fab_ahead coming = *ahead;
    for (int64_t v = 0; v * LANES < count; v++) {
        const int64_t left = count - v * LANES;
        if (left < LANES) {
            memset(last, 0, sizeof last);
            memcpy(last[0], w, (size_t)(left * K) * sizeof *w);
            memcpy(last[1], u, (size_t)(left * K) * sizeof *u);
            w = last[0], u = last[1];
            if (out) to = last[2];
        }
        if (coming.lines > 0)
            for (int turn = 0; turn < FUSED_TURNS; turn++) ask(&coming);
        else
            UNROLL for (int l = 0; l < K * VECTOR_BYTES / 64; l++)
            {
                __builtin_prefetch((const char *)(rows + (v + AHEAD) * LANES * K) + 64 * l, 0, 3);
                if (out)
                    __builtin_prefetch((const char *)(out + (v + AHEAD) * LANES * K) + 64 * l, 1,
                                       3);
            }
        TYPED(fused_rows)(K, upper, kind, f, v, w, u, to);
        if (out && left < LANES) memcpy(out + v * LANES * K, to, (size_t)(left * K) * sizeof *out);
        w += LANES * K, u += LANES * K;
        if (out) to += LANES * K;
    }
    *ahead = coming;
}

typedef void TYPED(fused_kernel)(const TYPED(fused) * f, int64_t first, int64_t count,
                                 fab_ahead *ahead);

/* upper: R is zero below its diagonal. */
typedef struct TYPED(fused_kernels) {
    TYPED(fused_kernel) * upper, *full, *two, *chain;
} TYPED(fused_kernels);

#define FUSED_BLOCK(name, K, upper, kind)                                            \
    static void TYPED(name##K)(const TYPED(fused) * f, int64_t first, int64_t count, \
                               fab_ahead * ahead)                                    \
    {                                                                                \
        TYPED(fused_block)(K, upper, TYPED(kind), f, first, count, ahead);           \
    }
#define FUSED(K)                           \
    FUSED_BLOCK(fused_upper_, K, 1, PLAIN) \
    FUSED_BLOCK(fused_full_, K, 0, PLAIN)  \
    FUSED_BLOCK(fused_two_, K, 0, TWO)     \
    FUSED_BLOCK(fused_chain_, K, 0, CHAIN)
#define FUSED_NAMES(K)                                                       \
    {                                                                        \
        TYPED(fused_upper_##K), TYPED(fused_full_##K), TYPED(fused_two_##K), \
            TYPED(fused_chain_##K)                                           \
    }
FUSED(4)
FUSED(5)
FUSED(6)
FUSED(7)
FUSED(8)
FUSED(9)
FUSED(10)
FUSED(11)
FUSED(12)
#undef FUSED
#undef FUSED_BLOCK

/* Row after row, nothing between. */
static int TYPED(dense)(const fab_long *A)
{
    return A->cs == 1 && A->rs == A->k;
}

/* The functions for so many columns, or NULL. */
static const TYPED(fused_kernels) * TYPED(fused_for)(int64_t K)
{
    static const TYPED(fused_kernels)
        by_columns[] = {[4] = FUSED_NAMES(4),   [5] = FUSED_NAMES(5),   [6] = FUSED_NAMES(6),
                        [7] = FUSED_NAMES(7),   [8] = FUSED_NAMES(8),   [9] = FUSED_NAMES(9),
                        [10] = FUSED_NAMES(10), [11] = FUSED_NAMES(11), [12] = FUSED_NAMES(12)};
    return K >= 4 && K <= FUSED_MOST ? &by_columns[K] : NULL;
}
