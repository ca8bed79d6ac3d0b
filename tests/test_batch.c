/* test_batch.c - ml, em, ppca and pca against dense algebra in quadruple precision.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "methods/fa/eigs.h"
#include "train/state.h"
#include "fa_case.h"
#include "fabayes/methods.h"

static const char *const methods[] = {"ml", "em", "ppca", "pca"};
enum { METHODS = 4 };

/* ---- the target ---------------------------------------------------------------------------------- */

/* V = S P: each sum has N + D terms of size at most |S| |P|, in doubles. */
static void check_target(const fab_rows *x, int64_t D)
{
    enum { WIDTH = 5 };
    fab_target t;
    real *mu = dense_new(D), *S = sample_covariance(x, NULL, mu);
    double *P = doubles(D * WIDTH), *V = doubles(D * WIDTH);
    for (int64_t i = 0; i < D * WIDTH; i++) P[i] = noise(8, i);
    assert_ok(fab_target_init(&t, "test", x, NULL, D, WIDTH, NULL));
    assert_int_equal(t.S != NULL, x->n >= D);
    fab_target_times(&t, P, WIDTH, V);
    const double tol = (double)(x->n + 4 * D) * ROUND_F64;
    real top = 0;
    for (int64_t i = 0; i < D; i++) top = r_max(top, S[i * D + i]);
    for (int64_t i = 0; i < D; i++) {
        assert_near(t.mu[i], mu[i], tol * r_sqrt(S[i * D + i]) + 2 * ROUND_F64 * r_abs(mu[i]));
        assert_near(t.diag[i], S[i * D + i], 4 * tol * top);
        for (int64_t k = 0; k < WIDTH; k++) {
            real sum = 0;
            for (int64_t l = 0; l < D; l++) sum += S[i * D + l] * (real)P[l + k * D];
            assert_near(V[i + k * D], sum, 4 * tol * top * (real)D);
        }
    }
    fab_target_free(&t);
}

static void target_is_the_sample_covariance_formed_or_not(void **state)
{
    (void)state;
    const int64_t D[] = {1, 2, 29, 40, 40, 150, 260}, N[] = {2, 7, 29, 30, 2, 60, 257};
    for (int i = 0; i < 7; i++) {
        const double *x = fa_rows(D[i], 1, N[i], 3);
        const fab_rows wide = rows_of(x, 0, N[i], D[i]);
        const fab_rows narrow = {as_floats(x, N[i] * D[i]), FAB_F32, N[i], D[i]};
        check_target(&wide, D[i]);
        check_target(&narrow, D[i]);
    }
}

/* A mean of 1e6 standard deviations costs no digits of the covariance, but those of the data. */
static void a_large_common_offset_does_not_cancel(void **state)
{
    (void)state;
    for (int64_t N = 20; N <= 2385; N += 2365) {
        double *x = fa_rows(29, 3, N, 3);
        for (int64_t i = 0; i < N * 29; i++) x[i] += 1e6;
        const fab_rows r = rows_of(x, 0, N, 29);
        check_target(&r, 29);
    }
}

static void constant_columns_have_no_variance_at_all(void **state)
{
    (void)state;
    for (int64_t N = 1100; N <= 1300; N += 200) { /* D > N, D <= N */
        double *x = doubles(N * 1200);
        fab_target t;
        for (int64_t i = 0; i < N * 1200; i++)
            x[i] = i % 1200 < 2 ? 0.1 + (double)(i % 1200) * 1e9 : noise(1, i);
        const fab_rows r = rows_of(x, 0, N, 1200);
        assert_ok(fab_target_init(&t, "test", &r, NULL, 1200, 3, NULL));
        assert_true(t.diag[0] == 0 && t.diag[1] == 0 && t.mu[0] == 0.1 && t.mu[1] == x[1]);
        assert_false(fab_target_varies(&t, 1));
        fab_target_free(&t);
    }
}

static void rows_that_are_all_the_same_are_refused(void **state)
{
    (void)state;
    double *x = doubles(7 * 5);
    for (int64_t i = 0; i < 35; i++) x[i] = 0.1 * (double)(i % 5 + 1);
    for (int m = 0; m < METHODS; m++) {
        const fab_rows r = rows_of(x, 0, 7, 5);
        const fab_gauss *q;
        fab_fit *e = fa_open(methods[m], 5, 2, "", NULL);
        assert_ok(fab_fit_update(e, &(fab_examples){.x = r}));
        assert_refused(fab_fit_gauss(e, &q), FAB_BAD_DATA, "every column is constant");
        fab_fit_free(e);
    }
}

/* ---- eigenpairs ---------------------------------------------------------------------------------- */

/* 2 D rows whose sample covariance is Q diag(lambda) Q': +- sqrt(D lambda_j) q_j. */
static double *rows_with_spectrum(int64_t D, const double *lambda)
{
    double *Q = doubles(D * D), *x = doubles(2 * D * D);
    fab_random_normal(9, FAB_PURPOSE_DATA, 0, 0, D * D, FAB_F64, Q);
    for (int64_t j = 0; j < D; j++)
        for (int round = 0; round < 2; round++) {
            double norm = 0;
            for (int64_t l = 0; l < j; l++) {
                double dot = 0;
                for (int64_t i = 0; i < D; i++) dot += Q[j * D + i] * Q[l * D + i];
                for (int64_t i = 0; i < D; i++) Q[j * D + i] -= dot * Q[l * D + i];
            }
            for (int64_t i = 0; i < D; i++) norm += Q[j * D + i] * Q[j * D + i];
            for (int64_t i = 0; i < D; i++) Q[j * D + i] /= sqrt(norm);
        }
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++) {
            x[2 * j * D + i] = sqrt((double)D * lambda[j]) * Q[j * D + i];
            x[(2 * j + 1) * D + i] = -x[2 * j * D + i];
        }
    return x;
}

/* Residuals, orthonormality and the eigenvalues themselves, when known. */
static void check_pairs(const fab_eigs *e, const double *s, const double *lambda, double tol)
{
    const int64_t D = e->t->D, K = e->K;
    double *P = doubles(D * e->t->width), *V = doubles(D * e->t->width);
    for (int64_t k = 0; k < K; k++) {
        for (int64_t i = 0; i < D; i++) P[i] = (s ? s[i] : 1) * e->V[i + k * D];
        fab_target_times(e->t, P, 1, V);
        real sum = 0;
        for (int64_t i = 0; i < D; i++) {
            const real r = (s ? s[i] : 1) * V[i] - e->lambda[k] * (real)e->V[i + k * D];
            sum += r * r;
        }
        assert_near(r_sqrt(sum), 0, tol * e->lambda[0]);
        for (int64_t l = 0; l <= k; l++) {
            real dot = 0;
            for (int64_t i = 0; i < D; i++) dot += (real)e->V[i + k * D] * e->V[i + l * D];
            assert_near(dot, k == l, 1e-12);
        }
        if (lambda) assert_near(e->lambda[k], lambda[k], 1e-12 * e->lambda[0]);
    }
}

static void eigenpairs_are_those_of_jacobi(void **state)
{
    (void)state;
    enum { D = 29 };
    const double *x = fa_rows(D, 5, 100, 3);
    const fab_rows r = rows_of(x, 0, 100, D);
    real *mu = dense_new(D), *S = sample_covariance(&r, NULL, mu), *w = dense_new(D),
         *U = dense_new(D * D);
    double s[D];
    for (int64_t i = 0; i < D; i++) s[i] = 1.2 + noise(4, i);
    for (int64_t i = 0; i < D * D; i++) S[i] *= (real)s[i / D] * s[i % D];
    dense_eig(D, S, w, U);
    for (int exact = 0; exact < 2; exact++)
        for (int64_t K = 1; K <= D; K += 7) {
            fab_target t;
            fab_eigs e;
            assert_ok(fab_target_init(&t, "test", &r, NULL, D, fab_eigs_width(D, K), NULL));
            assert_ok(fab_eigs_init(&e, &t, K, exact, 1));
            assert_ok(fab_eigs_solve(&e, s));
            for (int64_t k = 0; k < K; k++) {
                real dot = 0;
                assert_near(e.lambda[k], w[k], 100 * ROUND_F64 * w[0]);
                for (int64_t i = 0; i < D; i++) dot += U[i * D + k] * (real)e.V[i + k * D];
                assert_near(r_abs(dot), 1,
                            1e-9); /* the residual over the gaps of this spectrum, squared */
            }
            check_pairs(&e, s, NULL, 1e-9);
            fab_eigs_free(&e);
            fab_target_free(&t);
        }
}

static void check_spectrum(int64_t D, int64_t K, const double *lambda)
{
    const double *x = rows_with_spectrum(D, lambda);
    const fab_rows r = rows_of(x, 0, 2 * D, D);
    for (int exact = 0; exact < 2; exact++) {
        fab_target t;
        fab_eigs e;
        assert_ok(fab_target_init(&t, "test", &r, NULL, D, fab_eigs_width(D, K), NULL));
        assert_ok(fab_eigs_init(&e, &t, K, exact, 1));
        assert_ok(fab_eigs_solve(&e, NULL));
        if (!(e.worst <= FAB_EIGS_RESIDUAL)) fail_msg("a residual of %g is left", e.worst);
        check_pairs(&e, NULL, lambda, 1.1e-9);
        assert_ok(fab_eigs_solve(&e, NULL)); /* from where it stands */
        check_pairs(&e, NULL, lambda, 1.1e-9);
        fab_eigs_free(&e);
        fab_target_free(&t);
    }
}

static void eigenpairs_of_spectra_with_and_without_a_gap(void **state)
{
    (void)state;
    enum { D = 150, K = 6 };
    double lambda[D];
    for (int64_t i = 0; i < D; i++)
        lambda[i] = i < K ? 100 - (double)i : 1.0 / (double)(i + 1); /* a gap */
    check_spectrum(D, K, lambda);
    for (int64_t i = 0; i < D; i++) lambda[i] = 1 - (double)i / D; /* none */
    check_spectrum(D, K, lambda);
    for (int64_t i = 0; i < D; i++) lambda[i] = i < 4 ? 3 : i < 12 ? 2 : 1; /* K inside a cluster */
    check_spectrum(D, K, lambda);
    for (int64_t i = 0; i < D; i++)
        lambda[i] = i == 0 ? 1e8 : 1 - (double)i / D; /* one that outgrows them all */
    check_spectrum(D, K, lambda);
    for (int64_t i = 0; i < D; i++)
        lambda[i] = pow(10, -2 * (double)i); /* 1 .. 1e-10, then nothing */
    check_spectrum(D, K, lambda);
    for (int64_t i = 0; i < D; i++) lambda[i] = i < 3; /* fewer pairs than wanted */
    check_spectrum(D, K, lambda);
    for (int64_t i = 0; i < D; i++) lambda[i] = 1; /* all the same */
    check_spectrum(D, K, lambda);
}

/* ---- maximum likelihood -------------------------------------------------------------------------- */

/* The largest |d loglik / d log psi_i| and |d loglik / d f_ik| sqrt(S_ii), by dense algebra. */
static double gradient(const fab_gauss *q, const real *S, double psi_min)
{
    const int64_t D = q->D, K = q->K;
    const real *P = dense_inverse(D, dense_matrix(q));
    real *G = dense_mul(D, D, D, dense_mul(D, D, D, P, S), P), worst = 0;
    for (int64_t i = 0; i < D * D; i++) G[i] = (G[i] - P[i]) / 2;
    const real *GF = dense_mul(D, D, K, G, dense_F(q));
    for (int64_t i = 0; i < D; i++) {
        const real slope = G[i * D + i] * (real)q->psi[i];
        const int low = (real)q->psi[i] <= psi_min * S[i * D + i] * (real)(1 + 1e-6);
        worst =
            r_max(worst, low && slope < 0 ? 0 : r_abs(slope)); /* at the floor it may want down */
        for (int64_t k = 0; k < K; k++)
            worst = r_max(worst, 2 * r_abs(GF[i * K + k]) * r_sqrt(S[i * D + i]));
    }
    return (double)worst;
}

/* With the likelihood f known to u |f| and a curvature of at most 1 in log psi the slope cannot be made
 * smaller than sqrt(2 u |f|), about 1e-7 here; a factor of 10 for the line search. */
static void ml_ends_where_the_gradient_vanishes(void **state)
{
    (void)state;
    const int64_t D[] = {29, 29, 7, 40}, K[] = {3, 1, 2, 4}, N[] = {500, 60, 100, 4000};
    for (int i = 0; i < 4; i++) {
        const double *x = fa_rows(D[i], K[i], N[i], 5);
        const fab_rows r = rows_of(x, 0, N[i], D[i]);
        real *mu = dense_new(D[i]), *S = sample_covariance(&r, NULL, mu);
        fab_gauss *q = fa_fit("ml", K[i], "tol=0", NULL, &r, NULL);
        assert_near(gradient(q, S, 1e-6), 0, 1e-6);
        fab_gauss_free(q);
    }
}

/* psi <- diag(S) - |f_i|^2, F = psi^1/2 V (Lambda - 1)^1/2: the textbook's way. */
static real fixed_point_loglik(int64_t D, int64_t K, const real *S, int rounds)
{
    real *psi = dense_new(D), *A = dense_new(D * D), *w = dense_new(D), *V = dense_new(D * D);
    real *Sigma = dense_new(D * D);
    for (int64_t i = 0; i < D; i++) psi[i] = S[i * D + i] / 2;
    for (int round = 0; round < rounds; round++) {
        for (int64_t i = 0; i < D * D; i++) A[i] = S[i] / r_sqrt(psi[i / D] * psi[i % D]);
        dense_eig(D, A, w, V);
        for (int64_t i = 0; i < D; i++)
            for (int64_t j = 0; j < D; j++) {
                Sigma[i * D + j] = i == j ? psi[i] : 0;
                for (int64_t k = 0; k < K; k++)
                    Sigma[i * D + j] += r_sqrt(psi[i] * psi[j]) * V[i * D + k] * V[j * D + k] *
                                        r_max(w[k] - 1, 0);
            }
        for (int64_t i = 0; i < D && round < rounds - 1; i++)
            psi[i] = S[i * D + i] - (Sigma[i * D + i] - psi[i]);
    }
    return dense_loglik(D, Sigma, S);
}

static void ml_is_at_least_the_fixed_point_and_em(void **state)
{
    (void)state;
    enum { D = 11, K = 2, N = 300 };
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const double *x = fa_rows(D, K, N, seed);
        const fab_rows r = rows_of(x, 0, N, D);
        fab_report ml, em;
        real *mu = dense_new(D), *S = sample_covariance(&r, NULL, mu);
        fab_gauss_free(fa_fit("ml", K, "", NULL, &r, &ml));
        fab_gauss_free(fa_fit("em", K, "tol=1e-15", NULL, &r, &em));
        const double least = 1e-11 *
                             fabs(ml.loglik_mean); /* tol = 1e-12, and the rounding of two sums */
        assert_true(ml.loglik_mean >= (double)fixed_point_loglik(D, K, S, 200) - least);
        assert_true(ml.loglik_mean >= em.loglik_mean - least);
        assert_near(em.loglik_mean, ml.loglik_mean, 1e-8 * fabs(ml.loglik_mean));
        assert_int_equal(ml.converged, 1);
    }
}

static void ml_exact_and_randomized_agree(void **state)
{
    (void)state;
    enum { D = 60, K = 4, N = 700 };
    const double *x = fa_rows(D, K, N, 2);
    const fab_rows r = rows_of(x, 0, N, D);
    fab_report a, b;
    fab_gauss *exact = fa_fit("ml", K, "svd=exact tol=0", NULL, &r, &a);
    fab_gauss *subspace = fa_fit("ml", K, "svd=randomized tol=0", NULL, &r, &b);
    assert_near(a.loglik_mean, b.loglik_mean, 1e-13 * fabs(a.loglik_mean));
    /* f to u |f|, flat to second order: psi to sqrt(u |f|) over a curvature of at least 0.1 */
    assert_true(relative_gap(D * D, dense_matrix(subspace), dense_matrix(exact)) < 1e-6);
    fab_gauss_free(exact);
    fab_gauss_free(subspace);
}

/* The same rows twice have the same covariance, and are more than D. */
static void ml_of_fewer_rows_than_columns_is_that_of_the_formed_matrix(void **state)
{
    (void)state;
    enum { D = 40, K = 3, N = 30 };
    double *x = doubles(2 * N * D);
    memcpy(x, fa_rows(D, K, N, 2), N * D * sizeof *x);
    memcpy(x + N * D, x, N * D * sizeof *x);
    const fab_rows once = rows_of(x, 0, N, D), twice = rows_of(x, 0, 2 * N, D);
    for (int m = 0; m < METHODS; m++) {
        const char *text = m == 0 ? "tol=0" : m == 1 ? "max_iter=50" : "";
        fab_report a, b;
        fab_gauss *direct = fa_fit(methods[m], K, text, NULL, &once, &a);
        fab_gauss *formed = fa_fit(methods[m], K, text, NULL, &twice, &b);
        assert_near(a.loglik_mean, b.loglik_mean, 1e-10 * fabs(b.loglik_mean));
        assert_true(relative_gap(D * D, dense_matrix(direct), dense_matrix(formed)) < 2e-6);
        assert_int_equal(a.floored, b.floored);
        fab_gauss_free(direct);
        fab_gauss_free(formed);
    }
    fab_fit *e = fa_open("ml", D, K, "svd=exact", NULL);
    const fab_gauss *q;
    assert_ok(fab_fit_update(e, &(fab_examples){.x = once}));
    assert_refused(fab_fit_gauss(e, &q), FAB_UNSUPPORTED, "svd = exact needs at least D = 40 rows");
    fab_fit_free(e);
}

static char heard[256];

static void hear(void *ctx, const char *sentence)
{
    (void)ctx;
    snprintf(heard, sizeof heard, "%s", sentence);
}

/* Few rows of noise have several optima. */
static void the_best_of_several_starts_is_kept(void **state)
{
    (void)state;
    int apart = 0;
    for (int64_t seed = 1; seed <= 12; seed++) {
        double *x = doubles(40 * 9), best = -INFINITY;
        fab_random_normal((uint64_t)seed, FAB_PURPOSE_DATA, 7, 0, 40 * 9, FAB_F64, x);
        const fab_rows r = rows_of(x, 0, 40, 9);
        fab_report one, five;
        heard[0] = '\0';
        fab_set_log(hear, NULL);
        fab_gauss_free(fa_fit("ml", 2, "starts=5", NULL, &r, &five));
        fab_set_log(NULL, NULL);
        fab_gauss_free(fa_fit("ml", 2, "starts=1", NULL, &r, &one));
        best = fmax(best, one.loglik_mean);
        assert_true(five.loglik_mean >= best - 1e-9 * fabs(best));
        assert_true(five.iterations > one.iterations);
        if (five.loglik_mean > best + 1e-6) {
            apart++;
            assert_non_null(strstr(heard, "the better one is kept"));
        }
    }
    assert_true(apart > 0);
}

/* Two equal columns: the likelihood has no bound as their psi goes to 0. */
static void a_heywood_case_stands_at_the_floor_and_is_counted(void **state)
{
    (void)state;
    enum { D = 12, K = 3, N = 200 };
    double *x = fa_rows(D, 2, N, 4);
    for (int64_t j = 0; j < N; j++) x[j * D + 7] = x[j * D + 6];
    const fab_rows r = rows_of(x, 0, N, D);
    real *mu = dense_new(D), *S = sample_covariance(&r, NULL, mu);
    for (int m = 0; m < 2; m++) {
        fab_report d;
        fab_gauss *q = fa_fit(methods[m], K, "psi_min=1e-4", NULL, &r, &d);
        assert_int_equal(d.floored, 2);
        for (int64_t i = 6; i < 8; i++)
            assert_near(q->psi[i], 1e-4 * S[i * D + i], 1e-12 * S[i * D + i]);
        fab_gauss_free(q);
    }
}

static void ml_sees_constant_columns(void **state)
{
    (void)state;
    enum { D = 12, K = 2, N = 200 };
    double *x = fa_rows(D, K, N, 4);
    for (int64_t j = 0; j < N; j++) x[j * D] = 0.1, x[j * D + 5] = 0;
    const fab_rows r = rows_of(x, 0, N, D);
    real *mu = dense_new(D), *S = sample_covariance(&r, NULL, mu), mean = 0;
    for (int64_t i = 0; i < D; i++) mean += S[i * D + i] / D;
    for (int m = 0; m < METHODS; m++) {
        fab_report d;
        fab_gauss *q = fa_fit(methods[m], K, "", NULL, &r, &d);
        assert_int_equal(d.floored, m < 2    ? 2
                                    : m == 2 ? 0
                                             : D); /* ppca has one psi for all, pca none */
        assert_true(q->mu[0] == 0.1 && q->mu[5] == 0);
        for (int64_t i = 0; i < D && m != 2; i += 5)
            if (i < 6) assert_near(q->psi[i], 1e-6 * mean, 1e-8 * 1e-6 * mean);
        fab_gauss_free(q);
    }
}

static void ml_with_as_many_factors_as_columns_is_the_covariance(void **state)
{
    (void)state;
    const int64_t D[] = {1, 2, 9};
    for (int i = 0; i < 3; i++) {
        const double *x = fa_rows(D[i], 1, 100, 6);
        const fab_rows r = rows_of(x, 0, 100, D[i]);
        real *mu = dense_new(D[i]), *S = sample_covariance(&r, NULL, mu);
        fab_report d;
        fab_gauss *q = fa_fit("ml", D[i], "tol=0", NULL, &r, &d);
        assert_true(relative_gap(D[i] * D[i], dense_matrix(q), S) < 1e-6);
        assert_near(d.loglik_mean, dense_loglik(D[i], S, S), 1e-12 * r_abs(d.loglik_mean));
        fab_gauss_free(q);
    }
}

/* Two rows: one direction, all else at the floor or, for ppca and pca, where it must be. */
static void two_rows_are_enough(void **state)
{
    (void)state;
    const double *x = fa_rows(29, 3, 4, 1);
    for (int m = 0; m < METHODS; m++)
        for (int64_t K = 1; K <= 5; K += 2) { /* N < K too */
            const fab_rows r = rows_of(x, 0, 2, 29);
            fab_report d;
            fab_gauss *q = fa_fit(methods[m], K, "", NULL, &r, &d);
            assert_int_equal(d.n, 2);
            assert_true(isfinite(d.loglik_mean));
            if (m == 0) assert_int_equal(d.floored, 29);
            fab_gauss_free(q);
        }
}

/* ---- EM ------------------------------------------------------------------------------------------ */

static void em_never_lowers_the_likelihood(void **state)
{
    (void)state;
    enum { D = 29, K = 3, N = 100 };
    const double *x = fa_rows(D, K, N, 2);
    const fab_rows r = rows_of(x, 0, N, D);
    for (int expand = 0; expand < 2; expand++) {
        double before = -INFINITY;
        for (int steps = 1; steps <= 60; steps += 1 + steps / 10) {
            char text[64];
            fab_report d;
            snprintf(text, sizeof text, "max_iter=%d tol=0 starts=1 expand=%s", steps,
                     expand ? "true" : "false");
            fab_gauss_free(fa_fit("em", K, text, NULL, &r, &d));
            assert_true(d.loglik_mean >= before - 1e-13 * fabs(d.loglik_mean));
            assert_true(d.iterations == steps || d.converged == 1);
            before = d.loglik_mean;
        }
    }
}

/* [L] (20), and its parameter-expanded form. */
static void em_by_hand(int64_t D, int64_t K, const real *S, int expand, real *W, real *psi)
{
    real *P = dense_new(D * K);
    for (int64_t i = 0; i < D * K; i++) P[i] = W[i] / psi[i / K];
    const real *V = dense_mul(D, D, K, S, P);
    real *M = dense_mul(K, D, K, dense_transpose(D, K, W), P);
    for (int64_t k = 0; k < K; k++) M[k * K + k] += 1;
    const real *Mi = dense_inverse(K, M), *PV = dense_mul(K, D, K, dense_transpose(D, K, P), V);
    real *B = dense_mul(K, K, K, dense_mul(K, K, K, Mi, PV), Mi); /* the mean of z z' */
    for (int64_t i = 0; i < K * K; i++) B[i] += Mi[i];
    const real *VM = dense_mul(D, K, K, V, Mi),
               *plain = dense_mul(D, K, K, VM, dense_inverse(K, B));
    for (int64_t i = 0; i < D; i++) {
        psi[i] = S[i * D + i];
        for (int64_t k = 0; k < K; k++)
            psi[i] -= plain[i * K + k] * VM[i * K + k]; /* diag(S - W M^-1 V') */
    }
    const real *L = dense_chol(K, B); /* W L'^-1 in the expanded form: L^-1 (V M^-1)' */
    const real *wide = dense_transpose(K, D, dense_forward(K, D, L, dense_transpose(D, K, VM)));
    memcpy(W, expand ? wide : plain, (size_t)(D * K) * sizeof *W);
}

static void one_em_step_is_the_formula(void **state)
{
    (void)state;
    enum { D = 29, K = 3, N = 100 };
    const double *x = fa_rows(D, K, N, 2);
    const fab_rows r = rows_of(x, 0, N, D);
    real *mu = dense_new(D), *S = sample_covariance(&r, NULL, mu);
    for (int expand = 0; expand < 2; expand++)
        for (int steps = 1; steps <= 3; steps++) {
            double *z = doubles(D * K);
            real *W = dense_new(D * K), *psi = dense_new(D), *got = dense_new(D);
            char text[64];
            fab_random_normal(1, FAB_PURPOSE_START, 0, 0, D * K, FAB_F64, z);
            for (int64_t i = 0; i < D; i++) psi[i] = S[i * D + i] / 2;
            for (int64_t i = 0; i < D * K; i++)
                W[i] = z[i / K + i % K * D] * r_sqrt(psi[i / K] / K);
            for (int t = 0; t < steps; t++) em_by_hand(D, K, S, expand, W, psi);
            snprintf(text, sizeof text, "max_iter=%d starts=1 expand=%s", steps,
                     expand ? "true" : "false");
            fab_gauss *q = fa_fit("em", K, text, NULL, &r, NULL);
            for (int64_t i = 0; i < D; i++) got[i] = q->psi[i];
            const double tol = steps * (N + 10 * D) * ROUND_F64;
            const real *F = dense_F(q), *FF = dense_mul(D, K, D, F, dense_transpose(D, K, F)),
                       *WW = dense_mul(D, K, D, W, dense_transpose(D, K, W));
            if (!expand) assert_true(relative_gap(D * K, F, W) < tol);
            assert_true(relative_gap(D * D, FF, WW) < tol); /* expanded: W up to a turn */
            assert_true(relative_gap(D, got, psi) < tol);
            fab_gauss_free(q);
        }
}

/* ---- PCA ----------------------------------------------------------------------------------------- */

static void ppca_and_pca_are_their_closed_forms(void **state)
{
    (void)state;
    enum { D = 29, K = 3 };
    for (int64_t N = 20; N <= 120; N += 100) {
        const double *x = fa_rows(D, K, N, 2);
        const fab_rows r = rows_of(x, 0, N, D);
        real *mu = dense_new(D), *S = sample_covariance(&r, NULL, mu), *w = dense_new(D),
             *U = dense_new(D * D);
        real rest = 0, *Sigma = dense_new(D * D);
        dense_eig(D, S, w, U);
        for (int64_t i = K; i < D; i++) rest += w[i] / (D - K);
        for (int i = 0; i < 3; i++) {
            static const char *const text[] = {"svd=auto", "svd=randomized", "svd=exact"};
            if (i == 2 && N < D) continue;
            fab_report d;
            fab_gauss *q = fa_fit("ppca", K, text[i], NULL, &r, &d);
            for (int64_t a = 0; a < D * D; a++) {
                Sigma[a] = a / D == a % D ? rest : 0;
                for (int64_t k = 0; k < K; k++)
                    Sigma[a] += (w[k] - rest) * U[a / D * D + k] * U[a % D * D + k];
            }
            assert_true(relative_gap(D * D, dense_matrix(q), Sigma) <
                        1e-8); /* residual 1e-9 over the gap */
            assert_int_equal(d.converged, 1);
            assert_near(d.loglik_mean, dense_loglik(D, Sigma, S), 1e-12 * r_abs(d.loglik_mean));
            fab_gauss_free(q);
            q = fa_fit("pca", K, text[i], NULL, &r, &d);
            for (int64_t k = 0; k < K; k++) {
                real dot = 0, norm = 0;
                for (int64_t a = 0; a < D; a++) dot += U[a * D + k] * (real)F_at(q, a, k);
                for (int64_t a = 0; a < D; a++) norm += (real)F_at(q, a, k) * (real)F_at(q, a, k);
                assert_near(norm, w[k], 1e-12 * w[0]);
                assert_near(r_abs(dot), r_sqrt(w[k]), 1e-9 * r_sqrt(w[0]));
            }
            for (int64_t a = 0; a < D; a++)
                assert_near(q->psi[a], 1e-6 * S[a * D + a], 1e-16 * S[a * D + a]);
            assert_int_equal(d.floored, D);
            fab_gauss_free(q);
        }
    }
}

/* ---- all of them --------------------------------------------------------------------------------- */

static void the_mean_log_likelihood_is_that_of_the_rows(void **state)
{
    (void)state;
    enum { D = 29, K = 3 };
    for (int64_t N = 20; N <= 120; N += 100)
        for (int m = 0; m < METHODS; m++) {
            const double *x = fa_rows(D, K, N, 2);
            const fab_rows r = rows_of(x, 0, N, D);
            fab_report d;
            real *mu = dense_new(D), *S = sample_covariance(&r, NULL, mu);
            fab_gauss *q = fa_fit(methods[m], K, "psi_min=1e-4", NULL, &r, &d);
            /* tr(psi^-1 S) of up to D / psi_min cancels */
            assert_near(d.loglik_mean, dense_loglik(D, dense_matrix(q), S),
                        1e-9 * r_abs(d.loglik_mean));
            fab_gauss_free(q);
        }
}

/* ---- rows with holes -------------------------------------------------------------------------------------- */

/* Every row keeps at least its first column. */
static double *with_holes(const double *x, int64_t n, int64_t D)
{
    double *y = doubles(n * D);
    for (int64_t i = 0; i < n * D; i++) y[i] = i % D > 0 && noise(29, i) > 0.6 ? NAN : x[i];
    return y;
}

/* Of what is there, by dense algebra: the mean over rows of w log N(x_o; mu_o, (F F' + psi)_oo). */
static real loglik_of_what_is_there(const fab_gauss *q, int64_t n, const double *x, const double *w)
{
    const int64_t D = q->D;
    const real *S = dense_matrix(q);
    real sum = 0, total = 0;
    for (int64_t j = 0; j < n; j++) {
        real *A = dense_new(D * D), *e = dense_new(D);
        int64_t o[64], k = 0;
        for (int64_t i = 0; i < D; i++)
            if (!isnan(x[j * D + i])) o[k++] = i;
        for (int64_t a = 0; a < k; a++) {
            e[a] = (real)x[j * D + o[a]] - (real)q->mu[o[a]];
            for (int64_t b = 0; b < k; b++) A[a * k + b] = S[o[a] * D + o[b]];
        }
        const real at = (real)k * r_log((real)6.283185307179586477) + dense_logdet(k, A) +
                        dense_quad(k, dense_inverse(k, A), e);
        sum -= (w ? (real)w[j] : 1) * at / 2;
        total += w ? (real)w[j] : 1;
    }
    return sum / total;
}

static fab_gauss *em_of(const fab_rows *r, const double *w, const char *text, fab_report *d)
{
    const fab_gauss *q;
    fab_gauss *copy;
    fab_fit *f = fa_open("em", r->ld, 2, text, NULL);
    assert_ok(fab_fit_update(f, &(fab_examples){.x = *r, .weight = w}));
    assert_ok(fab_fit_gauss(f, &q));
    assert_ok(fab_gauss_copy(&copy, q, FAB_F64));
    assert_ok(fab_fit_report(f, d));
    fab_fit_free(f);
    return copy;
}

/* A step away in any coordinate lowers the likelihood but for what is left of its slope, which em leaves at the root of tol. */
static void em_of_rows_with_holes_ends_at_the_top_of_their_likelihood(void **state)
{
    (void)state;
    enum { D = 10, N = 200 };
    const double *x = with_holes(fa_rows(D, 2, N, 8), N, D);
    double *w = doubles(N);
    for (int64_t j = 0; j < N; j++) w[j] = 1.5 + noise(3, j);
    for (int weighed = 0; weighed < 2; weighed++) {
        const fab_rows r = {x, FAB_F64, N, D};
        const double *weight = weighed ? w : NULL;
        fab_report d;
        fab_gauss *q = em_of(&r, weight, "tol=1e-13 max_iter=20000 starts=1", &d);
        const real top = loglik_of_what_is_there(q, N, x, weight);
        assert_true(d.converged && d.iterations > 10);
        assert_near(d.loglik_mean, top, 1e-11);
        for (int64_t i = 0; i < D; i++)
            for (int64_t k = -2; k < 2; k++)
                for (int way = -1; way < 2; way += 2) {
                    double *at = k == -2   ? &q->mu[i]
                                 : k == -1 ? &q->psi[i]
                                           : (double *)q->F + i * 2 + k;
                    const double was = *at;
                    *at += way * 1e-3 * (k == -1 ? was : 1);
                    assert_true(loglik_of_what_is_there(q, N, x, weight) < top);
                    *at = was;
                }
        fab_gauss_free(q);
    }
}

static void em_without_holes_and_with_one_agree_in_the_limit_of_its_weight(void **state)
{
    (void)state;
    enum { D = 6, N = 80 };
    double *x = doubles((N + 1) * D), *w = doubles(N + 1);
    memcpy(x, fa_rows(D, 2, N, 7), N * D * sizeof *x);
    for (int64_t j = 0; j <= N; j++) w[j] = j < N ? 1 : 1e-12;
    for (int64_t i = 1; i < D; i++) x[N * D + i] = NAN;
    const fab_rows whole = {x, FAB_F64, N, D}, more = {x, FAB_F64, N + 1, D};
    fab_report d;
    fab_gauss *a = em_of(&whole, NULL, "tol=1e-14 max_iter=100000", &d),
              *b = em_of(&more, w, "tol=1e-14 max_iter=100000", &d);
    assert_true(relative_gap(D * D, dense_matrix(b), dense_matrix(a)) < 1e-5);
    fab_gauss_free(a);
    fab_gauss_free(b);
}

/* A row of next to no weight has a hole: the fit of the filled table is the answer already. */
static void em_of_rows_with_holes_begins_where_the_filled_table_ends(void **state)
{
    (void)state;
    enum { D = 6, N = 80 };
    double *x = fa_rows(D, 2, N + 1, 7), *w = doubles(N + 1);
    for (int64_t j = 0; j <= N; j++) w[j] = j < N ? 1 : 1e-12;
    const fab_rows whole = {x, FAB_F64, N, D}, more = {x, FAB_F64, N + 1, D};
    fab_report filled, d;
    fab_gauss *a = em_of(&whole, NULL, "tol=1e-9 max_iter=20000", &filled);
    x[N * D + 4] = NAN;
    fab_gauss *b = em_of(&more, w, "tol=1e-9 max_iter=20000", &d);
    assert_true(filled.converged && d.converged);
    assert_true(d.iterations <=
                filled.iterations + 3); /* of the same seed, and steps that find nothing */
    fab_gauss_free(a);
    fab_gauss_free(b);
}

static void a_column_of_holes_is_refused(void **state)
{
    (void)state;
    double x[] = {1, NAN, 2, 2, NAN, 4, 5, NAN, 1, 2, NAN, 3};
    const fab_rows r = {x, FAB_F64, 4, 3};
    const fab_gauss *q;
    fab_fit *f = fa_open("em", 3, 1, "", NULL);
    fa_feed(f, &r);
    assert_refused(fab_fit_gauss(f, &q), FAB_BAD_DATA, "column 1 (from 0) has no value at all");
    fab_fit_free(f);
}

static void f32_rows_and_f32_factors(void **state)
{
    (void)state;
    enum { D = 29, K = 3, N = 120 };
    double *x = fa_rows(D, K, N, 2);
    const float *y = as_floats(x, N * D);
    for (int64_t i = 0; i < N * D; i++) x[i] = (double)y[i];
    const fab_rows wide = rows_of(x, 0, N, D), narrow = {y, FAB_F32, N, D};
    const fab_exec f32 = {.ops = fab_ops_find("cpu", FAB_F32)};
    for (int m = 0; m < METHODS; m++) {
        fab_gauss *a = fa_fit(methods[m], K, "", NULL, &wide, NULL);
        fab_gauss *b = fa_fit(methods[m], K, "", NULL, &narrow, NULL);
        fab_gauss *c = fa_fit(methods[m], K, "", &f32, &narrow, NULL);
        assert_same_bits(a, b);
        assert_int_equal(c->type, FAB_F32);
        assert_memory_equal(c->psi, a->psi, D * 8);
        for (int64_t i = 0; i < D * K; i++)
            assert_true(((float *)c->F)[i] == (float)((double *)a->F)[i]);
        fab_gauss_free(a);
        fab_gauss_free(b);
        fab_gauss_free(c);
    }
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    enum { D = 301, K = 4 };
    for (int64_t N = 150; N <= 450; N += 300) {
        const double *x = fa_rows(D, K, N, 2);
        const fab_rows r = rows_of(x, 0, N, D);
        for (int m = 0; m < METHODS; m++) {
            const char *text = m < 2 ? "max_iter=20" : "";
            const fab_exec one = {.threads = 1};
            fab_gauss *q = fa_fit(methods[m], K, text, &one, &r, NULL);
            for (int64_t threads = 2; threads <= 4; threads += 2) {
                const fab_exec more = {.threads = threads};
                fab_gauss *p = fa_fit(methods[m], K, text, &more, &r, NULL);
                assert_same_bits(p, q);
                fab_gauss_free(p);
            }
            fab_gauss_free(q);
        }
    }
}

/* The fit is that of the unscaled rows, scaled: a power of two changes no bit but the exponent's. */
static void extreme_scales_change_nothing_but_the_scale(void **state)
{
    (void)state;
    enum { D = 12, K = 2, N = 60 };
    const double *x = fa_rows(D, K, N, 2);
    const double scale[] = {0x1p-498, 0x1p498, 0x1p-50, 0x1p50}; /* 1e-150, 1e150; 1e-15, 1e15 */
    const fab_exec f32 = {.ops = fab_ops_find("cpu", FAB_F32)};
    for (int64_t n = 8; n <= N; n += N - 8) /* fewer rows than columns, more */
        for (int m = 0; m < METHODS; m++)
            for (int i = 0; i < 4; i++) {
                double *y = doubles(n * D);
                for (int64_t j = 0; j < n * D; j++) y[j] = x[j] * scale[i];
                const fab_rows r = rows_of(x, 0, n, D), s = rows_of(y, 0, n, D);
                const fab_exec *exec = i < 2 ? NULL : &f32;
                fab_report a, b;
                fab_gauss *p = fa_fit(methods[m], K, "", exec, &r, &a),
                          *q = fa_fit(methods[m], K, "", exec, &s, &b);
                assert_near(b.loglik_mean + D * log(scale[i]), a.loglik_mean,
                            1e-8 * fabs(a.loglik_mean));
                for (int64_t d = 0; d < D; d++)
                    assert_near(q->psi[d] / scale[i] / scale[i], p->psi[d], 2e-5 * p->psi[d]);
                fab_gauss_free(p);
                fab_gauss_free(q);
            }
}

static void defaults_are_those_of_the_table(void **state)
{
    (void)state;
    const fab_ml_settings ml = fab_ml_defaults(2);
    const fab_em_settings em = fab_em_defaults(2);
    const fab_ppca_settings ppca = fab_ppca_defaults(2);
    const fab_ppca_settings pca = fab_pca_defaults(2);
    const void *const given[] = {&ml, &em, &ppca, &pca};
    for (int m = 0; m < METHODS; m++) {
        const fab_method *method = fab_method_find(methods[m]);
        const any_settings s = settings_of(methods[m], 2, "");
        fab_fit *e;
        assert_memory_equal(given[m], &s, method->fields->size);
        assert_ok(fab_fit_create(&e, fab_method_name(method), given[m], method->fields->size,
                                 &(fab_input){.vectors = 9}, NULL));
        assert_ptr_equal(fab_fit_method(e), method);
        fab_fit_free(e);
    }
}

static void a_table_comes_in_one_update(void **state)
{
    (void)state;
    const double *x = fa_rows(5, 1, 9, 2);
    const fab_rows r = rows_of(x, 0, 9, 5), one = rows_of(x, 0, 1, 5);
    for (int m = 0; m < METHODS; m++) {
        const fab_gauss *q;
        fab_fit *e = fa_open(methods[m], 5, 1, "", NULL);
        assert_refused(fab_fit_gauss(e, &q), FAB_BAD_DATA, "0 rows seen, expected at least 2");
        assert_ok(fab_fit_update(e, &(fab_examples){.x = r}));
        assert_refused(fab_fit_update(e, &(fab_examples){.x = r}), FAB_BAD_ARGUMENT,
                       "its whole table in one update");
        fa_result(e);
        fab_fit_free(e);
        e = fa_open(methods[m], 5, 1, "", NULL);
        assert_ok(fab_fit_update(e, &(fab_examples){.x = one}));
        assert_refused(fab_fit_gauss(e, &q), FAB_BAD_DATA, "1 rows seen");
        fab_fit_free(e);
    }
}

static int stop_at_three(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)total, (void)ctx;
    return done == 3;
}

static void a_fit_that_is_stopped_says_so(void **state)
{
    (void)state;
    const double *x = fa_rows(9, 2, 50, 2);
    const fab_rows r = rows_of(x, 0, 50, 9);
    for (int m = 0; m < 2; m++) {
        const fab_gauss *q;
        fab_fit *e = fa_open(methods[m], 9, 2, "", NULL);
        assert_ok(fab_fit_update(e, &(fab_examples){.x = r}));
        fab_set_progress(stop_at_three, NULL);
        assert_int_equal(fab_fit_gauss(e, &q), FAB_STOPPED);
        fab_set_progress(NULL, NULL);
        fa_result(e); /* and it can be asked again */
        fab_fit_free(e);
    }
}

static const char *method_now;
static int64_t rows_now;

static fab_status fit_once(void)
{
    static double x[20 * 9];
    const any_settings s = settings_of(method_now, 2, "");
    const fab_rows r = rows_of(x, 0, rows_now, 9);
    const fab_gauss *q;
    fab_report d;
    fab_fit *e;
    for (int64_t i = 0; i < 20 * 9; i++) x[i] = noise(2, i);
    const fab_status status = fab_fit_create(&e, method_now, &s,
                                             fab_method_find(method_now)->fields->size,
                                             &(fab_input){.vectors = 9}, NULL);
    if (status != FAB_OK) {
        assert_null(e);
        return status;
    }
    fab_status done = fab_fit_update(e, &(fab_examples){.x = r});
    if (done == FAB_OK) done = fab_fit_gauss(e, &q);
    if (done == FAB_OK) done = fab_fit_report(e, &d);
    fab_fit_free(e);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++)
        for (rows_now = 5; rows_now <= 20; rows_now += 15) {
            method_now = methods[m];
            assert_true(fail_every_allocation(fit_once) >= 5);
        }
}

static size_t held_now, held_most;

static void *weigh(size_t bytes)
{
    size_t *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    *p = bytes;
    held_now += bytes;
    held_most = held_now > held_most ? held_now : held_most;
    return p + 8;
}

static void unweigh(void *p)
{
    held_now -= ((size_t *)p)[-8];
    free((size_t *)p - 8);
}

/* Within a tenth above what is held at most; the optimiser's own memory is not ours to see. */
static void bytes_is_what_a_fit_takes(void **state)
{
    (void)state;
    enum { D = 200, K = 5 };
    for (int m = 0; m < METHODS; m++)
        for (int64_t N = 100; N <= 1100; N += 1000)
            for (int exact = 0; exact < 2; exact++) {
                if (exact && (m == 1 || N < D)) continue;
                const char *text = m == 1 ? "max_iter=2" : exact ? "svd=exact" : "svd=randomized";
                const double *x = fa_rows(D, K, N, 2);
                const fab_rows r = rows_of(x, 0, N, D);
                const any_settings s = settings_of(methods[m], K, text);
                const double said =
                    fab_method_find(methods[m])->bytes(&s, &(fab_input){.vectors = D}, N, NULL);
                const double unseen = m == 0 ? 8.0 * D * 52 : 0;
                held_most = held_now = 0;
                fab_set_allocator(weigh, unweigh);
                fab_fit *e = fa_open(methods[m], D, K, text, NULL);
                fa_feed(e, &r);
                fa_result(e);
                fab_fit_free(e);
                fab_set_allocator(NULL, NULL);
                assert_true((double)held_most <= said);
                assert_true(said - unseen <= 1.1 * (double)held_most);
            }
}

/* ---- help for the streams ------------------------------------------------------------------------ */

static void state_loglik_is_exact_at_the_maximum(void **state)
{
    (void)state;
    enum { D = 29, K = 3, N = 300 };
    const double *x = fa_rows(D, K, N, 2);
    const fab_rows r = rows_of(x, 0, N, D);
    real *mu = dense_new(D), *S = sample_covariance(&r, NULL, mu);
    double d2[D], loglik;
    fab_report d;
    fab_gauss *q = fa_fit("ml", K, "tol=0", NULL, &r, &d);
    for (int64_t i = 0; i < D; i++) d2[i] = (double)S[i * D + i];
    assert_ok(fab_state_loglik(q, d2, NULL, &loglik));
    assert_near(loglik, d.loglik_mean, D * 1e-7); /* D slopes that vanish to 1e-7 */
    q->psi[3] *= 1.7;                             /* anywhere: by its definition */
    real *T = dense_matrix(q);
    for (int64_t i = 0; i < D; i++) T[i * D + i] = d2[i];
    assert_ok(fab_state_loglik(q, d2, NULL, &loglik));
    assert_near(loglik, dense_loglik(D, dense_matrix(q), T), 1e-12 * fabs(loglik));
    fab_gauss_free(q);
}

static void state_floor_takes_a_coordinate_without_variance_for_constant(void **state)
{
    (void)state;
    fab_gauss *q;
    const double d2[] = {4, 1e-40, 8, 0}; /* mean 3 */
    assert_ok(fab_gauss_create(&q, FAB_FORM_COVARIANCE, FAB_F64, 4, 1));
    q->mu[1] = 0.1;
    q->psi[0] = 0.05, q->psi[1] = 1e-50, q->psi[2] = 2, q->psi[3] = 0.01;
    int64_t floored;
    assert_ok(fab_state_floor(q, d2, 0.1, &(fab_run){0}, &floored));
    assert_int_equal(floored, 3);
    assert_true(q->psi[0] == 0.1 * 4 && q->psi[2] == 2);
    assert_near(q->psi[1], 1e-41, 1e-56); /* small beside the mean, and not constant */
    assert_near(q->psi[3], 0.3, 1e-15);
    fab_gauss_free(q);
}

/* Two neighbouring numbers near 1e8: a variance far below rounding beside the square of the mean, and one all the same. */
static void a_column_that_hardly_varies_keeps_its_variance(void **state)
{
    (void)state;
    const char *const streams[] = {"online-em", "stochastic-em"};
    enum { C = 7, N = 2000 };
    double *x = fa_rows(C, 2, N, 3);
    for (int64_t j = 0; j < N; j++)
        x[j * C + 3] = 0x1p26 + (j % 2 ? 0x1p-26 : 0); /* variance 2^-54 */
    const fab_rows r = rows_of(x, 0, N, C);
    for (int i = 0; i < 2; i++) {
        fab_gauss *q = fa_fit(streams[i], 2, "start=variance", NULL, &r, NULL);
        if (!(q->psi[3] < 0x1p-50)) fail_msg("%s: psi %g", streams[i], q->psi[3]);
        fab_gauss_free(q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(target_is_the_sample_covariance_formed_or_not),
        TEST(a_large_common_offset_does_not_cancel),
        TEST(constant_columns_have_no_variance_at_all),
        TEST(rows_that_are_all_the_same_are_refused),
        TEST(eigenpairs_are_those_of_jacobi),
        TEST(eigenpairs_of_spectra_with_and_without_a_gap),
        TEST(ml_ends_where_the_gradient_vanishes),
        TEST(ml_is_at_least_the_fixed_point_and_em),
        TEST(ml_exact_and_randomized_agree),
        TEST(ml_of_fewer_rows_than_columns_is_that_of_the_formed_matrix),
        TEST(the_best_of_several_starts_is_kept),
        TEST(a_heywood_case_stands_at_the_floor_and_is_counted),
        TEST(ml_sees_constant_columns),
        TEST(ml_with_as_many_factors_as_columns_is_the_covariance),
        TEST(two_rows_are_enough),
        TEST(em_never_lowers_the_likelihood),
        TEST(one_em_step_is_the_formula),
        TEST(ppca_and_pca_are_their_closed_forms),
        TEST(the_mean_log_likelihood_is_that_of_the_rows),
        TEST(em_of_rows_with_holes_ends_at_the_top_of_their_likelihood),
        TEST(em_without_holes_and_with_one_agree_in_the_limit_of_its_weight),
        TEST(em_of_rows_with_holes_begins_where_the_filled_table_ends),
        TEST(a_column_of_holes_is_refused),
        TEST(f32_rows_and_f32_factors),
        TEST(any_number_of_threads_gives_the_same_bytes),
        TEST(extreme_scales_change_nothing_but_the_scale),
        TEST(defaults_are_those_of_the_table),
        TEST(a_table_comes_in_one_update),
        TEST(a_fit_that_is_stopped_says_so),
        TEST(every_failed_allocation_is_reported),
        TEST(bytes_is_what_a_fit_takes),
        TEST(state_loglik_is_exact_at_the_maximum),
        TEST(state_floor_takes_a_coordinate_without_variance_for_constant),
        TEST(a_column_that_hardly_varies_keeps_its_variance),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
