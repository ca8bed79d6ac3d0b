/* settings.h - how a method writes its settings table.
 *
 *     #define SETTINGS fab_online_em_settings
 *     static const fab_field fields[] = {
 *         REQUIRED(K, I64, 1, 4096, "number of factors"),
 *         FIELD(forget, F64, 1, 0.5, 1, "weight of the past"),
 *         CHOICE(start, FAB_START_VARIANCE, fab_start_names, "how F begins"),
 *     };
 *     static const fab_fields table = TABLE("online-em", fields);
 *     #undef SETTINGS
 *
 * The struct may begin with another one, whose rows name it: FIELD_AT(fab_sgd_settings, epochs, ..).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_SETTINGS_H
#define FAB_BASE_SETTINGS_H

#include "base/fail.h"
#include "fabayes/settings.h"

/* "there is no WHAT 'WRONG'; did you mean 'NEAREST'?", or where no name is near "there is no WHAT 'WRONG'OTHERWISE". */
fab_status fab_no_such(fab_status s, const char *what, const char *wrong, const char *const *names,
                       int64_t n, const char *otherwise);

/* Rows of a table.  The _AT forms name the struct, the others mean SETTINGS. */
#define FIELD_(s_, name_, type_, origin_, value_, lo_, hi_, names_, help_, tune_, tlo_, thi_) \
    {                                                                                         \
        .name = #name_, .type = type_, .offset = offsetof(s_, name_), .origin = origin_,      \
        .value = value_, .lo = lo_, .hi = hi_, .names = names_, .help = help_, .tune = tune_, \
        .tune_lo = tlo_, .tune_hi = thi_                                                      \
    }

#define FIELD_AT(s, name, type, value, lo, hi, help) \
    FIELD_(s, name, FAB_##type, FAB_ORIGIN_VALUE, value, lo, hi, NULL, help, FAB_TUNE_NONE, 0, 0)
#define TUNED_AT(s, name, type, value, lo, hi, scale, tlo, thi, help)                          \
    FIELD_(s, name, FAB_##type, FAB_ORIGIN_VALUE, value, lo, hi, NULL, help, FAB_TUNE_##scale, \
           tlo, thi)
#define TUNED_AUTO_AT(s, name, type, lo, hi, scale, tlo, thi, help) \
    FIELD_(s, name, FAB_##type, FAB_ORIGIN_AUTO, 0, lo, hi, NULL, help, FAB_TUNE_##scale, tlo, thi)
#define AUTOMATIC_AT(s, name, type, lo, hi, help) \
    FIELD_(s, name, FAB_##type, FAB_ORIGIN_AUTO, 0, lo, hi, NULL, help, FAB_TUNE_NONE, 0, 0)
#define SWITCH_AT(s, name, value, help) \
    FIELD_(s, name, FAB_BOOL, FAB_ORIGIN_VALUE, value, 0, 1, NULL, help, FAB_TUNE_NONE, 0, 0)
#define CHOICE_AT(s, name, value, names, help)                                                     \
    FIELD_(s, name, FAB_ENUM, FAB_ORIGIN_VALUE, value, 0, sizeof names / sizeof *names - 2, names, \
           help, FAB_TUNE_NONE, 0, 0)

#define FIELD(name, type, value, lo, hi, help) FIELD_AT(SETTINGS, name, type, value, lo, hi, help)
#define TUNED(name, type, value, lo, hi, scale, tlo, thi, help) \
    TUNED_AT(SETTINGS, name, type, value, lo, hi, scale, tlo, thi, help)
#define REQUIRED(name, type, lo, hi, help)                                                        \
    FIELD_(SETTINGS, name, FAB_##type, FAB_ORIGIN_REQUIRED, 0, lo, hi, NULL, help, FAB_TUNE_NONE, \
           0, 0)
#define AUTOMATIC(name, type, lo, hi, help) AUTOMATIC_AT(SETTINGS, name, type, lo, hi, help)
#define SWITCH(name, value, help)           SWITCH_AT(SETTINGS, name, value, help)
#define CHOICE(name, value, names, help)    CHOICE_AT(SETTINGS, name, value, names, help)

#define TABLE(method_, fields_)                                                     \
    {                                                                               \
        .method = method_, .field = fields_, .n = sizeof fields_ / sizeof *fields_, \
        .size = sizeof(SETTINGS)                                                    \
    }

/* The defaults of the fields of t that are in the first `size` bytes of the struct, the rest of it as it is: for a struct that two
 * tables describe, or whose owner was compiled with an older one. */
void fab_settings_add_defaults(const fab_fields *t, void *settings, size_t size);

/* A number of type f64 that was auto becomes what was chosen, unless that is not > 0. */
void fab_settings_choose(const fab_fields *t, void *settings, const char *name, double chosen);

/* Is a setting still to be chosen by its rule? */
static inline int fab_is_auto_i64(int64_t v)
{
    return v == FAB_AUTO_I64;
}
static inline int fab_is_auto_f64(double v)
{
    return v == FAB_AUTO_F64;
}

#endif
