/* test_features.c - features of kernels against the kernels: random ones within their error, Nystrom's to rounding.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "files.h"
#include "kernel_case.h"
#include "plain.h"
#include "fabayes/fit.h"
#include "la/nn.h"
#include "fit/fit.h"
#include <float.h>

static fab_kernel *kernel_of(const char *text, int64_t D)
{
    fab_kernel *k;
    assert_ok(fab_kernel_create(&k, text, D, NULL));
    return k;
}

static fab_features *rff_of(const char *text, int64_t D, int64_t m, int64_t orthogonal,
                            uint64_t seed)
{
    fab_features *f;
    fab_kernel *k = kernel_of(text, D);
    assert_ok(fab_features_rff(&f, k, m, orthogonal, seed));
    fab_kernel_free(k);
    return f;
}

static double product(int64_t m, const double *a, const double *b)
{
    double s = 0;
    for (int64_t j = 0; j < m; j++) s += a[j] * b[j];
    return s;
}

/* ---- random features ------------------------------------------------------------------------------------ */

/* cos(w'(x - z)) is at most 1 from 0: the mean of P pairs has a standard deviation of at most P^-1/2, of terms together
 * sum s2 P^-1/2 at most, were all pairs one term's; the least share of a term below is a fifth.  Five of those: for a normal
 * error 6e-7 of each of some 1500 numbers. */
static void compare_with_kernel(const char *text, double sum, int64_t orthogonal)
{
    enum { N = 8, D = 3, M = 20000 };
    fab_features *f = rff_of(text, D, M, orthogonal, 7);
    const fab_kernel *k = fab_features_kernel(f);
    double *X = some_rows(3, N, D), *phi = doubles(N * M), *K = doubles(N * N), *left = doubles(N);
    const double error = 5 * sum / sqrt(M / 2 / 5);
    assert_ok(fab_kernel_gram(k, N, X, D, K, N, NULL));
    assert_ok(fab_features_apply(f, N, X, D, phi, M, left, NULL));
    for (int64_t i = 0; i < N; i++) {
        assert_near(product(M, phi + i * M, phi + i * M), K[i * N + i], 1e-12 * sum);
        assert_true(left[i] == 0);
        for (int64_t j = 0; j < i; j++)
            assert_near(product(M, phi + i * M, phi + j * M), K[i * N + j], error);
    }
    fab_features_free(f);
}

static void products_of_random_features_are_near_the_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double sum;
    } all[] = {
        {"rbf:l=1.3", 1},
        {"rbf:ard:l=0.7,1.9,2.4", 1},
        {"matern12:l=2.1", 1},
        {"matern32:ard:l=1.1,0.9,3", 1},
        {"matern52:l=1.4", 1},
        {"matern:nu=0.3:l=2", 1},
        {"matern:nu=1.7:l=1.2", 1},
        {"rq:l=1.2:a=0.7", 1},
        {"rq:l=1.2:a=12", 1},
        {"periodic:col=1:l=0.9:p=1.7", 1},
        {"rbf:l=2*periodic:col=0:l=1.1:p=2.3", 1},
        {"rbf:l=1.5*matern32:col=2:l=1", 1},
        {"1.7*rbf:l=0.8 + 2.385*matern12:l=3 + 0.9*const", 4.985},
        {"(1.1*rbf:l=1 + 0.7*rq:l=2:a=1)*periodic:col=2:l=1:p=3", 1.8},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int orthogonal = 0; orthogonal < 2; orthogonal++)
            compare_with_kernel(all[i].text, all[i].sum, orthogonal);
}

static double square_error(int64_t orthogonal)
{
    enum { N = 20, D = 8, M = 64, SEEDS = 40 };
    double *X = some_rows(5, N, D), *phi = doubles(N * M), *K = doubles(N * N), sum = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fab_features *f = rff_of("rbf:l=3", D, M, orthogonal, seed);
        assert_ok(fab_kernel_gram(fab_features_kernel(f), N, X, D, K, N, NULL));
        assert_ok(fab_features_apply(f, N, X, D, phi, M, NULL, NULL));
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < i; j++)
                sum += square(product(M, phi + i * M, phi + j * M) - K[i * N + j]);
        fab_features_free(f);
    }
    return sum;
}

/* Near the ends of the range, near quarter turns and in between, and in every place of a vector. */
static void cosines_and_sines_are_good_to_1e_15(void **state)
{
    (void)state;
    enum { N = 4003 };
    double *x = doubles(N), *c = doubles(N), *s = doubles(N);
    for (int i = 0; i < N; i++) {
        const double part = 2.0 * i / (N - 1) - 1;
        x[i] = i % 3 == 0 ? 1e6 * part : (i % 3 == 1 ? 20 * part : (i - N / 2) * acos(0));
    }
    x[7] = 0;
    fab_nn_find(FAB_F64)->turns(N, x, c, s);
    for (int i = 0; i < N; i++) {
        assert_near(c[i], cos(x[i]), 1e-15);
        assert_near(s[i], sin(x[i]), 1e-15);
    }
    fab_nn_find(FAB_F64)->turns(3, x + 5, c, x + 5);
    for (int i = 0; i < 3; i++) assert_near(x[5 + i], s[5 + i], 0);
}

static void orthogonal_frequencies_err_less(void **state)
{
    (void)state;
    assert_true(square_error(1) < 0.8 * square_error(0));
}

static void other_seeds_make_other_features(void **state)
{
    (void)state;
    enum { M = 6 };
    double x[2] = {0.3, -1.2}, a[M], b[M], c[M];
    fab_features *first = rff_of("rbf", 2, M, 0, 1), *again = rff_of("rbf", 2, M, 0, 1),
                 *other = rff_of("rbf", 2, M, 0, 2);
    assert_ok(fab_features_apply(first, 1, x, 2, a, M, NULL, NULL));
    assert_ok(fab_features_apply(again, 1, x, 2, b, M, NULL, NULL));
    assert_ok(fab_features_apply(other, 1, x, 2, c, M, NULL, NULL));
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    fab_features_free(first);
    fab_features_free(again);
    fab_features_free(other);
}

static void what_random_features_cannot_be_is_refused(void **state)
{
    (void)state;
    fab_features *f;
    fab_kernel *line = kernel_of("rbf + linear", 2), *two = kernel_of("rbf + rq", 2);
    assert_refused(fab_features_rff(&f, line, 10, 0, 0), FAB_UNSUPPORTED, "is not stationary");
    assert_null(f);
    assert_refused(fab_features_rff(&f, two, 11, 0, 0), FAB_BAD_ARGUMENT, "they come in pairs");
    assert_refused(fab_features_rff(&f, two, 0, 0, 0), FAB_BAD_ARGUMENT, "they come in pairs");
    assert_refused(fab_features_rff(&f, two, 2, 0, 0), FAB_BAD_ARGUMENT, "too few for 2 terms");
    fab_kernel_free(line);
    fab_kernel_free(two);
}

/* ---- landmarks ------------------------------------------------------------------------------------------ */

/* q(x_i, x_j) = k_z(x_i)' Kzz^-1 k_z(x_j), with Z chosen one after the other by the same with those before. */
static void dense_nystrom(const fab_kernel *k, int64_t n, int64_t D, const double *X, int64_t m,
                          double *Q)
{
    double *Z = doubles(m * D), *Kzz = doubles(m * m), *Kxz = doubles(n * m), *diag = doubles(n);
    fab_kernel_diag(k, n, X, D, diag);
    for (int64_t count = 0; count <= m; count++) {
        memset(Q, 0, (size_t)(n * n) * sizeof *Q);
        if (count) {
            assert_ok(fab_kernel_gram(k, count, Z, D, Kzz, count, NULL));
            assert_ok(fab_kernel_cross(k, n, X, D, count, Z, D, Kxz, count, NULL));
            real *A = dense_new(count * count), *B = dense_new(n * count);
            for (int64_t i = 0; i < count * count; i++) A[i] = Kzz[i];
            for (int64_t i = 0; i < n * count; i++) B[i] = Kxz[i];
            real *half = dense_mul(n, count, count, B, dense_inverse(count, A));
            real *all = dense_mul(n, count, n, half, dense_transpose(n, count, B));
            for (int64_t i = 0; i < n * n; i++) Q[i] = (double)all[i];
        }
        int64_t at = 0;
        for (int64_t i = 1; i < n; i++)
            if (diag[i] - Q[i * n + i] > diag[at] - Q[at * n + at]) at = i;
        if (count < m) memcpy(Z + count * D, X + at * D, (size_t)D * sizeof *Z);
    }
}

/* Kzz has a condition below 1e4 in these: an inverse loses as many digits. */
static void compare_with_dense(const char *text, int64_t n, int64_t m)
{
    enum { D = 3 };
    fab_features *f;
    fab_kernel *k = kernel_of(text, D);
    double *X = some_rows(11, n, D), *phi = doubles(n * (m + 1)), *Q = doubles(n * n),
           *left = doubles(n), *diag = doubles(n);
    dense_nystrom(k, n, D, X, m, Q);
    fab_kernel_diag(k, n, X, D, diag);
    assert_ok(fab_features_nystrom(&f, k, m, n, X, D, NULL));
    assert_int_equal(fab_features_size(f), m);
    assert_true(fab_features_leave(f));
    assert_ok(fab_features_apply(f, n, X, D, phi, m + 1, left, NULL));
    for (int64_t i = 0; i < n; i++) {
        assert_near(left[i], diag[i] - Q[i * n + i], 1e-11 * diag[i]);
        assert_true(left[i] >= 0);
        for (int64_t j = 0; j < n; j++)
            assert_near(product(m, phi + i * (m + 1), phi + j * (m + 1)), Q[i * n + j],
                        1e-11 * sqrt(diag[i] * diag[j]));
    }
    fab_features_free(f);
    fab_kernel_free(k);
}

static void landmarks_are_the_rows_that_are_explained_least(void **state)
{
    (void)state;
    compare_with_dense("rbf:l=0.9", 29, 7);
    compare_with_dense("2.385*matern32:l=1.5 + 0.7*linear", 31, 9);
    compare_with_dense("poly:m=2:c=1.3", 17, 4);
    compare_with_dense("rbf:l=0.9", 1, 1);
    compare_with_dense("matern12", 12, 12);
}

static void landmarks_at_all_rows_leave_nothing(void **state)
{
    (void)state;
    enum { N = 23, D = 2 };
    fab_features *f;
    fab_kernel *k = kernel_of("1.7*matern32:l=0.8", D);
    double *X = some_rows(4, N, D), *phi = doubles(N * N), *K = doubles(N * N), *left = doubles(N);
    assert_ok(fab_kernel_gram(k, N, X, D, K, N, NULL));
    assert_ok(fab_features_nystrom(&f, k, N, N, X, D, NULL));
    assert_ok(fab_features_apply(f, N, X, D, phi, N, left, NULL));
    for (int64_t i = 0; i < N; i++) {
        assert_near(left[i], 0, 1e-12);
        for (int64_t j = 0; j < N; j++)
            assert_near(product(N, phi + i * N, phi + j * N), K[i * N + j], 1e-12);
    }
    fab_features_free(f);
    fab_kernel_free(k);
}

static void rows_that_say_the_same_are_one_landmark(void **state)
{
    (void)state;
    const double X[] = {0.3, 1.2, 0.3, -0.7, 1.2, 0.3, -0.7, 2.385};
    fab_features *f;
    fab_kernel *k = kernel_of("rbf", 1), *flat = kernel_of("const", 1);
    assert_ok(fab_features_nystrom(&f, k, 8, 8, X, 1, NULL));
    assert_int_equal(fab_features_size(f), 4);
    fab_features_free(f);
    assert_ok(fab_features_nystrom(&f, flat, 3, 8, X, 1, NULL));
    assert_int_equal(fab_features_size(f), 1);
    fab_features_free(f);
    fab_kernel_free(k);
    fab_kernel_free(flat);
}

static void landmarks_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const double X[] = {0.3, 1.2, 0}, zero[] = {0, 0};
    fab_features *f;
    fab_kernel *k = kernel_of("rbf", 1), *line = kernel_of("linear", 1);
    assert_refused(fab_features_nystrom(&f, k, 4, 3, X, 1, NULL), FAB_BAD_DATA,
                   "4 landmarks are more than the 3 first rows");
    assert_null(f);
    assert_refused(fab_features_nystrom(&f, k, 0, 3, X, 1, NULL), FAB_BAD_ARGUMENT,
                   "0 landmarks, expected 1 or more");
    assert_refused(fab_features_nystrom(&f, line, 1, 2, zero, 1, NULL), FAB_NUMERIC,
                   "the kernel of the first rows is 0");
    fab_kernel_free(k);
    fab_kernel_free(line);
}

/* ---- both ----------------------------------------------------------------------------------------------- */

/* Features of N rows at once, and of each alone behind others, on several threads. */
static void compare_bits(const fab_features *f, int64_t D)
{
    enum { N = 197 };
    const int64_t m = fab_features_size(f);
    double *X = some_rows(21, N, D), *all = doubles(N * m), *one = doubles(N * m),
           *left = doubles(N), *rest = doubles(N);
    assert_ok(fab_features_apply(f, N, X, D, all, m, left, &(fab_exec){.threads = 1}));
    assert_ok(fab_features_apply(f, N, X, D, one, m, rest, &(fab_exec){.threads = 3}));
    assert_memory_equal(all, one, (size_t)(N * m) * sizeof *all);
    assert_memory_equal(left, rest, N * sizeof *left);
    for (int64_t first = 0, n = 1; first < N; first += n, n = first % 7 + 1) {
        if (n > N - first) n = N - first;
        assert_ok(fab_features_apply(f, n, X + first * D, D, one, m, rest, NULL));
        assert_memory_equal(all + first * m, one, (size_t)(n * m) * sizeof *all);
        assert_memory_equal(left + first, rest, (size_t)n * sizeof *left);
    }
}

static fab_features *some_nystrom(int64_t m)
{
    enum { N = 61, D = 3 };
    fab_features *f;
    fab_kernel *k = kernel_of("1.3*rbf:ard:l=1,2,0.8 + 0.4*matern52", D);
    assert_ok(fab_features_nystrom(&f, k, m, N, some_rows(2, N, D), D, NULL));
    fab_kernel_free(k);
    return f;
}

static void a_row_has_the_same_bits_in_any_company(void **state)
{
    (void)state;
    fab_features *f = some_nystrom(37), *g = rff_of("rbf*periodic:col=1 + rq", 3, 58, 1, 3);
    compare_bits(f, 3);
    compare_bits(g, 3);
    fab_features_free(f);
    fab_features_free(g);
}

static void compare_files(fab_features *f)
{
    enum { N = 70, D = 3 };
    const int64_t m = fab_features_size(f);
    fab_features *back;
    char *text, *again;
    double *X = some_rows(8, N, D), *a = doubles(N * m), *b = doubles(N * m), *left = doubles(N),
           *rest = doubles(N);
    assert_ok(fab_features_json(f, &text));
    assert_ok(fab_features_from_json(&back, text, D, NULL));
    assert_ok(fab_features_json(back, &again));
    assert_string_equal(text, again);
    assert_ok(fab_features_apply(f, N, X, D, a, m, left, NULL));
    assert_ok(fab_features_apply(back, N, X, D, b, m, rest, NULL));
    assert_memory_equal(a, b, (size_t)(N * m) * sizeof *a);
    assert_memory_equal(left, rest, N * sizeof *left);
    fab_text_free(text);
    fab_text_free(again);
    fab_features_free(back);
    fab_features_free(f);
}

static void a_text_gives_back_the_same_bits(void **state)
{
    (void)state;
    compare_files(some_nystrom(37));
    compare_files(rff_of("matern:nu=1.7*periodic:col=1 + rq", 3, 58, 0, 3));
    compare_files(rff_of("rbf:ard", 3, 58, 1, 1));
}

static void a_text_that_cannot_be_is_refused(void **state)
{
    (void)state;
#define K "\"kernel\": \"rbf\", \"theta\": [0, 0]"
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"{}", "they have no kernel"},
        {"[1", "is not JSON"},
        {"{\"kernel\": \"rfb\"}", "rbf"},
        {"{\"kernel\": \"rbf\", \"theta\": [0]}", "'theta' is not a list of 2 numbers"},
        {"{\"kernel\": \"rbf\", \"theta\": [0, 1e9]}", "the logarithm of l"},
        {"{\"kernel\": \"rbf\", \"theta\": [0, true]}", "number 1 of 'theta' is none"},
        {"{" K "}", "their number cannot be"},
        {"{" K ", \"size\": 0, \"kind\": \"rff\"}", "their number cannot be"},
        {"{" K ", \"size\": 1e99, \"kind\": \"rff\"}", "their number cannot be"},
        {"{" K ", \"size\": 4}", "their kind is not known"},
        {"{" K ", \"size\": 4, \"kind\": \"fourier\"}", "their kind is not known"},
        {"{" K ", \"size\": 4, \"kind\": \"rff\", \"seed\": -1}", "their seed cannot be"},
        {"{" K ", \"size\": 3, \"kind\": \"rff\", \"seed\": 1}", "they come in pairs"},
        {"{" K ", \"size\": 2, \"kind\": \"nystrom\"}", "fewer were asked for"},
        {"{" K ", \"size\": 2, \"kind\": \"nystrom\", \"asked\": 2, \"landmarks\": [1]}",
         "'landmarks' is not a list of 2 numbers"},
        {"{" K ", \"size\": 2, \"kind\": \"nystrom\", \"asked\": 2, \"landmarks\": [1, 1]}",
         "the matrix of their kernel"},
    };
#undef K
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fab_features *f;
        assert_refused(fab_features_from_json(&f, bad[i].text, 1, NULL), FAB_BAD_FILE,
                       bad[i].words);
        assert_null(f);
    }
}

/* ---- memory and stops ------------------------------------------------------------------------------------ */

static fab_status all_calls(void)
{
    enum { N = 9, D = 2, M = 4 };
    static double X[N * D] = {0, 1, 2, 3, 5, 4, 3, 3, 1, 2, 7, 1, 0, 2, 2, 9, 4, 4};
    static double phi[N * 6], left[N];
    fab_features *f = NULL, *g = NULL, *back = NULL;
    fab_kernel *k;
    char *text = NULL;
    const fab_exec alone = {.threads = 1};
    fab_status s = fab_kernel_create(&k, "rbf:ard*periodic:col=0 + rq", D, NULL);
    if (s == FAB_OK) s = fab_features_nystrom(&f, k, M, N, X, D, &alone);
    if (s == FAB_OK) s = fab_features_rff(&g, k, 6, 1, 2);
    if (s == FAB_OK) s = fab_features_apply(f, N, X, D, phi, M, left, &alone);
    if (s == FAB_OK) s = fab_features_apply(g, N, X, D, phi, 6, left, &alone);
    if (s == FAB_OK) s = fab_features_json(f, &text);
    if (s == FAB_OK) s = fab_features_from_json(&back, text, D, NULL);
    fab_text_free(text);
    fab_features_free(back);
    fab_features_free(f);
    fab_features_free(g);
    fab_kernel_free(k);
    return s;
}

static void an_allocation_that_fails_is_said_and_leaves_nothing(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(all_calls) >= 20);
}

static int stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    *(int *)ctx += 1;
    return 1;
}

static void features_of_many_rows_can_be_stopped(void **state)
{
    (void)state;
    enum { N = 9000, D = 3 };
    int calls = 0;
    const fab_exec x = {.threads = 1, .progress = stop, .progress_ctx = &calls};
    fab_features *f = some_nystrom(50);
    double *X = some_rows(1, N, D), *phi = doubles(N * 50);
    assert_int_equal(fab_features_apply(f, N, X, D, phi, 50, NULL, &x), FAB_STOPPED);
    assert_int_equal(calls, 1);
    fab_features_free(f);
}

/* ---- calibration ---------------------------------------------------------------------------------------- */

enum { ROWS = 60, NEW = 4, DRAWS = 1000, LANDMARKS = 12 };

/* Mean of y at NEW rows of a linear model of features with weights N(0, I), as a matrix (NEW x ROWS) on y, and its variance. */
static void linear_in_y(int64_t m, const double *phi, const double *new, const double *left,
                        double noise, double *map, double *variance)
{
    double *A = doubles(m * m), *S = doubles(m * m), *B = doubles(NEW * m);
    plain_mm(1, 0, m, m, ROWS, phi, phi, A);
    for (int64_t i = 0; i < m; i++) A[i * (m + 1)] += noise;
    plain_inverse(m, A, S);
    plain_mm(0, 0, NEW, m, m, new, S, B);
    plain_mm(0, 1, NEW, ROWS, m, B, phi, map);
    for (int64_t i = 0; i < NEW; i++)
        variance[i] = noise * (1 + product(m, B + i * m, new + i *m)) + left[i];
}

/* Functions of a kernel at 60 rows, and at 4 more where 90 % intervals of y are held against them: of features with the noise of the
 * truth, and of vfe, which looks for its noise.  4000 intervals of 1000 functions: a standard error of at most 1 %.  Nystrom's, with
 * what its features leave, may not cover less than 85 %. */
static void landmarks_cover_what_they_leave(void **state)
{
    (void)state;
    static const char text[] = "1*rbf:l=0.4";
    const double s2 = 0.04;
    enum { ALL = ROWS + NEW };
    double *X = doubles(ALL), *K = doubles(ALL * ALL), *L = doubles(ALL * ALL), e[2 * ALL], y[ALL];
    double *map[2], variance[2][NEW];
    int covered[3] = {0};
    fab_kernel *k = kernel_of(text, 1);
    fab_features *f[2];
    for (int i = 0; i < ALL; i++) X[i] = i < ROWS ? 6.0 * i / ROWS - 3 : 1.3 * (i - ROWS) - 2;
    assert_ok(fab_features_nystrom(&f[0], k, LANDMARKS, ROWS, X, 1, NULL));
    assert_ok(fab_features_rff(&f[1], k, LANDMARKS, 0, 3));
    for (int which = 0; which < 2; which++) {
        double *phi = doubles(ALL * LANDMARKS), left[ALL];
        map[which] = doubles(NEW * ROWS);
        assert_ok(fab_features_apply(f[which], ALL, X, 1, phi, LANDMARKS, left, NULL));
        linear_in_y(LANDMARKS, phi, phi + ROWS * LANDMARKS, left + ROWS, s2, map[which],
                    variance[which]);
        fab_features_free(f[which]);
    }
    assert_ok(fab_kernel_gram(k, ALL, X, 1, K, ALL, NULL));
    for (int i = 0; i < ALL; i++) K[i * (ALL + 1)] += 1e-10;
    plain_chol(ALL, K, L);
    fab_glm glm = {.likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = 1, .classes = 1};
    const fab_model model = fab_model_kernel(&glm, k);
    fab_vfe_settings how = fab_vfe_defaults();
    how.inducing = LANDMARKS;
    for (int j = 0; j < DRAWS; j++) {
        double mean[3][NEW], v[3][NEW];
        fab_random_normal(4, FAB_PURPOSE_DATA, (uint64_t)j, 0, 2 * ALL, FAB_F64, e);
        for (int i = 0; i < ALL; i++) y[i] = product(i + 1, L + i * ALL, e) + sqrt(s2) * e[ALL + i];
        for (int which = 0; which < 2; which++) {
            plain_mm(0, 0, NEW, 1, ROWS, map[which], y, mean[which]);
            memcpy(v[which], variance[which], sizeof v[which]);
        }
        fab_fit *fit;
        fab_process *p;
        const fab_gauss *q;
        fab_report report;
        assert_ok(
            fab_fit_create(&fit, "vfe", &how, sizeof how, &(fab_input){.model = &model}, NULL));
        assert_ok(fab_fit_update(fit, &(fab_examples){.x = {X, FAB_F64, ROWS, 1}, .y = y}));
        assert_ok(fab_fit_gauss(fit, &q));
        assert_ok(fab_fit_report(fit, &report));
        assert_ok(fab_fit_process(fit, &p));
        assert_ok(fab_process_predict(p, NEW, X + ROWS, 1, mean[2], v[2], NULL));
        for (int i = 0; i < NEW; i++) v[2][i] += 1 / report.beta;
        fab_fit_free(fit);
        for (int which = 0; which < 3; which++)
            for (int i = 0; i < NEW; i++)
                covered[which] += fabs(y[ROWS + i] - mean[which][i]) <
                                  1.6448536269514722 * sqrt(v[which][i]);
    }
    static const char *const name[] = {"nystrom", "rff", "vfe"};
    for (int which = 0; which < 3; which++)
        print_message("90 %% intervals of %s with %d of them hold %.1f %%\n", name[which],
                      LANDMARKS, 100.0 * covered[which] / (DRAWS * NEW));
    assert_true(covered[0] > 0.85 * DRAWS * NEW);
    fab_kernel_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(products_of_random_features_are_near_the_kernel),
        TEST(cosines_and_sines_are_good_to_1e_15),
        TEST(orthogonal_frequencies_err_less),
        TEST(other_seeds_make_other_features),
        TEST(what_random_features_cannot_be_is_refused),
        TEST(landmarks_are_the_rows_that_are_explained_least),
        TEST(landmarks_at_all_rows_leave_nothing),
        TEST(rows_that_say_the_same_are_one_landmark),
        TEST(landmarks_that_cannot_be_are_refused),
        TEST(a_row_has_the_same_bits_in_any_company),
        TEST(a_text_gives_back_the_same_bits),
        TEST(a_text_that_cannot_be_is_refused),
        TEST(an_allocation_that_fails_is_said_and_leaves_nothing),
        TEST(features_of_many_rows_can_be_stopped),
        TEST(landmarks_cover_what_they_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
