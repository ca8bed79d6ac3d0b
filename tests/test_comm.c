/* test_comm.c - a fit over several processes: each holds some coordinates, and together they are one.
 *
 * Processes are threads here (ranks.h), with uneven shares; every method of the list runs on 1, 2, 3 and 5 of them.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fa_case.h"
#include "fabayes/net.h"
#include "files.h"
#include "ranks.h"
#include <stdatomic.h>

enum { D = 29, K = 3, N = 317, SHARES = 6 };

typedef struct shares {
    int64_t n, of[5];
} shares;

static const shares divided[SHARES] = {
    {1, {29}},       {2, {11, 18}},         {2, {28, 1}},
    {3, {1, 27, 1}}, {5, {1, 7, 2, 18, 1}}, {5, {4, 6, 5, 7, 7}}};

/* ---- a fit ------------------------------------------------------------------------------------------ */

enum { AT_NO_VERB, AT_CREATE, AT_UPDATE, AT_RESULT, AT_REPORT };

typedef struct task {
    const char *method, *text;
    const fab_ops *ops;
    const fab_rows *rows; /* of all coordinates */
    fab_gauss *q;
    fab_report report;
    int verb;         /* the last one begun */
    int64_t fails_at; /* this allocation of the thread; 0: none */
    int64_t stops_at; /* this question of the watch; 0: none */
    int64_t asked;
} task;

static _Thread_local int64_t thread_calls, thread_fails_at;
static atomic_llong held; /* by all threads */

static void *thread_alloc(size_t bytes)
{
    if (++thread_calls == thread_fails_at) return NULL;
    atomic_fetch_add(&held, 1);
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void thread_release(void *p)
{
    atomic_fetch_sub(&held, 1);
    free(p);
}

static int watch(void *ctx, const char *what, int64_t done, int64_t total)
{
    task *t = ctx;
    (void)what, (void)done, (void)total;
    return ++t->asked == t->stops_at;
}

static fab_status fit_with(rank *r, fab_fit *e)
{
    task *t = r->ctx;
    const fab_gauss *q;
    fab_rows part = *t->rows;
    part.p = (const double *)part.p + r->first;
    t->verb = AT_UPDATE;
    FAB_TRY(fab_fit_update(e, &(fab_examples){.x = part}));
    t->verb = AT_RESULT;
    FAB_TRY(fab_fit_gauss(e, &q));
    const int64_t calls = thread_calls;
    thread_fails_at = 0;
    FAB_TRY(fab_gauss_copy(&t->q, q, q->type));
    thread_calls = calls;
    thread_fails_at = t->fails_at;
    t->verb = AT_REPORT;
    return fab_fit_report(e, &t->report);
}

static fab_status fit_part(rank *r)
{
    task *t = r->ctx;
    const fab_exec x = {
        .ops = t->ops, .comm = &r->comm, .threads = 1, .progress = watch, .progress_ctx = t};
    const any_settings s = settings_of(t->method, K, t->text);
    fab_fit *e;
    thread_calls = 0;
    thread_fails_at = t->fails_at;
    t->verb = AT_CREATE;
    fab_status status = fab_fit_create(&e, t->method, &s, fab_method_find(t->method)->fields->size,
                                       &(fab_input){.vectors = r->D}, &x);
    if (status == FAB_OK) status = fit_with(r, e);
    fab_fit_free(e);
    thread_fails_at = 0;
    return status;
}

/* The same task for all ranks; 0: nobody waited in vain. */
static int run_ranks(rank *r, task *t, const shares *s, const task *proto)
{
    for (int64_t k = 0; k < s->n; k++) t[k] = *proto;
    return ranks_run(r, s->n, s->of, fit_part, t, sizeof *t);
}

static void free_results(task *t, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        fab_gauss_free(t[k].q);
        t[k].q = NULL;
    }
}

/* ---- divided and whole ------------------------------------------------------------------------------ */

static double f_at(const fab_gauss *q, int64_t at)
{
    return q->type == FAB_F32 ? (double)((const float *)q->F)[at] : ((const double *)q->F)[at];
}

/* How far the parts of all ranks are from the Gaussian of one process; INFINITY where its report is another. */
static double gap_of(const task *t, const rank *r, int64_t n, const fab_gauss *whole,
                     const fab_report *d)
{
    double top = 0, gap = 0;
    for (int64_t i = 0; i < D * K; i++) top = fmax(top, fabs(f_at(whole, i)));
    for (int64_t k = 0; k < n; k++) {
        const fab_gauss *q = t[k].q;
        for (int64_t i = 0; i < q->D; i++) {
            const int64_t at = r[k].first + i;
            gap = fmax(gap, fabs(q->mu[i] - whole->mu[at]) / (1 + fabs(whole->mu[at])));
            gap = fmax(gap, fabs(q->psi[i] / whole->psi[at] - 1));
            for (int64_t c = 0; c < K; c++)
                gap = fmax(gap, fabs(f_at(q, i * K + c) - f_at(whole, at * K + c)) / top);
        }
        const double loglik = fabs(t[k].report.loglik_mean / d->loglik_mean - 1);
        const double allowed = q->type == FAB_F32 ? 2e-3 : 1e-10;
        if (!(gap < INFINITY && loglik <= allowed)) return INFINITY; /* NaN too */
        if (t[k].report.floored != d->floored || t[k].report.n != d->n) return INFINITY;
        if (t[k].report.loglik_rows != d->loglik_rows) return INFINITY;
    }
    return gap;
}

/* All divisions give the result of one process to tol. */
static void check_divided(const char *method, const char *text, fab_dtype type,
                          const fab_rows *rows, double tol)
{
    const fab_exec alone = {.ops = fab_ops_find("cpu", type), .threads = 1};
    const task proto = {.method = method, .text = text, .ops = alone.ops, .rows = rows};
    fab_report d;
    fab_gauss *whole = fa_fit(method, K, text, &alone, rows, &d);
    for (int s = 0; s < SHARES; s++) {
        rank r[5];
        task t[5];
        const int in_vain = run_ranks(r, t, &divided[s], &proto);
        for (int64_t k = 0; k < divided[s].n; k++)
            if (r[k].status != FAB_OK)
                fail_msg("%s %s, division %d: %s", method, text, s, r[k].said);
        assert_int_equal(in_vain, 0);
        const double gap = gap_of(t, r, divided[s].n, whole, &d);
        if (!(gap <= tol))
            fail_msg("%s %s, division %d: off by %.2g, expected %.2g", method, text, s, gap, tol);
        free_results(t, divided[s].n);
    }
    fab_gauss_free(whole);
}

/* Two columns are constant; with two ranks one on each. */
static fab_rows some_rows(void)
{
    double *x = fa_rows(D, K, N, 2385);
    for (int64_t j = 0; j < N; j++) x[j * D + 4] = 0.25, x[j * D + 23] = 0;
    return rows_of(x, 0, N, D);
}

static void streams_of_single_rows_are_those_of_one_process(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    static const char *const method[] = {"online-em", "stochastic-em", "online-sga"};
    static const char *const text[] = {"start=orthonormal", "start=variance", "warmup=400"};
    for (int m = 0; m < 3; m++)
        for (int t = 0; t < 3; t++) {
            check_divided(method[m], text[t], FAB_F64, &rows, 1e-10);
            check_divided(method[m], text[t], FAB_F32, &rows, 2e-3);
        }
    check_divided("online-em", "expand=0 forget=0.99", FAB_F64, &rows, 1e-10);
    check_divided("stochastic-em", "average_from=200", FAB_F64, &rows, 1e-10);
}

/* Where a maximum of the likelihood is looked for, a difference of rounding in it moves its place by the root of that: its
 * value is the same to 1e-10, psi and F to 1e-7. */
#define OF_MAXIMUM 1e-7

/* Rows stay behind the last block; the automatic rank and block are those of all coordinates. */
static void recursive_em_is_that_of_one_process(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    static const char *const text[] = {
        "block=20 warmup=25", "block=1 warmup=25", "block=40 warmup=25 start=random",
        "block=20 warmup=25 inner_rank=13 forget=0.99", "memory=0.006 inner_rank=14 warmup=25"};
    check_divided("recursive-em", "block=20 warmup=25 inner_rank=3", FAB_F64, &rows, 1e-10);
    for (int t = 0; t < 5; t++) check_divided("recursive-em", text[t], FAB_F64, &rows, OF_MAXIMUM);
}
/* Nobody sees a whole row, so that all rows of one weight are as likely to be held: the same ones in every process, however
 * many there are, and in all of them the log-likelihood of the same rows. */
static void the_rows_held_are_the_same_in_all_processes(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    static const char *const method[] = {"recursive-em", "online-em", "stochastic-em",
                                         "online-sga"};
    for (int m = 0; m < 4; m++) {
        const task proto = {.method = method[m], .text = "held=20 warmup=25", .rows = &rows};
        double first = 0;
        for (int s = 1; s < SHARES; s++) {
            rank r[5];
            task t[5];
            assert_int_equal(run_ranks(r, t, &divided[s], &proto), 0);
            for (int64_t k = 0; k < divided[s].n; k++) {
                if (r[k].status != FAB_OK) fail_msg("%s: %s", method[m], r[k].said);
                const double loglik = t[k].report.loglik_mean;
                if (s == 1 && k == 0) first = loglik;
                assert_true(t[k].report.loglik_rows == 20);
                if (!(fabs(loglik / first - 1) < OF_MAXIMUM))
                    fail_msg("%s, division %d: %.9g, expected %.9g", method[m], s, loglik, first);
            }
            free_results(t, divided[s].n);
        }
    }
}

/* ---- every method of the list ----------------------------------------------------------------------- */

static int splits(const char *method)
{
    static const char *const name[] = {"recursive-em", "online-em", "stochastic-em", "online-sga"};
    for (int k = 0; k < 4; k++)
        if (strcmp(method, name[k]) == 0) return 1;
    return 0;
}

/* All ranks say that they cannot. */
static void check_refused(const char *method, const char *text, const fab_rows *rows,
                          const char *sentence)
{
    for (int s = 1; s < SHARES; s++) {
        rank r[5];
        task t[5];
        const int in_vain =
            run_ranks(r, t, &divided[s], &(task){.method = method, .text = text, .rows = rows});
        assert_int_equal(in_vain, 0);
        for (int64_t k = 0; k < divided[s].n; k++) {
            assert_int_equal(r[k].status, FAB_UNSUPPORTED);
            if (!strstr(r[k].said, sentence)) fail_msg("%s: %s", method, r[k].said);
        }
    }
}

/* A fit of a model, of which all coordinates are in one process. */
typedef struct of_model {
    const char *method;
    const fab_model *model;
} of_model;

static fab_status open_model(rank *r)
{
    const of_model *m = r->ctx;
    fab_fit *f;
    const fab_exec x = {.comm = &r->comm, .threads = 1};
    const fab_status s =
        fab_fit_create(&f, m->method, NULL, 0, &(fab_input){.model = m->model}, &x);
    fab_fit_free(f);
    return s;
}

/* 1 where the method takes the model: alone; in several processes it says that it does not. */
static int refuses_several(const char *method, const fab_model *model)
{
    of_model all[5];
    rank r[5];
    for (int k = 0; k < 5; k++) all[k] = (of_model){method, model};
    const fab_comm zeros = {0};
    const fab_exec alone = {.comm = &zeros, .threads = 1};
    fab_fit *f;
    if (fab_fit_create(&f, method, NULL, 0, &(fab_input){.model = model}, &alone) != FAB_OK)
        return 0;
    fab_fit_free(f);
    for (int s = 1; s < SHARES; s++) {
        assert_int_equal(ranks_run(r, divided[s].n, divided[s].of, open_model, all, sizeof *all),
                         0);
        for (int64_t k = 0; k < divided[s].n; k++) {
            assert_int_equal(r[k].status, FAB_UNSUPPORTED);
            if (!strstr(r[k].said, ": runs in one process")) fail_msg("%s: %s", method, r[k].said);
        }
    }
    return 1;
}

static void every_method_is_divided_or_refuses(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    fab_glm number = {.D = 3, .classes = 1, .intercept = 1, .beta = 1}, yes = number;
    yes.likelihood = FAB_LIKELIHOOD_BERNOULLI;
    const fab_model of_numbers = fab_model_linear(&number), of_classes = fab_model_linear(&yes);
    const fab_net_plan plan = {"mlp:2", 3, .classes = 1, .beta = 1};
    fab_net *net;
    fab_kernel *kernel;
    assert_ok(fab_net_create(&net, &plan, NULL));
    assert_ok(fab_kernel_create(&kernel, "rbf", 3, NULL));
    const fab_model of_kernel = fab_model_kernel(&number, kernel);
    const int64_t models = FAB_TAKES_LINEAR | FAB_TAKES_GRADIENT | FAB_TAKES_EXAMPLES |
                           FAB_TAKES_JACOBIAN | FAB_TAKES_KERNEL;
    for (int64_t i = 0; i < fab_method_count(); i++) {
        const fab_method *m = fab_method_at(i);
        const char *name = fab_method_name(m);
        const int64_t takes = fab_method_takes(m);
        const int recursive = strcmp(name, "recursive-em") == 0;
        if (splits(name))
            check_divided(name, recursive ? "block=20 warmup=25" : "warmup=25", FAB_F64, &rows,
                          recursive ? OF_MAXIMUM : 1e-10);
        else if (takes & FAB_TAKES_VECTORS)
            check_refused(name, "", &rows, ": runs in one process");
        if (takes & FAB_TAKES_VECTORS && !(takes & models)) continue;
        const int taken = refuses_several(name, &of_numbers) + refuses_several(name, &of_classes) +
                          refuses_several(name, fab_net_model(net)) +
                          refuses_several(name, &of_kernel);
        if (!taken) fail_msg("%s takes none of these models", name);
    }
    fab_kernel_free(kernel);
    fab_net_free(net);
    check_refused("online-em", "start=draft", &rows, "start = draft runs in one process");
}

/* Without a sum a process is alone, whatever else stands in the fab_comm. */
static void zeros_are_one_process(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    const fab_comm zeros = {0};
    static const char *const method[] = {"ml", "em", "ppca", "pca", "recursive-em", "online-em"};
    for (int m = 0; m < 6; m++) {
        fab_gauss *q = fa_fit(method[m], K, "", &(fab_exec){.comm = &zeros}, &rows, NULL);
        fab_gauss *alone = fa_fit(method[m], K, "", NULL, &rows, NULL);
        assert_same_bits(q, alone);
        fab_gauss_free(q);
        fab_gauss_free(alone);
    }
}

/* ---- a process that fails --------------------------------------------------------------------------- */

static const char *const streams[] = {"recursive-em", "online-em", "stochastic-em", "online-sga"};
static const char *const of_stream[] = {"block=20 warmup=25", "warmup=25", "warmup=25",
                                        "warmup=25"};

/* All ranks end with the status and the sentence of rank `who`. */
static void check_all_say(const rank *r, int64_t n, int64_t who, fab_status status,
                          const char *sentence)
{
    for (int64_t k = 0; k < n; k++) {
        assert_int_equal(r[k].status, status);
        assert_string_equal(r[k].said, r[who].said);
    }
    if (!strstr(r[who].said, sentence)) fail_msg("%s, expected: %s", r[who].said, sentence);
}

/* A number that is none in the share of one rank: nobody takes the rows, and all say which row it is. */
static void bad_rows_of_one_process_are_refused_by_all(void **state)
{
    (void)state;
    fab_rows rows = some_rows();
    ((double *)rows.p)[40 * D + 1] = NAN;
    for (int m = 0; m < 4; m++)
        for (int s = 1; s < SHARES; s++) {
            rank r[5];
            task t[5];
            const int in_vain =
                run_ranks(r, t, &divided[s],
                          &(task){.method = streams[m], .text = of_stream[m], .rows = &rows});
            assert_int_equal(in_vain, 0);
            const int64_t who = divided[s].of[0] < 2;
            check_all_say(r, divided[s].n, who, FAB_BAD_DATA, "row 40");
            for (int64_t k = 0; k < divided[s].n; k++) assert_int_equal(t[k].verb, AT_UPDATE);
        }
}

static int64_t fail_one(rank *r, task *t, const shares *s, const task *proto, int64_t who)
{
    for (int64_t k = 0; k < s->n; k++) t[k] = *proto;
    for (int64_t k = 0; k < s->n; k++)
        if (k != who) t[k].fails_at = t[k].stops_at = 0;
    return ranks_run(r, s->n, s->of, fit_part, t, sizeof *t);
}

/* The n-th allocation of one rank, for every n until there are no more. */
static void where_one_process_has_no_memory_all_end(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    fab_set_allocator(thread_alloc, thread_release);
    for (int m = 0; m < 4; m++)
        for (int s = 2; s < 5; s += 2) {
            rank r[5];
            task t[5];
            const int64_t n = divided[s].n, who = n - 1;
            int64_t at = 0, failed = 1;
            int verbs = 0;
            while (failed) {
                const task proto = {
                    .method = streams[m], .text = of_stream[m], .rows = &rows, .fails_at = ++at};
                if (fail_one(r, t, &divided[s], &proto, who))
                    fail_msg("%s, division %d, allocation %lld: %s", streams[m], s, (long long)at,
                             r[0].said);
                failed = r[who].status != FAB_OK;
                check_all_say(r, n, who, failed ? FAB_NO_MEMORY : FAB_OK,
                              failed ? "cannot allocate" : "");
                for (int64_t k = 0; k < n; k++) assert_int_equal(t[k].verb, t[who].verb);
                if (failed) verbs |= 1 << t[who].verb;
                free_results(t, n);
                assert_int_equal(atomic_load(&held), 0);
            }
            assert_true(verbs & 1 << AT_CREATE && verbs & 1 << AT_REPORT);
        }
    fab_set_allocator(NULL, NULL);
}

/* Whoever watches one rank says stop at a question, at later and later ones until it asks no more. */
static void where_one_process_is_stopped_all_stop(void **state)
{
    (void)state;
    static const char *const text[] = {"block=20 warmup=25 inner_rank=25 K=20", "K=20", "K=20",
                                       "K=20"};
    const fab_rows rows =
        rows_of(fa_rows(D, K, 5 * N, 2385), 0, 5 * N, D); /* long enough to be asked about */
    for (int m = 0; m < 4; m++) {
        rank r[5];
        task t[5];
        const shares *s = &divided[3 + m % 2];
        int64_t at = 1, stopped = 1;
        int verbs = 0;
        for (; stopped; at += 1 + at / 2) {
            const task proto = {
                .method = streams[m], .text = text[m], .rows = &rows, .stops_at = at};
            if (fail_one(r, t, s, &proto, 1))
                fail_msg("%s, question %lld: %s", streams[m], (long long)at, r[0].said);
            stopped = r[1].status != FAB_OK;
            check_all_say(r, s->n, 1, stopped ? FAB_STOPPED : FAB_OK, "");
            for (int64_t k = 0; k < s->n; k++) assert_int_equal(t[k].verb, t[1].verb);
            if (stopped) verbs |= 1 << t[1].verb;
            free_results(t, s->n);
        }
        assert_true(verbs & 1 << AT_UPDATE);
        assert_true(m > 0 || verbs & 1 << AT_RESULT); /* where ml cuts */
    }
}

/* ---- processes that are not alike ------------------------------------------------------------------- */

static void settings_that_differ_are_refused_by_all(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    rank r[5];
    task t[5];
    for (int64_t k = 0; k < 3; k++)
        t[k] = (task){
            .method = "online-em", .text = k == 1 ? "warmup=26" : "warmup=25", .rows = &rows};
    assert_int_equal(ranks_run(r, 3, divided[3].of, fit_part, t, sizeof *t), 0);
    check_all_say(r, 3, 0, FAB_BAD_ARGUMENT, "other methods, settings");
    t[1].text = "warmup=25";
    const fab_rows fewer = rows_of(rows.p, 0, N - 1, D);
    t[2].rows = &fewer;
    assert_int_equal(ranks_run(r, 3, divided[3].of, fit_part, t, sizeof *t), 0);
    check_all_say(r, 3, 0, FAB_BAD_ARGUMENT, "other numbers of rows");
}

static fab_status share_too_much(rank *r)
{
    r->comm.total_rows += 3;
    return fit_part(r);
}

static fab_status begin_together(rank *r)
{
    r->comm.first_row = 0;
    r->D = 99; /* and that is more than all */
    return fit_part(r);
}

static void coordinates_that_do_not_add_up_are_refused(void **state)
{
    (void)state;
    const fab_rows rows = some_rows();
    rank r[5];
    task t[5];
    for (int64_t k = 0; k < 2; k++) t[k] = (task){.method = "online-em", .text = "", .rows = &rows};
    assert_int_equal(ranks_run(r, 2, divided[1].of, share_too_much, t, sizeof *t), 0);
    check_all_say(r, 2, 0, FAB_BAD_ARGUMENT, "29 coordinates together, and say that there are 32");
    assert_int_equal(ranks_run(r, 2, divided[1].of, begin_together, t, sizeof *t), 0);
    check_all_say(r, 2, 0, FAB_BAD_ARGUMENT, "2 processes say that they begin at coordinate 0");
}

/* ---- Gaussians -------------------------------------------------------------------------------------- */

typedef struct pair {
    const fab_gauss *a, *b; /* of all coordinates */
    const double *x;        /* D: a row */
    double answer[5];
} pair;

static fab_gauss part_of(const fab_gauss *g, const rank *r)
{
    fab_gauss part = *g;
    part.D = r->D;
    part.mu += r->first;
    part.psi += r->first;
    part.F = (double *)part.F + r->first * g->K;
    return part;
}

static fab_status ask_pair(const pair *p, const fab_gauss *a, const fab_gauss *b, int64_t first,
                           const fab_exec *x, double *answer)
{
    fab_solver *s;
    FAB_TRY(fab_distance_kl(a, b, x, &answer[0]));
    FAB_TRY(fab_distance_covariance(a, b, x, &answer[1]));
    FAB_TRY(fab_solver_create(&s, a, x));
    fab_status status =
        fab_solver_logpdf(s, &(fab_rows){p->x + first, FAB_F64, 1, a->D}, &answer[2]);
    if (status == FAB_OK) status = fab_solver_logdet(s, &answer[3]);
    if (status == FAB_OK) status = fab_solver_entropy(s, &answer[4]);
    fab_solver_free(s);
    return status;
}

static fab_status ask_part(rank *r)
{
    pair *p = r->ctx;
    const fab_exec x = {.comm = &r->comm, .threads = 1};
    const fab_gauss a = part_of(p->a, r), b = part_of(p->b, r);
    return ask_pair(p, &a, &b, r->first, &x, p->answer);
}

/* Also where the largest numbers, which all lengths are brought to the size of, are in one process. */
static void densities_and_distances_are_those_of_one_process(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        pair p[5], whole = {.x = fa_rows(D, K, 1, 17)};
        rank r[5];
        fab_gauss *a =
            some_gauss(form & 1 ? FAB_FORM_PRECISION : FAB_FORM_COVARIANCE, FAB_F64, D, K, 1, 1);
        fab_gauss *b =
            some_gauss(form & 2 ? FAB_FORM_PRECISION : FAB_FORM_COVARIANCE, FAB_F64, D, K, 2, 1);
        for (int big = 0; big < 2; big++) {
            if (big) { /* one coordinate of 1e70 in the last process */
                const double sa = form & 1 ? 1e-140 : 1e140, sb = form & 2 ? 1e-140 : 1e140;
                a->psi[D - 1] *= sa, b->psi[D - 1] *= sb;
                for (int64_t k = 0; k < K; k++)
                    ((double *)a->F)[(D - 1) * K + k] = ((double *)b->F)[(D - 1) * K + k] = 0;
            }
            whole.a = a, whole.b = b;
            assert_ok(ask_pair(&whole, a, b, 0, NULL, whole.answer));
            for (int s = 0; s < SHARES; s++) {
                for (int k = 0; k < 5; k++) p[k] = whole;
                assert_int_equal(ranks_run(r, divided[s].n, divided[s].of, ask_part, p, sizeof *p),
                                 0);
                for (int64_t k = 0; k < divided[s].n; k++) {
                    if (r[k].status != FAB_OK) fail_msg("%s", r[k].said);
                    for (int i = 0; i < 5; i++)
                        assert_true(fabs(p[k].answer[i] / whole.answer[i] - 1) <= 1e-10);
                }
            }
        }
        fab_gauss_free(a);
        fab_gauss_free(b);
    }
}

static fab_status ask_w2(rank *r)
{
    pair *p = r->ctx;
    const fab_exec x = {.comm = &r->comm, .threads = 1};
    const fab_gauss a = part_of(p->a, r), b = part_of(p->b, r);
    return fab_distance_w2(&a, &b, &x, p->answer);
}

static fab_status ask_dense(rank *r)
{
    pair *p = r->ctx;
    const fab_exec x = {.comm = &r->comm, .threads = 1};
    const fab_gauss a = part_of(p->a, r);
    fab_solver *s;
    double S[D * D];
    FAB_TRY(fab_solver_create(&s, &a, &x));
    const fab_status status = fab_solver_dense(s, S);
    fab_solver_free(s);
    return status;
}

static void what_needs_a_whole_matrix_refuses_several(void **state)
{
    (void)state;
    fab_gauss *a = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, K, 1, 1);
    pair p[5];
    rank r[5];
    for (int k = 0; k < 5; k++) p[k] = (pair){.a = a, .b = a};
    assert_int_equal(ranks_run(r, 3, divided[3].of, ask_w2, p, sizeof *p), 0);
    check_all_say(r, 3, 0, FAB_UNSUPPORTED, "W2: runs in one process");
    assert_int_equal(ranks_run(r, 3, divided[3].of, ask_dense, p, sizeof *p), 0);
    check_all_say(r, 3, 0, FAB_UNSUPPORTED, "a dense covariance: runs in one process");
    fab_gauss_free(a);
}

/* A Gaussian that is none in one process. */
static void a_bad_gaussian_of_one_process_is_refused_by_all(void **state)
{
    (void)state;
    fab_gauss *a = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, K, 1, 1),
              *b = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, K, 2, 1);
    double *x = fa_rows(D, K, 1, 17);
    pair p[5];
    rank r[5];
    for (int k = 0; k < 5; k++) p[k] = (pair){.a = a, .b = b, .x = x};
    b->psi[28] = -1;
    assert_int_equal(ranks_run(r, 5, divided[4].of, ask_part, p, sizeof *p), 0);
    check_all_say(r, 5, 4, FAB_BAD_DATA, "psi");
    b->psi[28] = 1;
    x[3] = NAN;
    assert_int_equal(ranks_run(r, 5, divided[4].of, ask_part, p, sizeof *p), 0);
    check_all_say(r, 5, 1, FAB_BAD_DATA, "density");
    fab_gauss_free(a);
    fab_gauss_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(streams_of_single_rows_are_those_of_one_process),
        TEST(recursive_em_is_that_of_one_process),
        TEST(the_rows_held_are_the_same_in_all_processes),
        TEST(every_method_is_divided_or_refuses),
        TEST(zeros_are_one_process),
        TEST(bad_rows_of_one_process_are_refused_by_all),
        TEST(where_one_process_has_no_memory_all_end),
        TEST(where_one_process_is_stopped_all_stop),
        TEST(settings_that_differ_are_refused_by_all),
        TEST(coordinates_that_do_not_add_up_are_refused),
        TEST(densities_and_distances_are_those_of_one_process),
        TEST(what_needs_a_whole_matrix_refuses_several),
        TEST(a_bad_gaussian_of_one_process_is_refused_by_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
