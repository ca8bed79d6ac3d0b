/* list.h - the basic kernels, one line each.
 *
 * SPDX-License-Identifier: MIT */
BASIC(rbf)
BASIC(matern12)
BASIC(matern32)
BASIC(matern52)
BASIC(matern)
BASIC(rq)
BASIC(periodic)
BASIC(linear)
BASIC(poly)
BASIC(const)
