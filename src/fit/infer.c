/* infer.c - the four verbs, the door check and the files of every method of inference.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/fit.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/text.h"
#include "fit/saved.h"
#include "fabayes/gauss.h"
#include "train/glm_fields.h"
#include "fit/runs.h"
#include <math.h>
#include <string.h>

struct fab_infer {
    const fab_method *m;
    fab_runs runs;    /* one handle, or one for each of several seeds */
    void *settings;   /* a copy, m->table->size bytes behind this struct */
    fab_gauss *prior; /* a copy the method borrows, or NULL */
    fab_glm model;
    fab_model any; /* D = 0: the model is `model` */
    int64_t n;
    const fab_gauss *q; /* NULL: to be computed */
};

/* ---- life ------------------------------------------------------------------------------------- */

static fab_status check_model(const fab_method *m, const fab_glm *g)
{
    const int many = g->likelihood == FAB_LIKELIHOOD_CATEGORICAL;
    if (many && g->classes < 2)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: classes = %lld, expected at least 2 for a categorical target", m->name,
                        (long long)g->classes);
    if (!many && g->classes != 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: classes = %lld, expected 1 for a %s target", m->name,
                        (long long)g->classes, fab_likelihood_name(g->likelihood));
    if (g->D > ((int64_t)1 << 40) / g->classes - 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: %lld classes of D = %lld coefficients are more than 2^40", m->name,
                        (long long)g->classes, (long long)g->D);
    return FAB_OK;
}

static fab_status check_prior(const fab_method *m, int64_t size, const fab_gauss *prior)
{
    const fab_status s = fab_gauss_check(prior);
    if (s != FAB_OK) return fab_prefix(s, "%s: prior: ", m->name);
    if (prior->total)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the prior is over part of theta, expected all of it",
                        m->name);
    if (prior->form == FAB_POINT)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the prior is a point and has no width", m->name);
    if (prior->D != size)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the prior has %lld coordinates, theta has %lld",
                        m->name, (long long)prior->D, (long long)size);
    return FAB_OK;
}

static fab_status build(fab_infer *f, const fab_gauss *prior, const fab_exec *x)
{
    const fab_infer_verbs *v = f->m->infer;
    fab_model_settings *s = f->settings;
    FAB_TRY(fab_runs_init(&f->runs, v, f->any.D ? s->runs : 1, f->m->name));
    if (prior) FAB_TRY(fab_gauss_copy(&f->prior, prior, FAB_F64));
    return f->any.D ? fab_runs_build(&f->runs, s, &f->any, f->prior, x)
                    : v->init(&f->runs.handle[0], f->settings, f->prior, x);
}

/* A handle for a model that has passed its checks; `any` NULL: a linear one. */
static fab_status open_handle(fab_infer **f, const fab_method *m, const void *settings,
                              const fab_glm *model, const fab_model *any, const fab_gauss *prior,
                              const fab_exec *x)
{
    fab_infer *new;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new + m->table->size, m->name));
    *new = (fab_infer){.m = m, .settings = new + 1, .model = *model};
    if (any) new->any = *any;
    memcpy(new->settings, settings, m->table->size);
    if (any && m->infer->resolve) m->infer->resolve(new->settings, any);
    const fab_status s = build(new, prior, x);
    if (s != FAB_OK) {
        fab_infer_free(new);
        return s;
    }
    *f = new;
    return FAB_OK;
}

fab_status fab_infer_init(fab_infer **f, const fab_method *m, const void *settings,
                          const fab_gauss *prior, const fab_exec *x)
{
    *f = NULL;
    if (!m->infer)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: this method fits vectors, it knows no model",
                        m->name);
    if (!m->infer->init)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: this method needs a network, or a model of yours",
                        m->name);
    FAB_TRY(fab_settings_check(m->table, settings));
    const fab_glm model = fab_glm_of(settings);
    FAB_TRY(check_model(m, &model));
    if (prior) FAB_TRY(check_prior(m, fab_glm_size(&model), prior));
    return open_handle(f, m, settings, &model, NULL, prior, x);
}

static fab_status check_any(const fab_method *m, const fab_model *model, const fab_gauss *prior)
{
    if (!m->infer || !m->infer->init_model)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: this method does not take any model", m->name);
    FAB_TRY(fab_model_check(m->name, model));
    FAB_TRY(check_model(m, &model->head));
    return prior ? check_prior(m, model->D, prior) : FAB_OK;
}

fab_status fab_infer_init_model(fab_infer **f, const fab_method *m, const void *settings,
                                const fab_model *model, const fab_gauss *prior, const fab_exec *x)
{
    const fab_model_settings *s = settings;
    *f = NULL;
    m = fab_method_of_networks(m);
    FAB_TRY(check_any(m, model, prior));
    FAB_TRY(fab_settings_check(m->table, settings));
    fab_model any = *model;
    if (!fab_is_auto_f64(s->beta)) {
        if (!model->hold)
            return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: beta = %g cannot be held in this model", m->name,
                            s->beta);
        FAB_TRY(model->hold(model->self, s->beta));
        any.head.beta = s->beta;
    }
    return open_handle(f, m, settings, &any.head, &any, prior, x);
}

double fab_infer_model_bytes(const fab_method *m, const void *settings, const fab_model *model,
                             int64_t n)
{
    m = fab_method_of_networks(m);
    if (!m->infer || !m->infer->model_bytes) return 0;
    const fab_model_settings *s = settings;
    return (double)s->runs * m->infer->model_bytes(settings, model, n);
}

void fab_infer_free(fab_infer *f)
{
    if (!f) return;
    fab_runs_free(&f->runs);
    fab_gauss_free(f->prior);
    fab_release(f);
}

/* ---- update, result ---------------------------------------------------------------------------- */

fab_status fab_infer_update(fab_infer *f, const fab_examples *e)
{
    FAB_TRY(fab_examples_check(f->m->name, &f->model, e));
    if (e->x.n == 0) return FAB_OK;
    if (!f->m->streams && f->n > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: a batch method takes its whole table in one update",
                        f->m->name);
    f->q = NULL;
    FAB_TRY(fab_runs_update(&f->runs, e));
    f->n += e->x.n;
    return FAB_OK;
}

fab_status fab_infer_result(fab_infer *f, const fab_gauss **q)
{
    *q = NULL;
    if (f->n < 1)
        return FAB_FAIL(FAB_BAD_DATA, "%s: no rows seen, expected at least 1", f->m->name);
    if (!f->q) FAB_TRY(fab_runs_parts(&f->runs, f->m->infer->result));
    *q = f->q = f->runs.part[0];
    return FAB_OK;
}

fab_status fab_infer_mixture(fab_infer *f, fab_mixture *m)
{
    const fab_gauss *q;
    *m = (fab_mixture){0};
    FAB_TRY(fab_infer_result(f, &q));
    *m = fab_runs_mixture(&f->runs);
    return FAB_OK;
}

fab_status fab_infer_report(fab_infer *f, fab_inference *r)
{
    const fab_gauss *q;
    FAB_TRY(fab_infer_result(f, &q));
    FAB_TRY(f->m->infer->report(f->runs.handle[0], r));
    if (!f->any.D) r->loss = r->held_out = NAN;
    r->n = f->n;
    return FAB_OK;
}

fab_status fab_infer_model(fab_infer *f, fab_glm *m)
{
    fab_inference r = {.beta = 1};
    if (f->model.likelihood == FAB_LIKELIHOOD_GAUSSIAN) FAB_TRY(fab_infer_report(f, &r));
    *m = f->model;
    m->beta = r.beta;
    return FAB_OK;
}

const fab_method *fab_infer_method(const fab_infer *f)
{
    return f->m;
}

const void *fab_infer_settings(const fab_infer *f)
{
    return f->settings;
}

/* ---- files ------------------------------------------------------------------------------------ */

/* A model without words for itself. */
static fab_status unknown_json(const fab_model *m, char **json)
{
    fab_text t = {0};
    fab_text_add(&t, "{\"kind\": \"callback\", \"parameters\": %lld}", (long long)m->D);
    return fab_text_give(&t, json);
}

static fab_status model_json(fab_infer *f, char **json)
{
    fab_glm m;
    if (f->any.D) return f->any.json ? f->any.json(f->any.self, json) : unknown_json(&f->any, json);
    FAB_TRY(fab_infer_model(f, &m));
    return fab_glm_json(&m, json);
}

static fab_status describe_model(fab_infer *f, fab_tensors *t)
{
    char *json;
    FAB_TRY(model_json(f, &json));
    const fab_status s = fab_tensors_set(t, "model", json);
    fab_text_free(json);
    return s;
}

/* A batch method stores alpha and beta as chosen; a stream its settings as given, to go on with them. */
static fab_status describe_settings(fab_infer *f, fab_tensors *t)
{
    fab_inference r;
    fab_glm_settings *s;
    if (f->m->streams || f->any.D) return fab_saved_describe(t, f->m, f->settings, f->n);
    FAB_TRY(fab_infer_report(f, &r));
    FAB_TRY(fab_alloc_array((void **)&s, 1, f->m->table->size, f->m->name));
    memcpy(s, f->settings, f->m->table->size);
    if (fab_is_auto_f64(s->alpha) && r.alpha > 0) s->alpha = r.alpha;
    if (fab_is_auto_f64(s->beta) && r.beta > 0) s->beta = r.beta;
    const fab_status done = fab_saved_describe(t, f->m, s, f->n);
    fab_release(s);
    return done;
}

/* The prior precision in force, which the settings of a stream or a model do not know. */
static fab_status describe_alpha(fab_infer *f, fab_tensors *t)
{
    fab_inference r;
    char number[32];
    FAB_TRY(fab_infer_report(f, &r));
    if (!(r.alpha > 0)) return FAB_OK; /* a given prior */
    fab_print_double(number, sizeof number, r.alpha);
    return fab_tensors_set(t, "alpha", number);
}

static fab_status describe(fab_infer *f, fab_tensors *t)
{
    FAB_TRY(describe_settings(f, t));
    FAB_TRY(describe_model(f, t));
    if (!f->any.D || f->q) FAB_TRY(describe_alpha(f, t));
    return fab_runs_save(&f->runs, t);
}

static fab_status write_file(fab_infer *f, const char *path, const fab_tensors *more)
{
    const fab_mixture m = fab_runs_mixture(&f->runs);
    fab_tensors *t;
    FAB_TRY(fab_tensors_create(&t));
    fab_status s = describe(f, t);
    if (s == FAB_OK && more) s = fab_saved_add(t, more);
    if (s == FAB_OK) s = fab_posterior_save(path, &m, t);
    fab_tensors_free(t);
    return s;
}

fab_status fab_infer_save(fab_infer *f, const char *path, const fab_tensors *more)
{
    const fab_gauss *q;
    FAB_TRY(fab_infer_result(f, &q));
    return write_file(f, path, more);
}

fab_status fab_infer_checkpoint(fab_infer *f, const char *path, const fab_tensors *more)
{
    if (!f->m->infer->so_far)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: only a finished fit can be saved", f->m->name);
    FAB_TRY(fab_runs_parts(&f->runs, f->m->infer->so_far));
    return write_file(f, path, more);
}

static fab_status build_resumed(fab_infer **f, const fab_method *m, void *settings,
                                const char *json, const fab_tensors *file, const fab_exec *x)
{
    fab_settings_defaults(m->table, settings);
    FAB_TRY(fab_settings_from_json(m->table, settings, json));
    FAB_TRY(fab_infer_init(f, m, settings, NULL, x));
    const fab_status s = fab_runs_load(&(*f)->runs, file);
    if (s == FAB_OK) return FAB_OK;
    fab_infer_free(*f);
    *f = NULL;
    return s;
}

/* ---- going on with a model --------------------------------------------------------------------- */

static fab_status model_resumed(fab_infer **f, const fab_method *m, void *settings,
                                const fab_tensors *file, const fab_model *model,
                                const fab_gauss *prior, const fab_exec *x)
{
    const fab_method *named;
    const char *json = fab_tensors_get(file, "settings");
    int64_t n = 0; /* a batch method gets its rows again, a stream goes on behind them */
    if (m->streams) FAB_TRY(fab_saved_stream(file, &named, &json, &n));
    fab_settings_defaults(m->table, settings);
    FAB_TRY(fab_settings_from_json(m->table, settings, json));
    FAB_TRY(fab_infer_init_model(f, m, settings, model, prior, x));
    const fab_status s = fab_runs_load(&(*f)->runs, file);
    (*f)->n = n;
    if (s == FAB_OK) return FAB_OK;
    fab_infer_free(*f);
    *f = NULL;
    return s;
}

fab_status fab_infer_resume_model(fab_infer **f, const fab_tensors *file, const fab_model *model,
                                  const fab_gauss *prior, const fab_exec *x)
{
    const char *name = fab_tensors_get(file, "method");
    const fab_method *m = name ? fab_method_find(name) : NULL;
    void *settings;
    *f = NULL;
    if (m) m = fab_method_of_networks(m);
    if (!m || !fab_tensors_get(file, "settings") || !m->infer || !m->infer->init_model ||
        !m->infer->load)
        return FAB_FAIL(FAB_BAD_FILE,
                        "method '%s': this file holds no run of a model to go on with",
                        name ? name : "");
    FAB_TRY(fab_alloc_array(&settings, 1, m->table->size, m->name));
    const fab_status s = model_resumed(f, m, settings, file, model, prior, x);
    fab_release(settings);
    return s == FAB_BAD_ARGUMENT ? FAB_BAD_FILE : s;
}

fab_status fab_infer_resume(fab_infer **f, const fab_tensors *file, const fab_exec *x)
{
    const fab_method *m = NULL;
    const char *json = NULL;
    int64_t n = 0;
    void *settings;
    *f = NULL;
    FAB_TRY(fab_saved_stream(file, &m, &json, &n));
    if (!m->infer)
        return FAB_FAIL(FAB_BAD_FILE,
                        "method '%s' fits vectors: this file holds no model to continue", m->name);
    FAB_TRY(fab_alloc_array(&settings, 1, m->table->size, m->name));
    const fab_status s = build_resumed(f, m, settings, json, file, x);
    fab_release(settings);
    if (s == FAB_OK) (*f)->n = n;
    return s == FAB_BAD_ARGUMENT ? FAB_BAD_FILE : s; /* a bad setting here came from the file */
}
