/* stream.c - a file, standard input or bytes in memory as one stream of UTF-8 seen through a window.
 *
 *     file, memory --raw--> [ unpack ] --plain--> [ recode ] --> window:  | taken | begin .. seen .. end | room | padding |
 *
 * What is compressed (unpack.c) and what is UTF-16 (recode.c) is told by the first bytes, whatever the name says.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "data/source/stream.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "data/source/recode.h"
#include "data/source/unpack.h"
#include "data/source/unpack_thread.h"
#include "la/threads.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAIT_MS = 200 };

/* ---- raw bytes ------------------------------------------------------------------------------- */

/* Whether to go on; how far the reading is. */
static fab_status ask(const fab_stream *in)
{
    const int64_t used = in->thread ? fab_unpack_thread_used(in->thread) : in->raw;
    return fab_watch_tick(&(fab_watch){0}, "reading", used, in->total);
}

/* A pipe may give nothing for a long time: a stop is heard meanwhile. */
static fab_status wait_for_bytes(const fab_stream *in)
{
    struct pollfd p = {.fd = in->file, .events = POLLIN};
    int ready;
    while ((ready = poll(&p, 1, WAIT_MS)) == 0 || (ready < 0 && errno == EINTR)) FAB_TRY(ask(in));
    return FAB_OK;
}

static fab_status read_file(fab_stream *in, void *to, size_t n, size_t *got)
{
    ssize_t r;
    do r = read(in->file, to, n);
    while (r < 0 && errno == EINTR);
    if (r < 0) return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be read: %s", in->name, strerror(errno));
    *got = (size_t)r;
    return FAB_OK;
}

/* At most n bytes, without waiting for a pipe; *got = 0 at the end. */
static fab_status read_now(fab_stream *in, void *to, size_t n, size_t *got)
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

static fab_status read_raw(fab_stream *in, void *to, size_t n, size_t *got)
{
    if (in->file >= 0 && in->start < 0) FAB_TRY(wait_for_bytes(in));
    return read_now(in, to, n, got);
}

/* Would a read come back at once? */
static int has_bytes(const fab_stream *in)
{
    struct pollfd p = {.fd = in->file, .events = POLLIN};
    return in->file < 0 || in->start >= 0 || poll(&p, 1, 0) > 0;
}

/* ---- a thread that unpacks -------------------------------------------------------------------- */

/* On the thread, where nobody is to be asked: whoever waits for it is. */
static fab_status thread_read(void *ctx, void *to, size_t n, size_t *got)
{
    fab_stream *in = ctx;
    struct pollfd p = {.fd = in->file, .events = POLLIN};
    *got = 0;
    while (in->file >= 0 && in->start < 0 && poll(&p, 1, WAIT_MS) <= 0)
        if (fab_unpack_thread_asked(in->thread)) return FAB_STOPPED;
    return read_now(in, to, n, got);
}

static int thread_ready(void *ctx)
{
    return has_bytes(ctx);
}

static int64_t thread_used(void *ctx)
{
    const fab_stream *in = ctx;
    return in->raw;
}

static fab_status thread_wait(void *ctx)
{
    return ask(ctx);
}

/* A long file gets a thread; where none can be made, it is unpacked as it is read. */
static void start_thread(fab_stream *in)
{
    const size_t after = in->thread_after ? in->thread_after : FAB_STREAM_THREAD;
    const fab_unpack_from from = {thread_read, thread_ready, thread_used, in};
    if (in->thread || in->threads == 1 || in->unpacked < after) return;
    in->unpacked = 0; /* so that it is not tried with every read */
    if (in->threads == 0 && fab_cores() < 2) return;
    (void)fab_unpack_thread_start(&in->thread, in->unpack, &from);
}

/* ---- plain bytes, and UTF-8 ------------------------------------------------------------------ */

static fab_status unpack_input(void *ctx, void *to, size_t n, size_t *got)
{
    return read_raw(ctx, to, n, got);
}

/* At most n bytes, those that were looked at first before the others; *got = 0 without *ended: none yet. */
static fab_status read_plain(void *ctx, void *to, size_t n, size_t *got, int *ended)
{
    fab_stream *in = ctx;
    *ended = 0;
    if (in->first_at < in->first_n) {
        const size_t left = in->first_n - in->first_at;
        *got = n < left ? n : left;
        memcpy(to, in->first + in->first_at, *got);
        in->first_at += *got;
        return FAB_OK;
    }
    if (in->unpack) {
        start_thread(in);
        if (in->thread)
            return fab_unpack_thread_read(in->thread, to, n, got, ended, thread_wait, in);
        const fab_status unpacked =
            fab_unpack_read(in->unpack, unpack_input, in, to, n, got, ended);
        in->unpacked += *got;
        return unpacked;
    }
    FAB_TRY(read_raw(in, to, n, got));
    *ended = *got == 0;
    return FAB_OK;
}

/* Old line ends become new ones. */
static void replace_returns(char *p, size_t n)
{
    char *const end = p + n;
    while ((p = memchr(p, '\r', (size_t)(end - p)))) *p++ = '\n';
}

/* ---- the window ------------------------------------------------------------------------------ */

/* What is unseen, at the front of this window or of another one. */
static void move_window(fab_stream *in, char *to)
{
    const size_t kept = in->end - in->begin;
    memmove(to, in->window + in->begin, kept);
    if (to != in->window) fab_release(in->window);
    in->window = to;
    in->begin = 0;
    in->end = kept;
}

static size_t line_max(const fab_stream *in)
{
    return in->line_max ? in->line_max : FAB_STREAM_MAX;
}

static fab_status line_is_long(const fab_stream *in)
{
    return FAB_FAIL(FAB_BAD_FILE,
                    "%s: line %lld is longer than %.3g MB; is this a table? --max-columns "
                    "raises the limit",
                    in->name, (long long)in->lines + 1, (double)line_max(in) / 1e6);
}

/* A larger window, or what is unseen moved to the front of this one. */
static fab_status make_room(fab_stream *in)
{
    const size_t kept = in->end - in->begin, most = line_max(in);
    char *to = in->window;
    if (kept == in->room) {
        if (in->room >= most) return line_is_long(in);
        const size_t room = in->room > most / 2 ? most : 2 * in->room;
        void *p;
        FAB_TRY(fab_alloc_array(&p, (int64_t)(room + FAB_STREAM_PAD), 1, in->name));
        to = p;
        in->room = room;
    }
    move_window(in, to);
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
        if (in->recode)
            FAB_TRY(fab_recode_read(in->recode, read_plain, in, to, n, &got, &in->ended));
        else
            FAB_TRY(read_plain(in, to, n, &got, &in->ended));
        if (in->returns) replace_returns(to, got);
    }
    in->end += got;
    in->unasked += got;
    if (in->unasked >=
        FAB_STREAM_ASK) { /* blank lines and rows passed over come by without anybody else asking */
        in->unasked = 0;
        FAB_TRY(ask(in));
    }
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
        /* a window that was made larger to read ahead takes no longer lines */
        if ((stop ? (size_t)(stop - start) + 1 : have) > fab_stream_line_most(in))
            return line_is_long(in);
        if (stop || (in->ended && have > from)) {
            *line = (fab_span){start, stop ? (size_t)(stop - start) : have};
            return FAB_OK;
        }
        if (in->ended) return FAB_OK;
        if (have > scanned) scanned = have;
        FAB_TRY(fill(in));
    }
}

size_t fab_stream_line_most(const fab_stream *in)
{
    return line_max(in) > in->first_room ? line_max(in) : in->first_room;
}

static int is_ready(const fab_stream *in)
{
    return in->thread ? in->start >= 0 || in->file < 0 || fab_unpack_thread_ready(in->thread)
                      : has_bytes(in);
}

fab_status fab_stream_gather(fab_stream *in, size_t most, fab_span *seen)
{
    while (in->end - in->begin < most && !in->ended && is_ready(in)) {
        const size_t kept = in->end - in->begin;
        void *p;
        if (in->end == in->room && in->room < most) { /* once, for the blocks to come too */
            if (fab_alloc_array(&p, (int64_t)(most + FAB_STREAM_PAD), 1, in->name) != FAB_OK) break;
            move_window(in, p);
            in->room = most;
        }
        if (kept == in->room) break;
        const fab_status filled = fill(in);
        if (filled == FAB_STOPPED) return filled;
        if (filled != FAB_OK) break;
    }
    const size_t have = in->end - in->begin;
    *seen = (fab_span){in->window + in->begin, have < most ? have : most};
    return FAB_OK;
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
    in->taken += (int64_t)n;
}

fab_status fab_stream_skip(fab_stream *in, int64_t n)
{
    const int whole = in->file >= 0 && in->start >= 0 && !in->unpack && !in->recode;
    for (fab_span seen; n > 0; n -= (int64_t)seen.n) {
        const int64_t have = (int64_t)(in->end - in->begin);
        if (whole && have == 0 && in->first_at == in->first_n && n <= in->total - in->raw) {
            if (lseek(in->file, (off_t)n, SEEK_CUR) < 0)
                return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be read: %s", in->name, strerror(errno));
            in->raw += n;
            return FAB_OK;
        }
        const int64_t most = have > 0 ? have : (int64_t)in->room;
        FAB_TRY(fab_stream_look(in, (size_t)(n < most ? n : most), &seen));
        if (seen.n == 0) return FAB_OK;
        fab_stream_take(in, seen.n);
    }
    return FAB_OK;
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

void fab_stream_give_back(fab_stream *in, fab_span line)
{
    const size_t begin = (size_t)(line.p - in->window);
    in->taken -= (int64_t)(in->begin - begin);
    in->begin = begin;
    in->lines--;
}

void fab_stream_end_lines_by_returns(fab_stream *in)
{
    in->returns = 1;
    replace_returns(in->window + in->begin, in->end - in->begin);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Add bytes to those that were looked at first, up to `most`. */
static fab_status read_first(fab_stream *in, size_t most)
{
    int ended = 0;
    in->first_at = in->first_n;
    while (in->first_n < most && !ended) {
        size_t got;
        FAB_TRY(read_plain(in, in->first + in->first_n, most - in->first_n, &got, &ended));
        in->first_n += got;
        in->first_at = in->first_n;
    }
    in->first_at = 0;
    return FAB_OK;
}

static fab_status start(fab_stream *in, size_t room)
{
    void *p;
    if (room < 2) room = 2;
    FAB_TRY(fab_alloc_array(&p, (int64_t)(room + FAB_STREAM_PAD), 1, in->name));
    in->window = p;
    in->room = in->first_room = room;
    memset(in->window, 0, FAB_STREAM_PAD);
    FAB_TRY(read_first(in, FAB_UNPACK_MAGIC));
    const fab_packing *packed = fab_unpack_find(in->first, in->first_n);
    if (packed) {
        FAB_TRY(fab_unpack_open(&in->unpack, packed, in->name, in->first, in->first_n));
        in->first_n = 0;
    }
    fab_status s = read_first(in, FAB_STREAM_FIRST);
    if (s != FAB_OK && s != FAB_BAD_FILE) return s;
    in->first_at = 0; /* damaged data fail again, once what came before them is used */
    const fab_encoding e = fab_encoding_find(in->first, in->first_n, &in->mark);
    if (e != FAB_ENCODING_UTF8) FAB_TRY(fab_recode_open(&in->recode, e, in->name));
    in->encoding = e == FAB_ENCODING_UTF8 ? NULL : "UTF-16";
    in->first_at = in->mark;
    return FAB_OK;
}

static fab_status open_file(fab_stream *in, const char *path)
{
    struct stat st;
    in->owned = strcmp(path, "-") != 0;
    /* Not waiting for the other end of a named pipe here, where nobody could stop it. */
    in->file = in->owned ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : STDIN_FILENO;
    if (in->owned && in->file >= 0) (void)fcntl(in->file, F_SETFL, O_RDONLY);
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
    fab_unpack_thread_stop(in->thread);
    if (in->file >= 0 && in->owned) close(in->file);
    fab_unpack_close(in->unpack);
    fab_recode_close(in->recode);
    fab_release(in->window);
    *in = (fab_stream){.file = -1};
}

fab_status fab_stream_read_at(fab_stream *in, int64_t at, void *to, size_t n, size_t *got)
{
    *got = 0;
    if (in->unpack || (in->file >= 0 && in->start < 0))
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: is %s, which is read from front to back", in->name,
                        in->unpack ? "compressed" : "a pipe");
    if (in->file < 0) {
        const size_t left = at < in->total ? (size_t)(in->total - at) : 0;
        *got = n < left ? n : left;
        if (*got) memcpy(to, in->memory + at, *got);
        return FAB_OK;
    }
    while (*got < n) {
        const ssize_t r =
            pread(in->file, (char *)to + *got, n - *got, (off_t)(in->start + at + (int64_t)*got));
        if (r < 0 && errno == EINTR) continue;
        if (r < 0)
            return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be read: %s", in->name, strerror(errno));
        if (r == 0) break;
        *got += (size_t)r;
    }
    return FAB_OK;
}

fab_status fab_stream_rewind(fab_stream *in)
{
    if (in->start < 0)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: is a pipe, which can be read only once", in->name);
    fab_unpack_thread_stop(in->thread);
    in->thread = NULL;
    in->unpacked = 0;
    if (in->file >= 0 && lseek(in->file, (off_t)in->start, SEEK_SET) < 0)
        return FAB_FAIL(FAB_BAD_FILE, "%s: cannot be read again: %s", in->name, strerror(errno));
    if (in->unpack) FAB_TRY(fab_unpack_rewind(in->unpack));
    if (in->recode) fab_recode_rewind(in->recode);
    in->begin = in->end = 0;
    in->lines = in->taken = in->raw = 0;
    in->ended = 0;
    in->first_n = 0;
    FAB_TRY(read_first(in, in->mark));
    in->first_at = in->first_n; /* pass the byte order mark */
    return FAB_OK;
}

void fab_stream_position(const fab_stream *in, int64_t *done, int64_t *total)
{
    size_t waiting = in->first_n - in->first_at;
    *total = in->total;
    *done = in->thread ? fab_unpack_thread_used(in->thread) : 0;
    if (in->thread) return;
    if (in->unpack)
        waiting = fab_unpack_waiting(in->unpack);
    else if (in->recode)
        waiting += fab_recode_waiting(in->recode);
    else
        waiting += in->end - in->begin;
    *done = in->raw - (int64_t)waiting;
}
