/* absorb.h - S <- a S + b X X', brought back to rank K plus diagonal.
 *
 * The step that recursive factor analysis, L-RVGA and Laplace at rank K share.  S = F F' + diag(psi)
 * is whatever the Gaussian's form says it is, a covariance or a precision; mu is left alone.
 *
 *     fab_absorb_settings s = fab_absorb_defaults();
 *     fab_absorb *ab;
 *     fab_absorb_init(&ab, D, K, m, &s, NULL);
 *     fab_absorb_update(ab, g, a, b, &columns);
 *     fab_absorb_free(ab);
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_ABSORB_H
#define FABAYES_ABSORB_H

#include "fabayes/gauss.h"
#include "fabayes/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fab_cut { FAB_CUT_EM = 0, FAB_CUT_EIGEN } fab_cut;

typedef struct fab_absorb_settings {
    int64_t inner;  /* EM loops per call */
    int64_t expand; /* parameter-expanded EM */
    int64_t cut;    /* fab_cut: EM, or the leading eigenvectors (exact when nothing is cut off) */
    double psi_min; /* floor of psi, relative to the coordinate of diag(S) */
} fab_absorb_settings;

FAB_API fab_absorb_settings fab_absorb_defaults(void);
FAB_API const fab_table *fab_absorb_table(void);

typedef struct fab_absorb fab_absorb;

/* Work for Gaussians of D x K with F in the type of x->ops, and up to m columns at a time. */
FAB_API fab_status fab_absorb_init(fab_absorb **ab, int64_t D, int64_t K, int64_t m,
                                   const fab_absorb_settings *s, const fab_exec *x);
/* Absorb the rows of *columns (each a column of X) into g->F, g->psi.  No allocation.  On failure g is
 * as it was. */
FAB_API fab_status fab_absorb_update(fab_absorb *ab, fab_gauss *g, double a, double b,
                                     const fab_rows *columns);
/* Coordinates at the floor after the last update. */
FAB_API int64_t fab_absorb_floored(const fab_absorb *ab);
FAB_API void fab_absorb_free(fab_absorb *ab); /* takes NULL */

/* Gaussian of rank K nearest (by maximum likelihood) to g of a larger rank: EM to `tol` in psi.
 * Gives *out. */
FAB_API fab_status fab_gauss_cut(fab_gauss **out, const fab_gauss *g, int64_t K, double tol,
                                 int64_t max_iter, const fab_exec *x);

#ifdef __cplusplus
}
#endif
#endif
