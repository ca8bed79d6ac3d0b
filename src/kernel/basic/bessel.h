/* bessel.h - the modified Bessel function of the second kind, of any order, scaled as Matern kernels have it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_KERNEL_BESSEL_H
#define FAB_KERNEL_BESSEL_H

/* B_nu(s) = 2^(1 - nu) / Gamma(nu) s^nu K_nu(s), s >= 0, 0 < nu <= 100: 1 at s = 0, and falling.
 * *other = 2^(1 - nu) / Gamma(nu) s^(nu - 1) K_(nu - 1)(s), so that dB/ds = -s *other; where it is infinite (s = 0,
 * nu <= 1) it is 0.  NULL: not wanted. */
double fab_bessel_matern(double nu, double s, double *other);

#endif
