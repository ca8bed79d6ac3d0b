/* regression.c - the page of a regression: its coefficients, or of a network what one column does.
 *
 * SPDX-License-Identifier: MIT */
#include "page/page.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOREST = 30, /* coefficients that are drawn */
    TABLE = 200, /* coefficients that are listed */
    POINTS = 41, /* of a profile */
    CLASSES = 8, /* curves of a plot */
    NAME = 200
};

/* ---- what it is ----------------------------------------------------------------------------------- */

/* How much of the rows of the fit it explains. */
static void add_summary(cells *t, const fab_summary *f)
{
    const int gaussian = strcmp(f->likelihood, "gaussian") == 0;
    if (is_finite(f->noise)) {
        cells_add(t, "noise");
        cells_add(t, "%.4g, sd around the prediction, in the units of the target", f->noise);
    }
    if (is_finite(f->explained)) {
        cells_add(t, gaussian ? "R^2" : "deviance explained");
        if (gaussian)
            cells_add(t, "%.4f of the rows of the fit", f->explained);
        else
            cells_add(t, "%.1f %% of the rows of the fit", 100 * f->explained);
    }
    if (is_finite(f->accuracy)) {
        cells_add(t, "accuracy");
        cells_add(t, "%.1f %% of the rows of the fit; the most frequent class alone has %.1f %%",
                  100 * f->accuracy, 100 * f->frequent);
    }
}

static int show_facts(page_call *c, fab_regression *r, const fab_posterior *p)
{
    const fab_scaling *k = fab_regression_scaling(r);
    const fab_calibration calibration = fab_regression_calibration(r);
    const char *method = fab_tensors_get(p->file, "method"), *n = fab_tensors_get(p->file, "n");
    cells t = {0};
    fab_summary summary = {0};
    fab_glm m;
    fab_status s = fab_regression_model(r, &m);
    if (s == FAB_OK && !fab_regression_is_network(r)) s = fab_regression_summary(r, &summary);
    if (s != FAB_OK) return say_status_of(c->file, s);
    cells_add(&t, "what");
    cells_add(&t, "value");
    cells_add(&t, "target");
    cells_add(&t, "%s", k->target ? k->target : "without a name");
    cells_add(&t, "model");
    const char *kind = fab_regression_is_network(r) ? "network" : "linear";
    if (fab_regression_is_process(r)) kind = "Gaussian process";
    cells_add(&t, "%s, %s", kind, fab_likelihood_name(m.likelihood));
    cells_add(&t, "columns");
    cells_add(&t, "%" PRId64 ", which make %" PRId64 " features", k->columns, k->D);
    cells_add(&t, "method");
    cells_add(&t, "%s", method ? method : "not known");
    if (n) {
        cells_add(&t, "rows learned");
        cells_add(&t, "%s", n);
    }
    if (summary.likelihood) add_summary(&t, &summary);
    if (calibration.way) {
        cells_add(&t, "calibrated");
        cells_add(&t, "%s, by %" PRId64 " rows left out of the fit", calibration.way,
                  calibration.rows);
    }
    return cells_show(c, &t, 2);
}

/* ---- coefficients --------------------------------------------------------------------------------- */

typedef struct forest {
    const char *against; /* levels that others are shown against; NULL: none */
    char *usual;         /* the memory of it, where nobody named them */
    fab_effect *effect;  /* those that are shown, the strongest first and intercepts last */
    char (*name)[NAME];
    const char **names;
    double *mean, *lower, *upper;
    int64_t all, n; /* coefficients; of features */
} forest;

static void forest_free(forest *f)
{
    fab_text_free(f->usual);
    free(f->effect);
    free(f->name);
    free(f->names);
    free(f->mean);
}

/* The coefficients in their order, but for those of a reference itself: nothing is estimated there. */
static void forest_fill(forest *f, fab_regression *r, const fab_effect *effect,
                        const int64_t *order, int64_t size)
{
    char buf[32];
    for (int64_t i = 0; i < size; i++) {
        const fab_effect *e = &effect[order[i]];
        if (f->against && !(e->sd > 0 || e->mean < 0 || e->mean > 0)) continue;
        const char *class = fab_regression_coefficient_class(r, order[i], buf);
        snprintf(f->name[f->all], NAME, "%s%s%s", class ? class : "", class ? ": " : "",
                 fab_regression_coefficient_name(r, order[i]));
        f->names[f->all] = f->name[f->all];
        f->n += e->step > 0;
        f->effect[f->all++] = *e;
    }
}

static int forest_open(forest *f, fab_regression *r, const char *reference)
{
    const size_t size = (size_t)fab_regression_size(r);
    fab_effect *all = malloc(size * sizeof *all);
    int64_t *order = malloc(size * sizeof *order);
    int status = DONE;
    f->effect = malloc(size * sizeof *f->effect);
    f->name = malloc(size * sizeof *f->name);
    f->names = malloc(size * sizeof *f->names);
    f->mean = malloc(3 * size * sizeof *f->mean);
    if (!all || !order || !f->effect || !f->name || !f->names || !f->mean) {
        status = say_failed("report: no memory for %zu coefficients", size);
    } else {
        f->lower = f->mean + size;
        f->upper = f->lower + size;
        fab_status s = reference ? FAB_OK : fab_regression_reference(r, &f->usual);
        f->against = reference ? reference : f->usual;
        if (reference && strcmp(reference, "none") == 0) f->against = NULL;
        if (s == FAB_OK) s = fab_regression_effects(r, f->against, 0.9, all, order);
        if (s != FAB_OK)
            status = say_status(s);
        else
            forest_fill(f, r, all, order, (int64_t)size);
    }
    free(all);
    free(order);
    return status;
}

/* In the user's units, or times the standard deviation of the feature. */
static int draw_forest(page_call *c, forest *f, int by_step, const char *of)
{
    char caption[256], more[64] = "";
    for (int64_t i = 0; i < f->n; i++) {
        const double step = by_step ? f->effect[i].step : 1;
        f->mean[i] = step * f->effect[i].mean;
        f->lower[i] = step * f->effect[i].lower;
        f->upper[i] = step * f->effect[i].upper;
    }
    const int64_t shown = f->n < FOREST ? f->n : FOREST;
    if (shown < f->n)
        snprintf(more, sizeof more, " The strongest %" PRId64 " of %" PRId64 ".", shown, f->n);
    snprintf(
        caption, sizeof caption,
        "Mean and 90 %% interval; the strongest, by its mean over its standard deviation, comes "
        "first.%s",
        more);
    const fab_forest all = {by_step ? "Coefficients per standard deviation of the column"
                                    : "Coefficients",
                            of,
                            shown,
                            f->names,
                            f->mean,
                            f->lower,
                            f->upper};
    return page_forest(c, &all, caption);
}

static int list_coefficients(page_call *c, const forest *f)
{
    const char *const head[] = {"coefficient", "mean", "sd", "5 %", "95 %"};
    cells t = {0};
    char text[128];
    for (int i = 0; i < COUNT(head); i++) cells_add(&t, "%s", head[i]);
    for (int64_t i = 0; i < f->all; i++) {
        const fab_effect *e = &f->effect[i];
        if (i >= TABLE && i < f->n) continue;
        cells_add(&t, "%s", f->names[i]);
        const int places = decimals_of(e->sd, 2);
        cells_add(&t, "%s", number_text(e->mean, places, text, sizeof text));
        if (!(e->sd > 0)) { /* a mode has no width */
            for (int j = 2; j < COUNT(head); j++) cells_add(&t, "-");
            continue;
        }
        cells_add(&t, "%s", number_text(e->sd, places, text, sizeof text));
        cells_add(&t, "%s", number_text(e->lower, places, text, sizeof text));
        cells_add(&t, "%s", number_text(e->upper, places, text, sizeof text));
    }
    if (f->n > TABLE) {
        snprintf(text, sizeof text,
                 "The strongest %d of %" PRId64 "; `fabayes info --json` has all.", TABLE, f->n);
        fab_page_text(c->page, text);
    }
    return cells_show(c, &t, COUNT(head));
}

static int show_coefficients(page_call *c, fab_regression *r)
{
    forest f = {0};
    char text[400];
    fab_glm m;
    const fab_status s = fab_regression_model(r, &m);
    if (s != FAB_OK) return say_status(s);
    const fab_target target = fab_likelihood_target(m.likelihood);
    const char *of = "change of the log odds";
    if (target == FAB_TARGET_REAL) of = "change of the target";
    if (m.likelihood == FAB_LIKELIHOOD_CATEGORICAL) of = "change of the score of the class";
    if (target == FAB_TARGET_COUNTS) of = "change of the log of the mean";
    fab_page_heading(c->page, "Coefficients");
    int status = forest_open(&f, r, c->reference), steps = 0;
    if (status == DONE && f.against) {
        snprintf(text, sizeof text, "Against %.300s: other levels as differences to it.",
                 f.against);
        fab_page_text(c->page, text);
    }
    for (int64_t i = 0; i < f.n; i++) steps |= f.effect[i].step < 1 || f.effect[i].step > 1;
    if (status == DONE && f.n > 0) status = draw_forest(c, &f, 0, of);
    if (status == DONE && f.n > 1 && steps) status = draw_forest(c, &f, 1, of);
    if (status == DONE) status = list_coefficients(c, &f);
    forest_free(&f);
    return status;
}

/* ---- what one column does ------------------------------------------------------------------------- */

static int draw_numbers(page_call *c, const fab_profile *f, const char *title, const char *target)
{
    double mean[POINTS], lower[POINTS], upper[POINTS];
    for (int i = 0; i < POINTS; i++) {
        mean[i] = f->p->p[i].mean;
        lower[i] = f->p->p[i].lower;
        upper[i] = f->p->p[i].upper;
    }
    const fab_curve curve[] = {
        {.name = "mean", .x = f->x, .y = mean, .n = POINTS},
        {"90 % interval", f->x, lower, POINTS, FAB_CURVE_BAND, upper},
    };
    const fab_plot plot = {
        .title = title, .x_label = f->column, .y_label = target, .curve = curve, .curves = 2};
    return page_plot(c, &plot,
                     "All other columns are at their mean, or at their most frequent word.");
}

static int draw_classes(page_call *c, const fab_profile *f, const char *title, const fab_scaling *k)
{
    double p[CLASSES][POINTS];
    char name[CLASSES][32];
    fab_curve curve[CLASSES];
    const int64_t shown = f->p->classes < CLASSES ? f->p->classes : CLASSES;
    for (int64_t j = 0; j < shown; j++) {
        for (int64_t i = 0; i < POINTS; i++) p[j][i] = fab_predictions_probability(f->p, i, j);
        curve[j] = (fab_curve){
            .name = fab_scaling_class(k, j, name[j]), .x = f->x, .y = p[j], .n = POINTS};
    }
    const fab_plot plot = {.title = title,
                           .x_label = f->column,
                           .y_label = "probability",
                           .curve = curve,
                           .curves = shown};
    return page_plot(
        c, &plot,
        shown < f->p->classes
            ? "The first classes. All other columns are at their mean, or at their most "
              "frequent word."
            : "All other columns are at their mean, or at their most frequent word.");
}

static int show_profile(page_call *c, fab_regression *r)
{
    const fab_scaling *k = fab_regression_scaling(r);
    fab_profile *f = NULL;
    char title[160], text[400];
    const fab_status s = fab_regression_profile(r, POINTS, &f);
    fab_page_heading(c->page, "What one column does");
    if (s == FAB_UNSUPPORTED) {
        snprintf(text, sizeof text, "No column can be moved: %s.", fab_detail());
        fab_page_text(c->page, text);
        return DONE;
    }
    if (s != FAB_OK) return say_status_of(c->file, s);
    snprintf(title, sizeof title, "Predictions along %s", f->column);
    snprintf(
        text, sizeof text,
        "Of the columns of numbers, '%s' moves the predictions most. It goes from two standard "
        "deviations below its mean to two above.",
        f->column);
    fab_page_text(c->page, text);
    const int status = f->p->classes ? draw_classes(c, f, title, k)
                                     : draw_numbers(c, f, title, k->target ? k->target : "target");
    fab_profile_free(f);
    return status;
}

/* ---- the page ------------------------------------------------------------------------------------- */

static int show_data(page_call *c, fab_regression *r)
{
    fab_data rows;
    fab_predictions *p = NULL;
    int status = data_of(&rows, &c->data);
    if (status != DONE) return status;
    const fab_status s = fab_regression_predict(r, &rows, &c->how, &p);
    status = s == FAB_OK ? page_predictions(c, r, p) : say_status(s);
    fab_predictions_free(p);
    return status;
}

int page_regression(page_call *c, const fab_posterior *p)
{
    fab_regression *r = NULL;
    const fab_status s = fab_regression_take(&r, c->file, p, NULL);
    if (s != FAB_OK) return say_status(s);
    int status = show_facts(c, r, p);
    if (status == DONE)
        status = fab_regression_has_coefficients(r) ? show_coefficients(c, r) : show_profile(c, r);
    if (status == DONE && c->data.file) status = show_data(c, r);
    if (status == DONE) status = page_stream(c, p);
    fab_regression_free(r);
    return status;
}
