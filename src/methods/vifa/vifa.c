/* vifa.c - variational inference with a factor-analysis posterior ([T] Alg. 3), for any model.
 *
 * q = N(c, S), S = F F' + diag(psi), psi = exp gamma, over the W coordinates that have a prior; N rows;
 * M = I + F' psi^-1 F.  Minimised: E_q[-log p(D, theta)] + w E_q[log q], w = 1: minus the ELBO
 *
 *   1  c = 0 or the model's start, psi = start_sd^2, F small and random
 *   for every step t: its rate and w; for every draw l = 1 .. L
 *     2  h_l, z_l ~ N(0, I), or -h, -z of the draw before;  theta = c + F h + psi^1/2 z           (vifa_draw.c)
 *     3  a batch of rows, its average loss and gradient g at theta
 *     4  v = N g;  path, or a given prior: v += gradient of -log p(theta);
 *        path: v -= w S^-1 (theta - c) = w (psi^-1/2 z + psi^-1 F y), y = M^-1 (h - F' psi^-1/2 z)
 *     5  g_c += v,  G_F += v h',  g_gamma += v psi^1/2 z / 2          all over L
 *   6  closed: g_c += alpha c                                                                    (vifa_step.c)
 *   7  closed: g_gamma += (alpha psi - w + w rowdot(F M^-1, F) / psi) / 2                        -A + C B' = -C
 *   8  closed: G_F += alpha F - w psi^-1 F M^-1
 *   9  c, F, gamma move:  sgd, adam, or natural: along S g_c, S G_F, 2 g_gamma
 *  10  psi = exp gamma;  the Gram F' psi^-1 F comes with the pass that writes F
 *  11  ELBO = - N (running average of the loss) - KL(q || prior), about once an epoch
 *
 * G_F is v_1 .. v_L times h_1 .. h_L inside that pass when L <= K, otherwise a sum.  A step that is not finite
 * ends the run, and the state goes back to where the epoch began.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "train/state.h"
#include "fabayes/gauss.h"
#include "fit/infer_methods.h"
#include "methods/vifa/vifa_state.h"
#include "model/ggn.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_LAP = 10 };    /* steps */
#define PARTS_ROUNDING 1e-9 /* of map_part + ramp_part = 1 */
#define MEMORY         0.01 /* weight of a step in the running average of the loss */
#define FAR            1e6  /* a loss so many times that of the first step: the run has diverged */

/* ---- life --------------------------------------------------------------------------------------------- */

static void place_moments(fab_layout *l, fab_vifa *f)
{
    const int adam = f->s.optimiser == FAB_VIFA_ADAM;
    const int64_t D = adam ? f->m.D : 0, W = adam ? f->W : 0;
    f->of_c.m = fab_place(l, D, sizeof(double));
    f->of_c.v = fab_place(l, D, sizeof(double));
    f->of_gamma.m = fab_place(l, W, sizeof(double));
    f->of_gamma.v = fab_place(l, W, sizeof(double));
    f->mF = fab_place(l, W * f->K, f->nn->size);
    f->vF = fab_place(l, W * f->K, f->nn->size);
}

static void place_small(fab_layout *l, fab_vifa *f)
{
    const int64_t K = f->K, L = f->s.draws;
    f->h = fab_place(l, K, sizeof(double));
    f->H = fab_place(l, L * K, sizeof(double));
    f->G = fab_place(l, K * K, sizeof(double));
    f->Lc = fab_place(l, K * K, sizeof(double));
    f->Minv = fab_place(l, K * K, sizeof(double));
    f->root = fab_place(l, K * K, sizeof(double));
    f->hy = fab_place(l, 2 * K, sizeof(double));
    f->T = fab_place(l, K * K, sizeof(double));
    f->turn = fab_place(l, K * K, sizeof(double));
    f->sums = fab_place(l, 2 * (f->W / FAB_VIFA_CHUNK + 1), sizeof(double));
    f->z = fab_place(l, (int64_t)FAB_VIFA_CHUNK * f->run.threads, sizeof(double));
    f->v = fab_place(l, (int64_t)FAB_VIFA_CHUNK * f->run.threads, sizeof(double));
}

static void layout(fab_layout *l, void *handle)
{
    fab_vifa *f = handle;
    const int64_t D = f->m.D, W = f->W, K = f->K, L = f->s.draws;
    const int64_t wide = L > K ? L : K, rows = wide > 2 ? wide : 2;
    const int path = f->s.entropy == FAB_VIFA_PATH;
    f->c = fab_place(l, D, sizeof(double));
    f->gamma = fab_place(l, W, sizeof(double));
    f->psi = fab_place(l, W, sizeof(double));
    f->next = fab_place(l, W, sizeof(double));
    f->theta = fab_place(l, D, sizeof(double));
    f->g = fab_place(l, D, sizeof(double));
    f->gc = fab_place(l, D, sizeof(double));
    f->gg = fab_place(l, W, sizeof(double));
    f->row = fab_place(l, W, sizeof(double));
    f->Y = fab_place(l, K > 0 ? (1 + path) * W : 0, f->nn->size);
    f->V = fab_place(l, K > 0 ? f->kept * W : 0, f->nn->size);
    f->GF = fab_place(l, fab_vifa_keeps_GF(&f->s) ? W * K : 0, f->nn->size);
    f->good_c = fab_place(l, D, sizeof(double));
    f->good_gamma = fab_place(l, W, sizeof(double));
    f->good_F = fab_place(l, W * K, f->nn->size);
    place_moments(l, f);
    place_small(l, f);
    fab_vifa_newton_layout(l, f);
    f->run.work = fab_place(l, (int64_t)f->run.ops->work(W, rows, rows, f->run.threads), 1);
}

static fab_optim optim_of(const fab_vifa_settings *s, int64_t n, int threads)
{
    return (fab_optim){.kind = s->optimiser == FAB_VIFA_ADAM ? FAB_ADAM : FAB_SGD,
                       .momentum = s->momentum,
                       .second = s->second,
                       .epsilon = s->epsilon,
                       .n = n,
                       .threads = threads};
}

static fab_status prototype(fab_vifa *f, const char *who, const fab_vifa_settings *s,
                            const fab_model *m, const fab_gauss *prior, const fab_exec *x)
{
    const fab_dtype type = x && x->ops ? x->ops->type : FAB_F64;
    *f = (fab_vifa){.who = who,
                    .s = *s,
                    .m = *m,
                    .given = prior,
                    .exec = x ? *x : (fab_exec){0},
                    .nn = fab_nn_find(type),
                    .W = m->D - m->free,
                    .K = s->K,
                    .number = {[FAB_VIFA_LOSS] = NAN, [FAB_VIFA_BOUND] = NAN}};
    fab_vifa_resolve(&f->s, m);
    f->kept = f->s.draws <= f->K ? f->s.draws : 1;
    if (f->s.optimiser == FAB_VIFA_NEWTON) f->newton.W = f->W;
    FAB_TRY(fab_run_init(&f->run, x, type));
    f->threads = f->run.threads;
    f->of_c = optim_of(&f->s, m->D, f->threads);
    f->of_gamma = optim_of(&f->s, f->W, f->threads);
    return FAB_OK;
}

static void release(void *handle)
{
    fab_vifa *f = handle;
    if (!f) return;
    fab_gauss_free(f->q);
    fab_release(f);
}

/* 1 */
static void start(fab_vifa *f)
{
    const double gamma = 2 * log(f->s.start_sd);
    const fab_long F = fab_vifa_F(f);
    if (f->s.start == FAB_VIFA_MODEL || f->m.free > 0) { /* free ones have no other start */
        if (f->m.start)
            f->m.start(f->m.self, (uint64_t)f->s.seed, f->c);
        else if (f->given)
            memcpy(f->c, f->given->mu, (size_t)f->m.D * sizeof(double));
    }
    if (f->s.start == FAB_VIFA_ZERO) memset(f->c, 0, (size_t)f->W * sizeof(double));
    for (int64_t i = 0; i < f->W; i++) f->gamma[i] = gamma;
    f->nn->exps(f->W, f->gamma, f->psi);
    if (f->K == 0) return;
    f->run.ops->randn(&f->run, (uint64_t)f->s.seed, FAB_VIFA_START, &F);
    for (int64_t k = 0; k < f->K; k++) f->turn[k + k * f->K] = f->s.start_sd * f->s.start_F;
    f->run.ops->mult(&f->run, NULL, &F, f->turn, 0, &F);
}

static fab_status check_newton(const fab_vifa *f)
{
    if (f->W > FAB_DENSE_MAX)
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "%s: newton has a matrix of the curvature, for up to %d weights, not %lld; take "
            "optimiser = adam",
            f->who, FAB_DENSE_MAX, (long long)f->W);
    if (f->s.draws != 2 * f->W + 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: draws = %lld, but newton with %lld weights takes %lld; leave it auto",
                        f->who, (long long)f->s.draws, (long long)f->W, (long long)(2 * f->W + 1));
    return FAB_OK;
}

static fab_status check(const fab_vifa *f)
{
    if (f->exec.comm) return FAB_FAIL(FAB_UNSUPPORTED, "%s: runs in one process", f->who);
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
    return f->s.optimiser == FAB_VIFA_NEWTON ? check_newton(f) : FAB_OK;
}

static fab_status create(fab_vifa **out, const fab_vifa *proto)
{
    fab_vifa *f;
    FAB_TRY(fab_build((void **)&f, sizeof *proto, proto, layout));
    const fab_status s =
        f->m.free > 0
            ? fab_gauss_create_part(&f->q, FAB_COVARIANCE, f->nn->type, f->W, f->K, f->m.D)
            : fab_gauss_create(&f->q, FAB_COVARIANCE, f->nn->type, f->W, f->K);
    if (s != FAB_OK) {
        release(f);
        return s;
    }
    f->F = f->q->F;
    start(f);
    *out = f;
    return FAB_OK;
}

static fab_status init_as(void **handle, const char *who, const void *settings, const fab_model *m,
                          const fab_gauss *prior, const fab_exec *x)
{
    fab_vifa proto, *f;
    *handle = NULL;
    FAB_TRY(prototype(&proto, who, settings, m, prior, x));
    FAB_TRY(check(&proto));
    FAB_TRY(create(&f, &proto));
    *handle = f;
    return FAB_OK;
}

static fab_status init_model(void **handle, const void *settings, const fab_model *m,
                             const fab_gauss *prior, const fab_exec *x)
{
    return init_as(handle, "vifa", settings, m, prior, x);
}

static fab_status init_diagonal(void **handle, const void *settings, const fab_model *m,
                                const fab_gauss *prior, const fab_exec *x)
{
    return init_as(handle, "meanfield", settings, m, prior, x);
}

static double model_bytes(const void *settings, const fab_model *m, int64_t n)
{
    fab_vifa f;
    const fab_vifa_settings *s = settings;
    if (prototype(&f, "vifa", s, m, NULL, NULL) != FAB_OK) return 0;
    const double rows = (double)s->batch * (double)(m->head.D + 3) + 2 * (double)n;
    return (double)fab_build_size(sizeof f, &f, layout) +
           sizeof(double) * ((double)f.W * (double)(f.K + 2) + rows);
}

static fab_status update(void *handle, const fab_examples *e)
{
    ((fab_vifa *)handle)->e = *e;
    return FAB_OK;
}

/* ---- the run ------------------------------------------------------------------------------------------ */

/* Steps of the run; of a lap, about an epoch. */
static int64_t total_steps(const fab_vifa *f)
{
    const int64_t batches = fab_minibatch_steps(f->batches), each = fab_vifa_batches(f);
    const int64_t all = fab_vifa_epochs(&f->s, batches / each) * batches / each;
    return all > 1 ? all : 1;
}

static int64_t lap_steps(const fab_vifa *f)
{
    const int64_t lap = fab_minibatch_steps(f->batches) / fab_vifa_batches(f);
    return lap > LEAST_LAP ? lap : LEAST_LAP;
}

static fab_vifa_step step_of(const fab_vifa *f, int64_t t, int64_t total)
{
    const fab_rates rates = {(fab_schedule)f->s.schedule, f->s.rate, f->s.drop, f->s.drop_every,
                             f->s.warmup};
    const double part = (double)t / (double)total, since = part - f->s.map_part;
    const double weight = since < 0 ? 0 : since < f->s.ramp_part ? since / f->s.ramp_part : 1;
    return (fab_vifa_step){.t = t,
                           .rate = fab_rate_at(&rates, part),
                           .weight = weight,
                           .ends = t == 0 || t + 1 == total,
                           .moves_free = part >= f->s.free_after};
}

/* 2 - 10 */
static fab_status stochastic_step(fab_vifa *f, fab_vifa_step *s)
{
    if (fab_vifa_factor(f) != FAB_OK) return fab_vifa_diverged(f, s->t, "F' psi^-1 F", NAN);
    FAB_TRY(fab_vifa_draws(f, s));
    return fab_vifa_move(f, s);
}

static fab_status step(fab_vifa *f, int64_t total)
{
    const int newton = f->s.optimiser == FAB_VIFA_NEWTON;
    fab_vifa_step s = step_of(f, (int64_t)f->number[FAB_VIFA_STEP], total);
    FAB_TRY(newton ? fab_vifa_newton_step(f, &s) : stochastic_step(f, &s));
    const double share = newton ? s.rate : fmax(1 / ((double)s.t + 1), MEMORY);
    const double loss = s.loss / s.rows;
    double *average = &f->number[FAB_VIFA_LOSS];
    *average = s.t == 0 ? loss : *average + share * (loss - *average);
    if (s.t == 0) f->number[FAB_VIFA_FIRST] = loss;
    if (!(loss <= FAR * (1 + fabs(f->number[FAB_VIFA_FIRST]))))
        return fab_vifa_diverged(f, s.t, "the loss", loss);
    f->number[FAB_VIFA_STEP]++;
    f->number[FAB_VIFA_MOVES] = (double)f->of_gamma.t;
    f->number[FAB_VIFA_EPOCHS] = floor(f->number[FAB_VIFA_STEP] * (double)fab_vifa_batches(f) /
                                       (double)fab_minibatch_steps(f->batches));
    return FAB_OK;
}

/* KL(q || prior); the Gram is that of F and psi. */
static fab_status divergence(fab_vifa *f, double *kl)
{
    const int64_t W = f->W, K = f->K;
    const fab_long F = fab_vifa_F(f);
    double squares = 0, logdet = 0;
    if (f->given) return fab_distance_kl(f->q, f->given, &f->exec, kl);
    for (int64_t i = 0; i < W; i++) {
        squares += f->c[i] * f->c[i] + f->psi[i];
        logdet += f->gamma[i];
    }
    if (K > 0) {
        FAB_TRY(fab_vifa_factor(f));
        f->run.ops->colquad(&f->run, &F, NULL, f->hy);
        for (int64_t k = 0; k < K; k++) squares += f->hy[k];
        logdet += fab_chol_logdet(K, f->Lc);
    }
    *kl = (f->s.alpha * squares - logdet - (double)W * (1 + log(f->s.alpha))) / 2;
    return FAB_OK;
}

static fab_status so_far(void *handle, const fab_gauss **q)
{
    fab_vifa *f = handle;
    const size_t W = (size_t)f->W * sizeof(double);
    memcpy(f->q->mu, f->c, W);
    memcpy(f->q->psi, f->psi, W);
    if (f->q->theta) memcpy(f->q->theta, f->c, (size_t)f->m.D * sizeof(double));
    *q = f->q;
    return FAB_OK;
}

/* 11 */
static fab_status bound(fab_vifa *f)
{
    const fab_gauss *q;
    double kl;
    FAB_TRY(so_far(f, &q));
    FAB_TRY(divergence(f, &kl));
    f->number[FAB_VIFA_BOUND] = -(double)fab_minibatch_rows(f->batches) * f->number[FAB_VIFA_LOSS] -
                                kl;
    return FAB_OK;
}

/* Copy the state, there or back. */
static void keep(fab_vifa *f, int back)
{
    const size_t D = (size_t)f->m.D * sizeof(double), W = (size_t)f->W * sizeof(double);
    const size_t F = (size_t)(f->W * f->K) * f->nn->size;
    memcpy(back ? f->c : f->good_c, back ? f->good_c : f->c, D);
    memcpy(back ? f->gamma : f->good_gamma, back ? f->good_gamma : f->gamma, W);
    if (F > 0) memcpy(back ? f->F : f->good_F, back ? f->good_F : f->F, F);
    if (back) f->nn->exps(f->W, f->gamma, f->psi);
    const size_t C = (size_t)(f->newton.W * f->newton.W) * sizeof(double);
    double *now = f->newton.curvature, *good = f->newton.good;
    if (C > 0) memcpy(back ? now : good, back ? good : now, C);
}

static fab_status tell(const fab_vifa *f, int64_t total)
{
    char what[96];
    snprintf(what, sizeof what, "%s: loss %.4g, bound %.6g", f->who, f->number[FAB_VIFA_LOSS],
             f->number[FAB_VIFA_BOUND]);
    return fab_progress(what, (int64_t)f->number[FAB_VIFA_STEP], total);
}

static fab_status lap(fab_vifa *f, int64_t total)
{
    const int64_t first = (int64_t)f->number[FAB_VIFA_STEP], n = lap_steps(f);
    for (int64_t i = 0; i < n && first + i < total; i++) FAB_TRY(step(f, total));
    return bound(f);
}

static fab_status laps(fab_vifa *f)
{
    const int64_t total = total_steps(f);
    while (f->number[FAB_VIFA_STEP] < (double)total) {
        double before[FAB_VIFA_NUMBERS];
        memcpy(before, f->number, sizeof before);
        keep(f, 0);
        fab_vifa_gram(f); /* afresh, so that a run that goes on from a file has the same bits */
        const fab_status s = lap(f, total);
        if (s != FAB_OK) {
            keep(f, 1);
            memcpy(f->number, before, sizeof before);
            return s;
        }
        FAB_TRY(tell(f, total));
    }
    f->done = 1;
    return FAB_OK;
}

static fab_status train(fab_vifa *f)
{
    FAB_TRY(fab_minibatch_init(&f->batches, f->who, &f->e, f->m.head.D, f->s.batch, 0,
                               (uint64_t)f->s.seed));
    fab_status s = fab_prior_open(&f->prior, &f->m, f->s.alpha, f->given, &f->exec);
    if (s == FAB_OK) {
        const int before = fab_blas_enter();
        s = laps(f);
        fab_blas_leave(before);
        fab_prior_close(&f->prior);
    }
    if (f->m.noise) f->m.noise(f->m.self, 0, -1);
    fab_minibatch_free(f->batches);
    f->batches = NULL;
    return s;
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

static fab_status result(void *handle, const fab_gauss **q)
{
    fab_vifa *f = handle;
    if (!f->done) FAB_TRY(train(f));
    return so_far(f, q);
}

static fab_status report(void *handle, fab_inference *r)
{
    const fab_vifa *f = handle;
    const int noise = f->m.free == 1 && f->m.head.likelihood == FAB_LIKELIHOOD_GAUSSIAN;
    *r =
        (fab_inference){.iterations = (int64_t)f->number[FAB_VIFA_EPOCHS],
                        .converged = -1,
                        .alpha = f->given ? NAN : f->s.alpha,
                        .beta = noise ? fab_glm_beta(&f->m.head, f->c[f->m.D - 1]) : f->m.head.beta,
                        .log_evidence = f->number[FAB_VIFA_BOUND],
                        .loss = f->number[FAB_VIFA_LOSS],
                        .held_out = NAN};
    return FAB_OK;
}

/* ---- files -------------------------------------------------------------------------------------------- */

/* Beside the result's F. */
static fab_states state_of(fab_vifa *f)
{
    const int64_t D = f->m.D, W = f->W, WK = W * f->K;
    const int adam = f->s.optimiser == FAB_VIFA_ADAM, newton = f->newton.W > 0;
    return (fab_states){{{"state.numbers", FAB_F64, FAB_VIFA_NUMBERS, 0, f->number},
                         {"state.c", FAB_F64, D, 0, f->c},
                         {"state.gamma", FAB_F64, W, 0, f->gamma},
                         {"state.curvature", FAB_F64, W, W, newton ? f->newton.curvature : NULL},
                         {"state.m_c", FAB_F64, D, 0, adam ? f->of_c.m : NULL},
                         {"state.v_c", FAB_F64, D, 0, adam ? f->of_c.v : NULL},
                         {"state.m_gamma", FAB_F64, W, 0, adam ? f->of_gamma.m : NULL},
                         {"state.v_gamma", FAB_F64, W, 0, adam ? f->of_gamma.v : NULL},
                         {"state.m_F", f->nn->type, WK, 0, adam && WK ? f->mF : NULL},
                         {"state.v_F", f->nn->type, WK, 0, adam && WK ? f->vF : NULL}}};
}

static fab_status save(void *handle, fab_tensors *t)
{
    const fab_states all = state_of(handle);
    return fab_states_save(&all, t);
}

static fab_status load(void *handle, const fab_tensors *t)
{
    fab_vifa *f = handle;
    const fab_states all = state_of(f);
    FAB_TRY(fab_states_load(&all, t));
    if (f->K > 0) FAB_TRY(fab_state_take(t, "F", f->nn->type, 2, (int64_t[]){f->W, f->K}, f->F));
    if (!(f->number[FAB_VIFA_STEP] >= 0))
        return FAB_FAIL(FAB_BAD_FILE, "%s: state.numbers say step %g", f->who,
                        f->number[FAB_VIFA_STEP]);
    f->nn->exps(f->W, f->gamma, f->psi);
    f->of_c.t = (int64_t)f->number[FAB_VIFA_STEP];
    f->of_gamma.t = (int64_t)f->number[FAB_VIFA_MOVES];
    return FAB_OK;
}

/* ---- the methods -------------------------------------------------------------------------------------- */

#define VIFA_VERBS(init_)                                                                        \
    {                                                                                            \
        .init_model = init_, .model_bytes = model_bytes, .resolve = fab_vifa_resolve,            \
        .update = update, .result = result, .so_far = so_far, .report = report, .free = release, \
        .save = save, .load = load                                                               \
    }
static const fab_infer_verbs verbs = VIFA_VERBS(init_model),
                             diagonal_verbs = VIFA_VERBS(init_diagonal);

const fab_method fab_vifa_method = {
    .name = "vifa",
    .summary = "variational inference of a network or any other model, low rank plus diagonal",
    .table = &fab_vifa_table,
    .infer = &verbs,
};

const fab_method fab_meanfield_method = {
    .name = "meanfield",
    .summary = "vifa with a diagonal covariance",
    .table = &fab_meanfield_table,
    .infer = &diagonal_verbs,
};
