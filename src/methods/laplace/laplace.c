/* laplace.c - Laplace's approximation of a generalised linear model.
 *
 *   1  theta = argmax log p(y | theta) + log prior                             (mode.c)
 *   2  A = sum w_i h_i (x_i, 1)(x_i, 1)' + A0, h_i = -d^2 log p / d eta^2       the curvature there
 *   3  log evidence = log p(y | theta) + log prior(theta) + P/2 log 2 pi - log det A / 2
 *   4  alpha: the one that maximises 3; a grid of log alpha, then golden section.  Above FAB_LAPLACE_MAX
 *      coordinates log det A is an estimate (logdet.c, lanczos.c), and the hill is climbed from where the prior
 *      gives eta the variance 1.  A dispersion (negative-binomial) that is auto in turn with it, the same way
 *   5  q = N(theta, A^-1): full, in covariance form (spread.c); or rank K plus diagonal, in precision
 *      form (rank.c, rank_em.c)
 *   6  classes, alpha auto: q of a colder posterior, A / T, where rows left out want it so (temper.c)
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "train/glm_fields.h"
#include "train/train.h"
#include "methods/laplace/laplace.h"
#include "fit/method.h"
#include "posterior/spread.h"
#include "la/ops.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

#define LOWEST     (-23.0) /* range of log alpha, around the mean of |x_i|^2 summed over rows */
#define HIGHEST    14.0
#define STEP       2.3
#define FINE       1e-4   /* of log alpha: the evidence is flat at its top */
#define ROUGH      0.1    /* the same, where the evidence is estimated */
#define COARSE     1e-8   /* nats: a mode good enough to compare evidences */
#define LEAST_SIZE (-7.0) /* range of log beta of a dispersion: variance = mean + mean^2 / beta */
#define MOST_SIZE  14.0
/* the same of Student's noise, around the variance of y: normal there, with one mode */
#define WIDE_NOISE (-2.0)
enum { TURNS = 10 }; /* of alpha and beta, at most */

/* ---- settings --------------------------------------------------------------------------------- */

static const char *const structures[] = {"auto", "full", "low-rank", "diagonal", NULL};

#define SETTINGS fab_laplace_settings
#define MODE_FIELDS                                                                                \
    ALPHA,                                                                                         \
        AUTOMATIC_AT(fab_sgd_settings, beta, F64, 1e-300, 1e300,                                   \
                     "precision of the noise of a gaussian target, which must be given unless nu " \
                     "is; size of a negative-binomial one, whose variance is mean + mean^2 / "     \
                     "beta; auto: by the evidence"),                                               \
        FIELD(intercept_alpha, F64, 1e-4, 1e-300, 1e300, "prior precision of the intercept"),      \
        FIELD_AT(fab_sgd_settings, seed, I64, 1, 0, 0x1p53,                                        \
                 "seed of the start at rank K and of the estimate of the evidence"),               \
        RANK, FIELD(tol, F64, 1e-14, 0, 1, "stop when a step promises less, in nats"),             \
        FIELD(max_iter, I64, 500, 1, 1e6, "Newton steps")
#define ALPHA                                                 \
    AUTOMATIC_AT(fab_sgd_settings, alpha, F64, 1e-300, 1e300, \
                 "prior precision of every weight but the intercept's; auto: by the evidence")
#define RANK                                                                                    \
    AUTOMATIC(K, I64, 1, 4096,                                                                  \
              "rank of the curvature; auto: full up to 2000 coordinates, 20 above"),            \
        FIELD(inner, I64, 100, 1, 1e6, "EM loops that bring the curvature to rank K, at most"), \
        FIELD(rank_tol, F64, 1e-3, 0, 1, "stop them when psi changes by less, relative to itself")
static const fab_field map_fields[] = {MODE_FIELDS};
static const fab_field fields[] = {
    MODE_FIELDS,
    AUTOMATIC(temperature, F64, FAB_LAPLACE_COLDEST, 1,
              "of the posterior q is near; auto: 1, of classes less where rows left out say so"),
};
static const fab_field net_fields[] = {
    ALPHA,
    STEPS_FIELDS(200, 32, 0.01, 1),
    OPTIMISER_FIELDS,
    FIELD(rounds, I64, 5, 1, 1000, "alpha auto: times that it is chosen and training goes on"),
    FIELD(again, I64, 50, 1, 0x1p40, "epochs of training after each"),
    SWITCH(last_layer, 0, "the weights of the last layer alone are uncertain"),
    RANK,
    CHOICE(structure, FAB_STRUCTURE_AUTO, structures,
           "of the curvature; auto: low-rank where K is given; else full up to 2000 coordinates, "
           "low-rank above, and diagonal where that would take hours"),
};
const fab_fields fab_laplace_table = TABLE("laplace", fields);
const fab_fields fab_laplace_net_table = TABLE("laplace", net_fields);
const fab_fields fab_map_table = TABLE("map", map_fields);
#undef SETTINGS

/* ---- life ------------------------------------------------------------------------------------- */

static fab_status check(const fab_laplace_fit *fit)
{
    const fab_laplace_settings *s = &fit->s;
    if (fit->model.likelihood == FAB_LIKELIHOOD_GAUSSIAN && fab_is_auto_f64(s->train.beta) &&
        fit->model.nu == 0)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: beta of a gaussian target must be given; exact finds it", fit->who);
    if (fit->prior && !fab_is_auto_f64(s->temperature) && s->temperature < 1)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: temperature = %g with a prior that is given: expected 1", fit->who,
                        s->temperature);
    if (fit->P > 100000000)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: more than 1e8 coordinates are for lrvga", fit->who);
    return FAB_OK;
}

fab_status fab_laplace_init(void **handle, const char *who, int point, const void *settings,
                            const fab_input *in, const fab_exec *x)
{
    const fab_laplace_settings *s = settings;
    const fab_gauss *prior = in->prior;
    const int64_t P = in->model->D;
    fab_laplace_fit fit = {.who = who,
                           .s = *s,
                           .model = fab_glm_of(in->model, s->train.beta),
                           .prior = prior,
                           .point = point,
                           .P = P,
                           .dense = P <= FAB_LAPLACE_MAX,
                           .type = x && x->ops ? x->ops->type : FAB_F64};
    fit.K = fit.dense ? 0 : FAB_LAPLACE_RANK;
    if (!fab_is_auto_i64(s->K) && s->K < P) fit.K = s->K;
    fit.evidence = fit.dense || (!prior && (!point || fab_is_auto_f64(s->train.alpha)));
    fit.spread = (fab_glm_likelihood(&fit.model)->dispersion || fit.model.nu > 0) &&
                 fab_is_auto_f64(s->train.beta);
    if (fit.spread) fit.evidence = fit.dense || !prior;
    if (x) fit.exec = *x;
    *handle = NULL;
    FAB_TRY(check(&fit));
    FAB_TRY(fab_check_alone(who, x));
    FAB_TRY(fab_alloc_array(handle, 1, sizeof fit, who));
    memcpy(*handle, &fit, sizeof fit);
    return FAB_OK;
}

void fab_laplace_free(void *handle)
{
    fab_laplace_fit *fit = handle;
    if (!fit) return;
    fab_gauss_free(fit->q);
    fab_release(fit);
}

fab_status fab_laplace_update(void *handle, const fab_examples *e)
{
    ((fab_laplace_fit *)handle)->e = *e;
    return FAB_OK;
}

typedef struct room {
    fab_mode m;
    int64_t P;
    int dense;
    double *extra;
} room;

static void layout(fab_layout *l, void *handle)
{
    room *r = handle;
    const int64_t square = r->dense ? r->P * r->P : 0;
    r->m.theta = fab_place(l, r->P, sizeof(double));
    r->m.gradient = fab_place(l, r->P, sizeof(double));
    r->m.step = fab_place(l, r->P, sizeof(double));
    r->m.trial = fab_place(l, r->P, sizeof(double));
    r->m.scale = fab_place(l, r->P, sizeof(double));
    r->m.moves = fab_place(l, r->dense ? FAB_PAIRS * r->P : 0, sizeof(double));
    r->m.turns = fab_place(l, r->dense ? FAB_PAIRS * r->P : 0, sizeof(double));
    r->m.residual = fab_place(l, r->dense ? 0 : r->P, sizeof(double));
    r->m.direction = fab_place(l, r->dense ? 0 : r->P, sizeof(double));
    r->m.product = fab_place(l, r->dense ? 0 : r->P, sizeof(double));
    r->m.A = fab_place(l, square, sizeof(double));
    r->m.L = fab_place(l, square, sizeof(double));
    r->extra = fab_place(l, square, sizeof(double));
}

/* ---- 1, 3, 4: the mode, the evidence, alpha ---------------------------------------------------- */

static fab_status find_mode(fab_laplace_fit *fit, double alpha)
{
    double *logdet = &fit->mode->logdet;
    if (!fit->prior) fab_objective_diagonal(fit->o, alpha, fit->s.intercept_alpha);
    FAB_TRY(fit->dense ? fab_mode_newton(fit->o, fit->mode)
                       : fab_mode_newton_cg(fit->o, fit->mode));
    if (fit->evidence && !fit->dense) FAB_TRY(fab_laplace_logdet(fit, logdet));
    fit->report.alpha = fit->prior ? NAN : alpha;
    fit->report.log_evidence =
        fit->evidence ? 0.5 * (fit->o->log_prior - *logdet) - fit->mode->value : NAN;
    return FAB_OK;
}

/* The evidence at log alpha = x, or log beta, or where there is none the height of the mode; a curvature that cannot be
 * factored has none. */
static fab_status evidence(fab_laplace_fit *fit, double x, double *value)
{
    if (fit->turn == FAB_TURN_ALPHA) fit->alpha = exp(x);
    if (fit->turn == FAB_TURN_BETA) fit->o->m.beta = exp(x);
    const fab_status s = find_mode(fit, fit->alpha);
    *value = -INFINITY;
    if (s == FAB_OK) *value = fit->evidence ? fit->report.log_evidence : -fit->mode->value;
    if (s != FAB_NUMERIC) return s;
    fab_mode_start(fit->o, fit->mode->theta);
    return FAB_OK;
}

/* The highest point between lo and hi by golden sections, to `fine`. */
static fab_status golden(fab_laplace_fit *fit, double lo, double hi, double fine, double *at)
{
    const double part = 0.3819660112501051;
    double a = lo + part * (hi - lo), b = hi - part * (hi - lo), fa, fb;
    FAB_TRY(evidence(fit, a, &fa));
    FAB_TRY(evidence(fit, b, &fb));
    while (hi - lo > fine) {
        if (fa > fb) {
            hi = b;
            b = a;
            fb = fa;
            a = lo + part * (hi - lo);
            FAB_TRY(evidence(fit, a, &fa));
        } else {
            lo = a;
            a = b;
            fa = fb;
            b = hi - part * (hi - lo);
            FAB_TRY(evidence(fit, b, &fb));
        }
    }
    *at = (lo + hi) / 2;
    return FAB_OK;
}

static double mean_square(const fab_laplace_fit *fit)
{
    double sum = 0;
    for (int64_t j = 0; j < fit->e.x.n; j++)
        for (int64_t k = 0; k < fab_rows_stored(&fit->e.x, j, fit->model.D); k++) {
            const double x = fab_rows_value(&fit->e.x, j, k);
            sum += x * x * (fit->e.weight ? fit->e.weight[j] : 1);
        }
    return sum / (double)fit->model.D;
}

/* The best place of a grid over the whole range: alpha from above, where theta is 0, and beta from below, where noise is
 * wide, so that each mode is found from one nearby. */
static fab_status scan(fab_laplace_fit *fit, double lowest, double highest, double *at)
{
    const double first = fit->turn == FAB_TURN_BETA ? lowest : highest,
                 step = fit->turn == FAB_TURN_BETA ? STEP : -STEP;
    double best = -INFINITY, value;
    for (double x = first; x >= lowest && x <= highest; x += step) {
        FAB_TRY(evidence(fit, x, &value));
        if (!(value > best)) continue;
        best = value;
        *at = x;
    }
    if (isfinite(best)) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "%s: the evidence is not finite for any alpha", fit->who);
}

/* The nearest hilltop from *at, in steps of the grid: one way as long as it goes up, or else the other. */
static fab_status climb(fab_laplace_fit *fit, double centre, double *at)
{
    double best, value = 0;
    FAB_TRY(evidence(fit, *at, &best));
    for (int way = -1; way <= 1; way += 2) {
        int moved = 0;
        for (double x = *at + way * STEP; x > centre + LOWEST && x < centre + HIGHEST;
             x += way * STEP) {
            FAB_TRY(evidence(fit, x, &value));
            if (!(value > best)) break;
            best = value;
            *at = x;
            moved = 1;
        }
        if (moved) break;
    }
    if (isfinite(best)) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "%s: the evidence is not finite for any alpha near %g", fit->who,
                    exp(*at));
}

/* 4  Estimates are dear and not exact: no need to find their top to FINE. */
static fab_status choose_alpha(fab_laplace_fit *fit, double *alpha)
{
    const double square = mean_square(fit), centre = log(square);
    double at =
        log(square * (double)fit->model.D / (double)fit->e.x.n); /* var(eta) = 1, a priori */
    if (!(square > 0 && isfinite(square)))
        return FAB_FAIL(
            FAB_BAD_DATA,
            "%s: the features are all 0 or too large, so alpha cannot be found: give alpha",
            fit->who);
    fit->turn = FAB_TURN_ALPHA;
    FAB_TRY(fit->dense ? scan(fit, centre + LOWEST, centre + HIGHEST, &at)
                       : climb(fit, centre, &at));
    FAB_TRY(golden(fit, at - STEP, at + STEP, fit->dense ? FINE : ROUGH, &at));
    if (at > centre + HIGHEST - STEP)
        fab_watch_log(&fit->o->watch,
                      "%s: the evidence sees no signal: alpha stands at the end of its range",
                      fit->who);
    *alpha = fit->alpha = exp(at);
    return FAB_OK;
}

/* log of 1 / the variance of the target */
static double log_precision(const fab_laplace_fit *fit)
{
    const fab_examples *e = &fit->e;
    double weights = 0, mean = 0, squares = 0;
    for (int64_t j = 0; j < e->x.n; j++) weights += e->weight ? e->weight[j] : 1;
    for (int64_t j = 0; j < e->x.n; j++)
        mean += (e->weight ? e->weight[j] : 1) / weights *
                (e->y[j] - (e->offset ? e->offset[j] : 0));
    for (int64_t j = 0; j < e->x.n; j++) {
        const double d = e->y[j] - (e->offset ? e->offset[j] : 0) - mean;
        squares += (e->weight ? e->weight[j] : 1) / weights * d * d;
    }
    return squares > 0 ? -log(squares) : 0;
}

/* 4  alpha, where it is auto, and beta in turn, until neither moves; each from a first look at its whole range. */
static fab_status choose_both(fab_laplace_fit *fit, double *alpha)
{
    const int find_alpha = !fit->prior && fab_is_auto_f64(fit->s.train.alpha),
              tails = fit->model.nu > 0;
    const double fine = fit->dense ? FINE : ROUGH, centre = tails ? log_precision(fit) : 0;
    const double lowest = tails ? centre + WIDE_NOISE : LEAST_SIZE,
                 highest = tails ? centre + 2 * MOST_SIZE : MOST_SIZE;
    double at = 0, before;
    fit->alpha = 1;
    fit->o->m.beta = exp(centre);
    if (find_alpha) /* as if beta were 1, or the noise all of y, until it is known */
        FAB_TRY(choose_alpha(fit, alpha));
    else if (!fit->prior)
        fit->alpha = *alpha;
    fit->turn = FAB_TURN_BETA;
    FAB_TRY(scan(fit, lowest, highest, &at));
    for (int turn = 0; turn < TURNS; turn++) {
        before = at;
        fit->turn = FAB_TURN_BETA;
        FAB_TRY(golden(fit, fmax(at - STEP, lowest), fmin(at + STEP, highest), fine, &at));
        fit->o->m.beta = exp(at);
        if (turn > 0 && fabs(at - before) < 10 * fine) break;
        if (!find_alpha) continue;
        double a = log(fit->alpha);
        fit->turn = FAB_TURN_ALPHA;
        FAB_TRY(golden(fit, a - STEP, a + STEP, fine, &a));
        *alpha = fit->alpha = exp(a);
    }
    if (at > highest - STEP && !tails)
        fab_watch_log(&fit->o->watch,
                      "%s: the counts are spread no more than Poisson's: beta stands at the end of "
                      "its range",
                      fit->who);
    return FAB_OK;
}

/* ---- 5: the Gaussian -------------------------------------------------------------------------- */

static fab_status full(fab_laplace_fit *fit)
{
    const fab_mode *m = fit->mode;
    FAB_TRY(fab_gauss_create(&fit->q, FAB_FORM_COVARIANCE, fit->type, fit->P, fit->P));
    return fab_spread_inverse(fit->q, m->scale, m->L, m->A, fit->extra);
}

fab_status fab_laplace_posterior(fab_laplace_fit *fit)
{
    if (fit->point)
        FAB_TRY(fab_gauss_create(&fit->q, FAB_FORM_POINT, fit->type, fit->P, 0));
    else
        FAB_TRY(fit->K ? fab_laplace_rank(fit) : full(fit));
    memcpy(fit->q->mu, fit->mode->theta, (size_t)fit->P * sizeof(double));
    return FAB_OK;
}

/* Is T to be found?  With alpha or a prior given, the posterior is the one that was asked for. */
static int is_tempered(const fab_laplace_fit *fit)
{
    return !fit->point && !fit->prior && fab_is_auto_f64(fit->s.train.alpha) &&
           fab_is_auto_f64(fit->s.temperature) &&
           fab_glm_likelihood(&fit->model)->target == FAB_TARGET_CLASSES;
}

static fab_status solve(fab_laplace_fit *fit)
{
    double alpha = fit->s.train.alpha;
    fit->mode->max_iter = fit->s.max_iter;
    if (fit->prior)
        memcpy(fit->mode->theta, fit->prior->mu, (size_t)fit->P * sizeof(double));
    else
        fab_mode_start(fit->o, fit->mode->theta);
    fit->mode->tol = fmax(fit->s.tol, COARSE);
    if (fit->spread)
        FAB_TRY(choose_both(fit, &alpha));
    else if (!fit->prior && fab_is_auto_f64(alpha))
        FAB_TRY(choose_alpha(fit, &alpha));
    fit->mode->tol = fit->s.tol;
    FAB_TRY(find_mode(fit, alpha)); /* 1, 3 */
    fit->report.iterations = fit->mode->iterations;
    fit->report.converged = fit->mode->converged;
    fit->report.beta = fit->o->m.beta;
    FAB_TRY(fab_laplace_posterior(fit)); /* 5 */
    if (fit->point) return FAB_OK;
    double T = fab_is_auto_f64(fit->s.temperature) ? 1 : fit->s.temperature;
    if (is_tempered(fit)) FAB_TRY(fab_laplace_temper(fit, &T)); /* 6 */
    if (T < 1) fab_laplace_cool(fit->q, T);
    fit->report.temperature = T;
    return FAB_OK;
}

fab_status fab_laplace_result(void *handle, const fab_gauss **q)
{
    fab_laplace_fit *fit = handle;
    const room proto = {.P = fit->P, .dense = fit->dense};
    const int64_t most = is_tempered(fit) ? FAB_TEMPER_DRAWS : FAB_PROBES,
                  rank = fit->point ? 1 : fit->K, columns = rank > most ? rank : most;
    room *r;
    fab_gauss_free(fit->q);
    fit->q = NULL;
    fit->report = (fab_report){.log_evidence = NAN};
    FAB_TRY(fab_objective_init(&fit->o, fit->who, &fit->model, &fit->e, fit->prior, fit->dense,
                               columns, &fit->exec));
    fab_status s = fab_build((void **)&r, sizeof *r, &proto, layout);
    if (s == FAB_OK) {
        const int before = fab_blas_enter();
        fit->mode = &r->m;
        fit->extra = r->extra;
        s = solve(fit);
        fab_blas_leave(before);
        fab_release(r);
    }
    fab_objective_free(fit->o);
    FAB_TRY(s);
    FAB_TRY(fab_gauss_check(fit->q));
    *q = fit->q;
    return FAB_OK;
}

fab_status fab_laplace_report(void *handle, fab_report *r)
{
    *r = ((const fab_laplace_fit *)handle)->report;
    return FAB_OK;
}

/* ---- the method ------------------------------------------------------------------------------- */

double fab_laplace_bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_laplace_settings *s = settings;
    const double P = (double)in->model->D, rows = 2 * fab_objective_block(in->model->head.D + 1);
    const double K = fab_is_auto_i64(s->K) ? FAB_LAPLACE_RANK : (double)s->K,
                 element = x && x->ops && x->ops->type == FAB_F32 ? 4 : 8;
    const double temper = 2 * FAB_TEMPER_DRAWS * P +
                          (double)n * (12 + (double)in->model->head.classes);
    if (P <= FAB_LAPLACE_MAX)
        return 8 * (5 * P * P + (14 + 2 * FAB_PAIRS) * P + rows + temper) + 2 * element * P * P;
    return 8 * (P * (20 + 3 * FAB_PROBES + 2 * K) + rows + temper) + 2 * element * P * K;
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    return fab_laplace_init(handle, "laplace", 0, settings, in, x);
}

const fab_method fab_laplace_method = {
    .name = "laplace",
    .summary = "the mode of a generalised linear model and the curvature there, with the evidence",
    .fields = &fab_laplace_table,
    .general = &fab_laplace_net_method,
    FAB_LAPLACE_VERBS,
};
