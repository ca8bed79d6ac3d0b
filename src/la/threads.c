/* threads.c - tasks spread over threads that sleep when there is nothing to do.
 *
 * A job is `count` tasks and some places.  Opening it means to store the number of places; a worker enters by taking
 * one, place g of g, g - 1, .. 1, and g is its number.  Who has entered takes the next task until there is none.
 *
 *     the caller                                 a worker
 *     1  write the job; places = threads - 1     spin a little, then sleep, until it has taken a place
 *     2  wake as many workers as are missing
 *     3  take tasks until there is none          take tasks until there is none
 *     4  close: places = 0                       left = left + 1
 *     5  wait until all who entered have left    wake the caller if it sleeps
 *
 * The caller waits for those alone who have entered.  On a busy machine, where a worker may come too late, it has done
 * the tasks by itself and goes on: a second thread costs a call of wake, and never a wait for a thread that is not
 * running.  Spinning is bounded by SPIN, because nobody can know whether the core is needed elsewhere.
 *
 * Each side announces itself before it looks at the other (places and asleep; left and waiting, all in the one order of
 * sequentially consistent operations), and passes through the lock before it signals: no wake is lost.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_getaffinity */
#include "la/threads.h"
#include "fabayes/exec.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MOST_WORKERS = 1023 };
#define SPIN 5e-6 /* seconds: longer than from one job of a step to the next, shorter than a wake */

static struct {
    _Alignas(64) atomic_int places; /* of the job, still free; 0: no job is open */
    fab_task *task;
    void *ctx;
    int64_t count;

    _Alignas(64) _Atomic int64_t next; /* task */
    atomic_int left;                   /* workers that entered and have no more to do */

    _Alignas(64) atomic_int taken; /* 1: a caller has the workers */
    atomic_int asleep, waiting;    /* workers that sleep; 1: the caller does */
    int closing;                   /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;

    int workers;
    pthread_t worker[MOST_WORKERS]; /* workers of them */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static _Thread_local int in_task;

/* ---- workers ------------------------------------------------------------------------------------- */

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Whoever shall be woken is on its way into the lock, and will see what has changed, or sleeps. */
static void pass_lock(void)
{
    pthread_mutex_lock(&pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

static void run_tasks(int thread)
{
    for (int64_t i = atomic_fetch_add(&pool.next, 1); i < pool.count;
         i = atomic_fetch_add(&pool.next, 1))
        pool.task(pool.ctx, i, thread);
}

/* A place in the open job; 0 when there is none. */
static int take_place(void)
{
    int place = atomic_load(&pool.places);
    while (place > 0)
        if (atomic_compare_exchange_weak(&pool.places, &place, place - 1)) return place;
    return 0;
}

/* A place in the next job; 0 when the library is closing. */
static int wait_for_place(void)
{
    const double start = fab_clock();
    do {
        const int place = take_place();
        if (place > 0) return place;
        relax();
    } while (fab_clock() - start < SPIN);

    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add(&pool.asleep, 1);
    int place = take_place();
    while (place == 0 && !pool.closing) {
        pthread_cond_wait(&pool.wake, &pool.lock);
        place = take_place();
    }
    atomic_fetch_sub(&pool.asleep, 1);
    pthread_mutex_unlock(&pool.lock);
    return place;
}

static void *work(void *unused)
{
    in_task = 1;
    for (int place = wait_for_place(); place > 0; place = wait_for_place()) {
        run_tasks(place);
        atomic_fetch_add(&pool.left, 1);
        if (atomic_load(&pool.waiting)) {
            pass_lock();
            pthread_cond_signal(&pool.done);
        }
    }
    return unused;
}

/* Signals go to the program's own threads, save those that a fault raises where it happens. */
int fab_thread_create(pthread_t *t, void *(*run)(void *ctx), void *ctx)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) sigdelset(&blocked, faults[f]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int made = pthread_create(t, NULL, run, ctx) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

static void make_workers(int wanted)
{
    while (pool.workers < wanted && fab_thread_create(&pool.worker[pool.workers], work, NULL))
        pool.workers++;
}

/* ---- a job --------------------------------------------------------------------------------------- */

/* Tasks first .. count-1, by a caller that has the workers. */
static void share(int threads, int64_t first, int64_t count, fab_task *task, void *ctx)
{
    const int places = threads - 1;
    make_workers(places);
    pool.task = task;
    pool.ctx = ctx;
    pool.count = count;
    atomic_store(&pool.next, first);
    atomic_store(&pool.left, 0);
    atomic_store(&pool.places, places); /* 1 */

    const int asleep = atomic_load(&pool.asleep), awake = pool.workers - asleep;
    if (asleep > 0 && awake < places) {
        pass_lock();
        for (int w = awake; w < places && w < pool.workers; w++)
            pthread_cond_signal(&pool.wake); /* 2 */
    }
    run_tasks(0);                                                  /* 3 */
    const int entered = places - atomic_exchange(&pool.places, 0); /* 4 */
    const double start = fab_clock();
    while (atomic_load(&pool.left) < entered && fab_clock() - start < SPIN) relax(); /* 5 */
    if (atomic_load(&pool.left) < entered) {
        pthread_mutex_lock(&pool.lock);
        atomic_store(&pool.waiting, 1);
        while (atomic_load(&pool.left) < entered) pthread_cond_wait(&pool.done, &pool.lock);
        atomic_store(&pool.waiting, 0);
        pthread_mutex_unlock(&pool.lock);
    }
}

void fab_parallel(int threads, int64_t count, fab_task *task, void *ctx)
{
    if (threads > MOST_WORKERS + 1) threads = MOST_WORKERS + 1;
    if (threads > count) threads = (int)count;
    if (threads <= 1 || in_task) {
        for (int64_t i = 0; i < count; i++) task(ctx, i, 0);
        return;
    }
    in_task = 1;
    int64_t first = 0;
    while (first < count && atomic_exchange(&pool.taken, 1))
        task(ctx, first++, 0); /* others have them */
    if (first < count) {
        share(threads, first, count, task, ctx);
        atomic_store(&pool.taken, 0);
    }
    in_task = 0;
}

int fab_cores(void)
{
#if defined(__linux__)
    cpu_set_t allowed[8]; /* 8192 cores */
    if (sched_getaffinity(0, sizeof allowed, allowed) == 0)
        return CPU_COUNT_S(sizeof allowed, allowed);
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* ---- fork and the end ---------------------------------------------------------------------------- */

/* The child has the forking thread alone: no workers, no job, and locks in a state that nobody will change. */
static void forget_workers(void)
{
    pool.workers = 0;
    pool.closing = 0;
    atomic_store(&pool.places, 0);
    atomic_store(&pool.taken, 0);
    atomic_store(&pool.asleep, 0);
    atomic_store(&pool.waiting, 0);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pthread_cond_init(&pool.done, NULL);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_workers);
}

/* At exit and when the library is unloaded.  The workers stay taken, so later calls run alone.  A job under way means
 * that another thread ends the process: workers end with it. */
__attribute__((destructor)) static void end_workers(void)
{
    if (atomic_exchange(&pool.taken, 1)) return;
    pthread_mutex_lock(&pool.lock);
    pool.closing = 1;
    pthread_mutex_unlock(&pool.lock);
    pthread_cond_broadcast(&pool.wake);
    for (int w = 0; w < pool.workers; w++) pthread_join(pool.worker[w], NULL);
}
