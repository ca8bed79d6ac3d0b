/* csv.h - csv files that appear complete or not at all.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include "fabayes/files.h"

typedef struct csv {
    FILE *f;
    fab_output *file;
} csv;

/* Open for writing what becomes `path`; FAILED has said why. */
int csv_open(csv *c, const char *path);
/* Let it appear when all went well so far; the exit status of the whole. */
int csv_close(csv *c, int status);
/* Write a name, in quotes where it would break the line. */
void csv_name(FILE *f, const char *name);

#endif
