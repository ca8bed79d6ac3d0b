/* sgd.h - the mode of the posterior of any model, by stochastic gradients: how networks are trained.
 *
 *     fab_sgd_settings s = fab_sgd_defaults();
 *     fab_infer *f;
 *     const fab_gauss *q;
 *
 *     s.epochs = 200;
 *     fab_infer_init_model(&f, fab_method_find("sgd"), &s, fab_net_model(net), NULL, NULL);
 *     fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);                     // q->mu is theta, a point
 *     fab_infer_free(f);
 *
 * Memory: three vectors of length D and the optimiser's (none, one or two), one batch, and 16 bytes a row.
 * docs/methods/sgd.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_SGD_H
#define FABAYES_SGD_H

#include "fabayes/infer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fab_optimiser { FAB_SGD = 0, FAB_NESTEROV, FAB_ADAM, FAB_ADAMW } fab_optimiser;
typedef enum fab_schedule {
    FAB_CONSTANT = 0, /* rate */
    FAB_STEPS,        /* times drop after every drop_every of the run */
    FAB_COSINE,       /* down to 0 along half a cosine */
    FAB_ONE_CYCLE     /* up along a line for `warmup` of the run, then down along half a cosine */
} fab_schedule;

/* Begins as fab_model_settings (infer.h). */
typedef struct fab_sgd_settings {
    double alpha, beta;
    int64_t epochs, batch;
    double rate;
    int64_t seed, runs;

    int64_t optimiser;       /* fab_optimiser */
    double momentum;         /* of nesterov; the first moment of adam */
    double second;           /* the second moment of adam */
    double epsilon;          /* of adam */
    int64_t schedule;        /* fab_schedule */
    double drop, drop_every; /* of steps */
    double warmup;           /* of one-cycle */
    double clip;             /* largest norm of a gradient; 0: any */
    double held_out;         /* part of the rows kept for the score that stops the run */
    int64_t patience;        /* epochs without a better score before it stops */
} fab_sgd_settings;

FAB_API fab_sgd_settings fab_sgd_defaults(void);

#ifdef __cplusplus
}
#endif
#endif
