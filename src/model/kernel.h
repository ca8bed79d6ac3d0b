/* kernel.h - a Gaussian process as a model: what a file says of it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_KERNEL_H
#define FAB_MODEL_KERNEL_H

#include "fabayes/model.h"

/* {"kind": "gp", "kernel", "likelihood", "features", "beta"}: the kernel as it was asked for; what became of its parameters
 * is theta, which the file has beside it.  Gives *text: fab_text_free. */
fab_status fab_process_json(const fab_glm *m, const fab_kernel *k, char **text);
/* And back.  column: as many names of columns as the model has features, or NULL; D: how many there are, or the file is
 * refused.  Gives *k. */
fab_status fab_process_from_json(fab_glm *m, fab_kernel **k, const char *json, int64_t D,
                                 const char *const *column);

/* theta of the model: length, and where the logarithm of the noise precision stands; -1: it has none. */
int64_t fab_process_size(const fab_glm *m, const fab_kernel *k);
int64_t fab_process_noise_at(const fab_glm *m, const fab_kernel *k);

#endif
