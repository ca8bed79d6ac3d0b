/* Networks at their mode: a set of training rows in, the scores of test rows out, one line.
 *
 *   study table  DATA TARGET LIKELIHOOD TRAIN TEST LAYERS EPOCHS BATCH RATE SEED
 *                TRAIN and TEST are files of row numbers of DATA
 *   study images IMAGES LABELS TEST_IMAGES TEST_LABELS LAYERS EPOCHS BATCH RATE SEED
 *                idx files; pixels are divided by 255
 *
 * Prints rows, test rows, parameters, RMSE (user's units) or error rate, -log p per test row, seconds of training.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/images.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct recipe {
    const char *layers;
    int64_t epochs, batch, seed;
    double rate;
} recipe;

static recipe recipe_of(char **argv)
{
    return (recipe){argv[0], atoll(argv[1]), atoll(argv[2]), atoll(argv[4]), atof(argv[3])};
}

/* Train on a, score b; both in fitting units, whose target has scale `unit`. */
static void run(const recipe *r, fab_likelihood l, int64_t classes, double unit,
                const fab_dataset *a, const fab_dataset *b)
{
    const fab_exec exec = {.ops = fab_ops_find("cpu", FAB_F32), .threads = 1};
    const fab_net_plan plan = {
        .layers = r->layers,
        .features = a->D,
        .likelihood = l,
        .classes = classes,
        .noise = l == FAB_LIKELIHOOD_GAUSSIAN ? FAB_NOISE_LEARNED : FAB_NOISE_FIXED,
        .beta = exp(2)}; /* noise of 0.37 standard deviations to begin with */
    const fab_examples train = {.x = {a->x, FAB_F64, a->n, a->D}, .y = a->y};
    const fab_rows x = {b->x, FAB_F64, b->n, b->D};
    fab_sgd_settings s = fab_sgd_defaults();
    const fab_gauss *q;
    fab_draws *draws;
    fab_scores scores;
    fab_fit *f;
    fab_net *net;
    s.epochs = r->epochs;
    s.batch = r->batch;
    s.rate = r->rate;
    s.seed = r->seed;
    must(fab_net_create(&net, &plan, &exec));
    must(fab_fit_create(&f, "sgd", &s, sizeof s, &(fab_input){.model = fab_net_model(net)}, &exec));
    const double begin = fab_clock();
    must(fab_fit_update(f, &train));
    must(fab_fit_gauss(f, &q));
    const double seconds = fab_clock() - begin;
    const fab_gauss *const part[] = {q};
    const fab_mixture point = {1, part, (const double[]){1}};
    must(fab_draws_create(&draws, fab_net_model(net), &point, &x, NULL, 0, 0, &exec));
    must(fab_draws_score(draws, b->y, NULL, &scores));
    const int real = l == FAB_LIKELIHOOD_GAUSSIAN;
    printf("%lld %lld %lld %.6g %.6g %.4g\n", (long long)a->n, (long long)b->n, (long long)q->D,
           real ? scores.rmse * unit : 1 - scores.accuracy,
           real ? scores.nll + log(unit) : scores.nll, seconds);
    fab_draws_free(draws);
    fab_fit_free(f);
    fab_net_free(net);
}

/* ---- tables ------------------------------------------------------------------------------------------- */

static fab_dataset *read_rows(const char *path, const char *target, const char *rows)
{
    const fab_source_options o = {.rows = rows};
    const fab_columns c = {.target = target};
    fab_source *s;
    fab_dataset *t;
    must(fab_source_open(&s, path, &o));
    must(fab_dataset_read(&t, s, &c));
    fab_source_close(s);
    return t;
}

static void table(char **argv)
{
    const int classes = strcmp(argv[2], "categorical") == 0;
    const recipe r = recipe_of(argv + 5);
    fab_dataset *a = read_rows(argv[0], argv[1], argv[3]),
                *b = read_rows(argv[0], argv[1], argv[4]);
    fab_scaling *k;
    must(fab_scaling_create(&k, a, classes ? FAB_TARGET_CLASSES : FAB_TARGET_REAL, 1, 1));
    must(fab_scaling_apply(k, a));
    must(fab_scaling_apply(k, b));
    run(&r, classes ? FAB_LIKELIHOOD_CATEGORICAL : FAB_LIKELIHOOD_GAUSSIAN, classes ? k->levels : 1,
        classes ? 1 : k->target_scale, a, b);
    fab_dataset_free(a);
    fab_dataset_free(b);
    fab_scaling_free(k);
}

/* ---- images ------------------------------------------------------------------------------------------- */

static void images(char **argv)
{
    const recipe r = recipe_of(argv + 4);
    fab_dataset a = images_read(argv[0], argv[1]), b = images_read(argv[2], argv[3]);
    run(&r, FAB_LIKELIHOOD_CATEGORICAL, 10, 1, &a, &b);
    images_free(&a);
    images_free(&b);
}

int main(int argc, char **argv)
{
    if (argc == 12 && strcmp(argv[1], "table") == 0)
        table(argv + 2);
    else if (argc == 11 && strcmp(argv[1], "images") == 0)
        images(argv + 2);
    else
        fprintf(stderr, "see the head of study.c\n");
    return 0;
}
