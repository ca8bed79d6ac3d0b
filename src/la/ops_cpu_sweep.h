/* ops_cpu_sweep.h - the fused pass of ops.h on one chunk, in one precision; part of ops_cpu_kernel.h.
 *
 *   1  w_i' = w_i R + s_i u_i T + x_i C
 *   2  psi_i' from base_i and w_i' Q w_i'^T
 *   3  store w_i'; weigh what is in the cache by psi'^-1/2 and add G, H, N, E
 *
 * Both widths do these steps on a block of rows: narrow ones on turned columns, wide ones by BLAS.
 *
 * SPDX-License-Identifier: MIT */

/* A block of rows in the cache, and what is known of each row. */
typedef struct TYPED(block) {
    REAL *W, *U, *X, *O, *P, *next; /* the arrays of fab_sweep; O: W', P: W' Q (wide) */
    REAL *h;                        /* row factors */
    REAL *ww, *xx, *qq;             /* |w_i|^2, |x_i|^2, w_i' Q w_i'^T */
    double *base, *psi;             /* psi: psi' */
} TYPED(block);

static char *TYPED(block_layout)(TYPED(block) *b, const fab_sweep *s, int64_t rows, char *room)
{
    b->W = TAKE((s->w.k + s->u.k + s->x.k) * rows); /* side by side: one product serves all three */
    b->U = b->W + s->w.k * rows;
    b->X = b->U + s->u.k * rows;
    b->O = TAKE(s->K * rows);
    b->P = TAKE(s->K * rows);
    b->next = TAKE(s->next.k * rows);
    b->h = TAKE(rows);
    b->ww = TAKE(rows);
    b->xx = TAKE(rows);
    b->qq = TAKE(rows);
    b->base = TAKE_DOUBLES(rows);
    b->psi = TAKE_DOUBLES(rows);
    return room;
}

/* Where this chunk's sums start: G, E, H, N, the floored rows. */
typedef struct TYPED(sums) {
    double *G, *E, *H, *N, *floored;
} TYPED(sums);

static TYPED(sums) TYPED(sums_layout)(const fab_sweep *s, double *partial)
{
    TYPED(sums) at;
    at.G = partial;
    at.E = at.G + (s->G ? s->K * s->K : 0);
    at.H = at.E + (s->E ? s->K * s->K : 0);
    at.N = at.H + (s->H ? s->w.k * s->K : 0);
    at.floored = at.N + (s->N ? s->K * s->next.k : 0);
    return at;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* s_num / s_den, rounded once. */
static const REAL *TYPED(ratios)(const fab_sweep *s, int64_t first, int64_t count, REAL *h)
{
    if (!s->s_num) return NULL;
    for (int64_t i = 0; i < count; i++) h[i] = (REAL)(s->s_num[first + i] / s->s_den[first + i]);
    return h;
}

static int TYPED(wants_base)(const fab_sweep *s)
{
    return s->psi_out || s->base_out;
}

/* base_i = c0 psi_i + c1 |w_i|^2 + c2 |x_i|^2 + c3 d2_i */
static void TYPED(base)(const fab_sweep *s, int64_t first, int64_t count, const TYPED(block) *b)
{
    double *restrict base = b->base;
    memset(base, 0, (size_t)count * sizeof *base);
    for (int64_t i = 0; i < count && s->c0 != 0; i++) base[i] += s->c0 * s->psi[first + i];
    for (int64_t i = 0; i < count && s->c1 != 0; i++) base[i] += s->c1 * (double)b->ww[i];
    for (int64_t i = 0; i < count && s->c2 != 0; i++) base[i] += s->c2 * (double)b->xx[i];
    for (int64_t i = 0; i < count && s->c3 != 0; i++) base[i] += s->c3 * s->d2[first + i];
}

/* psi_i' = max(base_i - w_i' Q w_i'^T, floor base_i); returns how often the floor acted. */
static int64_t TYPED(floored)(double floor, int64_t count, const TYPED(block) *b)
{
    const double *restrict base = b->base;
    double *restrict psi = b->psi;
    int64_t acted = 0;
    for (int64_t i = 0; i < count; i++) {
        const double left = base[i] - (double)b->qq[i], least = floor * base[i];
        acted += left < least;
        psi[i] = left < least ? least : left;
    }
    return acted;
}

/* psi' of a block whose dot products are known; kept where it is wanted. */
static int64_t TYPED(block_psi)(const fab_sweep *s, int64_t first, int64_t count, const TYPED(block) *b)
{
    int64_t acted = 0;
    if (TYPED(wants_base)(s)) TYPED(base)(s, first, count, b);
    if (s->psi_out) acted = TYPED(floored)(s->floor, count, b);
    else
        for (int64_t i = 0; i < count; i++) b->psi[i] = s->psi ? s->psi[first + i] : 1;
    if (s->psi_out) memcpy(s->psi_out + first, b->psi, (size_t)count * sizeof *b->psi);
    if (s->base_out) memcpy(s->base_out + first, b->base, (size_t)count * sizeof *b->base);
    return acted;
}

static void TYPED(inverse_roots)(int64_t count, const TYPED(block) *b)
{
    for (int64_t i = 0; i < count; i++) b->h[i] = (REAL)(1 / sqrt(b->psi[i]));
}

/* What turns rows weighed by psi'^-1/2 into rows weighed by psi0^1/2 psi'^-1. */
static void TYPED(second_roots)(const fab_sweep *s, int64_t first, int64_t count, const TYPED(block) *b)
{
    for (int64_t i = 0; i < count; i++) b->h[i] = (REAL)sqrt(s->psi0[first + i] / b->psi[i]);
}

/* Rows past the last one weigh nothing. */
static void TYPED(pad_rows)(int64_t count, REAL *h)
{
    TYPED(pad)(1, count, h);
}

static int TYPED(wants_sums)(const fab_sweep *s)
{
    return s->G || s->E || s->H || s->N;
}

/* ---- narrow -------------------------------------------------------------------------------------- */

static void TYPED(new_columns)(const fab_sweep *s, const fab_job *job, int64_t i, int64_t m, const TYPED(block) *b,
                               fab_ahead *ahead)
{
    const int steps = TYPED(steps)(m);
    TYPED(pack)(&s->w, i, m, NULL, b->W);
    TYPED(pack)(&s->u, i, m, TYPED(ratios)(s, i, m, b->h), b->U);
    TYPED(pack)(&s->x, i, m, NULL, b->X);
    TYPED(product)(job->cols, s->K, steps, b->W, job->M, 0, ahead, b->O); /* 1: W, U, X lie side by side */
}

static void TYPED(column_dots)(const fab_sweep *s, const fab_job *job, int steps, const TYPED(block) *b, fab_ahead *ahead)
{
    if (!TYPED(wants_base)(s)) return;
    if (s->c1 != 0) TYPED(dots)(s->w.k, steps, b->W, b->W, b->ww);
    if (s->c2 != 0) TYPED(dots)(s->x.k, steps, b->X, b->X, b->xx);
    if (!s->psi_out) return;
    if (s->Q) TYPED(quadratics)(s->K, steps, b->O, job->Q, ahead, b->qq);
    else TYPED(dots)(s->K, steps, b->O, b->O, b->qq);
}

/* 3: spread sums of G, H, N, E. */
static void TYPED(column_sums)(const fab_sweep *s, int64_t i, int64_t m, const TYPED(block) *b, fab_ahead *ahead,
                               VEC *acc)
{
    const int steps = TYPED(steps)(m);
    TYPED(inverse_roots)(m, b);
    TYPED(pad_rows)(m, b->h);
    TYPED(scale_columns)(s->K, steps, b->h, b->O);
    if (s->G) acc = TYPED(gram_tiles)(s->K, steps, b->O, ahead, acc);
    if (s->H) {
        TYPED(scale_columns)(s->w.k, steps, b->h, b->W);
        acc = TYPED(cross_tiles)(s->w.k, b->W, s->K, b->O, steps, ahead, acc);
    }
    if (s->N) {
        TYPED(pack)(&s->next, i, m, b->h, b->next);
        acc = TYPED(cross_tiles)(s->K, b->O, s->next.k, b->next, steps, ahead, acc);
    }
    if (s->E) {
        TYPED(second_roots)(s, i, m, b);
        TYPED(pad_rows)(m, b->h);
        TYPED(scale_columns)(s->K, steps, b->h, b->O);
        TYPED(gram_tiles)(s->K, steps, b->O, ahead, acc);
    }
}

static int64_t TYPED(sum_vectors)(const fab_sweep *s)
{
    const int64_t triangle = s->K * (s->K + 1) / 2;
    return (s->G ? triangle : 0) + (s->E ? triangle : 0) + (s->H ? s->w.k * s->K : 0) + (s->N ? s->K * s->next.k : 0);
}

static void TYPED(sweep_fold)(const fab_sweep *s, const double *sums, const TYPED(sums) *at)
{
    if (s->G) sums = TYPED(gram_fold)(s->K, sums, at->G);
    if (s->H) sums = TYPED(cross_fold)(s->w.k, s->K, sums, at->H);
    if (s->N) sums = TYPED(cross_fold)(s->K, s->next.k, sums, at->N);
    if (s->E) TYPED(gram_fold)(s->K, sums, at->E);
}

/* How often the inner loops turn on a block. */
static int64_t TYPED(sweep_turns)(const fab_sweep *s)
{
    const int64_t K = s->K, products = TYPED(product_turns)(s->w.k + s->u.k + s->x.k, K);
    return products + (s->psi_out && s->Q ? TYPED(product_turns)(K, K) / 2 : 0) + (s->G ? TYPED(tile_turns)(K, K) / 2 : 0) +
           (s->H ? TYPED(tile_turns)(s->w.k, K) : 0) + (s->N ? TYPED(tile_turns)(K, s->next.k) : 0);
}

/* What the next block will touch: rows, and the short runs of vectors that hardware does not foresee. */
static fab_ahead TYPED(sweep_ahead)(const fab_sweep *s, int64_t first, int64_t turns)
{
    fab_ahead a = TYPED(rows_ahead)(&s->w, s->out.p == s->w.p ? NULL : &s->out, first, turns);
    if (!a.p) return a;
    const int64_t count = s->n - first < SUB_ROWS ? s->n - first : SUB_ROWS;
    const int64_t bytes = count * (int64_t)sizeof(double), typed = count * (int64_t)sizeof(REAL);
    if (s->psi) also(&a, s->psi + first, bytes);
    if (s->d2 && s->c3 != 0) also(&a, s->d2 + first, bytes);
    if (s->psi_out && s->psi_out != s->psi) also(&a, s->psi_out + first, bytes);
    if (s->x.k == 1) also(&a, TYPED(at)(&s->x, first, 0), typed);
    if (s->next.k == 1 && s->N) also(&a, TYPED(at)(&s->next, first, 0), typed);
    return a;
}

static void TYPED(sweep_narrow)(const fab_job *job, fab_span rows, char *room, double *partial)
{
    const fab_sweep *s = job->sweep;
    const TYPED(sums) at = TYPED(sums_layout)(s, partial);
    const int64_t vectors = TYPED(sum_vectors)(s), turns = TYPED(sweep_turns)(s);
    TYPED(block) b;
    room = TYPED(block_layout)(&b, s, SUB_ROWS, room);
    REAL *acc = TAKE(vectors * LANES);
    double *sums = TAKE_DOUBLES(vectors * LANES);
    memset(acc, 0, (size_t)(vectors * LANES) * sizeof *acc);
    memset(sums, 0, (size_t)(vectors * LANES) * sizeof *sums);
    *at.floored = 0;
    FOR_BLOCKS(i, m, rows, SUB_ROWS) {
        fab_ahead ahead = TYPED(sweep_ahead)(s, i + m, turns);
        TYPED(new_columns)(s, job, i, m, &b, &ahead);                                        /* 1 */
        TYPED(column_dots)(s, job, TYPED(steps)(m), &b, &ahead);
        *at.floored += (double)TYPED(block_psi)(s, i, m, &b);                        /* 2 */
        TYPED(unpack)(b.O, &s->out, i, m);
        if (vectors > 0) TYPED(column_sums)(s, i, m, &b, &ahead, (VEC *)acc);        /* 3 */
        if (TYPED(block_ends)(rows, i, m)) TYPED(settle)(vectors, acc, sums);
    }
    TYPED(sweep_fold)(s, sums, &at);
}

/* ---- wide ---------------------------------------------------------------------------------------- */

static void TYPED(new_rows)(const fab_sweep *s, const fab_job *job, int64_t i, int64_t m, const TYPED(block) *b)
{
    const REAL *R = job->M, *T = R + s->w.k, *C = T + s->u.k;
    TYPED(block_times)(&s->w, i, m, R, job->cols, s->K, 0, b->O);                    /* 1 */
    if (s->u.k > 0) {
        const fab_long scaled = {b->U, m, s->u.k, s->u.k, 1};
        TYPED(copy_block)(&s->u, i, m, TYPED(ratios)(s, i, m, b->h), b->U);
        TYPED(block_times)(&scaled, 0, m, T, job->cols, s->K, 1, b->O);
    }
    if (s->x.k > 0) TYPED(block_times)(&s->x, i, m, C, job->cols, s->K, 1, b->O);
}

static void TYPED(norms)(const fab_long *A, int64_t i, int64_t m, REAL *copy, REAL *norm2)
{
    const REAL *P = TYPED(see_block)(A, i, m, NULL, copy);
    TYPED(row_dots)(A->k, m, P, P, norm2);
}

static void TYPED(row_quadratics)(const fab_sweep *s, const fab_job *job, int64_t i, int64_t m, const TYPED(block) *b)
{
    if (!TYPED(wants_base)(s)) return;
    if (s->c1 != 0) TYPED(norms)(&s->w, i, m, b->W, b->ww);
    if (s->c2 != 0) TYPED(norms)(&s->x, i, m, b->X, b->xx);
    if (!s->psi_out) return;
    const fab_long made = {b->O, m, s->K, s->K, 1};
    if (s->Q) TYPED(block_times)(&made, 0, m, job->Q, s->K, s->K, 0, b->P);
    TYPED(row_dots)(s->K, m, b->O, s->Q ? b->P : b->O, b->qq);
}

/* 3, on rows that are not yet stored: out may be w. */
static void TYPED(row_sums)(const fab_sweep *s, int64_t i, int64_t m, const TYPED(block) *b, REAL *temporary,
                            const TYPED(sums) *at)
{
    TYPED(inverse_roots)(m, b);
    if (s->H) TYPED(copy_block)(&s->w, i, m, b->h, b->W);
    TYPED(write_block)(b->O, &s->out, i, m);
    TYPED(scale_rows)(s->K, m, b->h, b->O);
    if (s->G) TYPED(add_gram)(s->K, m, b->O, temporary, at->G);
    if (s->H) TYPED(add_cross)(s->w.k, b->W, s->K, b->O, m, temporary, at->H);
    if (s->N) {
        TYPED(copy_block)(&s->next, i, m, b->h, b->next);
        TYPED(add_cross)(s->K, b->O, s->next.k, b->next, m, temporary, at->N);
    }
    if (s->E) {
        TYPED(second_roots)(s, i, m, b);
        TYPED(scale_rows)(s->K, m, b->h, b->O);
        TYPED(add_gram)(s->K, m, b->O, temporary, at->E);
    }
}

static void TYPED(sweep_wide)(const fab_job *job, fab_span rows, char *room, double *partial)
{
    const fab_sweep *s = job->sweep;
    const TYPED(sums) at = TYPED(sums_layout)(s, partial);
    const int64_t widest = s->w.k > s->K ? s->w.k : s->K;
    const int64_t largest = s->K * (s->next.k > widest ? s->next.k : widest);
    TYPED(block) b;
    room = TYPED(block_layout)(&b, s, FAB_BLOCK_ROWS, room);
    REAL *temporary = TAKE(largest);
    memset(temporary, 0, (size_t)largest * sizeof *temporary);
    memset(partial, 0, (size_t)(at.floored + 1 - partial) * sizeof *partial);
    FOR_BLOCKS(i, m, rows, FAB_BLOCK_ROWS) {
        TYPED(new_rows)(s, job, i, m, &b);                                           /* 1 */
        TYPED(row_quadratics)(s, job, i, m, &b);
        *at.floored += (double)TYPED(block_psi)(s, i, m, &b);                        /* 2 */
        if (TYPED(wants_sums)(s)) TYPED(row_sums)(s, i, m, &b, temporary, &at);      /* 3 */
        else TYPED(write_block)(b.O, &s->out, i, m);
    }
    if (s->G) TYPED(mirror)(s->K, at.G);
    if (s->E) TYPED(mirror)(s->K, at.E);
}

static void TYPED(sweep)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    const fab_sweep *s = job->sweep;
    const int narrow = TYPED(narrow)(s->K, s->x.k) && TYPED(narrow)(s->K, s->next.k) && s->K <= FAB_NARROW &&
                       s->w.k <= FAB_NARROW && s->u.k <= FAB_NARROW;
    if (narrow) TYPED(sweep_narrow)(job, rows, scratch, partial);
    else TYPED(sweep_wide)(job, rows, scratch, partial);
}
