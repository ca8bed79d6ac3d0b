/* recipe.c - a fit as a whole: scaled by its training rows, fitted, and scored on others.
 *
 *   1  units of the training rows; both tables in them
 *   2  the model: a linear one is described by the settings, a network is built
 *   3  the posterior of the training rows
 *   4  predictions of the test rows and their scores, back in the user's units
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/memory.h"
#include "model/likelihoods/likelihood.h"
#include "table/fold.h"
#include <string.h>

struct fab_fold {
    fab_dataset *train, *test; /* in fitting units */
    fab_scaling *k;
    double *y; /* of the test rows, in the user's units */
};

/* ---- 1 ------------------------------------------------------------------------------------------------ */

fab_target fab_likelihood_target(fab_likelihood l)
{
    static const fab_target kind[] = {[FAB_LIKELIHOOD_GAUSSIAN] = FAB_TARGET_REAL,
                                      [FAB_LIKELIHOOD_BERNOULLI] = FAB_TARGET_CLASSES,
                                      [FAB_LIKELIHOOD_POISSON] = FAB_TARGET_COUNTS,
                                      [FAB_LIKELIHOOD_CATEGORICAL] = FAB_TARGET_CLASSES};
    return kind[l];
}

static fab_status fill(fab_fold *f, const fab_recipe *r, const fab_dataset *t, const int64_t *train,
                       int64_t n_train, const int64_t *test, int64_t n_test)
{
    FAB_TRY(fab_dataset_take(&f->train, t, train, n_train));
    FAB_TRY(fab_dataset_take(&f->test, t, test, n_test));
    FAB_TRY(fab_scaling_create(&f->k, f->train, fab_likelihood_target(r->likelihood),
                               (int)r->standardise, (int)r->intercept));
    FAB_TRY(fab_scaling_apply(f->k, f->train));
    FAB_TRY(fab_scaling_apply(f->k, f->test));
    FAB_TRY(fab_alloc_array((void **)&f->y, n_test, sizeof *f->y, "fold"));
    for (int64_t i = 0; i < n_test; i++)
        f->y[i] = f->k->target_mean + f->k->target_scale * f->test->y[i];
    return FAB_OK;
}

fab_status fab_fold_create(fab_fold **f, const fab_recipe *r, const fab_dataset *t,
                           const int64_t *train, int64_t n_train, const int64_t *test,
                           int64_t n_test)
{
    fab_fold *new;
    *f = NULL;
    FAB_TRY(fab_likelihood_check("fold", r->likelihood));
    if (n_train < 1 || n_test < 1)
        return FAB_FAIL(FAB_BAD_DATA, "fold: %lld rows to train with and %lld to test with",
                        (long long)n_train, (long long)n_test);
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "fold"));
    *new = (fab_fold){0};
    const fab_status s = fill(new, r, t, train, n_train, test, n_test);
    if (s == FAB_OK)
        *f = new;
    else
        fab_fold_free(new);
    return s;
}

void fab_fold_free(fab_fold *f)
{
    if (!f) return;
    fab_dataset_free(f->train);
    fab_dataset_free(f->test);
    fab_scaling_free(f->k);
    fab_release(f->y);
    fab_release(f);
}

/* ---- 2, 3 --------------------------------------------------------------------------------------------- */

typedef struct trial {
    const fab_fold *f;
    const fab_recipe *r;
    void *settings; /* a copy */
    fab_net *net;
    fab_glm glm;
    fab_fit *fit;
} trial;

static const fab_exec alone = {.threads = 1};

static int64_t classes_of(const trial *t)
{
    return fab_likelihood_row_of(t->r->likelihood)->several ? t->f->k->levels : 1;
}

static fab_status open_linear(trial *t)
{
    const fab_method *method = t->r->method;
    t->glm = (fab_glm){.likelihood = t->r->likelihood,
                       .D = t->f->k->D,
                       .classes = classes_of(t),
                       .intercept = t->r->intercept};
    const fab_model m = fab_model_linear(&t->glm);
    return fab_fit_create(&t->fit, method->name, t->settings, method->fields->size,
                          &(fab_input){.model = &m}, &alone);
}

static fab_status open_net(trial *t)
{
    const fab_model_settings *s = t->settings;
    const fab_net_plan plan = {.layers = t->r->layers ? t->r->layers : "linear",
                               .features = t->f->k->D,
                               .likelihood = t->r->likelihood,
                               .classes = classes_of(t),
                               .noise = t->r->noise,
                               .nu = t->r->nu,
                               .floor = t->r->floor / t->f->k->target_scale,
                               .beta = s->beta > 0 ? s->beta : 1,
                               .batch = s->batch};
    FAB_TRY(fab_net_init(&t->net, &plan, &alone));
    return fab_fit_create(&t->fit, t->r->method->name, s, t->r->method->fields->size,
                          &(fab_input){.model = fab_net_model(t->net)}, &alone);
}

static fab_status fit(trial *t)
{
    const fab_dataset *d = t->f->train;
    const fab_examples e = {fab_dataset_rows(d), d->y, d->weight, d->offset};
    const fab_mixture *q;
    FAB_TRY(t->r->method->takes & FAB_TAKES_LINEAR ? open_linear(t) : open_net(t));
    FAB_TRY(fab_fit_update(t->fit, &e));
    return fab_fit_result(t->fit, &q);
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

static fab_status score_classes(const trial *t, const fab_gauss *q, const fab_glm *m, fab_scores *s)
{
    const fab_dataset *d = t->f->test;
    const fab_rows x = fab_dataset_rows(d);
    double *logp;
    FAB_TRY(fab_alloc_array((void **)&logp, d->n * m->classes, sizeof *logp, "fold"));
    fab_status done = fab_predict_classes(q, m, &x, d->offset, 0, 0, &alone, logp);
    if (done == FAB_OK) done = fab_score_classes(m->classes, d->n, logp, t->f->y, s);
    fab_release(logp);
    return done;
}

static fab_status score_linear(const trial *t, fab_scores *s)
{
    const fab_dataset *d = t->f->test;
    const fab_rows x = fab_dataset_rows(d);
    const fab_mixture *all;
    fab_glm m;
    double *eta;
    FAB_TRY(fab_fit_result(t->fit, &all));
    FAB_TRY(fab_fit_glm(t->fit, &m));
    const fab_gauss *q = all->part[0];
    if (m.likelihood == FAB_LIKELIHOOD_CATEGORICAL) return score_classes(t, q, &m, s);
    FAB_TRY(fab_alloc_array((void **)&eta, 2 * d->n, sizeof *eta, "fold"));
    fab_status done = fab_predict_eta(q, &m, &x, d->offset, &alone, eta, eta + d->n);
    if (done == FAB_OK) {
        fab_predict_to_units(t->f->k->target_mean, t->f->k->target_scale, d->n, eta, eta + d->n);
        m.beta /= t->f->k->target_scale * t->f->k->target_scale;
        done = fab_score(&m, d->n, eta, eta + d->n, t->f->y, s);
    }
    fab_release(eta);
    return done;
}

static fab_status draw_net(const trial *t, fab_draws **draws)
{
    const fab_dataset *d = t->f->test;
    const fab_rows x = fab_dataset_rows(d);
    const fab_mixture *mix;
    FAB_TRY(fab_fit_result(t->fit, &mix));
    const fab_model_settings *set = t->settings;
    const fab_model *m = fab_net_model(t->net);
    FAB_TRY(t->r->samples ? fab_draws_create(draws, m, mix, &x, d->offset, t->r->samples,
                                             (uint64_t)set->seed, &alone)
                          : fab_draws_linearise(draws, m, mix, &x, d->offset, &alone));
    fab_draws_to_units(*draws, t->f->k->target_mean, t->f->k->target_scale);
    return FAB_OK;
}

static fab_status score_net(const trial *t, fab_scores *s)
{
    fab_draws *draws;
    FAB_TRY(draw_net(t, &draws));
    const fab_status done = fab_draws_score(draws, t->f->y, s);
    fab_draws_free(draws);
    return done;
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static fab_status open_trial(trial *t, const void *settings)
{
    const size_t size = t->r->method->fields->size;
    FAB_TRY(fab_alloc_array(&t->settings, 1, size, "fold"));
    memcpy(t->settings, settings, size);
    return fit(t);
}

static void close_trial(trial *t)
{
    fab_fit_free(t->fit);
    fab_net_free(t->net);
    fab_release(t->settings);
}

fab_status fab_fold_score(const fab_fold *f, const fab_recipe *r, const void *settings,
                          fab_scores *s)
{
    trial t = {.f = f, .r = r};
    fab_status done = open_trial(&t, settings);
    if (done == FAB_OK) done = t.net ? score_net(&t, s) : score_linear(&t, s);
    close_trial(&t);
    return done;
}

fab_status fab_fold_draws(const fab_fold *f, const fab_recipe *r, const void *settings,
                          fab_draws **d)
{
    trial t = {.f = f, .r = r};
    *d = NULL;
    fab_status done = open_trial(&t, settings);
    if (done == FAB_OK) done = draw_net(&t, d);
    close_trial(&t);
    return done;
}

const double *fab_fold_y(const fab_fold *f)
{
    return f->y;
}
