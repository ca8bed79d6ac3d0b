/* minibatch.c - the rows of a table in random batches, and some held out.
 *
 * SPDX-License-Identifier: MIT */
#include "infer/minibatch.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/rows.h"
#include "fabayes/random.h"
#include <math.h>

enum { HELD_STREAM = 201, EPOCH_STREAM = 1 << 20 };

struct fab_minibatch {
    const fab_examples *all;
    int64_t features, size, rows, held; /* rows to train with; rows held out */
    size_t bytes;                       /* of a number of x */
    uint64_t seed;
    int64_t epoch;     /* whose order is at hand; -1: none */
    int64_t *base;     /* rows + held: numbers of rows, those to train with first */
    int64_t *order;    /* rows: places in base */
    char *x;           /* size x features */
    double *y, *w, *o; /* size */
};

static void layout(fab_layout *l, void *handle)
{
    fab_minibatch *b = handle;
    b->base = fab_place(l, b->rows + b->held, sizeof *b->base);
    b->order = fab_place(l, b->rows, sizeof *b->order);
    b->x = fab_place(l, b->size * b->features, b->bytes);
    b->y = fab_place(l, b->size, sizeof *b->y);
    b->w = fab_place(l, b->size, sizeof *b->w);
    b->o = fab_place(l, b->size, sizeof *b->o);
}

fab_status fab_minibatch_init(fab_minibatch **b, const char *who, const fab_examples *all,
                              int64_t features, int64_t size, double held_out, uint64_t seed)
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
                                 .bytes = all->x.type == FAB_F32 ? sizeof(float) : sizeof(double),
                                 .seed = seed,
                                 .epoch = -1};
    FAB_TRY(fab_build((void **)b, sizeof proto, &proto, layout));
    for (int64_t i = 0; i < n; i++) (*b)->base[i] = i;
    if (held) fab_random_shuffle(seed, HELD_STREAM, n, (*b)->base);
    return FAB_OK;
}

void fab_minibatch_free(fab_minibatch *b)
{
    fab_release(b);
}

int64_t fab_minibatch_rows(const fab_minibatch *b)
{
    return b->rows;
}

int64_t fab_minibatch_steps(const fab_minibatch *b)
{
    return (b->rows + b->size - 1) / b->size;
}

/* Copy row `from` of the table to place i. */
static void copy_row(fab_minibatch *b, int64_t i, int64_t from)
{
    const fab_examples *e = b->all;
    fab_rows_copy(&e->x, from, b->features, b->x + (size_t)(i * b->features) * b->bytes);
    b->y[i] = e->y[from];
    if (e->weight) b->w[i] = e->weight[from];
    if (e->offset) b->o[i] = e->offset[from];
}

static fab_examples copied(const fab_minibatch *b, int64_t n)
{
    return (fab_examples){.x = {b->x, b->all->x.type, n, b->features},
                          .y = b->y,
                          .weight = b->all->weight ? b->w : NULL,
                          .offset = b->all->offset ? b->o : NULL};
}

fab_examples fab_minibatch_get(fab_minibatch *b, int64_t epoch, int64_t i)
{
    const int64_t first = i * b->size, left = b->rows - first, n = left < b->size ? left : b->size;
    if (epoch != b->epoch)
        fab_random_shuffle(b->seed, EPOCH_STREAM + (uint64_t)epoch, b->rows, b->order);
    b->epoch = epoch;
    for (int64_t j = 0; j < n; j++) copy_row(b, j, b->base[b->order[first + j]]);
    return copied(b, n);
}

fab_examples fab_minibatch_held(fab_minibatch *b, int64_t first)
{
    const int64_t left = b->held - first, n = left < b->size ? left : b->size;
    for (int64_t j = 0; j < n; j++) copy_row(b, j, b->base[b->rows + first + j]);
    return copied(b, n > 0 ? n : 0);
}
