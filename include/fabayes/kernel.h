/* kernel.h - kernels: covariances k(x, z) of a function at two rows, their algebra, and processes given rows.
 *
 *     fab_kernel *k;
 *     fab_process *p;
 *
 *     fab_kernel_create(&k, "rbf:ard + linear", D, NULL);              // a text becomes a sum of products
 *     fab_process_create(&p, k, n, X, D, n, NULL);                     // a Gaussian process at n rows
 *     fab_process_learn(p, y, NULL, 0.01);                             // given y with noise of variance 0.01
 *     fab_process_evidence(p, &lml, gradient);                         // log p(y), by the logarithms of all parameters
 *     fab_process_predict(p, m, Z, D, mean, variance);                 // f at m other rows
 *     fab_process_free(p);
 *     fab_kernel_free(k);
 *
 * Rows are n x D doubles, row-major, a number `ld` apart, in the units that the length-scales have.  Matrices of kernels
 * are row-major too.  For tables and networks' company see table.h: `--model gp:rbf:ard` is the method `gp` (methods.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_KERNEL_H
#define FABAYES_KERNEL_H

#include "fabayes/exec.h"
#include "fabayes/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- kernels ----------------------------------------------------------------------------------- */

/* A kernel is a sum of terms; a term is a variance s2 times a product of basic kernels.  Its text:
 *
 *     rbf   rbf:ard   rbf:l=0.5   matern32:ard:col=height,weight   2.5*rbf*periodic:col=0 + linear   (rbf + linear)*const
 *
 * Basic kernels, with q = sum_j ((x_j - z_j) / l_j)^2, r = sqrt(q), over all columns or those of `col`, one l or with `ard`
 * one for each column:
 *
 *     rbf           exp(-q / 2)                                        l
 *     matern12      exp(-r), also called exponential                   l
 *     matern32      (1 + s) exp(-s), s = sqrt(3) r                     l
 *     matern52      (1 + s + s^2 / 3) exp(-s), s = sqrt(5) r           l
 *     matern        2^(1-nu) / Gamma(nu) s^nu K_nu(s), s = sqrt(2 nu) r     l; nu is given
 *     rq            (1 + q / (2 a))^-a                                 l, a
 *     periodic      exp(-2 sum_j sin^2(pi (x_j - z_j) / p) / l^2)      l, p
 *     linear        sum_j x_j z_j / l_j^2                              l, but only with ard: otherwise 1
 *     poly          (x . z + c)^m                                      c; m is given, 2 unless it is
 *     const         1
 *
 * `name=value` after a basic kernel fixes a parameter (l takes several numbers, 1,2,3, with ard); a number as a factor fixes
 * the s2 of its terms.  Whatever is not given is free, and starts from a value that suits columns of variance 1. */
typedef struct fab_kernel fab_kernel;

/* Parse.  column: D names of columns for `col` (several columns may have one name: levels of a column of words), or NULL: only
 * numbers from 0.  A text that is none is refused with the nearest word.  Copies all.  Gives *k; on failure it is NULL. */
FAB_API fab_status fab_kernel_create(fab_kernel **k, const char *text, int64_t D,
                                     const char *const *column);
FAB_API fab_status fab_kernel_copy(fab_kernel **k, const fab_kernel *from);
FAB_API void fab_kernel_free(fab_kernel *k); /* takes NULL */

/* The text it was made of; lends until free.  The same with every parameter as a number.  Gives *text: fab_text_free. */
FAB_API const char *fab_kernel_text(const fab_kernel *k);
FAB_API fab_status fab_kernel_describe(const fab_kernel *k, char **text);
FAB_API int64_t fab_kernel_columns(const fab_kernel *k); /* D */

/* A parameter: its logarithm is one coordinate of theta.  All are > 0. */
typedef struct fab_kernel_parameter {
    const char *name;     /* "s2", "l", "a", "p", "c"; lent until free */
    const char *kernel;   /* "rbf", ..; of an s2 the text of its term; lent until free */
    int64_t column;       /* of one column's length-scale with ard; else -1 */
    double value, lo, hi; /* lo and hi: where it is looked for */
    int64_t fixed;        /* 1: given in the text */
} fab_kernel_parameter;

FAB_API int64_t fab_kernel_size(const fab_kernel *k); /* parameters, fixed ones too */
FAB_API void fab_kernel_parameter_at(const fab_kernel *k, int64_t i, fab_kernel_parameter *p);
/* Logarithms of all; set refuses what is not finite, or over- or underflows. */
FAB_API void fab_kernel_get(const fab_kernel *k, double *theta);
FAB_API fab_status fab_kernel_set(fab_kernel *k, const double *theta);
/* 1: k(x, z) depends on x - z alone; rff (below) needs that. */
FAB_API int fab_kernel_is_stationary(const fab_kernel *k);

/* ---- matrices ---------------------------------------------------------------------------------- */

/* K(i, j) = k(x_i, x_j), n x n, both halves; on the threads of x (NULL: all cores, alone), with the same bits for any
 * number of them.  FAB_NO_MEMORY: room for blocks. */
FAB_API fab_status fab_kernel_gram(const fab_kernel *k, int64_t n, const double *X, int64_t ldx,
                                   double *K, int64_t ldk, const fab_exec *x);
/* K(i, j) = k(x_i, z_j), n x m. */
FAB_API fab_status fab_kernel_cross(const fab_kernel *k, int64_t n, const double *X, int64_t ldx,
                                    int64_t m, const double *Z, int64_t ldz, double *K, int64_t ldk,
                                    const fab_exec *x);
/* k(x_i, x_i) */
FAB_API void fab_kernel_diag(const fab_kernel *k, int64_t n, const double *X, int64_t ldx,
                             double *diag);

/* g_p = sum_ij W(i, j) dk(x_i, z_j) / dlog theta_p for all parameters, in one pass.  Z NULL: Z = X, and W is symmetric, of
 * which the lower half is read. */
FAB_API fab_status fab_kernel_grad_dot(const fab_kernel *k, int64_t n, const double *X, int64_t ldx,
                                       int64_t m, const double *Z, int64_t ldz, const double *W,
                                       int64_t ldw, double *g, const fab_exec *x);
/* G(i, c) = sum_j W(i, j) dk(x_i, z_j) / dx_ic, n x D, rows D apart. */
FAB_API fab_status fab_kernel_grad_rows(const fab_kernel *k, int64_t n, const double *X,
                                        int64_t ldx, int64_t m, const double *Z, int64_t ldz,
                                        const double *W, int64_t ldw, double *G, const fab_exec *x);

/* ---- processes --------------------------------------------------------------------------------- */

/* A Gaussian process f with mean 0 and covariance k, given n rows.  Whatever was learned at the rows, it is kept as
 *
 *     mean of f(x) = k(x)' a      variance = k(x, x) - |L^-1 (s o k(x))|^2      k(x): k(x, x_i), n
 *
 * with regression: L L' = K + diag(noise_i), a = (K + diag(noise))^-1 y, s = 1; and of other likelihoods, by Laplace's
 * method: L L' = B = I + S K S, s = diag(S) the root of the curvature, a = the gradient of log p(y | f) at the mode. */
typedef struct fab_process fab_process;

/* Copies kernel and rows, with room for `room` rows (at least n) before its arrays must grow.  Gives *p. */
FAB_API fab_status fab_process_create(fab_process **p, const fab_kernel *k, int64_t n,
                                      const double *X, int64_t ldx, int64_t room,
                                      const fab_exec *x);
FAB_API void fab_process_free(fab_process *p); /* takes NULL */
FAB_API const fab_kernel *fab_process_kernel(const fab_process *p);
FAB_API int64_t fab_process_rows(const fab_process *p);
/* Other parameters: what was learned is forgotten. */
FAB_API fab_status fab_process_set(fab_process *p, const double *theta);

/* Given y with noise of variance noise / weight_i (weight NULL: 1).  Where the Cholesky factor fails 1e-10, 1e-9, .. 1e-6 of the
 * mean diagonal is added (fab_process_jitter says what); beyond that FAB_NUMERIC with the likely cause.  Copies y and weight. */
FAB_API fab_status fab_process_learn(fab_process *p, const double *y, const double *weight,
                                     double noise);
/* The same y and weights under parameters or a noise that are others. */
FAB_API fab_status fab_process_relearn(fab_process *p, double noise);
/* One row more, in O(n^2); the state before stays valid where it fails. */
FAB_API fab_status fab_process_append(fab_process *p, const double *row, double y, double weight);
FAB_API double fab_process_jitter(const fab_process *p);
FAB_API double fab_process_noise(const fab_process *p);

/* log p(y), and its gradient by the logarithms of all parameters of the kernel and, last, of the noise (size + 1 numbers; NULL:
 * not wanted).  After learn. */
FAB_API fab_status fab_process_evidence(fab_process *p, double *lml, double *gradient);
/* log p(y_i | all others), mean and variance of y_i given them (each n, or NULL), in closed form.  After learn. */
FAB_API fab_status fab_process_leave_one_out(fab_process *p, double *logp, double *mean,
                                             double *variance);

/* f at m rows: mean and variance (or NULL).  A variance below 0 by rounding is 0; *clipped (or NULL) counts them. */
FAB_API fab_status fab_process_predict(fab_process *p, int64_t m, const double *Z, int64_t ldz,
                                       double *mean, double *variance, int64_t *clipped);
/* At one row z, with gradients by z (D each): for acquisition functions. */
FAB_API fab_status fab_process_slopes(fab_process *p, const double *z, double *mean,
                                      double *variance, double *mean_by, double *variance_by);
/* f at m rows jointly: mean (m) and covariance (m x m, rows ldc apart).  A variance below 0 by rounding is 0. */
FAB_API fab_status fab_process_joint(fab_process *p, int64_t m, const double *Z, int64_t ldz,
                                     double *mean, double *covariance, int64_t ldc);
/* Joint draws of f at m rows: draw `first + j` is row j of out (draws x m, rows ld apart). */
FAB_API fab_status fab_process_draw(fab_process *p, int64_t m, const double *Z, int64_t ldz,
                                    uint64_t seed, fab_purpose purpose, int64_t first,
                                    int64_t draws, double *out, int64_t ld);

/* What it is made of, for files: X (n x D), a, s (n each; s NULL: 1) and L (n x n, row-major, zeros above the diagonal).  Lends
 * until the next call of this process.  And back: copies all; y is not known then, so that evidence and append refuse.  L NULL:
 * the mean alone; variances are 0, and draws and slopes refuse. */
FAB_API void fab_process_parts(fab_process *p, const double **X, const double **a, const double **s,
                               const double **L);
FAB_API fab_status fab_process_of_parts(fab_process **p, const fab_kernel *k, int64_t n,
                                        const double *X, const double *a, const double *s,
                                        const double *L, const fab_exec *x);

/* The same through m inducing inputs Z (the methods vfe, dtc and fitc make it of any number of rows): with Kzz = L L' and
 * q(L^-1 f(Z)) of precision C C'
 *
 *     mean = k(x)' a      variance = k(x, x) - |L^-1 k(x)|^2 + |C^-1 L^-1 k(x)|^2      k(x): k(x, z_j), m
 *
 * L, C: m x m, row-major, lower.  Copies all; y is not known, so that evidence and append refuse.  Gives *p. */
FAB_API fab_status fab_process_of_inducing(fab_process **p, const fab_kernel *k, int64_t m,
                                           const double *Z, const double *a, const double *L,
                                           const double *C, const fab_exec *x);

/* ---- features ---------------------------------------------------------------------------------- */

/* A map of a row x to m numbers phi(x) with phi(x)' phi(z) near k(x, z), so that a linear model of phi(x) whose weights are
 * independent normals of variance 1 is a Gaussian process of covariance q(x, z) = phi(x)' phi(z).
 *
 *     rff      random: m / 2 pairs cos(w'x), sin(w'x), w drawn from the spectrum of a stationary kernel; q(x, x) = k(x, x).  Terms
 *              of a sum get pairs in proportion to their s2, at least one.  Orthogonal: the frequencies of a basic kernel are
 *              orthogonal, as many at a time as it has columns, with the lengths that they would have had.
 *     nystrom  L^-1 k(x, Z), L L' = k(Z, Z), Z landmarks: q = k(x, Z) k(Z, Z)^-1 k(Z, z), of which k - q >= 0 is left.  They are
 *              rows of X, each the one whose k - q is largest given those before (pivoted Cholesky); m or fewer: none is taken
 *              whose k - q is rounding. */
typedef struct fab_features fab_features;
enum { FAB_FEATURES_MAX = 1 << 20 }; /* m */

/* Copies k, whose parameters stay as they are.  FAB_UNSUPPORTED: k is not stationary; m is even, at least two for each term.
 * Gives *f; on failure it is NULL. */
FAB_API fab_status fab_features_rff(fab_features **f, const fab_kernel *k, int64_t m,
                                    int64_t orthogonal, uint64_t seed);
/* Copies k and the landmarks; m <= n. */
FAB_API fab_status fab_features_nystrom(fab_features **f, const fab_kernel *k, int64_t m, int64_t n,
                                        const double *X, int64_t ldx, const fab_exec *x);
FAB_API void fab_features_free(fab_features *f);                      /* takes NULL */
FAB_API int64_t fab_features_size(const fab_features *f);             /* m */
FAB_API const fab_kernel *fab_features_kernel(const fab_features *f); /* lends until free */
/* 1: k - q is not 0. */
FAB_API int fab_features_leave(const fab_features *f);

/* phi (n x m, rows ldphi apart) of n rows, and k(x, x) - q(x, x) of each (n, or NULL), 0 where rounding puts it below.  A row has
 * the same bits whichever rows come with it and whatever the threads of x (NULL: all cores). */
FAB_API fab_status fab_features_apply(const fab_features *f, int64_t n, const double *X,
                                      int64_t ldx, double *phi, int64_t ldphi, double *residual,
                                      const fab_exec *x);

/* {"kind", "kernel", "theta", "size", and "landmarks" or "seed" and "orthogonal"}.  Gives a string: fab_text_free (settings.h).
 * Reading trusts nothing; D and column as fab_kernel_create has them.  Gives *f, with the same bits. */
FAB_API fab_status fab_features_json(const fab_features *f, char **text);
FAB_API fab_status fab_features_from_json(fab_features **f, const char *json, int64_t D,
                                          const char *const *column);

/* ---- tests ------------------------------------------------------------------------------------- */

/* Do two samples come from one distribution?  Are two vectors that come in pairs independent?
 *
 *     MMD^2 = E k(x, x') + E k(y, y') - 2 E k(x, y)          0 where the distributions are one (and, for rbf and Matern kernels,
 *                                                            only there)
 *     HSIC  = E k(x, x') l(y, y') + E k(x, x') E l(y, y') - 2 E (E k(x, x') E l(y, y'))        0 where x and y are independent
 *
 * p: the share of random orders of the rows, the given one among them, whose statistic is as large as that of the given one,
 * (1 + as_large) / (1 + permutations): never below 1 / (1 + permutations), and the same for any number of threads. */
typedef struct fab_kernel_test {
    /* unbiased; may be negative */
    double statistic;
    /* with the pairs of a row and itself: MMD^2 or tr(K H L H) / n^2 of the rows as they are */
    double biased;
    /* of `statistic`; NaN without permutations */
    double p;
    /* HSIC of 6 rows and more: of `biased`, by the Gamma distribution with its mean and variance; else NaN */
    double p_gamma;
    int64_t permutations, as_large;
} fab_kernel_test;

/* X: n x D, Y: m x D, both at least 2 rows.  Memory grows with n + m.  FAB_STOPPED: nothing is left of it. */
FAB_API fab_status fab_kernel_mmd(fab_kernel_test *t, const fab_kernel *k, int64_t n,
                                  const double *X, int64_t ldx, int64_t m, const double *Y,
                                  int64_t ldy, int64_t permutations, uint64_t seed,
                                  const fab_exec *x);
/* mean of k(z, x_i) less mean of k(z, y_j) for `count` rows z: where the samples differ.  Above 0: more of X. */
FAB_API fab_status fab_kernel_witness(const fab_kernel *k, int64_t n, const double *X, int64_t ldx,
                                      int64_t m, const double *Y, int64_t ldy, int64_t count,
                                      const double *Z, int64_t ldz, double *out, const fab_exec *x);
/* n pairs of rows, at least 4, k of X and l of Y.  Memory: two n x n matrices. */
FAB_API fab_status fab_kernel_hsic(fab_kernel_test *t, const fab_kernel *k, const double *X,
                                   int64_t ldx, const fab_kernel *l, const double *Y, int64_t ldy,
                                   int64_t n, int64_t permutations, uint64_t seed,
                                   const fab_exec *x);
/* The median of the Euclidean distances between rows of D numbers (1000 of them by chance, where there are more), of those that
 * are not 0 where it would be 0: a length-scale for these tests.  0: all rows are alike. */
FAB_API fab_status fab_kernel_median(double *distance, int64_t n, int64_t D, const double *X,
                                     int64_t ldx, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
