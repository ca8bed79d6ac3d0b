/* stream_case.h - what every method that takes one row at a time must keep: the same tests for each.
 *
 * With AWAY_STREAMS defined every stream of the program runs on kernels that have memory of their own (away.h); with
 * CARD_STREAMS on those of a card, or the program is skipped.
 *
 * A test program defines before the include: METHOD; WARMUP, its default; CONSTANT_FLOORED, how many of
 * two constant columns end at the floor; SURVIVES_SCALES, whether every start bears any scale;
 * BAD_SETTINGS, more of what is refused.  It puts STREAM_TESTS in its list.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_STREAM_CASE_H
#define FAB_TESTS_STREAM_CASE_H

#include "fabayes/gauss.h"
#include "fit/method.h"
#include "la/ops.h"
#include "fabayes/exec.h"
#include "fabayes/random.h"
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

/* ---- counting malloc ---------------------------------------------------------------------------- */

static volatile long mallocs;
#if !defined(FAB_SANITIZED) && !defined(CARD_STREAMS) && defined(__GLIBC__)
#define COUNTS_MALLOCS 1
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
void *malloc(size_t n)
{
    mallocs++;
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size)
{
    mallocs++;
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n)
{
    mallocs++;
    return __libc_realloc(p, n);
}
void *aligned_alloc(size_t align, size_t n)
{
    mallocs++;
    return __libc_memalign(align, n);
}
#else
#define COUNTS_MALLOCS 0
#endif

/* ---- data and handles --------------------------------------------------------------------------- */

typedef struct model {
    int64_t D, K;
    double *mu, *F, *psi;
} model;

/* Numbers like those of a factor analysis: F of K factors, psi on (0.3, 1.3), mu of a few units. */
static inline model make_model(int64_t D, int64_t K)
{
    model m = {D, K, malloc((size_t)D * 8), malloc((size_t)(D * K) * 8), malloc((size_t)D * 8)};
    fab_random_normal(11, FAB_PURPOSE_DATA, 0, 0, D, FAB_F64, m.mu);
    fab_random_normal(11, FAB_PURPOSE_DATA, 1, 0, D * K, FAB_F64, m.F);
    fab_random_uniform(11, FAB_PURPOSE_DATA, 2, 0, D, m.psi);
    for (int64_t i = 0; i < D; i++) m.psi[i] += 0.3;
    for (int64_t i = 0; i < D; i++) m.mu[i] *= 2.385;
    return m;
}

static inline void free_model(model *m)
{
    free(m->mu);
    free(m->F);
    free(m->psi);
}

/* n draws of the model, times `scale`.  Gives n x D doubles. */
static inline double *draw(const model *m, int64_t n, double scale)
{
    double *x = malloc((size_t)(n * m->D) * 8), *h = malloc((size_t)m->K * 8),
           *z = malloc((size_t)m->D * 8);
    for (int64_t j = 0; j < n; j++) {
        fab_random_normal(12, FAB_PURPOSE_DATA, 0, (uint64_t)(j * m->K), m->K, FAB_F64, h);
        fab_random_normal(12, FAB_PURPOSE_DATA, 1, (uint64_t)(j * m->D), m->D, FAB_F64, z);
        for (int64_t i = 0; i < m->D; i++) {
            double v = m->mu[i] + sqrt(m->psi[i]) * z[i];
            for (int64_t k = 0; k < m->K; k++) v += m->F[i * m->K + k] * h[k];
            x[j * m->D + i] = scale * v;
        }
    }
    free(h);
    free(z);
    return x;
}

static inline double *draw_usual(int64_t D, int64_t K, int64_t n, double scale)
{
    model m = make_model(D, K);
    double *x = draw(&m, n, scale);
    free_model(&m);
    return x;
}

static inline fab_rows rows_of(const double *x, int64_t first, int64_t n, int64_t D)
{
    return (fab_rows){x + first * D, FAB_F64, n, D};
}

/* Settings from "name=value name=value", on top of the defaults; room for any method's struct. */
typedef struct any_settings {
    int64_t field[32];
} any_settings;

static inline fab_status try_settings(any_settings *s, int64_t K, const char *text)
{
    const fab_fields *t = fab_method_find(METHOD)->fields;
    char line[256], number[32], *save = NULL;
    fab_settings_defaults(t, s);
    snprintf(number, sizeof number, "%lld", (long long)K);
    if (fab_settings_parse(t, s, "K", number) != FAB_OK) return FAB_BAD_ARGUMENT;
    snprintf(line, sizeof line, "%s", text);
    for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        if (fab_settings_parse(t, s, word, value) != FAB_OK) return FAB_BAD_ARGUMENT;
    }
    return FAB_OK;
}

static inline fab_status create(fab_fit **e, const any_settings *s, int64_t D, const fab_exec *x)
{
    const fab_exec where = where_of(x);
    return fab_fit_create(e, METHOD, s, fab_method_find(METHOD)->fields->size,
                          &(fab_input){.vectors = D}, &where);
}

static inline fab_fit *open_stream(int64_t D, int64_t K, const char *text, const fab_exec *x)
{
    any_settings s;
    fab_fit *e;
    assert_int_equal(try_settings(&s, K, text), FAB_OK);
    assert_int_equal(create(&e, &s, D, x), FAB_OK);
    return e;
}

static inline void feed(fab_fit *e, const double *x, int64_t first, int64_t n, int64_t D)
{
    const fab_rows r = rows_of(x, first, n, D);
    const fab_status s = fab_fit_update(e, &(fab_examples){.x = r});
    if (s != FAB_OK) fail_msg("update: %s", fab_detail());
}

static inline const fab_gauss *result_of(fab_fit *e)
{
    const fab_gauss *q = NULL;
    if (fab_fit_gauss(e, &q) != FAB_OK) fail_msg("result: %s", fab_detail());
    return q;
}

static inline void assert_same_bits(const fab_gauss *a, const fab_gauss *b)
{
    const size_t size = a->type == FAB_F32 ? 4 : 8;
    assert_int_equal(a->D, b->D);
    assert_int_equal(a->K, b->K);
    assert_memory_equal(a->mu, b->mu, (size_t)a->D * 8);
    assert_memory_equal(a->psi, b->psi, (size_t)a->D * 8);
    assert_memory_equal(a->F, b->F, (size_t)(a->D * a->K) * size);
}

/* The result of rows fed in one update. */
static inline fab_gauss *fitted(const double *x, int64_t n, int64_t D, int64_t K, const char *text,
                                const fab_exec *exec)
{
    fab_gauss *copy;
    fab_fit *e = open_stream(D, K, text, exec);
    feed(e, x, 0, n, D);
    const fab_gauss *q = result_of(e);
    assert_int_equal(fab_gauss_copy(&copy, q, q->type), FAB_OK);
    fab_fit_free(e);
    return copy;
}

/* |a - b| <= tol * the largest |b| */
static inline void assert_near(const char *what, int64_t n, const double *a, const double *b,
                               double tol)
{
    double top = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, fabs(b[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= tol * top))
            fail_msg("%s[%lld] is %.17g, expected %.17g", what, (long long)i, a[i], b[i]);
}

/* ---- the tests ---------------------------------------------------------------------------------- */

enum { LONG = 3 * WARMUP + 17 };
#define VARIANTS(i) \
    ((const char *const[]){"start=orthonormal", "start=variance", "start=draft centre=running"}[i])

static void split_equals_whole(void **state)
{
    (void)state;
    double *x = draw_usual(29, 3, LONG, 1);
    for (int v = 0; v < 3; v++) {
        fab_gauss *whole = fitted(x, LONG, 29, 3, VARIANTS(v), NULL);
        fab_fit *e = open_stream(29, 3, VARIANTS(v), NULL);
        for (int64_t at = 0, n = 1; at < LONG; at += n, n = n % 13 + 1) {
            if (n > LONG - at) n = LONG - at;
            feed(e, x, at, n, 29);
        }
        assert_same_bits(result_of(e), whole);
        fab_fit_free(e);
        fab_gauss_free(whole);
    }
    free(x);
}

static void result_does_not_disturb_the_stream(void **state)
{
    (void)state;
    double *x = draw_usual(29, 3, LONG, 1);
    for (int v = 0; v < 3; v++) {
        fab_gauss *undisturbed = fitted(x, LONG, 29, 3, VARIANTS(v), NULL);
        fab_fit *e = open_stream(29, 3, VARIANTS(v), NULL);
        for (int64_t j = 0; j < LONG; j++) {
            feed(e, x, j, 1, 29);
            if (j > 0) result_of(e);
        }
        assert_same_bits(result_of(e), undisturbed);
        fab_fit_free(e);
        fab_gauss_free(undisturbed);
    }
    free(x);
}

static void saved_and_resumed(const double *x, int64_t at, const char *text, const fab_exec *exec)
{
    fab_fit *e = open_stream(29, 3, text, exec), *again;
    fab_tensors *file;
    feed(e, x, 0, at, 29);
    assert_int_equal(fab_fit_save(e, in_folder("q.safetensors"), NULL), FAB_OK);
    feed(e, x, at, LONG - at, 29);
    assert_int_equal(fab_tensors_read(&file, in_folder("q.safetensors")), FAB_OK);
    const fab_exec where = where_of(exec);
    if (fab_fit_load(&again, file, NULL, &where) != FAB_OK) fail_msg("resume: %s", fab_detail());
    fab_tensors_free(file);
    assert_int_equal(fab_fit_rows(again), at);
    feed(again, x, at, LONG - at, 29);
    assert_same_bits(result_of(again), result_of(e));
    fab_fit_free(e);
    fab_fit_free(again);
}

static void a_saved_stream_continues_to_the_same_bytes(void **state)
{
    (void)state;
    double *x = draw_usual(29, 3, LONG, 1);
    const fab_exec narrow = {.ops = KERNELS(FAB_F32)};
    for (int v = 0; v < 3; v++)
        for (int64_t at = 2; at < LONG; at += at < WARMUP - 1 || at > WARMUP + 2 ? 7 : 1) {
            saved_and_resumed(x, at, VARIANTS(v), NULL);
            if (v == 1) saved_and_resumed(x, at, VARIANTS(v), &narrow);
        }
    free(x);
}

static void a_state_of_another_shape_is_refused(void **state)
{
    (void)state;
    double *x = draw_usual(29, 3, LONG, 1);
    const fab_exec narrow = {.ops = KERNELS(FAB_F32)};
    fab_fit *e = open_stream(29, 3, "", NULL), *again;
    fab_tensors *file;
    feed(e, x, 0, LONG, 29);
    assert_int_equal(fab_fit_save(e, in_folder("q.safetensors"), NULL), FAB_OK);
    assert_int_equal(fab_tensors_read(&file, in_folder("q.safetensors")), FAB_OK);
    assert_int_equal(fab_fit_load(&again, file, NULL, &narrow),
                     FAB_BAD_FILE); /* f64 state, f32 kernels */
    assert_null(again);
    fab_tensors_free(file);
    fab_fit_free(e);
    free(x);
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    enum { D = 20011, K = 7, N = WARMUP + 20 };
    double *x = draw_usual(D, K, N, 1);
    for (int type = FAB_F64; type <= FAB_F32; type++) {
        fab_exec one = {.ops = KERNELS((fab_dtype)type), .threads = 1};
        fab_gauss *q = fitted(x, N, D, K, "", &one);
        for (int threads = 2; threads <= 4; threads += 2) {
            fab_exec more = {.ops = one.ops, .threads = threads};
            fab_gauss *p = fitted(x, N, D, K, "", &more);
            assert_same_bits(p, q);
            fab_gauss_free(p);
        }
        fab_gauss_free(q);
    }
    free(x);
}

static void update_does_not_allocate(void **state)
{
    (void)state;
    if (!COUNTS_MALLOCS) skip();
    double *x = draw_usual(29, 3, LONG, 1);
    const fab_exec one = {.threads = 1};
    fab_fit *e = open_stream(29, 3, "", &one);
    feed(e, x, 0, 2, 29); /* the BLAS makes its buffers when it is first called */
    const long before = mallocs;
    feed(e, x, 2, LONG - 2, 29);
    assert_int_equal(mallocs, before);
    result_of(e);
    assert_int_equal(mallocs, before);
    fab_fit_free(e);
    free(x);
}

static void f32_is_close_to_f64(void **state)
{
    (void)state;
    double *x = draw_usual(29, 3, LONG, 1), distance;
    float *y = malloc((size_t)LONG * 29 * sizeof *y);
    for (int64_t i = 0; i < LONG * 29; i++) y[i] = (float)x[i];
    for (int64_t i = 0; i < LONG * 29; i++) x[i] = (double)y[i];
    const fab_exec narrow = {.ops = KERNELS(FAB_F32)};
    fab_gauss *wide = fitted(x, LONG, 29, 3, "", NULL);
    fab_fit *e = open_stream(29, 3, "", &narrow);
    const fab_rows rows = {y, FAB_F32, LONG, 29};
    assert_int_equal(fab_fit_update(e, &(fab_examples){.x = rows}), FAB_OK);
    const fab_gauss *q = result_of(e);
    assert_int_equal(q->type, FAB_F32);
    assert_memory_equal(q->mu, wide->mu, 29 * 8); /* the mean is double in both */
    assert_int_equal(fab_distance_covariance(q, wide, NULL, &distance), FAB_OK);
    /* LONG steps of rounding at 6e-8; of variances too where vectors have the type of F */
    assert_true(distance < (KERNELS(FAB_F32)->vectors->size == 4 ? 4e-5 : 2e-5));
    fab_fit_free(e);
    fab_gauss_free(wide);
    free(x);
    free(y);
}

/* What comes out is a valid Gaussian, or a sentence. */
static inline fab_status fits(const double *x, int64_t n, int64_t D, int64_t K, const char *text,
                              const fab_exec *exec)
{
    const fab_gauss *q;
    fab_report d;
    fab_fit *e = open_stream(D, K, text, exec);
    const fab_rows r = rows_of(x, 0, n, D);
    fab_status s = fab_fit_update(e, &(fab_examples){.x = r});
    if (s == FAB_OK) s = fab_fit_gauss(e, &q);
    if (s == FAB_OK) {
        assert_int_equal(fab_gauss_check(q), FAB_OK);
        assert_int_equal(fab_fit_report(e, &d), FAB_OK);
        assert_int_equal(d.n, n);
        assert_true(d.floored >= 0 && d.floored <= D);
        assert_true(isnan(d.loglik_mean) == 0);
    } else
        assert_true(strlen(fab_detail()) > 10);
    fab_fit_free(e);
    return s;
}

static void odd_sizes_fit(void **state)
{
    (void)state;
    double *x = draw_usual(29, 3, LONG, 1);
    for (int v = 0; v < 3; v++) {
        const char *text = VARIANTS(v);
        assert_int_equal(fits(x, 2, 29, 3, text, NULL), FAB_OK);  /* two rows */
        assert_int_equal(fits(x, 5, 29, 13, text, NULL), FAB_OK); /* N < K */
        assert_int_equal(fits(x, WARMUP - 1, 29, 3, text, NULL), FAB_OK);
        assert_int_equal(fits(x, WARMUP, 29, 3, text, NULL), FAB_OK);
        assert_int_equal(fits(x, WARMUP + 1, 29, 3, text, NULL), FAB_OK);
        assert_int_equal(fits(x, WARMUP + 2, 29, 3, text, NULL), FAB_OK);
        assert_int_equal(fits(x, LONG, 29, 29, text, NULL), FAB_OK); /* K = D */
        assert_int_equal(fits(x, LONG, 29, 1, text, NULL), FAB_OK);
        assert_int_equal(fits(x, LONG, 1, 1, text, NULL), FAB_OK); /* D = 1 */
    }
    free(x);
}

/* Columns 0 and 4 are constant, 7 repeats 6. */
static inline double *odd_columns(double scale)
{
    double *x = draw_usual(29, 3, LONG, scale);
    for (int64_t j = 0; j < LONG; j++) {
        x[j * 29] = 0.1 * scale;
        x[j * 29 + 4] = 0;
        x[j * 29 + 7] = x[j * 29 + 6];
    }
    return x;
}

static void constant_and_repeated_columns_fit(void **state)
{
    (void)state;
    double *x = odd_columns(1);
    for (int v = 0; v < 3; v++) {
        fab_fit *e = open_stream(29, 3, VARIANTS(v), NULL);
        fab_report d;
        feed(e, x, 0, LONG, 29);
        const fab_gauss *q = result_of(e);
        assert_int_equal(fab_gauss_check(q), FAB_OK);
        assert_int_equal(fab_fit_report(e, &d), FAB_OK);
        assert_true(d.floored >= CONSTANT_FLOORED);
        assert_true(q->mu[0] == 0.1 && q->mu[4] == 0);
        fab_fit_free(e);
        assert_int_equal(fits(x, WARMUP / 2, 29, 3, VARIANTS(v), NULL), FAB_OK);
    }
    free(x);
}

/* A column that begins to vary after the warm-up is taken up. */
static void a_column_may_wake_up_late(void **state)
{
    (void)state;
    double *x = draw_usual(29, 3, LONG, 1);
    for (int64_t j = 0; j < 2 * WARMUP; j++) x[j * 29 + 5] = 0.25;
    assert_int_equal(fits(x, LONG, 29, 3, "", NULL), FAB_OK);
    for (int64_t j = 0; j < WARMUP + 5; j++) memcpy(x + j * 29, x, 29 * 8); /* no column varies */
    assert_int_equal(fits(x, LONG, 29, 3, "", NULL), FAB_OK);
    free(x);
}

static void rows_that_are_all_equal_are_refused(void **state)
{
    (void)state;
    double *x = draw_usual(29, 3, LONG, 1);
    for (int64_t j = 1; j < LONG; j++) memcpy(x + j * 29, x, 29 * 8);
    assert_int_equal(fits(x, LONG, 29, 3, "", NULL), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "no column varies"));
    assert_int_equal(fits(x, 2, 29, 3, "", NULL), FAB_BAD_DATA);
    free(x);
}

/* Valid, or a sentence that says why not. */
static void extreme_scales_are_finite_or_refused(void **state)
{
    (void)state;
    const fab_exec narrow = {.ops = KERNELS(FAB_F32)};
    const double scale[] = {1e-150, 1e150, 1e-15, 1e15};
    for (int i = 0; i < 4; i++) {
        double *x = odd_columns(scale[i]);
        for (int v = 0; v < 3; v++) {
            const fab_status s = fits(x, LONG, 29, 3, VARIANTS(v), i < 2 ? NULL : &narrow);
            if (SURVIVES_SCALES)
                assert_int_equal(s, FAB_OK);
            else
                assert_true(s == FAB_OK || s == FAB_NUMERIC);
        }
        free(x);
    }
}

static void bad_settings_are_refused(void **state)
{
    (void)state;
    const char *const bad[] = {"warmup=0",      "psi_min=0",  "psi_min=nan",
                               "forget=0.4",    "forget=1.5", "seed=-1",
                               "start=nowhere", "centre=2",   BAD_SETTINGS};
    any_settings s;
    fab_fit *e;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const fab_status parsed = try_settings(&s, 3, bad[i]);
        if (parsed == FAB_OK) assert_int_equal(create(&e, &s, 29, NULL), FAB_BAD_ARGUMENT);
    }
    assert_int_equal(try_settings(&s, 4, ""), FAB_OK); /* K > D */
    assert_int_equal(create(&e, &s, 3, NULL), FAB_BAD_ARGUMENT);
    assert_null(e);
}

static fab_status open_fit_and_close(void)
{
    static double x[2 * 29];
    any_settings s;
    fab_fit *e;
    const fab_gauss *q;
    const fab_rows rows = {x, FAB_F64, 2, 29};
    fab_random_normal(5, FAB_PURPOSE_DATA, 5, 0, 2 * 29, FAB_F64, x);
    assert_int_equal(try_settings(&s, 3, ""), FAB_OK);
    const fab_status status = create(&e, &s, 29, NULL);
    if (status != FAB_OK) return status;
    assert_int_equal(fab_fit_update(e, &(fab_examples){.x = rows}), FAB_OK);
    assert_int_equal(fab_fit_gauss(e, &q), FAB_OK);
    fab_fit_free(e);
    return FAB_OK;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(open_fit_and_close) >= 2);
}

static void bytes_is_what_a_handle_takes(void **state)
{
    (void)state;
    any_settings s;
    void *handle;
    const fab_method *m = fab_method_find(METHOD);
    assert_int_equal(try_settings(&s, 5, ""), FAB_OK);
    const fab_input in = {.vectors = 1009};
    const double bytes = m->bytes(&s, &in, 0, NULL);
    assert_true(bytes > 1009 * 5 * 8);
    assert_int_equal(m->init(&handle, &s, &in, NULL), FAB_OK);
    m->free(handle);
    assert_true(m->bytes(&s, &in, 1000000, NULL) == bytes); /* rows are forgotten */
}

/* Sample means: what is left of the running mean's rounding is a few eps a row. */
static void the_mean_is_the_mean(void **state)
{
    (void)state;
    double *x = draw_usual(29, 3, LONG, 1);
    fab_gauss *q = fitted(x, LONG, 29, 3, "", NULL);
    for (int64_t i = 0; i < 29; i++) {
        long double sum = 0;
        for (int64_t j = 0; j < LONG; j++) sum += (long double)x[j * 29 + i];
        assert_true(fabs(q->mu[i] - (double)(sum / LONG)) < 1e-13);
    }
    fab_gauss_free(q);
    free(x);
}

/* ---- kernels with memory of their own ------------------------------------------------------------- */

#ifdef AWAY_STREAMS
static void long_arrays_are_where_the_kernels_are(void **state)
{
    (void)state;
    double *x = draw_usual(29, 3, LONG, 1);
    const long before = away_calls;
    fab_fit *e = open_stream(29, 3, "", NULL);
    feed(e, x, 0, LONG, 29);
    assert_true(away_calls - before > 2 * LONG);
    assert_int_equal(away_held(), 1); /* the one block of a handle */
    fab_fit_free(e);
    assert_int_equal(away_held(), 0);
    free(x);
}

/* Saved there and continued in the host's memory, and back: to rounding, for kernels differ in that. */
static void a_stream_goes_on_in_other_memory(void **state)
{
    (void)state;
    double *x = draw_usual(29, 3, LONG, 1);
    for (int at = WARMUP / 2; at < LONG; at += WARMUP)
        for (int back = 0; back < 2; back++) {
            const fab_exec here = {.ops = fab_ops_find("cpu", FAB_F64)};
            fab_fit *e = open_stream(29, 3, "", back ? &here : NULL), *again;
            fab_tensors *file;
            feed(e, x, 0, at, 29);
            assert_int_equal(fab_fit_save(e, in_folder("q.safetensors"), NULL), FAB_OK);
            feed(e, x, at, LONG - at, 29);
            assert_int_equal(fab_tensors_read(&file, in_folder("q.safetensors")), FAB_OK);
            const fab_exec other = back ? where_of(NULL) : here;
            assert_int_equal(fab_fit_load(&again, file, NULL, &other), FAB_OK);
            fab_tensors_free(file);
            feed(again, x, at, LONG - at, 29);
            const fab_gauss *p = result_of(e), *q = result_of(again);
            assert_near("mu", 29, q->mu, p->mu, 1e-13);
            assert_near("F", 29 * 3, q->F, p->F,
                        1e-9); /* LONG steps of rounding, conditions below 1e4 */
            assert_near("psi", 29, q->psi, p->psi, 1e-9);
            fab_fit_free(e);
            fab_fit_free(again);
        }
    free(x);
}

static void methods_of_the_hosts_memory_are_refused(void **state)
{
    (void)state;
    const fab_exec x = where_of(NULL);
    int64_t refused = 0;
    for (int64_t i = 0; i < fab_method_count(); i++) {
        const fab_method *m = fab_method_at(i);
        if (!(m->takes & FAB_TAKES_VECTORS) || m->anywhere) continue;
        any_settings s;
        fab_fit *e;
        fab_settings_defaults(m->fields, &s);
        if (fab_settings_parse(m->fields, &s, "K", "2") != FAB_OK) continue;
        assert_int_equal(
            fab_fit_create(&e, m->name, &s, m->fields->size, &(fab_input){.vectors = 29}, &x),
            FAB_UNSUPPORTED);
        assert_non_null(strstr(fab_detail(), "have their own"));
        refused++;
    }
    assert_true(refused > 3);
    fab_gauss *g;
    fab_solver *solver;
    assert_int_equal(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, 29, 3), FAB_OK);
    assert_int_equal(fab_solver_create(&solver, g, &x), FAB_UNSUPPORTED);
    assert_non_null(strstr(fab_detail(), "memory of their own"));
    fab_gauss_free(g);
}
#define AWAY_TESTS                                                                     \
    , cmocka_unit_test(long_arrays_are_where_the_kernels_are),                         \
        cmocka_unit_test_setup_teardown(a_stream_goes_on_in_other_memory, make_folder, \
                                        remove_folder),                                \
        cmocka_unit_test(methods_of_the_hosts_memory_are_refused)
#else
#define AWAY_TESTS
#endif

#define STREAM_TESTS                                                                             \
    cmocka_unit_test(split_equals_whole), cmocka_unit_test(result_does_not_disturb_the_stream),  \
        cmocka_unit_test_setup_teardown(a_saved_stream_continues_to_the_same_bytes, make_folder, \
                                        remove_folder),                                          \
        cmocka_unit_test_setup_teardown(a_state_of_another_shape_is_refused, make_folder,        \
                                        remove_folder),                                          \
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),                            \
        cmocka_unit_test(update_does_not_allocate), cmocka_unit_test(f32_is_close_to_f64),       \
        cmocka_unit_test(odd_sizes_fit), cmocka_unit_test(constant_and_repeated_columns_fit),    \
        cmocka_unit_test(a_column_may_wake_up_late),                                             \
        cmocka_unit_test(rows_that_are_all_equal_are_refused),                                   \
        cmocka_unit_test(extreme_scales_are_finite_or_refused),                                  \
        cmocka_unit_test(bad_settings_are_refused),                                              \
        cmocka_unit_test(every_failed_allocation_is_reported),                                   \
        cmocka_unit_test(bytes_is_what_a_handle_takes),                                          \
        cmocka_unit_test(the_mean_is_the_mean) AWAY_TESTS

#endif
