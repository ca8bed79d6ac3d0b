/* dates.c - parts of a date, of days since 1970-01-01 with the part of the day behind the mark: 3.5 is noon of 1970-01-04.
 *
 *   year 1970   quarter 1 .. 4   month 1 .. 12   day 1 .. 31   yearday 1 .. 366   weekday 0 .. 6, Monday first   hour 0 .. 23
 *
 * They are numbers, and C(..) makes levels of those that come round: C(month(date)) has a feature for each month.  A call
 * that asks for parts of its dates gets this formula, where `when` is a column of dates (with a time: hour too):
 *
 *   . - when + year(when) + C(month(when)) + C(weekday(when))
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/text.h"
#include "data/columns/formula.h"
#include "data/columns/table.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- days ------------------------------------------------------------------------------------------- */

enum { MS_OF_DAY = 86400000 };

/* The day, and the milliseconds of it: a double holds no finer time. */
static double day_of(double x, double *ms)
{
    double day = floor(x);
    *ms = floor((x - day) * MS_OF_DAY + 0.5);
    if (*ms < MS_OF_DAY) return day;
    *ms = 0;
    return day + 1;
}

typedef struct civil {
    double year;
    double month, day, yearday;
} civil;

/* In years that begin in March a leap day is the last: 400 of them have 146097 days, 4 have 1461, and month m begins at day
 * (153 m + 2) / 5. */
static civil civil_of(double x)
{
    double ms;
    const double days = day_of(x, &ms) + 719468; /* since 0000-03-01 */
    const double era = floor(days / 146097);
    const int64_t d = (int64_t)(days - era * 146097); /* of 400 years */
    const int64_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    const int in_year = (int)(d - (365 * y + y / 4 - y / 100));
    const int m = (5 * in_year + 2) / 153;
    civil c = {.month = m < 10 ? m + 3 : m - 9, .day = in_year - (153 * m + 2) / 5 + 1};
    const int64_t year = y + (c.month <= 2);
    const int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    c.year = (double)year + 400 * era;
    c.yearday = c.month <= 2 ? in_year - 305 : in_year + 60 + leap;
    return c;
}

/* Beyond these the days are no dates; NaN stays NaN. */
static int is_date(double x)
{
    return fabs(x) < 1e9;
}

static double year(double x)
{
    return is_date(x) ? civil_of(x).year : NAN;
}

static double quarter(double x)
{
    return is_date(x) ? floor((civil_of(x).month + 2) / 3) : NAN;
}

static double month(double x)
{
    return is_date(x) ? civil_of(x).month : NAN;
}

static double day(double x)
{
    return is_date(x) ? civil_of(x).day : NAN;
}

static double yearday(double x)
{
    return is_date(x) ? civil_of(x).yearday : NAN;
}

/* The first of January 1970 was a Thursday. */
static double weekday(double x)
{
    double ms;
    if (!is_date(x)) return NAN;
    const double since = day_of(x, &ms) + 3;
    return since - 7 * floor(since / 7);
}

static double hour(double x)
{
    double ms;
    if (!is_date(x)) return NAN;
    day_of(x, &ms);
    return floor(ms / 3600000);
}

/* ---- the parts -------------------------------------------------------------------------------------- */

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const weekdays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

const fab_date_part fab_date_parts[] = {
    {"year", year, 0, 0, NULL},       {"quarter", quarter, 1, 4, NULL},
    {"month", month, 1, 12, months},  {"day", day, 1, 31, NULL},
    {"yearday", yearday, 0, 0, NULL}, {"weekday", weekday, 0, 7, weekdays},
    {"hour", hour, 0, 24, NULL},      {NULL, NULL, 0, 0, NULL}};

const fab_date_part *fab_date_part_find(const char *name)
{
    for (const fab_date_part *p = fab_date_parts; p->name; p++)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}

/* ---- formulas --------------------------------------------------------------------------------------- */

int fab_formula_dates(const char *formula)
{
    if (!formula) return 0;
    for (const fab_date_part *part = fab_date_parts; part->name; part++) {
        const size_t n = strlen(part->name);
        for (const char *p = formula; (p = strstr(p, part->name)) != NULL; p += n) {
            const char before = p > formula ? p[-1] : ' ';
            const char *after = p + n + strspn(p + n, " \t");
            if (!isalnum((unsigned char)before) && !strchr("_.`\"", before) && *after == '(')
                return 1;
        }
    }
    return 0;
}

fab_status fab_formula_of_dates(const fab_source *s, const int64_t *feature, int64_t n, char **text)
{
    fab_text t = {0};
    int64_t dates = 0;
    *text = NULL;
    fab_text_add(&t, "~ .");
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = feature[i];
        if (!fab_source_is_date(s, c) || fab_source_is_words(s, c)) continue;
        const char *name = fab_source_name(s, c), *q = strchr(name, '`') ? "\"" : "`";
        dates++;
        fab_text_add(&t, " - %s%s%s + year(%s%s%s)", q, name, q, q, name, q);
        fab_text_add(&t, " + C(month(%s%s%s)) + C(weekday(%s%s%s))", q, name, q, q, name, q);
        if (s->form[c].time) fab_text_add(&t, " + C(hour(%s%s%s))", q, name, q);
    }
    if (dates) return fab_text_give(&t, text);
    fab_release(t.p);
    return FAB_OK;
}
