/* text.c - the grammar of layers (net.h): from text to a chain of shapes, and back.
 *
 *     text    = "linear" | "mlp:" width {"," width} [":" curve] | [input ","] item {"," item}
 *     input   = "input:" c "x" h "x" w
 *     item    = layer [":" arguments] | "residual(" item {"," item} ")"
 *
 * SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "base/settings.h"
#include "model/net/state.h"
#include <stdio.h>
#include <string.h>

/* What is left of the text, and the residuals that are open. */
typedef struct reader {
    fab_net *net;
    const char *p;
    int64_t open[FAB_NET_LAYERS], depth;
} reader;

/* ---- the chain ---------------------------------------------------------------------------------------- */

static fab_shape last_shape(const fab_net *net)
{
    return net->L ? net->layer[net->L - 1].out : net->input;
}

/* Append a layer and let it find its shapes. */
static fab_status append(fab_net *net, const fab_layer_kind *kind, const char *args, size_t length)
{
    if (net->L == FAB_NET_LAYERS)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "network: more than %d layers", FAB_NET_LAYERS);
    fab_layer *l = &net->layer[net->L];
    *l = (fab_layer){.kind = kind, .in = last_shape(net), .number = net->L};
    if (length >= sizeof l->args)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "network: '%.40s..' are no arguments of %s", args,
                        kind->name);
    memcpy(l->args, args, length);
    l->inputs = fab_shape_size(l->in);
    if (!kind->usage && length > 0) return fab_layer_refuse(l, "expected no arguments");
    FAB_TRY(kind->shape(l));
    l->outputs = fab_shape_size(l->out);
    if (l->params > (int64_t)1 << 40 || l->outputs > (int64_t)1 << 32)
        return fab_layer_refuse(l, "the layer is too large");
    net->L++;
    return FAB_OK;
}

static fab_status append_dense(fab_net *net, int64_t width)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)width);
    return append(net, &fab_layer_dense, text, strlen(text));
}

/* ---- mlp and linear ----------------------------------------------------------------------------------- */

static fab_status bad_mlp(const char *text)
{
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "network: '%.60s': expected mlp:WIDTH,WIDTH,.. and perhaps :relu, :tanh or "
                    ":sigmoid",
                    text);
}

static fab_status parse_mlp(fab_net *net, const char *text)
{
    const char *widths = text + strlen("mlp:"), *colon = strchr(widths, ':'), *p = widths;
    const fab_layer_kind *curve = colon ? fab_layer_find(colon + 1) : &fab_layer_relu;
    if (!curve || !curve->elementwise || curve->usage) return bad_mlp(text);
    for (;; p++) {
        const int64_t width = fab_layer_number(&p);
        if (width < 1 || (*p && *p != ',' && p != colon)) return bad_mlp(text);
        FAB_TRY(append_dense(net, width));
        FAB_TRY(append(net, curve, "", 0));
        if (*p != ',') return FAB_OK;
    }
}

/* ---- lists -------------------------------------------------------------------------------------------- */

static fab_status unknown_layer(const char *name)
{
    const char *names[FAB_LAYER_KINDS];
    const int64_t n = fab_layer_names(names);
    return fab_prefix(fab_no_such(FAB_BAD_ARGUMENT, "layer", name, names, n,
                                  "; expected mlp:50 or a list such as dense:50,relu"),
                      "network: ");
}

static fab_status open_residual(reader *r)
{
    r->p += strlen(fab_layer_fork.name);
    FAB_TRY(append(r->net, &fab_layer_fork, "", 0));
    r->open[r->depth++] = r->net->L - 1;
    return FAB_OK;
}

static fab_status close_residual(reader *r)
{
    char before[FAB_SHAPE_TEXT], after[FAB_SHAPE_TEXT];
    if (r->depth == 0) return FAB_FAIL(FAB_BAD_ARGUMENT, "network: a ) closes no residual(");
    const int64_t fork = r->open[--r->depth], join = r->net->L;
    r->p++;
    FAB_TRY(append(r->net, &fab_layer_join, "", 0));
    r->net->layer[fork].partner = join;
    r->net->layer[join].partner = fork;
    const fab_shape a = r->net->layer[fork].out, b = r->net->layer[join].in;
    if (a.c == b.c && a.h == b.h && a.w == b.w) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "network: layer %lld, residual(..), gets %s and makes %s of it: it must keep "
                    "the shape",
                    (long long)fork + 1, fab_shape_text(a, before), fab_shape_text(b, after));
}

/* One layer with its arguments, up to a comma or a bracket. */
static fab_status parse_layer(reader *r)
{
    char name[24];
    const size_t length = strcspn(r->p, ",()"), word = strcspn(r->p, ":,()");
    const size_t args = length > word ? word + 1 : word;
    snprintf(name, sizeof name, "%.*s", (int)(word < sizeof name ? word : sizeof name - 1), r->p);
    const fab_layer_kind *kind = fab_layer_find(name);
    if (!kind || kind == &fab_layer_join) return unknown_layer(name);
    FAB_TRY(append(r->net, kind, r->p + args, length - args));
    r->p += length;
    return FAB_OK;
}

static fab_status parse_list(reader *r)
{
    while (*r->p) {
        if (strncmp(r->p, fab_layer_fork.name, strlen(fab_layer_fork.name)) == 0) {
            FAB_TRY(open_residual(r));
            continue;
        }
        FAB_TRY(parse_layer(r));
        while (*r->p == ')') FAB_TRY(close_residual(r));
        if (*r->p == ',' && r->p[1])
            r->p++;
        else if (*r->p)
            return FAB_FAIL(FAB_BAD_ARGUMENT, "network: expected a comma or the end at '%.40s'",
                            r->p);
    }
    if (r->depth)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "network: residual( of layer %lld is not closed",
                        (long long)r->open[r->depth - 1] + 1);
    return FAB_OK;
}

/* "input:1x28x28," in front of the layers. */
static fab_status parse_input(reader *r)
{
    static const char word[] = "input:";
    fab_shape s = {0, 1, 1};
    if (strncmp(r->p, word, sizeof word - 1) != 0) return FAB_OK;
    const char *p = r->p + sizeof word - 1;
    s.c = fab_layer_number(&p);
    if (*p == 'x') p++, s.h = fab_layer_number(&p);
    if (*p == 'x') p++, s.w = fab_layer_number(&p);
    if (*p != ',' || !p[1] || s.c < 1 || s.h < 1 || s.w < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "network: '%.40s': expected input:CHANNELSxHEIGHTxWIDTH and layers", r->p);
    if ((double)s.c * (double)s.h * (double)s.w != (double)r->net->model.head.D)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "network: input:%lldx%lldx%lld has %lld numbers, a row has %lld",
                        (long long)s.c, (long long)s.h, (long long)s.w,
                        (long long)fab_shape_size(s), (long long)r->net->model.head.D);
    r->net->input = s;
    r->net->has_input = 1;
    r->p = p + 1;
    return FAB_OK;
}

/* No layer has control characters, and no sentence shall repeat them. */
static fab_status check_text(const char *text)
{
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "network: byte %lld of its layers is the control character 0x%02x",
                            (long long)(p - text), (unsigned)*p);
    return FAB_OK;
}

fab_status fab_net_parse(fab_net *net, const char *text)
{
    reader *r;
    net->input = (fab_shape){net->model.head.D, 1, 1};
    if (!text || !*text)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "network: no layers are given; linear has none");
    FAB_TRY(check_text(text));
    if (strncmp(text, "mlp:", 4) == 0) {
        FAB_TRY(parse_mlp(net, text));
    } else if (strcmp(text, "linear") != 0) {
        FAB_TRY(fab_alloc_array((void **)&r, 1, sizeof *r, "network"));
        *r = (reader){.net = net, .p = text};
        fab_status s = parse_input(r);
        if (s == FAB_OK) s = parse_list(r);
        fab_release(r);
        FAB_TRY(s);
    }
    return append_dense(net, net->model.outputs);
}

/* ---- back to text ------------------------------------------------------------------------------------- */

fab_status fab_net_text(const fab_net *net, char **text)
{
    fab_text t = {0};
    char shape[FAB_SHAPE_TEXT];
    if (net->has_input) fab_text_add(&t, "input:%s", fab_shape_text(net->input, shape));
    for (int64_t i = 0; i < net->L; i++) {
        const fab_layer *l = &net->layer[i];
        const int inside = i > 0 && net->layer[i - 1].kind == &fab_layer_fork;
        const int first = i == 0 && !net->has_input;
        if (!first && !inside && l->kind != &fab_layer_join) fab_text_add(&t, ",");
        fab_text_add(&t, "%s%s%s", l->kind->name, *l->args ? ":" : "", l->args);
    }
    return fab_text_give(&t, text);
}
