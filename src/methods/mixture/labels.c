/* labels.c - rows in clusters, to start a mixture from.
 *
 *   1  Z = (x - centre) / standard deviation;  Q: p random columns;  four times: Q <- orthonormal columns of Z' (Z Q)
 *   2  z = Z Q: the rows on their leading axes, up to a rotation of these, which K-means does not see
 *   3  K-means (the method of that name) on z: each point has the label of its nearest centre
 *
 * SPDX-License-Identifier: MIT */
#include "methods/mixture/labels.h"
#include "base/memory.h"
#include "base/rows.h"
#include "fabayes/fit.h"
#include "la/ops.h"
#include "la/small.h"
#include "la/threads.h"
#include <math.h>
#include <string.h>

enum { ROUNDS = 4, BLOCK = 256, LLOYD = 30 };

/* ---- 1, 2 ------------------------------------------------------------------------------------------- */

typedef struct axes {
    const fab_rows *x;
    const double *centre, *scale; /* D */
    int64_t D, p, blocks;
    const double *Q; /* D x p in rows */
    double *z;       /* n x p */
    double *B;       /* chunks x D x p: Z' z, or NULL */
    double *Z;       /* chunks x BLOCK x D */
} axes;

enum { CHUNKS = 8 }; /* sums of blocks in a fixed order */

static void standard(const axes *a, int64_t first, int64_t n, double *Z)
{
    for (int64_t j = 0; j < n; j++) {
        fab_rows_get(a->x, first + j, a->D, Z + j * a->D);
        for (int64_t i = 0; i < a->D; i++)
            Z[j * a->D + i] = (Z[j * a->D + i] - a->centre[i]) * a->scale[i];
    }
}

static void project(void *ctx, int64_t chunk, int thread)
{
    const axes *a = ctx;
    const int64_t D = a->D, p = a->p;
    double *Z = a->Z + chunk * BLOCK * D, *B = a->B ? a->B + chunk * D * p : NULL;
    (void)thread;
    if (B) memset(B, 0, (size_t)(D * p) * sizeof *B);
    for (int64_t b = chunk; b < a->blocks; b += CHUNKS) {
        const int64_t first = b * BLOCK, left = a->x->n - first, n = left < BLOCK ? left : BLOCK;
        double *z = a->z + first * p;
        standard(a, first, n, Z);
        fab_gemm(FAB_F64, FAB_N, FAB_N, n, p, D, 1, Z, D, a->Q, p, 0, z, p);
        if (B) fab_gemm(FAB_F64, FAB_T, FAB_N, D, p, n, 1, Z, D, z, p, 1, B, p);
    }
}

static fab_status find_axes(axes *a, double *block, int64_t seed, int threads)
{
    const int64_t D = a->D, p = a->p;
    double *Q = block, *columns = Q + D * p, *R = columns + D * p, *work = R + p * p;
    fab_random_normal((uint64_t)seed, FAB_PURPOSE_PROBE, 0, 0, D * p, FAB_F64, Q);
    a->Q = Q;
    for (int64_t round = 0; round < ROUNDS; round++) {
        fab_parallel(threads, CHUNKS, project, a);
        for (int64_t i = 0; i < D; i++)
            for (int64_t k = 0; k < p; k++) {
                double sum = 0;
                for (int64_t c = 0; c < CHUNKS; c++) sum += a->B[(c * D + i) * p + k];
                columns[i + k * D] = sum;
            }
        fab_qr(D, p, columns, R, work);
        if (!isfinite(R[0])) return FAB_FAIL(FAB_NUMERIC, "the axes of the rows are no numbers");
        for (int64_t i = 0; i < D; i++)
            for (int64_t k = 0; k < p; k++) Q[i * p + k] = columns[i + k * D];
    }
    a->B = NULL;
    fab_parallel(threads, CHUNKS, project, a);
    return FAB_OK;
}

fab_status fab_labels_axes(double **z, const char *who, const fab_rows *x, int64_t D, int64_t p,
                           const double *centre, const double *variance, int64_t seed, int threads)
{
    const int plain = D <= p;
    const int64_t wide = plain ? D : p, n = x->n, work = plain ? 0 : fab_qr_work(D, p);
    const int64_t searching = plain ? 0 : D * p * (2 + CHUNKS) + p * p + work;
    double *block;
    FAB_TRY(fab_alloc_array((void **)z, n * wide, sizeof **z, who));
    const fab_status s = fab_alloc_array(
        (void **)&block, searching + D + (plain ? 0 : CHUNKS * BLOCK * D), sizeof *block, who);
    if (s != FAB_OK) {
        fab_release(*z);
        *z = NULL;
        return s;
    }
    double *scale = block;
    axes a = {.x = x, .centre = centre, .scale = scale, .D = D, .p = wide, .z = *z};
    a.blocks = (n + BLOCK - 1) / BLOCK;
    for (int64_t i = 0; i < D; i++) scale[i] = variance ? 1 / sqrt(variance[i]) : 1;
    fab_status found = FAB_OK;
    if (plain) {
        standard(&a, 0, n, *z);
    } else {
        a.B = scale + D;
        a.Z = a.B + CHUNKS * D * p;
        const int before = fab_blas_enter();
        found = find_axes(&a, a.Z + CHUNKS * BLOCK * D, seed, threads);
        fab_blas_leave(before);
    }
    fab_release(block);
    if (found != FAB_OK) {
        fab_release(*z);
        *z = NULL;
    }
    return found;
}

/* ---- 3 ---------------------------------------------------------------------------------------------- */

static double between(const double *a, const double *b, int64_t p)
{
    double q = 0;
#pragma omp simd reduction(+ : q)
    for (int64_t k = 0; k < p; k++) q += (a[k] - b[k]) * (a[k] - b[k]);
    return q;
}

static int64_t nearest(const double *z, const double *c, int64_t G, int64_t p, double *least)
{
    int64_t best = 0;
    for (int64_t g = 0; g < G; g++) {
        const double q = between(z, c + g * p, p);
        if (g > 0 && !(q < *least)) continue;
        *least = q;
        best = g;
    }
    return best;
}

static int never_stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return 0;
}

/* Centroids of the m points to c (G x p), by the method of that name. */
static fab_status centroids(const double *points, int64_t m, int64_t p, int64_t G, int64_t seed,
                            double *c)
{
    fab_kmeans_settings set = fab_kmeans_defaults(G);
    const fab_exec alone = {.threads = 1,
                            .progress = never_stop}; /* whoever calls asks, between starts */
    const fab_examples rows = {.x = {.p = points, .type = FAB_F64, .n = m, .ld = p}};
    const fab_mixture *q;
    fab_fit *f;
    set.restarts = 1;
    set.max_iter = LLOYD;
    set.seed = seed;
    FAB_TRY(fab_fit_create(&f, "kmeans", &set, sizeof set, &(fab_input){.vectors = p}, &alone));
    fab_status s = fab_fit_update(f, &rows);
    if (s == FAB_OK) s = fab_fit_result(f, &q);
    for (int64_t g = 0; s == FAB_OK && g < G; g++)
        memcpy(c + g * p, q->part[g < q->n ? g : 0]->mu, (size_t)p * sizeof *c);
    fab_fit_free(f);
    return s;
}

fab_status fab_labels_find(const double *z, int64_t n, int64_t p, int64_t G, const int64_t *among,
                           int64_t of, int64_t seed, int64_t *label)
{
    double *block, distance;
    int64_t m = 0;
    FAB_TRY(fab_alloc_array((void **)&block, (among ? n * p : 0) + G * p, sizeof *block, "labels"));
    double *c = block, *some = block + G * p;
    for (int64_t i = 0; i < n; i++)
        if (!among || among[i] == of) {
            if (among) memcpy(some + m * p, z + i * p, (size_t)p * sizeof *some);
            m++;
        }
    const fab_status s = centroids(among ? some : z, m, p, G, seed, c);
    for (int64_t i = 0; s == FAB_OK && i < n; i++)
        if (!among || among[i] == of) label[i] = nearest(z + i * p, c, G, p, &distance);
    fab_release(block);
    return s;
}
