/* dialect.c - how a table of text is written: separator, decimal mark, comments, dates, missing values; and what there is
 * to say about it.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "base/hooks.h"
#include "base/memory.h"
#include "data/source/source.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- parts by name ------------------------------------------------------------------------------------- */

typedef struct named {
    const char *name;
    char value;
} named;

static const named separators[] = {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'},
                                   {"blank", ' '}, {"pipe", '|'},      {"\\t", '\t'}};
static const named decimals[] = {{"point", '.'}, {"comma", ','}, {".", '.'}, {",", ','}};
static const named dates[] = {{"words", FAB_DATES_WORDS},
                              {"numbers", FAB_DATES_NUMBERS},
                              {"parts", FAB_DATES_PARTS},
                              {"day-first", FAB_DATES_DAY_FIRST},
                              {"month-first", FAB_DATES_MONTH_FIRST}};

static const named *find(const named *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, text) == 0) return &list[i];
    return NULL;
}
#define FIND(list, text) find(list, sizeof(list) / sizeof *(list), text)

/* One character of ASCII that no number and no quoted field has. */
static int can_separate(const char *text)
{
    return text[0] > 0 && text[1] == '\0' && !strchr("\"\r\n+-.0123456789eE", text[0]);
}

fab_status fab_dialect_set(fab_dialect *d, const char *name, const char *text)
{
    if (strcmp(name, "separator") == 0) {
        const named *known = FIND(separators, text);
        if (!known && !can_separate(text))
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "the separator is comma, semicolon, tab, blank, pipe or one character "
                            "that no number has, not '%s'",
                            text);
        d->separator = known ? known->value : text[0];
    } else if (strcmp(name, "decimal") == 0) {
        const named *known = FIND(decimals, text);
        if (!known)
            return FAB_FAIL(FAB_BAD_ARGUMENT, "the decimal mark is point or comma, not '%s'", text);
        d->decimal = known->value;
    } else if (strcmp(name, "comment") == 0) {
        const int none = strcmp(text, "none") == 0;
        if (!none && (text[0] <= ' ' || text[1] || strchr("\"+-.0123456789", text[0])))
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "comments begin with one character that no number has, or there are "
                            "none, not '%s'",
                            text);
        d->comment = none ? FAB_NO_COMMENT : text[0];
    } else if (strcmp(name, "dates") == 0) {
        const named *known = FIND(dates, text);
        if (!known)
            return FAB_FAIL(
                FAB_BAD_ARGUMENT,
                "dates are read as words, numbers, parts, day-first or month-first, not '%s'",
                text);
        d->dates = (fab_dates)known->value;
    } else if (strcmp(name, "na") == 0) {
        if (!text[0] || strlen(text) >= FAB_NA_ROOM)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "words for missing values have 1 to %d characters in "
                            "all, and these have %zu",
                            FAB_NA_ROOM - 1, strlen(text));
        memcpy(d->na, text, strlen(text) + 1);
    } else {
        return FAB_FAIL(FAB_BAD_ARGUMENT, "a dialect has no part '%s'", name);
    }
    return FAB_OK;
}

/* ---- words for missing values ---------------------------------------------------------------------------- */

/* The next word of the list at *next, without blanks around it; 0: there is none. */
static int next_word(const char **next, fab_span *word)
{
    if (!*next) return 0;
    const char *p = *next + strspn(*next, " "), *comma = strchr(p, ',');
    const char *end = comma ? comma : p + strlen(p);
    *next = comma ? comma + 1 : NULL;
    while (end > p && end[-1] == ' ') end--;
    *word = (fab_span){p, (size_t)(end - p)};
    return 1;
}

void fab_source_take_na(fab_source *s)
{
    const char *next = s->dialect.na;
    fab_span word;
    s->na_count = 0;
    while (next_word(&next, &word)) {
        char text[FAB_NA_ROOM + FAB_NUMBER_PAD] = {0};
        double x;
        memcpy(text, word.p, word.n);
        if (word.n && s->number(text, &x) == text + word.n) s->na[s->na_count++] = x;
    }
}

int fab_source_is_na(const fab_source *s, const char *p, size_t n)
{
    const char *next = s->dialect.na;
    fab_span word;
    while (next_word(&next, &word))
        if (word.n == n && strncasecmp(word.p, p, n) == 0) return 1;
    return 0;
}

/* ---- notes ----------------------------------------------------------------------------------------------- */

/* Does nobody ask for the column? */
static int is_unconcerned(const fab_source *s, int64_t column)
{
    if (!s->concern || !s->names) return 0;
    for (int64_t i = 0; i < s->concerns; i++)
        if (strcmp(s->concern[i], s->names[column]) == 0) return 0;
    return 1;
}

fab_status fab_source_say(fab_source *s, const char *format, ...)
{
    char text[1024];
    void *list;
    va_list args;
    if (s->noted && is_unconcerned(s, s->noted - 1)) return FAB_OK;
    const int used = snprintf(text, sizeof text / 2, "%s: ", s->in.name);
    const size_t start = used < (int)sizeof text / 2 ? (size_t)used : sizeof text / 2 - 1;
    va_start(args, format);
    vsnprintf(text + start, sizeof text - start, format, args);
    va_end(args);
    FAB_TRY(fab_alloc_array(&list, s->notes + 1, sizeof *s->note, s->in.name));
    if (s->notes) memcpy(list, s->note, (size_t)s->notes * sizeof *s->note);
    fab_release(s->note);
    s->note = list;
    FAB_TRY(fab_copy_text(&s->note[s->notes], text));
    s->notes++;
    fab_watch_log(&(fab_watch){0}, "%s", text);
    return FAB_OK;
}

int64_t fab_source_notes(const fab_source *s)
{
    return s->notes;
}

const char *fab_source_note(const fab_source *s, int64_t i)
{
    return i >= 0 && i < s->notes ? s->note[i] : NULL;
}

const fab_dialect *fab_source_dialect(const fab_source *s)
{
    return &s->dialect;
}
