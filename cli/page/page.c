/* page.c - what the pages of `report` share: tables, drawings that are counted, the learning curve.
 *
 * SPDX-License-Identifier: MIT */
#include "page/page.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int drawn(page_call *c, fab_status s)
{
    c->figures += s == FAB_OK;
    return s == FAB_OK ? DONE : say_status(s);
}

int page_plot(page_call *c, const fab_plot *plot, const char *caption)
{
    return drawn(c, fab_page_plot(c->page, plot, caption));
}

int page_forest(page_call *c, const fab_forest *forest, const char *caption)
{
    return drawn(c, fab_page_forest(c->page, forest, caption));
}

int page_heat(page_call *c, const fab_heat *heat, const char *caption)
{
    return drawn(c, fab_page_heat(c->page, heat, caption));
}

/* ---- tables --------------------------------------------------------------------------------------- */

void cells_add(cells *t, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (t->n == t->room) {
        const int64_t room = 2 * t->room + 32;
        char **more = realloc(t->text, (size_t)room * sizeof *more);
        if (!more) {
            t->failed = 1;
            return;
        }
        t->text = more;
        t->room = room;
    }
    const size_t size = strlen(text) + 1;
    t->text[t->n] = malloc(size);
    if (!t->text[t->n]) {
        t->failed = 1;
        return;
    }
    memcpy(t->text[t->n++], text, size);
}

int cells_show(page_call *c, cells *t, int64_t columns)
{
    const int failed = t->failed;
    if (!failed) fab_page_table(c->page, (const char *const *)t->text, t->n / columns, columns);
    for (int64_t i = 0; i < t->n; i++) free(t->text[i]);
    free(t->text);
    *t = (cells){0};
    return failed ? say_failed("report: no memory for a table") : DONE;
}

/* ---- the learning curve --------------------------------------------------------------------------- */

typedef struct curve {
    double *seen, *value;
    int64_t n;
} curve;

/* Of the points that were scored and have the number. */
static void take_curve(curve *k, const fab_stream_scores *s, double (*of)(const fab_stream_score *))
{
    k->n = 0;
    for (int64_t i = 0; i < s->points; i++) {
        const double value = of(&s->point[i].score);
        if (s->point[i].score.scored == 0 || !is_finite(value) || s->point[i].seen < 1) continue;
        k->seen[k->n] = (double)s->point[i].seen;
        k->value[k->n++] = value;
    }
}

static double log_density(const fab_stream_score *s)
{
    return s->log_density;
}

static double rmse(const fab_stream_score *s)
{
    return s->rmse;
}

static double wrong(const fab_stream_score *s)
{
    return s->error;
}

static int show_curve(page_call *c, const fab_stream_scores *s)
{
    static const struct {
        const char *title, *name;
        double (*of)(const fab_stream_score *);
    } all[] = {
        {"Learning curve: log density of the rows to come", "log density", log_density},
        {"Learning curve: error of the rows to come", "rmse", rmse},
        {"Learning curve: share of the rows to come in a wrong class", "share wrong", wrong}};
    curve k = {.seen = malloc(2 * (size_t)(s->points + 1) * sizeof *k.seen)};
    int status = DONE;
    if (!k.seen) return say_failed("report: no memory for the learning curve");
    k.value = k.seen + s->points + 1;
    for (int i = 0; i < COUNT(all) && status == DONE; i++) {
        take_curve(&k, s, all[i].of);
        if (k.n == 0) continue;
        const fab_curve_style style = k.n > 1 ? FAB_CURVE_LINE : FAB_CURVE_POINTS;
        const fab_curve one = {
            .name = all[i].name, .x = k.seen, .y = k.value, .n = k.n, .style = style};
        const fab_plot plot = {.title = all[i].title,
                               .x_label = "rows learned before",
                               .y_label = all[i].name,
                               .log_x = 1,
                               .curve = &one,
                               .curves = 1};
        status = page_plot(c, &plot,
                           "Each row is predicted before it is learned; a point is the mean "
                           "of the rows up to the next one.");
    }
    free(k.seen);
    return status;
}

int page_stream(page_call *c, const fab_posterior *p)
{
    fab_stream_scores *s = NULL;
    char text[256];
    const fab_status read = fab_stream_scores_read(&s, p->file);
    if (read != FAB_OK) return say_status_of(c->file, read);
    int status = DONE;
    if (s && s->all.scored) {
        fab_page_heading(c->page, "While the rows came");
        snprintf(
            text, sizeof text,
            "%" PRId64 " of %" PRId64 " rows were predicted before they were learned: log density "
            "%.5g per row.%s",
            s->all.scored, s->all.rows, s->all.log_density,
            s->worse ? " The last rows are predicted worse than the first half: the stream drifts, "
                       "or its rows have an order."
                     : "");
        fab_page_text(c->page, text);
        status = show_curve(c, s);
    }
    fab_stream_scores_free(s);
    return status;
}
