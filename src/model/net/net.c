/* net.c - networks: the chain of layers, one workspace, and the loss with its gradient.
 *
 *   1  theta and the rows of the batch are rounded to the network's precision
 *   2  blocks of rows: through the layers, the head, and back                 (threads share the blocks)
 *   3  parts of parameters: the gradient summed over all rows of the batch     (threads share the parts)
 *   4  the average, in double
 *
 * Blocks and parts have sizes that depend on the batch and the network alone, and every number is computed by
 * one task: the same bits for any number of threads.
 *
 * SPDX-License-Identifier: MIT */
#include "base/rows.h"
#include "fabayes/random.h"
#include "model/likelihoods/likelihood.h"
#include "model/net/examples.h"
#include "model/net/state.h"
#include <math.h>
#include <string.h>

static const char *const noise_names[] = {"fixed", "learned", "output"};

enum {
    START_STREAM = 101, /* of the random numbers theta starts from */
    CHUNK = 1 << 15     /* coordinates that a thread rounds at a time */
};
#define MOST_NU 1e6 /* degrees of freedom beyond which t is as good as normal */
/* Multiplications of a batch below which one thread does it.  Waking a second one costs 15 to 40 us.  Gradients of mlp:50,
 * mlp:100,100 and mlp:200,200 on two cores, best time on two threads over best on one (median over median while other
 * programs ran): 5e6  0.93 to 1.0 (1.04 to 1.2),  7e6  0.75 in f32, 1.0 in f64 (1.02 to 1.07),  1.5e7  0.67 in f32, 0.9 in
 * f64 (0.95 to 1.04),  4.5e7  0.6 to 0.9. */
#define SMALL_STEPS 1e7

/* ---- names of noise ---------------------------------------------------------------------------------- */

enum { NOISES = sizeof noise_names / sizeof *noise_names };

int64_t fab_noise_count(void)
{
    return NOISES;
}

const char *fab_noise_name(fab_noise n)
{
    return (int)n >= 0 && (int)n < NOISES ? noise_names[n] : "unknown";
}

fab_status fab_noise_find(const char *name, fab_noise *n)
{
    for (int i = 0; i < NOISES; i++)
        if (name && strcmp(name, noise_names[i]) == 0) {
            *n = (fab_noise)i;
            return FAB_OK;
        }
    return FAB_FAIL(FAB_BAD_ARGUMENT, "there is no noise '%s'; fixed, learned and output are there",
                    name ? name : "");
}

/* ---- the workspace ------------------------------------------------------------------------------------ */

/* Activations and their gradients.  An elementwise layer works in place unless its input must stay; one that
 * changes nothing always does. */
static void place_rows(fab_layout *l, fab_net *net)
{
    const int64_t batch = net->model.batch;
    int stays = 1; /* the features */
    net->act[0] = fab_place(l, batch * net->model.head.D, net->nn->size);
    net->del[0] = fab_place(l, batch * net->model.head.D, net->nn->size);
    for (int64_t i = 0; i < net->L; i++) {
        const fab_layer *layer = &net->layer[i];
        const fab_layer_kind *k = layer->kind;
        const int in_place = k->identity || (k->elementwise && !stays);
        stays = k->keeps || (k->identity && stays);
        net->act[i + 1] = in_place ? net->act[i]
                                   : fab_place(l, batch * layer->outputs, net->nn->size);
        net->del[i + 1] = in_place ? net->del[i]
                                   : fab_place(l, batch * layer->outputs, net->nn->size);
    }
}

static void layout(fab_layout *l, void *handle)
{
    fab_net *net = handle;
    const int64_t batch = net->model.batch, C = net->model.outputs,
                  classes = fab_glm_likelihood(&net->model.head)->several;
    const size_t size = net->nn->size;
    net->theta = fab_place(l, size == sizeof(double) ? 0 : net->weights, size);
    net->gradient = fab_place(l, net->weights, size);
    net->partial = fab_place(l, fab_net_blocks(batch) * net->partials, size);
    net->room = fab_place(l, net->threads * net->scratch, size);
    net->products = fab_place(l, net->product_scratch, size);
    net->losses = fab_place(l, batch, sizeof(double));
    net->slope = fab_place(l, batch, sizeof(double));
    net->eta = fab_place(l, classes * batch * C, sizeof(double));
    net->eta_slope = fab_place(l, classes * batch * C, sizeof(double));
    net->task = fab_place(l, net->tasks, sizeof *net->task);
    place_rows(l, net);
}

/* ---- building ----------------------------------------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Numbers that the example products of a layer need beside its rows. */
static int64_t product_scratch(const fab_layer *l, int64_t batch)
{
    return l->kind->product_scratch ? l->kind->product_scratch(l, batch)
                                    : 2 * fab_net_rows_at_once(l, batch) * l->params;
}

/* Offsets in theta and what the workspace must hold. */
static void count(fab_net *net)
{
    int64_t at = 0;
    net->first_params = -1;
    for (int64_t i = 0; i < net->L; i++) {
        fab_layer *l = &net->layer[i];
        const fab_layer_kind *k = l->kind;
        l->at = at;
        at += l->params;
        net->scratch = larger(net->scratch, l->scratch);
        if (!l->params) continue;
        if (net->first_params < 0) net->first_params = i;
        net->model.last = l->params;
        if (k->gradient) net->tasks += (k->parts(l) + FAB_NET_PANEL - 1) / FAB_NET_PANEL;
        if (!k->gradient) net->partials += l->params;
        net->product_scratch = larger(net->product_scratch, product_scratch(l, net->model.batch));
    }
    net->weights = at;
    net->model.D = at + (net->noise == FAB_NOISE_LEARNED);
    net->model.free = net->noise == FAB_NOISE_LEARNED;
    net->model.linear = net->L == 1 && net->noise != FAB_NOISE_OUTPUT &&
                        net->model.head.nu == 0; /* no layer but the output, -log p convex */
}

static void list_tasks(fab_net *net)
{
    fab_net_task *t = net->task;
    for (int64_t i = 0; i < net->L; i++) {
        const fab_layer *l = &net->layer[i];
        const int64_t rows = l->params && l->kind->gradient ? l->kind->parts(l) : 0;
        for (int64_t r = 0; r < rows; r += FAB_NET_PANEL)
            *t++ = (fab_net_task){i, {r, rows - r < FAB_NET_PANEL ? rows - r : FAB_NET_PANEL}};
    }
}

static fab_status check_plan(const fab_net_plan *p)
{
    FAB_TRY(fab_likelihood_check("network", p->likelihood));
    const fab_likelihood_row *l = fab_likelihood_row_of(p->likelihood);
    if (p->features < 1 || p->features > 1 << 24)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "network: %lld features, expected 1 to 2^24",
                        (long long)p->features);
    const int fits = l->several ? p->classes >= 2 && p->classes <= 1 << 20 : p->classes == 1;
    if (!fits)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "network: classes = %lld, expected %s for a %s target",
                        (long long)p->classes, l->several ? "at least 2" : "1",
                        fab_likelihood_name(p->likelihood));
    if (l->noise && !(p->beta > 0 && isfinite(p->beta)))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "network: beta = %g, expected a noise precision > 0",
                        p->beta);
    if (!l->noise && p->noise != FAB_NOISE_FIXED)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "network: a %s target has no noise to learn",
                        fab_likelihood_name(p->likelihood));
    if (p->nu != 0 && !(l->tailed && p->nu > 2 && p->nu <= MOST_NU))
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "network: nu = %g of a %s target; degrees of freedom are more than 2, at most %g, "
            "and of a gaussian one",
            p->nu, fab_likelihood_name(p->likelihood), MOST_NU);
    if (p->floor != 0 && !(p->floor > 0 && isfinite(p->floor) && p->noise != FAB_NOISE_FIXED))
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "network: the floor of the noise is %g, and the noise %s; expected more than 0, and "
            "a noise that is learned or an output",
            p->floor, fab_noise_name(p->noise));
    if (p->batch < 0 || p->batch > 1 << 24)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "network: batch = %lld, expected 1 to 2^24",
                        (long long)p->batch);
    return FAB_OK;
}

static void describe(fab_net *net, const fab_net_plan *p)
{
    const fab_likelihood_row *l = fab_likelihood_row_of(p->likelihood);
    net->noise = p->noise;
    net->step = -1;
    net->model.batch = p->batch ? p->batch : FAB_NET_BATCH;
    net->model.type = net->nn->type;
    net->model.outputs = l->several ? p->classes : 1;
    if (p->noise == FAB_NOISE_OUTPUT) net->model.outputs = 2;
    net->model.head = (fab_glm){.likelihood = p->likelihood,
                                .D = p->features,
                                .classes = p->classes,
                                .beta = l->noise ? p->beta : 1,
                                .nu = p->nu,
                                .beta_most = p->floor > 0 ? 1 / (p->floor * p->floor) : 0};
}

static void offer(fab_net *net);

static fab_status build(fab_net **out, fab_net *proto, int64_t expected)
{
    fab_layout counted = {0};
    count(proto);
    if (expected && expected != proto->model.D)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "model: it says %lld parameters, its layers have %lld",
                        (long long)expected, (long long)proto->model.D);
    layout(&counted, proto);
    proto->bytes = sizeof *proto + counted.used;
    FAB_TRY(fab_build((void **)out, sizeof *proto, proto, layout));
    list_tasks(*out);
    offer(*out);
    return FAB_OK;
}

fab_status fab_net_init_sized(fab_net **net, const fab_net_plan *p, int64_t D, const fab_exec *x)
{
    fab_net *proto;
    fab_run run;
    *net = NULL;
    FAB_TRY(check_plan(p));
    FAB_TRY(fab_run_init(&run, x, x && x->ops ? x->ops->type : FAB_F64));
    FAB_TRY(fab_alloc_array((void **)&proto, 1, sizeof *proto, "network"));
    *proto = (fab_net){.nn = fab_nn_find(run.ops->type), .threads = run.threads};
    describe(proto, p);
    fab_status s = fab_net_parse(proto, p->layers);
    if (s == FAB_OK) s = build(net, proto, D);
    fab_release(proto);
    return s;
}

fab_status fab_net_create(fab_net **net, const fab_net_plan *p, const fab_exec *x)
{
    return fab_net_init_sized(net, p, 0, x);
}

void fab_net_free(fab_net *net)
{
    fab_release(net);
}

const fab_model *fab_net_model(const fab_net *net)
{
    return &net->model;
}

double fab_net_bytes(const fab_net *net)
{
    return (double)net->bytes;
}

/* ---- where theta starts ------------------------------------------------------------------------------- */

/* The variance of a layer's first weights: He before relu, Glorot before tanh and sigmoid, else 1/fan-in. */
static double start_variance(const fab_net *net, int64_t i)
{
    const fab_layer *l = &net->layer[i];
    const double in = (double)l->fan_in, out = (double)l->fan_out;
    for (int64_t j = i + 1; j < net->L; j++) {
        if (net->layer[j].params) break;
        if (net->layer[j].kind == &fab_layer_relu) return 2 / in;
        if (net->layer[j].kind == &fab_layer_tanh || net->layer[j].kind == &fab_layer_sigmoid)
            return 2 / (in + out);
    }
    return 1 / in;
}

static void start(void *self, uint64_t seed, double *theta)
{
    const fab_net *net = self;
    memset(theta, 0, (size_t)net->model.D * sizeof *theta);
    for (int64_t i = 0; i < net->L; i++) {
        const fab_layer *l = &net->layer[i];
        if (!l->params) continue;
        const double sd = sqrt(start_variance(net, i));
        double *w = theta + l->at;
        fab_random_normal(seed, FAB_PURPOSE_WEIGHTS, START_STREAM, (uint64_t)l->at,
                          l->params - l->biases, FAB_F64, w);
        for (int64_t j = 0; j < l->params - l->biases; j++) w[j] *= sd;
    }
    if (net->noise == FAB_NOISE_LEARNED) theta[net->weights] = log(net->model.head.beta);
}

static void set_noise(void *self, uint64_t seed, int64_t step)
{
    fab_net *net = self;
    net->seed = seed;
    net->step = step;
}

static fab_status fix_beta(void *self, double beta)
{
    fab_net *net = self;
    if (!fab_glm_likelihood(&net->model.head)->noise || net->noise != FAB_NOISE_FIXED)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "network: beta = %g cannot be held: its noise is not a fixed number", beta);
    net->model.head.beta = beta;
    return FAB_OK;
}

static fab_status json(void *self, char **text)
{
    return fab_net_json(self, text);
}

/* ---- 1, 2: rows through the layers -------------------------------------------------------------------- */

int fab_net_threads(const fab_net *net, int64_t n)
{
    return (double)n * (double)net->weights * 3 < SMALL_STEPS ? 1 : net->threads;
}

/* Activations number i; those that are the features stand where the batch has them. */
static const void *activations(const fab_net *net, int64_t i)
{
    return net->act[i] == net->act[0] ? net->x : net->act[i];
}

fab_flow fab_net_flow(const fab_net *net, int64_t i, fab_part rows, int thread)
{
    const fab_layer *l = &net->layer[i];
    const fab_nn *nn = net->nn;
    const int64_t in = rows.first * l->inputs, out = rows.first * l->outputs;
    fab_flow f = {.nn = nn,
                  .n = rows.count,
                  .first = rows.first,
                  .theta = fab_at(nn, net->typed, l->at),
                  .in = fab_at(nn, activations(net, i), in),
                  .out = fab_at(nn, net->act[i + 1], out),
                  .dout = fab_at(nn, net->del[i + 1], out),
                  .scratch = fab_at(nn, net->room, thread * net->scratch),
                  .seed = net->seed,
                  .step = net->step};
    if (i > net->first_params) f.din = fab_at(nn, net->del[i], in);
    if (l->kind == &fab_layer_join) f.side = fab_at(nn, activations(net, l->partner), out);
    if (l->kind == &fab_layer_fork) f.side = fab_at(nn, net->del[l->partner + 1], out);
    return f;
}

typedef struct narrowing {
    const fab_net *net;
    const double *theta;
} narrowing;

static void narrow_task(void *ctx, int64_t i, int thread)
{
    const narrowing *c = ctx;
    const int64_t first = i * CHUNK, left = c->net->weights - first;
    (void)thread;
    c->net->nn->narrow(left < CHUNK ? left : CHUNK, c->theta + first,
                       fab_at(c->net->nn, c->net->theta, first));
}

/* For rows in number n. */
static void take_theta(fab_net *net, const double *theta, int64_t n)
{
    narrowing c = {net, theta};
    net->typed = theta;
    if (net->nn->type == FAB_F64) return;
    fab_parallel(fab_net_threads(net, n), (net->weights + CHUNK - 1) / CHUNK, narrow_task, &c);
    net->typed = net->theta;
}

fab_status fab_net_take(fab_net *net, const double *theta, const fab_rows *x)
{
    if (x->n < 1 || x->n > net->model.batch)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "network: a batch of %lld rows, expected 1 to %lld",
                        (long long)x->n, (long long)net->model.batch);
    net->n = x->n;
    net->x = net->act[0];
    take_theta(net, theta, x->n);
    return FAB_OK;
}

/* Rows that are as the layers want them are read where they stand, by calls that need them no longer than they last. */
static void borrow(fab_net *net, const fab_rows *x)
{
    const int dense = !x->start && fab_rows_stride(x) == 1 && x->ld == net->model.head.D;
    net->x = dense && x->type == net->nn->type ? x->p : net->act[0];
}

void fab_net_load(fab_net *net, const fab_rows *x, fab_part rows)
{
    const int64_t D = net->model.head.D;
    if (net->x != net->act[0]) return;
    for (int64_t i = rows.first; i < rows.first + rows.count; i++)
        fab_nn_load(net->nn, x, i, D, fab_at(net->nn, net->act[0], i * D));
}

void fab_net_forward(fab_net *net, fab_part rows, int thread)
{
    for (int64_t i = 0; i < net->L; i++) {
        const fab_flow f = fab_net_flow(net, i, rows, thread);
        net->layer[i].kind->forward(&net->layer[i], &f);
    }
}

void fab_net_backward(fab_net *net, fab_part rows, int thread, int partial)
{
    void *left =
        fab_at(net->nn, net->partial, rows.first / fab_net_block(net->n, 0).count * net->partials);
    for (int64_t i = net->L - 1; i >= net->first_params; i--) {
        const fab_layer *l = &net->layer[i];
        fab_flow f = fab_net_flow(net, i, rows, thread);
        if (l->params && !l->kind->gradient) {
            if (partial) f.partial = left;
            left = fab_at(net->nn, left, l->params);
        }
        l->kind->backward(l, &f);
    }
}

/* ---- 2 - 4: the loss ---------------------------------------------------------------------------------- */

typedef struct call {
    fab_net *net;
    const double *theta;
    const fab_examples *e;
    double *gradient;
    double share; /* of a loss in the average */
    int first;    /* the gradient is put there, not added */
} call;

static void block_task(void *ctx, int64_t b, int thread)
{
    const call *c = ctx;
    const fab_part rows = fab_net_block(c->net->n, b);
    fab_net_load(c->net, &c->e->x, rows);
    fab_net_forward(c->net, rows, thread);
    fab_net_head(c->net, c->theta, c->e, rows, c->gradient != NULL);
    if (c->gradient) fab_net_backward(c->net, rows, thread, 1);
}

/* Gradients at .. at + n - 1 in double, while they are in the cache. */
static void average(const call *c, int64_t at, int64_t n)
{
    const fab_nn *nn = c->net->nn;
    nn->widen(n, c->share, fab_at(nn, c->net->gradient, at), !c->first, c->gradient + at);
}

static void part_task(void *ctx, int64_t t, int thread)
{
    const call *c = ctx;
    const fab_net_task *task = &c->net->task[t];
    const fab_layer *l = &c->net->layer[task->layer];
    const fab_flow f = fab_net_flow(c->net, task->layer, (fab_part){0, c->net->n}, thread);
    const int64_t width = l->params / l->kind->parts(l);
    l->kind->gradient(l, &f, task->part, fab_at(c->net->nn, c->net->gradient, l->at));
    average(c, l->at + task->part.first * width, task->part.count * width); /* 4 */
}

/* What the blocks left of layers without a part_task, added in order. */
static void add_partials(const call *c)
{
    const fab_net *net = c->net;
    const fab_nn *nn = net->nn;
    const int64_t blocks = fab_net_blocks(net->n);
    int64_t left = 0;
    for (int64_t i = net->L - 1; i >= 0; i--) {
        const fab_layer *l = &net->layer[i];
        if (!l->params || l->kind->gradient) continue;
        void *g = fab_at(nn, net->gradient, l->at);
        memset(g, 0, (size_t)l->params * nn->size);
        for (int64_t b = 0; b < blocks; b++)
            nn->add(l->params, fab_at(nn, net->partial, b * net->partials + left), g);
        average(c, l->at, l->params); /* 4 */
        left += l->params;
    }
}

/* The losses of one batch, added to *sum; its gradients, times share, added to *gradient or (first) put there. */
static fab_status batch_loss(fab_net *net, const double *theta, const fab_examples *e, double share,
                             int first, double *sum, double *gradient)
{
    call c = {net, theta, e, gradient, share, first};
    FAB_TRY(fab_net_take(net, theta, &e->x)); /* 1 */
    borrow(net, &e->x);
    const int threads = fab_net_threads(net, net->n);
    fab_parallel(threads, fab_net_blocks(net->n), block_task, &c); /* 2 */
    for (int64_t i = 0; i < net->n; i++) *sum += net->losses[i];
    if (!gradient) return FAB_OK;
    fab_parallel(threads, net->tasks, part_task, &c); /* 3, 4 */
    if (net->partials) add_partials(&c);
    if (!net->model.free) return FAB_OK;
    if (first) gradient[net->weights] = 0;
    for (int64_t i = 0; i < net->n; i++) gradient[net->weights] += share * net->slope[i];
    return FAB_OK;
}

static fab_status loss(void *self, const double *theta, const fab_examples *e, double *value,
                       double *gradient)
{
    fab_net *net = self;
    const int64_t N = e->x.n, batch = net->model.batch;
    double sum = 0;
    if (N < 1) return FAB_FAIL(FAB_BAD_DATA, "network: an empty batch has no loss");
    for (int64_t first = 0; first < N; first += batch) {
        const fab_examples part =
            fab_examples_part(e, first, N - first < batch ? N - first : batch);
        FAB_TRY(batch_loss(net, theta, &part, 1 / (double)N, first == 0, &sum, gradient));
    }
    *value = sum / (double)N;
    return FAB_OK;
}

static void output_task(void *ctx, int64_t b, int thread)
{
    const call *c = ctx;
    const fab_part rows = fab_net_block(c->net->n, b);
    fab_net_load(c->net, &c->e->x, rows);
    fab_net_forward(c->net, rows, thread);
}

/* Any number of rows. */
static fab_status predict(void *self, const double *theta, const fab_rows *x, double *out)
{
    fab_net *net = self;
    const int64_t batch = net->model.batch, C = net->model.outputs;
    if (x->n < 1) return FAB_FAIL(FAB_BAD_DATA, "network: no rows to predict");
    take_theta(net, theta, x->n);
    for (int64_t first = 0; first < x->n; first += batch) {
        const int64_t left = x->n - first;
        const fab_examples e = {.x = fab_rows_part(x, first, left < batch ? left : batch)};
        call c = {.net = net, .e = &e};
        net->n = e.x.n;
        borrow(net, &e.x);
        fab_parallel(fab_net_threads(net, net->n), fab_net_blocks(net->n), output_task, &c);
        net->nn->widen(net->n * C, 1, net->act[net->L], 0, out + first * C);
    }
    return FAB_OK;
}

static void offer(fab_net *net)
{
    fab_model *m = &net->model;
    m->self = net;
    m->loss = loss;
    m->start = start;
    m->noise = set_noise;
    m->fix_beta = fix_beta;
    m->json = json;
    m->predict = predict;
    m->any_rows = 1;
    fab_net_offer_examples(m);
    fab_net_offer_outputs(net);
}
