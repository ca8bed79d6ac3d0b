/* solver.h - what the distances need of a solver: A = F F' + diag(psi), whatever the form calls it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_POSTERIOR_SOLVER_H
#define FAB_POSTERIOR_SOLVER_H

#include "fabayes/gauss.h"
#include "la/ops.h"

/* fab_solver_create with workspace for small matrices up to room x room as well. */
fab_status fab_solver_init_room(fab_solver **s, const fab_gauss *g, const fab_exec *x,
                                int64_t room);

const fab_gauss *fab_solver_gauss(const fab_solver *s);
const fab_run *fab_solver_run(const fab_solver *s);
const double *fab_solver_chol(const fab_solver *s);   /* L, K x K: L L' = I + F' psi^-1 F */
double fab_solver_logdet_matrix(const fab_solver *s); /* log det A */

fab_status fab_solver_diag(fab_solver *s, double *out);         /* diag(A) */
fab_status fab_solver_diag_inverse(fab_solver *s, double *out); /* diag(A^-1) */

/* tr(B' A^-1 B) for a long n x k array, without cancellation. */
fab_status fab_solver_inverse_trace(fab_solver *s, const fab_long *B, double *out);

/* A, or A^-1 when `inverse`, as a dense D x D matrix, symmetric; work: fab_solver_matrix_work doubles.
 * A^-1 = T' T, row by row of T the two squares of x' A^-1 x: entries good to its norm also where psi is
 * far below F F'. */
fab_status fab_solver_matrix(fab_solver *s, int inverse, double *S, double *work);
int64_t fab_solver_matrix_work(const fab_solver *s);

#endif
