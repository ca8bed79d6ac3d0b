/* tiles.c - kernels over tiles of pairs of rows.
 *
 * A tile stays in the cache of a core:
 *
 *   1  u of each leaf (pairs.c), then its curve v, slope dv/du and dv/dlog of its own parameter (basic/)
 *   2  K = sum over terms of s2 times the product of their v
 *   3  by s2 of a term: sum W s2 prod v;  by u of leaf f: H = W (sum over terms with f of s2 prod of the others' v) slope,
 *      and sums of H with du/dlog l or du/dx (pairs.c)
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/tiles.h"
#include "kernel/sums.h"
#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- views -------------------------------------------------------------------------------------------- */

static int64_t width_of(const fab_leaf *f)
{
    return f->kind->shape->width(f);
}

int64_t fab_view_doubles(const fab_kernel *k, int64_t n)
{
    int64_t sum = 0;
    for (int64_t f = 0; f < k->leaves; f++) sum += width_of(&k->leaf[f]) * n;
    return sum;
}

int64_t fab_view_widest(const fab_kernel *k)
{
    int64_t widest = 1;
    for (int64_t f = 0; f < k->leaves; f++)
        if (width_of(&k->leaf[f]) > widest) widest = width_of(&k->leaf[f]);
    return widest;
}

void fab_view_init(fab_view *v, const fab_kernel *k, int64_t room, fab_points *sides,
                   double *by_row, double *across)
{
    *v = (fab_view){k, sides};
    for (int64_t f = 0; f < k->leaves; f++) {
        const int64_t width = width_of(&k->leaf[f]);
        sides[f] = (fab_points){room, width, by_row, across};
        if (by_row) by_row += width * room;
        if (across) across += width * room;
    }
}

void fab_view_load(fab_view *v, int64_t first, int64_t n, const double *X, int64_t ldx,
                   const double *centre, double *w)
{
    for (int64_t f = 0; f < v->k->leaves; f++) {
        const fab_leaf *leaf = &v->k->leaf[f];
        const fab_points *s = &v->side[f];
        for (int64_t i = 0; i < n; i++) {
            leaf->kind->shape->load(v->k, leaf, centre, X + i * ldx, w);
            if (s->by_row)
                memcpy(s->by_row + (first + i) * s->width, w, (size_t)s->width * sizeof *w);
            if (s->across)
                for (int64_t c = 0; c < s->width; c++) s->across[c * s->n + first + i] = w[c];
        }
    }
}

void fab_view_centre(int64_t n, int64_t D, const double *X, int64_t ldx, double *centre)
{
    memset(centre, 0, (size_t)D * sizeof *centre);
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < D; d++) centre[d] += X[i * ldx + d] / (double)n;
}

/* ---- tiles -------------------------------------------------------------------------------------------- */

/* Matrices of a tile: u, v, slope and own of each leaf, and two more. */
enum { EACH = 4, MORE = 2 };

typedef struct tile {
    fab_tile at;
    int64_t pairs; /* nx nz */
    double *u, *v, *slope, *own;
    double *H, *P;
} tile;

int64_t fab_patch_work(const fab_kernel *k, int64_t nx, int64_t nz)
{
    return (EACH * k->leaves + MORE) * least(nx, FAB_TILE_ROWS) * least(nz, FAB_TILE_COLUMNS);
}

static tile tile_of(const fab_patch *p, int64_t i, int64_t j)
{
    const int64_t leaves = p->k->leaves, nx = least(p->nx - i, FAB_TILE_ROWS),
                  nz = least(p->nz - j, FAB_TILE_COLUMNS), pairs = nx * nz;
    return (tile){.at = {.first_x = p->first_x + i, .nx = nx, .first_z = p->first_z + j, .nz = nz},
                  .pairs = pairs,
                  .u = p->work,
                  .v = p->work + leaves * pairs,
                  .slope = p->work + 2 * leaves * pairs,
                  .own = p->work + 3 * leaves * pairs,
                  .H = p->work + EACH * leaves * pairs,
                  .P = p->work + (EACH * leaves + 1) * pairs};
}

static fab_tile of_leaf(const fab_patch *p, const tile *t, int64_t f)
{
    fab_tile at = t->at;
    at.x = &p->x->side[f];
    at.z = &p->z->side[f];
    return at;
}

/* 1 */
static void curves(const fab_patch *p, const tile *t, int with_slope, int with_own)
{
    for (int64_t i = 0; i < p->k->leaves; i++) {
        const fab_leaf *f = &p->k->leaf[i];
        const int64_t at = i * t->pairs;
        const fab_tile of = of_leaf(p, t, i);
        f->kind->shape->pairs(f, &of, t->u + at);
        f->kind->curve(f, t->pairs, t->u + at, t->v + at, with_slope ? t->slope + at : NULL,
                       with_own && f->own >= 0 ? t->own + at : NULL);
    }
}

/* The product of the v of more than two leaves, in P. */
static const double *product_of_many(const fab_patch *p, const tile *t, uint64_t leaves)
{
    for (int64_t i = 0; i < t->pairs; i++) t->P[i] = 1;
    for (int64_t f = 0; f < p->k->leaves; f++)
        if (leaves >> f & 1)
            for (int64_t i = 0; i < t->pairs; i++) t->P[i] *= t->v[f * t->pairs + i];
    return t->P;
}

/* to = s2 times the product of the v of the leaves; or where `more`, += that */
static void product(const fab_patch *p, const tile *t, uint64_t leaves, double s2, int more,
                    double *to)
{
    const double *v[2];
    int64_t n = 0;
    for (int64_t f = 0; f < p->k->leaves; f++)
        if (leaves >> f & 1) {
            if (n < 2) v[n] = t->v + f * t->pairs;
            n++;
        }
    if (n > 2) {
        v[0] = product_of_many(p, t, leaves);
        n = 1;
    }
    if (!more) memset(to, 0, (size_t)t->pairs * sizeof *to);
    if (n == 0)
        for (int64_t i = 0; i < t->pairs; i++) to[i] += s2;
    else if (n == 1)
        for (int64_t i = 0; i < t->pairs; i++) to[i] += s2 * v[0][i];
    else
        for (int64_t i = 0; i < t->pairs; i++) to[i] += s2 * v[0][i] * v[1][i];
}

static double s2_of(const fab_kernel *k, int64_t term)
{
    return k->parameter[k->term[term].s2].value;
}

/* 2 */
static void values(const fab_patch *p, const tile *t, double *to)
{
    for (int64_t i = 0; i < p->k->terms; i++)
        product(p, t, p->k->term[i].leaves, s2_of(p->k, i), i > 0, to);
}

void fab_patch_values(const fab_patch *p, double *K, int64_t ldk)
{
    for (int64_t i = 0; i < p->nx; i += FAB_TILE_ROWS)
        for (int64_t j = 0; j < p->nz; j += FAB_TILE_COLUMNS) {
            const tile t = tile_of(p, i, j);
            curves(p, &t, 0, 0);
            values(p, &t, t.H);
            for (int64_t a = 0; a < t.at.nx; a++)
                memcpy(K + (i + a) * ldk + j, t.H + a * t.at.nz, (size_t)t.at.nz * sizeof *K);
        }
}

/* H = the sum over terms with leaf f of s2 times the product of the others; without slope */
static void others(const fab_patch *p, const tile *t, int64_t f)
{
    const uint64_t bit = (uint64_t)1 << f;
    int add = 0;
    for (int64_t i = 0; i < p->k->terms; i++) {
        if (!(p->k->term[i].leaves & bit)) continue;
        product(p, t, p->k->term[i].leaves & ~bit, s2_of(p->k, i), add, t->H);
        add = 1;
    }
}

static void times_weights(const tile *t, const double *W, int64_t ldw)
{
    for (int64_t a = 0; a < t->at.nx; a++)
        for (int64_t b = 0; b < t->at.nz; b++) t->H[a * t->at.nz + b] *= W[a * ldw + b];
}

/* g as fab_patch_gradient has it; G: the rows of the tile, as fab_patch_rows has them, or NULL */
static void tile_gradient(const fab_patch *p, const tile *t, const double *W, int64_t ldw,
                          double *g, double *G)
{
    const fab_kernel *k = p->k;
    curves(p, t, 1, 1);
    for (int64_t i = 0; i < k->terms; i++) {
        product(p, t, k->term[i].leaves, s2_of(k, i), 0, t->H);
        double sum = 0;
        for (int64_t a = 0; a < t->at.nx; a++)
            sum += fab_dot(t->at.nz, t->H + a * t->at.nz, W + a * ldw);
        g[k->term[i].s2] += sum;
    }
    for (int64_t i = 0; i < k->leaves; i++) {
        const fab_leaf *f = &k->leaf[i];
        if (f->lengths == 0 && f->own < 0 && !G) continue;
        others(p, t, i);
        times_weights(t, W, ldw);
        const double *slope = t->slope + i * t->pairs;
        const int own_of_shape = f->kind->shape->has_own;
        if (f->own >= 0 && !own_of_shape)
            g[f->own] += fab_dot(t->pairs, t->H, t->own + i * t->pairs);
        for (int64_t e = 0; e < t->pairs; e++) t->H[e] *= slope[e];
        const fab_tile of = of_leaf(p, t, i);
        f->kind->shape->gradient(f, &of, t->u + i * t->pairs, t->H, g + f->at);
        if (G) f->kind->shape->rows(k, f, &of, t->H, G);
    }
}

void fab_patch_gradient(const fab_patch *p, const double *W, int64_t ldw, double *g)
{
    for (int64_t i = 0; i < p->nx; i += FAB_TILE_ROWS)
        for (int64_t j = 0; j < p->nz; j += FAB_TILE_COLUMNS) {
            const tile t = tile_of(p, i, j);
            tile_gradient(p, &t, W + i * ldw + j, ldw, g, NULL);
        }
}

void fab_patch_both(const fab_patch *p, const double *W, int64_t ldw, double *g, double *G)
{
    for (int64_t i = 0; i < p->nx; i += FAB_TILE_ROWS)
        for (int64_t j = 0; j < p->nz; j += FAB_TILE_COLUMNS) {
            const tile t = tile_of(p, i, j);
            tile_gradient(p, &t, W + i * ldw + j, ldw, g, G + i * p->k->D);
        }
}

void fab_patch_rows(const fab_patch *p, const double *W, int64_t ldw, double *G)
{
    const fab_kernel *k = p->k;
    for (int64_t i = 0; i < p->nx; i += FAB_TILE_ROWS)
        for (int64_t j = 0; j < p->nz; j += FAB_TILE_COLUMNS) {
            const tile t = tile_of(p, i, j);
            curves(p, &t, 1, 0);
            for (int64_t f = 0; f < k->leaves; f++) {
                others(p, &t, f);
                times_weights(&t, W + i * ldw + j, ldw);
                for (int64_t e = 0; e < t.pairs; e++) t.H[e] *= t.slope[f * t.pairs + e];
                const fab_tile of = of_leaf(p, &t, f);
                k->leaf[f].kind->shape->rows(k, &k->leaf[f], &of, t.H, G + i * k->D);
            }
        }
}
