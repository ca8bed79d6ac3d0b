/* unpack.c - compressed bytes to plain ones: gzip, xz, bzip2 and zstd behind one table.
 *
 * A kind is told by its first bytes, whatever the name of the file says.  Each has three functions: begin, step, end;
 * a step takes what it can of the input and gives what fits of the output.  Only this file knows the four libraries.
 *
 * SPDX-License-Identifier: MIT */
#define ZLIB_CONST
#include "data/source/unpack.h"
#include "base/memory.h"
#include <bzlib.h>
#include <lzma.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { ROOM = 1 << 16, GZIP_ONLY = 15 + 16 /* inflateInit2: a gzip header, a 32 KB window */ };
enum { XZ_MEMORY = 1 << 27 }; /* twice what `xz -9` asks for; zstd's own limit is the same */

typedef enum fab_step { STEP_ON = 0, STEP_END, STEP_DAMAGED, STEP_NO_MEMORY } fab_step;

struct fab_unpack {
    const fab_packing *kind;
    const char *name; /* speaks in messages */
    int begun;        /* the library holds memory for it */
    int inside;       /* compressed data have begun and not ended */
    int dry;          /* the input has ended */
    int damaged;      /* said once, it is said again */
    const char *why;  /* what a library says about damaged data; or NULL */
    union {
        z_stream gz;
        lzma_stream xz;
        bz_stream bz2;
        ZSTD_DStream *zstd;
    } with;
    const unsigned char *next; /* of in: `waiting` bytes are not used yet */
    size_t waiting;
    unsigned char in[ROOM];
};

struct fab_packing {
    const char *name;
    int (*is)(const char *first, size_t n);
    int (*begin)(fab_unpack *u); /* 0: no memory */
    /* Unpack into to[0 .. n-1], *made bytes of them. */
    fab_step (*step)(fab_unpack *u, char *to, size_t n, size_t *made);
    void (*end)(fab_unpack *u);
};

/* ---- gzip ---------------------------------------------------------------------------------------------- */

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

static int gz_is(const char *first, size_t n)
{
    return n >= 2 && memcmp(first, "\x1f\x8b", 2) == 0;
}

static int gz_begin(fab_unpack *u)
{
    u->with.gz = (z_stream){.zalloc = gz_alloc, .zfree = gz_release};
    return inflateInit2(&u->with.gz, GZIP_ONLY) == Z_OK;
}

static fab_step gz_step(fab_unpack *u, char *to, size_t n, size_t *made)
{
    z_stream *z = &u->with.gz;
    z->next_in = u->next;
    z->avail_in = (unsigned)u->waiting;
    z->next_out = (unsigned char *)to;
    z->avail_out = n < UINT32_MAX ? (unsigned)n : UINT32_MAX;
    const size_t room = z->avail_out;
    const int code = inflate(z, Z_NO_FLUSH);
    u->next = z->next_in;
    u->waiting = z->avail_in;
    *made = room - z->avail_out;
    u->why = z->msg;
    if (code == Z_STREAM_END) return STEP_END;
    if (code == Z_MEM_ERROR) return STEP_NO_MEMORY;
    return code == Z_OK || code == Z_BUF_ERROR ? STEP_ON : STEP_DAMAGED;
}

static void gz_end(fab_unpack *u)
{
    inflateEnd(&u->with.gz);
}

/* ---- xz ------------------------------------------------------------------------------------------------ */

static void *xz_alloc(void *unused, size_t count, size_t size)
{
    (void)unused;
    return size && count > SIZE_MAX / size ? NULL : fab_alloc(count * size);
}

static int xz_is(const char *first, size_t n)
{
    return n >= 6 && memcmp(first,
                            "\xFD"
                            "7zXZ\0",
                            6) == 0;
}

static int xz_begin(fab_unpack *u)
{
    static const lzma_allocator ours = {.alloc = xz_alloc, .free = gz_release};
    u->with.xz = (lzma_stream)LZMA_STREAM_INIT;
    u->with.xz.allocator = &ours;
    return lzma_stream_decoder(&u->with.xz, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK;
}

static fab_step xz_step(fab_unpack *u, char *to, size_t n, size_t *made)
{
    lzma_stream *z = &u->with.xz;
    z->next_in = u->next;
    z->avail_in = u->waiting;
    z->next_out = (unsigned char *)to;
    z->avail_out = n;
    const lzma_ret code = lzma_code(z, u->dry ? LZMA_FINISH : LZMA_RUN);
    u->next = z->next_in;
    u->waiting = z->avail_in;
    *made = n - z->avail_out;
    u->why = code == LZMA_MEMLIMIT_ERROR ? "they ask for more than 128 MB of memory" : NULL;
    if (code == LZMA_STREAM_END) return STEP_END;
    if (code == LZMA_MEM_ERROR) return STEP_NO_MEMORY;
    return code == LZMA_OK || code == LZMA_BUF_ERROR ? STEP_ON : STEP_DAMAGED;
}

static void xz_end(fab_unpack *u)
{
    lzma_end(&u->with.xz);
}

/* ---- bzip2 --------------------------------------------------------------------------------------------- */

static void *bz2_alloc(void *unused, int count, int size)
{
    (void)unused;
    return fab_alloc((size_t)count * (size_t)size);
}

/* "BZh", the size of its blocks, and the first block or, in an empty file, the end. */
static int bz2_is(const char *first, size_t n)
{
    return n >= 10 && memcmp(first, "BZh", 3) == 0 && first[3] >= '1' && first[3] <= '9' &&
           (memcmp(first + 4, "1AY&SY", 6) == 0 ||
            memcmp(first + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}

static int bz2_begin(fab_unpack *u)
{
    u->with.bz2 = (bz_stream){.bzalloc = bz2_alloc, .bzfree = gz_release};
    return BZ2_bzDecompressInit(&u->with.bz2, 0, 0) == BZ_OK;
}

static fab_step bz2_step(fab_unpack *u, char *to, size_t n, size_t *made)
{
    bz_stream *z = &u->with.bz2;
    z->next_in = (char *)(uintptr_t)u->next; /* which it does not write to */
    z->avail_in = (unsigned)u->waiting;
    z->next_out = to;
    z->avail_out = n < UINT32_MAX ? (unsigned)n : UINT32_MAX;
    const size_t room = z->avail_out;
    const int code = BZ2_bzDecompress(z);
    u->next += u->waiting - z->avail_in;
    u->waiting = z->avail_in;
    *made = room - z->avail_out;
    if (code == BZ_STREAM_END) return STEP_END;
    if (code == BZ_MEM_ERROR) return STEP_NO_MEMORY;
    return code == BZ_OK ? STEP_ON : STEP_DAMAGED;
}

static void bz2_end(fab_unpack *u)
{
    BZ2_bzDecompressEnd(&u->with.bz2);
}

/* ---- zstd ---------------------------------------------------------------------------------------------- */

static int zstd_is(const char *first, size_t n)
{
    return n >= 4 && memcmp(first, "\x28\xB5\x2F\xFD", 4) == 0;
}

static int zstd_begin(fab_unpack *u)
{
    u->with.zstd = ZSTD_createDStream();
    return u->with.zstd != NULL;
}

static fab_step zstd_step(fab_unpack *u, char *to, size_t n, size_t *made)
{
    ZSTD_inBuffer in = {u->next, u->waiting, 0};
    ZSTD_outBuffer out = {to, n, 0};
    const size_t code = ZSTD_decompressStream(u->with.zstd, &out, &in);
    u->next += in.pos;
    u->waiting -= in.pos;
    *made = out.pos;
    u->why = ZSTD_isError(code) ? ZSTD_getErrorName(code) : NULL;
    if (u->why) return STEP_DAMAGED;
    return code == 0 ? STEP_END : STEP_ON;
}

static void zstd_end(fab_unpack *u)
{
    ZSTD_freeDStream(u->with.zstd);
}

/* ---- the table ----------------------------------------------------------------------------------------- */

static const fab_packing kinds[] = {
    {"gzip", gz_is, gz_begin, gz_step, gz_end},
    {"xz", xz_is, xz_begin, xz_step, xz_end},
    {"bzip2", bz2_is, bz2_begin, bz2_step, bz2_end},
    {"zstd", zstd_is, zstd_begin, zstd_step, zstd_end},
};

const fab_packing *fab_unpack_find(const char *first, size_t n)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].is(first, n)) return &kinds[i];
    return NULL;
}

/* ---- any kind ------------------------------------------------------------------------------------------ */

static fab_status no_memory(const fab_unpack *u)
{
    return FAB_FAIL(FAB_NO_MEMORY, "%s: cannot allocate the memory to unpack it", u->name);
}

/* Forget what the library knows, and begin anew. */
static fab_status begin(fab_unpack *u)
{
    if (u->begun) u->kind->end(u);
    u->begun = 0;
    u->inside = 0;
    if (!u->kind->begin(u)) return no_memory(u);
    u->begun = 1;
    return FAB_OK;
}

fab_status fab_unpack_open(fab_unpack **u, const fab_packing *kind, const char *name,
                           const char *first, size_t n)
{
    void *p;
    *u = NULL;
    FAB_TRY(fab_alloc_array(&p, 1, sizeof **u, name));
    fab_unpack *new = p;
    new->kind = kind;
    new->name = name;
    new->begun = new->dry = new->damaged = 0;
    new->why = NULL;
    memcpy(new->in, first, n);
    new->next = new->in;
    new->waiting = n;
    const fab_status s = begin(new);
    if (s == FAB_OK)
        *u = new;
    else
        fab_release(new);
    return s;
}

void fab_unpack_close(fab_unpack *u)
{
    if (!u) return;
    if (u->begun) u->kind->end(u);
    fab_release(u);
}

fab_status fab_unpack_read(fab_unpack *u, fab_unpack_input *read, void *ctx, void *to, size_t n,
                           size_t *got, int *ended)
{
    *got = 0;
    *ended = 0;
    fab_step step = STEP_ON;
    if (!u->damaged) {
        if (u->waiting == 0 && !u->dry) {
            FAB_TRY(read(ctx, u->in, ROOM, &u->waiting));
            u->next = u->in;
            u->dry = u->waiting == 0;
        }
        *ended = u->dry && !u->inside;
        if (*ended) return FAB_OK;
        if (!u->inside) FAB_TRY(begin(u)); /* the next of several in a row */
        u->inside = 1;
        step = u->kind->step(u, to, n, got);
        if (step == STEP_END) u->inside = 0;
        u->damaged = step == STEP_DAMAGED;
        if (*got > 0 || step == STEP_END) return FAB_OK;
    }
    if (u->damaged)
        return FAB_FAIL(FAB_BAD_FILE, "%s: its %s data are damaged%s%s", u->name, u->kind->name,
                        u->why ? ": " : "", u->why ? u->why : "");
    if (step == STEP_NO_MEMORY) return no_memory(u);
    if (u->dry)
        return FAB_FAIL(FAB_BAD_FILE, "%s: is cut short: its %s data do not end", u->name,
                        u->kind->name);
    return FAB_OK;
}

fab_status fab_unpack_rewind(fab_unpack *u)
{
    u->waiting = 0;
    u->dry = u->damaged = 0;
    return begin(u);
}

size_t fab_unpack_waiting(const fab_unpack *u)
{
    return u->waiting;
}
