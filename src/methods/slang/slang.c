/* slang.c - variational inference by natural gradients at rank K ([T] (3.6)-(3.9)): slang and vogn.
 *
 * q = N(mu, Sigma), Sigma^-1 = U U' + diag(psi); N rows in batches of M:
 *
 *   1  mu = the model's start, or the mean of a given prior, or 0;  U = 0,  psi = start
 *   for every step t:  eta = rate_precision t^-decay
 *     2  theta_l ~ q:  mu + x + psi^-1 U M^-1 (e - U' x),  x = psi^-1/2 z,  M = I + U' psi^-1 U  (slang_step.c)
 *     3  g_i = the gradient of -log p(y_i | x_i, theta_l), for every row of the batch and every draw l
 *     4  Y = [sqrt(1 - eta) U, sqrt(eta N / (M draws)) g_1, g_2, ..],  and its Gram Y'Y
 *     5  U <- Y V_K, the leading eigenvectors;  psi <- (1 - eta) psi + eta alpha + rowdot(Y,Y) - rowdot(U,U)
 *     6  v = N / (M draws) sum g_i, averaged over the steps with `momentum`, + alpha mu
 *     7  mu -= rate t^-decay Sigma v                                             (the new Sigma)
 *
 * One draw and a model that multiplies its own gradients need no rows of gradients: Y'Y comes from G G' and G U,
 * the diagonal from their squares, U from G' V.  U'U is diagonal after every cut, so it is known.  Where D is
 * below K + M draws, the eigenvectors of Y Y' are the cheaper ones: U = Q_K Lambda_K^1/2.  Both are exact.  vogn is K = 0: 4 and the first half of 5 have nothing to do.
 *
 * The gradients are taken at mu + a draw of N(0, Sigma) (a published program adds mu twice).
 *
 * SPDX-License-Identifier: MIT */
#include "train/state.h"
#include "fit/infer_methods.h"
#include "train/model_fields.h"
#include "methods/slang/slang_state.h"
#include "la/small.h"
#include "model/ggn.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 5 }; /* K when it is auto */

/* ---- settings ----------------------------------------------------------------------------------------- */

#define VOGN_FIELDS(rate_)                                                                         \
    ALPHA_FIELD, RATED_FIELDS(200, 32, rate_, 1e-2, 2, 1),                                         \
        TUNED(rate_precision, F64, 0.05, 1e-300, 1, LOG, 1e-3, 0.5,                                \
              "weight of a step in the precision"),                                                \
        FIELD(decay, F64, 0.51, 0, 1, "both rates fall as t^-decay over the steps t"),             \
        FIELD(momentum, F64, 0.9, 0, 0.999999, "weight of the past in the mean of the gradients"), \
        FIELD(draws, I64, 1, 1, 4096, "draws of theta in a step"),                                 \
        AUTOMATIC(start, F64, 1e-300, 1e300,                                                       \
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

_Static_assert(offsetof(fab_slang_settings, K) == sizeof(fab_vogn_settings),
               "the settings of slang begin with those of vogn");

fab_vogn_settings fab_vogn_defaults(void)
{
    fab_vogn_settings s;
    fab_settings_defaults(&vogn_table, &s);
    return s;
}

fab_slang_settings fab_slang_defaults(void)
{
    fab_slang_settings s;
    fab_settings_defaults(&table, &s);
    return s;
}

/* The settings of vogn as those of a slang without columns. */
static fab_slang_settings vogn_as_slang(const void *settings)
{
    fab_slang_settings s = fab_slang_defaults();
    memcpy(&s, settings, sizeof(fab_vogn_settings));
    s.K = 0;
    return s;
}

static void resolve(fab_slang_settings *s, int64_t D)
{
    if (fab_is_auto_i64(s->K)) s->K = D < COLUMNS ? D : COLUMNS;
}

/* ---- life --------------------------------------------------------------------------------------------- */

static fab_status check_model(const char *who, const fab_slang_settings *s, const fab_model *m,
                              const fab_gauss *prior)
{
    if (!m->examples || !(m->rows || (m->gram && m->project && m->squares && m->combine)))
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: needs the gradients of single examples, and this model has none", who);
    if (s->draws > 1 && !m->rows)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: draws = %lld needs rows of gradients, and this model has none", who,
                        (long long)s->draws);
    if (s->K > m->D)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: K = %lld columns for D = %lld coordinates, expected K <= D", who,
                        (long long)s->K, (long long)m->D);
    if (s->batch > m->batch)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: batch = %lld, and the model takes %lld rows at a time", who,
                        (long long)s->batch, (long long)m->batch);
    if (prior && prior->K)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: takes a diagonal prior, given one with K = %lld", who,
                        (long long)prior->K);
    return FAB_OK;
}

static void layout_small(fab_layout *l, fab_slang *f)
{
    const int64_t K = f->s.K, n = f->most,
                  side = !K         ? 0
                         : f->dense ? f->m.D
                                    : K + n,
                  draws = f->s.draws, wide = n > K ? n : K;
    f->lambda = fab_place(l, K, sizeof(double));
    f->lambda_next = fab_place(l, K, sizeof(double));
    f->L = fab_place(l, K * K, sizeof(double));
    f->L_next = fab_place(l, K * K, sizeof(double));
    f->gram = fab_place(l, K && !f->dense ? n * n : 0, sizeof(double));
    f->cross = fab_place(l, K * n, sizeof(double));
    f->turned = fab_place(l, f->dense ? f->m.D * wide : 0, sizeof(double));
    f->Y = fab_place(l, side * side, sizeof(double));
    f->eigenvalues = fab_place(l, side, sizeof(double));
    f->leading = fab_place(l, side * K, sizeof(double));
    f->work = fab_place(l, fab_eig_top_work(side), sizeof(double));
    f->T = fab_place(l, K * K, sizeof(double));
    f->C = fab_place(l, K * n, sizeof(double));
    f->h = fab_place(l, K * draws, sizeof(double));
    f->N = fab_place(l, K, sizeof(double));
    f->ones = fab_place(l, n, sizeof(double));
    f->run.work = fab_place(l, (int64_t)f->run.ops->work(f->m.D, wide, wide, f->run.threads), 1);
}

static void layout(fab_layout *l, void *handle)
{
    fab_slang *f = handle;
    const int64_t D = f->m.D, K = f->s.K;
    const size_t size = f->run.ops->size;
    double **const vectors[] = {&f->mu,        &f->psi,        &f->psi_next, &f->diag,
                                &f->diag_next, &f->given_diag, &f->mean,     &f->w,
                                &f->theta,     &f->gradient,   &f->spread};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = fab_place(l, D, sizeof(double));
    f->U = fab_place(l, D * K, size);
    f->U_next = fab_place(l, D * K, size);
    f->X = fab_place(l, D * f->s.draws, size);
    f->v = fab_place(l, D, size);
    f->G = fab_place(l, f->products ? 0 : D * f->most, size);
    layout_small(l, f);
}

static void release(void *handle)
{
    fab_slang *f = handle;
    if (!f) return;
    fab_gauss_free(f->q);
    fab_release(f);
}

static fab_status prototype(fab_slang *proto, const char *who, const fab_slang_settings *s,
                            const fab_model *m, const fab_gauss *prior, const fab_exec *x)
{
    if (x && x->comm) return FAB_FAIL(FAB_UNSUPPORTED, "%s: runs in one process", who);
    *proto = (fab_slang){.who = who,
                         .s = *s,
                         .m = *m,
                         .given = prior,
                         .exec = x ? *x : (fab_exec){0},
                         .number = {[FAB_SLANG_LOSS] = NAN}};
    resolve(&proto->s, m->D);
    FAB_TRY(check_model(who, &proto->s, m, prior));
    proto->most = s->batch * s->draws;
    proto->dense = proto->s.K && m->rows && m->D < proto->s.K + proto->most;
    proto->products = !proto->dense && s->draws == 1 && m->gram && m->project && m->squares &&
                      m->combine;
    return fab_run_init(&proto->run, x, m->type);
}

/* The diagonal of the prior's precision. */
static void prior_diagonal(fab_slang *f)
{
    const int64_t D = f->m.D, weights = D - f->m.free;
    for (int64_t i = 0; i < D; i++) {
        if (!f->given)
            f->given_diag[i] = i < weights ? f->s.alpha : 0;
        else
            f->given_diag[i] = f->given->form == FAB_PRECISION ? f->given->psi[i]
                                                               : 1 / f->given->psi[i];
    }
}

/* psi of the start, for so many rows */
static void start_psi(fab_slang *f, int64_t rows)
{
    for (int64_t i = 0; i < f->m.D; i++) {
        f->psi[i] = fab_is_auto_f64(f->s.start) ? f->given_diag[i] + (double)rows : f->s.start;
        f->diag[i] = f->psi[i];
        f->w[i] = 1 / f->psi[i];
    }
}

/* 1 */
static void start(fab_slang *f)
{
    const int64_t K = f->s.K;
    if (f->m.start)
        f->m.start(f->m.self, (uint64_t)f->s.seed, f->mu);
    else if (f->given)
        memcpy(f->mu, f->given->mu, (size_t)f->m.D * sizeof(double));
    for (int64_t k = 0; k < K; k++) f->L[k + k * K] = 1;
    for (int64_t i = 0; i < f->most; i++) f->ones[i] = 1;
    prior_diagonal(f);
    start_psi(f, 1);
}

static fab_status open_run(void **handle, const char *who, const fab_slang_settings *s,
                           const fab_model *m, const fab_gauss *prior, const fab_exec *x)
{
    fab_slang proto, *f;
    *handle = NULL;
    FAB_TRY(prototype(&proto, who, s, m, prior, x));
    FAB_TRY(fab_build((void **)&f, sizeof proto, &proto, layout));
    const fab_status status = fab_gauss_create(&f->q, FAB_PRECISION, m->type, m->D, f->s.K);
    if (status != FAB_OK) {
        release(f);
        return status;
    }
    start(f);
    *handle = f;
    return FAB_OK;
}

static fab_status slang_init(void **handle, const void *settings, const fab_model *m,
                             const fab_gauss *prior, const fab_exec *x)
{
    return open_run(handle, "slang", settings, m, prior, x);
}

static fab_status vogn_init(void **handle, const void *settings, const fab_model *m,
                            const fab_gauss *prior, const fab_exec *x)
{
    const fab_slang_settings s = vogn_as_slang(settings);
    return open_run(handle, "vogn", &s, m, prior, x);
}

static double bytes_of(const fab_slang_settings *s, const fab_model *m, int64_t n)
{
    fab_slang proto;
    if (prototype(&proto, "slang", s, m, NULL, NULL) != FAB_OK) return 0;
    const double batch = (double)s->batch * (double)(m->head.D + 3) + 2 * (double)n,
                 result = (double)m->D * (double)(2 + proto.s.K);
    return (double)fab_build_size(sizeof proto, &proto, layout) + sizeof(double) * (batch + result);
}

static double slang_bytes(const void *settings, const fab_model *m, int64_t n)
{
    return bytes_of(settings, m, n);
}

static double vogn_bytes(const void *settings, const fab_model *m, int64_t n)
{
    const fab_slang_settings s = vogn_as_slang(settings);
    return bytes_of(&s, m, n);
}

/* ---- epochs ------------------------------------------------------------------------------------------- */

static int done(const fab_slang *f)
{
    return f->number[FAB_SLANG_EPOCH] >= (double)f->s.epochs;
}

static fab_status epoch(fab_slang *f)
{
    const int64_t e = (int64_t)f->number[FAB_SLANG_EPOCH], steps = fab_minibatch_steps(f->batches),
                  first = (int64_t)f->number[FAB_SLANG_STEP] - e * steps;
    double sum = 0;
    for (int64_t i = first; i < steps; i++) { /* a step that failed is tried again */
        const fab_examples batch = fab_minibatch_get(f->batches, e, i);
        FAB_TRY(fab_slang_step(f, &batch, &sum));
    }
    f->number[FAB_SLANG_LOSS] = sum / (double)(steps - first);
    f->number[FAB_SLANG_EPOCH]++;
    return FAB_OK;
}

static fab_status epochs(fab_slang *f)
{
    char what[64];
    if (f->number[FAB_SLANG_STEP] == 0) start_psi(f, fab_minibatch_rows(f->batches));
    while (!done(f)) {
        FAB_TRY(epoch(f));
        snprintf(what, sizeof what, "%s: loss %.4g", f->who, f->number[FAB_SLANG_LOSS]);
        FAB_TRY(fab_progress(what, (int64_t)f->number[FAB_SLANG_EPOCH], f->s.epochs));
    }
    return FAB_OK;
}

static fab_status run(fab_slang *f)
{
    FAB_TRY(fab_minibatch_init(&f->batches, f->who, &f->e, f->m.head.D, f->s.batch, 0,
                               (uint64_t)f->s.seed));
    fab_status s = fab_prior_open(&f->prior, &f->m, f->s.alpha, f->given, &f->exec);
    if (s == FAB_OK) {
        const int before = fab_blas_enter();
        s = epochs(f);
        fab_blas_leave(before);
        fab_prior_close(&f->prior);
    }
    if (f->m.noise) f->m.noise(f->m.self, 0, -1);
    fab_minibatch_free(f->batches);
    f->batches = NULL;
    return s;
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

static fab_status update(void *handle, const fab_examples *e)
{
    ((fab_slang *)handle)->e = *e;
    return FAB_OK;
}

static fab_status so_far(void *handle, const fab_gauss **q)
{
    fab_slang *f = handle;
    const int64_t D = f->m.D;
    memcpy(f->q->mu, f->mu, (size_t)D * sizeof(double));
    memcpy(f->q->psi, f->psi, (size_t)D * sizeof(double));
    if (f->s.K) memcpy(f->q->F, f->U, (size_t)(D * f->s.K) * f->run.ops->size);
    *q = f->q;
    return FAB_OK;
}

static fab_status result(void *handle, const fab_gauss **q)
{
    if (!done(handle)) FAB_TRY(run(handle));
    return so_far(handle, q);
}

static fab_status report(void *handle, fab_inference *r)
{
    const fab_slang *f = handle;
    const int noise = f->m.free == 1 && f->m.head.likelihood == FAB_LIKELIHOOD_GAUSSIAN;
    *r = (fab_inference){.iterations = (int64_t)f->number[FAB_SLANG_EPOCH],
                         .converged = -1,
                         .floored = (int64_t)f->number[FAB_SLANG_FLOORED],
                         .alpha = f->given ? NAN : f->s.alpha,
                         .beta = noise ? fab_glm_beta(&f->m.head, f->mu[f->m.D - 1])
                                       : f->m.head.beta,
                         .log_evidence = NAN,
                         .loss = f->number[FAB_SLANG_LOSS],
                         .held_out = NAN};
    return FAB_OK;
}

/* ---- files -------------------------------------------------------------------------------------------- */

static fab_states state_of(fab_slang *f)
{
    const int64_t D = f->m.D, K = f->s.K;
    return (fab_states){{{"state.numbers", FAB_F64, FAB_SLANG_NUMBERS, 0, f->number},
                         {"state.mu", FAB_F64, D, 0, f->mu},
                         {"state.psi", FAB_F64, D, 0, f->psi},
                         {"state.diag", FAB_F64, D, 0, f->diag},
                         {"state.mean", FAB_F64, D, 0, f->mean},
                         {"state.F", f->run.ops->type, D * K, 0, f->U},
                         {"state.lambda", FAB_F64, K, 0, f->lambda},
                         {"state.L", FAB_F64, K * K, 0, f->L}}};
}

static fab_status save(void *handle, fab_tensors *t)
{
    const fab_states all = state_of(handle);
    return fab_states_save(&all, t);
}

static fab_status check_loaded(const fab_slang *f)
{
    const double *n = f->number;
    if (!(n[FAB_SLANG_EPOCH] >= 0 && n[FAB_SLANG_EPOCH] <= (double)f->s.epochs &&
          n[FAB_SLANG_STEP] >= n[FAB_SLANG_EPOCH]))
        return FAB_FAIL(FAB_BAD_FILE, "%s: state.numbers say epoch %g of %lld, step %g", f->who,
                        n[FAB_SLANG_EPOCH], (long long)f->s.epochs, n[FAB_SLANG_STEP]);
    for (int64_t i = 0; i < f->m.D; i++)
        if (!(f->psi[i] > 0 && isfinite(f->psi[i])))
            return FAB_FAIL(FAB_BAD_FILE, "%s: state.psi is %g at coordinate %lld, expected > 0",
                            f->who, f->psi[i], (long long)i);
    return FAB_OK;
}

static fab_status load(void *handle, const fab_tensors *t)
{
    fab_slang *f = handle;
    const fab_states all = state_of(f);
    FAB_TRY(fab_states_load(&all, t));
    FAB_TRY(check_loaded(f));
    for (int64_t i = 0; i < f->m.D; i++) f->w[i] = 1 / f->psi[i];
    return FAB_OK;
}

/* ---- the methods -------------------------------------------------------------------------------------- */

static const fab_infer_verbs slang_verbs = {
    .init_model = slang_init,
    .model_bytes = slang_bytes,
    .update = update,
    .result = result,
    .so_far = so_far,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};

static const fab_infer_verbs vogn_verbs = {
    .init_model = vogn_init,
    .model_bytes = vogn_bytes,
    .update = update,
    .result = result,
    .so_far = so_far,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};

const fab_method fab_slang_method = {
    .name = "slang",
    .summary = "variational inference by natural gradients, precision of rank K plus diagonal",
    .table = &table,
    .infer = &slang_verbs,
};

const fab_method fab_vogn_method = {
    .name = "vogn",
    .summary = "variational inference by natural gradients, a diagonal",
    .table = &vogn_table,
    .infer = &vogn_verbs,
};
