/* estim.c - the four verbs, the door check and the files of every factor-analysis method.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/estim.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "fabayes/posterior.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fab_estim {
    const fab_method *m;
    void *handle;
    void *settings; /* a copy, m->table->size bytes behind this struct */
    int64_t D, n;
    const fab_gauss *q; /* NULL: to be computed */
};

/* A whole-number setting by name; every table has D, K and seed. */
static int64_t setting(const fab_method *m, const void *settings, const char *name)
{
    int64_t v = 0;
    const fab_field *f = fab_settings_find(m->table, name);
    if (f) memcpy(&v, (const char *)settings + f->offset, sizeof v);
    return v;
}

static fab_status check_rank(const fab_method *m, const void *settings)
{
    const int64_t D = setting(m, settings, "D"), K = setting(m, settings, "K");
    if (K <= D) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: K = %" PRId64 " factors for D = %" PRId64
                    " coordinates, expected K <= D", m->name, K, D);
}

fab_status fab_estim_init(fab_estim **e, const fab_method *m, const void *settings, const fab_exec *x)
{
    *e = NULL;
    FAB_TRY(fab_settings_check(m->table, settings));
    FAB_TRY(check_rank(m, settings));
    fab_estim *new;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new + m->table->size, m->name));
    *new = (fab_estim){.m = m, .settings = new + 1, .D = setting(m, settings, "D")};
    memcpy(new->settings, settings, m->table->size);
    const fab_status s = m->init(&new->handle, settings, x);
    if (s != FAB_OK) {
        fab_release(new);
        return s;
    }
    *e = new;
    return FAB_OK;
}

void fab_estim_free(fab_estim *e)
{
    if (!e) return;
    e->m->free(e->handle);
    fab_release(e);
}

fab_status fab_estim_update(fab_estim *e, const fab_rows *rows)
{
    FAB_TRY(fab_rows_check(e->m->name, rows, e->D));
    if (rows->n == 0) return FAB_OK;
    if (!e->m->streams && e->n > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: a batch method takes its whole table in one update", e->m->name);
    e->q = NULL;
    FAB_TRY(e->m->update(e->handle, rows));
    e->n += rows->n;
    return FAB_OK;
}

fab_status fab_estim_result(fab_estim *e, const fab_gauss **q)
{
    *q = NULL;
    if (e->n < 2)
        return FAB_FAIL(FAB_BAD_DATA, "%s: %" PRId64 " rows seen, expected at least 2", e->m->name, e->n);
    if (!e->q) FAB_TRY(e->m->result(e->handle, &e->q));
    *q = e->q;
    return FAB_OK;
}

fab_status fab_estim_diagnostics(fab_estim *e, fab_diagnostics *d)
{
    const fab_gauss *q;
    FAB_TRY(fab_estim_result(e, &q));
    FAB_TRY(e->m->diagnostics(e->handle, d));
    d->n = e->n;
    return FAB_OK;
}

const fab_method *fab_estim_method(const fab_estim *e)
{
    return e->m;
}

const void *fab_estim_settings(const fab_estim *e)
{
    return e->settings;
}

int64_t fab_estim_rows(const fab_estim *e)
{
    return e->n;
}

/* ---- files ------------------------------------------------------------------------------------ */

static fab_status describe(fab_estim *e, fab_tensors *t)
{
    char number[32], *json;
    FAB_TRY(fab_tensors_set(t, "method", e->m->name));
    FAB_TRY(fab_settings_json(e->m->table, e->settings, &json));
    const fab_status s = fab_tensors_set(t, "settings", json);
    fab_text_free(json);
    FAB_TRY(s);
    snprintf(number, sizeof number, "%" PRId64, e->n);
    FAB_TRY(fab_tensors_set(t, "n", number));
    snprintf(number, sizeof number, "%" PRId64, setting(e->m, e->settings, "seed"));
    FAB_TRY(fab_tensors_set(t, "seed", number));
    return e->m->save ? e->m->save(e->handle, t) : FAB_OK;
}

static fab_status add_more(fab_tensors *t, const fab_tensors *more)
{
    for (int64_t i = 0; i < fab_tensors_meta_count(more); i++) {
        const char *key = fab_tensors_meta_key(more, i);
        FAB_TRY(fab_tensors_set(t, key, fab_tensors_get(more, key)));
    }
    for (int64_t i = 0; i < fab_tensors_count(more); i++) {
        const fab_tensor *v = fab_tensors_at(more, i);
        FAB_TRY(fab_tensors_add(t, v->name, v->type, v->ndim, v->shape, v->data));
    }
    return FAB_OK;
}

fab_status fab_estim_save(fab_estim *e, const char *path, const fab_tensors *more)
{
    const fab_gauss *q;
    fab_tensors *t;
    FAB_TRY(fab_estim_result(e, &q));
    FAB_TRY(fab_tensors_create(&t));
    fab_status s = describe(e, t);
    if (s == FAB_OK && more) s = add_more(t, more);
    if (s == FAB_OK) s = fab_gauss_save(path, q, t);
    fab_tensors_free(t);
    return s;
}

static fab_status find_stream(const fab_tensors *file, const fab_method **m, const char **settings, int64_t *n)
{
    const char *name = fab_tensors_get(file, "method"), *rows = fab_tensors_get(file, "n");
    char *end = NULL;
    *settings = fab_tensors_get(file, "settings");
    if (!name || !*settings || !rows)
        return FAB_FAIL(FAB_BAD_FILE, "the metadata lack method, settings or n: this is no saved stream");
    *m = fab_method_find(name);
    if (!*m) return FAB_FAIL(FAB_BAD_FILE, "method '%s' is not known", name);
    if (!(*m)->streams)
        return FAB_FAIL(FAB_UNSUPPORTED, "method '%s' is a batch method and cannot continue; fit again with all rows",
                        name);
    *n = strtoll(rows, &end, 10);
    if (end == rows || *end != '\0' || *n < 0 || *n > INT64_MAX / 2)
        return FAB_FAIL(FAB_BAD_FILE, "n = '%s' is not a number of rows", rows);
    return FAB_OK;
}

static fab_status build_resumed(fab_estim **e, const fab_method *m, void *settings, const char *json,
                                const fab_tensors *file, const fab_exec *x)
{
    fab_settings_defaults(m->table, settings);
    FAB_TRY(fab_settings_from_json(m->table, settings, json));
    FAB_TRY(fab_estim_init(e, m, settings, x));
    const fab_status s = m->load((*e)->handle, file);
    if (s == FAB_OK) return FAB_OK;
    fab_estim_free(*e);
    *e = NULL;
    return s;
}

fab_status fab_estim_resume(fab_estim **e, const fab_tensors *file, const fab_exec *x)
{
    const fab_method *m = NULL;
    const char *json = NULL;
    int64_t n = 0;
    void *settings;
    *e = NULL;
    FAB_TRY(find_stream(file, &m, &json, &n));
    FAB_TRY(fab_alloc_array(&settings, 1, m->table->size, m->name));
    const fab_status s = build_resumed(e, m, settings, json, file, x);
    fab_release(settings);
    if (s == FAB_OK) (*e)->n = n;
    return s == FAB_BAD_ARGUMENT ? FAB_BAD_FILE : s; /* a bad setting here came from the file */
}
