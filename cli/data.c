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

int table_open_as(fab_source **s, const data_options *o, const fab_scaling *k)
{
    data_options as = *o;
    char *categorical = NULL;
    const fab_status found = fab_scaling_categorical(k, &categorical);
    if (found != FAB_OK) return say_status(found);
    as.words = 1;
    as.missing = k->fill != NULL;
    as.categorical = categorical;
    if (k->sparse) as.features = k->D;
    const int status = table_open(s, &as);
    fab_text_free(categorical);
    return status;
}

int labels_open(fab_source **labels, fab_feed *feed, const data_options *o)
{
    if (!o->labels) return DONE;
    const data_options as = {.file = o->labels, .rows = o->rows, .words = 1};
    const int status = table_open(labels, &as);
    if (status != DONE) return status;
    const fab_status s = fab_feed_set_labels(feed, *labels);
    return s == FAB_OK ? DONE : say_status_of(o->labels, s);
}

int data_open(fab_source **s, const data_options *o)
{
    const int status = table_open(s, o);
    if (status != DONE || !o->features || fab_source_format(*s) == FAB_FORMAT_LIBSVM) return status;
    return say_wrong("%s: --features is for libsvm files", o->file);
}

int data_is_file(const data_options *o)
{
    struct stat s;
    return strcmp(o->file, "-") != 0 && stat(o->file, &s) == 0 && S_ISREG(s.st_mode);
}
