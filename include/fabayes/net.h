/* net.h - networks: layers in a row, all weights in one theta.
 *
 *     fab_net_plan p = {.layers = "mlp:50", .features = 8, .likelihood = FAB_LIKELIHOOD_GAUSSIAN, .classes = 1,
 *                       .beta = 1};
 *     fab_net *net;
 *     double loss;
 *
 *     fab_net_create(&net, &p, NULL);
 *     const fab_model *m = fab_net_model(net);
 *     double *theta = malloc(m->D * sizeof *theta), *gradient = malloc(m->D * sizeof *gradient);
 *     m->start(m->self, 1, theta);
 *     m->loss(m->self, theta, &examples, &loss, gradient);
 *     fab_net_free(net);
 *
 * Layers, separated by commas; the output layer is added from the likelihood:
 *
 *     input:1x28x28        channels x height x width of a row; without it a row is a vector
 *     dense:64             64 sums with a bias                  relu, tanh, sigmoid
 *     conv:8x3[:same]      8 filters of 3 x 3, with zeros around the image or without
 *     pool:2[:mean]        the largest, or the mean, of 2 x 2   flatten
 *     dropout:0.5          zeros with probability 0.5 in training
 *     residual(...)        the layers inside, plus their input
 *     mlp:64,64[:tanh]     dense:64,relu,dense:64,relu          linear    no layer but the output
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_NET_H
#define FABAYES_NET_H

#include "fabayes/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The noise of a gaussian target. */
typedef enum fab_noise {
    FAB_NOISE_FIXED = 0, /* precision beta */
    FAB_NOISE_LEARNED, /* its logarithm is the last coordinate of theta, which starts at log beta */
    FAB_NOISE_OUTPUT   /* its logarithm is a second output: it depends on x */
} fab_noise;

/* "fixed", "learned", "output", numbered from 0; the one of a name, or FAB_BAD_ARGUMENT. */
FAB_API int64_t fab_noise_count(void);
FAB_API const char *fab_noise_name(fab_noise n);
FAB_API fab_status fab_noise_find(const char *name, fab_noise *n);

typedef struct fab_net_plan {
    const char *layers;
    int64_t features; /* of a row */
    fab_likelihood likelihood;
    int64_t classes; /* categorical: at least 2; otherwise 1 */
    fab_noise noise; /* gaussian */
    double beta;     /* gaussian: > 0 */
    double nu;       /* gaussian: 0, or > 2: noise of Student's t with so many degrees of freedom */
    double floor;    /* gaussian, noise not fixed: its scale is at least this; 0: any */
    int64_t batch;   /* rows at a time: the workspace is sized for them; 0: FAB_NET_BATCH */
} fab_net_plan;

enum { FAB_NET_BATCH = 256 };

typedef struct fab_net fab_net;

/* Build a network in the precision and on the threads of *x.  Copies *p.  Shapes that do not fit are refused,
 * naming the layer and both shapes.  Gives *net. */
FAB_API fab_status fab_net_create(fab_net **net, const fab_net_plan *p, const fab_exec *x);
FAB_API void fab_net_free(fab_net *net); /* takes NULL */

/* The network as a model.  Lends until free. */
FAB_API const fab_model *fab_net_model(const fab_net *net);

/* Bytes it holds. */
FAB_API double fab_net_bytes(const fab_net *net);

/* Its layers in the grammar above, the output layer included.  Gives a string: fab_text_free (settings.h). */
FAB_API fab_status fab_net_text(const fab_net *net, char **text);

/* The network as it stands in a file: {"kind": "network", "features", "likelihood", "classes", "noise", "beta",
 * "nu", "floor", "layers": [{"layer", "in", "out", "offset", "parameters"}]}; of a network in f32 also "dtype".  Gives a
 * string: fab_text_free. */
FAB_API fab_status fab_net_json(const fab_net *net, char **text);
/* Build it again, in the precision of *x, and where that has none (ops NULL) in the one it was made in; trusts nothing.
 * Gives *net. */
FAB_API fab_status fab_net_from_json(fab_net **net, const char *json, int64_t batch,
                                     const fab_exec *x);

#ifdef __cplusplus
}
#endif
#endif
