/* dropout.c - zeros with probability p in training, the rest divided by 1 - p; nothing in prediction.
 *
 * Which numbers stay depends on (seed, layer, step, row, column) alone, so backward finds them again.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/random.h"
#include "model/layers/layers.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256, STREAM = 1000 };

static fab_status shape(fab_layer *l)
{
    char *end;
    l->rate = strtod(l->args, &end);
    if (end == l->args || *end || !(l->rate >= 0 && l->rate < 1))
        return fab_layer_refuse(l, "expected dropout:P with P in [0, 1)");
    return fab_layer_same(l);
}

/* y = x where the number stays, over 1 - p; else 0. */
static void thin(const fab_layer *l, const fab_flow *f, const void *in, void *out)
{
    const int64_t n = f->n * l->outputs;
    const uint64_t first = (uint64_t)f->first * (uint64_t)l->outputs,
                   stream = STREAM + (uint64_t)l->number + ((uint64_t)f->step << 8);
    const double keep = 1 / (1 - l->rate);
    double u[CHUNK];
    for (int64_t i = 0; i < n; i += CHUNK) {
        const int64_t m = n - i < CHUNK ? n - i : CHUNK;
        fab_random_uniform(f->seed, FAB_PURPOSE_DROPOUT, stream, first + (uint64_t)i, m, u);
        for (int64_t j = 0; j < m; j++) u[j] = u[j] < l->rate ? 0 : keep;
        f->nn->scale(m, u, fab_at(f->nn, in, i), fab_at(f->nn, out, i));
    }
}

static void forward(const fab_layer *l, const fab_flow *f)
{
    if (f->step >= 0)
        thin(l, f, f->in, f->out);
    else if (f->out != f->in)
        memcpy(f->out, f->in, (size_t)(f->n * l->outputs) * f->nn->size);
}

static void backward(const fab_layer *l, const fab_flow *f)
{
    if (!f->din) return;
    if (f->step >= 0)
        thin(l, f, f->dout, f->din);
    else if (f->din != f->dout)
        memcpy(f->din, f->dout, (size_t)(f->n * l->outputs) * f->nn->size);
}

const fab_layer_kind fab_layer_dropout = {
    .name = "dropout",
    .usage = "P",
    .elementwise = 1,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
