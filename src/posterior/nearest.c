/* nearest.c - the part of a mixture whose mean is nearest to a row.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/rows.h"
#include "fabayes/gauss.h"
#include "la/centres.h"
#include "la/ops.h"
#include <string.h>

static fab_status find(const fab_mixture *m, const fab_rows *x, const fab_run *run, double *mu,
                       int32_t *found, int64_t *label, double *square)
{
    const int64_t D = m->part[0]->D;
    fab_centres c;
    const fab_dtype type = fab_centres_type(x, FAB_F64);
    FAB_TRY(fab_centres_init(&c, D, m->n, type, NULL, run->threads, "fab_mixture_nearest"));
    for (int64_t k = 0; k < m->n; k++) memcpy(mu + k * D, m->part[k]->mu, (size_t)D * sizeof *mu);
    for (int64_t i = 0; i < x->n; i++) found[i] = 0;
    fab_assignment a = {.x = x, .label = found, .square = square};
    fab_centres_set(&c, m->n, mu);
    fab_centres_assign(&c, &a);
    for (int64_t i = 0; i < x->n; i++) label[i] = found[i];
    fab_centres_free(&c);
    return FAB_OK;
}

fab_status fab_mixture_nearest(const fab_mixture *m, const fab_rows *x, const fab_exec *e,
                               int64_t *label, double *square)
{
    fab_run run;
    double *mu;
    FAB_TRY(fab_mixture_check(m));
    FAB_TRY(fab_rows_check("fab_mixture_nearest", x, m->part[0]->D));
    FAB_TRY(fab_run_init(&run, e, FAB_F64));
    const int64_t numbers = m->n * m->part[0]->D;
    FAB_TRY(fab_alloc_array((void **)&mu, numbers + x->n, sizeof *mu, "fab_mixture_nearest"));
    const fab_status s = find(m, x, &run, mu, (int32_t *)(void *)(mu + numbers), label, square);
    fab_release(mu);
    return s;
}
