/* test_ask.c - steps driven from outside, models that bring one callback, iterates as a stream, states in memory.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/net.h"
#include "files.h"
#include "linear_case.h"

enum { N = 53, FEATURES = 3, BATCH = 8 };

typedef struct driver {
    fab_net *net;
    fab_examples all;
    double x[BATCH * 8 * FEATURES], y[BATCH * 8]; /* the rows of a question */
    double *g;                                    /* D */
    void *G;                                      /* BATCH x D, of the model's type */
    int64_t questions, draws;
} driver;

static fab_net *some_net(void)
{
    fab_net *net;
    const fab_net_plan plan = {
        .layers = "mlp:4", .features = FEATURES, .classes = 1, .beta = 2.385, .batch = BATCH};
    assert_ok(fab_net_create(&net, &plan, NULL));
    return net;
}

static driver open_driver(const problem *p)
{
    driver d = {.net = some_net(), .all = examples_of(p)};
    const int64_t D = fab_net_model(d.net)->D;
    d.g = doubles(D);
    d.G = doubles(BATCH * D);
    return d;
}

/* The rows that a question is about. */
static fab_examples rows_of(driver *d, const fab_question *q)
{
    assert_true(q->n <= BATCH * 8);
    for (int64_t i = 0; i < q->n; i++) {
        assert_true(q->row[i] >= 0 && q->row[i] < N);
        memcpy(d->x + i * FEATURES, (const double *)d->all.x.p + q->row[i] * FEATURES,
               FEATURES * sizeof(double));
        d->y[i] = d->all.y[q->row[i]];
    }
    return (fab_examples){.x = {d->x, FAB_F64, q->n, FEATURES}, .y = d->y};
}

static fab_answer answer_to(driver *d, const fab_question *q)
{
    const fab_model *m = fab_net_model(d->net);
    const fab_examples e = rows_of(d, q);
    fab_answer a = {.type = FAB_F64};
    assert_ok(m->loss(m->self, q->theta, &e, &a.loss, q->gradient ? d->g : NULL));
    if (q->gradient) a.gradient = d->g;
    if (q->examples) {
        assert_ok(m->examples(m->self, q->theta, &e));
        m->rows(m->self, d->G, m->D);
        a.examples = d->G;
    }
    d->questions++;
    d->draws += q->draw;
    return a;
}

typedef struct any_settings {
    int64_t field[64];
} any_settings;

static any_settings quick(const char *method)
{
    any_settings s;
    const fab_fields *t = fab_method_find(method)->fields;
    const char *const set[][2] = {{"epochs", "4"}, {"batch", "8"}, {"average", "5"}, {"K", "2"},
                                  {"every", "2"},  {"runs", "2"},  {"seed", "7"}};
    fab_settings_defaults(t, &s);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        if (fab_settings_find(t, set[i][0]))
            if (strcmp(method, "meanfield") != 0 || strcmp(set[i][0], "K") != 0)
                assert_ok(fab_settings_parse(t, &s, set[i][0], set[i][1]));
    return s;
}

/* The model as a caller without functions of the data describes it. */
static fab_model described(const fab_net *net)
{
    const fab_model *m = fab_net_model(net);
    return (fab_model){.D = m->D,
                       .head = m->head,
                       .outputs = 1,
                       .batch = m->batch,
                       .type = m->type,
                       .self = m->self,
                       .start = m->start};
}

static fab_fit *create(const char *method, const fab_model *m, int64_t rows)
{
    fab_fit *f;
    const any_settings s = quick(method);
    assert_ok(fab_fit_create(&f, method, &s, fab_method_find(method)->fields->size,
                             &(fab_input){.model = m, .rows = rows}, NULL));
    return f;
}

static void drive(fab_fit *f, driver *d)
{
    for (;;) {
        fab_question q, again;
        int done;
        assert_ok(fab_fit_ask(f, &q, &done));
        if (done) return;
        assert_ok(fab_fit_ask(f, &again, &done)); /* the same question */
        assert_true(again.theta == q.theta && again.n == q.n && !done);
        const fab_answer a = answer_to(d, &q);
        assert_ok(fab_fit_tell(f, &a));
    }
}

static void assert_same(const fab_mixture *a, const fab_mixture *b)
{
    assert_int_equal(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++) {
        const fab_gauss *p = a->part[i], *q = b->part[i];
        assert_true(p->D == q->D && p->K == q->K && p->form == q->form);
        assert_memory_equal(p->mu, q->mu, (size_t)p->D * 8);
        if (p->K) assert_memory_equal(p->F, q->F, (size_t)(p->D * p->K) * 8);
        if (p->psi) assert_memory_equal(p->psi, q->psi, (size_t)p->D * 8);
    }
}

static void a_driven_fit_ends_in_the_same_bits(void **state)
{
    (void)state;
    const char *const methods[] = {"sgd",  "ensemble",  "swa",   "swag",
                                   "vifa", "meanfield", "slang", "vogn"};
    const problem p = some_problem(N, FEATURES, 3);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        driver d = open_driver(&p);
        const fab_mixture *inside, *outside;
        /* slang from rows of gradients, as the driven one gets them: products sum in another order */
        fab_model whole = *fab_net_model(d.net);
        whole.gram = NULL, whole.squares = NULL, whole.combine = NULL, whole.project = NULL;
        const fab_model m = described(d.net);
        fab_fit *a = create(methods[i], &whole, 0), *b = create(methods[i], &m, N);
        assert_ok(fab_fit_update(a, &d.all));
        assert_ok(fab_fit_result(a, &inside));
        drive(b, &d);
        assert_ok(fab_fit_result(b, &outside));
        assert_same(inside, outside);
        assert_true(d.questions >= 4 * N / BATCH);
        const int draws = i >= 4; /* of vifa, after its first steps */
        if (draws != (d.draws > 0)) fail_msg("%s: %lld draws", methods[i], (long long)d.draws);
        fab_fit_free(a);
        fab_fit_free(b);
        fab_net_free(d.net);
    }
}

static void answers_may_be_f32(void **state)
{
    (void)state;
    const problem p = some_problem(N, FEATURES, 3);
    driver d = open_driver(&p);
    const fab_model m = described(d.net);
    fab_fit *f = create("sgd", &m, N);
    float *g = malloc((size_t)m.D * sizeof *g);
    fab_question q;
    int done;
    for (;;) {
        assert_ok(fab_fit_ask(f, &q, &done));
        if (done) break;
        fab_answer a = answer_to(&d, &q);
        for (int64_t k = 0; k < m.D; k++) g[k] = (float)d.g[k];
        a.gradient = g;
        a.type = FAB_F32;
        assert_ok(fab_fit_tell(f, &a));
    }
    const fab_gauss *result;
    assert_ok(fab_fit_gauss(f, &result));
    free(g);
    fab_fit_free(f);
    fab_net_free(d.net);
}

static void a_bad_answer_leaves_the_question(void **state)
{
    (void)state;
    const problem p = some_problem(N, FEATURES, 3);
    driver d = open_driver(&p);
    const fab_model m = described(d.net);
    fab_fit *f = create("sgd", &m, N), *plain = create("sgd", fab_net_model(d.net), 0);
    fab_question q, again;
    int done;
    assert_refused(fab_fit_tell(f, &(fab_answer){.loss = 1}), FAB_BAD_ARGUMENT,
                   "nothing was asked");
    assert_refused(fab_fit_ask(plain, &q, &done), FAB_BAD_ARGUMENT,
                   "created with a number of rows");
    assert_ok(fab_fit_ask(f, &q, &done));
    assert_refused(fab_fit_tell(f, &(fab_answer){.loss = 1}), FAB_BAD_ARGUMENT,
                   "lacks the gradient");
    fab_answer a = answer_to(&d, &q);
    d.g[3] = NAN;
    assert_refused(fab_fit_tell(f, &a), FAB_BAD_DATA, "column 3 is nan");
    assert_ok(fab_fit_ask(f, &again, &done));
    assert_true(again.theta == q.theta && again.n == q.n);
    d.g[3] = 0;
    a.loss = NAN; /* the method's own sentence */
    assert_ok(fab_fit_tell(f, &a));
    assert_refused(fab_fit_ask(f, &q, &done), FAB_NUMERIC, "sgd");
    fab_fit_free(f);
    fab_fit_free(plain);
    fab_net_free(d.net);
}

static void a_fit_may_be_left_in_the_middle(void **state)
{
    (void)state;
    const problem p = some_problem(N, FEATURES, 3);
    driver d = open_driver(&p);
    const fab_model m = described(d.net);
    fab_set_allocator(counted_alloc, counted_release);
    alloc_fails_at = alloc_held = 0;
    for (int steps = 0; steps < 4; steps++) {
        fab_fit *f = create("vifa", &m, N);
        fab_question q;
        int done;
        for (int i = 0; i < steps; i++) {
            assert_ok(fab_fit_ask(f, &q, &done));
            const fab_answer a = answer_to(&d, &q);
            if (i + 1 < steps) assert_ok(fab_fit_tell(f, &a));
        }
        fab_fit_free(f);
    }
    assert_int_equal(alloc_held, 0);
    fab_set_allocator(NULL, NULL);
    fab_net_free(d.net);
}

static void what_has_no_steps_cannot_be_driven(void **state)
{
    (void)state;
    fab_net *net = some_net();
    const fab_model m = described(net);
    fab_fit *f;
    assert_refused(
        fab_fit_create(&f, "laplace", NULL, 0, &(fab_input){.model = &m, .rows = N}, NULL),
        FAB_UNSUPPORTED, "cannot be driven");
    assert_null(f);
    fab_net_free(net);
}

/* ---- one callback ---------------------------------------------------------------------------------------- */

static fab_status net_gradients(void *self, const double *theta, const fab_examples *e, void *G,
                                int64_t ld)
{
    const fab_model *m = self;
    const fab_status s = m->examples(m->self, theta, e);
    if (s == FAB_OK) m->rows(m->self, G, ld);
    return s;
}

static fab_status net_loss(void *self, const double *theta, const fab_examples *e, double *loss,
                           double *gradient)
{
    const fab_model *m = self;
    return m->loss(m->self, theta, e, loss, gradient);
}

static void one_callback_of_gradients_is_enough(void **state)
{
    (void)state;
    const problem p = some_problem(N, FEATURES, 3);
    const fab_examples e = examples_of(&p);
    fab_net *net = some_net();
    fab_model own = *fab_net_model(net), rows = own;
    own.start = NULL;
    rows.start = NULL, rows.gram = NULL, rows.squares = NULL, rows.combine = NULL;
    rows.project = NULL;
    const fab_model mine = {.D = own.D,
                            .head = own.head,
                            .outputs = 1,
                            .batch = own.batch,
                            .type = own.type,
                            .self = &own,
                            .loss = net_loss,
                            .gradients = net_gradients};
    const fab_mixture *a, *b;
    fab_fit *f = create("slang", &rows, 0), *g = create("slang", &mine, 0);
    assert_ok(fab_fit_update(f, &e));
    assert_ok(fab_fit_update(g, &e));
    assert_ok(fab_fit_result(f, &a));
    assert_ok(fab_fit_result(g, &b));
    assert_same(a, b);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_net_free(net);
}

/* A linear model is a model like any other: vifa's optimum of a gaussian target is that of the closed form. */
static void a_linear_model_has_gradients(void **state)
{
    (void)state;
    const problem p = some_problem(N, FEATURES, 3);
    const fab_examples e = examples_of(&p);
    for (int l = 0; l < 4; l++) {
        fab_glm glm = {.likelihood = (fab_likelihood)l,
                       .D = FEATURES,
                       .classes = l == FAB_LIKELIHOOD_CATEGORICAL ? 3 : 1,
                       .intercept = 1,
                       .beta = 1.7};
        const fab_model m = fab_model_linear(&glm);
        double y[N], loss, up, down,
            mean = 0, *theta = doubles(m.D), *g = doubles(m.D), *sum = doubles(m.D),
            *G = doubles(N * m.D), *J = doubles(N * m.outputs * m.D), *out = doubles(N * m.outputs);
        for (int64_t i = 0; i < N; i++) y[i] = l == 0 ? p.y[i] : (double)(i % (l == 1 ? 2 : 3));
        const fab_examples own = {.x = e.x, .y = y};
        for (int64_t k = 0; k < m.D; k++) theta[k] = 0.3 * noise(9, k);
        assert_ok(m.loss(m.self, theta, &own, &loss, g));
        assert_ok(m.gradients(m.self, theta, &own, G, m.D));
        for (int64_t k = 0; k < m.D; k++) {
            const double h = 1e-5, at = theta[k];
            theta[k] = at + h;
            assert_ok(m.loss(m.self, theta, &own, &up, NULL));
            theta[k] = at - h;
            assert_ok(m.loss(m.self, theta, &own, &down, NULL));
            theta[k] = at;
            assert_near(g[k], (up - down) / (2 * h), 1e-7 * (1 + fabs(g[k])));
            for (int64_t i = 0; i < N; i++) sum[k] += G[i * m.D + k] / N;
            assert_near(sum[k], g[k], 1e-13 * (1 + fabs(g[k])));
        }
        assert_ok(m.predict(m.self, theta, &e.x, out));
        assert_ok(m.jacobian(m.self, theta, &e.x, J, m.D));
        for (int64_t r = 0; r < N * m.outputs; r++) { /* linear: f = J theta */
            double f = 0;
            for (int64_t k = 0; k < m.D; k++) f += J[r * m.D + k] * theta[k];
            assert_near(f, out[r], 1e-12 * (1 + fabs(f)));
        }
        for (int64_t i = 0; i < N; i++) /* and the loss is that of the predictors */
            mean -= fab_glm_loglik(&glm, y[i], out + i * m.outputs, NULL, NULL) / N;
        assert_near(mean, loss, 1e-12 * (1 + fabs(loss)));
    }
    fab_glm glm = {.D = FEATURES, .classes = 1, .intercept = 1, .beta = p.beta};
    const fab_model m = fab_model_linear(&glm);
    fab_exact_settings s = fab_exact_defaults();
    s.glm.alpha = 1, s.glm.beta = p.beta;
    const fab_gauss *q, *exact;
    fab_gauss *prior;
    assert_ok(fab_gauss_create(&prior, FAB_FORM_PRECISION, FAB_F64, m.D, 0));
    fab_fit *f, *g;
    fab_vifa_settings v = fab_vifa_defaults();
    v.K = m.D;
    assert_ok(
        fab_fit_create(&f, "vifa", &v, sizeof v, &(fab_input){.model = &m, .prior = prior}, NULL));
    assert_ok(
        fab_fit_create(&g, "exact", &s, sizeof s, &(fab_input){.model = &m, .prior = prior}, NULL));
    assert_ok(fab_fit_update(f, &e));
    assert_ok(fab_fit_update(g, &e));
    assert_ok(fab_fit_gauss(f, &q));
    assert_ok(fab_fit_gauss(g, &exact));
    for (int64_t i = 0; i < m.D; i++) assert_near(q->mu[i], exact->mu[i], 1e-6);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_gauss_free(prior);
}

/* ---- iterates as a stream ---------------------------------------------------------------------------------- */

static void swag_of_iterates_is_its_formula(void **state)
{
    (void)state;
    enum { D = 7, T = 12, K = 3 };
    double x[T * D], mean[D] = {0}, V[D] = {0}, last[T][D];
    fab_swag_settings s = fab_swag_defaults();
    const fab_gauss *q;
    fab_fit *f, *g;
    for (int i = 0; i < T * D; i++) x[i] = 2.385 * noise(4, i);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < D; i++) { /* deviations from the running mean, before its update */
            const double d = x[t * D + i] - mean[i];
            last[t][i] = d;
            mean[i] += d / (t + 1);
            V[i] += d * (x[t * D + i] - mean[i]);
        }
    s.K = K;
    const fab_examples all = {.x = {x, FAB_F64, T, D}};
    assert_ok(fab_fit_create(&f, "swag", &s, sizeof s, &(fab_input){.vectors = D}, NULL));
    assert_ok(fab_fit_update(f, &all));
    assert_ok(fab_fit_gauss(f, &q));
    for (int i = 0; i < D; i++) {
        assert_near(q->mu[i], mean[i], 1e-14 * (1 + fabs(mean[i])));
        assert_near(q->psi[i], 0.5 * V[i] / T, 1e-14 * V[i]);
    }
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) { /* F F' = D D' / (2 (K - 1)) of the last K */
            double want = 0, got = 0;
            for (int t = T - K; t < T; t++) want += last[t][i] * last[t][j] / (2 * (K - 1));
            for (int k = 0; k < K; k++)
                got += ((const double *)q->F)[i * K + k] * ((const double *)q->F)[j * K + k];
            assert_near(got, want, 1e-13 * (1 + fabs(want)));
        }

    /* the state through memory: five iterates, then the rest */
    void *bytes;
    size_t size;
    fab_tensors *t;
    fab_gauss *whole;
    assert_ok(fab_gauss_copy(&whole, q, FAB_F64));
    fab_fit_free(f);
    assert_ok(fab_fit_create(&f, "swag", &s, sizeof s, &(fab_input){.vectors = D}, NULL));
    assert_ok(fab_fit_update(f, &(fab_examples){.x = {x, FAB_F64, 5, D}}));
    assert_ok(fab_fit_pack(f, 0, NULL, &bytes, &size));
    assert_ok(fab_tensors_parse(&t, "memory", bytes, size));
    assert_ok(fab_fit_load(&g, t, NULL, NULL));
    assert_int_equal(fab_fit_rows(g), 5);
    assert_ok(fab_fit_update(g, &(fab_examples){.x = {x + 5 * D, FAB_F64, T - 5, D}}));
    assert_ok(fab_fit_gauss(g, &q));
    assert_memory_equal(q->mu, whole->mu, sizeof mean);
    assert_memory_equal(q->psi, whole->psi, sizeof mean);
    assert_memory_equal(q->F, whole->F, D * K * sizeof(double));
    fab_tensors_free(t);
    fab_bytes_free(bytes);
    fab_gauss_free(whole);
    fab_fit_free(f);
    fab_fit_free(g);
}

/* The bytes in memory are those of the file. */
static void a_fit_packs_what_it_saves(void **state)
{
    (void)state;
    const problem p = some_problem(20, 3, 5);
    fab_fit *f = fitted_with("exact", &p, NULL);
    size_t size, n;
    void *bytes;
    assert_ok(fab_fit_save(f, in_folder("q"), NULL));
    assert_ok(fab_fit_pack(f, 0, NULL, &bytes, &size));
    char *file = get_bytes(in_folder("q"), &n);
    assert_int_equal(n, size);
    assert_memory_equal(file, bytes, n);
    free(file);
    fab_bytes_free(bytes);
    fab_fit_free(f);
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_driven_fit_ends_in_the_same_bits), TEST(answers_may_be_f32),
        TEST(a_bad_answer_leaves_the_question),   TEST(a_fit_may_be_left_in_the_middle),
        TEST(what_has_no_steps_cannot_be_driven), TEST(one_callback_of_gradients_is_enough),
        TEST(a_linear_model_has_gradients),       TEST(swag_of_iterates_is_its_formula),
        FILES(a_fit_packs_what_it_saves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
