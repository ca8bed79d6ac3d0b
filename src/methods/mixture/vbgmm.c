/* vbgmm.c - mixtures of Gaussians by variational Bayes ([N] 9.5.2, 9.5.3; Attias 1999; Bishop 2006, 10.2).
 *
 *   p(w) = Dirichlet(a0, .., a0),   p(L_g) = Wishart(B0^-1, v0),   p(mu_g | L_g) = N(m0, (b0 L_g)^-1)
 *   q(z) q(w) prod_g q(mu_g, L_g), of the same families:  a, m, b, B, v of each part
 *
 *   1  m0 = mean of the rows, C = their covariance and floor times its diagonal, B0 = c C; diag: one Wishart of 1 x 1 for each
 *      coordinate, which is a Gamma(v0 / 2, B0 / 2)
 *   2  starts: labels of K-means on the leading axes (labels.c), or the rule of Bayes under a mixture that is given; 4 of these
 *   3  log rho_ig = E log w_g + (E log det L_g - D log 2 pi - D / b_g - v_g (x_i - m_g)' B_g^-1 (x_i - m_g)) / 2,
 *      r = rho over its sum, log p_i = log of that sum
 *   4  n = sum r, e = mean of the part's rows, S = their scatter about it:
 *      a = a0 + n, b = b0 + n, v = v0 + n, m = (b0 m0 + n e) / b, B = B0 + S + b0 n / b (e - m0)(e - m0)'
 *      scatter auto: c = G v0 D / sum_g v_g trace C B_g^-1;  mean_precision auto: b0 = G D / sum_g (D / b_g + v_g (m_g - m0)' B_g^-1
 *      (m_g - m0)), at most 1: of largest bound given the rest.  Both begin at 1
 *   5  bound = sum_i log p_i - KL(q(w), p(w)) - sum_g KL(q(mu_g, L_g), p(mu_g, L_g)), after 3; until a step gains less than tol nats a
 *      row; of the restarts the largest bound, of those whose c is above its floor if there are such
 *   6  the result: N(m_g, B_g / v_g) with weights as a_g, of the parts that have a row or more
 *
 * 3 is the E step of parts.c under covariances B_g / v_g, whose log weights are what is left of 3: rows and sums are those of EM.  No step
 * can lower the bound, and debug builds hold it to that.  A part that loses its rows stays in the model with q = p, at no cost to the bound.
 *
 * SPDX-License-Identifier: MIT */
#include "base/digamma.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/settings.h"
#include "fit/method.h"
#include "la/small.h"
#include "methods/mixture/labels.h"
#include "methods/mixture/mix.h"
#include "posterior/element.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { MOST_AXES = 100, ROWS = 256 };
#define LOG_2      0.69314718055994530942
#define LOG_PI     1.1447298858494001741
#define BEFORE     -1e300
#define FALL       1e-9 /* of the bound that is rounding, relative */
#define LEAST_ROWS 1.0  /* of a part that is in the result */
#define LEAST      1e-4 /* of c and b0: rows that are alike, a part of their own, would have them at 0 */

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_vbgmm_settings
static const char *const covariances[] = {"full", "diag", NULL};
static const fab_field fields[] = {
    REQUIRED(G, I64, 1, 4096, "number of parts, of which some may lose all rows"),
    CHOICE(covariance, FAB_VBGMM_FULL, covariances, "of a part"),
    AUTOMATIC(concentration, F64, 1e-12, 1e12,
              "of the Dirichlet prior of the weights, each part; auto: 1 / G"),
    AUTOMATIC(mean_precision, F64, 1e-12, 1e12,
              "rows that the prior mean of a part counts as; auto: 1 or less, of largest bound"),
    AUTOMATIC(freedom, F64, 1e-12, 1e12,
              "degrees of freedom of the prior of a part; auto: the columns, of diag 1"),
    AUTOMATIC(scatter, F64, 1e-12, 1e12,
              "of that prior, in covariances of all rows; auto: that of largest bound"),
    FIELD(floor, F64, 1e-6, 1e-12, 1,
          "added to these on the diagonal, relative to the variances of the columns"),
    FIELD(tol, F64, 1e-7, 0, 1, "stop when a step gains less, in nats per row"),
    FIELD(max_iter, I64, 2000, 1, 1e9, "steps of a start"),
    FIELD(restarts, I64, 5, 1, 1000, "starts; the end of the largest bound is kept"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the starts"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("vbgmm", fields);
#undef SETTINGS

static void resolve(void *settings, const fab_input *in)
{
    fab_vbgmm_settings *s = settings;
    if (fab_is_auto_f64(s->concentration)) s->concentration = 1 / (double)s->G;
    if (fab_is_auto_f64(s->freedom))
        s->freedom = s->covariance == FAB_VBGMM_FULL ? (double)in->vectors : 1;
}

/* Free parameters of the covariances of n parts. */
static double parameters(const void *settings, int64_t n, int64_t D)
{
    const fab_vbgmm_settings *s = settings;
    const double d = (double)D;
    return (double)n * (s->covariance == FAB_VBGMM_FULL ? d * (d + 1) / 2 : d);
}

/* ---- life --------------------------------------------------------------------------------------------- */

/* q of all parts. */
typedef struct state {
    double *n; /* G: rows */
    double *mu, *psi,
        *F;       /* G x D; B / v: diag, G x D; full: its Cholesky factor, G x D x D in rows */
    double *lift; /* G: of log rho beside log N(x; m, B / v) */
    double kl;    /* from the prior */
    double c, b0; /* scatter and mean precision of the prior */
    double b;     /* b of a part is this and its rows */
} state;

typedef struct vb {
    fab_vbgmm_settings set;
    int64_t D, full;
    int threads;
    fab_watch watch;
    fab_rows rows;
    const double *weight; /* NULL: 1 */

    fab_parts engine;
    double *centre, *variance; /* D: m0; variances of the columns */
    double *C, *L0;            /* full: D x D in columns, and its Cholesky factor; diag: D */
    double logdet_C, total;    /* of C; weight of all rows */
    double *one;               /* G: weights of 1 */
    double *logdet_B, *trace,
        *pull; /* G: of the parts, for kl; v trace C B^-1; v (m - m0)' B^-1 (m - m0) */
    state now, best;
    state given; /* a start; n: weights */
    int64_t has_start;

    double bound;
    fab_report report;
    fab_gauss **own; /* G */
    const fab_gauss **part;
    double *share, *counts, *freedom, *mean_precision,
        *concentration; /* G, of those in the result */
    fab_mixture mixture;
} vb;

static int64_t size_of_F(const vb *e)
{
    return e->full ? e->set.G * e->D * e->D : 0;
}

static int64_t state_numbers(const vb *e)
{
    return 2 * e->set.G * (e->D + 1) + size_of_F(e);
}

static void place_state(fab_layout *l, const vb *e, state *s)
{
    const int64_t G = e->set.G, D = e->D;
    double *at = fab_place(l, state_numbers(e), sizeof *at);
    if (!at) return;
    s->n = at;
    s->lift = s->n + G;
    s->mu = s->lift + G;
    s->psi = s->mu + G * D;
    s->F = s->psi + G * D;
}

static void layout(fab_layout *l, void *handle)
{
    vb *e = handle;
    const int64_t D = e->D, G = e->set.G, square = e->full ? D * D : D;
    fab_parts_layout(l, &e->engine);
    e->centre = fab_place(l, D, sizeof *e->centre);
    e->variance = fab_place(l, D, sizeof *e->variance);
    e->C = fab_place(l, square, sizeof *e->C);
    e->L0 = fab_place(l, square, sizeof *e->L0);
    e->one = fab_place(l, G, sizeof *e->one);
    e->logdet_B = fab_place(l, G, sizeof *e->logdet_B);
    e->trace = fab_place(l, G, sizeof *e->trace);
    e->pull = fab_place(l, G, sizeof *e->pull);
    place_state(l, e, &e->now);
    place_state(l, e, &e->best);
    if (e->has_start) place_state(l, e, &e->given);
    e->own = fab_place(l, G, sizeof *e->own);
    e->part = fab_place(l, G, sizeof *e->part);
    double *numbers = fab_place(l, 5 * G, sizeof *numbers);
    if (!numbers) return;
    e->share = numbers;
    e->counts = e->share + G;
    e->freedom = e->counts + G;
    e->mean_precision = e->freedom + G;
    e->concentration = e->mean_precision + G;
}

static fab_status prototype(vb *e, const fab_vbgmm_settings *set, const fab_input *in,
                            const fab_exec *x)
{
    fab_run run;
    FAB_TRY(fab_check_alone("vbgmm", x));
    FAB_TRY(fab_run_init(&run, x, FAB_F64));
    *e = (vb){.set = *set,
              .D = in->vectors,
              .full = set->covariance == FAB_VBGMM_FULL,
              .has_start = in->start != NULL,
              .watch = fab_watch_of(x),
              .threads = run.threads};
    resolve(&e->set, in);
    if (e->full && e->D > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "vbgmm: full covariances of %lld columns are too large, expected at most "
                        "%d: covariance=diag has no such limit",
                        (long long)e->D, FAB_DENSE_MAX);
    if (e->full && !(e->set.freedom > (double)e->D - 1))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "vbgmm: freedom = %g, expected more than %lld, the columns less 1",
                        e->set.freedom, (long long)e->D - 1);
    e->engine = (fab_parts){.who = "vbgmm",
                            .D = e->D,
                            .G = set->G,
                            .shape = e->full ? FAB_SHAPE_FULL : FAB_SHAPE_OWN,
                            .threads = run.threads};
    return FAB_OK;
}

static void release(void *handle)
{
    vb *e = handle;
    if (!e) return;
    for (int64_t g = 0; g < e->set.G; g++) fab_gauss_free(e->own[g]);
    fab_release(e);
}

/* The covariance of a part of the start. */
static fab_status take_part(vb *e, int64_t g, const fab_gauss *from)
{
    const int64_t D = e->D;
    double *S = e->engine.small, *psi = e->given.psi + g * D, *F = e->given.F + g * D * D;
    fab_solver *s;
    memcpy(e->given.mu + g * D, from->mu, (size_t)D * sizeof *S);
    if (from->form != FAB_FORM_COVARIANCE)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "vbgmm: part %lld of the start is in %s form, expected covariance",
                        (long long)g, fab_form_name(from->form));
    for (int64_t i = 0; i < D; i++) {
        psi[i] = from->psi[i];
        for (int64_t k = 0; k < from->K; k++)
            psi[i] += fab_gauss_get(from, i * from->K + k) * fab_gauss_get(from, i * from->K + k);
    }
    if (!e->full) return FAB_OK;
    FAB_TRY(fab_solver_create(&s, from, NULL));
    fab_status done = fab_solver_dense(s, S);
    fab_solver_free(s);
    if (done == FAB_OK) done = fab_chol(D, S);
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++) F[i * D + j] = S[i + j * D];
    return done;
}

static fab_status take_start(vb *e, const fab_mixture *start)
{
    if (start->n != e->set.G)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "vbgmm: the start has %lld parts, expected %lld",
                        (long long)start->n, (long long)e->set.G);
    for (int64_t g = 0; g < start->n; g++) {
        e->given.n[g] = start->weight[g];
        FAB_TRY(take_part(e, g, start->part[g]));
    }
    return FAB_OK;
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    vb proto, *e;
    *handle = NULL;
    FAB_TRY(prototype(&proto, settings, in, x));
    FAB_TRY(fab_build((void **)&e, sizeof proto, &proto, layout));
    fab_status s = FAB_OK;
    for (int64_t g = 0; g < e->set.G && s == FAB_OK; g++)
        s = fab_gauss_create(&e->own[g], FAB_FORM_COVARIANCE, FAB_F64, e->D, e->full ? e->D : 0);
    for (int64_t g = 0; g < e->set.G; g++) e->one[g] = 1;
    if (s == FAB_OK && in->start) s = take_start(e, in->start);
    if (s != FAB_OK) {
        release(e);
        return s;
    }
    *handle = e;
    return FAB_OK;
}

static int64_t axes_of(int64_t D, int64_t n)
{
    const int64_t most = n < MOST_AXES ? n : MOST_AXES;
    return D < most ? D : most;
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    vb proto;
    if (prototype(&proto, settings, in, x) != FAB_OK) return NAN;
    const double K = proto.full ? (double)proto.D : 0;
    return (double)fab_build_size(sizeof proto, &proto, layout) +
           8 * (double)proto.set.G * (double)proto.D * (K + 2) +
           8 * (double)n * (double)(2 * axes_of(proto.D, n) + 2);
}

static fab_status update(void *handle, const fab_examples *x)
{
    vb *e = handle;
    if (x->x.n < e->set.G)
        return FAB_FAIL(FAB_BAD_DATA, "vbgmm: G = %lld parts for %lld rows", (long long)e->set.G,
                        (long long)x->x.n);
    e->rows = x->x;
    e->weight = x->weight;
    return FAB_OK;
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

/* sum w (x - m0)(x - m0)' in the lower half of C by rows. */
static fab_status add_products(vb *e)
{
    const int64_t D = e->D, n = e->rows.n;
    double *T = e->engine.Y; /* at least ROWS of them */
    const int64_t most = e->engine.block < ROWS ? e->engine.block : ROWS;
    for (int64_t j = 0, m; j < n; j += m) {
        m = n - j < most ? n - j : most;
        for (int64_t r = 0; r < m; r++) {
            const double root = e->weight ? sqrt(e->weight[j + r]) : 1;
            fab_rows_get(&e->rows, j + r, D, T + r * D);
            for (int64_t i = 0; i < D; i++) T[r * D + i] = root * (T[r * D + i] - e->centre[i]);
        }
        fab_syrk(m, D, T, D, e->C, D);
        FAB_TRY(fab_watch_work(&e->watch, (double)(D * D * m), "vbgmm", j, n));
    }
    return FAB_OK;
}

static fab_status set_prior(vb *e)
{
    const int64_t D = e->D;
    const fab_mix_table t = {"vbgmm", D, &e->rows, e->weight, &e->watch};
    FAB_TRY(fab_mix_columns(&t, e->engine.small, e->centre, e->variance, &e->total));
    const double n = e->total, free = n - 1 > n / 2 ? n - 1 : n / 2; /* rows of a covariance */
    e->logdet_C = 0;
    for (int64_t i = 0; i < D && !e->full; i++) {
        e->C[i] = e->variance[i] * (n / free + e->set.floor);
        e->logdet_C += log(e->C[i]);
    }
    if (!e->full) return FAB_OK;
    memset(e->C, 0, (size_t)(D * D) * sizeof *e->C);
    FAB_TRY(add_products(e));
    for (int64_t j = 0; j < D; j++) /* lower in rows is upper in columns */
        for (int64_t i = 0; i <= j; i++) {
            const double ridge = i == j ? e->set.floor * e->variance[i] : 0;
            e->C[i + j * D] = e->C[i + j * D] / free + ridge;
            e->C[j + i * D] = e->C[i + j * D];
        }
    memcpy(e->L0, e->C, (size_t)(D * D) * sizeof *e->L0);
    const fab_status s = fab_chol(D, e->L0);
    if (s != FAB_OK)
        return fab_prefix(s, "vbgmm: the covariance of the rows has no inverse, a larger floor? ");
    e->logdet_C = fab_chol_logdet(D, e->L0);
    return FAB_OK;
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

/* Of D x D, or of D matrices that are 1 x 1: sum of the digammas of E log det L, without 2 and det B. */
static double mean_log(const vb *e, double v)
{
    double sum = 0;
    if (!e->full) return (double)e->D * fab_digamma(v / 2);
    for (int64_t i = 0; i < e->D; i++) sum += fab_digamma((v - (double)i) / 2);
    return sum;
}

/* The logarithm of what a Wishart is divided by. */
static double log_norm(const vb *e, double v, double logdet_B)
{
    const double D = (double)e->D;
    double sum = v * D / 2 * LOG_2 - v / 2 * logdet_B;
    if (!e->full) return sum + D * lgamma(v / 2);
    for (int64_t i = 0; i < e->D; i++) sum += lgamma((v - (double)i) / 2);
    return sum + D * (D - 1) / 4 * LOG_PI;
}

/* lift of part g, and what it adds to kl. */
static double weigh(const vb *e, state *s, int64_t g)
{
    const double D = (double)e->D, n = s->n[g], b0 = s->b0, v0 = e->set.freedom;
    const double b = s->b + n, v = v0 + n, psis = mean_log(e, v);
    const double log_det = psis + D * LOG_2 - e->logdet_B[g]; /* E log det L */
    s->lift[g] = (psis + D * (LOG_2 - log(v)) - D / b) / 2;
    const double wishart = (n * log_det - v * D + s->c * e->trace[g]) / 2 -
                           log_norm(e, v, e->logdet_B[g]) +
                           log_norm(e, v0, e->logdet_C + D * log(s->c));
    return wishart + D / 2 * (log(b / b0) - 1 + b0 / b) + b0 / 2 * e->pull[g];
}

/* c and b0 where nobody gives them: of largest bound. */
static void move_prior(const vb *e, state *s)
{
    const double D = (double)e->D, G = (double)e->set.G;
    double trace = 0, far = 0;
    for (int64_t g = 0; g < e->set.G; g++) {
        trace += e->trace[g];
        far += D / (s->b + s->n[g]) + e->pull[g];
    }
    const double c = G * e->set.freedom * D / trace, b0 = G * D / far;
    if (fab_is_auto_f64(e->set.scatter)) s->c = c > LEAST ? c : LEAST;
    if (fab_is_auto_f64(e->set.mean_precision)) s->b0 = b0 > 1 ? 1 : b0 > LEAST ? b0 : LEAST;
}

/* The weights: E log w_g to lift; their KL. */
static double weigh_shares(const vb *e, state *s)
{
    const double a0 = e->set.concentration, G = (double)e->set.G;
    double all = 0, kl = 0;
    for (int64_t g = 0; g < e->set.G; g++) all += a0 + s->n[g];
    for (int64_t g = 0; g < e->set.G; g++) {
        const double a = a0 + s->n[g], mean = fab_digamma(a) - fab_digamma(all);
        s->lift[g] += mean;
        kl += s->n[g] * mean - lgamma(a) + lgamma(a0);
    }
    return kl + lgamma(all) - lgamma(G * a0);
}

/* A pass over the rows: their sums in the engine, or by labels; sum_i w_i log p_i. */
static fab_status expect(vb *e, const state *s, double *weight, const double *lift,
                         const int64_t *label, int64_t round, double *sum)
{
    fab_parts *p = &e->engine;
    p->weight = weight;
    p->mu = s->mu;
    p->psi = s->psi;
    p->F = s->F;
    p->centre = e->centre;
    p->variance = e->variance;
    FAB_TRY(fab_parts_begin(p));
    for (int64_t g = 0; g < p->G && lift; g++) p->top[g] += lift[g];
    const double work = (double)(e->D * p->G * (p->k + 2));
    for (int64_t j = 0, n; j < e->rows.n; j += n) {
        n = e->rows.n - j < p->block ? e->rows.n - j : p->block;
        const fab_rows some = fab_rows_part(&e->rows, j, n);
        fab_parts_rows(p, &some, e->weight ? e->weight + j : NULL, label ? label + j : NULL, NULL,
                       NULL);
        FAB_TRY(fab_watch_work(&e->watch, work * (double)n, "vbgmm", round, e->set.max_iter));
    }
    *sum = p->loglik;
    return FAB_OK;
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

/* e: mean of the part's rows less m0; from: less the mean that the sums are about. */
static fab_status move_full(vb *e, state *s, int64_t g, const double *from, const double *away,
                            double pull_of_rows)
{
    const int64_t D = e->D;
    const double *sum = e->engine.sum + g * (D + 1) * D;
    const double n = s->n[g], v = e->set.freedom + n;
    double *S = e->engine.small, *X = S + D * D, *F = s->F + g * D * D, *d = X + D * D;
    double trace = 0, pull = 0;
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j <= i; j++) { /* lower in rows */
            const double B = s->c * e->C[i + j * D] + sum[i * D + j] - n * from[i] * from[j] +
                             pull_of_rows * away[i] * away[j];
            S[i + j * D] = S[j + i * D] = B / v;
        }
    const fab_status done = fab_chol(D, S);
    if (done != FAB_OK)
        return fab_prefix(done, "vbgmm: part %lld has no covariance, a larger floor? ",
                          (long long)g);
    e->logdet_B[g] = fab_chol_logdet(D, S) + (double)D * log(v);
    memcpy(X, e->L0, (size_t)(D * D) * sizeof *X);
    fab_tri_solve(FAB_LEFT, FAB_N, D, D, S, X);
    for (int64_t i = 0; i < D * D; i++) trace += X[i] * X[i];
    for (int64_t i = 0; i < D; i++) d[i] = s->mu[g * D + i] - e->centre[i];
    fab_tri_solve(FAB_LEFT, FAB_N, D, 1, S, d);
    for (int64_t i = 0; i < D; i++) pull += d[i] * d[i];
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++) F[i * D + j] = S[i + j * D];
    e->trace[g] = trace;
    e->pull[g] = pull;
    return FAB_OK;
}

static void move_diag(const vb *e, state *s, int64_t g, const double *from, const double *away,
                      double pull_of_rows)
{
    const int64_t D = e->D;
    const double n = s->n[g], v = e->set.freedom + n;
    const double *square = e->engine.square + g * D;
    double logdet = 0, trace = 0, pull = 0;
    for (int64_t i = 0; i < D; i++) {
        double S = square[i] - n * from[i] * from[i];
        if (!(S > 0)) S = 0;
        const double B = s->c * e->C[i] + S + pull_of_rows * away[i] * away[i];
        const double d = s->mu[g * D + i] - e->centre[i];
        s->psi[g * D + i] = B / v;
        logdet += log(B);
        trace += v * e->C[i] / B;
        pull += v * d * d / B;
    }
    e->logdet_B[g] = logdet;
    e->trace[g] = trace;
    e->pull[g] = pull;
}

static fab_status maximise(vb *e, state *s)
{
    const int64_t D = e->D, G = e->set.G, k = e->engine.k;
    double *away = e->engine.small + 7 * k * k; /* (k + 1) x D numbers are behind */
    const double b0 = s->b = s->b0;
    for (int64_t g = 0; g < G; g++) {
        double *from = e->engine.sum + g * (k + 1) * D + k * D;
        const double n = s->n[g] = e->engine.n[g];
        for (int64_t i = 0; i < D; i++) {
            from[i] = n > 0 ? from[i] / n : 0;
            away[i] = n > 0 ? s->mu[g * D + i] + from[i] - e->centre[i] : 0;
            s->mu[g * D + i] = e->centre[i] + n / (b0 + n) * away[i];
        }
        if (e->full)
            FAB_TRY(move_full(e, s, g, from, away, b0 * n / (b0 + n)));
        else
            move_diag(e, s, g, from, away, b0 * n / (b0 + n));
    }
    move_prior(e, s);
    s->kl = 0;
    for (int64_t g = 0; g < G; g++) s->kl += weigh(e, s, g);
    s->kl += weigh_shares(e, s);
    return FAB_OK;
}

/* ---- 2, 5 --------------------------------------------------------------------------------------------- */

/* What labels are counted under: any parts that are some. */
static void neutral(const vb *e, state *s)
{
    const int64_t D = e->D, G = e->set.G;
    for (int64_t g = 0; g < G; g++) {
        memcpy(s->mu + g * D, e->centre, (size_t)D * sizeof *s->mu);
        memcpy(s->psi + g * D, e->variance, (size_t)D * sizeof *s->psi);
        for (int64_t i = 0; i < D && e->full; i++) {
            memset(s->F + (g * D + i) * D, 0, (size_t)D * sizeof *s->F);
            s->F[(g * D + i) * D + i] = sqrt(e->variance[i]);
        }
    }
}

static void copy_state(const vb *e, const state *from, state *to)
{
    memcpy(to->n, from->n, (size_t)state_numbers(e) * sizeof *to->n);
    to->kl = from->kl;
    to->c = from->c;
    to->b0 = from->b0;
    to->b = from->b;
}

/* From labels, or (NULL) from the start that was given, to the end; its bound is e->bound. */
static fab_status climb(vb *e, const int64_t *label, fab_report *r)
{
    state *s = &e->now;
    double sum;
    *r = (fab_report){.gain = NAN, .saturated = NAN};
    if (label)
        neutral(e, s);
    else
        copy_state(e, &e->given, s);
    s->c = fab_is_auto_f64(e->set.scatter) ? 1 : e->set.scatter;
    s->b0 = fab_is_auto_f64(e->set.mean_precision) ? 1 : e->set.mean_precision;
    FAB_TRY(expect(e, s, label ? e->one : s->n, NULL, label, 0, &sum));
    FAB_TRY(maximise(e, s));
    e->bound = BEFORE;
    for (;;) {
        const double before = e->bound;
        FAB_TRY(expect(e, s, e->one, s->lift, NULL, r->iterations, &sum));
        e->bound = sum - s->kl; /* 5 */
        if (!isfinite(e->bound))
            return FAB_FAIL(FAB_NUMERIC, "vbgmm: the bound is %g: scale the columns", e->bound);
        r->gain = (e->bound - before) / e->total;
        assert(r->iterations == 0 || e->bound - before >= -FALL * (1 + fabs(before)));
        if (r->gain < e->set.tol) r->converged = 1;
        if (r->converged || r->iterations >= e->set.max_iter) return FAB_OK;
        FAB_TRY(maximise(e, s));
        r->iterations++;
        FAB_TRY(fab_watch_tick(&e->watch, "vbgmm", r->iterations, e->set.max_iter));
    }
}

/* Is the prior at its floor? */
static int is_stuck(const vb *e, const state *s)
{
    return fab_is_auto_f64(e->set.scatter) && s->c <= LEAST;
}

static fab_status run_starts(vb *e, const double *z, int64_t p, int64_t *label)
{
    double best = BEFORE;
    for (int64_t run = 0; run < e->set.restarts; run++) {
        fab_report r;
        const fab_status s =
            fab_labels_find(z, e->rows.n, p, e->set.G, NULL, 0, e->set.seed + run, label);
        if (s != FAB_OK) return fab_prefix(s, "vbgmm: ");
        FAB_TRY(climb(e, label, &r));
        const int stuck = is_stuck(e, &e->now), was = run > 0 && is_stuck(e, &e->best);
        if (run > 0 && (stuck != was ? stuck : !(e->bound > best))) continue;
        best = e->bound;
        e->report = r;
        copy_state(e, &e->now, &e->best);
    }
    e->bound = best;
    return FAB_OK;
}

static fab_status find_best(vb *e)
{
    const int64_t p = axes_of(e->D, e->rows.n);
    double *z = NULL;
    int64_t *label = NULL;
    FAB_TRY(fab_labels_axes(&z, "vbgmm", &e->rows, e->D, p, e->centre, e->variance, e->set.seed,
                            e->threads));
    fab_status s = fab_alloc_array((void **)&label, e->rows.n, sizeof *label, "vbgmm");
    if (s == FAB_OK) s = run_starts(e, z, p, label);
    fab_release(z);
    fab_release(label);
    return s;
}

/* ---- 6 ------------------------------------------------------------------------------------------------ */

/* Weights of the parts in the result, 0 of the others; at least one is in it. */
static void choose_parts(const vb *e, double *weight)
{
    const state *s = &e->best;
    double all = 0, most = 0;
    int64_t n = 0;
    for (int64_t g = 0; g < e->set.G; g++) most = s->n[g] > most ? s->n[g] : most;
    for (int64_t g = 0; g < e->set.G; g++) {
        weight[g] = s->n[g] >= LEAST_ROWS || s->n[g] == most ? e->set.concentration + s->n[g] : 0;
        all += weight[g];
    }
    for (int64_t g = 0; g < e->set.G; g++) {
        if (!(weight[g] > 0)) continue;
        e->counts[n] = s->n[g];
        e->freedom[n] = e->set.freedom + s->n[g];
        e->mean_precision[n] = s->b + s->n[g];
        e->concentration[n++] = weight[g];
        weight[g] /= all;
    }
}

static fab_status mixture(void *handle, const fab_mixture **q)
{
    vb *e = handle;
    double sum;
    int64_t n;
    FAB_TRY(set_prior(e));
    if (e->has_start) {
        FAB_TRY(climb(e, NULL, &e->report));
        copy_state(e, &e->now, &e->best);
    } else {
        FAB_TRY(find_best(e));
    }
    double *weight = e->now.n;
    choose_parts(e, weight);
    e->engine.least = e->best.c * e->set.floor / (e->set.freedom + e->total); /* below B / v */
    FAB_TRY(expect(e, &e->best, weight, NULL, NULL, e->report.iterations, &sum));
    FAB_TRY(fab_parts_give(&e->engine, e->own, e->part, e->share, &n));
    e->report.loglik_mean = sum / e->total;
    e->report.log_evidence = e->bound;
    if (is_stuck(e, &e->best)) e->report.floored = n * e->D; /* all parts have that prior */
    if (n < e->set.G)
        fab_watch_log(&e->watch,
                      "vbgmm: %lld of %lld parts have less than one row: the result has %lld",
                      (long long)(e->set.G - n), (long long)e->set.G, (long long)n);
    e->mixture = (fab_mixture){n, e->part, e->share};
    *q = &e->mixture;
    return FAB_OK;
}

/* ---- the method --------------------------------------------------------------------------------------- */

static fab_status report(void *handle, fab_report *r)
{
    *r = ((const vb *)handle)->report;
    return FAB_OK;
}

static fab_status tensors(void *handle, fab_tensors *t)
{
    vb *e = handle;
    const int64_t *n = &e->mixture.n, one = 1;
    FAB_TRY(fab_tensors_add(t, "counts", FAB_F64, 1, n, e->counts));
    FAB_TRY(fab_tensors_add(t, "concentration", FAB_F64, 1, n, e->concentration));
    FAB_TRY(fab_tensors_add(t, "mean_precision", FAB_F64, 1, n, e->mean_precision));
    FAB_TRY(fab_tensors_add(t, "freedom", FAB_F64, 1, n, e->freedom));
    FAB_TRY(fab_tensors_add(t, "prior_scatter", FAB_F64, 1, &one, &e->best.c));
    FAB_TRY(fab_tensors_add(t, "prior_mean_precision", FAB_F64, 1, &one, &e->best.b0));
    return fab_tensors_add(t, "bound", FAB_F64, 1, &one, &e->bound);
}

const fab_method fab_vbgmm_method = {
    .name = "vbgmm",
    .summary = "mixture of Gaussians by variational Bayes: full or diagonal, parts that die out",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    .starts = 1,
    .bounds = 1,
    .fields = &table,
    .parameters = parameters,
    .resolve = resolve,
    .init = init,
    .update = update,
    .mixture = mixture,
    .report = report,
    .tensors = tensors,
    .free = release,
    .bytes = bytes,
};
