/* pool.c - every square of side x side becomes one number: its largest, or its mean.
 *
 * Squares do not overlap; rows and columns left over at the end are not seen.  The gradient of the largest goes
 * to the first place that has it.
 *
 * SPDX-License-Identifier: MIT */
#include "model/layers/layers.h"
#include <string.h>

static fab_status shape(fab_layer *l)
{
    const char *p = l->args;
    const int64_t side = fab_layer_number(&p);
    l->mean = strcmp(p, ":mean") == 0;
    if (side < 1 || (*p && !l->mean && strcmp(p, ":max") != 0))
        return fab_layer_refuse(l, "expected pool:SIDE or pool:SIDE:mean");
    if (side > l->in.h || side > l->in.w)
        return fab_layer_refuse(l, "the square is larger than the image");
    l->out = (fab_shape){l->in.c, l->in.h / side, l->in.w / side};
    l->window = (fab_window){l->in.c, l->in.h, l->in.w, side, 0, l->out.h, l->out.w};
    return FAB_OK;
}

static void forward(const fab_layer *l, const fab_flow *f)
{
    for (int64_t i = 0; i < f->n; i++)
        f->nn->pool(&l->window, l->mean, fab_at(f->nn, f->in, i * l->inputs),
                    fab_at(f->nn, f->out, i * l->outputs));
}

static void backward(const fab_layer *l, const fab_flow *f)
{
    const fab_nn *nn = f->nn;
    if (!f->din) return;
    for (int64_t i = 0; i < f->n; i++)
        nn->unpool(&l->window, l->mean, fab_at(nn, f->in, i * l->inputs),
                   fab_at(nn, f->dout, i * l->outputs), fab_at(nn, f->din, i * l->inputs));
}

const fab_layer_kind fab_layer_pool = {
    .name = "pool",
    .usage = "SIDE[:mean]",
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
