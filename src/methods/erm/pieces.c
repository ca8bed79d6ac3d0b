/* pieces.c - losses made of straight pieces, exactly, by an interior point.
 *
 * Absolute, pinball, eps-insensitive and hinge loss are sums of pieces, each the largest of two lines of its residual, and so is the
 * penalty l1 |w_j|, whose row is the j-th unit vector:
 *
 *     least of   sum_c phi_c(t_c - x_c'theta) + theta'Q theta / 2,    phi_c(r) = max(lo_c r, hi_c r),   lo <= 0 <= hi
 *
 *     absolute: t = y, -v, v.  pinball: 2 (tau - 1) v, 2 tau v.  hinge: t = y, 0, v or -v, 0.
 *     eps-insensitive: t = y - eps with 0, v and t = y + eps with -v, 0.  Q: 2 l2 on the penalised.  All times V = sum v.
 *
 * With r = p - q, p, q >= 0, and a multiplier lo <= a <= hi of each piece, s = hi - a, z = a - lo:
 *
 *   1  r_p = t - X theta - p + q,   r_d = X'a - Q theta,   mu = mean of p s and q z
 *   2  W = 1 / (p / s + q / z);  (X'W X + Q) d = X'W rho + r_d,   rho = r_p - (m_p / s - p) + (m_q / z - q)
 *      da = W (rho - X d),  dp = m_p / s - p + da p / s,  dq = m_q / z - q - da q / z
 *   3  once with m = 0; then with m_p = sigma mu + dp da, m_q = sigma mu - dq da, sigma = (mu after 3 / mu)^3   (Mehrotra)
 *   4  step: .9995 of the way to the next bound; where l2 = 0 its own for (theta, p, q) and for a
 *   5  end when sum p s + q z is below 1e-13 of the objective
 *   6  pieces whose multiplier is inside its bounds have residual 0: theta moves there by least squares, and w_j = 0 of
 *      penalties among them is exact; taken where the objective does not rise but for rounding
 *      without a penalty columns that follow from others leave a choice: the shortest theta, in units of the columns
 *   7  gap = objective - (t'a - theta'Q theta / 2) + |r_d'theta|
 *
 * A step costs N P^2 / 2 + P^3 / 3 multiply-adds; there are 10 to 30.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/erm/erm.h"
#include "la/small.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define CLOSE    1e-13  /* 5 */
#define SLOW     1e-9   /* a step below it: rounding is all that is left */
#define INSIDE   1e-5   /* 6: of hi - lo */
#define TOUCHING 1e-6   /* 6: residuals beside the mean of |t| */
#define RISE     1e-12  /* 6: of the objective */
#define DAMP     1e-14  /* of each diagonal element, on it */
#define HELD     0.9995 /* 4 */
#define EMPTY    1e-12  /* 6: an eigenvalue of columns of length 1: none of their directions */
enum { REFINE = 3 };

void fab_erm_pieces_layout(fab_layout *l, fab_erm_pieces *f, const fab_erm_rows *r)
{
    f->m = (r->loss == FAB_LOSS_EPS_INSENSITIVE ? 2 : 1) * r->n + r->D;
    double **of_m[] = {&f->t,  &f->lo, &f->hi, &f->p,      &f->q,   &f->a,
                       &f->dp, &f->dq, &f->da, &f->weight, &f->rho, &f->r};
    double **of_P[] = {&f->along, &f->step, &f->left, &f->quadratic, &f->other};
    for (size_t i = 0; i < sizeof of_m / sizeof *of_m; i++)
        *of_m[i] = fab_place(l, f->m, sizeof(double));
    for (size_t i = 0; i < sizeof of_P / sizeof *of_P; i++)
        *of_P[i] = fab_place(l, r->P, sizeof(double));
    f->row = fab_place(l, f->m, sizeof(int64_t));
    f->M = fab_place(l, r->P * r->P, sizeof(double));
    f->work = fab_place(l, fab_eig_work(r->P), sizeof(double));
    f->block = fab_place(l, FAB_ERM_BLOCK * r->P, sizeof(double));
}

/* ---- pieces --------------------------------------------------------------------------------------------- */

static void add(fab_erm_pieces *f, int64_t row, double t, double lo, double hi)
{
    f->row[f->m] = row;
    f->t[f->m] = t;
    f->lo[f->m] = lo;
    f->hi[f->m] = hi;
    f->m++;
}

static void cut(fab_erm_pieces *f, const fab_erm_rows *r, const fab_erm_penalty *p, double V)
{
    f->m = 0;
    for (int64_t i = 0; i < r->n; i++) {
        const double v = r->v[i], t = r->y[i] - r->offset[i];
        if (!(v > 0)) continue;
        if (r->loss == FAB_LOSS_ABSOLUTE) add(f, i, t, -v, v);
        if (r->loss == FAB_LOSS_PINBALL) add(f, i, t, 2 * (r->tau - 1) * v, 2 * r->tau * v);
        if (r->loss == FAB_LOSS_HINGE) add(f, i, t, r->y[i] > 0 ? 0 : -v, r->y[i] > 0 ? v : 0);
        if (r->loss == FAB_LOSS_EPS_INSENSITIVE) {
            add(f, i, t - r->eps, 0, v);
            add(f, i, t + r->eps, -v, 0);
        }
    }
    for (int64_t j = 0; j < r->D && p->l1 > 0; j++) add(f, -1 - j, 0, -V * p->l1, V * p->l1);
    for (int64_t j = 0; j < r->P; j++) f->quadratic[j] = j < r->D ? 2 * V * p->l2 : 0;
}

static double dot(const fab_erm_pieces *f, const fab_erm_rows *r, int64_t c, const double *theta)
{
    if (f->row[c] < 0) return theta[-1 - f->row[c]];
    const double *x = r->X + f->row[c] * r->P;
    double sum = 0;
    for (int64_t j = 0; j < r->P; j++) sum += x[j] * theta[j];
    return sum;
}

/* out += scale x_c */
static void plus(const fab_erm_pieces *f, const fab_erm_rows *r, int64_t c, double scale,
                 double *out)
{
    if (f->row[c] < 0) {
        out[-1 - f->row[c]] += scale;
        return;
    }
    const double *x = r->X + f->row[c] * r->P;
    for (int64_t j = 0; j < r->P; j++) out[j] += scale * x[j];
}

/* M (lower) = sum_c weight_c x_c x_c' + Q, factored; weight 0: not there */
static fab_status factor(fab_erm_pieces *f, const fab_erm_rows *r, const double *Q, fab_watch *w)
{
    const int64_t P = r->P;
    int64_t held = 0;
    memset(f->M, 0, (size_t)(P * P) * sizeof *f->M);
    for (int64_t c = 0; c < f->m; c++) {
        if (f->row[c] >= 0 && f->weight[c] > 0) {
            const double root = sqrt(f->weight[c]), *x = r->X + f->row[c] * P;
            double *to = f->block + held++ * P;
            for (int64_t j = 0; j < P; j++) to[j] = root * x[j];
        }
        if (held == FAB_ERM_BLOCK || (held && c + 1 == f->m)) {
            fab_syrk(held, P, f->block, P, f->M, P);
            FAB_TRY(fab_watch_work(w, (double)(held * P) * (double)P / 8, r->who, c, f->m));
            held = 0;
        }
    }
    for (int64_t c = 0; c < f->m; c++)
        if (f->row[c] < 0) f->M[(-1 - f->row[c]) * (P + 1)] += f->weight[c];
    for (int64_t j = 0; j < P && Q; j++) f->M[j * (P + 1)] += Q[j];
    for (int64_t i = 0; i < P;
         i++) /* fab_chol reads columns: the lower triangle of rows is its upper one */
        for (int64_t j = 0; j < i; j++) f->M[j * P + i] = f->M[i * P + j];
    for (int64_t j = 0; j < P; j++) { /* a column of zeros stays where it is */
        double *d = f->M + j * (P + 1);
        *d = *d > 0 ? *d * (1 + DAMP) : 1;
    }
    return fab_chol(P, f->M);
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

/* 1: residuals; the complementarity, a sum */
static double residuals(fab_erm_pieces *f, const fab_erm_rows *r, const double *theta)
{
    double sum = 0;
    for (int64_t j = 0; j < r->P; j++) f->left[j] = -f->quadratic[j] * theta[j];
    for (int64_t c = 0; c < f->m; c++) {
        f->r[c] = f->t[c] - dot(f, r, c, theta) - f->p[c] + f->q[c];
        plus(f, r, c, f->a[c], f->left);
        sum += f->p[c] * (f->hi[c] - f->a[c]) + f->q[c] * (f->a[c] - f->lo[c]);
    }
    return sum;
}

/* 2: m_p = mu + dp da and m_q = mu - dq da of the step before where `second`, else mu.  Solved REFINE times: each takes up what rounding left of
 * the one before. */
static void direction(fab_erm_pieces *f, const fab_erm_rows *r, double mu, int second)
{
    const int64_t P = r->P;
    memcpy(f->step, f->left, (size_t)P * sizeof *f->step);
    for (int64_t c = 0; c < f->m; c++) {
        const double s = f->hi[c] - f->a[c], z = f->a[c] - f->lo[c],
                     mp = mu + (second ? f->dp[c] * f->da[c] : 0),
                     mq = mu - (second ? f->dq[c] * f->da[c] : 0);
        f->dp[c] = mp / s - f->p[c]; /* but for da */
        f->dq[c] = mq / z - f->q[c];
        f->rho[c] = f->r[c] - f->dp[c] + f->dq[c];
        plus(f, r, c, f->weight[c] * f->rho[c], f->step);
    }
    fab_chol_solve(P, 1, f->M, f->step);
    for (int again = 0; again < REFINE; again++) {
        for (int64_t j = 0; j < P; j++)
            f->other[j] = f->left[j] - f->quadratic[j] * f->step[j]; /* r_d - Q d + X'da */
        for (int64_t c = 0; c < f->m; c++) {
            f->da[c] = f->weight[c] * (f->rho[c] - dot(f, r, c, f->step));
            plus(f, r, c, f->da[c], f->other);
        }
        if (again == REFINE - 1) break;
        fab_chol_solve(P, 1, f->M, f->other);
        for (int64_t j = 0; j < P; j++) f->step[j] += f->other[j];
    }
    for (int64_t c = 0; c < f->m; c++) {
        const double s = f->hi[c] - f->a[c], z = f->a[c] - f->lo[c];
        f->dp[c] += f->da[c] * (f->p[c] / s);
        f->dq[c] -= f->da[c] * (f->q[c] / z);
    }
}

static void shorten(double at, double by, double *t)
{
    if (by < 0) *t = fmin(*t, -at / by);
}

/* 4: how far to the bounds: p and q; a */
static void reach(const fab_erm_pieces *f, double *primal, double *dual)
{
    *primal = *dual = 1 / HELD;
    for (int64_t c = 0; c < f->m; c++) {
        shorten(f->p[c], f->dp[c], primal);
        shorten(f->q[c], f->dq[c], primal);
        shorten(f->hi[c] - f->a[c], -f->da[c], dual);
        shorten(f->a[c] - f->lo[c], f->da[c], dual);
    }
    *primal = fmin(1, HELD * *primal);
    *dual = fmin(1, HELD * *dual);
}

static double after(const fab_erm_pieces *f, double primal, double dual)
{
    double sum = 0;
    for (int64_t c = 0; c < f->m; c++) {
        const double a = f->a[c] + dual * f->da[c];
        sum += (f->p[c] + primal * f->dp[c]) * (f->hi[c] - a) +
               (f->q[c] + primal * f->dq[c]) * (a - f->lo[c]);
    }
    return sum;
}

static void weigh(fab_erm_pieces *f)
{
    for (int64_t c = 0; c < f->m; c++)
        f->weight[c] = 1 / (f->p[c] / (f->hi[c] - f->a[c]) + f->q[c] / (f->a[c] - f->lo[c]));
}

static void start(fab_erm_pieces *f, const fab_erm_rows *r, const double *theta)
{
    double mean = 0;
    for (int64_t c = 0; c < f->m; c++) {
        f->a[c] = 0.5 * (f->lo[c] + f->hi[c]);
        f->r[c] = f->t[c] - dot(f, r, c, theta);
        mean += fabs(f->r[c]) / (double)f->m;
    }
    if (!(mean > 0)) mean = 1;
    for (int64_t c = 0; c < f->m; c++) {
        f->p[c] = fmax(f->r[c], 0) + mean;
        f->q[c] = fmax(-f->r[c], 0) + mean;
    }
}

/* ---- 6, 7 ----------------------------------------------------------------------------------------------- */

/* theta (P) to other: on the residuals that are 0. */
static fab_status settle(fab_erm_pieces *f, const fab_erm_rows *r, const double *theta,
                         fab_watch *w)
{
    double size = 0;
    for (int64_t c = 0; c < f->m; c++) size += fabs(f->t[c]) / (double)f->m;
    for (int64_t c = 0; c < f->m; c++) {
        const double width = f->hi[c] - f->lo[c],
                     inside = fmin(f->hi[c] - f->a[c], f->a[c] - f->lo[c]);
        f->weight[c] = inside > INSIDE * width && fmax(f->p[c], f->q[c]) < TOUCHING * size;
    }
    FAB_TRY(factor(f, r, NULL, w));
    memcpy(f->other, theta, (size_t)r->P * sizeof *f->other);
    for (int turn = 0; turn < REFINE; turn++) {
        memset(f->step, 0, (size_t)r->P * sizeof *f->step);
        for (int64_t c = 0; c < f->m; c++)
            if (f->weight[c] > 0) plus(f, r, c, f->t[c] - dot(f, r, c, f->other), f->step);
        fab_chol_solve(r->P, 1, f->M, f->step);
        for (int64_t j = 0; j < r->P; j++) f->other[j] += f->step[j];
    }
    for (int64_t c = 0; c < f->m; c++)
        if (f->row[c] < 0 && f->weight[c] > 0) f->other[-1 - f->row[c]] = 0;
    return FAB_OK;
}

/* Without a penalty: theta less what lies in directions that no row sees. */
static fab_status shorten_theta(fab_erm_pieces *f, const fab_erm_rows *r, double *theta,
                                fab_watch *w)
{
    const int64_t P = r->P;
    double *length = f->along, *s = f->step;
    FAB_TRY(fab_erm_gram(r, r->v, f->M, f->block, w));
    for (int64_t j = 0; j < P; j++) length[j] = sqrt(fmax(f->M[j * (P + 1)], 0));
    for (int64_t i = 0; i < P; i++)
        for (int64_t j = 0; j <= i; j++) {
            const double scale = length[i] * length[j];
            f->M[i * P + j] = f->M[j * P + i] = scale > 0 ? f->M[i * P + j] / scale : i == j;
        }
    FAB_TRY(fab_eig(P, f->M, f->other, f->work)); /* vectors one after the other */
    for (int64_t j = 0; j < P; j++) s[j] = theta[j] * length[j];
    for (int64_t k = 0; k < P && f->other[k] < EMPTY * (double)P; k++) {
        const double *u = f->M + k * P;
        double along = 0;
        for (int64_t j = 0; j < P; j++) along += u[j] * s[j];
        for (int64_t j = 0; j < P; j++) s[j] -= along * u[j];
    }
    for (int64_t j = 0; j < P; j++) theta[j] = length[j] > 0 ? s[j] / length[j] : 0;
    return FAB_OK;
}

static double gap_of(fab_erm_pieces *f, const fab_erm_rows *r, const double *theta, double V,
                     double objective)
{
    double bound = 0, loose = 0;
    for (int64_t j = 0; j < r->P; j++) {
        bound -= 0.5 * f->quadratic[j] * theta[j] * theta[j];
        f->left[j] = -f->quadratic[j] * theta[j];
    }
    for (int64_t c = 0; c < f->m; c++) {
        bound += f->t[c] * f->a[c];
        plus(f, r, c, f->a[c], f->left);
    }
    for (int64_t j = 0; j < r->P; j++) loose += f->left[j] * theta[j];
    return fmax(objective - bound / V, 0) + fabs(loose) / V;
}

void fab_erm_pieces_along(const fab_erm_pieces *f, const fab_erm_rows *r, double *along)
{
    memset(along, 0, (size_t)r->P * sizeof *along);
    for (int64_t c = 0; c < f->m; c++)
        if (f->row[c] >= 0) plus(f, r, c, f->a[c], along);
}

/* ---- the algorithm ---------------------------------------------------------------------------------------- */

fab_status fab_erm_pieces_solve(fab_erm_pieces *f, const fab_erm_rows *r, const fab_erm_penalty *p,
                                int64_t max_iter, double *theta, fab_erm_end *end, fab_watch *watch)
{
    double V = 0;
    *end = (fab_erm_end){0};
    for (int64_t i = 0; i < r->n; i++) V += r->v[i];
    cut(f, r, p, V);
    memset(theta, 0, (size_t)r->P * sizeof *theta);
    const double first = V * fab_erm_objective(r, theta, p);
    start(f, r, theta);
    for (;;) {
        const double sum = residuals(f, r, theta), mu = sum / (2 * (double)f->m); /* 1 */
        const double now = V * fab_erm_objective(r, theta, p);
        end->converged = sum <= CLOSE * fmax(now, CLOSE * first); /* 5 */
        if (end->converged || end->iterations >= max_iter || !isfinite(sum)) break;
        double primal, dual;
        weigh(f);
        FAB_TRY(factor(f, r, f->quadratic, watch)); /* 2 */
        direction(f, r, 0, 0);                      /* 3 */
        reach(f, &primal, &dual);
        if (p->l2 > 0) primal = dual = fmin(primal, dual);
        const double ratio = after(f, primal, dual) / sum;
        direction(f, r, ratio * ratio * ratio * mu, 1);
        reach(f, &primal, &dual); /* 4 */
        if (p->l2 > 0) primal = dual = fmin(primal, dual);
        if (!(fmax(primal, dual) > SLOW)) break;
        for (int64_t j = 0; j < r->P; j++) theta[j] += primal * f->step[j];
        for (int64_t c = 0; c < f->m; c++) {
            f->p[c] += primal * f->dp[c];
            f->q[c] += primal * f->dq[c];
            f->a[c] += dual * f->da[c];
        }
        end->iterations++;
        FAB_TRY(fab_watch_tick(watch, r->who, end->iterations, max_iter));
    }
    end->objective = fab_erm_objective(r, theta, p);
    const fab_status s = settle(f, r, theta, watch); /* 6 */
    if (s == FAB_STOPPED) return s;
    const double settled = s == FAB_OK ? fab_erm_objective(r, f->other, p) : INFINITY;
    if (settled <= end->objective + RISE * fabs(end->objective)) {
        memcpy(theta, f->other, (size_t)r->P * sizeof *theta);
        end->objective = settled;
    }
    if (!(p->l1 > 0) && !(p->l2 > 0)) {
        FAB_TRY(shorten_theta(f, r, theta, watch));
        end->objective = fab_erm_objective(r, theta, p);
    }
    end->gap = gap_of(f, r, theta, V, end->objective); /* 7 */
    return FAB_OK;
}
