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
 * they end apart the log hook hears of it.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/settings.h"
#include "fit/method.h"
#include "methods/fa/spectral.h"
#include "fabayes/random.h"
#include "la/small.h"
#include <math.h>
#include <nlopt.h>
#include <string.h>

enum { MEMORY = 20 }; /* vectors L-BFGS keeps */
#define AT_FLOOR 1e-3 /* of log psi: as near to its bound as the search comes */
#define APART    1e-8 /* relative difference of log-likelihoods that makes two optima */

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_ml_settings
static const fab_field fields[] = {
    REQUIRED(K, I64, 1, 4096, "number of factors"),
    CHOICE(svd, FAB_SVD_AUTO, fab_svd_names,
           "eigenvectors from the whole matrix or a random subspace; auto: whole up to D = 128; "
           "the whole needs at least D rows"),
    FIELD(starts, I64, 3, 1, 1000, "starting points; the best end is kept"),
    FIELD(tol, F64, 1e-12, 0, 1,
          "stop when the log-likelihood of the standardised columns changes by less, relative"),
    FIELD(max_iter, I64, 500, 1, 1e6, "evaluations of the likelihood per start"),
    FIELD(psi_min, F64, 1e-6, 1e-300, 0.5, "floor of psi, relative to the coordinate's variance"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the random subspace and the further starts"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("ml", fields);
#undef SETTINGS

fab_ml_settings fab_ml_defaults(int64_t K)
{
    fab_ml_settings s;
    fab_settings_defaults(&table, &s);
    s.K = K;
    return s;
}

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
    void *block;
} search;

/* diag(S), with a trace of variance where a coordinate is constant */
static double variance(const search *q, int64_t i)
{
    return fab_target_varies(q->t, i) ? q->t->diag[i] : fab_batch_floor(q->b, q->t, i);
}

/* 2, 3 */
static double evaluate(unsigned n, const double *u, double *gradient, void *ctx)
{
    search *q = ctx;
    const int64_t D = (int64_t)n, K = q->set->K;
    double value = 0;
    q->calls++;
    for (int64_t i = 0; i < D; i++) q->s[i] = exp(-u[i] / 2) / sqrt(q->v[i]);
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
        for (int64_t i = 0; i < D && gradient; i++) gradient[i] += (l - 1) * v[i] * v[i] / 2;
    }
    return value / 2;
}

/* ---- the search ------------------------------------------------------------------------------- */

/* 4  share_i of the variance: (1 - K / 2D) of what regression on the other coordinates leaves over, which is
 * 1 / (C^-1)_ii, C the correlations; a half where C has no inverse or is too large to have one formed. */
static fab_status regression_shares(search *q, double *share)
{
    const int64_t D = q->b->D;
    double *C;
    for (int64_t i = 0; i < D; i++) share[i] = 0.5;
    if (!q->t->S || D > FAB_DENSE_MAX) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&C, 2 * D * D, sizeof *C, "ml"));
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++)
            C[i + j * D] = i == j ? 1 : q->t->S[i + j * D] / sqrt(q->v[i]) / sqrt(q->v[j]);
    const int before = fab_blas_enter();
    if (fab_chol(D, C) == FAB_OK) {
        fab_chol_inv(D, C, C + D * D);
        for (int64_t i = 0; i < D; i++)
            share[i] = (1 - (double)q->b->K / (2 * (double)D)) / C[D * D + i + i * D];
    }
    fab_blas_leave(before);
    fab_release(C);
    return FAB_OK;
}

static fab_status begin(search *q, int64_t start)
{
    const int64_t D = q->b->D;
    const double least = log(q->b->psi_min);
    if (start == 0) FAB_TRY(regression_shares(q, q->s));
    if (start > 1)
        fab_random_uniform((uint64_t)q->set->seed, FAB_PURPOSE_START, (uint64_t)start, 0, D, q->s);
    for (int64_t i = 0; i < D; i++) {
        const double u = log(start == 0 ? q->s[i] : start == 1 ? 0.5 : 0.05 + 0.9 * q->s[i]);
        q->u[i] = u > least ? (u < 0 ? u : 0) : least;
    }
    return FAB_OK;
}

static fab_status minimise(search *q, double *value, int *converged)
{
    const nlopt_result r = nlopt_optimize(q->opt, q->u, value);
    FAB_TRY(q->status);
    if (r == NLOPT_OUT_OF_MEMORY) return FAB_FAIL(FAB_NO_MEMORY, "ml: the optimiser has no memory");
    if (r == NLOPT_INVALID_ARGS)
        return FAB_FAIL(FAB_NUMERIC, "ml: the optimiser refuses its bounds");
    *converged = r != NLOPT_MAXEVAL_REACHED; /* limited by rounding is as far as it goes */
    return FAB_OK;
}

static fab_status every_start(search *q)
{
    double least = INFINITY, worst = -INFINITY;
    for (int64_t start = 0; start < q->set->starts; start++) {
        double value = 0;
        int converged = 0;
        FAB_TRY(begin(q, start));
        FAB_TRY(minimise(q, &value, &converged));
        if (value < least) {
            least = value;
            q->b->report.converged = converged;
            memcpy(q->best, q->u, (size_t)q->b->D * sizeof *q->best);
        }
        worst = value > worst ? value : worst;
    }
    q->b->report.iterations = q->calls;
    if (worst - least > APART * fabs(least))
        fab_watch_log(
            &q->t->run.watch,
            "ml: the starts end apart, by %.3g in mean log-likelihood; the better one is kept",
            worst - least);
    return FAB_OK;
}

static fab_status set_up(search *q)
{
    const int64_t D = q->b->D;
    int exact;
    FAB_TRY(fab_spectral_choose("ml", q->set->svd, q->t, &exact));
    FAB_TRY(fab_eigs_init(&q->eigs, q->t, q->b->K, exact, (uint64_t)q->set->seed));
    FAB_TRY(fab_alloc_array(&q->block, 4 * D, sizeof(double), "ml"));
    q->u = q->block;
    q->best = q->u + D, q->v = q->best + D, q->s = q->v + D;
    for (int64_t i = 0; i < D; i++) q->v[i] = variance(q, i);
    q->opt = nlopt_create(NLOPT_LD_LBFGS, (unsigned)D);
    if (!q->opt) return FAB_FAIL(FAB_NO_MEMORY, "ml: the optimiser has no memory");
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
    evaluate((unsigned)D, q->best, NULL, q);
    FAB_TRY(q->status);
    for (int64_t k = 0; k < q->b->K; k++) q->eigs.lambda[k] -= 1;
    for (int64_t i = 0; i < D; i++) q->s[i] = exp(q->best[i] / 2) * sqrt(q->v[i]);
    fab_batch_set_factors(q->b, q->eigs.V, q->s, q->eigs.lambda); /* 1 */
    for (int64_t i = 0; i < D; i++) /* 0 at the bound: raised to the floor, and counted */
        q->b->q->psi[i] = q->best[i] > log(q->b->psi_min) + AT_FLOOR ? exp(q->best[i]) * q->v[i]
                                                                     : 0;
    return FAB_OK;
}

static fab_status solve(fab_batch *b, const fab_target *t)
{
    search q = {.b = b, .t = t, .set = (const fab_ml_settings *)b->settings};
    const fab_status s = search_all(&q);
    nlopt_destroy(q.opt);
    fab_eigs_free(&q.eigs);
    fab_release(q.block);
    return s;
}

/* ---- the method ------------------------------------------------------------------------------- */

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_ml_settings *s = settings;
    const fab_batch proto = {.name = "ml",
                             .D = in->vectors,
                             .K = s->K,
                             .psi_min = s->psi_min,
                             .solve = solve,
                             .width = fab_eigs_width(in->vectors, s->K)};
    if (in->vectors > 1000000000)
        return FAB_FAIL(FAB_UNSUPPORTED, "ml: D above 1e9 is for the streaming methods");
    return fab_batch_init(handle, &proto, settings, sizeof *s, x);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_ml_settings *s = settings;
    const double D = (double)in->vectors, optimiser = 8 * D * (2 * MEMORY + 12);
    const double regression =
        in->vectors <= n && in->vectors <= FAB_DENSE_MAX ? 16 * D * D : 0; /* the first start */
    return fab_batch_bytes(in->vectors, s->K, n, fab_eigs_width(in->vectors, s->K), x) +
           fab_spectral_bytes(in->vectors, s->K, n, s->svd) + optimiser + regression;
}

const fab_method fab_ml_method = {
    .name = "ml",
    .summary = "batch maximum likelihood: the reference",
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    .fields = &table,
    .init = init,
    .update = fab_batch_update,
    .result = fab_batch_result,
    .report = fab_batch_report,
    .free = fab_batch_free,
    .bytes = bytes,
};
