/* test_calibration.c - rows left out of a fit calibrate it: temperatures against a grid, coverage against its law.
 *
 * Coverage of fresh rows is random twice: by the rows left out, whose k-th score of n is a Beta(k, n + 1 - k) quantile of
 * new scores, and by the fresh rows.  So the number of m fresh rows that are covered is beta-binomial, whatever the model;
 * tests refuse what lies in a tail of RARE, their false-alarm rate over seeds.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "data/columns/split.h"
#include "fabayes/random.h"
#include "fabayes/table.h"
#include "base/memory.h"
#include "files.h"
#include "table/calibration.h"
#include <float.h>
#include <math.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
#define RARE       1e-6
#define SEED       1 /* of the methods, unless it is given */

enum { D = 3, MOST = 6000 };
static const char *const names[D] = {"area", "rooms", "age"};
static const char *const words[] = {"hut", "flat", "castle"};

/* Rows whose target is curved, with noise that is far from normal and not alike everywhere: a line is wrong about all of
 * it. */
typedef struct table {
    double x[MOST * D], y[MOST], kind[MOST], two[MOST], count[MOST], weight[MOST];
    const char *word[MOST];
} table;
static table all, fresh;

static void make_rows(table *t, int64_t n, uint64_t stream)
{
    static double u[2 * MOST];
    fab_random_normal(5, FAB_PURPOSE_DATA, 2 * stream, 0, n * D, FAB_F64, t->x);
    fab_random_uniform(5, FAB_PURPOSE_DATA, 2 * stream + 1, 0, 2 * n, u);
    for (int64_t i = 0; i < n; i++) {
        const double *x = t->x + i * D, e = tan(2.8 * (u[2 * i] - 0.5)); /* long tails */
        t->y[i] = 1.3 + x[0] + 2 * x[1] * x[1] + (0.2 + fabs(x[2])) * e;
        t->kind[i] = (t->y[i] > 1.5) + (t->y[i] > 4);
        t->two[i] = t->y[i] > 3;
        t->count[i] = floor(exp(0.4 * x[0] + 2 * u[2 * i + 1] * u[2 * i + 1]) * 3);
        t->word[i] = words[(int)t->kind[i]];
        t->weight[i] = 1 + (double)(i % 3);
    }
}

static fab_arrays rows_of(const table *t, int64_t n, const double *y)
{
    return (fab_arrays){.n = n, .x = t->x, .D = D, .name = names, .y = {.name = "y", .p = y}};
}

static fab_regression *fit(const fab_arrays *a, const fab_plan *p)
{
    fab_regression *r;
    if (fab_regression_fit(&r, &(fab_data){.arrays = a}, p, NULL) != FAB_OK)
        fail_msg("%s", fab_detail());
    return r;
}

static fab_predictions *score(fab_regression *r, const fab_arrays *a)
{
    fab_predictions *p;
    if (fab_regression_predict(r, &(fab_data){.arrays = a}, &(fab_predict_plan){.with_target = 1},
                               &p) != FAB_OK)
        fail_msg("%s", fab_detail());
    return p;
}

static void assert_near(double x, double expected, double tolerance)
{
    if (!(fabs(x - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g within %g", x, expected, tolerance);
}

/* ---- conformal -------------------------------------------------------------------------------------- */

/* The smaller tail of a beta-binomial count: Beta(a, b), m rows. */
static double tail(double a, double b, int64_t m, int64_t count)
{
    const double all_of_it = lgamma(a) + lgamma(b) - lgamma(a + b);
    double below = 0, above = 0;
    for (int64_t i = 0; i <= m; i++) {
        const double x = (double)i, y = (double)(m - i);
        const double p = exp(lgamma((double)m + 1) - lgamma(x + 1) - lgamma(y + 1) + lgamma(a + x) +
                             lgamma(b + y) - lgamma(a + b + (double)m) - all_of_it);
        if (i <= count) below += p;
        if (i >= count) above += p;
    }
    return fmin(below, above);
}

static double tail_of(const fab_calibration *c, int64_t percent, int64_t m, double coverage)
{
    const double k = ceil((double)((c->rows + 1) * percent) / 100);
    return tail(k, (double)c->rows + 1 - k, m, llround(coverage * (double)m));
}

static void the_tail_is_that_of_small_cases(void **state)
{
    (void)state;
    /* Beta(1, 1): any count of m is as likely; Beta(2, 1), m = 1: 1/3 and 2/3. */
    assert_near(tail(1, 1, 9, 3), 0.4, 1e-12);
    assert_near(tail(2, 1, 1, 0), 1 / 3.0, 1e-12);
}

static void intervals_of_a_wrong_model_cover_by_their_law(void **state)
{
    (void)state;
    enum { N = 1500, M = 6000 };
    make_rows(&all, N, 1);
    make_rows(&fresh, M, 2);
    const fab_arrays a = rows_of(&all, N, all.y), b = rows_of(&fresh, M, fresh.y);
    fab_regression *r = fit(&a, &(fab_plan){.calibrate = "conformal"}), *plain = fit(&a, NULL);
    const fab_calibration c = fab_regression_calibration(r);
    fab_predictions *p = score(r, &b), *q = score(plain, &b);
    assert_string_equal(c.way, "conformal");
    assert_int_equal(c.rows, N / 5);
    assert_true(tail_of(&c, 50, M, p->scores.coverage50) > RARE);
    assert_true(tail_of(&c, 90, M, p->scores.coverage90) > RARE);
    assert_true(tail_of(&c, 95, M, p->scores.coverage95) > RARE);
    assert_true(tail_of(&c, 50, M, q->scores.coverage50) < RARE); /* the model alone is wrong */
    int64_t inside = 0;
    for (int64_t i = 0; i < M; i++) inside += p->y[i] >= p->p[i].lower && p->y[i] <= p->p[i].upper;
    assert_int_equal(inside, llround(p->scores.coverage90 * M));
    assert_null(p->set);
    fab_predictions_free(p);
    fab_predictions_free(q);
    fab_regression_free(r);
    fab_regression_free(plain);
}

/* Few rows: what (n + 1) is there for.  Over REPEATS tables the mean coverage has the variance of one beta-binomial over
 * REPEATS; 5 of its standard deviations are a false-alarm rate of 1e-6. */
static void few_rows_keep_the_guarantee(void **state)
{
    (void)state;
    enum { N = 100, ROWS = 20, K = 19, M = 50, REPEATS = 300 };
    double sum = 0;
    for (uint64_t s = 0; s < REPEATS; s++) {
        make_rows(&all, N, 10 + 2 * s);
        make_rows(&fresh, M, 11 + 2 * s);
        const fab_arrays a = rows_of(&all, N, all.y), b = rows_of(&fresh, M, fresh.y);
        fab_regression *r = fit(&a, &(fab_plan){.calibrate = "conformal"});
        fab_predictions *p = score(r, &b);
        assert_int_equal(fab_regression_calibration(r).rows, ROWS);
        sum += p->scores.coverage90;
        fab_predictions_free(p);
        fab_regression_free(r);
    }
    const double n = ROWS + 1, mean = K / n; /* Beta(K, n - K), then M rows of it */
    const double variance = mean * (1 - mean) * (n + M) / (n + 1) / M;
    assert_near(sum / REPEATS, mean, 5 * sqrt(variance / REPEATS));
}

static void counts_are_covered_at_least_so_often(void **state)
{
    (void)state;
    enum { N = 1500, M = 6000 };
    make_rows(&all, N, 3);
    make_rows(&fresh, M, 4);
    const fab_arrays a = rows_of(&all, N, all.count), b = rows_of(&fresh, M, fresh.count);
    fab_regression *r = fit(&a, &(fab_plan){.likelihood = "poisson", .calibrate = "conformal"});
    const fab_calibration c = fab_regression_calibration(r);
    fab_predictions *p = score(r, &b);
    int64_t inside = 0;
    for (int64_t i = 0; i < M; i++) {
        assert_true(p->p[i].lower >= 0 && p->p[i].lower == floor(p->p[i].lower) &&
                    p->p[i].upper == floor(p->p[i].upper));
        inside += p->y[i] >= p->p[i].lower && p->y[i] <= p->p[i].upper;
    }
    assert_true(tail_of(&c, 90, M, p->scores.coverage90) > RARE);
    assert_true((double)inside / M >= p->scores.coverage90);
    fab_predictions_free(p);
    fab_regression_free(r);
}

/* y and the classes of `p` that a set of theirs holds without the likeliest class being given. */
static void sets_of(const fab_plan *plan, const double *y, const double *new_y, int64_t classes)
{
    enum { N = 1500, M = 6000 };
    const fab_arrays a = rows_of(&all, N, y), b = rows_of(&fresh, M, new_y);
    fab_regression *r = fit(&a, plan);
    const fab_calibration c = fab_regression_calibration(r);
    fab_predictions *p = score(r, &b);
    int64_t by_score = 0, inside = 0, size = 0;
    assert_int_equal(p->classes, classes);
    for (int64_t i = 0; i < M; i++) {
        const int64_t mine = (int64_t)p->y[i];
        int64_t likeliest = 0, here = 0;
        for (int64_t k = 0; k < classes; k++) {
            const double l = p->logp[i * classes + k];
            if (l > p->logp[i * classes + likeliest]) likeliest = k;
            if (-l <= c.quantile[1]) assert_int_equal(p->set[i * classes + k], 1);
            here += p->set[i * classes + k];
        }
        assert_int_equal(p->set[i * classes + likeliest], 1);
        by_score += -p->logp[i * classes + mine] <= c.quantile[1];
        inside += p->set[i * classes + mine];
        size += here;
    }
    assert_true(tail_of(&c, 90, M, (double)by_score / M) > RARE);
    assert_true(inside >= by_score);
    assert_near(p->scores.coverage90, (double)inside / M, DBL_EPSILON);
    assert_near(p->set_size, (double)size / M, DBL_EPSILON * (double)classes);
    fab_predictions_free(p);
    fab_regression_free(r);
}

static void sets_of_classes_cover_by_their_law(void **state)
{
    (void)state;
    make_rows(&all, 1500, 5);
    make_rows(&fresh, 6000, 6);
    sets_of(&(fab_plan){.likelihood = "categorical", .calibrate = "conformal"}, all.kind,
            fresh.kind, 3);
    sets_of(&(fab_plan){.calibrate = "conformal"}, all.two, fresh.two, 2);
}

static void a_set_is_never_empty(void **state)
{
    (void)state;
    double logp[] = {log(0.5), log(0.3), log(0.2), log(0.1), log(0.2), log(0.7)};
    fab_predictions p = {.n = 2, .classes = 3, .logp = logp};
    const fab_calibration c = {.way = "conformal", .quantile = {0, 0.4, 0.5}}; /* of p >= 0.67 */
    assert_int_equal(fab_calibration_sets(&c, &p), FAB_OK);
    assert_memory_equal(p.set, ((char[]){1, 0, 0, 0, 0, 1}), 6);
    assert_near(p.set_size, 1, 0);
    fab_release(p.set);
}

static void a_quantile_is_a_number(void **state)
{
    (void)state;
    enum { N = 40 };
    double score[N];
    fab_calibration c;
    for (int i = 0; i < N; i++) score[i] = i < N - 1 ? (double)((7 * i) % N) : INFINITY;
    assert_int_equal(fab_calibration_quantiles(N, score, &c), FAB_OK); /* one row does not matter */
    for (int i = 0; i < N; i++) score[i] = i < N - 3 ? (double)i : INFINITY;
    assert_int_equal(fab_calibration_quantiles(N, score, &c), FAB_NUMERIC);
    assert_detail("more than 5 %", "no probability");
}

/* ---- temperature ------------------------------------------------------------------------------------ */

enum { CLASSES = 3, ROWS = 83 };
static struct {
    double logp[2 * ROWS * CLASSES], y[2 * ROWS], weight[2 * ROWS];
} given;

static double log_probability(double T, int64_t n, const double *weight)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *l = given.logp + i * CLASSES;
        double z = 0;
        for (int c = 0; c < CLASSES; c++) z += exp(l[c] / T);
        sum += (weight ? weight[i] : 1) * (l[(int)given.y[i]] / T - log(z));
    }
    return sum;
}

/* Probabilities that are too sure by `factor`. */
static void make_logits(double factor)
{
    double z[ROWS * CLASSES], u[ROWS];
    fab_random_normal(7, FAB_PURPOSE_DATA, 1, 0, ROWS * CLASSES, FAB_F64, z);
    fab_random_uniform(7, FAB_PURPOSE_DATA, 2, 0, ROWS, u);
    for (int i = 0; i < ROWS; i++) {
        double p[CLASSES], sum = 0, hot = 0;
        for (int c = 0; c < CLASSES; c++) {
            p[c] = exp(z[i * CLASSES + c]);
            sum += p[c];
            hot += exp(factor * z[i * CLASSES + c]);
        }
        for (int c = 0; c < CLASSES; c++)
            given.logp[i * CLASSES + c] = factor * z[i * CLASSES + c] - log(hot);
        given.y[i] = (u[i] > p[0] / sum) + (u[i] > (p[0] + p[1]) / sum);
        given.weight[i] = 1 + i % 3;
    }
}

static void the_temperature_is_that_of_a_grid(void **state)
{
    (void)state;
    const double factors[] = {0.3, 1, 2.385, 40};
    for (int f = 0; f < 4; f++)
        for (int weighted = 0; weighted < 2; weighted++) {
            const double *w = weighted ? given.weight : NULL, step = 1e-3;
            fab_calibration c = {0};
            double best = -INFINITY, at = 0;
            make_logits(factors[f]);
            assert_int_equal(fab_calibration_temperature(CLASSES, ROWS, given.logp, given.y, w, &c),
                             FAB_OK);
            for (double t = -5; t < 5; t += step) {
                const double l = log_probability(exp(t), ROWS, w);
                if (l > best) best = l, at = t;
            }
            assert_near(log(c.temperature), at, step);
            assert_int_equal(c.limited, 0);
            /* sd by the second difference of the log probability in T; its error is O(h^2) */
            const double T = c.temperature, h = 1e-3 * T;
            const double bend = (log_probability(T + h, ROWS, w) + log_probability(T - h, ROWS, w) -
                                 2 * log_probability(T, ROWS, w)) /
                                (h * h);
            assert_near(c.temperature_sd * sqrt(-bend), 1, 1e-3);
        }
}

static void a_weight_of_two_is_a_row_twice(void **state)
{
    (void)state;
    fab_calibration once = {0}, twice = {0};
    int64_t n = ROWS;
    make_logits(2.385);
    for (int i = 0; i < ROWS; i++) given.weight[i] = 1 + i % 2;
    for (int i = 1; i < ROWS; i += 2, n++) {
        memcpy(given.logp + n * CLASSES, given.logp + i * CLASSES, CLASSES * sizeof(double));
        given.y[n] = given.y[i];
    }
    assert_int_equal(
        fab_calibration_temperature(CLASSES, ROWS, given.logp, given.y, given.weight, &once),
        FAB_OK);
    assert_int_equal(fab_calibration_temperature(CLASSES, n, given.logp, given.y, NULL, &twice),
                     FAB_OK);
    /* Terms of the slope are off by a few eps |l|, its derivative is n times their variance: together below n eps |l| */
    assert_near(once.temperature / twice.temperature, 1, 1e3 * DBL_EPSILON * 10);
}

/* Mean of 1 - max p at a temperature. */
static double mean_error(double T)
{
    fab_calibration c = {.temperature = T};
    double sum = 0, hot[ROWS * CLASSES];
    memcpy(hot, given.logp, sizeof hot);
    assert_int_equal(fab_calibration_heat(&c, CLASSES, ROWS, hot), FAB_OK);
    for (int i = 0; i < ROWS; i++) {
        double most = -INFINITY, total = 0;
        for (int k = 0; k < CLASSES; k++) {
            most = fmax(most, hot[i * CLASSES + k]);
            total += exp(hot[i * CLASSES + k]);
        }
        assert_near(total, 1, 8 * DBL_EPSILON);
        sum += 1 - exp(most);
    }
    return sum / ROWS;
}

static void rows_that_are_all_right_do_not_make_it_sure(void **state)
{
    (void)state;
    fab_calibration c = {0};
    make_logits(1);
    for (int i = 0; i < ROWS; i++) {
        const double *l = given.logp + i * CLASSES;
        given.y[i] = 0;
        for (int k = 1; k < CLASSES; k++)
            if (l[k] > l[(int)given.y[i]]) given.y[i] = k;
    }
    assert_int_equal(fab_calibration_temperature(CLASSES, ROWS, given.logp, given.y, NULL, &c),
                     FAB_OK);
    assert_int_equal(c.limited, 1);
    assert_near(mean_error(c.temperature), 1.0 / (ROWS + 2), 1e-13);
    for (int i = 0; i < ROWS * CLASSES; i++) given.logp[i] *= 1e4; /* surer than that by itself */
    assert_int_equal(fab_calibration_temperature(CLASSES, ROWS, given.logp, given.y, NULL, &c),
                     FAB_OK);
    assert_true(c.limited == 1 && c.temperature == 1);
    for (int i = 0; i < ROWS; i++) /* the least likely class */
        for (int k = 0; k < CLASSES; k++)
            if (given.logp[i * CLASSES + k] < given.logp[i * CLASSES + (int)given.y[i]])
                given.y[i] = k;
    assert_int_equal(fab_calibration_temperature(CLASSES, ROWS, given.logp, given.y, NULL, &c),
                     FAB_BAD_DATA);
    assert_detail("no better", "83 rows");
    given.logp[4] = -INFINITY;
    assert_int_equal(fab_calibration_temperature(CLASSES, ROWS, given.logp, given.y, NULL, &c),
                     FAB_NUMERIC);
    assert_detail("row 1", "-inf");
}

/* Of a fit: probabilities are those of the same file without calibration, at that temperature. */
static void predictions_have_the_temperature(void **state)
{
    (void)state;
    enum { N = 300, M = 100 };
    make_rows(&all, N, 7);
    make_rows(&fresh, M, 8);
    const double *y[] = {all.kind, all.two}, *new_y[] = {fresh.kind, fresh.two};
    for (int two = 0; two < 2; two++) {
        const fab_arrays a = rows_of(&all, N, y[two]), b = rows_of(&fresh, M, new_y[two]);
        const int64_t C = two ? 2 : 3;
        char path[512];
        snprintf(path, sizeof path, "%s", in_folder("bare"));
        fab_regression *r = fit(&a, &(fab_plan){.likelihood = two ? NULL : "categorical",
                                                .calibrate = "temperature",
                                                .output = path});
        const fab_calibration c = fab_regression_calibration(r);
        assert_true(c.temperature > 0 && c.temperature != 1);
        fab_tensors *from, *bare; /* the same file without its calibration */
        assert_int_equal(fab_tensors_read(&from, path), FAB_OK);
        assert_int_equal(fab_tensors_create(&bare), FAB_OK);
        for (int64_t i = 0; i < fab_tensors_count(from); i++) {
            const fab_tensor *t = fab_tensors_at(from, i);
            assert_int_equal(fab_tensors_add(bare, t->name, t->type, t->ndim, t->shape, t->data),
                             FAB_OK);
        }
        for (int64_t i = 0; i < fab_tensors_meta_count(from); i++) {
            const char *key = fab_tensors_meta_key(from, i);
            if (strcmp(key, "calibration") != 0)
                assert_int_equal(fab_tensors_set(bare, key, fab_tensors_get(from, key)), FAB_OK);
        }
        assert_int_equal(fab_tensors_write(bare, path), FAB_OK);
        fab_tensors_free(bare);
        fab_tensors_free(from);
        fab_regression *cold;
        assert_int_equal(fab_regression_load(&cold, path, NULL), FAB_OK);
        assert_null(fab_regression_calibration(cold).way);
        fab_predictions *p = score(r, &b), *q = score(cold, &b);
        double nll = 0;
        for (int64_t i = 0; i < M; i++) {
            double sum = 0;
            for (int64_t k = 0; k < C; k++) sum += exp(q->logp[i * C + k] / c.temperature);
            for (int64_t k = 0; k < C; k++) {
                const double l = q->logp[i * C + k] / c.temperature - log(sum);
                assert_near(p->logp[i * C + k], l, 64 * DBL_EPSILON * (1 + fabs(l)));
                assert_near(fab_predictions_probability(p, i, k), exp(l), 64 * DBL_EPSILON);
                if (k == (int64_t)p->y[i]) nll -= l;
            }
        }
        assert_near(p->scores.nll, nll / M, 256 * DBL_EPSILON * nll);
        fab_predictions_free(p);
        fab_predictions_free(q);
        fab_regression_free(r);
        fab_regression_free(cold);
    }
}

/* ---- the fit and its file --------------------------------------------------------------------------- */

static void the_fit_is_of_the_other_rows(void **state)
{
    (void)state;
    enum { N = 120 };
    make_rows(&all, N, 9);
    const fab_arrays a = rows_of(&all, N, all.y);
    fab_dataset *t, *train;
    fab_split *s;
    const int64_t *in;
    assert_int_equal(fab_dataset_create(&t, &(fab_data){.arrays = &a}), FAB_OK);
    assert_int_equal(fab_split_test_for(FAB_PURPOSE_CALIBRATE, &s, N, 0.2, NULL, SEED), FAB_OK);
    const int64_t n = fab_split_part(s, 0, &in);
    assert_int_equal(fab_dataset_take(&train, t, in, n), FAB_OK);
    fab_regression *r = fit(&a, &(fab_plan){.calibrate = "conformal"}), *other;
    assert_int_equal(fab_regression_fit(&other, &(fab_data){.table = train}, NULL, NULL), FAB_OK);
    double mean[2][D + 1], sd[2][D + 1];
    assert_int_equal(fab_regression_coefficients(r, mean[0], sd[0]), FAB_OK);
    assert_int_equal(fab_regression_coefficients(other, mean[1], sd[1]), FAB_OK);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(sd[0], sd[1], sizeof sd[0]);
    fab_table_report f;
    assert_int_equal(fab_regression_report(r, &f), FAB_OK);
    assert_int_equal(f.fit.n, n);
    assert_int_equal(f.rows, N);
    fab_regression_free(r);
    fab_regression_free(other);
    fab_split_free(s);
    fab_dataset_free(train);
    fab_dataset_free(t);
}

/* Words and numbers of classes, and words of a column, that only a row left out has. */
static void what_only_a_row_left_out_has_is_known(void **state)
{
    (void)state;
    enum { N = 100 };
    make_rows(&all, N, 10);
    fab_split *s;
    const int64_t *out;
    assert_int_equal(fab_split_test_for(FAB_PURPOSE_CALIBRATE, &s, N, 0.2, NULL, SEED), FAB_OK);
    assert_int_equal(fab_split_part(s, 1, &out), 20);
    const char *street[N], *kind[N];
    double code[N];
    for (int i = 0; i < N; i++) {
        street[i] = i % 3 ? "oak" : "elm";
        kind[i] = all.two[i] > 0 ? "hut" : "flat";
        code[i] = all.two[i];
    }
    street[out[3]] = "ash";
    kind[out[5]] = "castle";
    code[out[5]] = 7;
    const fab_array column = {.name = "street", .text = street};
    fab_arrays a = rows_of(&all, N, code);
    a.column = &column;
    a.columns = 1;
    const fab_plan plan = {.likelihood = "categorical", .calibrate = "conformal"};
    fab_regression *r = fit(&a, &plan);
    assert_int_equal(fab_regression_scaling(r)->levels, 3);
    fab_regression_free(r);
    a.y = (fab_array){.name = "y", .text = kind};
    r = fit(&a, &plan);
    assert_int_equal(fab_regression_scaling(r)->levels, 3);
    assert_int_equal(fab_regression_scaling(r)->D, D + 3);
    fab_regression_free(r);
    fab_split_free(s);
}

static void a_file_has_the_calibration(void **state)
{
    (void)state;
    enum { N = 150, M = 40 };
    make_rows(&all, N, 12);
    make_rows(&fresh, M, 13);
    const char *const epochs[] = {"epochs=5", NULL};
    const struct {
        fab_plan plan;
        const double *y, *new_y;
    } cases[] = {
        {{.calibrate = "conformal"}, all.y, fresh.y},
        {{.calibrate = "conformal", .likelihood = "poisson"}, all.count, fresh.count},
        {{.calibrate = "conformal", .likelihood = "categorical"}, all.kind, fresh.kind},
        {{.calibrate = "temperature", .likelihood = "categorical"}, all.kind, fresh.kind},
        {{.calibrate = "temperature"}, all.two, fresh.two},
        {{.calibrate = "conformal", .model = "mlp:4", .method = "sgd", .settings = epochs},
         all.y,
         fresh.y},
        {{.calibrate = "temperature", .model = "mlp:4", .method = "sgd", .settings = epochs},
         all.two,
         fresh.two},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fab_arrays a = rows_of(&all, N, cases[i].y), b = rows_of(&fresh, M, cases[i].new_y);
        fab_regression *r = fit(&a, &cases[i].plan), *loaded;
        assert_int_equal(fab_regression_save(r, in_folder("q")), FAB_OK);
        if (fab_regression_load(&loaded, in_folder("q"), NULL) != FAB_OK)
            fail_msg("%s", fab_detail());
        const fab_calibration c = fab_regression_calibration(r),
                              d = fab_regression_calibration(loaded);
        assert_string_equal(d.way, cases[i].plan.calibrate);
        assert_int_equal(c.rows, 30);
        assert_memory_equal(&c, &d, sizeof c);
        fab_predictions *p = score(r, &b), *q = score(loaded, &b);
        assert_memory_equal(&p->scores, &q->scores, sizeof p->scores);
        if (p->p) assert_memory_equal(p->p, q->p, M * sizeof *p->p);
        if (p->logp)
            assert_memory_equal(p->logp, q->logp, (size_t)(M * p->classes) * sizeof *p->logp);
        assert_int_equal(p->set != NULL, p->classes && !(c.temperature > 0));
        if (p->set) assert_memory_equal(p->set, q->set, (size_t)(M * p->classes));
        fab_predictions_free(p);
        fab_predictions_free(q);
        fab_regression_free(r);
        fab_regression_free(loaded);
    }
}

static int stop_at_epoch(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what;
    return total == 9 && done >= *(const int64_t *)ctx; /* epochs, not rows */
}

static void a_stopped_network_goes_on_and_is_calibrated(void **state)
{
    (void)state;
    enum { N = 100 };
    make_rows(&all, N, 14);
    const fab_arrays a = rows_of(&all, N, all.y);
    const fab_data d = {.arrays = &a};
    const char *const epochs[] = {"epochs=9", "batch=40", NULL};
    char out[512];
    size_t n, m;
    snprintf(out, sizeof out, "%s", in_folder("out"));
    const fab_plan plain = {
        .model = "mlp:4", .method = "sgd", .settings = epochs, .calibrate = "conformal"};
    fab_plan plan = plain;
    fab_regression *r = fit(&a, &plain);
    assert_int_equal(fab_regression_save(r, in_folder("whole")), FAB_OK);
    char *whole = get_bytes(in_folder("whole"), &n);
    fab_regression_free(r);
    plan.output = out;
    plan.checkpoint = 2;
    plan.resume = 1;
    int64_t stop = 5;
    fab_set_progress(stop_at_epoch, &stop);
    assert_int_equal(fab_regression_fit(&r, &d, &plan, NULL), FAB_STOPPED);
    fab_set_progress(NULL, NULL);
    assert_int_equal(fab_regression_load(&r, out, NULL), FAB_BAD_FILE);
    assert_detail("out", "before it was calibrated");
    plan.calibrate = NULL;
    assert_int_equal(fab_regression_fit(&r, &d, &plan, NULL), FAB_BAD_FILE);
    assert_detail("calibrate = conformal (20 rows)", "says nothing");
    plan.calibrate = "conformal";
    fab_regression_free(fit(&a, &plan));
    char *resumed = get_bytes(out, &m);
    assert_int_equal(n, m);
    assert_memory_equal(whole, resumed, n);
    free(whole);
    free(resumed);
}

static void a_damaged_calibration_is_refused(void **state)
{
    (void)state;
    enum { N = 100 };
    static const struct {
        const char *json, *words;
    } bad[] = {
        {"[", "way is not known"},
        {"{\"way\": \"magic\", \"rows\": 20}", "way is not known"},
        {"{\"way\": \"conformal\"}", "0 rows"},
        {"{\"way\": \"conformal\", \"rows\": 18, \"percent\": [50, 90, 95], \"quantiles\": [1, 2, "
         "3]}",
         "18 rows"},
        {"{\"way\": \"conformal\", \"rows\": 20}", "before it was calibrated"},
        {"{\"way\": \"conformal\", \"rows\": 20, \"percent\": [50, 90, 95], \"quantiles\": [1, 2]}",
         "expected 3"},
        {"{\"way\": \"conformal\", \"rows\": 20, \"percent\": [50, 90, 95], \"quantiles\": [1, 2, "
         "\"3\"]}",
         "expected 3"},
        {"{\"way\": \"conformal\", \"rows\": 20, \"percent\": [50, 90, 99], \"quantiles\": [1, 2, "
         "3]}",
         "99 %"},
        {"{\"way\": \"conformal\", \"rows\": 20, \"percent\": [50, 90, 95], \"quantiles\": [1, 3, "
         "2]}",
         "95 % is 2"},
        {"{\"way\": \"conformal\", \"rows\": 20, \"percent\": [50, 90, 95], \"quantiles\": [-1, 3, "
         "4]}",
         "50 % is -1"},
        {"{\"way\": \"temperature\", \"rows\": 20, \"temperature\": 1, \"sd\": 1}", "no classes"},
    };
    make_rows(&all, N, 15);
    const fab_arrays a = rows_of(&all, N, all.y), two = rows_of(&all, N, all.two);
    fab_regression *r = fit(&a, NULL);
    fab_posterior *p;
    assert_int_equal(fab_regression_save(r, in_folder("q")), FAB_OK);
    fab_regression_free(r);
    assert_int_equal(fab_posterior_load(&p, in_folder("q")), FAB_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fab_tensors_set(p->file, "calibration", bad[i].json), FAB_OK);
        assert_int_equal(fab_regression_take(&r, "q", p, NULL), FAB_BAD_FILE);
        assert_detail("q: ", bad[i].words);
    }
    fab_posterior_free(p);
    static const char *const cold[] = {"0, \"sd\": 1",  "-1, \"sd\": 1",   "\"1\", \"sd\": 1", "1",
                                       "1, \"sd\": -1", "1e999, \"sd\": 1"};
    r = fit(&two, NULL);
    assert_int_equal(fab_regression_save(r, in_folder("q")), FAB_OK);
    fab_regression_free(r);
    assert_int_equal(fab_posterior_load(&p, in_folder("q")), FAB_OK);
    for (size_t i = 0; i < sizeof cold / sizeof *cold; i++) {
        char json[128];
        snprintf(json, sizeof json, "{\"way\": \"temperature\", \"rows\": 20, \"temperature\": %s}",
                 cold[i]);
        assert_int_equal(fab_tensors_set(p->file, "calibration", json), FAB_OK);
        assert_int_equal(fab_regression_take(&r, "q", p, NULL), FAB_BAD_FILE);
    }
    fab_posterior_free(p);
}

static void refuse(const fab_arrays *a, const fab_plan *p, fab_status status, const char *said)
{
    fab_regression *r;
    const fab_status s = fab_regression_fit(&r, &(fab_data){.arrays = a}, p, NULL);
    if (s != status) fail_msg("status %d, expected %d: %s", s, status, fab_detail());
    assert_null(r);
    assert_detail(said, said);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    enum { N = 100 };
    make_rows(&all, N, 16);
    const fab_arrays a = rows_of(&all, N, all.y), few = rows_of(&all, 37, all.y),
                     count = rows_of(&all, N, all.count), enough = rows_of(&all, 38, all.y);
    fab_arrays weighted = a;
    weighted.weight = (fab_array){.name = "times", .p = all.weight};
    refuse(&a, &(fab_plan){.calibrate = "luck"}, FAB_BAD_ARGUMENT, "not 'luck'");
    refuse(&a, &(fab_plan){.calibrate = "temperature"}, FAB_BAD_ARGUMENT,
           "this target is gaussian; conformal");
    refuse(&count, &(fab_plan){.calibrate = "temperature", .likelihood = "poisson"},
           FAB_BAD_ARGUMENT, "this target is poisson; conformal");
    refuse(&a, &(fab_plan){.calibrate = "conformal", .method = "lrvga"}, FAB_BAD_ARGUMENT,
           "lrvga takes them as a stream");
    refuse(&a, &(fab_plan){.calibrate = "conformal", .whole = 1}, FAB_BAD_ARGUMENT, "for a fit");
    refuse(&weighted, &(fab_plan){.calibrate = "conformal"}, FAB_BAD_ARGUMENT, "weights: 'times'");
    refuse(&few, &(fab_plan){.calibrate = "conformal"}, FAB_BAD_DATA, "needs 38; here are 37");
    fab_regression *r = fit(&enough, &(fab_plan){.calibrate = "conformal"});
    assert_int_equal(fab_regression_calibration(r).rows, FAB_CALIBRATION_ROWS);
    assert_int_equal(fab_regression_update(r, &(fab_data){.arrays = &a}), FAB_UNSUPPORTED);
    fab_regression_free(r);
    const char *const epochs[] = {"epochs=2", NULL};
    const fab_predict_plan others[] = {{.samples = 7}, {.seed = 3}, {.linearised = 1}};
    r = fit(&a,
            &(fab_plan){
                .calibrate = "conformal", .model = "mlp:3", .method = "sgd", .settings = epochs});
    for (int i = 0; i < 3; i++) {
        fab_predictions *p;
        assert_int_equal(fab_regression_predict(r, &(fab_data){.arrays = &a}, &others[i], &p),
                         FAB_BAD_ARGUMENT);
        assert_detail("samples, seed and linearised", "rows left out");
    }
    fab_regression_free(r);
    double three[] = {1, 2, 3};
    fab_calibration c;
    assert_int_equal(fab_calibration_quantiles(3, three, &c), FAB_BAD_DATA);
    assert_detail("19 rows", "here are 3");
}

/* A fit whose calibration failed is not used as if it had none. */
static void a_failed_calibration_is_not_forgotten(void **state)
{
    (void)state;
    enum { N = 100 };
    make_rows(&all, N, 17);
    fab_split *s;
    const int64_t *out;
    double y[N];
    const fab_arrays a = rows_of(&all, N, y);
    for (int i = 0; i < N; i++) y[i] = all.x[i * D] > 0;
    assert_int_equal(fab_split_test_for(FAB_PURPOSE_CALIBRATE, &s, N, 0.2, y, SEED), FAB_OK);
    const int64_t n = fab_split_part(s, 1, &out);
    int64_t ones = 0;
    for (int64_t i = 0; i < n; i++) ones += y[out[i]] > 0;
    assert_true(ones > 0 && ones < n);
    for (int64_t i = 0; i < n; i++) all.x[out[i] * D] *= -1; /* these contradict all others */
    fab_regression *r;
    fab_predictions *p;
    assert_int_equal(fab_regression_open(&r, &(fab_data){.arrays = &a},
                                         &(fab_plan){.calibrate = "temperature"}, NULL),
                     FAB_OK);
    assert_int_equal(fab_regression_choose(r), FAB_OK);
    assert_int_equal(fab_regression_run(r), FAB_BAD_DATA);
    assert_detail("no better", "20 rows");
    assert_int_equal(fab_regression_predict(r, &(fab_data){.arrays = &a}, NULL, &p),
                     FAB_BAD_ARGUMENT);
    assert_detail("calibration has failed", "regression");
    fab_regression_free(r);
    fab_split_free(s);
}

/* ---- selective -------------------------------------------------------------------------------------- */

static void the_most_uncertain_rows_go_to_a_person(void **state)
{
    (void)state;
    enum { N = 10 };
    fab_prediction q[N];
    double y[N], e;
    fab_predictions p = {.n = N, .p = q, .y = y};
    for (int i = 0; i < N;
         i++) { /* row i is off by i and has sd (i + 1) / 2, whole numbers: pairs are alike */
        q[i] = (fab_prediction){.mean = 1, .sd = (double)((i + 1) / 2)};
        y[i] = 1 + i;
    }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += i * i;
    assert_int_equal(fab_predictions_selective(&p, 0, &e), FAB_OK);
    assert_near(e, sqrt(sum / 10), 1e-15 * e);
    assert_int_equal(fab_predictions_selective(&p, 0.1, &e), FAB_OK); /* without row 9 */
    assert_near(e, sqrt((sum - 81) / 9), 1e-15 * e);
    assert_int_equal(fab_predictions_selective(&p, 0.2, &e), FAB_OK); /* and half of 7 and 8 */
    assert_near(e, sqrt((sum - 81 - (49 + 64) / 2.0) / 8), 1e-15 * e);
    double logp[3 * 4];
    const double prob[4][3] = {{.6, .3, .1}, {.2, .2, .6}, {.1, .8, .1}, {.3, .3, .4}};
    for (int i = 0; i < 12; i++) logp[i] = log(prob[i / 3][i % 3]);
    const fab_predictions classes = {
        .n = 4, .classes = 3, .logp = logp, .y = (double[]){0, 1, 1, 0}}; /* wrong: 1 and 3 */
    assert_int_equal(fab_predictions_selective(&classes, 0, &e), FAB_OK);
    assert_near(e, 0.5, 0);
    assert_int_equal(fab_predictions_selective(&classes, 0.25, &e), FAB_OK);
    assert_near(e, 1 / 3.0, 1e-15);
    assert_int_equal(fab_predictions_selective(&classes, 0.75, &e), FAB_OK);
    assert_near(e, 0, 0);
    assert_int_equal(fab_predictions_selective(&p, 1, &e), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_predictions_selective(&p, NAN, &e), FAB_BAD_ARGUMENT);
    p.y = NULL;
    assert_int_equal(fab_predictions_selective(&p, 0.1, &e), FAB_BAD_ARGUMENT);
    assert_detail("without the target", "selective");
}

/* The whole share kept has the error that the scores have. */
static void nothing_left_to_a_person_is_the_score(void **state)
{
    (void)state;
    enum { N = 100 };
    make_rows(&all, N, 18);
    const double *y[] = {all.y, all.two, all.kind};
    for (int i = 0; i < 3; i++) {
        const fab_arrays a = rows_of(&all, N, y[i]);
        fab_regression *r = fit(&a, &(fab_plan){.likelihood = i == 2 ? "categorical" : NULL});
        fab_predictions *p = score(r, &a);
        double e;
        assert_int_equal(fab_predictions_selective(p, 0, &e), FAB_OK);
        const double is = i ? 1 - p->scores.accuracy : p->scores.rmse;
        assert_near(e, is, N * DBL_EPSILON * (1 + is));
        fab_predictions_free(p);
        fab_regression_free(r);
    }
}

/* ---- memory ----------------------------------------------------------------------------------------- */

static fab_plan tried_plan;
static const double *tried_y;

static fab_status fit_use_and_free(void)
{
    const fab_arrays a = rows_of(&all, 40, tried_y);
    const fab_data d = {.arrays = &a};
    fab_regression *r = NULL;
    fab_predictions *p = NULL;
    double e;
    fab_status s = fab_regression_fit(&r, &d, &tried_plan, &(fab_exec){.threads = 1});
    if (s == FAB_OK) s = fab_regression_predict(r, &d, &(fab_predict_plan){.with_target = 1}, &p);
    if (s == FAB_OK) s = fab_predictions_selective(p, 0.1, &e);
    fab_predictions_free(p);
    fab_regression_free(r);
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    make_rows(&all, 40, 19);
    tried_plan = (fab_plan){.calibrate = "conformal"};
    tried_y = all.y;
    assert_true(fail_every_allocation(fit_use_and_free) > 100);
    tried_y = all.two;
    assert_true(fail_every_allocation(fit_use_and_free) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_tail_is_that_of_small_cases),
        TEST(intervals_of_a_wrong_model_cover_by_their_law),
        TEST(few_rows_keep_the_guarantee),
        TEST(counts_are_covered_at_least_so_often),
        TEST(sets_of_classes_cover_by_their_law),
        TEST(a_set_is_never_empty),
        TEST(a_quantile_is_a_number),
        TEST(the_temperature_is_that_of_a_grid),
        TEST(a_weight_of_two_is_a_row_twice),
        TEST(rows_that_are_all_right_do_not_make_it_sure),
        TEST(predictions_have_the_temperature),
        TEST(the_fit_is_of_the_other_rows),
        TEST(what_only_a_row_left_out_has_is_known),
        TEST(a_file_has_the_calibration),
        TEST(a_stopped_network_goes_on_and_is_calibrated),
        TEST(a_damaged_calibration_is_refused),
        TEST(what_cannot_be_is_refused),
        TEST(a_failed_calibration_is_not_forgotten),
        TEST(the_most_uncertain_rows_go_to_a_person),
        TEST(nothing_left_to_a_person_is_the_score),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
