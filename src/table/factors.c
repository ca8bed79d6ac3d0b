/* factors.c - factor analysis of a table: its rows through a method, its state through files.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "fit/method.h"
#include "table/factors.h"
#include "base/memory.h"
#include "data/source/names.h"
#include "data/source/source.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 20 }; /* numbers read at a time: 8 MB, or one row where that is longer */

static int64_t first_column(const fab_factors *f)
{
    return f->columns - f->D;
}

/* Put the name of a file in front of the sentence, unless it stands there. */
static fab_status about(const char *file, fab_status s)
{
    const size_t n = strlen(file);
    if (s == FAB_OK || s == FAB_STOPPED) return s;
    const int named = strncmp(fab_detail(), file, n) == 0 && fab_detail()[n] == ':';
    return named ? s : fab_prefix(s, "%s: ", file);
}

/* ---- settings --------------------------------------------------------------------------------------- */

int64_t fab_factors_get(const fab_factors *f, const char *name)
{
    int64_t v = 0;
    const fab_field *field = fab_settings_find(f->method->fields, name);
    if (field) memcpy(&v, (const char *)f->settings + field->offset, sizeof v);
    return v;
}

void fab_factors_put(fab_factors *f, const char *name, int64_t value)
{
    const fab_field *field = fab_settings_find(f->method->fields, name);
    if (field) memcpy((char *)f->settings + field->offset, &value, sizeof value);
}

static fab_status take_settings(fab_factors *f, const fab_factors_plan *p)
{
    const fab_fields *t = f->method->fields;
    fab_settings_defaults(t, f->settings);
    if (p->settings && p->size > t->size)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: settings of %zu bytes, expected %zu at most",
                        f->method->name, p->size, t->size);
    if (p->settings) memcpy(f->settings, p->settings, p->size);
    if (p->K == FAB_AUTO_I64) return fab_factors_prepare_search(f, p->max_factors);
    if (p->K) fab_factors_put(f, "K", p->K);
    return FAB_OK;
}

/* Are the settings of a saved file, a JSON text, those in force?  K is another one once it was chosen. */
static fab_status compare_settings(const fab_factors *f, const char *path, const void *old)
{
    const fab_fields *t = f->method->fields;
    for (int64_t i = 0; i < t->n; i++) {
        const fab_field *field = &t->field[i];
        char then[64], now[64];
        const char *a = (const char *)old + field->offset;
        const char *b = (const char *)f->settings + field->offset;
        if (memcmp(a, b, 8) == 0 || (f->by_bic && strcmp(field->name, "K") == 0)) continue;
        fab_settings_print(field, old, then, sizeof then);
        fab_settings_print(field, f->settings, now, sizeof now);
        if (strcmp(now, "auto") == 0) continue; /* chosen then, and the file has it */
        return FAB_FAIL(FAB_BAD_FILE, "%s: was made with %s = %s, and this call says %s", path,
                        field->name, then, now);
    }
    return FAB_OK;
}

static fab_status check_settings(const fab_factors *f, const char *path, const char *json)
{
    const fab_fields *t = f->method->fields;
    void *old;
    FAB_TRY(fab_alloc_array(&old, 1, t->size, "settings"));
    fab_settings_defaults(t, old);
    fab_status s = about(path, fab_settings_from_json(t, old, json));
    if (s == FAB_OK) s = compare_settings(f, path, old);
    fab_release(old);
    return s;
}

/* ---- the method at work: the only section that knows its handle --------------------------------------- */

static fab_status fit_create(const fab_factors *f, fab_factors_fit **fit)
{
    return fab_fit_create(fit, fab_method_name(f->method), f->settings, f->method->fields->size,
                          &(fab_input){.vectors = f->D}, &f->exec);
}

void fab_factors_fit_free(fab_factors_fit *fit)
{
    fab_fit_free(fit);
}

fab_status fab_factors_fit_update(fab_factors *f, const fab_rows *rows)
{
    return about(f->who, fab_fit_update(f->fit, &(fab_examples){.x = *rows}));
}

int64_t fab_factors_fit_rows(const fab_factors *f)
{
    return fab_fit_rows(f->fit);
}

fab_status fab_factors_fit_result(fab_factors *f, const fab_gauss **q)
{
    return about(f->who, fab_fit_gauss(f->fit, q));
}

fab_status fab_factors_fit_loglik(fab_factors *f, double *loglik_mean)
{
    fab_report d = {0};
    FAB_TRY(about(f->who, fab_fit_report(f->fit, &d)));
    *loglik_mean = d.loglik_mean;
    return FAB_OK;
}

fab_status fab_factors_fit_table(fab_factors *f, int64_t k, fab_factors_fit **fit,
                                 double *loglik_mean)
{
    fab_report d = {0};
    fab_factors_put(f, "K", k);
    fab_status s = fit_create(f, fit);
    if (s == FAB_OK) s = fab_fit_update(*fit, &(fab_examples){.x = f->table});
    if (s == FAB_OK) s = fab_fit_report(*fit, &d);
    *loglik_mean = d.loglik_mean;
    if (s != FAB_OK) {
        fab_fit_free(*fit);
        *fit = NULL;
    }
    return about(f->who, s);
}

fab_status fab_factors_fit_save(fab_factors *f, const char *path)
{
    return fab_fit_save(f->fit, path, f->more);
}

/* Go on from a file of a stream with its settings, K replaced unless it is 0. */
static fab_status fit_load(fab_factors *f, fab_tensors *t, int64_t K)
{
    const fab_tensor *F = fab_tensors_find(t, "F");
    const char *json = fab_tensors_get(t, "settings");
    if (F && (F->type == FAB_F32 || F->type == FAB_F64))
        f->exec.ops = fab_ops_find("cpu", F->type); /* the kernels that the state was made with */
    FAB_TRY(fab_settings_from_json(f->method->fields, f->settings, json ? json : "{}"));
    if (K) {
        char *text;
        fab_factors_put(f, "K", K);
        FAB_TRY(fab_settings_json(f->method->fields, f->settings, &text));
        const fab_status s = fab_tensors_set(t, "settings", text);
        fab_text_free(text);
        FAB_TRY(s);
    }
    fab_factors_fit *fit;
    FAB_TRY(fab_fit_load(&fit, t, NULL, &f->exec));
    fab_fit_free(f->fit);
    f->fit = fit;
    f->n = fab_fit_rows(fit);
    return FAB_OK;
}

/* The state through memory, with another K. */
fab_status fab_factors_fit_cut(fab_factors *f, int64_t k)
{
    fab_tensors *t = NULL;
    void *bytes;
    size_t size;
    FAB_TRY(fab_fit_pack(f->fit, 0, NULL, &bytes, &size));
    fab_status s = fab_tensors_parse(&t, "state", bytes, size);
    if (s == FAB_OK) s = fit_load(f, t, k);
    fab_tensors_free(t);
    fab_bytes_free(bytes);
    return s;
}

fab_status fab_factors_report(fab_factors *f, fab_fa_report *r)
{
    fab_report d = {0};
    const fab_gauss *q;
    FAB_TRY(fab_factors_result(f, &q));
    FAB_TRY(about(f->who, fab_fit_report(f->fit, &d)));
    *r = (fab_fa_report){.n = d.n,
                         .before = f->before,
                         .iterations = d.iterations,
                         .converged = d.converged,
                         .floored = d.floored,
                         .loglik_mean = d.loglik_mean,
                         .seconds = f->seconds};
    return FAB_OK;
}

const void *fab_factors_settings(const fab_factors *f)
{
    return fab_fit_settings(f->fit);
}

double fab_factors_fit_bytes(const fab_factors *f, int64_t n)
{
    return f->method->bytes(f->settings, &(fab_input){.vectors = f->D}, n, &f->exec);
}

/* ---- life ------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_factors *f = handle;
    const int64_t buffered = f->source && f->method->streams ? f->piece * f->columns : 0;
    f->settings = fab_place(l, 1, f->method->fields->size);
    f->buffer = fab_place(l, buffered, sizeof *f->buffer);
    f->first = fab_place(l, f->D, sizeof *f->first);
    f->constant = fab_place(l, f->D, sizeof *f->constant);
    f->floored = fab_place(l, f->D, sizeof *f->floored);
}

/* A handle without settings and fit. */
static fab_status build(fab_factors **f, const fab_factors_plan *p, const char *name,
                        const fab_exec *x)
{
    *f = NULL;
    fab_factors proto = {.method = fab_method_find(name),
                         .source = p->source,
                         .who = p->source ? p->source->path : name,
                         .limit = p->memory,
                         .checkpoint = p->checkpoint};
    if (!proto.method) return FAB_FAIL(FAB_BAD_ARGUMENT, "method '%s' is not known", name);
    if (!(proto.method->takes & FAB_TAKES_VECTORS))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: this method fits a model, not a table of vectors alone", name);
    if (p->checkpoint < 0 || (p->checkpoint && (!p->output || !proto.method->streams)))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "a checkpoint every %" PRId64 " rows: expected a stream and a file for it",
                        p->checkpoint);
    if (x) proto.exec = *x;
    if (p->source) {
        proto.columns = fab_source_columns(p->source);
        proto.D = proto.columns - (fab_source_format(p->source) == FAB_FORMAT_LIBSVM);
    } else {
        proto.D = proto.columns = p->D;
    }
    if (proto.D < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: D = %" PRId64 ", expected at least 1", proto.who,
                        proto.D);
    proto.piece = PIECE / proto.columns > 0 ? PIECE / proto.columns : 1;
    FAB_TRY(fab_build((void **)f, sizeof **f, &proto, layout));
    return fab_copy_text(&(*f)->output, p->output);
}

void fab_factors_free(fab_factors *f)
{
    if (!f) return;
    fab_solver_free(f->solver);
    fab_factors_fit_free(f->fit);
    fab_bic_free(f->search);
    fab_tensors_free(f->more);
    fab_release(f->table_own);
    fab_release(f->output);
    fab_release(f);
}

static fab_status keep_text(fab_factors *f, const char *key, const char *value)
{
    if (!f->more) FAB_TRY(fab_tensors_create(&f->more));
    return fab_tensors_set(f->more, key, value);
}

/* The names of the coordinates go into the file, where the source has some. */
static fab_status take_names(fab_factors *f)
{
    char *names;
    if (!f->source) return FAB_OK;
    FAB_TRY(fab_source_names_json(f->source, first_column(f), &names));
    const fab_status s = names ? keep_text(f, "features", names) : FAB_OK;
    fab_text_free(names);
    return s;
}

/* A failed beginning holds nothing. */
static fab_status begun(fab_factors **f, fab_status s)
{
    if (s == FAB_OK) return FAB_OK;
    fab_factors_free(*f);
    *f = NULL;
    return s;
}

fab_status fab_factors_create(fab_factors **f, const fab_factors_plan *p, const fab_exec *x)
{
    fab_status s = build(f, p, p->method ? p->method : "recursive-em", x);
    if (s == FAB_OK) s = take_settings(*f, p);
    if (s == FAB_OK) s = take_names(*f);
    if (s == FAB_OK) s = fit_create(*f, &(*f)->fit);
    return begun(f, s);
}

/* ---- files ------------------------------------------------------------------------------------------ */

static fab_status check_names(const fab_factors *f, const char *path, const fab_tensors *t)
{
    if (!f->source) return FAB_OK;
    return fab_source_names_check(f->source, first_column(f), path, fab_tensors_get(t, "features"));
}

/* Metadata that is neither the method's nor ours. */
static fab_status keep_metadata(fab_factors *f, const fab_tensors *t)
{
    static const char *const own[] = {"fabayes", "form", "method", "settings", "n", "seed"};
    for (int64_t i = 0; i < fab_tensors_meta_count(t); i++) {
        const char *key = fab_tensors_meta_key(t, i);
        int written = 0;
        for (size_t j = 0; j < sizeof own / sizeof *own; j++) written |= strcmp(own[j], key) == 0;
        if (!written) FAB_TRY(keep_text(f, key, fab_tensors_get(t, key)));
    }
    return FAB_OK;
}

static fab_status take_file(fab_factors *f, fab_tensors *t, const char *path)
{
    assert(f);
    fab_settings_defaults(f->method->fields, f->settings);
    FAB_TRY(about(path, fit_load(f, t, 0)));
    f->before = f->n;
    const fab_tensor *mu = fab_tensors_find(t, "mu");
    if (mu->shape[0] != f->D)
        return FAB_FAIL(FAB_BAD_DATA, "%s has D = %" PRId64 " coordinates and %s has D = %" PRId64,
                        path, mu->shape[0], f->who, f->D);
    FAB_TRY(check_names(f, path, t));
    FAB_TRY(take_names(f));
    return keep_metadata(f, t); /* names in the file stay */
}

fab_status fab_factors_load(fab_factors **f, const fab_factors_plan *p, const char *path,
                            const fab_exec *x)
{
    fab_tensors *t;
    fab_factors_plan plan = *p;
    *f = NULL;
    FAB_TRY(fab_tensors_read(&t, path));
    const char *method = fab_tensors_get(t, "method");
    const fab_tensor *mu = fab_tensors_find(t, "mu");
    fab_status s = FAB_OK;
    if (!method || !mu || mu->ndim != 1)
        s = FAB_FAIL(FAB_BAD_FILE, "%s: is not a file of a factor analysis", path);
    else if (!p->source && !p->D)
        plan.D = mu->shape[0];
    if (s == FAB_OK) s = about(path, build(f, &plan, method, x));
    if (s == FAB_OK) s = take_file(*f, t, path);
    fab_tensors_free(t);
    return begun(f, s);
}

/* The same fit as f describes? */
static fab_status check_same(const fab_factors *f, const fab_tensors *t, const char *path)
{
    const char *method = fab_tensors_get(t, "method"), *json = fab_tensors_get(t, "settings");
    if (!method || !json)
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: is not a file of a factor analysis: there is nothing to resume", path);
    if (strcmp(method, f->method->name) != 0)
        return FAB_FAIL(FAB_BAD_FILE, "%s: was made by %s, and this call says %s", path, method,
                        f->method->name);
    FAB_TRY(check_names(f, path, t));
    return check_settings(f, path, json);
}

fab_status fab_factors_resume(fab_factors **f, const fab_factors_plan *p, const char *path,
                              const fab_exec *x)
{
    fab_tensors *t = NULL;
    fab_status s = build(f, p, p->method ? p->method : "recursive-em", x);
    if (s == FAB_OK) s = take_settings(*f, p);
    if (s == FAB_OK) s = take_names(*f);
    if (s == FAB_OK) s = fab_tensors_read(&t, path);
    if (s == FAB_OK) s = check_same(*f, t, path);
    if (s == FAB_OK) s = about(path, fit_load(*f, t, fab_factors_get(*f, "K")));
    if (s == FAB_OK) (*f)->before = (*f)->n;
    if (s == FAB_OK && p->source) s = fab_source_skip(p->source, (*f)->n);
    fab_tensors_free(t);
    return begun(f, s);
}

/* ---- what was found --------------------------------------------------------------------------------- */

fab_status fab_factors_result(fab_factors *f, const fab_gauss **q)
{
    *q = NULL;
    if (f->by_bic) {
        const double start = fab_clock();
        FAB_TRY(about(f->who, fab_factors_choose(f)));
        f->seconds += fab_clock() - start;
    }
    FAB_TRY(fab_factors_check_rows(f, f->n));
    return fab_factors_fit_result(f, q);
}

fab_status fab_factors_save(fab_factors *f, const char *path)
{
    const fab_gauss *q;
    FAB_TRY(fab_factors_result(f, &q));
    return fab_factors_fit_save(f, path);
}

double fab_factors_bytes(const fab_factors *f)
{
    return f->needed;
}

int64_t fab_factors_piece(const fab_factors *f)
{
    return f->piece;
}

const fab_method *fab_factors_method(const fab_factors *f)
{
    return f->method;
}

const fab_bic *fab_factors_search(const fab_factors *f)
{
    return f->by_bic ? NULL : f->search;
}

const char *fab_factors_name(const fab_factors *f, int64_t coordinate)
{
    const char *name = f->source ? fab_source_name(f->source, first_column(f) + coordinate) : NULL;
    return name ? name : "?";
}

int64_t fab_factors_constants(const fab_factors *f, const int64_t **coordinate)
{
    *coordinate = f->constant;
    return f->constants;
}

static double variance(const fab_gauss *q, int64_t d)
{
    double v = q->psi[d];
    for (int64_t k = 0; k < q->K; k++) {
        const double x = q->type == FAB_F32 ? (double)((const float *)q->F)[d * q->K + k]
                                            : ((const double *)q->F)[d * q->K + k];
        v += x * x;
    }
    return v;
}

/* psi stands at psi_min of the coordinate's own variance, or for a constant one of the mean variance. */
fab_status fab_factors_floored(fab_factors *f, const int64_t **coordinate, int64_t *n)
{
    const fab_field *field = fab_settings_find(f->method->fields, "psi_min");
    const fab_gauss *q;
    fab_fa_report r;
    double psi_min = 0, mean = 0;
    *coordinate = f->floored;
    *n = 0;
    FAB_TRY(fab_factors_result(f, &q));
    FAB_TRY(fab_factors_report(f, &r));
    if (!field || !r.floored) return FAB_OK;
    memcpy(&psi_min, (const char *)fab_factors_settings(f) + field->offset, sizeof psi_min);
    for (int64_t d = 0; d < q->D; d++) mean += variance(q, d) / (double)q->D;
    for (int64_t d = 0; d < q->D; d++) {
        const double own = psi_min * variance(q, d), all = psi_min * mean;
        const int low = q->psi[d] <= own * (1 + 1e-3) || fabs(q->psi[d] / all - 1) < 1e-3;
        if ((low || r.floored == q->D) && *n < r.floored) f->floored[(*n)++] = d;
    }
    return FAB_OK;
}

fab_status fab_factors_scores(fab_factors *f, const fab_rotation *r, fab_source *s, double *z,
                              int64_t *got)
{
    const fab_gauss *q;
    double *x;
    *got = 0;
    FAB_TRY(fab_factors_result(f, &q));
    if (fab_source_columns(s) != f->columns)
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: has changed while it was read: D = %" PRId64 ", and %" PRId64
                        " before",
                        s->path, fab_source_columns(s) - first_column(f), f->D);
    if (!f->solver) FAB_TRY(fab_solver_create(&f->solver, q, &f->exec));
    FAB_TRY(fab_alloc_array((void **)&x, f->piece * f->columns, sizeof *x, "rows to score"));
    fab_status status = fab_source_next(s, f->piece, x, got);
    const fab_rows rows = fab_factors_coordinates(f, x, *got);
    if (status == FAB_OK && *got > 0) status = fab_solver_scores(f->solver, r, &rows, z);
    fab_release(x);
    FAB_TRY(status);
    int64_t done, total;
    fab_source_position(s, &done, &total);
    const fab_watch w = fab_watch_of(&f->exec);
    return fab_watch_tick(&w, "scores", done, total);
}
