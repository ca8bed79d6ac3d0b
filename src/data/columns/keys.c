/* keys.c - columns that name the rows and say nothing of them: row names, numbers of rows, free text.
 *
 * Of the n rows at hand, 10 at least, a column that the call does not name
 *
 *   has words      is left out when its levels are more than 9/10 of the rows that have one, or more than half of them and
 *                  more than 20: most levels are then met once, and fit their row alone
 *   has numbers    that rise by 1 from row to row is left out when its name says that it counts rows, and else remarked
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "data/columns/table.h"
#include <math.h>
#include <string.h>
#include <strings.h>

enum { LEAST_ROWS = 10, FEW_LEVELS = 20 };

static int counts_rows(const char *name)
{
    static const char *const names[] = {
        "",         "id",        "index",     "idx",        "row",    "rowid",     "row_id",
        "rownames", "row_names", "row.names", "row_number", "rownum", "rownumber", "unnamed: 0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0) return 1;
    return 0;
}

/* x3 */
static int is_made_up(const char *name)
{
    if (!name || name[0] != 'x' || !name[1]) return 0;
    return name[1 + strspn(name + 1, "0123456789")] == '\0';
}

/* The first column of a file whose header has no name for it, and names for all others: R writes row names so. */
static int is_unnamed(const fab_dataset *t, int64_t column)
{
    if (strcmp(t->name[column], "x0") != 0 || is_made_up(t->target_name)) return 0;
    for (int64_t c = 0; c < t->columns; c++)
        if (c != column && is_made_up(t->name[c])) return 0;
    return 1;
}

static int is_sequence(const fab_dataset *t, int64_t c)
{
    const double first = t->x[c];
    if (!(first == floor(first))) return 0;
    for (int64_t i = 1; i < t->n; i++)
        if (t->x[i * t->D + c] != first + (double)i) return 0;
    return 1;
}

/* As many words as rows, nearly?  Those of the rows at hand, of which some are missing. */
static int names_rows(const fab_dataset *t, int64_t c)
{
    const int64_t levels = t->words[c].n;
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) n += !isnan(t->x[i * t->D + c]);
    return n >= LEAST_ROWS && (10 * levels > 9 * n || (levels > FEW_LEVELS && 2 * levels > n));
}

void fab_dataset_keys(const fab_dataset *t, const char *named, char *key)
{
    int64_t left = 0;
    for (int64_t c = 0; c < t->columns; c++) {
        key[c] = FAB_KEY_NONE;
        if (t->packed || t->n < LEAST_ROWS || (named && named[c])) continue;
        if (t->words[c].n) {
            if (names_rows(t, c)) key[c] = FAB_KEY_WORDS;
        } else if (is_sequence(t, c)) {
            const int says_so = counts_rows(t->name[c]) || is_unnamed(t, c);
            key[c] = says_so ? FAB_KEY_NUMBERS : FAB_KEY_REMARK;
        }
    }
    for (int64_t c = 0; c < t->columns; c++)
        left += key[c] == FAB_KEY_NONE || key[c] == FAB_KEY_REMARK;
    if (left) return;
    for (int64_t c = 0; c < t->columns; c++) key[c] = FAB_KEY_NONE; /* nothing else is there */
}
