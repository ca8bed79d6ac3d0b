/* report.c - what there is to say of a regression.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/settings.h"
#include "fit/fit.h"
#include "model/likelihoods/likelihood.h"
#include "table/regression.h"
#include <math.h>
#include <string.h>

/* dispersion of Poisson's counts from which another likelihood is worth a word */
#define SPREAD 1.3
enum {
    MANY = 20 /* features, of half as many as rows, from which a sparse prior is */
};

/* ---- posterior and model, of a fit or a file ---------------------------------------------------------- */

fab_status fab_regression_view(fab_regression *r)
{
    char *json;
    if (r->view.is_made) return FAB_OK;
    if (!r->fit.fit) return FAB_FAIL(FAB_BAD_ARGUMENT, "regression: nothing has been fitted yet");
    FAB_TRY(fab_fitting_mixture(&r->fit, &r->view.mix));
    if (r->fit
            .net) { /* a network of its own, as a file would give it: the same predictions from both */
        FAB_TRY(fab_net_json(r->fit.net, &json));
        const fab_status s = fab_net_from_json(&r->view.net, json, 0, NULL);
        fab_text_free(json);
        FAB_TRY(s);
        r->view.model = fab_net_model(r->view.net)->head;
    } else {
        FAB_TRY(fab_fit_process(r->fit.fit, &r->view.process));
        FAB_TRY(fab_fit_classes(r->fit.fit, &r->view.classes));
        FAB_TRY(fab_fit_places(r->fit.fit, &r->view.places));
        FAB_TRY(fab_fitting_glm_of(&r->fit, &r->view.model));
    }
    r->view.is_made = 1;
    return FAB_OK;
}

void fab_regression_forget_view(fab_regression *r)
{
    fab_solver_free(r->view.solver);
    fab_net_free(r->view.net);
    for (int64_t i = 1; i < r->view.places.n && r->view.owned_places; i++)
        fab_process_free(r->view.owned_places[i]);
    fab_release((void *)r->view.owned_places);
    fab_release(r->view.place_numbers);
    fab_process_free(r->view.owned);
    fab_class_process_free(r->view.owned_classes);
    memset(&r->view, 0, sizeof r->view);
}

/* ---- what it is --------------------------------------------------------------------------------------- */

const fab_method *fab_regression_method(const fab_regression *r)
{
    return r->fit.what.method;
}

fab_map_report fab_regression_map(const fab_regression *r)
{
    return r->mapped;
}

int fab_regression_is_network(const fab_regression *r)
{
    if (r->posterior) return fab_file_kind(r->posterior->file) == FAB_KIND_NETWORK;
    if (!r->fit.what.method) return r->fit.what.layers != NULL;
    return !fab_fitting_is_linear(&r->fit) && !fab_fitting_is_process(&r->fit);
}

int fab_regression_is_process(const fab_regression *r)
{
    if (r->posterior) return fab_file_kind(r->posterior->file) == FAB_KIND_GP;
    return r->fit.what.kernel != NULL;
}

fab_status fab_regression_model(fab_regression *r, fab_glm *m)
{
    if (!r->posterior && !r->fit.fit) {
        *m = (fab_glm){.likelihood = r->fit.what.likelihood,
                       .D = r->table->columns,
                       .classes = 1,
                       .intercept = r->fit.what.intercept,
                       .beta = 1};
        return FAB_OK;
    }
    FAB_TRY(fab_regression_view(r));
    *m = r->view.model;
    if (!r->view.net && m->likelihood == FAB_LIKELIHOOD_GAUSSIAN)
        m->beta /= r->scaling->target_scale * r->scaling->target_scale;
    return FAB_OK;
}

const fab_scaling *fab_regression_scaling(const fab_regression *r)
{
    return r->scaling;
}

const fab_dataset *fab_regression_table(const fab_regression *r)
{
    return r->table;
}

void *fab_regression_settings(fab_regression *r)
{
    return r->settings;
}

const void *fab_regression_chosen(const fab_regression *r)
{
    return r->fit.fit ? fab_fitting_settings(&r->fit) : r->settings;
}

fab_recipe fab_regression_recipe(const fab_regression *r)
{
    return r->fit.what;
}

int64_t fab_regression_candidates(const fab_regression *r, const fab_model_trial **c)
{
    *c = r->candidates.c;
    return r->candidates.n;
}

int64_t fab_regression_keys(const fab_regression *r, const fab_key **key)
{
    *key = r->key;
    return r->keys;
}

fab_large fab_regression_too_large(const fab_regression *r, double *needed, double *limit)
{
    *needed = r->needed;
    *limit = r->limit;
    return r->large;
}

/* ---- the report --------------------------------------------------------------------------------------- */

static double dot_row(const fab_dataset *t, int64_t i, const double *theta)
{
    const fab_sparse *c = &t->cells;
    double sum = 0;
    if (t->packed)
        for (int64_t k = c->start[i]; k < c->start[i + 1]; k++)
            sum += c->value[k] * theta[c->index[k]];
    else
        for (int64_t d = 0; d < t->D; d++) sum += t->x[i * t->D + d] * theta[d];
    return sum;
}

void fab_regression_eta(const fab_regression *r, const fab_glm *m, const fab_gauss *q, int64_t i,
                        double *eta)
{
    const fab_dataset *t = r->table;
    for (int64_t c = 0; c < m->classes && r->eta; c++) eta[c] = r->eta[i * m->classes + c];
    for (int64_t c = 0; c < m->classes && !r->eta; c++) {
        const double *theta = q->mu + c * (m->D + m->intercept);
        eta[c] = (m->intercept ? theta[m->D] : 0) + (t->offset ? t->offset[i] : 0);
        eta[c] += dot_row(t, i, theta);
    }
}

/* Mean log p(y | x, the posterior mean) of the table of a batch method, in the user's units; weighted.  *dispersion, of
 * counts: the sum of (y - mean)^2 / variance over the rows less the coordinates. */
static double loglik_mean(const fab_regression *r, const fab_glm *m, const fab_gauss *q,
                          double loss, double *dispersion)
{
    enum { CLASSES = 1000 }; /* the most a target has */
    const fab_dataset *t = r->table;
    const fab_likelihood_row *l = fab_glm_likelihood(m);
    double sum = 0, weights = 0, squares = 0, eta[CLASSES];
    eta[0] = 0; /* there is a class at least */
    *dispersion = NAN;
    if (r->fit.net) return -loss - log(r->scaling->target_scale); /* in the last epoch */
    if (r->fit.what.method->streams || m->classes > CLASSES) return NAN;
    if (r->fit.kernel && !r->eta) return NAN;
    for (int64_t i = 0; i < t->n; i++) {
        fab_regression_eta(r, m, q, i, eta);
        const double w = t->weight ? t->weight[i] : 1;
        sum += w * fab_glm_loglik(m, t->y[i], eta, NULL, NULL);
        weights += w;
        if (l->target != FAB_TARGET_COUNTS) continue;
        double mean, variance;
        l->moments(m, eta[0], 0, &mean, &variance);
        squares += w * (t->y[i] - mean) * (t->y[i] - mean) / variance;
    }
    if (l->target == FAB_TARGET_COUNTS && weights > (double)q->D)
        *dispersion = squares / (weights - (double)q->D);
    return sum / weights - log(r->scaling->target_scale);
}

/* Could a target that is taken for a number be counts, or classes?  Few whole numbers are more often classes: up to 20, each
 * of them met five times in the mean.  Counts worth a likelihood of their own are small (those of a mean above 30 are nearly
 * gaussian; whole numbers that large are more often prices, ages and scores), and vary at most as those do whose rate has a
 * standard deviation of twice its mean: m + (2 m)^2. */
static void note_whole_numbers(fab_regression *r, fab_likelihood l)
{
    enum { MOST = 20, TIMES = 5, SMALL = 30 };
    const fab_dataset *t = r->table;
    double level[MOST + 1], least = INFINITY, weights = 0, mean = 0, squares = 0;
    int64_t levels = 0;
    r->counts = 0;
    r->levels = 0;
    if (!r->guessed || l != FAB_LIKELIHOOD_GAUSSIAN || t->n < 1) return;
    for (int64_t i = 0; i < t->n; i++) {
        const double y = r->scaling->target_mean + r->scaling->target_scale * t->y[i],
                     whole = nearbyint(y);
        if (!(fabs(y - whole) < 1e-9 * (1 + fabs(y)))) return;
        const double w = t->weight ? t->weight[i] : 1, off = whole - mean;
        least = fmin(least, whole);
        weights += w;
        mean += w / weights * off;
        squares += w * off * (whole - mean);
        int64_t k = 0;
        while (k < levels && level[k] != whole) k++;
        if (k == levels && levels <= MOST) level[levels++] = whole;
    }
    r->counts = least >= 0 && mean <= SMALL && squares / weights <= mean + 4 * mean * mean;
    if (levels > 2 && levels <= MOST && TIMES * levels <= t->n) r->levels = levels;
}

fab_status fab_regression_note(fab_regression *r)
{
    fab_mixture mix;
    fab_report i;
    fab_glm m;
    FAB_TRY(fab_fitting_mixture(&r->fit, &mix));
    FAB_TRY(fab_fitting_glm_of(&r->fit, &m));
    FAB_TRY(fab_fitting_report(&r->fit, &i));
    r->dispersion = NAN;
    FAB_TRY(fab_regression_note_process(r));
    r->loglik_mean = loglik_mean(r, &m, mix.part[0], i.loss, &r->dispersion);
    /* squares of counts of a rate near 1 and above have a variance of about 2 */
    r->spread = m.likelihood == FAB_LIKELIHOOD_POISSON &&
                r->dispersion > fmax(SPREAD, 1 + 4 * sqrt(2 / (double)(r->table->n)));
    r->wide = !r->plan.method && m.D >= MANY && 2 * m.D >= r->table->n &&
              r->fit.what.method->closed;
    note_whole_numbers(r, m.likelihood);
    FAB_TRY(fab_regression_note_summary(r, &m, mix.part[0]));
    fab_release(r->eta);
    r->eta = NULL;
    return FAB_OK;
}

static fab_status check_fitted(const fab_regression *r)
{
    if (r->fit.fit) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "regression: nothing has been fitted here to report");
}

fab_status fab_regression_tensors(fab_regression *r, const fab_tensors **t)
{
    *t = NULL;
    FAB_TRY(check_fitted(r));
    return fab_fit_tensors(r->fit.fit, t);
}

fab_status fab_regression_report(fab_regression *r, fab_table_report *f)
{
    fab_mixture mix;
    fab_glm m;
    *f = (fab_table_report){0};
    FAB_TRY(check_fitted(r));
    FAB_TRY(fab_fitting_mixture(&r->fit, &mix));
    FAB_TRY(fab_fitting_glm_of(&r->fit, &m));
    FAB_TRY(fab_fitting_report(&r->fit, &f->fit));
    f->method = r->fit.what.method->name;
    f->likelihood = fab_likelihood_name(m.likelihood);
    f->guessed = r->guessed;
    f->D = m.D;
    f->K = mix.part[0]->K;
    f->rows = r->rows;
    f->dropped = r->dropped;
    f->loglik_mean = r->loglik_mean;
    f->order = fab_order_verdict(&r->order);
    f->counts = r->counts;
    f->levels = r->levels;
    f->dispersion = r->dispersion;
    f->spread = r->spread;
    f->zeros = f->fit.n == r->rows && !r->counted && !r->fit.prior &&
               fab_likelihood_target(r->fit.what.likelihood) == FAB_TARGET_COUNTS;
    f->wide = r->wide;
    f->constants = r->constants;
    f->constant = r->constant;
    f->parameters = r->fit.net ? fab_net_model(r->fit.net)->D : 0;
    f->floor = r->fit.what.floor;
    f->density = r->density;
    f->bytes = r->needed;
    f->stream = r->ahead ? fab_prequential_scores(r->ahead) : NULL;
    return FAB_OK;
}

/* A method of linear models does not tell its settings what it chose. */
fab_status fab_regression_settings_json(fab_regression *r, char **text)
{
    void *s;
    fab_report i;
    *text = NULL;
    if (!r->settings)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "regression: there are no settings: nothing was fitted here");
    const fab_fields *t = r->fit.what.method->fields;
    if (!r->fit.fit || (!fab_fitting_is_linear(&r->fit) && !r->fit.kernel))
        return fab_settings_json(t, fab_regression_chosen(r), text);
    FAB_TRY(fab_fitting_report(&r->fit, &i));
    FAB_TRY(fab_alloc_array(&s, 1, t->size, t->method));
    memcpy(s, fab_fitting_settings(&r->fit), t->size);
    fab_settings_choose(t, s, "alpha", i.alpha);
    fab_settings_choose(t, s, "temperature", i.temperature);
    const fab_likelihood_row *l = fab_glm_likelihood(&r->fit.glm);
    if (l->noise || l->dispersion) fab_settings_choose(t, s, "beta", i.beta);
    const fab_status done = fab_settings_json(t, s, text);
    fab_release(s);
    return done;
}

fab_status fab_regression_layers(const fab_regression *r, char **text)
{
    const fab_net *net = r->fit.net ? r->fit.net : r->view.net;
    *text = NULL;
    return net ? fab_net_text(net, text) : FAB_OK;
}
