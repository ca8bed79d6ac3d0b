/* test_centres.c - rows against centres: plain loops, ties, rows far from 0, sums, threads.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "la/centres.h"
#include "la/ops.h"

/* A table of n x D in its type, and centres K x D. */
typedef struct table {
    fab_rows x;
    double *mu;
    int64_t D, K;
} table;

static table some_table(fab_dtype type, int64_t n, int64_t D, int64_t K, double offset,
                        double scale)
{
    double *x = doubles(n * D);
    float *y = dense_bytes((size_t)(n * D) * sizeof *y);
    table t = {.mu = doubles(K * D), .D = D, .K = K};
    for (int64_t i = 0; i < n * D; i++) {
        x[i] = scale * (offset + 2.385 * noise(3, i));
        y[i] = (float)x[i];
    }
    for (int64_t i = 0; i < K * D; i++) t.mu[i] = scale * (offset + 2 * noise(4, i));
    t.x = (fab_rows){type == FAB_F32 ? (const void *)y : x, type, n, D};
    return t;
}

typedef struct found {
    int32_t *label;
    double *sums, *counts;
    int64_t second, changed;
} found;

static found find(const table *t, fab_dtype products, const double *shift, const double *weight,
                  int threads)
{
    const int64_t n = t->x.n, D = t->D, K = t->K;
    fab_centres c;
    found f = {dense_bytes((size_t)n * sizeof(int32_t)), doubles(K * D), doubles(K)};
    assert_ok(fab_centres_init(&c, D, K, products, shift, threads, "test"));
    fab_centres_set(&c, K, t->mu);
    for (int64_t i = 0; i < n; i++) f.label[i] = -1;
    fab_assignment a = {.x = &t->x,
                        .weight = weight,
                        .label = f.label,
                        .sums = f.sums,
                        .counts = f.counts,
                        .partial = doubles(fab_centres_partials(n, K, D))};
    fab_centres_assign(&c, &a);
    f.second = a.second;
    f.changed = a.changed;
    fab_centres_free(&c);
    return f;
}

/* The first of the least distances, looked for among all. */
static int64_t plain_nearest(const table *t, int64_t i)
{
    int64_t best = 0;
    for (int64_t k = 1; k < t->K; k++)
        if (fab_row_distance(&t->x, i, t->D, t->mu + k * t->D) <
            fab_row_distance(&t->x, i, t->D, t->mu + best * t->D))
            best = k;
    return best;
}

static void check_labels(const table *t, const found *f)
{
    for (int64_t i = 0; i < t->x.n; i++) {
        const int64_t want = plain_nearest(t, i);
        if (f->label[i] != want)
            fail_msg("row %lld of %lld x %lld: centre %d, expected %lld of %lld", (long long)i,
                     (long long)t->x.n, (long long)t->D, f->label[i], (long long)want,
                     (long long)t->K);
    }
}

static void centres_are_those_of_plain_loops(void **state)
{
    (void)state;
    static const int64_t D[] = {1, 2, 3, 8, 29, 100, 513, 1100},
                         K[] = {1, 2, 7, 16, 17, 33, 100, 129};
    for (size_t d = 0; d < sizeof D / sizeof *D; d++)
        for (size_t k = 0; k < sizeof K / sizeof *K; k++)
            for (int type = 0; type < 4; type++) {
                const table t = some_table(type & 1 ? FAB_F32 : FAB_F64, 61, D[d], K[k], 0.25, 1);
                const found f = find(&t, type & 2 ? FAB_F32 : FAB_F64, NULL, NULL, 2);
                check_labels(&t, &f);
                assert_int_equal(f.changed, t.x.n);
            }
}

static void every_instruction_set_finds_the_same(void **state)
{
    (void)state;
    static const char *const sets[] = {"base", "avx2", "avx512"};
    const table t = some_table(FAB_F32, 400, 37, 23, 0.1, 1);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        if (fab_set_isa(sets[s]) != FAB_OK) continue; /* not on this machine */
        const found f = find(&t, FAB_F32, NULL, NULL, 1);
        check_labels(&t, &f);
    }
    assert_ok(fab_set_isa(NULL));
}

/* Columns, and rows with gaps between them. */
static void strides_and_sparse_rows_are_read_as_they_lie(void **state)
{
    (void)state;
    enum { N = 50, D = 13, K = 5 };
    const table t = some_table(FAB_F64, N, D, K, 0, 1);
    const found f = find(&t, FAB_F64, NULL, NULL, 1);
    double *columns = doubles(N * D);
    int64_t *start = dense_bytes((N + 1) * sizeof *start);
    int32_t *index = dense_bytes((size_t)(N * D) * sizeof *index);
    for (int64_t i = 0; i < N; i++)
        for (int64_t d = 0; d < D; d++) {
            columns[d * N + i] = ((const double *)t.x.p)[i * D + d];
            index[i * D + d] = (int32_t)d;
            start[i + 1] = (i + 1) * D;
        }
    table by_columns = t, sparse = t;
    by_columns.x = (fab_rows){columns, FAB_F64, N, 1, .stride = N};
    sparse.x.start = start;
    sparse.x.index = index;
    const found g = find(&by_columns, FAB_F64, NULL, NULL, 1),
                h = find(&sparse, FAB_F64, NULL, NULL, 1);
    assert_memory_equal(f.label, g.label, N * sizeof *f.label);
    assert_memory_equal(f.label, h.label, N * sizeof *f.label);
    assert_memory_equal(f.sums, g.sums, K * D * sizeof *f.sums);
    assert_memory_equal(f.sums, h.sums, K * D * sizeof *f.sums);
    check_labels(&by_columns, &g);
}

/* Rows on a grid, midway between centres, and centres that are there twice. */
static void ties_go_to_the_first(void **state)
{
    (void)state;
    enum { N = 300, D = 6, K = 9 };
    for (int type = 0; type < 2; type++) {
        table t = some_table(type ? FAB_F32 : FAB_F64, N, D, K, 0, 1);
        double *x = doubles(N * D);
        float *y = dense_bytes(N * D * sizeof *y);
        for (int64_t i = 0; i < N * D; i++) {
            x[i] = floor(3 * noise(5, i));
            y[i] = (float)x[i];
        }
        for (int64_t i = 0; i < K * D; i++) t.mu[i] = floor(3 * noise(6, i));
        for (int64_t d = 0; d < D; d++) t.mu[4 * D + d] = t.mu[7 * D + d];
        t.x.p = type ? (const void *)y : x;
        const found f = find(&t, t.x.type, NULL, NULL, 2);
        check_labels(&t, &f);
        for (int64_t i = 0; i < N; i++) assert_int_not_equal(f.label[i], 7);
        assert_true(f.second > 0);
    }
}

/* 1e6 away from 0 an f32 has a sixteenth left: products tell nothing apart, and the second look decides; about a row they do. */
static void rows_far_from_0_are_told_apart(void **state)
{
    (void)state;
    for (int type = 0; type < 2; type++) {
        const table t = some_table(type ? FAB_F32 : FAB_F64, 200, 29, 11, 1e6, 1);
        double *shift = doubles(29);
        fab_rows_get(&t.x, 0, 29, shift);
        const found far = find(&t, FAB_F32, NULL, NULL, 1),
                    near = find(&t, FAB_F32, shift, NULL, 1);
        check_labels(&t, &far);
        check_labels(&t, &near);
        assert_int_equal(far.second, 200);
        assert_true(near.second < 5);
    }
}

/* Squares that overflow f32, or vanish in it, are no reason to be wrong. */
static void scales_do_not_matter(void **state)
{
    (void)state;
    static const double scale[] = {1e-150, 1e-60, 1e-25, 1e-15, 1e15, 1e25, 1e60, 1e150};
    for (size_t s = 0; s < sizeof scale / sizeof *scale; s++)
        for (int type = 0; type < 3; type++) {
            const fab_dtype rows = type == 2 ? FAB_F32 : FAB_F64;
            if (rows == FAB_F32 && !(fabs(log10(scale[s])) < 30)) continue;
            const table t = some_table(rows, 60, 17, 7, 0, scale[s]);
            const found f = find(&t, type == 0 ? FAB_F64 : FAB_F32, NULL, NULL, 1);
            check_labels(&t, &f);
            if (type == 0) assert_int_equal(f.second, 0);
        }
}

/* A sum of n products of numbers rounded once each: (n + 2) u times the sum of the moduli. */
static void sums_are_those_of_plain_loops(void **state)
{
    (void)state;
    enum { N = 1000, D = 21, K = 6 };
    const table t = some_table(FAB_F32, N, D, K, 3, 1);
    double *weight = doubles(N), *shift = doubles(D);
    for (int64_t i = 0; i < N; i++) weight[i] = 1.5 + noise(7, i);
    for (int64_t d = 0; d < D; d++) shift[d] = 3;
    for (int shifted = 0; shifted < 2; shifted++) {
        const found f = find(&t, FAB_F32, shifted ? shift : NULL, weight, 2);
        for (int64_t k = 0; k < K; k++)
            for (int64_t d = 0; d < D; d++) {
                real sum = 0, size = 0, count = 0;
                for (int64_t i = 0; i < N; i++) {
                    if (f.label[i] != k) continue;
                    const real x = ((const float *)t.x.p)[i * D + d] - (real)(shifted ? 3 : 0);
                    sum += (real)weight[i] * x;
                    size += r_abs((real)weight[i] * x);
                    count += weight[i];
                }
                assert_near(f.sums[k * D + d], sum, (N + 2) * ROUND_F64 * size);
                assert_near(f.counts[k], count, N * ROUND_F64 * count);
            }
    }
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    enum { N = 20000, D = 11, K = 12 };
    const table t = some_table(FAB_F64, N, D, K, 0, 1);
    const found one = find(&t, FAB_F64, NULL, NULL, 1), more = find(&t, FAB_F64, NULL, NULL, 5);
    assert_memory_equal(one.label, more.label, N * sizeof *one.label);
    assert_memory_equal(one.sums, more.sums, K * D * sizeof *one.sums);
    assert_memory_equal(one.counts, more.counts, K * sizeof *one.counts);
    assert_int_equal(one.second, more.second);
}

/* Distances of squares, all positive: (D + 4) u of each. */
static void costs_and_potentials_are_those_of_plain_loops(void **state)
{
    (void)state;
    static const int64_t dims[] = {1, 5, 8, 29, 100};
    enum { N = 777, K = 7 };
    for (size_t k = 0; k < 2 * sizeof dims / sizeof *dims; k++) {
        const int64_t D = dims[k / 2];
        const table t = some_table(k % 2 ? FAB_F32 : FAB_F64, N, D, K, 0, 1);
        const found f = find(&t, FAB_F64, NULL, NULL, 1);
        double *weight = doubles(N), *best = doubles(N), *each = doubles(N), sum[K];
        double *lower[K], *partial = doubles((int64_t)FAB_MAX_CHUNKS * K);
        real want = 0, left[K] = {0};
        fab_centres c;
        assert_ok(fab_centres_init(&c, D, K, FAB_F64, NULL, 2, "test"));
        for (int64_t j = 0; j < K; j++) lower[j] = doubles(N);
        for (int64_t i = 0; i < N; i++) {
            weight[i] = 1.5 + noise(7, i);
            best[i] = (double)D * (2 + noise(8, i));
        }
        const double W = fab_centres_cost(&c, &t.x, weight, t.mu, f.label, each);
        fab_potential p = {&t.x, weight, K, t.mu, best, lower, sum, partial};
        fab_centres_potential(&c, &p);
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < K; j++) {
                real square = 0;
                for (int64_t d = 0; d < D; d++) {
                    const real e = (real)fab_rows_at(&t.x, i, d) - t.mu[j * D + d];
                    square += e * e;
                }
                const real tol = (real)(D + 4) * ROUND_F64 * square;
                if (f.label[i] == j) {
                    assert_near(each[i], weight[i] * square, 2 * weight[i] * tol);
                    want += weight[i] * square;
                }
                if (square > best[i]) square = best[i];
                assert_near(lower[j][i], square, tol);
                left[j] += weight[i] * square;
            }
        assert_near(W, want, (real)(N + D + 4) * ROUND_F64 * want);
        for (int64_t j = 0; j < K; j++)
            assert_near(sum[j], left[j], (real)(N + D + 4) * ROUND_F64 * left[j]);
        fab_centres_free(&c);
    }
}

static void room_that_is_not_there_is_reported(void **state)
{
    (void)state;
    fab_centres c;
    assert_refused(fab_centres_init(&c, (int64_t)1 << 40, 1 << 20, FAB_F64, NULL, 1, "test"),
                   FAB_NO_MEMORY, "test");
    fab_centres_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(centres_are_those_of_plain_loops),
        TEST(every_instruction_set_finds_the_same),
        TEST(strides_and_sparse_rows_are_read_as_they_lie),
        TEST(ties_go_to_the_first),
        TEST(rows_far_from_0_are_told_apart),
        TEST(scales_do_not_matter),
        TEST(sums_are_those_of_plain_loops),
        TEST(threads_do_not_matter),
        TEST(costs_and_potentials_are_those_of_plain_loops),
        TEST(room_that_is_not_there_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
