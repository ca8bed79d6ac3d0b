/* tanh.c - the activation tanh x.
 *
 * SPDX-License-Identifier: MIT */
#include "model/layers/curve.h"

static void forward(const fab_layer *l, const fab_flow *f)
{
    fab_curve_forward(FAB_TANH, l, f);
}

static void backward(const fab_layer *l, const fab_flow *f)
{
    fab_curve_backward(FAB_TANH, l, f);
}

const fab_layer_kind fab_layer_tanh = {
    .name = "tanh",
    .elementwise = 1,
    .keeps = 1,
    .shape = fab_layer_same,
    .forward = forward,
    .backward = backward,
};
