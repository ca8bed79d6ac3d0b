/* lrvga.c - limited-memory recursive variational Gaussian approximation ([L] Alg. 1, (24)-(30), (54)-(55)).
 *
 *   state: mu and the precision S = W W' + psi, P = S^-1, W of rank R >= K; gaussian targets in units of
 *   the noise (S is the precision over beta), so that beta may stay unknown
 *   for each block of m rows X (D x m), y, w:
 *   1  forget: S <- a S + (1 - a) prior, a = forget^m
 *   2  A = X' P X = X' psi^-1 X - C' M^-1 C,   M = I + W' psi^-1 W,  C = W' psi^-1 X
 *   3  rows in turn inside A: weights gamma, step g                        (sequence.c, scalar.c)
 *      GLMs: the rows again, each given all others                         (revisit.c)
 *      categorical: a row is C columns, X its copies in the place of each class, and the weight a C x C
 *      matrix, of which 5 takes the root                                   (class_block.c, classes.c)
 *   4  mu += P X g = psi^-1 (X g - W M^-1 W' psi^-1 X g)                   the gain has the previous P
 *   5  X_j <- sqrt(gamma_j) x_j,  S <- S + X X', back to rank R             (absorb)
 *   6  gain = paper ([L] (24), gaussian): instead of 4, mu += P X (y - X' mu) with the P of 5
 *   start:
 *   7  exact: psi = the prior, W the first columns while they fit, the eigen cut until W has rank R, EM on
 *   8  random ([L] 5.1.2): psi = (1 - eps) prior, columns of W of norm sqrt(eps tr(prior) / R)
 *   9  alpha or beta unknown: the first `warmup` rows choose them          (fab_prior_choose)
 *      GLMs: these rows are the first block
 *   result:
 *  10  the pending rows go into a copy, that is cut from R to K by EM on itself
 *  11  beta unknown: from the squared errors one step ahead, each over its variance   (fab_noise)
 *
 * With R = D nothing is ever cut off, and psi stays the prior: the closed form, whatever the block.  What a
 * narrow R loses is mostly in the mean, for steps 3 and 4 of all later rows need P; hence R > K.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/lrvga/state.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "train/sequence/classes.h"
#include "train/glm_fields.h"
#include "train/train.h"
#include "fit/method.h"
#include <math.h>
#include <string.h>

enum { WIDER = 40 }; /* auto inner_rank: 2 K and so many more */
enum { BLOCK = 50 }; /* auto block, at least; 2 K */
enum { WARMUP_LEAST = 20, WARMUP_MOST = 200, WARMUP_COLUMNS = 400 }; /* auto warmup */
#define WARMUP_BYTES 64e6
#define BLOCK_BYTES  64e6 /* most that an auto block above the usual one takes */
#define ROUGH        1e-2 /* tol of a cut on the way: log densities move in their fifth digit */
#define LEAST_PSI    1e-9 /* inside a block, relative to the coordinate's precision */

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_lrvga_settings
static const char *const cuts[] = {"em", "eigen", NULL};
static const char *const gains[] = {"previous", "paper", NULL};
static const char *const starts[] = {"exact", "random", "map", "model", "auto", NULL};
static const char *const schemes[] = {"implicit",    "explicit", "extra-gradient",
                                      "mirror-prox", "auto",     NULL};
// clang-format off
#define RANK \
    FIELD(K, I64, 10, 1, 65536, "rank of the result, at most the length of theta"), \
    AUTOMATIC(inner_rank, I64, 1, 65536, "rank kept inside, at least K; auto: 2 K + 40, at most the length of theta"), \
    AUTOMATIC(block, I64, 1, 0x1p16, "columns absorbed at a time: rows, each of which counts once for every class; of networks rows times draws; auto: 50, of linear models 2 K where that is more and 64 MB hold it"), \
    FIELD(inner, I64, 3, 1, 1000, "EM loops for each block")
#define START CHOICE(start, FAB_LRVGA_AUTO, starts, "linear models: F begins with the first rows (exact, auto), or at random as in [L]; networks: the first rows are trained on by sgd (map, auto), or the stream begins at the model's first weights")
#define DRAWS AUTOMATIC(draws, I64, 0, FAB_MAX_DRAWS, "linear models: of a sampled expectation, for each row, pairs of them for a categorical one (auto: 64); networks: of theta, whose curvature makes the precision, 0: that at the mean (auto: 4)")
#define SCHEME CHOICE(scheme, FAB_SCHEME_AUTO, schemes, "expectations or slopes after the row, before it, or after a first step, with its weight or the first one; auto: implicit, of networks mirror-prox")
#define FIRST "rows of the first block, where they choose alpha or beta or the model is a GLM; auto: 200, fewer than 64 MB of them, at least 20; categorical: 400 over the classes"
#define STREAM \
    FIELD(forget, F64, 1, 0.5, 1, "weight of the past for each new row; below 1 for streams that drift"), \
    FIELD(psi_min, F64, 0.1, 0, 1, "floor of psi, relative to the prior precision of the coordinate"), \
    FIELD(tol, F64, 1e-6, 1e-15, 1, "cut to K: stop when psi changes by less, relative"), \
    FIELD(max_iter, I64, 1000, 1, 1e6, "cut to K: at most so many EM steps")
static const fab_field fields[] = {
    AUTOMATIC_AT(fab_sgd_settings, alpha, F64, 1e-300, 1e300, "prior precision of the coefficients; auto: by the first rows"),
    AUTOMATIC_AT(fab_sgd_settings, beta, F64, 1e-300, 1e300, "precision of the noise of a gaussian target; auto: by the errors one step ahead"),
    FIELD(intercept_alpha, F64, 1e-4, 1e-300, 1e300, "prior precision of the intercept"),
    FIELD_AT(fab_sgd_settings, seed, I64, 1, 0, 0x1p53, "seed of the random start and of sampled expectations"),
    RANK,
    SWITCH(expand, 1, "parameter-expanded EM"),
    CHOICE(cut, FAB_CUT_EM, cuts, "back to inner_rank by EM, or by the leading eigenvectors"),
    CHOICE(gain, FAB_GAIN_PREVIOUS, gains, "gaussian: the mean moves by the covariance before the block, or after it as in [L]"),
    START,
    FIELD(start_eps, F64, 1e-8, 1e-300, 0.999, "random start: share of the prior that is in F"),
    CHOICE(expectation, FAB_QUADRATURE, fab_expectation_names, "bernoulli: the logistic as a probit, by quadrature, or by draws"),
    DRAWS,
    SCHEME,
    FIELD(sweeps, I64, 10, 0, 1000, "GLMs: at most so many times the rows of a block are looked at again, each given the others"),
    AUTOMATIC(warmup, I64, 1, 0x1p16, FIRST),
    STREAM,
};
static const fab_field net_fields[] = {
    AUTOMATIC_AT(fab_sgd_settings, alpha, F64, 1e-300, 1e300, "prior precision of every weight in training; auto: 1"),
    STEPS_FIELDS(200, 32, 0.01, 1),
    OPTIMISER_FIELDS,
    START,
    AUTOMATIC(posterior_alpha, F64, 1e-300, 1e300, "map: prior precision of the posterior; auto: weights / |theta|^2, of which the trained weights are a typical draw, at least alpha"),
    RANK,
    DRAWS,
    SCHEME,
    FIELD(looks, I64, 10, 1, 1000, "stream, implicit: times a block is looked at, at most"),
    {.name = "first", .type = FAB_I64, .offset = offsetof(SETTINGS, warmup), .origin = FAB_ORIGIN_AUTO, .lo = 1, .hi = 0x1p16, .help = "model: " FIRST},
    STREAM,
};
// clang-format on
static const fab_fields table = TABLE("lrvga", fields);
const fab_fields fab_lrvga_net_table = TABLE("lrvga", net_fields);
#undef SETTINGS

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A loop of absorb costs D R (R + m): blocks much narrower than R are dear, and as wide as R they lose what few loops cannot
 * bring back (KL to kalman, 1000 features of kin8nm, K = 100: 818 of 50, 815 of 200, 908 of 240 rows). */
static int64_t auto_block(const fab_lrvga_settings *s, int64_t T)
{
    const int64_t m = 2 * least(s->K, T);
    return m > BLOCK && (double)m * (double)T * 8 <= BLOCK_BYTES ? m : BLOCK;
}

/* What auto means for a linear model; for a network in net.c. */
static void choose(void *settings, const fab_input *in)
{
    fab_lrvga_settings *s = settings;
    if (fab_is_auto_i64(s->block)) s->block = auto_block(s, in->model->D);
    if (s->start == FAB_LRVGA_AUTO) s->start = FAB_LRVGA_EXACT;
    if (s->scheme == FAB_SCHEME_AUTO) s->scheme = FAB_IMPLICIT;
    if (fab_is_auto_i64(s->draws)) s->draws = 64;
}

/* Put numbers where the rules say auto. */
static void resolve(fab_lrvga_settings *s, int64_t T, int64_t classes)
{
    s->K = least(s->K, T);
    if (fab_is_auto_i64(s->inner_rank)) s->inner_rank = 2 * s->K + WIDER;
    s->inner_rank = least(s->inner_rank, T);
    s->block = s->block > classes ? s->block / classes : 1;
    if (!fab_is_auto_i64(s->warmup)) return;
    const double fit = WARMUP_BYTES / (8 * (double)(T * classes));
    s->warmup = (int64_t)fmin(fmax(fit, WARMUP_LEAST), WARMUP_MOST);
    if (s->warmup > WARMUP_COLUMNS / classes)
        s->warmup = classes < WARMUP_COLUMNS ? WARMUP_COLUMNS / classes : 1;
}

/* ---- life ------------------------------------------------------------------------------------- */

static fab_absorb_settings absorb_settings(const fab_lrvga_settings *s)
{
    return (fab_absorb_settings){
        .inner = s->inner, .expand = s->expand, .cut = s->cut, .psi_min = LEAST_PSI};
}

static void layout(fab_layout *l, void *handle)
{
    fab_lrvga *e = handle;
    const int64_t T = e->T, R = e->set.inner_rank, C = e->classes, n = e->pending.room * C;
    const int64_t wide = R > n ? R : n;
    const int glm = fab_lrvga_revisits(e), many = fab_lrvga_categorical(e);
    const int first = fab_stream_undecided(&e->stream);
    const size_t d = sizeof(double);
    fab_pending_layout(l, &e->pending);
    e->P.M = fab_place(l, R * R, d);
    e->P.C = fab_place(l, R * n, d);
    e->block.A = fab_place(l, n * n, d);
    e->block.eta = fab_place(l, n, d);
    e->block.gamma = fab_place(l, n, d);
    e->block.root = fab_place(l, many ? n * C : 0, d);
    e->block.step = fab_place(l, n, d);
    e->block.weight = fab_place(l, n, d);
    e->rows.A = fab_place(l, glm ? n * n : 0, d);
    e->rows.V = fab_place(l, glm || many ? n * n : 0, d);
    e->rows.B = fab_place(l, many ? n * (n + 2 * C) : n * n, d);
    e->rows.glm = fab_place(l, glm ? 6 * n : 0, d);
    e->rows.site = fab_place(l, many ? 2 * n + fab_class_block_work(C, e->set.draws) : 0, d);
    e->v = fab_place(l, R == T ? T : 0, d);
    e->z = fab_place(l, T, e->run.ops->size);
    e->line = fab_place(l, 3 * wide, d);
    e->bank = fab_place(l, first ? fab_prior_work(e->pending.room) : 0, d);
    const fab_absorb_settings a = absorb_settings(&e->set);
    const size_t own = e->run.ops->work(T, wide, wide, e->run.threads),
                 absorbing = fab_absorb_work(1, T, R, n, &a, &e->exec);
    e->run.work = fab_place(l, (int64_t)(own > absorbing ? own : absorbing), 1);
}

void fab_lrvga_free(void *handle)
{
    fab_lrvga *e = handle;
    if (!e) return;
    fab_absorb_free(e->absorb);
    fab_gauss_free(e->S);
    fab_gauss_free(e->result.q);
    fab_gauss_free(e->saved.S);
    fab_release(e->psi0);
    fab_release(e->saved.rows);
    fab_release(e);
}

static fab_status check_settings(const fab_lrvga *e, const fab_exec *x)
{
    const fab_lrvga_settings *s = &e->set;
    const int many = fab_lrvga_categorical(e);
    if (many && s->scheme != FAB_IMPLICIT)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "lrvga: scheme = %s, expected implicit for a categorical target",
                        fab_scheme_names[s->scheme]);
    if (many && x && x->ops && x->ops->type == FAB_F32)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "lrvga: f32 for a categorical target, expected f64: nothing "
                        "holds what the intercepts have in common");
    if (s->start != FAB_LRVGA_EXACT && s->start != FAB_LRVGA_RANDOM)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "lrvga: start = %s is for networks, expected exact or random",
                        starts[s->start]);
    if (s->draws < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "lrvga: draws = %lld, expected at least 1",
                        (long long)s->draws);
    if (s->inner_rank < s->K)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "lrvga: inner_rank = %lld is below K = %lld",
                        (long long)s->inner_rank, (long long)s->K);
    return fab_check_alone("lrvga", x);
}

fab_status fab_lrvga_prepare(fab_lrvga *e, const fab_gauss *prior, const fab_exec *x)
{
    fab_lrvga_settings *s = &e->set;
    e->classes = e->stream.model.classes;
    resolve(s, e->T, e->classes);
    FAB_TRY(check_settings(e, x));
    e->stream =
        (fab_stream){.who = "lrvga",
                     .unit = "block",
                     .model = e->stream.model,
                     .set = {s->train.alpha, s->train.beta, s->intercept_alpha, s->train.seed},
                     .rule = {e->stream.model.likelihood, (fab_expectation)s->expectation,
                              (fab_scheme)s->scheme, s->draws, (uint64_t)s->train.seed},
                     .count = {.given = prior != NULL},
                     .guess = e->stream.guess};
    const int first = fab_stream_undecided(&e->stream) || !fab_stream_gaussian(&e->stream);
    e->pending.room = first && s->warmup > s->block ? s->warmup : s->block;
    FAB_TRY(fab_run_init(&e->run, x, x && x->ops ? x->ops->type : FAB_F64));
    e->exec =
        fab_watch_exec(&e->run.watch, (fab_exec){.ops = e->run.ops, .threads = e->run.threads});
    return FAB_OK;
}

static fab_status prototype(fab_lrvga *e, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    *e = (fab_lrvga){.set = *(const fab_lrvga_settings *)settings};
    choose(&e->set, in);
    e->stream.model = fab_glm_of(in->model, e->set.train.beta);
    e->stream.guess = in->beta;
    e->T = in->model->D;
    e->part = e->T / e->stream.model.classes;
    return fab_lrvga_prepare(e, in->prior, x);
}

/* The given prior, of rank at most R, into the state. */
static void put_prior(fab_lrvga *e, const fab_gauss *prior)
{
    const int inverse = prior->form == FAB_FORM_COVARIANCE;
    const fab_long W = fab_lrvga_factors(e, e->S, 0, prior->K);
    if (prior->K) e->run.ops->put(&e->run, prior->F, &W);
    memcpy(e->S->mu, prior->mu, (size_t)e->T * sizeof *e->S->mu);
    for (int64_t i = 0; i < e->T; i++) {
        e->psi0[i] = inverse ? 1 / prior->psi[i] : prior->psi[i];
        e->S->psi[i] = e->psi0[i];
    }
    e->rank.used = prior->K;
}

static fab_status take_prior(fab_lrvga *e, const fab_gauss *prior)
{
    const int64_t R = e->set.inner_rank;
    fab_gauss *narrow;
    if (!e->psi0) FAB_TRY(fab_alloc_array((void **)&e->psi0, e->T, sizeof *e->psi0, "lrvga"));
    if (prior->form == FAB_FORM_COVARIANCE && prior->K > 0)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "lrvga: the prior has the covariance form with %lld factors, "
                        "expected the precision form or a diagonal",
                        (long long)prior->K);
    if (prior->K <= R) {
        put_prior(e, prior);
        return FAB_OK;
    }
    FAB_TRY(fab_gauss_cut(&narrow, prior, R, e->set.tol, e->set.max_iter, NULL));
    put_prior(e, narrow);
    fab_gauss_free(narrow);
    return FAB_OK;
}

static fab_status build_parts(fab_lrvga *e, const fab_gauss *prior)
{
    const fab_absorb_settings a = absorb_settings(&e->set);
    const int64_t R = e->set.inner_rank, columns = e->pending.room * e->classes;
    FAB_TRY(fab_gauss_create(&e->S, FAB_FORM_PRECISION, e->run.ops->type, e->T, R));
    FAB_TRY(fab_absorb_create_in(&e->absorb, 1, e->T, R, columns, &a, e->run.work, &e->exec));
    e->P.inverse = fab_absorb_vector(e->absorb);
    fab_absorb_watch(e->absorb, &e->run.watch);
    if (prior) FAB_TRY(take_prior(e, prior));
    return fab_stream_undecided(&e->stream) ? FAB_OK : fab_lrvga_begin(e);
}

fab_status fab_lrvga_open(fab_lrvga **handle, const fab_lrvga *proto, const fab_gauss *prior)
{
    fab_lrvga *e;
    *handle = NULL;
    FAB_TRY(fab_build((void **)&e, sizeof *e, proto, layout));
    const fab_status s = build_parts(e, prior);
    if (s != FAB_OK) {
        fab_lrvga_free(e);
        return s;
    }
    *handle = e;
    return FAB_OK;
}

fab_status fab_lrvga_restart(fab_lrvga *e, const fab_gauss *prior, double alpha, double beta)
{
    e->stream.count = (fab_stream_counts){.given = e->stream.count.given};
    e->stream.scale = (fab_stream_scale){.beta = beta};
    e->stream.sum = (fab_stream_sums){0};
    e->stream.set.alpha = alpha;
    e->rank = (fab_lrvga_rank){0};
    const fab_long W = fab_long_rows(e->S->F, e->T, e->set.inner_rank);
    e->run.ops->zero(&e->run, &W); /* of an attempt that was stopped */
    if (prior) FAB_TRY(take_prior(e, prior));
    return fab_lrvga_begin(e);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    fab_lrvga proto, *e;
    *handle = NULL;
    FAB_TRY(prototype(&proto, settings, in, x));
    FAB_TRY(fab_lrvga_open(&e, &proto, in->prior));
    *handle = e;
    return FAB_OK;
}

double fab_lrvga_bytes(const fab_lrvga *proto)
{
    const fab_lrvga_settings *s = &proto->set;
    const fab_absorb_settings a = absorb_settings(s);
    const double size = (double)proto->run.ops->size, ranks = (double)(s->inner_rank + s->K);
    return (double)proto->T * (ranks * size + 32) + /* and the psi of a prior */
           (double)(proto->stream.count.given ? 8 * proto->T : 0) +
           fab_absorb_bytes(1, proto->T, s->inner_rank, proto->pending.room * proto->classes, &a,
                            &proto->exec) +
           (double)fab_build_size(sizeof *proto, proto, layout);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    fab_lrvga proto;
    (void)n; /* a stream: the same for any number of rows */
    return prototype(&proto, settings, in, x) == FAB_OK ? fab_lrvga_bytes(&proto) : NAN;
}

/* ---- update ------------------------------------------------------------------------------------ */

/* Features and intercept of the rows behind the pending ones, in the place of class c. */
static void put_rows(fab_lrvga *e, const fab_rows *rows, int64_t c)
{
    const int64_t D = e->stream.model.D, n = rows->n;
    const fab_long X = fab_lrvga_features(e, e->pending.n, n, c);
    if (rows->start) { /* sparse: dense in the block, one after the other through a vector */
        double *const row = e->P.inverse;
        const fab_rows one = {.p = row, .type = FAB_F64, .n = 1, .ld = D};
        for (int64_t j = 0; j < n; j++) {
            const fab_long x = fab_lrvga_features(e, e->pending.n + j, 1, c);
            fab_rows_get(rows, j, D, row);
            e->run.ops->load(&e->run, &one, NULL, &x);
        }
    } else {
        e->run.ops->load(&e->run, rows, NULL, &X);
    }
    if (!e->stream.model.intercept) return;
    const fab_long last = {(char *)X.p + (size_t)D * e->run.ops->size, 1, n, 1, X.cs};
    double *const ones = e->block.weight;
    for (int64_t j = 0; j < n; j++) ones[j] = 1;
    e->run.ops->put(&e->run, ones, &last);
}

static double work(const void *handle)
{
    const fab_lrvga *e = handle;
    return (double)(e->T * e->classes) * (double)(e->set.block + 4 * e->set.inner_rank);
}

static fab_status update(void *handle, const fab_examples *x)
{
    fab_lrvga *e = handle;
    const int64_t waiting = e->pending.n;
    FAB_TRY(fab_stream_check(&e->stream));
    for (int64_t done = 0; done < x->x.n;) {
        const int64_t full = fab_lrvga_next(e);
        const int64_t take = least(x->x.n - done, full - e->pending.n);
        const fab_rows rows = fab_rows_part(&x->x, done, take);
        const fab_long X = fab_lrvga_rows(e, e->pending.n, take);
        if (e->classes > 1) e->run.ops->zero(&e->run, &X);
        for (int64_t c = 0; c < e->classes; c++) put_rows(e, &rows, c);
        fab_pending_add(&e->pending, x, done, take);
        done += take;
        if (e->pending.n < full) break;
        const int before = fab_blas_enter();
        const fab_status s = fab_lrvga_flush(e, 0);
        fab_blas_leave(before);
        if (s == FAB_STOPPED)
            e->pending.n = waiting; /* in the first block: as if these rows had not come */
        else
            e->stream.fault = s;
        FAB_TRY(s);
    }
    return FAB_OK;
}

/* ---- the result ------------------------------------------------------------------------------- */

static void copy_gauss(const fab_lrvga *e, fab_gauss *to, const fab_gauss *from)
{
    memcpy(to->mu, from->mu, (size_t)e->T * sizeof *to->mu);
    memcpy(to->psi, from->psi, (size_t)e->T * sizeof *to->psi);
    memcpy(to->F, from->F, (size_t)(e->T * from->K) * e->run.ops->size);
}

fab_status fab_lrvga_snapshot(fab_lrvga *e)
{
    const size_t row = (size_t)(e->classes * e->T) * e->run.ops->size,
                 side = (size_t)(3 * e->pending.room) * sizeof(double);
    const int64_t R = e->set.inner_rank, n = e->pending.n;
    if (!e->saved.S)
        FAB_TRY(fab_gauss_create(&e->saved.S, FAB_FORM_PRECISION, e->run.ops->type, e->T, R));
    if (n > 0 && !e->saved.rows)
        FAB_TRY(fab_alloc_array(&e->saved.rows, (int64_t)side + e->pending.room * (int64_t)row, 1,
                                "lrvga"));
    copy_gauss(e, e->saved.S, e->S);
    e->saved.stream = e->stream;
    e->saved.rank = e->rank;
    e->saved.pending = n;
    if (n == 0) return FAB_OK;
    memcpy(e->saved.rows, e->pending.y, side);
    memcpy((char *)e->saved.rows + side, fab_absorb_columns(e->absorb), (size_t)n * row);
    return FAB_OK;
}

void fab_lrvga_restore(fab_lrvga *e)
{
    const size_t row = (size_t)(e->classes * e->T) * e->run.ops->size,
                 side = (size_t)(3 * e->pending.room) * sizeof(double);
    const int64_t n = e->saved.pending;
    copy_gauss(e, e->S, e->saved.S);
    e->stream = e->saved.stream;
    e->rank = e->saved.rank;
    e->pending.n = n;
    if (n == 0) return;
    memcpy(e->pending.y, e->saved.rows, side);
    memcpy(fab_absorb_columns(e->absorb), (char *)e->saved.rows + side, (size_t)n * row);
}

/* 10, from S as it is */
static fab_status cut(fab_lrvga *e)
{
    const int64_t K = e->set.K, used = e->rank.used;
    if (!e->result.q)
        FAB_TRY(fab_gauss_create(&e->result.q, FAB_FORM_PRECISION, e->run.ops->type, e->T, K));
    fab_gauss *q = e->result.q;
    memcpy(q->mu, e->S->mu, (size_t)e->T * sizeof *q->mu);
    if (used > K && e->S->K > K)
        return fab_gauss_cut_into(q, e->S, fmax(e->set.tol, e->result.tol), e->set.max_iter,
                                  &e->exec);
    const fab_long from = fab_lrvga_factors(e, e->S, 0, least(used, K)),
                   to = fab_lrvga_factors(e, q, 0, from.k);
    memset(q->F, 0, (size_t)(e->T * K) * e->run.ops->size);
    if (from.k) e->run.ops->axpy(&e->run, NULL, &from, 0, &to);
    memcpy(q->psi, e->S->psi, (size_t)e->T * sizeof *q->psi);
    return FAB_OK;
}

/* 11: from units of the noise to precisions.  The prior's share was put in with the first beta. */
static void to_precision(fab_lrvga *e)
{
    const double beta = fab_stream_noise(&e->stream), first = e->stream.scale.beta;
    fab_gauss *q = e->result.q;
    const fab_long F = fab_lrvga_factors(e, q, 0, e->set.K);
    double *const root = e->P.inverse; /* scratch */
    for (int64_t i = 0; i < e->T; i++) root[i] = sqrt(beta);
    e->run.ops->axpy(&e->run, root, &F, 0, &F);
    for (int64_t i = 0; i < e->T; i++) {
        const double psi = beta * q->psi[i],
                     moved = psi + (1 - beta / first) * fab_lrvga_prior_at(e, i);
        q->psi[i] = moved > 0.5 * psi ? moved : psi;
    }
}

static fab_status put_result(fab_lrvga *e)
{
    FAB_TRY(cut(e));                                      /* 10 */
    if (fab_stream_gaussian(&e->stream)) to_precision(e); /* 11 */
    e->result.stream = e->stream;
    e->result.floored = e->floored;
    e->result.whole = e->set.inner_rank == e->T || e->rank.used < e->set.inner_rank;
    return fab_gauss_check(e->result.q);
}

/* The pending rows go in, and out again: the stream goes on as if nobody had asked. */
static fab_status with_pending(fab_lrvga *e)
{
    FAB_TRY(fab_lrvga_snapshot(e));
    const int before = fab_blas_enter();
    fab_status s = fab_lrvga_flush(e, 1);
    fab_blas_leave(before);
    if (s == FAB_OK) s = put_result(e);
    fab_lrvga_restore(e);
    return s;
}

fab_status fab_lrvga_result(void *handle, const fab_gauss **q)
{
    fab_lrvga *e = handle;
    FAB_TRY(fab_stream_check(&e->stream));
    FAB_TRY(e->pending.n > 0 ? with_pending(e) : put_result(e));
    *q = e->result.q;
    return FAB_OK;
}

/* For scores on the way */
static fab_status rough(void *handle, const fab_gauss **q)
{
    fab_lrvga *e = handle;
    e->result.tol = ROUGH;
    const fab_status s = fab_lrvga_result(e, q);
    e->result.tol = 0;
    return s;
}

fab_status fab_lrvga_report(void *handle, fab_report *r)
{
    const fab_lrvga *e = handle;
    fab_stream_report(&e->result.stream, r);
    r->floored = e->result.floored;
    if (!e->result.whole) r->log_evidence = NAN; /* P depends on the order of the rows */
    if (e->set.forget < 1) r->log_evidence = r->log_score = NAN;
    return FAB_OK;
}

const fab_method fab_lrvga_method = {
    .name = "lrvga",
    .summary = "one pass, precision of rank K: linear, logistic, poisson, softmax; for large D",
    .streams = 1,
    .takes = FAB_TAKES_LINEAR,
    .suits = fab_suits_recursion,
    .asks = FAB_ASKS_OUTPUTS,
    .fields = &table,
    .bytes = bytes,
    .init = init,
    .resolve = choose,
    .update = update,
    .work = work,
    .result = fab_lrvga_result,
    .rough = rough,
    .so_far = fab_lrvga_result, /* of a stream: the rows so far */
    .report = fab_lrvga_report,
    .free = fab_lrvga_free,
    .save = fab_lrvga_save,
    .load = fab_lrvga_load,
    .general = &fab_lrvga_net_method,
};
