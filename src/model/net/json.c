/* json.c - a network as the JSON object that stands in a file, and back.
 *
 * SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/text.h"
#include "fabayes/settings.h"
#include "model/net/state.h"
#include <math.h>
#include <string.h>

/* ---- out ---------------------------------------------------------------------------------------------- */

static void add_layer(fab_text *t, const fab_layer *l)
{
    char in[FAB_SHAPE_TEXT], out[FAB_SHAPE_TEXT];
    fab_text_add(t, "{\"layer\": \"%s%s%s\", \"in\": \"%s\", \"out\": \"%s\", ", l->kind->name,
                 *l->args ? ":" : "", l->args, fab_shape_text(l->in, in),
                 fab_shape_text(l->out, out));
    fab_text_add(t, "\"offset\": %lld, \"parameters\": %lld}", (long long)l->at,
                 (long long)l->params);
}

/* What few networks have. */
static void add_rare(fab_text *t, const fab_net *net)
{
    const fab_glm *g = &net->model.head;
    char number[32];
    if (net->nn->type != FAB_F64)
        fab_text_add(t, "\"dtype\": \"%s\", ", fab_dtype_name(net->nn->type));
    if (g->nu > 0) {
        fab_print_double(number, sizeof number, g->nu);
        fab_text_add(t, "\"nu\": %s, ", number);
    }
    if (g->beta_most > 0) {
        fab_print_double(number, sizeof number, 1 / sqrt(g->beta_most));
        fab_text_add(t, "\"floor\": %s, ", number);
    }
}

fab_status fab_net_json(const fab_net *net, char **text)
{
    const fab_glm *g = &net->model.head;
    fab_text t = {0};
    char beta[32], shape[FAB_SHAPE_TEXT];
    fab_print_double(beta, sizeof beta, g->beta);
    fab_text_add(&t, "{\"kind\": \"network\", \"likelihood\": \"%s\", \"features\": %lld, ",
                 fab_likelihood_name(g->likelihood), (long long)g->D);
    fab_text_add(&t, "\"classes\": %lld, \"noise\": \"%s\", \"beta\": %s, ", (long long)g->classes,
                 fab_noise_name(net->noise), beta);
    add_rare(&t, net);
    fab_text_add(&t, "\"parameters\": %lld, ", (long long)net->model.D);
    if (net->has_input) fab_text_add(&t, "\"input\": \"%s\", ", fab_shape_text(net->input, shape));
    fab_text_add(&t, "\"layers\": [");
    for (int64_t i = 0; i < net->L; i++) {
        if (i) fab_text_add(&t, ", ");
        add_layer(&t, &net->layer[i]);
    }
    fab_text_add(&t, "]}");
    return fab_text_give(&t, text);
}

/* ---- in ----------------------------------------------------------------------------------------------- */

/* The layers as text, without the output layer, which follows from the likelihood. */
static fab_status read_layers(json_t *o, char **text)
{
    fab_text t = {0};
    json_t *layers = json_object_get(o, "layers");
    const size_t n = json_array_size(layers);
    const char *input = json_string_value(json_object_get(o, "input")), *before = input ? "" : NULL;
    if (input) fab_text_add(&t, "input:%s", input);
    for (size_t i = 0; i + 1 < n; i++) {
        const char *s = json_string_value(json_object_get(json_array_get(layers, i), "layer"));
        const int comma = before && s && strcmp(before, fab_layer_fork.name) != 0 &&
                          strcmp(s, fab_layer_join.name) != 0;
        fab_text_add(&t, "%s%s", comma ? "," : "", s ? s : "?");
        before = s;
    }
    if (n == 1) fab_text_add(&t, "linear");
    if (n == 0) fab_text_add(&t, "?");
    return fab_text_give(&t, text);
}

static fab_status read_plan(json_t *o, fab_net_plan *p)
{
    const char *kind = json_string_value(json_object_get(o, "kind"));
    if (!kind || strcmp(kind, "network") != 0)
        return FAB_FAIL(FAB_BAD_FILE, "model: its kind is not 'network'");
    if (fab_likelihood_find(json_string_value(json_object_get(o, "likelihood")), &p->likelihood) !=
            FAB_OK ||
        fab_noise_find(json_string_value(json_object_get(o, "noise")), &p->noise) != FAB_OK)
        return FAB_FAIL(FAB_BAD_FILE, "model: the likelihood or the noise is not known");
    p->features = json_integer_value(json_object_get(o, "features"));
    p->classes = json_integer_value(json_object_get(o, "classes"));
    p->beta = json_number_value(json_object_get(o, "beta"));
    p->nu = json_number_value(json_object_get(o, "nu"));
    p->floor = json_number_value(json_object_get(o, "floor"));
    return FAB_OK;
}

/* The precision it was made in, unless the caller says another. */
static fab_status read_type(json_t *o, fab_exec *x)
{
    const json_t *type = json_object_get(o, "dtype");
    if (!type) return FAB_OK;
    const char *name = json_string_value(type);
    if (!name || strcmp(name, fab_dtype_name(FAB_F32)) != 0)
        return FAB_FAIL(FAB_BAD_FILE, "model: its dtype is '%s', and only f32 is written down",
                        name ? name : "no text");
    if (!x->ops) x->ops = fab_ops_find("cpu", FAB_F32);
    return FAB_OK;
}

/* Build it, if theta is as long as the file says. */
static fab_status build(fab_net **net, json_t *o, fab_net_plan *p, const fab_exec *x)
{
    fab_exec exec = x ? *x : (fab_exec){0};
    char *text;
    FAB_TRY(read_type(o, &exec));
    const int64_t D = json_integer_value(json_object_get(o, "parameters"));
    if (D < 1) return FAB_FAIL(FAB_BAD_FILE, "model: it does not say how many parameters it has");
    FAB_TRY(read_layers(o, &text));
    p->layers = text;
    const fab_status s = fab_net_init_sized(net, p, D, &exec);
    fab_text_free(text);
    return s == FAB_BAD_ARGUMENT ? FAB_BAD_FILE : s;
}

fab_status fab_net_from_json(fab_net **net, const char *json, int64_t batch, const fab_exec *x)
{
    fab_net_plan p = {.batch = batch};
    json_t *o;
    *net = NULL;
    FAB_TRY(fab_json_read_string(&o, "model", json));
    fab_status s = read_plan(o, &p);
    if (s == FAB_OK) s = build(net, o, &p, x);
    json_decref(o);
    return s;
}
