/* em.h - the small half of one factor-analysis EM step, shared by all that run EM on a target S.
 *
 * For a target S and the current W, psi, with P = psi^-1 W:
 *
 *   V = S P,  M = I + W' P = L L',  B = M^-1 + M^-1 (P' V) M^-1           (the mean of z z')
 *   EM:                  W' = V M^-1 B^-1         psi' = diag(S) - rowquad(W', B)
 *   parameter-expanded:  W' = V L'^-1 N'^-1       psi' = diag(S) - |w_i'|^2,    N N' = I + L^-1 (P' V) L'^-1
 *
 * Both have the same psi'.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_POSTERIOR_EM_H
#define FAB_POSTERIOR_EM_H

#include "fabayes/exec.h"

/* G = W' psi^-1 W and PV = P' V in; right (W' = V right) and Q (psi' = diag(S) - w' Q w''; left alone
 * when expanded, where Q = I) out; all K x K.  work: 2 K^2 doubles, the first K^2 of them N afterwards, and L stands in
 * G; both in their lower triangles. */
fab_status fab_em_step(int64_t K, int expand, double *G, const double *PV, double *right, double *Q,
                       double *work);

/* All n numbers finite? */
int fab_all_finite(int64_t n, const double *v);

#endif
