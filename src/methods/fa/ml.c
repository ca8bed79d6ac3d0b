/* ml.c - batch maximum likelihood factor analysis, over psi alone.
 *
 * Given psi, with lambda_k, v_k the leading eigenpairs of psi^-1/2 S psi^-1/2:
 *
 *   1  F = psi^1/2 V_K (Lambda - I)_+^1/2                                       ([T] 2.4, [L] B.1)
 *   2  -log-likelihood / N = (D log 2 pi + sum log psi + sum_k (log l_k - l_k + 1) + sum S_ii / psi_i) / 2,
 *      l_k = max(lambda_k, 1)
 *   3  its derivative by log psi_i = (|f_i|^2 + psi_i - S_ii) / (2 psi_i)
 *
 * Minimised by L-BFGS (NLopt) over u_i = log(psi_i / S_ii), less the constants of 2: the search sees
 * correlations, and no unit changes it.  Bounds: psi between its floor and the coordinate's variance.  The
 * plain fixed point psi = diag(S) - |f_i|^2 has the same solution and needs 200 to 450 rounds where this
 * needs about 20.  Local optima exist: the first start comes from regressing each coordinate on the others
 * (4), the second is half of the variance, further ones are random shares of it; the best is kept, and when
 * starts of a given number end apart the log hook hears of it.  The optima differ in which psi are
 * at their floor (a factor that is one coordinate, or nearly so), which gradients alone do not change: for a
 * small D single coordinates are moved there and back (5).
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/settings.h"
#include "fit/method.h"
#include "methods/fa/ml.h"
#include "methods/fa/spectral.h"
#include "fabayes/random.h"
#include "la/small.h"
#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 20 }; /* vectors L-BFGS keeps */
#define AT_FLOOR 1e-3 /* of log psi: as near to its bound as the search comes */
#define POLISH   1e-3 /* relative: what the search has left of psi = diag(S) - |f_i|^2 */
#define APART    1e-8 /* relative difference of log-likelihoods that makes two optima */
#define WORTH    1e-3 /* difference in nats a row that is worth more starts */

enum {
    MOST_STARTS = 10, /* starts = auto: so many where the whole matrix is decomposed, */
    FIRST_STARTS = 3, /* above so many, and more where these end apart by what is worth it */
    MOVES_UP_TO = 64, /* moves where D is so small that short searches cost little */
    MOVED = 12,       /* of these coordinates */
    MOVE_ROUNDS = 8,
    MOVE_STEPS = 20 /* evaluations that show whether a move gains */
};
#define MOVE_GAIN 1e-5 /* in mean log-likelihood: less is not worth a search */

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_ml_settings
static const fab_field fields[] = {
    FAB_ML_FIELDS,
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("ml", fields);
#undef SETTINGS

/* ---- the likelihood --------------------------------------------------------------------------- */

typedef struct search {
    fab_batch *b;
    const fab_target *t;
    const fab_ml_settings *set;
    fab_eigs eigs;
    nlopt_opt opt;
    int64_t calls;
    fab_status status; /* of an evaluation that failed */
    double *u, *best;  /* D: log(psi / variance), the best end */
    double *v;         /* D: variance */
    double *s;         /* D: psi^-1/2 */
    double *move;      /* D: u of the best move */
    double least;      /* the value of best */
    void *block;
} search;

/* diag(S), with a trace of variance where a coordinate is constant */
static double variance(const search *q, int64_t i)
{
    return fab_target_varies(q->t, i) ? q->t->diag[i] : fab_target_floor(q->t, q->b->psi_min, i);
}

/* 2, 3 */
static double evaluate(unsigned n, const double *u, double *gradient, void *ctx)
{
    search *q = ctx;
    const int64_t D = (int64_t)n, K = q->set->K;
    double value = 0;
    q->calls++;
    for (int64_t i = 0; i < D; i++) q->s[i] = exp(-u[i] / 2) / sqrt(q->v[i]);
    if (q->status == FAB_OK) /* told to stop, the optimiser may ask once more */
        q->status = fab_eigs_solve(&q->eigs, q->s);
    if (q->status == FAB_OK) q->status = fab_watch_tick(&q->t->run.watch, "ml", q->calls, 0);
    if (q->status != FAB_OK) nlopt_force_stop(q->opt);
    for (int64_t i = 0; i < D; i++) {
        const double share = exp(-u[i]); /* S_ii / psi_i */
        value += u[i] + share;
        if (gradient) gradient[i] = (1 - share) / 2;
    }
    for (int64_t k = 0; k < K; k++) {
        const double l = q->eigs.lambda[k] > 1 ? q->eigs.lambda[k] : 1;
        const double *v = q->eigs.V + k * D;
        value += log(l) - l + 1;
        if (gradient)
            for (int64_t i = 0; i < D; i++) gradient[i] += (l - 1) * v[i] * v[i] / 2;
    }
    return value / 2;
}

/* ---- the search ------------------------------------------------------------------------------- */

/* 4  Where start number `start` begins: regressions, half of the variance, random shares of it. */
static fab_status begin(search *q, int64_t start)
{
    const int64_t D = q->b->D;
    const double least = log(q->b->psi_min);
    for (int64_t i = 0; i < D; i++) q->s[i] = 0.5;
    if (start == 0) FAB_TRY(fab_target_regression(q->t, q->b->K, q->v, q->s));
    if (start > 1) {
        fab_random_uniform((uint64_t)q->set->seed, FAB_PURPOSE_START, (uint64_t)start, 0, D, q->s);
        for (int64_t i = 0; i < D; i++) q->s[i] = 0.05 + 0.9 * q->s[i];
    }
    for (int64_t i = 0; i < D; i++) {
        const double u = log(q->s[i]);
        q->u[i] = u > least ? (u < 0 ? u : 0) : least;
    }
    return FAB_OK;
}

/* At most so many evaluations in the next searches. */
static fab_status limit(search *q, int64_t evaluations)
{
    if (nlopt_set_maxeval(q->opt, (int)evaluations) == NLOPT_SUCCESS) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "%s: the optimiser refuses %lld evaluations", q->b->name,
                    (long long)evaluations);
}

static fab_status minimise(search *q, double *value, int *converged)
{
    const nlopt_result r = nlopt_optimize(q->opt, q->u, value);
    FAB_TRY(q->status);
    if (r == NLOPT_OUT_OF_MEMORY)
        return FAB_FAIL(FAB_NO_MEMORY, "%s: the optimiser has no memory", q->b->name);
    if (r == NLOPT_INVALID_ARGS)
        return FAB_FAIL(FAB_NUMERIC, "%s: the optimiser refuses its bounds", q->b->name);
    *converged = r != NLOPT_MAXEVAL_REACHED; /* limited by rounding is as far as it goes */
    return FAB_OK;
}

/* An end of the search: the best so far stays. */
static void keep_best(search *q, double value, int converged)
{
    if (!(value < q->least)) return;
    q->least = value;
    q->b->report.converged = converged;
    memcpy(q->best, q->u, (size_t)q->b->D * sizeof *q->best);
}

static fab_status every_start(search *q)
{
    const int automatic = fab_is_auto_i64(q->set->starts);
    int64_t starts = q->set->starts;
    if (automatic) starts = q->b->D <= FAB_WHOLE_UP_TO ? MOST_STARTS : FIRST_STARTS;
    double worst = -INFINITY;
    for (int64_t start = 0; start < starts; start++) {
        double value = 0;
        int converged = 0;
        FAB_TRY(begin(q, start));
        FAB_TRY(minimise(q, &value, &converged));
        keep_best(q, value, converged);
        worst = value > worst ? value : worst;
        if (automatic && start == FIRST_STARTS - 1 && worst - q->least > WORTH)
            starts = MOST_STARTS;
    }
    if (!automatic && worst - q->least > APART * fabs(q->least))
        fab_watch_log(
            &q->t->run.watch,
            "%s: the starts end apart, by %.3g in mean log-likelihood; the better one is kept",
            q->b->name, worst - q->least);
    return FAB_OK;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest u of the MOVED coordinates that the factors explain best: the others are far from a floor. */
static double move_bound(search *q)
{
    const int64_t D = q->b->D;
    if (D <= MOVED) return 0;
    memcpy(q->s, q->best, (size_t)D * sizeof *q->s);
    qsort(q->s, (size_t)D, sizeof *q->s, ascending);
    return q->s[MOVED - 1];
}

/* 5  From the best end psi of one coordinate after the other goes to its floor, or away from there, for a few steps; the
 * one that gains most is followed to its end.  Until none gains. */
static fab_status every_move(search *q)
{
    const int64_t D = q->b->D;
    const double floor = log(q->b->psi_min), half = log(0.5);
    for (int64_t round = 0; round < MOVE_ROUNDS; round++) {
        double gain = MOVE_GAIN;
        FAB_TRY(limit(q, MOVE_STEPS));
        const double most = move_bound(q);
        for (int64_t i = 0; i < D; i++) {
            double value = 0;
            int converged = 0;
            if (q->best[i] > most || !fab_target_varies(q->t, i)) continue;
            memcpy(q->u, q->best, (size_t)D * sizeof *q->u);
            q->u[i] = q->u[i] > floor / 2 ? floor : half;
            FAB_TRY(minimise(q, &value, &converged));
            if (!(q->least - value > gain)) continue;
            gain = q->least - value;
            memcpy(q->move, q->u, (size_t)D * sizeof *q->move);
        }
        FAB_TRY(limit(q, q->set->max_iter));
        if (gain == MOVE_GAIN) return FAB_OK;
        double value = 0;
        int converged = 0;
        memcpy(q->u, q->move, (size_t)D * sizeof *q->u);
        FAB_TRY(minimise(q, &value, &converged));
        keep_best(q, value, converged);
    }
    return FAB_OK;
}

static fab_status set_up(search *q)
{
    const int64_t D = q->b->D;
    int exact;
    FAB_TRY(fab_spectral_choose(q->b->name, q->set->svd, q->t, &exact));
    FAB_TRY(fab_eigs_init(&q->eigs, q->t, q->b->K, exact, (uint64_t)q->set->seed));
    FAB_TRY(fab_alloc_array(&q->block, 5 * D, sizeof(double), q->b->name));
    q->u = q->block;
    q->best = q->u + D, q->v = q->best + D, q->s = q->v + D, q->move = q->s + D;
    for (int64_t i = 0; i < D; i++) q->v[i] = variance(q, i);
    q->opt = nlopt_create(NLOPT_LD_LBFGS, (unsigned)D);
    if (!q->opt) return FAB_FAIL(FAB_NO_MEMORY, "%s: the optimiser has no memory", q->b->name);
    nlopt_set_min_objective(q->opt, evaluate, q);
    nlopt_set_lower_bounds1(q->opt, log(q->b->psi_min));
    nlopt_set_upper_bounds1(q->opt, 0);
    nlopt_set_vector_storage(q->opt, MEMORY);
    nlopt_set_ftol_rel(q->opt, q->set->tol);
    nlopt_set_maxeval(q->opt, (int)q->set->max_iter);
    return FAB_OK;
}

static fab_status search_all(search *q)
{
    FAB_TRY(set_up(q));
    FAB_TRY(every_start(q));
    const int64_t D = q->b->D;
    if (fab_is_auto_i64(q->set->starts) && D <= MOVES_UP_TO) FAB_TRY(every_move(q));
    q->b->report.iterations = q->calls;
    evaluate((unsigned)D, q->best, NULL, q);
    FAB_TRY(q->status);
    for (int64_t k = 0; k < q->b->K; k++) q->eigs.lambda[k] -= 1;
    for (int64_t i = 0; i < D; i++) q->s[i] = exp(q->best[i] / 2) * sqrt(q->v[i]);
    fab_batch_set_factors(q->b, q->eigs.V, q->s, q->eigs.lambda); /* 1 */
    for (int64_t i = 0; i < D; i++) {
        double rest = q->v[i], psi = exp(q->best[i]) * q->v[i];
        for (int64_t k = 0; k < q->b->K; k++) rest -= q->b->F[i + k * D] * q->b->F[i + k * D];
        if (fabs(rest - psi) < POLISH * psi) psi = rest; /* the fixed point: diag(S) exactly */
        if (q->best[i] <= log(q->b->psi_min) + AT_FLOOR) psi = 0; /* raised to it, and counted */
        q->b->q->psi[i] = psi;
    }
    return FAB_OK;
}

static fab_status solve(fab_batch *b, const fab_target *t)
{
    search q = {.b = b, .t = t, .least = INFINITY, .set = (const fab_ml_settings *)b->settings};
    fab_status s = search_all(&q);
    if (s == FAB_OK) s = fab_target_saturated(t, &b->report.saturated);
    nlopt_destroy(q.opt);
    fab_eigs_free(&q.eigs);
    fab_release(q.block);
    return s;
}

/* ---- the method ------------------------------------------------------------------------------- */

fab_status fab_ml_init(fab_batch **b, const char *name, int64_t D, const fab_ml_settings *s,
                       const fab_exec *x)
{
    const fab_batch proto = {.name = name,
                             .D = D,
                             .K = s->K,
                             .psi_min = s->psi_min,
                             .solve = solve,
                             .width = fab_eigs_width(D, s->K)};
    void *handle;
    *b = NULL;
    if (D > 1000000000)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: D above 1e9 is for the streaming methods", name);
    FAB_TRY(fab_batch_init(&handle, &proto, s, sizeof *s, x));
    *b = handle;
    return FAB_OK;
}

fab_status fab_ml_solve_once(fab_batch *b, const fab_target *t)
{
    fab_ml_settings *set = (fab_ml_settings *)b->settings;
    const int64_t starts = set->starts;
    set->starts = 1;
    const fab_status s = fab_batch_solve(b, t);
    set->starts = starts;
    return s;
}

double fab_ml_bytes(int64_t D, int64_t n, const fab_ml_settings *s, const fab_exec *x)
{
    const double wide = (double)D, optimiser = 8 * wide * (2 * MEMORY + 12);
    const double regression = D <= n && D <= FAB_DENSE_MAX ? 16 * wide * wide
                                                           : 0; /* the first start */
    return fab_batch_bytes(D, s->K, n, fab_eigs_width(D, s->K), x) +
           fab_spectral_bytes(D, s->K, n, s->svd) + optimiser + regression;
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    fab_batch *b;
    const fab_status s = fab_ml_init(&b, "ml", in->vectors, settings, x);
    *handle = b;
    return s;
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    return fab_ml_bytes(in->vectors, n, settings, x);
}

const fab_method fab_ml_method = {
    .name = "ml",
    .summary = "batch maximum likelihood: the reference",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    .saturates = 1,
    .fields = &table,
    .init = init,
    .update = fab_batch_update,
    .result = fab_batch_result,
    .report = fab_batch_report,
    .free = fab_batch_free,
    .bytes = bytes,
};
