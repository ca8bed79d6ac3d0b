/* recode.h - text in other encodings to UTF-8: UTF-16 as a stream, single words of Windows-1252.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_RECODE_H
#define FAB_DATA_RECODE_H

#include "base/fail.h"
#include <stddef.h>

typedef enum fab_encoding {
    FAB_ENCODING_UTF8 = 0, /* or bytes that are no text, or words of Windows-1252 */
    FAB_ENCODING_UTF16_LITTLE,
    FAB_ENCODING_UTF16_BIG
} fab_encoding;

/* The encoding of a file that begins with these n bytes: by its byte order mark, of *mark bytes; else UTF-16 where
 * one byte of every pair, the same of all pairs, is never 0 and the other is 0 in half of them or more. */
fab_encoding fab_encoding_find(const char *first, size_t n, size_t *mark);

typedef struct fab_recoder fab_recoder;
/* At most n bytes; *got = 0 without *ended: none yet. */
typedef fab_status fab_recode_input(void *ctx, void *to, size_t n, size_t *got, int *ended);

/* UTF-16 to UTF-8.  Half a pair of surrogates becomes U+FFFD.  Borrows name.  Gives *r. */
fab_status fab_recode_open(fab_recoder **r, fab_encoding from, const char *name);
void fab_recode_close(fab_recoder *r); /* takes NULL */
fab_status fab_recode_read(fab_recoder *r, fab_recode_input *read, void *ctx, char *to, size_t n,
                           size_t *got, int *ended);
void fab_recode_rewind(fab_recoder *r);
/* Bytes that were read and not used yet. */
size_t fab_recode_waiting(const fab_recoder *r);

/* Is the text of n bytes UTF-8? */
int fab_is_utf8(const char *p, size_t n);
/* The bytes that the text of n bytes of Windows-1252 takes in UTF-8; `to` NULL only counts. */
size_t fab_recode_1252(char *to, const char *p, size_t n);

#endif
