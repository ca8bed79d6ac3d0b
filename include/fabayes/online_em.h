/* online_em.h - online expectation-maximisation: factor analysis of a stream, one row at a time.
 *
 *     fab_online_em_settings s = fab_online_em_defaults(D, K);
 *     fab_estim *e;
 *     const fab_gauss *q;
 *
 *     fab_estim_init(&e, fab_method_find("online-em"), &s, NULL);
 *     while (next(&rows)) fab_estim_update(e, &rows);
 *     fab_estim_result(e, &q);
 *     fab_estim_free(e);
 *
 * Time O(D K^2), one read and one write of a D x K array, and no allocation per row; memory
 * D (2 K + 2) elements and 6 D doubles.  docs/methods/online-em.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_ONLINE_EM_H
#define FABAYES_ONLINE_EM_H

#include "fabayes/estim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_online_em_settings {
    int64_t D, K;
    int64_t warmup; /* rows before the first M-step */
    int64_t expand; /* parameter-expanded M-step */
    int64_t start;  /* 0 orthonormal, 1 draft, 2 variance */
    int64_t centre; /* 0 exact, 1 running */
    double forget;  /* weight of the past, per row */
    double psi_min; /* floor of psi */
    int64_t seed;
} fab_online_em_settings;

FAB_API fab_online_em_settings fab_online_em_defaults(int64_t D, int64_t K);

#ifdef __cplusplus
}
#endif
#endif
