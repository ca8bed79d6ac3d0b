/* test_dpmeans.c - dpmeans, batch and immediate, and its stream: plain loops, cost, drops, files.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/fit.h"

enum { D = 3, N = 300, MOST = 300 };

static const double *clouds(double apart, double offset)
{
    double *x = doubles(N * D);
    for (int64_t i = 0; i < N; i++)
        for (int64_t d = 0; d < D; d++)
            x[i * D + d] = offset + apart * noise(11, i % 5 * D + d) + noise(12, i * D + d);
    return x;
}

static fab_fit *fitted(const char *method, const void *s, size_t size, const double *x,
                       const double *weight)
{
    fab_fit *f;
    const fab_mixture *q;
    assert_ok(fab_fit_create(&f, method, s, size, &(fab_input){.vectors = D}, NULL));
    assert_ok(fab_fit_update(f, &(fab_examples){.x = {x, FAB_F64, N, D}, .weight = weight}));
    assert_ok(fab_fit_result(f, &q));
    return f;
}

static fab_report report_of(fab_fit *f)
{
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    return r;
}

/* The notes' algorithm with its erratum, means computed anew each time. */
typedef struct plain {
    int64_t K, label[N], passes;
    real mu[MOST][D];
} plain;

static void plain_means(plain *p, const double *x)
{
    int64_t to[MOST], kept = 0;
    for (int64_t k = 0; k < p->K; k++) {
        real sum[D] = {0}, count = 0;
        for (int64_t i = 0; i < N; i++)
            if (p->label[i] == k) {
                count += 1;
                for (int d = 0; d < D; d++) sum[d] += x[i * D + d];
            }
        to[k] = kept;
        if (!(count > 0)) continue;
        for (int d = 0; d < D; d++) p->mu[kept][d] = sum[d] / count;
        kept++;
    }
    for (int64_t i = 0; i < N; i++) p->label[i] = to[p->label[i]];
    p->K = kept;
}

static real plain_square(const plain *p, const double *x, int64_t i, int64_t k)
{
    real square = 0;
    for (int d = 0; d < D; d++)
        square += (x[i * D + d] - p->mu[k][d]) * (x[i * D + d] - p->mu[k][d]);
    return square;
}

static void plain_dpmeans(plain *p, const double *x, double lambda, int immediate)
{
    *p = (plain){.K = 1};
    plain_means(p, x);
    for (int changed = 1; changed; p->passes++) {
        changed = 0;
        for (int64_t i = 0; i < N; i++) {
            int64_t best = 0;
            for (int64_t k = 1; k < p->K; k++)
                if (plain_square(p, x, i, k) < plain_square(p, x, i, best)) best = k;
            if (plain_square(p, x, i, best) > lambda) {
                best = p->K++;
                for (int d = 0; d < D; d++) p->mu[best][d] = x[i * D + d];
            }
            if (p->label[i] == best) continue;
            p->label[i] = best;
            changed = 1;
            if (immediate) plain_means(p, x);
        }
        plain_means(p, x);
    }
}

static void passes_are_those_of_plain_loops(void **state)
{
    (void)state;
    static const double lambda[] = {0.2, 1, 3, 12, 1e4};
    for (int c = 0; c < 20; c++) {
        const int immediate = c % 2, far = c / 2 % 2;
        const double *x = clouds(3, far ? 1024 : 0);
        fab_dpmeans_settings s = fab_dpmeans_defaults(lambda[c / 4]);
        s.update = immediate;
        plain *p = dense_bytes(sizeof *p);
        plain_dpmeans(p, x, s.lambda, immediate);
        fab_fit *f = fitted("dpmeans", &s, sizeof s, x, NULL);
        const fab_mixture *q;
        real W = 0;
        for (int64_t i = 0; i < N; i++) W += plain_square(p, x, i, p->label[i]);
        assert_ok(fab_fit_result(f, &q));
        assert_int_equal(q->n, p->K);
        assert_int_equal(report_of(f).iterations, p->passes);
        assert_int_equal(report_of(f).converged, 1);
        assert_near(report_of(f).cost, W, 1e-10 * W);
        for (int64_t k = 0; k < q->n; k++)
            for (int d = 0; d < D; d++) assert_near(q->part[k]->mu[d], p->mu[k][d], 1e-10);
        fab_fit_free(f);
    }
}

static void more_passes_never_cost_more(void **state)
{
    (void)state;
    const double *x = clouds(1, 0);
    for (int64_t update = 0; update < 2; update++) {
        double before = INFINITY;
        for (int64_t most = 1; most < 12; most++) {
            fab_dpmeans_settings s = fab_dpmeans_defaults(0.7);
            const fab_mixture *q;
            s.update = update;
            s.max_iter = most;
            fab_fit *f = fitted("dpmeans", &s, sizeof s, x, NULL);
            assert_ok(fab_fit_result(f, &q));
            const double cost = report_of(f).cost + s.lambda * (double)q->n;
            assert_true(cost <= before * (1 + 1e-14));
            before = cost;
            fab_fit_free(f);
        }
    }
}

/* A lambda of nearly 0: every distinct row, far from 0 too; lambda above all distances: one. */
static void lambda_ranges_from_every_row_to_one_cluster(void **state)
{
    (void)state;
    double x[N * D];
    for (int64_t i = 0; i < N * D; i++)
        x[i] = 1000.1 + 0.3 * (double)(i / D % 7) * (double)(1 + i % D);
    static const char *const method[] = {"dpmeans", "online-dpmeans"};
    for (int m = 0; m < 2; m++) {
        const fab_mixture *q;
        const fab_dpmeans_settings none = fab_dpmeans_defaults(1e-300),
                                   all = fab_dpmeans_defaults(1e6);
        const fab_online_dpmeans_settings none_on = fab_online_dpmeans_defaults(1e-300),
                                          all_on = fab_online_dpmeans_defaults(1e6);
        fab_fit *f = m ? fitted(method[m], &none_on, sizeof none_on, x, NULL)
                       : fitted(method[m], &none, sizeof none, x, NULL);
        fab_fit *g = m ? fitted(method[m], &all_on, sizeof all_on, x, NULL)
                       : fitted(method[m], &all, sizeof all, x, NULL);
        assert_ok(fab_fit_result(f, &q));
        assert_int_equal(q->n, 7);
        assert_int_equal(report_of(f).floored, D);
        assert_int_equal(report_of(f).converged, m ? -1 : 1);
        assert_ok(fab_fit_result(g, &q));
        assert_int_equal(q->n, 1);
        for (int d = 0; d < D; d++) {
            real mean = 0;
            for (int64_t i = 0; i < N; i++) mean += x[i * D + d];
            assert_near(q->part[0]->mu[d], mean / N, 1e-10);
        }
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

static void the_stream_is_that_of_plain_loops(void **state)
{
    (void)state;
    const double *x = clouds(3, 0);
    double *weight = doubles(N);
    for (int64_t i = 0; i < N; i++) weight[i] = 1.5 + noise(8, i);
    const fab_online_dpmeans_settings s = fab_online_dpmeans_defaults(2);
    plain p = {0};
    real count[MOST] = {0}, W = 0;
    for (int64_t i = 0; i < N; i++) {
        int64_t best = 0;
        for (int64_t k = 1; k < p.K; k++)
            if (plain_square(&p, x, i, k) < plain_square(&p, x, i, best)) best = k;
        if (p.K == 0 || weight[i] * plain_square(&p, x, i, best) > s.lambda)
            best = p.K++;
        else
            W += weight[i] * plain_square(&p, x, i, best);
        count[best] += weight[i];
        for (int d = 0; d < D; d++)
            p.mu[best][d] += weight[i] / count[best] * (x[i * D + d] - p.mu[best][d]);
    }
    fab_fit *f = fitted("online-dpmeans", &s, sizeof s, x, weight);
    const fab_mixture *q;
    assert_ok(fab_fit_result(f, &q));
    assert_int_equal(q->n, p.K);
    assert_true(p.K > 4);
    for (int64_t k = 0; k < p.K; k++)
        for (int d = 0; d < D; d++) assert_near(q->part[k]->mu[d], p.mu[k][d], 1e-13);
    assert_near(report_of(f).cost, W, 1e-12 * W);
    fab_fit_free(f);
}

static void a_saved_stream_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    const double *x = clouds(3, 0);
    const fab_online_dpmeans_settings s = fab_online_dpmeans_defaults(1);
    fab_fit *f = fitted("online-dpmeans", &s, sizeof s, x, NULL), *g, *h;
    void *a, *b, *bytes;
    size_t m, n, size;
    fab_tensors *t;
    assert_ok(fab_fit_create(&g, "online-dpmeans", &s, sizeof s, &(fab_input){.vectors = D}, NULL));
    assert_ok(fab_fit_update(g, &(fab_examples){.x = {x, FAB_F64, 101, D}}));
    assert_ok(fab_fit_pack(g, 0, NULL, &bytes, &size));
    assert_ok(fab_tensors_parse(&t, "bytes", bytes, size));
    assert_ok(fab_fit_load(&h, t, NULL, NULL));
    assert_ok(fab_fit_update(h, &(fab_examples){.x = {x + 101 * D, FAB_F64, N - 101, D}}));
    assert_ok(fab_fit_pack(f, 0, NULL, &a, &m));
    assert_ok(fab_fit_pack(h, 0, NULL, &b, &n));
    assert_int_equal(m, n);
    assert_memory_equal(a, b, m);
    fab_bytes_free(a);
    fab_bytes_free(b);
    fab_bytes_free(bytes);
    fab_tensors_free(t);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_fit_free(h);
}

static const double *rows_now;
static const char *method_now;

static fab_status fit_once(void)
{
    const fab_dpmeans_settings s = fab_dpmeans_defaults(0.1);
    const fab_online_dpmeans_settings t = fab_online_dpmeans_defaults(0.1);
    const int stream = method_now[0] == 'o';
    const fab_mixture *q;
    fab_fit *f;
    fab_status done = fab_fit_create(&f, method_now, stream ? (const void *)&t : &s,
                                     stream ? sizeof t : sizeof s, &(fab_input){.vectors = D},
                                     NULL);
    if (done == FAB_OK) done = fab_fit_update(f, &(fab_examples){.x = {rows_now, FAB_F64, 100, D}});
    if (done == FAB_OK) done = fab_fit_result(f, &q);
    fab_fit_free(f);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    rows_now = clouds(3, 0);
    method_now = "dpmeans";
    assert_true(fail_every_allocation(fit_once) >= 8);
    method_now = "online-dpmeans";
    assert_true(fail_every_allocation(fit_once) >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(passes_are_those_of_plain_loops),
        TEST(more_passes_never_cost_more),
        TEST(lambda_ranges_from_every_row_to_one_cluster),
        TEST(the_stream_is_that_of_plain_loops),
        TEST(a_saved_stream_goes_on_to_the_same_bytes),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
