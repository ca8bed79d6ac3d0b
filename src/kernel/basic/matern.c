/* matern.c - 2^(1 - nu) / Gamma(nu) s^nu K_nu(s), s = sqrt(2 nu q), of any nu.
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/basic/basic.h"
#include "kernel/basic/bessel.h"

static void curve(const fab_leaf *f, int64_t n, const double *u, double *v, double *slope,
                  double *own)
{
    (void)own;
    const double nu = f->given;
    for (int64_t i = 0; i < n; i++) {
        double other;
        v[i] = fab_bessel_matern(nu, sqrt(2 * nu * u[i]), &other);
        if (slope) slope[i] = -nu * other; /* dB/ds ds/dq = -s other nu / s */
    }
}

const fab_basic fab_basic_matern = {.name = "matern",
                                    .shape = &fab_squares,
                                    .lengths = FAB_LENGTHS_ANY,
                                    .given = "nu",
                                    .given_lo = 1e-2,
                                    .given_hi = 100,
                                    .stationary = 1,
                                    .curve = curve};
