/* update.c - `fabayes update`: continue a streaming fit with more rows.
 *
 * A file with a model in it was made by `fit`, one without by `fa`.
 *
 * SPDX-License-Identifier: MIT */
#include "print/learned.h"
#include "print/summary.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct update_call {
    const char *file, *output;
    data_options data;
    int64_t threads, json, quiet;
    fit fit;           /* of vectors */
    fab_regression *r; /* of a model */
} update_call;

static int check_file(const update_call *c, const fab_tensors *t)
{
    const char *method = fab_tensors_get(t, "method");
    const fab_method *m = method ? fab_method_find(method) : NULL;
    if (!method || !fab_tensors_get(t, "settings") || !fab_tensors_get(t, "n"))
        return say_failed(
            "%s: is not a file of `fabayes fa` or `fit`: there is nothing to continue", c->file);
    if (!m) return say_failed("%s: was made by method '%s', which is not known", c->file, method);
    if (!m->streams)
        return say_failed("%s: was made by %s, a batch method, and cannot be continued; fit again "
                          "with all rows",
                          c->file, method);
    return DONE;
}

/* Settings and state of the file, metadata to keep, and DATA that fits to them. */
static int take_file(update_call *c, fab_tensors *t)
{
    fit *f = &c->fit;
    int status = fit_settings(f, fab_method_find(fab_tensors_get(t, "method")));
    if (status == DONE) status = fit_resume(f, c->file, t, 0);
    if (status == DONE) status = data_open(&f->data, &c->data);
    if (status != DONE) return status;
    const int64_t D = setting_get(f->method->table, fab_estim_settings(f->estim), "D");
    if (f->data.D != D)
        return say_failed("%s has D = %" PRId64 " coordinates and %s has D = %" PRId64, c->file, D,
                          c->data.file, f->data.D);
    status = data_check_names(&f->data, c->file, fab_tensors_get(t, "features"));
    if (status == DONE) status = fit_set_names(f);
    return status == DONE ? fit_keep_metadata(f, t) : status; /* names in the file stay */
}

static int finish_vectors(update_call *c)
{
    const fab_gauss *q;
    factors turned = {0};
    const fab_status s = fab_estim_result(c->fit.estim, &q);
    if (s != FAB_OK) return say_status_of(c->data.file, s);
    int status = fit_save(&c->fit);
    if (status == DONE) status = factors_open(&turned, q, 0);
    progress_close();
    if (status == DONE) status = summary_say(&c->fit, &turned, NULL, c->json);
    factors_close(&turned);
    return status;
}

static int update_vectors(update_call *c, fab_tensors *t)
{
    if (c->data.labels) return say_wrong("update: %s is of vectors, which have no labels", c->file);
    c->fit.verb = "update";
    c->fit.output = c->output ? c->output : c->file;
    c->fit.quiet = c->quiet;
    c->fit.exec.threads = c->threads;
    int status = take_file(c, t);
    if (status == DONE) status = fit_rows(&c->fit);
    return status == DONE ? finish_vectors(c) : status;
}

/* ---- a model ---------------------------------------------------------------------------------------- */

static int say_update(fab_status s)
{
    if (s == FAB_MISSING_VALUE)
        return say_failed("%s; --missing drop leaves the row out, --missing mean fills it",
                          fab_detail());
    return s == FAB_OK ? DONE : say_status(s);
}

static int update_model(update_call *c)
{
    const fab_exec exec = {.threads = c->threads};
    const fab_data more = data_of(&c->data);
    const char *output = c->output ? c->output : c->file;
    const double start = fab_clock();
    fab_set_progress(progress_tick, NULL);
    fab_status s = fab_regression_load(&c->r, c->file, &exec);
    if (s == FAB_OK) s = fab_regression_update(c->r, &more);
    if (s == FAB_OK) s = fab_regression_save(c->r, output);
    if (s != FAB_OK) return say_update(s);
    return c->json ? learned_json(c->r, output, start) : learned_print(c->r, c->quiet, start);
}

static int update(update_call *c)
{
    fab_tensors *t = NULL;
    const fab_status s = fab_tensors_read(&t, c->file);
    if (s != FAB_OK) return say_status(s);
    int status = check_file(c, t);
    if (status == DONE)
        status = fab_file_kind(t) == FAB_KIND_VECTORS ? update_vectors(c, t) : update_model(c);
    fab_tensors_free(t);
    return status;
}

static int run(const verb *self, int argc, char **argv)
{
    update_call c = {0};
    const char *operand[2];
    const option options[] = {
        OPTION_OUTPUT(&c.output, "save there (default: replace FILE)"),
        OPTION_FORMAT(&c.data.format),
        OPTION_ROWS(&c.data.rows),
        OPTION_LABELS(&c.data.labels),
        OPTION_FEATURES(&c.data.features),
        OPTION_THREADS(&c.threads),
        OPTION_JSON(&c.json),
        OPTION_QUIET(&c.quiet),
    };
    const call_shape shape = {options, COUNT(options), operand, 2, 2, NULL, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, NULL, &status)) return status;
    c.file = operand[0];
    c.data.file = operand[1];
    status = output_check(c.output ? c.output : c.file, c.data.file);
    if (status != DONE) return status;
    progress_open(c.quiet);
    status = update(&c);
    fit_close(&c.fit);
    fab_regression_free(c.r);
    return status;
}

const verb verb_update = {"update", "FILE DATA [-o OUT]", "continue a streaming fit with more rows",
                          run};
