/* example_rows.c - a model that fills the gradients of single examples as rows, as one that keeps them.
 *
 * SPDX-License-Identifier: MIT */
#include "model/example_rows.h"
#include "base/memory.h"
#include "la/ops.h"
#include <string.h>

struct fab_example_rows {
    fab_model m; /* the user's */
    int64_t n;   /* rows of G in use */
    char *G;     /* batch x D, of m.type */
};

static size_t width_of(const fab_example_rows *r)
{
    return (size_t)r->m.D * fab_ops_find("cpu", r->m.type)->size;
}

/* ---- the user's own functions -------------------------------------------------------------------------- */

static fab_status loss(void *self, const double *theta, const fab_examples *e, double *out,
                       double *gradient)
{
    const fab_example_rows *r = self;
    return r->m.loss(r->m.self, theta, e, out, gradient);
}

static void start(void *self, uint64_t seed, double *theta)
{
    const fab_example_rows *r = self;
    r->m.start(r->m.self, seed, theta);
}

static void noise(void *self, uint64_t seed, int64_t step)
{
    const fab_example_rows *r = self;
    r->m.noise(r->m.self, seed, step);
}

static void at(void *self, int draw)
{
    const fab_example_rows *r = self;
    r->m.at(r->m.self, draw);
}

static fab_status fix_beta(void *self, double beta)
{
    const fab_example_rows *r = self;
    return r->m.fix_beta(r->m.self, beta);
}

static fab_status json(void *self, char **text)
{
    const fab_example_rows *r = self;
    return r->m.json(r->m.self, text);
}

static fab_status predict(void *self, const double *theta, const fab_rows *x, double *out)
{
    const fab_example_rows *r = self;
    return r->m.predict(r->m.self, theta, x, out);
}

static fab_status jacobian(void *self, const double *theta, const fab_rows *x, void *J, int64_t ld)
{
    const fab_example_rows *r = self;
    return r->m.jacobian(r->m.self, theta, x, J, ld);
}

/* ---- the gradients of examples ------------------------------------------------------------------------- */

static fab_status examples(void *self, const double *theta, const fab_examples *e)
{
    fab_example_rows *r = self;
    r->n = e->x.n;
    return r->m.gradients(r->m.self, theta, e, r->G, r->m.D);
}

static void rows(void *self, void *G, int64_t ld)
{
    const fab_example_rows *r = self;
    const size_t width = width_of(r), step = width / (size_t)r->m.D * (size_t)ld;
    for (int64_t i = 0; i < r->n; i++)
        memcpy((char *)G + (size_t)i * step, r->G + (size_t)i * width, width);
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_example_rows *r = handle;
    r->G = fab_place(l, r->m.batch, width_of(r));
}

fab_status fab_example_rows_create(fab_example_rows **r, const fab_model *m)
{
    const fab_example_rows proto = {.m = *m};
    *r = NULL;
    return fab_build((void **)r, sizeof proto, &proto, layout);
}

fab_model fab_example_rows_model(fab_example_rows *r)
{
    fab_model m = r->m;
    m.self = r;
    m.loss = loss;
    if (m.start) m.start = start;
    if (m.noise) m.noise = noise;
    if (m.at) m.at = at;
    if (m.fix_beta) m.fix_beta = fix_beta;
    if (m.json) m.json = json;
    if (m.predict) m.predict = predict;
    if (m.jacobian) m.jacobian = jacobian;
    m.examples = examples;
    m.rows = rows;
    m.gram = NULL, m.squares = NULL, m.combine = NULL, m.project = NULL;
    m.features = NULL, m.slopes = NULL, m.covariances = NULL;
    return m;
}

void fab_example_rows_free(fab_example_rows *r)
{
    fab_release(r);
}
