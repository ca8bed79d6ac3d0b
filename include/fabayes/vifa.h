/* vifa.h - variational inference with a factor-analysis posterior, for any model with a gradient.
 *
 *     fab_vifa_settings s = fab_vifa_defaults();
 *     fab_infer *f;
 *     const fab_gauss *q;
 *
 *     s.K = 5;
 *     fab_infer_init_model(&f, fab_method_find("vifa"), &s, fab_net_model(net), NULL, NULL);
 *     fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);                     // N(q->mu, F F' + diag(psi))
 *     fab_infer_free(f);
 *
 * fab_inference.log_evidence is the evidence lower bound (ELBO).  A model's free coordinates (a learned log
 * noise precision) are points: q is then over part of theta.
 * Time a step: the model's gradients and O(D K) numbers; memory about D (2 K + 10) numbers with sgd, D (5 K + 14)
 * with adam.  docs/methods/vifa.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_VIFA_H
#define FABAYES_VIFA_H

#include "fabayes/infer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fab_vifa_optimiser {
    FAB_VIFA_SGD = 0,
    FAB_VIFA_ADAM,
    FAB_VIFA_NATURAL,
    FAB_VIFA_NEWTON, /* the curvature as a matrix: models with log-concave p, up to FAB_DENSE_MAX */
    FAB_VIFA_AUTO    /* newton for linear models of up to FAB_VIFA_SMALL coordinates, or adam */
} fab_vifa_optimiser;
enum { FAB_VIFA_SMALL = 128 };
typedef enum fab_vifa_entropy {
    FAB_VIFA_CLOSED = 0, /* gradients of prior and entropy in closed form, [T] (5.7)-(5.12) */
    FAB_VIFA_PATH /* sampled with the likelihood: less noise the nearer q is to the posterior */
} fab_vifa_entropy;
typedef enum fab_vifa_start {
    FAB_VIFA_ZERO = 0, /* c = 0 */
    FAB_VIFA_MODEL     /* c = the model's own start, or a given prior's mean */
} fab_vifa_start;

/* Begins as fab_model_settings (infer.h).  epochs, rate, draws, optimiser, rate_F, map_part and ramp_part may be auto:
 * fab_infer_settings has what was chosen for the model, fab_inference the epochs that its rows made of auto. */
typedef struct fab_vifa_settings {
    double alpha, beta;
    int64_t epochs, batch;
    double rate;
    int64_t seed, runs;

    int64_t K;
    int64_t draws;                    /* L, in a step; auto: 2, newton: 2 W + 1 */
    int64_t pairs;                    /* 1: draws come as h, z and -h, -z, on the same rows */
    int64_t shared;                   /* 1: all draws of a step see the same rows */
    int64_t entropy;                  /* fab_vifa_entropy */
    int64_t optimiser;                /* fab_vifa_optimiser */
    double rate_F, rate_psi;          /* in units of rate */
    double momentum, second, epsilon; /* of adam */
    double reach;                     /* of natural */
    int64_t schedule;                 /* fab_schedule (sgd.h) */
    double drop, drop_every, warmup;
    double clip;
    int64_t start;            /* fab_vifa_start */
    double start_sd, start_F; /* standard deviation of a coordinate; size of F in units of it */
    double map_part, ramp_part;
    double free_after;
} fab_vifa_settings;

FAB_API fab_vifa_settings fab_vifa_defaults(void);
/* K = 0: a diagonal. */
FAB_API fab_vifa_settings fab_meanfield_defaults(void);

/* The Gaussian q of rank K with the smallest KL(q || p), by Newton steps from `starts` places (the first D + 1 need no seed), in double, for
 * D up to FAB_DENSE_MAX.  With p the exact posterior of a linear model this is what vifa converges to.  Gives *q. */
FAB_API fab_status fab_vifa_optimum(fab_gauss **q, double *kl, const fab_gauss *p, int64_t K,
                                    int64_t starts, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
