/* words.c - the different words of one column, each with its code: 0, 1, .. in the order of meeting them.
 *
 *     pages:  | red\0green\0blue\0 ... room for the next |  ->  older pages, full
 *     word:   | 0 | 1 | 2 |        where the word of a code stands
 *     slot:   | . | 2 | . | . | 1 | 3 | . | . |    1 + code at the hash of its word, or at the next free slot
 *
 * Open addressing with linear probing, at most half full.  Pages are never moved, so that words can be
 * lent; the two tables grow by factors of two.
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/words.h"
#include "base/memory.h"
#include "fabayes/data.h"
#include <string.h>

enum { FIRST_PAGE = 1 << 10, LARGEST_PAGE = 1 << 20, FIRST_WORDS = 16 };

typedef struct fab_page {
    struct fab_page *next;
    size_t used, room;
    char text[];
} fab_page;

/* ---- life ------------------------------------------------------------------------------------ */

fab_status fab_dictionary_create(fab_dictionary **w, const char *name)
{
    void *p;
    *w = NULL;
    FAB_TRY(fab_alloc_array(&p, 1, sizeof **w, name));
    *w = p;
    **w = (fab_dictionary){.name = name};
    return FAB_OK;
}

void fab_dictionary_free(fab_dictionary *w)
{
    if (!w) return;
    for (fab_page *page = w->pages; page;) {
        fab_page *next = page->next;
        fab_release(page);
        page = next;
    }
    fab_release(w->word);
    fab_release(w->slot);
    fab_release(w);
}

/* ---- room for text --------------------------------------------------------------------------- */

static fab_status add_page(fab_dictionary *w, size_t least)
{
    void *p;
    size_t room = w->pages ? 2 * w->pages->room : FIRST_PAGE;
    if (room > LARGEST_PAGE) room = LARGEST_PAGE;
    if (room < least) room = least;
    FAB_TRY(fab_alloc_array(&p, (int64_t)(sizeof(fab_page) + room), 1, w->name));
    fab_page *page = p;
    page->next = w->pages;
    page->used = 0;
    page->room = room;
    w->pages = page;
    return FAB_OK;
}

fab_status fab_dictionary_room(fab_dictionary *w, size_t n, char **to)
{
    if (w->bytes + n > FAB_WORDS_BYTES_MAX)
        return FAB_FAIL(
            FAB_BAD_DATA,
            "%s: the different words of a column take more than %d MB: they are no categories",
            w->name, FAB_WORDS_BYTES_MAX / 1000000);
    if (!w->pages || w->pages->room - w->pages->used < n) FAB_TRY(add_page(w, n));
    *to = w->pages->text + w->pages->used;
    return FAB_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* FNV-1a, its high bits folded into the low ones that choose a slot. */
static uint64_t hash(const char *p, size_t n)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * UINT64_C(0x100000001B3);
    return h ^ h >> 32;
}

/* The slot of the word, or the free one where it belongs. */
static int64_t find(const fab_dictionary *w, const char *p, size_t n)
{
    const uint64_t mask = (uint64_t)w->slots - 1;
    for (uint64_t i = hash(p, n) & mask;; i = (i + 1) & mask)
        if (w->slot[i] == 0 || strcmp(w->word[w->slot[i] - 1], p) == 0) return (int64_t)i;
}

static fab_status grow_words(fab_dictionary *w, int64_t room)
{
    void *p;
    FAB_TRY(fab_alloc_array(&p, room, sizeof *w->word, w->name));
    if (w->count) memcpy(p, w->word, (size_t)w->count * sizeof *w->word);
    fab_release(w->word);
    w->word = p;
    return FAB_OK;
}

static fab_status grow_slots(fab_dictionary *w, int64_t slots)
{
    void *p;
    FAB_TRY(fab_alloc_array(&p, slots, sizeof *w->slot, w->name));
    fab_release(w->slot);
    w->slot = p;
    w->slots = slots;
    memset(p, 0, (size_t)slots * sizeof *w->slot);
    for (int64_t code = 0; code < w->count; code++)
        w->slot[find(w, w->word[code], strlen(w->word[code]))] = (int32_t)(code + 1);
    return FAB_OK;
}

/* Room for one more word; the slots are grown first, so that a failure leaves both tables whole. */
static fab_status grow(fab_dictionary *w)
{
    if (w->count < w->word_room) return FAB_OK;
    const int64_t room = w->word_room ? 2 * w->word_room : FIRST_WORDS;
    FAB_TRY(grow_slots(w, 2 * room));
    FAB_TRY(grow_words(w, room));
    w->word_room = room;
    return FAB_OK;
}

fab_status fab_dictionary_code(fab_dictionary *w, size_t n, int64_t *code)
{
    char *p = w->pages->text + w->pages->used;
    FAB_TRY(grow(w));
    const int64_t i = find(w, p, n);
    *code = w->slot[i] ? w->slot[i] - 1 : w->count;
    if (*code < w->count || w->count == FAB_WORDS_MAX) return FAB_OK;
    w->word[w->count++] = p;
    w->slot[i] = (int32_t)w->count;
    w->pages->used += n + 1;
    w->bytes += n + 1;
    return FAB_OK;
}
