/* optim.c - how a gradient becomes a step: optimisers and schedules of the learning rate.
 *
 *   sgd        theta -= r g
 *   nesterov   m = b1 m + g;  theta -= r (g + b1 m)
 *   adam       m += (1 - b1)(g - m);  v += (1 - b2)(g^2 - v);
 *              theta -= r (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
 *   adamw      adam, and theta -= r decay theta beside it
 *
 * Kingma and Ba 2015; Loshchilov and Hutter 2019.
 *
 * SPDX-License-Identifier: MIT */
#include "train/optim.h"
#include "la/nn.h"
#include <math.h>

#define PI 3.14159265358979323846
enum { CHUNK = 1 << 15 }; /* coordinates a thread takes at a time */

const char *const fab_optimiser_names[5] = {"sgd", "nesterov", "adam", "adamw", NULL};
const char *const fab_schedule_names[5] = {"constant", "steps", "cosine", "one-cycle", NULL};

int64_t fab_optim_moments(fab_optimiser kind)
{
    if (kind == FAB_OPTIMISER_SGD) return 0;
    return kind == FAB_OPTIMISER_NESTEROV ? 1 : 2;
}

typedef struct call {
    const fab_optim *o;
    double rate, shrink;
    const double *g;
    int64_t decayed;
    double *theta;
} call;

static void plain(const call *c, int64_t first, int64_t end)
{
    for (int64_t d = first; d < end; d++) c->theta[d] -= c->rate * c->g[d];
}

static void nesterov(const call *c, int64_t first, int64_t end)
{
    const double b = c->o->momentum;
    double *m = c->o->m;
    for (int64_t d = first; d < end; d++) {
        m[d] = b * m[d] + c->g[d];
        c->theta[d] -= c->rate * (c->g[d] + b * m[d]);
    }
}

static void adam(const call *c, int64_t first, int64_t end)
{
    const fab_optim *o = c->o;
    const double t = (double)o->t, one = 1 - pow(o->momentum, t), two = 1 - pow(o->second, t);
    fab_nn_find(FAB_F64)->adam(end - first, o->momentum, o->second, c->rate / one, 1 / sqrt(two),
                               o->epsilon, c->g + first, o->m + first, o->v + first,
                               c->theta + first);
}

static void move(const call *c, int64_t first, int64_t end)
{
    const int64_t shrunk = end < c->decayed ? end : c->decayed;
    for (int64_t d = first; d < shrunk; d++) c->theta[d] *= c->shrink;
    if (c->o->kind == FAB_OPTIMISER_SGD)
        plain(c, first, end);
    else if (c->o->kind == FAB_OPTIMISER_NESTEROV)
        nesterov(c, first, end);
    else
        adam(c, first, end);
}

static call call_of(const fab_optim *o, double rate, const double *gradient, double decay,
                    int64_t decayed, double *theta)
{
    const int apart = o->kind == FAB_OPTIMISER_ADAMW;
    return (call){o, rate, 1 - rate * decay, gradient, apart ? decayed : 0, theta};
}

void fab_optim_part(const fab_optim *o, double rate, const double *gradient, double decay,
                    int64_t decayed, double *theta, int64_t first, int64_t end)
{
    const call c = call_of(o, rate, gradient, decay, decayed, theta);
    move(&c, first, end);
}

static void chunk_task(void *ctx, int64_t i, int thread)
{
    const call *c = ctx;
    const int64_t first = i * CHUNK, n = c->o->n;
    (void)thread;
    move(c, first, n - first < CHUNK ? n : first + CHUNK);
}

void fab_optim_step(fab_optim *o, double rate, const double *gradient, double decay,
                    int64_t decayed, double *theta)
{
    call c = call_of(o, rate, gradient, decay, decayed, theta);
    const int64_t chunks = (o->n + CHUNK - 1) / CHUNK;
    o->t++;
    fab_parallel(chunks < 4 ? 1 : o->threads, chunks, chunk_task, &c);
}

double fab_rate_at(const fab_rates *r, double part)
{
    switch (r->schedule) {
    case FAB_SCHEDULE_STEPS: return r->rate * pow(r->drop, floor(part / r->drop_every));
    case FAB_SCHEDULE_COSINE: return r->rate * (1 + cos(PI * part)) / 2;
    case FAB_SCHEDULE_ONE_CYCLE:
        if (part < r->warmup) return r->rate * part / r->warmup;
        return r->rate * (1 + cos(PI * (part - r->warmup) / (1 - r->warmup))) / 2;
    default: return r->rate;
    }
}

void fab_clip(int64_t n, double most, double norm, double *gradient)
{
    const double scale = most / norm;
    if (most > 0 && norm > most)
        for (int64_t d = 0; d < n; d++) gradient[d] *= scale;
}
