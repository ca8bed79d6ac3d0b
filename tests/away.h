/* away.h - kernels in memory of their own, on any machine: what a device is to the algorithms.
 *
 *     const fab_exec x = {.ops = away_ops(FAB_F32)};
 *
 * The plain loops of ref, on memory that cannot be read or written outside a kernel: whoever touches a long array
 * without one stops with a signal.  Numbers of rows and small matrices are the host's, as on a device.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_AWAY_H
#define FAB_TESTS_AWAY_H

#include "la/ops.h"
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- memory ------------------------------------------------------------------------------------- */

enum { AWAY_BLOCKS = 256 };

static struct {
    void *p;
    size_t bytes;
} away_block[AWAY_BLOCKS];
static int away_depth;  /* kernels call kernels */
static long away_calls; /* of kernels */

static inline void away_protect(int how)
{
    for (int i = 0; i < AWAY_BLOCKS; i++)
        if (away_block[i].p && mprotect(away_block[i].p, away_block[i].bytes, how) != 0) _exit(97);
}

static inline void away_open(void)
{
    away_calls++;
    if (away_depth++ == 0) away_protect(PROT_READ | PROT_WRITE);
}

static inline void away_close(void)
{
    if (--away_depth == 0) away_protect(PROT_NONE);
}

static inline void *away_alloc(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < AWAY_BLOCKS; i++) {
        if (away_block[i].p) continue;
        bytes = (bytes / page + 1) * page;
        void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return NULL;
        away_block[i].p = p;
        away_block[i].bytes = bytes;
        return p;
    }
    return NULL;
}

static inline void away_release(void *p)
{
    for (int i = 0; i < AWAY_BLOCKS; i++) {
        if (!p || away_block[i].p != p) continue;
        munmap(p, away_block[i].bytes);
        away_block[i].p = NULL;
    }
}

/* Blocks that nobody has given back. */
static inline int away_held(void)
{
    int held = 0;
    for (int i = 0; i < AWAY_BLOCKS; i++) held += away_block[i].p != NULL;
    return held;
}

static const fab_memory away_memory = {away_alloc, away_release};

/* ---- kernels ------------------------------------------------------------------------------------ */

/* The plain table that does the work. */
static inline const fab_ops *away_plain(const fab_run *r)
{
    return r->ops->type == FAB_F64 ? &fab_ops_ref_f64 : &fab_ops_ref_f32;
}

#define AWAY(result, call) \
    do {                   \
        away_open();       \
        result(call);      \
        away_close();      \
    } while (0)

/* clang-format off */
static void away_gram(const fab_run *r, const fab_long *A, const void *w, double *G)
{ AWAY(, away_plain(r)->gram(r, A, w, G)); }
static void away_cross(const fab_run *r, const fab_long *A, const void *w, const fab_long *B, double *C)
{ AWAY(, away_plain(r)->cross(r, A, w, B, C)); }
static void away_colquad(const fab_run *r, const fab_long *A, const void *w, double *q)
{ AWAY(, away_plain(r)->colquad(r, A, w, q)); }
static void away_mult(const fab_run *r, const void *s, const fab_long *A, const double *M, double beta, const fab_long *B)
{ AWAY(, away_plain(r)->mult(r, s, A, M, beta, B)); }
static void away_rowquad(const fab_run *r, const fab_long *A, const double *M, int64_t cols, double beta, void *q)
{ AWAY(, away_plain(r)->rowquad(r, A, M, cols, beta, q)); }
static void away_rowdot(const fab_run *r, const fab_long *A, const fab_long *B, double beta, void *q)
{ AWAY(, away_plain(r)->rowdot(r, A, B, beta, q)); }
static void away_axpy(const fab_run *r, const void *s, const fab_long *A, double beta, const fab_long *B)
{ AWAY(, away_plain(r)->axpy(r, s, A, beta, B)); }
static void away_load(const fab_run *r, const fab_rows *x, const void *mu, const fab_long *X)
{ AWAY(, away_plain(r)->load(r, x, mu, X)); }
static void away_get(const fab_run *r, const fab_long *A, double *out)
{ AWAY(, away_plain(r)->get(r, A, out)); }
static void away_put(const fab_run *r, const double *in, const fab_long *A)
{ AWAY(, away_plain(r)->put(r, in, A)); }
static void away_zero(const fab_run *r, const fab_long *A)
{ AWAY(, away_plain(r)->zero(r, A)); }
static void away_randn(const fab_run *r, uint64_t seed, fab_purpose purpose, uint64_t stream, const fab_long *A)
{ AWAY(, away_plain(r)->randn(r, seed, purpose, stream, A)); }
static void away_sweep(const fab_run *r, fab_sweep *s)
{ AWAY(, away_plain(r)->sweep(r, s)); }

static void away_get_vector(const fab_run *r, int64_t n, const void *v, double *out)
{ AWAY(, fab_vectors_host.get(r, n, v, out)); }
static void away_put_vector(const fab_run *r, int64_t n, const double *in, void *v)
{ AWAY(, fab_vectors_host.put(r, n, in, v)); }
static void away_get_flags(const fab_run *r, int64_t n, const void *flags, int64_t *out)
{ AWAY(, fab_vectors_host.get_flags(r, n, flags, out)); }
static void away_put_flags(const fab_run *r, int64_t n, const int64_t *in, void *flags)
{ AWAY(, fab_vectors_host.put_flags(r, n, in, flags)); }
static void away_fetch(const fab_run *r, size_t bytes, const void *from, void *host)
{ AWAY(, fab_vectors_host.fetch(r, bytes, from, host)); }
static void away_store(const fab_run *r, size_t bytes, const void *host, void *to)
{ AWAY(, fab_vectors_host.store(r, bytes, host, to)); }
static double away_sum(const fab_run *r, int64_t n, const void *v, double over)
{ double a; AWAY(a =, fab_vectors_host.sum(r, n, v, over)); return a; }
static double away_largest(const fab_run *r, int64_t n, const void *v)
{ double a; AWAY(a =, fab_vectors_host.largest(r, n, v)); return a; }
static int64_t away_unmarked(const fab_run *r, int64_t n, const void *flags)
{ int64_t a; AWAY(a =, fab_vectors_host.unmarked(r, n, flags)); return a; }
static void away_fill(const fab_run *r, int64_t n, double a, void *v)
{ AWAY(, fab_vectors_host.fill(r, n, a, v)); }
static void away_copy(const fab_run *r, int64_t n, const void *from, void *to)
{ AWAY(, fab_vectors_host.copy(r, n, from, to)); }
static void away_map(const fab_run *r, int64_t n, fab_map how, double a, double b, const void *v, void *out)
{ AWAY(, fab_vectors_host.map(r, n, how, a, b, v, out)); }
static void away_blend(const fab_run *r, int64_t n, double a, const void *x, double b, void *y)
{ AWAY(, fab_vectors_host.blend(r, n, a, x, b, y)); }
static void away_choose(const fab_run *r, int64_t n, const void *flags, const void *v, double c, void *out)
{ AWAY(, fab_vectors_host.choose(r, n, flags, v, c, out)); }
static void away_round(const fab_run *r, const void *v, const fab_long *A)
{ AWAY(, fab_vectors_host.round(r, v, A)); }
static void away_normals(const fab_run *r, int64_t n, uint64_t seed, fab_purpose purpose, uint64_t stream, void *v)
{ AWAY(, fab_vectors_host.normals(r, n, seed, purpose, stream, v)); }
static int64_t away_floor(const fab_run *r, int64_t n, double share, const void *d2, double c, void *psi)
{ int64_t a; AWAY(a =, fab_vectors_host.floor(r, n, share, d2, c, psi)); return a; }
static double away_ascend(const fab_run *r, int64_t n, double a, const void *v, const void *inverse, const void *least,
                          double most, void *psi)
{ double b; AWAY(b =, fab_vectors_host.ascend(r, n, a, v, inverse, least, most, psi)); return b; }
static int64_t away_centre(const fab_run *r, const fab_rows *row, double g, void *mu, const fab_long *X, void *flags,
                           void *scratch)
{ int64_t a; AWAY(a =, fab_vectors_host.centre(r, row, g, mu, X, flags, scratch)); return a; }
static void away_welford(const fab_run *r, int64_t n, double t, void *x, void *mean, void *squares, const fab_long *X)
{ AWAY(, fab_vectors_host.welford(r, n, t, x, mean, squares, X)); }
static int64_t away_bring(const fab_run *r, const fab_rows *row, const fab_long *X)
{ int64_t a; AWAY(a =, fab_vectors_host.bring(r, row, X)); return a; }
static void away_draw(const fab_run *r, const fab_far_gauss *q, const fab_draw *d, void *theta)
{ AWAY(, fab_vectors_host.draw(r, q, d, theta)); }
static void away_project(const fab_run *r, const fab_far_gauss *q, const fab_draw *d, double *sums)
{ AWAY(, fab_vectors_host.project(r, q, d, sums)); }
static void away_step(const fab_run *r, fab_step *s)
{ AWAY(, fab_vectors_host.step(r, s)); }
static void away_gauss_sums(const fab_run *r, const fab_far_gauss *q, double *out)
{ AWAY(, fab_vectors_host.gauss_sums(r, q, out)); }
/* clang-format on */

static const fab_vectors away_vectors = {.size = sizeof(double),
                                         .flag = sizeof(int64_t),
                                         .get = away_get_vector,
                                         .put = away_put_vector,
                                         .get_flags = away_get_flags,
                                         .put_flags = away_put_flags,
                                         .fetch = away_fetch,
                                         .store = away_store,
                                         .sum = away_sum,
                                         .largest = away_largest,
                                         .unmarked = away_unmarked,
                                         .fill = away_fill,
                                         .copy = away_copy,
                                         .map = away_map,
                                         .blend = away_blend,
                                         .choose = away_choose,
                                         .round = away_round,
                                         .normals = away_normals,
                                         .floor = away_floor,
                                         .ascend = away_ascend,
                                         .centre = away_centre,
                                         .welford = away_welford,
                                         .bring = away_bring,
                                         .draw = away_draw,
                                         .project = away_project,
                                         .step = away_step,
                                         .gauss_sums = away_gauss_sums};

static size_t away_work(int64_t n, int64_t rows, int64_t cols, int threads)
{
    return fab_ops_ref_f64.work(n, rows, cols, threads);
}

static const fab_ops away_f64, away_f32;
static const fab_ops *const away_by_type[] = {&away_f64, &away_f32};

#define AWAY_TABLE(t, real)                                                                       \
    {                                                                                             \
        .backend = "away", .type = t, .size = sizeof(real), .by_type = away_by_type,              \
        .vectors = &away_vectors, .memory = &away_memory, .work = away_work, .gram = away_gram,   \
        .cross = away_cross, .colquad = away_colquad, .mult = away_mult, .rowquad = away_rowquad, \
        .rowdot = away_rowdot, .axpy = away_axpy, .load = away_load, .get = away_get,             \
        .put = away_put, .zero = away_zero, .randn = away_randn, .sweep = away_sweep              \
    }

static const fab_ops away_f64 = AWAY_TABLE(FAB_F64, double);
static const fab_ops away_f32 = AWAY_TABLE(FAB_F32, float);

static inline const fab_ops *away_ops(fab_dtype type)
{
    return away_by_type[type];
}

#endif
