/* test_small.c - small dense algebra: factors multiply back, failures are said, nothing allocates.
 *
 * SPDX-License-Identifier: MIT */
#include "la_allocations.h"
#include "la_case.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- helpers ------------------------------------------------------------------------------------- */

static const int64_t sizes[] = {1, 2, 7, 29, 100, 150};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Room for everything a test of size n touches. */
typedef struct room {
    double *A, *B, *C, *U, *V, *w, *work;
} room;

static room open_room(int64_t n)
{
    const int64_t most = 4 * n * n + 64 * n + fab_eig_work(n) + fab_eig_top_work(n) +
                         fab_svd_work(2 * n, n) + fab_qr_work(2 * n, n);
    room r = {la_doubles(2 * n * n), la_doubles(2 * n * n), la_doubles(2 * n * n),
              la_doubles(2 * n * n), la_doubles(2 * n * n), la_doubles(n),
              la_doubles(most)};
    return r;
}

static void close_room(room *r)
{
    double *all[] = {r->A, r->B, r->C, r->U, r->V, r->w, r->work};
    for (size_t a = 0; a < sizeof all / sizeof *all; a++) fab_release(all[a]);
}

/* A = X' X + I, symmetric positive definite with eigenvalues in [1, 1 + 2 n^2]. */
static void positive(int64_t n, double *X, double *A)
{
    la_fill(1, 1, 2 * n * n, X);
    fab_mm(FAB_T, FAB_N, n, n, 2 * n, 1, X, X, 0, A);
    fab_add_identity(n, A);
}

static void assert_near(int64_t count, const double *a, const double *b, double bound)
{
    const double d = la_distance(count, a, b);
    if (!(d <= bound)) fail_msg("distance %g exceeds %g", d, bound);
}

/* Backward errors are some n eps |A|; |A| is at most 2 n^2 + 1 here. */
static double bound(int64_t n)
{
    return 8 * DBL_EPSILON * (double)n * (double)(2 * n * n + 1);
}

static void identity(int64_t n, double *A)
{
    memset(A, 0, (size_t)(n * n) * sizeof *A);
    fab_add_identity(n, A);
}

/* ---- products ------------------------------------------------------------------------------------ */

static void products_agree_with_plain_sums(void **state)
{
    (void)state;
    double A[12], B[20], C[15], x[4], y[3] = {1, 2, 3};
    la_fill(1, 1, 12, A); /* 3 x 4 */
    la_fill(2, 1, 20, B); /* 5 x 4, used transposed */
    la_fill(3, 1, 15, C); /* 3 x 5 */
    double D[15];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 5; j++) {
            D[i + 3 * j] = -0.5 * C[i + 3 * j];
            for (int k = 0; k < 4; k++) D[i + 3 * j] += 2 * A[i + 3 * k] * B[j + 5 * k];
        }
    fab_mm(FAB_N, FAB_T, 3, 5, 4, 2, A, B, -0.5, C);
    assert_near(15, C, D, 16 * DBL_EPSILON);
    la_fill(4, 1, 4, x);
    double z[3];
    for (int i = 0; i < 3; i++) {
        z[i] = y[i];
        for (int k = 0; k < 4; k++) z[i] += A[i + 3 * k] * x[k];
    }
    fab_mv(FAB_N, 3, 4, 1, A, x, 1, y);
    assert_near(3, y, z, 32 * DBL_EPSILON);
}

static void an_empty_product_still_scales_its_target(void **state)
{
    (void)state;
    double y[2] = {3, NAN}, C[2] = {3, 4};
    fab_mv(FAB_N, 2, 0, 1, y, y, 0, y);
    assert_true(y[0] == 0 && y[1] == 0);
    fab_mm(FAB_N, FAB_N, 1, 2, 0, 1, C, C, 2, C);
    assert_true(C[0] == 6 && C[1] == 8);
}

static void a_product_made_in_slices_is_the_same(void **state)
{
    (void)state;
    const int64_t n = 29;
    room r = open_room(n);
    la_fill(1, 1, n * n, r.A);
    la_fill(2, 1, n * n, r.B);
    la_fill(3, 1, n * n, r.C);
    memcpy(r.V, r.C, (size_t)(n * n) * sizeof *r.C);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) r.U[j + i * n] = r.B[i + j * n];
    fab_mm(FAB_N, FAB_N, n, n, n, 0.7, r.A, r.B, 0.3, r.C);
    fab_mm(FAB_N, FAB_T, n, n, n, 0.7, r.A, r.U, 0.3, r.V); /* B given transposed: in one piece */
    assert_near(n * n, r.C, r.V, 4 * DBL_EPSILON * (double)n);
    close_room(&r);
}

static void gemm_is_row_major_in_both_precisions(void **state)
{
    (void)state;
    const double A[6] = {1, 2, 3, 4, 5, 6}, B[6] = {1, 0, 2, 0, 1, 3}; /* 2 x 3, B' is 3 x 2 */
    const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 2, 0, 1, 3};
    double C[4];
    float c[4];
    fab_gemm(FAB_F64, FAB_N, FAB_T, 2, 2, 3, 1, A, 3, B, 3, 0, C, 2);
    fab_gemm(FAB_F32, FAB_N, FAB_T, 2, 2, 3, 1, a, 3, b, 3, 0, c, 2);
    const double expected[4] = {7, 11, 16, 23};
    for (int e = 0; e < 4; e++) assert_true(C[e] == expected[e] && (double)c[e] == expected[e]);
}

/* ---- Cholesky ------------------------------------------------------------------------------------ */

static void rows_may_lie_apart(void **state)
{
    (void)state;
    enum { M = 9, N = 5, LD = 7, LC = 6 };
    double A[M * LD], x[M], y[M], C[N * LC];
    la_fill(1, 1, M * LD, A);
    la_fill(1, 2, M, x);
    la_fill(1, 3, M, y);
    la_fill(1, 4, N * LC, C);
    double Ax[M], Atx[N], want[N * LC];
    memcpy(want, C, sizeof C);
    for (int i = 0; i < M; i++) {
        Ax[i] = 0.5 * y[i];
        for (int j = 0; j < N; j++) Ax[i] += 2 * A[i * LD + j] * x[j];
    }
    for (int j = 0; j < N; j++) {
        Atx[j] = 0;
        for (int i = 0; i < M; i++) Atx[j] += A[i * LD + j] * x[i];
        for (int k = 0; k <= j; k++)
            for (int i = 0; i < M; i++) want[j * LC + k] += A[i * LD + j] * A[i * LD + k];
    }
    fab_gemv(FAB_N, M, N, 2, A, LD, x, 0.5, y);
    assert_near(M, y, Ax, bound(M));
    fab_gemv(FAB_T, M, N, 1, A, LD, x, 0, y);
    assert_near(N, y, Atx, bound(M));
    fab_syrk(M, N, A, LD, C, LC); /* nothing above the diagonal is touched */
    assert_near(N * LC, C, want, bound(M));
}

static void a_cholesky_factor_multiplies_back(void **state)
{
    (void)state;
    for (int t = 0; t < SIZES; t++) {
        const int64_t n = sizes[t];
        room r = open_room(n);
        positive(n, r.U, r.A);
        memcpy(r.B, r.A, (size_t)(n * n) * sizeof *r.A);
        assert_int_equal(fab_chol(n, r.B), FAB_OK);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < j; i++) assert_true(r.B[i + j * n] == 0);
        fab_mm(FAB_N, FAB_T, n, n, n, 1, r.B, r.B, 0, r.C);
        assert_near(n * n, r.C, r.A, bound(n));
        close_room(&r);
    }
}

static void solving_with_a_factor_undoes_multiplying(void **state)
{
    (void)state;
    for (int t = 0; t < SIZES; t++) {
        const int64_t n = sizes[t];
        room r = open_room(n);
        positive(n, r.U, r.A);
        memcpy(r.B, r.A, (size_t)(n * n) * sizeof *r.A);
        assert_int_equal(fab_chol(n, r.B), FAB_OK);
        fab_chol_inv(n, r.B, r.C);
        fab_mm(FAB_N, FAB_N, n, n, n, 1, r.A, r.C, 0, r.U);
        identity(n, r.V);
        assert_near(n * n, r.U, r.V, bound(n)); /* the inverse is at most 1 in norm */
        fab_chol_solve(n, n, r.B, r.A);
        assert_near(n * n, r.A, r.V, bound(n));
        memcpy(r.C, r.B, (size_t)(n * n) * sizeof *r.C);
        fab_tri_solve(FAB_RIGHT, FAB_T, n, n, r.B, r.C); /* L L^-T, then again from the left */
        fab_tri_solve(FAB_LEFT, FAB_N, n, n, r.B, r.C);
        fab_mm(FAB_N, FAB_T, n, n, n, 1, r.C, r.B, 0, r.U); /* L^-T L' */
        assert_near(n * n, r.U, r.V, bound(n));
        close_room(&r);
    }
}

static void the_log_determinant_is_that_of_the_matrix(void **state)
{
    (void)state;
    const double L[4] = {2, 0.7, 0, 3}; /* det L L' = 36 */
    assert_true(fabs(fab_chol_logdet(2, L) - log(36)) < 8 * DBL_EPSILON);
}

static void a_matrix_that_is_not_positive_definite_is_refused(void **state)
{
    (void)state;
    double A[9] = {1, 0, 0, 0, -1, 0, 0, 0, 1};
    assert_int_equal(fab_chol(3, A), FAB_NUMERIC);
    assert_non_null(strstr(fab_detail(), "pivot 2"));
    for (int e = 0; e < 9; e++)
        for (int bad = 0; bad < 2; bad++) {
            if (e == 3 || e == 6 || e == 7) continue; /* the upper triangle is not read */
            double B[9] = {4, 1, 1, 1, 4, 1, 1, 1, 4};
            B[e] = bad ? (double)INFINITY : (double)NAN;
            assert_int_equal(fab_chol(3, B), FAB_NUMERIC);
        }
}

/* ---- eigen, SVD, QR ------------------------------------------------------------------------------ */

static void eigenvectors_rebuild_the_matrix(void **state)
{
    (void)state;
    for (int t = 0; t < SIZES; t++) {
        const int64_t n = sizes[t];
        room r = open_room(n);
        positive(n, r.U, r.A);
        memcpy(r.B, r.A, (size_t)(n * n) * sizeof *r.A);
        assert_int_equal(fab_eig(n, r.B, r.w, r.work), FAB_OK);
        for (int64_t j = 0; j < n; j++) {
            assert_true(j == 0 || r.w[j] >= r.w[j - 1]);
            for (int64_t i = 0; i < n; i++) r.C[i + j * n] = r.B[i + j * n] * r.w[j];
        }
        fab_mm(FAB_N, FAB_T, n, n, n, 1, r.C, r.B, 0, r.U);
        assert_near(n * n, r.U, r.A, bound(n));
        close_room(&r);
    }
}

/* Of X'X with X of `rank` rows: the values of all eigenvectors, and vectors that are orthonormal and belong to them. */
static void the_leading_eigenvectors_are_those_of_all(void **state)
{
    (void)state;
    for (int t = 0; t < 3 * SIZES; t++) {
        const int64_t n = sizes[t / 3],
                      rank = t % 3 == 0   ? n
                             : t % 3 == 1 ? (n + 1) / 2
                                          : 0,
                      k = t % 2 ? n : (n + 2) / 3;
        const double tol = bound(n);
        room r = open_room(n);
        la_fill(1, 1, n * n, r.U);
        fab_mm(FAB_T, FAB_N, n, n, rank, 1, r.U, r.U, 0, r.A);
        memcpy(r.B, r.A, (size_t)(n * n) * sizeof *r.A);
        assert_int_equal(fab_eig(n, r.B, r.C, r.work), FAB_OK);
        memcpy(r.B, r.A, (size_t)(n * n) * sizeof *r.A);
        assert_int_equal(fab_eig_top(n, k, r.B, r.w, r.V, r.work), FAB_OK);
        assert_near(k, r.w, r.C + n - k, tol);
        fab_mm(FAB_N, FAB_N, n, k, n, 1, r.A, r.V, 0, r.U);
        fab_mm(FAB_T, FAB_N, k, k, n, 1, r.V, r.V, 0, r.B);
        identity(k, r.C);
        assert_near(k * k, r.B, r.C, tol);
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < n; i++) r.V[i + j * n] *= r.w[j];
        assert_near(n * k, r.U, r.V, tol);
        close_room(&r);
    }
}

static void singular_vectors_rebuild_the_matrix(void **state)
{
    (void)state;
    for (int t = 0; t < 2 * SIZES; t++) {
        const int64_t n = sizes[t / 2], m = t % 2 ? 2 * n : n, rows = t % 4 == 3 ? n : m,
                      cols = t % 4 == 3 ? m : n;
        room r = open_room(n);
        la_fill(9, 1, rows * cols, r.A);
        memcpy(r.B, r.A, (size_t)(rows * cols) * sizeof *r.A);
        assert_int_equal(fab_svd(rows, cols, r.B, r.U, r.w, r.V, r.work), FAB_OK);
        for (int64_t j = 0; j < n; j++) {
            assert_true(r.w[j] >= 0 && (j == 0 || r.w[j] <= r.w[j - 1]));
            for (int64_t i = 0; i < rows; i++) r.U[i + j * rows] *= r.w[j];
        }
        fab_mm(FAB_N, FAB_N, rows, cols, n, 1, r.U, r.V, 0, r.C);
        assert_near(rows * cols, r.C, r.A, bound(n));
        close_room(&r);
    }
}

static void q_and_r_multiply_back(void **state)
{
    (void)state;
    for (int t = 0; t < SIZES; t++) {
        const int64_t n = sizes[t], m = 2 * n;
        room r = open_room(n);
        la_fill(9, 1, m * n, r.A);
        memcpy(r.B, r.A, (size_t)(m * n) * sizeof *r.A);
        memcpy(r.V, r.A, (size_t)(m * n) * sizeof *r.A);
        fab_qr(m, n, r.B, r.U, r.work);
        fab_mm(FAB_N, FAB_N, m, n, n, 1, r.B, r.U, 0, r.C);
        assert_near(m * n, r.C, r.A, bound(n));
        fab_mm(FAB_T, FAB_N, n, n, m, 1, r.B, r.B, 0, r.C);
        identity(n, r.A);
        assert_near(n * n, r.C, r.A, bound(n));
        fab_qr_r(m, n, r.V, r.C, r.work);
        assert_memory_equal(r.C, r.U, (size_t)(n * n) * sizeof *r.C);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = j + 1; i < n; i++) assert_true(r.C[i + j * n] == 0);
        close_room(&r);
    }
}

/* L L' + A'A multiplies back, and [z; t] has been turned: L_new z_new = L z + A't, and no length is lost.  A column of zeros stays,
 * and numbers of 1e-180 and 1e180 are no trouble. */
static void rows_enter_a_cholesky_factor(void **state)
{
    (void)state;
    for (int t = 0; t < SIZES; t++)
        for (int64_t m = 0; m <= 70; m = 3 * m + 1) {
            const int64_t n = sizes[t];
            room r = open_room(n);
            double *A = la_doubles(m * n + 1), *z = la_doubles(2 * n), *y = la_doubles(m + 1);
            double *work = la_doubles(fab_chol_rows_work(n, m)), *before = z + n, length = 0;
            positive(n, r.V, r.A);
            assert_int_equal(fab_chol(n, r.A), FAB_OK);
            la_fill(3, 1, m * n, A);
            la_fill(4, 1, n, z);
            la_fill(5, 1, m, y);
            for (int64_t j = 0; j < m; j++) A[j * n + n / 2] = 0;
            fab_mm(FAB_N, FAB_T, n, n, n, 1, r.A, r.A, 0, r.B);
            fab_mm(FAB_N, FAB_T, n, n, m, 1, A, A, 1, r.B); /* row-major A is column-major A' */
            fab_mv(FAB_N, n, n, 1, r.A, z, 0, before);
            fab_mv(FAB_N, n, m, 1, A, y, 1, before);
            for (int64_t i = 0; i < n; i++) length += z[i] * z[i];
            for (int64_t i = 0; i < m; i++) length += y[i] * y[i];
            const long calls = allocations;
            fab_chol_rows(n, m, r.A, A, z, y, work);
            assert_int_equal(allocations - calls, 0);
            fab_mm(FAB_N, FAB_T, n, n, n, 1, r.A, r.A, 0, r.C);
            assert_near(n * n, r.C, r.B, bound(n + m));
            fab_mv(FAB_N, n, n, -1, r.A, z, 1, before);
            for (int64_t i = 0; i < n; i++) {
                assert_true(fabs(before[i]) < bound(n + m));
                assert_true(r.A[i + i * n] > 0);
                for (int64_t j = i + 1; j < n; j++) assert_true(r.A[i + j * n] == 0);
                length -= z[i] * z[i];
            }
            for (int64_t i = 0; i < m; i++) length -= y[i] * y[i];
            assert_true(fabs(length) < bound(n + m));
            fab_release(A);
            fab_release(z);
            fab_release(y);
            fab_release(work);
            close_room(&r);
        }
    for (int s = -180; s <= 180; s += 360) { /* 3, 4, 12: 13 */
        double L = 3 * pow(10, s), A[] = {4 * pow(10, s), 12 * pow(10, s)}, z = 1, y[] = {2, 3};
        double work[1300];
        assert_true(fab_chol_rows_work(1, 2) <= 1300);
        fab_chol_rows(1, 2, &L, A, &z, y, work);
        assert_true(fabs(L / (13 * pow(10, s)) - 1) < 4 * DBL_EPSILON);
        assert_true(fabs(z - (3 + 8 + 36) / 13.0) < 16 * DBL_EPSILON);
    }
}

static void matrices_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    room r = open_room(3);
    identity(3, r.A);
    r.A[4] = NAN;
    assert_int_equal(fab_eig(3, r.A, r.w, r.work), FAB_NUMERIC);
    assert_int_equal(fab_eig_top(3, 1, r.A, r.w, r.V, r.work), FAB_NUMERIC);
    assert_int_equal(fab_svd(3, 3, r.A, r.U, r.w, r.V, r.work), FAB_NUMERIC);
    assert_non_null(strstr(fab_detail(), "not finite"));
    close_room(&r);
}

static void empty_matrices_are_no_trouble(void **state)
{
    (void)state;
    double none = 0;
    assert_int_equal(fab_chol(0, &none), FAB_OK);
    assert_int_equal(fab_eig(0, &none, &none, &none), FAB_OK);
    assert_int_equal(fab_eig_top(0, 0, &none, &none, &none, &none), FAB_OK);
    assert_int_equal(fab_svd(3, 0, &none, &none, &none, &none, &none), FAB_OK);
    fab_qr(3, 0, &none, &none, &none);
    fab_tri_solve(FAB_LEFT, FAB_N, 0, 2, &none, &none);
    assert_true(fab_chol_logdet(0, &none) == 0);
}

static void symmetrise_takes_the_mean(void **state)
{
    (void)state;
    double A[4] = {1, 2, 5, 3};
    fab_symmetrise(2, A);
    assert_true(A[0] == 1 && A[1] == 3.5 && A[2] == 3.5 && A[3] == 3);
}

/* ---- memory -------------------------------------------------------------------------------------- */

static void run_all(int64_t n, room *r)
{
    positive(n, r->U, r->A);
    memcpy(r->B, r->A, (size_t)(n * n) * sizeof *r->A);
    fab_chol(n, r->B);
    fab_chol_inv(n, r->B, r->C);
    fab_chol_solve(n, n, r->B, r->C);
    fab_mv(FAB_T, n, n, 1, r->A, r->C, 0, r->w);
    for (int both = 0; both < 4; both++) {
        const fab_trans ta = both / 2 ? FAB_T : FAB_N, tb = both % 2 ? FAB_T : FAB_N;
        fab_gemm(FAB_F32, ta, tb, n, n, n, 1, r->A, n, r->B, n, 0, r->C, n);
        fab_gemm(FAB_F64, ta, tb, n, n, n, 1, r->A, n, r->B, n, 0, r->C, n);
    }
    memcpy(r->B, r->A, (size_t)(n * n) * sizeof *r->A);
    fab_eig(n, r->B, r->w, r->work);
    fab_eig_top(n, (n + 9) / 10, r->A, r->w, r->V, r->work);
    la_fill(9, 1, 2 * n * n, r->A);
    fab_svd(2 * n, n, r->A, r->U, r->w, r->V, r->work);
    la_fill(9, 1, 2 * n * n, r->A);
    fab_qr(2 * n, n, r->A, r->U, r->work);
}

static void nothing_here_allocates(void **state)
{
    (void)state;
    if (!COUNTS_ALLOCATIONS) skip();
    for (int64_t n = 1; n <= 200; n += 1 + n / 2) {
        room r = open_room(n);
        const long before = allocations;
        run_all(n, &r);
        assert_int_equal(allocations - before, 0);
        close_room(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree_with_plain_sums),
        cmocka_unit_test(an_empty_product_still_scales_its_target),
        cmocka_unit_test(a_product_made_in_slices_is_the_same),
        cmocka_unit_test(gemm_is_row_major_in_both_precisions),
        cmocka_unit_test(rows_may_lie_apart),
        cmocka_unit_test(a_cholesky_factor_multiplies_back),
        cmocka_unit_test(solving_with_a_factor_undoes_multiplying),
        cmocka_unit_test(the_log_determinant_is_that_of_the_matrix),
        cmocka_unit_test(a_matrix_that_is_not_positive_definite_is_refused),
        cmocka_unit_test(eigenvectors_rebuild_the_matrix),
        cmocka_unit_test(the_leading_eigenvectors_are_those_of_all),
        cmocka_unit_test(singular_vectors_rebuild_the_matrix),
        cmocka_unit_test(q_and_r_multiply_back),
        cmocka_unit_test(rows_enter_a_cholesky_factor),
        cmocka_unit_test(matrices_that_are_not_finite_are_refused),
        cmocka_unit_test(empty_matrices_are_no_trouble),
        cmocka_unit_test(symmetrise_takes_the_mean),
        cmocka_unit_test(nothing_here_allocates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
