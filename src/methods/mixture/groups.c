/* groups.c - clusters whose number grows.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/mixture/groups.h"
#include <string.h>

enum { FIRST_ROOM = 16 };

void fab_groups_reset(fab_groups *c, int64_t D, const double *about)
{
    c->n = 0;
    c->D = D;
    c->about = about;
}

void fab_groups_free(fab_groups *c)
{
    fab_release(c->mu);
    *c = (fab_groups){0};
}

static void point(fab_groups *c, double *block, int64_t room)
{
    c->mu = block;
    c->sums = c->mu + room * c->D;
    c->counts = c->sums + room * c->D;
    c->rows = (int64_t *)(void *)(c->counts + room);
    c->room = room;
}

static fab_status grow(fab_groups *c, const char *who)
{
    const int64_t room = c->room ? 2 * c->room : FIRST_ROOM, D = c->D;
    fab_groups new = *c;
    void *block;
    FAB_TRY(fab_alloc_array(&block, room * (2 * D + 2), sizeof(double), who));
    point(&new, block, room);
    if (c->n) {
        memcpy(new.mu, c->mu, (size_t)(c->n * D) * sizeof *c->mu);
        memcpy(new.sums, c->sums, (size_t)(c->n * D) * sizeof *c->sums);
        memcpy(new.counts, c->counts, (size_t)c->n * sizeof *c->counts);
        memcpy(new.rows, c->rows, (size_t)c->n * sizeof *c->rows);
    }
    fab_release(c->mu);
    *c = new;
    return FAB_OK;
}

fab_status fab_groups_add(fab_groups *c, const double *mu, const char *who)
{
    if (c->n == c->room) FAB_TRY(grow(c, who));
    memcpy(c->mu + c->n * c->D, mu, (size_t)c->D * sizeof *mu);
    memset(c->sums + c->n * c->D, 0, (size_t)c->D * sizeof *c->sums);
    c->counts[c->n] = 0;
    c->rows[c->n++] = 0;
    return FAB_OK;
}

void fab_groups_empty(fab_groups *c)
{
    for (int64_t k = 0; k < c->n; k++) {
        c->counts[k] = 0;
        c->rows[k] = 0;
    }
    memset(c->sums, 0, (size_t)(c->n * c->D) * sizeof *c->sums);
}

void fab_groups_count(fab_groups *c, int64_t k, double w, const double *x)
{
    double *sum = c->sums + k * c->D;
    for (int64_t d = 0; d < c->D; d++) sum[d] += w * (x[d] - c->about[d]);
    c->counts[k] += w;
    c->rows[k] += w > 0 ? 1 : -1;
}

void fab_groups_centre(fab_groups *c, int64_t k)
{
    if (c->rows[k] == 0) return;
    for (int64_t d = 0; d < c->D; d++)
        c->mu[k * c->D + d] = c->about[d] + c->sums[k * c->D + d] / c->counts[k];
}

void fab_groups_pack(fab_groups *c, int64_t *place)
{
    int64_t n = 0;
    const size_t row = (size_t)c->D * sizeof *c->mu;
    for (int64_t k = 0; k < c->n; k++) {
        place[k] = n;
        if (c->rows[k] == 0) continue;
        if (n != k) {
            memcpy(c->mu + n * c->D, c->mu + k * c->D, row);
            memcpy(c->sums + n * c->D, c->sums + k * c->D, row);
            c->counts[n] = c->counts[k];
            c->rows[n] = c->rows[k];
        }
        n++;
    }
    c->n = n;
}
