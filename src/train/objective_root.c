/* objective_root.c - the root of the curvature of a linear model by the QR of its rows.
 *
 *   1  A = X'H X + A0:  the rows H^1/2 (x, 1) under the root of A0, all in units where A_ii = 1
 *   2  R = R of them, block by block;  L = R'
 *
 * A itself has the square of the condition of the rows, and its Cholesky factor loses twice the digits: with a column near
 * 1e8 and next to no prior, all of them.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "la/small.h"
#include "posterior/spread.h"
#include "train/objective.h"
#include <math.h>
#include <string.h>

enum { BLOCK = 128 }; /* rows at a time, and at least as many as R has */

typedef struct root {
    fab_objective *o;
    const double *scale;
    int64_t P, room, m; /* coordinates; rows of the stack, and those in use */
    double *stack;      /* room x P, column-major: R, then rows */
    double *R;          /* P x P */
    double *x;          /* width */
    double *work;       /* fab_qr_work(room, P); before that L0 (P x P) and its scale */
} root;

/* R0'R0 = scale A0 scale */
static fab_status put_prior(root *r)
{
    const fab_objective *o = r->o;
    const int64_t P = r->P;
    double *R = r->R, *L0 = r->work, *scale0 = L0 + P * P, logdet;
    memset(R, 0, (size_t)(P * P) * sizeof *R);
    if (!o->A0) {
        for (int64_t i = 0; i < P; i++) R[i + i * P] = sqrt(o->a0[i]) * r->scale[i];
        return FAB_OK;
    }
    FAB_TRY(fab_scaled_chol(P, o->A0, scale0, L0, &logdet));
    for (int64_t j = 0; j < P; j++)
        for (int64_t i = 0; i <= j; i++) R[i + j * P] = L0[j + i * P] / scale0[j] * r->scale[j];
    return FAB_OK;
}

static void reduce(root *r)
{
    const int64_t P = r->P;
    if (r->m < r->room) /* rows that are missing are 0 */
        for (int64_t j = 0; j < P; j++)
            memset(r->stack + r->m + j * r->room, 0, (size_t)(r->room - r->m) * sizeof *r->stack);
    for (int64_t j = 0; j < P; j++)
        memcpy(r->stack + j * r->room, r->R + j * P, (size_t)P * sizeof *r->R);
    fab_qr_r(r->room, P, r->stack, r->R, r->work);
    r->m = P;
}

/* The rows of example n: one, or one for each class, as diag(p) - p p' = B B', B = diag(p^1/2) - p p^1/2'. */
static void add_example(root *r, int64_t n)
{
    const fab_objective *o = r->o;
    const int64_t C = o->m.classes, W = o->width, D = o->m.D;
    const double *p = o->curvature + n * C, w = o->e->weight ? o->e->weight[n] : 1;
    fab_rows_get(&o->e->x, n, D, r->x);
    if (W > D) r->x[D] = 1;
    for (int64_t k = 0; k < C; k++) {
        if (r->m == r->room) reduce(r);
        double *row = r->stack + r->m++;
        for (int64_t c = 0; c < C; c++) {
            double b = sqrt(*p);
            if (C > 1) b = sqrt(w) * ((c == k ? sqrt(p[c]) : 0) - p[c] * sqrt(p[k]));
            for (int64_t i = 0; i < W; i++)
                row[(c * W + i) * r->room] = b * r->x[i] * r->scale[c * W + i];
        }
    }
}

static fab_status run(root *r, double *L)
{
    const int64_t P = r->P;
    FAB_TRY(put_prior(r)); /* 1 */
    r->m = P;
    for (int64_t n = 0; n < r->o->e->x.n; n++) {
        add_example(r, n);
        FAB_TRY(fab_watch_work(&r->o->watch, (double)(P * P) / 4, r->o->who, n, r->o->e->x.n));
    }
    reduce(r); /* 2 */
    for (int64_t j = 0; j < P; j++) {
        const double d = r->R[j + j * P], sign = d < 0 ? -1 : 1;
        if (!(fabs(d) > 0 && isfinite(d)))
            return FAB_FAIL(FAB_NUMERIC, "coordinate %lld is settled neither by the rows nor by it",
                            (long long)j);
        for (int64_t i = 0; i < P; i++) L[i + j * P] = i < j ? 0 : sign * r->R[j + i * P];
    }
    return FAB_OK;
}

fab_status fab_objective_root(fab_objective *o, const double *theta, const double *scale, double *L)
{
    const int64_t P = o->P, room = P + (P > BLOCK ? P : BLOCK);
    const int64_t qr = fab_qr_work(room, P), prior = P * P + P, work = qr > prior ? qr : prior;
    double *block;
    fab_objective_curvature(o, theta);
    FAB_TRY(o->stopped);
    FAB_TRY(fab_alloc_array((void **)&block, room * P + P * P + o->width + work, sizeof *block,
                            o->who));
    root r = {.o = o,
              .scale = scale,
              .P = P,
              .room = room,
              .stack = block,
              .R = block + room * P,
              .x = block + room * P + P * P,
              .work = block + room * P + P * P + o->width};
    const fab_status s = run(&r, L);
    fab_release(block);
    return s;
}
