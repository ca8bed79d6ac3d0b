/* info.c - `fabayes info`: what is in a posterior file.
 *
 * SPDX-License-Identifier: MIT */
#include "linear.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranges over the D coordinates. */
typedef struct summary {
    double mean_lo, mean_hi, sd_lo, sd_hi;
} summary;

static void widen(double x, double *lo, double *hi)
{
    if (x < *lo) *lo = x;
    if (x > *hi) *hi = x;
}

static int summarise(const char *file, const fab_mixture *m, summary *s)
{
    const int64_t D = m->part[0]->D;
    double *moments = malloc(2 * (size_t)D * sizeof *moments); /* D means, D variances */
    if (!moments)
        return say_failed("%s: no memory for the moments of %" PRId64 " coordinates", file, D);
    const fab_status found = fab_mixture_moments(m, NULL, moments, moments + D);
    *s = (summary){INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (int64_t d = 0; found == FAB_OK && d < D; d++) {
        widen(moments[d], &s->mean_lo, &s->mean_hi);
        widen(sqrt(moments[D + d]), &s->sd_lo, &s->sd_hi);
    }
    free(moments);
    return found == FAB_OK ? DONE : say_status_of(file, found);
}

/* |F|^2 over the trace of F F' + diag(psi): how much the factors carry of what the form stores. */
static double share_of_F(const fab_gauss *g)
{
    double in_F = 0, in_psi = 0;
    for (int64_t i = 0; i < g->D * g->K; i++) {
        const double f = g->type == FAB_F32 ? (double)((const float *)g->F)[i]
                                            : ((const double *)g->F)[i];
        in_F += f * f;
    }
    for (int64_t d = 0; d < g->D; d++) in_psi += g->psi[d];
    return in_F / (in_F + in_psi);
}

/* ---- for programs --------------------------------------------------------------------------------- */

/* A metadata string that is the text of a JSON object or array, as that; any other as a string. */
static json_t *json_meta(const char *value)
{
    const char *start = value + strspn(value, " \t\r\n");
    json_t *parsed = *start == '{' || *start == '[' ? json_loads(value, 0, NULL) : NULL;
    return parsed ? parsed : json_text(value);
}

static void put_shape(json_t *j, const fab_gauss *g)
{
    json_put(j, "form", json_text(fab_form_name(g->form)));
    json_put(j, "D", json_integer(g->D));
    json_put(j, "K", json_integer(g->K));
    json_put(j, "dtype", json_text(fab_dtype_name(g->type)));
    if (g->total) json_put(j, "total", json_integer(g->total));
    if (g->form != FAB_POINT) json_put(j, "share_in_F", json_number(share_of_F(g)));
}

static int say_json(const fab_posterior *p, const summary *s, const linear *l)
{
    json_t *j = json_object();
    for (int64_t i = 0; i < fab_tensors_meta_count(p->file); i++) {
        const char *key = fab_tensors_meta_key(p->file, i);
        json_put(j, key, json_meta(fab_tensors_get(p->file, key)));
    }
    put_shape(j, p->mix.part[0]);
    json_put(j, "mean_range", json_range(s->mean_lo, s->mean_hi));
    json_put(j, "sd_range", json_range(s->sd_lo, s->sd_hi));
    if (l->model.D) json_put(j, "coefficients", linear_json(l));
    if (p->mix.n > 1) {
        json_t *parts = json_array();
        for (int64_t i = 0; i < p->mix.n; i++) {
            json_t *part = json_object();
            json_put(part, "weight", json_number(p->mix.weight[i]));
            put_shape(part, p->mix.part[i]);
            json_array_append_new(parts, part);
        }
        json_put(j, "parts", parts);
    }
    return json_say(j);
}

/* ---- for people ----------------------------------------------------------------------------------- */

/* Keys with a name of their own come first; the others follow as they stand in the file. */
// clang-format off
static const struct { const char *key, *label; } labels[] = {
    {"method",   "method"},
    {"settings", "settings"},
    {"model",    "model"},
    {"scaling",  "scaling"},
    {"n",        "rows seen"},
    {"seed",     "seed"},
    {"fabayes",  "written by"},
};
// clang-format on

static int has_label(const char *key)
{
    for (int i = 0; i < COUNT(labels); i++)
        if (strcmp(labels[i].key, key) == 0) return 1;
    return strcmp(key, "form") == 0;
}

/* Long values (a scaling of thousands of columns) are cut; --json has all of them. */
static void print_value(const char *label, const char *value)
{
    enum { SHOWN = 200 };
    const size_t length = strlen(value);
    size_t shown = length > SHOWN ? SHOWN : length;
    while (shown < length && shown > 0 && ((unsigned char)value[shown] & 0xc0) == 0x80) shown--;
    printf("%-14s ", label);
    for (size_t i = 0; i < shown; i++) putchar((unsigned char)value[i] < 0x20 ? ' ' : value[i]);
    if (shown < length) printf("... (%zu bytes; --json shows all)", length);
    putchar('\n');
}

static void print_meta(const fab_tensors *t)
{
    for (int i = 0; i < COUNT(labels); i++) {
        const char *value = fab_tensors_get(t, labels[i].key);
        char with_name[256];
        if (!value) continue;
        snprintf(with_name, sizeof with_name, "fabayes %s", value);
        print_value(labels[i].label, strcmp(labels[i].key, "fabayes") == 0 ? with_name : value);
    }
    for (int64_t i = 0; i < fab_tensors_meta_count(t); i++) {
        const char *key = fab_tensors_meta_key(t, i);
        if (!has_label(key)) print_value(key, fab_tensors_get(t, key));
    }
}

static void print_gauss(const fab_gauss *g)
{
    printf("%s, D = %" PRId64 ", K = %" PRId64 ", %s", fab_form_name(g->form), g->D, g->K,
           fab_dtype_name(g->type));
    if (g->form != FAB_POINT)
        printf(", %.3g %% of the %s in F", 100 * share_of_F(g),
               g->form == FAB_PRECISION ? "precision" : "variance");
    if (g->total) printf(", over part of %" PRId64 " coordinates", g->total);
    putchar('\n');
}

static int say_table(const char *file, const fab_posterior *p, const summary *s, const linear *l)
{
    const fab_mixture *m = &p->mix;
    print_value("file", file);
    if (m->n == 1) {
        printf("%-14s ", "Gaussian");
        print_gauss(m->part[0]);
    } else {
        printf("%-14s %" PRId64 " parts\n", "mixture", m->n);
    }
    for (int64_t i = 0; m->n > 1 && i < m->n; i++) {
        printf("  %-12" PRId64 " weight %.4g: ", i, m->weight[i]);
        print_gauss(m->part[i]);
    }
    printf("%-14s %.4g .. %.4g\n", "mean", s->mean_lo, s->mean_hi);
    printf("%-14s %.4g .. %.4g\n", "sd", s->sd_lo, s->sd_hi);
    print_meta(p->file);
    if (l->model.D) linear_print(l);
    return DONE;
}

static int run(const verb *self, int argc, char **argv)
{
    int64_t json = 0;
    const char *file;
    const option options[] = {OPTION_JSON(&json)};
    const call_shape shape = {options, COUNT(options), &file, 1, 1, NULL, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, NULL, &status)) return status;

    fab_posterior *p = NULL;
    summary s;
    const fab_status loaded = fab_posterior_load(&p, file);
    if (loaded != FAB_OK) return say_status(loaded);
    status = summarise(file, &p->mix, &s);
    linear l = {0};
    if (status == DONE && is_linear(p)) {
        status = linear_take(&l, file, p);
        if (status == DONE) status = linear_coefficients(&l);
    }
    if (status == DONE) status = json ? say_json(p, &s, &l) : say_table(file, p, &s, &l);
    linear_close(&l);
    fab_posterior_free(p);
    return status;
}

const verb verb_info = {"info", "FILE", "what is in it", run};
