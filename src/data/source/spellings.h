/* spellings.h - the cells of a column of words as they are spelled in a file, numbered by a thread that must not allocate.
 *
 *     i = fab_spelling_find(t, &cell)           its number, known or new; FAB_SPELLING_FULL: there is no room
 *     t->spelling[i].code                       what the one who reads makes of it, once
 *     FAB_TRY(fab_spellings_grow(t, name))      between two blocks, where t->full says so
 *
 * What a cell means (a word, a missing value, nothing that may be) hangs on its bytes alone and is found once for each spelling.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_SPELLINGS_H
#define FAB_DATA_SPELLINGS_H

#include "data/source/lines.h"

enum { FAB_SPELLING_FULL = -1, FAB_SPELLING_UNREAD = -1 };

typedef struct fab_spelling {
    uint64_t hash;
    size_t at, n; /* of the text */
    int quoted;
    double code; /* NaN: missing; FAB_SPELLING_UNREAD: nobody has asked yet */
} fab_spelling;

typedef struct fab_spellings {
    fab_spelling *spelling; /* room, `count` of them */
    int32_t *slot;          /* 2 room: 1 + number, or 0 */
    char *text;             /* text_room, and FAB_STREAM_PAD zeros; each is ended by a zero */
    int64_t count, room;    /* room: a power of two */
    size_t used, text_room;
    int full; /* 1: something was not numbered */
} fab_spellings;

/* Room for more; a table that would take too much is emptied instead.  Begin with zeros. */
fab_status fab_spellings_grow(fab_spellings *t, const char *name);
void fab_spellings_free(fab_spellings *t); /* what it holds */

/* The cell stands in the window of a stream, with its padding. */
int64_t fab_spelling_find(fab_spellings *t, const fab_cut *f);

#endif
