/* la_case.h - what the tests and the bench of src/la share: arrays in both layouts and precisions, and
 * a run with a guarded workspace.
 *
 * SPDX-License-Identifier: MIT */
#ifndef LA_CASE_H
#define LA_CASE_H

#include "base/memory.h"
#include "fabayes/random.h"
#include "la/cpu/ops.h"
#include "la/small.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum { BY_ROWS, BY_COLUMNS } la_layout;

static inline double la_eps(fab_dtype type)
{
    return type == FAB_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

/* Uniform numbers on scale * (-1, 1), with an address. */
static inline void la_fill(uint64_t stream, double scale, int64_t n, double *v)
{
    fab_random_uniform(2385, FAB_PURPOSE_DATA, stream, 0, n, v);
    for (int64_t i = 0; i < n; i++) v[i] = scale * (2 * v[i] - 1);
}

/* Positive numbers on scale * (1/2, 2). */
static inline void la_fill_positive(uint64_t stream, double scale, int64_t n, double *v)
{
    fab_random_uniform(2385, FAB_PURPOSE_DATA, stream, 0, n, v);
    for (int64_t i = 0; i < n; i++) v[i] = scale * (0.5 + 1.5 * v[i]);
}

static inline double *la_doubles(int64_t n)
{
    return fab_alloc((size_t)(n > 0 ? n : 1) * sizeof(double));
}

static inline fab_run la_run(const fab_ops *ops, int threads)
{
    return (fab_run){.ops = ops, .threads = threads};
}

enum { LA_GUARD = 4096 };

/* Give r exactly the bytes it asks for, and a guard behind them. */
static inline void la_lend(fab_run *r, int64_t n, int64_t rows, int64_t cols)
{
    const size_t bytes = r->ops->work(n, rows, cols, r->threads);
    r->work = fab_alloc(bytes + LA_GUARD);
    memset(r->work, 0xa5, bytes + LA_GUARD);
}

static inline int la_guard_holds(const fab_run *r, int64_t n, int64_t rows, int64_t cols)
{
    const unsigned char *guard = (const unsigned char *)r->work +
                                 r->ops->work(n, rows, cols, r->threads);
    for (int b = 0; b < LA_GUARD; b++)
        if (guard[b] != 0xa5) return 0;
    return 1;
}

/* A view with room for n x k numbers, rows or columns two numbers further apart than they need. */
static inline fab_long la_view(fab_dtype type, la_layout layout, int64_t n, int64_t k)
{
    const size_t size = type == FAB_F64 ? sizeof(double) : sizeof(float);
    const int64_t rs = layout == BY_ROWS ? k : 1, cs = layout == BY_ROWS ? 1 : n + 2;
    if (k == 0) return (fab_long){0};
    return (fab_long){fab_alloc(size * (size_t)((n + 2) * (k + 2))), n, k, rs, cs};
}

static inline fab_long la_array(const fab_ops *ops, la_layout layout, uint64_t stream, double scale,
                                int64_t n, int64_t k)
{
    const fab_run r = la_run(ops, 1);
    fab_long A = la_view(ops->type, layout, n, k);
    double *v = la_doubles(n * k);
    la_fill(stream, scale, n * k, v);
    const fab_run ref = {.ops = ops->type == FAB_F64 ? &fab_ops_ref_f64 : &fab_ops_ref_f32,
                         .threads = r.threads};
    ref.ops->put(&ref, v, &A);
    fab_release(v);
    return A;
}

static inline double *la_values(const fab_ops *ops, const fab_long *A)
{
    const fab_ops *ref = ops->type == FAB_F64 ? &fab_ops_ref_f64 : &fab_ops_ref_f32;
    const fab_run r = la_run(ref, 1);
    double *v = la_doubles(A->n * A->k);
    ref->get(&r, A, v);
    return v;
}

static inline double la_distance(int64_t n, const double *a, const double *b)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = fabs(a[i] - b[i]);
        if (!(d <= most)) most = d; /* a NaN stays */
    }
    return most;
}

#endif
