/* curvature.c - the generalised Gauss-Newton matrix of a model over all its rows, a few of them at a time.
 *
 *   for the examples of every batch, as many as have room
 *     1  S = their rows of the matrix                                                     (model/ggn.h)
 *     2  in full:  G += S'S       diagonal:  += columns of S^2      a product:  out += S'(S V)
 *
 * The last layer alone needs no Jacobian: with its inputs a = (phi, 1) and roots R of Lambda, R'R = w Lambda, the rows of an
 * example are R_o (x) a, and
 *
 *     3  block (c, c') of G:  += sum_i (R'R)_cc' a a'      diagonal (h, c):  += (R'R)_cc a_h^2
 *     4  a product, V seen as (features + 1) x (outputs k):  T = a'V,  out += a (R'R T)', R'R = w (diag(p) - p p') of classes
 *
 * Nor does a diagonal of all weights:
 *
 *     5  for every output o: gradients J_i' R_io by one way back, then their squares
 *
 * The batches of epoch 0 are taken in their order, so a sum has the same bits whenever it is made.
 *
 * SPDX-License-Identifier: MIT */
#include "train/curvature.h"
#include "base/memory.h"
#include "la/nn.h"
#include "la/small.h"
#include "model/ggn.h"
#include "model/layers/layers.h"
#include "model/likelihoods/likelihood.h"
#include "model/net/examples.h"
#include <math.h>
#include <string.h>

enum { ROOM = 1 << 20 }; /* numbers of the rows at hand, or one example */

/* What a pass computes of the examples. */
typedef enum route {
    BY_JACOBIAN,
    BY_FEATURES, /* 3, 4 */
    BY_SLOPES    /* 5; nothing but the diagonal */
} route;

struct fab_curvature {
    const char *who;
    fab_model m;
    const double *theta;
    fab_minibatch *batches;
    fab_watch *watch;
    int64_t first, P, columns;
    route route;
    int64_t features; /* BY_FEATURES: of the last layer, its 1 included */
    int64_t most;     /* examples at a time */
    int64_t seen;     /* examples behind us in this pass */
    void *raw;        /* most outputs x D, in the model's type */
    double *wide;     /* most outputs x P: the same in double; NULL: raw is */
    double *out;      /* most x outputs */
    double *SV;       /* most outputs x columns */

    double *R;       /* most x outputs x outputs */
    void *phi;       /* most x (features - 1), in the model's type */
    double *a;       /* most x features: (phi, 1) */
    double *scaled;  /* most x features */
    double *block;   /* features x features */
    double *mean;    /* columns */
    double *slope;   /* BY_SLOPES: most x outputs */
    double *squares; /* BY_SLOPES: D */
};

/* Rows of S, ld numbers apart, in double. */
typedef struct block {
    const double *S;
    int64_t n, ld;
} block;

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_curvature *c = handle;
    const int64_t C = c->m.outputs, rows = c->most * C, H = c->features;
    const size_t size = fab_nn_find(c->m.type)->size;
    const int narrow = c->m.type == FAB_F32;
    c->out = fab_place(l, rows, sizeof(double));
    c->SV = fab_place(l, rows * c->columns, sizeof(double));
    if (c->route == BY_JACOBIAN) {
        c->raw = fab_place(l, rows * c->m.D, size);
        c->wide = narrow ? fab_place(l, rows * c->P, sizeof(double)) : NULL;
        return;
    }
    c->R = fab_place(l, rows * C, sizeof(double));
    if (c->route == BY_FEATURES) {
        c->phi = fab_place(l, c->most * (H - 1), size);
        c->a = fab_place(l, c->most * H, sizeof(double));
        c->scaled = fab_place(l, c->most * H, sizeof(double));
        c->block = fab_place(l, H * H, sizeof(double));
        c->mean = fab_place(l, c->columns, sizeof(double));
    } else {
        c->slope = fab_place(l, rows, sizeof(double));
        c->squares = fab_place(l, c->m.D, sizeof(double));
    }
}

static fab_curvature prototype(const fab_model *m, int64_t first, int64_t P, int64_t columns)
{
    fab_curvature c = {.m = *m, .P = P, .columns = columns, .first = first};
    const int64_t weights = m->D - m->free;
    double numbers = (double)m->D * (double)m->outputs; /* of an example */
    if (m->features && P == m->last && first + P == weights) {
        c.route = BY_FEATURES;
        c.features = m->last / m->outputs;
        numbers = (double)(m->outputs * (m->outputs + columns) + 3 * c.features);
    } else if (columns == 0 && P == weights && m->slopes && m->squares) {
        c.route = BY_SLOPES;
        numbers = (double)(m->outputs * (m->outputs + 2));
    }
    const double fit = floor(ROOM / numbers);
    c.most = (int64_t)fmin(fmax(fit, 1), (double)m->batch);
    return c;
}

fab_status fab_curvature_init(fab_curvature **c, const char *who, const fab_model *m,
                              const double *theta, fab_minibatch *batches, int64_t first, int64_t P,
                              int64_t columns, fab_watch *w)
{
    fab_curvature proto = prototype(m, first, P, columns);
    *c = NULL;
    proto.who = who;
    proto.theta = theta;
    proto.batches = batches;
    proto.watch = w;
    return fab_build((void **)c, sizeof proto, &proto, layout);
}

void fab_curvature_free(fab_curvature *c)
{
    fab_release(c);
}

double fab_curvature_bytes(const fab_model *m, int64_t first, int64_t P, int64_t columns)
{
    const fab_curvature proto = prototype(m, first, P, columns);
    return (double)fab_build_size(sizeof proto, &proto, layout);
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

/* Examples of a pass: `visit` sees them a few at a time. */
typedef fab_status visitor(fab_curvature *c, const fab_examples *e, void *ctx);

static fab_status pass(fab_curvature *c, visitor *visit, void *ctx)
{
    const double numbers = (double)(c->m.outputs * (c->route == BY_FEATURES ? c->P : c->m.D)),
                 work = numbers * (double)(2 + c->columns / 4);
    c->seen = 0;
    for (int64_t i = 0; i < fab_minibatch_steps(c->batches); i++) {
        const fab_examples batch = fab_minibatch_get(c->batches, 0, i);
        for (int64_t first = 0; first < batch.x.n; first += c->most) {
            const int64_t left = batch.x.n - first, n = left < c->most ? left : c->most;
            const fab_examples part = fab_examples_part(&batch, first, n);
            FAB_TRY(visit(c, &part, ctx));
            c->seen += n;
            FAB_TRY(fab_watch_work(c->watch, work * (double)n, c->who, c->seen, 0));
        }
    }
    return FAB_OK;
}

/* The columns of the rows that are asked about. */
static fab_status take_rows(fab_curvature *c, const fab_examples *e, block *b)
{
    const int64_t D = c->m.D, P = c->P, rows = e->x.n * c->m.outputs;
    const fab_status s = fab_ggn_rows(&c->m, c->theta, e, c->out, c->raw, D);
    if (s != FAB_OK) return fab_prefix(s, "%s: ", c->who);
    *b = (block){(const double *)c->raw + c->first, rows, D};
    if (!c->wide) return FAB_OK;
    const float *narrow = (const float *)c->raw + c->first;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < P; i++) c->wide[r * P + i] = (double)narrow[r * D + i];
    *b = (block){c->wide, rows, P};
    return FAB_OK;
}

/* R, and the inputs of the last layer. */
static fab_status take_features(fab_curvature *c, const fab_examples *e)
{
    const int64_t H = c->features, n = e->x.n;
    const fab_nn *nn = fab_nn_find(c->m.type);
    const fab_status s = fab_ggn_roots(&c->m, c->theta, e, c->out, c->R);
    if (s != FAB_OK) return fab_prefix(s, "%s: ", c->who);
    FAB_TRY(c->m.features(c->m.self, c->theta, &e->x, c->phi));
    for (int64_t i = 0; i < n; i++) {
        nn->widen(H - 1, 1, fab_at(nn, c->phi, i * (H - 1)), 0, c->a + i * H);
        c->a[i * H + H - 1] = 1;
    }
    return FAB_OK;
}

/* (R'R)_ab of example i. */
static double lambda(const fab_curvature *c, int64_t i, int64_t a, int64_t b)
{
    const int64_t C = c->m.outputs;
    const double *R = c->R + i * C * C;
    double sum = 0;
    for (int64_t o = 0; o < C; o++) sum += R[o * C + a] * R[o * C + b];
    return sum;
}

static fab_status check_sum(const fab_curvature *c, double sum)
{
    if (isfinite(sum)) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "%s: the curvature of the model is %g at the end of its training",
                    c->who, sum);
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

/* 3: the lower half of G */
static fab_status add_blocks(fab_curvature *c, const fab_examples *e, double *G)
{
    const int64_t C = c->m.outputs, H = c->features, P = c->P, n = e->x.n;
    FAB_TRY(take_features(c, e));
    for (int64_t a = 0; a < C; a++)
        for (int64_t b = 0; b <= a; b++) {
            for (int64_t i = 0; i < n; i++) {
                const double w = lambda(c, i, a, b);
                for (int64_t h = 0; h < H; h++) c->scaled[i * H + h] = w * c->a[i * H + h];
            }
            fab_gemm(FAB_F64, FAB_T, FAB_N, H, H, n, 1, c->a, H, c->scaled, H, 0, c->block, H);
            for (int64_t h = 0; h < H; h++)
                for (int64_t k = 0; k < H; k++) {
                    const int64_t row = h * C + a, column = k * C + b;
                    const int64_t low = row > column ? row : column,
                                  high = row > column ? column : row;
                    if (a == b && k > h) continue; /* its mirror image is there */
                    G[low * P + high] += c->block[h * H + k];
                }
        }
    return FAB_OK;
}

static fab_status add_full(fab_curvature *c, const fab_examples *e, void *ctx)
{
    block b;
    if (c->route == BY_FEATURES) return add_blocks(c, e, ctx);
    FAB_TRY(take_rows(c, e, &b));
    fab_syrk(b.n, c->P, b.S, b.ld, ctx, c->P);
    return FAB_OK;
}

fab_status fab_curvature_full(fab_curvature *c, double *G)
{
    const int64_t P = c->P;
    double trace = 0;
    memset(G, 0, (size_t)(P * P) * sizeof *G);
    FAB_TRY(pass(c, add_full, G));
    for (int64_t i = 0; i < P; i++) {
        trace += G[i * P + i];
        for (int64_t j = 0; j < i; j++) G[j * P + i] = G[i * P + j]; /* its lower half was made */
    }
    return check_sum(c, trace);
}

/* 5 */
static fab_status add_squares_of_slopes(fab_curvature *c, const fab_examples *e, double *diag)
{
    const int64_t C = c->m.outputs;
    const fab_status s = fab_ggn_roots(&c->m, c->theta, e, c->out, c->R);
    if (s != FAB_OK) return fab_prefix(s, "%s: ", c->who);
    for (int64_t o = 0; o < C; o++) {
        for (int64_t i = 0; i < e->x.n; i++)
            memcpy(c->slope + i * C, c->R + (i * C + o) * C, (size_t)C * sizeof *c->slope);
        FAB_TRY(c->m.slopes(c->m.self, c->theta, &e->x, c->slope));
        c->m.squares(c->m.self, c->squares);
        for (int64_t d = 0; d < c->P; d++) diag[d] += c->squares[d];
    }
    return FAB_OK;
}

static fab_status add_squares(fab_curvature *c, const fab_examples *e, void *ctx)
{
    block b;
    double *diag = ctx;
    if (c->route == BY_SLOPES) return add_squares_of_slopes(c, e, diag);
    if (c->route == BY_FEATURES) { /* 3 */
        const int64_t C = c->m.outputs, H = c->features;
        FAB_TRY(take_features(c, e));
        for (int64_t i = 0; i < e->x.n; i++)
            for (int64_t o = 0; o < C; o++) {
                const double w = lambda(c, i, o, o);
                for (int64_t h = 0; h < H; h++)
                    diag[h * C + o] += w * c->a[i * H + h] * c->a[i * H + h];
            }
        return FAB_OK;
    }
    FAB_TRY(take_rows(c, e, &b));
    for (int64_t r = 0; r < b.n; r++)
        for (int64_t i = 0; i < c->P; i++) diag[i] += b.S[r * b.ld + i] * b.S[r * b.ld + i];
    return FAB_OK;
}

fab_status fab_curvature_diag(fab_curvature *c, double *diag)
{
    double trace = 0;
    memset(diag, 0, (size_t)c->P * sizeof *diag);
    FAB_TRY(pass(c, add_squares, diag));
    for (int64_t i = 0; i < c->P; i++) trace += diag[i];
    return check_sum(c, trace);
}

typedef struct product {
    int64_t k;
    const double *V;
    double *out;
} product;

/* 4 */
static fab_status add_product_of_features(fab_curvature *c, const fab_examples *e, const product *v)
{
    const int64_t C = c->m.outputs, H = c->features, k = v->k, n = e->x.n;
    const int several = fab_glm_likelihood(&c->m.head)->several;
    FAB_TRY(take_features(c, e));
    fab_gemm(FAB_F64, FAB_N, FAB_N, n, C * k, H, 1, c->a, H, v->V, C * k, 0, c->SV, C * k);
    for (int64_t i = 0; i < n; i++) {
        const double w = e->weight ? e->weight[i] : 1, *p = c->out + i * C;
        double *T = c->SV + i * C * k, *mean = c->mean; /* C x k; k */
        if (!several) {
            for (int64_t o = 0; o < C * k; o++) T[o] *= p[o / k] * p[o / k];
            continue;
        }
        memset(mean, 0, (size_t)k * sizeof *mean);
        for (int64_t o = 0; o < C; o++)
            for (int64_t j = 0; j < k; j++) mean[j] += p[o] * T[o * k + j];
        for (int64_t o = 0; o < C; o++) /* w (diag(p) - p p') T */
            for (int64_t j = 0; j < k; j++) T[o * k + j] = w * p[o] * (T[o * k + j] - mean[j]);
    }
    fab_gemm(FAB_F64, FAB_T, FAB_N, H, C * k, n, 1, c->a, H, c->SV, C * k, 1, v->out, C * k);
    return FAB_OK;
}

static fab_status add_product(fab_curvature *c, const fab_examples *e, void *ctx)
{
    const product *p = ctx;
    const int64_t k = p->k, P = c->P;
    block b;
    if (c->route == BY_FEATURES) return add_product_of_features(c, e, p);
    FAB_TRY(take_rows(c, e, &b));
    fab_gemm(FAB_F64, FAB_N, FAB_N, b.n, k, P, 1, b.S, b.ld, p->V, k, 0, c->SV, k);
    fab_gemm(FAB_F64, FAB_T, FAB_N, P, k, b.n, 1, b.S, b.ld, c->SV, k, 1, p->out, k);
    return FAB_OK;
}

fab_status fab_curvature_times(fab_curvature *c, int64_t k, const double *V, double *out)
{
    product p = {k, V, out};
    memset(out, 0, (size_t)(c->P * k) * sizeof *out);
    return pass(c, add_product, &p);
}

static fab_status add_rows(fab_curvature *c, const fab_examples *e, void *ctx)
{
    double *S = (double *)ctx + c->seen * c->m.outputs * c->P;
    block b = {0};
    if (c->route == BY_FEATURES) {
        const int64_t C = c->m.outputs, H = c->features;
        FAB_TRY(take_features(c, e));
        for (int64_t r = 0; r < e->x.n * C; r++)
            for (int64_t p = 0; p < c->P; p++)
                S[r * c->P + p] = c->R[r * C + p % C] * c->a[r / C * H + p / C];
        return FAB_OK;
    }
    FAB_TRY(take_rows(c, e, &b));
    for (int64_t r = 0; r < b.n; r++)
        memcpy(S + r * c->P, b.S + r * b.ld, (size_t)c->P * sizeof *S);
    return FAB_OK;
}

fab_status fab_curvature_rows(fab_curvature *c, double *S)
{
    return pass(c, add_rows, S);
}

/* ---- how well theta fits ------------------------------------------------------------------------------ */

static fab_status add_fit(fab_curvature *c, const fab_examples *e, void *ctx)
{
    fab_fit_of_rows *fit = ctx;
    fab_glm g = c->m.head;
    const fab_likelihood_row *l = fab_glm_likelihood(&g);
    double eta[1];
    FAB_TRY(c->m.predict(c->m.self, c->theta, &e->x, c->out));
    for (int64_t i = 0; i < e->x.n; i++) {
        const double w = e->weight ? e->weight[i] : 1, *out = c->out + i * c->m.outputs;
        eta[0] = out[0] + (e->offset ? e->offset[i] : 0);
        if (l->noise) g.beta = fab_model_beta(&c->m, c->theta, out);
        fit->loglik += w * l->loglik(&g, e->y[i], l->several ? out : eta, NULL, NULL);
        fit->weight += w;
        fit->squares += w * (e->y[i] - eta[0]) * (e->y[i] - eta[0]);
    }
    return FAB_OK;
}

fab_status fab_curvature_fit(fab_curvature *c, fab_fit_of_rows *fit)
{
    *fit = (fab_fit_of_rows){0};
    return pass(c, add_fit, fit);
}
