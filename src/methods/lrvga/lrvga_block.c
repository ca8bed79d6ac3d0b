/* lrvga_block.c - the steps of lrvga on its state: the start, and a block of rows.
 *
 * The numbers in the margin are those of lrvga.c.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "fabayes/random.h"
#include "train/sequence/classes.h"
#include "train/glm_fields.h"
#include "methods/lrvga/lrvga_state.h"
#include "train/sequence/sequence.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

#define SOUND 1e-8 /* an eigenvalue of W, psi being 1, that EM can work with */
#define FREE \
    1e-8 /* least prior precision of an intercept, noise being 1: no prior, but for rounding */
#define WIDEST    1e15 /* variance of a predictor beside weights near 1: all digits of a double */
#define DRAWS     ((uint64_t)1 << 48) /* streams of random numbers beyond those of the rows */
#define BANK_FREE 1e6 /* variance of the intercept, noise being 1, while beta is unknown */

/* ---- views -------------------------------------------------------------------------------------- */

int fab_lrvga_gaussian(const fab_lrvga *e)
{
    return e->model.likelihood == FAB_LIKELIHOOD_GAUSSIAN;
}

int fab_lrvga_categorical(const fab_lrvga *e)
{
    return e->model.likelihood == FAB_LIKELIHOOD_CATEGORICAL;
}

int fab_lrvga_undecided(const fab_lrvga *e)
{
    if (fab_lrvga_gaussian(e) && fab_is_auto_f64(e->set.train.beta)) return 1;
    return !(e->n.given > 0) && fab_is_auto_f64(e->set.train.alpha);
}

int fab_lrvga_revisits(const fab_lrvga *e)
{
    return !fab_lrvga_gaussian(e) && e->set.sweeps > 0 && e->room > 1 && e->classes == 1;
}

static fab_rule rule_of(const fab_lrvga *e)
{
    return (fab_rule){e->model.likelihood, (fab_expectation)e->set.expectation,
                      (fab_scheme)e->set.scheme, e->set.draws, (uint64_t)e->set.train.seed};
}

int64_t fab_lrvga_next(const fab_lrvga *e)
{
    const int first = fab_lrvga_gaussian(e) ? !(e->n.started > 0) : !(e->n.rows > 0);
    return first ? e->room : e->set.block;
}

fab_long fab_lrvga_factors(const fab_lrvga *e, const fab_gauss *g, int64_t first, int64_t k)
{
    return (fab_long){(char *)g->F + (size_t)first * e->run.ops->size, e->T, k, g->K, 1};
}

double fab_lrvga_prior_at(const fab_lrvga *e, int64_t i)
{
    if (e->n.given > 0) return e->psi0[i];
    return i % e->part < e->model.D ? e->n.alpha : e->set.intercept_alpha;
}

fab_long fab_lrvga_rows(const fab_lrvga *e, int64_t first, int64_t k)
{
    const int64_t at = first * e->classes * e->T;
    char *p = (char *)fab_absorb_columns(e->absorb) + (size_t)at * e->run.ops->size;
    return fab_long_vectors(p, e->T, k * e->classes, e->T);
}

fab_long fab_lrvga_features(const fab_lrvga *e, int64_t first, int64_t k, int64_t c)
{
    const int64_t row = e->classes * e->T, at = first * row + c * (e->T + e->part);
    char *p = (char *)fab_absorb_columns(e->absorb) + (size_t)at * e->run.ops->size;
    return fab_long_vectors(p, e->model.D, k, row);
}

/* ---- the prior and the start ------------------------------------------------------------------- */

/* The same in units of the noise. */
static double prior_in_state(const fab_lrvga *e, int64_t i)
{
    const double p = fab_lrvga_prior_at(e, i) / e->n.beta0;
    return i % e->part < e->model.D || e->n.given > 0 || p > FREE ? p : FREE;
}

/* 9 */
static void choose(fab_lrvga *e, int64_t n)
{
    const fab_long X = fab_lrvga_features(e, 0, n, 0);
    const int known = fab_lrvga_gaussian(e) && !fab_is_auto_f64(e->set.train.beta);
    fab_stream_prior prior = {.beta = known ? e->set.train.beta : 0};
    const double loose = fab_lrvga_gaussian(e)
                             ? known ? prior.beta / e->set.intercept_alpha : BANK_FREE
                             : 1 / e->set.intercept_alpha;
    e->run.ops->gram(&e->run, &X, NULL, e->A);
    fab_prior_choose(&e->model, n, e->A, e->model.intercept ? loose : 0, e->y, e->w, e->offset,
                     &prior, e->bank);
    e->n.beta0 = fab_lrvga_gaussian(e) ? prior.beta : 1;
    e->n.alpha = prior.alpha * e->n.beta0;
    e->n.lost = e->n.given > 0 ? 0 : prior.lost;
}

/* 8 */
static void start_random(fab_lrvga *e, double trace)
{
    const int64_t R = e->set.inner_rank;
    const fab_long W = fab_lrvga_factors(e, e->S, 0, R);
    e->run.ops->randn(&e->run, (uint64_t)e->set.train.seed, FAB_PURPOSE_START, 0, &W);
    e->run.ops->colquad(&e->run, &W, NULL, e->C);
    memset(e->M, 0, (size_t)(R * R) * sizeof *e->M);
    for (int64_t k = 0; k < R; k++)
        e->M[k + k * R] = sqrt(e->set.start_eps * trace / ((double)R * e->C[k]));
    e->run.ops->mult(&e->run, NULL, &W, e->M, 0, &W);
    for (int64_t i = 0; i < e->T; i++) e->S->psi[i] *= 1 - e->set.start_eps;
    e->n.used = (double)R;
    e->n.sound = 1;
}

/* W <- W sqrt(r) */
static void scale_W(fab_lrvga *e, double r)
{
    const fab_long W = fab_lrvga_factors(e, e->S, 0, (int64_t)e->n.used);
    for (int64_t i = 0; i < e->T; i++) e->v[i] = sqrt(r);
    if (W.k) e->run.ops->axpy(&e->run, e->v, &W, 0, &W);
}

/* 7, 8: the state is the prior, in units of the noise. */
fab_status fab_lrvga_begin(fab_lrvga *e)
{
    double trace = 0;
    if (!fab_lrvga_undecided(e)) e->n.beta0 = fab_lrvga_gaussian(e) ? e->set.train.beta : 1;
    if (!fab_is_auto_f64(e->set.train.alpha)) e->n.alpha = e->set.train.alpha;
    for (int64_t i = 0; i < e->T; i++) trace += e->S->psi[i] = prior_in_state(e, i);
    if (e->n.given > 0)
        scale_W(e, 1 / e->n.beta0);
    else if (e->set.start == FAB_LRVGA_RANDOM)
        start_random(e, trace);
    e->n.started = 1;
    return fab_gauss_check(e->S);
}

fab_status fab_lrvga_decide(fab_lrvga *e, int64_t m)
{
    choose(e, m);
    return fab_lrvga_begin(e);
}

/* ---- a block of rows ---------------------------------------------------------------------------- */

/* 1 */
void fab_lrvga_forget(fab_lrvga *e, int64_t m)
{
    const double a = pow(e->set.forget, (double)m);
    if (!(a < 1)) return;
    scale_W(e, a);
    for (int64_t i = 0; i < e->T; i++)
        e->S->psi[i] = a * e->S->psi[i] + (1 - a) * prior_in_state(e, i);
    e->n.count *= a;
    e->n.lost *= a;
    e->n.squares *= a;
    e->n.power *= a;
}

/* Coordinate i of each column. */
static void get_row(const fab_lrvga *e, const fab_long *A, int64_t i, double *row)
{
    const fab_long one = {(char *)A->p + (size_t)(i * A->rs) * e->run.ops->size, 1, A->k, A->rs,
                          A->cs};
    e->run.ops->get(&e->run, &one, row);
}

/* C = A' psi^-1 B.  An intercept has next to no prior, and what its large 1 / psi adds is nearly all taken away again
 * in 2: that share in double, so that f32 keeps its digits for the others. */
static void cross(fab_lrvga *e, const fab_long *A, const fab_long *B, double *C)
{
    double *const a = e->line, *const b = e->line + A->k;
    const int64_t count = e->model.intercept ? e->classes : 0;
    memcpy(e->v, e->inverse, (size_t)e->T * sizeof *e->v);
    for (int64_t c = 0; c < count; c++) e->v[e->model.D + c * e->part] = 0;
    if (A == B)
        e->run.ops->gram(&e->run, A, e->v, C);
    else
        e->run.ops->cross(&e->run, A, e->v, B, C);
    for (int64_t c = 0; c < count; c++) {
        const int64_t i = e->model.D + c * e->part;
        get_row(e, A, i, a);
        get_row(e, B, i, b);
        for (int64_t k = 0; k < B->k; k++)
            for (int64_t j = 0; j < A->k; j++) C[j + k * A->k] += a[j] * e->inverse[i] * b[k];
    }
}

/* M = L L' */
static fab_status factor(fab_lrvga *e)
{
    const fab_long W = fab_lrvga_factors(e, e->S, 0, (int64_t)e->n.used);
    for (int64_t i = 0; i < e->T; i++) e->inverse[i] = 1 / e->S->psi[i];
    if (W.k == 0) return FAB_OK;
    cross(e, &W, &W, e->M);
    fab_add_identity(W.k, e->M);
    return fab_chol(W.k, e->M);
}

/* C = L^-1 W' psi^-1 X */
static void whiten(fab_lrvga *e, const fab_long *W, const fab_long *X)
{
    cross(e, W, X, e->C);
    fab_tri_solve(FAB_LEFT, FAB_N, W->k, X->k, e->M, e->C);
}

/* Of m columns; a GLM has no use for a predictor that may be anything. */
static fab_status check_predictors(const fab_lrvga *e, int64_t m)
{
    for (int64_t j = 0; j < m; j++) {
        const double row = e->n.rows + (double)(j / e->classes), variance = e->A[j + j * m];
        if (!isfinite(e->eta[j]) || !isfinite(variance))
            return FAB_FAIL(FAB_NUMERIC, "lrvga: the predictor of row %.0f is not finite", row);
        if (!fab_lrvga_gaussian(e) && variance > WIDEST)
            return FAB_FAIL(
                FAB_NUMERIC,
                "lrvga: the predictor of row %.0f has variance %g under the prior, and digits "
                "run out at %g: scale the columns or raise alpha",
                row, variance, WIDEST);
    }
    return FAB_OK;
}

/* 2, and eta */
fab_status fab_lrvga_project(fab_lrvga *e, int64_t rows)
{
    const fab_long all = fab_lrvga_rows(e, 0, rows), *const X = &all;
    const int64_t m = X->k, used = (int64_t)e->n.used;
    const fab_long W = fab_lrvga_factors(e, e->S, 0, used),
                   z = fab_long_vectors(e->z, e->T, 1, e->T);
    FAB_TRY(factor(e));
    cross(e, X, X, e->A);
    if (used) {
        whiten(e, &W, X);
        fab_mm(FAB_T, FAB_N, m, m, used, -1, e->C, e->C, 1, e->A);
    }
    e->run.ops->put(&e->run, e->S->mu, &z);
    e->run.ops->cross(&e->run, X, NULL, &z, e->eta);
    for (int64_t j = 0; j < m; j++) e->eta[j] += e->base ? e->base[j] : e->offset[j / e->classes];
    return check_predictors(e, m);
}

static void add_scores(fab_lrvga *e, const fab_sequence *s)
{
    e->n.count += (double)s->m;
    for (int64_t j = 0; j < s->m; j++) e->n.power += e->w[j] * e->y[j] * e->y[j];
    e->n.squares += s->squares;
    e->n.logdet += s->logdet;
    e->n.score += s->score;
}

static fab_status check_finite(const fab_lrvga *e, int64_t m)
{
    for (int64_t j = 0; j < m; j++)
        if (!isfinite(e->gamma[j]) || !isfinite(e->step[j]))
            return FAB_FAIL(FAB_NUMERIC, "lrvga: row %.0f has no finite update under scheme = %s",
                            e->n.rows + (double)j, fab_scheme_names[e->set.scheme]);
    return FAB_OK;
}

/* 3 */
static fab_status take_in_turn(fab_lrvga *e, int64_t m)
{
    const int again = fab_lrvga_revisits(e);
    double *const error = again ? e->again : NULL, *const u = again ? error + m : NULL,
                  *const eta = again ? u + m : NULL;
    const fab_rule rule = rule_of(e);
    fab_sequence s = {.rule = &rule,
                      .first = 1 + (uint64_t)e->n.rows,
                      .m = m,
                      .y = e->y,
                      .w = e->w,
                      .A = e->A,
                      .eta = e->eta,
                      .weight = e->gamma,
                      .step = e->step,
                      .C = e->B,
                      .error = error,
                      .u = u};
    if (again) {
        memcpy(e->A0, e->A, (size_t)(m * m) * sizeof *e->A);
        memcpy(eta, e->eta, (size_t)m * sizeof *eta);
    }
    fab_sequence_run(&s);
    add_scores(e, &s);
    if (again)
        fab_sequence_revisit(&s, &(fab_revisit){e->A0, eta, e->V, e->A, eta + m, e->set.sweeps});
    return check_finite(e, m);
}

/* v = X g - W t at the intercepts, in double: 1 / psi is large there */
static void correct_intercepts(fab_lrvga *e, const fab_long *X, const double *g, const fab_long *W,
                               const double *t)
{
    double *const row = e->line;
    for (int64_t c = 0; c < e->classes && e->model.intercept; c++) {
        const int64_t i = e->model.D + c * e->part;
        e->v[i] = 0;
        get_row(e, X, i, row);
        for (int64_t j = 0; j < X->k; j++) e->v[i] += row[j] * g[j];
        get_row(e, W, i, row);
        for (int64_t k = 0; k < W->k; k++) e->v[i] -= row[k] * t[k];
    }
}

/* 4: mu += psi^-1 (X g - W t),  t = M^-1 W' psi^-1 X g */
static void move_mean(fab_lrvga *e, const fab_long *X, const double *g)
{
    const int64_t used = (int64_t)e->n.used;
    const fab_long W = fab_lrvga_factors(e, e->S, 0, used),
                   z = fab_long_vectors(e->z, e->T, 1, e->T);
    double *const t = e->line + (used > X->k ? used : X->k);
    e->run.ops->mult(&e->run, NULL, X, g, 0, &z);
    if (used) {
        fab_mv(FAB_N, used, X->k, -1, e->C, g, 0, t);
        fab_tri_solve(FAB_LEFT, FAB_T, used, 1, e->M, t);
        e->run.ops->mult(&e->run, NULL, &W, t, 1, &z);
        for (int64_t k = 0; k < used; k++) t[k] = -t[k];
    }
    e->run.ops->get(&e->run, &z, e->v);
    correct_intercepts(e, X, g, &W, t);
    for (int64_t i = 0; i < e->T; i++) e->S->mu[i] += e->inverse[i] * e->v[i];
}

/* The precision of a coordinate given all others does not fall far below the prior's. */
static void floor_psi(fab_lrvga *e)
{
    e->floored = 0;
    for (int64_t i = 0; i < e->T; i++) {
        const double least = e->set.psi_min * prior_in_state(e, i);
        if (e->S->psi[i] >= least) continue;
        e->S->psi[i] = least;
        e->floored++;
    }
}

/* 5 in place of EM: exact when R = T, and then psi stays the prior. */
static fab_status absorb_eigen(fab_lrvga *e, int64_t m)
{
    double kept = 0;
    memcpy(e->v, e->S->psi, (size_t)e->T * sizeof *e->v);
    FAB_TRY(fab_absorb_loaded_eigen(e->absorb, e->S, 1, 1, m, &kept));
    e->n.sound = kept > SOUND;
    if (e->set.inner_rank == e->T) memcpy(e->S->psi, e->v, (size_t)e->T * sizeof *e->v);
    return FAB_OK;
}

/* 5, 7 */
static fab_status absorb(fab_lrvga *e, int64_t m)
{
    const int64_t R = e->set.inner_rank, used = (int64_t)e->n.used;
    const int by_em = R < e->T && e->n.sound > 0 && e->set.cut == FAB_CUT_EM;
    if (used + m <= R) {
        const fab_long X = fab_long_vectors(fab_absorb_columns(e->absorb), e->T, m, e->T),
                       W = fab_lrvga_factors(e, e->S, used, m);
        e->run.ops->axpy(&e->run, NULL, &X, 0, &W);
        e->n.used += (double)m;
        return FAB_OK;
    }
    e->n.used = (double)R;
    FAB_TRY(by_em ? fab_absorb_loaded(e->absorb, e->S, 1, 1, m) : absorb_eigen(e, m));
    floor_psi(e);
    return FAB_OK;
}

/* 3, categorical */
static fab_status take_classes(fab_lrvga *e, int64_t m)
{
    const int64_t n = m * e->classes;
    const fab_rule rule = rule_of(e);
    fab_class_block b = {.rule = &rule,
                         .first = 1 + (uint64_t)e->n.rows,
                         .m = m,
                         .C = e->classes,
                         .sweeps = e->set.sweeps,
                         .y = e->y,
                         .w = e->w,
                         .A = e->A,
                         .eta = e->eta,
                         .root = e->root,
                         .step = e->step,
                         .V = e->V,
                         .B = e->B,
                         .site = e->site,
                         .d = e->site + n,
                         .work = e->site + 2 * n};
    const fab_status s = fab_class_block_run(&b);
    if (s != FAB_OK) return fab_prefix(s, "lrvga: after %.0f rows, ", e->n.rows);
    e->n.score += b.score;
    return FAB_OK;
}

/* X_j <- X_j root of the weight */
static void weigh(fab_lrvga *e, int64_t m)
{
    const int64_t C = e->classes;
    for (int64_t j = 0; j < m; j++) {
        const fab_long x = fab_lrvga_rows(e, j, 1);
        const double r = C > 1 ? 0 : sqrt(e->gamma[j]);
        e->run.ops->mult(&e->run, NULL, &x, C > 1 ? e->root + j * C * C : &r, 0, &x);
    }
}

/* 6, after 5: X holds sqrt(w) x, step the errors before the block */
static fab_status move_mean_paper(fab_lrvga *e, const fab_long *X)
{
    const fab_long W = fab_lrvga_factors(e, e->S, 0, (int64_t)e->n.used);
    FAB_TRY(factor(e));
    whiten(e, &W, X);
    for (int64_t j = 0; j < X->k; j++) e->step[j] *= sqrt(e->w[j]);
    move_mean(e, X, e->step);
    return FAB_OK;
}

/* 2 - 4 */
fab_status fab_lrvga_look(fab_lrvga *e, int64_t m)
{
    const fab_long X = fab_lrvga_rows(e, 0, m);
    const int paper = fab_lrvga_gaussian(e) && e->set.gain == FAB_GAIN_PAPER;
    FAB_TRY(fab_lrvga_project(e, m)); /* 2 */
    for (int64_t j = 0; j < m && paper; j++) e->each[j] = e->y[j] - e->eta[j];
    FAB_TRY(fab_lrvga_categorical(e) ? take_classes(e, m) : take_in_turn(e, m)); /* 3 */
    if (!paper) move_mean(e, &X, e->step);                                       /* 4 */
    if (paper) memcpy(e->step, e->each, (size_t)m * sizeof *e->step);
    return FAB_OK;
}

/* 5, 6 */
fab_status fab_lrvga_add(fab_lrvga *e, int64_t m)
{
    const fab_long X = fab_lrvga_rows(e, 0, m);
    weigh(e, m);
    FAB_TRY(absorb(e, X.k)); /* 5 */
    if (fab_lrvga_gaussian(e) && e->set.gain == FAB_GAIN_PAPER)
        FAB_TRY(move_mean_paper(e, &X)); /* 6 */
    e->n.rows += (double)m;
    return FAB_OK;
}

/* The first m rows. */
static fab_status process(fab_lrvga *e, int64_t m)
{
    fab_lrvga_forget(e, m); /* 1 */
    FAB_TRY(fab_lrvga_look(e, m));
    return fab_lrvga_add(e, m);
}

/* ---- a block whose rows the mean knows already --------------------------------------------------- */

fab_status fab_lrvga_hold(fab_lrvga *e, int64_t n)
{
    char *X = fab_absorb_columns(e->absorb);
    for (int64_t k = 0; k < n; k++) {
        const fab_long x =
            fab_long_vectors(X + (size_t)(k * e->T) * e->run.ops->size, e->T, 1, e->T);
        const double r = sqrt(e->each[k]);
        e->run.ops->mult(&e->run, NULL, &x, &r, 0, &x);
        e->run.ops->colquad(&e->run, &x, NULL, &e->gamma[k]);
        if (!isfinite(e->gamma[k]))
            return FAB_FAIL(FAB_NUMERIC, "the square of column %lld is %g", (long long)k,
                            e->gamma[k]);
    }
    return absorb(e, n);
}

/* ---- draws ------------------------------------------------------------------------------------- */

fab_status fab_lrvga_draw(fab_lrvga *e, uint64_t number, double *out)
{
    const int64_t used = (int64_t)e->n.used;
    const fab_long W = fab_lrvga_factors(e, e->S, 0, used),
                   z = fab_long_vectors(e->z, e->T, 1, e->T);
    double *const h = e->line, *const wx = h + used;
    FAB_TRY(factor(e));
    e->run.ops->randn(&e->run, (uint64_t)e->set.train.seed, FAB_PURPOSE_DRAW, DRAWS + 2 * number,
                      &z);
    for (int64_t i = 0; i < e->T; i++) e->v[i] = sqrt(e->inverse[i]);
    e->run.ops->axpy(&e->run, e->v, &z, 0, &z); /* x */
    if (used) {
        fab_random_normal((uint64_t)e->set.train.seed, FAB_PURPOSE_DRAW, DRAWS + 2 * number + 1, 0,
                          used, FAB_F64, h);
        e->run.ops->cross(&e->run, &W, NULL, &z, wx);
        for (int64_t k = 0; k < used; k++) h[k] -= wx[k];
        fab_chol_solve(used, 1, e->M, h);
        e->run.ops->mult(&e->run, e->inverse, &W, h, 1, &z); /* x + psi^-1 W M^-1 (e - W' x) */
    }
    e->run.ops->get(&e->run, &z, out);
    const double unit = 1 / sqrt(e->n.beta0);
    for (int64_t i = 0; i < e->T; i++) out[i] = e->S->mu[i] + unit * out[i];
    return FAB_OK;
}

/* The first m rows leave. */
static void drop(fab_lrvga *e, int64_t m)
{
    const size_t row = (size_t)(e->classes * e->T) * e->run.ops->size,
                 left = (size_t)(e->pending - m);
    char *X = fab_absorb_columns(e->absorb);
    e->pending -= m;
    if (!left) return;
    memmove(X, X + (size_t)m * row, left * row);
    memmove(e->y, e->y + m, left * sizeof *e->y);
    memmove(e->w, e->w + m, left * sizeof *e->w);
    memmove(e->offset, e->offset + m, left * sizeof *e->offset);
}

fab_status fab_lrvga_flush(fab_lrvga *e, int all)
{
    if (!(e->n.started > 0)) FAB_TRY(fab_lrvga_decide(e, e->pending));
    while (e->pending >= fab_lrvga_next(e) || (all && e->pending > 0)) {
        const int64_t next = fab_lrvga_next(e), m = e->pending < next ? e->pending : next;
        FAB_TRY(process(e, m));
        drop(e, m);
    }
    return FAB_OK;
}
