/* examples.c - gradients of single examples and of outputs: rows, and products without rows.
 *
 *   1  examples: rows through the layers, the head and back; activations and their gradients stay
 *   2  a product asks layer after layer; one that cannot do without rows writes those of its own parameters
 *      into the scratch, some examples at a time
 *   3  a learned noise is one more coordinate, at the end
 *
 * SPDX-License-Identifier: MIT */
#include "model/net/state.h"
#include <string.h>

typedef struct call {
    fab_net *net;
    const double *theta;
    const fab_examples *e;
    void *rows; /* rows or Jacobian */
    int64_t ld;
} call;

/* Layer i and all rows of the batch, with the scratch of products. */
static fab_flow whole(const fab_net *net, int64_t i)
{
    fab_flow f = fab_net_flow(net, i, (fab_part){0, net->n}, 0);
    if (net->layer[i].kind->product_scratch) f.scratch = net->products;
    return f;
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static void examples_task(void *ctx, int64_t b, int thread)
{
    const call *c = ctx;
    const fab_part rows = fab_net_block(c->net->n, b);
    fab_net_load(c->net, &c->e->x, rows);
    fab_net_forward(c->net, rows, thread);
    fab_net_head(c->net, c->theta, c->e, rows, 1);
    fab_net_backward(c->net, rows, thread, 0);
}

static fab_status examples(void *self, const double *theta, const fab_examples *e)
{
    fab_net *net = self;
    call c = {.net = net, .theta = theta, .e = e};
    FAB_TRY(fab_net_take(net, theta, &e->x));
    fab_parallel(fab_net_threads(net, net->n), fab_net_blocks(net->n), examples_task, &c);
    return FAB_OK;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

/* Rows of the block, layer by layer; `step` rows of the output lie between two examples. */
static void write_rows(const fab_net *net, fab_part rows, int thread, void *out, int64_t ld)
{
    for (int64_t i = net->first_params; i < net->L; i++) {
        const fab_layer *l = &net->layer[i];
        if (!l->params) continue;
        const fab_flow f = fab_net_flow(net, i, rows, thread);
        l->kind->rows(l, &f, fab_at(net->nn, out, rows.first * ld + l->at), ld);
    }
}

static void rows_task(void *ctx, int64_t b, int thread)
{
    const call *c = ctx;
    write_rows(c->net, fab_net_block(c->net->n, b), thread, c->rows, c->ld);
}

static void rows(void *self, void *G, int64_t ld)
{
    fab_net *net = self;
    call c = {.net = net, .rows = G, .ld = ld};
    fab_parallel(fab_net_threads(net, net->n), fab_net_blocks(net->n), rows_task, &c);
    if (net->model.free)
        for (int64_t i = 0; i < net->n; i++)
            fab_put(net->nn, G, i * ld + net->weights, net->slope[i]); /* 3 */
}

/* The gradient of one output: del[L] is 1 there and 0 elsewhere. */
static void point_at(fab_net *net, fab_part rows, int64_t o)
{
    const int64_t C = net->model.outputs;
    for (int64_t i = rows.first * C; i < (rows.first + rows.count) * C; i++)
        fab_put(net->nn, net->del[net->L], i, i % C == o);
}

static void jacobian_task(void *ctx, int64_t b, int thread)
{
    const call *c = ctx;
    fab_net *net = c->net;
    const fab_part rows = fab_net_block(net->n, b);
    const int64_t C = net->model.outputs;
    fab_net_load(net, &c->e->x, rows);
    fab_net_forward(net, rows, thread);
    for (int64_t o = 0; o < C; o++) {
        point_at(net, rows, o);
        fab_net_backward(net, rows, thread, 0);
        write_rows(net, rows, thread, fab_at(net->nn, c->rows, o * c->ld), C * c->ld);
    }
}

static fab_status jacobian(void *self, const double *theta, const fab_rows *x, void *J, int64_t ld)
{
    fab_net *net = self;
    const fab_examples e = {.x = *x};
    call c = {.net = net, .theta = theta, .e = &e, .rows = J, .ld = ld};
    FAB_TRY(fab_net_take(net, theta, x));
    fab_parallel(fab_net_threads(net, net->n), fab_net_blocks(net->n), jacobian_task, &c);
    if (net->model.free)
        for (int64_t i = 0; i < net->n * net->model.outputs; i++)
            fab_put(net->nn, J, i * ld + net->weights, 0);
    return FAB_OK;
}

/* ---- 2: products through rows, some examples at a time ------------------------------------------------ */

/* Rows part (count x params) of layer i, in half `side` of the scratch. */
static const void *own_rows(const fab_net *net, int64_t i, fab_part part, int side)
{
    const fab_layer *l = &net->layer[i];
    const fab_flow f = fab_net_flow(net, i, part, 0);
    const int64_t room = fab_net_rows_at_once(l, net->model.batch) * l->params;
    void *G = fab_at(net->nn, net->products, side * room);
    l->kind->rows(l, &f, G, l->params);
    return G;
}

/* Part number b of the examples, and whether there is one. */
static int next_part(const fab_net *net, int64_t i, int64_t b, fab_part *part)
{
    const int64_t step = fab_net_rows_at_once(&net->layer[i], net->model.batch),
                  left = net->n - b * step;
    *part = (fab_part){b * step, left < step ? left : step};
    return left > 0;
}

static void gram_by_rows(const fab_net *net, int64_t i, double *C)
{
    const int64_t n = net->n, p = net->layer[i].params;
    fab_part u, v;
    for (int64_t a = 0; next_part(net, i, a, &u); a++) {
        const void *G = own_rows(net, i, u, 0);
        for (int64_t b = 0; next_part(net, i, b, &v); b++)
            net->nn->cross_rows(u.count, v.count, p, G, a == b ? G : own_rows(net, i, v, 1),
                                C + u.first * n + v.first, n);
    }
}

static void squares_by_rows(const fab_net *net, int64_t i, void *sum)
{
    const int64_t p = net->layer[i].params;
    fab_part u;
    for (int64_t a = 0; next_part(net, i, a, &u); a++) {
        void *G = (void *)(uintptr_t)own_rows(net, i, u, 0);
        net->nn->square(u.count * p, G, G);
        net->nn->column_sums(u.count, p, G, a > 0, sum);
    }
}

static void combine_by_rows(const fab_net *net, int64_t i, int64_t k, const double *V, void *out)
{
    fab_part u;
    for (int64_t a = 0; next_part(net, i, a, &u); a++)
        net->nn->combine_rows(u.count, net->layer[i].params, k, own_rows(net, i, u, 0),
                              V + u.first * k, a > 0, out);
}

static void project_by_rows(const fab_net *net, int64_t i, int64_t k, const void *U, double *out)
{
    fab_part u;
    for (int64_t a = 0; next_part(net, i, a, &u); a++)
        net->nn->project_rows(u.count, net->layer[i].params, k, own_rows(net, i, u, 0), U,
                              out + u.first * k);
}

/* ---- 2: products -------------------------------------------------------------------------------------- */

static void gram(void *self, double *C)
{
    const fab_net *net = self;
    const int64_t n = net->n;
    for (int64_t i = 0; i < n * n; i++) /* 3 */
        C[i] = net->model.free ? net->slope[i / n] * net->slope[i % n] : 0;
    for (int64_t i = net->first_params; i < net->L; i++) {
        const fab_layer *l = &net->layer[i];
        const fab_flow f = whole(net, i);
        if (!l->params) continue;
        if (l->kind->gram)
            l->kind->gram(l, &f, C);
        else
            gram_by_rows(net, i, C);
    }
}

static void squares(void *self, double *sum)
{
    const fab_net *net = self;
    const fab_nn *nn = net->nn;
    for (int64_t i = net->first_params; i < net->L; i++) {
        const fab_layer *l = &net->layer[i];
        const fab_flow f = whole(net, i);
        void *to = fab_at(nn, net->gradient, l->at);
        if (!l->params) continue;
        if (l->kind->squares)
            l->kind->squares(l, &f, to);
        else
            squares_by_rows(net, i, to);
    }
    nn->widen(net->weights, 1, net->gradient, 0, sum);
    if (!net->model.free) return;
    sum[net->weights] = 0; /* 3 */
    for (int64_t i = 0; i < net->n; i++) sum[net->weights] += net->slope[i] * net->slope[i];
}

static void combine(void *self, int64_t k, const double *V, void *out)
{
    const fab_net *net = self;
    const fab_nn *nn = net->nn;
    for (int64_t i = net->first_params; i < net->L; i++) {
        const fab_layer *l = &net->layer[i];
        const fab_flow f = whole(net, i);
        void *to = fab_at(nn, out, l->at * k);
        if (!l->params) continue;
        if (l->kind->combine)
            l->kind->combine(l, &f, k, V, to);
        else
            combine_by_rows(net, i, k, V, to);
    }
    if (!net->model.free) return;
    for (int64_t c = 0; c < k; c++) { /* 3 */
        double sum = 0;
        for (int64_t i = 0; i < net->n; i++) sum += net->slope[i] * V[i * k + c];
        fab_put(nn, out, net->weights * k + c, sum);
    }
}

static void project(void *self, int64_t k, const void *U, double *out)
{
    const fab_net *net = self;
    const fab_nn *nn = net->nn;
    for (int64_t i = 0; i < net->n * k; i++) /* 3 */
        out[i] = net->model.free ? net->slope[i / k] * fab_get(nn, U, net->weights * k + i % k) : 0;
    for (int64_t i = net->first_params; i < net->L; i++) {
        const fab_layer *l = &net->layer[i];
        const fab_flow f = whole(net, i);
        const void *from = fab_at(nn, U, l->at * k);
        if (!l->params) continue;
        if (l->kind->project)
            l->kind->project(l, &f, k, from, out);
        else
            project_by_rows(net, i, k, from, out);
    }
}

void fab_net_offer_examples(fab_model *m)
{
    m->jacobian = jacobian;
    m->examples = examples;
    m->rows = rows;
    m->gram = gram;
    m->squares = squares;
    m->combine = combine;
    m->project = project;
}
