/* pairs.h - squared differences of pairs of rows, and their exponentials.
 *
 * Included by nn_isa.h.  A tile of ROWS rows by two vectors of columns stays in registers; a number has the same bits wherever in
 * a tile it stands: what is left of a row is padded to a vector.
 *
 * SPDX-License-Identifier: MIT */

enum { PAIR_LANES = VECTOR_BYTES / 8, PAIR_ROWS = 4 };

/* count <= PAIR_LANES numbers, and zeros */
INLINE wide some(const double *p, int64_t count)
{
    wide v = {0};
    if (count == PAIR_LANES)
        memcpy(&v, p, sizeof v);
    else
        memcpy(&v, p, (size_t)count * sizeof *p);
    return v;
}

INLINE void keep_some(double *p, int64_t count, wide v)
{
    if (count == PAIR_LANES)
        memcpy(p, &v, sizeof v);
    else
        memcpy(p, &v, (size_t)count * sizeof *p);
}

/* `rows` rows by `vecs` vectors of columns; part: numbers of the last vector */
INLINE void squares_tile(const int rows, const int vecs, int64_t part, int64_t n, int64_t d,
                         const double *x, const double *z, int64_t ldz, double *u)
{
    wide sum[PAIR_ROWS][2] = {{{0}}}, at[2] = {{0}};
    for (int64_t c = 0; c < d; c++) {
        for (int v = 0; v < vecs; v++)
            at[v] = some(z + c * ldz + v * PAIR_LANES, v + 1 < vecs ? PAIR_LANES : part);
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vecs; v++) {
                const wide e = x[r * d + c] - at[v];
                sum[r][v] += e * e;
            }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++)
            keep_some(u + r * n + v * PAIR_LANES, v + 1 < vecs ? PAIR_LANES : part, sum[r][v]);
}

INLINE void squares_strip(const int rows, int64_t n, int64_t d, const double *x, const double *z,
                          int64_t ldz, double *u)
{
    int64_t j = 0;
    for (; j + 2 * PAIR_LANES <= n; j += 2 * PAIR_LANES)
        squares_tile(rows, 2, PAIR_LANES, n, d, x, z + j, ldz, u + j);
    for (; j + PAIR_LANES <= n; j += PAIR_LANES)
        squares_tile(rows, 1, PAIR_LANES, n, d, x, z + j, ldz, u + j);
    if (j < n) squares_tile(rows, 1, n - j, n, d, x, z + j, ldz, u + j);
}

static void squares(int64_t m, int64_t n, int64_t d, const double *x, const double *z, int64_t ldz,
                    double *u)
{
    int64_t i = 0;
    for (; i + PAIR_ROWS <= m; i += PAIR_ROWS)
        squares_strip(PAIR_ROWS, n, d, x + i * d, z, ldz, u + i * n);
    for (; i < m; i++) squares_strip(1, n, d, x + i * d, z, ldz, u + i * n);
}

/* The sums of one column, over `rows` rows and the vectors of them. */
INLINE wide square_strip(const int rows, int64_t n, int64_t d, const double *x, const double *z,
                         const double *H)
{
    wide sum[PAIR_ROWS] = {{0}};
    for (int64_t j = 0; j < n; j += PAIR_LANES) {
        const int64_t part = n - j < PAIR_LANES ? n - j : PAIR_LANES;
        const wide at = some(z + j, part);
        for (int r = 0; r < rows; r++) {
            const wide e = x[r * d] - at;
            sum[r] += some(H + r * n + j, part) * (e * e);
        }
    }
    wide all = sum[0];
    for (int r = 1; r < rows; r++) all += sum[r];
    return all;
}

static void square_sums(int64_t m, int64_t n, int64_t d, const double *x, const double *z,
                        int64_t ldz, const double *H, double s, double *sums)
{
    for (int64_t c = 0; c < d; c++) {
        wide sum = {0};
        int64_t i = 0;
        for (; i + PAIR_ROWS <= m; i += PAIR_ROWS)
            sum += square_strip(PAIR_ROWS, n, d, x + i * d + c, z + c * ldz, H + i * n);
        for (; i < m; i++) sum += square_strip(1, n, d, x + i * d + c, z + c * ldz, H + i * n);
        for (int l = 0; l < PAIR_LANES; l++) sums[c] += s * sum[l];
    }
}

static void decay(int64_t n, double s, const double *x, double *y)
{
    const wide least = (wide){0} - 700;
    for (int64_t i = 0; i < n; i += PAIR_LANES) {
        const int64_t part = n - i < PAIR_LANES ? n - i : PAIR_LANES;
        wide v = some(x + i, part) * s;
        const wide_bits below = (wide_bits)(v < least);
        v = (wide)(((wide_bits)v & ~below) | ((wide_bits)least & below));
        keep_some(y + i, part, exp_wide(v));
    }
}
