/* em.h - batch EM factor analysis ([L] (19)-(20)).
 *
 * docs/methods/em.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_EM_H
#define FABAYES_EM_H

#include "fabayes/estim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_em_settings {
    int64_t D, K;
    int64_t expand;   /* parameter-expanded EM */
    double tol;       /* relative change of the log-likelihood */
    int64_t max_iter; /* EM steps */
    double psi_min;   /* floor of psi */
    int64_t seed;
} fab_em_settings;

FAB_API fab_em_settings fab_em_defaults(int64_t D, int64_t K);

#ifdef __cplusplus
}
#endif
#endif
