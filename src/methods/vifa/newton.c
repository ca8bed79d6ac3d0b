/* newton.c - a step of vifa with the curvature as a matrix, for models whose -log p is convex.
 *
 * q = N(c, S), S = F F' + diag(psi) = R R', over W coordinates; v(theta): gradient of -log p(D, theta), all rows
 *
 *   1  Q: random orthogonal, W x W;  r^2 ~ chi^2 with W + 2 degrees;  x_j = r R q_j
 *   2  v at c and at c +- x_j:  2 W + 1 gradients.  E_q f is then estimated by
 *      (1 - W / r^2) f(c) + sum_j (f(c + x_j) + f(c - x_j)) / (2 r^2)
 *   3  g = E v;  H = E[v (theta - c)'] S^-1 = V Q' R^-1,  V_j = (v(c + x_j) - v(c - x_j)) / (2 r)      (Stein: H = E v')
 *   4  C += rate (H - C), at the first step C = H
 *   5  c -= rate C^-1 g;  unless y is gaussian, outputs change by at most `reach`, root mean square in units of their curvature
 *   6  F, psi: the Gaussian of rank K nearest to N(c, w C^-1)                                  (posterior/closest.c)
 *
 * The rule of 2 is unbiased for any f and exact up to degree 3 (Genz and Monahan 1998): for a linear model with gaussian y
 * nothing is left to chance, and the first step ends at the optimum.  Otherwise the falling rate averages over steps.
 * A q that no longer moves maximises the ELBO to first order: where C = E_q v', the slope of KL(q || N(c, C^-1)) in F and
 * psi is that of the ELBO.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/random.h"
#include "methods/vifa/vifa.h"
#include <math.h>
#include <string.h>

enum { STARTS = 8 }; /* places the search of 6 begins at, in the first and in the last step */

fab_status fab_vifa_newton_check(const fab_vifa *f)
{
    const int64_t W = f->q.W;
    if (W > FAB_DENSE_MAX)
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "%s: newton has a matrix of the curvature, for up to %d weights, not %lld; take "
            "optimiser = adam",
            f->who, FAB_DENSE_MAX, (long long)W);
    if (f->s.draws != 2 * W + 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: draws = %lld, but newton with %lld weights takes %lld; leave it auto",
                        f->who, (long long)f->s.draws, (long long)W, (long long)(2 * W + 1));
    return FAB_OK;
}

static void layout(fab_layout *l, fab_vifa *f)
{
    fab_vifa_curvature *n = &f->curvature;
    const int64_t D = f->q.D, W = f->q.W, K = f->q.K;
    double **const square[] = {&n->C, &f->backup.C, &n->R, &n->Q, &n->X, &n->V};
    double **const vector[] = {&n->theta, &n->g, &n->sum, &n->mean};
    for (size_t i = 0; i < sizeof square / sizeof *square; i++)
        *square[i] = fab_place(l, W * W, sizeof(double));
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        *vector[i] = fab_place(l, D, sizeof(double));
    n->F = fab_place(l, W * K, sizeof(double));
    n->normal = fab_place(l, W + 2, sizeof(double));
    n->work = fab_place(l, fab_qr_work(W, W), sizeof(double));
    n->closest.D = W;
    n->closest.K = K;
    fab_closest_layout(l, &n->closest);
}

static void states(const fab_vifa *f, fab_far_states *s)
{
    fab_far_add(s, "state.curvature", FAB_NEAR, FAB_F64, f->q.W, f->q.W, f->curvature.C);
}

static fab_status not_convex(const fab_vifa *f, fab_status s, int64_t t)
{
    return fab_prefix(
        s,
        "%s: at step %lld the curvature has no inverse; newton is for models whose -log p is "
        "convex, take optimiser = adam: ",
        f->who, (long long)t + 1);
}

/* ---- 1 - 3: expectations under q ---------------------------------------------------------------------- */

/* 2  v = gradient of all rows and of the prior at c + sign x_j, into n->sum; their loss.  sign = 0: at c */
static fab_status gradient_at(fab_vifa *f, int64_t t, int64_t j, double sign, double *loss)
{
    fab_vifa_curvature *n = &f->curvature;
    const int64_t D = f->q.D, W = f->q.W;
    double penalty = 0;
    memcpy(n->theta, f->q.c, (size_t)D * sizeof(double));
    if (sign != 0)
        for (int64_t i = 0; i < W; i++) n->theta[i] += sign * n->X[i + j * W];
    memset(n->sum, 0, (size_t)D * sizeof(double));
    *loss = 0;
    for (int64_t b = 0; b < fab_minibatch_steps(f->joint.batches); b++) {
        const fab_examples batch = fab_minibatch_get(f->joint.batches, 0, b);
        const double rows = (double)batch.x.n;
        double mean;
        if (f->m.at) f->m.at(f->m.self, sign != 0);
        FAB_TRY(f->m.loss(f->m.self, n->theta, &batch, &mean, n->g));
        *loss += mean * rows;
        for (int64_t i = 0; i < D; i++) n->sum[i] += n->g[i] * rows;
    }
    if (!isfinite(*loss)) return fab_vifa_diverged(f, t, "the loss", *loss);
    return fab_prior_add(&f->joint.prior, 1, n->theta, &penalty, n->sum);
}

/* 1 - 3  g into n->mean, H into n->X, E of the loss into s->loss. */
static fab_status expectations(fab_vifa *f, fab_vifa_step *s)
{
    fab_vifa_curvature *n = &f->curvature;
    const int64_t D = f->q.D, W = f->q.W, K = f->q.K;
    const uint64_t seed = (uint64_t)f->s.train.seed, stream = FAB_VIFA_DRAWS + 2 * (uint64_t)s->t;
    double loss, square = 0;

    memset(n->R, 0, (size_t)(W * W) * sizeof(double));
    if (K > 0) {
        f->nn->widen(W * K, 1, f->q.F, 0, n->F);
        fab_mm(FAB_T, FAB_N, W, W, K, 1, n->F, n->F, 0, n->R);
    }
    for (int64_t i = 0; i < W; i++) n->R[i + i * W] += f->q.psi[i];
    const fab_status factored = fab_chol(W, n->R); /* S = R R' */
    if (factored != FAB_OK) return not_convex(f, factored, s->t);

    fab_random_normal(seed, FAB_PURPOSE_DRAW, stream, 0, W * W, FAB_F64, n->Q); /* 1 */
    fab_random_normal(seed, FAB_PURPOSE_DRAW, stream + 1, 0, W + 2, FAB_F64, n->normal);
    fab_qr(W, W, n->Q, n->X, n->work);
    for (int64_t i = 0; i < W + 2; i++) square += n->normal[i] * n->normal[i]; /* r^2 */
    const double r = sqrt(square);
    fab_mm(FAB_N, FAB_N, W, W, W, r, n->R, n->Q, 0, n->X); /* x_j = r R q_j */

    if (f->m.noise) f->m.noise(f->m.self, seed, s->t);
    memset(n->mean, 0, (size_t)D * sizeof(double));
    memset(n->V, 0, (size_t)(W * W) * sizeof(double));
    const double at_c = 1 - (double)W / square, at_x = 0.5 / square;
    FAB_TRY(gradient_at(f, s->t, 0, 0, &loss)); /* 2 */
    s->loss += at_c * loss;
    for (int64_t i = 0; i < D; i++) n->mean[i] += at_c * n->sum[i];
    for (int64_t j = 0; j < W; j++)
        for (int sign = -1; sign < 2; sign += 2) {
            FAB_TRY(gradient_at(f, s->t, j, sign, &loss));
            s->loss += at_x * loss;
            for (int64_t i = 0; i < D; i++) n->mean[i] += at_x * n->sum[i];
            for (int64_t i = 0; i < W; i++) n->V[i + j * W] += sign * n->sum[i] / (2 * r);
        }
    s->rows = (double)fab_minibatch_rows(f->joint.batches);
    for (int64_t i = 0; i < D; i++)
        if (!isfinite(n->mean[i])) return fab_vifa_diverged(f, s->t, "the gradient", n->mean[i]);

    fab_mm(FAB_N, FAB_T, W, W, W, 1, n->V, n->Q, 0, n->X); /* 3 */
    fab_tri_solve(FAB_RIGHT, FAB_N, W, W, n->R, n->X);     /* V Q' R^-1 */
    fab_symmetrise(W, n->X);
    return FAB_OK;
}

/* ---- 4 - 6: the step ---------------------------------------------------------------------------------- */

/* 6  into n->F and psi */
static fab_status nearest(fab_vifa *f, const fab_vifa_step *s)
{
    fab_vifa_curvature *n = &f->curvature;
    memcpy(n->closest.A, n->C, (size_t)(f->q.W * f->q.W) * sizeof(double));
    FAB_TRY(fab_closest_take(&n->closest));
    if (s->first_or_last)
        for (int64_t i = 0; i < STARTS; i++)
            FAB_TRY(fab_closest_start(&n->closest, (uint64_t)f->s.train.seed, i));
    if (s->t > 0) FAB_TRY(fab_closest_from(&n->closest, f->q.psi));
    return fab_closest_give(&n->closest, n->F, f->q.psi);
}

static fab_status step(fab_vifa *f, fab_vifa_step *s)
{
    fab_vifa_curvature *n = &f->curvature;
    fab_vifa_gaussian *q = &f->q;
    const int64_t W = q->W, K = q->K;
    FAB_TRY(expectations(f, s)); /* 1 - 3 */

    const double share = s->t == 0 ? 1 : s->rate;
    for (int64_t i = 0; i < W * W; i++) n->C[i] += share * (n->X[i] - n->C[i]); /* 4 */
    memcpy(n->R, n->C, (size_t)(W * W) * sizeof(double));
    fab_status status = fab_chol(W, n->R);
    if (status != FAB_OK) return not_convex(f, status, s->t);

    const double most = f->s.reach * sqrt(s->rows);
    double *move = n->theta, square = 0, rate = s->rate;
    memcpy(move, n->mean, (size_t)W * sizeof(double));
    fab_chol_solve(W, 1, n->R, move);                               /* C^-1 g */
    for (int64_t i = 0; i < W; i++) square += move[i] * n->mean[i]; /* move' C move */
    if (f->m.head.likelihood != FAB_LIKELIHOOD_GAUSSIAN && rate * sqrt(square) > most)
        rate = most / sqrt(square);
    for (int64_t i = 0; i < W; i++) q->c[i] -= rate * move[i]; /* 5 */
    if (s->free_moves) /* 2 / N in place of C^-1: the inverse Fisher information of a log noise precision */
        for (int64_t i = W; i < q->D; i++)
            q->c[i] -= fmax(-1, fmin(1, s->rate * 2 * n->mean[i] / s->rows));

    if (s->weight > 0) {
        status = nearest(f, s); /* 6 */
        if (status != FAB_OK) return not_convex(f, status, s->t);
        for (int64_t i = 0; i < W * K; i++) n->F[i] *= sqrt(s->weight);
        if (K > 0) f->nn->narrow(W * K, n->F, q->F);
        for (int64_t i = 0; i < W; i++) {
            q->gamma[i] = log(s->weight * q->psi[i]);
            FAB_TRY(fab_vifa_check_gamma(f, s->t, fabs(q->gamma[i])));
        }
        f->nn->exps(W, q->gamma, q->psi);
    }
    fab_vifa_gram(f, q->psi);
    return FAB_OK;
}

const fab_vifa_rule fab_vifa_newton = {
    .remedy = "take optimiser = adam",
    .layout = layout,
    .states = states,
    .all = step,
};
