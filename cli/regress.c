/* regress.c - `fabayes fit`: a linear model, or a network, of one column of DATA.
 *
 * SPDX-License-Identifier: MIT */
#include "learned.h"
#include "saved.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    EXACT_MOST = 5000,   /* features up to which exact is the default */
    LAPLACE_MOST = 2000, /* and laplace */
    SCALE_ROWS = 1000
};

typedef struct fit_call {
    learning l;
    const char *method, *likelihood, *k, *seed, *prior, *model, *noise;
    int64_t missing, dtype, resume, json;
    int guessed; /* the likelihood is a guess */
} fit_call;

/* ---- the likelihood --------------------------------------------------------------------------------- */

static int named_likelihood(fit_call *c)
{
    if (!c->likelihood) return DONE;
    for (int i = 0; fab_likelihood_names[i]; i++)
        if (strcmp(c->likelihood, fab_likelihood_names[i]) == 0) {
            c->l.kind = (fab_likelihood)i;
            return DONE;
        }
    const char *near = fab_nearest(c->likelihood, fab_likelihood_names, 4);
    if (near)
        return say_wrong("fit: there is no likelihood '%s'; did you mean '%s'?", c->likelihood,
                         near);
    return say_wrong("fit: there is no likelihood '%s'; gaussian, bernoulli, categorical and "
                     "poisson are there",
                     c->likelihood);
}

/* Two levels are bernoulli, other words categorical, other numbers gaussian. */
static int choose_likelihood(fit_call *c)
{
    const fab_dataset *t = c->l.table;
    const int64_t levels = fab_dataset_levels(t, 3);
    if (c->likelihood && c->l.kind == FAB_BERNOULLI && levels > 2)
        return say_failed("%s: target '%s' has more than two levels; bernoulli needs two, and "
                          "categorical takes any number",
                          c->l.data.file, t->target_name);
    if (c->likelihood) return DONE;
    c->guessed = 1;
    c->l.kind = levels == 2 ? FAB_BERNOULLI : t->target_words.n ? FAB_CATEGORICAL : FAB_GAUSSIAN;
    return DONE;
}

/* ---- the method ------------------------------------------------------------------------------------- */

static const char *default_method(const fit_call *c)
{
    const int64_t columns = c->l.table->columns;
    if (c->l.layers) return "sgd";
    if (c->l.kind == FAB_GAUSSIAN) return columns <= EXACT_MOST ? "exact" : "lrvga";
    return columns <= LAPLACE_MOST ? "laplace" : "lrvga";
}

/* The mode of a network is found by sgd. */
static const char *chosen_method(const fit_call *c)
{
    if (!c->method) return default_method(c);
    return c->l.layers && strcmp(c->method, "map") == 0 ? "sgd" : c->method;
}

static int choose_method(fit_call *c, const fab_method **m)
{
    const int status = method_named(m, chosen_method(c));
    if (status != DONE) return status;
    if (!(*m)->infer)
        return say_wrong("fit: %s fits vectors, not a target; `fabayes fa` runs it", (*m)->name);
    if (c->l.layers && !(*m)->infer->init_model)
        return say_wrong("fit: %s knows linear models, not %s", (*m)->name, c->l.layers);
    return DONE;
}

static int choose(fit_call *c, const fab_method **m)
{
    const int status = choose_likelihood(c);
    return status == DONE ? choose_method(c, m) : status;
}

static int find_settings(void *ctx, const fab_table **table, void **settings)
{
    fit_call *c = ctx;
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
    if (status == DONE && !m->streams) {
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

static int put_text(const fit_call *c, const char *name, const char *text)
{
    const fab_table *t = c->l.method->table;
    if (!text) return DONE;
    if (!fab_settings_find(t, name))
        return say_wrong("fit: %s has no setting %s", c->l.method->name, name);
    const fab_status s = fab_settings_parse(t, c->l.settings, name, text);
    return s == FAB_OK ? DONE : say_status(s);
}

static int put_glm(fit_call *c, fab_glm_settings *s)
{
    if (s->D || s->classes != 1 || !s->intercept || s->likelihood)
        return say_wrong("fit: D and classes come from DATA, the intercept from --no-intercept, "
                         "the likelihood from --likelihood; they are no settings here");
    s->likelihood = c->l.kind;
    s->intercept = !c->l.no_intercept;
    if (c->l.kind != FAB_GAUSSIAN && s->beta > 0)
        return say_wrong("fit: beta is the noise of a gaussian target; this one is %s",
                         fab_likelihood_name(c->l.kind));
    return DONE;
}

/* The noise of a gaussian target is held where beta is given, and else learned. */
static int put_model(fit_call *c, const fab_model_settings *s)
{
    learning *l = &c->l;
    if (l->no_intercept)
        return say_wrong("fit: --no-intercept is for linear models; layers have their biases");
    l->noise = s->beta > 0 || l->kind != FAB_GAUSSIAN ? FAB_NOISE_FIXED : FAB_NOISE_LEARNED;
    if (!c->noise) return DONE;
    if (l->kind != FAB_GAUSSIAN) return say_wrong("fit: --noise is for a gaussian target");
    for (int i = 0; fab_noise_names[i]; i++)
        if (strcmp(c->noise, fab_noise_names[i]) == 0) {
            l->noise = i;
            return DONE;
        }
    return say_wrong("fit: --noise is fixed, learned or output, not '%s'", c->noise);
}

static int put_settings(fit_call *c)
{
    fab_glm_settings *glm = learning_glm(&c->l);
    int status = put_text(c, "K", c->k);
    if (status == DONE) status = put_text(c, "seed", c->seed);
    if (status != DONE) return status;
    if (glm && c->noise) return say_wrong("fit: --noise is for networks");
    return glm ? put_glm(c, glm) : put_model(c, c->l.settings);
}

/* Options that need one another. */
static int check_call(const fit_call *c)
{
    const learning *l = &c->l;
    const char *given = l->checkpoint ? "checkpoint" : "resume";
    if (!l->checkpoint && !c->resume) return DONE;
    if (!l->output) return say_wrong("fit: --%s needs -o FILE", given);
    if (!l->method->streams && learning_glm(l))
        return say_wrong("fit: %s is a batch method: there is nothing to --%s", l->method->name,
                         given);
    return DONE;
}

/* ---- the fit ------------------------------------------------------------------------------------------ */

/* Units, and the settings that come from them. */
static int scale(fit_call *c)
{
    learning *l = &c->l;
    int status = c->prior ? learning_take_prior(l, c->prior) : DONE;
    if (status == DONE) status = learning_scale(l);
    fab_glm_settings *s = learning_glm(l);
    if (status != DONE || !s) return status;
    s->D = l->scaling->D;
    if (l->kind == FAB_CATEGORICAL) s->classes = l->scaling->levels;
    return DONE;
}

/* Behind the rows that the file has seen. */
static int skip(fit_call *c, const fab_tensors *t)
{
    learning *l = &c->l;
    if (!l->method->streams) return DONE; /* a network goes on with the same table */
    const char *read = fab_tensors_get(t, "read");
    const int64_t behind = read ? strtoll(read, NULL, 10) : -1;
    if (behind < fab_feed_rows(l->feed))
        return say_failed("%s: is not a file that this call left behind", l->output);
    const fab_status s = fab_feed_skip(l->feed, behind - fab_feed_rows(l->feed));
    fab_dataset_clear(l->table);
    l->rows = 0;
    return s == FAB_OK ? DONE : say_status_of(l->data.file, s);
}

static int resume(fit_call *c)
{
    learning *l = &c->l;
    fab_tensors *t = NULL;
    const fab_status s = fab_tensors_read(&t, l->output);
    if (s != FAB_OK) return say_status(s);
    const fab_dtype type = l->method->streams ? (fab_dtype)c->dtype : FAB_F64;
    int status = saved_check_method(l->output, t, "fit", l->method, type);
    if (status == DONE)
        status = saved_check_settings(l->output, fab_tensors_get(t, "settings"), l->method->table,
                                      l->settings, NULL);
    if (status == DONE) status = learning_resume(l, l->output, t);
    if (status == DONE) status = skip(c, t);
    fab_tensors_free(t);
    return status;
}

static int begin(fit_call *c)
{
    struct stat there;
    const int again = c->resume && stat(c->l.output, &there) == 0;
    return again ? resume(c) : learning_begin(&c->l);
}

static int fit_all(fit_call *c)
{
    learning *l = &c->l;
    l->exec =
        (fab_exec){.ops = fab_ops_find("cpu", (fab_dtype)c->dtype), .threads = l->exec.threads};
    int status = l->output ? output_check(l->output, l->data.file) : DONE;
    if (status == DONE) status = put_settings(c);
    if (status == DONE) status = check_call(c);
    if (status == DONE) status = scale(c);
    if (status == DONE) status = begin(c);
    if (status == DONE) status = learning_rows(l);
    if (status == DONE) status = learning_save(l);
    return status == DONE ? learned_say(l, c->guessed, c->json) : status;
}

static int run(const verb *self, int argc, char **argv)
{
    fit_call c = {
        .l = {.verb = "fit", .start = fab_clock(), .scale_rows = SCALE_ROWS, .resumable = 1}};
    learning *l = &c.l;
    // clang-format off
    const option options[] = {
        {"target", 'y', OPT_TEXT, &l->columns.target, "TARGET", 0, 0, NULL, "the column to explain: name, 0-based number or last"},
        {"model", 0, OPT_TEXT, &c.model, "MODEL", 0, 0, NULL, "linear (default), mlp:50, mlp:64,64:tanh or layers: input:1x28x28,conv:8x3,relu,pool:2,flatten,dense:64,relu"},
        {"method", 'm', OPT_TEXT, &c.method, "METHOD", 0, 0, NULL, "see `fabayes methods` (default: exact, or laplace where there is no closed form; lrvga for many features; sgd for networks)"},
        {"likelihood", 0, OPT_TEXT, &c.likelihood, "L", 0, 0, NULL, "gaussian, bernoulli, categorical or poisson (default: two levels bernoulli, other words categorical, else gaussian)"},
        {NULL, 'k', OPT_TEXT, &c.k, "K", 0, 0, NULL, "rank, where the method has one"},
        OPTION_OUTPUT(&l->output, "save the posterior, the model and the scaling"),
        {"prior", 0, OPT_TEXT, &c.prior, "FILE", 0, 0, NULL, "a Gaussian over the coefficients; of an earlier fit: its posterior, in its units"},
        {"weight", 0, OPT_TEXT, &l->columns.weight, "COLUMN", 0, 0, NULL, "weights of the rows, more than 0"},
        {"offset", 0, OPT_TEXT, &l->columns.offset, "COLUMN", 0, 0, NULL, "numbers added to the linear predictor"},
        {"missing", 0, OPT_CHOICE, &c.missing, "WAY", 0, 0, fab_missing_names, "refuse, drop the row, or take the mean (default refuse)"},
        {"categorical", 0, OPT_TEXT, &l->data.categorical, "COLUMNS", 0, 0, NULL, "columns of numbers to read as words, separated by commas"},
        {"no-scale", 0, OPT_FLAG, &l->no_scale, NULL, 0, 0, NULL, "do not standardise: the prior acts on the raw coefficients"},
        {"no-intercept", 0, OPT_FLAG, &l->no_intercept, NULL, 0, 0, NULL, "no intercept, and nothing is centred"},
        {"noise", 0, OPT_TEXT, &c.noise, "KIND", 0, 0, NULL, "of a network's gaussian target: fixed, learned or output (default: learned, fixed where beta is given)"},
        {"scale-rows", 0, OPT_I64, &l->scale_rows, "N", 1, 0x1p40, NULL, "rows that the units of a stream come from (default 1000)"},
        {"checkpoint", 0, OPT_I64, &l->checkpoint, "N", 1, 0x1p53, NULL, "save to the output every N rows, or epochs of a network"},
        {"resume", 0, OPT_FLAG, &c.resume, NULL, 0, 0, NULL, "go on from the output, to the same bytes"},
        {"memory", 0, OPT_F64, &l->memory, "MB", 0.001, 1e9, NULL, "for the whole fit (default: what is free)"},
        OPTION_FORMAT(&l->data.format),
        OPTION_ROWS(&l->data.rows),
        OPTION_FEATURES(&l->data.features),
        OPTION_DTYPE(&c.dtype, "element type of F and of the work (default f64)"),
        {"seed", 0, OPT_TEXT, &c.seed, "N", 0, 0, NULL, "seed of the random numbers (default: the method's)"},
        OPTION_THREADS(&l->exec.threads),
        OPTION_JSON(&c.json),
        OPTION_QUIET(&l->quiet),
    };
    // clang-format on
    const call_shape shape = {options, COUNT(options), &l->data.file, 1, 1, find_settings, &c};
    int status;
    if (options_parse(self, &shape, argc, argv, NULL, &status)) status = fit_all(&c);
    learning_close(l);
    return status;
}

const verb verb_fit = {"fit", "DATA -y TARGET [-m METHOD]",
                       "a model of one column of DATA: linear or a network", run};
