/* dense.c - a Gaussian from its dense covariance.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "la/ops.h"
#include "la/small.h"
#include "posterior/spread.h"
#include <string.h>

typedef struct dense {
    int64_t D;
    double *G, *Gi, *work; /* D x D */
} dense;

static void layout(fab_layout *l, void *handle)
{
    dense *d = handle;
    d->G = fab_place(l, d->D * d->D, sizeof(double));
    d->Gi = fab_place(l, d->D * d->D, sizeof(double));
    d->work = fab_place(l, d->D * d->D, sizeof(double));
}

static fab_status fill(fab_gauss *g, dense *d, const double *S)
{
    const int64_t n = d->D;
    memcpy(d->G, S, (size_t)(n * n) * sizeof *S);
    fab_symmetrise(n, d->G);
    FAB_TRY(fab_chol(n, d->G));
    memset(d->Gi, 0, (size_t)(n * n) * sizeof *S);
    fab_add_identity(n, d->Gi);
    fab_tri_solve(FAB_LEFT, FAB_N, n, n, d->G, d->Gi);
    return fab_spread(g, 1, d->G, d->Gi, d->work);
}

fab_status fab_gauss_from_dense(fab_gauss **g, int64_t D, const double *S)
{
    dense proto = {.D = D}, *d;
    *g = NULL;
    if (D > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED, "a dense covariance of D = %lld is more than %d",
                        (long long)D, FAB_DENSE_MAX);
    FAB_TRY(fab_gauss_create(g, FAB_FORM_COVARIANCE, FAB_F64, D, D));
    fab_status s = fab_build((void **)&d, sizeof proto, &proto, layout);
    if (s == FAB_OK) {
        const int before = fab_blas_enter();
        s = fill(*g, d, S);
        fab_blas_leave(before);
        fab_release(d);
    }
    if (s == FAB_OK) return FAB_OK;
    fab_gauss_free(*g);
    *g = NULL;
    return s;
}
