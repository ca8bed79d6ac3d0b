/* centres.h - rows against K centres: scores by products, the best of them, squared distances, sums.
 *
 * Included by nn_isa.h, once per precision, behind nn_kernel.h.  Centres are packed in panels of up to MOST vectors, coordinate by
 * coordinate, the last vector filled up with zeros, so that a tile of rows by one panel stays in registers:
 *
 *     B:  panel 0 (D x V0 vectors), panel 1 (D x V1 vectors), ..        b, s: the vectors of all panels, one after another
 *
 * A number has the same bits wherever in a tile its row stands.
 *
 * SPDX-License-Identifier: MIT */

/* Coordinates that are summed before they are added to a score: bounds its rounding, and a panel of them stays in the cache. */
#ifndef CENTRES_ONCE
#define CENTRES_ONCE
enum {
    CENTRES_MOST = VECTOR_BYTES == 64 ? 6 : 3, /* vectors in a panel */
    POINTS = VECTOR_BYTES == 64 ? 6 : 3,       /* of a tile of distances */
    POINT_ROWS = VECTOR_BYTES == 64 ? 4 : 2
};

/* Vectors of the panel that begins at vector `first` of `all`: panels are alike to one vector. */
INLINE int64_t panel_width(int64_t first, int64_t all)
{
    const int64_t left = all - first, panels = (left + CENTRES_MOST - 1) / CENTRES_MOST;
    return (left + panels - 1) / panels;
}
#endif

static int64_t TYPED(padded)(int64_t K)
{
    return (K + LANES - 1) / LANES * LANES;
}

static void TYPED(pack)(int64_t D, int64_t K, const double *mu, const double *shift, void *out)
{
    const int64_t all = TYPED(padded)(K) / LANES;
    REAL *B = out;
    for (int64_t first = 0, vecs; first < all; first += vecs) {
        vecs = panel_width(first, all);
        for (int64_t l = 0; l < vecs * LANES; l++) {
            const int64_t k = first * LANES + l;
            for (int64_t d = 0; d < D; d++) {
                double c = 0;
                if (k < K) c = mu[k * D + d] - (shift ? shift[d] : 0);
                B[d * vecs * LANES + l] = (REAL)c;
            }
        }
        B += D * vecs * LANES;
    }
}

/* s += x B for `rows` rows and `vecs` vectors of centres, over D coordinates. */
INLINE void TYPED(score_tile)(const int rows, const int vecs, int64_t D, const REAL *x, int64_t ldx,
                              const REAL *B, REAL *s, int64_t lds)
{
    VEC sum[12][CENTRES_MOST];
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 6
        for (int v = 0; v < vecs; v++) sum[r][v] = (VEC){0};
    for (int64_t d = 0; d < D; d++, B += vecs * LANES) {
        VEC c[CENTRES_MOST];
#pragma GCC unroll 6
        for (int v = 0; v < vecs; v++) c[v] = TYPED(load)(B + v * LANES);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 6
            for (int v = 0; v < vecs; v++) sum[r][v] += x[r * ldx + d] * c[v];
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 6
        for (int v = 0; v < vecs; v++)
            *(ANY *)(s + r * lds + v * LANES) = TYPED(load)(s + r * lds + v * LANES) + sum[r][v];
}

/* All rows, `rows` at a time, and what is left one by one. */
INLINE void TYPED(score_strip)(const int rows, const int vecs, int64_t m, int64_t D, const REAL *x,
                               int64_t ldx, const REAL *B, REAL *s, int64_t lds)
{
    int64_t i = 0;
    for (; i + rows <= m; i += rows)
        TYPED(score_tile)(rows, vecs, D, x + i * ldx, ldx, B, s + i * lds, lds);
    for (; i < m; i++) TYPED(score_tile)(1, vecs, D, x + i * ldx, ldx, B, s + i * lds, lds);
}

static void TYPED(scores)(int64_t m, int64_t D, int64_t K, const void *rows, int64_t ldx,
                          const void *packed, const void *bias, void *out)
{
    const int64_t lds = TYPED(padded)(K), all = lds / LANES;
    const REAL *x = rows;
    REAL *s = out;
    for (int64_t i = 0; i < m; i++) memcpy(s + i * lds, bias, (size_t)lds * sizeof *s);
    for (int64_t d = 0; d < D; d += FAB_CENTRES_SLICE) {
        const int64_t n = D - d < FAB_CENTRES_SLICE ? D - d : FAB_CENTRES_SLICE;
        for (int64_t first = 0, vecs; first < all; first += vecs) {
            vecs = panel_width(first, all);
            const REAL *B = (const REAL *)packed + first * LANES * D + d * vecs * LANES;
            REAL *to = s + first * LANES;
            switch (vecs) {
#if VECTOR_BYTES == 64
            case 1: TYPED(score_strip)(12, 1, m, n, x + d, ldx, B, to, lds); break;
            case 2: TYPED(score_strip)(12, 2, m, n, x + d, ldx, B, to, lds); break;
            case 3: TYPED(score_strip)(8, 3, m, n, x + d, ldx, B, to, lds); break;
            case 4: TYPED(score_strip)(6, 4, m, n, x + d, ldx, B, to, lds); break;
            case 5: TYPED(score_strip)(4, 5, m, n, x + d, ldx, B, to, lds); break;
            default: TYPED(score_strip)(4, 6, m, n, x + d, ldx, B, to, lds);
#else
            case 1: TYPED(score_strip)(8, 1, m, n, x + d, ldx, B, to, lds); break;
            case 2: TYPED(score_strip)(6, 2, m, n, x + d, ldx, B, to, lds); break;
            default: TYPED(score_strip)(4, 3, m, n, x + d, ldx, B, to, lds);
#endif
            }
        }
    }
}

/* Where one score of a row is above all others by more than `slack`: which; else -1. */
static void TYPED(choose)(int64_t m, int64_t K, const void *in, const double *slack, int64_t *which)
{
    typedef __typeof__(_Generic((REAL)0, float : (int32_t)0, default : (int64_t)0)) INTEGER;
    typedef INTEGER MARKS __attribute__((vector_size(VECTOR_BYTES)));
    const int64_t lds = TYPED(padded)(K);
    for (int64_t i = 0; i < m; i++) {
        const REAL *s = (const REAL *)in + i * lds;
        VEC top = TYPED(load)(s);
        for (int64_t k = LANES; k < lds; k += LANES) {
            const VEC v = TYPED(load)(s + k);
            const MARKS more = v > top;
            top = (VEC)(((MARKS)v & more) | ((MARKS)top & ~more));
        }
        REAL best = top[0];
        for (int l = 1; l < LANES; l++) best = top[l] > best ? top[l] : best;
        const VEC least = (VEC){0} + (best - (REAL)slack[i]);
        MARKS count = {0}, sum = {0}, at = {0};
        for (int l = 0; l < LANES; l++) at[l] = l;
        for (int64_t k = 0; k < lds; k += LANES, at += LANES) {
            const MARKS near = TYPED(load)(s + k) >= least;
            count -= near;
            sum += near & at;
        }
        int64_t near = 0, where = 0;
        for (int l = 0; l < LANES; l++) near += count[l], where += sum[l];
        which[i] = near == 1 ? where : -1;
    }
}

/* The lanes of doubles of a row. */
INLINE wide TYPED(doubles)(const REAL *p)
{
    typedef REAL part
        __attribute__((vector_size(PAIR_LANES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
    return __builtin_convertvector(*(const part *)p, wide);
}

#ifndef CENTRES_TOTALS
#define CENTRES_TOTALS
/* The sums of the lanes of four vectors: neighbours first, then pairs of them. */
INLINE void totals(const wide v[4], double out[4])
{
#if VECTOR_BYTES == 64
    const wide ab = __builtin_shufflevector(v[0], v[1], 0, 8, 2, 10, 4, 12, 6, 14) +
                    __builtin_shufflevector(v[0], v[1], 1, 9, 3, 11, 5, 13, 7, 15),
               cd = __builtin_shufflevector(v[2], v[3], 0, 8, 2, 10, 4, 12, 6, 14) +
                    __builtin_shufflevector(v[2], v[3], 1, 9, 3, 11, 5, 13, 7, 15),
               fours = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
                       __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15),
               all = fours + __builtin_shufflevector(fours, fours, 4, 5, 6, 7, 0, 1, 2, 3);
    memcpy(out, &all, 4 * sizeof *out);
#else
    for (int i = 0; i < 4; i++) {
        double part[PAIR_LANES];
        memcpy(part, &v[i], sizeof v[i]);
        for (int half = PAIR_LANES / 2; half > 0; half /= 2)
            for (int l = 0; l < half; l++) part[l] = part[2 * l] + part[2 * l + 1];
        out[i] = part[0];
    }
#endif
}
#endif

/* The squares of one vector of coordinates, from `from` on; masked: of those that `last` marks. */
INLINE void TYPED(distance_step)(const int rows, const int points, const int masked, int64_t D,
                                 int64_t from, wide_bits last, const REAL *x, int64_t ldx,
                                 const double *c, wide sum[POINT_ROWS][POINTS])
{
    wide at[POINT_ROWS];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) at[r] = TYPED(doubles)(x + r * ldx + from);
#pragma GCC unroll 6
    for (int j = 0; j < points; j++) {
        const wide point = some(c + j * D + from, PAIR_LANES);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            wide e = at[r] - point;
            if (masked) e = (wide)((wide_bits)e & last);
            sum[r][j] += e * e;
        }
    }
}

/* u(r, j) = sum_d (x(r, d) - c(j, d))^2, rows of u are `ldu` apart, D at least a vector.  The last vector begins so early that it
 * ends with the row, and of what it has again nothing counts. */
INLINE void TYPED(distance_tile)(const int rows, const int points, int64_t D, const REAL *x,
                                 int64_t ldx, const double *c, double *u, int64_t ldu)
{
    wide sum[POINT_ROWS][POINTS];
    wide_bits last = {0};
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 6
        for (int j = 0; j < points; j++) sum[r][j] = (wide){0};
    int64_t d = 0;
    for (; d + PAIR_LANES <= D; d += PAIR_LANES)
        TYPED(distance_step)(rows, points, 0, D, d, last, x, ldx, c, sum);
    if (d < D) {
        for (int64_t l = d + PAIR_LANES - D; l < PAIR_LANES; l++) last[l] = -1;
        TYPED(distance_step)(rows, points, 1, D, D - PAIR_LANES, last, x, ldx, c, sum);
    }
#pragma GCC unroll 6
    for (int j = 0; j < points; j++) {
        wide of_rows[4] = {{0}};
        double total[4];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) of_rows[r] = sum[r][j];
        totals(of_rows, total);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) u[r * ldu + j] = total[r];
    }
}

/* One row and one point: four sums at a time, that one addition need not wait for the other. */
static double TYPED(one_distance)(int64_t D, const REAL *x, const double *c)
{
    wide sum[4] = {{0}};
    double all[4];
    int64_t d = 0;
    for (; d + 4 * PAIR_LANES <= D; d += 4 * PAIR_LANES)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) {
            const wide e = TYPED(doubles)(x + d + v * PAIR_LANES) -
                           some(c + d + v * PAIR_LANES, PAIR_LANES);
            sum[v] += e * e;
        }
    for (; d + PAIR_LANES <= D; d += PAIR_LANES) {
        const wide e = TYPED(doubles)(x + d) - some(c + d, PAIR_LANES);
        sum[0] += e * e;
    }
    totals(sum, all);
    for (; d < D; d++) {
        const double e = (double)x[d] - c[d];
        all[3] += e * e;
    }
    return (all[0] + all[1]) + (all[2] + all[3]);
}

INLINE void TYPED(distance_strip)(const int points, int64_t m, int64_t D, const REAL *x,
                                  int64_t ldx, const double *c, double *u, int64_t ldu)
{
    int64_t i = 0;
    for (; i + POINT_ROWS <= m; i += POINT_ROWS)
        TYPED(distance_tile)(POINT_ROWS, points, D, x + i * ldx, ldx, c, u + i * ldu, ldu);
    for (; i < m; i++) TYPED(distance_tile)(1, points, D, x + i * ldx, ldx, c, u + i * ldu, ldu);
}

static void TYPED(distances)(int64_t m, int64_t n, int64_t D, const void *rows, int64_t ldx,
                             const double *c, double *u)
{
    const REAL *x = rows;
    if (m == 1 && n == 1) {
        *u = TYPED(one_distance)(D, x, c);
        return;
    }
    if (D < PAIR_LANES) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t d = 0; d < D; d++) {
                    const double e = (double)x[i * ldx + d] - c[j * D + d];
                    sum += e * e;
                }
                u[i * n + j] = sum;
            }
        return;
    }
    for (int64_t j = 0; j < n; j += POINTS) {
        switch (n - j) {
        case 1: TYPED(distance_strip)(1, m, D, x, ldx, c + j * D, u + j, n); break;
        case 2: TYPED(distance_strip)(2, m, D, x, ldx, c + j * D, u + j, n); break;
#if VECTOR_BYTES == 64
        case 3: TYPED(distance_strip)(3, m, D, x, ldx, c + j * D, u + j, n); break;
        case 4: TYPED(distance_strip)(4, m, D, x, ldx, c + j * D, u + j, n); break;
        case 5: TYPED(distance_strip)(5, m, D, x, ldx, c + j * D, u + j, n); break;
#endif
        default: TYPED(distance_strip)(POINTS, m, D, x, ldx, c + j * D, u + j, n);
        }
    }
}

/* Sums of squares in the precision of the rows, four vectors of them at a time. */
static void TYPED(row_squares)(int64_t m, int64_t D, const void *rows, int64_t ldx, double *out)
{
    for (int64_t i = 0; i < m; i++) {
        const REAL *x = (const REAL *)rows + i * ldx;
        VEC sum[4] = {{0}};
        int64_t d = 0;
        for (; d + 4 * LANES <= D; d += 4 * LANES)
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++) {
                const VEC at = TYPED(load)(x + d + v * LANES);
                sum[v] += at * at;
            }
        for (; d + LANES <= D; d += LANES) {
            const VEC at = TYPED(load)(x + d);
            sum[0] += at * at;
        }
        if (d < D) {
            const VEC at = TYPED(load_part)(x + d, D - d);
            sum[1] += at * at;
        }
        out[i] = (double)TYPED(fold)((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

static void TYPED(add_row)(int64_t D, double w, const void *row, const double *shift, double *sum)
{
    const REAL *x = row;
    int64_t d = 0;
    if (shift) {
        for (; d < D; d++) sum[d] += w * ((double)x[d] - shift[d]);
        return;
    }
    for (; d + PAIR_LANES <= D; d += PAIR_LANES)
        keep_some(sum + d, PAIR_LANES, some(sum + d, PAIR_LANES) + w * TYPED(doubles)(x + d));
    for (; d < D; d++) sum[d] += w * (double)x[d];
}
