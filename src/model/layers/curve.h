/* curve.h - what the elementwise activations share: each is one curve, its slope known from its value.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_LAYERS_CURVE_H
#define FAB_MODEL_LAYERS_CURVE_H

#include "model/layers/layers.h"

static inline void fab_curve_forward(fab_activation c, const fab_layer *l, const fab_flow *f)
{
    f->nn->curve(c, f->n * l->outputs, f->in, f->out);
}

static inline void fab_curve_backward(fab_activation c, const fab_layer *l, const fab_flow *f)
{
    if (f->din) f->nn->slope(c, f->n * l->outputs, f->out, f->dout, f->din);
}

#endif
