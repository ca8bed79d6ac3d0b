/* evidence.h - alpha and beta of a linear model by maximising the evidence, given its spectrum.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_EXACT_EVIDENCE_H
#define FAB_EXACT_EVIDENCE_H

#include "base/hooks.h"

/* y = X c + noise of precision beta, c ~ N(0, I / alpha), X = U diag(s) V'. */
typedef struct fab_evidence {
    const char *who;
    fab_watch watch;
    int64_t n;    /* singular values */
    double *s2;   /* n: squared */
    double *u2;   /* n: (U'y)^2 */
    double rest;  /* |y - U U'y|^2 */
    double nu;    /* sum of weights, less 1 for a free intercept */
    double alpha; /* in: given, or FAB_AUTO_F64; out: as found */
    double beta;
    int64_t calls; /* out: evaluations */
} fab_evidence;

fab_status fab_exact_evidence(fab_evidence *v);

#endif
