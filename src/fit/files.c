/* files.c - a fit in a file or in memory, and how it goes on from there.
 *
 * Metadata: method, settings (JSON), n, seed; of a model also model (JSON) and alpha.  Tensors: those of the posterior,
 * and the state (state.*; of several runs 0.state.*, 1.state.*, ..).
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "fit/fit.h"
#include "la/ops.h"
#include "model/kernel.h"
#include "train/state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 128 };

/* ---- what a saved fit says of itself ------------------------------------------------------------------ */

static int is_linear(const fab_fit *f)
{
    return f->model.glm && f->m->takes & FAB_TAKES_LINEAR;
}

static fab_status set_number(fab_tensors *t, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return fab_tensors_set(t, key, text);
}

/* A batch method of linear models stores alpha, beta and temperature as chosen; others their settings as given, to go on with. */
static fab_status describe_settings(fab_fit *f, fab_tensors *t)
{
    const fab_fields *fields = f->m->fields;
    void *settings;
    char *json = NULL;
    fab_report r = {0};
    if (is_linear(f) && !f->m->streams) FAB_TRY(fab_fit_report(f, &r));
    FAB_TRY(fab_alloc_array(&settings, 1, fields->size, f->m->name));
    memcpy(settings, f->settings, fields->size);
    fab_settings_choose(fields, settings, "alpha", r.alpha);
    fab_settings_choose(fields, settings, "beta", r.beta);
    fab_settings_choose(fields, settings, "lambda", r.lambda);
    fab_settings_choose(fields, settings, "temperature", r.temperature);
    fab_status s = fab_settings_json(fields, settings, &json);
    if (s == FAB_OK) s = fab_tensors_set(t, "settings", json);
    fab_text_free(json);
    fab_release(settings);
    return s;
}

/* {"kind": "linear" ..}, {"kind": "gp" ..}, {"kind": "network" ..}, or a model without words for itself. */
static fab_status describe_model(fab_fit *f, fab_tensors *t)
{
    const fab_model *m = &f->model;
    char *json = NULL;
    fab_glm glm;
    if (m->glm) {
        FAB_TRY(fab_fit_glm(f, &glm));
        FAB_TRY(fab_glm_json(&glm, &json));
    } else if (m->kernel) {
        FAB_TRY(fab_fit_glm(f, &glm));
        FAB_TRY(fab_process_json(&glm, m->kernel, &json));
    } else if (m->json) {
        FAB_TRY(m->json(m->self, &json));
    } else {
        fab_text text = {0};
        fab_text_add(&text, "{\"kind\": \"callback\", \"parameters\": %lld}", (long long)m->D);
        FAB_TRY(fab_text_give(&text, &json));
    }
    const fab_status s = fab_tensors_set(t, "model", json);
    fab_text_free(json);
    return s;
}

/* Whether it has converged, where that can be told of a fit that has ended. */
static fab_status describe_converged(fab_fit *f, fab_tensors *t)
{
    fab_report r;
    if (!f->ready) return FAB_OK;
    FAB_TRY(fab_fit_report(f, &r));
    return r.converged < 0 ? FAB_OK : set_number(t, "converged", r.converged);
}

/* The prior precision in force, which the settings of a stream or a model do not know. */
static fab_status describe_alpha(fab_fit *f, fab_tensors *t)
{
    fab_report r;
    char number[32];
    FAB_TRY(fab_fit_report(f, &r));
    if (!(r.alpha > 0)) return FAB_OK; /* a given prior */
    fab_print_double(number, sizeof number, r.alpha);
    return fab_tensors_set(t, "alpha", number);
}

/* What `verb` of the method adds for each run; of several with the number of the run in front. */
static fab_status add_of_runs(const fab_fit *f, fab_status (*verb)(void *handle, fab_tensors *t),
                              fab_tensors *t)
{
    if (!verb) return FAB_OK;
    if (f->runs == 1) return verb(f->handle[0], t);
    for (int64_t i = 0; i < f->runs; i++) {
        fab_tensors *one;
        char prefix[NAME_BYTES];
        snprintf(prefix, sizeof prefix, "%lld.", (long long)i);
        FAB_TRY(fab_tensors_create(&one));
        fab_status s = verb(f->handle[i], one);
        if (s == FAB_OK) s = fab_state_rename(one, "", prefix, t);
        fab_tensors_free(one);
        FAB_TRY(s);
    }
    return FAB_OK;
}

fab_status fab_fit_save_state(const fab_fit *f, fab_tensors *t)
{
    return add_of_runs(f, f->m->save, t);
}

fab_status fab_fit_tensors(fab_fit *f, const fab_tensors **t)
{
    const fab_mixture *q;
    *t = NULL;
    FAB_TRY(fab_fit_result(f, &q));
    if (!f->tensors) {
        fab_tensors *made;
        FAB_TRY(fab_tensors_create(&made));
        const fab_status s = add_of_runs(f, f->m->tensors, made);
        if (s != FAB_OK) {
            fab_tensors_free(made);
            return s;
        }
        f->tensors = made;
    }
    *t = f->tensors;
    return FAB_OK;
}

static fab_status add_more(fab_tensors *t, const fab_tensors *more)
{
    for (int64_t i = 0; i < fab_tensors_meta_count(more); i++) {
        const char *key = fab_tensors_meta_key(more, i);
        FAB_TRY(fab_tensors_set(t, key, fab_tensors_get(more, key)));
    }
    return fab_state_rename(more, "", "", t);
}

static fab_status describe(fab_fit *f, const fab_tensors *more, fab_tensors *t)
{
    FAB_TRY(fab_tensors_set(t, "method", f->m->name));
    FAB_TRY(describe_settings(f, t));
    FAB_TRY(set_number(t, "n", f->n));
    FAB_TRY(set_number(t, "seed", fab_method_setting(f->m, f->settings, "seed")));
    if (f->model.D) FAB_TRY(describe_model(f, t));
    if (is_linear(f) || (f->model.D && f->ready)) FAB_TRY(describe_alpha(f, t));
    FAB_TRY(describe_converged(f, t));
    FAB_TRY(fab_fit_save_state(f, t));
    if (f->ready) FAB_TRY(add_of_runs(f, f->m->tensors, t));
    return more ? add_more(t, more) : FAB_OK;
}

/* ---- out -------------------------------------------------------------------------------------------- */

static fab_status finish(fab_fit *f, int unfinished)
{
    const fab_mixture *q;
    if (f->drive) FAB_TRY(fab_drive_rest(f->drive));
    if (!unfinished) return fab_fit_result(f, &q);
    if (!fab_fit_has_so_far(f))
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: only a finished fit can be saved", f->m->name);
    return fab_fit_parts(f, 1);
}

static fab_status write_file(fab_fit *f, int unfinished, const char *path, const fab_tensors *more)
{
    fab_tensors *t;
    FAB_TRY(finish(f, unfinished));
    FAB_TRY(fab_tensors_create(&t));
    fab_status s = describe(f, more, t);
    if (s == FAB_OK) s = fab_posterior_save(path, &f->mixture, t);
    fab_tensors_free(t);
    return s;
}

fab_status fab_fit_save(fab_fit *f, const char *path, const fab_tensors *more)
{
    return write_file(f, 0, path, more);
}

fab_status fab_fit_checkpoint(fab_fit *f, const char *path, const fab_tensors *more)
{
    return write_file(f, 1, path, more);
}

fab_status fab_fit_pack(fab_fit *f, int unfinished, const fab_tensors *more, void **bytes,
                        size_t *size)
{
    fab_tensors *t;
    *bytes = NULL;
    FAB_TRY(finish(f, unfinished));
    FAB_TRY(fab_tensors_create(&t));
    fab_status s = describe(f, more, t);
    if (s == FAB_OK) s = fab_posterior_pack(&f->mixture, t, bytes, size);
    fab_tensors_free(t);
    return s;
}

/* ---- in --------------------------------------------------------------------------------------------- */

fab_status fab_fit_load_state(fab_fit *f, const fab_tensors *t, int64_t n)
{
    f->n = n;
    if (f->runs == 1) return f->m->load(f->handle[0], t);
    for (int64_t i = 0; i < f->runs; i++) {
        fab_tensors *one;
        char prefix[NAME_BYTES];
        snprintf(prefix, sizeof prefix, "%lld.", (long long)i);
        FAB_TRY(fab_tensors_create(&one));
        fab_status s = fab_state_rename(t, prefix, "", one);
        if (s == FAB_OK) s = f->m->load(f->handle[i], one);
        fab_tensors_free(one);
        FAB_TRY(s);
    }
    return FAB_OK;
}

/* What the file says it was made from: vectors, or a linear model in *glm and *model. */
static fab_status described_input(const fab_method *m, const fab_tensors *file, fab_input *in,
                                  fab_glm *glm, fab_model *model)
{
    const fab_tensor *mu = fab_tensors_find(file, fab_method_clusters(m) ? "0.mu" : "mu");
    if (!mu) mu = fab_tensors_find(file, "mu"); /* one cluster */
    const char *json = fab_tensors_get(file, "model");
    if (m->takes & FAB_TAKES_VECTORS) {
        if (!mu || mu->ndim != 1 || mu->shape[0] < 1)
            return FAB_FAIL(FAB_BAD_FILE, "tensor 'mu' is absent: this is no saved fit");
        in->vectors = mu->shape[0];
        return FAB_OK;
    }
    if (!json || !(m->takes & FAB_TAKES_LINEAR) || fab_glm_from_json(glm, json) != FAB_OK)
        return FAB_FAIL(FAB_BAD_FILE, "method '%s' needs the model that this file was made with",
                        m->name);
    *model = fab_model_linear(glm);
    in->model = model;
    return FAB_OK;
}

/* Rows that a stream has seen. */
static fab_status read_count(const fab_tensors *file, int64_t *n)
{
    const char *rows = fab_tensors_get(file, "n");
    char *end = NULL;
    *n = rows ? strtoll(rows, &end, 10) : -1;
    if (!rows || end == rows || *end != '\0' || *n < 0 || *n > INT64_MAX / 2)
        return FAB_FAIL(FAB_BAD_FILE, "n = '%s' is not a number of rows", rows ? rows : "");
    return FAB_OK;
}

static fab_status load_with(fab_fit **f, const fab_method *m, void *settings,
                            const fab_tensors *file, const fab_input *in, const fab_exec *x)
{
    int64_t n = 0; /* a batch method gets its rows again, others go on behind them */
    fab_settings_defaults(m->fields, settings);
    fab_status s = fab_method_continues(m) ? read_count(file, &n) : FAB_OK;
    if (s == FAB_OK)
        s = fab_settings_from_json(m->fields, settings, fab_tensors_get(file, "settings"));
    FAB_TRY(fab_agree(x ? x->comm : NULL, s, 0, ""));
    FAB_TRY(fab_fit_create(f, m->name, settings, m->fields->size, in, x));
    s = fab_fit_load_state(*f, file, n);
    if (s == FAB_OK && (*f)->drive && n > in->rows)
        s = FAB_FAIL(FAB_BAD_FILE, "the file has seen %lld rows, and there are %lld", (long long)n,
                     (long long)in->rows);
    s = fab_agree(&(*f)->comm, s, (uint64_t)n, "the files of the processes have seen other rows");
    if (s == FAB_OK) return FAB_OK;
    fab_fit_free(*f);
    *f = NULL;
    return s;
}

/* The method that the file was made with, as it continues. */
static fab_status described_method(const fab_method **method, const fab_tensors *file,
                                   const fab_input *in)
{
    const char *name = fab_tensors_get(file, "method");
    if (!name || !fab_tensors_get(file, "settings") || !fab_tensors_get(file, "n"))
        return FAB_FAIL(FAB_BAD_FILE,
                        "the metadata lack method, settings or n: this is no saved fit");
    const fab_method *m = fab_method_find(name);
    if (!m) return FAB_FAIL(FAB_BAD_FILE, "method '%s' is not known", name);
    if (fab_tensors_get(file, "processes"))
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "was learned by %s processes, and has no state to go on from; what the "
                        "new rows say is learned by itself and merged",
                        fab_tensors_get(file, "processes"));
    if (in && in->model && !in->model->glm) m = fab_method_of_networks(m);
    if (m->vectors && (in ? in->vectors > 0 : !fab_tensors_get(file, "model"))) m = m->vectors;
    if (!m->load)
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "method '%s' is a batch method and cannot continue; fit again with all rows", name);
    *method = m;
    return FAB_OK;
}

fab_status fab_fit_load(fab_fit **f, const fab_tensors *file, const fab_input *in,
                        const fab_exec *x)
{
    const fab_method *m = NULL;
    fab_input own = {0};
    fab_model model;
    fab_glm glm;
    void *settings = NULL;
    *f = NULL;
    fab_status s = described_method(&m, file, in);
    if (s == FAB_OK && !in) s = described_input(m, file, &own, &glm, &model);
    if (s == FAB_OK) s = fab_alloc_array(&settings, 1, m->fields->size, m->name);
    s = fab_agree(x ? x->comm : NULL, s, 0, "");
    if (s == FAB_OK) s = load_with(f, m, settings, file, in ? in : &own, x);
    fab_release(settings);
    return s == FAB_BAD_ARGUMENT ? FAB_BAD_FILE : s; /* a bad setting here came from the file */
}
