/* list.h - the likelihoods, one line each: X(enumerator of fab_likelihood, name of the file).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_LIKELIHOODS_LIST_H
#define FAB_MODEL_LIKELIHOODS_LIST_H

#define FAB_LIKELIHOOD_LIST(X) \
    X(GAUSSIAN, gaussian)      \
    X(BERNOULLI, bernoulli)    \
    X(POISSON, poisson)        \
    X(CATEGORICAL, categorical)

#endif
