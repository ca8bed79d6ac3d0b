/* test_sparse.c - sparse rows: read like dense ones, fitted like dense ones, refused where they are not taken.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/rows.h"
#include "data/source/source.h"
#include "fabayes.h"
#include "files.h"
#include "train/objective.h"
#include <float.h>
#include <math.h>

enum { SEED = 2385, NONZEROS = 7 };

/* n rows of length D with NONZEROS values each, sparse and dense, and a target of each likelihood. */
typedef struct table {
    int64_t n, D;
    double *value, *x, *y[4]; /* n x NONZEROS, n x D, n each */
    float *narrow;            /* value, rounded: they are the same numbers */
    int64_t *start;
    int32_t *index;
} table;

static table make_table(int64_t n, int64_t D)
{
    table t = {.n = n, .D = D};
    const size_t values = (size_t)(n * NONZEROS);
    t.value = malloc(values * sizeof *t.value);
    t.narrow = malloc(values * sizeof *t.narrow);
    t.index = malloc(values * sizeof *t.index);
    t.start = malloc((size_t)(n + 1) * sizeof *t.start);
    t.x = calloc((size_t)(n * D), sizeof *t.x);
    fab_random_normal(SEED, FAB_PURPOSE_DATA, 0, 0, n * NONZEROS, FAB_F32, t.narrow);
    for (int k = 0; k < 4; k++) t.y[k] = malloc((size_t)n * sizeof *t.y[k]);
    for (int64_t j = 0; j < n; j++) {
        double u[NONZEROS];
        fab_random_uniform(SEED, FAB_PURPOSE_DATA, 1, (uint64_t)(j * NONZEROS), NONZEROS, u);
        t.start[j] = j * NONZEROS;
        for (int64_t k = 0; k < NONZEROS; k++) {
            const int64_t at = j * NONZEROS + k, room = D / NONZEROS;
            t.value[at] = (double)t.narrow[at];
            t.index[at] = (int32_t)(k * room + (int64_t)(u[k] * (double)room));
            t.x[j * D + t.index[at]] = t.value[at];
        }
        t.y[FAB_LIKELIHOOD_GAUSSIAN][j] = 2 * u[0] - u[1];
        t.y[FAB_LIKELIHOOD_BERNOULLI][j] = u[2] > 0.4;
        t.y[FAB_LIKELIHOOD_POISSON][j] = floor(4 * u[3]);
        t.y[FAB_LIKELIHOOD_CATEGORICAL][j] = floor(3 * u[4]);
    }
    t.start[n] = n * NONZEROS;
    return t;
}

static void free_table(table *t)
{
    for (int k = 0; k < 4; k++) free(t->y[k]);
    free(t->value);
    free(t->narrow);
    free(t->index);
    free(t->start);
    free(t->x);
}

static fab_rows dense_of(const table *t)
{
    return (fab_rows){.p = t->x, .type = FAB_F64, .n = t->n, .ld = t->D};
}

static fab_rows sparse_of(const table *t)
{
    return (fab_rows){.p = t->value,
                      .type = FAB_F64,
                      .n = t->n,
                      .ld = t->D,
                      .start = t->start,
                      .index = t->index};
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static void check_like_dense(const fab_rows *s, const fab_rows *d, int64_t D)
{
    double row[64], a[64], b[64];
    assert_int_equal(fab_rows_check("t", s, D), FAB_OK);
    for (int64_t j = 0; j < d->n; j++) {
        double dot = 0, squares = 0, more = 0, product, three = 3;
        fab_rows_get(s, j, D, row);
        for (int64_t i = 0; i < D; i++) {
            const double x = fab_rows_at(d, j, i);
            assert_true(fab_rows_at(s, j, i) == x && row[i] == x);
            a[i] = b[i] = (double)i - 2.385;
            dot += x * a[i];
            squares += x * x;
            b[i] += 1.5 * x;
        }
        fab_rows_dot(s, j, 1, a, &product);
        assert_true(fabs(product - dot) <= NONZEROS * DBL_EPSILON * 64 * 64);
        fab_rows_add(s, j, 1, 0.5, &three, a);
        for (int64_t i = 0; i < D; i++) assert_true(a[i] == b[i]);
        for (int64_t k = 0; k < fab_rows_stored(s, j, D); k++)
            more += fab_rows_value(s, j, k) * fab_rows_value(s, j, k);
        assert_true(more == squares);
        fab_rows_get(d, j, D, a);
        assert_memory_equal(a, row, (size_t)D * sizeof *a);
        fab_rows_copy(s, j, D, b);
        for (int64_t i = 0; i < D; i++)
            assert_true((s->type == FAB_F32 ? (double)((float *)b)[i] : b[i]) == row[i]);
    }
    assert_int_equal(fab_rows_stored(d, 0, D), D);
    assert_true(fab_rows_value(d, 1, 3) == fab_rows_at(d, 1, 3));
}

static void sparse_rows_read_like_dense_ones(void **state)
{
    (void)state;
    table t = make_table(11, 29);
    fab_rows s = sparse_of(&t), d = dense_of(&t);
    check_like_dense(&s, &d, 29);
    const fab_rows ps = fab_rows_part(&s, 4, 5), pd = fab_rows_part(&d, 4, 5);
    check_like_dense(&ps, &pd, 29);
    s.p = t.narrow;
    s.type = FAB_F32;
    check_like_dense(&s, &d, 29);
    free_table(&t);
}

static void an_empty_row_is_zero(void **state)
{
    (void)state;
    const int64_t start[] = {0, 0, 0};
    const fab_rows s = {.type = FAB_F64, .n = 2, .ld = 3, .start = start};
    double row[3] = {1, 1, 1};
    assert_int_equal(fab_rows_check("t", &s, 3), FAB_OK);
    assert_int_equal(fab_rows_stored(&s, 1, 3), 0);
    assert_true(fab_rows_at(&s, 0, 2) == 0);
    fab_rows_get(&s, 1, 3, row);
    assert_true(row[0] == 0 && row[1] == 0 && row[2] == 0);
}

static void check_refused(const table *t, const char *words)
{
    const fab_rows s = sparse_of(t);
    assert_int_not_equal(fab_rows_check("t", &s, t->D), FAB_OK);
    assert_detail("t: ", words);
}

static void bad_sparse_rows_are_refused(void **state)
{
    (void)state;
    table t = make_table(5, 29);
    const int32_t before = t.index[16];
    t.index[16] = t.index[15];
    check_refused(&t, "row 2 has the coordinate");
    t.index[16] = 29;
    check_refused(&t, "row 2 has the coordinate 29, expected rising ones below 29");
    t.index[16] = -1;
    check_refused(&t, "row 2 has the coordinate -1");
    t.index[16] = before;
    t.value[16] = NAN;
    check_refused(&t, "row 2, column");
    t.value[16] = 1;
    t.start[3] = t.start[2] - 1;
    check_refused(&t, "row 2 has the values 14 to 13");
    fab_rows s = sparse_of(&t);
    s.index = NULL;
    assert_int_equal(fab_rows_check("t", &s, 29), FAB_BAD_ARGUMENT);
    assert_detail("t: ", "sparse rows without values or coordinates");
    free_table(&t);
}

static void what_takes_no_sparse_rows_says_so(void **state)
{
    (void)state;
    table t = make_table(5, 29);
    const fab_rows s = sparse_of(&t);
    fab_gauss *g;
    fab_solver *solver;
    double out[5];
    assert_int_equal(fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, 29, 1), FAB_OK);
    for (int i = 0; i < 29; i++) g->psi[i] = 1;
    assert_int_equal(fab_solver_create(&solver, g, NULL), FAB_OK);
    assert_int_equal(fab_solver_logpdf(solver, &s, out), FAB_UNSUPPORTED);
    assert_detail("", "the rows are sparse, expected dense ones");
    fab_solver_free(solver);
    fab_gauss_free(g);
    free_table(&t);
}

/* ---- the objective ------------------------------------------------------------------------------- */

/* Value and gradient at a random theta: sums of n (NONZEROS + 1) products of numbers below 8 in another
 * order, so within n (NONZEROS + 1) eps times the sum of their sizes, which n * 64 bounds. */
static void check_objective(const table *t, fab_likelihood kind)
{
    const fab_glm m = {.likelihood = kind,
                       .D = t->D,
                       .classes = kind == FAB_LIKELIHOOD_CATEGORICAL ? 3 : 1,
                       .intercept = 1,
                       .beta = 1.5};
    const fab_examples d = {.x = dense_of(t), .y = t->y[kind]},
                       s = {.x = sparse_of(t), .y = t->y[kind]};
    const int64_t P = fab_glm_size(&m);
    double *theta = malloc((size_t)P * sizeof *theta), *a = malloc((size_t)(2 * P) * sizeof *a),
           *b = malloc((size_t)(2 * P) * sizeof *b), *V = malloc((size_t)(2 * P) * sizeof *V);
    fab_objective *od, *os;
    fab_random_uniform(SEED, FAB_PURPOSE_DATA, 2, 0, P, theta);
    fab_random_uniform(SEED, FAB_PURPOSE_DATA, 3, 0, 2 * P, V);
    assert_int_equal(fab_objective_init(&od, "t", &m, &d, NULL, 0, 2, NULL), FAB_OK);
    assert_int_equal(fab_objective_init(&os, "t", &m, &s, NULL, 0, 2, NULL), FAB_OK);
    assert_null(os->x); /* nothing is made dense */
    fab_objective_diagonal(od, 2, 0.1);
    fab_objective_diagonal(os, 2, 0.1);
    const double rounding = (double)t->n * (NONZEROS + 1) * DBL_EPSILON * (double)t->n * 64;
    const double fd = fab_objective_at(od, theta, a, NULL),
                 fs = fab_objective_at(os, theta, b, NULL);
    assert_true(fabs(fd - fs) <= rounding);
    for (int64_t i = 0; i < P; i++) assert_true(fabs(a[i] - b[i]) <= rounding);
    fab_objective_curvature(od, theta);
    fab_objective_curvature(os, theta);
    assert_int_equal(fab_objective_diag(od, a), FAB_OK);
    assert_int_equal(fab_objective_diag(os, b), FAB_OK);
    for (int64_t i = 0; i < P; i++) assert_true(fabs(a[i] - b[i]) <= rounding);
    assert_int_equal(fab_objective_times(od, 2, V, a), FAB_OK);
    assert_int_equal(fab_objective_times(os, 2, V, b), FAB_OK);
    for (int64_t i = 0; i < 2 * P; i++) assert_true(fabs(a[i] - b[i]) <= rounding);
    fab_objective_free(od);
    fab_objective_free(os);
    free(theta);
    free(V);
    free(a);
    free(b);
}

static void the_objective_of_sparse_rows_is_that_of_dense_ones(void **state)
{
    (void)state;
    table t = make_table(300, 61); /* more than a block of rows */
    for (int kind = 0; kind < 4; kind++) check_objective(&t, (fab_likelihood)kind);
    free_table(&t);
}

/* ---- methods ------------------------------------------------------------------------------------- */

static fab_fit *fit(const char *method, const void *settings, fab_likelihood l, const fab_rows *x,
                    const double *y, const fab_gauss **q)
{
    fab_fit *f;
    fab_glm glm = {.likelihood = l, .D = x->ld, .classes = 1, .intercept = 1};
    const fab_model m = fab_model_linear(&glm);
    const fab_examples e = {.x = *x, .y = y};
    if (fab_fit_create(&f, method, settings, fab_method_find(method)->fields->size,
                       &(fab_input){.model = &m}, NULL) != FAB_OK ||
        fab_fit_update(f, &e) != FAB_OK || fab_fit_gauss(f, q) != FAB_OK)
        fail_msg("%s", fab_detail());
    return f;
}

/* The same bytes from sparse and from dense rows, and the same predictions. */
static void check_same_bytes(const table *t, const char *method, const void *settings,
                             fab_likelihood l)
{
    const fab_rows s = sparse_of(t), d = dense_of(t);
    const fab_gauss *qs, *qd;
    fab_fit *fs = fit(method, settings, l, &s, t->y[l], &qs);
    fab_fit *fd = fit(method, settings, l, &d, t->y[l], &qd);
    assert_int_equal(qs->K, qd->K);
    assert_memory_equal(qs->mu, qd->mu, (size_t)qd->D * sizeof(double));
    if (qd->form != FAB_FORM_POINT) {
        assert_memory_equal(qs->psi, qd->psi, (size_t)qd->D * sizeof(double));
        assert_memory_equal(qs->F, qd->F, (size_t)(qd->D * qd->K) * sizeof(double));
    }
    fab_glm m;
    double out[4][300];
    assert_int_equal(fab_fit_glm(fd, &m), FAB_OK);
    assert_int_equal(fab_predict_eta(qd, &m, &s, NULL, NULL, out[0], out[1]), FAB_OK);
    assert_int_equal(fab_predict_eta(qd, &m, &d, NULL, NULL, out[2], out[3]), FAB_OK);
    assert_memory_equal(out[0], out[2], (size_t)t->n * sizeof(double));
    assert_memory_equal(out[1], out[3], (size_t)t->n * sizeof(double));
    fab_fit_free(fs);
    fab_fit_free(fd);
}

static void methods_give_the_same_bytes_from_sparse_rows(void **state)
{
    (void)state;
    table t = make_table(300, 29);
    fab_exact_settings exact = fab_exact_defaults();
    fab_laplace_settings laplace = fab_laplace_defaults();
    fab_lrvga_settings lrvga = fab_lrvga_defaults(5);
    fab_rvga_settings rvga = fab_rvga_defaults();
    check_same_bytes(&t, "exact", &exact, FAB_LIKELIHOOD_GAUSSIAN);
    check_same_bytes(&t, "laplace", &laplace, FAB_LIKELIHOOD_BERNOULLI);
    check_same_bytes(&t, "map", &laplace, FAB_LIKELIHOOD_BERNOULLI);
    check_same_bytes(&t, "rvga", &rvga, FAB_LIKELIHOOD_BERNOULLI);
    check_same_bytes(&t, "lrvga", &lrvga, FAB_LIKELIHOOD_BERNOULLI);
    free_table(&t);
}

/* Above FAB_LAPLACE_MAX coordinates nothing is made dense.  Both end where a step promises less than
 * ROUNDING (1 + f) = 1e-9 (1 + f) (mode.c), and f is at least alpha / 2 |theta - mode|^2 above its least. */
static void map_of_many_coordinates_is_that_of_dense_rows(void **state)
{
    (void)state;
    table t = make_table(150, 4001);
    fab_laplace_settings s = fab_laplace_defaults();
    const fab_rows sparse = sparse_of(&t), dense = dense_of(&t);
    const fab_gauss *a, *b;
    s.train.alpha = 1;
    s.intercept_alpha = 1;
    fab_fit *fa =
        fit("map", &s, FAB_LIKELIHOOD_BERNOULLI, &sparse, t.y[FAB_LIKELIHOOD_BERNOULLI], &a);
    fab_fit *fb =
        fit("map", &s, FAB_LIKELIHOOD_BERNOULLI, &dense, t.y[FAB_LIKELIHOOD_BERNOULLI], &b);
    fab_report ra, rb;
    assert_int_equal(fab_fit_report(fa, &ra), FAB_OK);
    assert_int_equal(fab_fit_report(fb, &rb), FAB_OK);
    assert_true(ra.converged == 1 && rb.converged == 1);
    double far = 0;
    for (int64_t i = 0; i < a->D; i++) far += (a->mu[i] - b->mu[i]) * (a->mu[i] - b->mu[i]);
    const double f = (double)t.n * log(2), gap = sqrt(2 * 1e-9 * (1 + f) / s.train.alpha);
    assert_true(sqrt(far) <= 2 * gap);
    assert_true(fabs(a->mu[t.index[0]]) > 0.01); /* and they have learned something */
    fab_fit_free(fa);
    fab_fit_free(fb);
    free_table(&t);
}

/* ---- files --------------------------------------------------------------------------------------- */

static fab_source *open_libsvm(const char *text, int64_t features)
{
    const fab_source_options o = {.format = FAB_FORMAT_LIBSVM, .features = features};
    fab_source *s;
    if (fab_source_open_memory(&s, "rows.svm", text, strlen(text), &o, 16) != FAB_OK)
        fail_msg("%s", fab_detail());
    return s;
}

static void libsvm_rows_are_given_as_they_stand(void **state)
{
    (void)state;
    fab_source *s = open_libsvm("1 1:0.5 3:-2\n-1\n2.5 2:7 4:9\n", 3);
    fab_sparse r = {0};
    int64_t got;
    assert_int_equal(fab_source_next_sparse(s, 1, &r, &got), FAB_OK);
    assert_int_equal(got, 1);
    assert_int_equal(fab_source_next_sparse(s, 9, &r, &got), FAB_OK);
    assert_int_equal(got, 2);
    assert_true(r.n == 3 && r.values == 3); /* 4:9 is above the 3 features */
    const int64_t start[] = {0, 2, 2, 3};
    const int32_t index[] = {0, 2, 1};
    const double value[] = {0.5, -2, 7}, label[] = {1, -1, 2.5};
    assert_memory_equal(r.start, start, sizeof start);
    assert_memory_equal(r.index, index, sizeof index);
    assert_memory_equal(r.value, value, sizeof value);
    assert_memory_equal(r.label, label, sizeof label);
    assert_int_equal(fab_source_next_sparse(s, 9, &r, &got), FAB_OK);
    assert_int_equal(got, 0);
    fab_sparse_free(&r);
    fab_source_close(s);
}

static void a_bad_sparse_row_adds_nothing(void **state)
{
    (void)state;
    fab_source *s = open_libsvm("1 1:0.5\n1 1:2 1:3\n2 2:7\n", 0);
    fab_sparse r = {0};
    double dense[3];
    int64_t got;
    assert_int_equal(fab_source_next_sparse(s, 9, &r, &got), FAB_BAD_DATA);
    assert_string_equal(fab_detail(),
                        "rows.svm: line 2: '1:3' does not follow in increasing order");
    assert_true(got == 1 && r.n == 1 && r.values == 1);
    assert_int_equal(fab_source_next(s, 1, dense, &got), FAB_OK); /* dense again */
    assert_true(got == 1 && dense[0] == 2 && dense[1] == 0 && dense[2] == 7);
    fab_sparse_free(&r);
    fab_source_close(s);
    assert_int_equal(fab_source_open_memory(&s, "rows.csv", "1,2\n", 4, NULL, 16), FAB_OK);
    assert_int_equal(fab_source_next_sparse(s, 1, &r, &got), FAB_UNSUPPORTED);
    assert_string_equal(fab_detail(), "rows.csv: is csv: only libsvm has sparse rows");
    fab_source_close(s);
}

/* The table as a libsvm file, and as csv with the label first. */
static char *print_table(const table *t, int libsvm)
{
    char *text = malloc((size_t)(t->n * (t->D + 2)) * 32), *p = text;
    if (!libsvm) p += sprintf(p, "label");
    for (int64_t i = 1; i <= t->D && !libsvm; i++) p += sprintf(p, ",x%d", (int)i);
    if (!libsvm) p += sprintf(p, "\n");
    for (int64_t j = 0; j < t->n; j++, p += sprintf(p, "\n")) {
        p += sprintf(p, "%.17g", t->y[FAB_LIKELIHOOD_GAUSSIAN][j]);
        for (int64_t k = 0; k < NONZEROS && libsvm; k++)
            p +=
                sprintf(p, " %d:%.17g", t->index[j * NONZEROS + k] + 1, t->value[j * NONZEROS + k]);
        for (int64_t i = 0; i < t->D && !libsvm; i++) p += sprintf(p, ",%.17g", t->x[j * t->D + i]);
    }
    return text;
}

static fab_dataset *read_table(const char *text, fab_columns columns)
{
    fab_source *s = NULL;
    fab_dataset *t = NULL;
    if (fab_source_open_memory(&s, "rows", text, strlen(text), NULL, 64) != FAB_OK ||
        fab_dataset_read(&t, s, &columns) != FAB_OK)
        fail_msg("%s", fab_detail());
    fab_source_close(s);
    return t;
}

/* Scales within rounding: sums of n terms in another order. */
static void a_libsvm_table_stays_sparse_and_has_the_units_of_a_dense_one(void **state)
{
    (void)state;
    enum { D = 28 };
    table t = make_table(60, D);
    char *sparse = print_table(&t, 1), *dense = print_table(&t, 0);
    fab_dataset *a = read_table(sparse, (fab_columns){0});
    fab_dataset *b = read_table(dense, (fab_columns){.target = "label"});
    assert_true(a->packed && !b->packed && !a->x);
    assert_true(a->D == D && b->D == D);
    assert_memory_equal(a->y, b->y, (size_t)t.n * sizeof *a->y);
    char ca[D], cb[D];
    assert_int_equal(fab_dataset_constants(a, ca), FAB_OK);
    assert_int_equal(fab_dataset_constants(b, cb), FAB_OK);
    assert_memory_equal(ca, cb, sizeof ca);
    fab_scaling *ka, *kb;
    assert_int_equal(fab_scaling_create(&ka, a, FAB_TARGET_REAL, 1, 1), FAB_OK);
    b->sparse = 1; /* never centred */
    assert_int_equal(fab_scaling_create(&kb, b, FAB_TARGET_REAL, 1, 1), FAB_OK);
    assert_int_equal(fab_scaling_apply(ka, a), FAB_OK);
    assert_int_equal(fab_scaling_apply(kb, b), FAB_OK);
    assert_true(a->packed);
    const fab_rows x = fab_dataset_rows(a), y = fab_dataset_rows(b);
    for (int64_t d = 0; d < D; d++) {
        assert_true(fabs(ka->scale[d] - kb->scale[d]) <= 60 * DBL_EPSILON * kb->scale[d]);
        for (int64_t j = 0; j < t.n; j++)
            assert_true(fabs(fab_rows_at(&x, j, d) - fab_rows_at(&y, j, d)) <=
                        61 * DBL_EPSILON * fabs(fab_rows_at(&y, j, d)));
    }
    fab_scaling_free(ka);
    fab_scaling_free(kb);
    fab_dataset_free(a);
    fab_dataset_free(b);
    free(sparse);
    free(dense);
    free_table(&t);
}

static void units_with_means_make_a_sparse_table_dense(void **state)
{
    (void)state;
    fab_dataset *a = read_table("1 1:2 2:1\n2 2:3\n4 1:1\n", (fab_columns){0});
    fab_dataset *b =
        read_table("label,x1,x2\n1,2,1\n2,0,3\n4,1,0\n", (fab_columns){.target = "label"});
    fab_scaling *k;
    assert_int_equal(fab_scaling_create(&k, b, FAB_TARGET_REAL, 1, 1), FAB_OK);
    assert_int_equal(fab_scaling_apply(k, a), FAB_OK);
    assert_int_equal(fab_scaling_apply(k, b), FAB_OK);
    assert_false(a->packed);
    assert_memory_equal(a->x, b->x, 6 * sizeof *a->x);
    fab_scaling_free(k);
    fab_dataset_free(a);
    fab_dataset_free(b);
}

static void zeros_that_are_not_there_count(void **state)
{
    (void)state;
    fab_dataset *t = read_table("1 1:5 2:3\n2 2:3\n4 1:5 2:3\n", (fab_columns){0});
    char constant[2];
    fab_scaling *k;
    assert_int_equal(fab_dataset_constants(t, constant), FAB_OK);
    assert_true(!constant[0] && constant[1]);
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1), FAB_OK);
    assert_true(fabs(k->scale[0] - sqrt(50.0 / 9)) <= 4 * DBL_EPSILON); /* of 5, 0, 5 */
    assert_true(k->scale[1] == 1 && k->mean[0] == 0 && k->mean[1] == 0);
    fab_scaling_free(k);
    fab_dataset_free(t);
}

/* A model whose columns stand in another order reads the file dense, by name; x01 is no name of it. */
static void columns_in_another_order_make_a_libsvm_table_dense(void **state)
{
    (void)state;
    fab_dataset *t = read_table("label,x2,x1\n1,2,1\n2,0,3\n", (fab_columns){.target = "label"});
    fab_scaling *k;
    fab_source *s = open_libsvm("1 1:7 2:9\n", 0);
    fab_feed *f;
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 0, 1), FAB_OK);
    fab_dataset_free(t);
    assert_int_equal(fab_feed_open_as(&f, s, k, FAB_READ_FEATURES), FAB_OK);
    assert_int_equal(fab_feed_table(f, &t), FAB_OK);
    assert_int_equal(fab_feed_read(f, 9, t), FAB_OK);
    assert_true(!t->packed && t->n == 1 && t->x[0] == 9 && t->x[1] == 7);
    assert_int_equal(fab_source_column(s, "x2"), 2);
    assert_int_equal(fab_source_column(s, "label"), 0);
    assert_int_equal(fab_source_column(s, "x0"), -1);
    assert_int_equal(fab_source_column(s, "x01"), -1);
    assert_int_equal(fab_source_column(s, "x3"), -1);
    fab_feed_close(f);
    fab_source_close(s);
    fab_scaling_free(k);
    fab_dataset_free(t);
}

static const char *sparse_text;
static fab_status read_and_scale(void)
{
    fab_source *s;
    fab_dataset *t = NULL;
    fab_scaling *k = NULL;
    fab_status status =
        fab_source_open_memory(&s, "rows", sparse_text, strlen(sparse_text), NULL, 64);
    if (status == FAB_OK) status = fab_dataset_read(&t, s, &(fab_columns){0});
    if (status == FAB_OK) status = fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1);
    if (status == FAB_OK) status = fab_scaling_apply(k, t);
    fab_scaling_free(k);
    fab_dataset_free(t);
    fab_source_close(s);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    sparse_text = "1 1:5 2:3\n2 2:3\n4 1:5 2:3\n";
    assert_true(fail_every_allocation(read_and_scale) > 15);
}

static void another_target_than_the_label_makes_a_libsvm_table_dense(void **state)
{
    (void)state;
    fab_dataset *t = read_table("1 1:2 2:1\n2 2:3\n", (fab_columns){.target = "x2"});
    const double x[] = {1, 2, 2, 0}, y[] = {1, 3};
    assert_false(t->packed);
    assert_memory_equal(t->x, x, sizeof x);
    assert_memory_equal(t->y, y, sizeof y);
    fab_dataset_free(t);
}

/* 1000 rows of 200000 features with 50 values each: 50000 numbers, where a dense table had 1.6 GB. */
static void many_features_take_memory_by_their_values(void **state)
{
    (void)state;
    enum { ROWS = 1000, EACH = 50, STEP = 4000 };
    char *text = malloc(ROWS * EACH * 24), *p = text;
    for (int j = 0; j < ROWS; j++, p += sprintf(p, "\n")) {
        p += sprintf(p, "%d", j % 2);
        for (int k = 0; k < EACH; k++)
            p += sprintf(p, " %d:%d", STEP * k + (j * 7919 + k * 104729) % STEP + 1,
                         1 + (j + k) % 3);
    }
    fab_dataset *t = read_table(text, (fab_columns){0});
    fab_scaling *k;
    assert_true(t->packed && t->n == ROWS && t->cells.values == ROWS * EACH);
    assert_true(t->D > (EACH - 1) * STEP && t->D <= EACH * STEP);
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_CLASSES, 1, 1), FAB_OK);
    assert_int_equal(fab_scaling_apply(k, t), FAB_OK);
    fab_laplace_settings s = fab_laplace_defaults();
    s.train.alpha = 1;
    const fab_rows x = fab_dataset_rows(t);
    const fab_gauss *q;
    fab_fit *f = fit("map", &s, FAB_LIKELIHOOD_BERNOULLI, &x, t->y, &q);
    fab_report r;
    assert_int_equal(fab_fit_report(f, &r), FAB_OK);
    assert_int_equal(r.converged, 1);
    fab_fit_free(f);
    fab_scaling_free(k);
    fab_dataset_free(t);
    free(text);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sparse_rows_read_like_dense_ones),
        TEST(an_empty_row_is_zero),
        TEST(bad_sparse_rows_are_refused),
        TEST(what_takes_no_sparse_rows_says_so),
        TEST(the_objective_of_sparse_rows_is_that_of_dense_ones),
        TEST(methods_give_the_same_bytes_from_sparse_rows),
        TEST(map_of_many_coordinates_is_that_of_dense_rows),
        TEST(libsvm_rows_are_given_as_they_stand),
        TEST(a_bad_sparse_row_adds_nothing),
        TEST(a_libsvm_table_stays_sparse_and_has_the_units_of_a_dense_one),
        TEST(units_with_means_make_a_sparse_table_dense),
        TEST(zeros_that_are_not_there_count),
        TEST(columns_in_another_order_make_a_libsvm_table_dense),
        TEST(every_failed_allocation_is_reported),
        TEST(another_target_than_the_label_makes_a_libsvm_table_dense),
        TEST(many_features_take_memory_by_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
