/* svg.h - what the drawings share: the head with its styles, axes, ticks, colours.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_REPORT_SVG_H
#define FAB_REPORT_SVG_H

#include "report/xml.h"
#include <stdint.h>

enum {
    FAB_SVG_WIDTH = 640,
    FAB_SVG_COLOURS = 8,
    FAB_SVG_TICKS = 32,
    FAB_SVG_LETTER = 10 /* room for a letter of a name, where the screen is narrow too */
};

/* Of Okabe and Ito, which also the colour-blind tell apart; lighter ones where the page is dark. */
extern const char *const fab_svg_colour[FAB_SVG_COLOURS];

typedef struct fab_axis {
    int64_t log;
    double lo, hi;              /* of what is plotted: log10 of the numbers on a logarithmic axis */
    double from, to;            /* in the picture */
    double tick[FAB_SVG_TICKS]; /* as numbers, not as their logarithms */
    int ticks;
    int whole; /* 1: nothing stands between two whole numbers, and no tick either */
} fab_axis;

/* An axis of nothing yet, from one place in the picture to another. */
fab_axis fab_axis_empty(int64_t log, double from, double to);
/* Make room for n numbers; one that has no place is refused with the name of its curve. */
fab_status fab_axis_widen(fab_axis *a, const double *v, int64_t n, const char *name);
/* Room around the numbers, `margin` of their range on each side, and ticks: 1, 2, 5 times a power of ten, `most` or
 * somewhat fewer; on a logarithmic axis of more than two decades the powers. */
void fab_axis_finish(fab_axis *a, double margin, int most);
double fab_axis_place(const fab_axis *a, double v);

/* 20000 -> "20 000", 0.05 -> "0.05", 1e-7 -> "1e-07" */
void fab_tick_text(double v, char *buf, size_t size);
/* The grid and the numbers of a horizontal axis, between two heights. */
void fab_svg_ticks_x(fab_text *out, const fab_axis *x, int top, int bottom);
/* Letters of a UTF-8 text; the first `most` of them, with an ellipsis for the last where there are more. */
int fab_svg_letters(const char *s);
void fab_svg_name(fab_text *out, const char *name, int most);

/* <svg>, the style, title and description for those who do not see it, and the title in the picture. */
void fab_svg_open(fab_text *out, int height, const char *title, const char *description);

#endif
