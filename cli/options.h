/* options.h - one table of options per verb; parsing and --help come from it.
 *
 *     const option options[] = {OPTION_SEED(&c.seed), OPTION_JSON(&c.json)};
 *     const char *file[1];
 *     const call_shape shape = {options, COUNT(options), file, 1, 1, NULL, NULL, NULL};
 *     int status;
 *     if (!options_parse(self, &shape, argc, argv, NULL, &status)) return status;
 *
 * `--name value`, `--name=value`, `-n value` and `-nvalue` are read, anywhere on the line; `--` ends the
 * options and `-` is an operand.  The last of two equal options counts, but of OPT_TEXTS all do.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "verb.h"
#include <fabayes.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* What stands behind `where`. */
typedef enum option_kind {
    OPT_FLAG,   /* int64_t: 1 when given; takes no value */
    OPT_TEXT,   /* const char *: lent by argv */
    OPT_I64,    /* int64_t in [lo, hi] */
    OPT_F64,    /* double in [lo, hi] */
    OPT_CHOICE, /* int64_t: the place of the value in `names` */
    OPT_TEXTS   /* option_texts: may be given several times, and all count */
} option_kind;

enum { OPTION_TEXTS_MAX = 64 };

typedef struct option_texts {
    const char *text[OPTION_TEXTS_MAX]; /* n, lent by argv */
    int n;
} option_texts;

typedef struct option {
    const char *name; /* without the dashes; NULL: only a letter */
    char letter;      /* 0: only a name */
    option_kind kind;
    void *where;
    const char *value; /* what --help calls the value */
    double lo, hi;
    const char *const *names; /* NULL at the end; of OPT_TEXT what completion offers, or NULL */
    const char *help;
} option;

/* Options that several verbs share, so that they are the same everywhere. */
extern const char *const unseen_names[];
extern const char *const dtype_names[]; /* in the order of fab_dtype */

// clang-format off
#define OPTION_JSON(where_) \
    {"json", 0, OPT_FLAG, where_, NULL, 0, 0, NULL, "one JSON object on standard output"}
#define OPTION_QUIET(where_) \
    {"quiet", 0, OPT_FLAG, where_, NULL, 0, 0, NULL, "no progress bar and no notes"}
#define OPTION_OUTPUT(where_, help_) {"output", 'o', OPT_TEXT, where_, "FILE", 0, 0, NULL, help_}
#define OPTION_SEED(where_) \
    {"seed", 0, OPT_I64, where_, "N", 0, 0x1p63, NULL, "seed of the random numbers (default 0)"}
#define OPTION_THREADS(where_) \
    {"threads", 0, OPT_I64, where_, "N", 1, 4096, NULL, "threads (default: all cores)"}
#define OPTION_SAMPLES(where_) \
    {"samples", 0, OPT_I64, where_, "N", 1, 0x1p31, NULL, \
     "draws of theta (default: 100 for a network; a linear model needs none)"}
#define OPTION_LINEARISED(where_) \
    {"linearised", 0, OPT_FLAG, where_, NULL, 0, 0, NULL, \
     "a network by its slope at the mean, instead of draws"}
#define OPTION_UNSEEN(where_) \
    {"unseen", 0, OPT_CHOICE, where_, "WAY", 0, 0, unseen_names, \
     "words that the fit did not meet: refuse, or prior: their effect is that of the prior, 0 (default refuse)"}
#define OPTION_DTYPE(where_, help_) {"dtype", 0, OPT_CHOICE, where_, NULL, 0, 0, dtype_names, help_}
// clang-format on

/* Where the settings of a method go, asked once all options are read (so `-m NAME` may stand anywhere):
 * the table and the struct it describes.  Not DONE: it has said why. */
typedef int settings_fn(void *ctx, const fab_fields **table, void **settings);

/* A `--name=text` of the verb's own kind: *taken = 1 keeps it from the settings.  Not DONE: it has said why. */
typedef int own_fn(void *ctx, const fab_field *field, const char *text, int *taken);

typedef struct call_shape {
    const option *option;
    int options;
    const char **operand; /* room for `most` */
    int least, most;
    settings_fn *settings; /* NULL: the verb has no `--name=value` settings */
    void *ctx;
    own_fn *own; /* NULL: all go to the settings */
} call_shape;

/* Read argv into the table's places.  1: go on; *operands (or NULL) is how many came.  0: end with
 * *status (help was shown, or the call was wrong and the sentence said). */
int options_parse(const verb *v, const call_shape *s, int argc, char **argv, int *operands,
                  int *status);

/* The method of that name; WRONG with the nearest known name when there is none. */
int method_named(const fab_method **m, const char *name);

#endif
