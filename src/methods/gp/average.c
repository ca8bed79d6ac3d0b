/* average.c - a Gaussian process of numbers at several places in the space of its parameters: a mixture.
 *
 * Laplace: the evidence as a function of u, the logarithms of the free parameters, is near exp(-(u - m)'H (u - m) / 2).
 *
 *   1  H, the negative second derivative of log p(y) at its maximum m, from differences of the gradient;  H = V diag(v) V',  v at
 *      least 1 / 4: a direction in which y says nothing is followed for 2 in logarithms.  Parameters at a bound stay there
 *   2  places m, and m + RADIUS V v^-1/2 z_r, z_r the signs of M rows and P columns of a Hadamard matrix, M a power of 2 above P: the
 *      mean of z is 0 and that of z z' is I, and a place moves all parameters at once
 *   3  weights beside the evidence: 1 - 1 / RADIUS^2 of m, exp(P RADIUS^2 / 2) / (M RADIUS^2) of each other.  Where the evidence is a
 *      Gaussian those times exp(log p(y)) have the sum 1 and give u the covariance H^-1; where it is not, they follow it
 *
 * Ends of searches that differ: each with the weight exp(log p(y)).
 *
 *   4  the process is learned at each place from all rows;  weight_r = base_r p_r(y) / sum
 *
 * [Rue, Martino and Chopin 2009], 6.5, where 3 is from; a mixture of many rows has hardly more than one place.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/gp/average.h"
#include "base/fail.h"
#include "base/memory.h"
#include "la/ops.h"
#include "la/small.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define RADIUS 1.1
#define FLAT   0.25 /* least curvature */
#define EDGE   1e-4 /* in logarithms: so near to a bound is at it */
#define STEP   1e-3 /* of differences, in logarithms */

/* ---- places ------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_gp_average *a = handle;
    a->theta = fab_place(l, a->n * a->size, sizeof(double));
    a->base = fab_place(l, a->n, sizeof(double));
    a->weight = fab_place(l, a->n, sizeof(double));
    a->noise = fab_place(l, a->n, sizeof(double));
    a->p = fab_place(l, a->n, sizeof *a->p);
}

fab_status fab_gp_average_create(fab_gp_average **a, int64_t n, int64_t size)
{
    const fab_gp_average sizes = {.n = n, .size = size};
    return fab_build((void **)a, sizeof **a, &sizes, layout);
}

static void forget(fab_gp_average *a)
{
    for (int64_t r = 1; r < a->n; r++) {
        fab_process_free(a->p[r]);
        a->p[r] = NULL;
    }
}

void fab_gp_average_free(fab_gp_average *a)
{
    if (!a) return;
    forget(a);
    fab_release(a);
}

int64_t fab_gp_average_places(int64_t parameters)
{
    int64_t M = 1;
    while (M <= parameters) M *= 2;
    return parameters ? M + 1 : 1;
}

fab_status fab_gp_average_ends(fab_gp_average **a, const fab_evidence_ends *ends)
{
    FAB_TRY(fab_gp_average_create(a, ends->n, ends->size));
    memcpy((*a)->theta, ends->theta, (size_t)(ends->n * ends->size) * sizeof(double));
    return FAB_OK;
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

/* What is free and within its bounds. */
typedef struct room {
    int64_t size, P, M;
    int64_t *at;       /* size: places of the free ones in theta */
    double *lo, *hi;   /* size */
    double *mode, *u;  /* size */
    double *up, *down; /* size: gradients */
    double *H, *v;     /* size x size, size */
    double *work;
} room;

static void room_layout(fab_layout *l, void *handle)
{
    room *m = handle;
    const int64_t n = m->size;
    m->at = fab_place(l, n, sizeof *m->at);
    double **const all[] = {&m->lo, &m->hi, &m->mode, &m->u, &m->up, &m->down, &m->v};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i] = fab_place(l, n, sizeof(double));
    m->H = fab_place(l, n * n, sizeof(double));
    m->work = fab_place(l, fab_eig_work(n), sizeof(double));
}

static fab_status stand(fab_process *p, const double *u, int64_t size)
{
    FAB_TRY(fab_process_set(p, u));
    return fab_process_relearn(p, exp(u[size - 1]));
}

static void find_free(room *m, const fab_process *p, int noise_free)
{
    const fab_kernel *k = fab_process_kernel(p);
    fab_kernel_get(k, m->mode);
    m->mode[m->size - 1] = log(fab_process_noise(p));
    m->lo[m->size - 1] = -INFINITY;
    m->hi[m->size - 1] = INFINITY;
    for (int64_t i = 0; i < m->size - 1; i++) {
        fab_kernel_parameter q;
        fab_kernel_parameter_at(k, i, &q);
        m->lo[i] = log(q.lo);
        m->hi[i] = log(q.hi);
        if (!q.fixed && m->mode[i] > m->lo[i] + EDGE && m->mode[i] < m->hi[i] - EDGE)
            m->at[m->P++] = i;
    }
    if (noise_free) m->at[m->P++] = m->size - 1;
}

static fab_status find_curvature(room *m, fab_process *p)
{
    const int64_t P = m->P;
    double lml;
    memcpy(m->u, m->mode, (size_t)m->size * sizeof *m->u);
    for (int64_t j = 0; j < P; j++) {
        double *u = &m->u[m->at[j]];
        const double was = *u;
        *u = was + STEP;
        FAB_TRY(stand(p, m->u, m->size));
        FAB_TRY(fab_process_evidence(p, &lml, m->up));
        *u = was - STEP;
        FAB_TRY(stand(p, m->u, m->size));
        FAB_TRY(fab_process_evidence(p, &lml, m->down));
        *u = was;
        for (int64_t i = 0; i < P; i++)
            m->H[i + j * P] = -(m->up[m->at[i]] - m->down[m->at[i]]) / (2 * STEP);
    }
    fab_symmetrise(P, m->H);
    FAB_TRY(fab_eig(P, m->H, m->v, m->work));
    for (int64_t i = 0; i < P; i++) m->v[i] = fmax(m->v[i], FLAT);
    return FAB_OK;
}

/* ---- 2, 3 --------------------------------------------------------------------------------------------- */

static int odd_bits(int64_t x)
{
    int odd = 0;
    for (; x; x &= x - 1) odd = !odd;
    return odd;
}

static void place(const room *m, fab_gp_average *a)
{
    const int64_t P = m->P;
    memcpy(a->theta, m->mode, (size_t)m->size * sizeof *a->theta);
    if (a->n == 1) return;
    a->base[0] = log(1 - 1 / (RADIUS * RADIUS));
    for (int64_t r = 0; r < m->M; r++) {
        double *u = a->theta + (r + 1) * m->size;
        memcpy(u, m->mode, (size_t)m->size * sizeof *u);
        for (int64_t j = 0; j < P; j++) {
            const double z = odd_bits(r & (j + 1)) ? -RADIUS : RADIUS;
            for (int64_t i = 0; i < P; i++) u[m->at[i]] += z * m->H[i + j * P] / sqrt(m->v[j]);
        }
        for (int64_t i = 0; i < m->size; i++) u[i] = fmin(fmax(u[i], m->lo[i]), m->hi[i]);
        a->base[r + 1] = (double)P * RADIUS * RADIUS / 2 - log((double)m->M * RADIUS * RADIUS);
    }
}

fab_status fab_gp_average_laplace(fab_gp_average **a, fab_process *p, int noise_free)
{
    const room sizes = {.size = fab_kernel_size(fab_process_kernel(p)) + 1};
    room *m;
    *a = NULL;
    FAB_TRY(fab_build((void **)&m, sizeof *m, &sizes, room_layout));
    find_free(m, p, noise_free);
    fab_status s = FAB_OK;
    if (m->P > FAB_AVERAGE_MOST)
        s = FAB_FAIL(FAB_UNSUPPORTED,
                     "gp: average = laplace is for at most %d free parameters, and here are %lld",
                     FAB_AVERAGE_MOST, (long long)m->P);
    m->M = fab_gp_average_places(m->P) - 1;
    if (s == FAB_OK && m->P) {
        s = find_curvature(m, p);
        const fab_status back = stand(p, m->mode, m->size);
        if (s == FAB_OK) s = back;
    }
    if (s == FAB_OK) s = fab_gp_average_create(a, m->M + 1, m->size);
    if (s == FAB_OK) place(m, *a);
    fab_release(m);
    return s;
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

static fab_status learn_at(fab_process **p, const fab_process *first, const double *u, int64_t size,
                           const double *y, const double *weight, const fab_exec *x)
{
    const double *X;
    const int64_t n = fab_process_rows(first);
    fab_kernel *k;
    fab_process_parts((fab_process *)first, &X, NULL, NULL, NULL);
    FAB_TRY(fab_kernel_copy(&k, fab_process_kernel(first)));
    fab_status s = fab_kernel_set(k, u);
    if (s == FAB_OK) s = fab_process_create(p, k, n, X, fab_kernel_columns(k), n, x);
    if (s == FAB_OK) s = fab_process_learn(*p, y, weight, exp(u[size - 1]));
    fab_kernel_free(k);
    return s;
}

fab_status fab_gp_average_learn(fab_gp_average *a, fab_process *p, const double *y,
                                const double *weight, const fab_exec *x)
{
    double top = -INFINITY, sum = 0;
    forget(a);
    a->p[0] = p;
    for (int64_t r = 0; r < a->n; r++) {
        double lml;
        fab_status s = r ? learn_at(&a->p[r], p, a->theta + r * a->size, a->size, y, weight, x)
                         : FAB_OK;
        if (s == FAB_OK) s = fab_process_evidence(a->p[r], &lml, NULL);
        if (s != FAB_OK) {
            forget(a);
            return s;
        }
        a->noise[r] = fab_process_noise(a->p[r]) + fab_process_jitter(a->p[r]);
        a->weight[r] = a->base[r] + lml;
        top = fmax(top, a->weight[r]);
    }
    for (int64_t r = 0; r < a->n; r++) sum += a->weight[r] = exp(a->weight[r] - top);
    for (int64_t r = 0; r < a->n; r++) a->weight[r] /= sum;
    return FAB_OK;
}
