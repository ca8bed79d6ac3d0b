/* element.h - one number of F, whatever its type.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_POSTERIOR_ELEMENT_H
#define FAB_POSTERIOR_ELEMENT_H

#include "fabayes/gauss.h"

static inline double fab_gauss_get(const fab_gauss *q, int64_t at)
{
    return q->type == FAB_F32 ? (double)((const float *)q->F)[at] : ((const double *)q->F)[at];
}

static inline void fab_gauss_put(fab_gauss *q, int64_t at, double v)
{
    if (q->type == FAB_F32)
        ((float *)q->F)[at] = (float)v;
    else
        ((double *)q->F)[at] = v;
}

#endif
