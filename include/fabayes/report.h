/* report.h - results as something to look at: plots in SVG, and a page of text, tables and plots.
 *
 *     fab_page *page;
 *     fab_page_create(&page, "A stream, read once");
 *     fab_page_text(page, "What was done.");
 *     fab_page_plot(page, &plot, "What the plot shows.");
 *     fab_page_write(page, "report/index.html");
 *     fab_page_free(page);
 *
 * A page needs no other file and no network; it and each plot are well-formed XML, are dark where the reader's screen is, and
 * can be read on a narrow one.  A drawing has a title and a description for those who do not see it, and says the numbers of
 * what the pointer rests on.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_REPORT_H
#define FABAYES_REPORT_H

#include "fabayes/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fab_curve_style {
    FAB_CURVE_LINE, /* through the points in their order; n = 1: a level, dashed across the plot at y[0] */
    FAB_CURVE_POINTS, /* a marker at each point */
    FAB_CURVE_BAND,   /* between y and upper, filled and half transparent; at least two points */
    FAB_CURVE_BARS    /* from y up to upper at each point, thin */
} fab_curve_style;

/* Bands are drawn first, then bars, points last; the colours follow the order of the curves. */
typedef struct fab_curve {
    const char *name; /* stands above the frame */
    const double *x, *y;
    int64_t n;
    fab_curve_style style;
    const double *upper; /* n, of a band or of bars, which have y as their lower edge; else NULL */
} fab_curve;

typedef struct fab_plot {
    const char *title, *x_label, *y_label;
    int64_t log_x, log_y; /* 1: a logarithmic axis; all its numbers are then > 0 */
    const fab_curve *curve;
    int64_t curves; /* 1 to 8 */
} fab_plot;

/* The plot as an <svg> element.  Gives a string: fab_text_free (settings.h).  A number that is not finite,
 * or not positive on a logarithmic axis, and a band whose edges cross are refused with the name of the curve. */
FAB_API fab_status fab_plot_svg(const fab_plot *p, char **svg);

/* Intervals beside names, one below the other, with a line at 0. */
typedef struct fab_forest {
    const char *title, *x_label;
    int64_t n; /* rows, at least 1 */
    const char *const *name;
    const double *mean, *lower, *upper; /* n each */
} fab_forest;
FAB_API fab_status fab_forest_svg(const fab_forest *f, char **svg);

/* A table of numbers as colours: those above 0 in one, those below in another, stronger the larger they are. */
typedef struct fab_heat {
    const char *title, *row_label, *column_label;
    int64_t rows, columns;                  /* at least 1; at most FAB_HEAT_COLUMNS columns */
    const char *const *row, *const *column; /* names */
    const double *value;                    /* rows x columns */
    double strongest; /* the size that has the full colour; 0: that of the largest value */
    double blank;     /* values of a smaller size are coloured and not written */
    int64_t decimals; /* of those written */
} fab_heat;
enum { FAB_HEAT_COLUMNS = 12 };
FAB_API fab_status fab_heat_svg(const fab_heat *h, char **svg);

typedef struct fab_page fab_page;

/* An empty page.  After an addition that failed the others do nothing, and write says so. */
FAB_API fab_status fab_page_create(fab_page **page, const char *title);
FAB_API void fab_page_free(fab_page *page); /* takes NULL */

/* A part of a page with several; the headings behind it stand under it. */
FAB_API void fab_page_part(fab_page *page, const char *text);
FAB_API void fab_page_heading(fab_page *page, const char *text);
FAB_API void fab_page_text(fab_page *page, const char *text);
FAB_API void fab_page_code(fab_page *page, const char *text); /* lines as they are */
/* rows x columns cells, row by row; the first row is the head.  Numbers are set to the right. */
FAB_API void fab_page_table(fab_page *page, const char *const *cell, int64_t rows, int64_t columns);
FAB_API fab_status fab_page_plot(fab_page *page, const fab_plot *plot, const char *caption);
FAB_API fab_status fab_page_forest(fab_page *page, const fab_forest *forest, const char *caption);
FAB_API fab_status fab_page_heat(fab_page *page, const fab_heat *heat, const char *caption);

/* Write the page, atomically. */
FAB_API fab_status fab_page_write(fab_page *page, const char *path);

#ifdef __cplusplus
}
#endif
#endif
