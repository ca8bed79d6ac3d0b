/* test_laplace_hard.c - inputs on which fits are known to fail: every one ends in a Gaussian without NaN, or in a
 * sentence, and soon.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/methods.h"
#include "laplace_case.h"

enum { N = 40, SMALL = 6, LARGE = 2100 };

/* ---- what makes them hard --------------------------------------------------------------------- */

static void separable(problem *p)
{
    for (int64_t j = 0; j < N; j++) p->y[j] = p->x[j * p->m.D] > 0;
}

static void one_class(problem *p)
{
    for (int64_t j = 0; j < N; j++) p->y[j] = 1;
}

static void constant(problem *p)
{
    for (int64_t j = 0; j < N; j++) p->y[j] = 3;
}

static void zero(problem *p)
{
    for (int64_t j = 0; j < N; j++) p->y[j] = 0;
}

static void billions(problem *p)
{
    for (int64_t j = 0; j < N; j++) p->y[j] = floor(1e9 * exp(0.3 * p->x[j * p->m.D + 1]));
}

/* Every column is twice another one, or 0. */
static void collinear(problem *p)
{
    const int64_t D = p->m.D;
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 1; i < D; i++)
            p->x[j * D + i] = i % 3 ? 2 * p->x[j * D + i - i % 3] : i % 2 ? 0 : p->x[j * D + i];
}

static void tiny_and_huge(problem *p)
{
    const int64_t D = p->m.D;
    for (int64_t j = 0; j < N; j++) {
        p->x[j * D] *= 1e-12;
        p->x[j * D + 1] *= 1e12;
    }
}

static void nothing(problem *p)
{
    (void)p;
}

static const struct {
    const char *name;
    fab_likelihood likelihood;
    void (*change)(problem *p);
    int refused; /* may be: see where it stands */
} hard[] = {
    {"separable", FAB_LIKELIHOOD_BERNOULLI, separable, 0},
    {"one class", FAB_LIKELIHOOD_BERNOULLI, one_class, 0},
    {"one class of three", FAB_LIKELIHOOD_CATEGORICAL, one_class, 0},
    {"separable classes", FAB_LIKELIHOOD_CATEGORICAL, separable, 0},
    {"collinear, gaussian", FAB_LIKELIHOOD_GAUSSIAN, collinear, 0},
    {"collinear, bernoulli", FAB_LIKELIHOOD_BERNOULLI, collinear, 0},
    {"collinear, poisson", FAB_LIKELIHOOD_POISSON, collinear, 0},
    {"collinear, categorical", FAB_LIKELIHOOD_CATEGORICAL, collinear, 0},
    {"constant, gaussian", FAB_LIKELIHOOD_GAUSSIAN, constant, 0},
    {"constant, poisson", FAB_LIKELIHOOD_POISSON, constant, 0},
    {"no counts", FAB_LIKELIHOOD_POISSON, zero, 0},
    {"counts of a billion", FAB_LIKELIHOOD_POISSON, billions, 0},
    {"scales, gaussian", FAB_LIKELIHOOD_GAUSSIAN, tiny_and_huge, 0},
    {"scales, bernoulli", FAB_LIKELIHOOD_BERNOULLI, tiny_and_huge, 0},
    {"scales, poisson", FAB_LIKELIHOOD_POISSON, tiny_and_huge, 0},
    /* what all classes have in common is known by the prior alone, 1e-24 of the curvature */
    {"scales, categorical", FAB_LIKELIHOOD_CATEGORICAL, tiny_and_huge, 1},
    {"weak prior", FAB_LIKELIHOOD_BERNOULLI, nothing, 0},
};
enum { CASES = sizeof hard / sizeof *hard };

/* ---- fits ------------------------------------------------------------------------------------- */

/* A fit that ends: without NaN, or refused with a sentence.  1 when it was fitted. */
static int survives(const char *method, const problem *p, const fab_laplace_settings *s,
                    const char *name)
{
    fab_fit *f;
    const fab_status status = try_with(&f, method, p, s, NULL);
    if (status == FAB_OK) {
        const fab_gauss *q = posterior_of(f);
        for (int64_t i = 0; i < q->D; i++)
            if (!isfinite(q->mu[i])) fail_msg("%s, %s: mu[%lld]", method, name, (long long)i);
        assert_true(report_of(f).iterations <= s->max_iter);
        fab_fit_free(f);
        return 1;
    }
    if (status != FAB_NUMERIC || strlen(fab_detail()) < 20)
        fail_msg("%s, %s: status %d, %s", method, name, (int)status, fab_detail());
    return 0;
}

static problem hard_problem(int i, int64_t D)
{
    problem p = some_problem(hard[i].likelihood, N, D, 61);
    hard[i].change(&p);
    p.alpha = hard[i].change == nothing ? 1e-10 : 0.7;
    return p;
}

static void every_case_is_fitted_in_full(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const problem p = hard_problem(i, SMALL);
        const fab_laplace_settings s = settings_of(&p);
        const int both = survives("laplace", &p, &s, hard[i].name) &&
                         survives("map", &p, &s, hard[i].name);
        if (!both && !hard[i].refused) fail_msg("%s: %s", hard[i].name, fab_detail());
    }
}

static void every_case_is_fitted_with_alpha_auto(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const problem p = hard_problem(i, SMALL);
        fab_laplace_settings s = settings_of(&p);
        s.train.alpha = FAB_AUTO_F64;
        if (!survives("laplace", &p, &s, hard[i].name) && !hard[i].refused)
            fail_msg("%s: %s", hard[i].name, fab_detail());
    }
}

static void every_case_is_fitted_at_rank_2(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const problem p = hard_problem(i, SMALL);
        fab_laplace_settings s = settings_of(&p);
        s.K = 2;
        if (!survives("laplace", &p, &s, hard[i].name) && !hard[i].refused)
            fail_msg("%s: %s", hard[i].name, fab_detail());
    }
}

static void every_case_ends_in_many_dimensions(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const problem p = hard_problem(i, LARGE);
        fab_laplace_settings s = settings_of(&p);
        s.K = 5, s.max_iter = 100;
        survives("laplace", &p, &s, hard[i].name);
    }
}

static void exact_takes_the_gaussian_cases(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++)
        for (int automatic = 0; automatic < 2; automatic++) {
            if (hard[i].likelihood != FAB_LIKELIHOOD_GAUSSIAN) continue;
            const problem p = hard_problem(i, SMALL);
            fab_exact_settings s = fab_exact_defaults();
            s.glm.alpha = automatic ? FAB_AUTO_F64 : p.alpha;
            s.glm.beta = automatic ? FAB_AUTO_F64 : p.m.beta;
            const fab_examples e = {.x = {p.x, FAB_F64, N, SMALL}, .y = p.y};
            fab_fit *f;
            const fab_gauss *q = NULL;
            fab_glm glm = {.D = SMALL, .classes = 1, .intercept = 1};
            const fab_model m = fab_model_linear(&glm);
            assert_ok(fab_fit_create(&f, "exact", &s, sizeof s, &(fab_input){.model = &m}, NULL));
            assert_ok(fab_fit_update(f, &e));
            const fab_status status = fab_fit_gauss(f, &q);
            if (status == FAB_OK) assert_ok(fab_gauss_check(q));
            if (status != FAB_OK && strlen(fab_detail()) < 20) fail_msg("%s", hard[i].name);
            if (status != FAB_OK && !automatic) fail_msg("%s: %s", hard[i].name, fab_detail());
            fab_fit_free(f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_case_is_fitted_in_full),   TEST(every_case_is_fitted_with_alpha_auto),
        TEST(every_case_is_fitted_at_rank_2), TEST(every_case_ends_in_many_dimensions),
        TEST(exact_takes_the_gaussian_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
