/* ops.c - the meaning of every kernel, in plain loops.
 *
 * Nothing here is fast, threaded or blocked.  All arithmetic is double; an f32 table rounds where it
 * stores.  Weights enter as square roots on both factors, so that w a b is finite and not zero
 * whenever its value is.  The loops stand once, in ops_ref_typed.h, and are compiled per precision.
 *
 * SPDX-License-Identifier: MIT */
#include "base/random_ref.h"
#include "base/rows.h"
#include "la/ops.h"
#include <math.h>
#include <string.h>

/* Eight rows of doubles, as many as a sweep holds at once. */
static size_t ref_work(int64_t n, int64_t rows, int64_t cols, int threads)
{
    (void)n;
    (void)threads;
    const int64_t widest = rows > cols ? rows : cols;
    return (size_t)(widest > 0 ? widest : 1) * 8 * sizeof(double);
}

/* Number i of a vector. */
static double number(const void *v, int64_t i)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): psi is given where c0 is not 0 */
    return ((const double *)v)[i];
}

static double root(const void *w, int64_t i)
{
    return w ? sqrt(number(w, i)) : 1;
}

static double factor(const void *s, int64_t i)
{
    return s ? number(s, i) : 1;
}

static double norm2(int64_t n, const double *v)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += v[j] * v[j];
    return sum;
}

/* y += v M;  M is rows x cols, column-major. */
static void add_row_times(double *y, double scale, const double *v, const double *M, int64_t rows,
                          int64_t cols)
{
    for (int64_t j = 0; j < cols; j++)
        for (int64_t k = 0; k < rows; k++) y[j] += scale * v[k] * M[k + j * rows];
}

/* v Q v';  Q NULL: the identity. */
static double quadratic(int64_t n, const double *v, const double *Q)
{
    if (!Q) return norm2(n, v);
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) sum += v[i] * Q[i + j * n] * v[j];
    return sum;
}

/* C += (scale a)' (scale b). */
static void add_outer(double *C, double scale, int64_t rows, const double *a, int64_t cols,
                      const double *b)
{
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) C[i + j * rows] += scale * a[i] * (scale * b[j]);
}

static const fab_ops *const by_type[] = {&fab_ops_ref_f64, &fab_ops_ref_f32};

static void clear(double *A, int64_t count)
{
    if (A) memset(A, 0, (size_t)count * sizeof *A);
}

/* base_i = c0 psi_i + c1 |w_i|^2 + c2 |x_i|^2 + c3 d2_i */
static double sweep_base(const fab_sweep *s, int64_t i, const double *w, const double *x)
{
    double base = 0;
    if (s->c0 != 0) base += s->c0 * number(s->psi, i);
    if (s->c1 != 0) base += s->c1 * norm2(s->w.k, w);
    if (s->c2 != 0) base += s->c2 * norm2(s->x.k, x);
    if (s->c3 != 0) base += s->c3 * number(s->d2, i);
    return base;
}

/* Row i's psi', kept where it is wanted. */
static double sweep_psi(fab_sweep *s, int64_t i, const double *w, const double *x,
                        const double *out)
{
    const int made = s->psi_out || s->ratio_out;
    if (!made && !s->base_out) return s->psi ? number(s->psi, i) : 1;
    const double given = s->psi && !made ? number(s->psi, i) : 1;
    const double base = sweep_base(s, i, w, x);
    if (s->base_out) ((double *)s->base_out)[i] = base;
    if (!made) return given;
    const double left = base - quadratic(s->K, out, s->Q), least = s->floor * base;
    if (left < least) s->floored++;
    const double psi = left < least ? least : left;
    if (s->psi_out) ((double *)s->psi_out)[i] = psi;
    return psi;
}

#define REAL         double
#define TYPED(name)  name##_f64
#define TYPE         FAB_F64
#define NORMAL_BLOCK 2
#define normal_block fab_normal_pair_f64
#include "la/ref/ops_typed.h"
#undef REAL
#undef TYPED
#undef TYPE
#undef NORMAL_BLOCK
#undef normal_block

#define REAL         float
#define TYPED(name)  name##_f32
#define TYPE         FAB_F32
#define NORMAL_BLOCK 4
#define normal_block fab_normal_quad_f32
#include "la/ref/ops_typed.h"
