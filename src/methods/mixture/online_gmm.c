/* online_gmm.c - a mixture of Gaussians in one pass over a stream ([N] 9.4; Titterington 1984; Cappe and Moulines 2009).
 *
 *   state, of each part: n the rows it has, mu, S; covariances full, tied, diagonal or spherical as in gmm
 *   start, from the first rows alone:
 *   1  several starts, moves and EM (mix.c) on them;  n = the share of a part times their weight
 *   for each block of rows:
 *   2  r = the responsibilities under the present mixture;  w = sum r,  s = sum r (x - mu),  B = sum r (x - mu)(x - mu)'  (parts.c)
 *   3  of each part: n <- n forget^w  (kappa: n <- c n, so that the block has the share (t0 + t)^-kappa)
 *   4  the sums of all rows so far, about mu: n + w, s, n S + B
 *   5  the M step of gmm from them: mu += s / (n + w),  S <- (n S + B) / (n + w) - s s' / (n + w)^2,  floors, weights n / sum n
 *   result:
 *   6  the pending rows are taken in a copy
 *
 * n, mu and S are the sufficient statistics of the part: nothing else of a row is kept.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "base/settings.h"
#include "fit/method.h"
#include "methods/mixture/mix.h"
#include "methods/mixture/waiting.h"
#include <math.h>
#include <string.h>

enum {
    ROWS_PER_COLUMN =
        64, /* first = auto: rows for each number of a mean and covariance, of a part */
    LEAST_ROWS_OF_ALL = 20,
    ROWS_PER_PART = 200, /* block = auto, at most */
    START_STEPS = 200    /* of EM after the starts and moves */
};
#define START_TOL 1e-5 /* nats per row that its last step gains */

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_online_gmm_settings
static const char *const covariances[] = {"full", "tied", "diag", "spherical", NULL};
static const fab_field fields[] = {
    REQUIRED(G, I64, 1, 4096, "number of parts"),
    CHOICE(covariance, FAB_GMM_FULL, covariances, "of a part; tied: one full covariance for all"),
    AUTOMATIC(
        first, I64, 2, 0x1p30,
        "rows that the start is made from; auto: 64 G (D + 1), or as many as `memory` holds, at "
        "least 20 G"),
    AUTOMATIC(block, I64, 1, 0x1p20,
              "rows at a time; auto: as many as `memory` holds, at most 200 G"),
    FIELD(restarts, I64, 6, 1, 1000, "starts on the first rows; the likeliest is kept"),
    FIELD(moves, I64, 12, 0, 1000,
          "attempts to merge two parts and split another, on the first rows"),
    FIELD(forget, F64, 1, 0.5, 1,
          "weight of a part's past for each row of its own; below 1 for streams that drift"),
    FIELD(kappa, F64, 0, 0, 1,
          "share (t0 + t)^-kappa of block t, above .5 to converge; 0: running sums, rows alike"),
    FIELD(t0, F64, 2, 0, 1e9, "of kappa"),
    FIELD(
        floor, F64, 1e-6, 1e-300, 0.5,
        "floor of the eigenvalues (variances) of a part, relative to the variances of the columns"),
    FIELD(memory, F64, 256, 0.001, 1e9, "MB for rows when first and block are auto"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the starts and moves"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("online-gmm", fields);
#undef SETTINGS

static int64_t clamp(double v, int64_t lo, int64_t hi)
{
    if (!(v > (double)lo)) return lo;
    return v > (double)hi ? hi : (int64_t)v;
}

static void resolve(void *settings, const fab_input *in)
{
    fab_online_gmm_settings *s = settings;
    const double fit = s->memory * 1e6 / (8 * (double)in->vectors);
    const double most = (double)ROWS_PER_COLUMN * (double)s->G * (double)(in->vectors + 1);
    if (fab_is_auto_i64(s->first))
        s->first = clamp(fit, LEAST_ROWS_OF_ALL * s->G, most < 0x1p30 ? (int64_t)most : 1 << 30);
    if (fab_is_auto_i64(s->block)) s->block = clamp(fit, 1, ROWS_PER_PART * s->G);
}

static fab_mix_plan plan_of(const fab_online_gmm_settings *s, int64_t D)
{
    static const fab_shape shape[] = {FAB_SHAPE_FULL, FAB_SHAPE_TIED, FAB_SHAPE_OWN,
                                      FAB_SHAPE_ISOTROPIC};
    return (fab_mix_plan){.who = "online-gmm",
                          .D = D,
                          .G = s->G,
                          .shape = shape[s->covariance],
                          .restarts = s->restarts,
                          .moves = s->moves,
                          .max_iter = START_STEPS,
                          .seed = s->seed,
                          .tol = START_TOL,
                          .floor = s->floor};
}

static double parameters(const void *settings, int64_t n, int64_t D)
{
    const fab_online_gmm_settings *s = settings;
    const double d = (double)D, full = d * (d + 1) / 2, parts = (double)n;
    const double count[] = {parts * full, full, parts * d, parts};
    return count[s->covariance];
}

/* ---- life --------------------------------------------------------------------------------------------- */

typedef struct online_gmm {
    fab_online_gmm_settings set;
    int64_t D, sizeF;
    fab_watch watch;
    fab_exec exec; /* with our progress, which asks and goes on */
    int threads;

    fab_waiting wait;
    /* n, share, mu, psi, F in one piece: G, G, G x D, G x D, sets x D x k (parts.h) */
    double *n, *share, *mu, *psi, *F;
    double *centre, *variance; /* D: of the first rows */
    /* 2: sum of w log p of the rows behind the first, each before its block; their weight */
    double *score;
    int64_t floored, reported; /* of the last block; of the result */
    fab_parts parts;

    /* The result. */
    double *kept; /* what flush changes, while result works */
    fab_gauss **own;
    const fab_gauss **part;
    double *weight;
    fab_mixture mixture;
} online_gmm;

static int64_t numbers_of(const online_gmm *e)
{
    return e->set.G * (2 + 2 * e->D) + e->sizeF;
}

static void layout(fab_layout *l, void *handle)
{
    online_gmm *e = handle;
    const int64_t D = e->D, G = e->set.G;
    fab_waiting_layout(l, &e->wait);
    e->n = fab_place(l, numbers_of(e), sizeof *e->n);
    e->share = e->n ? e->n + G : NULL;
    e->mu = e->n ? e->share + G : NULL;
    e->psi = e->n ? e->mu + G * D : NULL;
    e->F = e->n ? e->psi + G * D : NULL;
    e->kept = fab_place(l, numbers_of(e), sizeof *e->kept);
    e->centre = fab_place(l, D, sizeof *e->centre);
    e->variance = fab_place(l, D, sizeof *e->variance);
    e->score = fab_place(l, 2, sizeof *e->score);
    e->own = fab_place(l, G, sizeof(fab_gauss *));
    e->part = fab_place(l, G, sizeof(fab_gauss *));
    e->weight = fab_place(l, G, sizeof *e->weight);
    fab_parts_layout(l, &e->parts);
}

/* Whoever watches is asked, and what was asked for goes on: the answer is kept by the fit. */
static int ask(void *ctx, const char *what, int64_t done, int64_t total)
{
    const online_gmm *e = ctx;
    (void)what;
    (void)fab_watch_tick(&e->watch, "online-gmm", done, total);
    return 0;
}

static fab_status prototype(online_gmm *e, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    fab_run run;
    FAB_TRY(fab_check_alone("online-gmm", x));
    FAB_TRY(fab_run_init(&run, x, FAB_F64));
    *e = (online_gmm){.set = *(const fab_online_gmm_settings *)settings, .D = in->vectors};
    const int64_t D = e->D;
    resolve(&e->set, in);
    const fab_shape shape = plan_of(&e->set, D).shape;
    if (shape >= FAB_SHAPE_FULL && D > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "online-gmm: D = %lld, and full covariances are for %d at most; "
                        "covariance=diag, or online-mfa",
                        (long long)D, FAB_DENSE_MAX);
    if (e->set.first < 2 * e->set.G)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "online-gmm: first = %lld rows for G = %lld parts, expected twice as many",
                        (long long)e->set.first, (long long)e->set.G);
    FAB_TRY(fab_waiting_check("online-gmm", e->set.kappa, e->set.forget));
    e->sizeF = fab_parts_size_of_F(D, e->set.G, 0, shape);
    e->watch = fab_watch_of(x);
    e->threads = run.threads;
    e->wait = (fab_waiting){.who = "online-gmm",
                            .D = D,
                            .first = e->set.first,
                            .block = e->set.block,
                            .kappa = e->set.kappa,
                            .t0 = e->set.t0};
    e->parts = (fab_parts){.who = "online-gmm",
                           .D = D,
                           .G = e->set.G,
                           .shape = shape,
                           .least = e->set.floor,
                           .threads = run.threads};
    return FAB_OK;
}

static void release(void *handle)
{
    online_gmm *e = handle;
    if (!e) return;
    for (int64_t g = 0; g < e->set.G; g++) fab_gauss_free(e->own[g]);
    fab_release(e);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    online_gmm proto, *e;
    *handle = NULL;
    FAB_TRY(prototype(&proto, settings, in, x));
    FAB_TRY(fab_build((void **)&e, sizeof proto, &proto, layout));
    e->exec = (fab_exec){.threads = e->threads, .progress = ask, .progress_ctx = e};
    const int64_t k = fab_parts_columns(e->D, 0, e->parts.shape);
    for (int64_t g = 0; g < e->set.G; g++) {
        const fab_status s = fab_gauss_create(&e->own[g], FAB_FORM_COVARIANCE, FAB_F64, e->D, k);
        if (s == FAB_OK) continue;
        release(e);
        return s;
    }
    *handle = e;
    return FAB_OK;
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    online_gmm proto;
    (void)n; /* a stream */
    if (prototype(&proto, settings, in, x) != FAB_OK) return NAN;
    const fab_mix_plan plan = plan_of(&proto.set, proto.D);
    const double k = (double)fab_parts_columns(proto.D, 0, plan.shape), G = (double)proto.set.G;
    return (double)fab_build_size(sizeof proto, &proto, layout) +
           fab_mix_bytes(&plan, proto.set.first, x) + 8 * G * (double)proto.D * (k + 2);
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static fab_status start_with(online_gmm *e, fab_mix *mix)
{
    const int64_t D = e->D, G = e->set.G;
    const fab_rows rows = fab_waiting_rows(&e->wait);
    fab_report r;
    double all = 0;
    FAB_TRY(fab_mix_rows(mix, &rows, e->wait.w));
    FAB_TRY(fab_mix_run(mix));
    FAB_TRY(fab_mix_report_verb(mix, &r));
    const fab_parts *from = fab_mix_parts(mix);
    for (int64_t j = 0; j < e->wait.n; j++) all += e->wait.w[j];
    for (int64_t g = 0; g < G; g++) e->n[g] = from->weight[g] * all;
    memcpy(e->share, from->weight, (size_t)G * sizeof *e->share);
    memcpy(e->mu, from->mu, (size_t)(G * D) * sizeof *e->mu);
    memcpy(e->psi, from->psi, (size_t)(G * D) * sizeof *e->psi);
    if (e->sizeF) memcpy(e->F, from->F, (size_t)e->sizeF * sizeof *e->F);
    memcpy(e->centre, from->centre, (size_t)D * sizeof *e->centre);
    memcpy(e->variance, from->variance, (size_t)D * sizeof *e->variance);
    e->floored = r.floored;
    return FAB_OK;
}

static fab_status start(online_gmm *e)
{
    fab_mix *mix;
    const fab_mix_plan plan = plan_of(&e->set, e->D);
    FAB_TRY(fab_mix_create(&mix, &plan, &e->exec));
    const fab_status s = start_with(e, mix);
    fab_mix_free(mix);
    return s;
}

/* ---- 2 - 5 -------------------------------------------------------------------------------------------- */

static fab_parts *use(online_gmm *e)
{
    fab_parts *p = &e->parts;
    p->weight = e->share;
    p->mu = e->mu;
    p->psi = e->psi;
    p->F = e->F;
    p->centre = e->centre;
    p->variance = e->variance;
    return p;
}

/* 4, the covariance: n S of part g, lower in rows as parts.c adds it; of a diagonal n psi. */
static void add_past(online_gmm *e, int64_t g, double n)
{
    const int64_t D = e->D;
    fab_parts *p = &e->parts;
    if (e->sizeF == 0) {
        for (int64_t i = 0; i < D; i++) p->square[g * D + i] += n * e->psi[g * D + i];
        return;
    }
    const double *F = e->F + (p->sets == 1 ? 0 : g) * D * D; /* lower, in rows */
    double *sum = p->sum + g * (D + 1) * D;
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j <= i; j++) {
            double s = 0;
            for (int64_t l = 0; l <= j; l++) s += F[i * D + l] * F[j * D + l];
            sum[i * D + j] += n * s;
        }
}

static fab_status take_block(online_gmm *e)
{
    fab_parts *p = use(e);
    const fab_rows rows = fab_waiting_rows(&e->wait);
    double all = 0;
    FAB_TRY(fab_parts_begin(p));
    fab_parts_rows(p, &rows, e->wait.w, NULL, NULL, NULL); /* 2 */
    e->score[0] += p->loglik;
    e->score[1] += p->rows;
    for (int64_t g = 0; g < e->set.G; g++) all += e->n[g];
    const double past = fab_waiting_past(&e->wait, all, p->rows);
    for (int64_t g = 0; g < e->set.G; g++) {
        if (!(e->share[g] > 0)) continue;
        const double n = past * e->n[g] * pow(e->set.forget, p->n[g]); /* 3 */
        add_past(e, g, n);
        p->n[g] += n; /* 4 */
    }
    FAB_TRY(fab_parts_maximise(p)); /* 5 */
    memcpy(e->n, p->n, (size_t)e->set.G * sizeof *e->n);
    e->floored = p->floored;
    return FAB_OK;
}

/* Take the pending rows in. */
static fab_status flush(void *handle)
{
    online_gmm *e = handle;
    const int before = fab_blas_enter();
    const fab_status s = e->wait.started ? take_block(e) : start(e);
    fab_blas_leave(before);
    if (s != FAB_OK) return s;
    e->wait.blocks[0] += (double)e->wait.started;
    e->wait.started = 1;
    e->wait.n = 0;
    return FAB_OK;
}

static fab_status update(void *handle, const fab_examples *x)
{
    online_gmm *e = handle;
    return fab_waiting_update(&e->wait, x, flush, e);
}

static double work(const void *handle)
{
    const online_gmm *e = handle;
    const double d = (double)e->D;
    return (double)e->set.G * (e->sizeF ? 2 * d * d : 6 * d);
}

/* ---- 6 ------------------------------------------------------------------------------------------------ */

static fab_status mixture(void *handle, const fab_mixture **q)
{
    online_gmm *e = handle;
    const int64_t pending = e->wait.n, started = e->wait.started, floored = e->floored,
                  size = numbers_of(e);
    const double score[2] = {e->score[0], e->score[1]}, blocks = e->wait.blocks[0];
    fab_status s = FAB_OK;
    if (pending) {
        memcpy(e->kept, e->n, (size_t)size * sizeof *e->kept);
        s = flush(e);
    }
    if (s == FAB_OK) s = fab_parts_give(use(e), e->own, e->part, e->weight, &e->mixture.n);
    e->mixture = (fab_mixture){e->mixture.n, e->part, e->weight};
    e->reported = e->floored;
    if (pending) {
        memcpy(e->n, e->kept, (size_t)size * sizeof *e->kept);
        e->wait.n = pending;
        e->wait.started = started;
        e->wait.blocks[0] = blocks;
        e->score[0] = score[0], e->score[1] = score[1];
        e->floored = floored;
    }
    *q = &e->mixture;
    return s;
}

static fab_status report(void *handle, fab_report *r)
{
    const online_gmm *e = handle;
    *r = (fab_report){.converged = -1,
                      .floored = e->reported,
                      .loglik_mean = e->score[1] > 0 ? e->score[0] / e->score[1] : NAN,
                      .loglik_rows = (int64_t)e->score[1],
                      .loglik_se = NAN,
                      .saturated = NAN};
    return FAB_OK;
}

/* ---- files -------------------------------------------------------------------------------------------- */

static fab_states states_of(online_gmm *e)
{
    const int64_t D = e->D, G = e->set.G;
    fab_states s = {0};
    fab_waiting_save(&e->wait, &s);
    if (e->wait.started) {
        fab_states_add(&s, "state.n", FAB_F64, G, 0, e->n);
        fab_states_add(&s, "state.share", FAB_F64, G, 0, e->share);
        fab_states_add(&s, "state.mu", FAB_F64, G, D, e->mu);
        fab_states_add(&s, "state.psi", FAB_F64, G, D, e->psi);
        if (e->sizeF) fab_states_add(&s, "state.F", FAB_F64, e->sizeF, 0, e->F);
        fab_states_add(&s, "state.centre", FAB_F64, D, 0, e->centre);
        fab_states_add(&s, "state.variance", FAB_F64, D, 0, e->variance);
        fab_states_add(&s, "state.score", FAB_F64, 2, 0, e->score);
        fab_states_add(&s, "state.floored", FAB_I64, 1, 0, &e->floored);
    }
    fab_waiting_save_rows(&e->wait, &s);
    return s;
}

static fab_status save(void *handle, fab_tensors *t)
{
    const fab_states s = states_of(handle);
    return fab_states_save(&s, t);
}

static fab_status check_loaded(const online_gmm *e)
{
    const int64_t D = e->D, G = e->set.G;
    double sum = 0;
    FAB_TRY(fab_waiting_check_loaded(&e->wait));
    if (!e->wait.started) return FAB_OK;
    for (int64_t g = 0; g < G; g++) {
        if (!(e->n[g] >= 0 && isfinite(e->n[g])))
            return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.n' has the number %g", e->n[g]);
        sum += e->share[g] >= 0 ? e->share[g] : NAN;
    }
    if (!(fabs(sum - 1) < 1e-6))
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.share' has no shares of 1");
    for (int64_t i = 0; i < G * D; i++)
        if (!(e->psi[i] > 0) || !isfinite(e->psi[i]) || !isfinite(e->mu[i]))
            return FAB_FAIL(FAB_BAD_FILE, "tensors 'state.mu' and 'state.psi' are no mixture");
    for (int64_t i = 0; i < e->sizeF; i++)
        if (!isfinite(e->F[i])) return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.F' is no covariance");
    for (int64_t i = 0; i < D; i++)
        if (!(e->variance[i] > 0) || !isfinite(e->centre[i]))
            return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.variance' is not positive");
    return FAB_OK;
}

static fab_status load(void *handle, const fab_tensors *t)
{
    online_gmm *e = handle;
    FAB_TRY(fab_waiting_load(&e->wait, t));
    const fab_states s = states_of(e);
    FAB_TRY(fab_states_load(&s, t));
    return check_loaded(e);
}

const fab_method fab_online_gmm_method = {
    .name = "online-gmm",
    .summary = "mixture of Gaussians in one pass over a stream",
    .streams = 1,
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    .fields = &table,
    .parameters = parameters,
    .init = init,
    .free = release,
    .bytes = bytes,
    .resolve = resolve,
    .update = update,
    .work = work,
    .mixture = mixture,
    .mixture_so_far = mixture,
    .report = report,
    .save = save,
    .load = load,
};
