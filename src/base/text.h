/* text.h - strings that grow, and numbers that read back to the same bits.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_TEXT_H
#define FAB_BASE_TEXT_H

#include "base/fail.h"
#include <stddef.h>
#include <stdio.h>

/* A growing string; start from zeros.  After a failed allocation additions do nothing. */
typedef struct fab_text {
    char *p;
    size_t used, room;
    int failed;
} fab_text;

void fab_text_add(fab_text *t, const char *format, ...) FAB_PRINTF(2, 3);
/* Add `s` as a quoted JSON string. */
void fab_text_add_json(fab_text *t, const char *s);
/* Is it UTF-8: no cut or overlong characters, no surrogates, none above U+10FFFF? */
int fab_text_is_utf8(const char *s);
/* Gives the string (fab_text_free), or FAB_NO_MEMORY when an addition failed. */
fab_status fab_text_give(fab_text *t, char **text);

/* The shortest of %.15g .. %.17g that reads back to x, as snprintf would. */
int fab_print_double(char *buf, size_t size, double x);

#endif
