/* atomic_file.c - a file that appears under its name complete, or not at all.
 *
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* POSIX.1-2008 with realpath, and flock */
#include "base/atomic_file.h"
#include "base/memory.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TEMP_TRIES = 10000,
    TEMP_NAME = 64,
    FOLDER_MAX = 10000 /* names of a folder looked at for orphans */
};

static fab_status cannot_write(const char *name, int error)
{
    return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be written: %s", name, strerror(error));
}

/* Follow a link, so that the rename replaces what it leads to and not the link. */
static fab_status follow(const char *path, char target[PATH_MAX])
{
    struct stat st;
    if (!*path) return FAB_FAIL(FAB_BAD_FILE, "a file to write has an empty name");
    if (strlen(path) >= PATH_MAX) return cannot_write(path, ENAMETOOLONG);
    memcpy(target, path, strlen(path) + 1);
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode)) return FAB_OK;
    return realpath(path, target) ? FAB_OK : cannot_write(path, errno);
}

/* What stands there now must be nothing or a file that may be written: a rename would ask neither. */
static fab_status check_old(const char *path, const char *target, struct stat *old)
{
    struct stat st;
    *old = (struct stat){0};
    if (stat(target, &st) != 0) return errno == ENOENT ? FAB_OK : cannot_write(path, errno);
    if (S_ISDIR(st.st_mode))
        return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be written: is a folder", path);
    if (!S_ISREG(st.st_mode))
        return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be written: is not a regular file", path);
    if (access(target, W_OK) != 0) return cannot_write(path, errno);
    *old = st;
    return FAB_OK;
}

/* Lay the four names into one block. */
static fab_status make_names(fab_atomic_file *f, const char *path, const char *target)
{
    const char *slash = strrchr(target, '/');
    const char *folder = "."; /* where the path names none */
    size_t folder_size = 1;
    if (slash == target) {
        folder = "/";
    } else if (slash) {
        folder = target;
        folder_size = (size_t)(slash - target);
    }
    const size_t path_size = strlen(path) + 1, target_size = strlen(target) + 1;
    const size_t size = path_size + target_size + 2 * (folder_size + 1) + TEMP_NAME;
    FAB_TRY(fab_alloc_array((void **)&f->name, (int64_t)size, 1, path));
    f->target = f->name + path_size;
    f->folder = f->target + target_size;
    f->temp = f->folder + folder_size + 1;
    memcpy(f->name, path, path_size);
    memcpy(f->target, target, target_size);
    memcpy(f->folder, folder, folder_size);
    f->folder[folder_size] = '\0';
    return FAB_OK;
}

/* ---- the temporary file ------------------------------------------------------------------------------ */

/* Is it the name of a temporary file of ours: .fabayes-PROCESS-NUMBER.tmp? */
static int is_temp(const char *name)
{
    int used = 0;
    const size_t n = strlen(name);
    return sscanf(name, ".fabayes-%*d-%*d%n", &used) >= 0 && used > 0 && n == (size_t)used + 4 &&
           strcmp(name + used, ".tmp") == 0;
}

/* Remove what processes left that ended before their rename.  Who still writes holds a lock on the file. */
static void remove_orphans(const char *folder)
{
    DIR *d = opendir(folder);
    if (!d) return;
    const struct dirent *e;
    for (int n = 0; n < FOLDER_MAX && (e = readdir(d)); n++) {
        if (!is_temp(e->d_name)) continue;
        const int file =
            openat(dirfd(d), e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat st;
        if (file < 0) continue;
        if (fstat(file, &st) == 0 && S_ISREG(st.st_mode) && flock(file, LOCK_EX | LOCK_NB) == 0)
            (void)unlinkat(dirfd(d), e->d_name, 0);
        close(file);
    }
    closedir(d);
}

/* The name is short whatever the target's is, and unused.  It is locked while it is written; between its birth and the lock
 * another process may take it for an orphan, and then the next name is tried. */
static int create_temp(fab_atomic_file *f, mode_t mode)
{
    const size_t room = strlen(f->folder) + TEMP_NAME;
    for (int i = 0; i < TEMP_TRIES; i++) {
        struct stat st;
        snprintf(f->temp, room, "%s/.fabayes-%ld-%d.tmp", f->folder, (long)getpid(), i);
        const int file = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode ? 0600 : 0666);
        if (file < 0 && errno != EEXIST) return file;
        if (file < 0) continue;
        /* Where somebody has locked it already it is about to be removed; a file system without locks has no orphans removed
         * either. */
        const int taken = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!taken && (fstat(file, &st) != 0 || st.st_nlink > 0)) return file;
        if (taken) unlink(f->temp);
        close(file);
    }
    errno = EEXIST;
    return -1;
}

/* As the old file had them.  Only a privileged process may give a file to another owner; a group may be one's own. */
static void keep_owner(int file, const struct stat *old)
{
    struct stat now;
    if (fstat(file, &now) != 0) return;
    if (now.st_uid != old->st_uid && fchown(file, old->st_uid, (gid_t)-1) != 0) errno = 0;
    if (now.st_gid != old->st_gid && fchown(file, (uid_t)-1, old->st_gid) != 0) errno = 0;
}

static fab_status open_temp(fab_atomic_file *f, const struct stat *old)
{
    const mode_t mode = old->st_mode & 0777;
    remove_orphans(f->folder);
    const int file = create_temp(f, mode);
    if (file < 0) return cannot_write(f->name, errno);
    if (old->st_mode) keep_owner(file, old);
    if (mode &&
        fchmod(file, mode) != 0) { /* it would be replaced by one that nobody else can read */
        const fab_status s = cannot_write(f->name, errno);
        close(file);
        unlink(f->temp);
        return s;
    }
    f->stream = fdopen(file, "wb");
    if (f->stream) return FAB_OK;
    close(file);
    unlink(f->temp);
    return FAB_FAIL(FAB_NO_MEMORY, "%s: cannot allocate a stream", f->name);
}

fab_status fab_atomic_open(fab_atomic_file *f, const char *path)
{
    char target[PATH_MAX];
    struct stat old;
    memset(f, 0, sizeof *f);
    FAB_TRY(follow(path, target));
    FAB_TRY(check_old(path, target, &old));
    FAB_TRY(make_names(f, path, target));
    const fab_status s = open_temp(f, &old);
    if (s != FAB_OK) fab_atomic_discard(f);
    return s;
}

fab_status fab_atomic_write(fab_atomic_file *f, const void *bytes, size_t n)
{
    if (n == 0 || fwrite(bytes, 1, n, f->stream) == n) return FAB_OK;
    return cannot_write(f->name, errno);
}

/* Some file systems cannot sync a folder, and some folders may be written and not read. */
static int sync_folder(const char *folder)
{
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return errno == EACCES ? 0 : -1;
    const int failed = fsync(file) != 0 && errno != EINVAL;
    const int error = errno;
    close(file);
    errno = error;
    return failed ? -1 : 0;
}

static int close_synced(FILE *stream)
{
    const int lost = ferror(stream) ? errno ? errno : EIO : 0; /* by a write that failed earlier */
    const int failed = lost || fflush(stream) != 0 || fsync(fileno(stream)) != 0;
    const int error = lost ? lost : errno;
    if (fclose(stream) != 0) return -1;
    errno = error;
    return failed ? -1 : 0;
}

fab_status fab_atomic_commit(fab_atomic_file *f)
{
    FILE *stream = f->stream;
    f->stream = NULL;
    fab_status s = FAB_OK;
    const int lock =
        fcntl(fileno(stream), F_DUPFD_CLOEXEC, 0); /* no orphan until it has its name */
    if (close_synced(stream) != 0 || rename(f->temp, f->target) != 0) {
        s = cannot_write(f->name, errno);
        unlink(f->temp);
    } else if (sync_folder(f->folder) != 0) {
        s = cannot_write(f->name, errno);
    }
    if (lock >= 0) close(lock);
    fab_release(f->name);
    memset(f, 0, sizeof *f);
    return s;
}

void fab_atomic_discard(fab_atomic_file *f)
{
    if (f->stream) {
        fclose(f->stream);
        unlink(f->temp);
    }
    fab_release(f->name);
    memset(f, 0, sizeof *f);
}
