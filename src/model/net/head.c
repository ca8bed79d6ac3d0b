/* head.c - the likelihood on top of a network: from its outputs to losses and their slopes.
 *
 * SPDX-License-Identifier: MIT */
#include "model/ggn.h"
#include "model/likelihoods/likelihood.h"
#include "model/net/state.h"
#include <math.h>

double fab_net_output(const fab_net *net, int64_t i, int64_t o)
{
    return fab_get(net->nn, net->act[net->L], i * net->model.outputs + o);
}

static void set_slope(fab_net *net, int64_t i, int64_t o, double v)
{
    fab_put(net->nn, net->del[net->L], i * net->model.outputs + o, v);
}

/* The head of row i: its noise may be a coordinate of theta or an output. */
static fab_glm head_of(const fab_net *net, const double *theta, int64_t i)
{
    fab_glm g = net->model.head;
    if (net->noise == FAB_NOISE_LEARNED) g.beta = fab_glm_beta(&g, theta[net->weights]);
    if (net->noise == FAB_NOISE_OUTPUT) g.beta = fab_glm_beta(&g, fab_net_output(net, i, 1));
    return g;
}

/* Of -log p by the log precision; fit: residual times gradient, beta r^2 of a normal.  At the floor it is 0 where the
 * precision would rise. */
static double noise_slope(const fab_glm *g, double fit)
{
    const double slope = -0.5 * (1 - fit);
    return g->beta_most > 0 && g->beta >= g->beta_most && slope < 0 ? 0 : slope;
}

/* One predictor per row. */
static void one(fab_net *net, const double *theta, const fab_examples *e, int64_t i, int slopes)
{
    const double w = e->weight ? e->weight[i] : 1,
                 eta = fab_net_output(net, i, 0) + (e->offset ? e->offset[i] : 0);
    const fab_glm g = head_of(net, theta, i);
    double d = 0;
    net->losses[i] = -w * fab_glm_loglik(&g, e->y[i], &eta, slopes ? &d : NULL, NULL);
    if (!slopes) return;
    const double by_noise = w * noise_slope(&g, d * (e->y[i] - eta));
    set_slope(net, i, 0, -w * d);
    if (net->noise == FAB_NOISE_OUTPUT) set_slope(net, i, 1, by_noise);
    if (net->noise == FAB_NOISE_LEARNED) net->slope[i] = by_noise;
}

/* Classes: an offset would add to all of them alike and change nothing. */
static void many(fab_net *net, const fab_examples *e, int64_t i, int slopes)
{
    const double w = e->weight ? e->weight[i] : 1;
    const int64_t C = net->model.outputs;
    double *eta = net->eta + i * C, *d = net->eta_slope + i * C;
    for (int64_t o = 0; o < C; o++) eta[o] = fab_net_output(net, i, o);
    net->losses[i] = -w * fab_glm_loglik(&net->model.head, e->y[i], eta, slopes ? d : NULL, NULL);
    if (slopes)
        for (int64_t o = 0; o < C; o++) set_slope(net, i, o, -w * d[o]);
}

void fab_net_head(fab_net *net, const double *theta, const fab_examples *e, fab_part rows,
                  int slopes)
{
    const int several = fab_glm_likelihood(&net->model.head)->several;
    for (int64_t i = rows.first; i < rows.first + rows.count; i++) {
        if (several)
            many(net, e, i, slopes);
        else
            one(net, theta, e, i, slopes);
    }
}
