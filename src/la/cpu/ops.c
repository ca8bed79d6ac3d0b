/* ops.c - the fast backend: chunks of rows, spread over threads, added in a fixed order.
 *
 * Rows are cut into at most FAB_MAX_CHUNKS chunks of whole blocks.  The cut depends on the number of
 * rows, the width and the work alone, each chunk leaves its sums in its own place, and the places are added in
 * order: the same bits for any number of threads.  The instruction set is chosen at run time.
 *
 *     work:  small matrices in the kernel's precision | sums of every chunk | scratch of every thread
 *
 * SPDX-License-Identifier: MIT */
#include "la/cpu/ops.h"
#include "base/fail.h"
#include "la/threads.h"
#include <stdatomic.h>
#include <string.h>

/* ---- instruction sets ---------------------------------------------------------------------------- */

#if defined(__x86_64__)
static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static int has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

const fab_isa *fab_isa_available(int which)
{
    if (which == 0) return &fab_isa_base;
    if (which == 1 && has_avx2()) return &fab_isa_avx2;
    if (which == 2 && has_avx512()) return &fab_isa_avx512;
    return NULL;
}
#else
const fab_isa *fab_isa_available(int which)
{
    return which == 0 ? &fab_isa_base : NULL;
}
#endif

static const fab_isa *_Atomic forced;

void fab_isa_force(const fab_isa *isa)
{
    atomic_store(&forced, isa);
}

fab_status fab_set_isa(const char *name)
{
    const char *best = NULL;
    if (!name) {
        fab_isa_force(NULL);
        return FAB_OK;
    }
    for (int which = 0; fab_isa_available(which); which++) {
        best = fab_isa_available(which)->name;
        if (strcmp(name, best) != 0) continue;
        fab_isa_force(fab_isa_available(which));
        return FAB_OK;
    }
    if (strcmp(name, "avx2") == 0 || strcmp(name, "avx512") == 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "instruction set %s: this machine runs %s at most", name,
                        best);
    return FAB_FAIL(FAB_BAD_ARGUMENT, "there is no instruction set '%s'; base, avx2 and avx512 are",
                    name);
}

const fab_isa *fab_isa_current(void)
{
    const fab_isa *isa = atomic_load_explicit(&forced, memory_order_relaxed);
    for (int which = 0; !isa || which > 0; which++) {
        const fab_isa *better = fab_isa_available(which);
        if (!better) break;
        isa = better;
    }
    return isa;
}

static const fab_kernels *kernels(const fab_run *r)
{
    return &fab_isa_current()->by_type[r->ops->type];
}

/* ---- workspace ----------------------------------------------------------------------------------- */

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Four small matrices: those a sweep reads (R, T, C, Q), and as many sums (G, E, H, N). */
static size_t small_bytes(int64_t rows, int64_t cols)
{
    return (size_t)round_up((4 * rows * cols + 64) * (int64_t)sizeof(double), 64);
}

/* Six blocks of rows as wide as any matrix, a few row factors, and the sums spread over lanes. */
size_t fab_scratch_size(int64_t rows, int64_t cols, size_t size)
{
    const int64_t widest = larger(rows, cols), narrow = smaller(widest, FAB_NARROW_SIDE);
    const int64_t blocks = (6 * widest + 8) * FAB_BLOCK_ROWS + rows * cols + 512;
    const int64_t spread = 4 * narrow * smaller(narrow, FAB_NARROW) * FAB_NARROW_LANES + 512;
    return (size_t)blocks * size + (size_t)spread * (size + sizeof(double)) +
           2 * FAB_BLOCK_ROWS * sizeof(double);
}

/* Chunks are so long that their sums take a quarter of the room of their rows (chunk_rows), or a little more by rounding. */
static size_t cpu_work(int64_t n, int64_t rows, int64_t cols, int threads)
{
    rows = larger(rows, 1);
    cols = larger(cols, 1);
    const size_t chunks = (size_t)smaller(FAB_MAX_CHUNKS, n / FAB_BLOCK_ROWS + 1);
    const size_t small = small_bytes(rows, cols);
    const size_t third = (size_t)(n / 3 + 1) * (size_t)larger(rows, cols) * sizeof(double);
    const size_t sums = small * chunks < third + small ? small * chunks : third + small;
    const size_t scratch =
        (size_t)round_up((int64_t)fab_scratch_size(rows, cols, sizeof(double)), 64);
    return 3 * small + (sums + 63) / 64 * 64 + scratch * (size_t)threads;
}

/* What a call lays into run->work. */
typedef struct cpu_call {
    const fab_run *run;
    char *room;       /* what is left of the workspace */
    int64_t n, width; /* rows; the widest array */
    int64_t work;     /* elementary operations */
    int64_t count;    /* numbers that each chunk sums */
    size_t scratch;   /* bytes of one thread's scratch */
} cpu_call;

static void *place(cpu_call *c, size_t bytes)
{
    void *p = c->room;
    if (bytes) c->room += round_up((int64_t)bytes, 64); /* a call that needs none may have none */
    return p;
}

/* A small matrix in the precision of the kernels. */
static const void *typed(cpu_call *c, const double *M, int64_t count)
{
    if (!M || c->run->ops->type == FAB_F64) return M;
    float *copy = place(c, (size_t)count * sizeof *copy);
    for (int64_t e = 0; e < count; e++) copy[e] = (float)M[e];
    return copy;
}

/* ---- chunks -------------------------------------------------------------------------------------- */

/* Rows of a chunk: enough that its sums (`count` numbers) take a quarter of the room of its rows (`width`
 * numbers each) at most, and that a chunk is worth its beginning and end. */
static int64_t chunk_rows(const cpu_call *c)
{
    const int64_t even = (c->n + FAB_MAX_CHUNKS - 1) / FAB_MAX_CHUNKS;
    const int64_t worth = 2 * FAB_SMALL_WORK / (c->work / larger(c->n, 1) + 1);
    const int64_t sums = 4 * c->count / larger(c->width, 1);
    return round_up(larger(even, larger(sums, worth)), FAB_BLOCK_ROWS);
}

static int64_t chunk_count(const cpu_call *c)
{
    const int64_t rows = chunk_rows(c);
    return (c->n + rows - 1) / rows;
}

static fab_span chunk_span(const cpu_call *c, int64_t chunk)
{
    const int64_t rows = chunk_rows(c);
    return (fab_span){chunk * rows, smaller(rows, c->n - chunk * rows)};
}

/* What every chunk of a call needs. */
typedef struct cpu_chunks {
    const cpu_call *call;
    fab_chunk_kernel *kernel;
    const fab_job *job;
    double *partial; /* chunks x call->count */
    char *scratch;   /* threads x call->scratch bytes */
} cpu_chunks;

static void run_chunk(void *ctx, int64_t chunk, int thread)
{
    const cpu_chunks *w = ctx;
    const cpu_call *c = w->call;
    w->kernel(w->job, chunk_span(c, chunk),
              c->scratch && w->scratch ? w->scratch + c->scratch * (size_t)thread : NULL,
              c->count ? w->partial + chunk * c->count : NULL);
}

/* Run the kernel on every chunk, then add the chunks' sums, in order, to `sums` (c->count numbers). */
static void run_chunks(cpu_call *c, fab_chunk_kernel *kernel, const fab_job *job, double *sums)
{
    const int64_t chunks = chunk_count(c);
    double *partial = place(c, (size_t)(chunks * c->count) * sizeof *partial);
    cpu_chunks w = {c, kernel, job, partial, place(c, 0)};
    fab_parallel(c->work < FAB_SMALL_WORK ? 1 : c->run->threads, chunks, run_chunk, &w);
    for (int64_t e = 0; e < c->count; e++) sums[e] = 0;
    for (int64_t chunk = 0; chunk < chunks; chunk++)
        for (int64_t e = 0; e < c->count; e++) sums[e] += partial[chunk * c->count + e];
}

static cpu_call begin(const fab_run *r, int64_t n, int64_t rows, int64_t cols, int64_t work,
                      int64_t count)
{
    return (cpu_call){
        .run = r,
        .room = r->work,
        .n = n,
        .width = larger(larger(rows, cols), 1),
        .work = work,
        .count = count,
        .scratch = (size_t)round_up((int64_t)fab_scratch_size(rows, cols, r->ops->size), 64)};
}

static void run(cpu_call *c, fab_chunk_kernel *kernel, const fab_job *job, double *sums)
{
    const int before = fab_blas_enter();
    run_chunks(c, kernel, job, sums);
    fab_blas_leave(before);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static void cpu_gram(const fab_run *r, const fab_long *A, const void *w, double *G)
{
    const fab_job job = {.A = A, .w = w};
    cpu_call c = begin(r, A->n, A->k, A->k, A->n * A->k * A->k, A->k * A->k);
    run(&c, kernels(r)->gram, &job, G);
}

static void cpu_cross(const fab_run *r, const fab_long *A, const void *w, const fab_long *B,
                      double *C)
{
    const fab_job job = {.A = A, .w = w, .B = B};
    cpu_call c = begin(r, A->n, A->k, B->k, A->n * (A->k * B->k + A->k + B->k), A->k * B->k);
    run(&c, kernels(r)->cross, &job, C);
}

static void cpu_colquad(const fab_run *r, const fab_long *A, const void *w, double *q)
{
    const fab_job job = {.A = A, .w = w};
    cpu_call c = begin(r, A->n, A->k, 1, 2 * A->n * A->k, A->k);
    run(&c, kernels(r)->colquad, &job, q);
}

static void cpu_mult(const fab_run *r, const void *s, const fab_long *A, const double *M,
                     double beta, const fab_long *B)
{
    cpu_call c = begin(r, B->n, A->k, B->k, B->n * (A->k * B->k + A->k + B->k), 0);
    const fab_job job = {
        .A = A, .w = s, .M = typed(&c, M, A->k * B->k), .cols = B->k, .beta = beta, .B = B};
    run(&c, kernels(r)->mult, &job, NULL);
}

static void cpu_rowquad(const fab_run *r, const fab_long *A, const double *M, int64_t cols,
                        double beta, void *q)
{
    cpu_call c = begin(r, A->n, A->k, M ? cols : 1, A->n * A->k * (M ? cols + 1 : 2), 0);
    const fab_job job = {
        .A = A, .M = typed(&c, M, A->k * cols), .cols = cols, .beta = beta, .q = q};
    run(&c, kernels(r)->rowquad, &job, NULL);
}

static void cpu_rowdot(const fab_run *r, const fab_long *A, const fab_long *B, double beta, void *q)
{
    const fab_job job = {.A = A, .B = B, .beta = beta, .q = q};
    cpu_call c = begin(r, A->n, A->k, 1, 2 * A->n * A->k, 0);
    run(&c, kernels(r)->rowdot, &job, NULL);
}

static void cpu_axpy(const fab_run *r, const void *s, const fab_long *A, double beta,
                     const fab_long *B)
{
    const fab_job job = {.A = A, .w = s, .beta = beta, .B = B};
    cpu_call c = begin(r, A->n, A->k, 1, 2 * A->n * A->k, 0);
    run(&c, kernels(r)->axpy, &job, NULL);
}

static void cpu_load(const fab_run *r, const fab_rows *x, const void *mu, const fab_long *X)
{
    const fab_job job = {.rows = x, .mu = mu, .A = X};
    cpu_call c = begin(r, X->n, 1, 1, 2 * X->n * x->n, 0);
    run(&c, kernels(r)->load, &job, NULL);
}

static void cpu_get(const fab_run *r, const fab_long *A, double *out)
{
    const fab_job job = {.A = A, .out = out};
    cpu_call c = begin(r, A->n, 1, 1, A->n * A->k, 0);
    run(&c, kernels(r)->get, &job, NULL);
}

static void cpu_put(const fab_run *r, const double *in, const fab_long *A)
{
    const fab_job job = {.A = A, .in = in};
    cpu_call c = begin(r, A->n, 1, 1, A->n * A->k, 0);
    run(&c, kernels(r)->put, &job, NULL);
}

static void cpu_zero(const fab_run *r, const fab_long *A)
{
    const size_t size = r->ops->size;
    const int64_t runs = A->rs == 1 ? A->k : A->n, length = A->rs == 1 ? A->n : A->k;
    const int64_t step = A->rs == 1 ? A->cs : A->rs;
    for (int64_t i = 0; i < runs; i++)
        memset((char *)A->p + (size_t)(i * step) * size, 0, (size_t)length * size);
}

static void cpu_randn(const fab_run *r, uint64_t seed, fab_purpose purpose, uint64_t stream,
                      const fab_long *A)
{
    const fab_job job = {
        .A = A, .seed = seed, .purpose = purpose, .stream = stream, .first_row = r->comm.first_row};
    cpu_call c = begin(r, A->n, A->k, 1, 8 * A->n * A->k, 0);
    run(&c, kernels(r)->randn, &job, NULL);
}

/* ---- the sweep ----------------------------------------------------------------------------------- */

/* Operations on one row. */
static int64_t sweep_cost(const fab_sweep *s)
{
    const int64_t K = s->K;
    int64_t products = s->u.k + s->x.k;
    products += s->R ? s->w.k : 1;
    products += s->terms * (s->w.k + s->x.k);
    products += (s->psi_out || s->ratio_out) && s->Q ? K : 2;
    if (s->G) products += K;
    if (s->E) products += K;
    if (s->H) products += s->w.k;
    if (s->N) products += s->next.k;
    return K * products;
}

/* Copy the next `count` sums to where they are wanted, if they are. */
static void scatter(const double **from, double *to, int64_t count)
{
    if (!to) return;
    memcpy(to, *from, (size_t)count * sizeof *to);
    *from += count;
}

/* M(i0 + i, j) = A(i, j) of rows x cols, in the kernels' precision; M has ld rows. */
static void put_below(const cpu_call *c, const double *A, int64_t rows, int64_t cols, void *M,
                      int64_t ld, int64_t i0)
{
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) {
            if (c->run->ops->type == FAB_F64)
                ((double *)M)[i0 + i + j * ld] = A[i + j * rows];
            else
                ((float *)M)[i0 + i + j * ld] = (float)A[i + j * rows];
        }
}

/* C, T and R, one below the other: where R is upper triangular, columns end early.  Behind them those of each further term. */
static const void *stacked(cpu_call *c, const fab_sweep *s, int64_t rows)
{
    const int64_t K = s->K;
    char *M = place(c, (size_t)((s->terms + 1) * rows * K) * c->run->ops->size);
    put_below(c, s->C, s->x.k, s->K, M, rows, 0);
    put_below(c, s->T, s->u.k, s->K, M, rows, s->x.k);
    if (s->R) put_below(c, s->R, s->w.k, s->K, M, rows, s->x.k + s->u.k);
    for (int64_t t = 0; t < s->terms; t++) {
        char *to = M + (size_t)((t + 1) * rows * K) * c->run->ops->size;
        put_below(c, s->more_C + t * s->x.k * K, s->x.k, K, to, rows, 0);
        put_below(c, s->more_R + t * s->w.k * K, s->w.k, K, to, rows, s->x.k);
    }
    return M;
}

static int is_upper(const double *R, int64_t rows, int64_t cols)
{
    if (!R) return 1;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = j + 1; i < rows; i++)
            if (R[i + j * rows] != 0) return 0;
    return 1;
}

/* v Q v' needs half of a symmetric Q: the diagonal, and what is above it twice. */
static const void *folded(cpu_call *c, const double *Q, int64_t K)
{
    if (!Q) return NULL;
    double *upper = place(c, (size_t)(K * K) * sizeof *upper);
    for (int64_t j = 0; j < K; j++)
        for (int64_t i = 0; i < K; i++) upper[i + j * K] = i < j ? 2 * Q[i + j * K] : 0;
    for (int64_t j = 0; j < K; j++) upper[j + j * K] = Q[j + j * K];
    return typed(c, upper, K * K);
}

static void cpu_sweep(const fab_run *r, fab_sweep *s)
{
    const int64_t K = s->K, widest = larger(larger(K, s->w.k), larger(s->u.k, s->x.k)),
                  rows = s->terms > 0 ? 2 * widest : widest, cols = larger(K, s->next.k);
    int64_t count = 1; /* of sums: floored */
    if (s->G) count += K * K;
    if (s->E) count += K * K;
    if (s->H) count += s->w.k * K;
    if (s->N) count += K * s->next.k;
    cpu_call c = begin(r, s->n, rows, cols, s->n * sweep_cost(s), count);
    const int64_t stack = s->x.k + s->u.k + (s->R ? s->w.k : 0);
    const fab_job job = {.sweep = s,
                         .M = stacked(&c, s, stack),
                         .cols = stack,
                         .upper = s->terms == 0 && is_upper(s->R, s->w.k, K),
                         .Q = folded(&c, s->Q, K)};
    double *sums = place(&c, (size_t)count * sizeof *sums);
    run(&c, kernels(r)->sweep, &job, sums);
    const double *from = sums;
    scatter(&from, s->G, K * K);
    scatter(&from, s->E, K * K);
    scatter(&from, s->H, s->w.k * K);
    scatter(&from, s->N, K * s->next.k);
    s->floored = (int64_t)*from;
}

static const fab_ops *const by_type[] = {&fab_ops_cpu_f64, &fab_ops_cpu_f32};

#define CPU_TABLE(t, real)                                                                      \
    {                                                                                           \
        .backend = "cpu", .type = t, .size = sizeof(real), .by_type = by_type,                  \
        .vectors = &fab_vectors_host, .work = cpu_work, .gram = cpu_gram, .cross = cpu_cross,   \
        .colquad = cpu_colquad, .mult = cpu_mult, .rowquad = cpu_rowquad, .rowdot = cpu_rowdot, \
        .axpy = cpu_axpy, .load = cpu_load, .get = cpu_get, .put = cpu_put, .zero = cpu_zero,   \
        .randn = cpu_randn, .sweep = cpu_sweep                                                  \
    }

const fab_ops fab_ops_cpu_f64 = CPU_TABLE(FAB_F64, double);
const fab_ops fab_ops_cpu_f32 = CPU_TABLE(FAB_F32, float);
