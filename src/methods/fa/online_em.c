/* online_em.c - online EM for factor analysis: [T] Alg. 2 in one pass over D x K per row.
 *
 * After row t, with weight g = 1/t (more under forgetting) and d_t from start.h:
 *
 *   1  delta = x_t - mu,  mu <- mu + g delta,  d_t = c delta          start.h; [T] lines 5, 6
 *   2  G = F' psi^-1 F,  r = F' psi^-1 d_t                            sums over the rows of F
 *   3  Sigma = (I + G)^-1,  m = Sigma r                               [T] lines 7 - 9
 *   4  B <- (1 - g) B + g m m',  H = Sigma + B                        10, 11
 *   5  A <- (1 - g) A + g d_t m'                                      12
 *   6  d2 <- (1 - g) d2 + g d_t^2                                     14
 *   7  F = A H^-1,  psi = d2 - rowdot(F, A)                           13, 15: F H = A
 *   8  expanded instead:  L L' = H,  A <- A L'^-1,  B <- L^-1 B L'^-1,  F = A,  psi = d2 - rowdot(F, F)
 *
 * F is not stored.  Row i of 5 - 8 needs a_i, d2_i, d_i and small matrices only, and so does row i's part
 * of 2 for the next row: step t is left pending as (d_t, m, g) and finished in the pass that projects
 * row t + 1, one sweep with W' = A R + delta C.  Plain EM keeps A and takes Q = H^-1 in psi; then
 * F' psi^-1 F = Q G Q and F' psi^-1 d = Q N of the sums over A.
 *
 * In the warm-up F0 and psi0 stand, and 4 - 6 are done at once.  `result` does the pending sweep into
 * F and leaves the stream alone.
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
#include <string.h>

typedef struct online_em {
    fab_start s; /* first: the shared verbs take the handle for it */
    int64_t expand;
    void *A;    /* D x K */
    void *last; /* D: delta of the pending row */
    void *psi;  /* D */

    double g, c;           /* of the pending row */
    double *B, *R, *Q, *H; /* K x K */
    double *C;             /* 1 x K */

    double *sums;          /* the one message: G (K x K), N (K) */
    double *Sigma, *L, *T; /* K x K */
    double *X, *m;         /* K x (2 K + 1); K */
} online_em;

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_online_em_settings
static const fab_field fields[] = {
    REQUIRED(K, I64, 1, 4096, "number of factors"),
    FAB_START_WARMUP("M-step"),
    SWITCH(expand, 1, "parameter-expanded M-step: the same cost, far faster from a bad start"),
    FAB_START_START(FAB_START_VARIANCE, "of the warm-up"),
    FAB_START_CENTRE,
    FIELD(forget, F64, 1, 0.5, 1,
          "weight of the past for each new row; below 1 for streams that drift"),
    FAB_START_PSI_MIN,
    FAB_START_SEED,
    FAB_HELD_FIELD,
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("online-em", fields);
#undef SETTINGS

/* ---- life ------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    online_em *e = handle;
    const int64_t D = e->s.D, K = e->s.K;
    fab_start_layout(l, &e->s);
    e->A = fab_place_long(l, D * K, e->s.run.ops->size);
    e->last = fab_place_long(l, D, e->s.run.ops->size);
    e->psi = fab_place_long(l, D, e->s.run.ops->vectors->size);
    e->B = fab_place(l, K * K, sizeof *e->B);
    e->R = fab_place(l, K * K, sizeof *e->R);
    e->Q = fab_place(l, K * K, sizeof *e->Q);
    e->H = fab_place(l, K * K, sizeof *e->H);
    e->C = fab_place(l, K, sizeof *e->C);
    e->sums = fab_place(l, K * K + K, sizeof *e->sums);
    e->Sigma = fab_place(l, K * K, sizeof *e->Sigma);
    e->L = fab_place(l, K * K, sizeof *e->L);
    e->T = fab_place(l, K * K, sizeof *e->T);
    e->X = fab_place(l, K * (2 * K + 1), sizeof *e->X);
    e->m = fab_place(l, K, sizeof *e->m);
    if (l->base) e->expand = ((const fab_online_em_settings *)e->s.settings)->expand;
}

static fab_status step(void *handle), form_result(void *handle);
static fab_states state_of(void *handle);
static fab_fars far_of(void *handle);

static const fab_start_parts parts = {&table,      sizeof(online_em), layout, step,
                                      form_result, state_of,          far_of};

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

/* 8  R = (1 - g) L'^-1, C = g c m' L'^-1 and B <- L^-1 B L'^-1, from one solve L^-1 [I, B, m]. */
static void expand(online_em *e, double g, double c)
{
    const int64_t K = e->s.K, KK = K * K;
    double *LB = e->X + KK, *Lm = e->X + 2 * KK;
    memset(e->X, 0, (size_t)KK * sizeof *e->X);
    fab_add_identity(K, e->X);
    memcpy(LB, e->B, (size_t)KK * sizeof *LB);
    memcpy(Lm, e->m, (size_t)K * sizeof *Lm);
    fab_tri_solve(FAB_LEFT, FAB_N, K, 2 * K + 1, e->L, e->X);
    fab_mm(FAB_N, FAB_T, K, K, K, 1, LB, e->X, 0, e->B);
    for (int64_t j = 0; j < K; j++)
        for (int64_t i = 0; i < K; i++) e->R[i + j * K] = (1 - g) * e->X[j + i * K];
    for (int64_t k = 0; k < K; k++) e->C[k] = g * c * Lm[k];
}

/* 7  C = g c m', Q = H^-1; R = (1 - g) I is a number */
static void keep(online_em *e, double g, double c)
{
    const int64_t K = e->s.K;
    for (int64_t k = 0; k < K; k++) e->C[k] = g * c * e->m[k];
    fab_chol_inv(K, e->L, e->Q);
}

/* 4, 7, 8  The small half of the M-step after a row of weight g, which is left pending. */
static fab_status m_step(online_em *e, double g, double c)
{
    const int64_t K = e->s.K, KK = K * K;
    for (int64_t i = 0; i < KK; i++) e->H[i] = e->Sigma[i] + e->B[i];
    memcpy(e->L, e->H, (size_t)KK * sizeof *e->L);
    FAB_TRY(fab_chol(K, e->L));
    if (e->expand)
        expand(e, g, c);
    else
        keep(e, g, c);
    e->g = g;
    e->c = c;
    return FAB_OK;
}

/* 5 - 8  The pending step on the rows of A; psi is left where psi says, d2 where base says. */
static fab_sweep pending(online_em *e, void *out, void *psi, void *base)
{
    const int64_t D = e->s.D, K = e->s.K;
    const double g = e->g, c = e->c;
    fab_sweep w = {.n = D,
                   .K = K,
                   .R = e->expand ? e->R : NULL,
                   .r0 = 1 - g,
                   .C = e->C,
                   .Q = e->expand ? NULL : e->Q,
                   .floor = e->s.psi_min,
                   .c0 = g,
                   .psi = e->s.least,
                   .c2 = g * c * c,
                   .c3 = 1 - g,
                   .d2 = e->s.d2,
                   .psi_out = psi,
                   .base_out = base};
    w.w = fab_long_rows(e->A, D, K);
    w.out = fab_long_rows(out, D, K);
    if (g > 0) w.x = fab_long_vectors(e->last, D, 1, D);
    return w;
}

/* 2  Finish the pending step and project the row that came. */
static fab_status project(online_em *e)
{
    const int64_t K = e->s.K;
    double *G = e->sums, *N = e->sums + K * K;
    fab_sweep w = pending(e, e->A, e->psi, e->s.d2);
    w.G = G;
    w.N = N;
    w.next = fab_long_vectors(e->s.next, e->s.D, 1, e->s.D);
    e->s.run.ops->sweep(&e->s.run, &w);
    FAB_TRY(fab_sum(&e->s.run, e->sums, K * K + K));
    for (int64_t k = 0; k < K; k++) N[k] *= e->s.c;
    if (e->expand) return FAB_OK;
    fab_mm(FAB_N, FAB_N, K, K, K, 1, e->Q, G, 0, e->T);
    fab_mm(FAB_N, FAB_N, K, K, K, 1, e->T, e->Q, 0, G);
    memcpy(e->m, N, (size_t)K * sizeof *N);
    fab_mv(FAB_N, K, K, 1, e->Q, e->m, 0, N);
    return FAB_OK;
}

/* 3, 4 */
static fab_status e_step(online_em *e)
{
    const int64_t K = e->s.K;
    const double g = e->s.g;
    if (!fab_all_finite(K * K + K, e->sums)) return FAB_NUMERIC;
    FAB_TRY(fab_start_e_step(K, e->sums, e->sums + K * K, e->Sigma, e->m));
    for (int64_t j = 0; j < K; j++)
        for (int64_t i = 0; i < K; i++)
            e->B[i + j * K] += g * (e->m[i] * e->m[j] - e->B[i + j * K]);
    return FAB_OK;
}

static fab_status warm_step(online_em *e)
{
    fab_start *s = &e->s;
    const fab_long A = fab_long_rows(e->A, s->D, s->K),
                   X = fab_long_vectors(e->s.next, s->D, 1, s->D);
    fab_start_variance(s, s->g, e->s.next);                                   /* 6 */
    FAB_TRY(fab_start_project(s, e->s.next, e->sums, e->sums + s->K * s->K)); /* 2 */
    FAB_TRY(e_step(e));                                                       /* 3, 4 */
    for (int64_t k = 0; k < s->K; k++) e->C[k] = s->g * s->c * e->m[k];
    s->run.ops->mult(&s->run, NULL, &X, e->C, 1 - s->g, &A); /* 5 */
    FAB_TRY(fab_start_end(s));
    return s->done ? m_step(e, 0, 0) : FAB_OK; /* 7, 8 */
}

static fab_status stream_step(online_em *e)
{
    FAB_TRY(project(e));                /* 2, and 5 - 8 of the row before */
    FAB_TRY(e_step(e));                 /* 3, 4 */
    FAB_TRY(m_step(e, e->s.g, e->s.c)); /* 4, 7, 8: pending */
    void *swap = e->last;
    e->last = e->s.next;
    e->s.next = swap;
    return FAB_OK;
}

static fab_status step(void *handle)
{
    online_em *e = handle;
    if (e->s.t == 1) return FAB_OK; /* d_1 = 0 */
    return e->s.done ? stream_step(e) : warm_step(e);
}

/* ---- the verbs -------------------------------------------------------------------------------- */

/* The warm-up's averages so far make the first M-step early, on copies of what it changes. */
static fab_status warm_result(online_em *e)
{
    const int64_t K = e->s.K;
    memcpy(e->T, e->B, (size_t)(K * K) * sizeof *e->T);
    const fab_status status = m_step(e, 0, 0);
    memcpy(e->B, e->T, (size_t)(K * K) * sizeof *e->B);
    e->s.has_F0 = 0; /* F is about to be used */
    return status;
}

static fab_status form_result(void *handle)
{
    online_em *e = handle;
    const int64_t K = e->s.K;
    if (!e->s.done) FAB_TRY(warm_result(e));
    fab_sweep w = pending(e, e->s.F, e->s.psi, e->s.w);
    if (!e->expand) {
        for (int64_t i = 0; i < K * K; i++) e->T[i] = w.r0 * e->Q[i]; /* F = A' H^-1 */
        fab_mm(FAB_N, FAB_N, 1, K, K, 1, e->C, e->Q, 0, e->m);
        w.R = e->T;
        w.C = e->m;
        w.Q = e->H;
    }
    e->s.run.ops->sweep(&e->s.run, &w);
    return fab_start_finish(&e->s);
}

static fab_states state_of(void *handle)
{
    online_em *e = handle;
    const int64_t K = e->s.K;
    return (fab_states){{{"state.pending_g", FAB_F64, 1, 0, &e->g},
                         {"state.pending_c", FAB_F64, 1, 0, &e->c},
                         {"state.B", FAB_F64, K, K, e->B},
                         {"state.R", FAB_F64, K, K, e->R},
                         {"state.Q", FAB_F64, K, K, e->Q},
                         {"state.H", FAB_F64, K, K, e->H},
                         {"state.C", FAB_F64, K, 0, e->C}}};
}

static fab_fars far_of(void *handle)
{
    online_em *e = handle;
    return (fab_fars){
        {{"state.d", FAB_FAR_ARRAY, 0, e->last}, {"state.A", FAB_FAR_ARRAY, e->s.K, e->A}}};
}

const fab_method fab_online_em_method = {
    .name = "online-em",
    .summary = "online EM: one row at a time, one pass over D x K a row",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    FAB_START_VERBS,
    .load = fab_start_load,
};
