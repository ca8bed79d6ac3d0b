/* test_rows.c - vectors as people have them: by columns, sparse, with weights.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/rows.h"
#include "fa_case.h"
#include "fabayes/net.h"

enum { D = 29, K = 3, N = 240 };

/* What takes vectors, and settings under which a few hundred rows show all that it does. */
static const struct {
    const char *name, *text;
} method[] = {{"ml", ""},
              {"em", "max_iter=50"},
              {"ppca", ""},
              {"pca", ""},
              {"online-em", ""},
              {"online-em", "expand=0 centre=running start=orthonormal"},
              {"stochastic-em", "average_from=150"},
              {"online-sga", ""},
              {"recursive-em", "block=50 warmup=60"},
              {"recursive-em", "block=1 warmup=25 centre=none"},
              {"recursive-em", "block=70 warmup=80 forget=0.999"}};
enum { METHODS = sizeof method / sizeof *method };

static fab_gauss *fit_rows(int m, const fab_rows *rows, const double *w, fab_dtype type,
                           int64_t length)
{
    const fab_exec x = {.ops = fab_ops_find(m % 2 ? "ref" : "cpu", type), .threads = 1};
    fab_fit *e = fa_open(method[m].name, length, K, method[m].text, &x);
    const fab_examples all = {.x = *rows, .weight = w};
    const fab_gauss *q;
    fab_gauss *copy;
    if (fab_fit_update(e, &all) != FAB_OK) fail_msg("%s: %s", method[m].name, fab_detail());
    if (fab_fit_gauss(e, &q) != FAB_OK) fail_msg("%s: %s", method[m].name, fab_detail());
    assert_ok(fab_gauss_copy(&copy, q, q->type));
    fab_fit_free(e);
    return copy;
}

static void check_same(int m, const fab_rows *a, const fab_rows *b, const double *wb,
                       int64_t length)
{
    for (int type = FAB_F64; type <= FAB_F32; type++) {
        fab_gauss *p = fit_rows(m, a, NULL, (fab_dtype)type, length),
                  *q = fit_rows(m, b, wb, (fab_dtype)type, length);
        assert_same_bits(p, q);
        fab_gauss_free(p);
        fab_gauss_free(q);
    }
}

/* x (n x d) by columns, `gap` elements between two columns beside the n. */
static double *by_columns(const double *x, int64_t n, int64_t d, int64_t gap)
{
    double *y = doubles((n + gap) * d);
    for (int64_t i = 0; i < (n + gap) * d; i++) y[i] = NAN; /* nobody reads the gaps */
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < d; i++) y[j + i * (n + gap)] = x[j * d + i];
    return y;
}

/* ---- by columns ------------------------------------------------------------------------------------- */

static void a_table_by_columns_is_read_as_one_by_rows(void **state)
{
    (void)state;
    double *x = fa_rows(D, K, N, 7), *y = by_columns(x, N, D, 5);
    float *small = as_floats(y, (N + 5) * D), *plain = as_floats(x, N * D);
    const fab_rows a = rows_of(x, 0, N, D);
    const fab_rows b = {.p = y, .type = FAB_F64, .n = N, .ld = 1, .stride = N + 5};
    const fab_rows c = {.p = plain, .type = FAB_F32, .n = N, .ld = D, .stride = 1};
    const fab_rows d = {.p = small, .type = FAB_F32, .n = N, .ld = 1, .stride = N + 5};
    double row[2][D], copy[D];
    assert_ok(fab_rows_check("test", &b, D));
    const fab_rows part = fab_rows_part(&b, 17, 4);
    for (int64_t j = 0; j < 4; j++) {
        fab_rows_get(&part, j, D, row[0]);
        fab_rows_get(&a, 17 + j, D, row[1]);
        fab_rows_copy(&part, j, D, copy);
        assert_memory_equal(row[0], row[1], sizeof row[0]);
        assert_memory_equal(copy, row[1], sizeof copy);
        for (int64_t i = 0; i < D; i++) assert_true(fab_rows_value(&part, j, i) == row[1][i]);
    }
    for (int m = 0; m < METHODS; m++) {
        check_same(m, &a, &b, NULL, D);
        check_same(m, &c, &d, NULL, D);
    }
}

/* More coordinates than rows: the batch methods pass over the rows. */
static void a_wide_table_by_columns_is_read_as_one_by_rows(void **state)
{
    (void)state;
    enum { n = 20 };
    double *x = fa_rows(D, K, n, 7);
    const fab_rows a = rows_of(x, 0, n, D);
    const fab_rows b = {.p = by_columns(x, n, D, 0), .type = FAB_F64, .n = n, .ld = 1, .stride = n};
    for (int m = 0; m < 4; m++) check_same(m, &a, &b, NULL, D);
}

static void models_read_a_table_by_columns(void **state)
{
    (void)state;
    enum { n = 60, d = 4 };
    double *x = fa_rows(d, 2, n, 9), *c = by_columns(x, n, d, 0), *y = doubles(n);
    const fab_rows rows[2] = {rows_of(x, 0, n, d),
                              {.p = c, .type = FAB_F64, .n = n, .ld = 1, .stride = n}};
    fab_glm glm = {.likelihood = FAB_LIKELIHOOD_BERNOULLI, .D = d, .classes = 1, .intercept = 1};
    static const char *const name[] = {"laplace", "rvga", "lrvga", "sgd"};
    for (int64_t j = 0; j < n; j++) y[j] = j % 3 > 0;
    for (int m = 0; m < 4; m++) {
        fab_gauss *q[2];
        for (int k = 0; k < 2; k++) {
            fab_model model = fab_model_linear(&glm);
            fab_fit *e;
            const fab_gauss *found;
            assert_ok(fab_fit_create(&e, name[m], NULL, 0, &(fab_input){.model = &model}, NULL));
            assert_ok(fab_fit_update(e, &(fab_examples){.x = rows[k], .y = y}));
            assert_ok(fab_fit_gauss(e, &found));
            assert_ok(fab_gauss_copy(&q[k], found, found->type));
            fab_fit_free(e);
        }
        for (int64_t i = 0; i <= d; i++)
            assert_true(fabs(q[0]->mu[i] - q[1]->mu[i]) <= 1e-12 * (1 + fabs(q[0]->mu[i])));
        fab_gauss_free(q[0]);
        fab_gauss_free(q[1]);
    }
    for (int type = FAB_F64; type <= FAB_F32; type++) { /* rows of doubles in either network */
        const fab_exec exec = {.ops = fab_ops_find("cpu", (fab_dtype)type), .threads = 1};
        const fab_net_plan plan = {.layers = "dense:5,tanh",
                                   .features = d,
                                   .batch = n,
                                   .likelihood = FAB_LIKELIHOOD_BERNOULLI,
                                   .classes = 1};
        fab_net *net;
        double out[2][n];
        assert_ok(fab_net_create(&net, &plan, &exec));
        const fab_model *m = fab_net_model(net);
        double *theta = doubles(m->D);
        fab_random_normal(31, FAB_PURPOSE_DATA, 0, 0, m->D, FAB_F64, theta);
        for (int k = 0; k < 2; k++) assert_ok(m->predict(m->self, theta, &rows[k], out[k]));
        assert_memory_equal(out[0], out[1], sizeof out[0]);
        fab_net_free(net);
    }
}

static void bad_strides_are_refused(void **state)
{
    (void)state;
    double x[40] = {0};
    fab_rows r = {.p = x, .type = FAB_F64, .n = 10, .ld = 1, .stride = 10};
    assert_ok(fab_rows_check("test", &r, 4));
    r.stride = 9; /* the second column begins inside the first */
    assert_refused(fab_rows_check("test", &r, 4), FAB_BAD_ARGUMENT,
                   "10 rows 1 apart, numbers 9 apart, do not hold vectors of length 4");
    r.stride = -1;
    assert_refused(fab_rows_check("test", &r, 4), FAB_BAD_ARGUMENT, "a stride of -1");
    r.stride = 10, r.ld = 0;
    assert_refused(fab_rows_check("test", &r, 4), FAB_BAD_ARGUMENT, "10 rows 0 apart");
    r.ld = 1;
    x[23] = NAN, x[15] = INFINITY; /* row 3, column 2; row 5, column 1 */
    assert_refused(fab_rows_check("test", &r, 4), FAB_BAD_DATA, "row 3, column 2 is nan");
    x[23] = 0;
    assert_refused(fab_rows_check("test", &r, 4), FAB_BAD_DATA, "row 5, column 1 is inf");
    const int64_t start[] = {0, 1};
    const int32_t index[] = {0};
    const fab_rows sparse = {x, FAB_F64, 1, 4, start, index, 2};
    assert_refused(fab_rows_check("test", &sparse, 4), FAB_BAD_ARGUMENT,
                   "sparse rows with a stride");
}

/* ---- sparse ----------------------------------------------------------------------------------------- */

static void sparse_vectors_are_fitted_as_dense_ones(void **state)
{
    (void)state;
    for (int64_t n = 20; n <= N; n += N - 20) { /* few rows beside columns, and many */
        double *x = fa_rows(D, K, n, 11), *value = doubles(n * D);
        int64_t start[N + 1] = {0}, count = 0;
        int32_t index[N * D];
        for (int64_t j = 0; j < n; j++) {
            for (int64_t i = 0; i < D; i++) {
                if ((j + 3 * i) % 4 && i > 0) x[j * D + i] = 0;
                if (x[j * D + i] == 0) continue;
                value[count] = x[j * D + i];
                index[count++] = (int32_t)i;
            }
            start[j + 1] = count;
        }
        const fab_rows a = rows_of(x, 0, n, D), b = {value, FAB_F64, n, D, start, index};
        for (int m = 0; m < METHODS; m++)
            if (n == N || m < 4) check_same(m, &a, &b, NULL, D);
    }
}

/* ---- weights ---------------------------------------------------------------------------------------- */

static int takes_weights(int m)
{
    return (fab_method_takes(fab_method_find(method[m].name)) & FAB_TAKES_WEIGHTS) != 0;
}

static void weights_of_1_change_nothing(void **state)
{
    (void)state;
    double *x = fa_rows(D, K, N, 13), *w = doubles(N);
    for (int64_t j = 0; j < N; j++) w[j] = 1;
    const fab_rows many = rows_of(x, 0, N, D), few = rows_of(x, 0, 20, D);
    for (int m = 0; m < METHODS; m++) {
        if (!takes_weights(m)) continue;
        check_same(m, &many, &many, w, D);
        if (m < 4) check_same(m, &few, &few, w, D);
    }
}

static void weights_are_refused_where_they_are_not_taken(void **state)
{
    (void)state;
    double *x = fa_rows(D, K, N, 13), *w = doubles(N);
    int refused = 0;
    for (int64_t j = 0; j < N; j++) w[j] = 2;
    const fab_examples all = {.x = rows_of(x, 0, N, D), .weight = w};
    for (int m = 0; m < METHODS; m++) {
        fab_fit *e = fa_open(method[m].name, D, K, method[m].text, NULL);
        if (!takes_weights(m)) {
            assert_refused(fab_fit_update(e, &all), FAB_UNSUPPORTED, "weights of vectors");
            refused++;
        } else {
            w[7] = -1;
            assert_refused(fab_fit_update(e, &all), FAB_BAD_DATA, "row 7 has weight -1");
            w[7] = NAN;
            assert_refused(fab_fit_update(e, &all), FAB_BAD_DATA, "row 7 has weight nan");
            w[7] = 2;
        }
        fab_fit_free(e);
    }
    assert_int_equal(refused, 2); /* stochastic-em and online-sga: their steps have no weights */
}

/* Rows of which every third has weight 0, and those that are left. */
static void rows_of_weight_0_are_absent(void **state)
{
    (void)state;
    double *x = fa_rows(D, K, N, 17), *w = doubles(N), *y = doubles(N * D), *v = doubles(N);
    float *single = as_floats(x, N * D);
    double *value = doubles(N * D), *whole = doubles(N * D);
    int64_t left = 0, start[N + 1] = {0}, count = 0;
    int32_t index[N * D];
    for (int64_t j = 0; j < N; j++) {
        w[j] = j % 3 == 1 || j > N - 4 ? 0 : 0.3 + (double)(j % 5);
        for (int64_t i = 0; i < D; i++) {
            if (w[j] == 0) x[j * D + i] = 1e3 * (double)(i + j);
            x[j * D + i] = (double)(float)x[j * D + i];
            single[j * D + i] = (float)x[j * D + i];
            if ((i + j) % 7 == 0) continue; /* nothing is stored here, below */
            value[count] = x[j * D + i];
            index[count++] = (int32_t)i;
        }
        start[j + 1] = count;
        if (w[j] == 0) continue;
        for (int64_t i = 0; i < D; i++) y[left * D + i] = (i + j) % 7 ? x[j * D + i] : 0;
        memcpy(whole + left * D, x + j * D, D * sizeof *x);
        v[left++] = w[j];
    }
    const fab_rows all = rows_of(x, 0, N, D);
    const fab_rows floats = {.p = single, .type = FAB_F32, .n = N, .ld = D},
                   columns = {.p = by_columns(x, N, D, 0), .n = N, .ld = 1, .stride = N},
                   sparse = {value, FAB_F64, N, D, start, index};
    const fab_rows want[] = {rows_of(whole, 0, left, D), rows_of(y, 0, left, D)};
    const fab_rows *const given[] = {&all, &floats, &columns, &sparse};
    for (int m = 0; m < METHODS; m++) {
        if (!takes_weights(m)) continue;
        for (int g = 0; g < 4; g++)
            for (int type = FAB_F64; type <= FAB_F32; type++) {
                fab_gauss *p = fit_rows(m, &want[g == 3], v, (fab_dtype)type, D),
                          *q = fit_rows(m, given[g], w, (fab_dtype)type, D);
                assert_same_bits(p, q);
                fab_gauss_free(p);
                fab_gauss_free(q);
            }
        fab_fit *e = fa_open(method[m].name, D, K, method[m].text, NULL);
        memset(v, 0, N * sizeof *v);
        const fab_examples none = {.x = all, .weight = v};
        if (fab_method_streams(fab_fit_method(e)))
            assert_ok(fab_fit_update(e, &none));
        else
            assert_refused(fab_fit_update(e, &none), FAB_BAD_DATA, "every weight is zero");
        assert_int_equal(fab_fit_rows(e), 0);
        assert_ok(fab_fit_update(e, &(fab_examples){.x = all, .weight = w}));
        assert_int_equal(fab_fit_rows(e), left);
        fab_fit_free(e);
        for (int64_t j = 0, k = 0; j < N; j++)
            if (w[j] != 0) v[k++] = w[j];
    }
}

/* n rows of which row j is there w_j times, and the weights. */
static int64_t repeated(const double *x, int64_t n, double *w, double *y)
{
    int64_t count = 0;
    for (int64_t j = 0; j < n; j++) {
        w[j] = (double)(1 + j * j % 3);
        for (int64_t k = 0; k < (int64_t)w[j]; k++)
            memcpy(y + count++ * D, x + j * D, D * sizeof *y);
    }
    return count;
}

static double far_apart(const fab_gauss *a, const fab_gauss *b)
{
    double distance;
    assert_ok(fab_distance_covariance(a, b, NULL, &distance));
    for (int64_t i = 0; i < a->D; i++) distance = fmax(distance, fabs(a->mu[i] - b->mu[i]));
    return distance;
}

/* Batch: the same to what the search for the maximum leaves. */
static void a_row_of_weight_w_is_w_rows(void **state)
{
    (void)state;
    double *x = fa_rows(D, K, N, 17), *w = doubles(N), *y = doubles(3 * N * D);
    for (int64_t n = 10; n <= N; n += N - 10) { /* 18 rows for 29 columns, and many */
        const int64_t count = repeated(x, n, w, y);
        const fab_rows one = rows_of(x, 0, n, D), all = rows_of(y, 0, count, D);
        for (int m = 0; m < 4; m++) {
            if (n < N && m == 0) continue; /* ml of 10 rows has no single maximum */
            fab_gauss *p = fit_rows(m, &one, w, FAB_F64, D),
                      *q = fit_rows(m, &all, NULL, FAB_F64, D);
            if (!(far_apart(p, q) < 1e-6))
                fail_msg("%s, %lld rows: %g", method[m].name, (long long)n, far_apart(p, q));
            fab_gauss_free(p);
            fab_gauss_free(q);
        }
    }
}

/* One block holds all rows: nothing depends on where blocks end. */
static void a_block_of_weighted_rows_is_one_of_repeated_rows(void **state)
{
    (void)state;
    static const char *const text[] = {"warmup=500", "warmup=500 start=random",
                                       "warmup=500 centre=none inner_rank=3"};
    double *x = fa_rows(D, K, 25, 19), *w = doubles(25), *y = doubles(75 * D);
    const int64_t count = repeated(x, 25, w, y);
    for (int t = 0; t < 3; t++) {
        const fab_rows all = rows_of(y, 0, count, D);
        fab_gauss *q = fa_fit("recursive-em", K, text[t], NULL, &all, NULL);
        fab_fit *e = fa_open("recursive-em", D, K, text[t], NULL);
        assert_ok(fab_fit_update(e, &(fab_examples){.x = rows_of(x, 0, 25, D), .weight = w}));
        if (!(far_apart(fa_result(e), q) < 1e-6))
            fail_msg("%s: %g", text[t], far_apart(fa_result(e), q));
        fab_fit_free(e);
        fab_gauss_free(q);
    }
}

/* Mean and variances of a stream are exact, whatever the weights and the blocks: the dense oracle. */
static void weighted_moments_of_a_stream_are_exact(void **state)
{
    (void)state;
    double *x = fa_rows(D, K, N, 23), *w = doubles(N);
    real mu[D], weight[N];
    fab_random_uniform(23, FAB_PURPOSE_DATA, 1, 0, N, w);
    for (int64_t j = 0; j < N; j++) weight[j] = w[j] = 0.1 + 3 * w[j];
    const fab_rows rows = rows_of(x, 0, N, D);
    real *S = sample_covariance(&rows, weight, mu);
    static const int all[] = {0, 1, 4, 8}; /* ml, em, online-em, recursive-em */
    for (int m = 0; m < 4; m++) {
        fab_gauss *q = fit_rows(all[m], &rows, w, FAB_F64, D);
        const double *F = q->F;
        for (int64_t i = 0; i < D; i++) {
            double v = q->psi[i];
            for (int64_t k = 0; k < K; k++) v += F[i * K + k] * F[i * K + k];
            assert_true(fabs(q->mu[i] - (double)mu[i]) < 1e-12);
            if (!(fabs(v / (double)S[i * D + i] - 1) < 1e-3))
                fail_msg("%s: variance %g, expected %g", method[all[m]].name, v,
                         (double)S[i * D + i]);
        }
        fab_gauss_free(q);
    }
}

/* Weights over a save in the middle of a block. */
static void weighted_rows_that_are_pending_are_saved(void **state)
{
    (void)state;
    double *x = fa_rows(D, K, N, 29), *w = doubles(N);
    for (int64_t j = 0; j < N; j++) w[j] = 0.5 + (double)(j % 5);
    for (int64_t at = 10; at < N; at += 67) {
        fab_gauss *whole;
        const fab_rows rows = rows_of(x, 0, N, D);
        whole = fit_rows(8, &rows, w, FAB_F64, D);
        fab_fit *e = fa_open(method[8].name, D, K, method[8].text, NULL), *again;
        void *bytes;
        size_t size;
        fab_tensors *file;
        assert_ok(fab_fit_update(e, &(fab_examples){.x = rows_of(x, 0, at, D), .weight = w}));
        assert_ok(fab_fit_pack(e, 0, NULL, &bytes, &size));
        assert_ok(fab_tensors_parse(&file, "memory", bytes, size));
        const fab_exec one = {.threads = 1};
        assert_ok(fab_fit_load(&again, file, NULL, &one));
        assert_ok(fab_fit_update(
            again, &(fab_examples){.x = rows_of(x, at, N - at, D), .weight = w + at}));
        assert_same_bits(fa_result(again), whole);
        fab_fit_free(again);
        fab_fit_free(e);
        fab_tensors_free(file);
        fab_bytes_free(bytes);
        fab_gauss_free(whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_table_by_columns_is_read_as_one_by_rows),
        TEST(a_wide_table_by_columns_is_read_as_one_by_rows),
        TEST(models_read_a_table_by_columns),
        TEST(bad_strides_are_refused),
        TEST(sparse_vectors_are_fitted_as_dense_ones),
        TEST(weights_of_1_change_nothing),
        TEST(weights_are_refused_where_they_are_not_taken),
        TEST(rows_of_weight_0_are_absent),
        TEST(a_row_of_weight_w_is_w_rows),
        TEST(a_block_of_weighted_rows_is_one_of_repeated_rows),
        TEST(weighted_moments_of_a_stream_are_exact),
        TEST(weighted_rows_that_are_pending_are_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
