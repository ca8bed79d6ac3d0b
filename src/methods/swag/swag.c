/* swag.c - averages of a training run, and the Gaussian of its iterates: swa and swag ([T] 3.1.1); multiswag, swag
 * from several starts; iterate-averaging, swag of means over windows ([T] B.2).
 *
 *   1  theta = trained as in sgd.c; the best one where rows are held out
 *   for every epoch of `average`, for every batch
 *     2  theta <- a step of the optimiser with the constant rate swag_rate
 *     every `every` steps                                                                         (iterates.c)
 *       3  x = theta, or the mean of theta over these steps (window)
 *       4  d = x - mean;  n += 1;  mean += d / n;  V += d (x - mean)                         (Welford)
 *       5  n >= 2: column (n - 2) mod K of Dhat = d;  or the method that `columns` names takes x
 *   result
 *     6  mu = mean;  psi = scale V / (2 n);  F = sqrt(scale / (2 (k - 1))) Dhat,  k = min(n - 1, K)
 *        K = 0: psi = scale V / n;  columns by a method: F F' + psi = scale times its fit of all x
 *     7  psi = max(psi, psi_min), counted
 *
 * The deviation is from the mean before it moves: after it, the first one is 0 and the others are short by
 * (n - 1) / n.  k counts the columns that are there.  Means and squares are double, so no variance is the
 * difference of two large numbers.  swa is the same run and mu alone.
 *
 * State is saved between epochs: a run that goes on from a file ends in the same bytes.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "methods/swag/iterates.h"
#include "train/train.h"
#include <math.h>
#include <string.h>

typedef struct swag {
    fab_train train; /* 1, 2 */
    fab_iterates it; /* 3 - 7 */
} swag;

/* ---- settings ----------------------------------------------------------------------------------------- */

#define AVERAGE_FIELDS(runs_, window_)                                                       \
    TRAIN_RUNS(200, 32, 0.01, runs_),                                                        \
        FIELD_AT(fab_swa_settings, average, I64, 50, 1, 0x1p40, "epochs that are averaged"), \
        TUNED_AT(fab_swa_settings, swag_rate, F64, 0.002, 1e-300, 1e300, LOG, 1e-4, 1e-1,    \
                 "learning rate in these epochs, constant"),                                 \
        AUTOMATIC_AT(fab_swa_settings, every, I64, 1, 0x1p40,                                \
                     "steps between two iterates kept; auto: an epoch"),                     \
        SWITCH_AT(fab_swa_settings, window, window_,                                         \
                  "keep the mean of these steps instead of the last theta")

#define SETTINGS fab_swa_settings
static const fab_field swa_fields[] = {AVERAGE_FIELDS(1, 0)};
MODEL_LAYOUT(swa_fields);
static const fab_fields swa_table = TABLE("swa", swa_fields);
#undef SETTINGS

#define SETTINGS fab_swag_settings
enum { RUNS = 5 }; /* of multiswag */
static const fab_field fields[] = {AVERAGE_FIELDS(1, 0), GAUSSIAN_FIELDS(FAB_SWAG_LAST)},
                       several[] = {AVERAGE_FIELDS(RUNS, 0), GAUSSIAN_FIELDS(FAB_SWAG_LAST)},
                       windows[] = {AVERAGE_FIELDS(1, 1),
                                    GAUSSIAN_FIELDS(FAB_SWAG_BY_RECURSIVE_EM)};
MODEL_LAYOUT(fields);
static const fab_fields table = TABLE("swag", fields), multiswag = TABLE("multiswag", several),
                        averaging = TABLE("iterate-averaging", windows);
#undef SETTINGS

/* The settings of swa as those of a swag without columns. */
static fab_swag_settings swa_as_swag(const void *settings)
{
    fab_swag_settings s = fab_swag_defaults();
    s.swa = *(const fab_swa_settings *)settings;
    s.K = 0;
    return s;
}

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    swag *f = handle;
    fab_train_layout(l, &f->train);
    fab_iterates_layout(l, &f->it);
    f->it.x = f->train.gradient; /* free between steps and runs */
}

static void release(void *handle)
{
    swag *f = handle;
    if (!f) return;
    fab_iterates_close(&f->it);
    fab_release(f);
}

static fab_status create(void **handle, const fab_swag_settings *s, int point, const fab_input *in,
                         const fab_exec *x)
{
    const fab_model *m = in->model;
    swag proto = {0}, *f;
    *handle = NULL;
    FAB_TRY(fab_iterates_init(&proto.it, s, point, m->D, x));
    FAB_TRY(fab_train_init(&proto.train, point ? "swa" : "swag", &s->swa.train, m, in->prior, x));
    proto.train.total += s->swa.average;
    FAB_TRY(fab_build((void **)&f, sizeof proto, &proto, layout));
    const fab_status made = fab_iterates_open(&f->it, x);
    if (made != FAB_OK) {
        release(f);
        return made;
    }
    fab_train_start(&f->train);
    *handle = f;
    return FAB_OK;
}

/* ---- the run ------------------------------------------------------------------------------------------ */

/* 2 - 5 */
static fab_status epoch(swag *f)
{
    fab_train *t = &f->train;
    const fab_swa_settings *s = &f->it.s.swa;
    const int64_t D = t->m.D, steps = fab_minibatch_steps(t->joint.batches), e = f->it.count.epochs;
    const int64_t every = fab_is_auto_i64(s->every) ? steps : s->every;
    double loss, *x = f->it.x, *sum = f->it.sum;
    const fab_rows row = {.p = x, .type = FAB_F64, .n = 1, .ld = D};
    for (int64_t i = (int64_t)t->epoch.step; i < steps; i++) {
        const fab_examples batch = fab_minibatch_get(t->joint.batches, s->train.epochs + e, i);
        FAB_TRY(fab_train_step(t, &batch, s->swag_rate, &loss)); /* 2 */
        if (sum)
            for (int64_t d = 0; d < D; d++) sum[d] += t->theta[d];
        if ((e * steps + i + 1) % every == 0) { /* 3 */
            if (sum) {
                for (int64_t d = 0; d < D; d++) x[d] = sum[d] / (double)every;
                memset(sum, 0, (size_t)D * sizeof(double));
            } else {
                memcpy(x, t->theta, (size_t)D * sizeof(double));
            }
            const double square = fab_iterates_square(&f->it);
            if (!isfinite(square)) return fab_train_not_finite(t, "the square of theta", square);
            FAB_TRY(fab_iterates_take(&f->it, &row)); /* 4, 5 */
        }
        FAB_TRY(fab_train_count(t, &batch, loss));
    }
    t->loss.train = t->epoch.loss / t->epoch.rows;
    return FAB_OK;
}

/* All epochs that are left; one that fails leaves theta where it was. */
static fab_status average(swag *f)
{
    fab_train *t = &f->train;
    const size_t bytes = (size_t)t->m.D * sizeof(double);
    t->setting = "swag_rate";
    t->rate = f->it.s.swa.swag_rate;
    if (f->it.count.epochs == 0 && !(t->epoch.step > 0) && t->s.held_out > 0)
        memcpy(t->theta, t->best, bytes);
    while (f->it.count.epochs < f->it.s.swa.average) {
        if (!(t->epoch.step > 0)) memcpy(t->good, t->theta, bytes);
        const fab_status s = epoch(f);
        if (s == FAB_STOPPED) return s;
        t->epoch = (fab_epoch){0};
        if (s != FAB_OK) {
            memcpy(t->theta, t->good, bytes);
            return s;
        }
        f->it.count.epochs++;
        t->after = f->it.count.epochs;
        FAB_TRY(fab_train_tell(t));
    }
    return FAB_OK;
}

/* Does the run keep as many iterates as a result needs: a mean, a variance, two columns, a start and a step from it? */
static fab_status check_count(const swag *f)
{
    const int64_t steps = fab_minibatch_steps(f->train.joint.batches) * f->it.s.swa.average;
    const int64_t kept = fab_is_auto_i64(f->it.s.swa.every) ? f->it.s.swa.average
                                                            : steps / f->it.s.swa.every;
    const int64_t warmup = fab_swag_factor_warmup(&f->it.s);
    int64_t least = warmup > 1 ? warmup + 2 : 3;
    if (f->it.point)
        least = 1;
    else if (f->it.s.K == 0)
        least = 2;
    if (kept >= least) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "%s: average = %lld epochs keep %lld iterates, expected at least %lld: raise "
                    "average or lower every",
                    f->train.who, (long long)f->it.s.swa.average, (long long)kept,
                    (long long)least);
}

static fab_status run(swag *f)
{
    FAB_TRY(fab_train_open(&f->train));
    fab_status s = check_count(f);
    if (s == FAB_OK) s = fab_train_run(&f->train); /* 1 */
    if (s == FAB_OK) s = average(f);               /* 2 - 5 */
    fab_train_close(&f->train);
    return s;
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

static fab_status swag_init(void **handle, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    return create(handle, settings, 0, in, x);
}

static fab_status swa_init(void **handle, const void *settings, const fab_input *in,
                           const fab_exec *x)
{
    const fab_swag_settings s = swa_as_swag(settings);
    return create(handle, &s, 1, in, x);
}

static double swag_bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const int64_t D = in->model->D;
    fab_iterates it;
    (void)x;
    if (fab_iterates_init(&it, settings, 0, D, NULL) != FAB_OK) return NAN;
    const int64_t vectors = 4 + it.s.swa.window; /* mean, V, and the result's */
    const int64_t columns = it.last + it.s.K;
    return fab_train_bytes(&it.s.swa.train, in->model, n) +
           sizeof(double) * (double)D * (double)(vectors + columns) +
           fab_swag_factor_bytes(&it.s, D, n);
}

static double swa_bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_swag_settings s = swa_as_swag(settings);
    return swag_bytes(&s, in, n, x) - 2 * sizeof(double) * (double)in->model->D; /* V, psi */
}

static fab_status update(void *handle, const fab_examples *e)
{
    ((swag *)handle)->train.e = *e;
    return FAB_OK;
}

static fab_status so_far(void *handle, const fab_gauss **q)
{
    swag *f = handle;
    *q = f->it.result;
    return fab_iterates_publish(&f->it, fab_train_best(&f->train));
}

static fab_status result(void *handle, const fab_gauss **q)
{
    swag *f = handle;
    if (f->it.count.epochs < f->it.s.swa.average) FAB_TRY(run(f));
    return so_far(f, q);
}

static fab_status report(void *handle, fab_report *r)
{
    const swag *f = handle;
    fab_train_report(&f->train, f->it.result->mu, r); /* converged: the training before */
    r->floored = f->it.floored;
    return FAB_OK;
}

static fab_status save(void *handle, fab_tensors *t)
{
    swag *f = handle;
    FAB_TRY(fab_train_save(&f->train, t));
    return fab_iterates_save(&f->it, t);
}

static fab_status load(void *handle, const fab_tensors *t)
{
    swag *f = handle;
    const int64_t average = f->it.s.swa.average;
    FAB_TRY(fab_train_load(&f->train, t));
    FAB_TRY(fab_iterates_load(&f->it, t));
    f->train.after = f->it.count.epochs;
    if (f->train.after <= average) return FAB_OK;
    return FAB_FAIL(FAB_BAD_FILE, "%s: state.averaged says epoch %lld of %lld", f->train.who,
                    (long long)f->train.after, (long long)average);
}

/* ---- the methods -------------------------------------------------------------------------------------- */

#define SWAG_VERBS(init_, bytes_)                                                        \
    .takes = FAB_TAKES_GRADIENT, .init = init_, .bytes = bytes_, .update = update,       \
    .result = result, .so_far = so_far, .report = report, .free = release, .save = save, \
    .load = load

const fab_method fab_swag_method = {
    .name = "swag",
    .vectors = &fab_swag_vectors_method,
    .summary = "the Gaussian of the iterates of a training run, rank K plus diagonal",
    .fields = &table,
    SWAG_VERBS(swag_init, swag_bytes),
};

const fab_method fab_swa_method = {
    .name = "swa",
    .summary = "the mean of the iterates of a training run, a point",
    .fields = &swa_table,
    SWAG_VERBS(swa_init, swa_bytes),
};

const fab_method fab_multiswag_method = {
    .name = "multiswag",
    .summary = "swag from several starts: a mixture of Gaussians",
    .fields = &multiswag,
    SWAG_VERBS(swag_init, swag_bytes),
};

const fab_method fab_iterate_averaging_method = {
    .name = "iterate-averaging",
    .summary = "swag of the means over disjoint windows of a training run",
    .fields = &averaging,
    SWAG_VERBS(swag_init, swag_bytes),
};
