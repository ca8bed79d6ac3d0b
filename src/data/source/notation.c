/* notation.c - numbers as people write them: $3.20, 7.1%, 1,050, 2024-03-01, Mar 1 2024.
 *
 *     [+-] [sign] [blanks] [+-] digits and marks [e [+-] digits] [blanks] [sign]        one sign at most, on either side
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/notation.h"
#include "data/source/number.h"
#include <string.h>

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- signs --------------------------------------------------------------------------------------------- */

/* Numbered from 1.  A text in Windows-1252 has some of them as one byte. */
static const char *const signs[] = {"$",
                                    "%",
                                    "\xE2\x82\xAC" /* euro */,
                                    "\xC2\xA3" /* pound */,
                                    "\xC2\xA5" /* yen */,
                                    "US$",
                                    "\x80",
                                    "\xA3",
                                    "\xA5",
                                    "\xE2\x82\xB9" /* rupee */,
                                    "\xE2\x80\xB0" /* per mille */,
                                    "EUR",
                                    "USD",
                                    "GBP",
                                    "CHF",
                                    "JPY",
                                    "CNY",
                                    "INR",
                                    "CAD",
                                    "AUD",
                                    "NZD",
                                    "SEK",
                                    "NOK",
                                    "DKK",
                                    "PLN",
                                    "CZK",
                                    "HUF",
                                    "RON",
                                    "BRL",
                                    "MXN",
                                    "ZAR",
                                    "RUB",
                                    "TRY",
                                    "KRW",
                                    "SGD",
                                    "HKD",
                                    "ILS"};
enum { SIGNS = sizeof signs / sizeof *signs };

const char *fab_notation_sign(unsigned char sign)
{
    static const char *const written[] = {"\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5"};
    if (sign >= 7 && sign <= 9) return written[sign - 7];
    return sign >= 1 && sign <= SIGNS ? signs[sign - 1] : "";
}

static unsigned char sign_at(const char *p, size_t n, int at_end, size_t *length)
{
    unsigned char found = 0;
    *length = 0;
    for (int i = 0; i < SIGNS; i++) {
        const size_t m = strlen(signs[i]);
        if (m > n || m <= *length || memcmp(at_end ? p + n - m : p, signs[i], m) != 0) continue;
        found = (unsigned char)(i + 1);
        *length = m;
    }
    return found;
}

/* A number without its sign: [+-] and the rest, between p and end. */
typedef struct core {
    int negative;
    unsigned char sign;
    const char *p, *end;
} core;

static core strip(const char *p, size_t n)
{
    core c = {0, 0, p, p + n};
    size_t length;
    int minus = 0;
    if (n && (*p == '-' || *p == '+')) {
        minus = 1;
        c.negative = *p == '-';
        c.p++;
    }
    c.sign = sign_at(c.p, (size_t)(c.end - c.p), 0, &length);
    if (c.sign) {
        c.p += length;
        while (c.p < c.end && *c.p == ' ') c.p++;
        if (c.p < c.end && !minus && (*c.p == '-' || *c.p == '+')) c.negative = *c.p++ == '-';
        return c;
    }
    c.sign = sign_at(c.p, (size_t)(c.end - c.p), 1, &length);
    if (c.sign) c.end -= length;
    while (c.sign && c.end > c.p && c.end[-1] == ' ') c.end--;
    return c;
}

/* ---- marks --------------------------------------------------------------------------------------------- */

/* Where the exponent of p .. end begins, or the end; NULL: it is none, or the digits are no digits. */
static const char *mantissa_end(const char *p, const char *end)
{
    const char *q = p;
    while (q < end && (is_digit(*q) || *q == '.' || *q == ',')) q++;
    if (q == end) return q;
    if (*q != 'e' && *q != 'E') return NULL;
    const char *digits = q + 1;
    if (digits < end && (*digits == '-' || *digits == '+')) digits++;
    if (digits == end) return NULL;
    for (; digits < end; digits++)
        if (!is_digit(*digits)) return NULL;
    return q;
}

/* Is p .. end one to three digits, the first of them not 0, and then groups of `mark` and three digits? */
static int in_threes(const char *p, const char *end, char mark)
{
    const char *q = p;
    while (q < end && is_digit(*q)) q++;
    if (q == p || q - p > 3 || *p == '0') return 0;
    for (; q < end; q += 4)
        if (end - q < 4 || *q != mark || !is_digit(q[1]) || !is_digit(q[2]) || !is_digit(q[3]))
            return 0;
    return 1;
}

fab_look fab_notation_look(const char *p, size_t n)
{
    const core c = strip(p, n);
    fab_look l = {FAB_SHAPE_NONE, c.sign, 0, 0};
    const char *stop = c.p < c.end ? mantissa_end(c.p, c.end) : NULL;
    int64_t count[2] = {0, 0}, digits = 0, whole = 0; /* points, commas; digits before any mark */
    const char *last = NULL;
    if (!stop) return l;
    for (const char *q = c.p; q < stop; q++) {
        if (is_digit(*q)) {
            digits++;
            whole += !last;
        } else {
            count[*q == ',']++;
            last = q;
        }
    }
    if (digits == 0) return l;
    l.long_whole = whole >= 4;
    if (!last) {
        l.shape = FAB_SHAPE_WHOLE;
    } else if (count[0] + count[1] == 1) {
        const int comma = *last == ',';
        l.shape = comma ? FAB_SHAPE_COMMA : FAB_SHAPE_POINT;
        if (stop == c.end && in_threes(c.p, stop, *last))
            l.shape = comma ? FAB_SHAPE_EITHER_COMMA : FAB_SHAPE_EITHER_POINT;
    } else if (count[0] == 0 || count[1] == 0) { /* 1,234,567 */
        l.groups = in_threes(c.p, stop, *last);
        if (l.groups) l.shape = *last == ',' ? FAB_SHAPE_POINT : FAB_SHAPE_COMMA;
    } else if (count[*last == ','] == 1) { /* 1,050.25 */
        l.groups = in_threes(c.p, last, *last == ',' ? '.' : ',');
        if (l.groups) l.shape = *last == ',' ? FAB_SHAPE_COMMA : FAB_SHAPE_POINT;
    }
    return l;
}

int fab_notation_number(const fab_notation *f, const char *p, size_t n, double *x)
{
    enum { ROOM = 512 }; /* a longer number has no groups to take out */
    char plain[ROOM + FAB_NUMBER_PAD];
    const core c = strip(p, n);
    size_t used = 0;
    if (c.sign != f->sign && strcmp(fab_notation_sign(c.sign), fab_notation_sign(f->sign)) != 0)
        return 0;
    if (c.p == c.end || (size_t)(c.end - c.p) >= ROOM) return 0;
    if (!is_digit(*c.p) && *c.p != f->decimal) return 0; /* one + or - is enough */
    const char *whole = c.p;
    while (whole < c.end && (is_digit(*whole) || (f->group && *whole == f->group))) whole++;
    if (f->group) {
        const char *digits = c.p;
        while (digits < whole && is_digit(*digits)) digits++;
        if (digits == whole ? digits - c.p > 3 : !in_threes(c.p, whole, f->group)) return 0;
    }
    for (const char *q = c.p; q < c.end; q++)
        if (q >= whole || *q != f->group) plain[used++] = *q;
    memset(plain + used, 0, FAB_NUMBER_PAD);
    const char *end = f->decimal == ',' ? fab_number_comma(plain, x) : fab_number(plain, x);
    if (end != plain + used) return 0;
    if (c.negative) *x = -*x;
    return 1;
}

/* ---- dates --------------------------------------------------------------------------------------------- */

/* Digits at *p, at most `most`: their number, and how many there were. */
static int take_digits(const char **p, const char *end, int most, int *count)
{
    int x = 0;
    *count = 0;
    while (*p < end && is_digit(**p) && *count < most) {
        x = 10 * x + (*(*p)++ - '0');
        ++*count;
    }
    return x;
}

typedef struct when {
    int part[3], year_first;
    int name;       /* which of them is the month's name; -1: none */
    double seconds; /* of the day, in UTC where a zone is given */
} when;

/* HH:MM[:SS[.fff]] and a zone, Z or +HH:MM; 0: it is none. */
static int read_time(const char *p, const char *end, double *seconds)
{
    int n, zone_hour = 0, zone_minute = 0;
    const int hour = take_digits(&p, end, 2, &n);
    if (n != 2 || hour > 24 || p == end || *p++ != ':') return 0;
    const int minute = take_digits(&p, end, 2, &n);
    if (n != 2 || minute > 59) return 0;
    double second = 0;
    if (p < end && *p == ':') {
        p++;
        second = take_digits(&p, end, 2, &n);
        if (n != 2 || second > 60) return 0;
        if (p < end && *p == '.') {
            double unit = 0.1;
            const char *first = ++p;
            for (; p < end && is_digit(*p); p++, unit /= 10) second += unit * (*p - '0');
            if (p == first) return 0;
        }
    }
    *seconds = 3600.0 * hour + 60.0 * minute + second;
    if (*seconds > 86400) return 0;
    if (p < end && *p == 'Z') return p + 1 == end;
    if (p < end && (*p == '+' || *p == '-')) {
        const int east = *p++ == '+' ? 1 : -1;
        zone_hour = take_digits(&p, end, 2, &n);
        if (n != 2 || zone_hour > 14) return 0;
        if (p < end && *p == ':') p++;
        if (p < end) zone_minute = take_digits(&p, end, 2, &n);
        if (n != 2 || zone_minute > 59) return 0;
        *seconds -= east * (3600.0 * zone_hour + 60.0 * zone_minute);
    }
    return p == end;
}

/* The month that begins with these letters, three of them at least: 1 .. 12; 0: none. */
static int take_month(const char **p, const char *end)
{
    static const char *const names[] = {"january",   "february", "march",    "april",
                                        "may",       "june",     "july",     "august",
                                        "september", "october",  "november", "december"};
    const char *first = *p;
    while (*p < end && is_letter(**p)) ++*p;
    const size_t n = (size_t)(*p - first);
    for (int m = 0; m < 12; m++) {
        size_t same = 0;
        while (same < n && (first[same] | 0x20) == names[m][same]) same++;
        if (n >= 3 && same == n) return m + 1;
    }
    return 0;
}

/* What stands between the parts of a date: one of - / . twice, or blanks where the month is a name, then maybe with a comma before
 * the year. */
static int take_mark(const char **p, const char *end, char *mark, int may_have_comma)
{
    static const char marks[] = {'-', '/', '.', ' '};
    if (may_have_comma && *p < end && **p == ',') ++*p;
    if (*p == end || !memchr(marks, **p, sizeof marks) || (*mark && **p != *mark)) return 0;
    *mark = *(*p)++;
    return 1;
}

/* Three numbers with one of - / . between them, or two and the name of a month, and maybe a time. */
static int read_when(const char *p, size_t n, when *w)
{
    const char *end = p + n;
    char mark = 0;
    int digits;
    w->seconds = 0;
    w->name = -1;
    w->year_first = 0;
    for (int i = 0; i < 3; i++) {
        if (i > 0 && !take_mark(&p, end, &mark, i == 2 && w->name == 0)) return 0;
        if (i < 2 && w->name < 0 && p < end && is_letter(*p)) {
            w->part[i] = take_month(&p, end);
            if (w->part[i] == 0) return 0;
            w->name = i;
            continue;
        }
        w->part[i] = take_digits(&p, end, 4, &digits);
        if (i == 0) w->year_first = digits == 4;
        const int is_year = i == (w->year_first ? 0 : 2);
        if (is_year ? digits != 4 : digits < 1 || digits > 2) return 0;
    }
    if (mark == ' ' && w->name < 0) return 0;
    if (p == end) return 1;
    if (*p != ' ' && *p != 'T') return 0;
    return read_time(p + 1, end, &w->seconds);
}

static int is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days since 1970-01-01; 0: there is no such day. */
static int count_days(int year, int month, int day, double *days)
{
    static const int before[13] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    if (year < 1 || month < 1 || month > 12 || day < 1) return 0;
    const int leap = is_leap(year);
    if (day > before[month] - before[month - 1] + (month == 2 && leap)) return 0;
    const int y = year - 1; /* whole years since the year 1; 719162 days of them are before 1970 */
    *days = 365.0 * y + y / 4 - y / 100 + y / 400 - 719162 + before[month - 1] +
            (month > 2 && leap) + day - 1;
    return 1;
}

int fab_date_days(const char *p, size_t n, unsigned char order, double *days)
{
    when w;
    int there;
    if (n < 8 || n > 40 || !read_when(p, n, &w)) return 0;
    if ((w.name >= 0) != (order == FAB_ORDER_NAME)) return 0;
    if (w.name < 0 && w.year_first != (order == FAB_ORDER_YEAR)) return 0;
    if (w.year_first)
        there = count_days(w.part[0], w.part[1], w.part[2], days);
    else if (order == FAB_ORDER_DAY || w.name == 1)
        there = count_days(w.part[2], w.part[1], w.part[0], days);
    else
        there = count_days(w.part[2], w.part[0], w.part[1], days);
    *days += there ? w.seconds / 86400 : 0;
    return there;
}

unsigned char fab_date_orders(const char *p, size_t n)
{
    static const unsigned char all[] = {FAB_ORDER_YEAR, FAB_ORDER_DAY, FAB_ORDER_MONTH,
                                        FAB_ORDER_NAME};
    unsigned char orders = 0;
    double days = 0;
    for (int i = 0; i < 4; i++)
        if (fab_date_days(p, n, all[i], &days)) orders = (unsigned char)(orders | all[i]);
    return orders;
}
