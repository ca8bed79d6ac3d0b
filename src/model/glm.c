/* glm.c - generalised linear models: sizes, the check of examples, the log-likelihood.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/rows.h"
#include "model/likelihoods/likelihood.h"
#include <math.h>
#include <stdio.h>

enum { TARGET_WORK = 16 }; /* operations of the check of a target */

int64_t fab_glm_size(const fab_glm *m)
{
    return m->classes * (m->D + m->intercept);
}

static fab_status check_target(const char *who, const fab_glm *m, const fab_examples *e, int64_t j)
{
    const fab_likelihood_row *l = fab_glm_likelihood(m);
    if (e->weight && e->weight[j] == 0) return FAB_OK; /* the row is absent */
    if (!l->fits(m, e->y[j]))
        return FAB_FAIL(FAB_BAD_DATA, "%s: row %lld has y = %g, expected %s", who, (long long)j,
                        e->y[j], l->range);
    if (e->weight && !(e->weight[j] > 0 && isfinite(e->weight[j])))
        return FAB_FAIL(FAB_BAD_DATA, "%s: row %lld has weight %g, expected a finite number >= 0",
                        who, (long long)j, e->weight[j]);
    if (e->offset && !isfinite(e->offset[j]))
        return FAB_FAIL(FAB_BAD_DATA, "%s: row %lld has offset %g, expected a finite number", who,
                        (long long)j, e->offset[j]);
    return FAB_OK;
}

fab_status fab_examples_check_watched(const char *who, const fab_glm *m, const fab_examples *e,
                                      fab_watch *w)
{
    char what[64];
    snprintf(what, sizeof what, "%s: check", who);
    FAB_TRY(fab_likelihood_check(who, m->likelihood));
    FAB_TRY(fab_rows_check_watched(who, &e->x, m->D, m->D, w));
    if (e->x.n > 0 && !e->y) return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the examples have no y", who);
    for (int64_t j = 0; j < e->x.n; j++) {
        FAB_TRY(check_target(who, m, e, j));
        FAB_TRY(fab_watch_work(w, TARGET_WORK, what, j, e->x.n));
    }
    return FAB_OK;
}

fab_status fab_examples_check(const char *who, const fab_glm *m, const fab_examples *e)
{
    fab_watch w = fab_watch_of(NULL);
    if (e->weight)
        for (int64_t j = 0; j < e->x.n; j++)
            if (e->weight[j] == 0)
                return FAB_FAIL(FAB_BAD_DATA,
                                "%s: row %lld has weight 0, expected a finite number > 0", who,
                                (long long)j);
    return fab_examples_check_watched(who, m, e, &w);
}

double fab_glm_loglik(const fab_glm *m, double y, const double *eta, double *gradient,
                      double *curvature)
{
    return fab_glm_likelihood(m)->loglik(m, y, eta, gradient, curvature);
}
