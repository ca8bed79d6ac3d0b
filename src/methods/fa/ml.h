/* ml.h - the search for the maximum of the likelihood, for methods that have a target of their own.
 *
 *     fab_ml_init(&b, "online-ml", D, &settings, x);
 *     fab_target_init_matrix(&t, ..);
 *     fab_batch_solve(b, &t);                             // b->q, b->report
 *     fab_target_free(&t);
 *     fab_batch_free(b);
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FA_ML_H
#define FAB_FA_ML_H

#include "fabayes/methods.h"
#include "methods/fa/batch.h"
#include "methods/fa/spectral.h"

/* A batch handle whose solve is the search of ml.c.  `name` speaks in sentences and stays. */
fab_status fab_ml_init(fab_batch **b, const char *name, int64_t D, const fab_ml_settings *s,
                       const fab_exec *x);

/* The same from one start: for a file that is written on the way. */
fab_status fab_ml_solve_once(fab_batch *b, const fab_target *t);

/* Bytes that it and its target take for n rows. */
double fab_ml_bytes(int64_t D, int64_t n, const fab_ml_settings *s, const fab_exec *x);

/* The rows of the settings that ml and online-ml share. */
#define FAB_ML_FIELDS                                                                              \
    REQUIRED(K, I64, 1, 4096, "number of factors"),                                                \
        CHOICE(svd, FAB_SVD_AUTO, fab_svd_names,                                                   \
               "eigenvectors from the whole matrix or a random subspace; auto: whole up to D = "   \
               "128; the whole needs at least D rows"),                                            \
        AUTOMATIC(                                                                                 \
            starts, I64, 1, 1000,                                                                  \
            "starting points; the best end is kept; auto: 10 up to D = 128, above 3, or 10 where " \
            "these end apart; up to D = 64 single coordinates are also moved to their floor and "  \
            "back"),                                                                               \
        FIELD(tol, F64, 1e-12, 0, 1,                                                               \
              "stop when the log-likelihood of the standardised columns changes by less, "         \
              "relative"),                                                                         \
        FIELD(max_iter, I64, 500, 1, 1e6, "evaluations of the likelihood per start"),              \
        FIELD(psi_min, F64, 1e-6, 1e-300, 0.5,                                                     \
              "floor of psi, relative to the coordinate's variance"),                              \
        FIELD(seed, I64, 1, 0, 0x1p53, "seed of the random subspace and the further starts")

#endif
