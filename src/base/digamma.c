/* digamma.c - the derivative of log Gamma, for positive numbers.
 *
 *   1  psi(x) = psi(x + 1) - 1 / x, until x is at least ENOUGH
 *   2  psi(x) = log x - 1 / (2 x) - sum_k B_2k / (2 k x^2k), whose first term left out is below 1e-17 there
 *
 * SPDX-License-Identifier: MIT */
#include "base/digamma.h"
#include <math.h>

#define ENOUGH 12.0

double fab_digamma(double x)
{
    /* B_2k / (2 k), k = 1 .. 7 */
    static const double series[] = {1.0 / 12,  -1.0 / 120,       1.0 / 252, -1.0 / 240,
                                    1.0 / 132, -691.0 / 32760.0, 1.0 / 12};
    double below = 0, tail = 0;
    for (; x < ENOUGH; x++) below += 1 / x; /* 1 */
    const double inverse = 1 / (x * x);
    for (int k = 6; k >= 0; k--) tail = (tail + series[k]) * inverse; /* 2 */
    return log(x) - 0.5 / x - tail - below;
}
