/* factors.c - the page of a factor analysis: what its axes explain, loadings, scores of DATA.
 *
 * SPDX-License-Identifier: MIT */
#include "page/page.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 60, SCORES = 2000, NAME = 32 };

static const double small = 0.1; /* loadings below it are not written */

static const char *name_of(const fab_factors_view *v, int64_t d, char buf[NAME])
{
    if (v->name) return v->name[d];
    snprintf(buf, NAME, "x%" PRId64, d);
    return buf;
}

static int show_facts(page_call *c, const fab_factors_view *v, const fab_posterior *p)
{
    const char *method = fab_tensors_get(p->file, "method"), *n = fab_tensors_get(p->file, "n");
    double explained = 0;
    cells t = {0};
    for (int64_t k = 0; k < v->K; k++) explained += v->principal[k];
    cells_add(&t, "what");
    cells_add(&t, "value");
    cells_add(&t, "model");
    cells_add(&t, "factor analysis, %" PRId64 " factor%s of %" PRId64 " coordinates", v->K,
              v->K > 1 ? "s" : "", v->D);
    cells_add(&t, "method");
    cells_add(&t, "%s", method ? method : "not known");
    if (n) {
        cells_add(&t, "rows learned");
        cells_add(&t, "%s", n);
    }
    cells_add(&t, "explained");
    cells_add(&t, "%.4g %% of the variance of the coordinates, each in its standard deviation",
              100 * explained / (double)v->D);
    return cells_show(c, &t, 2);
}

/* ---- scree ---------------------------------------------------------------------------------------- */

static int show_scree(page_call *c, const fab_factors_view *v)
{
    double *x = malloc(3 * (size_t)v->K * sizeof *x);
    if (!x) return say_failed("report: no memory for the scree plot");
    double *y = x + v->K, *sum = y + v->K;
    for (int64_t k = 0; k < v->K; k++) {
        x[k] = (double)(k + 1);
        y[k] = 100 * v->principal[k] / (double)v->D;
        sum[k] = y[k] + (k ? sum[k - 1] : 0);
    }
    const fab_curve_style style = v->K > 1 ? FAB_CURVE_LINE : FAB_CURVE_POINTS;
    const fab_curve curve[] = {
        {.name = "this axis", .x = x, .y = y, .n = v->K, .style = style},
        {.name = "all up to it", .x = x, .y = sum, .n = v->K, .style = style}};
    const fab_plot plot = {.title = "Scree: what each principal axis explains",
                           .x_label = "axis",
                           .y_label = "share of the variance, %",
                           .curve = curve,
                           .curves = v->K > 1 ? 2 : 1};
    fab_page_heading(c->page, "Factors");
    const int status =
        page_plot(c, &plot, "Coordinates in their standard deviations; what is left is their own.");
    free(x);
    return status;
}

/* ---- loadings ------------------------------------------------------------------------------------- */

static int draw_loadings(page_call *c, const fab_factors_view *v, int64_t rows, int64_t columns)
{
    char(*buf)[NAME] = malloc((size_t)rows * sizeof *buf), factor[FAB_HEAT_COLUMNS][NAME];
    const char **name = malloc((size_t)rows * sizeof *name), *column[FAB_HEAT_COLUMNS];
    double *value = malloc((size_t)(rows * columns) * sizeof *value);
    char title[96], caption[256], more[96] = "";
    int status = DONE;
    if (!buf || !name || !value) {
        status = say_failed("report: no memory for the loadings");
    } else {
        for (int64_t i = 0; i < rows; i++) {
            name[i] = name_of(v, v->order[i], buf[i]);
            for (int64_t k = 0; k < columns; k++)
                value[i * columns + k] = v->loading[v->order[i] * v->K + k];
        }
        for (int64_t k = 0; k < columns; k++) {
            snprintf(factor[k], NAME, "%" PRId64, k + 1);
            column[k] = factor[k];
        }
        snprintf(title, sizeof title, "Loadings, %s", fab_rotation_name(v->rotation->kind));
        if (rows < v->D || columns < v->K)
            snprintf(more, sizeof more,
                     " The first %" PRId64 " of %" PRId64 " coordinates, %" PRId64 " of %" PRId64
                     " factors.",
                     rows, v->D, columns, v->K);
        snprintf(caption, sizeof caption,
                 "Coordinates in their standard deviations, those of one factor together; loadings "
                 "below %.1f are coloured and not written.%s",
                 small, more);
        const fab_heat heat = {.title = title,
                               .row_label = "coordinate",
                               .column_label = "factor",
                               .rows = rows,
                               .columns = columns,
                               .row = name,
                               .column = column,
                               .value = value,
                               .strongest = 1,
                               .blank = small,
                               .decimals = 2};
        status = page_heat(c, &heat, caption);
    }
    free(buf);
    free(name);
    free(value);
    return status;
}

static int list_loadings(page_call *c, const fab_factors_view *v, int64_t rows, int64_t columns)
{
    cells t = {0};
    char buf[NAME];
    cells_add(&t, "coordinate");
    for (int64_t k = 0; k < columns; k++) cells_add(&t, "factor %" PRId64, k + 1);
    cells_add(&t, "uniqueness");
    for (int64_t i = 0; i < rows; i++) {
        const int64_t d = v->order[i];
        cells_add(&t, "%s", name_of(v, d, buf));
        for (int64_t k = 0; k < columns; k++) cells_add(&t, "%.3f", v->loading[d * v->K + k]);
        cells_add(&t, "%.3f", v->uniqueness[d]);
    }
    cells_add(&t, "explained");
    for (int64_t k = 0; k < columns; k++) cells_add(&t, "%.3f", v->explained[k]);
    cells_add(&t, "%s", "");
    return cells_show(c, &t, columns + 2);
}

/* ---- scores --------------------------------------------------------------------------------------- */

static int draw_scores(page_call *c, const fab_factors_view *v, const double *z, int64_t n)
{
    double *x = malloc((2 * (size_t)n + 1) * sizeof *x);
    const int two = v->K > 1;
    char text[128];
    if (!x) return say_failed("report: no memory for the scores");
    double *y = x + n;
    for (int64_t i = 0; i < n; i++) {
        x[i] = two ? z[i * v->K] : (double)i;
        y[i] = z[i * v->K + two];
    }
    const fab_curve curve = {.name = "rows", .x = x, .y = y, .n = n, .style = FAB_CURVE_POINTS};
    const fab_plot plot = {.title = "Factor scores",
                           .x_label = two ? "factor 1" : "row",
                           .y_label = two ? "factor 2" : "factor 1",
                           .curve = &curve,
                           .curves = 1};
    snprintf(text, sizeof text,
             n == SCORES ? "The first %" PRId64 " rows." : "All %" PRId64 " rows.", n);
    const int status = page_plot(c, &plot, text);
    free(x);
    return status;
}

static int show_scores(page_call *c, const fab_factors_view *v, const fab_posterior *p)
{
    fab_source *source = NULL;
    int64_t n = 0;
    char text[500];
    int status = data_open(&source, &c->data);
    if (status != DONE) return status;
    double *z = malloc(SCORES * (size_t)v->K * sizeof *z);
    if (!z) {
        status = say_failed("report: no memory for the scores");
    } else {
        const fab_status s = fab_factors_view_scores(v, c->file, p, source, SCORES, z, &n);
        if (s == FAB_MISSING_VALUE)
            status = say_failed("%s", fab_detail());
        else if (s != FAB_OK)
            status = say_status(s);
    }
    if (status == DONE) {
        fab_page_heading(c->page, "Factor scores");
        snprintf(text, sizeof text, "E[z | x] of the rows of %.300s.", c->data.file);
        fab_page_text(c->page, text);
        status = draw_scores(c, v, z, n);
    }
    free(z);
    fab_source_close(source);
    return status;
}

/* ---- the page ------------------------------------------------------------------------------------- */

int page_factors(page_call *c, const fab_posterior *p)
{
    fab_factors_view *v = NULL;
    const fab_status s = fab_factors_view_open(&v, c->file, p, c->rotation);
    if (s != FAB_OK) return say_status(s);
    const int64_t rows = v->D < ROWS ? v->D : ROWS;
    const int64_t columns = v->K < FAB_HEAT_COLUMNS ? v->K : FAB_HEAT_COLUMNS;
    int status = show_facts(c, v, p);
    if (status == DONE) status = show_scree(c, v);
    if (status == DONE) status = draw_loadings(c, v, rows, columns);
    if (status == DONE) status = list_loadings(c, v, rows, columns);
    if (status == DONE && c->data.file) status = show_scores(c, v, p);
    if (status == DONE) status = page_stream(c, p);
    fab_factors_view_free(v);
    return status;
}
