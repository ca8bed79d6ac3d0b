/* exec.h - vectors in, where the work runs, and who is told.
 *
 *     const fab_exec x = {.ops = fab_ops_find("cpu", FAB_F32), .threads = 2};  // D x K arrays in single precision
 *     const fab_rows rows = {.p = data, .type = FAB_F64, .n = n, .ld = D};     // the caller's memory, as it stands
 *
 *     fab_fit_create(&f, "recursive-em", &s, sizeof s, &(fab_input){.vectors = D}, &x);
 *     fab_fit_update(f, &(fab_examples){.x = rows});
 *
 * Whatever computes takes a fab_exec, and NULL is the usual one: double precision, all cores, alone.  The same seed
 * gives the same bytes for any number of threads.  Rows may be f64 or f32 whatever the kernels are.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_EXEC_H
#define FABAYES_EXEC_H

#include "fabayes/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- vectors ----------------------------------------------------------------------------------- */

/* Element types.  Long arrays are FAB_F64 or FAB_F32; settings and index tensors know the others. */
typedef enum fab_dtype { FAB_F64 = 0, FAB_F32, FAB_I64, FAB_BOOL, FAB_ENUM } fab_dtype;

/* "f64", "f32", "i64", "bool", "enum". */
FAB_API const char *fab_dtype_name(fab_dtype t);

/* n vectors, one per row, in the caller's memory: number i of vector j is element j * ld + i * stride of p.  The
 * length of a vector is the D of the handle it is given to.  A table by rows has ld >= D and stride 1 (or 0, the same);
 * one by columns, as R and Fortran keep it, ld = 1 and stride >= n.
 *
 * Sparse, when `start` is given: vector j has the values p[start[j]] .. p[start[j + 1] - 1] at the
 * coordinates index[start[j]] .. , rising and below D, and is 0 elsewhere; ld says how long it is.  The
 * methods of inference and predictions take sparse rows; whatever does not refuses them. */
typedef struct fab_rows {
    const void *p;
    fab_dtype type; /* FAB_F64 or FAB_F32 */
    int64_t n, ld;
    const int64_t *start; /* n + 1; NULL: dense */
    const int32_t *index; /* one for each value */
    int64_t stride;       /* elements between two numbers of a dense vector; 0: 1 */
} fab_rows;

/* ---- where the work runs ----------------------------------------------------------------------- */

/* One of several processes that each hold some coordinates of theta.  `sum` adds buf over all of them,
 * the same bits everywhere.  Zeros and NULLs: alone.  The streams of vectors (recursive-em, online-em, stochastic-em,
 * online-sga) can be divided so, Gaussians, their densities and distances too (not W2); a method that cannot refuses.
 * What fails in one process fails in all of them, with its status and sentence: every verb begins and ends with a sum of
 * four numbers.  fab_processes_share makes one. */
typedef struct fab_comm {
    int64_t first_row,
        total_rows; /* coordinates of the processes before this one; of all of them */
    fab_status (*sum)(void *ctx, double *buf, int64_t n);
    void *ctx;
} fab_comm;

/* A table of kernels in one precision. */
typedef struct fab_ops fab_ops;

/* Find kernels: backend "cpu" (fast) or "ref" (plain loops); NULL when there is no such table. */
FAB_API const fab_ops *fab_ops_find(const char *backend, fab_dtype type);
/* Kernels of a device: "cpu", "cuda" or "cuda:N", a card of NVIDIA, whose plug-in libfabayes_cuda.so is looked for now; a
 * sentence where there is none.  Methods that do not run there refuse. */
FAB_API fab_status fab_ops_open(const fab_ops **ops, const char *device, fab_dtype type);

/* Processes that were started together, of which this is one: what a fab_comm comes from where there is no other.
 *
 *     fab_processes *p;
 *     fab_processes_open(&p, "mpi");
 *     const fab_comm share = fab_processes_share(p, D, &own);        // own coordinates, from share.first_row
 *     fab_fit_create(&f, "online-em", &s, sizeof s, &(fab_input){.vectors = own}, &(fab_exec){.comm = &share});
 *     ..
 *     fab_processes_close(p);
 *
 * "mpi": those of mpirun; the plug-in libfabayes_mpi.so is looked for now.  On one thread of each process, and once in its
 * life.  MPI that has begun already is used and not ended. */
typedef struct fab_processes fab_processes;
FAB_API fab_status fab_processes_open(fab_processes **p, const char *name);
FAB_API int64_t fab_processes_rank(const fab_processes *p); /* 0, 1, .. */
FAB_API int64_t fab_processes_count(const fab_processes *p);
/* Of D coordinates as even a share as can be; *own: how many are of this process.  Borrows p until its last sum. */
FAB_API fab_comm fab_processes_share(const fab_processes *p, int64_t D, int64_t *own);
/* All processes come here with a status of their program, 0 where all went well; *status and `sentence` (of `size` bytes, the
 * same everywhere) become those of the first that failed.  One that failed and does not meet the others within some seconds,
 * for they wait in a sum, gets FAB_STOPPED: it says its sentence and calls fab_processes_stop, which ends all of them. */
FAB_API fab_status fab_processes_agree(const fab_processes *p, int *status, char *sentence,
                                       size_t size);
FAB_API void fab_processes_stop(const fab_processes *p, int status);
FAB_API void fab_processes_close(fab_processes *p); /* all come here; takes NULL */

/* Hear notes of the library (a floor that acted, a fallback taken). */
typedef void fab_log_fn(void *ctx, const char *sentence);

/* Watch long work.  `done` of `total` units (total 0: unknown).  Answer 0 to go on, anything else to stop: the verb
 * then returns FAB_STOPPED with a valid state, and goes on from there when it is called again.
 *
 * Called on the thread that called the verb, at places that depend on the work alone and not on a clock: the same ones
 * on every machine and in every process, some 0.01 s apart, and once a round (an epoch, an iteration) at least.  A
 * single call of LAPACK is never interrupted. */
typedef int fab_progress_fn(void *ctx, const char *what, int64_t done, int64_t total);

/* Where the work runs.  A NULL fab_exec, or a zero field: the CPU in f64, alone, on all cores that the process may use.
 *
 * Threads belong to the process, are made when work first asks for them, and sleep when there is none.  They serve
 * one call at a time: calls on several threads of the program work side by side, one of them with the threads.
 * Signals are left to the program.  fork: a child works as its parent does, with threads of its own.  Fork while no
 * other thread is inside a call and not from a callback; else the child may only exec or _exit, for BLAS may be
 * locked. */
typedef struct fab_exec {
    const fab_ops *ops;
    const fab_comm *comm;
    int64_t threads;
    /* who watches the handles made with it; NULL: fab_set_progress says */
    fab_progress_fn *progress;
    void *progress_ctx;
    fab_log_fn *log; /* who hears their notes; NULL: fab_set_log says */
    void *log_ctx;
} fab_exec;

/* ---- hooks ------------------------------------------------------------------------------------- */

/* The only global state of the library: who allocates, who listens where a fab_exec does not say, and the instruction set.  Set hooks before
 * the first handle is made and from one thread. */

/* Replace malloc and free.  Memory from alloc must be aligned to 64 bytes.  NULL, NULL: the default. */
FAB_API void fab_set_allocator(void *(*alloc)(size_t bytes), void (*release)(void *p));

/* Who hears the notes of handles whose fab_exec has no log.  NULL: silence, the default. */
FAB_API void fab_set_log(fab_log_fn *log, void *ctx);

/* Who watches the work of handles whose fab_exec has no progress.  NULL: nobody, the default. */
FAB_API void fab_set_progress(fab_progress_fn *progress, void *ctx);

/* The instruction set of the kernels: "base", "avx2" or "avx512"; NULL: the best that this machine runs, the default.  One that
 * it cannot run is refused.  Results differ by rounding.  BLAS chooses its own (OpenBLAS: OPENBLAS_CORETYPE). */
FAB_API fab_status fab_set_isa(const char *name);

/* Seconds on a clock that never goes back. */
FAB_API double fab_clock(void);

#ifdef __cplusplus
}
#endif
#endif
