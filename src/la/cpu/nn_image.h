/* nn_image.h - images in one precision: windows, which turn a convolution into a product, and pooling.
 *
 * Row (channel, u, v) of col holds, for every window, the number at (u, v) of it:
 *
 *     col[(ch side + u) side + v][y ow + x] = image[ch][y + u - pad][x + v - pad], 0 outside
 *
 * Included by nn_isa.h, once per precision, after nn_kernel.h.
 *
 * SPDX-License-Identifier: MIT */

/* Columns first .. end - 1 of the windows see inside the image at offset v. */
static void TYPED(inside)(const fab_window *w, int64_t v, int64_t *first, int64_t *end)
{
    const int64_t lo = w->pad - v, hi = w->w + w->pad - v;
    *first = lo > 0 ? lo : 0;
    *end = hi < w->ow ? hi : w->ow;
    if (*end < *first) *end = *first;
}

/* to = from, or to += from: short runs, without a call. */
INLINE void TYPED(run)(int64_t n, const REAL *from, REAL *to, const int adds)
{
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        VEC v = TYPED(load)(from + j);
        if (adds) v += TYPED(load)(to + j);
        *(ANY *)(to + j) = v;
    }
    if (j == n) return;
    VEC v = TYPED(load_part)(from + j, n - j);
    if (adds) v += TYPED(load_part)(to + j, n - j);
    TYPED(store_part)(to + j, n - j, v);
}

static void TYPED(windows)(const fab_window *w, const void *in, void *out)
{
    REAL *col = out;
    for (int64_t r = 0; r < w->c * w->side * w->side; r++) {
        const int64_t v = r % w->side, u = r / w->side % w->side, ch = r / w->side / w->side;
        const REAL *image = (const REAL *)in + ch * w->h * w->w;
        int64_t first, end;
        TYPED(inside)(w, v, &first, &end);
        for (int64_t y = 0; y < w->oh; y++, col += w->ow) {
            const int64_t row = y + u - w->pad;
            const int outside = row < 0 || row >= w->h;
            if (outside || first > 0 || end < w->ow) memset(col, 0, (size_t)w->ow * sizeof *col);
            if (outside) continue;
            TYPED(run)(end - first, image + row * w->w + first + v - w->pad, col + first, 0);
        }
    }
}

static void TYPED(back)(const fab_window *w, const void *in, void *out)
{
    const REAL *col = in;
    memset(out, 0, (size_t)(w->c * w->h * w->w) * sizeof(REAL));
    for (int64_t r = 0; r < w->c * w->side * w->side; r++) {
        const int64_t v = r % w->side, u = r / w->side % w->side, ch = r / w->side / w->side;
        REAL *image = (REAL *)out + ch * w->h * w->w;
        int64_t first, end;
        TYPED(inside)(w, v, &first, &end);
        for (int64_t y = 0; y < w->oh; y++, col += w->ow) {
            const int64_t row = y + u - w->pad;
            if (row < 0 || row >= w->h) continue;
            TYPED(run)(end - first, col + first, image + row * w->w + first + v - w->pad, 1);
        }
    }
}

/* ---- pooling ------------------------------------------------------------------------------------------- */

/* Where the largest number of the square at p is; the first of equals. */
static int64_t TYPED(largest)(const fab_window *w, const REAL *p)
{
    int64_t best = 0;
    for (int64_t u = 0; u < w->side; u++)
        for (int64_t v = 0; v < w->side; v++)
            if (p[u * w->w + v] > p[best]) best = u * w->w + v;
    return best;
}

static REAL TYPED(mean_of)(const fab_window *w, const REAL *p)
{
    REAL sum = 0;
    for (int64_t u = 0; u < w->side; u++)
        for (int64_t v = 0; v < w->side; v++) sum += p[u * w->w + v];
    return sum / (REAL)(w->side * w->side);
}

/* A row of squares of 2 x 2: the largest of each. */
static void TYPED(pool_two)(int64_t n, const REAL *a, const REAL *b, REAL *to)
{
    for (int64_t x = 0; x < n; x++) {
        const REAL top = a[2 * x] > a[2 * x + 1] ? a[2 * x] : a[2 * x + 1],
                   low = b[2 * x] > b[2 * x + 1] ? b[2 * x] : b[2 * x + 1];
        to[x] = top > low ? top : low;
    }
}

/* Its gradient, to the first place that has the largest. */
static void TYPED(unpool_two)(int64_t n, const REAL *restrict a, const REAL *restrict b,
                              const REAL *restrict d, REAL *restrict da, REAL *restrict db)
{
    for (int64_t x = 0; x < n; x++) {
        const REAL p = a[2 * x], q = a[2 * x + 1], r = b[2 * x], s = b[2 * x + 1];
        const int second = q > p, fourth = s > r;
        const REAL top = second ? q : p, low = fourth ? s : r, v = d[x];
        const int below = low > top;
        da[2 * x] = below || second ? 0 : v;
        da[2 * x + 1] = below || !second ? 0 : v;
        db[2 * x] = !below || fourth ? 0 : v;
        db[2 * x + 1] = !below || !fourth ? 0 : v;
    }
}

static void TYPED(pool)(const fab_window *w, int mean, const void *image, void *out)
{
    REAL *to = out;
    for (int64_t r = 0; r < w->c * w->oh; r++) {
        const REAL *p = (const REAL *)image + (r / w->oh * w->h + r % w->oh * w->side) * w->w;
        if (!mean && w->side == 2) {
            TYPED(pool_two)(w->ow, p, p + w->w, to);
            to += w->ow;
            continue;
        }
        for (int64_t x = 0; x < w->ow; x++, p += w->side)
            *to++ = mean ? TYPED(mean_of)(w, p) : p[TYPED(largest)(w, p)];
    }
}

static void TYPED(unpool)(const fab_window *w, int mean, const void *image, const void *dout,
                          void *din)
{
    const REAL *d = dout, share = 1 / (REAL)(w->side * w->side);
    memset(din, 0, (size_t)(w->c * w->h * w->w) * sizeof(REAL));
    for (int64_t r = 0; r < w->c * w->oh; r++) {
        const int64_t row = (r / w->oh * w->h + r % w->oh * w->side) * w->w;
        if (!mean && w->side == 2) {
            const REAL *a = (const REAL *)image + row;
            TYPED(unpool_two)(w->ow, a, a + w->w, d, (REAL *)din + row, (REAL *)din + row + w->w);
            d += w->ow;
            continue;
        }
        for (int64_t x = 0; x < w->ow; x++, d++) {
            const int64_t at = row + x * w->side;
            REAL *to = (REAL *)din + at;
            if (!mean) {
                to[TYPED(largest)(w, (const REAL *)image + at)] = *d;
                continue;
            }
            for (int64_t u = 0; u < w->side; u++)
                for (int64_t v = 0; v < w->side; v++) to[u * w->w + v] = share * *d;
        }
    }
}

#undef LANES
#undef VEC
#undef ANY
