/* data.c - DATA of a call, read piece by piece.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "data.h"
#include "print/output.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 1 << 20 }; /* numbers read at a time: 8 MB, or one row where that is longer */

const char *const format_names[] = {"auto", "csv", "tsv", "text", "npy", "libsvm", "idx", NULL};

static int64_t first_column(const data *d)
{
    return d->columns - d->D;
}

int table_open(fab_source **s, const data_options *o)
{
    const fab_source_options options = {.format = (fab_format)o->format,
                                        .features = o->features,
                                        .rows = o->rows,
                                        .missing = o->missing,
                                        .words = o->words,
                                        .categorical = o->categorical};
    const fab_status opened = fab_source_open(s, o->file, &options);
    return opened == FAB_OK ? DONE : say_status(opened);
}

fab_data data_of(const data_options *o)
{
    return (fab_data){.file = o->file,
                      .format = (fab_format)o->format,
                      .features = o->features,
                      .rows = o->rows,
                      .categorical = o->categorical,
                      .labels = o->labels};
}

int data_open(data *d, const data_options *o)
{
    *d = (data){.o = *o};
    const int status = table_open(&d->source, o);
    if (status != DONE) return status;
    const int labelled = fab_source_format(d->source) == FAB_FORMAT_LIBSVM;
    d->columns = fab_source_columns(d->source);
    d->D = d->columns - labelled;
    if (o->features && !labelled) return say_wrong("%s: --features is for libsvm files", o->file);
    d->rows_at_once = PIECE / d->columns > 0 ? PIECE / d->columns : 1;
    d->buffer = malloc((size_t)(d->rows_at_once * d->columns) * sizeof *d->buffer);
    d->first = malloc((size_t)(d->D + 1) * sizeof *d->first);
    d->constant = malloc((size_t)(d->D + 1) * sizeof *d->constant);
    const int made = d->buffer && d->first && d->constant;
    return made ? DONE : say_failed("%s: no memory for a row", o->file);
}

void data_close(data *d)
{
    fab_source_close(d->source);
    free(d->buffer);
    free(d->first);
    free(d->constant);
    *d = (data){.D = d->D};
}

/* Keep track of the coordinates that never change: a few rows settle it for the others. */
static void watch(data *d, const double *table, int64_t n, int begin)
{
    const fab_rows rows = data_rows(d, table, n);
    const double *x = rows.p;
    int64_t kept = 0;
    if (begin && n > 0) {
        memcpy(d->first, x, (size_t)d->D * sizeof *d->first);
        for (int64_t i = 0; i < d->D; i++) d->constant[i] = i;
        d->constants = d->D;
    }
    for (int64_t i = 0; i < d->constants; i++) {
        const int64_t c = d->constant[i];
        int64_t j = 0;
        while (j < n && x[j * rows.ld + c] == d->first[c]) j++;
        if (j == n) d->constant[kept++] = c;
    }
    d->constants = kept;
}

int data_read(data *d, int64_t most, double *out, int64_t *got)
{
    const fab_status s = fab_source_next(d->source, most, out, got);
    if (s != FAB_OK) return say_status(s);
    watch(d, out, *got, d->read == d->skipped);
    d->read += *got;
    return DONE;
}

int data_next(data *d, int64_t most, fab_rows *rows)
{
    int64_t got = 0;
    const int64_t n = most < d->rows_at_once ? most : d->rows_at_once;
    const int status = data_read(d, n, d->buffer, &got);
    *rows = data_rows(d, d->buffer, got);
    return status;
}

int data_skip(data *d, int64_t n)
{
    const fab_status s = fab_source_skip(d->source, n);
    if (s != FAB_OK) return say_status(s);
    d->read += n;
    d->skipped = n;
    return DONE;
}

fab_rows data_rows(const data *d, const double *table, int64_t n)
{
    return (fab_rows){table + first_column(d), FAB_F64, n, d->columns};
}

const char *data_name(const data *d, int64_t coordinate)
{
    const char *name = fab_source_name(d->source, first_column(d) + coordinate);
    return name ? name : "?";
}

int data_tick(const data *d, const char *what)
{
    int64_t done, total;
    fab_source_position(d->source, &done, &total);
    return progress_tick(NULL, what, done, total);
}

int data_is_file(const data_options *o)
{
    struct stat s;
    return strcmp(o->file, "-") != 0 && stat(o->file, &s) == 0 && S_ISREG(s.st_mode);
}

/* ---- names ---------------------------------------------------------------------------------------- */

/* Is any column named by the file itself, and not by its number? */
static int has_names(const data *d)
{
    for (int64_t i = 0; i < d->D; i++) {
        char number[32];
        snprintf(number, sizeof number, "x%" PRId64, first_column(d) + i);
        if (strcmp(data_name(d, i), number) != 0) return 1;
    }
    return 0;
}

char *data_names(const data *d)
{
    if (!has_names(d)) return NULL;
    json_t *j = json_object(), *names = json_array();
    for (int64_t i = 0; i < d->D; i++) json_array_append_new(names, json_text(data_name(d, i)));
    json_put(j, "names", names);
    char *text = json_dumps(j, JSON_COMPACT);
    json_decref(j);
    return text;
}

static int compare_names(const data *d, const char *file, const json_t *names)
{
    for (int64_t i = 0; i < d->D && (size_t)i < json_array_size(names); i++) {
        const char *old = json_string_value(json_array_get(names, (size_t)i));
        json_t *own = json_text(data_name(d, i)); /* written as it was when the file was made */
        const int same = !old || strcmp(json_string_value(own), old) == 0;
        json_decref(own);
        if (!same)
            return say_failed("%s: column %" PRId64 " is '%s', and '%s' in %s", d->o.file,
                              first_column(d) + i, data_name(d, i), old, file);
    }
    return DONE;
}

int data_check_names(const data *d, const char *file, const char *names)
{
    if (!names || !has_names(d)) return DONE;
    json_t *j = json_loads(names, 0, NULL);
    const int status = compare_names(d, file, json_object_get(j, "names"));
    json_decref(j);
    return status;
}
