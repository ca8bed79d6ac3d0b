/* bytes.c - bytes that nobody vouches for, taken in order from a file or from memory.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "base/bytes.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The containers are little-endian and are copied as they lie. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a little-endian machine");

static fab_status check_regular(fab_bytes *s)
{
    struct stat st;
    if (fstat(s->file, &st) != 0)
        return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be read: %s", s->name, strerror(errno));
    if (S_ISDIR(st.st_mode)) return FAB_FAIL(FAB_BAD_FILE, "%s: is a folder, not a file", s->name);
    if (!S_ISREG(st.st_mode)) return FAB_FAIL(FAB_BAD_FILE, "%s: is not a regular file", s->name);
    if ((uintmax_t)st.st_size > SIZE_MAX / 2)
        return FAB_FAIL(FAB_BAD_FILE, "%s: is too large for this machine", s->name);
    s->size = (size_t)st.st_size;
    return FAB_OK;
}

fab_status fab_bytes_open(fab_bytes *s, const char *path)
{
    *s = (fab_bytes){.name = path, .file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (s->file < 0) return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be read: %s", path, strerror(errno));
    const fab_status status = check_regular(s);
    if (status != FAB_OK) fab_bytes_close(s);
    return status;
}

fab_bytes fab_bytes_memory(const char *name, const void *bytes, size_t size)
{
    return (fab_bytes){
        .name = name, .bytes = bytes ? bytes : "", .file = -1, .size = bytes ? size : 0};
}

void fab_bytes_close(fab_bytes *s)
{
    if (s->file >= 0) close(s->file);
    s->file = -1;
}

size_t fab_bytes_left(const fab_bytes *s)
{
    return s->size - s->taken;
}

/* read() may give less than asked for, and Linux gives at most 2 GB at once. */
static fab_status read_all(fab_bytes *s, char *to, size_t n)
{
    while (n > 0) {
        const ssize_t got = read(s->file, to, n < (1u << 30) ? n : (1u << 30));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be read: %s", s->name, strerror(errno));
        if (got == 0)
            return FAB_FAIL(FAB_BAD_FILE, "%s: became shorter while it was read", s->name);
        to += got;
        n -= (size_t)got;
    }
    return FAB_OK;
}

fab_status fab_bytes_take(fab_bytes *s, void *to, size_t n)
{
    if (n > fab_bytes_left(s))
        return FAB_FAIL(FAB_BAD_FILE, "%s: is cut short: %zu bytes are missing at the end", s->name,
                        n - fab_bytes_left(s));
    if (!s->bytes) FAB_TRY(read_all(s, to, n));
    if (s->bytes && n > 0) memcpy(to, s->bytes + s->taken, n);
    s->taken += n;
    return FAB_OK;
}

const char *fab_show(char buf[FAB_SHOWN], const char *s, size_t n)
{
    const size_t most = FAB_SHOWN - 4;
    size_t keep = n < most ? n : most;
    while (keep > 0 && keep < n && ((unsigned char)s[keep] & 0xc0) == 0x80)
        keep--; /* inside a character */
    for (size_t i = 0; i < keep; i++) buf[i] = (char)((unsigned char)s[i] < 0x20 ? '?' : s[i]);
    buf[keep] = '\0';
    fab_no_controls(buf);
    if (keep < n) memcpy(buf + keep, "...", 4);
    return buf;
}
