/* scalar.c - the schemes of recursive variational inference, one example at a time.
 *
 *   1  implicit: the equations of the likelihood (model/likelihoods), which some solve in closed form: then every
 *      scheme is this one
 *   2  explicit: e, h = w (y - E m), w E m' at (u0, v0);  error = e / (1 + h v0), weight = h
 *   3  extra-gradient: 2 gives (u1, v1); e, h there, again from (u0, v0)
 *   4  mirror prox: e of 3, h of 2
 *
 * SPDX-License-Identifier: MIT */
#include "train/sequence/scalar.h"
#include "fabayes/random.h"
#include <stddef.h>

const char *const fab_scheme_names[5] = {"implicit", "explicit", "extra-gradient", "mirror-prox",
                                         NULL};

static fab_scalar moved(double e, double h, double u0, double v0)
{
    const double error = e / (1 + h * v0);
    return (fab_scalar){u0 + v0 * error, v0 / (1 + h * v0), error, h};
}

fab_scalar fab_scalar_update(const fab_rule *r, uint64_t row, double y, double w, double u0,
                             double v0)
{
    const fab_likelihood_row *l = fab_likelihood_row_of(r->likelihood);
    double z[FAB_MAX_DRAWS], e, h, again;
    const fab_nodes n = {r->expectation, r->draws, z};
    if (l->nodes && r->expectation == FAB_SAMPLED)
        fab_random_normal(r->seed, FAB_PURPOSE_DRAW, row, 0, r->draws, FAB_F64, z);
    if (r->scheme == FAB_IMPLICIT || !l->expected) return l->update(&n, y, w, u0, v0); /* 1 */
    l->expected(&n, y, w, u0, v0, &e, &h);
    const fab_scalar first = moved(e, h, u0, v0); /* 2 */
    if (r->scheme == FAB_EXPLICIT) return first;
    l->expected(&n, y, w, first.u, first.v, &e, &again);
    return moved(e, r->scheme == FAB_EXTRA_GRADIENT ? again : h, u0, v0); /* 3, 4 */
}

double fab_scalar_score(fab_likelihood l, double y, double w, double u0, double v0,
                        const fab_scalar *s)
{
    return fab_likelihood_row_of(l)->evidence(y, w, u0, v0, s);
}
