/* optimiser.c - the rules by which vifa moves, and what they share: lengths of steps, F less a part of its gradient.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vifa/vifa.h"
#include "train/optim.h"
#include <math.h>

const fab_vifa_rule *fab_vifa_rule_of(int64_t optimiser)
{
    static const fab_vifa_rule *const rules[] = {
        [FAB_VIFA_SGD] = &fab_vifa_sgd,
        [FAB_VIFA_ADAM] = &fab_vifa_adam,
        [FAB_VIFA_NATURAL] = &fab_vifa_natural,
        [FAB_VIFA_NEWTON] = &fab_vifa_newton,
    };
    return rules[optimiser];
}

double fab_vifa_shorter(double most, double norm)
{
    return most > 0 && norm > most ? most / norm : 1;
}

void fab_vifa_scale(int64_t n, double by, double *x)
{
    if (by == 1) return;
    for (int64_t i = 0; i < n; i++) x[i] *= by;
}

void fab_vifa_subtract(const fab_vifa *f, int64_t n, double rate, const double *g, double *x)
{
    fab_optim plain = {.kind = FAB_OPTIMISER_SGD, .n = n, .threads = f->run.threads};
    fab_optim_step(&plain, rate, g, 0, 0, x);
}

void fab_vifa_subtract_F(fab_vifa *f, double rate)
{
    const int64_t W = f->q.W, K = f->q.K;
    const fab_long F = fab_vifa_F(f);
    fab_vifa_identity(K, -rate, f->scratch.B);
    fab_sweep w = {.n = W,
                   .K = K,
                   .w = F,
                   .r0 = 1,
                   .x = fab_long_rows(f->grad.F, W, K),
                   .C = f->scratch.B,
                   .out = F,
                   .psi = f->q.psi_next,
                   .G = f->q.G};
    f->run.ops->sweep(&f->run, &w);
}

double fab_vifa_norm_F(fab_vifa *f, const double *w)
{
    const fab_long GF = fab_long_rows(f->grad.F, f->q.W, f->q.K);
    double sum = 0;
    f->run.ops->colquad(&f->run, &GF, w, f->scratch.k);
    for (int64_t k = 0; k < f->q.K; k++) sum += f->scratch.k[k];
    return sqrt(sum);
}
