/* plugin.h - the one door of the plug-in libfabayes_mpi.so.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_MPI_PLUGIN_H
#define FAB_LA_MPI_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/* Whatever answers an int gives 0, or else a sentence in `why`, of `size` bytes. */
typedef struct fab_mpi {
    int rank, size; /* this process; all of them */
    /* Add buf over all processes, the same bits everywhere. */
    int (*sum)(double *buf, int64_t n, char *why, size_t size);
    /* Do all processes come here?  One with failed = 1 waits so many seconds for the others, and then goes on with
     * *who = -1; one that has not failed waits for all.  *who: the first that failed; door->size: none has.  What others
     * are adding up meanwhile is not touched. */
    int (*meet)(int failed, double patience, int *who, char *why, size_t size);
    int (*send)(int from, void *bytes, int n, char *why, size_t size); /* to all others */
    void (*stop)(int status); /* end all processes now, with this exit status; does not return */
    void (*close)(void);      /* all come here; takes back what open began */
} fab_mpi;

/* NULL and a sentence where MPI cannot begin. */
typedef const fab_mpi *fab_mpi_open_fn(char *why, size_t size);
__attribute__((visibility("default"))) fab_mpi_open_fn fab_mpi_open;

#endif
