/* far.c - vifa where kernels have memory of their own: lines 1, 2 and 4 - 10 of vifa.c.
 *
 * All that is as long as theta stays there, in the types of the kernels.  A step is a pass that draws (of a path one before
 * it, for y; the second of a pair has the same with the other sign), the gradients, and a pass that does all the rest: it
 * makes z again, and leaves the Gram matrix.  `clip` asks for the norms first, in a pass of its own.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "fabayes/random.h"
#include "methods/vifa/vifa.h"
#include <math.h>
#include <string.h>

#define MOST_GAMMA 600 /* as in gaussian.c; in f32 psi and its inverse are numbers up to */
#define MOST_F32   80

int fab_vifa_is_far(const fab_vifa *f)
{
    return f->run.ops->memory != NULL;
}

fab_status fab_vifa_far_check(const fab_vifa *f)
{
    const char *what = NULL;
    if (f->given) what = "a given prior";
    if (f->m.free > 0) what = "a model with free coordinates (a noise that is learned)";
    if (f->rule == &fab_vifa_natural) what = "optimiser = natural";
    if (f->rule == &fab_vifa_newton) what = "optimiser = newton";
    if (!what) return FAB_OK;
    return FAB_FAIL(FAB_UNSUPPORTED,
                    "%s: %s works in the host's memory, and kernels '%s' have their own: take cpu, "
                    "or sgd or adam with fixed noise and the prior alpha",
                    f->who, what, f->run.ops->backend);
}

/* ---- life --------------------------------------------------------------------------------------------- */

static fab_far_gauss place(fab_layout *l, const fab_vifa *f)
{
    const size_t number = f->run.ops->vectors->size;
    const int64_t W = f->q.W, K = f->q.K;
    fab_far_gauss q = {.n = W, .K = K};
    q.c = fab_place_long(l, W, number);
    q.gamma = fab_place_long(l, W, number);
    q.F = fab_place_long(l, W * K, f->nn->size);
    return q;
}

void fab_vifa_far_layout(fab_layout *l, fab_vifa *f)
{
    fab_vifa_far *x = &f->far;
    fab_vifa_moments *a = &f->moment;
    const size_t number = f->run.ops->vectors->size;
    const int64_t W = f->q.W, K = f->q.K, L = f->s.draws, side = K > L ? K : L;
    fab_vifa_small_layout(l, f);
    x->q = place(l, f);
    x->good = place(l, f);
    x->theta = fab_place_long(l, W, f->nn->size);
    x->V = fab_place_long(l, W * L, f->nn->size);
    x->draw = fab_place(l, L, sizeof *x->draw);
    x->h = fab_place(l, L * K, sizeof(double));
    x->y = fab_place(l, L * K, sizeof(double));
    x->own_theta = f->m.loss_there ? NULL : fab_place(l, W, sizeof(double));
    x->own_g = f->m.loss_there ? NULL : fab_place(l, W, sizeof(double));
    if (f->rule == &fab_vifa_adam) {
        a->m_c = fab_place_long(l, W, number);
        a->v_c = fab_place_long(l, W, number);
        a->m_gamma = fab_place_long(l, W, number);
        a->v_gamma = fab_place_long(l, W, number);
        a->m_F = fab_place_long(l, W * K, f->nn->size);
        a->v_F = fab_place_long(l, W * K, f->nn->size);
    }
    f->run.work = fab_place_long(
        l, (int64_t)f->run.ops->work(W, side > 2 ? side : 2, side > 2 ? side : 2, f->run.threads),
        1);
}

void fab_vifa_far_free(fab_vifa *f)
{
    if (f->far.block) f->run.ops->memory->release(f->far.block);
    fab_release(f->far.staged);
}

/* Have kernels failed? */
static fab_status check_kernels(const fab_vifa *f)
{
    double number = 0;
    return fab_sum(&f->run, &number, 1);
}

fab_status fab_vifa_far_start(fab_vifa *f)
{
    const fab_vectors *v = f->run.ops->vectors;
    const fab_far_gauss *q = &f->far.q;
    f->q.F = q->F;
    v->fill(&f->run, q->n, 0, q->c);
    if (f->s.start == FAB_VIFA_MODEL && f->m.start) {
        double *c;
        FAB_TRY(fab_alloc_array((void **)&c, q->n, sizeof *c, f->who));
        f->m.start(f->m.self, (uint64_t)f->s.train.seed, c);
        v->put(&f->run, q->n, c, q->c);
        fab_release(c);
    }
    v->fill(&f->run, q->n, 2 * log(f->s.start_sd), q->gamma);
    if (q->K > 0) {
        const fab_long F = fab_vifa_F(f);
        f->run.ops->randn(&f->run, (uint64_t)f->s.train.seed, FAB_PURPOSE_START, FAB_VIFA_START,
                          &F);
        fab_vifa_identity(q->K, f->s.start_sd * f->s.start_F, f->scratch.B);
        f->run.ops->mult(&f->run, NULL, &F, f->scratch.B, 0, &F);
    }
    return check_kernels(f);
}

/* ---- a step ------------------------------------------------------------------------------------------- */

void fab_vifa_far_draw(fab_vifa *f, const fab_vifa_step *s, int64_t l)
{
    const fab_vectors *v = f->run.ops->vectors;
    fab_vifa_far *x = &f->far;
    const int64_t K = f->q.K, L = f->s.draws;
    const int64_t number = s->t * L + (f->s.pairs ? l / 2 : l);
    double *h = x->h + l * K, *y = x->y + l * K;
    const int other = f->s.pairs && l % 2;
    x->draw[l] = (fab_draw){.seed = (uint64_t)f->s.train.seed,
                            .stream = FAB_VIFA_DRAWS + 2 * (uint64_t)number,
                            .sign = other ? -1 : 1,
                            .h = h,
                            .y = y};
    f->draw.sign = x->draw[l].sign;
    if (other) {
        for (int64_t k = 0; k < K; k++) h[k] = -h[k - K], y[k] = -y[k - K];
    } else if (K > 0) {
        fab_random_normal((uint64_t)f->s.train.seed, FAB_PURPOSE_DRAW, x->draw[l].stream + 1, 0, K,
                          FAB_F64, h);
        if (f->draw.path && s->weight > 0) {
            v->project(&f->run, &x->q, &x->draw[l], y); /* F' psi^-1/2 z */
            for (int64_t k = 0; k < K; k++) y[k] = h[k] - y[k];
            fab_chol_solve(K, 1, f->q.L, y); /* y = M^-1 (h - F' psi^-1/2 z) */
        }
    }
    v->draw(&f->run, &x->q, &x->draw[l], x->theta);
}

fab_status fab_vifa_far_loss(fab_vifa *f, const fab_examples *batch, int64_t l, double *loss)
{
    const fab_vifa_far *x = &f->far;
    const int64_t D = f->q.D;
    void *g = fab_vifa_at(f, x->V, l * D);
    const fab_long from = fab_long_vectors(x->theta, D, 1, D), to = fab_long_vectors(g, D, 1, D);
    FAB_TRY(check_kernels(f));
    if (f->m.loss_there) return f->m.loss_there(f->m.self, x->theta, batch, loss, g);
    f->run.ops->get(&f->run, &from, x->own_theta);
    FAB_TRY(check_kernels(f));
    FAB_TRY(f->m.loss(f->m.self, x->own_theta, batch, loss, x->own_g));
    f->run.ops->put(&f->run, x->own_g, &to);
    return FAB_OK;
}

/* The largest |log psi| of kernels of this type. */
static double most_gamma(const fab_vifa *f)
{
    return f->run.ops->vectors->size == sizeof(float) ? MOST_F32 : MOST_GAMMA;
}

/* 9, adam: t counts the steps of c, or of gamma and F. */
static fab_moves moves_of(const fab_vifa *f, double rate, int64_t t, void *m, void *v)
{
    fab_moves a = {.rate = rate, .by = 1, .m = m, .v = v};
    if (f->rule != &fab_vifa_adam) return a;
    a.rate /= 1 - pow(f->s.momentum, (double)t);
    a.root = 1 / sqrt(1 - pow(f->s.second, (double)t));
    return a;
}

static fab_status check_step(fab_vifa *f, const fab_vifa_step *s, const fab_step *x)
{
    const double norm = sqrt(x->squares[0]) + sqrt(x->squares[1]);
    double sums[FAB_GAUSS_SUMS];
    FAB_TRY(check_kernels(f));
    if (!isfinite(norm)) return fab_vifa_diverged(f, s->t, "the norm of the gradient", norm);
    if (x->beyond == 0) return FAB_OK;
    fab_vifa_far_sums(f, sums);
    return fab_vifa_diverged(f, s->t, "the largest |log psi|", sums[3]);
}

fab_status fab_vifa_far_move(fab_vifa *f, const fab_vifa_step *s)
{
    const fab_vectors *v = f->run.ops->vectors;
    const fab_vifa_moments *a = &f->moment;
    const double clip = f->s.clip;
    fab_step x = {
        .kind = FAB_STEP_NORMS,
        .q = f->far.q,
        .L = f->s.draws,
        .draw = f->far.draw,
        .V = f->far.V,
        .weight = s->weight,
        .alpha = f->s.train.alpha,
        .path = f->draw.path,
        .Minv = f->q.Minv,
        .c = moves_of(f, s->rate, f->count.steps + 1, a->m_c, a->v_c),
        .gamma = moves_of(f, s->rate * f->s.rate_psi, f->count.moves + 1, a->m_gamma, a->v_gamma),
        .F = moves_of(f, s->rate * f->s.rate_F, f->count.moves + 1, a->m_F, a->v_F),
        .b1 = f->s.momentum,
        .b2 = f->s.second,
        .epsilon = f->s.epsilon,
        .most = most_gamma(f)};
    if (clip > 0) {
        v->step(&f->run, &x);
        FAB_TRY(check_step(f, s, &x));
        x.c.by = fab_vifa_shorter(clip, sqrt(x.squares[0]));
        x.gamma.by = fab_vifa_shorter(clip, sqrt(x.squares[1]));
        x.F.by = fab_vifa_shorter(clip, sqrt(x.squares[2]));
    }
    x.kind = f->rule == &fab_vifa_adam ? FAB_STEP_ADAM : FAB_STEP_PLAIN;
    x.G = s->weight > 0 ? f->q.G : NULL;
    v->step(&f->run, &x);
    return check_step(f, s, &x);
}

fab_status fab_vifa_far_gram(fab_vifa *f)
{
    fab_step x = {
        .kind = FAB_STEP_NOTHING, .q = f->far.q, .G = f->q.G, .most = most_gamma(f), .weight = 1};
    f->run.ops->vectors->step(&f->run, &x);
    return check_kernels(f);
}

void fab_vifa_far_sums(fab_vifa *f, double *out)
{
    f->run.ops->vectors->gauss_sums(&f->run, &f->far.q, out);
}

/* ---- in and out --------------------------------------------------------------------------------------- */

fab_status fab_vifa_far_publish(fab_vifa *f)
{
    const fab_vectors *v = f->run.ops->vectors;
    const fab_far_gauss *q = &f->far.q;
    fab_gauss *to = f->result;
    v->get(&f->run, q->n, q->c, to->mu);
    v->get(&f->run, q->n, q->gamma, to->psi);
    f->nn->exps(q->n, to->psi, to->psi);
    if (q->K > 0) v->fetch(&f->run, (size_t)(q->n * q->K) * f->nn->size, q->F, to->F);
    return check_kernels(f);
}

void fab_vifa_far_take_F(fab_vifa *f)
{
    const fab_far_gauss *q = &f->far.q;
    f->run.ops->vectors->store(&f->run, (size_t)(q->n * q->K) * f->nn->size, f->result->F, q->F);
}

void fab_vifa_far_copy(fab_vifa *f, const fab_far_gauss *from, const fab_far_gauss *to)
{
    const fab_vectors *v = f->run.ops->vectors;
    v->copy(&f->run, from->n, from->c, to->c);
    v->copy(&f->run, from->n, from->gamma, to->gamma);
    if (from->K > 0) {
        const fab_long A = fab_long_rows(from->F, from->n, from->K),
                       B = fab_long_rows(to->F, from->n, from->K);
        f->run.ops->axpy(&f->run, NULL, &A, 0, &B);
    }
}
