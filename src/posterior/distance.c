/* distance.c - distances between two Gaussians of any two forms, without D x D matrices.
 *
 * Write S_j = diag(p_j) + s_j G_j G_j', s = +1 (covariance form: p = psi, G = F) or s = -1 (precision
 * form: p = 1/psi, G = psi^-1 F L'^-1).
 *
 *   1  |S1 - S2|^2 = |G1'G1|^2 + |G2'G2|^2 - 2 s1 s2 |G1'G2|^2 + 2 sum (p1-p2)(s1 r1 - s2 r2)
 *                    + sum (p1-p2)^2,                  r = rowdot(G, G); a relative floor of 1e-8
 *   2  below 1e-6 with equal sign and K: Q = U V' from the SVD of G2'G1, E = G1 - G2 Q,
 *      P = G1 + G2 Q:  |G1G1' - G2G2'|^2 = (tr(P'P E'E) + tr((E'P)^2)) / 2, the other terms of 1 with
 *      r1 - r2 = rowdot(E, P)
 *   3  1 cancels when 1/psi of a precision form is far above its covariance (factors that cover all
 *      coordinates): then from dense matrices, up to FAB_DENSE_MAX
 *   4  KL(a||b) = (tr(Sb^-1 Sa) - D + d' Sb^-1 d + log det Sb - log det Sa) / 2, d = mu_a - mu_b; the
 *      trace by the solver of the inverted matrix, which does not cancel
 *   5  W2^2 = |d|^2 + min over orthogonal Q of |Ra - Rb Q|^2, R R' = S: Q = U V' from the SVD U s V' of
 *      Rb' Ra; no difference of traces, so that W2 is exact to rounding near 0
 *
 * All in units of the larger of the two, a power of 2, when those are far from 1: squares of squares
 * would overflow.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/gauss.h"
#include "base/fail.h"
#include "base/memory.h"
#include "la/small.h"
#include "posterior/factor.h"
#include "posterior/solver.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static fab_status same_shape(const fab_gauss *a, const fab_gauss *b)
{
    if (a->D == b->D) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "distance: D = %lld and D = %lld differ", (long long)a->D,
                    (long long)b->D);
}

static fab_status spread(const fab_gauss *a, const fab_gauss *b, const char *what)
{
    FAB_TRY(same_shape(a, b));
    if (a->form != FAB_FORM_POINT && b->form != FAB_FORM_POINT) return FAB_OK;
    return FAB_FAIL(FAB_UNSUPPORTED, "a point has no %s", what);
}

fab_status fab_distance_mean(const fab_gauss *a, const fab_gauss *b, double *out)
{
    FAB_TRY(same_shape(a, b));
    double top = 0, bottom = 0;
    for (int64_t i = 0; i < a->D; i++) {
        top = hypot(top, a->mu[i] - b->mu[i]);
        bottom = hypot(bottom, b->mu[i]);
    }
    if (!(bottom > 0)) return FAB_FAIL(FAB_UNSUPPORTED, "the mean of the reference is 0");
    *out = top / bottom;
    return FAB_OK;
}

/* ---- both sides ready ------------------------------------------------------------------------- */

/* The two Gaussians in f64 with their solvers, and S_j = diag(p_j) + sign_j G_j G_j'. */
typedef struct side {
    fab_gauss *g;
    fab_solver *s;
    int exponent;        /* lengths are in units of 2^exponent */
    double sign, *p, *r; /* D */
    void *block;
    fab_long G; /* D x K */
} side;

static void side_free(side *s)
{
    fab_solver_free(s->s);
    fab_gauss_free(s->g);
    fab_release(s->block);
}

/* The exponent of the largest standard deviation of any coordinate, or more. */
static int size_exponent(const fab_gauss *g)
{
    double most = 0, least = INFINITY;
    for (int64_t i = 0; i < g->D; i++) {
        most = fmax(most, g->psi[i]);
        least = fmin(least, g->psi[i]);
    }
    double size = g->form == FAB_FORM_COVARIANCE ? sqrt(most) : 1 / sqrt(least);
    if (g->form == FAB_FORM_COVARIANCE)
        for (int64_t i = 0; i < g->D * g->K; i++)
            size = fmax(size, fabs(((const double *)g->F)[i]));
    return size > 0 && isfinite(size) ? ilogb(size) : 0;
}

static void rescale(fab_gauss *g, int exponent)
{
    const int e = g->form == FAB_FORM_COVARIANCE ? -exponent : exponent;
    for (int64_t i = 0; i < g->D; i++) g->mu[i] = ldexp(g->mu[i], -exponent);
    for (int64_t i = 0; i < g->D; i++) g->psi[i] = ldexp(g->psi[i], 2 * e);
    for (int64_t i = 0; i < g->D * g->K; i++) ((double *)g->F)[i] = ldexp(((double *)g->F)[i], e);
}

enum {
    FAR_EXPONENT = 200, /* fourth powers and their sums stay finite within */
    EXPONENTS = 2200,   /* of all doubles, from LOWEST_EXPONENT on */
    LOWEST_EXPONENT = -1100
};

/* The largest over all processes. */
static fab_status largest(const fab_comm *c, int *exponent)
{
    double count[EXPONENTS] = {0};
    if (!c || !c->sum) return FAB_OK;
    count[*exponent - LOWEST_EXPONENT] = 1;
    FAB_TRY(c->sum(c->ctx, count, EXPONENTS));
    for (int i = 0; i < EXPONENTS; i++)
        if (count[i] > 0) *exponent = LOWEST_EXPONENT + i;
    return FAB_OK;
}

/* n numbers, or a failure in all processes. */
static fab_status room(const fab_comm *c, double **p, int64_t n)
{
    const fab_status mine = fab_alloc_array((void **)p, n, sizeof **p, "distance");
    const fab_status s = fab_agree(c, mine, 0, "");
    if (mine == FAB_OK && s != FAB_OK) fab_release(*p);
    return s;
}

static const fab_comm *comm_of(const side *s)
{
    return &fab_solver_run(s->s)->comm;
}

static fab_status copies(side *a, side *b, const fab_gauss *ga, const fab_gauss *gb)
{
    FAB_TRY(fab_gauss_check(ga));
    FAB_TRY(fab_gauss_check(gb));
    FAB_TRY(fab_gauss_copy(&a->g, ga, FAB_F64));
    return fab_gauss_copy(&b->g, gb, FAB_F64);
}

static fab_status sides_init(side *a, side *b, const fab_gauss *ga, const fab_gauss *gb,
                             const fab_exec *x)
{
    const fab_comm *c = x ? x->comm : NULL;
    const int64_t most = ga->K > gb->K ? ga->K : gb->K;
    FAB_TRY(fab_agree(c, copies(a, b, ga, gb), 0, ""));
    const int ea = size_exponent(a->g), eb = size_exponent(b->g);
    int e = ea > eb ? ea : eb;
    FAB_TRY(largest(c, &e));
    if (abs(e) > FAR_EXPONENT) {
        rescale(a->g, e);
        rescale(b->g, e);
        a->exponent = b->exponent = e;
    }
    FAB_TRY(fab_solver_init_room(&a->s, a->g, x, most));
    return fab_solver_init_room(&b->s, b->g, x, most);
}

/* p, G and r = rowdot(G, G) of A, or of A^-1 when `inverse`. */
static fab_status side_matrix(side *s, int inverse)
{
    const fab_gauss *g = s->g;
    const fab_run *run = fab_solver_run(s->s);
    const int64_t DK = inverse ? g->D * g->K : 0;
    FAB_TRY(room(comm_of(s), &s->p, 2 * g->D + g->K * g->K + DK));
    s->block = s->p;
    s->r = s->p + g->D;
    s->sign = inverse ? -1 : 1;
    for (int64_t i = 0; i < g->D; i++) s->p[i] = inverse ? 1 / g->psi[i] : g->psi[i];
    memset(s->r, 0, (size_t)g->D * sizeof *s->r);
    s->G = fab_long_rows(g->F, g->D, g->K);
    if (g->K == 0) return FAB_OK;
    if (inverse) {
        double *Li = s->r + g->D; /* L'^-1 */
        const fab_long F = s->G;
        s->G = fab_long_rows(Li + g->K * g->K, g->D, g->K);
        fab_factor_invert(g->K, fab_solver_chol(s->s), Li);
        run->ops->mult(run, s->p, &F, Li, 0, &s->G);
    }
    run->ops->rowquad(run, &s->G, NULL, g->K, 0, s->r);
    return FAB_OK;
}

/* ---- dense, where sums of products cancel ------------------------------------------------------- */

#define MAY_CANCEL     1e4 /* terms this far above their sum are too much for sums of products */
#define NO_DIGITS_LEFT 1e10

static int dense_is_offered(const side *a)
{
    return a->g->D <= FAB_DENSE_MAX && !fab_solver_run(a->s)->comm.sum;
}

/* The covariance of s, or its inverse.  work: fab_solver_matrix_work */
static fab_status dense_of(const side *s, int inverse, double *S, double *work)
{
    return fab_solver_matrix(s->s, inverse != (s->g->form == FAB_FORM_PRECISION), S, work);
}

/* With Y = S_a and Z = S_b or its inverse: |Y - Z|^2, |Z|^2, tr(Y Z). */
static fab_status by_dense(const side *a, const side *b, int inverse_b, double sum[3])
{
    const int64_t D = a->g->D, wa = fab_solver_matrix_work(a->s), wb = fab_solver_matrix_work(b->s);
    double *Y;
    FAB_TRY(fab_alloc_array((void **)&Y, 2 * D * D + (wa > wb ? wa : wb), sizeof *Y, "distance"));
    double *Z = Y + D * D, *work = Z + D * D;
    fab_status s = dense_of(a, 0, Y, work);
    if (s == FAB_OK) s = dense_of(b, inverse_b, Z, work);
    memset(sum, 0, 3 * sizeof *sum);
    if (s == FAB_OK)
        for (int64_t i = 0; i < D * D; i++) {
            sum[0] += (Y[i] - Z[i]) * (Y[i] - Z[i]);
            sum[1] += Z[i] * Z[i];
            sum[2] += Y[i] * Z[i];
        }
    fab_release(Y);
    return s;
}

static fab_status refuse_noise(double terms, double result)
{
    if (terms <= NO_DIGITS_LEFT * result) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC,
                    "distance: terms of %.3g leave no digits of %.3g, and D is above %d", terms,
                    result, FAB_DENSE_MAX);
}

/* ---- covariance ------------------------------------------------------------------------------- */

static double squares(int64_t n, const double *v)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sum;
}

/* |A' B|^2 over all processes; C: room for A.k x B.k */
static fab_status cross_norm(const fab_run *run, const fab_long *A, const fab_long *B, double *C,
                             double *out)
{
    *out = 0;
    if (A->k == 0 || B->k == 0) return FAB_OK;
    run->ops->cross(run, A, NULL, B, C);
    FAB_TRY(fab_sum(run, C, A->k * B->k));
    *out = squares(A->k * B->k, C);
    return FAB_OK;
}

/* The diagonal part: sum 2 (p1-p2) dr + (p1-p2)^2 */
static fab_status diagonal_part(const side *a, const side *b, const double *dr, double *out)
{
    double sum = 0;
    for (int64_t i = 0; i < a->g->D; i++) {
        const double dp = a->p[i] - b->p[i];
        sum += dp * (2 * (dr ? a->sign * dr[i] : a->sign * a->r[i] - b->sign * b->r[i]) + dp);
    }
    FAB_TRY(fab_sum(fab_solver_run(a->s), &sum, 1));
    *out = sum;
    return FAB_OK;
}

/* 1, |S_b|^2, and the terms of both without their signs */
static fab_status by_grams(const side *a, const side *b, double *C, double *gap, double *size,
                           double *terms)
{
    const fab_run *run = fab_solver_run(a->s);
    double aa, bb, ab, diagonal, own[2] = {0};
    FAB_TRY(cross_norm(run, &a->G, &a->G, C, &aa));
    FAB_TRY(cross_norm(run, &b->G, &b->G, C, &bb));
    FAB_TRY(cross_norm(run, &a->G, &b->G, C, &ab));
    FAB_TRY(diagonal_part(a, b, NULL, &diagonal));
    for (int64_t i = 0; i < b->g->D; i++) {
        own[0] += b->p[i] * (b->p[i] + 2 * b->sign * b->r[i]);
        own[1] += a->p[i] * a->p[i] + b->p[i] * b->p[i];
    }
    FAB_TRY(fab_sum(run, own, 2));
    *gap = aa + bb - 2 * a->sign * b->sign * ab + diagonal;
    *size = bb + own[0];
    *terms = aa + bb + own[1];
    return FAB_OK;
}

/* Q = U V' from the SVD of G2'G1 (in C), K x K; work: 2 K^2 + K + fab_svd_work */
static fab_status polar(int64_t K, double *C, double *Q, double *work)
{
    double *U = work, *Vt = U + K * K, *s = Vt + K * K;
    FAB_TRY(fab_svd(K, K, C, U, s, Vt, s + K));
    fab_mm(FAB_N, FAB_N, K, K, K, 1, U, Vt, 0, Q);
    return FAB_OK;
}

/* 2, with E in place of G1 and P in place of G2 (both are copies) */
static fab_status by_difference(side *a, side *b, double *C, double *work, double *gap)
{
    const fab_run *run = fab_solver_run(a->s);
    const int64_t K = a->g->K;
    double *PP = work, *EE = PP + K * K, *EP = EE + K * K, *Q = C, sum = 0, diagonal;
    run->ops->cross(run, &b->G, NULL, &a->G, EP);
    FAB_TRY(fab_sum(run, EP, K * K));
    FAB_TRY(polar(K, EP, Q, EP + K * K));
    for (int64_t i = 0; i < K * K; i++) Q[i] = -Q[i];
    run->ops->mult(run, NULL, &b->G, Q, 1, &a->G); /* E = G1 - G2 Q */
    for (int64_t i = 0; i < K * K; i++) Q[i] = -2 * Q[i];
    run->ops->mult(run, NULL, &b->G, Q, 0, &b->G);
    run->ops->axpy(run, NULL, &a->G, 1, &b->G); /* P = E + 2 G2 Q */
    run->ops->gram(run, &b->G, NULL, PP);
    run->ops->gram(run, &a->G, NULL, EE);
    run->ops->cross(run, &a->G, NULL, &b->G, EP);
    FAB_TRY(fab_sum(run, PP, 3 * K * K));
    for (int64_t j = 0; j < K; j++)
        for (int64_t i = 0; i < K; i++)
            sum += PP[i + j * K] * EE[i + j * K] + EP[i + j * K] * EP[j + i * K];
    run->ops->rowdot(run, &a->G, &b->G, 0, a->r); /* r1 - r2 */
    FAB_TRY(diagonal_part(a, b, a->r, &diagonal));
    *gap = sum / 2 + diagonal;
    return FAB_OK;
}

#define GRAMS_ARE_SAFE 1e-6 /* relative distance above which 1 is exact enough */

static fab_status gap_and_size(side *a, side *b, double *C, double *gap, double *size)
{
    const int64_t K = a->g->K;
    double terms, sum[3];
    FAB_TRY(by_grams(a, b, C, gap, size, &terms));
    const double result = fmax(*gap, *size);
    if (terms > MAY_CANCEL * result && dense_is_offered(a)) {
        FAB_TRY(by_dense(a, b, 0, sum)); /* 3 */
        *gap = sum[0];
        *size = sum[1];
        return FAB_OK;
    }
    FAB_TRY(refuse_noise(terms, result));
    const int close = *gap < GRAMS_ARE_SAFE * GRAMS_ARE_SAFE * *size;
    if (close && a->sign == b->sign && K == b->g->K && K > 0)
        return by_difference(a, b, C, C + K * K, gap);
    return FAB_OK;
}

static fab_status covariance_distance(side *a, side *b, double *out)
{
    const int64_t K = a->g->K > b->g->K ? a->g->K : b->g->K;
    double *C, gap = 0, size = 1;
    FAB_TRY(side_matrix(a, a->g->form == FAB_FORM_PRECISION));
    FAB_TRY(side_matrix(b, b->g->form == FAB_FORM_PRECISION));
    FAB_TRY(room(comm_of(a), &C, 6 * K * K + K + (K ? fab_svd_work(K, K) : 0)));
    const fab_status s = gap_and_size(a, b, C, &gap, &size);
    fab_release(C);
    FAB_TRY(s);
    *out = gap > 0 ? sqrt(gap) / sqrt(size) : 0;
    if (!isfinite(*out) || isnan(gap))
        return FAB_FAIL(FAB_NUMERIC, "distance: the covariances differ too much");
    return FAB_OK;
}

/* Run `verb` on copies of both Gaussians made ready. */
static fab_status with_sides(fab_status (*verb)(side *, side *, double *), const fab_gauss *a,
                             const fab_gauss *b, const fab_exec *x, double *out)
{
    side sa = {0}, sb = {0};
    const int before = fab_blas_enter();
    fab_status s = sides_init(&sa, &sb, a, b, x);
    if (s == FAB_OK) s = verb(&sa, &sb, out);
    fab_blas_leave(before);
    side_free(&sa);
    side_free(&sb);
    return s;
}

fab_status fab_distance_covariance(const fab_gauss *a, const fab_gauss *b, const fab_exec *x,
                                   double *out)
{
    FAB_TRY(spread(a, b, "covariance"));
    return with_sides(covariance_distance, a, b, x, out);
}

/* ---- Kullback-Leibler ------------------------------------------------------------------------- */

/* tr(A_i^-1 A_m): the solver of A_i, the plain matrix A_m = F F' + psi.  v: D numbers of room. */
static fab_status trace_inverse_plain(side *i, side *m, double *v, double *out)
{
    const fab_long F = fab_long_rows(m->g->F, m->g->D, m->g->K);
    double low_rank, sum = 0;
    FAB_TRY(fab_solver_diag_inverse(i->s, v));
    for (int64_t d = 0; d < m->g->D; d++) sum += m->g->psi[d] * v[d];
    FAB_TRY(fab_sum(fab_solver_run(i->s), &sum, 1));
    FAB_TRY(fab_solver_inverse_trace(i->s, &F, &low_rank));
    *out = sum + low_rank;
    return FAB_OK;
}

/* tr(A_a A_b), all terms positive */
static fab_status trace_plain_plain(side *a, side *b, double *v, double *out)
{
    const fab_run *run = fab_solver_run(a->s);
    const fab_long Fa = fab_long_rows(a->g->F, a->g->D, a->g->K),
                   Fb = fab_long_rows(b->g->F, b->g->D, b->g->K);
    double *C, sum = 0, both;
    FAB_TRY(fab_solver_diag(a->s, v));
    for (int64_t d = 0; d < a->g->D; d++) sum += v[d] * b->g->psi[d];
    FAB_TRY(fab_solver_diag(b->s, v));
    for (int64_t d = 0; d < a->g->D; d++) sum += (v[d] - b->g->psi[d]) * a->g->psi[d];
    FAB_TRY(fab_sum(run, &sum, 1));
    FAB_TRY(room(comm_of(a), &C, Fa.k * Fb.k));
    const fab_status s = cross_norm(run, &Fa, &Fb, C, &both);
    fab_release(C);
    *out = sum + both;
    return s;
}

/* tr(A_a^-1 A_b^-1) = tr((diag(p) - G G') A_b^-1): the one case with a difference */
static fab_status trace_inverse_inverse(side *a, side *b, double *v, double *out)
{
    double low_rank, sum = 0, dense[3];
    FAB_TRY(side_matrix(a, 1));
    FAB_TRY(fab_solver_diag_inverse(b->s, v));
    for (int64_t d = 0; d < a->g->D; d++) sum += a->p[d] * v[d];
    FAB_TRY(fab_sum(fab_solver_run(a->s), &sum, 1));
    FAB_TRY(fab_solver_inverse_trace(b->s, &a->G, &low_rank));
    *out = sum - low_rank;
    if (sum <= MAY_CANCEL * *out) return FAB_OK;
    if (!dense_is_offered(a)) return refuse_noise(sum, *out);
    FAB_TRY(by_dense(a, b, 1, dense)); /* 3 */
    *out = dense[2];
    return FAB_OK;
}

static fab_status trace_product(side *a, side *b, double *v, double *out)
{
    const int a_plain = a->g->form == FAB_FORM_COVARIANCE,
              b_plain = b->g->form == FAB_FORM_PRECISION;
    if (a_plain && b_plain) return trace_plain_plain(a, b, v, out);
    if (a_plain) return trace_inverse_plain(b, a, v, out);
    if (b_plain) return trace_inverse_plain(a, b, v, out);
    return trace_inverse_inverse(a, b, v, out);
}

static fab_status kl_of(side *a, side *b, double *v, double *out)
{
    double trace, da, db, far, D = (double)a->g->D;
    FAB_TRY(fab_solver_mahalanobis(b->s, &(fab_rows){a->g->mu, FAB_F64, 1, a->g->D}, &far));
    FAB_TRY(fab_solver_logdet(a->s, &da));
    FAB_TRY(fab_solver_logdet(b->s, &db));
    FAB_TRY(trace_product(a, b, v, &trace));
    FAB_TRY(fab_sum(fab_solver_run(a->s), &D, 1));
    *out = 0.5 * (trace - D + far + db - da); /* 4 */
    if (*out < 0) *out = 0;                   /* rounding of tr - D at a = b */
    return FAB_OK;
}

static fab_status kl(side *a, side *b, double *out)
{
    double *v;
    FAB_TRY(room(comm_of(a), &v, a->g->D));
    const fab_status s = kl_of(a, b, v, out);
    fab_release(v);
    return s;
}

fab_status fab_distance_kl(const fab_gauss *a, const fab_gauss *b, const fab_exec *x, double *out)
{
    FAB_TRY(spread(a, b, "density"));
    return with_sides(kl, a, b, x, out);
}

/* ---- 2-Wasserstein ---------------------------------------------------------------------------- */

/* R with R R' = S, from the eigenvectors of S; work: D + fab_eig_work(D), fab_solver_matrix_work */
static fab_status square_root(const side *s, double *R, double *work)
{
    const int64_t D = s->g->D;
    FAB_TRY(dense_of(s, 0, R, work));
    FAB_TRY(fab_eig(D, R, work, work + D));
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++) R[i + j * D] *= sqrt(work[j] > 0 ? work[j] : 0);
    return FAB_OK;
}

static fab_status w2_dense(side *a, side *b, double *block, double *out)
{
    const int64_t D = a->g->D, n = D * D;
    double *Ra = block, *Rb = Ra + n, *C = Rb + n, *Q = C + n, *work = Q + n, sum = 0;
    FAB_TRY(square_root(a, Ra, work));
    FAB_TRY(square_root(b, Rb, work));
    fab_mm(FAB_T, FAB_N, D, D, D, 1, Rb, Ra, 0, C);
    FAB_TRY(polar(D, C, Q, work));
    fab_mm(FAB_N, FAB_N, D, D, D, -1, Rb, Q, 1, Ra); /* Ra - Rb Q */
    for (int64_t i = 0; i < n; i++) sum += Ra[i] * Ra[i];
    for (int64_t i = 0; i < D; i++)
        sum += (a->g->mu[i] - b->g->mu[i]) * (a->g->mu[i] - b->g->mu[i]);
    *out = ldexp(sqrt(sum), a->exponent); /* 5 */
    return FAB_OK;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static fab_status w2(side *a, side *b, double *out)
{
    const int64_t D = a->g->D, svd = 2 * D * D + D + fab_svd_work(D, D), eig = D + fab_eig_work(D);
    const int64_t matrix = most(fab_solver_matrix_work(a->s), fab_solver_matrix_work(b->s));
    double *block;
    FAB_TRY(fab_alloc_array((void **)&block, 4 * D * D + most(matrix, most(svd, eig)),
                            sizeof *block, "W2"));
    const fab_status s = w2_dense(a, b, block, out);
    fab_release(block);
    return s;
}

fab_status fab_distance_w2(const fab_gauss *a, const fab_gauss *b, const fab_exec *x, double *out)
{
    FAB_TRY(spread(a, b, "covariance"));
    FAB_TRY(fab_check_alone("W2", x));
    if (a->D > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "W2 needs D x D matrices and is offered up to D = %d, not %lld",
                        FAB_DENSE_MAX, (long long)a->D);
    return with_sides(w2, a, b, x, out);
}
