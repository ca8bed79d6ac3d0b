/* state.h - what is inside a network, for the files that make one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_NET_STATE_H
#define FAB_MODEL_NET_STATE_H

#include "base/memory.h"
#include "fabayes/net.h"
#include "la/ops.h"
#include "model/layers/layers.h"

enum {
    FAB_NET_LAYERS = 128, /* at most */
    FAB_NET_BLOCK = 64,   /* rows that go through the layers together, at most */
    FAB_NET_PANEL = 128,  /* rows of a matrix of parameters whose gradient is one task */
};

/* A part of a layer's gradient that one task computes. */
typedef struct fab_net_task {
    int64_t layer;
    fab_part part;
} fab_net_task;

struct fab_net {
    fab_model model;
    fab_noise noise;
    int64_t L;                       /* layers */
    fab_layer layer[FAB_NET_LAYERS]; /* L */
    fab_shape input;
    int64_t has_input;    /* 1: its shape was written */
    int64_t weights;      /* coordinates of theta that are weights: the first of them */
    int64_t first_params; /* the first layer with parameters: gradients go back no further */
    int64_t tasks;        /* parts of gradients */
    int64_t partials;     /* numbers that a block leaves of layers whose gradients have no parts */
    int64_t scratch;      /* numbers a thread needs beside the rows */
    int64_t product_scratch; /* and the products of example gradients */
    int threads;
    size_t bytes;
    const fab_nn *nn;
    uint64_t seed; /* of dropout */
    int64_t step;

    /* The batch at hand. */
    int64_t n;
    const void *typed;             /* theta in the type of the network */
    void *theta;                   /* weights */
    void *gradient;                /* weights */
    const void *x;                 /* n x D: the features, in act[0] or where the caller has them */
    void *act[FAB_NET_LAYERS + 1]; /* batch x outputs of the layer before */
    void *del[FAB_NET_LAYERS + 1]; /* gradients by them */
    void *partial;                 /* blocks x partials */
    void *room;                    /* threads x scratch */
    void *products;                /* product_scratch */
    double *losses;                /* batch: -w log p */
    double *eta, *eta_slope;       /* batch x outputs: of a categorical head */
    double *slope;                 /* batch: by the log noise precision, where it is learned */
    fab_net_task *task;            /* tasks */
};

/* Example gradients of a layer that are written down at a time, where it has no products without rows. */
enum { FAB_NET_ROWS = 1 << 22 }; /* numbers, unless one example has more */
static inline int64_t fab_net_rows_at_once(const fab_layer *l, int64_t n)
{
    const int64_t most = FAB_NET_ROWS / l->params;
    if (most < 1) return 1;
    return most < n ? most : n;
}

/* How n rows are cut into blocks: a function of n alone. */
static inline int64_t fab_net_blocks(int64_t n)
{
    return (n + FAB_NET_BLOCK - 1) / FAB_NET_BLOCK;
}
static inline fab_part fab_net_block(int64_t n, int64_t b)
{
    const int64_t blocks = fab_net_blocks(n), rows = (n + blocks - 1) / blocks, first = b * rows;
    return (fab_part){first, n - first < rows ? n - first : rows};
}

/* fab_net_create; refuses a network whose theta has not D coordinates (0: any) before it takes memory for it. */
fab_status fab_net_init_sized(fab_net **net, const fab_net_plan *p, int64_t D, const fab_exec *x);

/* Layer l as it sees rows part of the batch; thread: whose scratch. */
fab_flow fab_net_flow(const fab_net *net, int64_t l, fab_part rows, int thread);
/* Threads worth starting for n rows. */
int fab_net_threads(const fab_net *net, int64_t n);

/* Take theta, and no more than batch rows, in. */
fab_status fab_net_take(fab_net *net, const double *theta, const fab_rows *x);
/* Rows of the batch through all layers, and back from del[L]; partial: whether layers shall leave theirs. */
void fab_net_load(fab_net *net, const fab_rows *x, fab_part rows);
void fab_net_forward(fab_net *net, fab_part rows, int thread);
void fab_net_backward(fab_net *net, fab_part rows, int thread, int partial);

/* head.c: losses of rows part of the batch; with slopes also the gradient by the outputs in del[L] and by the
 * noise in slope.  e: the examples of the batch. */
void fab_net_head(fab_net *net, const double *theta, const fab_examples *e, fab_part rows,
                  int slopes);
/* Number o of row i of the outputs. */
double fab_net_output(const fab_net *net, int64_t i, int64_t o);

/* text.c: layers from the grammar, with their shapes. */
fab_status fab_net_parse(fab_net *net, const char *text);

/* examples.c: the functions of fab_model for example gradients and Jacobians. */
void fab_net_offer_examples(fab_model *m);
/* outputs.c: those for gradients of the outputs without their Jacobian. */
void fab_net_offer_outputs(fab_net *net);

#endif
