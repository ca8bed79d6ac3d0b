/* spellings.c - the cells of a column of words as they are spelled in a file, each with its number.
 *
 * Open addressing with linear probing, at most half full, as in words.c; the hash takes eight bytes at a time.
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/spellings.h"
#include "base/memory.h"
#include <string.h>

__extension__ typedef unsigned __int128 u128;

enum {
    FIRST_ROOM = 256,
    FIRST_TEXT = 1 << 12,
    GROWTH = 8,
    MOST_ROOM = 1 << 18, /* spellings of a column: more than twice FAB_WORDS_MAX */
    MOST_TEXT = 1 << 24
};

/* Eight bytes, the first in the low bits; compilers make one load of it. */
static uint64_t load(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    const u128 product = (u128)(h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint64_t)product ^ (uint64_t)(product >> 64); /* low bits that hang on all of both */
}

/* Behind the window stand more than eight bytes that may be read. */
static uint64_t hash(const fab_cut *f)
{
    const char *p = f->p;
    size_t n = f->n;
    uint64_t h = mix(f->n, (uint64_t)f->quoted);
    for (; n >= 8; n -= 8, p += 8) h = mix(h, load(p));
    if (n) h = mix(h, load(p) << (64 - 8 * n));
    return h;
}

int64_t fab_spelling_find(fab_spellings *t, const fab_cut *f)
{
    const uint64_t h = hash(f), mask = (uint64_t)(2 * t->room) - 1;
    uint64_t i = h & mask;
    if (t->room == 0) {
        t->full = 1;
        return FAB_SPELLING_FULL;
    }
    for (; t->slot[i]; i = (i + 1) & mask) {
        const fab_spelling *s = &t->spelling[t->slot[i] - 1];
        if (s->hash == h && s->n == f->n && s->quoted == f->quoted &&
            memcmp(t->text + s->at, f->p, f->n) == 0)
            return t->slot[i] - 1;
    }
    if (t->count == t->room || t->text_room - t->used <= f->n) {
        t->full = 1;
        return FAB_SPELLING_FULL;
    }
    memcpy(t->text + t->used, f->p, f->n);
    t->text[t->used + f->n] = '\0';
    t->spelling[t->count] = (fab_spelling){h, t->used, f->n, f->quoted, FAB_SPELLING_UNREAD};
    t->used += f->n + 1;
    t->slot[i] = (int32_t)++t->count;
    return t->count - 1;
}

void fab_spellings_free(fab_spellings *t)
{
    fab_release(t->spelling);
    fab_release(t->slot);
    fab_release(t->text);
    *t = (fab_spellings){0};
}

/* Empty tables of that size in the place of those that are there. */
static fab_status make(fab_spellings *t, int64_t room, size_t text_room, const char *name)
{
    fab_spellings new = {.room = room, .text_room = text_room};
    fab_status s = fab_alloc_array((void **)&new.spelling, room, sizeof *new.spelling, name);
    if (s == FAB_OK) s = fab_alloc_array((void **)&new.slot, 2 * room, sizeof *new.slot, name);
    if (s == FAB_OK)
        s = fab_alloc_array((void **)&new.text, (int64_t)text_room + FAB_STREAM_PAD, 1, name);
    if (s != FAB_OK) {
        fab_spellings_free(&new);
        return s;
    }
    memset(new.slot, 0, (size_t)(2 * room) * sizeof *new.slot);
    memset(new.text, 0, text_room + FAB_STREAM_PAD);
    fab_spellings_free(t);
    *t = new;
    return FAB_OK;
}

fab_status fab_spellings_grow(fab_spellings *t, const char *name)
{
    const int64_t room = GROWTH * t->room;
    const size_t text = GROWTH * t->text_room;
    if (t->room == 0) return make(t, FIRST_ROOM, FIRST_TEXT, name);
    return make(t, room < MOST_ROOM ? room : MOST_ROOM, text < MOST_TEXT ? text : MOST_TEXT, name);
}
