/* rvga.c - recursive variational inference with the full covariance ([L] (22)-(23), (29)-(30)).
 *
 *   state: mu, P (T x T); gaussian targets in units of the noise
 *   for each row x, y, w:
 *   1  p = P x,  u0 = x . mu + offset,  v0 = x . p
 *   2  error, weight = scalar update                                       (scalar.c)
 *   3  mu += error p,  P -= weight / (1 + weight v0) p p'
 *      categorical: x in the place of each class, error C, weight C x C     (classes.c)
 *   start: 4  P = prior; alpha or beta unknown: the first `warmup` rows choose them  (fab_prior_choose)
 *   result: 5  P = V diag(l) V', c = 0.999 min l:  psi = c, F = V (l - c)^1/2, over beta
 *           6  beta unknown: from the squared errors one step ahead, each over its variance   (fab_noise)
 *
 * Linear, this is the Kalman filter with a state that rests, and exact.
 *
 * SPDX-License-Identifier: MIT */
#include "base/rows.h"
#include "train/sequence/classes.h"
#include "train/sequence/stream.h"
#include "train/glm_fields.h"
#include "fit/method.h"
#include "la/ops.h"
#include "la/small.h"
#include "posterior/solver.h"
#include <math.h>
#include <string.h>

#define SHARE 0.999 /* of the least eigenvalue: psi of the result */

typedef struct rvga {
    fab_rvga_settings set;
    int64_t T;             /* length of theta */
    int64_t classes, part; /* 1 unless categorical; coordinates of one class */

    fab_stream stream;   /* 4, 6: the model, its prior and noise, sums over the rows */
    fab_pending pending; /* rows that are to choose the prior, or the row at hand */
    double *X;           /* room x part: theirs */
    double *mu;          /* T */
    double *P;           /* T x T */

    double *p;    /* 1  T x classes */
    double *many; /* 1 - 3  categorical: scratch of a row */
    double *G;    /* 4  room x room */
    double *bank; /* 4 */

    struct { /* 5 */
        fab_gauss *q;
        fab_stream stream;  /* with the pending rows */
        double *V, *lambda; /* T x T, T */
        double *work;
        double *copy; /* T + T x T: mu and P with the pending rows */
    } result;
} rvga;

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_rvga_settings
// clang-format off
static const fab_field fields[] = {
    GLM_FIELDS,
    CHOICE(expectation, FAB_QUADRATURE, fab_expectation_names, "bernoulli: the logistic as a probit, by quadrature, or by draws"),
    FIELD(draws, I64, 64, 1, FAB_MAX_DRAWS, "sampled expectations: draws for each row, pairs of them for a categorical one"),
    CHOICE(scheme, FAB_IMPLICIT, fab_scheme_names, "GLMs: expectations after the row, before it, or after a first step, with its weight or the first one"),
    FIELD(warmup, I64, 200, 1, 0x1p16, "rows that choose alpha and beta when these are auto, by their one-step-ahead score"),
};
// clang-format on
GLM_LAYOUT(fields);
static const fab_fields table = TABLE("rvga", fields);
static const fab_fields kalman_table = TABLE("kalman", fields);
#undef SETTINGS

fab_rvga_settings fab_rvga_defaults(void)
{
    fab_rvga_settings s;
    fab_settings_defaults(&table, &s);
    return s;
}

/* ---- life ------------------------------------------------------------------------------------- */

/* Numbers that a row of several classes needs. */
static int64_t classes_work(const rvga *e)
{
    return 6 * e->classes * e->classes + 3 * e->classes +
           fab_classes_work(e->classes, e->set.draws) + e->T * e->classes;
}

static void layout(fab_layout *l, void *handle)
{
    rvga *e = handle;
    const int64_t T = e->T, n = e->pending.room;
    const int first = fab_stream_undecided(&e->stream);
    e->mu = fab_place(l, T, sizeof *e->mu);
    e->P = fab_place(l, T * T, sizeof *e->P);
    e->X = fab_place(l, n * e->part, sizeof *e->X);
    fab_pending_layout(l, &e->pending);
    e->p = fab_place(l, T * e->classes, sizeof *e->p);
    e->many = fab_place(l, e->classes > 1 ? classes_work(e) : 0, sizeof *e->many);
    e->result.V = fab_place(l, T * T, sizeof *e->result.V);
    e->result.lambda = fab_place(l, T, sizeof *e->result.lambda);
    e->result.work = fab_place(l, fab_eig_work(T), sizeof *e->result.work);
    e->G = fab_place(l, first ? n * n : 0, sizeof *e->G);
    e->bank = fab_place(l, first ? fab_prior_work(n) : 0, sizeof *e->bank);
}

static void release(void *handle)
{
    rvga *e = handle;
    if (!e) return;
    fab_gauss_free(e->result.q);
    fab_release(e->result.copy);
    fab_release(e);
}

static fab_status check_settings(const rvga *e, const fab_exec *x)
{
    if (strcmp(e->stream.who, "kalman") == 0 && !fab_stream_gaussian(&e->stream))
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "kalman: the target is %s, expected gaussian (rvga takes the others)",
                        fab_likelihood_name(e->stream.model.likelihood));
    if (e->classes > 1 && e->set.scheme != FAB_IMPLICIT)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: scheme = %s, expected implicit for a categorical target",
                        e->stream.who, fab_scheme_names[e->set.scheme]);
    if (e->T > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: theta has %lld coordinates, offered up to %d; lrvga takes more",
                        e->stream.who, (long long)e->T, FAB_DENSE_MAX);
    if (x && x->comm && x->comm->sum)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: runs in one process", e->stream.who);
    return FAB_OK;
}

static fab_status prototype(rvga *e, const char *name, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    const fab_rvga_settings *s = settings;
    const fab_glm model = fab_glm_of(in->model, s->beta);
    *e = (rvga){.set = *s,
                .T = in->model->D,
                .classes = model.classes,
                .part = in->model->D / model.classes,
                .stream = {.who = name,
                           .unit = "row",
                           .model = model,
                           .set = {s->alpha, s->beta, s->intercept_alpha, s->seed},
                           .rule = {model.likelihood, (fab_expectation)s->expectation,
                                    (fab_scheme)s->scheme, s->draws, (uint64_t)s->seed},
                           .count = {.given = in->prior != NULL}}};
    e->pending.room = fab_stream_undecided(&e->stream) ? s->warmup : 1;
    return check_settings(e, x);
}

/* 4 */
static void start(rvga *e)
{
    const int64_t T = e->T;
    fab_stream_start(&e->stream);
    if (e->stream.count.given)
        for (int64_t i = 0; i < T * T; i++) e->P[i] *= e->stream.scale.beta;
    else
        for (int64_t i = 0; i < T; i++)
            e->P[i + i * T] =
                1 / fab_stream_prior_in_state(&e->stream, i % e->part < e->stream.model.D);
}

static fab_status take_prior(rvga *e, const fab_gauss *prior)
{
    fab_solver *s;
    memcpy(e->mu, prior->mu, (size_t)e->T * sizeof *e->mu);
    FAB_TRY(fab_solver_create(&s, prior, NULL));
    const fab_status status = fab_solver_dense(s, e->P);
    fab_solver_free(s);
    return status;
}

static fab_status build(void **handle, const char *name, const void *settings, const fab_input *in,
                        const fab_exec *x)
{
    rvga proto, *e;
    *handle = NULL;
    FAB_TRY(prototype(&proto, name, settings, in, x));
    FAB_TRY(fab_build((void **)&e, sizeof *e, &proto, layout));
    const fab_status s = in->prior ? take_prior(e, in->prior) : FAB_OK;
    if (s != FAB_OK) {
        release(e);
        return s;
    }
    if (!fab_stream_undecided(&e->stream)) start(e);
    *handle = e;
    return FAB_OK;
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    return build(handle, "rvga", settings, in, x);
}

static fab_status init_kalman(void **handle, const void *settings, const fab_input *in,
                              const fab_exec *x)
{
    return build(handle, "kalman", settings, in, x);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    rvga proto;
    (void)n;
    if (prototype(&proto, "rvga", settings, in, x) != FAB_OK) return NAN;
    return (double)fab_build_size(sizeof proto, &proto, layout);
}

/* ---- the algorithm ----------------------------------------------------------------------------- */

static double dot(int64_t n, const double *a, const double *b)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

static fab_status check_update(const rvga *e, double error, double weight)
{
    if (isfinite(error) && isfinite(weight)) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "%s: row %lld has no finite update under scheme = %s",
                    e->stream.who, (long long)e->stream.count.rows,
                    fab_scheme_names[e->set.scheme]);
}

/* 1 to 3 with an error and a weight for each class */
static fab_status take_class_row(rvga *e, int64_t j)
{
    const int64_t T = e->T, C = e->classes, n = e->part;
    const double *x = e->X + j * n;
    double *V0 = e->many, *K = V0 + C * C, *root = K + C * C, *scratch = root + C * C,
           *u0 = scratch + 3 * C * C, *pK = u0 + 3 * C, *more = pK + T * C;
    fab_site s = {.error = u0 + C, .root = root, .u = u0 + 2 * C};
    for (int64_t c = 0; c < C; c++) { /* 1  p = P X (T x C), u0, V0 = X' p */
        u0[c] = dot(n, x, e->mu + c * n) + e->pending.offset[j];
        fab_mv(FAB_N, T, n, 1, e->P + c * n * T, x, 0, e->p + c * T);
        for (int64_t k = 0; k < C; k++) V0[k + c * C] = dot(n, x, e->p + c * T + k * n);
    }
    fab_classes_update(&e->stream.rule, 1 + (uint64_t)e->stream.count.rows, C, e->pending.y[j],
                       e->pending.w[j], u0, V0, C, &s, more); /* 2 */
    FAB_TRY(check_update(e, s.error[0], 1));
    FAB_TRY(fab_classes_gain(C, root, V0, C, 1, K, scratch));
    fab_mv(FAB_N, T, C, 1, e->p, s.error, 1, e->mu); /* 3 */
    fab_mm(FAB_N, FAB_N, T, C, C, 1, e->p, K, 0, pK);
    fab_mm(FAB_N, FAB_T, T, T, C, -1, pK, e->p, 1, e->P);
    e->stream.count.rows++;
    e->stream.sum.score += s.score;
    return FAB_OK;
}

static fab_status take_row(rvga *e, int64_t j)
{
    const int64_t T = e->T;
    const double *x = e->X + j * T, y = e->pending.y[j], w = e->pending.w[j];
    fab_stream_sums *sum = &e->stream.sum;
    fab_mv(FAB_N, T, T, 1, e->P, x, 0, e->p); /* 1 */
    const double u0 = dot(T, x, e->mu) + e->pending.offset[j], v = dot(T, x, e->p),
                 v0 = v > 0 ? v : 0;
    const fab_scalar s = fab_scalar_update(&e->stream.rule, 1 + (uint64_t)e->stream.count.rows, y,
                                           w, u0, v0); /* 2 */
    FAB_TRY(check_update(e, s.error, s.weight));
    const double gain = s.weight / (1 + s.weight * v0), r = y - u0, variance = 1 / w + v0;
    for (int64_t i = 0; i < T; i++) e->mu[i] += s.error * e->p[i]; /* 3 */
    for (int64_t k = 0; k < T; k++) {
        const double pk = gain * e->p[k];
        for (int64_t i = 0; i < T; i++) e->P[i + k * T] -= e->p[i] * pk;
    }
    e->stream.count.rows++;
    sum->rows++;
    sum->power += w * y * y;
    if (fab_stream_gaussian(&e->stream)) sum->squares += r * r / variance;
    sum->logdet += log(variance);
    sum->score += fab_scalar_score(e->stream.model.likelihood, y, w, u0, v0, &s);
    return FAB_OK;
}

static fab_status flush(rvga *e)
{
    const int64_t n = e->pending.n;
    if (!e->stream.count.started) { /* 4 */
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < n; i++)
                e->G[i + j * n] = dot(e->stream.model.D, e->X + i * e->part, e->X + j * e->part);
        fab_stream_choose(&e->stream, &e->pending, e->G, e->bank);
        start(e);
    }
    for (int64_t j = 0; j < n; j++) FAB_TRY(e->classes > 1 ? take_class_row(e, j) : take_row(e, j));
    e->pending.n = 0;
    return FAB_OK;
}

static double work(const void *handle)
{
    const rvga *e = handle;
    return 2 * (double)e->T * (double)(e->T * e->classes);
}

static fab_status update(void *handle, const fab_examples *x)
{
    rvga *e = handle;
    const int64_t D = e->stream.model.D;
    FAB_TRY(fab_stream_check(&e->stream));
    const int before = fab_blas_enter();
    for (int64_t row = 0; row < x->x.n; row++) {
        double *to = e->X + e->pending.n * e->part;
        fab_rows_get(&x->x, row, D, to);
        if (e->stream.model.intercept) to[D] = 1;
        fab_pending_add(&e->pending, x, row, 1);
        if (!e->stream.count.started && e->pending.n < e->pending.room) continue;
        e->stream.fault = flush(e);
        if (e->stream.fault != FAB_OK) break;
    }
    fab_blas_leave(before);
    return e->stream.fault;
}

/* ---- the result ------------------------------------------------------------------------------- */

/* 5, 6, from the mu and P of e, which may be a copy of the stream */
static fab_status put_result(rvga *e)
{
    const int64_t T = e->T;
    const double scale = 1 / fab_stream_noise(&e->stream);
    double *const V = e->result.V, *const lambda = e->result.lambda;
    fab_gauss *const q = e->result.q;
    memcpy(V, e->P, (size_t)(T * T) * sizeof *V);
    fab_symmetrise(T, V);
    FAB_TRY(fab_eig(T, V, lambda, e->result.work));
    if (!(lambda[0] > 0))
        return FAB_FAIL(FAB_NUMERIC,
                        "%s: the covariance has lost its smallest eigenvalue (%g beside %g)",
                        e->stream.who, lambda[0], lambda[T - 1]);
    const double c = SHARE * lambda[0];
    double *F = q->F;
    memcpy(q->mu, e->mu, (size_t)T * sizeof *q->mu);
    for (int64_t i = 0; i < T; i++) q->psi[i] = c * scale;
    for (int64_t i = 0; i < T; i++)
        for (int64_t k = 0; k < T; k++) F[i * T + k] = V[i + k * T] * sqrt((lambda[k] - c) * scale);
    return fab_gauss_check(q);
}

/* The pending rows go into a copy: the stream goes on as if nobody had asked. */
static fab_status with_pending(rvga *e)
{
    const int64_t T = e->T;
    if (!e->result.copy)
        FAB_TRY(
            fab_alloc_array((void **)&e->result.copy, T + T * T, sizeof(double), e->stream.who));
    rvga copy = *e;
    copy.mu = e->result.copy;
    copy.P = e->result.copy + T;
    memcpy(copy.mu, e->mu, (size_t)T * sizeof *e->mu);
    memcpy(copy.P, e->P, (size_t)(T * T) * sizeof *e->P);
    FAB_TRY(flush(&copy));
    e->result.stream = copy.stream;
    return put_result(&copy);
}

static fab_status result(void *handle, const fab_gauss **q)
{
    rvga *e = handle;
    FAB_TRY(fab_stream_check(&e->stream));
    if (!e->result.q)
        FAB_TRY(fab_gauss_create(&e->result.q, FAB_FORM_COVARIANCE, FAB_F64, e->T, e->T));
    e->result.stream = e->stream;
    const int before = fab_blas_enter();
    const fab_status s = e->pending.n > 0 ? with_pending(e) : put_result(e);
    fab_blas_leave(before);
    FAB_TRY(s);
    *q = e->result.q;
    return FAB_OK;
}

static fab_status report(void *handle, fab_report *r)
{
    fab_stream_report(&((const rvga *)handle)->result.stream, r);
    return FAB_OK;
}

/* ---- files ------------------------------------------------------------------------------------ */

static fab_states state_of(rvga *e)
{
    fab_states s = {
        {{"state.mu", FAB_F64, e->T, 0, e->mu}, {"state.P", FAB_F64, e->T, e->T, e->P}}};
    fab_pending_states(&e->pending, FAB_F64, 1, e->part, e->X, &s);
    return s;
}

static fab_states counts_of(rvga *e)
{
    fab_states s = {0};
    fab_stream_states(&e->stream, &s);
    return s;
}

static fab_status save(void *handle, fab_tensors *t)
{
    rvga *e = handle;
    const fab_states all = state_of(e), counts = counts_of(e);
    FAB_TRY(fab_states_save(&all, t));
    return fab_states_save(&counts, t);
}

/* Earlier files have counts and sums as doubles in one tensor. */
static fab_status load_numbers(rvga *e, const fab_tensors *t)
{
    fab_stream *s = &e->stream;
    const int64_t count = 10;
    double n[10];
    FAB_TRY(fab_state_take(t, "state.numbers", FAB_F64, 1, &count, n));
    FAB_TRY(fab_stream_whole(n[0], &s->count.started));
    FAB_TRY(fab_stream_whole(n[1], &s->count.given));
    s->scale = (fab_stream_scale){.alpha = n[2], .beta = n[3]};
    FAB_TRY(fab_stream_whole(n[4], &s->count.rows));
    s->sum = (fab_stream_sums){.rows = n[4],
                               .squares = n[5],
                               .uninformative = n[6],
                               .power = n[7],
                               .logdet = n[8],
                               .score = n[9]};
    return FAB_OK;
}

static fab_status check_loaded(const rvga *e)
{
    const fab_pending *p = &e->pending;
    double sum = 0;
    for (int64_t i = 0; i < e->T; i++) sum += fabs(e->mu[i]);
    for (int64_t i = 0; i < e->T * e->T; i++) sum += fabs(e->P[i]);
    if (!isfinite(sum))
        return FAB_FAIL(FAB_BAD_FILE, "the numbers of the state do not belong together");
    FAB_TRY(fab_stream_check_loaded(&e->stream));
    const fab_examples x = {{e->X, FAB_F64, p->n, e->part}, p->y, p->w, p->offset};
    return fab_examples_check("state.pending", &e->stream.model, &x) == FAB_OK ? FAB_OK
                                                                               : FAB_BAD_FILE;
}

static fab_status load(void *handle, const fab_tensors *t)
{
    rvga *e = handle;
    const fab_states counts = counts_of(e);
    FAB_TRY(fab_tensors_find(t, "state.numbers") ? load_numbers(e, t)
                                                 : fab_states_load(&counts, t));
    const int64_t full = e->stream.count.started ? 1 : e->pending.room;
    FAB_TRY(fab_pending_find(&e->pending, t, "state.pending", 1, full, "warm-up"));
    const fab_states all = state_of(e);
    FAB_TRY(fab_states_load(&all, t));
    return check_loaded(e);
}

const fab_method fab_rvga_method = {
    .name = "rvga",
    .summary = "one pass, full covariance: linear, logistic, poisson, softmax; for small D",
    .streams = 1,
    .takes = FAB_TAKES_LINEAR,
    .fields = &table,
    .bytes = bytes,
    .init = init,
    .update = update,
    .work = work,
    .result = result,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};

const fab_method fab_kalman_method = {
    .name = "kalman",
    .summary = "one pass, full covariance: exact linear regression for small D",
    .streams = 1,
    .takes = FAB_TAKES_LINEAR,
    .fields = &kalman_table,
    .bytes = bytes,
    .init = init_kalman,
    .update = update,
    .work = work,
    .result = result,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};
