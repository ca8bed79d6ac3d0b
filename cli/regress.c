/* regress.c - `fabayes fit`: a linear or generalised linear model of one column of DATA.
 *
 * SPDX-License-Identifier: MIT */
#include "linear.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_MOST = 5000 }; /* features up to which exact is the default */

typedef struct fit_call {
    data_options data;
    fab_columns columns;
    const char *method, *likelihood, *k, *output, *seed;
    int64_t no_scale, no_intercept, json, quiet, threads;

    fab_dataset *table;
    fab_scaling *scaling;
    fab_likelihood kind;
    int guessed, counts; /* the likelihood is a guess; the target could be counts */
    char **constant;     /* names of features that hardly vary */
    int64_t constants;
    const fab_method *m;
    fab_glm_settings *settings; /* of the method, which begins with these */
    fab_infer *infer;
    double start;
} fit_call;

/* ---- the data --------------------------------------------------------------------------------------- */

static int load(fit_call *c)
{
    fab_source *source = NULL;
    int status = table_open(&source, &c->data);
    if (status != DONE) return status;
    const int labelled = fab_source_format(source) == FAB_FORMAT_LIBSVM;
    if (!c->columns.target && !labelled)
        status = say_wrong("fit: -y TARGET, the column to explain, is missing");
    else if (c->data.features && !labelled)
        status = say_wrong("%s: --features is for libsvm files", c->data.file);
    if (status == DONE) {
        const fab_status s = fab_dataset_read(&c->table, source, &c->columns);
        if (s == FAB_BAD_ARGUMENT)
            status = say_wrong("%s: %s", c->data.file, fab_detail());
        else if (s != FAB_OK)
            status = say_status_of(c->data.file, s);
    }
    fab_source_close(source);
    return status;
}

static int is_count(double y)
{
    return y >= 0 && y == floor(y);
}

static int choose_likelihood(fit_call *c)
{
    const fab_dataset *t = c->table;
    const int64_t levels = fab_dataset_levels(t, 3);
    if (c->likelihood && c->kind == FAB_BERNOULLI && levels > 2)
        return say_failed("%s: target '%s' has more than two levels; bernoulli needs two",
                          c->data.file, t->target_name);
    if (c->likelihood) return DONE;
    c->guessed = c->counts = 1;
    c->kind = levels == 2 ? FAB_BERNOULLI : FAB_GAUSSIAN;
    for (int64_t i = 0; i < t->n && c->counts; i++) c->counts = is_count(t->y[i]);
    c->counts &= c->kind == FAB_GAUSSIAN;
    return DONE;
}

static int named_likelihood(fit_call *c)
{
    if (!c->likelihood) return DONE;
    for (int i = 0; fab_likelihood_names[i]; i++)
        if (strcmp(c->likelihood, fab_likelihood_names[i]) == 0) {
            c->kind = (fab_likelihood)i;
            if (c->kind == FAB_CATEGORICAL)
                return say_wrong("fit: --likelihood categorical is not offered; bernoulli tells "
                                 "two classes apart");
            return DONE;
        }
    const char *near = fab_nearest(c->likelihood, fab_likelihood_names, 4);
    if (near)
        return say_wrong("fit: there is no likelihood '%s'; did you mean '%s'?", c->likelihood,
                         near);
    return say_wrong("fit: there is no likelihood '%s'; gaussian, bernoulli and poisson are there",
                     c->likelihood);
}

/* Names of columns that hardly vary: said, and left to the prior. */
static int note_constants(fit_call *c)
{
    const fab_dataset *t = c->table;
    c->constant = malloc((size_t)t->D * sizeof *c->constant);
    if (!c->constant) return say_failed("out of memory");
    for (int64_t d = 0; d < t->D; d++)
        if (fab_dataset_is_constant(t, d)) c->constant[c->constants++] = t->name[d];
    return DONE;
}

static int scale(fit_call *c)
{
    const fab_target target = c->kind == FAB_GAUSSIAN    ? FAB_TARGET_REAL
                              : c->kind == FAB_BERNOULLI ? FAB_TARGET_CLASSES
                                                         : FAB_TARGET_COUNTS;
    int status = note_constants(c);
    if (status != DONE) return status;
    fab_status s =
        fab_scaling_create(&c->scaling, c->table, target, !c->no_scale, !c->no_intercept);
    if (s == FAB_OK) s = fab_scaling_apply(c->scaling, c->table);
    return s == FAB_OK ? DONE : say_status_of(c->data.file, s);
}

/* ---- the method ------------------------------------------------------------------------------------- */

static int choose_method(fit_call *c)
{
    const char *name = c->method;
    if (!name && c->kind != FAB_GAUSSIAN) name = "laplace";
    if (!name) name = c->table->D <= EXACT_MOST ? "exact" : "lrvga";
    if (!c->method && !fab_method_find(name))
        return say_wrong(
            "fit: no method is there for this %s target by default; `fabayes methods` lists them",
            fab_likelihood_name(c->kind));
    const int status = method_named(&c->m, name);
    if (status == DONE && !c->m->infer)
        return say_wrong("fit: %s fits vectors, not a target; `fabayes fa` runs it", c->m->name);
    return status;
}

static int find_settings(void *ctx, const fab_table **table, void **settings)
{
    fit_call *c = ctx;
    int status = named_likelihood(c);
    progress_open(c->quiet);
    fab_set_progress(progress_tick, NULL); /* Ctrl-C is heard while the library works */
    if (status == DONE) status = load(c);
    if (status == DONE) status = choose_likelihood(c);
    if (status == DONE) status = choose_method(c);
    if (status != DONE) return status;
    c->settings = malloc(c->m->table->size);
    if (!c->settings) return say_failed("out of memory");
    fab_settings_defaults(c->m->table, c->settings);
    *table = c->m->table;
    *settings = c->settings;
    return DONE;
}

static int put_text(const fit_call *c, const char *name, const char *text)
{
    if (!text) return DONE;
    if (!fab_settings_find(c->m->table, name))
        return say_wrong("fit: %s has no setting %s", c->m->name, name);
    const fab_status s = fab_settings_parse(c->m->table, c->settings, name, text);
    return s == FAB_OK ? DONE : say_status(s);
}

static int put_settings(fit_call *c)
{
    fab_glm_settings *s = c->settings;
    if (s->D || s->classes != 1 || !s->intercept)
        return say_wrong(
            "fit: D and classes come from DATA, the intercept from --no-intercept; they are no "
            "settings here");
    int status = put_text(c, "K", c->k);
    if (status == DONE) status = put_text(c, "seed", c->seed);
    s->D = c->table->D;
    s->likelihood = c->kind;
    s->intercept = !c->no_intercept;
    if (status == DONE && c->kind != FAB_GAUSSIAN && s->beta > 0)
        return say_wrong("fit: beta is the noise of a gaussian target; this one is %s",
                         fab_likelihood_name(c->kind));
    return status;
}

/* ---- the fit ---------------------------------------------------------------------------------------- */

static int infer(fit_call *c)
{
    const fab_dataset *t = c->table;
    const fab_examples e = {{t->x, FAB_F64, t->n, t->D}, t->y, t->weight, t->offset};
    const fab_exec exec = {.threads = c->threads};
    const fab_gauss *q;
    fab_status s = fab_infer_init(&c->infer, c->m, c->settings, NULL, &exec);
    if (s != FAB_OK) return say_status(s);
    s = fab_infer_update(c->infer, &e);
    if (s == FAB_OK) s = fab_infer_result(c->infer, &q);
    return s == FAB_OK ? DONE : say_status_of(c->data.file, s);
}

static int save(const fit_call *c)
{
    fab_tensors *more = NULL;
    char *text = NULL;
    if (!c->output) return DONE;
    fab_status s = fab_tensors_create(&more);
    if (s == FAB_OK) s = fab_scaling_json(c->scaling, &text);
    if (s == FAB_OK) s = fab_tensors_set(more, "scaling", text);
    if (s == FAB_BAD_ARGUMENT) s = FAB_BAD_DATA; /* a name in DATA that is not UTF-8 */
    if (s == FAB_OK) s = fab_infer_save(c->infer, c->output, more);
    fab_text_free(text);
    fab_tensors_free(more);
    return s == FAB_OK ? DONE : say_status(s);
}

/* Mean log p(y | x, the posterior mean) of the rows, in the user's units. */
static double loglik_mean(const fit_call *c, const fab_gauss *q, const fab_glm *m)
{
    const fab_dataset *t = c->table;
    double sum = 0;
    for (int64_t i = 0; i < t->n; i++) {
        double eta = m->intercept ? q->mu[m->D] : 0;
        for (int64_t d = 0; d < m->D; d++) eta += t->x[i * t->D + d] * q->mu[d];
        if (t->offset) eta += t->offset[i];
        sum += fab_glm_loglik(m, t->y[i], &eta, NULL, NULL);
    }
    return sum / (double)t->n - log(c->scaling->target_scale);
}

/* ---- what it says ------------------------------------------------------------------------------------ */

typedef struct found {
    const fab_gauss *q;
    fab_glm model;
    fab_inference r;
    double loglik, seconds;
} found;

static json_t *json_settings(const fit_call *c, const fab_inference *r)
{
    char *text = NULL;
    fab_glm_settings *s = c->settings;
    if (!(s->alpha > 0) && r->alpha > 0) s->alpha = r->alpha; /* as chosen */
    if (!(s->beta > 0) && r->beta > 0 && c->kind == FAB_GAUSSIAN) s->beta = r->beta;
    if (fab_settings_json(c->m->table, s, &text) != FAB_OK) return json_null();
    json_t *j = json_loads(text, 0, NULL);
    fab_text_free(text);
    return j ? j : json_null();
}

static int say_json(const fit_call *c, const found *f)
{
    json_t *j = json_object(), *names = json_array();
    for (int64_t i = 0; i < c->constants; i++)
        json_array_append_new(names, json_text(c->constant[i]));
    json_put(j, "method", json_text(c->m->name));
    json_put(j, "settings", json_settings(c, &f->r));
    json_put(j, "likelihood", json_text(fab_likelihood_name(c->kind)));
    json_put(j, "guessed", json_boolean(c->guessed));
    json_put(j, "target", json_text(c->scaling->target));
    json_put(j, "D", json_integer(f->model.D));
    json_put(j, "K", json_integer(f->q->K));
    json_put(j, "n", json_integer(f->r.n));
    json_put(j, "alpha", json_number(f->r.alpha));
    json_put(j, "beta", json_number(f->r.beta));
    json_put(j, "log_evidence", json_number(f->r.log_evidence));
    json_put(j, "loglik_mean", json_number(f->loglik));
    json_put(j, "floored", json_integer(f->r.floored));
    json_put(j, "iterations", json_integer(f->r.iterations));
    json_put(j, "converged", f->r.converged < 0 ? json_null() : json_boolean(f->r.converged));
    json_put(j, "constant_names", names);
    json_put(j, "seconds", json_number(f->seconds));
    json_put(j, "rows_per_s", json_number((double)f->r.n / f->seconds));
    return json_say(j);
}

static int say_table(const fit_call *c, const found *f)
{
    if (c->quiet) return DONE;
    printf("%s of '%s' (%s%s) on %" PRId64 " features, %" PRId64 " rows, %.3g s\n", c->m->name,
           c->scaling->target, fab_likelihood_name(c->kind),
           c->guessed ? ", guessed from its values" : "", f->model.D, f->r.n, f->seconds);
    if (c->counts)
        printf("whole numbers: if '%s' counts, say --likelihood poisson\n", c->scaling->target);
    printf("alpha = %.4g", f->r.alpha);
    if (c->kind == FAB_GAUSSIAN) printf(", beta = %.4g", f->r.beta);
    if (isfinite(f->r.log_evidence)) printf(", log evidence = %.6g", f->r.log_evidence);
    printf(" (fitting units), log-likelihood per row = %.6g\n", f->loglik);
    if (f->r.converged == 0)
        printf("not converged after %" PRId64 " iterations\n", f->r.iterations);
    for (int64_t i = 0; i < c->constants && i < 10; i++)
        printf("'%s' hardly varies: its coefficient is left to the prior\n", c->constant[i]);
    return DONE;
}

static int finish(const fit_call *c)
{
    found f = {0};
    fab_status s = fab_infer_result(c->infer, &f.q);
    if (s == FAB_OK) s = fab_infer_model(c->infer, &f.model);
    if (s == FAB_OK) s = fab_infer_report(c->infer, &f.r);
    if (s != FAB_OK) return say_status_of(c->data.file, s);
    const int status = save(c);
    if (status != DONE) return status;
    f.loglik = loglik_mean(c, f.q, &f.model);
    f.seconds = fab_clock() - c->start;
    progress_close();
    return c->json ? say_json(c, &f) : say_table(c, &f);
}

static int fit_all(fit_call *c)
{
    int status = c->output ? output_check(c->output, c->data.file) : DONE;
    if (status == DONE) status = put_settings(c);
    if (status == DONE) status = scale(c);
    if (status == DONE) status = infer(c);
    return status == DONE ? finish(c) : status;
}

static void close_all(fit_call *c)
{
    fab_infer_free(c->infer);
    fab_dataset_free(c->table);
    fab_scaling_free(c->scaling);
    free(c->constant);
    free(c->settings);
}

static int run(const verb *self, int argc, char **argv)
{
    fit_call c = {.start = fab_clock()};
    // clang-format off
    const option options[] = {
        {"target", 'y', OPT_TEXT, &c.columns.target, "TARGET", 0, 0, NULL, "the column to explain: name, 0-based number or last"},
        {"method", 'm', OPT_TEXT, &c.method, "METHOD", 0, 0, NULL, "see `fabayes methods` (default: exact, or laplace where there is no closed form)"},
        {"likelihood", 0, OPT_TEXT, &c.likelihood, "L", 0, 0, NULL, "gaussian, bernoulli or poisson (default: two levels bernoulli, else gaussian)"},
        {NULL, 'k', OPT_TEXT, &c.k, "K", 0, 0, NULL, "rank, where the method has one"},
        OPTION_OUTPUT(&c.output, "save the posterior, the model and the scaling"),
        {"weight", 0, OPT_TEXT, &c.columns.weight, "COLUMN", 0, 0, NULL, "weights of the rows, more than 0"},
        {"offset", 0, OPT_TEXT, &c.columns.offset, "COLUMN", 0, 0, NULL, "numbers added to the linear predictor"},
        {"no-scale", 0, OPT_FLAG, &c.no_scale, NULL, 0, 0, NULL, "do not standardise: the prior acts on the raw coefficients"},
        {"no-intercept", 0, OPT_FLAG, &c.no_intercept, NULL, 0, 0, NULL, "no intercept, and nothing is centred"},
        OPTION_FORMAT(&c.data.format),
        OPTION_ROWS(&c.data.rows),
        OPTION_FEATURES(&c.data.features),
        {"seed", 0, OPT_TEXT, &c.seed, "N", 0, 0, NULL, "seed of the random numbers (default: the method's)"},
        OPTION_THREADS(&c.threads),
        OPTION_JSON(&c.json),
        OPTION_QUIET(&c.quiet),
    };
    // clang-format on
    const call_shape shape = {options, COUNT(options), &c.data.file, 1, 1, find_settings, &c};
    int status;
    if (options_parse(self, &shape, argc, argv, NULL, &status)) status = fit_all(&c);
    close_all(&c);
    return status;
}

const verb verb_fit = {"fit", "DATA -y TARGET [-m METHOD]", "a linear model of one column of DATA",
                       run};
