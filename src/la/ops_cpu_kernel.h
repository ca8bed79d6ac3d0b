/* ops_cpu_kernel.h - the fast kernels, in one precision and for one instruction set.
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

#define LANES ((int)(VECTOR_BYTES / sizeof(REAL)))      /* numbers in a vector */
#define QUARTER ((int)(16 / sizeof(REAL)))              /* numbers in 128 bits: the unit of turning */
#define SUB_ROWS ((int)(1024 / sizeof(REAL)))           /* rows turned at a time */
#define STRIDE (SUB_ROWS / LANES)                       /* vectors between columns of a turned block */
#define VEC TYPED(vec)
#define INLINE static inline __attribute__((always_inline))

typedef REAL VEC __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef REAL TYPED(vec_any) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
typedef REAL TYPED(quarter) __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));

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

/* ---- products of turned blocks ------------------------------------------------------------------- */

/* Where tile (a, b) keeps its sum; of a diagonal tile only b >= a is kept. */
INLINE int TYPED(place)(const int tn, const int diagonal, const int a, const int b)
{
    return diagonal ? a * tn - a * (a - 1) / 2 + b - a : a * tn + b;
}

/* acc(a, b) += sum over rows of P_a Q_b, a tile of tm x tn (its upper triangle when diagonal).  All
 * loops but that over rows have constant lengths: the sums live in registers. */
INLINE VEC *TYPED(tile)(const int tm, const int tn, const int diagonal, int steps, const VEC *P, const VEC *Q, fab_ahead *ahead,
                      VEC *acc)
{
    fab_ahead coming = *ahead;
    VEC sum[TILE][TILE];
    for (int a = 0; a < tm; a++)
        for (int b = 0; b < tn; b++)
            if (!diagonal || b >= a) sum[a][b] = acc[TYPED(place)(tn, diagonal, a, b)];
    for (int v = 0; v < steps; v++) {
        ask(&coming);
        VEC q[TILE];
        for (int b = 0; b < tn; b++) q[b] = Q[b * STRIDE + v];
        for (int a = 0; a < tm; a++) {
            VEC p = P[a * STRIDE + v];
            if (diagonal) p = q[a];
            for (int b = 0; b < tn; b++)
                if (!diagonal || b >= a) sum[a][b] += p * q[b];
        }
    }
    for (int a = 0; a < tm; a++)
        for (int b = 0; b < tn; b++)
            if (!diagonal || b >= a) acc[TYPED(place)(tn, diagonal, a, b)] = sum[a][b];
    *ahead = coming;
    return acc + (diagonal ? tm * (tm + 1) / 2 : tm * tn);
}

#define SIZES(m, n) \
    case (m) * 8 + (n): return TYPED(tile)(m, n, 0, steps, P, Q, ahead, acc)

static VEC *TYPED(square_tile)(int64_t tm, int64_t tn, int steps, const VEC *P, const VEC *Q, fab_ahead *ahead,
                               VEC *acc)
{
    switch (tm * 8 + tn) {
        SIZES(1, 1); SIZES(1, 2); SIZES(1, 3);
        SIZES(2, 1); SIZES(2, 2); SIZES(2, 3);
        SIZES(3, 1); SIZES(3, 2); SIZES(3, 3);
#if TILE == 5
        SIZES(1, 4); SIZES(2, 4); SIZES(3, 4); SIZES(4, 4); SIZES(5, 4);
        SIZES(1, 5); SIZES(2, 5); SIZES(3, 5); SIZES(4, 5); SIZES(5, 5);
        SIZES(4, 1); SIZES(4, 2); SIZES(4, 3);
        SIZES(5, 1); SIZES(5, 2); SIZES(5, 3);
#endif
    }
    return acc;
}
#undef SIZES

static VEC *TYPED(diagonal_tile)(int64_t t, int steps, const VEC *P, fab_ahead *ahead, VEC *acc)
{
    switch (t) {
        case 1: return TYPED(tile)(1, 1, 1, steps, P, P, ahead, acc);
        case 2: return TYPED(tile)(2, 2, 1, steps, P, P, ahead, acc);
        case 3: return TYPED(tile)(3, 3, 1, steps, P, P, ahead, acc);
#if TILE == 5
        case 4: return TYPED(tile)(4, 4, 1, steps, P, P, ahead, acc);
        case 5: return TYPED(tile)(5, 5, 1, steps, P, P, ahead, acc);
#endif
    }
    return acc;
}

INLINE int64_t TYPED(side)(int64_t k, int64_t from)
{
    return k - from < TILE ? k - from : TILE;
}

/* Spread sums of P' P, tile by tile; returns the end of what it used of acc. */
static VEC *TYPED(gram_tiles)(int64_t k, int steps, const REAL *P, fab_ahead *ahead, VEC *acc)
{
    for (int64_t a = 0; a < k; a += TILE) {
        const VEC *Pa = (const VEC *)(P + a * SUB_ROWS);
        acc = TYPED(diagonal_tile)(TYPED(side)(k, a), steps, Pa, ahead, acc);
        for (int64_t b = a + TILE; b < k; b += TILE)
            acc = TYPED(square_tile)(TILE, TYPED(side)(k, b), steps, Pa, (const VEC *)(P + b * SUB_ROWS), ahead,
                                     acc);
    }
    return acc;
}

static VEC *TYPED(cross_tiles)(int64_t k, const REAL *P, int64_t m, const REAL *Q, int steps, fab_ahead *ahead,
                               VEC *acc)
{
    for (int64_t a = 0; a < k; a += TILE)
        for (int64_t b = 0; b < m; b += TILE)
            acc = TYPED(square_tile)(TYPED(side)(k, a), TYPED(side)(m, b), steps, (const VEC *)(P + a * SUB_ROWS),
                                     (const VEC *)(Q + b * SUB_ROWS), ahead, acc);
    return acc;
}

INLINE double TYPED(lanes)(const double *sum)
{
    double total = 0;
    for (int l = 0; l < LANES; l++) total += sum[l];
    return total;
}

/* Gather the lanes of gram_tiles' sums into G, both triangles. */
static const double *TYPED(gram_fold)(int64_t k, const double *sums, double *G)
{
    for (int64_t a0 = 0; a0 < k; a0 += TILE)
        for (int64_t b0 = a0; b0 < k; b0 += TILE)
            for (int64_t a = a0; a < a0 + TYPED(side)(k, a0); a++)
                for (int64_t b = a0 == b0 ? a : b0; b < b0 + TYPED(side)(k, b0); b++, sums += LANES)
                    G[a + b * k] = G[b + a * k] = TYPED(lanes)(sums);
    return sums;
}

static const double *TYPED(cross_fold)(int64_t k, int64_t m, const double *sums, double *C)
{
    for (int64_t a0 = 0; a0 < k; a0 += TILE)
        for (int64_t b0 = 0; b0 < m; b0 += TILE)
            for (int64_t a = a0; a < a0 + TYPED(side)(k, a0); a++)
                for (int64_t b = b0; b < b0 + TYPED(side)(m, b0); b++, sums += LANES)
                    C[a + b * k] = TYPED(lanes)(sums);
    return sums;
}

/* One block of rows is done: its REAL sums join the double ones. */
static void TYPED(settle)(int64_t vectors, REAL *acc, double *sums)
{
    for (int64_t e = 0; e < vectors * LANES; e++) {
        sums[e] += (double)acc[e];
        acc[e] = 0;
    }
}

/* out_j (+)= sum over k of in_k M(k, j), for tj columns j. */
INLINE void TYPED(product_tile)(const int tj, int64_t k, int steps, const VEC *in, const REAL *M, int add,
                               fab_ahead *ahead, VEC *out)
{
    fab_ahead coming = *ahead;
    for (int v = 0; v < steps; v += DEPTH) {
        VEC sum[5][DEPTH];
        for (int j = 0; j < tj; j++)
            for (int d = 0; d < DEPTH; d++) sum[j][d] = add ? out[j * STRIDE + v + d] : (VEC){0};
        for (int64_t i = 0; i < k; i++) {
            ask(&coming);
            VEC x[DEPTH];
            for (int d = 0; d < DEPTH; d++) x[d] = in[i * STRIDE + v + d];
            for (int j = 0; j < tj; j++)
                for (int d = 0; d < DEPTH; d++) sum[j][d] += x[d] * M[i + j * k];
        }
        for (int j = 0; j < tj; j++)
            for (int d = 0; d < DEPTH; d++) out[j * STRIDE + v + d] = sum[j][d];
    }
    *ahead = coming;
}

/* out (m columns) (+)= in (k columns) M (k x m). */
static void TYPED(product)(int64_t k, int64_t m, int steps, const REAL *in, const REAL *M, int add, fab_ahead *ahead,
                           REAL *out)
{
    for (int64_t j = 0; j < m; j += 5) {
        VEC *o = (VEC *)(out + j * SUB_ROWS);
        switch (m - j) {
            case 1: TYPED(product_tile)(1, k, steps, (const VEC *)in, M + j * k, add, ahead, o); break;
            case 2: TYPED(product_tile)(2, k, steps, (const VEC *)in, M + j * k, add, ahead, o); break;
            case 3: TYPED(product_tile)(3, k, steps, (const VEC *)in, M + j * k, add, ahead, o); break;
            case 4: TYPED(product_tile)(4, k, steps, (const VEC *)in, M + j * k, add, ahead, o); break;
            default: TYPED(product_tile)(5, k, steps, (const VEC *)in, M + j * k, add, ahead, o); break;
        }
    }
}

/* dot_i += sum over tj columns j of P_ij (sum over the first k columns a of P_ia Q(a, j)). */
INLINE void TYPED(quadratic_tile)(const int tj, int64_t k, int64_t ld, int steps, const VEC *P, const REAL *Q,
                                 fab_ahead *ahead, VEC *dot)
{
    fab_ahead coming = *ahead;
    for (int v = 0; v < steps; v += DEPTH) {
        VEC sum[5][DEPTH];
        for (int j = 0; j < tj; j++)
            for (int d = 0; d < DEPTH; d++) sum[j][d] = (VEC){0};
        for (int64_t a = 0; a < k; a++) {
            ask(&coming);
            VEC p[DEPTH];
            for (int d = 0; d < DEPTH; d++) p[d] = P[a * STRIDE + v + d];
            for (int j = 0; j < tj; j++)
                for (int d = 0; d < DEPTH; d++) sum[j][d] += p[d] * Q[a + j * ld];
        }
        for (int j = 0; j < tj; j++)
            for (int d = 0; d < DEPTH; d++) dot[v + d] += sum[j][d] * P[(k - tj + j) * STRIDE + v + d];
    }
    *ahead = coming;
}

/* dot_i = P_i Q P_i' for an upper triangular Q. */
static void TYPED(quadratics)(int64_t k, int steps, const REAL *P, const REAL *Q, fab_ahead *ahead, REAL *dot)
{
    const VEC *p = (const VEC *)P;
    VEC *to = (VEC *)dot;
    memset(dot, 0, (size_t)steps * sizeof *to);
    for (int64_t j = 0; j < k; j += 5) {
        const REAL *q = Q + j * k;
        switch (k - j) {
            case 1: TYPED(quadratic_tile)(1, k, k, steps, p, q, ahead, to); break;
            case 2: TYPED(quadratic_tile)(2, k, k, steps, p, q, ahead, to); break;
            case 3: TYPED(quadratic_tile)(3, k, k, steps, p, q, ahead, to); break;
            case 4: TYPED(quadratic_tile)(4, k, k, steps, p, q, ahead, to); break;
            default: TYPED(quadratic_tile)(5, j + 5, k, steps, p, q, ahead, to); break;
        }
    }
}

/* dot_i = sum over columns of P_i Q_i. */
static void TYPED(dots)(int64_t k, int steps, const REAL *P, const REAL *Q, REAL *dot)
{
    const VEC *p = (const VEC *)P, *q = (const VEC *)Q;
    for (int v = 0; v < steps; v++) {
        VEC sum = {0};
        for (int64_t j = 0; j < k; j++) sum += p[j * STRIDE + v] * q[j * STRIDE + v];
        ((VEC *)dot)[v] = sum;
    }
}

static void TYPED(scale_columns)(int64_t k, int steps, const REAL *h, REAL *P)
{
    for (int64_t j = 0; j < k; j++)
        for (int v = 0; v < steps; v++) ((VEC *)P)[j * STRIDE + v] *= ((const VEC *)h)[v];
}

/* ---- row factors --------------------------------------------------------------------------------- */

/* sqrt(w), rounded once; NULL stays NULL: all ones. */
static const REAL *TYPED(roots)(const double *w, int64_t first, int64_t count, REAL *h)
{
    if (!w) return NULL;
    for (int64_t i = 0; i < count; i++) h[i] = (REAL)sqrt(w[first + i]);
    return h;
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
#define TAKE(count) TYPED(take)(&room, (count), sizeof(REAL))
#define TAKE_DOUBLES(count) TYPED(take)(&room, (count), sizeof(double))

static int64_t TYPED(span_end)(fab_span s, int64_t i, int64_t step)
{
    return s.first + s.count - i < step ? s.first + s.count - i : step;
}

#define FOR_BLOCKS(i, m, rows, step)                                                      \
    for (int64_t i = (rows).first, m = TYPED(span_end)(rows, i, step); m > 0;             \
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
    REAL *h = TAKE(SUB_ROWS), *P = TAKE(k * SUB_ROWS), *acc = TAKE(vectors * LANES);
    double *sums = TAKE_DOUBLES(vectors * LANES);
    memset(acc, 0, (size_t)(vectors * LANES) * sizeof *acc);
    memset(sums, 0, (size_t)(vectors * LANES) * sizeof *sums);
    FOR_BLOCKS(i, m, rows, SUB_ROWS) {
        fab_ahead ahead = TYPED(rows_ahead)(job->A, NULL, i + m, TYPED(tile_turns)(k, k) / 2);
        TYPED(pack)(job->A, i, m, TYPED(roots)(job->w, i, m, h), P);
        TYPED(gram_tiles)(k, TYPED(steps)(m), P, &ahead, (VEC *)acc);
        if (TYPED(block_ends)(rows, i, m)) TYPED(settle)(vectors, acc, sums);
    }
    TYPED(gram_fold)(k, sums, G);
}

static void TYPED(cross_narrow)(const fab_job *job, fab_span rows, char *room, double *C)
{
    const int64_t k = job->A->k, m = job->B->k;
    REAL *h = TAKE(SUB_ROWS), *P = TAKE(k * SUB_ROWS), *Q = TAKE(m * SUB_ROWS), *acc = TAKE(k * m * LANES);
    double *sums = TAKE_DOUBLES(k * m * LANES);
    memset(acc, 0, (size_t)(k * m * LANES) * sizeof *acc);
    memset(sums, 0, (size_t)(k * m * LANES) * sizeof *sums);
    FOR_BLOCKS(i, count, rows, SUB_ROWS) {
        const REAL *root = TYPED(roots)(job->w, i, count, h);
        fab_ahead ahead = TYPED(rows_ahead)(job->A, NULL, i + count, TYPED(tile_turns)(k, m));
        TYPED(pack)(job->A, i, count, root, P);
        TYPED(pack)(job->B, i, count, root, Q);
        TYPED(cross_tiles)(k, P, m, Q, TYPED(steps)(count), &ahead, (VEC *)acc);
        if (TYPED(block_ends)(rows, i, count)) TYPED(settle)(k * m, acc, sums);
    }
    TYPED(cross_fold)(k, m, sums, C);
}

static void TYPED(colquad)(const fab_job *job, fab_span rows, void *scratch, double *q)
{
    char *room = scratch;
    const int64_t k = job->A->k;
    REAL *h = TAKE(SUB_ROWS), *P = TAKE(k * SUB_ROWS);
    memset(q, 0, (size_t)k * sizeof *q);
    FOR_BLOCKS(i, m, rows, SUB_ROWS) {
        fab_ahead ahead = TYPED(rows_ahead)(job->A, NULL, i + m, k * STRIDE);
        TYPED(pack)(job->A, i, m, TYPED(roots)(job->w, i, m, h), P);
        for (int64_t j = 0; j < k; j++) {
            const VEC *p = (const VEC *)(P + j * SUB_ROWS);
            VEC sum[1] = {{0}};
            TYPED(tile)(1, 1, 1, TYPED(steps)(m), p, p, &ahead, sum);
            for (int l = 0; l < LANES; l++) q[j] += (double)sum[0][l];
        }
    }
}

/* ---- row by row, narrow -------------------------------------------------------------------------- */

static void TYPED(mult_narrow)(const fab_job *job, fab_span rows, char *room)
{
    const fab_long *A = job->A, *B = job->B;
    REAL *h = TAKE(SUB_ROWS), *P = TAKE(A->k * SUB_ROWS), *Q = TAKE(B->k * SUB_ROWS);
    FOR_BLOCKS(i, m, rows, SUB_ROWS) {
        const int steps = TYPED(steps)(m);
        fab_ahead ahead = TYPED(rows_ahead)(A, B, i + m, TYPED(product_turns)(A->k, B->k));
        TYPED(pack)(A, i, m, TYPED(factors)(job->w, i, m, h), P);
        if (job->beta != 0) {
            for (int64_t r = 0; r < m; r++) h[r] = (REAL)job->beta;
            TYPED(pack)(B, i, m, h, Q);
        }
        TYPED(product)(A->k, B->k, steps, P, job->M, job->beta != 0, &ahead, Q);
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
    REAL *dot = TAKE(SUB_ROWS), *P = TAKE(k * SUB_ROWS), *Q = job->M ? TAKE(cols * SUB_ROWS) : P;
    FOR_BLOCKS(i, m, rows, SUB_ROWS) {
        const int steps = TYPED(steps)(m);
        fab_ahead ahead = TYPED(rows_ahead)(job->A, NULL, i + m, job->M ? TYPED(product_turns)(k, cols) : 0);
        TYPED(pack)(job->A, i, m, NULL, P);
        if (job->M) TYPED(product)(k, cols, steps, P, job->M, 0, &ahead, Q);
        TYPED(dots)(cols, steps, Q, Q, dot);
        TYPED(keep_dots)(job, i, m, dot);
    }
}

static void TYPED(rowdot)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)partial;
    char *room = scratch;
    const int64_t k = job->A->k;
    REAL *dot = TAKE(SUB_ROWS), *P = TAKE(k * SUB_ROWS), *Q = TAKE(k * SUB_ROWS);
    FOR_BLOCKS(i, m, rows, SUB_ROWS) {
        TYPED(pack)(job->A, i, m, NULL, P);
        TYPED(pack)(job->B, i, m, NULL, Q);
        TYPED(dots)(k, TYPED(steps)(m), P, Q, dot);
        TYPED(keep_dots)(job, i, m, dot);
    }
}

/* ---- wide: blocks of rows to BLAS ---------------------------------------------------------------- */

static void TYPED(gemm)(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k, const REAL *A,
                        int64_t lda, const REAL *B, int64_t ldb, REAL beta, REAL *C, int64_t ldc)
{
    if (m > 0 && n > 0)
        BLAS(gemm)(CblasColMajor, ta, tb, (int)m, (int)n, (int)k, 1, A, (int)(lda > 1 ? lda : 1), B,
                   (int)(ldb > 1 ? ldb : 1), beta, C, (int)(ldc > 1 ? ldc : 1));
}

/* C' (m x rows, rows contiguous) = M' (a block of A)' + beta C'. */
static void TYPED(block_times)(const fab_long *A, int64_t first, int64_t rows, const REAL *M, int64_t ldm, int64_t m,
                               REAL beta, REAL *C)
{
    if (A->k == 0) {
        if (beta == 0) memset(C, 0, (size_t)(m * rows) * sizeof *C);
        return;
    }
    const int by_rows = A->cs == 1 && A->rs >= A->k; /* a single row may have both steps 1 */
    TYPED(gemm)(CblasTrans, by_rows ? CblasNoTrans : CblasTrans, m, rows, A->k, M, ldm, TYPED(at)(A, first, 0),
                by_rows ? A->rs : A->cs, beta, C, m);
}

/* A row-major copy of a block, row i times h[i] (NULL: 1). */
static void TYPED(copy_block)(const fab_long *A, int64_t first, int64_t count, const REAL *h, REAL *to)
{
    const int64_t k = A->k;
    for (int64_t i = 0; i < count && A->cs == 1; i++) {
        const REAL *p = TYPED(at)(A, first + i, 0), s = h ? h[i] : 1;
        for (int64_t j = 0; j < k; j++) to[i * k + j] = s * p[j];
    }
    for (int64_t j = 0; j < k && A->cs != 1; j++)
        for (int64_t i = 0; i < count; i++) to[i * k + j] = (h ? h[i] : 1) * *TYPED(at)(A, first + i, j);
}

/* The block itself where it is row-major already, else a copy. */
static const REAL *TYPED(see_block)(const fab_long *A, int64_t first, int64_t count, const REAL *h, REAL *to)
{
    if (!h && A->cs == 1 && A->rs == A->k) return TYPED(at)(A, first, 0);
    TYPED(copy_block)(A, first, count, h, to);
    return to;
}

static void TYPED(write_block)(const REAL *from, const fab_long *B, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < count && B->cs == 1; i++)
        memcpy(TYPED(at)(B, first + i, 0), from + i * B->k, (size_t)B->k * sizeof *from);
    for (int64_t j = 0; j < B->k && B->cs != 1; j++)
        for (int64_t i = 0; i < count; i++) *TYPED(at)(B, first + i, j) = from[i * B->k + j];
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
#define SUMS(temporary, C) (C) /* BLAS adds to the chunk's double sums directly */
#define ADD_SUMS(count, temporary, C) ((void)(temporary))
#define BETA 1
#else
#define SUMS(temporary, C) (temporary)
#define ADD_SUMS(count, temporary, C) TYPED(settle_block)(count, temporary, C)
#define BETA 0

static void TYPED(settle_block)(int64_t count, const REAL *block, double *C)
{
    for (int64_t e = 0; e < count; e++) C[e] += (double)block[e];
}
#endif

/* G += P' P, in the lower triangle; the rest of G is not to be read.  P: rows x k. */
static void TYPED(add_gram)(int64_t k, int64_t rows, const REAL *P, REAL *temporary, double *G)
{
    BLAS(syrk)(CblasColMajor, CblasLower, CblasNoTrans, (int)k, (int)rows, 1, P, (int)k, BETA, SUMS(temporary, G), (int)k);
    ADD_SUMS(k * k, temporary, G);
}

/* C += P' Q. */
static void TYPED(add_cross)(int64_t k, const REAL *P, int64_t m, const REAL *Q, int64_t rows, REAL *temporary, double *C)
{
    TYPED(gemm)(CblasNoTrans, CblasTrans, k, m, rows, P, k, Q, m, BETA, SUMS(temporary, C), k);
    ADD_SUMS(k * m, temporary, C);
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
    FOR_BLOCKS(i, m, rows, FAB_BLOCK_ROWS) {
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
    FOR_BLOCKS(i, count, rows, FAB_BLOCK_ROWS) {
        const REAL *root = TYPED(roots)(job->w, i, count, h);
        const REAL *p = TYPED(see_block)(job->A, i, count, root, P);
        const REAL *q = TYPED(see_block)(job->B, i, count, root, Q);
        TYPED(add_cross)(k, p, m, q, count, temporary, C);
    }
}

static void TYPED(mult_wide)(const fab_job *job, fab_span rows, char *room)
{
    const fab_long *A = job->A, *B = job->B;
    REAL *h = TAKE(FAB_BLOCK_ROWS), *Q = TAKE(B->k * FAB_BLOCK_ROWS);
    FOR_BLOCKS(i, m, rows, FAB_BLOCK_ROWS) {
        TYPED(block_times)(A, i, m, job->M, A->k, B->k, 0, Q);
        if (TYPED(factors)(job->w, i, m, h)) TYPED(scale_rows)(B->k, m, h, Q);
        for (int64_t r = 0; r < m && job->beta != 0; r++)
            for (int64_t j = 0; j < B->k; j++) Q[r * B->k + j] += (REAL)job->beta * *TYPED(at)(B, i + r, j);
        TYPED(write_block)(Q, B, i, m);
    }
}

static void TYPED(rowquad_wide)(const fab_job *job, fab_span rows, char *room)
{
    const int64_t k = job->A->k, cols = job->M ? job->cols : k;
    REAL *dot = TAKE(FAB_BLOCK_ROWS), *Q = TAKE(cols * FAB_BLOCK_ROWS);
    FOR_BLOCKS(i, m, rows, FAB_BLOCK_ROWS) {
        const REAL *P = job->M ? Q : TYPED(see_block)(job->A, i, m, NULL, Q);
        if (job->M) TYPED(block_times)(job->A, i, m, job->M, k, cols, 0, Q);
        TYPED(row_dots)(cols, m, P, P, dot);
        TYPED(keep_dots)(job, i, m, dot);
    }
}

/* ---- narrow or wide ------------------------------------------------------------------------------ */

static int TYPED(narrow)(int64_t k, int64_t m)
{
    return k <= FAB_NARROW_SIDE && m <= FAB_NARROW_SIDE && (k <= FAB_NARROW || m <= FAB_NARROW);
}

static void TYPED(gram)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    if (job->A->k <= FAB_NARROW) TYPED(gram_narrow)(job, rows, scratch, partial);
    else TYPED(gram_wide)(job, rows, scratch, partial);
}

static void TYPED(cross)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    if (TYPED(narrow)(job->A->k, job->B->k)) TYPED(cross_narrow)(job, rows, scratch, partial);
    else TYPED(cross_wide)(job, rows, scratch, partial);
}

static void TYPED(mult)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)partial;
    if (TYPED(narrow)(job->A->k, job->B->k)) TYPED(mult_narrow)(job, rows, scratch);
    else TYPED(mult_wide)(job, rows, scratch);
}

static void TYPED(rowquad)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)partial;
    if (TYPED(narrow)(job->A->k, job->M ? job->cols : 0)) TYPED(rowquad_narrow)(job, rows, scratch);
    else TYPED(rowquad_wide)(job, rows, scratch);
}

/* ---- elementwise, in and out --------------------------------------------------------------------- */

/* Runs of contiguous numbers: rows of a row-major array, else the columns' pieces. */
static void TYPED(axpy)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)scratch;
    (void)partial;
    const fab_long *A = job->A, *B = job->B;
    const REAL beta = (REAL)job->beta;
    const int by_columns = A->rs == 1 && B->rs == 1;
    for (int64_t i = rows.first; i < rows.first + rows.count && !by_columns; i++) {
        const REAL s = job->w ? (REAL)job->w[i] : 1;
        for (int64_t j = 0; j < A->k; j++) {
            REAL *b = TYPED(at)(B, i, j);
            *b = s * *TYPED(at)(A, i, j) + (beta != 0 ? beta * *b : 0);
        }
    }
    for (int64_t j = 0; j < A->k && by_columns; j++) {
        const REAL *a = TYPED(at)(A, 0, j);
        REAL *b = TYPED(at)(B, 0, j);
        for (int64_t i = rows.first; i < rows.first + rows.count; i++)
            b[i] = (job->w ? (REAL)job->w[i] : 1) * a[i] + (beta != 0 ? beta * b[i] : 0);
    }
}

#define LOAD_COLUMN(type)                                                                 \
    for (int64_t i = rows.first; i < rows.first + rows.count; i++)                        \
        to[i * X->rs] = (REAL)((double)((const type *)x->p)[j * x->ld + i] - (mu ? mu[i] : 0))

static void TYPED(load)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)scratch;
    (void)partial;
    const fab_rows *x = job->rows;
    const fab_long *X = job->A;
    const double *mu = job->mu;
    for (int64_t j = 0; j < x->n; j++) {
        REAL *to = TYPED(at)(X, 0, j);
        if (x->type == FAB_F64) LOAD_COLUMN(double);
        else LOAD_COLUMN(float);
    }
}

static void TYPED(get)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)scratch;
    (void)partial;
    const fab_long *A = job->A;
    for (int64_t i = rows.first; i < rows.first + rows.count; i++)
        for (int64_t j = 0; j < A->k; j++) job->out[i * A->k + j] = (double)*TYPED(at)(A, i, j);
}

static void TYPED(put)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)scratch;
    (void)partial;
    const fab_long *A = job->A;
    for (int64_t i = rows.first; i < rows.first + rows.count; i++)
        for (int64_t j = 0; j < A->k; j++) *TYPED(at)(A, i, j) = (REAL)job->in[i * A->k + j];
}

#include "la/ops_cpu_sweep.h"
#include "la/ops_cpu_normals.h"

#undef LANES
#undef QUARTER
#undef SUB_ROWS
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
