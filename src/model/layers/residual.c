/* residual.c - residual(...): the layers inside, plus their input.
 *
 * In the chain it is two layers, `residual(` where the way forks and `)` where both ways join:
 *
 *   forward    fork: nothing            join: out = in + what the fork saw
 *   backward   join: din = dout         fork: din = dout + the join's dout
 *
 * SPDX-License-Identifier: MIT */
#include "model/layers/layers.h"
#include <string.h>

static void nothing(const fab_layer *l, const fab_flow *f)
{
    (void)l;
    (void)f;
}

static void fork_backward(const fab_layer *l, const fab_flow *f)
{
    if (f->din) f->nn->add(f->n * l->outputs, f->side, f->din); /* in place of dout */
}

static void join_forward(const fab_layer *l, const fab_flow *f)
{
    memcpy(f->out, f->in, (size_t)(f->n * l->outputs) * f->nn->size);
    f->nn->add(f->n * l->outputs, f->side, f->out);
}

static void join_backward(const fab_layer *l, const fab_flow *f)
{
    if (f->din) memcpy(f->din, f->dout, (size_t)(f->n * l->outputs) * f->nn->size);
}

const fab_layer_kind fab_layer_fork = {
    .name = "residual(",
    .identity = 1,
    .keeps = 1,
    .shape = fab_layer_same,
    .forward = nothing,
    .backward = fork_backward,
};

const fab_layer_kind fab_layer_join = {
    .name = ")",
    .shape = fab_layer_same,
    .forward = join_forward,
    .backward = join_backward,
};
