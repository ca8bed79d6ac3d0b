/* groups.h - clusters whose number grows: means, sums about a point, weights and numbers of rows.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MIXTURE_GROUPS_H
#define FAB_MIXTURE_GROUPS_H

#include "base/memory.h"

typedef struct fab_groups {
    int64_t D, n, room;
    double *mu;          /* n x D */
    double *sums;        /* n x D: of w (x - about) */
    double *counts;      /* n: of w */
    int64_t *rows;       /* n */
    const double *about; /* D: a point near the rows, borrowed */
} fab_groups;

/* No clusters; room that there is stays. */
void fab_groups_reset(fab_groups *c, int64_t D, const double *about);
void fab_groups_free(fab_groups *c);

/* One more at mu, without rows.  Room grows by doubling; on failure all is as it was. */
fab_status fab_groups_add(fab_groups *c, const double *mu, const char *who);

/* All rows leave; the means stay. */
void fab_groups_empty(fab_groups *c);
/* Row x of weight w enters cluster k; of weight -w: leaves it. */
void fab_groups_count(fab_groups *c, int64_t k, double w, const double *x);
/* mu_k = the mean of its rows, where there are any. */
void fab_groups_centre(fab_groups *c, int64_t k);

/* Clusters without rows go; place[k] (n): the new number of cluster k. */
void fab_groups_pack(fab_groups *c, int64_t *place);

#endif
