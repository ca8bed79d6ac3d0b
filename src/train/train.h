/* train.h - training by stochastic gradients: sgd, and the first part of methods that go on from its end.
 *
 *     FAB_TRY(fab_train_init(&f->train, "swag", &s, model, prior, x));    // checks; no memory yet
 *     fab_train_layout(l, &f->train);                                      // in the layout of the handle
 *     fab_train_start(&f->train);
 *     FAB_TRY(fab_train_open(&f->train));
 *     FAB_TRY(fab_train_run(&f->train));                                   // the epochs that are left
 *     FAB_TRY(fab_train_step(&f->train, &batch, rate, &loss));             // and more steps
 *     fab_train_close(&f->train);
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_H
#define FAB_TRAIN_H

#include "base/hooks.h"
#include "train/joint.h"
#include "train/model_fields.h"
#include "train/optim.h"
#include "train/trend.h"

/* The rows of a settings table that repeat fab_sgd_settings. */
#define TRAIN_FIELDS(epochs_, batch_, rate_) TRAIN_RUNS(epochs_, batch_, rate_, 1)
#define TRAIN_RUNS(epochs_, batch_, rate_, runs_) \
    RUNS_FIELDS(epochs_, batch_, rate_, runs_), OPTIMISER_FIELDS
#define OPTIMISER_FIELDS                                                                          \
    CHOICE_AT(fab_sgd_settings, optimiser, FAB_OPTIMISER_ADAM, fab_optimiser_names,               \
              "how a gradient becomes a step"),                                                   \
        FIELD_AT(fab_sgd_settings, momentum, F64, 0.9, 0, 0.999999,                               \
                 "of nesterov; weight of the past in adam's first moment"),                       \
        FIELD_AT(fab_sgd_settings, second, F64, 0.999, 0, 0.999999999,                            \
                 "weight of the past in adam's second moment"),                                   \
        FIELD_AT(fab_sgd_settings, epsilon, F64, 1e-8, 1e-300, 1, "added to adam's root"),        \
        CHOICE_AT(fab_sgd_settings, schedule, FAB_SCHEDULE_COSINE, fab_schedule_names,            \
                  "how the rate changes during the run"),                                         \
        FIELD_AT(fab_sgd_settings, drop, F64, 0.1, 1e-6, 1, "steps: factor of the rate"),         \
        FIELD_AT(fab_sgd_settings, drop_every, F64, 0.4, 1e-6, 1,                                 \
                 "steps: part of the run between two of them"),                                   \
        FIELD_AT(fab_sgd_settings, warmup, F64, 0.3, 1e-6, 0.99,                                  \
                 "one-cycle: part of the run in which the rate rises"),                           \
        FIELD_AT(fab_sgd_settings, clip, F64, 0, 0, 1e300, "largest norm of a gradient; 0: any"), \
        FIELD_AT(fab_sgd_settings, held_out, F64, 0, 0, 0.9,                                      \
                 "part of the rows kept apart, whose score may stop the run"),                    \
        FIELD_AT(fab_sgd_settings, patience, I64, 50, 1, 0x1p40,                                  \
                 "epochs without a better held-out score before the end")

/* How far a training is; saved. */
typedef struct fab_train_counts {
    int64_t epochs; /* done */
    int64_t waited; /* epochs since the best held-out score */
} fab_train_counts;

typedef struct fab_train_losses {
    double train;    /* of the last epoch */
    double held_out; /* after it */
    double best;     /* held out */
} fab_train_losses;

/* An epoch on its way. */
typedef struct fab_epoch {
    double step; /* the next; 0: none was stopped */
    double loss; /* sum over the rows so far */
    double rows;
} fab_epoch;

typedef struct fab_train {
    const char *who; /* the method, for sentences */
    fab_sgd_settings s;
    fab_model m;
    const fab_gauss *given; /* the prior, or NULL */
    fab_exec exec;
    fab_watch watch;
    fab_examples e;
    fab_optim optim;
    double *squares; /* of the gradient, summed chunk by chunk */
    fab_joint joint;
    int64_t total; /* epochs of the method, for the progress hook: s.epochs and what follows */
    int64_t after; /* of them, epochs done after training */
    const char *setting; /* the rate in force: "rate" in training */
    double rate;         /* and its value, for sentences */
    int done;            /* trained */
    fab_epoch epoch;     /* what is done of an epoch that was stopped */
    int64_t from, to;    /* coordinates from .. to - 1 move; all, unless a method says otherwise */
    fab_train_counts count;
    fab_train_losses loss;
    fab_trend trend;                 /* of training, without what follows it */
    double *theta, *gradient, *good; /* D: now, its slope, where the epoch began */
    double *best;                    /* D: of the best held-out score */
} fab_train;

/* Check and fill *t but for its arrays.  Copies *s and *m; borrows m->self and the prior. */
fab_status fab_train_init(fab_train *t, const char *who, const fab_sgd_settings *s,
                          const fab_model *m, const fab_gauss *prior, const fab_exec *x);
void fab_train_layout(fab_layout *l, fab_train *t);
double fab_train_bytes(const fab_sgd_settings *s, const fab_model *m, int64_t n);
void fab_train_start(fab_train *t);

/* Batches of t->e and the prior, for the steps. */
fab_status fab_train_open(fab_train *t);
void fab_train_close(fab_train *t);

/* Open, run, close. */
fab_status fab_train_whole(fab_train *t);

/* Steps 2 - 7 of sgd.c until trained; on failure theta is back where the epoch began.  FAB_STOPPED leaves it in the
 * middle of an epoch, and the next call goes on there. */
fab_status fab_train_run(fab_train *t);
/* One step, 3 - 6. */
fab_status fab_train_step(fab_train *t, const fab_examples *batch, double rate, double *loss);
/* The step is over: count its rows, and tell whoever watches now and then. */
fab_status fab_train_count(fab_train *t, const fab_examples *batch, double loss);
/* Tell whoever watches. */
fab_status fab_train_tell(const fab_train *t);
/* The sentence of a run that left the numbers, naming step and setting. */
fab_status fab_train_not_finite(const fab_train *t, const char *what, double value);

/* The best theta so far, lent. */
const double *fab_train_best(const fab_train *t);
/* The same in q, of the form FAB_FORM_POINT; lends q. */
const fab_gauss *fab_train_point(const fab_train *t, fab_gauss *q);
/* What a report says of training; theta: of the result. */
void fab_train_report(const fab_train *t, const double *theta, fab_report *r);

fab_status fab_train_save(fab_train *t, fab_tensors *file);
fab_status fab_train_load(fab_train *t, const fab_tensors *file);

#endif
