/* online_sga.h - online stochastic gradient ascent: factor analysis of a stream by gradient steps.
 *
 *     fab_online_sga_settings s = fab_online_sga_defaults(D, K);
 *     s.rate = 0.01;
 *     fab_estim_init(&e, fab_method_find("online-sga"), &s, NULL);
 *
 * Time O(D K^2) and no allocation per row; memory D (K + 2) elements and 9 D doubles.
 * docs/methods/online-sga.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_ONLINE_SGA_H
#define FABAYES_ONLINE_SGA_H

#include "fabayes/estim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_online_sga_settings {
    int64_t D, K;
    double rate;    /* learning rate */
    int64_t warmup; /* rows before the first step */
    int64_t start;  /* 0 orthonormal, 1 draft, 2 variance */
    int64_t centre; /* 0 exact, 1 running */
    double psi_min; /* floor of psi */
    int64_t seed;
} fab_online_sga_settings;

FAB_API fab_online_sga_settings fab_online_sga_defaults(int64_t D, int64_t K);

#ifdef __cplusplus
}
#endif
#endif
