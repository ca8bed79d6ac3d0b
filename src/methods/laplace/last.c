/* last.c - the last layer of a network as a model of its own.
 *
 *   1  phi = the inputs of the last layer, of all rows, once
 *   2  a network without hidden layers on phi has the last layer's weights as its theta, and the log noise behind them: the end
 *      of the whole theta
 *   3  it is trained there, in place: arrays of the whole training from coordinate `first` on
 *
 * Neither its training nor its curvature sees the other layers again.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "la/nn.h"
#include "methods/laplace/net.h"
#include "model/likelihoods/likelihood.h"
#include "model/net/examples.h"
#include <math.h>

static int64_t features_of(const fab_model *m)
{
    return m->last / m->outputs - 1;
}

/* 2 */
static fab_net_plan plan_of(const fab_model *m)
{
    const fab_glm *g = &m->head;
    fab_noise noise = FAB_NOISE_FIXED;
    if (m->free) noise = FAB_NOISE_LEARNED;
    if (!fab_glm_likelihood(g)->several && m->outputs == 2) noise = FAB_NOISE_OUTPUT;
    return (fab_net_plan){.layers = "linear",
                          .features = features_of(m),
                          .likelihood = g->likelihood,
                          .classes = g->classes,
                          .noise = noise,
                          .beta = g->beta,
                          .nu = g->nu,
                          .floor = g->beta_most > 0 ? 1 / sqrt(g->beta_most) : 0,
                          .batch = m->batch};
}

/* 1 */
static fab_status find_features(fab_laplace_net *f)
{
    fab_train *t = &f->train;
    const int64_t N = t->e.x.n, H = features_of(&t->m);
    for (int64_t first = 0; first < N; first += t->m.batch) {
        const int64_t left = N - first, n = left < t->m.batch ? left : t->m.batch;
        const fab_rows part = fab_rows_part(&t->e.x, first, n);
        char *phi = (char *)f->last.phi + (size_t)(first * H) * fab_nn_find(t->m.type)->size;
        FAB_TRY(t->m.features(t->m.self, t->theta, &part, phi));
        FAB_TRY(fab_watch_work(&t->watch, (double)n * (double)t->m.D, t->who,
                               t->count.epochs + t->after, t->total));
    }
    return FAB_OK;
}

static fab_status open(fab_laplace_net *f)
{
    fab_train *t = &f->train;
    fab_laplace_last *last = &f->last;
    const fab_net_plan plan = plan_of(&t->m);
    const fab_model_settings s = {.alpha = t->s.alpha, .batch = t->s.batch, .seed = t->s.seed};
    FAB_TRY(fab_net_create(&last->net, &plan, &t->exec));
    FAB_TRY(fab_alloc_array(&last->phi, t->e.x.n * features_of(&t->m), fab_nn_find(t->m.type)->size,
                            t->who));
    FAB_TRY(find_features(f));
    last->e = t->e;
    last->e.x =
        (fab_rows){.p = last->phi, .type = t->m.type, .n = t->e.x.n, .ld = features_of(&t->m)};
    return fab_joint_open(&last->joint, t->who, &s, t->s.held_out, fab_net_model(last->net), NULL,
                          &last->e, &t->exec);
}

fab_status fab_laplace_last_open(fab_laplace_net *f)
{
    if (!f->s.last_layer || !f->train.m.features || features_of(&f->train.m) < 1) return FAB_OK;
    const fab_status s = open(f);
    if (s != FAB_OK) fab_laplace_last_close(f);
    return s;
}

void fab_laplace_last_close(fab_laplace_net *f)
{
    if (f->last.joint.batches) fab_joint_close(&f->last.joint, fab_net_model(f->last.net));
    fab_net_free(f->last.net);
    fab_release(f->last.phi);
    f->last = (fab_laplace_last){0};
}

double fab_laplace_last_bytes(const fab_laplace_net *f, const fab_model *m, int64_t n)
{
    if (!f->s.last_layer || !m->features) return 0;
    const double H = (double)features_of(m), C = (double)m->outputs, batch = (double)m->batch;
    return (double)fab_nn_find(m->type)->size * ((double)n * H + 2 * batch * (H + C) + 2 * H * C) +
           sizeof(double) * ((double)n + (double)f->s.train.batch * H);
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

fab_train fab_laplace_last_train(const fab_laplace_net *f)
{
    fab_train t = f->train;
    const int64_t first = f->first;
    if (!f->last.net) return t;
    t.m = *fab_net_model(f->last.net);
    t.e = f->last.e;
    t.joint = f->last.joint;
    t.joint.prior.alpha = f->train.joint.prior.alpha;
    t.theta += first;
    t.gradient += first;
    t.good += first;
    if (t.s.held_out > 0) t.best += first;
    if (fab_optim_moments(t.optim.kind) > 0) t.optim.m += first;
    if (fab_optim_moments(t.optim.kind) > 1) t.optim.v += first;
    t.optim.n -= first;
    t.from -= first;
    t.to -= first;
    return t;
}

void fab_laplace_last_done(fab_laplace_net *f, const fab_train *t)
{
    f->train.optim.t = t->optim.t;
    f->train.count = t->count;
    f->train.loss = t->loss;
    f->train.epoch = t->epoch;
    f->train.trend = t->trend;
    f->train.done = t->done;
    f->train.watch = t->watch;
}
