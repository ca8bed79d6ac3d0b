/* softmax_split.c - class probabilities when the predictors are Gaussian, by single integrals under a few nodes.
 *
 * With noise of Gumbel's added to each of them, class k has the largest predictor with the probability softmax_k.  So for predictors
 * that are independent, eta_k ~ N(m_k, l_k),
 *
 *     p_k = int g_k(t) prod_j!=k F_j(t) dt,  F_j(t) = E exp(-exp(eta_j - t)),  g_j = dF_j / dt,
 *
 * whose integrand is, given eta, a density of Gumbel's times softmax_k: the trapezoid rule of step 0.4 errs by 2 |Gamma(1 + 2 pi i / 0.4)| =
 * 4e-10 of p_k.  Predictors of a covariance S are independent ones plus R z, z ~ N(0, I), with as little in R as can be:
 *
 *   1  M = Q'(S - diag l)Q, Q the contrasts (C x (C-1)): what predictors have in common does not matter to softmax
 *   2  l >= 0 of the largest sum with M >= 0: by Newton's method with the barrier mu (log det M + sum log l), mu to 0
 *   3  Q M Q' = R R', the columns of R orthogonal, of length s_i
 *   4  z by a product of rules, with more nodes the longer s_i: of Gauss and Hermite up to 16, the trapezoid rule from there.  All but a
 *      few s_i are small, for the posterior of a process is nearly independent classes plus what its rows say of several at once
 *   5  F_k and g_k in tables of step 0.1: exp(-exp(-x)) and its slope, folded with the normal by the trapezoid rule
 *   6  for each node: F and g at m_k + (R z)_k by polynomials through ten values, and the integral; p is scaled to sum 1
 *
 * Where tables would be too long, or nodes too many, it says so, and the caller has the lattice (softmax.c).
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/softmax_split.h"
#include "base/memory.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

#define STEP    0.1    /* of the tables; */
#define TAIL    21.0   /* beyond this above all predictors exp(-x) is nothing, */
#define HEAD    4.0    /* and this far below one of them exp(-exp(x)) is */
#define SIGMAS  6.5    /* of a predictor in the range of t, */
#define FAR     8.5    /* and of the normal that tables are folded with */
#define NARROW  0.1    /* a standard deviation below that of a step: by nodes */
#define NOTHING 3e-4   /* a column of R so short is left out */
#define SHORT   0.05   /* and one so short has two nodes */
#define LONG    1.2    /* beyond: the trapezoid rule */
#define WIDTH   6.2    /* of which: in standard deviations */
#define LEAST   1e-8   /* mu ends at this part of the mean variance */
#define LOWEST  1e-280 /* smaller probabilities are the lattice's */

enum {
    EVERY = 4,     /* steps of the table in one of t: 0.4 */
    POINTS = 10,   /* of the polynomials, */
    BEFORE = 4,    /* so many before the place */
    LENGTH = 4096, /* of a table, at most */
    LOW = -64,     /* exp(-exp(-x)) from LOW to HIGH steps */
    HIGH = 1024,
    HERMITE = 16,
    MOST = 255,    /* of a trapezoid rule */
    FOLD = 7,      /* nodes of a narrow normal */
    NODES = 8192,  /* of z, at most: those of the longest columns are fewer then, */
    TOO_MANY = 64, /* down to this part; otherwise it is the lattice's */
    NEWTONS = 12
};

struct fab_softmax_split {
    int64_t C, T;               /* classes; places t of a row */
    double *node, *share;       /* of n nodes at n (n - 1) / 2 */
    double *F0, *g0;            /* of steps LOW .. HIGH */
    double *Q;                  /* C x (C-1) */
    double *M0, *M, *H, *G, *B; /* C x C */
    double *l, *d, *w, *sd;
    double *R;                 /* C x (C-1) */
    double *reach;             /* C: of the shifts R z */
    double *F, *g;             /* C x LENGTH: tables, by phase; */
    int64_t *first;            /* C: their first step, from m */
    double *at, *slope, *left; /* C x LENGTH / EVERY: of a node */
    double *work;
    int64_t count[FAB_SOFTMAX_SPLIT];
};

/* ---- life ------------------------------------------------------------------------------------------------ */

static void layout(fab_layout *l, void *handle)
{
    fab_softmax_split *s = handle;
    const int64_t C = s->C, nodes = HERMITE * (HERMITE + 1) / 2, steps = HIGH - LOW + 1,
                  most = C > HERMITE ? C : HERMITE;
    s->node = fab_place(l, nodes, sizeof(double));
    s->share = fab_place(l, nodes, sizeof(double));
    s->F0 = fab_place(l, steps, sizeof(double));
    s->g0 = fab_place(l, steps, sizeof(double));
    s->Q = fab_place(l, C * C, sizeof(double));
    s->M0 = fab_place(l, C * C, sizeof(double));
    s->M = fab_place(l, C * C, sizeof(double));
    s->H = fab_place(l, most * most, sizeof(double));
    s->G = fab_place(l, C * C, sizeof(double));
    s->B = fab_place(l, C * C, sizeof(double));
    s->l = fab_place(l, C, sizeof(double));
    s->d = fab_place(l, C, sizeof(double));
    s->w = fab_place(l, most, sizeof(double));
    s->sd = fab_place(l, C, sizeof(double));
    s->R = fab_place(l, C * C, sizeof(double));
    s->reach = fab_place(l, C, sizeof(double));
    s->F = fab_place(l, C * LENGTH, sizeof(double));
    s->g = fab_place(l, C * LENGTH, sizeof(double));
    s->first = fab_place(l, C, sizeof *s->first);
    s->at = fab_place(l, C * LENGTH / EVERY, sizeof(double));
    s->slope = fab_place(l, C * LENGTH / EVERY, sizeof(double));
    s->left = fab_place(l, LENGTH / EVERY, sizeof(double));
    s->work = fab_place(l, fab_eig_work(most), sizeof(double));
}

/* Nodes and weights of n are eigenvalues, and squares of the first components, of the matrix with roots of 1 .. n - 1 beside its
 * diagonal. */
static fab_status hermite(fab_softmax_split *s, int64_t n)
{
    double *A = s->H, *node = s->node + n * (n - 1) / 2, *share = s->share + n * (n - 1) / 2;
    memset(A, 0, (size_t)(n * n) * sizeof *A);
    for (int64_t i = 1; i < n; i++) A[i + (i - 1) * n] = A[i - 1 + i * n] = sqrt((double)i);
    FAB_TRY(fab_eig(n, A, s->w, s->work));
    for (int64_t i = 0; i < n; i++) {
        node[i] = s->w[i];
        share[i] = A[i * n] * A[i * n];
    }
    return FAB_OK;
}

/* Column j: the first j + 1 coordinates against the next. */
static void contrasts(int64_t C, double *Q)
{
    memset(Q, 0, (size_t)(C * (C - 1)) * sizeof *Q);
    for (int64_t j = 0; j < C - 1; j++) {
        const double by = 1 / sqrt((double)((j + 1) * (j + 2)));
        for (int64_t i = 0; i <= j; i++) Q[i + j * C] = by;
        Q[j + 1 + j * C] = -(double)(j + 1) * by;
    }
}

fab_status fab_softmax_split_init(fab_softmax_split **s, int64_t C)
{
    const fab_softmax_split proto = {.C = C};
    FAB_TRY(fab_build((void **)s, sizeof proto, &proto, layout));
    contrasts(C, (*s)->Q);
    for (int64_t i = LOW; i <= HIGH; i++) {
        const double a = exp(-STEP * (double)i);
        (*s)->F0[i - LOW] = exp(-a);
        (*s)->g0[i - LOW] = a * exp(-a);
    }
    fab_status done = FAB_OK;
    for (int64_t n = 1; n <= HERMITE && done == FAB_OK; n++) done = hermite(*s, n);
    if (done == FAB_OK) return FAB_OK;
    fab_release(*s);
    *s = NULL;
    return done;
}

void fab_softmax_split_free(fab_softmax_split *s)
{
    fab_release(s);
}

/* ---- 1 to 3 ---------------------------------------------------------------------------------------------- */

/* 1 */
static void remainder_at(fab_softmax_split *s, const double *l)
{
    const int64_t C = s->C, P = C - 1;
    memcpy(s->M, s->M0, (size_t)(P * P) * sizeof *s->M);
    for (int64_t c = 0; c < C; c++)
        for (int64_t j = 0; j < P; j++)
            for (int64_t i = 0; i < P; i++)
                s->M[i + j * P] -= l[c] * s->Q[c + i * C] * s->Q[c + j * C];
}

/* One step of Newton's at mu; its decrement; negative: none can be made. */
static double newton(fab_softmax_split *s, double mu)
{
    const int64_t C = s->C, P = C - 1;
    double decrement = 0;
    remainder_at(s, s->l);
    if (fab_chol(P, s->M) != FAB_OK) return -1;
    fab_chol_inv(P, s->M, s->H);
    fab_mm(FAB_N, FAB_N, C, P, P, 1, s->Q, s->H, 0, s->B);
    fab_mm(FAB_N, FAB_T, C, C, P, 1, s->B, s->Q, 0, s->G); /* Q M^-1 Q' */
    for (int64_t i = 0; i < C; i++) {
        s->d[i] = s->w[i] = 1 / mu - s->G[i + i * C] + 1 / s->l[i];
        for (int64_t j = 0; j < C; j++)
            s->H[j + i * C] = s->G[j + i * C] * s->G[j + i * C] +
                              (i == j ? 1 / (s->l[i] * s->l[i]) : 0);
    }
    if (fab_chol(C, s->H) != FAB_OK) return -1;
    fab_chol_solve(C, 1, s->H, s->d);
    for (int64_t i = 0; i < C; i++) decrement += s->d[i] * s->w[i];
    decrement = sqrt(fmax(0, decrement));
    const double t = decrement > 0.25 ? 1 / (1 + decrement) : 1; /* stays inside */
    for (int64_t i = 0; i < C; i++) s->l[i] += t * s->d[i];
    return decrement;
}

/* 2; l is 0 where S has nothing to give. */
static fab_status separate(fab_softmax_split *s, const double *S)
{
    const int64_t C = s->C, P = C - 1;
    double mean = 0;
    fab_mm(FAB_T, FAB_N, P, C, C, 1, s->Q, S, 0, s->B);
    fab_mm(FAB_N, FAB_N, P, P, C, 1, s->B, s->Q, 0, s->M0);
    fab_symmetrise(P, s->M0);
    memcpy(s->M, s->M0, (size_t)(P * P) * sizeof *s->M);
    FAB_TRY(fab_eig(P, s->M, s->w, s->work));
    for (int64_t i = 0; i < P; i++) mean += s->w[i] / (double)P;
    const double least = s->w[0] / 2;
    memset(s->l, 0, (size_t)C * sizeof *s->l);
    if (!(least > 10 * LEAST * mean)) return FAB_OK;
    for (int64_t i = 0; i < C; i++) s->l[i] = least;
    for (double mu = mean; mu > LEAST * mean; mu /= 10) {
        for (int i = 0; i < NEWTONS; i++) {
            const double decrement = newton(s, mu);
            if (decrement < 0) return FAB_NUMERIC;
            if (decrement < 0.1) break;
        }
    }
    return FAB_OK;
}

static fab_status find_root(fab_softmax_split *s)
{
    const int64_t C = s->C, P = C - 1;
    remainder_at(s, s->l);
    FAB_TRY(fab_eig(P, s->M, s->w, s->work));
    fab_mm(FAB_N, FAB_N, C, P, P, 1, s->Q, s->M, 0, s->R);
    for (int64_t i = 0; i < P; i++) {
        const double root = sqrt(fmax(0, s->w[i]));
        s->w[i] = root;
        for (int64_t c = 0; c < C; c++) s->R[c + i * C] *= root;
    }
    for (int64_t c = 0; c < C; c++) s->sd[c] = sqrt(s->l[c]);
    return FAB_OK;
}

/* Node i of n, and its weight. */
static double node_of(const fab_softmax_split *s, int64_t n, int64_t i, double *weight)
{
    if (n <= HERMITE) {
        *weight = s->share[n * (n - 1) / 2 + i];
        return s->node[n * (n - 1) / 2 + i];
    }
    const double h = 2 * WIDTH / (double)(n - 1), z = h * (double)i - WIDTH;
    *weight = h * exp(-z * z / 2) / sqrt(8 * atan(1));
    return z;
}

/* By the length of a column of R, for 1e-7 of independent variances of 0.3 and more. */
static double nodes_of(double x)
{
    if (x < NOTHING) return 1;
    if (x < SHORT) return 2;
    if (x < LONG) return ceil(2 + 4 * x + 3 * x * x);
    return 1 + 2 * floor(fmax(HERMITE / 2, WIDTH * (0.6 * x + 0.15)));
}

/* 4: how many nodes each column of R has; 0: too many in all. */
static int choose_nodes(fab_softmax_split *s)
{
    const int64_t P = s->C - 1;
    double all = 1;
    for (int64_t i = 0; i < P; i++) {
        const double n = nodes_of(s->w[i]);
        if (!(n <= MOST)) return 0;
        s->count[i] = (int64_t)n;
        all *= n;
    }
    if (all > (double)NODES * TOO_MANY) return 0;
    while (all > NODES) {
        int64_t most = 0;
        for (int64_t i = 1; i < P; i++)
            if (s->count[i] > s->count[most]) most = i;
        all *= (double)(s->count[most] - 1) / (double)s->count[most];
        s->count[most]--;
    }
    for (int64_t c = 0; c < s->C; c++) {
        s->reach[c] = 0;
        for (int64_t i = 0; i < P; i++) {
            double weight;
            const double last = node_of(s, s->count[i], s->count[i] - 1, &weight);
            s->reach[c] += fabs(s->R[c + i * s->C]) * last;
        }
    }
    return 1;
}

/* ---- 5 --------------------------------------------------------------------------------------------------- */

/* exp(-exp(-x)) and its slope, x = i steps. */
static void gumbel(const fab_softmax_split *s, int64_t i, double *F, double *g)
{
    *F = *g = 0;
    if (i < LOW) return;
    *F = 1;
    if (i > HIGH) return;
    *F = s->F0[i - LOW];
    *g = s->g0[i - LOW];
}

static void fold(const fab_softmax_split *s, double sd, int64_t i, double *F, double *g)
{
    double all = 0, a, b;
    *F = *g = 0;
    if (sd < NARROW) {
        const double *node = s->node + FOLD * (FOLD - 1) / 2,
                     *share = s->share + FOLD * (FOLD - 1) / 2;
        for (int q = 0; q < FOLD; q++) {
            const double e = exp(-STEP * (double)i + sd * node[q]);
            *F += share[q] * exp(-e);
            *g += e > 700 ? 0 : share[q] * e * exp(-e);
        }
        return;
    }
    const int64_t by = (int64_t)fmax(1, fmin(EVERY, floor(7 * sd))),
                  most = (int64_t)(FAR * sd / STEP) / by * by;
    for (int64_t q = -most; q <= most; q += by) {
        const double z = STEP * (double)q / sd, w = exp(-z * z / 2);
        gumbel(s, i - q, &a, &b);
        all += w;
        *F += w * a;
        *g += w * b;
    }
    *F /= all;
    *g /= all;
}

/* Tables of all classes, by phase: step first + EVERY k + phase stands at phase LENGTH / EVERY + k.  0: too long. */
static int fill_tables(fab_softmax_split *s, const double *mean, double *from)
{
    const int64_t C = s->C;
    double lo = -INFINITY, hi = -INFINITY;
    for (int64_t c = 0; c < C; c++) {
        lo = fmax(lo, mean[c] - SIGMAS * s->sd[c] - s->reach[c] - HEAD);
        hi = fmax(hi, mean[c] + SIGMAS * s->sd[c] + s->reach[c] + TAIL);
    }
    *from = lo;
    if (!(hi - lo < STEP * LENGTH)) return 0;
    s->T = (int64_t)((hi - lo) / (STEP * EVERY)) + 1;
    for (int64_t c = 0; c < C; c++) {
        const double start = floor((lo - s->reach[c] - mean[c]) / STEP) - POINTS;
        const double end = ceil((hi + s->reach[c] - mean[c]) / STEP) + POINTS + EVERY;
        if (!(end - start < LENGTH && fabs(start) < 1e9)) return 0;
        s->first[c] = (int64_t)start;
        for (int64_t i = 0; i < (int64_t)(end - start); i++) {
            const int64_t to = c * LENGTH + i % EVERY * (LENGTH / EVERY) + i / EVERY;
            fold(s, s->sd[c], s->first[c] + i, &s->F[to], &s->g[to]);
        }
    }
    return 1;
}

/* ---- 6 --------------------------------------------------------------------------------------------------- */

/* F and g of class c at all t, its predictor's mean being m. */
static void read_tables(fab_softmax_split *s, int64_t c, double m, double from)
{
    enum { PHASE = LENGTH / EVERY };
    const double x = (from - m) / STEP - (double)s->first[c], whole = floor(x), u = x - whole;
    double w[POINTS];
    const double *F[POINTS], *g[POINTS];
    for (int p = 0; p < POINTS; p++) {
        const int64_t i = (int64_t)whole + p - BEFORE;
        const int64_t where = c * LENGTH + i % EVERY * PHASE + i / EVERY;
        F[p] = s->F + where;
        g[p] = s->g + where;
        w[p] = 1;
        for (int q = 0; q < POINTS; q++)
            if (q != p) w[p] *= (u - (double)(q - BEFORE)) / (double)(p - q);
    }
    double *at = s->at + c * PHASE, *slope = s->slope + c * PHASE;
    for (int64_t k = 0; k < s->T; k++) {
        double a = 0, b = 0;
        for (int p = 0; p < POINTS; p++) {
            a += w[p] * F[p][k];
            b += w[p] * g[p][k];
        }
        at[k] = a > 0 ? a : 0;
        slope[k] = b > 0 ? b : 0;
    }
}

/* p_k += weight int g_k prod_j!=k F_j dt */
static void integrate(fab_softmax_split *s, double weight, double *p)
{
    enum { PHASE = LENGTH / EVERY };
    const int64_t C = s->C;
    double *left = s->left;
    for (int64_t k = 0; k < s->T; k++) left[k] = weight * STEP * EVERY;
    for (int64_t c = 0; c < C; c++) { /* slope: g and all before */
        double *at = s->at + c * PHASE, *slope = s->slope + c * PHASE;
        for (int64_t k = 0; k < s->T; k++) {
            slope[k] *= left[k];
            left[k] *= at[k];
        }
    }
    for (int64_t k = 0; k < s->T; k++) left[k] = 1;
    for (int64_t c = C; c-- > 0;) { /* and all behind */
        double *at = s->at + c * PHASE, *slope = s->slope + c * PHASE, sum = 0;
        for (int64_t k = 0; k < s->T; k++) {
            sum += slope[k] * left[k];
            left[k] *= at[k];
        }
        p[c] += sum;
    }
}

int fab_softmax_split_logp(fab_softmax_split *s, const double *mean, const double *S, double *logp)
{
    const int64_t C = s->C, P = C - 1;
    int64_t at[FAB_SOFTMAX_SPLIT] = {0};
    double from, sum = 0;
    if (separate(s, S) != FAB_OK || find_root(s) != FAB_OK) return 0;
    if (!choose_nodes(s) || !fill_tables(s, mean, &from)) return 0;
    memset(logp, 0, (size_t)C * sizeof *logp);
    for (;;) {
        double weight = 1;
        memcpy(s->d, mean, (size_t)C * sizeof *s->d);
        for (int64_t i = 0; i < P; i++) {
            double share;
            const double z = node_of(s, s->count[i], at[i], &share);
            weight *= share;
            for (int64_t c = 0; c < C; c++) s->d[c] += z * s->R[c + i * C];
        }
        for (int64_t c = 0; c < C; c++) read_tables(s, c, s->d[c], from);
        integrate(s, weight, logp);
        int64_t i = 0;
        while (i < P && ++at[i] == s->count[i]) at[i++] = 0;
        if (i == P) break;
    }
    for (int64_t c = 0; c < C; c++) {
        if (!(logp[c] > LOWEST)) return 0;
        sum += logp[c];
    }
    for (int64_t c = 0; c < C; c++) logp[c] = log(logp[c] / sum);
    return 1;
}
