/* methods.c - `fabayes methods`: the methods, or one method's settings table.
 *
 * SPDX-License-Identifier: MIT */
#include "options.h"
#include "print/output.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The verb that runs it. */
static const char *verb_of(const fab_method *m)
{
    if (fab_method_clusters(m)) return "cluster";
    return fab_method_takes(m) & FAB_TAKES_VECTORS ? "fa" : "fit";
}

/* Who does for networks what m does for linear models; NULL: nobody else. */
static const fab_method *network_of(const fab_method *m)
{
    const fab_method *n = fab_method_of_networks(m);
    return n == m ? NULL : n;
}

/* Is that the same method, with settings of its own? */
static int own_network(const fab_method *m)
{
    const fab_method *n = network_of(m);
    return n && strcmp(fab_method_name(n), fab_method_name(m)) == 0;
}

/* Who does for vectors what m does for a model; NULL: nobody else. */
static const fab_method *vectors_of(const fab_method *m)
{
    const fab_method *v = fab_method_of_vectors(m);
    return v == m ? NULL : v;
}

/* What it takes, of linear models and networks, and asks for when it is driven from outside. */
static int64_t takes_of(const fab_method *m)
{
    const int64_t models = FAB_TAKES_LINEAR | FAB_TAKES_GRADIENT | FAB_TAKES_EXAMPLES |
                           FAB_TAKES_JACOBIAN | FAB_TAKES_KERNEL;
    int64_t takes = fab_method_takes(m);
    if (own_network(m)) takes |= fab_method_takes(network_of(m));
    return takes & models ? takes | FAB_TAKES_WEIGHTS : takes; /* examples always can */
}

static int64_t asks_of(const fab_method *m)
{
    return fab_method_asks(m) | (own_network(m) ? fab_method_asks(network_of(m)) : 0);
}

typedef struct word {
    int64_t bit;
    const char *word, *brief; /* for programs, and in the list */
} word;

static const word takes_words[] = {
    {FAB_TAKES_VECTORS, "vectors", "vectors"},
    {FAB_TAKES_LINEAR, "linear models", "linear"},
    {FAB_TAKES_GRADIENT, "models with a gradient", "gradient"},
    {FAB_TAKES_EXAMPLES, "models with gradients of single examples", "examples"},
    {FAB_TAKES_JACOBIAN, "models with a Jacobian", "jacobian"},
    {FAB_TAKES_KERNEL, "models with a kernel", "kernel"},
    {FAB_TAKES_WEIGHTS, "weights", "weights"},
    {FAB_TAKES_SPARSE, "sparse rows", "sparse"},
    {FAB_TAKES_MISSING, "values missing", "missing"}};

static const word asks_words[] = {{FAB_ASKS_GRADIENT, "gradient", "gradient"},
                                  {FAB_ASKS_EXAMPLES, "examples", "examples"},
                                  {FAB_ASKS_OUTPUTS, "outputs", "outputs and their Jacobian"}};

static json_t *json_words(const word *words, int n, int64_t bits)
{
    json_t *all = json_array();
    for (int i = 0; i < n; i++)
        if (bits & words[i].bit) json_array_append_new(all, json_text(words[i].word));
    return all;
}

/* "vectors, weights, sparse" */
static const char *list_words(const word *words, int n, int64_t bits, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < n && at < size; i++)
        if (bits & words[i].bit)
            at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "", words[i].brief);
    return text;
}

/* The names of the likelihoods that it takes. */
static json_t *json_likelihoods(const fab_method *m)
{
    json_t *all = json_array();
    const int64_t bits = fab_method_likelihoods(m);
    for (int64_t l = 0; l < fab_likelihood_count(); l++)
        if (bits >> l & 1)
            json_array_append_new(all, json_text(fab_likelihood_name((fab_likelihood)l)));
    return all;
}

/* ---- for programs --------------------------------------------------------------------------------- */

static json_t *json_default(const fab_field *f)
{
    char text[64];
    if (f->origin == FAB_ORIGIN_VALUE && f->type == FAB_F64) return json_number(f->value);
    if (f->origin == FAB_ORIGIN_VALUE && f->type == FAB_I64)
        return json_integer((json_int_t)f->value);
    if (f->origin == FAB_ORIGIN_VALUE && f->type == FAB_BOOL) return json_boolean(f->value != 0);
    fab_settings_default_text(f, text, sizeof text); /* "required", "auto", the name of a choice */
    return json_text(text);
}

/* A bound of the range, as a number of the field's type. */
static json_t *json_bound(const fab_field *f, double x)
{
    if (f->type == FAB_BOOL) return json_boolean(x != 0);
    const int whole = f->type == FAB_I64 && x >= -0x1p53 && x <= 0x1p53;
    return whole ? json_integer((json_int_t)x) : json_number(x);
}

/* [lo, hi], or the names of a choice. */
static json_t *json_allowed(const fab_field *f)
{
    json_t *all = json_array();
    if (f->type == FAB_ENUM) {
        for (int i = 0; f->names[i]; i++) json_array_append_new(all, json_text(f->names[i]));
    } else {
        json_array_append_new(all, json_bound(f, f->lo));
        json_array_append_new(all, json_bound(f, f->hi));
    }
    return all;
}

static json_t *json_field(const fab_field *f)
{
    json_t *j = json_object();
    json_put(j, "name", json_text(f->name));
    json_put(j, "type", json_text(fab_dtype_name(f->type)));
    json_put(j, "default", json_default(f));
    json_put(j, "range", json_allowed(f));
    json_put(j, "help", json_text(f->help));
    if (f->tune != FAB_TUNE_NONE) {
        json_put(j, "tune", json_range(f->tune_lo, f->tune_hi));
        json_put(j, "tune_scale", json_text(f->tune == FAB_TUNE_LOG ? "log" : "lin"));
    }
    return j;
}

static json_t *json_settings(const fab_fields *t)
{
    json_t *settings = json_array();
    for (int64_t i = 0; i < t->n; i++) json_array_append_new(settings, json_field(&t->field[i]));
    return settings;
}

static json_t *json_method(const fab_method *m)
{
    json_t *j = json_object();
    json_put(j, "name", json_text(fab_method_name(m)));
    json_put(j, "summary", json_text(fab_method_summary(m)));
    json_put(j, "verb", json_text(verb_of(m)));
    json_put(j, "streams", json_boolean(fab_method_streams(m)));
    const fab_method *v = vectors_of(m);
    json_put(
        j, "takes",
        json_words(takes_words, COUNT(takes_words), takes_of(m) | (v ? FAB_TAKES_VECTORS : 0)));
    json_put(j, "asks", json_words(asks_words, COUNT(asks_words), asks_of(m)));
    if (fab_method_likelihoods(m)) json_put(j, "likelihoods", json_likelihoods(m));
    json_put(j, "settings", json_settings(fab_method_fields(m)));
    const fab_method *n = network_of(m);
    if (n) json_put(j, "network", json_text(fab_method_name(n)));
    if (own_network(m)) json_put(j, "network_likelihoods", json_likelihoods(n));
    if (own_network(m)) json_put(j, "network_settings", json_settings(fab_method_fields(n)));
    if (v) {
        json_put(j, "vector_takes", json_words(takes_words, COUNT(takes_words), takes_of(v)));
        json_put(j, "vector_settings", json_settings(fab_method_fields(v)));
    }
    return j;
}

static int list_json(void)
{
    json_t *j = json_object(), *list = json_array();
    for (int64_t i = 0; i < fab_method_count(); i++)
        json_array_append_new(list, json_method(fab_method_at(i)));
    json_put(j, "methods", list);
    return json_say(j);
}

/* ---- for people ----------------------------------------------------------------------------------- */

static void print_line(const fab_method *m)
{
    char takes[128];
    printf("%-18s %-8s %-4s %-34s %s\n", fab_method_name(m),
           fab_method_streams(m) ? "stream" : "batch", verb_of(m),
           list_words(takes_words, COUNT(takes_words), takes_of(m), takes, sizeof takes),
           fab_method_summary(m));
}

static int list_table(void)
{
    const int64_t n = fab_method_count();
    if (n == 0) {
        printf("no method is built in\n");
        return DONE;
    }
    for (int64_t i = 0; i < n; i++) {
        const fab_method *m = fab_method_at(i), *v = vectors_of(m);
        print_line(m);
        if (v) print_line(v);
    }
    printf("\n`fabayes methods NAME` shows the settings of a method.\n");
    return DONE;
}

static int settings_table(const fab_method *m)
{
    char *text;
    const fab_status s = fab_settings_text(fab_method_fields(m), &text);
    if (s != FAB_OK) return say_status(s);
    printf("%s (%s, %s): %s\n\n%s", fab_method_name(m), verb_of(m),
           fab_method_streams(m) ? "stream" : "batch", fab_method_summary(m), text);
    fab_text_free(text);
    return DONE;
}

static void print_takes(const fab_method *m)
{
    char text[128];
    printf("\ntakes %s\n",
           list_words(takes_words, COUNT(takes_words), takes_of(m), text, sizeof text));
    if (asks_of(m))
        printf("asks, driven from outside, for %s\n",
               list_words(asks_words, COUNT(asks_words), asks_of(m), text, sizeof text));
}

static int one_table(const fab_method *m)
{
    const fab_method *n = network_of(m), *v = vectors_of(m);
    int status = settings_table(m);
    if (status == DONE && own_network(m)) {
        printf("\n");
        status = settings_table(n);
    }
    if (status != DONE) return status;
    print_takes(m);
    if (n && !own_network(m)) printf("\nFor networks it is %s.\n", fab_method_name(n));
    if (!v) return DONE;
    printf("\n");
    status = settings_table(v);
    if (status == DONE) print_takes(v);
    return status;
}

static int unknown(const char *name)
{
    const int64_t n = fab_method_count();
    const char **names = malloc((size_t)(n + 1) * sizeof *names);
    const char *near = NULL;
    if (names) {
        for (int64_t i = 0; i < n; i++) names[i] = fab_method_name(fab_method_at(i));
        near = fab_nearest(name, names, n);
    }
    if (near)
        say_wrong("there is no method '%s'; did you mean '%s'?", name, near);
    else
        say_wrong("there is no method '%s'; `fabayes methods` lists them", name);
    free(names);
    return WRONG;
}

int method_named(const fab_method **m, const char *name)
{
    *m = fab_method_find(name);
    return *m ? DONE : unknown(name);
}

static int run(const verb *self, int argc, char **argv)
{
    int64_t json = 0;
    int given, status;
    const char *name;
    const option options[] = {OPTION_JSON(&json)};
    const call_shape shape = {options, COUNT(options), &name, 0, 1, NULL, NULL, NULL};
    if (!options_parse(self, &shape, argc, argv, &given, &status)) return status;
    if (!given) return json ? list_json() : list_table();

    const fab_method *m = NULL;
    status = method_named(&m, name);
    if (status != DONE) return status;
    return json ? json_say(json_method(m)) : one_table(m);
}

const verb verb_methods = {"methods", "[NAME]", "the methods, or one method's settings table", run};
