/* pca.h - principal components as a Gaussian: the K leading ones, and psi at its floor.
 *
 * docs/methods/pca.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_PCA_H
#define FABAYES_PCA_H

#include "fabayes/estim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_pca_settings {
    int64_t D, K;
    int64_t svd;    /* 0 auto, 1 exact, 2 randomized */
    double psi_min; /* floor of psi */
    int64_t seed;
} fab_pca_settings;

FAB_API fab_pca_settings fab_pca_defaults(int64_t D, int64_t K);

#ifdef __cplusplus
}
#endif
#endif
