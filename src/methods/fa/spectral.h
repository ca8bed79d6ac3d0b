/* spectral.h - how ppca and pca get the leading eigenpairs of the sample covariance.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_ESTIM_SPECTRAL_H
#define FAB_ESTIM_SPECTRAL_H

#include "methods/fa/batch.h"
#include "methods/fa/eigs.h"

enum { FAB_SVD_AUTO, FAB_SVD_EXACT, FAB_SVD_RANDOMIZED };
enum { FAB_WHOLE_UP_TO = 128 }; /* auto: the whole matrix up to this D */

extern const char *const fab_svd_names[4];

/* Is the whole matrix to be decomposed?  It is there when the table has at least D rows; `exact` is
 * refused without it. */
fab_status fab_spectral_choose(const char *who, int64_t svd, const fab_target *t, int *exact);

/* Bytes of the eigenpairs for n rows. */
double fab_spectral_bytes(int64_t D, int64_t K, int64_t n, int64_t svd);

/* Solve for the K leading pairs and hand them to `use`, with the sum of all eigenvalues. */
fab_status fab_spectral(fab_batch *b, const fab_target *t, int64_t svd, int64_t seed,
                        void (*use)(fab_batch *b, fab_eigs *e, double trace));

#endif
