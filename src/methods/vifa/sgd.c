/* sgd.c - line 9 of vifa.c by plain steps: c -= rate g_c, gamma -= rate_psi g_gamma, F -= rate_F G_F.
 *
 * `clip` bounds the norm of each of the three.  Without it, and with L <= K, line 8 and the step of F are one pass:
 *
 *     F = (1 - rate alpha) F + rate w psi^-1 F M^-1 - V (rate H)
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vifa/vifa.h"

static void move_c(fab_vifa *f, const fab_vifa_step *s)
{
    fab_vifa_scale(f->q.D, fab_vifa_shorter(f->s.clip, f->grad.norm_c), f->grad.c);
    fab_vifa_subtract(f, f->q.D, s->rate, f->grad.c, f->q.c);
}

static void move_gamma(fab_vifa *f, const fab_vifa_step *s)
{
    fab_vifa_scale(f->q.W, fab_vifa_shorter(f->s.clip, f->grad.norm_gamma), f->grad.gamma);
    fab_vifa_subtract(f, f->q.W, s->rate * f->s.rate_psi, f->grad.gamma, f->q.gamma);
}

static void move_F(fab_vifa *f, const fab_vifa_step *s)
{
    const double rate = s->rate * f->s.rate_F;
    if (f->grad.F) {
        const double by = f->s.clip > 0 ? fab_vifa_shorter(f->s.clip, fab_vifa_norm_F(f, NULL)) : 1;
        fab_vifa_subtract_F(f, rate * by);
        return;
    }
    fab_sweep w = fab_vifa_gradient_pass(f, s, -rate);
    w.r0 += 1;
    w.out = fab_vifa_F(f);
    w.psi = f->q.psi_next;
    w.G = f->q.G;
    f->run.ops->sweep(&f->run, &w);
}

const fab_vifa_rule fab_vifa_sgd = {
    .remedy = "set clip",
    .c = move_c,
    .gamma = move_gamma,
    .F = move_F,
};
