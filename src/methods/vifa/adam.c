/* adam.c - line 9 of vifa.c by Adam (Kingma and Ba 2015), for c, gamma and F each.
 *
 *     m += (1 - b1)(g - m);  v += (1 - b2)(g^2 - v);  x -= rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
 *
 * t counts the steps of c, and those of gamma and F, which begin later.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vifa/vifa.h"
#include "train/optim.h"
#include <math.h>

static void layout(fab_layout *l, fab_vifa *f)
{
    fab_vifa_moments *a = &f->moment;
    a->m_c = fab_place(l, f->q.D, sizeof(double));
    a->v_c = fab_place(l, f->q.D, sizeof(double));
    a->m_gamma = fab_place(l, f->q.W, sizeof(double));
    a->v_gamma = fab_place(l, f->q.W, sizeof(double));
    a->m_F = fab_place(l, f->q.W * f->q.K, f->nn->size);
    a->v_F = fab_place(l, f->q.W * f->q.K, f->nn->size);
}

static void states(const fab_vifa *f, fab_far_states *s)
{
    const fab_vifa_moments *a = &f->moment;
    const int64_t D = f->q.D, W = f->q.W, K = f->q.K;
    fab_far_add(s, "state.m_c", FAB_FAR_VECTOR, FAB_F64, D, 0, a->m_c);
    fab_far_add(s, "state.v_c", FAB_FAR_VECTOR, FAB_F64, D, 0, a->v_c);
    fab_far_add(s, "state.m_gamma", FAB_FAR_VECTOR, FAB_F64, W, 0, a->m_gamma);
    fab_far_add(s, "state.v_gamma", FAB_FAR_VECTOR, FAB_F64, W, 0, a->v_gamma);
    if (K > 0) {
        fab_far_add(s, "state.m_F", FAB_FAR_ARRAY, f->nn->type, W, K, a->m_F);
        fab_far_add(s, "state.v_F", FAB_FAR_ARRAY, f->nn->type, W, K, a->v_F);
    }
}

static fab_optim optim(const fab_vifa *f, int64_t n, int64_t t, double *m, double *v)
{
    return (fab_optim){.kind = FAB_OPTIMISER_ADAM,
                       .momentum = f->s.momentum,
                       .second = f->s.second,
                       .epsilon = f->s.epsilon,
                       .n = n,
                       .t = t,
                       .threads = f->run.threads,
                       .m = m,
                       .v = v};
}

static void move_c(fab_vifa *f, const fab_vifa_step *s)
{
    fab_optim o = optim(f, f->q.D, f->count.steps, f->moment.m_c, f->moment.v_c);
    fab_vifa_scale(f->q.D, fab_vifa_shorter(f->s.clip, f->grad.norm_c), f->grad.c);
    fab_optim_step(&o, s->rate, f->grad.c, 0, 0, f->q.c);
}

static void move_gamma(fab_vifa *f, const fab_vifa_step *s)
{
    fab_optim o = optim(f, f->q.W, f->count.moves, f->moment.m_gamma, f->moment.v_gamma);
    fab_vifa_scale(f->q.W, fab_vifa_shorter(f->s.clip, f->grad.norm_gamma), f->grad.gamma);
    fab_optim_step(&o, s->rate * f->s.rate_psi, f->grad.gamma, 0, 0, f->q.gamma);
}

typedef struct F_call {
    fab_vifa *f;
    double rate, root; /* rate / (1 - b1^t), (1 - b2^t)^-1/2 */
} F_call;

static void F_chunk(void *ctx, int64_t first, int64_t count, int thread)
{
    const F_call *a = ctx;
    fab_vifa *f = a->f;
    const int64_t K = f->q.K, at = first * K;
    (void)thread;
    f->nn->adam(count * K, f->s.momentum, f->s.second, a->rate, a->root, f->s.epsilon,
                fab_vifa_at(f, f->grad.F, at), fab_vifa_at(f, f->moment.m_F, at),
                fab_vifa_at(f, f->moment.v_F, at), fab_vifa_at(f, f->q.F, at));
}

static void move_F(fab_vifa *f, const fab_vifa_step *s)
{
    const double by = f->s.clip > 0 ? fab_vifa_shorter(f->s.clip, fab_vifa_norm_F(f, NULL)) : 1;
    const double t = (double)(f->count.moves + 1);
    F_call a = {f, s->rate * f->s.rate_F / (1 - pow(f->s.momentum, t)),
                1 / sqrt(1 - pow(f->s.second, t))};
    if (by != 1) {
        const fab_long GF = fab_long_rows(f->grad.F, f->q.W, f->q.K);
        fab_vifa_identity(f->q.K, by, f->scratch.B);
        f->run.ops->mult(&f->run, NULL, &GF, f->scratch.B, 0, &GF);
    }
    fab_vifa_each(f, F_chunk, &a);
    fab_vifa_gram(f, f->q.psi_next);
}

const fab_vifa_rule fab_vifa_adam = {
    .remedy = "set clip",
    .layout = layout,
    .states = states,
    .c = move_c,
    .gamma = move_gamma,
    .F = move_F,
};
