/* cuda.h - the one door of the plug-in libfabayes_cuda.so.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_CUDA_H
#define FAB_LA_CUDA_H

#include "la/ops.h"

/* The kernels of a card, by type; 0 and a sentence where there is no such card.  One card a process.  What the plug-in needs
 * of the host's memory it takes from `host`. */
typedef int fab_cuda_open_fn(int number, const fab_memory *host, const fab_ops *const **tables,
                             char *why, size_t size);
__attribute__((visibility("default"))) fab_cuda_open_fn fab_cuda_open;

#endif
