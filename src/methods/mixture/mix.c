/* mix.c - a mixture fitted to a table by EM: several starts, moves, and the best of them to its end.
 *
 *   1  centre and variances of the columns
 *   2  starts: K-means on the leading axes (labels.c; spheres: of columns in their own units) with seeds of their own; steps of EM with these labels, then SHORT steps
 *      without them ("small EM", Biernacki, Celeux and Govaert 2003).  Starts run side by side on the threads
 *   3  of the likeliest: `moves` times two parts that overlap much, or whose means are near, become one and another is split by K-means on its rows, SHORT
 *      steps from these labels; kept where the likelihood is higher (Ueda, Nakano, Ghahramani and Hinton 2000)
 *   4  EM until a step gains less than `tol` nats per row
 *
 * A step is begin, rows and maximise of parts.c; where nothing stands at its floor and no part has died the likelihood does not
 * fall, and debug builds hold it to that.  A run that is stopped in 2 or 3 begins again, in 4 it goes on.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/mixture/mix.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "la/small.h"
#include "la/threads.h"
#include "methods/mixture/labels.h"
#include "posterior/element.h"
#include "train/state.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    SHORT = 15,         /* steps of a start, and of a move */
    LABELLED = 5,       /* steps with labels, where there are factors to find */
    PLAIN_COLUMNS = 50, /* up to so many columns K-means has them all */
    MOST_AXES = 100,
    PAIRS = 3 /* that moves try to merge in turn */
};
#define START_SHARE 0.1   /* of the variance, in the factors at random that EM turns */
#define ROUNDING    1e-14 /* deviation over mean below which a column does not vary but round */
#define BEFORE      -1e300 /* the log-likelihood before the first step: a number that files can have */
#define FALL        1e-9 /* of the log-likelihood that is rounding, relative */

/* What is fitted: one of the starts, or the best. */
typedef struct state {
    double *weight, *mu, *psi, *F;
    double loglik;
    int64_t dropped, floored;
} state;

struct fab_mix {
    fab_mix_plan plan;
    fab_watch watch;
    int threads;
    fab_rows rows;
    const double *weight;

    int64_t started; /* 4 has begun: best is good */
    int64_t done;    /* and ended */
    int64_t round, converged, dropped, accepted, floored;
    double loglik, gain, total; /* mean; of the last step; weight of all rows */

    double *centre, *variance;
    state best;
    fab_parts engine; /* with all threads */

    fab_gauss **own; /* G */
    const fab_gauss **part;
    double *share;
    double *counts; /* G: rows of each part of the result */
    fab_mixture mixture;
};

/* ---- life ------------------------------------------------------------------------------------------- */

static int64_t state_numbers(const fab_mix_plan *p)
{
    return p->G + 2 * p->G * p->D + fab_parts_size_of_F(p->D, p->G, p->q, p->shape);
}

static void point_state(const fab_mix_plan *p, double *at, state *s)
{
    s->weight = at;
    s->mu = at + p->G;
    s->psi = s->mu + p->G * p->D;
    s->F = s->psi + p->G * p->D;
}

static void layout(fab_layout *l, void *handle)
{
    fab_mix *m = handle;
    const int64_t D = m->plan.D, G = m->plan.G;
    m->centre = fab_place(l, D, sizeof *m->centre);
    m->variance = fab_place(l, D, sizeof *m->variance);
    double *at = fab_place(l, state_numbers(&m->plan), sizeof *at);
    if (at) point_state(&m->plan, at, &m->best);
    fab_parts_layout(l, &m->engine);
    m->own = fab_place(l, G, sizeof *m->own);
    m->part = fab_place(l, G, sizeof *m->part);
    m->share = fab_place(l, G, sizeof *m->share);
    m->counts = fab_place(l, G, sizeof *m->counts);
}

static fab_status prototype(fab_mix *m, const fab_mix_plan *plan, const fab_exec *x)
{
    fab_run run;
    FAB_TRY(fab_check_alone(plan->who, x));
    FAB_TRY(fab_run_init(&run, x, FAB_F64));
    *m = (fab_mix){.plan = *plan, .watch = fab_watch_of(x), .threads = run.threads, .gain = NAN};
    if (plan->shape >= FAB_SHAPE_FULL && plan->D > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: full covariances of %lld columns are too large, expected at most %d: "
                        "mfa has low rank "
                        "plus diagonal",
                        plan->who, (long long)plan->D, FAB_DENSE_MAX);
    m->engine = (fab_parts){.who = plan->who,
                            .D = plan->D,
                            .G = plan->G,
                            .q = plan->q,
                            .shape = plan->shape,
                            .least = plan->floor,
                            .threads = run.threads};
    return FAB_OK;
}

fab_status fab_mix_create(fab_mix **m, const fab_mix_plan *plan, const fab_exec *x)
{
    fab_mix proto;
    *m = NULL;
    FAB_TRY(prototype(&proto, plan, x));
    FAB_TRY(fab_build((void **)m, sizeof proto, &proto, layout));
    const int64_t K = fab_parts_columns(plan->D, plan->q, plan->shape);
    for (int64_t g = 0; g < plan->G; g++) {
        const fab_status s =
            fab_gauss_create(&(*m)->own[g], FAB_FORM_COVARIANCE, FAB_F64, plan->D, K);
        if (s == FAB_OK) continue;
        fab_mix_free(*m);
        *m = NULL;
        return s;
    }
    return FAB_OK;
}

void fab_mix_free(fab_mix *m)
{
    if (!m) return;
    for (int64_t g = 0; g < m->plan.G; g++) fab_gauss_free(m->own[g]);
    fab_release(m);
}

/* Axes that K-means works on. */
static int64_t axes_of(const fab_mix_plan *p, int64_t n)
{
    const int64_t axes = p->G * (p->q + 1), few = axes < MOST_AXES ? axes : MOST_AXES;
    if (p->D <= PLAIN_COLUMNS) return p->D;
    const int64_t least = few < n ? few : n;
    return least < p->D ? least : p->D;
}

double fab_mix_bytes(const fab_mix_plan *plan, int64_t n, const fab_exec *x)
{
    fab_mix proto;
    if (prototype(&proto, plan, x) != FAB_OK) return NAN;
    const double K = (double)fab_parts_columns(plan->D, plan->q, plan->shape);
    return (double)fab_build_size(sizeof proto, &proto, layout) * (1 + (double)proto.threads) +
           8 * (double)state_numbers(plan) * (double)plan->restarts +
           8 * (double)plan->G * (double)plan->D * (K + 2) +
           8 * (double)n * ((double)proto.threads + 1 + (double)axes_of(plan, n));
}

/* ---- 1 ---------------------------------------------------------------------------------------------- */

fab_status fab_mix_columns(const fab_mix_table *t, double *row, double *mean, double *v,
                           double *total)
{
    const int64_t D = t->D, n = t->rows->n;
    double all = 0;
    *total = 0;
    memset(mean, 0, (size_t)D * sizeof *mean);
    memset(v, 0, (size_t)D * sizeof *v);
    for (int64_t j = 0; j < n; j++) *total += t->weight ? t->weight[j] : 1;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = 0; j < n; j++) {
            const double w = (t->weight ? t->weight[j] : 1) / *total;
            fab_rows_get(t->rows, j, D, row);
            for (int64_t i = 0; i < D; i++) {
                if (pass == 0)
                    mean[i] += w * row[i];
                else
                    v[i] += w * (row[i] - mean[i]) * (row[i] - mean[i]);
            }
            FAB_TRY(fab_watch_work(t->watch, (double)(4 * D), t->who, j, n));
        }
    int64_t vary = 0;
    for (int64_t i = 0; i < D; i++) {
        if (!(v[i] > ROUNDING * ROUNDING * mean[i] * mean[i])) v[i] = 0;
        vary += v[i] > 0;
        all += v[i];
    }
    if (!vary)
        return FAB_FAIL(FAB_BAD_DATA, "%s: every column is constant in the %lld rows", t->who,
                        (long long)n);
    for (int64_t i = 0; i < D; i++)
        if (!(v[i] > 0)) v[i] = all / (double)vary;
    return FAB_OK;
}

static fab_status find_columns(fab_mix *m)
{
    const fab_mix_table t = {m->plan.who, m->plan.D, &m->rows, m->weight, &m->watch};
    return fab_mix_columns(&t, m->engine.small, m->centre, m->variance, &m->total);
}

/* ---- a step ----------------------------------------------------------------------------------------- */

static void use(fab_parts *e, const fab_mix *m, const state *s)
{
    e->weight = s->weight;
    e->mu = s->mu;
    e->psi = s->psi;
    e->F = s->F;
    e->centre = m->centre;
    e->variance = m->variance;
    e->dropped = s->dropped;
}

/* The sums of all rows under s, block by block; asked is NULL where nobody may be asked. */
static fab_status expect(const fab_mix *m, fab_parts *e, state *s, const int64_t *label,
                         fab_watch *asked)
{
    use(e, m, s);
    FAB_TRY(fab_parts_begin(e));
    const double work = (double)(m->plan.D * m->plan.G * (e->k + 2));
    for (int64_t j = 0, n; j < m->rows.n; j += n) {
        const int64_t left = m->rows.n - j;
        n = left < e->block ? left : e->block;
        const fab_rows some = fab_rows_part(&m->rows, j, n);
        fab_parts_rows(e, &some, m->weight ? m->weight + j : NULL, label ? label + j : NULL, NULL,
                       NULL);
        if (asked)
            FAB_TRY(
                fab_watch_work(asked, work * (double)n, m->plan.who, m->round, m->plan.max_iter));
    }
    s->loglik = e->loglik / e->rows;
    return FAB_OK;
}

static fab_status maximise(fab_parts *e, state *s)
{
    FAB_TRY(fab_parts_maximise(e));
    s->dropped = e->dropped;
    s->floored = e->floored;
    return FAB_OK;
}

/* ---- 2 ---------------------------------------------------------------------------------------------- */

static void begin_state(const fab_mix *m, int64_t run, state *s)
{
    const int64_t D = m->plan.D, G = m->plan.G, k = m->engine.k, sets = m->engine.sets;
    s->dropped = s->floored = 0;
    for (int64_t g = 0; g < G; g++) {
        s->weight[g] = 1 / (double)G;
        memcpy(s->mu + g * D, m->centre, (size_t)D * sizeof *s->mu);
        memcpy(s->psi + g * D, m->variance, (size_t)D * sizeof *s->psi);
    }
    memset(s->F, 0, (size_t)(sets * D * k) * sizeof *s->F);
    if (m->plan.shape >= FAB_SHAPE_FULL) {
        for (int64_t g = 0; g < sets; g++)
            for (int64_t i = 0; i < D; i++) s->F[(g * D + i) * D + i] = sqrt(m->variance[i]);
        return;
    }
    if (k == 0) return;
    fab_random_normal((uint64_t)m->plan.seed, FAB_PURPOSE_START, UINT64_MAX - (uint64_t)run, 0,
                      G * D * k, FAB_F64, s->F);
    for (int64_t g = 0; g < G; g++)
        for (int64_t i = 0; i < D; i++)
            for (int64_t j = 0; j < k; j++)
                s->F[(g * D + i) * k + j] *= sqrt(START_SHARE * m->variance[i] / (double)k);
}

/* F with F F' = the covariance of g. */
static fab_status take_full(const fab_mix *m, const fab_gauss *g, double *F)
{
    const int64_t D = m->plan.D;
    double *S = m->engine.small;
    fab_solver *s;
    FAB_TRY(fab_solver_create(&s, g, NULL));
    fab_status done = fab_solver_dense(s, S);
    fab_solver_free(s);
    if (done == FAB_OK) done = fab_chol(D, S);
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++) F[i * D + j] = S[i + j * D];
    return done;
}

static fab_status take_part(fab_mix *m, int64_t g, const fab_gauss *from)
{
    const int64_t D = m->plan.D, k = m->engine.k;
    state *s = &m->best;
    if (from->form != FAB_FORM_COVARIANCE)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: part %lld of the start is in %s form, expected covariance",
                        m->plan.who, (long long)g, fab_form_name(from->form));
    memcpy(s->mu + g * D, from->mu, (size_t)D * sizeof *s->mu);
    if (m->plan.shape >= FAB_SHAPE_FULL)
        return g < m->engine.sets ? take_full(m, from, s->F + g * D * D) : FAB_OK;
    memcpy(s->psi + g * D, from->psi, (size_t)D * sizeof *s->psi);
    if (from->K != 0 && from->K != k)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: part %lld of the start has %lld factors, expected %lld or none",
                        m->plan.who, (long long)g, (long long)from->K, (long long)k);
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j < k; j++) {
            double *F = &s->F[(g * D + i) * k + j];
            if (from->K == 0)
                *F *= sqrt(from->psi[i]); /* of the columns at random, for variance 1 */
            else
                *F = fab_gauss_get(from, i * k + j);
        }
    return FAB_OK;
}

fab_status fab_mix_begin(fab_mix *m, const fab_mixture *start)
{
    FAB_TRY(fab_mixture_check(start));
    if (start->n != m->plan.G || start->part[0]->D != m->plan.D || start->part[0]->total)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: the start has %lld parts of %lld columns, expected %lld of %lld",
                        m->plan.who, (long long)start->n, (long long)start->part[0]->D,
                        (long long)m->plan.G, (long long)m->plan.D);
    for (int64_t i = 0; i < m->plan.D; i++) m->variance[i] = 1;
    begin_state(m, 0, &m->best);
    for (int64_t g = 0; g < start->n; g++) {
        m->best.weight[g] = start->weight[g];
        FAB_TRY(take_part(m, g, start->part[g]));
    }
    m->started = 1;
    m->loglik = BEFORE;
    return FAB_OK;
}

/* Steps with labels, then without. */
static fab_status short_run(const fab_mix *m, fab_parts *e, int64_t run, const int64_t *label,
                            state *s, fab_watch *asked)
{
    const int64_t steps = m->engine.k > 0 && m->plan.shape < FAB_SHAPE_FULL ? LABELLED : 1;
    begin_state(m, run, s);
    for (int64_t i = 0; i < steps + SHORT; i++) {
        FAB_TRY(expect(m, e, s, i < steps ? label : NULL, asked));
        FAB_TRY(maximise(e, s));
    }
    return expect(m, e, s, NULL, asked);
}

/* An engine of one thread for each that works. */
typedef struct engine {
    fab_parts parts;
} engine;

static void engine_layout(fab_layout *l, void *handle)
{
    fab_parts_layout(l, &((engine *)handle)->parts);
}

typedef struct starts {
    fab_mix *m;
    const double *z; /* n x p */
    int64_t p;
    int64_t first;   /* run of task 0 */
    engine **side;   /* threads */
    int64_t **label; /* threads x n */
    state *state;    /* restarts */
    fab_status *failed;
    fab_sentence *sentence;
    fab_watch *asked;
} starts;

static fab_status one_start(const starts *t, int64_t run, fab_parts *e, int64_t *label)
{
    const fab_mix *m = t->m;
    const fab_status s =
        fab_labels_find(t->z, m->rows.n, t->p, m->plan.G, NULL, 0, m->plan.seed + run, label);
    if (s != FAB_OK) return fab_prefix(s, "%s: ", m->plan.who);
    return short_run(m, e, run, label, &t->state[run], t->asked);
}

static void start_task(void *ctx, int64_t i, int thread)
{
    const starts *t = ctx;
    const int64_t run = t->first + i;
    t->failed[run] = one_start(t, run, &t->side[thread]->parts, t->label[thread]);
    if (t->failed[run] != FAB_OK) fab_sentence_keep(&t->sentence[run]);
}

/* Is a step long enough for its rows to be spread over the threads, and for questions inside? */
static int is_long(const fab_mix *m)
{
    return (double)m->rows.n * (double)(m->plan.D * m->plan.G) * (double)(m->engine.k + 2) >
           FAB_WATCH_WORK;
}

static fab_status run_starts(starts *t)
{
    fab_mix *m = t->m;
    const int64_t restarts = m->plan.restarts;
    const int wide = is_long(m) || m->threads == 1;
    for (int64_t run = 0; run < restarts;) {
        if (wide) {
            t->asked = &m->watch;
            FAB_TRY(one_start(t, run, &m->engine, t->label[0]));
            run++;
        } else {
            const int64_t left = restarts - run, now = left < m->threads ? left : m->threads;
            t->first = run;
            fab_parallel(m->threads, now, start_task, t);
            for (int64_t i = run; i < run + now; i++)
                if (t->failed[i] != FAB_OK)
                    return fab_sentence_raise(t->failed[i], &t->sentence[i]);
            run += now;
        }
        FAB_TRY(fab_watch_tick(&m->watch, m->plan.who, run, restarts));
    }
    return FAB_OK;
}

/* Is a the better of two?  Where there are no factors a part at its floor stands on a few rows that are alike, and its likelihood has
 * no bound but the floor: fewer of these come first. */
static int is_better(const fab_mix *m, const state *a, const state *b)
{
    const int collapses = m->plan.shape >= FAB_SHAPE_FULL || m->engine.k == 0;
    if (collapses && a->floored != b->floored) return a->floored < b->floored;
    return a->loglik > b->loglik;
}

static int64_t best_of(const fab_mix *m, const state *s, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (is_better(m, &s[i], &s[best])) best = i;
    return best;
}

static void copy_state(const fab_mix *m, const state *from, state *to)
{
    memcpy(to->weight, from->weight, (size_t)state_numbers(&m->plan) * sizeof *to->weight);
    to->loglik = from->loglik;
    to->dropped = from->dropped;
    to->floored = from->floored;
}

/* ---- 3 ---------------------------------------------------------------------------------------------- */

/* The likeliest part of each row, and how much the parts overlap: sum r_g r_h. */
static fab_status look(fab_mix *m, state *s, int64_t *label, double *overlap, double *share)
{
    const int64_t G = m->plan.G;
    fab_parts *e = &m->engine;
    use(e, m, s);
    FAB_TRY(fab_parts_begin(e));
    memset(overlap, 0, (size_t)(G * G) * sizeof *overlap);
    for (int64_t j = 0, n; j < m->rows.n; j += n) {
        const int64_t left = m->rows.n - j;
        n = left < e->block ? left : e->block;
        const fab_rows some = fab_rows_part(&m->rows, j, n);
        fab_parts_rows(e, &some, NULL, NULL, NULL, share);
        for (int64_t i = 0; i < n; i++) {
            const double *r = share + i * G;
            int64_t best = 0;
            for (int64_t g = 0; g < G; g++) {
                if (r[g] > r[best]) best = g;
                for (int64_t h = 0; h <= g && r[g] > 0; h++) overlap[g * G + h] += r[g] * r[h];
            }
            label[j + i] = best;
        }
    }
    return FAB_OK;
}

/* How near two parts are: their overlap, or their means in their own variances. */
static double nearness(const fab_mix *m, const state *s, const double *overlap, int64_t g,
                       int64_t h, int by_means)
{
    const int64_t D = m->plan.D, G = m->plan.G;
    if (!by_means)
        return overlap[g * G + h] / sqrt(overlap[g * G + g] * overlap[h * G + h] + 1e-300);
    double q = 0;
    for (int64_t i = 0; i < D; i++) {
        const double d = s->mu[g * D + i] - s->mu[h * D + i];
        q += d * d / m->variance[i];
    }
    return -q;
}

/* Labels after move number `move`; 0: there is none. */
static fab_status change_labels(const starts *t, int64_t move, const double *overlap,
                                int64_t *label, int64_t *half, int *made)
{
    const fab_mix *m = t->m;
    const int64_t G = m->plan.G, n = m->rows.n;
    double last = INFINITY, u;
    int64_t a = 0, b = 0, split;
    *made = 0;
    for (int64_t rank = 0; rank <= move / 2 % PAIRS;
         rank++) { /* the nearest pair, the next one, .. */
        double most = -INFINITY;
        for (int64_t g = 1; g < G; g++)
            for (int64_t h = 0; h < g; h++) {
                const double near = nearness(m, &m->best, overlap, g, h, (int)(move % 2));
                if (!(near > most && near < last)) continue;
                most = near;
                a = h, b = g;
            }
        last = most;
    }
    fab_random_uniform((uint64_t)m->plan.seed, FAB_PURPOSE_START, UINT64_MAX / 2, (uint64_t)move, 1,
                       &u);
    split = (int64_t)(u * (double)(G - 2));
    if (split >= a) split++;
    if (split >= b) split++;
    if (split >= G) split = G - 1;
    for (int64_t i = 0; i < n; i++)
        if (label[i] == b) label[i] = a;
    const fab_status s = fab_labels_find(t->z, n, t->p, 2, label, split,
                                         m->plan.seed + m->plan.restarts + move, half);
    if (s == FAB_BAD_DATA) return FAB_OK; /* its rows are all the same */
    FAB_TRY(s);
    int64_t side[2] = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        if (label[i] != split) continue;
        side[half[i]]++;
        if (half[i]) label[i] = b;
    }
    *made = side[0] > 2 * m->plan.q && side[1] > 2 * m->plan.q;
    return FAB_OK;
}

static fab_status run_moves(starts *t, int64_t *half, double *overlap, double *share)
{
    fab_mix *m = t->m;
    int64_t *label = t->label[0];
    state *other = &t->state[0];
    for (int64_t move = 0; m->plan.G > 2 && move < m->plan.moves; move++) {
        int made;
        FAB_TRY(look(m, &m->best, label, overlap, share));
        FAB_TRY(change_labels(t, move, overlap, label, half, &made));
        FAB_TRY(fab_watch_tick(&m->watch, m->plan.who, move, m->plan.moves));
        if (!made) continue;
        FAB_TRY(short_run(m, &m->engine, m->plan.restarts + move, label, other, &m->watch));
        if (!is_better(m, other, &m->best)) continue;
        copy_state(m, other, &m->best);
        m->accepted++;
    }
    return FAB_OK;
}

/* ---- 2, 3: with memory of their own ----------------------------------------------------------------- */

static void free_starts(starts *t, int64_t threads)
{
    for (int64_t i = 0; t->side && i < threads; i++) fab_release(t->side[i]);
    fab_release(t->side);
}

static fab_status build_starts(starts *t, double **block)
{
    fab_mix *m = t->m;
    const int64_t threads = m->threads, restarts = m->plan.restarts, n = m->rows.n, G = m->plan.G;
    const size_t numbers =
        (size_t)(state_numbers(&m->plan) * restarts + G * G + m->engine.block * G);
    FAB_TRY(fab_alloc_array((void **)&t->side, threads, sizeof(engine *), m->plan.who));
    memset(t->side, 0, (size_t)threads * sizeof *t->side);
    const size_t bytes = numbers * sizeof(double) +
                         (size_t)restarts *
                             (sizeof(state) + sizeof(fab_status) + sizeof(fab_sentence) + 16) +
                         (size_t)(threads + 1) * ((size_t)n * sizeof(int64_t) + sizeof(int64_t *));
    FAB_TRY(fab_alloc_array((void **)block, 1, bytes, m->plan.who));
    return FAB_OK;
}

static fab_status find_best(fab_mix *m)
{
    starts t = {.m = m};
    double *block = NULL;
    double *z = NULL;
    const int64_t threads = m->threads, restarts = m->plan.restarts, n = m->rows.n, G = m->plan.G;
    t.p = axes_of(&m->plan, n);
    fab_status s = build_starts(&t, &block);
    if (s == FAB_OK)
        s = fab_labels_axes(&z, m->plan.who, &m->rows, m->plan.D, t.p, m->centre,
                            m->plan.shape == FAB_SHAPE_ISOTROPIC ? NULL : m->variance, m->plan.seed,
                            m->threads);
    if (s == FAB_OK) {
        const int64_t each = state_numbers(&m->plan);
        double *numbers = block, *overlap = numbers + each * restarts, *share = overlap + G * G;
        t.label = (int64_t **)(void *)(share + m->engine.block * G);
        int64_t *labels = (int64_t *)(void *)(t.label + threads + 1);
        t.state = (state *)(void *)(labels + (threads + 1) * n);
        t.sentence = (fab_sentence *)(void *)(t.state + restarts);
        t.failed = (fab_status *)(void *)(t.sentence + restarts);
        t.z = z;
        for (int64_t i = 0; i <= threads; i++) t.label[i] = labels + i * n;
        for (int64_t i = 0; i < restarts; i++)
            point_state(&m->plan, numbers + i * each, &t.state[i]);
        engine proto = {.parts = m->engine};
        proto.parts.threads = 1;
        for (int64_t i = 0; i < threads && s == FAB_OK && !is_long(m); i++)
            s = fab_build((void **)&t.side[i], sizeof proto, &proto, engine_layout);
        if (s == FAB_OK) s = run_starts(&t);
        if (s == FAB_OK) copy_state(m, &t.state[best_of(m, t.state, restarts)], &m->best);
        if (s == FAB_OK) s = run_moves(&t, t.label[threads], overlap, share);
    }
    fab_release(z);
    fab_release(block);
    free_starts(&t, threads);
    return s;
}

/* ---- 4 ---------------------------------------------------------------------------------------------- */

fab_status fab_mix_rows(fab_mix *m, const fab_rows *x, const double *weight)
{
    if (x->n < m->plan.G)
        return FAB_FAIL(FAB_BAD_DATA, "%s: G = %lld parts for %lld rows", m->plan.who,
                        (long long)m->plan.G, (long long)x->n);
    m->rows = *x;
    m->weight = weight;
    m->done = 0;
    return FAB_OK;
}

fab_status fab_mix_run(fab_mix *m)
{
    fab_parts *e = &m->engine;
    if (m->done) return FAB_OK;
    FAB_TRY(find_columns(m));
    if (!m->started) {
        m->round = m->accepted = 0;
        FAB_TRY(find_best(m));
        m->started = 1;
        m->loglik = BEFORE;
    }
    m->converged = 0;
    for (;;) {
        FAB_TRY(expect(m, e, &m->best, NULL, &m->watch));
        m->gain = m->best.loglik - m->loglik;
        assert(m->floored || m->dropped != e->dropped ||
               !(m->gain < -FALL * (1 + fabs(m->loglik))));
        m->loglik = m->best.loglik;
        m->dropped = e->dropped;
        if (m->gain < m->plan.tol) m->converged = 1;
        if (m->converged || m->round >= m->plan.max_iter) break;
        FAB_TRY(maximise(e, &m->best));
        m->floored = e->floored;
        m->round++;
        FAB_TRY(fab_watch_tick(&m->watch, m->plan.who, m->round, m->plan.max_iter));
    }
    m->done = 1;
    if (m->dropped)
        fab_watch_log(&m->watch, "%s: %lld of %lld parts had less than one row and were dropped",
                      m->plan.who, (long long)m->dropped, (long long)m->plan.G);
    return FAB_OK;
}

/* ---- out -------------------------------------------------------------------------------------------- */

fab_parts *fab_mix_parts(fab_mix *m)
{
    use(&m->engine, m, &m->best);
    return &m->engine;
}

fab_status fab_mix_result(fab_mix *m, const fab_mixture **q)
{
    int64_t n;
    if (!m->started)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: stopped before a first mixture was found",
                        m->plan.who);
    use(&m->engine, m, &m->best);
    FAB_TRY(fab_parts_give(&m->engine, m->own, m->part, m->share, &n));
    for (int64_t g = 0, at = 0; g < m->plan.G; g++)
        if (m->best.weight[g] > 0) m->counts[at++] = m->best.weight[g] * m->total;
    m->mixture = (fab_mixture){n, m->part, m->share};
    *q = &m->mixture;
    return FAB_OK;
}

fab_status fab_mix_report_verb(void *handle, fab_report *r)
{
    const fab_mix *m = handle;
    *r = (fab_report){.iterations = m->round,
                      .converged = m->converged,
                      .floored = m->floored,
                      .gain = m->gain,
                      .loglik_mean = m->loglik,
                      .saturated = NAN};
    return FAB_OK;
}

static fab_states states_of(fab_mix *m)
{
    const fab_mix_plan *p = &m->plan;
    const int64_t F = fab_parts_size_of_F(p->D, p->G, p->q, p->shape);
    fab_states s = {0};
    fab_states_add(&s, "state.weight", FAB_F64, p->G, 0, m->best.weight);
    fab_states_add(&s, "state.mu", FAB_F64, p->G, p->D, m->best.mu);
    fab_states_add(&s, "state.psi", FAB_F64, p->G, p->D, m->best.psi);
    if (F) fab_states_add(&s, "state.F", FAB_F64, F, 0, m->best.F);
    fab_states_add(&s, "state.loglik", FAB_F64, 1, 0, &m->loglik);
    fab_states_add(&s, "state.round", FAB_I64, 1, 0, &m->round);
    fab_states_add(&s, "state.dropped", FAB_I64, 1, 0, &m->best.dropped);
    fab_states_add(&s, "state.floored", FAB_I64, 1, 0, &m->floored);
    return s;
}

fab_status fab_mix_save_verb(void *handle, fab_tensors *t)
{
    fab_mix *m = handle;
    if (!m->started) return FAB_OK;
    const fab_states s = states_of(m);
    return fab_states_save(&s, t);
}

fab_status fab_mix_load_verb(void *handle, const fab_tensors *t)
{
    fab_mix *m = handle;
    const fab_states s = states_of(m);
    const int64_t D = m->plan.D, G = m->plan.G;
    double sum = 0;
    FAB_TRY(fab_states_load(&s, t));
    for (int64_t g = 0; g < G; g++) sum += m->best.weight[g] >= 0 ? m->best.weight[g] : NAN;
    if (!(fabs(sum - 1) < 1e-6))
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.weight' has no shares of 1");
    for (int64_t i = 0; i < G * D; i++)
        if (!(m->best.psi[i] > 0) || !isfinite(m->best.mu[i]) || !isfinite(m->best.psi[i]))
            return FAB_FAIL(FAB_BAD_FILE, "tensors 'state.mu' and 'state.psi' are no mixture");
    if (m->round < 0) return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.round' is negative");
    m->started = 1;
    return FAB_OK;
}

fab_status fab_mix_tensors_verb(void *handle, fab_tensors *t)
{
    fab_mix *m = handle;
    return fab_tensors_add(t, "counts", FAB_F64, 1, &m->mixture.n, m->counts);
}

fab_status fab_mix_open(void **handle, const fab_mix_plan *plan, const fab_input *in,
                        const fab_exec *x)
{
    FAB_TRY(fab_mix_create((fab_mix **)handle, plan, x));
    const fab_status s = in->start ? fab_mix_begin(*handle, in->start) : FAB_OK;
    if (s == FAB_OK) return FAB_OK;
    fab_mix_free(*handle);
    *handle = NULL;
    return s;
}

fab_status fab_mix_update_verb(void *handle, const fab_examples *e)
{
    return fab_mix_rows(handle, &e->x, e->weight);
}

fab_status fab_mix_mixture_verb(void *handle, const fab_mixture **q)
{
    FAB_TRY(fab_mix_run(handle));
    return fab_mix_result(handle, q);
}

fab_status fab_mix_so_far_verb(void *handle, const fab_mixture **q)
{
    return fab_mix_result(handle, q);
}

void fab_mix_free_verb(void *handle)
{
    fab_mix_free(handle);
}
