/* block.c - the steps of lrvga on its state: the start, and a block of rows.
 *
 * The numbers in the margin are those of lrvga.c.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "fabayes/random.h"
#include "train/sequence/classes.h"
#include "train/glm_fields.h"
#include "methods/lrvga/state.h"
#include "model/likelihoods/likelihood.h"
#include "la/small.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define SOUND 1e-8 /* an eigenvalue of W, psi being 1, that EM can work with */
/* P comes from the prior less what the rows know, S = psi + W W': of means in their standard deviations this leaves an
 * error up to 5 eps r, r the largest ratio of what is known along a direction to psi, times the errors of the rows in
 * theirs, where these are larger (measured; docs/methods/lrvga.md). */
#define LOSS   5
#define SLIGHT 0.01  /* standard deviations: no more may be lost, but in f32, */
#define SEVERE 1     /* where up to here it is only said */
#define WIDEST 1e15  /* variance of a predictor of a GLM: all digits of a double */
#define HELD   1e-12 /* psi of an intercept that has next to no prior, relative to its rows */
#define DRAWS  ((uint64_t)1 << 48) /* streams of random numbers beyond those of the rows */
enum { PIECE = 512 };              /* coordinates of a long vector looked at together */

/* ---- views -------------------------------------------------------------------------------------- */

int fab_lrvga_categorical(const fab_lrvga *e)
{
    return fab_likelihood_row_of(e->stream.model.likelihood)->several;
}

int fab_lrvga_revisits(const fab_lrvga *e)
{
    return !fab_stream_gaussian(&e->stream) && e->set.sweeps > 0 && e->pending.room > 1 &&
           e->classes == 1;
}

int64_t fab_lrvga_next(const fab_lrvga *e)
{
    const fab_stream_counts *n = &e->stream.count;
    const int first = fab_stream_gaussian(&e->stream) ? !n->started : n->rows == 0;
    return first ? e->pending.room : e->set.block;
}

fab_long fab_lrvga_factors(const fab_lrvga *e, const fab_gauss *g, int64_t first, int64_t k)
{
    return (fab_long){(char *)g->F + (size_t)first * e->run.ops->size, e->T, k, g->K, 1};
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
    return fab_long_vectors(p, e->stream.model.D, k, row);
}

/* ---- the prior and the start ------------------------------------------------------------------- */

double fab_lrvga_prior_at(const fab_lrvga *e, int64_t i)
{
    if (e->stream.count.given) return e->psi0[i];
    return fab_stream_prior_of(&e->stream, i % e->part < e->stream.model.D);
}

/* The same in units of the noise. */
static double prior_in_state(const fab_lrvga *e, int64_t i)
{
    if (e->stream.count.given) return e->psi0[i] / e->stream.scale.beta;
    return fab_stream_prior_in_state(&e->stream, i % e->part < e->stream.model.D);
}

/* W <- W sqrt(r) */
static void scale_W(fab_lrvga *e, double r)
{
    const fab_long W = fab_lrvga_factors(e, e->S, 0, e->rank.used);
    double *const root = e->P.inverse; /* scratch */
    for (int64_t i = 0; i < e->T; i++) root[i] = sqrt(r);
    if (W.k) e->run.ops->axpy(&e->run, root, &W, 0, &W);
}

/* 8 */
static void start_random(fab_lrvga *e, double trace)
{
    const int64_t R = e->set.inner_rank;
    const fab_long W = fab_lrvga_factors(e, e->S, 0, R);
    double *const scale = e->P.M, *const squares = e->P.C; /* free before the first block */
    e->run.ops->randn(&e->run, (uint64_t)e->set.train.seed, FAB_PURPOSE_START, 0, &W);
    e->run.ops->colquad(&e->run, &W, NULL, squares);
    memset(scale, 0, (size_t)(R * R) * sizeof *scale);
    for (int64_t k = 0; k < R; k++)
        scale[k + k * R] = sqrt(e->set.start_eps * trace / ((double)R * squares[k]));
    e->run.ops->mult(&e->run, NULL, &W, scale, 0, &W);
    for (int64_t i = 0; i < e->T; i++) e->S->psi[i] *= 1 - e->set.start_eps;
    e->rank = (fab_lrvga_rank){.used = R, .sound = 1};
}

fab_status fab_lrvga_begin(fab_lrvga *e)
{
    double trace = 0;
    fab_stream_start(&e->stream);
    for (int64_t i = 0; i < e->T; i++) {
        e->S->psi[i] = prior_in_state(e, i);
        trace += e->S->psi[i];
    }
    if (e->stream.count.given)
        scale_W(e, 1 / e->stream.scale.beta);
    else if (e->set.start == FAB_LRVGA_RANDOM)
        start_random(e, trace);
    return fab_gauss_check(e->S);
}

fab_status fab_lrvga_decide(fab_lrvga *e, int64_t m, fab_watch *watch)
{
    const fab_long X = fab_lrvga_features(e, 0, m, 0);
    fab_pending first = e->pending;
    first.n = m;
    e->run.ops->gram(&e->run, &X, NULL, e->block.A);
    FAB_TRY(fab_stream_choose(&e->stream, &first, e->block.A, watch, e->bank));
    return fab_lrvga_begin(e);
}

/* ---- products with P ---------------------------------------------------------------------------- */

/* Coordinate i of each column. */
static void get_row(const fab_lrvga *e, const fab_long *A, int64_t i, double *row)
{
    const fab_long one = {(char *)A->p + (size_t)(i * A->rs) * e->run.ops->size, 1, A->k, A->rs,
                          A->cs};
    e->run.ops->get(&e->run, &one, row);
}

/* Do kernels round to fewer digits than doubles have? */
static int is_narrow(const fab_lrvga *e)
{
    return e->run.ops->size < sizeof(double);
}

static double norm(int64_t n, const double *C)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += C[i] * C[i];
    return sqrt(sum);
}

/* C = A' psi^-1 B.  An intercept has next to no prior, and what its large 1 / psi adds is nearly all taken away again
 * in 2: that share in double, so that f32 keeps its digits for the others.  Returns |C| (Frobenius), in f32 that of the
 * others: it is rounded so. */
static double cross(fab_lrvga *e, const fab_long *A, const fab_long *B, double *C)
{
    const int64_t D = e->stream.model.D, count = e->stream.model.intercept ? e->classes : 0;
    double *const inverse = e->P.inverse, *const a = e->line, *const b = e->line + A->k;
    for (int64_t c = 0; c < count; c++) inverse[D + c * e->part] = 0;
    if (A == B)
        e->run.ops->gram(&e->run, A, inverse, C);
    else
        e->run.ops->cross(&e->run, A, inverse, B, C);
    const double others = norm(A->k * B->k, C);
    for (int64_t c = 0; c < count; c++) {
        const int64_t i = D + c * e->part;
        inverse[i] = 1 / e->S->psi[i];
        get_row(e, A, i, a);
        get_row(e, B, i, b);
        for (int64_t k = 0; k < B->k; k++)
            for (int64_t j = 0; j < A->k; j++) C[j + k * A->k] += a[j] * inverse[i] * b[k];
    }
    return is_narrow(e) ? others : norm(A->k * B->k, C);
}

/* 1 / psi, M = L L' */
static fab_status factor(fab_lrvga *e)
{
    const fab_long W = fab_lrvga_factors(e, e->S, 0, e->rank.used);
    for (int64_t i = 0; i < e->T; i++) e->P.inverse[i] = 1 / e->S->psi[i];
    e->P.known = 0;
    if (W.k == 0) return FAB_OK;
    e->P.known = cross(e, &W, &W, e->P.M);
    fab_add_identity(W.k, e->P.M);
    return fab_chol(W.k, e->P.M);
}

/* C = L^-1 W' psi^-1 X */
static void whiten(fab_lrvga *e, const fab_long *W, const fab_long *X)
{
    cross(e, W, X, e->P.C);
    fab_tri_solve(FAB_LEFT, FAB_N, W->k, X->k, e->P.M, e->P.C);
}

/* 4: mu += psi^-1 (X g - W t),  t = M^-1 W' psi^-1 X g */
static void move_mean(fab_lrvga *e, const fab_long *X, const double *g)
{
    const int64_t used = e->rank.used;
    const fab_long W = fab_lrvga_factors(e, e->S, 0, used),
                   z = fab_long_vectors(e->z, e->T, 1, e->T);
    double *const row = e->line, *const t = e->line + (used > X->k ? used : X->k);
    double *const mu = e->S->mu;
    e->run.ops->mult(&e->run, NULL, X, g, 0, &z);
    if (used) {
        fab_mv(FAB_N, used, X->k, -1, e->P.C, g, 0, t);
        fab_tri_solve(FAB_LEFT, FAB_T, used, 1, e->P.M, t);
        e->run.ops->mult(&e->run, NULL, &W, t, 1, &z);
        for (int64_t k = 0; k < used; k++) t[k] = -t[k];
    }
    if (e->stream.model.intercept) /* in double: 1 / psi is large there */
        for (int64_t c = 0; c < e->classes; c++) {
            const int64_t i = e->stream.model.D + c * e->part;
            const fab_long one = {(char *)e->z + (size_t)i * e->run.ops->size, 1, 1, 1, 1};
            const double none = 0;
            double step = 0;
            get_row(e, X, i, row);
            for (int64_t j = 0; j < X->k; j++) step += row[j] * g[j];
            get_row(e, &W, i, row);
            for (int64_t k = 0; k < used; k++) step -= row[k] * t[k];
            mu[i] += e->P.inverse[i] * step;
            e->run.ops->put(&e->run, &none, &one);
        }
    for (int64_t first = 0; first < e->T; first += PIECE) {
        const int64_t count = e->T - first < PIECE ? e->T - first : PIECE;
        const fab_long part = {(char *)e->z + (size_t)first * e->run.ops->size, count, 1, 1, count};
        double piece[PIECE];
        e->run.ops->get(&e->run, &part, piece);
        for (int64_t i = 0; i < count; i++) mu[first + i] += e->P.inverse[first + i] * piece[i];
    }
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
    fab_stream_forget(&e->stream, a);
}

/* Do digits suffice for P, when the rows at hand know so much beside psi? */
static fab_status check_known(fab_lrvga *e, int64_t rows, double more)
{
    const int narrow = is_narrow(e);
    const fab_stream_sums *sum = &e->stream.sum;
    const double misfit = sum->squares > sum->rows ? sqrt(sum->squares / sum->rows) : 1;
    const double known = e->P.known + more, eps = narrow ? FLT_EPSILON : DBL_EPSILON,
                 unit = LOSS * eps * misfit, lost = unit * known;
    const long long row = e->stream.count.rows + rows;
    if (lost <= SLIGHT) return FAB_OK;
    if (narrow && lost <= SEVERE) {
        if (!e->said)
            fab_watch_log(&e->run.watch,
                          "lrvga: after row %lld the rows know %.3g times as much as the prior: in "
                          "f32 means may be off by %.2g standard deviations, in f64 they are not",
                          row, known, lost);
        e->said = 1;
        return FAB_OK;
    }
    return FAB_FAIL(
        FAB_NUMERIC,
        "lrvga: after row %lld the rows know %.3g times as much as the prior (alpha = "
        "%g), and digits run out at %.3g: scale the columns or raise alpha%s; %s need not",
        row, known, e->stream.scale.alpha, (narrow ? SEVERE : SLIGHT) / unit,
        narrow ? " or take f64" : "",
        fab_stream_gaussian(&e->stream) ? "exact and kalman" : "laplace and vga");
}

/* Of m columns; a GLM has no use for a predictor that may be anything. */
static fab_status check_predictors(const fab_lrvga *e, int64_t m)
{
    for (int64_t j = 0; j < m; j++) {
        const long long row = e->stream.count.rows + j / e->classes;
        const double variance = e->block.A[j + j * m];
        if (!isfinite(e->block.eta[j]) || !isfinite(variance))
            return FAB_FAIL(FAB_NUMERIC, "lrvga: the predictor of row %lld is not finite", row);
        if (!fab_stream_gaussian(&e->stream) && variance > WIDEST)
            return FAB_FAIL(
                FAB_NUMERIC,
                "lrvga: the predictor of row %lld has variance %g under the prior (alpha = %g), "
                "and "
                "digits run out at %g: scale the columns or raise alpha; laplace and vga need not",
                row, variance, e->stream.scale.alpha, WIDEST);
    }
    return FAB_OK;
}

fab_status fab_lrvga_project(fab_lrvga *e, int64_t rows)
{
    const int64_t m = rows * e->classes, used = e->rank.used;
    const fab_long X = fab_lrvga_rows(e, 0, rows), W = fab_lrvga_factors(e, e->S, 0, used),
                   z = fab_long_vectors(e->z, e->T, 1, e->T);
    double *const A = e->block.A, *const eta = e->block.eta;
    FAB_TRY(factor(e));
    const double known = cross(e, &X, &X, A); /* X' psi^-1 X */
    if (fab_stream_gaussian(&e->stream) && !e->block.base) {
        double most = 0; /* weight */
        for (int64_t j = 0; j < rows; j++) most = fmax(most, e->pending.w[j]);
        FAB_TRY(check_known(e, rows, most * known));
    }
    if (used) {
        whiten(e, &W, &X);
        fab_mm(FAB_T, FAB_N, m, m, used, -1, e->P.C, e->P.C, 1, A); /* - C' M^-1 C */
    }
    e->run.ops->put(&e->run, e->S->mu, &z);
    e->run.ops->cross(&e->run, &X, NULL, &z, eta);
    for (int64_t j = 0; j < m; j++)
        eta[j] += e->block.base ? e->block.base[j] : e->pending.offset[j / e->classes];
    return check_predictors(e, m);
}

/* 3 */
static fab_status take_in_turn(fab_lrvga *e, int64_t m)
{
    fab_stream_sums *sum = &e->stream.sum;
    const int again = fab_lrvga_revisits(e);
    double *const eta = e->rows.glm + 2 * m; /* before the rows */
    fab_sequence s = {.rule = &e->stream.rule,
                      .first = 1 + (uint64_t)e->stream.count.rows,
                      .m = m,
                      .y = e->pending.y,
                      .w = e->pending.w,
                      .A = e->block.A,
                      .eta = e->block.eta,
                      .weight = e->block.gamma,
                      .step = e->block.step,
                      .C = e->rows.B};
    if (e->stream.count.rows == 0 && !(e->set.forget < 1))
        s.watch = &e->run.watch; /* the state is the prior still, and such a block takes long */
    if (again) {
        s.error = e->rows.glm;
        s.u = e->rows.glm + m;
        memcpy(e->rows.A, e->block.A, (size_t)(m * m) * sizeof *e->rows.A);
        memcpy(eta, e->block.eta, (size_t)m * sizeof *eta);
    }
    FAB_TRY(fab_sequence_run(&s));
    if (again && fab_sequence_revisit(&s, &(fab_revisit){.A = e->rows.A,
                                                         .eta = eta,
                                                         .V = e->rows.V,
                                                         .B = e->block.A,
                                                         .site = eta + m,
                                                         .sweeps = e->set.sweeps}) == FAB_STOPPED)
        return FAB_STOPPED;
    for (int64_t j = 0; j < m; j++) {
        sum->rows += s.w[j];
        sum->power += s.w[j] * s.y[j] * s.y[j];
    }
    sum->squares += s.squares;
    sum->logdet += s.logdet;
    sum->score += s.score;
    for (int64_t j = 0; j < m; j++)
        if (!isfinite(s.weight[j]) || !isfinite(s.step[j]))
            return FAB_FAIL(FAB_NUMERIC, "lrvga: row %lld has no finite update under scheme = %s",
                            (long long)(e->stream.count.rows + j), fab_scheme_names[e->set.scheme]);
    return FAB_OK;
}

/* 3, categorical */
static fab_status take_classes(fab_lrvga *e, int64_t m)
{
    const int64_t n = m * e->classes;
    fab_class_block b = {.rule = &e->stream.rule,
                         .first = 1 + (uint64_t)e->stream.count.rows,
                         .m = m,
                         .C = e->classes,
                         .sweeps = e->set.sweeps,
                         .y = e->pending.y,
                         .w = e->pending.w,
                         .A = e->block.A,
                         .eta = e->block.eta,
                         .root = e->block.root,
                         .step = e->block.step,
                         .V = e->rows.V,
                         .B = e->rows.B,
                         .site = e->rows.site,
                         .d = e->rows.site + n,
                         .work = e->rows.site + 2 * n};
    const fab_status s = fab_class_block_run(&b);
    if (s != FAB_OK)
        return fab_prefix(s, "lrvga: after %lld rows, ", (long long)e->stream.count.rows);
    e->stream.sum.score += b.score;
    return FAB_OK;
}

static int paper_gain(const fab_lrvga *e)
{
    return fab_stream_gaussian(&e->stream) && e->set.gain == FAB_GAIN_PAPER;
}

fab_status fab_lrvga_evaluate(fab_lrvga *e, int64_t m)
{
    const fab_long X = fab_lrvga_rows(e, 0, m);
    double *const error = e->block.weight, *const step = e->block.step;
    const int paper = paper_gain(e);
    FAB_TRY(fab_lrvga_project(e, m)); /* 2 */
    if (paper)
        for (int64_t j = 0; j < m; j++) error[j] = e->pending.y[j] - e->block.eta[j];
    FAB_TRY(fab_lrvga_categorical(e) ? take_classes(e, m) : take_in_turn(e, m)); /* 3 */
    if (paper)
        memcpy(step, error, (size_t)m * sizeof *step); /* for 6 */
    else
        move_mean(e, &X, step); /* 4 */
    return FAB_OK;
}

/* 5, 7: n columns of absorb, which have their weights in them */
static fab_status absorb(fab_lrvga *e, int64_t n)
{
    const int64_t R = e->set.inner_rank, used = e->rank.used;
    if (used + n <= R) {
        const fab_long X = fab_long_vectors(fab_absorb_columns(e->absorb), e->T, n, e->T),
                       W = fab_lrvga_factors(e, e->S, used, n);
        e->run.ops->axpy(&e->run, NULL, &X, 0, &W);
        e->rank.used += n;
        return FAB_OK;
    }
    e->rank.used = R;
    if (R < e->T && e->rank.sound && e->set.cut == FAB_CUT_EM) {
        FAB_TRY(fab_absorb_loaded(e->absorb, e->S, 1, 1, n));
    } else {
        double least = 0; /* eigenvalue kept */
        if (R == e->T) memcpy(e->v, e->S->psi, (size_t)e->T * sizeof *e->v);
        FAB_TRY(fab_absorb_loaded_eigen(e->absorb, e->S, 1, 1, n, &least));
        e->rank.sound = least > SOUND;
        if (R == e->T) /* exact, and psi stays the prior */
            memcpy(e->S->psi, e->v, (size_t)e->T * sizeof *e->v);
    }
    e->floored =
        0; /* the precision of a coordinate given all others does not fall far below the prior's */
    for (int64_t i = 0; i < e->T; i++) {
        const double least = e->set.psi_min * prior_in_state(e, i);
        if (e->S->psi[i] >= least) continue;
        e->S->psi[i] = least;
        e->floored++;
    }
    return FAB_OK;
}

/* An intercept with next to no prior: a share of what its rows know goes to psi, so that the rest of it does not count
 * for ever more times as much. */
static void hold_intercepts(fab_lrvga *e)
{
    const double least = HELD * (double)e->stream.count.rows;
    if (!e->stream.model.intercept) return;
    for (int64_t i = e->stream.model.D; i < e->T; i += e->part)
        if (e->S->psi[i] < least) e->S->psi[i] = least;
}

fab_status fab_lrvga_add(fab_lrvga *e, int64_t m)
{
    const int64_t C = e->classes;
    const fab_long X = fab_lrvga_rows(e, 0, m);
    for (int64_t j = 0; j < m; j++) { /* X_j <- X_j root of the weight */
        const fab_long x = fab_lrvga_rows(e, j, 1);
        const double one = C > 1 ? 0 : sqrt(e->block.gamma[j]);
        const double *root = C > 1 ? e->block.root + j * C * C : &one;
        e->run.ops->mult(&e->run, NULL, &x, root, 0, &x);
    }
    if (!fab_stream_gaussian(&e->stream)) { /* with the weights that the rows got */
        double known = 0, *const squares = e->line;
        e->run.ops->colquad(&e->run, &X, e->P.inverse, squares);
        for (int64_t k = 0; k < X.k; k++) known += squares[k];
        FAB_TRY(check_known(e, m, known));
    }
    FAB_TRY(absorb(e, X.k)); /* 5 */
    if (paper_gain(e)) {     /* 6: X holds sqrt(w) x, step the errors before the block */
        const fab_long W = fab_lrvga_factors(e, e->S, 0, e->rank.used);
        FAB_TRY(factor(e));
        whiten(e, &W, &X);
        for (int64_t j = 0; j < m; j++) e->block.step[j] *= sqrt(e->pending.w[j]);
        move_mean(e, &X, e->block.step);
    }
    e->stream.count.rows += m;
    hold_intercepts(e);
    return FAB_OK;
}

fab_status fab_lrvga_absorb(fab_lrvga *e, int64_t n)
{
    char *X = fab_absorb_columns(e->absorb);
    for (int64_t k = 0; k < n; k++) {
        const fab_long x =
            fab_long_vectors(X + (size_t)(k * e->T) * e->run.ops->size, e->T, 1, e->T);
        const double root = sqrt(e->block.weight[k]);
        double square;
        e->run.ops->mult(&e->run, NULL, &x, &root, 0, &x);
        e->run.ops->colquad(&e->run, &x, NULL, &square);
        if (!isfinite(square))
            return FAB_FAIL(FAB_NUMERIC, "the square of column %lld is %g", (long long)k, square);
    }
    return absorb(e, n);
}

fab_status fab_lrvga_flush(fab_lrvga *e, int all)
{
    fab_pending *p = &e->pending;
    const size_t row = (size_t)(e->classes * e->T) * e->run.ops->size;
    char *X = fab_absorb_columns(e->absorb);
    if (!e->stream.count.started) FAB_TRY(fab_lrvga_decide(e, p->n, &e->run.watch)); /* 9 */
    while (p->n >= fab_lrvga_next(e) || (all && p->n > 0)) {
        const int64_t next = fab_lrvga_next(e), m = p->n < next ? p->n : next;
        fab_lrvga_forget(e, m);            /* 1 */
        FAB_TRY(fab_lrvga_evaluate(e, m)); /* 2 - 4 */
        FAB_TRY(fab_lrvga_add(e, m));      /* 5, 6 */
        fab_pending_drop(p, m);
        memmove(X, X + (size_t)m * row, (size_t)p->n * row);
    }
    return FAB_OK;
}

/* ---- draws ------------------------------------------------------------------------------------- */

fab_status fab_lrvga_draw(fab_lrvga *e, uint64_t number, double *out)
{
    const int64_t used = e->rank.used;
    const fab_long W = fab_lrvga_factors(e, e->S, 0, used),
                   z = fab_long_vectors(e->z, e->T, 1, e->T);
    double *const h = e->line, *const wx = h + used;
    FAB_TRY(factor(e));
    e->run.ops->randn(&e->run, (uint64_t)e->set.train.seed, FAB_PURPOSE_DRAW, DRAWS + 2 * number,
                      &z);
    double *const inverse = e->P.inverse;
    for (int64_t i = 0; i < e->T; i++) inverse[i] = sqrt(inverse[i]);
    e->run.ops->axpy(&e->run, inverse, &z, 0, &z); /* x */
    for (int64_t i = 0; i < e->T; i++) inverse[i] = 1 / e->S->psi[i];
    if (used) {
        fab_random_normal((uint64_t)e->set.train.seed, FAB_PURPOSE_DRAW, DRAWS + 2 * number + 1, 0,
                          used, FAB_F64, h);
        e->run.ops->cross(&e->run, &W, NULL, &z, wx);
        for (int64_t k = 0; k < used; k++) h[k] -= wx[k];
        fab_chol_solve(used, 1, e->P.M, h);
        e->run.ops->mult(&e->run, e->P.inverse, &W, h, 1, &z); /* x + psi^-1 W M^-1 (e - W' x) */
    }
    e->run.ops->get(&e->run, &z, out);
    const double unit = 1 / sqrt(e->stream.scale.beta);
    for (int64_t i = 0; i < e->T; i++) out[i] = e->S->mu[i] + unit * out[i];
    return FAB_OK;
}
