/* online_sga.c - online stochastic gradient ascent for factor analysis ([T] Alg. 1).
 *
 * After the warm-up, for each row, with psi = exp gamma and the learning rate a:
 *
 *   1  delta = x_t - mu,  mu <- mu + delta / t,  d = c delta          start.h; lines 5, 6, corrected
 *   2  r = F' psi^-1 d                                                G = F' psi^-1 F is known
 *   3  Sigma = (I + G)^-1,  m = Sigma r,  S = Sigma + m m'            7 - 9
 *   4  v = (d - F m)^2 + rowquad(F, Sigma)                            E (d - F h)^2, (4.20)
 *   5  gamma <- gamma + a (v / psi - 1) / 2                           11, 12, 14: (4.25), (4.26)
 *   6  F <- F + a psi^-1 (d m' - F S)                                 10, 13: (4.24), with the psi of 2
 *   7  G = F' psi^-1 F with the new F and psi                         in the sweep of 6
 *
 * F is read for 2 and twice for 4, read and written in 6.  gamma is not stored: 5 is
 * psi <- psi exp(a (v / psi - 1) / 2).  F stands in s.F, which the result shows.
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

typedef struct online_sga {
    fab_start s; /* first: the shared verbs take the handle for it; F is s.F */
    double rate;
    void *x;       /* D: a scratch vector; the deviation of the row is s.next */
    void *psi;     /* D */
    void *inverse; /* D: 1 / psi */
    void *v;       /* D: 4 */
    void *one;     /* D ones */

    double *G; /* K x K */

    double *sums;              /* G (K x K), r (K) */
    double *Sigma, *T, *C, *m; /* K x K; C, m: K */
} online_sga;

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_online_sga_settings
static const fab_field fields[] = {
    REQUIRED(K, I64, 1, 4096, "number of factors"),
    TUNED(rate, F64, 0.001, 1e-12, 1, LOG, 1e-5, 0.1, "learning rate"),
    FAB_START_WARMUP("step"),
    FAB_START_START(FAB_START_ORTHONORMAL, "before the first step"),
    FAB_START_CENTRE,
    FAB_START_PSI_MIN,
    FAB_START_SEED,
    FAB_HELD_FIELD,
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("online-sga", fields);
#undef SETTINGS

/* ---- life ------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    online_sga *e = handle;
    const int64_t D = e->s.D, K = e->s.K;
    fab_start_layout(l, &e->s);
    e->x = fab_place_long(l, D, e->s.run.ops->size);
    e->psi = fab_place_long(l, D, e->s.run.ops->vectors->size);
    e->inverse = fab_place_long(l, D, e->s.run.ops->vectors->size);
    e->v = fab_place_long(l, D, e->s.run.ops->vectors->size);
    e->one = fab_place_long(l, D, e->s.run.ops->vectors->size);
    e->G = fab_place(l, K * K, sizeof *e->G);
    e->sums = fab_place(l, K * K + K, sizeof *e->sums);
    e->Sigma = fab_place(l, K * K, sizeof *e->Sigma);
    e->T = fab_place(l, K * K, sizeof *e->T);
    e->C = fab_place(l, K, sizeof *e->C);
    e->m = fab_place(l, K, sizeof *e->m);
    if (!l->base) return;
    e->rate = ((const fab_online_sga_settings *)e->s.settings)->rate;
}

static fab_status step(void *handle), form_result(void *handle);
static fab_states state_of(void *handle);
static fab_fars far_of(void *handle);

static const fab_start_parts parts = {&table,      sizeof(online_sga), layout, step,
                                      form_result, state_of,           far_of};

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    FAB_TRY(fab_start_init(handle, &parts, settings, in, x));
    online_sga *e = *handle;
    e->s.run.ops->vectors->fill(&e->s.run, e->s.D, 1, e->one);
    return FAB_OK;
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    (void)n; /* a stream: the same for any number of rows */
    return fab_start_bytes(&parts, settings, in, x);
}

/* ---- the algorithm ---------------------------------------------------------------------------- */

static void invert_psi(online_sga *e)
{
    e->s.run.ops->vectors->map(&e->s.run, e->s.D, FAB_MAP_INVERSE, 0, 0, e->psi, e->inverse);
}

/* 2, 3 */
static fab_status e_step(online_sga *e)
{
    const int64_t K = e->s.K, D = e->s.D;
    const fab_long F = fab_long_rows(e->s.F, D, K), d = fab_long_vectors(e->s.next, D, 1, D);
    double *r = e->sums + K * K;
    e->s.run.ops->cross(&e->s.run, &F, e->inverse, &d, r);
    FAB_TRY(fab_sum(&e->s.run, r, K));
    for (int64_t k = 0; k < K; k++) r[k] *= e->s.c;
    memcpy(e->sums, e->G, (size_t)(K * K) * sizeof *e->G);
    if (!fab_all_finite(K * K + K, e->sums)) return FAB_NUMERIC;
    return fab_start_e_step(K, e->sums, r, e->Sigma, e->m);
}

/* 4  v, from the Cholesky factor of Sigma. */
static fab_status expected_squares(online_sga *e)
{
    const int64_t K = e->s.K, D = e->s.D;
    const fab_run *run = &e->s.run;
    const fab_long F = fab_long_rows(e->s.F, D, K), d = fab_long_vectors(e->s.next, D, 1, D);
    const fab_long x = fab_long_vectors(e->x, D, 1, D);
    memcpy(e->T, e->Sigma, (size_t)(K * K) * sizeof *e->T);
    FAB_TRY(fab_chol(K, e->T));
    run->ops->rowquad(run, &F, e->T, K, 0, e->v); /* rowquad(F, Sigma) */
    run->ops->mult(run, NULL, &d, &e->s.c, 0, &x);
    for (int64_t k = 0; k < K; k++) e->C[k] = -e->m[k];
    run->ops->mult(run, NULL, &F, e->C, 1, &x); /* d - F m */
    run->ops->rowquad(run, &x, NULL, 1, 1, e->v);
    return FAB_OK;
}

/* 5; where one process diverges, all stop */
static fab_status step_psi(online_sga *e)
{
    const double most =
        e->s.run.ops->vectors->size == 4 ? 1e37 : 1e306; /* beyond it the stream has diverged */
    double diverged = e->s.run.ops->vectors->ascend(&e->s.run, e->s.D, e->rate, e->v, e->inverse,
                                                    e->s.least, most, e->psi);
    FAB_TRY(fab_sum(&e->s.run, &diverged, 1));
    return diverged > 0 ? FAB_NUMERIC : FAB_OK;
}

/* 6, 7  F + psi^-1 F (-a S) + (psi^-1 delta) (a c m') */
static fab_status step_F(online_sga *e)
{
    const int64_t K = e->s.K, D = e->s.D;
    const double a = e->rate;
    const fab_long F = fab_long_rows(e->s.F, D, K), d = fab_long_vectors(e->s.next, D, 1, D);
    const fab_long x = fab_long_vectors(e->x, D, 1, D);
    for (int64_t j = 0; j < K; j++)
        for (int64_t i = 0; i < K; i++)
            e->T[i + j * K] = -a * (e->Sigma[i + j * K] + e->m[i] * e->m[j]);
    for (int64_t k = 0; k < K; k++) e->C[k] = a * e->s.c * e->m[k];
    e->s.run.ops->axpy(&e->s.run, e->inverse, &d, 0, &x);
    fab_sweep w = {.n = D,
                   .K = K,
                   .w = F,
                   .r0 = 1,
                   .u = F,
                   .T = e->T,
                   .s_num = e->inverse,
                   .s_den = e->one,
                   .x = x,
                   .C = e->C,
                   .out = F,
                   .psi = e->psi,
                   .G = e->G};
    e->s.run.ops->sweep(&e->s.run, &w);
    return fab_sum(&e->s.run, e->G, K * K);
}

/* The warm-up is over: F0, psi0 and their G. */
static fab_status begin(online_sga *e)
{
    const int64_t K = e->s.K;
    const fab_long F = fab_long_rows(e->s.F, e->s.D, K);
    FAB_TRY(fab_start_make(&e->s, e->psi));
    invert_psi(e);
    e->s.run.ops->gram(&e->s.run, &F, e->inverse, e->G);
    return fab_sum(&e->s.run, e->G, K * K);
}

static fab_status step(void *handle)
{
    online_sga *e = handle;
    fab_start_variance(&e->s, e->s.g, e->s.next);
    if (!e->s.done) {
        FAB_TRY(fab_start_end(&e->s));
        return e->s.done ? begin(e) : FAB_OK;
    }
    FAB_TRY(e_step(e));           /* 2, 3 */
    FAB_TRY(expected_squares(e)); /* 4 */
    FAB_TRY(step_psi(e));         /* 5 */
    FAB_TRY(step_F(e));           /* 6, 7 */
    invert_psi(e);
    return FAB_OK;
}

/* ---- the verbs -------------------------------------------------------------------------------- */

/* In the warm-up the result is the start that the rows so far give. */
static fab_status form_result(void *handle)
{
    online_sga *e = handle;
    const fab_vectors *v = e->s.run.ops->vectors;
    if (e->s.done)
        v->copy(&e->s.run, e->s.D, e->psi, e->s.psi);
    else
        FAB_TRY(fab_start_make(&e->s, e->s.psi));
    v->copy(&e->s.run, e->s.D, e->s.d2, e->s.w);
    return fab_start_finish(&e->s);
}

static fab_states state_of(void *handle)
{
    online_sga *e = handle;
    return (fab_states){{{"state.G", FAB_F64, e->s.K, e->s.K, e->G}}};
}

static fab_fars far_of(void *handle)
{
    online_sga *e = handle;
    return (fab_fars){
        {{"state.psi", FAB_FAR_VECTOR, 0, e->psi}, {"state.F", FAB_FAR_ARRAY, e->s.K, e->s.F}}};
}

static fab_status load(void *handle, const fab_tensors *t)
{
    FAB_TRY(fab_start_load(handle, t));
    invert_psi(handle);
    return FAB_OK;
}

const fab_method fab_online_sga_method = {
    .name = "online-sga",
    .summary = "online stochastic gradient ascent: one row at a time, a learning rate",
    .takes = FAB_TAKES_VECTORS,
    FAB_START_VERBS,
    .load = load,
};
