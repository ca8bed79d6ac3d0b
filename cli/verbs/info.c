/* info.c - `fabayes info`: what is in a posterior file.
 *
 * SPDX-License-Identifier: MIT */
#include "options.h"
#include "print/coefficients.h"
#include "print/map.h"
#include "print/process.h"
#include "print/stream.h"
#include "print/svm.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- for programs --------------------------------------------------------------------------------- */

/* A metadata string: ours as the number that it says; the text of a JSON object or array as that; any other as a string. */
static json_t *json_meta(const char *key, const char *value)
{
    static const char *const numbers[] = {"n", "seed", "alpha", "read", "weights", "converged"};
    const char *start = value + strspn(value, " \t\r\n");
    json_t *parsed = *start == '{' || *start == '[' ? json_loads(value, 0, NULL) : NULL;
    for (int i = 0; i < COUNT(numbers); i++)
        if (strcmp(key, numbers[i]) == 0) parsed = json_loads(value, JSON_DECODE_ANY, NULL);
    return parsed ? parsed : json_text(value);
}

static void put_shape(json_t *j, const fab_gauss *g)
{
    json_put(j, "form", json_text(fab_form_name(g->form)));
    json_put(j, "D", json_integer(g->D));
    json_put(j, "K", json_integer(g->K));
    json_put(j, "dtype", json_text(fab_dtype_name(g->type)));
    if (g->total) json_put(j, "total", json_integer(g->total));
    if (g->form != FAB_FORM_POINT) json_put(j, "share_in_F", json_number(fab_gauss_share(g)));
}

static int say_json(const fab_posterior *p, const fab_ranges *s, const coefficients *c,
                    fab_regression *process, const fab_stream_scores *stream)
{
    json_t *j = json_object();
    for (int64_t i = 0; i < fab_tensors_meta_count(p->file); i++) {
        const char *key = fab_tensors_meta_key(p->file, i);
        if (strcmp(key, "scores") == 0) continue; /* told as `stream` */
        json_put(j, key, json_meta(key, fab_tensors_get(p->file, key)));
    }
    put_shape(j, p->mix.part[0]);
    json_put(j, "mean_range", json_range(s->mean_lo, s->mean_hi));
    json_put(j, "sd_range", json_range(s->sd_lo, s->sd_hi));
    if (stream) json_put(j, "stream", stream_json(stream));
    if (c->r) map_put(j, c->r);
    if (c->r) json_put(j, "coefficients", coefficients_json(c));
    if (c->r) summary_put(j, &c->summary);
    if (process && process_put(j, process) != DONE) {
        json_decref(j);
        return FAILED;
    }
    if (c->reference) json_put(j, "reference", json_text(c->reference));
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
    return strcmp(key, "form") == 0 || strcmp(key, "scores") == 0 || strcmp(key, "summary") == 0;
}

/* Long values (a scaling of thousands of columns) are cut; --json has all of them. */
static void print_value(const char *label, const char *value)
{
    enum { SHOWN = 200 };
    const size_t length = strlen(value);
    size_t shown = length > SHOWN ? SHOWN : length;
    while (shown < length && shown > 0 && ((unsigned char)value[shown] & 0xc0) == 0x80) shown--;
    printf("%-14s ", one_line(label));
    for (size_t i = 0; i < shown; i++)
        putchar((unsigned char)value[i] < 0x20 || value[i] == 0x7f ? ' ' : value[i]);
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
        const char *value = fab_tensors_get(t, key);
        if (strcmp(key, "converged") == 0)
            print_value(key, strcmp(value, "1") == 0 ? "yes" : "no: it still improved at its end");
        else if (!has_label(key))
            print_value(key, value);
    }
}

static void print_gauss(const fab_gauss *g)
{
    printf("%s, D = %" PRId64 ", K = %" PRId64 ", %s", fab_form_name(g->form), g->D, g->K,
           fab_dtype_name(g->type));
    if (g->form != FAB_FORM_POINT)
        printf(", %.3g %% of the %s in F", 100 * fab_gauss_share(g),
               g->form == FAB_FORM_PRECISION ? "precision" : "variance");
    if (g->total) printf(", over part of %" PRId64 " coordinates", g->total);
    putchar('\n');
}

static int say_table(const char *file, const fab_posterior *p, const fab_ranges *s,
                     const coefficients *c, fab_regression *process,
                     const fab_stream_scores *stream)
{
    const fab_mixture *m = &p->mix;
    print_value("file", file);
    if (m->n == 1) {
        printf("%-14s ", "Gaussian");
        print_gauss(m->part[0]);
    } else {
        printf("%-14s %" PRId64 " parts\n", "mixture", m->n);
        for (int64_t i = 0; i < m->n; i++) {
            printf("  %-12" PRId64 " weight %.4g: ", i, m->weight[i]);
            print_gauss(m->part[i]);
        }
    }
    printf("%-14s %.4g .. %.4g\n", "mean", s->mean_lo, s->mean_hi);
    printf("%-14s %.4g .. %.4g\n", "sd", s->sd_lo, s->sd_hi);
    print_meta(p->file);
    if (c->r && c->summary.dropped)
        printf("%-14s %" PRId64 " rows: a value is missing\n", "left out", c->summary.dropped);
    if (stream) stream_print(stream, "predicted", 14, 0);
    if (c->r) {
        const int status = map_print(c->r);
        if (status != DONE) return status;
        coefficients_print(c);
        next_print(file);
    }
    if (!process) return DONE;
    const int status = process_print(process);
    if (status == DONE) next_print(file);
    return status;
}

static int run(const verb *self, int argc, char **argv)
{
    int64_t json = 0;
    const char *file, *reference = NULL;
    const option options[] = {
        {"reference", 0, OPT_TEXT, &reference, "COLUMN=LEVEL", 0, 0, NULL,
         "coefficients of levels as differences to this one; several, separated by commas; none: "
         "as they are (default: the first level of each column; with --json none)"},
        OPTION_JSON(&json)};
    const call_shape shape = {options, COUNT(options), &file, 1, 1, NULL, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, NULL, &status)) return status;
    if (is_svm(file)) {
        if (reference)
            return say_wrong("info: --reference is for the coefficients of a linear model");
        return svm_info(file, json);
    }

    fab_posterior *p = NULL;
    fab_ranges ranges;
    coefficients c = {0};
    fab_regression *process = NULL;
    fab_stream_scores *stream = NULL;
    fab_status s = fab_posterior_load(&p, file);
    if (s != FAB_OK) return say_status(s);
    s = fab_mixture_ranges(&p->mix, NULL, &ranges);
    status = s == FAB_OK ? DONE : say_status_of(file, s);
    if (status == DONE && reference && !fab_posterior_is_linear(p))
        status = say_wrong("info: --reference is for the coefficients of a linear model");
    if (status == DONE && fab_file_kind(p->file) == FAB_KIND_GP) {
        s = fab_regression_take(&process, file, p, NULL);
        if (s != FAB_OK) status = say_status(s);
    }
    if (status == DONE && fab_posterior_is_linear(p))
        status = coefficients_open(&c, file, p, coefficients_reference(reference, json));
    s = fab_stream_scores_read(&stream, p->file);
    if (status == DONE && s != FAB_OK) status = say_status_of(file, s);
    if (status == DONE)
        status = json ? say_json(p, &ranges, &c, process, stream)
                      : say_table(file, p, &ranges, &c, process, stream);
    fab_regression_free(process);
    coefficients_close(&c);
    fab_stream_scores_free(stream);
    fab_posterior_free(p);
    return status;
}

const verb verb_info = {"info", "FILE", "what is in it", run};
