/* test_merge.c - posteriors of shards become that of all rows: against dense moments, and against the fit of all rows.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/table.h"
#include "dense.h"
#include "posterior/product.h"

enum { D = 5, N = 403, PARTS = 3, WIDE = 29 };

static const int64_t cuts[PARTS + 1] = {0, 41, 301, N}; /* shards of different sizes */

static struct {
    double x[N * D], y[N], kind[N], count[N], weight[N];
} rows;

static void make_rows(void)
{
    double u[N], e[N];
    fab_random_normal(7, FAB_PURPOSE_DATA, 1, 0, N * D, FAB_F64, rows.x);
    fab_random_normal(7, FAB_PURPOSE_DATA, 2, 0, N, FAB_F64, e);
    fab_random_uniform(7, FAB_PURPOSE_DATA, 3, 0, N, u);
    for (int64_t i = 0; i < N; i++) {
        double eta = 0.3;
        for (int64_t d = 0; d < D; d++) {
            eta += 0.5 * noise(5, d) * rows.x[i * D + d];
            rows.x[i * D + d] = rows.x[i * D + d] * pow(10, (double)d - 2) + 2.385 * (double)d;
        }
        rows.y[i] = 17 * eta + 3 * e[i] + 100;
        rows.kind[i] = u[i] < 1 / (1 + exp(-2 * eta));
        rows.count[i] = floor(exp(eta) + u[i]);
        rows.weight[i] = 0.5 + (double)(i % 4);
    }
}

/* ---- posteriors in memory ---------------------------------------------------------------------------- */

static fab_posterior *posterior_of(fab_regression *r)
{
    fab_posterior *p;
    void *bytes;
    size_t size;
    if (fab_regression_pack(r, &bytes, &size) != FAB_OK) fail_msg("%s", fab_detail());
    assert_int_equal(fab_posterior_parse(&p, "part", bytes, size), FAB_OK);
    fab_bytes_free(bytes);
    fab_regression_free(r);
    return p;
}

typedef struct job {
    const double *y;
    int weighted;
    fab_plan plan;
} job;

/* Rows first .. end - 1. */
static fab_posterior *learn(const job *j, int64_t first, int64_t end)
{
    const fab_arrays a = {.n = end - first,
                          .x = rows.x + first * D,
                          .D = D,
                          .y = {.name = "y", .p = j->y + first},
                          .weight = {.name = "w", .p = j->weighted ? rows.weight + first : NULL}};
    const fab_data data = {.arrays = &a};
    fab_regression *r;
    if (fab_regression_fit(&r, &data, &j->plan, NULL) != FAB_OK) fail_msg("%s", fab_detail());
    return posterior_of(r);
}

static const char *const names[] = {"first", "second", "third"};

static fab_posterior *merged(fab_posterior *const *part, int64_t n, const fab_merge_plan *plan,
                             fab_merge_report *report)
{
    fab_posterior *all;
    if (fab_merge(&all, names, (const fab_posterior *const *)part, n, plan, NULL, report) != FAB_OK)
        fail_msg("%s", fab_detail());
    return all;
}

static void refuse(fab_posterior *const *part, int64_t n, const fab_merge_plan *plan, fab_status s,
                   const char *words)
{
    fab_posterior *all;
    assert_int_equal(
        fab_merge(&all, names, (const fab_posterior *const *)part, n, plan, NULL, NULL), s);
    assert_null(all);
    if (!strstr(fab_detail(), words)) fail_msg("'%s' lacks '%s'", fab_detail(), words);
}

static void free_all(fab_posterior **part, int64_t n)
{
    for (int64_t j = 0; j < n; j++) fab_posterior_free(part[j]);
}

/* KL of a from b, both in the user's units; linear models. */
static double distance(const fab_posterior *a, const fab_posterior *b)
{
    const fab_posterior *side[2] = {a, b};
    fab_gauss *g[2];
    double kl;
    for (int i = 0; i < 2; i++) {
        fab_regression *r;
        if (fab_regression_take(&r, "file", side[i], NULL) != FAB_OK) fail_msg("%s", fab_detail());
        assert_int_equal(fab_regression_gauss(r, &g[i]), FAB_OK);
        fab_regression_free(r);
    }
    assert_int_equal(fab_distance_kl(g[0], g[1], NULL, &kl), FAB_OK);
    fab_gauss_free(g[0]);
    fab_gauss_free(g[1]);
    return kl;
}

/* KL of the merged shards of a job from the fit of all rows. */
static double merged_from_whole(const job *j, fab_merge_way way)
{
    fab_posterior *part[PARTS], *whole = learn(j, 0, N), *all;
    fab_merge_report r;
    for (int k = 0; k < PARTS; k++) part[k] = learn(j, cuts[k], cuts[k + 1]);
    all = merged(part, PARTS, NULL, &r);
    assert_int_equal(r.way, way);
    assert_int_equal(r.parts, PARTS);
    assert_string_equal(fab_tensors_get(all->file, "method"),
                        fab_tensors_get(whole->file, "method"));
    const double kl = distance(all, whole);
    free_all(part, PARTS);
    fab_posterior_free(all);
    fab_posterior_free(whole);
    return kl;
}

/* ---- Gaussians --------------------------------------------------------------------------------------- */

static void pooling_has_the_mean_and_covariance_of_the_mixture(void **state)
{
    (void)state;
    const double weight[3] = {0.5, 0.2, 0.3};
    fab_gauss *g[3], *q;
    const fab_gauss *part[3];
    double kl;
    for (int j = 0; j < 3; j++)
        part[j] = g[j] = some_gauss(FAB_FORM_COVARIANCE, j == 1 ? FAB_F32 : FAB_F64, WIDE,
                                    1 + 2 * j, 40 + (uint64_t)j, 1);
    const fab_mixture m = {3, part, weight};
    assert_int_equal(fab_mixture_pool(&q, &m, 12, NULL, &kl), FAB_OK);
    assert_int_equal(q->K, 12); /* 1 + 3 + 5 columns, and one for each mean */
    assert_true(kl == 0);
    const real *S = dense_covariance(q);
    for (int i = 0; i < WIDE; i++) {
        real mean = 0;
        for (int j = 0; j < 3; j++) mean += (real)weight[j] * g[j]->mu[i];
        assert_near(q->mu[i], mean, 1e-15 * 10);
    }
    const real *one[3] = {dense_covariance(g[0]), dense_covariance(g[1]), dense_covariance(g[2])};
    for (int i = 0; i < WIDE; i++)
        for (int k = 0; k < WIDE; k++) {
            real want = 0;
            for (int j = 0; j < 3; j++)
                want += (real)weight[j] *
                        (one[j][i * WIDE + k] +
                         ((real)g[j]->mu[i] - q->mu[i]) * ((real)g[j]->mu[k] - q->mu[k]));
            assert_near(S[i * WIDE + k], want, 1e-13);
        }
    fab_gauss_free(q);
    assert_int_equal(fab_mixture_pool(&q, &m, 4, NULL, &kl), FAB_OK);
    assert_int_equal(q->K, 4);
    assert_true(kl > 0);
    fab_gauss_free(q);
    for (int j = 0; j < 3; j++) fab_gauss_free(g[j]);
}

/* Two posteriors of one prior: precisions add up less the prior, against plain sums. */
static void a_product_counts_the_prior_once(void **state)
{
    (void)state;
    static const fab_form forms[2][2] = {{FAB_FORM_PRECISION, FAB_FORM_PRECISION},
                                         {FAB_FORM_COVARIANCE, FAB_FORM_PRECISION}};
    double prior[WIDE], after[WIDE], evidence;
    for (int i = 0; i < WIDE; i++) {
        prior[i] = 0.05 + 0.01 * i; /* below every psi of a precision */
        after[i] = 0.3;
    }
    for (int way = 0; way < 2; way++) {
        fab_product p;
        fab_gauss *a = some_gauss(forms[way][0], FAB_F64, WIDE, 3, 50, 0.5);
        fab_gauss *b = some_gauss(forms[way][1], FAB_F64, WIDE, 4, 60, 0.5), *q;
        assert_int_equal(fab_product_open(&p, WIDE, way ? 0 : 7, NULL), FAB_OK);
        if (way) /* a covariance says less than this prior, which does not matter to sums */
            for (int i = 0; i < WIDE; i++) prior[i] = 0.001;
        assert_int_equal(fab_product_add(&p, a, prior, 2), FAB_OK);
        assert_int_equal(fab_product_add(&p, b, prior, 1), FAB_OK);
        assert_int_equal(fab_product_gauss(&p, after, &q, &evidence), FAB_OK);
        const real *A = dense_precision(a), *B = dense_precision(b), *Q = dense_precision(q);
        for (int i = 0; i < WIDE; i++) {
            real eta = 0, got = 0;
            for (int j = 0; j < WIDE; j++) {
                real want = 2 * A[i * WIDE + j] + B[i * WIDE + j];
                if (i == j) want += (real)after[i] - 3 * (real)prior[i];
                assert_near(Q[i * WIDE + j], want, 1e-11);
                eta += 2 * A[i * WIDE + j] * (real)a->mu[j] + B[i * WIDE + j] * (real)b->mu[j];
                got += want * (real)q->mu[j];
            }
            assert_near(got, eta, 1e-10);
        }
        fab_product_close(&p);
        fab_gauss_free(q);
        fab_gauss_free(a);
        fab_gauss_free(b);
    }
}

/* A prior that says more than the posteriors leaves no Gaussian, and says of which coordinate. */
static void a_product_that_is_no_gaussian_is_refused(void **state)
{
    (void)state;
    enum { FEW = 3 };
    double prior[FEW] = {0}, after[FEW] = {0}, mu[FEW] = {0}, psi[FEW] = {1, 1, 1}, evidence;
    double F[FEW] = {3, 3, 3};
    fab_gauss *q, *other = some_gauss(FAB_FORM_PRECISION, FAB_F64, FEW - 1, 1, 1, 1);
    const fab_gauss sure = {.form = FAB_FORM_PRECISION,
                            .type = FAB_F64,
                            .D = FEW,
                            .K = 1,
                            .mu = mu,
                            .psi = psi,
                            .F = F};
    fab_gauss covariance = sure;
    covariance.form = FAB_FORM_COVARIANCE;
    for (int dense = 0; dense < 2; dense++) {
        fab_product p;
        assert_ok(fab_product_open(&p, FEW, dense ? 0 : 1, NULL));
        assert_refused(fab_product_add(&p, other, prior, 1), FAB_BAD_ARGUMENT,
                       "no Gaussian over 3 coordinates");
        if (!dense)
            assert_refused(fab_product_add(&p, &covariance, prior, 1), FAB_BAD_ARGUMENT,
                           "a part in covariance form with 1 columns, 1 left");
        assert_ok(fab_product_add(&p, &sure, prior, 1));
        if (!dense)
            assert_refused(fab_product_add(&p, &sure, prior, 1), FAB_BAD_ARGUMENT,
                           "with 1 columns, 0 left");
        after[1] = -11; /* of 3 3 + 1 on the diagonal; beside the factors there is 1 */
        assert_refused(fab_product_gauss(&p, after, &q, &evidence), FAB_NUMERIC,
                       dense ? "coordinate 1 has the precision -1"
                             : "coordinate 1 has the precision -10 beside its factors");
        assert_null(q);
        after[1] = -5; /* 5 on the diagonal, 9 beside it */
        assert_refused(fab_product_gauss(&p, after, &q, &evidence), FAB_NUMERIC,
                       dense ? "no positive definite precision is left" : "beside its factors");
        after[1] = 0;
        assert_ok(fab_product_gauss(&p, after, &q, &evidence));
        fab_gauss_free(q);
        fab_product_close(&p);
    }
    fab_gauss_free(other);
}

static void what_cannot_be_pooled_is_refused(void **state)
{
    (void)state;
    const double weight[2] = {0.5, 0.5};
    fab_gauss *a = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, WIDE, 1, 40, 1),
              *b = some_gauss(FAB_FORM_PRECISION, FAB_F64, WIDE, 1, 41, 1), *q;
    const fab_gauss *same[2] = {a, a}, *mixed[2] = {a, b};
    double kl;
    assert_refused(fab_mixture_pool(&q, &(fab_mixture){2, same, weight}, 0, NULL, &kl),
                   FAB_BAD_ARGUMENT, "a rank of 0");
    assert_refused(fab_mixture_pool(&q, &(fab_mixture){2, mixed, weight}, 2, NULL, &kl),
                   FAB_UNSUPPORTED, "part 1 is in precision form");
    fab_gauss_free(a);
    fab_gauss_free(b);
}

/* ---- factor analysis --------------------------------------------------------------------------------- */

static fab_posterior *factors(const char *method, int64_t first, int64_t end, int weighted)
{
    fab_factors *f;
    fab_posterior *p;
    void *bytes;
    size_t size;
    const fab_factors_plan plan = {.D = D, .method = method, .K = 2};
    const fab_rows part = {.p = rows.x + first * D, .type = FAB_F64, .n = end - first, .ld = D};
    assert_int_equal(fab_factors_create(&f, &plan, NULL), FAB_OK);
    assert_int_equal(fab_factors_update(f, &part, weighted ? rows.weight + first : NULL), FAB_OK);
    if (fab_factors_pack(f, &bytes, &size) != FAB_OK) fail_msg("%s", fab_detail());
    fab_factors_free(f);
    assert_int_equal(fab_posterior_parse(&p, "part", bytes, size), FAB_OK);
    fab_bytes_free(bytes);
    return p;
}

static void states_of_streams_add_up_in_any_order(void **state)
{
    (void)state;
    static const int orders[2][PARTS] = {{0, 1, 2}, {2, 0, 1}};
    fab_posterior *part[PARTS], *whole = factors("online-ml", 0, N, 1);
    for (int k = 0; k < PARTS; k++) part[k] = factors("online-ml", cuts[k], cuts[k + 1], 1);
    for (int o = 0; o < 2; o++) {
        fab_posterior *turn[PARTS], *all;
        fab_merge_report r;
        double kl;
        for (int k = 0; k < PARTS; k++) turn[k] = part[orders[o][k]];
        all = merged(turn, PARTS, NULL, &r);
        assert_int_equal(r.way, FAB_MERGE_STATES);
        assert_int_equal(fab_distance_kl(all->mix.part[0], whole->mix.part[0], NULL, &kl), FAB_OK);
        assert_near(kl, 0, 1e-10);
        assert_string_equal(fab_tensors_get(all->file, "n"), fab_tensors_get(whole->file, "n"));
        fab_posterior_free(all);
    }
    free_all(part, PARTS);
    fab_posterior_free(whole);
}

/* The merged file goes on as one pass over all rows would. */
static void a_merged_stream_takes_more_rows(void **state)
{
    (void)state;
    fab_posterior *part[2] = {factors("online-ml", 0, 41, 0), factors("online-ml", 41, 200, 0)};
    fab_posterior *all = merged(part, 2, NULL, NULL), *whole = factors("online-ml", 0, N, 0);
    const fab_rows rest = {.p = rows.x + 200 * D, .type = FAB_F64, .n = N - 200, .ld = D};
    const fab_gauss *q;
    fab_fit *f;
    double kl;
    if (fab_fit_load(&f, all->file, NULL, NULL) != FAB_OK) fail_msg("%s", fab_detail());
    assert_int_equal(fab_fit_update(f, &(fab_examples){.x = rest}), FAB_OK);
    assert_int_equal(fab_fit_rows(f), N);
    assert_int_equal(fab_fit_gauss(f, &q), FAB_OK);
    assert_int_equal(fab_distance_kl(q, whole->mix.part[0], NULL, &kl), FAB_OK);
    assert_near(kl, 0, 1e-10);
    fab_fit_free(f);
    fab_posterior_free(all);
    fab_posterior_free(whole);
    free_all(part, 2);
}

/* Three of one rank from moments, whatever kept them; a grouping changes nothing but by the cuts. */
static void moments_are_those_of_all_rows(void **state)
{
    (void)state;
    fab_posterior *part[PARTS], *whole = factors("recursive-em", 0, N, 0), *all;
    fab_merge_report r;
    double kl;
    for (int k = 0; k < PARTS; k++) part[k] = factors("recursive-em", cuts[k], cuts[k + 1], 0);
    all = merged(part, PARTS, NULL, &r);
    assert_int_equal(r.way, FAB_MERGE_MOMENTS);
    assert_int_equal(fab_distance_kl(all->mix.part[0], whole->mix.part[0], NULL, &kl), FAB_OK);
    assert_near(kl, 0, 1e-4); /* two searches for a maximum, each to its tolerance */
    assert_string_equal(fab_tensors_get(all->file, "n"), "403");
    fab_posterior_free(all);
    all = merged(part, PARTS, &(fab_merge_plan){.K = 1}, &r);
    assert_int_equal(all->mix.part[0]->K, 1);
    assert_true(r.kl > 0);
    fab_posterior_free(all);
    free_all(part, PARTS);
    fab_posterior_free(whole);
}

/* ---- linear models ----------------------------------------------------------------------------------- */

/* Each in units of its own: alpha, beta, units and posterior are those of all rows. */
static void exact_shards_are_the_fit_of_all_rows(void **state)
{
    (void)state;
    assert_near(merged_from_whole(&(job){.y = rows.y}, FAB_MERGE_ROWS), 0, 1e-9);
    assert_near(merged_from_whole(&(job){.y = rows.y, .weighted = 1}, FAB_MERGE_ROWS), 0, 1e-9);
    assert_near(merged_from_whole(&(job){.y = rows.y, .plan = {.no_scale = 1}}, FAB_MERGE_ROWS), 0,
                1e-9);
}

static void shards_in_given_units_keep_what_was_given(void **state)
{
    (void)state;
    const char *const given[] = {"alpha=0.7", "beta=20", NULL};
    const job own = {.y = rows.y};
    fab_posterior *some = learn(&own, 0, N);
    fab_regression *r;
    assert_int_equal(fab_regression_take(&r, "units", some, NULL), FAB_OK);
    const fab_scaling *units = fab_regression_scaling(r);
    const char *const methods[] = {"exact", "kalman", "lrvga"};
    for (int i = 0; i < 3; i++) {
        const char *const narrow[] = {"alpha=0.7", "beta=20", "K=6", NULL};
        const job j = {
            .y = rows.y,
            .plan = {.method = methods[i], .settings = i == 2 ? narrow : given, .scaling = units}};
        const double tol = i == 2 ? 1e-6 : 1e-9; /* lrvga holds psi above a tenth of alpha by EM */
        assert_near(merged_from_whole(&j, i ? FAB_MERGE_PRODUCT : FAB_MERGE_ROWS), 0, tol);
    }
    fab_regression_free(r);
    fab_posterior_free(some);
}

static void the_grouping_of_merges_does_not_matter(void **state)
{
    (void)state;
    const job numbers = {.y = rows.y},
              counts = {.y = rows.count,
                        .plan = {.likelihood = "poisson",
                                 .method = "laplace",
                                 .settings = (const char *const[]){"alpha=0.7", NULL}}};
    const job *const jobs[] = {&numbers, &counts};
    for (int i = 0; i < 2; i++) {
        fab_posterior *part[PARTS], *pair[2];
        for (int k = 0; k < PARTS; k++) part[k] = learn(jobs[i], cuts[k], cuts[k + 1]);
        fab_posterior *at_once = merged(part, PARTS, NULL, NULL);
        pair[0] = merged(part + 1, 2, NULL, NULL);
        pair[1] = part[0];
        fab_posterior *in_turn = merged(pair, 2, &(fab_merge_plan){.alpha = i ? 0.7 : 0}, NULL);
        /* counts: alpha is a precision in the units of the first part, which are not the same */
        assert_near(distance(in_turn, at_once), 0, i ? 1e-3 : 1e-9);
        fab_posterior_free(in_turn);
        fab_posterior_free(pair[0]);
        fab_posterior_free(at_once);
        free_all(part, PARTS);
    }
}

/* In units of their own each; the approximation of each shard is what separates them. */
static void classes_and_counts_multiply(void **state)
{
    (void)state;
    const job kinds = {.y = rows.kind, .plan = {.likelihood = "bernoulli", .method = "vga"}};
    const job counts = {.y = rows.count, .plan = {.likelihood = "poisson", .method = "laplace"}};
    const double kind = merged_from_whole(&kinds, FAB_MERGE_PRODUCT),
                 count = merged_from_whole(&counts, FAB_MERGE_PRODUCT);
    assert_true(kind < 0.2);
    assert_true(count < 0.2);
}

/* ---- what is refused --------------------------------------------------------------------------------- */

static void what_cannot_be_merged_is_refused_with_a_sentence(void **state)
{
    (void)state;
    const job number = {.y = rows.y}, kind = {.y = rows.kind, .plan = {.likelihood = "bernoulli"}},
              point = {.y = rows.kind, .plan = {.likelihood = "bernoulli", .method = "map"}},
              process = {.y = rows.y, .plan = {.model = "gp:rbf"}},
              none = {.y = rows.y, .plan = {.no_intercept = 1}};
    fab_posterior *a = learn(&number, 0, 100), *f = factors("online-ml", 0, 100, 0);
    fab_posterior *pair[2] = {a, NULL};
    const job *const others[] = {&kind, &none};
    const char *const words[] = {"differ in their likelihoods", "differ in having an intercept"};
    refuse(&a, 1, NULL, FAB_BAD_ARGUMENT, "at least 2");
    for (int i = 0; i < 2; i++) {
        pair[1] = learn(others[i], 0, 100);
        refuse(pair, 2, NULL, FAB_BAD_DATA, words[i]);
        fab_posterior_free(pair[1]);
    }
    pair[1] = f;
    refuse(pair, 2, NULL, FAB_BAD_DATA, "first is a linear model, and second is a factor analysis");
    fab_posterior_free(f);
    fab_posterior *points[2] = {learn(&point, 0, 100), learn(&point, 100, 200)};
    refuse(points, 2, NULL, FAB_UNSUPPORTED, "first: is a point");
    free_all(points, 2);
    fab_posterior *processes[2] = {learn(&process, 0, 50), learn(&process, 50, 100)};
    refuse(processes, 2, NULL, FAB_UNSUPPORTED, "Gaussian process");
    free_all(processes, 2);
    pair[1] = learn(&number, 100, 200);
    refuse(pair, 2, &(fab_merge_plan){.K = -1}, FAB_BAD_ARGUMENT, "K = -1");
    refuse(pair, 2, &(fab_merge_plan){.alpha = NAN}, FAB_BAD_ARGUMENT, "alpha = nan");
    free_all(pair, 2);
}

/* ---- memory ------------------------------------------------------------------------------------------ */

static fab_posterior *const *given;

static fab_status merge_now(void)
{
    fab_posterior *all;
    const fab_status s =
        fab_merge(&all, names, (const fab_posterior *const *)given, 2, NULL, NULL, NULL);
    fab_posterior_free(all);
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    const job number = {.y = rows.y}, kind = {.y = rows.kind, .plan = {.likelihood = "bernoulli"}};
    fab_posterior *pairs[4][2] = {
        {learn(&number, 0, 60), learn(&number, 60, 100)},
        {learn(&kind, 0, 60), learn(&kind, 60, 100)},
        {factors("online-ml", 0, 60, 0), factors("online-ml", 60, 100, 0)},
        {factors("recursive-em", 0, 60, 0), factors("recursive-em", 60, 100, 0)}};
    for (int i = 0; i < 4; i++) {
        given = pairs[i];
        assert_true(fail_every_allocation(merge_now) > 2);
        free_all(pairs[i], 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pooling_has_the_mean_and_covariance_of_the_mixture),
        TEST(a_product_counts_the_prior_once),
        TEST(a_product_that_is_no_gaussian_is_refused),
        TEST(what_cannot_be_pooled_is_refused),
        TEST(states_of_streams_add_up_in_any_order),
        TEST(a_merged_stream_takes_more_rows),
        TEST(moments_are_those_of_all_rows),
        TEST(exact_shards_are_the_fit_of_all_rows),
        TEST(shards_in_given_units_keep_what_was_given),
        TEST(the_grouping_of_merges_does_not_matter),
        TEST(classes_and_counts_multiply),
        TEST(what_cannot_be_merged_is_refused_with_a_sentence),
        TEST(every_failed_allocation_is_reported),
    };
    make_rows();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
