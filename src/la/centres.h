/* centres.h - which of K centres is nearest to each of n rows, and what the rows of each centre sum to.
 *
 *     fab_centres c;
 *     FAB_TRY(fab_centres_init(&c, D, K, FAB_F32, NULL, threads, "kmeans"));
 *     fab_centres_set(&c, mu);                               // K x D
 *     fab_centres_assign(&c, &assignment);                   // labels, sums, counts
 *     fab_centres_free(&c);
 *
 * The answer is exact: the centre whose |x - c|^2, from differences in double, is least, of equal ones the first.  It is looked
 * for by products, block of rows by block, with a bound on their rounding; centres that the bound cannot tell apart from the
 * best are compared by differences.  There is no n x K array; the bits are the same for any number of threads, the labels for
 * any instruction set and precision of the products too.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_CENTRES_H
#define FAB_LA_CENTRES_H

#include "base/rows.h"
#include "la/nn.h"

typedef struct fab_centres {
    int64_t D, K;
    int threads;
    const fab_nn *nn;    /* of the products */
    const double *shift; /* D, or NULL: borrowed; products are of rows and centres less it */
    const double *mu;    /* K x D, row-major: borrowed */
    double largest;      /* of |mu_k - shift| */
    double rounding;     /* of a score, relative to (|x - shift| + largest)^2 */
    void *B, *bias;      /* padded(K) x D, padded(K), in the precision of the products */
    double *zeros;       /* D */
    char *work;          /* of all threads, */
    size_t each;         /* bytes of one */
    int64_t block;       /* rows at a time */
    void *memory;
} fab_centres;

/* Room for up to K centres.  The products are in `type`, whatever the rows are: f32 is faster, and where it cannot tell, or
 * overflows, a second look does.  A shift makes products of rows far from 0 tell more.  A failure's sentence begins with who. */
fab_status fab_centres_init(fab_centres *c, int64_t D, int64_t K, fab_dtype type,
                            const double *shift, int threads, const char *who);
/* The type for these rows that costs least: their own where that is f32, else the one that was asked for. */
static inline fab_dtype fab_centres_type(const fab_rows *x, fab_dtype asked)
{
    return x->type == FAB_F32 ? FAB_F32 : asked;
}
void fab_centres_free(fab_centres *c);
double fab_centres_bytes(int64_t D, int64_t K, fab_dtype type, int threads);

/* These centres, K of them (at most those of init); borrows mu until the next ones. */
void fab_centres_set(fab_centres *c, int64_t K, const double *mu);

typedef struct fab_assignment {
    const fab_rows *x;
    const double *weight; /* n, or NULL: 1 */
    const double *norm;   /* n: |x_i - shift|, or NULL: computed here */
    int32_t *label;       /* n: in and out; -1: none yet */
    double *sums;         /* K x D, of w (x - shift); NULL: not wanted */
    double *counts;       /* K, of w */
    double *square;       /* n: |x_i - mu_label(i)|^2, or NULL */
    double *partial;      /* fab_centres_partials(n, K, D) numbers, where sums are wanted */
    int64_t changed;      /* out: rows whose label is another one now */
    int64_t second;       /* out: rows that had a second look */
} fab_assignment;

int64_t fab_centres_partials(int64_t n, int64_t K, int64_t D);
void fab_centres_assign(const fab_centres *c, fab_assignment *a);

/* norm_i = |x_i - shift|. */
void fab_centres_norms(const fab_centres *c, const fab_rows *x, double *norm);

/* How rows lie: variance of all columns together, sum of the weights, and whether they are so far from 0, as wide as they are, that
 * products had better be about one of them. */
typedef struct fab_spread {
    double variance, weight;
    int far;
} fab_spread;
fab_status fab_rows_spread(const fab_rows *x, const double *weight, int64_t D, int threads,
                           const char *who, double *mean, fab_spread *out);

/* sum_i w_i |x_i - mu_label(i)|^2; cost: n, w_i |x_i - mu_label(i)|^2 each, or NULL. */
double fab_centres_cost(const fab_centres *c, const fab_rows *x, const double *weight,
                        const double *mu, const int32_t *label, double *cost);

enum { FAB_CANDIDATES = 32 };

/* sum_j = sum_i w_i min(|x_i - c_j|^2, best_i) for m candidates c, at most FAB_CANDIDATES.  The sums over chunks of rows stay in
 * `partial`: of chunk t and candidate j at t m + j. */
typedef struct fab_potential {
    const fab_rows *x;
    const double *weight;
    int64_t m;
    const double *candidate; /* m x D */
    const double *best;      /* n; NULL: infinity */
    double *const *lower;    /* m columns of n: the minimum for each candidate; NULL: not wanted */
    double *sum;             /* m: out */
    double *partial;         /* FAB_MAX_CHUNKS x m */
} fab_potential;
void fab_centres_potential(const fab_centres *c, fab_potential *p);

/* Rows of a chunk of them, for n rows. */
int64_t fab_centres_chunk(int64_t n);

/* |x_i - c|^2 from differences in double, the number that decides. */
double fab_row_distance(const fab_rows *x, int64_t i, int64_t D, const double *c);

#endif
