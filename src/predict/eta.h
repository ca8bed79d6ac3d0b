/* eta.h - what predictions of one linear predictor and of several share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_PREDICT_ETA_H
#define FAB_PREDICT_ETA_H

#include "fabayes/gauss.h"
#include "fabayes/model.h"

enum { FAB_PREDICT_ROWS = 256 }; /* at a time */

/* Do Gaussian, model and rows belong together? */
fab_status fab_predict_check(const fab_gauss *q, const fab_glm *m, const fab_rows *x);

/* Rows first .. first + n - 1, one after the other, with a 1 behind the features where there is an
 * intercept. */
void fab_predict_gather(const fab_glm *m, const fab_rows *x, int64_t first, int64_t n,
                        double *rows);

/* FAB_NUMERIC with a sentence that names a row of x whose predictors are no finite numbers, and its largest feature. */
fab_status fab_predict_no_number(const fab_glm *m, const fab_rows *x, int64_t row);

#endif
