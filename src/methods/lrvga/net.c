/* net.c - limited-memory recursive variational inference of networks ([L] 4.2, (33)-(46)).
 *
 * q = N(mu, P), P^-1 = S = W W' + psi, over all weights; a learned noise is a point beside them.  The recursion is that
 * of lrvga.c, whose rows are here the slopes J of the outputs f, over theta - center (net_block.c).
 *
 *   for each block of m rows of the stream:
 *   1  forget, as there
 *   2  theta = mu
 *   3  linearise: eta(t) = f(theta) + J (t - theta) for every row; classes: C rows of J each
 *   4  mu' = the mean after this block of a linear model, from the mu and S before it   (2 - 4 of lrvga.c)
 *   5  scheme: 3 and 4 once (explicit), again at theta = mu' (extra-gradient, mirror-prox), or until it rests (implicit)
 *   6  S <- S + mean over draws theta_l of J' A J, back to rank R (absorb): theta_l ~ N(mu', P), mirror-prox N(mu, P);
 *      A the curvature of -log p; classes: g g', g the gradient for a class drawn from p
 *      draws = 0: the slopes and weights of 4 instead
 *   start = map, the first update:
 *   7  center = the mode, by sgd (train.c);  S = the prior, alpha = weights / |center|^2
 *   8  6 for all rows, mu held: they had their say in the mode
 *   9  gaussian, noise unknown: beta = (N - sum h) / sum w r^2, h = w J P J' what a row has in its own prediction
 *   start = model:
 *  10  center = the model's first weights;  prior N(center, 1 / alpha);  the first rows choose the noise
 *
 * A row counts once in the precision, whatever the epochs.  6 at draws, and not at the mean, is what makes draws of the
 * result predict well: a unit that training switched off has J = 0 at the mode, and would keep the prior's width.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "train/state.h"
#include "methods/lrvga/net.h"
#include "fit/method.h"
#include "train/sequence/scalar.h"
#include "model/ggn.h"
#include <math.h>
#include <string.h>

enum { CHUNK_NUMBERS = 1 << 20 }; /* slopes computed at a time, or those of one row */

/* ---- settings ----------------------------------------------------------------------------------------- */

/* What auto means for a network; the tables are in lrvga.c. */
static void choose(void *settings, const fab_input *in)
{
    fab_lrvga_settings *s = settings;
    (void)in;
    if (fab_is_auto_f64(s->train.alpha)) s->train.alpha = 1;
    if (s->start == FAB_LRVGA_AUTO) s->start = FAB_LRVGA_MAP;
    if (s->scheme == FAB_SCHEME_AUTO) s->scheme = FAB_MIRROR_PROX;
    if (fab_is_auto_i64(s->draws)) s->draws = 4;
}

/* The settings of the recursion, for rows of T slopes. */
static fab_lrvga_settings core_settings(const fab_lrvga_settings *s, const fab_model *m)
{
    fab_lrvga_settings c = fab_lrvga_defaults(s->K);
    const int64_t least = s->draws * m->head.classes; /* a row's columns */
    c.train.alpha = s->train.alpha;
    c.train.beta = m->free ? FAB_AUTO_F64 : m->head.beta;
    c.train.seed = s->train.seed;
    c.inner_rank = s->inner_rank;
    c.block = s->block > least ? s->block : least;
    c.inner = s->inner;
    c.start = FAB_LRVGA_EXACT;
    c.scheme = FAB_IMPLICIT;
    c.draws = 1; /* nothing is sampled there */
    c.warmup = s->start == FAB_LRVGA_MAP ? 1 : s->warmup;
    c.forget = s->forget;
    c.psi_min = s->psi_min;
    c.tol = s->tol;
    c.max_iter = s->max_iter;
    return c;
}

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_lrvga_net *f = handle;
    const int64_t D = f->train.m.D, rows = f->rows;
    double **const vectors[] = {&f->at, &f->before, &f->second};
    fab_train_layout(l, &f->train);
    f->center = fab_place(l, D, sizeof(double));
    f->theta = fab_place(l, D, sizeof(double));
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = fab_place(l, f->T, sizeof(double));
    f->x = fab_place(l, rows * f->train.m.head.D, sizeof(double));
    f->y = fab_place(l, rows, sizeof(double));
    f->w = fab_place(l, rows, sizeof(double));
    f->o = fab_place(l, rows, sizeof(double));
    f->out = fab_place(l, f->chunk * f->C, sizeof(double));
    f->J = fab_place(l, f->chunk * f->C * D, sizeof(double));
    f->base = fab_place(l, rows * f->C, sizeof(double));
    f->label = fab_place(l, f->chunk, sizeof(double));
}

static void release(void *handle)
{
    fab_lrvga_net *f = handle;
    if (!f) return;
    fab_lrvga_free(f->core);
    fab_gauss_free(f->q);
    fab_release(f);
}

static fab_status check_model(const fab_model *m, int64_t draws, const fab_gauss *prior)
{
    FAB_TRY(fab_ggn_check("lrvga", m));
    if (m->outputs > 1 && draws > 0 && !(m->examples && m->rows))
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "lrvga: draws = %lld of classes needs the gradients of single examples "
                        "(examples, rows), and this model has none",
                        (long long)draws);
    if (m->head.nu > 0)
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "lrvga: noise of Student's t (nu = %g) is not known here, only normal noise",
            m->head.nu);
    if (m->outputs != m->head.classes)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "lrvga: the model has %lld outputs for %lld predictors: a noise that is an "
                        "output is not known here; use --noise learned or fixed",
                        (long long)m->outputs, (long long)m->head.classes);
    if (prior && m->free)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "lrvga: a given prior and a learned noise exclude each other; hold beta");
    return FAB_OK;
}

/* Both prototypes: of the handle, and of the recursion inside. */
static fab_status prototype(fab_lrvga_net *f, fab_lrvga *core, const fab_lrvga_settings *given,
                            const fab_model *m, const fab_gauss *prior, const fab_exec *x)
{
    *f = (fab_lrvga_net){
        .s = *given, .T = m->D - m->free, .C = m->outputs, .n = {.loss = NAN, .held_out = NAN}};
    const fab_lrvga_settings *s = &f->s;
    choose(&f->s, NULL);
    f->points = s->draws > 0 ? s->draws : 1;
    if (s->start != FAB_LRVGA_MAP && s->start != FAB_LRVGA_MODEL)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "lrvga: start is exact or random for a linear model, expected map or model "
                        "for a network");
    FAB_TRY(check_model(m, s->draws, prior));
    FAB_TRY(fab_train_init(&f->train, "lrvga", &f->s.train, m, prior, x));
    *core = (fab_lrvga){.set = core_settings(s, m), .model = m->head, .T = f->T, .part = f->T};
    core->model.D = f->T;
    core->model.intercept = 0;
    const fab_exec typed = {.ops = fab_ops_find("cpu", m->type), .threads = x ? x->threads : 0};
    FAB_TRY(fab_lrvga_prepare(core, prior, &typed));
    const int64_t fit = CHUNK_NUMBERS / (f->C * m->D);
    f->rows = core->room;
    f->held = core->set.block * core->classes / f->points;
    f->chunk = fit < 1 ? 1 : fit < m->batch ? fit : m->batch;
    return FAB_OK;
}

static fab_status build_parts(fab_lrvga_net *f, const fab_lrvga *core)
{
    const fab_model *m = &f->train.m;
    const fab_gauss *prior = f->train.given;
    FAB_TRY(fab_lrvga_open(&f->core, core, prior));
    f->core->base = f->base;
    const fab_dtype type = f->core->run.ops->type;
    FAB_TRY(m->free ? fab_gauss_create_part(&f->q, FAB_PRECISION, type, f->T, core->set.K, m->D)
                    : fab_gauss_create(&f->q, FAB_PRECISION, type, f->T, core->set.K));
    fab_train_start(&f->train);
    memcpy(f->center, f->train.theta, (size_t)m->D * sizeof *f->center);
    if (prior) memcpy(f->center, prior->mu, (size_t)f->T * sizeof *f->center);
    memset(f->core->S->mu, 0, (size_t)f->T * sizeof(double));
    return FAB_OK;
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_model *m = in->model;
    const fab_gauss *prior = in->prior;
    fab_lrvga_net proto, *f;
    fab_lrvga core;
    *handle = NULL;
    FAB_TRY(prototype(&proto, &core, settings, m, prior, x));
    FAB_TRY(fab_build((void **)&f, sizeof proto, &proto, layout));
    const fab_status s = build_parts(f, &core);
    if (s != FAB_OK) {
        release(f);
        return s;
    }
    *handle = f;
    return FAB_OK;
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_model *m = in->model;
    (void)x;
    fab_lrvga_net proto;
    fab_lrvga core;
    if (prototype(&proto, &core, settings, m, NULL, NULL) != FAB_OK) return NAN;
    return fab_lrvga_bytes(&core) + fab_train_bytes(settings, m, n) +
           (double)fab_build_size(sizeof proto, &proto, layout);
}

/* ---- update ------------------------------------------------------------------------------------------- */

static fab_status train(fab_lrvga_net *f, const fab_examples *e)
{
    fab_train *t = &f->train;
    t->e = *e;
    FAB_TRY(fab_train_open(t));
    const fab_status s = fab_train_run(t);
    fab_train_close(t);
    FAB_TRY(s);
    memcpy(f->center, fab_train_best(t), (size_t)t->m.D * sizeof *f->center);
    FAB_TRY(fab_lrvga_net_hold(f, e));
    f->n = (fab_lrvga_net_numbers){.trained = 1,
                                   .epochs = t->number[FAB_TRAIN_EPOCH],
                                   .loss = t->number[FAB_TRAIN_LOSS],
                                   .held_out = t->number[FAB_TRAIN_BEST]};
    return FAB_OK;
}

static fab_status flush(fab_lrvga_net *f)
{
    if (!(f->core->n.started > 0)) FAB_TRY(fab_lrvga_net_decide(f));
    return fab_lrvga_net_block(f);
}

static fab_status stream(fab_lrvga_net *f, const fab_examples *e)
{
    for (int64_t done = 0; done < e->x.n;) {
        const int64_t room = fab_lrvga_next(f->core) - f->pending, left = e->x.n - done,
                      take = left < room ? left : room;
        fab_lrvga_net_keep(f, e, done, take);
        done += take;
        if (take == room) FAB_TRY(flush(f));
    }
    return FAB_OK;
}

static fab_status update(void *handle, const fab_examples *e)
{
    fab_lrvga_net *f = handle;
    const int before = fab_blas_enter();
    const int first = f->s.start == FAB_LRVGA_MAP && !(f->n.trained > 0);
    const fab_status s = first ? train(f, e) : stream(f, e);
    fab_blas_leave(before);
    return s;
}

/* ---- the result --------------------------------------------------------------------------------------- */

static fab_status report(void *handle, fab_report *r)
{
    fab_lrvga_net *f = handle;
    FAB_TRY(fab_lrvga_report(f->core, r));
    r->iterations = (int64_t)f->n.epochs;
    r->loss = f->n.loss;
    r->held_out = f->n.held_out < INFINITY ? f->n.held_out : NAN;
    r->log_evidence = NAN;
    if (fab_lrvga_gaussian(f->core)) r->beta = fab_glm_beta(&f->train.m.head, log(r->beta));
    return FAB_OK;
}

static fab_status put_result(fab_lrvga_net *f)
{
    const fab_gauss *inside;
    fab_report r;
    FAB_TRY(fab_lrvga_result(f->core, &inside));
    FAB_TRY(report(f, &r));
    const size_t size = f->core->run.ops->size;
    for (int64_t i = 0; i < f->T; i++) f->q->mu[i] = f->center[i] + inside->mu[i];
    memcpy(f->q->psi, inside->psi, (size_t)f->T * sizeof(double));
    memcpy(f->q->F, inside->F, (size_t)(f->T * inside->K) * size);
    if (!f->q->total) return FAB_OK;
    memcpy(f->q->theta, f->q->mu, (size_t)f->T * sizeof(double));
    f->q->theta[f->T] = log(r.beta);
    return FAB_OK;
}

/* The rows of an unfinished block go in, and out again: the stream goes on as if nobody had asked. */
static fab_status with_pending(fab_lrvga_net *f)
{
    const int64_t pending = f->pending;
    FAB_TRY(fab_lrvga_remember(f->core));
    fab_status s = flush(f);
    if (s == FAB_OK) s = put_result(f);
    fab_lrvga_recall(f->core);
    f->pending = pending;
    return s;
}

static fab_status result(void *handle, const fab_gauss **q)
{
    fab_lrvga_net *f = handle;
    const int before = fab_blas_enter();
    const fab_status s = f->pending ? with_pending(f) : put_result(f);
    fab_blas_leave(before);
    *q = f->q;
    return s;
}

/* ---- files -------------------------------------------------------------------------------------------- */

enum { NUMBERS = sizeof(fab_lrvga_net_numbers) / sizeof(double) };

static fab_states state_of(fab_lrvga_net *f)
{
    const int64_t n = f->pending;
    return (fab_states){{{"state.net", FAB_F64, NUMBERS, 0, &f->n},
                         {"state.center", FAB_F64, f->train.m.D, 0, f->center},
                         {"state.rows", FAB_F64, n, f->train.m.head.D, f->x},
                         {"state.rows_y", FAB_F64, n, 0, f->y},
                         {"state.rows_weight", FAB_F64, n, 0, f->w},
                         {"state.rows_offset", FAB_F64, n, 0, f->o}}};
}

static fab_status save(void *handle, fab_tensors *t)
{
    fab_lrvga_net *f = handle;
    const fab_states all = state_of(f);
    FAB_TRY(fab_states_save(&all, t));
    return fab_lrvga_save(f->core, t);
}

/* Numbers from a file: in their ranges, and rows that passed the door. */
static fab_status check_loaded(const fab_lrvga_net *f)
{
    const fab_model *m = &f->train.m;
    const fab_examples x = {{f->x, FAB_F64, f->pending, m->head.D}, f->y, f->w, f->o};
    if (f->n.trained != 0 && f->n.trained != 1)
        return FAB_FAIL(FAB_BAD_FILE, "state.net says trained = %g", f->n.trained);
    if (!(f->n.epochs >= 0 && f->n.epochs <= (double)f->s.train.epochs))
        return FAB_FAIL(FAB_BAD_FILE, "state.net says epoch %g of %lld", f->n.epochs,
                        (long long)f->s.train.epochs);
    for (int64_t i = 0; i < m->D; i++)
        if (!isfinite(f->center[i]))
            return FAB_FAIL(FAB_BAD_FILE, "state.center is %g at coordinate %lld", f->center[i],
                            (long long)i);
    return fab_examples_check("state.rows", &m->head, &x) == FAB_OK ? FAB_OK : FAB_BAD_FILE;
}

static fab_status load(void *handle, const fab_tensors *t)
{
    fab_lrvga_net *f = handle;
    const fab_tensor *rows = fab_tensors_find(t, "state.rows");
    FAB_TRY(fab_lrvga_load(f->core, t));
    if (!rows || rows->ndim != 2 || rows->shape[0] < 0 || rows->shape[0] >= fab_lrvga_next(f->core))
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.rows' is absent or does not fit the block");
    f->pending = rows->shape[0];
    const fab_states all = state_of(f);
    FAB_TRY(fab_states_load(&all, t));
    return check_loaded(f);
}

/* ---- the method --------------------------------------------------------------------------------------- */

const fab_method fab_lrvga_net_method = {
    .name = "lrvga",
    .summary = "networks: precision of rank K from the slopes of the outputs; goes on as a stream",
    .streams = 1,
    .takes = FAB_TAKES_JACOBIAN,
    .fields = &fab_lrvga_net_table,
    .init = init,
    .resolve = choose,
    .bytes = bytes,
    .update = update,
    .result = result,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};
