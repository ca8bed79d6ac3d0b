/* matrices.c - matrices of a kernel and sums with their derivatives: blocks of pairs over threads.
 *
 * A block is FAB_BLOCK rows by as many columns; what blocks leave is added in their order.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "kernel/tiles.h"
#include "la/ops.h"
#include "la/threads.h"
#include <string.h>

/* All pairs of n rows with m rows. */
typedef struct pairs {
    const fab_kernel *k;
    int64_t n, m;
    int symmetric;  /* the second rows are the first */
    int64_t across; /* blocks */
    int64_t blocks;
    int gradient; /* 1: there are partial sums */
    int threads;
    fab_watch watch;
    fab_view x, z;
    double *work; /* threads x room */
    int64_t room;
    double *weights; /* threads x FAB_BLOCK x FAB_BLOCK, where the matrix of weights is symmetric */

    double *K; /* what the tasks write and read */
    int64_t ldk;
    const double *W;
    int64_t ldw;
    double *partial; /* blocks x size: gradients */
    double *G;
    int64_t first; /* block of this round */

    fab_points *sides;
    double *by_row, *columns, *centre, *width;
} pairs;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t blocks_of(int64_t n)
{
    return (n + FAB_BLOCK - 1) / FAB_BLOCK;
}

static void layout(fab_layout *l, void *handle)
{
    pairs *p = handle;
    const fab_kernel *k = p->k;
    p->room = fab_patch_work(k, p->n, p->m);
    p->sides = fab_place(l, 2 * k->leaves, sizeof *p->sides);
    p->by_row = fab_place(l, fab_view_doubles(k, p->n), sizeof(double));
    p->columns = fab_place(l, fab_view_doubles(k, p->m), sizeof(double));
    p->centre = fab_place(l, k->D, sizeof(double));
    p->width = fab_place(l, fab_view_widest(k), sizeof(double));
    p->work = fab_place(l, p->threads * p->room, sizeof(double));
    if (p->symmetric && p->W)
        p->weights = fab_place(l, p->threads * FAB_BLOCK * FAB_BLOCK, sizeof(double));
    if (p->gradient) p->partial = fab_place(l, p->blocks * k->size, sizeof(double));
}

/* Blocks of n x m, or of the lower half.  Gives *p: fab_release. */
static fab_status create(pairs **p, const fab_kernel *k, int64_t n, const double *X, int64_t ldx,
                         int64_t m, const double *Z, int64_t ldz, pairs of, const fab_exec *x)
{
    fab_run run;
    *p = NULL;
    FAB_TRY(fab_run_init(&run, x, FAB_F64));
    of.k = k;
    of.n = n;
    of.m = Z ? m : n;
    of.symmetric = !Z;
    of.across = blocks_of(of.m);
    of.blocks = Z ? blocks_of(n) * of.across : of.across * (of.across + 1) / 2;
    of.threads = (int)least(run.threads, of.blocks > 0 ? of.blocks : 1);
    of.watch = run.watch;
    FAB_TRY(fab_build((void **)p, sizeof of, &of, layout));
    pairs *q = *p;
    fab_view_centre(n, k->D, X, ldx, q->centre);
    fab_view_init(&q->x, k, n, q->sides, q->by_row, NULL);
    fab_view_init(&q->z, k, of.m, q->sides + k->leaves, NULL, q->columns);
    fab_view_load(&q->x, 0, n, X, ldx, q->centre, q->width);
    fab_view_load(&q->z, 0, of.m, Z ? Z : X, Z ? ldz : ldx, q->centre, q->width);
    return FAB_OK;
}

/* Row and column of block t: of the lower half row by row. */
static void place(const pairs *p, int64_t t, int64_t *I, int64_t *J)
{
    if (!p->symmetric) {
        *I = t / p->across;
        *J = t % p->across;
        return;
    }
    int64_t row = 0;
    while (t > row) t -= ++row;
    *I = row;
    *J = t;
}

static fab_patch patch_of(const pairs *p, int64_t t, int thread)
{
    int64_t I, J;
    place(p, t, &I, &J);
    return (fab_patch){.k = p->k,
                       .x = &p->x,
                       .z = &p->z,
                       .first_x = I * FAB_BLOCK,
                       .nx = least(p->n - I * FAB_BLOCK, FAB_BLOCK),
                       .first_z = J * FAB_BLOCK,
                       .nz = least(p->m - J * FAB_BLOCK, FAB_BLOCK),
                       .work = p->work + thread * p->room};
}

/* Rounds of blocks, with a question to who watches after each. */
static fab_status rounds(pairs *p, const char *what, int64_t count, fab_task *task)
{
    enum { ROUND = 256 };
    const double work = (double)p->n * (double)p->m * (double)(p->k->D + 8) / (double)count;
    for (p->first = 0; p->first < count; p->first += ROUND) {
        const int64_t some = least(count - p->first, ROUND);
        fab_parallel(p->threads, some, task, p);
        FAB_TRY(fab_watch_work(&p->watch, work * (double)some, what, p->first + some, count));
    }
    return FAB_OK;
}

/* ---- values ------------------------------------------------------------------------------------------- */

static void block_values(void *ctx, int64_t t, int thread)
{
    const pairs *p = ctx;
    const fab_patch at = patch_of(p, p->first + t, thread);
    const int64_t i0 = at.first_x, j0 = at.first_z, ld = p->ldk;
    fab_patch_values(&at, p->K + i0 * ld + j0, ld);
    if (!p->symmetric) return;
    for (int64_t i = i0; i < i0 + at.nx; i++)
        for (int64_t j = j0; j < least(j0 + at.nz, i); j++) p->K[j * ld + i] = p->K[i * ld + j];
}

static fab_status values(const fab_kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m,
                         const double *Z, int64_t ldz, double *K, int64_t ldk, const fab_exec *x)
{
    pairs *p;
    if (n == 0 || (Z && m == 0)) return FAB_OK;
    FAB_TRY(create(&p, k, n, X, ldx, m, Z, ldz, (pairs){.K = K, .ldk = ldk}, x));
    const fab_status s = rounds(p, "kernel matrix", p->blocks, block_values);
    fab_release(p);
    return s;
}

fab_status fab_kernel_gram(const fab_kernel *k, int64_t n, const double *X, int64_t ldx, double *K,
                           int64_t ldk, const fab_exec *x)
{
    return values(k, n, X, ldx, n, NULL, 0, K, ldk, x);
}

fab_status fab_kernel_cross(const fab_kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m,
                            const double *Z, int64_t ldz, double *K, int64_t ldk, const fab_exec *x)
{
    return values(k, n, X, ldx, m, Z, ldz, K, ldk, x);
}

void fab_kernel_diag(const fab_kernel *k, int64_t n, const double *X, int64_t ldx, double *diag)
{
    double v[FAB_KERNEL_LEAVES];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t f = 0; f < k->leaves; f++) {
            const fab_leaf *leaf = &k->leaf[f];
            const double u = leaf->kind->shape->self(k, leaf, X + i * ldx);
            leaf->kind->curve(leaf, 1, &u, &v[f], NULL, NULL);
        }
        diag[i] = 0;
        for (int64_t t = 0; t < k->terms; t++) {
            double product = k->parameter[k->term[t].s2].value;
            for (int64_t f = 0; f < k->leaves; f++)
                if (k->term[t].leaves >> f & 1) product *= v[f];
            diag[i] += product;
        }
    }
}

/* ---- sums with derivatives ------------------------------------------------------------------------------ */

/* Weights of a block of the lower half: both halves of the sum from one. */
static void lower_weights(const pairs *p, const fab_patch *at, double *to)
{
    for (int64_t a = 0; a < at->nx; a++)
        for (int64_t b = 0; b < at->nz; b++) {
            const int64_t i = at->first_x + a, j = at->first_z + b;
            const double w = j > i ? 0 : p->W[i * p->ldw + j];
            to[a * at->nz + b] = j < i ? 2 * w : w;
        }
}

static void block_gradient(void *ctx, int64_t t, int thread)
{
    const pairs *p = ctx;
    const fab_patch at = patch_of(p, p->first + t, thread);
    double *g = p->partial + (p->first + t) * p->k->size;
    if (p->symmetric) {
        double *W = p->weights + (int64_t)thread * FAB_BLOCK * FAB_BLOCK;
        lower_weights(p, &at, W);
        fab_patch_gradient(&at, W, at.nz, g);
    } else {
        fab_patch_gradient(&at, p->W + at.first_x * p->ldw + at.first_z, p->ldw, g);
    }
}

fab_status fab_kernel_grad_dot(const fab_kernel *k, int64_t n, const double *X, int64_t ldx,
                               int64_t m, const double *Z, int64_t ldz, const double *W,
                               int64_t ldw, double *g, const fab_exec *x)
{
    pairs *p;
    memset(g, 0, (size_t)k->size * sizeof *g);
    if (n == 0 || (Z && m == 0)) return FAB_OK;
    FAB_TRY(create(&p, k, n, X, ldx, m, Z, ldz, (pairs){.W = W, .ldw = ldw, .gradient = 1}, x));
    const fab_status s = rounds(p, "kernel gradient", p->blocks, block_gradient);
    if (s == FAB_OK)
        for (int64_t t = 0; t < p->blocks; t++)
            for (int64_t i = 0; i < k->size; i++) g[i] += p->partial[t * k->size + i];
    fab_release(p);
    return s;
}

/* All blocks of one row of them. */
static void block_rows(void *ctx, int64_t t, int thread)
{
    const pairs *p = ctx;
    const int64_t i0 = (p->first + t) * FAB_BLOCK, nx = least(p->n - i0, FAB_BLOCK);
    memset(p->G + i0 * p->k->D, 0, (size_t)(nx * p->k->D) * sizeof *p->G);
    for (int64_t j0 = 0; j0 < p->m; j0 += FAB_BLOCK) {
        const int64_t nz = least(p->m - j0, FAB_BLOCK);
        const fab_patch at = {.k = p->k,
                              .x = &p->x,
                              .z = &p->z,
                              .first_x = i0,
                              .nx = nx,
                              .first_z = j0,
                              .nz = nz,
                              .work = p->work + thread * p->room};
        const double *W = p->W + i0 * p->ldw + j0;
        int64_t ldw = p->ldw;
        if (p->symmetric) {
            double *full = p->weights + (int64_t)thread * FAB_BLOCK * FAB_BLOCK;
            for (int64_t a = 0; a < nx; a++)
                for (int64_t b = 0; b < nz; b++) {
                    const int64_t i = i0 + a, j = j0 + b;
                    full[a * nz + b] = i >= j ? p->W[i * p->ldw + j] : p->W[j * p->ldw + i];
                }
            W = full;
            ldw = nz;
        }
        fab_patch_rows(&at, W, ldw, p->G + i0 * p->k->D);
    }
}

fab_status fab_kernel_grad_rows(const fab_kernel *k, int64_t n, const double *X, int64_t ldx,
                                int64_t m, const double *Z, int64_t ldz, const double *W,
                                int64_t ldw, double *G, const fab_exec *x)
{
    pairs *p;
    if (n == 0) return FAB_OK;
    if (Z && m == 0) {
        memset(G, 0, (size_t)(n * k->D) * sizeof *G);
        return FAB_OK;
    }
    FAB_TRY(create(&p, k, n, X, ldx, m, Z, ldz, (pairs){.W = W, .ldw = ldw, .G = G}, x));
    const fab_status s = rounds(p, "kernel gradient", blocks_of(n), block_rows);
    fab_release(p);
    return s;
}
