/* learned.c - what a regression says when it is made.
 *
 * SPDX-License-Identifier: MIT */
#include "print/learned.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 10 }; /* columns that hardly vary, named for a person */

/* ---- for programs ------------------------------------------------------------------------------------ */

static json_t *json_settings(fab_regression *r)
{
    char *text = NULL;
    if (fab_regression_settings_json(r, &text) != FAB_OK) return json_null();
    json_t *j = json_loads(text, 0, NULL);
    fab_text_free(text);
    return j ? j : json_null();
}

/* A network in its own words. */
static void put_net(json_t *j, const fab_regression *r, const fab_table_report *f)
{
    char *text = NULL;
    if (!f->parameters || fab_regression_layers(r, &text) != FAB_OK) return;
    json_put(j, "model", json_text(text));
    json_put(j, "parameters", json_integer(f->parameters));
    json_put(j, "held_out", json_number(f->fit.held_out));
    json_put(j, "noise_floor", f->floor > 0 ? json_number(f->floor) : json_null());
    json_put(j, "noise_density", f->density != 0 ? json_number(f->density) : json_null());
    fab_text_free(text);
}

int learned_json(fab_regression *r, const char *output, double start)
{
    fab_table_report f;
    const fab_status s = fab_regression_report(r, &f);
    if (s != FAB_OK) return say_status(s);
    const double seconds = fab_clock() - start;
    json_t *j = json_object(), *names = json_array();
    progress_close();
    for (int64_t i = 0; i < f.constants; i++)
        json_array_append_new(names, json_text(f.constant[i]));
    json_put(j, "method", json_text(f.method));
    json_put(j, "settings", json_settings(r));
    json_put(j, "likelihood", json_text(f.likelihood));
    json_put(j, "guessed", json_boolean(f.guessed));
    json_put(j, "target", json_text(fab_regression_scaling(r)->target));
    json_put(j, "D", json_integer(f.D));
    json_put(j, "K", json_integer(f.K));
    json_put(j, "n", json_integer(f.fit.n));
    json_put(j, "rows", json_integer(f.rows));
    json_put(j, "dropped", json_integer(f.dropped));
    json_put(j, "order", f.order ? json_text(f.order) : json_null());
    json_put(j, "alpha", json_number(f.fit.alpha));
    json_put(j, "beta", json_number(f.fit.beta));
    json_put(j, "log_evidence", json_number(f.fit.log_evidence));
    json_put(j, "loglik_mean", json_number(f.loglik_mean));
    put_net(j, r, &f);
    json_put(j, "floored", json_integer(f.fit.floored));
    json_put(j, "iterations", json_integer(f.fit.iterations));
    json_put(j, "converged", f.fit.converged < 0 ? json_null() : json_boolean(f.fit.converged));
    json_put(j, "constant_names", names);
    json_put(j, "output", output ? json_text(output) : json_null());
    json_put(j, "bytes", json_number(f.bytes));
    json_put(j, "seconds", json_number(seconds));
    json_put(j, "rows_per_s", json_number((double)f.rows / seconds));
    return json_say(j);
}

/* ---- for people -------------------------------------------------------------------------------------- */

static void print_net(const fab_regression *r, const fab_table_report *f)
{
    char *text = NULL;
    if (!f->parameters || fab_regression_layers(r, &text) != FAB_OK) return;
    printf("%s: %" PRId64 " parameters, %" PRId64 " epochs", text, f->parameters,
           f->fit.iterations);
    if (is_finite(f->fit.held_out)) printf(", held-out loss %.5g", f->fit.held_out);
    printf("\n");
    if (f->density != 0)
        printf("noise at least %.5g: rows left out have a mean log density of %.5g\n", f->floor,
               f->density);
    fab_text_free(text);
}

/* Settings that were auto, as the method chose them for the model. */
static void print_chosen(fab_regression *r)
{
    const fab_fields *t = fab_method_fields(fab_regression_method(r));
    const void *given = fab_regression_settings(r), *chosen = fab_regression_chosen(r);
    const char *lead = "chosen: ";
    for (int64_t i = 0; i < t->n; i++) {
        char was[64], is[64];
        fab_settings_print(&t->field[i], given, was, sizeof was);
        fab_settings_print(&t->field[i], chosen, is, sizeof is);
        if (strcmp(was, is) == 0) continue;
        printf("%s%s = %s", lead, t->field[i].name, is);
        lead = ", ";
    }
    if (lead[0] == ',') printf("\n");
}

static int is_number(const char *word)
{
    char *end;
    strtod(word, &end);
    return end > word && *end == '\0';
}

/* A word among numbers is more often a slip than a category. */
static void print_words(const fab_dataset *t)
{
    for (int64_t c = 0; c < t->columns; c++) {
        const fab_words *w = &t->words[c];
        const char *odd = NULL;
        int64_t numbers = 0;
        for (int64_t i = 0; i < w->n; i++) {
            const int number = is_number(w->word[i]);
            numbers += number;
            if (!number && !odd) odd = w->word[i];
        }
        if (odd && 2 * numbers > w->n)
            printf("'%s' is read as words, one feature each, because '%s' is not a number\n",
                   t->name[c], odd);
    }
}

static void print_numbers(const fab_table_report *f)
{
    if (f->fit.alpha > 0) printf("alpha = %.4g, ", f->fit.alpha);
    if (strcmp(f->likelihood, "gaussian") == 0) printf("beta = %.4g, ", f->fit.beta);
    if (is_finite(f->fit.log_evidence)) printf("log evidence = %.6g, ", f->fit.log_evidence);
    printf("in fitting units");
    if (is_finite(f->loglik_mean)) printf("; log-likelihood per row = %.6g", f->loglik_mean);
    printf("\n");
}

int learned_print(fab_regression *r, int64_t quiet, double start)
{
    const char *target = fab_regression_scaling(r)->target;
    fab_table_report f;
    const fab_status s = fab_regression_report(r, &f);
    if (s != FAB_OK) return say_status(s);
    const double seconds = fab_clock() - start;
    progress_close();
    if (quiet) return DONE;
    printf("%s of '%s' (%s%s) on %" PRId64 " features, %" PRId64 " rows, %.3g s\n", f.method,
           target, f.likelihood, f.guessed ? ", guessed from its values" : "", f.D, f.fit.n,
           seconds);
    print_net(r, &f);
    if (fab_regression_is_network(r)) print_chosen(r);
    if (f.counts) printf("whole numbers: if '%s' counts, say --likelihood poisson\n", target);
    print_words(fab_regression_table(r));
    print_numbers(&f);
    if (f.dropped) printf("%" PRId64 " rows were left out: a value is missing\n", f.dropped);
    if (f.order) printf("%s: a single pass learns better from shuffled rows\n", f.order);
    if (f.fit.converged == 0)
        printf("not converged after %" PRId64 " iterations\n", f.fit.iterations);
    for (int64_t i = 0; i < f.constants && i < NAMED; i++)
        printf("'%s' hardly varies: its coefficient is left to the prior\n", f.constant[i]);
    return DONE;
}
