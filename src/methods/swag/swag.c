/* swag.c - averages of a training run, and the Gaussian of its iterates: swa and swag ([T] 3.1.1); multiswag, swag
 * from several starts; iterate-averaging, swag of means over windows ([T] B.2).
 *
 *   1  theta = trained as in sgd.c; the best one where rows are held out
 *   for every epoch of `average`, for every batch
 *     2  theta <- a step of the optimiser with the constant rate swag_rate
 *     every `every` steps
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
#include "fabayes/methods.h"
#include "fit/method.h"
#include "la/ops.h"
#include "methods/swag/factor.h"
#include "base/rows.h"
#include "fit/fit.h"
#include "train/state.h"
#include "train/train.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { COLUMNS = 20 }; /* K when it is auto */

/* How far the run is; saved. */
typedef struct counts {
    int64_t epochs;   /* averaged */
    int64_t iterates; /* kept: n */
} counts;
enum { COUNTS = 2 };

typedef struct swag {
    fab_swag_settings s; /* auto resolved, but for `every` */
    int point;           /* swa */
    fab_train train;     /* 1, 2 */
    fab_run run;
    fab_gauss *result;

    double *sum;      /* 3  D: of theta since the last iterate; NULL without `window` */
    double *mean, *V; /* 4  D; V NULL for swa */
    int64_t last;     /* 5  columns of Dhat: K, or 0 when `columns` names a method */
    void *Dhat;       /* 5  D x last, row-major: the last deviations, the oldest is overwritten */
    fab_fit *factor;  /* 5  that method */
    counts count;
    int64_t floored; /* 7 */
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
#define SWAG_FIELDS(runs_, window_, columns_)                                                    \
    AVERAGE_FIELDS(runs_, window_),                                                              \
        AUTOMATIC(K, I64, 0, 4096, "columns of F; 0: the diagonal alone; auto: 20, at most D"),  \
        CHOICE(columns, columns_, fab_swag_columns_names,                                        \
               "what F is made of: the last K deviations, or K factors of all iterates by this " \
               "method"),                                                                        \
        FIELD(scale, F64, 1, 1e-300, 1e300, "factor of the covariance"),                         \
        FIELD(psi_min, F64, 1e-30, 1e-300, 1, "floor of psi")

enum { RUNS = 5 }; /* of multiswag */
static const fab_field fields[] = {SWAG_FIELDS(1, 0, FAB_SWAG_LAST)},
                       several[] = {SWAG_FIELDS(RUNS, 0, FAB_SWAG_LAST)},
                       windows[] = {SWAG_FIELDS(1, 1, FAB_SWAG_BY_RECURSIVE_EM)};
MODEL_LAYOUT(fields);
static const fab_fields table = TABLE("swag", fields), multiswag = TABLE("multiswag", several),
                        averaging = TABLE("iterate-averaging", windows);
#undef SETTINGS

fab_swa_settings fab_swa_defaults(void)
{
    fab_swa_settings s;
    fab_settings_defaults(&swa_table, &s);
    return s;
}

fab_swag_settings fab_swag_defaults(void)
{
    fab_swag_settings s;
    fab_settings_defaults(&table, &s);
    return s;
}

/* The settings of swa as those of a swag without columns. */
static fab_swag_settings swa_as_swag(const void *settings)
{
    fab_swag_settings s = fab_swag_defaults();
    s.swa = *(const fab_swa_settings *)settings;
    s.K = 0;
    return s;
}

static void resolve(fab_swag_settings *s, int64_t D)
{
    if (fab_is_auto_i64(s->K)) s->K = D < COLUMNS ? D : COLUMNS;
}

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    swag *f = handle;
    const int64_t D = f->train.m.D;
    fab_train_layout(l, &f->train);
    f->mean = fab_place(l, D, sizeof(double));
    f->V = f->point ? NULL : fab_place(l, D, sizeof(double));
    f->sum = f->s.swa.window ? fab_place(l, D, sizeof(double)) : NULL;
    f->Dhat = fab_place(l, D * f->last, f->run.ops->size);
    f->run.work = fab_place(l, (int64_t)f->run.ops->work(D, f->last + 1, 1, f->run.threads), 1);
}

static void release(void *handle)
{
    swag *f = handle;
    if (!f) return;
    fab_fit_free(f->factor);
    fab_gauss_free(f->result);
    fab_release(f);
}

static fab_status check_columns(const fab_swag_settings *s, int64_t D)
{
    if (s->K > D)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "swag: K = %lld columns for D = %lld coordinates, expected K <= D",
                        (long long)s->K, (long long)D);
    if (s->columns != FAB_SWAG_LAST && s->K < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "swag: columns = %s with K = 0, expected K >= 1",
                        fab_swag_columns_names[s->columns]);
    return FAB_OK;
}

static fab_status create(void **handle, const fab_swag_settings *s, int point, const fab_model *m,
                         const fab_gauss *prior, const fab_exec *x)
{
    swag proto = {.s = *s, .point = point}, *f;
    const fab_dtype type = x && x->ops ? x->ops->type : FAB_F64;
    const int64_t D = m->D;
    *handle = NULL;
    resolve(&proto.s, D);
    FAB_TRY(check_columns(&proto.s, D));
    proto.last = s->columns == FAB_SWAG_LAST ? proto.s.K : 0;
    FAB_TRY(fab_train_init(&proto.train, point ? "swa" : "swag", &s->swa.train, m, prior, x));
    FAB_TRY(fab_run_init(&proto.run, x, type));
    proto.train.total += s->swa.average;
    FAB_TRY(fab_build((void **)&f, sizeof proto, &proto, layout));
    fab_status made =
        fab_gauss_create(&f->result, point ? FAB_FORM_POINT : FAB_FORM_COVARIANCE, type, D, f->s.K);
    if (made == FAB_OK) made = fab_swag_factor_init(&f->factor, &f->s, D, &f->train.exec);
    if (made != FAB_OK) {
        release(f);
        return made;
    }
    fab_train_start(&f->train);
    *handle = f;
    return FAB_OK;
}

/* ---- the run ------------------------------------------------------------------------------------------ */

/* 4, 5  the next iterate; x is overwritten with its deviation */
static fab_status take(swag *f, double *x)
{
    const int64_t D = f->train.m.D, n = f->count.iterates + 1;
    double square = 0;
    for (int64_t i = 0; i < D; i++) square += x[i] * x[i]; /* has to stay a number */
    if (!isfinite(square) && f->train.m.loss)
        return fab_train_not_finite(&f->train, "the square of theta", square);
    if (!isfinite(square))
        return FAB_FAIL(FAB_BAD_DATA, "swag: the square of iterate %lld is %g", (long long)n,
                        square);
    if (f->factor) FAB_TRY(fab_swag_factor_take(f->factor, x, D)); /* 5 */
    for (int64_t i = 0; i < D; i++) {                              /* 4 */
        const double d = x[i] - f->mean[i];
        f->mean[i] += d / (double)n;
        if (f->V) f->V[i] += d * (x[i] - f->mean[i]);
        x[i] = d;
    }
    f->count.iterates = n;
    if (f->last > 0 && n >= 2) { /* 5 */
        const int64_t column = (n - 2) % f->last;
        const fab_long to = {.p = (char *)f->Dhat + (size_t)column * f->run.ops->size,
                             .n = D,
                             .k = 1,
                             .rs = f->last,
                             .cs = 1};
        f->run.ops->put(&f->run, x, &to);
    }
    return FAB_OK;
}

/* 2 - 5 */
static fab_status epoch(swag *f)
{
    fab_train *t = &f->train;
    const int64_t D = t->m.D, steps = fab_minibatch_steps(t->batches), e = f->count.epochs;
    const int64_t every = fab_is_auto_i64(f->s.swa.every) ? steps : f->s.swa.every;
    double loss, *x = t->gradient; /* free between steps */
    for (int64_t i = (int64_t)t->epoch.step; i < steps; i++) {
        const fab_examples batch = fab_minibatch_get(t->batches, f->s.swa.train.epochs + e, i);
        FAB_TRY(fab_train_step(t, &batch, f->s.swa.swag_rate, &loss)); /* 2 */
        if (f->sum)
            for (int64_t d = 0; d < D; d++) f->sum[d] += t->theta[d];
        if ((e * steps + i + 1) % every == 0) { /* 3 */
            if (f->sum) {
                for (int64_t d = 0; d < D; d++) x[d] = f->sum[d] / (double)every;
                memset(f->sum, 0, (size_t)D * sizeof(double));
            } else {
                memcpy(x, t->theta, (size_t)D * sizeof(double));
            }
            FAB_TRY(take(f, x)); /* 4, 5 */
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
    t->rate = f->s.swa.swag_rate;
    if (f->count.epochs == 0 && !(t->epoch.step > 0) && t->s.held_out > 0)
        memcpy(t->theta, t->best, bytes);
    while (f->count.epochs < f->s.swa.average) {
        if (!(t->epoch.step > 0)) memcpy(t->good, t->theta, bytes);
        const fab_status s = epoch(f);
        if (s == FAB_STOPPED) return s;
        t->epoch = (fab_epoch){0};
        if (s != FAB_OK) {
            memcpy(t->theta, t->good, bytes);
            return s;
        }
        f->count.epochs++;
        t->after = f->count.epochs;
        FAB_TRY(fab_train_tell(t));
    }
    return FAB_OK;
}

/* Does the run keep as many iterates as a result needs: a mean, a variance, two columns, a start and a step from it? */
static fab_status check_count(const swag *f)
{
    const int64_t steps = fab_minibatch_steps(f->train.batches) * f->s.swa.average;
    const int64_t kept = fab_is_auto_i64(f->s.swa.every) ? f->s.swa.average
                                                         : steps / f->s.swa.every;
    const int64_t warmup = fab_swag_factor_warmup(&f->s);
    int64_t least = warmup > 1 ? warmup + 2 : 3;
    if (f->point)
        least = 1;
    else if (f->s.K == 0)
        least = 2;
    if (kept >= least) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "%s: average = %lld epochs keep %lld iterates, expected at least %lld: raise "
                    "average or lower every",
                    f->train.who, (long long)f->s.swa.average, (long long)kept, (long long)least);
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

/* ---- the result --------------------------------------------------------------------------------------- */

/* F = c A, for arrays of D x K */
static void set_F(swag *f, double c, void *A)
{
    const int64_t D = f->result->D, K = f->result->K;
    const fab_long from = fab_long_rows(A, D, K), to = fab_long_rows(f->result->F, D, K);
    double *s = f->train.gradient; /* free between runs */
    for (int64_t i = 0; i < D; i++) s[i] = c;
    f->run.ops->axpy(&f->run, s, &from, 0, &to);
}

/* Has any coordinate a variance that is a number in full? */
static int moved(const swag *f)
{
    for (int64_t i = 0; i < f->result->D; i++)
        if (f->V[i] / (double)f->count.iterates >= DBL_MIN) return 1;
    return 0;
}

/* 6, 7  With fewer than two iterates, or iterates that are all the same, there is a point and no width: psi is at its
 * floor. */
static fab_status publish(swag *f)
{
    fab_gauss *q = f->result;
    const int64_t D = q->D, n = f->count.iterates;
    const double scale = f->s.scale;
    memcpy(q->mu, n >= 1 ? f->mean : fab_train_best(&f->train), (size_t)D * sizeof(double));
    if (f->point) return FAB_OK;
    f->floored = 0;
    memset(q->psi, 0, (size_t)D * sizeof(double));
    if (n >= 2 && !f->factor) { /* of the last K deviations */
        const int64_t k = n - 1 < f->s.K ? n - 1 : f->s.K;
        const double half = f->s.K > 0 ? 0.5 : 1; /* the other half is in F */
        for (int64_t i = 0; i < D; i++) q->psi[i] = half * scale * f->V[i] / (double)n;
        if (k >= 2) set_F(f, sqrt(scale / (2 * ((double)k - 1))), f->Dhat);
    } else if (n >= 2 && moved(f)) { /* of all iterates */
        const fab_gauss *fit;
        FAB_TRY(fab_swag_factor_result(f->factor, &fit, &f->floored));
        for (int64_t i = 0; i < D; i++) q->psi[i] = scale * fit->psi[i];
        set_F(f, sqrt(scale), fit->F);
    }
    for (int64_t i = 0; i < D; i++) /* 7 */
        if (!(q->psi[i] >= f->s.psi_min)) {
            q->psi[i] = f->s.psi_min;
            f->floored++;
        }
    return FAB_OK;
}

/* What the averages go on from. */
static fab_states states_of(swag *f)
{
    const int64_t D = f->train.m.D;
    return (fab_states){
        {{"state.averaged", FAB_I64, COUNTS, 0, &f->count},
         {"state.mean", FAB_F64, D, 0, f->mean},
         {"state.squares", FAB_F64, D, 0, f->V},
         {"state.sum", FAB_F64, D, 0, f->sum},
         {"state.columns", f->result->type, D, f->last, f->last > 0 ? f->Dhat : NULL}}};
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

static fab_status swag_init(void **handle, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    const fab_model *m = in->model;
    const fab_gauss *prior = in->prior;
    return create(handle, settings, 0, m, prior, x);
}

static fab_status swa_init(void **handle, const void *settings, const fab_input *in,
                           const fab_exec *x)
{
    const fab_model *m = in->model;
    const fab_gauss *prior = in->prior;
    const fab_swag_settings s = swa_as_swag(settings);
    return create(handle, &s, 1, m, prior, x);
}

static double swag_bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_model *m = in->model;
    (void)x;
    fab_swag_settings s = *(const fab_swag_settings *)settings;
    resolve(&s, m->D);
    const int64_t vectors = 4 + s.swa.window; /* mean, V, and the result's */
    const int64_t columns = s.columns == FAB_SWAG_LAST ? 2 * s.K : s.K;
    return fab_train_bytes(settings, m, n) +
           sizeof(double) * (double)m->D * (double)(vectors + columns) +
           fab_swag_factor_bytes(&s, m->D, n);
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
    *q = f->result;
    return publish(f);
}

static fab_status result(void *handle, const fab_gauss **q)
{
    swag *f = handle;
    if (f->count.epochs < f->s.swa.average) FAB_TRY(run(f));
    return so_far(f, q);
}

static fab_status report(void *handle, fab_report *r)
{
    const swag *f = handle;
    fab_train_report(&f->train, f->result->mu, r);
    r->converged = -1;
    r->floored = f->floored;
    return FAB_OK;
}

static fab_status save(void *handle, fab_tensors *t)
{
    swag *f = handle;
    const fab_states all = states_of(f);
    FAB_TRY(fab_train_save(&f->train, t));
    FAB_TRY(fab_states_save(&all, t));
    return f->factor ? fab_fit_save_state(f->factor, t) : FAB_OK;
}

static fab_status load(void *handle, const fab_tensors *t)
{
    swag *f = handle;
    const counts *n = &f->count;
    const fab_states all = states_of(f);
    FAB_TRY(fab_train_load(&f->train, t));
    FAB_TRY(fab_states_load(&all, t));
    if (f->factor) FAB_TRY(fab_fit_load_state(f->factor, t, n->iterates));
    if (!(n->epochs >= 0 && n->epochs <= f->s.swa.average && n->iterates >= 0))
        return FAB_FAIL(FAB_BAD_FILE, "%s: state.averaged says epoch %lld of %lld, %lld iterates",
                        f->train.who, (long long)n->epochs, (long long)f->s.swa.average,
                        (long long)n->iterates);
    f->train.after = n->epochs;
    return FAB_OK;
}

/* ---- the methods -------------------------------------------------------------------------------------- */

/* ---- a stream of vectors: the iterates of anyone's optimiser ------------------------------------------- */

#define SETTINGS fab_swag_settings
static const fab_field vector_fields[] = {
    FIELD_AT(fab_sgd_settings, seed, I64, 1, 0, 0x1p53, "seed of the start of `columns`"),
    AUTOMATIC(K, I64, 0, 4096, "columns of F; 0: the diagonal alone; auto: 20, at most D"),
    CHOICE(columns, FAB_SWAG_LAST, fab_swag_columns_names,
           "what F is made of: the last K deviations, or K factors of all iterates by this method"),
    FIELD(scale, F64, 1, 1e-300, 1e300, "factor of the covariance"),
    FIELD(psi_min, F64, 1e-30, 1e-300, 1, "floor of psi"),
};
static const fab_fields vector_table = TABLE("swag", vector_fields);
#undef SETTINGS

static void vectors_layout(fab_layout *l, void *handle)
{
    swag *f = handle;
    const int64_t D = f->train.m.D;
    f->train.gradient = fab_place(l, D, sizeof(double)); /* scratch */
    f->mean = fab_place(l, D, sizeof(double));
    f->V = fab_place(l, D, sizeof(double));
    f->Dhat = fab_place(l, D * f->last, f->run.ops->size);
    f->run.work = fab_place(l, (int64_t)f->run.ops->work(D, f->last + 1, 1, f->run.threads), 1);
}

static fab_status vectors_prototype(swag *f, const fab_swag_settings *s, int64_t D,
                                    const fab_exec *x)
{
    *f = (swag){.s = *s};
    resolve(&f->s, D);
    FAB_TRY(check_columns(&f->s, D));
    f->last = s->columns == FAB_SWAG_LAST ? f->s.K : 0;
    f->train.who = "swag";
    f->train.m.D = D;
    if (x) f->train.exec = *x;
    if (x && x->comm) return FAB_FAIL(FAB_UNSUPPORTED, "swag: runs in one process");
    return fab_run_init(&f->run, x, x && x->ops ? x->ops->type : FAB_F64);
}

static fab_status vectors_init(void **handle, const void *settings, const fab_input *in,
                               const fab_exec *x)
{
    swag proto, *f;
    const int64_t D = in->vectors;
    *handle = NULL;
    FAB_TRY(vectors_prototype(&proto, settings, D, x));
    FAB_TRY(fab_build((void **)&f, sizeof proto, &proto, vectors_layout));
    fab_status s = fab_gauss_create(&f->result, FAB_FORM_COVARIANCE, f->run.ops->type, D, f->s.K);
    if (s == FAB_OK) s = fab_swag_factor_init(&f->factor, &f->s, D, &f->train.exec);
    if (s != FAB_OK) {
        release(f);
        return s;
    }
    *handle = f;
    return FAB_OK;
}

static double vectors_bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    swag f;
    if (vectors_prototype(&f, settings, in->vectors, x) != FAB_OK) return NAN;
    return (double)fab_build_size(sizeof f, &f, vectors_layout) +
           sizeof(double) * (double)in->vectors * (double)(f.s.K + 2) +
           fab_swag_factor_bytes(&f.s, in->vectors, n);
}

static fab_status vectors_update(void *handle, const fab_examples *e)
{
    swag *f = handle;
    for (int64_t i = 0; i < e->x.n; i++) {
        fab_rows_get(&e->x, i, f->train.m.D, f->train.gradient);
        FAB_TRY(take(f, f->train.gradient));
    }
    return FAB_OK;
}

static fab_status vectors_report(void *handle, fab_report *r)
{
    const swag *f = handle;
    *r = (fab_report){.converged = -1, .floored = f->floored, .loglik_mean = NAN};
    return FAB_OK;
}

static fab_status vectors_save(void *handle, fab_tensors *t)
{
    swag *f = handle;
    const fab_states all = states_of(f);
    FAB_TRY(fab_states_save(&all, t));
    return f->factor ? fab_fit_save_state(f->factor, t) : FAB_OK;
}

static fab_status vectors_load(void *handle, const fab_tensors *t)
{
    swag *f = handle;
    const fab_states all = states_of(f);
    FAB_TRY(fab_states_load(&all, t));
    if (f->count.iterates < 0)
        return FAB_FAIL(FAB_BAD_FILE, "swag: state.averaged counts %lld iterates",
                        (long long)f->count.iterates);
    return f->factor ? fab_fit_load_state(f->factor, t, f->count.iterates) : FAB_OK;
}

const fab_method fab_swag_vectors_method = {
    .name = "swag",
    .summary = "the Gaussian of the iterates of anyone's optimiser, rank K plus diagonal",
    .streams = 1,
    .takes = FAB_TAKES_VECTORS,
    .fields = &vector_table,
    .init = vectors_init,
    .free = release,
    .bytes = vectors_bytes,
    .update = vectors_update,
    .result = so_far,
    .report = vectors_report,
    .save = vectors_save,
    .load = vectors_load,
};

const fab_method fab_swag_method = {
    .name = "swag",
    .vectors = &fab_swag_vectors_method,
    .summary = "the Gaussian of the iterates of a training run, rank K plus diagonal",
    .takes = FAB_TAKES_GRADIENT,
    .fields = &table,
    .init = swag_init,
    .bytes = swag_bytes,
    .update = update,
    .result = result,
    .so_far = so_far,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};

const fab_method fab_swa_method = {
    .name = "swa",
    .summary = "the mean of the iterates of a training run, a point",
    .takes = FAB_TAKES_GRADIENT,
    .fields = &swa_table,
    .init = swa_init,
    .bytes = swa_bytes,
    .update = update,
    .result = result,
    .so_far = so_far,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};

const fab_method fab_multiswag_method = {
    .name = "multiswag",
    .summary = "swag from several starts: a mixture of Gaussians",
    .takes = FAB_TAKES_GRADIENT,
    .fields = &multiswag,
    .init = swag_init,
    .bytes = swag_bytes,
    .update = update,
    .result = result,
    .so_far = so_far,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};

const fab_method fab_iterate_averaging_method = {
    .name = "iterate-averaging",
    .summary = "swag of the means over disjoint windows of a training run",
    .takes = FAB_TAKES_GRADIENT,
    .fields = &averaging,
    .init = swag_init,
    .bytes = swag_bytes,
    .update = update,
    .result = result,
    .so_far = so_far,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};
