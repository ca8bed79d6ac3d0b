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
 * The loop itself is in train.c, which other methods begin with.  A loss or gradient that is not finite ends
 * the run; theta is put back to where the epoch began.  State is saved between epochs: a run that goes on from
 * a file ends in the same bytes.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "fit/method.h"
#include "train/train.h"

typedef struct sgd {
    fab_train train;
    fab_gauss *q;
} sgd;

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_sgd_settings
enum { MEMBERS = 5 }; /* of an ensemble */
static const fab_field fields[] = {TRAIN_FIELDS(200, 32, 0.01)};
static const fab_field several[] = {TRAIN_RUNS(200, 32, 0.01, MEMBERS)};
MODEL_LAYOUT(fields);
static const fab_fields table = TABLE("sgd", fields), ensemble = TABLE("ensemble", several);
#undef SETTINGS

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_train_layout(l, &((sgd *)handle)->train);
}

static void release(void *handle)
{
    sgd *f = handle;
    if (!f) return;
    fab_gauss_free(f->q);
    fab_release(f);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_model *m = in->model;
    const fab_gauss *prior = in->prior;
    sgd proto = {0}, *f;
    *handle = NULL;
    FAB_TRY(fab_train_init(&proto.train, "sgd", settings, m, prior, x));
    FAB_TRY(fab_build((void **)&f, sizeof proto, &proto, layout));
    const fab_status s = fab_gauss_create(&f->q, FAB_FORM_POINT, FAB_F64, m->D, 0);
    if (s != FAB_OK) {
        release(f);
        return s;
    }
    fab_train_start(&f->train);
    *handle = f;
    return FAB_OK;
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_model *m = in->model;
    (void)x;
    return fab_train_bytes(settings, m, n) + sizeof(double) * (double)m->D; /* and the result */
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

static fab_status update(void *handle, const fab_examples *e)
{
    ((sgd *)handle)->train.e = *e;
    return FAB_OK;
}

static fab_status so_far(void *handle, const fab_gauss **q)
{
    sgd *f = handle;
    *q = fab_train_point(&f->train, f->q);
    return FAB_OK;
}

static fab_status result(void *handle, const fab_gauss **q)
{
    sgd *f = handle;
    if (!f->train.done) FAB_TRY(fab_train_whole(&f->train));
    return so_far(f, q);
}

static fab_status report(void *handle, fab_report *r)
{
    const sgd *f = handle;
    fab_train_report(&f->train, fab_train_best(&f->train), r);
    return FAB_OK;
}

static fab_status save(void *handle, fab_tensors *t)
{
    return fab_train_save(&((sgd *)handle)->train, t);
}

static fab_status load(void *handle, const fab_tensors *t)
{
    return fab_train_load(&((sgd *)handle)->train, t);
}

/* ---- the methods -------------------------------------------------------------------------------------- */

#define SGD_VERBS                                                                                  \
    .takes = FAB_TAKES_GRADIENT, .init = init, .bytes = bytes, .update = update, .result = result, \
    .so_far = so_far, .report = report, .free = release, .save = save, .load = load

const fab_method fab_sgd_method = {
    .name = "sgd",
    .summary = "the mode of a network or any other model, a point, by stochastic gradients",
    .fields = &table,
    .trains = 1,
    SGD_VERBS,
};

const fab_method fab_ensemble_method = {
    .name = "ensemble",
    .summary = "sgd from several starts: a mixture of points",
    .fields = &ensemble,
    .trains = 1,
    .several = 1,
    SGD_VERBS,
};
