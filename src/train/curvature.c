/* curvature.c - the generalised Gauss-Newton matrix of a model over all its rows, a few of them at a time.
 *
 *   for the examples of every batch, as many as have room
 *     1  S = their rows of the matrix                                                     (model/ggn.h)
 *     2  in full:  G += S'S       diagonal:  += columns of S^2      a product:  out += S'(S V)
 *
 * The batches of epoch 0 are taken in their order, so a sum has the same bits whenever it is made.
 *
 * SPDX-License-Identifier: MIT */
#include "train/curvature.h"
#include "base/memory.h"
#include "la/small.h"
#include "model/ggn.h"
#include "model/likelihoods/likelihood.h"
#include "model/net/examples.h"
#include <math.h>
#include <string.h>

enum { ROOM = 1 << 20 }; /* numbers of the rows at hand, or one example */

struct fab_curvature {
    const char *who;
    fab_model m;
    const double *theta;
    fab_minibatch *batches;
    fab_watch *watch;
    int64_t first, P, columns;
    int64_t most; /* examples at a time */
    int64_t seen; /* examples behind us in this pass */
    void *raw;    /* most outputs x D, in the model's type */
    double *wide; /* most outputs x P: the same in double; NULL: raw is */
    double *out;  /* most x outputs */
    double *SV;   /* most outputs x columns */
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
    const int64_t rows = c->most * c->m.outputs;
    const int narrow = c->m.type == FAB_F32;
    c->raw = fab_place(l, rows * c->m.D, narrow ? sizeof(float) : sizeof(double));
    c->wide = narrow ? fab_place(l, rows * c->P, sizeof(double)) : NULL;
    c->out = fab_place(l, rows, sizeof(double));
    c->SV = fab_place(l, rows * c->columns, sizeof(double));
}

static fab_curvature prototype(const fab_model *m, int64_t P, int64_t columns)
{
    const int64_t fit = ROOM / (m->D * m->outputs), most = fit < m->batch ? fit : m->batch;
    return (fab_curvature){.m = *m, .P = P, .columns = columns, .most = most > 0 ? most : 1};
}

fab_status fab_curvature_init(fab_curvature **c, const char *who, const fab_model *m,
                              const double *theta, fab_minibatch *batches, int64_t first, int64_t P,
                              int64_t columns, fab_watch *w)
{
    fab_curvature proto = prototype(m, P, columns);
    *c = NULL;
    proto.who = who;
    proto.theta = theta;
    proto.batches = batches;
    proto.watch = w;
    proto.first = first;
    return fab_build((void **)c, sizeof proto, &proto, layout);
}

void fab_curvature_free(fab_curvature *c)
{
    fab_release(c);
}

double fab_curvature_bytes(const fab_model *m, int64_t P, int64_t columns)
{
    const fab_curvature proto = prototype(m, P, columns);
    return (double)fab_build_size(sizeof proto, &proto, layout);
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

/* Examples of a pass: `visit` sees them a few at a time. */
typedef fab_status visitor(fab_curvature *c, const fab_examples *e, void *ctx);

static fab_status pass(fab_curvature *c, visitor *visit, void *ctx)
{
    const double work = (double)(c->m.outputs * c->m.D) * (double)(2 + c->columns / 4);
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

static fab_status check_sum(const fab_curvature *c, double sum)
{
    if (isfinite(sum)) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "%s: the curvature of the model is %g at the end of its training",
                    c->who, sum);
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

static fab_status add_full(fab_curvature *c, const fab_examples *e, void *ctx)
{
    block b;
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

static fab_status add_squares(fab_curvature *c, const fab_examples *e, void *ctx)
{
    block b;
    double *diag = ctx;
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

static fab_status add_product(fab_curvature *c, const fab_examples *e, void *ctx)
{
    const product *p = ctx;
    const int64_t k = p->k, P = c->P;
    block b;
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
