/* page.h - the pages of `report`: what of a fit is drawn and said.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "data.h"
#include "print/output.h"

/* What the call asks for. */
typedef struct page_call {
    const char *file;  /* of the fit */
    data_options data; /* .file NULL: none */
    fab_predict_plan how;
    fab_rotation_kind rotation; /* of a factor analysis */
    const char *reference;      /* levels that coefficients are against, or NULL */
    fab_page *page;
    int64_t figures;
} page_call;

/* The parts of a page.  Exit statuses, said. */
int page_regression(page_call *c, const fab_posterior *p);
int page_factors(page_call *c, const fab_posterior *p);
int page_clusters(page_call *c, const fab_posterior *p);
/* The learning curve of a stream, where the file has one. */
int page_stream(page_call *c, const fab_posterior *p);
/* How good the predictions of DATA are: scores, and the drawings of the kind of target. */
int page_predictions(page_call *c, fab_regression *r, const fab_predictions *p);

/* Drawings are counted. */
int page_plot(page_call *c, const fab_plot *plot, const char *caption);
int page_forest(page_call *c, const fab_forest *forest, const char *caption);
int page_heat(page_call *c, const fab_heat *heat, const char *caption);

/* Cells of a table, one after the other; start from zeros.  A failure is kept until `cells_show`, which draws the rows and
 * frees them. */
typedef struct cells {
    char **text;
    int64_t n, room;
    int failed;
} cells;
void cells_add(cells *t, const char *format, ...) CLI_PRINTF(2, 3);
int cells_show(page_call *c, cells *t, int64_t columns);

#endif
