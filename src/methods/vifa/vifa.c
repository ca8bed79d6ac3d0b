/* vifa.c - variational inference with a factor-analysis posterior ([T] Alg. 3), for any model.
 *
 * q = N(c, S), S = F F' + diag(psi), psi = exp gamma, over the W coordinates that have a prior; N rows;
 * M = I + F' psi^-1 F.  Minimised: E_q[-log p(D, theta)] + w E_q[log q], w = 1: minus the ELBO
 *
 *   1  c = 0 or the model's start, psi = start_sd^2, F small and random
 *   for every step t: its rate and w; for every draw l = 1 .. L
 *     2  h_l, z_l ~ N(0, I), or -h, -z of the draw before;  theta = c + F h + psi^1/2 z              (draws.c)
 *     3  a batch of rows, its average loss and gradient g at theta
 *     4  v = N g;  path, or a given prior: v += gradient of -log p(theta);                       (gradients.c)
 *        path: v -= w S^-1 (theta - c) = w (psi^-1/2 z + psi^-1 F y), y = M^-1 (h - F' psi^-1/2 z)
 *     5  g_c += v,  G_F += v h',  g_gamma += v psi^1/2 z / 2          all over L
 *   6  closed: g_c += alpha c
 *   7  closed: g_gamma += (alpha psi - w + w rowdot(F M^-1, F) / psi) / 2                        -A + C B' = -C
 *   8  closed: G_F += alpha F - w psi^-1 F M^-1
 *   9  c, F, gamma move:  sgd, adam, or natural: along S g_c, S G_F, 2 g_gamma        (sgd.c, adam.c, natural.c)
 *  10  psi = exp gamma;  the Gram F' psi^-1 F comes with the pass that writes F
 *  11  ELBO = - N (running average of the loss) - KL(q || prior), about once an epoch
 *
 * G_F is v_1 .. v_L times h_1 .. h_L inside that pass when L <= K, otherwise a sum.  newton.c has other lines 2 - 10, for
 * small models whose -log p is convex.  A step that is not finite ends the run, and the state goes back to where the
 * epoch began.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "fabayes/gauss.h"
#include "fit/method.h"
#include "model/likelihoods/likelihood.h"
#include "methods/vifa/vifa.h"
#include "model/ggn.h"
#include "train/optim.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_INTERVAL = 10 }; /* steps between two bounds */
#define PARTS_ROUNDING 1e-9   /* of map_part + ramp_part = 1 */
#define MEMORY         0.01   /* weight of a step in the running average of the loss */
#define FAR            1e6 /* a loss so many times that of the first step: the run has diverged */

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_vifa *f = handle;
    fab_vifa_scratch *x = &f->scratch;
    const int64_t D = f->q.D, W = f->q.W, K = f->q.K, threads = f->run.threads;
    int64_t widest = K > 2 ? K : 2; /* long array */
    if (fab_vifa_is_far(f)) {
        fab_vifa_far_layout(l, f);
        return;
    }
    fab_vifa_gaussian_layout(l, f);
    if (!f->rule->all) {
        fab_vifa_draws_layout(l, f);
        fab_vifa_gradients_layout(l, f);
        if (f->s.draws > widest) widest = f->s.draws;
    }
    if (f->rule->layout) f->rule->layout(l, f);
    x->chunk = fab_place(l, FAB_VIFA_CHUNK * threads, sizeof(double));
    x->sums = fab_place(l, 2 * (W / FAB_VIFA_CHUNK + 1), sizeof(double));
    f->backup.c = fab_place(l, D, sizeof(double));
    f->backup.gamma = fab_place(l, W, sizeof(double));
    f->backup.F = fab_place(l, W * K, f->nn->size);
    f->run.work = fab_place(l, (int64_t)f->run.ops->work(W, widest, widest, f->run.threads), 1);
}

/* A handle without its arrays. */
static fab_status prototype(fab_vifa *f, const char *who, const fab_vifa_settings *s,
                            const fab_model *m, const fab_gauss *prior, const fab_exec *x)
{
    const fab_dtype type = x && x->ops ? x->ops->type : FAB_F64;
    *f = (fab_vifa){.who = who,
                    .s = *s,
                    .exec = x ? *x : (fab_exec){0},
                    .nn = fab_nn_find(type),
                    .m = *m,
                    .given = prior,
                    .q = {.D = m->D, .W = m->D - m->free, .K = s->K},
                    .loss = {.average = NAN, .bound = NAN}};
    fab_vifa_resolve(&f->s, &(fab_input){.model = m});
    f->rule = fab_vifa_rule_of(f->s.optimiser);
    f->draw.path = f->s.entropy == FAB_VIFA_PATH;
    f->grad.closed = !f->draw.path;
    f->grad.prior_is_sampled = f->draw.path || prior;
    f->grad.alpha = f->grad.prior_is_sampled ? 0 : f->s.train.alpha;
    f->grad.kept = f->s.draws <= f->q.K ? f->s.draws : 1;
    return fab_run_init_anywhere(&f->run, x, type);
}

static fab_status check(const fab_vifa *f)
{
    FAB_TRY(fab_check_alone(f->who, &f->exec));
    if (f->given && f->m.free > 0)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: a given prior needs a model without free coordinates (fixed noise)",
                        f->who);
    if (f->s.map_part + f->s.ramp_part > 1 + PARTS_ROUNDING)
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "%s: map_part = %g and ramp_part = %g are more than the run: the entropy would "
            "never set in whole; lower one",
            f->who, f->s.map_part, f->s.ramp_part);
    if (fab_vifa_is_far(f)) return fab_vifa_far_check(f);
    if (f->rule == &fab_vifa_newton) return fab_vifa_newton_check(f);
    return FAB_OK;
}

/* 1 */
static void start(fab_vifa *f)
{
    const fab_vifa_gaussian *q = &f->q;
    if (f->s.start == FAB_VIFA_MODEL || f->m.free > 0) { /* free ones have no other start */
        if (f->m.start)
            f->m.start(f->m.self, (uint64_t)f->s.train.seed, q->c);
        else if (f->given)
            memcpy(q->c, f->given->mu, (size_t)q->D * sizeof(double));
    }
    if (f->s.start == FAB_VIFA_ZERO) memset(q->c, 0, (size_t)q->W * sizeof(double));
    for (int64_t i = 0; i < q->W; i++) q->gamma[i] = 2 * log(f->s.start_sd);
    f->nn->exps(q->W, q->gamma, q->psi);
    if (q->K > 0) {
        const fab_long F = fab_vifa_F(f);
        f->run.ops->randn(&f->run, (uint64_t)f->s.train.seed, FAB_PURPOSE_START, FAB_VIFA_START,
                          &F);
        fab_vifa_identity(q->K, f->s.start_sd * f->s.start_F, f->scratch.B);
        f->run.ops->mult(&f->run, NULL, &F, f->scratch.B, 0, &F);
    }
}

static void release(void *handle)
{
    fab_vifa *f = handle;
    if (!f) return;
    fab_gauss_free(f->result);
    fab_vifa_far_free(f);
    fab_release(f);
}

static fab_status create(void **handle, const char *who, const fab_vifa_settings *s,
                         const fab_model *m, const fab_gauss *prior, const fab_exec *x)
{
    fab_vifa proto, *f;
    *handle = NULL;
    FAB_TRY(prototype(&proto, who, s, m, prior, x));
    FAB_TRY(check(&proto));
    void *block;
    FAB_TRY(
        fab_build_apart((void **)&f, sizeof proto, &proto, layout, proto.run.ops->memory, &block));
    f->far.block = block;
    const fab_vifa_gaussian *q = &f->q;
    fab_status made =
        m->free > 0
            ? fab_gauss_create_part(&f->result, FAB_FORM_COVARIANCE, f->nn->type, q->W, q->K, q->D)
            : fab_gauss_create(&f->result, FAB_FORM_COVARIANCE, f->nn->type, q->W, q->K);
    if (made == FAB_OK && fab_vifa_is_far(f)) {
        made = fab_vifa_far_start(f);
    } else if (made == FAB_OK) {
        f->q.F = f->result->F;
        start(f);
    }
    if (made != FAB_OK) {
        release(f);
        return made;
    }
    *handle = f;
    return FAB_OK;
}

/* ---- the run ------------------------------------------------------------------------------------------ */

/* Batches of rows that a step takes. */
static int64_t batches_of_step(const fab_vifa *f)
{
    if (f->rule == &fab_vifa_newton) return fab_minibatch_steps(f->joint.batches);
    if (f->s.shared) return 1;
    return f->s.pairs ? (f->s.draws + 1) / 2 : f->s.draws;
}

/* The batch of draw l. */
static fab_examples batch_of(fab_vifa *f, int64_t t, int64_t l)
{
    const int64_t epoch = fab_minibatch_steps(f->joint.batches), own = f->s.pairs ? l / 2 : l;
    const int64_t b = t * f->step_batches + (f->s.shared ? 0 : own);
    return fab_minibatch_get(f->joint.batches, b / epoch, b % epoch);
}

/* 2 - 10 from draws */
static fab_status stochastic_step(fab_vifa *f, fab_vifa_step *s)
{
    const fab_vifa_rule *rule = f->rule;
    fab_vifa_gaussian *q = &f->q;
    const int64_t L = f->s.draws, epoch = fab_minibatch_steps(f->joint.batches);
    const int far = fab_vifa_is_far(f);
    fab_examples batch = {0};
    if (fab_vifa_factor(f) != FAB_OK) return fab_vifa_diverged(f, s->t, "F' psi^-1 F", NAN);

    for (int64_t l = 0; l < L; l++) {
        double loss, penalty = 0, *theta = f->draw.theta, *g = f->grad.g;
        if (far)
            fab_vifa_far_draw(f, s, l); /* 2 */
        else
            fab_vifa_draw(f, s, l);
        const int same_rows = l > 0 && (f->s.shared || f->draw.sign < 0);
        if (!same_rows) batch = batch_of(f, s->t, l);
        if (f->m.noise) f->m.noise(f->m.self, (uint64_t)f->s.train.seed, s->t * L + l);
        if (f->m.at) f->m.at(f->m.self, s->weight > 0);
        FAB_TRY(far ? fab_vifa_far_loss(f, &batch, l, &loss)
                    : f->m.loss(f->m.self, theta, &batch, &loss, g)); /* 3 */
        if (!isfinite(loss)) return fab_vifa_diverged(f, s->t, "the loss", loss);
        const double rows = (double)batch.x.n;
        const double N = (double)epoch * rows; /* so that v is unbiased for uneven batches */
        s->loss += loss * rows;
        s->rows += rows;
        if (far) {
            f->far.draw[l].scale = N;
            continue;
        }
        if (f->grad.prior_is_sampled)
            FAB_TRY(fab_prior_add(&f->joint.prior, 1 / N, theta, &penalty, g)); /* 4 */
        fab_vifa_gradients_add(f, s, N);                                        /* 4, 5 */
    }

    if (far) return fab_vifa_far_move(f, s);  /* 4 - 10 */
    FAB_TRY(fab_vifa_gradients_finish(f, s)); /* 6, 7 */
    rule->c(f, s);                            /* 9 */
    if (s->weight == 0) return FAB_OK;
    rule->gamma(f, s);
    FAB_TRY(fab_vifa_next_psi(f, s)); /* 10 */
    if (q->K > 0) {
        if (f->grad.F) fab_vifa_gradient_F(f, s); /* 8 */
        rule->F(f, s);                            /* 9 */
    }
    double *psi = q->psi;
    q->psi = q->psi_next;
    q->psi_next = psi;
    return FAB_OK;
}

/* One step of `total`: what is asked of it, the step, its loss. */
static fab_status step(fab_vifa *f, int64_t total)
{
    const fab_rates rates = {(fab_schedule)f->s.schedule, f->s.train.rate, f->s.drop,
                             f->s.drop_every, f->s.warmup};
    const int64_t t = f->count.steps;
    const double part = (double)t / (double)total, since = part - f->s.map_part;
    double weight = 1; /* of the entropy */
    if (since < 0)
        weight = 0;
    else if (since < f->s.ramp_part)
        weight = since / f->s.ramp_part;
    fab_vifa_step s = {.t = t,
                       .rate = fab_rate_at(&rates, part),
                       .weight = weight,
                       .free_moves = part >= f->s.free_after,
                       .first_or_last = t == 0 || t + 1 == total};

    FAB_TRY(f->rule->all ? f->rule->all(f, &s) : stochastic_step(f, &s)); /* 2 - 10 */

    const double loss = s.loss / s.rows;
    fab_trend_add(&f->trend, part, total * f->step_batches / fab_minibatch_steps(f->joint.batches),
                  loss);
    const double share = f->rule == &fab_vifa_newton ? s.rate : fmax(1 / ((double)t + 1), MEMORY);
    if (t == 0)
        f->loss.first = f->loss.average = loss;
    else
        f->loss.average += share * (loss - f->loss.average);
    if (!(loss <= FAR * (1 + fabs(f->loss.first))))
        return fab_vifa_diverged(f, t, "the loss", loss);
    f->count.steps++;
    if (weight > 0) f->count.moves++;
    f->count.epochs = f->count.steps * f->step_batches / fab_minibatch_steps(f->joint.batches);
    return FAB_OK;
}

/* q as it is now into the result. */
static fab_status publish(fab_vifa *f)
{
    if (fab_vifa_is_far(f)) return fab_vifa_far_publish(f);
    const size_t W = (size_t)f->q.W * sizeof(double);
    memcpy(f->result->mu, f->q.c, W);
    memcpy(f->result->psi, f->q.psi, W);
    if (f->result->theta) memcpy(f->result->theta, f->q.c, (size_t)f->q.D * sizeof(double));
    return FAB_OK;
}

/* 11 */
static fab_status bound(fab_vifa *f)
{
    double kl;
    if (!fab_vifa_is_far(f)) FAB_TRY(publish(f));
    if (f->given)
        FAB_TRY(fab_distance_kl(f->result, f->given, &f->exec, &kl));
    else
        FAB_TRY(fab_vifa_divergence(f, &kl));
    f->loss.bound = -(double)fab_minibatch_rows(f->joint.batches) * f->loss.average - kl;
    return FAB_OK;
}

static void back_up(fab_vifa *f)
{
    const fab_vifa_gaussian *q = &f->q;
    fab_vifa_backup *b = &f->backup;
    b->count = f->count;
    b->loss = f->loss;
    b->trend = f->trend;
    if (fab_vifa_is_far(f)) {
        fab_vifa_far_copy(f, &f->far.q, &f->far.good);
        return;
    }
    memcpy(b->c, q->c, (size_t)q->D * sizeof(double));
    memcpy(b->gamma, q->gamma, (size_t)q->W * sizeof(double));
    if (q->K > 0) memcpy(b->F, q->F, (size_t)(q->W * q->K) * f->nn->size);
    if (b->C) memcpy(b->C, f->curvature.C, (size_t)(q->W * q->W) * sizeof(double));
}

static void restore(fab_vifa *f)
{
    const fab_vifa_gaussian *q = &f->q;
    const fab_vifa_backup *b = &f->backup;
    f->count = b->count;
    f->loss = b->loss;
    f->trend = b->trend;
    if (fab_vifa_is_far(f)) {
        fab_vifa_far_copy(f, &f->far.good, &f->far.q);
        return;
    }
    memcpy(q->c, b->c, (size_t)q->D * sizeof(double));
    memcpy(q->gamma, b->gamma, (size_t)q->W * sizeof(double));
    if (q->K > 0) memcpy(q->F, b->F, (size_t)(q->W * q->K) * f->nn->size);
    if (b->C) memcpy(f->curvature.C, b->C, (size_t)(q->W * q->W) * sizeof(double));
    f->nn->exps(q->W, q->gamma, q->psi);
}

/* All steps that are left, a bound about once an epoch. */
static fab_status steps(fab_vifa *f)
{
    f->step_batches = batches_of_step(f);
    const int64_t epoch = fab_minibatch_steps(f->joint.batches), in_epoch = epoch / f->step_batches;
    const int64_t wanted = fab_vifa_epochs(&f->s, in_epoch) * epoch / f->step_batches;
    const int64_t total = wanted > 1 ? wanted : 1;
    const int64_t interval = in_epoch > LEAST_INTERVAL ? in_epoch : LEAST_INTERVAL;
    const double work = (double)(f->s.draws * f->q.W) *
                        (double)(8 * fab_minibatch_rows(f->joint.batches) / epoch + 4 + 4 * f->q.K);
    while (f->count.steps < total || f->left > 0) {
        const int64_t left = total - f->count.steps;
        fab_status s = FAB_OK;
        char what[96];
        if (f->left > left) f->left = left;
        if (f->left == 0) {
            f->left = interval < left ? interval : left;
            back_up(f);
            if (fab_vifa_is_far(f))
                FAB_TRY(fab_vifa_far_gram(f)); /* afresh: a run from a file has the same bits */
            else
                fab_vifa_gram(f, f->q.psi);
        }
        while (f->left > 0 && s == FAB_OK) {
            s = step(f, total);
            if (s == FAB_STOPPED) return s; /* inside the model: the step is made again */
            f->left--;
            if (s == FAB_OK)
                FAB_TRY(fab_watch_work(&f->run.watch, work, f->who, f->count.steps, total));
        }
        if (s == FAB_OK) s = bound(f);
        if (s != FAB_OK) {
            f->left = 0;
            restore(f);
            return s;
        }
        snprintf(what, sizeof what, "%s: loss %.4g, bound %.6g", f->who, f->loss.average,
                 f->loss.bound);
        FAB_TRY(fab_watch_tick(&f->run.watch, what, f->count.steps, total));
    }
    f->done = 1;
    return FAB_OK;
}

static fab_status run(fab_vifa *f)
{
    FAB_TRY(fab_joint_open(&f->joint, f->who, &f->s.train, 0, &f->m, f->given, &f->e, &f->exec));
    const int before = fab_blas_enter();
    const fab_status s = steps(f);
    fab_blas_leave(before);
    fab_joint_close(&f->joint, &f->m);
    return s;
}

/* What a run goes on from, beside the result's F; halfway through an interval its Gram matrix, too. */
static fab_far_states states_of(fab_vifa *f, int halfway, int with_trend)
{
    fab_far_states s = {0};
    const int far = fab_vifa_is_far(f);
    const int64_t D = f->q.D, W = f->q.W, K = f->q.K;
    fab_far_add(&s, "state.counts", FAB_NEAR, FAB_I64, FAB_VIFA_COUNTS, 0, &f->count);
    fab_far_add(&s, "state.losses", FAB_NEAR, FAB_F64, FAB_VIFA_LOSSES, 0, &f->loss);
    fab_far_add(&s, "state.c", FAB_FAR_VECTOR, FAB_F64, D, 0, far ? f->far.q.c : f->q.c);
    fab_far_add(&s, "state.gamma", FAB_FAR_VECTOR, FAB_F64, W, 0,
                far ? f->far.q.gamma : f->q.gamma);
    if (f->rule->states) f->rule->states(f, &s);
    if (halfway) fab_far_add(&s, "state.left", FAB_NEAR, FAB_I64, 1, 0, &f->left);
    if (halfway && K > 0) fab_far_add(&s, "state.gram", FAB_NEAR, FAB_F64, K, K, f->q.G);
    if (with_trend)
        fab_far_add(&s, "state.trend", FAB_NEAR, FAB_F64, FAB_TREND_NUMBERS, 0, &f->trend);
    return s;
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_model *m = in->model;
    const fab_gauss *prior = in->prior;
    return create(handle, "vifa", settings, m, prior, x);
}

static fab_status init_diagonal(void **handle, const void *settings, const fab_input *in,
                                const fab_exec *x)
{
    const fab_model *m = in->model;
    const fab_gauss *prior = in->prior;
    return create(handle, "meanfield", settings, m, prior, x);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_model *m = in->model;
    (void)x;
    const fab_vifa_settings *s = settings;
    fab_vifa f;
    if (prototype(&f, "vifa", s, m, NULL, NULL) != FAB_OK) return 0;
    const double batch = (double)s->train.batch * (double)(m->head.D + 3) + 2 * (double)n;
    const double result = (double)f.q.W * (double)(f.q.K + 2);
    return (double)fab_build_size(sizeof f, &f, layout) + sizeof(double) * (result + batch);
}

static fab_status update(void *handle, const fab_examples *e)
{
    ((fab_vifa *)handle)->e = *e;
    return FAB_OK;
}

static fab_status so_far(void *handle, const fab_gauss **q)
{
    fab_vifa *f = handle;
    *q = f->result;
    return publish(f);
}

static fab_status result(void *handle, const fab_gauss **q)
{
    fab_vifa *f = handle;
    if (!f->done) FAB_TRY(run(f));
    return so_far(f, q);
}

static fab_status report(void *handle, fab_report *r)
{
    const fab_vifa *f = handle;
    const fab_glm *head = &f->m.head;
    const int noise = f->m.free == 1 && fab_glm_likelihood(head)->noise; /* it is learned */
    *r = (fab_report){.iterations = f->count.epochs,
                      .alpha = f->given ? NAN : f->s.train.alpha,
                      .beta = noise ? fab_glm_beta(head, f->q.c[f->q.D - 1]) : head->beta,
                      .log_evidence = f->loss.bound,
                      .loss = f->loss.average,
                      .held_out = NAN};
    fab_trend_report(&f->trend, r);
    return FAB_OK;
}

static fab_status save(void *handle, fab_tensors *t)
{
    fab_vifa *f = handle;
    const fab_far_states far = states_of(f, f->left > 0, 1);
    fab_states all;
    fab_release(f->far.staged);
    FAB_TRY(fab_far_fetch(&f->run, &far, &all, &f->far.staged));
    return fab_states_save(&all, t);
}

static fab_status load(void *handle, const fab_tensors *t)
{
    fab_vifa *f = handle;
    const fab_vifa_gaussian *q = &f->q;
    const fab_far_states far = states_of(f, fab_tensors_find(t, "state.left") != NULL,
                                         fab_tensors_find(t, "state.trend") != NULL);
    fab_states all;
    fab_release(f->far.staged);
    FAB_TRY(fab_far_room(&f->run, &far, &all, &f->far.staged));
    FAB_TRY(fab_states_load(&all, t));
    fab_far_store(&f->run, &all, &far);
    if (q->K > 0)
        FAB_TRY(fab_state_take(t, "F", f->nn->type, 2, (int64_t[]){q->W, q->K}, f->result->F));
    if (q->K > 0 && fab_vifa_is_far(f)) fab_vifa_far_take_F(f);
    if (!(f->count.steps >= 0 && f->count.moves >= 0 && f->count.moves <= f->count.steps))
        return FAB_FAIL(FAB_BAD_FILE, "%s: state.counts say %lld steps, %lld of them with F",
                        f->who, (long long)f->count.steps, (long long)f->count.moves);
    if (f->left < 0)
        return FAB_FAIL(FAB_BAD_FILE, "%s: state.left says %lld steps", f->who, (long long)f->left);
    if (!fab_vifa_is_far(f)) f->nn->exps(q->W, q->gamma, q->psi);
    if (f->left > 0) back_up(f);
    return FAB_OK;
}

/* ---- the methods -------------------------------------------------------------------------------------- */

#define VIFA_VERBS(init_)                                                              \
    .takes = FAB_TAKES_GRADIENT, .anywhere = 1, .init = init_, .bytes = bytes,         \
    .resolve = fab_vifa_resolve, .update = update, .result = result, .so_far = so_far, \
    .report = report, .free = release, .save = save, .load = load

const fab_method fab_vifa_method = {
    .name = "vifa",
    .summary = "variational inference of a network or any other model, low rank plus diagonal",
    .fields = &fab_vifa_table,
    VIFA_VERBS(init),
};

const fab_method fab_meanfield_method = {
    .name = "meanfield",
    .summary = "vifa with a diagonal covariance",
    .fields = &fab_meanfield_table,
    VIFA_VERBS(init_diagonal),
};
