/* test_vifa.c - variational inference of any model: one step against plain loops, known optima, stops and failures.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "la_allocations.h"

#include "fabayes/gauss.h"
#include "fabayes/net.h"
#include "fabayes/settings.h"
#include "fabayes/methods.h"
#include "methods/vifa/vifa.h"
#include "linear_case.h"
#include "plain.h"

/* ---- a linear model with known noise, as a callback --------------------------------------------------- */

typedef struct linear {
    int64_t D;
    double beta;
    int64_t calls, broken_at; /* the loss is NaN at this call; 0: never */
    int64_t slope_broken_at;  /* the same of the gradient */
} linear;

static fab_status linear_loss(void *self, const double *theta, const fab_examples *e, double *loss,
                              double *gradient)
{
    linear *m = self;
    const double n = (double)e->x.n;
    *loss = -0.5 * log(m->beta / 6.283185307179586477);
    for (int64_t d = 0; d < m->D && gradient; d++) gradient[d] = 0;
    for (int64_t i = 0; i < e->x.n; i++) {
        const double *x = (const double *)e->x.p + i * e->x.ld;
        double r = e->y[i];
        for (int64_t d = 0; d < m->D; d++) r -= x[d] * theta[d];
        *loss += 0.5 * m->beta * r * r / n;
        for (int64_t d = 0; d < m->D && gradient; d++) gradient[d] -= m->beta * r * x[d] / n;
    }
    if (++m->calls == m->broken_at) *loss = NAN;
    if (m->calls == m->slope_broken_at && gradient) gradient[m->D - 1] = NAN;
    return FAB_OK;
}

static fab_model model_of(linear *m)
{
    return (fab_model){.D = m->D,
                       .head = {.D = m->D, .classes = 1, .beta = m->beta},
                       .self = m,
                       .loss = linear_loss};
}

static fab_fit *open_as(const char *method, const fab_model *m, const fab_vifa_settings *s,
                        const fab_gauss *prior, const fab_examples *e, const fab_exec *x)
{
    fab_fit *f;
    assert_ok(
        fab_fit_create(&f, method, s, sizeof *s, &(fab_input){.model = m, .prior = prior}, x));
    assert_ok(fab_fit_update(f, e));
    return f;
}

static fab_fit *open_run(const fab_model *m, const fab_vifa_settings *s, const fab_gauss *prior,
                         const fab_examples *e)
{
    return open_as("vifa", m, s, prior, e, NULL);
}

static const fab_gauss *result_of(fab_fit *f)
{
    const fab_gauss *q;
    assert_ok(fab_fit_gauss(f, &q));
    assert_ok(fab_gauss_check(q));
    return q;
}

/* A problem without intercept, and its exact posterior. */
typedef struct known {
    problem p;
    linear m;
    fab_model model;
    fab_examples e;
    fab_fit *exact;
    const fab_gauss *posterior;
    fab_report report;
} known;

static known *some_known(int64_t N, int64_t D, uint64_t seed)
{
    known *k = dense_bytes(sizeof *k);
    k->p = some_problem(N, D, seed);
    k->p.intercept = 0;
    k->m = (linear){.D = D, .beta = k->p.beta};
    k->model = model_of(&k->m);
    k->e = examples_of(&k->p);
    k->exact = fitted_with("exact", &k->p, NULL);
    k->posterior = posterior_of(k->exact);
    assert_ok(fab_fit_report(k->exact, &k->report));
    return k;
}

/* Every step sees all rows. */
static fab_vifa_settings whole_rows(const known *k, int64_t K, int64_t steps)
{
    fab_vifa_settings s = fab_vifa_defaults();
    s.train.alpha = k->p.alpha;
    s.K = K;
    s.train.batch = k->p.N;
    s.shared = 1;
    s.train.epochs = steps;
    return s;
}

/* ---- one step in plain loops -------------------------------------------------------------------------- */

enum { D29 = 29, MOST = 6 };

typedef struct oracle {
    double c[D29], F[D29 * MOST], gamma[D29];
} oracle;

static void oracle_start(oracle *o, const fab_vifa_settings *s)
{
    fab_random_normal((uint64_t)s->train.seed, FAB_PURPOSE_START, FAB_VIFA_START, 0, D29 * s->K,
                      FAB_F64, o->F);
    for (int64_t i = 0; i < D29 * s->K; i++) o->F[i] *= s->start_sd * s->start_F;
    for (int64_t i = 0; i < D29; i++) {
        o->c[i] = 0;
        o->gamma[i] = 2 * log(s->start_sd);
    }
}

/* S^-1 by Gauss-Jordan. */
static void oracle_precision(const oracle *o, int64_t K, double *P)
{
    double S[D29 * D29];
    plain_mm(0, 1, D29, D29, K, o->F, o->F, S);
    for (int64_t i = 0; i < D29; i++) S[i * D29 + i] += exp(o->gamma[i]);
    plain_inverse(D29, S, P);
}

/* Lines 2 - 10 of vifa.c for sgd, from the gradients of the dense formulas ([T] (5.28)-(5.30)). */
static void oracle_step(oracle *o, const fab_vifa_settings *s, linear *m, const fab_examples *e)
{
    const int64_t K = s->K, L = s->draws;
    const double N = (double)e->x.n, r = s->train.rate;
    double P[D29 * D29], PF[D29 * MOST], gc[D29] = {0}, GF[D29 * MOST] = {0}, gg[D29] = {0};
    const int path = s->entropy == FAB_VIFA_PATH;
    oracle_precision(o, K, P);
    plain_mm(0, 0, D29, K, D29, P, o->F, PF);
    for (int64_t l = 0; l < L; l++) {
        const double sign = s->pairs && l % 2 ? -1 : 1;
        const uint64_t stream = FAB_VIFA_DRAWS + 2 * (uint64_t)(s->pairs ? l / 2 : l);
        double z[D29], h[MOST], theta[D29], g[D29], shift[D29], pulled[D29], loss;
        fab_random_normal((uint64_t)s->train.seed, FAB_PURPOSE_DRAW, stream, 0, D29, FAB_F64, z);
        fab_random_normal((uint64_t)s->train.seed, FAB_PURPOSE_DRAW, stream + 1, 0, K, FAB_F64, h);
        for (int64_t i = 0; i < D29; i++) {
            shift[i] = sign * exp(o->gamma[i] / 2) * z[i];
            for (int64_t k = 0; k < K; k++) shift[i] += sign * o->F[i * K + k] * h[k];
            theta[i] = o->c[i] + shift[i];
        }
        assert_ok(linear_loss(m, theta, e, &loss, g));
        plain_mm(0, 0, D29, 1, D29, P, shift, pulled);
        for (int64_t i = 0; i < D29; i++) {
            const double v = N * g[i] + (path ? s->train.alpha * theta[i] - pulled[i] : 0);
            gc[i] += v / (double)L;
            gg[i] += 0.5 * v * sign * exp(o->gamma[i] / 2) * z[i] / (double)L;
            for (int64_t k = 0; k < K; k++) GF[i * K + k] += v * sign * h[k] / (double)L;
        }
    }
    for (int64_t i = 0; i < D29; i++) {
        const double psi = exp(o->gamma[i]);
        o->gamma[i] -= r * s->rate_psi *
                       (gg[i] + (path ? 0 : 0.5 * psi * (s->train.alpha - P[i * D29 + i])));
        for (int64_t k = 0; k < K; k++)
            o->F[i * K + k] -=
                r * s->rate_F *
                (GF[i * K + k] + (path ? 0 : s->train.alpha * o->F[i * K + k] - PF[i * K + k]));
        o->c[i] -= r * (gc[i] + (path ? 0 : s->train.alpha * o->c[i]));
    }
}

static void one_step_is_that_of_plain_loops(void **state)
{
    (void)state;
    known *k = some_known(40, D29, 3);
    static const int64_t draws[] = {1, 3, 6}, factors[] = {1, 3, 5};
    for (int i = 0; i < 2 * 3 * 3 * 2; i++) {
        fab_vifa_settings s = whole_rows(k, factors[i / 2 % 3], 1);
        oracle o;
        s.entropy = i % 2;
        s.draws = draws[i / 6 % 3];
        s.pairs = i / 18;
        s.clip = i % 5 == 0 ? 1e300 : 0; /* the gradient of F as an array, or inside the pass */
        s.optimiser = FAB_VIFA_SGD;
        s.schedule = FAB_SCHEDULE_CONSTANT;
        s.train.rate = 1e-4;
        s.rate_F = 0.7;
        s.rate_psi = 1.3;
        s.start_sd = 0.4;
        fab_fit *f = open_run(&k->model, &s, NULL, &k->e);
        const fab_gauss *q = result_of(f);
        oracle_start(&o, &s);
        oracle_step(&o, &s, &k->m, &k->e);
        for (int64_t d = 0; d < D29; d++) {
            assert_true(fabs(q->mu[d] - o.c[d]) < 1e-13 * (1 + fabs(o.c[d])));
            assert_true(fabs(log(q->psi[d]) - o.gamma[d]) < 1e-12 * (1 + fabs(o.gamma[d])));
            for (int64_t j = 0; j < s.K; j++)
                assert_true(fabs(((double *)q->F)[d * s.K + j] - o.F[d * s.K + j]) < 1e-12);
        }
        fab_fit_free(f);
    }
    fab_fit_free(k->exact);
}

/* The same gradient, cut to the length of clip, and one rate more: coordinates of several chunks. */
static void a_step_of_sgd_that_is_clipped_has_the_length_of_rate_times_clip(void **state)
{
    (void)state;
    enum { D = 2 * FAB_VIFA_CHUNK + 29, K = 2 };
    const double clip = 0.01, rate = 1e-3;
    known *k = some_known(10, D, 3);
    fab_fit *f[2];
    const fab_gauss *q[2];
    double of[3] = {0, 0, 0};
    for (int i = 0; i < 2; i++) {
        fab_vifa_settings s = whole_rows(k, K, 1);
        s.optimiser = FAB_VIFA_SGD;
        s.schedule = FAB_SCHEDULE_CONSTANT;
        s.clip = clip;
        s.train.rate = (1 + i) * rate;
        s.rate_F = 0.7;
        s.rate_psi = 1.3;
        f[i] = open_run(&k->model, &s, NULL, &k->e);
        q[i] = result_of(f[i]);
    }
    for (int64_t d = 0; d < D; d++) {
        const double moved[] = {q[1]->mu[d] - q[0]->mu[d], log(q[1]->psi[d] / q[0]->psi[d]) / 1.3};
        for (int j = 0; j < 2; j++) of[j] += moved[j] * moved[j];
        for (int64_t j = 0; j < K; j++) {
            const double *F[] = {q[0]->F, q[1]->F};
            const double by = (F[1][d * K + j] - F[0][d * K + j]) / 0.7;
            of[2] += by * by;
        }
    }
    for (int j = 0; j < 3; j++) assert_true(fabs(sqrt(of[j]) / (rate * clip) - 1) < 1e-8);
    for (int i = 0; i < 2; i++) fab_fit_free(f[i]);
    fab_fit_free(k->exact);
}

static void exponentials_are_good_to_two_units_in_the_last_place(void **state)
{
    (void)state;
    enum { N = 4001 };
    double *x = doubles(N), *y = doubles(N);
    for (int64_t i = 0; i < N; i++) x[i] = -700 + 1400 * (double)i / (N - 1);
    fab_nn_find(FAB_F64)->exps(N, x, y);
    for (int64_t i = 0; i < N; i++) assert_true(fabs(y[i] / exp(x[i]) - 1) <= 4 * ROUND_F64);
}

/* ---- optima that are known ---------------------------------------------------------------------------- */

static double covariance_distance(const fab_gauss *a, const fab_gauss *b)
{
    double out;
    assert_ok(fab_distance_covariance(a, b, NULL, &out));
    return out;
}

/* Rank D - 1 is enough for any covariance: the deterministic optimum is the posterior itself. */
static void the_optimum_of_full_rank_is_the_posterior(void **state)
{
    (void)state;
    known *k = some_known(60, 6, 8);
    fab_gauss *q;
    double kl;
    assert_ok(fab_vifa_optimum(&q, &kl, k->posterior, 5, 4, 1));
    assert_true(fabs(kl) < 1e-6);
    assert_true(covariance_distance(q, k->posterior) < 1e-4);
    assert_memory_equal(q->mu, k->posterior->mu, 6 * sizeof(double));
    fab_gauss_free(q);
    assert_refused(fab_vifa_optimum(&q, &kl, k->posterior, 7, 4, 1), FAB_BAD_ARGUMENT, "K = 7");
    fab_fit_free(k->exact);
}

/* The KL of the optimum is that of its own Gaussian, less rank costs more, and rank 0 is the conditional. */
static void the_optimum_is_a_minimum(void **state)
{
    (void)state;
    known *k = some_known(60, 6, 8);
    double last = 1e300, step[6];
    for (int64_t K = 0; K < 5; K++) {
        fab_gauss *q;
        double kl, again, moved;
        assert_ok(fab_vifa_optimum(&q, &kl, k->posterior, K, 4, 1));
        assert_ok(fab_distance_kl(q, k->posterior, NULL, &again));
        assert_true(fabs(kl - again) < 1e-9 * (1 + kl));
        assert_true(kl < last + 1e-9);
        last = kl;
        for (int64_t d = 0; d < 6; d++) {
            if (K == 0) step[d] = 0.01 * q->psi[d]; /* of the conditional variance */
            q->psi[d] += step[d];
            assert_ok(fab_distance_kl(q, k->posterior, NULL, &moved));
            assert_true(moved > kl);
            q->psi[d] -= step[d];
        }
        fab_gauss_free(q);
    }
    fab_fit_free(k->exact);
}

/* ---- the default of linear models --------------------------------------------------------------------- */

static const fab_vifa_settings *in_force(const fab_fit *f)
{
    return fab_fit_settings(f);
}

/* Nothing is left to chance: to rounding, of an eigenvalue problem whose matrix has a condition of about 100. */
static void the_default_of_a_linear_model_is_the_optimum(void **state)
{
    (void)state;
    known *k = some_known(60, 9, 8);
    k->model.linear = 1;
    for (int64_t K = 0; K < 9; K += 2) {
        fab_vifa_settings s = fab_vifa_defaults();
        fab_report r;
        fab_gauss *best;
        double kl, least, mean;
        s.train.alpha = k->p.alpha;
        s.K = K;
        fab_fit *f = open_run(&k->model, &s, NULL, &k->e);
        const fab_gauss *q = result_of(f);
        assert_ok(fab_vifa_optimum(&best, &least, k->posterior, K, 8, 1));
        assert_ok(fab_distance_kl(q, k->posterior, NULL, &kl));
        assert_ok(fab_distance_mean(q, k->posterior, &mean));
        assert_true(kl - least < 1e-10 && mean < 1e-12);
        assert_ok(fab_fit_report(f, &r));
        assert_true(fabs(r.log_evidence - (k->report.log_evidence - kl)) <
                    1e-7); /* psi may be 1e-8 */
        assert_int_equal(r.iterations, in_force(f)->train.epochs);
        fab_gauss_free(best);
        fab_fit_free(f);
    }
    fab_fit_free(k->exact);
}

static int64_t chosen_for(const fab_model *m, const fab_vifa_settings *s, const fab_examples *e)
{
    fab_fit *f = open_run(m, s, NULL, e);
    const fab_vifa_settings is = *in_force(f);
    const int newton = is.optimiser == FAB_VIFA_NEWTON;
    assert_true(m->linear ? is.train.epochs == (newton ? 40 : 400)
                          : is.train.epochs == FAB_AUTO_I64);
    assert_true(is.rate_F == (m->linear ? 1 : 0.1));
    assert_true(is.map_part == (m->linear ? 0 : 0.1) && is.ramp_part == (m->linear ? 0 : 0.3));
    assert_true(is.draws == (newton ? 2 * (m->D - m->free) + 1 : 2));
    if (s->train.rate < 0) assert_true(is.train.rate == (newton ? 1 : 0.005));
    fab_fit_free(f);
    return is.optimiser;
}

static void networks_wide_models_and_given_rates_keep_adam(void **state)
{
    (void)state;
    const problem p = some_problem(20, 3, 6);
    const fab_examples e = examples_of(&p);
    static const char *const layers[] = {"linear", "mlp:4"};
    for (int i = 0; i < 4; i++) {
        const fab_net_plan plan = {.layers = layers[i == 1],
                                   .features = 3,
                                   .classes = 1,
                                   .beta = 1,
                                   .noise = i == 2 ? FAB_NOISE_OUTPUT : FAB_NOISE_LEARNED};
        fab_net *net;
        fab_vifa_settings s = fab_vifa_defaults();
        if (i == 3) s.train.rate = 0.02;
        assert_ok(fab_net_create(&net, &plan, NULL));
        assert_int_equal(chosen_for(fab_net_model(net), &s, &e),
                         i == 0 ? FAB_VIFA_NEWTON : FAB_VIFA_ADAM);
        fab_net_free(net);
    }
    for (int64_t D = FAB_VIFA_SMALL; D < FAB_VIFA_SMALL + 2; D++) {
        linear line = {.D = D, .beta = 1};
        fab_model m = model_of(&line);
        const fab_vifa_settings s = fab_vifa_defaults();
        m.linear = 1;
        m.head.D = 3;
        assert_int_equal(chosen_for(&m, &s, &e),
                         D == FAB_VIFA_SMALL ? FAB_VIFA_NEWTON : FAB_VIFA_ADAM);
    }
}

static void a_part_that_is_auto_takes_at_most_what_the_other_leaves(void **state)
{
    (void)state;
    static const struct {
        double map, ramp, map_in_force, ramp_in_force; /* negative: auto */
    } cases[] = {{-1, -1, 0.1, 0.3},  {0.5, -1, 0.5, 0.3},          {0.875, -1, 0.875, 0.125},
                 {-1, 0.5, 0.1, 0.5}, {-1, 0.9375, 0.0625, 0.9375}, {0, 0, 0, 0}};
    const problem p = some_problem(20, 3, 6);
    const fab_examples e = examples_of(&p);
    const fab_net_plan plan = {.layers = "mlp:4", .features = 3, .classes = 1, .beta = 1};
    fab_net *net;
    assert_ok(fab_net_create(&net, &plan, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fab_vifa_settings s = fab_vifa_defaults();
        if (cases[i].map >= 0) s.map_part = cases[i].map;
        if (cases[i].ramp >= 0) s.ramp_part = cases[i].ramp;
        fab_fit *f = open_run(fab_net_model(net), &s, NULL, &e);
        assert_true(in_force(f)->map_part == cases[i].map_in_force);
        assert_true(in_force(f)->ramp_part == cases[i].ramp_in_force);
        fab_fit_free(f);
    }
    fab_net_free(net);
}

/* 8000 steps, but at least 100 epochs. */
static void epochs_that_are_auto_follow_the_rows(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, batch, epochs;
    } cases[] = {{40, 40, 8000}, {40, 20, 4000}, {40, 1, 200}, {160, 1, 100}};
    const fab_net_plan plan = {.layers = "mlp:2", .features = 3, .classes = 1, .beta = 1};
    fab_net *net;
    assert_ok(fab_net_create(&net, &plan, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fab_vifa_settings s = fab_vifa_defaults();
        const problem p = some_problem(cases[i].rows, 3, 6);
        const fab_examples e = examples_of(&p);
        fab_report r;
        s.train.batch = cases[i].batch;
        s.K = 1;
        fab_fit *f = open_run(fab_net_model(net), &s, NULL, &e);
        result_of(f);
        assert_ok(fab_fit_report(f, &r));
        assert_int_equal(r.iterations, cases[i].epochs);
        fab_fit_free(f);
    }
    fab_net_free(net);
}

/* E_q v and E_q[v (theta - c)'] of a model in two coordinates, on a fine grid of q; v: gradient of -log p(D, theta). */
static void expected(const fab_model *m, const fab_examples *e, double alpha, const fab_gauss *q,
                     double g[2], double H[4])
{
    enum { SIDE = 61 };
    const double *F = q->F, a = sqrt(F[0] * F[0] + q->psi[0]), b = F[0] * F[1] / a,
                 d = sqrt(F[1] * F[1] + q->psi[1] - b * b), gap = 0.2;
    memset(g, 0, 2 * sizeof *g);
    memset(H, 0, 4 * sizeof *H);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double s = gap * (i / SIDE - SIDE / 2), t = gap * (i % SIDE - SIDE / 2);
        const double x[2] = {a * s, b * s + d * t};
        const double theta[2] = {q->mu[0] + x[0], q->mu[1] + x[1]};
        const double w = gap * gap * exp(-(s * s + t * t) / 2) / 6.283185307179586477;
        double loss, v[2];
        assert_ok(m->loss(m->self, theta, e, &loss, v));
        for (int j = 0; j < 2; j++) {
            v[j] = (double)e->x.n * v[j] + alpha * theta[j];
            g[j] += w * v[j];
            for (int k = 0; k < 2; k++) H[j + 2 * k] += w * v[j] * x[k];
        }
    }
}

/* In two coordinates rank one is every covariance, and the maximum of the ELBO has E_q v = 0 and E_q[v (theta - c)'] = I.
 * The rule's error of a step is that of the model's third and fourth derivatives, below a tenth here, and the falling rate
 * averages over about ten steps: 0.1 / sqrt 10, in standard deviations. */
static void the_default_maximises_the_bound_for_classes_and_counts(void **state)
{
    (void)state;
    enum { N = 40 };
    double x[N], y[N];
    for (int poisson = 0; poisson < 2; poisson++) {
        fab_random_normal(7, FAB_PURPOSE_DATA, 1, 0, N, FAB_F64, x);
        fab_random_normal(7, FAB_PURPOSE_DATA, 2, 0, N, FAB_F64, y);
        for (int i = 0; i < N; i++)
            y[i] = poisson ? floor(exp(2 + x[i] + 0.3 * y[i])) : x[i] + y[i] > 0.4;
        const fab_examples e = {.x = {x, FAB_F64, N, 1}, .y = y};
        const fab_net_plan plan = {.layers = "linear",
                                   .features = 1,
                                   .classes = 1,
                                   .likelihood = poisson ? FAB_LIKELIHOOD_POISSON
                                                         : FAB_LIKELIHOOD_BERNOULLI};
        fab_net *net;
        double g[2], H[4];
        assert_ok(fab_net_create(&net, &plan, NULL));
        fab_vifa_settings s = fab_vifa_defaults();
        s.K = 1;
        fab_fit *f = open_run(fab_net_model(net), &s, NULL, &e);
        const fab_gauss *q = result_of(f);
        assert_int_equal(in_force(f)->optimiser, FAB_VIFA_NEWTON);
        expected(fab_net_model(net), &e, s.train.alpha, q, g, H);
        for (int i = 0; i < 2; i++) {
            const double F = ((double *)q->F)[i], sd = sqrt(F * F + q->psi[i]);
            assert_true(fabs(g[i] * sd) < 0.03);
            for (int j = 0; j < 2; j++) assert_true(fabs(H[2 * i + j] - (i == j)) < 0.03);
        }
        fab_fit_free(f);
        fab_net_free(net);
    }
}

/* KL above the least one. */
static double excess(known *k, const fab_vifa_settings *s, double *mean)
{
    fab_fit *f = open_run(&k->model, s, NULL, &k->e);
    const fab_gauss *q = result_of(f);
    fab_gauss *best;
    double kl, least;
    assert_ok(fab_vifa_optimum(&best, &least, k->posterior, s->K, 6, 1));
    assert_ok(fab_distance_kl(q, k->posterior, NULL, &kl));
    assert_ok(fab_distance_mean(q, k->posterior, mean));
    fab_gauss_free(best);
    fab_fit_free(f);
    return kl - least;
}

/* The stochastic run ends where the deterministic one does, up to a thousandth of a nat where rank K is enough. */
static void every_optimiser_converges_to_the_optimum(void **state)
{
    (void)state;
    known *k = some_known(60, 5, 8);
    static const double rates[] = {2e-3, 0.05, 0.3};
    for (int optimiser = 0; optimiser < 3; optimiser++)
        for (int64_t K = 2; K < 5; K += 2) {
            fab_vifa_settings s = whole_rows(k, K, optimiser == FAB_VIFA_SGD ? 8000 : 3000);
            double mean, most = K == 4 ? 1e-3 : 0.05;
            s.optimiser = optimiser;
            s.train.rate = rates[optimiser];
            s.draws = 8;
            s.start_sd = 0.05;
            assert_true(excess(k, &s, &mean) < most);
            assert_true(mean < 1e-3);
        }
    fab_fit_free(k->exact);
}

/* The paper's estimator and batches leave more noise, not another answer. */
static void the_closed_form_on_batches_converges_too(void **state)
{
    (void)state;
    known *k = some_known(60, 4, 8);
    fab_vifa_settings s = whole_rows(k, 3, 0);
    double mean;
    s.train.batch = 25; /* uneven: 25, 25, 10 */
    s.entropy = FAB_VIFA_CLOSED;
    s.shared = s.pairs = 0;
    s.train.epochs = 30000;
    s.draws = 5;
    s.train.rate = 0.02;
    s.start_sd = 0.05;
    assert_true(excess(k, &s, &mean) < 0.02);
    assert_true(mean < 0.01);
    fab_fit_free(k->exact);
}

/* A diagonal q: psi_i = 1 / A_ii. */
static void a_mean_field_has_the_conditional_variances(void **state)
{
    (void)state;
    known *k = some_known(60, 5, 9);
    fab_vifa_settings s = whole_rows(k, 0, 2000);
    fab_gauss *best;
    s.optimiser = FAB_VIFA_NATURAL;
    s.train.rate = 0.3;
    s.draws = 16;
    s.start_sd = 0.05;
    fab_fit *f = open_as("meanfield", &k->model, &s, NULL, &k->e, NULL);
    const fab_gauss *q = result_of(f);
    assert_int_equal(q->K, 0);
    assert_ok(fab_vifa_optimum(&best, NULL, k->posterior, 0, 1, 1));
    assert_true(covariance_distance(q, best) < 0.05);
    fab_gauss_free(best);
    fab_fit_free(f);
    fab_fit_free(k->exact);
}

/* Rows of weight 0 say nothing: q is the prior, a given one too, to all digits where draws have no noise left. */
static void without_data_the_posterior_is_the_prior(void **state)
{
    (void)state;
    known *k = some_known(20, 4, 5);
    fab_gauss *prior = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 4, 2, 1, 1);
    k->m.beta = 1e-12; /* as good as none */
    for (int given = 0; given < 2; given++) {
        fab_vifa_settings s = whole_rows(k, 3, 3000);
        double kl;
        s.optimiser = FAB_VIFA_NATURAL;
        s.train.rate = 0.2;
        s.draws = 8;
        s.train.alpha = 2;
        s.start_sd = 0.1;
        fab_fit *f = open_run(&k->model, &s, given ? prior : NULL, &k->e);
        const fab_gauss *q = result_of(f);
        fab_gauss *alone;
        assert_ok(fab_gauss_create(&alone, FAB_FORM_PRECISION, FAB_F64, 4, 0));
        for (int i = 0; i < 4; i++) alone->psi[i] = 2;
        assert_ok(fab_distance_kl(q, given ? prior : alone, NULL, &kl));
        assert_true(kl < 1e-4);
        fab_gauss_free(alone);
        fab_fit_free(f);
    }
    fab_gauss_free(prior);
    fab_fit_free(k->exact);
}

/* ELBO = log evidence - KL(q || posterior).  At a draw the log-likelihood has a standard deviation of sqrt(D / 2);
 * the average runs over 100 steps of 8 draws: 5 standard deviations are 0.28. */
static void the_bound_is_the_evidence_less_the_divergence(void **state)
{
    (void)state;
    known *k = some_known(60, 5, 8);
    for (int64_t K = 0; K < 5; K += 2) {
        fab_vifa_settings s = whole_rows(k, K, 2000);
        fab_report r;
        double kl;
        s.optimiser = FAB_VIFA_NATURAL;
        s.train.rate = 0.3;
        s.draws = 8;
        s.start_sd = 0.05;
        fab_fit *f = open_run(&k->model, &s, NULL, &k->e);
        assert_ok(fab_distance_kl(result_of(f), k->posterior, NULL, &kl));
        assert_ok(fab_fit_report(f, &r));
        assert_true(fabs(r.log_evidence - (k->report.log_evidence - kl)) < 0.28);
        assert_int_equal(r.iterations, 2000);
        assert_true(r.alpha == k->p.alpha && r.beta == k->p.beta);
        fab_fit_free(f);
    }
    fab_fit_free(k->exact);
}

/* ---- phases, free coordinates ------------------------------------------------------------------------- */

static void only_c_moves_in_the_first_part(void **state)
{
    (void)state;
    known *k = some_known(30, 4, 5);
    fab_vifa_settings s = whole_rows(k, 2, 50);
    s.map_part = 1;
    fab_fit *f = open_run(&k->model, &s, NULL, &k->e);
    const fab_gauss *q = result_of(f);
    for (int i = 0; i < 4; i++) {
        assert_true(fabs(q->psi[i] / (s.start_sd * s.start_sd) - 1) < 1e-14);
        assert_true(q->mu[i] != 0);
    }
    fab_fit_free(f);
    fab_fit_free(k->exact);
}

/* A learned noise is a point beside q; held until free_after. */
static void free_coordinates_are_points(void **state)
{
    (void)state;
    const problem p = some_problem(80, 3, 6);
    const fab_examples e = examples_of(&p);
    const fab_net_plan plan = {.layers = "linear",
                               .features = 3,
                               .classes = 1,
                               .beta = 0.5,
                               .noise = FAB_NOISE_LEARNED,
                               .batch = 80};
    for (int optimiser = FAB_VIFA_ADAM; optimiser <= FAB_VIFA_NEWTON; optimiser++)
        for (int held = 0; held < 2; held++) {
            fab_net *net;
            fab_report r;
            assert_ok(fab_net_create(&net, &plan, NULL));
            fab_vifa_settings s = fab_vifa_defaults();
            s.K = 2;
            s.train.epochs = 1500;
            s.train.batch = 80;
            s.optimiser = optimiser;
            s.train.rate = optimiser == FAB_VIFA_ADAM ? 0.03 : 0.1;
            s.start_sd = 0.03;
            s.free_after = held;
            fab_fit *f = open_run(fab_net_model(net), &s, NULL, &e);
            const fab_gauss *q = result_of(f);
            assert_int_equal(q->D, 4);
            assert_int_equal(q->total, 5);
            assert_ok(fab_fit_report(f, &r));
            assert_true(r.beta == exp(q->theta[4]));
            if (held)
                assert_true(fabs(r.beta - 0.5) < 1e-12);
            else
                assert_true(r.beta > 1 && r.beta < 4); /* 1 / 0.7^2 = 2.04 */
            fab_fit_free(f);
            fab_net_free(net);
        }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    known *k = some_known(30, 4, 5);
    fab_gauss *prior = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 4, 2, 1, 1);
    fab_vifa_settings s = whole_rows(k, 2, 50);
    fab_model m = k->model;
    fab_fit *f;
    m.free = 1;
    assert_refused(
        fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = &m, .prior = prior}, NULL),
        FAB_UNSUPPORTED, "without free coordinates");
    assert_refused(
        fab_fit_create(&f, "meanfield", &s, sizeof s, &(fab_input){.model = &k->model}, NULL),
        FAB_BAD_ARGUMENT, "K = 2 is outside [0, 0]");
    s.map_part = 0.7, s.ramp_part = 0.4;
    assert_refused(fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = &k->model}, NULL),
                   FAB_BAD_ARGUMENT, "more than the run");
    s.map_part = s.ramp_part = 0;
    s.draws = 0;
    assert_refused(fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = &k->model}, NULL),
                   FAB_BAD_ARGUMENT, "draws");
    assert_null(f);
    fab_gauss_free(prior);
    fab_fit_free(k->exact);
}

/* ---- bits --------------------------------------------------------------------------------------------- */

/* -log p = sum_i (theta_i - i / D)^2 / 2, whatever the rows: many coordinates, a cheap gradient. */
static fab_status bowl(void *self, const double *theta, const fab_examples *e, double *loss,
                       double *gradient)
{
    const int64_t D = *(const int64_t *)self;
    (void)e;
    *loss = 0;
    for (int64_t i = 0; i < D; i++) {
        gradient[i] = theta[i] - (double)i / (double)D;
        *loss += gradient[i] * gradient[i] / 2;
    }
    return FAB_OK;
}

static fab_gauss *bowl_run(int64_t D, const fab_exec *x, const fab_vifa_settings *s)
{
    static double rows[3] = {1, 2, 3};
    const fab_examples e = {.x = {rows, FAB_F64, 3, 1}, .y = rows};
    const fab_model m = {
        .D = D, .head = {.D = 1, .classes = 1, .beta = 1}, .self = &D, .loss = bowl};
    fab_fit *f = open_as("vifa", &m, s, NULL, &e, x);
    fab_gauss *copy;
    assert_ok(fab_gauss_copy(&copy, result_of(f), result_of(f)->type));
    fab_fit_free(f);
    return copy;
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    enum { D = 20000 };
    for (int i = 0; i < 6; i++) {
        fab_gauss *q[2];
        for (int t = 0; t < 2; t++) {
            const fab_exec x = {.threads = t ? 3 : 1};
            fab_vifa_settings s = fab_vifa_defaults();
            s.K = 2;
            s.draws = i < 3 ? 2 : 3;
            s.entropy = i % 2;
            s.optimiser = i % 3;
            s.train.rate = 1e-3;
            s.train.epochs = 3;
            q[t] = bowl_run(D, &x, &s);
        }
        assert_memory_equal(q[0]->mu, q[1]->mu, D * sizeof(double));
        assert_memory_equal(q[0]->psi, q[1]->psi, D * sizeof(double));
        assert_memory_equal(q[0]->F, q[1]->F, 2 * D * sizeof(double));
        fab_gauss_free(q[0]);
        fab_gauss_free(q[1]);
    }
}

static void long_arrays_may_be_f32(void **state)
{
    (void)state;
    enum { D = 3000 };
    for (int optimiser = 0; optimiser < 3; optimiser++) {
        const fab_exec x = {.ops = fab_ops_find("cpu", FAB_F32)};
        fab_vifa_settings s = fab_vifa_defaults();
        s.K = 2;
        s.optimiser = optimiser;
        s.train.rate = 0.01;
        s.train.epochs = 50;
        s.start_sd = 0.3;
        s.start_F = 0; /* random numbers depend on the precision */
        fab_gauss *wide = bowl_run(D, NULL, &s), *narrow = bowl_run(D, &x, &s);
        assert_int_equal(narrow->type, FAB_F32);
        for (int64_t i = 0; i < D; i++) {
            assert_true(fabs(wide->mu[i] - narrow->mu[i]) < 1e-4);
            assert_true(fabs(log(wide->psi[i] / narrow->psi[i])) < 1e-3);
        }
        fab_gauss_free(wide);
        fab_gauss_free(narrow);
    }
}

static int stop_at(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)total;
    assert_ptr_equal(strstr(what, "vifa"), what); /* alone, or with the loss of an interval */
    return done == *(const int64_t *)ctx;
}

static void a_stopped_run_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    const problem p = some_problem(50, 3, 4);
    const fab_examples e = examples_of(&p);
    const int64_t stop = 10;
    for (int i = 0; i < 6; i++) {
        const fab_net_plan plan = {.layers = "dense:9,tanh,dropout:0.2",
                                   .features = 3,
                                   .classes = 1,
                                   .beta = 1,
                                   .noise = i % 2 ? FAB_NOISE_LEARNED : FAB_NOISE_FIXED};
        const fab_exec x = {.ops = fab_ops_find("cpu", i < 3 ? FAB_F64 : FAB_F32)};
        fab_net *net;
        const fab_gauss *q;
        fab_tensors *file;
        fab_fit *again;
        assert_ok(fab_net_create(&net, &plan, NULL));
        const fab_model *m = fab_net_model(net);
        fab_vifa_settings s = fab_vifa_defaults();
        s.K = 2;
        s.optimiser = i % 3;
        s.entropy = i % 2;
        s.train.rate = 1e-3;
        s.train.epochs = 20;
        s.map_part = 0.2;
        fab_fit *whole = open_as("vifa", m, &s, NULL, &e, &x),
                *half = open_as("vifa", m, &s, NULL, &e, &x);
        const fab_gauss *want = result_of(whole);
        const size_t bytes = (size_t)(want->D * 2) * (i < 3 ? sizeof(double) : sizeof(float));
        fab_set_progress(stop_at, (void *)(uintptr_t)&stop);
        assert_int_equal(fab_fit_gauss(half, &q), FAB_STOPPED);
        fab_set_progress(NULL, NULL);
        assert_ok(fab_fit_checkpoint(half, in_folder("half.safetensors"), NULL));
        assert_ok(fab_tensors_read(&file, in_folder("half.safetensors")));
        assert_ok(fab_fit_load(&again, file, &(fab_input){.model = m}, &x));
        assert_ok(fab_fit_update(again, &e));
        assert_memory_equal(result_of(again)->mu, want->mu, (size_t)want->D * 8);
        assert_memory_equal(result_of(again)->psi, want->psi, (size_t)want->D * 8);
        assert_memory_equal(result_of(again)->F, want->F, bytes);
        assert_memory_equal(result_of(half)->F, want->F, bytes);
        fab_tensors_free(file);
        fab_fit_free(whole);
        fab_fit_free(half);
        fab_fit_free(again);
        fab_net_free(net);
    }
}

/* The default of a linear model: the same, with one thread or three. */
static void a_stopped_run_of_newton_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    const problem p = some_problem(3000, 40, 4);
    const fab_examples e = examples_of(&p);
    const int64_t stop = 10;
    for (int i = 0; i < 4; i++) {
        const fab_net_plan plan = {.layers = "linear",
                                   .features = 40,
                                   .classes = 1,
                                   .beta = 1,
                                   .noise = i % 2 ? FAB_NOISE_LEARNED : FAB_NOISE_FIXED};
        const fab_exec one = {.ops = fab_ops_find("cpu", i < 2 ? FAB_F64 : FAB_F32), .threads = 1},
                       three = {.ops = one.ops, .threads = 3};
        fab_net *net[2];
        fab_tensors *file;
        fab_fit *again;
        const fab_gauss *q;
        fab_vifa_settings s = fab_vifa_defaults();
        s.train.epochs = 12;
        s.train.batch = 700;
        assert_ok(fab_net_create(&net[0], &plan, &one));
        assert_ok(fab_net_create(&net[1], &plan, &three));
        fab_fit *whole = open_as("vifa", fab_net_model(net[0]), &s, NULL, &e, &one),
                *half = open_as("vifa", fab_net_model(net[1]), &s, NULL, &e, &three);
        const fab_gauss *want = result_of(whole);
        fab_set_progress(stop_at, (void *)(uintptr_t)&stop);
        assert_int_equal(fab_fit_gauss(half, &q), FAB_STOPPED);
        fab_set_progress(NULL, NULL);
        assert_ok(fab_fit_checkpoint(half, in_folder("half.safetensors"), NULL));
        assert_ok(fab_tensors_read(&file, in_folder("half.safetensors")));
        assert_ok(fab_fit_load(&again, file, &(fab_input){.model = fab_net_model(net[1])}, &three));
        assert_ok(fab_fit_update(again, &e));
        q = result_of(again);
        assert_memory_equal(q->mu, want->mu, (size_t)want->D * 8);
        assert_memory_equal(q->psi, want->psi, (size_t)want->D * 8);
        assert_memory_equal(q->F, want->F, (size_t)(want->D * want->K) * (i < 2 ? 8 : 4));
        assert_int_equal(in_force(again)->optimiser, FAB_VIFA_NEWTON);
        fab_tensors_free(file);
        fab_fit_free(whole);
        fab_fit_free(half);
        fab_fit_free(again);
        fab_net_free(net[0]);
        fab_net_free(net[1]);
    }
}

/* ---- failures ----------------------------------------------------------------------------------------- */

static void a_run_that_explodes_says_where_and_keeps_a_good_state(void **state)
{
    (void)state;
    known *k = some_known(50, 4, 4);
    for (int i = 0; i < 16; i++) {
        fab_vifa_settings s = whole_rows(k, i < 8 ? 2 : 0, 400);
        const fab_gauss *q;
        fab_posterior *back;
        s.optimiser = i % 4;
        s.entropy = i / 4 % 2;
        s.train.rate = 1e6;
        s.reach = 1e300;
        fab_fit *f = open_as(i < 8 ? "vifa" : "meanfield", &k->model, &s, NULL, &k->e, NULL);
        assert_int_equal(fab_fit_gauss(f, &q), FAB_NUMERIC);
        assert_non_null(strstr(fab_detail(), "lower rate (now 1e+06)"));
        assert_non_null(strstr(fab_detail(), "at step "));
        assert_ok(fab_fit_checkpoint(f, in_folder("q.safetensors"), NULL));
        assert_ok(fab_posterior_load(&back, in_folder("q.safetensors"))); /* checks what it reads */
        fab_posterior_free(back);
        fab_fit_free(f);
    }
    fab_fit_free(k->exact);
}

static void a_loss_that_is_no_number_ends_the_run(void **state)
{
    (void)state;
    known *k = some_known(50, 4, 4);
    fab_vifa_settings s = whole_rows(k, 2, 400);
    const fab_gauss *q;
    k->m.broken_at = 25;
    fab_fit *f = open_run(&k->model, &s, NULL, &k->e);
    assert_refused(fab_fit_gauss(f, &q), FAB_NUMERIC, "the loss is nan at step 13");
    assert_ok(
        fab_fit_gauss(f, &q)); /* that was the only one: the run goes on from where it was good */
    fab_fit_free(f);
    fab_fit_free(k->exact);
}

static void a_gradient_that_is_no_number_ends_the_run(void **state)
{
    (void)state;
    known *k = some_known(50, 4, 4);
    for (int i = 0; i < 8; i++) {
        fab_vifa_settings s = whole_rows(k, i < 4 ? 2 : 0, 40);
        const fab_gauss *q;
        s.optimiser = i % 4;
        s.train.rate = 1e-3;
        k->m.calls = 0;
        k->m.slope_broken_at = i % 4 == FAB_VIFA_NEWTON ? 12 * 9 + 5 : 25; /* of 9 or 2 in a step */
        fab_fit *f = open_as(i < 4 ? "vifa" : "meanfield", &k->model, &s, NULL, &k->e, NULL);
        assert_refused(fab_fit_gauss(f, &q), FAB_NUMERIC, "gradient is nan at step 13: lower rate");
        assert_ok(fab_fit_checkpoint(f, in_folder("q.safetensors"), NULL)); /* of a good state */
        assert_ok(fab_fit_gauss(f, &q));
        fab_fit_free(f);
    }
    fab_fit_free(k->exact);
}

static void a_psi_that_leaves_the_numbers_ends_the_run(void **state)
{
    (void)state;
    known *k = some_known(50, 4, 4);
    for (int i = 0; i < 6; i++) {
        fab_vifa_settings s = whole_rows(k, i < 3 ? 2 : 0, 400);
        const fab_gauss *q;
        s.optimiser = i % 3;
        s.train.rate = 1e-3;
        s.rate_psi = 1e7;
        s.reach = 1e300;
        fab_fit *f = open_as(i < 3 ? "vifa" : "meanfield", &k->model, &s, NULL, &k->e, NULL);
        assert_refused(fab_fit_gauss(f, &q), FAB_NUMERIC, "the largest |log psi| is ");
        assert_non_null(strstr(fab_detail(), "at step "));
        assert_ok(fab_fit_checkpoint(f, in_folder("q.safetensors"), NULL));
        fab_fit_free(f);
    }
    fab_fit_free(k->exact);
}

/* A network may curve the other way; a matrix has a limit; the points are as many as they are. */
static void newton_says_what_it_is_not_for(void **state)
{
    (void)state;
    const problem p = some_problem(50, 3, 4);
    const fab_examples e = examples_of(&p);
    const fab_net_plan plan = {.layers = "mlp:9", .features = 3, .classes = 1, .beta = 1};
    fab_vifa_settings s = fab_vifa_defaults();
    linear wide = {.D = FAB_DENSE_MAX + 1, .beta = 1};
    const fab_model m = model_of(&wide);
    const fab_gauss *q;
    fab_fit *f;
    fab_net *net;
    assert_ok(fab_net_create(&net, &plan, NULL));
    s.optimiser = FAB_VIFA_NEWTON;
    f = open_run(fab_net_model(net), &s, NULL, &e);
    assert_refused(fab_fit_gauss(f, &q), FAB_NUMERIC, "at step 1 the curvature has no inverse");
    fab_fit_free(f);
    assert_refused(fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = &m}, NULL),
                   FAB_UNSUPPORTED, "for up to 2000 weights, not 2001");
    s.draws = 4;
    assert_refused(
        fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = fab_net_model(net)}, NULL),
        FAB_BAD_ARGUMENT, "draws = 4, but newton with 46 weights takes 93");
    fab_net_free(net);
}

/* A noise that is learned from a constant target has no end: its precision grows as long as the run lasts, and q stays
 * a Gaussian. */
static void a_constant_target_gives_a_gaussian(void **state)
{
    (void)state;
    problem p = some_problem(30, 2, 6);
    for (int64_t i = 0; i < p.N; i++) p.y[i] = 0;
    const fab_examples e = examples_of(&p);
    const fab_net_plan plan = {
        .layers = "linear", .features = 2, .classes = 1, .beta = 1, .noise = FAB_NOISE_LEARNED};
    for (int i = 0; i < 8; i++) {
        fab_net *net;
        fab_report r;
        fab_vifa_settings s = i < 4 ? fab_vifa_defaults() : fab_meanfield_defaults();
        assert_ok(fab_net_create(&net, &plan, NULL));
        s.optimiser = i % 4;
        if (i % 4 != FAB_VIFA_NEWTON) s.train.rate = i % 4 == FAB_VIFA_SGD ? 1e-4 : 0.01;
        fab_fit *f = open_as(i < 4 ? "vifa" : "meanfield", fab_net_model(net), &s, NULL, &e, NULL);
        result_of(f);
        assert_ok(fab_fit_report(f, &r));
        assert_true(r.beta > 1 && isfinite(r.beta));
        fab_fit_free(f);
        fab_net_free(net);
    }
}

/* One row, a constant target, more factors than coordinates. */
static void odd_sizes_work(void **state)
{
    (void)state;
    double x[2] = {1, 1}, y[2] = {3, 3};
    for (int64_t n = 1; n < 3; n++)
        for (int optimiser = 0; optimiser < 4; optimiser++) {
            linear line = {.D = 1, .beta = 1};
            const fab_model m = model_of(&line);
            const fab_examples e = {.x = {x, FAB_F64, n, 1}, .y = y};
            fab_vifa_settings s = fab_vifa_defaults();
            s.K = 3;
            s.optimiser = optimiser;
            if (optimiser != FAB_VIFA_NEWTON) {
                s.train.epochs = 3000;
                s.train.rate = optimiser == FAB_VIFA_NATURAL ? 0.1 : 0.02;
            }
            s.start_sd = 0.1;
            fab_fit *f = open_run(&m, &s, NULL, &e);
            assert_true(fabs(result_of(f)->mu[0] - 3.0 * (double)n / (double)(n + 1)) < 1e-3);
            fab_fit_free(f);
        }
}

static fab_status train_and_close(void)
{
    static double x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {1, 0, 1, 0, 1, 0};
    const fab_examples e = {.x = {x, FAB_F64, 6, 1}, .y = y};
    linear line = {.D = 1, .beta = 1};
    const fab_model m = model_of(&line);
    fab_vifa_settings s = fab_vifa_defaults();
    const fab_gauss *q;
    fab_gauss *prior = NULL;
    fab_fit *f = NULL;
    s.train.epochs = 2;
    fab_status done = fab_gauss_create(&prior, FAB_FORM_PRECISION, FAB_F64, 1, 0);
    if (done == FAB_OK)
        done = fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = &m, .prior = prior},
                              NULL);
    if (done == FAB_OK) done = fab_fit_update(f, &e);
    if (done == FAB_OK) done = fab_fit_gauss(f, &q);
    fab_fit_free(f);
    fab_gauss_free(prior);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(train_and_close) >= 6);
}

static long allocations_of(int64_t epochs)
{
    known *k = some_known(50, 4, 4);
    fab_vifa_settings s = whole_rows(k, 2, epochs);
    fab_fit *f = open_run(&k->model, &s, NULL, &k->e);
    const long before = allocations;
    const fab_gauss *q;
    assert_ok(fab_fit_gauss(f, &q));
    const long count = allocations - before;
    fab_fit_free(f);
    fab_fit_free(k->exact);
    return count;
}

static void steps_do_not_allocate(void **state)
{
    (void)state;
    if (!COUNTS_ALLOCATIONS) skip();
    assert_int_equal(allocations_of(20), allocations_of(400));
}

/* ---- random parts of the loss --------------------------------------------------------------------------- */

static int64_t numbers[64], numbered;

static void note_number(void *self, uint64_t seed, int64_t step)
{
    (void)self;
    if (step < 0) return; /* off */
    assert_int_equal(seed, 7);
    if (numbered < 64) numbers[numbered++] = step;
}

/* No two draws of theta see one draw of the dropout. */
static void each_loss_has_random_parts_of_its_own(void **state)
{
    (void)state;
    known *k = some_known(30, 4, 5);
    fab_vifa_settings s = fab_vifa_defaults();
    fab_model m = k->model;
    m.noise = note_number;
    s.K = 2;
    s.draws = 3;
    s.optimiser = FAB_VIFA_ADAM;
    s.train.epochs = 4;
    s.train.batch = 30;
    s.train.seed = 7;
    numbered = 0;
    fab_fit *f = open_run(&m, &s, NULL, &k->e);
    result_of(f);
    assert_int_equal(
        numbered,
        6); /* draws in pairs share rows: 3 take 2 epochs of one batch, so 4 are two steps */
    for (int64_t i = 0; i < numbered; i++) assert_int_equal(numbers[i], numbers[0] + i);
    fab_fit_free(f);
    fab_fit_free(k->exact);
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_step_is_that_of_plain_loops),
        TEST(a_step_of_sgd_that_is_clipped_has_the_length_of_rate_times_clip),
        TEST(exponentials_are_good_to_two_units_in_the_last_place),
        TEST(the_optimum_of_full_rank_is_the_posterior),
        TEST(the_optimum_is_a_minimum),
        TEST(the_default_of_a_linear_model_is_the_optimum),
        TEST(networks_wide_models_and_given_rates_keep_adam),
        TEST(a_part_that_is_auto_takes_at_most_what_the_other_leaves),
        TEST(epochs_that_are_auto_follow_the_rows),
        TEST(the_default_maximises_the_bound_for_classes_and_counts),
        TEST(every_optimiser_converges_to_the_optimum),
        TEST(the_closed_form_on_batches_converges_too),
        TEST(a_mean_field_has_the_conditional_variances),
        TEST(without_data_the_posterior_is_the_prior),
        TEST(the_bound_is_the_evidence_less_the_divergence),
        TEST(only_c_moves_in_the_first_part),
        TEST(free_coordinates_are_points),
        TEST(what_does_not_fit_is_refused),
        TEST(any_number_of_threads_gives_the_same_bits),
        TEST(long_arrays_may_be_f32),
        FILES(a_stopped_run_goes_on_to_the_same_bytes),
        FILES(a_stopped_run_of_newton_goes_on_to_the_same_bytes),
        FILES(a_run_that_explodes_says_where_and_keeps_a_good_state),
        TEST(a_loss_that_is_no_number_ends_the_run),
        FILES(a_gradient_that_is_no_number_ends_the_run),
        FILES(a_psi_that_leaves_the_numbers_ends_the_run),
        TEST(newton_says_what_it_is_not_for),
        TEST(a_constant_target_gives_a_gaussian),
        TEST(odd_sizes_work),
        TEST(every_failed_allocation_is_reported),
        TEST(steps_do_not_allocate),
        TEST(each_loss_has_random_parts_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
