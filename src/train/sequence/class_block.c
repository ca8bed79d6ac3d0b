/* class_block.c - a block of rows of a softmax model, in the space of its n = m C predictors.
 *
 *   a row is a site: H_j = root_j root_j' added to the precision, c_j = error + H_j (u_j - eta_j) to P^-1 (mu - mu0)
 *   1  V = A, d = 0;  for each row in turn:
 *   2      error, root, u = update from (eta_j + d_j, V_jj)                              (classes.c)
 *   3      K = root (I + root' V_jj root)^-1 root':  V -= V e_j K e_j' V,  d = V c
 *   4  at most `sweeps` times, until no predictor moves by a thousandth of its standard deviation, for each row:
 *   5      out: K = root (I - root' V_jj root)^-1 root':  V += V e_j K e_j' V,  c_j = 0,  d = V c
 *   6      in again: 2, 3
 *   7  Q = the roots along the diagonal, B = I + Q' A Q:  step = (I + H A)^-1 c = c - Q B^-1 Q' A c
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "train/sequence/classes.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

#define SETTLED 1e-3 /* standard deviations that a predictor may still move */

int64_t fab_class_block_work(int64_t C, int64_t draws)
{
    return fab_classes_work(C, draws) + 4 * C * C + 3 * C;
}

/* 3, 5: V -= sign V e_j K e_j' V */
static void change(const fab_class_block *b, int64_t j, double sign, const double *K)
{
    const int64_t C = b->C, n = b->m * C;
    double *column = b->B, *gain = b->B + n * C; /* V e_j, and that times K */
    memcpy(column, b->V + j * C * n, (size_t)(n * C) * sizeof *column);
    fab_mm(FAB_N, FAB_N, n, C, C, 1, column, K, 0, gain);
    fab_mm(FAB_N, FAB_T, n, n, C, -sign, gain, column, 1, b->V);
    fab_mv(FAB_N, n, n, 1, b->V, b->site, 0, b->d);
}

/* 2, 3 */
static fab_status take_in(fab_class_block *b, int64_t j, double *score)
{
    const int64_t C = b->C, n = b->m * C;
    double *K = b->work, *scratch = K + C * C, *u0 = scratch + 3 * C * C, *more = u0 + 3 * C;
    double *root = b->root + j * C * C, *c = b->site + j * C;
    fab_site s = {.error = u0 + C, .root = root, .u = u0 + 2 * C};
    const double *Vjj = b->V + j * C + j * C * n, *eta = b->eta + j * C;
    for (int64_t k = 0; k < C; k++) u0[k] = eta[k] + b->d[j * C + k];
    fab_classes_update(b->rule, b->first + (uint64_t)j, C, b->y[j], b->w[j], u0, Vjj, n, &s, more);
    *score = s.score;
    if (!isfinite(s.error[0]))
        return FAB_FAIL(FAB_NUMERIC, "row %lld of a block has no finite update", (long long)j);
    if (fab_classes_gain(C, root, Vjj, n, 1, K, scratch) != FAB_OK)
        memset(K, 0, (size_t)(C * C) * sizeof *K); /* what is left of its variance is rounding */
    for (int64_t k = 0; k < C; k++) s.u[k] -= eta[k];
    fab_mv(FAB_T, C, C, 1, root, s.u, 0, scratch);
    memcpy(c, s.error, (size_t)C * sizeof *c);
    fab_mv(FAB_N, C, C, 1, root, scratch, 1, c);
    change(b, j, 1, K);
    return FAB_OK;
}

/* 5, 6; the largest move of its predictors in standard deviations */
static fab_status take_again(fab_class_block *b, int64_t j, double *moved)
{
    const int64_t C = b->C, n = b->m * C;
    double *K = b->work, *scratch = K + C * C, score;
    double *before = b->step + j * C; /* not yet in use */
    memcpy(before, b->d + j * C, (size_t)C * sizeof *before);
    if (fab_classes_gain(C, b->root + j * C * C, b->V + j * C + j * C * n, n, -1, K, scratch) !=
        FAB_OK)
        return FAB_OK; /* the others say nothing about it */
    memset(b->site + j * C, 0, (size_t)C * sizeof *b->site);
    change(b, j, -1, K);
    FAB_TRY(take_in(b, j, &score));
    for (int64_t k = j * C; k < (j + 1) * C; k++)
        *moved = fmax(*moved, fabs(b->d[k] - b->step[k]) / sqrt(b->V[k + k * n]));
    return FAB_OK;
}

/* x <- Q x or Q' x for the columns of x (n x columns) */
static void apply_roots(const fab_class_block *b, fab_trans t, int64_t columns, double *x)
{
    const int64_t C = b->C, n = b->m * C;
    for (int64_t i = 0; i < columns * b->m; i++) {
        double *part = x + i / b->m * n + i % b->m * C;
        memcpy(b->work, part, (size_t)C * sizeof *part);
        fab_mv(t, C, C, 1, b->root + i % b->m * C * C, b->work, 0, part);
    }
}

/* V = Q' A, B = L with L L' = I + Q' A Q */
static fab_status factor(fab_class_block *b)
{
    const int64_t n = b->m * b->C;
    memcpy(b->V, b->A, (size_t)(n * n) * sizeof *b->V);
    apply_roots(b, FAB_T, n, b->V);
    for (int64_t i = 0; i < n * n; i++) b->B[i / n + i % n * n] = b->V[i];
    apply_roots(b, FAB_T, n, b->B);
    fab_add_identity(n, b->B);
    return fab_chol(n, b->B);
}

/* 4: V afresh, A - (L^-1 Q' A)' (L^-1 Q' A), before its rounding errors add up */
static fab_status spread(fab_class_block *b)
{
    const int64_t n = b->m * b->C;
    FAB_TRY(factor(b));
    fab_tri_solve(FAB_LEFT, FAB_N, n, n, b->B, b->V);
    memcpy(b->B, b->A, (size_t)(n * n) * sizeof *b->B);
    fab_mm(FAB_T, FAB_N, n, n, n, -1, b->V, b->V, 1, b->B);
    memcpy(b->V, b->B, (size_t)(n * n) * sizeof *b->V);
    fab_mv(FAB_N, n, n, 1, b->V, b->site, 0, b->d);
    return FAB_OK;
}

/* 7 */
static fab_status find_step(fab_class_block *b)
{
    const int64_t n = b->m * b->C;
    FAB_TRY(factor(b));
    fab_mv(FAB_N, n, n, 1, b->V, b->site, 0, b->d);
    fab_chol_solve(n, 1, b->B, b->d);
    apply_roots(b, FAB_N, 1, b->d);
    for (int64_t k = 0; k < n; k++) b->step[k] = b->site[k] - b->d[k];
    return FAB_OK;
}

/* 1 to 3 */
static fab_status take_in_turn(fab_class_block *b)
{
    const int64_t n = b->m * b->C;
    double score;
    memcpy(b->V, b->A, (size_t)(n * n) * sizeof *b->V);
    memset(b->site, 0, (size_t)n * sizeof *b->site);
    memset(b->d, 0, (size_t)n * sizeof *b->d);
    b->score = 0;
    for (int64_t j = 0; j < b->m; j++) {
        FAB_TRY(take_in(b, j, &score));
        b->score += score;
    }
    return FAB_OK;
}

/* 4 to 6 */
static fab_status settle(fab_class_block *b)
{
    for (int64_t i = 0; i < b->sweeps; i++) {
        double moved = 0;
        FAB_TRY(spread(b));
        for (int64_t j = 0; j < b->m; j++) FAB_TRY(take_again(b, j, &moved));
        if (!(moved > SETTLED)) break;
    }
    return FAB_OK;
}

fab_status fab_class_block_run(fab_class_block *b)
{
    FAB_TRY(take_in_turn(b));
    if (b->sweeps > 0 && settle(b) != FAB_OK)
        FAB_TRY(take_in_turn(b)); /* too wide a prior for it */
    return find_step(b);
}
