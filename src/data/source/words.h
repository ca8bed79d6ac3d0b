/* words.h - the different words of one column, each with its code: 0, 1, .. in the order of meeting them.
 *
 *     FAB_TRY(fab_dictionary_room(w, n + 1, &to));      a word is written where it may stay: no copy is made
 *     memcpy(to, word, n), to[n] = '\0';
 *     FAB_TRY(fab_dictionary_code(w, n, &code));        FAB_WORDS_MAX: one too many
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_WORDS_H
#define FAB_DATA_WORDS_H

#include "base/fail.h"
#include <stddef.h>
#include <stdint.h>

/* More different words than this are an identifier, not a category. */
enum { FAB_WORDS_MAX = 100000 };

typedef struct fab_dictionary {
    int64_t count;
    char **word; /* count, each ended by a zero byte; they never move */

    const char *name;       /* speaks in messages */
    size_t bytes;           /* of the words, their ends included: at most FAB_WORDS_BYTES_MAX */
    struct fab_page *pages; /* the text, the page in use first */
    int64_t slots;          /* a power of two, at least twice the room for words */
    int32_t *slot;          /* slots: 1 + code, or 0 */
    int64_t word_room;
} fab_dictionary;

/* An empty dictionary.  Borrows name until it is freed.  Gives *w. */
fab_status fab_dictionary_create(fab_dictionary **w, const char *name);
void fab_dictionary_free(fab_dictionary *w); /* takes NULL */

/* Room for the next word, of n bytes with its end.  Lends until the next call with this w. */
fab_status fab_dictionary_room(fab_dictionary *w, size_t n, char **to);
/* The code of the word of n bytes that was written into the room; a new one stays there.  FAB_WORDS_MAX
 * when the word is new and there are that many already. */
fab_status fab_dictionary_code(fab_dictionary *w, size_t n, int64_t *code);

#endif
