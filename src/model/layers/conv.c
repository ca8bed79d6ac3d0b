/* conv.c - a convolution: filters of side x side over every window of an image.
 *
 * Its parameters are filters x (channels side^2), row-major, then the biases.  With C_i the windows of image i,
 * one column each (la/nn_image.h), and P of them:
 *
 *   1  forward     Z_i = W C_i + b 1'             filters x P
 *   2  backward    dC_i = W' dZ_i, and every window's share goes back to its place in the image
 *   3  gradient    dW = sum_i dZ_i C_i', db = sum over windows: one example after the other into `partial`
 *   4  rows        the terms of 3
 *
 * C_i is made again in 3: memory is what a larger network runs out of first.
 *
 * SPDX-License-Identifier: MIT */
#include "model/layers/layers.h"
#include <string.h>

static fab_status shape(fab_layer *l)
{
    static const char *const usage = "expected conv:FILTERSxSIDE or conv:FILTERSxSIDE:same";
    const char *p = l->args;
    const int64_t filters = fab_layer_number(&p), x = *p == 'x',
                  side = x ? (p++, fab_layer_number(&p)) : 0;
    const int same = strcmp(p, ":same") == 0;
    if (filters < 1 || side < 1 || (*p && !same)) return fab_layer_refuse(l, usage);
    if (same && side % 2 == 0) return fab_layer_refuse(l, "same needs an odd side");
    const int64_t pad = same ? side / 2 : 0;
    if (side > l->in.h + 2 * pad || side > l->in.w + 2 * pad)
        return fab_layer_refuse(l, "the filter is larger than the image");
    const int64_t oh = l->in.h + 2 * pad - side + 1, ow = l->in.w + 2 * pad - side + 1;
    l->window = (fab_window){l->in.c, l->in.h, l->in.w, side, pad, oh, ow};
    l->out = (fab_shape){filters, oh, ow};
    l->fan_in = l->in.c * side * side;
    l->fan_out = filters * side * side;
    l->biases = filters;
    l->params = filters * (l->fan_in + 1);
    l->scratch = 2 * l->fan_in * oh * ow;
    return FAB_OK;
}

/* 1 */
static void forward(const fab_layer *l, const fab_flow *f)
{
    const fab_nn *nn = f->nn;
    const int64_t F = l->out.c, P = l->out.h * l->out.w, K = l->fan_in;
    for (int64_t i = 0; i < f->n; i++) {
        void *Z = fab_at(nn, f->out, i * l->outputs);
        nn->windows(&l->window, fab_at(nn, f->in, i * l->inputs), f->scratch);
        nn->fill_rows(F, P, fab_at(nn, f->theta, F * K), Z);
        fab_nn_product(
            nn, &(fab_product){FAB_N, FAB_N, F, P, K, f->theta, K, f->scratch, P, NULL, 1, Z, P});
    }
}

/* 3, of one example: added to g, or put there. */
static void gradient_of(const fab_layer *l, const fab_flow *f, int64_t i, int add, void *g)
{
    const fab_nn *nn = f->nn;
    const int64_t F = l->out.c, P = l->out.h * l->out.w, K = l->fan_in;
    const void *dZ = fab_at(nn, f->dout, i * l->outputs);
    nn->windows(&l->window, fab_at(nn, f->in, i * l->inputs), f->scratch);
    fab_nn_product(nn,
                   &(fab_product){FAB_N, FAB_T, F, K, P, dZ, P, f->scratch, P, NULL, add, g, K});
    nn->row_sums(F, P, dZ, add, fab_at(nn, g, F * K));
}

/* 2, and 3 where it is wanted */
static void backward(const fab_layer *l, const fab_flow *f)
{
    const fab_nn *nn = f->nn;
    const int64_t F = l->out.c, P = l->out.h * l->out.w, K = l->fan_in;
    void *dC = fab_at(nn, f->scratch, K * P);
    for (int64_t i = 0; i < f->n; i++) {
        if (f->partial) gradient_of(l, f, i, i > 0, f->partial);
        if (!f->din) continue;
        fab_nn_product(nn, &(fab_product){FAB_T, FAB_N, K, P, F, f->theta, K,
                                          fab_at(nn, f->dout, i * l->outputs), P, NULL, 0, dC, P});
        nn->back(&l->window, dC, fab_at(nn, f->din, i * l->inputs));
    }
}

/* 4 */
static void rows(const fab_layer *l, const fab_flow *f, void *G, int64_t ld)
{
    for (int64_t i = 0; i < f->n; i++) gradient_of(l, f, i, 0, fab_at(f->nn, G, i * ld));
}

const fab_layer_kind fab_layer_conv = {
    .name = "conv",
    .usage = "FILTERSxSIDE[:same]",
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .rows = rows,
};
