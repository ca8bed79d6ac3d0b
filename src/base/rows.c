/* rows.c - element types, and the check at the door for vectors that come in.
 *
 * SPDX-License-Identifier: MIT */
#include "base/rows.h"
#include "base/fail.h"
#include <math.h>

const char *fab_dtype_name(fab_dtype t)
{
    static const char *const name[] = {"f64", "f32", "i64", "bool", "enum"};
    return (int)t >= 0 && t <= FAB_ENUM ? name[t] : "unknown";
}

double fab_rows_at(const fab_rows *x, int64_t j, int64_t i)
{
    const int64_t at = j * x->ld + i;
    return x->type == FAB_F32 ? (double)((const float *)x->p)[at] : ((const double *)x->p)[at];
}

fab_rows fab_rows_part(const fab_rows *x, int64_t first, int64_t n)
{
    const int64_t size = x->type == FAB_F32 ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    return (fab_rows){(const char *)x->p + first * x->ld * size, x->type, n, x->ld};
}

/* How many of n numbers are not finite (a count, so that the loop has no branches). */
static int64_t bad_f64(const double *v, int64_t n)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) bad += !(fabs(v[i]) <= 0x1.fffffffffffffp1023);
    return bad;
}

static int64_t bad_f32(const float *v, int64_t n)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) bad += !(fabsf(v[i]) <= 0x1.fffffep127f);
    return bad;
}

static fab_status name_bad(const char *who, const fab_rows *x, int64_t j, int64_t D)
{
    int64_t i = 0;
    while (i < D - 1 && isfinite(fab_rows_at(x, j, i))) i++;
    return FAB_FAIL(FAB_BAD_DATA, "%s: row %lld, column %lld is %g, expected a finite number", who,
                    (long long)j, (long long)i, fab_rows_at(x, j, i));
}

fab_status fab_rows_check(const char *who, const fab_rows *x, int64_t D)
{
    if (x->type != FAB_F64 && x->type != FAB_F32)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: rows are %s, expected f64 or f32", who,
                        fab_dtype_name(x->type));
    if (x->n < 0 || x->ld < D || (x->n > 0 && !x->p))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: %lld rows %lld apart do not hold vectors of length %lld", who,
                        (long long)x->n, (long long)x->ld, (long long)D);
    for (int64_t j = 0; j < x->n; j++) {
        const int64_t bad = x->type == FAB_F32 ? bad_f32((const float *)x->p + j * x->ld, D)
                                               : bad_f64((const double *)x->p + j * x->ld, D);
        if (bad) return name_bad(who, x, j, D);
    }
    return FAB_OK;
}
