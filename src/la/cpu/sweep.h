/* sweep.h - the fused pass of ops.h on one chunk, in one precision; part of ops_cpu_kernel.h.
 *
 *   1  w_i' = w_i R + s_i u_i T + x_i C, and the further terms
 *   2  psi_i' from base_i and w_i' Q w_i'^T
 *   3  store w_i'; weigh what is in the cache by psi'^-1/2 and add G, H, N, E
 *
 * Both widths do these steps on a block of rows: narrow ones on turned columns, wide ones by BLAS.
 *
 * SPDX-License-Identifier: MIT */

/* A block of rows in the cache, and what is known of each row. */
typedef struct TYPED(block) {
    REAL *X, *U, *W, *O, *P, *next; /* the arrays of fab_sweep; O: W', P: W' weighed (wide: W' Q) */
    REAL *h;                        /* row factors */
    REAL *f;                        /* narrow: those of the further terms, SUB_ROWS each */
    REAL *ww, *xx, *qq;             /* |w_i|^2, |x_i|^2, w_i' Q w_i'^T */
    double *room[2];                /* psi' and base, where nobody keeps them */
    const double *psi;              /* psi' */
} TYPED(block);

static char *TYPED(block_layout)(TYPED(block) * b, const fab_sweep *s, int64_t rows, char *room)
{
    b->X = TAKE((s->x.k + s->u.k + s->w.k) * rows); /* side by side: one product serves all three */
    b->U = b->X + s->x.k * rows;
    b->W = b->U + s->u.k * rows;
    b->O = TAKE(s->K * rows);
    b->P = TAKE(s->K * rows);
    b->next = TAKE(s->next.k * rows);
    b->h = TAKE(rows);
    b->ww = TAKE(rows);
    b->xx = TAKE(rows);
    b->qq = TAKE(rows);
    b->room[0] = TAKE_DOUBLES(rows);
    b->room[1] = TAKE_DOUBLES(rows);
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
    if (!s->s_den) return NULL;
    const double *den = fab_numbers(s->s_den, first);
    if (s->s_num) {
        const double *num = fab_numbers(s->s_num, first);
        for (int64_t i = 0; i < count; i++) h[i] = (REAL)(num[i] / den[i]);
    } else
        for (int64_t i = 0; i < count; i++) h[i] = (REAL)(1 / den[i]);
    return h;
}

static int TYPED(makes_psi)(const fab_sweep *s)
{
    return s->psi_out || s->ratio_out;
}

static int TYPED(wants_base)(const fab_sweep *s)
{
    return TYPED(makes_psi)(s) || s->base_out;
}

/* What is not read counts as zeros. */
static const double TYPED(no_doubles)[FAB_BLOCK_ROWS];
static const REAL TYPED(no_rows)[FAB_BLOCK_ROWS];

static const double *TYPED(doubles)(double c, const void *v, int64_t first)
{
    return c != 0 ? fab_numbers(v, first) : TYPED(no_doubles);
}

/* base_i = c0 psi_i + c1 |w_i|^2 + c2 |x_i|^2 + c3 d2_i,  psi_i' = max(base_i - w_i' Q w_i'^T, floor base_i);
 * returns how often the floor acted.  psi_out may be psi, base_out d2. */
static int64_t TYPED(new_psi)(const fab_sweep *s, int64_t first, int64_t count,
                              const TYPED(block) * b, double *psi_out, double *base_out)
{
    const double *psi = TYPED(doubles)(s->c0, s->psi, first),
                 *d2 = TYPED(doubles)(s->c3, s->d2, first);
    const REAL *ww = s->c1 != 0 ? b->ww : TYPED(no_rows), *xx = s->c2 != 0 ? b->xx : TYPED(no_rows);
    const REAL *qq = TYPED(makes_psi)(s) ? b->qq : TYPED(no_rows);
    const double c0 = s->c0, c1 = s->c1, c2 = s->c2, c3 = s->c3, floor = s->floor;
    int64_t acted = 0;
#pragma omp simd reduction(+ : acted)
    for (int64_t i = 0; i < count; i++) {
        const double base = c0 * psi[i] + c1 * (double)ww[i] + c2 * (double)xx[i] + c3 * d2[i];
        const double left = base - (double)qq[i], least = floor * base;
        acted += left < least;
        psi_out[i] = left < least ? least : left;
        base_out[i] = base;
    }
    return acted;
}

static void TYPED(keep_ratios)(const fab_sweep *s, int64_t first, int64_t count, const double *psi)
{
    const double *old = fab_numbers(s->psi, first);
    REAL *ratio = (REAL *)s->ratio_out + first;
    for (int64_t i = 0; i < count; i++) ratio[i] = (REAL)(old[i] / psi[i]);
}

/* psi' of a block whose dot products are known; kept where it is wanted. */
static int64_t TYPED(block_psi)(const fab_sweep *s, int64_t first, int64_t count, TYPED(block) * b)
{
    double *base = s->base_out ? fab_numbers_of(s->base_out, first) : b->room[1];
    double *psi = s->psi_out ? fab_numbers_of(s->psi_out, first) : b->room[0];
    const int64_t acted = TYPED(wants_base)(s) ? TYPED(new_psi)(s, first, count, b, psi, base) : 0;
    b->psi = psi;
    if (s->ratio_out) TYPED(keep_ratios)(s, first, count, psi);
    if (TYPED(makes_psi)(s)) return acted;
    if (s->psi)
        b->psi = fab_numbers(s->psi, first);
    else
        for (int64_t i = 0; i < count; i++) psi[i] = 1;
    return 0;
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

/* W' = r0 W + [X U W] M */
static TYPED(factor)
    TYPED(sweep_factor)(const fab_sweep *s, const fab_job *job, const TYPED(block) * b)
{
    const int64_t k = job->cols, lead = s->x.k + s->u.k;
    return (TYPED(factor)){.in = b->X,
                           .M = job->M,
                           .k = k,
                           .ld = k,
                           .lead = s->R && job->upper ? lead : k,
                           .start = s->R || s->w.k == 0 ? NULL : b->W,
                           .r0 = (REAL)s->r0,
                           .dot = TYPED(makes_psi)(s) && !s->Q ? b->qq : NULL};
}

/* The factors of the further terms, up to the next full step. */
static void TYPED(pack_factors)(const fab_sweep *s, int64_t i, int64_t m, const TYPED(block) * b)
{
    for (int64_t t = 0; t < s->terms; t++) {
        REAL *f = b->f + t * SUB_ROWS;
        memcpy(f, (const REAL *)s->f[t] + i, (size_t)m * sizeof *f);
        TYPED(pad)(1, m, f);
    }
}

/* What stands in the brackets after the first factor, into O. */
static void TYPED(further_columns)(const fab_sweep *s, const TYPED(factor) * base, int steps,
                                   const TYPED(block) * b, fab_ahead *ahead)
{
    TYPED(factor) f = *base;
    f.dot = NULL;
    for (int64_t t = s->terms; t > 0; t--) {
        f.M = base->M + t * base->k * s->K;
        TYPED(product)(&f, s->K, steps, ahead, b->O);
        TYPED(scale_columns)(s->K, steps, b->f + (t - 1) * SUB_ROWS, b->O);
        f.start = b->O, f.r0 = 1;
    }
}

static void TYPED(new_columns)(const fab_sweep *s, const TYPED(factor) * f, int64_t i, int64_t m,
                               const TYPED(block) * b, fab_ahead *ahead)
{
    TYPED(pack)(&s->x, i, m, NULL, 0, b->X);
    TYPED(pack)(&s->u, i, m, TYPED(ratios)(s, i, m, b->h), 0, b->U);
    TYPED(pack)(&s->w, i, m, NULL, 0, b->W);
    TYPED(factor) g = *f;
    if (s->terms > 0) {
        TYPED(further_columns)(s, f, TYPED(steps)(m), b, ahead);
        g.start = b->O, g.r0 = 1;
    }
    TYPED(product)(&g, s->K, TYPED(steps)(m), ahead, b->O); /* 1: X, U, W lie side by side */
}

/* new_columns in registers, if it can be done there; out is written. */
static TYPED(fused_kernel) * TYPED(sweep_fused)(const fab_sweep *s, int upper)
{
    const TYPED(fused_kernels) *k = TYPED(fused_for)(s->K);
    const int alike = s->w.k == s->K && TYPED(dense)(&s->w) &&
                      (s->out.k == 0 || TYPED(dense)(&s->out)) &&
                      (s->u.k == 0 || (s->u.k == s->K && TYPED(dense)(&s->u)));
    if (!k || !alike || s->x.k > 1) return NULL;
    if (s->u.k > 0) return k->two;
    if (s->terms > 0) return k->chain;
    return upper ? k->upper : k->full;
}

static TYPED(fused)
    TYPED(sweep_rows)(const fab_sweep *s, const fab_job *job, const TYPED(block) * b, REAL *M)
{
    const int64_t K = s->K, ld = s->u.k > 0 ? 2 * K + 1 : (s->terms + 1) * (K + 1);
    const REAL *C = job->M, *T = C + s->x.k, *R = T + s->u.k;
    const int sums = s->G || s->E || s->H || s->N, quadratic = TYPED(makes_psi)(s) && s->Q;
    memset(M, 0, (size_t)(ld * K) * sizeof *M);
    for (int64_t j = 0; j < K; j++) {
        REAL *column = M + j * ld;
        if (s->x.k > 0) column[0] = C[j * job->cols];
        for (int64_t i = 0; i < s->u.k; i++) column[1 + K + i] = T[i + j * job->cols];
        if (s->R)
            memcpy(column + 1, R + j * job->cols, (size_t)K * sizeof *M);
        else
            column[1 + j] = (REAL)s->r0;
        for (int64_t t = 1; t <= s->terms; t++) {
            const REAL *more = C + (t * K + j) * job->cols;
            REAL *to = column + t * (K + 1);
            if (s->x.k > 0) to[0] = more[0];
            memcpy(to + 1, more + s->x.k, (size_t)K * sizeof *M);
        }
    }
    return (TYPED(fused)){.w = &s->w,
                          .u = s->u.k > 0 ? &s->u : NULL,
                          .out = &s->out,
                          .M = M,
                          .terms = s->terms,
                          .f = b->f,
                          .x = b->X,
                          .s = s->s_den ? b->h : NULL,
                          .W = s->H ? b->W : NULL,
                          .O = sums || quadratic ? b->O : NULL,
                          .ww = TYPED(wants_base)(s) && s->c1 != 0 ? b->ww : NULL,
                          .qq = TYPED(makes_psi)(s) && !s->Q ? b->qq : NULL};
}

/* 1  on rows in registers: W', and what is known of each row. */
static void TYPED(new_fused)(const fab_sweep *s, TYPED(fused_kernel) * kernel,
                             const TYPED(fused) * f, const fab_job *job, int64_t i, int64_t m,
                             const TYPED(block) * b, fab_ahead *ahead)
{
    if (s->x.k > 0) TYPED(pack)(&s->x, i, m, NULL, 0, b->X);
    if (TYPED(ratios)(s, i, m, b->h)) TYPED(pad)(1, m, b->h);
    kernel(f, i, m, ahead);

    if (f->O) TYPED(pad)(s->K, m, b->O);
    if (f->W) TYPED(pad)(s->K, m, b->W);
    const int steps = TYPED(steps)(m);
    if (TYPED(wants_base)(s) && s->c2 != 0) TYPED(dots)(s->x.k, steps, b->X, b->X, b->xx);
    if (TYPED(makes_psi)(s) && s->Q) TYPED(quadratics)(s->K, steps, b->O, job->Q, ahead, b->qq);
}

static void TYPED(column_dots)(const fab_sweep *s, const fab_job *job, int steps,
                               const TYPED(block) * b, fab_ahead *ahead)
{
    if (!TYPED(wants_base)(s)) return;
    if (s->c1 != 0) TYPED(dots)(s->w.k, steps, b->W, b->W, b->ww);
    if (s->c2 != 0) TYPED(dots)(s->x.k, steps, b->X, b->X, b->xx);
    if (TYPED(makes_psi)(s) && s->Q) TYPED(quadratics)(s->K, steps, b->O, job->Q, ahead, b->qq);
}

/* 3: spread sums of G, H, N, E; P holds W' weighed by h. */
static void TYPED(column_sums)(const fab_sweep *s, int64_t i, int64_t m, const TYPED(block) * b,
                               fab_ahead *ahead, VEC *acc)
{
    const int steps = TYPED(steps)(m);
    if (s->G) acc = TYPED(gram_tiles)(s->K, steps, b->P, ahead, acc);
    if (s->H) {
        TYPED(scale_columns)(s->w.k, steps, b->h, b->W);
        acc = TYPED(cross_tiles)(s->w.k, b->W, s->K, b->P, steps, ahead, acc);
    }
    if (s->N) {
        TYPED(pack)(&s->next, i, m, b->h, 0, b->next);
        acc = TYPED(cross_tiles)(s->K, b->P, s->next.k, b->next, steps, ahead, acc);
    }
    if (s->E) {
        TYPED(second_roots)(m, fab_numbers(s->psi0, i), b->psi, b->h);
        TYPED(pad_rows)(m, b->h);
        TYPED(scale_columns)(s->K, steps, b->h, b->P);
        TYPED(gram_tiles)(s->K, steps, b->P, ahead, acc);
    }
}

/* 3 */
static void TYPED(store_columns)(const fab_sweep *s, int64_t i, int64_t m, const TYPED(block) * b)
{
    TYPED(inverse_roots)(m, b->psi, b->h);
    TYPED(pad_rows)(m, b->h);
    TYPED(unpack_scaled)(b->O, &s->out, i, m, b->h, b->P);
}

static int64_t TYPED(sum_vectors)(const fab_sweep *s)
{
    const int64_t triangle = s->K * (s->K + 1) / 2;
    int64_t vectors = 0;
    if (s->G) vectors += triangle;
    if (s->E) vectors += triangle;
    if (s->H) vectors += s->w.k * s->K;
    if (s->N) vectors += s->K * s->next.k;
    return vectors;
}

static void TYPED(sweep_fold)(const fab_sweep *s, const double *sums, const TYPED(sums) * at)
{
    if (s->G) sums = TYPED(gram_fold)(s->K, sums, at->G);
    if (s->H) sums = TYPED(cross_fold)(s->w.k, s->K, sums, at->H);
    if (s->N) sums = TYPED(cross_fold)(s->K, s->next.k, sums, at->N);
    if (s->E) TYPED(gram_fold)(s->K, sums, at->E);
}

/* How often the inner loops turn on a block. */
static int64_t TYPED(sweep_turns)(const fab_sweep *s, int upper, int fused)
{
    const int64_t K = s->K, wide = s->u.k + s->x.k + (s->R ? s->w.k : 0);
    int64_t turns = fused ? FUSED_TURNS * (SUB_ROWS / LANES)
                          : TYPED(product_turns)(wide, K) * (s->R && upper ? 3 : 4) / 4;
    if (!fused) turns += s->terms * TYPED(product_turns)(s->x.k + s->w.k, K);
    if (TYPED(makes_psi)(s) && s->Q) turns += TYPED(product_turns)(K, K) / 2;
    if (s->G) turns += TYPED(gram_turns)(K);
    if (s->H) turns += TYPED(tile_turns)(s->w.k, K);
    if (s->N) turns += TYPED(tile_turns)(K, s->next.k);
    return turns;
}

/* What the next block will touch: rows, and the short runs of vectors that hardware does not foresee. */
static fab_ahead TYPED(sweep_ahead)(const fab_sweep *s, int64_t first, int64_t turns)
{
    fab_ahead a = TYPED(rows_ahead)(&s->w, s->out.p == s->w.p ? NULL : &s->out, first, turns);
    if (!a.p) return a;
    const int64_t count = s->n - first < SUB_ROWS ? s->n - first : SUB_ROWS;
    const int64_t bytes = count * (int64_t)sizeof(double), typed = count * (int64_t)sizeof(REAL);
    if (s->psi) also(&a, fab_numbers(s->psi, first), bytes);
    if (s->d2 && s->c3 != 0) also(&a, fab_numbers(s->d2, first), bytes);
    if (s->psi_out && s->psi_out != s->psi) also(&a, fab_numbers(s->psi_out, first), bytes);
    if (s->ratio_out) also(&a, (const REAL *)s->ratio_out + first, typed);
    for (int64_t t = 0; t < s->terms; t++) also(&a, (const REAL *)s->f[t] + first, typed);
    if (s->x.k == 1) also(&a, TYPED(at)(&s->x, first, 0), typed);
    if (s->next.k == 1 && s->N && s->next.p != s->x.p)
        also(&a, TYPED(at)(&s->next, first, 0), typed);
    a.lines = count_lines(&a) / turns + 1;
    return a;
}

/* W' = W, and only its sums are wanted. */
static int TYPED(stands_still)(const fab_sweep *s)
{
    return !s->R && s->r0 == 1 && s->u.k == 0 && s->x.k == 0 && s->out.k == 0 && !s->H &&
           !TYPED(wants_base)(s);
}

static void TYPED(sweep_narrow)(const fab_job *job, fab_span rows, char *room, double *partial)
{
    const fab_sweep *s = job->sweep;
    const TYPED(sums) at = TYPED(sums_layout)(s, partial);
    const int64_t vectors = TYPED(sum_vectors)(s),
                  turns =
                      TYPED(sweep_turns)(s, job->upper, TYPED(sweep_fused)(s, job->upper) != NULL);
    const int still = TYPED(stands_still)(s);
    TYPED(block) b;
    room = TYPED(block_layout)(&b, s, COLUMN, room);
    const TYPED(factor) f = TYPED(sweep_factor)(s, job, &b);
    TYPED(fused_kernel) *fused = still ? NULL : TYPED(sweep_fused)(s, job->upper);
    TYPED(fused) g;
    b.f = TAKE(s->terms * SUB_ROWS);
    if (s->out.k == 0) b.P = b.O;
    if (fused) {
        if (s->x.k == 0) memset(b.X = TAKE(SUB_ROWS), 0, SUB_ROWS * sizeof *b.X);
        g = TYPED(sweep_rows)(s, job, &b, TAKE((s->terms + 2) * (s->K + 1) * s->K));
        b.P = b.O;
    }
    REAL *acc = TAKE(vectors * LANES);
    double *sums = TAKE_DOUBLES(vectors * LANES);
    memset(acc, 0, (size_t)(vectors * LANES) * sizeof *acc);
    memset(sums, 0, (size_t)(vectors * LANES) * sizeof *sums);
    *at.floored = 0;
    FOR_BLOCKS(i, m, rows, SUB_ROWS)
    {
        fab_ahead ahead = TYPED(sweep_ahead)(s, i + m, turns);
        TYPED(pack_factors)(s, i, m, &b);
        if (still)
            TYPED(pack)(&s->w, i, m, NULL, 0, b.O);
        else if (fused)
            TYPED(new_fused)(s, fused, &g, job, i, m, &b, &ahead); /* 1, and the storing of 3 */
        else {
            TYPED(new_columns)(s, &f, i, m, &b, &ahead); /* 1 */
            TYPED(column_dots)(s, job, TYPED(steps)(m), &b, &ahead);
        }
        *at.floored += (double)TYPED(block_psi)(s, i, m, &b); /* 2 */
        if (vectors > 0 && b.P == b.O) {
            TYPED(inverse_roots)(m, b.psi, b.h); /* 3 */
            TYPED(pad_rows)(m, b.h);
            TYPED(scale_columns)(s->K, TYPED(steps)(m), b.h, b.O);
        } else if (vectors > 0)
            TYPED(store_columns)(s, i, m, &b); /* 3 */
        else if (!fused && s->out.k > 0)
            TYPED(unpack)(b.O, &s->out, i, m);
        if (vectors > 0) TYPED(column_sums)(s, i, m, &b, &ahead, (VEC *)acc);
        if (TYPED(block_ends)(rows, i, m)) TYPED(settle)(vectors, acc, sums);
    }
    TYPED(sweep_fold)(s, sums, &at);
}

/* ---- wide ---------------------------------------------------------------------------------------- */

static void TYPED(new_rows)(const fab_sweep *s, const fab_job *job, int64_t i, int64_t m,
                            const TYPED(block) * b)
{
    const REAL *C = job->M, *T = C + s->x.k, *R = T + s->u.k;
    if (!s->R)
        for (int64_t r = 0; r < m; r++) b->h[r] = (REAL)s->r0;
    for (int64_t t = s->terms; t > 0; t--) {
        const REAL *Ct = C + t * s->K * job->cols;
        TYPED(block_times)(&s->w, i, m, Ct + s->x.k, job->cols, s->K, t < s->terms, b->O);
        if (s->x.k > 0) TYPED(block_times)(&s->x, i, m, Ct, job->cols, s->K, 1, b->O);
        TYPED(scale_rows)(s->K, m, (const REAL *)s->f[t - 1] + i, b->O);
    }
    if (s->R || s->w.k == 0)
        TYPED(block_times)(&s->w, i, m, R, job->cols, s->K, s->terms > 0, b->O); /* 1 */
    else
        TYPED(copy_block)(&s->w, i, m, b->h, b->O);
    if (s->u.k > 0) {
        const fab_long scaled = {b->U, m, s->u.k, s->u.k, 1};
        TYPED(copy_block)(&s->u, i, m, TYPED(ratios)(s, i, m, b->h), b->U);
        TYPED(block_times)(&scaled, 0, m, T, job->cols, s->K, 1, b->O);
    }
    if (TYPED(many_vectors)(&s->x, m, s->K))
        TYPED(add_vectors_times)(&s->x, i, m, C, job->cols, s->K, b->P, b->O);
    else if (s->x.k > 0)
        TYPED(block_times)(&s->x, i, m, C, job->cols, s->K, 1, b->O);
}

static void TYPED(norms)(const fab_long *A, int64_t i, int64_t m, REAL *copy, REAL *norm2)
{
    if (A->cs != 1) {
        memset(norm2, 0, (size_t)m * sizeof *norm2);
        for (int64_t j = 0; j < A->k; j++) {
            const REAL *a = TYPED(at)(A, i, j);
            for (int64_t r = 0; r < m; r++) norm2[r] += a[r] * a[r];
        }
        return;
    }
    const REAL *P = TYPED(see_block)(A, i, m, NULL, copy);
    TYPED(row_dots)(A->k, m, P, P, norm2);
}

static void TYPED(row_quadratics)(const fab_sweep *s, const fab_job *job, int64_t i, int64_t m,
                                  const TYPED(block) * b)
{
    if (!TYPED(wants_base)(s)) return;
    if (s->c1 != 0) TYPED(norms)(&s->w, i, m, b->W, b->ww);
    if (s->c2 != 0) TYPED(norms)(&s->x, i, m, b->X, b->xx);
    if (!TYPED(makes_psi)(s)) return;
    if (s->Q) {
        memcpy(b->P, b->O, (size_t)(m * s->K) * sizeof *b->P);
        BLAS(trmm)
        (CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, (int)s->K, (int)m, 1,
         job->Q, (int)s->K, b->P, (int)s->K); /* half of a product: Q is triangular */
    }
    TYPED(row_dots)(s->K, m, b->O, s->Q ? b->P : b->O, b->qq);
}

/* 3, on rows that are not yet stored: out may be w. */
static void TYPED(row_sums)(const fab_sweep *s, int64_t i, int64_t m, const TYPED(block) * b,
                            REAL *temporary, const TYPED(sums) * at)
{
    TYPED(inverse_roots)(m, b->psi, b->h);
    if (s->H) TYPED(copy_block)(&s->w, i, m, b->h, b->W);
    if (s->out.k > 0) TYPED(write_block)(b->O, &s->out, i, m);
    TYPED(scale_rows)(s->K, m, b->h, b->O);
    if (s->G) TYPED(add_gram)(s->K, m, b->O, temporary, at->G);
    if (s->H) TYPED(add_cross)(s->w.k, b->W, s->K, b->O, m, temporary, at->H);
    if (s->N && TYPED(many_vectors)(&s->next, m, s->K)) {
        const fab_long weighed = {b->O, m, s->K, s->K, 1};
        TYPED(copy_block)(&weighed, 0, m, b->h, b->P);
        TYPED(add_vectors_cross)(s->K, b->P, &s->next, i, m, temporary, at->N);
    } else if (s->N) {
        TYPED(copy_block)(&s->next, i, m, b->h, b->next);
        TYPED(add_cross)(s->K, b->O, s->next.k, b->next, m, temporary, at->N);
    }
    if (s->E) {
        TYPED(second_roots)(m, fab_numbers(s->psi0, i), b->psi, b->h);
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
    FOR_BLOCKS(i, m, rows, FAB_BLOCK_ROWS)
    {
        TYPED(new_rows)(s, job, i, m, &b); /* 1 */
        TYPED(row_quadratics)(s, job, i, m, &b);
        *at.floored += (double)TYPED(block_psi)(s, i, m, &b); /* 2 */
        if (TYPED(wants_sums)(s))
            TYPED(row_sums)(s, i, m, &b, temporary, &at); /* 3 */
        else if (s->out.k > 0)
            TYPED(write_block)(b.O, &s->out, i, m);
    }
    if (s->G) TYPED(mirror)(s->K, at.G);
    if (s->E) TYPED(mirror)(s->K, at.E);
}

static void TYPED(sweep)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    const fab_sweep *s = job->sweep;
    const int narrow = TYPED(narrow)(s->K, s->x.k) && TYPED(narrow)(s->K, s->next.k) &&
                       s->K <= FAB_NARROW && s->w.k <= FAB_NARROW && s->u.k <= FAB_NARROW;
    if (narrow)
        TYPED(sweep_narrow)(job, rows, scratch, partial);
    else
        TYPED(sweep_wide)(job, rows, scratch, partial);
}
