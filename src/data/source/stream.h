/* stream.h - a file, standard input or bytes in memory as one stream of UTF-8 seen through a window.
 *
 *     FAB_TRY(fab_stream_open(&in, path, FAB_STREAM_ROOM));
 *     while (fab_stream_line(&in, &line) == FAB_OK && line.p) ...
 *     fab_stream_close(&in);
 *
 * Nothing is copied: lines lie in the window, which grows to the longest line and no further.  Behind
 * what is seen stand FAB_STREAM_PAD zero bytes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_STREAM_H
#define FAB_DATA_STREAM_H

#include "base/fail.h"
#include <stddef.h>
#include <stdint.h>

/* The window to begin with, the longest line where nobody says, the padding, the bytes after which whoever watches is asked,
 * and those after which a thread unpacks. */
enum {
    FAB_STREAM_ROOM = 1 << 18,
    FAB_STREAM_MAX = 1 << 30,
    FAB_STREAM_PAD = 64,
    FAB_STREAM_ASK = 1 << 24,
    FAB_STREAM_THREAD = 1 << 22
};
enum { FAB_STREAM_FIRST = 64 }; /* plain bytes that say how they are encoded */

typedef struct fab_span {
    const char *p; /* NULL: there is none */
    size_t n;
} fab_span;

typedef struct fab_stream {
    const char *name;        /* speaks in messages */
    char *window;            /* unseen bytes are window[begin .. end) */
    size_t room, begin, end; /* room: without the padding */
    size_t line_max; /* the most that the window may grow to: the longest line; 0: FAB_STREAM_MAX */
    size_t first_room; /* the window to begin with: lines may be as long in any case */
    int64_t lines;     /* lines taken so far */
    int64_t taken;     /* bytes taken so far, as UTF-8 */
    size_t unasked;  /* bytes since whoever watches (the global hook) was asked whether to go on */
    int ended;       /* nothing comes after window[end) */
    int file, owned; /* file -1: the memory; owned: close it */
    const char *memory;
    int64_t start, total; /* where the file began, its length; start -1: a pipe; total 0: unknown */
    int64_t raw;          /* bytes read from file or memory, still compressed if they were */
    struct fab_unpack *unpack; /* NULL: not compressed */
    int64_t threads;           /* that may work on this stream; 0: all cores */
    /* plain bytes after which it is unpacked by a thread of its own; 0: FAB_STREAM_THREAD */
    size_t thread_after;
    size_t unpacked;                  /* plain bytes so far */
    struct fab_unpack_thread *thread; /* or NULL */
    struct fab_recoder *recode;       /* NULL: UTF-8, or bytes that are no text */
    const char *encoding;             /* what was recoded; NULL: nothing */
    size_t mark;                      /* bytes of a byte order mark, which are passed */
    int returns;                      /* lines end in \r alone */
    char first[FAB_STREAM_FIRST];     /* plain bytes looked at before the window had any */
    size_t first_at, first_n;
} fab_stream;

/* Open a file ("-": standard input), or `size` bytes in memory, with a window of `room` bytes to begin
 * with.  Borrows path, name and bytes until close.  On failure nothing is held. */
fab_status fab_stream_open(fab_stream *in, const char *path, size_t room);
fab_status fab_stream_open_memory(fab_stream *in, const char *name, const void *bytes, size_t size,
                                  size_t room);
void fab_stream_close(fab_stream *in);

/* Look at the next n bytes, or at fewer when the stream ends.  Every span lends until the next call that
 * looks. */
fab_status fab_stream_look(fab_stream *in, size_t n, fab_span *seen);
/* Look at the bytes up to the first line end that stands at least `from` bytes from here (0: the next
 * line), without that line end.  .p is NULL when no more than `from` bytes are left. */
fab_status fab_stream_look_line(fab_stream *in, size_t from, fab_span *line);
/* Look at the first `lines` lines from here, at most `max` bytes; no more is read than that takes. */
fab_status fab_stream_head(fab_stream *in, int64_t lines, size_t max, fab_span *head);
/* Look at the bytes that come without waiting, `most` of them at most; a failure is left to who needs what is behind them, but
 * that somebody said stop. */
fab_status fab_stream_gather(fab_stream *in, size_t most, fab_span *seen);
/* The bytes that a line may take with its end. */
size_t fab_stream_line_most(const fab_stream *in);
/* Take n bytes that were looked at. */
void fab_stream_take(fab_stream *in, size_t n);
/* Pass over n bytes, unread where the file lets one go on behind them; fewer where it ends. */
fab_status fab_stream_skip(fab_stream *in, int64_t n);
/* Look at the next line and take it with its end: \n or \r\n, which the span leaves out. */
fab_status fab_stream_line(fab_stream *in, fab_span *line);

/* Put the line back that was taken last; nothing was looked at since. */
void fab_stream_give_back(fab_stream *in, fab_span line);
/* From here on \r is a line end. */
void fab_stream_end_lines_by_returns(fab_stream *in);

/* n bytes from byte `at` of the file on, wherever the stream is: of a file that is not compressed, or memory.  *got < n where the
 * file ends; FAB_UNSUPPORTED for others. */
fab_status fab_stream_read_at(fab_stream *in, int64_t at, void *to, size_t n, size_t *got);

/* Go back to the first byte.  FAB_UNSUPPORTED for a pipe. */
fab_status fab_stream_rewind(fab_stream *in);
/* Bytes of the file used so far, compressed if it is, and in all (0: unknown). */
void fab_stream_position(const fab_stream *in, int64_t *done, int64_t *total);

#endif
