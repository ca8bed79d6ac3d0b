/* bench_source.c - how fast csv becomes doubles, beside a plain scan of the same bytes and beside strtod.
 *
 *     bench_source [MB]                size of each generated file (200)
 *     bench_source tables [PYTHON]     whole tables on one and two threads, beside pyarrow.csv, pandas and numpy.load of that
 *                                      Python (bench/peers/source.py), from the root of the tree
 *
 * Verifies first: a million random numbers against strtod, then every value of the files.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "data/source/number.h"
#include "fabayes/random.h"
#include "fabayes/data.h"
#include "fabayes/files.h"
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

/* ---- whole tables, and peers ------------------------------------------------------------------ */

static double wall_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct table {
    const char *name;
    int64_t rows, numbers;
    int words; /* two columns of words beside the numbers */
} table;

static void write_words(FILE *f, int64_t row)
{
    static const char *const street[] = {"oak", "elm", "birch tree", "hill", "market square"};
    uint32_t r[4];
    fab_random_bits(2385, FAB_PURPOSE_DATA, 3, (uint64_t)row, r);
    fprintf(f, "%s,city%u%c", street[r[0] % 5], r[1] % 3000, '\n');
}

/* As csv, and as npy where all are numbers. */
static void write_table(const table *t, const char *csv, const char *npy)
{
    FILE *f = fopen(csv, "w");
    double *all = malloc((size_t)(t->rows * t->numbers) * sizeof *all), *x = all;
    if (!f || !all) stop("no room for a table");
    for (int64_t j = 0; j < t->numbers; j++) fprintf(f, j ? ",x%d" : "x%d", (int)j);
    fprintf(f, t->words ? ",street,city\n" : "\n");
    for (int64_t i = 0; i < t->rows; i++, x += t->numbers) {
        fab_random_uniform(2385, FAB_PURPOSE_DATA, 2, (uint64_t)i, t->numbers, x);
        for (int64_t j = 0; j < t->numbers; j++) {
            x[j] = rint(1e6 * (2 * x[j] - 1)) / 1e6;
            fprintf(f, "%.6f%c", x[j], j + 1 < t->numbers || t->words ? ',' : '\n');
        }
        if (t->words) write_words(f, i);
    }
    if (fclose(f) != 0) stop("cannot write a table");
    const fab_npy array = {all, FAB_F64, 2, t->rows, t->numbers};
    if (!t->words && fab_npy_write(npy, &array) != FAB_OK) stop(fab_detail());
    free(all);
}

typedef struct reading {
    double wall, cpu, sum; /* of the numbers */
} reading;

static reading read_table(const char *file, int64_t threads)
{
    const fab_source_options o = {.words = 1, .threads = threads};
    reading best = {INFINITY, INFINITY, 0};
    for (int i = 0; i < TIMES; i++) {
        const double wall = wall_clock(), cpu = cpu_clock();
        fab_source *s;
        int64_t got = 1;
        double sum = 0;
        if (fab_source_open(&s, file, &o) != FAB_OK) stop(fab_detail());
        const int64_t columns = fab_source_columns(s), numbers = columns - (columns == 8 ? 2 : 0);
        double *x = malloc((size_t)(BATCH * columns) * sizeof *x);
        while (got > 0) {
            if (!x || fab_source_next(s, BATCH, x, &got) != FAB_OK) stop(fab_detail());
            for (int64_t k = 0; k < got; k++)
                for (int64_t j = 0; j < numbers; j++) sum += x[k * columns + j];
        }
        free(x);
        fab_source_close(s);
        best.wall = fmin(best.wall, wall_clock() - wall);
        best.cpu = fmin(best.cpu, cpu_clock() - cpu);
        best.sum = sum;
    }
    return best;
}

/* wall = 0: it is not installed */
static reading read_peer(const char *python, const char *name, const char *file)
{
    char line[512], answer[200] = "";
    reading r = {0, 0, 0};
    if (!python) return r;
    snprintf(line, sizeof line, "%s bench/peers/source.py %s %s %d", python, name, file, TIMES);
    FILE *f = popen(line, "r");
    if (!f || !fgets(answer, sizeof answer, f)) stop("the peer says nothing");
    pclose(f);
    if (sscanf(answer, "%lf %lf %lf", &r.wall, &r.cpu, &r.sum) != 3) r.wall = 0;
    return r;
}

static void print_reading(const char *what, reading r, reading ours, reading alone)
{
    if (r.wall == 0) return;
    if (fabs(r.sum - ours.sum) > 1e-9 * (1 + fabs(ours.sum)) + 1e-6) stop("the sums differ");
    printf("  %-28s %8.3f %8.3f %10.2f %12.2f %12.2f\n", what, r.wall, r.cpu, r.wall / ours.wall,
           r.cpu / ours.cpu, r.cpu / alone.cpu);
}

static void bench_table(const table *t, const char *python)
{
    char csv[64], npy[64], gz[64], line[256];
    snprintf(csv, sizeof csv, "%s.csv", path);
    snprintf(gz, sizeof gz, "%s.csv.gz", path);
    snprintf(npy, sizeof npy, "%s.npy", path);
    write_table(t, csv, npy);
    printf("%s\n", t->name);
    const reading two = read_table(csv, 2), one = read_table(csv, 1);
    print_reading("csv, two threads", two, two, one);
    print_reading("csv, one thread", one, two, one);
    print_reading("pyarrow.csv, two threads", read_peer(python, "arrow", csv), two, one);
    print_reading("pandas, C engine", read_peer(python, "pandas", csv), two, one);
    snprintf(line, sizeof line, "gzip -1 -k -f %s", csv);
    if (system(line) == 0) {
        print_reading("csv.gz, two threads", read_table(gz, 2), two, one);
        print_reading("csv.gz, one thread", read_table(gz, 1), two, one);
        unlink(gz);
    }
    if (!t->words) {
        print_reading("npy", read_table(npy, 1), two, one);
        print_reading("numpy.load", read_peer(python, "numpy", npy), two, one);
    }
    unlink(csv);
    unlink(npy);
}

static int bench_tables(const char *python)
{
    static const table tables[] = {{"100 000 x 100 numbers", 100000, 100, 0},
                                   {"1 000 000 x 6 numbers and 2 words", 1000000, 6, 1},
                                   {"20 000 x 1000 numbers", 20000, 1000, 0}};
    printf("best of %d; seconds on the clock and of the processor, over those of csv on two "
           "threads (and on one)\n"
           "  %-28s %8s %8s %10s %12s %12s\n",
           TIMES, "", "clock", "cpu", "x clock", "x cpu", "x cpu of one");
    for (int i = 0; i < 3; i++) bench_table(&tables[i], python);
    unlink(path);
    return 0;
}

int main(int argc, char **argv)
{
    const double megabytes = argc > 1 ? atof(argv[1]) : 200;
    const int file = mkstemp(path);
    if (file < 0) stop("cannot write into this folder");
    close(file);
    verify_numbers();
    if (argc > 1 && strcmp(argv[1], "tables") == 0) return bench_tables(argc > 2 ? argv[2] : NULL);
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
