/* fit.c - a factor analysis while it is made.
 *
 * A stream goes through the buffer of DATA; a batch method gets its table whole, and is refused with the
 * number of bytes as soon as table and work do not fit.
 *
 * SPDX-License-Identifier: MIT */
#include "fit.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ------------------------------------------------------------------------------------- */

int64_t setting_get(const fab_fields *t, const void *settings, const char *name)
{
    int64_t v = 0;
    const fab_field *f = fab_settings_find(t, name);
    if (f) memcpy(&v, (const char *)settings + f->offset, sizeof v);
    return v;
}

void setting_put(const fab_fields *t, void *settings, const char *name, int64_t value)
{
    const fab_field *f = fab_settings_find(t, name);
    if (f) memcpy((char *)settings + f->offset, &value, sizeof value);
}

int fit_settings(fit *f, const fab_method *m)
{
    f->method = m;
    f->settings = malloc(m->table->size);
    if (!f->settings) return say_failed("out of memory");
    fab_settings_defaults(m->table, f->settings);
    return DONE;
}

/* ---- life ----------------------------------------------------------------------------------------- */

int fit_open(fit *f)
{
    const fab_status s = fab_fit_create(&f->estim, fab_method_name(f->method), f->settings,
                                        sizeof *f->settings, &(fab_input){.vectors = VECTORS},
                                        &f->exec);
    return s == FAB_OK ? DONE : say_status(s);
}

void fit_close(fit *f)
{
    fab_fit_free(f->estim);
    fab_tensors_free(f->more);
    data_close(&f->data);
    free(f->table);
    free(f->settings);
}

/* ---- memory --------------------------------------------------------------------------------------- */

/* Bytes for n rows: the work of the method, the buffer, and the table of a batch method. */
static double bytes_for(const fit *f, int64_t n)
{
    const double held = (double)(f->method->streams ? f->data.rows_at_once : n);
    return f->method->bytes(f->settings, n, &f->exec) + 8 * held * (double)f->data.columns;
}

static int check_memory(fit *f, int64_t n, int whole)
{
    char need[24], room[24];
    const double limit = f->memory > 0 ? 1e6 * f->memory : memory_free();
    f->needed = bytes_for(f, n);
    if (!(f->needed > limit)) return DONE;
    human_count(f->needed, need, sizeof need);
    human_count(limit, room, sizeof room);
    return say_failed(
        "%s: %s needs %s%sB for %s%" PRId64 " rows of D = %" PRId64 ", and %sB are %s",
        f->data.o.file, f->method->name, whole ? "" : "more than ", need, whole ? "" : "the first ",
        n, f->data.D, room, f->memory > 0 ? "allowed by --memory" : "free");
}

/* ---- a batch method's table ----------------------------------------------------------------------- */

static int grow(fit *f, int64_t *room, int64_t rows)
{
    const size_t width = (size_t)f->data.columns * sizeof *f->table;
    double *p = realloc(f->table, (size_t)rows * width);
    if (!p)
        return say_failed("%s: no memory for a table of %" PRId64 " rows", f->data.o.file, rows);
    f->table = p;
    *room = rows;
    return DONE;
}

/* Rows that will come, where the file says so. */
static int64_t rows_known(const data *d)
{
    return d->o.rows ? -1 : fab_source_rows(d->source);
}

/* Read until the end; the memory is checked before each piece is asked for. */
static int load_all(fit *f, int64_t *n)
{
    const int64_t known = rows_known(&f->data), piece = f->data.rows_at_once;
    int64_t room = 0, got = 1;
    int status = DONE;
    if (known > 0) status = check_memory(f, known, 1);
    if (known > 0 && status == DONE) status = grow(f, &room, known + 1);
    for (*n = 0; status == DONE && got > 0;) {
        if (known <= 0) status = check_memory(f, *n + 1, 0);
        if (status == DONE && *n == room) status = grow(f, &room, room + room / 2 + piece);
        const int64_t left = room - *n;
        if (status == DONE)
            status = data_read(&f->data, left < piece ? left : piece,
                               f->table + *n * f->data.columns, &got);
        *n += got;
        if (status == DONE && data_tick(&f->data, f->verb))
            status = say_failed("%s: stopped", f->verb);
    }
    return status;
}

static int say_needed(fit *f, int64_t n)
{
    char need[24];
    const int status = check_memory(f, n, 1);
    if (status != DONE || f->quiet) return status;
    progress_close();
    fprintf(stderr, "fabayes: note: %s works on the whole table: %sB for %" PRId64 " rows\n",
            f->method->name, human_count(f->needed, need, sizeof need), n);
    return DONE;
}

int fit_check_rows(const fit *f, int64_t n)
{
    const int64_t K = setting_get(f->method->table, f->settings, "K");
    if (n > K && n > 1) return DONE;
    return say_failed("%s: %" PRId64 " row%s for K = %" PRId64
                      "; more rows than factors are needed, and at least 2",
                      f->data.o.file, n, n == 1 ? "" : "s", K);
}

static int fit_table(fit *f)
{
    int64_t n = 0;
    const fab_gauss *q;
    int status = load_all(f, &n);
    if (status == DONE) status = fit_check_rows(f, n);
    if (status == DONE) status = say_needed(f, n);
    if (status != DONE) return status;
    const fab_rows rows = data_rows(&f->data, f->table, n);
    fab_status s = fab_fit_update(f->estim, &(fab_examples){.x = rows});
    fab_set_progress(progress_tick, NULL);
    if (s == FAB_OK) s = fab_fit_gauss(f->estim, &q);
    fab_set_progress(NULL, NULL);
    return s == FAB_OK ? DONE : say_status_of(f->data.o.file, s);
}

/* ---- a stream ------------------------------------------------------------------------------------- */

/* Rows until the next save, counted from the first row of all. */
static int64_t until_checkpoint(const fit *f)
{
    if (!f->checkpoint) return INT64_MAX;
    return f->checkpoint - fab_fit_rows(f->estim) % f->checkpoint;
}

/* A state that has no more rows than factors is not worth a file yet. */
static int checkpoint_due(const fit *f)
{
    const int64_t n = fab_fit_rows(f->estim);
    return f->checkpoint && n % f->checkpoint == 0 &&
           n > setting_get(f->method->table, f->settings, "K");
}

static int fit_stream(fit *f)
{
    int status = check_memory(f, 0, 1);
    while (status == DONE) {
        fab_rows rows;
        status = data_next(&f->data, until_checkpoint(f), &rows);
        if (status != DONE || rows.n == 0) break;
        const fab_status s = fab_fit_update(f->estim, &(fab_examples){.x = rows});
        if (s != FAB_OK) return say_status_of(f->data.o.file, s);
        if (checkpoint_due(f)) status = fit_save(f);
        if (status == DONE && data_tick(&f->data, f->verb))
            status = say_failed("%s: stopped", f->verb);
    }
    return status;
}

int fit_rows(fit *f)
{
    f->start = fab_clock();
    const int status = f->method->streams ? fit_stream(f) : fit_table(f);
    f->seconds = fab_clock() - f->start;
    return status;
}

/* ---- files ---------------------------------------------------------------------------------------- */

int fit_save(fit *f)
{
    if (!f->output) return DONE;
    const fab_status s = fab_fit_save(f->estim, f->output, f->more);
    return s == FAB_OK ? DONE : say_status(s);
}

static int need_more(fit *f)
{
    const fab_status s = f->more ? FAB_OK : fab_tensors_create(&f->more);
    return s == FAB_OK ? DONE : say_status(s);
}

static int keep(fit *f, const char *key, const char *value)
{
    int status = need_more(f);
    const fab_status s = status == DONE ? fab_tensors_set(f->more, key, value) : FAB_OK;
    return s == FAB_OK ? status : say_status(s);
}

int fit_keep_metadata(fit *f, const fab_tensors *t)
{
    static const char *const own[] = {"fabayes", "form", "method", "settings", "n", "seed"};
    int status = DONE;
    for (int64_t i = 0; i < fab_tensors_meta_count(t) && status == DONE; i++) {
        const char *key = fab_tensors_meta_key(t, i);
        int written = 0;
        for (int j = 0; j < COUNT(own); j++) written |= strcmp(own[j], key) == 0;
        if (!written) status = keep(f, key, fab_tensors_get(t, key));
    }
    return status;
}

int fit_set_names(fit *f)
{
    char *names = data_names(&f->data);
    const int status = names ? keep(f, "features", names) : DONE;
    free(names);
    return status;
}

/* The settings of the file, K perhaps replaced, as the file's. */
static fab_status take_settings(fit *f, fab_tensors *t, int64_t K)
{
    const char *text = fab_tensors_get(t, "settings");
    char *json = NULL;
    fab_status s = fab_settings_from_json(f->method->table, f->settings, text ? text : "{}");
    if (s != FAB_OK || !K) return s;
    setting_put(f->method->table, f->settings, "K", K);
    s = fab_settings_json(f->method->table, f->settings, &json);
    if (s == FAB_OK) s = fab_tensors_set(t, "settings", json);
    fab_text_free(json);
    return s;
}

int fit_resume(fit *f, const char *file, fab_tensors *t, int64_t K)
{
    const fab_tensor *F = fab_tensors_find(t, "F");
    if (F && (F->type == FAB_F32 || F->type == FAB_F64))
        f->exec.ops = fab_ops_find("cpu", F->type); /* the kernels that the state was made with */
    fab_status s = take_settings(f, t, K);
    if (s == FAB_OK) s = fab_fit_load(&f->estim, t, NULL, &f->exec);
    if (s != FAB_OK) return say_status_of(file, s);
    f->seen = fab_fit_rows(f->estim);
    return DONE;
}
