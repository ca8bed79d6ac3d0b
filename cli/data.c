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

fab_data data_of(const data_options *o)
{
    return (fab_data){.file = o->file,
                      .format = (fab_format)o->format,
                      .features = o->features,
                      .rows = o->rows,
                      .categorical = o->categorical,
                      .labels = o->labels};
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
