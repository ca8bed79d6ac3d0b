/* bench_cost.c - seconds a vector of recursive-em over a grid of D and K, beside what the machine can do.
 *
 *     bench_cost [--quick] [--most N] [FILE]
 *
 * Three loops, one vector at a time, no wider inside: [L] Alg. 1.  D = 10^3 .. 10^7, K = 1 .. 100, on one thread and on two; in f64
 * up to D K = 5 10^8, in f32 beyond.  Points of more than N numbers in F (10^8) are left out, and that is said.  The ceiling of a
 * point is the longer of two times measured in the same run: its bytes at the rate of STREAM's triad over as many, and the flops
 * of its products at the rate of gemm.  FILE.csv gets the table and FILE.svg the curves.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "fabayes.h"
#include "la/small.h"
#include "la/threads.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DS = 5, KS = 5, PARTS = 64, SIDE = 512 };

static const int64_t Ds[DS] = {1000, 10000, 100000, 1000000, 10000000},
                     Ks[KS] = {1, 3, 10, 30, 100};
static const char *const names[KS] = {"K = 1", "K = 3", "K = 10", "K = 30", "K = 100"};

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "bench_cost: %s\n", fab_detail());
    exit(1);
}

static double *numbers(int64_t n)
{
    double *v = malloc((size_t)n * sizeof *v);
    if (!v) {
        fprintf(stderr, "bench_cost: no memory\n");
        exit(1);
    }
    for (int64_t i = 0; i < n; i++) v[i] = (double)(i % 7) - 3;
    return v;
}

/* ---- ceilings ------------------------------------------------------------------------------------ */

typedef struct triad {
    int64_t n;
    double *a, *b, *c;
} triad;

static void triad_part(void *with, int64_t part, int thread)
{
    (void)thread;
    const triad *t = with;
    double *a = t->a;
    const double *b = t->b, *c = t->c;
    for (int64_t i = t->n * part / PARTS; i < t->n * (part + 1) / PARTS; i++)
        a[i] = b[i] + 3 * c[i];
}

/* Bytes a second of a triad over so many bytes: from the caches where they fit. */
static double triad_rate(double bytes, int threads)
{
    const int64_t n = (int64_t)fmin(bytes / 24, 8e6) + PARTS;
    triad t = {n, numbers(n), numbers(n), numbers(n)};
    const int repeat = n > 100000 ? 1 : (int)(100000 / n);
    double best = INFINITY;
    for (int i = 0; i < 30; i++) {
        const double before = fab_clock();
        for (int r = 0; r < repeat; r++)
            if (n < 20000) /* as small work is done in the library */
                for (int64_t part = 0; part < PARTS; part++) triad_part(&t, part, 0);
            else
                fab_parallel(threads, PARTS, triad_part, &t);
        best = fmin(best, (fab_clock() - before) / repeat);
    }
    const double used = t.a[n / 2];
    free(t.a), free(t.b), free(t.c);
    return isfinite(used) ? 24.0 * (double)n / best : 0;
}

/* Flops a second of gemm on one thread, in f64 or f32. */
static double gemm_rate(fab_dtype type)
{
    double *A = numbers(SIDE * SIDE), *B = numbers(SIDE * SIDE), *C = numbers(SIDE * SIDE);
    double best = INFINITY;
    memset(C, 0, SIDE * SIDE * sizeof *C);
    if (type == FAB_F32)
        for (int i = 0; i < SIDE * SIDE; i++)
            ((float *)(void *)A)[i] = ((float *)(void *)B)[i] = (float)(i % 5);
    for (int i = 0; i < 15; i++) {
        const double before = fab_clock();
        fab_gemm(type, FAB_N, FAB_T, SIDE, SIDE, SIDE, 1, A, SIDE, B, SIDE, 0, C, SIDE);
        best = fmin(best, fab_clock() - before);
    }
    free(A), free(B), free(C);
    return 2.0 * SIDE * SIDE * SIDE / best;
}

/* ---- a point ------------------------------------------------------------------------------------- */

typedef struct point {
    double seconds, share; /* share of the ceiling */
    int by_flops;          /* which of the two is the ceiling */
} point;

/* Bytes: W0 is read for the sums and in each loop, W read in two and written in three; 15 times a vector of D.
 * Flops: of the three loops' products and sums, 17 D K^2 (each symmetric matrix counted by its half). */
static double bytes_of(double D, double K, double size)
{
    return D * (size * 9 * K + 8 * 15);
}

static point measure(int64_t D, int64_t K, fab_dtype type, int threads, int vectors, double gemm)
{
    const fab_exec x = {.ops = fab_ops_find("cpu", type), .threads = threads};
    fab_recursive_em_settings s = fab_recursive_em_defaults(K);
    fab_fit *e;
    s.block = 1, s.inner = 3, s.inner_rank = K, s.expand = 0, s.start = 1, s.centre = 1;
    must(fab_fit_create(&e, "recursive-em", &s, sizeof s, &(fab_input){.vectors = D}, &x));
    double *row = numbers(D), best = INFINITY;
    const int repeat = D >= 100000 ? 1 : (int)(100000 / D);
    for (int t = 0; t < vectors; t++) {
        fab_random_normal(1, FAB_PURPOSE_DATA, (uint64_t)t, 0, D, FAB_F64, row);
        const double before = fab_clock();
        for (int i = 0; i < repeat; i++)
            must(fab_fit_update(e, &(fab_examples){.x = {row, FAB_F64, 1, D}}));
        if (t > 0) best = fmin(best, (fab_clock() - before) / repeat);
    }
    free(row);
    fab_fit_free(e);
    const double bytes = bytes_of((double)D, (double)K, type == FAB_F64 ? 8 : 4);
    const double by_bytes = bytes / triad_rate(bytes, threads),
                 by_flops = 17.0 * (double)D * (double)(K * K) / (gemm * threads);
    return (point){best, fmax(by_bytes, by_flops) / best, by_flops > by_bytes};
}

/* ---- the grid ------------------------------------------------------------------------------------ */

static FILE *opened(const char *file, const char *end)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", file, end);
    FILE *f = fopen(path, "w");
    if (f) return f;
    fprintf(stderr, "bench_cost: cannot write %s\n", path);
    exit(1);
}

/* Seconds over D, a curve for each K, on one thread. */
static void draw(const char *file, double at[KS][DS], double seconds[KS][DS], const int64_t n[KS])
{
    fab_curve curve[KS];
    char *svg;
    for (int k = 0; k < KS; k++)
        curve[k] = (fab_curve){.name = names[k],
                               .x = at[k],
                               .y = seconds[k],
                               .n = n[k],
                               .style = n[k] > 1 ? FAB_CURVE_LINE : FAB_CURVE_POINTS};
    must(fab_plot_svg(&(fab_plot){.title = "Seconds a vector, three loops, one thread",
                                  .x_label = "D",
                                  .y_label = "seconds",
                                  .log_x = 1,
                                  .log_y = 1,
                                  .curve = curve,
                                  .curves = KS},
                      &svg));
    FILE *f = opened(file, ".svg");
    fputs(svg, f);
    fclose(f);
    fab_text_free(svg);
}

int main(int argc, char **argv)
{
    static double at[KS][DS], seconds[KS][DS];
    int64_t n[KS] = {0}, left_out = 0;
    double most = 1e8;
    const char *file = NULL;
    int quick = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            quick = 1;
        else if (strcmp(argv[i], "--most") == 0 && i + 1 < argc)
            most = atof(argv[++i]);
        else
            file = argv[i];
    }
    FILE *csv = file ? opened(file, ".csv") : NULL;
    const double gemm[] = {gemm_rate(FAB_F64), gemm_rate(FAB_F32)};
    printf("gemm, one thread: %.1f GFLOP/s in f64, %.1f in f32\n", gemm[0] / 1e9, gemm[1] / 1e9);
    printf("%9s %4s %4s %8s %12s %12s %10s\n", "D", "K", "", "threads", "seconds", "ns per D K",
           "of ceiling");
    if (csv) fprintf(csv, "D,K,type,threads,seconds,ns_per_DK,of_ceiling,ceiling\n");
    for (int i = 0; i < (quick ? 3 : DS); i++)
        for (int k = 0; k < KS; k++) {
            const double DK = (double)Ds[i] * (double)Ks[k];
            const fab_dtype type = DK > 5e8 ? FAB_F32 : FAB_F64;
            if (DK > most) {
                left_out++;
                continue;
            }
            for (int threads = 1; threads <= 2; threads++) {
                const point p = measure(Ds[i], Ks[k], type, threads, quick ? 3 : 7, gemm[type]);
                const char *ceiling = p.by_flops ? "gemm" : "triad";
                printf("%9lld %4lld %4s %8d %12.4g %12.3f %10.2f %s\n", (long long)Ds[i],
                       (long long)Ks[k], fab_dtype_name(type), threads, p.seconds,
                       1e9 * p.seconds / DK, p.share, ceiling);
                if (csv)
                    fprintf(csv, "%lld,%lld,%s,%d,%.5g,%.5g,%.3f,%s\n", (long long)Ds[i],
                            (long long)Ks[k], fab_dtype_name(type), threads, p.seconds,
                            1e9 * p.seconds / DK, p.share, ceiling);
                fflush(stdout);
                if (threads > 1) continue;
                at[k][n[k]] = (double)Ds[i];
                seconds[k][n[k]++] = p.seconds;
            }
        }
    if (left_out)
        printf("%lld points of more than %g numbers in F were left out\n", (long long)left_out,
               most);
    if (csv) fclose(csv);
    if (file) draw(file, at, seconds, n);
    return 0;
}
