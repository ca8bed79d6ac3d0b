/* laplace.h - Laplace's approximation of a generalised linear model or a network: the mode and the curvature there.
 *
 *     fab_laplace_settings s = fab_laplace_defaults(D);
 *     s.likelihood = FAB_BERNOULLI;
 *     fab_infer_init(&f, fab_method_find("laplace"), &s, NULL, NULL);
 *
 * Up to FAB_LAPLACE_MAX coordinates: Newton's method, the full curvature (covariance form, exact), the log
 * evidence, and alpha by maximising it; memory about 6 P^2 numbers.  Above: Newton's steps by conjugate
 * gradients, the curvature at rank K plus diagonal (precision form), an estimate of the evidence; memory about
 * P (3 K + 44).  The prior may be any Gaussian.  `map` has the same settings and gives the mode alone.
 *
 * A network, or any model with functions `predict` and `jacobian`, has settings of its own:
 *
 *     fab_laplace_net_settings s = fab_laplace_net_defaults();
 *     fab_infer_init_model(&f, fab_method_find("laplace"), &s, fab_net_model(net), NULL, NULL);
 *
 * Its mode is found by training, as sgd does it, and its curvature is the generalised Gauss-Newton matrix; the same
 * limit, forms and memory.  Predictions are best linearised (fab_draws_linearise).  docs/methods/laplace.md has the
 * equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_LAPLACE_H
#define FABAYES_LAPLACE_H

#include "fabayes/sgd.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FAB_LAPLACE_MAX = 2000 };

typedef struct fab_laplace_settings {
    int64_t D;
    int64_t likelihood;
    int64_t classes;
    int64_t intercept;
    double alpha;           /* auto: by the Laplace evidence */
    double beta;            /* gaussian: given */
    double intercept_alpha; /* prior precision of intercepts */
    int64_t seed;           /* of the start at rank K and of the estimate of the evidence */
    int64_t K; /* rank of the curvature; auto: full up to FAB_LAPLACE_MAX coordinates, 20 above */
    int64_t inner;    /* EM loops that bring the curvature to rank K, at most */
    double rank_tol;  /* they end when psi changes by less */
    double tol;       /* of the search for the mode, in nats */
    int64_t max_iter; /* Newton steps */
} fab_laplace_settings;

FAB_API fab_laplace_settings fab_laplace_defaults(int64_t D);

/* Of networks and other models.  Begins as fab_sgd_settings. */
typedef struct fab_laplace_net_settings {
    double alpha; /* auto: by the Laplace evidence, and beta where the noise is learned */
    double beta;
    int64_t epochs, batch;
    double rate;
    int64_t seed, runs;
    int64_t optimiser;
    double momentum, second, epsilon;
    int64_t schedule;
    double drop, drop_every, warmup, clip, held_out;
    int64_t patience;

    int64_t rounds;     /* alpha auto: times that it is chosen and training goes on */
    int64_t again;      /* epochs of training after each */
    int64_t last_layer; /* 1: its weights alone are uncertain */
    int64_t K; /* rank of the curvature; auto: full up to FAB_LAPLACE_MAX coordinates, 20 above */
    int64_t inner;   /* EM loops that bring the curvature to rank K, at most */
    double rank_tol; /* they end when psi changes by less */
} fab_laplace_net_settings;

FAB_API fab_laplace_net_settings fab_laplace_net_defaults(void);

#ifdef __cplusplus
}
#endif
#endif
