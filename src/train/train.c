/* train.c - training by stochastic gradients, epoch by epoch: the steps of sgd.c by their numbers.
 *
 * SPDX-License-Identifier: MIT */
#include "train/train.h"
#include "train/state.h"
#include "la/ops.h"
#include "la/threads.h"
#include "model/ggn.h"
#include "model/likelihoods/likelihood.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    CHUNK =
        1
        << 13, /* coordinates that a thread takes at a time: what a step reads and writes of them stays in its cache */
    MANY = 16  /* chunks from which a second thread pays */
};

static int64_t chunks_of(int64_t D)
{
    return (D + CHUNK - 1) / CHUNK;
}

/* ---- life --------------------------------------------------------------------------------------------- */

fab_status fab_train_init(fab_train *t, const char *who, const fab_sgd_settings *s,
                          const fab_model *m, const fab_gauss *prior, const fab_exec *x)
{
    fab_run run;
    FAB_TRY(fab_check_alone(who, x));
    if (s->optimiser == FAB_OPTIMISER_ADAMW && prior)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: adamw shrinks by alpha; a given prior needs adam",
                        who);
    FAB_TRY(fab_run_init(&run, x, FAB_F64));
    *t = (fab_train){.who = who,
                     .s = *s,
                     .m = *m,
                     .given = prior,
                     .exec = x ? *x : (fab_exec){0},
                     .watch = fab_watch_of(x),
                     .optim = {.kind = (fab_optimiser)s->optimiser,
                               .momentum = s->momentum,
                               .second = s->second,
                               .epsilon = s->epsilon,
                               .n = m->D,
                               .threads = run.threads},
                     .total = s->epochs,
                     .setting = "rate",
                     .rate = s->rate,
                     .to = m->D,
                     .loss = {.train = NAN, .held_out = NAN, .best = INFINITY}};
    return FAB_OK;
}

void fab_train_layout(fab_layout *l, fab_train *t)
{
    const int64_t D = t->m.D, moments = fab_optim_moments(t->optim.kind);
    t->theta = fab_place(l, D, sizeof(double));
    t->gradient = fab_place(l, D, sizeof(double));
    t->good = fab_place(l, D, sizeof(double));
    t->squares = fab_place(l, chunks_of(D), sizeof(double));
    t->best = fab_place(l, t->s.held_out > 0 ? D : 0, sizeof(double));
    t->optim.m = fab_place(l, moments > 0 ? D : 0, sizeof(double));
    t->optim.v = fab_place(l, moments > 1 ? D : 0, sizeof(double));
}

double fab_train_bytes(const fab_sgd_settings *s, const fab_model *m, int64_t n)
{
    const int64_t moments = fab_optim_moments((fab_optimiser)s->optimiser),
                  vectors = 3 + (s->held_out > 0) + moments;
    const double batch = (double)s->batch * (double)(m->head.D + 3);
    return sizeof(double) * ((double)vectors * (double)m->D + batch + 2 * (double)n);
}

/* 1 */
void fab_train_start(fab_train *t)
{
    const size_t bytes = (size_t)t->m.D * sizeof(double);
    if (t->m.start)
        t->m.start(t->m.self, (uint64_t)t->s.seed, t->theta);
    else if (t->given)
        memcpy(t->theta, t->given->mu, bytes);
    memcpy(t->good, t->theta, bytes);
    if (t->s.held_out > 0) memcpy(t->best, t->theta, bytes);
}

fab_status fab_train_open(fab_train *t)
{
    const fab_model_settings s = {.alpha = t->s.alpha, .batch = t->s.batch, .seed = t->s.seed};
    return fab_joint_open(&t->joint, t->who, &s, t->s.held_out, &t->m, t->given, &t->e, &t->exec);
}

void fab_train_close(fab_train *t)
{
    fab_joint_close(&t->joint, &t->m);
}

/* ---- one step ----------------------------------------------------------------------------------------- */

fab_status fab_train_not_finite(const fab_train *t, const char *what, double value)
{
    return FAB_FAIL(FAB_NUMERIC,
                    "%s: %s is %g at step %lld (epoch %lld): lower %s (now %g) or set clip; theta "
                    "is back where the epoch began",
                    t->who, what, value, (long long)t->optim.t + 1,
                    (long long)(t->count.epochs + t->after + 1), t->setting, t->rate);
}

/* What becomes of the gradient of the loss, chunk by chunk, so that a pass over memory does it:
 *
 *   4  g += a theta for weights; 0 for coordinates that do not move
 *   5  the sum of g^2, in eight parts that are always the same ones
 *   6  the step, unless the norm of the whole must be known first, or there is no finite one */
typedef struct moving {
    fab_train *t;
    double a, rate, decay;
} moving;

static void move_task(void *ctx, int64_t i, int thread)
{
    enum { PARTS = 8 };
    const moving *c = ctx;
    const fab_train *t = c->t;
    const int64_t first = i * CHUNK, end = t->m.D - first < CHUNK ? t->m.D : first + CHUNK,
                  weights = t->m.D - t->m.free;
    double *g = t->gradient, sum[PARTS] = {0};
    (void)thread;
    const int64_t weights_end = end < weights ? end : weights,
                  before = end < t->from ? end : t->from, behind = first > t->to ? first : t->to;
    if (c->a != 0)
        for (int64_t d = first; d < weights_end; d++) g[d] += c->a * t->theta[d]; /* 4 */
    for (int64_t d = first; d < before; d++) g[d] = 0; /* from and to: the coordinates that move */
    for (int64_t d = behind; d < end; d++) g[d] = 0;
    int64_t d = first;
    for (; d + PARTS <= end; d += PARTS)
        for (int p = 0; p < PARTS; p++) sum[p] += g[d + p] * g[d + p]; /* 5 */
    for (; d < end; d++) sum[0] += g[d] * g[d];
    for (int p = 1; p < PARTS; p++) sum[0] += sum[p];
    t->squares[i] = sum[0];
    if (!(t->s.clip > 0) && isfinite(sum[0]))
        fab_optim_part(&t->optim, c->rate, g, c->decay, weights, t->theta, first, end); /* 6 */
}

/* 3 - 6 */
fab_status fab_train_step(fab_train *t, const fab_examples *batch, double rate, double *loss)
{
    const double share = 1 / (double)fab_minibatch_rows(t->joint.batches);
    const int apart = t->optim.kind == FAB_OPTIMISER_ADAMW;
    const int64_t chunks = chunks_of(t->m.D);
    moving c = {t, t->given || apart ? 0 : t->s.alpha * share, rate, t->s.alpha * share};
    double penalty = 0, sum = 0;
    if (t->m.noise) t->m.noise(t->m.self, (uint64_t)t->s.seed, t->optim.t);
    FAB_TRY(t->m.loss(t->m.self, t->theta, batch, loss, t->gradient)); /* 3 */
    if (!isfinite(*loss)) return fab_train_not_finite(t, "the loss", *loss);
    if (t->given) FAB_TRY(fab_prior_add(&t->joint.prior, share, t->theta, &penalty, t->gradient));
    if (!(t->s.clip > 0)) t->optim.t++;
    fab_parallel(chunks < MANY ? 1 : t->optim.threads, chunks, move_task, &c); /* 4 - 6 */
    for (int64_t i = 0; i < chunks; i++) sum += t->squares[i];
    if (!isfinite(sum)) {
        if (!(t->s.clip > 0)) t->optim.t--;
        return fab_train_not_finite(t, "the norm of the gradient", sqrt(sum));
    }
    if (!(t->s.clip > 0)) return FAB_OK;
    fab_clip(t->m.D, t->s.clip, sqrt(sum), t->gradient);                                 /* 5 */
    fab_optim_step(&t->optim, rate, t->gradient, c.decay, t->m.D - t->m.free, t->theta); /* 6 */
    return FAB_OK;
}

fab_status fab_train_count(fab_train *t, const fab_examples *batch, double loss)
{
    t->epoch.step++;
    t->epoch.loss += loss * (double)batch->x.n;
    t->epoch.rows += (double)batch->x.n;
    return fab_watch_work(&t->watch, (double)(8 * (batch->x.n + 2)) * (double)t->m.D, t->who,
                          t->count.epochs + t->after, t->total);
}

/* ---- epochs ------------------------------------------------------------------------------------------- */

/* 2 - 6 */
static fab_status epoch(fab_train *t)
{
    const fab_sgd_settings *s = &t->s;
    const fab_rates rates = {(fab_schedule)s->schedule, s->rate, s->drop, s->drop_every, s->warmup};
    const int64_t e = t->count.epochs, steps = fab_minibatch_steps(t->joint.batches);
    double loss;
    for (int64_t i = (int64_t)t->epoch.step; i < steps; i++) {
        const fab_examples batch = fab_minibatch_get(t->joint.batches, e, i);
        const double part = (double)(e * steps + i) / (double)(s->epochs * steps);
        FAB_TRY(fab_train_step(t, &batch, fab_rate_at(&rates, part), &loss));
        if (t->after == 0) fab_trend_add(&t->trend, part, s->epochs, loss);
        FAB_TRY(fab_train_count(t, &batch, loss));
    }
    t->loss.train = t->epoch.loss / t->epoch.rows;
    return FAB_OK;
}

/* 7 */
static fab_status score(fab_train *t)
{
    double sum = 0, loss;
    int64_t rows = 0;
    if (!(t->s.held_out > 0)) return FAB_OK;
    if (t->m.noise) t->m.noise(t->m.self, 0, -1);
    for (;;) {
        const fab_examples e = fab_minibatch_held(t->joint.batches, rows);
        if (e.x.n == 0) break;
        FAB_TRY(t->m.loss(t->m.self, t->theta, &e, &loss, NULL));
        sum += loss * (double)e.x.n;
        rows += e.x.n;
    }
    if (rows == 0)
        return FAB_FAIL(FAB_BAD_DATA, "%s: held_out = %g of %lld rows is no row", t->who,
                        t->s.held_out, (long long)t->e.x.n);
    t->loss.held_out = sum / (double)rows;
    t->count.waited++;
    if (!(t->loss.held_out < t->loss.best)) return FAB_OK;
    t->loss.best = t->loss.held_out;
    t->count.waited = 0;
    memcpy(t->best, t->theta, (size_t)t->m.D * sizeof(double));
    return FAB_OK;
}

fab_status fab_train_tell(const fab_train *t)
{
    char what[96];
    const int n = snprintf(what, sizeof what, "%s: loss %.4g", t->who, t->loss.train);
    if (t->s.held_out > 0)
        snprintf(what + n, sizeof what - (size_t)n, ", held out %.4g", t->loss.held_out);
    return fab_watch_tick(&t->watch, what, t->count.epochs + t->after, t->total);
}

static int trained(const fab_train *t)
{
    return t->count.epochs >= t->s.epochs ||
           (t->s.held_out > 0 && t->count.waited >= t->s.patience);
}

fab_status fab_train_run(fab_train *t)
{
    const size_t bytes = (size_t)t->m.D * sizeof(double);
    while (!t->done) {
        if (!(t->epoch.step > 0)) memcpy(t->good, t->theta, bytes);
        fab_status s = epoch(t);
        if (s == FAB_OK) s = score(t);
        if (s == FAB_STOPPED) return s;
        t->epoch = (fab_epoch){0};
        if (s != FAB_OK) {
            memcpy(t->theta, t->good, bytes);
            return s;
        }
        t->count.epochs++;
        t->done = trained(t);
        FAB_TRY(fab_train_tell(t));
    }
    return FAB_OK;
}

fab_status fab_train_whole(fab_train *t)
{
    FAB_TRY(fab_train_open(t));
    const fab_status s = fab_train_run(t);
    fab_train_close(t);
    return s;
}

/* ---- what came out ------------------------------------------------------------------------------------ */

const double *fab_train_best(const fab_train *t)
{
    return t->loss.best < INFINITY ? t->best : t->theta;
}

const fab_gauss *fab_train_point(const fab_train *t, fab_gauss *q)
{
    memcpy(q->mu, fab_train_best(t), (size_t)t->m.D * sizeof(double));
    return q;
}

void fab_train_report(const fab_train *t, const double *theta, fab_report *r)
{
    const int noise = t->m.free == 1 && fab_glm_likelihood(&t->m.head)->noise;
    *r = (fab_report){.iterations = t->count.epochs + t->after,
                      .alpha = t->given ? NAN : t->s.alpha,
                      .beta = noise ? fab_glm_beta(&t->m.head, theta[t->m.D - 1]) : t->m.head.beta,
                      .log_evidence = NAN,
                      .loss = t->loss.train,
                      .held_out = t->loss.best < INFINITY ? t->loss.best : NAN};
    fab_trend_report(&t->trend, r);
    if (t->count.epochs < t->s.epochs) r->converged = 1; /* rows held out were no better */
}

/* ---- files -------------------------------------------------------------------------------------------- */

enum { EPOCH_NUMBERS = sizeof(fab_epoch) / sizeof(double) };

/* The epoch is there when it was stopped on its way. */
static fab_states state_of(fab_train *t, int halfway, int with_trend)
{
    const int64_t D = t->m.D, moments = fab_optim_moments(t->optim.kind);
    return (fab_states){
        {{"state.theta", FAB_F64, D, 0, t->theta},
         {"state.counts", FAB_I64, sizeof t->count / sizeof(int64_t), 0, &t->count},
         {"state.losses", FAB_F64, sizeof t->loss / sizeof(double), 0, &t->loss},
         {"state.steps", FAB_I64, 1, 0, &t->optim.t},
         {"state.m", FAB_F64, D, 0, moments > 0 ? t->optim.m : NULL},
         {"state.v", FAB_F64, D, 0, moments > 1 ? t->optim.v : NULL},
         {"state.best", FAB_F64, D, 0, t->s.held_out > 0 ? t->best : NULL},
         {"state.epoch", FAB_F64, EPOCH_NUMBERS, 0, halfway ? &t->epoch : NULL},
         {"state.trend", FAB_F64, FAB_TREND_NUMBERS, 0, with_trend ? &t->trend : NULL}}};
}

fab_status fab_train_save(fab_train *t, fab_tensors *file)
{
    const int halfway = t->epoch.step > 0;
    const fab_states all = state_of(t, halfway, 1);
    return fab_states_save(&all, file);
}

fab_status fab_train_load(fab_train *t, const fab_tensors *file)
{
    const fab_states all = state_of(t, fab_tensors_find(file, "state.epoch") != NULL,
                                    fab_tensors_find(file, "state.trend") != NULL);
    FAB_TRY(fab_states_load(&all, file));
    if (!(t->epoch.step >= 0 && t->epoch.step <= 0x1p53 && t->epoch.rows >= t->epoch.step))
        return FAB_FAIL(FAB_BAD_FILE, "%s: state.epoch says step %g with %g rows", t->who,
                        t->epoch.step, t->epoch.rows);
    if (t->count.epochs < 0 || t->count.epochs > t->s.epochs || t->count.waited < 0 ||
        t->optim.t < 0)
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: the state says epoch %lld of %lld, step %lld, %lld epochs waited",
                        t->who, (long long)t->count.epochs, (long long)t->s.epochs,
                        (long long)t->optim.t, (long long)t->count.waited);
    t->done = trained(t);
    return FAB_OK;
}
