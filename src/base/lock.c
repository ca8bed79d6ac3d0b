/* lock.c - a file that is read, worked on and replaced by one process at a time.
 *
 * The lock is one of flock, on the file itself.  A rename puts another file under the name: who waited for the old one gets a lock on a file
 * that has no name any more, and so compares the two and begins again.
 *
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* flock */
#include "base/hooks.h"
#include "fabayes/files.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct fab_lock {
    int file;
};

enum { WAIT_MS = 50 };

/* The process that holds a lock on the file, as Linux tells; 0: unknown. */
static long holder(const struct stat *st)
{
    char line[256];
    long found = 0;
    FILE *f = fopen("/proc/locks", "r");
    if (!f) return 0;
    while (!found && fgets(line, sizeof line, f)) {
        long process;
        uintmax_t inode;
        if (sscanf(line, "%*d: FLOCK %*s WRITE %ld %*x:%*x:%ju", &process, &inode) == 2 &&
            inode == (uintmax_t)st->st_ino)
            found = process;
    }
    fclose(f);
    return found;
}

static void say_who(const fab_watch *w, const char *path, const struct stat *st)
{
    const long process = holder(st);
    if (process > 0)
        fab_watch_log(w, "%s: process %ld works on it: waiting until it is done", path, process);
    else
        fab_watch_log(w, "%s: another process works on it: waiting until it is done", path);
}

/* 0: locked; else errno.  *said: the log has heard of the waiting. */
static fab_status wait_for(int file, const char *path, const struct stat *st, const fab_watch *w,
                           int *said, int *error)
{
    for (;;) {
        *error = 0;
        if (flock(file, LOCK_EX | LOCK_NB) == 0) return FAB_OK;
        *error = errno;
        if (*error == EINTR) continue;
        if (*error != EWOULDBLOCK) return FAB_OK;
        if (!*said) say_who(w, path, st);
        *said = 1;
        FAB_TRY(fab_watch_tick(w, "waiting", 0, 0));
        nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000L}, NULL);
    }
}

fab_status fab_file_lock(fab_lock **lock, const char *path, const fab_exec *x)
{
    const fab_watch w = fab_watch_of(x);
    int said = 0;
    FAB_TRY(fab_alloc_array((void **)lock, 1, sizeof **lock, path));
    for (;;) {
        struct stat opened, named;
        int error = 0;
        const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        fab_status s = FAB_OK;
        if (file < 0 || fstat(file, &opened) != 0)
            s = FAB_FAIL(FAB_BAD_FILE, "%s: cannot be read: %s", path, strerror(errno));
        if (s == FAB_OK) s = wait_for(file, path, &opened, &w, &said, &error);
        if (s == FAB_OK && error) {
            fab_watch_log(
                &w, "%s: cannot be locked (%s): another update at the same time would be lost",
                path, strerror(error));
        } else if (s == FAB_OK && stat(path, &named) == 0 && named.st_dev == opened.st_dev &&
                   named.st_ino == opened.st_ino) {
            (*lock)->file = file;
            return FAB_OK;
        }
        if (file >= 0) close(file);
        if (s == FAB_OK && !error) continue; /* it was replaced in the meantime */
        fab_release(*lock);
        *lock = NULL;
        return s;
    }
}

void fab_file_unlock(fab_lock *lock)
{
    if (!lock) return;
    close(lock->file);
    fab_release(lock);
}
