/* calibration.h - what rows left out of a fit say of its predictions (table.h says what, calibration.c how).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_CALIBRATION_H
#define FAB_TABLE_CALIBRATION_H

#include "fabayes/table.h"

/* The way of a name, NULL: none.  Gives a text that stays. */
fab_status fab_calibration_find(const char *name, const char **way);

/* Before the fit: take the rows out of the table of r, as its plan says.  After it: let them speak. */
fab_status fab_calibration_split(fab_regression *r);
fab_status fab_calibration_run(fab_regression *r);

/* The temperature for n rows of log probabilities (n x classes) and their classes; weight NULL: 1. */
fab_status fab_calibration_temperature(int64_t classes, int64_t n, const double *logp,
                                       const double *y, const double *weight, fab_calibration *c);
/* The quantiles of n scores, which are sorted. */
fab_status fab_calibration_quantiles(int64_t n, double *score, fab_calibration *c);

/* Log probabilities (n x classes) at a temperature, in place. */
fab_status fab_calibration_heat(const fab_calibration *c, int64_t classes, int64_t n, double *logp);
/* Conformal intervals and their coverage. */
/* The quantile of intervals of this level; 0: 90 %.  FAB_BAD_ARGUMENT: there is none. */
fab_status fab_calibration_level(const fab_calibration *c, double level, double *quantile);
void fab_calibration_intervals(const fab_calibration *c, fab_target target, double quantile,
                               fab_predictions *p);
/* Conformal sets and their coverage; makes p->set. */
fab_status fab_calibration_sets(const fab_calibration *c, fab_predictions *p);

/* As it stands in a file.  finished 0: of a fit that has not ended, without its numbers.  Gives a string: fab_text_free.
 * Reading trusts nothing. */
fab_status fab_calibration_json(const fab_calibration *c, int finished, char **text);
fab_status fab_calibration_from_json(const char *json, fab_target target, fab_calibration *c,
                                     int *finished);

#endif
