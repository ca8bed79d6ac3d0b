/* swag.h - averages of a training run, and the Gaussian of its iterates: swa and swag.
 *
 *     fab_swag_settings s = fab_swag_defaults();
 *     fab_infer *f;
 *     const fab_gauss *q;
 *
 *     s.epochs = 200;                              // training, as sgd does it
 *     s.average = 100;                             // then so many epochs at swag_rate, which are averaged
 *     fab_infer_init_model(&f, fab_method_find("swag"), &s, fab_net_model(net), NULL, NULL);
 *     fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);                     // q->mu, q->F, q->psi: the covariance
 *     fab_infer_free(f);
 *
 * "swa" takes fab_swa_settings and gives the mean of the iterates alone, a point.  "multiswag" (five runs, mixed) and
 * "iterate-averaging" (means over windows) are swag with other defaults.
 *
 * Memory: that of sgd, two or three vectors of length D, and D x 2 K numbers (columns by a method: what that needs).  docs/methods/swag.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_SWAG_H
#define FABAYES_SWAG_H

#include "fabayes/sgd.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fab_swag_columns {
    FAB_LAST = 0,        /* the last K deviations from the running mean */
    FAB_BY_RECURSIVE_EM, /* K factors of all iterates, by this method */
    FAB_BY_ONLINE_EM,
    FAB_BY_STOCHASTIC_EM,
    FAB_BY_ONLINE_SGA
} fab_swag_columns;

/* Begins as fab_sgd_settings. */
typedef struct fab_swa_settings {
    double alpha, beta;
    int64_t epochs, batch;
    double rate;
    int64_t seed, runs;
    int64_t optimiser;
    double momentum, second, epsilon;
    int64_t schedule;
    double drop, drop_every, warmup, clip, held_out;
    int64_t patience;

    int64_t average;  /* epochs that are averaged */
    double swag_rate; /* learning rate in them, constant */
    int64_t every;    /* steps between two iterates kept; auto: an epoch */
    int64_t window;   /* 1: keep the mean of these steps instead of the last theta */
} fab_swa_settings;

/* Begins as fab_swa_settings. */
typedef struct fab_swag_settings {
    double alpha, beta;
    int64_t epochs, batch;
    double rate;
    int64_t seed, runs;
    int64_t optimiser;
    double momentum, second, epsilon;
    int64_t schedule;
    double drop, drop_every, warmup, clip, held_out;
    int64_t patience;
    int64_t average;
    double swag_rate;
    int64_t every, window;

    int64_t K;       /* columns of F; 0: the diagonal alone; auto: 20, at most D */
    int64_t columns; /* fab_swag_columns */
    double scale;    /* of the covariance */
    double psi_min;  /* floor of psi */
} fab_swag_settings;

FAB_API fab_swa_settings fab_swa_defaults(void);
FAB_API fab_swag_settings fab_swag_defaults(void);

#ifdef __cplusplus
}
#endif
#endif
