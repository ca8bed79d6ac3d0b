/* test_swag_stream.c - swag of a stream of vectors, on the kernels that where.h names.
 *
 * SPDX-License-Identifier: MIT */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include "fabayes.h"
#include "fit/method.h"
#include "la/ops.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "files.h"
#include "where.h"

enum { D = 37, ROWS = 11, K = 4 };

/* Iterates of an optimiser: far from 0, near each other. */
static void make(double *x)
{
    fab_random_normal(7, FAB_PURPOSE_DATA, 0, 0, (int64_t)D * ROWS, FAB_F64, x);
    for (int i = 0; i < D * ROWS; i++) x[i] = 3 + 0.1 * x[i];
}

static fab_status try_open(fab_fit **f, const char *set, fab_dtype type, const fab_ops *ops)
{
    const fab_method *m = fab_method_find("swag")->vectors;
    fab_swag_settings s;
    char one[128];
    fab_settings_defaults(m->fields, &s);
    s.K = K;
    for (const char *p = set; *p; p += strlen(one) + (p[strlen(one)] == ' ')) {
        snprintf(one, sizeof one, "%.*s", (int)strcspn(p, " "), p);
        char *value = strchr(one, '=');
        *value = '\0';
        assert_int_equal(fab_settings_parse(m->fields, &s, one, value + 1), FAB_OK);
        *value = '=';
    }
    const fab_exec x = {.ops = ops ? ops : KERNELS(type)};
    return fab_fit_create(f, "swag", &s, m->fields->size, &(fab_input){.vectors = D}, &x);
}

static fab_fit *open_swag(const char *set, fab_dtype type, const fab_ops *ops)
{
    fab_fit *f;
    if (try_open(&f, set, type, ops) != FAB_OK) fail_msg("%s", fab_detail());
    return f;
}

static void feed(fab_fit *f, const double *x, int first, int n)
{
    const fab_examples e = {.x = {x + first * D, FAB_F64, n, D}};
    if (fab_fit_update(f, &e) != FAB_OK) fail_msg("%s", fab_detail());
}

static const fab_gauss *result_of(fab_fit *f)
{
    const fab_mixture *q;
    if (fab_fit_result(f, &q) != FAB_OK) fail_msg("%s", fab_detail());
    return q->part[0];
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

/* Deviations are from the mean of the iterates before: d_t = x_t - mean_t-1; V adds d_t (x_t - mean_t).  Numbers are near 3,
 * deviations near .1: rounding is that of the differences. */
static void mean_variances_and_columns_are_those_of_the_iterates(void **state)
{
    (void)state;
    double x[D * ROWS];
    make(x);
    for (fab_dtype type = FAB_F64; type <= FAB_F32; type++) {
        fab_fit *f = open_swag("scale=1.7", type, NULL);
        const double eps = type == FAB_F32 ? FLT_EPSILON : DBL_EPSILON;
        feed(f, x, 0, 3);
        feed(f, x, 3, ROWS - 3);
        const fab_gauss *q = result_of(f);
        for (int i = 0; i < D; i++) {
            long double mean = 0, V = 0, d[ROWS];
            for (int t = 0; t < ROWS; t++) {
                d[t] = x[t * D + i] - mean;
                mean += d[t] / (t + 1);
                V += d[t] * (x[t * D + i] - mean);
            }
            near("mu", i, q->mu[i], (double)mean, 8 * DBL_EPSILON * 3);
            near("psi", i, q->psi[i], (double)(1.7L * V / (2 * ROWS)), 40 * eps * (double)V);
            for (int t = ROWS - K; t < ROWS; t++) {
                const double c = sqrt(1.7 / (2 * (K - 1)));
                near("F", i, F_of(q, i * K + (t - 1) % K), c * (double)d[t], 40 * eps);
            }
        }
        fab_fit_free(f);
    }
}

static void iterates_that_are_all_the_same_are_a_point(void **state)
{
    (void)state;
    double x[D * ROWS];
    make(x);
    fab_fit *f = open_swag("", FAB_F64, NULL);
    feed(f, x, 0, 1);
    feed(f, x, 0, 1);
    const fab_gauss *q = result_of(f);
    for (int i = 0; i < D; i++) {
        assert_true(q->mu[i] == x[i] && q->psi[i] == 1e-30);
        for (int k = 0; k < K; k++) assert_true(F_of(q, i * K + k) == 0);
    }
    fab_fit_free(f);
}

/* The method of the columns works in the same place. */
static void columns_by_a_method_are_those_of_the_host(void **state)
{
    (void)state;
    double x[D * ROWS];
    make(x);
    static const char *const methods[] = {"columns=online-em K=2", "columns=stochastic-em K=2",
                                          "columns=online-sga K=2"};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        fab_fit *f = open_swag(methods[m], FAB_F64, NULL),
                *host = open_swag(methods[m], FAB_F64, fab_ops_find("cpu", FAB_F64));
        feed(f, x, 0, ROWS);
        feed(host, x, 0, ROWS);
        const fab_gauss *q = result_of(f), *p = result_of(host);
        for (int i = 0; i < D; i++) {
            near("mu", i, q->mu[i], p->mu[i], 1e-14);
            near("psi", i, q->psi[i], p->psi[i], 1e-11);
            for (int k = 0; k < 2; k++)
                near("F", i * 2 + k, F_of(q, i * 2 + k), F_of(p, i * 2 + k), 1e-11);
        }
        fab_fit_free(f), fab_fit_free(host);
    }
}

/* What one saves the other goes on from: to rounding, since kernels differ in that. */
static void a_stream_goes_on_where_other_kernels_are(void **state)
{
    (void)state;
    double x[D * ROWS];
    make(x);
    for (int back = 0; back < 2; back++)
        for (int at = 2; at < ROWS; at += 3) {
            const fab_ops *host = fab_ops_find("cpu", FAB_F64), *far = KERNELS(FAB_F64);
            fab_fit *f = open_swag("", FAB_F64, back ? host : far), *again;
            fab_tensors *file;
            feed(f, x, 0, at);
            assert_int_equal(fab_fit_save(f, in_folder("q.safetensors"), NULL), FAB_OK);
            assert_int_equal(fab_tensors_read(&file, in_folder("q.safetensors")), FAB_OK);
            const fab_exec other = {.ops = back ? far : host};
            if (fab_fit_load(&again, file, NULL, &other) != FAB_OK) fail_msg("%s", fab_detail());
            fab_tensors_free(file);
            feed(f, x, at, ROWS - at);
            feed(again, x, at, ROWS - at);
            const fab_gauss *p = result_of(f), *q = result_of(again);
            for (int i = 0; i < D; i++) {
                near("mu", i, q->mu[i], p->mu[i], 1e-14);
                near("psi", i, q->psi[i], p->psi[i], 1e-15);
                for (int k = 0; k < K; k++)
                    near("F", i * K + k, F_of(q, i * K + k), F_of(p, i * K + k), 1e-14);
            }
            fab_fit_free(f), fab_fit_free(again);
        }
}

/* 1e200 is finite and its square is not. */
static void an_iterate_without_a_square_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    double x[D * ROWS], huge[D];
    make(x);
    for (int i = 0; i < D; i++) huge[i] = i == D - 1 ? 1e200 : 1;
    fab_fit *f = open_swag("", FAB_F64, NULL), *g = open_swag("", FAB_F64, NULL);
    feed(f, x, 0, 5);
    assert_int_equal(fab_fit_update(f, &(fab_examples){.x = {huge, FAB_F64, 1, D}}), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "the square of iterate 6 is inf"));
    feed(f, x, 5, ROWS - 5);
    feed(g, x, 0, ROWS);
    const fab_gauss *q = result_of(f), *p = result_of(g);
    assert_memory_equal(q->mu, p->mu, D * sizeof(double));
    assert_memory_equal(q->psi, p->psi, D * sizeof(double));
    assert_memory_equal(q->F, p->F, D * K * sizeof(double));
    fab_fit_free(f), fab_fit_free(g);
}

#ifdef AWAY_STREAMS
static void long_arrays_are_where_the_kernels_are(void **state)
{
    (void)state;
    double x[D * ROWS];
    make(x);
    fab_fit *f = open_swag("", FAB_F64, NULL);
    feed(f, x, 0, ROWS);
    assert_int_equal(away_held(), 1); /* the one block of a handle */
    result_of(f);
    fab_fit_free(f);
    assert_int_equal(away_held(), 0);
}

static void a_method_of_columns_that_stays_on_the_host_says_so(void **state)
{
    (void)state;
    fab_fit *f;
    assert_int_equal(try_open(&f, "columns=recursive-em", FAB_F64, NULL), FAB_UNSUPPORTED);
    assert_non_null(strstr(fab_detail(), "swag: columns by recursive-em: works in the host's"));
    assert_int_equal(away_held(), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_variances_and_columns_are_those_of_the_iterates),
        cmocka_unit_test(iterates_that_are_all_the_same_are_a_point),
        cmocka_unit_test(columns_by_a_method_are_those_of_the_host),
        cmocka_unit_test(a_stream_goes_on_where_other_kernels_are),
        cmocka_unit_test(an_iterate_without_a_square_is_refused_and_changes_nothing),
#ifdef AWAY_STREAMS
        cmocka_unit_test(long_arrays_are_where_the_kernels_are),
        cmocka_unit_test(a_method_of_columns_that_stays_on_the_host_says_so),
#endif
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
