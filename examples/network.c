/* network.c - train a network on a table, and say how good it is on rows it has not seen:
 *
 *     network DATA TARGET [LAYERS]        mlp:50 unless LAYERS are given
 *
 * SPDX-License-Identifier: MIT */
#include <fabayes.h>
#include <stdio.h>
#include <stdlib.h>

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "%s\n", fab_detail());
    exit(1);
}

/* The rows of `part` behind each other. */
static fab_examples take(const fab_dataset *t, const int64_t *row, int64_t n)
{
    double *x = malloc(sizeof *x * (size_t)(n * (t->D + 1))), *y = x + n * t->D;
    if (!x) exit(1);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t d = 0; d < t->D; d++) x[i * t->D + d] = t->x[row[i] * t->D + d];
        y[i] = t->y[row[i]];
    }
    return (fab_examples){.x = {.p = x, .type = FAB_F64, .n = n, .ld = t->D}, .y = y};
}

int main(int argc, char **argv)
{
    fab_source *source;
    fab_dataset *t;
    fab_scaling *units;
    fab_split *split;
    fab_net *net;
    fab_infer *fit;
    fab_draws *draws;
    fab_scores scores;
    const fab_gauss *q;
    const int64_t *test_row;
    if (argc < 3) return fprintf(stderr, "usage: network DATA TARGET [LAYERS]\n"), 2;

    must(fab_source_open(&source, argv[1], NULL));
    must(fab_dataset_read(&t, source, &(fab_columns){.target = argv[2]}));
    must(fab_scaling_create(&units, t, FAB_TARGET_REAL, 1, 1));
    must(fab_scaling_apply(units, t));

    must(fab_split_test(&split, t->n, 0.2, NULL, 1));
    int64_t *train_row = malloc(sizeof *train_row * (size_t)t->n);
    if (!train_row) return 1;
    const int64_t n_test = fab_split_part(split, 1, &test_row),
                  n_train = fab_split_rest(split, 1, train_row);
    const fab_examples train = take(t, train_row, n_train), test = take(t, test_row, n_test);

    const fab_net_plan plan = {.layers = argc > 3 ? argv[3] : "mlp:50",
                               .features = t->D,
                               .likelihood = FAB_LIKELIHOOD_GAUSSIAN,
                               .classes = 1,
                               .noise = FAB_NOISE_LEARNED,
                               .beta = 1};
    const fab_sgd_settings settings = fab_sgd_defaults();
    must(fab_net_init(&net, &plan, NULL));
    must(fab_infer_init_model(&fit, fab_method_find("sgd"), &settings, fab_net_model(net), NULL,
                              NULL));
    must(fab_infer_update(fit, &train));
    must(fab_infer_result(fit, &q));

    const fab_mixture point = {1, &q, (const double[]){1}};
    must(fab_draws_create(&draws, fab_net_model(net), &point, &test.x, NULL, 0, 0, NULL));
    fab_draws_to_units(draws, units->target_mean, units->target_scale);
    for (int64_t i = 0; i < n_test; i++)
        ((double *)test.y)[i] = units->target_mean + units->target_scale * test.y[i];
    must(fab_draws_score(draws, test.y, &scores));
    printf("%lld parameters, %lld rows; %lld test rows: rmse %.4g, nll %.4g\n", (long long)q->D,
           (long long)n_train, (long long)n_test, scores.rmse, scores.nll);

    fab_draws_free(draws);
    fab_infer_free(fit);
    fab_net_free(net);
    fab_split_free(split);
    fab_scaling_free(units);
    fab_dataset_free(t);
    fab_source_close(source);
    free((void *)train.x.p);
    free((void *)test.x.p);
    free(train_row);
    return 0;
}
