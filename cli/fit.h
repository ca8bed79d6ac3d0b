/* fit.h - a factor analysis while it is made: what `fa` and `update` share.
 *
 *     fit f = {.verb = "fa", ...};
 *     fit_open(&f) or fit_resume(&f, ..);  fit_rows(&f);  fit_save(&f);  fit_close(&f);
 *
 * Every function that returns an exit status has said why it is not DONE.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_FIT_H
#define CLI_FIT_H

#include "data.h"
#include "print/output.h"

typedef struct fit {
    const char *verb;
    const fab_method *method;
    void *settings; /* of the method; owned */
    fab_exec exec;
    data data;
    fab_fit *estim;
    double *table;      /* a batch method's: rows x data.columns */
    double memory;      /* MB a fit may take; 0: what is free */
    double needed;      /* bytes it takes: a batch method's table and its work */
    fab_tensors *more;  /* metadata of the file besides the library's */
    const char *output; /* NULL: no file */
    int64_t checkpoint; /* rows between saves; 0: only at the end */
    int64_t quiet;
    double start, seconds;
    int64_t seen; /* rows that a resumed file had seen */
} fit;

/* Whole-number settings by name; every method has D, K and seed. */
int64_t setting_get(const fab_fields *t, const void *settings, const char *name);
void setting_put(const fab_fields *t, void *settings, const char *name, int64_t value);

int fit_settings(fit *f, const fab_method *m); /* the defaults of m */
int fit_open(fit *f);                          /* a new estimator for the settings */
int fit_rows(fit *f);                          /* all rows of DATA */
int fit_check_rows(const fit *f, int64_t n);   /* are n rows enough for K factors? */
int fit_save(fit *f);                          /* to f->output; without one nothing */
void fit_close(fit *f);

/* Go on from an open file of a stream; `K` in its settings becomes K unless that is 0. */
int fit_resume(fit *f, const char *file, fab_tensors *t, int64_t K);
/* Keep the metadata of t that the library does not write itself. */
int fit_keep_metadata(fit *f, const fab_tensors *t);
int fit_set_names(fit *f); /* the names of the coordinates, where DATA has some */

#endif
