/* examples.h - parts of a set of examples.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_EXAMPLES_H
#define FAB_MODEL_EXAMPLES_H

#include "base/rows.h"
#include "fabayes/model.h"
#include <stddef.h>

/* Examples first .. first + n - 1, in the memory of *e. */
static inline fab_examples fab_examples_part(const fab_examples *e, int64_t first, int64_t n)
{
    return (fab_examples){.x = fab_rows_part(&e->x, first, n),
                          .y = e->y ? e->y + first : NULL,
                          .weight = e->weight ? e->weight + first : NULL,
                          .offset = e->offset ? e->offset + first : NULL};
}

#endif
