/* plot.c - lines, points, bars and bands in a frame, as SVG.
 *
 *   1  the range of all numbers on each axis, widened to room around the curves; ticks
 *   2  the names above the frame, each behind a sample of its curve, as many in a line as have room
 *   3  the bands, then the bars, then the lines, then the points
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "fabayes/report.h"
#include "report/svg.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    PLOT = 316, /* height of the frame */
    LEFT = 84,
    RIGHT = 16,
    TOP = 38,
    BOTTOM = 58,
    CURVES = FAB_SVG_COLOURS,
    KEY = 16,       /* a sample of a curve in front of its name */
    LINE_STEP = 22, /* between two lines of names */
    HOVER = 64      /* points of a line that say their numbers; of longer ones the last */
};
#define MARKER 3.0 /* radius of a point */

static const char *const *const colour = fab_svg_colour;

typedef struct picture {
    const fab_plot *p;
    fab_axis x, y;
    int top, bottom, height; /* of the frame; of the whole */
    fab_text out;
} picture;

/* ---- the axes ------------------------------------------------------------------------------------- */

static fab_status check_band(const fab_curve *c)
{
    for (int64_t i = 0; i < c->n; i++)
        if (c->upper[i] < c->y[i])
            return FAB_FAIL(FAB_BAD_DATA,
                            "plot: the band '%s' goes from %g up to %g at point %" PRId64, c->name,
                            c->y[i], c->upper[i], i);
    return FAB_OK;
}

static fab_status check_curve(const fab_curve *c)
{
    const int style = (int)c->style, band = style == FAB_CURVE_BAND;
    const int bars = style == FAB_CURVE_BARS;
    if (c->n < 1) return FAB_FAIL(FAB_BAD_ARGUMENT, "plot: '%s' has no points", c->name);
    if (style < FAB_CURVE_LINE || style > FAB_CURVE_BARS)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "plot: '%s' has style %d, which there is not", c->name,
                        style);
    if ((band || bars) && !c->upper)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "plot: the %s '%s' has no upper edge",
                        band ? "band" : "curve of bars", c->name);
    if (!band && !bars && c->upper)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "plot: '%s' has an upper edge and is no band", c->name);
    if (band && c->n < 2)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "plot: the band '%s' has 1 point, expected 2 or more",
                        c->name);
    return FAB_OK;
}

static int is_level(const fab_curve *c)
{
    return c->style == FAB_CURVE_LINE && c->n == 1;
}

/* Checks the curve and makes room for it. */
static fab_status take_curve(picture *g, const fab_curve *c)
{
    FAB_TRY(check_curve(c));
    if (!is_level(c)) FAB_TRY(fab_axis_widen(&g->x, c->x, c->n, c->name));
    FAB_TRY(fab_axis_widen(&g->y, c->y, c->n, c->name));
    if (!c->upper) return FAB_OK;
    FAB_TRY(fab_axis_widen(&g->y, c->upper, c->n, c->name));
    return check_band(c);
}

/* 2: how many lines the names take; where each begins. */
static int lay_names(const fab_plot *p, int line[CURVES], int x[CURVES])
{
    int at = LEFT, lines = 0;
    for (int64_t i = 0; i < p->curves; i++) {
        const int width = KEY + 6 + FAB_SVG_LETTER * fab_svg_letters(p->curve[i].name) + 14;
        if (at > LEFT && at + width > FAB_SVG_WIDTH) {
            at = LEFT;
            lines++;
        }
        line[i] = lines;
        x[i] = at;
        at += width;
    }
    return lines + 1;
}

/* Factors, epochs, rows: whole numbers along x. */
static int are_whole(const fab_plot *p)
{
    for (int64_t i = 0; i < p->curves; i++)
        for (int64_t j = 0; j < p->curve[i].n && !is_level(&p->curve[i]); j++)
            if (p->curve[i].x[j] != floor(p->curve[i].x[j])) return 0;
    return 1;
}

static fab_status find_axes(picture *g)
{
    const fab_plot *p = g->p;
    g->x = fab_axis_empty(p->log_x, LEFT, FAB_SVG_WIDTH - RIGHT);
    g->y = fab_axis_empty(p->log_y, g->bottom, g->top);
    for (int64_t i = 0; i < p->curves; i++) FAB_TRY(take_curve(g, &p->curve[i]));
    if (!(g->x.hi >= g->x.lo)) g->x.lo = g->x.hi = p->log_x ? 0 : 1; /* levels alone */
    g->x.whole = are_whole(p);
    fab_axis_finish(&g->x, 0.02, 5);
    fab_axis_finish(&g->y, 0.06, 6);
    return FAB_OK;
}

/* ---- drawing -------------------------------------------------------------------------------------- */

static void draw_ticks(picture *g)
{
    char text[64];
    fab_svg_ticks_x(&g->out, &g->x, g->top, g->bottom);
    for (int i = 0; i < g->y.ticks; i++) {
        const double y = fab_axis_place(&g->y, g->y.tick[i]);
        fab_tick_text(g->y.tick[i], text, sizeof text);
        fab_text_add(&g->out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>",
                     LEFT, FAB_SVG_WIDTH - RIGHT, y, y);
        fab_text_add(&g->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 8,
                     y + 4.5, text);
    }
}

static void draw_labels(picture *g)
{
    fab_text *t = &g->out;
    fab_text_add(t, "<path class=\"axis\" d=\"M%d %d V%d H%d\"/>\n", LEFT, g->top, g->bottom,
                 FAB_SVG_WIDTH - RIGHT);
    fab_text_add(t, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
                 (LEFT + FAB_SVG_WIDTH - RIGHT) / 2, g->height - 12);
    fab_xml_add(t, g->p->x_label);
    fab_text_add(
        t, "</text>\n<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\">",
        (g->top + g->bottom) / 2);
    fab_xml_add(t, g->p->y_label);
    fab_text_add(t, "</text>\n");
}

static void add_point(picture *g, double x, double y)
{
    fab_text_add(&g->out, "%.2f,%.2f ", fab_axis_place(&g->x, x), fab_axis_place(&g->y, y));
}

static void draw_level(picture *g, int64_t i)
{
    const double y = fab_axis_place(&g->y, g->p->curve[i].y[0]);
    fab_text_add(
        &g->out,
        "<line class=\"level\" stroke=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%.2f\" y2=\"%.2f\"/>\n",
        colour[i], LEFT, FAB_SVG_WIDTH - RIGHT, y, y);
}

static void draw_line(picture *g, int64_t i)
{
    const fab_curve *c = &g->p->curve[i];
    if (is_level(c)) {
        draw_level(g, i);
        return;
    }
    fab_text_add(&g->out, "<polyline class=\"curve\" stroke=\"%s\" points=\"", colour[i]);
    for (int64_t j = 0; j < c->n; j++) add_point(g, c->x[j], c->y[j]);
    fab_text_add(&g->out, "\"/>\n");
    for (int64_t j = c->n > HOVER ? c->n - 1 : 0; j < c->n; j++)
        fab_text_add(&g->out,
                     "<circle fill=\"%s\" r=\"%g\" cx=\"%.2f\" cy=\"%.2f\"><title>%.4g, "
                     "%.4g</title></circle>\n",
                     colour[i], j == c->n - 1 ? 3.5 : 2.2, fab_axis_place(&g->x, c->x[j]),
                     fab_axis_place(&g->y, c->y[j]), c->x[j], c->y[j]);
}

static void draw_points(picture *g, int64_t i)
{
    const fab_curve *c = &g->p->curve[i];
    fab_text_add(&g->out, "<g class=\"points\" fill=\"%s\">\n", colour[i]);
    for (int64_t j = 0; j < c->n; j++)
        fab_text_add(
            &g->out,
            "<circle r=\"%g\" cx=\"%.2f\" cy=\"%.2f\"><title>%.4g, %.4g</title></circle>\n", MARKER,
            fab_axis_place(&g->x, c->x[j]), fab_axis_place(&g->y, c->y[j]), c->x[j], c->y[j]);
    fab_text_add(&g->out, "</g>\n");
}

/* Along the lower edge and back along the upper one. */
static void draw_band(picture *g, int64_t i)
{
    const fab_curve *c = &g->p->curve[i];
    fab_text_add(&g->out, "<polygon class=\"band\" fill=\"%s\" points=\"", colour[i]);
    for (int64_t j = 0; j < c->n; j++) add_point(g, c->x[j], c->y[j]);
    for (int64_t j = c->n - 1; j >= 0; j--) add_point(g, c->x[j], c->upper[j]);
    fab_text_add(&g->out, "\"/>\n");
}

/* From y up to upper, at each point. */
static void draw_bars(picture *g, int64_t i)
{
    const fab_curve *c = &g->p->curve[i];
    fab_text_add(&g->out, "<g class=\"bars\" stroke=\"%s\">\n", colour[i]);
    for (int64_t j = 0; j < c->n; j++) {
        const double x = fab_axis_place(&g->x, c->x[j]);
        fab_text_add(&g->out,
                     "<line x1=\"%.2f\" x2=\"%.2f\" y1=\"%.2f\" y2=\"%.2f\"><title>%.4g: %.4g to "
                     "%.4g</title></line>\n",
                     x, x, fab_axis_place(&g->y, c->y[j]), fab_axis_place(&g->y, c->upper[j]),
                     c->x[j], c->y[j], c->upper[j]);
    }
    fab_text_add(&g->out, "</g>\n");
}

/* 3 */
static void draw_curves(picture *g)
{
    static const struct {
        fab_curve_style style;
        void (*draw)(picture *g, int64_t i);
    } layer[] = {{FAB_CURVE_BAND, draw_band},
                 {FAB_CURVE_BARS, draw_bars},
                 {FAB_CURVE_LINE, draw_line},
                 {FAB_CURVE_POINTS, draw_points}};
    for (size_t k = 0; k < sizeof layer / sizeof *layer; k++)
        for (int64_t i = 0; i < g->p->curves; i++)
            if (g->p->curve[i].style == layer[k].style) layer[k].draw(g, i);
}

/* A sample of curve i, KEY wide, in front of its name. */
static void draw_key(picture *g, int64_t i, int x, int y)
{
    const fab_curve *c = &g->p->curve[i];
    if (c->style == FAB_CURVE_BAND)
        fab_text_add(&g->out, "<path class=\"band\" fill=\"%s\" d=\"M%d %d h%d v10 h-%d z\"/>\n",
                     colour[i], x, y - 5, KEY, KEY);
    else if (c->style == FAB_CURVE_POINTS)
        fab_text_add(&g->out, "<circle fill=\"%s\" r=\"%g\" cx=\"%d\" cy=\"%d\"/>\n", colour[i],
                     MARKER, x + KEY / 2, y);
    else if (c->style == FAB_CURVE_BARS)
        fab_text_add(&g->out, "<path class=\"bars\" stroke=\"%s\" d=\"M%d %d v12\"/>\n", colour[i],
                     x + KEY / 2, y - 6);
    else
        fab_text_add(&g->out, "<path class=\"%s\" stroke=\"%s\" d=\"M%d %d h%d\"/>\n",
                     is_level(c) ? "level" : "curve", colour[i], x, y, KEY);
}

/* 2 */
static void draw_names(picture *g)
{
    int line[CURVES] = {0}, x[CURVES] = {0};
    lay_names(g->p, line, x);
    for (int64_t i = 0; i < g->p->curves; i++) {
        const int y = TOP + 10 + LINE_STEP * line[i];
        draw_key(g, i, x[i], y);
        fab_text_add(&g->out, "<text class=\"name\" fill=\"%s\" x=\"%d\" y=\"%d\">", colour[i],
                     x[i] + KEY + 6, y + 5);
        fab_xml_add(&g->out, g->p->curve[i].name);
        fab_text_add(&g->out, "</text>\n");
    }
}

/* For those who do not see it: what is drawn, against what, from where to where. */
static void describe(const picture *g, char *buf, size_t size)
{
    const fab_plot *p = g->p;
    size_t used = (size_t)snprintf(buf, size, "%s against %s:", p->y_label, p->x_label);
    for (int64_t i = 0; i < p->curves && used < size; i++) {
        const fab_curve *c = &p->curve[i];
        double lo = c->y[0], hi = c->y[0];
        for (int64_t j = 0; j < c->n; j++) {
            const double top = c->upper ? c->upper[j] : c->y[j];
            if (c->y[j] < lo) lo = c->y[j];
            if (top > hi) hi = top;
        }
        used += (size_t)snprintf(buf + used, size - used, "%s %s from %.4g to %.4g", i ? ";" : "",
                                 c->name, lo, hi);
    }
}

static void draw(picture *g)
{
    char description[1000];
    describe(g, description, sizeof description);
    fab_svg_open(&g->out, g->height, g->p->title, description);
    draw_ticks(g);
    draw_labels(g);
    draw_curves(g);
    draw_names(g);
    fab_text_add(&g->out, "</svg>\n");
}

fab_status fab_plot_svg(const fab_plot *p, char **svg)
{
    picture g = {.p = p};
    *svg = NULL;
    if (p->curves < 1 || p->curves > CURVES)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "plot: %" PRId64 " curves, expected 1 to %d", p->curves,
                        CURVES);
    int line[CURVES], x[CURVES];
    g.top = TOP + LINE_STEP * lay_names(p, line, x) + 8;
    g.bottom = g.top + PLOT;
    g.height = g.bottom + BOTTOM;
    FAB_TRY(find_axes(&g));
    draw(&g);
    return fab_text_give(&g.out, svg);
}
