/* centroids.h - centroids as a mixture: part k is N(mu_k, v I) with one v for all, its weight the share of its rows.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MIXTURE_CENTROIDS_H
#define FAB_MIXTURE_CENTROIDS_H

#include "base/memory.h"
#include "fabayes/gauss.h"
#include "fabayes/methods.h"

typedef struct fab_centroids {
    int64_t D, n, room;
    fab_gauss **part; /* room of them, n in use */
    double *weight;   /* room */
    fab_mixture q;
    int64_t floored;
} fab_centroids;

/* Room for n parts; more of them keeps those that are there.  On failure it is as it was. */
fab_status fab_centroids_make(fab_centroids *c, int64_t D, int64_t n, const char *who);
void fab_centroids_free(fab_centroids *c);
double fab_centroids_bytes(int64_t D, int64_t n);

/* The mixture of n centroids mu (n x D) with these counts, v = cost / (sum of the counts D), but at least `floor` times the
 * mean variance `scale` of the columns (where that is 0: times the mean square of the centroids, or 1).  Lends *q. */
void fab_centroids_set(fab_centroids *c, int64_t n, const double *mu, const double *counts,
                       double cost, double scale, double floor, const fab_mixture **q);

/* Where a method begins that was told where: the means of in->start, G x D.  A sentence where it has other parts. */
fab_status fab_centroids_start(const fab_input *in, int64_t G, const char *who, double *mu);

#endif
