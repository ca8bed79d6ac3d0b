/* slang.c - variational inference by natural gradients at rank K ([T] (3.6)-(3.9)): slang and vogn.
 *
 * q = N(mu, Sigma), Sigma^-1 = U U' + diag(psi); N rows in batches of M:
 *
 *   1  mu = the model's start, or the mean of a given prior, or 0;  U = 0,  psi = start
 *   for every step t:  eta = rate_precision t^-decay
 *     2  theta_l ~ q:  mu + x + psi^-1 U M^-1 (e - U' x),  x = psi^-1/2 z,  M = I + U' psi^-1 U
 *     3  g_i = the gradient of -log p(y_i | x_i, theta_l), for every row of the batch and every draw l
 *     4  Y = [sqrt(1 - eta) U, sqrt(eta N / (M draws)) g_1, g_2, ..],  and its Gram Y'Y                     (cut.c)
 *     5  U <- Y V_K, the leading eigenvectors;  psi <- (1 - eta) psi + eta alpha + rowdot(Y,Y) - rowdot(U,U)
 *     6  v = N / (M draws) sum g_i, averaged over the steps with `momentum`, + alpha mu
 *     7  mu -= rate t^-decay Sigma v                                             (the new Sigma)
 *
 * 6 comes before 4 and 5 in the code: U' psi^-1 v is a by-product of the pass that writes U.
 *
 * One draw and a model that multiplies its own gradients need no rows of gradients: Y'Y comes from G G' and G U,
 * the diagonal from their squares, U from G' V.  U'U is diagonal after every cut, so it is known.  Where D is
 * below K + M draws, the eigenvectors of Y Y' are the cheaper ones: U = Q_K Lambda_K^1/2.  Both are exact.  vogn is
 * K = 0: 4 and the first half of 5 have nothing to do.
 *
 * The gradients are taken at mu + a draw of N(0, Sigma) (a published program adds mu twice).
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/random.h"
#include "fit/method.h"
#include "model/likelihoods/likelihood.h"
#include "la/small.h"
#include "methods/slang/slang.h"
#include "model/ggn.h"
#include "train/model_fields.h"
#include "train/state.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 5 }; /* K when it is auto */
/* Streams of the draws; z has one for every step. */
#define E_STREAM ((uint64_t)1 << 48)
#define Z_STREAM ((uint64_t)1 << 49)

/* ---- settings ----------------------------------------------------------------------------------------- */

#define VOGN_FIELDS(rate_)                                                                \
    ALPHA_FIELD, RATED_FIELDS(200, 32, rate_, 1e-2, 2, 1),                                \
        TUNED_AT(fab_vogn_settings, rate_precision, F64, 0.05, 1e-300, 1, LOG, 1e-3, 0.5, \
                 "weight of a step in the precision"),                                    \
        FIELD_AT(fab_vogn_settings, decay, F64, 0.51, 0, 1,                               \
                 "both rates fall as t^-decay over the steps t"),                         \
        FIELD_AT(fab_vogn_settings, momentum, F64, 0.9, 0, 0.999999,                      \
                 "weight of the past in the mean of the gradients"),                      \
        FIELD_AT(fab_vogn_settings, draws, I64, 1, 1, 4096, "draws of theta in a step"),  \
        AUTOMATIC_AT(fab_vogn_settings, start, F64, 1e-300, 1e300,                        \
                     "precision to begin with; auto: that of the prior, and the number of rows")

#define SETTINGS fab_vogn_settings
static const fab_field vogn_fields[] = {VOGN_FIELDS(0.5)};
MODEL_LAYOUT(vogn_fields);
static const fab_fields vogn_table = TABLE("vogn", vogn_fields);
#undef SETTINGS

#define SETTINGS fab_slang_settings
static const fab_field fields[] = {
    VOGN_FIELDS(1),
    AUTOMATIC(K, I64, 1, FAB_MODEL_COLUMNS, "columns of F; auto: 5, at most D"),
    FIELD(psi_min, F64, 1e-9, 0, 0.5,
          "floor of psi, relative to the coordinate's diagonal of the precision"),
};
MODEL_LAYOUT(fields);
static const fab_fields table = TABLE("slang", fields);
#undef SETTINGS

/* ---- life --------------------------------------------------------------------------------------------- */

static fab_status check(const fab_slang *f)
{
    const fab_model *m = &f->m;
    const char *who = f->who;
    if (!m->examples || !(m->rows || (m->gram && m->project && m->squares && m->combine)))
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: needs the gradients of single examples, and this model has none", who);
    if (f->s.draws > 1 && !m->rows)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: draws = %lld needs rows of gradients, and this model has none", who,
                        (long long)f->s.draws);
    if (f->K > m->D)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: K = %lld columns for D = %lld coordinates, expected K <= D", who,
                        (long long)f->K, (long long)m->D);
    if (f->s.train.batch > m->batch)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: batch = %lld, and the model takes %lld rows at a time", who,
                        (long long)f->s.train.batch, (long long)m->batch);
    if (f->given && f->given->K)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: takes a diagonal prior, given one with K = %lld", who,
                        (long long)f->given->K);
    return FAB_OK;
}

static void layout(fab_layout *l, void *handle)
{
    fab_slang *f = handle;
    fab_slang_precision *const both[] = {&f->P, &f->next};
    const int64_t D = f->m.D, K = f->K, n = f->grad.most, draws = f->s.draws;
    const int64_t wide = n > K ? n : K;
    const size_t size = f->run.ops->size;
    f->mu = fab_place(l, D, sizeof(double));
    for (int i = 0; i < 2; i++) {
        both[i]->U = fab_place(l, D * K, size);
        both[i]->psi = fab_place(l, D, sizeof(double));
        both[i]->diag = fab_place(l, D, sizeof(double));
        both[i]->lambda = fab_place(l, K, sizeof(double));
        both[i]->L = fab_place(l, K * K, sizeof(double));
    }
    f->inverse_psi = fab_place(l, D, sizeof(double));
    f->prior_diag = fab_place(l, D, sizeof(double));
    f->draw.X = fab_place(l, D * draws, size);
    f->draw.theta = fab_place(l, D, sizeof(double));
    f->draw.e = fab_place(l, K * draws, sizeof(double));
    f->draw.Ux = fab_place(l, K * draws, sizeof(double));
    f->grad.G = fab_place(l, f->grad.products ? 0 : D * n, size);
    f->grad.ones = fab_place(l, n, sizeof(double));
    f->grad.sum = fab_place(l, D, sizeof(double));
    f->grad.mean = fab_place(l, D, sizeof(double));
    f->grad.mean_next = fab_place(l, D, sizeof(double));
    f->grad.v = fab_place(l, D, size);
    fab_slang_cut_layout(l, f);
    f->run.work = fab_place(l, (int64_t)f->run.ops->work(D, wide, wide, f->run.threads), 1);
}

/* A handle of slang or vogn without its arrays. */
static fab_status prototype(fab_slang *f, const fab_fields *method, const void *settings,
                            const fab_input *in, const fab_exec *x)
{
    const fab_model *m = in->model;
    *f = (fab_slang){.who = method->method,
                     .exec = x ? *x : (fab_exec){0},
                     .m = *m,
                     .given = in->prior,
                     .loss = NAN};
    FAB_TRY(fab_check_alone(f->who, x));
    if (method == &vogn_table) {
        f->s = *(const fab_vogn_settings *)settings;
    } else {
        const fab_slang_settings *s = settings;
        f->s = s->vogn;
        f->K = s->K;
        f->psi_min = s->psi_min;
        if (fab_is_auto_i64(s->K)) f->K = m->D < COLUMNS ? m->D : COLUMNS;
    }
    FAB_TRY(check(f));
    const int multiplies = m->gram && m->project && m->squares && m->combine;
    f->grad.most = f->s.train.batch * f->s.draws;
    f->cut.dense = f->K > 0 && m->rows && m->D < f->K + f->grad.most;
    f->grad.products = !f->cut.dense && f->s.draws == 1 && multiplies;
    return fab_run_init(&f->run, x, m->type);
}

/* psi of the start, for so many rows */
static void start_psi(fab_slang *f, int64_t rows)
{
    for (int64_t i = 0; i < f->m.D; i++) {
        const double prior = f->prior_diag[i];
        f->P.psi[i] = fab_is_auto_f64(f->s.start) ? prior + (double)rows : f->s.start;
        f->P.diag[i] = f->P.psi[i];
        f->inverse_psi[i] = 1 / f->P.psi[i];
    }
}

/* 1 */
static void start(fab_slang *f)
{
    const int64_t D = f->m.D, K = f->K;
    if (f->m.start)
        f->m.start(f->m.self, (uint64_t)f->s.train.seed, f->mu);
    else if (f->given)
        memcpy(f->mu, f->given->mu, (size_t)D * sizeof(double));
    for (int64_t k = 0; k < K; k++) f->P.L[k + k * K] = 1;
    for (int64_t i = 0; i < f->grad.most; i++) f->grad.ones[i] = 1;
    for (int64_t i = 0; i < D; i++) {
        if (!f->given)
            f->prior_diag[i] = i < D - f->m.free ? f->s.train.alpha : 0;
        else if (f->given->form == FAB_FORM_PRECISION)
            f->prior_diag[i] = f->given->psi[i];
        else
            f->prior_diag[i] = 1 / f->given->psi[i];
    }
    start_psi(f, 1);
}

static void release(void *handle)
{
    fab_slang *f = handle;
    if (!f) return;
    fab_gauss_free(f->result);
    fab_release(f);
}

static fab_status create(void **handle, const fab_fields *method, const void *settings,
                         const fab_input *in, const fab_exec *x)
{
    fab_slang proto, *f;
    *handle = NULL;
    FAB_TRY(prototype(&proto, method, settings, in, x));
    FAB_TRY(fab_build((void **)&f, sizeof proto, &proto, layout));
    const fab_status made =
        fab_gauss_create(&f->result, FAB_FORM_PRECISION, f->m.type, f->m.D, f->K);
    if (made != FAB_OK) {
        release(f);
        return made;
    }
    start(f);
    *handle = f;
    return FAB_OK;
}

/* ---- a step ------------------------------------------------------------------------------------------- */

/* 2  X = x + psi^-1 U M^-1 (e - U' x),  x = psi^-1/2 z */
static void draw(fab_slang *f)
{
    const fab_ops *op = f->run.ops;
    const int64_t D = f->m.D, K = f->K, draws = f->s.draws;
    const uint64_t seed = (uint64_t)f->s.train.seed, step = (uint64_t)f->count.steps;
    const fab_long X = fab_slang_vectors(f, f->draw.X, draws), U = fab_slang_U(f, f->P.U);
    double *e = f->draw.e, *sd = f->draw.theta; /* theta is not needed yet */
    op->randn(&f->run, seed, FAB_PURPOSE_DRAW, Z_STREAM + step, &X);
    for (int64_t i = 0; i < D; i++) sd[i] = sqrt(f->inverse_psi[i]);
    op->axpy(&f->run, sd, &X, 0, &X); /* x */
    if (K == 0) return;
    fab_random_normal(seed, FAB_PURPOSE_DRAW, E_STREAM, step * (uint64_t)(K * draws), K * draws,
                      FAB_F64, e);
    op->cross(&f->run, &U, NULL, &X, f->draw.Ux);
    for (int64_t i = 0; i < K * draws; i++) e[i] -= f->draw.Ux[i];
    fab_chol_solve(K, draws, f->P.L, e);             /* M^-1 (e - U' x) */
    op->mult(&f->run, f->inverse_psi, &U, e, 1, &X); /* x + psi^-1 U .. */
}

/* 3  gradients of a batch at every draw: inside the model, or as vectors of G; their sum */
static fab_status gradients(fab_slang *f, const fab_examples *batch, double *loss)
{
    const int64_t D = f->m.D, M = batch->x.n, n = M * f->s.draws;
    const fab_long v = fab_slang_vectors(f, f->grad.v, 1), G = fab_slang_vectors(f, f->grad.G, n);
    double *theta = f->draw.theta;
    for (int64_t l = 0; l < f->s.draws; l++) {
        const fab_long x = fab_slang_vectors(f, fab_slang_vector(f, f->draw.X, l), 1);
        double one;
        f->run.ops->get(&f->run, &x, theta);
        for (int64_t i = 0; i < D; i++) theta[i] += f->mu[i];
        if (f->m.noise) f->m.noise(f->m.self, (uint64_t)f->s.train.seed, f->count.steps);
        if (f->m.at) f->m.at(f->m.self, 1);
        FAB_TRY(f->m.loss(f->m.self, theta, batch, &one, NULL));
        if (!isfinite(one)) return fab_slang_not_finite(f, "the loss", one);
        *loss += one / (double)f->s.draws;
        FAB_TRY(f->m.examples(f->m.self, theta, batch));
        if (!f->grad.products) f->m.rows(f->m.self, fab_slang_vector(f, f->grad.G, l * M), D);
    }
    if (f->grad.products)
        f->m.combine(f->m.self, 1, f->grad.ones, f->grad.v);
    else
        f->run.ops->mult(&f->run, NULL, &G, f->grad.ones, 0, &v);
    f->run.ops->get(&f->run, &v, f->grad.sum);
    return FAB_OK;
}

/* 2 - 7 with the next batch of rows; adds the loss of its draws to *loss. */
static fab_status step(fab_slang *f, const fab_examples *batch, double *loss)
{
    const int64_t D = f->m.D, K = f->K, n = batch->x.n * f->s.draws;
    const double t = (double)(f->count.steps + 1), fall = pow(t, -f->s.decay);
    const double eta = fall * f->s.rate_precision, rate = fall * f->s.train.rate, m = f->s.momentum;
    const double scale = (double)fab_minibatch_rows(f->joint.batches) /
                         ((double)batch->x.n * (double)f->s.draws); /* N / (M draws) */
    const fab_long v = fab_slang_vectors(f, f->grad.v, 1);
    double *g = f->grad.sum, *mean = f->grad.mean, *mean_next = f->grad.mean_next, penalty = 0;
    draw(f);                            /* 2 */
    FAB_TRY(gradients(f, batch, loss)); /* 3 */

    const double unbias = 1 / (1 - pow(m, t));
    for (int64_t i = 0; i < D; i++) { /* 6 */
        mean_next[i] = m * mean[i] + (1 - m) * scale * g[i];
        g[i] = unbias * mean_next[i];
    }
    FAB_TRY(fab_prior_add(&f->joint.prior, 1, f->mu, &penalty, g)); /* + alpha mu */
    const double square = fab_slang_square(D, g);
    if (!isfinite(square)) return fab_slang_not_finite(f, "the square of the gradient", square);
    f->run.ops->put(&f->run, g, &v);

    FAB_TRY(fab_slang_cut(f, eta, scale, n)); /* 4, 5 */
    const fab_slang_precision before = f->P;
    f->P = f->next;
    f->next = before;
    f->grad.mean = mean_next;
    f->grad.mean_next = mean;
    for (int64_t i = 0; i < D; i++) f->inverse_psi[i] = 1 / f->P.psi[i];

    if (K > 0) { /* Sigma v = psi^-1 (v - U M^-1 U' psi^-1 v) */
        const fab_long U = fab_slang_U(f, f->P.U);
        double *N = f->cut.N;
        fab_chol_solve(K, 1, f->P.L, N);
        for (int64_t k = 0; k < K; k++) N[k] = -N[k];
        f->run.ops->mult(&f->run, NULL, &U, N, 1, &v);
        f->run.ops->get(&f->run, &v, g);
    }
    for (int64_t i = 0; i < D; i++) f->mu[i] -= rate * f->inverse_psi[i] * g[i]; /* 7 */
    f->count.steps++;
    return FAB_OK;
}

/* ---- the run ------------------------------------------------------------------------------------------ */

static fab_status epochs(fab_slang *f)
{
    const int64_t steps = fab_minibatch_steps(f->joint.batches);
    const double work = 8 * (double)f->s.draws * (double)f->m.D * (double)(1 + f->K);
    if (f->count.steps == 0) start_psi(f, fab_minibatch_rows(f->joint.batches));
    while (f->count.epochs < f->s.train.epochs) {
        const int64_t first = f->count.steps -
                              f->count.epochs * steps; /* not 0: stopped, or a step failed */
        char what[64];
        if (!(first >= 0 && first < steps))
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "%s: %lld steps in %lld epochs were made with other rows, here an "
                            "epoch has %lld",
                            f->who, (long long)f->count.steps, (long long)f->count.epochs,
                            (long long)steps);
        for (int64_t i = first; i < steps; i++) {
            const fab_examples batch = fab_minibatch_get(f->joint.batches, f->count.epochs, i);
            double sum = f->epoch.loss;
            FAB_TRY(step(f, &batch, &sum));
            fab_trend_add(&f->trend,
                          (double)(f->count.steps - 1) / (double)(f->s.train.epochs * steps),
                          f->s.train.epochs, sum - f->epoch.loss);
            f->epoch.loss = sum;
            f->epoch.steps++;
            FAB_TRY(fab_watch_work(&f->run.watch, work * (double)(batch.x.n + 2), f->who,
                                   f->count.epochs, f->s.train.epochs));
        }
        f->loss = f->epoch.loss / f->epoch.steps;
        f->epoch.loss = 0;
        f->epoch.steps = 0;
        f->count.epochs++;
        snprintf(what, sizeof what, "%s: loss %.4g", f->who, f->loss);
        FAB_TRY(fab_watch_tick(&f->run.watch, what, f->count.epochs, f->s.train.epochs));
    }
    return FAB_OK;
}

static fab_status run(fab_slang *f)
{
    FAB_TRY(fab_joint_open(&f->joint, f->who, &f->s.train, 0, &f->m, f->given, &f->e, &f->exec));
    const int before = fab_blas_enter();
    const fab_status s = epochs(f);
    fab_blas_leave(before);
    fab_joint_close(&f->joint, &f->m);
    return s;
}

/* What a run goes on from; halfway through an epoch its loss so far, too. */
static fab_states states_of(fab_slang *f, int halfway, int with_trend)
{
    const int64_t D = f->m.D, K = f->K;
    return (fab_states){
        {{"state.counts", FAB_I64, FAB_SLANG_COUNTS, 0, &f->count},
         {"state.loss", FAB_F64, 1, 0, &f->loss},
         {"state.mu", FAB_F64, D, 0, f->mu},
         {"state.psi", FAB_F64, D, 0, f->P.psi},
         {"state.diag", FAB_F64, D, 0, f->P.diag},
         {"state.mean", FAB_F64, D, 0, f->grad.mean},
         {"state.F", f->run.ops->type, D * K, 0, f->P.U},
         {"state.lambda", FAB_F64, K, 0, f->P.lambda},
         {"state.L", FAB_F64, K * K, 0, f->P.L},
         {"state.epoch", FAB_F64, 2, 0, halfway ? &f->epoch : NULL},
         {"state.trend", FAB_F64, FAB_TREND_NUMBERS, 0, with_trend ? &f->trend : NULL}}};
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

static fab_status slang_init(void **handle, const void *settings, const fab_input *in,
                             const fab_exec *x)
{
    return create(handle, &table, settings, in, x);
}

static fab_status vogn_init(void **handle, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    return create(handle, &vogn_table, settings, in, x);
}

static double bytes_of(const fab_fields *method, const void *settings, const fab_input *in,
                       int64_t n)
{
    const fab_input without_prior = {.model = in->model};
    fab_slang f;
    if (prototype(&f, method, settings, &without_prior, NULL) != FAB_OK) return 0;
    const double batch = (double)f.s.train.batch * (double)(f.m.head.D + 3) + 2 * (double)n;
    const double result = (double)f.m.D * (double)(2 + f.K);
    return (double)fab_build_size(sizeof f, &f, layout) + sizeof(double) * (batch + result);
}

static double slang_bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    (void)x;
    return bytes_of(&table, settings, in, n);
}

static double vogn_bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    (void)x;
    return bytes_of(&vogn_table, settings, in, n);
}

static fab_status update(void *handle, const fab_examples *e)
{
    ((fab_slang *)handle)->e = *e;
    return FAB_OK;
}

static fab_status so_far(void *handle, const fab_gauss **q)
{
    fab_slang *f = handle;
    const int64_t D = f->m.D;
    memcpy(f->result->mu, f->mu, (size_t)D * sizeof(double));
    memcpy(f->result->psi, f->P.psi, (size_t)D * sizeof(double));
    if (f->K > 0) memcpy(f->result->F, f->P.U, (size_t)(D * f->K) * f->run.ops->size);
    *q = f->result;
    return FAB_OK;
}

static fab_status result(void *handle, const fab_gauss **q)
{
    fab_slang *f = handle;
    if (f->count.epochs < f->s.train.epochs) FAB_TRY(run(f));
    return so_far(f, q);
}

static fab_status report(void *handle, fab_report *r)
{
    const fab_slang *f = handle;
    const fab_glm *head = &f->m.head;
    const int noise = f->m.free == 1 && fab_glm_likelihood(head)->noise; /* it is learned */
    *r = (fab_report){.iterations = f->count.epochs,
                      .floored = f->count.floored,
                      .alpha = f->given ? NAN : f->s.train.alpha,
                      .beta = noise ? fab_glm_beta(head, f->mu[f->m.D - 1]) : head->beta,
                      .log_evidence = NAN,
                      .loss = f->loss,
                      .held_out = NAN};
    fab_trend_report(&f->trend, r);
    return FAB_OK;
}

static fab_status save(void *handle, fab_tensors *t)
{
    const fab_states all = states_of(handle, ((const fab_slang *)handle)->epoch.steps > 0, 1);
    return fab_states_save(&all, t);
}

static fab_status load(void *handle, const fab_tensors *t)
{
    fab_slang *f = handle;
    const fab_slang_counts *n = &f->count;
    const fab_states all = states_of(f, fab_tensors_find(t, "state.epoch") != NULL,
                                     fab_tensors_find(t, "state.trend") != NULL);
    FAB_TRY(fab_states_load(&all, t));
    if (!(n->epochs >= 0 && n->epochs <= f->s.train.epochs && n->steps >= n->epochs))
        return FAB_FAIL(FAB_BAD_FILE, "%s: state.counts say epoch %lld of %lld, step %lld", f->who,
                        (long long)n->epochs, (long long)f->s.train.epochs, (long long)n->steps);
    if (!(f->epoch.steps >= 0 && isfinite(f->epoch.steps) && isfinite(f->epoch.loss)))
        return FAB_FAIL(FAB_BAD_FILE, "%s: state.epoch says a loss of %g in %g steps", f->who,
                        f->epoch.loss, f->epoch.steps);
    for (int64_t i = 0; i < f->m.D; i++) {
        if (!(f->P.psi[i] > 0 && isfinite(f->P.psi[i])))
            return FAB_FAIL(FAB_BAD_FILE, "%s: state.psi is %g at coordinate %lld, expected > 0",
                            f->who, f->P.psi[i], (long long)i);
        f->inverse_psi[i] = 1 / f->P.psi[i];
    }
    return FAB_OK;
}

/* ---- the methods -------------------------------------------------------------------------------------- */

#define SLANG_VERBS(init_, bytes_)                                                       \
    .takes = FAB_TAKES_EXAMPLES, .init = init_, .bytes = bytes_, .update = update,       \
    .result = result, .so_far = so_far, .report = report, .free = release, .save = save, \
    .load = load

const fab_method fab_slang_method = {
    .name = "slang",
    .summary = "variational inference by natural gradients, precision of rank K plus diagonal",
    .fields = &table,
    SLANG_VERBS(slang_init, slang_bytes),
};

const fab_method fab_vogn_method = {
    .name = "vogn",
    .summary = "variational inference by natural gradients, a diagonal",
    .fields = &vogn_table,
    SLANG_VERBS(vogn_init, vogn_bytes),
};
