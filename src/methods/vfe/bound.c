/* bound.c - a Gaussian process through m inducing inputs Z: vfe, dtc and fitc.
 *
 * Q = Kxz Kzz^-1 Kzx stands for K.  Row i has the noise d_i = s^2 / w_i, and in fitc k_ii - q_ii more; lambda_i = 1 / d_i.
 *
 *   log N(y; 0, Q + diag(d))  -  [vfe] sum_i lambda_i (k_ii - q_ii) / 2
 *
 *   1  Kzz = L L'; where that fails 1e-10, 1e-9, .. 1e-6 of the mean diagonal is added
 *   2  block of rows by block: A = L^-1 Kzx,  S += A diag(lambda) A',  c += A diag(lambda) y,  and sums of log d, lambda y^2,
 *      lambda (k_ii - q_ii)
 *   3  B = I + S = C C';  v = B^-1 c is the mean of L^-1 f(Z);  a = L^-T v
 *      value = -(N log 2 pi + sum log d + log |B| + sum lambda y^2 - |C^-1 c|^2) / 2 [- sum lambda (k - q) / 2]
 *
 * Its gradient, block of rows by block once more, with e = y - A'v, b = lambda e:
 *
 *   4  by k_ii: [vfe] -lambda_i / 2,  [fitc] h_i = (b_i^2 - lambda_i + lambda_i^2 A_i' B^-1 A_i) / 2
 *   5  by Kzx: W = L^-T (M A diag(lambda) [fitc: - 2 A diag(h)]) + a b',  M = -B^-1, [vfe] I - B^-1
 *      and from W sums with dk / dtheta and dk / dZ in one pass over the pairs of the block
 *   6  by Kzz: -L^-T P L^-1,  2 P = v v' - I + B^-1 [vfe: + S] [fitc: - 2 A diag(h) A']
 *   7  by log s^2: sum_i h_i s^2 / w_i = (sum d_i b_i^2 - N + m - tr B^-1) / 2 [vfe: + sum lambda (k - q) / 2]
 *
 *   8  rows that come later: 2 row by row for the parameters and Z that are there, then 3
 *
 * Panels of PANEL rows are what a task takes, ROUND of them what memory holds; S is added in tiles of its rows, panel by panel:
 * the same bits for any number of threads.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vfe/bound.h"
#include "base/fail.h"
#include "base/memory.h"
#include "kernel/tiles.h"
#include "la/ops.h"
#include "la/small.h"
#include "la/threads.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const double log_2pi = 1.83787706640934548356;

enum {
    PANEL = 256, /* rows of a task */
    ROUND = 16,  /* panels at a time */
    TILE = 64,   /* rows of S, or of Z, of a task */
    LATER = 64   /* rows of a block of those that come later: the last one is filled up */
};

struct fab_bound {
    fab_bound_kind kind;
    fab_kernel *k;
    fab_run run;
    fab_bound_rows rows;
    int64_t m, D, size, threads;
    double noise, share, jitter; /* share: of the mean diagonal of Kzz, the jitter */
    fab_bound_sums sums;

    double *Z;      /* m x D */
    double *centre; /* D */
    fab_points *sides;
    double *by_row, *across;
    fab_view z;
    double *L;               /* m x m, column-major, lower */
    double *S;               /* m x m */
    double *C;               /* m x m, column-major, lower */
    double *c, *v, *a;       /* m each */
    double *rows_L, *rows_C; /* m x m, row-major: L and C for others */

    double *A;              /* ROUND x m x PANEL */
    double *lambda, *ly;    /* ROUND x PANEL: lambda, and with it y */
    double *h;              /* ROUND x PANEL */
    double *part;           /* ROUND x (FAB_BOUND_SUMS): of a panel */
    double *slope;          /* ROUND x (size + 1 + m D) */
    double *Binv, *T, *P;   /* m x m each */
    double *tile_slope;     /* tiles x size */
    double *G;              /* m x D: rows of Kzz */
    double *work;           /* threads x room */
    fab_points *work_sides; /* threads x leaves */
    int64_t room, patch;

    int64_t first; /* row of this round */
    int64_t panels;
    int moves; /* the gradient is by Z, too */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Of a panel there is room for all; those by Z are there where they are asked for. */
static int64_t room_of_slopes(const fab_bound *b)
{
    return b->size + 1 + b->m * b->D;
}

static int64_t slopes(const fab_bound *b)
{
    return b->size + 1 + (b->moves ? b->m * b->D : 0);
}

static int64_t tiles(const fab_bound *b)
{
    return (b->m + TILE - 1) / TILE;
}

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_bound *b = handle;
    const int64_t m = b->m, leaves = b->k->leaves, doubles = fab_view_doubles(b->k, 1);
    b->patch = fab_patch_work(b->k, m, PANEL);
    b->room = b->patch + m * PANEL + TILE * PANEL + 2 * doubles * PANEL + fab_view_widest(b->k) +
              3 * PANEL;
    b->Z = fab_place(l, m * b->D, sizeof(double));
    b->centre = fab_place(l, b->D, sizeof(double));
    b->sides = fab_place(l, leaves, sizeof *b->sides);
    b->by_row = fab_place(l, doubles * m, sizeof(double));
    b->across = fab_place(l, doubles * m, sizeof(double));
    b->L = fab_place(l, m * m, sizeof(double));
    b->S = fab_place(l, m * m, sizeof(double));
    b->C = fab_place(l, m * m, sizeof(double));
    b->c = fab_place(l, m, sizeof(double));
    b->v = fab_place(l, m, sizeof(double));
    b->a = fab_place(l, m, sizeof(double));
    b->rows_L = fab_place(l, m * m, sizeof(double));
    b->rows_C = fab_place(l, m * m, sizeof(double));
    b->A = fab_place(l, b->panels * m * PANEL, sizeof(double));
    b->lambda = fab_place(l, b->panels * PANEL, sizeof(double));
    b->ly = fab_place(l, b->panels * PANEL, sizeof(double));
    b->h = fab_place(l, b->panels * PANEL, sizeof(double));
    b->part = fab_place(l, b->panels * FAB_BOUND_SUMS, sizeof(double));
    b->slope = fab_place(l, b->panels * room_of_slopes(b), sizeof(double));
    b->Binv = fab_place(l, m * m, sizeof(double));
    b->T = fab_place(l, m * m, sizeof(double));
    b->P = fab_place(l, m * m, sizeof(double));
    b->tile_slope = fab_place(l, tiles(b) * b->size, sizeof(double));
    b->G = fab_place(l, m * b->D, sizeof(double));
    b->work = fab_place(l, b->threads * b->room, sizeof(double));
    b->work_sides = fab_place(l, b->threads * leaves, sizeof *b->work_sides);
}

fab_status fab_bound_create(fab_bound **b, fab_bound_kind kind, const fab_kernel *k,
                            const fab_bound_rows *rows, int64_t m, const double *Z,
                            const double *centre, const fab_exec *x)
{
    fab_bound proto = {.kind = kind,
                       .rows = *rows,
                       .m = m,
                       .D = fab_kernel_columns(k),
                       .size = fab_kernel_size(k)};
    *b = NULL;
    FAB_TRY(fab_run_init(&proto.run, x, FAB_F64));
    proto.threads = proto.run.threads;
    proto.panels = least((rows->n + PANEL - 1) / PANEL, ROUND);
    if (proto.panels < 1) proto.panels = 1;
    FAB_TRY(fab_kernel_copy(&proto.k, k));
    const fab_status s = fab_build((void **)b, sizeof proto, &proto, layout);
    if (s != FAB_OK) {
        fab_kernel_free(proto.k);
        return s;
    }
    memcpy((*b)->Z, Z, (size_t)(m * proto.D) * sizeof *Z);
    if (centre)
        memcpy((*b)->centre, centre, (size_t)proto.D * sizeof *centre);
    else
        fab_view_centre(rows->n, proto.D, rows->X, proto.D, (*b)->centre);
    fab_view_init(&(*b)->z, (*b)->k, m, (*b)->sides, (*b)->by_row, (*b)->across);
    return FAB_OK;
}

void fab_bound_free(fab_bound *b)
{
    if (!b) return;
    fab_kernel_free(b->k);
    fab_release(b);
}

fab_bound_kind fab_bound_kind_of(const fab_bound *b)
{
    return b->kind;
}

const fab_bound_rows *fab_bound_rows_of(const fab_bound *b)
{
    return &b->rows;
}

int64_t fab_bound_size(const fab_bound *b)
{
    return b->m;
}

const double *fab_bound_inputs(const fab_bound *b)
{
    return b->Z;
}

const double *fab_bound_centre(const fab_bound *b)
{
    return b->centre;
}

double fab_bound_jitter(const fab_bound *b)
{
    return b->jitter;
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

/* Kzz of a tile of rows into L, whose other half is the same. */
static void gram_tile(void *ctx, int64_t t, int thread)
{
    const fab_bound *b = ctx;
    const int64_t first = t * TILE;
    const fab_patch at = {.k = b->k,
                          .x = &b->z,
                          .z = &b->z,
                          .first_x = first,
                          .nx = least(b->m - first, TILE),
                          .nz = b->m,
                          .work = b->work + thread * b->room};
    fab_patch_values(&at, b->L + first * b->m, b->m);
}

static fab_status factor(fab_bound *b)
{
    const int64_t m = b->m;
    fab_status s = FAB_NUMERIC;
    fab_view_load(&b->z, 0, m, b->Z, b->D, b->centre, b->work);
    for (; s == FAB_NUMERIC && b->share<2e-6; b->share = b->share> 0 ? b->share * 10 : 1e-10) {
        double sum = 0;
        fab_parallel(b->run.threads, tiles(b), gram_tile, b);
        for (int64_t i = 0; i < m; i++) sum += b->L[i * m + i];
        if (!isfinite(sum))
            return FAB_FAIL(FAB_NUMERIC, "the kernel '%s' is not finite at the inducing inputs",
                            fab_kernel_text(b->k));
        b->jitter = b->share * sum / (double)m;
        for (int64_t i = 0; i < m; i++) b->L[i * m + i] += b->jitter;
        s = fab_chol(m, b->L);
        if (s == FAB_OK) return FAB_OK;
    }
    b->share = 0;
    return s == FAB_NUMERIC ? FAB_FAIL(FAB_NUMERIC,
                                       "the covariance of %lld inducing inputs is singular: some "
                                       "are at one place, or a length-scale is too long for them",
                                       (long long)m)
                            : s;
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

/* The memory of a thread. */
typedef struct room {
    double *patch, *W, *tile, *diag, *e, *b, *width;
    fab_view x;
} room;

static room room_of(const fab_bound *b, int thread, int by_row)
{
    const int64_t doubles = fab_view_doubles(b->k, 1);
    double *at = b->work + thread * b->room;
    room r = {.patch = at, .W = at + b->patch};
    r.tile = r.W + b->m * PANEL;
    r.diag = r.tile + TILE * PANEL;
    r.e = r.diag + PANEL;
    r.b = r.e + PANEL;
    double *across = r.b + PANEL;
    r.width = across + 2 * doubles * PANEL;
    fab_view_init(&r.x, b->k, PANEL, b->work_sides + thread * b->k->leaves,
                  by_row ? across + doubles * PANEL : NULL, across);
    return r;
}

/* A of `count` rows, m x ld with zeros behind them, and the diagonal of K. */
static void project(const fab_bound *b, room *r, int64_t count, const double *X, int64_t ld,
                    double *A)
{
    fab_view_load(&r->x, 0, count, X, b->D, b->centre, r->width);
    const fab_patch at = {
        .k = b->k, .x = &b->z, .z = &r->x, .nx = b->m, .nz = count, .work = r->patch};
    fab_patch_values(&at, A, ld);
    for (int64_t j = 0; j < b->m; j++)
        for (int64_t i = count; i < ld; i++) A[j * ld + i] = 0;
    fab_tri_solve(FAB_RIGHT, FAB_T, ld, b->m, b->L, A);
    fab_kernel_diag(b->k, count, X, b->D, r->diag);
}

/* k_ii - q_ii */
static void take_off(int64_t m, int64_t count, int64_t ld, const double *A, double *left)
{
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < count; i++) left[i] -= A[j * ld + i] * A[j * ld + i];
}

static double noise_of(const fab_bound *b, const double *weight, int64_t row, double left)
{
    const double d = weight ? b->noise / weight[row] : b->noise;
    return b->kind == FAB_BOUND_FITC && left > 0 ? d + left : d;
}

static void add_row(fab_bound_sums *s, double d, double y, double left)
{
    s->rows++;
    s->log_noise += log(d);
    s->squares += y * y / d;
    s->left += left / d;
}

static void panel_values(void *ctx, int64_t t, int thread)
{
    const fab_bound *b = ctx;
    const int64_t first = b->first + t * PANEL, count = least(b->rows.n - first, PANEL);
    double *A = b->A + t * b->m * PANEL, *lambda = b->lambda + t * PANEL, *ly = b->ly + t * PANEL;
    room r = room_of(b, thread, 0);
    fab_bound_sums s = {0};
    project(b, &r, count, b->rows.X + first * b->D, PANEL, A);
    take_off(b->m, count, PANEL, A, r.diag);
    memset(lambda, 0, PANEL * sizeof *lambda);
    memset(ly, 0, PANEL * sizeof *ly);
    for (int64_t i = 0; i < count; i++) {
        const double d = noise_of(b, b->rows.weight, first + i, r.diag[i]),
                     y = b->rows.y[first + i];
        lambda[i] = 1 / d;
        ly[i] = y / d;
        add_row(&s, d, y, r.diag[i]);
    }
    memcpy(b->part + t * FAB_BOUND_SUMS, &s, sizeof s);
}

/* A tile of rows of the lower half of `to` += A diag(w) A', and c += A (w y) where there is one. */
static void add_tile(const fab_bound *b, int64_t tile, int thread, int64_t panels, const double *w,
                     double *to, const double *wy, double *c)
{
    const room r = room_of(b, thread, 0);
    const int64_t first = tile * TILE, rows = least(b->m - first, TILE);
    for (int64_t t = 0; t < panels; t++) {
        const double *A = b->A + t * b->m * PANEL, *mine = A + first * PANEL;
        for (int64_t j = 0; j < rows; j++)
            for (int64_t i = 0; i < PANEL; i++)
                r.tile[j * PANEL + i] = mine[j * PANEL + i] * w[t * PANEL + i];
        fab_gemm(FAB_F64, FAB_N, FAB_T, rows, first + rows, PANEL, 1, r.tile, PANEL, A, PANEL, 1,
                 to + first * b->m, b->m);
        if (c) fab_gemv(FAB_N, rows, PANEL, 1, mine, PANEL, wy + t * PANEL, 1, c + first);
    }
}

static int64_t panels_of(const fab_bound *b)
{
    return least((b->rows.n - b->first + PANEL - 1) / PANEL, b->panels);
}

static void tile_values(void *ctx, int64_t tile, int thread)
{
    const fab_bound *b = ctx;
    add_tile(b, tile, thread, panels_of(b), b->lambda, b->S, b->ly, b->c);
}

static void tile_of_fitc(void *ctx, int64_t tile, int thread)
{
    const fab_bound *b = ctx;
    add_tile(b, tile, thread, panels_of(b), b->h, b->P, NULL, NULL);
}

static void mirror(int64_t m, double *S)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i + 1; j < m; j++) S[i * m + j] = S[j * m + i];
}

static fab_status watch(fab_bound *b, double each)
{
    const double m = (double)b->m, rows = (double)(panels_of(b) * PANEL);
    return fab_watch_work(&b->run.watch, rows * m * (each * m + (double)b->D + 8), "bound",
                          b->first, b->rows.n);
}

static fab_status sum_rows(fab_bound *b)
{
    const int64_t m = b->m;
    memset(b->S, 0, (size_t)(m * m) * sizeof *b->S);
    memset(b->c, 0, (size_t)m * sizeof *b->c);
    b->sums = (fab_bound_sums){.jitter = b->jitter};
    for (b->first = 0; b->first < b->rows.n; b->first += b->panels * PANEL) {
        const int64_t panels = panels_of(b);
        fab_parallel(b->run.threads, panels, panel_values, b);
        fab_parallel(b->run.threads, tiles(b), tile_values, b);
        for (int64_t t = 0; t < panels; t++) {
            const double *part = b->part + t * FAB_BOUND_SUMS;
            b->sums.rows += part[0];
            b->sums.log_noise += part[1];
            b->sums.squares += part[2];
            b->sums.left += part[3];
        }
        FAB_TRY(watch(b, 2));
    }
    mirror(m, b->S);
    return FAB_OK;
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

static fab_status settle(fab_bound *b, double *value)
{
    const int64_t m = b->m;
    double log_det = 0, explained = 0;
    memcpy(b->C, b->S, (size_t)(m * m) * sizeof *b->C);
    fab_add_identity(m, b->C);
    if (fab_chol(m, b->C) != FAB_OK)
        return FAB_FAIL(FAB_NUMERIC,
                        "the posterior of %lld inducing inputs has no factor with noise %g: y or "
                        "the columns are too far from 0",
                        (long long)m, b->noise);
    memcpy(b->v, b->c, (size_t)m * sizeof *b->v);
    fab_tri_solve(FAB_LEFT, FAB_N, m, 1, b->C, b->v);
    for (int64_t j = 0; j < m; j++) {
        log_det += 2 * log(b->C[j * m + j]);
        explained += b->v[j] * b->v[j];
    }
    fab_tri_solve(FAB_LEFT, FAB_T, m, 1, b->C, b->v);
    memcpy(b->a, b->v, (size_t)m * sizeof *b->a);
    fab_tri_solve(FAB_LEFT, FAB_T, m, 1, b->L, b->a);
    const fab_bound_sums *s = &b->sums;
    *value = -(s->rows * log_2pi + s->log_noise + log_det + s->squares - explained) / 2;
    if (b->kind == FAB_BOUND_VFE) *value -= s->left / 2;
    if (isfinite(*value)) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "the bound with noise %g is no finite number: y is too far from 0",
                    b->noise);
}

/* ---- 4, 5 --------------------------------------------------------------------------------------------- */

/* By the diagonal of K: weights w of `count` rows, which stand in the view of the room. */
static void diagonal_slopes(const fab_bound *b, const room *r, int64_t count, const double *w,
                            double *g)
{
    const fab_kernel *k = b->k;
    if (!fab_kernel_is_stationary(k)) {
        fab_patch at = {.k = k, .x = &r->x, .z = &r->x, .nx = 1, .nz = 1, .work = r->patch};
        for (int64_t i = 0; i < count; i++) {
            at.first_x = at.first_z = i;
            fab_patch_gradient(&at, w + i, 1, g);
        }
        return;
    }
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += w[i];
    for (int64_t t = 0; t < k->terms; t++) /* k(x, x) is the sum of all s2 */
        g[k->term[t].s2] += sum * k->parameter[k->term[t].s2].value;
}

/* 4 of fitc, and with it 5 but for a b': W = L^-T (-B^-1 A diag(lambda) - 2 A diag(h)) */
static double weights_of_fitc(const fab_bound *b, const room *r, int64_t first, int64_t count,
                              const double *A, const double *lambda, double *h)
{
    const int64_t m = b->m;
    double *W = r->W, noise = 0;
    fab_gemm(FAB_F64, FAB_N, FAB_N, m, PANEL, m, 1, b->Binv, m, A, PANEL, 0, W, PANEL);
    memset(h, 0, PANEL * sizeof *h);
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < count; i++) h[i] += A[j * PANEL + i] * W[j * PANEL + i];
    for (int64_t i = 0; i < count; i++) {
        const double d = b->rows.weight ? b->noise / b->rows.weight[first + i] : b->noise;
        h[i] = (r->b[i] * r->b[i] - lambda[i] + lambda[i] * lambda[i] * h[i]) / 2;
        noise += h[i] * d;
    }
    for (int64_t i = 0; i < count;
         i++) /* no noise is taken from k - q where rounding has it below 0 */
        if (!(r->diag[i] > 0)) h[i] = 0;
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < PANEL; i++)
            W[j * PANEL + i] = -lambda[i] * W[j * PANEL + i] - 2 * h[i] * A[j * PANEL + i];
    fab_tri_solve(FAB_RIGHT, FAB_N, PANEL, m, b->L, W);
    return noise;
}

static void panel_slopes(void *ctx, int64_t t, int thread)
{
    const fab_bound *b = ctx;
    const int64_t m = b->m, first = b->first + t * PANEL, count = least(b->rows.n - first, PANEL);
    double *A = b->A + t * m * PANEL, *g = b->slope + t * slopes(b),
           *lambda = b->lambda + t * PANEL, *h = b->h + t * PANEL, noise = 0;
    const int fitc = b->kind == FAB_BOUND_FITC, stationary = fab_kernel_is_stationary(b->k);
    room r = room_of(b, thread, !stationary);
    double *W = r.W;
    memset(g, 0, (size_t)slopes(b) * sizeof *g);
    project(b, &r, count, b->rows.X + first * b->D, PANEL, A);
    if (fitc) take_off(m, count, PANEL, A, r.diag);
    fab_gemv(FAB_T, m, PANEL, 1, A, PANEL, b->v, 0, r.e);
    memset(r.b, 0, PANEL * sizeof *r.b);
    memset(lambda, 0, PANEL * sizeof *lambda);
    for (int64_t i = 0; i < count; i++) {
        const double d = noise_of(b, b->rows.weight, first + i, r.diag[i]);
        lambda[i] = 1 / d;
        r.b[i] = (b->rows.y[first + i] - r.e[i]) / d;
        noise += d * r.b[i] * r.b[i] / 2;
    }
    if (fitc)
        noise = weights_of_fitc(b, &r, first, count, A, lambda, h);
    else
        fab_gemm(FAB_F64, FAB_T, FAB_N, m, PANEL, m, 1, b->T, m, A, PANEL, 0, W, PANEL);
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < count; i++) {
            const double w = fitc ? W[j * PANEL + i] : W[j * PANEL + i] * lambda[i];
            W[j * PANEL + i] = w + b->a[j] * r.b[i];
        }
    const fab_patch at = {.k = b->k, .x = &b->z, .z = &r.x, .nx = m, .nz = count, .work = r.patch};
    if (b->moves)
        fab_patch_both(&at, W, PANEL, g, g + b->size + 1);
    else
        fab_patch_gradient(&at, W, PANEL, g);
    for (int64_t i = 0; i < count; i++) r.e[i] = fitc ? h[i] : -lambda[i] / 2; /* 4 */
    if (b->kind != FAB_BOUND_DTC) diagonal_slopes(b, &r, count, r.e, g);
    g[b->size] = noise;
}

/* ---- 6 ------------------------------------------------------------------------------------------------ */

static void gram_slopes(void *ctx, int64_t t, int thread)
{
    const fab_bound *b = ctx;
    const int64_t first = t * TILE;
    const fab_patch at = {.k = b->k,
                          .x = &b->z,
                          .z = &b->z,
                          .first_x = first,
                          .nx = least(b->m - first, TILE),
                          .nz = b->m,
                          .work = b->work + thread * b->room};
    if (b->moves)
        fab_patch_both(&at, b->P + first * b->m, b->m, b->tile_slope + t * b->size,
                       b->G + first * b->D);
    else
        fab_patch_gradient(&at, b->P + first * b->m, b->m, b->tile_slope + t * b->size);
}

static void slopes_of_inputs(fab_bound *b, double *g)
{
    const int64_t m = b->m;
    double trace = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++) {
            const double eye = i == j ? 1 : 0;
            double p = b->v[i] * b->v[j] - eye + b->Binv[i * m + j];
            if (b->kind == FAB_BOUND_VFE) p += b->S[i * m + j];
            b->P[i * m + j] = b->P[i * m + j] - p / 2;
        }
    fab_tri_solve(FAB_LEFT, FAB_T, m, m, b->L, b->P);
    fab_tri_solve(FAB_RIGHT, FAB_N, m, m, b->L, b->P);
    fab_symmetrise(m, b->P);
    for (int64_t i = 0; i < m; i++) trace += b->P[i * m + i];
    for (int64_t i = 0; i < m; i++) b->P[i * m + i] += b->share * trace / (double)m;
    memset(b->tile_slope, 0, (size_t)(tiles(b) * b->size) * sizeof *b->tile_slope);
    memset(b->G, 0, (size_t)(m * b->D) * sizeof *b->G);
    fab_parallel(b->run.threads, tiles(b), gram_slopes, b);
    for (int64_t t = 0; t < tiles(b); t++)
        for (int64_t i = 0; i < b->size; i++) g[i] += b->tile_slope[t * b->size + i];
    for (int64_t i = 0; b->moves && i < m * b->D; i++) g[b->size + 1 + i] += 2 * b->G[i];
}

static fab_status differentiate(fab_bound *b, double *g)
{
    const int64_t m = b->m;
    const int vfe = b->kind == FAB_BOUND_VFE, fitc = b->kind == FAB_BOUND_FITC;
    double trace = 0;
    fab_chol_inv(m, b->C, b->Binv);
    for (int64_t i = 0; i < m * m; i++) b->T[i] = -b->Binv[i];
    if (vfe) fab_add_identity(m, b->T);
    fab_tri_solve(FAB_LEFT, FAB_T, m, m, b->L, b->T); /* L^-T M */
    memset(b->P, 0, (size_t)(m * m) * sizeof *b->P);
    memset(g, 0, (size_t)slopes(b) * sizeof *g);
    for (b->first = 0; b->first < b->rows.n; b->first += b->panels * PANEL) {
        const int64_t panels = panels_of(b);
        fab_parallel(b->run.threads, panels, panel_slopes, b);
        if (fitc) fab_parallel(b->run.threads, tiles(b), tile_of_fitc, b);
        for (int64_t t = 0; t < panels; t++)
            for (int64_t i = 0; i < slopes(b); i++) g[i] += b->slope[t * slopes(b) + i];
        FAB_TRY(watch(b, 3));
    }
    if (fitc) mirror(m, b->P);
    slopes_of_inputs(b, g);
    for (int64_t j = 0; j < m; j++) trace += b->Binv[j * m + j];
    if (!fitc) g[b->size] += ((double)m - trace - b->sums.rows) / 2; /* 7 */
    if (vfe) g[b->size] += b->sums.left / 2;
    return FAB_OK;
}

fab_status fab_bound_at(fab_bound *b, const double *theta, double noise, const double *Z, int fresh,
                        double *value, double *gradient)
{
    FAB_TRY(fab_kernel_set(b->k, theta));
    if (Z) memcpy(b->Z, Z, (size_t)(b->m * b->D) * sizeof *Z);
    if (fresh) b->share = 0;
    b->noise = noise;
    b->moves = Z != NULL;
    FAB_TRY(factor(b));
    FAB_TRY(sum_rows(b));
    FAB_TRY(settle(b, value));
    return gradient ? differentiate(b, gradient) : FAB_OK;
}

/* ---- 8 ------------------------------------------------------------------------------------------------ */

typedef struct later {
    fab_bound *b;
    int64_t count;
    const double *rows; /* LATER x m: A', row by row */
    const double *lambda, *ly;
} later;

/* A tile of rows of S, one row of the data after the other. */
static void tile_later(void *ctx, int64_t tile, int thread)
{
    const later *l = ctx;
    fab_bound *b = l->b;
    const int64_t m = b->m, first = tile * TILE, end = least(m, first + TILE);
    (void)thread;
    for (int64_t j = first; j < end; j++)
        for (int64_t i = 0; i < l->count; i++) {
            const double *a = l->rows + i * m, w = a[j] * l->lambda[i];
            double *to = b->S + j * m;
            for (int64_t n = 0; n <= j; n++) to[n] += w * a[n];
            b->c[j] += a[j] * l->ly[i];
        }
}

static void add_rows(fab_bound *b, const fab_bound_rows *rows)
{
    room r = room_of(b, 0, 0);
    double *A = b->A, *turned = r.W;
    for (int64_t first = 0; first < rows->n; first += LATER) {
        const int64_t count = least(rows->n - first, LATER);
        project(b, &r, count, rows->X + first * b->D, LATER, A);
        take_off(b->m, count, LATER, A, r.diag);
        for (int64_t i = 0; i < count; i++) {
            const double y = rows->y[first + i], left = r.diag[i],
                         d = noise_of(b, rows->weight, first + i, left);
            for (int64_t j = 0; j < b->m; j++) turned[i * b->m + j] = A[j * LATER + i];
            b->lambda[i] = 1 / d;
            b->ly[i] = y / d;
            add_row(&b->sums, d, y, left);
        }
        later l = {b, count, turned, b->lambda, b->ly};
        fab_parallel(b->run.threads, tiles(b), tile_later, &l);
    }
    mirror(b->m, b->S);
}

fab_status fab_bound_add(fab_bound *b, const fab_bound_rows *rows, double *value)
{
    const size_t of_S = (size_t)(b->m * b->m) * sizeof *b->S, of_c = (size_t)b->m * sizeof *b->c;
    const fab_bound_sums before = b->sums;
    double was;
    memcpy(b->P, b->S, of_S); /* which, with G, is a gradient's */
    memcpy(b->G, b->c, of_c);
    add_rows(b, rows);
    if (settle(b, value) == FAB_OK) return FAB_OK;
    b->sums = before;
    memcpy(b->S, b->P, of_S);
    memcpy(b->c, b->G, of_c);
    FAB_TRY(settle(b, &was));
    return FAB_FAIL(FAB_BAD_DATA,
                    "with these rows the posterior of the inducing inputs is no finite number: a "
                    "y or a column is too far from those of the fit");
}

/* ---- for others ----------------------------------------------------------------------------------------- */

void fab_bound_state(const fab_bound *b, const fab_bound_sums **sums, const double **c,
                     const double **S)
{
    *sums = &b->sums;
    *c = b->c;
    *S = b->S;
}

fab_status fab_bound_resume(fab_bound *b, const double *theta, double noise,
                            const fab_bound_sums *sums, const double *c, const double *S,
                            double *value)
{
    const int64_t m = b->m;
    FAB_TRY(fab_kernel_set(b->k, theta));
    b->noise = noise;
    b->share = 0;
    FAB_TRY(factor(b));
    b->sums = *sums;
    memcpy(b->c, c, (size_t)m * sizeof *c);
    memcpy(b->S, S, (size_t)(m * m) * sizeof *S);
    return settle(b, value);
}

static void turn(int64_t m, const double *from, double *to)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++) to[i * m + j] = j > i ? 0 : from[j * m + i];
}

fab_status fab_bound_gauss(const fab_bound *b, fab_gauss *q)
{
    const int64_t m = b->m;
    double *F = b->Binv; /* is free, as T is */
    memcpy(F, b->S, (size_t)(m * m) * sizeof *F);
    for (int64_t j = 0; j < m; j++) {
        F[j * m + j] += 0.5;
        q->psi[j] = 0.5;
        q->mu[j] = b->v[j];
    }
    FAB_TRY(fab_chol(m, F));
    turn(m, F, b->T);
    memcpy(q->F, b->T, (size_t)(m * m) * sizeof *b->T);
    return FAB_OK;
}

void fab_bound_parts(const fab_bound *b, const double **a, const double **L, const double **C)
{
    turn(b->m, b->L, b->rows_L);
    turn(b->m, b->C, b->rows_C);
    *a = b->a;
    *L = b->rows_L;
    *C = b->rows_C;
}

fab_status fab_bound_process(const fab_bound *b, fab_process **p, const fab_exec *x)
{
    const double *a, *L, *C;
    fab_bound_parts(b, &a, &L, &C);
    return fab_process_of_inducing(p, b->k, b->m, b->Z, a, L, C, x);
}
