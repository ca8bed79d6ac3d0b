/* fuzz_trials.c - any bytes as a table of trials that a search goes on from: refused with a sentence, or trials with numbers, which
 * are written and read back the same.
 *
 * The first byte chooses one of two searches; the rest is the table.
 *
 * SPDX-License-Identifier: MIT */
#include "search/trials.h"
#include "fabayes/methods.h"
#include "fuzz.h"
#include <math.h>

enum { ROWS = 6, TRIALS = 4 };

static fab_dataset *rows(void)
{
    static const double x[2 * ROWS] = {0.3, -1.2, 2.385, 0.1, -0.7, 0.4,
                                       1.1, -0.2, 0.9,   1.3, -1.5, 0.6};
    static const double y[ROWS] = {1, 0.2, 1.5, 0, 1, 1.1};
    const fab_arrays a = {.n = ROWS, .x = x, .D = 2, .y = {.name = "y", .p = y}};
    fab_dataset *t;
    must(fab_dataset_create(&t, &(fab_data){.arrays = &a}) == FAB_OK);
    return t;
}

/* 0: one range; 1: two of them, one of whole numbers. */
static fab_tune *search(int which)
{
    static fab_dataset *t;
    static const fab_range one[] = {{"alpha", 1e-3, 1e3, 1}},
                           two[] = {{"rate", 0.001, 0.1, 1}, {"epochs", 1, 9, 0}};
    const fab_exact_settings exact = fab_exact_defaults();
    const fab_sgd_settings sgd = fab_sgd_defaults();
    const fab_recipe r = {.method = fab_method_find(which ? "sgd" : "exact"),
                          .layers = which ? "mlp:2" : NULL,
                          .likelihood = FAB_LIKELIHOOD_GAUSSIAN,
                          .standardise = 1,
                          .intercept = 1,
                          .samples = 1};
    const fab_tune_plan p = {.trials = TRIALS,
                             .folds = 2,
                             .seed = 1,
                             .threads = 1,
                             .range = which ? two : one,
                             .ranges = which ? 2 : 1};
    fab_tune *u;
    if (!t) t = rows();
    must(fab_tune_create(&u, &r, which ? (const void *)&sgd : &exact, t, &p) == FAB_OK);
    return u;
}

static void write_seeds(const char *folder)
{
    for (int which = 0; which < 2; which++) {
        char path[256], seed[256];
        fab_tune *t = search(which);
        snprintf(path, sizeof path, "%s/now", folder);
        snprintf(seed, sizeof seed, "%s/%s", folder, which ? "sgd" : "exact");
        must(fab_tune_step(t) == FAB_OK && fab_tune_step(t) == FAB_OK);
        must(fab_tune_recall(t, 3, 0, 0, 1, 0.25) == FAB_OK);
        must(fab_tune_write(t, path) == FAB_OK);
        fab_tune_free(t);
        FILE *in = fopen(path, "rb"), *out = fopen(seed, "wb");
        must(in && out);
        fputc(which, out);
        for (int b; (b = fgetc(in)) != EOF;) fputc(b, out);
        fclose(in);
        fclose(out);
        unlink(path);
    }
}

static void same_again(const fab_tune *t, int which)
{
    const char *path = put_file("trials", (const uint8_t *)"", 0);
    fab_tune *u = search(which);
    if (path && fab_tune_write(t, path) == FAB_OK) {
        must(fab_tune_read(u, path) == FAB_OK);
        unlink(path);
        for (int64_t i = 0; i < TRIALS; i++) {
            const fab_trial *a = fab_tune_trial(t, i), *b = fab_tune_trial(u, i);
            must(a->done == b->done && a->failed == b->failed);
            must(a->nll == b->nll && a->se == b->se);
        }
    }
    fab_tune_free(u);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (getenv("FUZZ_SEEDS")) {
        write_seeds(getenv("FUZZ_SEEDS"));
        _exit(0);
    }
    if (size < 1) return 0;
    const int which = bytes[0] & 1;
    fab_tune *t = search(which);
    const fab_status s = fab_tune_parse(t, "trials.csv", bytes + 1, size - 1);
    must(s == FAB_OK || !getenv("FUZZ_GOOD"));
    if (s != FAB_OK) {
        check_refusal(s, "trials.csv: ");
    } else {
        for (int64_t i = 0; i < TRIALS; i++) {
            const fab_trial *r = fab_tune_trial(t, i);
            must(!r->done || (!isnan(r->nll) && r->se >= 0 && r->failed >= 0));
        }
        same_again(t, which);
    }
    fab_tune_free(t);
    return 0;
}
