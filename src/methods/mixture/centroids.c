/* centroids.c - centroids as a mixture.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/mixture/centroids.h"
#include <string.h>

fab_status fab_centroids_make(fab_centroids *c, int64_t D, int64_t n, const char *who)
{
    if (n <= c->room) return FAB_OK;
    const int64_t room = c->room == 0 || n > 2 * c->room ? n : 2 * c->room;
    fab_gauss **part;
    double *weight;
    FAB_TRY(fab_alloc_array((void **)&part, room, sizeof *part, who));
    fab_status s = fab_alloc_array((void **)&weight, room, sizeof *weight, who);
    int64_t made = c->room;
    for (; s == FAB_OK && made < room; made++)
        s = fab_gauss_create(&part[made], FAB_FORM_COVARIANCE, FAB_F64, D, 0);
    if (s != FAB_OK) {
        for (int64_t k = c->room; k < made - 1; k++) fab_gauss_free(part[k]);
        fab_release(weight);
        fab_release(part);
        return s;
    }
    if (c->n) memcpy(weight, c->weight, (size_t)c->n * sizeof *weight);
    if (c->room) memcpy(part, c->part, (size_t)c->room * sizeof *part);
    fab_release(c->part);
    fab_release(c->weight);
    c->part = part;
    c->weight = weight;
    c->room = room;
    c->D = D;
    return FAB_OK;
}

void fab_centroids_free(fab_centroids *c)
{
    for (int64_t k = 0; k < c->room; k++) fab_gauss_free(c->part[k]);
    fab_release(c->part);
    fab_release(c->weight);
    *c = (fab_centroids){0};
}

double fab_centroids_bytes(int64_t D, int64_t n)
{
    return (double)n * (16 * (double)D + 200);
}

/* The least v. */
static double least(int64_t n, int64_t D, const double *mu, double scale, double floor)
{
    double square = 0;
    if (scale > 0) return floor * scale;
    for (int64_t i = 0; i < n * D; i++) square += mu[i] * mu[i] / (double)(n * D);
    return square > 0 ? floor * square : floor;
}

void fab_centroids_set(fab_centroids *c, int64_t n, const double *mu, const double *counts,
                       double cost, double scale, double floor, const fab_mixture **q)
{
    const int64_t D = c->D;
    const double low = least(n, D, mu, scale, floor);
    double all = 0;
    for (int64_t k = 0; k < n; k++) all += counts[k];
    double v = cost / (all * (double)D);
    const int floored = !(v > low);
    if (floored) v = low;
    c->floored = floored ? D : 0;
    c->n = n;
    for (int64_t k = 0; k < n; k++) {
        memcpy(c->part[k]->mu, mu + k * D, (size_t)D * sizeof *mu);
        for (int64_t d = 0; d < D; d++) c->part[k]->psi[d] = v;
        c->weight[k] = counts[k] / all;
    }
    c->q = (fab_mixture){n, (const fab_gauss *const *)c->part, c->weight};
    *q = &c->q;
}

fab_status fab_centroids_start(const fab_input *in, int64_t G, const char *who, double *mu)
{
    const fab_mixture *start = in->start;
    if (start->n != G)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: a start of %lld parts for G = %lld clusters", who,
                        (long long)start->n, (long long)G);
    for (int64_t k = 0; k < G; k++)
        memcpy(mu + k * in->vectors, start->part[k]->mu, (size_t)in->vectors * sizeof *mu);
    return FAB_OK;
}
