/* number.h - decimal text to the nearest double, fast and in no locale.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_NUMBER_H
#define FAB_DATA_NUMBER_H

#include <stddef.h>

/* Bytes that must be readable behind the text given to fab_number. */
enum { FAB_NUMBER_PAD = 8 };

/* Read a number at p: [+-] digits [. digits] [e [+-] digits], with at least one digit before the e.
 * A byte that can stand in no number must follow somewhere, and FAB_NUMBER_PAD bytes behind it must be
 * readable.  Gives the first byte after the number, and in *x the nearest double, ties to even, as
 * strtod does in the C locale.  NULL when there is no number (*x = 0) or it is too large (*x = +-Inf). */
const char *fab_number(const char *p, double *x);
/* The same with a decimal comma. */
const char *fab_number_comma(const char *p, double *x);
typedef const char *fab_number_fn(const char *p, double *x);

/* Is the text of n bytes a word for NaN or Inf?  "NaN", "Inf", "-Inf", or NULL. */
const char *fab_number_word(const char *p, size_t n);

#endif
