/* test_minibatch_kmeans.c - K-means of a stream: plain loops, pieces, files, starving centroids.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/fit.h"

enum { D = 5, G = 4, N = 1000, BLOCK = 64, WARM = 128 };

static const double *clouds(double apart)
{
    double *x = doubles(N * D);
    for (int64_t i = 0; i < N; i++)
        for (int64_t d = 0; d < D; d++)
            x[i * D + d] = apart * noise(11, i % G * D + d) + noise(12, i * D + d);
    return x;
}

static fab_minibatch_kmeans_settings small(void)
{
    fab_minibatch_kmeans_settings s = fab_minibatch_kmeans_defaults(G);
    s.block = BLOCK;
    s.warmup = WARM;
    return s;
}

static fab_fit *begin(const fab_minibatch_kmeans_settings *s, int64_t threads,
                      const fab_mixture *start)
{
    fab_fit *f;
    assert_ok(fab_fit_create(&f, "minibatch-kmeans", s, sizeof *s,
                             &(fab_input){.vectors = D, .start = start},
                             &(fab_exec){.threads = threads}));
    return f;
}

static void feed(fab_fit *f, const double *x, int64_t from, int64_t to, const double *weight)
{
    assert_ok(fab_fit_update(f, &(fab_examples){.x = {x + from * D, FAB_F64, to - from, D},
                                                .weight = weight ? weight + from : NULL}));
}

static fab_report report_of(fab_fit *f)
{
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    return r;
}

static void same_bytes(fab_fit *f, fab_fit *g)
{
    void *a, *b;
    size_t m, n;
    assert_ok(fab_fit_pack(f, 0, NULL, &a, &m));
    assert_ok(fab_fit_pack(g, 0, NULL, &b, &n));
    assert_int_equal(m, n);
    assert_memory_equal(a, b, m);
    fab_bytes_free(a);
    fab_bytes_free(b);
    fab_fit_free(f);
    fab_fit_free(g);
}

/* The start by kmeans on the first rows, then 2 and 3 in quadruple precision. */
static void blocks_are_those_of_plain_loops(void **state)
{
    (void)state;
    const double *x = clouds(1);
    for (int how = 0; how < 3; how++) {
        fab_minibatch_kmeans_settings s = small();
        const fab_kmeans_settings first = {.G = G,
                                           .restarts = s.restarts,
                                           .max_iter = s.max_iter,
                                           .floor = s.floor,
                                           .seed = s.seed};
        const fab_mixture *q;
        const fab_tensors *more;
        fab_fit *warm;
        real mu[G][D], count[G], W, n = WARM;
        s.fade = how == 1 ? 2 : 0;
        s.forget = how == 2 ? 0.999 : 1;
        assert_ok(fab_fit_create(&warm, "kmeans", &first, sizeof first, &(fab_input){.vectors = D},
                                 NULL));
        assert_ok(fab_fit_update(warm, &(fab_examples){.x = {x, FAB_F64, WARM, D}}));
        assert_ok(fab_fit_result(warm, &q));
        assert_ok(fab_fit_tensors(warm, &more));
        for (int k = 0; k < G; k++) {
            count[k] = ((const double *)fab_tensors_find(more, "counts")->data)[k];
            for (int d = 0; d < D; d++) mu[k][d] = q->part[k]->mu[d];
        }
        W = report_of(warm).cost;
        fab_fit_free(warm);
        for (int64_t from = WARM; from < N; from += BLOCK) {
            const int64_t m = N - from < BLOCK ? N - from : BLOCK;
            real sum[G][D] = {{0}}, here[G] = {0};
            for (int64_t i = from; i < from + m; i++) {
                real least = INFINITY;
                int best = 0;
                for (int k = 0; k < G; k++) {
                    real square = 0;
                    for (int d = 0; d < D; d++)
                        square += (x[i * D + d] - mu[k][d]) * (x[i * D + d] - mu[k][d]);
                    if (square < least) least = square, best = k;
                }
                W += least;
                here[best] += 1;
                for (int d = 0; d < D; d++) sum[best][d] += x[i * D + d];
            }
            const real keep = how == 1   ? n / (n + m) * (n / (n + m))
                              : how == 2 ? pow(0.999, (double)m)
                                         : 1;
            n += m;
            for (int k = 0; k < G; k++) {
                count[k] = keep * count[k] + here[k];
                for (int d = 0; d < D && here[k] > 0; d++)
                    mu[k][d] += here[k] / count[k] * (sum[k][d] / here[k] - mu[k][d]);
            }
        }
        fab_fit *f = begin(&s, 2, NULL);
        feed(f, x, 0, N, NULL);
        assert_ok(fab_fit_result(f, &q));
        real all = 0;
        for (int k = 0; k < G; k++) all += count[k];
        for (int k = 0; k < G; k++) {
            assert_near(q->weight[k], count[k] / all, 1e-12);
            for (int d = 0; d < D; d++) assert_near(q->part[k]->mu[d], mu[k][d], 1e-12);
        }
        assert_near(report_of(f).cost, W, 1e-12 * W);
        assert_near(q->part[0]->psi[0], W / (N * D), 1e-12 * W);
        fab_fit_free(f);
    }
}

static void how_rows_are_split_does_not_matter(void **state)
{
    (void)state;
    const double *x = clouds(2);
    double *weight = doubles(N);
    const fab_minibatch_kmeans_settings s = small();
    for (int64_t i = 0; i < N; i++) weight[i] = 1.5 + noise(8, i);
    static const int64_t piece[] = {1, 7, 64, 100, 999};
    for (size_t k = 0; k < sizeof piece / sizeof *piece; k++) {
        fab_fit *f = begin(&s, 1, NULL), *g = begin(&s, 3, NULL);
        feed(f, x, 0, N, weight);
        for (int64_t i = 0; i < N; i += piece[k]) {
            const fab_mixture *q;
            feed(g, x, i, i + piece[k] < N ? i + piece[k] : N, weight);
            if (i > 500 && k > 0) assert_ok(fab_fit_result(g, &q)); /* asking changes nothing */
        }
        same_bytes(f, g);
    }
}

static void rows_in_f32_are_the_same_rows(void **state)
{
    (void)state;
    const double *x = clouds(2);
    float *y = dense_bytes(N * D * sizeof *y);
    double *z = doubles(N * D);
    const fab_minibatch_kmeans_settings s = small();
    for (int64_t i = 0; i < N * D; i++) z[i] = y[i] = (float)x[i];
    fab_fit *f = begin(&s, 1, NULL), *g = begin(&s, 1, NULL);
    feed(f, z, 0, N, NULL);
    assert_ok(fab_fit_update(g, &(fab_examples){.x = {y, FAB_F32, N, D}}));
    same_bytes(f, g);
}

static void a_saved_stream_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    const double *x = clouds(2);
    const fab_minibatch_kmeans_settings s = small();
    static const int64_t cut[] = {50, WARM, 300, 704};
    for (size_t k = 0; k < sizeof cut / sizeof *cut; k++) {
        fab_fit *f = begin(&s, 1, NULL), *g = begin(&s, 1, NULL), *h;
        void *bytes;
        size_t size;
        fab_tensors *t;
        feed(f, x, 0, N, NULL);
        feed(g, x, 0, cut[k], NULL);
        assert_ok(fab_fit_pack(g, 0, NULL, &bytes, &size));
        assert_ok(fab_tensors_parse(&t, "bytes", bytes, size));
        assert_ok(fab_fit_load(&h, t, NULL, NULL));
        feed(h, x, cut[k], N, NULL);
        same_bytes(f, h);
        fab_tensors_free(t);
        fab_bytes_free(bytes);
        fab_fit_free(g);
    }
}

/* Three clouds at first, and a fourth far away that begins when the centroids are all taken: one of two that share a cloud starves
 * only when nothing comes to it, so the second half leaves one cloud out. */
static void a_centroid_that_starves_moves_to_a_far_row(void **state)
{
    (void)state;
    double *x = doubles(N * D);
    fab_minibatch_kmeans_settings s = small();
    s.forget = 0.99;
    for (int64_t i = 0; i < N; i++) {
        const int64_t cloud = i < N / 2 ? i % 4 : i % 4 == 3 ? 4 : i % 4;
        for (int64_t d = 0; d < D; d++)
            x[i * D + d] = 50 * noise(11, cloud * D + d) + noise(12, i * D + d);
    }
    fab_fit *f = begin(&s, 1, NULL);
    const fab_mixture *q;
    feed(f, x, 0, N, NULL);
    assert_true(report_of(f).moved >= 1);
    assert_ok(fab_fit_result(f, &q));
    double least = INFINITY;
    for (int k = 0; k < G; k++) {
        double square = 0;
        for (int d = 0; d < D; d++) {
            const double e = q->part[k]->mu[d] - 50 * noise(11, 4 * D + d);
            square += e * e;
        }
        least = square < least ? square : least;
    }
    assert_true(least < 1); /* of a cloud of 1000 / 8 rows of width 0.6 */
    fab_fit_free(f);
}

static void it_begins_where_it_is_told(void **state)
{
    (void)state;
    const double *x = clouds(3);
    const fab_minibatch_kmeans_settings s = small();
    fab_fit *f = begin(&s, 1, NULL), *g;
    const fab_mixture *q, *r;
    feed(f, x, 0, N, NULL);
    assert_ok(fab_fit_result(f, &q));
    g = begin(&s, 1, q);
    feed(g, x, 0, 10, NULL);
    assert_ok(fab_fit_result(g, &r));
    for (int k = 0; k < G; k++)
        assert_true(r->weight[k] > 0 || r->part[k]->mu[0] == q->part[k]->mu[0]);
    feed(g, x, 10, N, NULL);
    assert_ok(fab_fit_result(g, &r));
    for (int k = 0; k < G; k++)
        for (int d = 0; d < D; d++) assert_near(r->part[k]->mu[d], q->part[k]->mu[d], 0.3);
    fab_fit_free(f);
    fab_fit_free(g);
}

static void bad_input_is_answered_with_a_sentence(void **state)
{
    (void)state;
    double x[N * D];
    fab_fit *f;
    const fab_mixture *q;
    fab_minibatch_kmeans_settings s = small();
    for (int i = 0; i < N * D; i++) x[i] = i / D % 3;
    f = begin(&s, 1, NULL);
    assert_refused(fab_fit_update(f, &(fab_examples){.x = {x, FAB_F64, N, D}}), FAB_BAD_DATA,
                   "the first 128 rows: kmeans: 3 distinct rows for G = 4 clusters");
    assert_refused(fab_fit_update(f, &(fab_examples){.x = {x, FAB_F64, N, D}}), FAB_BAD_DATA,
                   "give a larger warmup");
    fab_fit_free(f);
    f = begin(&s, 1, NULL);
    feed(f, x, 0, 2, NULL);
    assert_refused(fab_fit_result(f, &q), FAB_BAD_DATA, "2 rows for G = 4 clusters");
    feed(f, clouds(1), 0, 2, NULL);
    assert_ok(fab_fit_result(f, &q));
    fab_fit_free(f);
    s.warmup = 3;
    assert_refused(
        fab_fit_create(&f, "minibatch-kmeans", &s, sizeof s, &(fab_input){.vectors = D}, NULL),
        FAB_BAD_ARGUMENT, "warmup = 3 for G = 4");
}

static const double *rows_now;

static fab_status fit_once(void)
{
    const fab_minibatch_kmeans_settings s = small();
    const fab_mixture *q;
    fab_fit *f;
    fab_status done =
        fab_fit_create(&f, "minibatch-kmeans", &s, sizeof s, &(fab_input){.vectors = D}, NULL);
    if (done == FAB_OK) done = fab_fit_update(f, &(fab_examples){.x = {rows_now, FAB_F64, 200, D}});
    if (done == FAB_OK) done = fab_fit_result(f, &q);
    fab_fit_free(f);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    rows_now = clouds(1);
    assert_true(fail_every_allocation(fit_once) >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(blocks_are_those_of_plain_loops),
        TEST(how_rows_are_split_does_not_matter),
        TEST(rows_in_f32_are_the_same_rows),
        TEST(a_saved_stream_goes_on_to_the_same_bytes),
        TEST(a_centroid_that_starves_moves_to_a_far_row),
        TEST(it_begins_where_it_is_told),
        TEST(bad_input_is_answered_with_a_sentence),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
