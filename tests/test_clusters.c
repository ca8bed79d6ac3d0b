/* test_clusters.c - clusters of a table: units, the number of them by BIC, files, rows in clusters, partitions.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fa_case.h"
#include "files.h"
#include "fabayes/table.h"

enum { D = 3, N = 240 };

/* Three clusters of one factor each; the second column in other units. */
static double *some_table(int64_t n, int64_t *label)
{
    double *x = doubles(n * D), *noise = doubles(n * (D + 1));
    fab_random_normal(5, FAB_PURPOSE_DATA, 0, 0, n * (D + 1), FAB_F64, noise);
    for (int64_t j = 0; j < n; j++) {
        const int64_t g = j % 7 < 3 ? 0 : j % 7 < 5 ? 1 : 2;
        for (int64_t i = 0; i < D; i++)
            x[j * D + i] = 6.0 * (double)((g + i) % 3) + 0.5 * noise[j * (D + 1) + i] +
                           (i == g ? 1.5 : 0.2) * noise[j * (D + 1) + D];
        x[j * D + 1] = 1000 + 250 * x[j * D + 1];
        if (label) label[j] = g;
    }
    return x;
}

static fab_source *open_table(const double *x, int64_t n)
{
    fab_source *s;
    fab_arrays *a = dense_bytes(sizeof *a); /* which the source borrows */
    *a = (fab_arrays){.n = n, .x = x, .D = D};
    assert_ok(fab_source_open_arrays(&s, a, NULL));
    return s;
}

static fab_clusters *cluster(fab_source *s, fab_clusters_plan plan)
{
    fab_clusters *f;
    plan.source = s;
    assert_ok(fab_clusters_create(&f, &plan, NULL));
    assert_ok(fab_clusters_read(f));
    return f;
}

static void bic_finds_the_clusters_and_their_factors(void **state)
{
    (void)state;
    double *x = some_table(N, NULL);
    fab_source *s = open_table(x, N);
    fab_clusters *f =
        cluster(s, (fab_clusters_plan){.method = "mfa", .G = FAB_AUTO_I64, .q = FAB_AUTO_I64});
    const fab_mixture *q;
    const fab_clusters_candidate *c;
    fab_clusters_report r;
    double least = INFINITY;
    assert_ok(fab_clusters_result(f, &q));
    assert_ok(fab_clusters_report_of(f, &r));
    assert_int_equal(q->n, 3);
    assert_int_equal(q->part[0]->K, 1);
    const int64_t n = fab_clusters_candidates(f, &c);
    assert_true(n > 5);
    for (int64_t i = 0; i < n; i++) least = fmin(least, c[i].bic);
    assert_near(r.bic, least, 1e-9 * fabs(least));
    assert_near(r.parameters, 2 + 3 * (D + D + D), 0);
    assert_near(r.bic, -2 * N * r.loglik_mean + r.parameters * log(N), 1e-9 * fabs(least));
    fab_clusters_free(f);
    fab_source_close(s);
}

/* Eight rows that are one: a part around them alone is as likely as the floor lets it. */
static void a_cluster_that_has_collapsed_is_not_chosen(void **state)
{
    (void)state;
    double *x = some_table(N, NULL);
    for (int64_t j = 0; j < 8; j++)
        for (int64_t i = 0; i < D; i++) x[j * D + i] = i == 1 ? 9000 : 40;
    fab_source *s = open_table(x, N);
    fab_clusters *f = cluster(s, (fab_clusters_plan){.method = "gmm", .G = FAB_AUTO_I64});
    const fab_clusters_candidate *c;
    double least = INFINITY, eligible = INFINITY;
    int64_t chosen = -1;
    const int64_t n = fab_clusters_candidates(f, &c);
    for (int64_t i = 0; i < n; i++) {
        least = fmin(least, c[i].bic);
        if (!c[i].collapsed) eligible = fmin(eligible, c[i].bic);
        if (!c[i].chosen) continue;
        assert_int_equal(chosen, -1);
        chosen = i;
    }
    assert_true(chosen >= 0 && !c[chosen].collapsed);
    assert_true(c[chosen].bic == eligible && least < eligible);
    fab_clusters_free(f);
    fab_source_close(s);
}

/* A mixture does not see units; what was fitted in standard deviations is given and scored in those of the table. */
static void the_result_is_in_the_units_of_the_table(void **state)
{
    (void)state;
    double *x = some_table(N, NULL), l[N], mean = 0;
    fab_clusters *f[2];
    fab_clusters_report r[2];
    const fab_mixture *q[2];
    fab_source *s[2];
    for (int b = 0; b < 2; b++) {
        s[b] = open_table(x, N);
        f[b] = cluster(s[b], (fab_clusters_plan){.method = "gmm", .G = 3, .standardise = b});
        assert_ok(fab_clusters_result(f[b], &q[b]));
        assert_ok(fab_clusters_report_of(f[b], &r[b]));
    }
    assert_near(r[0].loglik_mean, r[1].loglik_mean, 1e-6);
    assert_ok(fab_mixture_logpdf(q[1], &(fab_rows){x, FAB_F64, N, D}, NULL, l));
    for (int64_t j = 0; j < N; j++) mean += l[j] / N;
    assert_near(r[1].loglik_mean, mean, 1e-6);
    for (int b = 0; b < 2; b++) {
        fab_clusters_free(f[b]);
        fab_source_close(s[b]);
    }
}

static void rows_are_in_the_clusters_of_a_file(void **state)
{
    (void)state;
    int64_t *label = dense_bytes(N * sizeof *label), found[N], at = 0;
    double *x = some_table(N, label), rand, information;
    static const char *const method[] = {"mfa", "gmm", "kmeans"};
    for (int m = 0; m < 3; m++) {
        fab_source *s = open_table(x, N), *again = open_table(x, N);
        fab_clusters *f =
            cluster(s, (fab_clusters_plan){.method = method[m], .G = 3, .standardise = m == 2});
        fab_posterior *p;
        fab_clusters_view *v;
        fab_clusters_rows r;
        double l[N];
        const char *path = in_folder("q.safetensors");
        assert_ok(fab_clusters_save(f, path));
        assert_ok(fab_posterior_load(&p, path));
        assert_ok(fab_clusters_view_open(&v, path, p, NULL));
        assert_ok(fab_mixture_logpdf(&p->mix, &(fab_rows){x, FAB_F64, N, D}, NULL, l));
        assert_int_equal(fab_clusters_view_factors(v), m == 0 ? 2 : 0);
        at = 0;
        for (;;) {
            assert_ok(fab_clusters_view_next(v, again, &r));
            if (r.n == 0) break;
            for (int64_t j = 0; j < r.n; j++) {
                double sum = 0;
                for (int64_t g = 0; g < r.G; g++) sum += r.share[j * r.G + g];
                assert_near(sum, 1, 1e-12);
                assert_near(r.density[j], l[at], 1e-9 * fabs(l[at]));
                found[at++] = r.cluster[j];
            }
        }
        assert_int_equal(at, N);
        assert_ok(fab_partitions_compare(N, label, found, &rand, &information));
        assert_true(rand > 0.95 && information > 0.9);
        fab_clusters_view_free(v);
        fab_posterior_free(p);
        fab_clusters_free(f);
        fab_source_close(s);
        fab_source_close(again);
    }
}

static void a_stream_goes_on_from_its_file(void **state)
{
    (void)state;
    double *x = some_table(N, NULL);
    fab_online_mfa_settings set = fab_online_mfa_defaults(3);
    set.q = 1, set.first = 60, set.block = 40;
    const fab_clusters_plan plan = {.method = "online-mfa", .settings = &set, .size = sizeof set};
    fab_source *s = open_table(x, N), *head = open_table(x, 130),
               *tail = open_table(x + 130 * D, N - 130), *all = open_table(x, N);
    fab_clusters *whole = cluster(s, plan), *part = cluster(head, plan), *more, *again;
    const char *a = in_folder("a.safetensors"), *b = in_folder("b.safetensors");
    char first[64], second[64];
    size_t n, m;
    snprintf(first, sizeof first, "%s", a);
    snprintf(second, sizeof second, "%s", b);
    assert_ok(fab_clusters_save(whole, first));
    char *want = get_bytes(first, &n);
    for (int by = 0; by < 2; by++) { /* update with the rest; the same call again */
        assert_ok(fab_clusters_save(part, second));
        fab_clusters_plan go = plan;
        go.source = by ? all : tail;
        if (by)
            assert_ok(fab_clusters_resume(&again, &go, second, NULL));
        else
            assert_ok(fab_clusters_load(&again, &go, second, NULL));
        more = again;
        assert_ok(fab_clusters_read(more));
        assert_ok(fab_clusters_save(more, second));
        char *got = get_bytes(second, &m);
        assert_int_equal(n, m);
        assert_memory_equal(got, want, n);
        free(got);
        fab_clusters_free(more);
    }
    free(want);
    fab_clusters_free(whole);
    fab_clusters_free(part);
    fab_source_close(s);
    fab_source_close(head);
    fab_source_close(tail);
    fab_source_close(all);
}

static void what_is_not_possible_is_said(void **state)
{
    (void)state;
    double *x = some_table(N, NULL);
    fab_source *s = open_table(x, N);
    fab_clusters *f;
    fab_clusters_plan p = {.source = s, .method = "kmeans", .G = FAB_AUTO_I64};
    assert_refused(fab_clusters_create(&f, &p, NULL), FAB_BAD_ARGUMENT,
                   "no likelihood to compare by");
    p.method = "online-mfa";
    assert_refused(fab_clusters_create(&f, &p, NULL), FAB_BAD_ARGUMENT, "sees each row once");
    p.method = "ml";
    assert_refused(fab_clusters_create(&f, &p, NULL), FAB_BAD_ARGUMENT, "finds no clusters");
    p = (fab_clusters_plan){.source = s, .method = "online-mfa", .G = 2, .standardise = 1};
    assert_refused(fab_clusters_create(&f, &p, NULL), FAB_UNSUPPORTED, "not known when it begins");
    p = (fab_clusters_plan){.source = s, .method = "mfa", .G = 500, .memory = 1000};
    assert_ok(fab_clusters_create(&f, &p, NULL));
    assert_refused(fab_clusters_read(f), FAB_NO_MEMORY, "online-mfa sees each row once");
    fab_clusters_free(f);
    x[7] = NAN;
    fab_source *holes = open_table(x, N);
    p = (fab_clusters_plan){.source = holes, .method = "mfa", .G = 2};
    assert_ok(fab_clusters_create(&f, &p, NULL));
    assert_true(fab_clusters_read(f) != FAB_OK);
    fab_clusters_free(f);
    fab_source_close(holes);
    fab_source_close(s);
}

/* Worked by hand: {0,0,1,1,2} and {0,0,0,1,1} have 1 + 1 and 3 + 1 pairs, of which 1 is in both, of 10. */
static void partitions_agree_as_by_hand(void **state)
{
    (void)state;
    const int64_t a[] = {0, 0, 1, 1, 2}, b[] = {0, 0, 0, 1, 1}, c[] = {7, 7, -3, -3, 5},
                  one[] = {1, 1, 1, 1, 1};
    double rand, information;
    assert_ok(fab_partitions_compare(5, a, b, &rand, &information));
    assert_near(rand, (1 - 0.8) / (3 - 0.8), 1e-14);
    const double ha = -0.8 * log(0.4) - 0.2 * log(0.2), hb = -0.6 * log(0.6) - 0.4 * log(0.4),
                 hab = -0.4 * log(0.4) - 0.6 * log(0.2);
    assert_near(information, (ha + hb - hab) / ((ha + hb) / 2), 1e-14);
    assert_ok(fab_partitions_compare(5, a, c, &rand, &information));
    assert_near(rand, 1, 1e-14);
    assert_near(information, 1, 1e-14);
    assert_ok(fab_partitions_compare(5, a, one, &rand, &information));
    assert_near(rand, 0, 1e-14);
    assert_near(information, 0, 1e-14);
    assert_refused(fab_partitions_compare(0, a, b, &rand, &information), FAB_BAD_ARGUMENT,
                   "0 rows");
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bic_finds_the_clusters_and_their_factors),
        TEST(a_cluster_that_has_collapsed_is_not_chosen),
        TEST(the_result_is_in_the_units_of_the_table),
        FILES(rows_are_in_the_clusters_of_a_file),
        FILES(a_stream_goes_on_from_its_file),
        TEST(what_is_not_possible_is_said),
        TEST(partitions_agree_as_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
