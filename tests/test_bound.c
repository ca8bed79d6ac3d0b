/* test_bound.c - bound and approximate evidence of sparse processes, their gradients and predictions, against dense matrices.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "kernel_case.h"
#include "plain.h"
#include "fabayes/gauss.h"
#include "methods/vfe/bound.h"

enum { N = 29, M = 7 };

static const fab_bound_kind kinds[] = {FAB_BOUND_VFE, FAB_BOUND_DTC, FAB_BOUND_FITC};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct problem {
    fab_bound_kind kind;
    const kernel_case *c;
    int64_t n, m, D, size;
    fab_kernel *k;
    double *theta; /* size, then log noise, then Z */
    double *X, *y, *weight;
} problem;

/* Kernels live until the test ends, as numbers do. */
enum { MOST_KERNELS = 256 };
static fab_kernel *kernels_made[MOST_KERNELS];
static int made;

static int release_all(void **state)
{
    while (made > 0) fab_kernel_free(kernels_made[--made]);
    return dense_release(state);
}

static problem problem_of(fab_bound_kind kind, const kernel_case *c, int64_t n, int64_t m)
{
    problem p = {.kind = kind, .c = c, .n = n, .m = m, .D = c->D};
    double *theta;
    p.k = some_kernel(c, &theta);
    assert_true(made < MOST_KERNELS);
    kernels_made[made++] = p.k;
    p.size = fab_kernel_size(p.k);
    p.theta = doubles(p.size + 1 + m * p.D);
    memcpy(p.theta, theta, (size_t)p.size * sizeof *theta);
    p.theta[p.size] = log(0.385);
    p.X = some_rows(3, n, p.D);
    memcpy(p.theta + p.size + 1, some_rows(4, m, p.D), (size_t)(m * p.D) * sizeof *theta);
    for (int64_t i = 0; i < n * p.D; i++) p.X[i] /= 2.385; /* rows that see one another */
    for (int64_t i = 0; i < m; i++) /* and inputs that are apart: the oracle is in doubles */
        for (int64_t d = 0; d < p.D; d++) {
            double *z = p.theta + p.size + 1 + i * p.D + d;
            *z = *z / 7 + (double)(i + 1 - m / 2);
        }
    p.y = doubles(n);
    p.weight = doubles(n);
    for (int64_t i = 0; i < n; i++) {
        p.y[i] = 1.7 * noise(5, i);
        p.weight[i] = 1.5 + noise(6, i) / 4;
        if (p.weight[i] < 0.5) p.weight[i] = 0.5;
    }
    return p;
}

static fab_bound *bound_of(const problem *p, int threads)
{
    const fab_bound_rows rows = {p->n, p->X, p->y, p->weight};
    const fab_exec x = {.threads = threads};
    fab_bound *b;
    assert_ok(fab_bound_create(&b, p->kind, p->k, &rows, p->m, p->theta + p->size + 1, NULL, &x));
    return b;
}

static double at(fab_bound *b, const problem *p, const double *t, double *g)
{
    double value;
    assert_ok(fab_bound_at(b, t, exp(t[p->size]), t + p->size + 1, 1, &value, g));
    return value;
}

/* Q + diag(d) (n x n), Kzz^-1 and Kzx, in plain sight; the trace that vfe has. */
static double sparse_covariance(const problem *p, const double *t, double *C, double *Ki,
                                double *Kzx)
{
    const int64_t n = p->n, m = p->m, D = p->D;
    const double *Z = t + p->size + 1;
    double *K = doubles(m * m), trace = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++) K[i * m + j] = p->c->value(t, Z + i * D, Z + j * D);
    plain_inverse(m, K, Ki);
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < n; i++) Kzx[j * n + i] = p->c->value(t, Z + j * D, p->X + i * D);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double q = 0;
            for (int64_t a = 0; a < m; a++)
                for (int64_t b = 0; b < m; b++)
                    q += Kzx[a * n + i] * Ki[a * m + b] * Kzx[b * n + j];
            C[i * n + j] = q;
        }
    for (int64_t i = 0; i < n; i++) {
        const double s2 = exp(t[p->size]) / p->weight[i],
                     left = p->c->value(t, p->X + i * D, p->X + i * D) - C[i * n + i];
        C[i * n + i] += s2 + (p->kind == FAB_BOUND_FITC ? left : 0);
        trace += left / s2;
    }
    return trace;
}

static double plain_value(const problem *p, const double *t)
{
    const int64_t n = p->n;
    double *C = doubles(n * n), *Ci = doubles(n * n), *Ki = doubles(p->m * p->m),
           *Kzx = doubles(p->m * n), quad = 0;
    const double trace = sparse_covariance(p, t, C, Ki, Kzx);
    double det = 0;
    plain_chol(n, C, Ci);
    for (int64_t i = 0; i < n; i++) det += 2 * log(Ci[i * n + i]);
    plain_inverse(n, C, Ci);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) quad += p->y[i] * Ci[i * n + j] * p->y[j];
    const double value = -((double)n * log(2 * M_PI) + det + quad) / 2;
    return p->kind == FAB_BOUND_VFE ? value - trace / 2 : value;
}

/* ---- value and gradient ------------------------------------------------------------------------------ */

static void the_value_is_that_of_dense_matrices(void **state)
{
    (void)state;
    for (int s = 0; s < KINDS; s++)
        for (int c = 0; c < KERNEL_CASES; c++) {
            const problem p = problem_of(kinds[s], &kernel_cases[c], N, c == 16 ? 1 : 3);
            fab_bound *b = bound_of(&p, 1);
            const double mine = at(b, &p, p.theta, NULL), plain = plain_value(&p, p.theta);
            if (!(fabs(mine - plain) <= 1e-8 * fabs(plain)))
                fail_msg("%s, kind %d: %.12g, expected %.12g", p.c->text, s, mine, plain);
            fab_bound_free(b);
        }
}

/* By differences over four points: h^4 / 30 of the fifth derivative and rounding 3 u F cond / h. */
static void the_gradient_is_that_of_dense_matrices(void **state)
{
    (void)state;
    for (int s = 0; s < KINDS; s++)
        for (int c = 0; c < KERNEL_CASES; c++) {
            const problem p = problem_of(kinds[s], &kernel_cases[c], N, c == 16 ? 1 : 3);
            const int64_t all = p.size + 1 + p.m * p.D;
            fab_bound *b = bound_of(&p, 2);
            double *g = doubles(all), *moved = doubles(all), largest = 0;
            at(b, &p, p.theta, g);
            for (int64_t i = 0; i < all; i++) largest = fmax(largest, fabs(g[i]));
            for (int64_t i = 0; i < all; i++) {
                const double h = 1e-4;
                double d[4];
                for (int k = 0; k < 4; k++) {
                    memcpy(moved, p.theta, (size_t)all * sizeof *moved);
                    moved[i] += (k < 2 ? k - 2 : k - 1) * h;
                    d[k] = plain_value(&p, moved);
                }
                const double slope = (d[0] - 8 * d[1] + 8 * d[2] - d[3]) / (12 * h);
                if (!(fabs(g[i] - slope) <= 1e-7 * (1 + largest)))
                    fail_msg("%s, kind %d, %lld: %.12g, expected %.12g", p.c->text, s, (long long)i,
                             g[i], slope);
            }
            fab_bound_free(b);
        }
}

/* ---- predictions ----------------------------------------------------------------------------------------- */

/* Of y: mean q(x)' (Q + d)^-1 y, variance k - q(x)' (Q + d)^-1 q(x), q(x) = Kxz Kzz^-1 kz(x): the same form of all three. */
static void predictions_are_those_of_dense_matrices(void **state)
{
    (void)state;
    enum { NEW = 5 };
    for (int s = 0; s < KINDS; s++)
        for (int c = 0; c < KERNEL_CASES; c++) {
            const problem p = problem_of(kinds[s], &kernel_cases[c], N, c == 16 ? 1 : 3);
            const int64_t n = p.n, m = p.m, D = p.D;
            fab_bound *b = bound_of(&p, 1);
            fab_process *f;
            double *C = doubles(n * n), *Ci = doubles(n * n), *Ki = doubles(m * m),
                   *Kzx = doubles(m * n), *x = some_rows(8, NEW, D), mean[NEW], variance[NEW];
            for (int64_t i = 0; i < NEW * D; i++) x[i] /= 2;
            at(b, &p, p.theta, NULL);
            assert_ok(fab_bound_process(b, &f, NULL));
            assert_ok(fab_process_predict(f, NEW, x, D, mean, variance, NULL));
            sparse_covariance(&p, p.theta, C, Ki, Kzx);
            plain_inverse(n, C, Ci);
            for (int64_t k = 0; k < NEW; k++) {
                double *q = doubles(n), kk = p.c->value(p.theta, x + k * D, x + k * D), mu = 0,
                       v = kk;
                for (int64_t i = 0; i < n; i++)
                    for (int64_t a = 0; a < m; a++)
                        for (int64_t e = 0; e < m; e++)
                            q[i] += Kzx[a * n + i] * Ki[a * m + e] *
                                    p.c->value(p.theta, p.theta + p.size + 1 + e * D, x + k * D);
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = 0; j < n; j++) {
                        mu += q[i] * Ci[i * n + j] * p.y[j];
                        v -= q[i] * Ci[i * n + j] * q[j];
                    }
                if (!(fabs(mean[k] - mu) <= 1e-8 * (1 + fabs(mu)) &&
                      fabs(variance[k] - v) <= 1e-8 * (1 + kk)))
                    fail_msg("%s, kind %d: %.12g %.12g, expected %.12g %.12g", p.c->text, s,
                             mean[k], variance[k], mu, v);
            }
            fab_process_free(f);
            fab_bound_free(b);
        }
}

/* The slopes are those of the predictions, by differences; draws have their mean and variance: 4 standard errors of 4000. */
static void slopes_and_draws_are_those_of_the_predictions(void **state)
{
    (void)state;
    enum { DRAWS = 4000 };
    const problem p = problem_of(FAB_BOUND_VFE, &kernel_cases[19], N, 3);
    const double h = 1e-5;
    fab_bound *b = bound_of(&p, 1);
    fab_process *f;
    double x[6], mean[2], variance[2], by[3], variance_by[3], *out = doubles(2 * DRAWS);
    memcpy(x, p.X, sizeof x);
    at(b, &p, p.theta, NULL);
    assert_ok(fab_bound_process(b, &f, NULL));
    assert_ok(fab_process_slopes(f, x, mean, variance, by, variance_by));
    for (int d = 0; d < 3; d++) {
        double moved[6], m2[2], v2[2];
        memcpy(moved, x, 3 * sizeof *x);
        memcpy(moved + 3, x, 3 * sizeof *x);
        moved[d] -= h;
        moved[3 + d] += h;
        assert_ok(fab_process_predict(f, 2, moved, 3, m2, v2, NULL));
        assert_true(fabs((m2[1] - m2[0]) / (2 * h) - by[d]) < 1e-6);
        assert_true(fabs((v2[1] - v2[0]) / (2 * h) - variance_by[d]) < 1e-6);
    }
    assert_ok(fab_process_predict(f, 2, x, 3, mean, variance, NULL));
    assert_ok(fab_process_draw(f, 2, x, 3, 5, FAB_PURPOSE_SAMPLE, 0, DRAWS, out, 2));
    for (int k = 0; k < 2; k++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < DRAWS; i++) sum += out[2 * i + k] / DRAWS;
        for (int64_t i = 0; i < DRAWS; i++) squares += square(out[2 * i + k] - sum) / DRAWS;
        assert_true(fabs(sum - mean[k]) < 4 * sqrt(variance[k] / DRAWS));
        assert_true(fabs(squares / variance[k] - 1) < 4 * sqrt(2.0 / DRAWS));
    }
    fab_process_free(f);
    fab_bound_free(b);
}

/* ---- against the exact process --------------------------------------------------------------------------- */

/* Inputs at all rows are no approximation; fewer are a bound, and more of them a better one. */
static void the_bound_rises_to_the_exact_evidence(void **state)
{
    (void)state;
    for (int c = 0; c < KERNEL_CASES; c++) {
        problem p = problem_of(FAB_BOUND_VFE, &kernel_cases[c], N, N);
        double lml, before = -INFINITY, mean[N], variance[N], m2[N], v2[N];
        fab_process *exact, *f;
        assert_ok(fab_process_create(&exact, p.k, N, p.X, p.D, N, NULL));
        assert_ok(fab_process_learn(exact, p.y, p.weight, exp(p.theta[p.size])));
        assert_ok(fab_process_evidence(exact, &lml, NULL));
        assert_ok(fab_process_predict(exact, N, p.X, p.D, mean, variance, NULL));
        memcpy(p.theta + p.size + 1, p.X, (size_t)(N * p.D) * sizeof *p.X);
        for (p.m = 1; p.m <= N; p.m += 7) {
            fab_bound *b = bound_of(&p, 2);
            const double value = at(b, &p, p.theta, NULL), slack = 1e-6 * fabs(lml);
            assert_true(value <= lml + slack && value >= before - slack);
            before = value;
            if (p.m == N) {
                assert_true(fabs(value - lml) <= slack);
                assert_ok(fab_bound_process(b, &f, NULL));
                assert_ok(fab_process_predict(f, N, p.X, p.D, m2, v2, NULL));
                for (int i = 0; i < N; i++) {
                    assert_true(fabs(m2[i] - mean[i]) <= 1e-6 * (1 + fabs(mean[i])));
                    assert_true(fabs(v2[i] - variance[i]) <= 1e-6 * (1 + variance[i]));
                }
                fab_process_free(f);
            }
            fab_bound_free(b);
        }
        fab_process_free(exact);
    }
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

enum { MANY = 5003, INPUTS = 70 };

static problem large_problem(fab_bound_kind kind)
{
    return problem_of(kind, &kernel_cases[19], MANY, INPUTS);
}

static void threads_leave_the_same_bits(void **state)
{
    (void)state;
    for (int s = 0; s < KINDS; s++) {
        const problem p = large_problem(kinds[s]);
        const int64_t all = p.size + 1 + p.m * p.D;
        double *g = doubles(all), *h = doubles(all);
        fab_bound *one = bound_of(&p, 1), *three = bound_of(&p, 3);
        const double a = at(one, &p, p.theta, g), b = at(three, &p, p.theta, h);
        assert_memory_equal(&a, &b, sizeof a);
        assert_memory_equal(g, h, (size_t)all * sizeof *g);
        fab_bound_free(one);
        fab_bound_free(three);
    }
}

static const double *sums_of(fab_bound *b, const double **c, const double **S)
{
    const fab_bound_sums *sums;
    fab_bound_state(b, &sums, c, S);
    return (const double *)sums;
}

/* Rows that come later leave what they would have left with the others, to rounding; in one update or two the same bits. */
static void rows_that_come_later_are_added_exactly(void **state)
{
    (void)state;
    enum { FIRST = 3000, SECOND = 4001 };
    for (int s = 0; s < KINDS; s++) {
        problem p = large_problem(kinds[s]);
        double *g = doubles(p.D), value, v1, v2;
        const double *c[3], *S[3], *sums[3];
        fab_bound *b[3];
        for (int64_t d = 0; d < p.D; d++)
            for (int64_t i = 0; i < p.n; i++) g[d] += p.X[i * p.D + d] / (double)p.n;
        b[0] = bound_of(&p, 1);
        value = at(b[0], &p, p.theta, NULL);
        p.n = FIRST;
        for (int k = 1; k < 3; k++) {
            b[k] = bound_of(&p, k);
            at(b[k], &p, p.theta, NULL);
        }
        const fab_bound_rows rest = {MANY - FIRST, p.X + FIRST * p.D, p.y + FIRST,
                                     p.weight + FIRST},
                             next = {SECOND - FIRST, rest.X, rest.y, rest.weight},
                             last = {MANY - SECOND, p.X + SECOND * p.D, p.y + SECOND,
                                     p.weight + SECOND};
        assert_ok(fab_bound_add(b[1], &rest, &v1));
        assert_ok(fab_bound_add(b[2], &next, &v2));
        assert_ok(fab_bound_add(b[2], &last, &v2));
        for (int k = 0; k < 3; k++) sums[k] = sums_of(b[k], &c[k], &S[k]);
        assert_true(fabs(v1 - value) <= 1e-9 * fabs(value));
        assert_memory_equal(&v1, &v2, sizeof v1);
        assert_memory_equal(sums[1], sums[2], FAB_BOUND_SUMS * sizeof(double));
        assert_memory_equal(c[1], c[2], INPUTS * sizeof(double));
        assert_memory_equal(S[1], S[2], INPUTS * INPUTS * sizeof(double));
        for (int64_t i = 0; i < INPUTS * INPUTS; i++)
            assert_true(fabs(S[0][i] - S[1][i]) <= 1e-9 * (1 + fabs(S[0][i]) + S[0][0]));
        for (int k = 0; k < 3; k++) fab_bound_free(b[k]);
    }
}

/* q(v) as a Gaussian: its covariance takes v to what predictions say of f at the inputs. */
static void the_gaussian_is_the_posterior_of_the_inputs(void **state)
{
    (void)state;
    const problem p = problem_of(FAB_BOUND_VFE, &kernel_cases[5], N, M);
    const double *Z = p.theta + p.size + 1, *a, *L, *C;
    fab_bound *b = bound_of(&p, 1);
    fab_process *f;
    fab_gauss *q;
    double mean[M], variance[M], V[M * M], P[M * M];
    at(b, &p, p.theta, NULL);
    fab_bound_parts(b, &a, &L, &C);
    assert_ok(fab_gauss_create(&q, FAB_FORM_PRECISION, FAB_F64, M, M));
    assert_ok(fab_bound_gauss(b, q));
    assert_ok(fab_gauss_check(q));
    const double *F = q->F;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            P[i * M + j] = i == j ? q->psi[i] : 0;
            for (int k = 0; k < M; k++) P[i * M + j] += F[i * M + k] * F[j * M + k];
        }
    plain_inverse(M, P, V);
    assert_ok(fab_bound_process(b, &f, NULL));
    assert_ok(fab_process_predict(f, M, Z, p.D, mean, variance, NULL));
    for (int i = 0; i < M; i++) { /* f(Z) = L v */
        double mu = 0, v = 0;
        for (int j = 0; j < M; j++) mu += L[i * M + j] * q->mu[j];
        for (int j = 0; j < M; j++)
            for (int k = 0; k < M; k++) v += L[i * M + j] * V[j * M + k] * L[i * M + k];
        assert_true(fabs(mu - mean[i]) < 1e-10 * (1 + fabs(mu)));
        assert_true(fabs(v - variance[i]) < 1e-10);
    }
    fab_gauss_free(q);
    fab_process_free(f);
    fab_bound_free(b);
}

/* ---- odd rows ------------------------------------------------------------------------------------------------ */

static void one_row_duplicates_and_units_of_a_million_are_taken(void **state)
{
    (void)state;
    for (int s = 0; s < KINDS; s++) {
        problem p = problem_of(kinds[s], &kernel_cases[3], 1, 1);
        fab_bound *b = bound_of(&p, 1);
        double plain = plain_value(&p, p.theta), value = at(b, &p, p.theta, NULL);
        assert_true(fabs(value - plain) <= 1e-10 * (1 + fabs(plain)));
        fab_bound_free(b);

        p = problem_of(kinds[s], &kernel_cases[3], N, 3); /* far away, the same */
        plain = plain_value(&p, p.theta);
        for (int64_t i = 0; i < N * 3; i++) p.X[i] += 0x1p20;
        for (int64_t i = 0; i < 9; i++) p.theta[p.size + 1 + i] += 0x1p20;
        b = bound_of(&p, 1);
        value = at(b, &p, p.theta, NULL);
        assert_true(fabs(value - plain) <= 1e-7 * fabs(plain)); /* inputs keep 10 digits */
        assert_true(fab_bound_jitter(b) == 0);
        fab_bound_free(b);

        p = problem_of(kinds[s], &kernel_cases[0], N, 3); /* two inputs at one place */
        memcpy(p.theta + p.size + 4, p.theta + p.size + 1, 3 * sizeof *p.theta);
        b = bound_of(&p, 1);
        value = at(b, &p, p.theta, NULL);
        assert_true(fab_bound_jitter(b) > 0);
        memmove(p.theta + p.size + 4, p.theta + p.size + 7, 3 * sizeof *p.theta);
        p.m = 2;
        plain = plain_value(&p, p.theta);
        assert_true(fabs(value - plain) <= 1e-6 * fabs(plain));
        fab_bound_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_value_is_that_of_dense_matrices, release_all),
        cmocka_unit_test_teardown(the_gradient_is_that_of_dense_matrices, release_all),
        cmocka_unit_test_teardown(predictions_are_those_of_dense_matrices, release_all),
        cmocka_unit_test_teardown(slopes_and_draws_are_those_of_the_predictions, release_all),
        cmocka_unit_test_teardown(the_bound_rises_to_the_exact_evidence, release_all),
        cmocka_unit_test_teardown(threads_leave_the_same_bits, release_all),
        cmocka_unit_test_teardown(rows_that_come_later_are_added_exactly, release_all),
        cmocka_unit_test_teardown(the_gaussian_is_the_posterior_of_the_inputs, release_all),
        cmocka_unit_test_teardown(one_row_duplicates_and_units_of_a_million_are_taken, release_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
