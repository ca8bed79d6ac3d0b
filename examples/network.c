/* network.c - train a network on a table, and say how good it is on rows it has not seen:
 *
 *     network DATA TARGET [LAYERS]        mlp:50 unless LAYERS are given
 *
 * SPDX-License-Identifier: MIT */
#include <fabayes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "usage: network DATA TARGET [LAYERS]\n"), 2;
    const fab_data file = {.file = argv[1], .columns = {.target = argv[2]}};
    const fab_plan plan = {.model = argc > 3 ? argv[3] : "mlp:50", .method = "sgd"};
    fab_dataset *all = NULL, *train = NULL, *test = NULL;
    fab_split *split = NULL;
    fab_regression *r = NULL;
    fab_scores scores;
    const int64_t *row = NULL;
    int64_t n = 0;

    fab_status s = fab_dataset_create(&all, &file);
    if (s == FAB_OK) s = fab_split_test(&split, all->n, 0.2, NULL, 1);
    if (s == FAB_OK) n = fab_split_part(split, 0, &row);
    if (s == FAB_OK) s = fab_dataset_take(&train, all, row, n);
    if (s == FAB_OK) n = fab_split_part(split, 1, &row);
    if (s == FAB_OK) s = fab_dataset_take(&test, all, row, n);
    if (s == FAB_OK) s = fab_regression_fit(&r, &(fab_data){.table = train}, &plan, NULL);
    if (s == FAB_OK) s = fab_regression_score(r, &(fab_data){.table = test}, NULL, &scores, NULL);
    if (s == FAB_OK)
        printf("%lld parameters, %lld rows; %lld test rows: rmse %.4g, nll %.4g\n",
               (long long)fab_regression_size(r), (long long)train->n, (long long)test->n,
               scores.rmse, scores.nll);
    else
        fprintf(stderr, "%s\n", fab_detail());

    fab_regression_free(r);
    fab_split_free(split);
    fab_dataset_free(test);
    fab_dataset_free(train);
    fab_dataset_free(all);
    return s != FAB_OK;
}
