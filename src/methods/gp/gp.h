/* gp.h - what a fit by gp says of its search: the tensor `search`.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_GP_H
#define FAB_METHODS_GP_H

/* In the order of the tensor. */
typedef struct fab_gp_search {
    double lml;    /* log evidence of all rows */
    double jitter; /* fab_process_jitter */
    double starts, optima, second, evaluations,
        rows; /* fab_evidence_report; second 0: there is one optimum */
    double at_bound, noise_at_bound, noise_given, converged;
} fab_gp_search;

enum { FAB_GP_SEARCH = sizeof(fab_gp_search) / sizeof(double) };

#endif
