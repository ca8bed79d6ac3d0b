/* infer_methods.h - the methods of inference, for the list in src/fit/methods.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_INFER_METHODS_H
#define FAB_INFER_METHODS_H

#include "fabayes/fit.h"

extern const fab_method fab_exact_method;
extern const fab_method fab_ridge_method;
extern const fab_method fab_laplace_method;
extern const fab_method fab_laplace_net_method; /* under the name of laplace, for networks */
extern const fab_method fab_map_method;
extern const fab_method fab_kalman_method;
extern const fab_method fab_rvga_method;
extern const fab_method fab_lrvga_method;
extern const fab_method fab_lrvga_net_method; /* the same for networks */
extern const fab_method fab_sgd_method;
extern const fab_method fab_ensemble_method;
extern const fab_method fab_vifa_method;
extern const fab_method fab_meanfield_method;
extern const fab_method fab_swa_method;
extern const fab_method fab_swag_method;
extern const fab_method fab_multiswag_method;
extern const fab_method fab_iterate_averaging_method;
extern const fab_method fab_slang_method;
extern const fab_method fab_vogn_method;

#endif
