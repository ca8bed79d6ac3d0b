/* temper.c - how wide Laplace's Gaussian of classes shall be: the temperature, by rows left out.
 *
 * A row that is predicted well has next to no curvature at the mode, and the Gaussian there is too wide, most of all at rank K,
 * where its variances of predictors are not those of the curvature.
 *
 *   1  FOLDS parts of the rows: q of all others at the alpha of all, its mean mu, and the predictors m_i there of the rows of the part
 *   2  e_is = (x_i, 1) (theta_s - mu), theta_s from that q
 *   3  the density of row i at temperature T: the mean of p(y_i | m_i +- sqrt(T) e_is) over s and both signs
 *   4  T a quarter as long as the mean log density rises.  T = 1 stays unless that gains (left_out.c) SURE of its standard
 *      errors
 *
 * q must not have seen the rows: one that is hard to predict has narrowed the q of all in its own direction, so that only rows which need no
 * width would have any, and T would fall too far (MNIST 7 x 7, 840 rows: log densities of -.76 at T = 1 and -.65 at 0, of new rows -.65 and -.63,
 * at best -.59 at 1/4).
 *
 * The leave-one-out formulas of vga need the leverage of a row, and q at rank K has no idea of it: on MNIST (1500 rows, P = 2010)
 * a fifth of the rows had more curvature than their variance under q allows.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/random.h"
#include "methods/laplace/laplace.h"
#include "posterior/element.h"
#include "train/left_out.h"
#include <math.h>
#include <string.h>

enum {
    FOLDS = 5,
    MOST = 5000 /* rows left out, about */,
    STEPS = 9 /* T = 1 .. FAB_LAPLACE_COLDEST */
};
enum { BATCHES = 4 }; /* of draws */
#define SURE 3.0      /* standard errors: classes need not separate here */
#define TOL  1e-5     /* nats: of the modes of 1 */

typedef struct temper {
    fab_laplace_fit *fit;
    int64_t N, P, C;
    int64_t *fold;   /* N: 0 .. FOLDS - 1, or more: never left out */
    double *weight;  /* N: of the rows that a mode sees; in the end of those left out */
    double *eta;     /* N x C: 1 */
    double *density; /* STEPS x N: 3 */
    double *draws;   /* FAB_TEMPER_DRAWS x P */
    double *V;       /* P x FAB_TEMPER_DRAWS: theta_s - mu */
    double *at;      /* C: predictors */
} temper;

static void layout(fab_layout *l, void *handle)
{
    temper *t = handle;
    t->fold = fab_place(l, t->N, sizeof(int64_t));
    t->weight = fab_place(l, t->N, sizeof(double));
    t->eta = fab_place(l, t->N * t->C, sizeof(double));
    t->density = fab_place(l, t->N * STEPS, sizeof(double));
    t->draws = fab_place(l, t->P * FAB_TEMPER_DRAWS, sizeof(double));
    t->V = fab_place(l, t->P * FAB_TEMPER_DRAWS, sizeof(double));
    t->at = fab_place(l, t->C, sizeof(double));
}

/* ---- 1 -------------------------------------------------------------------------------------------- */

static void deal(temper *t)
{
    const double parts = FOLDS * fmax(1, (double)t->N / MOST);
    for (int64_t i = 0; i < t->N; i++) {
        double u;
        fab_random_uniform((uint64_t)t->fit->s.train.seed, FAB_PURPOSE_HELD_OUT, 0, (uint64_t)i, 1,
                           &u);
        t->fold[i] = (int64_t)(u * parts);
    }
}

/* The mode without a part of the rows, and fit->q there. */
static fab_status leave_out(temper *t, const double *given, int64_t fold, const double *start)
{
    fab_laplace_fit *fit = t->fit;
    const double *eta;
    for (int64_t i = 0; i < t->N; i++)
        t->weight[i] = t->fold[i] == fold ? 0 : (given ? given[i] : 1);
    memcpy(fit->mode->theta, start, (size_t)t->P * sizeof(double));
    FAB_TRY(fit->dense ? fab_mode_newton(fit->o, fit->mode)
                       : fab_mode_newton_cg(fit->o, fit->mode));
    for (int64_t first = 0, n; first < t->N; first += n) {
        n = fab_objective_eta(fit->o, fit->mode->theta, first, &eta);
        for (int64_t j = 0; j < n; j++)
            if (t->fold[first + j] == fold)
                memcpy(t->eta + (first + j) * t->C, eta + j * t->C, (size_t)t->C * sizeof *eta);
    }
    return fab_laplace_posterior(fit);
}

/* ---- 2, 3 ----------------------------------------------------------------------------------------- */

/* Row i, whose predictors one draw moves by move[0], move[ld], ..: its densities at all temperatures */
static void add_draw(temper *t, int64_t i, const double *move, int64_t ld)
{
    double by = 1;
    for (int64_t k = 0; k < STEPS; k++, by *= sqrt(FAB_COLDER))
        for (int sign = -1; sign <= 1; sign += 2) {
            for (int64_t c = 0; c < t->C; c++)
                t->at[c] = t->eta[i * t->C + c] + sign * by * move[c * ld];
            t->density[k * t->N + i] +=
                exp(fab_glm_loglik(&t->fit->model, t->fit->e.y[i], t->at, NULL, NULL));
        }
}

static fab_status add_batch(temper *t, fab_solver *q, int64_t fold, int64_t batch)
{
    const int64_t S = FAB_TEMPER_DRAWS, P = t->P;
    const double *moves;
    FAB_TRY(fab_solver_sample(q, (uint64_t)t->fit->s.train.seed, FAB_PURPOSE_DRAW,
                              (fold * BATCHES + batch) * S, S, FAB_F64, t->draws, P));
    for (int64_t s = 0; s < S; s++)
        for (int64_t i = 0; i < P; i++) t->V[i * S + s] = t->draws[s * P + i] - t->fit->q->mu[i];
    for (int64_t first = 0; first < t->N; first += t->fit->o->rows) {
        const int64_t left = t->N - first, n = left < t->fit->o->rows ? left : t->fit->o->rows;
        fab_objective_moves(t->fit->o, S, t->V, first, &moves);
        for (int64_t j = 0; j < n; j++)
            for (int64_t s = 0; s < S && t->fold[first + j] == fold; s++)
                add_draw(t, first + j, moves + j * S + s, n * S);
        FAB_TRY(fab_watch_work(&t->fit->o->watch, (double)(n * S) * (double)P, t->fit->who, first,
                               t->N));
    }
    return FAB_OK;
}

static fab_status add_fold(temper *t, int64_t fold)
{
    fab_solver *q;
    FAB_TRY(fab_solver_create(&q, t->fit->q, &t->fit->exec));
    fab_status s = FAB_OK;
    for (int64_t batch = 0; batch < BATCHES && s == FAB_OK; batch++)
        s = add_batch(t, q, fold, batch);
    fab_solver_free(q);
    return s;
}

/* ---- 4 -------------------------------------------------------------------------------------------- */

static double choose(temper *t, const double *given)
{
    double best = -INFINITY, T = 1;
    int64_t kept = 0;
    for (int64_t i = 0; i < t->N; i++)
        t->weight[i] = t->fold[i] < FOLDS ? (given ? given[i] : 1) : 0;
    for (int64_t i = 0; i < t->N * STEPS; i++)
        t->density[i] = log(t->density[i] / (2 * BATCHES * FAB_TEMPER_DRAWS));
    for (int64_t k = 0; k < STEPS; k++) {
        const double mean = fab_left_out_mean(t->N, t->weight, t->density + k * t->N);
        if (!(mean > best)) break;
        best = mean;
        kept = k;
    }
    if (!fab_left_out_gains(t->N, t->weight, t->density + kept * t->N, t->density, SURE)) return 1;
    for (int64_t k = 0; k < kept; k++) T *= FAB_COLDER;
    return T;
}

static fab_status run(temper *t, const double *given, const double *start, double *T)
{
    deal(t);
    t->fit->e.weight = t->weight;
    for (int64_t fold = 0; fold < FOLDS; fold++) {
        fab_gauss_free(t->fit->q);
        t->fit->q = NULL;
        FAB_TRY(leave_out(t, given, fold, start)); /* 1 */
        FAB_TRY(add_fold(t, fold));                /* 2, 3 */
    }
    *T = choose(t, given); /* 4 */
    return FAB_OK;
}

fab_status fab_laplace_temper(fab_laplace_fit *fit, double *T)
{
    const double *given = fit->e.weight;
    const temper proto = {.fit = fit, .N = fit->e.x.n, .P = fit->P, .C = fit->model.classes};
    const int64_t floored = fit->report.floored;
    fab_gauss *all = fit->q;
    temper *t;
    *T = 1;
    FAB_TRY(fab_build((void **)&t, sizeof proto, &proto, layout));
    fit->mode->tol = TOL;
    fit->q = NULL;
    const fab_status s = run(t, given, all->mu, T);
    fab_gauss_free(fit->q);
    fit->q = all;
    fit->e.weight = given;
    fit->report.floored = floored;
    fab_release(t);
    return s == FAB_NUMERIC ? FAB_OK : s; /* a part of the rows without a mode */
}

/* The factors of a covariance shrink with T, those of a precision grow. */
void fab_laplace_cool(fab_gauss *q, double T)
{
    const double by = q->form == FAB_FORM_PRECISION ? 1 / T : T;
    for (int64_t i = 0; i < q->D; i++) q->psi[i] *= by;
    for (int64_t i = 0; i < q->D * q->K; i++) fab_gauss_put(q, i, sqrt(by) * fab_gauss_get(q, i));
}
