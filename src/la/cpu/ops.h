/* ops.h - between ops_cpu.c, which cuts the rows into chunks, and the kernels that work on one chunk.
 *
 * The kernels are compiled once per instruction set and precision (ops_cpu_kernel.h); each table below
 * is one such compilation.  All entries have one shape: do the job on a chunk of rows that starts at a
 * multiple of FAB_BLOCK_ROWS, with private scratch, leaving this chunk's sums in `partial`.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_OPS_CPU_H
#define FAB_LA_OPS_CPU_H

#include "base/rows.h"
#include "la/ops.h"

/* What a kernel was asked; each uses the fields it needs. */
typedef struct fab_job {
    const fab_long *A, *B;
    const double *w; /* weights or row factors, n, or NULL */
    const void *M;   /* A->k x cols, column-major, in the kernel's precision */
    int64_t cols;
    double beta;
    double *q;             /* n */
    const fab_rows *rows;  /* load */
    const double *mu;      /* load */
    const double *in;      /* put */
    double *out;           /* get */
    uint64_t seed, stream; /* randn */
    fab_purpose purpose;   /* randn */
    int64_t first_row;     /* randn */
    /* with M = C, T, R one below the other, `cols` rows in all, then those of each term, */
    const fab_sweep *sweep;
    int upper;     /* whether R is zero below its diagonal, and */
    const void *Q; /* an upper triangular Q of the same quadratic form */
} fab_job;

/* The numbers of a vector from `first` on. */
static inline const double *fab_numbers(const void *v, int64_t first)
{
    return (const double *)v + first;
}

static inline double *fab_numbers_of(void *v, int64_t first)
{
    return (double *)v + first;
}

typedef struct fab_span {
    int64_t first, count;
} fab_span;

/* partial: the chunk's sums (sweep: G, E, H, N as wanted, one after another, then the floored rows). */
typedef void fab_chunk_kernel(const fab_job *job, fab_span rows, void *scratch, double *partial);

typedef struct fab_kernels {
    fab_chunk_kernel *gram, *cross, *colquad;
    fab_chunk_kernel *mult, *rowquad, *rowdot, *axpy;
    fab_chunk_kernel *load, *get, *put, *randn;
    fab_chunk_kernel *sweep;
    void (*normals)(uint64_t seed, fab_purpose purpose, uint64_t stream, uint64_t index0, int64_t n,
                    void *out);
} fab_kernels;

/* One instruction set: its name and its kernels by precision (FAB_F64, FAB_F32). */
typedef struct fab_isa {
    const char *name;
    fab_kernels by_type[2];
} fab_isa;

extern const fab_isa fab_isa_base;
extern const fab_isa fab_isa_avx2, fab_isa_avx512; /* x86-64 only */

/* Bytes of private scratch for small matrices up to rows x cols. */
size_t fab_scratch_size(int64_t rows, int64_t cols, size_t size);

/* The instruction sets this machine can run, slowest first; NULL past the last. */
const fab_isa *fab_isa_available(int which);
/* Use this one instead of the best (tests); NULL: the best again. */
void fab_isa_force(const fab_isa *isa);
const fab_isa *fab_isa_current(void);

/* Up to these widths products are done by vector code on few columns, beyond by BLAS. */
enum { FAB_NARROW = 32, FAB_NARROW_SIDE = 64, FAB_NARROW_LANES = 16 };

#endif
