/* plot.c - lines, points and bands in a frame, as SVG.
 *
 *   1  the range of all numbers on each axis, widened to room around the curves
 *   2  ticks: 1, 2, 5 times a power of ten; on a logarithmic axis of more than two decades the powers
 *   3  the bands, then the lines, then the points, in the colours of Okabe and Ito, which also the
 *      colour-blind tell apart
 *   4  the names beside the ends of the curves, pushed apart where they would overlap, each behind a
 *      sample of its curve
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "fabayes/report.h"
#include "report/xml.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    WIDTH = 820,
    HEIGHT = 440,
    LEFT = 78,
    RIGHT = 168,
    TOP = 46,
    BOTTOM = 58,
    CURVES = 8,
    TICKS = 32,
    GAP = 10, /* between the frame and the names */
    KEY = 16  /* a sample of a curve in front of its name */
};
#define LINE_STEP 17.0 /* between two names */
#define MARKER    2.6  /* radius of a point */

static const char *const colour[CURVES] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                           "#56B4E9", "#E69F00", "#000000", "#7F7F7F"};

typedef struct axis {
    int64_t log;
    double lo, hi;      /* of what is plotted: log10 of the numbers on a logarithmic axis */
    double from, to;    /* in the picture */
    double tick[TICKS]; /* as numbers, not as their logarithms */
    int ticks;
} axis;

typedef struct picture {
    const fab_plot *p;
    axis x, y;
    fab_text out;
} picture;

static double place(const axis *a, double v)
{
    const double u = a->log ? log10(v) : v;
    return a->from + (a->to - a->from) * (u - a->lo) / (a->hi - a->lo);
}

/* ---- the axes ------------------------------------------------------------------------------------- */

static fab_status widen(axis *a, const double *v, int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i]) || (a->log && !(v[i] > 0)))
            return FAB_FAIL(FAB_BAD_DATA, "plot: '%s' has %g at point %" PRId64 "%s", name, v[i], i,
                            a->log ? " of a logarithmic axis" : "");
        const double u = a->log ? log10(v[i]) : v[i];
        if (u < a->lo) a->lo = u;
        if (u > a->hi) a->hi = u;
    }
    return FAB_OK;
}

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
    if (c->n < 1) return FAB_FAIL(FAB_BAD_ARGUMENT, "plot: '%s' has no points", c->name);
    if (style < FAB_CURVE_LINE || style > FAB_CURVE_BAND)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "plot: '%s' has style %d, which there is not", c->name,
                        style);
    if (band && !c->upper)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "plot: the band '%s' has no upper edge", c->name);
    if (!band && c->upper)
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
    if (!is_level(c)) FAB_TRY(widen(&g->x, c->x, c->n, c->name));
    FAB_TRY(widen(&g->y, c->y, c->n, c->name));
    if (c->style != FAB_CURVE_BAND) return FAB_OK;
    FAB_TRY(widen(&g->y, c->upper, c->n, c->name));
    return check_band(c);
}

static void add_tick(axis *a, double v)
{
    const double u = a->log ? log10(v) : v, slack = 1e-9 * (a->hi - a->lo);
    if (u >= a->lo - slack && u <= a->hi + slack && a->ticks < TICKS) a->tick[a->ticks++] = v;
}

static void linear_ticks(axis *a)
{
    const double rough = (a->hi - a->lo) / 6, power = pow(10, floor(log10(rough)));
    const double step = power * (rough > 5 * power   ? 10
                                 : rough > 2 * power ? 5
                                 : rough > power     ? 2
                                                     : 1);
    for (double i = ceil(a->lo / step - 1e-9); i * step <= a->hi + 1e-9 * step; i++)
        add_tick(a, i * step);
}

static void log_ticks(axis *a)
{
    const double decades = a->hi - a->lo, each = ceil(decades / 10);
    for (double d = floor(a->lo); d <= a->hi; d += decades > 10 ? each : 1) {
        add_tick(a, pow(10, d));
        if (decades > 2.2) continue;
        add_tick(a, 2 * pow(10, d));
        add_tick(a, 5 * pow(10, d));
    }
}

/* 1, 2 */
static void finish_axis(axis *a, double margin)
{
    if (!(a->hi > a->lo)) {
        const double half = a->log || a->lo == 0 ? 0.5 : fabs(a->lo) / 2;
        a->lo -= half;
        a->hi += half;
    }
    const double room = margin * (a->hi - a->lo);
    a->lo -= room;
    a->hi += room;
    if (a->log)
        log_ticks(a);
    else
        linear_ticks(a);
}

static fab_status find_axes(picture *g)
{
    const fab_plot *p = g->p;
    g->x = (axis){p->log_x, INFINITY, -INFINITY, LEFT, WIDTH - RIGHT, {0}, 0};
    g->y = (axis){p->log_y, INFINITY, -INFINITY, HEIGHT - BOTTOM, TOP, {0}, 0};
    for (int64_t i = 0; i < p->curves; i++) FAB_TRY(take_curve(g, &p->curve[i]));
    if (!(g->x.hi >= g->x.lo)) g->x.lo = g->x.hi = p->log_x ? 0 : 1; /* levels alone */
    finish_axis(&g->x, 0.02);
    finish_axis(&g->y, 0.06);
    return FAB_OK;
}

/* ---- drawing -------------------------------------------------------------------------------------- */

/* 20000 -> "20 000", 0.05 -> "0.05", 1e-7 -> "1e-07" */
static void tick_text(double v, char *buf, size_t size)
{
    if (fabs(v) >= 10000 && fabs(v) < 1e9 && v == floor(v))
        snprintf(buf, size, fabs(v) >= 1e6 ? "%.0f %03.0f %03.0f" : "%.0f %03.0f",
                 fabs(v) >= 1e6 ? trunc(v / 1e6) : trunc(v / 1e3),
                 fabs(v) >= 1e6 ? fmod(trunc(fabs(v) / 1e3), 1e3) : fmod(fabs(v), 1e3),
                 fmod(fabs(v), 1e3));
    else
        snprintf(buf, size, "%.6g", fabs(v) < 1e-300 ? 0 : v);
}

static void draw_ticks(picture *g)
{
    char text[64];
    for (int i = 0; i < g->x.ticks; i++) {
        const double x = place(&g->x, g->x.tick[i]);
        tick_text(g->x.tick[i], text, sizeof text);
        fab_text_add(&g->out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>",
                     x, x, TOP, HEIGHT - BOTTOM);
        fab_text_add(&g->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x,
                     HEIGHT - BOTTOM + 20, text);
    }
    for (int i = 0; i < g->y.ticks; i++) {
        const double y = place(&g->y, g->y.tick[i]);
        tick_text(g->y.tick[i], text, sizeof text);
        fab_text_add(&g->out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>",
                     LEFT, WIDTH - RIGHT, y, y);
        fab_text_add(&g->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 9,
                     y + 4.5, text);
    }
}

static void draw_labels(picture *g)
{
    fab_text *t = &g->out;
    const int middle = (LEFT + WIDTH - RIGHT) / 2, height = (TOP + HEIGHT - BOTTOM) / 2;
    fab_text_add(t, "<path class=\"axis\" d=\"M%d %d V%d H%d\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
                 WIDTH - RIGHT);
    fab_text_add(t, "<text class=\"title\" x=\"%d\" y=\"24\">", LEFT);
    fab_xml_add(t, g->p->title);
    fab_text_add(t, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", middle,
                 HEIGHT - 14);
    fab_xml_add(t, g->p->x_label);
    fab_text_add(
        t, "</text>\n<text transform=\"translate(20 %d) rotate(-90)\" text-anchor=\"middle\">",
        height);
    fab_xml_add(t, g->p->y_label);
    fab_text_add(t, "</text>\n");
}

static void add_point(picture *g, double x, double y)
{
    fab_text_add(&g->out, "%.2f,%.2f ", place(&g->x, x), place(&g->y, y));
}

static void draw_level(picture *g, int64_t i)
{
    const double y = place(&g->y, g->p->curve[i].y[0]);
    fab_text_add(
        &g->out,
        "<line class=\"level\" stroke=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%.2f\" y2=\"%.2f\"/>\n",
        colour[i], LEFT, WIDTH - RIGHT, y, y);
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
    fab_text_add(&g->out, "<circle fill=\"%s\" r=\"3.5\" cx=\"%.2f\" cy=\"%.2f\"/>\n", colour[i],
                 place(&g->x, c->x[c->n - 1]), place(&g->y, c->y[c->n - 1]));
}

static void draw_points(picture *g, int64_t i)
{
    const fab_curve *c = &g->p->curve[i];
    fab_text_add(&g->out, "<g class=\"points\" fill=\"%s\">\n", colour[i]);
    for (int64_t j = 0; j < c->n; j++)
        fab_text_add(&g->out, "<circle r=\"%g\" cx=\"%.2f\" cy=\"%.2f\"/>\n", MARKER,
                     place(&g->x, c->x[j]), place(&g->y, c->y[j]));
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

/* 3 */
static void draw_curves(picture *g)
{
    static const struct {
        fab_curve_style style;
        void (*draw)(picture *g, int64_t i);
    } layer[] = {
        {FAB_CURVE_BAND, draw_band}, {FAB_CURVE_LINE, draw_line}, {FAB_CURVE_POINTS, draw_points}};
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; i < g->p->curves; i++)
            if (g->p->curve[i].style == layer[k].style) layer[k].draw(g, i);
}

/* Height of the last point; of a band, half way between its edges. */
static double end_of(const picture *g, const fab_curve *c)
{
    const double y = place(&g->y, c->y[c->n - 1]);
    return c->style == FAB_CURVE_BAND ? (y + place(&g->y, c->upper[c->n - 1])) / 2 : y;
}

/* A sample of curve i, KEY wide, in front of its name. */
static void draw_key(picture *g, int64_t i, double y)
{
    const fab_curve *c = &g->p->curve[i];
    const int x = WIDTH - RIGHT + GAP;
    if (c->style == FAB_CURVE_BAND)
        fab_text_add(&g->out, "<path class=\"band\" fill=\"%s\" d=\"M%d %.1f h%d v10 h-%d z\"/>\n",
                     colour[i], x, y - 5, KEY, KEY);
    else if (c->style == FAB_CURVE_POINTS)
        fab_text_add(&g->out, "<circle fill=\"%s\" r=\"%g\" cx=\"%d\" cy=\"%.1f\"/>\n", colour[i],
                     MARKER, x + KEY / 2, y);
    else
        fab_text_add(&g->out, "<path class=\"%s\" stroke=\"%s\" d=\"M%d %.1f h%d\"/>\n",
                     is_level(c) ? "level" : "curve", colour[i], x, y, KEY);
}

/* 4: from top to bottom, each at least a line below the one above; then back up from the lower edge */
static void draw_names(picture *g)
{
    int64_t order[CURVES];
    double y[CURVES];
    const int64_t n = g->p->curves;
    for (int64_t i = 0; i < n; i++) {
        const double at = end_of(g, &g->p->curve[i]);
        int64_t j = i;
        for (; j > 0 && y[j - 1] > at; j--) y[j] = y[j - 1], order[j] = order[j - 1];
        y[j] = at;
        order[j] = i;
    }
    for (int64_t i = 1; i < n; i++)
        if (y[i] < y[i - 1] + LINE_STEP) y[i] = y[i - 1] + LINE_STEP;
    double edge = HEIGHT - BOTTOM;
    for (int64_t i = n - 1; i >= 0; i--, edge -= LINE_STEP)
        if (y[i] > edge) y[i] = edge;
    for (int64_t i = 0; i < n; i++) {
        draw_key(g, order[i], y[i]);
        fab_text_add(&g->out, "<text class=\"name\" fill=\"%s\" x=\"%d\" y=\"%.1f\">",
                     colour[order[i]], WIDTH - RIGHT + GAP + KEY + 6, y[i] + 4.5);
        fab_xml_add(&g->out, g->p->curve[order[i]].name);
        fab_text_add(&g->out, "</text>\n");
    }
}

static void draw(picture *g)
{
    fab_text_add(
        &g->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
        "font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"13\" fill=\"#404855\">\n",
        WIDTH, HEIGHT);
    fab_text_add(&g->out,
                 "<style>.grid { stroke: #e2e5ea; } .axis { stroke: #8a93a1; fill: none; } "
                 ".curve { fill: none; stroke-width: 2.4; stroke-linejoin: round; } "
                 ".band { fill-opacity: 0.25; } "
                 ".level { stroke-width: 1.8; stroke-dasharray: 7 5; } "
                 ".title { font-size: 15px; font-weight: 600; fill: #1d2330; } "
                 ".name { font-weight: 600; }</style>\n");
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
    FAB_TRY(find_axes(&g));
    draw(&g);
    return fab_text_give(&g.out, svg);
}
