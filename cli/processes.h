/* processes.h - a call that several processes work on, started by mpirun.
 *
 * Every process parses the same line; the first one alone prints and writes.  A failure is kept as a sentence until all
 * processes have heard of it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_PROCESSES_H
#define CLI_PROCESSES_H

#include "verb.h"
#include <fabayes.h>

/* Join the processes that mpirun started, where it did; FABAYES_PROCESSES in the environment: `none` leaves each one alone,
 * `mpi` asks for them wherever they come from. */
int processes_open(void);
const fab_processes *processes(void); /* NULL: alone */
int processes_first(void);            /* 1: alone, or the first of them */
/* May this verb be run by several? */
int processes_check(const verb *v);
/* A step has ended with `status` here: DONE where it has in all processes, else that of the first which failed. */
int together(int status);
/* The same at the end, where the first process prints the sentence; and leave them. */
int processes_close(int status);

#endif
