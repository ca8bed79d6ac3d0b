/* test_threads.c - tasks on threads: each runs once, calls inside calls and side by side, fork, unload.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "la/threads.h"
#include "fa_case.h"
#include "fabayes/exec.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1000, MOST_THREADS = 8, PATIENCE = 120 }; /* seconds until a hang is a failure */

/* ---- every task once ----------------------------------------------------------------------------- */

typedef struct tally {
    int threads;
    atomic_int ran[MOST],
        using[MOST_THREADS]; /* times task i ran; tasks with this thread's number now */
    atomic_int bad;
} tally;

static void count_task(void *ctx, int64_t i, int thread)
{
    tally *t = ctx;
    if (thread < 0 || thread >= t->threads || atomic_fetch_add(&t->using[thread], 1) != 0)
        atomic_store(&t->bad, 1);
    atomic_fetch_add(&t->ran[i], 1);
    if (i % 16 == 0) sched_yield();
    atomic_fetch_sub(&t->using[thread], 1);
}

/* 1 when tasks 0 .. count-1 ran once each, and no two at a time had the same number of a thread. */
static int each_once(int threads, int64_t count)
{
    static _Thread_local tally t;
    memset(&t, 0, sizeof t);
    t.threads = threads;
    fab_parallel(threads, count, count_task, &t);
    int right = !atomic_load(&t.bad);
    for (int64_t i = 0; i < MOST; i++) right &= atomic_load(&t.ran[i]) == (i < count);
    return right;
}

static void every_task_runs_once(void **state)
{
    (void)state;
    const int64_t counts[] = {0, 1, 2, 7, MOST};
    const int threads[] = {1, 2, 3, 8};
    for (int round = 0; round < 50; round++)
        for (int c = 0; c < 5; c++)
            for (int t = 0; t < 4; t++) assert_true(each_once(threads[t], counts[c]));
}

/* ---- the caller and a worker at the same time ------------------------------------------------------ */

/* Two tasks that wait for each other: they end only when two threads run them. */
static void meet(void *ctx, int64_t i, int thread)
{
    (void)i, (void)thread;
    atomic_int *here = ctx;
    atomic_fetch_add(here, 1);
    while (atomic_load(here) < 2) sched_yield();
}

static void a_worker_comes_after_any_pause(void **state)
{
    (void)state;
    alarm(PATIENCE);
    for (int pause = 0; pause < 200; pause++) {
        atomic_int here = 0;
        fab_parallel(2, 2, meet, &here);
        const double start = fab_clock();
        while (fab_clock() - start < 1e-6 * (pause % 50))
            sched_yield(); /* around the spin of a worker */
    }
    alarm(0);
}

/* ---- calls inside calls ---------------------------------------------------------------------------- */

typedef struct nest {
    atomic_int inner, strange; /* inner tasks; those that ran on another thread than their caller */
} nest;

typedef struct inner_call {
    nest *n;
    pthread_t caller;
} inner_call;

static void inner_task(void *ctx, int64_t i, int thread)
{
    (void)i;
    inner_call *c = ctx;
    atomic_fetch_add(&c->n->inner, 1);
    if (thread != 0 || !pthread_equal(c->caller, pthread_self())) atomic_store(&c->n->strange, 1);
    sched_yield();
}

static void outer_task(void *ctx, int64_t i, int thread)
{
    (void)i, (void)thread;
    inner_call c = {ctx, pthread_self()};
    fab_parallel(4, 30, inner_task, &c);
}

static void calls_inside_a_task_run_on_its_thread(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        nest n = {0};
        fab_parallel(3, 20, outer_task, &n);
        assert_int_equal(atomic_load(&n.inner), 600);
        assert_int_equal(atomic_load(&n.strange), 0);
    }
}

/* ---- callers side by side -------------------------------------------------------------------------- */

static void *many_calls(void *wrong)
{
    for (int round = 0; round < 200; round++)
        if (!each_once(1 + round % 4, round * 5)) atomic_store((atomic_int *)wrong, 1);
    return NULL;
}

static void several_callers_at_once_have_all_their_tasks_run(void **state)
{
    (void)state;
    pthread_t other[2];
    atomic_int wrong = 0;
    for (int t = 0; t < 2; t++) pthread_create(&other[t], NULL, many_calls, &wrong);
    many_calls(&wrong);
    for (int t = 0; t < 2; t++) pthread_join(other[t], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
}

typedef struct handover {
    atomic_int first_runs, second_runs; /* tasks that have begun */
    nest n;
} handover;

static void long_first(void *ctx, int64_t i, int thread)
{
    (void)i, (void)thread;
    handover *h = ctx;
    atomic_fetch_add(&h->first_runs, 1);
    while (atomic_load(&h->second_runs) < 1) sched_yield();
}

static void *first_caller(void *h)
{
    fab_parallel(2, 2, long_first, h);
    atomic_fetch_add(&((handover *)h)->first_runs, 1);
    return NULL;
}

/* Task 0 runs while the first caller has the worker, and lets it end; tasks 1 and 2 need each other.  In between the
 * worker is free, and a call inside task 0 must leave it alone. */
static void second_task(void *ctx, int64_t i, int thread)
{
    (void)thread;
    handover *h = ctx;
    atomic_fetch_add(&h->second_runs, 1);
    if (i == 0) {
        while (atomic_load(&h->first_runs) < 3) sched_yield();
        for (int round = 0; round < 100; round++) outer_task(&h->n, 0, 0);
    } else
        while (atomic_load(&h->second_runs) < 3) sched_yield();
}

static void a_caller_that_began_alone_takes_the_workers_when_they_are_free(void **state)
{
    (void)state;
    pthread_t first;
    handover h = {0};
    alarm(PATIENCE);
    pthread_create(&first, NULL, first_caller, &h);
    while (atomic_load(&h.first_runs) < 2) sched_yield();
    fab_parallel(2, 3, second_task, &h);
    pthread_join(first, NULL);
    alarm(0);
    assert_int_equal(atomic_load(&h.second_runs), 3);
    assert_int_equal(atomic_load(&h.n.inner), 3000);
    assert_int_equal(atomic_load(&h.n.strange), 0);
}

/* ---- signals ----------------------------------------------------------------------------------------- */

static _Thread_local int is_program;
static volatile sig_atomic_t heard, elsewhere;

static void hear(int signal)
{
    (void)signal;
    heard++;
    if (!is_program) elsewhere = 1;
}

static void blocked_task(void *ctx, int64_t i, int thread)
{
    (void)i;
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    if (thread != 0 && (!sigismember(&now, SIGUSR1) || sigismember(&now, SIGSEGV)))
        atomic_store((atomic_int *)ctx, 1);
    if (thread == 0 && sigismember(&now, SIGUSR1)) atomic_store((atomic_int *)ctx, 1);
}

static void a_signal_reaches_the_program_alone(void **state)
{
    (void)state;
    struct sigaction a = {.sa_handler = hear}, before;
    atomic_int wrong = 0, here = 0;
    is_program = 1;
    fab_parallel(2, 2, meet, &here); /* a worker is there */
    for (int round = 0; round < 20; round++) fab_parallel(2, 200, blocked_task, &wrong);
    assert_int_equal(atomic_load(&wrong), 0);
    sigaction(SIGUSR1, &a, &before);
    for (int k = 0; k < 100; k++) kill(getpid(), SIGUSR1);
    sigaction(SIGUSR1, &before, NULL);
    assert_true(heard > 0);
    assert_int_equal(elsewhere, 0);
}

/* ---- fork -------------------------------------------------------------------------------------------- */

enum { D = 300, K = 5, N = 700 };

static void fit_bytes(const double *x, double *out)
{
    const fab_rows r = rows_of(x, 0, N, D);
    const fab_exec two = {.threads = 2};
    fab_gauss *g = fa_fit("recursive-em", K, "block=350", &two, &r, NULL);
    memcpy(out, g->mu, D * sizeof *out);
    memcpy(out + D, g->F, D * K * sizeof *out);
    memcpy(out + D + D * K, g->psi, D * sizeof *out);
    fab_gauss_free(g);
}

/* The end of the child: 0 when it fitted to the same bytes, on two threads. */
static int fits_after_fork(const double *x, const double *expected)
{
    const pid_t child = fork();
    if (child == 0) {
        double *got = malloc((2 + K) * D * sizeof *got);
        atomic_int here = 0;
        alarm(PATIENCE);
        fit_bytes(x, got);
        fab_parallel(2, 2, meet, &here);
        _exit(memcmp(got, expected, (2 + K) * D * sizeof *got) != 0 || !each_once(3, MOST));
    }
    int code = -1;
    waitpid(child, &code, 0);
    return code;
}

static void a_forked_child_fits_on_two_threads_to_the_same_bytes(void **state)
{
    (void)state;
    const double *x = fa_rows(D, K, N, 7);
    double *expected = malloc((2 + K) * D * sizeof *expected);
    fit_bytes(x, expected);
    assert_int_equal(fits_after_fork(x, expected), 0);
    assert_true(each_once(2, MOST)); /* the parent goes on */
    free(expected);
}

typedef struct steady {
    const double *x, *expected;
    atomic_int stop, wrong;
} steady;

static void *fit_until_stopped(void *ctx)
{
    steady *s = ctx;
    double *got = malloc((2 + K) * D * sizeof *got);
    while (!atomic_load(&s->stop)) {
        fit_bytes(s->x, got);
        if (memcmp(got, s->expected, (2 + K) * D * sizeof *got) != 0) atomic_store(&s->wrong, 1);
    }
    free(got);
    return NULL;
}

/* Only tasks: BLAS ends its own threads in fork, and may be used by one thread at a time then. */
static void *count_until_stopped(void *ctx)
{
    steady *s = ctx;
    while (!atomic_load(&s->stop))
        if (!each_once(2, MOST)) atomic_store(&s->wrong, 1);
    return NULL;
}

static void a_fork_during_the_work_of_another_thread_is_no_hang(void **state)
{
    (void)state;
    steady s = {.x = fa_rows(D, K, N, 7), .expected = NULL};
    double *expected = malloc((2 + K) * D * sizeof *expected);
    pthread_t other;
    fit_bytes(s.x, expected);
    s.expected = expected;
    pthread_create(&other, NULL, count_until_stopped, &s);
    int failed = 0;
    for (int round = 0; round < 10; round++) failed |= fits_after_fork(s.x, expected);
    atomic_store(&s.stop, 1);
    pthread_join(other, NULL);
    assert_int_equal(failed, 0);
    assert_int_equal(atomic_load(&s.wrong), 0);
    free(expected);
}

static void two_fits_at_once_have_their_own_bytes(void **state)
{
    (void)state;
    steady s = {.x = fa_rows(D, K, N, 7)};
    double *expected = malloc((2 + K) * D * sizeof *expected);
    double *got = malloc((2 + K) * D * sizeof *got);
    pthread_t other;
    fit_bytes(s.x, expected);
    s.expected = expected;
    pthread_create(&other, NULL, fit_until_stopped, &s);
    for (int round = 0; round < 5; round++) {
        fit_bytes(s.x, got);
        assert_memory_equal(got, expected, (2 + K) * D * sizeof *got);
    }
    atomic_store(&s.stop, 1);
    pthread_join(other, NULL);
    assert_int_equal(atomic_load(&s.wrong), 0);
    free(got);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(a_worker_comes_after_any_pause),
        cmocka_unit_test(calls_inside_a_task_run_on_its_thread),
        cmocka_unit_test(several_callers_at_once_have_all_their_tasks_run),
        cmocka_unit_test(a_caller_that_began_alone_takes_the_workers_when_they_are_free),
        cmocka_unit_test(a_signal_reaches_the_program_alone),
        cmocka_unit_test(a_forked_child_fits_on_two_threads_to_the_same_bytes),
        cmocka_unit_test(a_fork_during_the_work_of_another_thread_is_no_hang),
        cmocka_unit_test(two_fits_at_once_have_their_own_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
