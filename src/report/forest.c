/* forest.c - intervals beside names, one below the other, as SVG.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "fabayes/report.h"
#include "report/svg.h"
#include <inttypes.h>
#include <math.h>

enum {
    TOP = 38,
    BOTTOM = 58,
    RIGHT = 20,
    STEP = 24,   /* from row to row */
    LETTERS = 26 /* of a name; the rest is in its hover text */
};

static fab_status check(const fab_forest *f)
{
    if (f->n < 1) return FAB_FAIL(FAB_BAD_ARGUMENT, "forest: there are no rows");
    for (int64_t i = 0; i < f->n; i++)
        if (!(f->lower[i] <= f->mean[i] && f->mean[i] <= f->upper[i]))
            return FAB_FAIL(FAB_BAD_DATA, "forest: '%s' is %g and goes from %g to %g", f->name[i],
                            f->mean[i], f->lower[i], f->upper[i]);
    return FAB_OK;
}

fab_status fab_forest_svg(const fab_forest *f, char **svg)
{
    static const double zero = 0;
    const int bottom = TOP + STEP * (int)f->n + 6;
    fab_text out = {0};
    char text[128];
    int letters = 0;
    *svg = NULL;
    FAB_TRY(check(f));
    for (int64_t i = 0; i < f->n; i++)
        if (fab_svg_letters(f->name[i]) > letters) letters = fab_svg_letters(f->name[i]);
    if (letters > LETTERS) letters = LETTERS;
    fab_axis x = fab_axis_empty(0, 20 + 9.5 * letters, FAB_SVG_WIDTH - RIGHT);
    FAB_TRY(fab_axis_widen(&x, &zero, 1, "0"));
    FAB_TRY(fab_axis_widen(&x, f->lower, f->n, "lower"));
    FAB_TRY(fab_axis_widen(&x, f->upper, f->n, "upper"));
    fab_axis_finish(&x, 0.04, letters > LETTERS / 2 ? 4 : 5);
    snprintf(text, sizeof text, "%" PRId64 " intervals, the first of %s", f->n, f->name[0]);
    fab_svg_open(&out, bottom + BOTTOM, f->title, text);
    fab_svg_ticks_x(&out, &x, TOP, bottom);
    fab_text_add(&out, "<line class=\"level zero\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
                 fab_axis_place(&x, 0), fab_axis_place(&x, 0), TOP, bottom);
    fab_text_add(&out, "<text x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">", (x.from + x.to) / 2,
                 bottom + BOTTOM - 12);
    fab_xml_add(&out, f->x_label);
    fab_text_add(&out, "</text>\n");
    for (int64_t i = 0; i < f->n; i++) {
        const double y = TOP + STEP * ((double)i + 0.5) + 3;
        fab_text_add(&out, "<g class=\"row\"><title>");
        fab_xml_add(&out, f->name[i]);
        fab_text_add(&out, ": %.6g, 90 %% from %.6g to %.6g</title>", f->mean[i], f->lower[i],
                     f->upper[i]);
        fab_text_add(&out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">", x.from - 8, y + 4.5);
        fab_svg_name(&out, f->name[i], LETTERS);
        fab_text_add(&out, "</text>");
        fab_text_add(&out,
                     "<line class=\"interval\" stroke=\"%s\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%.1f\" "
                     "y2=\"%.1f\"/>",
                     fab_svg_colour[0], fab_axis_place(&x, f->lower[i]),
                     fab_axis_place(&x, f->upper[i]), y, y);
        fab_text_add(&out, "<circle fill=\"%s\" r=\"4.5\" cx=\"%.2f\" cy=\"%.1f\"/></g>\n",
                     fab_svg_colour[0], fab_axis_place(&x, f->mean[i]), y);
    }
    fab_text_add(&out, "</svg>\n");
    return fab_text_give(&out, svg);
}
