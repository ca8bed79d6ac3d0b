/* dense.c - a dense layer: Z = A W + 1 b'.
 *
 * Its parameters are one matrix of (inputs + 1) x outputs, row-major: W, and the biases as the last row, which
 * meets an input of 1.  With d_i the gradient by z_i and a_i the input, both of example i:
 *
 *   1  forward        Z = A W + 1 b'
 *   2  backward       dA = dZ W'
 *   3  gradient       dW = A' dZ, db = sum_i d_i
 *   4  rows           g_i = a_i (x) d_i, then d_i
 *
 * and without rows (k columns side by side in V and U):
 *
 *   5  gram           g_i . g_j = (a_i . a_j + 1)(d_i . d_j)
 *   6  squares        sum_i g_i^2 = (A^2)' (dZ^2)
 *   7  combine        G' V = A' X, X[i][(o, c)] = d_i[o] V[i][c]
 *   8  project        G U: T = A U, seen as inputs x (outputs k), and row i of it with d_i
 *   9  variances      A^2 V + 1 v', v the last row of V
 *
 * 7 and 8 go through a few outputs at a time, so that their scratch stays at SLAB numbers a row.
 *
 * SPDX-License-Identifier: MIT */
#include "model/layers/layers.h"
#include <string.h>

enum { SLAB = 512 };

static fab_status shape(fab_layer *l)
{
    const char *p = l->args;
    const int64_t width = fab_layer_number(&p);
    if (width < 1 || *p) return fab_layer_refuse(l, "expected dense:WIDTH, a whole number");
    if (l->in.h != 1 || l->in.w != 1)
        return fab_layer_refuse(l, "expected a vector; put flatten before it");
    l->out = (fab_shape){width, 1, 1};
    l->params = (l->inputs + 1) * width;
    l->biases = width;
    l->fan_in = l->inputs;
    l->fan_out = width;
    return FAB_OK;
}

/* 1 */
static void forward(const fab_layer *l, const fab_flow *f)
{
    const void *bias = fab_at(f->nn, f->theta, l->inputs * l->outputs);
    fab_nn_product(f->nn,
                   &(fab_product){FAB_N, FAB_N, f->n, l->outputs, l->inputs, f->in, l->inputs,
                                  f->theta, l->outputs, bias, 0, f->out, l->outputs});
}

/* 2 */
static void backward(const fab_layer *l, const fab_flow *f)
{
    if (!f->din) return;
    fab_nn_product(f->nn,
                   &(fab_product){FAB_N, FAB_T, f->n, l->inputs, l->outputs, f->dout, l->outputs,
                                  f->theta, l->outputs, NULL, 0, f->din, l->inputs});
}

/* out (rows part of inputs + 1, times q) = [A 1]' X, X n x q: what 3, 6 and 7 are.  out is where the part
 * begins, ld apart. */
static void times(const fab_layer *l, const fab_nn *nn, int64_t n, const void *A, fab_part part,
                  int64_t q, const void *X, int64_t ldx, void *out, int64_t ld)
{
    const int64_t end = part.first + part.count,
                  rows = (end > l->inputs ? l->inputs : end) - part.first;
    if (rows > 0)
        fab_nn_product(nn, &(fab_product){FAB_T, FAB_N, rows, q, n, fab_at(nn, A, part.first),
                                          l->inputs, X, ldx, NULL, 0, out, ld});
    if (end > l->inputs) nn->column_sums(n, q, X, 0, fab_at(nn, out, rows * ld));
}

/* 3 */
static void gradient(const fab_layer *l, const fab_flow *f, fab_part part, void *g)
{
    times(l, f->nn, f->n, f->in, part, l->outputs, f->dout, l->outputs,
          fab_at(f->nn, g, part.first * l->outputs), l->outputs);
}

/* 4 */
static void rows(const fab_layer *l, const fab_flow *f, void *G, int64_t ld)
{
    f->nn->outer(f->n, l->inputs, l->outputs, f->in, f->dout, G, ld);
}

/* ---- without rows --------------------------------------------------------------------------------- */

static int64_t product_scratch(const fab_layer *l, int64_t n)
{
    const int64_t slab = SLAB > l->outputs ? SLAB : l->outputs, square = 2 * n * n;
    return square + n * (slab + l->inputs);
}

/* 5 */
static void gram(const fab_layer *l, const fab_flow *f, double *C)
{
    const fab_nn *nn = f->nn;
    const int64_t n = f->n;
    void *a = f->scratch, *d = fab_at(nn, f->scratch, n * n);
    fab_nn_product(nn, &(fab_product){FAB_N, FAB_T, n, n, l->inputs, f->in, l->inputs, f->in,
                                      l->inputs, NULL, 0, a, n});
    fab_nn_product(nn, &(fab_product){FAB_N, FAB_T, n, n, l->outputs, f->dout, l->outputs, f->dout,
                                      l->outputs, NULL, 0, d, n});
    nn->gram_terms(n * n, a, d, C); /* += (a + 1) d */
}

/* 6 */
static void squares(const fab_layer *l, const fab_flow *f, void *sum)
{
    const fab_nn *nn = f->nn;
    const fab_part all = {0, l->inputs + 1};
    void *A2 = f->scratch, *d2 = fab_at(nn, f->scratch, f->n * l->inputs);
    nn->square(f->n * l->inputs, f->in, A2);
    nn->square(f->n * l->outputs, f->dout, d2);
    times(l, nn, f->n, A2, all, l->outputs, d2, l->outputs, sum, l->outputs);
}

/* Outputs taken at a time when each has k columns. */
static int64_t slab(const fab_layer *l, int64_t k)
{
    const int64_t most = SLAB / k > 0 ? SLAB / k : 1;
    return most < l->outputs ? most : l->outputs;
}

/* 7 */
static void combine(const fab_layer *l, const fab_flow *f, int64_t k, const double *V, void *out)
{
    const fab_nn *nn = f->nn;
    const fab_part all = {0, l->inputs + 1};
    const int64_t step = slab(l, k), ld = l->outputs * k;
    for (int64_t o = 0; o < l->outputs; o += step) {
        const int64_t q = l->outputs - o < step ? l->outputs - o : step;
        nn->spread(f->n, q, l->outputs, k, fab_at(nn, f->dout, o), V, f->scratch);
        times(l, nn, f->n, f->in, all, q * k, f->scratch, q * k, fab_at(nn, out, o * k), ld);
    }
}

/* 8 */
static void project(const fab_layer *l, const fab_flow *f, int64_t k, const void *U, double *out)
{
    const fab_nn *nn = f->nn;
    const int64_t step = slab(l, k), ld = l->outputs * k;
    for (int64_t o = 0; o < l->outputs; o += step) {
        const int64_t q = l->outputs - o < step ? l->outputs - o : step;
        const void *bias = fab_at(nn, U, l->inputs * ld + o * k);
        fab_nn_product(nn, &(fab_product){FAB_N, FAB_N, f->n, q * k, l->inputs, f->in, l->inputs,
                                          fab_at(nn, U, o * k), ld, bias, 0, f->scratch, q * k});
        nn->gather(f->n, q, l->outputs, k, f->scratch, fab_at(nn, f->dout, o), out);
    }
}

/* 9 */
static void variances(const fab_layer *l, const fab_flow *f, const void *V, void *out)
{
    const fab_nn *nn = f->nn;
    nn->square(f->n * l->inputs, f->in, f->scratch);
    fab_nn_product(nn, &(fab_product){FAB_N, FAB_N, f->n, l->outputs, l->inputs, f->scratch,
                                      l->inputs, V, l->outputs,
                                      fab_at(nn, V, l->inputs * l->outputs), 0, out, l->outputs});
}

static int64_t parts(const fab_layer *l)
{
    return l->inputs + 1;
}

const fab_layer_kind fab_layer_dense = {
    .name = "dense",
    .usage = "WIDTH",
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .gradient = gradient,
    .rows = rows,
    .gram = gram,
    .squares = squares,
    .combine = combine,
    .project = project,
    .product_scratch = product_scratch,
    .variances = variances,
    .parts = parts,
};
