/* clusters.h - the inside of a clustering of a table: what its files share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_CLUSTERS_H
#define FAB_TABLE_CLUSTERS_H

#include "fabayes/table.h"

/* Free parameters of a mixture of n parts of D coordinates that m has found. */
double fab_clusters_parameters(const fab_method *m, const void *settings, int64_t n, int64_t D);

/* Does m assign a row to the nearest part, whatever their weights? */
int fab_clusters_nearest(const fab_method *m);

#endif
