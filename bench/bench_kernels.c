/* bench_kernels.c - how near the kernels come to what the machine can do.
 *
 *     bench_kernels [--quick] [--threads N] [folder of the peers]
 *
 * The ceilings are measured in the same run: STREAM's triad and BLAS's gemm, on as many threads.  Each
 * kernel is first compared with ops_ref; wrong code is not timed.  Bytes are those the operation has
 * to move, each array once; flops are 2 D K^2 for each product of a D x K by a K x K matrix or of two
 * D x K ones, as gemm would do them (triangular, symmetric or not).  Narrow kernels are held against the triad, wide ones against gemm.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "la_case.h"
#include "fabayes/exec.h"
#include "la/threads.h"
#include <cblas.h>
#include <stdio.h>

enum { MOST_REPEATS = 1000 };

static int threads = 2;
static double least_seconds =
    1.5; /* of repeating: the best of many on a machine that others use too */
static int64_t rows_long = 1000000, rows_wide = 1000000;
static int missed;
static const char *peer_folder = "bench/peers";

/* ---- timing -------------------------------------------------------------------------------------- */

typedef struct timing {
    double best, median;
} timing;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct task {
    void (*work)(void *);
    void *with;
} task;

static timing summary(int count, double *seconds)
{
    qsort(seconds, (size_t)count, sizeof *seconds, by_value);
    return (timing){seconds[0], seconds[count / 2]};
}

static double once(task t)
{
    const double start = fab_clock();
    t.work(t.with);
    return fab_clock() - start;
}

/* A task and its ceiling, in turn: a machine that others use too disturbs both alike. */
static void measure(task a, timing *of_a, task b, timing *of_b)
{
    static double first[MOST_REPEATS], second[MOST_REPEATS];
    int count = 0;
    once(a), once(b);
    for (double all = 0; count < 9 || (all < least_seconds && count < MOST_REPEATS); count++) {
        first[count] = once(a);
        second[count] = once(b);
        all += first[count] + second[count];
    }
    *of_a = summary(count, first);
    *of_b = summary(count, second);
}

/* ---- ceilings ------------------------------------------------------------------------------------ */

typedef struct triad {
    int64_t n;
    void *a, *b, *c;
} triad;

static void triad_part_f64(void *with, int64_t part, int thread)
{
    (void)thread;
    const triad *t = with;
    double *a = t->a;
    const double *b = t->b, *c = t->c;
    for (int64_t i = t->n * part / threads; i < t->n * (part + 1) / threads; i++)
        a[i] = b[i] + 3.0 * c[i];
}

static void triad_part_f32(void *with, int64_t part, int thread)
{
    (void)thread;
    const triad *t = with;
    float *a = t->a;
    const float *b = t->b, *c = t->c;
    for (int64_t i = t->n * part / threads; i < t->n * (part + 1) / threads; i++)
        a[i] = b[i] + 3.0f * c[i];
}

static void triad_f64(void *with)
{
    fab_parallel(threads, threads, triad_part_f64, with);
}

static void triad_f32(void *with)
{
    fab_parallel(threads, threads, triad_part_f32, with);
}

static triad open_triad(fab_dtype type)
{
    const size_t size = type == FAB_F64 ? 8 : 4;
    triad t = {.n = (int64_t)(64000000 / size)};
    void **arrays[] = {&t.a, &t.b, &t.c};
    for (int a = 0; a < 3; a++) {
        *arrays[a] = fab_alloc((size_t)t.n * size);
        memset(*arrays[a], 0, (size_t)t.n * size);
    }
    return t;
}

typedef struct product {
    fab_dtype type;
    int n;
    void *A, *B, *C;
} product;

extern void openblas_set_num_threads(int count) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

static void gemm(void *with)
{
    const product *p = with;
    if (p->type == FAB_F64)
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, p->n, p->n, p->n, 1, p->A, p->n,
                    p->B, p->n, 0, p->C, p->n);
    else
        cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, p->n, p->n, p->n, 1, p->A, p->n,
                    p->B, p->n, 0, p->C, p->n);
}

static product open_product(fab_dtype type)
{
    product p = {.type = type, .n = 1024};
    const size_t bytes = (size_t)p.n * (size_t)p.n * sizeof(double);
    void **arrays[] = {&p.A, &p.B, &p.C};
    for (int a = 0; a < 3; a++) {
        *arrays[a] = fab_alloc(bytes);
        memset(*arrays[a], 0, bytes);
    }
    if (openblas_set_num_threads) openblas_set_num_threads(threads);
    return p;
}

/* The task beside its ceiling; returns bytes (narrow) or flops (wide) per second of the ceiling. */
static double beside_ceiling(int narrow, fab_dtype type, task a, timing *of_a)
{
    triad t = narrow ? open_triad(type) : (triad){0};
    product p = narrow ? (product){0} : open_product(type);
    timing top;
    const task ceiling = narrow ? (task){type == FAB_F64 ? triad_f64 : triad_f32, &t}
                                : (task){gemm, &p};
    measure(a, of_a, ceiling, &top);
    const double amount = narrow ? 3 * 64e6 : 2.0 * p.n * p.n * p.n;
    void *all[] = {t.a, t.b, t.c, p.A, p.B, p.C};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) fab_release(all[i]);
    return amount / top.best;
}

/* ---- one kernel ---------------------------------------------------------------------------------- */

/* What a kernel works on; the same arrays serve all. */
typedef struct bench {
    fab_run run;
    int64_t D, K;
    fab_long F, out, x, next;
    double *psi, *d2, *least, *M, *U, *C, *G, *N; /* U: the upper triangle of M */
    fab_sweep sweep;
} bench;

static bench open_bench(const fab_ops *ops, int64_t D, int64_t K)
{
    bench b = {.run = la_run(ops, threads), .D = D, .K = K};
    la_lend(&b.run, D, K, K);
    b.F = la_array(ops, BY_ROWS, 1, 1, D, K);
    b.out = la_array(ops, BY_ROWS, 2, 1, D, K);
    b.x = la_array(ops, BY_COLUMNS, 3, 1, D, 1);
    b.next = la_array(ops, BY_COLUMNS, 4, 1, D, 1);
    b.psi = la_doubles(D), b.d2 = la_doubles(D), b.least = la_doubles(D);
    b.M = la_doubles(K * K), b.U = la_doubles(K * K), b.C = la_doubles(K), b.G = la_doubles(K * K),
    b.N = la_doubles(K);
    la_fill_positive(5, 1, D, b.psi);
    la_fill_positive(6, (double)K, D, b.d2); /* well above |F'|^2: the floor sleeps */
    la_fill_positive(9, 1e-20, D, b.least);
    la_fill(7, 0.3 / (double)K, K * K, b.M);
    la_fill(8, 0.3 / (double)K, K, b.C);
    fab_symmetrise(K, b.M);
    for (int64_t i = 0; i < K; i++) b.M[i + i * K] += 0.5;
    for (int64_t e = 0; e < K * K; e++) b.U[e] = e % K <= e / K ? b.M[e] : 0;
    return b;
}

static void close_bench(bench *b)
{
    void *all[] = {b->run.work, b->F.p, b->out.p, b->x.p, b->next.p, b->psi, b->d2,
                   b->least,    b->M,   b->U,     b->C,   b->G,      b->N};
    for (size_t a = 0; a < sizeof all / sizeof *all; a++) fab_release(all[a]);
}

static void do_gram(void *with)
{
    bench *b = with;
    b->run.ops->gram(&b->run, &b->F, b->psi, b->G);
}

static void do_mult(void *with)
{
    bench *b = with;
    b->run.ops->mult(&b->run, NULL, &b->F, b->M, 0, &b->out);
}

static void do_randn(void *with)
{
    bench *b = with;
    b->run.ops->randn(&b->run, 1, FAB_PURPOSE_DATA, 2, &b->out);
}

/* Online EM's pass, in place as the method runs it: A <- A R + x C with R upper triangular (the expanded step),
 * d2 <- 0.01 least + 0.01 x^2 + 0.99 d2, psi = d2 - |A|^2, G and N for the next vector. */
static void do_online(void *with)
{
    bench *b = with;
    b->sweep = (fab_sweep){.n = b->D,
                           .K = b->K,
                           .w = b->F,
                           .R = b->U,
                           .x = b->x,
                           .C = b->C,
                           .out = b->F,
                           .c0 = 0.01,
                           .psi = b->least,
                           .c2 = 0.01,
                           .c3 = 0.99,
                           .d2 = b->d2,
                           .floor = 1e-8,
                           .psi_out = b->psi,
                           .base_out = b->d2,
                           .G = b->G,
                           .N = b->N,
                           .next = b->next};
    b->run.ops->sweep(&b->run, &b->sweep);
}

/* As in [T]: A <- 0.99 A + x C, psi = d2 - A Q A^T. */
static void do_plain(void *with)
{
    bench *b = with;
    b->sweep = (fab_sweep){.n = b->D,
                           .K = b->K,
                           .w = b->F,
                           .r0 = 0.99,
                           .x = b->x,
                           .C = b->C,
                           .out = b->F,
                           .c0 = 0.01,
                           .psi = b->least,
                           .c2 = 0.01,
                           .c3 = 0.99,
                           .d2 = b->d2,
                           .Q = b->M,
                           .floor = 1e-8,
                           .psi_out = b->psi,
                           .base_out = b->d2,
                           .G = b->G,
                           .N = b->N,
                           .next = b->next};
    b->run.ops->sweep(&b->run, &b->sweep);
}

/* Recursive EM's inner pass: W <- W R + x C with psi given, G and N. */
static void do_recursive(void *with)
{
    bench *b = with;
    b->sweep = (fab_sweep){.n = b->D,
                           .K = b->K,
                           .w = b->F,
                           .R = b->M,
                           .x = b->x,
                           .C = b->C,
                           .out = b->F,
                           .psi = b->psi,
                           .G = b->G,
                           .N = b->N,
                           .next = b->next};
    b->run.ops->sweep(&b->run, &b->sweep);
}

typedef struct entry {
    const char *name;
    void (*work)(void *);
    int reads, writes;  /* D x K arrays */
    int typed, vectors; /* vectors of D: in the kernel's precision, in double */
    int products;       /* of D K^2 */
} entry;

static const entry entries[] = {
    {"gram", do_gram, 1, 0, 0, 1, 1},
    {"mult", do_mult, 1, 1, 0, 0, 1},
    {"sweep: online EM", do_online, 1, 1, 2, 4, 2},
    {"sweep: online EM, [T]", do_plain, 1, 1, 2, 4, 2},
    {"sweep: recursive EM", do_recursive, 1, 1, 2, 1, 2},
};

/* The same on 3001 rows, fast and plain; the sums bound their distance as in test_la.c. */
static int is_right(const entry *e, fab_dtype type, int64_t K)
{
    const int64_t D = 3001;
    bench fast = open_bench(fab_ops_find("cpu", type), D, K),
          plain = open_bench(fab_ops_find("ref", type), D, K);
    e->work(&fast);
    e->work(&plain);
    const double bound = 600 * la_eps(type) * 4 * (double)D;
    const int apart = e->work == do_mult;
    double *a = la_values(fast.run.ops, apart ? &fast.out : &fast.F),
           *b = la_values(plain.run.ops, apart ? &plain.out : &plain.F);
    const int right = (apart || la_distance(K * K, fast.G, plain.G) <= bound) &&
                      la_distance(D * K, a, b) <= 8 * la_eps(type) * (double)(K + 4) &&
                      la_distance(D, fast.psi, plain.psi) <= 32 * la_eps(type) * (double)(K + 4);
    fab_release(a), fab_release(b);
    close_bench(&fast), close_bench(&plain);
    return right;
}

static void report(const char *name, fab_dtype type, int64_t D, int64_t K, double bytes,
                   double flops, timing t, double fraction, const char *of, double rate, double bar)
{
    const int pass = fraction >= bar;
    if (!pass) missed++;
    printf("%-21s %s %8lld %4lld %9.1f %9.1f %9.3f %9.3f   %5.2f of %-5s (%.1f) %s, bar %.2f\n",
           name, type == FAB_F64 ? "f64" : "f32", (long long)D, (long long)K, bytes / 1e6,
           flops / 1e6, t.best * 1e3, t.median * 1e3, fraction, of, rate, pass ? "PASS" : "MISS",
           bar);
    fflush(stdout);
}

/* What is wanted: of the triad where rows are narrow, of gemm where they are wide. */
static double wanted(const entry *e, int narrow, fab_dtype type)
{
    if (!narrow) return 0.6;
    if (e->work == do_gram) return type == FAB_F64 ? 0.65 : 0.58;
    return e->work == do_mult ? 0.85 : 0.80;
}

static void time_entry(const entry *e, fab_dtype type, int64_t K)
{
    const int narrow = K <= FAB_NARROW;
    const int64_t D = narrow ? rows_long : rows_wide;
    if (!is_right(e, type, K)) {
        printf("%-21s %s K = %lld differs from ops_ref: not timed\n", e->name,
               type == FAB_F64 ? "f64" : "f32", (long long)K);
        missed++;
        return;
    }
    bench b = open_bench(fab_ops_find("cpu", type), D, K);
    const double size = type == FAB_F64 ? 8 : 4;
    const double bytes =
        (double)D * (size * (double)(K * (e->reads + e->writes) + e->typed) + 8.0 * e->vectors);
    const double flops = 2.0 * (double)D * (double)(K * K) * e->products;
    timing t;
    const double highest = beside_ceiling(narrow, type, (task){e->work, &b}, &t);
    report(e->name, type, D, K, bytes, flops, t, (narrow ? bytes : flops) / t.best / highest,
           narrow ? "triad" : "gemm", highest / 1e9, wanted(e, narrow, type));
    close_bench(&b);
}

/* ---- normals ------------------------------------------------------------------------------------- */

/* Seconds per number of NumPy; 0 when it is absent. */
static void numpy_normals(double seconds[2])
{
    char command[512];
    seconds[0] = seconds[1] = 0;
    snprintf(command, sizeof command, "/usr/bin/python3 %s/normals.py 2>/dev/null", peer_folder);
    FILE *peer = popen(command, "r");
    if (!peer) return;
    if (fscanf(peer, "%lf %lf", &seconds[0], &seconds[1]) != 2) seconds[0] = seconds[1] = 0;
    pclose(peer);
}

static void time_normals(fab_dtype type, double numpy)
{
    bench b = open_bench(fab_ops_find("cpu", type), 200000, 10);
    b.run.threads = 1;
    timing t, same;
    measure((task){do_randn, &b}, &t, (task){do_randn, &b}, &same);
    const double each = t.best / 2e6;
    if (numpy > 0)
        report("normals, one core", type, 200000, 10, 2e6 * (double)b.run.ops->size, 0, t,
               numpy / each, "NumPy", 1e-6 / numpy, type == FAB_F64 ? 2 : 3);
    else
        printf("normals, one core %s: %.2f ns each; no NumPy to compare with\n",
               type == FAB_F64 ? "f64" : "f32", each * 1e9);
    close_bench(&b);
}

int main(int argc, char **argv)
{
    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "--quick") == 0)
            least_seconds = 0.2, rows_wide = 100000;
        else if (strcmp(argv[a], "--threads") == 0 && a + 1 < argc)
            threads = atoi(argv[++a]);
        else
            peer_folder = argv[a];
    }
    printf("%d threads, %s; the ceiling is measured beside each kernel\n", threads,
           fab_isa_current()->name);
    printf("%-21s %-3s %8s %4s %9s %9s %9s %9s   %s\n", "kernel", "", "D", "K", "MB", "Mflop",
           "best ms", "median", "fraction of the ceiling (its rate)");
    for (int64_t K = 10; K <= 100; K += 90)
        for (int type = FAB_F64; type <= FAB_F32; type++)
            for (size_t e = 0; e < sizeof entries / sizeof *entries; e++)
                time_entry(&entries[e], (fab_dtype)type, K);
    double numpy[2];
    numpy_normals(numpy);
    time_normals(FAB_F64, numpy[0]);
    time_normals(FAB_F32, numpy[1]);
    printf("%d missed\n", missed);
    return missed > 0;
}
