/* turn.h - blocks of rows turned on their side, and back; part of ops_cpu_kernel.h.
 *
 * SPDX-License-Identifier: MIT */

/* ---- turning rows into columns and back ---------------------------------------------------------- */

#define LOW(a, b)  __builtin_shufflevector(a, b, UNPACK_LO)
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
    const TYPED(quarter) c = *(const TYPED(quarter) *)(p + 2 * step),
                         d = *(const TYPED(quarter) *)(p + 3 * step);
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

#if VECTOR_BYTES == 64
/* Two vectors from rows of two quarters that are `step` apart, and back: half as many loads and stores. */
INLINE void TYPED(collect_pair)(const REAL *p, int64_t step, VEC *left, VEC *right)
{
    const half_f64 r0 = *(const half_f64 *)p, r1 = *(const half_f64 *)(p + step);
    const half_f64 r2 = *(const half_f64 *)(p + 2 * step), r3 = *(const half_f64 *)(p + 3 * step);
    const vec_f64 a = __builtin_shufflevector(r0, r1, 0, 1, 2, 3, 4, 5, 6, 7);
    const vec_f64 b = __builtin_shufflevector(r2, r3, 0, 1, 2, 3, 4, 5, 6, 7);
    *left = (VEC)__builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13);
    *right = (VEC)__builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
}

INLINE void TYPED(spread_pair)(REAL *p, int64_t step, VEC left, VEC right)
{
    const vec_f64 l = (vec_f64)left, r = (vec_f64)right;
    const vec_f64 a = __builtin_shufflevector(l, r, 0, 1, 8, 9, 2, 3, 10, 11);
    const vec_f64 b = __builtin_shufflevector(l, r, 4, 5, 12, 13, 6, 7, 14, 15);
    *(half_f64 *)p = __builtin_shufflevector(a, a, 0, 1, 2, 3);
    *(half_f64 *)(p + step) = __builtin_shufflevector(a, a, 4, 5, 6, 7);
    *(half_f64 *)(p + 2 * step) = __builtin_shufflevector(b, b, 0, 1, 2, 3);
    *(half_f64 *)(p + 3 * step) = __builtin_shufflevector(b, b, 4, 5, 6, 7);
}
#endif

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
    return A->p ? (REAL *)A->p + i * A->rs + j * A->cs : NULL;
}

/* First of QUARTER columns to turn, the last square overlapping the one before. */
INLINE int64_t TYPED(square)(int64_t j, int64_t k)
{
    return j + QUARTER <= k ? j : k - QUARTER;
}

/* Columns j .. of LANES rows at p, turned and scaled, to buf: one square wide, or two. */
INLINE void TYPED(pack_square)(const REAL *p, int64_t rs, int64_t j, VEC h, REAL *buf)
{
    VEC v[QUARTER];
    for (int r = 0; r < QUARTER; r++) v[r] = TYPED(collect)(p + r * rs + j, QUARTER * rs);
    TYPED(turn)(v);
    for (int c = 0; c < QUARTER; c++) *(VEC *)(buf + (j + c) * COLUMN) = v[c] * h;
}

#if VECTOR_BYTES == 64
INLINE void TYPED(pack_pair)(const REAL *p, int64_t rs, int64_t j, VEC h, REAL *buf)
{
    VEC left[QUARTER], right[QUARTER];
    for (int r = 0; r < QUARTER; r++)
        TYPED(collect_pair)(p + r * rs + j, QUARTER * rs, &left[r], &right[r]);
    TYPED(turn)(left);
    TYPED(turn)(right);
    for (int c = 0; c < QUARTER; c++) *(VEC *)(buf + (j + c) * COLUMN) = left[c] * h;
    for (int c = 0; c < QUARTER; c++) *(VEC *)(buf + (j + QUARTER + c) * COLUMN) = right[c] * h;
}
#endif

INLINE void TYPED(pack_rows)(const fab_long *A, int64_t first, int64_t count, const REAL *scale,
                             int ahead, REAL *buf)
{
    const int64_t k = A->k, rs = A->rs;
    const REAL *p = TYPED(at)(A, first, 0);
    for (int64_t i = 0; i < count; i += LANES, p += LANES * rs) {
        VEC h = (VEC){0} + 1;
        if (scale) h = *(const VEC *)(scale + i);
        if (ahead)
            for (int64_t l = 0; l < LANES * k * (int64_t)sizeof(REAL); l += 64)
                __builtin_prefetch((const char *)(p + SUB_ROWS * rs) + l, 0, 3);
        int64_t j = 0;
#if VECTOR_BYTES == 64
        for (; j + 2 * QUARTER <= k; j += 2 * QUARTER) TYPED(pack_pair)(p, rs, j, h, buf + i);
#endif
        for (; j < k; j += QUARTER) TYPED(pack_square)(p, rs, TYPED(square)(j, k), h, buf + i);
    }
}

static void TYPED(pack_columns)(const fab_long *A, int64_t first, int64_t count, const REAL *scale,
                                REAL *buf)
{
    for (int64_t j = 0; j < A->k; j++) {
        const REAL *p = TYPED(at)(A, first, j);
        REAL *b = buf + j * COLUMN;
        for (int64_t i = 0; i < count; i++) b[i] = scale ? scale[i] * p[i] : p[i];
    }
}

static void TYPED(pack_each)(const fab_long *A, int64_t first, int64_t from, int64_t to,
                             const REAL *scale, REAL *buf)
{
    for (int64_t j = 0; j < A->k; j++)
        for (int64_t i = from; i < to; i++)
            buf[j * COLUMN + i] = (scale ? scale[i] : 1) * *TYPED(at)(A, first + i, j);
}

/* Rows up to the next full step are zeros. */
static int TYPED(steps)(int64_t count)
{
    return (int)((count + LANES * DEPTH - 1) / (LANES * DEPTH)) * DEPTH;
}

static void TYPED(pad)(int64_t k, int64_t count, REAL *buf)
{
    const int64_t end = TYPED(steps)(count) * LANES;
    if (count == end) return;
    for (int64_t j = 0; j < k; j++)
        memset(buf + j * COLUMN + count, 0, (size_t)(end - count) * sizeof *buf);
}

/* buf = the turned block of `count` rows of A, row i times scale[i] (NULL: 1); ahead: memory is asked for the rows of the
 * next block on the way, as evenly as these are read. */
static void TYPED(pack)(const fab_long *A, int64_t first, int64_t count, const REAL *scale,
                        int ahead, REAL *buf)
{
    const int by_rows = A->cs == 1 && A->rs != 1 && A->k >= QUARTER;
    const int64_t full = by_rows ? count / LANES * LANES : 0;
    if (A->rs == 1)
        TYPED(pack_columns)(A, first, count, scale, buf);
    else {
        if (scale)
            TYPED(pack_rows)(A, first, full, scale, ahead, buf);
        else
            TYPED(pack_rows)(A, first, full, NULL, ahead, buf);
        TYPED(pack_each)(A, first, full, count, scale, buf);
    }
    TYPED(pad)(A->k, count, buf);
}

/* The way back; with P, the columns times h go there too. */
INLINE void TYPED(unpack_square)(const REAL *buf, int64_t j, REAL *p, int64_t rs, VEC h, REAL *P)
{
    VEC v[QUARTER];
    for (int c = 0; c < QUARTER; c++) v[c] = *(const VEC *)(buf + (j + c) * COLUMN);
    if (P)
        for (int c = 0; c < QUARTER; c++) *(VEC *)(P + (j + c) * COLUMN) = v[c] * h;
    TYPED(turn)(v);
    for (int r = 0; r < QUARTER; r++) TYPED(spread)(p + r * rs + j, QUARTER * rs, v[r]);
}

#if VECTOR_BYTES == 64
INLINE void TYPED(unpack_pair)(const REAL *buf, int64_t j, REAL *p, int64_t rs, VEC h, REAL *P)
{
    VEC v[2 * QUARTER];
    for (int c = 0; c < 2 * QUARTER; c++) v[c] = *(const VEC *)(buf + (j + c) * COLUMN);
    if (P)
        for (int c = 0; c < 2 * QUARTER; c++) *(VEC *)(P + (j + c) * COLUMN) = v[c] * h;
    TYPED(turn)(v);
    TYPED(turn)(v + QUARTER);
    for (int r = 0; r < QUARTER; r++)
        TYPED(spread_pair)(p + r * rs + j, QUARTER * rs, v[r], v[QUARTER + r]);
}
#endif

INLINE void TYPED(unpack_rows)(const REAL *buf, const fab_long *A, int64_t first, int64_t count,
                               const REAL *scale, REAL *P)
{
    const int64_t k = A->k, rs = A->rs;
    REAL *p = TYPED(at)(A, first, 0);
    for (int64_t i = 0; i < count; i += LANES, p += LANES * rs) {
        VEC h = {0};
        if (scale) h = *(const VEC *)(scale + i);
        REAL *to = P ? P + i : NULL;
        int64_t j = 0;
#if VECTOR_BYTES == 64
        for (; j + 2 * QUARTER <= k; j += 2 * QUARTER) TYPED(unpack_pair)(buf + i, j, p, rs, h, to);
#endif
        for (; j < k; j += QUARTER)
            TYPED(unpack_square)(buf + i, TYPED(square)(j, k), p, rs, h, to);
    }
}

static void TYPED(unpack)(const REAL *buf, const fab_long *A, int64_t first, int64_t count)
{
    const int by_rows = A->cs == 1 && A->rs != 1 && A->k >= QUARTER;
    const int64_t full = by_rows ? count / LANES * LANES : 0;
    TYPED(unpack_rows)(buf, A, first, full, NULL, NULL);
    for (int64_t j = 0; j < A->k; j++)
        for (int64_t i = full; i < count; i++) *TYPED(at)(A, first + i, j) = buf[j * COLUMN + i];
}

/* unpack, and P = the turned block with row i times h[i], up to the next full step (h is padded). */
static void TYPED(unpack_scaled)(const REAL *buf, const fab_long *A, int64_t first, int64_t count,
                                 const REAL *h, REAL *P)
{
    const int by_rows = A->cs == 1 && A->rs != 1 && A->k >= QUARTER;
    const int64_t full = by_rows ? count / LANES * LANES : 0, end = TYPED(steps)(count) * LANES;
    TYPED(unpack_rows)(buf, A, first, full, h, P);
    for (int64_t j = 0; j < A->k; j++) {
        for (int64_t i = full; i < count; i++) *TYPED(at)(A, first + i, j) = buf[j * COLUMN + i];
        for (int64_t i = full; i < end; i++) P[j * COLUMN + i] = buf[j * COLUMN + i] * h[i];
    }
}

/* How often the inner loops below turn on a block: a k x m product of sums, a product by a k x m matrix. */
static int64_t TYPED(tile_turns)(int64_t k, int64_t m)
{
    return ((k + TILE - 1) / TILE) * ((m + TILE - 1) / TILE) * STRIDE;
}

/* The same of a Gram matrix. */
static int64_t TYPED(gram_turns)(int64_t k)
{
    const int64_t tiles = (k + TILE - 1) / TILE;
    return tiles * (tiles + 1) / 2 * (SUB_ROWS / LANES);
}

static int64_t TYPED(product_turns)(int64_t k, int64_t m)
{
    return k * ((m + 4) / 5) * (SUB_ROWS / LANES / DEPTH);
}

/* The memory of the next SUB_ROWS rows of A, and beside it of as wide a B that is going to be written
 * (NULL: none).  The products ask for it little by little, in `turns` turns, so that it arrives while
 * they compute. */
static fab_ahead TYPED(rows_ahead)(const fab_long *A, const fab_long *B, int64_t first,
                                   int64_t turns)
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
