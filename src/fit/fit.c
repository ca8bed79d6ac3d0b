/* fit.c - the one handle: checks at the door, independent runs, results and reports of every method.
 *
 *     caller -> fab_fit -> checks settings, input, rows -> the verbs of the method (method.h), once for each run
 *
 * Methods whose settings have `runs` are run so many times, with seeds seed, seed + 1, ..: an equal-weight mixture.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/fit.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/settings.h"
#include "model/example_rows.h"
#include "model/net/examples.h"
#include "la/ops.h"
#include "model/likelihoods/likelihood.h"
#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- the door ------------------------------------------------------------------------------------- */

/* The method of that name that takes such an input; a sentence with the nearest name, or what it lacks. */
static fab_status find_method(const fab_method **m, const char *name, const fab_input *in)
{
    *m = fab_method_find(name);
    if (!*m) {
        const char *names[FAB_MOST_METHODS];
        for (int64_t i = 0; i < fab_method_count(); i++) names[i] = fab_method_at(i)->name;
        return fab_no_such(FAB_BAD_ARGUMENT, "method", name, names, fab_method_count(), "");
    }
    if (in->model && !in->model->glm) *m = fab_method_of_networks(*m);
    if (!in->model && (*m)->vectors) *m = (*m)->vectors;
    if (!in->model && in->vectors < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: vectors of length %lld and no model: nothing to fit",
                        name, (long long)in->vectors);
    const char *lack = in->model && in->rows ? NULL : fab_method_lacks_model(*m, in->model);
    if (lack) return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: this method %s", (*m)->name, lack);
    return FAB_OK;
}

/* A struct may have members for another kind of model: they mean nothing here, and must be as they were. */
static fab_status check_foreign(const fab_method *m, const void *settings)
{
    const fab_method *listed = fab_method_find(m->name);
    const fab_method *other = m == listed ? listed->general : listed;
    if (!other || other->fields->size != m->fields->size) return FAB_OK;
    for (int64_t i = 0; i < other->fields->n; i++) {
        const fab_field *f = &other->fields->field[i];
        char given[64], usual[64];
        int64_t bits; /* 0 where nobody has set it */
        int known = 0;
        memcpy(&bits, (const char *)settings + f->offset, sizeof bits);
        for (int64_t k = 0; k < m->fields->n; k++) known |= m->fields->field[k].offset == f->offset;
        if (known || bits == 0) continue;
        fab_settings_print(f, settings, given, sizeof given);
        fab_settings_default_text(f, usual, sizeof usual);
        if (strcmp(given, usual) == 0) continue;
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: %s = %s is for %s", m->name, f->name, given,
                        m == listed ? "networks; this model is linear"
                                    : "linear models; this model is another");
    }
    return FAB_OK;
}

/* Copy the settings of a caller who may know fewer of them; what he does not know has its default. */
static fab_status take_settings(void *to, const fab_method *m, const void *settings, size_t size)
{
    const fab_fields *t = m->fields;
    fab_settings_defaults(t, to);
    if (settings && (size > t->size || size % 8 != 0 || size == 0))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: settings of %zu bytes, expected the %zu of its settings struct (or of "
                        "an older one, which is shorter)",
                        m->name, size, t->size);
    if (settings) memcpy(to, settings, size);
    if (settings) FAB_TRY(check_foreign(m, to));
    return fab_settings_check(t, to);
}

static fab_status check_glm(const fab_method *m, const fab_glm *g)
{
    FAB_TRY(fab_likelihood_check(m->name, g->likelihood));
    const int many = fab_likelihood_row_of(g->likelihood)->several;
    if (many && g->classes < 2)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: classes = %lld, expected at least 2 for a %s target",
                        m->name, (long long)g->classes, fab_likelihood_name(g->likelihood));
    if (!many && g->classes != 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: classes = %lld, expected 1 for a %s target", m->name,
                        (long long)g->classes, fab_likelihood_name(g->likelihood));
    if (g->nu != 0 && !(g->nu > 2 && isfinite(g->nu)))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: nu = %g, expected 0 or more than 2", m->name, g->nu);
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
    if (prior->form == FAB_FORM_POINT)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the prior is a point and has no width", m->name);
    if (prior->D != size)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the prior has %lld coordinates, theta has %lld",
                        m->name, (long long)prior->D, (long long)size);
    return FAB_OK;
}

/* In the place of a loss that the caller computes himself. */
static fab_status nothing(void *self, const double *theta, const fab_examples *e, double *loss,
                          double *gradient)
{
    (void)self, (void)theta, (void)e, (void)gradient;
    *loss = 0;
    return FAB_OK;
}

/* Where a method of clusters begins. */
static fab_status check_start(const fab_method *m, const fab_input *in)
{
    if (!m->starts)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: begins where it chooses; a start is for kmeans, mfa and gmm", m->name);
    const fab_status s = fab_mixture_check(in->start);
    if (s != FAB_OK) return fab_prefix(s, "%s: start: ", m->name);
    if (in->start->part[0]->D != in->vectors)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: the start has vectors of length %lld, the input of length %lld",
                        m->name, (long long)in->start->part[0]->D, (long long)in->vectors);
    return FAB_OK;
}

static fab_status check_input(const fab_method *m, const void *settings, const fab_input *in,
                              const fab_exec *x)
{
    if (x && x->ops && x->ops->memory && !m->anywhere)
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "%s: works in the host's memory, and kernels '%s' have their own: take cpu, "
            "or one of online-em, stochastic-em, online-sga, swag of vectors, vifa, meanfield",
            m->name, x->ops->backend);
    if (in->start) FAB_TRY(check_start(m, in));
    if (in->model) {
        if (in->rows < 0)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "%s: rows = %lld, expected at least 1 for ask and tell", m->name,
                            (long long)in->rows);
        fab_model model = *in->model;
        if (in->rows && !model.loss) model.loss = nothing;
        if (!in->rows && (in->y || in->weight || in->offset))
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "%s: y, weight and offset of the input are for ask and tell; here they "
                            "come with the rows of an update",
                            m->name);
        FAB_TRY(fab_model_check(m->name, &model));
        FAB_TRY(check_glm(m, &in->model->head));
        if (in->model->glm && in->model->head.nu != 0 && !m->dispersion)
            return FAB_FAIL(FAB_UNSUPPORTED,
                            "%s: nu = %g: noise of Student's t is offered for linear models by "
                            "laplace and map",
                            m->name, in->model->head.nu);
        if (fab_glm_likelihood(&in->model->head)->dispersion && !(m->dispersion && in->model->glm))
            return FAB_FAIL(FAB_UNSUPPORTED,
                            "%s: a %s target is offered for linear models, by laplace and map",
                            m->name, fab_likelihood_name(in->model->head.likelihood));
        return in->prior ? check_prior(m, in->model->D, in->prior) : FAB_OK;
    }
    const int64_t K = fab_method_setting(m, settings, "K"), D = in->vectors;
    if (in->prior)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: vectors have no theta, and so no prior", m->name);
    if (D > (int64_t)1 << 40)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: vectors of length D = %lld, expected at most 2^40",
                        m->name, (long long)D);
    const int64_t total = fab_total(x ? x->comm : NULL, D);
    if (total < D)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: %lld coordinates here, and %lld in all processes together", m->name,
                        (long long)D, (long long)total);
    if (K > total)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: K = %lld factors for D = %lld coordinates, expected K <= D", m->name,
                        (long long)K, (long long)total);
    return FAB_OK;
}

/* A beta among the settings is that of the model; methods of linear models take it from the settings. */
static fab_status fix_beta(const fab_method *m, const void *settings, int driven, fab_model *model)
{
    const fab_field *f = fab_settings_find(m->fields, "beta");
    double beta = FAB_AUTO_F64;
    if (f) memcpy(&beta, (const char *)settings + f->offset, sizeof beta);
    if (fab_is_auto_f64(beta)) return FAB_OK;
    if (!model->fix_beta && !driven)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: beta = %g cannot be fixed in this model", m->name,
                        beta);
    if (model->fix_beta) FAB_TRY(model->fix_beta(model->self, beta));
    model->head.beta = beta;
    return FAB_OK;
}

/* ---- life ----------------------------------------------------------------------------------------- */

/* What the runs report to: asks whoever watches the fit, and remembers an answer to stop until the verb comes back. */
static int hear(void *ctx, const char *what, int64_t done, int64_t total)
{
    fab_fit *f = ctx;
    if (f->muted) return 0;
    if (!f->stopped) f->stopped = fab_watch_tick(&f->watch, what, done, total) != FAB_OK;
    return f->stopped;
}

/* Whatever a verb does in several processes begins and ends in all of them: see fab_agree. */
static fab_status agree(const fab_fit *f, fab_status mine)
{
    return fab_agree(&f->comm, mine, 0, "");
}

static fab_status open_runs(fab_fit *f, const fab_input *in, const fab_exec *x)
{
    const fab_field *seed = fab_settings_find(f->m->fields, "seed");
    int64_t first = fab_method_setting(f->m, f->settings, "seed");
    if (in->prior) FAB_TRY(fab_gauss_copy(&f->prior, in->prior, FAB_F64));
    const fab_input own = {.vectors = in->vectors,
                           .model = f->model.D ? &f->model : NULL,
                           .prior = f->prior,
                           .rows = in->rows,
                           .beta = in->beta,
                           .start = in->start};
    fab_exec exec = x ? *x : (fab_exec){0};
    f->watch = fab_watch_of(x);
    exec.progress = hear;
    exec.progress_ctx = f;
    f->pieces = fab_watch_of(&exec);
    fab_status s = FAB_OK;
    for (int64_t i = 0; i < f->runs && s == FAB_OK; i++) {
        const int64_t number = first + i;
        if (seed) memcpy((char *)f->settings + seed->offset, &number, sizeof number);
        s = f->m->init(&f->handle[i], f->settings, &own, &exec);
    }
    if (seed) memcpy((char *)f->settings + seed->offset, &first, sizeof first);
    return s;
}

static void layout(fab_layout *l, void *handle)
{
    fab_fit *f = handle;
    f->settings = fab_place(l, (int64_t)f->m->fields->size, 1);
    f->handle = fab_place(l, f->runs, sizeof *f->handle);
    f->part = fab_place(l, f->runs, sizeof *f->part);
    f->weight = fab_place(l, f->runs, sizeof *f->weight);
}

/* The model as the method wants it: one that asks, or one that keeps gradients of examples. */
static fab_status adapt_model(fab_fit *f, const fab_input *in, const fab_exec *x)
{
    if (in->rows) FAB_TRY(fab_drive_create(&f->drive, f, in, &f->model, x));
    const int each = (fab_method_asks(f->m) & FAB_ASKS_EXAMPLES) != 0;
    if (each && !f->model.examples && f->model.gradients) {
        FAB_TRY(fab_example_rows_create(&f->example_rows, &f->model));
        f->model = fab_example_rows_model(f->example_rows);
    }
    return FAB_OK;
}

/* A handle for settings and an input that have passed their checks. */
static fab_status build(fab_fit **f, const fab_method *m, const void *settings, const fab_input *in,
                        const fab_exec *x)
{
    const int64_t runs = fab_method_setting(m, settings, "runs");
    const int64_t all = fab_total(x ? x->comm : NULL, in->vectors);
    fab_fit proto = {.m = m, .vectors = in->vectors, .all = all, .runs = runs ? runs : 1}, *new;
    if (x && x->comm) proto.comm = *x->comm;
    if (in->model) proto.model = *in->model;
    FAB_TRY(fab_build((void **)&new, sizeof *new, &proto, layout));
    memcpy(new->settings, settings, m->fields->size);
    if (in->model && in->model->glm) {
        new->glm = new->model.head;
        new->model = fab_model_linear(&new->glm);
        new->model.batch = in->model->batch;
    }
    for (int64_t i = 0; i < new->runs; i++) new->weight[i] = 1 / (double)new->runs;
    new->mixture = (fab_mixture){new->runs, new->part, new->weight};
    fab_status s = FAB_OK;
    if (in->model && !(m->takes & FAB_TAKES_LINEAR && in->model->glm))
        s = fix_beta(m, settings, in->rows > 0, &new->model);
    if (s == FAB_OK && in->model) s = adapt_model(new, in, x);
    if (s == FAB_OK && m->resolve)
        m->resolve(new->settings,
                   &(fab_input){.vectors = in->vectors, .model = in->model ? &new->model : NULL});
    if (s == FAB_OK) s = open_runs(new, in, x);
    if (s != FAB_OK) {
        fab_fit_free(new);
        return s;
    }
    *f = new;
    return FAB_OK;
}

/* A copy of the settings, checked with the input. */
static fab_status checked_settings(fab_any_settings *own, const fab_method *m, const void *settings,
                                   size_t size, const fab_input *in, const fab_exec *x)
{
    assert(m->fields->size <= sizeof *own);
    FAB_TRY(take_settings(own, m, settings, size));
    return check_input(m, own, in, x);
}

static fab_status create(fab_fit **f, const char *method, const void *settings, size_t size,
                         const fab_input *in, const fab_exec *x)
{
    const fab_method *m;
    fab_any_settings own;
    *f = NULL;
    FAB_TRY(find_method(&m, method, in));
    FAB_TRY(checked_settings(&own, m, settings, size, in, x));
    return build(f, m, &own, in, x);
}

/* FNV-1a of what all processes must have alike: the method, its settings, the number of coordinates. */
static uint64_t key_of(const fab_fit *f)
{
    uint64_t h = 14695981039346656037u;
    for (const char *p = f->m->name; *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
    const unsigned char *s = f->settings;
    for (size_t i = 0; i < f->m->fields->size; i++) h = (h ^ s[i]) * 1099511628211u;
    return h ^ (uint64_t)f->all;
}

/* The coordinates of all processes are all that there are. */
static fab_status check_shares(const fab_fit *f)
{
    double D = (double)f->vectors;
    if (!f->comm.sum) return FAB_OK;
    FAB_TRY(f->comm.sum(f->comm.ctx, &D, 1));
    if (D == (double)f->all) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "%s: the processes have %.0f coordinates together, and say that there are %lld",
                    f->m->name, D, (long long)f->all);
}

fab_status fab_fit_create(fab_fit **f, const char *method, const void *settings, size_t size,
                          const fab_input *in, const fab_exec *x)
{
    fab_status s = create(f, method, settings, size, in, x);
    s = fab_agree(x ? x->comm : NULL, s, s == FAB_OK ? key_of(*f) : 0,
                  "the processes have other methods, settings or numbers of coordinates");
    if (s == FAB_OK) s = check_shares(*f);
    if (s != FAB_OK) {
        fab_fit_free(*f);
        *f = NULL;
    }
    return s;
}

double fab_fit_bytes(const char *method, const void *settings, size_t size, const fab_input *in,
                     int64_t n, const fab_exec *x)
{
    const fab_method *m;
    fab_any_settings own;
    if (find_method(&m, method, in) != FAB_OK) return NAN;
    if (checked_settings(&own, m, settings, size, in, x) != FAB_OK) return NAN;
    const int64_t runs = fab_method_setting(m, &own, "runs");
    const double bytes = m->bytes ? m->bytes(&own, in, n, x) : 0;
    return runs ? (double)runs * bytes : bytes;
}

static void release_present(fab_fit *f)
{
    fab_release(f->present.rows);
    fab_release(f->present.numbers);
    f->present.rows = NULL;
    f->present.numbers = NULL;
}

void fab_fit_free(fab_fit *f)
{
    if (!f) return;
    fab_drive_free(f->drive); /* it may still run in the handles */
    for (int64_t i = 0; i < f->runs; i++)
        if (f->handle[i]) f->m->free(f->handle[i]);
    fab_example_rows_free(f->example_rows);
    fab_tensors_free(f->tensors);
    release_present(f);
    fab_gauss_free(f->prior);
    fab_release(f);
}

/* ---- update, result, report ------------------------------------------------------------------------- */

/* A stop leaves the fit without any of the rows. */
static fab_status check_rows(const fab_fit *f, const fab_examples *e)
{
    fab_watch w = f->watch;
    if (f->model.D) return fab_examples_check_watched(f->m->name, &f->model.head, e, &w);
    if (e->y || e->offset)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: this method fits vectors: no y, no offset",
                        f->m->name);
    if (e->weight && !(f->m->takes & FAB_TAKES_WEIGHTS))
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: weights of vectors are not offered by this method",
                        f->m->name);
    if (f->m->takes & FAB_TAKES_MISSING && fab_rows_missing(&e->x, f->vectors))
        FAB_TRY(fab_rows_check_missing(f->m->name, &e->x, f->vectors));
    else
        FAB_TRY(fab_rows_check_watched(f->m->name, &e->x, f->vectors, f->all, &w));
    if (e->weight)
        for (int64_t j = 0; j < e->x.n; j++)
            if (!(e->weight[j] >= 0 && isfinite(e->weight[j])))
                return FAB_FAIL(FAB_BAD_DATA,
                                "%s: row %lld has weight %g, expected a finite number >= 0",
                                f->m->name, (long long)j, e->weight[j]);
    return FAB_OK;
}

/* Rows of a stream between two questions; all of them where they stay together. */
static int64_t piece(double work, int64_t left)
{
    const double rows = work > 0 ? FAB_WATCH_WORK / work : (double)left;
    if (rows >= (double)left) return left;
    return rows > 1 ? (int64_t)rows : 1;
}

/* Feed n of the rows, to all runs. */
static fab_status take_piece(fab_fit *f, const fab_examples *part, double work)
{
    const int64_t n = part->x.n;
    for (; f->taken < f->runs; f->taken++) FAB_TRY(f->m->update(f->handle[f->taken], part));
    f->taken = 0;
    f->n += n;
    if (work > 0) FAB_TRY(fab_watch_work(&f->pieces, work * (double)n, f->m->name, f->n, 0));
    if (f->stopped)
        return FAB_FAIL(FAB_STOPPED, "%s: stopped after %lld rows", f->m->name, (long long)f->n);
    return FAB_OK;
}

/* Feed rows that are all there. */
static fab_status take_rows(fab_fit *f, const fab_examples *e)
{
    for (int64_t done = 0, n; done < e->x.n; done += n) {
        const double work = f->m->work ? f->m->work(f->handle[f->taken]) : 0;
        n = piece(work, e->x.n - done);
        const fab_examples part = fab_examples_part(e, done, n);
        FAB_TRY(agree(f, take_piece(f, &part, work)));
    }
    return FAB_OK;
}

/* The n rows whose weight is not 0, packed: the fit owns them. */
static fab_status pack_present(fab_fit *f, const fab_examples *e, int64_t n)
{
    const double *const from[] = {e->y, e->weight, e->offset};
    fab_examples *to = &f->present.e;
    const double **const put[] = {&to->y, &to->weight, &to->offset};
    *to = (fab_examples){0};
    FAB_TRY(fab_alloc_array((void **)&f->present.numbers, 3 * n, sizeof(double), f->m->name));
    double *p = f->present.numbers;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        if (!from[k]) continue;
        *put[k] = p;
        for (int64_t j = 0; j < e->x.n; j++)
            if (e->weight[j] != 0) *p++ = from[k][j];
    }
    const fab_status s = fab_rows_present(
        &e->x, e->weight, n, f->model.D ? f->model.head.D : f->vectors, &to->x, &f->present.rows);
    if (s != FAB_OK) release_present(f);
    return s;
}

/* n rows of these are there, those whose weight is not 0.  A batch method borrows them, packed; so does, for a while, a
 * stream whose rows stay together; other streams pass over what is absent. */
static fab_status take_present(fab_fit *f, const fab_examples *e, int64_t n)
{
    const int streams = f->m->streams != 0;
    if (streams && f->m->work && f->m->work(f->handle[0]) > 0) {
        for (int64_t j = 0, more; j < e->x.n; j += more) {
            const int there = e->weight[j] != 0;
            for (more = 1; j + more < e->x.n && (e->weight[j + more] != 0) == there;) more++;
            const fab_examples part = fab_examples_part(e, j, more);
            if (there) FAB_TRY(take_rows(f, &part));
        }
        return FAB_OK;
    }
    if (n == 0 && streams) return FAB_OK;
    if (n == 0)
        return FAB_FAIL(FAB_BAD_DATA, "%s: every weight is zero: none of the %lld rows is there",
                        f->m->name, (long long)e->x.n);
    if (!f->present.rows) FAB_TRY(pack_present(f, e, n)); /* or some runs have them already */
    const fab_status s = take_rows(f, &f->present.e);
    if (streams) release_present(f);
    return s;
}

static fab_status check_update(const fab_fit *f, const fab_examples *e)
{
    if (f->drive) FAB_TRY(fab_drive_check_update(f->drive));
    FAB_TRY(check_rows(f, e));
    if (e->x.n > 0 && !fab_method_continues(f->m) && f->n > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: a batch method takes its whole table in one update",
                        f->m->name);
    return FAB_OK;
}

fab_status fab_fit_update(fab_fit *f, const fab_examples *e)
{
    const fab_status checked = check_update(f, e);
    int64_t present = 0;
    uint64_t key = 0; /* how many rows, and which of them are there */
    for (int64_t j = 0; checked == FAB_OK && j < e->x.n; j++) {
        const int there = !e->weight || e->weight[j] != 0;
        key = 31 * key + 1 + (uint64_t)there;
        present += there;
    }
    FAB_TRY(fab_agree(&f->comm, checked, key,
                      "the processes have other numbers of rows, or rows of weight 0"));
    if (e->x.n == 0) return FAB_OK;
    if (f->ready && !f->m->streams)
        release_present(f); /* of the rows before: they are in the result */
    f->ready = 0;
    f->stopped = 0;
    fab_tensors_free(f->tensors);
    f->tensors = NULL;
    return present == e->x.n ? take_rows(f, e) : take_present(f, e, present);
}

fab_status fab_fit_merge(fab_fit *f, const fab_fit *other)
{
    const size_t size = f->m->fields->size;
    if (!f->m->merge) return FAB_FAIL(FAB_UNSUPPORTED, "%s: its states do not add up", f->m->name);
    if (f == other || f->m != other->m || f->vectors != other->vectors ||
        memcmp(f->settings, other->settings, size) != 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: only another fit of the same method, settings and length of vectors "
                        "can be merged",
                        f->m->name);
    if (f->runs != 1 || other->runs != 1)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: several runs cannot be merged", f->m->name);
    FAB_TRY(f->m->merge(f->handle[0], other->handle[0]));
    f->n += other->n;
    f->ready = 0;
    fab_tensors_free(f->tensors);
    f->tensors = NULL;
    return FAB_OK;
}

int fab_fit_has_so_far(const fab_fit *f)
{
    return f->m->so_far || f->m->mixture_so_far;
}

/* The mixture that the method has found, checked as it comes. */
static fab_status take_mixture(fab_fit *f, int unfinished)
{
    const fab_mixture *q = NULL;
    assert(f->runs == 1);
    FAB_TRY((unfinished ? f->m->mixture_so_far : f->m->mixture)(f->handle[0], &q));
    FAB_TRY(fab_mixture_check(q));
    f->mixture = *q;
    return FAB_OK;
}

fab_status fab_fit_parts(fab_fit *f, int unfinished)
{
    if (f->m->mixture) return take_mixture(f, unfinished);
    for (int64_t i = 0; i < f->runs; i++) {
        const fab_status s = (unfinished ? f->m->so_far : f->m->result)(f->handle[i], &f->part[i]);
        if (s == FAB_NUMERIC && f->runs > 1)
            return fab_prefix(s, "run %lld of %lld: ", (long long)i + 1, (long long)f->runs);
        FAB_TRY(s);
    }
    return FAB_OK;
}

fab_status fab_fit_result(fab_fit *f, const fab_mixture **q)
{
    *q = NULL;
    if (f->drive) FAB_TRY(fab_drive_check_result(f->drive));
    if (f->model.D && f->n < 1)
        return FAB_FAIL(FAB_BAD_DATA, "%s: no rows seen, expected at least 1", f->m->name);
    if (!f->model.D && f->n < 2)
        return FAB_FAIL(FAB_BAD_DATA, "%s: %lld rows seen, expected at least 2", f->m->name,
                        (long long)f->n);
    f->stopped = 0;
    if (!f->ready) FAB_TRY(agree(f, fab_fit_parts(f, 0)));
    f->ready = 1;
    *q = &f->mixture;
    return FAB_OK;
}

fab_status fab_fit_process(fab_fit *f, fab_process **p)
{
    const fab_mixture *q;
    *p = NULL;
    FAB_TRY(fab_fit_result(f, &q));
    return f->m->process ? f->m->process(f->handle[0], p) : FAB_OK;
}

fab_status fab_fit_places(fab_fit *f, fab_process_places *places)
{
    const fab_mixture *q;
    *places = (fab_process_places){0};
    FAB_TRY(fab_fit_result(f, &q));
    return f->m->places ? f->m->places(f->handle[0], places) : FAB_OK;
}

fab_status fab_fit_classes(fab_fit *f, struct fab_class_process **p)
{
    const fab_mixture *q;
    *p = NULL;
    FAB_TRY(fab_fit_result(f, &q));
    return f->m->classes ? f->m->classes(f->handle[0], p) : FAB_OK;
}

fab_status fab_fit_so_far(fab_fit *f, const fab_mixture **q)
{
    if (!f->vectors) return fab_fit_result(f, q);
    f->muted = 1;
    fab_status s = FAB_OK;
    if (fab_fit_has_so_far(f) && !f->ready) {
        s = agree(f, fab_fit_parts(f, 1));
        *q = &f->mixture;
    } else {
        s = fab_fit_result(f, q);
    }
    f->muted = 0;
    return s;
}

fab_status fab_fit_rough(fab_fit *f, const fab_gauss **q, int *root, fab_glm *m)
{
    fab_report r = {.beta = 1};
    *q = NULL;
    *root = 0;
    if (!f->model.glm || f->runs != 1 || f->drive || f->ready || f->n < 1) return FAB_OK;
    if (f->m->root) FAB_TRY(f->m->root(f->handle[0], q));
    *root = *q != NULL;
    if (f->m->rough) FAB_TRY(f->m->rough(f->handle[0], q));
    if (*q) FAB_TRY(f->m->report(f->handle[0], &r));
    *m = f->model.head;
    m->beta = r.beta;
    return FAB_OK;
}

fab_status fab_fit_gauss(fab_fit *f, const fab_gauss **q)
{
    const fab_mixture *all;
    *q = NULL;
    FAB_TRY(fab_fit_result(f, &all));
    *q = all->part[0];
    return FAB_OK;
}

fab_status fab_fit_report(fab_fit *f, fab_report *r)
{
    const fab_mixture *q;
    FAB_TRY(fab_fit_result(f, &q));
    FAB_TRY(agree(f, f->m->report(f->handle[0], r)));
    for (int64_t i = 1; i < f->runs && r->converged != 0; i++) { /* of several runs: all of them */
        fab_report other;
        FAB_TRY(f->m->report(f->handle[i], &other));
        if (other.converged != 0) continue;
        r->converged = 0;
        r->gain = other.gain;
    }
    if (r->gain == 0) r->gain = NAN; /* nobody has said */
    const int linear = f->m->takes & FAB_TAKES_LINEAR && f->model.glm;
    if (f->model.D)
        r->loglik_mean = NAN;
    else
        r->alpha = r->beta = NAN;
    if (!f->model.D && !f->m->bounds) r->log_evidence = NAN;
    if (!f->model.D || linear) r->loss = r->held_out = NAN;
    if (!linear || !f->m->streams) r->log_score = NAN;
    if (!f->m->saturates) r->saturated = NAN;
    if (!f->m->penalises) r->lambda = r->objective = r->gap = NAN;
    if (!(r->temperature > 0)) r->temperature = NAN;
    r->n = f->n;
    if (!f->m->streams) r->loglik_rows = f->model.D ? 0 : f->n; /* a batch method has them all */
    return FAB_OK;
}

fab_status fab_fit_glm(fab_fit *f, fab_glm *m)
{
    fab_report r = {.beta = 1};
    if (!f->model.D)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: vectors have no likelihood", f->m->name);
    const fab_likelihood_row *l = fab_glm_likelihood(&f->model.head);
    if (l->noise || l->dispersion) FAB_TRY(fab_fit_report(f, &r));
    *m = f->model.head;
    m->beta = r.beta;
    return FAB_OK;
}

const fab_method *fab_fit_method(const fab_fit *f)
{
    return f->m;
}

const void *fab_fit_settings(const fab_fit *f)
{
    return f->settings;
}

int64_t fab_fit_rows(const fab_fit *f)
{
    return f->n;
}
