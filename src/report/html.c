/* html.c - a page of text, tables and plots in one file.
 *
 * SPDX-License-Identifier: MIT */
#include "base/atomic_file.h"
#include "base/memory.h"
#include "fabayes/report.h"
#include "fabayes/settings.h"
#include "report/xml.h"
#include <ctype.h>
#include <string.h>

struct fab_page {
    fab_text body;
    int has_parts;
    fab_status fault; /* of a plot that could not be drawn */
};

static const char style[] =
    ":root { color-scheme: light dark; --page: #f4f5f7; --paper: #fff; --ink: #1d2330; --soft: "
    "#5b6472;\n"
    "        --line: #e2e5ea; }\n"
    "@media (prefers-color-scheme: dark) { :root { --page: #0f1318; --paper: #171c23; --ink: "
    "#e6e9ee;\n"
    "        --soft: #9aa5b4; --line: #2c3440; } }\n"
    "body { margin: 0; background: var(--page); color: var(--ink);\n"
    "       font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }\n"
    "main { max-width: 860px; margin: 2.5rem auto; padding: 2.2rem 2.6rem; background: "
    "var(--paper);\n"
    "       border: 1px solid var(--line); border-radius: 10px; }\n"
    "h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 1rem; overflow-wrap: anywhere; }\n"
    "h2, h3 { font-size: 1.15rem; margin: 2rem 0 0.6rem; }\n"
    "h2.part { font-size: 1.45rem; line-height: 1.25; margin: 3rem 0 1rem; padding-top: 1.6rem;\n"
    "          border-top: 2px solid var(--ink); }\n"
    "p { overflow-wrap: anywhere; }\n"
    "figure { margin: 1.4rem 0; } figure svg { width: 100%; height: auto; }\n"
    "figcaption { color: var(--soft); font-size: 0.9rem; }\n"
    ".wide { overflow-x: auto; }\n"
    "table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }\n"
    "th { text-align: left; font-weight: 600; border-bottom: 2px solid var(--ink); }\n"
    "th, td { padding: 0.35rem 0.9rem 0.35rem 0; vertical-align: top; }\n"
    "td { border-bottom: 1px solid var(--line); } .n { text-align: right; }\n"
    "pre { background: var(--page); border-radius: 6px; padding: 0.8rem 1rem; overflow-x: auto;\n"
    "      font: 0.88rem/1.5 ui-monospace, 'DejaVu Sans Mono', monospace; }\n"
    "@media (max-width: 560px) { main { margin: 0; padding: 1.1rem 0.9rem; border: 0; "
    "border-radius: 0; } }\n"
    "@media print { body { background: #fff; } main { border: 0; margin: 0; padding: 0; } }\n";

void fab_xml_add(fab_text *t, const char *s)
{
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '&')
            fab_text_add(t, "&amp;");
        else if (c == '<')
            fab_text_add(t, "&lt;");
        else if (c == '>')
            fab_text_add(t, "&gt;");
        else if (c == '"')
            fab_text_add(t, "&quot;");
        else
            fab_text_add(t, "%c", c < 0x20 && c != '\n' && c != '\t' ? ' ' : c);
    }
}

/* <tag>text</tag> */
static void element(fab_page *page, const char *tag, const char *text)
{
    fab_text_add(&page->body, "<%s>", tag);
    fab_xml_add(&page->body, text);
    fab_text_add(&page->body, "</%s>\n", tag);
}

fab_status fab_page_create(fab_page **page, const char *title)
{
    FAB_TRY(fab_alloc_array((void **)page, 1, sizeof **page, "page"));
    **page = (fab_page){.fault = FAB_OK};
    fab_text *t = &(*page)->body;
    fab_text_add(
        t, "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
           "<meta charset=\"utf-8\"/>\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    element(*page, "title", title);
    fab_text_add(t, "<style>\n%s</style>\n</head>\n<body>\n<main>\n", style);
    element(*page, "h1", title);
    return FAB_OK;
}

void fab_page_free(fab_page *page)
{
    if (!page) return;
    fab_release(page->body.p);
    fab_release(page);
}

void fab_page_part(fab_page *page, const char *text)
{
    page->has_parts = 1;
    fab_text_add(&page->body, "<h2 class=\"part\">");
    fab_xml_add(&page->body, text);
    fab_text_add(&page->body, "</h2>\n");
}

void fab_page_heading(fab_page *page, const char *text)
{
    element(page, page->has_parts ? "h3" : "h2", text);
}

void fab_page_text(fab_page *page, const char *text)
{
    element(page, "p", text);
}

void fab_page_code(fab_page *page, const char *text)
{
    element(page, "pre", text);
}

/* A column is of numbers when its first cell under the head is one. */
static int is_number(const char *s)
{
    return isdigit((unsigned char)s[*s == '-' || *s == '+']);
}

void fab_page_table(fab_page *page, const char *const *cell, int64_t rows, int64_t columns)
{
    fab_text *t = &page->body;
    fab_text_add(t, "<div class=\"wide\"><table>\n");
    for (int64_t i = 0; i < rows; i++) {
        fab_text_add(t, "<tr>");
        for (int64_t j = 0; j < columns; j++) {
            const char *tag = i == 0 ? "th" : "td";
            const int right = rows > 1 && is_number(cell[columns + j]);
            fab_text_add(t, "<%s%s>", tag, right ? " class=\"n\"" : "");
            fab_xml_add(t, cell[i * columns + j]);
            fab_text_add(t, "</%s>", tag);
        }
        fab_text_add(t, "</tr>\n");
    }
    fab_text_add(t, "</table></div>\n");
}

/* A drawing (given away here) or the failure that there is none. */
static fab_status figure(fab_page *page, fab_status drawn, char *svg, const char *caption)
{
    page->fault = drawn;
    FAB_TRY(drawn);
    fab_text_add(&page->body, "<figure>\n%s", svg);
    element(page, "figcaption", caption);
    fab_text_add(&page->body, "</figure>\n");
    fab_text_free(svg);
    return FAB_OK;
}

fab_status fab_page_plot(fab_page *page, const fab_plot *plot, const char *caption)
{
    char *svg;
    const fab_status drawn = fab_plot_svg(plot, &svg);
    return figure(page, drawn, svg, caption);
}

fab_status fab_page_forest(fab_page *page, const fab_forest *forest, const char *caption)
{
    char *svg;
    const fab_status drawn = fab_forest_svg(forest, &svg);
    return figure(page, drawn, svg, caption);
}

fab_status fab_page_heat(fab_page *page, const fab_heat *heat, const char *caption)
{
    char *svg;
    const fab_status drawn = fab_heat_svg(heat, &svg);
    return figure(page, drawn, svg, caption);
}

fab_status fab_page_write(fab_page *page, const char *path)
{
    static const char end[] = "</main>\n</body>\n</html>\n";
    fab_atomic_file f;
    FAB_TRY(page->fault);
    if (page->body.failed) return FAB_FAIL(FAB_NO_MEMORY, "%s: no memory for the page", path);
    FAB_TRY(fab_atomic_open(&f, path));
    fab_status s = fab_atomic_write(&f, page->body.p, page->body.used);
    if (s == FAB_OK) s = fab_atomic_write(&f, end, sizeof end - 1);
    if (s == FAB_OK) return fab_atomic_commit(&f);
    fab_atomic_discard(&f);
    return s;
}
