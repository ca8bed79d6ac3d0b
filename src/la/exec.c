/* exec.c - where the work runs: tables by name, a definite fab_run, the sum over processes, the BLAS.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "la/ops.h"
#include "la/threads.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- tables -------------------------------------------------------------------------------------- */

static const fab_ops *const tables[] = {&fab_ops_cpu_f64, &fab_ops_cpu_f32, &fab_ops_ref_f64,
                                        &fab_ops_ref_f32};

const fab_ops *fab_ops_find(const char *backend, fab_dtype type)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        if (tables[t]->type == type && backend && strcmp(tables[t]->backend, backend) == 0)
            return tables[t];
    return NULL;
}

const fab_ops *fab_ops_as(const fab_ops *ops, fab_dtype type)
{
    return type == FAB_F64 || type == FAB_F32 ? ops->by_type[type] : NULL;
}

const fab_ops *fab_ops_host(const fab_ops *ops)
{
    return ops->memory ? fab_ops_find("cpu", ops->type) : ops;
}

#define MOST_COORDINATES ((int64_t)1 << 41)

/* ---- runs ---------------------------------------------------------------------------------------- */

fab_status fab_run_init_anywhere(fab_run *r, const fab_exec *x, fab_dtype type)
{
    static const fab_exec nothing = {0};
    if (!x) x = &nothing;
    if (x->threads < 0 || x->threads > 1 << 16)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "threads = %lld is outside [0, 65536]",
                        (long long)x->threads);
    const fab_ops *ops = fab_ops_as(x->ops ? x->ops : &fab_ops_cpu_f64, type);
    if (!ops)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "long arrays are f64 or f32, not %s",
                        fab_dtype_name(type));
    *r = (fab_run){.ops = ops, .watch = fab_watch_of(x)};
    if (x->comm) r->comm = *x->comm;
    r->threads = x->threads > 0 ? (int)x->threads : fab_cores();
    return FAB_OK;
}

fab_status fab_run_init(fab_run *r, const fab_exec *x, fab_dtype type)
{
    if (x && x->ops && x->ops->memory)
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "kernels '%s' work in memory of their own, and this in the host's: take cpu",
            x->ops->backend);
    return fab_run_init_anywhere(r, x, type);
}

fab_status fab_sum(const fab_run *r, double *buf, int64_t n)
{
    const char *fault = r->ops && r->ops->fault ? r->ops->fault() : NULL;
    if (fault) return FAB_FAIL(FAB_UNSUPPORTED, "%s", fault);
    return r->comm.sum ? r->comm.sum(r->comm.ctx, buf, n) : FAB_OK;
}

int64_t fab_total(const fab_comm *c, int64_t n)
{
    return c && c->sum ? c->total_rows : n;
}

/* Of the processes that failed the one with the first coordinates, by halving; its status and sentence for all. */
static fab_status raise_first(const fab_comm *c, fab_status mine)
{
    double message[sizeof((fab_sentence *)0)->text + 3] = {0}, failed;
    fab_sentence said;
    int64_t lo = 0, hi = MOST_COORDINATES;
    const int64_t at = c->first_row < 0 ? 0 : (c->first_row < hi ? c->first_row : hi - 1);
    while (hi - lo > 1) {
        const int64_t middle = lo + (hi - lo) / 2;
        failed = mine != FAB_OK && at >= lo && at < middle;
        FAB_TRY(c->sum(c->ctx, &failed, 1));
        if (failed > 0)
            hi = middle;
        else
            lo = middle;
    }
    if (mine != FAB_OK && at == lo) {
        fab_sentence_keep(&said);
        message[0] = 1;
        message[1] = (double)mine;
        message[2] = (double)said.about;
        for (size_t i = 0; i < sizeof said.text; i++) message[3 + i] = (unsigned char)said.text[i];
    }
    FAB_TRY(c->sum(c->ctx, message, (int64_t)(sizeof message / sizeof *message)));
    if (message[0] > 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%.0f processes say that they begin at coordinate %lld",
                        message[0], (long long)lo);
    said.about = (size_t)message[2];
    for (size_t i = 0; i < sizeof said.text; i++)
        said.text[i] = (char)(unsigned char)message[3 + i];
    return fab_sentence_raise((fab_status)message[1], &said);
}

fab_status fab_agree_all(const fab_comm *c, fab_status mine, uint64_t key, const char *unlike)
{
    const double k = (double)(key % 8191); /* squares of it add up exactly */
    double message[4] = {mine != FAB_OK, 1, k, k * k};
    FAB_TRY(c->sum(c->ctx, message, 4));
    if (message[0] > 0) return raise_first(c, mine);
    if (message[1] * message[3] == message[2] * message[2]) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "%s", unlike);
}

fab_status fab_check_alone(const char *who, const fab_exec *x)
{
    if (!x || !x->comm || !x->comm->sum) return FAB_OK;
    return FAB_FAIL(FAB_UNSUPPORTED, "%s: runs in one process", who);
}

/* ---- views --------------------------------------------------------------------------------------- */

fab_long fab_long_rows(void *F, int64_t n, int64_t k)
{
    return (fab_long){.p = F, .n = n, .k = k, .rs = k, .cs = 1};
}

fab_long fab_long_vectors(void *X, int64_t n, int64_t k, int64_t ld)
{
    return (fab_long){.p = X, .n = n, .k = k, .rs = 1, .cs = ld};
}

/* ---- the BLAS's own threads ---------------------------------------------------------------------- */

/* Weak: with a BLAS that has no such call the count is not ours to change. */
extern int openblas_get_num_threads(void) __attribute__((weak));
extern void openblas_set_num_threads(int count) __attribute__((weak));

/* The count is global, so callers on several threads share one saved value: the first in takes it
 * down, the last out gives it back. */
static atomic_flag guard = ATOMIC_FLAG_INIT;
static int inside, saved;
static _Thread_local int inside_here;

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&guard, memory_order_acquire)) {
    }
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&guard, memory_order_release);
}

int fab_blas_enter(void)
{
    if (!openblas_get_num_threads || !openblas_set_num_threads) return 1;
    lock();
    if (inside++ == 0) {
        saved = openblas_get_num_threads();
        if (saved != 1) openblas_set_num_threads(1);
    }
    const int before = saved;
    inside_here++;
    unlock();
    return before;
}

void fab_blas_leave(int before)
{
    if (!openblas_get_num_threads || !openblas_set_num_threads) return;
    lock();
    inside_here--;
    if (--inside == 0 && before != 1) openblas_set_num_threads(before);
    unlock();
}

/* A forked child has one thread: the others are not inside, and none of them will unlock. */
static void forget_others(void)
{
    inside = inside_here;
    unlock();
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_others);
}
