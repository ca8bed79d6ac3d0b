/* predictions.c - how good the predictions of DATA are, on a page.
 *
 * SPDX-License-Identifier: MIT */
#include "page/page.h"
#include "print/score_lines.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SHOWN = 1000, /* rows that are drawn as points, about */
    LEVELS = 19,  /* 5 %, 10 %, .. 95 % */
    NAME = 32
};

/* ---- scores --------------------------------------------------------------------------------------- */

static int show_scores(page_call *c, const fab_glm *m, fab_regression *r, const fab_predictions *p)
{
    const fab_calibration calibration = fab_regression_calibration(r);
    score_line line[SCORE_LINES];
    const int n = score_lines(m, &calibration, p, line);
    cells t = {0};
    cells_add(&t, "score");
    cells_add(&t, "value");
    cells_add(&t, "rows");
    cells_add(&t, "%" PRId64, p->scores.n);
    for (int i = 0; i < n; i++) {
        cells_add(&t, "%s", line[i].name);
        if (is_finite(line[i].value))
            cells_add(&t, "%.6g", line[i].value);
        else
            cells_add(&t, "not defined for these rows");
    }
    return cells_show(c, &t, 2);
}

/* ---- numbers and counts --------------------------------------------------------------------------- */

typedef struct points {
    double *mean, *y, *residual, *lower, *upper;
    int64_t n, every;
} points;

static int take_points(points *a, const fab_predictions *p)
{
    a->every = (p->n + SHOWN - 1) / SHOWN;
    const int64_t room = p->n / a->every + 1;
    a->mean = malloc(5 * (size_t)room * sizeof *a->mean);
    if (!a->mean) return say_failed("report: no memory for the points");
    a->y = a->mean + room;
    a->residual = a->y + room;
    a->lower = a->residual + room;
    a->upper = a->lower + room;
    for (int64_t i = 0; i < p->n; i += a->every) {
        a->mean[a->n] = p->p[i].mean;
        a->y[a->n] = p->y[i];
        a->residual[a->n] = p->y[i] - p->p[i].mean;
        a->lower[a->n] = p->p[i].lower;
        a->upper[a->n++] = p->p[i].upper;
    }
    return DONE;
}

static int draw_observed(page_call *c, const points *a, const char *thinned)
{
    char caption[256];
    double ends[2] = {a->mean[0], a->mean[0]};
    const double zero = 0;
    for (int64_t i = 0; i < a->n; i++) {
        if (a->mean[i] < ends[0]) ends[0] = a->mean[i];
        if (a->mean[i] > ends[1]) ends[1] = a->mean[i];
    }
    const fab_curve observed[] = {
        {"90 % interval", a->mean, a->lower, a->n, FAB_CURVE_BARS, a->upper},
        {.name = "observed", .x = a->mean, .y = a->y, .n = a->n, .style = FAB_CURVE_POINTS},
        {.name = "as predicted", .x = ends, .y = ends, .n = 2}};
    const fab_plot first = {.title = "Predicted against observed",
                            .x_label = "predicted",
                            .y_label = "observed",
                            .curve = observed,
                            .curves = 3};
    snprintf(
        caption, sizeof caption,
        "A point is a row: nine of ten lie within their intervals where the predictions hold.%s",
        thinned);
    int status = page_plot(c, &first, caption);
    const fab_curve residual[] = {{.name = "observed minus predicted",
                                   .x = a->mean,
                                   .y = a->residual,
                                   .n = a->n,
                                   .style = FAB_CURVE_POINTS},
                                  {.name = "none", .x = &zero, .y = &zero, .n = 1}};
    const fab_plot second = {.title = "Residuals",
                             .x_label = "predicted",
                             .y_label = "observed minus predicted",
                             .curve = residual,
                             .curves = 2};
    snprintf(caption, sizeof caption,
             "A bend or a fan says what the model does not: a curve, or noise that grows.%s",
             thinned);
    if (status == DONE) status = page_plot(c, &second, caption);
    return status;
}

/* Coverage or calibration: shares against levels in percent, with what chance allows. */
static int draw_shares(page_call *c, const fab_predictions *p, int central)
{
    double level[LEVELS], share[LEVELS], chance[LEVELS] = {0}, low[LEVELS];
    const double ends[] = {0, 100};
    for (int i = 0; i < LEVELS; i++) level[i] = (i + 1) / (double)(LEVELS + 1);
    const fab_status s = central ? fab_predictions_coverage(p, LEVELS, level, share, chance)
                                 : fab_predictions_below(p, LEVELS, level, share, chance);
    if (s != FAB_OK) return say_status(s);
    for (int i = 0; i < LEVELS; i++) {
        level[i] *= 100;
        share[i] *= 100;
        low[i] = level[i] - 100 * chance[i];
        chance[i] = level[i] + 100 * chance[i];
    }
    const fab_curve curve[] = {{.name = central ? "rows inside" : "rows below",
                                .x = level,
                                .y = share,
                                .n = LEVELS,
                                .style = FAB_CURVE_POINTS},
                               {.name = "as promised", .x = ends, .y = ends, .n = 2},
                               {"by chance", level, low, LEVELS, FAB_CURVE_BAND, chance}};
    const fab_plot plot = {.title = central ? "Coverage" : "Calibration",
                           .x_label = central ? "level of the interval, %"
                                              : "predicted quantile, %",
                           .y_label = central ? "rows inside, %" : "rows below, %",
                           .curve = curve,
                           .curves = 3};
    return page_plot(
        c, &plot,
        central ? "The share of rows inside the central interval of each level. The band "
                  "holds nine of ten such shares where the promise is kept."
                : "The share of rows below each predicted quantile. Points above the line: "
                  "predictions are too high there.");
}

static int show_numbers(page_call *c, const fab_predictions *p, const fab_calibration *k)
{
    points a = {0};
    char thinned[64] = "";
    int status = take_points(&a, p);
    if (status == DONE && a.every > 1)
        snprintf(thinned, sizeof thinned, " One of %" PRId64 " rows is drawn.", a.every);
    if (status == DONE) status = draw_observed(c, &a, thinned);
    free(a.mean);
    if (status == DONE && k->way)
        fab_page_text(c->page, "Coverage and calibration below are those of the densities; the "
                               "conformal intervals are those above and in the scores.");
    if (status == DONE) status = draw_shares(c, p, 1);
    if (status == DONE) status = draw_shares(c, p, 0);
    return status;
}

/* ---- classes -------------------------------------------------------------------------------------- */

static int draw_confusion(page_call *c, const fab_predictions *p, const fab_scaling *k)
{
    const int64_t C = p->classes;
    char(*name)[NAME] = malloc((size_t)C * sizeof *name);
    const char **names = malloc((size_t)C * sizeof *names);
    int64_t *count = malloc((size_t)(C * C) * sizeof *count);
    double *value = malloc((size_t)(C * C) * sizeof *value);
    int status = DONE;
    if (!name || !names || !count || !value) {
        status = say_failed("report: no memory for the confusion of %" PRId64 " classes", C);
    } else {
        const fab_status s = fab_predictions_confusion(p, count);
        if (s != FAB_OK) status = say_status(s);
        for (int64_t i = 0; i < C; i++) names[i] = fab_scaling_class(k, i, name[i]);
        if (status == DONE)
            for (int64_t i = 0; i < C * C; i++) value[i] = (double)count[i];
        const fab_heat heat = {.title = "Confusion matrix",
                               .row_label = "class",
                               .column_label = "predicted",
                               .rows = C,
                               .columns = C,
                               .row = names,
                               .column = names,
                               .value = value};
        if (status == DONE)
            status = page_heat(c, &heat,
                               "Rows of each class by their likeliest class; what stands "
                               "beside the diagonal is wrong.");
    }
    free(name);
    free(names);
    free(count);
    free(value);
    return status;
}

static int draw_reliability(page_call *c, const fab_predictions *p)
{
    fab_reliability bin[FAB_RELIABILITY_BINS];
    double x[FAB_RELIABILITY_BINS], y[FAB_RELIABILITY_BINS];
    const double ends[] = {1.0 / (double)p->classes, 1};
    int64_t n = 0;
    const fab_status s = fab_predictions_reliability(p, bin);
    if (s != FAB_OK) return say_status(s);
    for (int b = 0; b < FAB_RELIABILITY_BINS; b++)
        if (bin[b].n > 0) {
            x[n] = bin[b].probability;
            y[n++] = bin[b].right;
        }
    const fab_curve curve[] = {{.name = "rows", .x = x, .y = y, .n = n, .style = FAB_CURVE_POINTS},
                               {.name = "as promised", .x = ends, .y = ends, .n = 2}};
    const fab_plot plot = {.title = "Reliability",
                           .x_label = "probability of the likeliest class",
                           .y_label = "share that is of it",
                           .curve = curve,
                           .curves = 2};
    const int status = page_plot(c, &plot,
                                 "Rows in 15 bins of that probability; below the line predictions "
                                 "are too sure. Their mean distance, by rows, is the ece.");
    if (status != DONE) return status;
    cells t = {0};
    cells_add(&t, "probability");
    cells_add(&t, "right");
    cells_add(&t, "rows");
    for (int b = 0; b < FAB_RELIABILITY_BINS; b++) {
        if (bin[b].n == 0) continue;
        cells_add(&t, "%.4f", bin[b].probability);
        cells_add(&t, "%.4f", bin[b].right);
        cells_add(&t, "%" PRId64, bin[b].n);
    }
    return cells_show(c, &t, 3);
}

/* Two classes: the second against the first. */
static int draw_roc(page_call *c, const fab_predictions *p, const fab_scaling *k)
{
    fab_roc *r = NULL;
    char name[NAME], title[96], caption[160];
    const double ends[] = {0, 1};
    const fab_status s = fab_predictions_roc(p, 1, &r);
    if (s == FAB_BAD_DATA) {
        fab_page_text(c->page, "All rows are of one class: there is no ROC curve.");
        return DONE;
    }
    if (s != FAB_OK) return say_status(s);
    const char *class = fab_scaling_class(k, 1, name);
    snprintf(title, sizeof title, "ROC curve of %.40s", class);
    snprintf(caption, sizeof caption, "The area under the curve (auc) is %.6g.", r->area);
    const fab_curve curve[] = {{.name = "predictions", .x = r->x, .y = r->y, .n = r->n},
                               {.name = "by chance", .x = ends, .y = ends, .n = 2}};
    const fab_plot plot = {.title = title,
                           .x_label = "share of the others that are taken for it",
                           .y_label = "share of its rows that are found",
                           .curve = curve,
                           .curves = 2};
    const int status = page_plot(c, &plot, caption);
    fab_roc_free(r);
    return status;
}

static int show_classes(page_call *c, const fab_predictions *p, const fab_scaling *k)
{
    int status = DONE;
    if (p->classes <= FAB_HEAT_COLUMNS)
        status = draw_confusion(c, p, k);
    else
        fab_page_text(c->page, "There are too many classes for a confusion matrix to be read.");
    if (status == DONE && p->classes == 2) status = draw_roc(c, p, k);
    if (status == DONE) status = draw_reliability(c, p);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------------ */

int page_predictions(page_call *c, fab_regression *r, const fab_predictions *p)
{
    const fab_calibration calibration = fab_regression_calibration(r);
    char text[600];
    fab_glm m;
    const fab_status s = fab_regression_model(r, &m);
    if (s != FAB_OK) return say_status(s);
    fab_page_heading(c->page, "Predictions");
    snprintf(text, sizeof text,
             "The rows of %.300s, predicted by this fit and held against their target.%s",
             c->data.file, p->dropped ? " Rows whose target is missing were left out." : "");
    fab_page_text(c->page, text);
    int status = show_scores(c, &m, r, p);
    if (status != DONE) return status;
    return p->classes ? show_classes(c, p, fab_regression_scaling(r))
                      : show_numbers(c, p, &calibration);
}
