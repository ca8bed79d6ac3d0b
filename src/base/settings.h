/* settings.h - how a method writes its settings table.
 *
 *     static const fab_field fields[] = {
 *         FIELD(K,      I64, REQUIRED, 1, 4096, "number of factors"),
 *         FIELD(forget, F64, 1,        0, 1,    "weight of the past"),
 *         CHOICE(start, "svd", starts,          "how F begins"),
 *     };
 *
 * FIELDS_OF(type) names the struct first.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_SETTINGS_H
#define FAB_BASE_SETTINGS_H

#include "fabayes/settings.h"

/* Rows of a table; define SETTINGS as the struct before using them. */
#define FIELD_(name_, type_, origin_, value_, lo_, hi_, names_, help_, tune_, tlo_, thi_)      \
    {                                                                                          \
        .name = #name_, .type = type_, .offset = offsetof(SETTINGS, name_), .origin = origin_, \
        .value = value_, .lo = lo_, .hi = hi_, .names = names_, .help = help_, .tune = tune_,  \
        .tune_lo = tlo_, .tune_hi = thi_                                                       \
    }

#define FIELD(name, type, value, lo, hi, help) \
    FIELD_(name, FAB_##type, FAB_VALUE, value, lo, hi, NULL, help, FAB_NO_TUNE, 0, 0)
#define TUNED(name, type, value, lo, hi, scale, tlo, thi, help) \
    FIELD_(name, FAB_##type, FAB_VALUE, value, lo, hi, NULL, help, FAB_##scale, tlo, thi)
#define TUNED_AUTO(name, type, lo, hi, scale, tlo, thi, help) \
    FIELD_(name, FAB_##type, FAB_AUTO, 0, lo, hi, NULL, help, FAB_##scale, tlo, thi)
#define REQUIRED(name, type, lo, hi, help) \
    FIELD_(name, FAB_##type, FAB_REQUIRED, 0, lo, hi, NULL, help, FAB_NO_TUNE, 0, 0)
#define AUTOMATIC(name, type, lo, hi, help) \
    FIELD_(name, FAB_##type, FAB_AUTO, 0, lo, hi, NULL, help, FAB_NO_TUNE, 0, 0)
#define SWITCH(name, value, help) \
    FIELD_(name, FAB_BOOL, FAB_VALUE, value, 0, 1, NULL, help, FAB_NO_TUNE, 0, 0)
#define CHOICE(name, value, names, help)                                                       \
    FIELD_(name, FAB_ENUM, FAB_VALUE, value, 0, sizeof names / sizeof *names - 2, names, help, \
           FAB_NO_TUNE, 0, 0)

#define TABLE(method_, fields_)                                                     \
    {                                                                               \
        .method = method_, .field = fields_, .n = sizeof fields_ / sizeof *fields_, \
        .size = sizeof(SETTINGS)                                                    \
    }

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
