/* regression.c - a regression from rows to result, step by step.
 *
 *   1  open     the first rows
 *   2  choose   the likelihood, from the levels of the target; the method, from likelihood and columns, of a wide table from
 *               all rows too, where it is small enough; all rows for a batch method, after which both are chosen again
 *   3  prepare  rows that are to calibrate the predictions are left out; settings that say what only the data may say are refused; the noise of a network; its layers, where rows
 *               left out are to choose them
 *   4  run      units of the rows at hand (or of the prior's file); the model; its inference, new or resumed; all rows;
 *               the calibration; the file
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "model/likelihoods/likelihood.h"
#include "base/settings.h"
#include "table/regression.h"
#include "data/source/source.h"
#include "fabayes/methods.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define VGA_WORK  2e9 /* rows x coordinates^2 up to which vga is the default: half a minute */
#define VGA_NODES 2e5 /* rows x classes of more than two: each takes a thousand exponentials */
#define VGA_WIDE  2e7 /* numbers in F of fewer rows than features, up to which it is */
/* Rows times columns up to which exact is the default of more columns than EXACT_MOST: as much as of a square table of so many */
#define EXACT_WIDE 2.5e7
/* Memory for a coordinate of laplace at rank 20, about (fab_laplace_bytes) */
#define LAPLACE_BYTES 1000.0

enum {
    MANY_LEVELS = 20,    /* of a target; in fewer rows than twice as many they are names */
    EXACT_MOST = 5000,   /* features up to which exact is the default, however many rows */
    LAPLACE_MOST = 2000, /* and laplace, of what is neither a number nor for vga */
    VGA_ROWS =
        100000, /* rows up to which vga is; with more there is hardly a difference to laplace */
    VGA_FEW =
        4, /* rows for a coordinate up to which VGA_WORK is no limit: laplace is no faster there */
    FLOOR_RUNS = 3 /* networks of a fold, for a floor of the noise that is automatic */
};

fab_status fab_regression_of_data(const fab_regression *r, fab_status s)
{
    return fab_about(fab_data_name(&r->data), s == FAB_BAD_ARGUMENT ? FAB_BAD_DATA : s);
}

/* ---- life --------------------------------------------------------------------------------------------- */

void fab_regression_free(fab_regression *r)
{
    if (!r) return;
    fab_regression_forget_view(r);
    fab_fitting_close(&r->fit);
    fab_posterior_free(r->prior);
    fab_posterior_free(r->loaded);
    fab_dataset_free(r->table);
    fab_dataset_free(r->left_out);
    fab_release(r->eta);
    fab_release(r->process);
    fab_scaling_free(r->scaling);
    fab_feed_close(r->feed);
    fab_order_close(&r->order);
    fab_map_close(&r->map);
    fab_prequential_free(r->ahead);
    fab_release(r->constant);
    for (int64_t i = 0; i < r->keys; i++) fab_release((char *)(uintptr_t)r->key[i].column);
    fab_release(r->key);
    fab_release(r->left);
    fab_release(r->settings);
    fab_release(r->name);
    fab_release(r);
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static int has_classes(const fab_regression *r)
{
    return fab_likelihood_target(r->fit.what.likelihood) == FAB_TARGET_CLASSES;
}

static fab_status named_likelihood(fab_regression *r)
{
    const char *name = r->plan.likelihood;
    if (!name) return FAB_OK;
    for (int i = 0; fab_likelihood_names[i]; i++)
        if (strcmp(name, fab_likelihood_names[i]) == 0) {
            r->fit.what.likelihood = (fab_likelihood)i;
            return FAB_OK;
        }
    return fab_no_such(
        FAB_BAD_ARGUMENT, "likelihood", name, fab_likelihood_names, FAB_LIKELIHOODS,
        "; gaussian, bernoulli, categorical, poisson and negative-binomial are there");
}

static fab_status check_effort(const fab_regression *r)
{
    const fab_effort *e;
    FAB_TRY(fab_effort_find(r->plan.effort, &e));
    if (!r->plan.effort || r->searches) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "effort is for model mlp or auto, where rows left out choose "
                    "the network; here it is %s",
                    r->plan.model ? r->plan.model : "linear");
}

/* What a formula says of the model. */
static fab_status take_formula(fab_regression *r)
{
    if (!r->table->no_intercept) return FAB_OK;
    if (r->fit.what.layers)
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "formula: -1 is for linear models; the layers of a network have their biases");
    r->plan.no_intercept = 1;
    r->fit.what.intercept = 0;
    return FAB_OK;
}

fab_status fab_regression_open(fab_regression **r, const fab_data *d, const fab_plan *p,
                               const fab_exec *x)
{
    fab_regression *new;
    *r = NULL;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "regression"));
    *new = (fab_regression){.data = *d, .resumable = 1};
    if (p) new->plan = *p;
    if (x) new->exec = *x;
    const char *model = new->plan.model;
    if (model && strcmp(model, "mlp") == 0) new->searches = FAB_SEARCH_NETWORK;
    if (model && strcmp(model, "auto") == 0) new->searches = FAB_SEARCH_MODEL;
    if (new->searches) model = "mlp:50"; /* until one is chosen */
    fab_status s = fab_map_read(&new->map, model);
    const char *kernel = model && strncmp(model, "gp:", 3) == 0 ? model + 3 : NULL;
    const int linear = !model || kernel || new->map.kind || strcmp(model, "linear") == 0;
    new->fit.what = (fab_recipe){.layers = linear ? NULL : model,
                                 .kernel = kernel,
                                 .nu = new->plan.nu,
                                 .standardise = !new->plan.no_scale,
                                 .intercept = !new->plan.no_intercept,
                                 .features = new->map.kind ? new->plan.model : NULL};
    if (s == FAB_OK) s = check_effort(new);
    if (s == FAB_OK && model && strcmp(model, "gp") == 0)
        s = FAB_FAIL(FAB_BAD_ARGUMENT, "model gp needs its kernel, as gp:rbf:ard");
    if (s == FAB_OK) s = fab_calibration_find(new->plan.calibrate, &new->calibration.way);
    if (s == FAB_OK) s = named_likelihood(new);
    if (s == FAB_OK) s = fab_regression_open_rows(new);
    if (s == FAB_OK) s = take_formula(new);
    if (s == FAB_OK)
        *r = new;
    else
        fab_regression_free(new);
    return s;
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

/* Two levels are bernoulli, other words categorical, other numbers gaussian. */
static fab_status choose_likelihood(fab_regression *r)
{
    const fab_dataset *t = r->table;
    const int64_t levels = fab_dataset_levels(t, 3);
    fab_likelihood *l = &r->fit.what.likelihood;
    if (r->plan.likelihood) {
        if (*l == FAB_LIKELIHOOD_BERNOULLI && levels > 2)
            return FAB_FAIL(FAB_BAD_DATA,
                            "%s: target '%s' has more than two levels; bernoulli needs two, and "
                            "categorical takes any number",
                            fab_data_name(&r->data), t->target_name);
        return FAB_OK;
    }
    r->guessed = 1;
    if (t->target_words.n >= MANY_LEVELS && 2 * t->target_words.n > t->n)
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: target '%s' has %lld different words in %lld rows: they name the rows "
                        "and are no classes; --dates numbers reads dates as numbers, and "
                        "--likelihood categorical takes them for classes all the same",
                        fab_data_name(&r->data), t->target_name, (long long)t->target_words.n,
                        (long long)t->n);
    *l = t->target_words.n ? FAB_LIKELIHOOD_CATEGORICAL : FAB_LIKELIHOOD_GAUSSIAN;
    if (levels == 2) *l = FAB_LIKELIHOOD_BERNOULLI;
    return FAB_OK;
}

int64_t fab_regression_features(const fab_regression *r)
{
    return r->map.kind ? r->map.m : fab_dataset_features(r->table);
}

/* Classes whose coordinates vga takes: of fewer rows than features, and no prior that is given, a coordinate for each row. */
static int suits_vga(const fab_regression *r)
{
    const fab_dataset *t = r->table;
    if (!has_classes(r) || t->n > VGA_ROWS) return 0;
    const int64_t all = fab_regression_features(r);
    const int wide = t->n < all && !r->plan.prior && !r->plan.prior_gauss;
    const int64_t features = (wide ? t->n : all) + 1; /* and the intercept */
    const int64_t most = FAB_VGA_MAX / features;
    const int several = fab_likelihood_row_of(r->fit.what.likelihood)->several;
    const int64_t classes = several ? fab_dataset_levels(t, most + 1) : 1;
    const double n = (double)t->n, C = (double)classes, P = C * (double)features;
    if (several && n * C > VGA_NODES) return 0;
    if (wide && C * ((double)all + 1) * n * C > VGA_WIDE) return 0;
    return classes <= most && (n * P * P <= VGA_WORK || n <= VGA_FEW * P);
}

/* Is there what a stream alone does, or starts from? */
static int asks_for_stream(const fab_regression *r)
{
    const fab_plan *p = &r->plan;
    return p->checkpoint || p->resume || p->scale_rows || p->scaling || p->prior ||
           p->prior_gauss || r->exec.comm;
}

static int64_t columns_of(const fab_regression *r)
{
    return r->table->formula || r->map.kind ? fab_regression_features(r) : r->table->columns;
}

static int is_exact(const fab_regression *r)
{
    return r->fit.what.likelihood == FAB_LIKELIHOOD_GAUSSIAN && r->plan.nu == 0;
}

/* More columns than a batch method takes of any number of rows */
static int is_wide(const fab_regression *r)
{
    return columns_of(r) > (is_exact(r) ? EXACT_MOST : LAPLACE_MOST);
}

/* Are the rows at hand all there are, and few enough for the batch method of a wide table? */
static int suits_batch(const fab_regression *r)
{
    const fab_dataset *t = r->table;
    const int several = fab_likelihood_row_of(r->fit.what.likelihood)->several;
    const double columns = (double)columns_of(r);
    if (asks_for_stream(r) || !fab_feed_at_end(r->feed)) return 0;
    if (is_exact(r)) return (double)t->n * columns <= EXACT_WIDE;
    if (r->fit.what.likelihood == FAB_LIKELIHOOD_POISSON) return 0; /* studies/wide-tables */
    const double classes = several ? (double)fab_dataset_levels(t, INT32_MAX) : 1;
    return 2 * LAPLACE_BYTES * columns * classes < r->limit;
}

const char *fab_regression_default_linear(const fab_regression *r)
{
    if (r->plan.nu != 0) return "laplace";
    if (is_wide(r) && !suits_batch(r)) return "lrvga";
    if (is_exact(r)) return "exact";
    return suits_vga(r) ? "vga" : "laplace";
}

/* Of a wide table more rows are read, as many as a batch method would take: only behind the last one is it known that there are no more. */
static fab_status look_ahead(fab_regression *r)
{
    const int counts = r->fit.what.likelihood == FAB_LIKELIHOOD_POISSON;
    if (r->plan.method || r->fit.what.layers || r->fit.what.kernel || counts || !is_wide(r) ||
        asks_for_stream(r))
        return FAB_OK;
    return fab_regression_read_on(r, columns_of(r), is_exact(r) ? EXACT_WIDE : INFINITY);
}

/* Exactly as far as gp goes by itself; beyond that numbers through inducing inputs, unless gp was told how far to go. */
static const char *default_process(const fab_regression *r)
{
    const fab_gp_settings usual = fab_gp_defaults();
    if (r->fit.what.likelihood != FAB_LIKELIHOOD_GAUSSIAN || r->table->n <= usual.exact_limit)
        return "gp";
    for (const char *const *text = r->plan.settings; text && *text; text++)
        if (strncmp(*text, "exact_limit=", strlen("exact_limit=")) == 0) return "gp";
    return "vfe";
}

/* Networks of a number: the mixture of modes whose noise rows left out have set.  Classes: so only where rows left out
 * choose alpha too; of a given network modes are better on tables that separate, and too sure of themselves on noisy ones, where more
 * is lost: studies/class-networks. */
static const char *default_method(const fab_regression *r)
{
    const int prior = r->plan.prior || r->plan.prior_gauss;
    if (r->fit.what.kernel) return default_process(r);
    if (!r->fit.what.layers) return fab_regression_default_linear(r);
    if (r->searches) return "ensemble";
    return r->fit.what.likelihood == FAB_LIKELIHOOD_GAUSSIAN && !prior ? "ensemble" : "vifa";
}

static fab_status choose_method(fab_regression *r)
{
    const char *name = r->plan.method ? r->plan.method : default_method(r);
    const char *layers = r->fit.what.layers;
    const fab_method *m = fab_method_find(name);
    if (!m) return FAB_FAIL(FAB_BAD_ARGUMENT, "there is no method '%s'", name);
    if (layers) m = fab_method_of_networks(m);
    if (m->takes & FAB_TAKES_VECTORS)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s fits vectors, not a target", m->name);
    if (layers && m->takes & FAB_TAKES_LINEAR)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s knows linear models, not %s", m->name, layers);
    if (r->fit.what.kernel && !(m->takes & FAB_TAKES_KERNEL))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s knows no Gaussian process: %s is for the methods gp, vfe, dtc and fitc",
                        m->name, r->plan.model);
    if (!r->fit.what.kernel && m->takes & FAB_TAKES_KERNEL)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s needs a model with a kernel, as gp:rbf:ard", m->name);
    if (r->map.kind && !(m->takes & FAB_TAKES_LINEAR))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s takes no features of a kernel: they are for methods of linear models, "
                        "and the model is %s",
                        m->name, r->plan.model);
    r->fit.what.method = m;
    return FAB_OK;
}

static fab_status choose(fab_regression *r)
{
    FAB_TRY(choose_likelihood(r));
    return choose_method(r);
}

/* "name=value" */
static fab_status set_text(fab_regression *r, const char *text)
{
    char name[64];
    const char *equals = strchr(text, '=');
    if (!equals || equals - text >= (ptrdiff_t)sizeof name)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "'%s' is no setting; name=value is", text);
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    return fab_regression_set(r, name, equals + 1);
}

/* Weights of features are normals of variance 1, and nothing else is added to a number, whose mean is taken off: the process
 * that has the kernel. */
static void suit_map(fab_regression *r)
{
    const fab_fields *t = r->fit.what.method->fields;
    fab_settings_choose(t, r->settings, "alpha", 1);
    if (r->fit.what.likelihood == FAB_LIKELIHOOD_GAUSSIAN) r->fit.what.intercept = 0;
}

fab_status fab_regression_choose(fab_regression *r)
{
    if (r->posterior || r->settings)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "regression: the method is chosen once, for data that was opened");
    FAB_TRY(choose_likelihood(r));
    FAB_TRY(look_ahead(r));
    FAB_TRY(choose(r));
    if (!r->fit.what.method->streams || r->plan.whole || r->fit.what.layers) {
        FAB_TRY(fab_regression_load_rows(r));
        FAB_TRY(choose(r)); /* all rows may say otherwise */
    }
    const fab_fields *t = r->fit.what.method->fields;
    FAB_TRY(fab_alloc_array(&r->settings, 1, t->size, t->method));
    fab_settings_defaults(t, r->settings);
    r->fit.settings = r->settings;
    fab_regression_open_search(r);
    if (r->map.kind) suit_map(r);
    if (r->plan.settings)
        for (const char *const *text = r->plan.settings; *text; text++) FAB_TRY(set_text(r, *text));
    return FAB_OK;
}

static fab_status check_chosen(const fab_regression *r)
{
    if (r->settings && !r->posterior && !r->fit.fit) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "regression: settings are set, and it is run, once its method is chosen "
                    "and only before it is fitted");
}

fab_status fab_regression_set(fab_regression *r, const char *name, const char *text)
{
    const fab_method *m = r->fit.what.method;
    FAB_TRY(check_chosen(r));
    if (!fab_settings_find(m->fields, name))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s has no setting %s", m->name, name);
    return fab_settings_parse(m->fields, r->settings, name, text);
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

static fab_status prepare_linear(fab_regression *r)
{
    const fab_recipe *w = &r->fit.what;
    if (r->plan.noise || r->plan.floor != 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "noise and floor are for networks; %s fits linear models",
                        w->method->name);
    if (w->nu != 0 && (w->likelihood != FAB_LIKELIHOOD_GAUSSIAN || !w->method->dispersion))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "nu is for the noise of gaussian targets, of linear models by laplace and "
                        "map; here %s fits a %s one",
                        w->method->name, fab_likelihood_name(w->likelihood));
    const fab_likelihood_row *l = fab_likelihood_row_of(w->likelihood);
    if (!l->noise && !l->dispersion &&
        fab_settings_number(w->method->fields, r->settings, "beta") > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "beta is the noise of a gaussian target; this one is %s",
                        fab_likelihood_name(w->likelihood));
    return FAB_OK;
}

/* What a plan asks for must mean something for the method. */
static fab_status check_plan(const fab_regression *r)
{
    const fab_plan *p = &r->plan;
    const fab_recipe *w = &r->fit.what;
    const char *given = p->checkpoint ? "checkpoint" : "resume", *kind = "linear model";
    if (w->layers) kind = "network";
    if (w->kernel) kind = "Gaussian process";
    if (p->scale_rows && (!w->method->streams || w->layers))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s takes its units from all rows: scale_rows is for streams",
                        w->method->name);
    if (p->scaling && w->kernel)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "a Gaussian process takes its units from all rows: a scaling is for linear "
                        "models and networks");
    if (p->scaling && (p->no_scale || p->scale_rows))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "a scaling that is given, and %s",
                        p->no_scale ? "nothing is to be standardised"
                                    : "rows that the units are to come from");
    if (!p->checkpoint && !p->resume) return FAB_OK;
    if (!p->output) return FAB_FAIL(FAB_BAD_ARGUMENT, "%s needs an output", given);
    if (w->method->streams ? w->layers != NULL : w->kernel || fab_fitting_is_linear(&r->fit))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s of a %s has nothing to %s", w->method->name, kind,
                        given);
    return FAB_OK;
}

/* A group or an order that nothing asks for. */
static fab_status check_folds(const fab_regression *r)
{
    const int asked = r->plan.whole || r->searches || r->calibration.way ||
                      (!fab_fitting_is_linear(&r->fit) && r->plan.floor == FAB_AUTO_F64);
    if (asked || (!r->table->group_name && !r->table->ordered)) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "this fit leaves no rows out, so that it asks for no %s: a search of settings, "
                    "calibration, a model of mlp or auto and an automatic floor of the noise do",
                    r->table->ordered ? "order of the rows" : "groups of rows");
}

fab_status fab_regression_prepare(fab_regression *r)
{
    FAB_TRY(check_chosen(r));
    if (r->prepared) return FAB_OK;
    if (!r->left_out) FAB_TRY(fab_calibration_split(r));
    if (fab_fitting_is_process(&r->fit))
        FAB_TRY(fab_regression_prepare_process(r));
    else
        FAB_TRY(fab_fitting_is_linear(&r->fit) ? prepare_linear(r)
                                               : fab_regression_prepare_network(r));
    FAB_TRY(check_plan(r));
    FAB_TRY(check_folds(r));
    r->prepared = 1;
    return FAB_OK;
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

static fab_status take_prior(fab_regression *r)
{
    const char *file = r->plan.prior;
    r->fit.prior = r->plan.prior_gauss;
    if (!file) return FAB_OK;
    FAB_TRY(fab_posterior_load(&r->prior, file));
    if (r->prior->mix.n != 1) return FAB_FAIL(FAB_BAD_FILE, "%s: is a mixture, and no prior", file);
    r->fit.prior = r->prior->mix.part[0];
    const char *scaling = fab_tensors_get(r->prior->file, "scaling");
    if (!scaling) return FAB_OK;
    const fab_status s = fab_scaling_from_json(&r->scaling, scaling);
    return fab_about(file, s == FAB_BAD_ARGUMENT ? FAB_BAD_FILE : s);
}

/* Names of columns that hardly vary: said, and left to the prior. */
static fab_status note_constants(fab_regression *r)
{
    const fab_dataset *t = r->table;
    char *is_constant;
    fab_release(r->constant);
    r->constants = 0;
    FAB_TRY(fab_alloc_array((void **)&r->constant, t->columns, sizeof *r->constant, "regression"));
    FAB_TRY(fab_alloc_array((void **)&is_constant, t->columns, 1, "regression"));
    const fab_status s = fab_dataset_constants(t, is_constant);
    if (s == FAB_OK)
        for (int64_t c = 0; c < t->columns; c++)
            if (is_constant[c]) r->constant[r->constants++] = t->name[c];
    fab_release(is_constant);
    return s;
}

/* Units of an earlier fit (`whose`: the prior), or those that were given: are they of these columns? */
static fab_status check_scaling(const fab_regression *r, const char *whose)
{
    const fab_scaling *k = r->scaling;
    const fab_dataset *t = r->table;
    const char *name = fab_data_name(&r->data);
    if (k->columns != t->columns)
        return FAB_FAIL(FAB_BAD_DATA, "%s: has %lld columns for features, and %s %lld", name,
                        (long long)t->columns, whose, (long long)k->columns);
    for (int64_t c = 0; c < k->columns; c++)
        if (strcmp(k->column[c].name, t->name[c]) != 0)
            return FAB_FAIL(FAB_BAD_DATA, "%s: column '%s' stands where %s has '%s'", name,
                            t->name[c], whose, k->column[c].name);
    if (strcmp(k->formula ? k->formula : "", t->formula ? t->formula : "") != 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s has the formula '%s', and this call '%s'", whose,
                        k->formula ? k->formula : "", t->formula ? t->formula : "");
    FAB_TRY(fab_map_check(&r->map, whose, k));
    if ((k->levels > 0) != has_classes(r))
        return FAB_FAIL(FAB_BAD_DATA, "%s: its target is %s, and %s's is not", name,
                        has_classes(r) ? "of classes" : "a number", whose);
    return FAB_OK;
}

/* A stream's first rows need not show every word and every class. */
static int needs_survey(const fab_regression *r)
{
    const fab_dataset *t = r->table;
    int64_t words = t->target_words.n;
    if (!r->fit.what.method->streams || t->level) return 0;
    for (int64_t c = 0; c < t->columns; c++) words += t->words[c].n;
    return words > 0 || r->fit.what.likelihood == FAB_LIKELIHOOD_CATEGORICAL;
}

/* Counts that are all 0 are as constant as any target: their rate may be as small as the prior likes (a mode at 1e-5, and a
 * mean of 1e180 where the curvature there is taken for a width).  A stream may yet see others. */
static fab_status check_counts(const fab_regression *r)
{
    const fab_dataset *t = r->table;
    const int counts = fab_likelihood_target(r->fit.what.likelihood) == FAB_TARGET_COUNTS;
    if (!counts || r->fit.what.method->streams || r->fit.prior || t->target_words.n) return FAB_OK;
    for (int64_t i = 0; i < t->n; i++)
        if (t->y[i] != 0) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA,
                    "%s: target '%s': all %lld counts are 0, and nothing says how small their rate "
                    "is; there is nothing to explain",
                    fab_data_name(&r->data), t->target_name, (long long)t->n);
}

static fab_status find_map(fab_regression *r)
{
    const int64_t rows = r->plan.scale_rows ? r->plan.scale_rows : FAB_SCALE_ROWS;
    FAB_TRY(fab_regression_of_data(
        r, fab_map_build(&r->map, r->scaling, r->table, r->fit.what.likelihood, rows,
                         !r->fit.what.method->streams, &r->mapped, &r->fit.left.most, &r->exec)));
    const double left = r->fit.left.most > 0 ? 0 : r->mapped.left; /* a bound's noise has it */
    if (r->mapped.noise > 0) r->fit.guess = 1 / (r->mapped.noise + left);
    return FAB_OK;
}

/* Units of the rows at hand; of a stream those of its first rows, however many were read to choose its method. */
static fab_status units_of_rows(fab_regression *r, fab_scaling **k)
{
    const int64_t rows =
        fab_map_rows(&r->map, r->plan.scale_rows ? r->plan.scale_rows : FAB_SCALE_ROWS);
    fab_target target = FAB_TARGET_COUNTS;
    if (needs_survey(r)) FAB_TRY(fab_regression_survey(r));
    if (r->fit.what.likelihood == FAB_LIKELIHOOD_GAUSSIAN) target = FAB_TARGET_REAL;
    if (has_classes(r)) target = FAB_TARGET_CLASSES;
    fab_dataset t = *r->table;
    if (r->fit.what.method->streams && !r->fit.what.layers && !r->plan.whole && t.n > rows)
        t.n = rows;
    FAB_TRY(fab_regression_of_data(
        r, (r->fit.what.steps ? fab_scaling_create_steps : fab_scaling_create)(
               k, &t, target, !r->plan.no_scale, !r->plan.no_intercept)));
    return r->map.kind && k == &r->scaling ? find_map(r) : FAB_OK;
}

/* What units may not be for this model. */
static fab_status check_given(const fab_regression *r)
{
    const fab_scaling *k = r->scaling;
    const int is_number = r->fit.what.likelihood == FAB_LIKELIHOOD_GAUSSIAN;
    if (!is_number && (k->target_mean != 0 || k->target_scale != 1))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "the scaling has a target of mean %g and scale %g, and that of a %s model "
                        "has no unit",
                        k->target_mean, k->target_scale,
                        fab_likelihood_name(r->fit.what.likelihood));
    if (r->table->fills && !k->fill)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "the scaling has nothing to fill a missing value with");
    if (!r->plan.no_intercept) return FAB_OK;
    int64_t moved = k->target_mean != 0;
    for (int64_t d = 0; d < k->D; d++) moved += k->mean[d] != 0;
    if (!moved) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "a model without intercept is not centred, and the scaling has means "
                    "other than 0");
}

/* A copy of the units that were given, of these rows: roles have the names that they have here, and classes that it lacks are theirs. */
static fab_status take_scaling(fab_regression *r)
{
    const fab_dataset *t = r->table;
    fab_scaling *k, *own = NULL;
    char *json;
    if (r->scaling)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "a scaling, and a prior that has units of its own");
    FAB_TRY(fab_scaling_json(r->plan.scaling, &json));
    const fab_status read = fab_scaling_from_json(&r->scaling, json);
    fab_text_free(json);
    if (read != FAB_OK) return read == FAB_NO_MEMORY ? read : FAB_BAD_ARGUMENT;
    k = r->scaling;
    fab_release(k->target);
    fab_release(k->weight);
    fab_release(k->offset);
    k->target = k->weight = k->offset = NULL;
    k->sparse = t->sparse;
    k->dialect = t->dialect;
    FAB_TRY(fab_copy_text(&k->target, t->target_name));
    FAB_TRY(fab_copy_text(&k->weight, t->weight_name));
    FAB_TRY(fab_copy_text(&k->offset, t->offset_name));
    if (has_classes(r) && !k->levels) {
        FAB_TRY(units_of_rows(r, &own));
        k->levels = own->levels;
        k->level = own->level;
        k->level_name = own->level_name;
        own->levels = 0;
        own->level = NULL;
        own->level_name = NULL;
        fab_scaling_free(own);
    }
    FAB_TRY(check_scaling(r, "the scaling"));
    return check_given(r);
}

static fab_status find_units(fab_regression *r)
{
    FAB_TRY(take_prior(r));
    FAB_TRY(check_counts(r));
    FAB_TRY(note_constants(r));
    if (r->plan.scaling) return take_scaling(r);
    return r->scaling ? check_scaling(r, "the prior") : units_of_rows(r, &r->scaling);
}

static fab_status begin(fab_regression *r)
{
    FAB_TRY(fab_fitting_model(&r->fit));
    r->limit = r->plan.memory > 0 ? r->plan.memory : fab_memory_free();
    r->needed = fab_fitting_bytes(&r->fit, r->fit.what.method->streams ? 0 : r->table->n);
    if (r->map.kind) r->needed += 8.0 * (double)r->table->n * (double)r->scaling->D;
    if (r->needed > r->limit) {
        r->large = FAB_LARGE_METHOD;
        return FAB_FAIL(FAB_NO_MEMORY,
                        "%s: %s needs %.3g MB for %lld features, and %.3g MB are there",
                        fab_data_name(&r->data), r->fit.what.method->name, 1e-6 * r->needed,
                        (long long)r->scaling->D, 1e-6 * r->limit);
    }
    return fab_fitting_open(&r->fit);
}

fab_status fab_regression_run(fab_regression *r)
{
    struct stat there;
    FAB_TRY(fab_regression_prepare(r));
    if (!fab_fitting_is_linear(&r->fit) && !fab_fitting_is_process(&r->fit))
        FAB_TRY(fab_regression_choose_noise(r)); /* beta may be another since */
    FAB_TRY(find_units(r));
    if (fab_fitting_is_linear(&r->fit))
        FAB_TRY(fab_regression_check_reference(r, r->plan.reference));
    r->fit.units = r->scaling;
    r->fit.exec = r->exec;
    fab_regression_watch(r);
    if (r->plan.resume && stat(r->plan.output, &there) == 0)
        FAB_TRY(fab_regression_resume(r));
    else
        FAB_TRY(begin(r));
    if (!r->ahead) FAB_TRY(fab_regression_open_scores(r, NULL));
    FAB_TRY(fab_regression_take_rows(r));
    FAB_TRY(fab_calibration_run(r));
    return r->plan.output ? fab_regression_write(r, r->plan.output, 0) : FAB_OK;
}

fab_status fab_regression_fit(fab_regression **r, const fab_data *d, const fab_plan *p,
                              const fab_exec *x)
{
    FAB_TRY(fab_regression_open(r, d, p, x));
    fab_status s = fab_regression_choose(*r);
    if (s == FAB_OK) s = fab_regression_run(*r);
    if (s == FAB_OK) return FAB_OK;
    fab_regression_free(*r);
    *r = NULL;
    return s;
}

/* ---- more rows ---------------------------------------------------------------------------------------- */

static fab_status open_more(fab_regression *r, const fab_data *d)
{
    r->data = *d;
    r->plan = (fab_plan){0};
    r->resumable = 0;
    r->rows = r->dropped = r->constants = 0;
    r->guessed = 0;
    r->density = r->needed = 0;
    if (r->ahead)
        fab_prequential_call(r->ahead, fab_fit_rows(r->fit.fit), 0);
    else
        FAB_TRY(fab_regression_open_scores(r, NULL)); /* a network that was fitted here */
    fab_order_close(&r->order);
    fab_dataset_free(r->table);
    fab_feed_close(r->feed);
    r->table = NULL;
    r->feed = NULL;
    FAB_TRY(fab_feed_open_data_as(&r->feed, d, r->scaling, FAB_READ_WEIGHT));
    fab_feed_watch(r->feed, &r->exec);
    return fab_regression_of_data(r, fab_feed_table(r->feed, &r->table));
}

fab_status fab_regression_update(fab_regression *r, const fab_data *d)
{
    const char *method = fab_regression_method(r) ? fab_regression_method(r)->name : NULL;
    if (!method) return FAB_FAIL(FAB_BAD_FILE, "%s: says no method that is known", r->name);
    if (!fab_method_continues(fab_regression_method(r)))
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s is a batch method, and cannot be continued; fit again with all rows",
                        method);
    if (r->calibration.way)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s is calibrated by rows left out, and more rows would make that false",
                        r->name ? r->name : "the regression");
    if (!r->fit.fit) FAB_TRY(fab_regression_continue(r));
    fab_regression_forget_view(r);
    FAB_TRY(open_more(r, d));
    return fab_regression_take_rows(r);
}
