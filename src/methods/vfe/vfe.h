/* vfe.h - what a fit by vfe, dtc or fitc says of its search: the tensor `search`.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_VFE_H
#define FAB_METHODS_VFE_H

/* In the order of the tensor. */
typedef struct fab_vfe_search {
    double bound; /* of all rows: the bound of vfe, the approximate log evidence of dtc and fitc */
    double is_bound; /* 1: of vfe */
    double jitter;
    double rows;                                /* learned and appended */
    double asked;                               /* inducing inputs that were asked for */
    double starts, optima, second, evaluations, /* of the exact evidence of some rows: */
        searched;                               /* so many; second 0: there is one optimum */
    double steps;                               /* evaluations of the bound */
    double at_bound, noise_at_bound, noise_given, converged;
} fab_vfe_search;

enum { FAB_VFE_SEARCH = sizeof(fab_vfe_search) / sizeof(double) };

#endif
