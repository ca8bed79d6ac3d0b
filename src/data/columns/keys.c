/* keys.c - columns that name the rows and say nothing of them: row names, numbers of rows, free text.
 *
 * Of the n rows at hand, 10 at least, a column that the call does not name
 *
 *   has words      is left out when its levels are more than 9/10 of the rows that have one, or more than half of them and
 *                  more than 20: most levels are then met once, and fit their row alone
 *   has numbers    all whole, is left out when its name says that it numbers rows and more than 9/10 of them differ.  Any
 *                  other, unless its name tells a time, is remarked when all differ, and it rises by 1 from row to row, or
 *                  some of its numbers would be alike by chance: n numbers drawn evenly from a range of R have n^2 / 2R such
 *                  pairs on average, and without any pair some rule keeps them apart.  10 are asked for; 1, and a range
 *                  of 20 n at most, when the numbers rise or fall all the way.  Nothing is remarked when no other column is
 *                  there, and numbers stay when nothing else would be left
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "data/columns/table.h"
#include "data/source/names.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 10, FEW_LEVELS = 20, MANY_PAIRS = 10, NARROW = 20 };

/* ---- names ----------------------------------------------------------------------------------------- */

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

/* ---- numbers --------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The n numbers of a column that are there. */
typedef struct counter {
    int64_t n;
    int64_t different;  /* of them, when all are whole; 0: not all are, or they are few */
    int by_one, steady; /* each is one more than that before; all rise, or all fall */
    double range;       /* from the least to the largest, both counted */
} counter;

/* x has room for a number of each row. */
static counter look(const fab_dataset *t, int64_t c, double *x)
{
    counter k = {.by_one = 1, .steady = 1};
    for (int64_t i = 0; i < t->n; i++) {
        const double value = t->x[i * t->D + c];
        if (isnan(value)) continue;
        if (value != floor(value)) return k;
        x[k.n] = value;
        if (k.n && value != x[k.n - 1] + 1) k.by_one = 0;
        if (k.n && (value > x[k.n - 1]) != (x[1] > x[0])) k.steady = 0;
        k.n++;
    }
    qsort(x, (size_t)k.n, sizeof *x, compare);
    if (k.n < LEAST_ROWS) return k;
    k.different = 1;
    for (int64_t i = 1; i < k.n; i++) k.different += x[i] != x[i - 1];
    k.range = x[k.n - 1] - x[0] + 1;
    return k;
}

static char key_of_numbers(const fab_dataset *t, int64_t c, double *x)
{
    const counter k = look(t, c, x);
    if (10 * k.different <= 9 * k.n) return FAB_KEY_NONE;
    if (fab_name_numbers_rows(t->name[c]) || is_unnamed(t, c)) return FAB_KEY_NUMBERS;
    if (k.different < k.n || fab_name_tells_time(t->name[c])) return FAB_KEY_NONE;
    const double pairs = (double)k.n * (double)k.n / (2 * k.range);
    const int narrow = k.range <= NARROW * (double)k.n;
    if (k.by_one || pairs >= MANY_PAIRS || (k.steady && narrow && pairs >= 1))
        return FAB_KEY_REMARK;
    return FAB_KEY_NONE;
}

/* ---- words ----------------------------------------------------------------------------------------- */

/* As many words as rows, nearly?  Those of the rows at hand, of which some are missing. */
static int names_rows(const fab_dataset *t, int64_t c)
{
    const int64_t levels = t->words[c].n;
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) n += !isnan(t->x[i * t->D + c]);
    return n >= LEAST_ROWS && (10 * levels > 9 * n || (levels > FEW_LEVELS && 2 * levels > n));
}

/* ---- all columns ----------------------------------------------------------------------------------- */

fab_status fab_dataset_keys(const fab_dataset *t, const char *named, char *key)
{
    double *room;
    int64_t left = 0, plain = 0;
    memset(key, FAB_KEY_NONE, (size_t)t->columns);
    if (t->packed || t->n < LEAST_ROWS) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&room, t->n, sizeof *room, "table"));
    for (int64_t c = 0; c < t->columns; c++) {
        if (named && named[c]) continue;
        if (!t->words[c].n)
            key[c] = key_of_numbers(t, c, room);
        else if (names_rows(t, c))
            key[c] = FAB_KEY_WORDS;
    }
    fab_release(room);
    for (int64_t c = 0; c < t->columns; c++) {
        plain += key[c] == FAB_KEY_NONE;
        left += key[c] == FAB_KEY_NONE || key[c] == FAB_KEY_REMARK;
    }
    for (int64_t c = 0; c < t->columns; c++)
        if (key[c] != FAB_KEY_WORDS && (!left || (!plain && key[c] == FAB_KEY_REMARK)))
            key[c] = FAB_KEY_NONE;
    return FAB_OK;
}
