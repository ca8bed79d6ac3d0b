/* fa_model.h - factor-analysis models to learn from: the generator of [T] Alg. 4.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STUDIES_FA_MODEL_H
#define STUDIES_FA_MODEL_H

#include "study.h"

/* c ~ N(0, 1); V an orthonormal D x K basis (the leading eigenvectors of a random A A' are uniform on
 * such bases); s^2 ~ U(lo, hi), D of them when rows of V are scaled, K when columns are;
 * psi ~ U(0, max s^2).  Gives a Gaussian in covariance form: fab_gauss_free. */
fab_gauss *fa_model(int64_t D, int64_t K, double lo, double hi, int scale_columns, uint64_t seed);

/* Rows first .. first + n - 1 of the model's stream: n x D doubles. */
void fa_model_rows(const fab_gauss *model, uint64_t seed, int64_t first, int64_t n, double *out);

#endif
