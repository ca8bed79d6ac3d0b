/* sgd.c - the mode of the posterior of any model, by stochastic gradients.
 *
 * N rows to train with, T = epochs x batches steps:
 *
 *   1  theta = the model's start, or the mean of a given prior, or 0
 *   for every epoch
 *     2  the rows in a new order, cut into batches
 *     for every batch, t = 1, 2, ..
 *       3  l, g = the average loss of the batch and its gradient
 *       4  g += (prior precision theta) / N          (adamw: with alpha, beside the optimiser)
 *       5  g *= min(1, clip / |g|)
 *       6  theta <- a step of the optimiser with g and rate(t / T)                        (optim.c)
 *     7  the average loss of the rows held out; the best theta so far stays, and the run ends when `patience`
 *        epochs brought no better one
 *
 * A loss or gradient that is not finite ends the run; theta is put back to where the epoch began.  State is
 * saved between epochs: a run that goes on from a file ends in the same bytes.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/sgd.h"
#include "base/memory.h"
#include "infer/methods.h"
#include "infer/minibatch.h"
#include "infer/model_fields.h"
#include "infer/optim.h"
#include "infer/prior.h"
#include "la/ops.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is saved beside the vectors. */
enum { EPOCH, STEP, WAITED, LOSS, HELD, BEST, NUMBERS };

typedef struct sgd {
    fab_sgd_settings s;
    fab_model m;
    const fab_gauss *given; /* the prior, or NULL */
    fab_exec exec;
    fab_examples e;
    fab_optim optim;
    fab_prior prior;
    fab_minibatch *batches;
    fab_gauss *q;
    int done;
    double number[NUMBERS];
    double *theta, *gradient, *good; /* D: now, its slope, where the epoch began */
    double *best;                    /* D: of the best held-out score */
} sgd;

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_sgd_settings
static const fab_field fields[] = {
    MODEL_FIELDS(200, 32, 0.01),
    CHOICE(optimiser, FAB_ADAM, fab_optimiser_names, "how a gradient becomes a step"),
    FIELD(momentum, F64, 0.9, 0, 0.999999,
          "of nesterov; weight of the past in adam's first moment"),
    FIELD(second, F64, 0.999, 0, 0.999999999, "weight of the past in adam's second moment"),
    FIELD(epsilon, F64, 1e-8, 1e-300, 1, "added to adam's root"),
    CHOICE(schedule, FAB_COSINE, fab_schedule_names, "how the rate changes during the run"),
    FIELD(drop, F64, 0.1, 1e-6, 1, "steps: factor of the rate"),
    FIELD(drop_every, F64, 0.4, 1e-6, 1, "steps: part of the run between two of them"),
    FIELD(warmup, F64, 0.3, 1e-6, 0.99, "one-cycle: part of the run in which the rate rises"),
    FIELD(clip, F64, 0, 0, 1e300, "largest norm of a gradient; 0: any"),
    FIELD(held_out, F64, 0, 0, 0.9, "part of the rows kept apart, whose score may stop the run"),
    FIELD(patience, I64, 50, 1, 0x1p40, "epochs without a better held-out score before the end"),
};
MODEL_LAYOUT(fields);
static const fab_table table = TABLE("sgd", fields);
#undef SETTINGS

fab_sgd_settings fab_sgd_defaults(void)
{
    fab_sgd_settings s;
    fab_settings_defaults(&table, &s);
    return s;
}

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    sgd *f = handle;
    const int64_t D = f->m.D, moments = fab_optim_moments(f->optim.kind);
    f->theta = fab_place(l, D, sizeof(double));
    f->gradient = fab_place(l, D, sizeof(double));
    f->good = fab_place(l, D, sizeof(double));
    f->best = fab_place(l, f->s.held_out > 0 ? D : 0, sizeof(double));
    f->optim.m = fab_place(l, moments > 0 ? D : 0, sizeof(double));
    f->optim.v = fab_place(l, moments > 1 ? D : 0, sizeof(double));
}

static sgd proto_of(const fab_sgd_settings *s, const fab_model *m, const fab_gauss *prior,
                    const fab_exec *x)
{
    return (sgd){.s = *s,
                 .m = *m,
                 .given = prior,
                 .exec = x ? *x : (fab_exec){0},
                 .optim = {.kind = (fab_optimiser)s->optimiser,
                           .momentum = s->momentum,
                           .second = s->second,
                           .epsilon = s->epsilon,
                           .n = m->D},
                 .number = {[BEST] = INFINITY, [LOSS] = NAN, [HELD] = NAN}};
}

static void release(void *handle)
{
    sgd *f = handle;
    if (!f) return;
    fab_gauss_free(f->q);
    fab_release(f);
}

/* 1 */
static void start(sgd *f)
{
    const size_t bytes = (size_t)f->m.D * sizeof(double);
    if (f->m.start)
        f->m.start(f->m.self, (uint64_t)f->s.seed, f->theta);
    else if (f->given)
        memcpy(f->theta, f->given->mu, bytes);
    memcpy(f->good, f->theta, bytes);
    if (f->s.held_out > 0) memcpy(f->best, f->theta, bytes);
}

static fab_status init_model(void **handle, const void *settings, const fab_model *m,
                             const fab_gauss *prior, const fab_exec *x)
{
    sgd proto = proto_of(settings, m, prior, x), *f;
    fab_run run;
    *handle = NULL;
    if (x && x->comm) return FAB_FAIL(FAB_UNSUPPORTED, "sgd: runs in one process");
    if (proto.optim.kind == FAB_ADAMW && prior)
        return FAB_FAIL(FAB_UNSUPPORTED, "sgd: adamw shrinks by alpha; a given prior needs adam");
    FAB_TRY(fab_run_init(&run, x, FAB_F64));
    proto.optim.threads = run.threads;
    FAB_TRY(fab_build((void **)&f, sizeof proto, &proto, layout));
    const fab_status s = fab_gauss_create(&f->q, FAB_POINT, FAB_F64, m->D, 0);
    if (s != FAB_OK) {
        release(f);
        return s;
    }
    start(f);
    *handle = f;
    return FAB_OK;
}

static fab_status update(void *handle, const fab_examples *e)
{
    ((sgd *)handle)->e = *e;
    return FAB_OK;
}

/* ---- one step ----------------------------------------------------------------------------------------- */

static fab_status not_finite(const sgd *f, const char *what, double value)
{
    return FAB_FAIL(
        FAB_NUMERIC,
        "sgd: %s is %g at step %lld (epoch %lld): lower rate (now %g) or set clip; theta "
        "is back where the epoch began",
        what, value, (long long)f->optim.t + 1, (long long)f->number[EPOCH] + 1, f->s.rate);
}

/* 3 - 6 */
static fab_status step(sgd *f, const fab_examples *batch, double part, double *loss)
{
    const fab_rates rates = {(fab_schedule)f->s.schedule, f->s.rate, f->s.drop, f->s.drop_every,
                             f->s.warmup};
    const double share = 1 / (double)fab_minibatch_rows(f->batches);
    const int apart = f->optim.kind == FAB_ADAMW;
    double penalty = 0;
    if (f->m.noise) f->m.noise(f->m.self, (uint64_t)f->s.seed, f->optim.t);
    FAB_TRY(f->m.loss(f->m.self, f->theta, batch, loss, f->gradient)); /* 3 */
    if (!isfinite(*loss)) return not_finite(f, "the loss", *loss);
    if (!apart) FAB_TRY(fab_prior_add(&f->prior, share, f->theta, &penalty, f->gradient)); /* 4 */
    const double norm = fab_clip(f->m.D, f->s.clip, f->gradient);                          /* 5 */
    if (!isfinite(norm)) return not_finite(f, "the norm of the gradient", norm);
    fab_optim_step(&f->optim, fab_rate_at(&rates, part), f->gradient, f->s.alpha * share,
                   f->m.D - f->m.free, f->theta); /* 6 */
    return FAB_OK;
}

/* ---- epochs ------------------------------------------------------------------------------------------- */

/* 2 - 6 */
static fab_status epoch(sgd *f)
{
    const int64_t e = (int64_t)f->number[EPOCH], steps = fab_minibatch_steps(f->batches);
    double sum = 0, rows = 0, loss;
    for (int64_t i = 0; i < steps; i++) {
        const fab_examples batch = fab_minibatch_get(f->batches, e, i);
        const double part = (double)(e * steps + i) / (double)(f->s.epochs * steps);
        FAB_TRY(step(f, &batch, part, &loss));
        sum += loss * (double)batch.x.n;
        rows += (double)batch.x.n;
    }
    f->number[LOSS] = sum / rows;
    return FAB_OK;
}

/* 7 */
static fab_status score(sgd *f)
{
    double sum = 0, loss;
    int64_t rows = 0;
    if (!(f->s.held_out > 0)) return FAB_OK;
    if (f->m.noise) f->m.noise(f->m.self, 0, -1);
    for (;;) {
        const fab_examples e = fab_minibatch_held(f->batches, rows);
        if (e.x.n == 0) break;
        FAB_TRY(f->m.loss(f->m.self, f->theta, &e, &loss, NULL));
        sum += loss * (double)e.x.n;
        rows += e.x.n;
    }
    if (rows == 0)
        return FAB_FAIL(FAB_BAD_DATA, "sgd: held_out = %g of %lld rows is no row", f->s.held_out,
                        (long long)f->e.x.n);
    f->number[HELD] = sum / (double)rows;
    f->number[WAITED]++;
    if (!(f->number[HELD] < f->number[BEST])) return FAB_OK;
    f->number[BEST] = f->number[HELD];
    f->number[WAITED] = 0;
    memcpy(f->best, f->theta, (size_t)f->m.D * sizeof(double));
    return FAB_OK;
}

static fab_status tell(const sgd *f)
{
    char what[96];
    const int n = snprintf(what, sizeof what, "sgd: loss %.4g", f->number[LOSS]);
    if (f->s.held_out > 0)
        snprintf(what + n, sizeof what - (size_t)n, ", held out %.4g", f->number[HELD]);
    return fab_progress(what, (int64_t)f->number[EPOCH], f->s.epochs);
}

static fab_status epochs(sgd *f)
{
    const size_t bytes = (size_t)f->m.D * sizeof(double);
    while (!f->done) {
        memcpy(f->good, f->theta, bytes);
        fab_status s = epoch(f);
        if (s == FAB_OK) s = score(f);
        if (s != FAB_OK) {
            memcpy(f->theta, f->good, bytes);
            return s;
        }
        f->number[EPOCH]++;
        f->number[STEP] = (double)f->optim.t;
        f->done = f->number[EPOCH] >= (double)f->s.epochs ||
                  (f->s.held_out > 0 && f->number[WAITED] >= (double)f->s.patience);
        FAB_TRY(tell(f));
    }
    return FAB_OK;
}

static fab_status train(sgd *f)
{
    FAB_TRY(fab_minibatch_init(&f->batches, "sgd", &f->e, f->m.head.D, f->s.batch, f->s.held_out,
                               (uint64_t)f->s.seed));
    fab_status s = fab_prior_open(&f->prior, &f->m, f->s.alpha, f->given, &f->exec);
    if (s == FAB_OK) {
        s = epochs(f);
        fab_prior_close(&f->prior);
    }
    if (f->m.noise) f->m.noise(f->m.self, 0, -1);
    fab_minibatch_free(f->batches);
    f->batches = NULL;
    return s;
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

static fab_status so_far(void *handle, const fab_gauss **q)
{
    sgd *f = handle;
    const double *theta = f->number[BEST] < INFINITY ? f->best : f->theta;
    memcpy(f->q->mu, theta, (size_t)f->m.D * sizeof(double));
    *q = f->q;
    return FAB_OK;
}

static fab_status result(void *handle, const fab_gauss **q)
{
    sgd *f = handle;
    if (!f->done) FAB_TRY(train(f));
    return so_far(f, q);
}

static fab_status report(void *handle, fab_inference *r)
{
    const sgd *f = handle;
    const int noise = f->m.free == 1 && f->m.head.likelihood == FAB_GAUSSIAN;
    const fab_gauss *q;
    FAB_TRY(so_far(handle, &q));
    *r = (fab_inference){.iterations = (int64_t)f->number[EPOCH],
                         .converged = f->number[EPOCH] < (double)f->s.epochs ? 1 : -1,
                         .alpha = f->given ? NAN : f->s.alpha,
                         .beta = noise ? exp(q->mu[f->m.D - 1]) : f->m.head.beta,
                         .log_evidence = NAN,
                         .loss = f->number[LOSS],
                         .held_out = f->number[BEST] < INFINITY ? f->number[BEST] : NAN};
    return FAB_OK;
}

/* ---- files -------------------------------------------------------------------------------------------- */

typedef struct saved {
    const char *name;
    double *p;
    int64_t n;
} saved;

/* The tensors that make up the state; how many. */
static int state_of(sgd *f, saved out[5])
{
    const int64_t D = f->m.D, moments = fab_optim_moments(f->optim.kind);
    int n = 0;
    out[n++] = (saved){"state.theta", f->theta, D};
    out[n++] = (saved){"state.numbers", f->number, NUMBERS};
    if (moments > 0) out[n++] = (saved){"state.m", f->optim.m, D};
    if (moments > 1) out[n++] = (saved){"state.v", f->optim.v, D};
    if (f->s.held_out > 0) out[n++] = (saved){"state.best", f->best, D};
    return n;
}

static fab_status save(void *handle, fab_tensors *t)
{
    saved all[5];
    const int n = state_of(handle, all);
    for (int i = 0; i < n; i++)
        FAB_TRY(fab_tensors_add(t, all[i].name, FAB_F64, 1, &all[i].n, all[i].p));
    return FAB_OK;
}

static fab_status load(void *handle, const fab_tensors *t)
{
    sgd *f = handle;
    saved all[5];
    const int n = state_of(f, all);
    for (int i = 0; i < n; i++) {
        const fab_tensor *v = fab_tensors_find(t, all[i].name);
        if (!v || v->type != FAB_F64 || v->ndim != 1 || v->shape[0] != all[i].n)
            return FAB_FAIL(FAB_BAD_FILE, "sgd: %s is missing or not %lld numbers of f64",
                            all[i].name, (long long)all[i].n);
    }
    for (int i = 0; i < n; i++)
        memcpy(all[i].p, fab_tensors_find(t, all[i].name)->data, (size_t)all[i].n * sizeof(double));
    if (!(f->number[EPOCH] >= 0 && f->number[EPOCH] <= (double)f->s.epochs && f->number[STEP] >= 0))
        return FAB_FAIL(FAB_BAD_FILE, "sgd: state.numbers say epoch %g of %lld", f->number[EPOCH],
                        (long long)f->s.epochs);
    f->optim.t = (int64_t)f->number[STEP];
    f->done = f->number[EPOCH] >= (double)f->s.epochs ||
              (f->s.held_out > 0 && f->number[WAITED] >= (double)f->s.patience);
    return FAB_OK;
}

static double model_bytes(const void *settings, const fab_model *m, int64_t n)
{
    const fab_sgd_settings *s = settings;
    const int64_t moments = fab_optim_moments((fab_optimiser)s->optimiser),
                  vectors = 4 + (s->held_out > 0) + moments; /* and the result */
    const double batch = (double)s->batch * (double)(m->head.D + 3);
    return sizeof(double) * ((double)vectors * (double)m->D + batch + 2 * (double)n);
}

/* ---- the method --------------------------------------------------------------------------------------- */

static const fab_infer_verbs verbs = {
    .init_model = init_model,
    .model_bytes = model_bytes,
    .update = update,
    .result = result,
    .so_far = so_far,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};

const fab_method fab_sgd_method = {
    .name = "sgd",
    .summary = "the mode of a network or any other model, a point, by stochastic gradients",
    .table = &table,
    .infer = &verbs,
};
