/* test_vfe.c - the methods vfe, dtc and fitc: beside gp, in pieces, through files, and what they refuse.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/fit.h"
#include "fit/fit.h"

enum { N = 300, D = 2, FEW = 25 };

static const char *const methods[] = {"vfe", "dtc", "fitc"};
enum { METHODS = sizeof methods / sizeof *methods };

typedef struct rows {
    int64_t n;
    double *x, *y, *weight, *offset;
} rows;

static rows some_rows(int64_t n)
{
    rows r = {n, doubles(n * D), doubles(n), doubles(n), doubles(n)};
    fab_random_normal(7, FAB_PURPOSE_DATA, 1, 0, n * D, FAB_F64, r.x);
    fab_random_uniform(7, FAB_PURPOSE_DATA, 4, 0, n, r.weight);
    for (int64_t i = 0; i < n; i++) {
        r.weight[i] += 0.5;
        r.offset[i] = 0.3 * noise(9, i);
        r.y[i] = 2 * sin(1.5 * r.x[i * D]) + 0.5 * r.x[i * D + 1] + r.offset[i] +
                 0.3 * noise(11, i);
    }
    return r;
}

static fab_examples part_of(const rows *r, int64_t first, int64_t n)
{
    return (fab_examples){.x = {r->x + first * D, FAB_F64, n, D},
                          .y = r->y + first,
                          .weight = r->weight + first,
                          .offset = r->offset + first};
}

typedef struct setup {
    fab_glm glm;
    fab_kernel *k;
    fab_model model;
} setup;

static void open_setup(setup *s, fab_likelihood l, const char *kernel)
{
    s->glm = (fab_glm){.likelihood = l, .D = D, .classes = 1};
    assert_ok(fab_kernel_create(&s->k, kernel, D, NULL));
    s->model = fab_model_kernel(&s->glm, s->k);
}

static fab_vfe_settings quick(void)
{
    fab_vfe_settings how = fab_vfe_defaults();
    how.inducing = FEW;
    how.search_rows = 80;
    how.starts = 1;
    how.steps = 12;
    return how;
}

static fab_fit *fit_of(const setup *s, const char *method, const void *how, size_t size,
                       const fab_exec *x)
{
    fab_fit *f;
    assert_ok(fab_fit_create(&f, method, how, size, &(fab_input){.model = &s->model}, x));
    return f;
}

static double learn(fab_fit *f, const rows *r, int64_t first, int64_t n)
{
    const fab_examples e = part_of(r, first, n);
    const fab_gauss *q;
    fab_report said;
    assert_ok(fab_fit_update(f, &e));
    assert_ok(fab_fit_gauss(f, &q));
    assert_ok(fab_fit_report(f, &said));
    return said.log_evidence;
}

static void same_process(fab_fit *f, fab_fit *g, const rows *r, double tolerance)
{
    double *mean[2] = {doubles(r->n), doubles(r->n)}, *v[2] = {doubles(r->n), doubles(r->n)};
    fab_process *p;
    for (int i = 0; i < 2; i++) {
        assert_ok(fab_fit_process(i ? g : f, &p));
        assert_ok(fab_process_predict(p, r->n, r->x, D, mean[i], v[i], NULL));
    }
    for (int64_t i = 0; i < r->n; i++) {
        assert_true(fabs(mean[0][i] - mean[1][i]) <= tolerance);
        assert_true(fabs(v[0][i] - v[1][i]) <= tolerance);
    }
}

/* ---- beside gp ----------------------------------------------------------------------------------------------- */

/* Everything given: as many inputs as rows leave nothing to approximate. */
static void inputs_at_all_rows_are_gp(void **state)
{
    (void)state;
    const rows r = some_rows(60);
    setup s;
    fab_gp_settings exact = fab_gp_defaults();
    exact.beta = 9;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "1.5*matern32:l=0.9 + 0.5*const");
    fab_fit *g = fit_of(&s, "gp", &exact, sizeof exact, NULL);
    const double lml = learn(g, &r, 0, r.n);
    for (int i = 0; i < METHODS; i++) {
        fab_vfe_settings how = quick();
        how.beta = 9;
        how.inducing = 500;
        fab_fit *f = fit_of(&s, methods[i], &how, sizeof how, NULL);
        assert_true(fabs(learn(f, &r, 0, r.n) - lml) <= 1e-6 * fabs(lml));
        same_process(f, g, &r, 1e-6);
        fab_fit_free(f);
    }
    fab_fit_free(g);
    fab_kernel_free(s.k);
}

/* The search goes up; with the inputs moved, too, further; and vfe stays below the exact evidence of what it found. */
static void the_search_goes_up(void **state)
{
    (void)state;
    const rows r = some_rows(N);
    setup s;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf:ard");
    for (int i = 0; i < METHODS; i++) {
        double value[3];
        for (int k = 0; k < 3; k++) {
            fab_vfe_settings how = quick();
            how.inducing = 12;
            how.steps = k ? 40 : 0;
            how.optimise = k == 2;
            fab_fit *f = fit_of(&s, methods[i], &how, sizeof how, NULL);
            value[k] = learn(f, &r, 0, N);
            fab_process *p, *exact;
            fab_report said;
            double lml, *y = doubles(N);
            assert_ok(fab_fit_process(f, &p));
            assert_ok(fab_fit_report(f, &said));
            for (int64_t j = 0; j < N; j++) y[j] = r.y[j] - r.offset[j];
            assert_ok(fab_process_create(&exact, fab_process_kernel(p), N, r.x, D, N, NULL));
            assert_ok(fab_process_learn(exact, y, r.weight, 1 / said.beta));
            assert_ok(fab_process_evidence(exact, &lml, NULL));
            if (i == 0) assert_true(value[k] <= lml + 1e-6);
            fab_process_free(exact);
            fab_fit_free(f);
        }
        assert_true(value[1] > value[0] && value[2] > value[1]);
    }
    fab_kernel_free(s.k);
}

static double value_at(const setup *s, const rows *r, int i, double beta, int64_t steps,
                       double *found)
{
    fab_vfe_settings how = quick();
    fab_report said;
    how.inducing = 8;
    how.steps = steps;
    if (beta > 0) how.beta = beta;
    fab_fit *f = fit_of(s, methods[i], &how, sizeof how, NULL);
    const double value = learn(f, r, 0, r->n);
    assert_ok(fab_fit_report(f, &said));
    if (found) *found = said.beta;
    fab_fit_free(f);
    return value;
}

/* Few inputs for a rough kernel: the noise of the first rows is far too small for all.  Before the first step it is one that is better than
 * its double and its half, and the value there is that of a fit to which it is given. */
static void the_noise_is_settled_before_the_search(void **state)
{
    (void)state;
    const rows r = some_rows(N);
    setup s;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "1*rbf:l=0.2");
    for (int i = 0; i < METHODS; i++) {
        double before, beta;
        const double first = value_at(&s, &r, i, 0, 0, &before),
                     value = value_at(&s, &r, i, 0, 1, &beta);
        if (i == 2) { /* fitc begins as it is */
            assert_true(fabs(beta / before - 1) < 1e-9);
            continue;
        }
        assert_true(beta < before / 1.9 && value > first + 10);
        assert_true(fabs(value_at(&s, &r, i, beta, 0, NULL) - value) <= 1e-9 * fabs(value));
        assert_true(value_at(&s, &r, i, beta * 2, 0, NULL) < value);
        assert_true(value_at(&s, &r, i, beta / 2, 0, NULL) < value);
    }
    fab_kernel_free(s.k);
}

/* ---- more rows, files -------------------------------------------------------------------------------------------- */

/* Everything given and as many inputs as the first rows: what comes later meets the same parameters and inputs. */
static void a_file_goes_on_where_the_fit_was(void **state)
{
    (void)state;
    const rows r = some_rows(N);
    setup s;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf:ard + linear");
    for (int i = 0; i < METHODS; i++) {
        const fab_vfe_settings how = quick();
        fab_fit *f = fit_of(&s, methods[i], &how, sizeof how, NULL), *g;
        fab_tensors *file;
        void *bytes, *after[2];
        size_t size, sizes[2];
        learn(f, &r, 0, 200);
        assert_ok(fab_fit_pack(f, 0, NULL, &bytes, &size));
        assert_ok(fab_tensors_parse(&file, "packed", bytes, size));
        assert_ok(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL));
        assert_int_equal(fab_fit_rows(g), 200);
        same_process(f, g, &r, 0);
        learn(f, &r, 200, N - 200); /* in one update here, in two there */
        learn(g, &r, 200, 33);
        learn(g, &r, 233, N - 233);
        same_process(f, g, &r, 0);
        assert_ok(fab_fit_pack(f, 0, NULL, &after[0], &sizes[0]));
        assert_ok(fab_fit_pack(g, 0, NULL, &after[1], &sizes[1]));
        assert_true(sizes[0] == sizes[1]);
        assert_memory_equal(after[0], after[1], sizes[0]);
        fab_fit_free(f);
        fab_fit_free(g);
        static const char *const names[] = {"X", "S", "b", "sums", "centre", "parameters"};
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            double *first = (double *)fab_tensors_find(file, names[k])->data;
            const double was = *first;
            *first = NAN;
            assert_int_equal(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL),
                             FAB_BAD_FILE);
            *first = was;
        }
        double *S = (double *)fab_tensors_find(file, "S")->data;
        *S = -7;
        assert_int_equal(fab_fit_load(&g, file, &(fab_input){.model = &s.model}, NULL),
                         FAB_BAD_FILE);
        fab_tensors_free(file);
        fab_bytes_free(bytes);
        fab_bytes_free(after[0]);
        fab_bytes_free(after[1]);
    }
    fab_kernel_free(s.k);
}

static void rows_that_are_no_numbers_together_leave_it_as_it_was(void **state)
{
    (void)state;
    const rows r = some_rows(N);
    rows far = some_rows(3);
    const fab_vfe_settings how = quick();
    setup s;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf");
    fab_fit *f = fit_of(&s, "vfe", &how, sizeof how, NULL),
            *g = fit_of(&s, "vfe", &how, sizeof how, NULL);
    learn(f, &r, 0, N);
    learn(g, &r, 0, N);
    far.y[1] = 1e200;
    const fab_examples e = part_of(&far, 0, 3);
    assert_int_equal(fab_fit_update(f, &e), FAB_BAD_DATA);
    assert_detail("no finite number", "too far");
    same_process(f, g, &r, 0);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_kernel_free(s.k);
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    const rows r = some_rows(N);
    setup s;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf:ard*periodic:col=1 + linear");
    for (int i = 0; i < METHODS; i++) {
        fab_vfe_settings how = quick();
        how.optimise = 1;
        fab_fit *one = fit_of(&s, methods[i], &how, sizeof how, &(fab_exec){.threads = 1}),
                *three = fit_of(&s, methods[i], &how, sizeof how, &(fab_exec){.threads = 3});
        learn(one, &r, 0, N);
        learn(three, &r, 0, N);
        same_process(one, three, &r, 0);
        fab_fit_free(one);
        fab_fit_free(three);
    }
    fab_kernel_free(s.k);
}

/* ---- what cannot be ------------------------------------------------------------------------------------------ */

/* Fewer rows than inputs: all that differ are inputs. */
static void rows_that_are_alike_are_one_input(void **state)
{
    (void)state;
    rows r = some_rows(8);
    const fab_vfe_settings how = quick();
    setup s;
    fab_process *p;
    memcpy(r.x + D, r.x, D * sizeof *r.x);
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf");
    fab_fit *f = fit_of(&s, "vfe", &how, sizeof how, NULL);
    learn(f, &r, 0, 8);
    assert_ok(fab_fit_process(f, &p));
    assert_int_equal(fab_process_rows(p), 7);
    fab_fit_free(f);
    f = fit_of(&s, "fitc", &how, sizeof how, NULL); /* and one row is enough */
    learn(f, &r, 0, 1);
    fab_fit_free(f);
    fab_kernel_free(s.k);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const rows r = some_rows(FEW);
    const fab_examples e = part_of(&r, 0, FEW);
    setup s;
    fab_fit *f;
    fab_gauss *prior;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf");
    f = fit_of(&s, "vfe", NULL, 0, NULL);
    assert_ok(fab_fit_update(f, &e));
    assert_int_equal(fab_fit_update(f, &e), FAB_BAD_ARGUMENT);
    assert_detail("after the result", "none yet");
    fab_fit_free(f);
    assert_ok(fab_gauss_create(&prior, FAB_FORM_COVARIANCE, FAB_F64, s.model.D, 0));
    fab_input in = {.model = &s.model, .prior = prior};
    assert_int_equal(fab_fit_create(&f, "vfe", NULL, 0, &in, NULL), FAB_UNSUPPORTED);
    fab_gauss_free(prior);
    in.prior = NULL;
    s.model.head.nu = 4;
    assert_int_equal(fab_fit_create(&f, "dtc", NULL, 0, &in, NULL), FAB_UNSUPPORTED);
    assert_detail("dtc", "Student");
    fab_kernel_free(s.k);
    open_setup(&s, FAB_LIKELIHOOD_BERNOULLI, "rbf:ard");
    in.model = &s.model;
    assert_int_equal(fab_fit_create(&f, "fitc", NULL, 0, &in, NULL), FAB_UNSUPPORTED);
    assert_detail("bernoulli", "nystrom:rbf:ard:500");
    fab_kernel_free(s.k);
}

typedef struct stopper {
    int64_t calls, stop_at;
} stopper;

static int stop_later(void *ctx, const char *what, int64_t done, int64_t total)
{
    stopper *s = ctx;
    (void)what, (void)done, (void)total;
    return ++s->calls == s->stop_at;
}

/* Stopped anywhere, it goes on when it is asked again, to the same. */
static void a_search_that_is_stopped_begins_again(void **state)
{
    (void)state;
    const rows r = some_rows(N);
    const fab_vfe_settings how = quick();
    setup s;
    open_setup(&s, FAB_LIKELIHOOD_GAUSSIAN, "rbf:ard");
    fab_fit *g = fit_of(&s, "vfe", &how, sizeof how, NULL);
    learn(g, &r, 0, N);
    for (int64_t at = 1; at < 60; at += 9) {
        stopper stop = {0, at};
        const fab_exec x = {.progress = stop_later, .progress_ctx = &stop};
        const fab_examples e = part_of(&r, 0, N);
        const fab_gauss *q;
        fab_fit *f = fit_of(&s, "vfe", &how, sizeof how, &x);
        fab_status done = fab_fit_update(f, &e);
        if (done == FAB_OK) {
            done = fab_fit_gauss(f, &q);
            if (done == FAB_STOPPED) done = fab_fit_gauss(f, &q);
            assert_int_equal(done, FAB_OK);
            same_process(f, g, &r, 0);
        }
        fab_fit_free(f);
    }
    fab_fit_free(g);
    fab_kernel_free(s.k);
}

static rows small;
static setup kept;

static fab_status fit_small(void)
{
    fab_vfe_settings how = quick();
    const fab_examples e = part_of(&small, 0, 12), more = part_of(&small, 12, 2);
    const fab_gauss *q;
    fab_fit *f;
    how.steps = 2;
    how.optimise = 1;
    fab_status s = fab_fit_create(&f, "vfe", &how, sizeof how, &(fab_input){.model = &kept.model},
                                  &(fab_exec){.threads = 1});
    if (s == FAB_OK) s = fab_fit_update(f, &e);
    if (s == FAB_OK) s = fab_fit_gauss(f, &q);
    if (s == FAB_OK) s = fab_fit_update(f, &more);
    if (s == FAB_OK) s = fab_fit_gauss(f, &q);
    fab_fit_free(f);
    return s;
}

static void failing_allocations_are_reported(void **state)
{
    (void)state;
    small = some_rows(14);
    open_setup(&kept, FAB_LIKELIHOOD_GAUSSIAN, "rbf");
    assert_true(fail_every_allocation(fit_small) > 10);
    fab_kernel_free(kept.k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(inputs_at_all_rows_are_gp),
        TEST(the_search_goes_up),
        TEST(the_noise_is_settled_before_the_search),
        TEST(a_file_goes_on_where_the_fit_was),
        TEST(rows_that_are_no_numbers_together_leave_it_as_it_was),
        TEST(any_number_of_threads_gives_the_same_bits),
        TEST(rows_that_are_alike_are_one_input),
        TEST(what_cannot_be_is_refused),
        TEST(a_search_that_is_stopped_begins_again),
        TEST(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
