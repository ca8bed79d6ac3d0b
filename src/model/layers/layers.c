/* layers.c - the list of layers: one line each; and what their shapes share.
 *
 * SPDX-License-Identifier: MIT */
#include "model/layers/layers.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 1 << 24 }; /* of any width */

static const fab_layer_kind *const list[] = {
    &fab_layer_dense,
    &fab_layer_relu,
    &fab_layer_tanh,
    &fab_layer_sigmoid,
    &fab_layer_conv,
    &fab_layer_pool,
    &fab_layer_flatten,
    &fab_layer_dropout,
    &fab_layer_fork,
    &fab_layer_join,
    NULL, /* the end */
};

const fab_layer_kind *fab_layer_find(const char *name)
{
    for (int i = 0; list[i]; i++)
        if (strcmp(list[i]->name, name) == 0) return list[i];
    return NULL;
}

int64_t fab_layer_names(const char *names[FAB_LAYER_KINDS])
{
    int64_t n = 0;
    for (; n < FAB_LAYER_KINDS && list[n]; n++) names[n] = list[n]->name;
    return n;
}

int64_t fab_shape_size(fab_shape s)
{
    return s.c * s.h * s.w;
}

const char *fab_shape_text(fab_shape s, char text[FAB_SHAPE_TEXT])
{
    if (s.h == 1 && s.w == 1)
        snprintf(text, FAB_SHAPE_TEXT, "%" PRId64, s.c);
    else
        snprintf(text, FAB_SHAPE_TEXT, "%" PRId64 "x%" PRId64 "x%" PRId64, s.c, s.h, s.w);
    return text;
}

fab_status fab_layer_refuse(const fab_layer *l, const char *why)
{
    char in[FAB_SHAPE_TEXT];
    return FAB_FAIL(FAB_BAD_ARGUMENT, "network: layer %lld, %s%s%s, gets %s: %s",
                    (long long)l->number + 1, l->kind->name, *l->args ? ":" : "", l->args,
                    fab_shape_text(l->in, in), why);
}

int64_t fab_layer_number(const char **text)
{
    int64_t n = 0;
    const char *p = *text;
    while (*p >= '0' && *p <= '9' && n <= MOST) n = 10 * n + (*p++ - '0');
    *text = p;
    return n <= MOST ? n : 0;
}

fab_status fab_layer_same(fab_layer *l)
{
    l->out = l->in;
    return FAB_OK;
}
