/* stochastic_em.c - EM by stochastic approximation (Cappe and Moulines 2009; [L] App. C), in one pass.
 *
 * After row t, with the step size gamma = t^-power ([L] (112)) and d_t from start.h:
 *
 *   1  delta = x_t - mu,  mu <- mu + delta / t,  d_t = c delta        start.h
 *   2  G = W' psi^-1 W,  r = W' psi^-1 d_t                            sums over the rows of W
 *   3  Sigma = (I + G)^-1,  m = Sigma r                               M^-1 and E[z | v] of (108)
 *   4  S3 <- (1 - gamma) S3 + gamma (Sigma + m m')                    (108)
 *   5  S2 <- (1 - gamma) S2 + gamma d_t m'                            (108), D x K
 *   6  s1 <- (1 - gamma) s1 + gamma d_t^2                             (109)
 *   7  W = S2 S3^-1,  psi = s1 - rowdot(W, S2)
 *   8  Wbar <- Wbar + (W - Wbar) / n,  psibar likewise                (113), (114): n-th average
 *
 * W is not stored: step t is left pending and finished in the sweep that projects row t + 1, as in
 * online_em.c, with Q = S3^-1: W' psi^-1 W = Q G Q and W' psi^-1 d = Q N of the sums over S2.
 *
 * 8 begins after row average_from and recurses on the averages; they are never fed back.  [L] averages
 * from T/2, which a stream does not know.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/settings.h"
#include "fit/method.h"
#include "methods/fa/start.h"
#include "la/small.h"
#include "posterior/em.h"
#include <math.h>
#include <string.h>

typedef struct stochastic_em {
    fab_start s; /* first: the shared verbs take the handle for it; s.d2 is s1 */
    double power;
    int64_t average_from;
    void *S2;     /* D x K */
    void *last;   /* D: delta of the pending row */
    void *psi;    /* D */
    void *Wbar;   /* D x K, when averages are asked for */
    void *psibar; /* D, likewise */

    double g, c;      /* of the pending row: gamma and c */
    int64_t averages; /* taken */
    double *S3, *Q;   /* K x K */
    double *C;        /* 1 x K */

    double *sums;              /* the one message: G (K x K), N (K) */
    double *Sigma, *T, *m, *n; /* K x K; m, n: K */
} stochastic_em;

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_stochastic_em_settings
static const fab_field fields[] = {
    REQUIRED(K, I64, 1, 4096, "number of factors"),
    TUNED(power, F64, 0.6, 0.5, 1, LIN, 0.51, 1, "step size t^-power"),
    FIELD(average_from, I64, 0, 0, 0x1p53,
          "rows after which results are averaged, half of those to come in [L]; 0: never"),
    FAB_START_WARMUP("M-step"),
    FAB_START_START(FAB_START_VARIANCE, "of the warm-up"),
    FAB_START_CENTRE,
    FAB_START_PSI_MIN,
    FAB_START_SEED,
    FAB_HELD_FIELD,
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("stochastic-em", fields);
#undef SETTINGS

/* ---- life ------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    stochastic_em *e = handle;
    const int64_t D = e->s.D, K = e->s.K;
    const fab_stochastic_em_settings *set = e->s.settings;
    e->power = set->power;
    e->average_from = set->average_from;
    const int averages = e->average_from > 0;
    fab_start_layout(l, &e->s);
    e->S2 = fab_place_long(l, D * K, e->s.run.ops->size);
    e->last = fab_place_long(l, D, e->s.run.ops->size);
    e->psi = fab_place_long(l, D, e->s.run.ops->vectors->size);
    e->Wbar = averages ? fab_place_long(l, D * K, e->s.run.ops->size) : NULL;
    e->psibar = averages ? fab_place_long(l, D, e->s.run.ops->vectors->size) : NULL;
    e->S3 = fab_place(l, K * K, sizeof *e->S3);
    e->Q = fab_place(l, K * K, sizeof *e->Q);
    e->C = fab_place(l, K, sizeof *e->C);
    e->sums = fab_place(l, K * K + K, sizeof *e->sums);
    e->Sigma = fab_place(l, K * K, sizeof *e->Sigma);
    e->T = fab_place(l, K * K, sizeof *e->T);
    e->m = fab_place(l, K, sizeof *e->m);
    e->n = fab_place(l, K, sizeof *e->n);
}

static fab_status step(void *handle), form_result(void *handle);
static fab_states state_of(void *handle);
static fab_fars far_of(void *handle);

static const fab_start_parts parts = {
    &table, sizeof(stochastic_em), layout, step, form_result, state_of, far_of};

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    return fab_start_init(handle, &parts, settings, in, x);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    (void)n; /* a stream: the same for any number of rows */
    return fab_start_bytes(&parts, settings, in, x);
}

/* ---- the algorithm ---------------------------------------------------------------------------- */

static void scaled_identity(int64_t K, double a, double *R)
{
    memset(R, 0, (size_t)(K * K) * sizeof *R);
    for (int64_t k = 0; k < K; k++) R[k + k * K] = a;
}

/* 7  Q = S3^-1; a step of size gamma is left pending. */
static fab_status m_step(stochastic_em *e, double gamma, double c)
{
    const int64_t K = e->s.K;
    memcpy(e->T, e->S3, (size_t)(K * K) * sizeof *e->T);
    FAB_TRY(fab_chol(K, e->T));
    fab_chol_inv(K, e->T, e->Q);
    for (int64_t k = 0; k < K; k++) e->C[k] = gamma * c * e->m[k];
    e->g = gamma;
    e->c = c;
    return FAB_OK;
}

/* 5 - 7  The pending step on the rows of S2. */
static fab_sweep pending(stochastic_em *e, void *out, void *psi, void *base)
{
    const int64_t D = e->s.D, K = e->s.K;
    const double gamma = e->g, c = e->c;
    fab_sweep w = {.n = D,
                   .K = K,
                   .r0 = 1 - gamma,
                   .C = e->C,
                   .Q = e->Q,
                   .floor = e->s.psi_min,
                   .c0 = gamma,
                   .psi = e->s.least,
                   .c2 = gamma * c * c,
                   .c3 = 1 - gamma,
                   .d2 = e->s.d2,
                   .psi_out = psi,
                   .base_out = base};
    w.w = fab_long_rows(e->S2, D, K);
    w.out = fab_long_rows(out, D, K);
    if (gamma > 0) w.x = fab_long_vectors(e->last, D, 1, D);
    return w;
}

/* 8  The state that the last sweep finished, that after row t - 1, enters the averages. */
static void average(stochastic_em *e)
{
    const int64_t D = e->s.D, K = e->s.K;
    if (!e->Wbar || e->s.t - 1 <= e->average_from) return;
    const fab_long S2 = fab_long_rows(e->S2, D, K), W = fab_long_rows(e->Wbar, D, K);
    const double part = 1 / (double)++e->averages;
    for (int64_t i = 0; i < K * K; i++) e->T[i] = part * e->Q[i];
    e->s.run.ops->mult(&e->s.run, NULL, &S2, e->T, 1 - part, &W);
    e->s.run.ops->vectors->blend(&e->s.run, D, part, e->psi, 1 - part, e->psibar);
}

/* 2  Finish the pending step and project the row that came. */
static fab_status project(stochastic_em *e)
{
    const int64_t K = e->s.K;
    double *G = e->sums, *N = e->sums + K * K;
    fab_sweep w = pending(e, e->S2, e->psi, e->s.d2);
    w.G = G;
    w.N = N;
    w.next = fab_long_vectors(e->s.next, e->s.D, 1, e->s.D);
    e->s.run.ops->sweep(&e->s.run, &w);
    average(e); /* 8 */
    FAB_TRY(fab_sum(&e->s.run, e->sums, K * K + K));
    fab_mm(FAB_N, FAB_N, K, K, K, 1, e->Q, G, 0, e->T);
    fab_mm(FAB_N, FAB_N, K, K, K, 1, e->T, e->Q, 0, G);
    memcpy(e->n, N, (size_t)K * sizeof *N);
    fab_mv(FAB_N, K, K, e->s.c, e->Q, e->n, 0, N);
    return FAB_OK;
}

/* 3, 4 */
static fab_status e_step(stochastic_em *e, double gamma)
{
    const int64_t K = e->s.K;
    if (!fab_all_finite(K * K + K, e->sums)) return FAB_NUMERIC;
    FAB_TRY(fab_start_e_step(K, e->sums, e->sums + K * K, e->Sigma, e->m));
    for (int64_t j = 0; j < K; j++)
        for (int64_t i = 0; i < K; i++) {
            const double now = e->Sigma[i + j * K] + e->m[i] * e->m[j];
            e->S3[i + j * K] += gamma * (now - e->S3[i + j * K]);
        }
    return FAB_OK;
}

static fab_status warm_step(stochastic_em *e, double gamma)
{
    fab_start *s = &e->s;
    const fab_long S2 = fab_long_rows(e->S2, s->D, s->K),
                   X = fab_long_vectors(e->s.next, s->D, 1, s->D);
    fab_start_variance(s, gamma, e->s.next);                                  /* 6 */
    FAB_TRY(fab_start_project(s, e->s.next, e->sums, e->sums + s->K * s->K)); /* 2 */
    FAB_TRY(e_step(e, gamma));                                                /* 3, 4 */
    for (int64_t k = 0; k < s->K; k++) e->C[k] = gamma * s->c * e->m[k];
    s->run.ops->mult(&s->run, NULL, &X, e->C, 1 - gamma, &S2); /* 5 */
    FAB_TRY(fab_start_end(s));
    return s->done ? m_step(e, 0, 0) : FAB_OK; /* 7 */
}

static fab_status stream_step(stochastic_em *e, double gamma)
{
    FAB_TRY(project(e));               /* 2, and 5 - 8 of the row before */
    FAB_TRY(e_step(e, gamma));         /* 3, 4 */
    FAB_TRY(m_step(e, gamma, e->s.c)); /* 7: pending */
    void *swap = e->last;
    e->last = e->s.next;
    e->s.next = swap;
    return FAB_OK;
}

static fab_status step(void *handle)
{
    stochastic_em *e = handle;
    const double gamma = pow((double)e->s.t, -e->power);
    return e->s.done ? stream_step(e, gamma) : warm_step(e, gamma);
}

/* ---- the verbs -------------------------------------------------------------------------------- */

/* 8 for the result: F and psi, the state after row t, enter a copy of the averages. */
static void average_result(stochastic_em *e)
{
    const int64_t D = e->s.D, K = e->s.K;
    if (!e->Wbar || !e->s.done || e->s.t <= e->average_from) return;
    const fab_long W = fab_long_rows(e->Wbar, D, K), F = fab_long_rows(e->s.F, D, K);
    const double part = 1 / (double)(e->averages + 1), rest = 1 - part;
    scaled_identity(K, rest, e->T);
    e->s.run.ops->mult(&e->s.run, NULL, &W, e->T, part, &F);
    e->s.run.ops->vectors->blend(&e->s.run, D, rest, e->psibar, part, e->s.psi);
}

static fab_status form_result(void *handle)
{
    stochastic_em *e = handle;
    const int64_t K = e->s.K;
    if (!e->s.done) {
        e->s.has_F0 = 0;          /* F is about to be used */
        FAB_TRY(m_step(e, 0, 0)); /* early, from the warm-up's averages so far */
    }
    fab_sweep w = pending(e, e->s.F, e->s.psi, e->s.w);
    for (int64_t i = 0; i < K * K; i++) e->T[i] = w.r0 * e->Q[i]; /* W = S2 S3^-1 */
    fab_mm(FAB_N, FAB_N, 1, K, K, 1, e->C, e->Q, 0, e->n);
    w.R = e->T;
    w.C = e->n;
    w.Q = e->S3;
    e->s.run.ops->sweep(&e->s.run, &w);
    average_result(e);
    return fab_start_finish(&e->s);
}

static fab_states state_of(void *handle)
{
    stochastic_em *e = handle;
    const int64_t K = e->s.K;
    return (fab_states){{{"state.pending_g", FAB_F64, 1, 0, &e->g},
                         {"state.pending_c", FAB_F64, 1, 0, &e->c},
                         {"state.averages", FAB_I64, 1, 0, &e->averages},
                         {"state.S3", FAB_F64, K, K, e->S3},
                         {"state.Q", FAB_F64, K, K, e->Q},
                         {"state.C", FAB_F64, K, 0, e->C}}};
}

static fab_fars far_of(void *handle)
{
    stochastic_em *e = handle;
    const int64_t K = e->s.K;
    return (fab_fars){{{"state.d", FAB_FAR_ARRAY, 0, e->last},
                       {"state.S2", FAB_FAR_ARRAY, K, e->S2},
                       {"state.Wbar", FAB_FAR_ARRAY, K, e->Wbar},
                       {"state.psibar", FAB_FAR_VECTOR, 0, e->psibar}}};
}

const fab_method fab_stochastic_em_method = {
    .name = "stochastic-em",
    .summary =
        "stochastic EM of Cappe and Moulines: one row at a time, steps t^-power, averaged results",
    .takes = FAB_TAKES_VECTORS,
    FAB_START_VERBS,
    .load = fab_start_load,
};
