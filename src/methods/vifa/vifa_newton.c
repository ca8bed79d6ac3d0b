/* vifa_newton.c - a step of vifa with the curvature as a matrix, for models whose -log p is convex.
 *
 * q = N(c, S), S = F F' + diag(psi) = R R', over W coordinates; v(theta): gradient of -log p(D, theta), all rows
 *
 *   1  Q: random orthogonal, W x W;  r^2 ~ chi^2 with W + 2 degrees;  x_j = r R q_j
 *   2  v at c and at c +- x_j:  2 W + 1 gradients.  E_q f is then estimated by
 *      (1 - W / r^2) f(c) + sum_j (f(c + x_j) + f(c - x_j)) / (2 r^2)
 *   3  g = E v;  H = E[v (theta - c)'] S^-1 = V Q' R^-1,  V_j = (v(c + x_j) - v(c - x_j)) / (2 r)      (Stein: H = E v')
 *   4  C += rate (H - C), at the first step C = H
 *   5  c -= rate C^-1 g;  unless y is gaussian, outputs change by at most `reach`, root mean square in units of their curvature
 *   6  F, psi: the Gaussian of rank K nearest to N(c, w C^-1)                                              (closest.c)
 *
 * The rule of 2 is unbiased for any f and exact up to degree 3 (Genz and Monahan 1998): for a linear model with gaussian y
 * nothing is left to chance, and the first step ends at the optimum.  Otherwise the falling rate averages over steps.
 * A q that stands still maximises the ELBO to first order: where C = E_q v', the slope of KL(q || N(c, C^-1)) in F and
 * psi is that of the ELBO.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/random.h"
#include "methods/vifa/vifa_state.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

enum { STARTS = 8 }; /* places the search of 6 begins at, in the first and in the last step */

void fab_vifa_newton_layout(fab_layout *l, fab_vifa *f)
{
    fab_vifa_newton *n = &f->newton;
    const int64_t W = n->W;
    double **const square[] = {&n->curvature, &n->good, &n->R, &n->Q, &n->X, &n->V};
    for (size_t i = 0; i < sizeof square / sizeof *square; i++)
        *square[i] = fab_place(l, W * W, sizeof(double));
    n->F = fab_place(l, W * f->K, sizeof(double));
    n->normal = fab_place(l, W > 0 ? W + 2 : 0, sizeof(double));
    n->sum = fab_place(l, W > 0 ? f->m.D : 0, sizeof(double));
    n->work = fab_place(l, W > 0 ? fab_qr_work(W, W) : 0, sizeof(double));
    n->near.D = W;
    n->near.K = f->K;
    if (W > 0) fab_closest_layout(l, &n->near);
}

/* ---- the points ----------------------------------------------------------------------------------------- */

static fab_status not_convex(const fab_vifa *f, fab_status s, int64_t t)
{
    return fab_prefix(
        s,
        "%s: at step %lld the curvature has no inverse; newton is for models whose -log p is "
        "convex, take optimiser = adam: ",
        f->who, (long long)t + 1);
}

/* R of S = R R' */
static fab_status root(fab_vifa *f)
{
    fab_vifa_newton *n = &f->newton;
    const int64_t W = f->W, K = f->K;
    memset(n->R, 0, (size_t)(W * W) * sizeof(double));
    if (K > 0) {
        f->nn->widen(W * K, 1, f->F, 0, n->F);
        fab_mm(FAB_T, FAB_N, W, W, K, 1, n->F, n->F, 0, n->R);
    }
    for (int64_t i = 0; i < W; i++) n->R[i + i * W] += f->psi[i];
    return fab_chol(W, n->R);
}

/* 1; r^2 */
static double directions(fab_vifa *f, const fab_vifa_step *s)
{
    fab_vifa_newton *n = &f->newton;
    const int64_t W = f->W;
    const uint64_t seed = (uint64_t)f->s.seed, stream = FAB_VIFA_DRAWS + 2 * (uint64_t)s->t;
    double square = 0;
    fab_random_normal(seed, stream, 0, W * W, FAB_F64, n->Q);
    fab_random_normal(seed, stream + 1, 0, W + 2, FAB_F64, n->normal);
    fab_qr(W, W, n->Q, n->X, n->work);
    for (int64_t i = 0; i < W + 2; i++) square += n->normal[i] * n->normal[i];
    fab_mm(FAB_N, FAB_N, W, W, W, sqrt(square), n->R, n->Q, 0, n->X);
    return square;
}

/* n->sum = v(f->theta) of all rows; their loss */
static fab_status gradient(fab_vifa *f, const fab_vifa_step *s, double *loss)
{
    double *sum = f->newton.sum, penalty = 0;
    memset(sum, 0, (size_t)f->m.D * sizeof(double));
    *loss = 0;
    for (int64_t b = 0; b < fab_minibatch_steps(f->batches); b++) {
        const fab_examples batch = fab_minibatch_get(f->batches, 0, b);
        double mean;
        FAB_TRY(f->m.loss(f->m.self, f->theta, &batch, &mean, f->g));
        *loss += mean * (double)batch.x.n;
        for (int64_t i = 0; i < f->m.D; i++) sum[i] += f->g[i] * (double)batch.x.n;
    }
    if (!isfinite(*loss)) return fab_vifa_diverged(f, s->t, "the loss", *loss);
    return fab_prior_add(&f->prior, 1, f->theta, &penalty, sum);
}

/* 2  f->theta = c + sign x_j; what is found there is added to g and to the loss of the step, times weight, and to V_j,
 *    times sign / (2 r) */
static fab_status visit(fab_vifa *f, fab_vifa_step *s, int64_t j, double sign, double r,
                        double weight)
{
    fab_vifa_newton *n = &f->newton;
    double loss;
    memcpy(f->theta, f->c, (size_t)f->m.D * sizeof(double));
    for (int64_t i = 0; i < f->W && sign != 0; i++) f->theta[i] += sign * n->X[i + j * f->W];
    FAB_TRY(gradient(f, s, &loss));
    s->loss += weight * loss;
    for (int64_t i = 0; i < f->m.D; i++) f->gc[i] += weight * n->sum[i];
    for (int64_t i = 0; i < f->W && sign != 0; i++)
        n->V[i + j * f->W] += sign * n->sum[i] / (2 * r);
    return FAB_OK;
}

/* 2, 3 */
static fab_status average(fab_vifa *f, fab_vifa_step *s)
{
    fab_vifa_newton *n = &f->newton;
    const int64_t W = f->W;
    const double square = directions(f, s), r = sqrt(square);
    memset(f->gc, 0, (size_t)f->m.D * sizeof(double));
    memset(n->V, 0, (size_t)(W * W) * sizeof(double));
    if (f->m.noise) f->m.noise(f->m.self, (uint64_t)f->s.seed, s->t);
    FAB_TRY(visit(f, s, 0, 0, r, 1 - (double)W / square));
    for (int64_t j = 0; j < W; j++)
        for (int sign = -1; sign < 2; sign += 2) FAB_TRY(visit(f, s, j, sign, r, 0.5 / square));
    s->rows = (double)fab_minibatch_rows(f->batches);
    for (int64_t i = 0; i < f->m.D; i++)
        if (!isfinite(f->gc[i])) return fab_vifa_diverged(f, s->t, "the gradient", f->gc[i]);
    fab_mm(FAB_N, FAB_T, W, W, W, 1, n->V, n->Q, 0, n->X);
    fab_tri_solve(FAB_RIGHT, FAB_N, W, W, n->R, n->X);
    fab_symmetrise(W, n->X); /* H */
    return FAB_OK;
}

/* ---- the step ------------------------------------------------------------------------------------------- */

/* 4; R becomes the factor of C */
static fab_status learn_curvature(fab_vifa *f, const fab_vifa_step *s)
{
    fab_vifa_newton *n = &f->newton;
    const int64_t all = f->W * f->W;
    const double rate = s->t == 0 ? 1 : s->rate;
    for (int64_t i = 0; i < all; i++) n->curvature[i] += rate * (n->X[i] - n->curvature[i]);
    memcpy(n->R, n->curvature, (size_t)all * sizeof(double));
    return fab_chol(f->W, n->R);
}

/* 5; free coordinates: 2 / N in place of C^-1, the inverse Fisher information of a log noise precision */
static void move_c(fab_vifa *f, const fab_vifa_step *s)
{
    const double rows = s->rows, most = f->s.reach * sqrt(rows);
    double square = 0, rate = s->rate;
    memcpy(f->theta, f->gc, (size_t)f->W * sizeof(double));
    fab_chol_solve(f->W, 1, f->newton.R, f->theta);
    for (int64_t i = 0; i < f->W; i++) square += f->theta[i] * f->gc[i]; /* move' C move */
    if (f->m.head.likelihood != FAB_LIKELIHOOD_GAUSSIAN && rate * sqrt(square) > most)
        rate = most / sqrt(square);
    for (int64_t i = 0; i < f->W; i++) f->c[i] -= rate * f->theta[i];
    for (int64_t i = f->W; i < f->m.D && s->moves_free; i++)
        f->c[i] -= fmax(-1, fmin(1, s->rate * 2 * f->gc[i] / rows));
}

/* 6: into n->F and f->psi */
static fab_status approach(fab_vifa *f, const fab_vifa_step *s)
{
    fab_vifa_newton *n = &f->newton;
    memcpy(n->near.A, n->curvature, (size_t)(f->W * f->W) * sizeof(double));
    FAB_TRY(fab_closest_take(&n->near));
    for (int64_t i = 0; i < STARTS && s->ends; i++)
        FAB_TRY(fab_closest_start(&n->near, (uint64_t)f->s.seed, i));
    if (s->t > 0) FAB_TRY(fab_closest_from(&n->near, f->psi));
    return fab_closest_give(&n->near, n->F, f->psi);
}

static fab_status move_S(fab_vifa *f, const fab_vifa_step *s)
{
    fab_vifa_newton *n = &f->newton;
    const fab_status found = approach(f, s);
    if (found != FAB_OK) return not_convex(f, found, s->t);
    for (int64_t i = 0; i < f->W * f->K; i++) n->F[i] *= sqrt(s->weight);
    if (f->K > 0) f->nn->narrow(f->W * f->K, n->F, f->F);
    for (int64_t i = 0; i < f->W; i++) {
        f->gamma[i] = log(s->weight * f->psi[i]);
        if (!(fabs(f->gamma[i]) <= FAB_VIFA_MOST_GAMMA))
            return fab_vifa_diverged(f, s->t, "the largest |log psi|", fabs(f->gamma[i]));
    }
    f->nn->exps(f->W, f->gamma, f->psi);
    return FAB_OK;
}

fab_status fab_vifa_newton_step(fab_vifa *f, fab_vifa_step *s)
{
    fab_status status = root(f);
    if (status != FAB_OK) return not_convex(f, status, s->t);
    FAB_TRY(average(f, s)); /* 1 - 3 */
    status = learn_curvature(f, s);
    if (status != FAB_OK) return not_convex(f, status, s->t);
    move_c(f, s);
    if (s->weight > 0) FAB_TRY(move_S(f, s));
    fab_vifa_gram(f);
    return FAB_OK;
}
