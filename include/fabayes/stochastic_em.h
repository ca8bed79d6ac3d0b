/* stochastic_em.h - stochastic EM of Cappe and Moulines: factor analysis of a stream whose step sizes
 * t^-power forget the first rows, with averaged results.
 *
 *     fab_stochastic_em_settings s = fab_stochastic_em_defaults(D, K);
 *     s.average_from = T / 2;                   // T rows are to come
 *     fab_estim_init(&e, fab_method_find("stochastic-em"), &s, NULL);
 *
 * Time O(D K^2), one read and one write of a D x K array a row (two of them once averages are taken) and
 * no allocation; memory D (3 K + 2) elements and 7 D doubles.  docs/methods/stochastic-em.md has the
 * equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_STOCHASTIC_EM_H
#define FABAYES_STOCHASTIC_EM_H

#include "fabayes/estim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_stochastic_em_settings {
    int64_t D, K;
    double power;         /* step size t^-power */
    int64_t average_from; /* rows after which results are averaged; 0: never */
    int64_t warmup;       /* rows before the first M-step */
    int64_t start;        /* 0 orthonormal, 1 draft, 2 variance */
    int64_t centre;       /* 0 exact, 1 running */
    double psi_min;       /* floor of psi */
    int64_t seed;
} fab_stochastic_em_settings;

FAB_API fab_stochastic_em_settings fab_stochastic_em_defaults(int64_t D, int64_t K);

#ifdef __cplusplus
}
#endif
#endif
