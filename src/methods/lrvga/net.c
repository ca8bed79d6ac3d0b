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
 *   8  6 for all rows, mu fixed: they had their say in the mode
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
    if (fab_is_auto_i64(s->block)) s->block = 50;
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
    const int64_t D = f->train.m.D, rows = f->pending.room, chunk = f->slopes.chunk;
    const size_t d = sizeof(double);
    fab_train_layout(l, &f->train);
    f->center = fab_place(l, D, d);
    fab_pending_layout(l, &f->pending);
    f->x = fab_place(l, rows * f->train.m.head.D, d);
    f->theta = fab_place(l, D, d);
    f->at = fab_place(l, f->T, d);
    f->slopes.out = fab_place(l, chunk * f->C, d);
    f->slopes.J = fab_place(l, chunk * f->C * D, d);
    f->slopes.label = fab_place(l, chunk, d);
    f->base = fab_place(l, rows * f->C, d);
    f->before.mu = fab_place(l, f->T, d);
    f->moved = fab_place(l, f->T, d);
}

static void release(void *handle)
{
    fab_lrvga_net *f = handle;
    if (!f) return;
    fab_lrvga_free(f->core);
    fab_gauss_free(f->q);
    fab_release(f);
}

static fab_status check_model(const fab_model *m, const fab_lrvga_settings *s,
                              const fab_gauss *prior)
{
    const int fisher = s->draws > 0 || s->start == FAB_LRVGA_MAP; /* 6 by drawn classes */
    FAB_TRY(fab_ggn_check("lrvga", m));
    if (m->outputs > 1 && fisher && !(m->examples && m->rows))
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "lrvga: start = %s and draws = %lld of classes need the gradients of "
                        "single examples (gradients), and this model has none",
                        s->start == FAB_LRVGA_MAP ? "map" : "model", (long long)s->draws);
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
        .s = *given, .T = m->D - m->free, .C = m->outputs, .loss = {.train = NAN, .held_out = NAN}};
    const fab_lrvga_settings *s = &f->s;
    choose(&f->s, NULL);
    f->points = s->draws > 0 ? s->draws : 1;
    if (s->start != FAB_LRVGA_MAP && s->start != FAB_LRVGA_MODEL)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "lrvga: start is exact or random for a linear model, expected map or model "
                        "for a network");
    FAB_TRY(check_model(m, s, prior));
    FAB_TRY(fab_train_init(&f->train, "lrvga", &f->s.train, m, prior, x));
    *core = (fab_lrvga){.set = core_settings(s, m), .T = f->T, .part = f->T};
    core->stream.model = m->head;
    core->stream.model.D = f->T;
    core->stream.model.intercept = 0;
    const fab_exec typed = fab_watch_exec(
        &f->train.watch,
        (fab_exec){.ops = fab_ops_find("cpu", m->type), .threads = x ? x->threads : 0});
    FAB_TRY(fab_lrvga_prepare(core, prior, &typed));
    f->pending.room = core->pending.room;
    f->group = core->set.block * core->classes / f->points;
    f->slopes.chunk = CHUNK_NUMBERS / (f->C * m->D);
    if (f->slopes.chunk < 1) f->slopes.chunk = 1;
    if (f->slopes.chunk > m->batch) f->slopes.chunk = m->batch;
    return FAB_OK;
}

static fab_status build_parts(fab_lrvga_net *f, const fab_lrvga *core)
{
    const fab_model *m = &f->train.m;
    const fab_gauss *prior = f->train.given;
    FAB_TRY(fab_lrvga_open(&f->core, core, prior));
    f->core->block.base = f->base;
    const fab_dtype type = f->core->run.ops->type;
    FAB_TRY(m->free
                ? fab_gauss_create_part(&f->q, FAB_FORM_PRECISION, type, f->T, core->set.K, m->D)
                : fab_gauss_create(&f->q, FAB_FORM_PRECISION, type, f->T, core->set.K));
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
    proto.driven = in->rows > 0;
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
    const double state = (double)core.T *
                         ((double)core.set.inner_rank * (double)core.run.ops->size + 16);
    return fab_lrvga_bytes(&core) + fab_train_bytes(settings, m, n) +
           (double)fab_build_size(sizeof proto, &proto, layout) + (in->rows > 0 ? state : 0);
}

double fab_lrvga_net_work(const fab_lrvga_net *f)
{
    return (double)(f->points + 2) * (double)(f->C * f->T) *
           (double)(4 + 2 * f->core->set.inner_rank);
}

/* The first update of start = map is taken whole: the mode is that of its rows. */
static double work(const void *handle)
{
    const fab_lrvga_net *f = handle;
    return f->s.start == FAB_LRVGA_MAP && !f->count.trained ? 0 : fab_lrvga_net_work(f);
}

/* ---- update ------------------------------------------------------------------------------------------- */

/* 7 - 9 */
static fab_status train(fab_lrvga_net *f, const fab_examples *e)
{
    fab_train *t = &f->train;
    t->e = *e;
    FAB_TRY(fab_train_whole(t));
    memcpy(f->center, fab_train_best(t), (size_t)t->m.D * sizeof *f->center);
    FAB_TRY(fab_lrvga_net_fixed(f, e));
    f->count = (fab_lrvga_net_counts){.trained = 1, .epochs = t->count.epochs};
    f->loss = (fab_lrvga_net_losses){.train = t->loss.train, .held_out = t->loss.best};
    return FAB_OK;
}

/* The pending rows are a block; left inside it by a driven model, they are pending again. */
static fab_status flush(fab_lrvga_net *f)
{
    const int64_t pending = f->pending.n;
    fab_status s = f->driven ? fab_lrvga_snapshot(f->core) : FAB_OK;
    if (s == FAB_OK && !f->core->stream.count.started) s = fab_lrvga_net_decide(f); /* 10 */
    if (s == FAB_OK) s = fab_lrvga_net_block(f);
    if (s == FAB_STOPPED && f->driven) {
        fab_lrvga_restore(f->core);
        f->pending.n = pending;
    }
    return s;
}

static fab_status stream(fab_lrvga_net *f, const fab_examples *e)
{
    for (int64_t done = 0; done < e->x.n;) {
        const int64_t room = fab_lrvga_next(f->core) - f->pending.n, left = e->x.n - done,
                      take = left < room ? left : room;
        fab_lrvga_net_add(f, e, done, take);
        done += take;
        if (take < room) continue;
        const fab_status s = flush(f);
        if (s == FAB_STOPPED && f->driven) f->pending.n -= take; /* they come again */
        FAB_TRY(s);
    }
    return FAB_OK;
}

static fab_status update(void *handle, const fab_examples *e)
{
    fab_lrvga_net *f = handle;
    const int before = fab_blas_enter();
    const int first = f->s.start == FAB_LRVGA_MAP && !f->count.trained;
    const fab_status s = first ? train(f, e) : stream(f, e);
    fab_blas_leave(before);
    return s;
}

/* ---- the result --------------------------------------------------------------------------------------- */

static fab_status report(void *handle, fab_report *r)
{
    fab_lrvga_net *f = handle;
    FAB_TRY(fab_lrvga_report(f->core, r));
    r->iterations = f->count.epochs;
    r->loss = f->loss.train;
    r->held_out = f->loss.held_out < INFINITY ? f->loss.held_out : NAN;
    r->log_evidence = NAN;
    if (fab_stream_gaussian(&f->core->stream))
        r->beta = fab_glm_beta(&f->train.m.head, log(r->beta));
    return FAB_OK;
}

/* q is center with the Gaussian of the core around it. */
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
    const int64_t pending = f->pending.n;
    FAB_TRY(fab_lrvga_snapshot(f->core));
    fab_status s = flush(f);
    if (s == FAB_OK) s = put_result(f);
    fab_lrvga_restore(f->core);
    f->pending.n = pending;
    return s;
}

static fab_status result(void *handle, const fab_gauss **q)
{
    fab_lrvga_net *f = handle;
    const int before = fab_blas_enter();
    const fab_status s = f->pending.n > 0 ? with_pending(f) : put_result(f);
    fab_blas_leave(before);
    *q = f->q;
    return s;
}

/* Rows that wait for their block are left out.  Before the first block, and in training, there is no curvature yet: the
 * weights so far, with the width of the prior. */
static fab_status so_far(void *handle, const fab_gauss **q)
{
    fab_lrvga_net *f = handle;
    const fab_train *t = &f->train;
    fab_gauss *g = f->q;
    *q = g;
    if (f->core->stream.count.started && (f->count.trained || f->s.start != FAB_LRVGA_MAP)) {
        const int before = fab_blas_enter();
        const fab_status s = put_result(f);
        fab_blas_leave(before);
        return s;
    }
    const double *theta = f->s.start == FAB_LRVGA_MAP ? fab_train_best(t) : f->center;
    memcpy(g->mu, theta, (size_t)f->T * sizeof(double));
    memset(g->F, 0, (size_t)(f->T * g->K) * f->core->run.ops->size);
    for (int64_t i = 0; i < f->T; i++) g->psi[i] = t->given ? f->core->psi0[i] : t->s.alpha;
    if (g->total) memcpy(g->theta, theta, (size_t)t->m.D * sizeof(double));
    return FAB_OK;
}

/* ---- files -------------------------------------------------------------------------------------------- */

static fab_states counts_of(fab_lrvga_net *f)
{
    return (fab_states){
        {{"state.trained", FAB_I64, sizeof f->count / sizeof(int64_t), 0, &f->count},
         {"state.losses", FAB_F64, sizeof f->loss / sizeof(double), 0, &f->loss}}};
}

static fab_states state_of(fab_lrvga_net *f)
{
    const fab_pending *p = &f->pending;
    return (fab_states){{{"state.center", FAB_F64, f->train.m.D, 0, f->center},
                         {"state.rows", FAB_F64, p->n, f->train.m.head.D, f->x},
                         {"state.rows_y", FAB_F64, p->n, 0, p->y},
                         {"state.rows_weight", FAB_F64, p->n, 0, p->w},
                         {"state.rows_offset", FAB_F64, p->n, 0, p->offset}}};
}

/* Of start = map on its way. */
static fab_states fixed_of(fab_lrvga_net *f)
{
    return (fab_states){
        {{"state.fixed", FAB_I64, sizeof f->fixed / sizeof(int64_t), 0, &f->fixed}}};
}

#define TRAINING "state.training." /* the state of sgd, some of whose names are taken */

static fab_status save_training(fab_lrvga_net *f, fab_tensors *t)
{
    const fab_states fixed = fixed_of(f);
    fab_tensors *own;
    FAB_TRY(fab_states_save(&fixed, t));
    FAB_TRY(fab_tensors_create(&own));
    fab_status s = fab_train_save(&f->train, own);
    if (s == FAB_OK) s = fab_state_rename(own, "state.", TRAINING, t);
    fab_tensors_free(own);
    return s;
}

static fab_status load_training(fab_lrvga_net *f, const fab_tensors *t)
{
    const fab_states fixed = fixed_of(f);
    fab_tensors *own;
    FAB_TRY(fab_states_load(&fixed, t));
    FAB_TRY(fab_tensors_create(&own));
    fab_status s = fab_state_rename(t, TRAINING, "state.", own);
    if (s == FAB_OK) s = fab_train_load(&f->train, own);
    fab_tensors_free(own);
    return s;
}

static fab_status save(void *handle, fab_tensors *t)
{
    fab_lrvga_net *f = handle;
    const fab_states counts = counts_of(f), all = state_of(f);
    FAB_TRY(fab_states_save(&counts, t));
    FAB_TRY(fab_states_save(&all, t));
    if (f->s.start == FAB_LRVGA_MAP && !f->count.trained) FAB_TRY(save_training(f, t));
    return fab_lrvga_save(f->core, t);
}

/* Earlier files have counts and losses as doubles in one tensor. */
static fab_status load_numbers(fab_lrvga_net *f, const fab_tensors *t)
{
    const int64_t count = 4;
    double n[4];
    FAB_TRY(fab_state_take(t, "state.net", FAB_F64, 1, &count, n));
    FAB_TRY(fab_stream_whole(n[0], &f->count.trained));
    FAB_TRY(fab_stream_whole(n[1], &f->count.epochs));
    f->loss = (fab_lrvga_net_losses){.train = n[2], .held_out = n[3]};
    return FAB_OK;
}

/* Numbers from a file: in their ranges, and rows that passed the door. */
static fab_status check_loaded(const fab_lrvga_net *f)
{
    const fab_model *m = &f->train.m;
    const fab_pending *p = &f->pending;
    const fab_examples x = {{f->x, FAB_F64, p->n, m->head.D}, p->y, p->w, p->offset};
    if (f->count.trained != 0 && f->count.trained != 1)
        return FAB_FAIL(FAB_BAD_FILE, "state.trained is %lld, expected 0 or 1",
                        (long long)f->count.trained);
    if (f->count.epochs < 0 || f->count.epochs > f->s.train.epochs)
        return FAB_FAIL(FAB_BAD_FILE, "state.trained says epoch %lld of %lld",
                        (long long)f->count.epochs, (long long)f->s.train.epochs);
    if (f->fixed.curved < 0 || f->fixed.measured < 0 || f->fixed.measured > f->fixed.curved)
        return FAB_FAIL(FAB_BAD_FILE, "state.fixed says %lld rows, %lld of them measured",
                        (long long)f->fixed.curved, (long long)f->fixed.measured);
    for (int64_t i = 0; i < m->D; i++)
        if (!isfinite(f->center[i]))
            return FAB_FAIL(FAB_BAD_FILE, "state.center is %g at coordinate %lld", f->center[i],
                            (long long)i);
    return fab_examples_check("state.rows", &m->head, &x) == FAB_OK ? FAB_OK : FAB_BAD_FILE;
}

static fab_status load(void *handle, const fab_tensors *t)
{
    fab_lrvga_net *f = handle;
    const fab_states counts = counts_of(f);
    FAB_TRY(fab_lrvga_load(f->core, t));
    FAB_TRY(fab_tensors_find(t, "state.net") ? load_numbers(f, t) : fab_states_load(&counts, t));
    FAB_TRY(fab_pending_find(&f->pending, t, "state.rows", 1, fab_lrvga_next(f->core), "block"));
    const fab_states all = state_of(f);
    FAB_TRY(fab_states_load(&all, t));
    if (fab_tensors_find(t, "state.fixed")) FAB_TRY(load_training(f, t));
    return check_loaded(f);
}

/* ---- the method --------------------------------------------------------------------------------------- */

const fab_method fab_lrvga_net_method = {
    .name = "lrvga",
    .summary = "networks: precision of rank K from the slopes of the outputs; goes on as a stream",
    .streams = 1,
    .takes = FAB_TAKES_JACOBIAN,
    .asks = FAB_ASKS_GRADIENT | FAB_ASKS_EXAMPLES | FAB_ASKS_OUTPUTS,
    .fields = &fab_lrvga_net_table,
    .init = init,
    .resolve = choose,
    .bytes = bytes,
    .update = update,
    .work = work,
    .result = result,
    .so_far = so_far,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};
