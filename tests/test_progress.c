/* test_progress.c - who watches a fit: every method asks often, stops, goes on, and ends where it would have ended.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "dense.h"
#include "fabayes/fit.h"
#include "fabayes/net.h"
#include "fabayes/predict.h"
#include "fabayes/random.h"
#include "train/objective.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- who watches ------------------------------------------------------------------------------------ */

/* A question comes every 0.2 s of work at least; a busy machine may take five times as long. */
#define LONGEST 1.0

typedef struct listener {
    int64_t calls, stop_at, stops; /* stop_at: the call that is answered with stop, 0: none */
    double last, gap;              /* the largest time without a question */
    const char *only;              /* what it may hear, or NULL */
    int strange;                   /* it heard something else */
} listener;

static void note_time(listener *l)
{
    const double now = fab_clock();
    if (now - l->last > l->gap) l->gap = now - l->last;
    l->last = now;
}

static int hear(void *ctx, const char *what, int64_t done, int64_t total)
{
    listener *l = ctx;
    (void)done, (void)total;
    note_time(l);
    if (l->only && strncmp(what, l->only, strlen(l->only)) != 0) l->strange = 1;
    l->calls++;
    if (l->calls != l->stop_at) return 0;
    l->stops++;
    return 1;
}

/* ---- the methods, each with work for a part of a second ------------------------------------------------ */

/* LABELS: linear, of two of them */
typedef enum kind { VECTORS, LINEAR, LABELS, NETWORK, PROCESS } kind;

typedef struct work {
    const char *method;
    kind kind;
    int64_t D, n;
    const char *set[6]; /* name, value, .. */
} work;

static const work all[] = {
    {"online-ml", VECTORS, 200, 20000, {"K", "5"}},
    {"recursive-em", VECTORS, 200, 20000, {"K", "5"}},
    {"online-em", VECTORS, 200, 30000, {"K", "5"}},
    {"stochastic-em", VECTORS, 200, 20000, {"K", "5"}},
    {"online-sga", VECTORS, 200, 20000, {"K", "5"}},
    {"ml", VECTORS, 150, 4000, {"K", "4"}},
    {"em", VECTORS, 300, 1000, {"K", "6", "tol", "1e-12", "max_iter", "400"}},
    {"ppca", VECTORS, 600, 8000, {"K", "5"}},
    {"pca", VECTORS, 2000, 400, {"K", "5"}},
    {"kmeans", VECTORS, 40, 20000, {"G", "12", "restarts", "3"}},
    {"minibatch-kmeans", VECTORS, 40, 40000, {"G", "12", "warmup", "4000"}},
    {"dpmeans", VECTORS, 20, 6000, {"lambda", "15"}},
    {"online-dpmeans", VECTORS, 20, 8000, {"lambda", "15"}},
    {"soft-kmeans", VECTORS, 40, 6000, {"G", "8", "sigma", "1", "max_iter", "30"}},
    {"mfa", VECTORS, 60, 4000, {"G", "3", "max_iter", "30"}},
    {"online-mfa", VECTORS, 60, 6000, {"G", "3"}},
    {"online-gmm", VECTORS, 20, 6000, {"G", "3"}},
    {"gmm", VECTORS, 30, 4000, {"G", "3", "max_iter", "40"}},
    {"vbgmm", VECTORS, 30, 4000, {"G", "3", "max_iter", "40"}},
    {"exact", LINEAR, 150, 8000, {NULL}},
    {"ridge", LINEAR, 1500, 300, {NULL}},
    {"cavi", LINEAR, 150, 8000, {NULL}},
    {"laplace", LINEAR, 100, 4000, {"beta", "1"}},
    {"map", LINEAR, 2500, 400, {"beta", "1", "alpha", "1"}},
    {"kalman", LINEAR, 600, 800, {NULL}},
    {"rvga", LINEAR, 200, 3000, {NULL}},
    {"lrvga", LINEAR, 300, 4000, {"K", "5"}},
    {"lrvga", NETWORK, 20, 1500, {"K", "5", "epochs", "40"}},
    {"laplace", NETWORK, 20, 1500, {"epochs", "40", "K", "5"}},
    {"sgd", NETWORK, 20, 4000, {"epochs", "60", "held_out", "0.1"}},
    {"ensemble", NETWORK, 20, 1000, {"epochs", "40", "runs", "3"}},
    {"vifa", NETWORK, 20, 2000, {"epochs", "20", "K", "3"}},
    {"meanfield", NETWORK, 20, 2000, {"epochs", "30"}},
    {"swa", NETWORK, 20, 3000, {"epochs", "30", "average", "20"}},
    {"swag", NETWORK, 20, 3000, {"average", "30", "columns", "recursive-em", "K", "3"}},
    {"multiswag", NETWORK, 20, 1000, {"epochs", "20", "average", "20", "runs", "2"}},
    {"iterate-averaging", NETWORK, 20, 2000, {"epochs", "20", "average", "20"}},
    {"slang", NETWORK, 20, 1500, {"epochs", "20", "K", "3"}},
    {"vogn", NETWORK, 20, 1500, {"epochs", "30"}},
    {"vga", LINEAR, 100, 4000, {"beta", "1"}},
    {"spike-slab", LINEAR, 600, 300, {NULL}},
    {"lasso", LINEAR, 200, 600, {NULL}},
    {"elastic-net", LINEAR, 200, 600, {NULL}},
    {"quantile", LINEAR, 30, 2000, {NULL}},
    {"erm", LINEAR, 30, 600, {"loss", "absolute"}},
    {"rvga", LABELS, 600, 500, {NULL}},
    {"lrvga", LABELS, 600, 500, {"K", "10"}},
    {"gp", PROCESS, 8, 400, {"starts", "2"}},
    {"kernel-ridge", PROCESS, 8, 400, {"starts", "2"}},
    {"vfe", PROCESS, 8, 700, {"inducing", "30"}},
    {"dtc", PROCESS, 8, 700, {"inducing", "30"}},
    {"fitc", PROCESS, 8, 700, {"inducing", "30"}},
};
enum { WORKS = sizeof all / sizeof *all };

static const work *work_of(const char *method, kind of)
{
    for (int i = 0; i < WORKS; i++)
        if (strcmp(all[i].method, method) == 0 && all[i].kind == of) return &all[i];
    fail_msg("there is no work for %s", method);
    return NULL;
}

/* Rows, a target that follows them, and whom to fit. */
typedef struct setting {
    const work *w;
    const fab_method *method;
    double *x, *y;
    fab_examples e;
    fab_glm glm;
    fab_model model;
    fab_net *net;
    fab_kernel *kernel;
    fab_input in;
    int64_t settings[64];
} setting;

static setting *some_setting(const work *w)
{
    setting *s = calloc(1, sizeof *s);
    assert_non_null(s);
    *s = (setting){.w = w, .method = fab_method_find(w->method)};
    s->x = calloc((size_t)(w->n * w->D), sizeof *s->x);
    s->y = calloc((size_t)w->n, sizeof *s->y);
    assert_true(s->x && s->y);
    fab_random_normal(3, FAB_PURPOSE_DATA, 0, 0, w->n * w->D, FAB_F64, s->x);
    fab_random_normal(3, FAB_PURPOSE_DATA, 1, 0, w->n, FAB_F64, s->y);
    for (int64_t j = 0; j < w->n; j++) {
        const double first = s->x[j * w->D], other = s->x[j * w->D + 1];
        s->y[j] = first + 0.5 * other * other + 0.3 * s->y[j];
        for (int64_t i = 2; i < w->D; i++)
            s->x[j * w->D + i] += (i % 2 ? first : other); /* factors */
        if (w->kind == LABELS) s->y[j] = s->y[j] > 0;
    }
    s->e = (fab_examples){.x = {.p = s->x, .type = FAB_F64, .n = w->n, .ld = w->D}};
    if (w->kind == VECTORS) s->in.vectors = w->D;
    if (w->kind != VECTORS) s->e.y = s->y;
    if (w->kind == LINEAR || w->kind == LABELS) {
        s->glm = (fab_glm){.likelihood = w->kind == LABELS ? FAB_LIKELIHOOD_BERNOULLI
                                                           : FAB_LIKELIHOOD_GAUSSIAN,
                           .D = w->D,
                           .classes = 1,
                           .intercept = 1,
                           .beta = 1};
        s->model = fab_model_linear(&s->glm);
        s->in.model = &s->model;
    }
    if (w->kind == PROCESS) {
        s->glm =
            (fab_glm){.likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = w->D, .classes = 1, .beta = 1};
        assert_ok(fab_kernel_create(&s->kernel, "rbf:ard", w->D, NULL));
        s->model = fab_model_kernel(&s->glm, s->kernel);
        s->in.model = &s->model;
    }
    if (w->kind == NETWORK) {
        const fab_net_plan plan = {.layers = "mlp:24", .features = w->D, .classes = 1, .beta = 9};
        assert_ok(fab_net_create(&s->net, &plan, NULL));
        s->in.model = fab_net_model(s->net);
        s->method = fab_method_of_networks(s->method);
    }
    const fab_fields *fields = fab_method_fields(s->method);
    fab_settings_defaults(fields, s->settings);
    for (int i = 0; i < 6 && w->set[i]; i += 2)
        assert_ok(fab_settings_parse(fields, s->settings, w->set[i], w->set[i + 1]));
    return s;
}

static void free_setting(setting *s)
{
    fab_net_free(s->net);
    fab_kernel_free(s->kernel);
    free(s->x);
    free(s->y);
    free(s);
}

static fab_fit *open_fit(const setting *s, listener *l)
{
    fab_fit *f;
    const fab_exec x = {.threads = 1, .progress = hear, .progress_ctx = l};
    l->last = fab_clock();
    assert_ok(fab_fit_create(&f, s->w->method, s->settings, fab_method_fields(s->method)->size,
                             &s->in, &x));
    return f;
}

/* Feed what is left of the rows and ask for the result, as often as it takes. */
static void work_to_the_end(const setting *s, fab_fit *f, const fab_mixture **q)
{
    const int64_t n = s->e.x.n, D = s->w->D;
    int64_t done = fab_fit_rows(f);
    while (done < n) {
        fab_examples rest = s->e;
        rest.x.p = s->x + done * D;
        rest.x.n = n - done;
        if (rest.y) rest.y += done;
        const fab_status status = fab_fit_update(f, &rest);
        const int64_t now = fab_fit_rows(f);
        assert_true(status == FAB_OK || status == FAB_STOPPED);
        assert_true(now >= done && now <= n && (status == FAB_STOPPED || now == n));
        done = now;
    }
    fab_status status;
    do {
        status = fab_fit_result(f, q);
        if (status != FAB_OK && status != FAB_STOPPED) print_message("%s\n", fab_detail());
        assert_true(status == FAB_OK || status == FAB_STOPPED);
        assert_true((status == FAB_OK) == (*q != NULL));
    } while (status != FAB_OK);
}

static void assert_same(const fab_mixture *a, const fab_mixture *b)
{
    assert_int_equal(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++) {
        const fab_gauss *p = a->part[i], *q = b->part[i];
        assert_true(p->D == q->D && p->K == q->K && p->form == q->form && p->type == q->type);
        const size_t element = p->type == FAB_F32 ? sizeof(float) : sizeof(double);
        assert_memory_equal(p->mu, q->mu, (size_t)p->D * sizeof(double));
        if (p->form == FAB_FORM_POINT) continue;
        assert_memory_equal(p->psi, q->psi, (size_t)p->D * sizeof(double));
        if (p->K) assert_memory_equal(p->F, q->F, (size_t)(p->D * p->K) * element);
    }
}

/* ---- tests ------------------------------------------------------------------------------------------- */

static void every_method_has_its_work_here(void **state)
{
    (void)state;
    for (int64_t i = 0; i < fab_method_count(); i++) {
        int found = 0;
        for (int64_t k = 0; k < WORKS; k++)
            found |= strcmp(all[k].method, fab_method_name(fab_method_at(i))) == 0;
        if (!found) fail_msg("%s is not watched", fab_method_name(fab_method_at(i)));
    }
}

/* Stopped at several calls of all that there are, each run goes on and ends in the same bytes. */
static void every_method_asks_often_and_goes_on_after_a_stop(void **state)
{
    (void)state;
    for (int64_t k = 0; k < WORKS; k++) {
        setting *s = some_setting(&all[k]);
        listener whole = {0}, stopped = {0};
        const fab_mixture *q, *again;
        const double start = fab_clock();
        fab_fit *f = open_fit(s, &whole), *g;
        work_to_the_end(s, f, &q);
        note_time(&whole);
        print_message("%-18s %.2f s, %lld calls, longest gap %.3f s\n", all[k].method,
                      fab_clock() - start, (long long)whole.calls, whole.gap);
        assert_true(whole.gap < LONGEST);
        assert_true(whole.calls >= 2);

        g = open_fit(s, &stopped);
        stopped.stop_at = 1;
        const fab_mixture *none;
        const fab_status first = fab_fit_update(g, &s->e);
        if (first == FAB_OK)
            assert_int_equal(fab_fit_result(g, &none), FAB_STOPPED);
        else
            assert_int_equal(first, FAB_STOPPED);
        assert_int_equal(stopped.stops, 1);
        stopped.stop_at = 1 + whole.calls / 2; /* and once more on the way */
        work_to_the_end(s, g, &again);
        assert_same(q, again);
        fab_fit_free(g);

        listener left = {.stop_at = 2}; /* and one that nobody goes on with */
        g = open_fit(s, &left);
        if (fab_fit_update(g, &s->e) == FAB_OK)
            assert_int_equal(fab_fit_result(g, &none), FAB_STOPPED);
        fab_fit_free(g);
        fab_fit_free(f);
        free_setting(s);
    }
}

static void a_stream_counts_the_rows_it_took(void **state)
{
    (void)state;
    setting *s = some_setting(&all[1]);
    listener l = {.stop_at = 2};
    fab_fit *f = open_fit(s, &l);
    assert_int_equal(fab_fit_update(f, &s->e), FAB_STOPPED);
    assert_true(fab_fit_rows(f) > 0 && fab_fit_rows(f) < s->e.x.n);
    const fab_gauss *q;
    assert_ok(fab_fit_gauss(f, &q)); /* of those */
    assert_ok(fab_gauss_check(q));
    fab_fit_free(f);
    free_setting(s);
}

typedef struct side {
    setting *s;
    listener l;
    const char *name;
    fab_fit *f;
} side;

static void *run_side(void *ctx)
{
    side *a = ctx;
    const fab_mixture *q;
    a->f = open_fit(a->s, &a->l);
    work_to_the_end(a->s, a->f, &q);
    return NULL;
}

static void two_fits_side_by_side_have_their_own(void **state)
{
    (void)state;
    side a = {.s = some_setting(&all[2]), .l = {.only = "online-em"}},
         b = {.s = some_setting(&all[4]), .l = {.only = "online-sga", .stop_at = 3}};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_side, &a), 0);
    run_side(&b);
    pthread_join(thread, NULL);
    assert_true(a.l.calls > 0 && b.l.calls > 0);
    assert_true(!a.l.strange && !b.l.strange);
    assert_int_equal(a.l.stops, 0);
    assert_int_equal(b.l.stops, 1);
    fab_fit_free(a.f);
    fab_fit_free(b.f);
    free_setting(a.s);
    free_setting(b.s);
}

static void predictions_stop(void **state)
{
    (void)state;
    setting *s = some_setting(work_of("rvga", LINEAR)),
            *t = some_setting(work_of("laplace", NETWORK));
    listener quiet = {0}, l = {.stop_at = 1}, d = {.stop_at = 2};
    const fab_exec x = {.threads = 1, .progress = hear, .progress_ctx = &l},
                   y = {.threads = 1, .progress = hear, .progress_ctx = &d};
    const fab_mixture *q;
    fab_draws *draws;
    fab_fit *f = open_fit(s, &quiet), *g = open_fit(t, &quiet);
    double *eta = doubles(2 * s->w->n);
    work_to_the_end(s, f, &q);
    assert_int_equal(fab_predict_eta(q->part[0], &s->glm, &s->e.x, NULL, &x, eta, eta + s->w->n),
                     FAB_STOPPED);
    work_to_the_end(t, g, &q);
    assert_int_equal(fab_draws_create(&draws, t->in.model, q, &t->e.x, NULL, 3, 1, &x), FAB_OK);
    fab_draws_free(draws);
    assert_int_equal(fab_draws_linearise(&draws, t->in.model, q, &t->e.x, NULL, &y), FAB_STOPPED);
    assert_null(draws);
    fab_fit_free(f);
    fab_fit_free(g);
    free_setting(s);
    free_setting(t);
}

typedef struct count {
    int64_t last, total, wrong;
} count;

/* Each call is further than the last one, and of the same whole. */
static int hear_count(void *ctx, const char *what, int64_t done, int64_t total)
{
    count *c = ctx;
    (void)what;
    if (done <= c->last || total != c->total) c->wrong++;
    c->last = done;
    return 0;
}

static void predictions_count_their_rows(void **state)
{
    (void)state;
    enum { N = 1000, D = 3 };
    double x[N * D], eta[N], variance[N], mu[D] = {1, 2, 3}, psi[D] = {1, 1, 1};
    const fab_gauss q = {
        .form = FAB_FORM_COVARIANCE, .type = FAB_F64, .D = D, .mu = mu, .psi = psi};
    const fab_glm glm = {.D = D, .classes = 1, .beta = 1};
    count c = {.total = N};
    const fab_exec exec = {.threads = 1, .progress = hear_count, .progress_ctx = &c};
    fab_random_normal(3, FAB_PURPOSE_DATA, 0, 0, N * D, FAB_F64, x);
    assert_ok(fab_predict_eta(&q, &glm, &(fab_rows){x, FAB_F64, N, D}, NULL, &exec, eta, variance));
    assert_true(c.last == N && c.wrong == 0);
}

enum { LEVELS = 997 };
static int64_t level_of(int64_t i)
{
    return i * 7919 % LEVELS;
}

/* P(level of a row of class k > that of another row), equal ones counting half: from the counts of each level. */
static double area_of_levels(int64_t n, const double *y, double k)
{
    double mine[LEVELS] = {0}, others[LEVELS] = {0}, ones = 0, below = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) *(y[i] == k ? &mine[level_of(i)] : &others[level_of(i)]) += 1;
    for (int j = 0; j < LEVELS; j++) {
        sum += mine[j] * (below + others[j] / 2);
        below += others[j];
        ones += mine[j];
    }
    return sum / (ones * below);
}

/* Of more rows than are sorted in one piece. */
static void scores_ask_often_and_stop(void **state)
{
    (void)state;
    enum { ROWS = 400000, CLASSES = 3, SAMPLES = 400, FEW = 60 };
    fab_scores s;
    double *eta = doubles(ROWS), *v = doubles(ROWS), *y = doubles(ROWS),
           *logp = doubles(CLASSES * ROWS), *draws = doubles(SAMPLES * FEW),
           *beta = doubles(SAMPLES * FEW), weight[SAMPLES];
    fab_random_normal(5, FAB_PURPOSE_DATA, 0, 0, ROWS, FAB_F64, eta);
    fab_random_normal(5, FAB_PURPOSE_DATA, 1, 0, SAMPLES * FEW, FAB_F64, draws);
    for (int64_t i = 0; i < ROWS; i++) {
        const double p = 0.3 + 0.4 * (double)level_of(i) / LEVELS;
        y[i] = (double)(i % 2);
        v[i] = 0.5;
        logp[i * CLASSES] = log(p);
        logp[i * CLASSES + 1] = logp[i * CLASSES + 2] = log((1 - p) / 2);
    }
    for (int64_t i = 0; i < SAMPLES * FEW; i++) beta[i] = 2;
    for (int i = 0; i < SAMPLES; i++) weight[i] = 1. / SAMPLES;
    y[0] = 2; /* a class of several, a count, and for two classes put right below */
    const fab_draws d = {.head = {.classes = 1, .beta = 2},
                         .n = FEW,
                         .samples = SAMPLES,
                         .eta = draws,
                         .beta = beta,
                         .weight = weight};
    static const fab_likelihood of[] = {FAB_LIKELIHOOD_GAUSSIAN, FAB_LIKELIHOOD_POISSON,
                                        FAB_LIKELIHOOD_BERNOULLI};
    for (int k = 0; k < 5; k++) { /* three likelihoods, several classes, draws */
        const fab_glm m = {.likelihood = of[k % 3], .classes = 1, .beta = 2};
        listener l = {0};
        const fab_exec x = {.progress = hear, .progress_ctx = &l};
        if (k == 2) y[0] = 1;
        if (k == 3) y[0] = 2;
        for (int64_t stop_at = 0, calls = 0; stop_at < 4; stop_at++) {
            l = (listener){.last = fab_clock()};
            if (stop_at > 0) l.stop_at = 1 + (stop_at - 1) * (calls - 1) / 2; /* first .. last */
            fab_status status;
            if (k < 3)
                status = fab_score(&m, ROWS, eta, v, y, &x, &s);
            else if (k == 3)
                status = fab_score_classes(CLASSES, ROWS, logp, y, &x, &s);
            else
                status = fab_draws_score(&d, y, &x, &s);
            note_time(&l);
            if (stop_at == 0)
                print_message("%d: %lld calls, longest gap %.3f s\n", k, (long long)l.calls, l.gap);
            assert_true(l.gap < LONGEST);
            assert_int_equal(status, stop_at > 0 ? FAB_STOPPED : FAB_OK);
            assert_int_equal(l.calls, stop_at > 0 ? l.stop_at : l.calls);
            if (stop_at > 0) continue;
            calls = l.calls;
            assert_true(calls > 3);
        }
        if (k != 3) continue;
        assert_ok(fab_score_classes(CLASSES, ROWS, logp, y, NULL, &s));
        const double area = area_of_levels(ROWS, y, 0) + 1 - area_of_levels(ROWS, y, 1) + 1 -
                            area_of_levels(ROWS, y, 2); /* p of the others falls */
        assert_true(fabs(s.auc - area / CLASSES) < 1e-12);
    }
}

/* 40 million numbers, by rows, by columns and sparse: stopped, no row is in; asked again, the bad one is named. */
static void the_check_of_a_table_stops_and_takes_no_row(void **state)
{
    (void)state;
    enum { ROWS = 400000, D = 100 };
    double *x = doubles((int64_t)ROWS * D), *y = doubles(ROWS);
    int64_t *start = calloc(ROWS + 1, sizeof *start);
    int32_t *index = calloc((size_t)ROWS * D, sizeof *index);
    assert_true(start && index);
    for (int64_t i = 0; i <= ROWS; i++) start[i] = i * D;
    for (int64_t i = 0; i < (int64_t)ROWS * D; i++) index[i] = (int32_t)(i % D);
    const fab_rows shape[] = {{.p = x, .n = ROWS, .ld = D},
                              {.p = x, .n = ROWS, .ld = 1, .stride = ROWS},
                              {.p = x, .n = ROWS, .ld = D, .start = start, .index = index}};
    fab_glm glm = {.D = D, .classes = 1, .beta = 1};
    const fab_model model = fab_model_linear(&glm);
    const fab_online_em_settings online = fab_online_em_defaults(2);
    const fab_rvga_settings rvga = fab_rvga_defaults();
    for (int k = 0; k < 6; k++) { /* vectors, examples */
        const fab_examples e = {.x = shape[k / 2], .y = k % 2 ? y : NULL};
        listener l = {.last = fab_clock(), .stop_at = 2};
        const fab_exec exec = {.progress = hear, .progress_ctx = &l, .threads = 1};
        fab_fit *f;
        if (k % 2)
            assert_ok(fab_fit_create(&f, "rvga", &rvga, sizeof rvga, &(fab_input){.model = &model},
                                     &exec));
        else
            assert_ok(fab_fit_create(&f, "online-em", &online, sizeof online,
                                     &(fab_input){.vectors = D}, &exec));
        assert_int_equal(fab_fit_update(f, &e), FAB_STOPPED);
        assert_non_null(strstr(fab_detail(), "check: stopped after"));
        assert_int_equal(fab_fit_rows(f), 0);
        x[(int64_t)ROWS * D - 1] = NAN; /* last row, last column of all shapes */
        assert_refused(fab_fit_update(f, &e), FAB_BAD_DATA, "row 399999, column 99 is nan");
        note_time(&l);
        assert_true(l.calls > 4 && l.gap < LONGEST);
        x[(int64_t)ROWS * D - 1] = 0;
        fab_fit_free(f);
    }
    free(start);
    free(index);
}

/* A gradient of 60000 x 200 numbers, without the curvature. */
static void a_pass_for_the_gradient_alone_asks(void **state)
{
    (void)state;
    enum { ROWS = 60000, D = 200 };
    double *x = doubles((int64_t)ROWS * D), *y = doubles(ROWS), theta[D] = {0}, gradient[D];
    const fab_examples e = {.x = {.p = x, .type = FAB_F64, .n = ROWS, .ld = D}, .y = y};
    const fab_glm m = {.D = D, .classes = 1, .beta = 1};
    listener l = {.stop_at = 5}; /* in the second or third pass */
    const fab_exec exec = {.progress = hear, .progress_ctx = &l};
    fab_objective *o;
    assert_ok(fab_objective_init(&o, "test", &m, &e, NULL, 0, 1, &exec));
    fab_objective_diagonal(o, 1, 1);
    assert_true(isfinite(fab_objective_at(o, theta, gradient, NULL)));
    assert_true(l.calls > 0);
    while (o->stopped == FAB_OK) fab_objective_at(o, theta, gradient, NULL);
    assert_int_equal(o->stopped, FAB_STOPPED);
    assert_true(isnan(fab_objective_at(o, theta, gradient, NULL)));
    fab_objective_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_has_its_work_here),
        cmocka_unit_test(every_method_asks_often_and_goes_on_after_a_stop),
        cmocka_unit_test(a_stream_counts_the_rows_it_took),
        cmocka_unit_test(two_fits_side_by_side_have_their_own),
        cmocka_unit_test_teardown(predictions_stop, dense_release),
        cmocka_unit_test(predictions_count_their_rows),
        cmocka_unit_test_teardown(a_pass_for_the_gradient_alone_asks, dense_release),
        cmocka_unit_test_teardown(scores_ask_often_and_stop, dense_release),
        cmocka_unit_test_teardown(the_check_of_a_table_stops_and_takes_no_row, dense_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
