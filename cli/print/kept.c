/* kept.c - columns of DATA that go with the predictions: words as they stand, numbers as the shortest text that reads back.
 *
 * SPDX-License-Identifier: MIT */
#include "print/kept.h"
#include "print/csv.h"
#include "print/output.h"
#include <stdlib.h>
#include <string.h>

/* The column that the n bytes of text name, or number; -1: none. */
static int64_t find(const fab_source *s, const char *text, size_t n)
{
    char *end;
    for (int64_t c = 0; c < fab_source_columns(s); c++) {
        const char *name = fab_source_name(s, c);
        if (name && strlen(name) == n && strncmp(name, text, n) == 0) return c;
    }
    const long long number = strtoll(text, &end, 10);
    return n > 0 && end == text + n && number >= 0 && number < fab_source_columns(s) ? number : -1;
}

static int unknown(const fab_source *s, const char *text, size_t n)
{
    enum { MOST = 1000 };
    const char *names[MOST];
    char word[256];
    int64_t count = 0;
    snprintf(word, sizeof word, "%.*s", (int)(n < 255 ? n : 255), text);
    for (; count < fab_source_columns(s) && count < MOST; count++) {
        names[count] = fab_source_name(s, count);
        if (!names[count]) break;
    }
    const char *near = fab_nearest(word, names, count);
    if (near)
        return say_wrong("predict: --keep: DATA has no column '%s'; did you mean '%s'?", word,
                         near);
    return say_wrong("predict: --keep: DATA has no column '%s'", word);
}

static int choose(kept *k, const char *list)
{
    if (!list)
        for (; k->n < fab_source_columns(k->s); k->n++) k->column[k->n] = k->n;
    while (list && k->n < fab_source_columns(k->s)) {
        const size_t n = strcspn(list, ",");
        k->column[k->n] = find(k->s, list, n);
        if (k->column[k->n] < 0) return unknown(k->s, list, n);
        k->n++;
        if (!list[n]) return DONE;
        list += n + 1;
    }
    return list ? say_wrong("predict: --keep lists more columns than DATA has") : DONE;
}

int kept_open(kept *k, const data_options *d, const fab_dialect *usual, const char *list)
{
    data_options all = {.file = d->file,
                        .format = d->format,
                        .rows = d->rows,
                        .missing = 1,
                        .words = 1,
                        .with_index = 1,
                        .hushed = 1,
                        .threads = d->threads,
                        .usual = usual,
                        .separator = d->separator,
                        .decimal = d->decimal,
                        .na = d->na,
                        .comment = d->comment};
    int status = table_open(&k->s, &all);
    if (status != DONE) return status;
    if (fab_source_is_index(k->s, 0) && (!list || find(k->s, list, strcspn(list, ",")) == 0)) {
        fab_source_close(k->s); /* row names as they stand, and not as numbers of rows */
        k->s = NULL;
        all.categorical = "0";
        status = table_open(&k->s, &all);
        if (status != DONE) return status;
    }
    if (fab_source_format(k->s) == FAB_FORMAT_LIBSVM)
        return say_wrong("predict: %s is for tables, and DATA is a libsvm file",
                         list ? "--keep" : "--all");
    k->column = malloc((size_t)fab_source_columns(k->s) * sizeof *k->column);
    k->row = malloc((size_t)fab_source_columns(k->s) * sizeof *k->row);
    if (!k->column || !k->row) return say_failed("out of memory");
    return choose(k, list);
}

void kept_close(kept *k)
{
    fab_source_close(k->s);
    free(k->column);
    free(k->row);
    *k = (kept){0};
}

void kept_names(const kept *k, FILE *f)
{
    for (int64_t i = 0; i < k->n; i++) {
        csv_name(f, fab_source_name(k->s, k->column[i]));
        fputc(',', f);
    }
}

static void print_number(double x, FILE *f)
{
    char buf[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, x);
        const double back = strtod(buf, NULL);
        if (!(back < x) && !(back > x)) break;
    }
    fputs(buf, f);
}

int kept_row(kept *k, const char *file, FILE *f)
{
    int64_t got;
    if (!k->s) return DONE;
    const fab_status s = fab_source_next(k->s, 1, k->row, &got);
    if (s != FAB_OK) return say_status(s);
    if (got == 0) return say_failed("%s: has fewer rows than when it was predicted", file);
    for (int64_t i = 0; i < k->n; i++) {
        const double x = k->row[k->column[i]];
        if (x != x)
            fputs("NA", f);
        else if (fab_source_is_words(k->s, k->column[i]))
            csv_name(f, fab_source_word(k->s, k->column[i], (int64_t)x));
        else
            print_number(x, f);
        fputc(',', f);
    }
    return DONE;
}
