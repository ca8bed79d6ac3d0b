/* spectral.h - how ppca and pca get the leading eigenpairs of the sample covariance.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_ESTIM_SPECTRAL_H
#define FAB_ESTIM_SPECTRAL_H

#include "estim/batch.h"
#include "estim/eigs.h"

enum { FAB_SVD_AUTO, FAB_SVD_EXACT, FAB_SVD_RANDOMIZED };
enum { FAB_WHOLE_UP_TO = 128 }; /* auto: the whole matrix up to this D */

extern const char *const fab_svd_names[4];

/* Is the whole matrix to be decomposed? */
int fab_spectral_exact(int64_t svd, int64_t D);

/* Solve for the K leading pairs and hand them to `use`, with the sum of all eigenvalues. */
fab_status fab_spectral(fab_batch *b, const fab_target *t, int64_t svd, int64_t seed,
                        void (*use)(fab_batch *b, fab_eigs *e, double trace));

#endif
