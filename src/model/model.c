/* model.c - what every model must have.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "model/likelihoods/likelihood.h"
#include <math.h>

fab_status fab_model_check(const char *who, const fab_model *m)
{
    if (m->D < 1 || m->D > (int64_t)1 << 40)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the model has D = %lld, expected 1 to 2^40", who,
                        (long long)m->D);
    if (!m->loss && !m->kernel) return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the model has no loss", who);
    FAB_TRY(fab_likelihood_check(who, m->head.likelihood));
    if (m->free < 0 || m->free >= m->D)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the model has %lld free coordinates of D = %lld",
                        who, (long long)m->free, (long long)m->D);
    if (m->head.D < 1 || m->head.classes < 1 || !(m->head.beta > 0 && isfinite(m->head.beta)))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: the head of the model has %lld features, %lld classes, beta = %g; all "
                        "must be > 0",
                        who, (long long)m->head.D, (long long)m->head.classes, m->head.beta);
    if ((m->predict || m->jacobian || m->examples) && (m->batch < 1 || m->outputs < 1))
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "%s: the model computes %lld outputs of batches of %lld rows; both must be > 0", who,
            (long long)m->outputs, (long long)m->batch);
    return FAB_OK;
}
