/* slang.h - variational inference by natural gradients, from gradients of single examples: slang and vogn.
 *
 *     fab_slang_settings s = fab_slang_defaults();
 *     fab_infer *f;
 *     const fab_gauss *q;
 *
 *     s.K = 5;
 *     fab_infer_init_model(&f, fab_method_find("slang"), &s, fab_net_model(net), NULL, NULL);
 *     fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);                     // q->mu, q->F, q->psi: the precision
 *     fab_infer_free(f);
 *
 * "vogn" takes fab_vogn_settings and keeps the diagonal alone.
 *
 * Memory: D x (2 K + draws + 1) numbers and eight vectors of length D; with draws > 1, or a model that cannot multiply
 * its gradients, D x batch x draws more.  docs/methods/slang.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_SLANG_H
#define FABAYES_SLANG_H

#include "fabayes/infer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins as fab_model_settings (infer.h). */
typedef struct fab_vogn_settings {
    double alpha, beta;
    int64_t epochs, batch;
    double rate; /* of mu */
    int64_t seed, runs;

    double rate_precision; /* weight of a step in the precision */
    double decay;          /* both rates fall as t^-decay */
    double momentum;       /* weight of the past in the mean of the gradients */
    int64_t draws;         /* of theta in a step */
    double start; /* precision to begin with; auto: that of the prior, and the number of rows */
} fab_vogn_settings;

/* Begins as fab_vogn_settings. */
typedef struct fab_slang_settings {
    double alpha, beta;
    int64_t epochs, batch;
    double rate;
    int64_t seed, runs;
    double rate_precision, decay, momentum;
    int64_t draws;
    double start;

    int64_t K;      /* columns of F; auto: 5, at most D */
    double psi_min; /* floor of psi, relative to the diagonal of the precision */
} fab_slang_settings;

FAB_API fab_vogn_settings fab_vogn_defaults(void);
FAB_API fab_slang_settings fab_slang_defaults(void);

#ifdef __cplusplus
}
#endif
#endif
