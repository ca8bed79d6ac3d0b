/* optim.h - how a gradient becomes a step: optimisers and schedules of the learning rate.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_OPTIM_H
#define FAB_TRAIN_OPTIM_H

#include "base/memory.h"
#include "fabayes/methods.h"

/* NULL-terminated names for settings tables. */
extern const char *const fab_optimiser_names[5], *const fab_schedule_names[5];

typedef struct fab_optim {
    fab_optimiser kind;
    double momentum, second, epsilon;
    int64_t n; /* coordinates */
    int64_t t; /* steps taken */
    int threads;
    double *m, *v; /* n each, where the optimiser has them: see fab_optim_moments */
} fab_optim;

/* Vectors of length n that an optimiser keeps: 0, 1 or 2. */
int64_t fab_optim_moments(fab_optimiser kind);

/* theta <- theta - rate * (what the optimiser makes of the gradient); decay: adamw's own shrinking of theta,
 * rate * decay each step, of the first `decayed` coordinates. */
void fab_optim_step(fab_optim *o, double rate, const double *gradient, double decay,
                    int64_t decayed, double *theta);
/* Coordinates first .. end - 1 of it, for a caller that shares them among threads and has counted the step in o->t. */
void fab_optim_part(const fab_optim *o, double rate, const double *gradient, double decay,
                    int64_t decayed, double *theta, int64_t first, int64_t end);

/* The learning rate when `part` of the run (0 .. 1) is done. */
typedef struct fab_rates {
    fab_schedule schedule;
    double rate, drop, drop_every, warmup;
} fab_rates;
double fab_rate_at(const fab_rates *r, double part);

/* Scale a gradient of that norm down to norm `most` (0: any). */
void fab_clip(int64_t n, double most, double norm, double *gradient);

#endif
