/* rows.h - vectors that come in, dense or sparse: the check at the door, and ways to read them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_ROWS_H
#define FAB_BASE_ROWS_H

#include "base/hooks.h"

/* Usable pointer, type and stride for vectors of length D, and every number finite?  Of sparse ones also:
 * coordinates rising and below D?  The sentence starts with `who` and names row and column. */
fab_status fab_rows_check(const char *who, const fab_rows *x, int64_t D);
/* The same, asking w between pieces of rows.  all: D, or its sum over the processes that hold parts of the vectors, so
 * that they ask together. */
fab_status fab_rows_check_watched(const char *who, const fab_rows *x, int64_t D, int64_t all,
                                  const fab_watch *w);
/* The same, unwatched, and dense? */
fab_status fab_rows_check_dense(const char *who, const fab_rows *x, int64_t D);

/* Dense, and every number finite or NaN, a value that is missing? */
fab_status fab_rows_check_missing(const char *who, const fab_rows *x, int64_t D);
/* Has one of the dense rows a NaN? */
int fab_rows_missing(const fab_rows *x, int64_t D);

/* Do the strides hold n vectors of length D, none inside another? */
int fab_rows_hold(const fab_rows *x, int64_t D);

/* Elements between two numbers of a dense vector. */
static inline int64_t fab_rows_stride(const fab_rows *x)
{
    return x->stride > 1 ? x->stride : 1;
}

/* Of a sparse vector j: where the first value at coordinate i or behind it stands, start[j + 1] when there is none. */
int64_t fab_rows_seek(const fab_rows *x, int64_t j, int64_t i);

/* Element i of vector j; of a sparse one after a search. */
double fab_rows_at(const fab_rows *x, int64_t j, int64_t i);

/* Vectors first .. first + n - 1 of x. */
fab_rows fab_rows_part(const fab_rows *x, int64_t first, int64_t n);

/* Copies of the n vectors of x whose weight is not 0, dense or sparse and of the type that they are.  Gives *own, which
 * they lie in: fab_release. */
fab_status fab_rows_present(const fab_rows *x, const double *weight, int64_t n, int64_t D,
                            fab_rows *present, void **own);

/* The D elements of vector j, as doubles or in the type that they have. */
void fab_rows_get(const fab_rows *x, int64_t j, int64_t D, double *out);
void fab_rows_copy(const fab_rows *x, int64_t j, int64_t D, void *out);

/* The elements of vector j that are stored, D of a dense one: how many, and one of them. */
int64_t fab_rows_stored(const fab_rows *x, int64_t j, int64_t D);
double fab_rows_value(const fab_rows *x, int64_t j, int64_t k);
int64_t fab_rows_place(const fab_rows *x, int64_t j, int64_t k); /* its coordinate */

/* Of a sparse vector j, with V of k columns, row-major: out (k) = V' x_j, and V += a x_j u'. */
void fab_rows_dot(const fab_rows *x, int64_t j, int64_t k, const double *V, double *out);
void fab_rows_add(const fab_rows *x, int64_t j, int64_t k, double a, const double *u, double *V);

#endif
