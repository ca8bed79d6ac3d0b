/* test_lrvga_net.c - lrvga of networks: dense recursions, linear networks, streams that go on, runs that go wrong.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/methods.h"
#include "fabayes/net.h"
#include "files.h"
#include "train/sequence/scalar.h"
#include "linear_case.h"
#include "plain.h"

/* ---- cases -------------------------------------------------------------------------------------------- */

static fab_net *net_of(const char *layers, int64_t features, int64_t classes, fab_noise noise)
{
    const fab_net_plan p = {.layers = layers,
                            .features = features,
                            .likelihood = classes > 1 ? FAB_LIKELIHOOD_CATEGORICAL
                                                      : FAB_LIKELIHOOD_GAUSSIAN,
                            .classes = classes,
                            .noise = noise,
                            .beta = 2.385,
                            .batch = 16};
    fab_net *net;
    assert_ok(fab_net_create(&net, &p, NULL));
    return net;
}

/* A stream whose rank loses nothing. */
static fab_lrvga_settings whole(int64_t T)
{
    fab_lrvga_settings s = fab_lrvga_defaults(10);
    s.train.alpha = 0.7;
    s.start = FAB_LRVGA_MODEL;
    s.K = s.inner_rank = T;
    s.block = 5;
    s.warmup = 5;
    s.draws = 0;
    s.train.epochs = 3;
    return s;
}

static fab_fit *open_run(const fab_model *m, const fab_lrvga_settings *s, const fab_gauss *prior,
                         const fab_exec *x)
{
    fab_fit *f;
    assert_ok(
        fab_fit_create(&f, "lrvga", s, sizeof *s, &(fab_input){.model = m, .prior = prior}, x));
    return f;
}

static const fab_gauss *result_of(fab_fit *f)
{
    const fab_gauss *q;
    assert_ok(fab_fit_gauss(f, &q));
    assert_ok(fab_gauss_check(q));
    assert_int_equal(q->form, FAB_FORM_PRECISION);
    return q;
}

static double precision_at(const fab_gauss *q, int64_t a, int64_t b)
{
    const double *F = q->F;
    double sum = a == b ? q->psi[a] : 0;
    for (int64_t k = 0; k < q->K; k++) sum += F[a * q->K + k] * F[b * q->K + k];
    return sum;
}

static void assert_same(const fab_gauss *a, const fab_gauss *b)
{
    assert_int_equal(a->K, b->K);
    assert_memory_equal(a->mu, b->mu, (size_t)a->D * sizeof(double));
    assert_memory_equal(a->psi, b->psi, (size_t)a->D * sizeof(double));
    assert_memory_equal(a->F, b->F, (size_t)(a->D * a->K) * sizeof(double));
}

static fab_examples rows_of(const problem *p, int64_t first, int64_t n)
{
    return (fab_examples){.x = {p->x + first * p->D, FAB_F64, n, p->D}, .y = p->y + first};
}

/* ---- the dense recursion ------------------------------------------------------------------------------ */

enum { D = 21, N = 23, FEATURES = 3, BLOCK = 5 }; /* mlp:4 */

/* mu2 = mu + (S + beta J'J)^-1 beta J'(y - f - J (mu - theta)) with f, J at theta; next = S + beta J'J */
static void dense_look(const fab_model *m, const fab_examples *e, const double *theta,
                       const double *mu, const double *S, double *mu2, double *next)
{
    const int64_t n = e->x.n;
    double f[BLOCK], J[BLOCK * D], inverse[D * D], g[D] = {0};
    assert_ok(m->predict(m->self, theta, &e->x, f));
    assert_ok(m->jacobian(m->self, theta, &e->x, J, D));
    memcpy(next, S, D * D * sizeof *S);
    for (int64_t j = 0; j < n; j++) {
        double r = e->y[j] - f[j];
        for (int64_t i = 0; i < D; i++) r -= J[j * D + i] * (mu[i] - theta[i]);
        for (int64_t i = 0; i < D; i++) g[i] += m->head.beta * r * J[j * D + i];
        for (int64_t i = 0; i < D * D; i++)
            next[i] += m->head.beta * J[j * D + i / D] * J[j * D + i % D];
    }
    plain_inverse(D, next, inverse);
    memcpy(mu2, mu, D * sizeof *mu);
    for (int64_t i = 0; i < D * D; i++) mu2[i / D] += inverse[i] * g[i % D];
}

static void dense_stream(const fab_model *m, const problem *p, int scheme, double *mu, double *S)
{
    double half[D], end[D], first[D * D], second[D * D];
    for (int64_t i = 0; i < N; i += BLOCK) {
        const fab_examples e = rows_of(p, i, N - i < BLOCK ? N - i : BLOCK);
        dense_look(m, &e, mu, mu, S, half, first);
        dense_look(m, &e, half, mu, S, end, second);
        memcpy(S, scheme == FAB_EXTRA_GRADIENT ? second : first, sizeof first);
        memcpy(mu, scheme == FAB_EXPLICIT ? half : end, sizeof half);
    }
}

static void the_dense_recursion_is_reproduced_at_full_rank(void **state)
{
    const int schemes[] = {FAB_EXPLICIT, FAB_EXTRA_GRADIENT, FAB_MIRROR_PROX};
    const problem p = some_problem(N, FEATURES, 7);
    const fab_examples e = rows_of(&p, 0, N);
    fab_net *net = net_of("mlp:4:tanh", FEATURES, 1, FAB_NOISE_FIXED);
    const fab_model *m = fab_net_model(net);
    fab_lrvga_settings s = whole(D);
    (void)state;
    for (int i = 0; i < 3; i++) {
        double mu[D], S[D * D] = {0}, scale = 0;
        s.scheme = schemes[i];
        fab_fit *f = open_run(m, &s, NULL, NULL);
        assert_ok(fab_fit_update(f, &e));
        const fab_gauss *q = result_of(f);
        m->start(m->self, (uint64_t)s.train.seed, mu);
        for (int64_t d = 0; d < D; d++) S[d * (D + 1)] = s.train.alpha;
        dense_stream(m, &p, schemes[i], mu, S);
        for (int64_t d = 0; d < D * D; d++) scale = fmax(scale, fabs(S[d]));
        for (int64_t d = 0; d < D; d++) assert_near(q->mu[d], mu[d], 1e-9);
        for (int64_t d = 0; d < D * D; d++)
            assert_near(precision_at(q, d / D, d % D), S[d], 1e-11 * scale);
        fab_fit_free(f);
    }
    fab_net_free(net);
}

/* A linear network under a prior around 0 is the linear model, bias and all, wherever its slopes are taken. */
static void a_linear_network_gives_what_the_linear_model_gives(void **state)
{
    enum { P = FEATURES + 1 };
    const problem p = some_problem(N, FEATURES, 3);
    const fab_examples e = rows_of(&p, 0, N);
    fab_lrvga_settings linear = fab_lrvga_defaults(P);
    fab_lrvga_settings s = whole(P);
    fab_net *net = net_of("linear", FEATURES, 1, FAB_NOISE_FIXED);
    fab_gauss *prior;
    fab_fit *a;
    (void)state;
    linear.train.beta = fab_net_model(net)->head.beta;
    assert_ok(fab_gauss_create(&prior, FAB_FORM_PRECISION, FAB_F64, P, 0));
    for (int64_t i = 0; i < P; i++) prior->psi[i] = s.train.alpha;
    fab_glm glm = {.D = FEATURES, .classes = 1, .intercept = 1};
    const fab_model m = fab_model_linear(&glm);
    assert_ok(fab_fit_create(&a, "lrvga", &linear, sizeof linear,
                             &(fab_input){.model = &m, .prior = prior}, NULL));
    assert_ok(fab_fit_update(a, &e));
    const fab_gauss *want = result_of(a);
    for (s.draws = 0; s.draws < 6; s.draws += 5) {
        fab_fit *b = open_run(fab_net_model(net), &s, prior, NULL);
        assert_ok(fab_fit_update(b, &e));
        const fab_gauss *q = result_of(b);
        for (int64_t i = 0; i < P; i++) assert_near(q->mu[i], want->mu[i], 1e-11);
        for (int64_t i = 0; i < P * P; i++)
            assert_near(precision_at(q, i / P, i % P), precision_at(want, i / P, i % P),
                        1e-11 * precision_at(want, P - 1, P - 1));
        fab_fit_free(b);
    }
    fab_fit_free(a);
    fab_gauss_free(prior);
    fab_net_free(net);
}

/* ---- rows that were trained on ------------------------------------------------------------------------ */

/* With all slopes known, the precision is the prior and each row once, however many epochs; the noise has N less the
 * rows that went into the weights. */
static void rows_of_training_count_once(void **state)
{
    enum { P = FEATURES + 1 };
    const problem p = some_problem(N, FEATURES, 5);
    const fab_examples e = rows_of(&p, 0, N);
    fab_net *net = net_of("linear", FEATURES, 1, FAB_NOISE_LEARNED);
    fab_lrvga_settings s = whole(P);
    double A[P * P] = {0}, B[P * P], inverse[P * P], squares = 0, in = 0;
    fab_report r;
    (void)state;
    s.start = FAB_LRVGA_MAP; /* map */
    s.posterior_alpha = 0.3;
    s.train.epochs = 40;
    s.train.rate = 0.05;
    fab_fit *f = open_run(fab_net_model(net), &s, NULL, NULL);
    assert_ok(fab_fit_update(f, &e));
    const fab_gauss *q = result_of(f);
    assert_ok(fab_fit_report(f, &r));
    assert_int_equal(q->total, P + 1);
    assert_near(q->theta[P], log(r.beta), 1e-14);
    for (int64_t j = 0; j < N; j++) {
        double x[P] = {p.x[j * FEATURES], p.x[j * FEATURES + 1], p.x[j * FEATURES + 2], 1};
        double rest = p.y[j];
        for (int64_t i = 0; i < P; i++) rest -= x[i] * q->mu[i];
        for (int64_t i = 0; i < P * P; i++) A[i] += x[i / P] * x[i % P];
        squares += rest * rest;
    }
    for (int64_t i = 0; i < P * P; i++)
        assert_near(precision_at(q, i / P, i % P),
                    r.beta * A[i] + (i % (P + 1) ? 0 : s.posterior_alpha), 1e-9 * r.beta * N);
    /* sum of h is between 0 and P, and near P here: the prior is weak */
    for (int64_t i = 0; i < P * P; i++) B[i] = A[i] + (i % (P + 1) ? 0 : s.posterior_alpha);
    plain_inverse(P, B, inverse);
    for (int64_t i = 0; i < P * P; i++) in += inverse[i] * A[i];
    assert_true(in > 3.5 && in < P);
    const double df = r.beta * squares; /* times df / (df + 2) */
    assert_true(df < N - 3.5 + 0.5 && df > (N - P) * (N - P) / (N - P + 2.0) - 0.1);
    fab_fit_free(f);
    fab_net_free(net);
}

/* f = a b x with both weights at 0: no slope there, and yet not every a and b will do. */
static fab_status off_predict(void *self, const double *theta, const fab_rows *x, double *out)
{
    const double *p = x->p;
    (void)self;
    for (int64_t j = 0; j < x->n; j++) out[j] = theta[0] * theta[1] * p[j * x->ld];
    return FAB_OK;
}

static int64_t calls_left = INT64_MAX; /* before slopes are NaN */

static fab_status off_jacobian(void *self, const double *theta, const fab_rows *x, void *J,
                               int64_t ld)
{
    const double *p = x->p, poison = calls_left-- > 0 ? 0 : NAN;
    (void)self;
    for (int64_t j = 0; j < x->n; j++)
        for (int i = 0; i < 2; i++)
            ((double *)J)[j * ld + i] = theta[1 - i] * p[j * x->ld] + poison;
    return FAB_OK;
}

static fab_status off_loss(void *self, const double *theta, const fab_examples *e, double *loss,
                           double *gradient)
{
    *loss = 1;
    (void)self, (void)theta, (void)e;
    if (gradient) gradient[0] = gradient[1] = 0; /* a saddle */
    return FAB_OK;
}

static const fab_model off = {
    .D = 2,
    .head = {.likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = 1, .classes = 1, .beta = 4},
    .outputs = 1,
    .batch = 64,
    .type = FAB_F64,
    .loss = off_loss,
    .predict = off_predict,
    .jacobian = off_jacobian};

static void draws_see_what_a_unit_that_is_off_could_do(void **state)
{
    const problem p = some_problem(60, 1, 9);
    const fab_examples e = rows_of(&p, 0, p.N);
    fab_lrvga_settings s = whole(2);
    (void)state;
    s.start = FAB_LRVGA_MAP;
    for (s.draws = 0; s.draws < 5; s.draws += 4) {
        fab_fit *f = open_run(&off, &s, NULL, NULL);
        assert_ok(fab_fit_update(f, &e));
        const fab_gauss *q = result_of(f);
        for (int64_t i = 0; i < 2; i++) {
            assert_true(q->mu[i] == 0);
            if (s.draws == 0) assert_near(precision_at(q, i, i), s.train.alpha, 1e-12);
            if (s.draws > 0) assert_true(precision_at(q, i, i) > 5 * s.train.alpha);
        }
        fab_fit_free(f);
    }
}

/* The gradients of drawn classes have the Gauss-Newton matrix as their mean: N L columns, whose entries vary about as
 * much as they are large, leave an error near (N L)^-1/2 = 0.01; 0.1 is ten of them. */
static void drawn_classes_have_the_curvature_of_all(void **state)
{
    enum { ROWS = 40, CLASSES = 3, P = 3 * CLASSES };
    problem p = some_problem(ROWS, 2, 4);
    fab_net *net = net_of("linear", 2, CLASSES, FAB_NOISE_FIXED);
    fab_lrvga_settings s = whole(P);
    double gap = 0, size = 0;
    (void)state;
    for (int64_t j = 0; j < ROWS; j++) p.y[j] = (double)(j % CLASSES);
    const fab_examples e = rows_of(&p, 0, ROWS);
    s.start = FAB_LRVGA_MAP;
    s.posterior_alpha = 1e8; /* draws are the mode */
    s.draws = 256;
    fab_fit *f = open_run(fab_net_model(net), &s, NULL, NULL), *g;
    assert_ok(fab_fit_update(f, &e));
    s.draws = 0; /* by the stream's own weights, which are those of a point when the prior is one */
    s.start = FAB_LRVGA_MODEL;
    s.train.alpha = 1e8;
    fab_gauss *prior;
    assert_ok(fab_gauss_create(&prior, FAB_FORM_PRECISION, FAB_F64, P, 0));
    memcpy(prior->mu, result_of(f)->mu, P * sizeof(double));
    for (int64_t i = 0; i < P; i++) prior->psi[i] = s.train.alpha;
    g = open_run(fab_net_model(net), &s, prior, NULL);
    assert_ok(fab_fit_update(g, &e));
    for (int64_t i = 0; i < P * P; i++) {
        const double point = i % (P + 1) ? 0 : 1e8,
                     a = precision_at(result_of(f), i / P, i % P) - point,
                     b = precision_at(result_of(g), i / P, i % P) - point;
        gap += (a - b) * (a - b);
        size += b * b;
    }
    assert_true(size > 1);
    assert_true(sqrt(gap) < 0.1 * sqrt(size));
    fab_fit_free(f);
    fab_fit_free(g);
    fab_gauss_free(prior);
    fab_net_free(net);
}

/* ---- streams that go on ------------------------------------------------------------------------------- */

static fab_lrvga_settings narrow(int start)
{
    fab_lrvga_settings s = whole(3);
    s.inner_rank = 6;
    s.draws = 2;
    s.start = start;
    return s;
}

static void pieces_equal_the_whole(void **state)
{
    const problem p = some_problem(60, FEATURES, 11);
    fab_net *net = net_of("mlp:4", FEATURES, 1, FAB_NOISE_LEARNED);
    const fab_lrvga_settings s = narrow(FAB_LRVGA_MODEL);
    const fab_examples all = rows_of(&p, 0, 60);
    (void)state;
    fab_fit *a = open_run(fab_net_model(net), &s, NULL, NULL),
            *b = open_run(fab_net_model(net), &s, NULL, NULL);
    assert_ok(fab_fit_update(a, &all));
    for (int64_t i = 0; i < 60; i += 7) {
        const fab_examples e = rows_of(&p, i, 60 - i < 7 ? 60 - i : 7);
        assert_ok(fab_fit_update(b, &e));
        result_of(b); /* asking changes nothing */
    }
    assert_same(result_of(a), result_of(b));
    fab_fit_free(a);
    fab_fit_free(b);
    fab_net_free(net);
}

/* A model that takes one row in a call has the slopes of a group of two by two calls. */
static void slopes_by_several_calls_are_those_of_one(void **state)
{
    const problem p = some_problem(60, FEATURES, 11);
    fab_net *net = net_of("mlp:4", FEATURES, 1, FAB_NOISE_LEARNED);
    fab_lrvga_settings s = narrow(FAB_LRVGA_MODEL);
    const fab_examples all = rows_of(&p, 0, 60);
    fab_model few = *fab_net_model(net);
    (void)state;
    s.inner_rank = D;
    few.batch = 1;
    fab_fit *a = open_run(fab_net_model(net), &s, NULL, NULL), *b = open_run(&few, &s, NULL, NULL);
    assert_ok(fab_fit_update(a, &all));
    assert_ok(fab_fit_update(b, &all));
    const fab_gauss *q = result_of(a), *r = result_of(b);
    for (int64_t d = 0; d < q->D; d++) { /* sums in another order */
        assert_true(fabs(q->mu[d] - r->mu[d]) <= 1e-9 * (1 + fabs(q->mu[d])));
        assert_true(fabs(q->psi[d] / r->psi[d] - 1) <= 1e-9);
    }
    fab_fit_free(a);
    fab_fit_free(b);
    fab_net_free(net);
}

static void a_saved_stream_goes_on_to_the_same_bytes(void **state)
{
    const problem p = some_problem(60, FEATURES, 12);
    (void)state;
    for (int start = FAB_LRVGA_MAP; start <= FAB_LRVGA_MODEL; start++) {
        fab_net *net = net_of("mlp:4", FEATURES, 1, FAB_NOISE_LEARNED);
        const fab_lrvga_settings s = narrow(start);
        const fab_examples first = rows_of(&p, 0, 33), rest = rows_of(&p, 33, 27);
        const char *path = in_folder("net.safetensors");
        fab_tensors *t;
        fab_fit *b;
        fab_report r;
        fab_fit *a = open_run(fab_net_model(net), &s, NULL, NULL);
        assert_ok(fab_fit_update(a, &first));
        assert_ok(fab_fit_save(a, path, NULL));
        assert_ok(fab_fit_update(a, &rest));
        assert_ok(fab_tensors_read(&t, path));
        assert_ok(fab_fit_load(&b, t, &(fab_input){.model = fab_net_model(net)}, NULL));
        assert_ok(fab_fit_update(b, &rest));
        assert_same(result_of(a), result_of(b));
        assert_ok(fab_fit_report(b, &r));
        assert_int_equal(r.n, 60);
        fab_tensors_free(t);
        fab_fit_free(a);
        fab_fit_free(b);
        fab_net_free(net);
    }
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    problem p = some_problem(60, FEATURES, 13);
    fab_fit *f[2];
    fab_net *net = net_of("mlp:4", FEATURES, 3, FAB_NOISE_FIXED);
    const fab_lrvga_settings s = narrow(FAB_LRVGA_MAP);
    (void)state;
    for (int64_t j = 0; j < 60; j++) p.y[j] = (double)(j % 3);
    for (int i = 0; i < 2; i++) {
        const fab_examples first = rows_of(&p, 0, 40), rest = rows_of(&p, 40, 20);
        f[i] = open_run(fab_net_model(net), &s, NULL, &(fab_exec){.threads = 1 + 2 * i});
        assert_ok(fab_fit_update(f[i], &first));
        assert_ok(fab_fit_update(f[i], &rest));
    }
    assert_same(result_of(f[0]), result_of(f[1]));
    fab_fit_free(f[0]);
    fab_fit_free(f[1]);
    fab_net_free(net);
}

/* ---- runs that go wrong ------------------------------------------------------------------------------- */

/* The slopes at the mean, or only those at the draws, when the mean has moved. */
static void a_block_that_is_no_number_is_left_out(void **state)
{
    const problem p = some_problem(20, 1, 14);
    const fab_examples first = rows_of(&p, 0, 10), bad = rows_of(&p, 10, 5),
                       good = rows_of(&p, 15, 5);
    fab_lrvga_settings s = whole(2);
    fab_gauss *prior, *kept;
    (void)state;
    s.draws = 2;
    s.scheme = FAB_EXPLICIT;
    assert_ok(fab_gauss_create(&prior, FAB_FORM_PRECISION, FAB_F64, 2, 0));
    prior->mu[0] = prior->mu[1] = 0.5;
    for (int64_t fine = 0; fine < 2; fine++) {
        fab_fit *f = open_run(&off, &s, prior, NULL);
        assert_ok(fab_fit_update(f, &first));
        assert_ok(fab_gauss_copy(&kept, result_of(f), FAB_F64));
        calls_left = fine;
        assert_refused(fab_fit_update(f, &bad), FAB_NUMERIC, "row 10");
        assert_non_null(strstr(fab_detail(), "alpha"));
        calls_left = INT64_MAX;
        assert_same(result_of(f), kept);
        assert_ok(fab_fit_update(f, &good));
        assert_true(result_of(f)->mu[0] != kept->mu[0]);
        fab_gauss_free(kept);
        fab_fit_free(f);
    }
    fab_gauss_free(prior);
}

static void training_that_explodes_names_its_step_and_its_rate(void **state)
{
    const problem p = some_problem(20, FEATURES, 16);
    const fab_examples e = rows_of(&p, 0, 20);
    fab_net *net = net_of("mlp:4", FEATURES, 1, FAB_NOISE_FIXED);
    fab_lrvga_settings s = narrow(FAB_LRVGA_MAP);
    (void)state;
    s.train.rate = 1e200;
    fab_fit *f = open_run(fab_net_model(net), &s, NULL, NULL);
    assert_refused(fab_fit_update(f, &e), FAB_NUMERIC, "rate");
    assert_non_null(strstr(fab_detail(), "step"));
    fab_fit_free(f);
    fab_net_free(net);
}

static void odd_tables_are_fitted(void **state)
{
    problem p = some_problem(30, FEATURES, 15);
    (void)state;
    for (int start = FAB_LRVGA_MAP; start <= FAB_LRVGA_MODEL; start++)
        for (int64_t rows = 1; rows <= 30; rows += 29) {
            fab_net *net = net_of("mlp:4", FEATURES, 1, FAB_NOISE_LEARNED);
            fab_lrvga_settings s = narrow(start);
            const fab_examples e = rows_of(&p, 0, rows);
            for (int64_t j = 0; j < 30; j++) p.y[j] = 0; /* nothing to explain */
            s.K = 1000;                                  /* more than there are weights */
            s.inner_rank = FAB_AUTO_I64;
            fab_fit *f = open_run(fab_net_model(net), &s, NULL, NULL);
            assert_ok(fab_fit_update(f, &e));
            assert_int_equal(result_of(f)->K, D);
            fab_fit_free(f);
            fab_net_free(net);
        }
}

static void what_cannot_be_done_is_refused(void **state)
{
    const fab_lrvga_settings s = whole(2);
    fab_model bare = off;
    fab_fit *f;
    (void)state;
    bare.jacobian = NULL;
    assert_refused(fab_fit_create(&f, "lrvga", &s, sizeof s, &(fab_input){.model = &bare}, NULL),
                   FAB_BAD_ARGUMENT, "Jacobian");
    fab_net *net = net_of("mlp:4", FEATURES, 1, FAB_NOISE_OUTPUT);
    assert_refused(
        fab_fit_create(&f, "lrvga", &s, sizeof s, &(fab_input){.model = fab_net_model(net)}, NULL),
        FAB_UNSUPPORTED, "noise");
    fab_net_free(net);
}

static fab_net *kept_net;

/* A table, some rows of a stream, and a result with a block that is not full. */
static fab_status fit_and_close(void)
{
    static double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {1, 0, 1, 0, 1, 0, 1, 0};
    const fab_examples e = {.x = {.p = x, .type = FAB_F64, .n = 8, .ld = 1}, .y = y};
    const fab_lrvga_settings s = narrow(FAB_LRVGA_MAP);
    return fit_and_free("lrvga", &s, fab_net_model(kept_net), &e, 2);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    kept_net = net_of("mlp:4", 1, 1, FAB_NOISE_LEARNED);
    assert_true(fail_every_allocation(fit_and_close) >= 4);
    fab_net_free(kept_net);
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_dense_recursion_is_reproduced_at_full_rank),
        TEST(a_linear_network_gives_what_the_linear_model_gives),
        TEST(rows_of_training_count_once),
        TEST(draws_see_what_a_unit_that_is_off_could_do),
        TEST(drawn_classes_have_the_curvature_of_all),
        TEST(pieces_equal_the_whole),
        TEST(slopes_by_several_calls_are_those_of_one),
        FILES(a_saved_stream_goes_on_to_the_same_bytes),
        TEST(any_number_of_threads_gives_the_same_bytes),
        TEST(a_block_that_is_no_number_is_left_out),
        TEST(training_that_explodes_names_its_step_and_its_rate),
        TEST(odd_tables_are_fitted),
        TEST(what_cannot_be_done_is_refused),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
