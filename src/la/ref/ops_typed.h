/* ops_typed.h - the plain loops of ops_ref.c, in the precision REAL; included once for each.
 *
 * SPDX-License-Identifier: MIT */

static REAL *TYPED(at)(const fab_long *A, int64_t i, int64_t j)
{
    return (REAL *)A->p + i * A->rs + j * A->cs;
}

static double TYPED(value)(const fab_long *A, int64_t i, int64_t j)
{
    return (double)*TYPED(at)(A, i, j);
}

static void TYPED(row)(const fab_long *A, int64_t i, double *v)
{
    for (int64_t j = 0; j < A->k; j++) v[j] = TYPED(value)(A, i, j);
}

static void TYPED(cross)(const fab_run *r, const fab_long *A, const void *w, const fab_long *B,
                         double *C)
{
    (void)r;
    clear(C, A->k * B->k);
    for (int64_t i = 0; i < A->n; i++) {
        const double h = root(w, i);
        for (int64_t j = 0; j < B->k; j++)
            for (int64_t k = 0; k < A->k; k++)
                C[k + j * A->k] += h * TYPED(value)(A, i, k) * (h * TYPED(value)(B, i, j));
    }
}

static void TYPED(gram)(const fab_run *r, const fab_long *A, const void *w, double *G)
{
    TYPED(cross)(r, A, w, A, G);
}

static void TYPED(colquad)(const fab_run *r, const fab_long *A, const void *w, double *q)
{
    (void)r;
    for (int64_t j = 0; j < A->k; j++) {
        q[j] = 0;
        for (int64_t i = 0; i < A->n; i++) {
            const double a = root(w, i) * TYPED(value)(A, i, j);
            q[j] += a * a;
        }
    }
}

static void TYPED(mult)(const fab_run *r, const void *s, const fab_long *A, const double *M,
                        double beta, const fab_long *B)
{
    double *a = r->work, *b = a + A->k;
    for (int64_t i = 0; i < B->n; i++) {
        TYPED(row)(A, i, a);
        for (int64_t j = 0; j < B->k; j++) b[j] = beta != 0 ? beta * TYPED(value)(B, i, j) : 0;
        add_row_times(b, factor(s, i), a, M, A->k, B->k);
        for (int64_t j = 0; j < B->k; j++) *TYPED(at)(B, i, j) = (REAL)b[j];
    }
}

static void TYPED(rowquad)(const fab_run *r, const fab_long *A, const double *M, int64_t cols,
                           double beta, void *out)
{
    double *a = r->work, *b = a + A->k, *q = out;
    for (int64_t i = 0; i < A->n; i++) {
        TYPED(row)(A, i, a);
        if (M) {
            clear(b, cols);
            add_row_times(b, 1, a, M, A->k, cols);
        }
        q[i] = (M ? norm2(cols, b) : norm2(A->k, a)) + (beta != 0 ? beta * q[i] : 0);
    }
}

static void TYPED(rowdot)(const fab_run *r, const fab_long *A, const fab_long *B, double beta,
                          void *out)
{
    (void)r;
    double *q = out;
    for (int64_t i = 0; i < A->n; i++) {
        double sum = beta != 0 ? beta * q[i] : 0;
        for (int64_t j = 0; j < A->k; j++) sum += TYPED(value)(A, i, j) * TYPED(value)(B, i, j);
        q[i] = sum;
    }
}

static void TYPED(axpy)(const fab_run *r, const void *s, const fab_long *A, double beta,
                        const fab_long *B)
{
    (void)r;
    for (int64_t i = 0; i < A->n; i++)
        for (int64_t j = 0; j < A->k; j++) {
            const double b = beta != 0 ? beta * TYPED(value)(B, i, j) : 0;
            *TYPED(at)(B, i, j) = (REAL)(factor(s, i) * TYPED(value)(A, i, j) + b);
        }
}

static void TYPED(load)(const fab_run *r, const fab_rows *x, const void *mu, const fab_long *X)
{
    (void)r;
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = 0; i < X->n; i++)
            *TYPED(at)(X, i, j) = (REAL)(fab_rows_at(x, j, i) - (mu ? number(mu, i) : 0));
}

static void TYPED(get)(const fab_run *r, const fab_long *A, double *out)
{
    (void)r;
    for (int64_t i = 0; i < A->n; i++) TYPED(row)(A, i, out + i * A->k);
}

static void TYPED(put)(const fab_run *r, const double *in, const fab_long *A)
{
    (void)r;
    for (int64_t i = 0; i < A->n; i++)
        for (int64_t j = 0; j < A->k; j++) *TYPED(at)(A, i, j) = (REAL)in[i * A->k + j];
}

static void TYPED(zero)(const fab_run *r, const fab_long *A)
{
    (void)r;
    for (int64_t i = 0; i < A->n; i++)
        for (int64_t j = 0; j < A->k; j++) *TYPED(at)(A, i, j) = 0;
}

static void TYPED(randn)(const fab_run *r, uint64_t seed, fab_purpose purpose, uint64_t stream,
                         const fab_long *A)
{
    for (int64_t i = 0; i < A->n; i++)
        for (int64_t j = 0; j < A->k; j++) {
            const uint64_t index = (uint64_t)((r->comm.first_row + i) * A->k + j);
            uint32_t bits[4];
            REAL block[NORMAL_BLOCK];
            fab_random_bits(seed, purpose, stream, index / NORMAL_BLOCK, bits);
            normal_block(bits, block);
            *TYPED(at)(A, i, j) = block[index % NORMAL_BLOCK];
        }
}

/* w_i' = w_i R + (s_num_i / s_den_i) u_i T + x_i C (r0 w_i without R) and the further terms, rounded to REAL as it is
 * stored. */
static void TYPED(sweep_row)(const fab_sweep *s, int64_t i, double *w, double *u, double *x,
                             double *out)
{
    clear(out, s->K);
    TYPED(row)(&s->w, i, w);
    TYPED(row)(&s->u, i, u);
    TYPED(row)(&s->x, i, x);
    for (int64_t t = s->terms - 1; t >= 0; t--) {
        const double f = (double)((const REAL *)s->f[t])[i];
        add_row_times(out, 1, w, s->more_R + t * s->w.k * s->K, s->w.k, s->K);
        add_row_times(out, 1, x, s->more_C + t * s->x.k * s->K, s->x.k, s->K);
        for (int64_t j = 0; j < s->K; j++) out[j] *= f;
    }
    if (s->R)
        add_row_times(out, 1, w, s->R, s->w.k, s->K);
    else
        for (int64_t j = 0; j < s->w.k; j++) out[j] += s->r0 * w[j];
    const double num = s->s_num ? number(s->s_num, i) : 1;
    add_row_times(out, s->s_den ? num / number(s->s_den, i) : 1, u, s->T, s->u.k, s->K);
    add_row_times(out, 1, x, s->C, s->x.k, s->K);
    for (int64_t j = 0; j < s->K; j++) {
        if (s->out.k) *TYPED(at)(&s->out, i, j) = (REAL)out[j];
        out[j] = (double)(REAL)out[j];
    }
}

static void TYPED(sweep)(const fab_run *r, fab_sweep *s)
{
    double *w = r->work, *u = w + s->w.k, *x = u + s->u.k, *out = x + s->x.k, *next = out + s->K;
    clear(s->G, s->K * s->K);
    clear(s->E, s->K * s->K);
    clear(s->H, s->w.k * s->K);
    clear(s->N, s->K * s->next.k);
    s->floored = 0;
    for (int64_t i = 0; i < s->n; i++) {
        TYPED(sweep_row)(s, i, w, u, x, out);
        const double old = s->ratio_out ? number(s->psi, i) : 1, psi = sweep_psi(s, i, w, x, out),
                     h = 1 / sqrt(psi);
        if (s->ratio_out) ((REAL *)s->ratio_out)[i] = (REAL)(old / psi);
        if (s->G) add_outer(s->G, h, s->K, out, s->K, out);
        if (s->E) add_outer(s->E, sqrt(number(s->psi0, i)) / psi, s->K, out, s->K, out);
        if (s->H) add_outer(s->H, h, s->w.k, w, s->K, out);
        TYPED(row)(&s->next, i, next);
        if (s->N) add_outer(s->N, h, s->K, out, s->next.k, next);
    }
}

const fab_ops TYPED(fab_ops_ref) = {
    .backend = "ref",
    .type = TYPE,
    .size = sizeof(REAL),
    .by_type = by_type,
    .vectors = &fab_vectors_host,
    .work = ref_work,
    .gram = TYPED(gram),
    .cross = TYPED(cross),
    .colquad = TYPED(colquad),
    .mult = TYPED(mult),
    .rowquad = TYPED(rowquad),
    .rowdot = TYPED(rowdot),
    .axpy = TYPED(axpy),
    .load = TYPED(load),
    .get = TYPED(get),
    .put = TYPED(put),
    .zero = TYPED(zero),
    .randn = TYPED(randn),
    .sweep = TYPED(sweep),
};
