/* process_predict.c - what a process says at other rows: mean and variance, their slopes, joint draws.
 *
 *   1  k = k(z, x_i), i < n;  mean = k' a
 *   2  v = L^-1 (s o k);  variance = k(z, z) - v'v;  of an inducing process + u'u, u = C^-1 v
 *   3  w = s o (L^-T v), of an inducing process L^-T (v - C^-T u);  d mean / dz = sum_i a_i dk_i / dz,
 *      d variance / dz = dk(z, z) / dz - 2 sum_i w_i dk_i / dz
 *   4  jointly: covariance k(Z, Z) - V V' (+ U U'), V = L^-1 (s o k(Z)); draws: mean + F e, F F' = it by pivoted Cholesky, which needs
 *      nothing on the diagonal
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "kernel/process.h"
#include "kernel/sums.h"
#include "la/cholesky.h"
#include "la/small.h"
#include "la/threads.h"
#include <float.h>
#include <math.h>
#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static fab_status check(const fab_process *p, int64_t m, const double *Z, int64_t ldz)
{
    if (!p->stands)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "process: %s",
                        p->has_y ? "nothing has been learned since its parameters changed"
                                 : "no y is known");
    for (int64_t i = 0; i < m; i++)
        for (int64_t d = 0; d < p->k->D; d++)
            if (!isfinite(Z[i * ldz + d]))
                return FAB_FAIL(FAB_BAD_DATA, "process: row %lld, column %lld is %g", (long long)i,
                                (long long)d, Z[i * ldz + d]);
    return FAB_OK;
}

static fab_status check_factor(const fab_process *p)
{
    if (!p->mean_only) return FAB_OK;
    return FAB_FAIL(FAB_UNSUPPORTED,
                    "process: its factor was left out, and there is a mean alone: draws and "
                    "slopes of the variance need a fit that keeps it");
}

/* The memory of a thread. */
typedef struct room {
    double *patch, *panel, *rows, *width;
    fab_points *sides;
} room;

static room room_of(const fab_process *p, int thread)
{
    const fab_process_arrays *m = p->m;
    room r = {.patch = m->work + thread * m->thread_room,
              .sides = m->thread_sides + thread * p->k->leaves};
    r.panel = r.patch + m->patch;
    r.rows = r.panel + m->panel;
    r.width = r.rows + fab_view_doubles(p->k, FAB_PANEL);
    return r;
}

/* k(z_i, x_j) of `count` rows into a count x n matrix.  view: of the rows, in the memory of r. */
static void cross(const fab_process *p, const room *r, int64_t count, const double *Z, int64_t ldz,
                  fab_view *view, double *K)
{
    fab_view_init(view, p->k, count, r->sides, r->rows, NULL);
    fab_view_load(view, 0, count, Z, ldz, p->centre, r->width);
    const fab_patch at = {
        .k = p->k, .x = view, .z = &p->m->rows, .nx = count, .nz = p->n, .work = r->patch};
    fab_patch_values(&at, K, p->n);
}

void fab_process_panel(const fab_process *p, int thread, int64_t count, const double *Z,
                       int64_t ldz, double *K)
{
    const room r = room_of(p, thread);
    fab_view view;
    cross(p, &r, count, Z, ldz, &view, K);
}

static void times_s(const fab_process *p, int64_t count, double *K)
{
    if (!p->has_s) return;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < p->n; j++) K[i * p->n + j] *= p->m->s[j];
}

/* ---- mean and variance -------------------------------------------------------------------------------- */

typedef struct prediction {
    const fab_process *p;
    int64_t m;
    const double *Z;
    int64_t ldz;
    double *mean, *variance;
    int64_t first; /* row of this round */
} prediction;

static void predict_panel(void *ctx, int64_t t, int thread)
{
    const prediction *q = ctx;
    const fab_process *p = q->p;
    const room r = room_of(p, thread);
    const int64_t first = q->first + t * FAB_PANEL, count = least(q->m - first, FAB_PANEL);
    const double *Z = q->Z + first * q->ldz;
    fab_view view;
    double *K = r.panel;
    cross(p, &r, count, Z, q->ldz, &view, K);
    for (int64_t i = 0; i < count; i++)
        q->mean[first + i] = fab_dot(p->n, K + i * p->n, p->m->a); /* 1 */
    if (!q->variance) return;
    times_s(p, count, K);
    const int64_t whole = fab_solved_rows(count);
    memset(K + count * p->n, 0, (size_t)((whole - count) * p->n) * sizeof *K);
    fab_forward_rows(p->n, p->m->L, p->m->ld, whole, K, p->n); /* 2 */
    fab_kernel_diag(p->k, count, Z, q->ldz, q->variance + first);
    for (int64_t i = 0; i < count; i++)
        q->variance[first + i] -= fab_dot(p->n, K + i * p->n, K + i * p->n);
    if (!p->C) return;
    fab_forward_rows(p->n, p->C, p->n, whole, K, p->n);
    for (int64_t i = 0; i < count; i++)
        q->variance[first + i] += fab_dot(p->n, K + i * p->n, K + i * p->n);
}

fab_status fab_process_predict(fab_process *p, int64_t m, const double *Z, int64_t ldz,
                               double *mean, double *variance, int64_t *clipped)
{
    enum { ROUND = 32 };
    FAB_TRY(check(p, m, Z, ldz));
    prediction q = {p, m, Z, ldz, mean, p->mean_only ? NULL : variance, 0};
    const int64_t panels = (m + FAB_PANEL - 1) / FAB_PANEL;
    const double each = FAB_PANEL * (double)p->n *
                        (q.variance ? (double)p->n / 8 : (double)p->k->D + 8);
    for (int64_t t = 0; t < panels; t += ROUND) {
        const int64_t some = least(panels - t, ROUND);
        q.first = t * FAB_PANEL;
        fab_parallel(p->run.threads, some, predict_panel, &q);
        FAB_TRY(fab_watch_work(&p->run.watch, each * (double)some, "prediction", t + some, panels));
    }
    if (clipped) *clipped = 0;
    if (!variance) return FAB_OK;
    if (p->mean_only) memset(variance, 0, (size_t)m * sizeof *variance);
    for (int64_t i = 0; i < m; i++)
        if (variance[i] < 0) {
            variance[i] = 0;
            if (clipped) *clipped += 1;
        }
    return FAB_OK;
}

/* ---- slopes ------------------------------------------------------------------------------------------- */

fab_status fab_process_slopes(fab_process *p, const double *z, double *mean, double *variance,
                              double *mean_by, double *variance_by)
{
    const int64_t n = p->n, D = p->k->D;
    FAB_TRY(check(p, 1, z, D));
    FAB_TRY(check_factor(p));
    const room r = room_of(p, 0);
    fab_view view;
    double *v = r.panel, two = 2;
    cross(p, &r, 1, z, D, &view, v);
    *mean = fab_dot(n, v, p->m->a); /* 1 */
    times_s(p, 1, v);
    fab_forward(n, p->m->L, p->m->ld, v); /* 2 */
    fab_kernel_diag(p->k, 1, z, D, variance);
    *variance -= fab_dot(n, v, v);
    if (p->C) { /* the memory of one row, of FAB_PANEL that there are */
        double *u = v + n;
        memcpy(u, v, (size_t)n * sizeof *u);
        fab_forward(n, p->C, n, u);
        *variance += fab_dot(n, u, u);
        fab_backward(n, p->C, n, u);
        for (int64_t i = 0; i < n; i++) v[i] -= u[i];
    }
    if (!(*variance > 0)) *variance = 0;
    fab_backward(n, p->m->L, p->m->ld, v); /* 3 */
    times_s(p, 1, v);
    for (int64_t i = 0; i < n; i++) v[i] *= -2;
    fab_patch at = {.k = p->k, .x = &view, .z = &p->m->rows, .nx = 1, .nz = n, .work = r.patch};
    memset(mean_by, 0, (size_t)D * sizeof *mean_by);
    memset(variance_by, 0, (size_t)D * sizeof *variance_by);
    fab_patch_rows(&at, p->m->a, n, mean_by);
    fab_patch_rows(&at, v, n, variance_by);
    if (fab_kernel_is_stationary(p->k)) return FAB_OK;
    for (int64_t f = 0; f < p->k->leaves; f++) /* one row is the same by row and across */
        view.side[f].across = view.side[f].by_row;
    at.z = &view;
    at.nz = 1;
    fab_patch_rows(&at, &two, 1, variance_by);
    return FAB_OK;
}

/* ---- draws -------------------------------------------------------------------------------------------- */

typedef struct draws {
    int64_t n, m, D;
    double *V;    /* m x n: k(Z, X), then s o it, then L^-1 of that */
    double *C;    /* m x m: covariance, then F */
    double *mean; /* m */
    double *diag; /* m */
    double *e;    /* m */
    double *work;
} draws;

static void draws_layout(fab_layout *l, void *handle)
{
    draws *d = handle;
    d->V = fab_place(l, d->m * d->n, sizeof(double));
    d->C = fab_place(l, d->m * d->m, sizeof(double));
    d->mean = fab_place(l, d->m, sizeof(double));
    d->diag = fab_place(l, d->m, sizeof(double));
    d->e = fab_place(l, d->m, sizeof(double));
    d->work = fab_place(l, fab_cholesky_pivoted_work(d->m), sizeof(double));
}

/* Mean and covariance, C of both halves. */
static fab_status joint(fab_process *p, draws *d, const double *Z, int64_t ldz)
{
    const int64_t m = d->m, n = d->n;
    const fab_exec x = fab_watch_exec(&p->run.watch, (fab_exec){.threads = p->run.threads});
    FAB_TRY(fab_kernel_cross(p->k, m, Z, ldz, n, p->m->X, p->k->D, d->V, n, &x));
    for (int64_t i = 0; i < m; i++) d->mean[i] = fab_dot(n, d->V + i * n, p->m->a);
    times_s(p, m, d->V);
    for (int64_t i = 0; i < m; i += FAB_PANEL)
        fab_forward_rows(n, p->m->L, p->m->ld, least(m - i, FAB_PANEL), d->V + i * n, n);
    FAB_TRY(fab_kernel_gram(p->k, m, Z, ldz, d->C, m, &x));
    for (int64_t i = 0; i < m; i++) d->diag[i] = d->C[i * m + i];
    fab_gemm(FAB_F64, FAB_N, FAB_T, m, m, n, -1, d->V, n, d->V, n, 1, d->C, m);
    if (p->C) {
        for (int64_t i = 0; i < m; i += FAB_PANEL)
            fab_forward_rows(n, p->C, n, least(m - i, FAB_PANEL), d->V + i * n, n);
        fab_gemm(FAB_F64, FAB_N, FAB_T, m, m, n, 1, d->V, n, d->V, n, 1, d->C, m);
    }
    return FAB_OK;
}

/* Mean and F; their rank. */
static fab_status joint_root(fab_process *p, draws *d, const double *Z, int64_t ldz, int64_t *rank)
{
    double top = 0;
    FAB_TRY(joint(p, d, Z, ldz));
    for (int64_t i = 0; i < d->m; i++) top = fmax(top, d->diag[i]);
    const double tol = (double)(d->m + d->n) * DBL_EPSILON * top;
    *rank = fab_cholesky_pivoted(d->m, d->C, d->m, tol, d->work);
    return FAB_OK;
}

fab_status fab_process_joint(fab_process *p, int64_t m, const double *Z, int64_t ldz, double *mean,
                             double *covariance, int64_t ldc)
{
    draws *d;
    FAB_TRY(check(p, m, Z, ldz));
    FAB_TRY(check_factor(p));
    const draws sizes = {.n = p->n, .m = m, .D = p->k->D};
    FAB_TRY(fab_build((void **)&d, sizeof *d, &sizes, draws_layout));
    const fab_status s = joint(p, d, Z, ldz);
    for (int64_t i = 0; s == FAB_OK && i < m; i++) {
        mean[i] = d->mean[i];
        for (int64_t j = 0; j < i; j++) /* both halves the same bits */
            covariance[i * ldc + j] = covariance[j * ldc + i] = d->C[i * m + j];
        covariance[i * ldc + i] = fmax(d->C[i * m + i], 0);
    }
    fab_release(d);
    return s;
}

fab_status fab_process_draw(fab_process *p, int64_t m, const double *Z, int64_t ldz, uint64_t seed,
                            fab_purpose purpose, int64_t first, int64_t count, double *out,
                            int64_t ld)
{
    draws *d;
    int64_t rank;
    FAB_TRY(check(p, m, Z, ldz));
    FAB_TRY(check_factor(p));
    if (m == 0 || count == 0) return FAB_OK;
    const draws sizes = {.n = p->n, .m = m, .D = p->k->D};
    FAB_TRY(fab_build((void **)&d, sizeof *d, &sizes, draws_layout));
    const fab_status s = joint_root(p, d, Z, ldz, &rank);
    for (int64_t j = 0; s == FAB_OK && j < count; j++) { /* 4 */
        fab_random_normal(seed, purpose, (uint64_t)(first + j), 0, m, FAB_F64, d->e);
        memcpy(out + j * ld, d->mean, (size_t)m * sizeof *out);
        fab_gemv(FAB_N, m, rank, 1, d->C, m, d->e, 1, out + j * ld);
    }
    fab_release(d);
    return s;
}
