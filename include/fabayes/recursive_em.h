/* recursive_em.h - recursive factor analysis in blocks: the default for a stream.
 *
 * One pass over the rows.  Each block of rows is absorbed into a Gaussian of a rank wider than K, which
 * is cut to K when the result is asked for.  docs/methods/recursive-em.md has the equations.
 *
 * Time O(D R (block + R)) per loop and block, no allocation per row; memory D (2 R + block + 8) numbers.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_RECURSIVE_EM_H
#define FABAYES_RECURSIVE_EM_H

#include "fabayes/estim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_recursive_em_settings {
    int64_t D, K;
    int64_t block;      /* rows absorbed at a time */
    int64_t inner;      /* EM loops per block */
    int64_t inner_rank; /* rank R kept inside */
    int64_t expand;     /* parameter-expanded EM */
    int64_t start;      /* 0 svd, 1 random */
    int64_t warmup;     /* rows the start is made from */
    double start_eps;   /* random start: share of the variance in F */
    int64_t centre;     /* 0 exact, 1 none: the rows have mean 0 */
    double forget;      /* weight of the past, per row */
    double psi_min;     /* floor of psi */
    double tol;         /* of the cut from R to K */
    int64_t max_iter;   /* of the cut */
    double memory;      /* MB for the block, when block is auto */
    int64_t seed;
} fab_recursive_em_settings;

FAB_API fab_recursive_em_settings fab_recursive_em_defaults(int64_t D, int64_t K);

#ifdef __cplusplus
}
#endif
#endif
