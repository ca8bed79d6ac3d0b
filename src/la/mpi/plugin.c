/* plugin.c - processes that mpirun started, by MPI: the plug-in libfabayes_mpi.so.
 *
 * A sum is a reduction to the first process and a broadcast from there: with one call for both (MPI_Allreduce) the standard
 * does not promise that all processes get the same bits, and what they decide by sums must be the same.  Sums and meetings have
 * a communicator each, so that a process that has failed is not taken for a summand.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "la/mpi/plugin.h"
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { PIECE = 1 << 20 }; /* numbers in one message */

static MPI_Comm sums, meetings;
static int mine; /* MPI was begun here */
static fab_mpi door;

static int failed_call(int code, const char *call, char *why, size_t size)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS) return 0;
    MPI_Error_string(code, text, &length);
    snprintf(why, size, "%s: %.*s", call, length, text);
    return 1;
}

static int sum(double *buf, int64_t n, char *why, size_t size)
{
    for (int64_t at = 0; at < n; at += PIECE) {
        const int m = (int)(n - at < PIECE ? n - at : PIECE);
        void *out = door.rank == 0 ? buf + at : NULL;
        const void *in = door.rank == 0 ? MPI_IN_PLACE : buf + at;
        int code = MPI_Reduce(in, out, m, MPI_DOUBLE, MPI_SUM, 0, sums);
        if (code == MPI_SUCCESS) code = MPI_Bcast(buf + at, m, MPI_DOUBLE, 0, sums);
        if (failed_call(code, "the sum over processes", why, size)) return 1;
    }
    return 0;
}

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): MPI_Test ends the request; where patience ends first, so do all processes */
static int meet(int failed, double patience, int *who, char *why, size_t size)
{
    static int first, in; /* MPI may still write there when patience has ended */
    MPI_Request request;
    const struct timespec pause = {.tv_nsec = 1000000};
    int here = 0;
    in = failed ? door.rank : door.size;
    int code = MPI_Iallreduce(&in, &first, 1, MPI_INT, MPI_MIN, meetings, &request);
    const double begun = MPI_Wtime();
    while (code == MPI_SUCCESS && !here) {
        code = MPI_Test(&request, &here, MPI_STATUS_IGNORE);
        if (here || code != MPI_SUCCESS) break;
        if (failed && MPI_Wtime() - begun > patience) {
            *who = -1;
            return 0;
        }
        nanosleep(&pause, NULL); /* those who wait here may wait for a file to be written */
    }
    *who = first;
    return failed_call(code, "the agreement of processes", why, size);
}
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

static int send(int from, void *bytes, int n, char *why, size_t size)
{
    return failed_call(MPI_Bcast(bytes, n, MPI_BYTE, from, meetings), "a message to all processes",
                       why, size);
}

static void stop(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
}

static void close_all(void)
{
    MPI_Comm_free(&sums);
    MPI_Comm_free(&meetings);
    if (mine) MPI_Finalize();
}

const fab_mpi *fab_mpi_open(char *why, size_t size)
{
    int there = 0, ended = 0, level;
    MPI_Finalized(&ended);
    if (ended) {
        snprintf(why, size, "MPI has ended in this process, and begins only once");
        return NULL;
    }
    MPI_Initialized(&there);
    if (!there && failed_call(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level), "MPI_Init",
                              why, size))
        return NULL;
    mine = !there;
    MPI_Comm_rank(MPI_COMM_WORLD, &door.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &door.size);
    if (failed_call(MPI_Comm_dup(MPI_COMM_WORLD, &sums), "MPI_Comm_dup", why, size)) return NULL;
    if (failed_call(MPI_Comm_dup(MPI_COMM_WORLD, &meetings), "MPI_Comm_dup", why, size))
        return NULL;
    MPI_Comm_set_errhandler(sums, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(meetings, MPI_ERRORS_RETURN);
    door.sum = sum;
    door.meet = meet;
    door.send = send;
    door.stop = stop;
    door.close = close_all;
    return &door;
}
