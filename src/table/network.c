/* network.c - the noise and the layers of a regression by a network, where rows left out are to find them.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "fit/method.h"
#include "model/likelihoods/likelihood.h"
#include "table/regression.h"
#include <math.h>
#include <string.h>

#define DEFAULT_NU 6.0 /* of the noise of a network whose method is not named: studies/uci-best */
#define PROCESS    "gp:matern52:ard" /* that is tried beside them: docs/methods/gp.md */
enum {
    PROCESS_ROWS =
        2000, /* up to which it is; a quarter of classes and counts, by Laplace's method */
    PROCESS_FEATURES = 50,
    PROCESS_STARTS = 2,     /* while some rows are left out */
    PROCESS_SEARCHED = 500, /* of an exact one */
    PROCESS_STEPS = 25
};
enum { FLOOR_RUNS = 3 }; /* networks of a fold, for a floor of the noise that is automatic */

void fab_regression_open_search(fab_regression *r)
{
    if (!r->searches || !r->fit.what.method->trains) return;
    fab_model_settings *s = r->settings;
    s->alpha = FAB_AUTO_F64;
    s->epochs = FAB_AUTO_I64;
    if (!r->plan.method) s->runs = FAB_AUTO_I64;
}

/* The noise of a gaussian target is held where beta is given, and else learned. */
fab_status fab_regression_choose_noise(fab_regression *r)
{
    const fab_model_settings *s = r->settings;
    fab_recipe *w = &r->fit.what;
    const int held = s->beta > 0 || w->likelihood != FAB_LIKELIHOOD_GAUSSIAN;
    w->noise = held ? FAB_NOISE_FIXED : FAB_NOISE_LEARNED;
    if (!r->plan.noise) return FAB_OK;
    if (fab_noise_find(r->plan.noise, &w->noise) == FAB_OK) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "noise is fixed, learned or output, not '%s'", r->plan.noise);
}

/* Layers that cannot be are refused before folds are fitted, with the very sentence. */
static fab_status check_layers(const fab_regression *r)
{
    const fab_recipe *w = &r->fit.what;
    fab_net *net;
    FAB_TRY(fab_net_create(&net,
                           &(fab_net_plan){.layers = w->layers ? w->layers : "linear",
                                           .features = fab_regression_features(r),
                                           .likelihood = w->likelihood,
                                           .classes = 1,
                                           .noise = w->noise,
                                           .beta = 1,
                                           .nu = w->nu},
                           NULL));
    fab_net_free(net);
    return FAB_OK;
}

/* Cross-validation of the mode: networks trained as those of the method are. */
static fab_status find_floor(fab_regression *r)
{
    const fab_model_settings *given = r->settings;
    fab_recipe w = r->fit.what;
    fab_sgd_settings s = fab_sgd_defaults();
    if (w.method->streams)
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "an automatic floor of the noise needs all rows, and %s takes them as a stream",
            w.method->name);
    if (r->table->n < FAB_FLOOR_FOLDS)
        return FAB_FAIL(
            FAB_BAD_DATA,
            "%s: an automatic floor of the noise needs at least %d rows, and here are %lld",
            fab_data_name(&r->data), FAB_FLOOR_FOLDS, (long long)r->table->n);
    FAB_TRY(check_layers(r));
    w.method = fab_method_find("sgd");
    w.floor = 0;
    w.intercept = w.samples = 1;
    if (given->alpha > 0) s.alpha = given->alpha; /* what is automatic is sgd's own */
    if (given->epochs > 0) s.epochs = given->epochs;
    if (given->rate > 0) s.rate = given->rate;
    s.batch = given->batch;
    s.seed = given->seed;
    s.runs = FLOOR_RUNS;
    const fab_status found = fab_recipe_noise(&w, &s, r->table, FAB_FLOOR_FOLDS, (uint64_t)s.seed,
                                              &r->exec, &r->fit.what.floor, &r->density);
    return found == FAB_BAD_ARGUMENT ? found : fab_regression_of_data(r, found);
}

/* With "auto" the answer may be a linear model, for which settings of a network mean nothing. */
static fab_status check_auto(const fab_regression *r)
{
    const fab_method *m = r->fit.what.method;
    const char *given = r->plan.method ? "a method" : NULL;
    if (r->plan.noise || r->plan.nu != 0 || r->plan.floor != 0) given = "the noise of a network";
    for (int64_t i = 0; i < m->fields->n && !given; i++) {
        const fab_field *f = &m->fields->field[i];
        char is[64], was[64];
        fab_settings_print(f, r->settings, is, sizeof is);
        fab_settings_default_text(f, was, sizeof was);
        const int open = fab_settings_number(m->fields, r->settings, f->name) == FAB_AUTO_F64;
        if (strcmp(f->name, "seed") != 0 && !open && strcmp(is, was) != 0) given = f->name;
    }
    if (!given) return FAB_OK;
    return FAB_FAIL(
        FAB_BAD_ARGUMENT,
        "model auto may answer with a linear model: %s cannot be given; model mlp chooses a "
        "network",
        given);
}

static fab_status check_search(const fab_regression *r)
{
    if (r->plan.prior || r->plan.prior_gauss)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "a prior belongs to one network: name its layers instead of %s",
                        r->plan.model);
    if (r->plan.whole)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "a search of settings is for one model: name its layers instead of %s",
                        r->plan.model);
    if (r->table->n < 2 * FAB_CANDIDATE_FOLDS)
        return FAB_FAIL(
            FAB_BAD_DATA,
            "%s: rows left out choose a network from at least %d rows, and here are %lld",
            fab_data_name(&r->data), 2 * FAB_CANDIDATE_FOLDS, (long long)r->table->n);
    return r->searches == FAB_SEARCH_MODEL ? check_auto(r) : FAB_OK;
}

/* The settings of a method of another model, but for the seed.  Gives *settings. */
static fab_status other_settings(const fab_method *m, int64_t seed, void **settings)
{
    FAB_TRY(fab_alloc_array(settings, 1, m->fields->size, "regression"));
    fab_settings_defaults(m->fields, *settings);
    const fab_field *f = fab_settings_find(m->fields, "seed");
    if (f) memcpy((char *)*settings + f->offset, &seed, sizeof seed);
    return FAB_OK;
}

/* The method of a process that costs no more than the networks do: of a small table all rows, of numbers in one that is larger
 * through inducing inputs, as far as the effort goes.  NULL: none. */
static const char *process_method(const fab_regression *r, const fab_effort *e)
{
    const int numbers = r->fit.what.likelihood == FAB_LIKELIHOOD_GAUSSIAN;
    int64_t most = numbers ? PROCESS_ROWS : PROCESS_ROWS / 4;
    if (fab_likelihood_row_of(r->fit.what.likelihood)
            ->several) /* each class costs as much as one of two */
        most = (int64_t)((double)most / cbrt((double)r->scaling->levels));
    if (r->searches != FAB_SEARCH_MODEL ||
        fab_likelihood_row_of(r->fit.what.likelihood)->dispersion ||
        fab_regression_features(r) > PROCESS_FEATURES)
        return NULL;
    if (r->table->n <= most) return "gp";
    return numbers && r->table->n <= e->sparse ? "vfe" : NULL;
}

/* Quicker settings of a process, for the trial. */
static void make_quick(const fab_method *m, int64_t seed, fab_gp_settings *exact,
                       fab_vfe_settings *sparse, fab_other *trial)
{
    *exact = fab_gp_defaults();
    *sparse = fab_vfe_defaults();
    exact->seed = sparse->seed = seed;
    exact->starts = sparse->starts = PROCESS_STARTS;
    exact->search_rows = PROCESS_SEARCHED;
    sparse->steps = PROCESS_STEPS;
    trial->settings = strcmp(m->name, "gp") == 0 ? (const void *)exact : sparse;
}

/* Layers, alpha, epochs and floor by the rows left out. */
static fab_status search_model(fab_regression *r)
{
    const fab_effort *e;
    fab_recipe network = r->fit.what, line = r->fit.what;
    fab_sgd_settings s = fab_sgd_defaults();
    void *line_settings = NULL, *process_settings = NULL;
    FAB_TRY(fab_effort_find(r->plan.effort, &e));
    if (network.method->trains) s = *(const fab_sgd_settings *)r->settings;
    s.seed = ((const fab_model_settings *)r->settings)->seed;
    network.method = fab_method_find("sgd");
    network.floor = 0;
    network.samples = 1;
    line.layers = NULL;
    line.nu = line.floor = 0;
    line.method = fab_method_find(fab_regression_default_linear(r));
    fab_recipe process = line;
    process.kernel = &PROCESS[strlen("gp:")];
    const char *by = process_method(r, e);
    process.method = fab_method_find(by ? by : "gp");
    const int with_line = r->searches == FAB_SEARCH_MODEL, with_process = by != NULL;
    fab_status done = with_line ? other_settings(line.method, s.seed, &line_settings) : FAB_OK;
    if (done == FAB_OK && with_process)
        done = other_settings(process.method, s.seed, &process_settings);
    if (done == FAB_OK) {
        fab_gp_settings exact;
        fab_vfe_settings sparse;
        fab_other straight = {with_line ? &line : NULL, line_settings, "linear"},
                  curved = {with_process ? &process : NULL, NULL, PROCESS};
        make_quick(process.method, s.seed, &exact, &sparse, &curved);
        done =
            fab_regression_of_data(r, fab_candidates_search(&r->candidates, &network, &s, &straight,
                                                            &curved, r->table, e, &r->exec));
    }
    if (done != FAB_OK) {
        fab_release(line_settings);
        fab_release(process_settings);
        return done;
    }
    const int64_t best = r->candidates.best;
    fab_model_trial *c = &r->candidates.c[best];
    c->chosen = 1;
    if (!(c->alpha > 0)) { /* the line or the process */
        const int curved = strcmp(c->model, PROCESS) == 0;
        fab_release(r->settings);
        fab_release(curved ? line_settings : process_settings);
        r->settings = r->fit.settings = curved ? process_settings : line_settings;
        r->fit.what = curved ? process : line;
        r->fit.what.steps = c->steps;
        return FAB_OK;
    }
    fab_release(line_settings);
    fab_release(process_settings);
    r->fit.what.layers = c->model;
    r->fit.what.steps = c->steps;
    if (r->fit.what.method->trains) {
        fab_model_settings *final = r->settings;
        final->alpha = c->alpha;
        final->epochs = c->epochs;
        if (final->runs == FAB_AUTO_I64) final->runs = e->final;
    }
    if (r->plan.floor == FAB_AUTO_F64) {
        r->fit.what.floor = r->candidates.scale[best];
        r->density = c->density;
    }
    return FAB_OK;
}

fab_status fab_regression_prepare_network(fab_regression *r)
{
    const fab_model_settings *s = r->settings;
    fab_recipe *w = &r->fit.what;
    const int gaussian = w->likelihood == FAB_LIKELIHOOD_GAUSSIAN;
    if (!w->intercept)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "a network without intercept: layers have their biases");
    if (!gaussian && (s->beta > 0 || r->plan.noise))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "beta and noise are those of a gaussian target; this one is %s",
                        fab_likelihood_name(w->likelihood));
    FAB_TRY(fab_regression_choose_noise(r));
    if (r->searches) FAB_TRY(check_search(r));
    const int has_floor = gaussian && w->noise != FAB_NOISE_FIXED;
    if (r->plan.floor != 0 && !has_floor)
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "a floor is for the noise of a gaussian target that is learned or an output; "
            "here it is %s",
            gaussian ? "fixed" : fab_likelihood_name(w->likelihood));
    if (r->plan.floor != 0 && r->plan.floor != FAB_AUTO_F64 &&
        !(r->plan.floor > 0 && isfinite(r->plan.floor)))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "the floor of the noise is a number > 0 or auto, not %g",
                        r->plan.floor);
    if (!r->plan.method && has_floor && w->method->several &&
        r->table->n >= FAB_FLOOR_FOLDS) { /* the noise of the default method */
        if (w->nu == 0) w->nu = DEFAULT_NU;
        if (r->plan.floor == 0) r->plan.floor = FAB_AUTO_F64;
    }
    if (r->plan.floor > 0) w->floor = r->plan.floor;
    if (r->searches) return search_model(r);
    return r->plan.floor == FAB_AUTO_F64 ? find_floor(r) : FAB_OK;
}
