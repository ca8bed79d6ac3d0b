/* layers.h - what a layer is: a row of one table, and a place in a chain.
 *
 * A new layer is one file in layers/ and one line in layers.c.  Its functions see the rows they are to work on
 * (fab_flow) in one precision, behind void pointers, and compute with the kernels of la/nn.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_LAYERS_H
#define FAB_MODEL_LAYERS_H

#include "base/fail.h"
#include "la/nn.h"

/* c channels of h x w numbers; a vector is c x 1 x 1. */
typedef struct fab_shape {
    int64_t c, h, w;
} fab_shape;

typedef struct fab_layer_kind fab_layer_kind;

typedef struct fab_layer {
    const fab_layer_kind *kind;
    char args[24]; /* as written, behind the colon */
    fab_shape in, out;
    int64_t inputs, outputs; /* numbers in them */
    int64_t at, params;      /* its part of theta: weights, then biases */
    int64_t biases;
    int64_t fan_in, fan_out; /* of one weight: the width of its start */
    int64_t scratch;         /* numbers a block needs beside its rows */
    int64_t partner;         /* the other end of a residual, as a number of a layer */
    int64_t number;          /* of this layer */
    fab_window window;       /* conv, pool */
    double rate;             /* dropout */
    int mean;                /* pool */
} fab_layer;

/* Rows on their way through one layer.  Everything is in the precision of nn; matrices have one row per
 * example, without gaps. */
typedef struct fab_flow {
    const fab_nn *nn;
    int64_t n, first;  /* rows here; the number of the first of them in the batch */
    const void *theta; /* of this layer */
    const void *in;
    void *out;
    void *din;        /* gradient by `in`, to be written; NULL: nobody wants it */
    const void *dout; /* gradient by `out` */
    const void *side; /* residual: what flows past */
    void *partial;    /* params: gradient by theta summed over these rows; NULL: nobody wants it */
    void *scratch;
    uint64_t seed; /* dropout */
    int64_t step;  /* < 0: no dropout */
} fab_flow;

/* A part of a layer's parameters: rows first .. first + count - 1 of its matrix. */
typedef struct fab_part {
    int64_t first, count;
} fab_part;

struct fab_layer_kind {
    const char *name;  /* in the grammar */
    int elementwise;   /* out may be in, dout din: it needs no more than its own output */
    int identity;      /* out is in */
    int keeps;         /* its output must stay: nothing may be computed in place of it */
    const char *usage; /* of its arguments; NULL: it takes none */

    /* Read the arguments and, from in, set out, params, biases, fans and scratch. */
    fab_status (*shape)(fab_layer *l);
    void (*forward)(const fab_layer *l, const fab_flow *f);
    void (*backward)(const fab_layer *l,
                     const fab_flow *f); /* and partial, where gradient is NULL */

    /* Layers with parameters. */
    /* A part of the gradient summed over all rows; NULL: backward leaves it in partial. */
    void (*gradient)(const fab_layer *l, const fab_flow *f, fab_part part, void *g);
    void (*rows)(const fab_layer *l, const fab_flow *f, void *G, int64_t ld); /* of every example */

    /* Products of the example gradients without their rows; NULL: through rows. */
    void (*gram)(const fab_layer *l, const fab_flow *f, double *C); /* n x n += */
    void (*squares)(const fab_layer *l, const fab_flow *f, void *sum);
    void (*combine)(const fab_layer *l, const fab_flow *f, int64_t k, const double *V, void *out);
    void (*project)(const fab_layer *l, const fab_flow *f, int64_t k, const void *U, double *out);
    int64_t (*product_scratch)(const fab_layer *l, int64_t n); /* numbers these four need */
    /* n x outputs: the variance of each output where parameters have the variances V, inputs fixed; scratch: n inputs */
    void (*variances)(const fab_layer *l, const fab_flow *f, const void *V, void *out);
    int64_t (*parts)(const fab_layer *l); /* rows of the matrix of parameters */
};

/* The kind of that name, or NULL; the names, for the nearest one. */
const fab_layer_kind *fab_layer_find(const char *name);
enum { FAB_LAYER_KINDS = 64 }; /* room for their names */
int64_t fab_layer_names(const char *names[FAB_LAYER_KINDS]);

/* For shape(): the text "8x3" of a shape; refusals that name the layer and both shapes. */
enum { FAB_SHAPE_TEXT = 72 };
const char *fab_shape_text(fab_shape s, char text[FAB_SHAPE_TEXT]);
int64_t fab_shape_size(fab_shape s);
fab_status fab_layer_refuse(const fab_layer *l, const char *why);
/* A whole number in [1, 2^24] at *text, which moves on; 0: there is none. */
int64_t fab_layer_number(const char **text);
/* The same shape out as in, no parameters. */
fab_status fab_layer_same(fab_layer *l);

/* Element i of an array: its place, to write, to read. */
static inline void *fab_at(const fab_nn *nn, const void *p, int64_t i)
{
    return (char *)(uintptr_t)p + (size_t)i * nn->size;
}

static inline void fab_put(const fab_nn *nn, void *p, int64_t i, double v)
{
    if (nn->type == FAB_F32)
        ((float *)p)[i] = (float)v;
    else
        ((double *)p)[i] = v;
}
static inline double fab_get(const fab_nn *nn, const void *p, int64_t i)
{
    return nn->type == FAB_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

extern const fab_layer_kind fab_layer_dense, fab_layer_relu, fab_layer_tanh, fab_layer_sigmoid;
extern const fab_layer_kind fab_layer_conv, fab_layer_pool, fab_layer_flatten, fab_layer_dropout;
extern const fab_layer_kind fab_layer_fork, fab_layer_join;

#endif
