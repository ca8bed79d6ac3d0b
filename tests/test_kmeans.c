/* test_kmeans.c - Lloyd's algorithm: plain loops, seeds, empty clusters, weights, threads, what is refused.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/fit.h"
#include "methods/mixture/seeds.h"

typedef struct table {
    const double *x;
    int64_t n, D;
} table;

/* G clouds of rows, one after the other in turn. */
static table clouds(int64_t n, int64_t D, int64_t G, double apart)
{
    double *x = doubles(n * D);
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < D; d++)
            x[i * D + d] = apart * noise(11, i % G * D + d) + noise(12, i * D + d);
    return (table){x, n, D};
}

static fab_mixture centroids(int64_t G, int64_t D, const double *mu)
{
    static double weight[64];
    fab_gauss *all = dense_bytes((size_t)G * sizeof *all);
    const fab_gauss **part = dense_bytes((size_t)G * sizeof *part);
    double *psi = doubles(D);
    for (int64_t d = 0; d < D; d++) psi[d] = 1;
    for (int64_t k = 0; k < G; k++) {
        all[k] = (fab_gauss){.form = FAB_FORM_COVARIANCE, .D = D, .psi = psi};
        all[k].mu = doubles(D);
        memcpy(all[k].mu, mu + k * D, (size_t)D * sizeof *mu);
        part[k] = &all[k];
        weight[k] = 1 / (double)G;
    }
    return (fab_mixture){G, part, weight};
}

static fab_fit *fitted(const table *t, const fab_kmeans_settings *s, const fab_mixture *start,
                       const double *weight, int64_t threads)
{
    fab_fit *f;
    const fab_mixture *q;
    const fab_input in = {.vectors = t->D, .start = start};
    const fab_exec x = {.threads = threads};
    assert_ok(fab_fit_create(&f, "kmeans", s, sizeof *s, &in, &x));
    assert_ok(
        fab_fit_update(f, &(fab_examples){.x = {t->x, FAB_F64, t->n, t->D}, .weight = weight}));
    assert_ok(fab_fit_result(f, &q));
    return f;
}

static fab_report report_of(fab_fit *f)
{
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    return r;
}

/* Lloyd in plain loops; W of the end, centroids in mu, counts. */
static real plain_lloyd(const table *t, int64_t G, real *mu, real *counts, int64_t *steps)
{
    const int64_t n = t->n, D = t->D;
    int64_t *label = dense_bytes((size_t)n * sizeof *label), changed = 1;
    real W = 0;
    for (int64_t i = 0; i < n; i++) label[i] = -1;
    for (*steps = 0; changed; ++*steps) {
        changed = 0;
        W = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t best = 0;
            real least = INFINITY;
            for (int64_t k = 0; k < G; k++) {
                real square = 0;
                for (int64_t d = 0; d < D; d++) {
                    const real e = t->x[i * D + d] - mu[k * D + d];
                    square += e * e;
                }
                if (square < least) least = square, best = k;
            }
            changed += label[i] != best;
            label[i] = best;
            W += least;
        }
        for (int64_t k = 0; k < G; k++) {
            counts[k] = 0;
            for (int64_t i = 0; i < n; i++) counts[k] += label[i] == k;
            for (int64_t d = 0; d < D; d++) {
                real sum = 0;
                for (int64_t i = 0; i < n; i++)
                    if (label[i] == k) sum += t->x[i * D + d];
                mu[k * D + d] = sum / counts[k];
            }
        }
    }
    return W;
}

static void from_given_rows_it_is_that_of_plain_loops(void **state)
{
    (void)state;
    static const struct {
        int64_t n, D, G;
    } all[] = {{150, 4, 3}, {600, 29, 7}, {333, 1, 5}, {90, 60, 2}, {64, 3, 1}, {12, 2, 12}};
    for (size_t a = 0; a < sizeof all / sizeof *all; a++)
        for (int far = 0; far < 2; far++) {
            const int64_t D = all[a].D, G = all[a].G;
            table t = clouds(all[a].n, D, 4, 2);
            if (far) { /* compared about a row */
                double *x = doubles(t.n * D);
                for (int64_t i = 0; i < t.n * D; i++) x[i] = t.x[i] + 4096;
                t.x = x;
            }
            real *mu = dense_bytes((size_t)(G * D) * sizeof *mu),
                 *counts = dense_bytes((size_t)G * sizeof *counts);
            for (int64_t i = 0; i < G * D; i++) mu[i] = t.x[i];
            const fab_mixture start = centroids(G, D, t.x), *q;
            const fab_kmeans_settings s = fab_kmeans_defaults(G);
            int64_t steps;
            const real W = plain_lloyd(&t, G, mu, counts, &steps);
            fab_fit *f = fitted(&t, &s, &start, NULL, 2);
            const fab_report r = report_of(f);
            assert_near(r.cost, W, 1e-10 * W + 1e-300);
            assert_int_equal(r.iterations, steps);
            assert_int_equal(r.converged, 1);
            assert_int_equal(r.moved, 0);
            assert_ok(fab_fit_result(f, &q));
            assert_int_equal(q->n, G);
            for (int64_t k = 0; k < G; k++) {
                assert_near(q->weight[k], counts[k] / t.n, 1e-15);
                assert_int_equal(q->part[k]->K, 0);
                for (int64_t d = 0; d < D; d++) {
                    assert_near(q->part[k]->mu[d], mu[k * D + d], far ? 1e-11 : 1e-13);
                    if (W > 0) assert_near(q->part[k]->psi[d], W / (real)(t.n * D), 1e-10 * W);
                }
            }
            fab_fit_free(f);
        }
}

static void tensors_have_what_the_report_has(void **state)
{
    (void)state;
    const table t = clouds(300, 5, 3, 9);
    fab_kmeans_settings s = fab_kmeans_defaults(3);
    fab_fit *f = fitted(&t, &s, NULL, NULL, 1);
    const fab_tensors *all;
    assert_ok(fab_fit_tensors(f, &all));
    const fab_tensor *counts = fab_tensors_find(all, "counts"),
                     *cost = fab_tensors_find(all, "cost"),
                     *steps = fab_tensors_find(all, "iterations");
    for (int64_t k = 0; k < 3; k++) assert_true(((const double *)counts->data)[k] == 100);
    assert_true(*(const double *)cost->data == report_of(f).cost);
    assert_true(*(const int64_t *)steps->data == report_of(f).iterations);
    fab_fit_free(f);
}

/* Three centroids begin where no row is: they take 1000, 100 and 10. */
static void empty_clusters_take_the_rows_that_are_farthest(void **state)
{
    (void)state;
    static const double x[] = {0.1, 10, -0.1, 1000, 0.2, 100, -0.2};
    const table t = {x, 7, 1};
    const double mu[] = {0, 1e6, 2e6, 3e6}, want[] = {0, 1000, 100, 10};
    const fab_mixture start = centroids(4, 1, mu), *q;
    const fab_kmeans_settings s = fab_kmeans_defaults(4);
    fab_fit *f = fitted(&t, &s, &start, NULL, 2);
    assert_int_equal(report_of(f).moved, 3);
    assert_near(report_of(f).cost, 0.1, 1e-15);
    assert_ok(fab_fit_result(f, &q));
    for (int64_t k = 0; k < 4; k++) assert_near(q->part[k]->mu[0], want[k], 1e-13);
    fab_fit_free(f);
}

/* A row of weight 3 is three rows. */
static void weights_are_numbers_of_rows(void **state)
{
    (void)state;
    const table t = clouds(120, 4, 3, 1);
    double *weight = doubles(t.n), *x = doubles(3 * t.n * t.D);
    table many = {x, 0, t.D};
    for (int64_t i = 0; i < t.n; i++) {
        weight[i] = 1 + (double)(i % 3);
        for (int64_t k = 0; k <= i % 3; k++, many.n++)
            memcpy(x + many.n * t.D, t.x + i * t.D, (size_t)t.D * sizeof *x);
    }
    const fab_mixture start = centroids(3, 4, t.x);
    const fab_kmeans_settings s = fab_kmeans_defaults(3);
    fab_fit *f = fitted(&t, &s, &start, weight, 1), *g = fitted(&many, &s, &start, NULL, 1);
    const fab_mixture *p, *q;
    assert_near(report_of(f).cost, report_of(g).cost, 1e-12 * report_of(g).cost);
    assert_ok(fab_fit_result(f, &p));
    assert_ok(fab_fit_result(g, &q));
    for (int64_t k = 0; k < 3; k++) assert_near(p->weight[k], q->weight[k], 1e-14);
    fab_fit_free(f);
    fab_fit_free(g);
}

static void same_mixture(fab_fit *f, fab_fit *g)
{
    void *a, *b;
    size_t m, n;
    assert_ok(fab_fit_pack(f, 0, NULL, &a, &m));
    assert_ok(fab_fit_pack(g, 0, NULL, &b, &n));
    assert_int_equal(m, n);
    assert_memory_equal(a, b, m);
    fab_bytes_free(a);
    fab_bytes_free(b);
    fab_fit_free(f);
    fab_fit_free(g);
}

/* Side by side on 2 and 5 threads, one after the other on 16. */
static void threads_do_not_matter(void **state)
{
    (void)state;
    const table t = clouds(5000, 6, 9, 2);
    fab_kmeans_settings s = fab_kmeans_defaults(9);
    static const int64_t threads[] = {2, 5, 16};
    for (size_t i = 0; i < 3; i++)
        same_mixture(fitted(&t, &s, NULL, NULL, 1), fitted(&t, &s, NULL, NULL, threads[i]));
}

static void more_restarts_never_cost_more(void **state)
{
    (void)state;
    const table t = clouds(300, 2, 12, 5);
    double before = INFINITY;
    for (int64_t restarts = 1; restarts <= 16; restarts *= 2) {
        fab_kmeans_settings s = fab_kmeans_defaults(12);
        s.restarts = restarts;
        s.start = FAB_KMEANS_ROWS;
        fab_fit *f = fitted(&t, &s, NULL, NULL, 2);
        assert_true(report_of(f).cost <= before);
        before = report_of(f).cost;
        fab_fit_free(f);
    }
}

static void a_tolerance_ends_it_sooner(void **state)
{
    (void)state;
    const table t = clouds(2000, 3, 5, 0.5);
    const fab_mixture start = centroids(6, 3, t.x);
    fab_kmeans_settings s = fab_kmeans_defaults(6);
    fab_fit *f = fitted(&t, &s, &start, NULL, 1);
    s.tol = 1e-3;
    fab_fit *g = fitted(&t, &s, &start, NULL, 1);
    s.tol = 0;
    s.max_iter = 2;
    fab_fit *h = fitted(&t, &s, &start, NULL, 1);
    assert_true(report_of(g).iterations < report_of(f).iterations);
    assert_int_equal(report_of(g).converged, 1);
    assert_int_equal(report_of(h).iterations, 2);
    assert_int_equal(report_of(h).converged, 0);
    assert_true(report_of(f).cost <= report_of(g).cost && report_of(g).cost <= report_of(h).cost);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_fit_free(h);
}

/* ---- seeds ---------------------------------------------------------------------------------------- */

enum { ROWS = 8, DRAWS = 20000 };

static double square_of(const table *t, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t d = 0; d < t->D; d++) {
        const double e = t->x[i * t->D + d] - t->x[j * t->D + d];
        sum += e * e;
    }
    return sum;
}

static double rho_of(const table *t, int64_t i, const int64_t *seed, int64_t G)
{
    double least = INFINITY;
    for (int64_t k = 0; k < G; k++) {
        const double square = square_of(t, i, seed[k]);
        if (square < least) least = square;
    }
    return least;
}

/* Mean and mean square of the potential of G seeds by kmeans++, over all that may be drawn. */
static void enumerate_seeds(const table *t, const double *weight, int64_t G, int64_t have,
                            int64_t *seed, double probability, double *mean, double *square)
{
    double rho[ROWS], left = 0;
    for (int64_t i = 0; i < t->n; i++) {
        rho[i] = weight[i] * (have ? rho_of(t, i, seed, have) : 1);
        left += rho[i];
    }
    if (have == G) {
        *mean += probability * left;
        *square += probability * left * left;
        return;
    }
    for (int64_t i = 0; i < t->n; i++) {
        seed[have] = i;
        if (rho[i] > 0)
            enumerate_seeds(t, weight, G, have + 1, seed, probability * rho[i] / left, mean,
                            square);
    }
}

static double potential_of(const table *t, const double *weight, int64_t G, int64_t how,
                           uint64_t stream)
{
    const fab_rows x = {t->x, FAB_F64, t->n, t->D};
    double mu[ROWS * 2], potential = 0;
    fab_centres c;
    assert_ok(fab_centres_init(&c, t->D, G, FAB_F64, NULL, 1, "test"));
    const fab_seeds s = {
        &c, &x, weight, G, how, 3, stream, "test", doubles(fab_seeds_room(t->n, G, t->D))};
    assert_ok(fab_seeds_choose(&s, mu, NULL));
    for (int64_t i = 0; i < t->n; i++) {
        double least = INFINITY;
        for (int64_t k = 0; k < G; k++) {
            const double square = fab_row_distance(&x, i, t->D, mu + k * t->D);
            if (square < least) least = square;
        }
        potential += weight[i] * least;
    }
    fab_centres_free(&c);
    return potential;
}

/* 4 standard errors: wrong in one of 16 000 runs, and the seed is fixed. */
static void potentials_of_seeds_have_their_exact_mean(void **state)
{
    (void)state;
    const table t = clouds(ROWS, 2, 3, 3);
    double weight[ROWS], exact[2];
    for (int64_t i = 0; i < ROWS; i++) weight[i] = 1 + 0.5 * (double)(i % 3);
    for (int64_t G = 1; G <= 4; G++) {
        int64_t seed[4];
        double mean = 0, square = 0, sum = 0;
        enumerate_seeds(&t, weight, G, 0, seed, 1, &mean, &square);
        for (uint64_t draw = 0; draw < DRAWS; draw++)
            sum += potential_of(&t, weight, G, FAB_KMEANS_PLUSPLUS, draw);
        assert_near(sum / DRAWS, mean, 4 * sqrt((square - mean * mean) / DRAWS));
        exact[0] = mean;
        sum = 0;
        for (uint64_t draw = 0; draw < DRAWS; draw++)
            sum += potential_of(&t, weight, G, FAB_KMEANS_GREEDY, draw);
        exact[1] = sum / DRAWS;
        if (G > 1) assert_true(exact[1] < exact[0]);
    }
}

/* Each row is among 3 of 8 with probability 3/8, where weights are equal. */
static void rows_at_random_are_all_alike_probable(void **state)
{
    (void)state;
    const table t = clouds(ROWS, 2, 3, 3);
    const fab_rows x = {t.x, FAB_F64, ROWS, 2};
    double count[ROWS] = {0}, mu[6];
    fab_centres c;
    assert_ok(fab_centres_init(&c, 2, 3, FAB_F64, NULL, 1, "test"));
    double *room = doubles(fab_seeds_room(ROWS, 3, 2));
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        const fab_seeds s = {&c, &x, NULL, 3, FAB_KMEANS_ROWS, 3, draw, "test", room};
        assert_ok(fab_seeds_choose(&s, mu, NULL));
        for (int64_t k = 0; k < 3; k++)
            for (int64_t i = 0; i < ROWS; i++)
                count[i] += fab_row_distance(&x, i, 2, mu + k * 2) == 0;
    }
    for (int64_t i = 0; i < ROWS; i++)
        assert_near(count[i] / DRAWS, 3.0 / 8, 4 * sqrt(3.0 / 8 * 5 / 8 / DRAWS));
    fab_centres_free(&c);
}

/* ---- what is odd, and what is refused ------------------------------------------------------------- */

static fab_status try_once(const table *t, int64_t G, int64_t start, const fab_mixture *from)
{
    fab_fit *f;
    const fab_mixture *q;
    fab_kmeans_settings s = fab_kmeans_defaults(G);
    s.start = start;
    fab_status done = fab_fit_create(&f, "kmeans", &s, sizeof s,
                                     &(fab_input){.vectors = t->D, .start = from}, NULL);
    if (done == FAB_OK) done = fab_fit_update(f, &(fab_examples){.x = {t->x, FAB_F64, t->n, t->D}});
    if (done == FAB_OK) done = fab_fit_result(f, &q);
    fab_fit_free(f);
    return done;
}

static void bad_input_is_answered_with_a_sentence(void **state)
{
    (void)state;
    double x[40];
    for (int i = 0; i < 40; i++) x[i] = i / 2 % 3; /* three distinct rows */
    table t = {x, 20, 2};
    const double far[] = {0, 0, 1, 1, 2, 2, 3, 3};
    const fab_mixture start = centroids(4, 2, far), wide = centroids(4, 1, far);
    assert_refused(try_once(&t, 21, 0, NULL), FAB_BAD_DATA, "20 rows for G = 21 clusters");
    assert_refused(try_once(&t, 21, FAB_KMEANS_ROWS, NULL), FAB_BAD_DATA, "20 rows for G = 21");
    assert_refused(try_once(&t, 4, 0, NULL), FAB_BAD_DATA, "3 distinct rows for G = 4 clusters");
    assert_refused(try_once(&t, 4, FAB_KMEANS_ROWS, NULL), FAB_BAD_DATA, "distinct rows");
    assert_refused(try_once(&t, 4, 0, &start), FAB_BAD_DATA, "distinct rows");
    assert_refused(try_once(&t, 3, 0, &start), FAB_BAD_ARGUMENT, "a start of 4 parts for G = 3");
    assert_refused(try_once(&t, 4, 0, &wide), FAB_BAD_ARGUMENT, "vectors of length 1");
    assert_ok(try_once(&t, 3, 0, NULL));
    assert_ok(try_once(&t, 3, FAB_KMEANS_ROWS, NULL));
    t.n = 1;
    assert_refused(try_once(&t, 1, 0, NULL), FAB_BAD_DATA, "1 rows seen, expected at least 2");
    t.n = 20;
    x[3] = NAN;
    assert_refused(try_once(&t, 2, 0, NULL), FAB_BAD_DATA, "row 1");
    for (int i = 0; i < 40; i++) x[i] = i * 1e200;
    assert_refused(try_once(&t, 2, 0, NULL), FAB_NUMERIC, "scale the columns");
    fab_fit *f;
    assert_refused(fab_fit_create(&f, "ml", &(fab_ml_settings){.K = 1}, sizeof(int64_t),
                                  &(fab_input){.vectors = 2, .start = &start}, NULL),
                   FAB_UNSUPPORTED, "ml: begins where it chooses");
}

/* psi stands at its floor, and that is counted. */
static void rows_without_width_have_the_floor(void **state)
{
    (void)state;
    double x[40];
    const table t = {x, 20, 2};
    const fab_mixture *q;
    for (int same = 0; same < 2; same++) {
        for (int i = 0; i < 40; i++) x[i] = same ? 3 : i / 2 % 2;
        const fab_kmeans_settings s = fab_kmeans_defaults(same ? 1 : 2);
        fab_fit *f = fitted(&t, &s, NULL, NULL, 1);
        assert_ok(fab_fit_result(f, &q));
        assert_near(q->part[0]->psi[0], same ? 9e-6 : 0.25e-6, 1e-18);
        assert_int_equal(report_of(f).floored, 2);
        assert_true(report_of(f).cost == 0);
        fab_fit_free(f);
    }
}

static int ask_twice(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    return ++*(int *)ctx == 2;
}

static void a_stop_is_heard_and_the_result_comes_all_the_same(void **state)
{
    (void)state;
    const table t = clouds(2000, 3, 5, 0.5);
    int asked = 0;
    const fab_exec x = {.threads = 2, .progress = ask_twice, .progress_ctx = &asked};
    const fab_kmeans_settings s = fab_kmeans_defaults(6);
    fab_fit *f;
    const fab_mixture *q;
    assert_ok(fab_fit_create(&f, "kmeans", &s, sizeof s, &(fab_input){.vectors = 3}, &x));
    assert_ok(fab_fit_update(f, &(fab_examples){.x = {t.x, FAB_F64, t.n, t.D}}));
    assert_int_equal(fab_fit_result(f, &q), FAB_STOPPED);
    assert_ok(fab_fit_result(f, &q));
    same_mixture(f, fitted(&t, &s, NULL, NULL, 1));
}

static fab_status fit_once(void)
{
    const table t = clouds(50, 3, 4, 2);
    return try_once(&t, 4, 0, NULL);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(fit_once) >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(from_given_rows_it_is_that_of_plain_loops),
        TEST(tensors_have_what_the_report_has),
        TEST(empty_clusters_take_the_rows_that_are_farthest),
        TEST(weights_are_numbers_of_rows),
        TEST(threads_do_not_matter),
        TEST(more_restarts_never_cost_more),
        TEST(a_tolerance_ends_it_sooner),
        TEST(potentials_of_seeds_have_their_exact_mean),
        TEST(rows_at_random_are_all_alike_probable),
        TEST(bad_input_is_answered_with_a_sentence),
        TEST(rows_without_width_have_the_floor),
        TEST(a_stop_is_heard_and_the_result_comes_all_the_same),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
