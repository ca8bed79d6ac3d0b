/* laplace.h - what rows of another likelihood say of a Gaussian process, by Laplace's method.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_GP_LAPLACE_H
#define FAB_METHODS_GP_LAPLACE_H

#include "fabayes/model.h"
#include "train/evidence.h"

/* For a search of the evidence (train/evidence.h): ctx is the fab_glm, whose likelihood has one predictor and no noise. */
extern const fab_evidence_of fab_gp_laplace;

/* The process at the place that was asked about last.  Gives *p. */
fab_status fab_gp_laplace_process(void *self, fab_process **p);

#endif
