/* ops_cpu_turn.h - blocks of rows turned on their side, and back; part of ops_cpu_kernel.h.
 *
 * SPDX-License-Identifier: MIT */

/* ---- turning rows into columns and back ---------------------------------------------------------- */

#define LOW(a, b) __builtin_shufflevector(a, b, UNPACK_LO)
#define HIGH(a, b) __builtin_shufflevector(a, b, UNPACK_HI)

/* A vector from 128-bit quarters that are `step` apart, and back. */
INLINE VEC TYPED(collect)(const REAL *p, int64_t step)
{
    const TYPED(quarter) a = *(const TYPED(quarter) *)p;
#if VECTOR_BYTES == 16
    (void)step;
    return (VEC)a;
#else
    const TYPED(quarter) b = *(const TYPED(quarter) *)(p + step);
#if VECTOR_BYTES == 32
    return (VEC)__builtin_shufflevector(a, b, JOIN_QUARTERS);
#else
    const TYPED(quarter) c = *(const TYPED(quarter) *)(p + 2 * step), d = *(const TYPED(quarter) *)(p + 3 * step);
    return (VEC)__builtin_shufflevector(__builtin_shufflevector(a, b, JOIN_QUARTERS),
                                        __builtin_shufflevector(c, d, JOIN_QUARTERS), JOIN_HALVES);
#endif
#endif
}

INLINE void TYPED(spread)(REAL *p, int64_t step, VEC v)
{
#if VECTOR_BYTES == 16
    (void)step;
    *(TYPED(quarter) *)p = (TYPED(quarter))v;
#else
    *(TYPED(quarter) *)p = __builtin_shufflevector(v, v, QUARTER_0);
    *(TYPED(quarter) *)(p + step) = __builtin_shufflevector(v, v, QUARTER_1);
#if VECTOR_BYTES == 64
    *(TYPED(quarter) *)(p + 2 * step) = __builtin_shufflevector(v, v, QUARTER_2);
    *(TYPED(quarter) *)(p + 3 * step) = __builtin_shufflevector(v, v, QUARTER_3);
#endif
#endif
}

/* Transpose each QUARTER x QUARTER square; its own inverse. */
INLINE void TYPED(turn)(VEC v[QUARTER])
{
#if REAL_BYTES == 8
    const VEC low = LOW(v[0], v[1]), high = HIGH(v[0], v[1]);
    v[0] = low;
    v[1] = high;
#else
    const vec_f64 ab_low = (vec_f64)LOW(v[0], v[1]), ab_high = (vec_f64)HIGH(v[0], v[1]);
    const vec_f64 cd_low = (vec_f64)LOW(v[2], v[3]), cd_high = (vec_f64)HIGH(v[2], v[3]);
    v[0] = (VEC)__builtin_shufflevector(ab_low, cd_low, UNPACK_LO_F64);
    v[1] = (VEC)__builtin_shufflevector(ab_low, cd_low, UNPACK_HI_F64);
    v[2] = (VEC)__builtin_shufflevector(ab_high, cd_high, UNPACK_LO_F64);
    v[3] = (VEC)__builtin_shufflevector(ab_high, cd_high, UNPACK_HI_F64);
#endif
}

INLINE REAL *TYPED(at)(const fab_long *A, int64_t i, int64_t j)
{
    return (REAL *)A->p + i * A->rs + j * A->cs;
}

/* First of QUARTER columns to turn, the last square overlapping the one before. */
INLINE int64_t TYPED(square)(int64_t j, int64_t k)
{
    return j + QUARTER <= k ? j : k - QUARTER;
}

INLINE void TYPED(pack_rows)(const fab_long *A, int64_t first, int64_t count, const REAL *scale, REAL *buf)
{
    for (int64_t i = 0; i < count; i += LANES) {
        const REAL *p = TYPED(at)(A, first + i, 0);
        VEC h = (VEC){0} + 1;
        if (scale) h = *(const VEC *)(scale + i);
        for (int64_t jj = 0; jj < A->k; jj += QUARTER) {
            const int64_t j = TYPED(square)(jj, A->k);
            VEC v[QUARTER];
            for (int r = 0; r < QUARTER; r++) v[r] = TYPED(collect)(p + r * A->rs + j, QUARTER * A->rs);
            TYPED(turn)(v);
            for (int c = 0; c < QUARTER; c++) *(VEC *)(buf + (j + c) * SUB_ROWS + i) = v[c] * h;
        }
    }
}

static void TYPED(pack_columns)(const fab_long *A, int64_t first, int64_t count, const REAL *scale, REAL *buf)
{
    for (int64_t j = 0; j < A->k; j++) {
        const REAL *p = TYPED(at)(A, first, j);
        REAL *b = buf + j * SUB_ROWS;
        for (int64_t i = 0; i < count; i++) b[i] = scale ? scale[i] * p[i] : p[i];
    }
}

static void TYPED(pack_each)(const fab_long *A, int64_t first, int64_t from, int64_t to, const REAL *scale, REAL *buf)
{
    for (int64_t j = 0; j < A->k; j++)
        for (int64_t i = from; i < to; i++)
            buf[j * SUB_ROWS + i] = (scale ? scale[i] : 1) * *TYPED(at)(A, first + i, j);
}

/* Rows up to the next full step are zeros. */
static int TYPED(steps)(int64_t count)
{
    return (int)((count + LANES * DEPTH - 1) / (LANES * DEPTH)) * DEPTH;
}

static void TYPED(pad)(int64_t k, int64_t count, REAL *buf)
{
    const int64_t end = TYPED(steps)(count) * LANES;
    for (int64_t j = 0; j < k && count < end; j++)
        memset(buf + j * SUB_ROWS + count, 0, (size_t)(end - count) * sizeof *buf);
}

/* buf = the turned block of `count` rows of A, row i times scale[i] (NULL: 1). */
static void TYPED(pack)(const fab_long *A, int64_t first, int64_t count, const REAL *scale, REAL *buf)
{
    const int by_rows = A->cs == 1 && A->rs != 1 && A->k >= QUARTER;
    const int64_t full = by_rows ? count / LANES * LANES : 0;
    if (A->rs == 1)
        TYPED(pack_columns)(A, first, count, scale, buf);
    else {
        if (scale) TYPED(pack_rows)(A, first, full, scale, buf);
        else TYPED(pack_rows)(A, first, full, NULL, buf);
        TYPED(pack_each)(A, first, full, count, scale, buf);
    }
    TYPED(pad)(A->k, count, buf);
}

INLINE void TYPED(unpack_rows)(const REAL *buf, const fab_long *A, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        REAL *p = TYPED(at)(A, first + i, 0);
        for (int64_t jj = 0; jj < A->k; jj += QUARTER) {
            const int64_t j = TYPED(square)(jj, A->k);
            VEC v[QUARTER];
            for (int c = 0; c < QUARTER; c++) v[c] = *(const VEC *)(buf + (j + c) * SUB_ROWS + i);
            TYPED(turn)(v);
            for (int r = 0; r < QUARTER; r++) TYPED(spread)(p + r * A->rs + j, QUARTER * A->rs, v[r]);
        }
    }
}

static void TYPED(unpack)(const REAL *buf, const fab_long *A, int64_t first, int64_t count)
{
    const int by_rows = A->cs == 1 && A->rs != 1 && A->k >= QUARTER;
    const int64_t full = by_rows ? count / LANES * LANES : 0;
    TYPED(unpack_rows)(buf, A, first, full);
    for (int64_t j = 0; j < A->k; j++)
        for (int64_t i = full; i < count; i++) *TYPED(at)(A, first + i, j) = buf[j * SUB_ROWS + i];
}

/* How often the inner loops below turn on a block: a k x m product of sums, a product by a k x m matrix. */
static int64_t TYPED(tile_turns)(int64_t k, int64_t m)
{
    return ((k + TILE - 1) / TILE) * ((m + TILE - 1) / TILE) * STRIDE;
}

static int64_t TYPED(product_turns)(int64_t k, int64_t m)
{
    return k * ((m + 4) / 5) * (STRIDE / DEPTH);
}

/* The memory of the next SUB_ROWS rows of A, and beside it of as wide a B that is going to be written
 * (NULL: none).  The products ask for it little by little, in `turns` turns, so that it arrives while
 * they compute. */
static fab_ahead TYPED(rows_ahead)(const fab_long *A, const fab_long *B, int64_t first, int64_t turns)
{
    const fab_ahead none = {.runs = 0};
    if (A->cs != 1 || A->rs == 1 || first >= A->n) return none;
    const int64_t end = first + SUB_ROWS < A->n ? first + SUB_ROWS : A->n;
    const char *p = (const char *)TYPED(at)(A, first, 0);
    const int beside = B && B->cs == 1 && B->rs == A->rs;
    const int64_t bytes = (end - first) * A->rs * (int64_t)sizeof(REAL);
    return (fab_ahead){.p = p,
                       .end = p + bytes,
                       .beside = beside ? (const char *)TYPED(at)(B, first, 0) - p : 0,
                       .lines = bytes / 64 / (turns + 1) + 1};
}
