/* data.c - where rows come from: a file, arrays or a table in memory, opened as often as one likes.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "base/memory.h"
#include "data/columns/table.h"
#include "fabayes/settings.h"
#include <string.h>
#include <sys/stat.h>

const char *fab_data_name(const fab_data *d)
{
    if (d->file) return d->file;
    return d->table ? "table" : "arrays";
}

int fab_data_again(const fab_data *d)
{
    struct stat s;
    if (!d->file) return d->table || d->arrays;
    return strcmp(d->file, "-") != 0 && stat(d->file, &s) == 0 && S_ISREG(s.st_mode);
}

static fab_missing missing_of(const fab_data *d)
{
    return d->table && d->table->fills ? FAB_MISSING_MEAN : d->columns.missing;
}

static fab_status open_source(fab_source **s, const fab_data *d, const fab_source_options *o)
{
    if (d->file) return fab_source_open(s, d->file, o);
    const fab_dialect *t = &d->dialect;
    if (d->format || d->rows || d->categorical || t->separator || t->decimal || t->comment ||
        t->dates || t->na[0])
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: format, rows, categorical and dialect are for files",
                        fab_data_name(d));
    if (d->table) return fab_source_open_table(s, d->table, o);
    if (d->arrays) return fab_source_open_arrays(s, d->arrays, o);
    return FAB_FAIL(FAB_BAD_ARGUMENT, "data: neither a file nor arrays nor a table is given");
}

static fab_status open_labels(fab_feed *f, const fab_data *d)
{
    const fab_source_options words = {.rows = d->rows, .words = 1};
    fab_source *labels;
    if (!d->labels) return FAB_OK;
    FAB_TRY(fab_source_open(&labels, d->labels, &words));
    const fab_status s = fab_feed_set_labels(f, labels);
    if (s == FAB_OK)
        fab_feed_own(f, NULL, labels);
    else
        fab_source_close(labels);
    return fab_about(d->labels, s == FAB_BAD_ARGUMENT ? FAB_BAD_DATA : s);
}

/* Everything that was opened belongs to the feed; `s` is NULL where the caller has opened the source. */
static fab_status finish(fab_feed **f, const fab_data *d, fab_source *s, fab_status opened)
{
    if (opened != FAB_OK) {
        fab_source_close(s);
        return opened == FAB_BAD_ARGUMENT ? opened : fab_about(fab_data_name(d), opened);
    }
    fab_feed_own(*f, s, NULL);
    const fab_status labelled = open_labels(*f, d);
    if (labelled == FAB_OK) return FAB_OK;
    fab_feed_close(*f);
    *f = NULL;
    return labelled;
}

fab_status fab_feed_open_data(fab_feed **f, const fab_data *d)
{
    fab_source_options o = {.format = d->format,
                            .features = d->features,
                            .rows = d->rows,
                            .missing = missing_of(d) != FAB_MISSING_REFUSE,
                            .words = 1,
                            .categorical = d->categorical,
                            .columns_max = d->columns_max,
                            .dialect = d->dialect,
                            .leave_index = 1,
                            .threads = d->threads};
    fab_columns c = d->columns;
    fab_source *s = NULL;
    *f = NULL;
    c.missing = missing_of(d);
    const char *formula = d->table ? d->table->formula : NULL;
    if (formula && (c.formula || c.only || c.exclude))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "table: it has the formula '%s', and its columns are chosen", formula);
    if (!o.dialect.dates && d->file && fab_formula_dates(d->columns.formula))
        o.dialect.dates = FAB_DATES_NUMBERS;
    if (!d->source) FAB_TRY(open_source(&s, d, &o));
    fab_status opened = fab_feed_open(f, d->source ? d->source : s, &c);
    if (opened == FAB_OK && formula) opened = fab_feed_set_formula(f, formula);
    return finish(f, d, s, opened);
}

/* A model of many columns may be asked about a table of as many, and of others beside. */
static int64_t columns_max(const fab_data *d, const fab_scaling *k)
{
    const int64_t most = d->columns_max > 0 ? d->columns_max : FAB_COLUMNS_MAX;
    return most < 2 * k->columns ? 2 * k->columns : most;
}

static int has_column(const fab_scaling *k, const char *name)
{
    for (int64_t c = 0; c < k->columns; c++)
        if (strcmp(k->column[c].name, name) == 0) return 1;
    return 0;
}

fab_status fab_feed_open_data_as(fab_feed **f, const fab_data *d, const fab_scaling *k,
                                 fab_reading what)
{
    char *categorical, *none;
    const char **concern;
    fab_source *s = NULL;
    *f = NULL;
    FAB_TRY(fab_alloc_array((void **)&concern, k->columns + 1, sizeof *concern, "feed"));
    for (int64_t c = 0; c < k->columns; c++) concern[c] = k->column[c].name;
    concern[k->columns] = k->target ? k->target : "";
    fab_status named = fab_scaling_categorical(k, &categorical);
    if (named == FAB_OK) {
        named = fab_scaling_none(k, &none);
        if (named != FAB_OK) fab_text_free(categorical);
    }
    if (named != FAB_OK) {
        fab_release(concern);
        return named;
    }
    const fab_source_options o = {.format = d->format,
                                  .features = k->sparse ? k->D : d->features,
                                  .rows = d->rows,
                                  .missing = k->fill || what != FAB_READ_WEIGHT,
                                  .words = 1,
                                  .categorical = categorical,
                                  .columns_max = columns_max(d, k),
                                  .dialect = d->dialect,
                                  .usual = &k->dialect,
                                  .leave_index = !has_column(k, "x0"),
                                  .none = none,
                                  .concern = concern,
                                  .concerns = k->columns + 1,
                                  .threads = d->threads};
    fab_status opened = d->source ? FAB_OK : open_source(&s, d, &o);
    if (opened == FAB_BAD_ARGUMENT && categorical && (d->file || d->arrays))
        opened = FAB_BAD_DATA; /* the fit named the columns of words, not the call */
    fab_text_free(categorical);
    fab_text_free(none);
    fab_release(concern);
    FAB_TRY(opened);
    if (d->labels) what = FAB_READ_FEATURES;
    return finish(f, d, s, fab_feed_open_as(f, d->source ? d->source : s, k, what));
}

fab_status fab_dataset_create(fab_dataset **t, const fab_data *d)
{
    fab_feed *f;
    *t = NULL;
    FAB_TRY(fab_feed_open_data(&f, d));
    fab_status s = fab_feed_table(f, t);
    if (s == FAB_OK) s = fab_feed_read(f, INT64_MAX, *t);
    if (s == FAB_OK && (*t)->n == 0) s = fab_feed_no_rows(f, *t);
    fab_feed_close(f);
    if (s == FAB_OK) return FAB_OK;
    fab_dataset_free(*t);
    *t = NULL;
    return fab_about(fab_data_name(d), s);
}
