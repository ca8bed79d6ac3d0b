/* test_kernel.c - kernels against their formulas in plain loops: matrices, sums with derivatives, texts.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "kernel_case.h"
#include "kernel/basic/bessel.h"
#include "la/ops.h"

static fab_kernel *kernel_of(const char *text, int64_t D)
{
    fab_kernel *k;
    assert_ok(fab_kernel_create(&k, text, D, NULL));
    return k;
}

/* ---- values ------------------------------------------------------------------------------------------- */

/* A dozen roundings of u, scaled by its curve's slope (at most 3 u for these rows), and of exp on both sides. */
#define VALUES 1e-13

static void compare_values(const kernel_case *c, int64_t n, int64_t m)
{
    double *t;
    fab_kernel *k = some_kernel(c, &t);
    const int64_t D = c->D, gap = 2;
    double *X = some_rows(1, n, D + gap), *Z = some_rows(2, m, D), *K = doubles(n * (m + 1)),
           *G = doubles(n * n), *diag = doubles(n);
    assert_ok(fab_kernel_cross(k, n, X, D + gap, m, Z, D, K, m + 1, NULL));
    assert_ok(fab_kernel_gram(k, n, X, D + gap, G, n, NULL));
    fab_kernel_diag(k, n, X, D + gap, diag);
    for (int64_t i = 0; i < n; i++) {
        const double *x = X + i * (D + gap);
        const double own = c->value(t, x, x);
        assert_near(diag[i], own, VALUES * fabs(own));
        for (int64_t j = 0; j < m; j++) {
            const double *z = Z + j * D;
            const double size = sqrt(c->value(t, x, x) * c->value(t, z, z));
            assert_near(K[i * (m + 1) + j], c->value(t, x, z), VALUES * size);
        }
        for (int64_t j = 0; j < n; j++) {
            const double *z = X + j * (D + gap);
            const double size = sqrt(own * c->value(t, z, z));
            assert_near(G[i * n + j], c->value(t, x, z), VALUES * size);
            assert_true(G[i * n + j] == G[j * n + i]);
        }
    }
    fab_kernel_free(k);
}

static void matrices_hold_what_the_formulas_say(void **state)
{
    (void)state;
    for (int i = 0; i < KERNEL_CASES; i++) {
        compare_values(&kernel_cases[i], 29, 157);
        compare_values(&kernel_cases[i], 1, 1);
        compare_values(&kernel_cases[i], 131, 3);
    }
}

static void rows_near_a_million_keep_ten_digits(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "rbf:ard",       "matern12",       "matern52:ard",      "rq",
        "matern:nu=1.7", "periodic:col=0", "rbf*periodic:col=1"};
    enum { N = 37, D = 3 };
    double *X = doubles(N * D), *Y = doubles(N * D), *K = doubles(N * N), *far = doubles(N * N);
    for (int64_t i = 0; i < N * D; i++) {
        X[i] = floor(noise(3, i) * 1024) / 1024; /* so that the sum below is exact */
        Y[i] = X[i] + 1e6;
    }
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        fab_kernel *k = kernel_of(texts[t], D);
        assert_ok(fab_kernel_gram(k, N, X, D, K, N, NULL));
        assert_ok(fab_kernel_gram(k, N, Y, D, far, N, NULL));
        for (int64_t i = 0; i < N * N; i++) assert_near(far[i], K[i], 1e-10);
        fab_kernel_free(k);
    }
}

static void rows_that_are_the_same_correlate_wholly(void **state)
{
    (void)state;
    static const char *const texts[] = {"rbf:ard", "matern12",      "matern32",      "matern52",
                                        "rq",      "matern:nu=0.3", "periodic:col=0"};
    enum { N = 6, D = 2 };
    double *X = some_rows(4, N, D), *K = doubles(N * N), *G = doubles(N * D), *W = doubles(N * N);
    memcpy(X + D, X, D * sizeof *X);
    for (int64_t i = 0; i < N * N; i++) W[i] = 1;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        fab_kernel *k = kernel_of(texts[t], D);
        double g[8];
        assert_ok(fab_kernel_gram(k, N, X, D, K, N, NULL));
        assert_true(K[1] == 1 && K[0] == 1);
        assert_ok(fab_kernel_grad_dot(k, N, X, D, 0, NULL, 0, W, N, g, NULL));
        for (int64_t i = 0; i < fab_kernel_size(k); i++) assert_true(isfinite(g[i]));
        assert_ok(fab_kernel_grad_rows(k, N, X, D, 0, NULL, 0, W, N, G, NULL));
        for (int64_t i = 0; i < N * D; i++) assert_true(isfinite(G[i]));
        fab_kernel_free(k);
    }
}

/* ---- sums with derivatives ------------------------------------------------------------------------------ */

/* Of what case_slope says, relative to the largest k: h^4 / 30 = 3e-18 times fifth derivatives by logarithms, up to some 10^8 for
 * a period of 1 at distances of 5, and 3 u / h = 3e-12. */
#define SLOPES 3e-9

static double largest(int64_t count, const double *K)
{
    double top = 0;
    for (int64_t i = 0; i < count; i++) top = fmax(top, fabs(K[i]));
    return top;
}

static void compare_gradient(const kernel_case *c, int64_t n, int64_t m)
{
    double *t;
    fab_kernel *k = some_kernel(c, &t);
    const int64_t D = c->D, size = fab_kernel_size(k), ld = m + 3;
    double *X = some_rows(1, n, D), *Z = some_rows(2, m, D), *W = doubles(n * ld),
           *K = doubles(n * m), g[64];
    for (int64_t i = 0; i < n * ld; i++) W[i] = noise(5, i);
    assert_ok(fab_kernel_grad_dot(k, n, X, D, m, Z, D, W, ld, g, NULL));
    assert_ok(fab_kernel_cross(k, n, X, D, m, Z, D, K, m, NULL));
    for (int64_t p = 0; p < size; p++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++)
                sum += W[i * ld + j] * case_slope(c, t, size, p, X + i * D, Z + j * D);
        assert_near(g[p], sum, SLOPES * (1 + sqrt((double)(n * m))) * largest(n * m, K));
    }
    fab_kernel_free(k);
}

static void sums_with_derivatives_are_those_of_differences(void **state)
{
    (void)state;
    for (int i = 0; i < KERNEL_CASES; i++) {
        compare_gradient(&kernel_cases[i], 29, 37);
        compare_gradient(&kernel_cases[i], 1, 1);
        compare_gradient(&kernel_cases[i], 3, 133);
    }
}

/* On whatever sets of instructions this machine runs. */
static void all_sets_of_instructions_hold_what_the_formulas_say(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "avx2", "avx512"};
    for (int s = 0; s < 3; s++) {
        if (fab_set_isa(names[s]) != FAB_OK) continue;
        for (int i = 0; i < KERNEL_CASES; i++) {
            compare_values(&kernel_cases[i], 29, 37);
            compare_gradient(&kernel_cases[i], 6, 13);
        }
    }
    assert_ok(fab_set_isa(NULL));
}

static void a_symmetric_sum_reads_the_lower_half(void **state)
{
    (void)state;
    enum { N = 141 };
    for (int c = 0; c < KERNEL_CASES; c++) {
        fab_kernel *k = some_kernel(&kernel_cases[c], NULL);
        const int64_t D = kernel_cases[c].D, size = fab_kernel_size(k);
        double *X = some_rows(1, N, D), *W = doubles(N * N), *lower = doubles(N * N),
               *K = doubles(N * N), *G = doubles(N * D), *H = doubles(N * D), g[64], h[64];
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j <= i; j++) {
                W[i * N + j] = W[j * N + i] = lower[i * N + j] = noise(6, i * N + j);
                if (j < i) lower[j * N + i] = NAN;
            }
        assert_ok(fab_kernel_grad_dot(k, N, X, D, 0, NULL, 0, lower, N, g, NULL));
        assert_ok(fab_kernel_grad_dot(k, N, X, D, N, X, D, W, N, h, NULL));
        assert_ok(fab_kernel_grad_rows(k, N, X, D, 0, NULL, 0, lower, N, G, NULL));
        assert_ok(fab_kernel_grad_rows(k, N, X, D, N, X, D, W, N, H, NULL));
        assert_ok(fab_kernel_gram(k, N, X, D, K, N, NULL));
        const double tol = 100 * N * N * ROUND_F64 * largest(N * N, K);
        for (int64_t p = 0; p < size; p++) assert_near(g[p], h[p], tol);
        for (int64_t i = 0; i < N * D; i++) assert_near(G[i], H[i], tol);
        fab_kernel_free(k);
    }
}

static void derivatives_by_rows_are_those_of_differences(void **state)
{
    (void)state;
    enum { N = 5, M = 131 };
    const double h = 1e-4;
    for (int s = 0; s < KERNEL_CASES; s++) {
        const kernel_case *c = &kernel_cases[s];
        double *t;
        fab_kernel *k = some_kernel(c, &t);
        const int64_t D = c->D;
        double *X = some_rows(1, N, D), *Z = some_rows(7, M, D), *W = doubles(N * M),
               *K = doubles(N * M), *G = doubles(N * D);
        for (int64_t i = 0; i < N * M; i++) W[i] = noise(8, i);
        assert_ok(fab_kernel_cross(k, N, X, D, M, Z, D, K, M, NULL));
        assert_ok(fab_kernel_grad_rows(k, N, X, D, M, Z, D, W, M, G, NULL));
        for (int64_t i = 0; i < N; i++)
            for (int64_t d = 0; d < D; d++) {
                double sum[4] = {0}, moved[16];
                memcpy(moved, X + i * D, (size_t)D * sizeof *X);
                for (int p = 0; p < 4; p++) {
                    moved[d] = X[i * D + d] + (p < 2 ? p - 2 : p - 1) * h;
                    for (int64_t j = 0; j < M; j++)
                        sum[p] += W[i * M + j] * c->value(t, moved, Z + j * D);
                }
                const double slope = (sum[0] - 8 * sum[1] + 8 * sum[2] - sum[3]) / (12 * h);
                /* fifth derivatives by x are below 10^6 k, where no two rows are closer than 0.1; and 3 u / h */
                assert_near(G[i * D + d], slope, SLOPES * M * (1 + largest(N * M, K)));
            }
        fab_kernel_free(k);
    }
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    enum { N = 301, M = 270, D = 3 };
    fab_kernel *k = kernel_of("rbf:ard*matern32 + rq:ard + linear", D);
    double *X = some_rows(1, N, D), *Z = some_rows(2, M, D), *W = doubles(N * N);
    for (int64_t i = 0; i < N * N; i++) W[i] = noise(9, i);
    double *first[4] = {0};
    for (int64_t threads = 1; threads <= 3; threads++) {
        const fab_exec x = {.threads = threads};
        double *K = doubles(N * N), *C = doubles(N * M), *G = doubles(N * D), *g = doubles(16);
        assert_ok(fab_kernel_gram(k, N, X, D, K, N, &x));
        assert_ok(fab_kernel_cross(k, N, X, D, M, Z, D, C, M, &x));
        assert_ok(fab_kernel_grad_dot(k, N, X, D, 0, NULL, 0, W, N, g, &x));
        assert_ok(fab_kernel_grad_rows(k, N, X, D, M, Z, D, W, M, G, &x));
        if (threads == 1) {
            first[0] = K, first[1] = C, first[2] = g, first[3] = G;
            continue;
        }
        assert_memory_equal(K, first[0], N * N * sizeof *K);
        assert_memory_equal(C, first[1], N * M * sizeof *K);
        assert_memory_equal(g, first[2], 16 * sizeof *K);
        assert_memory_equal(G, first[3], N * D * sizeof *K);
    }
    fab_kernel_free(k);
}

/* A value has the same bits whichever rows come with it. */
static void bits_do_not_depend_on_company(void **state)
{
    (void)state;
    enum { N = 43, M = 67 };
    for (int c = 0; c < KERNEL_CASES; c++) {
        fab_kernel *k = some_kernel(&kernel_cases[c], NULL);
        const int64_t D = kernel_cases[c].D;
        double *X = some_rows(1, N, D), *Z = some_rows(2, M, D), *K = doubles(N * M),
               *one = doubles(N);
        assert_ok(fab_kernel_cross(k, N, X, D, M, Z, D, K, M, NULL));
        for (int64_t j = 0; j < M; j++) {
            assert_ok(fab_kernel_cross(k, N, X, D, 1, Z + j * D, D, one, 1, NULL));
            for (int64_t i = 0; i < N; i++) assert_true(one[i] == K[i * M + j]);
        }
        fab_kernel_free(k);
    }
}

/* ---- Bessel functions ----------------------------------------------------------------------------------- */

static void bessel_functions_of_any_order(void **state)
{
    (void)state;
    /* K_nu(s): Abramowitz and Stegun, tables 9.8 and 9.11, and SciPy */
    static const struct {
        double nu, s, K;
    } known[] = {{1, 1, 0.60190723019723457},   {2, 1, 1.6248388986351774},
                 {1, 0.1, 9.8538447808706061},  {1, 5, 0.0040446134454521642},
                 {3, 2, 0.64738539094863415},   {2, 10, 2.1509817006932769e-05},
                 {0.25, 1, 0.4307397744485814}, {0.75, 3, 0.0376964234059268}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const double nu = known[i].nu, s = known[i].s;
        const double want = pow(2, 1 - nu) / tgamma(nu) * pow(s, nu) * known[i].K;
        assert_near(fab_bessel_matern(nu, s, NULL), want, 1e-13 * want);
    }
}

/* dB/ds = -s other, on both sides of where series and fraction meet. */
static void bessel_functions_have_the_slope_they_say(void **state)
{
    (void)state;
    static const double nus[] = {0.05, 0.3, 0.5, 0.7, 1, 1.4, 2, 3.3, 17.5, 100};
    const double h = 1e-3;
    for (size_t i = 0; i < sizeof nus / sizeof *nus; i++)
        for (double s = 0.3; s < 12; s += 0.345) {
            double other, v[4];
            fab_bessel_matern(nus[i], s, &other);
            for (int p = 0; p < 4; p++)
                v[p] = fab_bessel_matern(nus[i], s + (p < 2 ? p - 2 : p - 1) * h, NULL);
            /* h^4 / 30 of fifth derivatives, below 2e3 from 0.3 on, and rounding over h */
            assert_near(-s * other, (v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h), 2e-10);
        }
}

/* ---- texts -------------------------------------------------------------------------------------------- */

static void a_text_becomes_a_sum_of_products(void **state)
{
    (void)state;
    static const char *const names[] = {"age", "height", "width"};
    static const struct {
        const char *name, *kernel;
        int64_t column, fixed;
        double value;
    } want[] = {{"s2", "rbf*periodic:col=height", -1, 0, 1},
                {"l", "rbf", -1, 1, 0.5},
                {"l", "periodic", -1, 0, 1},
                {"p", "periodic", -1, 1, 7},
                {"s2", "linear:ard:col=width, age*periodic:col=height", -1, 1, 6},
                {"l", "linear", 2, 0, 1.4142135623730951},
                {"l", "linear", 0, 0, 1.4142135623730951}};
    fab_kernel *k;
    assert_ok(fab_kernel_create(
        &k, "(rbf:l=.5 + 3*linear:ard:col=width, age*2)*periodic:p=7:col=height", 3, names));
    assert_int_equal(fab_kernel_size(k), 7);
    assert_int_equal(fab_kernel_columns(k), 3);
    assert_false(fab_kernel_is_stationary(k));
    for (int64_t i = 0; i < 7; i++) {
        fab_kernel_parameter p;
        fab_kernel_parameter_at(k, i, &p);
        assert_string_equal(p.name, want[i].name);
        assert_string_equal(p.kernel, want[i].kernel);
        assert_int_equal(p.column, want[i].column);
        assert_int_equal(p.fixed, want[i].fixed);
        assert_true(p.value == want[i].value && p.lo < p.hi);
    }
    fab_kernel_free(k);
}

static void a_number_fixes_the_variance_wherever_it_stands(void **state)
{
    (void)state;
    static const char *const texts[] = {"6*rbf",     "rbf*6",    "2*(rbf*3)",
                                        "(3*rbf)*2", "rbf*rq*6", "6"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        fab_kernel *k = kernel_of(texts[t], 2);
        fab_kernel_parameter p;
        fab_kernel_parameter_at(k, 0, &p);
        assert_true(p.fixed == 1 && p.value == 6);
        fab_kernel_free(k);
    }
}

/* What a kernel says of itself makes the same kernel, with every parameter fixed; so does a copy. */
static void a_description_makes_the_same_kernel(void **state)
{
    (void)state;
    enum { N = 9 };
    for (int c = 0; c < KERNEL_CASES; c++) {
        fab_kernel *k = some_kernel(&kernel_cases[c], NULL), *again, *copy;
        const int64_t D = kernel_cases[c].D;
        double *X = some_rows(1, N, D), *K = doubles(N * N), *G = doubles(N * N);
        char *text;
        assert_ok(fab_kernel_describe(k, &text));
        assert_ok(fab_kernel_create(&again, text, D, NULL));
        assert_ok(fab_kernel_copy(&copy, k));
        assert_string_equal(fab_kernel_text(k), kernel_cases[c].text);
        assert_string_equal(fab_kernel_text(copy), kernel_cases[c].text);
        for (int64_t i = 0; i < fab_kernel_size(again); i++) {
            fab_kernel_parameter p;
            fab_kernel_parameter_at(again, i, &p);
            assert_int_equal(p.fixed, 1);
        }
        assert_ok(fab_kernel_gram(k, N, X, D, K, N, NULL));
        fab_kernel_free(k);
        assert_ok(fab_kernel_gram(again, N, X, D, G, N, NULL));
        for (int64_t i = 0; i < N * N; i++) assert_near(G[i], K[i], 1e-14 * largest(N * N, K));
        assert_ok(fab_kernel_gram(copy, N, X, D, G, N, NULL));
        assert_memory_equal(G, K, N * N * sizeof *K);
        fab_text_free(text);
        fab_kernel_free(again);
        fab_kernel_free(copy);
    }
}

static void columns_may_have_any_names(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "a b", "colour", "colour", "x*y (log)",
                                        "1", "a,b", "colour", "a:l=1",  "height"};
    static const struct {
        const char *text;
        int64_t n, column[4];
    } want[] = {{"rbf:ard:col=a", 1, {0}},
                {"rbf:ard:col=a b,a", 2, {1, 0}},
                {"rbf:ard:col=a,a b:l=2", 2, {0, 1}},
                {"rbf:ard:col=colour", 3, {2, 3, 7}},
                {"rbf:ard:col=x*y (log)*const", 1, {4}},
                {"rbf:ard:col=1", 1, {5}},
                {"rbf:ard:col=a,b", 1, {6}},
                {"rbf:ard:col=a:l=1", 1, {8}},
                {"rbf:ard:col=height,9", 0, {0}},
                {"rbf:ard:col=8,height", 2, {8, 9}}};
    for (size_t t = 0; t < sizeof want / sizeof *want; t++) {
        fab_kernel *k;
        const fab_status s = fab_kernel_create(&k, want[t].text, 10, names);
        if (want[t].n == 0) {
            assert_refused(s, FAB_BAD_ARGUMENT, "column 9 stands twice in col");
            continue;
        }
        assert_ok(s);
        for (int64_t i = 0; i < want[t].n; i++) {
            fab_kernel_parameter p;
            fab_kernel_parameter_at(k, 1 + i, &p);
            assert_int_equal(p.column, want[t].column[i]);
        }
        assert_int_equal(fab_kernel_size(k), 1 + want[t].n);
        fab_kernel_free(k);
    }
}

static void what_is_no_kernel_is_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "expected a kernel, a number or a ( at the end"},
        {"rbg", "there is no basic kernel 'rbg'; did you mean 'rbf'?"},
        {"zzzzzzz", "expected rbf, matern12"},
        {"rbf+", "at the end"},
        {"rbf rbf", "expected +, * or the end at 'rbf'"},
        {"(rbf", "expected +, * or ) at the end"},
        {"rbf)", "at ')'"},
        {"*rbf", "at '*rbf'"},
        {"-2*rbf", "at '-2*rbf'"},
        {"0*rbf", "a factor = 0: expected a number above 0"},
        {"1e400*rbf", "a factor = 1e400"},
        {"1e100*1e100*rbf", "make 1e+200"},
        {"rbf:l=-1", "l: expected a number above 0 at '-1'"},
        {"rbf:l=nan", "at 'nan'"},
        {"rbf:l=inf", "at 'inf'"},
        {"rbf:l=0", "l = 0"},
        {"rbf:l", "expected ="},
        {"rbf:", "expected ard or a name"},
        {"rbf:l=1:l=2", "l twice"},
        {"rbf:ard:ard", "ard twice"},
        {"rbf:ard:l=1,2", "2 numbers of l for 3 columns"},
        {"rbf:ard:l=1,2,3,4", "more than 3 numbers of l"},
        {"rbf:l=1,2,3", "several need ard"},
        {"rbf:m=3", "rbf has no 'm': it takes ard, l and col"},
        {"const:l=3", "const has no 'l': it takes col"},
        {"linear:l=1", "linear has l only with ard"},
        {"matern", "matern needs nu, as in matern:nu=1.2"},
        {"matern:nu=1000", "expected a number from 0.01 to 100"},
        {"poly:m=1.5", "expected a whole number from 1 to 20"},
        {"poly:ard", "poly has no 'ard': it takes c, m and col"},
        {"periodic", "periodic on 3 columns: say which, as in periodic:col=0"},
        {"periodic:ard:col=0", "periodic has no 'ard'"},
        {"rbf:col=3", "from 0 to 2"},
        {"rbf:col=x", "col=x: expected the number of a column"},
        {"rbf:col=1,1", "column 1 stands twice"},
        {"rbf\n", "control character 0x0a"},
    };
    fab_kernel *k;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(fab_kernel_create(&k, bad[i][0], 3, NULL), FAB_BAD_ARGUMENT, bad[i][1]);
        assert_null(k);
    }
    static const char *const names[] = {"height", "width", "age"};
    assert_refused(fab_kernel_create(&k, "rbf:col=heigth", 3, names), FAB_BAD_ARGUMENT,
                   "there is no column 'heigth'; did you mean 'height'?");
    assert_refused(fab_kernel_create(&k, "periodic", 3, names), FAB_BAD_ARGUMENT,
                   "as in periodic:col=height");
    assert_refused(fab_kernel_create(&k, NULL, 3, NULL), FAB_BAD_ARGUMENT, "no text");
    assert_refused(fab_kernel_create(&k, "rbf", 0, NULL), FAB_BAD_ARGUMENT, "0 columns");
}

/* Brackets and products have limits, and no text leaves them. */
static void texts_without_end_are_refused(void **state)
{
    (void)state;
    fab_kernel *k;
    char text[4096] = "rbf", deep[256] = "";
    for (int i = 0; i < 9; i++) strcat(text, "*(1+rq)"); /* 2^9 terms */
    assert_refused(fab_kernel_create(&k, text, 2, NULL), FAB_BAD_ARGUMENT, "more than 256 terms");
    for (int i = 0; i < 100; i++) strcat(deep, "(");
    assert_refused(fab_kernel_create(&k, deep, 2, NULL), FAB_BAD_ARGUMENT, "more than 32 brackets");
    strcpy(text, "rbf");
    for (int i = 0; i < 64; i++) strcat(text, "*rbf");
    assert_refused(fab_kernel_create(&k, text, 2, NULL), FAB_BAD_ARGUMENT,
                   "more than 64 basic kernels");
    text[strlen(text) - 4] = '\0';
    assert_ok(fab_kernel_create(&k, text, 2, NULL));
    assert_int_equal(fab_kernel_size(k), 65);
    fab_kernel_free(k);
}

static void parameters_that_are_no_numbers_change_nothing(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY, 800, -800};
    fab_kernel *k = kernel_of("rbf:ard", 2);
    double before[3], t[3], after[3];
    fab_kernel_get(k, before);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        t[0] = 1, t[1] = bad[i], t[2] = 2;
        assert_refused(fab_kernel_set(k, t), FAB_BAD_ARGUMENT, "the logarithm of l of rbf");
        fab_kernel_get(k, after);
        assert_memory_equal(before, after, sizeof before);
    }
    fab_kernel_free(k);
}

/* ---- memory and stops ------------------------------------------------------------------------------------ */

static fab_status all_calls(void)
{
    enum { N = 5, D = 2 };
    static double X[N * D] = {0, 1, 2, 3, 5, 4, 3, 3, 1, 2}, K[N * N], G[N * D], g[16];
    fab_kernel *k, *copy = NULL;
    char *text = NULL;
    fab_status s = fab_kernel_create(&k, "rbf:ard*linear + rq", D, NULL);
    if (s == FAB_OK) s = fab_kernel_copy(&copy, k);
    if (s == FAB_OK) s = fab_kernel_describe(k, &text);
    if (s == FAB_OK) s = fab_kernel_gram(k, N, X, D, K, N, NULL);
    if (s == FAB_OK) s = fab_kernel_grad_dot(k, N, X, D, 0, NULL, 0, K, N, g, NULL);
    if (s == FAB_OK) s = fab_kernel_grad_rows(k, N, X, D, N, X, D, K, N, G, NULL);
    fab_text_free(text);
    fab_kernel_free(copy);
    fab_kernel_free(k);
    return s;
}

static void an_allocation_that_fails_is_said_and_leaves_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(all_calls) >= 9);
}

static int stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    *(int *)ctx += 1;
    return 1;
}

static void a_matrix_can_be_stopped(void **state)
{
    (void)state;
    enum { N = 1200, D = 3 };
    int calls = 0;
    const fab_exec x = {.progress = stop, .progress_ctx = &calls};
    fab_kernel *k = kernel_of("rbf", D);
    double *X = some_rows(1, N, D), *K = doubles(N * N);
    assert_int_equal(fab_kernel_gram(k, N, X, D, K, N, &x), FAB_STOPPED);
    assert_int_equal(calls, 1);
    fab_kernel_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(matrices_hold_what_the_formulas_say),
        TEST(rows_near_a_million_keep_ten_digits),
        TEST(rows_that_are_the_same_correlate_wholly),
        TEST(sums_with_derivatives_are_those_of_differences),
        TEST(all_sets_of_instructions_hold_what_the_formulas_say),
        TEST(a_symmetric_sum_reads_the_lower_half),
        TEST(derivatives_by_rows_are_those_of_differences),
        TEST(bits_do_not_depend_on_threads),
        TEST(bits_do_not_depend_on_company),
        TEST(bessel_functions_of_any_order),
        TEST(bessel_functions_have_the_slope_they_say),
        TEST(a_text_becomes_a_sum_of_products),
        TEST(a_number_fixes_the_variance_wherever_it_stands),
        TEST(a_description_makes_the_same_kernel),
        TEST(columns_may_have_any_names),
        TEST(what_is_no_kernel_is_refused),
        TEST(texts_without_end_are_refused),
        TEST(parameters_that_are_no_numbers_change_nothing),
        TEST(an_allocation_that_fails_is_said_and_leaves_nothing),
        TEST(a_matrix_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
