/* test_la.c - the fast kernels agree with the plain ones, on every instruction set, and keep their word
 * about threads, memory and scales.
 *
 * SPDX-License-Identifier: MIT */
#include "la_allocations.h"
#include "la_case.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern int openblas_get_num_threads(void) __attribute__((weak));
extern void openblas_set_num_threads(int count) __attribute__((weak));

/* ---- cases --------------------------------------------------------------------------------------- */

typedef struct la_case {
    const fab_ops *fast, *ref;
    fab_run run, plain;
    la_layout layout;
    int64_t n, k, m; /* A: n x k;  the other array: n x m */
    double scale;    /* of long arrays; weights go with 1/scale^2 */
} la_case;

static la_case open_case(fab_dtype type, la_layout layout, int64_t n, int64_t k, int64_t m,
                         double scale)
{
    la_case c = {
        .fast = fab_ops_find("cpu", type), .ref = fab_ops_find("ref", type), .layout = layout};
    c.n = n;
    c.k = k;
    c.m = m;
    c.scale = scale;
    const int64_t widest = k > m ? k : m;
    c.run = la_run(c.fast, 2);
    c.plain = la_run(c.ref, 1);
    la_lend(&c.run, n, 2 * widest, widest); /* rows twice: sweeps have terms */
    la_lend(&c.plain, n, 2 * widest, widest);
    return c;
}

static void close_case(la_case *c)
{
    const int64_t widest = c->k > c->m ? c->k : c->m;
    assert_true(la_guard_holds(&c->run, c->n, 2 * widest, widest));
    fab_release(c->run.work);
    fab_release(c->plain.work);
}

/* A sum of n products, at most 512 of them (and the few roundings of the weights) in the kernel's
 * precision, the blocks and the plain loops in double; `size` bounds the sum of absolute products. */
static double sum_bound(const la_case *c, double size)
{
    const double in_block = (double)(c->n < FAB_BLOCK_ROWS ? c->n : FAB_BLOCK_ROWS) + 8;
    return size * (la_eps(c->fast->type) * in_block + DBL_EPSILON * (double)(c->n + 8));
}

/* A row's sum of `terms` products. */
static double row_bound(const la_case *c, int64_t terms, double size)
{
    return 2 * la_eps(c->fast->type) * (double)(terms + 4) * size;
}

static void assert_near(int64_t count, const double *a, const double *b, double bound)
{
    const double d = la_distance(count, a, b);
    if (!(d <= bound)) fail_msg("%s: distance %g exceeds %g", fab_isa_current()->name, d, bound);
}

/* The sizes every kernel is tried at. */
static const int64_t some_n[] = {1, 29, 511, 513, 5003};
static const int64_t some_k[] = {1, 2, 3, 4, 7, 10, 12, 17, 33, 100};
static const int64_t some_m[] = {1, 3, 50};

typedef void check_fn(la_case *c);

/* Plain loops are slow: the longest arrays are tried narrow, and other scales on two lengths. */
static int worth_trying(int64_t n, int64_t k, double scale)
{
    return n * k * k <= 5130000 && (scale == 1 || n == 29 || (n == 513 && k < 100));
}

static void at_every_size(check_fn *check, double scale_f64, double scale_f32)
{
    for (int which = 0; fab_isa_available(which); which++) {
        fab_isa_force(fab_isa_available(which));
        for (int t = 0; t < 2; t++)
            for (int layout = BY_ROWS; layout <= BY_COLUMNS; layout++)
                for (size_t a = 0; a < sizeof some_n / sizeof *some_n; a++)
                    for (size_t b = 0; b < sizeof some_k / sizeof *some_k; b++) {
                        const int64_t m = some_m[(a + b) % 3];
                        if (!worth_trying(some_n[a], some_k[b], scale_f64)) continue;
                        la_case c = open_case(t ? FAB_F32 : FAB_F64, (la_layout)layout, some_n[a],
                                              some_k[b], m, t ? scale_f32 : scale_f64);
                        check(&c);
                        close_case(&c);
                    }
    }
    fab_isa_force(NULL);
}

static void at_every_scale(check_fn *check)
{
    at_every_size(check, 1, 1);
    at_every_size(check, 1e150, 1e15);
    at_every_size(check, 1e-150, 1e-15);
}

/* ---- reductions ---------------------------------------------------------------------------------- */

static void check_gram(la_case *c)
{
    fab_long A = la_array(c->fast, c->layout, 1, c->scale, c->n, c->k);
    double *w = la_doubles(c->n), *G = la_doubles(c->k * c->k), *ref = la_doubles(c->k * c->k);
    la_fill_positive(2, 1 / (c->scale * c->scale), c->n, w);
    c->fast->gram(&c->run, &A, w, G);
    c->ref->gram(&c->plain, &A, w, ref);
    assert_near(c->k * c->k, G, ref, sum_bound(c, 2 * (double)c->n));
    if (c->scale == 1) {
        c->fast->gram(&c->run, &A, NULL, G);
        c->ref->gram(&c->plain, &A, NULL, ref);
        assert_near(c->k * c->k, G, ref, sum_bound(c, (double)c->n));
    }
    fab_release(A.p), fab_release(w), fab_release(G), fab_release(ref);
}

static void gram_agrees_with_the_plain_loops_at_every_scale(void **state)
{
    (void)state;
    at_every_scale(check_gram);
}

static void check_cross(la_case *c)
{
    fab_long A = la_array(c->fast, c->layout, 1, c->scale, c->n, c->k);
    fab_long B =
        la_array(c->fast, c->layout == BY_ROWS ? BY_COLUMNS : BY_ROWS, 3, c->scale, c->n, c->m);
    double *w = la_doubles(c->n), *C = la_doubles(c->k * c->m), *ref = la_doubles(c->k * c->m);
    la_fill_positive(2, 1 / (c->scale * c->scale), c->n, w);
    c->fast->cross(&c->run, &A, w, &B, C);
    c->ref->cross(&c->plain, &A, w, &B, ref);
    assert_near(c->k * c->m, C, ref, sum_bound(c, 2 * (double)c->n));
    c->fast->colquad(&c->run, &A, w, C);
    c->ref->colquad(&c->plain, &A, w, ref);
    assert_near(c->k, C, ref, sum_bound(c, 2 * (double)c->n));
    fab_release(A.p), fab_release(B.p), fab_release(w), fab_release(C), fab_release(ref);
}

static void cross_and_colquad_agree_with_the_plain_loops_at_every_scale(void **state)
{
    (void)state;
    at_every_scale(check_cross);
}

/* ---- row by row ---------------------------------------------------------------------------------- */

static void check_mult_with(la_case *c, const double *s, double beta)
{
    const la_layout other = c->n % 2 ? c->layout : (la_layout)!c->layout;
    fab_long A = la_array(c->fast, c->layout, 1, 1, c->n, c->k);
    fab_long B = la_array(c->fast, other, 3, 1, c->n, c->m),
             B2 = la_array(c->fast, other, 3, 1, c->n, c->m);
    double *M = la_doubles(c->k * c->m);
    la_fill(5, 1, c->k * c->m, M);
    c->fast->mult(&c->run, s, &A, M, beta, &B);
    c->ref->mult(&c->plain, s, &A, M, beta, &B2);
    double *b = la_values(c->fast, &B), *b2 = la_values(c->fast, &B2);
    assert_near(c->n * c->m, b, b2, row_bound(c, c->k, 2 * (double)c->k + fabs(beta)));
    fab_release(A.p), fab_release(B.p), fab_release(B2.p), fab_release(M), fab_release(b),
        fab_release(b2);
}

static void check_mult(la_case *c)
{
    double *s = la_doubles(c->n);
    la_fill_positive(2, 1, c->n, s);
    check_mult_with(c, s, 0);
    check_mult_with(c, NULL, -0.7);
    fab_release(s);
}

static void mult_agrees_with_the_plain_loops(void **state)
{
    (void)state;
    at_every_size(check_mult, 1, 1);
}

static void check_mult_in_place(la_case *c)
{
    fab_long A = la_array(c->fast, c->layout, 1, 1, c->n, c->k),
             B = la_array(c->fast, c->layout, 1, 1, c->n, c->k);
    double *M = la_doubles(c->k * c->k);
    la_fill(5, 1, c->k * c->k, M);
    c->fast->mult(&c->run, NULL, &A, M, 0, &B);
    c->fast->mult(&c->run, NULL, &A, M, 0, &A);
    double *a = la_values(c->fast, &A), *b = la_values(c->fast, &B);
    assert_memory_equal(a, b, (size_t)(c->n * c->k) * sizeof *a);
    fab_release(A.p), fab_release(B.p), fab_release(M), fab_release(a), fab_release(b);
}

static void mult_in_place_gives_the_same_bytes(void **state)
{
    (void)state;
    at_every_size(check_mult_in_place, 1, 1);
}

static void mult_with_beta_zero_does_not_read_its_target(void **state)
{
    (void)state;
    for (int64_t k = 10; k <= 100; k += 90) {
        la_case c = open_case(FAB_F64, BY_ROWS, 29, k, k, 1);
        fab_long A = la_array(c.fast, BY_ROWS, 1, 1, 29, k),
                 B = la_array(c.fast, BY_ROWS, 1, 1, 29, k);
        for (int64_t e = 0; e < 29 * k; e++) ((double *)B.p)[e] = NAN;
        double *M = la_doubles(k * k);
        la_fill(5, 1, k * k, M);
        c.fast->mult(&c.run, NULL, &A, M, 0, &B);
        for (int64_t e = 0; e < 29 * k; e++) assert_true(isfinite(((double *)B.p)[e]));
        fab_release(A.p), fab_release(B.p), fab_release(M);
        close_case(&c);
    }
}

static void check_rows(la_case *c)
{
    fab_long A = la_array(c->fast, c->layout, 1, 1, c->n, c->k),
             B = la_array(c->fast, BY_ROWS, 3, 1, c->n, c->k);
    double *M = la_doubles(c->k * c->m), *q = la_doubles(c->n), *ref = la_doubles(c->n);
    la_fill(5, 1, c->k * c->m, M);
    for (int pass = 0; pass < 6; pass++) {
        const double beta = pass % 2 ? 0.3 : 0, *factor = pass < 2 ? M : NULL;
        la_fill(6, 1, c->n, q);
        la_fill(6, 1, c->n, ref);
        if (pass < 4) {
            c->fast->rowquad(&c->run, &A, factor, c->m, beta, q);
            c->ref->rowquad(&c->plain, &A, factor, c->m, beta, ref);
        } else {
            c->fast->rowdot(&c->run, &A, &B, beta, q);
            c->ref->rowdot(&c->plain, &A, &B, beta, ref);
        }
        const double most = factor ? (double)(c->m * c->k * c->k) : (double)c->k;
        assert_near(c->n, q, ref, row_bound(c, 2 * c->k + c->m, most + 1));
    }
    fab_release(A.p), fab_release(B.p), fab_release(M), fab_release(q), fab_release(ref);
}

static void rowquad_and_rowdot_agree_with_the_plain_loops(void **state)
{
    (void)state;
    at_every_size(check_rows, 1, 1);
}

static void check_axpy(la_case *c)
{
    fab_long A = la_array(c->fast, c->layout, 1, 1, c->n, c->k);
    double *s = la_doubles(c->n);
    la_fill(2, 1, c->n, s);
    for (int pass = 0; pass < 4; pass++) {
        const la_layout to = pass % 2 ? BY_ROWS : BY_COLUMNS;
        fab_long B = la_array(c->fast, to, 3, 1, c->n, c->k),
                 B2 = la_array(c->fast, to, 3, 1, c->n, c->k);
        c->fast->axpy(&c->run, pass < 2 ? s : NULL, &A, pass == 3 ? 0 : 0.3, &B);
        c->ref->axpy(&c->plain, pass < 2 ? s : NULL, &A, pass == 3 ? 0 : 0.3, &B2);
        double *b = la_values(c->fast, &B), *b2 = la_values(c->fast, &B2);
        assert_near(c->n * c->k, b, b2, row_bound(c, 2, 1));
        fab_release(B.p), fab_release(B2.p), fab_release(b), fab_release(b2);
    }
    fab_release(A.p), fab_release(s);
}

static void axpy_agrees_with_the_plain_loops(void **state)
{
    (void)state;
    at_every_size(check_axpy, 1, 1);
}

/* ---- in and out ---------------------------------------------------------------------------------- */

static void check_load(la_case *c)
{
    const int64_t ld = c->n + 3;
    double *x = la_doubles(ld * c->k), *mu = la_doubles(c->n);
    float *xf = fab_alloc((size_t)(ld * c->k) * sizeof *xf);
    la_fill(7, 1, ld * c->k, x);
    la_fill(8, 1, c->n, mu);
    for (int64_t e = 0; e < ld * c->k; e++) xf[e] = (float)x[e];
    for (int pass = 0; pass < 4; pass++) {
        const fab_rows rows = {pass % 2 ? (const void *)xf : (const void *)x,
                               pass % 2 ? FAB_F32 : FAB_F64, c->k, ld};
        fab_long X = la_view(c->fast->type, c->layout, c->n, c->k),
                 X2 = la_view(c->fast->type, c->layout, c->n, c->k);
        c->fast->load(&c->run, &rows, pass < 2 ? mu : NULL, &X);
        c->ref->load(&c->plain, &rows, pass < 2 ? mu : NULL, &X2);
        double *a = la_values(c->fast, &X), *b = la_values(c->fast, &X2);
        assert_memory_equal(a, b, (size_t)(c->n * c->k) * sizeof *a);
        fab_release(X.p), fab_release(X2.p), fab_release(a), fab_release(b);
    }
    fab_release(x), fab_release(xf), fab_release(mu);
}

static void load_takes_either_type_and_rounds_once(void **state)
{
    (void)state;
    at_every_size(check_load, 1, 1);
}

static void check_put_get_zero(la_case *c)
{
    const size_t bytes = (size_t)(c->n * c->k) * sizeof(double);
    double *v = la_doubles(c->n * c->k), *back = la_doubles(c->n * c->k);
    la_fill(9, 1, c->n * c->k, v);
    for (int64_t e = 0; e < c->n * c->k; e++) v[e] = (double)(float)v[e];
    fab_long A = la_view(c->fast->type, c->layout, c->n, c->k);
    c->fast->put(&c->run, v, &A);
    c->fast->get(&c->run, &A, back);
    assert_memory_equal(v, back, bytes);
    c->fast->zero(&c->run, &A);
    c->fast->get(&c->run, &A, back);
    for (int64_t e = 0; e < c->n * c->k; e++) assert_true(back[e] == 0);
    fab_release(A.p), fab_release(v), fab_release(back);
}

static void get_gives_back_what_put_took_and_zero_clears(void **state)
{
    (void)state;
    at_every_size(check_put_get_zero, 1, 1);
}

static void check_randn(la_case *c)
{
    fab_long A = la_view(c->fast->type, c->layout, c->n, c->k),
             B = la_view(c->fast->type, c->layout, c->n, c->k);
    c->run.comm.first_row = c->plain.comm.first_row = 77;
    c->fast->randn(&c->run, 5, FAB_PURPOSE_DATA, 6, &A);
    c->ref->randn(&c->plain, 5, FAB_PURPOSE_DATA, 6, &B);
    double *a = la_values(c->fast, &A), *b = la_values(c->fast, &B);
    assert_near(c->n * c->k, a, b, 64 * la_eps(c->fast->type));
    fab_release(A.p), fab_release(B.p), fab_release(a), fab_release(b);
}

static void randn_agrees_with_the_plain_loops(void **state)
{
    (void)state;
    at_every_size(check_randn, 1, 1);
}

/* ---- sweep --------------------------------------------------------------------------------------- */

/* Everything a sweep reads and writes, twice where it writes. */
typedef struct sweep_case {
    fab_sweep s;
    double *psi, *psi0, *d2, *num, *den, *R, *T, *C, *Q;
    double *G, *E, *H, *N;
    double *more_R, *more_C;
    fab_long f; /* a column for each term */
    fab_long ratio;
} sweep_case;

enum {
    WITH_U = 1,
    GIVEN_PSI = 2,
    WITH_Q = 4,
    ALL_SUMS = 8,
    IN_PLACE = 16,
    NO_X = 32,
    HIGH_FLOOR = 64,
    SCALED = 128,
    UPPER = 256,
    NOT_KEPT = 512, /* no W' */
    ONE_TERM = 1024,
    TWO_TERMS = 2048, /* with ONE_TERM: three */
    RATIO = 4096,     /* psi / psi' in the place of psi' */
    STILL = 8192      /* W' = W */
};

enum { MOST_TERMS = 3 };

static void sweep_vectors(sweep_case *t, const la_case *c)
{
    const double s2 = c->scale * c->scale;
    t->psi = la_doubles(c->n), t->psi0 = la_doubles(c->n), t->d2 = la_doubles(c->n);
    t->num = la_doubles(c->n), t->den = la_doubles(c->n);
    la_fill_positive(11, s2, c->n, t->psi);
    la_fill_positive(12, s2, c->n, t->psi0);
    la_fill_positive(13, s2, c->n, t->d2);
    la_fill_positive(14, s2, c->n, t->num);
    la_fill_positive(15, s2, c->n, t->den);
}

static void sweep_matrices(sweep_case *t, const la_case *c)
{
    const int64_t K = c->k, m = c->m;
    t->R = la_doubles(K * K), t->T = la_doubles(K * K), t->C = la_doubles(m * K),
    t->Q = la_doubles(K * K);
    t->G = la_doubles(K * K), t->E = la_doubles(K * K), t->H = la_doubles(K * K),
    t->N = la_doubles(K * m);
    const double small =
        0.3 / (double)K; /* |w'|^2 well below base: psi' has no cancellation to speak of */
    la_fill(16, small, K * K, t->R);
    la_fill(17, small, K * K, t->T);
    la_fill(18, 0.3 / (double)(m * K), m * K, t->C);
    la_fill(19, 1 / (double)K, K * K, t->Q);
    fab_symmetrise(K, t->Q);
    t->more_R = la_doubles(MOST_TERMS * K * K), t->more_C = la_doubles(MOST_TERMS * m * K);
    la_fill(31, small / 3, MOST_TERMS * K * K, t->more_R);
    la_fill(32, 0.1 / (double)(m * K), MOST_TERMS * m * K, t->more_C);
}

static sweep_case open_sweep(const la_case *c, int what)
{
    sweep_case t;
    const la_layout data = c->n % 2 ? BY_COLUMNS : BY_ROWS;
    sweep_vectors(&t, c);
    sweep_matrices(&t, c);
    fab_sweep s = {
        .n = c->n, .K = c->k, .R = t.R, .c0 = 0.5, .c1 = 0.25, .c3 = 2, .psi = t.psi, .d2 = t.d2};
    s.w = la_array(c->fast, c->layout, 21, c->scale, c->n, c->k);
    if (what & IN_PLACE) s.out = s.w;
    if (!(what & (IN_PLACE | WITH_U))) s.out = la_view(c->fast->type, c->layout, c->n, c->k);
    if (what & WITH_U) {
        s.u = la_array(c->fast, c->layout, 22, c->scale, c->n, c->k);
        s.T = t.T, s.s_num = t.num, s.s_den = t.den;
        if (!(what & IN_PLACE)) s.out = s.u;
    }
    if (!(what & NO_X))
        s.x = la_array(c->fast, data, 23, c->scale, c->n, c->m), s.C = t.C, s.c2 = 0.1;
    if (!(what & GIVEN_PSI)) s.psi_out = t.psi, s.base_out = t.d2;
    if (what & WITH_Q) s.Q = t.Q;
    s.floor = what & HIGH_FLOOR ? 0.9 : 1e-8;
    if (what & SCALED) s.R = NULL, s.r0 = 0.3 / (double)c->k;
    for (int64_t e = 0; e < c->k * c->k && what & UPPER; e++)
        t.R[e] = e % c->k <= e / c->k ? t.R[e] : 0;
    s.next = la_array(c->fast, data, 24, c->scale, c->n, c->m);
    s.G = t.G, s.N = t.N;
    if (what & ALL_SUMS) s.E = t.E, s.H = t.H, s.psi0 = t.psi0;
    s.terms = (what & ONE_TERM ? 1 : 0) + (what & TWO_TERMS ? 2 : 0);
    t.f = la_array(c->fast, BY_COLUMNS, 33, 1, c->n, MOST_TERMS);
    t.ratio = la_array(c->fast, BY_COLUMNS, 34, 1, c->n, 1);
    for (int64_t l = 0; l < s.terms; l++)
        s.f[l] = (char *)t.f.p + (size_t)(l * t.f.cs) * c->fast->size;
    s.more_R = t.more_R, s.more_C = t.more_C;
    if (what & NOT_KEPT) {
        fab_release(s.out.p);
        s.out = (fab_long){0};
    }
    if (what & RATIO) s.ratio_out = t.ratio.p, s.psi_out = NULL;
    if (what & STILL) s.R = NULL, s.r0 = 1;
    t.s = s;
    return t;
}

static void close_sweep(sweep_case *t)
{
    if (t->s.w.p != t->s.out.p && t->s.u.p != t->s.out.p) fab_release(t->s.out.p);
    fab_release(t->s.w.p), fab_release(t->s.u.p), fab_release(t->s.x.p), fab_release(t->s.next.p);
    fab_release(t->f.p), fab_release(t->ratio.p);
    double *all[] = {t->psi, t->psi0, t->d2, t->num, t->den, t->R,      t->T,     t->C,
                     t->Q,   t->G,    t->E,  t->H,   t->N,   t->more_R, t->more_C};
    for (size_t a = 0; a < sizeof all / sizeof *all; a++) fab_release(all[a]);
}

/* Compare after both have run.  Entries of w' are below 1 in units of scale, psi' above 0.1 and below
 * 5 + K (units scale^2): a psi' off by some eps moves each term of a sum by as many eps. */
static void assert_same_sweep(const la_case *c, const sweep_case *a, const sweep_case *b)
{
    const int64_t K = c->k;
    const double unit = c->scale, s2 = unit * unit,
                 rounding = row_bound(c, 3 * K + c->m, 8 + (double)(K + c->m));
    double *out = la_values(c->fast, &a->s.out), *out2 = la_values(c->fast, &b->s.out);
    double *ratio = la_values(c->fast, &a->ratio), *ratio2 = la_values(c->fast, &b->ratio);
    if (a->s.out.k) assert_near(c->n * K, out, out2, rounding * unit);
    assert_near(c->n, ratio, ratio2, 10 * rounding); /* at most 2 / 0.1, or what it was */
    fab_release(ratio), fab_release(ratio2);
    assert_near(c->n, a->psi, b->psi, rounding * s2);
    assert_near(c->n, a->d2, b->d2, rounding * s2);
    const double sum = sum_bound(c, 10 * (double)c->n) + 100 * rounding * (double)c->n;
    if (a->s.G) assert_near(K * K, a->G, b->G, sum);
    if (a->s.N) assert_near(K * c->m, a->N, b->N, sum);
    if (a->s.H) assert_near(K * K, a->H, b->H, sum);
    if (a->s.E) assert_near(K * K, a->E, b->E, 10 * sum);
    fab_release(out), fab_release(out2);
}

static void check_sweep(la_case *c)
{
    static const int whats[] = {0,
                                WITH_U | ALL_SUMS,
                                WITH_Q | IN_PLACE,
                                GIVEN_PSI | WITH_U | ALL_SUMS | NO_X,
                                IN_PLACE | ALL_SUMS | WITH_U,
                                HIGH_FLOOR | WITH_Q | ALL_SUMS,
                                SCALED | WITH_Q | IN_PLACE,
                                SCALED | WITH_U | ALL_SUMS,
                                UPPER | IN_PLACE,
                                UPPER | WITH_U | ALL_SUMS,
                                NOT_KEPT | ALL_SUMS | RATIO,
                                NOT_KEPT | ONE_TERM | ALL_SUMS | RATIO,
                                TWO_TERMS | IN_PLACE | WITH_Q,
                                UPPER | ONE_TERM | TWO_TERMS | NO_X | ALL_SUMS,
                                STILL | NOT_KEPT | NO_X | GIVEN_PSI};
    const size_t few = c->n * c->k * c->k > 300000 ? 2
                                                   : 1; /* every second one where it takes long */
    for (size_t w = (size_t)(c->n + c->k) % few; w < sizeof whats / sizeof *whats; w += few) {
        sweep_case fast = open_sweep(c, whats[w]), plain = open_sweep(c, whats[w]);

        c->fast->sweep(&c->run, &fast.s);
        c->ref->sweep(&c->plain, &plain.s);
        assert_same_sweep(c, &fast, &plain);
        if (!(whats[w] & HIGH_FLOOR))
            assert_int_equal(fast.s.floored, plain.s.floored);
        else
            assert_true(llabs((long long)(fast.s.floored - plain.s.floored)) <= 2 + c->n / 500);
        close_sweep(&fast), close_sweep(&plain);
    }
}

static void sweep_agrees_with_the_plain_loops_at_every_scale(void **state)
{
    (void)state;
    at_every_scale(check_sweep);
}

static void sweep_counts_the_rows_where_the_floor_acts(void **state)
{
    (void)state;
    for (int64_t k = 10; k <= 100; k += 90) {
        la_case c = open_case(FAB_F64, BY_ROWS, 1029, k, 1, 1);
        sweep_case t = open_sweep(&c, NO_X);
        t.s.floor = 2; /* base - |w'|^2 is below twice the base everywhere */
        c.fast->sweep(&c.run, &t.s);
        assert_int_equal(t.s.floored, 1029);
        for (int64_t i = 0; i < 1029; i++) assert_true(t.psi[i] == 2 * t.d2[i]);
        close_sweep(&t);
        close_case(&c);
    }
}

static void sweep_without_any_sum_only_moves_the_rows(void **state)
{
    (void)state;
    for (int64_t k = 7; k <= 107; k += 100) {
        la_case c = open_case(FAB_F32, BY_ROWS, 700, k, 3, 1);
        sweep_case fast = open_sweep(&c, 0), plain = open_sweep(&c, 0);
        fab_sweep *both[] = {&fast.s, &plain.s};
        for (int b = 0; b < 2; b++) {
            both[b]->G = both[b]->N = both[b]->psi_out = both[b]->base_out = NULL;
            both[b]->psi = both[b]->d2 = NULL;
            both[b]->c0 = both[b]->c1 = both[b]->c2 = both[b]->c3 = 0;
            fab_release(both[b]->next.p);
            both[b]->next = (fab_long){0};
        }
        c.fast->sweep(&c.run, &fast.s);
        c.ref->sweep(&c.plain, &plain.s);
        assert_same_sweep(&c, &fast, &plain);
        close_sweep(&fast), close_sweep(&plain);
        close_case(&c);
    }
}

/* Up to 64 * 512 rows a chunk is one block; here it has three, and the last chunk is short. */
static void chunks_of_several_blocks_agree_with_the_plain_loops(void **state)
{
    (void)state;
    for (int which = 0; which < 6; which++) {
        static const int64_t widths[] = {3, 10, 33};
        la_case c =
            open_case(which / 3 ? FAB_F32 : FAB_F64, BY_ROWS, 70003, widths[which % 3], 3, 1);
        check_gram(&c);
        check_cross(&c);
        sweep_case fast = open_sweep(&c, WITH_Q | ALL_SUMS),
                   plain = open_sweep(&c, WITH_Q | ALL_SUMS);
        c.fast->sweep(&c.run, &fast.s);
        c.ref->sweep(&c.plain, &plain.s);
        assert_same_sweep(&c, &fast, &plain);
        close_sweep(&fast), close_sweep(&plain);
        close_case(&c);
    }
}

/* Vectors so many that BLAS reads them where they lie, then a block with too few rows for that. */
static void many_vectors_agree_with_the_plain_loops(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        la_case c = open_case(which / 2 ? FAB_F32 : FAB_F64, which % 2 ? BY_ROWS : BY_COLUMNS, 613,
                              20, 230, 1);
        check_sweep(&c);
        check_cross(&c);
        close_case(&c);
    }
}

/* ---- threads, memory, BLAS ----------------------------------------------------------------------- */

static void sweep_bytes(fab_dtype type, int64_t k, int threads, double *sums, double *out)
{
    const int64_t n = 40003;
    la_case c = open_case(type, BY_ROWS, n, k, 3, 1);
    fab_release(c.run.work);
    c.run.threads = threads;
    la_lend(&c.run, n, 2 * (k > 3 ? k : 3), k > 3 ? k : 3);
    sweep_case t = open_sweep(&c, WITH_U | WITH_Q | ALL_SUMS);
    c.fast->sweep(&c.run, &t.s);
    memcpy(sums, t.G, (size_t)(k * k) * sizeof *sums);
    memcpy(sums + k * k, t.H, (size_t)(k * k) * sizeof *sums);
    memcpy(sums + 2 * k * k, t.E, (size_t)(k * k) * sizeof *sums);
    c.fast->get(&c.run, &t.s.out, out);
    close_sweep(&t);
    close_case(&c);
}

static void sweep_is_the_same_for_any_thread_count(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        const int64_t k = which % 2 ? 100 : 10;
        const fab_dtype type = which / 2 ? FAB_F32 : FAB_F64;
        double *sums = la_doubles(3 * k * k), *out = la_doubles(40003 * k);
        double *sums1 = la_doubles(3 * k * k), *out1 = la_doubles(40003 * k);
        sweep_bytes(type, k, 1, sums1, out1);
        for (int threads = 2; threads <= 4; threads++) {
            sweep_bytes(type, k, threads, sums, out);
            assert_memory_equal(sums, sums1, (size_t)(3 * k * k) * sizeof *sums);
            assert_memory_equal(out, out1, (size_t)(40003 * k) * sizeof *out);
        }
        fab_release(sums), fab_release(out), fab_release(sums1), fab_release(out1);
    }
}

static void gram_bytes(fab_dtype type, int64_t k, int threads, double *G)
{
    const int64_t n = 100003;
    fab_run r = la_run(fab_ops_find("cpu", type), threads);
    la_lend(&r, n, k, k);
    fab_long A = la_array(r.ops, BY_ROWS, 1, 1, n, k);
    double *w = la_doubles(n);
    la_fill_positive(2, 1, n, w);
    r.ops->gram(&r, &A, w, G);
    fab_release(A.p), fab_release(w), fab_release(r.work);
}

static void gram_is_the_same_for_any_thread_count(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 10, 33};
    for (int which = 0; which < 6; which++) {
        const int64_t k = widths[which % 3];
        double *G = la_doubles(k * k), *G1 = la_doubles(k * k);
        gram_bytes(which / 3 ? FAB_F32 : FAB_F64, k, 1, G1);
        for (int threads = 2; threads <= 4; threads++) {
            gram_bytes(which / 3 ? FAB_F32 : FAB_F64, k, threads, G);
            assert_memory_equal(G, G1, (size_t)(k * k) * sizeof *G);
        }
        fab_release(G), fab_release(G1);
    }
}

/* Every kernel once, on prepared arrays. */
static void run_all(la_case *c, sweep_case *t, double *q)
{
    const fab_ops *op = c->fast;
    const fab_rows rows = {t->s.x.p, op->type, c->m, c->n + 2};
    op->gram(&c->run, &t->s.w, t->psi, t->G);
    op->cross(&c->run, &t->s.w, t->psi, &t->s.x, t->N);
    op->colquad(&c->run, &t->s.w, t->psi, q);
    op->mult(&c->run, t->psi, &t->s.w, t->R, 0.5, &t->s.out);
    op->rowquad(&c->run, &t->s.w, t->R, c->k, 1, q);
    op->rowdot(&c->run, &t->s.w, &t->s.out, 1, q);
    op->axpy(&c->run, t->psi, &t->s.w, 1, &t->s.out);
    op->load(&c->run, &rows, t->psi, &t->s.next);
    op->randn(&c->run, 1, FAB_PURPOSE_DATA, 2, &t->s.out);
    op->sweep(&c->run, &t->s);
    op->zero(&c->run, &t->s.out);
}

static void no_kernel_allocates(void **state)
{
    (void)state;
    if (!COUNTS_ALLOCATIONS) skip();
    for (int which = 0; which < 4; which++) {
        la_case c =
            open_case(which / 2 ? FAB_F32 : FAB_F64, BY_ROWS, 20001, which % 2 ? 100 : 10, 3, 1);
        sweep_case t = open_sweep(&c, WITH_Q | ALL_SUMS);
        double *q = la_doubles(c.n);
        run_all(&c, &t, q); /* the threads are made */
        const long before = allocations;
        run_all(&c, &t, q);
        assert_int_equal(allocations - before, 0);
        close_sweep(&t);
        fab_release(q);
        close_case(&c);
    }
}

static void the_blas_thread_count_is_given_back(void **state)
{
    (void)state;
    if (!openblas_set_num_threads) skip();
    const int found = openblas_get_num_threads();
    openblas_set_num_threads(2);
    double *G = la_doubles(33 * 33);
    gram_bytes(FAB_F64, 33, 2, G);
    assert_int_equal(openblas_get_num_threads(), 2);
    const int outer = fab_blas_enter();
    assert_int_equal(openblas_get_num_threads(), 1);
    const int inner = fab_blas_enter();
    fab_blas_leave(inner);
    assert_int_equal(openblas_get_num_threads(), 1);
    fab_blas_leave(outer);
    assert_int_equal(openblas_get_num_threads(), 2);
    openblas_set_num_threads(found);
    fab_release(G);
}

static void arrays_without_columns_are_absent(void **state)
{
    (void)state;
    la_case c = open_case(FAB_F64, BY_ROWS, 29, 4, 4, 1);
    fab_long none = {.n = 29}, B = la_array(c.fast, BY_ROWS, 3, 1, 29, 4);
    double *before = la_values(c.fast, &B), none_to_read = 0;
    c.fast->gram(&c.run, &none, NULL, &none_to_read);
    c.fast->cross(&c.run, &none, NULL, &B, &none_to_read);
    c.fast->mult(&c.run, NULL, &none, &none_to_read, 1, &B);
    double *after = la_values(c.fast, &B);
    assert_memory_equal(before, after, 29 * 4 * sizeof *after);
    fab_release(B.p), fab_release(before), fab_release(after);
    close_case(&c);
}

/* ---- tables and runs ----------------------------------------------------------------------------- */

static void tables_are_found_by_name_and_type(void **state)
{
    (void)state;
    assert_ptr_equal(fab_ops_find("cpu", FAB_F32), &fab_ops_cpu_f32);
    assert_ptr_equal(fab_ops_find("ref", FAB_F64), &fab_ops_ref_f64);
    assert_null(fab_ops_find("abacus", FAB_F64));
    assert_null(fab_ops_find(NULL, FAB_F64));
    assert_null(fab_ops_find("cpu", FAB_I64));
    assert_ptr_equal(fab_ops_as(&fab_ops_ref_f64, FAB_F32), &fab_ops_ref_f32);
}

static void a_run_fills_in_what_is_not_said(void **state)
{
    (void)state;
    fab_run r;
    assert_int_equal(fab_run_init(&r, NULL, FAB_F32), FAB_OK);
    assert_ptr_equal(r.ops, &fab_ops_cpu_f32);
    assert_true(r.threads >= 1);
    const fab_exec three = {.ops = &fab_ops_ref_f32, .threads = 3};
    assert_int_equal(fab_run_init(&r, &three, FAB_F64), FAB_OK);
    assert_ptr_equal(r.ops, &fab_ops_ref_f64);
    assert_int_equal(r.threads, 3);
    const fab_exec wrong = {.threads = -1};
    assert_int_equal(fab_run_init(&r, &wrong, FAB_F64), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_run_init(&r, NULL, FAB_I64), FAB_BAD_ARGUMENT);
}

static fab_status twice(void *ctx, double *buf, int64_t n)
{
    ++*(int *)ctx;
    for (int64_t i = 0; i < n; i++) buf[i] *= 2;
    return FAB_OK;
}

static void a_sum_is_left_to_the_processes_that_share_it(void **state)
{
    (void)state;
    int calls = 0;
    const fab_comm comm = {.sum = twice, .ctx = &calls};
    const fab_exec x = {.comm = &comm};
    fab_run r;
    double v[2] = {2.385, -1};
    assert_int_equal(fab_run_init(&r, &x, FAB_F64), FAB_OK);
    assert_int_equal(fab_sum(&r, v, 2), FAB_OK);
    assert_true(calls == 1 && v[0] == 4.77 && v[1] == -2);
    assert_int_equal(fab_run_init(&r, NULL, FAB_F64), FAB_OK);
    assert_int_equal(fab_sum(&r, v, 2), FAB_OK);
    assert_true(v[0] == 4.77);
}

/* ---- devices --------------------------------------------------------------------------------------- */

static void a_device_that_is_not_there_is_refused_with_what_was_looked_for(void **state)
{
    (void)state;
    const fab_ops *ops;
    assert_int_equal(fab_ops_open(&ops, "cpu", FAB_F32), FAB_OK);
    assert_true(ops == &fab_ops_cpu_f32);
    const char *const bad[] = {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cudaa"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fab_ops_open(&ops, bad[i], FAB_F64), FAB_BAD_ARGUMENT);
        assert_non_null(strstr(fab_detail(), "cpu, cuda and cuda:N are"));
        assert_null(ops);
    }
    assert_int_equal(fab_ops_open(&ops, "cpu", FAB_I64), FAB_BAD_ARGUMENT);
    const fab_status s = fab_ops_open(&ops, "cuda:1000", FAB_F64); /* more than a machine has */
    assert_int_equal(s, FAB_UNSUPPORTED);
    assert_non_null(strstr(fab_detail(), "device cuda: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gram_agrees_with_the_plain_loops_at_every_scale),
        cmocka_unit_test(cross_and_colquad_agree_with_the_plain_loops_at_every_scale),
        cmocka_unit_test(mult_agrees_with_the_plain_loops),
        cmocka_unit_test(mult_in_place_gives_the_same_bytes),
        cmocka_unit_test(mult_with_beta_zero_does_not_read_its_target),
        cmocka_unit_test(rowquad_and_rowdot_agree_with_the_plain_loops),
        cmocka_unit_test(axpy_agrees_with_the_plain_loops),
        cmocka_unit_test(load_takes_either_type_and_rounds_once),
        cmocka_unit_test(get_gives_back_what_put_took_and_zero_clears),
        cmocka_unit_test(randn_agrees_with_the_plain_loops),
        cmocka_unit_test(sweep_agrees_with_the_plain_loops_at_every_scale),
        cmocka_unit_test(chunks_of_several_blocks_agree_with_the_plain_loops),
        cmocka_unit_test(many_vectors_agree_with_the_plain_loops),
        cmocka_unit_test(sweep_counts_the_rows_where_the_floor_acts),
        cmocka_unit_test(sweep_without_any_sum_only_moves_the_rows),
        cmocka_unit_test(sweep_is_the_same_for_any_thread_count),
        cmocka_unit_test(gram_is_the_same_for_any_thread_count),
        cmocka_unit_test(no_kernel_allocates),
        cmocka_unit_test(the_blas_thread_count_is_given_back),
        cmocka_unit_test(arrays_without_columns_are_absent),
        cmocka_unit_test(tables_are_found_by_name_and_type),
        cmocka_unit_test(a_run_fills_in_what_is_not_said),
        cmocka_unit_test(a_sum_is_left_to_the_processes_that_share_it),
        cmocka_unit_test(a_device_that_is_not_there_is_refused_with_what_was_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
