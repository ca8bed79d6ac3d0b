/* basic.c - the list of basic kernels.
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/basic/basic.h"

const fab_basic *const fab_basics[] = {
#define BASIC(name) &fab_basic_##name,
#include "kernel/basic/list.h"
#undef BASIC
};
const int64_t fab_basics_count = sizeof fab_basics / sizeof *fab_basics;
