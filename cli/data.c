/* data.c - DATA of a call.
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

const char *const format_names[] = {"auto", "csv", "tsv", "text", "npy", "libsvm", "idx", NULL};

static int dialect_of(fab_dialect *d, const data_options *o)
{
    const struct {
        const char *option, *part, *text;
    } given[] = {{"sep", "separator", o->separator},
                 {"decimal", "decimal", o->decimal},
                 {"na", "na", o->na},
                 {"comment", "comment", o->comment},
                 {"dates", "dates", o->dates}};
    *d = (fab_dialect){0};
    for (int i = 0; i < COUNT(given); i++)
        if (given[i].text && fab_dialect_set(d, given[i].part, given[i].text) != FAB_OK)
            return say_wrong("--%s: %s", given[i].option, fab_detail());
    return DONE;
}

int table_open(fab_source **s, const data_options *o)
{
    static const char *const nothing[] = {""}; /* no column has this name */
    fab_source_options options = {.format = (fab_format)o->format,
                                  .features = o->features,
                                  .rows = o->rows,
                                  .missing = o->missing,
                                  .words = o->words,
                                  .categorical = o->categorical,
                                  .leave_index = !o->with_index,
                                  .usual = o->usual,
                                  .concern = o->hushed ? nothing : NULL,
                                  .concerns = o->hushed,
                                  .columns_max = o->columns_max,
                                  .threads = o->threads};
    const int status = dialect_of(&options.dialect, o);
    if (status != DONE) return status;
    const fab_status opened = fab_source_open(s, o->file, &options);
    return opened == FAB_OK ? DONE : say_status(opened);
}

int data_of(fab_data *d, const data_options *o)
{
    *d = (fab_data){.file = o->file,
                    .format = (fab_format)o->format,
                    .features = o->features,
                    .rows = o->rows,
                    .categorical = o->categorical,
                    .labels = o->labels,
                    .columns_max = o->columns_max,
                    .threads = o->threads};
    return dialect_of(&d->dialect, o);
}

int data_open(fab_source **s, const data_options *o)
{
    int status = DONE;
    if (o->dates && strcmp(o->dates, "parts") == 0)
        status = say_wrong("--dates parts is for fit and tune: vectors have days, --dates numbers");
    if (status == DONE) status = table_open(s, o);
    if (status == DONE) {
        const fab_status chosen = fab_source_choose(s, o->only, o->exclude);
        if (chosen != FAB_OK) status = say_status(chosen);
    }
    if (status != DONE || !o->features || fab_source_format(*s) == FAB_FORMAT_LIBSVM) return status;
    return say_wrong("%s: --features is for libsvm files", o->file);
}

int data_is_file(const data_options *o)
{
    struct stat s;
    return strcmp(o->file, "-") != 0 && stat(o->file, &s) == 0 && S_ISREG(s.st_mode);
}
