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
    learning learning; /* of a model */
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
    const int64_t D = setting_get(f->method->table, fab_fit_settings(f->estim), "D");
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
    const fab_status s = fab_fit_gauss(c->fit.estim, &q);
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

/* The settings of the file. */
static int take_settings(learning *l, const update_call *c, const fab_tensors *t)
{
    const fab_method *m = fab_method_find(fab_tensors_get(t, "method"));
    const int network = strstr(fab_tensors_get(t, "model"), "\"network\"") != NULL;
    const int status = learning_settings(l, network ? fab_method_of_networks(m) : m);
    if (status != DONE) return status;
    const fab_status s =
        fab_settings_from_json(l->method->table, l->settings, fab_tensors_get(t, "settings"));
    return s == FAB_OK ? DONE : say_status_of(c->file, s);
}

static int update_model(update_call *c, const fab_tensors *t)
{
    const fab_tensor *F = fab_tensors_find(t, "F");
    learning *l = &c->learning;
    l->verb = "update";
    l->data = c->data;
    l->output = c->output ? c->output : c->file;
    l->quiet = c->quiet;
    l->start = fab_clock();
    l->exec.threads = c->threads;
    if (F)
        l->exec.ops = fab_ops_find("cpu", F->type); /* the kernels that the state was made with */
    fab_set_progress(progress_tick, NULL);
    int status = take_settings(l, c, t);
    if (status == DONE) status = learning_resume(l, c->file, t);
    if (status == DONE) status = learning_open_as(l);
    if (status == DONE) status = learning_rows(l);
    if (status == DONE) status = learning_save(l);
    return status == DONE ? learned_say(l, 0, c->json) : status;
}

static int update(update_call *c)
{
    fab_tensors *t = NULL;
    const fab_status s = fab_tensors_read(&t, c->file);
    if (s != FAB_OK) return say_status(s);
    int status = check_file(c, t);
    if (status == DONE)
        status = fab_tensors_get(t, "model") ? update_model(c, t) : update_vectors(c, t);
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
    learning_close(&c.learning);
    return status;
}

const verb verb_update = {"update", "FILE DATA [-o OUT]", "continue a streaming fit with more rows",
                          run};
