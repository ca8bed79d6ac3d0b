/* output.h - what the command line says: sentences, JSON, numbers for people, the progress bar.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "verb.h"
#include <fabayes.h>
#include <jansson.h>
#include <stddef.h>

#if defined(__GNUC__)
#define CLI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define CLI_PRINTF(f, a)
#endif

/* ---- failures: one sentence on standard error, and the exit status that belongs to it ---- */

/* Text of DATA in a line of ours: a newline in it is \n.  Lends one of four buffers in turn. */
const char *one_line(const char *text);

int say_status(fab_status s); /* the library's sentence; WRONG for FAB_BAD_ARGUMENT, else FAILED */
int say_status_of(const char *file, fab_status s); /* the same about a file's content; FAILED */
int say_wrong(const char *format, ...) CLI_PRINTF(1, 2);  /* WRONG */
int say_failed(const char *format, ...) CLI_PRINTF(1, 2); /* FAILED */

/* From here on a sentence is kept, the first one of several, until it is released to standard error; notes are shown where
 * `notes` says so. */
enum { OUTPUT_HELD = 8192 };
void output_hold(int notes);
char *output_held(void); /* OUTPUT_HELD bytes, to be changed */
void output_release(void);

/* May `path` become an output of a call that reads `input` (or NULL)?  A folder, a device and the input
 * itself are refused with a sentence. */
int output_check(const char *path, const char *input);

/* Flush standard output; FAILED with a sentence when something written to it was lost, silently when
 * its reader has gone. */
int output_flush(void);

/* ---- JSON ---- */

void json_open(
    void); /* once, before any other use: failures inside jansson are kept for json_say */
json_t *json_text(const char *s); /* bytes that are no UTF-8 become '?' */
json_t *json_number(double x);    /* null when x is not finite */
int is_finite(double x);
json_t *json_range(double lo, double hi); /* [lo, hi] */
void json_put(json_t *object, const char *key,
              json_t *value); /* takes over value; NULL: json_say will refuse */
/* Print the object (takes it over) on standard output, one line at the end. */
int json_say(json_t *object);

/* ---- numbers for people ---- */

/* 1234567 -> "1.23M" */
const char *human_count(double x, char *buf, size_t size);
/* 83 -> "1m 23s" */
const char *human_seconds(double s, char *buf, size_t size);

/* The decimals (of a large number less than 0) at which a number of this sd is rounded, so that its sd has `digits`
 * significant ones; those of a number that has none: FULL_DIGITS. */
enum { FULL_DIGITS = 1000 };
int decimals_of(double sd, int digits);
/* x rounded there; FULL_DIGITS: in 6 significant digits. */
const char *number_text(double x, int decimals, char *buf, size_t size);

/* Bytes of memory that are free, or a large number where nobody says. */
double memory_free(void);

/* ---- long work ---- */

/* Listen to the library's notes and, where standard error is a terminal, show a progress bar; `quiet`
 * shows neither.  Ctrl-C from now on asks the work to stop in good order; a second one ends at once. */
void progress_open(int64_t quiet);
/* The bar at `done` of `total` units (0: unknown); not 0 when the work shall stop.  Fits
 * fab_set_progress. */
int progress_tick(void *ctx, const char *what, int64_t done, int64_t total);
void progress_close(void); /* wipe the bar */

#endif
