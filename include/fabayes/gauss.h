/* gauss.h - the one noun: a Gaussian whose covariance or precision is low rank plus diagonal.
 *
 *     covariance:  S      = F F' + diag(psi)        precision:  S^-1 = F F' + diag(psi)
 *     point:       mu alone; a draw is mu, a density is refused
 *
 *     fab_gauss *g;
 *     fab_solver *s;
 *     fab_gauss_create(&g, FAB_COVARIANCE, FAB_F64, D, K);
 *     ... fill g->mu, g->F, g->psi ...
 *     fab_solver_init(&s, g, NULL);
 *     fab_solver_logpdf(s, &rows, logp);
 *     fab_solver_sample(s, seed, 0, n, FAB_F64, draws, D);
 *     fab_solver_free(s);
 *     fab_gauss_free(g);
 *
 * A solver factors one K x K matrix; after that a density, a product or a draw costs O(D K).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_GAUSS_H
#define FABAYES_GAUSS_H

#include "fabayes/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fab_form { FAB_COVARIANCE = 0, FAB_PRECISION, FAB_POINT } fab_form;

/* "covariance", "precision", "point". */
FAB_API const char *fab_form_name(fab_form f);

typedef struct fab_gauss {
    fab_form form;
    fab_dtype type; /* of F: FAB_F64 or FAB_F32 */
    int64_t D, K;   /* K = 0: a plain diagonal */
    double *mu;     /* D */
    void *F;        /* D x K, row-major: F[d * K + k] */
    double *psi;    /* D, > 0 (point: NULL) */

    /* A Gaussian over part of theta (the last layer of a network): coordinate d is theta[index[d]].
     * total = 0 and NULLs: mu is all of theta. */
    int64_t total;
    double *theta;  /* total: the point the rest stays at */
    int64_t *index; /* D, increasing */
} fab_gauss;

/* A Gaussian with mu = 0, F = 0, psi = 1 in memory of its own.  Gives *g. */
FAB_API fab_status fab_gauss_create(fab_gauss **g, fab_form form, fab_dtype type, int64_t D,
                                    int64_t K);
/* The same over D of `total` coordinates; theta = 0, index = 0 .. D-1. */
FAB_API fab_status fab_gauss_create_part(fab_gauss **g, fab_form form, fab_dtype type, int64_t D,
                                         int64_t K, int64_t total);
/* A copy with F in `type`.  Gives *out. */
FAB_API fab_status fab_gauss_copy(fab_gauss **out, const fab_gauss *g, fab_dtype type);
FAB_API void fab_gauss_free(fab_gauss *g); /* takes NULL */

/* Sizes sensible, all numbers finite, psi > 0, index increasing?  The sentence names the coordinate. */
FAB_API fab_status fab_gauss_check(const fab_gauss *g);

/* A Gaussian with mu = 0 and this covariance (D x D, positive definite, D up to FAB_DENSE_MAX), K = D.
 * Gives *g. */
FAB_API fab_status fab_gauss_from_dense(fab_gauss **g, int64_t D, const double *S);

/* The marginal of the n coordinates in `index` (increasing), in the same form.  Gives *out. */
FAB_API fab_status fab_gauss_marginal(fab_gauss **out, const fab_gauss *g, const int64_t *index,
                                      int64_t n, const fab_exec *x);

typedef struct fab_solver fab_solver;

/* Check and factor g.  Borrows g until free.  A point form is accepted: it can be sampled. */
FAB_API fab_status fab_solver_init(fab_solver **s, const fab_gauss *g, const fab_exec *x);
FAB_API void fab_solver_free(fab_solver *s); /* takes NULL */

FAB_API fab_status fab_solver_logdet(const fab_solver *s, double *logdet); /* of the covariance */
FAB_API fab_status fab_solver_entropy(const fab_solver *s, double *nats);
/* log density of each row; out has x->n numbers. */
FAB_API fab_status fab_solver_logpdf(fab_solver *s, const fab_rows *x, double *out);
/* Squared Mahalanobis distance of each row from mu. */
FAB_API fab_status fab_solver_mahalanobis(fab_solver *s, const fab_rows *x, double *out);
/* Row j of out (x->n x D doubles) = covariance times row j of x; precision times row j of x. */
FAB_API fab_status fab_solver_times_covariance(fab_solver *s, const fab_rows *x, double *out);
FAB_API fab_status fab_solver_times_precision(fab_solver *s, const fab_rows *x, double *out);
/* The D marginal variances. */
FAB_API fab_status fab_solver_variances(fab_solver *s, double *out);
/* The D x D covariance, for D up to FAB_DENSE_MAX. */
FAB_API fab_status fab_solver_dense(fab_solver *s, double *S);

/* Draws number first .. first + n - 1 of `seed`, one per row of out (elements of `type`, ld apart):
 * draw j has the same bits whichever call makes it.  Over part of theta a draw has `total` elements,
 * the rest at theta. */
FAB_API fab_status fab_solver_sample(fab_solver *s, uint64_t seed, int64_t first, int64_t n,
                                     fab_dtype type, void *out, int64_t ld);

enum { FAB_DENSE_MAX = 2000 };

#ifdef __cplusplus
}
#endif
#endif
