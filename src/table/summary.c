/* summary.c - what a person asks first of a linear model: how well it describes its rows, and its effects.
 *
 *   1  at the posterior mean, over the rows of the fit, each counting as its weight:
 *
 *      a number    R^2 = 1 - sum (y - eta)^2 / sum (y - y0)^2
 *      others      1 - (L(saturated) - L(eta)) / (L(saturated) - L(eta0)), the share of the deviance; L: log-likelihood
 *      classes     the share of rows whose likeliest class is theirs, and that of the most frequent class
 *
 *      y0, eta0: the best constant; without an intercept 0 (as lm and glm of R have it); offsets are added to eta0
 *   2  the effects: mean -+ z sd, z of the normal distribution, strongest first: |mean| / sd
 *
 * What is found of the rows is stored in the file as `summary`, and known again from there.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/json.h"
#include "base/text.h"
#include "data/columns/formula.h"
#include "model/likelihoods/cdf.h"
#include "model/likelihoods/likelihood.h"
#include "table/regression.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 50, /* of Newton's method for a constant beside offsets */
    REFERENCES_MAX =
        500 /* coefficients up to which references are chosen: one product with S for each */
};

/* ---- 1 ------------------------------------------------------------------------------------------------ */

/* What the rows are worth under constants: sums over rows, times their weights. */
typedef struct sums {
    double weight, y, y2; /* of numbers and counts */
    double errors2;       /* (y - eta)^2 */
    double loglik, saturated;
    double right;  /* rows whose likeliest class is theirs */
    double *share; /* of each class */
} sums;

static double weight_of(const fab_dataset *t, int64_t i)
{
    return t->weight ? t->weight[i] : 1;
}

/* log p(y) of the model that has a predictor of its own for the row. */
static double saturated(const fab_glm *m, double y)
{
    const double eta = log(y);
    return fab_likelihood_target(m->likelihood) == FAB_TARGET_COUNTS && y > 0
               ? fab_glm_loglik(m, y, &eta, NULL, NULL)
               : 0;
}

static void add_row(const fab_glm *m, double w, double y, const double *eta, sums *s)
{
    const fab_target target = fab_likelihood_target(m->likelihood);
    s->weight += w;
    s->y += w * y;
    s->y2 += w * y * y;
    s->errors2 += w * (y - eta[0]) * (y - eta[0]);
    s->loglik += w * fab_glm_loglik(m, y, eta, NULL, NULL);
    s->saturated += w * saturated(m, y);
    if (target != FAB_TARGET_CLASSES) return;
    int64_t best = m->classes == 1 && eta[0] > 0;
    for (int64_t c = 1; c < m->classes; c++)
        if (eta[c] > eta[best]) best = c;
    s->right += w * (best == (int64_t)y);
    s->share[(int64_t)y] += w;
}

/* The log-likelihood of all rows with eta0 and their offsets, by Newton's method from eta0: concave. */
static double constant_with_offsets(const fab_glm *m, const fab_dataset *t, double eta0, int free)
{
    double sum = 0;
    for (int step = 0; step < STEPS; step++) {
        double slope = 0, curvature = 0;
        sum = 0;
        for (int64_t i = 0; i < t->n; i++) {
            const double w = weight_of(t, i), eta = eta0 + t->offset[i];
            double g, c;
            sum += w * fab_glm_loglik(m, t->y[i], &eta, &g, &c);
            slope += w * g;
            curvature += w * c;
        }
        const double move = slope / curvature;
        if (!free || !(fabs(move) > 1e-9)) return sum;
        eta0 += fmax(-2, fmin(2, move));
    }
    return NAN;
}

/* The log-likelihood of all rows under the best constant. */
static double constant(const fab_glm *m, const fab_dataset *t, const sums *s)
{
    const double mean = s->y / s->weight;
    double eta0 = 0, sum = 0;
    if (m->classes > 1) { /* an offset is that of every class, and says nothing */
        for (int64_t c = 0; c < m->classes; c++)
            if (s->share[c] > 0) sum += s->share[c] * log(s->share[c] / s->weight);
        return m->intercept ? sum : -s->weight * log((double)m->classes);
    }
    if (m->intercept)
        eta0 = m->likelihood == FAB_LIKELIHOOD_BERNOULLI ? log(mean / (1 - mean)) : log(mean);
    if (t->offset) return constant_with_offsets(m, t, eta0, (int)m->intercept);
    for (int64_t i = 0; i < t->n; i++)
        sum += weight_of(t, i) * fab_glm_loglik(m, t->y[i], &eta0, NULL, NULL);
    return sum;
}

static void conclude(const fab_regression *r, const fab_glm *m, const sums *s, fab_summary *f)
{
    const fab_target target = fab_likelihood_target(m->likelihood);
    if (target == FAB_TARGET_REAL) {
        const double mean = m->intercept ? s->y / s->weight : 0;
        f->explained = 1 - s->errors2 / (s->y2 - s->weight * mean * mean);
    } else {
        const double none = constant(m, r->table, s);
        f->explained = 1 - (s->saturated - s->loglik) / (s->saturated - none);
    }
    if (!isfinite(f->explained)) f->explained = NAN; /* a target that does not vary */
    if (target != FAB_TARGET_CLASSES) return;
    f->accuracy = s->right / s->weight;
    f->frequent = 0;
    for (int64_t c = 0; c < r->scaling->levels; c++)
        f->frequent = fmax(f->frequent, s->share[c] / s->weight);
}

/* Was the setting left to the method? */
static int is_auto(const fab_regression *r, const char *name)
{
    return fab_settings_number(r->fit.what.method->fields, r->settings, name) == FAB_AUTO_F64;
}

fab_status fab_regression_note_summary(fab_regression *r, const fab_glm *m, const fab_gauss *q)
{
    const fab_dataset *t = r->table;
    fab_summary *f = &r->summary;
    double *room;
    sums s = {0};
    *f = (fab_summary){.rows = t->n,
                       .dropped = r->dropped,
                       .guessed = r->guessed,
                       .explained = NAN,
                       .accuracy = NAN,
                       .frequent = NAN,
                       .method_chosen = !r->plan.method,
                       .alpha_chosen = is_auto(r, "alpha")};
    if (r->fit.net || r->fit.what.method->streams || r->exec.comm || t->n == 0) return FAB_OK;
    if (r->fit.kernel && !r->eta) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&room, m->classes + r->scaling->levels + 1, sizeof *room,
                            "summary"));
    s.share = room + m->classes;
    for (int64_t c = 0; c < r->scaling->levels; c++) s.share[c] = 0;
    for (int64_t i = 0; i < t->n; i++) {
        fab_regression_eta(r, m, q, i, room);
        add_row(m, weight_of(t, i), t->y[i], room, &s);
    }
    conclude(r, m, &s, f);
    fab_release(room);
    f->known = 1;
    return FAB_OK;
}

/* ---- in a file ------------------------------------------------------------------------------------------ */

static void add_number(fab_text *t, const char *name, double x)
{
    char number[32];
    if (isnan(x)) return;
    fab_print_double(number, sizeof number, x);
    fab_text_add(t, ", \"%s\": %s", name, number);
}

fab_status fab_summary_save(const fab_summary *f, fab_tensors *more)
{
    fab_text t = {0};
    char *text;
    if (!f->known) return FAB_OK;
    fab_text_add(&t,
                 "{\"dropped\": %lld, \"guessed\": %lld, \"method_chosen\": %lld, "
                 "\"alpha_chosen\": %lld",
                 (long long)f->dropped, (long long)f->guessed, (long long)f->method_chosen,
                 (long long)f->alpha_chosen);
    add_number(&t, "explained", f->explained);
    add_number(&t, "accuracy", f->accuracy);
    add_number(&t, "frequent", f->frequent);
    fab_text_add(&t, "}");
    FAB_TRY(fab_text_give(&t, &text));
    const fab_status s = fab_tensors_set(more, "summary", text);
    fab_text_free(text);
    return s;
}

/* What is not there, or no number, is not known: nothing but a person's eye hangs on it. */
static fab_status read_summary(const fab_tensors *file, fab_summary *f)
{
    const char *json = fab_tensors_get(file, "summary"), *rows = fab_tensors_get(file, "n");
    const char *alpha = fab_tensors_get(file, "alpha");
    double dropped, guessed, method, own;
    FAB_TRY(fab_json_number_or_nan(json, "dropped", &dropped));
    FAB_TRY(fab_json_number_or_nan(json, "guessed", &guessed));
    FAB_TRY(fab_json_number_or_nan(json, "method_chosen", &method));
    FAB_TRY(fab_json_number_or_nan(json, "alpha_chosen", &own));
    FAB_TRY(fab_json_number_or_nan(json, "explained", &f->explained));
    FAB_TRY(fab_json_number_or_nan(json, "accuracy", &f->accuracy));
    FAB_TRY(fab_json_number_or_nan(json, "frequent", &f->frequent));
    f->rows = rows ? strtoll(rows, NULL, 10) : 0;
    f->guessed = guessed > 0;
    f->method_chosen = method > 0;
    f->alpha_chosen = own > 0;
    f->dropped = dropped >= 0 && dropped < 0x1p53 ? (int64_t)dropped : 0;
    f->alpha = alpha ? strtod(alpha, NULL) : NAN;
    f->known = json != NULL;
    return FAB_OK;
}

fab_status fab_regression_summary(fab_regression *r, fab_summary *f)
{
    fab_glm m;
    fab_report report;
    double mean, variance;
    *f = (fab_summary){0};
    FAB_TRY(fab_regression_view(r));
    if (r->view.net)
        return FAB_FAIL(FAB_UNSUPPORTED, "regression: a network has no summary of coefficients");
    FAB_TRY(fab_regression_model(r, &m));
    if (r->posterior) {
        FAB_TRY(read_summary(r->posterior->file, f));
    } else {
        *f = r->summary;
        FAB_TRY(fab_fitting_report(&r->fit, &report));
        f->rows = report.n;
        f->dropped = r->dropped;
        f->alpha = report.alpha;
    }
    f->method = r->fit.what.method ? r->fit.what.method->name : NULL;
    f->likelihood = fab_likelihood_name(m.likelihood);
    f->noise = NAN;
    if (fab_likelihood_target(m.likelihood) != FAB_TARGET_REAL) return FAB_OK;
    fab_glm_likelihood(&m)->moments(&m, 0, 0, &mean, &variance);
    f->noise = sqrt(variance);
    return FAB_OK;
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

static double normal_cdf(const void *ctx, double x)
{
    (void)ctx;
    return 0.5 * erfc(-x / sqrt(2));
}

typedef struct strength {
    double value;
    int64_t at;
} strength;

static int by_strength(const void *a, const void *b)
{
    const strength *p = a, *q = b;
    if (p->value != q->value) return p->value > q->value ? -1 : 1;
    return (p->at > q->at) - (p->at < q->at);
}

/* A point has no sd: in the units of the features.  Intercepts, and what is 0 for a reference, come last. */
static double strength_of(const fab_effect *e)
{
    if (e->step == 0) return -1;
    return e->sd > 0 ? fabs(e->mean) / e->sd : fabs(e->mean) * e->step;
}

static fab_status find_effects(fab_regression *r, const char *reference, double z, fab_effect *e,
                               int64_t *order, double *work)
{
    const int64_t n = fab_regression_size(r), D = r->view.model.D,
                  width = D + r->view.model.intercept;
    double *mean = work, *sd = work + n;
    strength *all = (strength *)(work + 2 * n);
    FAB_TRY(reference ? fab_regression_contrasts(r, reference, mean, sd)
                      : fab_regression_coefficients(r, mean, sd));
    for (int64_t i = 0; i < n; i++) {
        const double step = i % width == D ? 0 : r->scaling->scale[i % width];
        e[i] = (fab_effect){mean[i], sd[i], mean[i] - z * sd[i], mean[i] + z * sd[i], step};
        all[i] = (strength){strength_of(&e[i]), i};
    }
    if (!order) return FAB_OK;
    qsort(all, (size_t)n, sizeof *all, by_strength);
    for (int64_t i = 0; i < n; i++) order[i] = all[i].at;
    return FAB_OK;
}

fab_status fab_regression_effects(fab_regression *r, const char *reference, double level,
                                  fab_effect *e, int64_t *order)
{
    double *work;
    if (!(level > 0 && level < 1))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "level = %g, expected a number between 0 and 1", level);
    FAB_TRY(fab_regression_view(r));
    FAB_TRY(fab_regression_need_linear(r, "coefficients"));
    FAB_TRY(
        fab_alloc_array((void **)&work, 4 * fab_regression_size(r), sizeof *work, "coefficients"));
    const double z = fab_cdf_quantile(normal_cdf, NULL, 0.5 + level / 2, 0, 1);
    const fab_status s = find_effects(r, reference, z, e, order, work);
    fab_release(work);
    return s;
}

fab_status fab_regression_reference(fab_regression *r, char **text)
{
    fab_text t = {0};
    *text = NULL;
    FAB_TRY(fab_regression_view(r));
    if (!fab_regression_has_coefficients(r) || fab_regression_size(r) > REFERENCES_MAX)
        return FAB_OK;
    const fab_scaling *k = r->scaling;
    const char *between = "";
    for (int64_t c = 0; c < k->columns; c++) {
        if (k->column[c].levels < 2 || !fab_regression_can_refer(k, c, r->view.model.intercept))
            continue;
        fab_text_add(&t, "%s%s=%s", between, k->column[c].name, k->column[c].level[0]);
        between = ",";
    }
    return *between ? fab_text_give(&t, text) : FAB_OK;
}
