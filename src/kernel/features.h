/* features.h - features of a kernel from a JSON object that was read already.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_KERNEL_FEATURES_H
#define FAB_KERNEL_FEATURES_H

#include "base/json.h"
#include "fabayes/kernel.h"

/* Features that were asked for: nystrom may have found fewer. */
int64_t fab_features_asked(const fab_features *f);
/* Were they asked for so?  Of nystrom orthogonal and seed do not count. */
int fab_features_same(const fab_features *f, int64_t m, int64_t orthogonal, uint64_t seed);

/* Of nystrom: the landmarks, m x D; lent until free. */
const double *fab_features_landmarks(const fab_features *f);

/* As fab_features_from_json. */
fab_status fab_features_read(fab_features **f, const json_t *o, int64_t D,
                             const char *const *column);

#endif
