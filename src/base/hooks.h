/* hooks.h - progress of work that runs side by side.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_HOOKS_H
#define FAB_BASE_HOOKS_H

#include "base/memory.h"
#include <stdatomic.h>

/* Not 0: work that looks at it shall stop. */
typedef atomic_int fab_stop;

/* Progress of this thread no longer reaches the hook; it only asks `stop`.  NULL: as before. */
void fab_progress_quietly(fab_stop *stop);

/* Who watches now, to be set again later; NULL: nobody. */
fab_progress_fn *fab_get_progress(void **ctx);

#endif
