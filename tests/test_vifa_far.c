/* test_vifa_far.c - vifa and meanfield where kernels have memory of their own, against the same in the host's.
 *
 * The model is a smooth function of theta that is not quadratic, from few numbers a coordinate, with rows that shift it: any
 * D.  Both runs do the same arithmetic in another order; where steps follow each other a difference of rounding grows by the
 * curvature times the rate, which is small here.
 *
 * SPDX-License-Identifier: MIT */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include "fabayes.h"
#include "fit/method.h"
#include "la/ops.h"
#include "methods/vifa/vifa.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "files.h"
#include "where.h"

enum { ROWS = 24, MOST_D = 70001 };

/* ---- a model of any length ---------------------------------------------------------------------------- */

typedef struct bowl {
    int64_t D;
    int calls, broken_at; /* its gradient is not finite at this call; 0: never */
} bowl;

static double centre(int64_t d)
{
    return sin(0.7 * (double)d) / 2;
}

/* The average over rows of sum_d (theta_d - centre_d - y / 10)^2 / 2 + (theta_d - centre_d)^4 / 12, over D. */
static fab_status bowl_loss(void *self, const double *theta, const fab_examples *e, double *loss,
                            double *gradient)
{
    bowl *b = self;
    double y = 0;
    for (int64_t i = 0; i < e->x.n; i++) y += e->y[i] / (double)e->x.n / 10;
    *loss = 0;
    for (int64_t d = 0; d < b->D; d++) {
        const double r = theta[d] - centre(d), s = r - y;
        *loss += (s * s / 2 + r * r * r * r / 12) / (double)b->D;
        if (gradient) gradient[d] = (s + r * r * r / 3) / 10;
    }
    if (++b->calls == b->broken_at && gradient) gradient[b->D - 1] = NAN;
    return FAB_OK;
}

static void bowl_start(void *self, uint64_t seed, double *theta)
{
    const bowl *b = self;
    (void)seed;
    for (int64_t d = 0; d < b->D; d++) theta[d] = 0.1 * cos((double)d);
}

static fab_model model_of(bowl *b)
{
    return (fab_model){.D = b->D,
                       .head = {.D = 1, .classes = 1, .beta = 1},
                       .self = b,
                       .loss = bowl_loss,
                       .start = bowl_start};
}

static fab_examples examples(void)
{
    static double x[ROWS], y[ROWS];
    fab_random_normal(5, FAB_PURPOSE_DATA, 0, 0, ROWS, FAB_F64, x);
    fab_random_normal(5, FAB_PURPOSE_DATA, 1, 0, ROWS, FAB_F64, y);
    return (fab_examples){.x = {x, FAB_F64, ROWS, 1}, .y = y};
}

/* ---- runs --------------------------------------------------------------------------------------------- */

static fab_vifa_settings some_settings(void)
{
    fab_vifa_settings s = fab_vifa_defaults();
    s.train.batch = 7;
    s.train.epochs = 4;
    s.train.rate = 0.02;
    s.optimiser = FAB_VIFA_ADAM;
    s.rate_F = 0.5;
    s.map_part = 0.2;
    s.ramp_part = 0.3;
    s.start_sd = 0.1;
    return s;
}

static fab_status try_open(fab_fit **f, const char *method, bowl *b, const fab_vifa_settings *s,
                           const fab_ops *ops)
{
    const fab_model m = model_of(b);
    const fab_exec x = {.ops = ops};
    return fab_fit_create(f, method, s, sizeof *s, &(fab_input){.model = &m}, &x);
}

static fab_fit *open_run(const char *method, bowl *b, const fab_vifa_settings *s,
                         const fab_ops *ops)
{
    const fab_examples e = examples();
    fab_fit *f;
    if (try_open(&f, method, b, s, ops) != FAB_OK) fail_msg("%s", fab_detail());
    assert_int_equal(fab_fit_update(f, &e), FAB_OK);
    return f;
}

static const fab_gauss *result_of(fab_fit *f)
{
    const fab_gauss *q;
    if (fab_fit_gauss(f, &q) != FAB_OK) fail_msg("%s", fab_detail());
    assert_int_equal(fab_gauss_check(q), FAB_OK);
    return q;
}

static double F_of(const fab_gauss *q, int64_t e)
{
    return q->type == FAB_F32 ? (double)((const float *)q->F)[e] : ((const double *)q->F)[e];
}

static void near(const char *what, int64_t i, double a, double b, double bound)
{
    if (!(fabs(a - b) <= bound))
        fail_msg("%s[%lld] is %.17g, expected %.17g within %g", what, (long long)i, a, b, bound);
}

/* c and log psi are of the order of 1, F of that of sd. */
static void assert_near(const fab_gauss *q, const fab_gauss *p, double bound)
{
    for (int64_t i = 0; i < q->D; i++) {
        near("mu", i, q->mu[i], p->mu[i], bound);
        near("log psi", i, log(q->psi[i]), log(p->psi[i]), 20 * bound);
        for (int64_t k = 0; k < q->K; k++)
            near("F", i * q->K + k, F_of(q, i * q->K + k), F_of(p, i * q->K + k), 4 * bound);
    }
}

/* A run there and a run of the host, in the same precision: the normals of F are those of the precision. */
static void compare(const char *method, int64_t D, const fab_vifa_settings *s, fab_dtype type,
                    double bound)
{
    bowl a = {.D = D}, b = {.D = D};
    fab_fit *f = open_run(method, &a, s, KERNELS(type)),
            *host = open_run(method, &b, s, fab_ops_find("cpu", type));
    fab_report there, here;
    assert_near(result_of(f), result_of(host), bound);
    assert_int_equal(fab_fit_report(f, &there), FAB_OK);
    assert_int_equal(fab_fit_report(host, &here), FAB_OK);
    near("bound", D, there.log_evidence / (double)D, here.log_evidence / (double)D, 20 * bound);
    fab_fit_free(f), fab_fit_free(host);
}

/* Rounding of f32 beside numbers of the order of 1, over some 12 steps of Adam, whose first steps have the length of the rate
 * whatever the gradient: where one is near 0 its sign decides, so numbers of f32 differ by more than rounding there. */
static const double bounds[] = {[FAB_F64] = 1e-9, [FAB_F32] = 3e-3};

/* ---- tests -------------------------------------------------------------------------------------------- */

static void a_run_is_that_of_the_host(void **state)
{
    (void)state;
    static const int64_t ranks[] = {0, 1, 2, 3, 7, 10, 13};
    for (fab_dtype type = FAB_F64; type <= FAB_F32; type++)
        for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++)
            for (int how = 0; how < 8; how++) {
                fab_vifa_settings s = some_settings();
                s.K = ranks[k];
                s.entropy = how & 1 ? FAB_VIFA_PATH : FAB_VIFA_CLOSED;
                s.optimiser = how & 2 ? FAB_VIFA_ADAM : FAB_VIFA_SGD;
                s.clip = how & 4 ? 0.3 : 0;
                compare("vifa", 137, &s, type, bounds[type]);
            }
}

static void any_number_of_draws_is_that_of_the_host(void **state)
{
    (void)state;
    for (fab_dtype type = FAB_F64; type <= FAB_F32; type++)
        for (int64_t L = 1; L <= 11; L += L < 4 ? 1 : 7)
            for (int how = 0; how < 8; how++) {
                fab_vifa_settings s = some_settings();
                s.K = 3;
                s.draws = L;
                s.pairs = how & 1;
                s.shared = (how & 2) != 0;
                s.entropy = how & 4 ? FAB_VIFA_PATH : FAB_VIFA_CLOSED;
                compare("vifa", 65, &s, type, bounds[type]);
            }
}

static void long_ones_are_those_of_the_host(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 31, 511, 513, 4099, MOST_D};
    for (fab_dtype type = FAB_F64; type <= FAB_F32; type++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
            for (int64_t K = 0; K <= 10 && (K == 0 || K <= sizes[n]); K += 5) {
                fab_vifa_settings s = some_settings();
                s.K = K;
                s.train.epochs = 2;
                compare("vifa", sizes[n], &s, type, bounds[type]);
            }
}

static void meanfield_is_that_of_the_host(void **state)
{
    (void)state;
    for (fab_dtype type = FAB_F64; type <= FAB_F32; type++)
        for (int how = 0; how < 4; how++) {
            fab_vifa_settings s = some_settings();
            s.K = 0;
            s.entropy = how & 1 ? FAB_VIFA_PATH : FAB_VIFA_CLOSED;
            s.optimiser = how & 2 ? FAB_VIFA_ADAM : FAB_VIFA_SGD;
            compare("meanfield", 137, &s, type, bounds[type]);
        }
}

static void a_run_has_the_same_bits_twice(void **state)
{
    (void)state;
    for (fab_dtype type = FAB_F64; type <= FAB_F32; type++) {
        fab_vifa_settings s = some_settings();
        bowl a = {.D = 5003}, b = {.D = 5003};
        fab_fit *f = open_run("vifa", &a, &s, KERNELS(type)),
                *g = open_run("vifa", &b, &s, KERNELS(type));
        const fab_gauss *q = result_of(f), *p = result_of(g);
        assert_memory_equal(q->mu, p->mu, 5003 * sizeof(double));
        assert_memory_equal(q->psi, p->psi, 5003 * sizeof(double));
        assert_memory_equal(q->F, p->F, (size_t)(5003 * s.K) * (type == FAB_F32 ? 4 : 8));
        fab_fit_free(f), fab_fit_free(g);
    }
}

/* Stops after some steps. */
typedef struct stopper {
    int left;
} stopper;

static int stop_soon(void *ctx, const char *what, int64_t done, int64_t total)
{
    stopper *s = ctx;
    (void)what, (void)done, (void)total;
    return --s->left <= 0;
}

/* Saved there and continued there: the same bits.  Continued on the host, and back: to rounding. */
static void a_run_goes_on_where_other_kernels_are(void **state)
{
    (void)state;
    const fab_ops *host = fab_ops_find("cpu", FAB_F64), *far = KERNELS(FAB_F64);
    const fab_ops *const first[] = {far, far, host}, *const second[] = {far, host, far};
    for (int way = 0; way < 3; way++)
        for (int optimiser = FAB_VIFA_SGD; optimiser <= FAB_VIFA_ADAM; optimiser++) {
            fab_vifa_settings s = some_settings();
            bowl a = {.D = 137}, b = {.D = 137}, c = {.D = 137};
            s.optimiser = optimiser;
            s.train.epochs = 40;
            fab_fit *whole = open_run("vifa", &a, &s, first[way]), *part, *rest;
            const fab_model m = model_of(&b), n = model_of(&c);
            const fab_examples e = examples();
            stopper soon = {3};
            const fab_exec x = {.ops = first[way], .progress = stop_soon, .progress_ctx = &soon},
                           y = {.ops = second[way]};
            const fab_mixture *unused;
            fab_tensors *file;
            if (fab_fit_create(&part, "vifa", &s, sizeof s, &(fab_input){.model = &m}, &x) !=
                FAB_OK)
                fail_msg("%s", fab_detail());
            assert_int_equal(fab_fit_update(part, &e), FAB_OK);
            assert_int_equal(fab_fit_result(part, &unused), FAB_STOPPED);
            assert_int_equal(fab_fit_checkpoint(part, in_folder("v.safetensors"), NULL), FAB_OK);
            assert_int_equal(fab_tensors_read(&file, in_folder("v.safetensors")), FAB_OK);
            if (fab_fit_load(&rest, file, &(fab_input){.model = &n}, &y) != FAB_OK)
                fail_msg("%s", fab_detail());
            fab_tensors_free(file);
            assert_int_equal(fab_fit_update(rest, &e), FAB_OK);
            const fab_gauss *q = result_of(rest), *p = result_of(whole);
            if (way == 0) {
                assert_memory_equal(q->mu, p->mu, 137 * sizeof(double));
                assert_memory_equal(q->psi, p->psi, 137 * sizeof(double));
                assert_memory_equal(q->F, p->F, (size_t)(137 * s.K) * sizeof(double));
            } else {
                assert_near(q, p, 1e-9);
            }
            fab_fit_free(whole), fab_fit_free(part), fab_fit_free(rest);
        }
}

static void a_gradient_that_is_no_number_ends_the_run_where_the_epoch_began(void **state)
{
    (void)state;
    fab_vifa_settings s = some_settings();
    bowl a = {.D = 137, .broken_at = 5};
    const fab_gauss *q;
    fab_fit *f = open_run("vifa", &a, &s, KERNELS(FAB_F64));
    assert_int_equal(fab_fit_gauss(f, &q), FAB_NUMERIC);
    assert_non_null(strstr(fab_detail(), "the norm of the gradient is nan at step 3"));
    fab_tensors *before, *after;
    a.broken_at = 0;
    bowl b = {.D = 137};
    fab_fit *g = open_run("vifa", &b, &s, KERNELS(FAB_F64));
    assert_int_equal(fab_fit_checkpoint(f, in_folder("after.safetensors"), NULL), FAB_OK);
    assert_int_equal(fab_fit_checkpoint(g, in_folder("before.safetensors"), NULL), FAB_OK);
    assert_int_equal(fab_tensors_read(&after, in_folder("after.safetensors")), FAB_OK);
    assert_int_equal(fab_tensors_read(&before, in_folder("before.safetensors")), FAB_OK);
    static const char *const names[] = {"state.c", "state.gamma", "F"};
    for (int i = 0; i < 3; i++)
        assert_memory_equal(fab_tensors_find(after, names[i])->data,
                            fab_tensors_find(before, names[i])->data,
                            (size_t)(i < 2 ? 137 : 137 * s.K) * sizeof(double));
    fab_tensors_free(before), fab_tensors_free(after);
    result_of(f); /* goes on, with moments that are numbers */
    fab_fit_free(f), fab_fit_free(g);
}

/* ---- ask and tell -------------------------------------------------------------------------------------- */

/* Kernels of the caller: theta comes to the host here, and what is said of it goes back. */
typedef struct caller {
    fab_run run;
    int64_t D;
    double *theta, *g;
    void *there; /* D numbers of the kernels */
} caller;

static caller open_caller(const fab_ops *ops, int64_t D)
{
    caller c = {.run = {.ops = ops, .threads = 1}, .D = D};
    c.theta = calloc((size_t)D, sizeof *c.theta), c.g = calloc((size_t)D, sizeof *c.g);
    c.there = ops->memory ? ops->memory->alloc((size_t)D * ops->size) : NULL;
    return c;
}

static void close_caller(caller *c)
{
    free(c->theta), free(c->g);
    if (c->there) c->run.ops->memory->release(c->there);
}

/* Loss and gradient of a question, the gradient on the host. */
static double answer_of(caller *c, bowl *b, const fab_question *q)
{
    const fab_examples all = examples();
    double y[ROWS], x[ROWS] = {0}, loss;
    const double *theta = q->theta;
    for (int64_t i = 0; i < q->n; i++) y[i] = all.y[q->row[i]];
    const fab_examples e = {.x = {x, FAB_F64, q->n, 1}, .y = y};
    if (q->there) {
        const fab_long A = fab_long_vectors((void *)(uintptr_t)q->there, c->D, 1, c->D);
        assert_null(q->theta);
        assert_int_equal(q->there_type, c->run.ops->type);
        c->run.ops->get(&c->run, &A, c->theta);
        theta = c->theta;
    }
    assert_int_equal(bowl_loss(b, theta, &e, &loss, c->g), FAB_OK);
    return loss;
}

/* To where kernels have it. */
static const void *put_there(const caller *c)
{
    const fab_long A = fab_long_vectors(c->there, c->D, 1, c->D);
    c->run.ops->put(&c->run, c->g, &A);
    return c->there;
}

static fab_fit *open_driven(bowl *b, const fab_vifa_settings *s, const fab_ops *ops)
{
    fab_model m = model_of(b);
    const fab_exec x = {.ops = ops};
    fab_fit *f;
    m.loss = NULL;
    m.type = FAB_F64;
    m.batch = s->train.batch;
    if (fab_fit_create(&f, "vifa", s, sizeof *s, &(fab_input){.model = &m, .rows = ROWS}, &x) !=
        FAB_OK)
        fail_msg("%s", fab_detail());
    return f;
}

static void told_what_the_model_would_say_a_run_has_the_same_bits(void **state)
{
    (void)state;
    for (fab_dtype type = FAB_F64; type <= FAB_F32; type++)
        for (int there = 0; there < 2; there++) {
            const fab_ops *ops = KERNELS(type);
            fab_vifa_settings s = some_settings();
            bowl a = {.D = 137}, b = {.D = 137};
            fab_fit *f = open_driven(&a, &s, ops), *seen = open_run("vifa", &b, &s, ops);
            caller c = open_caller(ops, 137);
            for (int done = 0, t = 0;; t++) {
                fab_question q;
                if (fab_fit_ask(f, &q, &done) != FAB_OK) fail_msg("%s", fab_detail());
                if (done) break;
                assert_int_equal(q.there != NULL, ops->memory != NULL);
                fab_answer r = {.loss = answer_of(&c, &a, &q), .gradient = c.g, .type = FAB_F64};
                if (there && c.there) r.gradient = put_there(&c), r.type = ops->type, r.there = 1;
                if (fab_fit_tell(f, &r) != FAB_OK) fail_msg("%s", fab_detail());
            }
            const fab_gauss *q = result_of(f), *p = result_of(seen);
            assert_memory_equal(q->mu, p->mu, 137 * sizeof(double));
            assert_memory_equal(q->psi, p->psi, 137 * sizeof(double));
            assert_memory_equal(q->F, p->F, (size_t)(137 * s.K) * ops->size);
            close_caller(&c);
            fab_fit_free(f), fab_fit_free(seen);
        }
}

static void an_answer_that_is_no_gradient_is_refused_and_the_question_stands(void **state)
{
    (void)state;
    const fab_ops *ops = KERNELS(FAB_F64);
    fab_vifa_settings s = some_settings();
    bowl a = {.D = 137};
    fab_fit *f = open_driven(&a, &s, ops);
    caller c = open_caller(ops, 137);
    fab_question q, again;
    int done;
    assert_int_equal(fab_fit_ask(f, &q, &done), FAB_OK);
    const double loss = answer_of(&c, &a, &q);
    c.g[100] = INFINITY;
    fab_answer r = {.loss = loss, .gradient = c.g, .type = FAB_F64};
    assert_int_equal(fab_fit_tell(f, &r), FAB_BAD_DATA);
    if (c.there) {
        r.gradient = put_there(&c), r.there = 1;
        assert_int_equal(fab_fit_tell(f, &r), FAB_BAD_DATA);
        assert_non_null(strstr(fab_detail(), "vifa: 1 numbers of the gradient are not finite"));
    } else {
        r.there = 1;
        assert_int_equal(fab_fit_tell(f, &r), FAB_BAD_ARGUMENT);
        assert_non_null(strstr(fab_detail(), "this fit works in the host's"));
    }
    assert_int_equal(fab_fit_ask(f, &again, &done), FAB_OK);
    assert_true(again.theta == q.theta && again.there == q.there);
    c.g[100] = 1;
    assert_int_equal(fab_fit_tell(f, &(fab_answer){.loss = loss, .gradient = c.g, .type = FAB_F64}),
                     FAB_OK);
    close_caller(&c);
    fab_fit_free(f);
}

#if defined(AWAY_STREAMS) || defined(CARD_STREAMS)
/* A model that is given theta where the kernels have it; its answer goes there. */
static fab_status loss_there(void *self, const void *theta, const fab_examples *e, double *loss,
                             void *gradient)
{
    bowl *b = self;
    const fab_run r = {.ops = KERNELS(FAB_F64), .threads = 1};
    const fab_long from = fab_long_vectors((void *)(uintptr_t)theta, b->D, 1, b->D),
                   to = fab_long_vectors(gradient, b->D, 1, b->D);
    double x[137], g[137];
    r.ops->get(&r, &from, x);
    const fab_status s = bowl_loss(b, x, e, loss, g);
    r.ops->put(&r, g, &to);
    return s;
}

static void a_model_that_computes_there_has_the_same_bits(void **state)
{
    (void)state;
    fab_vifa_settings s = some_settings();
    bowl a = {.D = 137}, b = {.D = 137};
    fab_model m = model_of(&a);
    const fab_exec x = {.ops = KERNELS(FAB_F64)};
    const fab_examples e = examples();
    fab_fit *f, *g = open_run("vifa", &b, &s, KERNELS(FAB_F64));
    m.loss_there = loss_there;
    assert_int_equal(fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = &m}, &x),
                     FAB_OK);
    assert_int_equal(fab_fit_update(f, &e), FAB_OK);
    const fab_gauss *q = result_of(f), *p = result_of(g);
    assert_memory_equal(q->mu, p->mu, 137 * sizeof(double));
    assert_memory_equal(q->F, p->F, (size_t)(137 * s.K) * sizeof(double));
    fab_fit_free(f), fab_fit_free(g);
}

static void assert_refused(const fab_vifa_settings *s, const fab_model *m, const fab_gauss *prior,
                           const char *what)
{
    fab_fit *f;
    const fab_exec x = {.ops = KERNELS(FAB_F64)};
    assert_int_equal(
        fab_fit_create(&f, "vifa", s, sizeof *s, &(fab_input){.model = m, .prior = prior}, &x),
        FAB_UNSUPPORTED);
    if (!strstr(fab_detail(), what)) fail_msg("'%s' lacks '%s'", fab_detail(), what);
}

static void what_stays_on_the_host_says_so(void **state)
{
    (void)state;
    bowl b = {.D = 29};
    const fab_model m = model_of(&b);
    fab_model free_one = m;
    fab_vifa_settings s = some_settings();
    fab_gauss *prior;
    free_one.free = 1;
    assert_refused(&s, &free_one, NULL, "vifa: a model with free coordinates");
    s.optimiser = FAB_VIFA_NATURAL;
    assert_refused(&s, &m, NULL, "vifa: optimiser = natural works in the host's memory");
    s.optimiser = FAB_VIFA_NEWTON;
    assert_refused(&s, &m, NULL, "optimiser = newton");
    s.optimiser = FAB_VIFA_SGD;
    assert_int_equal(fab_gauss_create(&prior, FAB_FORM_COVARIANCE, FAB_F64, 29, 0), FAB_OK);
    for (int i = 0; i < 29; i++) prior->psi[i] = 1;
    assert_refused(&s, &m, prior, "a given prior");
    fab_gauss_free(prior);
}
#endif

#ifdef AWAY_STREAMS
static void long_arrays_are_where_the_kernels_are(void **state)
{
    (void)state;
    fab_vifa_settings s = some_settings();
    bowl b = {.D = 29};
    fab_fit *f = open_run("vifa", &b, &s, KERNELS(FAB_F64));
    result_of(f);
    assert_int_equal(away_held(), 1); /* the one block of a handle */
    fab_fit_free(f);
    assert_int_equal(away_held(), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_that_of_the_host),
        cmocka_unit_test(any_number_of_draws_is_that_of_the_host),
        cmocka_unit_test(long_ones_are_those_of_the_host),
        cmocka_unit_test(meanfield_is_that_of_the_host),
        cmocka_unit_test(a_run_has_the_same_bits_twice),
        cmocka_unit_test(a_run_goes_on_where_other_kernels_are),
        cmocka_unit_test(a_gradient_that_is_no_number_ends_the_run_where_the_epoch_began),
        cmocka_unit_test(told_what_the_model_would_say_a_run_has_the_same_bits),
        cmocka_unit_test(an_answer_that_is_no_gradient_is_refused_and_the_question_stands),
#if defined(AWAY_STREAMS) || defined(CARD_STREAMS)
        cmocka_unit_test(a_model_that_computes_there_has_the_same_bits),
        cmocka_unit_test(what_stays_on_the_host_says_so),
#endif
#ifdef AWAY_STREAMS
        cmocka_unit_test(long_arrays_are_where_the_kernels_are),
#endif
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
