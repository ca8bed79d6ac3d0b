/* test_net.c - networks: one list of chains drives the checks of every layer, in both precisions.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/rows.h"
#include "la_allocations.h"
#include "dense.h"
#include "fabayes/net.h"
#include "fabayes/settings.h"
#include "la/nn.h"
#include "la_case.h"
#include "model/net/state.h"
#include "plain.h"

/* ---- the list ----------------------------------------------------------------------------------------- */

typedef struct chain {
    const char *layers;
    int64_t features;
    fab_likelihood likelihood;
    int64_t classes;
    fab_noise noise;
    double nu, floor;
} chain;

static const chain chains[] = {
    {"linear", 7, FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_FIXED},
    {"mlp:5", 3, FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_FIXED},
    {"mlp:50", 8, FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_LEARNED},
    {"mlp:17,9:tanh", 11, FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_OUTPUT},
    {"mlp:33:sigmoid", 1, FAB_LIKELIHOOD_BERNOULLI, 1, FAB_NOISE_FIXED},
    {"mlp:13,1,7", 5, FAB_LIKELIHOOD_POISSON, 1, FAB_NOISE_FIXED},
    {"mlp:19", 29, FAB_LIKELIHOOD_CATEGORICAL, 4, FAB_NOISE_FIXED},
    {"dense:6,tanh,sigmoid,relu,dense:3,dropout:0.3", 4, FAB_LIKELIHOOD_GAUSSIAN, 1,
     FAB_NOISE_FIXED},
    {"input:2x7x5,conv:3x3,relu,pool:2,flatten", 70, FAB_LIKELIHOOD_CATEGORICAL, 3,
     FAB_NOISE_FIXED},
    {"input:1x6x6,conv:4x3:same,tanh,pool:3:mean,conv:5x2,flatten,dense:7,relu", 36,
     FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_LEARNED},
    {"input:1x5x5,pool:2,relu,conv:2x1,flatten", 25, FAB_LIKELIHOOD_BERNOULLI, 1, FAB_NOISE_FIXED},
    {"dense:6,residual(relu,dense:6,tanh,dense:6),relu", 5, FAB_LIKELIHOOD_GAUSSIAN, 1,
     FAB_NOISE_FIXED},
    {"residual(residual(dense:4,relu),dense:4),tanh", 4, FAB_LIKELIHOOD_CATEGORICAL, 3,
     FAB_NOISE_FIXED},
    {"input:2x4x4,residual(conv:2x3:same,relu),flatten,dropout:0.2,residual(tanh)", 32,
     FAB_LIKELIHOOD_POISSON, 1, FAB_NOISE_FIXED},
    {"mlp:6", 3, FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_FIXED, .nu = 2.7},
    {"mlp:6", 3, FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_LEARNED, .nu = 4.1, .floor = 0.1},
    {"mlp:6:tanh", 3, FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_OUTPUT, .nu = 30},
};
enum { CHAINS = sizeof chains / sizeof *chains, MOST = 67 };
static const int64_t batches[] = {1, 2, 13, MOST};
enum { BATCHES = sizeof batches / sizeof *batches };

static fab_exec in_type(fab_dtype type, int64_t threads)
{
    return (fab_exec){.ops = fab_ops_find("cpu", type), .threads = threads};
}

static fab_net *new_net(const chain *c, fab_dtype type, int64_t batch, int64_t threads)
{
    const fab_exec x = in_type(type, threads);
    const fab_net_plan p = {.layers = c->layers,
                            .features = c->features,
                            .likelihood = c->likelihood,
                            .classes = c->classes,
                            .noise = c->noise,
                            .beta = 1.7,
                            .nu = c->nu,
                            .floor = c->floor,
                            .batch = batch};
    fab_net *net;
    assert_ok(fab_net_create(&net, &p, &x));
    return net;
}

static fab_examples some_examples(const chain *c, int64_t n, uint64_t seed)
{
    double *x = doubles(n * c->features), *y = doubles(n), *w = doubles(n), *o = doubles(n);
    la_fill(seed, 1.4, n * c->features, x);
    la_fill(seed + 1, 1, n, y);
    la_fill_positive(seed + 2, 1, n, w);
    la_fill(seed + 3, 0.3, n, o);
    for (int64_t i = 0; i < n; i++) {
        if (c->likelihood == FAB_LIKELIHOOD_BERNOULLI) y[i] = y[i] > 0;
        if (c->likelihood == FAB_LIKELIHOOD_POISSON) y[i] = floor(4 * fabs(y[i]));
        if (c->likelihood == FAB_LIKELIHOOD_CATEGORICAL)
            y[i] = floor((double)c->classes * (0.499 + 0.499 * y[i]));
    }
    return (fab_examples){.x = {x, FAB_F64, n, c->features}, .y = y, .weight = w, .offset = o};
}

/* Seeds 4 and 5 of 1 .. 20 put a corner of a relu within the step of check_gradient. */
static double *some_theta(const fab_model *m)
{
    double *theta = doubles(m->D), *shift = doubles(m->D);
    m->start(m->self, 6, theta);
    la_fill(77, 0.2, m->D, shift);
    for (int64_t d = 0; d < m->D; d++) theta[d] += shift[d]; /* biases too */
    return theta;
}

static double loss_at(const fab_model *m, const double *theta, const fab_examples *e)
{
    double v;
    assert_ok(m->loss(m->self, theta, e, &v, NULL));
    return v;
}

static double *gradient_at(const fab_model *m, const double *theta, const fab_examples *e)
{
    double *g = doubles(m->D), v;
    assert_ok(m->loss(m->self, theta, e, &v, g));
    assert_true(v == loss_at(m, theta, e));
    return g;
}

static double norm(int64_t n, const double *v)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += v[i] * v[i];
    return sqrt(s);
}

/* Largest difference, relative to the norm of b. */
static double off(int64_t n, const double *a, const double *b)
{
    return la_distance(n, a, b) / (norm(n, b) + 1e-3);
}

/* What rounding may leave: sums of a few hundred terms through a few layers. */
static double slack(fab_dtype type)
{
    return 500 * la_eps(type);
}

static double *as_doubles(fab_dtype type, const void *p, int64_t n)
{
    double *v = doubles(n);
    for (int64_t i = 0; i < n; i++)
        v[i] = type == FAB_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
    return v;
}

/* Run `check` on every chain, batch and precision. */
typedef void checker(const chain *c, fab_dtype type, const fab_model *m, const double *theta,
                     const fab_examples *e);

static void for_all(checker *check)
{
    for (int i = 0; i < CHAINS; i++)
        for (int b = 0; b < BATCHES; b++)
            for (int t = 0; t < 2; t++) {
                const fab_dtype type = t ? FAB_F32 : FAB_F64;
                fab_net *net = new_net(&chains[i], type, MOST, 1);
                const fab_model *m = fab_net_model(net);
                const fab_examples e = some_examples(&chains[i], batches[b], 11);
                m->noise(m->self, 3, 2); /* dropout acts */
                check(&chains[i], type, m, some_theta(m), &e);
                fab_net_free(net);
            }
}

/* ---- gradients ---------------------------------------------------------------------------------------- */

/* Central differences with h = 1e-5 are good to h^2 and eps/h times the size of third derivatives and losses. */
static void check_gradient(const chain *c, fab_dtype type, const fab_model *m, const double *theta,
                           const fab_examples *e)
{
    const double h = 1e-5;
    double *at = doubles(m->D), *slope = doubles(m->D);
    memcpy(at, theta, (size_t)m->D * sizeof *at);
    if (type == FAB_F32) return;
    (void)c;
    for (int64_t d = 0; d < m->D; d++) {
        at[d] = theta[d] + h;
        slope[d] = loss_at(m, at, e);
        at[d] = theta[d] - h;
        slope[d] = (slope[d] - loss_at(m, at, e)) / (2 * h);
        at[d] = theta[d];
    }
    assert_true(off(m->D, gradient_at(m, theta, e), slope) < 1e-7);
}

static void gradients_are_the_slopes_of_the_loss(void **state)
{
    (void)state;
    for_all(check_gradient);
}

static void check_single(const chain *c, fab_dtype type, const fab_model *m, const double *theta,
                         const fab_examples *e)
{
    if (type == FAB_F64) return;
    fab_net *net = new_net(c, FAB_F64, MOST, 1);
    const fab_model *wide = fab_net_model(net);
    wide->noise(wide->self, 3, 2);
    const double *g = gradient_at(wide, theta, e);
    assert_true(off(m->D, gradient_at(m, theta, e), g) < slack(FAB_F32));
    assert_true(fabs(loss_at(m, theta, e) - loss_at(wide, theta, e)) <
                slack(FAB_F32) * (1 + fabs(loss_at(wide, theta, e))));
    fab_net_free(net);
}

static void single_precision_agrees_with_double(void **state)
{
    (void)state;
    for_all(check_single);
}

/* ---- rows, Jacobians, products ------------------------------------------------------------------------ */

static double *rows_of(fab_dtype type, const fab_model *m, const double *theta,
                       const fab_examples *e)
{
    const int64_t ld = m->D + 3;
    void *G = doubles(e->x.n * ld);
    double *out = doubles(e->x.n * m->D);
    assert_ok(m->examples(m->self, theta, e));
    m->rows(m->self, G, ld);
    const double *wide = as_doubles(type, G, e->x.n * ld);
    for (int64_t i = 0; i < e->x.n; i++)
        memcpy(out + i * m->D, wide + i * ld, (size_t)m->D * sizeof *out);
    return out;
}

static void check_rows(const chain *c, fab_dtype type, const fab_model *m, const double *theta,
                       const fab_examples *e)
{
    const int64_t n = e->x.n;
    const double *G = rows_of(type, m, theta, e), *g = gradient_at(m, theta, e);
    double *mean = doubles(m->D);
    (void)c;
    memset(mean, 0, (size_t)m->D * sizeof *mean);
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < m->D; d++) mean[d] += G[i * m->D + d] / (double)n;
    assert_true(off(m->D, mean, g) < slack(type));
    m->noise(m->self, 3, -1); /* one row at a time would draw other numbers */
    G = rows_of(type, m, theta, e);
    for (int64_t i = 0; i < n; i += 5) {
        const fab_examples one = {
            .x = {(const double *)e->x.p + i * c->features, FAB_F64, 1, c->features},
            .y = e->y + i,
            .weight = e->weight + i,
            .offset = e->offset + i};
        assert_true(off(m->D, G + i * m->D, gradient_at(m, theta, &one)) < slack(type));
    }
}

static void rows_are_the_gradients_of_single_examples(void **state)
{
    (void)state;
    for_all(check_rows);
}

/* Row i C + o: central differences of output o of row i. */
static double *slopes_of_outputs(const fab_model *m, const double *theta, const fab_rows *x)
{
    const int64_t rows = x->n * m->outputs;
    const double h = 1e-5;
    double *at = doubles(m->D), *up = doubles(rows), *down = doubles(rows),
           *slope = doubles(rows * m->D);
    memcpy(at, theta, (size_t)m->D * sizeof *at);
    for (int64_t d = 0; d < m->D; d++) {
        at[d] = theta[d] + h;
        assert_ok(m->predict(m->self, at, x, up));
        at[d] = theta[d] - h;
        assert_ok(m->predict(m->self, at, x, down));
        at[d] = theta[d];
        for (int64_t i = 0; i < rows; i++) slope[i * m->D + d] = (up[i] - down[i]) / (2 * h);
    }
    return slope;
}

static void check_jacobian(const chain *c, fab_dtype type, const fab_model *m, const double *theta,
                           const fab_examples *e)
{
    const int64_t count = e->x.n * m->outputs * m->D;
    void *J = doubles(count);
    if (e->x.n == MOST) return; /* slow, and nothing new */
    fab_net *net = new_net(c, FAB_F64, MOST, 1);
    const fab_model *exact = fab_net_model(net);
    m->noise(m->self, 3, -1);
    assert_ok(m->jacobian(m->self, theta, &e->x, J, m->D));
    assert_true(off(count, as_doubles(type, J, count), slopes_of_outputs(exact, theta, &e->x)) <
                1e-7 + slack(type));
    fab_net_free(net);
}

static void jacobians_are_the_slopes_of_the_outputs(void **state)
{
    (void)state;
    for_all(check_jacobian);
}

/* The adjoint: an example's gradient is the Jacobian's rows weighed by the slopes of the head. */
static void check_adjoint(const chain *c, fab_dtype type, const fab_model *m, const double *theta,
                          const fab_examples *e)
{
    const int64_t n = e->x.n, C = m->outputs;
    double *eta = doubles(n * C), *d = doubles(C), *sum = doubles(m->D);
    void *raw = doubles(n * C * m->D);
    if (c->noise != FAB_NOISE_FIXED) return;
    m->noise(m->self, 3, -1);
    assert_ok(m->predict(m->self, theta, &e->x, eta));
    assert_ok(m->jacobian(m->self, theta, &e->x, raw, m->D));
    const double *J = as_doubles(type, raw, n * C * m->D), *G = rows_of(type, m, theta, e);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t o = 0; o < C && C == 1; o++) eta[i * C + o] += e->offset[i];
        fab_glm_loglik(&m->head, e->y[i], eta + i * C, d, NULL);
        memset(sum, 0, (size_t)m->D * sizeof *sum);
        for (int64_t o = 0; o < C; o++)
            for (int64_t p = 0; p < m->D; p++)
                sum[p] -= e->weight[i] * d[o] * J[(i * C + o) * m->D + p];
        assert_true(off(m->D, G + i * m->D, sum) < slack(type));
    }
}

static void example_gradients_are_jacobians_times_the_slopes_of_the_head(void **state)
{
    (void)state;
    for_all(check_adjoint);
}

static void check_products(const chain *c, fab_dtype type, const fab_model *m, const double *theta,
                           const fab_examples *e)
{
    enum { K = 3 };
    const int64_t n = e->x.n, D = m->D;
    const double *G = rows_of(type, m, theta, e);
    double *C = doubles(n * n), *want = doubles(n * n + n * K), *sum = doubles(D),
           *squares = doubles(D), *V = doubles(n * K), *U = doubles(D * K), *wide = doubles(D * K),
           *out = doubles(n * K);
    float *narrow = (float *)doubles(D * K);
    (void)c;
    m->gram(m->self, C);
    plain_mm(0, 1, n, n, D, G, G, want);
    assert_true(off(n * n, C, want) < slack(type));
    m->squares(m->self, squares);
    memset(sum, 0, (size_t)D * sizeof *sum);
    for (int64_t i = 0; i < n * D; i++) sum[i % D] += G[i] * G[i];
    assert_true(off(D, squares, sum) < slack(type));
    la_fill(8, 1, n * K, V);
    la_fill(9, 1, D * K, U);
    for (int64_t i = 0; i < D * K; i++) narrow[i] = (float)U[i];
    m->project(m->self, K, type == FAB_F32 ? (const void *)narrow : U, out);
    plain_mm(0, 0, n, K, D, G, U, want);
    assert_true(off(n * K, out, want) < slack(type));
    void *combined = doubles(D * K);
    m->combine(m->self, K, V, combined);
    plain_mm(1, 0, D, K, n, G, V, wide);
    assert_true(off(D * K, as_doubles(type, combined, D * K), wide) < slack(type));
}

static void products_agree_with_rows(void **state)
{
    (void)state;
    for_all(check_products);
}

/* So many parameters that the rows of five examples are not written down at once. */
static void products_of_a_large_layer_go_through_parts_of_the_rows(void **state)
{
    (void)state;
    const chain c = {"input:9x11x11,conv:900x11,relu,flatten", 1089, FAB_LIKELIHOOD_GAUSSIAN, 1,
                     FAB_NOISE_FIXED};
    fab_net *net = new_net(&c, FAB_F32, 5, 1);
    const fab_model *m = fab_net_model(net);
    const fab_examples e = some_examples(&c, 5, 11);
    assert_true(m->D * 5 > FAB_NET_ROWS);
    check_products(&c, FAB_F32, m, some_theta(m), &e);
    fab_net_free(net);
}

/* ---- bits and memory ---------------------------------------------------------------------------------- */

static const chain wide = {"mlp:300,200", 90, FAB_LIKELIHOOD_CATEGORICAL, 5, FAB_NOISE_FIXED},
                   image = {"input:2x20x20,conv:9x3,relu,pool:2,flatten,dense:80,relu", 800,
                            FAB_LIKELIHOOD_CATEGORICAL, 5, FAB_NOISE_FIXED};

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    const chain *const both[] = {&wide, &image};
    for (int i = 0; i < 4; i++) {
        const fab_dtype type = i % 2 ? FAB_F32 : FAB_F64;
        const fab_examples e = some_examples(both[i / 2], 190, 4);
        fab_net *one = new_net(both[i / 2], type, 190, 1),
                *three = new_net(both[i / 2], type, 190, 3);
        const fab_model *a = fab_net_model(one), *b = fab_net_model(three);
        const double *theta = some_theta(a);
        assert_memory_equal(gradient_at(a, theta, &e), gradient_at(b, theta, &e),
                            (size_t)a->D * sizeof(double));
        fab_net_free(one);
        fab_net_free(three);
    }
}

static void a_batch_in_pieces_has_the_same_loss(void **state)
{
    (void)state;
    const fab_examples e = some_examples(&wide, 190, 4);
    fab_net *small = new_net(&wide, FAB_F64, 17, 1), *large = new_net(&wide, FAB_F64, 190, 1);
    const fab_model *a = fab_net_model(small), *b = fab_net_model(large);
    const double *theta = some_theta(a);
    assert_true(off(a->D, gradient_at(a, theta, &e), gradient_at(b, theta, &e)) < slack(FAB_F64));
    fab_net_free(small);
    fab_net_free(large);
}

static void sparse_rows_are_rows(void **state)
{
    (void)state;
    const chain *c = &chains[6];
    fab_examples e = some_examples(c, 13, 4), thin = e;
    double *x = (double *)(uintptr_t)e.x.p, *value = doubles(13 * c->features);
    int64_t start[14] = {0};
    int32_t *index = (int32_t *)doubles(13 * c->features);
    for (int64_t i = 0, k = 0; i < 13 * c->features; i++) {
        if (i % 3) x[i] = 0;
        if (i % 3 == 0) value[k] = x[i], index[k++] = (int32_t)(i % c->features);
        start[i / c->features + 1] = k;
    }
    thin.x = (fab_rows){value, FAB_F64, 13, c->features, start, index};
    for (int t = 0; t < 2; t++) {
        fab_net *net = new_net(c, t ? FAB_F32 : FAB_F64, 13, 1);
        const fab_model *m = fab_net_model(net);
        const double *theta = some_theta(m);
        assert_memory_equal(gradient_at(m, theta, &e), gradient_at(m, theta, &thin),
                            (size_t)m->D * sizeof(double));
        fab_net_free(net);
    }
}

static void nothing_allocates_after_init(void **state)
{
    (void)state;
    for (int i = 0; i < CHAINS && COUNTS_ALLOCATIONS; i++) {
        fab_net *net = new_net(&chains[i], FAB_F32, MOST, 1);
        const fab_model *m = fab_net_model(net);
        const fab_examples e = some_examples(&chains[i], MOST, 11);
        double *theta = some_theta(m), *g = doubles(m->D), *C = doubles(MOST * MOST), v;
        const long before = allocations;
        assert_int_equal(m->loss(m->self, theta, &e, &v, g), FAB_OK);
        assert_int_equal(m->examples(m->self, theta, &e), FAB_OK);
        m->gram(m->self, C);
        m->squares(m->self, g);
        assert_int_equal(allocations, before);
        fab_net_free(net);
    }
}

static void every_instruction_set_multiplies_alike(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 7, 16, 19, 33, 50};
    enum { S = sizeof sizes / sizeof *sizes };
    double *A = doubles(4000), *B = doubles(4000), *C = doubles(4000), *want = doubles(4000);
    la_fill(1, 1, 4000, A);
    la_fill(2, 1, 4000, B);
    for (int which = 0; fab_isa_available(which); which++) {
        fab_isa_force(fab_isa_available(which));
        const fab_nn *nn = fab_nn_find(FAB_F64);
        for (int i = 0; i < 3 * S * S * S; i++) {
            const int form = i / (S * S * S);
            const int64_t m = sizes[i % S], n = sizes[i / S % S], k = sizes[i / S / S % S];
            const fab_trans ta = form == 1 ? FAB_T : FAB_N, tb = form == 2 ? FAB_T : FAB_N;
            la_fill(3, 1, m * n, C);
            plain_mm(ta == FAB_T, tb == FAB_T, m, n, k, A, B, want);
            for (int64_t j = 0; j < m * n; j++) want[j] += A[3000 + j % n] + C[j];
            nn->product(&(fab_product){ta, tb, m, n, k, A, ta == FAB_T ? m : k, B,
                                       tb == FAB_T ? k : n, A + 3000, 1, C, n});
            assert_true(la_distance(m * n, C, want) < 1e-13);
        }
    }
    fab_isa_force(NULL);
}

/* ---- text, JSON, bad input ---------------------------------------------------------------------------- */

static void networks_read_back_from_text_and_json(void **state)
{
    (void)state;
    for (int i = 0; i < CHAINS; i++) {
        char *text, *json, *again;
        fab_net *net = new_net(&chains[i], FAB_F64, 3, 1), *back;
        assert_ok(fab_net_json(net, &json));
        assert_ok(fab_net_text(net, &text));
        assert_ok(fab_net_from_json(&back, json, 3, NULL));
        assert_ok(fab_net_json(back, &again));
        assert_string_equal(json, again);
        assert_non_null(strstr(text, "dense:"));
        fab_text_free(again);
        assert_ok(fab_net_text(back, &again));
        assert_string_equal(text, again);
        fab_text_free(text);
        fab_text_free(json);
        fab_text_free(again);
        fab_net_free(net);
        fab_net_free(back);
    }
}

static void bad_layers_are_refused_with_their_shapes(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "no layers"},
        {"mlp:", "expected mlp:WIDTH"},
        {"mlp:5,:tanh", "expected mlp:WIDTH"},
        {"mlp:5:dense", "expected mlp:WIDTH"},
        {"dense", "layer 1, dense, gets 12"},
        {"dense:0", "expected dense:WIDTH"},
        {"dense:5,relu:3", "layer 2, relu:3, gets 5: expected no arguments"},
        {"densse:5", "did you mean 'dense'?"},
        {"dense:5,,relu", "there is no layer ''"},
        {"dense:5,", "expected a comma or the end"},
        {"input:1x3x5,flatten", "has 15 numbers, a row has 12"},
        {"input:1x3", "expected input:CHANNELSxHEIGHTxWIDTH"},
        {"input:12,", "and layers"}, /* its file would be one that nobody reads */
        {"input:1x3x4,dense:5", "gets 1x3x4: expected a vector"},
        {"input:1x3x4,conv:2x5", "gets 1x3x4: the filter is larger"},
        {"input:1x3x4,conv:2x2:same", "odd side"},
        {"input:1x3x4,conv:2", "expected conv:FILTERSxSIDE"},
        {"input:1x3x4,pool:4", "gets 1x3x4: the square is larger"},
        {"dropout:1", "P in [0, 1)"},
        {"residual(dense:5)", "gets 12 and makes 5 of it"},
        {"residual(dense:12", "is not closed"},
        {"dense:3,re\x01lu", "byte 10 of its layers is the control character 0x01"},
        {"dense:5)", "closes no residual"},
        {"dense:99999999999999999999", "expected dense:WIDTH"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const fab_net_plan p = {.layers = bad[i][0], .features = 12, .classes = 1, .beta = 1};
        fab_net *net;
        assert_refused(fab_net_create(&net, &p, NULL), FAB_BAD_ARGUMENT, bad[i][1]);
        assert_null(net);
    }
}

static void residuals_open_no_deeper_than_there_may_be_layers(void **state)
{
    (void)state;
    enum { DEEPEST = 128 };
    static const char word[] = "residual(";
    char text[(DEEPEST + 1) * sizeof word] = "";
    fab_net_plan p = {.layers = text, .features = 12, .classes = 1, .beta = 1};
    fab_net *net;
    for (int i = 0; i < DEEPEST; i++) strcat(text, word);
    assert_refused(fab_net_create(&net, &p, NULL), FAB_BAD_ARGUMENT,
                   "residual( of layer 128 is not closed");
    strcat(text, word);
    assert_refused(fab_net_create(&net, &p, NULL), FAB_BAD_ARGUMENT, "more than 128 layers");
}

/* Random words of the grammar: refused with a sentence, or a network that reads back. */
static void any_text_is_refused_or_read_back(void **state)
{
    (void)state;
    static const char *const words[] = {
        "dense:5", "dense:12",  "relu",    "tanh",        ",",        ",",
        ",",       "residual(", ")",       ":",           "conv:2x3", "pool",
        "pool:2",  "mlp:",      "flatten", "dropout:.5",  "x",        "7",
        ":same",   ":mean",     "-",       "input:1x3x4,"};
    enum { WORDS = sizeof words / sizeof *words, TRIES = 20000, LONGEST = 9 };
    double *u = doubles(LONGEST + 1);
    int64_t built = 0;
    for (uint64_t t = 0; t < TRIES; t++) {
        char text[200] = "", *json, *again;
        fab_net *net, *back;
        fab_random_uniform(7, FAB_PURPOSE_DATA, t, 0, LONGEST + 1, u);
        for (int w = 0; w < (int)(LONGEST * u[LONGEST]) + 1; w++)
            strcat(text, words[(int)(WORDS * u[w])]);
        const fab_net_plan p = {
            .layers = text, .features = 12, .classes = 1, .beta = 1, .batch = 1};
        const fab_status s = fab_net_create(&net, &p, NULL);
        assert_true(s == FAB_OK || (s == FAB_BAD_ARGUMENT && strstr(fab_detail(), "network: ")));
        if (s != FAB_OK) continue;
        built++;
        assert_ok(fab_net_json(net, &json));
        assert_ok(fab_net_from_json(&back, json, 1, NULL));
        assert_ok(fab_net_json(back, &again));
        assert_string_equal(json, again);
        fab_text_free(json);
        fab_text_free(again);
        fab_net_free(net);
        fab_net_free(back);
    }
    assert_true(built > TRIES / 50);
}

static void bad_plans_are_refused(void **state)
{
    (void)state;
    const fab_net_plan good = {.layers = "mlp:5", .features = 12, .classes = 1, .beta = 1};
    fab_net_plan p = good;
    fab_net *net;
    p.features = 0;
    assert_refused(fab_net_create(&net, &p, NULL), FAB_BAD_ARGUMENT, "0 features");
    p = good, p.beta = NAN;
    assert_refused(fab_net_create(&net, &p, NULL), FAB_BAD_ARGUMENT, "beta = nan");
    p = good, p.classes = 3;
    assert_refused(fab_net_create(&net, &p, NULL), FAB_BAD_ARGUMENT, "expected 1 for a gaussian");
    p.likelihood = FAB_LIKELIHOOD_CATEGORICAL, p.classes = 1;
    assert_refused(fab_net_create(&net, &p, NULL), FAB_BAD_ARGUMENT, "at least 2");
    p.classes = 3, p.noise = FAB_NOISE_LEARNED;
    assert_refused(fab_net_create(&net, &p, NULL), FAB_BAD_ARGUMENT, "no noise to learn");
    p = good, p.nu = 2;
    assert_refused(fab_net_create(&net, &p, NULL), FAB_BAD_ARGUMENT, "nu = 2 ");
    p = good, p.floor = 0.1;
    assert_refused(fab_net_create(&net, &p, NULL), FAB_BAD_ARGUMENT, "floor of the noise is 0.1");
}

/* Beyond the floor the loss does not change, and the gradient leads back but never further. */
static void noise_stays_above_its_floor(void **state)
{
    (void)state;
    const chain c = {"linear", 2, FAB_LIKELIHOOD_GAUSSIAN, 1, FAB_NOISE_LEARNED, .floor = 0.5};
    fab_net *net = new_net(&c, FAB_F64, 8, 1);
    const fab_model *m = fab_net_model(net);
    fab_examples e = some_examples(&c, 8, 1);
    double *theta = some_theta(m), *y = doubles(8), out[8];
    theta[m->D - 1] = log(4) + 1;
    const double far = loss_at(m, theta, &e);
    assert_true(gradient_at(m, theta, &e)[m->D - 1] > 0); /* rows far off ask for more noise */
    assert_ok(m->predict(m->self, theta, &e.x, out));
    for (int64_t i = 0; i < 8; i++) y[i] = out[i] + e.offset[i];
    e.y = y;
    assert_true(gradient_at(m, theta, &e)[m->D - 1] == 0); /* rows that fit would have less */
    e.y = some_examples(&c, 8, 1).y;
    theta[m->D - 1] = log(4);
    assert_true(fabs(loss_at(m, theta, &e) - far) < 1e-14 * far);
    fab_net_free(net);
}

/* The precision stands in the file, and a caller that names one has it. */
static void json_says_the_precision(void **state)
{
    (void)state;
    const fab_exec f64 = {.ops = fab_ops_find("cpu", FAB_F64)};
    fab_net *net = new_net(&chains[0], FAB_F32, 3, 1), *back;
    char *json;
    assert_ok(fab_net_json(net, &json));
    assert_non_null(strstr(json, "\"dtype\": \"f32\""));
    assert_ok(fab_net_from_json(&back, json, 3, NULL));
    assert_int_equal(fab_net_model(back)->type, FAB_F32);
    fab_net_free(back);
    assert_ok(fab_net_from_json(&back, json, 3, &f64));
    assert_int_equal(fab_net_model(back)->type, FAB_F64);
    fab_net_free(back);
    fab_net_free(net);
    fab_text_free(json);
}

/* Rows beyond the batch are predicted in pieces, in both precisions and from rows of both. */
static void any_number_of_rows_is_predicted(void **state)
{
    (void)state;
    enum { ROWS = 11 };
    for (int i = 0; i < CHAINS; i++)
        for (int t = 0; t < 2; t++) {
            fab_net *net = new_net(&chains[i], t ? FAB_F32 : FAB_F64, 4, 1);
            const fab_model *m = fab_net_model(net);
            const fab_examples e = some_examples(&chains[i], ROWS, 1);
            double *theta = some_theta(m), *all = doubles(ROWS * m->outputs),
                   *one = doubles(m->outputs);
            assert_true(m->any_rows);
            assert_ok(m->predict(m->self, theta, &e.x, all));
            for (int64_t r = 0; r < ROWS; r++) {
                const fab_rows row = fab_rows_part(&e.x, r, 1);
                assert_ok(m->predict(m->self, theta, &row, one));
                for (int64_t o = 0; o < m->outputs; o++)
                    assert_true(all[r * m->outputs + o] == one[o]);
            }
            fab_net_free(net);
        }
}

static void bad_json_is_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"{", "not JSON"},
        {"{\"kind\": \"linear\"}", "not 'network'"},
        {"{\"kind\": \"network\", \"likelihood\": \"gaussian\", \"noise\": \"fixed\", "
         "\"features\": 2, \"dtype\": \"f16\", "
         "\"classes\": 1, \"beta\": 1, \"parameters\": 3, \"layers\": [{\"layer\": \"dense:1\"}]}",
         "its dtype is 'f16'"},
        {"{\"kind\": \"network\", \"likelihood\": \"cauchy\"}", "not known"},
        {"{\"kind\": \"network\", \"likelihood\": \"gaussian\", \"noise\": \"fixed\", "
         "\"features\": 2, "
         "\"classes\": 1, \"beta\": 1, \"parameters\": 4, \"layers\": [{\"layer\": \"dense:1\"}]}",
         "it says 4 parameters, its layers have 3"},
        {"{\"kind\": \"network\", \"likelihood\": \"gaussian\", \"noise\": \"fixed\", "
         "\"features\": 2, "
         "\"classes\": 1, \"beta\": 1, \"parameters\": 4, \"layers\": []}",
         "there is no layer '?'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fab_net *net;
        assert_refused(fab_net_from_json(&net, bad[i][0], 0, NULL), FAB_BAD_FILE, bad[i][1]);
        assert_null(net);
    }
}

static void batches_must_fit(void **state)
{
    (void)state;
    fab_net *net = new_net(&chains[1], FAB_F64, 4, 1);
    const fab_model *m = fab_net_model(net);
    fab_examples e = some_examples(&chains[1], 5, 1);
    double *theta = some_theta(m), v;
    assert_refused(m->examples(m->self, theta, &e), FAB_BAD_ARGUMENT, "expected 1 to 4");
    e.x.n = 0;
    assert_refused(m->loss(m->self, theta, &e, &v, NULL), FAB_BAD_DATA, "empty batch");
    assert_true(fab_net_bytes(net) > 1000);
    fab_net_free(net);
}

static fab_status open_and_close(void)
{
    const fab_net_plan p = {
        .layers = "residual(dense:12)", .features = 12, .classes = 1, .beta = 1};
    fab_net *net;
    const fab_status s = fab_net_create(&net, &p, NULL);
    fab_net_free(net);
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(open_and_close) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gradients_are_the_slopes_of_the_loss),
        TEST(single_precision_agrees_with_double),
        TEST(rows_are_the_gradients_of_single_examples),
        TEST(jacobians_are_the_slopes_of_the_outputs),
        TEST(example_gradients_are_jacobians_times_the_slopes_of_the_head),
        TEST(products_agree_with_rows),
        TEST(products_of_a_large_layer_go_through_parts_of_the_rows),
        TEST(threads_do_not_change_a_bit),
        TEST(a_batch_in_pieces_has_the_same_loss),
        TEST(sparse_rows_are_rows),
        TEST(nothing_allocates_after_init),
        TEST(every_instruction_set_multiplies_alike),
        TEST(networks_read_back_from_text_and_json),
        TEST(bad_layers_are_refused_with_their_shapes),
        TEST(residuals_open_no_deeper_than_there_may_be_layers),
        TEST(any_text_is_refused_or_read_back),
        TEST(bad_plans_are_refused),
        TEST(noise_stays_above_its_floor),
        TEST(bad_json_is_refused),
        TEST(json_says_the_precision),
        TEST(any_number_of_rows_is_predicted),
        TEST(batches_must_fit),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
