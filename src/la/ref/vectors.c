/* vectors.c - vectors of D in the host's memory: doubles, and flags of 64 bits.
 *
 * The meaning of these kernels, and what ref and cpu run: they pass over the numbers once, beside sweeps that pass over
 * K times as many.  Where a kernel of the backend does the same on an array of one column, it is asked.
 *
 * SPDX-License-Identifier: MIT */
#include "la/ops.h"
#include <math.h>
#include <string.h>

static void get(const fab_run *r, int64_t n, const void *v, double *out)
{
    (void)r;
    memcpy(out, v, (size_t)n * sizeof *out);
}

static void put(const fab_run *r, int64_t n, const double *in, void *v)
{
    (void)r;
    memcpy(v, in, (size_t)n * sizeof *in);
}

static void get_flags(const fab_run *r, int64_t n, const void *flags, int64_t *out)
{
    (void)r;
    memcpy(out, flags, (size_t)n * sizeof *out);
}

static void put_flags(const fab_run *r, int64_t n, const int64_t *in, void *flags)
{
    (void)r;
    memcpy(flags, in, (size_t)n * sizeof *in);
}

static void fetch(const fab_run *r, size_t bytes, const void *from, void *host)
{
    (void)r;
    memcpy(host, from, bytes);
}

static void store(const fab_run *r, size_t bytes, const void *host, void *to)
{
    (void)r;
    memcpy(to, host, bytes);
}

/* ---- over all numbers ---------------------------------------------------------------------------- */

static double sum(const fab_run *r, int64_t n, const void *v, double over)
{
    const double *x = v;
    double total = 0;
    (void)r;
    for (int64_t i = 0; i < n; i++) total += x[i] / over;
    return total;
}

static double largest(const fab_run *r, int64_t n, const void *v)
{
    const double *x = v;
    double most = 0;
    (void)r;
    for (int64_t i = 0; i < n; i++) most = fmax(most, x[i]);
    return most;
}

static int64_t unmarked(const fab_run *r, int64_t n, const void *flags)
{
    const int64_t *f = flags;
    int64_t count = 0;
    (void)r;
    for (int64_t i = 0; i < n; i++) count += !f[i];
    return count;
}

/* ---- number by number ---------------------------------------------------------------------------- */

static void fill(const fab_run *r, int64_t n, double a, void *v)
{
    double *x = v;
    (void)r;
    for (int64_t i = 0; i < n; i++) x[i] = a;
}

static void copy(const fab_run *r, int64_t n, const void *from, void *to)
{
    (void)r;
    memcpy(to, from, (size_t)n * sizeof(double));
}

static void map(const fab_run *r, int64_t n, fab_map how, double a, double b, const void *v,
                void *out)
{
    const double *x = v;
    double *y = out;
    (void)r;
    switch (how) {
    case FAB_MAP_INVERSE:
        for (int64_t i = 0; i < n; i++) y[i] = 1 / x[i];
        return;
    case FAB_MAP_ROOT:
        for (int64_t i = 0; i < n; i++) y[i] = sqrt(x[i]);
        return;
    case FAB_MAP_INVERSE_ROOT:
        for (int64_t i = 0; i < n; i++) y[i] = x[i] > 0 ? 1 / sqrt(x[i]) : 0;
        return;
    case FAB_MAP_AT_LEAST:
        for (int64_t i = 0; i < n; i++) y[i] = fmax(a * x[i], b);
        return;
    }
}

/* The same kernels on doubles. */
static fab_run wide(const fab_run *r)
{
    fab_run w = *r;
    w.ops = r->ops->by_type[FAB_F64];
    return w;
}

static fab_long column(void *v, int64_t n)
{
    return fab_long_vectors(v, n, 1, n);
}

static void blend(const fab_run *r, int64_t n, double a, const void *x, double b, void *y)
{
    const fab_run w = wide(r);
    const fab_long X = column((void *)(uintptr_t)x, n), Y = column(y, n);
    w.ops->mult(&w, NULL, &X, &a, b, &Y);
}

static void choose(const fab_run *r, int64_t n, const void *flags, const void *v, double c,
                   void *out)
{
    const int64_t *f = flags;
    const double *x = v;
    double *y = out;
    (void)r;
    for (int64_t i = 0; i < n; i++) y[i] = f[i] ? x[i] : c;
}

static void round_to(const fab_run *r, const void *v, const fab_long *A)
{
    r->ops->put(r, v, A);
}

static void normals(const fab_run *r, int64_t n, uint64_t seed, fab_purpose purpose,
                    uint64_t stream, void *v)
{
    const fab_run w = wide(r);
    const fab_long V = column(v, n);
    w.ops->randn(&w, seed, purpose, stream, &V);
}

static int64_t floor_of(const fab_run *r, int64_t n, double share, const void *d2, double c,
                        void *psi)
{
    const double *d = d2;
    double *p = psi;
    int64_t count = 0;
    (void)r;
    for (int64_t i = 0; i < n; i++) {
        const double least = share * (d[i] > 0 ? d[i] : c);
        if (p[i] > least) continue;
        p[i] = least;
        count++;
    }
    return count;
}

static double ascend(const fab_run *r, int64_t n, double a, const void *v, const void *inverse,
                     const void *least, double most, void *psi)
{
    const double *x = v, *y = inverse, *lo = least;
    double *p = psi, beyond = 0;
    (void)r;
    for (int64_t i = 0; i < n; i++) {
        const double step = 0.5 * a * (x[i] * y[i] - 1), to = p[i] * exp(step);
        p[i] = fmax(to, lo[i]);
        beyond += !(to <= most);
    }
    return beyond;
}

static int64_t centre(const fab_run *r, const fab_rows *row, double g, void *mu, const fab_long *X,
                      void *flags, void *scratch)
{
    const fab_run w = wide(r);
    const int narrow = r->ops->type == FAB_F32;
    const fab_long delta = column(narrow ? scratch : X->p, X->n), mean = column(mu, X->n);
    const double *d = delta.p;
    int64_t *f = flags, same = 0;
    w.ops->load(&w, row, mu, &delta);
    w.ops->mult(&w, NULL, &delta, &g, 1, &mean);
    if (f)
        for (int64_t i = 0; i < X->n; i++) {
            f[i] = f[i] || d[i] != 0;
            same += !f[i];
        }
    if (narrow) r->ops->put(r, d, X);
    return same;
}

static void welford(const fab_run *r, int64_t n, double t, void *x, void *mean, void *squares,
                    const fab_long *X)
{
    double *v = x, *m = mean, *s = squares;
    for (int64_t i = 0; i < n; i++) {
        const double d = v[i] - m[i];
        m[i] += d / t;
        if (s) s[i] += d * (v[i] - m[i]);
        v[i] = d;
    }
    if (X->k > 0) r->ops->put(r, v, X);
}

const fab_vectors fab_vectors_host = {
    .size = sizeof(double),
    .flag = sizeof(int64_t),
    .get = get,
    .put = put,
    .get_flags = get_flags,
    .put_flags = put_flags,
    .fetch = fetch,
    .store = store,
    .sum = sum,
    .largest = largest,
    .unmarked = unmarked,
    .fill = fill,
    .copy = copy,
    .map = map,
    .blend = blend,
    .choose = choose,
    .round = round_to,
    .normals = normals,
    .floor = floor_of,
    .ascend = ascend,
    .centre = centre,
    .welford = welford,
    .bring = fab_ref_bring,
    .draw = fab_ref_draw,
    .project = fab_ref_project,
    .step = fab_ref_step,
    .gauss_sums = fab_ref_gauss_sums,
};
