/* synthetic.c - the linear regressions in two dimensions of [T] section 5.2.1 and B.2.
 *
 * SPDX-License-Identifier: MIT */
#include "synthetic.h"
#include "fabayes.h"
#include <math.h>

enum { X_STREAM = 1, THETA_STREAM = 2, NOISE_STREAM = 3 };

void synthetic_rows(uint64_t seed, double *x, double *y)
{
    double theta[2];
    fab_random_normal(seed, FAB_PURPOSE_DATA, X_STREAM, 0, 2 * SYNTHETIC_ROWS, FAB_F64, x);
    fab_random_normal(seed, FAB_PURPOSE_DATA, THETA_STREAM, 0, 2, FAB_F64, theta);
    fab_random_normal(seed, FAB_PURPOSE_DATA, NOISE_STREAM, 0, SYNTHETIC_ROWS, FAB_F64, y);
    for (int64_t i = 0; i < SYNTHETIC_ROWS; i++) {
        x[2 * i + 1] = 0.5 * x[2 * i] + sqrt(0.75) * x[2 * i + 1];
        y[i] /= sqrt(SYNTHETIC_BETA);
        for (int64_t d = 0; d < 2; d++) y[i] += x[2 * i + d] * theta[d] / sqrt(SYNTHETIC_ALPHA);
    }
}
