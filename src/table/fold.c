/* fold.c - one fold of a search: fitted to its training rows as any table is, and scored on the others.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/fit.h"
#include "model/likelihoods/likelihood.h"
#include "table/features.h"
#include "table/fold.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "table/fitting.h"
#include "table/predictions.h"
#include <string.h>

struct fab_fold {
    fab_dataset *train, *test; /* in fitting units */
    fab_scaling *k;
    double *y;   /* of the test rows, in the user's units */
    double most; /* of what features leave (fab_fitting.left) */
};

/* One thread, watched as x says. */
static fab_exec alone(const fab_exec *x)
{
    const fab_watch w = fab_watch_of(x);
    return fab_watch_exec(&w, (fab_exec){.threads = 1});
}

/* ---- life --------------------------------------------------------------------------------------------- */

/* Features of a kernel that the training rows choose. */
static fab_status map(fab_fold *f, const fab_recipe *r)
{
    fab_map_plan p;
    fab_map_report report;
    FAB_TRY(fab_map_read(&p, r->features));
    const fab_status s = p.kind ? fab_map_build(&p, f->k, f->train, r->likelihood, FAB_SCALE_ROWS,
                                                1, &report, &f->most, NULL)
                                : FAB_OK;
    fab_map_close(&p);
    return s;
}

static fab_status fill(fab_fold *f, const fab_recipe *r, const fab_dataset *t, const int64_t *train,
                       int64_t n_train, const int64_t *test, int64_t n_test)
{
    FAB_TRY(fab_dataset_take(&f->train, t, train, n_train));
    FAB_TRY(fab_dataset_take(&f->test, t, test, n_test));
    FAB_TRY((r->steps ? fab_scaling_create_steps
                      : fab_scaling_create)(&f->k, f->train, fab_likelihood_target(r->likelihood),
                                            (int)r->standardise, r->intercept || r->features));
    FAB_TRY(map(f, r));
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

const double *fab_fold_y(const fab_fold *f)
{
    return f->y;
}

int64_t fab_fold_rows(const fab_fold *f)
{
    return f->test->n;
}

/* ---- a trial ------------------------------------------------------------------------------------------ */

/* Fit the training rows.  The settings are a copy of the fitting's own. */
static fab_status fit(fab_fitting *t, const fab_fold *f, const fab_recipe *r, const void *settings,
                      const fab_exec *x)
{
    const size_t size = r->method->fields->size;
    *t = (fab_fitting){.what = *r, .units = f->k, .exec = alone(x), .left = {.most = f->most}};
    FAB_TRY(fab_alloc_array(&t->settings, 1, size, "fold"));
    memcpy(t->settings, settings, size);
    FAB_TRY(fab_fitting_model(t));
    FAB_TRY(fab_fitting_open(t));
    FAB_TRY(fab_fitting_update(t, f->train));
    return fab_fitting_finish(t);
}

static void close_fit(fab_fitting *t)
{
    fab_fitting_close(t);
    fab_release(t->settings);
}

static fab_status draw_net(const fab_fitting *t, const fab_fold *f, fab_draws **draws)
{
    const fab_model_settings *s = t->settings;
    fab_mixture mix;
    FAB_TRY(fab_fitting_mixture(t, &mix));
    return fab_table_draws(&mix, fab_net_model(t->net), f->k, f->test, t->what.samples,
                           (uint64_t)s->seed, &t->exec, draws);
}

static fab_status score_net(const fab_fitting *t, const fab_fold *f, fab_scores *s)
{
    fab_draws *draws;
    FAB_TRY(draw_net(t, f, &draws));
    const fab_status done = fab_draws_score(draws, f->y, &t->exec, s);
    fab_draws_free(draws);
    return done;
}

/* Of one Gaussian predictor, or several: a linear model or a process. */
static fab_status score_linear(const fab_fitting *t, const fab_fold *f, fab_scores *s)
{
    const fab_dataset *d = f->test;
    const fab_rows x = fab_dataset_rows(d);
    const double scale = f->k->target_scale;
    const int classes = fab_likelihood_row_of(t->what.likelihood)->several;
    fab_process *process;
    fab_class_process *several;
    fab_process_places places;
    fab_mixture mix;
    fab_glm m;
    double *work; /* n x classes log probabilities, or n predictors and their variances */
    FAB_TRY(fab_fitting_mixture(t, &mix));
    FAB_TRY(fab_fitting_glm_of(t, &m));
    FAB_TRY(fab_fit_process(t->fit, &process));
    FAB_TRY(fab_fit_classes(t->fit, &several));
    FAB_TRY(fab_fit_places(t->fit, &places));
    if (places.n > 0) {
        fab_draws *draws;
        FAB_TRY(fab_table_places(&places, &m, f->k, d, &draws, NULL));
        const fab_status scored = fab_draws_score(draws, f->y, &t->exec, s);
        fab_draws_free(draws);
        return scored;
    }
    FAB_TRY(
        fab_alloc_array((void **)&work, d->n * (classes ? m.classes : 2), sizeof *work, "fold"));
    fab_status done;
    if (classes) {
        done = several ? fab_table_classes(several, f->k, d, &t->exec, 0, 0, work)
                       : fab_predict_classes_wider(mix.part[0], &m, &x, d->offset, d->residual, 0,
                                                   0, &t->exec, work);
        if (done == FAB_OK) done = fab_score_classes(m.classes, d->n, work, f->y, &t->exec, s);
    } else {
        done = process ? fab_table_process(process, f->k, d, work, work + d->n, NULL)
                       : fab_table_eta(mix.part[0], &m, f->k, d, &t->exec, work, work + d->n);
        m.beta /= scale * scale;
        if (done == FAB_OK) done = fab_score(&m, d->n, work, work + d->n, f->y, &t->exec, s);
    }
    fab_release(work);
    return done;
}

fab_status fab_fold_score(const fab_fold *f, const fab_recipe *r, const void *settings,
                          const fab_exec *x, fab_scores *s)
{
    fab_fitting t;
    fab_status done = fit(&t, f, r, settings, x);
    if (done == FAB_OK) done = t.net ? score_net(&t, f, s) : score_linear(&t, f, s);
    close_fit(&t);
    return done;
}

fab_status fab_fold_draws(const fab_fold *f, const fab_recipe *r, const void *settings,
                          const fab_exec *x, fab_draws **d)
{
    fab_fitting t;
    *d = NULL;
    fab_status done = fit(&t, f, r, settings, x);
    if (done == FAB_OK) done = draw_net(&t, f, d);
    close_fit(&t);
    return done;
}
