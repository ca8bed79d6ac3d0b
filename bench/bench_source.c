/* bench_source.c - how fast csv becomes doubles, beside a plain scan of the same bytes and beside strtod.
 *
 *     bench_source [MB]        size of each generated file (200)
 *
 * Verifies first: a million random numbers against strtod, then every value of the files.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "data/source/number.h"
#include "fabayes/random.h"
#include "fabayes/data.h"
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS = 20, TIMES = 7, BATCH = 100, WINDOW = 1 << 18 };

static char path[] = "bench-source-XXXXXX";

static void stop(const char *what)
{
    fprintf(stderr, "bench_source: %s\n", what);
    unlink(path);
    exit(1);
}

/* ---- verify ---------------------------------------------------------------------------------- */

/* Random bits as a double, random digits, or a plain decimal: all three ways of number.c. */
static void print_random(uint64_t i, char *text, size_t size)
{
    uint32_t r[4];
    fab_random_bits(2385, FAB_PURPOSE_DATA, 0, i, r);
    const uint64_t bits = (uint64_t)r[0] << 32 | r[1];
    double x;
    memcpy(&x, &bits, sizeof x);
    if (!isfinite(x)) x = 0;
    switch (r[2] % 3) {
    case 0: snprintf(text, size, "%.*e", (int)(r[3] % 25), x); break;
    case 1: snprintf(text, size, "%" PRIu64 "e%d", bits, (int)(r[3] % 60) - 30); break;
    default: snprintf(text, size, "%.17g", (double)(int64_t)bits * 1e-18);
    }
}

static void verify_numbers(void)
{
    char text[512];
    for (uint64_t i = 0; i < 1000000; i++) {
        print_random(i, text, sizeof text - 16);
        double x;
        char *end;
        const double expected = strtod(text, &end);
        const char *got = fab_number(text, &x);
        if (isinf(expected) ? got != NULL : got != end || memcmp(&x, &expected, sizeof x) != 0)
            stop("a number is not that of strtod");
    }
    printf("verified: 1000000 random numbers have the bits of strtod\n");
}

/* ---- the files ------------------------------------------------------------------------------- */

/* About `bytes` bytes of rows in that format; gives the number of values. */
static int64_t generate(const char *format, double bytes)
{
    FILE *f = fopen(path, "w");
    if (!f) stop("cannot write the file");
    int64_t n = 0;
    for (double written = 0; written < bytes;) {
        double x[COLUMNS];
        fab_random_uniform(2385, FAB_PURPOSE_DATA, 1, (uint64_t)n, COLUMNS, x);
        for (int j = 0; j < COLUMNS; j++, n++) {
            written += fprintf(f, format, 2 * x[j] - 1);
            written += fputc(j + 1 < COLUMNS ? ',' : '\n', f) > 0;
        }
    }
    if (fclose(f) != 0) stop("cannot write the file");
    return n;
}

/* ---- what is timed: each gives a sum that must be right --------------------------------------- */

static double read_source(int64_t *n)
{
    static double rows[BATCH * COLUMNS];
    fab_source *s;
    double sum = 0;
    int64_t got;
    if (fab_source_open(&s, path, NULL) != FAB_OK) stop(fab_detail());
    *n = 0;
    do {
        if (fab_source_next(s, BATCH, rows, &got) != FAB_OK) stop(fab_detail());
        for (int64_t i = 0; i < got * COLUMNS; i++) sum += rows[i];
        *n += got * COLUMNS;
    } while (got > 0);
    fab_source_close(s);
    return sum;
}

static double read_strtod(int64_t *n)
{
    static char line[1 << 16];
    FILE *f = fopen(path, "r");
    double sum = 0;
    *n = 0;
    while (f && fgets(line, sizeof line, f))
        for (char *p = line, *end; p; p = *end == ',' ? end + 1 : NULL, ++*n)
            sum += strtod(p, &end);
    if (f) fclose(f);
    return sum;
}

/* The ceiling: read the file through a window of the same size and add up its words. */
static double scan(int64_t *n)
{
    static uint64_t window[WINDOW / 8];
    const int file = open(path, O_RDONLY);
    uint64_t sum = 0;
    ssize_t got;
    *n = 0;
    while ((got = read(file, window, sizeof window)) > 0) {
        for (ssize_t i = 0; i < got / 8; i++) sum += window[i];
        *n += got;
    }
    close(file);
    return (double)sum;
}

/* ---- timing ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* CPU seconds: a single thread that others interrupt is not slower. */
static double cpu_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct timing {
    double best, median, sum;
    int64_t n;
} timing;

static timing measure(double (*work)(int64_t *), int times)
{
    timing t = {0, 0, 0, 0};
    double seconds[TIMES];
    for (int i = 0; i < times; i++) {
        const double start = cpu_clock();
        t.sum = work(&t.n);
        seconds[i] = cpu_clock() - start;
    }
    qsort(seconds, (size_t)times, sizeof *seconds, compare);
    t.best = seconds[0];
    t.median = seconds[times / 2];
    return t;
}

static void bench(const char *format, double megabytes)
{
    const int64_t n = generate(format, 1e6 * megabytes);
    const timing ceiling = measure(scan, TIMES), ours = measure(read_source, TIMES);
    const timing peer = measure(read_strtod, 1);
    if (ours.n != n || memcmp(&ours.sum, &peer.sum, sizeof ours.sum) != 0)
        stop("the values of the file are not those of strtod");
    const double mb = (double)ceiling.n / 1e6;
    printf("%-8s %8.1f %6.1f %10.0f %10.0f %10.0f %9.3f %10.2f\n", format, mb,
           (double)ceiling.n / (double)n, mb / ours.best, mb / ours.median, mb / ceiling.best,
           ceiling.best / ours.best, peer.best / ours.best);
}

int main(int argc, char **argv)
{
    const double megabytes = argc > 1 ? atof(argv[1]) : 200;
    const int file = mkstemp(path);
    if (file < 0) stop("cannot write into this folder");
    close(file);
    verify_numbers();
    printf("csv of %d columns, CPU time of one thread; best and median of %d, strtod once\n\n",
           COLUMNS, TIMES);
    printf("%-8s %8s %6s %10s %10s %10s %9s %10s\n", "format", "MB", "B/num", "best MB/s", "median",
           "scan MB/s", "of scan", "x strtod");
    bench("%.6e", megabytes);
    bench("%.17g", megabytes);
    bench("%.3f", megabytes);
    unlink(path);
    return 0;
}
