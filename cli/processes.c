/* processes.c - a call that several processes work on.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "processes.h"
#include "print/output.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fab_processes *joined;

const fab_processes *processes(void)
{
    return joined;
}

int processes_first(void)
{
    return !joined || fab_processes_rank(joined) == 0;
}

/* A number that mpirun has put into the environment; 0: it has not. */
static long number_of(const char *name)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

int processes_open(void)
{
    const char *asked = getenv("FABAYES_PROCESSES");
    const int by_name = asked && strcmp(asked, "mpi") == 0;
    const long started = number_of("OMPI_COMM_WORLD_SIZE");
    if (asked && asked[0] && !by_name && strcmp(asked, "none") != 0)
        return say_wrong("FABAYES_PROCESSES: '%s' is not known; mpi and none are", asked);
    if (!by_name && (started < 2 || (asked && asked[0]))) return DONE;
    const fab_status s = fab_processes_open(&joined, "mpi");
    if (s != FAB_OK) {
        if (number_of("OMPI_COMM_WORLD_RANK") > 0) return FAILED; /* the first one says it */
        if (by_name) return say_status(s);
        return say_failed("mpirun started %ld processes: %s; FABAYES_PROCESSES=none lets each work "
                          "alone",
                          started, fab_detail());
    }
    if (fab_processes_count(joined) < 2 && !by_name) {
        fab_processes_close(joined);
        joined = NULL;
        return DONE;
    }
    output_hold(fab_processes_rank(joined) == 0);
    if (fab_processes_rank(joined) > 0 && !freopen("/dev/null", "w", stdout)) return FAILED;
    return DONE;
}

int processes_check(const verb *v)
{
    if (!joined || v->divides) return DONE;
    return say_wrong("%s: runs in one process, and mpirun started %lld; `fabayes fa` is divided "
                     "among them, and FABAYES_PROCESSES=none lets each work alone",
                     v->name, (long long)fab_processes_count(joined));
}

int together(int status)
{
    if (!joined) return status;
    if (fab_processes_agree(joined, &status, output_held(), OUTPUT_HELD) == FAB_OK) return status;
    output_release(); /* the others wait in a sum that this one will never come to */
    fab_processes_stop(joined, status);
    return status;
}

int processes_close(int status)
{
    if (!joined) return status;
    status = together(status);
    if (status != DONE && processes_first()) output_release();
    fab_processes_close(joined);
    joined = NULL;
    return status;
}
