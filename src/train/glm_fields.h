/* glm_fields.h - the rows that every settings table of inference begins with.
 *
 *     #define SETTINGS fab_exact_settings
 *     static const fab_field fields[] = {
 *         GLM_FIELDS,
 *         FIELD(tol, F64, 1e-10, 0, 1, "..."),
 *     };
 *     GLM_LAYOUT(fields);
 *
 * The struct begins with a member `glm` that is a fab_glm_settings (methods.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_GLM_FIELDS_H
#define FAB_TRAIN_GLM_FIELDS_H

#include "base/settings.h"
#include "fabayes/methods.h"
#include "model/likelihoods/likelihood.h"

#define GLM_FIELDS                                                                                 \
    AUTOMATIC_AT(fab_glm_settings, alpha, F64, 1e-300, 1e300,                                      \
                 "prior precision of the coefficients; auto: the method's rule"),                  \
        AUTOMATIC_AT(fab_glm_settings, beta, F64, 1e-300, 1e300,                                   \
                     "precision of the noise of a gaussian target; auto: the method's rule"),      \
        FIELD_AT(                                                                                  \
            fab_glm_settings, intercept_alpha, F64, 1e-4, 1e-300, 1e300,                           \
            "prior precision of the intercept; a linear model fitted whole has a free intercept"), \
        FIELD_AT(fab_glm_settings, seed, I64, 1, 0, 0x1p53,                                        \
                 "seed of the random numbers, where the method draws any")

/* The table describes the whole struct, and the struct begins with those of fab_glm_settings. */
#define GLM_LAYOUT(fields_)                                                  \
    _Static_assert(sizeof(SETTINGS) == 8 * sizeof fields_ / sizeof *fields_, \
                   "every setting has its row");                             \
    _Static_assert(offsetof(SETTINGS, glm) == 0, "settings begin with those of fab_glm_settings")

/* The linear model of an input; beta 1 while it is to be chosen or does not apply. */
static inline fab_glm fab_glm_of(const fab_model *m, double beta)
{
    fab_glm g = m->head;
    const fab_likelihood_row *l = fab_likelihood_row_of(g.likelihood);
    g.beta = (l->noise || l->dispersion) && !fab_is_auto_f64(beta) ? beta : 1;
    return g;
}

#endif
