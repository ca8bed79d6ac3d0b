/* model_fields.h - the rows that the settings table of every method for any model begins with.
 *
 *     #define SETTINGS fab_sgd_settings
 *     static const fab_field fields[] = {
 *         MODEL_FIELDS(200, 32, 0.01),
 *         FIELD(momentum, F64, 0.9, 0, 1, "..."),
 *     };
 *     MODEL_LAYOUT(fields);
 *
 * The struct begins with a member `train` that is a fab_model_settings (methods.h) or begins as it does, or with its
 * members in their order.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_MODEL_FIELDS_H
#define FAB_TRAIN_MODEL_FIELDS_H

#include "base/settings.h"
#include "fabayes/methods.h"

#define MODEL_FIELDS(epochs_, batch_, rate_) RUNS_FIELDS(epochs_, batch_, rate_, 1)
#define RUNS_FIELDS(epochs_, batch_, rate_, runs_) \
    ALPHA_FIELD, STEPS_FIELDS(epochs_, batch_, rate_, runs_)
/* Without alpha */
#define STEPS_FIELDS(epochs_, batch_, rate_, runs_) \
    RATED_FIELDS(epochs_, batch_, rate_, 1e-3, 1e-1, runs_)
/* With the range in which tune looks for the rate */
#define RATED_FIELDS(epochs_, batch_, rate_, low_, high_, runs_)                               \
    BETA_FIELD,                                                                                \
        FIELD_AT(fab_model_settings, epochs, I64, epochs_, 1, 0x1p40, "passes over the rows"), \
        FIELD_AT(fab_model_settings, batch, I64, batch_, 1, 0x1p24, "rows in a step"),         \
        TUNED_AT(fab_model_settings, rate, F64, rate_, 1e-300, 1e300, LOG, low_, high_,        \
                 "learning rate"),                                                             \
        SEED_FIELDS(runs_)

/* The parts of them, for a method with rules of its own in the middle. */
#define ALPHA_FIELD                                                            \
    TUNED_AT(fab_model_settings, alpha, F64, 1, 1e-300, 1e300, LOG, 1e-2, 1e2, \
             "prior precision of every weight")
#define BETA_FIELD                                             \
    AUTOMATIC_AT(fab_model_settings, beta, F64, 1e-300, 1e300, \
                 "precision of the noise of a gaussian target; auto: as the model has it")
#define SEED_FIELDS(runs_)                                      \
    FIELD_AT(fab_model_settings, seed, I64, 1, 0, 0x1p53,       \
             "seed of the start, the batches and the draws"),   \
        FIELD_AT(fab_model_settings, runs, I64, runs_, 1, 1000, \
                 "independent runs with seeds seed, seed + 1, .., mixed")

/* The table describes the whole struct. */
#define MODEL_LAYOUT(fields_)                                                \
    _Static_assert(sizeof(SETTINGS) == 8 * sizeof fields_ / sizeof *fields_, \
                   "every setting has its row")

#endif
