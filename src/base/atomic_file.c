/* atomic_file.c - a file that appears under its name complete, or not at all.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* POSIX.1-2008 with realpath */
#include "base/atomic_file.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMP_TRIES = 10000, TEMP_NAME = 64 };

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
static fab_status check_old(const char *path, const char *target, mode_t *mode)
{
    struct stat st;
    *mode = 0;
    if (stat(target, &st) != 0) return errno == ENOENT ? FAB_OK : cannot_write(path, errno);
    if (S_ISDIR(st.st_mode))
        return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be written: is a folder", path);
    if (!S_ISREG(st.st_mode))
        return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be written: is not a regular file", path);
    if (access(target, W_OK) != 0) return cannot_write(path, errno);
    *mode = st.st_mode & 0777;
    return FAB_OK;
}

/* Lay the four names into one block. */
static fab_status make_names(fab_atomic_file *f, const char *path, const char *target)
{
    const char *slash = strrchr(target, '/');
    const char *folder = !slash ? "." : slash == target ? "/" : target;
    const size_t folder_size = slash && slash != target ? (size_t)(slash - target) : 1;
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

/* The name is short whatever the target's is, and unused. */
static int create_temp(fab_atomic_file *f, mode_t mode)
{
    const size_t room = strlen(f->folder) + TEMP_NAME;
    for (int i = 0; i < TEMP_TRIES; i++) {
        snprintf(f->temp, room, "%s/.fabayes-%ld-%d.tmp", f->folder, (long)getpid(), i);
        const int file = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode ? 0600 : 0666);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

static fab_status open_temp(fab_atomic_file *f, mode_t mode)
{
    const int file = create_temp(f, mode);
    if (file < 0) return cannot_write(f->name, errno);
    if (mode) (void)fchmod(file, mode);
    f->stream = fdopen(file, "wb");
    if (f->stream) return FAB_OK;
    close(file);
    unlink(f->temp);
    return FAB_FAIL(FAB_NO_MEMORY, "%s: cannot allocate a stream", f->name);
}

fab_status fab_atomic_open(fab_atomic_file *f, const char *path)
{
    char target[PATH_MAX];
    mode_t mode;
    memset(f, 0, sizeof *f);
    FAB_TRY(follow(path, target));
    FAB_TRY(check_old(path, target, &mode));
    FAB_TRY(make_names(f, path, target));
    const fab_status s = open_temp(f, mode);
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
    const int lost = ferror(stream); /* by a write that failed earlier */
    const int failed = lost || fflush(stream) != 0 || fsync(fileno(stream)) != 0;
    const int error = lost ? EIO : errno;
    if (fclose(stream) != 0) return -1;
    errno = error;
    return failed ? -1 : 0;
}

fab_status fab_atomic_commit(fab_atomic_file *f)
{
    FILE *stream = f->stream;
    f->stream = NULL;
    fab_status s = FAB_OK;
    if (close_synced(stream) != 0 || rename(f->temp, f->target) != 0) {
        s = cannot_write(f->name, errno);
        unlink(f->temp);
    } else if (sync_folder(f->folder) != 0) {
        s = cannot_write(f->name, errno);
    }
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
