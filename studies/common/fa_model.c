/* fa_model.c - the generator of [T] Alg. 4.
 *
 * SPDX-License-Identifier: MIT */
#include "fa_model.h"
#include <math.h>
#include <stdlib.h>

enum { MODEL_STREAMS = 1000000 }; /* rows use the streams below, the model those from here on */

/* Orthonormal columns from normal ones: Gram-Schmidt, twice. */
static void orthonormalise(double *V, int64_t D, int64_t K)
{
    for (int64_t k = 0; k < K; k++)
        for (int again = 0; again < 2; again++) {
            for (int64_t j = 0; j < k; j++) {
                double dot = 0;
                for (int64_t i = 0; i < D; i++) dot += V[i * K + j] * V[i * K + k];
                for (int64_t i = 0; i < D; i++) V[i * K + k] -= dot * V[i * K + j];
            }
            double norm = 0;
            for (int64_t i = 0; i < D; i++) norm += V[i * K + k] * V[i * K + k];
            for (int64_t i = 0; i < D; i++) V[i * K + k] /= sqrt(norm);
        }
}

fab_gauss *fa_model(int64_t D, int64_t K, double lo, double hi, int scale_columns, uint64_t seed)
{
    fab_gauss *g;
    must(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, D, K));
    const int64_t n = scale_columns ? K : D;
    double *F = g->F, *s2 = malloc((size_t)n * sizeof *s2), most = 0;
    if (!s2) exit(1);
    fab_random_normal(seed, FAB_PURPOSE_DATA, MODEL_STREAMS, 0, D, FAB_F64, g->mu);
    fab_random_normal(seed, FAB_PURPOSE_DATA, MODEL_STREAMS + 1, 0, D * K, FAB_F64, F);
    fab_random_uniform(seed, FAB_PURPOSE_DATA, MODEL_STREAMS + 2, 0, n, s2);
    fab_random_uniform(seed, FAB_PURPOSE_DATA, MODEL_STREAMS + 3, 0, D, g->psi);
    orthonormalise(F, D, K);
    for (int64_t i = 0; i < n; i++) {
        s2[i] = lo + (hi - lo) * s2[i];
        most = fmax(most, s2[i]);
    }
    for (int64_t i = 0; i < D; i++) {
        g->psi[i] *= most;
        for (int64_t k = 0; k < K; k++) F[i * K + k] *= sqrt(s2[scale_columns ? k : i]);
    }
    free(s2);
    return g;
}

void fa_model_rows(const fab_gauss *model, uint64_t seed, int64_t first, int64_t n, double *out)
{
    fab_solver *s;
    must(fab_solver_create(&s, model, &(fab_exec){.threads = 1}));
    must(fab_solver_sample(s, seed, FAB_PURPOSE_DATA, first, n, FAB_F64, out, model->D));
    fab_solver_free(s);
}
