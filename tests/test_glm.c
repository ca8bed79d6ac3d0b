/* test_glm.c - the likelihoods against quadruple precision and finite differences, and the door check.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/model.h"
#include "fabayes/settings.h"

/* exp by the series of exp(x / 2^20), squared 20 times. */
static real r_exp(real x)
{
    real sum = 1, term = 1;
    x /= 1048576;
    for (int i = 1; i < 30; i++) sum += term *= x / i;
    for (int i = 0; i < 20; i++) sum *= sum;
    return sum;
}

static real log_factorial(int64_t y)
{
    real sum = 0;
    for (int64_t k = 2; k <= y; k++) sum += r_log((real)k);
    return sum;
}

static fab_glm model(fab_likelihood l, int64_t classes)
{
    return (fab_glm){.likelihood = l, .D = 3, .classes = classes, .intercept = 1, .beta = 2.385};
}

/* ---- values ----------------------------------------------------------------------------------- */

static void logistic_is_right_in_both_tails(void **state)
{
    (void)state;
    const fab_glm m = model(FAB_LIKELIHOOD_BERNOULLI, 1);
    const double eta[] = {-700, -40, -3.1, -1e-9, 0, 1e-9, 0.7, 5, 37, 41, 700};
    for (size_t i = 0; i < sizeof eta / sizeof *eta; i++)
        for (int y = 0; y < 2; y++) {
            double g, h;
            const real t = y ? -(real)eta[i] : (real)eta[i], e = r_exp(t);
            const double L = fab_glm_loglik(&m, y, &eta[i], &g, &h);
            assert_near(L, -(t > 100 ? t : r_log(1 + e)),
                        4e-16 * (1 + (double)r_abs(t > 0 ? t : e)));
            const real miss = e / (1 + e);
            assert_near(g, y ? miss : -miss, 4e-16 * (double)miss);
            assert_near(h, miss / (1 + e), 8e-16 * (double)(miss / (1 + e)));
        }
}

static void poisson_is_right_for_small_and_large_counts(void **state)
{
    (void)state;
    const fab_glm m = model(FAB_LIKELIHOOD_POISSON, 1);
    const int64_t y[] = {0, 1, 2, 15, 16, 17, 100, 5000};
    for (size_t i = 0; i < sizeof y / sizeof *y; i++)
        for (int k = -2; k <= 2; k++) {
            double g, h;
            const double eta = log((double)y[i] + 0.3) + 0.4 * k;
            const real mean = r_exp(eta), want = (real)y[i] * eta - mean - log_factorial(y[i]);
            const double L = fab_glm_loglik(&m, (double)y[i], &eta, &g, &h),
                         size = 1 + (double)y[i];
            assert_near(L, want, 1e-15 * size * (1 + fabs(eta)));
            assert_near(g, (real)y[i] - mean, 1e-15 * size * (1 + fabs(eta)) * 4);
            assert_near(h, mean, 2e-15 * (double)mean * (1 + fabs(eta)));
        }
}

/* At its mode a count of 1e9 has log p = -log(2 pi y)/2 - 1/(12 y): nothing may cancel. */
static void a_count_of_a_billion_loses_nothing(void **state)
{
    (void)state;
    const fab_glm m = model(FAB_LIKELIHOOD_POISSON, 1);
    const double y = 1e9, eta = log(y);
    double g;
    assert_near(fab_glm_loglik(&m, y, &eta, &g, NULL),
                -0.5 * log(2 * 3.14159265358979323846 * y) - 1 / (12 * y), 1e-13);
    assert_true(fabs(g) < 1e-5); /* y times the rounding of log y */
    const double lower = -INFINITY, upper = 800;
    assert_true(fab_glm_loglik(&m, 0, &lower, NULL, NULL) == 0);
    assert_true(fab_glm_loglik(&m, 3, &upper, NULL, NULL) == -INFINITY);
}

static void softmax_is_right_for_far_classes(void **state)
{
    (void)state;
    enum { C = 4 };
    const fab_glm m = model(FAB_LIKELIHOOD_CATEGORICAL, C);
    for (int scale = 1; scale < 400; scale *= 7) {
        double eta[C], g[C], h[C * C];
        real sum = 0, p[C];
        for (int k = 0; k < C; k++) eta[k] = scale * noise(5, k);
        for (int k = 0; k < C; k++) sum += r_exp(eta[k]);
        for (int k = 0; k < C; k++) p[k] = r_exp(eta[k]) / sum;
        for (int y = 0; y < C; y++) {
            assert_near(fab_glm_loglik(&m, y, eta, g, h), r_log(p[y]), 4e-16 * (2 * scale + 4));
            for (int k = 0; k < C; k++) {
                assert_near(g[k], (k == y) - p[k], 1e-15 * scale);
                for (int l = 0; l < C; l++)
                    assert_near(h[k * C + l], (k == l ? p[k] : 0) - p[k] * p[l], 1e-15 * scale);
            }
        }
    }
}

/* Central differences of step 1e-5: their error is 1e-10 of the third derivative and 1e-11 of rounding. */
static void gradients_and_curvatures_are_the_derivatives(void **state)
{
    (void)state;
    const struct {
        fab_likelihood l;
        int64_t classes;
        double y;
    } set[] = {{FAB_LIKELIHOOD_GAUSSIAN, 1, 1.7},  {FAB_LIKELIHOOD_BERNOULLI, 1, 1},
               {FAB_LIKELIHOOD_BERNOULLI, 1, 0},   {FAB_LIKELIHOOD_POISSON, 1, 3},
               {FAB_LIKELIHOOD_POISSON, 1, 20},    {FAB_LIKELIHOOD_POISSON, 1, 2.5},
               {FAB_LIKELIHOOD_CATEGORICAL, 3, 2}, {FAB_LIKELIHOOD_CATEGORICAL, 3, 0}};
    const double step = 1e-5;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        const fab_glm m = model(set[i].l, set[i].classes);
        double eta[3] = {0.6, -0.4, 1.1}, g[3], h[9], up[3], down[3], gu[3], gd[3];
        fab_glm_loglik(&m, set[i].y, eta, g, h);
        for (int64_t k = 0; k < m.classes; k++) {
            memcpy(up, eta, sizeof up);
            memcpy(down, eta, sizeof down);
            up[k] += step, down[k] -= step;
            const double L = fab_glm_loglik(&m, set[i].y, up, gu, NULL) -
                             fab_glm_loglik(&m, set[i].y, down, gd, NULL);
            assert_near(g[k], L / (2 * step), 2e-8);
            for (int64_t l = 0; l < m.classes; l++)
                assert_near(h[k * m.classes + l], (gd[l] - gu[l]) / (2 * step), 2e-8);
        }
    }
}

/* ---- sizes, the door, JSON -------------------------------------------------------------------- */

static void theta_has_one_vector_a_class(void **state)
{
    (void)state;
    fab_glm m = model(FAB_LIKELIHOOD_CATEGORICAL, 5);
    assert_int_equal(fab_glm_size(&m), 20);
    m = model(FAB_LIKELIHOOD_POISSON, 1);
    m.intercept = 0;
    assert_int_equal(fab_glm_size(&m), 3);
    assert_string_equal(fab_likelihood_name(FAB_LIKELIHOOD_CATEGORICAL), "categorical");
    assert_string_equal(fab_likelihood_name((fab_likelihood)9), "unknown");
}

static void bad_examples_are_named(void **state)
{
    (void)state;
    double x[6] = {1, 2, 3, 4, 5, 6}, y[2] = {0, 1}, w[2] = {1, 2}, o[2] = {0, 0};
    fab_examples e = {.x = {x, FAB_F64, 2, 3}, .y = y, .weight = w, .offset = o};
    const struct {
        fab_likelihood l;
        double y;
    } bad[] = {{FAB_LIKELIHOOD_GAUSSIAN, NAN},   {FAB_LIKELIHOOD_GAUSSIAN, INFINITY},
               {FAB_LIKELIHOOD_BERNOULLI, 0.5},  {FAB_LIKELIHOOD_BERNOULLI, NAN},
               {FAB_LIKELIHOOD_BERNOULLI, 2},    {FAB_LIKELIHOOD_POISSON, -1},
               {FAB_LIKELIHOOD_POISSON, -0.5},   {FAB_LIKELIHOOD_POISSON, 1e300},
               {FAB_LIKELIHOOD_POISSON, NAN},    {FAB_LIKELIHOOD_CATEGORICAL, 3},
               {FAB_LIKELIHOOD_CATEGORICAL, -1}, {FAB_LIKELIHOOD_CATEGORICAL, NAN}};
    fab_glm m = model(FAB_LIKELIHOOD_CATEGORICAL, 3);
    for (int l = 0; l < 4; l++) {
        m = model((fab_likelihood)l, l == FAB_LIKELIHOOD_CATEGORICAL ? 3 : 1);
        assert_ok(fab_examples_check("test", &m, &e));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        m = model(bad[i].l, bad[i].l == FAB_LIKELIHOOD_CATEGORICAL ? 3 : 1);
        y[1] = bad[i].y;
        assert_refused(fab_examples_check("test", &m, &e), FAB_BAD_DATA, "test: row 1 has y = ");
    }
    y[1] = 1, w[0] = 0;
    assert_refused(fab_examples_check("test", &m, &e), FAB_BAD_DATA, "row 0 has weight 0");
    w[0] = 1, o[1] = NAN;
    assert_refused(fab_examples_check("test", &m, &e), FAB_BAD_DATA, "row 1 has offset");
    o[1] = 0, x[4] = INFINITY;
    assert_refused(fab_examples_check("test", &m, &e), FAB_BAD_DATA, "row 1, column 1");
    x[4] = 0, e.y = NULL;
    assert_refused(fab_examples_check("test", &m, &e), FAB_BAD_ARGUMENT, "no y");
}

static void a_model_comes_back_from_its_json(void **state)
{
    (void)state;
    for (int l = 0; l < 4; l++) {
        const fab_glm m = {.likelihood = (fab_likelihood)l,
                           .D = 17,
                           .classes = l == FAB_LIKELIHOOD_CATEGORICAL ? 3 : 1,
                           .intercept = l & 1,
                           .beta = 0.1};
        fab_glm back;
        char *text;
        assert_ok(fab_glm_json(&m, &text));
        assert_ok(fab_glm_from_json(&back, text));
        assert_true(back.likelihood == m.likelihood && back.D == 17 && back.classes == m.classes &&
                    back.intercept == m.intercept && back.beta == 0.1);
        fab_text_free(text);
    }
}

static void a_model_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    const char *const bad[] = {"",
                               "[]",
                               "{\"kind\": \"mlp\"}",
                               "{\"kind\": \"linear\", \"likelihood\": \"cauchy\"}",
                               "{\"kind\": \"linear\", \"likelihood\": \"gaussian\"}",
                               "{\"kind\": \"linear\", \"likelihood\": \"gaussian\", \"features\": "
                               "-3, \"classes\": 1, \"beta\": 1}",
                               "{\"kind\": \"linear\", \"likelihood\": \"gaussian\", \"features\": "
                               "3, \"classes\": 1, \"beta\": 0}",
                               "{\"kind\": \"linear\", \"likelihood\": \"gaussian\", \"features\": "
                               "3, \"classes\": 2, \"beta\": 1}",
                               "{\"kind\": \"linear\", \"likelihood\": \"categorical\", "
                               "\"features\": 3, \"classes\": 1, \"beta\": 1}",
                               "{\"kind\": \"linear\", \"likelihood\": \"categorical\", "
                               "\"features\": 1000000000, \"classes\": 1000000000, "
                               "\"beta\": 1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fab_glm m;
        assert_refused(fab_glm_from_json(&m, bad[i]), FAB_BAD_FILE, "model: ");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(logistic_is_right_in_both_tails),
        TEST(poisson_is_right_for_small_and_large_counts),
        TEST(a_count_of_a_billion_loses_nothing),
        TEST(softmax_is_right_for_far_classes),
        TEST(gradients_and_curvatures_are_the_derivatives),
        TEST(theta_has_one_vector_a_class),
        TEST(bad_examples_are_named),
        TEST(a_model_comes_back_from_its_json),
        TEST(a_model_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
