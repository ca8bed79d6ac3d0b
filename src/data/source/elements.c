/* elements.c - rows of a fixed number of binary elements, as npy and idx hold them.
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/elements.h"
#include <math.h>
#include <string.h>

enum { PIECE = 4096 }; /* elements converted at a time: a row may be longer than any window */

/* ---- bytes to doubles ------------------------------------------------------------------------ */

static uint32_t big32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static uint64_t big64(const unsigned char *p)
{
    return (uint64_t)big32(p) << 32 | big32(p + 4);
}

static uint32_t little32(const unsigned char *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | (uint32_t)p[0];
}

static uint64_t little64(const unsigned char *p)
{
    return (uint64_t)little32(p + 4) << 32 | little32(p);
}

static double from_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static double from_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void u8(const unsigned char *p, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) out[i] = p[i];
}

static void i8(const unsigned char *p, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) out[i] = p[i] < 128 ? p[i] : p[i] - 256;
}

static void i16_big(const unsigned char *p, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        const int x = p[2 * i] << 8 | p[2 * i + 1];
        out[i] = x < 32768 ? x : x - 65536;
    }
}

static void i32_big(const unsigned char *p, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = big32(p + 4 * i);
        out[i] = x < 0x1p31 ? x : x - 0x1p32;
    }
}

static void f32_big(const unsigned char *p, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) out[i] = from_f32(big32(p + 4 * i));
}

static void f64_big(const unsigned char *p, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) out[i] = from_f64(big64(p + 8 * i));
}

static void f32(const unsigned char *p, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) out[i] = from_f32(little32(p + 4 * i));
}

static void f64(const unsigned char *p, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) out[i] = from_f64(little64(p + 8 * i));
}

const fab_element fab_element_f32 = {4, f32}, fab_element_f64 = {8, f64};
const fab_element fab_element_u8 = {1, u8}, fab_element_i8 = {1, i8};
const fab_element fab_element_i16_big = {2, i16_big}, fab_element_i32_big = {4, i32_big};
const fab_element fab_element_f32_big = {4, f32_big}, fab_element_f64_big = {8, f64_big};

/* ---- rows ------------------------------------------------------------------------------------ */

fab_status fab_elements_open(fab_source *s, const fab_element *e, int64_t rows, int64_t columns,
                             size_t before)
{
    int64_t bytes = 0;
    if (__builtin_mul_overflow(rows, columns, &bytes) ||
        __builtin_mul_overflow(bytes, (int64_t)e->size, &bytes) ||
        __builtin_add_overflow(bytes, (int64_t)before, &bytes))
        return FAB_FAIL(FAB_BAD_FILE, "%s: %lld rows of %lld elements are too many", s->in.name,
                        (long long)rows, (long long)columns);
    if (rows == 0 || columns == 0)
        return FAB_FAIL(FAB_BAD_DATA, "%s: has no %s", s->in.name, rows == 0 ? "rows" : "columns");
    if (s->in.total && !s->in.unpack && s->in.total != bytes)
        return FAB_FAIL(FAB_BAD_FILE, "%s: its header promises %lld bytes, the file has %lld",
                        s->in.name, (long long)bytes, (long long)s->in.total);
    if (s->in.unpack) FAB_TRY(fab_source_check_columns(s, columns));
    s->in.line_max = 0; /* the file itself has the bytes of a row */
    s->element = e;
    s->rows = rows;
    s->columns = columns;
    return FAB_OK;
}

static fab_status expect_end(fab_source *s)
{
    fab_span more;
    FAB_TRY(fab_stream_look(&s->in, 1, &more));
    if (more.n == 0) return FAB_OK;
    return FAB_FAIL(FAB_BAD_FILE, "%s: goes on after the %lld rows that its header promises",
                    s->in.name, (long long)s->rows);
}

/* Four sums that stay 0 as long as all is finite: no branch hangs on a value. */
static int is_finite(const double *x, int64_t n)
{
    double sum[4] = {0, 0, 0, 0};
    int64_t j = 0;
    for (; j + 4 <= n; j += 4)
        for (int k = 0; k < 4; k++) sum[k] += x[j + k] * 0;
    for (; j < n; j++) sum[0] += x[j] * 0;
    return sum[0] + sum[1] + sum[2] + sum[3] == 0;
}

fab_status fab_elements_check(fab_source *s, const double *out)
{
    const int64_t n = s->share ? s->share : s->columns;
    if (is_finite(out, n)) return FAB_OK;
    for (int64_t j = 0; j < n; j++)
        if (isnan(out[j]) ? !s->missing : isinf(out[j])) {
            const char *what = out[j] > 0 ? "Inf" : "-Inf";
            if (isnan(out[j])) what = "NaN";
            if (isnan(out[j])) s->gap = s->share_first + j + 1;
            return FAB_FAIL(isnan(out[j]) ? FAB_MISSING_VALUE : FAB_BAD_DATA,
                            "%s: row %lld, column %lld (from 0) is %s", s->in.name,
                            (long long)s->row, (long long)(s->share_first + j), what);
        }
    return FAB_OK;
}

fab_status fab_elements_next(fab_source *s, double *out, int *got)
{
    const int64_t all = s->share ? s->share : s->columns, size = (int64_t)s->element->size;
    *got = 0;
    if (s->row == s->rows) return expect_end(s);
    FAB_TRY(fab_stream_skip(&s->in, s->share_first * size));
    for (int64_t done = 0; done < all;) {
        const int64_t n = all - done < PIECE ? all - done : PIECE;
        const size_t bytes = (size_t)n * s->element->size;
        fab_span seen;
        FAB_TRY(fab_stream_look(&s->in, bytes, &seen));
        if (seen.n < bytes)
            return FAB_FAIL(FAB_BAD_FILE, "%s: is cut short: it ends in row %lld (from 0) of %lld",
                            s->in.name, (long long)s->row, (long long)s->rows);
        if (out) s->element->convert((const unsigned char *)seen.p, n, out + done);
        fab_stream_take(&s->in, bytes);
        done += n;
    }
    FAB_TRY(fab_stream_skip(&s->in, (s->columns - s->share_first - all) * size));
    *got = 1;
    return out ? fab_elements_check(s, out) : FAB_OK;
}
