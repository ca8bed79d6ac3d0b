/* quad.c - the least of a quadratic with an absolute and a square penalty, by coordinate descent.
 *
 *     value(w) = w'Gw / 2 - c'w + yy / 2 + l1 |w|_1 + l2 |w|^2 / 2,     g = c - G w
 *
 *   1  at work: coordinates that are not 0 or not penalised, and by the strong rule those with |g_j| >= 2 l1 - before
 *   2  a sweep over them:  w_j <- soft(g_j + G_jj w_j, l1) / (G_jj + l2),  g follows, on a dense copy of their part of G
 *   3  every EACH sweeps: the gap on them; every STEP sweeps a Newton step of those that are not 0, signs held:
 *          (G_AA + l2) d = g_A - l2 w_A - l1 sign(w_A),
 *      cut where the first of them becomes 0, which it then is.  Where signs stay it is the least itself
 *   4  g of all coordinates: g = c - G w, and the gap of all.  Above tol: |g_j| > l1 joins; back to 2
 *
 * The gap is value - bound, of the better of two bounds:
 *
 *     s = min(1, l1 / max |g - l2 w|),  r^2 = yy - c'w - g'w + l2 |w|^2,  y'r = yy - c'w:   s y'r - s^2 r^2 / 2     (dual point scaled)
 *     gap = sum_j l1 |w_j| + l2 w_j^2 / 2 + (|g_j| - l1)_+^2 / (2 l2) - w_j g_j                                  (l2 > 0)
 *
 * SPDX-License-Identifier: MIT */
#include "methods/erm/quad.h"
#include "la/small.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define ROUNDING 1e-13 /* of the largest |c_j| and |g_j|: what is left of a gradient */
/* a pivot below this part of its diagonal: columns that follow from others */
#define SINGULAR 1e-11
enum { EACH = 5, STEP = 20, CUTS = 20 };

void fab_quad_layout(fab_layout *l, fab_quad *q)
{
    const int64_t P = q->P;
    double **vectors[] = {&q->c, &q->w, &q->g, &q->u, &q->h, &q->d, &q->own};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = fab_place(l, P, sizeof(double));
    q->G = fab_place(l, P * P, sizeof(double));
    q->S = fab_place(l, P * P, sizeof(double));
    q->L = fab_place(l, P * P, sizeof(double));
    q->W = fab_place(l, P, sizeof(int64_t));
    q->A = fab_place(l, P, sizeof(int64_t));
    q->in = fab_place(l, P, 1);
}

void fab_quad_gradient(fab_quad *q)
{
    const int64_t P = q->P;
    memcpy(q->g, q->c, (size_t)P * sizeof *q->g);
    for (int64_t j = 0; j < P; j++) {
        const double w = q->w[j], *G = q->G + j * P;
        if (w != 0)
            for (int64_t i = 0; i < P; i++) q->g[i] -= w * G[i];
    }
}

double fab_quad_value(const fab_quad *q)
{
    double sum = q->yy, penalty = 0;
    for (int64_t j = 0; j < q->P; j++) sum -= q->w[j] * (q->c[j] + q->g[j]);
    for (int64_t j = 0; j < q->D; j++)
        penalty += q->l1 * fabs(q->w[j]) + 0.5 * q->l2 * q->w[j] * q->w[j];
    return 0.5 * sum + penalty;
}

/* ---- the gap -------------------------------------------------------------------------------------------- */

/* Of n coordinates, all penalised; along = sum over them of c_j w_j. */
static double gap_of(const fab_quad *q, int64_t n, const double *w, const double *g, double along)
{
    double most = 0, absolute = 0, square = 0, product = 0, over = 0;
    for (int64_t j = 0; j < n; j++) {
        const double more = fabs(g[j]) - q->l1;
        most = fmax(most, fabs(g[j] - q->l2 * w[j]));
        absolute += fabs(w[j]);
        square += w[j] * w[j];
        product += g[j] * w[j];
        over += more > 0 ? more * more : 0;
    }
    const double s = most > q->l1 ? q->l1 / most : 1,
                 rest = q->yy - along - product + q->l2 * square; /* |r|^2 */
    double gap = 0.5 * (1 + s * s) * rest + q->l1 * absolute - s * (q->yy - along);
    if (q->l2 > 0)
        gap = fmin(gap, q->l1 * absolute + 0.5 * q->l2 * square + over / (2 * q->l2) - product);
    return fmax(gap, 0);
}

double fab_quad_gap(const fab_quad *q)
{
    double along = 0;
    for (int64_t j = 0; j < q->D; j++) along += q->c[j] * q->w[j];
    return gap_of(q, q->D, q->w, q->g, along);
}

/* By how much the conditions of the least are missed at coordinate j. */
static double missed(const fab_quad *q, int64_t j, double w, double g)
{
    if (j >= q->D) return fabs(g);
    if (w != 0) return fabs(g - q->l2 * w - (w > 0 ? q->l1 : -q->l1));
    return fmax(fabs(g) - q->l1, 0);
}

static double rounding(const fab_quad *q)
{
    double most = 0;
    for (int64_t j = 0; j < q->P; j++) most = fmax(most, fmax(fabs(q->c[j]), fabs(q->g[j])));
    return ROUNDING * most;
}

/* Are the coordinates at work where they are wanted? */
static int is_there(const fab_quad *q, double tol, double least)
{
    if (tol > 0) {
        double along = 0;
        for (int64_t k = 0; k < q->n; k++) along += q->c[q->W[k]] * q->u[k];
        return gap_of(q, q->n, q->u, q->h, along) <= tol;
    }
    for (int64_t k = 0; k < q->n; k++)
        if (missed(q, q->W[k], q->u[k], q->h[k]) > least) return 0;
    return 1;
}

/* ---- 1 -------------------------------------------------------------------------------------------------- */

static void join(fab_quad *q, int64_t j)
{
    if (q->in[j] || !(q->G[j * q->P + j] > 0)) return;
    q->in[j] = 1;
}

/* The part of G at work, in the order of the coordinates. */
static void gather(fab_quad *q)
{
    q->n = 0;
    for (int64_t j = 0; j < q->P; j++)
        if (q->in[j]) q->W[q->n++] = j;
    for (int64_t k = 0; k < q->n; k++) {
        const double *G = q->G + q->W[k] * q->P;
        double *S = q->S + k * q->n;
        for (int64_t i = 0; i < q->n; i++) S[i] = G[q->W[i]];
        q->u[k] = q->w[q->W[k]];
        q->h[k] = q->g[q->W[k]];
    }
}

/* ---- 2 -------------------------------------------------------------------------------------------------- */

static void move(fab_quad *q, int64_t k, double step)
{
    const double *S = q->S + k * q->n;
    for (int64_t i = 0; i < q->n; i++) q->h[i] -= step * S[i];
}

static void sweep(fab_quad *q)
{
    for (int64_t k = 0; k < q->n; k++) {
        const double x = q->S[k * q->n + k], was = q->u[k], z = q->h[k] + x * was;
        double now = z / x;
        if (q->W[k] < q->D) {
            const double left = fabs(z) - q->l1;
            now = left > 0 ? copysign(left, z) / (x + q->l2) : 0;
        }
        if (now == was) continue;
        q->u[k] = now;
        move(q, k, now - was);
    }
}

/* ---- 3 -------------------------------------------------------------------------------------------------- */

/* d of the coordinates A; 0: their part of G is singular */
static int direction(fab_quad *q, int64_t n)
{
    for (int64_t a = 0; a < n; a++) {
        const int64_t k = q->A[a], penalised = q->W[k] < q->D;
        const double *S = q->S + k * q->n;
        for (int64_t b = 0; b < n; b++) q->L[a * n + b] = S[q->A[b]];
        if (penalised) q->L[a * n + a] += q->l2;
        q->own[a] = q->L[a * n + a];
        q->d[a] = q->h[k];
        if (penalised) q->d[a] -= q->l2 * q->u[k] + copysign(q->l1, q->u[k]);
    }
    if (fab_chol(n, q->L) != FAB_OK) return 0;
    for (int64_t a = 0; a < n; a++)
        if (!(q->L[a * n + a] * q->L[a * n + a] > SINGULAR * q->own[a])) return 0;
    fab_chol_solve(n, 1, q->L, q->d);
    return 1;
}

/* Steps until signs stay; cut ones drop a coordinate each. */
static void newton(fab_quad *q)
{
    for (int cut = 0; cut < CUTS; cut++) {
        int64_t n = 0, first = -1;
        double t = 1;
        for (int64_t k = 0; k < q->n; k++)
            if (q->u[k] != 0 || q->W[k] >= q->D) q->A[n++] = k;
        if (n == 0 || !direction(q, n)) return;
        for (int64_t a = 0; a < n; a++) {
            const double u = q->u[q->A[a]], at = -u / q->d[a];
            if (q->W[q->A[a]] >= q->D || !(u * (u + t * q->d[a]) < 0) || !(at < t)) continue;
            t = at;
            first = a;
        }
        for (int64_t a = 0; a < n; a++) {
            const int64_t k = q->A[a];
            const double now = a == first ? 0 : q->u[k] + t * q->d[a];
            move(q, k, now - q->u[k]);
            q->u[k] = now;
        }
        if (first < 0) return;
    }
}

/* ---- the algorithm ---------------------------------------------------------------------------------------- */

fab_status fab_quad_solve(fab_quad *q, double before, double tol, int64_t *sweeps, double *gap,
                          int *done, fab_watch *watch, const char *who)
{
    const int64_t P = q->P, most = *sweeps;
    const double wanted = tol;
    *sweeps = 0;
    *gap = NAN;
    *done = 0;
    fab_quad_gradient(q);
    memset(q->in, 0, (size_t)P);
    for (int64_t j = 0; j < P; j++) /* 1 */
        if (j >= q->D || q->w[j] != 0 || !(fabs(q->g[j]) < 2 * q->l1 - before)) join(q, j);
    for (;;) {
        const double least = rounding(q);
        double off = 0;
        gather(q);
        for (int64_t made = 1;; made++) {
            sweep(q); /* 2 */
            ++*sweeps;
            if (made % EACH == 0 && is_there(q, 0.5 * tol, least)) break; /* 3 */
            if (made % STEP == 0 || (tol == 0 && made == EACH)) {
                newton(q);
                if (is_there(q, 0.5 * tol, least)) break;
            }
            if (*sweeps >= most) break;
            FAB_TRY(fab_watch_work(watch, 2 * (double)q->n * (double)q->n, who, *sweeps, most));
        }
        for (int64_t k = 0; k < q->n; k++) q->w[q->W[k]] = q->u[k];
        fab_quad_gradient(q); /* 4 */
        FAB_TRY(fab_watch_work(watch, (double)P * (double)q->n, who, *sweeps, most));
        if (q->D == P) *gap = fab_quad_gap(q);
        int64_t joined = 0;
        const double edge = rounding(q);
        for (int64_t j = 0; j < P; j++) {
            off = fmax(off, missed(q, j, q->w[j], q->g[j]));
            if (q->in[j] || !(fabs(q->g[j]) > q->l1 + (wanted > 0 ? 0 : edge))) continue;
            join(q, j);
            joined += q->in[j];
        }
        *done = wanted > 0 ? *gap <= wanted : off <= 2 * edge;
        if (*done || *sweeps >= most) return FAB_OK;
        if (!joined) tol *= 0.1;
    }
}
