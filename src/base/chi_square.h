/* chi_square.h - the chi-square distribution, of one centre or another.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_CHI_SQUARE_H
#define FAB_BASE_CHI_SQUARE_H

/* P(X > x) of `dof` > 0 degrees of freedom. */
double fab_chi_square_above(double dof, double x);

/* P(X <= x) where the mean is dof + away, away >= 0: the noncentral distribution. */
double fab_chi_square_below(double dof, double away, double x);

/* The `away` at which P(X <= x) is p; 0 where it is less than p even then. */
double fab_chi_square_away(double dof, double x, double p);

#endif
