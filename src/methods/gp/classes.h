/* classes.h - what rows of several classes say of as many Gaussian processes, by Laplace's method.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_GP_CLASSES_H
#define FAB_METHODS_GP_CLASSES_H

#include "fabayes/model.h"
#include "kernel/classes.h"
#include "train/evidence.h"

/* For a search of the evidence (train/evidence.h): ctx is the fab_glm, whose likelihood is categorical. */
extern const fab_evidence_of fab_gp_classes;

/* The processes at the place that was asked about last.  Gives *p. */
fab_status fab_gp_classes_process(void *self, fab_class_process **p);

/* n x n matrices that stand at once. */
int64_t fab_gp_classes_squares(int64_t classes);

#endif
