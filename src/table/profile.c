/* profile.c - what the predictions do when one column moves and the others stay.
 *
 *   1  a row of means and most frequent words, n times
 *   2  for each column of numbers: it moves from mean - 2 sd to mean + 2 sd; predict; how far do the means move?
 *   3  the column of the longest way
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "table/regression.h"
#include <math.h>
#include <string.h>

enum { TRIED = 64 }; /* columns; those behind are not looked at */

typedef struct board {
    const fab_scaling *k;
    int64_t n;
    fab_array *column; /* k->columns */
    double *value;     /* k->columns x n: numbers */
    const char **word; /* k->columns x n */
    double *offset;    /* n zeros */
    fab_arrays rows;
} board;

static void board_free(board *b)
{
    fab_release(b->column);
    fab_release(b->value);
    fab_release(b->word);
    fab_release(b->offset);
}

/* The level of a column of words that most rows have: its feature has the largest mean. */
static int64_t most_frequent(const fab_scaling *k, const fab_column *c)
{
    int64_t best = 0;
    for (int64_t l = 1; l < c->levels; l++)
        if (k->mean[c->first + l] > k->mean[c->first + best]) best = l;
    return best;
}

/* 1 */
static fab_status board_create(board *b, const fab_scaling *k, int64_t n)
{
    *b = (board){.k = k, .n = n};
    FAB_TRY(fab_alloc_array((void **)&b->column, k->columns, sizeof *b->column, "profile"));
    FAB_TRY(fab_alloc_array((void **)&b->value, k->columns * n, sizeof *b->value, "profile"));
    FAB_TRY(fab_alloc_array((void **)&b->word, k->columns * n, sizeof *b->word, "profile"));
    FAB_TRY(fab_alloc_array((void **)&b->offset, n, sizeof *b->offset, "profile"));
    memset(b->offset, 0, (size_t)n * sizeof *b->offset);
    for (int64_t c = 0; c < k->columns; c++) {
        const fab_column *from = &k->column[c];
        double *value = b->value + c * n;
        const char **word = b->word + c * n;
        b->column[c] = (fab_array){.name = from->name};
        if (from->levels) {
            b->column[c].text = word;
            for (int64_t i = 0; i < n; i++) word[i] = from->level[most_frequent(k, from)];
        } else {
            b->column[c].p = value;
            for (int64_t i = 0; i < n; i++) value[i] = k->mean[from->first];
        }
    }
    b->rows = (fab_arrays){.n = n, .column = b->column, .columns = k->columns};
    if (k->offset) b->rows.offset = (fab_array){.name = k->offset, .p = b->offset};
    return FAB_OK;
}

/* How far the means, or the probabilities of any class, move. */
static double way(const fab_predictions *p)
{
    double most = 0;
    const int64_t C = p->classes ? p->classes : 1;
    for (int64_t c = 0; c < C; c++) {
        double lo = INFINITY, hi = -INFINITY;
        for (int64_t i = 0; i < p->n; i++) {
            const double v = p->classes ? fab_predictions_probability(p, i, c) : p->p[i].mean;
            lo = fmin(lo, v);
            hi = fmax(hi, v);
        }
        most = fmax(most, hi - lo);
    }
    return most;
}

static int moves(const fab_scaling *k, int64_t c)
{
    const fab_column *column = &k->column[c];
    return !column->levels && k->scale[column->first] > 0;
}

static void put(board *b, int64_t c)
{
    const int64_t d = b->k->column[c].first;
    for (int64_t i = 0; i < b->n; i++)
        b->value[c * b->n + i] = b->k->mean[d] +
                                 b->k->scale[d] * (4 * (double)i / (double)(b->n - 1) - 2);
}

/* 2, 3 */
static fab_status walk(fab_regression *r, board *b, fab_profile *f)
{
    double longest = -1;
    const fab_data data = {.arrays = &b->rows};
    for (int64_t c = 0, tried = 0; c < b->k->columns && tried < TRIED; c++) {
        if (!moves(b->k, c)) continue;
        fab_predictions *p;
        tried++;
        put(b, c);
        FAB_TRY(fab_regression_predict(r, &data, NULL, &p));
        if (way(p) > longest) {
            longest = way(p);
            f->column = b->k->column[c].name;
            memcpy(f->x, b->value + c * b->n, (size_t)b->n * sizeof *f->x);
            fab_predictions_free(f->p);
            f->p = p;
        } else {
            fab_predictions_free(p);
        }
        for (int64_t i = 0; i < b->n; i++)
            b->value[c * b->n + i] = b->k->mean[b->k->column[c].first];
    }
    return FAB_OK;
}

static fab_status check(const fab_scaling *k)
{
    int numbers = 0, standardised = 0;
    if (k->formula)
        return FAB_FAIL(FAB_UNSUPPORTED, "a formula makes its features, and keeps no mean of the "
                                         "columns that it is made of");
    if (k->sparse) return FAB_FAIL(FAB_UNSUPPORTED, "its features are those of a libsvm file");
    for (int64_t c = 0; c < k->columns; c++) {
        if (!moves(k, c)) continue;
        const int64_t d = k->column[c].first;
        numbers++;
        standardised += k->scale[d] != 1 || k->mean[d] != 0;
    }
    if (!numbers) return FAB_FAIL(FAB_UNSUPPORTED, "no column is of numbers");
    if (!standardised)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "nothing was standardised: the file does not know where its columns lie");
    return FAB_OK;
}

fab_status fab_regression_profile(fab_regression *r, int64_t n, fab_profile **f)
{
    board b;
    fab_profile *new;
    *f = NULL;
    if (n < 2) return FAB_FAIL(FAB_BAD_ARGUMENT, "profile: n = %lld points", (long long)n);
    if (!r->scaling) return FAB_FAIL(FAB_BAD_ARGUMENT, "regression: nothing has been fitted yet");
    const fab_scaling *k = r->scaling->inputs ? r->scaling->inputs : r->scaling;
    FAB_TRY(check(k));
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "profile"));
    *new = (fab_profile){.n = n};
    fab_status s = fab_alloc_array((void **)&new->x, n, sizeof *new->x, "profile");
    if (s == FAB_OK) {
        s = board_create(&b, k, n);
        if (s == FAB_OK) s = walk(r, &b, new);
        board_free(&b);
    }
    if (s == FAB_OK)
        *f = new;
    else
        fab_profile_free(new);
    return s;
}

void fab_profile_free(fab_profile *f)
{
    if (!f) return;
    fab_release(f->x);
    fab_predictions_free(f->p);
    fab_release(f);
}
