/* output.c - a file of text that appears whole, for those who print.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/files.h"
#include "base/atomic_file.h"
#include "base/memory.h"

struct fab_output {
    fab_atomic_file file;
};

fab_status fab_output_open(fab_output **o, const char *path, FILE **stream)
{
    fab_output *new;
    *o = NULL;
    *stream = NULL;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, path));
    const fab_status s = fab_atomic_open(&new->file, path);
    if (s != FAB_OK) {
        fab_release(new);
        return s;
    }
    *stream = new->file.stream;
    *o = new;
    return FAB_OK;
}

fab_status fab_output_close(fab_output *o, int keep)
{
    fab_status s = FAB_OK;
    if (!o) return FAB_OK;
    if (keep)
        s = fab_atomic_commit(&o->file);
    else
        fab_atomic_discard(&o->file);
    fab_release(o);
    return s;
}
