/* process.c - a Gaussian process at n rows: learning, evidence and its gradient, rows left out, one row more.
 *
 *   1  C = K + diag(noise / weight_i) = L L'; where that fails 1e-10, 1e-9, .. 1e-6 of the mean diagonal is added
 *   2  b = L^-1 y, a = L^-T b;  log p(y) = -b'b / 2 - sum log L_ii - n / 2 log 2 pi
 *   3  U = L^-T in the memory above L; then block by block of the lower half M = (a a' - C^-1) / 2 from U, and
 *      sum_ij M dK / dlog theta from the pairs of that block: neither C^-1 nor K is kept
 *   4  a row left out: mean y_i - a_i / c_i, variance 1 / c_i, c = diag C^-1
 *   5  one row more: L grows by the row (l', d), L l = k, d^2 = k(x, x) + noise / weight - l'l
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/process.h"
#include "base/memory.h"
#include "la/cholesky.h"
#include "la/threads.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { STEP = 16 };

static const double log_2pi = 1.83787706640934548356;

/* ---- life --------------------------------------------------------------------------------------------- */

static int64_t blocks_of(int64_t n)
{
    return (n + FAB_BLOCK - 1) / FAB_BLOCK;
}

static int64_t pairs_of_blocks(int64_t n)
{
    return blocks_of(n) * (blocks_of(n) + 1) / 2;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void layout(fab_layout *l, void *handle)
{
    fab_process_arrays *m = handle;
    const fab_kernel *k = m->k;
    const int64_t R = m->room;
    m->patch = fab_patch_work(k, FAB_BLOCK, R);
    m->panel = least(R, FAB_BLOCK) * FAB_BLOCK;
    if (m->panel < FAB_PANEL * R) m->panel = FAB_PANEL * R;
    m->thread_room = m->patch + m->panel + fab_view_doubles(k, FAB_PANEL) + fab_view_widest(k);
    m->X = fab_place(l, R * k->D, sizeof(double));
    m->sides = fab_place(l, k->leaves, sizeof *m->sides);
    m->thread_sides = fab_place(l, m->threads * k->leaves, sizeof *m->thread_sides);
    m->by_row = fab_place(l, fab_view_doubles(k, R), sizeof(double));
    m->across = fab_place(l, fab_view_doubles(k, R), sizeof(double));
    m->L = fab_place(l, m->lean ? 0 : R * R, sizeof(double));
    m->D = fab_place(l, R * FAB_CHOLESKY_BLOCK, sizeof(double));
    m->y = fab_place(l, R, sizeof(double));
    m->weight = fab_place(l, R, sizeof(double));
    m->a = fab_place(l, R, sizeof(double));
    m->b = fab_place(l, R, sizeof(double));
    m->s = fab_place(l, R, sizeof(double));
    m->partial = fab_place(l, pairs_of_blocks(R) * (k->size + 1), sizeof(double));
    m->work = fab_place(l, m->threads * m->thread_room, sizeof(double));
}

static fab_status build(fab_process_arrays **m, const fab_process *p, int64_t room)
{
    const fab_process_arrays sizes = {
        .k = p->k, .room = room, .lean = p->mean_only, .threads = p->run.threads};
    FAB_TRY(fab_build((void **)m, sizeof **m, &sizes, layout));
    (*m)->ld = room;
    fab_view_init(&(*m)->rows, p->k, room, (*m)->sides, (*m)->by_row, (*m)->across);
    return FAB_OK;
}

/* Rows first .. n - 1 as the leaves see them. */
static void load(fab_process *p, fab_process_arrays *m, int64_t first)
{
    const int64_t D = p->k->D;
    fab_view_load(&m->rows, first, p->n - first, m->X + first * D, D, p->centre, m->work);
}

static fab_status check_rows(int64_t n, int64_t D, const double *X, int64_t ldx)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < D; d++)
            if (!isfinite(X[i * ldx + d]))
                return FAB_FAIL(FAB_BAD_DATA, "process: row %lld, column %lld is %g", (long long)i,
                                (long long)d, X[i * ldx + d]);
    return FAB_OK;
}

static fab_status fill(fab_process *p, const fab_kernel *k, const double *X, int64_t ldx,
                       int64_t room, const fab_exec *x)
{
    const int64_t D = fab_kernel_columns(k);
    FAB_TRY(fab_run_init(&p->run, x, FAB_F64));
    FAB_TRY(fab_kernel_copy(&p->k, k));
    FAB_TRY(fab_alloc_array((void **)&p->centre, D, sizeof *p->centre, "process"));
    FAB_TRY(build(&p->m, p, room > p->n ? room : p->n));
    for (int64_t i = 0; i < p->n; i++) memcpy(p->m->X + i * D, X + i * ldx, (size_t)D * sizeof *X);
    fab_view_centre(p->n, D, X, ldx, p->centre);
    load(p, p->m, 0);
    return FAB_OK;
}

/* mean_only: without room for a factor. */
static fab_status create(fab_process **p, const fab_kernel *k, int64_t n, const double *X,
                         int64_t ldx, int64_t room, int mean_only, const fab_exec *x)
{
    *p = NULL;
    if (n < 1) return FAB_FAIL(FAB_BAD_ARGUMENT, "process: %lld rows", (long long)n);
    FAB_TRY(fab_check_alone("process", x));
    FAB_TRY(check_rows(n, fab_kernel_columns(k), X, ldx));
    FAB_TRY(fab_alloc_array((void **)p, 1, sizeof **p, "process"));
    **p = (fab_process){.n = n, .mean_only = mean_only};
    const fab_status s = fill(*p, k, X, ldx, room, x);
    if (s == FAB_OK) return FAB_OK;
    fab_process_free(*p);
    *p = NULL;
    return s;
}

fab_status fab_process_create(fab_process **p, const fab_kernel *k, int64_t n, const double *X,
                              int64_t ldx, int64_t room, const fab_exec *x)
{
    return create(p, k, n, X, ldx, room, 0, x);
}

int fab_process_is_mean(const fab_process *p)
{
    return p->mean_only;
}

void fab_process_keep_mean(fab_process *p)
{
    p->mean_only = 1;
}

void fab_process_free(fab_process *p)
{
    if (!p) return;
    fab_release(p->m);
    fab_release(p->centre);
    fab_release(p->C);
    fab_kernel_free(p->k);
    fab_release(p);
}

const fab_kernel *fab_process_kernel(const fab_process *p)
{
    return p->k;
}

int64_t fab_process_rows(const fab_process *p)
{
    return p->n;
}

double fab_process_jitter(const fab_process *p)
{
    return p->jitter;
}

double fab_process_noise(const fab_process *p)
{
    return p->noise;
}

fab_status fab_process_set(fab_process *p, const double *theta)
{
    FAB_TRY(fab_kernel_set(p->k, theta));
    p->stands = 0;
    load(p, p->m, 0);
    return FAB_OK;
}

/* ---- learning ----------------------------------------------------------------------------------------- */

/* Row and column of block t of the lower half, row by row. */
static void place(int64_t t, int64_t *I, int64_t *J)
{
    int64_t row = 0;
    while (t > row) t -= ++row;
    *I = row;
    *J = t;
}

static fab_patch patch_of(const fab_process *p, int64_t I, int64_t J, int thread)
{
    const fab_process_arrays *m = p->m;
    return (fab_patch){.k = p->k,
                       .x = &m->rows,
                       .z = &m->rows,
                       .first_x = I * FAB_BLOCK,
                       .nx = least(p->n - I * FAB_BLOCK, FAB_BLOCK),
                       .first_z = J * FAB_BLOCK,
                       .nz = least(p->n - J * FAB_BLOCK, FAB_BLOCK),
                       .work = m->work + thread * m->thread_room};
}

/* All blocks, each so many operations, some at a time, with a question to who watches after each time. */
static fab_status rounds(fab_process *p, const char *what, double each, fab_task *task)
{
    enum { ROUND = 32 };
    const int64_t count = pairs_of_blocks(p->n);
    for (p->first = 0; p->first < count; p->first += ROUND) {
        const int64_t some = least(count - p->first, ROUND);
        fab_parallel(p->run.threads, some, task, p);
        FAB_TRY(fab_watch_work(&p->run.watch, each * (double)some, what, p->first + some, count));
    }
    return FAB_OK;
}

/* Elementary operations for the pairs of a block. */
static double work_of_block(const fab_process *p)
{
    return (double)FAB_BLOCK * FAB_BLOCK * (double)(p->k->D + 8);
}

/* A block of K into L. */
static void gram_block(void *ctx, int64_t t, int thread)
{
    const fab_process *p = ctx;
    int64_t I, J;
    place(p->first + t, &I, &J);
    const fab_patch at = patch_of(p, I, J, thread);
    fab_patch_values(&at, p->m->L + at.first_x * p->m->ld + at.first_z, p->m->ld);
}

/* K, with noise and what is added to the mean of its diagonal. */
static fab_status covariance(fab_process *p, double share)
{
    fab_process_arrays *m = p->m;
    double sum = 0;
    FAB_TRY(rounds(p, "covariance", work_of_block(p), gram_block));
    for (int64_t i = 0; i < p->n; i++) {
        double *c = &m->L[i * m->ld + i];
        *c += p->noise / m->weight[i];
        sum += *c;
    }
    if (!isfinite(sum))
        return FAB_FAIL(FAB_NUMERIC, "process: the kernel '%s' is not finite at these rows",
                        fab_kernel_text(p->k));
    p->jitter = share * sum / (double)p->n;
    if (p->jitter > 0)
        for (int64_t i = 0; i < p->n; i++) m->L[i * m->ld + i] += p->jitter;
    return FAB_OK;
}

static fab_status not_definite(const fab_process *p, int64_t pivot)
{
    return FAB_FAIL(FAB_NUMERIC,
                    "process: the covariance of %lld rows is singular at row %lld with noise %g: "
                    "rows that are there twice without noise, or a length-scale too long for them",
                    (long long)p->n, (long long)pivot, p->noise);
}

/* 1 */
static fab_status factor(fab_process *p)
{
    int64_t pivot = -1;
    fab_status s = FAB_NUMERIC;
    for (double share = 0; s == FAB_NUMERIC && share<2e-6; share = share> 0 ? share * 10 : 1e-10) {
        FAB_TRY(covariance(p, share));
        s = fab_cholesky(&p->run, p->n, p->m->L, p->m->ld, &pivot);
    }
    return s == FAB_NUMERIC ? not_definite(p, pivot) : s;
}

/* 2 */
static void solve(fab_process *p)
{
    fab_process_arrays *m = p->m;
    const size_t bytes = (size_t)p->n * sizeof(double);
    memcpy(m->b, m->y, bytes);
    fab_forward(p->n, m->L, m->ld, m->b);
    memcpy(m->a, m->b, bytes);
    fab_backward(p->n, m->L, m->ld, m->a);
}

/* a and log p(y) are numbers. */
static int is_finite(const fab_process *p)
{
    double sum = 0;
    for (int64_t i = 0; i < p->n; i++) sum += p->m->b[i] * p->m->b[i] + fabs(p->m->a[i]);
    return isfinite(sum);
}

fab_status fab_process_relearn(fab_process *p, double noise)
{
    if (!p->has_y) return FAB_FAIL(FAB_BAD_ARGUMENT, "process: no y is known");
    if (!(noise >= 0 && isfinite(noise)))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "process: noise = %g: expected 0 or more", noise);
    p->noise = noise;
    p->stands = p->inverted = 0;
    FAB_TRY(factor(p));
    solve(p);
    if (!is_finite(p))
        return FAB_FAIL(FAB_NUMERIC,
                        "process: log p(y) with noise %g is no finite number: y is too far from 0",
                        noise);
    p->stands = 1;
    return FAB_OK;
}

static fab_status check_target(int64_t i, double y, double weight)
{
    if (!isfinite(y))
        return FAB_FAIL(FAB_BAD_DATA, "process: y of row %lld is %g", (long long)i, y);
    if (!(weight > 0 && isfinite(weight)))
        return FAB_FAIL(FAB_BAD_DATA, "process: the weight of row %lld is %g: expected above 0",
                        (long long)i, weight);
    return FAB_OK;
}

fab_status fab_process_learn(fab_process *p, const double *y, const double *weight, double noise)
{
    for (int64_t i = 0; i < p->n; i++) FAB_TRY(check_target(i, y[i], weight ? weight[i] : 1));
    for (int64_t i = 0; i < p->n; i++) {
        p->m->y[i] = y[i];
        p->m->weight[i] = weight ? weight[i] : 1;
    }
    p->has_y = 1;
    p->has_s = 0;
    fab_release(p->C);
    p->C = NULL;
    return fab_process_relearn(p, noise);
}

/* ---- evidence ----------------------------------------------------------------------------------------- */

static fab_status check_learned(const fab_process *p)
{
    if (p->has_y && p->stands) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "process: %s",
                    p->has_y ? "nothing has been learned since its parameters changed"
                             : "no y is known");
}

/* 3: a block */
static void gradient_block(void *ctx, int64_t task, int thread)
{
    enum { B = FAB_CHOLESKY_BLOCK };
    const fab_process *p = ctx;
    const fab_process_arrays *m = p->m;
    const int64_t t = p->first + task;
    double *g = m->partial + t * (p->k->size + 1);
    int64_t I, J;
    place(t, &I, &J);
    const fab_patch at = patch_of(p, I, J, thread);
    double *M = at.work + m->patch;
    const double *x = m->a + at.first_x, *z = m->a + at.first_z;
    memset(g, 0, (size_t)(p->k->size + 1) * sizeof *g);
    fab_cholesky_inverse_block(p->n, m->L, m->ld, m->D, I, J, M);
    for (int64_t i = 0; i < at.nx; i++) /* of both halves at once, but for the diagonal */
        for (int64_t j = 0; j < at.nz; j++) M[i * B + j] = x[i] * z[j] - M[i * B + j];
    for (int64_t i = 0; I == J && i < at.nx; i++) {
        M[i * B + i] /= 2;
        for (int64_t j = i + 1; j < at.nz; j++) M[i * B + j] = 0;
        g[p->k->size] += M[i * B + i] * p->noise / m->weight[at.first_x + i];
    }
    fab_patch_gradient(&at, M, B, g);
}

static fab_status invert(fab_process *p)
{
    if (p->inverted) return FAB_OK;
    FAB_TRY(fab_cholesky_inverse(&p->run, p->n, p->m->L, p->m->ld, p->m->D));
    p->inverted = 1;
    return FAB_OK;
}

fab_status fab_process_evidence(fab_process *p, double *lml, double *gradient)
{
    FAB_TRY(check_learned(p));
    const fab_process_arrays *m = p->m;
    double sum = (double)p->n * log_2pi / 2;
    for (int64_t i = 0; i < p->n; i++) sum += log(m->L[i * m->ld + i]) + m->b[i] * m->b[i] / 2;
    *lml = -sum;
    if (!gradient) return FAB_OK;
    const int64_t count = pairs_of_blocks(p->n), size = p->k->size + 1;
    FAB_TRY(invert(p));
    FAB_TRY(rounds(p, "evidence",
                   work_of_block(p) + (double)FAB_BLOCK * FAB_BLOCK * (double)p->n / 8,
                   gradient_block));
    memset(gradient, 0, (size_t)size * sizeof *gradient);
    for (int64_t t = 0; t < count; t++)
        for (int64_t i = 0; i < size; i++) gradient[i] += m->partial[t * size + i];
    return FAB_OK;
}

fab_status fab_process_leave_one_out(fab_process *p, double *logp, double *mean, double *variance)
{
    FAB_TRY(check_learned(p));
    const fab_process_arrays *m = p->m;
    double *c = m->work;
    FAB_TRY(invert(p));
    fab_cholesky_inverse_diagonal(p->n, m->L, m->ld, m->D, c);
    for (int64_t i = 0; i < p->n; i++) { /* 4 */
        const double v = 1 / c[i], d = m->a[i] * v;
        if (mean) mean[i] = m->y[i] - d;
        if (variance) variance[i] = v;
        if (logp) logp[i] = -(log_2pi + log(v) + d * d / v) / 2;
    }
    return FAB_OK;
}

/* ---- one row more ------------------------------------------------------------------------------------- */

/* Room for an eighth more rows, at least STEP: two factors stand for a moment, and the new one is hardly larger than it must be.
 * While rows double so some N^2 numbers are copied, where each of the rows costs N^2 operations.  What stands goes along. */
static fab_status grow(fab_process *p)
{
    fab_process_arrays *to, *from = p->m;
    const int64_t n = p->n, D = p->k->D;
    const size_t bytes = (size_t)n * sizeof(double);
    FAB_TRY(build(&to, p, from->room + from->room / 8 + STEP));
    memcpy(to->X, from->X, bytes * (size_t)D);
    for (int64_t i = 0; i < n; i++)
        memcpy(to->L + i * to->room, from->L + i * from->ld, (size_t)(i + 1) * sizeof(double));
    memcpy(to->y, from->y, bytes);
    memcpy(to->weight, from->weight, bytes);
    memcpy(to->a, from->a, bytes);
    memcpy(to->b, from->b, bytes);
    load(p, to, 0);
    p->m = to;
    p->inverted = 0;
    fab_release(from);
    return FAB_OK;
}

/* Rows of L as far apart as there is room for. */
static void spread(fab_process *p)
{
    fab_process_arrays *m = p->m;
    if (m->ld == m->room) return;
    for (int64_t i = p->n - 1; i > 0; i--)
        memmove(m->L + i * m->room, m->L + i * m->ld, (size_t)(i + 1) * sizeof *m->L);
    m->ld = m->room;
    p->inverted = 0;
}

/* 5 */
static fab_status append(fab_process *p, const double *row, double y, double weight)
{
    fab_process_arrays *m = p->m;
    const int64_t n = p->n, D = p->k->D;
    double *l = m->L + n * m->ld, d;
    memcpy(m->X + n * D, row, (size_t)D * sizeof *row);
    fab_view_load(&m->rows, n, 1, row, D, p->centre, m->work);
    const fab_patch at = {
        .k = p->k, .x = &m->rows, .z = &m->rows, .first_x = n, .nx = 1, .nz = n, .work = m->work};
    fab_patch_values(&at, l, m->ld);
    fab_kernel_diag(p->k, 1, row, D, &d);
    d += p->noise / weight + p->jitter;
    const double whole = d;
    fab_forward(n, m->L, m->ld, l);
    for (int64_t i = 0; i < n; i++) d -= l[i] * l[i];
    if (!(d > whole * DBL_EPSILON))
        return FAB_FAIL(FAB_NUMERIC,
                        "process: one row more makes the covariance singular with noise %g: it is "
                        "a row that is there already, or almost",
                        p->noise);
    l[n] = sqrt(d);
    m->y[n] = y;
    m->weight[n] = weight;
    p->n++;
    solve(p); /* with the bits that a process from a file has */
    if (!is_finite(p)) {
        p->n--;
        solve(p);
        return FAB_FAIL(FAB_BAD_DATA,
                        "process: y of row %lld is %g: with it log p(y) is no finite number",
                        (long long)n, y);
    }
    p->inverted = 0;
    return FAB_OK;
}

fab_status fab_process_append(fab_process *p, const double *row, double y, double weight)
{
    FAB_TRY(check_learned(p));
    FAB_TRY(check_rows(1, p->k->D, row, p->k->D));
    FAB_TRY(check_target(p->n, y, weight));
    if (p->n == p->m->room) FAB_TRY(grow(p));
    spread(p);
    return append(p, row, y, weight);
}

/* ---- parts -------------------------------------------------------------------------------------------- */

/* Rows of L without gaps, and nothing above its diagonal. */
static void gather(fab_process *p)
{
    fab_process_arrays *m = p->m;
    for (int64_t i = 1; m->ld > p->n && i < p->n; i++)
        memmove(m->L + i * p->n, m->L + i * m->ld, (size_t)(i + 1) * sizeof *m->L);
    m->ld = p->n;
    p->inverted = 0;
    fab_cholesky_clear(p->n, m->L, m->ld);
}

void fab_process_parts(fab_process *p, const double **X, const double **a, const double **s,
                       const double **L)
{
    const fab_process_arrays *m = p->m;
    if (X) *X = m->X;
    if (a) *a = m->a;
    if (s) *s = p->has_s ? m->s : NULL;
    if (!L) return;
    gather(p);
    *L = m->L;
}

fab_status fab_process_of_parts(fab_process **p, const fab_kernel *k, int64_t n, const double *X,
                                const double *a, const double *s, const double *L,
                                const fab_exec *x)
{
    const int64_t D = fab_kernel_columns(k);
    FAB_TRY(create(p, k, n, X, D, n, L == NULL, x));
    fab_process_arrays *m = (*p)->m;
    memcpy(m->a, a, (size_t)n * sizeof *a);
    if (s) memcpy(m->s, s, (size_t)n * sizeof *s);
    for (int64_t i = 0; i < n && L; i++)
        memcpy(m->L + i * n, L + i * n, (size_t)(i + 1) * sizeof *L);
    (*p)->has_s = s != NULL;
    (*p)->stands = 1;
    return FAB_OK;
}

fab_status fab_process_of_inducing(fab_process **p, const fab_kernel *k, int64_t m, const double *Z,
                                   const double *a, const double *L, const double *C,
                                   const fab_exec *x)
{
    FAB_TRY(fab_process_of_parts(p, k, m, Z, a, NULL, L, x));
    const fab_status s = fab_alloc_array((void **)&(*p)->C, m * m, sizeof *C, "process");
    if (s == FAB_OK) {
        memcpy((*p)->C, C, (size_t)(m * m) * sizeof *C);
        return FAB_OK;
    }
    fab_process_free(*p);
    *p = NULL;
    return s;
}

fab_status fab_process_resume(fab_process **p, const fab_kernel *k, const fab_process_past *past,
                              const fab_exec *x)
{
    const int64_t n = past->n;
    *p = NULL;
    for (int64_t i = 0; i < n; i++)
        if (!(past->L[i * n + i] > 0))
            return FAB_FAIL(FAB_BAD_FILE, "process: its factor has %g on the diagonal",
                            past->L[i * n + i]);
    if (check_rows(1, fab_kernel_columns(k), past->centre, 0) != FAB_OK)
        return FAB_FAIL(FAB_BAD_FILE, "process: the centre of its rows is no finite number");
    FAB_TRY(fab_process_create(p, k, n, past->X, fab_kernel_columns(k), n, x));
    fab_process_arrays *m = (*p)->m;
    const size_t bytes = (size_t)n * sizeof(double);
    memcpy((*p)->centre, past->centre, (size_t)fab_kernel_columns(k) * sizeof(double));
    load(*p, m, 0);
    memcpy(m->y, past->y, bytes);
    memcpy(m->weight, past->weight, bytes);
    for (int64_t i = 0; i < n; i++)
        memcpy(m->L + i * n, past->L + i * n, (size_t)(i + 1) * sizeof *m->L);
    (*p)->noise = past->noise;
    (*p)->jitter = past->jitter;
    (*p)->has_y = (*p)->stands = 1;
    solve(*p);
    if (is_finite(*p)) return FAB_OK;
    fab_process_free(*p);
    *p = NULL;
    return FAB_FAIL(FAB_BAD_FILE, "process: with its factor and y log p(y) is no finite number");
}

const double *fab_process_centre(const fab_process *p)
{
    return p->centre;
}
