/* online_mfa.c - a mixture of factor analysers in one pass over a stream ([N] 9.4, [L] App. C).
 *
 *   state, of each part: n the rows it has, mu, S ~ W W' + psi with W of rank R >= q
 *   start, from the first rows alone:
 *   1  several starts, moves and EM (mix.c) on them; r their responsibilities
 *   2  W = [F, small columns at random], psi; EM of rank R on the rows of the part, weighted by r
 *   for each block of rows:
 *   3  r = the responsibilities under the present mixture, with the wide parts (parts.c)
 *   4  of each part: w = sum r, e = sum r (x - mu) / w;  X = [sqrt(r) (x - mu - e), sqrt(n w / (n + w)) e]
 *      S <- n / (n + w) S + 1 / (n + w) X X', back to rank R by EM (absorb);  mu += w / (n + w) e,  n += w
 *      (before this forget: n <- n forget^w;  kappa: n <- c n, so that the block has the share (t0 + t)^-kappa);  psi at least `floor` variances of the column
 *   result:
 *   5  the pending rows are taken in a copy, and each part is cut from R to q by EM on itself; weights are shares of n
 *
 * Step 4 is that of recursive-em with rows that have weights.  A row is seen once and then forgotten; nothing is D x D.  What
 * separates a good result from a bad one is the start: two clusters that are one part at the end of step 1 stay so.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "base/settings.h"
#include "fit/method.h"
#include "methods/mixture/mix.h"
#include "methods/mixture/waiting.h"
#include "posterior/absorb.h"
#include <math.h>
#include <string.h>

enum {
    ROWS_PER_COLUMN = 64, /* first = auto: rows for each part and column of it */
    LEAST_PER_COLUMN = 8, /* where memory is short */
    ROWS_PER_PART = 200,  /* block = auto, at most */
    MORE_RANK = 20,       /* inner_rank = auto: beside 2 q */
    SETTLING = 4,         /* absorbs of step 2 */
    START_STEPS = 50      /* of EM after the starts and moves */
};
#define START_TOL     1e-4 /* nats per row that its last step gains */
#define SETTLE_WEIGHT 1e-6 /* of what stood there, beside the first rows */
#define UNSEEN_SHARE  0.02 /* of psi, in the columns at random */
#define LEAST_WEIGHT  1e-6 /* rows of a block that move a part */

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_online_mfa_settings
static const fab_field fields[] = {
    REQUIRED(G, I64, 1, 4096, "number of parts"),
    FIELD(q, I64, 2, 1, 4096, "factors of a part"),
    AUTOMATIC(first, I64, 2, 0x1p30,
              "rows that the start is made from; auto: 64 G (q + 1), or as many as `memory` holds, "
              "at least 8 G (q + 1)"),
    AUTOMATIC(block, I64, 1, 0x1p20,
              "rows at a time; auto: as many as `memory` holds, at most 200 G"),
    AUTOMATIC(inner_rank, I64, 1, 8192, "rank kept inside, at least q; auto: 2 q + 20, at most D"),
    FIELD(inner, I64, 5, 1, 1000, "EM loops for each block and part"),
    FIELD(restarts, I64, 6, 1, 1000, "starts on the first rows; the likeliest is kept"),
    FIELD(moves, I64, 12, 0, 1000,
          "attempts to merge two parts and split another, on the first rows"),
    FIELD(forget, F64, 1, 0.5, 1,
          "weight of a part's past for each row of its own; below 1 for streams that drift"),
    FIELD(floor, F64, 1e-6, 1e-300, 0.5, "floor of psi, relative to the variance of the column"),
    FIELD(tol, F64, 1e-6, 1e-15, 1, "cut to q: stop when psi changes by less, relative"),
    FIELD(max_iter, I64, 1000, 1, 1e6, "cut to q: at most so many EM steps"),
    FIELD(memory, F64, 256, 0.001, 1e9, "MB for rows when first and block are auto"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the starts and moves"),
    FIELD(kappa, F64, 0, 0, 1,
          "share (t0 + t)^-kappa of block t, above .5 to converge; 0: running sums, rows alike"),
    FIELD(t0, F64, 2, 0, 1e9, "of kappa"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("online-mfa", fields);
#undef SETTINGS

static int64_t clamp(double v, int64_t lo, int64_t hi)
{
    if (!(v > (double)lo)) return lo;
    return v > (double)hi ? hi : (int64_t)v;
}

static void resolve(void *settings, const fab_input *in)
{
    fab_online_mfa_settings *s = settings;
    const int64_t D = in->vectors, columns = s->G * (s->q + 1);
    const double fit = s->memory * 1e6 / (8 * (double)D);
    if (s->q > D) s->q = D;
    if (fab_is_auto_i64(s->first))
        s->first = clamp(fit, LEAST_PER_COLUMN * columns, ROWS_PER_COLUMN * columns);
    if (fab_is_auto_i64(s->block)) s->block = clamp(fit, 1, ROWS_PER_PART * s->G);
    if (fab_is_auto_i64(s->inner_rank)) s->inner_rank = 2 * s->q + MORE_RANK;
    if (s->inner_rank > D) s->inner_rank = D;
}

static double parameters(const void *settings, int64_t n, int64_t D)
{
    const fab_online_mfa_settings *s = settings;
    const double d = (double)D, q = (double)(s->q < D ? s->q : D);
    return (double)n * (d * q - q * (q - 1) / 2 + d);
}

/* ---- life --------------------------------------------------------------------------------------------- */

typedef struct online_mfa {
    fab_online_mfa_settings set;
    int64_t D, R;
    fab_watch watch;
    fab_exec exec; /* with our progress, which asks and goes on */
    int threads;

    /* The stream. */
    fab_waiting wait;
    double *n;                 /* G */
    double *mu, *psi, *F;      /* G x D, G x D, G x D x R, in one piece behind n */
    double *centre, *variance; /* D: of the first rows */
    /* 2: sum of w log p of the rows behind the first, each before its block; their weight */
    double *score;

    /* A block. */
    fab_parts parts;
    fab_absorb *absorb;
    double *weight, *share; /* G; rows x G */

    /* The result. */
    double *kept; /* what flush changes, while result works */
    fab_gauss **own;
    const fab_gauss **part;
    double *shares;
    fab_mixture mixture;
    int64_t floored;
} online_mfa;

/* Numbers of n, mu, psi, F. */
static int64_t numbers_of(const online_mfa *e)
{
    return e->set.G * (1 + e->D * (2 + e->R));
}

static void layout(fab_layout *l, void *handle)
{
    online_mfa *e = handle;
    const int64_t D = e->D, G = e->set.G;
    fab_waiting_layout(l, &e->wait);
    e->n = fab_place(l, numbers_of(e), sizeof *e->n);
    e->mu = e->n ? e->n + G : NULL;
    e->psi = e->n ? e->mu + G * D : NULL;
    e->F = e->n ? e->psi + G * D : NULL;
    e->centre = fab_place(l, D, sizeof *e->centre);
    e->variance = fab_place(l, D, sizeof *e->variance);
    e->score = fab_place(l, 2, sizeof *e->score);
    e->weight = fab_place(l, G, sizeof *e->weight);
    e->share = fab_place(l, fab_waiting_room(&e->wait) * G, sizeof *e->share);
    e->own = fab_place(l, G, sizeof(fab_gauss *));
    e->part = fab_place(l, G, sizeof(fab_gauss *));
    e->shares = fab_place(l, G, sizeof *e->shares);
    fab_parts_layout(l, &e->parts);
}

static fab_absorb_settings absorb_settings(const online_mfa *e)
{
    return (fab_absorb_settings){
        .inner = e->set.inner, .expand = 1, .cut = FAB_CUT_EM, .psi_min = 1e-12};
}

/* Whoever watches is asked, and what was asked for goes on: the answer is kept by the fit. */
static int ask(void *ctx, const char *what, int64_t done, int64_t total)
{
    const online_mfa *e = ctx;
    (void)what;
    (void)fab_watch_tick(&e->watch, "online-mfa", done, total);
    return 0;
}

static fab_status prototype(online_mfa *e, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    fab_run run;
    FAB_TRY(fab_check_alone("online-mfa", x));
    FAB_TRY(fab_run_init(&run, x, FAB_F64));
    *e = (online_mfa){.set = *(const fab_online_mfa_settings *)settings, .D = in->vectors};
    resolve(&e->set, in);
    if (e->set.inner_rank < e->set.q)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "online-mfa: inner_rank = %lld is below q = %lld",
                        (long long)e->set.inner_rank, (long long)e->set.q);
    if (e->set.first < 2 * e->set.G)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "online-mfa: first = %lld rows for G = %lld parts, expected twice as many",
                        (long long)e->set.first, (long long)e->set.G);
    FAB_TRY(fab_waiting_check("online-mfa", e->set.kappa, e->set.forget));
    e->R = e->set.inner_rank;
    e->wait = (fab_waiting){.who = "online-mfa",
                            .D = e->D,
                            .first = e->set.first,
                            .block = e->set.block,
                            .kappa = e->set.kappa,
                            .t0 = e->set.t0};
    e->watch = fab_watch_of(x);
    e->threads = run.threads;
    e->parts = (fab_parts){.who = "online-mfa",
                           .D = e->D,
                           .G = e->set.G,
                           .q = e->R,
                           .shape = FAB_SHAPE_OWN,
                           .threads = run.threads,
                           .density_only = 1};
    return FAB_OK;
}

static void release(void *handle)
{
    online_mfa *e = handle;
    if (!e) return;
    fab_absorb_free(e->absorb);
    for (int64_t g = 0; g < e->set.G; g++) fab_gauss_free(e->own[g]);
    fab_release(e->kept);
    fab_release(e);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    online_mfa proto, *e;
    *handle = NULL;
    FAB_TRY(prototype(&proto, settings, in, x));
    FAB_TRY(fab_build((void **)&e, sizeof proto, &proto, layout));
    e->exec = (fab_exec){.ops = fab_ops_find("cpu", FAB_F64),
                         .threads = e->threads,
                         .progress = ask,
                         .progress_ctx = e};
    const fab_absorb_settings a = absorb_settings(e);
    const fab_status s = fab_absorb_create(&e->absorb, e->D, e->R, fab_waiting_room(&e->wait) + 1,
                                           &a, sizeof a, &e->exec);
    if (s != FAB_OK) {
        release(e);
        return s;
    }
    *handle = e;
    return FAB_OK;
}

static fab_mix_plan start_plan(const online_mfa *e)
{
    return (fab_mix_plan){.who = "online-mfa",
                          .D = e->D,
                          .G = e->set.G,
                          .q = e->set.q,
                          .shape = FAB_SHAPE_OWN,
                          .restarts = e->set.restarts,
                          .moves = e->set.moves,
                          .max_iter = START_STEPS,
                          .seed = e->set.seed,
                          .tol = START_TOL,
                          .floor = e->set.floor};
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    online_mfa proto;
    (void)n; /* a stream */
    if (prototype(&proto, settings, in, x) != FAB_OK) return NAN;
    const fab_absorb_settings a = absorb_settings(&proto);
    const fab_mix_plan plan = start_plan(&proto);
    const double starting = fab_mix_bytes(&plan, proto.set.first, x), G = (double)proto.set.G;
    const double ending = 8 * (double)numbers_of(&proto) +
                          8 * G * (double)proto.D * (double)(proto.set.q + 2);
    return (double)fab_build_size(sizeof proto, &proto, layout) +
           (starting > ending ? starting : ending) +
           fab_absorb_bytes(0, proto.D, proto.R, fab_waiting_room(&proto.wait) + 1, &a, NULL) +
           (double)fab_absorb_work(0, proto.D, proto.R, fab_waiting_room(&proto.wait) + 1, &a,
                                   NULL);
}

/* ---- 4, and the end of 2 ------------------------------------------------------------------------------ */

static fab_gauss wide_part(const online_mfa *e, int64_t g)
{
    const int64_t D = e->D;
    return (fab_gauss){.form = FAB_FORM_COVARIANCE,
                       .type = FAB_F64,
                       .D = D,
                       .K = e->R,
                       .mu = e->mu + g * D,
                       .F = e->F + g * D * e->R,
                       .psi = e->psi + g * D};
}

static void raise_psi(online_mfa *e, double *psi)
{
    for (int64_t i = 0; i < e->D; i++) {
        const double floor = e->set.floor * e->variance[i];
        if (psi[i] < floor) psi[i] = floor;
    }
}

/* The columns sqrt(r) (x - mu - e) of part g in absorb; *e of them, and their weight. */
static int64_t load_columns(online_mfa *e, int64_t g, int64_t m, double *w, double *mean)
{
    const int64_t D = e->D, G = e->set.G;
    double *X = fab_absorb_columns(e->absorb);
    const double *mu = e->mu + g * D;
    int64_t k = 0;
    *w = 0;
    memset(mean, 0, (size_t)D * sizeof *mean);
    for (int64_t j = 0; j < m; j++) {
        const double r = e->share[j * G + g] * e->wait.w[j];
        if (!(r > 0)) continue;
        *w += r;
        for (int64_t i = 0; i < D; i++) mean[i] += r * (e->wait.rows[j * D + i] - mu[i]);
    }
    if (!(*w > LEAST_WEIGHT)) return 0;
    for (int64_t i = 0; i < D; i++) mean[i] /= *w;
    for (int64_t j = 0; j < m; j++) {
        const double r = e->share[j * G + g] * e->wait.w[j], root = sqrt(r);
        if (!(r > 0)) continue;
        double *x = X + k++ * D;
        for (int64_t i = 0; i < D; i++) x[i] = root * (e->wait.rows[j * D + i] - mu[i] - mean[i]);
    }
    return k;
}

/* past: fab_waiting_past */
static fab_status move_part(online_mfa *e, int64_t g, int64_t m, double past)
{
    const int64_t D = e->D;
    double w, *mean = e->parts.small, *X = fab_absorb_columns(e->absorb);
    int64_t k = load_columns(e, g, m, &w, mean);
    if (k == 0) {
        e->n[g] *= past;
        return FAB_OK;
    }
    const double n = past * e->n[g] * pow(e->set.forget, w), after = n + w,
                 root = sqrt(n * w / after);
    for (int64_t i = 0; i < D; i++) X[k * D + i] = root * mean[i];
    fab_gauss q = wide_part(e, g);
    FAB_TRY(fab_absorb_loaded(e->absorb, &q, n / after, 1 / after, k + 1));
    for (int64_t i = 0; i < D; i++) q.mu[i] += w / after * mean[i];
    e->n[g] = after;
    raise_psi(e, q.psi);
    return FAB_OK;
}

/* 2, the end: from F and psi of the start to rank R on the rows of the part alone. */
static fab_status widen(online_mfa *e, int64_t g, int64_t m, const fab_parts *from)
{
    const int64_t D = e->D, R = e->R, q = e->set.q;
    double *mean = e->parts.small, w;
    fab_gauss S = wide_part(e, g);
    double *F = S.F;
    memcpy(S.mu, from->mu + g * D, (size_t)D * sizeof *S.mu);
    memcpy(S.psi, from->psi + g * D, (size_t)D * sizeof *S.psi);
    fab_random_normal((uint64_t)e->set.seed, FAB_PURPOSE_START, UINT64_MAX / 3 + (uint64_t)g, 0,
                      D * R, FAB_F64, F);
    for (int64_t i = 0; i < D; i++)
        for (int64_t k = 0; k < R; k++)
            F[i * R + k] = k < q ? from->F[(g * D + i) * q + k]
                                 : F[i * R + k] * sqrt(UNSEEN_SHARE * S.psi[i] / (double)R);
    const int64_t k = load_columns(e, g, m, &w, mean);
    e->n[g] = w;
    if (k == 0) return FAB_OK;
    for (int64_t i = 0; i < D; i++) S.mu[i] += mean[i];
    for (int64_t round = 0; round < SETTLING; round++) {
        FAB_TRY(fab_absorb_loaded(e->absorb, &S, SETTLE_WEIGHT, (1 - SETTLE_WEIGHT) / w, k));
        raise_psi(e, S.psi);
    }
    return FAB_OK;
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static fab_status responsibilities(online_mfa *e)
{
    double all = 0;
    const fab_rows rows = fab_waiting_rows(&e->wait);
    for (int64_t g = 0; g < e->set.G; g++) all += e->n[g];
    for (int64_t g = 0; g < e->set.G; g++) e->weight[g] = e->n[g] / all;
    e->parts.weight = e->weight;
    e->parts.mu = e->mu;
    e->parts.psi = e->psi;
    e->parts.F = e->F;
    e->parts.centre = e->centre;
    e->parts.variance = e->variance;
    FAB_TRY(fab_parts_begin(&e->parts));
    fab_parts_rows(&e->parts, &rows, e->wait.w, NULL, NULL, e->share);
    return FAB_OK;
}

static fab_status start_with(online_mfa *e, fab_mix *mix, int64_t m)
{
    const int64_t D = e->D, G = e->set.G;
    const fab_rows rows = fab_waiting_rows(&e->wait);
    FAB_TRY(fab_mix_rows(mix, &rows, e->wait.w));
    FAB_TRY(fab_mix_run(mix));
    fab_parts *from = fab_mix_parts(mix);
    memcpy(e->centre, from->centre, (size_t)D * sizeof *e->centre);
    memcpy(e->variance, from->variance, (size_t)D * sizeof *e->variance);
    FAB_TRY(fab_parts_begin(from));
    fab_parts_rows(from, &rows, e->wait.w, NULL, NULL, e->share);
    for (int64_t g = 0; g < G; g++) {
        FAB_TRY(widen(e, g, m, from));
        (void)ask(e, "", g, G);
    }
    return FAB_OK;
}

static fab_status start(online_mfa *e, int64_t m)
{
    fab_mix *mix;
    const fab_mix_plan plan = start_plan(e);
    FAB_TRY(fab_mix_create(&mix, &plan, &e->exec));
    const fab_status s = start_with(e, mix, m);
    fab_mix_free(mix);
    return s;
}

/* 4, of all parts */
static fab_status move_parts(online_mfa *e, int64_t m)
{
    double all = 0;
    for (int64_t g = 0; g < e->set.G; g++) all += e->n[g];
    const double past = fab_waiting_past(&e->wait, all, e->parts.rows);
    e->score[0] += e->parts.loglik;
    e->score[1] += e->parts.rows;
    for (int64_t g = 0; g < e->set.G; g++) FAB_TRY(move_part(e, g, m, past));
    return FAB_OK;
}

/* Take the pending rows in. */
static fab_status flush(void *handle)
{
    online_mfa *e = handle;
    const int64_t m = e->wait.n;
    const int before = fab_blas_enter();
    fab_status s = e->wait.started ? responsibilities(e) : start(e, m);
    if (s == FAB_OK && e->wait.started) s = move_parts(e, m);
    fab_blas_leave(before);
    if (s != FAB_OK) return s;
    e->wait.blocks[0] += (double)e->wait.started;
    e->wait.started = 1;
    e->wait.n = 0;
    return FAB_OK;
}

static fab_status update(void *handle, const fab_examples *x)
{
    online_mfa *e = handle;
    return fab_waiting_update(&e->wait, x, flush, e);
}

static double work(const void *handle)
{
    const online_mfa *e = handle;
    return (double)(e->D * e->R) * (double)(e->set.G + 2 * e->set.inner);
}

/* ---- 5 ------------------------------------------------------------------------------------------------ */

static fab_status cut_parts(online_mfa *e)
{
    const int64_t D = e->D;
    double all = 0;
    int64_t n = 0;
    e->floored = 0;
    for (int64_t g = 0; g < e->set.G; g++) all += e->n[g];
    for (int64_t g = 0; g < e->set.G; g++) {
        fab_gauss S = wide_part(e, g);
        if (!(e->n[g] > 0)) continue;
        if (!e->own[n])
            FAB_TRY(fab_gauss_create(&e->own[n], FAB_FORM_COVARIANCE, FAB_F64, D, e->set.q));
        fab_gauss *q = e->own[n];
        if (e->R == e->set.q) {
            memcpy(q->F, S.F, (size_t)(D * e->R) * sizeof(double));
            memcpy(q->psi, S.psi, (size_t)D * sizeof *q->psi);
        } else {
            FAB_TRY(fab_gauss_cut_into(q, &S, e->set.tol, e->set.max_iter, &e->exec));
        }
        memcpy(q->mu, S.mu, (size_t)D * sizeof *q->mu);
        raise_psi(e, q->psi);
        for (int64_t i = 0; i < D; i++) e->floored += !(q->psi[i] > e->set.floor * e->variance[i]);
        FAB_TRY(fab_gauss_check(q));
        e->part[n] = q;
        e->shares[n++] = e->n[g] / all;
    }
    e->mixture = (fab_mixture){n, e->part, e->shares};
    return FAB_OK;
}

static fab_status mixture(void *handle, const fab_mixture **q)
{
    online_mfa *e = handle;
    const int64_t pending = e->wait.n, started = e->wait.started, size = numbers_of(e);
    const double score[2] = {e->score[0], e->score[1]}, blocks = e->wait.blocks[0];
    fab_status s = FAB_OK;
    if (pending) {
        if (!e->kept)
            FAB_TRY(fab_alloc_array((void **)&e->kept, size, sizeof *e->kept, "online-mfa"));
        memcpy(e->kept, e->n, (size_t)size * sizeof *e->kept);
        s = flush(e);
    }
    if (s == FAB_OK) s = cut_parts(e);
    if (pending) {
        memcpy(e->n, e->kept, (size_t)size * sizeof *e->kept);
        e->wait.n = pending;
        e->wait.started = started;
        e->wait.blocks[0] = blocks;
        e->score[0] = score[0], e->score[1] = score[1];
    }
    *q = &e->mixture;
    return s;
}

static fab_status report(void *handle, fab_report *r)
{
    const online_mfa *e = handle;
    *r = (fab_report){.converged = -1,
                      .floored = e->floored,
                      .loglik_mean = e->score[1] > 0 ? e->score[0] / e->score[1] : NAN,
                      .loglik_rows = (int64_t)e->score[1],
                      .loglik_se = NAN,
                      .saturated = NAN};
    return FAB_OK;
}

/* ---- files -------------------------------------------------------------------------------------------- */

static fab_states states_of(online_mfa *e)
{
    const int64_t D = e->D, G = e->set.G;
    fab_states s = {0};
    fab_waiting_save(&e->wait, &s);
    if (e->wait.started) {
        fab_states_add(&s, "state.n", FAB_F64, G, 0, e->n);
        fab_states_add(&s, "state.mu", FAB_F64, G, D, e->mu);
        fab_states_add(&s, "state.psi", FAB_F64, G, D, e->psi);
        fab_states_add(&s, "state.F", FAB_F64, G * D, e->R, e->F);
        fab_states_add(&s, "state.centre", FAB_F64, D, 0, e->centre);
        fab_states_add(&s, "state.variance", FAB_F64, D, 0, e->variance);
        fab_states_add(&s, "state.score", FAB_F64, 2, 0, e->score);
    }
    fab_waiting_save_rows(&e->wait, &s);
    return s;
}

static fab_status save(void *handle, fab_tensors *t)
{
    const fab_states s = states_of(handle);
    return fab_states_save(&s, t);
}

static fab_status check_loaded(const online_mfa *e)
{
    FAB_TRY(fab_waiting_check_loaded(&e->wait));
    if (!e->wait.started) return FAB_OK;
    for (int64_t g = 0; g < e->set.G; g++) {
        const fab_gauss S = wide_part(e, g);
        if (!(e->n[g] >= 0))
            return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.n' has the number %g", e->n[g]);
        if (fab_gauss_check(&S) != FAB_OK) return FAB_BAD_FILE;
    }
    for (int64_t i = 0; i < e->D; i++)
        if (!(e->variance[i] > 0))
            return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.variance' is not positive");
    return FAB_OK;
}

static fab_status load(void *handle, const fab_tensors *t)
{
    online_mfa *e = handle;
    FAB_TRY(fab_waiting_load(&e->wait, t));
    const fab_states s = states_of(e);
    FAB_TRY(fab_states_load(&s, t));
    return check_loaded(e);
}

const fab_method fab_online_mfa_method = {
    .name = "online-mfa",
    .summary = "mixture of factor analysers in one pass over a stream",
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
