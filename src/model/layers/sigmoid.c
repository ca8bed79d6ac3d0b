/* sigmoid.c - the activation 1/(1 + exp(-x)).
 *
 * SPDX-License-Identifier: MIT */
#include "model/layers/curve.h"

static void forward(const fab_layer *l, const fab_flow *f)
{
    fab_curve_forward(FAB_SIGMOID, l, f);
}

static void backward(const fab_layer *l, const fab_flow *f)
{
    fab_curve_backward(FAB_SIGMOID, l, f);
}

const fab_layer_kind fab_layer_sigmoid = {
    .name = "sigmoid",
    .elementwise = 1,
    .keeps = 1,
    .shape = fab_layer_same,
    .forward = forward,
    .backward = backward,
};
