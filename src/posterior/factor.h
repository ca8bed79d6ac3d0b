/* factor.h - the K x K factor that every use of F F' + diag(psi) starts from.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_POSTERIOR_FACTOR_H
#define FAB_POSTERIOR_FACTOR_H

#include "la/ops.h"

/* L lower triangular with L L' = I + F' w F, over all processes; w: n weights >= 0.  *refine is 1 when
 * the Gram had lost columns and a solution deserves a step of refinement. */
fab_status fab_factor(const fab_run *r, const fab_long *F, const double *w, double *L,
                      double *scratch, int *refine);

/* Doubles of scratch. */
int64_t fab_factor_scratch(int64_t K);

/* Li = L'^-1 */
void fab_factor_invert(int64_t K, const double *L, double *Li);

#endif
