/* ggn.h - the generalised Gauss-Newton matrix of a model: the curvature of its likelihood without that of its outputs.
 *
 *     sum_i w_i J_i' Lambda_i J_i,     J_i = d outputs / d theta (outputs x D),  Lambda_i = E[-d^2 log p / d outputs^2]
 *
 *     gaussian      beta; where the log noise is a second output also 1/2; of Student's t (nu + 1) / (nu + 3) beta
 *                   and nu / (nu + 3) / 2
 *     bernoulli     p (1 - p)             poisson   the mean
 *     categorical   diag(p) - p p'
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_GGN_H
#define FAB_MODEL_GGN_H

#include "fabayes/model.h"

/* The noise precision of a learned or computed logarithm: no more than beta_most. */
double fab_glm_beta(const fab_glm *g, double log_beta);
/* The noise precision of a gaussian row with these outputs: an output, a coordinate of theta, or a fixed number. */
double fab_model_beta(const fab_model *m, const double *theta, const double *out);

/* Of -log p by the log noise precision, expected: 1/2, or less of Student's t; 0 where there is no noise. */
double fab_glm_noise_curvature(const fab_glm *g);

/* Has the model what the rows need?  The sentence starts with `who`. */
fab_status fab_ggn_check(const char *who, const fab_model *m);

/* R_i (outputs x outputs) of each of n examples with R_i' R_i = w_i Lambda_i; out: n x outputs, overwritten.  FAB_NUMERIC
 * names the example whose curvature is no number. */
fab_status fab_ggn_roots(const fab_model *m, const double *theta, const fab_examples *e,
                         double *out, double *R);

/* Row i outputs + o of S, D numbers of the model's type ld apart: together they have S'S = the matrix of these examples,
 * at most m->batch of them.  A learned noise, the free coordinate, has the column 0: its curvature is w_i times
 * fab_glm_noise_curvature, apart from the rest.  out: n x outputs, overwritten with weights.  FAB_NUMERIC names the example whose curvature is no number. */
fab_status fab_ggn_rows(const fab_model *m, const double *theta, const fab_examples *e, double *out,
                        void *S, int64_t ld);

#endif
