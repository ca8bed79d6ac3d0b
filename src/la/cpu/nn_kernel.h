/* nn_kernel.h - products, activations and the arithmetic of example gradients, in one precision.
 *
 * Included by nn_isa.h, once per precision.  A product has one of three forms, whichever lets vectors run
 * along memory:
 *
 *   rows     C(i, :) += A(i, l) B(l, :)     a tile of ROWS x 2 vectors of C stays in registers
 *   dots     C(i, j) = A(i, :) . B(j, :)    a tile of 2 x 4 sums, folded at the end
 *   turned   rows again, with tiles of a transposed B written down first
 *
 * A product with one column turns into one with one row where its columns are contiguous.
 *
 * SPDX-License-Identifier: MIT */

#define LANES ((int)(VECTOR_BYTES / sizeof(REAL)))
#define VEC   TYPED(vec)
#define ANY   TYPED(vec_any)
enum { TYPED(ROWS) = VECTOR_BYTES == 64 ? 6 : 4 };

typedef REAL VEC __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef REAL ANY __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

INLINE VEC TYPED(load)(const REAL *p)
{
    return *(const ANY *)p;
}

INLINE VEC TYPED(load_part)(const REAL *p, int64_t count)
{
#if VECTOR_BYTES == 64
    return LOAD_PART(p, count);
#else
    VEC v = {0};
    for (int64_t i = 0; i < count; i++) v[i] = p[i];
    return v;
#endif
}

INLINE void TYPED(store_part)(REAL *p, int64_t count, VEC v)
{
#if VECTOR_BYTES == 64
    STORE_PART(p, count, v);
#else
    for (int64_t i = 0; i < count; i++) p[i] = v[i];
#endif
}

INLINE REAL TYPED(fold)(VEC v)
{
#if VECTOR_BYTES == 64
    return FOLD(v);
#else
    REAL part[LANES];
    memcpy(part, &v, sizeof v);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) part[l] += part[l + half];
    return part[0];
#endif
}

/* ---- in and out --------------------------------------------------------------------------------------- */

static void TYPED(narrow)(int64_t n, const double *x, void *out)
{
    REAL *y = out;
    for (int64_t i = 0; i < n; i++) y[i] = (REAL)x[i];
}

static void TYPED(widen)(int64_t n, double scale, const void *in, double beta, double *y)
{
    const REAL *x = in;
    if (beta == 0)
        for (int64_t i = 0; i < n; i++) y[i] = scale * (double)x[i];
    else
        for (int64_t i = 0; i < n; i++) y[i] = scale * (double)x[i] + beta * y[i];
}

static void TYPED(add)(int64_t n, const void *in, void *out)
{
    const REAL *x = in;
    REAL *y = out;
    for (int64_t i = 0; i < n; i++) y[i] += x[i];
}

static void TYPED(square)(int64_t n, const void *in, void *out)
{
    const REAL *x = in;
    REAL *y = out;
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * x[i];
}

static void TYPED(column_sums)(int64_t m, int64_t n, const void *A, int more, void *out)
{
    REAL *sum = out;
    const REAL *a = A;
    if (!more) memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) sum[j] += a[i * n + j];
}

static void TYPED(row_sums)(int64_t m, int64_t n, const void *A, int more, void *out)
{
    REAL *sum = out;
    for (int64_t i = 0; i < m; i++) {
        const REAL *a = (const REAL *)A + i * n;
        VEC v = {0};
        int64_t j = 0;
        for (; j + LANES <= n; j += LANES) v += TYPED(load)(a + j);
        if (j < n) v += TYPED(load_part)(a + j, n - j);
        sum[i] = (more ? sum[i] : 0) + TYPED(fold)(v);
    }
}

static void TYPED(fill_rows)(int64_t m, int64_t n, const void *in, void *out)
{
    const REAL *x = in;
    REAL *A = out;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) A[i * n + j] = x[i];
}

static void TYPED(scale)(int64_t n, const double *s, const void *in, void *out)
{
    const REAL *x = in;
    REAL *y = out;
    for (int64_t i = 0; i < n; i++) y[i] = (REAL)s[i] * x[i];
}

static void TYPED(adam)(int64_t n, double b1, double b2, double rate, double root, double eps,
                        const void *gradient, void *first, void *second, void *theta)
{
    const REAL *g = gradient, one = (REAL)(1 - b1), two = (REAL)(1 - b2);
    const REAL r = (REAL)rate, s = (REAL)root, e = (REAL)eps;
    REAL *restrict m = first, *restrict v = second, *restrict x = theta;
    for (int64_t i = 0; i < n; i++) {
        m[i] += one * (g[i] - m[i]);
        v[i] += two * (g[i] * g[i] - v[i]);
        x[i] -= r * m[i] / (s * MATH(sqrt)(v[i]) + e);
    }
}

/* ---- products, by rows ---------------------------------------------------------------------------------- */

/* A product as its kernels see it: A(i, l) at a[i ra + l ca]. */
typedef struct TYPED(view) {
    const REAL *a, *b, *bias;
    REAL *c;
    int64_t ra, ca, ldb, ldc, k;
    int add;
} TYPED(view);

/* Rows i .. i + rows - 1, `vecs` vectors of columns from j on; part > 0: the one vector has only so many. */
INLINE void TYPED(tile)(const TYPED(view) * p, int64_t i, int64_t j, const int rows, const int vecs,
                        const int64_t part)
{
    VEC acc[TYPED(ROWS)][2], b[2] = {{0}};
    const REAL *a = p->a + i * p->ra, *from = p->b + j;
    REAL *c = p->c + i * p->ldc + j;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++) {
            VEC start = {0};
            const REAL *bias = p->bias ? p->bias + j + v * LANES : NULL,
                       *old = c + r * p->ldc + v * LANES;
            if (bias) start += part ? TYPED(load_part)(bias, part) : TYPED(load)(bias);
            if (p->add) start += part ? TYPED(load_part)(old, part) : TYPED(load)(old);
            acc[r][v] = start;
        }
    for (int64_t l = 0; l < p->k; l++, from += p->ldb) {
        for (int v = 0; v < vecs; v++)
            b[v] = part ? TYPED(load_part)(from, part) : TYPED(load)(from + v * LANES);
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vecs; v++) acc[r][v] += a[r * p->ra + l * p->ca] * b[v];
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++) {
            if (part)
                TYPED(store_part)(c + r * p->ldc, part, acc[r][v]);
            else
                *(ANY *)(c + r * p->ldc + v * LANES) = acc[r][v];
        }
}

/* Columns j .. end - 1 of `rows` rows. */
INLINE void TYPED(strip)(const TYPED(view) * p, int64_t i, const int rows, int64_t j, int64_t end)
{
    for (; j + 2 * LANES <= end; j += 2 * LANES) TYPED(tile)(p, i, j, rows, 2, 0);
    for (; j + LANES <= end; j += LANES) TYPED(tile)(p, i, j, rows, 1, 0);
    if (j < end) TYPED(tile)(p, i, j, rows, 1, end - j);
}

/* The same of fewer rows, or none. */
static void TYPED(strip_of)(const TYPED(view) * p, int64_t i, int64_t rows, int64_t j, int64_t end)
{
    switch (rows) {
    case 1: TYPED(strip)(p, i, 1, j, end); break;
    case 2: TYPED(strip)(p, i, 2, j, end); break;
    case 3: TYPED(strip)(p, i, 3, j, end); break;
    case 4: TYPED(strip)(p, i, 4, j, end); break;
#if VECTOR_BYTES == 64
    case 5: TYPED(strip)(p, i, 5, j, end); break;
#endif
    }
}

/* As many columns of B at a time as stay in the second cache while all rows pass. */
static void TYPED(by_rows)(const TYPED(view) * p, int64_t m, int64_t n)
{
    enum { KEPT = 1 << 18, WIDE = 2 * VECTOR_BYTES / sizeof(REAL) };
    const int64_t fit = KEPT / (int64_t)sizeof(REAL) / (p->k + 1) / WIDE,
                  step = (fit > 0 ? fit : 1) * WIDE;
    for (int64_t j = 0; j < n; j += step) {
        const int64_t end = n - j < step ? n : j + step;
        int64_t i = 0, left = m;
        for (; left > TYPED(ROWS) + 2 || left == TYPED(ROWS); left = m - i) {
            TYPED(strip)(p, i, TYPED(ROWS), j, end);
            i += TYPED(ROWS);
        }
        if (left >
            TYPED(
                ROWS)) { /* two strips of three or four rows cost less than a full one and one of two */
            TYPED(strip_of)(p, i, (left + 1) / 2, j, end);
            i += (left + 1) / 2;
            left /= 2;
        }
        TYPED(strip_of)(p, i, left, j, end);
    }
}

/* ---- products, by dots ---------------------------------------------------------------------------------- */

/* C(i .. i + rows - 1, j .. j + cols - 1); A(i, :) and B(j, :) are contiguous. */
INLINE void TYPED(dots)(const TYPED(view) * p, int64_t i, int64_t j, const int rows, const int cols)
{
    VEC acc[2][4] = {{{0}}};
    int64_t l = 0;
    const REAL *a = p->a + i * p->ra, *b = p->b + j * p->ldb;
    for (; l + LANES <= p->k; l += LANES)
        for (int r = 0; r < rows; r++)
            for (int s = 0; s < cols; s++)
                acc[r][s] += TYPED(load)(a + r * p->ra + l) * TYPED(load)(b + s * p->ldb + l);
    if (l < p->k)
        for (int r = 0; r < rows; r++)
            for (int s = 0; s < cols; s++)
                acc[r][s] += TYPED(load_part)(a + r * p->ra + l, p->k - l) *
                             TYPED(load_part)(b + s * p->ldb + l, p->k - l);
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < cols; s++) {
            REAL *c = p->c + (i + r) * p->ldc + j + s;
            const REAL start = (p->bias ? p->bias[j + s] : 0) + (p->add ? *c : 0);
            *c = start + TYPED(fold)(acc[r][s]);
        }
}

static void TYPED(by_dots)(const TYPED(view) * p, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i += 2) {
        const int two = i + 2 <= m;
        int64_t j = 0;
        for (; j + 4 <= n; j += 4) {
            if (two)
                TYPED(dots)(p, i, j, 2, 4);
            else
                TYPED(dots)(p, i, j, 1, 4);
        }
        for (; j < n; j++) {
            if (two)
                TYPED(dots)(p, i, j, 2, 1);
            else
                TYPED(dots)(p, i, j, 1, 1);
        }
    }
}

/* ---- products, by rows of a transposed B ------------------------------------------------------------------ */

enum { TYPED(DEPTH) = 256 }; /* rows of the transposed tile, on the stack */

/* Rows of B from `from` on, ldb apart, `cols` of them, as columns of the tile: squares of 16 bytes a side, then the rest. */
static void TYPED(turn)(const REAL *from, int64_t ldb, int64_t cols, int64_t depth, REAL *tile)
{
    enum { SIDE = 16 / sizeof(REAL) };
    typedef REAL line __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));
    const int64_t full = cols - cols % SIDE, deep = depth - depth % SIDE;
    for (int64_t s = 0; s < full; s += SIDE)
        for (int64_t t = 0; t < deep; t += SIDE) {
            line v[SIDE];
            for (int r = 0; r < SIDE; r++) v[r] = *(const line *)(from + (s + r) * ldb + t);
            TURN_SQUARE(v);
            for (int r = 0; r < SIDE; r++) *(line *)(tile + (t + r) * cols + s) = v[r];
        }
    for (int64_t s = 0; s < cols; s++)
        for (int64_t t = s < full ? deep : 0; t < depth; t++)
            tile[t * cols + s] = from[s * ldb + t];
}

/* C += A B', tile by tile of columns: the tile of B' is written down once and serves all rows. */
static void TYPED(by_turned)(const TYPED(view) * p, int64_t m, int64_t n)
{
    enum { WIDE = 2 * VECTOR_BYTES / sizeof(REAL) };
    REAL tile[TYPED(DEPTH) * WIDE] __attribute__((aligned(64)));
    for (int64_t j = 0; j < n; j += WIDE)
        for (int64_t l = 0; l < p->k; l += TYPED(DEPTH)) {
            const int64_t cols = n - j < WIDE ? n - j : WIDE,
                          depth = p->k - l < TYPED(DEPTH) ? p->k - l : TYPED(DEPTH);
            TYPED(turn)(p->b + j * p->ldb + l, p->ldb, cols, depth, tile);
            const TYPED(view)
                part = {p->a + l,       tile,   p->bias && l == 0 ? p->bias + j : NULL,
                        p->c + j,       p->ra,  1,
                        cols,           p->ldc, depth,
                        p->add || l > 0};
            TYPED(by_rows)(&part, m, cols);
        }
}

/* Writing B' down pays when many rows use it, or when the dots would be short. */
static int TYPED(turning_pays)(const fab_product *p)
{
    return p->n > 1 && (p->m >= 24 || (p->m >= 4 && p->k < 2 * LANES));
}

static void TYPED(product)(const fab_product *p)
{
    const int turned = p->ta == FAB_T;
    TYPED(view)
    v = {p->A,   p->B,   p->bias, p->C,  turned ? 1 : p->lda, turned ? p->lda : 1,
         p->ldb, p->ldc, p->k,    p->add};
    const int column = p->n == 1 && p->ldb == 1;          /* B is one contiguous column */
    if (turned && p->n == 1 && p->ldc == 1 && !p->bias) { /* C' = B' A, one contiguous row */
        v.a = p->B, v.ra = 1, v.ca = p->ldb, v.b = p->A, v.ldb = p->lda;
        TYPED(by_rows)(&v, 1, p->m);
    } else if (p->tb == FAB_T && !(p->k == 1 && p->ldb == 1)) {
        if (TYPED(turning_pays)(p))
            TYPED(by_turned)(&v, p->m, p->n);
        else
            TYPED(by_dots)(&v, p->m, p->n);
    } else if (p->tb == FAB_N && column && !turned) {
        v.ldb = 0;
        TYPED(by_dots)(&v, p->m, 1);
    } else {
        TYPED(by_rows)(&v, p->m, p->n);
    }
}

/* ---- activations ---------------------------------------------------------------------------------------- */

static void TYPED(curve)(fab_activation c, int64_t n, const void *in, void *out)
{
    const REAL *x = in;
    REAL *y = out;
    if (c == FAB_RELU)
        for (int64_t i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0;
    else if (c == FAB_TANH)
        for (int64_t i = 0; i < n; i++) y[i] = MATH(tanh)(x[i]);
    else
        for (int64_t i = 0; i < n; i++) y[i] = 1 / (1 + MATH(exp)(-x[i]));
}

/* The slope from the value: relu 1 where y > 0, tanh 1 - y^2, sigmoid y (1 - y). */
static void TYPED(slope)(fab_activation c, int64_t n, const void *value, const void *dout,
                         void *din)
{
    const REAL *y = value, *dy = dout;
    REAL *dx = din;
    if (c == FAB_RELU)
        for (int64_t i = 0; i < n; i++) dx[i] = y[i] > 0 ? dy[i] : 0;
    else if (c == FAB_TANH)
        for (int64_t i = 0; i < n; i++) dx[i] = (1 - y[i] * y[i]) * dy[i];
    else
        for (int64_t i = 0; i < n; i++) dx[i] = y[i] * (1 - y[i]) * dy[i];
}

/* ---- example gradients ---------------------------------------------------------------------------------- */

/* out = s d, q numbers, past the caches where whole vectors lie on their boundary. */
INLINE void TYPED(scaled)(int64_t q, REAL s, const REAL *d, REAL *out)
{
    int64_t j = 0;
    for (; j < q && (uintptr_t)(out + j) % VECTOR_BYTES; j++) out[j] = s * d[j];
    for (; j + LANES <= q; j += LANES) {
#if defined(__x86_64__)
        STREAM(out + j, s * TYPED(load)(d + j));
#else
        *(ANY *)(out + j) = s * TYPED(load)(d + j);
#endif
    }
    for (; j < q; j++) out[j] = s * d[j];
}

static void TYPED(outer)(int64_t m, int64_t p, int64_t q, const void *A, const void *dout,
                         void *rows, int64_t ld)
{
    for (int64_t i = 0; i < m; i++) {
        const REAL *a = (const REAL *)A + i * p, *d = (const REAL *)dout + i * q;
        REAL *row = (REAL *)rows + i * ld;
        if (q == 1)
            TYPED(scaled)(p, d[0], a, row);
        else
            for (int64_t j = 0; j < p; j++) TYPED(scaled)(q, a[j], d, row + j * q);
        TYPED(scaled)(q, 1, d, row + p * q);
    }
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

static void TYPED(gram_terms)(int64_t n, const void *A, const void *B, double *C)
{
    const REAL *a = A, *d = B;
    for (int64_t i = 0; i < n; i++) C[i] += ((double)a[i] + 1) * (double)d[i];
}

static void TYPED(spread)(int64_t m, int64_t q, int64_t ldd, int64_t k, const void *dout,
                          const double *V, void *out)
{
    REAL *X = out;
    for (int64_t i = 0; i < m; i++) {
        const REAL *d = (const REAL *)dout + i * ldd;
        for (int64_t o = 0; o < q; o++)
            for (int64_t c = 0; c < k; c++) X[(i * q + o) * k + c] = d[o] * (REAL)V[i * k + c];
    }
}

static void TYPED(gather)(int64_t m, int64_t q, int64_t ldd, int64_t k, const void *in,
                          const void *dout, double *y)
{
    const REAL *X = in;
    for (int64_t i = 0; i < m; i++) {
        const REAL *d = (const REAL *)dout + i * ldd;
        for (int64_t c = 0; c < k; c++) {
            REAL sum = 0;
            for (int64_t o = 0; o < q; o++) sum += X[(i * q + o) * k + c] * d[o];
            y[i * k + c] += (double)sum;
        }
    }
}

/* ---- the same from rows --------------------------------------------------------------------------------- */

static void TYPED(cross_rows)(int64_t n, int64_t m, int64_t p, const void *G, const void *H,
                              double *C, int64_t ldc)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            REAL dot;
            TYPED(view)
            v = {(const REAL *)G + i * p, (const REAL *)H + j * p, NULL, &dot, p, 1, p, 1, p, 0};
            TYPED(dots)(&v, 0, 0, 1, 1);
            C[i * ldc + j] += (double)dot;
        }
}

static void TYPED(combine_rows)(int64_t n, int64_t p, int64_t k, const void *in, const double *V,
                                int more, void *out)
{
    const REAL *G = in;
    REAL *y = out;
    if (!more) memset(y, 0, (size_t)(p * k) * sizeof *y);
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < p; d++)
            for (int64_t c = 0; c < k; c++) y[d * k + c] += G[i * p + d] * (REAL)V[i * k + c];
}

static void TYPED(project_rows)(int64_t n, int64_t p, int64_t k, const void *in, const void *cols,
                                double *y)
{
    const REAL *G = in, *U = cols;
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < p; d++)
            for (int64_t c = 0; c < k; c++) y[i * k + c] += (double)(G[i * p + d] * U[d * k + c]);
}
