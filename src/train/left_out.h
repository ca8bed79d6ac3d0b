/* left_out.h - is a colder posterior, likelihood and prior to the power 1/T, better for rows left out?  T = 1, 1/4, ..
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_LEFT_OUT_H
#define FAB_TRAIN_LEFT_OUT_H

#include <stdint.h>

#define FAB_COLDER  0.25 /* T by T */
#define FAB_COLDEST 0x1p-8

/* The mean of n numbers; weight: one for each, or NULL. */
double fab_left_out_mean(int64_t n, const double *weight, const double *density);

/* Do the log densities `now` of n rows gain over `base`, by `sure` standard errors of the mean gain and enough to be worth
 * it?  A row of weight 0 was not left out. */
int fab_left_out_gains(int64_t n, const double *weight, const double *now, const double *base,
                       double sure);

#endif
