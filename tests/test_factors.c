/* test_factors.c - factors to read (rotation, scores, their number), and the factor analysis of a table, which is held
 * against the command line: the same rows give the same bytes.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "fa_case.h"
#include "data/source/source.h"
#include "fabayes/table.h"
#include <unistd.h>

#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, leave_folder)

enum { D = 29, K = 4 };

static size_t held_now, held_most;

static void *weigh(size_t bytes)
{
    size_t *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    *p = bytes;
    held_now += bytes;
    held_most = held_now > held_most ? held_now : held_most;
    return p + 8;
}

static void unweigh(void *p)
{
    if (!p) return;
    held_now -= ((size_t *)p)[-8];
    free((size_t *)p - 8);
}

static int leave_folder(void **state)
{
    dense_release(state);
    return remove_folder(state);
}

/* ---- rotation --------------------------------------------------------------------------------------- */

static real *reals(const double *x, int64_t n)
{
    real *y = dense_new(n);
    for (int64_t i = 0; i < n; i++) y[i] = x[i];
    return y;
}

static double *rotated(const fab_rotation *r, const fab_gauss *g)
{
    double *L = doubles(g->D * g->K);
    fab_rotation_factors(r, g, 0, g->D, L);
    return L;
}

static void check_rotation(const fab_gauss *g, const fab_rotation *r)
{
    const int64_t n = g->D, k = g->K;
    const real *R = reals(r->R, k * k), *F = dense_F(g);
    const double unit = unit_of(FAB_F64);
    const double *L = rotated(r, g);
    const real *RB = dense_mul(k, k, k, R, reals(r->back, k * k));
    const real *phi =
        dense_mul(k, k, k, reals(r->back, k * k), dense_transpose(k, k, reals(r->back, k * k)));
    const real *Lphi = dense_mul(n, k, k, reals(L, n * k), reals(r->phi, k * k));
    const real *kept = dense_mul(n, k, n, Lphi, dense_transpose(n, k, reals(L, n * k)));
    const real *was = dense_mul(n, k, n, F, dense_transpose(n, k, F));
    real total = 0, *rank = dense_new(k);
    const double rounding = 2000 * (double)k * unit;
    assert_true(relative_gap(k * k, RB, dense_identity(k)) < rounding); /* R R^-1 = I */
    assert_true(relative_gap(k * k, reals(r->phi, k * k), phi) < rounding);
    if (r->kind <= FAB_ROTATION_VARIMAX)
        assert_true(relative_gap(k * k, phi, dense_identity(k)) < rounding);
    for (int64_t c = 0; c < k; c++) assert_near(r->phi[c * k + c], 1, rounding);
    assert_true(relative_gap(n * n, kept, was) < rounding); /* F F' stays */
    for (int64_t c = 0; c < k; c++) {
        real length = 0, peak = 0;
        for (int64_t d = 0; d < n; d++) {
            real v = g->psi[d];
            for (int64_t j = 0; j < k; j++) v += F[d * k + j] * F[d * k + j];
            const real x = L[d * k + c] / (r->kind == FAB_ROTATION_PRINCIPAL ? 1 : r_sqrt(v));
            length += Lphi[d * k + c] * L[d * k + c];
            rank[c] += x * Lphi[d * k + c] / (r->kind == FAB_ROTATION_PRINCIPAL ? 1 : r_sqrt(v));
            if (r_abs(x) > r_abs(peak)) peak = x;
        }
        assert_true(peak > 0);
        assert_near(r->length[c], length, rounding * r->total);
        if (c > 0) assert_true(rank[c] <= rank[c - 1] + rounding * r->total);
        total += length;
    }
    for (int64_t d = 0; d < n; d++) total += g->psi[d];
    assert_near(r->total, total, 1e-13 * total);
}

static void a_rotation_keeps_the_covariance(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{D, K}, {D, 1}, {5, 5}, {1, 1}, {D, 12}};
    for (int i = 0; i < 5; i++)
        for (int type = FAB_F64; type <= FAB_F32; type++)
            for (int kind = FAB_ROTATION_PRINCIPAL; kind <= FAB_ROTATION_OBLIMIN; kind++) {
                fab_rotation *r;
                fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, (fab_dtype)type, sizes[i][0],
                                          sizes[i][1], 31 + (uint64_t)i, 2.385);
                assert_ok(fab_rotation_create(&r, g, (fab_rotation_kind)kind, 0));
                check_rotation(g, r);
                fab_rotation_free(r);
                fab_gauss_free(g);
            }
}

static void principal_axes_are_the_eigenvectors(void **state)
{
    (void)state;
    fab_rotation *r;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, K, 5, 1);
    const real *F = dense_F(g);
    real *w = dense_new(K), *V = dense_new(K * K);
    dense_eig(K, dense_mul(K, D, K, dense_transpose(D, K, F), F), w, V);
    assert_ok(fab_rotation_create(&r, g, FAB_ROTATION_PRINCIPAL, 0));
    for (int k = 0; k < K; k++) {
        real same = 0;
        for (int i = 0; i < K; i++) same += V[i * K + k] * r->R[i * K + k];
        assert_near(r_abs(same), 1, 1e-10);
        assert_near(r->length[k], w[k], 1e-10 * w[k]);
    }
    fab_rotation_free(r);
    fab_gauss_free(g);
}

/* Varimax as it is written with matrices: L scaled by rows, then R <- polar factor of
 * L' (M^3 - M diag(column means of M^2)) with M = L R, until it stays.  R: K x K. */
static real *varimax_by_svd(const fab_gauss *g)
{
    real *L = dense_F(g), *R = dense_identity(K);
    for (int d = 0; d < D; d++) {
        real square = 0;
        for (int k = 0; k < K; k++) square += L[d * K + k] * L[d * K + k];
        for (int k = 0; k < K; k++) L[d * K + k] /= r_sqrt(square);
    }
    for (int step = 0; step < 2000; step++) {
        real *M = dense_mul(D, K, K, L, R), mean[K] = {0};
        for (int i = 0; i < D * K; i++) mean[i % K] += M[i] * M[i] / D;
        for (int i = 0; i < D * K; i++) M[i] = M[i] * (M[i] * M[i] - mean[i % K]);
        const real *B = dense_mul(K, D, K, dense_transpose(D, K, L), M);
        const real *BB = dense_mul(K, K, K, dense_transpose(K, K, B), B);
        real *next = dense_mul(K, K, K, B, dense_inverse(K, dense_root(K, BB)));
        const double moved = relative_gap(K * K, next, R);
        R = next;
        if (moved < 1e-13) break;
    }
    return R;
}

static void varimax_is_that_of_the_matrix_form(void **state)
{
    (void)state;
    fab_rotation *r;
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, K, 23, 1);
    for (int d = 0; d < D; d++) /* a structure to find, seen from elsewhere */
        for (int k = 0; k < K; k++) {
            double x = 0.1 * noise(9, d * K + k);
            for (int j = 0; j < K; j++)
                x += (d % K == j) * (j == k ? 0.8 : 0.35 * (j < k ? 1 : -1)) *
                     (1 + 0.3 * noise(8, d));
            F_put(g, d, k, x);
        }
    assert_ok(fab_rotation_create(&r, g, FAB_ROTATION_VARIMAX, 0));
    const double *L = rotated(r, g);
    const real *want = dense_mul(D, K, K, dense_F(g), varimax_by_svd(g));
    for (int k = 0; k < K; k++) { /* columns in any order, of any sign */
        real best = 1;
        for (int j = 0; j < K; j++)
            for (int sign = -1; sign <= 1; sign += 2) {
                real gap = 0;
                for (int d = 0; d < D; d++)
                    gap = r_max(gap, r_abs(sign * want[d * K + j] - L[d * K + k]));
                if (gap < best) best = gap;
            }
        assert_near(best, 0, 1e-8);
    }
    fab_rotation_free(r);
    fab_gauss_free(g);
}

/* Three groups of coordinates, whose factors correlate. */
static fab_gauss *groups(void)
{
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, K, 23, 1);
    for (int d = 0; d < D; d++)
        for (int k = 0; k < K; k++)
            F_put(g, d, k,
                  0.1 * noise(9, d * K + k) + (d % K == k) * (1 + 0.3 * noise(8, d)) +
                      0.4 * (k == 0)); /* a general factor: those of the groups correlate */
    return g;
}

/* D x K loadings of coordinates in their standard deviations, under a rotation. */
static real *standardised(const fab_gauss *g, fab_rotation_kind kind)
{
    fab_rotation *r;
    assert_ok(fab_rotation_create(&r, g, kind, 1));
    real *L = reals(rotated(r, g), D * K);
    fab_rotation_free(r);
    return L;
}

static void promax_regresses_powers_on_varimax(void **state)
{
    (void)state;
    fab_gauss *g = groups();
    const real *L = standardised(g, FAB_ROTATION_VARIMAX),
               *P = standardised(g, FAB_ROTATION_PROMAX);
    real *Q = dense_new(D * K);
    for (int i = 0; i < D * K; i++) Q[i] = L[i] * r_abs(L[i]) * L[i] * L[i];
    const real *T = dense_transpose(D, K, L);
    real *U =
        dense_mul(K, K, K, dense_inverse(K, dense_mul(K, D, K, T, L)), dense_mul(K, D, K, T, Q));
    const real *V = dense_inverse(K, dense_mul(K, K, K, dense_transpose(K, K, U), U));
    for (int i = 0; i < K * K; i++) U[i] *= r_sqrt(V[i % K * K + i % K]);
    const real *want = dense_mul(D, K, K, L, U);
    for (int k = 0; k < K; k++) { /* columns in any order, of any sign */
        real best = 1;
        for (int j = 0; j < K; j++)
            for (int sign = -1; sign <= 1; sign += 2) {
                real gap = 0;
                for (int d = 0; d < D; d++)
                    gap = r_max(gap, r_abs(sign * want[d * K + j] - P[d * K + k]));
                if (gap < best) best = gap;
            }
        assert_near(best, 0, 1e-11);
    }
    fab_gauss_free(g);
}

/* sum over pairs of columns of the products of their squares */
static real oblimin_of(const real *A)
{
    real f = 0;
    for (int d = 0; d < D; d++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < k; j++)
                f += A[d * K + k] * A[d * K + k] * A[d * K + j] * A[d * K + j];
    return f;
}

static void oblimin_is_at_a_minimum(void **state)
{
    (void)state;
    fab_gauss *g = groups();
    const real *A = standardised(g, FAB_ROTATION_OBLIMIN), f = oblimin_of(A);
    fab_rotation *r;
    assert_ok(fab_rotation_create(&r, g, FAB_ROTATION_OBLIMIN, 1));
    assert_true(fabs(r->phi[1]) > 0.2); /* the factors do correlate */
    assert_true((double)f < 0.5 * (double)oblimin_of(standardised(g, FAB_ROTATION_VARIMAX)));
    for (int trial = 0; trial < 50;
         trial++) { /* T of length 1 with T' T = phi, a little elsewhere */
        real *X = dense_identity(K), *T = dense_root(K, reals(r->phi, K * K));
        for (int i = 0; i < K * K; i++) X[i] = T[i] + 1e-4 * noise(77, trial * K * K + i);
        for (int k = 0; k < K; k++) {
            real length = 0;
            for (int i = 0; i < K; i++) length += X[i * K + k] * X[i * K + k];
            for (int i = 0; i < K; i++) X[i * K + k] /= r_sqrt(length);
        }
        /* A T' X'^-1, X'^-1 = (X X')^-1 X */
        const real *XX = dense_mul(K, K, K, X, dense_transpose(K, K, X));
        const real *M = dense_mul(K, K, K, dense_transpose(K, K, T),
                                  dense_mul(K, K, K, dense_inverse(K, XX), X));
        assert_true(oblimin_of(dense_mul(D, K, K, A, M)) > f);
    }
    fab_rotation_free(r);
    fab_gauss_free(g);
}

static void standardised_loadings_see_no_units(void **state)
{
    (void)state;
    for (int kind = FAB_ROTATION_PRINCIPAL; kind <= FAB_ROTATION_OBLIMIN; kind++) {
        fab_gauss *g = groups();
        const real *before = standardised(g, (fab_rotation_kind)kind);
        for (int d = 0; d < D; d++) { /* metres, miles */
            const double unit = exp(3 * noise(5, d));
            for (int k = 0; k < K; k++) F_put(g, d, k, unit * ((const double *)g->F)[d * K + k]);
            g->psi[d] *= unit * unit;
        }
        assert_true(relative_gap(D * K, standardised(g, (fab_rotation_kind)kind), before) < 1e-7);
        fab_gauss_free(g);
    }
}

static void rotations_have_names(void **state)
{
    (void)state;
    assert_string_equal(fab_rotation_name(FAB_ROTATION_PRINCIPAL), "principal");
    assert_string_equal(fab_rotation_name(FAB_ROTATION_VARIMAX), "varimax");
    assert_null(fab_rotation_name((fab_rotation_kind)4));
    fab_rotation_kind kind;
    assert_ok(fab_rotation_find("oblimin", &kind));
    assert_int_equal(kind, FAB_ROTATION_OBLIMIN);
    assert_refused(fab_rotation_find("quartimax", &kind), FAB_BAD_ARGUMENT, "varimax, promax");
}

/* ---- scores ----------------------------------------------------------------------------------------- */

static void scores_are_the_mean_of_the_factors_given_the_row(void **state)
{
    (void)state;
    enum { N = 7 };
    for (int type = FAB_F64; type <= FAB_F32; type++)
        for (int turned = 0; turned < 2; turned++) {
            fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, (fab_dtype)type, D, K, 3, 1);
            fab_rotation *r;
            fab_solver *s;
            const double *x = fa_draws(g, N, 4);
            double z[N * K];
            const fab_rows rows = rows_of(x, 0, N, D);
            assert_ok(fab_rotation_create(&r, g, FAB_ROTATION_VARIMAX, 0));
            assert_ok(fab_solver_create(&s, g, NULL));
            assert_ok(fab_solver_scores(s, turned ? r : NULL, &rows, z));
            const real *F = turned ? reals(rotated(r, g), D * K) : dense_F(g);
            const real *A = dense_mul(K, D, D, dense_transpose(D, K, F), dense_precision(g));
            for (int j = 0; j < N; j++)
                for (int k = 0; k < K; k++) {
                    real want = 0; /* F' S^-1 (x - mu) */
                    for (int d = 0; d < D; d++) want += A[k * D + d] * (x[j * D + d] - g->mu[d]);
                    assert_near(z[j * K + k], want, type == FAB_F32 ? 1e-4 : 1e-11);
                }
            fab_solver_free(s);
            fab_rotation_free(r);
            fab_gauss_free(g);
        }
}

/* ---- the number of factors -------------------------------------------------------------------------- */

/* S with three factors that count and three that do not. */
static fab_gauss *wide_gauss(void)
{
    fab_gauss *S = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 6, 17, 1);
    for (int d = 0; d < D; d++)
        for (int k = 3; k < 6; k++) F_put(S, d, k, 0.02 * F_at(S, d, k));
    return S;
}

static void bic_is_its_formula(void **state)
{
    (void)state;
    const double n = 2385;
    fab_gauss *S = wide_gauss();
    const real *dense = dense_covariance(S);
    fab_bic *b;
    assert_ok(fab_bic_create(&b, D, n, 6, 0));
    assert_ok(fab_bic_cuts(b, S, NULL));
    assert_true(b->n > 4);
    for (int64_t k = 0; k < b->n; k++) {
        real *Q = dense_new(D * D);
        if (k == 0) {
            for (int d = 0; d < D; d++) Q[d * D + d] = dense[d * D + d];
        } else {
            fab_gauss *q;
            assert_ok(fab_gauss_cut(&q, S, k, 1e-5, 1000, NULL));
            memcpy(Q, dense_covariance(q), sizeof(real) * D * D);
            fab_gauss_free(q);
        }
        const real l = dense_loglik(D, Q, dense);
        const real p = D * k - k * (k - 1) / 2 + 2 * D;
        assert_int_equal(b->all[k].k, k);
        assert_near(b->all[k].loglik_mean, l, 1e-10);
        assert_near(b->all[k].bic, -2 * n * l + p * r_log(n), 1e-10 * 2 * n);
        if (k > 0) assert_true(b->all[b->chosen].bic <= b->all[k].bic);
    }
    assert_int_equal(b->chosen, 3);
    fab_bic_free(b);
    fab_gauss_free(S);
    const double variance[] = {0.5, 2, 3.5}; /* one psi: their mean */
    assert_ok(fab_bic_create(&b, 3, n, 2, 1));
    assert_true(fab_bic_add_diagonal(b, variance));
    const double l = -1.5 * (log(2 * 3.14159265358979323846) + 1 + log(2));
    assert_near(b->all[0].loglik_mean, l, 1e-14);
    assert_near(b->all[0].bic, -2 * n * l + 4 * log(n), 1e-10);
    fab_bic_free(b);
}

static void a_search_ends_after_five_rises_or_at_its_end(void **state)
{
    (void)state;
    fab_bic *b;
    assert_ok(fab_bic_create(&b, D, 100, 20, 1));
    assert_true(fab_bic_add(b, -40)); /* k = 0 */
    assert_near(b->all[0].bic, 8000 + (D + 1) * r_log(100), 1e-9);
    assert_true(fab_bic_add(b, -30));
    for (int k = 2; k < 6; k++) assert_true(fab_bic_add(b, -30));
    assert_false(fab_bic_add(b, -30)); /* the fifth rise */
    assert_int_equal(b->chosen, 1);
    fab_bic_free(b);
    assert_ok(fab_bic_create(&b, D, 100, 2, 0));
    assert_true(fab_bic_add(b, -40));
    assert_true(fab_bic_add(b, -30));
    assert_false(fab_bic_add(b, -10));
    assert_false(fab_bic_add(b, -1)); /* there is no such candidate */
    assert_int_equal(b->n, 3);
    assert_int_equal(b->chosen, 2);
    fab_bic_free(b);
}

/* ---- a table ---------------------------------------------------------------------------------------- */

enum { ROWS = 900 };

/* Rows as csv with names; column 2 is constant.  Lives until the test ends. */
static char *rows_csv(int64_t first, int64_t n, const char *second)
{
    const double *x = fa_rows(5, 2, ROWS, 12);
    char *text = dense_bytes((size_t)(n + 1) * 5 * 32), *end = text;
    end += sprintf(end, "a,%s,c,d,e\n", second);
    for (int64_t j = first; j < first + n; j++)
        for (int d = 0; d < 5; d++)
            end += sprintf(end, "%.17g%c", d == 2 ? 7.25 : x[j * 5 + d], d == 4 ? '\n' : ',');
    return text;
}

static fab_source *rows_source(const char *csv)
{
    fab_source *s;
    assert_ok(fab_source_open_memory(&s, "rows.csv", csv, strlen(csv), NULL, 1 << 16));
    return s;
}

static const char *put_rows(const char *name, int64_t first, int64_t n)
{
    const char *csv = rows_csv(first, n, "b");
    put_bytes(in_folder(name), csv, strlen(csv));
    return in_folder(name);
}

static void save_fit(const fab_factors_plan *plan, const char *data, const char *file)
{
    fab_factors *f;
    fab_source *s;
    fab_factors_plan p = *plan;
    assert_ok(fab_source_open(&s, data, NULL));
    p.source = s;
    assert_ok(fab_factors_create(&f, &p, NULL));
    assert_ok(fab_factors_read(f));
    assert_ok(fab_factors_save(f, file));
    fab_factors_free(f);
    fab_source_close(s);
}

static void assert_same_files(const char *a, const char *b)
{
    size_t n, m;
    char *x = get_bytes(a, &n), *y = get_bytes(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

static void command_line(const char *arguments)
{
    char line[2048];
    const char *program = getenv("FABAYES");
    if (!program) {
        print_message("FABAYES, the program, is not in the environment\n");
        skip();
    }
    snprintf(line, sizeof line, "cd %s && '%s' %s --quiet", folder, program, arguments);
    assert_int_equal(system(line), 0);
}

static void a_fit_has_the_bytes_of_the_command_line(void **state)
{
    (void)state;
    const struct {
        const char *method, *arguments;
        int64_t K;
    } all[] = {{NULL, "fa x.csv -k 2 -o cli", 2},
               {"ml", "fa x.csv -k 2 -m ml -o cli", 2},
               {"online-em", "fa x.csv -k 1 -m online-em -o cli", 1},
               {NULL, "fa x.csv -k auto -o cli", FAB_AUTO_I64},
               {"em", "fa x.csv -k auto -m em -o cli", FAB_AUTO_I64}};
    put_rows("x.csv", 0, ROWS);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const fab_factors_plan plan = {.method = all[i].method, .K = all[i].K};
        command_line(all[i].arguments);
        save_fit(&plan, in_folder("x.csv"), in_folder("library"));
        assert_same_files(in_folder("cli"), in_folder("library"));
    }
}

static void a_checkpoint_resumes_and_a_file_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    const fab_factors_plan plan = {.K = 2};
    fab_factors_plan p = plan;
    fab_factors *f;
    fab_fa_report r;
    char saved[600];
    put_rows("x.csv", 0, ROWS);
    put_rows("first.csv", 0, 400);
    put_rows("rest.csv", 400, ROWS - 400);
    save_fit(&plan, in_folder("x.csv"), in_folder("whole"));

    snprintf(saved, sizeof saved, "%s", in_folder("part"));
    assert_ok(fab_source_open(&p.source, in_folder("first.csv"), NULL));
    p.output = saved;
    p.checkpoint = 300;
    assert_ok(fab_factors_create(&f, &p, NULL));
    assert_ok(fab_factors_read(f)); /* and is then killed: 300 of 400 rows are in the file */
    fab_factors_free(f);
    fab_source_close(p.source);
    assert_ok(fab_source_open(&p.source, in_folder("x.csv"), NULL));
    assert_ok(fab_factors_resume(&f, &p, saved, NULL));
    assert_ok(fab_factors_read(f));
    assert_ok(fab_factors_report(f, &r));
    assert_int_equal(r.before, 300);
    assert_int_equal(r.n, ROWS);
    assert_ok(fab_factors_save(f, in_folder("resumed")));
    fab_factors_free(f);
    fab_source_close(p.source);
    assert_same_files(in_folder("resumed"), in_folder("whole"));

    save_fit(&plan, in_folder("first.csv"), saved);
    fab_factors_plan more = {0};
    assert_ok(fab_source_open(&more.source, in_folder("rest.csv"), NULL));
    assert_ok(fab_factors_load(&f, &more, saved, NULL));
    assert_ok(fab_factors_read(f));
    assert_ok(fab_factors_save(f, in_folder("loaded")));
    fab_factors_free(f);
    fab_source_close(more.source);
    assert_same_files(in_folder("loaded"), in_folder("whole"));
}

static void rows_in_memory_are_fitted_as_those_of_a_source(void **state)
{
    (void)state;
    static const char *const methods[] = {"recursive-em", "ml"};
    const double *x = fa_rows(5, 2, ROWS, 12);
    for (int m = 0; m < 2; m++)
        for (int by_bic = 0; by_bic < 2; by_bic++) {
            const fab_factors_plan plan = {.D = 5,
                                           .method = methods[m],
                                           .K = by_bic ? FAB_AUTO_I64 : 2,
                                           .max_factors = 3 * by_bic};
            fab_factors *f;
            const fab_gauss *q;
            const fab_rows rows = rows_of(x, 0, ROWS, 5);
            assert_ok(fab_factors_create(&f, &plan, NULL));
            assert_ok(fab_factors_update(f, &rows, NULL));
            assert_ok(fab_factors_result(f, &q));
            if (by_bic) assert_int_equal(fab_factors_search(f)->chosen, q->K);
            fab_gauss *want =
                fa_fit(methods[m], q->K, by_bic && m == 0 ? "inner_rank=5" : "", NULL, &rows, NULL);
            assert_same_bits(q, want);
            fab_gauss_free(want);
            fab_factors_free(f);
        }
}

/* ---- weights and sparse rows -------------------------------------------------------------------------- */

static double weight_of(int64_t j)
{
    return 0.5 + (double)(j % 4);
}

/* Rows of 5 numbers with their weights as column 2. */
static char *weighted_csv(int64_t n)
{
    const double *x = fa_rows(5, 2, n, 12);
    char *text = dense_bytes((size_t)n * 200 + 64);
    size_t at = (size_t)sprintf(text, "a,b,w,c,d,e\n");
    for (int64_t j = 0; j < n; j++)
        for (int d = 0; d < 5; d++) {
            if (d == 2) at += (size_t)sprintf(text + at, "%.17g,", weight_of(j));
            at += (size_t)sprintf(text + at, "%.17g%c", x[j * 5 + d], d == 4 ? '\n' : ',');
        }
    return text;
}

static void weights_of_a_column_are_those_beside_rows(void **state)
{
    (void)state;
    static const char *const methods[] = {"recursive-em", "online-em", "ml", "pca"};
    double *w = doubles(ROWS);
    for (int64_t j = 0; j < ROWS; j++) w[j] = weight_of(j);
    const fab_rows rows = rows_of(fa_rows(5, 2, ROWS, 12), 0, ROWS, 5);
    for (int m = 0; m < 4; m++)
        for (int by_bic = 0; by_bic < 2; by_bic++) {
            if (by_bic && (m == 1 || m == 3)) continue; /* they learn one rank */
            fab_source *s = rows_source(weighted_csv(ROWS)),
                       *again = rows_source(weighted_csv(ROWS));
            fab_factors_plan plan = {.method = methods[m], .K = by_bic ? FAB_AUTO_I64 : 2, .D = 5};
            fab_factors *f, *g;
            const fab_gauss *p, *q;
            assert_ok(fab_factors_create(&g, &plan, NULL));
            assert_ok(fab_factors_update(g, &rows, w));
            plan.source = s;
            plan.weight = "w";
            assert_ok(fab_factors_create(&f, &plan, NULL));
            assert_ok(fab_factors_read(f));
            assert_ok(fab_factors_result(f, &p));
            assert_ok(fab_factors_result(g, &q));
            assert_same_bits(p, q);
            assert_int_equal(p->D, 5);
            assert_string_equal(fab_factors_name(f, 1), "b");
            assert_string_equal(fab_factors_name(f, 2), "c");
            double *z = doubles(fab_factors_piece(f) * p->K), want[5 * ROWS];
            int64_t got;
            fab_solver *solver;
            assert_ok(fab_factors_scores(f, NULL, again, z, &got)); /* without the weights */
            assert_ok(fab_solver_create(&solver, p, NULL));
            assert_ok(fab_solver_scores(solver, NULL, &rows, want));
            assert_memory_equal(z, want, (size_t)(ROWS * p->K) * sizeof *want);
            fab_solver_free(solver);
            fab_factors_free(f);
            fab_factors_free(g);
            fab_source_close(s);
            fab_source_close(again);
        }
}

/* weighted_csv with absent rows in front, among and behind them. */
static char *with_absent(int64_t n)
{
    char *text = weighted_csv(n), *more = dense_bytes(strlen(text) + (size_t)n * 40), *to = more;
    int64_t line = 0;
    for (char *p = text, *end; *p; p = end, line++) {
        end = strchr(p, '\n') + 1;
        memcpy(to, p, (size_t)(end - p));
        to += end - p;
        if (line % 7 == 0) to += sprintf(to, "1e9,7,0,%d,-3,2\n", (int)line);
    }
    *to = '\0';
    return more;
}

static void rows_of_weight_0_are_absent(void **state)
{
    (void)state;
    static const char *const methods[] = {"recursive-em", "online-ml", "ml", "pca"};
    for (int m = 0; m < 4; m++)
        for (int by_bic = 0; by_bic < 2; by_bic++) {
            if (by_bic && m == 3) continue; /* it learns one rank */
            fab_source *s[2] = {rows_source(weighted_csv(ROWS)), rows_source(with_absent(ROWS))};
            fab_factors_plan plan = {
                .method = methods[m], .K = by_bic ? FAB_AUTO_I64 : 2, .weight = "w"};
            fab_factors *f[2];
            const fab_gauss *q[2];
            fab_fa_report r;
            for (int k = 0; k < 2; k++) {
                plan.source = s[k];
                assert_ok(fab_factors_create(&f[k], &plan, NULL));
                assert_ok(fab_factors_read(f[k]));
                assert_ok(fab_factors_result(f[k], &q[k]));
                assert_ok(fab_factors_report(f[k], &r));
                assert_int_equal(r.n, ROWS);
                assert_int_equal(r.dropped, 0);
            }
            assert_same_bits(q[0], q[1]);
            for (int k = 0; k < 2; k++) {
                fab_factors_free(f[k]);
                fab_source_close(s[k]);
            }
        }
    fab_source *svm = rows_source("0 1:2 3:1\n0 2:1\n"),
               *some = rows_source("1 1:2 3:1\n0 1:7\n2 2:1\n1 1:1 2:2\n0 4:1\n3 3:1\n"),
               *left = rows_source("1 1:2 3:1\n2 2:1\n1 1:1 2:2\n3 3:1 4:0\n");
    for (int m = 0; m < 3; m++) {
        fab_source *again = rows_source("a,b,w\n1,2,0\n3,5,0\n2,2,0\n");
        fab_factors *f;
        const fab_factors_plan plan = {
            .source = again, .K = 1, .method = methods[m], .weight = "w"};
        assert_ok(fab_factors_create(&f, &plan, NULL));
        assert_refused(fab_factors_read(f), FAB_BAD_DATA,
                       "rows.csv: every weight is zero: none of the 3");
        fab_factors_free(f);
        fab_source_close(again);
    }
    fab_source *const sparse[] = {some, left};
    const fab_gauss *q[2];
    fab_factors *f[2], *bad;
    for (int k = 0; k < 2; k++) {
        const fab_factors_plan plan = {
            .source = sparse[k], .K = 1, .method = "pca", .weight = "label"};
        assert_ok(fab_factors_create(&f[k], &plan, NULL));
        assert_ok(fab_factors_read(f[k]));
        assert_ok(fab_factors_result(f[k], &q[k]));
    }
    assert_same_bits(q[0], q[1]);
    const fab_factors_plan plan = {.source = svm, .K = 1, .method = "ml", .weight = "label"};
    assert_ok(fab_factors_create(&bad, &plan, NULL));
    assert_refused(fab_factors_read(bad), FAB_BAD_DATA, "every weight is zero");
    fab_factors_free(bad);
    for (int k = 0; k < 2; k++) {
        fab_factors_free(f[k]);
        fab_source_close(sparse[k]);
    }
    fab_source_close(svm);
}

/* In memory, and of a run that is resumed: its file knows how many rows it has passed over. */
static void absent_rows_of_a_stream_are_passed_over(void **state)
{
    (void)state;
    fab_source *whole = rows_source(with_absent(ROWS)), *again = rows_source(with_absent(ROWS));
    fab_factors *f, *g;
    const fab_gauss *p, *q;
    fab_factors_plan plan = {
        .source = whole, .K = 2, .weight = "w", .checkpoint = 20, .output = in_folder("run")};
    assert_ok(fab_factors_create(&f, &plan, NULL));
    assert_ok(fab_factors_read(f)); /* the file of its last checkpoint is left behind */
    plan.source = again;
    assert_ok(fab_factors_resume(&g, &plan, in_folder("run"), NULL));
    assert_ok(fab_factors_read(g));
    assert_ok(fab_factors_result(f, &p));
    assert_ok(fab_factors_result(g, &q));
    assert_same_bits(p, q);
    double *x = fa_rows(5, 2, ROWS, 12), *w = doubles(ROWS);
    for (int64_t j = 0; j < ROWS; j++) w[j] = weight_of(j);
    static const char *const methods[] = {"recursive-em", "ml"};
    for (int m = 0; m < 2; m++) {
        fab_gauss *found[2];
        for (int k = 0; k < 2; k++) {
            double *y = doubles(2 * ROWS * 5), *v = doubles(2 * ROWS);
            int64_t n = 0;
            for (int64_t j = 0; j < ROWS; j++) {
                if (k && j % 3 == 0) y[5 * n + 1] = 1e9, v[n++] = 0;
                memcpy(y + 5 * n, x + 5 * j, 5 * sizeof *x);
                v[n++] = w[j];
            }
            const fab_rows rows = rows_of(y, 0, n, 5);
            const fab_gauss *r;
            fab_factors *e;
            assert_ok(fab_factors_create(
                &e, &(fab_factors_plan){.D = 5, .K = 2, .method = methods[m]}, NULL));
            v[n - 1] = -1;
            assert_refused(fab_factors_update(e, &rows, v), FAB_BAD_DATA, "has weight -1");
            v[n - 1] = w[ROWS - 1];
            if (m == 1) { /* a batch method that failed is made anew */
                fab_factors_free(e);
                assert_ok(fab_factors_create(
                    &e, &(fab_factors_plan){.D = 5, .K = 2, .method = methods[m]}, NULL));
            }
            assert_ok(fab_factors_update(e, &rows, v));
            assert_ok(fab_factors_result(e, &r));
            assert_ok(fab_gauss_copy(&found[k], r, r->type));
            fab_factors_free(e);
        }
        assert_same_bits(found[0], found[1]);
        fab_gauss_free(found[0]);
        fab_gauss_free(found[1]);
    }
    fab_factors_free(f);
    fab_factors_free(g);
    fab_source_close(whole);
    fab_source_close(again);
}

static void a_weighted_stream_goes_on_with_its_weights(void **state)
{
    (void)state;
    char half[600], whole[600];
    snprintf(half, sizeof half, "%s", in_folder("half"));
    snprintf(whole, sizeof whole, "%s", in_folder("whole"));
    char *text = weighted_csv(ROWS), *rest = dense_bytes(strlen(text) + 64), *cut = text;
    for (int line = 0; line <= ROWS / 2; line++) cut = strchr(cut, '\n') + 1;
    sprintf(rest, "a,b,w,c,d,e\n%s", cut);
    fab_source *all = rows_source(text), *second = rows_source(rest),
               *without = rows_source(rows_csv(0, 9, "b"));
    fab_factors *f;
    fab_factors_plan plan = {.source = all, .K = 2, .weight = "w"};
    assert_ok(fab_factors_create(&f, &plan, NULL));
    assert_ok(fab_factors_read(f));
    assert_ok(fab_factors_save(f, whole));
    fab_factors_free(f);
    *cut = '\0';
    fab_source *first = rows_source(text);
    plan.source = first;
    assert_ok(fab_factors_create(&f, &plan, NULL));
    assert_ok(fab_factors_read(f));
    assert_ok(fab_factors_save(f, half));
    fab_factors_free(f);
    plan = (fab_factors_plan){.source = without};
    assert_refused(fab_factors_load(&f, &plan, half, NULL), FAB_BAD_ARGUMENT, "no column 'w'");
    plan = (fab_factors_plan){.source = second, .K = 2};
    assert_refused(fab_factors_resume(&f, &plan, half, NULL), FAB_BAD_FILE,
                   "weights in column 'w'");
    assert_ok(fab_factors_load(&f, &plan, half, NULL)); /* the file knows the column */
    assert_ok(fab_factors_read(f));
    assert_ok(fab_factors_save(f, half));
    fab_factors_free(f);
    assert_same_files(half, whole);
    fab_source_close(all);
    fab_source_close(first);
    fab_source_close(second);
    fab_source_close(without);
}

static void packed_bytes_are_the_file_and_go_on(void **state)
{
    (void)state;
    fab_factors *f, *g;
    void *half, *one, *two;
    size_t halves, ones, twos;
    double x[ROWS][5];
    for (int i = 0; i < ROWS; i++)
        for (int d = 0; d < 5; d++) x[i][d] = sin(1.3 * i + d * d) + 0.1 * (i % (d + 3));
    const fab_rows first = {.p = x, .n = ROWS / 2, .ld = 5},
                   second = {.p = x[ROWS / 2], .n = ROWS - ROWS / 2, .ld = 5};
    const fab_factors_plan plan = {.D = 5, .K = 2};
    assert_ok(fab_factors_create(&f, &plan, NULL));
    assert_ok(fab_factors_update(f, &first, NULL));
    assert_ok(fab_factors_pack(f, &half, &halves));
    assert_ok(fab_factors_save(f, in_folder("half")));
    size_t n;
    char *file = get_bytes(in_folder("half"), &n);
    assert_int_equal(n, halves);
    assert_memory_equal(file, half, n);
    free(file);
    assert_ok(fab_factors_parse(&g, &(fab_factors_plan){0}, "memory", half, halves, NULL));
    assert_ok(fab_factors_update(f, &second, NULL));
    assert_ok(fab_factors_update(g, &second, NULL));
    assert_ok(fab_factors_pack(f, &one, &ones));
    assert_ok(fab_factors_pack(g, &two, &twos));
    assert_int_equal(ones, twos);
    assert_memory_equal(one, two, ones);
    fab_factors_free(g);
    assert_refused(fab_factors_parse(&g, &(fab_factors_plan){0}, "memory", half, 7, NULL),
                   FAB_BAD_FILE, "memory");
    assert_null(g);
    fab_bytes_free(half);
    fab_bytes_free(one);
    fab_bytes_free(two);
    fab_factors_free(f);
}

/* Rows that were taken back were never there: not in the Gaussian, the scores or the number of factors, after few rows or many,
 * for any stream. */
static void a_stream_goes_back_to_the_state_that_was_kept(void **state)
{
    (void)state;
    static const char *const methods[] = {"online-ml",     "recursive-em", "online-em",
                                          "stochastic-em", "online-sga",   "swag"};
    enum { N = 90 };
    double x[N][5];
    for (int i = 0; i < N; i++)
        for (int d = 0; d < 5; d++) x[i][d] = sin(1.3 * i + d * d) + 0.1 * (i % (d + 3));
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (int n = 1; n < N - 20; n += 17) {
            const fab_rows first = {.p = x, .n = n, .ld = 5}, wrong = {.p = x[2], .n = 31, .ld = 5},
                           rest = {.p = x[n], .n = N - n, .ld = 5};
            const int chooses = strcmp(methods[m], "recursive-em") == 0;
            const fab_factors_plan plan = {
                .D = 5, .method = methods[m], .K = chooses ? FAB_AUTO_I64 : 2};
            fab_factors *f, *g;
            void *one, *two;
            size_t ones, twos;
            assert_ok(fab_factors_create(&f, &plan, NULL));
            assert_ok(fab_factors_create(&g, &plan, NULL));
            assert_ok(fab_factors_update(f, &first, NULL));
            assert_ok(fab_factors_update(g, &first, NULL));
            for (int again = 0; again < 2; again++) {
                assert_ok(fab_factors_keep(g));
                assert_ok(fab_factors_update(g, &wrong, NULL));
                assert_ok(fab_factors_back(g));
                assert_refused(fab_factors_back(g), FAB_BAD_ARGUMENT, "no state was kept");
            }
            assert_ok(fab_factors_update(f, &rest, NULL));
            assert_ok(fab_factors_update(g, &rest, NULL));
            assert_ok(fab_factors_pack(f, &one, &ones));
            assert_ok(fab_factors_pack(g, &two, &twos));
            assert_int_equal(ones, twos);
            assert_memory_equal(one, two, ones);
            fab_bytes_free(one);
            fab_bytes_free(two);
            fab_factors_free(f);
            fab_factors_free(g);
        }
    fab_factors *f;
    assert_ok(fab_factors_create(&f, &(fab_factors_plan){.D = 5, .method = "ppca", .K = 2}, NULL));
    assert_refused(fab_factors_keep(f), FAB_UNSUPPORTED, "batch method");
    fab_factors_free(f);
}

static void a_failure_of_rows_in_memory_speaks_of_arrays(void **state)
{
    (void)state;
    const double same[4][2] = {{1, 2}, {1, 2}, {1, 2}, {1, 2}};
    const double gap[4][2] = {{1, 2}, {NAN, 5}, {2, 2}, {0, 1}};
    const fab_arrays constant = {.n = 4, .x = same, .D = 2}, missing = {.n = 4, .x = gap, .D = 2};
    fab_source *s;
    fab_factors *f;
    const fab_gauss *q;
    assert_ok(fab_source_open_arrays(&s, &missing, &(fab_source_options){.missing = 1}));
    assert_ok(
        fab_factors_create(&f, &(fab_factors_plan){.source = s, .K = 1, .method = "ml"}, NULL));
    assert_refused(fab_factors_read(f), FAB_BAD_DATA, "arrays: ml: row 1");
    fab_factors_free(f);
    fab_source_close(s);
    assert_ok(fab_source_open_arrays(&s, &constant, NULL));
    const fab_factors_plan plan = {.source = s, .K = 1, .method = "online-ml"};
    assert_ok(fab_factors_create(&f, &plan, NULL));
    assert_refused(fab_factors_result(f, &q), FAB_BAD_DATA, "arrays: 0 rows for K = 1");
    fab_factors_free(f);
    fab_source_close(s);
}

static void weights_that_cannot_be_are_refused(void **state)
{
    (void)state;
    fab_factors *f;
    fab_source *s = rows_source("a,b,w\n1,2,1\n3,5,2\n2,2,-1\n0,1,1\n"),
               *svm = rows_source("1 1:2 3:1\n2 2:1\n0.5 1:1 2:2\n");
    const char *const methods[] = {"recursive-em", "ml"};
    for (int m = 0; m < 2; m++) {
        fab_source *own = rows_source("a,b,w\n1,2,1\n3,5,2\n2,2,-1\n0,1,1\n");
        const fab_factors_plan plan = {.source = own, .K = 1, .method = methods[m], .weight = "w"};
        assert_ok(fab_factors_create(&f, &plan, NULL));
        assert_refused(fab_factors_read(f), FAB_BAD_DATA, "row 2 has weight -1 in column 'w'");
        fab_factors_free(f);
        fab_source_close(own);
    }
    const fab_factors_plan none = {.source = s, .K = 1, .weight = "v"},
                           no_weights = {.source = s,
                                         .K = 1,
                                         .method = "online-sga",
                                         .weight = "w"},
                           feature = {.source = svm, .K = 1, .weight = "x2"},
                           memory = {.D = 3, .K = 1, .weight = "w"};
    assert_refused(fab_factors_create(&f, &none, NULL), FAB_BAD_ARGUMENT, "no column 'v'");
    assert_refused(fab_factors_create(&f, &no_weights, NULL), FAB_BAD_ARGUMENT,
                   "rows have no weights in this method; online-ml");
    assert_refused(fab_factors_create(&f, &feature, NULL), FAB_BAD_ARGUMENT, "only its label can");
    assert_refused(fab_factors_create(&f, &memory, NULL), FAB_BAD_ARGUMENT, "of no source");
    any_settings forget = settings_of("recursive-em", 1, "forget=0.9");
    const fab_factors_plan bic = {.source = s,
                                  .method = "recursive-em",
                                  .K = FAB_AUTO_I64,
                                  .weight = "w",
                                  .settings = &forget,
                                  .size = fab_method_find("recursive-em")->fields->size};
    assert_refused(fab_factors_create(&f, &bic, NULL), FAB_UNSUPPORTED, "forget = 0.9 and weights");
    fab_source_close(s);
    fab_source_close(svm);
}

/* `n` rows of `wide` features, three of them stored, as a libsvm file; column 0 of every row is 1. */
static char *sparse_text(int64_t n, int64_t wide)
{
    char *text = dense_bytes((size_t)n * 120);
    size_t at = 0;
    for (int64_t j = 0; j < n; j++)
        at += (size_t)sprintf(text + at, "%g 1:1 %lld:%.17g %lld:%.17g\n", weight_of(j),
                              (long long)(2 + (j * 37) % (wide / 2)), noise(3, j),
                              (long long)(wide / 2 + 5 + (j * 61) % (wide / 2 - 7)), noise(4, j));
    return text;
}

static void the_rows_of_a_libsvm_file_stay_sparse(void **state)
{
    (void)state;
    enum { WIDE = 200000, FEW = 200 };
    static const char *const methods[] = {"recursive-em", "ppca"};
    for (int m = 0; m < 2; m++) { /* dense rows are 180 MB, and the work of ppca 200 */
        fab_source *s = rows_source(sparse_text(FEW, WIDE));
        const fab_factors_plan plan = {
            .source = s, .method = methods[m], .K = 1, .memory = 300e6, .weight = "label"};
        const any_settings small = settings_of("recursive-em", 1, "block=4 inner_rank=2");
        fab_factors_plan own = plan;
        fab_factors *f;
        const fab_gauss *q;
        const int64_t *constant;
        if (m == 0) {
            own.settings = &small;
            own.size = fab_method_find("recursive-em")->fields->size;
        }
        assert_ok(fab_factors_create(&f, &own, NULL));
        assert_ok(fab_factors_read(f));
        assert_ok(fab_factors_result(f, &q));
        double mean = 0, total = 0; /* of the second stored coordinate of row 0 */
        for (int64_t j = 0; j < FEW; j++) {
            if ((j * 37) % (WIDE / 2) == 0) mean += weight_of(j) * noise(3, j);
            total += weight_of(j);
        }
        assert_near(q->mu[1], mean / total, 1e-14);
        const int64_t constants = fab_factors_constants(f, &constant);
        assert_int_equal(constants,
                         q->D - 2 * FEW); /* the first column, and those without a value */
        assert_int_equal(constant[0], 0);
        assert_int_equal(constant[1], 2);
        fab_factors_free(f);
        fab_source_close(s);
    }
}

static void swag_of_the_rows_of_a_table_is_that_of_a_stream(void **state)
{
    (void)state;
    const fab_rows rows = rows_of(fa_rows(5, 2, ROWS, 12), 0, ROWS, 5);
    fab_swag_settings set = fab_swag_defaults();
    fab_factors *f;
    fab_fit *g;
    const fab_gauss *p, *q;
    set.K = 3;
    assert_ok(fab_factors_create(&f, &(fab_factors_plan){.D = 5, .method = "swag", .K = 3}, NULL));
    assert_ok(fab_factors_update(f, &rows, NULL));
    assert_ok(fab_factors_result(f, &p));
    assert_ok(fab_fit_create(&g, "swag", &set, sizeof set, &(fab_input){.vectors = 5}, NULL));
    assert_ok(fab_fit_update(g, &(fab_examples){.x = rows}));
    assert_ok(fab_fit_gauss(g, &q));
    assert_same_bits(p, q);
    fab_factors_free(f);
    fab_fit_free(g);
}

static void what_was_found_is_told(void **state)
{
    (void)state;
    fab_source *s = rows_source(rows_csv(0, ROWS, "b")),
               *again = rows_source(rows_csv(0, ROWS, "b"));
    fab_factors *f;
    const fab_gauss *q;
    const int64_t *constant, *floored;
    int64_t n = 0, got = 0;
    fab_fa_report r;
    assert_ok(
        fab_factors_create(&f, &(fab_factors_plan){.source = s, .method = "ml", .K = 2}, NULL));
    assert_ok(fab_factors_read(f));
    assert_ok(fab_factors_result(f, &q));
    assert_ok(fab_factors_report(f, &r));
    assert_int_equal(r.n, ROWS);
    assert_int_equal(r.before, 0);
    assert_int_equal(r.converged, 1);
    assert_int_equal(fab_factors_constants(f, &constant), 1);
    assert_int_equal(constant[0], 2);
    assert_string_equal(fab_factors_name(f, 2), "c");
    assert_ok(fab_factors_floored(f, &floored, &n));
    assert_int_equal(n, r.floored);
    assert_int_equal(floored[0], 2);
    assert_string_equal(fab_method_find("ml")->name, fab_factors_method(f)->name);
    assert_true(fab_factors_bytes(f) > ROWS * 5 * 8);
    assert_null(fab_factors_search(f));

    fab_solver *solver;
    double *z = doubles(fab_factors_piece(f) * 2), *x = doubles(ROWS * 5), want[2 * ROWS];
    assert_ok(fab_factors_scores(f, NULL, again, z, &got));
    assert_int_equal(got, ROWS);
    memcpy(x, fa_rows(5, 2, ROWS, 12), sizeof(double) * ROWS * 5);
    for (int j = 0; j < ROWS; j++) x[j * 5 + 2] = 7.25;
    const fab_rows rows = rows_of(x, 0, ROWS, 5);
    assert_ok(fab_solver_create(&solver, q, NULL));
    assert_ok(fab_solver_scores(solver, NULL, &rows, want));
    assert_memory_equal(z, want, sizeof want);
    assert_ok(fab_factors_scores(f, NULL, again, z, &got));
    assert_int_equal(got, 0);
    fab_solver_free(solver);
    fab_factors_free(f);
    fab_source_close(s);
    fab_source_close(again);
}

/* ---- refusals --------------------------------------------------------------------------------------- */

#define refuse_plan(status, words, ...)                                                         \
    do {                                                                                        \
        fab_factors *f_;                                                                        \
        assert_refused(fab_factors_create(&f_, &(fab_factors_plan){__VA_ARGS__}, NULL), status, \
                       words);                                                                  \
        assert_null(f_);                                                                        \
    } while (0)

static void a_plan_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    const any_settings s = settings_of("ml", 3, "");
    refuse_plan(FAB_BAD_ARGUMENT, "'mm' is not known", .D = 5, .K = 2, .method = "mm");
    refuse_plan(FAB_BAD_ARGUMENT, "fits a model", .D = 5, .K = 2, .method = "laplace");
    refuse_plan(FAB_BAD_ARGUMENT, "K = 0", .D = 5);
    refuse_plan(FAB_BAD_ARGUMENT, "K = 6 factors for D = 5", .D = 5, .K = 6);
    refuse_plan(FAB_BAD_ARGUMENT, "D = 0", .K = 2);
    refuse_plan(FAB_BAD_ARGUMENT, "pca has no psi", .D = 5, .K = FAB_AUTO_I64, .method = "pca");
    refuse_plan(FAB_BAD_ARGUMENT, "learns one rank", .D = 5, .K = FAB_AUTO_I64,
                .method = "online-em");
    refuse_plan(FAB_BAD_ARGUMENT, "max_factors = 6", .D = 5, .K = FAB_AUTO_I64, .max_factors = 6);
    refuse_plan(FAB_BAD_ARGUMENT, "checkpoint", .D = 5, .K = 2, .checkpoint = 10);
    refuse_plan(FAB_BAD_ARGUMENT, "bytes, expected", .D = 5, .method = "ml", .settings = &s,
                .size = sizeof s);
}

static void rows_that_do_not_do_are_refused(void **state)
{
    (void)state;
    static double x[3 * 5];
    const fab_rows rows = rows_of(x, 0, 2, 5);
    const fab_gauss *q;
    fab_factors *f;
    fab_source *s = rows_source(rows_csv(0, 2, "b"));
    for (int i = 0; i < 15; i++) x[i] = noise(1, i);
    assert_ok(fab_factors_create(&f, &(fab_factors_plan){.D = 5, .K = 2}, NULL));
    assert_refused(fab_factors_read(f), FAB_BAD_ARGUMENT, "no source");
    assert_ok(fab_factors_update(f, &rows, NULL));
    assert_refused(fab_factors_result(f, &q), FAB_BAD_DATA, "2 rows for K = 2");
    x[12] = NAN;
    const fab_rows bad = rows_of(x, 2, 1, 5);
    assert_refused(fab_factors_update(f, &bad, NULL), FAB_BAD_DATA, "column 2");
    const int64_t *constant; /* and nothing changed */
    assert_int_equal(fab_factors_constants(f, &constant), 0);
    fab_factors_free(f);

    fab_factors_plan small = {.source = s, .method = "ml", .K = 2, .memory = 30};
    assert_refused(fab_factors_create(&f, &small, NULL), FAB_NO_MEMORY, "a row of 5 columns");
    small.memory = 1000;
    assert_ok(fab_factors_create(&f, &small, NULL));
    assert_refused(fab_factors_read(f), FAB_NO_MEMORY, "rows.csv: ml needs more than");
    assert_non_null(strstr(fab_detail(), "and 1kB are allowed"));
    assert_true(fab_factors_bytes(f) > 1000);
    fab_factors_free(f);
    fab_source_close(s);
}

static void another_file_is_refused(void **state)
{
    (void)state;
    char file[600];
    const any_settings seven = settings_of("recursive-em", 2, "block=7");
    fab_source *s = rows_source(rows_csv(0, 300, "other"));
    fab_factors *f;
    snprintf(file, sizeof file, "%s", in_folder("q"));
    put_rows("x.csv", 0, 300);
    save_fit(&(fab_factors_plan){.K = 2}, in_folder("x.csv"), file);
    const fab_factors_plan names = {.source = s, .K = 2};
    const fab_factors_plan method = {.D = 5, .K = 2, .method = "online-em"};
    const fab_factors_plan rank = {.D = 5, .K = 3};
    const fab_factors_plan block = {.D = 5,
                                    .method = "recursive-em",
                                    .settings = &seven,
                                    .size = fab_method_find("recursive-em")->fields->size};
    const fab_factors_plan nameless = {.D = 5, .settings = &seven, .size = block.size};
    const fab_factors_plan wide = {.D = 6};
    assert_refused(fab_factors_load(&f, &names, file, NULL), FAB_BAD_DATA,
                   "column 1 is 'other', and 'b' in");
    assert_refused(fab_factors_resume(&f, &names, file, NULL), FAB_BAD_DATA, "column 1 is 'other'");
    assert_refused(fab_factors_resume(&f, &method, file, NULL), FAB_BAD_FILE,
                   "this call says online-em");
    assert_refused(fab_factors_resume(&f, &rank, file, NULL), FAB_BAD_FILE,
                   "K = 2, and this call says 3");
    assert_refused(fab_factors_resume(&f, &nameless, file, NULL), FAB_BAD_ARGUMENT,
                   "no word of the method");
    save_fit(&(fab_factors_plan){.K = 2, .method = "recursive-em"}, in_folder("x.csv"), file);
    assert_refused(fab_factors_resume(&f, &block, file, NULL), FAB_BAD_FILE, "this call says 7");
    assert_refused(fab_factors_load(&f, &wide, file, NULL), FAB_BAD_DATA, "D = 5 coordinates");
    assert_refused(fab_factors_load(&f, &wide, in_folder("none"), NULL), FAB_BAD_FILE, "none");
    assert_null(f);
    save_fit(&(fab_factors_plan){.K = 2, .method = "ml"}, in_folder("x.csv"), file);
    assert_refused(fab_factors_load(&f, &(fab_factors_plan){0}, file, NULL), FAB_UNSUPPORTED,
                   "batch method");
    fab_source_close(s);
}

static void factors_of_another_form_are_refused(void **state)
{
    (void)state;
    fab_gauss *P = some_gauss(FAB_FORM_PRECISION, FAB_F64, D, K, 1, 1);
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, K, 1, 1);
    fab_gauss *other = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, K - 1, 1, 1);
    fab_rotation *r;
    fab_solver *s, *sp;
    fab_bic *b;
    double z[K], x[D] = {0};
    const fab_rows rows = rows_of(x, 0, 1, D);
    assert_refused(fab_rotation_create(&r, P, FAB_ROTATION_VARIMAX, 0), FAB_BAD_ARGUMENT,
                   "precision");
    assert_refused(fab_rotation_create(&r, g, (fab_rotation_kind)9, 0), FAB_BAD_ARGUMENT,
                   "rotation 9");
    assert_ok(fab_rotation_create(&r, other, FAB_ROTATION_VARIMAX, 0));
    assert_ok(fab_solver_create(&s, g, NULL));
    assert_ok(fab_solver_create(&sp, P, NULL));
    assert_refused(fab_solver_scores(s, r, &rows, z), FAB_BAD_ARGUMENT, "29 x 3");
    assert_refused(fab_solver_scores(sp, NULL, &rows, z), FAB_BAD_ARGUMENT, "precision");
    x[3] = INFINITY;
    assert_refused(fab_solver_scores(s, NULL, &rows, z), FAB_BAD_DATA, "column 3");
    assert_refused(fab_bic_create(&b, D, NAN, 3, 0), FAB_BAD_ARGUMENT, "rows");
    assert_refused(fab_bic_create(&b, D, 100, D + 1, 0), FAB_BAD_ARGUMENT, "30 factors");
    assert_ok(fab_bic_create(&b, D, 100, K, 0));
    assert_refused(fab_bic_cuts(b, P, NULL), FAB_BAD_ARGUMENT, "precision");
    assert_ok(fab_bic_cuts(b, g, NULL));
    assert_refused(fab_bic_cuts(b, g, NULL), FAB_BAD_ARGUMENT, "candidates are there already");
    fab_bic_free(b);
    fab_solver_free(s);
    fab_solver_free(sp);
    fab_rotation_free(r);
    fab_gauss_free(P);
    fab_gauss_free(g);
    fab_gauss_free(other);
}

/* ---- memory ----------------------------------------------------------------------------------------- */

static const char *csv_now, *method_now, *load_now;
static int64_t K_now;

/* A fit with all that can be asked of it. */
static fab_status live(void)
{
    static double z[1 << 20];
    fab_source *s = NULL, *again = NULL;
    fab_factors *f = NULL;
    fab_rotation *r = NULL;
    const fab_gauss *q;
    int64_t got;
    fab_factors_plan p = {
        .method = method_now, .K = K_now, .max_factors = K_now == FAB_AUTO_I64 ? 2 : 0};
    const size_t n = strlen(csv_now);
    fab_status status = fab_source_open_memory(&s, "rows.csv", csv_now, n, NULL, 1 << 16);
    if (status == FAB_OK)
        status = fab_source_open_memory(&again, "rows.csv", csv_now, n, NULL, 1 << 16);
    p.source = s;
    if (status == FAB_OK)
        status = load_now ? fab_factors_load(&f, &p, load_now, NULL)
                          : fab_factors_create(&f, &p, NULL);
    if (status == FAB_OK) status = fab_factors_read(f);
    if (status == FAB_OK && load_now) status = fab_factors_save(f, in_folder("out")); /* slow */
    if (status == FAB_OK && fab_method_streams(fab_factors_method(f))) {
        status = fab_factors_keep(f);
        if (status == FAB_OK) status = fab_factors_back(f);
    }
    if (status == FAB_OK) status = fab_factors_result(f, &q);
    if (status == FAB_OK) status = fab_rotation_create(&r, q, FAB_ROTATION_VARIMAX, 0);
    if (status == FAB_OK) status = fab_factors_scores(f, r, again, z, &got);
    fab_rotation_free(r);
    fab_factors_free(f);
    fab_source_close(s);
    fab_source_close(again);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    char file[600];
    snprintf(file, sizeof file, "%s", in_folder("q"));
    put_rows("x.csv", 0, 60);
    save_fit(&(fab_factors_plan){.K = 2}, in_folder("x.csv"), file);
    csv_now = rows_csv(0, 60, "b");
    const struct {
        const char *method, *load;
        int64_t K;
    } all[] = {
        {NULL, NULL, 2}, {NULL, file, 2}, {NULL, NULL, FAB_AUTO_I64}, {"ppca", NULL, FAB_AUTO_I64}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        method_now = all[i].method;
        load_now = all[i].load;
        K_now = all[i].K;
        assert_true(fail_every_allocation(live) > 20);
    }
}

static void *no_memory(size_t bytes)
{
    (void)bytes;
    return NULL;
}

/* Names that nobody gave are made when first asked for: later than the fit there may be no memory for them. */
static void names_are_there_where_memory_runs_out_behind_the_fit(void **state)
{
    (void)state;
    static const char text[] = "0.3 -1.2\n2.385 0.1\n-0.7 0.4\n1.1 -0.2\n";
    fab_source *s;
    fab_factors *f;
    assert_ok(fab_source_open_memory(&s, "rows", text, strlen(text), NULL, 1 << 18));
    assert_ok(fab_factors_create(&f, &(fab_factors_plan){.source = s, .K = 1}, NULL));
    fab_set_allocator(no_memory, counted_release);
    const char *name = fab_factors_name(f, 1);
    fab_set_allocator(NULL, NULL);
    assert_string_equal(name, "x1");
    fab_factors_free(f);
    fab_source_close(s);
}

/* The rows are the caller's, and the search for the roots of psi has little of its own. */
static void memory_of_rows_with_holes_is_asked_for_before(void **state)
{
    (void)state;
    enum { N = 500 };
    double *x = fa_rows(D, K, N, 3);
    for (int64_t i = 0; i < N * D; i++)
        if (i % D > 0 && noise(5, i) > 0.8) x[i] = NAN;
    const fab_rows rows = rows_of(x, 0, N, D);
    fab_factors_plan plan = {.D = D, .K = K, .missing = FAB_FACTORS_EM};
    fab_factors *f;
    const fab_gauss *q;
    held_now = held_most = 0;
    fab_set_allocator(weigh, unweigh);
    assert_ok(fab_factors_create(&f, &plan, NULL));
    assert_ok(fab_factors_update(f, &rows, NULL));
    assert_ok(fab_factors_result(f, &q));
    const double said = fab_factors_bytes(f);
    fab_factors_free(f);
    fab_set_allocator(NULL, NULL);
    assert_true((double)held_most <= said);
    plan.memory = 0.9 * said;
    assert_ok(fab_factors_create(&f, &plan, NULL));
    assert_refused(fab_factors_update(f, &rows, NULL), FAB_NO_MEMORY, "em needs");
    fab_factors_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_rotation_keeps_the_covariance),
        TEST(promax_regresses_powers_on_varimax),
        TEST(oblimin_is_at_a_minimum),
        TEST(standardised_loadings_see_no_units),
        TEST(principal_axes_are_the_eigenvectors),
        TEST(varimax_is_that_of_the_matrix_form),
        TEST(rotations_have_names),
        TEST(scores_are_the_mean_of_the_factors_given_the_row),
        TEST(bic_is_its_formula),
        TEST(a_search_ends_after_five_rises_or_at_its_end),
        WITH_FOLDER(a_fit_has_the_bytes_of_the_command_line),
        WITH_FOLDER(a_checkpoint_resumes_and_a_file_goes_on_to_the_same_bytes),
        TEST(rows_in_memory_are_fitted_as_those_of_a_source),
        TEST(weights_of_a_column_are_those_beside_rows),
        TEST(rows_of_weight_0_are_absent),
        WITH_FOLDER(absent_rows_of_a_stream_are_passed_over),
        WITH_FOLDER(a_weighted_stream_goes_on_with_its_weights),
        WITH_FOLDER(packed_bytes_are_the_file_and_go_on),
        TEST(a_stream_goes_back_to_the_state_that_was_kept),
        TEST(a_failure_of_rows_in_memory_speaks_of_arrays),
        TEST(weights_that_cannot_be_are_refused),
        TEST(the_rows_of_a_libsvm_file_stay_sparse),
        TEST(swag_of_the_rows_of_a_table_is_that_of_a_stream),
        TEST(what_was_found_is_told),
        TEST(a_plan_that_makes_no_sense_is_refused),
        TEST(rows_that_do_not_do_are_refused),
        WITH_FOLDER(another_file_is_refused),
        TEST(factors_of_another_form_are_refused),
        WITH_FOLDER(every_failed_allocation_is_reported),
        TEST(names_are_there_where_memory_runs_out_behind_the_fit),
        TEST(memory_of_rows_with_holes_is_asked_for_before),
    };
    return cmocka_run_group_tests_name("factors", tests, NULL, NULL);
}
