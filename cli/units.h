/* units.h - the posterior of a linear model as a Gaussian in the user's units.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_UNITS_H
#define CLI_UNITS_H

#include "linear.h"

/* May it be brought to the user's units?  Means of columns mix every coefficient into the intercept: that is
 * done densely, up to FAB_DENSE_MAX coordinates. */
int units_allow(const linear *l);
/* Gives *g: fab_gauss_free.  An exit status, said. */
int units_gauss(fab_gauss **g, const linear *l);

#endif
