/* saved.c - a regression and its file: written, read, gone on with.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/json.h"
#include "base/text.h"
#include "data/source/source.h"
#include "la/ops.h"
#include "table/regression.h"
#include "table/same.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is wrong with a file names it, and is not a wrong call. */
static fab_status of_file(const char *file, fab_status s)
{
    return fab_about(file, s == FAB_BAD_ARGUMENT ? FAB_BAD_FILE : s);
}

/* ---- what is in a file -------------------------------------------------------------------------------- */

fab_kind fab_file_kind(const fab_tensors *file)
{
    const char *model = fab_tensors_get(file, "model");
    if (!model) return FAB_KIND_VECTORS;
    if (fab_json_is(model, "kind", "linear")) return FAB_KIND_LINEAR;
    if (fab_json_is(model, "kind", "network")) return FAB_KIND_NETWORK;
    if (fab_json_is(model, "kind", "gp")) return FAB_KIND_GP;
    if (fab_json_is(model, "kind", "svm")) return FAB_KIND_SVM;
    return FAB_KIND_CALLBACK;
}

int fab_posterior_is_linear(const fab_posterior *p)
{
    return p->mix.n == 1 && fab_tensors_get(p->file, "scaling") &&
           fab_file_kind(p->file) == FAB_KIND_LINEAR;
}

/* ---- write -------------------------------------------------------------------------------------------- */

static fab_status describe_calibration(const fab_regression *r, fab_tensors *more)
{
    char *text;
    if (!r->calibration.way) return FAB_OK;
    FAB_TRY(fab_calibration_json(&r->calibration, r->calibrated, &text));
    const fab_status s = fab_tensors_set(more, "calibration", text);
    fab_text_free(text);
    return s;
}

static fab_status describe(const fab_regression *r, fab_tensors *more)
{
    char *text, read[32];
    FAB_TRY(describe_calibration(r, more));
    FAB_TRY(fab_summary_save(&r->summary, more));
    FAB_TRY(fab_scaling_json(r->scaling, &text));
    const fab_status s = fab_tensors_set(more, "scaling", text);
    fab_text_free(text);
    if (s != FAB_OK)
        return s == FAB_BAD_ARGUMENT ? FAB_BAD_DATA : s; /* a name in the data that is not UTF-8 */
    if (r->fit.left.rows > 0) {
        char sum[32], rows[32], most[32], left[130];
        fab_print_double(sum, sizeof sum, r->fit.left.sum);
        fab_print_double(rows, sizeof rows, r->fit.left.rows);
        fab_print_double(most, sizeof most, r->fit.left.most);
        snprintf(left, sizeof left, "{\"sum\": %s, \"rows\": %s%s%s}", sum, rows,
                 r->fit.left.most > 0 ? ", \"most\": " : "", r->fit.left.most > 0 ? most : "");
        FAB_TRY(fab_tensors_set(more, "left", left));
    }
    if (r->ahead) FAB_TRY(fab_prequential_save(r->ahead, more));
    if (!r->resumable || !r->fit.what.method->streams) return FAB_OK;
    snprintf(read, sizeof read, "%lld", (long long)fab_feed_rows(r->feed));
    return fab_tensors_set(more, "read", read);
}

fab_status fab_regression_write(fab_regression *r, const char *path, int unfinished)
{
    fab_tensors *more;
    FAB_TRY(fab_tensors_create(&more));
    fab_status s = describe(r, more);
    if (s == FAB_OK) s = fab_fitting_save(&r->fit, path, more, unfinished);
    fab_tensors_free(more);
    return s;
}

fab_status fab_regression_save(fab_regression *r, const char *path)
{
    if (r->fit.fit) return fab_regression_write(r, path, 0);
    if (r->posterior) return fab_tensors_write(r->posterior->file, path); /* as it was read */
    return FAB_FAIL(FAB_BAD_ARGUMENT, "regression: nothing has been fitted yet");
}

fab_status fab_regression_pack(fab_regression *r, void **bytes, size_t *size)
{
    fab_tensors *more;
    *bytes = NULL;
    if (!r->fit.fit && r->posterior)
        return fab_tensors_pack(r->posterior->file, bytes, size); /* as it was read */
    if (!r->fit.fit) return FAB_FAIL(FAB_BAD_ARGUMENT, "regression: nothing has been fitted yet");
    FAB_TRY(fab_tensors_create(&more));
    fab_status s = describe(r, more);
    if (s == FAB_OK) s = fab_fit_pack(r->fit.fit, 0, more, bytes, size);
    fab_tensors_free(more);
    return s;
}

/* ---- read --------------------------------------------------------------------------------------------- */

static fab_status take_network(fab_regression *r, const fab_tensors *file)
{
    const char *scaling = fab_tensors_get(file, "scaling");
    if (!scaling) return FAB_FAIL(FAB_BAD_FILE, "is a network without a scaling");
    FAB_TRY(fab_net_from_json(&r->view.net, fab_tensors_get(file, "model"), 0, NULL));
    FAB_TRY(fab_scaling_from_json(&r->scaling, scaling));
    r->view.model = fab_net_model(r->view.net)->head;
    if (r->scaling->D != r->view.model.D ||
        r->scaling->levels != fab_fitting_levels(&r->view.model))
        return FAB_FAIL(FAB_BAD_FILE, "its network and its scaling do not belong together");
    return FAB_OK;
}

/* What features leave of the rows so far. */
static fab_status take_left(fab_regression *r, const fab_tensors *file)
{
    const char *json = fab_tensors_get(file, "left");
    double sum, rows, most;
    if (!json) return FAB_OK;
    FAB_TRY(fab_json_number_or_nan(json, "sum", &sum));
    FAB_TRY(fab_json_number_or_nan(json, "rows", &rows));
    FAB_TRY(fab_json_number_or_nan(json, "most", &most));
    if (isnan(most)) most = 0; /* there is none */
    if (!(sum >= 0 && rows > 0 && most >= 0))
        return FAB_FAIL(FAB_BAD_FILE, "what its features leave of the variance cannot be");
    r->fit.left.sum = sum;
    r->fit.left.rows = rows;
    r->fit.left.most = most;
    return FAB_OK;
}

static fab_status take_linear(fab_regression *r, const fab_posterior *p)
{
    const fab_gauss *q = p->mix.part[0];
    fab_glm *m = &r->view.model;
    if (!fab_posterior_is_linear(p))
        return FAB_FAIL(FAB_BAD_FILE, "is not a file of `fabayes fit`");
    FAB_TRY(fab_glm_from_json(m, fab_tensors_get(p->file, "model")));
    FAB_TRY(fab_scaling_from_json(&r->scaling, fab_tensors_get(p->file, "scaling")));
    FAB_TRY(take_left(r, p->file));
    fab_fitting_take_off(&r->fit, m);
    if (r->scaling->D != m->D || q->D != fab_glm_size(m) || q->total ||
        r->scaling->levels != fab_fitting_levels(m))
        return FAB_FAIL(FAB_BAD_FILE, "its Gaussian, model and scaling do not belong together");
    return FAB_OK;
}

/* Predictions without it would be other than the fit's. */
static fab_status take_calibration(fab_regression *r, const fab_tensors *file)
{
    const char *json = fab_tensors_get(file, "calibration");
    if (!json) return FAB_OK;
    FAB_TRY(fab_calibration_from_json(json, fab_likelihood_target(r->view.model.likelihood),
                                      &r->calibration, &r->calibrated));
    if (r->calibrated) return FAB_OK;
    return FAB_FAIL(FAB_BAD_FILE, "was saved before it was calibrated: go on with its fit");
}

fab_status fab_regression_take(fab_regression **r, const char *name, const fab_posterior *p,
                               const fab_exec *x)
{
    const fab_kind kind = fab_file_kind(p->file);
    const int network = kind == FAB_KIND_NETWORK;
    const char *method = fab_tensors_get(p->file, "method");
    fab_regression *new;
    *r = NULL;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "regression"));
    *new = (fab_regression){.posterior = p, .view = {.is_made = 1, .mix = p->mix}};
    if (x) new->exec = *x;
    new->fit.what.method = method ? fab_method_find(method) : NULL;
    if (new->fit.what.method && network)
        new->fit.what.method = fab_method_of_networks(new->fit.what.method);
    fab_status s = fab_copy_text(&new->name, name);
    if (s == FAB_OK && kind == FAB_KIND_GP)
        s = of_file(name, fab_regression_take_process(new, p));
    else if (s == FAB_OK)
        s = of_file(name, network ? take_network(new, p->file) : take_linear(new, p));
    if (s == FAB_OK) s = of_file(name, take_calibration(new, p->file));
    if (s == FAB_OK)
        *r = new;
    else
        fab_regression_free(new);
    return s;
}

/* The regression owns p, or nobody does. */
static fab_status take_whole(fab_regression **r, const char *name, fab_posterior *p,
                             const fab_exec *x)
{
    const fab_status s = fab_regression_take(r, name, p, x);
    if (s == FAB_OK)
        (*r)->loaded = p;
    else
        fab_posterior_free(p);
    return s;
}

fab_status fab_regression_load(fab_regression **r, const char *path, const fab_exec *x)
{
    fab_posterior *p;
    *r = NULL;
    FAB_TRY(fab_posterior_load(&p, path));
    return take_whole(r, path, p, x);
}

fab_status fab_regression_parse(fab_regression **r, const char *name, const void *bytes,
                                size_t size, const fab_exec *x)
{
    fab_posterior *p;
    *r = NULL;
    FAB_TRY(fab_posterior_parse(&p, name, bytes, size));
    return take_whole(r, name, p, x);
}

/* ---- go on -------------------------------------------------------------------------------------------- */

/* A linear model of the file must be the one that the plan and the data make. */
static fab_status check_model(fab_regression *r, const char *file, const fab_tensors *t)
{
    fab_glm then;
    FAB_TRY(of_file(file, fab_glm_from_json(&then, fab_tensors_get(t, "model"))));
    r->fit.units = r->scaling;
    FAB_TRY(fab_fitting_model(&r->fit));
    const fab_glm *now = &r->fit.glm;
    if (then.likelihood != now->likelihood)
        return FAB_FAIL(FAB_BAD_FILE, "%s: was made with likelihood = %s, and this call says %s",
                        file, fab_likelihood_name(then.likelihood),
                        fab_likelihood_name(now->likelihood));
    if (then.intercept != now->intercept)
        return FAB_FAIL(FAB_BAD_FILE, "%s: was made %s intercept, and this call says otherwise",
                        file, then.intercept ? "with an" : "without");
    if (then.D != now->D || then.classes != now->classes ||
        r->scaling->levels != fab_fitting_levels(now))
        return FAB_FAIL(FAB_BAD_FILE, "%s: its model and its scaling do not belong together", file);
    return FAB_OK;
}

/* The features of the file must be those of the call. */
static fab_status check_features(const fab_regression *r, const char *file)
{
    const fab_scaling *k = r->scaling;
    const fab_dataset *t = r->table;
    const char *then = k->formula ? k->formula : "none", *now = t->formula ? t->formula : "none";
    if (strcmp(then, now) != 0)
        return FAB_FAIL(FAB_BAD_FILE, "%s: was made with the formula %s, and this call says %s",
                        file, then, now);
    int same = k->columns == t->columns;
    for (int64_t c = 0; c < k->columns && same; c++)
        same = strcmp(k->column[c].name, t->name[c]) == 0;
    if (same) return FAB_OK;
    return FAB_FAIL(FAB_BAD_FILE, "%s: was made with other columns than this call", file);
}

/* The units of the file instead of those of the rows at hand. */
static fab_status take_units(fab_regression *r, const char *file, const fab_tensors *t)
{
    const char *scaling = fab_tensors_get(t, "scaling");
    if (!scaling)
        return FAB_FAIL(FAB_BAD_FILE, "%s: has no scaling, and rows cannot be brought to its units",
                        file);
    fab_scaling_free(r->scaling);
    r->fit.units = r->scaling = NULL;
    FAB_TRY(of_file(file, fab_scaling_from_json(&r->scaling, scaling)));
    FAB_TRY(check_features(r, file));
    FAB_TRY(fab_map_check(&r->map, file, r->scaling));
    r->fit.units = r->scaling;
    return FAB_OK;
}

/* Behind the rows that the file has seen; a network goes on with the same table. */
static fab_status skip(fab_regression *r, const char *file, const fab_tensors *t)
{
    const char *read = fab_tensors_get(t, "read");
    const int64_t behind = read ? strtoll(read, NULL, 10) : -1, here = fab_feed_rows(r->feed);
    if (!r->fit.what.method->streams) return FAB_OK;
    if (behind < here)
        return FAB_FAIL(FAB_BAD_FILE, "%s: is not a file that this call left behind", file);
    const fab_status s = fab_feed_skip(r->feed, behind - here);
    fab_dataset_clear(r->table);
    r->rows = 0;
    return fab_about(fab_data_name(&r->data), s == FAB_BAD_ARGUMENT ? FAB_BAD_DATA : s);
}

/* Other rows would have been left out. */
static fab_status check_calibration(const fab_regression *r, const char *file, const fab_tensors *t)
{
    const char *json = fab_tensors_get(t, "calibration");
    const fab_calibration *now = &r->calibration;
    fab_calibration then = {0};
    int finished;
    if (json)
        FAB_TRY(of_file(
            file, fab_calibration_from_json(json, fab_likelihood_target(r->fit.what.likelihood),
                                            &then, &finished)));
    if (then.way == now->way && then.rows == now->rows) return FAB_OK;
    return FAB_FAIL(FAB_BAD_FILE,
                    "%s: was made with calibrate = %s (%lld rows), and this call says %s (%lld)",
                    file, then.way ? then.way : "nothing", (long long)then.rows,
                    now->way ? now->way : "nothing", (long long)now->rows);
}

static fab_status resume(fab_regression *r, const char *file, const fab_tensors *t)
{
    const fab_recipe *w = &r->fit.what;
    const int linear = fab_fitting_is_linear(&r->fit), any_type = w->method->streams || w->layers;
    const fab_dtype type = any_type && r->exec.ops ? r->exec.ops->type : FAB_F64;
    FAB_TRY(fab_same_method(file, t, "fit", w->method, type));
    FAB_TRY(fab_same_settings(file, t, w->method->fields, r->settings, NULL));
    FAB_TRY(check_calibration(r, file, t));
    FAB_TRY(take_units(r, file, t));
    if (linear) FAB_TRY(check_model(r, file, t));
    FAB_TRY(of_file(file, take_left(r, t)));
    if (!linear && r->fit.what.layers)
        FAB_TRY(fab_fitting_model(&r->fit));
    else
        FAB_TRY(of_file(file, fab_fitting_model_of(&r->fit, t)));
    FAB_TRY(of_file(file, fab_fitting_resume(&r->fit, t)));
    if (w->method->streams) FAB_TRY(of_file(file, fab_regression_open_scores(r, t)));
    return skip(r, file, t);
}

fab_status fab_regression_resume(fab_regression *r)
{
    const char *file = r->plan.output;
    fab_tensors *t;
    FAB_TRY(fab_tensors_read(&t, file));
    const fab_status s = resume(r, file, t);
    fab_tensors_free(t);
    return s;
}

fab_status fab_regression_continue(fab_regression *r)
{
    const fab_tensors *t = r->posterior->file;
    const fab_tensor *F = fab_tensors_find(t, "F");
    const char *settings = fab_tensors_get(t, "settings");
    const fab_fields *fields = r->fit.what.method->fields;
    if (!settings)
        return FAB_FAIL(FAB_BAD_FILE, "%s: has no settings: there is nothing to continue", r->name);
    fab_release(r->settings);
    r->settings = NULL;
    FAB_TRY(fab_alloc_array(&r->settings, 1, fields->size, fields->method));
    fab_settings_defaults(fields, r->settings);
    FAB_TRY(of_file(r->name, fab_settings_from_json(fields, r->settings, settings)));
    r->fit.settings = r->settings;
    r->fit.units = r->scaling;
    r->fit.exec = r->exec;
    if (F)
        r->fit.exec.ops =
            fab_ops_find("cpu", F->type); /* the kernels that the state was made with */
    fab_status s = of_file(r->name, fab_fitting_model_of(&r->fit, t));
    if (s == FAB_OK) s = of_file(r->name, fab_fitting_resume(&r->fit, t));
    if (s == FAB_OK) s = of_file(r->name, fab_regression_open_scores(r, t));
    if (s != FAB_OK) fab_fitting_close(&r->fit);
    return s;
}
