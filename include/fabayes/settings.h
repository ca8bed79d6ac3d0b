/* settings.h - one table per method describes its settings.
 *
 * The struct is for people, the table for programs: checks, --help, flags, Python keywords, the docs
 * and `fabayes tune` all read it.  Every field of a settings struct is 8 bytes wide.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_SETTINGS_H
#define FABAYES_SETTINGS_H

#include "fabayes/exec.h"
#include <math.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a setting that is to be chosen by the rule its help text states. */
#define FAB_AUTO_I64 INT64_MIN
#define FAB_AUTO_F64 (-INFINITY)

typedef enum fab_origin { FAB_ORIGIN_VALUE = 0, FAB_ORIGIN_REQUIRED, FAB_ORIGIN_AUTO } fab_origin;
typedef enum fab_scale { FAB_TUNE_NONE = 0, FAB_TUNE_LIN, FAB_TUNE_LOG } fab_scale;

typedef struct fab_field {
    const char *name;
    fab_dtype type;           /* FAB_I64, FAB_F64, FAB_BOOL or FAB_ENUM */
    size_t offset;            /* in the settings struct */
    fab_origin origin;        /* where the default comes from */
    double value;             /* the default, when it is a value */
    double lo, hi;            /* the allowed range, both ends included */
    const char *const *names; /* FAB_ENUM: the names of 0, 1, .., NULL at the end */
    const char *help;
    fab_scale tune; /* the range `fabayes tune` searches */
    double tune_lo, tune_hi;
} fab_field;

typedef struct fab_fields {
    const char *method; /* who speaks in error messages */
    const fab_field *field;
    int64_t n;
    size_t size; /* of the struct: 8 n, or more where others describe the rest */
} fab_fields;

/* Set every field to its default; required fields to 0, which fails the check.  Members that t does not describe: 0.
 * Writes t->size bytes: for programs that read tables.  Those that have the struct call the function of its name. */
FAB_API void fab_settings_defaults(const fab_fields *t, void *settings);

/* Every value inside its range?  The sentence names method, setting, value and range.  NaN fails. */
FAB_API fab_status fab_settings_check(const fab_fields *t, const void *settings);

/* The field of that name, or NULL. */
FAB_API const fab_field *fab_settings_find(const fab_fields *t, const char *name);

/* The value of a field as a number: NaN when there is none of that name, FAB_AUTO_F64 where it is to be chosen. */
FAB_API double fab_settings_number(const fab_fields *t, const void *settings, const char *name);

/* Set a field from text ("0.5", "12", "true", "auto", a name).  On failure *settings is as before. */
FAB_API fab_status fab_settings_parse(const fab_fields *t, void *settings, const char *name,
                                      const char *text);

/* Write one value as text into buf, as snprintf would; numbers read back to the same bits. */
FAB_API int fab_settings_print(const fab_field *f, const void *settings, char *buf, size_t size);

/* The default as text: a value, "required" or "auto". */
FAB_API int fab_settings_default_text(const fab_field *f, char *buf, size_t size);

/* The whole table for a person, or the values as one JSON object.  Gives a string: fab_text_free. */
FAB_API fab_status fab_settings_text(const fab_fields *t, char **text);
FAB_API fab_status fab_settings_json(const fab_fields *t, const void *settings, char **text);

/* Set the fields named in a JSON object; unknown names and bad values fail, nothing changed. */
FAB_API fab_status fab_settings_from_json(const fab_fields *t, void *settings, const char *json);

FAB_API void fab_text_free(char *text);

/* The known name nearest to `wrong` in edit distance, or NULL when none is near. */
FAB_API const char *fab_nearest(const char *wrong, const char *const *names, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
