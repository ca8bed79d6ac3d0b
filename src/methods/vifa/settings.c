/* settings.c - the settings of vifa and meanfield, and what auto means for a model.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vifa/vifa.h"
#include "train/model_fields.h"
#include "train/optim.h"
#include <math.h>

static const char *const optimisers[] = {"sgd", "adam", "natural", "newton", "auto", NULL};
static const char *const entropies[] = {"closed", "path", NULL};
static const char *const starts[] = {"zero", "model", NULL};

#define SETTINGS fab_vifa_settings
#define VIFA_FIELDS(K_, most_)                                                                     \
    ALPHA_FIELD, BETA_FIELD,                                                                       \
        AUTOMATIC_AT(                                                                              \
            fab_model_settings, epochs, I64, 1, 0x1p40,                                            \
            "passes over the rows; auto: as many as 8000 steps need, at least 100; a linear "      \
            "model: 400, newton: 40"),                                                             \
        FIELD_AT(fab_model_settings, batch, I64, 32, 1, 0x1p24,                                    \
                 "rows in a step; newton: rows at a time, a step has all"),                        \
        TUNED_AUTO_AT(fab_model_settings, rate, F64, 1e-300, 1e300, LOG, 1e-3, 1e-1,               \
                      "learning rate; auto: 0.005, newton: 1"),                                    \
        SEED_FIELDS(1), FIELD(K, I64, K_, 0, most_, "number of factors; 0: a diagonal"),           \
        AUTOMATIC(draws, I64, 1, 4096,                                                             \
                  "draws of theta in a step; auto: 2, newton: one more than twice the weights"),   \
        SWITCH(pairs, 1, "draws come as h, z and -h, -z, on the same rows"),                       \
        SWITCH(shared, 0, "all draws of a step see the same rows"),                                \
        CHOICE(entropy, FAB_VIFA_PATH, entropies,                                                  \
               "gradients of prior and entropy: in closed form, or sampled with the likelihood"),  \
        CHOICE(optimiser, FAB_VIFA_AUTO, optimisers,                                               \
               "how a gradient becomes a step; auto: newton for a linear model of up to 128 "      \
               "weights when rate and draws are auto, else adam"),                                 \
        AUTOMATIC(rate_F, F64, 1e-300, 1e300,                                                      \
                  "rate of F, in units of rate; auto: 0.1 with adam unless the model is linear, "  \
                  "else 1"),                                                                       \
        FIELD(rate_psi, F64, 1, 1e-300, 1e300, "rate of log psi, in units of rate"),               \
        FIELD(momentum, F64, 0.9, 0, 0.999999, "weight of the past in adam's first moment"),       \
        FIELD(second, F64, 0.999, 0, 0.999999999, "weight of the past in adam's second moment"),   \
        FIELD(epsilon, F64, 1e-8, 1e-300, 1, "added to adam's root"),                              \
        FIELD(reach, F64, 0.5, 1e-300, 1e300,                                                      \
              "natural: largest step of a coordinate, in standard deviations; newton: of an "      \
              "output, unless y is gaussian"),                                                     \
        CHOICE(schedule, FAB_SCHEDULE_COSINE, fab_schedule_names,                                  \
               "how the rate changes during the run"),                                             \
        FIELD(drop, F64, 0.1, 1e-6, 1, "steps: factor of the rate"),                               \
        FIELD(drop_every, F64, 0.4, 1e-6, 1, "steps: part of the run between two of them"),        \
        FIELD(warmup, F64, 0.3, 1e-6, 0.99, "one-cycle: part of the run in which the rate rises"), \
        FIELD(clip, F64, 0, 0, 1e300,                                                              \
              "sgd, adam: largest norm of the gradients of c, F and log psi each; 0: any"),        \
        CHOICE(start, FAB_VIFA_MODEL, starts, "c begins at 0, or where the model would"),          \
        FIELD(start_sd, F64, 0.003, 1e-100, 1e100, "standard deviation of a coordinate at start"), \
        FIELD(start_F, F64, 0.3, 0, 1e6, "entries of F at the start, in units of start_sd"),       \
        AUTOMATIC(map_part, F64, 0, 1,                                                             \
                  "part of the run in which only c moves; auto: 0.1 with adam unless the model "   \
                  "is linear, else 0"),                                                            \
        AUTOMATIC(ramp_part, F64, 0, 1,                                                            \
                  "part of the run after it in which the entropy sets in; auto: 0.3 or what "      \
                  "map_part leaves, with adam unless the model is linear, else 0"),                \
        FIELD(free_after, F64, 0, 0, 1,                                                            \
              "part of the run before the model's free coordinates (noise) move")

static const fab_field fields[] = {VIFA_FIELDS(5, 4096)};
static const fab_field diagonal[] = {VIFA_FIELDS(0, 0)};
MODEL_LAYOUT(fields);
const fab_fields fab_vifa_table = TABLE("vifa", fields),
                 fab_meanfield_table = TABLE("meanfield", diagonal);
#undef SETTINGS

/* What auto means.  Where -log p has many valleys the mean finds one before the spread is let in, and F, all of whose
 * entries adam would move by the rate at once, goes slowly: otherwise the noise that F makes is what the model fits. */
typedef struct values {
    int64_t epochs, draws; /* epochs 0: by steps; draws 0: one more than twice the weights */
    double rate, rate_F, map_part, ramp_part;
} values;
static const values by_newton = {40, 0, 1, 1, 0, 0};
static const values of_a_curved_model_by_adam = {0, 2, 0.005, 0.1, 0.1, 0.3};
static const values otherwise = {400, 2, 0.005, 1, 0, 0};
enum { STEPS = 8000, LEAST_EPOCHS = 100 };

static void set_if_auto(double *setting, double value)
{
    if (fab_is_auto_f64(*setting)) *setting = value;
}

void fab_vifa_resolve(void *settings, const fab_input *in)
{
    const fab_model *m = in->model;
    fab_vifa_settings *s = settings;
    const values *v = &otherwise;
    const int64_t W = m->D - m->free;
    if (s->optimiser == FAB_VIFA_AUTO) {
        const int untouched = fab_is_auto_f64(s->train.rate) && fab_is_auto_i64(s->draws);
        const int small = m->linear && W <= FAB_VIFA_SMALL;
        s->optimiser = untouched && small ? FAB_VIFA_NEWTON : FAB_VIFA_ADAM;
    }
    if (s->optimiser == FAB_VIFA_NEWTON)
        v = &by_newton;
    else if (s->optimiser == FAB_VIFA_ADAM && !m->linear)
        v = &of_a_curved_model_by_adam;
    if (fab_is_auto_i64(s->train.epochs) && v->epochs) s->train.epochs = v->epochs;
    if (fab_is_auto_i64(s->draws)) s->draws = v->draws ? v->draws : 2 * W + 1;
    set_if_auto(&s->train.rate, v->rate);
    set_if_auto(&s->rate_F, v->rate_F);
    const double room = fab_is_auto_f64(s->ramp_part) ? 1 : 1 - s->ramp_part;
    set_if_auto(&s->map_part, fmin(v->map_part, room));
    set_if_auto(&s->ramp_part, fmin(v->ramp_part, 1 - s->map_part));
}

/* A width takes thousands of steps to grow from start_sd, however few rows there are. */
int64_t fab_vifa_epochs(const fab_vifa_settings *s, int64_t steps)
{
    const int64_t epochs = STEPS / (steps > 0 ? steps : 1);
    if (!fab_is_auto_i64(s->train.epochs)) return s->train.epochs;
    return epochs > LEAST_EPOCHS ? epochs : LEAST_EPOCHS;
}
