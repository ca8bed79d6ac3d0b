/* test_comm.c - a fit over several processes: each holds some coordinates, and together they are one.
 *
 * Processes are threads here, and their sum a barrier.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fa_case.h"
#include "fabayes/net.h"
#include <pthread.h>

enum { RANKS = 2, ROOM = 1 << 16, D = 29, K = 3 };
static const int64_t first[RANKS + 1] = {0, 11, D};

/* ---- the sum ---------------------------------------------------------------------------------------- */

typedef struct world {
    pthread_barrier_t barrier;
    double part[RANKS][ROOM];
} world;

typedef struct rank {
    world *w;
    int64_t number;
    const char *method, *text;
    const fab_ops *ops;
    const fab_rows *rows; /* of all coordinates */
    fab_status status;
    char said[256];
    fab_gauss *q;
    fab_report report;
} rank;

static fab_status add_up(void *ctx, double *buf, int64_t n)
{
    const rank *r = ctx;
    memcpy(r->w->part[r->number], buf, (size_t)n * sizeof *buf);
    pthread_barrier_wait(&r->w->barrier);
    memset(buf, 0, (size_t)n * sizeof *buf);
    for (int64_t k = 0; k < RANKS; k++)
        for (int64_t i = 0; i < n; i++) buf[i] += r->w->part[k][i];
    pthread_barrier_wait(&r->w->barrier);
    return FAB_OK;
}

static fab_status fit_part(rank *r)
{
    const int64_t from = first[r->number], n = first[r->number + 1] - from;
    const fab_comm comm = {from, D, add_up, r};
    const fab_exec x = {.ops = r->ops, .comm = &comm, .threads = 1};
    const any_settings s = settings_of(r->method, K, r->text);
    const fab_gauss *q;
    fab_fit *e;
    fab_status status = fab_fit_create(&e, r->method, &s, fab_method_find(r->method)->fields->size,
                                       &(fab_input){.vectors = n}, &x);
    if (status != FAB_OK) return status;
    fab_rows part = *r->rows;
    part.p = (const double *)part.p + from;
    status = fab_fit_update(e, &(fab_examples){.x = part});
    if (status == FAB_OK) status = fab_fit_gauss(e, &q);
    if (status == FAB_OK) status = fab_gauss_copy(&r->q, q, q->type);
    if (status == FAB_OK) status = fab_fit_report(e, &r->report);
    fab_fit_free(e);
    return status;
}

static void *run_rank(void *p)
{
    rank *r = p;
    r->status = fit_part(r);
    snprintf(r->said, sizeof r->said, "%s", r->status == FAB_OK ? "" : fab_detail());
    return NULL;
}

static void run_ranks(rank r[RANKS], const rank *proto)
{
    static world w;
    pthread_t thread[RANKS];
    assert_int_equal(pthread_barrier_init(&w.barrier, NULL, RANKS), 0);
    for (int64_t k = 0; k < RANKS; k++) {
        r[k] = *proto;
        r[k].w = &w;
        r[k].number = k;
        assert_int_equal(pthread_create(&thread[k], NULL, run_rank, &r[k]), 0);
    }
    for (int64_t k = 0; k < RANKS; k++) pthread_join(thread[k], NULL);
    pthread_barrier_destroy(&w.barrier);
}

/* ---- the tests -------------------------------------------------------------------------------------- */

static double f_at(const fab_gauss *q, int64_t at)
{
    return q->type == FAB_F32 ? (double)((const float *)q->F)[at] : ((const double *)q->F)[at];
}

/* The parts of all ranks are the whole of one process to rounding, and all of them report what it reports. */
static void check_ranks(const char *method, const char *text, fab_dtype type, const fab_rows *rows,
                        double tol)
{
    const fab_exec alone = {.ops = fab_ops_find("cpu", type), .threads = 1};
    fab_report d;
    rank r[RANKS];
    fab_gauss *whole = fa_fit(method, K, text, &alone, rows, &d);
    double top = 0;
    for (int64_t i = 0; i < D * K; i++) top = fmax(top, fabs(f_at(whole, i)));
    run_ranks(r, &(rank){.method = method, .text = text, .ops = alone.ops, .rows = rows});
    for (int64_t k = 0; k < RANKS; k++) {
        if (r[k].status != FAB_OK) fail_msg("%s %s: %s", method, text, r[k].said);
        const fab_gauss *q = r[k].q;
        for (int64_t i = 0; i < q->D; i++) {
            const int64_t at = first[k] + i;
            assert_true(fabs(q->mu[i] - whole->mu[at]) <= 1e-12 * (1 + fabs(whole->mu[at])));
            if (!(fabs(q->psi[i] / whole->psi[at] - 1) <= tol))
                fail_msg("%s %s: psi[%lld] is %.17g, expected %.17g", method, text, (long long)at,
                         q->psi[i], whole->psi[at]);
            for (int64_t c = 0; c < K; c++)
                assert_true(fabs(f_at(q, i * K + c) - f_at(whole, at * K + c)) <= tol * top);
        }
        if (!(fabs(r[k].report.loglik_mean - d.loglik_mean) <= tol * fabs(d.loglik_mean)))
            fail_msg("%s %s: rank %lld reports %.17g, expected %.17g", method, text, (long long)k,
                     r[k].report.loglik_mean, d.loglik_mean);
        assert_int_equal(r[k].report.floored, d.floored);
        fab_gauss_free(r[k].q);
    }
    fab_gauss_free(whole);
}

/* 317 rows; two columns are constant, one on each rank. */
static fab_rows some_rows(void)
{
    double *x = fa_rows(D, K, 317, 2385);
    for (int64_t j = 0; j < 317; j++) x[j * D + 4] = 0.25, x[j * D + 23] = 0;
    return rows_of(x, 0, 317, D);
}

static void streams_of_single_rows_are_those_of_one_process(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    static const char *const method[] = {"online-em", "stochastic-em", "online-sga"};
    static const char *const text[] = {"start=orthonormal", "start=variance", "warmup=400"};
    for (int m = 0; m < 3; m++)
        for (int t = 0; t < 3; t++) {
            check_ranks(method[m], text[t], FAB_F64, &rows, 1e-9);
            check_ranks(method[m], text[t], FAB_F32, &rows, 2e-3);
        }
    check_ranks("online-em", "expand=0 forget=0.99", FAB_F64, &rows, 1e-9);
    check_ranks("stochastic-em", "average_from=200", FAB_F64, &rows, 1e-9);
}

/* 7 x 9 pending rows stay behind the last block; the automatic rank and block are those of all coordinates. */
static void recursive_em_is_that_of_one_process(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    static const char *const text[] = {"block=20 warmup=25", "block=20 warmup=25 inner_rank=3",
                                       "block=1 warmup=25", "block=40 warmup=25 start=random",
                                       "block=20 warmup=25 inner_rank=13 forget=0.99"};
    for (int t = 0; t < 5; t++) check_ranks("recursive-em", text[t], FAB_F64, &rows, 1e-7);
}

/* rank 0 has 11 coordinates, fewer than the rank kept inside; a block of `memory` is the same on both. */
static void automatic_settings_are_those_of_all_coordinates(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    check_ranks("recursive-em", "memory=0.006 inner_rank=14 warmup=25", FAB_F64, &rows, 1e-7);
}

static void what_runs_in_one_process_refuses_several(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    static const char *const method[] = {"ml", "em", "ppca", "pca"};
    for (int m = 0; m < 4; m++) {
        char sentence[64];
        rank r[RANKS];
        snprintf(sentence, sizeof sentence, "%s: runs in one process", method[m]);
        run_ranks(r, &(rank){.method = method[m], .text = "", .rows = &rows});
        for (int64_t k = 0; k < RANKS; k++) {
            assert_int_equal(r[k].status, FAB_UNSUPPORTED);
            assert_string_equal(r[k].said, sentence);
        }
        const fab_comm zeros = {0}; /* alone */
        fab_gauss_free(fa_fit(method[m], K, "", &(fab_exec){.comm = &zeros}, &rows, NULL));
    }
    rank r[RANKS];
    run_ranks(r, &(rank){.method = "online-em", .text = "start=draft", .rows = &rows});
    assert_int_equal(r[0].status, FAB_UNSUPPORTED);
    assert_non_null(strstr(r[0].said, "start = draft runs in one process"));
}

/* Of a model all coordinates are in one process.  1 where the method takes it. */
static int refuses_several(const char *method, const fab_model *m, const fab_exec *x)
{
    const fab_input in = {.model = m};
    const fab_comm zeros = {0}; /* alone */
    const fab_exec alone = {.comm = &zeros, .threads = 1};
    fab_fit *f;
    if (fab_fit_create(&f, method, NULL, 0, &in, &alone) != FAB_OK) return 0;
    fab_fit_free(f);
    assert_refused(fab_fit_create(&f, method, NULL, 0, &in, x), FAB_UNSUPPORTED,
                   ": runs in one process");
    assert_null(f);
    return 1;
}

/* Every method of the list: divided it is that of one process, or it says that it cannot be. */
static void every_method_is_divided_or_refuses(void **state)
{
    (void)state;
    static const char *const divided[] = {"recursive-em", "online-em", "stochastic-em",
                                          "online-sga"};
    const fab_rows rows = some_rows();
    fab_glm number = {.D = 3, .classes = 1, .intercept = 1, .beta = 1}, yes = number;
    yes.likelihood = FAB_LIKELIHOOD_BERNOULLI;
    const fab_model of_numbers = fab_model_linear(&number), of_classes = fab_model_linear(&yes);
    const fab_net_plan plan = {"mlp:2", 3, .classes = 1, .beta = 1};
    fab_net *net;
    assert_ok(fab_net_create(&net, &plan, NULL));
    const int64_t models = FAB_TAKES_LINEAR | FAB_TAKES_GRADIENT | FAB_TAKES_EXAMPLES |
                           FAB_TAKES_JACOBIAN;
    rank r = {0};
    const fab_comm comm = {0, 7, add_up, &r};
    const fab_exec x = {.comm = &comm, .threads = 1};
    for (int64_t i = 0; i < fab_method_count(); i++) {
        const fab_method *m = fab_method_at(i);
        const char *name = fab_method_name(m);
        const int64_t takes = fab_method_takes(m);
        int splits = 0;
        for (int k = 0; k < 4; k++) splits |= strcmp(name, divided[k]) == 0;
        if (splits)
            check_ranks(name,
                        strcmp(name, "recursive-em") == 0 ? "block=20 warmup=25" : "warmup=25",
                        FAB_F64, &rows, 1e-7);
        if (takes & FAB_TAKES_VECTORS && !splits) {
            rank all[RANKS];
            run_ranks(all, &(rank){.method = name, .text = "", .rows = &rows});
            for (int k = 0; k < RANKS; k++) {
                assert_int_equal(all[k].status, FAB_UNSUPPORTED);
                assert_non_null(strstr(all[k].said, ": runs in one process"));
            }
        }
        if (!(takes & models)) continue;
        const int taken = refuses_several(name, &of_numbers, &x) +
                          refuses_several(name, &of_classes, &x) +
                          refuses_several(name, fab_net_model(net), &x);
        if (!taken) fail_msg("%s takes none of these models", name);
    }
    fab_net_free(net);
}

static void coordinates_that_do_not_add_up_are_refused(void **state)
{
    (void)state;
    fab_fit *e;
    rank r = {0};
    const fab_comm comm = {0, 7, add_up, &r};
    const any_settings s = settings_of("online-em", K, "");
    assert_refused(fab_fit_create(&e, "online-em", &s, fab_method_find("online-em")->fields->size,
                                  &(fab_input){.vectors = 11}, &(fab_exec){.comm = &comm}),
                   FAB_BAD_ARGUMENT, "11 coordinates here, and 7 in all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(streams_of_single_rows_are_those_of_one_process),
        TEST(recursive_em_is_that_of_one_process),
        TEST(automatic_settings_are_those_of_all_coordinates),
        TEST(what_runs_in_one_process_refuses_several),
        TEST(every_method_is_divided_or_refuses),
        TEST(coordinates_that_do_not_add_up_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
