/* study.c - one stream of the generator of [T] in one pass, and in shards that are merged:
 *
 *     study_merge METHOD D K LO HI ROWS SHARDS SEED
 *
 * prints METHOD,D,K,lo,hi,rows,shards,seed,error of one pass,error merged,kl,seconds of a pass,seconds to merge: the relative distance
 * of the covariance from the truth, and what the cut to K columns lost.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/fa_model.h"
#include "../common/study.h"
#include <fabayes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 500 };

static fab_factors *open_fit(const char *method, int64_t D, int64_t K)
{
    fab_factors *f;
    must(fab_factors_create(&f, &(fab_factors_plan){.D = D, .method = method, .K = K}, NULL));
    return f;
}

static fab_posterior *close_fit(fab_factors *f)
{
    fab_posterior *p;
    void *bytes;
    size_t size;
    must(fab_factors_pack(f, &bytes, &size));
    fab_factors_free(f);
    must(fab_posterior_parse(&p, "shard", bytes, size));
    fab_bytes_free(bytes);
    return p;
}

static double error_of(const fab_posterior *p, const fab_gauss *truth)
{
    double error;
    must(fab_distance_covariance(p->mix.part[0], truth, NULL, &error));
    return error;
}

int main(int argc, char **argv)
{
    if (argc != 9)
        return fputs("usage: study_merge METHOD D K LO HI ROWS SHARDS SEED\n", stderr), 2;
    const char *method = argv[1];
    const int64_t D = atoll(argv[2]), K = atoll(argv[3]), rows = atoll(argv[6]), S = atoll(argv[7]);
    const uint64_t seed = (uint64_t)atoll(argv[8]);
    fab_gauss *truth = fa_model(D, K, atof(argv[4]), atof(argv[5]), 0, seed);
    fab_factors *whole = open_fit(method, D, K), *shard = NULL;
    fab_posterior **part = calloc((size_t)S, sizeof *part), *all;
    const char **name = calloc((size_t)S, sizeof *name);
    double *x = malloc((size_t)(PIECE * D) * sizeof *x), seconds = 0;
    fab_merge_report r;
    if (!part || !name || !x) return 1;
    for (int64_t j = 0; j < S; j++) {
        const int64_t first = rows * j / S, end = rows * (j + 1) / S;
        shard = open_fit(method, D, K);
        name[j] = "shard";
        for (int64_t at = first; at < end; at += PIECE) {
            const int64_t n = end - at < PIECE ? end - at : PIECE;
            const fab_rows piece = {.p = x, .type = FAB_F64, .n = n, .ld = D};
            fa_model_rows(truth, seed, at, n, x);
            const double start = fab_clock();
            must(fab_factors_update(whole, &piece, NULL));
            seconds += fab_clock() - start;
            must(fab_factors_update(shard, &piece, NULL));
        }
        part[j] = close_fit(shard);
    }
    fab_posterior *one = close_fit(whole);
    const double start = fab_clock();
    must(fab_merge(&all, name, (const fab_posterior *const *)part, S, NULL, NULL, &r));
    printf("%s,%s,%s,%s,%s,%s,%s,%s,%.6g,%.6g,%.4g,%.3g,%.3g\n", method, argv[2], argv[3], argv[4],
           argv[5], argv[6], argv[7], argv[8], error_of(one, truth), error_of(all, truth), r.kl,
           seconds, fab_clock() - start);
    for (int64_t j = 0; j < S; j++) fab_posterior_free(part[j]);
    fab_posterior_free(one);
    fab_posterior_free(all);
    fab_gauss_free(truth);
    free(part);
    free(name);
    free(x);
    return 0;
}
