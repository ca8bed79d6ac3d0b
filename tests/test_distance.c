/* test_distance.c - distances between two Gaussians against dense algebra in quadruple precision.
 *
 * Tolerances.  With S = diag(p) + s G G' (covariance form: p = psi, G = F; precision form: p = 1/psi,
 * G = psi^-1 F L'^-1), u the unit roundoff, kappa the condition of the K x K matrices and
 * c = 8 (D + Ka + Kb + 4) kappa u:
 *   - the sum of Grams is right to c T, T the sum of its terms without their signs, so the distance is
 *     right to c T / (2 distance |Sb|^2); the second formula to c sqrt(T) / |Sb|
 *   - KL is right to c times the sum of its terms without their signs
 *   - an error E in S moves W2 by at most |E| / sqrt(least eigenvalue), |E| <= c T^1/2
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/gauss.h"

enum { D = 29 };

typedef struct both {
    const fab_gauss *a, *b;
    real *Sa, *Sb, *Pa, *Pb, *d; /* d = mu_a - mu_b */
    real c, T;
} both;

/* The terms of 1 without their signs: |p|^2 + |G'G|^2 for one side. */
static real size_of_terms(const fab_gauss *g)
{
    const real *S = dense_covariance(g);
    real sum = 0, low = 0;
    for (int64_t i = 0; i < g->D; i++) {
        const real p = g->form == FAB_FORM_COVARIANCE ? g->psi[i] : 1 / (real)g->psi[i];
        sum += p * p;
        for (int64_t j = 0; j < g->D; j++) {
            const real l = S[i * g->D + j] - (i == j ? p : 0);
            low += l * l;
        }
    }
    return sum + low;
}

static both ask(const fab_gauss *a, const fab_gauss *b)
{
    both o = {.a = a, .b = b, .Sa = dense_covariance(a), .Sb = dense_covariance(b)};
    o.Pa = dense_precision(a);
    o.Pb = dense_precision(b);
    o.d = dense_new(a->D);
    for (int64_t i = 0; i < a->D; i++) o.d[i] = (real)a->mu[i] - b->mu[i];
    o.c = 8 * (real)(a->D + a->K + b->K + 4) * ROUND_F64 * r_max(dense_kappa(a), dense_kappa(b));
    o.T = 4 * (size_of_terms(a) + size_of_terms(b));
    return o;
}

static real least_eigenvalue(int64_t n, const real *S)
{
    real *w = dense_new(n), *V = dense_new(n * n);
    dense_eig(n, S, w, V);
    return w[n - 1];
}

/* ---- the three against the oracle -------------------------------------------------------------- */

static void check_covariance(const both *o, const fab_exec *x)
{
    const int64_t n = o->a->D;
    const real size = dense_norm(n * n, o->Sb),
               want = dense_norm(n * n, dense_minus(n * n, o->Sa, o->Sb)) / size;
    const real e = o->c * o->T / (size * size), floor = r_sqrt(e);
    double out;
    assert_ok(fab_distance_covariance(o->a, o->b, x, &out));
    assert_near(out, want, want > floor ? e / want : 2 * floor);
}

static real kl_of(const both *o)
{
    const int64_t n = o->a->D;
    return (dense_trace_mul(n, o->Pb, o->Sa) - (real)n + dense_quad(n, o->Pb, o->d) +
            dense_logdet(n, o->Sb) - dense_logdet(n, o->Sa)) /
           2;
}

static void check_kl(const both *o, const fab_exec *x)
{
    const int64_t n = o->a->D;
    const real want = kl_of(o);
    real terms = dense_trace_mul(n, o->Pb, o->Sa) + (real)n + dense_quad(n, o->Pb, o->d);
    for (int64_t i = 0; i < n; i++) terms += fabs(log(o->a->psi[i])) + fabs(log(o->b->psi[i]));
    if (o->a->form == FAB_FORM_PRECISION &&
        o->b->form == FAB_FORM_COVARIANCE) /* the one trace with a difference */
        for (int64_t i = 0; i < n; i++) terms += o->Pb[i * n + i] / o->a->psi[i];
    double out;
    assert_ok(fab_distance_kl(o->a, o->b, x, &out));
    assert_near(out, want, o->c * terms);
}

static real w2_of(const both *o)
{
    const int64_t n = o->a->D;
    const real *R = dense_root(n, o->Sb);
    const real *C = dense_root(n, dense_mul(n, n, n, R, dense_mul(n, n, n, o->Sa, R)));
    real sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += o->d[i] * o->d[i] + o->Sa[i * n + i] + o->Sb[i * n + i] - 2 * C[i * n + i];
    return r_sqrt(sum);
}

static void check_w2(const both *o, const fab_exec *x)
{
    const int64_t n = o->a->D;
    const real la = least_eigenvalue(n, o->Sa), lb = least_eigenvalue(n, o->Sb),
               least = la < lb ? la : lb;
    double out;
    assert_ok(fab_distance_w2(o->a, o->b, x, &out));
    assert_near(out, w2_of(o), o->c * r_sqrt(o->T / least));
}

static void check_all(const fab_gauss *a, const fab_gauss *b, const fab_exec *x)
{
    const both o = ask(a, b), back = ask(b, a);
    check_covariance(&o, x);
    check_covariance(&back, x);
    check_kl(&o, x);
    check_kl(&back, x);
    check_w2(&o, x);
    dense_release(NULL);
}

static void distances_agree_with_dense_algebra(void **state)
{
    (void)state;
    const int64_t rank[][2] = {{3, 3}, {0, 3}, {5, 1}, {29, 3}, {0, 0}, {2, 31}};
    for (int pair = 0; pair < 4; pair++)
        for (int i = 0; i < 6; i++) {
            const fab_dtype type = i % 2 ? FAB_F32 : FAB_F64;
            fab_gauss *a = some_gauss((fab_form)(pair / 2), type, D, rank[i][0], 40, 1);
            fab_gauss *b = some_gauss((fab_form)(pair % 2), FAB_F64, D, rank[i][1], 50, 1);
            const fab_exec ref = {.ops = fab_ops_find("ref", FAB_F64), .threads = 1};
            check_all(a, b, i == 2 ? &ref : NULL);
            fab_gauss_free(a);
            fab_gauss_free(b);
        }
}

static void one_dimension_is_enough(void **state)
{
    (void)state;
    for (int pair = 0; pair < 4; pair++) {
        fab_gauss *a = some_gauss((fab_form)(pair / 2), FAB_F64, 1, 1, 60, 1);
        fab_gauss *b = some_gauss((fab_form)(pair % 2), FAB_F64, 1, 2, 61, 1);
        check_all(a, b, NULL);
        fab_gauss_free(a);
        fab_gauss_free(b);
    }
}

static void extreme_scales_agree_too(void **state)
{
    (void)state;
    const double scale[] = {1e-150, 1e150};
    for (int pair = 0; pair < 4; pair++)
        for (int i = 0; i < 2; i++) {
            fab_gauss *a = some_gauss((fab_form)(pair / 2), FAB_F64, D, 3, 62, scale[i]);
            fab_gauss *b = some_gauss((fab_form)(pair % 2), FAB_F64, D, 4, 63, scale[i]);
            check_all(a, b, NULL);
            fab_gauss_free(a);
            fab_gauss_free(b);
        }
}

/* A posterior in precision form whose factors cover everything: 1/psi is far above the covariance. */
static void a_small_prior_precision_does_not_drown_the_posterior(void **state)
{
    (void)state;
    const double alpha[] = {1e-4, 1e-8, 1e-12};
    for (int i = 0; i < 3; i++)
        for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++) {
            fab_gauss *a = some_gauss(FAB_FORM_PRECISION, FAB_F64, D, D, 64, 1);
            fab_gauss *b = some_gauss((fab_form)form, FAB_F64, D, 3, 65, 1);
            for (int64_t d = 0; d < D; d++) {
                a->psi[d] = alpha[i];
                F_put(a, d, d, F_at(a, d, d) + 9);
            }
            const both o = ask(a, b);
            double kl, gap, back;
            const real size = dense_norm(D * D, o.Sb),
                       far = dense_norm(D * D, dense_minus(D * D, o.Sa, o.Sb));
            assert_ok(fab_distance_kl(a, b, NULL, &kl));
            assert_ok(fab_distance_covariance(a, b, NULL, &gap));
            assert_ok(fab_distance_covariance(b, a, NULL, &back));
            assert_near(kl, kl_of(&o), 1e-9 * kl_of(&o));
            assert_near(gap, far / size, 1e-9);
            assert_near(back, far / dense_norm(D * D, o.Sa), 1e-9 * far / dense_norm(D * D, o.Sa));
            fab_gauss_free(a);
            fab_gauss_free(b);
        }
}

/* ---- close together ---------------------------------------------------------------------------- */

/* b, and a whose psi and F differ from b's by a relative `delta`. */
static fab_gauss *moved(const fab_gauss *b, double delta, int psi, int F)
{
    fab_gauss *a;
    assert_ok(fab_gauss_copy(&a, b, b->type));
    for (int64_t d = 0; d < b->D; d++) {
        if (psi) a->psi[d] *= 1 + delta * noise(70, d);
        for (int64_t k = 0; k < b->K && F; k++)
            F_put(a, d, k, F_at(b, d, k) * (1 + delta * noise(71, d * b->K + k)));
    }
    return a;
}

static void tiny_covariance_distances_keep_their_digits(void **state)
{
    (void)state;
    const double delta[] = {1e-9, 1e-8, 1e-7, 1e-11};
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int what = 1; what < 4; what++)
            for (int i = 0; i < 4; i++) {
                fab_gauss *b = some_gauss((fab_form)form, FAB_F64, D, 3, 72, 1);
                fab_gauss *a = moved(b, delta[i], what & 1, what & 2);
                const both o = ask(a, b);
                const real size = dense_norm(D * D, o.Sb);
                const real want = dense_norm(D * D, dense_minus(D * D, o.Sa, o.Sb)) / size;
                double out;
                assert_ok(fab_distance_covariance(a, b, NULL, &out));
                assert_near(out, want, o.c * r_sqrt(o.T) / size);
                assert_true(o.c * r_sqrt(o.T) / size < 1e-2 * want || delta[i] < 1e-10);
                fab_gauss_free(a);
                fab_gauss_free(b);
            }
}

/* The same matrix from other factors: F turned by an orthogonal matrix. */
static void a_turned_factor_is_at_distance_0(void **state)
{
    (void)state;
    fab_gauss *b = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 2, 73, 1), *a;
    assert_ok(fab_gauss_copy(&a, b, FAB_F64));
    for (int64_t d = 0; d < D; d++) {
        F_put(a, d, 0, 0.6 * F_at(b, d, 0) + 0.8 * F_at(b, d, 1));
        F_put(a, d, 1, 0.8 * F_at(b, d, 0) - 0.6 * F_at(b, d, 1));
    }
    const both o = ask(a, b);
    double out;
    assert_ok(fab_distance_covariance(a, b, NULL, &out));
    assert_near(out, 0, 2 * o.c * r_sqrt(o.T) / dense_norm(D * D, o.Sb));
    fab_gauss_free(a);
    fab_gauss_free(b);
}

static void nothing_is_at_a_distance_from_itself(void **state)
{
    (void)state;
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int64_t K = 0; K <= 29; K += 29) {
            fab_gauss *g = some_gauss((fab_form)form, FAB_F32, D, K, 74, 1);
            const both o = ask(g, g);
            double mean, gap, kl, w2;
            assert_ok(fab_distance_mean(g, g, &mean));
            assert_ok(fab_distance_covariance(g, g, NULL, &gap));
            assert_ok(fab_distance_kl(g, g, NULL, &kl));
            assert_ok(fab_distance_w2(g, g, NULL, &w2));
            assert_near(mean, 0, 0);
            assert_near(gap, 0, o.c * r_sqrt(o.T) / dense_norm(D * D, o.Sb));
            assert_true(kl >= 0 && kl < (double)(o.c * 4 * D));
            assert_near(w2, 0, o.c * r_sqrt(o.T / least_eigenvalue(D, o.Sa)));
            fab_gauss_free(g);
        }
}

static void tiny_w2_distances_keep_their_digits(void **state)
{
    (void)state;
    const double scale[] = {1, 1e-150, 1e150};
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_PRECISION; form++)
        for (int i = 0; i < 3; i++) {
            fab_gauss *b = some_gauss((fab_form)form, FAB_F64, D, 3, 75, scale[i]);
            fab_gauss *a = moved(b, 1e-9, 1, 1);
            const both o = ask(a, b);
            const real want = w2_of(&o), tol = o.c * r_sqrt(o.T / least_eigenvalue(D, o.Sb));
            double out;
            assert_ok(fab_distance_w2(a, b, NULL, &out));
            assert_near(out, want, tol);
            assert_true(tol < 0.05 * want);
            fab_gauss_free(a);
            fab_gauss_free(b);
        }
}

/* Diagonal covariances commute: W2^2 = |d|^2 + sum (sqrt pa - sqrt pb)^2. */
static void w2_of_diagonals_is_known(void **state)
{
    (void)state;
    fab_gauss *a = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 0, 76, 1);
    fab_gauss *b = some_gauss(FAB_FORM_PRECISION, FAB_F64, D, 0, 77, 1);
    real sum = 0;
    for (int64_t i = 0; i < D; i++) {
        const real d = (real)a->mu[i] - b->mu[i], r = r_sqrt(a->psi[i]) - 1 / r_sqrt(b->psi[i]);
        sum += d * d + r * r;
    }
    double out;
    assert_ok(fab_distance_w2(a, b, NULL, &out));
    assert_near(out, r_sqrt(sum), 8 * D * ROUND_F64 * r_sqrt(sum));
    fab_gauss_free(a);
    fab_gauss_free(b);
}

static void the_mean_distance_is_relative_to_the_reference(void **state)
{
    (void)state;
    const double scale[] = {1, 1e-200, 1e200};
    for (int i = 0; i < 3; i++) {
        fab_gauss *a = some_gauss(FAB_FORM_POINT, FAB_F64, 2, 0, 78, 1),
                  *b = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 2, 1, 79, 1);
        memcpy(a->mu, (double[]){7 * scale[i], 0}, 2 * sizeof(double));
        memcpy(b->mu, (double[]){4 * scale[i], 4 * scale[i]}, 2 * sizeof(double));
        double out;
        assert_ok(fab_distance_mean(a, b, &out));
        assert_near(out, 5 / r_sqrt(32), 8 * ROUND_F64);
        assert_ok(fab_distance_mean(b, a, &out));
        assert_near(out, (real)5 / 7, 8 * ROUND_F64);
        fab_gauss_free(a);
        fab_gauss_free(b);
    }
}

static void what_has_no_distance_is_refused(void **state)
{
    (void)state;
    double out;
    fab_gauss *a = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 3, 80, 1),
              *b = some_gauss(FAB_FORM_POINT, FAB_F64, D, 0, 81, 1);
    fab_gauss *c = some_gauss(FAB_FORM_PRECISION, FAB_F64, D + 1, 3, 82, 1), *big;
    assert_refused(fab_distance_covariance(a, b, NULL, &out), FAB_UNSUPPORTED,
                   "a point has no covariance");
    assert_refused(fab_distance_kl(b, a, NULL, &out), FAB_UNSUPPORTED, "a point has no density");
    assert_refused(fab_distance_w2(a, b, NULL, &out), FAB_UNSUPPORTED, "a point has no covariance");
    assert_refused(fab_distance_mean(a, c, &out), FAB_BAD_ARGUMENT, "D = 29 and D = 30 differ");
    assert_refused(fab_distance_covariance(a, c, NULL, &out), FAB_BAD_ARGUMENT,
                   "D = 29 and D = 30 differ");
    assert_refused(fab_distance_kl(a, c, NULL, &out), FAB_BAD_ARGUMENT, "D = 29 and D = 30 differ");
    assert_refused(fab_distance_w2(a, c, NULL, &out), FAB_BAD_ARGUMENT, "D = 29 and D = 30 differ");
    memset(b->mu, 0, D * sizeof(double));
    assert_refused(fab_distance_mean(a, b, &out), FAB_UNSUPPORTED, "the reference is 0");
    a->psi[3] = 0;
    assert_refused(fab_distance_covariance(a, a, NULL, &out), FAB_BAD_DATA, "psi[3] = 0");
    assert_ok(fab_gauss_create(&big, FAB_FORM_COVARIANCE, FAB_F64, FAB_DENSE_MAX + 1, 1));
    assert_refused(fab_distance_w2(big, big, NULL, &out), FAB_UNSUPPORTED,
                   "up to D = 2000, not 2001");
    assert_ok(fab_distance_kl(big, big, NULL, &out)); /* needs no D x D matrix */
    fab_gauss_free(a);
    fab_gauss_free(b);
    fab_gauss_free(c);
    fab_gauss_free(big);
}

static void the_number_of_threads_changes_no_byte(void **state)
{
    (void)state;
    for (int pair = 0; pair < 4; pair++) {
        fab_gauss *a = some_gauss((fab_form)(pair / 2), FAB_F64, 20011, 5, 83, 1);
        fab_gauss *b = some_gauss((fab_form)(pair % 2), FAB_F64, 20011, 9, 84, 1);
        double first[2] = {0}, out[2];
        for (int64_t threads = 1; threads <= 4; threads *= 2) {
            const fab_exec x = {.threads = threads};
            assert_ok(fab_distance_covariance(a, b, &x, &out[0]));
            assert_ok(fab_distance_kl(a, b, &x, &out[1]));
            if (threads == 1) memcpy(first, out, sizeof out);
            assert_memory_equal(first, out, sizeof out);
        }
        fab_gauss_free(a);
        fab_gauss_free(b);
    }
}

/* ---- allocations ------------------------------------------------------------------------------- */

static const fab_gauss *left, *right;
static double unused;

static fab_status covariance_now(void)
{
    return fab_distance_covariance(left, right, NULL, &unused);
}

static fab_status kl_now(void)
{
    return fab_distance_kl(left, right, NULL, &unused);
}

static fab_status w2_now(void)
{
    return fab_distance_w2(left, right, NULL, &unused);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    for (int pair = 0; pair < 4; pair++) {
        fab_gauss *a = some_gauss((fab_form)(pair / 2), FAB_F64, D, 3, 85, 1);
        fab_gauss *b = some_gauss((fab_form)(pair % 2), FAB_F64, D, 3, 86, 1);
        left = a, right = b;
        assert_true(fail_every_allocation(covariance_now) > 4);
        assert_true(fail_every_allocation(kl_now) > 4);
        assert_true(fail_every_allocation(w2_now) > 4);
        fab_gauss_free(a);
        fab_gauss_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(distances_agree_with_dense_algebra),
        TEST(one_dimension_is_enough),
        TEST(extreme_scales_agree_too),
        TEST(a_small_prior_precision_does_not_drown_the_posterior),
        TEST(tiny_covariance_distances_keep_their_digits),
        TEST(a_turned_factor_is_at_distance_0),
        TEST(nothing_is_at_a_distance_from_itself),
        TEST(tiny_w2_distances_keep_their_digits),
        TEST(w2_of_diagonals_is_known),
        TEST(the_mean_distance_is_relative_to_the_reference),
        TEST(what_has_no_distance_is_refused),
        TEST(the_number_of_threads_changes_no_byte),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
