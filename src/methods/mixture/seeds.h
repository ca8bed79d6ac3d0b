/* seeds.h - rows that are centroids to begin with.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MIXTURE_SEEDS_H
#define FAB_MIXTURE_SEEDS_H

#include "la/centres.h"
#include "fabayes/methods.h"

typedef struct fab_seeds {
    const fab_centres *c; /* D, threads, room */
    const fab_rows *x;
    const double *weight; /* n, > 0; NULL: 1 */
    int64_t G;
    int64_t how; /* fab_kmeans_start */
    uint64_t seed, stream;
    const char *who;
    double *room; /* fab_seeds_room(n, G, D) numbers */
} fab_seeds;

int64_t fab_seeds_room(int64_t n, int64_t G, int64_t D);

/* mu: G x D.  FAB_BAD_DATA: fewer than G distinct rows.  *potential: sum_i w_i |x_i - nearest seed|^2, NULL: not asked for (rows do
 * not say). */
fab_status fab_seeds_choose(const fab_seeds *s, double *mu, double *potential);

#endif
