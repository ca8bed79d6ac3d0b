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
#include "train/sequence/sequence.h"
#include <math.h>
#include <string.h>

enum { WIDER = 40 }; /* auto inner_rank: 2 K and so many more */
enum { WARMUP_LEAST = 20, WARMUP_MOST = 200, WARMUP_COLUMNS = 400 }; /* auto warmup */
#define WARMUP_BYTES 64e6
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
    FIELD(block, I64, 50, 1, 0x1p16, "columns absorbed at a time: rows, each of which counts once for every class; of networks rows times draws"), \
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
    {.name = "first", .type = FAB_I64, .offset = offsetof(SETTINGS, warmup), .origin = FAB_AUTO, .lo = 1, .hi = 0x1p16, .help = "model: " FIRST},
    STREAM,
};
// clang-format on
static const fab_fields table = TABLE("lrvga", fields);
const fab_fields fab_lrvga_net_table = TABLE("lrvga", net_fields);
#undef SETTINGS

fab_lrvga_settings fab_lrvga_defaults(int64_t K)
{
    fab_lrvga_settings s;
    fab_settings_defaults(&table, &s);
    fab_settings_add_defaults(&fab_lrvga_net_table, &s);
    s.K = K;
    return s;
}

/* What auto means for a linear model; for a network in net.c. */
static void choose(void *settings, const fab_input *in)
{
    fab_lrvga_settings *s = settings;
    (void)in;
    if (s->start == FAB_LRVGA_AUTO) s->start = FAB_LRVGA_EXACT;
    if (s->scheme == FAB_SCHEME_AUTO) s->scheme = FAB_IMPLICIT;
    if (fab_is_auto_i64(s->draws)) s->draws = 64;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
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
    s->warmup = fit < WARMUP_LEAST ? WARMUP_LEAST : fit > WARMUP_MOST ? WARMUP_MOST : (int64_t)fit;
    if (s->warmup > WARMUP_COLUMNS / classes)
        s->warmup = classes < WARMUP_COLUMNS ? WARMUP_COLUMNS / classes : 1;
}

/* ---- life ------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_lrvga *e = handle;
    const int64_t T = e->T, R = e->set.inner_rank, rows = e->room, C = e->classes, n = rows * C;
    const int64_t bank = fab_lrvga_undecided(e) ? rows : 0, again = fab_lrvga_revisits(e) ? n : 0;
    const int64_t many = fab_lrvga_categorical(e);
    e->y = fab_place(l, 3 * rows, sizeof *e->y);
    e->w = e->y ? e->y + rows : NULL;
    e->offset = e->y ? e->y + 2 * rows : NULL;
    e->each = fab_place(l, n, sizeof *e->each);
    e->psi0 = fab_place(l, T, sizeof *e->psi0);
    e->v = fab_place(l, T, sizeof *e->v);
    e->inverse = fab_place(l, T, sizeof *e->inverse);
    e->z = fab_place(l, T, e->run.ops->size);
    e->M = fab_place(l, R * R, sizeof *e->M);
    e->C = fab_place(l, R * n, sizeof *e->C);
    e->line = fab_place(l, 3 * (R > n ? R : n), sizeof *e->line);
    e->A = fab_place(l, n * n, sizeof *e->A);
    e->B = fab_place(l, n * (n + many * 2 * C), sizeof *e->B);
    e->A0 = fab_place(l, again * again, sizeof *e->A0);
    e->V = fab_place(l, many ? n * n : again * again, sizeof *e->V);
    e->root = fab_place(l, many * n * C, sizeof *e->root);
    e->site = fab_place(l, many * (2 * n + fab_class_block_work(C, e->set.draws)), sizeof *e->site);
    e->again = fab_place(l, 6 * again, sizeof *e->again);
    e->eta = fab_place(l, n, sizeof *e->eta);
    e->gamma = fab_place(l, n, sizeof *e->gamma);
    e->step = fab_place(l, n, sizeof *e->step);
    e->bank = fab_place(l, bank ? fab_prior_work(bank) : 0, sizeof *e->bank);
    const int64_t wide = R > n ? R : n;
    e->run.work = fab_place(l, (int64_t)e->run.ops->work(T, wide, wide, e->run.threads), 1);
}

void fab_lrvga_free(void *handle)
{
    fab_lrvga *e = handle;
    if (!e) return;
    fab_absorb_free(e->absorb);
    fab_gauss_free(e->S);
    fab_gauss_free(e->tail);
    fab_gauss_free(e->q);
    fab_release(e->kept);
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
    if (x && x->comm && x->comm->sum)
        return FAB_FAIL(FAB_UNSUPPORTED, "lrvga: runs in one process");
    return FAB_OK;
}

fab_status fab_lrvga_prepare(fab_lrvga *e, const fab_gauss *prior, const fab_exec *x)
{
    e->classes = e->model.classes;
    e->n.given = prior != NULL;
    resolve(&e->set, e->T, e->classes);
    FAB_TRY(check_settings(e, x));
    const int first = fab_lrvga_undecided(e) || !fab_lrvga_gaussian(e);
    e->room = first && e->set.warmup > e->set.block ? e->set.warmup : e->set.block;
    FAB_TRY(fab_run_init(&e->run, x, x && x->ops ? x->ops->type : FAB_F64));
    e->exec = (fab_exec){.ops = e->run.ops, .threads = e->run.threads};
    return FAB_OK;
}

static fab_status prototype(fab_lrvga *e, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    *e = (fab_lrvga){.set = *(const fab_lrvga_settings *)settings};
    choose(&e->set, in);
    e->model = fab_glm_of(in->model, e->set.train.beta);
    e->T = in->model->D;
    e->part = e->T / e->model.classes;
    return fab_lrvga_prepare(e, in->prior, x);
}

static fab_status build_parts(fab_lrvga *e)
{
    const fab_lrvga_settings *s = &e->set;
    const fab_absorb_settings a = {
        .inner = s->inner, .expand = s->expand, .cut = s->cut, .psi_min = LEAST_PSI};
    FAB_TRY(fab_gauss_create(&e->S, FAB_PRECISION, e->run.ops->type, e->T, s->inner_rank));
    return fab_absorb_init_both(&e->absorb, e->T, s->inner_rank, e->room * e->classes, &a,
                                &e->exec);
}

/* The given prior, of rank at most R, into the state. */
static fab_status put_prior(fab_lrvga *e, const fab_gauss *prior)
{
    const int inverse = prior->form == FAB_COVARIANCE;
    const fab_long W = fab_lrvga_factors(e, e->S, 0, prior->K);
    if (prior->K) e->run.ops->put(&e->run, prior->F, &W);
    memcpy(e->S->mu, prior->mu, (size_t)e->T * sizeof *e->S->mu);
    for (int64_t i = 0; i < e->T; i++) {
        e->psi0[i] = inverse ? 1 / prior->psi[i] : prior->psi[i];
        e->S->psi[i] = e->psi0[i];
    }
    e->n.used = (double)prior->K;
    return FAB_OK;
}

static fab_status take_prior(fab_lrvga *e, const fab_gauss *prior)
{
    const int64_t R = e->set.inner_rank;
    fab_gauss *narrow;
    if (prior->form == FAB_COVARIANCE && prior->K > 0)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "lrvga: the prior has the covariance form with %lld factors, "
                        "expected the precision form or a diagonal",
                        (long long)prior->K);
    if (prior->K <= R) return put_prior(e, prior);
    FAB_TRY(fab_gauss_cut(&narrow, prior, R, e->set.tol, e->set.max_iter, NULL));
    const fab_status s = put_prior(e, narrow);
    fab_gauss_free(narrow);
    return s;
}

static fab_status begin(fab_lrvga *e, const fab_gauss *prior)
{
    FAB_TRY(build_parts(e));
    for (int64_t j = 0; j < e->room * e->classes; j++) e->each[j] = 1;
    if (prior) FAB_TRY(take_prior(e, prior));
    return fab_lrvga_undecided(e) ? FAB_OK : fab_lrvga_begin(e);
}

fab_status fab_lrvga_restart(fab_lrvga *e, const fab_gauss *prior, double alpha, double beta0)
{
    e->n = (fab_lrvga_numbers){.given = e->n.given, .beta0 = beta0};
    e->set.train.alpha = alpha;
    if (prior) FAB_TRY(take_prior(e, prior));
    return fab_lrvga_begin(e);
}

fab_status fab_lrvga_open(fab_lrvga **handle, const fab_lrvga *proto, const fab_gauss *prior)
{
    fab_lrvga *e;
    *handle = NULL;
    FAB_TRY(fab_build((void **)&e, sizeof *e, proto, layout));
    const fab_status s = begin(e, prior);
    if (s != FAB_OK) {
        fab_lrvga_free(e);
        return s;
    }
    *handle = e;
    return FAB_OK;
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
    const fab_absorb_settings a = {
        .inner = s->inner, .expand = s->expand, .cut = s->cut, .psi_min = LEAST_PSI};
    const double size = (double)proto->run.ops->size, ranks = (double)(s->inner_rank + s->K);
    return (double)proto->T * (ranks * size + 32) +
           fab_absorb_bytes(proto->T, s->inner_rank, proto->room * proto->classes, &a,
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

/* Sparse rows become dense in the block, one after the other through e->v. */
static void load(fab_lrvga *e, const fab_rows *rows, int64_t c)
{
    const int64_t D = e->model.D;
    const fab_rows one = {.p = e->v, .type = FAB_F64, .n = 1, .ld = D};
    for (int64_t j = 0; rows->start && j < rows->n; j++) {
        const fab_long X = fab_lrvga_features(e, e->pending + j, 1, c);
        fab_rows_get(rows, j, D, e->v);
        e->run.ops->load(&e->run, &one, NULL, &X);
    }
    const fab_long X = fab_lrvga_features(e, e->pending, rows->n, c);
    if (!rows->start) e->run.ops->load(&e->run, rows, NULL, &X);
}

/* Features and intercept of the rows, in the place of class c. */
static void put_rows(fab_lrvga *e, const fab_rows *part, int64_t c)
{
    const fab_long X = fab_lrvga_features(e, e->pending, part->n, c);
    load(e, part, c);
    if (!e->model.intercept) return;
    const size_t at = (size_t)e->model.D * e->run.ops->size;
    const fab_long one = {(char *)X.p + at, 1, X.k, 1, X.cs};
    for (int64_t j = 0; j < X.k; j++) e->each[j] = 1;
    e->run.ops->put(&e->run, e->each, &one);
}

/* Rows first .. first + n - 1 behind the pending ones. */
static void keep(fab_lrvga *e, const fab_examples *x, int64_t first, int64_t n)
{
    const fab_rows part = fab_rows_part(&x->x, first, n);
    const fab_long X = fab_lrvga_rows(e, e->pending, n);
    if (e->classes > 1) e->run.ops->zero(&e->run, &X);
    for (int64_t c = 0; c < e->classes; c++) put_rows(e, &part, c);
    for (int64_t j = 0; j < n; j++) {
        e->y[e->pending + j] = x->y[first + j];
        e->w[e->pending + j] = x->weight ? x->weight[first + j] : 1;
        e->offset[e->pending + j] = x->offset ? x->offset[first + j] : 0;
    }
    e->pending += n;
}

static fab_status check_fault(const fab_lrvga *e)
{
    if (e->fault == FAB_OK) return FAB_OK;
    return FAB_FAIL(e->fault, "lrvga: a block failed after %.0f rows, and the stream cannot go on",
                    e->n.rows);
}

static fab_status update(void *handle, const fab_examples *x)
{
    fab_lrvga *e = handle;
    FAB_TRY(check_fault(e));
    for (int64_t done = 0; done < x->x.n;) {
        const int64_t full = fab_lrvga_next(e);
        const int64_t take = least(x->x.n - done, full - e->pending);
        keep(e, x, done, take);
        done += take;
        if (e->pending < full) break;
        const int before = fab_blas_enter();
        e->fault = fab_lrvga_flush(e, 0);
        fab_blas_leave(before);
        FAB_TRY(e->fault);
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

/* The rows and their y, w, offset, out of the way and back. */
static void swap_rows(fab_lrvga *e, int back)
{
    const size_t rows = (size_t)(e->pending * e->classes * e->T) * e->run.ops->size,
                 side = (size_t)(3 * e->room);
    char *kept = e->kept, *X = fab_absorb_columns(e->absorb);
    memcpy(back ? (void *)e->y : kept, back ? kept : (void *)e->y, side * sizeof *e->y);
    kept += side * sizeof *e->y;
    memcpy(back ? X : kept, back ? kept : X, rows);
}

fab_status fab_lrvga_remember(fab_lrvga *e)
{
    if (!e->tail)
        FAB_TRY(
            fab_gauss_create(&e->tail, FAB_PRECISION, e->run.ops->type, e->T, e->set.inner_rank));
    copy_gauss(e, e->tail, e->S);
    e->before = e->n;
    return FAB_OK;
}

void fab_lrvga_recall(fab_lrvga *e)
{
    copy_gauss(e, e->S, e->tail);
    e->n = e->before;
}

/* The state with the pending rows in it, made in a copy: the stream goes on as if nobody had asked. */
static fab_status take_all(fab_lrvga *e)
{
    const int64_t size = 3 * e->room * 8 + e->room * e->classes * e->T * (int64_t)e->run.ops->size;
    FAB_TRY(fab_lrvga_remember(e));
    if (!e->kept) FAB_TRY(fab_alloc_array(&e->kept, size, 1, "lrvga"));
    swap_rows(e, 0);
    fab_lrvga copy = *e;
    copy.S = e->tail;
    const int before = fab_blas_enter();
    const fab_status s = fab_lrvga_flush(&copy, 1);
    fab_blas_leave(before);
    swap_rows(e, 1);
    e->shown = copy.n;
    e->floored = copy.floored;
    return s;
}

/* 10 */
static fab_status cut(fab_lrvga *e, const fab_gauss *whole)
{
    const int64_t K = e->set.K, used = (int64_t)e->shown.used;
    if (!e->q) FAB_TRY(fab_gauss_create(&e->q, FAB_PRECISION, e->run.ops->type, e->T, K));
    memcpy(e->q->mu, whole->mu, (size_t)e->T * sizeof *e->q->mu);
    if (used > K && whole->K > K)
        return fab_gauss_cut_into(e->q, whole, e->set.tol, e->set.max_iter, &e->exec);
    const fab_long from = fab_lrvga_factors(e, whole, 0, least(used, K)),
                   to = fab_lrvga_factors(e, e->q, 0, from.k);
    memset(e->q->F, 0, (size_t)(e->T * K) * e->run.ops->size);
    if (from.k) e->run.ops->axpy(&e->run, NULL, &from, 0, &to);
    memcpy(e->q->psi, whole->psi, (size_t)e->T * sizeof *e->q->psi);
    return FAB_OK;
}

/* 11 */
static double noise(const fab_lrvga *e)
{
    const fab_lrvga_numbers *n = &e->shown;
    if (!fab_lrvga_gaussian(e)) return 1;
    if (!fab_is_auto_f64(e->set.train.beta)) return e->set.train.beta;
    return fab_noise(n->count - n->lost - (double)e->model.intercept, n->squares, n->power);
}

/* From units of the noise to precisions.  The prior's share was put in with the first beta. */
static void to_precision(fab_lrvga *e)
{
    const double beta = noise(e), first = e->shown.beta0;
    const fab_long F = fab_lrvga_factors(e, e->q, 0, e->set.K);
    fab_lrvga as_shown = *e;
    as_shown.n = e->shown;
    for (int64_t i = 0; i < e->T; i++) e->v[i] = sqrt(beta);
    e->run.ops->axpy(&e->run, e->v, &F, 0, &F);
    for (int64_t i = 0; i < e->T; i++) {
        const double psi = beta * e->q->psi[i],
                     moved = psi + (1 - beta / first) * fab_lrvga_prior_at(&as_shown, i);
        e->q->psi[i] = moved > 0.5 * psi ? moved : psi;
    }
}

fab_status fab_lrvga_result(void *handle, const fab_gauss **q)
{
    fab_lrvga *e = handle;
    FAB_TRY(check_fault(e));
    const int whole = e->pending == 0;
    e->shown = e->n;
    if (!whole) FAB_TRY(take_all(e));
    FAB_TRY(cut(e, whole ? e->S : e->tail));
    if (fab_lrvga_gaussian(e)) to_precision(e);
    FAB_TRY(fab_gauss_check(e->q));
    *q = e->q;
    return FAB_OK;
}

fab_status fab_lrvga_report(void *handle, fab_report *r)
{
    const fab_lrvga *e = handle;
    const fab_lrvga_numbers *n = &e->shown;
    const double beta = noise(e), rows = n->rows, two_pi = 6.283185307179586477;
    const double fit = 0.5 * (rows * log(beta / two_pi) - beta * n->squares - n->logdet);
    *r = (fab_report){.converged = -1,
                      .floored = e->floored,
                      .alpha = n->given > 0 ? NAN : n->alpha,
                      .beta = beta,
                      .log_evidence = e->set.forget < 1       ? NAN
                                      : fab_lrvga_gaussian(e) ? fit
                                                              : n->score};
    return FAB_OK;
}

const fab_method fab_lrvga_method = {
    .name = "lrvga",
    .summary = "one pass, precision of rank K: linear, logistic, poisson, softmax; for large D",
    .streams = 1,
    .takes = FAB_TAKES_LINEAR,
    .fields = &table,
    .bytes = bytes,
    .init = init,
    .resolve = choose,
    .update = update,
    .result = fab_lrvga_result,
    .report = fab_lrvga_report,
    .free = fab_lrvga_free,
    .save = fab_lrvga_save,
    .load = fab_lrvga_load,
    .general = &fab_lrvga_net_method,
};
