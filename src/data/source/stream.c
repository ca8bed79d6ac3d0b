/* stream.c - a file, standard input or bytes in memory, plain or gzip, as one stream seen through a window.
 *
 *     file, memory --raw--> [ inflate ] --> window:  | taken | begin .. seen .. end | room | padding |
 *
 * gzip is told by its first two bytes, whatever the name says.  Only this file knows zlib.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#define ZLIB_CONST
#include "data/source/stream.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { GZ_ROOM = 1 << 16, GZIP_ONLY = 15 + 16 /* inflateInit2: a gzip header, a 32 KB window */ };

typedef struct fab_gz {
    z_stream z;
    int inside; /* a member has begun and not ended */
    int dry;    /* the input has ended */
    unsigned char in[GZ_ROOM];
} fab_gz;

/* ---- raw bytes ------------------------------------------------------------------------------- */

static fab_status read_file(fab_stream *in, void *to, size_t n, size_t *got)
{
    ssize_t r;
    do r = read(in->file, to, n);
    while (r < 0 && errno == EINTR);
    if (r < 0) return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be read: %s", in->name, strerror(errno));
    *got = (size_t)r;
    return FAB_OK;
}

/* At most n bytes; *got = 0 at the end. */
static fab_status read_raw(fab_stream *in, void *to, size_t n, size_t *got)
{
    if (in->file >= 0) {
        FAB_TRY(read_file(in, to, n, got));
    } else {
        const size_t left = (size_t)(in->total - in->raw);
        *got = n < left ? n : left;
        if (*got) memcpy(to, in->memory + in->raw, *got);
    }
    in->raw += (int64_t)*got;
    return FAB_OK;
}

/* ---- gzip ------------------------------------------------------------------------------------ */

static void *gz_alloc(void *unused, unsigned count, unsigned size)
{
    (void)unused;
    return fab_alloc((size_t)count * size);
}

static void gz_release(void *unused, void *p)
{
    (void)unused;
    fab_release(p);
}

/* Start to inflate; the n bytes at `start` were read already. */
static fab_status gz_open(fab_stream *in, const char *start, size_t n)
{
    fab_gz *gz = fab_alloc(sizeof *gz);
    if (!gz)
        return FAB_FAIL(FAB_NO_MEMORY, "%s: cannot allocate the memory to inflate it", in->name);
    gz->z = (z_stream){.zalloc = gz_alloc, .zfree = gz_release};
    gz->inside = gz->dry = 0;
    if (inflateInit2(&gz->z, GZIP_ONLY) != Z_OK) {
        fab_release(gz);
        return FAB_FAIL(FAB_NO_MEMORY, "%s: cannot allocate the memory to inflate it", in->name);
    }
    memcpy(gz->in, start, n);
    gz->z.next_in = gz->in;
    gz->z.avail_in = (unsigned)n;
    in->gz = gz;
    return FAB_OK;
}

static void gz_close(fab_gz *gz)
{
    if (!gz) return;
    inflateEnd(&gz->z);
    fab_release(gz);
}

static fab_status gz_fill(fab_stream *in, fab_gz *gz)
{
    size_t got;
    FAB_TRY(read_raw(in, gz->in, GZ_ROOM, &got));
    gz->z.next_in = gz->in;
    gz->z.avail_in = (unsigned)got;
    gz->dry = got == 0;
    return FAB_OK;
}

/* Nothing came out of inflate: it waits for more input, or something is wrong. */
static fab_status gz_fault(const fab_stream *in, const fab_gz *gz, int code)
{
    if (code == Z_MEM_ERROR)
        return FAB_FAIL(FAB_NO_MEMORY, "%s: cannot allocate the memory to inflate it", in->name);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return FAB_FAIL(FAB_BAD_FILE, "%s: its gzip data are damaged%s%s", in->name,
                        gz->z.msg ? ": " : "", gz->z.msg ? gz->z.msg : "");
    if (gz->inside && gz->dry)
        return FAB_FAIL(FAB_BAD_FILE, "%s: is cut short: its gzip data do not end", in->name);
    return FAB_OK;
}

/* At most n bytes; *got = 0 without in->ended only when the input gave none yet.  A file may be several
 * gzip members in a row.  What came before a fault is given first. */
static fab_status gz_read(fab_stream *in, void *to, size_t n, size_t *got)
{
    fab_gz *gz = in->gz;
    *got = 0;
    if (gz->z.avail_in == 0) FAB_TRY(gz_fill(in, gz));
    in->ended = gz->dry && !gz->inside;
    if (in->ended) return FAB_OK;
    if (!gz->inside) inflateReset(&gz->z);
    gz->inside = 1;
    gz->z.next_out = to;
    gz->z.avail_out = (unsigned)n;
    const int code = inflate(&gz->z, Z_NO_FLUSH);
    *got = n - gz->z.avail_out;
    if (code == Z_STREAM_END) gz->inside = 0;
    return *got > 0 ? FAB_OK : gz_fault(in, gz, code);
}

/* ---- the window ------------------------------------------------------------------------------ */

/* A larger window, or what is unseen moved to the front of this one. */
static fab_status make_room(fab_stream *in)
{
    const size_t kept = in->end - in->begin;
    char *to = in->window;
    if (kept == in->room) {
        if (in->room >= FAB_STREAM_MAX)
            return FAB_FAIL(FAB_BAD_FILE, "%s: line %lld is longer than 1 GB", in->name,
                            (long long)in->lines + 1);
        const size_t room = in->room > FAB_STREAM_MAX / 2 ? FAB_STREAM_MAX : 2 * in->room;
        void *p;
        FAB_TRY(fab_alloc_array(&p, (int64_t)(room + FAB_STREAM_PAD), 1, in->name));
        to = p;
        in->room = room;
    }
    memmove(to, in->window + in->begin, kept);
    if (to != in->window) fab_release(in->window);
    in->window = to;
    in->begin = 0;
    in->end = kept;
    return FAB_OK;
}

/* See more bytes, or learn that there are none. */
static fab_status fill(fab_stream *in)
{
    size_t got = 0;
    if (in->begin == in->end) in->begin = in->end = 0;
    if (in->end == in->room) FAB_TRY(make_room(in));
    while (got == 0 && !in->ended) {
        char *to = in->window + in->end;
        const size_t n = in->room - in->end;
        FAB_TRY(in->gz ? gz_read(in, to, n, &got) : read_raw(in, to, n, &got));
        if (got == 0 && !in->gz) in->ended = 1;
    }
    in->end += got;
    memset(in->window + in->end, 0, FAB_STREAM_PAD);
    return FAB_OK;
}

fab_status fab_stream_look(fab_stream *in, size_t n, fab_span *seen)
{
    while (in->end - in->begin < n && !in->ended) FAB_TRY(fill(in));
    const size_t have = in->end - in->begin;
    *seen = (fab_span){in->window + in->begin, have < n ? have : n};
    return FAB_OK;
}

fab_status fab_stream_look_line(fab_stream *in, size_t from, fab_span *line)
{
    *line = (fab_span){NULL, 0};
    for (size_t scanned = from;;) {
        const char *start = in->window + in->begin;
        const size_t have = in->end - in->begin;
        const char *stop = have > scanned ? memchr(start + scanned, '\n', have - scanned) : NULL;
        if (stop || (in->ended && have > from)) {
            *line = (fab_span){start, stop ? (size_t)(stop - start) : have};
            return FAB_OK;
        }
        if (in->ended) return FAB_OK;
        if (have > scanned) scanned = have;
        FAB_TRY(fill(in));
    }
}

/* The length of the first `lines` lines of the n bytes at p; 0 when there are fewer. */
static size_t measure(const char *p, size_t n, int64_t lines)
{
    const char *q = p;
    for (; lines > 0; lines--) {
        q = memchr(q, '\n', n - (size_t)(q - p));
        if (!q) return 0;
        q++;
    }
    return (size_t)(q - p);
}

fab_status fab_stream_head(fab_stream *in, int64_t lines, size_t max, fab_span *head)
{
    for (;;) {
        const char *p = in->window + in->begin;
        const size_t have = in->end - in->begin, seen = have < max ? have : max;
        const size_t measured = measure(p, seen, lines);
        *head = (fab_span){p, measured ? measured : seen};
        if (measured || seen == max || in->ended) return FAB_OK;
        FAB_TRY(fill(in));
    }
}

void fab_stream_take(fab_stream *in, size_t n)
{
    in->begin += n;
}

fab_status fab_stream_line(fab_stream *in, fab_span *line)
{
    FAB_TRY(fab_stream_look_line(in, 0, line));
    if (!line->p) return FAB_OK;
    const int closed = in->begin + line->n < in->end; /* the last line may have no end */
    fab_stream_take(in, line->n + (size_t)closed);
    in->lines++;
    if (line->n && line->p[line->n - 1] == '\r') line->n--;
    return FAB_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The first bytes say whether the stream is compressed. */
static fab_status detect_gzip(fab_stream *in)
{
    char magic[2];
    size_t n = 0, got = 1;
    while (n < sizeof magic && got > 0) {
        FAB_TRY(read_raw(in, magic + n, sizeof magic - n, &got));
        n += got;
    }
    if (n == 2 && memcmp(magic, "\x1f\x8b", 2) == 0) return gz_open(in, magic, n);
    memcpy(in->window, magic, n);
    in->end = n;
    return FAB_OK;
}

static fab_status start(fab_stream *in, size_t room)
{
    void *p;
    if (room < 2) room = 2; /* the first two bytes are looked at in any case */
    FAB_TRY(fab_alloc_array(&p, (int64_t)(room + FAB_STREAM_PAD), 1, in->name));
    in->window = p;
    in->room = room;
    FAB_TRY(detect_gzip(in));
    memset(in->window + in->end, 0, FAB_STREAM_PAD);
    return FAB_OK;
}

static fab_status open_file(fab_stream *in, const char *path)
{
    struct stat st;
    in->owned = strcmp(path, "-") != 0;
    in->file = in->owned ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (in->file < 0 || fstat(in->file, &st) != 0)
        return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be opened: %s", in->name, strerror(errno));
    if (S_ISDIR(st.st_mode)) return FAB_FAIL(FAB_BAD_FILE, "%s: is a folder, not a file", in->name);
    in->start = S_ISREG(st.st_mode) ? (int64_t)lseek(in->file, 0, SEEK_CUR) : -1;
    if (in->start >= 0 && st.st_size > in->start) in->total = (int64_t)st.st_size - in->start;
    return FAB_OK;
}

fab_status fab_stream_open(fab_stream *in, const char *path, size_t room)
{
    *in = (fab_stream){.name = strcmp(path, "-") == 0 ? "standard input" : path};
    fab_status status = open_file(in, path);
    if (status == FAB_OK) status = start(in, room);
    if (status != FAB_OK) fab_stream_close(in);
    return status;
}

fab_status fab_stream_open_memory(fab_stream *in, const char *name, const void *bytes, size_t size,
                                  size_t room)
{
    *in = (fab_stream){.name = name, .file = -1, .memory = bytes, .total = (int64_t)size};
    const fab_status status = start(in, room);
    if (status != FAB_OK) fab_stream_close(in);
    return status;
}

void fab_stream_close(fab_stream *in)
{
    if (in->file >= 0 && in->owned) close(in->file);
    gz_close(in->gz);
    fab_release(in->window);
    *in = (fab_stream){.file = -1};
}

fab_status fab_stream_rewind(fab_stream *in)
{
    if (in->start < 0)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: is a pipe, which can be read only once", in->name);
    if (in->file >= 0 && lseek(in->file, (off_t)in->start, SEEK_SET) < 0)
        return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be read again: %s", in->name, strerror(errno));
    if (in->gz) {
        in->gz->z.avail_in = 0;
        in->gz->inside = in->gz->dry = 0;
    }
    in->begin = in->end = 0;
    in->lines = in->raw = 0;
    in->ended = 0;
    return FAB_OK;
}

void fab_stream_position(const fab_stream *in, int64_t *done, int64_t *total)
{
    const size_t waiting = in->gz ? in->gz->z.avail_in : in->end - in->begin;
    *done = in->raw - (int64_t)waiting;
    *total = in->total;
}
