/* test_swag.c - averages of a training run: the moments of its iterates, stops, failures.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/fit.h"
#include "fabayes/net.h"
#include "fabayes/methods.h"
#include "linear_case.h"

enum { D = 29, N = 60, STEPS = 4000 };

/* ---- a model that writes down where it is asked ---------------------------------------------------------- */

typedef struct recorder {
    const fab_model *inner;
    int64_t calls;
    int64_t nan_at; /* this call answers NaN; 0: none */
    double *theta;  /* STEPS x D */
    double last[D]; /* the gradient of the last call */
} recorder;

static fab_status recorded_loss(void *self, const double *theta, const fab_examples *e,
                                double *loss, double *gradient)
{
    recorder *r = self;
    assert_true(r->calls < STEPS);
    memcpy(r->theta + r->calls++ * D, theta, D * sizeof *theta);
    assert_ok(r->inner->loss(r->inner->self, theta, e, loss, gradient));
    memcpy(r->last, gradient, D * sizeof *gradient);
    if (r->calls == r->nan_at) *loss = NAN;
    return FAB_OK;
}

static fab_status inner_hold(void *self, double beta)
{
    const fab_model *inner = ((recorder *)self)->inner;
    return inner->fix_beta(inner->self, beta);
}

static fab_net *linear_net(int64_t features)
{
    const fab_net_plan p = {
        .layers = "linear", .features = features, .classes = 1, .beta = 2.385, .batch = 64};
    fab_net *net;
    assert_ok(fab_net_create(&net, &p, NULL));
    return net;
}

static fab_model recorded(recorder *r, const fab_net *net)
{
    *r = (recorder){.inner = fab_net_model(net), .theta = doubles((int64_t)STEPS * D)};
    fab_model m = {.D = D,
                   .head = r->inner->head,
                   .outputs = r->inner->outputs,
                   .batch = r->inner->batch,
                   .self = r,
                   .loss = recorded_loss,
                   .fix_beta = inner_hold};
    return m;
}

static fab_swag_settings quick(void)
{
    fab_swag_settings s = fab_swag_defaults();
    s.swa.train.epochs = 10;
    s.swa.train.batch = 20;
    s.swa.train.rate = 0.01;
    s.swa.average = 40;
    s.swa.train.optimiser = FAB_OPTIMISER_SGD;
    s.swa.swag_rate = 0.01;
    s.swa.every = 2;
    s.K = 5;
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

/* Where the run stood after each step of the averaged epochs: n x D. */
static double *iterates(const recorder *r, const fab_swag_settings *s, int64_t *n)
{
    const int64_t first = s->swa.train.epochs * (N / s->swa.train.batch);
    *n = r->calls - first;
    double *x = doubles(*n * D);
    memcpy(x, r->theta + (first + 1) * D, (size_t)((*n - 1) * D) * sizeof *x);
    const double *theta = r->theta + (r->calls - 1) * D;
    for (int64_t i = 0; i < D; i++)
        x[(*n - 1) * D + i] = theta[i] -
                              s->swa.swag_rate * (r->last[i] + s->swa.train.alpha * theta[i] / N);
    return x;
}

/* What is kept of them: every one of `every`, or the mean of these. */
static real *kept(const double *x, const fab_swag_settings *s, int64_t *n)
{
    const int64_t count = *n / s->swa.every;
    real *out = dense_new(count * D);
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < D; i++) {
            for (int64_t t = 0; t < s->swa.every && s->swa.window; t++)
                out[j * D + i] += (real)x[(j * s->swa.every + t) * D + i] / s->swa.every;
            if (!s->swa.window) out[j * D + i] = x[((j + 1) * s->swa.every - 1) * D + i];
        }
    *n = count;
    return out;
}

/* ---- the moments ---------------------------------------------------------------------------------------- */

static real mean_of(const real *x, int64_t n, int64_t i)
{
    real sum = 0;
    for (int64_t j = 0; j < n; j++) sum += x[j * D + i];
    return sum / n;
}

static real variance_of(const real *x, int64_t n, int64_t i)
{
    const real mean = mean_of(x, n, i);
    real sum = 0;
    for (int64_t j = 0; j < n; j++) sum += (x[j * D + i] - mean) * (x[j * D + i] - mean);
    return sum / n;
}

static void assert_moments(const fab_gauss *q, const fab_swag_settings *s, const real *x, int64_t n)
{
    const double tol = 8 * ROUND_F64 * (double)n, k = fmin((double)n - 1, (double)s->K);
    for (int64_t i = 0; i < D; i++) {
        const real mean = mean_of(x, n, i), var = s->scale * variance_of(x, n, i);
        const double size = fabs((double)mean) + sqrt((double)var);
        assert_true(fabs((double)(q->mu[i] - mean)) < tol * size);
        const double psi = (double)(s->K ? var / 2 : var);
        assert_true(fabs(q->psi[i] - psi) <
                    tol * (psi + ROUND_F64 * size * size + sqrt(psi) * size));
        for (int64_t j = n > s->K ? n - s->K : 1; j < n; j++) {
            const real d = (x[j * D + i] - mean_of(x, j, i)) * r_sqrt(s->scale / (2 * (k - 1)));
            const double F = ((const double *)q->F)[i * s->K + (j - 1) % s->K];
            assert_true(fabs((double)(F - d)) < tol * size);
        }
    }
}

static void the_moments_are_those_of_the_iterates(void **state)
{
    (void)state;
    const problem p = some_problem(N, D - 1, 5);
    const fab_examples e = examples_of(&p);
    for (int k = 0; k < 4; k++) {
        fab_net *net = linear_net(D - 1);
        recorder r;
        const fab_model m = recorded(&r, net);
        fab_swag_settings s = quick();
        const fab_gauss *q;
        int64_t n;
        s.swa.window = k == 1;
        s.K = k == 2 ? 0 : k == 3 ? 1 + 28 : 5; /* the diagonal alone; more columns than iterates */
        s.scale = k == 2 ? 1.7 : 1;
        s.swa.average = k == 3 ? 8 : 40;
        fab_fit *f = open_run("swag", &m, &s, &e, NULL);
        assert_ok(fab_fit_gauss(f, &q));
        assert_ok(fab_gauss_check(q));
        assert_int_equal(r.calls, (s.swa.train.epochs + s.swa.average) * 3);
        const double *x = iterates(&r, &s, &n);
        const real *all = kept(x, &s, &n);
        assert_moments(q, &s, all, n);
        fab_fit_free(f);
        fab_net_free(net);
    }
}

static void swa_is_the_mean_of_swag_and_a_point(void **state)
{
    (void)state;
    const problem p = some_problem(N, D - 1, 5);
    const fab_examples e = examples_of(&p);
    fab_net *net = linear_net(D - 1);
    const fab_swag_settings s = quick();
    fab_swa_settings point;
    const fab_gauss *q, *mean;
    memcpy(&point, &s, sizeof point);
    fab_fit *f = open_run("swag", fab_net_model(net), &s, &e, NULL),
            *g = open_run("swa", fab_net_model(net), &point, &e, NULL);
    assert_ok(fab_fit_gauss(f, &q));
    assert_ok(fab_fit_gauss(g, &mean));
    assert_int_equal(mean->form, FAB_FORM_POINT);
    assert_memory_equal(q->mu, mean->mu, D * sizeof(double));
    fab_fit_free(f);
    fab_fit_free(g);
    fab_net_free(net);
}

/* Distance of a covariance from that of the iterates, relative. */
static double distance(const fab_gauss *q, const real *x, int64_t n)
{
    real *S = dense_new(D * D), *mean = dense_new(D);
    for (int64_t i = 0; i < D; i++) mean[i] = mean_of(x, n, i);
    for (int64_t j = 0; j < n; j++)
        for (int64_t a = 0; a < D * D; a++)
            S[a] += (x[j * D + a / D] - mean[a / D]) * (x[j * D + a % D] - mean[a % D]) / n;
    return (double)(dense_norm(D * D, dense_minus(D * D, dense_covariance(q), S)) /
                    dense_norm(D * D, S));
}

static void factors_of_all_iterates_are_nearer_than_the_last_columns(void **state)
{
    (void)state;
    const problem p = some_problem(N, D - 1, 5);
    const fab_examples e = examples_of(&p);
    double error[2];
    for (int k = 0; k < 2; k++) {
        fab_net *net = linear_net(D - 1);
        recorder r;
        const fab_model m = recorded(&r, net);
        fab_swag_settings s = quick();
        const fab_gauss *q;
        int64_t n;
        s.swa.average = 600;
        s.columns = k ? FAB_SWAG_BY_RECURSIVE_EM : FAB_SWAG_LAST;
        fab_fit *f = open_run("swag", &m, &s, &e, NULL);
        assert_ok(fab_fit_gauss(f, &q));
        const double *x = iterates(&r, &s, &n);
        const real *all = kept(x, &s, &n);
        error[k] = distance(q, all, n);
        fab_fit_free(f);
        fab_net_free(net);
    }
    assert_true(error[FAB_SWAG_BY_RECURSIVE_EM] < 0.15);
    assert_true(error[FAB_SWAG_LAST] > 2 * error[FAB_SWAG_BY_RECURSIVE_EM]);
}

/* The settings swag gives to the method of `columns`, as its docs page says. */
static void hand_settings(const fab_method *m, const fab_swag_settings *s, int64_t *out)
{
    const struct {
        const char *name;
        int64_t value;
    } set[] = {{"K", s->K}, {"seed", s->swa.train.seed}, {"warmup", 2 * s->K}, {"start", 2}};
    const int count = strcmp(m->name, "recursive-em") == 0 ? 2 : 4; /* start: variance */
    fab_settings_defaults(m->fields, out);
    for (int i = 0; i < count; i++)
        memcpy((char *)out + fab_settings_find(m->fields, set[i].name)->offset, &set[i].value, 8);
    const fab_field *rank = fab_settings_find(m->fields, "inner_rank");
    const int64_t twice = 2 * s->K;
    if (rank) memcpy((char *)out + rank->offset, &twice, 8);
}

static void columns_by_a_method_are_its_fit_of_the_iterates(void **state)
{
    (void)state;
    const char *const names[] = {"recursive-em", "online-em", "stochastic-em", "online-sga"};
    const problem p = some_problem(N, D - 1, 5);
    const fab_examples e = examples_of(&p);
    for (int k = 0; k < 4; k++) {
        const fab_method *method = fab_method_find(names[k]);
        int64_t n, by_hand[32];
        const fab_gauss *q, *hand;
        fab_swag_settings s = quick();
        fab_net *net = linear_net(D - 1);
        fab_fit *est;
        recorder r;
        const fab_model m = recorded(&r, net);
        s.swa.every = 7; /* the last step is not kept: the model has seen every iterate */
        assert_ok(fab_settings_parse(fab_method_find("swag")->fields, &s, "columns", names[k]));
        fab_fit *f = open_run("swag", &m, &s, &e, NULL);
        assert_ok(fab_fit_gauss(f, &q));
        const double *x = iterates(&r, &s, &n);
        hand_settings(method, &s, by_hand);
        assert_ok(fab_fit_create(&est, fab_method_name(method), by_hand, method->fields->size,
                                 &(fab_input){.vectors = D}, NULL));
        for (int64_t j = 6; j < n - 1; j += 7) {
            const fab_rows row = {.p = x + j * D, .type = FAB_F64, .n = 1, .ld = D};
            assert_ok(fab_fit_update(est, &(fab_examples){.x = row}));
        }
        assert_int_equal(fab_fit_rows(est), 17);
        assert_ok(fab_fit_gauss(est, &hand));
        assert_memory_equal(q->psi, hand->psi, D * sizeof(double));
        assert_memory_equal(q->F, hand->F, (size_t)(D * s.K) * sizeof(double));
        fab_fit_free(est);
        fab_fit_free(f);
        fab_net_free(net);
    }
}

static void assert_same(const fab_gauss *a, const fab_gauss *b)
{
    const size_t size = a->type == FAB_F32 ? sizeof(float) : sizeof(double);
    assert_memory_equal(a->mu, b->mu, (size_t)a->D * sizeof(double));
    if (a->form == FAB_FORM_POINT) return;
    assert_memory_equal(a->psi, b->psi, (size_t)a->D * sizeof(double));
    assert_memory_equal(a->F, b->F, (size_t)(a->D * a->K) * size);
}

static void presets_are_swag_with_other_defaults(void **state)
{
    (void)state;
    const problem p = some_problem(N, D - 1, 5);
    const fab_examples e = examples_of(&p);
    for (int k = 0; k < 2; k++) {
        const fab_method *preset = fab_method_find(k ? "iterate-averaging" : "multiswag");
        fab_swag_settings s = fab_swag_defaults(), set;
        const fab_mixture *mix, *same;
        fab_net *net = linear_net(D - 1);
        fab_settings_defaults(preset->fields, &set);
        if (k == 0) s.swa.train.runs = 5;
        if (k == 1) s.swa.window = 1, s.columns = FAB_SWAG_BY_RECURSIVE_EM;
        assert_memory_equal(&s, &set, sizeof s);
        s.swa.train.epochs = set.swa.train.epochs = 3;
        s.swa.average = set.swa.average = 9;
        s.K = set.K = 4;
        fab_fit *f = open_run(preset->name, fab_net_model(net), &set, &e, NULL),
                *g = open_run("swag", fab_net_model(net), &s, &e, NULL);
        assert_ok(fab_fit_result(f, &mix));
        assert_ok(fab_fit_result(g, &same));
        assert_int_equal(mix->n, k ? 1 : 5);
        for (int64_t i = 0; i < mix->n; i++) assert_same(mix->part[i], same->part[i]);
        fab_fit_free(f);
        fab_fit_free(g);
        fab_net_free(net);
    }
}

/* A coordinate that never moves has no variance: its psi is the floor, and that is said. */
static fab_status one_moves(void *self, const double *theta, const fab_examples *e, double *loss,
                            double *gradient)
{
    (void)self;
    *loss = gradient[0] = gradient[1] = 0;
    for (int64_t i = 0; i < e->x.n; i++) {
        const double r = theta[0] - e->y[i];
        *loss += r * r / (2 * (double)e->x.n);
        gradient[0] += r / (double)e->x.n;
    }
    return FAB_OK;
}

static const fab_model two = {.D = 2, .head = {.D = 1, .classes = 1, .beta = 1}, .loss = one_moves};

static void a_coordinate_that_never_moves_is_counted(void **state)
{
    (void)state;
    double x[9], y[9];
    for (int i = 0; i < 9; i++) x[i] = y[i] = noise(3, i);
    const fab_examples e = {.x = {.p = x, .type = FAB_F64, .n = 9, .ld = 1}, .y = y};
    fab_swag_settings s = quick();
    const fab_gauss *q;
    fab_report r;
    s.K = FAB_AUTO_I64;
    s.swa.train.batch = 2;
    s.psi_min = 1e-20;
    fab_fit *f = open_run("swag", &two, &s, &e, NULL);
    assert_ok(fab_fit_gauss(f, &q));
    assert_ok(fab_fit_report(f, &r));
    assert_int_equal(q->K, 2);
    assert_int_equal(r.floored, 1);
    assert_int_equal(r.iterations, 50);
    assert_true(q->psi[0] > 1e-6 && q->psi[1] == 1e-20);
    fab_fit_free(f);
}

/* ---- stops, threads, failures ----------------------------------------------------------------------------- */

static int stop_at(void *ctx, const char *what, int64_t done, int64_t total)
{
    assert_non_null(strstr(what, ": loss "));
    assert_int_equal(total, 50);
    return done == *(const int64_t *)ctx;
}

static void stop_and_go_on(const char *method, const fab_swag_settings *s, int64_t stop,
                           const fab_exec *x)
{
    const problem p = some_problem(N, 3, 4);
    const fab_examples e = examples_of(&p);
    const fab_net_plan plan = {.layers = "dense:9,relu,dropout:0.2",
                               .features = 3,
                               .classes = 1,
                               .beta = 1,
                               .noise = FAB_NOISE_LEARNED};
    const fab_gauss *q, *same;
    fab_tensors *file;
    fab_fit *again;
    fab_net *net;
    assert_ok(fab_net_create(&net, &plan, NULL));
    const fab_model *m = fab_net_model(net);
    fab_fit *whole = open_run(method, m, s, &e, x), *half = open_run(method, m, s, &e, x);
    assert_ok(fab_fit_gauss(whole, &q));
    fab_set_progress(stop_at, (void *)(uintptr_t)&stop);
    assert_int_equal(fab_fit_gauss(half, &same), FAB_STOPPED);
    fab_set_progress(NULL, NULL);
    assert_ok(fab_fit_checkpoint(half, in_folder("half.safetensors"), NULL));
    assert_ok(fab_tensors_read(&file, in_folder("half.safetensors")));
    assert_ok(fab_fit_load(&again, file, &(fab_input){.model = m}, x));
    assert_ok(fab_fit_update(again, &e));
    assert_ok(fab_fit_gauss(again, &same));
    assert_same(same, q);
    assert_ok(fab_fit_gauss(half, &same));
    assert_same(same, q);
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
    for (int k = 0; k < 8; k++) {
        fab_swag_settings s = quick();
        s.swa.train.optimiser = k % 4;
        s.swa.train.rate = s.swa.swag_rate = 0.01;
        s.columns = k & 1 ? FAB_SWAG_BY_RECURSIVE_EM + k / 2 : FAB_SWAG_LAST;
        s.K = 2;
        s.swa.window = k & 2;
        s.swa.window /= 2;
        s.swa.every = 5; /* not a divisor of the steps of an epoch */
        s.swa.train.held_out = k & 4 ? 0.2 : 0;
        stop_and_go_on("swag", &s, k % 3 ? 7 : 23, k & 1 ? NULL : &single);
        stop_and_go_on("swa", &s, 23, NULL);
    }
}

static void the_bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    const problem p = some_problem(40, 300, 4);
    const fab_examples e = examples_of(&p);
    const fab_net_plan plan = {.layers = "mlp:500", .features = 300, .classes = 1, .beta = 1};
    const fab_gauss *q[2];
    fab_fit *f[2];
    fab_net *net[2];
    for (int k = 0; k < 2; k++) {
        const fab_exec x = {.threads = k ? 3 : 1};
        fab_swag_settings s = quick();
        s.swa.train.epochs = 1;
        s.swa.average = 4;
        assert_ok(fab_net_create(&net[k], &plan, &x));
        f[k] = open_run("swag", fab_net_model(net[k]), &s, &e, &x);
        assert_ok(fab_fit_gauss(f[k], &q[k]));
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
        recorder r;
        const fab_model m = recorded(&r, net);
        fab_swag_settings s = quick();
        if (k == 0) s.swa.swag_rate = 1e9;
        if (k == 1) r.nan_at = 37;
        fab_fit *f = open_run("swag", &m, &s, &e, NULL);
        assert_refused(fab_fit_gauss(f, &q), FAB_NUMERIC, "lower swag_rate (now ");
        assert_non_null(strstr(fab_detail(), k ? "step 37 (epoch 13)" : "at step "));
        assert_ok(fab_fit_checkpoint(f, in_folder("q.safetensors"), NULL));
        fab_fit_free(f);
    }
    fab_net_free(net);
}

static void settings_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    double x[4] = {1, 2, 3, 4}, y[4] = {0, 1, 0, 1};
    const fab_examples e = {.x = {.p = x, .type = FAB_F64, .n = 4, .ld = 1}, .y = y};
    const fab_method *swag = fab_method_find("swag");
    const fab_gauss *q;
    fab_swag_settings s = quick();
    fab_fit *f;
    s.K = 3;
    assert_refused(
        fab_fit_create(&f, fab_method_name(swag), &s, sizeof s, &(fab_input){.model = &two}, NULL),
        FAB_BAD_ARGUMENT, "K = 3 columns for D = 2");
    s.K = 0, s.columns = FAB_SWAG_BY_RECURSIVE_EM;
    assert_refused(
        fab_fit_create(&f, fab_method_name(swag), &s, sizeof s, &(fab_input){.model = &two}, NULL),
        FAB_BAD_ARGUMENT, "columns = recursive-em with K = 0");
    s.K = 2, s.columns = FAB_SWAG_LAST, s.swa.average = 2, s.swa.every = FAB_AUTO_I64;
    f = open_run("swag", &two, &s, &e, NULL);
    assert_refused(fab_fit_gauss(f, &q), FAB_BAD_ARGUMENT, "keep 2 iterates");
    fab_fit_free(f);
    s.columns = FAB_SWAG_BY_ONLINE_EM, s.swa.average = 5;
    f = open_run("swag", &two, &s, &e, NULL);
    assert_refused(fab_fit_gauss(f, &q), FAB_BAD_ARGUMENT, "keep 5 iterates, expected at least 6");
    fab_fit_free(f);
}

static fab_status fit_and_close(void)
{
    static double x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {1, 0, 1, 0, 1, 0};
    const fab_examples e = {.x = {.p = x, .type = FAB_F64, .n = 6, .ld = 1}, .y = y};
    fab_swag_settings s = quick();
    s.K = 1;
    s.columns = FAB_SWAG_BY_RECURSIVE_EM;
    s.swa.train.epochs = 2;
    return fit_and_free("swag", &s, &two, &e, 1);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(fit_and_close) >= 6);
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_moments_are_those_of_the_iterates),
        TEST(swa_is_the_mean_of_swag_and_a_point),
        TEST(factors_of_all_iterates_are_nearer_than_the_last_columns),
        TEST(columns_by_a_method_are_its_fit_of_the_iterates),
        TEST(presets_are_swag_with_other_defaults),
        TEST(a_coordinate_that_never_moves_is_counted),
        FILES(a_stopped_run_goes_on_to_the_same_bytes),
        TEST(the_bits_do_not_depend_on_threads),
        FILES(a_run_that_explodes_names_the_step_and_the_setting),
        TEST(settings_that_do_not_fit_are_refused),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
