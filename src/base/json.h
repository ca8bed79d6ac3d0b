/* json.h - JSON texts read with jansson, and the memory that jansson takes.
 *
 * Where memory runs out, jansson may lose a character of a number and go on, or abort.  Its allocator is therefore ours: it counts
 * every failure, and helps out with a little memory of its own, so that jansson comes to its end.  Before anything that was parsed or
 * made is believed, the count is asked:
 *
 *     const int64_t before = fab_json_failures();
 *     json_t *o = json_pack(..);                         // looks fine, and may lack something
 *     if (fab_json_failures() != before) ..              // FAB_NO_MEMORY
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_JSON_H
#define FAB_BASE_JSON_H

#include "base/fail.h"
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* The most of a text: values in it, and characters of a number.  The scaling of a model has three values a column, so these are
 * two million columns; each value takes some 60 bytes of memory. */
enum { FAB_JSON_VALUES_MAX = 1 << 23, FAB_JSON_NUMBER_MAX = 1000 };

/* Allocations that failed inside jansson in this thread.  The first call sets jansson's allocator, on top of the one it has. */
int64_t fab_json_failures(void);

/* Parse n bytes.  FAB_BAD_FILE or FAB_NO_MEMORY with a sentence that lacks its subject: "is not JSON: ..".  Gives *o. */
fab_status fab_json_read(json_t **o, const char *text, size_t n, int64_t values_max);
/* Parse a string; NULL is refused too.  The sentence begins with "WHAT: this ". */
fab_status fab_json_read_string(json_t **o, const char *what, const char *json);

/* Is `json` an object whose string at `key` is `value`?  NULL: 0.  Takes no memory, and looks no further than it must: the
 * text may turn out to be no JSON later. */
int fab_json_is(const char *json, const char *key, const char *value);

/* The number at `key` of an object, or the `most` first ones of the list there, into x.  How many the object has: 0 when
 * there is no such key, -1 when it is something else than numbers or the text is no JSON or memory is short. */
int64_t fab_json_numbers(const char *json, const char *key, double *x, int64_t most);
/* The finite number under `key` of an object; NaN: there is none, or no object (json may be NULL).  Fails for want of memory
 * alone. */
fab_status fab_json_number_or_nan(const char *json, const char *key, double *x);

#endif
