/* heat.c - a table of numbers as colours, as SVG.
 *
 * The colour of a cell is laid over the background, the more of it the larger the number: that holds on a light page and on a
 * dark one.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "fabayes/report.h"
#include "report/svg.h"
#include <inttypes.h>
#include <math.h>

enum {
    TOP = 82, /* below the title and the names of the columns */
    RIGHT = 12,
    STEP = 26,   /* height of a row */
    LETTERS = 20 /* of the name of a row; the rest is in its hover text */
};
#define FULL 0.65 /* opacity of the largest: what is written in it can still be read */

static fab_status find_strongest(const fab_heat *h, double *strongest)
{
    *strongest = h->strongest;
    for (int64_t i = 0; i < h->rows * h->columns; i++) {
        if (!isfinite(h->value[i]))
            return FAB_FAIL(FAB_BAD_DATA, "heat map: %g of '%s' and '%s' is no number", h->value[i],
                            h->row[i / h->columns], h->column[i % h->columns]);
        if (!(h->strongest > 0) && fabs(h->value[i]) > *strongest) *strongest = fabs(h->value[i]);
    }
    if (!(*strongest > 0)) *strongest = 1;
    return FAB_OK;
}

static void add_cell(fab_text *out, const fab_heat *h, int64_t i, int64_t j, const double box[4],
                     double strongest)
{
    const double v = h->value[i * h->columns + j], share = fmin(1, fabs(v) / strongest);
    fab_text_add(out, "<g class=\"cells\"><title>");
    fab_xml_add(out, h->row[i]);
    fab_text_add(out, ", ");
    fab_xml_add(out, h->column[j]);
    fab_text_add(out, ": %.*f</title>", (int)h->decimals, v);
    fab_text_add(out,
                 "<rect class=\"cell\" fill=\"%s\" fill-opacity=\"%.3f\" x=\"%.2f\" y=\"%.2f\" "
                 "width=\"%.2f\" height=\"%.2f\"/>",
                 fab_svg_colour[v < 0], FULL * share, box[0], box[1], box[2], box[3]);
    if (fabs(v) >= h->blank)
        fab_text_add(
            out, "<text class=\"number\" x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%.*f</text>",
            box[0] + box[2] / 2, box[1] + box[3] / 2 + 4.5, (int)h->decimals, v);
    fab_text_add(out, "</g>\n");
}

fab_status fab_heat_svg(const fab_heat *h, char **svg)
{
    const int bottom = TOP + STEP * (int)h->rows;
    fab_text out = {0};
    char text[256];
    double strongest;
    int letters = 0;
    *svg = NULL;
    if (h->rows < 1 || h->columns < 1 || h->columns > FAB_HEAT_COLUMNS)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "heat map: %" PRId64 " rows and %" PRId64
                        " columns, expected 1 or more, and %d columns at most",
                        h->rows, h->columns, FAB_HEAT_COLUMNS);
    FAB_TRY(find_strongest(h, &strongest));
    for (int64_t i = 0; i < h->rows; i++)
        if (fab_svg_letters(h->row[i]) > letters) letters = fab_svg_letters(h->row[i]);
    if (letters > LETTERS) letters = LETTERS;
    const double left = 44 + 9.5 * letters, room = FAB_SVG_WIDTH - RIGHT - left;
    const double width = fmin(96, room / (double)h->columns);
    snprintf(text, sizeof text, "%s in rows, %s in columns: %" PRId64 " times %" PRId64 " numbers",
             h->row_label, h->column_label, h->rows, h->columns);
    fab_svg_open(&out, bottom + 12, h->title, text);
    fab_text_add(&out, "<text x=\"%.0f\" y=\"46\" text-anchor=\"middle\">",
                 left + width * (double)h->columns / 2);
    fab_xml_add(&out, h->column_label);
    fab_text_add(
        &out, "</text>\n<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\">",
        (TOP + bottom) / 2);
    fab_xml_add(&out, h->row_label);
    fab_text_add(&out, "</text>\n");
    for (int64_t j = 0; j < h->columns; j++) {
        fab_text_add(&out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                     left + width * ((double)j + 0.5), TOP - 8);
        fab_svg_name(&out, h->column[j], (int)(width / 9.5));
        fab_text_add(&out, "</text>\n");
    }
    for (int64_t i = 0; i < h->rows; i++) {
        const double y = TOP + STEP * (double)i;
        fab_text_add(&out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", left - 8,
                     y + STEP / 2.0 + 4.5);
        fab_svg_name(&out, h->row[i], LETTERS);
        fab_text_add(&out, "</text>\n");
        for (int64_t j = 0; j < h->columns; j++)
            add_cell(&out, h, i, j, (const double[4]){left + width * (double)j, y, width, STEP},
                     strongest);
    }
    fab_text_add(&out, "</svg>\n");
    return fab_text_give(&out, svg);
}
