/* lrvga.h - limited-memory recursive variational inference: a stream of examples in, a Gaussian out.
 *
 *     fab_lrvga_settings s = fab_lrvga_defaults(D, K);
 *     fab_infer *f;
 *     const fab_gauss *q;
 *
 *     s.likelihood = FAB_BERNOULLI;
 *     fab_infer_init(&f, fab_method_find("lrvga"), &s, NULL, NULL);
 *     while (next(&examples)) fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);                  // precision form, rank K
 *     fab_infer_free(f);
 *
 * One pass, no learning rate.  Each block of rows moves the mean and is absorbed into a precision of a
 * rank wider than K, which is cut to K when the result is asked for.  Gaussian, bernoulli, poisson
 * and categorical targets.  docs/methods/lrvga.md has the equations.  Networks and other models: the same
 * method with fab_lrvga_net_settings in fab_infer_init_model.
 *
 * Time O(D R (block + R)) per loop and block, no allocation per row; memory D (2 R + block + 5) numbers
 * (and `warmup` columns instead of `block` when the prior is to be chosen, and for GLMs).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_LRVGA_H
#define FABAYES_LRVGA_H

#include "fabayes/infer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_lrvga_settings {
    int64_t D;
    int64_t likelihood, classes, intercept;
    double alpha, beta, intercept_alpha;
    int64_t seed;
    int64_t K;           /* rank of the result; more than the length of theta: that */
    int64_t inner_rank;  /* rank R kept inside */
    int64_t block;       /* columns absorbed at a time: rows times classes */
    int64_t inner;       /* EM loops per block */
    int64_t expand;      /* parameter-expanded EM */
    int64_t cut;         /* fab_cut: back to rank R by EM or by eigenvectors */
    int64_t gain;        /* 0 previous, 1 paper */
    int64_t start;       /* 0 exact, 1 random */
    double start_eps;    /* random start: share of the prior in F */
    int64_t expectation; /* bernoulli: 0 probit, 1 quadrature, 2 sampled */
    int64_t draws;       /* of a sampled expectation */
    int64_t scheme;      /* GLMs: 0 implicit, 1 explicit, 2 extra-gradient, 3 mirror-prox */
    int64_t sweeps;      /* GLMs: times the rows of a block are looked at again */
    int64_t warmup;      /* rows of the first block */
    double forget;       /* weight of the past, per row */
    double psi_min;      /* floor of psi, relative to the prior */
    double tol;          /* of the cut from R to K */
    int64_t max_iter;    /* of the cut */
} fab_lrvga_settings;

FAB_API fab_lrvga_settings fab_lrvga_defaults(int64_t D, int64_t K);

/* The settings for networks and other models (fab_infer_init_model).  Begins as fab_sgd_settings (sgd.h). */
typedef struct fab_lrvga_net_settings {
    double alpha, beta;
    int64_t epochs, batch;
    double rate;
    int64_t seed, runs;
    int64_t optimiser;
    double momentum, second, epsilon;
    int64_t schedule;
    double drop, drop_every, warmup, clip, held_out;
    int64_t patience;

    int64_t start; /* 0 map: the first update is trained on; 1 model: everything is a stream */
    double posterior_alpha; /* map: prior precision of the posterior */
    int64_t K;              /* rank of the result, and of the recursion: as above */
    int64_t inner_rank;
    int64_t block; /* columns absorbed at a time: rows of the stream, rows times draws */
    int64_t inner;
    int64_t draws;  /* of theta whose curvature makes the precision; 0: that at the mean */
    int64_t scheme; /* 0 implicit, 1 explicit, 2 extra-gradient, 3 mirror-prox */
    int64_t looks;  /* implicit: times a block is looked at, at most */
    int64_t first;  /* model: rows of the first block */
    double forget;  /* as above, from here on */
    double psi_min;
    double tol;
    int64_t max_iter;
} fab_lrvga_net_settings;

FAB_API fab_lrvga_net_settings fab_lrvga_net_defaults(void);

#ifdef __cplusplus
}
#endif
#endif
