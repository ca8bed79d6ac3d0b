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

/* v = exp(v), of numbers that are 0 or less. */
static inline void fab_exps_below(int64_t n, double *v)
{
    for (int64_t i = 0; i < n; i++)
        if (v[i] < -700) v[i] = -700; /* 1e-304 */
    fab_nn_find(FAB_F64)->exps(n, v, v);
}

#endif
