/* minibatch.c - the rows of a table in random batches, and some held out.
 *
 * SPDX-License-Identifier: MIT */
#include "train/minibatch.h"
#include "base/memory.h"
#include "base/rows.h"
#include "data/columns/split.h"
#include "la/nn.h"
#include <assert.h>
#include <math.h>
#include <string.h>

struct fab_minibatch {
    const fab_examples *all;
    int64_t features, size, rows, held; /* rows to train with; rows held out */
    const fab_nn *nn;                   /* of the type of x in a batch */
    fab_batches *batches;               /* of places in base */
    int64_t *base;     /* rows + held: numbers of rows, those to train with first */
    char *x;           /* size x features */
    double *y, *w, *o; /* size */
};

static void layout(fab_layout *l, void *handle)
{
    fab_minibatch *b = handle;
    b->base = fab_place(l, b->rows + b->held, sizeof *b->base);
    b->x = fab_place(l, b->size * b->features, b->nn->size);
    b->y = fab_place(l, b->size, sizeof *b->y);
    b->w = fab_place(l, b->size, sizeof *b->w);
    b->o = fab_place(l, b->size, sizeof *b->o);
}

/* Which rows are held out. */
static fab_status hold_out(fab_minibatch *b, double part, uint64_t seed)
{
    const int64_t *test;
    fab_split *s;
    for (int64_t i = 0; i < b->rows; i++) b->base[i] = i;
    if (b->held == 0) return FAB_OK;
    FAB_TRY(fab_split_test_for(FAB_PURPOSE_HELD_OUT, &s, b->rows + b->held, part, NULL, seed));
    fab_split_rest(s, 1, b->base);
    fab_split_part(s, 1, &test);
    memcpy(b->base + b->rows, test, (size_t)b->held * sizeof *test);
    fab_split_free(s);
    return FAB_OK;
}

fab_status fab_minibatch_init(fab_minibatch **b, const char *who, const fab_examples *all,
                              fab_dtype type, int64_t features, int64_t size, double held_out,
                              uint64_t seed)
{
    const int64_t n = all->x.n, held = (int64_t)llround(held_out * (double)n);
    *b = NULL;
    if (held >= n)
        return FAB_FAIL(FAB_BAD_DATA, "%s: held_out = %g leaves none of %lld rows to train with",
                        who, held_out, (long long)n);
    const fab_minibatch proto = {.all = all,
                                 .features = features,
                                 .size = size < n - held ? size : n - held,
                                 .rows = n - held,
                                 .held = held,
                                 .nn = fab_nn_find(type)};
    FAB_TRY(fab_build((void **)b, sizeof proto, &proto, layout));
    fab_status s = hold_out(*b, held_out, seed);
    if (s == FAB_OK) s = fab_batches_create(&(*b)->batches, (*b)->rows, (*b)->size, seed);
    if (s == FAB_OK) return FAB_OK;
    fab_minibatch_free(*b);
    *b = NULL;
    return s;
}

void fab_minibatch_free(fab_minibatch *b)
{
    if (!b) return;
    fab_batches_free(b->batches);
    fab_release(b);
}

int64_t fab_minibatch_rows(const fab_minibatch *b)
{
    return b->rows;
}

int64_t fab_minibatch_steps(const fab_minibatch *b)
{
    return fab_batches_per_epoch(b->batches);
}

/* Copy row `from` of the table to place i. */
static void copy_row(fab_minibatch *b, int64_t i, int64_t from)
{
    const fab_examples *e = b->all;
    fab_nn_load(b->nn, &e->x, from, b->features, b->x + (size_t)(i * b->features) * b->nn->size);
    b->y[i] = e->y[from];
    if (e->weight) b->w[i] = e->weight[from];
    if (e->offset) b->o[i] = e->offset[from];
}

static fab_examples copied(const fab_minibatch *b, int64_t n)
{
    return (fab_examples){.x = {b->x, b->nn->type, n, b->features},
                          .y = b->y,
                          .weight = b->all->weight ? b->w : NULL,
                          .offset = b->all->offset ? b->o : NULL};
}

fab_examples fab_minibatch_get(fab_minibatch *b, int64_t epoch, int64_t i)
{
    const int64_t *place = NULL;
    int64_t n = 0;
    assert(epoch >= 0 && i < fab_minibatch_steps(b)); /* the one way to fail */
    (void)fab_batches_get(b->batches, epoch, i, &place, &n);
    for (int64_t j = 0; j < n; j++) copy_row(b, j, b->base[place[j]]);
    return copied(b, n);
}

fab_examples fab_minibatch_held(fab_minibatch *b, int64_t first)
{
    const int64_t left = b->held - first, n = left < b->size ? left : b->size;
    for (int64_t j = 0; j < n; j++) copy_row(b, j, b->base[b->rows + first + j]);
    return copied(b, n > 0 ? n : 0);
}
