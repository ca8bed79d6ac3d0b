/* spectral.h - what ppca and pca share: settings, verbs, and the leading eigenpairs of the sample covariance.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FA_SPECTRAL_H
#define FAB_FA_SPECTRAL_H

#include "methods/fa/batch.h"
#include "methods/fa/eigs.h"
#include "fabayes/methods.h"

enum { FAB_SVD_AUTO, FAB_SVD_EXACT, FAB_SVD_RANDOMIZED };
enum { FAB_WHOLE_UP_TO = 128 }; /* auto: the whole matrix up to this D */

extern const char *const fab_svd_names[4];

/* Is the whole matrix to be decomposed?  It is there when the table has at least D rows; `exact` is
 * refused without it. */
fab_status fab_spectral_choose(const char *who, int64_t svd, const fab_target *t, int *exact);

/* Bytes of the eigenpairs for n rows. */
double fab_spectral_bytes(int64_t D, int64_t K, int64_t n, int64_t svd);

/* The settings of both, a fab_ppca_settings. */
#define FAB_SPECTRAL_FIELDS(psi_help)                                                     \
    REQUIRED(K, I64, 1, 4096, "number of factors"),                                       \
        CHOICE(svd, FAB_SVD_AUTO, fab_svd_names,                                          \
               "eigenvectors from the whole matrix or a random subspace; auto: whole up " \
               "to D = 128; the whole needs at least D rows"),                            \
        FIELD(psi_min, F64, 1e-6, 1e-300, 0.5, psi_help),                                 \
        FIELD(seed, I64, 1, 0, 0x1p53, "seed of the random subspace"),                    \
        SWITCH(standardise, 0,                                                            \
               "of the correlations: columns are first divided by their standard deviations")

/* The row of such a method in the list of methods, but for its name and summary; it has table and init. */
#define FAB_SPECTRAL_VERBS                                                                   \
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS, .fields = &table, .init = init,          \
    .bytes = fab_spectral_fit_bytes, .update = fab_batch_update, .result = fab_batch_result, \
    .report = fab_batch_report, .free = fab_batch_free

fab_status fab_spectral_init(void **handle, const char *name,
                             fab_status (*solve)(fab_batch *b, const fab_target *t),
                             const fab_ppca_settings *s, const fab_input *in, const fab_exec *x);
double fab_spectral_fit_bytes(const void *settings, const fab_input *in, int64_t n,
                              const fab_exec *x);

/* Solve for the K leading pairs, of S or of its correlations, and hand them to `use`, with the sum of all eigenvalues; then
 * F and psi go back to the units of the columns. */
fab_status fab_spectral(fab_batch *b, const fab_target *t,
                        void (*use)(fab_batch *b, fab_eigs *e, double trace));

#endif
