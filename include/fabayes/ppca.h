/* ppca.h - probabilistic PCA: factor analysis with one psi for all coordinates, in closed form.
 *
 * docs/methods/ppca.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_PPCA_H
#define FABAYES_PPCA_H

#include "fabayes/estim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_ppca_settings {
    int64_t D, K;
    int64_t svd;    /* 0 auto, 1 exact, 2 randomized */
    double psi_min; /* floor of psi */
    int64_t seed;
} fab_ppca_settings;

FAB_API fab_ppca_settings fab_ppca_defaults(int64_t D, int64_t K);

#ifdef __cplusplus
}
#endif
#endif
