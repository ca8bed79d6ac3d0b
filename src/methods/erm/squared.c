/* squared.c - the squared loss through the Gram matrix of the rows: a part of the rows is a difference of two matrices.
 *
 *     mean of (y - x'w - b)^2 / 2 at the best b:   G = (X'X - x x' / V) / V,  c = (X'y - x Y / V) / V,   x = X'1, Y = 1'y
 *     b = (Y - x'w) / V
 *
 * SPDX-License-Identifier: MIT */
#include "methods/erm/erm.h"
#include <math.h>
#include <string.h>

fab_status fab_erm_sum(const fab_erm_rows *r, const double *s, fab_erm_sums *to, double *block,
                       fab_watch *w)
{
    const int64_t P = r->P;
    to->yy = to->y = to->V = 0;
    memset(to->c, 0, (size_t)P * sizeof *to->c);
    for (int64_t i = 0; i < r->n; i++) {
        const double *x = r->X + i * P, sy = s[i] * r->y[i];
        if (!(s[i] > 0)) continue;
        to->V += s[i];
        to->y += sy;
        to->yy += sy * r->y[i];
        for (int64_t j = 0; j < P; j++) to->c[j] += sy * x[j];
    }
    return fab_erm_gram(r, s, to->G, block, w);
}

void fab_erm_quad_of(const fab_erm_rows *r, const fab_erm_sums *s, fab_quad *q)
{
    const int64_t D = r->D, P = r->P, has = P > D;
    const double *sum = s->G + D * P; /* the last row: 1'x */
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j <= i; j++) {
            const double g = (s->G[i * P + j] - (has ? sum[i] * sum[j] / s->V : 0)) / s->V;
            q->G[i * D + j] = q->G[j * D + i] = g;
        }
        if (!(q->G[i * D + i] > 0)) q->G[i * D + i] = 0;
        q->c[i] = (s->c[i] - (has ? sum[i] * s->y / s->V : 0)) / s->V;
    }
    q->yy = fmax(0, (s->yy - (has ? s->y * s->y / s->V : 0)) / s->V);
}

double fab_erm_intercept_of(const fab_erm_rows *r, const fab_erm_sums *s, const double *w)
{
    const double *sum = s->G + r->D * r->P;
    double b = s->y;
    for (int64_t j = 0; j < r->D; j++) b -= sum[j] * w[j];
    return b / s->V;
}
