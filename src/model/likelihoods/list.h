/* list.h - the likelihoods, one line each: X(enumerator of fab_likelihood, name of the file, name for the user).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_LIKELIHOODS_LIST_H
#define FAB_MODEL_LIKELIHOODS_LIST_H

#define FAB_LIKELIHOOD_LIST(X)                 \
    X(GAUSSIAN, gaussian, "gaussian")          \
    X(BERNOULLI, bernoulli, "bernoulli")       \
    X(POISSON, poisson, "poisson")             \
    X(CATEGORICAL, categorical, "categorical") \
    X(NEGATIVE_BINOMIAL, negative_binomial, "negative-binomial")

#endif
