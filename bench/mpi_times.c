/* mpi_times.c - what the sums of a program cost it: a library to load before it (LD_PRELOAD), which counts through MPI's profiling
 * names.
 *
 * When MPI ends each process prints one line on standard error: its number, the processor time of the process and what of it went
 * by inside sums (where it also waits for the others), how many sums there were and their bytes.  bench/mpi.py uses it.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double inside;
static long long sums, bytes;

static double clock_of(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int MPI_Reduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int to,
               MPI_Comm comm)
{
    const double begun = clock_of(CLOCK_THREAD_CPUTIME_ID);
    const int code = PMPI_Reduce(in, out, n, type, op, to, comm);
    inside += clock_of(CLOCK_THREAD_CPUTIME_ID) - begun;
    sums++;
    bytes += 8 * (long long)n;
    return code;
}

int MPI_Bcast(void *p, int n, MPI_Datatype type, int from, MPI_Comm comm)
{
    const double begun = clock_of(CLOCK_THREAD_CPUTIME_ID);
    const int code = PMPI_Bcast(p, n, type, from, comm);
    inside += clock_of(CLOCK_THREAD_CPUTIME_ID) - begun;
    return code;
}

int MPI_Finalize(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "rank %d: %.3f s, in sums %.3f s, %lld sums of %lld bytes\n", rank,
            clock_of(CLOCK_PROCESS_CPUTIME_ID), inside, sums, bytes);
    return PMPI_Finalize();
}
