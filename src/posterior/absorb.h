/* absorb.h - absorb for callers inside the library that make the columns in place.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_POSTERIOR_ABSORB_H
#define FAB_POSTERIOR_ABSORB_H

#include "base/hooks.h"
#include "fabayes/gauss.h"

/* Room for the m columns, vectors of length D one after the other, in the type of the kernels. */
void *fab_absorb_columns(fab_absorb *ab);

/* A vector of D between calls that absorb: each of them writes over it. */
double *fab_absorb_vector(fab_absorb *ab);

/* Who watches the loops; borrows until free.  They are not left half done: an answer to stop is heard later. */
void fab_absorb_watch(fab_absorb *ab, fab_watch *w);

/* Absorb the first n of them, already checked. */
fab_status fab_absorb_loaded(fab_absorb *ab, fab_gauss *g, double a, double b, int64_t n);

/* In a workspace of the caller, which it borrows until free: fab_absorb_work bytes at least, used in calls that absorb alone.
 * both: with room for either cut, whatever the settings say. */
fab_status fab_absorb_create_in(fab_absorb **ab, int both, int64_t D, int64_t K, int64_t m,
                                const fab_absorb_settings *s, void *work, const fab_exec *x);
size_t fab_absorb_work(int both, int64_t D, int64_t K, int64_t m, const fab_absorb_settings *s,
                       const fab_exec *x);

/* Absorb by the eigen cut where there is room for either.
 * *least: the smallest eigenvalue kept, psi being 1; EM cannot leave the span of F and needs it > 0. */
fab_status fab_absorb_loaded_eigen(fab_absorb *ab, fab_gauss *g, double a, double b, int64_t n,
                                   double *least);

/* Bytes fab_absorb_create_in would take beside the workspace. */
double fab_absorb_bytes(int both, int64_t D, int64_t K, int64_t m, const fab_absorb_settings *s,
                        const fab_exec *x);

/* fab_gauss_cut into `out`, whose K is the rank to reach; mu is left alone. */
fab_status fab_gauss_cut_into(fab_gauss *out, const fab_gauss *g, double tol, int64_t max_iter,
                              const fab_exec *x);

#endif
