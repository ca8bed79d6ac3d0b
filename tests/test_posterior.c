/* test_posterior.c - posteriors as files: what is saved comes back bit for bit, and what cannot be believed
 * is refused with the file's name and the reason.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/gauss.h"
#include "base/fail.h"
#include "dense.h"

enum { D = 29 };

#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, clean_up)

static int clean_up(void **state)
{
    dense_release(state);
    return remove_folder(state);
}

static void check_same(const fab_gauss *a, const fab_gauss *b)
{
    assert_true(a->form == b->form && a->D == b->D && a->K == b->K && a->total == b->total);
    assert_true(a->type == b->type || a->K == 0);
    assert_memory_equal(a->mu, b->mu, (size_t)a->D * sizeof(double));
    assert_int_equal(a->psi != NULL, b->psi != NULL);
    if (a->psi) assert_memory_equal(a->psi, b->psi, (size_t)a->D * sizeof(double));
    if (a->K)
        assert_memory_equal(a->F, b->F,
                            (size_t)(a->D * a->K) *
                                (a->type == FAB_F32 ? sizeof(float) : sizeof(double)));
    if (!a->total) return;
    assert_memory_equal(a->theta, b->theta, (size_t)a->total * sizeof(double));
    assert_memory_equal(a->index, b->index, (size_t)a->D * sizeof(int64_t));
}

static fab_gauss *some_part(fab_form form, int64_t K, uint64_t seed)
{
    fab_gauss *g;
    assert_ok(fab_gauss_create_part(&g, form, FAB_F64, D, K, 67));
    for (int64_t d = 0; d < D; d++) {
        g->mu[d] = noise(seed, d);
        if (g->psi) g->psi[d] = 1.2 + noise(seed + 1, d);
        for (int64_t k = 0; k < K; k++) F_put(g, d, k, noise(seed + 2, d * K + k));
        g->index[d] = 2 * d + 3;
    }
    for (int64_t i = 0; i < 67; i++) g->theta[i] = noise(seed + 3, i);
    return g;
}

/* ---- round trips ------------------------------------------------------------------------------- */

static void check_round_trip(const fab_gauss *g)
{
    const char *path = in_folder("q.safetensors");
    fab_posterior *p;
    assert_ok(fab_gauss_save(path, g, NULL));
    assert_ok(fab_posterior_load(&p, path));
    assert_int_equal(p->mix.n, 1);
    assert_near(p->mix.weight[0], 1, 0);
    check_same(g, p->mix.part[0]);
    assert_string_equal(fab_tensors_get(p->file, "fabayes"), fab_version());
    assert_string_equal(fab_tensors_get(p->file, "form"), fab_form_name(g->form));
    fab_posterior_free(p);
    size_t n;
    char *bytes = get_bytes(path, &n);
    assert_ok(fab_posterior_parse(&p, "memory", bytes, n));
    free(bytes);
    check_same(g, p->mix.part[0]);
    fab_posterior_free(p);
}

static void a_gaussian_comes_back_bit_for_bit(void **state)
{
    (void)state;
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_POINT; form++)
        for (int64_t K = 0; K <= (form == FAB_FORM_POINT ? 0 : 3); K += 3) {
            for (int type = FAB_F64; type <= FAB_F32; type++) {
                fab_gauss *g = some_gauss((fab_form)form, (fab_dtype)type, D, K, 130, 1);
                check_round_trip(g);
                fab_gauss_free(g);
            }
            fab_gauss *part = some_part((fab_form)form, K, 131);
            check_round_trip(part);
            fab_gauss_free(part);
        }
    fab_gauss *one = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, 1, 1, 132, 1e-300);
    one->psi[0] = 0x1p-1074;
    check_round_trip(one);
    fab_gauss_free(one);
    fab_posterior_free(NULL);
}

static void a_mixture_comes_back_bit_for_bit(void **state)
{
    (void)state;
    for (int form = FAB_FORM_COVARIANCE; form <= FAB_FORM_POINT; form++) {
        const fab_gauss *part[3];
        fab_gauss *g[3];
        const double weight[] = {0.3, 0.1, 0.6};
        for (int j = 0; j < 3; j++)
            part[j] = g[j] =
                some_part((fab_form)form, form == FAB_FORM_POINT ? 0 : 2 * j, 140 + (uint64_t)j);
        const fab_mixture m = {3, part, weight};
        fab_posterior *p;
        const char *path = in_folder("m.safetensors");
        assert_ok(fab_posterior_save(path, &m, NULL));
        assert_ok(fab_posterior_load(&p, path));
        assert_int_equal(p->mix.n, 3);
        assert_memory_equal(p->mix.weight, weight, sizeof weight);
        for (int j = 0; j < 3; j++) check_same(g[j], p->mix.part[j]);
        fab_posterior_free(p);
        for (int j = 0; j < 3; j++) fab_gauss_free(g[j]);
    }
}

static void more_metadata_and_tensors_are_kept(void **state)
{
    (void)state;
    const char *path = in_folder("q.safetensors");
    fab_gauss *g = some_gauss(FAB_FORM_PRECISION, FAB_F64, D, 3, 150, 1);
    fab_tensors *more;
    fab_posterior *p;
    const double state_[] = {1, 2.385, 3};
    assert_ok(fab_tensors_create(&more));
    assert_ok(fab_tensors_set(more, "method", "online-em"));
    assert_ok(fab_tensors_set(more, "settings", "{\"K\": 3}"));
    assert_ok(fab_tensors_set(more, "form",
                              "point")); /* the file says what it holds, not what it was told */
    assert_ok(fab_tensors_set(more, "fabayes", "99.0.0"));
    assert_ok(fab_tensors_add(more, "state.B", FAB_F64, 1, (int64_t[]){3}, state_));
    assert_ok(fab_gauss_save(path, g, more));
    fab_tensors_free(more);
    assert_ok(fab_posterior_load(&p, path));
    check_same(g, p->mix.part[0]);
    assert_string_equal(fab_tensors_get(p->file, "method"), "online-em");
    assert_string_equal(fab_tensors_get(p->file, "settings"), "{\"K\": 3}");
    assert_string_equal(fab_tensors_get(p->file, "form"), "precision");
    assert_string_equal(fab_tensors_get(p->file, "fabayes"), fab_version());
    const fab_tensor *t = fab_tensors_find(p->file, "state.B");
    assert_non_null(t);
    assert_memory_equal(t->data, state_, sizeof state_);
    fab_posterior_free(p);
    fab_gauss_free(g);
}

/* A tensor that the reader would take for a part of the Gaussian. */
static void tensors_that_would_change_the_meaning_are_refused(void **state)
{
    (void)state;
    const char *const name[] = {"mu", "F", "psi", "theta", "index", "weights", "0.mu", "12.psi"};
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 0, 151, 1);
    for (int i = 0; i < 8; i++) {
        fab_tensors *more;
        const double one = 1;
        assert_ok(fab_tensors_create(&more));
        assert_ok(fab_tensors_add(more, name[i], FAB_F64, 1, (int64_t[]){1}, &one));
        assert_refused(fab_gauss_save(in_folder("q.safetensors"), g, more), FAB_BAD_ARGUMENT,
                       name[i]);
        assert_int_equal(count_files(), 0);
        fab_tensors_free(more);
    }
    fab_gauss_free(g);
}

static void what_is_no_posterior_is_not_saved(void **state)
{
    (void)state;
    const char *path = in_folder("q.safetensors");
    fab_gauss *g = some_gauss(FAB_FORM_COVARIANCE, FAB_F64, D, 3, 152, 1),
              *h = some_gauss(FAB_FORM_PRECISION, FAB_F64, D, 3, 153, 1);
    const fab_gauss *both[] = {g, h};
    const double half[] = {0.5, 0.5}, less[] = {0.5, 0.25};
    assert_refused(fab_posterior_save(path, &(fab_mixture){2, both, half}, NULL), FAB_BAD_ARGUMENT,
                   "different forms");
    both[1] = g;
    assert_refused(fab_posterior_save(path, &(fab_mixture){2, both, less}, NULL), FAB_BAD_DATA,
                   "sum to 0.75");
    g->psi[7] = 0;
    assert_refused(fab_gauss_save(path, g, NULL), FAB_BAD_DATA, "psi[7] = 0");
    g->psi[7] = 1, g->mu[3] = NAN;
    assert_refused(fab_gauss_save(path, g, NULL), FAB_BAD_DATA, "mu[3]");
    assert_int_equal(count_files(), 0);
    assert_int_equal(fab_gauss_save(in_folder("no/such/folder"), h, NULL), FAB_BAD_FILE);
    fab_gauss_free(g);
    fab_gauss_free(h);
}

/* ---- files that cannot be believed ------------------------------------------------------------- */

/* A file under construction: a valid one of D = 3, K = 2 unless a test says otherwise. */
typedef struct draft {
    const char *version, *form;
    double mu[3], psi[3], F[6], theta[5], weights[2];
    float single[3];
    int64_t index[3];
    int has_mu, has_psi, has_F, has_theta, has_index, has_weights;
    int64_t mu_n, psi_n, F_rows, F_cols, index_n, weights_n;
    int F_ndim, mu_ndim;
    fab_dtype F_type, index_type, psi_type;
    const char *prefix;
} draft;

static draft good(void)
{
    return (draft){.version = "0.1.0",
                   .form = "covariance",
                   .mu = {1, 2, 3},
                   .psi = {1, 0.5, 2},
                   .F = {1, 2, 3, 4, 5, 6},
                   .theta = {9, 8, 7, 6, 5},
                   .weights = {0.5, 0.5},
                   .single = {1, 2, 3},
                   .index = {0, 2, 4},
                   .has_mu = 1,
                   .has_psi = 1,
                   .has_F = 1,
                   .mu_n = 3,
                   .psi_n = 3,
                   .F_rows = 3,
                   .F_cols = 2,
                   .index_n = 3,
                   .weights_n = 2,
                   .F_ndim = 2,
                   .mu_ndim = 1,
                   .F_type = FAB_F64,
                   .index_type = FAB_I64,
                   .psi_type = FAB_F64,
                   .prefix = ""};
}

static void add(fab_tensors *t, const char *prefix, const char *name, fab_dtype type, int ndim,
                const int64_t *shape, const void *data)
{
    char full[32];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    assert_ok(fab_tensors_add(t, full, type, ndim, shape, data));
}

static const char *write_draft(const draft *d)
{
    const char *path = in_folder("bad.safetensors");
    fab_tensors *t;
    assert_ok(fab_tensors_create(&t));
    if (d->version) assert_ok(fab_tensors_set(t, "fabayes", d->version));
    if (d->form) assert_ok(fab_tensors_set(t, "form", d->form));
    if (d->has_mu) add(t, d->prefix, "mu", FAB_F64, d->mu_ndim, (int64_t[]){d->mu_n, 1}, d->mu);
    if (d->has_psi)
        add(t, d->prefix, "psi", d->psi_type, 1, &d->psi_n,
            d->psi_type == FAB_F32 ? (const void *)d->single : d->psi);
    if (d->has_F)
        add(t, d->prefix, "F", d->F_type, d->F_ndim, (int64_t[]){d->F_rows, d->F_cols}, d->F);
    if (d->has_theta) add(t, d->prefix, "theta", FAB_F64, 1, (int64_t[]){5}, d->theta);
    if (d->has_index) add(t, d->prefix, "index", d->index_type, 1, &d->index_n, d->index);
    if (d->has_weights) add(t, "", "weights", FAB_F64, 1, &d->weights_n, d->weights);
    if (d->has_weights && d->weights_n > 1) {
        add(t, "1.", "mu", FAB_F64, 1, (int64_t[]){3}, d->mu);
        add(t, "1.", "psi", FAB_F64, 1, (int64_t[]){3}, d->psi);
    }
    assert_ok(fab_tensors_write(t, path));
    fab_tensors_free(t);
    return path;
}

static void check_refused(const draft *d, const char *reason)
{
    fab_posterior *p = (fab_posterior *)1;
    const char *path = write_draft(d);
    const fab_status s = fab_posterior_load(&p, path);
    if (s != FAB_BAD_FILE) fail_msg("'%s' was not seen: %s", reason, fab_strerror(s));
    assert_null(p);
    assert_detail("bad.safetensors: ", reason);
}

static void check_taken(const draft *d)
{
    fab_posterior *p;
    assert_ok(fab_posterior_load(&p, write_draft(d)));
    fab_posterior_free(p);
}

static void version_and_form_are_all_a_file_needs(void **state)
{
    (void)state;
    draft d = good();
    check_taken(&d);
    d.has_F = 0; /* K = 0 */
    check_taken(&d);
    d.form = "point", d.has_psi = 0;
    check_taken(&d);
    d = good();
    d.psi_type = FAB_F32;
    check_taken(&d);
    d = good();
    d.has_theta = d.has_index = 1;
    check_taken(&d);
    d = good();
    d.F_cols = 0;
    check_taken(&d);
    d = good();
    d.prefix = "0.", d.has_weights = 1;
    check_taken(&d);
    d.weights_n = 1, d.weights[0] = 1;
    check_taken(&d);
}

#define REFUSED(change, reason)    \
    do {                           \
        draft d = good();          \
        change;                    \
        check_refused(&d, reason); \
    } while (0)

static void numbers_that_cannot_be_are_refused(void **state)
{
    (void)state;
    REFUSED(d.psi[1] = 0, "psi[1] = 0");
    REFUSED(d.psi[2] = -2.385, "psi[2] = -2.385");
    REFUSED(d.psi[0] = NAN, "psi[0]");
    REFUSED(d.psi[0] = INFINITY, "psi[0]");
    REFUSED(d.mu[2] = NAN, "mu[2]");
    REFUSED(d.F[5] = -INFINITY, "F[2][1]");
    REFUSED((d.has_theta = d.has_index = 1, d.theta[4] = NAN), "theta[4]");
    REFUSED((d.has_theta = d.has_index = 1, d.index[1] = 0), "index[1] = 0");
    REFUSED((d.has_theta = d.has_index = 1, d.index[2] = 5), "index[2] = 5");
    REFUSED((d.has_theta = d.has_index = 1, d.index[0] = -1), "index[0] = -1");
    REFUSED((d.prefix = "0.", d.has_weights = 1, d.weights[0] = 0.4), "weights sum to 0.9");
    REFUSED((d.prefix = "0.", d.has_weights = 1, d.weights[0] = -0.5), "weight 0 is -0.5");
    REFUSED((d.prefix = "0.", d.has_weights = 1, d.weights[0] = NAN), "weight 0 is nan");
}

static void pieces_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    REFUSED(d.version = NULL, "no 'fabayes'");
    REFUSED(d.form = NULL, "no 'form'");
    REFUSED(d.form = "banana", "form 'banana' is not covariance, precision or point");
    REFUSED(d.form = "Covariance", "form 'Covariance'");
    REFUSED(d.has_mu = 0, "no tensor 'mu'");
    REFUSED(d.has_psi = 0, "no tensor 'psi'");
    REFUSED(d.mu_ndim = 2, "'mu'");
    REFUSED(d.mu_n = 0, "'mu'");
    REFUSED(d.psi_n = 2, "'psi'");
    REFUSED(d.F_rows = 2, "'F'");
    REFUSED((d.F_ndim = 1, d.F_rows = 6), "'F'");
    REFUSED(d.F_type = FAB_I64, "'F' is i64");
    REFUSED(d.has_theta = 1, "no tensor 'index'");
    REFUSED(d.has_index = 1, "no tensor 'theta'");
    REFUSED((d.has_theta = d.has_index = 1, d.index_n = 2), "'index'");
    REFUSED((d.has_theta = d.has_index = 1, d.index_type = FAB_F64), "'index' is f64");
    REFUSED((d.has_weights = 1), "no tensor '0.mu'");
    REFUSED((d.prefix = "0."), "no tensor 'mu'");
    REFUSED((d.prefix = "0.", d.has_weights = 1, d.weights_n = 0), "weights");
    REFUSED((d.prefix = "0.", d.has_weights = 1, d.mu_n = 2, d.psi_n = 2, d.F_rows = 2),
            "part 1 has D = 3");
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    fab_posterior *p = (fab_posterior *)1;
    assert_int_equal(fab_posterior_load(&p, in_folder("missing")), FAB_BAD_FILE);
    assert_null(p);
    assert_detail("missing", "");
    p = (fab_posterior *)1;
    assert_int_equal(fab_posterior_parse(&p, "memory", "garbage", 7), FAB_BAD_FILE);
    assert_null(p);
    assert_detail("memory", "");
    const draft d = good();
    size_t n;
    char *bytes = get_bytes(write_draft(&d), &n);
    for (size_t cut = 0; cut < n; cut++) {
        assert_int_equal(fab_posterior_parse(&p, "cut", bytes, cut), FAB_BAD_FILE);
        assert_null(p);
    }
    free(bytes);
}

/* ---- allocations ------------------------------------------------------------------------------- */

static const fab_mixture *given;

static fab_status save_and_load(void)
{
    const char *path = in_folder("a.safetensors");
    fab_posterior *p = (fab_posterior *)1;
    FAB_TRY(fab_posterior_save(path, given, NULL));
    const fab_status s = fab_posterior_load(&p, path);
    assert_int_equal(s == FAB_OK, p != NULL);
    fab_posterior_free(p);
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    fab_gauss *g[2] = {some_part(FAB_FORM_COVARIANCE, 2, 160),
                       some_part(FAB_FORM_COVARIANCE, 0, 161)};
    const fab_gauss *part[] = {g[0], g[1]};
    const double weight[] = {0.25, 0.75};
    const fab_mixture m = {2, part, weight};
    given = &m;
    assert_true(fail_every_allocation(save_and_load) > 6);
    assert_int_equal(count_files(), 1);
    for (int j = 0; j < 2; j++) fab_gauss_free(g[j]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(a_gaussian_comes_back_bit_for_bit),
        FILE_TEST(a_mixture_comes_back_bit_for_bit),
        FILE_TEST(more_metadata_and_tensors_are_kept),
        FILE_TEST(tensors_that_would_change_the_meaning_are_refused),
        FILE_TEST(what_is_no_posterior_is_not_saved),
        FILE_TEST(version_and_form_are_all_a_file_needs),
        FILE_TEST(numbers_that_cannot_be_are_refused),
        FILE_TEST(pieces_that_do_not_fit_are_refused),
        FILE_TEST(what_is_no_file_is_refused),
        FILE_TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
