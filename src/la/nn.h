/* nn.h - what the layers of networks are made of: products, activations, images, in one precision.
 *
 * Matrices are row-major; `type` is that of the table.  Nothing allocates, nothing starts threads: a network
 * cuts its batch into blocks and gives them to fab_parallel.  The entries are compiled once per precision
 * and instruction set (nn_kernel.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LA_NN_H
#define FAB_LA_NN_H

#include "la/small.h"
#include "la/threads.h"
#include <stddef.h>

/* Coordinates of a product of scores that are summed in one precision before they are added to the rest. */
enum { FAB_CENTRES_SLICE = 512 };

typedef enum fab_activation { FAB_RELU, FAB_TANH, FAB_SIGMOID } fab_activation;

/* C (m x n) = op(A) op(B) + bias + (add ? C : 0); the inner size is k; bias: n numbers added to every row, or
 * NULL.  B may not be transposed when A is. */
typedef struct fab_product {
    fab_trans ta, tb;
    int64_t m, n, k;
    const void *A;
    int64_t lda;
    const void *B;
    int64_t ldb;
    const void *bias;
    int add;
    void *C;
    int64_t ldc;
} fab_product;

/* An image of c channels of h x w, seen through windows of side x side with `pad` zeros around it. */
typedef struct fab_window {
    int64_t c, h, w, side, pad, oh, ow; /* oh x ow windows */
} fab_window;

typedef struct fab_nn {
    fab_dtype type;
    size_t size; /* bytes of a number */

    void (*narrow)(int64_t n, const double *x, void *out);                         /* out = x */
    void (*widen)(int64_t n, double scale, const void *x, double beta, double *y); /* s x + b y */
    void (*product)(const fab_product *p); /* small ones: see fab_nn_product */
    void (*column_sums)(int64_t m, int64_t n, const void *A, int add, void *out); /* n */
    void (*row_sums)(int64_t m, int64_t n, const void *A, int add, void *out);    /* m */
    void (*fill_rows)(int64_t m, int64_t n, const void *x, void *A);   /* A(i, :) = x_i */
    void (*add)(int64_t n, const void *x, void *y);                    /* y += x */
    void (*scale)(int64_t n, const double *s, const void *x, void *y); /* y = s x */
    void (*square)(int64_t n, const void *x, void *y);                 /* y = x^2 */
    void (*exps)(int64_t n, const double *x,
                 double *y); /* y = e^x, |x| <= 700, to 2 units in the last place */
    /* c = cos x, s = sin x, |x| <= 1e6, to 1e-15; c or s may be x */
    void (*turns)(int64_t n, const double *x, double *c, double *s);
    /* Pairs of m rows and n columns, d numbers each: x is m x d without gaps, z d x n, its rows ldz apart; matrices of pairs are
     * m x n without gaps.  u(i, j) = sum_c (x_ic - z_cj)^2;  sums_c += s sum_ij H(i, j) (x_ic - z_cj)^2. */
    void (*squares)(int64_t m, int64_t n, int64_t d, const double *x, const double *z, int64_t ldz,
                    double *u);
    void (*square_sums)(int64_t m, int64_t n, int64_t d, const double *x, const double *z,
                        int64_t ldz, const double *H, double s, double *sums);
    /* y = e^(s x), where s x <= 0; below e^-700 it is that; y may be x */
    void (*decay)(int64_t n, double s, const double *x, double *y);
    /* Rows against K centres (cpu/centres.h): x is m rows of D numbers, ldx apart; scores and bias of a row are padded(K) numbers.
     * pack: B (padded(K) x D numbers) of mu (K x D, row-major) - shift (D, or NULL). */
    int64_t (*padded)(int64_t K);
    void (*pack)(int64_t D, int64_t K, const double *mu, const double *shift, void *B);
    void (*scores)(int64_t m, int64_t D, int64_t K, const void *x, int64_t ldx, const void *B,
                   const void *bias, void *s); /* s = bias + x mu' */
    /* The largest score of each row, -1 where another one is not below it by more than slack. */
    void (*choose)(int64_t m, int64_t K, const void *s, const double *slack, int64_t *which);
    void (*distances)(int64_t m, int64_t n, int64_t D, const void *x, int64_t ldx, const double *c,
                      double *u); /* u(i, j) = |x_i - c_j|^2 from differences in double */
    /* |x_i|^2, summed in the precision of the rows */
    void (*row_squares)(int64_t m, int64_t D, const void *x, int64_t ldx, double *out);
    /* sum += w (x - shift); shift NULL: 0 */
    void (*add_row)(int64_t D, double w, const void *x, const double *shift, double *sum);
    /* A step of Adam: m += (1 - b1)(g - m), v += (1 - b2)(g^2 - v), x -= rate m / (root sqrt(v) + eps). */
    void (*adam)(int64_t n, double b1, double b2, double rate, double root, double eps,
                 const void *g, void *m, void *v, void *x);

    void (*curve)(fab_activation c, int64_t n, const void *x, void *y); /* y = c(x), may be x */
    void (*slope)(fab_activation c, int64_t n, const void *y, const void *dy,
                  void *dx); /* c'(x) dy */

    /* out[i] = a[i] (x) d[i], m rows: p x q numbers, then the q of d[i] again; rows ld apart */
    void (*outer)(int64_t m, int64_t p, int64_t q, const void *a, const void *d, void *out,
                  int64_t ld);
    /* C += (a + 1) d, elementwise */
    void (*gram_terms)(int64_t n, const void *a, const void *d, double *C);
    /* X[i][o k + c] = d[i][o] V[i][c];  and y[i][c] += sum_o X[i][o k + c] d[i][o] */
    void (*spread)(int64_t m, int64_t q, int64_t ldd, int64_t k, const void *d, const double *V,
                   void *X);
    void (*gather)(int64_t m, int64_t q, int64_t ldd, int64_t k, const void *X, const void *d,
                   double *y);

    /* The same from rows G (n x p), H (m x p):  C (n x m, ldc apart) += G H';  out (p x k) = G' V, or += with add;
     * y (n x k) += G U */
    void (*cross_rows)(int64_t n, int64_t m, int64_t p, const void *G, const void *H, double *C,
                       int64_t ldc);
    void (*combine_rows)(int64_t n, int64_t p, int64_t k, const void *G, const double *V, int add,
                         void *out);
    void (*project_rows)(int64_t n, int64_t p, int64_t k, const void *G, const void *U, double *y);

    /* col (c side^2 x oh ow) holds what each window sees; back adds it up again. */
    void (*windows)(const fab_window *w, const void *image, void *col);
    void (*back)(const fab_window *w, const void *col, void *image);
    /* Squares of side x side, side apart: the largest or the mean of each; and its gradient. */
    void (*pool)(const fab_window *w, int mean, const void *image, void *out);
    void (*unpool)(const fab_window *w, int mean, const void *image, const void *dout, void *din);
} fab_nn;

/* The table of a precision, for this machine. */
const fab_nn *fab_nn_find(fab_dtype type);

/* The product by whatever is faster: vector code up to a size, then BLAS on one thread. */
void fab_nn_product(const fab_nn *nn, const fab_product *p);

/* Row j of x, D numbers, dense or sparse and of either type, in the precision of nn. */
void fab_nn_load(const fab_nn *nn, const fab_rows *x, int64_t j, int64_t D, void *to);

/* One table per instruction set and precision. */
extern const fab_nn fab_nn_base[2];
extern const fab_nn fab_nn_avx2[2], fab_nn_avx512[2]; /* x86-64 only */

#endif
