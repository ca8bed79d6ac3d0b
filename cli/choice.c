/* choice.c - which model of DATA is fitted, and how.
 *
 * SPDX-License-Identifier: MIT */
#include "choice.h"
#include "fabayes/table.h"
#include "fabayes/methods.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_MOST = 5000,   /* features up to which exact is the default */
    LAPLACE_MOST = 2000, /* and laplace */
    FLOOR_FOLDS = 5,     /* of the cross-validation of --noise-floor auto */
    FLOOR_RUNS = 3,      /* networks of a fold */
    MOST_NAMES = 64      /* of likelihoods */
};

/* ---- the likelihood --------------------------------------------------------------------------------- */

static int named_likelihood(choice *c)
{
    if (!c->likelihood) return DONE;
    if (fab_likelihood_find(c->likelihood, &c->l.kind) == FAB_OK) return DONE;
    const char *names[MOST_NAMES], *near;
    int n = 0;
    for (; n < fab_likelihood_count() && n < MOST_NAMES; n++)
        names[n] = fab_likelihood_name((fab_likelihood)n);
    near = fab_nearest(c->likelihood, names, n);
    if (near)
        return say_wrong("%s: there is no likelihood '%s'; did you mean '%s'?", c->l.verb,
                         c->likelihood, near);
    return say_wrong("%s: there is no likelihood '%s'; gaussian, bernoulli, categorical and "
                     "poisson are there",
                     c->l.verb, c->likelihood);
}

/* Two levels are bernoulli, other words categorical, other numbers gaussian. */
static int choose_likelihood(choice *c)
{
    const fab_dataset *t = c->l.table;
    const int64_t levels = fab_dataset_levels(t, 3);
    if (c->likelihood && c->l.kind == FAB_LIKELIHOOD_BERNOULLI && levels > 2)
        return say_failed("%s: target '%s' has more than two levels; bernoulli needs two, and "
                          "categorical takes any number",
                          c->l.data.file, t->target_name);
    if (c->likelihood) return DONE;
    c->guessed = 1;
    c->l.kind = levels == 2         ? FAB_LIKELIHOOD_BERNOULLI
                : t->target_words.n ? FAB_LIKELIHOOD_CATEGORICAL
                                    : FAB_LIKELIHOOD_GAUSSIAN;
    return DONE;
}

/* ---- the method ------------------------------------------------------------------------------------- */

static const char *default_method(const choice *c)
{
    const int64_t columns = c->l.table->columns;
    if (c->l.layers) return "vifa";
    if (c->l.kind == FAB_LIKELIHOOD_GAUSSIAN) return columns <= EXACT_MOST ? "exact" : "lrvga";
    return columns <= LAPLACE_MOST ? "laplace" : "lrvga";
}

static int choose_method(choice *c, const fab_method **m)
{
    const int status = method_named(m, c->method ? c->method : default_method(c));
    if (status != DONE) return status;
    if (c->l.layers) *m = fab_method_of_networks(*m);
    if (!(*m)->infer)
        return say_wrong("%s: %s fits vectors, not a target; `fabayes fa` runs it", c->l.verb,
                         (*m)->name);
    if (c->l.layers && !(*m)->infer->init_model)
        return say_wrong("%s: %s knows linear models, not %s", c->l.verb, (*m)->name, c->l.layers);
    return DONE;
}

static int choose(choice *c, const fab_method **m)
{
    const int status = choose_likelihood(c);
    return status == DONE ? choose_method(c, m) : status;
}

int choice_settings(void *ctx, const fab_fields **table, void **settings)
{
    choice *c = ctx;
    const fab_method *m = NULL;
    int status = named_likelihood(c);
    progress_open(c->l.quiet);
    fab_set_progress(progress_tick, NULL); /* Ctrl-C is heard while the library works */
    c->l.columns.missing = (fab_missing)c->missing;
    c->l.data.missing = c->missing != FAB_MISSING_REFUSE;
    c->l.data.words = 1;
    c->l.layers = c->model && strcmp(c->model, "linear") != 0 ? c->model : NULL;
    if (status == DONE) status = learning_open(&c->l);
    if (status == DONE) status = choose(c, &m);
    if (status == DONE && (!m->streams || c->whole || c->l.layers)) {
        status = learning_load(&c->l);
        if (status == DONE) status = choose(c, &m); /* all rows may say otherwise */
    }
    if (status == DONE) status = learning_settings(&c->l, m);
    if (status != DONE) return status;
    *table = m->table;
    *settings = c->l.settings;
    return DONE;
}

/* ---- settings ----------------------------------------------------------------------------------------- */

static int put_text(const choice *c, const char *name, const char *text)
{
    const fab_fields *t = c->l.method->table;
    if (!text) return DONE;
    if (!fab_settings_find(t, name))
        return say_wrong("%s: %s has no setting %s", c->l.verb, c->l.method->name, name);
    const fab_status s = fab_settings_parse(t, c->l.settings, name, text);
    return s == FAB_OK ? DONE : say_status(s);
}

static int beta_of_classes(const choice *c)
{
    return say_wrong("%s: beta is the noise of a gaussian target; this one is %s", c->l.verb,
                     fab_likelihood_name(c->l.kind));
}

static int put_glm(choice *c, fab_glm_settings *s)
{
    if (s->D || s->classes != 1 || !s->intercept || s->likelihood)
        return say_wrong("%s: D and classes come from DATA, the intercept from --no-intercept, "
                         "the likelihood from --likelihood; they are no settings here",
                         c->l.verb);
    s->likelihood = c->l.kind;
    s->intercept = !c->l.no_intercept;
    if (c->l.kind != FAB_LIKELIHOOD_GAUSSIAN && s->beta > 0) return beta_of_classes(c);
    return DONE;
}

/* The noise of a gaussian target is held where beta is given, and else learned. */
static int put_model(choice *c, const fab_model_settings *s)
{
    learning *l = &c->l;
    if (l->no_intercept)
        return say_wrong("%s: --no-intercept is for linear models; layers have their biases",
                         c->l.verb);
    if (l->kind != FAB_LIKELIHOOD_GAUSSIAN && s->beta > 0) return beta_of_classes(c);
    l->noise = s->beta > 0 || l->kind != FAB_LIKELIHOOD_GAUSSIAN ? FAB_NOISE_FIXED
                                                                 : FAB_NOISE_LEARNED;
    if (!c->noise) return DONE;
    if (l->kind != FAB_LIKELIHOOD_GAUSSIAN)
        return say_wrong("%s: --noise is for a gaussian target", c->l.verb);
    fab_noise noise;
    if (fab_noise_find(c->noise, &noise) == FAB_OK) {
        l->noise = noise;
        return DONE;
    }
    return say_wrong("%s: --noise is fixed, learned or output, not '%s'", c->l.verb, c->noise);
}

/* Cross-validation of the mode: networks trained as those of the method are. */
static int find_floor(learning *l)
{
    const fab_model_settings *given = l->settings;
    const fab_recipe r = {.method = fab_method_find("sgd"),
                          .layers = l->layers,
                          .noise = (fab_noise)l->noise,
                          .nu = l->nu,
                          .likelihood = l->kind,
                          .standardise = !l->no_scale,
                          .intercept = 1,
                          .samples = 1};
    fab_sgd_settings s = fab_sgd_defaults();
    if (l->method->streams)
        return say_wrong("%s: --noise-floor auto needs all rows, and %s takes them as a stream",
                         l->verb, l->method->name);
    if (l->table->n < FLOOR_FOLDS)
        return say_failed("%s: --noise-floor auto needs at least %d rows, and here are %lld",
                          l->data.file, FLOOR_FOLDS, (long long)l->table->n);
    if (given->alpha > 0) s.alpha = given->alpha; /* what is automatic is sgd's own */
    if (given->epochs > 0) s.epochs = given->epochs;
    if (given->rate > 0) s.rate = given->rate;
    s.batch = given->batch;
    s.seed = given->seed;
    s.runs = FLOOR_RUNS;
    const fab_status done = fab_recipe_noise(&r, &s, l->table, FLOOR_FOLDS, (uint64_t)s.seed,
                                             l->exec.threads, &l->floor, &l->density);
    if (done == FAB_BAD_ARGUMENT) return say_status(done);
    return done == FAB_OK ? DONE : say_status_of(l->data.file, done);
}

static int put_floor(choice *c)
{
    learning *l = &c->l;
    char *end;
    if (l->kind != FAB_LIKELIHOOD_GAUSSIAN || l->noise == FAB_NOISE_FIXED)
        return say_wrong(
            "%s: --noise-floor is for the noise of a gaussian target that is learned "
            "or an output; here it is %s",
            l->verb, l->kind == FAB_LIKELIHOOD_GAUSSIAN ? "fixed" : fab_likelihood_name(l->kind));
    if (strcmp(c->floor, "auto") == 0) return find_floor(l);
    l->floor = strtod(c->floor, &end);
    if (*end || !(l->floor > 0 && l->floor < INFINITY))
        return say_wrong("%s: --noise-floor is a number > 0 or auto, not '%s'", l->verb, c->floor);
    return DONE;
}

int choice_put(choice *c)
{
    fab_glm_settings *glm = learning_glm(&c->l);
    int status = put_text(c, "K", c->k);
    if (status == DONE) status = put_text(c, "seed", c->seed);
    if (status != DONE) return status;
    if (glm && c->noise) return say_wrong("%s: --noise is for networks", c->l.verb);
    if (glm && (c->l.nu > 0 || c->floor))
        return say_wrong("%s: --nu and --noise-floor are for networks", c->l.verb);
    if (glm) return put_glm(c, glm);
    status = put_model(c, c->l.settings);
    return status == DONE && c->floor ? put_floor(c) : status;
}
