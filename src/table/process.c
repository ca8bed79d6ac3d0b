/* process.c - a Gaussian process of a table: what a plan may ask of it, its file, its parameters in the user's units.
 *
 * SPDX-License-Identifier: MIT */
#include "base/rows.h"
#include "base/settings.h"
#include "base/memory.h"
#include "fit/fit.h"
#include "data/columns/table.h"
#include "data/source/source.h"
#include "kernel/kernel.h"
#include "methods/gp/gp.h"
#include "methods/vfe/vfe.h"
#include "model/kernel.h"
#include "model/likelihoods/likelihood.h"
#include "table/regression.h"
#include "train/state.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PLACE_STREAM UINT64_MAX /* draws use streams from 0 on */

/* ---- before the fit ------------------------------------------------------------------------------------- */

fab_status fab_regression_prepare_process(const fab_regression *r)
{
    const fab_recipe *w = &r->fit.what;
    const char *given = NULL;
    if (r->plan.noise || r->plan.floor != 0) given = "noise and floor are for networks";
    if (w->nu != 0) given = "nu is for networks and linear models";
    if (r->plan.prior || r->plan.prior_gauss) given = "a prior is for networks and linear models";
    if (given)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s; here is a Gaussian process, %s", given,
                        r->plan.model);
    if (!fab_likelihood_row_of(w->likelihood)->noise &&
        fab_settings_number(w->method->fields, r->settings, "beta") > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "beta is the noise of a gaussian target; this one is %s",
                        fab_likelihood_name(w->likelihood));
    return FAB_OK;
}

/* ---- after it --------------------------------------------------------------------------------------------- */

/* Through inducing inputs: its parameters stand beside the Gaussian, which is that of the inputs. */
static int is_sparse(const fab_tensors *t)
{
    return fab_tensors_find(t, "parameters") != NULL;
}

fab_status fab_regression_note_process(fab_regression *r)
{
    enum { BLOCK = 1024 };
    const fab_dataset *t = r->table;
    const fab_tensors *file;
    fab_process *p;
    fab_class_process *several;
    double *eta, *x;
    fab_release(r->eta);
    r->eta = NULL;
    if (!r->fit.kernel) return FAB_OK;
    FAB_TRY(fab_fit_process(r->fit.fit, &p));
    FAB_TRY(fab_fit_classes(r->fit.fit, &several));
    FAB_TRY(fab_fit_tensors(r->fit.fit, &file));
    int64_t learned = fab_process_rows(p);
    if (is_sparse(file)) {
        const int64_t found = FAB_VFE_SEARCH;
        fab_vfe_search search;
        FAB_TRY(fab_state_take(file, "search", FAB_F64, 1, &found, &search));
        learned = (int64_t)search.rows;
    }
    if (learned != t->n || t->n == 0) return FAB_OK; /* rows were appended, or are absent */
    const fab_rows rows = fab_dataset_rows(t);
    const int64_t D = r->scaling->D, C = r->fit.glm.classes;
    FAB_TRY(fab_alloc_array((void **)&eta, C * t->n, sizeof *eta, "summary"));
    fab_status done = fab_alloc_array((void **)&x, BLOCK * D, sizeof *x, "summary");
    for (int64_t first = 0; first < t->n && done == FAB_OK; first += BLOCK) {
        const int64_t n = t->n - first < BLOCK ? t->n - first : BLOCK;
        for (int64_t i = 0; i < n; i++) fab_rows_get(&rows, first + i, D, x + i * D);
        done = several ? fab_class_process_predict(several, n, x, D, eta + C * first, NULL)
                       : fab_process_predict(p, n, x, D, eta + first, NULL, NULL);
    }
    fab_release(x);
    if (done != FAB_OK) {
        fab_release(eta);
        return done;
    }
    for (int64_t i = 0; t->offset && i < C * t->n; i++) eta[i] += t->offset[i / C];
    r->eta = eta;
    return FAB_OK;
}

/* ---- from a file ------------------------------------------------------------------------------------------ */

/* A tensor of finite f64 numbers, n, n x k or n x k x m of them. */
static fab_status find3(const fab_tensors *t, const char *name, int64_t n, int64_t k, int64_t m,
                        const double **numbers)
{
    const fab_tensor *v = fab_tensors_find(t, name);
    if (!v || v->type != FAB_F64 || v->ndim != 1 + (k > 0) + (m > 0) || v->shape[0] != n ||
        (k && v->shape[1] != k) || (m && v->shape[2] != m))
        return FAB_FAIL(FAB_BAD_FILE, "its tensor '%s' is absent or of another shape", name);
    *numbers = v->data;
    for (int64_t i = 0; i < n * (k ? k : 1) * (m ? m : 1); i++)
        if (!isfinite((*numbers)[i]))
            return FAB_FAIL(FAB_BAD_FILE, "its tensor '%s' has a number that is %g", name,
                            (*numbers)[i]);
    return FAB_OK;
}

static fab_status find(const fab_tensors *t, const char *name, int64_t n, int64_t k,
                       const double **numbers)
{
    return find3(t, name, n, k, 0, numbers);
}

/* The diagonals of `count` factors are above 0. */
static fab_status check_factors(int64_t count, int64_t n, const double *L)
{
    for (int64_t i = 0; i < count * n; i++) {
        const double at = L[i * n + i % n];
        if (!(at > 0))
            return FAB_FAIL(FAB_BAD_FILE, "its factor has %g on the diagonal, expected more than 0",
                            at);
    }
    return FAB_OK;
}

static fab_status take_class_parts(fab_regression *r, const fab_tensors *file, const fab_kernel *k,
                                   int64_t C)
{
    const fab_tensor *rows = fab_tensors_find(file, "X");
    if (!rows || rows->ndim != 2 || rows->shape[0] < 1)
        return FAB_FAIL(FAB_BAD_FILE, "its tensor 'X' is absent or of another shape");
    const int64_t n = rows->shape[0];
    fab_class_parts p = {.n = n, .classes = C};
    FAB_TRY(find(file, "X", n, fab_kernel_columns(k), &p.X));
    FAB_TRY(find(file, "a", C, n, &p.a));
    FAB_TRY(find(file, "s", C, n, &p.s));
    FAB_TRY(find3(file, "L", C, n, n, &p.L));
    FAB_TRY(find(file, "M", n, n, &p.M));
    FAB_TRY(check_factors(C, n, p.L));
    FAB_TRY(check_factors(1, n, p.M));
    FAB_TRY(fab_class_process_create(&r->view.owned_classes, k, &p, &r->exec));
    r->view.classes = r->view.owned_classes;
    return FAB_OK;
}

/* The logarithms of the kernel's parameters and of the noise precision; NULL: there are not `size` of them. */
static const double *parameters(const fab_tensors *t, const fab_gauss *q, int64_t size)
{
    const double *theta = NULL;
    if (is_sparse(t)) return find(t, "parameters", size, 0, &theta) == FAB_OK ? theta : NULL;
    return q->D == size && q->form == FAB_FORM_POINT ? q->mu : NULL;
}

static fab_status take_parts(fab_regression *r, const fab_tensors *file, const fab_kernel *k)
{
    const fab_tensor *rows = fab_tensors_find(file, "a"), *s = fab_tensors_find(file, "s");
    const double *X, *a, *L, *scale = NULL;
    if (!rows || rows->ndim != 1 || rows->shape[0] < 1)
        return FAB_FAIL(FAB_BAD_FILE, "its tensor 'a' is absent or of another shape");
    const int64_t n = rows->shape[0];
    FAB_TRY(find(file, "X", n, fab_kernel_columns(k), &X));
    FAB_TRY(find(file, "a", n, 0, &a));
    const fab_tensor *missed = fab_tensors_find(file, "missed");
    if (missed) {
        const double *square;
        FAB_TRY(find(file, "missed", 1, 0, &square));
        if (!(*square > 0))
            return FAB_FAIL(FAB_BAD_FILE, "its rows are missed by %g, expected more than 0",
                            *square);
        r->view.model.beta = 1 / *square;
        L = NULL;
    } else {
        FAB_TRY(find(file, "L", n, n, &L));
        FAB_TRY(check_factors(1, n, L));
    }
    if (s) FAB_TRY(find(file, "s", n, 0, &scale));
    if (is_sparse(file)) {
        const double *C;
        FAB_TRY(find(file, "C", n, n, &C));
        FAB_TRY(check_factors(1, n, C));
        return fab_process_of_inducing(&r->view.owned, k, n, X, a, L, C, &r->exec);
    }
    return fab_process_of_parts(&r->view.owned, k, n, X, a, scale, L, &r->exec);
}

/* Of predictions: a jitter is noise that had to be there. */
static fab_status noise_of_file(const fab_tensors *file, double log_beta, double *beta)
{
    const int64_t found = FAB_GP_SEARCH;
    fab_gp_search search;
    FAB_TRY(fab_state_take(file, "search", FAB_F64, 1, &found, &search));
    if (!(search.jitter >= 0 && isfinite(search.jitter)))
        return FAB_FAIL(FAB_BAD_FILE, "its jitter is %g, expected 0 or more", search.jitter);
    *beta = search.jitter > 0 ? 1 / (exp(-log_beta) + search.jitter) : exp(log_beta);
    return FAB_OK;
}

/* Processes at other places, of which the first is that of the file itself. */
static fab_status take_places(fab_regression *r, const fab_tensors *file, fab_kernel *k)
{
    const fab_tensor *theta = fab_tensors_find(file, "places.theta");
    const int64_t size = fab_process_size(&r->view.model, k), n = fab_process_rows(r->view.owned);
    const double *u, *weight, *noise, *X;
    if (!theta) return FAB_OK;
    if (theta->ndim != 2 || theta->shape[0] < 1)
        return FAB_FAIL(FAB_BAD_FILE, "its tensor 'places.theta' is of another shape");
    const int64_t places = theta->shape[0];
    FAB_TRY(find(file, "places.theta", places, size, &u));
    FAB_TRY(find(file, "places.weight", places, 0, &weight));
    FAB_TRY(find(file, "places.noise", places, 0, &noise));
    for (int64_t i = 0; i < places; i++)
        if (!(weight[i] >= 0 && noise[i] > 0))
            return FAB_FAIL(FAB_BAD_FILE, "a place has the weight %g and the noise %g", weight[i],
                            noise[i]);
    FAB_TRY(fab_alloc_array((void **)&r->view.owned_places, places, sizeof *r->view.owned_places,
                            "regression"));
    memset((void *)r->view.owned_places, 0, (size_t)places * sizeof *r->view.owned_places);
    FAB_TRY(
        fab_alloc_array((void **)&r->view.place_numbers, 2 * places, sizeof(double), "regression"));
    memcpy(r->view.place_numbers, weight, (size_t)places * sizeof *weight);
    memcpy(r->view.place_numbers + places, noise, (size_t)places * sizeof *noise);
    r->view.owned_places[0] = r->view.owned;
    r->view.places = (fab_process_places){.n = places,
                                          .p = r->view.owned_places,
                                          .weight = r->view.place_numbers,
                                          .noise = r->view.place_numbers + places};
    fab_process_parts(r->view.owned, &X, NULL, NULL, NULL);
    for (int64_t i = 1; i < places; i++) {
        const double *a, *L;
        char name[32];
        snprintf(name, sizeof name, "places.%lld.a", (long long)i);
        FAB_TRY(find(file, name, n, 0, &a));
        snprintf(name, sizeof name, "places.%lld.L", (long long)i);
        FAB_TRY(find(file, name, n, n, &L));
        FAB_TRY(check_factors(1, n, L));
        FAB_TRY(fab_kernel_set(k, u + i * size));
        FAB_TRY(fab_process_of_parts(&r->view.owned_places[i], k, n, X, a, NULL, L, &r->exec));
    }
    return FAB_OK;
}

fab_status fab_regression_take_process(fab_regression *r, const fab_posterior *p)
{
    const char *scaling = fab_tensors_get(p->file, "scaling");
    const fab_gauss *q = p->mix.part[0];
    fab_glm *m = &r->view.model;
    fab_kernel *k;
    const char **names;
    if (!scaling || p->mix.n != 1)
        return FAB_FAIL(FAB_BAD_FILE, "is a Gaussian process without a scaling");
    FAB_TRY(fab_scaling_from_json(&r->scaling, scaling));
    FAB_TRY(fab_fitting_columns(r->scaling, &names));
    fab_status s =
        fab_process_from_json(m, &k, fab_tensors_get(p->file, "model"), r->scaling->D, names);
    fab_release((void *)names);
    FAB_TRY(s);
    const int classes = fab_likelihood_target(m->likelihood) == FAB_TARGET_CLASSES;
    const int several = fab_likelihood_row_of(m->likelihood)->several;
    const double *theta = parameters(p->file, q, fab_process_size(m, k));
    if (!theta || q->total || r->scaling->levels != (several ? m->classes : (classes ? 2 : 0)))
        s = FAB_FAIL(FAB_BAD_FILE, "its parameters, model and scaling do not belong together");
    if (s == FAB_OK) s = fab_kernel_set(k, theta);
    const int64_t noise = fab_process_noise_at(m, k);
    if (s == FAB_OK && noise >= 0 && is_sparse(p->file)) /* whose jitter is that of Kzz */
        m->beta = exp(theta[noise]);
    else if (s == FAB_OK && noise >= 0)
        s = noise_of_file(p->file, theta[noise], &m->beta);
    if (s == FAB_OK)
        s = several ? take_class_parts(r, p->file, k, m->classes) : take_parts(r, p->file, k);
    if (s == FAB_OK && !several) s = take_places(r, p->file, k);
    fab_kernel_free(k);
    FAB_TRY(s);
    r->view.process = several ? fab_class_process_base(r->view.classes) : r->view.owned;
    return FAB_OK;
}

/* ---- what it has learned ---------------------------------------------------------------------------------- */

#define EDGE 1e-4 /* in logarithms: so near to the end of its range a parameter stands there */

typedef struct room {
    fab_process_summary s; /* first: it is lent */
    fab_process_parameter *parameter;
    int64_t *order;
    char *found;
    int64_t length; /* of the text, with its end */
} room;

static void layout(fab_layout *l, void *handle)
{
    room *m = handle;
    m->parameter = fab_place(l, m->s.n, sizeof *m->parameter);
    m->order = fab_place(l, m->s.n, sizeof *m->order);
    m->found = fab_place(l, m->length, 1);
}

/* The basic kernel that the parameter is of; NULL: it is the s2 of a term. */
static const fab_leaf *leaf_of(const fab_kernel *k, int64_t i)
{
    for (int64_t m = 0; m < k->leaves; m++) {
        const fab_leaf *f = &k->leaf[m];
        if ((i >= f->at && i < f->at + f->lengths) || i == f->own) return f;
    }
    return NULL;
}

/* Times this it is in the user's units; 1 where its features differ. */
static double unit_of(const fab_scaling *k, const fab_kernel *kernel, int64_t i,
                      const fab_kernel_parameter *p)
{
    const fab_leaf *f = leaf_of(kernel, i);
    if (!f) return k->target_scale * k->target_scale;
    if (strcmp(p->name, "l") != 0 && strcmp(p->name, "p") != 0) return 1;
    if (p->column >= 0) return k->scale[p->column];
    if (strcmp(p->kernel, "periodic") == 0 && strcmp(p->name, "l") == 0) return 1; /* of a sine */
    const double first = k->scale[kernel->column[f->first]];
    for (int64_t c = 1; c < f->columns; c++)
        if (fabs(k->scale[kernel->column[f->first + c]] - first) > 0) return 1;
    return first;
}

static fab_process_parameter parameter_of(const fab_scaling *k, const fab_kernel *kernel, int64_t i)
{
    fab_kernel_parameter p;
    fab_kernel_parameter_at(kernel, i, &p);
    const int at = log(p.value / p.lo) < EDGE || log(p.hi / p.value) < EDGE;
    return (fab_process_parameter){.name = p.name,
                                   .kernel = p.kernel,
                                   .column = p.column >= 0 ? k->name[p.column] : NULL,
                                   .theta = p.value,
                                   .value = p.value * unit_of(k, kernel, i, &p),
                                   .relevance = p.column >= 0 ? 1 / p.value : NAN,
                                   .fixed = p.fixed,
                                   .at_bound = !p.fixed && at};
}

static void sort(room *m)
{
    for (int64_t i = 0; i < m->s.n; i++) {
        const double mine = m->parameter[i].relevance;
        int64_t at = i;
        for (; at > 0; at--) {
            const double other = m->parameter[m->order[at - 1]].relevance;
            if (isnan(mine) || (!isnan(other) && other >= mine)) break;
            m->order[at] = m->order[at - 1];
        }
        m->order[at] = i;
    }
}

/* What the file of a gp says of its search. */
static fab_status summarise_gp(const fab_tensors *t, int64_t rows, fab_process_summary *s,
                               int *noise_given, int *noise_at_bound)
{
    const int64_t found = FAB_GP_SEARCH;
    fab_gp_search search;
    FAB_TRY(fab_state_take(t, "search", FAB_F64, 1, &found, &search));
    s->objective = "lml";
    s->rows = rows;
    s->lml = search.lml;
    s->jitter = search.jitter;
    s->searched = (int64_t)search.rows;
    s->starts = (int64_t)search.starts;
    s->optima = (int64_t)search.optima;
    s->second = search.optima > 1 ? search.second : NAN;
    *noise_given = search.noise_given > 0;
    *noise_at_bound = search.noise_at_bound > 0;
    return FAB_OK;
}

/* And that of one through inducing inputs, which the process has as its rows. */
static fab_status summarise_sparse(const fab_tensors *t, int64_t inputs, fab_process_summary *s,
                                   int *noise_given, int *noise_at_bound)
{
    const int64_t found = FAB_VFE_SEARCH;
    fab_vfe_search search;
    FAB_TRY(fab_state_take(t, "search", FAB_F64, 1, &found, &search));
    s->objective = search.is_bound > 0 ? "bound" : "approximate_lml";
    s->rows = (int64_t)search.rows;
    s->lml = search.bound;
    s->jitter = search.jitter;
    s->searched = (int64_t)search.searched;
    s->starts = (int64_t)search.starts;
    s->optima = (int64_t)search.optima;
    s->second = search.optima > 1 ? search.second : NAN;
    s->inducing = inputs;
    s->asked = (int64_t)search.asked;
    s->steps = (int64_t)search.steps;
    *noise_given = search.noise_given > 0;
    *noise_at_bound = search.noise_at_bound > 0;
    return FAB_OK;
}

fab_status fab_regression_process(fab_regression *r, const fab_process_summary **s)
{
    const fab_tensors *t;
    fab_process_summary found = {0};
    int given, at_bound;
    *s = NULL;
    FAB_TRY(fab_regression_view(r));
    if (!r->view.process) return FAB_FAIL(FAB_UNSUPPORTED, "regression: it is no Gaussian process");
    if (r->fit.fit)
        FAB_TRY(fab_fit_tensors(r->fit.fit, &t));
    else
        t = r->posterior->file;
    const int64_t rows = fab_process_rows(r->view.process);
    FAB_TRY((is_sparse(t) ? summarise_sparse : summarise_gp)(t, rows, &found, &given, &at_bound));
    const fab_kernel *k = fab_process_kernel(r->view.process);
    const fab_scaling *units = r->scaling;
    const int64_t noise = fab_process_noise_at(&r->view.model, k);
    found.n = fab_process_size(&r->view.model, k);
    const double *theta = parameters(t, r->view.mix.part[0], found.n);
    if (!theta) return FAB_FAIL(FAB_BAD_FILE, "its parameters are absent or of another model");
    room proto = {.s = found}, *m;
    char *text;
    FAB_TRY(fab_kernel_describe(k, &text));
    proto.length = (int64_t)strlen(text) + 1;
    const fab_status built = fab_build((void **)&m, sizeof *m, &proto, layout);
    if (built == FAB_OK) memcpy(m->found, text, (size_t)proto.length);
    fab_text_free(text);
    FAB_TRY(built);
    fab_release(r->process);
    r->process = &m->s;
    m->s.kernel = fab_kernel_text(k);
    m->s.parameter = m->parameter;
    m->s.order = m->order;
    m->s.found = m->found;
    m->s.places = r->view.places.n > 0 ? r->view.places.n : 1;
    for (int64_t i = 0; i < fab_kernel_size(k); i++) m->parameter[i] = parameter_of(units, k, i);
    if (noise >= 0) {
        const double variance = exp(-theta[noise]);
        m->parameter[noise] =
            (fab_process_parameter){.name = "noise",
                                    .kernel = "",
                                    .theta = variance,
                                    .value = variance * units->target_scale * units->target_scale,
                                    .relevance = NAN,
                                    .fixed = given,
                                    .at_bound = at_bound};
    }
    sort(m);
    *s = r->process;
    return FAB_OK;
}

/* ---- its evidence -------------------------------------------------------------------------------------------- */

static fab_status evidence_at(const fab_regression *r, const fab_tensors *t, const double *theta,
                              double *lml, double *gradient)
{
    const fab_kernel *found = fab_process_kernel(r->view.process);
    const int64_t n = fab_process_rows(r->view.process), D = fab_kernel_columns(found);
    const int64_t noise = fab_process_noise_at(&r->view.model, found);
    const double *X, *y, *weight;
    fab_kernel *k;
    fab_process *p = NULL;
    FAB_TRY(find(t, "X", n, D, &X));
    FAB_TRY(find(t, "y", n, 0, &y));
    FAB_TRY(find(t, "weight", n, 0, &weight));
    FAB_TRY(fab_kernel_copy(&k, found));
    fab_status s = fab_kernel_set(k, theta);
    if (s == FAB_OK) s = fab_process_create(&p, k, n, X, D, n, &r->exec);
    if (s == FAB_OK) s = fab_process_learn(p, y, weight, exp(-theta[noise]));
    if (s == FAB_OK) s = fab_process_evidence(p, lml, gradient);
    if (s == FAB_OK && gradient) gradient[noise] = -gradient[noise]; /* by the precision */
    fab_process_free(p);
    fab_kernel_free(k);
    return s;
}

fab_status fab_regression_evidence(fab_regression *r, const double *theta, double *lml,
                                   double *gradient)
{
    const fab_tensors *t;
    FAB_TRY(fab_regression_view(r));
    if (!r->view.process || r->view.model.likelihood != FAB_LIKELIHOOD_GAUSSIAN)
        return FAB_FAIL(FAB_UNSUPPORTED, "evidence: the model is no Gaussian process of a number");
    if (r->fit.fit)
        FAB_TRY(fab_fit_tensors(r->fit.fit, &t));
    else
        t = r->posterior->file;
    if (fab_tensors_find(t, "parameters")) /* beside the Gaussian of inducing inputs */
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "evidence: under other parameters it is that of method gp");
    return evidence_at(r, t, theta ? theta : r->view.mix.part[0]->mu, lml, gradient);
}

/* ---- functions ---------------------------------------------------------------------------------------------- */

/* All rows of the data, in fitting units. */
static fab_status read_rows(const fab_regression *r, const fab_data *d, fab_dataset **t)
{
    fab_data unlabelled = *d;
    fab_feed *f;
    *t = NULL;
    unlabelled.labels = NULL;
    FAB_TRY(fab_feed_open_data_as(&f, &unlabelled, r->scaling, FAB_READ_FEATURES));
    fab_feed_watch(f, &r->exec);
    fab_status s = fab_feed_table(f, t);
    if (s == FAB_OK) s = fab_feed_read(f, INT64_MAX, *t);
    if (s == FAB_OK && (*t)->n == 0) s = fab_feed_no_rows(f, *t);
    if (s == FAB_OK) s = fab_scaling_apply(r->scaling, *t);
    fab_feed_close(f);
    return s;
}

/* The features of t as a matrix.  Gives *x. */
static fab_status matrix_of(const fab_regression *r, const fab_dataset *t, double **x)
{
    const fab_rows rows = fab_dataset_rows(t);
    const int64_t D = r->scaling->D;
    *x = NULL;
    FAB_TRY(fab_rows_check("sample", &rows, D));
    FAB_TRY(fab_alloc_array((void **)x, t->n * D, sizeof **x, "sample"));
    for (int64_t i = 0; i < t->n; i++) fab_rows_get(&rows, i, D, *x + i * D);
    return FAB_OK;
}

/* A predictor of row i in the user's units. */
static double to_units(const fab_regression *r, const fab_dataset *t, int64_t i, double f)
{
    const double eta = f + (t->offset ? t->offset[i] : 0);
    return r->scaling->target_mean + r->scaling->target_scale * eta;
}

/* Each draw is of a place that is drawn by its weight. */
static fab_status draw_places(const fab_process_places *p, int64_t m, const double *x, int64_t D,
                              uint64_t seed, int64_t first, int64_t n, double *draws)
{
    double *all, *u;
    FAB_TRY(fab_alloc_array((void **)&all, n * m + n, sizeof *all, "sample"));
    u = all + n * m;
    for (int64_t j = 0; j < n; j++) /* by its own number, whichever call makes it */
        fab_random_uniform(seed, FAB_PURPOSE_SAMPLE, PLACE_STREAM - (uint64_t)(first + j), 0, 1,
                           &u[j]);
    double below = 0;
    fab_status s = FAB_OK;
    for (int64_t r = 0; r < p->n && s == FAB_OK; r++) {
        const double above = r + 1 < p->n ? below + p->weight[r] : 2;
        int64_t any = 0;
        for (int64_t j = 0; j < n; j++) any += u[j] >= below && u[j] < above;
        if (any) s = fab_process_draw(p->p[r], m, x, D, seed, FAB_PURPOSE_SAMPLE, first, n, all, m);
        for (int64_t j = 0; j < n && any && s == FAB_OK; j++)
            if (u[j] >= below && u[j] < above)
                memcpy(draws + j * m, all + j * m, (size_t)m * sizeof *draws);
        below = above;
    }
    fab_release(all);
    return s;
}

static fab_status draw(const fab_regression *r, const fab_dataset *t, uint64_t seed, int64_t first,
                       int64_t n, double *draws)
{
    const int64_t m = t->n, D = r->scaling->D, C = r->view.model.classes, all = m * C;
    double *x;
    FAB_TRY(matrix_of(r, t, &x));
    const fab_status s = r->view.places.n > 0
                             ? draw_places(&r->view.places, m, x, D, seed, first, n, draws)
                         : r->view.classes
                             ? fab_class_process_draw(r->view.classes, m, x, D, seed,
                                                      FAB_PURPOSE_SAMPLE, first, n, draws, all)
                             : fab_process_draw(r->view.process, m, x, D, seed, FAB_PURPOSE_SAMPLE,
                                                first, n, draws, m);
    fab_release(x);
    for (int64_t j = 0; j < n && s == FAB_OK; j++)
        for (int64_t i = 0; i < all; i++)
            draws[j * all + i] = to_units(r, t, i / C, draws[j * all + i]);
    return s;
}

fab_status fab_regression_functions(fab_regression *r, const fab_data *d, uint64_t seed,
                                    int64_t first, int64_t n, double **draws, int64_t *rows)
{
    fab_dataset *t;
    *draws = NULL;
    *rows = 0;
    FAB_TRY(fab_regression_view(r));
    if (!r->view.process)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "sample: functions at rows are those of a Gaussian process");
    fab_status s = read_rows(r, d, &t);
    const int64_t all = s == FAB_OK ? t->n * r->view.model.classes : 0;
    if (s == FAB_OK) s = fab_alloc_array((void **)draws, n * all, sizeof **draws, "sample");
    if (s == FAB_OK) s = draw(r, t, seed, first, n, *draws);
    if (s == FAB_OK) *rows = all;
    if (s != FAB_OK) {
        fab_release(*draws);
        *draws = NULL;
    }
    fab_dataset_free(t);
    return fab_about(fab_data_name(d), s == FAB_BAD_ARGUMENT ? FAB_BAD_DATA : s);
}

/* Adds what a process says of the rows x, weighed: w m, and w (C + noise I + m m'). */
static fab_status add_joint(fab_process *p, double w, double noise, int64_t n, int64_t D,
                            const double *x, double *own, double *mean, double *cov)
{
    double *m = own, *C = own + n;
    FAB_TRY(fab_process_joint(p, n, x, D, m, C, n));
    for (int64_t i = 0; i < n; i++) {
        mean[i] += w * m[i];
        for (int64_t j = 0; j < n; j++)
            cov[i * n + j] += w * (C[i * n + j] + m[i] * m[j] + (i == j ? noise : 0));
    }
    return FAB_OK;
}

/* One process, or the moments of a mixture of them. */
static fab_status join(const fab_regression *r, const fab_dataset *t, double *mean, double *cov)
{
    const fab_process_places *p = &r->view.places;
    const int64_t n = t->n, D = r->scaling->D;
    const double unit = r->scaling->target_scale * r->scaling->target_scale;
    double *x, *own = NULL;
    FAB_TRY(matrix_of(r, t, &x));
    fab_status s = FAB_OK;
    if (p->n == 0) {
        s = fab_process_joint(r->view.process, n, x, D, mean, cov, n);
        for (int64_t i = 0; i < n && s == FAB_OK; i++) cov[i * n + i] += 1 / r->view.model.beta;
    } else {
        memset(mean, 0, (size_t)n * sizeof *mean);
        memset(cov, 0, (size_t)(n * n) * sizeof *cov);
        s = fab_alloc_array((void **)&own, n + n * n, sizeof *own, "joint");
        for (int64_t k = 0; k < p->n && s == FAB_OK; k++)
            s = add_joint(p->p[k], p->weight[k], p->noise[k], n, D, x, own, mean, cov);
        for (int64_t i = 0; i < n && s == FAB_OK; i++)
            for (int64_t j = 0; j < n; j++) cov[i * n + j] -= mean[i] * mean[j];
    }
    fab_release(own);
    fab_release(x);
    for (int64_t i = 0; i < n && s == FAB_OK; i++) {
        mean[i] = to_units(r, t, i, mean[i]);
        for (int64_t j = 0; j < n; j++) cov[i * n + j] *= unit;
    }
    return s;
}

fab_status fab_regression_joint(fab_regression *r, const fab_data *d, double **mean,
                                double **covariance, int64_t *rows)
{
    fab_dataset *t;
    *mean = *covariance = NULL;
    *rows = 0;
    FAB_TRY(fab_regression_view(r));
    if (!r->view.process || r->view.model.likelihood != FAB_LIKELIHOOD_GAUSSIAN)
        return FAB_FAIL(FAB_UNSUPPORTED, "joint: the model is no Gaussian process of a number");
    fab_status s = read_rows(r, d, &t);
    if (s == FAB_OK) s = fab_alloc_array((void **)mean, t->n, sizeof **mean, "joint");
    if (s == FAB_OK)
        s = fab_alloc_array((void **)covariance, t->n * t->n, sizeof **covariance, "joint");
    if (s == FAB_OK) s = join(r, t, *mean, *covariance);
    if (s == FAB_OK) *rows = t->n;
    if (s != FAB_OK) {
        fab_release(*mean);
        fab_release(*covariance);
        *mean = *covariance = NULL;
    }
    fab_dataset_free(t);
    return fab_about(fab_data_name(d), s == FAB_BAD_ARGUMENT ? FAB_BAD_DATA : s);
}
