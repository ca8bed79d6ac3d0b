/* rows.c - rows of a kernel matrix that is never whole.
 *
 * A row of k is made in one of two ways, which differ by rounding:
 *
 *   dense    tiles of pairs (kernel/tiles.h), for any kernel
 *   sparse   where at most a quarter of the numbers are not 0 and every basic kernel looks at all columns with one length-scale:
 *
 *       1  s_j = x_i . x_j, a sum over what row j has; a table in which the numbers of each column are 0 or one value v_c needs
 *          their places alone: s_j = sum x_ic v_c
 *       2  u_j = s_j, or (|x_i|^2 + |x_j|^2 - 2 s_j) / l^2; curves, products and sums of them as in tiles.c
 *
 * Rows that were used last are kept (LRU).  A row has the same bits however often it is made, on any number of threads: what is
 * kept does not change a result.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/svm/rows.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/rows.h"
#include "kernel/tiles.h"
#include "la/ops.h"
#include "la/threads.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    SPAN = 512,    /* columns of a row that a task makes */
    SIDE = 8,      /* rows whose sums are made side by side */
    TASK = 1 << 16 /* operations that are worth a thread */
};
#define SPARSE 0.25 /* share of numbers that are not 0 */
/* Of |x|^2 / l^2: beyond it the difference of squares would lose more than five of sixteen digits. */
#define FAR 1e5

struct fab_svm_rows {
    const fab_kernel *k;
    int64_t n, D;
    int threads, sparse;
    double work; /* operations of a row */

    fab_view x, z; /* dense */
    fab_points *sides;
    double *by_row, *across, *centre, *width, *dense; /* dense: one row */

    int64_t stored; /* sparse: numbers, with the zeros that fill up sides */
    int64_t *start; /* sides + 1: where SIDE rows begin */
    int32_t *index; /* stored: first numbers of SIDE rows, second numbers, ..; D: nothing */
    double *value;  /* stored */
    double *one;    /* D: the value of a column, where each has one; only if `alike` */
    int alike;
    double *square; /* n: |x_j|^2 */
    double *wide;   /* D + 1: row i */

    double *room; /* threads x `each` */
    int64_t each;
    double *diag; /* n */

    int64_t slots;          /* kept */
    int64_t *slot, *owner;  /* n: where row i is, or -1; slots: whose, or -1 */
    int64_t *older, *newer; /* slots: in the order of use; -1: none */
    int64_t oldest, newest, used, made;
    double *kept; /* slots x n; a block of its own */

    int64_t at; /* what the tasks make */
    double *out;
};

/* ---- life --------------------------------------------------------------------------------------------- */

static int64_t sides_of(int64_t n)
{
    return (n + SIDE - 1) / SIDE;
}

static void layout(fab_layout *l, void *handle)
{
    fab_svm_rows *r = handle;
    const fab_kernel *k = r->k;
    if (r->sparse) {
        r->start = fab_place(l, sides_of(r->n) + 1, sizeof *r->start);
        r->index = fab_place(l, r->stored, sizeof *r->index);
        r->value = fab_place(l, r->stored, sizeof *r->value);
        r->one = fab_place(l, r->D, sizeof(double));
        r->square = fab_place(l, r->n, sizeof(double));
        r->wide = fab_place(l, r->D + 1, sizeof(double));
        r->each = (2 * k->leaves + 2) * SPAN;
    } else {
        r->sides = fab_place(l, 2 * k->leaves, sizeof *r->sides);
        r->by_row = fab_place(l, fab_view_doubles(k, r->n), sizeof(double));
        r->across = fab_place(l, fab_view_doubles(k, r->n), sizeof(double));
        r->centre = fab_place(l, r->D, sizeof(double));
        r->width = fab_place(l, fab_view_widest(k), sizeof(double));
        r->each = fab_patch_work(k, 1, SPAN);
    }
    r->dense = fab_place(l, r->D, sizeof(double));
    r->room = fab_place(l, r->threads * r->each, sizeof(double));
    r->diag = fab_place(l, r->n, sizeof(double));
    r->slot = fab_place(l, r->n, sizeof *r->slot);
    r->owner = fab_place(l, r->slots, sizeof *r->owner);
    r->older = fab_place(l, r->slots, sizeof *r->older);
    r->newer = fab_place(l, r->slots, sizeof *r->newer);
}

static int64_t row_of(const int64_t *pick, int64_t i)
{
    return pick ? pick[i] : i;
}

/* Does every basic kernel see a pair of rows by their product and lengths alone? */
static int by_products(const fab_kernel *k)
{
    for (int64_t f = 0; f < k->leaves; f++) {
        const fab_leaf *leaf = &k->leaf[f];
        const fab_shape_of_pairs *s = leaf->kind->shape;
        if (s == &fab_nothing) continue;
        if (s != &fab_squares && s != &fab_dots) return 0;
        if (leaf->ard || leaf->columns != k->D) return 0;
    }
    return 1;
}

/* Numbers that are not 0, with what fills up sides, and the largest |x|^2. */
static int64_t count_stored(const fab_rows *x, const int64_t *pick, int64_t n, int64_t D,
                            double *most)
{
    int64_t stored = 0, longest = 0;
    *most = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = row_of(pick, i), m = fab_rows_stored(x, j, D);
        double square = 0;
        int64_t here = 0;
        for (int64_t p = 0; p < m; p++) {
            const double v = fab_rows_value(x, j, p);
            here += v != 0;
            square += v * v;
        }
        *most = square > *most ? square : *most;
        longest = i % SIDE && longest > here ? longest : here;
        if (i % SIDE == SIDE - 1 || i == n - 1) stored += SIDE * longest;
    }
    return stored;
}

static double shortest(const fab_kernel *k)
{
    double l = INFINITY;
    for (int64_t f = 0; f < k->leaves; f++)
        if (k->leaf[f].kind->shape == &fab_squares) l = fmin(l, k->leaf[f].length);
    return l;
}

/* Row i of the table into place `lane` of its side; how many numbers it has. */
static int64_t load_row(fab_svm_rows *r, const fab_rows *x, int64_t j, int64_t i, int64_t at)
{
    const int64_t m = fab_rows_stored(x, j, r->D);
    int64_t put = 0;
    r->square[i] = 0;
    for (int64_t p = 0; p < m; p++) {
        const double v = fab_rows_value(x, j, p);
        const int64_t c = x->start ? fab_rows_place(x, j, p) : p;
        if (v == 0) continue;
        r->index[at + put * SIDE + i % SIDE] = (int32_t)c;
        r->value[at + put * SIDE + i % SIDE] = v;
        put++;
        r->square[i] += v * v;
        if (r->one[c] == 0) r->one[c] = v;
        r->alike &= !(r->one[c] < v || r->one[c] > v);
    }
    return put;
}

static void load_sparse(fab_svm_rows *r, const fab_rows *x, const int64_t *pick)
{
    int64_t at = 0;
    r->alike = 1;
    for (int64_t p = 0; p < r->stored; p++) r->index[p] = (int32_t)r->D; /* value: 0 */
    for (int64_t b = 0; b < sides_of(r->n); b++) {
        int64_t longest = 0;
        r->start[b] = at;
        for (int64_t i = b * SIDE; i < r->n && i < (b + 1) * SIDE; i++) {
            const int64_t m = load_row(r, x, row_of(pick, i), i, at);
            longest = m > longest ? m : longest;
        }
        at += SIDE * longest;
    }
    r->start[sides_of(r->n)] = at;
}

/* Row i stands in `wide`, or is taken out. */
static void spread(fab_svm_rows *r, int64_t i, int there)
{
    const int64_t b = i / SIDE;
    for (int64_t p = r->start[b] + i % SIDE; p < r->start[b + 1]; p += SIDE) {
        const double v = r->value[p];
        r->wide[r->index[p]] = !there ? 0 : r->alike ? v * v : v;
    }
}

static fab_status load_dense(fab_svm_rows *r, const fab_rows *x, const int64_t *pick)
{
    double *row = r->dense;
    memset(r->centre, 0, (size_t)r->D * sizeof *r->centre);
    for (int64_t i = 0; i < r->n; i++) {
        fab_rows_get(x, row_of(pick, i), r->D, row);
        for (int64_t d = 0; d < r->D; d++) r->centre[d] += row[d] / (double)r->n;
    }
    fab_view_init(&r->x, r->k, r->n, r->sides, r->by_row, NULL);
    fab_view_init(&r->z, r->k, r->n, r->sides + r->k->leaves, NULL, r->across);
    for (int64_t i = 0; i < r->n; i++) {
        fab_rows_get(x, row_of(pick, i), r->D, row);
        fab_view_load(&r->x, i, 1, row, r->D, r->centre, r->width);
        fab_view_load(&r->z, i, 1, row, r->D, r->centre, r->width);
    }
    return FAB_OK;
}

fab_status fab_svm_rows_create(fab_svm_rows **r, const fab_kernel *k, const fab_rows *x,
                               const int64_t *pick, int64_t n, double megabytes, const fab_exec *e)
{
    fab_run run;
    double most;
    *r = NULL;
    FAB_TRY(fab_run_init(&run, e, FAB_F64));
    const int64_t stored = count_stored(x, pick, n, k->D, &most);
    const double l = shortest(k);
    fab_svm_rows of = {.k = k, .n = n, .D = k->D, .stored = stored};
    of.sparse = by_products(k) && (double)stored <= SPARSE * (double)n * (double)k->D &&
                !(most > FAR * l * l);
    of.work = of.sparse ? (double)stored + 8 * (double)(n * k->leaves)
                        : (double)(n * k->leaves) * (double)(k->D + 8);
    of.threads = run.threads;
    if (of.work < 2 * TASK) of.threads = 1;
    const double slots = megabytes * 1e6 / (8 * (double)n);
    of.slots = slots < 2 ? 2 : (slots < (double)n ? (int64_t)slots : n);
    if (of.slots > n) of.slots = n;
    FAB_TRY(fab_build((void **)r, sizeof of, &of, layout));
    fab_status s = fab_alloc_array((void **)&(*r)->kept, of.slots * n, sizeof(double),
                                   "rows of the kernel that are kept");
    if (s == FAB_OK && of.sparse) load_sparse(*r, x, pick);
    if (s == FAB_OK && !of.sparse) s = load_dense(*r, x, pick);
    if (s != FAB_OK) {
        fab_svm_rows_free(*r);
        *r = NULL;
        return s;
    }
    for (int64_t i = 0; i < n; i++) {
        (*r)->slot[i] = -1;
        fab_rows_get(x, row_of(pick, i), k->D, (*r)->dense);
        fab_kernel_diag(k, 1, (*r)->dense, k->D, &(*r)->diag[i]);
    }
    (*r)->oldest = (*r)->newest = -1;
    return FAB_OK;
}

void fab_svm_rows_free(fab_svm_rows *r)
{
    if (!r) return;
    fab_release(r->kept);
    fab_release(r);
}

int64_t fab_svm_rows_count(const fab_svm_rows *r)
{
    return r->n;
}

const double *fab_svm_rows_diag(const fab_svm_rows *r)
{
    return r->diag;
}

int64_t fab_svm_rows_made(const fab_svm_rows *r)
{
    return r->made;
}

double fab_svm_rows_work(const fab_svm_rows *r)
{
    return r->work;
}

/* ---- a row -------------------------------------------------------------------------------------------- */

/* 1, of rows from a multiple of SIDE on */
static void products(const fab_svm_rows *r, int64_t first, int64_t m, double *s)
{
    const double *wide = r->wide;
    for (int64_t b = first / SIDE; b < sides_of(first + m); b++, s += SIDE) {
        const int32_t *index = r->index;
        const double *value = r->value;
        double sum[SIDE] = {0};
        for (int64_t p = r->start[b]; p < r->start[b + 1]; p += SIDE)
            for (int64_t i = 0; i < SIDE; i++)
                sum[i] += r->alike ? wide[index[p + i]] : value[p + i] * wide[index[p + i]];
        memcpy(s, sum, sizeof sum);
    }
}

/* 2 */
static void sparse_values(const fab_svm_rows *r, int64_t first, int64_t m, double *room,
                          double *out)
{
    const fab_kernel *k = r->k;
    double *s = room, *u = room + SPAN, *v = room + 2 * SPAN;
    products(r, first, m, s);
    for (int64_t f = 0; f < k->leaves; f++) {
        const fab_leaf *leaf = &k->leaf[f];
        const double *of = s;
        if (leaf->kind->shape == &fab_squares) {
            const double here = r->square[r->at], l = leaf->length;
            for (int64_t j = 0; j < m; j++) {
                const double q = here + r->square[first + j] - 2 * s[j];
                u[j] = q > 0 ? q / (l * l) : 0;
            }
            of = u;
        } else if (leaf->kind->shape == &fab_nothing) {
            memset(u, 0, (size_t)m * sizeof *u);
            of = u;
        }
        leaf->kind->curve(leaf, m, of, v + f * SPAN, NULL, NULL);
    }
    for (int64_t t = 0; t < k->terms; t++) {
        const double s2 = k->parameter[k->term[t].s2].value;
        for (int64_t j = 0; j < m; j++) u[j] = s2;
        for (int64_t f = 0; f < k->leaves; f++)
            if (k->term[t].leaves >> f & 1)
                for (int64_t j = 0; j < m; j++) u[j] *= v[f * SPAN + j];
        for (int64_t j = 0; j < m; j++) out[j] = t ? out[j] + u[j] : u[j];
    }
}

static void task(void *ctx, int64_t i, int thread)
{
    const fab_svm_rows *r = ctx;
    const int64_t first = i * SPAN, m = r->n - first < SPAN ? r->n - first : SPAN;
    double *room = r->room + thread * r->each;
    if (r->sparse) {
        sparse_values(r, first, m, room, r->out + first);
        return;
    }
    const fab_patch p = {.k = r->k,
                         .x = &r->x,
                         .z = &r->z,
                         .first_x = r->at,
                         .nx = 1,
                         .first_z = first,
                         .nz = m,
                         .work = room};
    fab_patch_values(&p, r->out + first, m);
}

static void make(fab_svm_rows *r, int64_t i, double *out)
{
    r->at = i;
    r->out = out;
    if (r->sparse) spread(r, i, 1);
    fab_parallel(r->threads, (r->n + SPAN - 1) / SPAN, task, r);
    if (r->sparse) spread(r, i, 0);
    out[i] = r->diag[i]; /* that of rounding is another */
    r->made++;
}

/* ---- what is kept ------------------------------------------------------------------------------------- */

static void take_out(fab_svm_rows *r, int64_t s)
{
    const int64_t a = r->older[s], b = r->newer[s];
    if (a >= 0)
        r->newer[a] = b;
    else
        r->oldest = b;
    if (b >= 0)
        r->older[b] = a;
    else
        r->newest = a;
}

static void put_newest(fab_svm_rows *r, int64_t s)
{
    r->older[s] = r->newest;
    r->newer[s] = -1;
    if (r->newest >= 0)
        r->newer[r->newest] = s;
    else
        r->oldest = s;
    r->newest = s;
}

const double *fab_svm_rows_get(fab_svm_rows *r, int64_t i)
{
    int64_t s = r->slot[i];
    assert(i >= 0 && i < r->n);
    if (s >= 0) {
        take_out(r, s);
        put_newest(r, s);
        return r->kept + s * r->n;
    }
    if (r->used < r->slots) {
        s = r->used++;
    } else {
        s = r->oldest;
        take_out(r, s);
        r->slot[r->owner[s]] = -1;
    }
    r->owner[s] = i;
    r->slot[i] = s;
    put_newest(r, s);
    make(r, i, r->kept + s * r->n);
    return r->kept + s * r->n;
}
