/* fuzz_resume.c - any bytes as the file that an interrupted call goes on from: refused with a sentence, or a fit to its end, whose
 * file then can be read.
 *
 * The first byte chooses the call; the rest is its file.  FUZZ_SEEDS=folder writes a file of every call, stopped half way, instead;
 * with FUZZ_GOOD set every input must be taken: fuzz/seeds/fuzz_resume is so kept from rotting.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/table.h"
#include "fuzz.h"
#include "table/factors.h"
#include <math.h>

enum { ROWS = 6, HALF = 3, TICKS = 400 /* a file may ask for 1e12 epochs */ };

static const struct call {
    const char *method, *model; /* no model: factor analysis, or a linear model */
    int factors;
    const char *settings[4];
} calls[] = {
    {"lrvga", "linear", 0, {"K=1"}},
    {"kalman", "linear", 0, {NULL}},
    {"rvga", "linear", 0, {NULL}},
    {"slang", "mlp:2", 0, {"K=1", "epochs=6"}},
    {"vogn", "mlp:2", 0, {"epochs=6"}},
    {"vifa", "mlp:2", 0, {"K=1", "epochs=6"}},
    {"meanfield", "mlp:2", 0, {"epochs=6"}},
    {"map", "mlp:2", 0, {"epochs=6"}},
    {"sgd", "mlp:2", 0, {"epochs=6"}},
    {"swag", "mlp:2", 0, {"K=2", "epochs=6", "average=4"}},
    {"iterate-averaging", "mlp:2", 0, {"epochs=6", "average=4"}},
    {"laplace", "mlp:2", 0, {"epochs=3", "rounds=1", "again=2"}},
    {"ensemble", "mlp:2", 0, {"runs=2", "epochs=3"}},
    {"multiswag", "mlp:2", 0, {"K=2", "runs=2", "epochs=6"}},
    {"online-ml", NULL, 1, {NULL}},
    {"recursive-em", NULL, 1, {NULL}},
    {"online-em", NULL, 1, {NULL}},
    {"stochastic-em", NULL, 1, {NULL}},
    {"online-sga", NULL, 1, {NULL}},
};
enum { CALLS = sizeof calls / sizeof *calls };

static int64_t ticks, most;

static int stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return ++ticks > most;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
    if (size < 1 || seed % 64 == 0) return LLVMFuzzerMutate(bytes, size, room);
    return 1 + mutate_file(bytes + 1, size - 1, room - 1, seed);
}

static fab_arrays rows(int64_t n)
{
    static const double x[2 * ROWS] = {0.3, -1.2, 2.385, 0.1, -0.7, 0.4,
                                       1.1, -0.2, 0.9,   1.3, -1.5, 0.6};
    static const double y[ROWS] = {1, 0, 1, 0, 1, 1};
    static const char *const names[] = {"a", "b"};
    return (fab_arrays){.n = n, .x = x, .D = 2, .name = names, .y = {.name = "y", .p = y}};
}

static fab_status regress(const struct call *c, const char *path, int64_t n)
{
    const fab_arrays a = rows(n);
    const fab_exec alone = {.threads = 1};
    fab_regression *r;
    const fab_plan plan = {.method = c->method,
                           .model = c->model,
                           .settings = c->settings,
                           .likelihood = strcmp(c->method, "rvga") == 0 ? "bernoulli" : "gaussian",
                           .output = path,
                           .scale_rows = strcmp(c->model, "linear") == 0 ? 2 : 0,
                           .checkpoint = 1,
                           .resume = 1};
    const fab_status s = fab_regression_fit(&r, &(fab_data){.arrays = &a}, &plan, &alone);
    fab_regression_free(r);
    if (s != FAB_OK) return s;
    const fab_status again = fab_regression_load(&r, path, &alone);
    if (again != FAB_OK) fprintf(stderr, "%s: %s\n", c->method, fab_detail());
    must(again == FAB_OK || again == FAB_NO_MEMORY);
    fab_regression_free(r);
    return FAB_OK;
}

static fab_status factor(const struct call *c, const char *path, int64_t n)
{
    fab_arrays a = rows(n);
    const fab_exec alone = {.threads = 1};
    fab_source *source;
    fab_factors *f = NULL;
    a.y = (fab_array){0};
    if (fab_source_open_arrays(&source, &a, NULL) != FAB_OK) return FAB_NO_MEMORY;
    const fab_factors_plan p = {.source = source, .method = c->method, .K = 1, .output = path};
    fab_status s = n == HALF ? fab_factors_create(&f, &p, &alone)
                             : fab_factors_resume(&f, &p, path, &alone);
    if (s == FAB_OK) s = fab_factors_read(f);
    if (s == FAB_OK) s = fab_factors_save(f, path);
    fab_factors_free(f);
    fab_source_close(source);
    if (s != FAB_OK) return s;
    const fab_status again = fab_factors_load(&f, &(fab_factors_plan){0}, path, &alone);
    if (again != FAB_OK) fprintf(stderr, "%s: %s\n", c->method, fab_detail());
    must(again == FAB_OK || again == FAB_NO_MEMORY);
    fab_factors_free(f);
    return FAB_OK;
}

static fab_status go_on(const struct call *c, const char *path, int64_t n)
{
    ticks = 0;
    return c->factors ? factor(c, path, n) : regress(c, path, n);
}

/* A stream is stopped behind half of the rows; a network after some epochs, that is when it asks for the `most`-th time. */
static void write_seeds(const char *folder)
{
    for (int i = 0; i < CALLS; i++) {
        const struct call *c = &calls[i];
        char path[256], seed[256];
        snprintf(path, sizeof path, "%s/now", folder);
        unlink(path);
        most = c->model && strcmp(c->model, "linear") != 0 ? 4 : TICKS;
        const fab_status s = go_on(c, path, most == TICKS ? HALF : ROWS);
        snprintf(seed, sizeof seed, "%s/%s", folder, c->method);
        FILE *in = fopen(path, "rb"), *out = fopen(seed, "wb");
        if (!in || !out) {
            fprintf(stderr, "%s: no file (%s)\n", c->method, fab_detail());
            exit(1);
        }
        fputc(i, out);
        for (int b; (b = fgetc(in)) != EOF;) fputc(b, out);
        fclose(in);
        fclose(out);
        unlink(path);
        fprintf(stderr, "%s: %s\n", c->method, s == FAB_OK ? "at its end" : fab_detail());
    }
}

/* As small_alloc; the tables of kernels take 28 MB. */
static void *enough_alloc(size_t bytes)
{
    return bytes > (size_t)1 << 26 ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fab_set_progress(stop, NULL);
    if (getenv("FUZZ_SEEDS")) {
        write_seeds(getenv("FUZZ_SEEDS"));
        _exit(0);
    }
    if (size < 1) return 0;
    const char *path = put_file("resume", bytes + 1, size - 1);
    if (!path) return 0;
    fab_set_allocator(enough_alloc, free);
    most = TICKS;
    const fab_status s = go_on(&calls[bytes[0] % CALLS], path, ROWS);
    if (s != FAB_OK) refused(s);
    if (s != FAB_OK && getenv("FUZZ_GOOD")) fprintf(stderr, "%s\n", fab_detail());
    must(s == FAB_OK || !getenv("FUZZ_GOOD"));
    unlink(path);
    return 0;
}
