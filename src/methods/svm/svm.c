/* svm.c - support vector machines: which quadratic programs they are, and what their solutions mean.
 *
 * Classes, y = -1 or +1, beta_i = y_i a_i:
 *
 *   1  C      min 1/2 beta' K beta - y' beta    0 <= a_i <= C w_i, sum beta = 0                  b = -g inside the bounds
 *   2  nu     min 1/2 beta' K beta              0 <= a_i <= w_i, sum a = nu W / 2 in each class, W = sum w
 *             g is rho - b where a positive row, and -rho - b where a negative one is inside its bounds; beta and b are divided by
 *             rho, so that the margin is at -1 and 1.  With a_i / W this is the program of sum a >= nu, a_i <= 1 / n.
 *             Only for nu <= 2 min(W+, W-) / W: the sums must fit below their bounds
 *   3  f(x) = sum beta_i k(x_i, x) + b
 *
 * Numbers, within epsilon:
 *
 *   4  min 1/2 beta' K beta - y' beta + epsilon sum |beta|    -C w_i <= beta_i <= C w_i, sum beta = 0, as 2 n variables that rise from 0
 *      and fall from 0
 *
 * Several classes: a machine for each pair of them, on their rows; the class with most votes (fab_svm_class).
 * Probability of two classes: 1 / (1 + exp(-s d)), s one slope below d = 0 and another above it, by maximum likelihood on the decisions
 * of five folds, each left out once, with the targets of Platt (1999): it is above 1/2 where d is above 0, and there alone.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/svm.h"
#include "base/fail.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/settings.h"
#include "kernel/kernel.h"
#include "kernel/pairs.h"
#include "la/ops.h"
#include "methods/svm/smo.h"
#include <math.h>
#include <string.h>

#define UNSURE 0.01 /* of a decision: what may be missed where rounding ends the steps */
enum { PIECE = 256 /* rows that are decided at a time */, FOLDS = 5, MOST_CLASSES = 1000 };

struct fab_svm {
    fab_kernel *k;
    int64_t D, classes, machines, support;
    double *X;    /* support x D */
    int64_t *row; /* support */
    double *a;    /* machines x support */
    double *b;    /* machines */
    double slope[2];
    fab_svm_report report;
};

/* One program and its solution. */
typedef struct machine {
    const fab_kernel *k;
    const fab_svm_settings *s;
    const fab_rows *x;
    int64_t n;
    const int64_t *pick;      /* n: rows of x */
    const double *y, *weight; /* n: -1 or 1, or numbers; weights */
    int numbers;
    double *beta; /* n */
    double b, rho, dual, gap;
    int64_t bounded, margin_errors, iterations, converged;
} machine;

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_svm_settings
static const fab_field fields[] = {
    FIELD(C, F64, 1, 1e-300, 1e300, "how much an error costs: the bound of a row's weight"),
    AUTOMATIC(nu, F64, 1e-12, 1,
              "of two classes, instead of C: at least this share of rows are support vectors, at "
              "most this share margin errors; auto: by C"),
    FIELD(epsilon, F64, 0.1, 0, 1e300, "of numbers: errors up to it cost nothing"),
    FIELD(tol, F64, 1e-3, 1e-15, 1e3,
          "largest violation of the conditions of the optimum, of decisions"),
    FIELD(cache, F64, 200, 0.001, 1e9, "megabytes of rows of the kernel that are kept"),
    FIELD(max_iter, I64, 10000000, 1, 0x1p53, "steps of a machine at most"),
    SWITCH(probability, 0, "of two classes: probabilities, by the decisions of five folds"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of these folds"),
};
static const fab_fields table = TABLE("svm", fields);
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
#undef SETTINGS

const fab_fields *fab_svm_fields(void)
{
    return &table;
}

fab_svm_settings fab_svm_defaults(void)
{
    fab_svm_settings s;
    fab_settings_defaults(&table, &s);
    return s;
}

/* ---- one machine -------------------------------------------------------------------------------------- */

/* What a solution is made of, by whom it is asked for: q, lo, hi, beta, g (m each), and which row and group. */
typedef struct arrays {
    int64_t m;
    double *q, *lo, *hi, *beta, *g;
    int64_t *row;
    char *group;
} arrays;

static void layout(fab_layout *l, void *handle)
{
    arrays *a = handle;
    a->q = fab_place(l, a->m, sizeof(double));
    a->lo = fab_place(l, a->m, sizeof(double));
    a->hi = fab_place(l, a->m, sizeof(double));
    a->beta = fab_place(l, a->m, sizeof(double));
    a->g = fab_place(l, a->m, sizeof(double));
    a->row = fab_place(l, a->m, sizeof *a->row);
    a->group = fab_place(l, a->m, 1);
}

/* 1 */
static void state_C(const machine *m, arrays *a)
{
    for (int64_t i = 0; i < m->n; i++) {
        a->q[i] = -m->y[i];
        a->hi[i] = m->y[i] > 0 ? m->s->C * m->weight[i] : 0;
        a->lo[i] = m->y[i] > 0 ? 0 : -m->s->C * m->weight[i];
    }
}

/* 2; the first rows of each class take what they may. */
static void state_nu(const machine *m, arrays *a)
{
    double all = 0, left[2];
    for (int64_t i = 0; i < m->n; i++) all += m->weight[i];
    left[0] = left[1] = m->s->nu * all / 2;
    for (int64_t i = 0; i < m->n; i++) {
        const int c = m->y[i] < 0;
        const double w = m->weight[i], some = left[c] < w ? left[c] : w;
        a->group[i] = (char)c;
        a->hi[i] = c ? 0 : w;
        a->lo[i] = c ? -w : 0;
        a->beta[i] = c ? -some : some;
        left[c] -= some;
    }
}

/* 4 */
static void state_numbers(const machine *m, arrays *a)
{
    for (int64_t i = 0; i < m->n; i++) {
        const int64_t j = m->n + i;
        a->row[i] = a->row[j] = i;
        a->q[i] = m->s->epsilon - m->y[i];
        a->q[j] = -m->s->epsilon - m->y[i];
        a->hi[i] = m->s->C * m->weight[i];
        a->lo[j] = -a->hi[i];
    }
}

/* f(x_i) of row i, in the units of the program */
static double value_of(const machine *m, const arrays *a, int64_t i)
{
    return a->g[i] - a->q[i] + m->b;
}

static void conclude(machine *m, const arrays *a, const fab_smo *p)
{
    const int by_nu = !m->numbers && !fab_is_auto_f64(m->s->nu);
    double all = 0;
    m->b = by_nu ? -(p->level[0] + p->level[1]) / 2 : -p->level[0];
    m->rho = by_nu ? (p->level[0] - p->level[1]) / 2 : 1;
    m->bounded = m->margin_errors = 0;
    for (int64_t i = 0; i < m->n; i++) {
        const double high = a->hi[i], low = m->numbers ? a->lo[m->n + i] : a->lo[i];
        m->beta[i] = a->beta[i] + (m->numbers ? a->beta[m->n + i] : 0);
        const int at = (high > 0 && m->beta[i] >= high) || (low < 0 && m->beta[i] <= low);
        const double f = value_of(m, a, i);
        m->bounded += at;
        m->margin_errors += at &&
                            (m->numbers ? fabs(m->y[i] - f) > m->s->epsilon : m->y[i] * f < m->rho);
        all += m->weight[i];
    }
    m->dual = p->dual;
    m->gap = p->gap;
    m->iterations = p->iterations;
    m->converged = p->converged;
    if (!by_nu) return;
    m->dual = p->dual / (all * all);
    if (!(m->rho > 0)) { /* it was stopped before there was a margin: all decisions are b */
        m->rho = 0;
        return;
    }
    for (int64_t i = 0; i < m->n; i++) m->beta[i] /= m->rho;
    m->b /= m->rho;
    m->gap /= m->rho;
    m->rho /= all;
}

/* 2: tol is of decisions, which are g / rho; g goes on until it is met.  Where the classes overlap and nu is small, the sums fit below
 * the bounds so that w = 0 and rho = 0: nothing is decided then. */
static fab_status sharpen(const machine *m, fab_smo *p, fab_watch *w)
{
    int64_t steps = p->iterations;
    double rho = (p->level[0] - p->level[1]) / 2;
    while (p->converged && rho > 0 && p->gap > m->s->tol * rho && steps < m->s->max_iter) {
        p->tol = m->s->tol * rho / 2;
        p->max_iter = m->s->max_iter - steps;
        const fab_status s = fab_smo_solve(p, w);
        steps += p->iterations;
        p->iterations = steps;
        FAB_TRY(s);
        rho = (p->level[0] - p->level[1]) / 2;
    }
    p->converged = rho > 0 && p->gap <= m->s->tol * rho;
    if (p->converged || steps >= m->s->max_iter || p->gap < UNSURE * rho) return FAB_OK;
    return FAB_FAIL(
        FAB_BAD_DATA,
        "svm: nu = %g is too small for classes that overlap so: its margin rho is 0 within "
        "rounding, and nothing is decided; a larger nu, another kernel, or C in its place",
        m->s->nu);
}

/* beta is that of the machine. */
static fab_status solve(machine *m, const fab_exec *e)
{
    const int by_nu = !m->numbers && !fab_is_auto_f64(m->s->nu);
    const arrays of = {.m = m->numbers ? 2 * m->n : m->n};
    fab_watch w = fab_watch_of(e);
    fab_svm_rows *rows;
    arrays *a;
    FAB_TRY(fab_svm_rows_create(&rows, m->k, m->x, m->pick, m->n, m->s->cache, e));
    fab_status s = fab_build((void **)&a, sizeof of, &of, layout);
    if (s == FAB_OK) {
        if (m->numbers)
            state_numbers(m, a);
        else if (by_nu)
            state_nu(m, a);
        else
            state_C(m, a);
        fab_smo p = {.rows = rows,
                     .n = a->m,
                     .row = m->numbers ? a->row : NULL,
                     .q = a->q,
                     .lo = a->lo,
                     .hi = a->hi,
                     .group = by_nu ? a->group : NULL,
                     .tol = m->s->tol,
                     .max_iter = m->s->max_iter,
                     .beta = a->beta,
                     .g = a->g};
        s = fab_smo_solve(&p, &w);
        if (s == FAB_OK && by_nu) s = sharpen(m, &p, &w);
        if (s == FAB_OK || s == FAB_STOPPED) conclude(m, a, &p);
        fab_release(a);
    }
    fab_svm_rows_free(rows);
    return s;
}

/* ---- before it ---------------------------------------------------------------------------------------- */

/* 2: nu that two classes of these weights allow */
static double largest_nu(int64_t n, const double *y, const double *weight)
{
    double of[2] = {0, 0};
    for (int64_t i = 0; i < n; i++) of[y[i] > 0] += weight[i];
    return 2 * fmin(of[0], of[1]) / (of[0] + of[1]);
}

static fab_status check_nu(const machine *m)
{
    if (m->numbers || fab_is_auto_f64(m->s->nu)) return FAB_OK;
    const double most = largest_nu(m->n, m->y, m->weight);
    int64_t positive = 0;
    for (int64_t i = 0; i < m->n; i++) positive += m->y[i] > 0;
    /* at the limit the sums of weights are equal but for rounding */
    if (m->s->nu <= most * (1 + 1e-12)) return FAB_OK;
    return FAB_FAIL(
        FAB_BAD_DATA,
        "svm: nu = %g is not feasible: the classes have %lld and %lld rows, which allow "
        "at most 2 min(n+, n-) / n = %.6g",
        m->s->nu, (long long)(m->n - positive), (long long)positive, most);
}

/* The mean square of distances between rows, over 4: half the sum of variances of the columns. */
static fab_status mean_square(const fab_rows *x, int64_t D, double *square)
{
    double *sum, *row;
    FAB_TRY(fab_alloc_array((void **)&sum, 3 * D, sizeof *sum, "svm"));
    double *shift = sum + D;
    row = sum + 2 * D;
    const double n = (double)x->n;
    memset(sum, 0, (size_t)(2 * D) * sizeof *sum);
    for (int64_t i = 0; i < x->n; i++) {
        fab_rows_get(x, i, D, row);
        for (int64_t d = 0; d < D; d++) shift[d] += row[d] / n;
    }
    double all = 0;
    for (int64_t i = 0; i < x->n; i++) {
        fab_rows_get(x, i, D, row);
        for (int64_t d = 0; d < D; d++) all += (row[d] - shift[d]) * (row[d] - shift[d]) / n;
    }
    fab_release(sum);
    *square = all / 2;
    return FAB_OK;
}

static fab_status find_lengths(fab_kernel *k, const fab_rows *x)
{
    double square;
    int64_t any = 0;
    for (int64_t f = 0; f < k->leaves; f++)
        if (k->leaf[f].kind->shape == &fab_squares)
            for (int64_t p = 0; p < k->leaf[f].lengths; p++)
                any += !k->parameter[k->leaf[f].at + p].fixed;
    if (!any) return FAB_OK;
    FAB_TRY(mean_square(x, k->D, &square));
    if (!(square > 0))
        return FAB_FAIL(
            FAB_BAD_DATA,
            "svm: all distances between rows are 0, and the length-scale of the kernel is "
            "taken from them; no machine tells such rows apart");
    if (!isfinite(square))
        return FAB_FAIL(FAB_BAD_DATA, "svm: distances between rows overflow; scale the columns");
    for (int64_t f = 0; f < k->leaves; f++)
        if (k->leaf[f].kind->shape == &fab_squares)
            for (int64_t p = 0; p < k->leaf[f].lengths; p++) {
                fab_parameter *l = &k->parameter[k->leaf[f].at + p];
                if (!l->fixed) l->value = sqrt(square);
            }
    fab_kernel_settle(k);
    return FAB_OK;
}

static fab_status check(int64_t D, int64_t classes, const fab_svm_settings *s, const fab_rows *x,
                        const double *y, const double *weight, const fab_exec *e)
{
    FAB_TRY(fab_settings_check(&table, s));
    FAB_TRY(fab_check_alone("svm", e));
    if (classes < 0 || classes == 1 || classes > MOST_CLASSES)
        return FAB_FAIL(FAB_BAD_DATA, "svm: %lld classes, expected 2 to %d, or numbers",
                        (long long)classes, MOST_CLASSES);
    if (x->n < 2)
        return FAB_FAIL(FAB_BAD_DATA, "svm: %lld rows, expected 2 or more", (long long)x->n);
    if (!fab_is_auto_f64(s->nu) && classes != 2)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "svm: nu is for two classes, and here %s; C is for all targets",
                        classes ? "are more" : "is a number");
    if (s->probability && classes != 2)
        return FAB_FAIL(FAB_UNSUPPORTED, "svm: probabilities are for two classes, and here %s",
                        classes ? "are more" : "is a number");
    FAB_TRY(fab_rows_check("svm", x, D));
    int64_t same = 0;
    for (int64_t i = 0; i < x->n; i++) same += !(y[i] < y[0] || y[i] > y[0]);
    if (!classes && same == x->n)
        return FAB_FAIL(FAB_BAD_DATA, "svm: all %lld targets are %g: there is nothing to explain",
                        (long long)x->n, y[0]);
    for (int64_t i = 0; i < x->n; i++) {
        const double w = weight ? weight[i] : 1;
        if (!isfinite(y[i]))
            return FAB_FAIL(FAB_BAD_DATA, "svm: row %lld: y = %g, expected a finite number",
                            (long long)i, y[i]);
        if (classes && !(y[i] >= 0 && y[i] < (double)classes && floor(y[i]) >= y[i]))
            return FAB_FAIL(FAB_BAD_DATA, "svm: row %lld: y = %g, expected a class from 0 to %lld",
                            (long long)i, y[i], (long long)classes - 1);
        if (!(w > 0 && isfinite(w)))
            return FAB_FAIL(FAB_BAD_DATA, "svm: row %lld: weight %g, expected a number above 0",
                            (long long)i, w);
    }
    return FAB_OK;
}

/* ---- all machines ------------------------------------------------------------------------------------- */

/* A fit while it is made. */
typedef struct fitting {
    fab_svm *to;
    const fab_svm_settings *s;
    const fab_rows *x;
    const double *y, *weight; /* weight: or NULL */
    const fab_exec *e;
    double *beta;                /* machines x n */
    int64_t *pick;               /* n */
    double *side, *heavy, *some; /* n each: y, weights and beta of a machine */
    int kept;                    /* the machine is whole */
} fitting;

/* The rows of classes c and d (numbers: all) and their program, without those that skip marks. */
static void take_rows(const fitting *f, int64_t c, int64_t d, const char *skip, machine *m)
{
    int64_t n = 0;
    for (int64_t i = 0; i < f->x->n; i++) {
        const int64_t class = f->to->classes ? (int64_t)f->y[i] : 0;
        if (skip && skip[i]) continue;
        if (f->to->classes && class != c && class != d) continue;
        f->pick[n] = i;
        f->side[n] = !f->to->classes ? f->y[i] : class == d ? 1 : -1;
        f->heavy[n++] = f->weight ? f->weight[i] : 1;
    }
    *m = (machine){.k = f->to->k,
                   .s = f->s,
                   .x = f->x,
                   .n = n,
                   .pick = f->pick,
                   .y = f->side,
                   .weight = f->heavy,
                   .numbers = f->to->classes == 0,
                   .beta = f->some};
}

static void note(fab_svm_report *r, const machine *m, int64_t machines)
{
    r->bounded += m->bounded;
    r->margin_errors += m->margin_errors;
    r->dual += m->dual;
    r->gap = fmax(r->gap, m->gap);
    r->iterations += m->iterations;
    r->converged &= m->converged;
    if (machines == 1 && !m->numbers) {
        r->rho = m->rho;
        r->nu_limit = largest_nu(m->n, m->y, m->weight);
    }
}

static fab_status fit_pair(fitting *f, int64_t at, int64_t c, int64_t d)
{
    machine m;
    double *beta = f->beta + at * f->x->n;
    take_rows(f, c, d, NULL, &m);
    int64_t of[2] = {0, 0};
    for (int64_t i = 0; i < m.n && f->to->classes; i++) of[m.y[i] > 0]++;
    if (f->to->classes && (!of[0] || !of[1]))
        return FAB_FAIL(FAB_BAD_DATA,
                        "svm: class %lld has no rows; a machine tells two classes apart",
                        (long long)(of[0] ? d : c));
    FAB_TRY(check_nu(&m));
    const fab_status s = solve(&m, f->e);
    if (s != FAB_OK && s != FAB_STOPPED) return s;
    memset(beta, 0, (size_t)f->x->n * sizeof *beta);
    for (int64_t i = 0; i < m.n; i++) beta[f->pick[i]] = m.beta[i];
    f->to->b[at] = m.b;
    note(&f->to->report, &m, f->to->machines);
    return s;
}

static fab_status fit_all(fitting *f)
{
    int64_t at = 0;
    if (f->to->classes == 0) return fit_pair(f, 0, 0, 0);
    for (int64_t c = 0; c < f->to->classes; c++)
        for (int64_t d = c + 1; d < f->to->classes; d++, at++) FAB_TRY(fit_pair(f, at, c, d));
    return FAB_OK;
}

/* Rows with a weight in any machine. */
static fab_status keep_support(fitting *f)
{
    fab_svm *to = f->to;
    const int64_t n = f->x->n;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        int any = 0;
        for (int64_t m = 0; m < to->machines; m++) any |= f->beta[m * n + i] != 0;
        if (any) f->pick[count++] = i;
    }
    FAB_TRY(fab_alloc_array((void **)&to->X, count * to->D, sizeof(double), "support vectors"));
    FAB_TRY(fab_alloc_array((void **)&to->a, count * to->machines, sizeof(double), "weights"));
    FAB_TRY(fab_alloc_array((void **)&to->row, count, sizeof *to->row, "support vectors"));
    to->support = count;
    to->report.support = count;
    for (int64_t j = 0; j < count; j++) {
        to->row[j] = f->pick[j];
        fab_rows_get(f->x, f->pick[j], to->D, to->X + j * to->D);
        for (int64_t m = 0; m < to->machines; m++)
            to->a[m * count + j] = f->beta[m * n + f->pick[j]];
    }
    return FAB_OK;
}

/* ---- probability -------------------------------------------------------------------------------------- */

/* The slope s >= 0 with the largest sum of t log p + (1 - t) log (1 - p), p = 1 / (1 + exp(-s d)), over decisions on one side of 0; by bisection. */
static double slope_of(int64_t n, const double *d, const double *t, int above)
{
    double low = 0, high = 1e-3;
    for (int round = 0; round < 2000; round++) { /* the derivative falls with s */
        double slope = 0;
        for (int64_t i = 0; i < n; i++)
            if ((d[i] > 0) == above) slope += d[i] * (t[i] - 1 / (1 + exp(-high * d[i])));
        if (!(slope > 0) || high > 1e100) break;
        low = high;
        high *= 2;
    }
    for (int round = 0; round < 200 && high - low > 1e-15 * high; round++) {
        const double s = (low + high) / 2;
        double slope = 0;
        for (int64_t i = 0; i < n; i++)
            if ((d[i] > 0) == above) slope += d[i] * (t[i] - 1 / (1 + exp(-s * d[i])));
        if (slope > 0)
            low = s;
        else
            high = s;
    }
    return (low + high) / 2;
}

/* Decisions of some rows of x by a machine, whose rows are packed: those with a weight. */
static fab_status decide_some(const fitting *f, const machine *m, int64_t support, int64_t count,
                              const int64_t *rows, double *decision)
{
    const int64_t D = f->to->D;
    double *X;
    FAB_TRY(
        fab_alloc_array((void **)&X, (support + PIECE) * D + support * PIECE, sizeof *X, "svm"));
    double *Z = X + support * D, *K = Z + PIECE * D;
    fab_status s = FAB_OK;
    for (int64_t i = 0; i < support; i++) fab_rows_get(f->x, m->pick[i], D, X + i * D);
    for (int64_t first = 0; first < count && s == FAB_OK; first += PIECE) {
        const int64_t some = count - first < PIECE ? count - first : PIECE;
        for (int64_t j = 0; j < some; j++) fab_rows_get(f->x, rows[first + j], D, Z + j * D);
        s = fab_kernel_cross(m->k, support, X, D, some, Z, D, K, some, f->e);
        for (int64_t j = 0; j < some && s == FAB_OK; j++) {
            double sum = m->b;
            for (int64_t i = 0; i < support; i++) sum += m->beta[i] * K[i * some + j];
            decision[rows[first + j]] = sum;
        }
    }
    fab_release(X);
    return s;
}

/* Decisions of the rows of a fold by a machine of the others. */
static fab_status decide_fold(fitting *f, int64_t count, const int64_t *rows, char *skip,
                              double *decision)
{
    machine m;
    int64_t positive = 0, support = 0;
    memset(skip, 0, (size_t)f->x->n);
    for (int64_t i = 0; i < count; i++) skip[rows[i]] = 1;
    take_rows(f, 0, 1, skip, &m);
    for (int64_t i = 0; i < m.n; i++) positive += m.y[i] > 0;
    if (positive == 0 || positive == m.n)
        return FAB_FAIL(
            FAB_BAD_DATA,
            "svm: probabilities come from %d folds, and where one is left out a class has "
            "no rows: each class needs 2 rows or more",
            FOLDS);
    FAB_TRY(check_nu(&m));
    FAB_TRY(solve(&m, f->e));
    for (int64_t i = 0; i < m.n; i++) {
        if (m.beta[i] == 0) continue;
        m.beta[support] = m.beta[i];
        f->pick[support++] = f->pick[i];
    }
    return decide_some(f, &m, support, count, rows, decision);
}

static fab_status find_slopes(fitting *f)
{
    const int64_t n = f->x->n;
    double *d, of[2] = {0, 0};
    fab_split *folds;
    FAB_TRY(fab_alloc_array((void **)&d, 3 * n, sizeof *d, "svm"));
    double *t = d + n;
    char *skip = (char *)(d + 2 * n); /* n of them */
    fab_status s = fab_split_folds(&folds, n, FOLDS < n ? FOLDS : n, f->y, (uint64_t)f->s->seed);
    if (s != FAB_OK) folds = NULL;
    for (int64_t part = 0; s == FAB_OK && part < fab_split_parts(folds); part++) {
        const int64_t *rows, count = fab_split_part(folds, part, &rows);
        s = decide_fold(f, count, rows, skip, d);
    }
    for (int64_t i = 0; i < n; i++) of[f->y[i] > 0]++;
    for (int64_t i = 0; i < n; i++)
        t[i] = f->y[i] > 0 ? (of[1] + 1) / (of[1] + 2) : 1 / (of[0] + 2);
    for (int above = 0; above < 2 && s == FAB_OK; above++)
        f->to->slope[above] = slope_of(n, d, t, above);
    fab_release(d);
    fab_split_free(folds);
    return s;
}

double fab_svm_probability(const fab_svm *s, double decision)
{
    return 1 / (1 + exp(-s->slope[decision > 0] * decision));
}

/* ---- life --------------------------------------------------------------------------------------------- */

void fab_svm_free(fab_svm *s)
{
    if (!s) return;
    fab_kernel_free(s->k);
    fab_release(s->X);
    fab_release(s->row);
    fab_release(s->a);
    fab_release(s->b);
    fab_release(s);
}

static int64_t machines_of(int64_t classes)
{
    return classes < 2 ? 1 : classes * (classes - 1) / 2;
}

static fab_status begin(fab_svm **s, const fab_kernel *k, int64_t classes)
{
    fab_svm *new;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "svm"));
    *new = (fab_svm){.D = fab_kernel_columns(k),
                     .classes = classes,
                     .machines = machines_of(classes),
                     .slope = {NAN, NAN}};
    new->report = (fab_svm_report){
        .classes = classes, .machines = new->machines, .rho = NAN, .nu_limit = NAN, .converged = 1};
    fab_status done = fab_kernel_copy(&new->k, k);
    if (done == FAB_OK)
        done = fab_alloc_array((void **)&new->b, new->machines, sizeof(double), "svm");
    if (done == FAB_OK)
        *s = new;
    else
        fab_svm_free(new);
    return done;
}

static fab_status fit(fitting *f)
{
    const int64_t n = f->x->n;
    FAB_TRY(find_lengths(f->to->k, f->x));
    FAB_TRY(fab_alloc_array((void **)&f->beta, (f->to->machines + 3) * n, sizeof(double), "svm"));
    f->side = f->beta + f->to->machines * n;
    f->heavy = f->side + n;
    f->some = f->heavy + n;
    FAB_TRY(fab_alloc_array((void **)&f->pick, n, sizeof *f->pick, "svm"));
    const fab_status s = fit_all(f);
    if (s != FAB_OK && !(s == FAB_STOPPED && f->to->machines == 1)) return s;
    FAB_TRY(keep_support(f));
    f->kept = 1;
    return s == FAB_OK && f->s->probability ? find_slopes(f) : s;
}

fab_status fab_svm_create(fab_svm **s, const fab_kernel *k, int64_t classes,
                          const fab_svm_settings *settings, const fab_rows *x, const double *y,
                          const double *weight, const fab_exec *e)
{
    const fab_svm_settings usual = fab_svm_defaults(), *how = settings ? settings : &usual;
    fab_svm *new;
    *s = NULL;
    FAB_TRY(check(fab_kernel_columns(k), classes, how, x, y, weight, e));
    FAB_TRY(begin(&new, k, classes));
    new->report.n = x->n;
    fitting f = {.to = new, .s = how, .x = x, .y = y, .weight = weight, .e = e};
    const fab_status done = fit(&f);
    fab_release(f.beta);
    fab_release(f.pick);
    if (done == FAB_OK || (done == FAB_STOPPED && f.kept)) {
        *s = new;
        return done;
    }
    fab_svm_free(new);
    return done;
}

fab_status fab_svm_of_parts(fab_svm **s, const fab_kernel *k, int64_t classes,
                            const fab_svm_parts *p, const fab_svm_report *r)
{
    fab_svm *new;
    *s = NULL;
    FAB_TRY(begin(&new, k, classes));
    if (p->D != new->D || p->machines != new->machines) {
        fab_svm_free(new);
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "svm: %lld machines of %lld columns, expected %lld of %lld",
                        (long long)p->machines, (long long)p->D, (long long)machines_of(classes),
                        (long long)fab_kernel_columns(k));
    }
    const int64_t n = p->support, weights = n * p->machines;
    fab_status done = fab_alloc_array((void **)&new->X, n * p->D, sizeof(double), "svm");
    if (done == FAB_OK) done = fab_alloc_array((void **)&new->a, weights, sizeof(double), "svm");
    if (done != FAB_OK) {
        fab_svm_free(new);
        return done;
    }
    new->support = n;
    memcpy(new->X, p->X, (size_t)(n * p->D) * sizeof(double));
    memcpy(new->a, p->a, (size_t)weights * sizeof(double));
    memcpy(new->b, p->b, (size_t)p->machines * sizeof(double));
    memcpy(new->slope, p->slope, sizeof new->slope);
    if (r) new->report = *r;
    *s = new;
    return FAB_OK;
}

void fab_svm_parts_of(const fab_svm *s, fab_svm_parts *p)
{
    *p = (fab_svm_parts){.support = s->support,
                         .D = s->D,
                         .machines = s->machines,
                         .X = s->X,
                         .row = s->row,
                         .a = s->a,
                         .b = s->b,
                         .slope = s->slope};
}

void fab_svm_report_of(const fab_svm *s, fab_svm_report *r)
{
    *r = s->report;
}

const fab_kernel *fab_svm_kernel(const fab_svm *s)
{
    return s->k;
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

fab_status fab_svm_decide(const fab_svm *s, const fab_rows *x, double *decision, const fab_exec *e)
{
    const int64_t D = s->D, n = s->support, M = s->machines;
    fab_watch w = fab_watch_of(e);
    double *Z;
    FAB_TRY(fab_rows_check("svm", x, D));
    FAB_TRY(fab_alloc_array((void **)&Z, PIECE * (D + n), sizeof *Z, "decisions"));
    double *K = Z + PIECE * D;
    fab_status done = FAB_OK;
    for (int64_t first = 0; first < x->n && done == FAB_OK; first += PIECE) {
        const int64_t count = x->n - first < PIECE ? x->n - first : PIECE;
        for (int64_t i = 0; i < count; i++) fab_rows_get(x, first + i, D, Z + i * D);
        done = fab_kernel_cross(s->k, n, s->X, D, count, Z, D, K, count, e);
        for (int64_t m = 0; m < M && done == FAB_OK; m++) {
            double out[PIECE];
            for (int64_t j = 0; j < count; j++) out[j] = s->b[m];
            for (int64_t i = 0; i < n; i++) {
                const double a = s->a[m * n + i], *k = K + i * count;
                if (a != 0)
                    for (int64_t j = 0; j < count; j++) out[j] += a * k[j];
            }
            for (int64_t j = 0; j < count; j++) decision[(first + j) * M + m] = out[j];
        }
        if (done == FAB_OK)
            done =
                fab_watch_work(&w, (double)(n * count * (D + 8)), "decisions", first + count, x->n);
    }
    fab_release(Z);
    return done;
}

int64_t fab_svm_class(const fab_svm *s, const double *decision, double *votes)
{
    const int64_t C = s->classes;
    double vote[MOST_CLASSES] = {0}, sum[MOST_CLASSES] = {0};
    int64_t best = 0, at = 0;
    if (C < 2) return 0;
    if (C == 2) {
        if (votes) votes[0] = -decision[0], votes[1] = decision[0];
        return decision[0] > 0;
    }
    for (int64_t c = 0; c < C; c++)
        for (int64_t d = c + 1; d < C; d++, at++) {
            vote[decision[at] > 0 ? d : c]++;
            sum[c] -= decision[at];
            sum[d] += decision[at];
        }
    for (int64_t c = 0; c < C; c++) {
        vote[c] += sum[c] / (3 * (fabs(sum[c]) + 1));
        if (vote[c] > vote[best]) best = c;
        if (votes) votes[c] = vote[c];
    }
    return best;
}
