/* rank.h - `-k auto`: the number of factors by the Bayesian information criterion.
 *
 *     BIC(k) = -2 n l(k) + p(k) log n,    p(k) = D k - k (k - 1) / 2 + 2 D
 *
 * with l the mean log-likelihood per row, and p the loadings up to a turn, psi and the mean.  A stream is
 * learned once with the widest rank; the candidates are cuts of that Gaussian S, and
 * l(k) = -(entropy of S + KL(S || cut)).  A batch method is fitted once for every candidate.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_RANK_H
#define CLI_RANK_H

#include "fit.h"

typedef struct candidate {
    int64_t k;
    double loglik_mean, bic;
} candidate;

typedef struct rank_search {
    int64_t most;   /* candidates up to this k; 0: a rule */
    candidate *all; /* k = 0, 1, ..; the diagonal is there to compare with and is not chosen */
    int64_t n, chosen;
} rank_search;

/* Put the widest rank into the settings: before fit_open. */
int rank_prepare(rank_search *r, fit *f);
/* Choose: after fit_rows.  f->estim is then that of the chosen k, with the state of the widest rank. */
int rank_choose(rank_search *r, fit *f);
void rank_close(rank_search *r);

#endif
