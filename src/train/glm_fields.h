/* glm_fields.h - the rows that every settings table of inference begins with.
 *
 *     #define SETTINGS fab_exact_settings
 *     static const fab_field fields[] = {
 *         GLM_FIELDS,
 *         FIELD(tol, F64, 1e-10, 0, 1, "..."),
 *     };
 *     GLM_LAYOUT(fields);
 *
 * The struct repeats the members of fab_glm_settings (infer.h), in their order, before its own.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_INFER_GLM_FIELDS_H
#define FAB_INFER_GLM_FIELDS_H

#include "base/settings.h"
#include "fabayes/fit.h"
#include "model/likelihoods/likelihood.h"

#define GLM_FIELDS                                                                                 \
    REQUIRED(D, I64, 1, 0x1p40, "features of a row"),                                              \
        CHOICE(likelihood, FAB_LIKELIHOOD_GAUSSIAN, fab_likelihood_names,                          \
               "of the target given its linear predictor"),                                        \
        FIELD(classes, I64, 1, 1, 0x1p20,                                                          \
              "classes of a categorical target; 1 for the other likelihoods"),                     \
        SWITCH(intercept, 1, "the model has an intercept"),                                        \
        AUTOMATIC(alpha, F64, 1e-300, 1e300,                                                       \
                  "prior precision of the coefficients; auto: the method's rule"),                 \
        AUTOMATIC(beta, F64, 1e-300, 1e300,                                                        \
                  "precision of the noise of a gaussian target; auto: the method's rule"),         \
        FIELD(                                                                                     \
            intercept_alpha, F64, 1e-4, 1e-300, 1e300,                                             \
            "prior precision of the intercept; a linear model fitted whole has a free intercept"), \
        FIELD(seed, I64, 1, 0, 0x1p53, "seed of the random numbers, where the method draws any")

/* The table describes the whole struct, and the struct begins as fab_glm_settings does. */
#define GLM_LAYOUT(fields_)                                                            \
    _Static_assert(sizeof(SETTINGS) == 8 * sizeof fields_ / sizeof *fields_,           \
                   "every setting has its row");                                       \
    _Static_assert(offsetof(SETTINGS, seed) == offsetof(fab_glm_settings, seed) &&     \
                       offsetof(SETTINGS, alpha) == offsetof(fab_glm_settings, alpha), \
                   "settings begin with those of fab_glm_settings")

/* The model that settings describe; beta 1 while it is to be chosen or does not apply. */
static inline fab_glm fab_glm_of(const void *settings)
{
    const fab_glm_settings *s = settings;
    const int known = s->likelihood >= 0 && s->likelihood < FAB_LIKELIHOODS &&
                      fab_likelihood_row_of((fab_likelihood)s->likelihood)->noise &&
                      !fab_is_auto_f64(s->beta);
    return (fab_glm){.likelihood = (fab_likelihood)s->likelihood,
                     .D = s->D,
                     .classes = s->classes,
                     .intercept = s->intercept,
                     .beta = known ? s->beta : 1};
}

#endif
