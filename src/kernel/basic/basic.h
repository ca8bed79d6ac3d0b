/* basic.h - what every basic kernel includes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_KERNEL_BASIC_H
#define FAB_KERNEL_BASIC_H

#include "kernel/kernel.h"
#include "kernel/pairs.h"
#include "la/nn.h"
#include <math.h>

#define BASIC(name) extern const fab_basic fab_basic_##name;
#include "kernel/basic/list.h"
#undef BASIC

/* v = exp(s x) of n numbers, where s x is 0 or less. */
static inline void fab_decay(int64_t n, double s, const double *x, double *v)
{
    fab_nn_find(FAB_F64)->decay(n, s, x, v);
}

#endif
