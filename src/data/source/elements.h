/* elements.h - rows of a fixed number of binary elements, as npy and idx hold them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_ELEMENTS_H
#define FAB_DATA_ELEMENTS_H

#include "data/source/source.h"

typedef struct fab_element {
    size_t size; /* bytes in the file */
    void (*convert)(const unsigned char *p, int64_t n, double *out);
} fab_element;

/* Little-endian, as npy has them, and big-endian, as idx has them. */
extern const fab_element fab_element_f32, fab_element_f64;
extern const fab_element fab_element_u8, fab_element_i8, fab_element_i16_big, fab_element_i32_big,
    fab_element_f32_big, fab_element_f64_big;

/* The head said rows x columns elements and ended after `before` bytes, which are taken. */
fab_status fab_elements_open(fab_source *s, const fab_element *e, int64_t rows, int64_t columns,
                             size_t before);
fab_status fab_elements_next(fab_source *s, double *out, int *got);

/* Not NaN where none may be, nor infinite: row s->row. */
fab_status fab_elements_check(fab_source *s, const double *out);

#endif
