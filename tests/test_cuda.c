/* test_cuda.c - every kernel of a card against the plain loops, and the same bits twice.
 *
 * Arrays are made on the host, stored on the card, worked on in both places and compared.  Sums: an f32 product is added in
 * f32 to at most 512 others, which is at most 512 eps of the sum of the magnitudes, here below 64 eps n beside entries
 * below 1; row by row: some eps for each of the terms of a row.
 *
 * SPDX-License-Identifier: MIT */
#include "card.h"
#include "la_case.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- arrays in both places -------------------------------------------------------------------------- */

typedef struct both {
    const fab_ops *card, *ref;
    fab_run run, plain;
    int64_t n, k, m;
} both;

static both open_both(fab_dtype type, int64_t n, int64_t k, int64_t m)
{
    both b = {.card = card_ops(type), .n = n, .k = k, .m = m};
    const int64_t most = k > m ? k : m;
    b.ref = type == FAB_F64 ? &fab_ops_ref_f64 : &fab_ops_ref_f32;
    b.run = la_run(b.card, 1), b.plain = la_run(b.ref, 1);
    b.run.work = b.card->memory->alloc(b.card->work(n, most, most, 1));
    b.plain.work = fab_alloc(b.ref->work(n, most, most, 1));
    assert_non_null(b.run.work);
    return b;
}

static void close_both(both *b)
{
    b->card->memory->release(b->run.work);
    fab_release(b->plain.work);
}

typedef struct pair {
    fab_long card, host;
    size_t bytes;
} pair;

static pair array(const both *b, la_layout layout, uint64_t stream, int64_t n, int64_t k)
{
    pair p = {.host = la_array(b->ref, layout, stream, 1, n, k)};
    p.bytes = b->card->size * (size_t)((n + 2) * (k + 2));
    p.card = p.host;
    p.card.p = b->card->memory->alloc(p.bytes);
    b->card->vectors->store(&b->run, p.bytes, p.host.p, p.card.p);
    return p;
}

static void drop(const both *b, pair *p)
{
    b->card->memory->release(p->card.p);
    fab_release(p->host.p);
}

/* A vector: doubles on the host, the card's own type there. */
typedef struct vector {
    void *card;
    double *host;
} vector;

static vector numbers(const both *b, uint64_t stream, double lo, double hi)
{
    vector v = {b->card->memory->alloc(b->card->vectors->size * (size_t)b->n), la_doubles(b->n)};
    fab_random_uniform(2385, FAB_PURPOSE_DATA, stream, 0, b->n, v.host);
    for (int64_t i = 0; i < b->n; i++) v.host[i] = lo + (hi - lo) * v.host[i];
    b->card->vectors->put(&b->run, b->n, v.host, v.card);
    b->card->vectors->get(&b->run, b->n, v.card, v.host); /* what both have */
    return v;
}

static void drop_vector(const both *b, vector *v)
{
    b->card->memory->release(v->card);
    fab_release(v->host);
}

static void near(const char *what, int64_t n, const double *a, const double *ref, double bound)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(a[i] - ref[i]) <= bound))
            fail_msg("%s[%lld] is %.12g, expected %.12g within %g", what, (long long)i, a[i],
                     ref[i], bound);
}

static void near_vector(const both *b, const char *what, const vector *v, double bound)
{
    double *got = la_doubles(b->n);
    b->card->vectors->get(&b->run, b->n, v->card, got);
    near(what, b->n, got, v->host, bound);
    fab_release(got);
}

static void near_array(const both *b, const char *what, const pair *p, double bound)
{
    double *got = la_doubles(p->host.n * p->host.k), *ref = la_doubles(p->host.n * p->host.k);
    b->card->get(&b->run, &p->card, got);
    b->ref->get(&b->plain, &p->host, ref);
    near(what, p->host.n * p->host.k, got, ref, bound);
    fab_release(got), fab_release(ref);
}

typedef void check_fn(both *b);

#ifndef LARGEST
#define LARGEST 70001 /* smaller under a sanitizer, which takes its time */
#endif

static void at_sizes(check_fn *check)
{
    static const int64_t some_n[] = {1, 29, 63, 512, 5003, 70001},
                         some_k[] = {1, 2, 3, 7, 10, 17, 40};
    for (int type = FAB_F64; type <= FAB_F32; type++)
        for (size_t a = 0; a < 6; a++)
            for (size_t c = 0; c < 7; c++) {
                if (some_n[a] * some_k[c] > 1000000 || some_n[a] > LARGEST) continue;
                both b = open_both((fab_dtype)type, some_n[a], some_k[c],
                                   (int64_t[]){1, 3, 20}[(a + c) % 3]);
                check(&b);
                assert_null(b.card->fault());
                close_both(&b);
            }
}

/* ---- sums ------------------------------------------------------------------------------------------- */

static void check_sums(both *b)
{
    const double bound = 64 * la_eps(b->card->type) * (double)b->n;
    const int64_t k = b->k, m = b->m, most = k > m ? k : m;
    double *C = la_doubles(most * most), *again = la_doubles(most * most),
           *ref = la_doubles(most * most);
    vector w = numbers(b, 2, 0.5, 2);
    for (int layout = BY_ROWS; layout <= BY_COLUMNS; layout++) {
        pair A = array(b, (la_layout)layout, 1, b->n, k), B = array(b, BY_COLUMNS, 3, b->n, m);
        for (int weighed = 0; weighed < 2; weighed++) {
            b->card->gram(&b->run, &A.card, weighed ? w.card : NULL, C);
            b->card->gram(&b->run, &A.card, weighed ? w.card : NULL, again);
            b->ref->gram(&b->plain, &A.host, weighed ? w.host : NULL, ref);
            near("gram", k * k, C, ref, bound);
            assert_memory_equal(C, again, (size_t)(k * k) * sizeof *C);
            b->card->cross(&b->run, &A.card, weighed ? w.card : NULL, &B.card, C);
            b->ref->cross(&b->plain, &A.host, weighed ? w.host : NULL, &B.host, ref);
            near("cross", k * m, C, ref, bound);
            b->card->colquad(&b->run, &A.card, weighed ? w.card : NULL, C);
            b->ref->colquad(&b->plain, &A.host, weighed ? w.host : NULL, ref);
            near("colquad", k, C, ref, bound);
        }
        drop(b, &A), drop(b, &B);
    }
    drop_vector(b, &w);
    fab_release(C), fab_release(again), fab_release(ref);
}

static void sums_agree_with_the_plain_loops_and_have_the_same_bits_twice(void **state)
{
    (void)state;
    at_sizes(check_sums);
}

/* ---- row by row ------------------------------------------------------------------------------------- */

static void check_rows(both *b)
{
    const double eps = la_eps(b->card->type);
    const int64_t k = b->k, m = b->m;
    double *M = la_doubles(k * m);
    la_fill(5, 1, k * m, M);
    vector s = numbers(b, 2, 0.5, 2), q = numbers(b, 4, -1, 1);
    for (int layout = BY_ROWS; layout <= BY_COLUMNS; layout++)
        for (int beta = 0; beta < 2; beta++) {
            const double c = beta ? -0.7 : 0;
            pair A = array(b, (la_layout)layout, 1, b->n, k), B = array(b, BY_ROWS, 3, b->n, m),
                 D = array(b, BY_COLUMNS, 6, b->n, k);
            b->card->mult(&b->run, s.card, &A.card, M, c, &B.card);
            b->ref->mult(&b->plain, s.host, &A.host, M, c, &B.host);
            near_array(b, "mult", &B, 16 * eps * (double)(k + 1));
            b->card->rowquad(&b->run, &A.card, beta ? M : NULL, m, c, q.card);
            b->ref->rowquad(&b->plain, &A.host, beta ? M : NULL, m, c, q.host);
            near_vector(b, "rowquad", &q, 16 * eps * (double)(k * k * m + 1));
            b->card->rowdot(&b->run, &A.card, &D.card, c, q.card);
            b->ref->rowdot(&b->plain, &A.host, &D.host, c, q.host);
            near_vector(b, "rowdot", &q, 32 * eps * (double)(k * k * m + 1));
            b->card->axpy(&b->run, beta ? s.card : NULL, &A.card, c, &D.card);
            b->ref->axpy(&b->plain, beta ? s.host : NULL, &A.host, c, &D.host);
            near_array(b, "axpy", &D, 16 * eps);
            la_fill(5, 1, k * m, M);
            if (m >= k) { /* in place */
                b->card->mult(&b->run, NULL, &A.card, M, 0, &A.card);
                b->ref->mult(&b->plain, NULL, &A.host, M, 0, &A.host);
                near_array(b, "mult in place", &A, 16 * eps * (double)k);
            }
            b->card->zero(&b->run, &A.card);
            b->ref->zero(&b->plain, &A.host);
            near_array(b, "zero", &A, 0);
            drop(b, &A), drop(b, &B), drop(b, &D);
            vector fresh = numbers(b, 4, -1, 1);
            drop_vector(b, &q);
            q = fresh;
        }
    drop_vector(b, &s), drop_vector(b, &q);
    fab_release(M);
}

static void rows_agree_with_the_plain_loops(void **state)
{
    (void)state;
    at_sizes(check_rows);
}

/* ---- the sweep --------------------------------------------------------------------------------------- */

enum {
    WITH_U = 1,
    WITH_Q = 2,
    ALL_SUMS = 4,
    IN_PLACE = 8,
    NO_X = 16,
    SCALED = 32,
    UPPER = 64,
    HIGH_FLOOR = 128,
    NO_SUMS = 256,
    WIDE = 512
};

static void check_sweep(both *b, int what)
{
    const int64_t K = b->k, m = what & WIDE ? b->m : 1, KK = K * K;
    const double eps = la_eps(b->card->type), small = 0.3 / (double)K;
    double *small_of[8];
    for (int i = 0; i < 8; i++) small_of[i] = la_doubles(KK + K * m);
    double *R = small_of[0], *T = small_of[1], *C = small_of[2], *Q = small_of[3];
    double *sums = la_doubles(3 * KK + K * m), *again = la_doubles(3 * KK + K * m),
           *ref = la_doubles(3 * KK + K * m);
    la_fill(16, small, KK, R), la_fill(17, small, KK, T),
        la_fill(18, 0.3 / (double)(m * K), K * m, C);
    la_fill(19, 1 / (double)K, KK, Q);
    fab_symmetrise(K, Q);
    for (int64_t e = 0; e < KK && what & UPPER; e++) R[e] = e % K <= e / K ? R[e] : 0;
    for (int twice = 0; twice < 2; twice++) {
        pair w = array(b, BY_ROWS, 21, b->n, K), u = array(b, BY_ROWS, 22, b->n, K),
             out = array(b, BY_ROWS, 25, b->n, K);
        pair x = array(b, BY_COLUMNS, 23, b->n, m), next = array(b, BY_COLUMNS, 24, b->n, m);
        vector psi = numbers(b, 11, 1, 3), psi0 = numbers(b, 12, 0.5, 2), d2 = numbers(b, 13, 1, 2);
        vector num = numbers(b, 14, 0.5, 2), den = numbers(b, 15, 0.5, 2);
        fab_sweep s = {.n = b->n,
                       .K = K,
                       .R = what & SCALED ? NULL : R,
                       .r0 = small,
                       .w = w.card,
                       .out = what & IN_PLACE ? w.card : out.card};
        s.c0 = 0.5, s.c3 = 2, s.psi = psi.card, s.d2 = d2.card, s.psi_out = psi.card,
        s.base_out = d2.card;
        s.floor = what & HIGH_FLOOR ? 0.9 : 1e-8;
        if (what & (WIDE | WITH_U)) s.c1 = 0.25;
        if (what & WITH_U) s.u = u.card, s.T = T, s.s_num = num.card, s.s_den = den.card;
        if (!(what & NO_X)) s.x = x.card, s.C = C, s.c2 = 0.1;
        if (what & WITH_Q) s.Q = Q;
        s.next = next.card;
        memset(sums, 0, (size_t)(3 * KK + K * m) * sizeof *sums),
            memset(ref, 0, (size_t)(3 * KK + K * m) * sizeof *ref);
        if (!(what & NO_SUMS)) s.G = sums, s.N = sums + 3 * KK;
        if (what & ALL_SUMS) s.E = sums + KK, s.H = sums + 2 * KK, s.psi0 = psi0.card;
        b->card->sweep(&b->run, &s);
        fab_sweep p = s;
        p.w = w.host, p.out = what & IN_PLACE ? w.host : out.host, p.psi = psi.host, p.d2 = d2.host,
        p.psi_out = psi.host, p.base_out = d2.host;
        if (what & WITH_U) p.u = u.host, p.s_num = num.host, p.s_den = den.host;
        if (!(what & NO_X)) p.x = x.host;
        p.next = next.host, p.psi0 = psi0.host;
        if (!(what & NO_SUMS)) p.G = ref, p.N = ref + 3 * KK;
        if (what & ALL_SUMS) p.E = ref + KK, p.H = ref + 2 * KK;
        b->ref->sweep(&b->plain, &p);
        near_array(b, "out", what & IN_PLACE ? &w : &out, 64 * eps * (double)(K + m));
        near_vector(b, "psi", &psi, 64 * eps * (double)(K + m + 8));
        near_vector(b, "base", &d2, 64 * eps * (double)(K + m + 8));
        near("sums", 3 * KK + K * m, sums, ref, 64 * eps * (double)b->n * (double)(K + m));
        if (!(what & HIGH_FLOOR)) assert_int_equal(s.floored, p.floored);
        if (twice) assert_memory_equal(sums, again, (size_t)(3 * KK + K * m) * sizeof *sums);
        memcpy(again, sums, (size_t)(3 * KK + K * m) * sizeof *sums);
        drop(b, &w), drop(b, &u), drop(b, &out), drop(b, &x), drop(b, &next);
        drop_vector(b, &psi), drop_vector(b, &psi0), drop_vector(b, &d2), drop_vector(b, &num),
            drop_vector(b, &den);
    }
    for (int i = 0; i < 8; i++) fab_release(small_of[i]);
    fab_release(sums), fab_release(again), fab_release(ref);
}

static void check_sweeps(both *b)
{
    static const int some[] = {UPPER | IN_PLACE,
                               0,
                               IN_PLACE,
                               SCALED | WITH_Q | IN_PLACE,
                               WITH_Q | NO_SUMS,
                               NO_X | UPPER,
                               HIGH_FLOOR | IN_PLACE,
                               SCALED | NO_X,
                               WITH_U,
                               ALL_SUMS | WITH_Q,
                               WIDE | ALL_SUMS | WITH_U,
                               WIDE | SCALED | WITH_Q};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) check_sweep(b, some[i]);
}

static void sweeps_agree_with_the_plain_loops_and_have_the_same_bits_twice(void **state)
{
    (void)state;
    at_sizes(check_sweeps);
}

/* ---- in and out, random numbers ---------------------------------------------------------------------- */

static void check_in_and_out(both *b)
{
    const double eps = la_eps(b->card->type);
    const int64_t ld = b->n + 3;
    double *x = la_doubles(ld * b->k), *mu = la_doubles(b->n), *back = la_doubles(b->n * b->k);
    la_fill(7, 1, ld * b->k, x), la_fill(8, 1, b->n, mu);
    void *mean = b->card->memory->alloc((size_t)b->n * sizeof *mu);
    b->card->vectors->store(&b->run, (size_t)b->n * sizeof *mu, mu, mean);
    const fab_rows rows = {x, FAB_F64, b->k, ld};
    for (int layout = BY_ROWS; layout <= BY_COLUMNS; layout++) {
        pair A = array(b, (la_layout)layout, 1, b->n, b->k);
        b->card->load(&b->run, &rows, mean, &A.card);
        b->ref->load(&b->plain, &rows, mu, &A.host);
        near_array(b, "load", &A, 0);
        b->card->put(&b->run, x, &A.card);
        b->ref->put(&b->plain, x, &A.host);
        near_array(b, "put", &A, 0);
        b->run.comm.first_row = b->plain.comm.first_row = 77;
        b->card->randn(&b->run, 5, FAB_PURPOSE_DATA, 6, &A.card);
        b->ref->randn(&b->plain, 5, FAB_PURPOSE_DATA, 6, &A.host);
        near_array(b, "randn", &A, 64 * eps);
        drop(b, &A);
    }
    b->card->memory->release(mean);
    fab_release(x), fab_release(mu), fab_release(back);
}

static void what_goes_in_and_out_agrees_with_the_plain_loops(void **state)
{
    (void)state;
    at_sizes(check_in_and_out);
}

/* ---- vectors ----------------------------------------------------------------------------------------- */

static void check_vectors(both *b)
{
    if (b->k > 1) return;
    const fab_vectors *v = b->card->vectors, *h = &fab_vectors_host;
    const int64_t n = b->n;
    const double eps = la_eps(b->card->type), many = 64 * eps * (double)n;
    const fab_run wide = {.ops = &fab_ops_ref_f64, .threads = 1, .work = b->plain.work};
    vector a = numbers(b, 31, 0.25, 2), c = numbers(b, 32, 0.25, 2), d = numbers(b, 33, -1, 1);
    int64_t *marks = fab_alloc((size_t)n * sizeof *marks),
            *back = fab_alloc((size_t)n * sizeof *back);
    for (int64_t i = 0; i < n; i++) marks[i] = i % 3 == 0;
    void *flags = b->card->memory->alloc((size_t)n * v->flag);
    v->put_flags(&b->run, n, marks, flags);
    v->get_flags(&b->run, n, flags, back);
    assert_memory_equal(marks, back, (size_t)n * sizeof *marks);
    assert_int_equal(v->unmarked(&b->run, n, flags), h->unmarked(&wide, n, marks));
    assert_true(fabs(v->sum(&b->run, n, a.card, 3) - h->sum(&wide, n, a.host, 3)) <= many);
    assert_true(v->largest(&b->run, n, a.card) == h->largest(&wide, n, a.host));
    for (int how = FAB_MAP_INVERSE; how <= FAB_MAP_AT_LEAST; how++) {
        const vector *from = how == FAB_MAP_INVERSE_ROOT ? &d : &a;
        v->map(&b->run, n, (fab_map)how, 0.5, 0.4, from->card, c.card);
        h->map(&wide, n, (fab_map)how, 0.5, 0.4, from->host, c.host);
        double *got = la_doubles(n);
        v->get(&b->run, n, c.card, got);
        for (int64_t i = 0; i < n; i++)
            assert_true(fabs(got[i] - c.host[i]) <= 4 * eps * fabs(c.host[i]));
        fab_release(got);
    }
    v->blend(&b->run, n, 0.3, a.card, -0.6, d.card), h->blend(&wide, n, 0.3, a.host, -0.6, d.host);
    near_vector(b, "blend", &d, 4 * eps);
    v->choose(&b->run, n, flags, a.card, 0.75, c.card),
        h->choose(&wide, n, marks, a.host, 0.75, c.host);
    near_vector(b, "choose", &c, 0);
    v->copy(&b->run, n, a.card, d.card), h->copy(&wide, n, a.host, d.host);
    near_vector(b, "copy", &d, 0);
    assert_int_equal(v->floor(&b->run, n, 0.5, c.card, 1, d.card),
                     h->floor(&wide, n, 0.5, c.host, 1, d.host));
    near_vector(b, "floor", &d, eps);
    assert_true(v->ascend(&b->run, n, 0.1, a.card, c.card, c.card, 1.2, d.card) ==
                h->ascend(&wide, n, 0.1, a.host, c.host, c.host, 1.2, d.host));
    near_vector(b, "ascend", &d, 16 * eps);
    v->normals(&b->run, n, 3, FAB_PURPOSE_START, 4, a.card),
        h->normals(&wide, n, 3, FAB_PURPOSE_START, 4, a.host);
    near_vector(b, "normals", &a, 16 * eps);
    v->fill(&b->run, n, 0.125, a.card), h->fill(&wide, n, 0.125, a.host);
    near_vector(b, "fill", &a, 0);
    b->card->memory->release(flags);
    fab_release(marks), fab_release(back);
    drop_vector(b, &a), drop_vector(b, &c), drop_vector(b, &d);
}

static void vectors_agree_with_the_plain_loops(void **state)
{
    (void)state;
    at_sizes(check_vectors);
}

/* ---- draws and steps of a Gaussian ------------------------------------------------------------------- */

enum { MOST_L = 9 };

/* One of them in both places: psi on (.3, 2.7), moments as after some steps. */
typedef struct spread {
    vector c, gamma, m_c, v_c, m_gamma, v_gamma;
    pair F, V, m_F, v_F, theta;
    double *h, *y, *Minv, *G, *ref_G;
    fab_draw draw[MOST_L];
} spread;

static void same_sign(const both *b, pair *p)
{
    const int64_t n = p->host.n, k = p->host.k;
    double *x = la_doubles(n * k);
    b->ref->get(&b->plain, &p->host, x);
    for (int64_t i = 0; i < n * k; i++) x[i] = 0.1 + fabs(x[i]);
    b->ref->put(&b->plain, x, &p->host);
    b->card->vectors->store(&b->run, p->bytes, p->host.p, p->card.p);
    fab_release(x);
}

static spread open_spread(const both *b, int64_t L)
{
    const int64_t n = b->n, k = b->k;
    spread s = {.c = numbers(b, 51, -1, 1),
                .gamma = numbers(b, 52, -1, 1),
                .m_c = numbers(b, 53, -1, 1),
                .v_c = numbers(b, 54, 0.25, 2),
                .m_gamma = numbers(b, 55, -1, 1),
                .v_gamma = numbers(b, 56, 0.25, 2),
                .F = array(b, BY_ROWS, 57, n, k),
                .V = array(b, BY_COLUMNS, 58, n * L, 1),
                .m_F = array(b, BY_ROWS, 59, n, k),
                .v_F = array(b, BY_ROWS, 60, n, k),
                .theta = array(b, BY_COLUMNS, 61, n, 1),
                .h = la_doubles(L * k),
                .y = la_doubles(L * k),
                .Minv = la_doubles(k * k),
                .G = la_doubles(k * k),
                .ref_G = la_doubles(k * k)};
    same_sign(b, &s.v_F);
    la_fill(62, 1, L * k, s.h), la_fill(63, 1, L * k, s.y), la_fill(64, 1, k * k, s.Minv);
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < i; j++) s.Minv[i + j * k] = s.Minv[j + i * k];
    for (int64_t l = 0; l < L; l++)
        s.draw[l] = (fab_draw){.seed = 5,
                               .stream = 300 + 2 * (uint64_t)(l / 2) + ((uint64_t)1 << 40),
                               .sign = l % 2 ? -1 : 1,
                               .scale = 1.5 + (double)l,
                               .h = s.h + l * k,
                               .y = s.y + l * k};
    return s;
}

static void drop_spread(const both *b, spread *s)
{
    vector *const v[] = {&s->c, &s->gamma, &s->m_c, &s->v_c, &s->m_gamma, &s->v_gamma};
    pair *const p[] = {&s->F, &s->V, &s->m_F, &s->v_F, &s->theta};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) drop_vector(b, v[i]);
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) drop(b, p[i]);
    fab_release(s->h), fab_release(s->y), fab_release(s->Minv);
    fab_release(s->G), fab_release(s->ref_G);
}

static fab_step step_of(const both *b, const spread *s, int on_card, int64_t L, fab_step_kind kind,
                        int path, double weight)
{
    fab_step x = {.kind = kind,
                  .q = {b->n, b->k, on_card ? s->c.card : s->c.host,
                        on_card ? s->gamma.card : s->gamma.host,
                        on_card ? s->F.card.p : s->F.host.p},
                  .L = L,
                  .draw = s->draw,
                  .V = on_card ? s->V.card.p : s->V.host.p,
                  .weight = weight,
                  .alpha = 0.3,
                  .path = path,
                  .Minv = s->Minv,
                  .c = {0.02, 0.9, 1.3, on_card ? s->m_c.card : s->m_c.host,
                        on_card ? s->v_c.card : s->v_c.host},
                  .gamma = {0.03, 0.8, 1.2, on_card ? s->m_gamma.card : s->m_gamma.host,
                            on_card ? s->v_gamma.card : s->v_gamma.host},
                  .F = {0.01, 0.7, 1.1, on_card ? s->m_F.card.p : s->m_F.host.p,
                        on_card ? s->v_F.card.p : s->v_F.host.p},
                  .b1 = 0.9,
                  .b2 = 0.99,
                  .epsilon = 1e-8,
                  .most = 0.7,
                  .G = on_card ? s->G : s->ref_G};
    return x;
}

/* Where |gamma| is just at `most` rounding decides. */
static void near_count(const char *what, double a, double b, double bound)
{
    near(what, 1, &a, &b, bound);
}

static void check_step_of(both *b, int64_t L, fab_step_kind kind, int path, double weight)
{
    const double eps = la_eps(b->card->type), k = (double)b->k, n = (double)b->n;
    const double row = 64 * eps * (k * k + 4) * (double)L;
    spread s = open_spread(b, L);
    fab_step on_card = step_of(b, &s, 1, L, kind, path, weight),
             plain = step_of(b, &s, 0, L, kind, path, weight);
    b->card->vectors->step(&b->run, &on_card);
    fab_vectors_host.step(&b->plain, &plain);
    for (int i = 0; i < (kind == FAB_STEP_NORMS ? 3 : 2); i++)
        near("square", 1, &on_card.squares[i], &plain.squares[i],
             (row * (k + 1) + 64 * eps) * (plain.squares[i] + n));
    if (kind != FAB_STEP_NORMS) near("G", b->k * b->k, s.G, s.ref_G, (row + 64 * eps) * 4 * n);
    near_count("beyond", (double)on_card.beyond, (double)plain.beyond, 2 + n / 1000);
    near_vector(b, "c", &s.c, row), near_vector(b, "gamma", &s.gamma, row);
    near_array(b, "F", &s.F, row);
    if (kind == FAB_STEP_ADAM) {
        near_vector(b, "m of c", &s.m_c, row), near_vector(b, "v of c", &s.v_c, row * k * 16 + row);
        near_vector(b, "m of gamma", &s.m_gamma, row);
        near_vector(b, "v of gamma", &s.v_gamma, row * k * 16 + row);
        near_array(b, "m of F", &s.m_F, row), near_array(b, "v of F", &s.v_F, row * k * 16 + row);
    }
    drop_spread(b, &s);
}

static void check_steps(both *b)
{
    static const int64_t draws[] = {1, 2, 3, 9};
    for (size_t l = 0; l < sizeof draws / sizeof *draws; l++) {
        if (b->n * draws[l] > 100000 && draws[l] > 2) continue;
        for (int path = 0; path < 2; path++) {
            check_step_of(b, draws[l], FAB_STEP_NORMS, path, 0.6);
            check_step_of(b, draws[l], FAB_STEP_PLAIN, path, 0.6);
            check_step_of(b, draws[l], FAB_STEP_ADAM, path, 0.6);
            check_step_of(b, draws[l], FAB_STEP_ADAM, path, 0);
        }
    }
    spread s = open_spread(b, 1);
    fab_step on_card = step_of(b, &s, 1, 0, FAB_STEP_NOTHING, 0, 1),
             plain = step_of(b, &s, 0, 0, FAB_STEP_NOTHING, 0, 1);
    b->card->vectors->step(&b->run, &on_card);
    fab_vectors_host.step(&b->plain, &plain);
    near("G", b->k * b->k, s.G, s.ref_G, 256 * la_eps(b->card->type) * (double)b->n);
    assert_int_equal(on_card.beyond, plain.beyond);
    near_vector(b, "c", &s.c, 0), near_array(b, "F", &s.F, 0);
    drop_spread(b, &s);
}

static void check_draws(both *b)
{
    const double eps = la_eps(b->card->type), k = (double)b->k, n = (double)b->n;
    const fab_vectors *v = b->card->vectors;
    spread s = open_spread(b, 2);
    const fab_step on_card = step_of(b, &s, 1, 2, FAB_STEP_PLAIN, 0, 1),
                   plain = step_of(b, &s, 0, 2, FAB_STEP_PLAIN, 0, 1);
    for (int l = 0; l < 2; l++) {
        v->draw(&b->run, &on_card.q, &s.draw[l], s.theta.card.p);
        fab_vectors_host.draw(&b->plain, &plain.q, &s.draw[l], s.theta.host.p);
        near_array(b, "theta", &s.theta, 32 * eps * (k + 2));
        v->project(&b->run, &on_card.q, &s.draw[l], s.G);
        v->project(&b->run, &on_card.q, &s.draw[l], s.h);
        fab_vectors_host.project(&b->plain, &plain.q, &s.draw[l], s.ref_G);
        near("F' psi^-1/2 z", b->k, s.G, s.ref_G, 256 * eps * n);
        assert_memory_equal(s.G, s.h, (size_t)b->k * sizeof *s.G);
    }
    double sums[FAB_GAUSS_SUMS], ref[FAB_GAUSS_SUMS], *x = la_doubles(b->n);
    v->gauss_sums(&b->run, &on_card.q, sums), fab_vectors_host.gauss_sums(&b->plain, &plain.q, ref);
    near("sums", FAB_GAUSS_SUMS, sums, ref, 64 * eps * n);
    la_fill(65, 1, b->n, x);
    if (b->n > 1) x[b->n / 2] = INFINITY;
    const fab_rows row = {x, FAB_F64, 1, b->n};
    assert_int_equal(v->bring(&b->run, &row, &s.theta.card),
                     fab_vectors_host.bring(&b->plain, &row, &s.theta.host));
    fab_release(x);
    drop_spread(b, &s);
}

static void draws_agree_with_the_plain_loops(void **state)
{
    (void)state;
    at_sizes(check_draws);
}

static void steps_agree_with_the_plain_loops(void **state)
{
    (void)state;
    at_sizes(check_steps);
}

static void a_mean_runs_in_double(void **state)
{
    (void)state;
    enum { N = 5003, ROWS = 40 };
    both b = open_both(FAB_F32, N, 1, 1);
    double *x = la_doubles(N), *mu = la_doubles(N), *expected = la_doubles(N);
    void *mean = b.card->memory->alloc(N * sizeof *mu), *flags = b.card->memory->alloc(N);
    pair d = array(&b, BY_COLUMNS, 1, N, 1);
    for (int64_t i = 0; i < N; i++) expected[i] = 0;
    for (int t = 1; t <= ROWS; t++) {
        la_fill((uint64_t)t, 1, N, x);
        for (int64_t i = 0; i < N; i += 2) x[i] = 0;
        for (int64_t i = 0; i < N; i++) expected[i] += (x[i] - expected[i]) / t;
        const fab_rows row = {x, FAB_F64, 1, N};
        assert_int_equal(b.card->vectors->centre(&b.run, &row, 1.0 / t, mean, &d.card,
                                                 t > 1 ? flags : NULL, NULL),
                         t > 1 ? N / 2 + 1 : 0);
    }
    b.card->vectors->fetch(&b.run, N * sizeof *mu, mean, mu);
    near("mean", N, mu, expected, 1e-14);
    drop(&b, &d);
    b.card->memory->release(mean), b.card->memory->release(flags);
    fab_release(x), fab_release(mu), fab_release(expected);
    close_both(&b);
}

static void what_does_not_fit_is_refused_and_nothing_breaks(void **state)
{
    (void)state;
    const fab_ops *ops = card_ops(FAB_F32);
    assert_null(ops->memory->alloc((size_t)1 << 45));
    assert_null(ops->fault());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_agree_with_the_plain_loops_and_have_the_same_bits_twice),
        cmocka_unit_test(rows_agree_with_the_plain_loops),
        cmocka_unit_test(sweeps_agree_with_the_plain_loops_and_have_the_same_bits_twice),
        cmocka_unit_test(what_goes_in_and_out_agrees_with_the_plain_loops),
        cmocka_unit_test(vectors_agree_with_the_plain_loops),
        cmocka_unit_test(draws_agree_with_the_plain_loops),
        cmocka_unit_test(steps_agree_with_the_plain_loops),
        cmocka_unit_test(a_mean_runs_in_double),
        cmocka_unit_test(what_does_not_fit_is_refused_and_nothing_breaks),
    };
    card_ops(FAB_F64); /* or skipped */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
