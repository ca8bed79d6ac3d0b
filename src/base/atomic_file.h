/* atomic_file.h - a file that appears under its name complete, or not at all.
 *
 *     fab_atomic_file f;
 *     FAB_TRY(fab_atomic_open(&f, path));
 *     fab_status s = fab_atomic_write(&f, bytes, n);
 *     if (s == FAB_OK) return fab_atomic_commit(&f);
 *     fab_atomic_discard(&f);
 *     return s;
 *
 * The bytes go into a temporary file in the same folder; commit flushes it to the disk, renames it and
 * flushes the folder.  A file that is replaced keeps its permissions, its group and owner where the process may give them; a symbolic
 * link stays and the file it leads to is replaced.  Temporary files that a killed process left are removed by the next that opens one
 * in the same folder.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_ATOMIC_FILE_H
#define FAB_BASE_ATOMIC_FILE_H

#include "base/fail.h"
#include <stdio.h>

typedef struct fab_atomic_file {
    FILE *stream;
    char *name;   /* as the caller gave it; the one block that holds the next three too */
    char *target; /* the same, links followed */
    char *folder;
    char *temp;
} fab_atomic_file;

/* Create the temporary file.  Copies path.  On failure nothing is held. */
fab_status fab_atomic_open(fab_atomic_file *f, const char *path);
/* Add n bytes. */
fab_status fab_atomic_write(fab_atomic_file *f, const void *bytes, size_t n);
/* Let the file appear.  Ends f.  On failure the temporary file is gone and an old file is as it was; only
 * when the very last step, the flush of the folder, fails is the new one there but not sure to last. */
fab_status fab_atomic_commit(fab_atomic_file *f);
/* Forget the file.  Ends f; an ended or zero f is fine. */
void fab_atomic_discard(fab_atomic_file *f);

#endif
