/* outputs.c - gradients of a network's outputs without its Jacobian, which has outputs x D numbers for every row.
 *
 *   features      the inputs of the last layer
 *   slopes        gradients J_i' s_i, by one way back; the products of examples.c then know them
 *   covariances   J_i diag(v) J_i'.  The part of a dense layer with inputs a and gradients d_c of output c by its sums z is
 *                 sum_o d_co d_c'o (sum_h a_h^2 v_ho + v_o): one product for all outputs
 *
 * SPDX-License-Identifier: MIT */
#include "model/net/state.h"
#include <string.h>

typedef struct call {
    fab_net *net;
    const fab_rows *x;
    const double *slope; /* n x outputs */
} call;

static void forward_task(void *ctx, int64_t b, int thread)
{
    const call *c = ctx;
    const fab_part rows = fab_net_block(c->net->n, b);
    fab_net_load(c->net, c->x, rows);
    fab_net_forward(c->net, rows, thread);
}

static void slopes_task(void *ctx, int64_t b, int thread)
{
    const call *c = ctx;
    const fab_part rows = fab_net_block(c->net->n, b);
    const int64_t C = c->net->model.outputs;
    forward_task(ctx, b, thread);
    for (int64_t i = rows.first * C; i < (rows.first + rows.count) * C; i++)
        fab_put(c->net->nn, c->net->del[c->net->L], i, c->slope[i]);
    fab_net_backward(c->net, rows, thread, 0);
}

static fab_status features(void *self, const double *theta, const fab_rows *x, void *phi)
{
    fab_net *net = self;
    call c = {net, x, NULL};
    FAB_TRY(fab_net_take(net, theta, x));
    fab_parallel(fab_net_threads(net, net->n), fab_net_blocks(net->n), forward_task, &c);
    memcpy(phi, net->act[net->L - 1],
           (size_t)(net->n * net->layer[net->L - 1].inputs) * net->nn->size);
    return FAB_OK;
}

static fab_status slopes(void *self, const double *theta, const fab_rows *x, const double *slope)
{
    fab_net *net = self;
    call c = {net, x, slope};
    FAB_TRY(fab_net_take(net, theta, x));
    fab_parallel(fab_net_threads(net, net->n), fab_net_blocks(net->n), slopes_task, &c);
    memset(net->slope, 0, (size_t)net->n * sizeof *net->slope); /* of the noise */
    return FAB_OK;
}

/* ---- covariances -------------------------------------------------------------------------------------- */

/* Numbers of scratch that a row needs: d_c of all layers with parameters and all outputs c, then a^2 and the variances of
 * one layer. */
static int64_t numbers_a_row(const fab_net *net)
{
    int64_t gradients = 0, widest = 0;
    for (int64_t i = net->first_params; i < net->L; i++) {
        const fab_layer *l = &net->layer[i];
        if (!l->params) continue;
        gradients += l->outputs;
        if (l->inputs + l->outputs > widest) widest = l->inputs + l->outputs;
    }
    return gradients * net->model.outputs + widest;
}

/* d (outputs of the model x rows x width): the gradients by the sums of every layer, one layer after the other. */
static void take_gradients(fab_net *net, fab_part rows, void *d)
{
    const fab_nn *nn = net->nn;
    const int64_t C = net->model.outputs;
    for (int64_t c = 0; c < C; c++) {
        void *to = d;
        for (int64_t i = rows.first * C; i < (rows.first + rows.count) * C; i++)
            fab_put(nn, net->del[net->L], i, i % C == c);
        fab_net_backward(net, rows, 0, 0);
        for (int64_t i = net->first_params; i < net->L; i++) {
            const fab_layer *l = &net->layer[i];
            if (!l->params) continue;
            const int64_t size = rows.count * l->outputs;
            memcpy(fab_at(nn, to, c * size), fab_at(nn, net->del[i + 1], rows.first * l->outputs),
                   (size_t)size * nn->size);
            to = fab_at(nn, to, C * size);
        }
    }
}

/* out (n x C x C) += sum_o d_co d_c'o z_o;  d: C x n x width, z: n x width */
static void add_products(const fab_nn *nn, int64_t C, int64_t n, int64_t width, const void *d,
                         const void *z, double *out)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t a = 0; a < C; a++)
            for (int64_t b = 0; b <= a; b++) {
                double sum = 0;
                for (int64_t o = 0; o < width; o++)
                    sum += fab_get(nn, d, (a * n + i) * width + o) *
                           fab_get(nn, d, (b * n + i) * width + o) * fab_get(nn, z, i * width + o);
                out[(i * C + a) * C + b] += sum;
                if (a != b) out[(i * C + b) * C + a] += sum;
            }
}

static void add_covariances(fab_net *net, fab_part rows, const void *V, double *out)
{
    const fab_nn *nn = net->nn;
    const int64_t C = net->model.outputs, n = rows.count;
    const void *d = net->products;
    take_gradients(net, rows, net->products);
    for (int64_t i = net->first_params; i < net->L; i++) {
        const fab_layer *l = &net->layer[i];
        if (!l->params) continue;
        const int64_t end = n * numbers_a_row(net);
        void *z = fab_at(nn, net->products, end - n * l->outputs);
        fab_flow f = fab_net_flow(net, i, rows, 0);
        f.scratch = fab_at(nn, net->products, end - n * (l->outputs + l->inputs));
        l->kind->variances(l, &f, fab_at(nn, V, l->at), z);
        add_products(nn, C, n, l->outputs, d, z, out + rows.first * C * C);
        d = fab_at(nn, d, C * n * l->outputs);
    }
}

static fab_status covariances(void *self, const double *theta, const fab_rows *x,
                              const double *variance, double *out)
{
    fab_net *net = self;
    call c = {net, x, NULL};
    const int64_t C = net->model.outputs, room = net->product_scratch / numbers_a_row(net),
                  step = room < FAB_NET_BLOCK ? room : FAB_NET_BLOCK;
    FAB_TRY(fab_net_take(net, theta, x));
    fab_parallel(fab_net_threads(net, net->n), fab_net_blocks(net->n), forward_task, &c);
    memset(out, 0, (size_t)(net->n * C * C) * sizeof *out);
    net->nn->narrow(net->weights, variance, net->gradient);
    for (int64_t first = 0; first < net->n; first += step) {
        const int64_t left = net->n - first;
        add_covariances(net, (fab_part){first, left < step ? left : step}, net->gradient, out);
    }
    return FAB_OK;
}

/* Layers without variances of their own, or more outputs than the scratch has room for, go through the Jacobian. */
void fab_net_offer_outputs(fab_net *net)
{
    int all = net->product_scratch >= numbers_a_row(net);
    for (int64_t i = 0; i < net->L; i++)
        if (net->layer[i].params && !net->layer[i].kind->variances) all = 0;
    net->model.features = features;
    net->model.slopes = slopes;
    net->model.covariances = all ? covariances : NULL;
}
