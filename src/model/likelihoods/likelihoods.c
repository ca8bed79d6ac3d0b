/* likelihoods.c - the list of likelihoods: rows, names, and how to find one.
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/likelihood.h"
#include "base/fail.h"
#include "base/settings.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

#define ROW(id, name, text)  [FAB_LIKELIHOOD_##id] = &fab_likelihood_##name,
#define NAME(id, name, text) [FAB_LIKELIHOOD_##id] = text,
static const fab_likelihood_row *const rows[FAB_LIKELIHOODS] = {FAB_LIKELIHOOD_LIST(ROW)};
const char *const fab_likelihood_names[FAB_LIKELIHOODS + 1] = {FAB_LIKELIHOOD_LIST(NAME)};

static int is_listed(fab_likelihood l)
{
    return (int)l >= 0 && (int)l < FAB_LIKELIHOODS;
}

int64_t fab_likelihood_count(void)
{
    return FAB_LIKELIHOODS;
}

const char *fab_likelihood_name(fab_likelihood l)
{
    return is_listed(l) ? rows[l]->name : "unknown";
}

fab_status fab_likelihood_find(const char *name, fab_likelihood *l)
{
    for (int i = 0; i < FAB_LIKELIHOODS; i++)
        if (name && strcmp(name, rows[i]->name) == 0) {
            *l = (fab_likelihood)i;
            return FAB_OK;
        }
    return fab_no_such(FAB_BAD_ARGUMENT, "likelihood", name ? name : "", fab_likelihood_names,
                       FAB_LIKELIHOODS, "");
}

int fab_likelihood_has_beta(fab_likelihood l)
{
    return is_listed(l) && (rows[l]->noise || rows[l]->dispersion);
}

fab_status fab_likelihood_check(const char *who, fab_likelihood l)
{
    if (is_listed(l)) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: likelihood %d, expected one of 0 .. %d", who, (int)l,
                    FAB_LIKELIHOODS - 1);
}

const fab_likelihood_row *fab_likelihood_row_of(fab_likelihood l)
{
    assert(is_listed(l));
    return rows[l];
}

const fab_likelihood_row *fab_glm_likelihood(const fab_glm *m)
{
    const fab_likelihood_row *l = fab_likelihood_row_of(m->likelihood);
    return m->nu > 0 && l->tailed ? l->tailed : l;
}

double fab_predictor_cdf(const void *predictor, double y)
{
    const fab_predictor *p = predictor;
    return fab_glm_likelihood(p->m)->cdf(p->m, p->u, p->v, y);
}
