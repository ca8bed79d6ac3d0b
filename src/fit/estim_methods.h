/* estim_methods.h - the factor-analysis methods, for the list in src/fit/methods.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_ESTIM_METHODS_H
#define FAB_ESTIM_METHODS_H

#include "fabayes/fit.h"

extern const fab_method fab_recursive_em_method;
extern const fab_method fab_online_em_method;
extern const fab_method fab_stochastic_em_method;
extern const fab_method fab_online_sga_method;
extern const fab_method fab_ml_method;
extern const fab_method fab_em_method;
extern const fab_method fab_ppca_method;
extern const fab_method fab_pca_method;

#endif
