/* example_rows.h - a model that fills the gradients of single examples as rows, as one that keeps them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_EXAMPLE_ROWS_H
#define FAB_MODEL_EXAMPLE_ROWS_H

#include "fabayes/model.h"

typedef struct fab_example_rows fab_example_rows;

/* Room for m->batch rows of D numbers.  Copies *m, borrows m->self until free.  Gives *r. */
fab_status fab_example_rows_create(fab_example_rows **r, const fab_model *m);
/* m with `examples` and `rows` made from its `gradients`.  Borrows r. */
fab_model fab_example_rows_model(fab_example_rows *r);
void fab_example_rows_free(fab_example_rows *r); /* takes NULL */

#endif
