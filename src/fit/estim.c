/* estim.c - the four verbs, the door check and the files of every factor-analysis method.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/fit.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "fit/saved.h"
#include "fabayes/gauss.h"
#include <inttypes.h>
#include <string.h>

struct fab_estim {
    const fab_method *m;
    void *handle;
    void *settings; /* a copy, m->table->size bytes behind this struct */
    int64_t D, n;
    const fab_gauss *q; /* NULL: to be computed */
};

static fab_status check_rank(const fab_method *m, const void *settings)
{
    const int64_t D = fab_saved_setting(m, settings, "D"), K = fab_saved_setting(m, settings, "K");
    if (K <= D) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "%s: K = %" PRId64 " factors for D = %" PRId64 " coordinates, expected K <= D",
                    m->name, K, D);
}

fab_status fab_estim_init(fab_estim **e, const fab_method *m, const void *settings,
                          const fab_exec *x)
{
    *e = NULL;
    if (m->infer)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: this method fits a model, not a table of vectors alone", m->name);
    FAB_TRY(fab_settings_check(m->table, settings));
    FAB_TRY(check_rank(m, settings));
    fab_estim *new;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new + m->table->size, m->name));
    *new = (fab_estim){.m = m, .settings = new + 1, .D = fab_saved_setting(m, settings, "D")};
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
    FAB_TRY(fab_rows_check_dense(e->m->name, rows, e->D));
    if (rows->n == 0) return FAB_OK;
    if (!e->m->streams && e->n > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: a batch method takes its whole table in one update",
                        e->m->name);
    e->q = NULL;
    FAB_TRY(e->m->update(e->handle, rows));
    e->n += rows->n;
    return FAB_OK;
}

fab_status fab_estim_result(fab_estim *e, const fab_gauss **q)
{
    *q = NULL;
    if (e->n < 2)
        return FAB_FAIL(FAB_BAD_DATA, "%s: %" PRId64 " rows seen, expected at least 2", e->m->name,
                        e->n);
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
    FAB_TRY(fab_saved_describe(t, e->m, e->settings, e->n));
    return e->m->save ? e->m->save(e->handle, t) : FAB_OK;
}

fab_status fab_estim_save(fab_estim *e, const char *path, const fab_tensors *more)
{
    const fab_gauss *q;
    fab_tensors *t;
    FAB_TRY(fab_estim_result(e, &q));
    FAB_TRY(fab_tensors_create(&t));
    fab_status s = describe(e, t);
    if (s == FAB_OK && more) s = fab_saved_add(t, more);
    if (s == FAB_OK) s = fab_gauss_save(path, q, t);
    fab_tensors_free(t);
    return s;
}

static fab_status build_resumed(fab_estim **e, const fab_method *m, void *settings,
                                const char *json, const fab_tensors *file, const fab_exec *x)
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
    FAB_TRY(fab_saved_stream(file, &m, &json, &n));
    FAB_TRY(fab_alloc_array(&settings, 1, m->table->size, m->name));
    const fab_status s = build_resumed(e, m, settings, json, file, x);
    fab_release(settings);
    if (s == FAB_OK) (*e)->n = n;
    return s == FAB_BAD_ARGUMENT ? FAB_BAD_FILE : s; /* a bad setting here came from the file */
}
