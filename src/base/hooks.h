/* hooks.h - progress of work that runs side by side.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_HOOKS_H
#define FAB_BASE_HOOKS_H

#include <stdatomic.h>

/* Not 0: work that looks at it shall stop. */
typedef atomic_int fab_stop;

/* Progress of this thread no longer reaches the hook; it only asks `stop`.  NULL: as before. */
void fab_progress_quietly(fab_stop *stop);

#endif
