/* learned.c - what a regression says when it is made.
 *
 * SPDX-License-Identifier: MIT */
#include "print/learned.h"
#include "options.h"
#include "print/coefficients.h"
#include "print/convergence.h"
#include "print/map.h"
#include "print/penalty.h"
#include "print/process.h"
#include "print/stream.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 10 }; /* columns that hardly vary, named for a person */

/* ---- for programs ------------------------------------------------------------------------------------ */

static json_t *json_settings(fab_regression *r)
{
    char *text = NULL;
    if (fab_regression_settings_json(r, &text) != FAB_OK) return NULL;
    json_t *j = json_loads(text, 0, NULL);
    fab_text_free(text);
    return j;
}

/* A network in its own words. */
static void put_net(json_t *j, const fab_regression *r, const fab_table_report *f)
{
    char *text = NULL;
    if (!f->parameters) return;
    json_put(j, "model", fab_regression_layers(r, &text) == FAB_OK ? json_text(text) : NULL);
    json_put(j, "parameters", json_integer(f->parameters));
    json_put(j, "held_out", json_number(f->fit.held_out));
    json_put(j, "noise_floor", f->floor > 0 ? json_number(f->floor) : json_null());
    json_put(j, "noise_density", f->density != 0 ? json_number(f->density) : json_null());
    fab_text_free(text);
}

static json_t *json_candidates(const fab_regression *r)
{
    const fab_model_trial *c;
    const int64_t n = fab_regression_candidates(r, &c);
    json_t *all = json_array();
    for (int64_t i = 0; i < n; i++) {
        json_t *j = json_object();
        json_put(j, "model", json_text(c[i].model));
        json_put(j, "alpha", c[i].alpha > 0 ? json_number(c[i].alpha) : json_null());
        json_put(j, "epochs", c[i].epochs > 0 ? json_integer(c[i].epochs) : json_null());
        json_put(j, "steps", json_boolean(c[i].steps));
        json_put(j, "density", c[i].failed ? json_null() : json_number(c[i].density));
        json_put(j, "chosen", json_boolean(c[i].chosen));
        json_array_append_new(all, j);
    }
    return all;
}

json_t *calibration_json(const fab_calibration *c)
{
    json_t *j = json_object();
    json_put(j, "way", json_text(c->way));
    json_put(j, "rows", json_integer(c->rows));
    if (c->temperature > 0) {
        json_put(j, "temperature", json_number(c->temperature));
        json_put(j, "temperature_sd", c->limited ? json_null() : json_number(c->temperature_sd));
    } else {
        json_put(j, "quantile50", json_number(c->quantile[0]));
        json_put(j, "quantile90", json_number(c->quantile[1]));
        json_put(j, "quantile95", json_number(c->quantile[2]));
    }
    return j;
}

void keys_put(json_t *j, const fab_regression *r)
{
    const fab_key *key;
    const int64_t n = fab_regression_keys(r, &key);
    if (n == 0) return;
    json_t *left = json_array(), *counting = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(key[i].left_out ? left : counting, json_text(key[i].column));
    json_put(j, "left_out_names", left);
    json_put(j, "counting_names", counting);
}

/* Of a sparse prior: the probability of each feature to be in the model; NULL: it is no such fit. */
static fab_status inclusion_of(fab_regression *r, const double **inclusion)
{
    const fab_tensors *t;
    *inclusion = NULL;
    const fab_status s = fab_regression_tensors(r, &t);
    if (s != FAB_OK) return s;
    const fab_tensor *found = fab_tensors_find(t, "inclusion");
    if (found) *inclusion = found->data;
    return FAB_OK;
}

/* The features that a sparse prior leaves in, with their probability. */
static json_t *json_kept(const fab_regression *r, const double *inclusion)
{
    const fab_scaling *k = fab_regression_scaling(r);
    json_t *all = json_array();
    for (int64_t i = 0; i < k->D; i++) {
        if (inclusion[i] <= 0.5) continue;
        json_t *j = json_object();
        json_put(j, "name", json_text(k->name[i]));
        json_put(j, "inclusion", json_number(inclusion[i]));
        json_array_append_new(all, j);
    }
    return all;
}

int learned_json(fab_regression *r, const char *output, double start)
{
    fab_table_report f;
    const double *inclusion;
    fab_summary summary;
    const int linear = !fab_regression_is_network(r);
    fab_status s = fab_regression_report(r, &f);
    if (s == FAB_OK && linear) s = fab_regression_summary(r, &summary);
    if (s == FAB_OK) s = inclusion_of(r, &inclusion);
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
    if (f.zeros) json_put(j, "zeros", json_true());
    json_put(j, "order", f.order ? json_text(f.order) : json_null());
    json_put(j, "alpha", json_number(f.fit.alpha));
    json_put(j, "beta", json_number(f.fit.beta));
    json_put(j, "log_evidence", json_number(f.fit.log_evidence));
    json_put(j, "log_score", json_number(f.fit.log_score));
    json_put(j, "loglik_mean", json_number(f.loglik_mean));
    json_put(j, "dispersion", json_number(f.dispersion));
    if (linear) summary_put(j, &summary);
    if (is_finite(f.fit.temperature)) json_put(j, "temperature", json_number(f.fit.temperature));
    put_net(j, r, &f);
    if (fab_regression_is_process(r) && process_put(j, r) != DONE) {
        json_decref(j);
        json_decref(names);
        return FAILED;
    }
    map_put(j, r);
    if (fab_regression_candidates(r, &(const fab_model_trial *){0}))
        json_put(j, "candidates", json_candidates(r));
    const fab_calibration c = fab_regression_calibration(r);
    if (c.way) json_put(j, "calibration", calibration_json(&c));
    if (f.stream) json_put(j, "stream", stream_json(f.stream));
    json_put(j, "floored", json_integer(f.fit.floored));
    json_put(j, "iterations", json_integer(f.fit.iterations));
    json_put(j, "converged", f.fit.converged < 0 ? json_null() : json_boolean(f.fit.converged));
    json_put(j, "gain", json_number(f.fit.gain));
    json_put(j, "constant_names", names);
    keys_put(j, r);
    if (inclusion) json_put(j, "kept", json_kept(r, inclusion));
    if (penalty_put(j, r, &f.fit) != DONE) {
        json_decref(j);
        return FAILED;
    }
    json_put(j, "output", output ? json_text(output) : json_null());
    json_put(j, "bytes", json_number(f.bytes));
    json_put(j, "seconds", json_number(seconds));
    json_put(j, "rows_per_s", json_number((double)f.rows / seconds));
    return json_say(j);
}

/* ---- for people -------------------------------------------------------------------------------------- */

static int print_net(const fab_regression *r, const fab_table_report *f)
{
    char *text = NULL;
    if (!f->parameters) return DONE;
    const fab_status s = fab_regression_layers(r, &text);
    if (s != FAB_OK) return say_status(s);
    printf("%s: %" PRId64 " parameters, %" PRId64 " epochs", text, f->parameters,
           f->fit.iterations);
    if (is_finite(f->fit.held_out)) printf(", held-out loss %.5g", f->fit.held_out);
    printf("\n");
    if (f->density != 0)
        printf("noise at least %.5g: rows left out have a mean log density of %.5g\n", f->floor,
               f->density);
    fab_text_free(text);
    return DONE;
}

/* What was tried, and what it was worth. */
static void print_candidates(const fab_regression *r)
{
    const fab_model_trial *c;
    const int64_t n = fab_regression_candidates(r, &c);
    if (n) printf("tried, with the mean log density of rows left out:\n");
    for (int64_t i = 0; i < n; i++) {
        printf("%s %-16s%s", c[i].chosen ? "*" : " ", c[i].model, c[i].steps ? " steps" : "      ");
        if (c[i].alpha > 0)
            printf(" alpha %-6g %5" PRId64 " epochs", c[i].alpha, c[i].epochs);
        else
            printf("%26s", "");
        if (c[i].failed)
            printf("  could not be fitted\n");
        else
            printf("  %9.5g\n", c[i].density);
    }
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
                   one_line(t->name[c]), one_line(odd));
    }
}

/* as.data.frame of a table in R has a row for each cell, and how many it counts. */
static void print_frequency(const fab_dataset *t)
{
    static const char *const names[] = {"Freq", "freq", "Frequency", "frequency"};
    for (int64_t c = 0; c < t->columns && !t->weight_name; c++)
        for (int i = 0; i < COUNT(names) && !t->words[c].n; i++)
            if (strcmp(t->name[c], names[i]) == 0)
                printf("'%s' is read as a feature: if it counts how often a row was met, say "
                       "--weight %s\n",
                       names[i], names[i]);
}

/* A name that would not do in a list is said by its number. */
void keys_print(FILE *to, const fab_regression *r)
{
    const fab_key *key;
    const int64_t n = fab_regression_keys(r, &key);
    for (int64_t i = 0; i < n && i < NAMED; i++) {
        const fab_key *k = &key[i];
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, k->number);
        const char *name = *k->column && !strpbrk(k->column, ", :*'\n\t") ? k->column : number;
        if (k->levels)
            fprintf(to,
                    "'%s' has %" PRId64 " different words in %" PRId64
                    " rows: it names the rows, and is left out; --categorical %s keeps it\n",
                    one_line(k->column), k->levels, k->rows, name);
        else if (k->left_out)
            fprintf(to,
                    "'%s' numbers the rows, and is left out; -f or --only with %s in it keeps it\n",
                    one_line(k->column), name);
        else
            fprintf(
                to,
                "'%s' looks like a number of the row: --exclude %s leaves it out if it is one\n",
                one_line(k->column), name);
    }
}

/* The log evidence, or what stands for it. */
static fab_status evidence_name(fab_regression *r, const char **name)
{
    const fab_process_summary *p;
    *name = "log evidence";
    if (!fab_regression_is_process(r)) return FAB_OK;
    const fab_status s = fab_regression_process(r, &p);
    if (s == FAB_OK) *name = process_objective(p);
    return s;
}

static void print_numbers(const fab_table_report *f, const char *evidence)
{
    if (f->fit.alpha > 0) printf("alpha = %.4g, ", f->fit.alpha);
    if (strcmp(f->likelihood, "gaussian") == 0) printf("beta = %.4g, ", f->fit.beta);
    if (strcmp(f->likelihood, "negative-binomial") == 0) printf("size = %.4g, ", f->fit.beta);
    if (is_finite(f->fit.log_evidence))
        printf("%s = %.6g, ", evidence, f->fit.log_evidence);
    else if (is_finite(f->fit.log_score))
        printf("log score one row ahead = %.6g, ", f->fit.log_score);
    printf("in fitting units");
    if (is_finite(f->loglik_mean)) printf("; log-likelihood per row = %.6g", f->loglik_mean);
    printf("\n");
}

/* The features that a sparse prior leaves in, the first of them by name. */
static void print_kept(const fab_regression *r, const fab_table_report *f, const double *p)
{
    char **name = fab_regression_scaling(r)->name;
    if (!p) return;
    printf("%" PRId64 " of %" PRId64 " features are more likely in than out", f->fit.kept, f->D);
    for (int64_t i = 0, said = 0; i < f->D && said < NAMED; i++) {
        if (p[i] <= 0.5) continue;
        printf("%s '%s' (%.3g)", said ? "," : ":", one_line(name[i]), p[i]);
        said++;
    }
    printf("%s\n", f->fit.kept > NAMED ? ", .." : "");
}

static void print_calibration(const fab_regression *r)
{
    const fab_calibration c = fab_regression_calibration(r);
    if (!c.way) return;
    printf("calibrated by %" PRId64 " rows left out of the fit: ", c.rows);
    if (c.limited)
        printf("temperature %.4g, the lowest that so many rows allow\n", c.temperature);
    else if (c.temperature > 0)
        printf("temperature %.4g +- %.2g\n", c.temperature, c.temperature_sd);
    else if (fab_regression_scaling(r)->levels)
        printf("90 %% sets of the classes with -log p up to %.4g\n", c.quantile[1]);
    else
        printf("50, 90 and 95 %% intervals of %.4g, %.4g and %.4g sd\n", c.quantile[0],
               c.quantile[1], c.quantile[2]);
}

int learned_print(fab_regression *r, int64_t quiet, double start)
{
    const char *target = fab_regression_scaling(r)->target;
    fab_table_report f;
    const double *inclusion;
    const char *evidence;
    fab_status s = fab_regression_report(r, &f);
    if (s == FAB_OK) s = inclusion_of(r, &inclusion);
    if (s == FAB_OK) s = evidence_name(r, &evidence);
    if (s != FAB_OK) return say_status(s);
    const double seconds = fab_clock() - start;
    progress_close();
    if (quiet) return DONE;
    printf("%s of '%s' (%s%s) on %" PRId64 " features, %" PRId64 " rows, %.3g s\n", f.method,
           one_line(target), f.likelihood, f.guessed ? ", guessed from its values" : "", f.D,
           f.fit.n, seconds);
    print_candidates(r);
    int said = print_net(r, &f);
    if (said == DONE) said = map_print(r);
    if (said != DONE) return said;
    if (fab_regression_is_network(r)) print_chosen(r);
    if (f.levels)
        printf("%" PRId64 " whole numbers: if '%s' has classes, say --likelihood categorical%s\n",
               f.levels, one_line(target), f.counts ? "; if it counts, --likelihood poisson" : "");
    else if (f.counts)
        printf("whole numbers: if '%s' counts, say --likelihood poisson\n", one_line(target));
    print_words(fab_regression_table(r));
    print_frequency(fab_regression_table(r));
    keys_print(stdout, r);
    print_numbers(&f, evidence);
    print_kept(r, &f, inclusion);
    said = penalty_print(r, &f.fit);
    if (said != DONE) return said;
    if (f.wide)
        printf("%" PRId64 " features for %" PRId64
               " rows: where few of them matter, -m spike-slab predicts better\n",
               f.D, f.fit.n);
    if (f.spread)
        printf("'%s' varies %.3g times as much as Poisson's counts: say --likelihood "
               "negative-binomial\n",
               one_line(target), f.dispersion);
    if (f.fit.temperature < 1)
        printf(
            "temperature %.3g: %srows left out are predicted better by a "
            "Gaussian that is narrower than the posterior, as are the intervals of coefficients; "
            "--temperature=1 has its width\n",
            f.fit.temperature, strcmp(f.method, "vga") == 0 ? "the classes separate, and " : "");
    print_calibration(r);
    if (f.stream) stream_print(f.stream, "predicted:", 10, 1);
    if (f.dropped) printf("%" PRId64 " rows were left out: a value is missing\n", f.dropped);
    if (f.zeros)
        printf("all %" PRId64 " counts are 0 so far: nothing says how small their rate is, and "
               "predictions are no use yet\n",
               f.fit.n);
    if (f.order) printf("%s: a single pass learns better from shuffled rows\n", f.order);
    if (f.fit.converged < 1)
        convergence_print(fab_regression_method(r), fab_regression_chosen(r), &f.fit);
    for (int64_t i = 0; i < f.constants && i < NAMED; i++)
        printf("'%s' hardly varies: %s\n", one_line(f.constant[i]),
               fab_regression_is_process(r) ? "the process cannot learn from it"
               : fab_regression_has_coefficients(r) || fab_regression_is_network(r)
                   ? "its coefficient is left to the prior"
                   : "its features cannot learn from it");
    return DONE;
}
