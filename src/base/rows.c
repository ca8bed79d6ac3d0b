/* rows.c - vectors that come in, dense or sparse: the check at the door, and ways to read them.
 *
 * SPDX-License-Identifier: MIT */
#include "base/rows.h"
#include "base/fail.h"
#include "base/memory.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *fab_dtype_name(fab_dtype t)
{
    static const char *const name[] = {"f64", "f32", "i64", "bool", "enum"};
    return (int)t >= 0 && t <= FAB_ENUM ? name[t] : "unknown";
}

/* ---- elements --------------------------------------------------------------------------------- */

static double element(const fab_rows *x, int64_t at)
{
    return x->type == FAB_F32 ? (double)((const float *)x->p)[at] : ((const double *)x->p)[at];
}

int64_t fab_rows_seek(const fab_rows *x, int64_t j, int64_t i)
{
    int64_t low = x->start[j], high = x->start[j + 1];
    if (i < high - low && x->index[low + i] == i) return low + i; /* no gap so far */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (x->index[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double fab_rows_at(const fab_rows *x, int64_t j, int64_t i)
{
    if (!x->start) return element(x, j * x->ld + i * fab_rows_stride(x));
    const int64_t at = fab_rows_seek(x, j, i);
    return at < x->start[j + 1] && x->index[at] == i ? element(x, at) : 0;
}

fab_status fab_rows_present(const fab_rows *x, const double *weight, int64_t n, int64_t D,
                            fab_rows *present, void **own)
{
    const size_t size = x->type == FAB_F32 ? sizeof(float) : sizeof(double);
    const int sparse = x->start != NULL;
    int64_t stored = 0, j = 0;
    char *p;
    for (int64_t i = 0; i < x->n; i++)
        if (weight[i] != 0) stored += fab_rows_stored(x, i, D);
    const size_t starts = sparse ? (size_t)(n + 1) * sizeof(int64_t) : 0;
    const size_t values = ((size_t)stored * size + 7) / 8 * 8; /* what follows is aligned */
    const size_t places = sparse ? (size_t)stored * sizeof(int32_t) : 0;
    FAB_TRY(fab_alloc_array(own, 1, starts + values + places + 1, "rows"));
    p = *own;
    int64_t *start = *own;
    int32_t *index = (int32_t *)(void *)(p + starts + values);
    *present = (fab_rows){.p = p + starts, .type = x->type, .n = n, .ld = D};
    if (sparse) {
        present->start = start;
        present->index = index;
    }
    p += starts;
    for (int64_t i = 0, at = 0; i < x->n; i++) {
        if (weight[i] == 0) continue;
        const int64_t here = fab_rows_stored(x, i, D);
        if (sparse) {
            start[j++] = at;
            memcpy(p, (const char *)x->p + (size_t)x->start[i] * size, (size_t)here * size);
            memcpy(index + at, x->index + x->start[i], (size_t)here * sizeof *index);
        } else {
            fab_rows_copy(x, i, D, p);
        }
        p += (size_t)here * size;
        at += here;
        if (sparse) start[j] = at;
    }
    return FAB_OK;
}

fab_rows fab_rows_part(const fab_rows *x, int64_t first, int64_t n)
{
    const int64_t size = x->type == FAB_F32 ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    fab_rows part = *x;
    part.n = n;
    if (x->start)
        part.start += first;
    else if (x->p) /* no rows at all may have no address */
        part.p = (const char *)x->p + first * x->ld * size;
    return part;
}

void fab_rows_get(const fab_rows *x, int64_t j, int64_t D, double *out)
{
    if (x->start) {
        memset(out, 0, (size_t)D * sizeof *out);
        for (int64_t k = x->start[j]; k < x->start[j + 1]; k++) out[x->index[k]] = element(x, k);
        return;
    }
    const int64_t stride = fab_rows_stride(x);
    if (x->type == FAB_F32) {
        const float *from = (const float *)x->p + j * x->ld;
        for (int64_t i = 0; i < D; i++) out[i] = (double)from[i * stride];
    } else {
        const double *from = (const double *)x->p + j * x->ld;
        for (int64_t i = 0; i < D; i++) out[i] = from[i * stride];
    }
}

void fab_rows_copy(const fab_rows *x, int64_t j, int64_t D, void *out)
{
    const size_t size = x->type == FAB_F32 ? sizeof(float) : sizeof(double);
    const fab_rows row = fab_rows_part(x, j, 1);
    const size_t step = (size_t)fab_rows_stride(x) * size;
    if (!x->start && step == size) {
        memcpy(out, row.p, (size_t)D * size);
        return;
    }
    if (!x->start) {
        for (size_t i = 0; i < (size_t)D; i++)
            memcpy((char *)out + i * size, (const char *)row.p + i * step, size);
        return;
    }
    memset(out, 0, (size_t)D * size);
    for (int64_t k = row.start[0]; k < row.start[1]; k++)
        memcpy((char *)out + (size_t)x->index[k] * size, (const char *)x->p + (size_t)k * size,
               size);
}

int64_t fab_rows_stored(const fab_rows *x, int64_t j, int64_t D)
{
    return x->start ? x->start[j + 1] - x->start[j] : D;
}

double fab_rows_value(const fab_rows *x, int64_t j, int64_t k)
{
    return element(x, x->start ? x->start[j] + k : j * x->ld + k * fab_rows_stride(x));
}

int64_t fab_rows_place(const fab_rows *x, int64_t j, int64_t k)
{
    return x->start ? x->index[x->start[j] + k] : k;
}

void fab_rows_dot(const fab_rows *x, int64_t j, int64_t k, const double *V, double *out)
{
    for (int64_t c = 0; c < k; c++) out[c] = 0;
    for (int64_t at = x->start[j]; at < x->start[j + 1]; at++) {
        const double value = element(x, at), *row = V + x->index[at] * k;
        for (int64_t c = 0; c < k; c++) out[c] += value * row[c];
    }
}

void fab_rows_add(const fab_rows *x, int64_t j, int64_t k, double a, const double *u, double *V)
{
    for (int64_t at = x->start[j]; at < x->start[j + 1]; at++) {
        const double value = a * element(x, at);
        double *row = V + x->index[at] * k;
        for (int64_t c = 0; c < k; c++) row[c] += value * u[c];
    }
}

/* ---- the check -------------------------------------------------------------------------------- */

/* How many of n numbers, `stride` apart, are not finite (a count, so that the loop has no branches). */
static int64_t bad_f64(const double *v, int64_t n, int64_t stride)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) bad += !(fabs(v[i * stride]) <= 0x1.fffffffffffffp1023);
    return bad;
}

/* Contiguous ones by their bits, four to a vector: an exponent of all ones. */
static int64_t bad_f32(const float *v, int64_t n, int64_t stride)
{
    int64_t bad = 0;
    if (stride == 1) {
        uint32_t some = 0;
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, v + i, sizeof bits);
            some |= (bits & 0x7f800000u) == 0x7f800000u;
        }
        return some;
    }
    for (int64_t i = 0; i < n; i++) bad += !(fabsf(v[i * stride]) <= 0x1.fffffep127f);
    return bad;
}

/* The finite dense rows before the first that is not; x->n when all are.  A table by columns is read by columns. */
static int64_t finite_rows(const fab_rows *x, int64_t D)
{
    const int64_t stride = fab_rows_stride(x), by_columns = x->ld < stride;
    int64_t outer = x->n, inner = D, far = x->ld, near = stride, o = 0, bad = 0;
    if (by_columns) {
        outer = D, inner = x->n;
        far = stride, near = x->ld;
    }
    while (o < outer && !bad) {
        if (x->type == FAB_F32)
            bad = bad_f32((const float *)x->p + o * far, inner, near);
        else
            bad = bad_f64((const double *)x->p + o * far, inner, near);
        if (!bad) o++;
    }
    if (!bad) return x->n;
    if (!by_columns) return o;
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = 0; i < D; i++)
            if (!isfinite(fab_rows_at(x, j, i))) return j;
    return x->n;
}

/* Row j of sparse rows: where it stands, its coordinates and its values. */
static fab_status check_sparse(const char *who, const fab_rows *x, int64_t j, int64_t D)
{
    if (x->start[j] < 0 || x->start[j + 1] < x->start[j])
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: row %lld has the values %lld to %lld", who,
                        (long long)j, (long long)x->start[j], (long long)x->start[j + 1]);
    for (int64_t k = x->start[j]; k < x->start[j + 1]; k++) {
        const long long i = x->index[k];
        if (i < 0 || i >= D || (k > x->start[j] && i <= x->index[k - 1]))
            return FAB_FAIL(FAB_BAD_DATA,
                            "%s: row %lld has the coordinate %lld, expected rising ones below %lld",
                            who, (long long)j, i, (long long)D);
        if (!isfinite(element(x, k)))
            return FAB_FAIL(FAB_BAD_DATA,
                            "%s: row %lld, column %lld is %g, expected a finite number", who,
                            (long long)j, i, element(x, k));
    }
    return FAB_OK;
}

/* Rows first .. first + n - 1: are their numbers usable? */
static fab_status check_numbers(const char *who, const fab_rows *x, int64_t D, int64_t first,
                                int64_t n)
{
    if (x->start) {
        for (int64_t j = first; j < first + n; j++) FAB_TRY(check_sparse(who, x, j, D));
        return FAB_OK;
    }
    const fab_rows part = fab_rows_part(x, first, n);
    const int64_t j = first + finite_rows(&part, D);
    if (j == first + n) return FAB_OK;
    int64_t i = 0;
    while (i < D - 1 && isfinite(fab_rows_at(x, j, i))) i++;
    return FAB_FAIL(FAB_BAD_DATA, "%s: row %lld, column %lld is %g, expected a finite number", who,
                    (long long)j, (long long)i, fab_rows_at(x, j, i));
}

int fab_rows_hold(const fab_rows *x, int64_t D)
{
    const int64_t stride = fab_rows_stride(x);
    if (x->start || stride == 1) return x->ld >= D;
    return x->ld > 0 && (x->ld > (D - 1) * stride || stride > (x->n - 1) * x->ld);
}

static fab_status check_shape(const char *who, const fab_rows *x, int64_t D)
{
    if (x->type != FAB_F64 && x->type != FAB_F32)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: rows are %s, expected f64 or f32", who,
                        fab_dtype_name(x->type));
    if (x->stride < 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: rows with a stride of %lld, expected at least 0",
                        who, (long long)x->stride);
    if (x->start && x->stride > 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: sparse rows with a stride of %lld, expected none",
                        who, (long long)x->stride);
    if (!fab_rows_hold(x, D) && x->stride > 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: %lld rows %lld apart, numbers %lld apart, do not hold vectors of "
                        "length %lld",
                        who, (long long)x->n, (long long)x->ld, (long long)x->stride, (long long)D);
    if (x->n < 0 || (x->n > 0 && !x->p && !x->start) || !fab_rows_hold(x, D))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: %lld rows %lld apart do not hold vectors of length %lld", who,
                        (long long)x->n, (long long)x->ld, (long long)D);
    if (x->start && !(x->p && x->index) && x->n > 0 && x->start[x->n] > x->start[0])
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: sparse rows without values or coordinates", who);
    return FAB_OK;
}

fab_status fab_rows_check(const char *who, const fab_rows *x, int64_t D)
{
    FAB_TRY(check_shape(who, x, D));
    return check_numbers(who, x, D, 0, x->n);
}

fab_status fab_rows_check_watched(const char *who, const fab_rows *x, int64_t D, int64_t all,
                                  const fab_watch *w)
{
    double numbers = (double)all; /* of a row */
    char what[64];
    FAB_TRY(check_shape(who, x, D));
    if (x->start && all == D && x->n > 0)
        numbers = (double)(x->start[x->n] - x->start[0]) / (double)x->n;
    const double fitting = FAB_WATCH_WORK / fmax(numbers, 1);
    const int64_t rows = fitting > 1 ? (int64_t)fitting : 1; /* between two questions */
    snprintf(what, sizeof what, "%s: check", who);
    for (int64_t first = 0; first < x->n; first += rows) {
        const int64_t left = x->n - first;
        if (first > 0) FAB_TRY(fab_watch_tick(w, what, first, x->n));
        FAB_TRY(check_numbers(who, x, D, first, left < rows ? left : rows));
    }
    return FAB_OK;
}

fab_status fab_rows_check_dense(const char *who, const fab_rows *x, int64_t D)
{
    if (x->start)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: the rows are sparse, expected dense ones", who);
    return fab_rows_check(who, x, D);
}

fab_status fab_rows_check_missing(const char *who, const fab_rows *x, int64_t D)
{
    if (x->start)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: the rows are sparse, expected dense ones", who);
    FAB_TRY(check_shape(who, x, D));
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = 0; i < D; i++)
            if (isinf(fab_rows_at(x, j, i)))
                return FAB_FAIL(FAB_BAD_DATA,
                                "%s: row %lld, column %lld is %g, expected a finite number or NaN, "
                                "a missing one",
                                who, (long long)j, (long long)i, fab_rows_at(x, j, i));
    return FAB_OK;
}

int fab_rows_missing(const fab_rows *x, int64_t D)
{
    return !x->start && finite_rows(x, D) < x->n;
}
