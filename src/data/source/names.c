/* names.c - the names of columns: each its own; what they say of the numbers below; as metadata of a file.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "data/source/names.h"
#include "base/bytes.h"
#include "base/hooks.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/source/source.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- each its own ------------------------------------------------------------------------------------- */

enum { SUFFIX = 24 }; /* ".1" of any number, and the end */

typedef struct named {
    const char *name;
    int64_t at;
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static int by_name_and_place(const void *a, const void *b)
{
    const named *p = a, *q = b;
    const int order = by_name(a, b);
    return order != 0 ? order : (p->at > q->at) - (p->at < q->at);
}

/* Texts with room for a suffix behind the pointers; *twice: the first name that another column has, by sorted place. */
static void write_names(char **to, int64_t n, const named *sorted, int64_t *twice, int64_t *count)
{
    char *text = (char *)(to + n);
    int64_t number = 0;
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *name = sorted[i].name;
        const int again = i > 0 && strcmp(name, sorted[i - 1].name) == 0;
        to[sorted[i].at] = text;
        memcpy(text, name, strlen(name) + 1);
        if (again) {
            do snprintf(text + strlen(name), SUFFIX, ".%" PRId64, ++number);
            while (bsearch(&(named){.name = text}, sorted, (size_t)n, sizeof *sorted, by_name));
            if ((*count)++ == 0) *twice = i;
        } else {
            number = 0;
        }
        text += strlen(name) + SUFFIX;
    }
}

fab_status fab_source_unique_names(fab_source *s)
{
    const int64_t n = s->columns;
    named *sorted;
    int64_t bytes = 0, twice = 0, count = 0;
    FAB_TRY(fab_alloc_array((void **)&sorted, n, sizeof *sorted, s->in.name));
    for (int64_t c = 0; c < n; c++) sorted[c] = (named){s->names[c], c};
    qsort(sorted, (size_t)n, sizeof *sorted, by_name_and_place);
    for (int64_t i = 0; i < n; i++) {
        bytes += (int64_t)(sizeof(char *) + strlen(sorted[i].name) + SUFFIX);
        count += i > 0 && strcmp(sorted[i].name, sorted[i - 1].name) == 0;
    }
    fab_status status = FAB_OK;
    if (count > 0) {
        char **names;
        status = fab_alloc_array((void **)&names, bytes, 1, s->in.name);
        if (status == FAB_OK) {
            char shown[FAB_SHOWN], more[64] = "";
            write_names(names, n, sorted, &twice, &count);
            if (count > 1) snprintf(more, sizeof more, ", and %" PRId64 " more like it", count - 1);
            fab_watch_log(&(fab_watch){0},
                          "%s: columns %" PRId64 " and %" PRId64
                          " are both named '%s': the second is read as '%s'%s",
                          s->in.name, sorted[twice - 1].at, sorted[twice].at,
                          fab_show(shown, sorted[twice].name, strlen(sorted[twice].name)),
                          names[sorted[twice].at], more);
            fab_release(s->names);
            s->names = names;
        }
    }
    fab_release(sorted);
    return status;
}

/* ---- what they say ------------------------------------------------------------------------------------ */

static int is_one_of(const char *word, size_t n, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == n && strncasecmp(word, *list, n) == 0) return 1;
    return 0;
}

/* The next word of a name at *p, of n bytes; NULL: there is none.  customer_id, customer.id and customerID have two each. */
static const char *next_word(const char **p, size_t *n)
{
    const char *q = *p;
    while (*q && strchr("_.- :/#()", *q)) q++;
    if (!*q) return NULL;
    const char *word = q++;
    while (*q && !strchr("_.- :/#()", *q)) {
        const int rises = isupper((unsigned char)*q) && !isupper((unsigned char)q[-1]);
        const int ends = islower((unsigned char)q[1]) && isupper((unsigned char)q[-1]);
        if (rises || (isupper((unsigned char)*q) && ends)) break; /* custom|Id, ID|Card */
        q++;
    }
    *n = (size_t)(q - word);
    *p = q;
    return word;
}

int fab_name_numbers_rows(const char *name)
{
    static const char *const whole[] = {"",           "index",      "idx",          "row",
                                        "rows",       "rownum",     "rowindex",     "rownumber",
                                        "unnamed: 0", "rownames",   "pk",           "row_num",
                                        "row_index",  "row_number", "row.number",   "row_no",
                                        "row.names",  "row_names",  "record_index", NULL};
    static const char *const ids[] = {
        "id",       "rowid",      "uid",         "guid",       "uuid",      "userid",
        "custid",   "customerid", "caseid",      "pid",        "patientid", "personid",
        "playerid", "studentid",  "itemid",      "subjectid",  "hhid",      "recid",
        "orderid",  "productid",  "memberid",    "sampleid",   "objid",     "objectid",
        "recordid", "accountid",  "passengerid", "employeeid", NULL};
    const char *p = name, *word;
    size_t n = 0;
    int first = 1, last = 0;
    if (is_one_of(name, strlen(name), whole)) return 1;
    while ((word = next_word(&p, &n)) != NULL) {
        last = is_one_of(word, n, ids);
        if (first && last) return 1;
        first = 0;
    }
    return last;
}

int fab_name_tells_time(const char *name)
{
    static const char *const words[] = {"year", "years",  "yr",      "date",   "day",       "days",
                                        "week", "month",  "quarter", "time",   "minute",    "hour",
                                        "age",  "second", "decade",  "period", "timestamp", NULL};
    const char *p = name, *word;
    size_t n = 0;
    while ((word = next_word(&p, &n)) != NULL)
        if (is_one_of(word, n, words)) return 1;
    return 0;
}

/* ---- as metadata -------------------------------------------------------------------------------------- */

/* Is any column named by the file itself, and not by its number? */
static int has_names(const fab_source *s, int64_t first)
{
    if (!s->names) return 0;
    for (int64_t c = first; c < s->columns; c++) {
        char number[32];
        snprintf(number, sizeof number, "x%" PRId64, c);
        if (strcmp(s->names[c], number) != 0) return 1;
    }
    return 0;
}

/* The name as it is written: bytes that are no UTF-8 become '?'.  Gives *text. */
static fab_status written_name(const fab_source *s, int64_t column, char **text)
{
    FAB_TRY(fab_copy_text(text, s->names[column]));
    if (!fab_text_is_utf8(*text))
        for (char *p = *text; *p; p++)
            if ((unsigned char)*p >= 0x80) *p = '?';
    return FAB_OK;
}

fab_status fab_source_names_json(const fab_source *s, int64_t first, int64_t except, char **text)
{
    fab_text t = {0};
    const char *comma = "";
    *text = NULL;
    if (!has_names(s, first)) return FAB_OK;
    fab_text_add(&t, "{\"names\":[");
    for (int64_t c = first; c < s->columns; c++) {
        char *name;
        if (c == except) continue;
        const fab_status status = written_name(s, c, &name);
        if (status != FAB_OK) {
            fab_release(t.p);
            return status;
        }
        fab_text_add(&t, "%s", comma);
        fab_text_add_json(&t, name);
        fab_release(name);
        comma = ",";
    }
    fab_text_add(&t, "]}");
    return fab_text_give(&t, text);
}

static fab_status compare(const fab_source *s, int64_t first, int64_t except, const char *file,
                          const json_t *names)
{
    size_t i = 0;
    for (int64_t c = first; c < s->columns && i < json_array_size(names); c++) {
        char *now;
        if (c == except) continue;
        const char *old = json_string_value(json_array_get(names, i++));
        if (!old) continue;
        FAB_TRY(written_name(s, c, &now));
        const int same = strcmp(now, old) == 0;
        fab_release(now);
        if (!same)
            return FAB_FAIL(FAB_BAD_DATA, "%s: column %" PRId64 " is '%s', and '%s' in %s",
                            s->in.name, c, s->names[c], old, file);
    }
    return FAB_OK;
}

fab_status fab_source_names_check(const fab_source *s, int64_t first, int64_t except,
                                  const char *file, const char *json)
{
    if (!json || !has_names(s, first)) return FAB_OK;
    json_t *o;
    fab_status status = fab_json_read_string(&o, "columns", json);
    if (status != FAB_OK) return fab_prefix(status, "%s: ", file);
    const json_t *names = json_object_get(o, "names");
    status = json_is_array(names)
                 ? compare(s, first, except, file, names)
                 : FAB_FAIL(FAB_BAD_FILE, "%s: the names of its columns are not a list", file);
    json_decref(o);
    return status;
}
