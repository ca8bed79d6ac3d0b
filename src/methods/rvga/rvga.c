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
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "train/state.h"
#include "train/sequence/classes.h"
#include "train/glm_fields.h"
#include "fit/method.h"
#include "train/sequence/sequence.h"
#include "la/ops.h"
#include "la/small.h"
#include "posterior/solver.h"
#include <math.h>
#include <string.h>

#define SHARE     0.999 /* of the least eigenvalue: psi of the result */
#define BANK_FREE 1e6   /* variance of the intercept, noise being 1, while beta is unknown */
#define FREE      1e-8  /* least prior precision of an intercept, noise being 1 */

/* The numbers of the state, saved as they are. */
typedef struct numbers {
    double started, given;
    double alpha, beta0; /* prior precision; the unit of P */
    double rows, squares;
    double lost;  /* rows that say nothing about the noise */
    double power; /* sum of w y^2: what no noise is measured by */
    double logdet, score;
} numbers;

typedef struct rvga {
    fab_rvga_settings set;
    const char *name;
    fab_glm model;
    numbers n;
    numbers shown;    /* of the result */
    fab_status fault; /* of a row that failed: the stream cannot go on */
    int64_t T, pending, room;
    int64_t classes, part;  /* 1 unless categorical; coordinates of one class */
    double *mu;             /* T */
    double *P;              /* T x T */
    double *X;              /* room x part: pending rows, one after the other */
    double *y, *w, *offset; /* room */
    double *p;              /* T x classes */
    double *many;           /* categorical: scratch of a row */
    double *V, *lambda;     /* T x T, T: the result */
    double *eig, *bank, *G; /* scratch */
    fab_gauss *q;
    double *tail; /* T + T x T: mu and P with the pending rows */
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

static int gaussian(const rvga *e)
{
    return e->model.likelihood == FAB_LIKELIHOOD_GAUSSIAN;
}

/* Is something about the prior or the noise to be found in the first rows? */
static int undecided(const rvga *e)
{
    if (gaussian(e) && fab_is_auto_f64(e->set.beta)) return 1;
    return !(e->n.given > 0) && fab_is_auto_f64(e->set.alpha);
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
    const int64_t T = e->T, n = e->room;
    e->mu = fab_place(l, T, sizeof *e->mu);
    e->P = fab_place(l, T * T, sizeof *e->P);
    e->X = fab_place(l, n * e->part, sizeof *e->X);
    e->y = fab_place(l, n, sizeof *e->y);
    e->w = fab_place(l, n, sizeof *e->w);
    e->offset = fab_place(l, n, sizeof *e->offset);
    e->p = fab_place(l, T * e->classes, sizeof *e->p);
    e->many = fab_place(l, e->classes > 1 ? classes_work(e) : 0, sizeof *e->many);
    e->V = fab_place(l, T * T, sizeof *e->V);
    e->lambda = fab_place(l, T, sizeof *e->lambda);
    e->eig = fab_place(l, fab_eig_work(T), sizeof *e->eig);
    e->G = fab_place(l, undecided(e) ? n * n : 0, sizeof *e->G);
    e->bank = fab_place(l, undecided(e) ? fab_prior_work(n) : 0, sizeof *e->bank);
}

static void release(void *handle)
{
    rvga *e = handle;
    if (!e) return;
    fab_gauss_free(e->q);
    fab_release(e->tail);
    fab_release(e);
}

static fab_status check_settings(const rvga *e, const fab_exec *x)
{
    if (strcmp(e->name, "kalman") == 0 && !gaussian(e))
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "kalman: the target is %s, expected gaussian (rvga takes the others)",
                        fab_likelihood_name(e->model.likelihood));
    if (e->classes > 1 && e->set.scheme != FAB_IMPLICIT)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: scheme = %s, expected implicit for a categorical target", e->name,
                        fab_scheme_names[e->set.scheme]);
    if (e->T > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: theta has %lld coordinates, offered up to %d; lrvga takes more",
                        e->name, (long long)e->T, FAB_DENSE_MAX);
    if (x && x->comm && x->comm->sum)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: runs in one process", e->name);
    return FAB_OK;
}

static fab_status prototype(rvga *e, const char *name, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    *e = (rvga){.set = *(const fab_rvga_settings *)settings, .name = name};
    e->model = fab_glm_of(in->model, e->set.beta);
    e->T = in->model->D;
    e->classes = e->model.classes;
    e->part = e->T / e->classes;
    e->n.given = in->prior != NULL;
    e->room = undecided(e) ? e->set.warmup : 1;
    return check_settings(e, x);
}

/* Prior precision of coordinate i in units of the noise. */
static double prior_at(const rvga *e, int64_t i)
{
    const int feature = i % e->part < e->model.D;
    const double p = (feature ? e->n.alpha : e->set.intercept_alpha) / e->n.beta0;
    return feature || p > FREE ? p : FREE;
}

/* 4 */
static fab_status start(rvga *e)
{
    const int64_t T = e->T;
    if (!undecided(e)) e->n.beta0 = gaussian(e) ? e->set.beta : 1;
    if (!fab_is_auto_f64(e->set.alpha)) e->n.alpha = e->set.alpha;
    for (int64_t i = 0; i < T * T && e->n.given > 0; i++) e->P[i] *= e->n.beta0;
    for (int64_t i = 0; i < T && !(e->n.given > 0); i++) e->P[i + i * T] = 1 / prior_at(e, i);
    e->n.started = 1;
    return FAB_OK;
}

static fab_status take_prior(rvga *e, const fab_gauss *prior)
{
    fab_solver *s;
    memcpy(e->mu, prior->mu, (size_t)e->T * sizeof *e->mu);
    FAB_TRY(fab_solver_init(&s, prior, NULL));
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
    fab_status s = in->prior ? take_prior(e, in->prior) : FAB_OK;
    if (s == FAB_OK && !undecided(e)) s = start(e);
    if (s != FAB_OK) {
        release(e);
        return s;
    }
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

static void choose(rvga *e)
{
    const int64_t n = e->pending;
    const int known = gaussian(e) && !fab_is_auto_f64(e->set.beta);
    fab_stream_prior prior = {.beta = known ? e->set.beta : 0};
    const double loose = gaussian(e) ? known ? prior.beta / e->set.intercept_alpha : BANK_FREE
                                     : 1 / e->set.intercept_alpha;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            e->G[i + j * n] = dot(e->model.D, e->X + i * e->part, e->X + j * e->part);
    fab_prior_choose(&e->model, n, e->G, e->model.intercept ? loose : 0, e->y, e->w, e->offset,
                     &prior, e->bank);
    e->n.beta0 = gaussian(e) ? prior.beta : 1;
    e->n.alpha = prior.alpha * e->n.beta0;
    e->n.lost = e->n.given > 0 ? 0 : prior.lost;
}

static fab_rule rule_of(const rvga *e)
{
    return (fab_rule){e->model.likelihood, (fab_expectation)e->set.expectation,
                      (fab_scheme)e->set.scheme, e->set.draws, (uint64_t)e->set.seed};
}

static fab_status check_update(const rvga *e, double error, double weight)
{
    if (isfinite(error) && isfinite(weight)) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "%s: row %.0f has no finite update under scheme = %s", e->name,
                    e->n.rows, fab_scheme_names[e->set.scheme]);
}

/* 1, several classes: p = P X (T x C), u0, V0 = X' p */
static void project(const rvga *e, int64_t j, double *u0, double *V0)
{
    const int64_t T = e->T, C = e->classes, n = e->part;
    const double *x = e->X + j * n;
    for (int64_t c = 0; c < C; c++) {
        u0[c] = dot(n, x, e->mu + c * n) + e->offset[j];
        fab_mv(FAB_N, T, n, 1, e->P + c * n * T, x, 0, e->p + c * T);
        for (int64_t k = 0; k < C; k++) V0[k + c * C] = dot(n, x, e->p + c * T + k * n);
    }
}

/* 1 to 3 with an error and a weight for each class */
static fab_status take_class_row(rvga *e, int64_t j)
{
    const int64_t T = e->T, C = e->classes;
    double *V0 = e->many, *K = V0 + C * C, *root = K + C * C, *scratch = root + C * C,
           *u0 = scratch + 3 * C * C, *pK = u0 + 3 * C, *more = pK + T * C;
    fab_site s = {.error = u0 + C, .root = root, .u = u0 + 2 * C};
    const fab_rule rule = rule_of(e);
    project(e, j, u0, V0); /* 1 */
    fab_classes_update(&rule, 1 + (uint64_t)e->n.rows, C, e->y[j], e->w[j], u0, V0, C, &s,
                       more); /* 2 */
    FAB_TRY(check_update(e, s.error[0], 1));
    FAB_TRY(fab_classes_gain(C, root, V0, C, 1, K, scratch));
    fab_mv(FAB_N, T, C, 1, e->p, s.error, 1, e->mu); /* 3 */
    fab_mm(FAB_N, FAB_N, T, C, C, 1, e->p, K, 0, pK);
    fab_mm(FAB_N, FAB_T, T, T, C, -1, pK, e->p, 1, e->P);
    e->n.rows++;
    e->n.score += s.score;
    return FAB_OK;
}

static fab_status take_row(rvga *e, int64_t j)
{
    const int64_t T = e->T;
    const fab_rule rule = rule_of(e);
    const double *x = e->X + j * T, y = e->y[j], w = e->w[j];
    fab_mv(FAB_N, T, T, 1, e->P, x, 0, e->p); /* 1 */
    const double u0 = dot(T, x, e->mu) + e->offset[j], v = dot(T, x, e->p), v0 = v > 0 ? v : 0;
    const fab_scalar s = fab_scalar_update(&rule, 1 + (uint64_t)e->n.rows, y, w, u0, v0); /* 2 */
    FAB_TRY(check_update(e, s.error, s.weight));
    const double gain = s.weight / (1 + s.weight * v0), r = y - u0, variance = 1 / w + v0;
    for (int64_t i = 0; i < T; i++) e->mu[i] += s.error * e->p[i]; /* 3 */
    for (int64_t k = 0; k < T; k++) {
        const double pk = gain * e->p[k];
        for (int64_t i = 0; i < T; i++) e->P[i + k * T] -= e->p[i] * pk;
    }
    e->n.rows++;
    e->n.power += w * y * y;
    e->n.squares += gaussian(e) ? r * r / variance : 0;
    e->n.logdet += log(variance);
    e->n.score += fab_scalar_score(e->model.likelihood, y, w, u0, v0, &s);
    return FAB_OK;
}

static fab_status flush(rvga *e)
{
    if (!(e->n.started > 0)) {
        choose(e);
        FAB_TRY(start(e));
    }
    for (int64_t j = 0; j < e->pending; j++)
        FAB_TRY(e->classes > 1 ? take_class_row(e, j) : take_row(e, j));
    e->pending = 0;
    return FAB_OK;
}

static void keep(rvga *e, const fab_examples *x, int64_t row)
{
    double *to = e->X + e->pending * e->part;
    fab_rows_get(&x->x, row, e->model.D, to);
    if (e->model.intercept) to[e->model.D] = 1;
    e->y[e->pending] = x->y[row];
    e->w[e->pending] = x->weight ? x->weight[row] : 1;
    e->offset[e->pending] = x->offset ? x->offset[row] : 0;
    e->pending++;
}

static fab_status check_fault(const rvga *e)
{
    if (e->fault == FAB_OK) return FAB_OK;
    return FAB_FAIL(e->fault, "%s: a row failed after %.0f rows, and the stream cannot go on",
                    e->name, e->n.rows);
}

static double work(const void *handle)
{
    const rvga *e = handle;
    return 2 * (double)e->T * (double)(e->T * e->classes);
}

static fab_status update(void *handle, const fab_examples *x)
{
    rvga *e = handle;
    FAB_TRY(check_fault(e));
    const int before = fab_blas_enter();
    for (int64_t row = 0; row < x->x.n && e->fault == FAB_OK; row++) {
        keep(e, x, row);
        if (e->n.started > 0 || e->pending == e->room) e->fault = flush(e);
    }
    fab_blas_leave(before);
    return e->fault;
}

/* ---- the result ------------------------------------------------------------------------------- */

/* 6 */
static double noise(const rvga *e)
{
    const numbers *n = &e->shown;
    if (!gaussian(e)) return 1;
    if (!fab_is_auto_f64(e->set.beta)) return e->set.beta;
    return fab_noise(n->rows - n->lost - (double)e->model.intercept, n->squares, n->power);
}

/* 5 */
static fab_status decompose(rvga *e, const double *mu, const double *P)
{
    const int64_t T = e->T;
    const double scale = 1 / noise(e);
    memcpy(e->V, P, (size_t)(T * T) * sizeof *P);
    fab_symmetrise(T, e->V);
    FAB_TRY(fab_eig(T, e->V, e->lambda, e->eig));
    if (!(e->lambda[0] > 0))
        return FAB_FAIL(FAB_NUMERIC,
                        "%s: the covariance has lost its smallest eigenvalue (%g beside %g)",
                        e->name, e->lambda[0], e->lambda[T - 1]);
    const double c = SHARE * e->lambda[0];
    double *F = e->q->F;
    memcpy(e->q->mu, mu, (size_t)T * sizeof *mu);
    for (int64_t i = 0; i < T; i++) e->q->psi[i] = c * scale;
    for (int64_t i = 0; i < T; i++)
        for (int64_t k = 0; k < T; k++)
            F[i * T + k] = e->V[i + k * T] * sqrt((e->lambda[k] - c) * scale);
    return fab_gauss_check(e->q);
}

/* The pending rows go into a copy: the stream goes on as if nobody had asked. */
static fab_status take_all(rvga *e)
{
    const int64_t T = e->T;
    rvga copy = *e;
    if (!e->tail) FAB_TRY(fab_alloc_array((void **)&e->tail, T + T * T, sizeof *e->tail, e->name));
    copy.mu = e->tail;
    copy.P = e->tail + T;
    memcpy(copy.mu, e->mu, (size_t)T * sizeof *e->mu);
    memcpy(copy.P, e->P, (size_t)(T * T) * sizeof *e->P);
    FAB_TRY(flush(&copy));
    e->shown = copy.n;
    return decompose(e, copy.mu, copy.P);
}

static fab_status result(void *handle, const fab_gauss **q)
{
    rvga *e = handle;
    FAB_TRY(check_fault(e));
    if (!e->q) FAB_TRY(fab_gauss_create(&e->q, FAB_COVARIANCE, FAB_F64, e->T, e->T));
    e->shown = e->n;
    const int before = fab_blas_enter();
    const fab_status s = e->pending ? take_all(e) : decompose(e, e->mu, e->P);
    fab_blas_leave(before);
    FAB_TRY(s);
    *q = e->q;
    return FAB_OK;
}

static fab_status report(void *handle, fab_report *r)
{
    const rvga *e = handle;
    const numbers *n = &e->shown;
    const double beta = noise(e), two_pi = 6.283185307179586477;
    const double fit = 0.5 * (n->rows * log(beta / two_pi) - beta * n->squares - n->logdet);
    *r = (fab_report){.converged = -1,
                      .alpha = n->given > 0 ? NAN : n->alpha,
                      .beta = beta,
                      .log_evidence = gaussian(e) ? fit : n->score};
    return FAB_OK;
}

/* ---- files ------------------------------------------------------------------------------------ */

enum { NUMBERS = sizeof(numbers) / sizeof(double) };

static fab_status save(void *handle, fab_tensors *t)
{
    rvga *e = handle;
    const int64_t T = e->T, count = NUMBERS, n = e->pending;
    FAB_TRY(fab_tensors_add(t, "state.mu", FAB_F64, 1, &T, e->mu));
    FAB_TRY(fab_tensors_add(t, "state.P", FAB_F64, 2, (const int64_t[]){T, T}, e->P));
    FAB_TRY(fab_tensors_add(t, "state.numbers", FAB_F64, 1, &count, &e->n));
    FAB_TRY(fab_tensors_add(t, "state.y", FAB_F64, 1, &n, e->y));
    FAB_TRY(fab_tensors_add(t, "state.weight", FAB_F64, 1, &n, e->w));
    FAB_TRY(fab_tensors_add(t, "state.offset", FAB_F64, 1, &n, e->offset));
    return fab_tensors_add(t, "state.pending", FAB_F64, 2, (const int64_t[]){n, e->part}, e->X);
}

static fab_status check_loaded(const rvga *e)
{
    const numbers *n = &e->n;
    double sum = n->rows + n->squares;
    for (int64_t i = 0; i < e->T; i++) sum += fabs(e->mu[i]);
    for (int64_t i = 0; i < e->T * e->T; i++) sum += fabs(e->P[i]);
    if (!isfinite(sum) || !(n->rows >= 0 && n->squares >= 0) ||
        (n->started != 0 && n->started != 1) || (n->given != 0 && n->given != 1) ||
        (n->started > 0 && !(n->beta0 > 0)))
        return FAB_FAIL(FAB_BAD_FILE, "the numbers of the state do not belong together");
    const fab_examples x = {{e->X, FAB_F64, e->pending, e->part}, e->y, e->w, e->offset};
    return fab_examples_check("state.pending", &e->model, &x) == FAB_OK ? FAB_OK : FAB_BAD_FILE;
}

static fab_status load(void *handle, const fab_tensors *t)
{
    rvga *e = handle;
    const int64_t T = e->T, count = NUMBERS;
    const fab_tensor *pending = fab_tensors_find(t, "state.pending");
    FAB_TRY(fab_state_take(t, "state.numbers", FAB_F64, 1, &count, &e->n));
    const int64_t full = e->n.started > 0 ? 1 : e->room;
    if (!pending || pending->ndim != 2 || pending->shape[0] < 0 || pending->shape[0] >= full)
        return FAB_FAIL(FAB_BAD_FILE,
                        "tensor 'state.pending' is absent or does not fit the warm-up");
    const int64_t n = pending->shape[0];
    FAB_TRY(fab_state_take(t, "state.mu", FAB_F64, 1, &T, e->mu));
    FAB_TRY(fab_state_take(t, "state.P", FAB_F64, 2, (const int64_t[]){T, T}, e->P));
    FAB_TRY(fab_state_take(t, "state.y", FAB_F64, 1, &n, e->y));
    FAB_TRY(fab_state_take(t, "state.weight", FAB_F64, 1, &n, e->w));
    FAB_TRY(fab_state_take(t, "state.offset", FAB_F64, 1, &n, e->offset));
    FAB_TRY(fab_state_take(t, "state.pending", FAB_F64, 2, (const int64_t[]){n, e->part}, e->X));
    e->pending = n;
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
