/* normals.c - fab_random_normal: normal numbers by address, many at a time.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/random.h"
#include "la/cpu/ops.h"

void fab_random_normal(uint64_t seed, fab_purpose purpose, uint64_t stream, uint64_t index0,
                       int64_t n, fab_dtype type, void *out)
{
    fab_isa_current()->by_type[type == FAB_F32 ? FAB_F32 : FAB_F64].normals(seed, purpose, stream,
                                                                            index0, n, out);
}
