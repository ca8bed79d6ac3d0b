/* test_mfa.c - mixtures of factor analysers and of Gaussians by EM, against dense loops.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fa_case.h"
#include "files.h"
#include "fabayes/fit.h"
#include "base/fail.h"

enum { D = 5, N = 300 };

/* ---- rows ------------------------------------------------------------------------------------------- */

/* n rows of a mixture of three Gaussians of K factors, apart by `apart`. */
static double *some_rows(int64_t d, int64_t n, int64_t K, double apart, uint64_t seed)
{
    double *x = doubles(n * d), *noise = doubles(n * (d + K)), *load = doubles(3 * d * K),
           *u = doubles(n), *mean = doubles(3 * d);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 0, 0, n * (d + K), FAB_F64, noise);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 1, 0, 3 * d * K, FAB_F64, load);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 2, 0, 3 * d, FAB_F64, mean);
    fab_random_uniform(seed, FAB_PURPOSE_DATA, 3, 0, n, u);
    for (int64_t j = 0; j < n; j++) {
        const int64_t g = u[j] < 0.5 ? 0 : u[j] < 0.8 ? 1 : 2;
        for (int64_t i = 0; i < d; i++) {
            double v = 2.385 + apart * mean[g * d + i] +
                       (0.4 + 0.1 * (double)g) * noise[j * (d + K) + i];
            for (int64_t k = 0; k < K; k++)
                v += load[(g * d + i) * K + k] * noise[j * (d + K) + d + k];
            x[j * d + i] = v;
        }
    }
    return x;
}

/* ---- a method by name ------------------------------------------------------------------------------- */

static any_settings mix_settings(const char *method, int64_t G, const char *text)
{
    any_settings s;
    char line[512], *save = NULL;
    const fab_fields *t = fab_method_find(method)->fields;
    fab_settings_defaults(t, &s);
    snprintf(line, sizeof line, "G=%lld %s", (long long)G, text);
    for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        assert_ok(fab_settings_parse(t, &s, word, value));
    }
    return s;
}

static fab_fit *mix_open(const char *method, int64_t d, int64_t G, const char *text,
                         int64_t threads)
{
    fab_fit *f;
    const any_settings s = mix_settings(method, G, text);
    assert_ok(fab_fit_create(&f, method, &s, fab_method_find(method)->fields->size,
                             &(fab_input){.vectors = d}, &(fab_exec){.threads = threads}));
    return f;
}

static fab_fit *mix_fit(const char *method, const double *x, int64_t n, int64_t d, int64_t G,
                        const char *text, const fab_mixture **q)
{
    fab_fit *f = mix_open(method, d, G, text, 1);
    const fab_rows rows = rows_of(x, 0, n, d);
    assert_ok(fab_fit_update(f, &(fab_examples){.x = rows}));
    assert_ok(fab_fit_result(f, q));
    assert_ok(fab_mixture_check(*q));
    return f;
}

static double loglik(fab_fit *f)
{
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    return r.loglik_mean;
}

/* A fit that goes on from these parts: w (G), mu, psi (G x d), F. */
static fab_fit *from_start(const char *method, int64_t d, int64_t G, const char *text,
                           int64_t sizeF, double *w, double *mu, double *psi, double *F)
{
    fab_tensors *t;
    fab_fit *f;
    any_settings s = mix_settings(method, G, text);
    char *json;
    double low = -1e300;
    int64_t zero = 0;
    assert_ok(fab_tensors_create(&t));
    assert_ok(fab_settings_json(fab_method_find(method)->fields, &s, &json));
    assert_ok(fab_tensors_set(t, "method", method));
    assert_ok(fab_tensors_set(t, "settings", json));
    assert_ok(fab_tensors_set(t, "n", "0"));
    fab_text_free(json);
    assert_ok(fab_tensors_add(t, "state.weight", FAB_F64, 1, (int64_t[]){G}, w));
    assert_ok(fab_tensors_add(t, "state.mu", FAB_F64, 2, (int64_t[]){G, d}, mu));
    assert_ok(fab_tensors_add(t, "state.psi", FAB_F64, 2, (int64_t[]){G, d}, psi));
    if (sizeF) assert_ok(fab_tensors_add(t, "state.F", FAB_F64, 1, (int64_t[]){sizeF}, F));
    assert_ok(fab_tensors_add(t, "state.loglik", FAB_F64, 1, (int64_t[]){1}, &low));
    assert_ok(fab_tensors_add(t, "state.round", FAB_I64, 1, (int64_t[]){1}, &zero));
    assert_ok(fab_tensors_add(t, "state.dropped", FAB_I64, 1, (int64_t[]){1}, &zero));
    assert_ok(fab_tensors_add(t, "state.floored", FAB_I64, 1, (int64_t[]){1}, &zero));
    assert_ok(fab_fit_load(&f, t, &(fab_input){.vectors = d}, NULL));
    fab_tensors_free(t);
    return f;
}

/* ---- dense EM --------------------------------------------------------------------------------------- */

/* Covariance F F' + psi in S (d x d). */
static void dense_of(const double *F, const double *psi, int64_t d, int64_t k, double *S)
{
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++) {
            S[i * d + j] = i == j ? psi[i] : 0;
            for (int64_t l = 0; l < k; l++) S[i * d + j] += F[i * k + l] * F[j * k + l];
        }
}

/* log N(x; mu, S) by Gaussian elimination of S beside x - mu. */
static double log_normal(const double *x, const double *mu, const double *S, int64_t d)
{
    double A[16][17], logdet = 0, q = 0;
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j < d; j++) A[i][j] = S[i * d + j];
        A[i][d] = x[i] - mu[i];
    }
    for (int64_t k = 0; k < d; k++) {
        logdet += log(A[k][k]);
        q += A[k][d] * A[k][d] / A[k][k];
        for (int64_t i = k + 1; i < d; i++)
            for (int64_t j = d; j >= k; j--) A[i][j] -= A[i][k] / A[k][k] * A[k][j];
    }
    return -0.5 * ((double)d * log(2 * 3.14159265358979323846) + logdet + q);
}

static double mixture_loglik(const double *x, int64_t n, int64_t d, int64_t G, int64_t k,
                             const double *w, const double *mu, const double *psi, const double *F)
{
    double S[256], sum = 0;
    double *l = doubles(n * G);
    for (int64_t g = 0; g < G; g++) {
        dense_of(F + g * d * k, psi + g * d, d, k, S);
        for (int64_t j = 0; j < n; j++)
            l[j * G + g] = log(w[g]) + log_normal(x + j * d, mu + g * d, S, d);
    }
    for (int64_t j = 0; j < n; j++) {
        double p = 0;
        for (int64_t g = 0; g < G; g++) p += exp(l[j * G + g]);
        sum += log(p);
    }
    return sum / (double)n;
}

typedef struct parts {
    double w[4], mu[4 * 16], psi[4 * 16], F[4 * 16 * 16];
} parts;

static void parts_of(const fab_mixture *q, parts *p)
{
    const int64_t d = q->part[0]->D, k = q->part[0]->K;
    for (int64_t g = 0; g < q->n; g++) {
        p->w[g] = q->weight[g];
        memcpy(p->mu + g * d, q->part[g]->mu, (size_t)d * sizeof(double));
        memcpy(p->psi + g * d, q->part[g]->psi, (size_t)d * sizeof(double));
        memcpy(p->F + g * d * k, q->part[g]->F, (size_t)(d * k) * sizeof(double));
    }
}

/* At a maximum no direction of F, psi or mu rises: central differences of the dense likelihood. */
static void the_gradient_is_zero_where_em_ends(void **state)
{
    (void)state;
    double *x = some_rows(D, N, 2, 3, 1);
    const fab_mixture *q;
    fab_fit *f = mix_fit("mfa", x, N, D, 3, "q=2 tol=1e-14 max_iter=20000", &q);
    parts p;
    assert_int_equal(q->n, 3);
    parts_of(q, &p);
    const double at = mixture_loglik(x, N, D, 3, 2, p.w, p.mu, p.psi, p.F);
    assert_near(loglik(f), at, 1e-10);
    double *block[] = {p.mu, p.psi, p.F};
    const int64_t size[] = {3 * D, 3 * D, 3 * D * 2};
    for (int b = 0; b < 3; b++)
        for (int64_t i = 0; i < size[b]; i++) {
            const double was = block[b][i], h = 1e-4 * (b == 1 ? was : 1);
            block[b][i] = was + h;
            const double up = mixture_loglik(x, N, D, 3, 2, p.w, p.mu, p.psi, p.F);
            block[b][i] = was - h;
            const double down = mixture_loglik(x, N, D, 3, 2, p.w, p.mu, p.psi, p.F);
            block[b][i] = was;
            if (!(fabs(up - down) / 2 < 1e-9 + 1e-6 * h))
                fail_msg("block %d, number %lld: slope %g", b, (long long)i, (up - down) / (2 * h));
        }
    fab_fit_free(f);
}

/* One step from a given start is the textbook's: responsibilities, then weighted moments. */
static void a_step_of_full_covariances_is_the_textbooks(void **state)
{
    (void)state;
    enum { G = 3 };
    double *x = some_rows(D, N, 2, 1, 2), *r = doubles(N * G);
    parts p = {{0.2, 0.5, 0.3}, {0}, {0}, {0}}, want = {{0}, {0}, {0}, {0}};
    for (int64_t g = 0; g < G; g++)
        for (int64_t i = 0; i < D; i++) {
            p.mu[g * D + i] = x[(7 * g + 3) * D + i];
            p.psi[g * D + i] = 1;
            for (int64_t j = 0; j <= i; j++) p.F[(g * D + i) * D + j] = i == j ? 1.5 : 0.2;
        }
    for (int64_t j = 0; j < N; j++) {
        double sum = 0;
        for (int64_t g = 0; g < G; g++) {
            double S[D * D];
            const double none[D] = {0};
            dense_of(p.F + g * D * D, none, D, D, S);
            sum += r[j * G + g] = p.w[g] * exp(log_normal(x + j * D, p.mu + g * D, S, D));
        }
        for (int64_t g = 0; g < G; g++) r[j * G + g] /= sum;
    }
    for (int64_t g = 0; g < G; g++) {
        double n = 0;
        for (int64_t j = 0; j < N; j++) n += r[j * G + g];
        want.w[g] = n / N;
        for (int64_t i = 0; i < D; i++)
            for (int64_t j = 0; j < N; j++) want.mu[g * D + i] += r[j * G + g] * x[j * D + i] / n;
        for (int64_t i = 0; i < D; i++)
            for (int64_t k = 0; k < D; k++)
                for (int64_t j = 0; j < N; j++)
                    want.F[(g * D + i) * D + k] += r[j * G + g] *
                                                   (x[j * D + i] - want.mu[g * D + i]) *
                                                   (x[j * D + k] - want.mu[g * D + k]) / n;
    }
    fab_fit *f = from_start("gmm", D, G, "max_iter=1 floor=1e-9", G * D * D, p.w, p.mu, p.psi, p.F);
    const fab_mixture *q;
    const fab_rows rows = rows_of(x, 0, N, D);
    assert_ok(fab_fit_update(f, &(fab_examples){.x = rows}));
    assert_ok(fab_fit_result(f, &q));
    parts got;
    parts_of(q, &got);
    for (int64_t g = 0; g < G; g++) {
        double S[D * D];
        dense_of(got.F + g * D * D, got.psi + g * D, D, D, S);
        assert_near(got.w[g], want.w[g], 1e-13);
        for (int64_t i = 0; i < D; i++) assert_near(got.mu[g * D + i], want.mu[g * D + i], 1e-12);
        for (int64_t i = 0; i < D * D; i++) assert_near(S[i], want.F[g * D * D + i], 1e-11);
    }
    fab_fit_free(f);
}

/* The same start in mfa and in gmm ends in the same likelihood. */
static void check_same_end(const char *mfa, const char *gmm, int64_t k, int full)
{
    enum { G = 2 };
    double *x = some_rows(D, N, 2, 2, 3), end[2];
    for (int b = 0; b < 2; b++) {
        parts p = {{0.5, 0.5}, {0}, {0}, {0}};
        for (int64_t g = 0; g < G; g++)
            for (int64_t i = 0; i < D; i++) {
                p.mu[g * D + i] = x[(7 * g + 3) * D + i];
                p.psi[g * D + i] = b || !full ? 2 : 1;
                for (int64_t j = 0; j < k; j++)
                    p.F[(g * D + i) * k + j] = i == j ? 1 : b ? 0 : 0.01 * (double)(1 + i + 2 * j);
                if (b && full) p.F[(g * D + i) * k + i] = sqrt(2);
            }
        fab_fit *f =
            from_start(b ? "gmm" : "mfa", D, G, b ? gmm : mfa, k * G * D, p.w, p.mu, p.psi, p.F);
        const fab_rows rows = rows_of(x, 0, N, D);
        const fab_mixture *q;
        assert_ok(fab_fit_update(f, &(fab_examples){.x = rows}));
        assert_ok(fab_fit_result(f, &q));
        end[b] = loglik(f);
        fab_fit_free(f);
    }
    assert_near(end[0], end[1], full ? 1e-7 : 1e-13); /* psi of q = D goes to its floor slowly */
}

static void rank_0_is_diagonal_and_rank_D_is_full(void **state)
{
    (void)state;
    check_same_end("q=0 max_iter=30", "covariance=diag max_iter=30", 0, 0);
    check_same_end("q=0 psi=isotropic max_iter=30", "covariance=spherical max_iter=30", 0, 0);
    check_same_end("q=5 tol=1e-13 max_iter=100000", "covariance=full tol=1e-13 max_iter=100000", D,
                   1);
}

static void one_part_is_factor_analysis(void **state)
{
    (void)state;
    double *x = some_rows(12, 400, 3, 1, 4);
    const fab_mixture *q;
    fab_fit *f = mix_fit("mfa", x, 400, 12, 1, "q=3 tol=1e-14 max_iter=100000", &q),
            *ml = fa_open("ml", 12, 3, "tol=1e-14", NULL);
    const fab_rows rows = rows_of(x, 0, 400, 12);
    fa_feed(ml, &rows);
    const fab_gauss *g = fa_result(ml);
    assert_near(loglik(f), loglik(ml), 1e-9);
    for (int64_t i = 0; i < 12; i++) {
        assert_near(q->part[0]->mu[i], g->mu[i], 1e-12);
        assert_near(q->part[0]->psi[i], g->psi[i],
                    1e-4); /* the root of what is left in the likelihood */
    }
    fab_fit_free(f);
    fab_fit_free(ml);
}

static void the_likelihood_never_falls(void **state)
{
    (void)state;
    static const struct {
        const char *method, *text;
    } of[] = {{"mfa", "q=2 psi=own"},       {"mfa", "q=2 psi=common"},
              {"mfa", "q=2 psi=isotropic"}, {"mfa", "q=0 psi=common"},
              {"gmm", "covariance=full"},   {"gmm", "covariance=tied"},
              {"gmm", "covariance=diag"},   {"gmm", "covariance=spherical"}};
    double *x = some_rows(D, N, 2, 1, 5);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        double before = -INFINITY;
        for (int64_t steps = 0; steps < 40; steps += 1 + steps / 4) {
            char text[100];
            const fab_mixture *q;
            snprintf(text, sizeof text, "%s tol=0 restarts=1 moves=0 max_iter=%lld", of[i].text,
                     (long long)(steps ? steps : 1));
            fab_fit *f = mix_fit(of[i].method, x, N, D, 3, text, &q);
            const double now = loglik(f);
            if (!(now >= before - 1e-12)) fail_msg("%s: %.17g after %.17g", text, now, before);
            before = now;
            fab_fit_free(f);
        }
    }
}

/* ---- the same bytes --------------------------------------------------------------------------------- */

static void *bytes_of(fab_fit *f, size_t *size)
{
    void *bytes;
    assert_ok(fab_fit_pack(f, 0, NULL, &bytes, size));
    return bytes;
}

static void assert_same_file(fab_fit *a, fab_fit *b)
{
    size_t n, m;
    void *p = bytes_of(a, &n), *q = bytes_of(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(p, q, n);
    fab_bytes_free(p);
    fab_bytes_free(q);
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *method, *text;
        int64_t d, n;
    } of[] = {{"mfa", "q=2", D, N},                /* starts side by side */
              {"mfa", "q=3 max_iter=5", 80, 9000}, /* rows side by side, K-means on axes */
              {"gmm", "covariance=full max_iter=20", 8, 3000},
              {"gmm", "covariance=tied max_iter=20", 8, 3000},
              {"online-gmm", "first=1000 block=700", 8, 3000},
              {"online-gmm", "first=1000 block=700 covariance=diag", 8, 3000}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        double *x = some_rows(of[i].d, of[i].n, 2, 1, 6);
        const fab_rows rows = rows_of(x, 0, of[i].n, of[i].d);
        fab_fit *f[3];
        for (int t = 0; t < 3; t++) {
            f[t] = mix_open(of[i].method, of[i].d, 3, of[i].text, t + 1);
            assert_ok(fab_fit_update(f[t], &(fab_examples){.x = rows}));
            if (t) assert_same_file(f[0], f[t]);
        }
        for (int t = 0; t < 3; t++) fab_fit_free(f[t]);
    }
}

static int64_t asked, stop_at;

static int stop_then(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return ++asked == stop_at;
}

static void a_run_that_was_stopped_ends_in_the_same_bytes(void **state)
{
    (void)state;
    double *x = some_rows(D, N, 2, 1, 7);
    const fab_rows rows = rows_of(x, 0, N, D);
    const fab_exec watched = {.threads = 2, .progress = stop_then};
    const any_settings s = mix_settings("mfa", 3, "q=2 max_iter=40 tol=0");
    const size_t size = fab_method_find("mfa")->fields->size;
    const fab_mixture *q;
    fab_fit *whole = mix_fit("mfa", x, N, D, 3, "q=2 max_iter=40 tol=0", &q);
    int saved = 0, early = 0;
    for (stop_at = 1;; stop_at += 6) {
        fab_fit *f, *again = NULL;
        fab_tensors *t;
        void *bytes;
        size_t n;
        asked = 0;
        assert_ok(fab_fit_create(&f, "mfa", &s, size, &(fab_input){.vectors = D}, &watched));
        fab_status done = fab_fit_update(f, &(fab_examples){.x = rows});
        if (done == FAB_OK) done = fab_fit_result(f, &q);
        if (done == FAB_OK) {
            fab_fit_free(f);
            break;
        }
        assert_int_equal(done, FAB_STOPPED);
        if (fab_fit_pack(f, 1, NULL, &bytes, &n) == FAB_OK) { /* goes on from a file */
            assert_ok(fab_tensors_parse(&t, "bytes", bytes, n));
            assert_ok(fab_fit_load(&again, t, NULL, NULL));
            assert_ok(fab_fit_update(again, &(fab_examples){.x = rows}));
            assert_same_file(whole, again);
            fab_tensors_free(t);
            fab_bytes_free(bytes);
            fab_fit_free(again);
            saved++;
        } else {
            assert_non_null(strstr(fab_detail(), "stopped before a first mixture"));
            early++;
        }
        if (fab_fit_rows(f) == N) assert_same_file(whole, f); /* and in the same handle */
        fab_fit_free(f);
    }
    assert_true(saved > 3 && early > 0);
    fab_fit_free(whole);
}

/* ---- rows of every kind ------------------------------------------------------------------------------ */

static void a_row_of_weight_2_counts_twice(void **state)
{
    (void)state;
    enum { G = 2 };
    double *x = some_rows(D, N, 2, 2, 8), *twice = doubles((N + 50) * D), *w = doubles(N);
    memcpy(twice, x, N * D * sizeof *x);
    memcpy(twice + N * D, x, 50 * D * sizeof *x);
    for (int64_t j = 0; j < N; j++) w[j] = j < 50 ? 2 : 1;
    double end[2][G * D];
    for (int b = 0; b < 2; b++) {
        parts p = {{0.5, 0.5}, {0}, {0}, {0}};
        for (int64_t i = 0; i < G * D; i++)
            p.mu[i] = x[100 + i], p.psi[i] = 2,
            p.F[2 * i] = p.F[2 * i + 1] = 0.3 + 0.1 * (double)(i % 3);
        for (int64_t i = 0; i < G * D; i++) p.F[2 * i + 1] *= i % 2 ? -1 : 1;
        fab_fit *f =
            from_start("mfa", D, G, "q=2 max_iter=15 tol=0", 2 * G * D, p.w, p.mu, p.psi, p.F);
        const fab_rows rows = rows_of(b ? twice : x, 0, b ? N + 50 : N, D);
        const fab_mixture *q;
        assert_ok(fab_fit_update(f, &(fab_examples){.x = rows, .weight = b ? NULL : w}));
        assert_ok(fab_fit_result(f, &q));
        for (int64_t g = 0; g < G; g++)
            for (int64_t i = 0; i < D; i++) end[b][g * D + i] = q->part[g]->psi[i];
        fab_fit_free(f);
    }
    for (int64_t i = 0; i < G * D; i++) assert_near(end[0][i], end[1][i], 1e-10);
}

static void refuse(int64_t n, int64_t d, const double *x, int64_t G, const char *words)
{
    const fab_mixture *q;
    const fab_rows rows = rows_of(x, 0, n, d);
    for (int b = 0; b < 2; b++) {
        fab_fit *f = mix_open(b ? "gmm" : "mfa", d, G, "", 1);
        fab_status s = fab_fit_update(f, &(fab_examples){.x = rows});
        if (s == FAB_OK) s = fab_fit_result(f, &q);
        assert_refused(s, FAB_BAD_DATA, words);
        fab_fit_free(f);
    }
}

static void rows_that_are_too_few_are_refused(void **state)
{
    (void)state;
    double *x = some_rows(D, N, 2, 2, 9), *same = doubles(40 * D), *flat = doubles(9 * D);
    for (int64_t j = 0; j < 40; j++) memcpy(same + j * D, x + j % 3 * D, D * sizeof *x);
    refuse(1, D, x, 1, "1 rows");
    refuse(4, D, x, 5, "G = 5 parts for 4 rows");
    refuse(40, D, same, 5, "3 distinct rows for G = 5");
    refuse(9, D, flat, 2, "every column is constant");
    x[7 * D + 2] = NAN;
    refuse(N, D, x, 2, "row 7");
}

/* Parts on rows that are all equal stand at the floor and are counted. */
static void parts_that_collapse_stand_at_the_floor(void **state)
{
    (void)state;
    double *x = doubles(60 * D);
    for (int64_t j = 0; j < 60; j++)
        for (int64_t i = 0; i < D; i++) x[j * D + i] = (double)(j % 3 * (i + 1)) + 100;
    for (int b = 0; b < 3; b++) {
        const fab_mixture *q;
        fab_report r;
        fab_fit *f = mix_fit(b ? "gmm" : "mfa", x, 60, D, 3,
                             b == 2 ? "covariance=tied"
                             : b    ? ""
                                    : "q=1",
                             &q);
        assert_ok(fab_fit_report(f, &r));
        assert_int_equal(r.floored, b == 2 ? D : 3 * D);
        assert_true(isfinite(r.loglik_mean));
        for (int64_t g = 0; g < 3; g++) assert_near(q->weight[g], 1.0 / 3, 1e-12);
        fab_fit_free(f);
    }
}

static void a_constant_column_and_a_far_row_are_fitted(void **state)
{
    (void)state;
    double *x = some_rows(D, N, 2, 3, 10), p;
    for (int64_t j = 0; j < N; j++) x[j * D + 3] = 7.125;
    for (int64_t i = 0; i < D; i++) x[11 * D + i] = i == 3 ? 7.125 : 1e8;
    for (int b = 0; b < 2; b++) {
        const fab_mixture *q;
        fab_fit *f = mix_fit(b ? "gmm" : "mfa", x, N, D, 3, "", &q);
        assert_near(q->part[0]->mu[3], 7.125, 1e-13);
        double far[D];
        for (int64_t i = 0; i < D; i++) far[i] = -1e12;
        const fab_rows row = rows_of(far, 0, 1, D);
        assert_ok(fab_mixture_logpdf(q, &row, NULL, &p));
        assert_true(isfinite(p));
        fab_fit_free(f);
    }
}

static void bad_settings_are_refused_by_name(void **state)
{
    (void)state;
    fab_fit *f;
    fab_mfa_settings s = fab_mfa_defaults(0);
    fab_gmm_settings t = fab_gmm_defaults(2);
    assert_refused(fab_fit_create(&f, "mfa", &s, sizeof s, &(fab_input){.vectors = D}, NULL),
                   FAB_BAD_ARGUMENT, "mfa: G = 0 is outside");
    s.G = 2, s.floor = NAN;
    assert_refused(fab_fit_create(&f, "mfa", &s, sizeof s, &(fab_input){.vectors = D}, NULL),
                   FAB_BAD_ARGUMENT, "floor");
    assert_refused(fab_fit_create(&f, "gmm", &t, sizeof t, &(fab_input){.vectors = 3000}, NULL),
                   FAB_UNSUPPORTED, "full covariances of 3000 columns are too large");
}

/* ---- one pass --------------------------------------------------------------------------------------- */

#define ONE_PASS "q=2 first=60 block=37 inner_rank=4 restarts=3 moves=3"
static const struct {
    const char *method, *text;
} streams[] = {
    {"online-mfa", ONE_PASS},
    {"online-mfa", ONE_PASS " kappa=0.7"},
    {"online-gmm", "first=60 block=37 restarts=3 moves=3"},
    {"online-gmm", "first=60 block=37 restarts=3 moves=3 covariance=tied forget=0.99"},
    {"online-gmm", "first=60 block=37 restarts=3 moves=3 covariance=diag kappa=0.7"},
    {"online-gmm", "first=60 block=37 restarts=3 moves=3 covariance=spherical"},
};
enum { STREAMS = (int)(sizeof streams / sizeof *streams) };

static void feed_in(fab_fit *f, const double *x, int64_t first, int64_t n, int64_t piece)
{
    for (int64_t j = 0; j < n; j += piece) {
        const fab_rows rows = rows_of(x, first + j, n - j < piece ? n - j : piece, D);
        assert_ok(fab_fit_update(f, &(fab_examples){.x = rows}));
    }
}

static void a_stream_in_pieces_is_the_whole(void **state)
{
    (void)state;
    static const int64_t piece[] = {1, 29, 60, N};
    double *x = some_rows(D, N, 2, 3, 12);
    for (int k = 0; k < STREAMS; k++) {
        fab_fit *whole = mix_open(streams[k].method, D, 3, streams[k].text, 1);
        feed_in(whole, x, 0, N, N);
        for (size_t i = 0; i < sizeof piece / sizeof *piece; i++) {
            fab_fit *f = mix_open(streams[k].method, D, 3, streams[k].text, 2);
            const fab_mixture *q;
            for (int64_t j = 0; j < N; j += 75) { /* a result on the way changes nothing */
                feed_in(f, x, j, 75, piece[i]);
                assert_ok(fab_fit_result(f, &q));
            }
            assert_same_file(whole, f);
            fab_fit_free(f);
        }
        fab_fit_free(whole);
    }
}

static void a_stream_goes_on_from_its_file_to_the_same_bytes(void **state)
{
    (void)state;
    static const int64_t at[] = {20, 60, 61, 97, 200};
    double *x = some_rows(D, N, 2, 3, 13);
    for (int k = 0; k < STREAMS; k++) {
        fab_fit *whole = mix_open(streams[k].method, D, 3, streams[k].text, 1);
        feed_in(whole, x, 0, N, N);
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            fab_fit *f = mix_open(streams[k].method, D, 3, streams[k].text, 1), *again;
            fab_tensors *t;
            size_t n;
            feed_in(f, x, 0, at[i], N);
            void *bytes = bytes_of(f, &n);
            assert_ok(fab_tensors_parse(&t, "bytes", bytes, n));
            assert_ok(fab_fit_load(&again, t, NULL, NULL));
            feed_in(again, x, at[i], N - at[i], N);
            assert_same_file(whole, again);
            fab_tensors_free(t);
            fab_bytes_free(bytes);
            fab_fit_free(f);
            fab_fit_free(again);
        }
        fab_fit_free(whole);
    }
}

/* Parts in the order they are held in, their covariances dense. */
typedef struct moments {
    double w[3], mu[3][D], S[3][D * D];
} moments;

static void moments_of(fab_fit *f, moments *m)
{
    const fab_mixture *q;
    assert_ok(fab_fit_result(f, &q));
    assert_int_equal(q->n, 3);
    for (int g = 0; g < 3; g++) {
        const fab_gauss *p = q->part[g];
        m->w[g] = q->weight[g];
        memcpy(m->mu[g], p->mu, sizeof m->mu[g]);
        dense_of(p->F, p->psi, D, p->K, m->S[g]);
    }
}

/* Steps 2 - 5 of online-gmm in dense loops, for rows of one block: n of the parts before and after. */
static void take_block(moments *m, double n[3], const double *x, int64_t rows, double forget,
                       double share, const char *covariance)
{
    double sum[3] = {0}, mean[3][D] = {{0}}, S[3][D * D] = {{0}}, tied[D * D] = {0}, all = 0;
    double *r = doubles(rows * 3), before = n[0] + n[1] + n[2];
    for (int64_t j = 0; j < rows; j++) {
        double l[3], high = -INFINITY, total = 0;
        for (int g = 0; g < 3; g++) {
            l[g] = log(m->w[g]) + log_normal(x + j * D, m->mu[g], m->S[g], D);
            high = fmax(high, l[g]);
        }
        for (int g = 0; g < 3; g++) total += exp(l[g] - high);
        for (int g = 0; g < 3; g++) sum[g] += r[j * 3 + g] = exp(l[g] - high) / total;
    }
    for (int g = 0; g < 3; g++) {
        double past = n[g] * pow(forget, sum[g]);
        if (share > 0) past *= (double)rows * (1 - share) / (share * before);
        n[g] = past + sum[g];
        all += n[g];
        for (int i = 0; i < D; i++) {
            mean[g][i] = past * m->mu[g][i];
            for (int64_t j = 0; j < rows; j++) mean[g][i] += r[j * 3 + g] * x[j * D + i];
            mean[g][i] /= n[g];
        }
        for (int i = 0; i < D; i++)
            for (int k = 0; k < D; k++) {
                const double a = m->mu[g][i] - mean[g][i], b = m->mu[g][k] - mean[g][k];
                double v = past * (m->S[g][i * D + k] + a * b);
                for (int64_t j = 0; j < rows; j++)
                    v += r[j * 3 + g] * (x[j * D + i] - mean[g][i]) * (x[j * D + k] - mean[g][k]);
                S[g][i * D + k] = v / n[g];
                tied[i * D + k] += v;
            }
    }
    for (int g = 0; g < 3; g++) {
        double trace = 0;
        m->w[g] = n[g] / all;
        memcpy(m->mu[g], mean[g], sizeof mean[g]);
        for (int i = 0; i < D; i++) trace += S[g][i * D + i] / D;
        for (int i = 0; i < D * D; i++) {
            const int diagonal = i % D == i / D;
            m->S[g][i] = covariance[0] == 't'   ? tied[i] / all
                         : covariance[0] == 'f' ? S[g][i]
                         : !diagonal            ? 0
                         : covariance[0] == 'd' ? S[g][i]
                                                : trace;
        }
    }
}

/* Rounding: the sums have N terms of size 100, their conditions are below 1e4. */
static void blocks_of_a_stream_of_gaussians_are_the_textbooks(void **state)
{
    (void)state;
    enum { FIRST = 100, BLOCK = 50 };
    static const char *const covariance[] = {"full", "tied", "diag", "spherical"};
    static const struct {
        const char *text;
        double forget, kappa;
    } way[] = {{"", 1, 0}, {"forget=0.9", 0.9, 0}, {"kappa=0.6 t0=3", 1, 0.6}};
    double *x = some_rows(D, N, 2, 2, 16);
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 3; k++) {
            char text[200];
            moments want, got;
            double n[3];
            snprintf(text, sizeof text, "first=%d block=%d covariance=%s %s", FIRST, BLOCK,
                     covariance[c], way[k].text);
            fab_fit *f = mix_open("online-gmm", D, 3, text, 1);
            feed_in(f, x, 0, FIRST, FIRST);
            moments_of(f, &want);
            for (int g = 0; g < 3; g++) n[g] = FIRST * want.w[g];
            for (int t = 1; FIRST + t * BLOCK <= N; t++) {
                const int64_t at = FIRST + (t - 1) * BLOCK;
                feed_in(f, x, at, BLOCK, BLOCK);
                moments_of(f, &got);
                take_block(&want, n, x + at * D, BLOCK, way[k].forget,
                           way[k].kappa > 0 ? pow(3.0 + t, -way[k].kappa) : 0, covariance[c]);
                for (int g = 0; g < 3; g++) {
                    assert_near(got.w[g], want.w[g], 1e-9);
                    for (int i = 0; i < D; i++) assert_near(got.mu[g][i], want.mu[g][i], 1e-8);
                    for (int i = 0; i < D * D; i++) assert_near(got.S[g][i], want.S[g][i], 1e-7);
                }
            }
            fab_fit_free(f);
        }
}

/* kappa = 1 and t0 = first / block is the running sums again: (t0 + t)^-1 is the share of block t in the rows. */
static void steps_of_one_over_t_are_running_sums(void **state)
{
    (void)state;
    static const char *const method[] = {"online-gmm", "online-mfa"};
    double *x = some_rows(D, N, 2, 2, 17), l[2][100];
    const fab_rows rows = rows_of(x, 0, 100, D);
    for (int k = 0; k < 2; k++) {
        for (int b = 0; b < 2; b++) {
            const fab_mixture *q;
            fab_fit *f = mix_open(method[k], D, 3,
                                  b ? "first=100 block=50 kappa=1 t0=2" : "first=100 block=50", 1);
            feed_in(f, x, 0, N, N);
            assert_ok(fab_fit_result(f, &q));
            assert_ok(fab_mixture_logpdf(q, &rows, NULL, l[b]));
            fab_fit_free(f);
        }
        for (int j = 0; j < 100; j++) assert_near(l[0][j], l[1][j], 1e-7);
    }
}

/* Of a known mixture one pass is as likely as EM of the whole table, to a hundredth of a nat a row. */
static void one_pass_is_near_em(void **state)
{
    (void)state;
    enum { ROWS = 6000, WIDE = 12 };
    for (uint64_t seed = 1; seed <= 3; seed++) {
        double *x = some_rows(WIDE, ROWS, 2, 1.5, seed), p[2] = {0, 0}, *l = doubles(ROWS);
        const fab_rows rows = rows_of(x, 0, ROWS, WIDE);
        const fab_mixture *q;
        fab_fit *f = mix_open("online-mfa", WIDE, 3, "q=2", 2),
                *g = mix_fit("mfa", x, ROWS, WIDE, 3, "q=2", &q), *h;
        assert_ok(fab_mixture_logpdf(q, &rows, NULL, l));
        for (int64_t j = 0; j < ROWS; j++) p[0] += l[j] / ROWS;
        assert_near(p[0], loglik(g), 1e-10);
        assert_ok(fab_fit_update(f, &(fab_examples){.x = rows}));
        assert_ok(fab_fit_result(f, &q));
        assert_ok(fab_mixture_logpdf(q, &rows, NULL, l));
        for (int64_t j = 0; j < ROWS; j++) p[1] += l[j] / ROWS;
        if (!(p[1] > p[0] - 0.01)) fail_msg("seed %d: %g after %g", (int)seed, p[1], p[0]);
        fab_fit_free(f);
        fab_fit_free(g);
        g = mix_fit("gmm", x, ROWS, WIDE, 3, "restarts=5", &q);
        h = mix_open("online-gmm", WIDE, 3, "first=1000", 2);
        p[1] = 0;
        assert_ok(fab_fit_update(h, &(fab_examples){.x = rows}));
        assert_ok(fab_fit_result(h, &q));
        assert_ok(fab_mixture_logpdf(q, &rows, NULL, l));
        for (int64_t j = 0; j < ROWS; j++) p[1] += l[j] / ROWS;
        if (!(p[1] > loglik(g) - 0.01))
            fail_msg("seed %d: %g after %g", (int)seed, p[1], loglik(g));
        fab_fit_free(g);
        fab_fit_free(h);
    }
}

static void a_stream_that_forgets_follows_a_drift(void **state)
{
    (void)state;
    enum { ROWS = 4000 };
    static const struct {
        const char *method, *text[3];
    } of[] = {
        {"online-mfa", {"q=1 block=50", "q=1 block=50 forget=0.995", "q=1 block=50 kappa=0.6"}},
        {"online-gmm", {"block=50", "block=50 forget=0.995", "block=50 kappa=0.6"}}};
    double *x = some_rows(D, ROWS, 1, 3, 14), l[500];
    for (int64_t j = 0; j < ROWS; j++) /* the clusters go up */
        for (int64_t i = 0; i < D; i++) x[j * D + i] += 4.0 * (double)j / ROWS;
    const fab_rows last = rows_of(x, ROWS - 500, 500, D);
    for (int k = 0; k < 2; k++) {
        double p[3] = {0};
        for (int b = 0; b < 3; b++) {
            fab_fit *f = mix_open(of[k].method, D, 3, of[k].text[b], 1);
            const fab_mixture *q;
            feed_in(f, x, 0, ROWS, ROWS);
            assert_ok(fab_fit_result(f, &q));
            assert_ok(fab_mixture_logpdf(q, &last, NULL, l));
            for (int64_t j = 0; j < 500; j++) p[b] += l[j] / 500;
            fab_fit_free(f);
        }
        for (int b = 1; b < 3; b++)
            if (!(p[b] > p[0] + 0.2))
                fail_msg("%s: %g with %s, %g without", of[k].method, p[b], of[k].text[b], p[0]);
    }
}

static void a_stream_of_odd_rows_is_fitted_or_refused(void **state)
{
    (void)state;
    double *x = some_rows(D, N, 2, 3, 15), *flat = doubles(N * D);
    const fab_mixture *q;
    for (int64_t j = 0; j < N; j++) x[j * D + 3] = 7.125;
    fab_fit *f = mix_open("online-mfa", D, 3, ONE_PASS, 1);
    feed_in(f, x, 0, N, N);
    assert_ok(fab_fit_result(f, &q));
    assert_near(q->part[0]->mu[3], 7.125, 1e-12);
    fab_fit_free(f);
    f = mix_open("online-mfa", D, 3, ONE_PASS, 1);
    const fab_rows rows = rows_of(flat, 0, N, D), few = rows_of(x, 0, 2, D);
    assert_refused(fab_fit_update(f, &(fab_examples){.x = rows}), FAB_BAD_DATA,
                   "every column is constant");
    fab_fit_free(f);
    f = mix_open("online-mfa", D, 3, ONE_PASS, 1);
    assert_ok(fab_fit_update(f, &(fab_examples){.x = few}));
    assert_refused(fab_fit_result(f, &q), FAB_BAD_DATA, "G = 3 parts for 2 rows");
    fab_fit_free(f);
    fab_online_mfa_settings s = fab_online_mfa_defaults(3);
    s.q = 3, s.inner_rank = 2;
    assert_refused(fab_fit_create(&f, "online-mfa", &s, sizeof s, &(fab_input){.vectors = D}, NULL),
                   FAB_BAD_ARGUMENT, "inner_rank = 2 is below q = 3");
    s = fab_online_mfa_defaults(3);
    s.kappa = 0.6, s.forget = 0.9;
    assert_refused(fab_fit_create(&f, "online-mfa", &s, sizeof s, &(fab_input){.vectors = D}, NULL),
                   FAB_BAD_ARGUMENT, "kappa = 0.6 and forget = 0.9");
    fab_online_gmm_settings t = fab_online_gmm_defaults(3);
    assert_refused(
        fab_fit_create(&f, "online-gmm", &t, sizeof t, &(fab_input){.vectors = 3000}, NULL),
        FAB_UNSUPPORTED, "covariance=diag, or online-mfa");
    t.first = 5;
    assert_refused(fab_fit_create(&f, "online-gmm", &t, sizeof t, &(fab_input){.vectors = D}, NULL),
                   FAB_BAD_ARGUMENT, "first = 5 rows for G = 3 parts");
    f = mix_open("online-gmm", D, 3, "first=60 block=37", 1);
    feed_in(f, x, 0, N, N); /* with a column that is constant */
    assert_ok(fab_fit_result(f, &q));
    assert_near(q->part[0]->mu[3], 7.125, 1e-12);
    for (int64_t i = 0; i < D; i++) flat[i] = 1e9; /* a row far from all parts */
    feed_in(f, flat, 0, 1, 1);
    assert_ok(fab_fit_result(f, &q));
    assert_ok(fab_mixture_check(q));
    fab_fit_free(f);
}

/* On one thread: the allocator that counts is not for several. */
static double *few;

static fab_status fit_few(void)
{
    const fab_mixture *q;
    fab_fit *f;
    const fab_mfa_settings s = {2, 1, 0, 1e-3, 20, 3, 2, 1e-6, 1};
    const fab_rows rows = rows_of(few, 0, 60, D);
    FAB_TRY(fab_fit_create(&f, "mfa", &s, sizeof s, &(fab_input){.vectors = D},
                           &(fab_exec){.threads = 1}));
    fab_status done = fab_fit_update(f, &(fab_examples){.x = rows});
    if (done == FAB_OK) done = fab_fit_result(f, &q);
    fab_fit_free(f);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    few = some_rows(D, 60, 1, 3, 11);
    assert_true(fail_every_allocation(fit_few) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_gradient_is_zero_where_em_ends),
        TEST(a_step_of_full_covariances_is_the_textbooks),
        TEST(rank_0_is_diagonal_and_rank_D_is_full),
        TEST(one_part_is_factor_analysis),
        TEST(the_likelihood_never_falls),
        TEST(any_number_of_threads_gives_the_same_bytes),
        TEST(a_run_that_was_stopped_ends_in_the_same_bytes),
        TEST(a_row_of_weight_2_counts_twice),
        TEST(rows_that_are_too_few_are_refused),
        TEST(parts_that_collapse_stand_at_the_floor),
        TEST(a_constant_column_and_a_far_row_are_fitted),
        TEST(bad_settings_are_refused_by_name),
        TEST(a_stream_in_pieces_is_the_whole),
        TEST(a_stream_goes_on_from_its_file_to_the_same_bytes),
        TEST(blocks_of_a_stream_of_gaussians_are_the_textbooks),
        TEST(steps_of_one_over_t_are_running_sums),
        TEST(one_pass_is_near_em),
        TEST(a_stream_that_forgets_follows_a_drift),
        TEST(a_stream_of_odd_rows_is_fitted_or_refused),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
