/* random_ref.h - the normals of one block, in plain C: the meaning of fab_random_normal.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_RANDOM_REF_H
#define FAB_BASE_RANDOM_REF_H

#include "fabayes/random.h"

void fab_normal_pair_f64(const uint32_t bits[4], double out[2]); /* indices 2b, 2b + 1 */
void fab_normal_quad_f32(const uint32_t bits[4], float out[4]);  /* indices 4b .. 4b + 3 */

#endif
