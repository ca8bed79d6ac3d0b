/* choice.c - the call of `fit` and `tune`: from its options to a regression.
 *
 * SPDX-License-Identifier: MIT */
#include "choice.h"
#include "print/svm.h"
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void choice_close(choice *c)
{
    fab_regression_free(c->r);
    fab_source_close(c->source);
    fab_scaling_free(c->scaling);
}

/* --units: those of another fit. */
static int take_units(choice *c)
{
    fab_tensors *t;
    if (!c->units) return DONE;
    fab_status s = fab_tensors_read(&t, c->units);
    if (s != FAB_OK) return say_status(s);
    const char *scaling = fab_tensors_get(t, "scaling");
    s = scaling ? fab_scaling_from_json(&c->scaling, scaling) : FAB_OK;
    fab_tensors_free(t);
    if (s != FAB_OK) return say_status_of(c->units, s);
    if (!c->scaling)
        return say_failed("%s: has no units: --units takes a file of `fabayes fit`", c->units);
    c->plan.scaling = c->scaling;
    return DONE;
}

/* ---- failures ------------------------------------------------------------------------------------------- */

static int say_large(const choice *c, fab_large large, double needed, double limit)
{
    char need[24], room[24];
    const fab_dataset *t = fab_regression_table(c->r);
    human_count(limit, room, sizeof room);
    if (large == FAB_LARGE_TABLE)
        return say_failed("%s: %" PRId64 " rows of %" PRId64
                          " columns and more are too many for the "
                          "%sB %s; -m lrvga reads them as a stream",
                          c->data.file, t->n, t->columns, room,
                          c->memory > 0 ? "allowed by --memory" : "that are free");
    return say_failed("%s: %s needs %sB for %" PRId64 " features, and %sB are %s", c->data.file,
                      fab_method_name(fab_regression_method(c->r)),
                      human_count(needed, need, sizeof need), fab_regression_scaling(c->r)->D, room,
                      c->memory > 0 ? "allowed by --memory" : "free");
}

int choice_say(const choice *c, fab_status s)
{
    double needed = 0, limit = 0;
    if (s == FAB_OK) return DONE;
    if (s == FAB_MISSING_VALUE)
        return say_failed("%s; --missing drop leaves the row out, --missing mean fills it",
                          fab_detail());
    const fab_large large = c->r ? fab_regression_too_large(c->r, &needed, &limit)
                                 : FAB_LARGE_NOTHING;
    if (s == FAB_NO_MEMORY && large) return say_large(c, large, needed, limit);
    return say_status(s);
}

/* ---- names ---------------------------------------------------------------------------------------------- */

static int check_likelihood(const choice *c)
{
    const char *name = c->plan.likelihood;
    if (!name) return DONE;
    enum { MOST = 64 };
    const char *names[MOST];
    fab_likelihood l;
    if (fab_likelihood_find(name, &l) == FAB_OK) return DONE;
    const int64_t n = fab_likelihood_count() < MOST ? fab_likelihood_count() : MOST;
    for (int64_t i = 0; i < n; i++) names[i] = fab_likelihood_name((fab_likelihood)i);
    const char *near = fab_nearest(name, names, n);
    if (near)
        return say_wrong("%s: there is no likelihood '%s'; did you mean '%s'?", c->verb, name,
                         near);
    return say_wrong(
        "%s: there is no likelihood '%s'; gaussian, bernoulli, categorical, negative-binomial and "
        "poisson are there",
        c->verb, name);
}

static const char *layers_of(const choice *c)
{
    const char *model = c->plan.model;
    static const char *const linear[] = {"gp:", "rff:", "nystrom:", "svm"};
    if (!model || strcmp(model, "linear") == 0) return NULL;
    for (int i = 0; i < COUNT(linear); i++)
        if (strncmp(model, linear[i], strlen(linear[i])) == 0) return NULL;
    return model;
}

static int check_method(const choice *c)
{
    const fab_method *m = NULL;
    const char *layers = layers_of(c);
    if (!c->plan.method) return DONE;
    const int status = method_named(&m, c->plan.method);
    if (status != DONE) return status;
    if (layers) m = fab_method_of_networks(m);
    if (fab_method_takes(m) & FAB_TAKES_VECTORS)
        return say_wrong("%s: %s fits vectors, not a target; `fabayes %s` runs it", c->verb,
                         fab_method_name(m), fab_method_clusters(m) ? "cluster" : "fa");
    if (layers && fab_method_takes(m) & FAB_TAKES_LINEAR)
        return say_wrong("%s: %s knows linear models, not %s", c->verb, fab_method_name(m), layers);
    return DONE;
}

/* ---- DATA ----------------------------------------------------------------------------------------------- */

static int check_target(const choice *c)
{
    const int labelled = fab_source_format(c->source) == FAB_FORMAT_LIBSVM;
    if (c->data.labels && (c->columns.target || labelled))
        return say_wrong("%s: --labels brings the target: -y and libsvm labels are another",
                         c->verb);
    if (!c->columns.target && !labelled && !c->data.labels && !c->columns.formula)
        return say_wrong("%s: -y TARGET, the column to explain, is missing", c->verb);
    if (c->data.features && !labelled)
        return say_wrong("%s: --features is for libsvm files", c->data.file);
    return DONE;
}

static int open_data(choice *c)
{
    const fab_exec exec = {.ops = fab_ops_find("cpu", (fab_dtype)c->dtype), .threads = c->threads};
    if (!c->data.dates && fab_formula_dates(c->columns.formula)) c->data.dates = "numbers";
    int status = table_open(&c->source, &c->data);
    if (status == DONE) status = check_target(c);
    if (status != DONE) return status;
    fab_data d;
    status = data_of(&d, &c->data);
    if (status != DONE) return status;
    d.source = c->source;
    d.columns = c->columns;
    c->rows = d;
    if (fab_svm_is_model(c->plan.model)) return DONE;
    status = take_units(c);
    if (status != DONE) return status;
    return choice_say(c, fab_regression_open(&c->r, &d, &c->plan, &exec));
}

/* --noise-floor is a number or auto. */
static int take_floor(choice *c)
{
    char *end;
    c->plan.floor = 0;
    if (!c->floor) return DONE;
    c->plan.floor = FAB_AUTO_F64;
    if (strcmp(c->floor, "auto") == 0) return DONE;
    c->plan.floor = strtod(c->floor, &end);
    return !*end && c->plan.floor > 0 && c->plan.floor <= DBL_MAX ? DONE : WRONG;
}

/* Before anything is read: the work would be lost. */
static int check_output(const choice *c)
{
    const char *given = c->plan.checkpoint ? "checkpoint" : "resume";
    if (c->plan.output) return output_check(c->plan.output, c->data.file);
    if (!c->plan.checkpoint && !c->plan.resume) return DONE;
    return say_wrong("%s: --%s needs -o FILE", c->verb, given);
}

int choice_settings(void *ctx, const fab_fields **table, void **settings)
{
    choice *c = ctx;
    int status = check_likelihood(c);
    if (status == DONE) status = check_method(c);
    if (status == DONE) status = check_output(c);
    progress_open(c->quiet);
    fab_set_progress(progress_tick, NULL); /* Ctrl-C is heard while the library works */
    c->columns.missing = (fab_missing)c->missing;
    c->data.missing = c->missing != FAB_MISSING_REFUSE;
    c->data.words = 1;
    c->plan.memory = 1e6 * c->memory;
    take_floor(c); /* choice_put says what is wrong with it */
    if (status == DONE && fab_svm_is_model(c->plan.model)) status = svm_check(c);
    if (status == DONE) status = open_data(c);
    if (status == DONE && fab_svm_is_model(c->plan.model)) {
        c->machine = fab_svm_defaults();
        *table = fab_svm_fields();
        *settings = &c->machine;
        return DONE;
    }
    if (status == DONE) status = choice_say(c, fab_regression_choose(c->r));
    if (status != DONE) return status;
    *table = fab_method_fields(fab_regression_method(c->r));
    *settings = fab_regression_settings(c->r);
    return DONE;
}

/* ---- settings and options --------------------------------------------------------------------------------- */

static int put_text(const choice *c, const char *name, const char *text)
{
    const fab_method *m = fab_regression_method(c->r);
    if (!text) return DONE;
    if (!fab_settings_find(fab_method_fields(m), name))
        return say_wrong("%s: %s has no setting %s", c->verb, fab_method_name(m), name);
    return choice_say(c, fab_regression_set(c->r, name, text));
}

static int beta_of_classes(const choice *c, fab_likelihood l)
{
    return say_wrong("%s: beta is the noise of a gaussian target; this one is %s", c->verb,
                     fab_likelihood_name(l));
}

static int is_real(fab_likelihood l)
{
    return fab_likelihood_target(l) == FAB_TARGET_REAL;
}

static int check_linear(const choice *c, double beta, fab_likelihood l)
{
    if (c->plan.noise) return say_wrong("%s: --noise is for networks", c->verb);
    if (c->floor) return say_wrong("%s: --noise-floor is for networks", c->verb);
    return !fab_likelihood_has_beta(l) && beta > 0 ? beta_of_classes(c, l) : DONE;
}

static int check_floor(choice *c, int held, fab_likelihood l)
{
    const fab_method *m = fab_regression_method(c->r);
    const int64_t rows = fab_regression_table(c->r)->n;
    if (!is_real(l) || held)
        return say_wrong("%s: --noise-floor is for the noise of a gaussian target that is learned "
                         "or an output; here it is %s",
                         c->verb, is_real(l) ? "fixed" : fab_likelihood_name(l));
    if (take_floor(c) != DONE)
        return say_wrong("%s: --noise-floor is a number > 0 or auto, not '%s'", c->verb, c->floor);
    if (c->plan.floor != FAB_AUTO_F64) return DONE;
    if (fab_method_streams(m))
        return say_wrong("%s: --noise-floor auto needs all rows, and %s takes them as a stream",
                         c->verb, fab_method_name(m));
    if (rows < FAB_FLOOR_FOLDS)
        return say_failed("%s: --noise-floor auto needs at least %d rows, and here are %" PRId64,
                          c->data.file, FAB_FLOOR_FOLDS, rows);
    return DONE;
}

static int check_network(choice *c, const fab_model_settings *s, fab_likelihood l)
{
    const char *noise = c->plan.noise;
    fab_noise kind = s->beta > 0 ? FAB_NOISE_FIXED : FAB_NOISE_LEARNED;
    if (c->plan.no_intercept)
        return say_wrong("%s: --no-intercept is for linear models; layers have their biases",
                         c->verb);
    if (!is_real(l) && s->beta > 0) return beta_of_classes(c, l);
    if (noise && !is_real(l)) return say_wrong("%s: --noise is for a gaussian target", c->verb);
    if (noise && fab_noise_find(noise, &kind) != FAB_OK)
        return say_wrong("%s: --noise is fixed, learned or output, not '%s'", c->verb, noise);
    return c->floor ? check_floor(c, kind == FAB_NOISE_FIXED, l) : DONE;
}

int choice_put(choice *c)
{
    void *settings = fab_regression_settings(c->r);
    const fab_likelihood l = fab_regression_recipe(c->r).likelihood;
    if (c->k && !c->plan.method && fab_regression_is_network(c->r) &&
        !fab_settings_find(fab_method_fields(fab_regression_method(c->r)), "K"))
        return say_wrong("%s: -k is the rank of a Gaussian, and %s has none; name a method that "
                         "has one, as -m vifa",
                         c->verb, fab_method_name(fab_regression_method(c->r)));
    int status = put_text(c, "K", c->k);
    if (status == DONE) status = put_text(c, "seed", c->seed);
    if (status != DONE) return status;
    if (fab_regression_is_network(c->r)) return check_network(c, settings, l);
    const fab_fields *fields = fab_method_fields(fab_regression_method(c->r));
    return check_linear(c, fab_settings_number(fields, settings, "beta"), l);
}
