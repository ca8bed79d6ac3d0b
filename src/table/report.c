/* report.c - what there is to say of a regression.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/settings.h"
#include "model/likelihoods/likelihood.h"
#include "table/regression.h"
#include <math.h>
#include <string.h>

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
        FAB_TRY(fab_fitting_glm_of(&r->fit, &r->view.model));
    }
    r->view.is_made = 1;
    return FAB_OK;
}

void fab_regression_forget_view(fab_regression *r)
{
    fab_solver_free(r->view.solver);
    fab_net_free(r->view.net);
    memset(&r->view, 0, sizeof r->view);
}

/* ---- what it is --------------------------------------------------------------------------------------- */

const fab_method *fab_regression_method(const fab_regression *r)
{
    return r->fit.what.method;
}

int fab_regression_is_network(const fab_regression *r)
{
    if (r->posterior) return fab_file_kind(r->posterior->file) == FAB_KIND_NETWORK;
    return r->fit.what.method ? !fab_fitting_is_linear(&r->fit) : r->fit.what.layers != NULL;
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

/* Mean log p(y | x, the posterior mean) of the table of a batch method, in the user's units. */
static double loglik_mean(const fab_regression *r, const fab_glm *m, const fab_gauss *q,
                          double loss)
{
    enum { CLASSES = 1000 }; /* the most a target has */
    const fab_dataset *t = r->table;
    const int64_t width = m->D + m->intercept;
    double sum = 0, eta[CLASSES];
    if (r->fit.net) return -loss - log(r->scaling->target_scale); /* in the last epoch */
    if (r->fit.what.method->streams || m->classes > CLASSES) return NAN;
    for (int64_t i = 0; i < t->n; i++) {
        for (int64_t c = 0; c < m->classes; c++) {
            const double *theta = q->mu + c * width;
            eta[c] = (m->intercept ? theta[m->D] : 0) + (t->offset ? t->offset[i] : 0);
            eta[c] += dot_row(t, i, theta);
        }
        sum += fab_glm_loglik(m, t->y[i], eta, NULL, NULL);
    }
    return sum / (double)t->n - log(r->scaling->target_scale);
}

/* Could a target that is taken for a number be counts? */
static int could_count(const fab_regression *r, fab_likelihood l)
{
    const fab_dataset *t = r->table;
    if (!r->guessed || l != FAB_LIKELIHOOD_GAUSSIAN || t->n < 1) return 0;
    for (int64_t i = 0; i < t->n; i++) {
        const double y = r->scaling->target_mean + r->scaling->target_scale * t->y[i];
        if (!(nearbyint(y) >= 0 && fabs(y - nearbyint(y)) < 1e-9 * (1 + fabs(y)))) return 0;
    }
    return 1;
}

fab_status fab_regression_note(fab_regression *r)
{
    fab_mixture mix;
    fab_report i;
    fab_glm m;
    FAB_TRY(fab_fitting_mixture(&r->fit, &mix));
    FAB_TRY(fab_fitting_glm_of(&r->fit, &m));
    FAB_TRY(fab_fitting_report(&r->fit, &i));
    r->loglik_mean = loglik_mean(r, &m, mix.part[0], i.loss);
    r->counts = could_count(r, m.likelihood);
    return FAB_OK;
}

fab_status fab_regression_report(fab_regression *r, fab_table_report *f)
{
    fab_mixture mix;
    fab_glm m;
    *f = (fab_table_report){0};
    if (!r->fit.fit)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "regression: nothing has been fitted here to report");
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
    f->constants = r->constants;
    f->constant = r->constant;
    f->parameters = r->fit.net ? fab_net_model(r->fit.net)->D : 0;
    f->floor = r->fit.what.floor;
    f->density = r->density;
    f->bytes = r->needed;
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
    if (!r->fit.fit || !fab_fitting_is_linear(&r->fit))
        return fab_settings_json(t, fab_regression_chosen(r), text);
    FAB_TRY(fab_fitting_report(&r->fit, &i));
    FAB_TRY(fab_alloc_array(&s, 1, t->size, t->method));
    memcpy(s, fab_fitting_settings(&r->fit), t->size);
    fab_settings_choose(t, s, "alpha", i.alpha);
    if (fab_glm_likelihood(&r->fit.glm)->noise) fab_settings_choose(t, s, "beta", i.beta);
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
