/* tile.h - products of turned blocks, tile by tile in registers; part of ops_cpu_kernel.h.
 *
 * SPDX-License-Identifier: MIT */

/* Where tile (a, b) keeps its sum; of a diagonal tile only b >= a is kept. */
INLINE int TYPED(place)(const int tn, const int diagonal, const int a, const int b)
{
    return diagonal ? a * tn - a * (a - 1) / 2 + b - a : a * tn + b;
}

/* acc(a, b) += sum over rows of P_a Q_b, a tile of tm x tn (its upper triangle when diagonal).  All
 * loops but that over rows have constant lengths: the sums live in registers. */
INLINE VEC *TYPED(tile)(const int tm, const int tn, const int diagonal, int steps, const VEC *P,
                        const VEC *Q, fab_ahead *ahead, VEC *acc)
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
    case (m)*8 + (n): return TYPED(tile)(m, n, 0, steps, P, Q, ahead, acc)

static VEC *TYPED(square_tile)(int64_t tm, int64_t tn, int steps, const VEC *P, const VEC *Q,
                               fab_ahead *ahead, VEC *acc)
{
    switch (tm * 8 + tn) {
        SIZES(1, 1);
        SIZES(1, 2);
        SIZES(1, 3);
        SIZES(2, 1);
        SIZES(2, 2);
        SIZES(2, 3);
        SIZES(3, 1);
        SIZES(3, 2);
        SIZES(3, 3);
#if TILE == 5
        SIZES(1, 4);
        SIZES(2, 4);
        SIZES(3, 4);
        SIZES(4, 4);
        SIZES(5, 4);
        SIZES(1, 5);
        SIZES(2, 5);
        SIZES(3, 5);
        SIZES(4, 5);
        SIZES(5, 5);
        SIZES(4, 1);
        SIZES(4, 2);
        SIZES(4, 3);
        SIZES(5, 1);
        SIZES(5, 2);
        SIZES(5, 3);
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
        const VEC *Pa = (const VEC *)(P + a * COLUMN);
        acc = TYPED(diagonal_tile)(TYPED(side)(k, a), steps, Pa, ahead, acc);
        for (int64_t b = a + TILE; b < k; b += TILE)
            acc = TYPED(square_tile)(TILE, TYPED(side)(k, b), steps, Pa,
                                     (const VEC *)(P + b * COLUMN), ahead, acc);
    }
    return acc;
}

static VEC *TYPED(cross_tiles)(int64_t k, const REAL *P, int64_t m, const REAL *Q, int steps,
                               fab_ahead *ahead, VEC *acc)
{
    for (int64_t a = 0; a < k; a += TILE)
        for (int64_t b = 0; b < m; b += TILE)
            acc = TYPED(square_tile)(TYPED(side)(k, a), TYPED(side)(m, b), steps,
                                     (const VEC *)(P + a * COLUMN), (const VEC *)(Q + b * COLUMN),
                                     ahead, acc);
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

/* out = r0 start + in M, column by column of a turned block. */
typedef struct TYPED(factor) {
    const REAL *in; /* turned */
    const REAL *M;  /* ld x m */
    int64_t k, ld;  /* columns of in; rows of M */
    int64_t lead;   /* column j of M ends after lead + j + 1 of its k rows; lead >= k: none does */
    const REAL *start; /* m columns, turned, may be out; NULL: 0 */
    REAL r0;
    REAL *dot; /* the rows' |out_i|^2, or NULL */
} TYPED(factor);

/* tj columns from column j0 of the product on.  What it starts from and whether it squares are known when
 * it is compiled: the sums live in registers. */
INLINE void TYPED(product_tile)(const int tj, const int started, const int squared,
                                const TYPED(factor) * f, int64_t j0, int steps, fab_ahead *ahead,
                                REAL *to)
{
    fab_ahead coming = *ahead;
    const int64_t last = f->lead + j0 + tj, k = last < f->k ? last : f->k, ld = f->ld;
    const VEC *in = (const VEC *)f->in,
              *start = started ? (const VEC *)(f->start + j0 * COLUMN) : NULL;
    const REAL *M = f->M ? f->M + j0 * ld : NULL, r0 = f->r0;
    VEC *out = (VEC *)(to + j0 * COLUMN), *dot = (VEC *)f->dot;
    for (int v = 0; v < steps; v += DEPTH) {
        VEC sum[5][DEPTH], square[DEPTH];
        for (int j = 0; j < tj; j++)
            for (int d = 0; d < DEPTH; d++)
                if (started)
                    sum[j][d] = r0 * start[j * STRIDE + v + d];
                else
                    sum[j][d] = (VEC){0};
        for (int64_t i = 0; i < k; i++) {
            ask(&coming);
            VEC x[DEPTH];
            for (int d = 0; d < DEPTH; d++) x[d] = in[i * STRIDE + v + d];
            for (int j = 0; j < tj; j++)
                for (int d = 0; d < DEPTH; d++) sum[j][d] += x[d] * M[i + j * ld];
        }
        for (int j = 0; j < tj; j++)
            for (int d = 0; d < DEPTH; d++) out[j * STRIDE + v + d] = sum[j][d];
        if (!squared) continue;
        for (int d = 0; d < DEPTH; d++) square[d] = sum[0][d] * sum[0][d];
        for (int j = 1; j < tj; j++)
            for (int d = 0; d < DEPTH; d++) square[d] += sum[j][d] * sum[j][d];
        for (int d = 0; d < DEPTH; d++) dot[v + d] += square[d];
    }
    *ahead = coming;
}

INLINE void TYPED(product_tiles)(const int started, const int squared, const TYPED(factor) * f,
                                 int64_t m, int steps, fab_ahead *ahead, REAL *out)
{
    for (int64_t j = 0; j < m; j += 5) switch (m - j) {
        case 1: TYPED(product_tile)(1, started, squared, f, j, steps, ahead, out); break;
        case 2: TYPED(product_tile)(2, started, squared, f, j, steps, ahead, out); break;
        case 3: TYPED(product_tile)(3, started, squared, f, j, steps, ahead, out); break;
        case 4: TYPED(product_tile)(4, started, squared, f, j, steps, ahead, out); break;
        default: TYPED(product_tile)(5, started, squared, f, j, steps, ahead, out); break;
        }
}

/* out, m columns. */
static void TYPED(product)(const TYPED(factor) * f, int64_t m, int steps, fab_ahead *ahead,
                           REAL *out)
{
    if (f->dot) memset(f->dot, 0, (size_t)steps * sizeof(VEC));
    if (f->start && f->dot)
        TYPED(product_tiles)(1, 1, f, m, steps, ahead, out);
    else if (f->start)
        TYPED(product_tiles)(1, 0, f, m, steps, ahead, out);
    else if (f->dot)
        TYPED(product_tiles)(0, 1, f, m, steps, ahead, out);
    else
        TYPED(product_tiles)(0, 0, f, m, steps, ahead, out);
}

/* dot_i += sum over tj columns j of P_ij (sum over the first k columns a of P_ia Q(a, j)). */
INLINE void TYPED(quadratic_tile)(const int tj, int64_t k, int64_t ld, int steps, const VEC *P,
                                  const REAL *Q, fab_ahead *ahead, VEC *dot)
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
            for (int d = 0; d < DEPTH; d++)
                dot[v + d] += sum[j][d] * P[(k - tj + j) * STRIDE + v + d];
    }
    *ahead = coming;
}

/* dot_i = P_i Q P_i' for an upper triangular Q. */
static void TYPED(quadratics)(int64_t k, int steps, const REAL *P, const REAL *Q, fab_ahead *ahead,
                              REAL *dot)
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
