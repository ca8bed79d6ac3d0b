/* test_erm.c - regularised risk against the conditions of its least, plain loops and closed forms.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "linear_case.h"
#include "fabayes/gauss.h"
#include "data/columns/split.h"

static const fab_loss ALL[] = {FAB_LOSS_SQUARED,         FAB_LOSS_ABSOLUTE, FAB_LOSS_PINBALL,
                               FAB_LOSS_EPS_INSENSITIVE, FAB_LOSS_HINGE,    FAB_LOSS_LOGISTIC,
                               FAB_LOSS_EXPONENTIAL};
enum { LOSSES = sizeof ALL / sizeof *ALL };

static int of_classes(int64_t loss)
{
    return loss >= FAB_LOSS_HINGE;
}

static fab_status try_as(const char *method, fab_fit **f, const problem *p,
                         const fab_erm_settings *s, const fab_exec *x)
{
    const fab_examples e = examples_of(p);
    fab_glm glm = glm_of(p);
    if (of_classes(s->loss)) glm.likelihood = FAB_LIKELIHOOD_BERNOULLI;
    const fab_model m = fab_model_linear(&glm);
    const fab_gauss *q;
    fab_status status =
        fab_fit_create(f, method, s, sizeof *s, &(fab_input){.model = &m, .prior = p->prior}, x);
    if (status == FAB_OK) status = fab_fit_update(*f, &e);
    if (status == FAB_OK) status = fab_fit_gauss(*f, &q);
    if (status == FAB_OK) return FAB_OK;
    fab_fit_free(*f);
    *f = NULL;
    return status;
}

static fab_fit *fit_of(const problem *p, const fab_erm_settings *s)
{
    fab_fit *f;
    assert_ok(try_as("erm", &f, p, s, NULL));
    return f;
}

static const fab_gauss *gauss_of(fab_fit *f)
{
    const fab_gauss *q;
    assert_ok(fab_fit_gauss(f, &q));
    return q;
}

static fab_report report_of(fab_fit *f)
{
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    return r;
}

static fab_erm_settings with(fab_loss loss, double l1, double lambda)
{
    fab_erm_settings s = fab_erm_defaults();
    s.loss = loss;
    s.l1 = l1;
    s.lambda = lambda;
    s.tau = 0.7;
    s.eps = 0.2385;
    return s;
}

/* Numbers, or 0 and 1. */
static problem problem_of(int64_t loss, int64_t N, int64_t D, uint64_t seed)
{
    problem p = some_problem(N, D, seed);
    double mean = 0;
    for (int64_t j = 0; j < N; j++) mean += p.y[j] / (double)N;
    for (int64_t j = 0; j < N && of_classes(loss); j++)
        p.y[j] = p.y[j] + 2.385 * noise(seed + 7, j) > mean;
    return p;
}

/* ---- the oracle: losses and the objective in plain loops ---------------------------------------------------- */

static double plain_loss(const fab_erm_settings *s, double y, double f)
{
    const double e = y - f, m = (2 * y - 1) * f;
    if (s->loss == FAB_LOSS_SQUARED) return e * e;
    if (s->loss == FAB_LOSS_ABSOLUTE) return fabs(e);
    if (s->loss == FAB_LOSS_PINBALL) return e > 0 ? 2 * s->tau * e : 2 * (s->tau - 1) * e;
    if (s->loss == FAB_LOSS_EPS_INSENSITIVE) return fabs(e) > s->eps ? fabs(e) - s->eps : 0;
    if (s->loss == FAB_LOSS_HINGE) return m < 1 ? 1 - m : 0;
    return s->loss == FAB_LOSS_LOGISTIC ? log(1 + exp(-m)) : exp(-m);
}

static double plain_f(const problem *p, const double *theta, int64_t j)
{
    double f = (p->offset ? p->offset[j] : 0) + (p->intercept ? theta[p->D] : 0);
    for (int64_t i = 0; i < p->D; i++) f += p->x[j * p->D + i] * theta[i];
    return f;
}

static double plain_objective(const problem *p, const fab_erm_settings *s, double lambda,
                              const double *theta)
{
    double sum = 0, V = 0, penalty = 0;
    for (int64_t j = 0; j < p->N; j++) {
        const double v = p->weight ? p->weight[j] : 1;
        V += v;
        sum += v * plain_loss(s, p->y[j], plain_f(p, theta, j));
    }
    for (int64_t i = 0; i < p->D; i++)
        penalty += lambda * ((1 - s->l1) * theta[i] * theta[i] + s->l1 * fabs(theta[i]));
    return sum / V + penalty;
}

/* By how much the conditions of the least are missed, of smooth losses: the derivative by each coordinate. */
static double missed(const problem *p, const fab_erm_settings *s, const double *theta)
{
    double most = 0, V = 0;
    for (int64_t j = 0; j < p->N; j++) V += p->weight ? p->weight[j] : 1;
    for (int64_t i = 0; i < p->D + p->intercept; i++) {
        double g = 0;
        for (int64_t j = 0; j < p->N; j++) {
            const double v = p->weight ? p->weight[j] : 1, f = plain_f(p, theta, j),
                         y = 2 * p->y[j] - 1, x = i < p->D ? p->x[j * p->D + i] : 1;
            double slope = 2 * (f - p->y[j]);
            if (s->loss == FAB_LOSS_LOGISTIC) slope = -y / (1 + exp(y * f));
            if (s->loss == FAB_LOSS_EXPONENTIAL) slope = -y * exp(-y * f);
            g += v / V * slope * x;
        }
        const double l1 = s->lambda * s->l1, w = theta[i];
        if (i < p->D) g += 2 * s->lambda * (1 - s->l1) * w;
        if (i < p->D && w != 0) g += w > 0 ? l1 : -l1;
        if (i < p->D && w == 0) g = fmax(0, fabs(g) - l1);
        most = fmax(most, fabs(g));
    }
    return most;
}

/* Is the objective higher in every direction of a set that has all axes, pairs of them and random ones?  It is convex, so a least
 * there is the least, but for directions that were not tried. */
static void assert_least(const problem *p, const fab_erm_settings *s, const double *theta)
{
    const int64_t P = p->D + p->intercept;
    const double here = plain_objective(p, s, s->lambda, theta);
    double *to = doubles(P), *d = doubles(P);
    for (int64_t k = 0; k < 40 * P; k++) {
        fab_random_normal(3, FAB_PURPOSE_DATA, (uint64_t)(100 + k), 0, P, FAB_F64, d);
        for (int64_t i = 0; i < P; i++)
            if (k < P) d[i] = i == k;
        for (int sign = -1; sign < 2; sign += 2)
            for (double step = 1e-6; step < 1; step *= 10) {
                for (int64_t i = 0; i < P; i++) to[i] = theta[i] + sign * step * d[i];
                assert_true(plain_objective(p, s, s->lambda, to) >= here - 1e-12 * fabs(here));
            }
    }
}

/* ---- tests ------------------------------------------------------------------------------------------------ */

static void smooth_losses_meet_the_conditions_of_the_least(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{29, 7}, {97, 29}, {23, 61}, {13, 1}};
    for (int k = 0; k < LOSSES; k++) {
        const fab_loss loss = ALL[k];
        if (loss != FAB_LOSS_SQUARED && loss < FAB_LOSS_LOGISTIC) continue;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int weights = 0; weights < 2; weights++)
                for (double l1 = 0; l1 <= 1; l1 += 0.25) {
                    problem p = problem_of(loss, shapes[i][0], shapes[i][1], 5);
                    if (weights) add_weights(&p, 9);
                    p.intercept = weights || l1 < 0.4;
                    const fab_erm_settings s = with(loss, l1, 0.0385);
                    fab_fit *f = fit_of(&p, &s);
                    const double *mu = gauss_of(f)->mu;
                    const fab_report r = report_of(f);
                    /* rounding of sums of columns of size 5: 1e-13 of the largest, times V */
                    assert_true(missed(&p, &s, mu) < 1e-10);
                    assert_near(r.objective, plain_objective(&p, &s, s.lambda, mu),
                                1e-12 * r.objective);
                    assert_true(r.converged == 1 && r.gap >= 0 && r.gap < 1e-10 * r.objective);
                    assert_near(r.lambda, s.lambda, 0);
                    fab_fit_free(f);
                }
    }
}

static void losses_with_corners_are_at_their_least(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{29, 5}, {97, 13}, {17, 23}};
    for (int k = 0; k < LOSSES; k++) {
        const fab_loss loss = ALL[k];
        if (loss == FAB_LOSS_SQUARED || loss >= FAB_LOSS_LOGISTIC) continue;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int weights = 0; weights < 2; weights++)
                for (double l1 = 0; l1 <= 1; l1 += 0.5) {
                    problem p = problem_of(loss, shapes[i][0], shapes[i][1], 5);
                    if (weights) add_weights(&p, 9);
                    const fab_erm_settings s = with(loss, l1, 0.0385);
                    fab_fit *f = fit_of(&p, &s);
                    const double *mu = gauss_of(f)->mu;
                    const fab_report r = report_of(f);
                    assert_least(&p, &s, mu);
                    assert_near(r.objective, plain_objective(&p, &s, s.lambda, mu),
                                1e-11 * r.objective);
                    assert_true(r.converged == 1 && r.gap >= 0 && r.gap < 1e-9 * r.objective);
                    fab_fit_free(f);
                }
    }
}

/* Cyclic coordinate descent on the rows, as long as anything moves. */
static void plain_lasso(const problem *p, const fab_erm_settings *s, double *theta)
{
    const int64_t N = p->N, D = p->D;
    double *r = doubles(N), *mean = doubles(D), y = 0;
    for (int64_t j = 0; j < N; j++) y += p->y[j] / (double)N;
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j < N; j++) mean[i] += p->x[j * D + i] / (double)N;
    for (int64_t j = 0; j < N; j++) r[j] = p->y[j] - y;
    memset(theta, 0, (size_t)(D + 1) * sizeof *theta);
    for (int turn = 0; turn < 20000; turn++)
        for (int64_t i = 0; i < D; i++) {
            double xx = 0, xr = 0;
            for (int64_t j = 0; j < N; j++) {
                const double x = p->x[j * D + i] - mean[i];
                xx += x * x / (double)N;
                xr += x * r[j] / (double)N;
            }
            const double z = xr + xx * theta[i], l1 = 0.5 * s->lambda * s->l1,
                         now = (fabs(z) > l1 ? z - copysign(l1, z) : 0) /
                               (xx + s->lambda * (1 - s->l1));
            for (int64_t j = 0; j < N; j++) r[j] -= (now - theta[i]) * (p->x[j * D + i] - mean[i]);
            theta[i] = now;
        }
    theta[D] = y;
    for (int64_t i = 0; i < D; i++) theta[D] -= mean[i] * theta[i];
}

static void lasso_equals_plain_coordinate_descent_with_the_same_zeros(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        const problem p = problem_of(FAB_LOSS_SQUARED, k % 2 ? 19 : 67, 29, (uint64_t)(11 + k));
        const fab_erm_settings s = with(FAB_LOSS_SQUARED, k < 2 ? 1 : 0.5, 0.385);
        double *theta = doubles(30);
        fab_fit *f = fit_of(&p, &s);
        plain_lasso(&p, &s, theta);
        int64_t zeros = 0;
        for (int64_t i = 0; i < 30; i++) {
            assert_near(gauss_of(f)->mu[i], theta[i], 1e-9);
            assert_true((gauss_of(f)->mu[i] == 0) == (theta[i] == 0));
            zeros += theta[i] == 0;
        }
        assert_true(zeros > 0 && zeros < 29);
        assert_int_equal(report_of(f).kept, 29 - zeros);
        fab_fit_free(f);
    }
}

/* Without features that vary: the quantile of y by weight. */
static void quantiles_without_features_are_those_of_the_rows(void **state)
{
    (void)state;
    problem p = problem_of(FAB_LOSS_PINBALL, 29, 1, 3);
    p.weight = doubles(29);
    for (int64_t j = 0; j < 29; j++) {
        p.x[j] = 2.385;
        p.weight[j] = 1 + (double)(j % 3) + 0.1 * noise(3, j);
    }
    for (double tau = 0.1; tau < 1; tau += 0.2) {
        fab_erm_settings s = fab_quantile_defaults();
        fab_fit *f;
        double all = 0, found = NAN;
        s.tau = tau;
        for (int64_t j = 0; j < 29; j++) all += p.weight[j];
        for (int64_t j = 0; j < 29; j++) {
            double below = 0;
            for (int64_t k = 0; k < 29; k++) below += p.y[k] < p.y[j] ? p.weight[k] : 0;
            if (below <= tau * all && below + p.weight[j] > tau * all) found = p.y[j];
        }
        assert_ok(try_as("quantile", &f, &p, &s, NULL));
        assert_near(gauss_of(f)->mu[1], found, 1e-10);
        assert_true(gauss_of(f)->mu[0] == 0);
        fab_fit_free(f);
    }
}

/* Rows below the plane are a share tau of all, but for as many as coordinates. */
static void quantiles_have_their_share_of_rows_below(void **state)
{
    (void)state;
    const problem p = problem_of(FAB_LOSS_PINBALL, 211, 3, 3);
    for (double tau = 0.05; tau < 1; tau += 0.15) {
        fab_erm_settings s = fab_quantile_defaults();
        fab_fit *f;
        s.tau = tau;
        assert_ok(try_as("quantile", &f, &p, &s, NULL));
        int64_t below = 0, on = 0;
        for (int64_t j = 0; j < p.N; j++) {
            const double e = p.y[j] - plain_f(&p, gauss_of(f)->mu, j);
            on += fabs(e) < 1e-10;
            below += e <= -1e-10;
        }
        assert_int_equal(on, 4); /* a corner */
        assert_true((double)below <= tau * 211 && tau * 211 <= (double)(below + on));
        fab_fit_free(f);
    }
}

static void a_penalty_on_squares_alone_is_ridge(void **state)
{
    (void)state;
    const problem p = problem_of(FAB_LOSS_SQUARED, 41, 13, 2);
    const fab_erm_settings s = with(FAB_LOSS_SQUARED, 0, 0.385);
    problem same = p;
    same.beta = 2.385;
    same.alpha = same.beta * 41 * 0.385;
    fab_fit *f = fit_of(&p, &s), *ridge = fitted_with("ridge", &same, NULL);
    for (int64_t i = 0; i < 14; i++) assert_near(gauss_of(f)->mu[i], gauss_of(ridge)->mu[i], 1e-11);
    fab_fit_free(f);
    fab_fit_free(ridge);
}

/* The covariance of the coefficients that are not 0 is that of exact on their columns alone. */
static void uncertainty_is_that_of_exact_on_the_active_columns(void **state)
{
    (void)state;
    const problem p = problem_of(FAB_LOSS_SQUARED, 53, 11, 21);
    fab_erm_settings s = with(FAB_LOSS_SQUARED, 1, 0.785);
    s.glm.beta = 2.385;
    fab_fit *f = fit_of(&p, &s);
    const fab_gauss *q = gauss_of(f);
    assert_int_equal(q->form, FAB_FORM_COVARIANCE);
    problem part = p;
    int64_t at[12], n = 0;
    for (int64_t i = 0; i < 11; i++)
        if (q->mu[i] != 0) at[n++] = i;
    assert_true(n > 1 && n < 11);
    part.D = n;
    part.x = doubles(53 * n);
    part.beta = 2.385;
    part.alpha = 1e-12;
    for (int64_t j = 0; j < 53; j++)
        for (int64_t i = 0; i < n; i++) part.x[j * n + i] = p.x[j * 11 + at[i]];
    at[n] = 11;
    fab_fit *exact = fitted_with("exact", &part, NULL);
    fab_solver *own, *other;
    double *a = doubles(12 * 12), *b = doubles((n + 1) * (n + 1));
    assert_ok(fab_solver_create(&own, q, NULL));
    assert_ok(fab_solver_create(&other, gauss_of(exact), NULL));
    assert_ok(fab_solver_dense(own, a));
    assert_ok(fab_solver_dense(other, b));
    for (int64_t i = 0; i <= n; i++)
        for (int64_t j = 0; j <= n; j++)
            assert_near(a[at[i] * 12 + at[j]], b[i * (n + 1) + j], 1e-9 * b[i * (n + 2)]);
    for (int64_t i = 0; i < 11; i++)
        if (q->mu[i] == 0) assert_true(a[i * 13] < 1e-20);
    fab_solver_free(own);
    fab_solver_free(other);
    fab_fit_free(f);
    fab_fit_free(exact);
}

/* ---- lambda ------------------------------------------------------------------------------------------------- */

static const fab_tensor *path_of(fab_fit *f)
{
    const fab_tensors *t;
    assert_ok(fab_fit_tensors(f, &t));
    const fab_tensor *p = fab_tensors_find(t, "path");
    assert_non_null(p);
    assert_true(p->ndim == 2 && p->shape[1] == 5);
    return p;
}

/* The first lambda leaves nothing, the next something (of losses with corners the multipliers at 0 are not unique, and it may be a
 * later one), and the choice has the least loss left out. */
static void the_path_begins_where_all_coefficients_are_0(void **state)
{
    (void)state;
    for (int k = 0; k < LOSSES; k++) {
        const problem p = problem_of(ALL[k], 61, 7, 5);
        fab_erm_settings s = with(ALL[k], 1, FAB_AUTO_F64);
        s.lambdas = 12;
        fab_fit *f = fit_of(&p, &s);
        const double *path = path_of(f)->data;
        assert_int_equal(path_of(f)->shape[0], 12);
        double least = INFINITY, at = 0;
        for (int64_t l = 0; l < 12; l++) {
            if (path[5 * l + 1] < least) {
                least = path[5 * l + 1];
                at = path[5 * l];
            }
            assert_true(path[5 * l + 4] >= 0 && path[5 * l + 2] > 0);
        }
        const int corners = ALL[k] != FAB_LOSS_SQUARED && ALL[k] < FAB_LOSS_LOGISTIC;
        if (path[3] != 0) print_error("loss %d keeps %g\n", (int)ALL[k], path[3]);
        assert_true(path[3] == 0 && path[(corners ? 55 : 5) + 3] > 0);
        assert_near(report_of(f).lambda, at, 0);
        assert_near(path[55], 1e-3 * path[0], 1e-12 * path[0]);
        fab_fit_free(f);
    }
}

static double mean_loss(const problem *p, const fab_erm_settings *s, const double *theta,
                        const int64_t *rows, int64_t n)
{
    double sum = 0, V = 0;
    for (int64_t k = 0; k < n; k++) {
        const double v = p->weight ? p->weight[rows[k]] : 1;
        sum += v * plain_loss(s, p->y[rows[k]], plain_f(p, theta, rows[k]));
        V += v;
    }
    return sum / V;
}

/* Each entry is the mean over folds of fits to the other rows alone, scored by plain loops. */
static void losses_left_out_are_those_of_fits_to_the_other_rows(void **state)
{
    (void)state;
    for (int k = 0; k < LOSSES; k++) {
        problem p = problem_of(ALL[k], 31, 5, 5);
        add_weights(&p, 4);
        fab_erm_settings s = with(ALL[k], 0.5, FAB_AUTO_F64);
        s.lambdas = 4;
        s.cv = 3;
        s.tol = 1e-15;
        fab_fit *f = fit_of(&p, &s);
        const double *path = path_of(f)->data;
        fab_split *split;
        double *y = doubles(31);
        for (int64_t j = 0; j < 31; j++) y[j] = of_classes(ALL[k]) ? 2 * p.y[j] - 1 : p.y[j];
        assert_ok(fab_split_folds_for(FAB_PURPOSE_FOLDS, &split, 31, 3,
                                      of_classes(ALL[k]) ? y : NULL, 1));
        for (int64_t l = 0; l < 4; l++) {
            double mean = 0;
            for (int64_t fold = 0; fold < 3; fold++) {
                const int64_t *out;
                int64_t in[31];
                const int64_t n = fab_split_rest(split, fold, in),
                              m = fab_split_part(split, fold, &out);
                problem part = {.N = n,
                                .D = 5,
                                .intercept = 1,
                                .x = doubles(n * 5),
                                .y = doubles(n),
                                .weight = doubles(n),
                                .offset = doubles(n)};
                for (int64_t j = 0; j < n; j++) {
                    memcpy(part.x + 5 * j, p.x + 5 * in[j], 5 * sizeof(double));
                    part.y[j] = p.y[in[j]];
                    part.weight[j] = p.weight[in[j]];
                    part.offset[j] = p.offset[in[j]];
                }
                fab_erm_settings given = s;
                given.lambda = path[5 * l];
                fab_fit *g = fit_of(&part, &given);
                mean += mean_loss(&p, &s, gauss_of(g)->mu, out, m) / 3;
                fab_fit_free(g);
            }
            assert_near(path[5 * l + 1], mean, 1e-6 * mean);
        }
        fab_split_free(split);
        fab_fit_free(f);
    }
}

static void the_rule_of_one_error_takes_the_larger_lambda(void **state)
{
    (void)state;
    const problem p = problem_of(FAB_LOSS_SQUARED, 61, 17, 5);
    fab_erm_settings s = with(FAB_LOSS_SQUARED, 1, FAB_AUTO_F64);
    fab_fit *least = fit_of(&p, &s);
    s.rule = FAB_ERM_ONE_SE;
    fab_fit *one = fit_of(&p, &s);
    const double *path = path_of(one)->data;
    int64_t best = 0, chosen = -1;
    for (int64_t l = 0; l < 100; l++)
        if (path[5 * l + 1] < path[5 * best + 1]) best = l;
    for (int64_t l = 99; l >= 0; l--)
        if (path[5 * l + 1] <= path[5 * best + 1] + path[5 * best + 2] && l <= best) chosen = l;
    assert_true(report_of(one).lambda > report_of(least).lambda);
    assert_near(report_of(one).lambda, path[5 * chosen], 0);
    fab_fit_free(least);
    fab_fit_free(one);
}

/* ---- odd tables --------------------------------------------------------------------------------------------- */

/* Copies of a column, and a constant one: the objective is that without them, and the constant's coefficient 0. */
static void columns_that_say_nothing_new_change_no_objective(void **state)
{
    (void)state;
    for (int k = 0; k < LOSSES; k++) {
        problem p = problem_of(ALL[k], 37, 6, 5);
        for (int64_t j = 0; j < 37; j++) {
            p.x[j * 6 + 4] = p.x[j * 6 + 1];
            p.x[j * 6 + 5] = 2.385;
        }
        problem less = p;
        less.D = 4;
        less.x = doubles(37 * 4);
        for (int64_t j = 0; j < 37; j++) memcpy(less.x + 4 * j, p.x + 6 * j, 4 * sizeof(double));
        const fab_erm_settings s = with(ALL[k], 1, 0.02385);
        fab_fit *f = fit_of(&p, &s), *g = fit_of(&less, &s);
        assert_true(gauss_of(f)->mu[5] == 0);
        assert_near(report_of(f).objective, report_of(g).objective, 1e-9 * report_of(g).objective);
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

/* Levels of a word add up to the intercept: without a penalty the shortest of all that are as good, in units of the columns, which
 * is orthogonal to the direction that no row sees. */
static void without_a_penalty_the_shortest_is_taken(void **state)
{
    (void)state;
    problem p = problem_of(FAB_LOSS_PINBALL, 61, 5, 5);
    double length[3] = {0}, along = 0, size = 0;
    for (int64_t j = 0; j < 61; j++)
        for (int64_t i = 0; i < 3; i++) p.x[j * 5 + i] = j % 7 % 3 == i;
    for (int64_t i = 0; i < 3; i++) {
        double mean = 0;
        for (int64_t j = 0; j < 61; j++) mean += p.x[j * 5 + i] / 61;
        for (int64_t j = 0; j < 61; j++)
            length[i] += (p.x[j * 5 + i] - mean) * (p.x[j * 5 + i] - mean);
    }
    fab_erm_settings s = fab_quantile_defaults();
    fab_fit *f;
    assert_ok(try_as("quantile", &f, &p, &s, NULL));
    /* w + t (1, 1, 1) is as good: the least of sum_i length_i (w_i + t)^2 is at t = 0 */
    for (int64_t i = 0; i < 3; i++) {
        along += length[i] * gauss_of(f)->mu[i];
        size += length[i] * fabs(gauss_of(f)->mu[i]);
    }
    assert_near(along, 0, 1e-12 * size);
    fab_fit_free(f);
}

static void scales_of_target_and_columns_go_through(void **state)
{
    (void)state;
    for (double scale = 1e-100; scale < 1e101; scale *= 1e50) {
        problem p = problem_of(FAB_LOSS_SQUARED, 37, 6, 5), q = p;
        q.x = doubles(37 * 6);
        q.y = doubles(37);
        for (int64_t j = 0; j < 37 * 6; j++) q.x[j] = scale * p.x[j];
        for (int64_t j = 0; j < 37; j++) q.y[j] = scale * p.y[j];
        const fab_erm_settings s = with(FAB_LOSS_SQUARED, 1, 0.385);
        fab_erm_settings t = s;
        t.lambda = 0.385 * scale * scale;
        fab_fit *f = fit_of(&p, &s), *g = fit_of(&q, &t);
        for (int64_t i = 0; i < 6; i++) assert_near(gauss_of(f)->mu[i], gauss_of(g)->mu[i], 1e-11);
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

static void refuse(const char *method, const problem *p, const fab_erm_settings *s,
                   const char *words)
{
    fab_fit *f;
    assert_true(try_as(method, &f, p, s, NULL) != FAB_OK);
    assert_null(f);
    if (!strstr(fab_detail(), words)) fail_msg("%s", fab_detail());
}

static void bad_input_is_refused_by_one_sentence(void **state)
{
    (void)state;
    problem p = problem_of(FAB_LOSS_SQUARED, 17, 3, 5);
    fab_erm_settings s = with(FAB_LOSS_SQUARED, 1, 0);
    refuse("lasso", &p, &s, "lambda = 0 leaves squared loss without a penalty");
    s.lambda = 0.1;
    s.glm.alpha = 1;
    refuse("erm", &p, &s, "lambda is the weight of the penalty");
    s.glm.alpha = FAB_AUTO_F64;
    s.loss = FAB_LOSS_HINGE;
    for (int64_t j = 0; j < 17; j++) p.y[j] = 1;
    refuse("erm", &p, &s, "the target does not vary in 17 rows");
    s.loss = FAB_LOSS_ABSOLUTE;
    refuse("erm", &p, &s, "the target does not vary in 17 rows");
    s.uncertainty = FAB_ERM_WIDTH_ACTIVE;
    refuse("erm", &p, &s, "absolute loss is no log density");
    s = with(FAB_LOSS_SQUARED, 1, FAB_AUTO_F64);
    p.N = 1;
    refuse("lasso", &p, &s, "the target does not vary in 1 rows");
    p = problem_of(FAB_LOSS_SQUARED, 17, 3, 5);
    for (int64_t j = 0; j < 17 * 3; j++) p.x[j] = 1;
    refuse("lasso", &p, &s, "no feature varies with the target");
    const fab_gauss *q;
    fab_gauss *prior;
    assert_ok(fab_gauss_create(&prior, FAB_FORM_COVARIANCE, FAB_F64, 4, 0));
    for (int i = 0; i < 4; i++) prior->psi[i] = 1;
    p.prior = q = prior;
    (void)q;
    refuse("lasso", &p, &s, "has a penalty and no prior");
    fab_gauss_free(prior);
}

static fab_loss once_loss;

static fab_status fit_once(void)
{
    problem p;
    fab_erm_settings s = with(once_loss, 1, FAB_AUTO_F64);
    fab_fit *f = NULL;
    s.lambdas = 2;
    s.cv = 2;
    p = problem_of(once_loss, 17, 3, 5);
    const fab_status status = try_as("erm", &f, &p, &s, NULL);
    fab_fit_free(f);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    for (int k = 0; k < LOSSES; k++) {
        once_loss = ALL[k];
        assert_ok(fit_once());
        assert_true(fail_every_allocation(fit_once) >= 5);
    }
}

static int stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    return --*(int *)ctx < 0;
}

static void a_stopped_run_goes_on_when_it_is_asked_again(void **state)
{
    (void)state;
    const problem p = problem_of(FAB_LOSS_PINBALL, 61, 7, 5);
    const fab_examples e = examples_of(&p);
    fab_erm_settings s = with(FAB_LOSS_PINBALL, 1, FAB_AUTO_F64);
    fab_glm glm = glm_of(&p);
    const fab_model m = fab_model_linear(&glm);
    int left = 5;
    const fab_exec x = {.progress = stop, .progress_ctx = &left};
    fab_fit *f, *whole = fit_of(&p, &s);
    const fab_gauss *q;
    assert_ok(fab_fit_create(&f, "erm", &s, sizeof s, &(fab_input){.model = &m}, &x));
    assert_ok(fab_fit_update(f, &e));
    assert_int_equal(fab_fit_gauss(f, &q), FAB_STOPPED);
    left = 1 << 30;
    assert_ok(fab_fit_gauss(f, &q));
    assert_memory_equal(q->mu, gauss_of(whole)->mu, 8 * sizeof(double));
    fab_fit_free(f);
    fab_fit_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(smooth_losses_meet_the_conditions_of_the_least),
        TEST(losses_with_corners_are_at_their_least),
        TEST(lasso_equals_plain_coordinate_descent_with_the_same_zeros),
        TEST(quantiles_without_features_are_those_of_the_rows),
        TEST(quantiles_have_their_share_of_rows_below),
        TEST(a_penalty_on_squares_alone_is_ridge),
        TEST(uncertainty_is_that_of_exact_on_the_active_columns),
        TEST(the_path_begins_where_all_coefficients_are_0),
        TEST(losses_left_out_are_those_of_fits_to_the_other_rows),
        TEST(the_rule_of_one_error_takes_the_larger_lambda),
        TEST(columns_that_say_nothing_new_change_no_objective),
        TEST(without_a_penalty_the_shortest_is_taken),
        TEST(scales_of_target_and_columns_go_through),
        TEST(bad_input_is_refused_by_one_sentence),
        TEST(every_failed_allocation_is_reported),
        TEST(a_stopped_run_goes_on_when_it_is_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
