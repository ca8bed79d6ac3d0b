/* test_exact.c - exact linear regression against quadruple precision, closed forms and simulation.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "linear_case.h"
#include "fabayes/gauss.h"

static void compare(const problem *p, double tol)
{
    fab_fit *f = fitted_with("exact", p, NULL);
    const fab_gauss *q = posterior_of(f);
    const truth t = solve(p);
    fab_report r;
    real off = dense_norm(t.P, t.mean);
    for (int64_t i = 0; i < t.P; i++) assert_near(q->mu[i], t.mean[i], tol * off);
    assert_near(covariance_error(q, &t), 0, tol);
    assert_near(worst_sd(q, &t), 0, tol);
    assert_ok(fab_fit_report(f, &r));
    assert_near(r.log_evidence, t.log_evidence, tol * (1 + r_abs(t.log_evidence)));
    assert_int_equal(r.n, p->N);
    fab_fit_free(f);
}

static void the_posterior_is_the_closed_form(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{97, 29}, {30, 29}, {29, 29}, {28, 29}, {11, 29},
                                {1, 29},  {300, 1}, {1, 1},   {2, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 4; way++) {
            problem p = some_problem(sizes[i][0], sizes[i][1], 3 + i);
            p.intercept = way & 1;
            if (way & 2) add_weights(&p, 7);
            compare(&p, 1e-12);
        }
}

static void a_given_prior_takes_the_place_of_alpha(void **state)
{
    (void)state;
    const int64_t N[] = {97, 20, 3};
    for (int i = 0; i < 3; i++)
        for (int way = 0; way < 2; way++)
            for (int64_t K = 0; K < 7; K += 3) {
                const fab_form form = way ? FAB_FORM_PRECISION : FAB_FORM_COVARIANCE;
                problem p = some_problem(N[i], 29, 5);
                fab_gauss *g = some_gauss(form, K ? FAB_F32 : FAB_F64, 30, K, 17, 1);
                p.prior = g;
                add_weights(&p, 9);
                compare(&p, 1e-11);
                p.offset = NULL;
                for (int64_t j = 0; j < N[i]; j++) p.y[j] = 2.385; /* constant, and yet not known */
                compare(&p, 1e-11);
                fab_gauss_free(g);
            }
}

/* ---- ill conditioned tables ------------------------------------------------------------------- */

/* Longley's table of 1967, NIST's StRD: employment by six nearly collinear features. */
static const double longley[16][7] = {{60323, 83.0, 234289, 2356, 1590, 107608, 1947},
                                      {61122, 88.5, 259426, 2325, 1456, 108632, 1948},
                                      {60171, 88.2, 258054, 3682, 1616, 109773, 1949},
                                      {61187, 89.5, 284599, 3351, 1650, 110929, 1950},
                                      {63221, 96.2, 328975, 2099, 3099, 112075, 1951},
                                      {63639, 98.1, 346999, 1932, 3594, 113270, 1952},
                                      {64989, 99.0, 365385, 1870, 3547, 115094, 1953},
                                      {63761, 100.0, 363112, 3578, 3350, 116219, 1954},
                                      {66019, 101.2, 397469, 2904, 3048, 117388, 1955},
                                      {67857, 104.6, 419180, 2822, 2857, 118734, 1956},
                                      {68169, 108.4, 442769, 2936, 2798, 120445, 1957},
                                      {66513, 110.8, 444546, 4681, 2637, 121950, 1958},
                                      {68655, 112.6, 482704, 3813, 2552, 123366, 1959},
                                      {69564, 114.2, 502601, 3931, 2514, 125368, 1960},
                                      {69331, 115.7, 518173, 4806, 2572, 127852, 1961},
                                      {70551, 116.9, 554894, 4007, 2827, 130081, 1962}};

static problem longley_problem(void)
{
    problem p = {
        .N = 16, .D = 6, .intercept = 1, .x = doubles(96), .y = doubles(16), .alpha = 1e-12};
    p.beta = 1 /
             (304.854073561965 * 304.854073561965); /* the certified residual standard deviation */
    for (int64_t j = 0; j < 16; j++) {
        p.y[j] = longley[j][0];
        for (int64_t i = 0; i < 6; i++) p.x[j * 6 + i] = longley[j][i + 1];
    }
    return p;
}

/* y = 1 + x + .. + x^degree and noise, at N points from lo to hi */
static problem polynomial(int64_t N, int64_t degree, double lo, double hi, double sd)
{
    problem p = {.N = N,
                 .D = degree,
                 .intercept = 1,
                 .x = doubles(N * degree),
                 .y = doubles(N),
                 .alpha = 1e-12};
    p.beta = 1 / (sd * sd);
    for (int64_t j = 0; j < N; j++) {
        const double x = lo + (hi - lo) * (double)j / (double)(N - 1);
        double power = 1;
        p.y[j] = 1 + sd * noise(3, j);
        for (int64_t i = 0; i < degree; i++) {
            p.x[j * degree + i] = power *= x;
            p.y[j] += power;
        }
    }
    return p;
}

/* How many digits of every coefficient and every standard deviation are right. */
static void check_digits(const problem *p, double digits)
{
    fab_fit *f = fitted_with("exact", p, NULL);
    const fab_gauss *q = posterior_of(f);
    const truth t = solve(p);
    assert_true(worst_mean(q, &t) < pow(10, -digits));
    assert_true(worst_sd(q, &t) < pow(10, -digits));
    fab_fit_free(f);
}

static void longley_keeps_eight_digits(void **state)
{
    (void)state;
    const double certified[7] = {15.0618722713733,  -0.358191792925910E-01, -2.02022980381683,
                                 -1.03322686717359, -0.511041056535807E-01, 1829.15146461355,
                                 -3482258.63459582};
    const problem p = longley_problem();
    check_digits(&p, 8);
    fab_fit *f = fitted_with("exact", &p, NULL);
    const fab_gauss *q = posterior_of(f);
    for (int i = 0; i < 7; i++)
        assert_near(q->mu[i], certified[i], 1e-5 * fabs(certified[i])); /* alpha is not 0 */
    fab_fit_free(f);
}

static void polynomials_keep_their_digits(void **state)
{
    (void)state;
    const problem wampler = polynomial(21, 5, 0, 20, 2385), unit = polynomial(60, 10, -1, 2, 0.1),
                  filip = polynomial(82, 10, -8.8, -3.2, 0.003);
    check_digits(&wampler, 8);
    check_digits(&unit, 8);
    check_digits(&filip, 6);
}

/* Without an intercept as well, where the first two columns are alike and say nothing of the condition. */
static void polynomials_without_an_intercept_keep_their_digits(void **state)
{
    (void)state;
    problem wampler = polynomial(21, 5, 0, 20, 2385), unit = polynomial(60, 10, -1, 2, 0.1),
            filip = polynomial(82, 10, -8.8, -3.2, 0.003);
    wampler.intercept = unit.intercept = filip.intercept = 0;
    check_digits(&wampler, 8);
    check_digits(&unit, 8);
    check_digits(&filip, 6);
}

/* ---- the evidence ----------------------------------------------------------------------------- */

static double log_normal(double x, double precision)
{
    return 0.5 * (log(precision) - 1.8378770664093454836 - precision * x * x);
}

/* log p(y) by the trapezoid rule over c and, where there is one, the free intercept: for integrands that
 * vanish with all their derivatives its error falls faster than any power of the step. */
static double integrated(const problem *p, const truth *t)
{
    const int steps = 200, second = p->intercept ? steps : 0;
    const double sd = sqrt((double)t->cov[0]), width = 12 * sd / steps;
    const double sd2 = p->intercept ? sqrt((double)t->cov[3]) : 0,
                 width2 = p->intercept ? 24 * sd2 / steps : 1;
    double sum = 0;
    for (int i = -steps; i <= steps; i++)
        for (int k = -second; k <= second; k++) {
            const double c = (double)t->mean[0] + i * width;
            const double b = p->intercept ? (double)t->mean[1] + k * width2 / 2 : 0;
            double L = log_normal(c, p->alpha);
            for (int64_t j = 0; j < p->N; j++) L += log_normal(p->y[j] - c * p->x[j] - b, p->beta);
            sum += exp(L);
        }
    return log(sum * width * (p->intercept ? width2 / 2 : 1));
}

static void the_evidence_is_the_integral(void **state)
{
    (void)state;
    for (int64_t intercept = 0; intercept < 2; intercept++) {
        problem p = some_problem(7, 1, 23);
        p.intercept = intercept;
        const truth t = solve(&p);
        assert_near(integrated(&p, &t), t.log_evidence,
                    1e-11); /* the oracle's, which compare() trusts */
        compare(&p, 1e-12);
    }
}

/* log evidence at alpha, beta, in doubles, by the library with both given */
static double evidence_at(problem p, double alpha, double beta)
{
    fab_report r;
    p.alpha = alpha;
    p.beta = beta;
    fab_fit *f = fitted_with("exact", &p, NULL);
    assert_ok(fab_fit_report(f, &r));
    fab_fit_free(f);
    return r.log_evidence;
}

static fab_report chosen(const problem *p)
{
    fab_report r;
    fab_fit *f = fitted_with("exact", p, NULL);
    assert_ok(fab_fit_report(f, &r));
    fab_fit_free(f);
    return r;
}

/* At the top no step in log alpha or log beta goes up, and none of a coarse grid is higher. */
static void check_top(const problem *p)
{
    const int free_a = p->alpha == FAB_AUTO_F64, free_b = p->beta == FAB_AUTO_F64;
    const fab_report r = chosen(p);
    assert_true(r.alpha > 0 && r.beta > 0 && r.iterations > 0 && r.converged == 1);
    const double slack = 1e-9 * (1 + fabs(r.log_evidence));
    for (double h = 1e-3; h < 20; h *= 3)
        for (int a = -1; a <= 1; a++)
            for (int b = -1; b <= 1; b++)
                assert_true(evidence_at(*p, r.alpha * exp(free_a * a * h),
                                        r.beta * exp(free_b * b * h)) <= r.log_evidence + slack);
}

static void alpha_and_beta_are_at_the_top_of_the_evidence(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{97, 29}, {20, 29}, {40, 3}, {300, 1}, {600, 270}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 3; way++) {
            problem p = some_problem(sizes[i][0], sizes[i][1], 31 + i);
            if (i == 1 && way != 1)
                continue; /* fewer rows than coordinates: no noise need be left */
            if (way != 2) p.alpha = FAB_AUTO_F64;
            if (way != 1) p.beta = FAB_AUTO_F64;
            add_weights(&p, 3);
            check_top(&p);
        }
}

static void beta_is_found_under_a_given_prior(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++)
        for (int64_t N = 20; N < 100; N += 60) {
            problem p = some_problem(N, 29, 5);
            fab_gauss *g = some_gauss((fab_form)form, FAB_F64, 30, 0, 17, 1);
            p.prior = g;
            p.beta = FAB_AUTO_F64;
            const double beta = chosen(&p).beta, best = evidence_at(p, 1, beta);
            assert_true(evidence_at(p, 1, beta * 1.01) < best &&
                        evidence_at(p, 1, beta / 1.01) < best);
            assert_true(evidence_at(p, 1, beta * 9) < best && evidence_at(p, 1, beta / 9) < best);
            fab_gauss_free(g);
        }
}

/* Units of columns and target move alpha and beta as they should. */
static void units_do_not_matter(void **state)
{
    (void)state;
    problem p = some_problem(97, 7, 41), u = some_problem(97, 7, 41);
    p.alpha = u.alpha = p.beta = u.beta = FAB_AUTO_F64;
    for (int64_t i = 0; i < 97 * 7; i++) u.x[i] *= 0x1p70;
    for (int64_t j = 0; j < 97; j++) u.y[j] *= 0x1p-40;
    const fab_report a = chosen(&p), b = chosen(&u);
    assert_near(b.alpha / a.alpha * 0x1p-220, 1, 1e-9);
    assert_near(b.beta / a.beta * 0x1p-80, 1, 1e-9);
}

/* ---- calibration ------------------------------------------------------------------------------ */

/* 1000 sets drawn from the prior: Phi((theta - mean) / sd) is uniform.  The 3 x 1000 values in 20 bins give a
 * chi-square of 19 degrees, over 54.0 once in 30 000 runs; the share of 90 % intervals that cover is off by
 * more than 2 % (3.65 standard errors) once in 3 800.  The seed is fixed. */
static void posteriors_are_calibrated(void **state)
{
    (void)state;
    enum { SETS = 1000, D = 3, BINS = 20 };
    int64_t count[BINS] = {0}, covered = 0;
    for (uint64_t set = 0; set < SETS; set++) {
        problem p =
            some_problem(2 + (int64_t)(set % 7), D, 1000 + set); /* fewer rows than D, and more */
        double theta[D], *v = doubles(D);
        p.intercept = 0;
        fab_random_normal(set, FAB_PURPOSE_DATA, 7, 0, D, FAB_F64, theta);
        fab_random_normal(set, FAB_PURPOSE_DATA, 8, 0, p.N, FAB_F64, p.y);
        for (int64_t j = 0; j < p.N; j++) {
            p.y[j] /= sqrt(p.beta);
            for (int64_t i = 0; i < D; i++) p.y[j] += p.x[j * D + i] * theta[i] / sqrt(p.alpha);
        }
        fab_fit *f = fitted_with("exact", &p, NULL);
        const fab_gauss *q = posterior_of(f);
        fab_solver *s;
        assert_ok(fab_solver_create(&s, q, NULL));
        assert_ok(fab_solver_variances(s, v));
        for (int64_t i = 0; i < D; i++) {
            const double z = (theta[i] / sqrt(p.alpha) - q->mu[i]) / sqrt(v[i]);
            const double u = 0.5 * erfc(-z / sqrt(2));
            count[(int64_t)(u * BINS * (1 - 1e-12))]++;
            covered += fabs(z) < 1.6448536269514722;
        }
        fab_solver_free(s);
        fab_fit_free(f);
    }
    const double expected = (double)(SETS * D) / BINS;
    double chi2 = 0;
    for (int k = 0; k < BINS; k++)
        chi2 += ((double)count[k] - expected) * ((double)count[k] - expected) / expected;
    assert_true(chi2 < 54.0);
    assert_true(fabs((double)covered / (SETS * D) - 0.9) < 0.02);
}

/* ---- odd tables ------------------------------------------------------------------------------- */

static fab_status try_fit(const char *method, const problem *p)
{
    const fab_exact_settings s = settings_of(p);
    const fab_examples e = examples_of(p);
    fab_fit *f;
    fab_glm glm = glm_of(p);
    const fab_model m = fab_model_linear(&glm);
    fab_status status = fab_fit_create(&f, method, &s, sizeof s,
                                       &(fab_input){.model = &m, .prior = p->prior}, NULL);
    const fab_gauss *q;
    if (status == FAB_OK) status = fab_fit_update(f, &e);
    if (status == FAB_OK) status = fab_fit_gauss(f, &q);
    if (status == FAB_OK) assert_ok(fab_gauss_check(q));
    fab_fit_free(f);
    return status;
}

static problem automatic(int64_t N, int64_t D)
{
    problem p = some_problem(N, D, 77);
    p.alpha = p.beta = FAB_AUTO_F64;
    return p;
}

static void a_constant_target_needs_beta(void **state)
{
    (void)state;
    for (int64_t N = 5; N < 50; N += 40) {
        problem p = automatic(N, 9);
        for (int64_t j = 0; j < N; j++) p.y[j] = 2.385;
        assert_refused(try_fit("exact", &p), FAB_BAD_DATA, "the target does not vary");
        p.beta = 3;
        assert_ok(try_fit("exact", &p));
        p.alpha = 1;
        fab_fit *f = fitted_with("exact", &p, NULL);
        const fab_gauss *q = posterior_of(f);
        for (int64_t i = 0; i < 9; i++) assert_near(q->mu[i], 0, 1e-14);
        double eta = q->mu[9];
        assert_near(eta, 2.385, 1e-14);
        fab_fit_free(f);
    }
}

static void collinear_and_constant_columns_fit(void **state)
{
    (void)state;
    for (int64_t N = 5; N < 50; N += 40)
        for (int way = 0; way < 3; way++) {
            problem p = some_problem(N, 9, 51);
            for (int64_t j = 0; j < N; j++) {
                p.x[j * 9 + 4] = p.x[j * 9 + 2];
                p.x[j * 9 + 5] = 0.1;
                p.x[j * 9 + 6] = 0;
            }
            compare(&p, 1e-11);
            p.alpha = way == 0 ? FAB_AUTO_F64 : 1e-12;
            p.beta = way == 1 || N < 9 ? p.beta : FAB_AUTO_F64;
            assert_ok(try_fit("exact", &p));
            assert_ok(try_fit("ridge", &p));
            p.alpha = 1e-300;
            assert_true(try_fit("exact", &p) == FAB_OK || strstr(fab_detail(), "exact: "));
        }
}

static void one_row_and_no_variation_are_answered(void **state)
{
    (void)state;
    problem p = automatic(1, 5);
    assert_refused(try_fit("exact", &p), FAB_BAD_DATA, "too few rows");
    p.alpha = p.beta = 1;
    assert_ok(try_fit("exact", &p));
    p = automatic(9, 1);
    for (int64_t j = 0; j < 9; j++) p.x[j] = 0.1;
    assert_refused(try_fit("exact", &p), FAB_BAD_DATA, "no feature varies");
    p.alpha = 1;
    assert_ok(try_fit("exact", &p));
}

/* Columns at 1e-12 and 1e12: the prior in raw units is what it is; with both precisions given the posterior is
 * right in every coordinate. */
static void columns_of_any_scale_fit(void **state)
{
    (void)state;
    problem p = some_problem(40, 4, 53);
    for (int64_t j = 0; j < 40; j++) {
        p.x[j * 4 + 1] *= 1e-12;
        p.x[j * 4 + 2] *= 1e12;
    }
    p.alpha = 1e-26;
    fab_fit *f = fitted_with("exact", &p, NULL);
    const truth t = solve(&p);
    assert_true(worst_mean(posterior_of(f), &t) < 1e-11);
    assert_true(worst_sd(posterior_of(f), &t) < 1e-11);
    fab_fit_free(f);
    p.alpha = p.beta = FAB_AUTO_F64;
    check_top(&p);
    const double scale[] = {1e-150, 1e140};
    for (int i = 0; i < 2; i++) {
        problem e = automatic(40, 4);
        for (int64_t k = 0; k < 160; k++) e.x[k] *= scale[i];
        assert_ok(try_fit("exact", &e));
    }
}

static void a_target_without_noise_fits(void **state)
{
    (void)state;
    problem p = automatic(40, 4);
    for (int64_t j = 0; j < 40; j++) {
        p.y[j] = 1;
        for (int64_t i = 0; i < 4; i++) p.y[j] += (double)(i + 1) * p.x[j * 4 + i];
    }
    fab_fit *f = fitted_with("exact", &p, NULL);
    const fab_gauss *q = posterior_of(f);
    for (int64_t i = 0; i < 4; i++) assert_near(q->mu[i], (double)(i + 1), 1e-12);
    fab_fit_free(f);
}

/* Fewer rows than columns, each of them twice or three times: the same as with weights. */
static void rows_that_repeat_fit(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const int64_t N = 3 + 2 * (int64_t)seed, times = 2 + (int64_t)seed % 2, D = N * times + 5;
        problem p = some_problem(N, D, seed), many = p;
        p.alpha = many.alpha =
            FAB_AUTO_F64; /* and not beta: copies of rows say that there is no noise */
        p.weight = doubles(N);
        many.N = N * times, many.x = doubles(many.N * D), many.y = doubles(many.N);
        for (int64_t j = 0; j < many.N; j++) {
            p.weight[j / times] = (double)times;
            many.y[j] = p.y[j / times];
            memcpy(many.x + j * D, p.x + j / times * D, (size_t)D * sizeof *p.x);
        }
        fab_fit *f = fitted_with("exact", &p, NULL), *g = fitted_with("exact", &many, NULL);
        fab_report a, b;
        const fab_gauss *q = posterior_of(f), *r = posterior_of(g);
        assert_ok(fab_fit_report(f, &a));
        assert_ok(fab_fit_report(g, &b));
        assert_near(a.alpha / b.alpha, 1, 1e-6);
        assert_near(a.log_evidence, b.log_evidence, 1e-6 * fabs(a.log_evidence));
        for (int64_t i = 0; i <= D; i++) assert_near(q->mu[i], r->mu[i], 1e-6);
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

/* A column of numbers below the least normal one has no digits: as if it did not vary. */
static void a_column_of_denormal_numbers_is_left_to_the_prior(void **state)
{
    (void)state;
    problem p = some_problem(40, 3, 5);
    p.alpha = p.beta = FAB_AUTO_F64;
    for (int64_t j = 0; j < p.N; j++) p.x[3 * j + 1] = 1e-310 * noise(7, j);
    fab_fit *f = fitted_with("exact", &p, NULL);
    const fab_gauss *q = posterior_of(f);
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    assert_true(r.alpha > 0 && r.beta > 0 && fabs(q->mu[1]) < 1e-9 / sqrt(r.alpha));
    assert_near((double)dense_covariance(q)[1 * 4 + 1] * r.alpha, 1, 1e-9);
    fab_fit_free(f);
}

static void other_likelihoods_are_refused(void **state)
{
    (void)state;
    fab_glm glm = {.likelihood = FAB_LIKELIHOOD_POISSON, .D = 3, .classes = 1, .intercept = 1};
    const fab_model m = fab_model_linear(&glm);
    fab_fit *f;
    assert_refused(fab_fit_create(&f, "exact", NULL, 0, &(fab_input){.model = &m}, NULL),
                   FAB_UNSUPPORTED, "poisson");
    assert_null(f);
}

static void f32_stores_the_same_posterior(void **state)
{
    (void)state;
    const fab_exec narrow = {.ops = fab_ops_find("cpu", FAB_F32)};
    for (int64_t N = 20; N < 100; N += 70) {
        const problem p = some_problem(N, 29, 61);
        fab_fit *f = fitted_with("exact", &p, &narrow);
        const fab_gauss *q = posterior_of(f);
        const truth t = solve(&p);
        assert_int_equal(q->type, FAB_F32);
        assert_true(covariance_error(q, &t) <
                    1e-4); /* rounding of F at 6e-8, times the condition */
        fab_fit_free(f);
    }
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    const problem p = automatic(97, 29);
    const fab_exec one = {.threads = 1}, four = {.threads = 4};
    fab_fit *f = fitted_with("exact", &p, &one), *g = fitted_with("exact", &p, &four);
    const fab_gauss *a = posterior_of(f), *b = posterior_of(g);
    assert_memory_equal(a->mu, b->mu, 30 * 8);
    assert_memory_equal(a->psi, b->psi, 30 * 8);
    assert_memory_equal(a->F, b->F, 30 * 30 * 8);
    fab_fit_free(f);
    fab_fit_free(g);
}

static void ridge_is_the_mean_of_exact(void **state)
{
    (void)state;
    for (int64_t N = 20; N < 100; N += 70) {
        const problem p = some_problem(N, 29, 67);
        fab_fit *f = fitted_with("exact", &p, NULL), *g = fitted_with("ridge", &p, NULL);
        const fab_gauss *a = posterior_of(f), *b = posterior_of(g);
        assert_int_equal(b->form, FAB_FORM_POINT);
        assert_memory_equal(a->mu, b->mu, 30 * 8);
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

static int64_t rows_now;
static const fab_gauss *prior_now;

static fab_status fit_once(void)
{
    static double x[60 * 29], y[60];
    fab_random_normal(5, FAB_PURPOSE_DATA, 5, 0, 60 * 29, FAB_F64, x);
    fab_random_normal(5, FAB_PURPOSE_DATA, 6, 0, 60, FAB_F64, y);
    const problem p = {.N = rows_now,
                       .D = 29,
                       .intercept = 1,
                       .x = x,
                       .y = y,
                       .beta = FAB_AUTO_F64,
                       .alpha = FAB_AUTO_F64,
                       .prior = prior_now};
    return try_fit("exact", &p);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 30, 2, 17, 1);
    for (int prior = 0; prior < 2; prior++)
        for (rows_now = 20; rows_now <= 60; rows_now += 40) {
            prior_now = prior ? g : NULL;
            assert_true(fail_every_allocation(fit_once) >= 5);
        }
    fab_gauss_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_posterior_is_the_closed_form),
        TEST(a_given_prior_takes_the_place_of_alpha),
        TEST(longley_keeps_eight_digits),
        TEST(polynomials_keep_their_digits),
        TEST(polynomials_without_an_intercept_keep_their_digits),
        TEST(the_evidence_is_the_integral),
        TEST(alpha_and_beta_are_at_the_top_of_the_evidence),
        TEST(beta_is_found_under_a_given_prior),
        TEST(units_do_not_matter),
        TEST(posteriors_are_calibrated),
        TEST(a_constant_target_needs_beta),
        TEST(collinear_and_constant_columns_fit),
        TEST(one_row_and_no_variation_are_answered),
        TEST(columns_of_any_scale_fit),
        TEST(a_target_without_noise_fits),
        TEST(rows_that_repeat_fit),
        TEST(a_column_of_denormal_numbers_is_left_to_the_prior),
        TEST(other_likelihoods_are_refused),
        TEST(f32_stores_the_same_posterior),
        TEST(any_number_of_threads_gives_the_same_bytes),
        TEST(ridge_is_the_mean_of_exact),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
