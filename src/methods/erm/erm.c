/* erm.c - regularised risk: a loss of every row and a penalty of the coefficients, and the presets lasso, elastic-net, quantile.
 *
 *     sum_i v_i L(y_i, f_i) / V + lambda ((1 - a) |w|^2 + a |w|_1),   f_i = offset_i + x_i'w + b,   V = sum v_i
 *
 * b is not penalised; losses are in loss.c.
 *
 *   1  rows less their means; a column that does not vary is 0, and so is its coefficient
 *   2  lambda auto: from the smallest at which w = 0 (of a < .001: with .001 in its place) down to `ratio` times that, in equal
 *      steps of its logarithm; each from the end of the one before
 *   3  each fold in turn is left out, and the path of the other rows has a mean loss on it; the lambda of the smallest mean over
 *      the folds, or, by the rule 1se, the largest whose mean is within a standard error of that
 *   4  the least at lambda on all rows: squared.c and quad.c, smooth.c, pieces.c; to rounding
 *   5  squared and logistic: covariance of b and the coefficients that are not 0, by the curvature there:
 *          squared   (beta V (G + lambda (1 - a)))^-1        beta = (V - kept - 1) / (V mean e^2), or given
 *          logistic  (V (H + 2 lambda (1 - a)))^-1
 *      conditional on which ones are 0 and on the signs of the others; those that are 0 have a psi of nothing
 *
 * SPDX-License-Identifier: MIT */
#include "methods/erm/erm.h"
#include "base/rows.h"
#include "base/settings.h"
#include "data/columns/split.h"
#include "fit/method.h"
#include "la/ops.h"
#include "posterior/element.h"
#include "posterior/spread.h"
#include "train/glm_fields.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* a column varies by less than this part of its size: rounding */
#define CONSTANT (8 * DBL_EPSILON)
#define LEAST_L1 1e-3 /* 2 */
/* 2: of losses that are not squared: no w is rounding, multipliers of corners are inside */
#define ABOVE     1.001
#define SURELY    1e150 /* a penalty that leaves no coefficient */
#define NOISELESS 1e-12 /* of the mean square of y, less its mean: the noise, at least */
/* 5: psi of a coefficient that is 0, beside the least one of the others */
#define NOTHING 1e-24
enum { SMOOTH_LAMBDAS = 100, PIECES_LAMBDAS = 20, SWEEPS = 1000000, PATH = 5 };

typedef struct erm {
    const char *who;
    fab_erm_settings s;
    fab_glm m;
    fab_watch watch;
    fab_dtype type; /* of F */
    fab_examples e;
    int64_t L; /* lambdas of the path; 0: lambda is given */

    fab_erm_rows rows;
    double *theta; /* P */
    double *all;   /* n: the weights, while some of v are 0 */
    int64_t *nonzero;
    struct {
        fab_quad q;
        fab_erm_sums all, part;
        double *block;
    } squared;
    fab_erm_smooth smooth;
    fab_erm_pieces pieces;
    struct { /* 2, 3: L each */
        double *lambda, *mean, *square, *kept, *gap;
    } tried;

    double *path; /* L x PATH: the caller's */
    fab_gauss *q;
    fab_report report;
} erm;

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_erm_settings
static const char *const losses[] = {"auto",     "squared",         "absolute",
                                     "pinball",  "eps-insensitive", "hinge",
                                     "logistic", "exponential",     NULL};
static const char *const rules[] = {"min", "1se", NULL};
static const char *const widths[] = {"auto", "none", "active", NULL};

#define ERM_FIELDS(loss_, l1_, lambda_)                                                            \
    AUTOMATIC_AT(fab_glm_settings, alpha, F64, 1e-300, 1e300,                                      \
                 "refused: there is no prior, lambda is the penalty"),                             \
        AUTOMATIC_AT(fab_glm_settings, beta, F64, 1e-300, 1e300,                                   \
                     "precision of the noise of a gaussian target, for predictions; auto: by the " \
                     "residuals"),                                                                 \
        FIELD_AT(fab_glm_settings, intercept_alpha, F64, 1e-4, 1e-300, 1e300,                      \
                 "not used: the intercept is free"),                                               \
        FIELD_AT(fab_glm_settings, seed, I64, 1, 0, 0x1p53, "seed of the folds"),                  \
        CHOICE(loss, loss_, losses, "of a row; auto: squared, of two classes logistic"),           \
        FIELD(l1, F64, l1_, 0, 1, "a: share of the penalty on |w|, the rest is on its square"),    \
        lambda_, FIELD(tau, F64, 0.5, 1e-6, 0.999999, "quantile of the pinball loss"),             \
        FIELD(eps, F64, 0.1, 0, 1e300,                                                             \
              "residual that costs nothing, of eps-insensitive; in fitting units"),                \
        AUTOMATIC(lambdas, I64, 2, 10000,                                                          \
                  "values of lambda that are tried; auto: 100, of losses with corners 20"),        \
        AUTOMATIC(ratio, F64, 1e-12, 0.999,                                                        \
                  "the smallest of them beside the largest; auto: .001, of fewer rows than "       \
                  "features .01"),                                                                 \
        FIELD(cv, I64, 5, 2, 1000, "folds that are left out in turn, to choose lambda"),           \
        CHOICE(                                                                                    \
            rule, FAB_ERM_MIN, rules,                                                              \
            "which lambda: of the least loss left out, or the largest within a standard error"),   \
        CHOICE(                                                                                    \
            uncertainty, FAB_ERM_WIDTH_AUTO, widths,                                               \
            "active: a Gaussian over the coefficients that are not 0, conditional on which they "  \
            "are; auto: so for squared and logistic loss"),                                        \
        FIELD(tol, F64, 1e-8, 1e-15, 1,                                                            \
              "squared: duality gap of the path, beside the mean square of y"),                    \
        FIELD(max_iter, I64, 100, 1, 1e6, "steps of the losses other than squared")

#define LAMBDA_AUTO                  \
    AUTOMATIC(lambda, F64, 0, 1e300, \
              "weight of the penalty, in fitting units; auto: by rows left out")
#define LAMBDA_NONE                 \
    FIELD(lambda, F64, 0, 0, 1e300, \
          "weight of the penalty, in fitting units; auto: by rows left out")

static const fab_field fields[] = {ERM_FIELDS(FAB_LOSS_AUTO, 0.5, LAMBDA_AUTO)};
static const fab_field lasso_fields[] = {ERM_FIELDS(FAB_LOSS_AUTO, 1, LAMBDA_AUTO)};
static const fab_field quantile_fields[] = {ERM_FIELDS(FAB_LOSS_PINBALL, 1, LAMBDA_NONE)};
static const fab_fields table = TABLE("erm", fields);
static const fab_fields elastic_table = TABLE("elastic-net", fields);
static const fab_fields lasso_table = TABLE("lasso", lasso_fields);
static const fab_fields quantile_table = TABLE("quantile", quantile_fields);
GLM_LAYOUT(fields);
#undef SETTINGS

/* ---- life --------------------------------------------------------------------------------------------- */

static fab_loss loss_of(const fab_erm_settings *s, const fab_glm *m)
{
    if (s->loss != FAB_LOSS_AUTO) return (fab_loss)s->loss;
    return m->likelihood == FAB_LIKELIHOOD_BERNOULLI ? FAB_LOSS_LOGISTIC : FAB_LOSS_SQUARED;
}

static int64_t lambdas_of(const fab_erm_settings *s, fab_loss loss)
{
    if (!fab_is_auto_f64(s->lambda)) return 0;
    if (!fab_is_auto_i64(s->lambdas)) return s->lambdas;
    return fab_erm_is_pieces(loss) ? PIECES_LAMBDAS : SMOOTH_LAMBDAS;
}

static fab_status check(const char *who, const fab_erm_settings *s, const fab_glm *m,
                        const fab_input *in)
{
    const fab_loss loss = loss_of(s, m);
    const int classes = m->likelihood == FAB_LIKELIHOOD_BERNOULLI;
    if (m->likelihood != FAB_LIKELIHOOD_GAUSSIAN && !classes)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: takes numbers or two classes, not %s; map fits it",
                        who, fab_likelihood_name(m->likelihood));
    if (fab_erm_of_classes(loss) != classes)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: %s is a loss of %s, and the target is %s", who,
                        losses[loss], classes ? "numbers" : "two classes",
                        classes ? "of two classes" : "a number");
    if (in->prior)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: has a penalty and no prior; exact and laplace take one that is given",
                        who);
    if (!fab_is_auto_f64(s->glm.alpha))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: alpha is the precision of a prior, and there is none: lambda is the "
                        "weight of the penalty",
                        who);
    if (s->lambda == 0 && !fab_erm_is_pieces(loss))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: lambda = 0 leaves %s loss without a penalty, whose least may be "
                        "anywhere: give one above 0, or use %s",
                        who, losses[loss], classes ? "map" : "exact");
    if (s->uncertainty == FAB_ERM_WIDTH_ACTIVE && loss != FAB_LOSS_SQUARED &&
        loss != FAB_LOSS_LOGISTIC)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: %s loss is no log density with a curvature, which uncertainty=active "
                        "comes from: squared and logistic loss are",
                        who, losses[loss]);
    if (m->D > FAB_ERM_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: %lld features are above %d, for it holds their squares; spike-slab "
                        "takes more",
                        who, (long long)m->D, FAB_ERM_MAX);
    return FAB_OK;
}

static fab_status init_as(void **handle, const char *who, const void *settings, const fab_input *in,
                          const fab_exec *x)
{
    const fab_erm_settings *s = settings;
    const fab_glm m = fab_glm_of(in->model, s->glm.beta);
    erm *f;
    *handle = NULL;
    FAB_TRY(check(who, s, &m, in));
    FAB_TRY(fab_check_alone(who, x));
    FAB_TRY(fab_alloc_array((void **)&f, 1, sizeof *f, who));
    *f = (erm){.who = who,
               .s = *s,
               .m = m,
               .watch = fab_watch_of(x),
               .type = x && x->ops ? x->ops->type : FAB_F64};
    f->rows = (fab_erm_rows){.who = who,
                             .D = m.D,
                             .P = m.D + m.intercept,
                             .loss = loss_of(s, &m),
                             .tau = s->tau,
                             .eps = s->eps};
    f->L = lambdas_of(s, f->rows.loss);
    *handle = f;
    return FAB_OK;
}

static void release(void *handle)
{
    erm *f = handle;
    if (!f) return;
    fab_gauss_free(f->q);
    fab_release(f->path);
    fab_release(f);
}

static fab_status update(void *handle, const fab_examples *e)
{
    erm *f = handle;
    f->e = *e;
    f->rows.n = e->x.n;
    return FAB_OK;
}

static void layout(fab_layout *l, void *handle)
{
    erm *f = handle;
    fab_erm_rows *r = &f->rows;
    const int64_t n = r->n, P = r->P;
    double **of_n[] = {&r->y, &r->offset, &r->v, &f->all};
    double **of_L[] = {&f->tried.lambda, &f->tried.mean, &f->tried.square, &f->tried.kept,
                       &f->tried.gap};
    r->X = fab_place(l, n * P, sizeof(double));
    for (size_t i = 0; i < sizeof of_n / sizeof *of_n; i++)
        *of_n[i] = fab_place(l, n, sizeof(double));
    for (size_t i = 0; i < sizeof of_L / sizeof *of_L; i++)
        *of_L[i] = fab_place(l, f->L, sizeof(double));
    r->centre = fab_place(l, P, sizeof(double));
    f->theta = fab_place(l, P, sizeof(double));
    f->nonzero = fab_place(l, P, sizeof(int64_t));
    if (fab_erm_is_smooth(r->loss)) fab_erm_smooth_layout(l, &f->smooth, r);
    if (fab_erm_is_pieces(r->loss)) fab_erm_pieces_layout(l, &f->pieces, r);
    if (r->loss != FAB_LOSS_SQUARED) return;
    f->squared.q.P = f->squared.q.D = r->D;
    fab_quad_layout(l, &f->squared.q);
    f->squared.all.G = fab_place(l, P * P, sizeof(double));
    f->squared.part.G = fab_place(l, P * P, sizeof(double));
    f->squared.all.c = fab_place(l, P, sizeof(double));
    f->squared.part.c = fab_place(l, P, sizeof(double));
    f->squared.block = fab_place(l, FAB_ERM_BLOCK * P, sizeof(double));
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_glm *m = &in->model->head;
    const fab_loss loss = loss_of(settings, m);
    const double P = (double)(m->D + m->intercept), N = (double)n,
                 F = x && x->ops ? (double)x->ops->size : sizeof(double);
    double squares = loss == FAB_LOSS_SQUARED ? 5 : 3, vectors = 7;
    if (fab_erm_is_pieces(loss)) squares = 1;
    if (fab_erm_is_pieces(loss)) vectors = loss == FAB_LOSS_EPS_INSENSITIVE ? 30 : 17;
    if (m->D > FAB_ERM_MAX) return 0; /* is refused */
    return 8 * (N * P + squares * P * P + FAB_ERM_BLOCK * P + vectors * N + 30 * P) + F * P * P;
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

/* Means, weighted, where there is an intercept; a second pass removes the rounding of the first. */
static fab_status centre(erm *f, double V, double *y_centre)
{
    fab_erm_rows *r = &f->rows;
    for (int pass = 0; pass < 2 && f->m.intercept; pass++) {
        double more = 0;
        memset(f->theta, 0, (size_t)r->P * sizeof *f->theta);
        for (int64_t i = 0; i < r->n; i++) {
            const double share = r->v[i] / V, *x = r->X + i * r->P;
            for (int64_t j = 0; j < r->D; j++) f->theta[j] += share * (x[j] - r->centre[j]);
            more += share * (r->y[i] - *y_centre);
            FAB_TRY(fab_watch_work(&f->watch, 4 * (double)r->D, f->who, i, r->n));
        }
        for (int64_t j = 0; j < r->D; j++) r->centre[j] += f->theta[j];
        *y_centre += more;
    }
    return FAB_OK;
}

static fab_status load(erm *f, double *V, double *y_centre)
{
    fab_erm_rows *r = &f->rows;
    const int64_t D = r->D, P = r->P, classes = fab_erm_of_classes(r->loss);
    double lowest = INFINITY, highest = -INFINITY;
    *V = *y_centre = 0;
    for (int64_t i = 0; i < r->n; i++) {
        const double offset = f->e.offset ? f->e.offset[i] : 0;
        fab_rows_get(&f->e.x, i, D, r->X + i * P);
        r->v[i] = f->all[i] = f->e.weight ? f->e.weight[i] : 1;
        r->y[i] = classes ? 2 * f->e.y[i] - 1 : f->e.y[i] - offset;
        r->offset[i] = classes ? offset : 0;
        lowest = fmin(lowest, r->y[i]);
        highest = fmax(highest, r->y[i]);
        *V += r->v[i];
    }
    if (!(highest - lowest > CONSTANT * fmax(fabs(lowest), fabs(highest))))
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: the target does not vary in %lld rows, so there is nothing to find",
                        f->who, (long long)r->n);
    FAB_TRY(centre(f, *V, y_centre));
    if (classes) *y_centre = 0; /* classes have no unit, and corners are where y is */
    memset(f->theta, 0, (size_t)P * sizeof *f->theta);
    for (int64_t i = 0; i < r->n; i++) {
        double *x = r->X + i * P;
        for (int64_t j = 0; j < D; j++) {
            x[j] -= r->centre[j];
            f->theta[j] = fmax(f->theta[j], fabs(x[j]));
        }
        if (P > D) x[D] = 1;
        r->y[i] -= *y_centre;
    }
    for (int64_t j = 0; j < D; j++) {
        if (!isfinite(f->theta[j] * f->theta[j] * *V))
            return FAB_FAIL(FAB_BAD_DATA,
                            "%s: the squares of feature %lld are too large: bring it to size",
                            f->who, (long long)j);
        if (f->theta[j] > fmax(CONSTANT * fabs(r->centre[j]), DBL_MIN)) continue;
        for (int64_t i = 0; i < r->n; i++) r->X[i * P + j] = 0;
    }
    memset(f->theta, 0, (size_t)P * sizeof *f->theta);
    return FAB_OK;
}

/* ---- the least at one lambda, of the rows whose v is not 0 -------------------------------------------------- */

static fab_erm_penalty penalty_of(const erm *f, double lambda, double before)
{
    return (fab_erm_penalty){
        .l1 = lambda * f->s.l1, .l2 = lambda * (1 - f->s.l1), .before = before * f->s.l1};
}

/* The mean of squares is halved in q, and with it the penalty.  tol 0: to rounding. */
static fab_status solve_squared(erm *f, const fab_erm_sums *sums, const fab_erm_penalty *p,
                                double tol, fab_erm_end *end)
{
    const fab_erm_rows *r = &f->rows;
    fab_quad *q = &f->squared.q;
    int64_t sweeps = SWEEPS;
    q->l1 = 0.5 * p->l1;
    q->l2 = p->l2;
    memcpy(q->w, f->theta, (size_t)r->D * sizeof *q->w);
    FAB_TRY(fab_quad_solve(q, 0.5 * p->before, tol * q->yy, &sweeps, &end->gap, &end->converged,
                           &f->watch, f->who));
    memcpy(f->theta, q->w, (size_t)r->D * sizeof *q->w);
    if (r->P > r->D) f->theta[r->D] = fab_erm_intercept_of(r, sums, q->w);
    end->objective = 2 * fab_quad_value(q);
    end->gap *= 2;
    end->iterations = sweeps;
    return FAB_OK;
}

static fab_status solve(erm *f, const fab_erm_sums *sums, double lambda, double before, double tol,
                        fab_erm_end *end)
{
    const fab_erm_rows *r = &f->rows;
    const fab_erm_penalty p = penalty_of(f, lambda, before);
    if (r->loss == FAB_LOSS_SQUARED) return solve_squared(f, sums, &p, tol, end);
    if (fab_erm_is_smooth(r->loss))
        return fab_erm_smooth_solve(&f->smooth, r, &p, f->s.max_iter, f->theta, end, &f->watch);
    return fab_erm_pieces_solve(&f->pieces, r, &p, f->s.max_iter, f->theta, end, &f->watch);
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

/* The smallest lambda at which w = 0. */
static fab_status largest(erm *f, double V, double *lambda)
{
    const fab_erm_rows *r = &f->rows;
    const double *along = f->squared.q.c;
    double most = 0, scale = 2; /* of the half of the squares */
    fab_erm_end end;
    if (r->loss != FAB_LOSS_SQUARED) {
        fab_erm_penalty p = {.l1 = SURELY, .before = INFINITY};
        along = f->smooth.q.c;
        scale = ABOVE;
        if (fab_erm_is_pieces(r->loss)) {
            p.l1 = 0;
            for (int64_t j = 0; j < r->D; j++) {
                double sum = 0;
                for (int64_t i = 0; i < r->n; i++)
                    sum += 2 * r->v[i] * fabs(r->X[i * r->P + j]) / V;
                p.l1 = fmax(p.l1, sum);
            }
            FAB_TRY(
                fab_erm_pieces_solve(&f->pieces, r, &p, f->s.max_iter, f->theta, &end, &f->watch));
            fab_erm_pieces_along(&f->pieces, r, f->pieces.along);
            along = f->pieces.along;
            scale = ABOVE / V;
        } else {
            FAB_TRY(
                fab_erm_smooth_solve(&f->smooth, r, &p, f->s.max_iter, f->theta, &end, &f->watch));
        }
    }
    for (int64_t j = 0; j < r->D; j++) most = fmax(most, fabs(along[j]));
    *lambda = scale * most / fmax(f->s.l1, LEAST_L1);
    for (int64_t j = 0; j < r->D; j++) f->theta[j] = 0;
    if (*lambda > 0) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA,
                    "%s: no feature varies with the target, so there is no lambda to choose: give "
                    "--lambda",
                    f->who);
}

static double kept(const erm *f)
{
    double n = 0;
    for (int64_t j = 0; j < f->rows.D; j++) n += f->theta[j] != 0;
    return n;
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

static void subtract(const fab_erm_rows *r, const fab_erm_sums *all, fab_erm_sums *part)
{
    for (int64_t i = 0; i < r->P * r->P; i++) part->G[i] = all->G[i] - part->G[i];
    for (int64_t i = 0; i < r->P; i++) part->c[i] = all->c[i] - part->c[i];
    part->yy = all->yy - part->yy;
    part->y = all->y - part->y;
    part->V = all->V - part->V;
}

/* The path of the rows outside of fold k. */
static fab_status leave_out(erm *f, const fab_split *split, int64_t k)
{
    fab_erm_rows *r = &f->rows;
    const int64_t *which, n = fab_split_part(split, k, &which);
    double V = 0;
    fab_erm_end end;
    memset(r->v, 0, (size_t)r->n * sizeof *r->v);
    for (int64_t i = 0; i < n; i++) r->v[which[i]] = f->all[which[i]];
    if (r->loss == FAB_LOSS_SQUARED) {
        FAB_TRY(fab_erm_sum(r, r->v, &f->squared.part, f->squared.block, &f->watch));
        subtract(r, &f->squared.all, &f->squared.part);
        fab_erm_quad_of(r, &f->squared.part, &f->squared.q);
    }
    for (int64_t i = 0; i < r->n; i++) r->v[i] = r->v[i] > 0 ? 0 : f->all[i];
    for (int64_t i = 0; i < r->n; i++) V += r->v[i];
    if (!(V > 0)) return FAB_OK;
    memset(f->theta, 0, (size_t)r->P * sizeof *f->theta);
    for (int64_t l = 0; l < f->L; l++) {
        const double before = l ? f->tried.lambda[l - 1] : INFINITY;
        FAB_TRY(solve(f, &f->squared.part, f->tried.lambda[l], before, f->s.tol, &end));
        for (int64_t i = 0; i < n; i++) r->v[which[i]] = f->all[which[i]];
        const double mean = fab_erm_mean(r, f->theta, which, n);
        for (int64_t i = 0; i < n; i++) r->v[which[i]] = 0;
        f->tried.mean[l] += mean;
        f->tried.square[l] += mean * mean;
        FAB_TRY(fab_watch_tick(&f->watch, f->who, (k + 1) * f->L + l,
                               (fab_split_parts(split) + 1) * f->L));
    }
    return FAB_OK;
}

/* Means and their standard errors; the place of the choice. */
static int64_t choose(erm *f, double folds)
{
    int64_t best = 0;
    for (int64_t l = 0; l < f->L; l++) {
        const double mean = f->tried.mean[l] / folds,
                     variance = fmax(f->tried.square[l] / folds - mean * mean, 0);
        f->tried.mean[l] = mean;
        f->tried.square[l] = sqrt(variance / (folds - 1));
        if (mean < f->tried.mean[best]) best = l;
    }
    if (f->s.rule == FAB_ERM_MIN) return best;
    const double within = f->tried.mean[best] + f->tried.square[best];
    for (int64_t l = 0; l < best; l++)
        if (f->tried.mean[l] <= within) return l;
    return best;
}

static fab_status leave_out_all(erm *f, int64_t *best)
{
    fab_erm_rows *r = &f->rows;
    const int64_t folds = f->s.cv < r->n ? f->s.cv : r->n;
    fab_split *split;
    FAB_TRY(fab_split_folds_for(FAB_PURPOSE_FOLDS, &split, r->n, folds,
                                fab_erm_of_classes(r->loss) ? r->y : NULL,
                                (uint64_t)f->s.glm.seed));
    fab_status s = FAB_OK;
    for (int64_t k = 0; k < folds && s == FAB_OK; k++) s = leave_out(f, split, k);
    fab_split_free(split);
    memcpy(r->v, f->all, (size_t)r->n * sizeof *r->v);
    FAB_TRY(s);
    *best = choose(f, (double)folds);
    return FAB_OK;
}

/* Down to lambda: 2 and 3 where it is to be chosen; of a given one so many steps that each is near the last. */
static fab_status go_down(erm *f, double V, double *lambda)
{
    const fab_erm_rows *r = &f->rows;
    double top, before = INFINITY;
    int64_t best = 0;
    fab_erm_end end;
    *lambda = f->s.lambda;
    if (f->L == 0 && r->loss != FAB_LOSS_SQUARED) return FAB_OK;
    if (f->L == 0) {
        double most = 0;
        for (int64_t j = 0; j < r->D; j++) most = fmax(most, fabs(f->squared.q.c[j]));
        top = 2 * most / fmax(f->s.l1, LEAST_L1);
        for (double at = 0.5 * top; at > *lambda && at > 1e-6 * top; at *= 0.5) {
            FAB_TRY(solve(f, &f->squared.all, at, before, f->s.tol, &end));
            before = at;
        }
        return FAB_OK;
    }
    FAB_TRY(largest(f, V, &top));
    const double ratio = !fab_is_auto_f64(f->s.ratio) ? f->s.ratio : r->n < r->D ? 1e-2 : 1e-3;
    for (int64_t l = 0; l < f->L; l++) {
        f->tried.lambda[l] = top * pow(ratio, (double)l / (double)(f->L - 1));
        FAB_TRY(solve(f, &f->squared.all, f->tried.lambda[l], before, f->s.tol, &end));
        before = f->tried.lambda[l];
        f->tried.kept[l] = kept(f);
        f->tried.gap[l] = end.gap;
        FAB_TRY(fab_watch_tick(&f->watch, f->who, l, (f->s.cv + 1) * f->L));
    }
    FAB_TRY(leave_out_all(f, &best));
    *lambda = f->tried.lambda[best];
    for (int64_t l = 0; l < f->L; l++) {
        double *to = f->path + l * PATH;
        to[0] = f->tried.lambda[l];
        to[1] = f->tried.mean[l];
        to[2] = f->tried.square[l];
        to[3] = f->tried.kept[l];
        to[4] = f->tried.gap[l];
    }
    if (best == f->L - 1 && f->s.rule == FAB_ERM_MIN)
        fab_watch_log(&f->watch,
                      "%s: rows left out are predicted best by the smallest lambda that was tried: "
                      "a smaller --ratio goes on",
                      f->who);
    if (r->loss == FAB_LOSS_SQUARED) { /* the folds were there */
        fab_erm_quad_of(r, &f->squared.all, &f->squared.q);
        memset(f->theta, 0, (size_t)r->P * sizeof *f->theta);
        before = INFINITY;
        for (int64_t l = 0; l < best; l++) {
            FAB_TRY(solve(f, &f->squared.all, f->tried.lambda[l], before, f->s.tol, &end));
            before = f->tried.lambda[l];
        }
    }
    return FAB_OK;
}

/* ---- 5 ------------------------------------------------------------------------------------------------ */

/* The precision of the coordinates A (n of them; the intercept last), of rows that are not centred: b = b' - centre'w. */
static void precision(const erm *f, const double *H, int64_t ld, double unit, double l2, int64_t n,
                      double V, double *A)
{
    const fab_erm_rows *r = &f->rows;
    const int64_t squared = r->loss == FAB_LOSS_SQUARED;
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < n; b++) {
            const int64_t i = f->nonzero[a], j = f->nonzero[b];
            const double at = i == r->D ? 1 : r->centre[i], bt = j == r->D ? 1 : r->centre[j];
            double h;
            if (squared) { /* H has no row of the intercept: the columns' means are 0 */
                h = (i < r->D && j < r->D ? H[i * ld + j] : 0) + (f->m.intercept ? at * bt : 0);
            } else {
                h = i < r->D && j < r->D ? H[i * ld + j] : 0;
                if (f->m.intercept) {
                    const double *own = H + r->D * ld;
                    if (i < r->D) h += own[i] * bt;
                    if (j < r->D) h += own[j] * at;
                    h += own[r->D] * at * bt;
                }
            }
            if (i == j && i < r->D) h += l2;
            A[a * n + b] = unit * V * h;
        }
}

static fab_status widen(erm *f, double V, double lambda, double y_unit)
{
    const fab_erm_rows *r = &f->rows;
    const int64_t P = r->P, squared = r->loss == FAB_LOSS_SQUARED;
    const double l2 = lambda * (1 - f->s.l1) * (squared ? 1 : 2);
    int64_t n = 0;
    double *room, least = INFINITY;
    fab_gauss *q = NULL;
    for (int64_t j = 0; j < P; j++)
        if (j == r->D || f->theta[j] != 0) f->nonzero[n++] = j;
    if (n > 0) {
        FAB_TRY(fab_gauss_create(&q, FAB_FORM_COVARIANCE, FAB_F64, n, n));
        fab_status s = fab_alloc_array((void **)&room, 4 * n * n + n, sizeof *room, f->who);
        if (s == FAB_OK) {
            double *A = room, *L = A + n * n, *G = L + n * n, *Gi = G + n * n, *scale = Gi + n * n,
                   logdet;
            const double *H = squared ? f->squared.q.G : f->smooth.q.G;
            precision(f, H, squared ? r->D : P, y_unit, l2, n, V, A);
            s = fab_scaled_chol(n, A, scale, L, &logdet);
            if (s == FAB_OK) s = fab_spread_inverse(q, scale, L, G, Gi);
            fab_release(room);
        }
        if (s != FAB_OK) {
            fab_gauss_free(q);
            if (s != FAB_NUMERIC) return s;
            fab_watch_log(&f->watch,
                          "%s: columns that are not 0 follow from each other: no uncertainty of "
                          "their coefficients",
                          f->who);
            return fab_gauss_create(&f->q, FAB_FORM_POINT, f->type, P, 0);
        }
        for (int64_t a = 0; a < n; a++) least = fmin(least, q->psi[a]);
    } else {
        least = 1 / (y_unit * V);
    }
    const fab_status s = fab_gauss_create(&f->q, FAB_FORM_COVARIANCE, f->type, P, n);
    for (int64_t j = 0; j < P && s == FAB_OK; j++) {
        f->q->psi[j] = NOTHING * least;
        for (int64_t k = 0; k < n; k++) fab_gauss_put(f->q, j * n + k, 0);
    }
    for (int64_t a = 0; a < n && s == FAB_OK; a++) {
        f->q->psi[f->nonzero[a]] = q->psi[a];
        for (int64_t k = 0; k < n; k++)
            fab_gauss_put(f->q, f->nonzero[a] * n + k, fab_gauss_get(q, a * n + k));
    }
    fab_gauss_free(q);
    return s;
}

/* What predictions of this loss are not. */
static void warn(erm *f)
{
    const fab_loss loss = f->rows.loss;
    if (loss == FAB_LOSS_HINGE || loss == FAB_LOSS_EXPONENTIAL)
        fab_watch_log(
            &f->watch,
            "%s: classes are by the sign of f, but %s loss has no probabilities: those of "
            "predictions are 1 / (1 + exp(-f)); --calibrate temperature brings them to "
            "rows left out",
            f->who, losses[loss]);
    if (loss == FAB_LOSS_PINBALL && f->s.tau != 0.5)
        fab_watch_log(&f->watch,
                      "%s: the mean of a prediction is the %g quantile; its sd and interval are of "
                      "a normal around that, and no statement on y",
                      f->who, f->s.tau);
}

/* beta, and the Gaussian in the coordinates of the caller. */
static fab_status conclude(erm *f, double V, double lambda, double y_centre)
{
    const fab_erm_rows *r = &f->rows;
    const int classes = fab_erm_of_classes(r->loss);
    const int wide = f->s.uncertainty != FAB_ERM_WIDTH_NONE &&
                     (r->loss == FAB_LOSS_SQUARED || r->loss == FAB_LOSS_LOGISTIC);
    double square = 0, whole = 0, dof = V;
    if (!classes) {
        for (int64_t i = 0; i < r->n; i++) {
            const double e = r->y[i] - fab_erm_f(r, f->theta, i);
            square += r->v[i] * e * e;
            whole += r->v[i] * r->y[i] * r->y[i];
        }
        if (r->loss == FAB_LOSS_SQUARED)
            dof = fmax(V - kept(f) - (double)f->m.intercept, fmin(V, 1));
        const double most = 1 / (NOISELESS * whole / V);
        f->report.beta = !fab_is_auto_f64(f->s.glm.beta) ? f->s.glm.beta : fmin(dof / square, most);
        if (f->report.beta >= most && fab_is_auto_f64(f->s.glm.beta))
            fab_watch_log(&f->watch,
                          "%s: the rows are fitted exactly: beta stands at the end of its range",
                          f->who);
    }
    if (wide)
        FAB_TRY(widen(f, V, lambda, classes ? 1 : f->report.beta));
    else
        FAB_TRY(fab_gauss_create(&f->q, FAB_FORM_POINT, f->type, r->P, 0));
    double b = r->P > r->D ? f->theta[r->D] + y_centre : 0;
    for (int64_t j = 0; j < r->D; j++) {
        f->q->mu[j] = f->theta[j];
        b -= r->centre[j] * f->theta[j];
    }
    if (r->P > r->D) f->q->mu[r->D] = b;
    warn(f);
    return FAB_OK;
}

/* ---- the algorithm ---------------------------------------------------------------------------------------- */

static fab_status run(erm *f)
{
    const fab_erm_rows *r = &f->rows;
    double V, y_centre, lambda;
    fab_erm_end end;
    FAB_TRY(load(f, &V, &y_centre)); /* 1 */
    if (r->loss == FAB_LOSS_SQUARED) {
        FAB_TRY(fab_erm_sum(r, r->v, &f->squared.all, f->squared.block, &f->watch));
        fab_erm_quad_of(r, &f->squared.all, &f->squared.q);
    }
    FAB_TRY(go_down(f, V, &lambda)); /* 2, 3 */
    const double before = f->L > 0 || r->loss == FAB_LOSS_SQUARED ? lambda : INFINITY;
    FAB_TRY(solve(f, &f->squared.all, lambda, before, 0, &end)); /* 4 */
    f->report = (fab_report){.alpha = NAN,
                             .beta = 1,
                             .log_evidence = NAN,
                             .iterations = end.iterations,
                             .converged = end.converged,
                             .kept = (int64_t)kept(f),
                             .lambda = lambda,
                             .objective = end.objective,
                             .gap = end.gap};
    return conclude(f, V, lambda, y_centre); /* 5 */
}

static fab_status result(void *handle, const fab_gauss **q)
{
    erm *f = handle, *room;
    fab_gauss_free(f->q);
    fab_release(f->path);
    f->q = NULL;
    f->path = NULL;
    f->report = (fab_report){0};
    if (f->L) FAB_TRY(fab_alloc_array((void **)&f->path, f->L * PATH, sizeof *f->path, f->who));
    FAB_TRY(fab_build((void **)&room, sizeof *f, f, layout));
    const int before = fab_blas_enter();
    const fab_status s = run(room);
    fab_blas_leave(before);
    f->q = room->q;
    f->report = room->report;
    fab_release(room);
    FAB_TRY(s);
    if (fab_gauss_check(f->q) != FAB_OK)
        return fab_prefix(FAB_NUMERIC, "%s: the result is not finite (lambda = %g): ", f->who,
                          f->report.lambda);
    *q = f->q;
    return FAB_OK;
}

static fab_status report(void *handle, fab_report *r)
{
    *r = ((const erm *)handle)->report;
    return FAB_OK;
}

static fab_status tensors(void *handle, fab_tensors *t)
{
    const erm *f = handle;
    const int64_t shape[] = {f->L, PATH};
    return f->path ? fab_tensors_add(t, "path", FAB_F64, 2, shape, f->path) : FAB_OK;
}

static int suits(const struct fab_likelihood_row *l)
{
    return fab_suits_normal(l) || l == fab_likelihood_row_of(FAB_LIKELIHOOD_BERNOULLI);
}

#define INIT(name_, who_)                                                             \
    static fab_status name_(void **handle, const void *settings, const fab_input *in, \
                            const fab_exec *x)                                        \
    {                                                                                 \
        return init_as(handle, who_, settings, in, x);                                \
    }
INIT(init_erm, "erm")
INIT(init_lasso, "lasso")
INIT(init_elastic_net, "elastic-net")
INIT(init_quantile, "quantile")

#define VERBS                                                                                      \
    .takes = FAB_TAKES_LINEAR, .penalises = 1, .bytes = bytes, .update = update, .result = result, \
    .report = report, .tensors = tensors, .free = release

const fab_method fab_erm_method = {
    .name = "erm",
    .summary =
        "linear models of any loss with a penalty on |w| and its square, lambda by rows left out",
    .fields = &table,
    .suits = suits,
    .init = init_erm,
    VERBS,
};

const fab_method fab_lasso_method = {
    .name = "lasso",
    .summary = "linear regression where a penalty on |w| leaves coefficients at 0: erm with l1 = 1",
    .fields = &lasso_table,
    .suits = suits,
    .init = init_lasso,
    VERBS,
};

const fab_method fab_elastic_net_method = {
    .name = "elastic-net",
    .summary = "linear regression with a penalty on |w| and its square: erm with l1 = 0.5",
    .fields = &elastic_table,
    .suits = suits,
    .init = init_elastic_net,
    VERBS,
};

const fab_method fab_quantile_method = {
    .name = "quantile",
    .summary =
        "a quantile of the target, linear in the features: erm with pinball loss and no penalty",
    .fields = &quantile_table,
    .suits = fab_suits_normal,
    .init = init_quantile,
    VERBS,
};
