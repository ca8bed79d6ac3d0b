/* test_split.c - training and test rows, folds, mini-batches: every row once, the same chance for all.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "data/columns/split.h"
#include "fabayes/data.h"
#include "fabayes/random.h"
#include "files.h"
#include <math.h>

enum { N = 229, CLASSES = 4, SEED = 2385 };

/* Classes of very different sizes: about 1/2, 1/4, 1/8 of the rows and one row of class 7.5. */
static void make_classes(double y[N])
{
    for (int64_t i = 0; i < N; i++) y[i] = i % 2 ? -1 : i % 4 ? 0 : 2;
    y[100] = 7.5;
}

static fab_split *folds(int64_t n, int64_t k, const double *y, uint64_t seed)
{
    fab_split *s;
    if (fab_split_folds(&s, n, k, y, seed) != FAB_OK) fail_msg("%s", fab_detail());
    return s;
}

static fab_split *tested(int64_t n, double fraction, const double *y, uint64_t seed)
{
    fab_split *s;
    if (fab_split_test(&s, n, fraction, y, seed) != FAB_OK) fail_msg("%s", fab_detail());
    return s;
}

/* Every row in one part, each part rising, and the rest of a part is what is not in it. */
static void check_parts(const fab_split *s, int64_t n)
{
    int seen[N] = {0};
    int64_t rest[N];
    for (int64_t p = 0; p < fab_split_parts(s); p++) {
        const int64_t *rows, count = fab_split_part(s, p, &rows);
        int left[N] = {0};
        for (int64_t i = 0; i < count; i++) {
            assert_true(rows[i] >= 0 && rows[i] < n && (i == 0 || rows[i] > rows[i - 1]));
            left[rows[i]] = 1;
            seen[rows[i]]++;
        }
        assert_int_equal(fab_split_rest(s, p, NULL), n - count);
        assert_int_equal(fab_split_rest(s, p, rest), n - count);
        for (int64_t i = 0; i < n - count; i++) {
            assert_true(i == 0 || rest[i] > rest[i - 1]);
            assert_false(left[rest[i]]);
        }
    }
    for (int64_t i = 0; i < n; i++) assert_int_equal(seen[i], 1);
    const int64_t *none;
    assert_int_equal(fab_split_part(s, -1, &none), 0);
    assert_int_equal(fab_split_part(s, fab_split_parts(s), &none), 0);
}

/* ---- parts --------------------------------------------------------------------------------------- */

static void every_row_is_in_one_part(void **state)
{
    (void)state;
    double y[N];
    make_classes(y);
    static const int64_t ks[] = {2, 3, 10, N - 1, N};
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
        for (int classes = 0; classes < 2; classes++) {
            fab_split *s = folds(N, ks[i], classes ? y : NULL, SEED);
            assert_int_equal(fab_split_parts(s), ks[i]);
            check_parts(s, N);
            fab_split_free(s);
        }
    for (double fraction = 0.003; fraction < 0.99; fraction += 0.07) {
        fab_split *s = tested(N, fraction, y, SEED);
        assert_int_equal(fab_split_parts(s), 2);
        check_parts(s, N);
        fab_split_free(s);
    }
    fab_split_free(NULL);
}

static void the_sizes_of_folds_differ_by_at_most_one(void **state)
{
    (void)state;
    for (int64_t k = 2; k <= 29; k++) {
        fab_split *s = folds(N, k, NULL, (uint64_t)k);
        for (int64_t p = 0; p < k; p++) {
            const int64_t *rows, count = fab_split_part(s, p, &rows);
            assert_true(count == N / k || count == N / k + 1);
        }
        fab_split_free(s);
    }
}

static void the_test_part_has_the_nearest_number_of_rows(void **state)
{
    (void)state;
    for (int64_t n = 2; n < N; n += 7)
        for (int64_t m = 1; m < n; m++) {
            const int64_t *rows;
            fab_split *s = tested(n, ((double)m + 0.4) / (double)n, NULL, SEED);
            assert_int_equal(fab_split_part(s, 1, &rows), m);
            fab_split_free(s);
        }
}

/* How many rows of class y[at] are among those given. */
static int64_t count_class(const double *y, double level, const int64_t *rows, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += y[rows[i]] == level;
    return count;
}

static void classes_are_divided_as_evenly_as_the_whole(void **state)
{
    (void)state;
    static const double level[CLASSES] = {-1, 0, 2, 7.5};
    double y[N];
    int64_t all[N];
    make_classes(y);
    for (int64_t i = 0; i < N; i++) all[i] = i;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int c = 0; c < CLASSES; c++) {
            const int64_t *rows, size = count_class(y, level[c], all, N), k = 10;
            fab_split *s = folds(N, k, y, seed);
            for (int64_t p = 0; p < k; p++) {
                const int64_t n = fab_split_part(s, p, &rows);
                const int64_t count = count_class(y, level[c], rows, n);
                assert_true(count == size / k || count == size / k + 1);
            }
            fab_split_free(s);
            s = tested(N, 0.3, y, seed);
            const int64_t n = fab_split_part(s, 1, &rows);
            const double share = (double)(n * size) / N;
            assert_int_equal(n, 69);
            assert_true(fabs((double)count_class(y, level[c], rows, n) - share) < 1);
            fab_split_free(s);
        }
}

static int same_part(const fab_split *a, const fab_split *b, int64_t part)
{
    const int64_t *x, *y, n = fab_split_part(a, part, &x), m = fab_split_part(b, part, &y);
    return n == m && memcmp(x, y, (size_t)n * sizeof *x) == 0;
}

static void a_seed_gives_the_same_parts_and_another_seed_others(void **state)
{
    (void)state;
    fab_split *a = folds(N, 5, NULL, SEED), *b = folds(N, 5, NULL, SEED);
    fab_split *c = folds(N, 5, NULL, SEED + 1);
    for (int64_t p = 0; p < 5; p++) {
        assert_true(same_part(a, b, p));
        assert_false(same_part(a, c, p));
    }
    fab_split_free(a);
    fab_split_free(b);
    fab_split_free(c);
}

/* What the rules on top of split.c give, written down a second time. */
static void the_parts_follow_from_the_random_numbers_alone(void **state)
{
    (void)state;
    int64_t order[N], at = 0, fold[N];
    double u;
    fab_random_shuffle(SEED, FAB_PURPOSE_SPLIT, 0x73706C00, N, order);
    fab_random_uniform(SEED, FAB_PURPOSE_SPLIT, 0x73706C01, 0, 1, &u);
    for (int64_t i = 0; i < N; i++) fold[order[i]] = ((int64_t)(7 * u) + i) % 7;
    fab_split *s = folds(N, 7, NULL, SEED);
    for (int64_t p = 0; p < 7; p++) {
        const int64_t *rows, n = fab_split_part(s, p, &rows);
        for (int64_t i = 0; i < n; i++, at++) assert_int_equal(fold[rows[i]], p);
    }
    assert_int_equal(at, N);
    fab_split_free(s);
}

/* 4000 seeds, 29 rows, 10 tested: each row is tested with probability 10 / 29, that of a class of its own
 * too.  |count - mean| < 5.5 sd has a false-alarm rate of 4e-8 per row by the normal limit, 1e-6 in all. */
static void every_row_is_tested_with_the_same_probability(void **state)
{
    (void)state;
    enum { ROWS = 29, TESTED = 10, SEEDS = 4000 };
    double y[ROWS] = {0};
    int64_t count[ROWS] = {0};
    y[3] = -5;
    y[4] = 8;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const int64_t *rows;
        fab_split *s = tested(ROWS, (double)TESTED / ROWS, y, seed);
        assert_int_equal(fab_split_part(s, 1, &rows), TESTED);
        for (int64_t i = 0; i < TESTED; i++) count[rows[i]]++;
        fab_split_free(s);
    }
    const double p = (double)TESTED / ROWS, sd = sqrt(SEEDS * p * (1 - p));
    for (int64_t i = 0; i < ROWS; i++) assert_true(fabs((double)count[i] - SEEDS * p) < 5.5 * sd);
}

/* Groups of 1, 2, .., 13 rows and again, one number apart. */
static void make_groups(double group[N])
{
    for (int64_t i = 0, g = 0, left = 1; i < N; i++) {
        group[(i * 100) % N] = 0.385 * (double)g; /* N is prime: scattered over the rows */
        if (--left == 0) left = ++g % 13 + 1;
    }
}

static void groups_stay_together(void **state)
{
    (void)state;
    double group[N];
    make_groups(group);
    for (int64_t k = 2; k <= 9; k++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            fab_split *s;
            assert_int_equal(fab_split_groups(&s, N, k, group, seed), FAB_OK);
            check_parts(s, N);
            int64_t part_of[N], most = 0, least = N;
            for (int64_t p = 0; p < k; p++) {
                const int64_t *rows, count = fab_split_part(s, p, &rows);
                for (int64_t i = 0; i < count; i++) part_of[rows[i]] = p;
                if (count > most) most = count;
                if (count < least) least = count;
            }
            for (int64_t i = 0; i < N; i++)
                for (int64_t j = 0; j < i; j++)
                    if (group[i] == group[j]) assert_int_equal(part_of[i], part_of[j]);
            assert_true(most - least <= 13); /* the largest first: by no more than a group */
            fab_split_free(s);
        }
}

static void in_the_order_of_time_nothing_is_predicted_by_its_future(void **state)
{
    (void)state;
    for (int64_t n = 3; n <= N; n += 7)
        for (int64_t k = 2; k <= 9 && k < n; k++) {
            fab_split *s;
            int64_t end = n, rest[N];
            assert_int_equal(fab_split_ordered(&s, n, k), FAB_OK);
            assert_int_equal(fab_split_parts(s), k);
            for (int64_t p = 0; p < k; p++) { /* from the last block to the second */
                const int64_t *rows, count = fab_split_part(s, p, &rows);
                assert_true(count >= n / (k + 1) && count <= n / (k + 1) + 1);
                for (int64_t i = 0; i < count; i++) assert_int_equal(rows[i], end - count + i);
                end -= count;
                assert_int_equal(fab_split_rest(s, p, NULL), end);
                assert_int_equal(fab_split_rest(s, p, rest), end);
                for (int64_t i = 0; i < end; i++) assert_int_equal(rest[i], i);
            }
            assert_true(end >= 1); /* the first block is never predicted */
            const int64_t *none;
            assert_int_equal(fab_split_part(s, k, &none), 0);
            fab_split_free(s);
        }
}

/* A fifth of the rows to test with, as a table says. */
static void the_part_to_test_with_is_of_whole_groups_or_the_last_rows(void **state)
{
    (void)state;
    double group[N], y[N] = {0};
    make_groups(group);
    fab_dataset t = {.n = N, .y = y, .group = group};
    fab_split *s;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        assert_int_equal(fab_dataset_test(FAB_PURPOSE_CALIBRATE, &s, &t, 0.2, 1, seed), FAB_OK);
        check_parts(s, N);
        const int64_t *out, n_out = fab_split_part(s, 1, &out), *in,
                            n_in = fab_split_part(s, 0, &in);
        assert_true(n_out >= 46 - 7 && n_out <= 46 + 7); /* half of the largest group off */
        for (int64_t i = 0; i < n_out; i++)
            for (int64_t j = 0; j < n_in; j++) assert_true(group[out[i]] != group[in[j]]);
        fab_split_free(s);
    }
    t = (fab_dataset){.n = N, .y = y, .ordered = 1};
    assert_int_equal(fab_dataset_test(FAB_PURPOSE_CALIBRATE, &s, &t, 0.2, 1, 1), FAB_OK);
    check_parts(s, N);
    const int64_t *out;
    assert_int_equal(fab_split_part(s, 1, &out), 46);
    assert_int_equal(out[0], N - 46);
    fab_split_free(s);
    for (int64_t i = 0; i < N; i++) group[i] = i < 2; /* two rows, and a group far too large */
    t = (fab_dataset){.n = N, .y = y, .group = group};
    assert_int_equal(fab_dataset_test(FAB_PURPOSE_CALIBRATE, &s, &t, 0.01, 1, 1), FAB_OK);
    assert_int_equal(fab_split_part(s, 1, &out), 2);
    fab_split_free(s);
}

static void what_cannot_be_split_is_refused(void **state)
{
    (void)state;
    fab_split *s;
    const double holes[] = {1, 2, NAN};
    assert_int_equal(fab_split_folds(&s, 10, 1, NULL, 0), FAB_BAD_ARGUMENT);
    assert_null(s);
    assert_int_equal(fab_split_folds(&s, 10, 11, NULL, 0), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "split: 11 folds of 10 rows; 2 to 10 are possible");
    assert_int_equal(fab_split_test(&s, 10, 0, NULL, 0), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_split_test(&s, 10, NAN, NULL, 0), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_split_test(&s, 10, 1, NULL, 0), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "split: a test part of 1 is not between 0 and 1");
    assert_int_equal(fab_split_test(&s, 10, 0.04, NULL, 0), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "split: 0.04 of 10 rows leaves no row to test with");
    assert_int_equal(fab_split_test(&s, 10, 0.96, NULL, 0), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "split: 0.96 of 10 rows leaves no row to train with");
    assert_int_equal(fab_split_test(&s, 0, 0.5, NULL, 0), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_split_folds(&s, 3, 2, holes, 0), FAB_BAD_DATA);
    assert_string_equal(fab_detail(), "split: the class of row 2 is nan");
    assert_null(s);
    assert_int_equal(fab_split_groups(&s, 3, 2, holes, 0), FAB_BAD_DATA);
    assert_string_equal(fab_detail(), "split: the group of row 2 is nan");
    assert_null(s);
    const double two[] = {1, 1, 4, 4, 4};
    assert_int_equal(fab_split_groups(&s, 5, 3, two, 0), FAB_BAD_DATA);
    assert_string_equal(fab_detail(), "split: 2 groups cannot make 3 parts");
    assert_null(s);
    assert_int_equal(fab_split_ordered(&s, 5, 5), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "split: 5 folds of 5 rows; 2 to 4 are possible");
    assert_null(s);
}

/* ---- mini-batches -------------------------------------------------------------------------------- */

static fab_batches *batches(int64_t n, int64_t size, uint64_t seed)
{
    fab_batches *b;
    if (fab_batches_create(&b, n, size, seed) != FAB_OK) fail_msg("%s", fab_detail());
    return b;
}

static void an_epoch_has_every_row_once_and_says_the_short_batch(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 10, 100, N - 1, N, N + 5};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        fab_batches *b = batches(N, sizes[k], SEED);
        int seen[N] = {0};
        int64_t left = N;
        for (int64_t i = 0; i < fab_batches_per_epoch(b); i++) {
            const int64_t *rows;
            int64_t count;
            assert_int_equal(fab_batches_get(b, 3, i, &rows, &count), FAB_OK);
            assert_int_equal(count, left < sizes[k] ? left : sizes[k]);
            assert_true(count > 0);
            for (int64_t j = 0; j < count; j++) seen[rows[j]]++;
            left -= count;
        }
        assert_int_equal(left, 0);
        for (int64_t i = 0; i < N; i++) assert_int_equal(seen[i], 1);
        fab_batches_free(b);
    }
    fab_batches_free(NULL);
}

static void a_batch_does_not_depend_on_what_was_asked_before(void **state)
{
    (void)state;
    fab_batches *in_turn = batches(N, 10, SEED), *resumed = batches(N, 10, SEED);
    const int64_t *a, *b;
    int64_t n, m;
    for (int64_t epoch = 0; epoch < 4; epoch++)
        for (int64_t i = 0; i < fab_batches_per_epoch(in_turn); i++)
            assert_int_equal(fab_batches_get(in_turn, epoch, i, &a, &n), FAB_OK);
    assert_int_equal(fab_batches_get(resumed, 3, 22, &b, &m), FAB_OK);
    assert_true(n == 9 && m == 9);
    assert_memory_equal(a, b, 9 * sizeof *a);
    fab_batches *fresh = batches(N, 10, SEED);
    assert_int_equal(fab_batches_get(in_turn, 0, 4, &a, &n), FAB_OK); /* and back */
    assert_int_equal(fab_batches_get(fresh, 0, 4, &b, &m), FAB_OK);
    assert_memory_equal(a, b, 10 * sizeof *a);
    fab_batches_free(fresh);
    assert_int_equal(fab_batches_get(resumed, 1, 4, &b, &m), FAB_OK);
    assert_memory_not_equal(a, b, 10 * sizeof *a);
    fab_batches_free(in_turn);
    fab_batches_free(resumed);
}

/* The place of a permutation of 5 among the 120, in the order of words. */
static int64_t rank_of(const int64_t *order)
{
    int64_t rank = 0;
    for (int i = 0; i < 5; i++) {
        int64_t below = 0;
        for (int j = i + 1; j < 5; j++) below += order[j] < order[i];
        rank = rank * (5 - i) + below;
    }
    return rank;
}

/* Pearson's chi-squared over the 120 orders of 5 rows in 24000 epochs; 207.2 is passed with probability
 * 1e-6 at 119 degrees of freedom. */
static void all_orders_of_an_epoch_are_equally_likely(void **state)
{
    (void)state;
    enum { ORDERS = 120, EPOCHS = 200 * ORDERS };
    int64_t count[ORDERS] = {0};
    fab_batches *b = batches(5, 5, SEED);
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        const int64_t *rows;
        int64_t n;
        assert_int_equal(fab_batches_get(b, epoch, 0, &rows, &n), FAB_OK);
        count[rank_of(rows)]++;
    }
    fab_batches_free(b);
    double chi2 = 0;
    for (int i = 0; i < ORDERS; i++) {
        const double d = (double)count[i] - EPOCHS / ORDERS;
        chi2 += d * d / (EPOCHS / ORDERS);
    }
    assert_true(chi2 < 207.2);
    assert_true(chi2 > 0); /* not dealt out in turn */
}

static void bad_batches_are_refused(void **state)
{
    (void)state;
    fab_batches *b;
    const int64_t *rows;
    int64_t n;
    assert_int_equal(fab_batches_create(&b, 0, 1, 0), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_batches_create(&b, 1, 0, 0), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "batches: a size of 0 is below 1");
    assert_null(b);
    b = batches(10, 4, 0);
    assert_int_equal(fab_batches_get(b, 0, 3, &rows, &n), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "batches: there is no batch 3 of epoch 0: an epoch has 3");
    assert_int_equal(fab_batches_get(b, -1, 0, &rows, &n), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_batches_get(b, 0, -1, &rows, &n), FAB_BAD_ARGUMENT);
    fab_batches_free(b);
}

/* ---- memory -------------------------------------------------------------------------------------- */

static fab_status split_and_batch(void)
{
    double y[N];
    fab_split *s;
    fab_batches *b = NULL;
    make_classes(y);
    fab_status status = fab_split_folds(&s, N, 3, y, SEED);
    if (status == FAB_OK) status = fab_batches_create(&b, N, 3, SEED);
    fab_split_free(s);
    if (status == FAB_OK) {
        status = fab_split_groups(&s, N, 3, y, SEED);
        fab_split_free(s);
    }
    if (status == FAB_OK) {
        status = fab_split_ordered(&s, N, 3);
        fab_split_free(s);
    }
    fab_batches_free(b);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(split_and_batch) > 8);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_row_is_in_one_part),
        TEST(the_sizes_of_folds_differ_by_at_most_one),
        TEST(the_test_part_has_the_nearest_number_of_rows),
        TEST(classes_are_divided_as_evenly_as_the_whole),
        TEST(a_seed_gives_the_same_parts_and_another_seed_others),
        TEST(the_parts_follow_from_the_random_numbers_alone),
        TEST(every_row_is_tested_with_the_same_probability),
        TEST(groups_stay_together),
        TEST(in_the_order_of_time_nothing_is_predicted_by_its_future),
        TEST(the_part_to_test_with_is_of_whole_groups_or_the_last_rows),
        TEST(what_cannot_be_split_is_refused),
        TEST(an_epoch_has_every_row_once_and_says_the_short_batch),
        TEST(a_batch_does_not_depend_on_what_was_asked_before),
        TEST(all_orders_of_an_epoch_are_equally_likely),
        TEST(bad_batches_are_refused),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
