/* test_svm.c - support vector machines against the optimum that an active set finds, and their properties.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "kernel_case.h"
#include "files.h"
#include "fabayes/svm.h"
#include "methods/svm/rows.h"
#include "methods/svm/smo.h"

enum { D = 3, MOST = 64 };

/* ---- the optimum, densely -------------------------------------------------------------------------- */

/* min 1/2 b' K b + q' b, lo <= b <= hi, the sum of b in each group c.  Which variables are inside, and which at a bound, is known: those
 * inside, and a level for each group, are the solution of linear equations, by elimination with pivots.  That they are inside, and that
 * no bound is on the wrong side of its level, proves the optimum: the program is convex. */
typedef struct program {
    int64_t n, groups;
    double K[MOST][MOST], q[MOST], lo[MOST], hi[MOST], c[2];
    int group[MOST];
    double b[MOST], level[2]; /* the solution; level: g of variables inside */
} program;

static void eliminate(int64_t n, double A[][MOST + 3], double *x)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t best = i;
        for (int64_t r = i; r < n; r++)
            if (fabs(A[r][i]) > fabs(A[best][i])) best = r;
        assert_true(fabs(A[best][i]) > 1e-12);
        for (int64_t j = 0; j <= n; j++) {
            const double t = A[i][j];
            A[i][j] = A[best][j];
            A[best][j] = t;
        }
        for (int64_t r = 0; r < n; r++) {
            if (r == i) continue;
            const double f = A[r][i] / A[i][i];
            for (int64_t j = i; j <= n; j++) A[r][j] -= f * A[i][j];
        }
    }
    for (int64_t i = 0; i < n; i++) x[i] = A[i][n] / A[i][i];
}

/* state: 0 inside, -1 at lo, 1 at hi.  The equality-constrained optimum of the free variables. */
static void stationary(const program *p, const int *state, double *b, double *level)
{
    static double A[MOST + 2][MOST + 3];
    static double x[MOST + 2];
    int64_t free[MOST], m = 0;
    for (int64_t i = 0; i < p->n; i++) {
        b[i] = state[i] < 0 ? p->lo[i] : p->hi[i];
        if (state[i] == 0) free[m++] = i;
    }
    memset(A, 0, sizeof A);
    const int64_t all = m + p->groups;
    for (int64_t r = 0; r < m; r++) {
        for (int64_t s = 0; s < m; s++) A[r][s] = p->K[free[r]][free[s]];
        A[r][m + p->group[free[r]]] = A[m + p->group[free[r]]][r] = -1;
        A[r][all] = -p->q[free[r]];
        for (int64_t j = 0; j < p->n; j++)
            if (state[j] != 0) A[r][all] -= p->K[free[r]][j] * b[j];
    }
    for (int64_t g = 0; g < p->groups; g++) {
        A[m + g][all] = -p->c[g];
        for (int64_t j = 0; j < p->n; j++)
            if (state[j] != 0 && p->group[j] == g) A[m + g][all] += b[j];
    }
    eliminate(all, A, x);
    for (int64_t r = 0; r < m; r++) b[free[r]] = x[r];
    for (int64_t g = 0; g < p->groups; g++) level[g] = x[m + g];
}

/* state: 0 inside, -1 at lo, 1 at hi. */
static void prove(program *p, const int *state)
{
    stationary(p, state, p->b, p->level);
    for (int64_t i = 0; i < p->n; i++) {
        double g = p->q[i] - p->level[p->group[i]];
        for (int64_t j = 0; j < p->n; j++) g += p->K[i][j] * p->b[j];
        if (state[i] == 0)
            assert_true(p->b[i] > p->lo[i] && p->b[i] < p->hi[i]);
        else
            assert_true(state[i] < 0 ? g >= -1e-9 : g <= 1e-9);
    }
}

/* What the machine says of variable i, whose weight is a in its units. */
static int state_of(const program *p, int64_t i, double a)
{
    const double near = 1e-9 * (p->hi[i] - p->lo[i]);
    return a >= p->hi[i] - near ? 1 : a <= p->lo[i] + near ? -1 : 0;
}

/* Weights of all rows. */
static void weights_of(const fab_svm *m, double *a)
{
    fab_svm_parts parts;
    fab_svm_parts_of(m, &parts);
    for (int64_t i = 0; i < MOST; i++) a[i] = 0;
    for (int64_t j = 0; j < parts.support; j++) a[parts.row[j]] = parts.a[j];
}

static double dual_of(const program *p)
{
    double sum = 0;
    for (int64_t i = 0; i < p->n; i++) {
        sum += p->q[i] * p->b[i];
        for (int64_t j = 0; j < p->n; j++) sum += p->b[i] * p->K[i][j] * p->b[j] / 2;
    }
    return -sum;
}

/* ---- cases -------------------------------------------------------------------------------------------- */

typedef struct rows_of {
    int64_t n;
    double x[MOST * D], y[MOST], side[MOST];
} rows_of;

/* Two clouds that overlap; y: 0 or 1. */
static void make(rows_of *r, int64_t n, uint64_t stream)
{
    double e[MOST];
    r->n = n;
    fab_random_normal(2385, FAB_PURPOSE_DATA, stream, 0, n * D, FAB_F64, r->x);
    fab_random_normal(2385, FAB_PURPOSE_DATA, stream + 1000, 0, n, FAB_F64, e);
    for (int64_t i = 0; i < n; i++) {
        r->y[i] = i < n / 3;
        r->side[i] = r->y[i] > 0 ? 1 : -1;
        r->x[i * D] += 1.1 * r->side[i];
    }
}

static fab_kernel *kernel_of(const char *text)
{
    fab_kernel *k;
    assert_int_equal(fab_kernel_create(&k, text, D, NULL), FAB_OK);
    return k;
}

static fab_rows rows_at(const rows_of *r)
{
    return (fab_rows){.p = r->x, .type = FAB_F64, .n = r->n, .ld = D};
}

static void gram_of(program *p, const rows_of *r, const fab_kernel *k)
{
    static double K[MOST * MOST];
    p->n = r->n;
    assert_int_equal(fab_kernel_gram(k, r->n, r->x, D, K, r->n, NULL), FAB_OK);
    for (int64_t i = 0; i < r->n; i++)
        for (int64_t j = 0; j < r->n; j++) p->K[i][j] = K[i * r->n + j];
}

static const char *const texts[] = {"rbf:l=1.385", "matern32:l=2.1", "rbf:l=3 + 0.5*linear"};

/* The support is that of the optimum, and so are weights, dual and decisions. */
static void check_machine(const fab_svm *m, const program *p, double scale, double b,
                          const rows_of *r, double dual)
{
    fab_svm_parts parts;
    fab_svm_report report;
    static double d[MOST];
    const fab_rows rows = rows_at(r);
    fab_svm_parts_of(m, &parts);
    fab_svm_report_of(m, &report);
    assert_true(report.converged);
    assert_true(fabs(report.dual - dual) <= 1e-10 * (1 + fabs(dual)));
    int64_t at = 0;
    for (int64_t i = 0; i < p->n; i++) {
        if (fabs(p->b[i]) < 1e-12) continue;
        assert_true(at < parts.support);
        assert_int_equal(parts.row[at], i);
        assert_true(fabs(parts.a[at] - scale * p->b[i]) <= 1e-7 * (1 + fabs(scale * p->b[i])));
        at++;
    }
    assert_int_equal(at, parts.support);
    assert_int_equal(fab_svm_decide(m, &rows, d, NULL), FAB_OK);
    for (int64_t i = 0; i < p->n; i++) {
        double f = b;
        for (int64_t j = 0; j < p->n; j++) f += scale * p->K[i][j] * p->b[j];
        assert_true(fabs(f - d[i]) <= 1e-7 * (1 + fabs(f)));
    }
}

static void machines_of_C_are_the_optimum(void **state)
{
    (void)state;
    static const int64_t sizes[] = {29, 60};
    static const double costs[] = {0.3, 2.385, 100};
    for (int c = 0; c < 18; c++) {
        rows_of r;
        static program p;
        int at[MOST];
        double weight[MOST], a[MOST];
        fab_svm *m;
        fab_svm_settings s = fab_svm_defaults();
        fab_kernel *k = kernel_of(texts[c % 3]);
        s.C = costs[c / 3 % 3];
        s.tol = 1e-12;
        make(&r, sizes[c / 9], (uint64_t)c);
        gram_of(&p, &r, k);
        p.groups = 1;
        p.c[0] = 0;
        for (int64_t i = 0; i < r.n; i++) {
            weight[i] = c % 2 ? 1 : 0.5 + (double)(i % 4) / 2;
            p.q[i] = -r.side[i];
            p.lo[i] = r.side[i] < 0 ? -s.C * weight[i] : 0;
            p.hi[i] = r.side[i] < 0 ? 0 : s.C * weight[i];
            p.group[i] = 0;
        }
        const fab_rows rows = rows_at(&r);
        assert_int_equal(fab_svm_create(&m, k, 2, &s, &rows, r.y, weight, NULL), FAB_OK);
        weights_of(m, a);
        for (int64_t i = 0; i < r.n; i++) at[i] = state_of(&p, i, a[i]);
        prove(&p, at);
        check_machine(m, &p, 1, -p.level[0], &r, dual_of(&p));
        fab_svm_free(m);
        fab_kernel_free(k);
    }
}

static void machines_of_nu_are_the_optimum_and_keep_their_shares(void **state)
{
    (void)state;
    static const double nus[] = {
        0.11, 0.2385, 0.385, 0.61}; /* the sums are no whole numbers: a row is inside its bounds */
    for (int c = 0; c < 12; c++) {
        rows_of r;
        static program p;
        int at[MOST];
        double a[MOST];
        fab_svm *m;
        fab_svm_report report;
        fab_svm_settings s = fab_svm_defaults();
        fab_kernel *k = kernel_of(texts[c % 3]);
        s.nu = nus[c / 3];
        s.tol = 1e-10; /* of decisions: g goes on to less */
        make(&r, 60, (uint64_t)c + 50);
        gram_of(&p, &r, k);
        p.groups = 2;
        for (int64_t i = 0; i < r.n; i++) {
            p.group[i] = r.side[i] < 0;
            p.q[i] = 0;
            p.lo[i] = r.side[i] < 0 ? -1 : 0;
            p.hi[i] = r.side[i] < 0 ? 0 : 1;
        }
        p.c[0] = s.nu * 60 / 2;
        p.c[1] = -p.c[0];
        const fab_rows rows = rows_at(&r);
        assert_int_equal(fab_svm_create(&m, k, 2, &s, &rows, r.y, NULL, NULL), FAB_OK);
        fab_svm_report_of(m, &report);
        weights_of(m, a);
        for (int64_t i = 0; i < r.n; i++) at[i] = state_of(&p, i, a[i] * report.rho * 60);
        prove(&p, at);
        const double rho = (p.level[0] - p.level[1]) / 2, b = -(p.level[0] + p.level[1]) / 2;
        assert_true(rho > 0);
        check_machine(m, &p, 1 / rho, b / rho, &r, dual_of(&p) / (60. * 60));
        assert_true(fabs(report.rho - rho / 60) <= 1e-9);
        assert_true(fabs(report.nu_limit - 2 * 20 / 60.) <= 1e-15);
        assert_true((double)report.margin_errors <= s.nu * 60 * (1 + 1e-12));
        assert_true((double)report.support >= s.nu * 60 * (1 - 1e-12));
        fab_svm_free(m);
        fab_kernel_free(k);
    }
}

static void regression_within_epsilon_is_the_optimum(void **state)
{
    (void)state;
    static const double costs[] = {0.5, 5}, epsilons[] = {0.05, 0.4};
    for (int c = 0; c < 12; c++) {
        rows_of r;
        static program p;
        static double whole[MOST][MOST];
        int at[MOST];
        double target[MOST / 2], e[MOST], a[MOST];
        fab_svm *m;
        fab_svm_settings s = fab_svm_defaults();
        fab_kernel *k = kernel_of(texts[c % 3]);
        s.C = costs[c / 3 % 2];
        s.epsilon = epsilons[c / 6];
        s.tol = 1e-12;
        make(&r, MOST / 2, (uint64_t)c + 100);
        fab_random_normal(2385, FAB_PURPOSE_DATA, (uint64_t)c + 3000, 0, r.n, FAB_F64, e);
        gram_of(&p, &r, k);
        const int64_t n = r.n;
        for (int64_t i = 0; i < n; i++)
            target[i] = sin(r.x[i * D]) + 0.3 * r.x[i * D + 1] + 0.2 * e[i];
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) whole[i][j] = p.K[i][j];
        for (int64_t i = 0; i < 2 * n; i++) {
            for (int64_t j = 0; j < 2 * n; j++) p.K[i][j] = whole[i % n][j % n];
            p.group[i] = 0;
            p.q[i] = (i < n ? s.epsilon : -s.epsilon) - target[i % n];
            p.lo[i] = i < n ? 0 : -s.C;
            p.hi[i] = i < n ? s.C : 0;
        }
        p.n = 2 * n;
        p.groups = 1;
        p.c[0] = 0;
        const fab_rows rows = rows_at(&r);
        assert_int_equal(fab_svm_create(&m, k, 0, &s, &rows, target, NULL, NULL), FAB_OK);
        weights_of(m, a);
        for (int64_t i = 0; i < n; i++) {
            at[i] = state_of(&p, i, fmax(a[i], 0));
            at[n + i] = state_of(&p, n + i, fmin(a[i], 0));
        }
        prove(&p, at);
        const double dual = dual_of(&p);
        for (int64_t i = 0; i < n; i++) p.b[i] += p.b[n + i];
        p.n = n;
        check_machine(m, &p, 1, -p.level[0], &r, dual);
        fab_svm_free(m);
        fab_kernel_free(k);
    }
}

/* ---- properties ----------------------------------------------------------------------------------- */

enum { MANY = 700, WIDE = 60 };

/* Few numbers are not 0; `alike`: those of a column are one number. */
static void make_sparse(double *x, double *y, int alike)
{
    static double u[MANY * WIDE];
    fab_random_uniform(2385, FAB_PURPOSE_DATA, 7, 0, MANY * WIDE, u);
    for (int64_t i = 0; i < MANY; i++) {
        double sum = 0;
        for (int64_t d = 0; d < WIDE; d++) {
            const int there = u[i * WIDE + d] < 0.15;
            x[i * WIDE + d] = !there ? 0 : alike ? 1 + 0.1 * (double)d : u[i * WIDE + d] * 10;
            sum += there ? (double)(d % 3) - 1 : 0;
        }
        y[i] = sum + 8 * (u[i * WIDE] - 0.5) > 0;
    }
}

static double X[MANY * WIDE], Y[MANY];

static fab_svm *machine_of(const fab_kernel *k, double megabytes, int64_t threads, double C)
{
    fab_svm *m;
    fab_svm_settings s = fab_svm_defaults();
    s.cache = megabytes;
    s.C = C;
    const fab_exec e = {.threads = threads};
    const fab_rows rows = {.p = X, .type = FAB_F64, .n = MANY, .ld = WIDE};
    assert_int_equal(fab_svm_create(&m, k, 2, &s, &rows, Y, NULL, &e), FAB_OK);
    return m;
}

static void same_machine(const fab_svm *a, const fab_svm *b)
{
    fab_svm_parts p, q;
    fab_svm_parts_of(a, &p);
    fab_svm_parts_of(b, &q);
    assert_int_equal(p.support, q.support);
    assert_memory_equal(p.row, q.row, (size_t)p.support * sizeof *p.row);
    assert_memory_equal(p.a, q.a, (size_t)p.support * sizeof *p.a);
    assert_memory_equal(p.b, q.b, sizeof *p.b);
}

static void bits_do_not_depend_on_threads_or_on_rows_that_are_kept(void **state)
{
    (void)state;
    for (int alike = 0; alike < 2; alike++) {
        fab_kernel *k;
        assert_int_equal(fab_kernel_create(&k, "rbf:l=4", WIDE, NULL), FAB_OK);
        make_sparse(X, Y, alike);
        for (double C = 1; C < 2000; C *= 1000) {
            fab_svm *a = machine_of(k, 200, 1, C), *b = machine_of(k, 200, 2, C);
            fab_svm *c = machine_of(k, 0.03, 3, C);
            same_machine(a, b);
            same_machine(a, c);
            fab_svm_free(a);
            fab_svm_free(b);
            fab_svm_free(c);
        }
        fab_kernel_free(k);
    }
}

static void rows_of_the_kernel_are_those_of_its_matrix(void **state)
{
    (void)state;
    static const char *const kinds[] = {"rbf:l=2.385",          "matern32:l=3 + 0.5*linear",
                                        "poly:m=2:c=1*rbf:l=2", "rbf:ard",
                                        "rbf:l=2:col=0,3",      "const + rq:l=2:a=1.5"};
    static double K[MANY * MANY];
    for (int c = 0; c < 12; c++) {
        fab_kernel *k;
        fab_svm_rows *r;
        make_sparse(X, Y, c % 2);
        assert_int_equal(fab_kernel_create(&k, kinds[c / 2], WIDE, NULL), FAB_OK);
        assert_int_equal(fab_kernel_gram(k, MANY, X, WIDE, K, MANY, NULL), FAB_OK);
        const fab_rows rows = {.p = X, .type = FAB_F64, .n = MANY, .ld = WIDE};
        assert_int_equal(fab_svm_rows_create(&r, k, &rows, NULL, MANY, 0.02, NULL), FAB_OK);
        double largest = 0;
        for (int64_t i = 0; i < MANY * MANY; i++) largest = fmax(largest, fabs(K[i]));
        for (int64_t i = 0; i < MANY; i += 97) {
            const double *row = fab_svm_rows_get(r, i);
            for (int64_t j = 0; j < MANY; j++)
                assert_true(fabs(row[j] - K[i * MANY + j]) <= 64 * WIDE * DBL_EPSILON * largest);
        }
        fab_svm_rows_free(r);
        fab_kernel_free(k);
    }
}

static void what_is_laid_aside_changes_the_machine_by_no_more_than_tol(void **state)
{
    (void)state;
    static double q[MANY], lo[MANY], hi[MANY], beta[2][MANY], g[2][MANY];
    double dual[2];
    fab_kernel *k;
    fab_svm_rows *r;
    fab_watch w = fab_watch_of(NULL);
    make_sparse(X, Y, 0);
    assert_int_equal(fab_kernel_create(&k, "rbf:l=4", WIDE, NULL), FAB_OK);
    const fab_rows rows = {.p = X, .type = FAB_F64, .n = MANY, .ld = WIDE};
    assert_int_equal(fab_svm_rows_create(&r, k, &rows, NULL, MANY, 100, NULL), FAB_OK);
    for (int64_t i = 0; i < MANY; i++) {
        q[i] = Y[i] > 0 ? -1 : 1;
        hi[i] = Y[i] > 0 ? 5 : 0;
        lo[i] = Y[i] > 0 ? 0 : -5;
    }
    for (int whole = 0; whole < 2; whole++) {
        fab_smo p = {.rows = r,
                     .n = MANY,
                     .q = q,
                     .lo = lo,
                     .hi = hi,
                     .tol = 1e-9,
                     .max_iter = 1000000,
                     .whole = whole,
                     .beta = beta[whole],
                     .g = g[whole]};
        assert_int_equal(fab_smo_solve(&p, &w), FAB_OK);
        assert_true(p.converged);
        assert_true(p.gap <= 1e-9);
        assert_true(whole ? p.restored == 0 : p.restored > 0);
        dual[whole] = p.dual;
    }
    assert_true(fabs(dual[0] - dual[1]) <= 1e-9 * dual[1]);
    for (int64_t i = 0; i < MANY; i++) { /* g is that of beta */
        double sum = q[i];
        const double *row = fab_svm_rows_get(r, i);
        for (int64_t j = 0; j < MANY; j++) sum += row[j] * beta[0][j];
        assert_true(fabs(sum - g[0][i]) <= 1e-12 * MANY * 5);
    }
    fab_svm_rows_free(r);
    fab_kernel_free(k);
}

static void a_row_is_decided_as_it_is_among_others(void **state)
{
    (void)state;
    static double all[MANY];
    fab_kernel *k;
    make_sparse(X, Y, 0);
    assert_int_equal(fab_kernel_create(&k, "rbf", WIDE, NULL), FAB_OK);
    fab_svm *m = machine_of(k, 200, 0, 1);
    const fab_rows rows = {.p = X, .type = FAB_F64, .n = MANY, .ld = WIDE};
    assert_int_equal(fab_svm_decide(m, &rows, all, NULL), FAB_OK);
    for (int64_t i = 0; i < MANY; i += 13) {
        double one;
        const fab_rows row = {.p = X + i * WIDE, .type = FAB_F64, .n = 1, .ld = WIDE};
        assert_int_equal(fab_svm_decide(m, &row, &one, NULL), FAB_OK);
        assert_memory_equal(&one, &all[i], sizeof one);
    }
    fab_svm_free(m);
    fab_kernel_free(k);
}

static void length_scales_are_half_the_root_mean_square_of_distances(void **state)
{
    (void)state;
    rows_of r;
    fab_svm *m;
    double sum = 0;
    make(&r, 29, 5);
    for (int64_t i = 0; i < r.n; i++)
        for (int64_t j = 0; j < r.n; j++)
            for (int64_t d = 0; d < D; d++) sum += pow(r.x[i * D + d] - r.x[j * D + d], 2);
    fab_kernel *k = kernel_of("rbf + rbf:l=2");
    const fab_rows rows = rows_at(&r);
    assert_int_equal(fab_svm_create(&m, k, 2, NULL, &rows, r.y, NULL, NULL), FAB_OK);
    fab_kernel_parameter p;
    for (int64_t i = 0, found = 0; i < fab_kernel_size(k); i++) {
        fab_kernel_parameter_at(fab_svm_kernel(m), i, &p);
        if (strcmp(p.name, "l") != 0) continue;
        const double l = found++ ? 2 : sqrt(sum / (29. * 29)) / 2;
        assert_true(fabs(p.value - l) <= 1e-13 * l);
    }
    fab_svm_free(m);
    fab_kernel_free(k);
}

static void classes_have_most_votes(void **state)
{
    (void)state;
    rows_of r;
    fab_svm *m;
    double d[MOST * 3], votes[3];
    make(&r, 60, 9);
    for (int64_t i = 0; i < r.n; i++) {
        r.y[i] = (double)(i % 3);
        r.x[i * D] = 4 * r.y[i] + r.x[i * D + 2] / 4;
    }
    fab_kernel *k = kernel_of("rbf");
    const fab_rows rows = rows_at(&r);
    assert_int_equal(fab_svm_create(&m, k, 3, NULL, &rows, r.y, NULL, NULL), FAB_OK);
    assert_int_equal(fab_svm_decide(m, &rows, d, NULL), FAB_OK);
    for (int64_t i = 0; i < r.n; i++) {
        assert_int_equal(fab_svm_class(m, d + 3 * i, votes), (int64_t)r.y[i]);
        assert_true(votes[(int)r.y[i]] > 1.5);
    }
    const double tie[3] = {-0.2, 0.5, -0.9}; /* 0 before 1, 2 before 0, 1 before 2: one vote each */
    assert_int_equal(fab_svm_class(m, tie, votes), 1);
    const double sum = 0.9 - 0.2;
    assert_true(fabs(votes[1] - (1 + sum / (3 * (sum + 1)))) <= 1e-15);
    fab_svm_free(m);
    fab_kernel_free(k);
}

static void probabilities_never_contradict_the_class(void **state)
{
    (void)state;
    static double d[MANY];
    fab_kernel *k;
    fab_svm *m;
    fab_svm_settings s = fab_svm_defaults();
    make_sparse(X, Y, 1);
    s.probability = 1;
    assert_int_equal(fab_kernel_create(&k, "rbf", WIDE, NULL), FAB_OK);
    const fab_rows rows = {.p = X, .type = FAB_F64, .n = MANY, .ld = WIDE};
    assert_int_equal(fab_svm_create(&m, k, 2, &s, &rows, Y, NULL, NULL), FAB_OK);
    assert_int_equal(fab_svm_decide(m, &rows, d, NULL), FAB_OK);
    double sum = 0, ones = 0;
    for (int64_t i = 0; i < MANY; i++) {
        const double p = fab_svm_probability(m, d[i]);
        assert_true(d[i] > 0 ? p >= 0.5 : p <= 0.5);
        sum += p;
        ones += Y[i];
    }
    assert_true(fabs(sum - ones) < 0.1 * MANY);
    fab_svm_free(m);
    fab_kernel_free(k);
}

/* ---- what is refused, and stops --------------------------------------------------------------------- */

static void a_margin_of_nothing_is_refused(void **state)
{
    (void)state;
    rows_of r;
    fab_svm *m;
    fab_svm_settings s = fab_svm_defaults();
    make(&r, 60, 31);
    for (int64_t i = 0; i < r.n; i++) r.y[i] = i % 3 == 0; /* classes that do not differ */
    fab_kernel *k = kernel_of("1*linear");
    const fab_rows rows = rows_at(&r);
    s.nu = 0.1;
    assert_int_equal(fab_svm_create(&m, k, 2, &s, &rows, r.y, NULL, NULL), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "rho is 0 within rounding"));
    s.nu = 0.66;
    assert_int_equal(fab_svm_create(&m, k, 2, &s, &rows, r.y, NULL, NULL), FAB_OK);
    fab_svm_free(m);
    fab_kernel_free(k);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    rows_of r;
    fab_svm *m;
    fab_svm_settings s = fab_svm_defaults();
    make(&r, 30, 11);
    fab_kernel *k = kernel_of("rbf");
    const fab_rows rows = rows_at(&r);
    s.nu = 0.7;
    assert_int_equal(fab_svm_create(&m, k, 2, &s, &rows, r.y, NULL, NULL), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "2 min(n+, n-) / n = 0.666667"));
    s.nu = 20. / 30;
    assert_int_equal(fab_svm_create(&m, k, 2, &s, &rows, r.y, NULL, NULL), FAB_OK);
    fab_svm_free(m);
    assert_int_equal(fab_svm_create(&m, k, 0, &s, &rows, r.y, NULL, NULL), FAB_UNSUPPORTED);
    double flat[30] = {0};
    assert_int_equal(fab_svm_create(&m, k, 2, NULL, &rows, flat, NULL, NULL), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "class 1 has no rows"));
    assert_int_equal(fab_svm_create(&m, k, 0, NULL, &rows, flat, NULL, NULL), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "nothing to explain"));
    const double none[30] = {0};
    assert_int_equal(fab_svm_create(&m, k, 2, NULL, &rows, r.y, none, NULL), FAB_BAD_DATA);
    memset(r.x, 0, sizeof r.x);
    assert_int_equal(fab_svm_create(&m, k, 2, NULL, &rows, r.y, NULL, NULL), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "distances between rows are 0"));
    r.x[3] = NAN;
    assert_int_equal(fab_svm_create(&m, k, 2, NULL, &rows, r.y, NULL, NULL), FAB_BAD_DATA);
    fab_kernel_free(k);
}

static int stop_after(void *ctx, const char *what, int64_t done, int64_t total)
{
    int *left = ctx;
    (void)what, (void)done, (void)total;
    return (*left)-- <= 0;
}

static void a_machine_that_is_stopped_is_valid(void **state)
{
    (void)state;
    static double d[MANY];
    fab_svm *m;
    fab_kernel *k;
    fab_svm_report report;
    fab_svm_parts p;
    fab_svm_settings s = fab_svm_defaults();
    int left = 2;
    make_sparse(X, Y, 0);
    s.C = 1000;
    s.tol = 1e-10;
    s.cache = 0.02;
    assert_int_equal(fab_kernel_create(&k, "rbf:l=4", WIDE, NULL), FAB_OK);
    const fab_exec e = {.threads = 1, .progress = stop_after, .progress_ctx = &left};
    const fab_rows rows = {.p = X, .type = FAB_F64, .n = MANY, .ld = WIDE};
    assert_int_equal(fab_svm_create(&m, k, 2, &s, &rows, Y, NULL, &e), FAB_STOPPED);
    assert_non_null(m);
    fab_svm_report_of(m, &report);
    assert_false(report.converged);
    assert_true(report.gap > s.tol && report.dual > 0);
    fab_svm_parts_of(m, &p);
    double sum = 0;
    for (int64_t i = 0; i < p.support; i++) {
        assert_true(p.a[i] * (Y[p.row[i]] > 0 ? 1 : -1) > 0);
        assert_true(fabs(p.a[i]) <= s.C);
        sum += p.a[i];
    }
    assert_true(fabs(sum) <= 1e-9 * s.C);
    assert_int_equal(fab_svm_decide(m, &rows, d, NULL), FAB_OK);
    fab_svm_free(m);
    fab_kernel_free(k);
}

/* ---- tables ----------------------------------------------------------------------------------------- */

static void tables_go_through_their_files(void **state)
{
    (void)state;
    rows_of r;
    fab_svm_table *t, *u;
    fab_svm_predictions *p, *q;
    make(&r, 60, 21);
    const fab_arrays a = {.n = r.n, .x = r.x, .D = D, .y = {.name = "y", .p = r.y}};
    const fab_data d = {.arrays = &a};
    fab_svm_settings s = fab_svm_defaults();
    s.probability = 1;
    assert_int_equal(
        fab_svm_table_fit(&t, &d, &(fab_svm_plan){.model = "svm:rbf:nu=0.3", .settings = &s}, NULL),
        FAB_OK);
    assert_true(fab_svm_table_settings(t)->nu == 0.3);
    void *bytes;
    size_t size;
    assert_int_equal(fab_svm_table_pack(t, &bytes, &size), FAB_OK);
    assert_int_equal(fab_svm_table_parse(&u, "bytes", bytes, size), FAB_OK);
    assert_int_equal(fab_svm_table_predict(t, &d, 1, 0, &p, NULL), FAB_OK);
    assert_int_equal(fab_svm_table_predict(u, &d, 1, 0, &q, NULL), FAB_OK);
    assert_memory_equal(p->decision, q->decision, (size_t)r.n * sizeof(double));
    assert_memory_equal(p->probability, q->probability, (size_t)r.n * sizeof(double));
    double right = 0, hinge = 0, order = 0;
    for (int64_t i = 0; i < r.n; i++) {
        right += (p->decision[i] > 0) == (r.y[i] > 0);
        hinge += fmax(0, 1 - r.side[i] * p->decision[i]) / 60;
        for (int64_t j = 0; j < r.n; j++)
            if (r.y[i] > 0 && !(r.y[j] > 0))
                order += (p->decision[i] > p->decision[j]) / (20. * 40);
    }
    assert_true(fabs(p->accuracy - right / 60) < 1e-14);
    assert_true(fabs(p->hinge - hinge) < 1e-13);
    assert_true(fabs(p->auc - order) < 1e-13);
    fab_svm_predictions_free(p);
    fab_svm_predictions_free(q);
    fab_svm_table_free(u);
    assert_int_equal(fab_svm_table_parse(&u, "bytes", bytes, size - 8), FAB_BAD_FILE);
    int64_t met = 0;
    for (size_t i = 0; i + 12 < size; i++) { /* no longer the classes of the scaling */
        if (memcmp((char *)bytes + i, "classes\\\": 2", 12) != 0) continue;
        ((char *)bytes)[i + 11] = '3';
        met++;
    }
    assert_int_equal(met, 1);
    assert_int_equal(fab_svm_table_parse(&u, "bytes", bytes, size), FAB_BAD_FILE);
    assert_non_null(strstr(fab_detail(), "do not belong together"));
    fab_bytes_free(bytes);
    fab_svm_table_free(t);
}

static fab_status small_fit(void)
{
    rows_of r;
    fab_svm_table *t = NULL, *u = NULL;
    fab_svm_predictions *p = NULL;
    void *bytes = NULL;
    size_t size;
    make(&r, 20, 22);
    const fab_arrays a = {.n = r.n, .x = r.x, .D = D, .y = {.name = "y", .p = r.y}};
    const fab_data d = {.arrays = &a};
    fab_svm_settings s = fab_svm_defaults();
    s.probability = 1;
    fab_status done =
        fab_svm_table_fit(&t, &d, &(fab_svm_plan){.model = "svm:rbf", .settings = &s}, NULL);
    if (done == FAB_OK) done = fab_svm_table_pack(t, &bytes, &size);
    if (done == FAB_OK) done = fab_svm_table_parse(&u, "bytes", bytes, size);
    if (done == FAB_OK) done = fab_svm_table_predict(u, &d, 1, 0, &p, NULL);
    fab_svm_predictions_free(p);
    fab_svm_table_free(u);
    fab_svm_table_free(t);
    fab_bytes_free(bytes);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(small_fit) >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(machines_of_C_are_the_optimum),
        TEST(machines_of_nu_are_the_optimum_and_keep_their_shares),
        TEST(regression_within_epsilon_is_the_optimum),
        TEST(rows_of_the_kernel_are_those_of_its_matrix),
        TEST(bits_do_not_depend_on_threads_or_on_rows_that_are_kept),
        TEST(what_is_laid_aside_changes_the_machine_by_no_more_than_tol),
        TEST(a_row_is_decided_as_it_is_among_others),
        TEST(length_scales_are_half_the_root_mean_square_of_distances),
        TEST(classes_have_most_votes),
        TEST(probabilities_never_contradict_the_class),
        TEST(a_margin_of_nothing_is_refused),
        TEST(bad_input_is_refused),
        TEST(a_machine_that_is_stopped_is_valid),
        TEST(tables_go_through_their_files),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
