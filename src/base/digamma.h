/* digamma.h - the derivative of log Gamma.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_DIGAMMA_H
#define FAB_BASE_DIGAMMA_H

double fab_digamma(double x); /* x > 0 */

#endif
