/* test_slang.c - natural gradients at rank K: the dense recursion, fixed points, stops, failures.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/net.h"
#include "fabayes/methods.h"
#include "linear_case.h"
#include "plain.h"

enum { D = 29, N = 60 };

/* ---- the same recursion with a dense matrix -------------------------------------------------------------- */

/* Watches a linear network: every loss it is asked for is one draw of a step. */
static struct shadow {
    const fab_model *inner;
    const fab_slang_settings *s;
    int64_t draws, steps;        /* draws seen of this step; steps done */
    int64_t nan_at;              /* this step answers NaN; 0: none */
    double chi2;                 /* sum over the draws of (theta - mu)' S (theta - mu) */
    double mu[D], mean[D], g[D]; /* mean: of the gradients; g: of this step */
    double S[D * D], G[D * D];   /* precision; sum of g_i g_i' in this step */
} now;

static void shadow_step(double M)
{
    const fab_slang_settings *s = now.s;
    const double t = (double)++now.steps, fall = pow(t, -s->vogn.decay),
                 eta = fall * s->vogn.rate_precision, scale = N / (M * (double)s->vogn.draws);
    double inverse[D * D], v[D];
    for (int64_t i = 0; i < D * D; i++)
        now.S[i] = (1 - eta) * now.S[i] +
                   eta * (scale * now.G[i] + (i % (D + 1) ? 0 : s->vogn.train.alpha));
    for (int64_t i = 0; i < D; i++) {
        now.mean[i] = s->vogn.momentum * now.mean[i] + (1 - s->vogn.momentum) * scale * now.g[i];
        v[i] = now.mean[i] / (1 - pow(s->vogn.momentum, t)) + s->vogn.train.alpha * now.mu[i];
    }
    plain_inverse(D, now.S, inverse);
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j < D; j++)
            now.mu[i] -= fall * s->vogn.train.rate * inverse[i * D + j] * v[j];
    memset(now.g, 0, sizeof now.g);
    memset(now.G, 0, sizeof now.G);
    now.draws = 0;
}

static fab_status shadow_loss(void *self, const double *theta, const fab_examples *e, double *loss,
                              double *gradient)
{
    const double beta = now.inner->head.beta;
    for (int64_t i = 0; i < D * D; i++)
        now.chi2 += (theta[i / D] - now.mu[i / D]) * now.S[i] * (theta[i % D] - now.mu[i % D]);
    for (int64_t j = 0; j < e->x.n; j++) {
        double x[D], r = e->y[j];
        memcpy(x, (const double *)e->x.p + j * e->x.ld, (D - 1) * sizeof *x);
        x[D - 1] = 1;
        for (int64_t i = 0; i < D; i++) r -= x[i] * theta[i];
        for (int64_t i = 0; i < D; i++) now.g[i] -= beta * r * x[i];
        for (int64_t i = 0; i < D * D; i++) now.G[i] += beta * beta * r * r * x[i / D] * x[i % D];
    }
    assert_ok(now.inner->loss(self, theta, e, loss, gradient));
    if (++now.draws == now.s->vogn.draws) shadow_step((double)e->x.n);
    if (now.steps == now.nan_at && now.nan_at) *loss = NAN;
    return FAB_OK;
}

static fab_net *linear_net(int64_t features)
{
    const fab_net_plan p = {
        .layers = "linear", .features = features, .classes = 1, .beta = 2.385, .batch = 64};
    fab_net *net;
    assert_ok(fab_net_create(&net, &p, NULL));
    return net;
}

/* The network with a shadow beside it. */
static fab_model shadowed(const fab_net *net, const fab_slang_settings *s)
{
    fab_model m = *fab_net_model(net);
    now = (struct shadow){.inner = fab_net_model(net), .s = s};
    m.start(m.self, (uint64_t)s->vogn.train.seed, now.mu);
    for (int64_t i = 0; i < D; i++) now.S[i * (D + 1)] = s->vogn.start;
    m.loss = shadow_loss;
    return m;
}

static fab_slang_settings quick(void)
{
    fab_slang_settings s = fab_slang_defaults();
    s.vogn.train.alpha = 0.7;
    s.vogn.train.epochs = 40;
    s.vogn.train.batch = 16; /* and one of 12 */
    s.vogn.train.rate = 0.2;
    s.vogn.rate_precision = 0.1;
    s.vogn.start = 50;
    s.K = 3;
    return s;
}

static fab_fit *open_run(const char *method, const fab_model *m, const void *s,
                         const fab_examples *e, const fab_exec *x)
{
    fab_fit *f;
    assert_ok(fab_fit_create(&f, method, s, settings_size(method, m), &(fab_input){.model = m}, x));
    assert_ok(fab_fit_update(f, e));
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

/* Entry (a, b) of U U' + psi. */
static double precision_at(const fab_gauss *q, int64_t a, int64_t b)
{
    const double *F = q->F;
    double sum = a == b ? q->psi[a] : 0;
    for (int64_t k = 0; k < q->K; k++) sum += F[a * q->K + k] * F[b * q->K + k];
    return sum;
}

static void the_dense_recursion_is_reproduced_at_full_rank(void **state)
{
    (void)state;
    const problem p = some_problem(N, D - 1, 5);
    const fab_examples e = examples_of(&p);
    for (int k = 0; k < 3; k++) {
        fab_net *net = linear_net(D - 1);
        fab_slang_settings s = quick();
        s.K = D;
        s.vogn.draws = k == 1 ? 3 : 1;
        s.vogn.decay = k == 2 ? 0 : 0.51;
        s.vogn.momentum = k == 2 ? 0 : 0.9;
        fab_model m = shadowed(net, &s);
        if (k == 0) m.rows = NULL; /* by products alone */
        fab_fit *f = open_run("slang", &m, &s, &e, NULL);
        const fab_gauss *q = result_of(f);
        const double T = (double)(now.steps * s.vogn.draws);
        assert_int_equal(now.steps, 40 * 4);
        for (int64_t i = 0; i < D; i++) /* rounding, carried on by the following steps */
            assert_true(fabs(q->mu[i] - now.mu[i]) < 1e-9 * (1 + fabs(now.mu[i])));
        for (int64_t i = 0; i < D * D; i++)
            assert_true(fabs(precision_at(q, i / D, i % D) - now.S[i]) < 1e-9 * now.S[0]);
        assert_true(fabs(now.chi2 / T - D) < 5 * sqrt(2 * D / T)); /* 5 sigma: the draws are of q */
        fab_fit_free(f);
        fab_net_free(net);
    }
}

static void the_diagonal_is_exact_at_any_rank(void **state)
{
    (void)state;
    const problem p = some_problem(N, D - 1, 5);
    const fab_examples e = examples_of(&p);
    for (int64_t K = 0; K < 6; K += 2) {
        fab_net *net = linear_net(D - 1);
        fab_slang_settings s = quick();
        s.vogn.train.epochs = 5;
        s.K = K;
        const fab_model m = shadowed(net, &s);
        fab_fit *f = K ? open_run("slang", &m, &s, &e, NULL)
                       : open_run("vogn", &m, &s.vogn, &e, NULL);
        const fab_gauss *q = result_of(f);
        assert_int_equal(q->K, K);
        for (int64_t i = 0; i < D; i++) {
            const double S = now.S[i * (D + 1)];
            assert_true(fabs(precision_at(q, i, i) - S) < 1e-12 * S);
        }
        fab_fit_free(f);
        fab_net_free(net);
    }
}

/* After one step from U = 0: U U' is the best of rank K of eta N / M sum g_i g_i'. */
static void the_cut_keeps_the_leading_eigenvectors(void **state)
{
    (void)state;
    const problem p = some_problem(16, D - 1, 5);
    const fab_examples e = examples_of(&p);
    fab_net *net = linear_net(D - 1);
    fab_slang_settings s = quick();
    s.vogn.train.epochs = 1;
    const fab_model m = shadowed(net, &s);
    fab_fit *f = open_run("slang", &m, &s, &e, NULL);
    const fab_gauss *q = result_of(f);
    const double *F = q->F;
    double A[D * D], x[D], y[D], least = INFINITY, size = 0;
    const double kept = (1 - s.vogn.rate_precision) * s.vogn.start +
                        s.vogn.rate_precision * s.vogn.train.alpha,
                 shrunk = N / 16.; /* the shadow counts N rows, the run 16 */
    for (int64_t i = 0; i < D * D; i++) A[i] = (now.S[i] - (i % (D + 1) ? 0 : kept)) / shrunk;
    for (int64_t k = 0; k < 3; k++) {
        double lambda = 0;
        for (int64_t i = 0; i < D; i++) lambda += F[i * 3 + k] * F[i * 3 + k];
        for (int64_t i = 0; i < D; i++) {
            double sum = 0;
            for (int64_t j = 0; j < D; j++) sum += A[i * D + j] * F[j * 3 + k];
            assert_true(fabs(sum - lambda * F[i * 3 + k]) < 1e-10 * lambda * sqrt(lambda));
        }
        least = fmin(least, lambda);
    }
    for (int64_t i = 0; i < D * D; i++)
        for (int64_t k = 0; k < 3; k++) A[i] -= F[i / D * 3 + k] * F[i % D * 3 + k];
    for (int64_t i = 0; i < D; i++) x[i] = noise(8, i);
    for (int t = 0; t < 300; t++) { /* power iteration: what is left is below what was kept */
        size = 0;
        plain_mm(0, 0, D, 1, D, A, x, y);
        for (int64_t i = 0; i < D; i++) size += y[i] * y[i];
        size = sqrt(size);
        for (int64_t i = 0; i < D; i++) x[i] = y[i] / size;
    }
    assert_true(size < least && size > 0);
    fab_fit_free(f);
    fab_net_free(net);
}

/* Without its products the network hands out rows: the same numbers but for rounding. */
static void rows_and_products_agree(void **state)
{
    (void)state;
    const problem p = some_problem(N, 3, 4);
    const fab_examples e = examples_of(&p);
    const fab_net_plan plan = {.layers = "mlp:5:tanh", .features = 3, .classes = 1, .beta = 2};
    fab_net *net;
    assert_ok(fab_net_create(&net, &plan, NULL));
    fab_model rows = *fab_net_model(net);
    rows.gram = NULL;
    fab_slang_settings s = quick();
    s.vogn.train.epochs = 5;
    fab_fit *f = open_run("slang", fab_net_model(net), &s, &e, NULL),
            *g = open_run("slang", &rows, &s, &e, NULL);
    const fab_gauss *a = result_of(f), *b = result_of(g);
    for (int64_t i = 0; i < a->D; i++) {
        assert_true(fabs(a->mu[i] - b->mu[i]) < 1e-8);
        for (int64_t j = 0; j < a->D; j++)
            assert_true(fabs(precision_at(a, i, j) - precision_at(b, i, j)) < 1e-6);
    }
    fab_fit_free(f);
    fab_fit_free(g);
    fab_net_free(net);
}

/* ---- fixed points ---------------------------------------------------------------------------------------- */

/* The mean of a linear model is the exact one; the precision solves its own equation,
 * S = alpha + beta^2 sum (r_i^2 + x_i' S^-1 x_i) x_i x_i', r_i the residuals at the mean. */
static void a_linear_model_ends_at_the_exact_mean(void **state)
{
    (void)state;
    enum { F = 4, P = F + 1 };
    problem p = some_problem(N, F, 6);
    fab_gauss *prior;
    assert_ok(fab_gauss_create(&prior, FAB_FORM_PRECISION, FAB_F64, P, 0));
    for (int i = 0; i < P; i++) prior->psi[i] = 0.7 + i, prior->mu[i] = 0.3 * i;
    p.prior = prior;
    const truth t = solve(&p);
    const fab_examples e = examples_of(&p);
    fab_net *net = linear_net(F);
    fab_slang_settings s = quick();
    fab_fit *f;
    s.vogn.train.batch = N;
    s.K = P;
    s.vogn.draws = 4;
    s.vogn.train.epochs = 4000;
    s.vogn.train.rate = s.vogn.rate_precision = 0.5;
    s.vogn.decay = 0.7;
    assert_ok(fab_fit_create(&f, "slang", &s, sizeof s,
                             &(fab_input){.model = fab_net_model(net), .prior = prior}, NULL));
    assert_ok(fab_fit_update(f, &e));
    const fab_gauss *q = result_of(f);
    /* the noise of the draws, averaged over the last 1 / eta steps: 5 sigma */
    const double eta = s.vogn.train.rate * pow((double)s.vogn.train.epochs, -s.vogn.decay),
                 tol = 5 * sqrt(eta / (2 * (double)s.vogn.draws));
    for (int i = 0; i < P; i++) {
        const double sd = sqrt((double)t.cov[i * P + i]);
        assert_true(fabs(q->mu[i] - (double)t.mean[i]) < tol * sd);
    }
    double S[P * P], V[P * P], next[P * P];
    for (int i = 0; i < P * P; i++) S[i] = precision_at(q, i / P, i % P);
    plain_inverse(P, S, V);
    for (int i = 0; i < P * P; i++) next[i] = i % (P + 1) ? 0 : prior->psi[i / P];
    for (int j = 0; j < N; j++) {
        double x[P], r = p.y[j], v = 0;
        for (int i = 0; i < P; i++) x[i] = i < F ? p.x[j * F + i] : 1;
        for (int i = 0; i < P; i++) r -= x[i] * (double)t.mean[i];
        for (int i = 0; i < P * P; i++) v += x[i / P] * V[i] * x[i % P];
        for (int i = 0; i < P * P; i++)
            next[i] += p.beta * p.beta * (r * r + v) * x[i / P] * x[i % P];
    }
    for (int i = 0; i < P * P; i++)
        assert_true(fabs(S[i] - next[i]) < tol * sqrt(S[i / P * (P + 1)] * S[i % P * (P + 1)]));
    fab_fit_free(f);
    fab_gauss_free(prior);
    fab_net_free(net);
}

/* ---- stops, threads, failures ----------------------------------------------------------------------------- */

static int stop_at(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)total;
    assert_non_null(strstr(what, ": loss "));
    return done == *(const int64_t *)ctx;
}

static void assert_same(const fab_gauss *a, const fab_gauss *b)
{
    const size_t size = a->type == FAB_F32 ? sizeof(float) : sizeof(double);
    assert_memory_equal(a->mu, b->mu, (size_t)a->D * sizeof(double));
    assert_memory_equal(a->psi, b->psi, (size_t)a->D * sizeof(double));
    if (a->K) assert_memory_equal(a->F, b->F, (size_t)(a->D * a->K) * size);
}

static void stop_and_go_on(const char *method, const void *s, const fab_exec *x)
{
    const problem p = some_problem(N, 3, 4);
    const fab_examples e = examples_of(&p);
    const fab_net_plan plan = {.layers = "dense:9,relu,dropout:0.2",
                               .features = 3,
                               .classes = 1,
                               .beta = 1,
                               .noise = FAB_NOISE_LEARNED};
    const int64_t stop = 7;
    const fab_gauss *same;
    fab_tensors *file;
    fab_fit *again;
    fab_net *net;
    assert_ok(fab_net_create(&net, &plan, x));
    const fab_model *m = fab_net_model(net);
    fab_fit *whole = open_run(method, m, s, &e, x), *half = open_run(method, m, s, &e, x);
    const fab_gauss *q = result_of(whole);
    fab_set_progress(stop_at, (void *)(uintptr_t)&stop);
    assert_int_equal(fab_fit_gauss(half, &same), FAB_STOPPED);
    fab_set_progress(NULL, NULL);
    assert_ok(fab_fit_checkpoint(half, in_folder("half.safetensors"), NULL));
    assert_ok(fab_tensors_read(&file, in_folder("half.safetensors")));
    assert_ok(fab_fit_load(&again, file, &(fab_input){.model = m}, x));
    assert_ok(fab_fit_update(again, &e));
    assert_same(result_of(again), q);
    assert_same(result_of(half), q);
    fab_tensors_free(file);
    fab_fit_free(whole);
    fab_fit_free(half);
    fab_fit_free(again);
    fab_net_free(net);
}

static void a_stopped_run_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    const fab_exec single = {.ops = fab_ops_find("cpu", FAB_F32)};
    for (int k = 0; k < 4; k++) {
        fab_slang_settings s = quick();
        s.vogn.train.epochs = 12;
        s.vogn.train.rate = 0.05;
        s.vogn.draws = k & 1 ? 2 : 1;
        stop_and_go_on("slang", &s, k & 2 ? &single : NULL);
        stop_and_go_on("vogn", &s.vogn, NULL);
    }
}

/* The steps of a state are epochs of the rows it was made with. */
static void a_state_goes_on_with_as_many_rows_only(void **state)
{
    (void)state;
    const problem p = some_problem(N, D - 1, 4);
    const fab_examples e = examples_of(&p);
    const int64_t stop = 7, counts[] = {N / 4, N};
    fab_net *net = linear_net(D - 1);
    const fab_model *m = fab_net_model(net);
    fab_slang_settings s = quick();
    s.vogn.train.epochs = 12;
    s.vogn.train.batch = 5;
    for (int i = 0; i < 2; i++) {
        fab_examples some = e;
        const fab_gauss *q;
        fab_tensors *file;
        fab_fit *again;
        some.x.n = counts[i];
        fab_fit *f = open_run("slang", m, &s, &some, NULL);
        fab_set_progress(stop_at, (void *)(uintptr_t)&stop);
        assert_int_equal(fab_fit_gauss(f, &q), FAB_STOPPED);
        fab_set_progress(NULL, NULL);
        assert_ok(fab_fit_checkpoint(f, in_folder("half.safetensors"), NULL));
        assert_ok(fab_tensors_read(&file, in_folder("half.safetensors")));
        assert_ok(fab_fit_load(&again, file, &(fab_input){.model = m}, NULL));
        some.x.n = counts[1 - i];
        assert_ok(fab_fit_update(again, &some));
        assert_refused(fab_fit_gauss(again, &q), FAB_BAD_ARGUMENT, "made with other rows");
        fab_tensors_free(file);
        fab_fit_free(again);
        fab_fit_free(f);
    }
    fab_net_free(net);
}

static void the_bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    const problem p = some_problem(40, 300, 4);
    const fab_examples e = examples_of(&p);
    const fab_net_plan plan = {.layers = "mlp:300", .features = 300, .classes = 1, .beta = 1};
    const fab_gauss *q[2];
    fab_fit *f[2];
    fab_net *net[2];
    for (int k = 0; k < 2; k++) {
        const fab_exec x = {.threads = k ? 3 : 1};
        fab_slang_settings s = quick();
        s.vogn.train.epochs = 2;
        assert_ok(fab_net_create(&net[k], &plan, &x));
        f[k] = open_run("slang", fab_net_model(net[k]), &s, &e, &x);
        q[k] = result_of(f[k]);
    }
    assert_same(q[0], q[1]);
    for (int k = 0; k < 2; k++) {
        fab_fit_free(f[k]);
        fab_net_free(net[k]);
    }
}

static void a_run_that_explodes_names_the_step_and_the_setting(void **state)
{
    (void)state;
    const problem p = some_problem(N, D - 1, 5);
    const fab_examples e = examples_of(&p);
    fab_net *net = linear_net(D - 1);
    const fab_gauss *q;
    for (int k = 0; k < 2; k++) {
        fab_slang_settings s = quick();
        s.vogn.train.rate = k ? s.vogn.train.rate : 1e200;
        const fab_model m = shadowed(net, &s);
        now.nan_at = k ? 37 : 0;
        fab_fit *f = open_run("slang", &m, &s, &e, NULL);
        assert_refused(fab_fit_gauss(f, &q), FAB_NUMERIC, "lower rate (now ");
        assert_non_null(strstr(fab_detail(), k ? "step 37 (epoch 10)" : "at step "));
        assert_ok(fab_fit_checkpoint(f, in_folder("q.safetensors"), NULL));
        fab_fit_free(f);
    }
    fab_net_free(net);
}

static fab_status no_examples(void *self, const double *theta, const fab_examples *e, double *loss,
                              double *gradient)
{
    (void)self, (void)theta, (void)e;
    *loss = gradient[0] = gradient[1] = 0;
    return FAB_OK;
}

static void models_and_settings_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const fab_method *slang = fab_method_find("slang");
    const fab_model two = {.D = 2, .head = {.D = 1, .classes = 1, .beta = 1}, .loss = no_examples};
    fab_slang_settings s = quick();
    fab_net *net = linear_net(3);
    fab_gauss *prior = some_gauss(FAB_FORM_PRECISION, FAB_F64, 4, 1, 1, 1);
    fab_fit *f;
    assert_refused(
        fab_fit_create(&f, fab_method_name(slang), &s, sizeof s, &(fab_input){.model = &two}, NULL),
        FAB_BAD_ARGUMENT, "gradients of single examples");
    s.K = 5;
    assert_refused(fab_fit_create(&f, fab_method_name(slang), &s, sizeof s,
                                  &(fab_input){.model = fab_net_model(net)}, NULL),
                   FAB_BAD_ARGUMENT, "K = 5 columns for D = 4");
    s.K = 2, s.vogn.train.batch = 65;
    assert_refused(fab_fit_create(&f, fab_method_name(slang), &s, sizeof s,
                                  &(fab_input){.model = fab_net_model(net)}, NULL),
                   FAB_BAD_ARGUMENT, "batch = 65");
    s.vogn.train.batch = 8;
    assert_refused(fab_fit_create(&f, fab_method_name(slang), &s, sizeof s,
                                  &(fab_input){.model = fab_net_model(net), .prior = prior}, NULL),
                   FAB_UNSUPPORTED, "diagonal prior");
    fab_gauss_free(prior);
    fab_net_free(net);
}

static fab_net *kept_net;

static fab_status fit_and_close(void)
{
    static double x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {1, 0, 1, 0, 1, 0};
    const fab_examples e = {.x = {.p = x, .type = FAB_F64, .n = 6, .ld = 1}, .y = y};
    fab_slang_settings s = quick();
    s.K = 1;
    s.vogn.train.epochs = 2;
    return fit_and_free("slang", &s, fab_net_model(kept_net), &e, 1);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    kept_net = linear_net(1);
    assert_true(fail_every_allocation(fit_and_close) >= 4);
    fab_net_free(kept_net);
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_dense_recursion_is_reproduced_at_full_rank),
        TEST(the_diagonal_is_exact_at_any_rank),
        TEST(the_cut_keeps_the_leading_eigenvectors),
        TEST(rows_and_products_agree),
        TEST(a_linear_model_ends_at_the_exact_mean),
        FILES(a_stopped_run_goes_on_to_the_same_bytes),
        FILES(a_state_goes_on_with_as_many_rows_only),
        TEST(the_bits_do_not_depend_on_threads),
        FILES(a_run_that_explodes_names_the_step_and_the_setting),
        TEST(models_and_settings_that_do_not_fit_are_refused),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
