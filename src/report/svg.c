/* svg.c - what the drawings share: the head with its styles, axes, ticks, colours.
 *
 * Sizes are those of a picture 640 wide.  On a narrow screen the picture shrinks and its letters grow, so that both can be
 * read; places of texts leave room for that.
 *
 * SPDX-License-Identifier: MIT */
#include "report/svg.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const fab_svg_colour[FAB_SVG_COLOURS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                     "#56B4E9", "#E69F00", "#000000", "#7F7F7F"};
static const char *const on_dark[FAB_SVG_COLOURS] = {"#5CB3F0", "#FF8A4C", "#35C79A", "#E79CC5",
                                                     "#8FD0F5", "#F2BC4A", "#FFFFFF", "#A9A9A9"};

enum { TITLE = 54 }; /* letters that have room on a narrow screen */

/* ---- axes ----------------------------------------------------------------------------------------- */

fab_axis fab_axis_empty(int64_t log, double from, double to)
{
    return (fab_axis){log, INFINITY, -INFINITY, from, to, {0}, 0, 0};
}

double fab_axis_place(const fab_axis *a, double v)
{
    const double u = a->log ? log10(v) : v;
    return a->from + (a->to - a->from) * (u - a->lo) / (a->hi - a->lo);
}

fab_status fab_axis_widen(fab_axis *a, const double *v, int64_t n, const char *name)
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

static void add_tick(fab_axis *a, double v)
{
    const double u = a->log ? log10(v) : v, slack = 1e-9 * (a->hi - a->lo);
    if (u >= a->lo - slack && u <= a->hi + slack && a->ticks < FAB_SVG_TICKS)
        a->tick[a->ticks++] = v;
}

static void linear_ticks(fab_axis *a, int most)
{
    const double rough = (a->hi - a->lo) / most, power = pow(10, floor(log10(rough)));
    double step = 10 * power; /* 1, 2, 5 or 10 powers: the first that is not below `rough` */
    if (rough <= 5 * power) step = 5 * power;
    if (rough <= 2 * power) step = 2 * power;
    if (rough <= power) step = power;
    if (a->whole && step < 1) step = 1;
    for (double i = ceil(a->lo / step - 1e-9); i * step <= a->hi + 1e-9 * step; i++)
        add_tick(a, i * step);
}

static void log_ticks(fab_axis *a, int most)
{
    const double decades = a->hi - a->lo, each = ceil(decades / most);
    for (double d = floor(a->lo); d <= a->hi; d += each) {
        add_tick(a, pow(10, d));
        if (decades > 2.2) continue;
        add_tick(a, 2 * pow(10, d));
        add_tick(a, 5 * pow(10, d));
    }
}

void fab_axis_finish(fab_axis *a, double margin, int most)
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
        log_ticks(a, most);
    else
        linear_ticks(a, most);
}

/* ---- text ----------------------------------------------------------------------------------------- */

void fab_tick_text(double v, char *buf, size_t size)
{
    const double size_of = fabs(v), ones = fmod(size_of, 1e3);
    if (size_of < 10000 || size_of >= 1e9 || v != floor(v))
        snprintf(buf, size, "%.6g", size_of < 1e-300 ? 0 : v);
    else if (size_of < 1e6)
        snprintf(buf, size, "%.0f %03.0f", trunc(v / 1e3), ones);
    else
        snprintf(buf, size, "%.0f %03.0f %03.0f", trunc(v / 1e6), fmod(trunc(size_of / 1e3), 1e3),
                 ones);
}

int fab_svg_letters(const char *s)
{
    int n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

void fab_svg_name(fab_text *out, const char *name, int most)
{
    enum { BYTES = 160 };
    char shown[BYTES + 1];
    const int cut = fab_svg_letters(name) > most;
    int letters = 0, used = 0;
    for (; used < BYTES && name[used]; used++) {
        letters += ((unsigned char)name[used] & 0xc0) != 0x80;
        if (cut && letters == most) break;
        shown[used] = name[used];
    }
    shown[used] = 0;
    fab_xml_add(out, shown);
    if (cut) fab_text_add(out, "\xe2\x80\xa6");
}

void fab_svg_ticks_x(fab_text *out, const fab_axis *x, int top, int bottom)
{
    char text[64];
    for (int i = 0; i < x->ticks; i++) {
        const double at = fab_axis_place(x, x->tick[i]);
        fab_tick_text(x->tick[i], text, sizeof text);
        fab_text_add(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", at,
                     at, top, bottom);
        fab_text_add(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", at,
                     bottom + 20, text);
    }
}

static const char style[] =
    "text { font-size: 13px; } "
    ".grid { stroke: #e2e5ea; } .axis { stroke: #8a93a1; fill: none; } "
    ".curve { fill: none; stroke-width: 2.4; stroke-linejoin: round; } "
    ".band { fill-opacity: 0.25; } .bars { stroke-opacity: 0.4; stroke-width: 1.6; } "
    ".points { fill-opacity: 0.75; } "
    ".level { stroke-width: 1.8; stroke-dasharray: 7 5; } .zero { stroke: #5b6472; } "
    ".interval { stroke-width: 3; } "
    ".title { font-size: 15px; font-weight: 600; fill: #1d2330; } .name { font-weight: 600; } "
    ".cell { stroke: #e2e5ea; } .number { font-size: 12px; fill: #1d2330; } "
    "@media (max-width: 560px) { text { font-size: 17px; } .title { font-size: 18px; } "
    ".number { font-size: 15px; } } ";

void fab_svg_open(fab_text *out, int height, const char *title, const char *description)
{
    fab_text_add(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
                 "font-family=\"system-ui, 'DejaVu Sans', sans-serif\" fill=\"#404855\" "
                 "aria-label=\"",
                 FAB_SVG_WIDTH, height);
    fab_xml_add(out, title);
    fab_text_add(out, ". ");
    fab_xml_add(out, description);
    fab_text_add(out, "\">\n<title>");
    fab_xml_add(out, title);
    fab_text_add(out, "</title>\n<desc>");
    fab_xml_add(out, description);
    fab_text_add(out, "</desc>\n<style>%s@media (prefers-color-scheme: dark) { ", style);
    fab_text_add(out, "svg { fill: #b6bfcc; } .grid, .cell { stroke: #2c3440; } "
                      ".zero { stroke: #8a93a1; } .title, .number { fill: #e6e9ee; } ");
    for (int i = 0; i < FAB_SVG_COLOURS; i++)
        fab_text_add(out, "[stroke=\"%s\"] { stroke: %s; } [fill=\"%s\"] { fill: %s; } ",
                     fab_svg_colour[i], on_dark[i], fab_svg_colour[i], on_dark[i]);
    fab_text_add(out, "}</style>\n<text class=\"title\" x=\"8\" y=\"22\">");
    fab_svg_name(out, title, TITLE);
    fab_text_add(out, "</text>\n");
}
