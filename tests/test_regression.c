/* test_regression.c - a table fitted, used and saved by the library: the same from arrays, files and the command line.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/random.h"
#include "fabayes/table.h"
#include "files.h"
#include "table/regression.h"
#include <math.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

enum { N = 61, D = 3, WORDS = 3 };

/* The rows: numbers that are floats, words, and a target of each kind. */
static struct {
    double x[N * D], across[D * N], price[N], weight[N];
    float single[N * D];
    int32_t code[N], kind_code[N];
    const char *street[N], *kind[N];
} rows;
static const char *const street_names[WORDS] = {"oak", "elm", "ash"};
static const char *const kind_names[WORDS] = {"hut", "flat", "castle"};
static const char *const number_names[D] = {"area", "rooms", "age"};

static void make_rows(void)
{
    double noise[N];
    fab_random_normal(3, FAB_PURPOSE_DATA, 1, 0, N * D, FAB_F64, rows.x);
    fab_random_normal(3, FAB_PURPOSE_DATA, 2, 0, N, FAB_F64, noise);
    for (int i = 0; i < N; i++) {
        for (int d = 0; d < D; d++) {
            rows.single[i * D + d] = (float)rows.x[i * D + d];
            rows.x[i * D + d] = rows.across[d * N + i] = rows.single[i * D + d];
        }
        rows.code[i] = (i * i + 1) % WORDS == 2 ? 2 : i % 2;
        rows.street[i] = street_names[rows.code[i]];
        rows.price[i] = 2.385 + 1.7 * rows.x[i * D] - 0.6 * rows.x[i * D + 2] + rows.code[i] +
                        0.3 * noise[i];
        rows.kind_code[i] = rows.price[i] + noise[i] > 3.4 ? 2 : rows.price[i] > 2;
        rows.kind[i] = kind_names[rows.kind_code[i]];
        rows.weight[i] = 1 + i % 3;
    }
}

/* "area,rooms,age,street,weight,price,kind", without those that are not asked for. */
static const char *write_csv(const char *name, int words, int weights, const char *target)
{
    const char *path = in_folder(name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "area,rooms,age%s%s,%s\n", words ? ",street" : "", weights ? ",weight" : "", target);
    for (int i = 0; i < N; i++) {
        for (int d = 0; d < D; d++) fprintf(f, "%.17g,", rows.x[i * D + d]);
        if (words) fprintf(f, "%s,", rows.street[i]);
        if (weights) fprintf(f, "%.17g,", rows.weight[i]);
        if (strcmp(target, "kind") == 0)
            fprintf(f, "%s\n", rows.kind[i]);
        else
            fprintf(f, "%.17g\n", rows.price[i]);
    }
    fclose(f);
    return path;
}

static fab_regression *fit(const fab_data *d, const fab_plan *p)
{
    fab_regression *r;
    if (fab_regression_fit(&r, d, p, NULL) != FAB_OK) fail_msg("%s", fab_detail());
    return r;
}

/* Gives the bytes that a fit saves: free. */
static char *bytes_of(const fab_data *d, const fab_plan *p, size_t *n)
{
    fab_regression *r = fit(d, p);
    const char *path = in_folder("saved");
    if (fab_regression_save(r, path) != FAB_OK) fail_msg("%s", fab_detail());
    fab_regression_free(r);
    return get_bytes(path, n);
}

static void assert_same_fit(const fab_data *a, const fab_data *b, const fab_plan *p)
{
    size_t n, m;
    char *one = bytes_of(a, p, &n), *two = bytes_of(b, p, &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, two, n);
    free(one);
    free(two);
}

static const fab_array price = {.name = "price", .p = rows.price};
static const fab_plan as_chosen;

/* ---- arrays and files ------------------------------------------------------------------------------- */

static void numbers_in_any_layout_are_the_file(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", write_csv("t.csv", 0, 0, "price"));
    const fab_data file = {.file = path, .columns = {.target = "price"}};
    const fab_array one[D] = {{.name = "area", .p = rows.x, .stride = D},
                              {.name = "rooms", .p = rows.single + 1, .type = FAB_F32, .stride = D},
                              {.name = "age", .p = rows.across + 2 * N}};
    const fab_arrays ways[] = {
        {.n = N, .x = rows.x, .D = D, .name = number_names, .y = price},
        {.n = N,
         .x = rows.across,
         .D = D,
         .row_stride = 1,
         .column_stride = N,
         .name = number_names,
         .y = price},
        {.n = N, .x = rows.single, .type = FAB_F32, .D = D, .name = number_names, .y = price},
        {.n = N, .column = one, .columns = D, .y = price},
        {.n = N,
         .x = rows.x,
         .D = 1,
         .row_stride = D,
         .column_stride = 1,
         .name = number_names,
         .column = one + 1,
         .columns = 2,
         .y = price}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        assert_same_fit(&file, &(fab_data){.arrays = &ways[i]}, &as_chosen);
    fab_dataset *t;
    assert_int_equal(fab_dataset_create(&t, &(fab_data){.arrays = &ways[1]}), FAB_OK);
    assert_same_fit(&file, &(fab_data){.table = t}, &as_chosen);
    fab_dataset_free(t);
}

static void words_and_codes_are_the_file(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", write_csv("t.csv", 1, 1, "kind"));
    const fab_data file = {.file = path, .columns = {.target = "kind", .weight = "weight"}};
    const char *const *words = street_names;
    const fab_array text = {.name = "street", .text = rows.street},
                    code = {.name = "street", .code = rows.code, .word = words, .words = WORDS},
                    kind = {.name = "kind", .text = rows.kind},
                    kind_code = {.name = "kind",
                                 .code = rows.kind_code,
                                 .word = kind_names,
                                 .words = WORDS},
                    weight = {.p = rows.weight};
    const fab_arrays a = {.n = N,
                          .x = rows.x,
                          .D = D,
                          .name = number_names,
                          .column = &text,
                          .columns = 1,
                          .y = kind,
                          .weight = weight},
                     b = {.n = N,
                          .x = rows.x,
                          .D = D,
                          .name = number_names,
                          .column = &code,
                          .columns = 1,
                          .y = kind_code,
                          .weight = weight};
    const fab_plan stream = {.method = "lrvga", .scale_rows = 7};
    assert_same_fit(&file, &(fab_data){.arrays = &a}, &as_chosen);
    assert_same_fit(&file, &(fab_data){.arrays = &b}, &as_chosen);
    assert_same_fit(&file, &(fab_data){.arrays = &a},
                    &stream); /* words and classes behind the first rows */
    assert_same_fit(&file, &(fab_data){.arrays = &b}, &stream);
    fab_dataset *t;
    assert_int_equal(fab_dataset_create(&t, &file), FAB_OK);
    assert_same_fit(&file, &(fab_data){.table = t}, &as_chosen);
    assert_same_fit(&file, &(fab_data){.table = t}, &stream);
    fab_dataset_free(t);
}

static void sparse_rows_are_the_libsvm_file(void **state)
{
    (void)state;
    enum { F = 11 };
    int64_t start[N + 1] = {0};
    int32_t index[N * D];
    double value[N * D];
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("t.svm"));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < N; i++) {
        int64_t at = start[i];
        fprintf(f, "%.17g", rows.price[i]);
        for (int d = 0; d < D; d++, at++) {
            index[at] = 4 * d + (i + d) % (d == 2 ? 3 : 4);
            value[at] = rows.x[i * D + d];
            fprintf(f, " %d:%.17g", index[at] + 1, value[at]);
        }
        fprintf(f, "\n");
        start[i + 1] = at;
    }
    fclose(f);
    const fab_arrays a = {.n = N, .x = value, .D = F, .start = start, .index = index, .y = price};
    const fab_data file = {.file = path};
    assert_same_fit(&file, &(fab_data){.arrays = &a}, &as_chosen);
    assert_same_fit(&file, &(fab_data){.arrays = &a},
                    &(fab_plan){.method = "lrvga", .scale_rows = 9});
    fab_dataset *t;
    assert_int_equal(fab_dataset_create(&t, &(fab_data){.arrays = &a}), FAB_OK);
    assert_true(t->packed && t->n == N);
    assert_same_fit(&file, &(fab_data){.table = t}, &as_chosen);
    fab_dataset_free(t);
}

/* ---- the command line --------------------------------------------------------------------------------- */

/* Run it with these words; what it says comes back: free. */
static char *shell(const char *words)
{
    char command[2048];
    size_t n;
    const char *program = getenv("FABAYES");
    if (!program) skip();
    snprintf(command, sizeof command, "%s %s > %s", program, words, in_folder("said"));
    if (system(command) != 0) fail_msg("%s", command);
    char *said = get_bytes(in_folder("said"), &n);
    said[n < (1 << 20) ? n : (1 << 20) - 1] = '\0';
    return said;
}

static double number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    if (!at) fail_msg("there is no %s in %s", key, text);
    return strtod(at + strlen(key), NULL);
}

static void check_predictions(const fab_predictions *p, const fab_scaling *k, const char *said)
{
    const char *line = strchr(said, '\n') + 1;
    for (int64_t i = 0; i < p->n; i++, line = strchr(line, '\n') + 1) {
        char mine[256] = "", buf[32];
        size_t used = 0;
        if (p->classes)
            used = (size_t)snprintf(mine, sizeof mine, "%s",
                                    fab_scaling_class(k, fab_predictions_class(p, i), buf));
        if (p->classes)
            for (int64_t c = 0; c < p->classes; c++)
                used += (size_t)snprintf(mine + used, sizeof mine - used, ",%.17g",
                                         fab_predictions_probability(p, i, c));
        else
            used = (size_t)snprintf(mine, sizeof mine, "%.17g,%.17g,%.17g,%.17g", p->p[i].mean,
                                    p->p[i].sd, p->p[i].lower, p->p[i].upper);
        assert_memory_equal(mine, line, used);
        assert_true(line[used] == '\n');
    }
    assert_true(*line == '\0');
}

/* Fit, predict and score by the library and by the command line; `r` stays in memory, or is read from its file. */
static void hold_against_shell(const char *target, const char *options, const fab_plan *plan,
                               int from_file)
{
    char path[512], words[1200];
    size_t n, m;
    snprintf(path, sizeof path, "%s", write_csv("t.csv", 1, 0, target));
    const fab_data file = {.file = path, .columns = {.target = target}};
    snprintf(words, sizeof words, "fit %s -y %s %s -o %s --quiet", path, target, options,
             in_folder("shell"));
    free(shell(words));
    fab_regression *r = fit(&file, plan);
    assert_int_equal(fab_regression_save(r, in_folder("library")), FAB_OK);
    char *theirs = get_bytes(in_folder("shell"), &n), *ours = get_bytes(in_folder("library"), &m);
    assert_int_equal(n, m);
    assert_memory_equal(theirs, ours, n);
    free(theirs);
    free(ours);
    if (from_file) {
        fab_regression_free(r);
        assert_int_equal(fab_regression_load(&r, in_folder("library"), NULL), FAB_OK);
    }

    fab_predictions *p;
    assert_int_equal(fab_regression_predict(r, &file, NULL, &p), FAB_OK);
    assert_int_equal(p->n, N);
    snprintf(words, sizeof words, "predict --full %s %s", in_folder("shell"), path);
    char *said = shell(words);
    check_predictions(p, fab_regression_scaling(r), said);
    free(said);
    fab_predictions_free(p);

    fab_scores s;
    assert_int_equal(fab_regression_score(r, &file, NULL, &s, NULL), FAB_OK);
    snprintf(words, sizeof words, "score %s %s --json", in_folder("shell"), path);
    said = shell(words);
    assert_true(number_after(said, "\"nll\": ") == s.nll);
    assert_true(number_after(said, "\"n\": ") == N);
    if (strcmp(target, "kind") == 0)
        assert_true(number_after(said, "\"ece\": ") == s.ece);
    else
        assert_true(number_after(said, "\"crps\": ") == s.crps);
    free(said);
    fab_regression_free(r);
}

static void a_linear_model_is_that_of_the_command_line(void **state)
{
    (void)state;
    for (int from_file = 0; from_file < 2; from_file++) {
        hold_against_shell("price", "", NULL, from_file);
        hold_against_shell("kind", "", NULL, from_file);
        hold_against_shell("price", "-m lrvga --scale-rows 10 -k 2 --seed 5",
                           &(fab_plan){.method = "lrvga",
                                       .scale_rows = 10,
                                       .settings = (const char *const[]){"K=2", "seed=5", NULL}},
                           from_file);
    }
}

static void a_network_is_that_of_the_command_line(void **state)
{
    (void)state;
    const char *const few[] = {"epochs=3", NULL};
    for (int from_file = 0; from_file < 2; from_file++) {
        hold_against_shell(
            "price", "--model mlp:4 -m sgd --epochs=3 --runs=2 --nu 4",
            &(fab_plan){.model = "mlp:4",
                        .method = "sgd",
                        .nu = 4,
                        .settings = (const char *const[]){"epochs=3", "runs=2", NULL}},
            from_file);
        hold_against_shell("kind", "--model mlp:4 --epochs=3",
                           &(fab_plan){.model = "mlp:4", .settings = few}, from_file);
        hold_against_shell("price", "--model mlp:3 -m laplace",
                           &(fab_plan){.model = "mlp:3", .method = "laplace"}, from_file);
    }
}

/* ---- more rows ---------------------------------------------------------------------------------------- */

static fab_arrays part_of(int from, int n)
{
    return (fab_arrays){.n = n,
                        .x = rows.x + from * D,
                        .D = D,
                        .name = number_names,
                        .y = {.name = "price", .p = rows.price + from}};
}

static void an_update_is_all_rows_at_once(void **state)
{
    (void)state;
    const fab_plan plan = {.method = "lrvga", .scale_rows = 20};
    const fab_arrays all = part_of(0, N), first = part_of(0, 33), rest = part_of(33, N - 33);
    double mean[2][D + 1], sd[2][D + 1];
    fab_regression *r = fit(&(fab_data){.arrays = &all}, &plan);
    assert_int_equal(fab_regression_size(r), D + 1);
    assert_int_equal(fab_regression_coefficients(r, mean[0], sd[0]), FAB_OK);
    fab_regression_free(r);
    for (int from_file = 0; from_file < 2; from_file++) {
        r = fit(&(fab_data){.arrays = &first}, &plan);
        if (from_file) {
            assert_int_equal(fab_regression_save(r, in_folder("q")), FAB_OK);
            fab_regression_free(r);
            assert_int_equal(fab_regression_load(&r, in_folder("q"), NULL), FAB_OK);
        }
        if (fab_regression_update(r, &(fab_data){.arrays = &rest}) != FAB_OK)
            fail_msg("%s", fab_detail());
        assert_int_equal(fab_regression_coefficients(r, mean[1], sd[1]), FAB_OK);
        assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
        assert_memory_equal(sd[0], sd[1], sizeof sd[0]);
        fab_table_report f;
        assert_int_equal(fab_regression_report(r, &f), FAB_OK);
        assert_true(f.fit.n == N && f.rows == N - 33);
        fab_regression_free(r);
    }
}

/* The units of all rows, as a fit of them has them; free it. */
static fab_regression *all_units(const fab_arrays *a, const char *likelihood)
{
    return fit(&(fab_data){.arrays = a},
               &(fab_plan){.method = "lrvga", .likelihood = likelihood, .scale_rows = N});
}

/* In the units that are given it does not matter where the first call ends: not behind two rows, and not behind one, which has no
 * units of its own. */
static void units_that_are_given_are_those_of_the_stream(void **state)
{
    (void)state;
    const fab_arrays all = part_of(0, N);
    double mean[2][D + 1], sd[2][D + 1];
    fab_regression *r, *units = all_units(&all, "gaussian");
    assert_int_equal(fab_regression_coefficients(units, mean[0], sd[0]), FAB_OK);
    for (int n = 1; n < 4; n++) {
        const fab_arrays first = part_of(0, n), rest = part_of(n, N - n);
        const fab_plan plan = {
            .method = "lrvga", .likelihood = "gaussian", .scaling = fab_regression_scaling(units)};
        char *json[2];
        r = fit(&(fab_data){.arrays = &first}, &plan);
        assert_int_equal(fab_regression_update(r, &(fab_data){.arrays = &rest}), FAB_OK);
        assert_int_equal(fab_regression_coefficients(r, mean[1], sd[1]), FAB_OK);
        assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
        assert_memory_equal(sd[0], sd[1], sizeof sd[0]);
        assert_int_equal(fab_scaling_json(fab_regression_scaling(units), &json[0]), FAB_OK);
        assert_int_equal(fab_scaling_json(fab_regression_scaling(r), &json[1]), FAB_OK);
        assert_string_equal(json[0], json[1]);
        fab_text_free(json[0]);
        fab_text_free(json[1]);
        fab_regression_free(r);
    }
    fab_regression_free(units);
}

/* Rows of two of three words and of two of three classes: those of the units are there too.  Units without classes get those of
 * the rows. */
static void words_and_classes_of_given_units_are_known_from_the_first_row(void **state)
{
    (void)state;
    const fab_array street = {
        .name = "street", .code = rows.code, .word = street_names, .words = WORDS};
    const fab_array kind = {
        .name = "kind", .code = rows.kind_code, .word = kind_names, .words = WORDS};
    const fab_arrays all = {.n = N, .column = &street, .columns = 1, .y = kind};
    fab_regression *r, *units = all_units(&all, "categorical");
    fab_arrays few = all;
    few.n = 2;
    few.y.name = "sort";
    fab_plan plan = {
        .method = "lrvga", .likelihood = "categorical", .scaling = fab_regression_scaling(units)};
    r = fit(&(fab_data){.arrays = &few}, &plan);
    const fab_scaling *k = fab_regression_scaling(r);
    assert_true(k->levels == WORDS && k->column[0].levels == WORDS);
    assert_string_equal(k->target, "sort");
    few = all;
    few.y.name = "sort";
    assert_int_equal(fab_regression_update(r, &(fab_data){.arrays = &few}), FAB_OK);
    fab_regression_free(r);

    fab_scaling bare = *plan.scaling;
    bare.levels = 0;
    bare.level_name = NULL;
    plan.scaling = &bare;
    r = fit(&(fab_data){.arrays = &all}, &plan);
    assert_true(fab_regression_scaling(r)->levels == WORDS);
    fab_regression_free(r);
    fab_regression_free(units);
}

static int stop_at_epoch(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what;
    return total == 9 && done >= *(const int64_t *)ctx; /* epochs, not rows */
}

static int stop_soon(void *ctx, const char *what, int64_t done, int64_t total)
{
    int64_t *asked = ctx; /* -1: nobody wants to stop yet */
    (void)what, (void)total;
    return *asked >= 0 && done >= 100 && ++*asked > 0;
}

/* 300 features: a row of kalman is 90,000 products, and a question comes after some dozen of them. */
static void a_stream_stops_where_it_is_asked_and_not_behind_the_piece(void **state)
{
    (void)state;
    enum { WIDE = 300, ROWS = 1000 };
    static double x[WIDE * ROWS], y[ROWS];
    fab_random_normal(3, FAB_PURPOSE_DATA, 7, 0, WIDE * ROWS, FAB_F64, x);
    for (int i = 0; i < ROWS; i++) y[i] = x[i * WIDE] - x[i * WIDE + 1];
    const fab_arrays all = {.n = ROWS, .x = x, .D = WIDE, .y = {.name = "y", .p = y}};
    const char *const methods[] = {"kalman", "rvga", "lrvga"};
    for (int m = 0; m < 3; m++) {
        int64_t asked = -1;
        fab_regression *r;
        const fab_exec exec = {.threads = 1, .progress = stop_soon, .progress_ctx = &asked};
        const fab_plan plan = {.method = methods[m]};
        assert_int_equal(fab_regression_open(&r, &(fab_data){.arrays = &all}, &plan, &exec),
                         FAB_OK);
        assert_int_equal(fab_regression_choose(r), FAB_OK);
        asked = 0;
        assert_int_equal(fab_regression_run(r), FAB_STOPPED);
        assert_in_range(asked, 1, 2);
        fab_regression_free(r);
    }
}

static void a_stopped_network_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    const fab_arrays all = part_of(0, N);
    const char *const epochs[] = {"epochs=9", "batch=61", NULL};
    char out[512];
    size_t n, m;
    snprintf(out, sizeof out, "%s", in_folder("out"));
    const fab_plan plain = {.model = "mlp:4", .method = "sgd", .settings = epochs},
                   plan = {.model = "mlp:4",
                           .method = "sgd",
                           .settings = epochs,
                           .output = out,
                           .checkpoint = 2,
                           .resume = 1};
    char *whole = bytes_of(&(fab_data){.arrays = &all}, &plain, &n);
    fab_regression *r;
    int64_t stop = 5;
    fab_set_progress(stop_at_epoch, &stop);
    assert_int_equal(fab_regression_fit(&r, &(fab_data){.arrays = &all}, &plan, NULL), FAB_STOPPED);
    assert_null(r);
    fab_set_progress(NULL, NULL);
    fab_regression_free(fit(&(fab_data){.arrays = &all}, &plan));
    char *resumed = get_bytes(out, &m);
    assert_int_equal(n, m);
    assert_memory_equal(whole, resumed, n);
    free(whole);
    free(resumed);
}

/* ---- a linear model in the user's units ----------------------------------------------------------------- */

static void coefficients_draws_and_the_gaussian_agree(void **state)
{
    (void)state;
    enum { P = D + 1, DRAWS = 4000 };
    const fab_arrays all = part_of(0, N);
    static double draw[DRAWS * P];
    static float single[DRAWS * P];
    double mean[P], sd[P], variance[P];
    fab_regression *r = fit(&(fab_data){.arrays = &all}, NULL);
    fab_gauss *g;
    fab_solver *solver;
    assert_int_equal(fab_regression_coefficients(r, mean, sd), FAB_OK);
    assert_string_equal(fab_regression_coefficient_name(r, 2), "age");
    assert_string_equal(fab_regression_coefficient_name(r, D), "intercept");
    assert_int_equal(fab_regression_gauss(r, &g), FAB_OK);
    assert_int_equal(fab_solver_create(&solver, g, NULL), FAB_OK);
    assert_int_equal(fab_solver_variances(solver, variance), FAB_OK);
    assert_int_equal(fab_regression_sample(r, 3, 0, DRAWS, FAB_F64, draw, P), FAB_OK);
    assert_int_equal(fab_regression_sample(r, 3, 0, DRAWS, FAB_F32, single, P), FAB_OK);
    for (int i = 0; i < P; i++) {
        double sum = 0, squares = 0;
        for (int j = 0; j < DRAWS; j++) {
            const double d = draw[j * P + i] - mean[i];
            assert_true(single[j * P + i] == (float)draw[j * P + i]);
            sum += d / DRAWS;
            squares += d * d / DRAWS;
        }
        assert_true(fabs(g->mu[i] - mean[i]) < 1e-12 * (1 + fabs(mean[i])));
        assert_true(fabs(sqrt(variance[i]) - sd[i]) < 1e-9 * sd[i]);
        assert_true(fabs(sum) < 5 * sd[i] / sqrt(DRAWS)); /* 5 standard errors: once in 2e6 */
        assert_true(fabs(squares / (sd[i] * sd[i]) - 1) < 5 * sqrt(2.0 / DRAWS));
    }
    assert_true(fabs(mean[0] - 1.7) < 0.6 && fabs(mean[2] + 0.6) < 0.6);
    fab_solver_free(solver);
    fab_gauss_free(g);
    fab_regression_free(r);
}

static void the_kind_of_a_file_is_what_its_json_says(void **state)
{
    (void)state;
    fab_tensors *t;
    assert_int_equal(fab_tensors_create(&t), FAB_OK);
    assert_int_equal(fab_file_kind(t), FAB_KIND_VECTORS);
    const struct {
        const char *json;
        fab_kind kind;
    } cases[] = {
        {"{\"kind\": \"linear\"}", FAB_KIND_LINEAR},
        {"{\"kind\":\"network\", \"layers\": [{\"layer\": \"linear\"}]}", FAB_KIND_NETWORK},
        {"{\"kind\": \"callback\", \"note\": \"network\"}", FAB_KIND_CALLBACK},
        {"\"network\"", FAB_KIND_CALLBACK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(fab_tensors_set(t, "model", cases[i].json), FAB_OK);
        assert_int_equal(fab_file_kind(t), cases[i].kind);
    }
    fab_tensors_free(t);
}

/* ---- refusals ----------------------------------------------------------------------------------------- */

static void refuse(const fab_arrays *a, const fab_plan *p, fab_status status, const char *words)
{
    fab_regression *r = NULL;
    fab_set_allocator(counted_alloc, counted_release);
    alloc_fails_at = -1;
    alloc_held = 0;
    const fab_status s = fab_regression_fit(&r, &(fab_data){.arrays = a}, p, NULL);
    const int64_t held = alloc_held;
    fab_set_allocator(NULL, NULL);
    assert_null(r);
    if (s != status) fail_msg("status %d, expected %d: %s", s, status, fab_detail());
    assert_detail(words, words);
    assert_int_equal(held, 0);
}

static void a_wrong_plan_is_refused_with_a_sentence(void **state)
{
    (void)state;
    const fab_arrays all = part_of(0, N), few = part_of(0, 4);
    const struct {
        fab_plan plan;
        const char *words;
    } bad[] = {
        {{.likelihood = "gausian"}, "did you mean 'gaussian'?"},
        {{.method = "exakt"}, "no method 'exakt'"},
        {{.method = "pca"}, "fits vectors"},
        {{.method = "exact", .model = "mlp:3"}, "linear models"},
        {{.settings = (const char *const[]){"alpho=1", NULL}}, "no setting alpho"},
        {{.settings = (const char *const[]){"alpha", NULL}}, "name=value"},
        {{.settings = (const char *const[]){"D=3", NULL}}, "no setting D"},
        {{.noise = "learned"}, "for networks"},
        {{.scale_rows = 10}, "for streams"},
        {{.checkpoint = 3}, "needs an output"},
        {{.model = "mlp:3", .noise = "loud"}, "not 'loud'"},
        {{.model = "mlp:3", .no_intercept = 1}, "biases"},
        {{.model = "mlp:3", .noise = "fixed", .floor = 1}, "here it is fixed"},
        {{.model = "mlp:3", .floor = -1}, "a number > 0"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(&all, &bad[i].plan, FAB_BAD_ARGUMENT, bad[i].words);
    refuse(&few, &(fab_plan){.model = "mlp:3", .floor = FAB_AUTO_F64}, FAB_BAD_DATA,
           "at least 5 rows");
    refuse(&all, &(fab_plan){.memory = 1000}, FAB_NO_MEMORY, "MB");
    refuse(&all, &(fab_plan){.prior = "none.safetensors"}, FAB_BAD_FILE, "none.safetensors");
}

static void units_of_something_else_are_refused_with_a_sentence(void **state)
{
    (void)state;
    const fab_arrays all = part_of(0, N);
    fab_arrays one = all, other = all;
    static const char *const names[D] = {"area", "room", "age"};
    one.D = 2;
    one.row_stride = D;
    one.column_stride = 1;
    other.name = names;
    fab_regression *units = all_units(&all, "gaussian");
    const fab_scaling *k = fab_regression_scaling(units);
    const fab_plan plan = {.method = "lrvga", .likelihood = "gaussian", .scaling = k};
    fab_plan p = plan;
    refuse(&one, &p, FAB_BAD_DATA, "and the scaling 3");
    refuse(&other, &p, FAB_BAD_DATA, "'room' stands where the scaling has 'rooms'");
    p.method = NULL;
    p.model = "gp:rbf";
    refuse(&all, &p, FAB_BAD_ARGUMENT, "a scaling is for linear");
    p = plan;
    p.no_scale = 1;
    refuse(&all, &p, FAB_BAD_ARGUMENT, "standardised");
    p = plan;
    p.scale_rows = 5;
    refuse(&all, &p, FAB_BAD_ARGUMENT, "come from");
    p = plan;
    p.no_intercept = 1;
    refuse(&all, &p, FAB_BAD_ARGUMENT, "without intercept");
    p = plan;
    p.likelihood = "poisson";
    refuse(&all, &p, FAB_BAD_ARGUMENT, "poisson model has no unit");
    assert_int_equal(fab_regression_save(units, in_folder("prior")), FAB_OK);
    p = plan;
    p.prior = in_folder("prior");
    refuse(&all, &p, FAB_BAD_ARGUMENT, "units of its own");
    fab_scaling bad = *k;
    double scale[D] = {1, 0, 1};
    bad.scale = scale;
    p = plan;
    p.scaling = &bad;
    refuse(&all, &p, FAB_BAD_ARGUMENT, "number 1 of 'scales'");
    fab_regression_free(units);
}

static void wrong_arrays_are_refused_with_a_sentence(void **state)
{
    (void)state;
    const double bad_x[] = {1, 2, NAN, 4, 5, 6}, infinite[] = {1, 2, INFINITY, 4, 5, 6},
                 y[] = {1, 2, 3, 4, 5, 7};
    const int32_t code[] = {0, 1, 2, 0, 1, 1}, low[] = {0, 1, -2, 0, 1, 1};
    const char *const twice[] = {"a", "b", "a"};
    const int64_t start[] = {0, 1, 2, 3, 4, 5, 6};
    const int32_t index[] = {0, 1, 0, 2, 1, 0};
    const fab_array y6 = {.p = y}, codes = {.name = "c", .code = code, .word = twice, .words = 2},
                    negative = {.name = "c", .code = low, .word = twice, .words = 2},
                    same = {.name = "c", .code = code, .word = twice, .words = 3},
                    none = {.name = "c"}, wordless = {.name = "c", .code = code},
                    both = {.p = y, .code = code, .word = twice, .words = 2},
                    whole = {.p = y, .type = FAB_I64}, fewer = {.p = y, .words = -1},
                    words = {.code = code, .word = twice, .words = 2};
    const int64_t falling[] = {0, 1, 3, 2, 4, 5, 6};
    const struct {
        fab_arrays a;
        fab_status status;
        const char *words;
    } bad[] = {
        {{.n = 6, .x = bad_x, .D = 1, .y = y6},
         FAB_MISSING_VALUE,
         "arrays: row 2, column 'x0': a missing value"},
        {{.n = 6, .x = infinite, .D = 1, .y = y6}, FAB_BAD_DATA, "is infinite"},
        {{.n = 6, .x = y, .D = 1}, FAB_BAD_ARGUMENT, "target"},
        {{.n = 0, .x = y, .D = 1, .y = y6}, FAB_BAD_DATA, "no rows"},
        {{.n = 6, .D = 1, .y = y6}, FAB_BAD_ARGUMENT, "no numbers"},
        {{.n = 6, .y = y6}, FAB_BAD_ARGUMENT, "no feature"},
        {{.n = 6, .x = y, .D = 1, .type = FAB_I64, .y = y6}, FAB_BAD_ARGUMENT, "f64 or f32"},
        {{.n = 6, .column = &codes, .columns = 1, .y = y6}, FAB_BAD_DATA, "no code 2 of 2 words"},
        {{.n = 6, .column = &negative, .columns = 1, .y = y6}, FAB_BAD_DATA, "no code -2"},
        {{.n = 6, .column = &same, .columns = 1, .y = y6},
         FAB_BAD_ARGUMENT,
         "'a', which stands there before"},
        {{.n = 6, .column = &none, .columns = 1, .y = y6}, FAB_BAD_ARGUMENT, "no values"},
        {{.n = 6, .column = &wordless, .columns = 1, .y = y6},
         FAB_BAD_ARGUMENT,
         "no words for them"},
        {{.n = 6, .x = y, .D = 3, .start = start, .index = index, .y = y6, .name = number_names},
         FAB_UNSUPPORTED,
         "no other columns and no names"},
        {{.n = 6, .x = y, .D = 2, .start = start, .index = index, .y = y6},
         FAB_BAD_DATA,
         "row 3: feature 2"},
        {{.n = 6, .x = infinite, .D = 3, .start = start, .index = index, .y = y6},
         FAB_BAD_DATA,
         "row 2: feature 0 is inf"},
        {{.n = 6, .x = y, .D = 3, .start = falling, .index = index, .y = y6},
         FAB_BAD_ARGUMENT,
         "start[3] = 2 does not follow 3"},
        {{.n = 6, .x = y, .D = (int64_t)1 << 31, .start = start, .index = index, .y = y6},
         FAB_BAD_ARGUMENT,
         "2147483648 sparse features"},
        {{.n = -1, .x = y, .D = 1, .y = y6}, FAB_BAD_ARGUMENT, "-1 rows of 1 and 0 features"},
        {{.n = 6, .x = y, .D = 1, .y = both}, FAB_BAD_ARGUMENT, "the target is given as 2 things"},
        {{.n = 6, .x = y, .D = 1, .y = whole}, FAB_BAD_ARGUMENT, "the target is of type"},
        {{.n = 6, .x = y, .D = 1, .y = fewer}, FAB_BAD_ARGUMENT, "the target has -1 words"},
        {{.n = 6, .x = y, .D = 1, .y = y6, .weight = words},
         FAB_BAD_ARGUMENT,
         "weights and offsets are numbers, not words"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(&bad[i].a, NULL, bad[i].status, bad[i].words);
}

static void a_missing_value_is_dropped_or_filled_when_asked_for(void **state)
{
    (void)state;
    const double x[] = {1, 2, NAN, 4, 5, 6}, y[] = {1, 2, 3, 4, 5, 7};
    const fab_arrays a = {.n = 6, .x = x, .D = 1, .y = {.p = y}};
    for (int i = FAB_MISSING_DROP; i <= FAB_MISSING_MEAN; i++) {
        const fab_data d = {.arrays = &a, .columns = {.missing = (fab_missing)i}};
        fab_regression *r = fit(&d, NULL);
        fab_table_report f;
        assert_int_equal(fab_regression_report(r, &f), FAB_OK);
        assert_int_equal(f.dropped, i == FAB_MISSING_DROP);
        assert_int_equal(f.fit.n, i == FAB_MISSING_DROP ? 5 : 6);
        fab_regression_free(r);
    }
}

static void a_wrong_use_is_refused_with_a_sentence(void **state)
{
    (void)state;
    const fab_arrays all = part_of(0, N);
    const fab_data d = {.arrays = &all};
    fab_arrays narrow = all;
    fab_predictions *p;
    fab_regression *r = fit(&d, NULL);
    assert_int_equal(fab_regression_update(r, &d), FAB_UNSUPPORTED);
    assert_detail("exact", "batch method");
    assert_int_equal(fab_regression_predict(r, &d, &(fab_predict_plan){.linearised = 1}, &p),
                     FAB_BAD_ARGUMENT);
    assert_null(p);
    assert_int_equal(fab_regression_predict(r, &d, &(fab_predict_plan){.samples = 9}, &p),
                     FAB_BAD_ARGUMENT);
    narrow.D = 2;
    narrow.row_stride = D;
    narrow.column_stride = 1;
    assert_int_equal(fab_regression_predict(r, &(fab_data){.arrays = &narrow}, NULL, &p),
                     FAB_BAD_DATA);
    assert_detail("arrays", "no column 'age'");
    assert_int_equal(fab_regression_predict(r, &(fab_data){0}, NULL, &p), FAB_BAD_ARGUMENT);
    fab_regression_free(r);
    put_bytes(in_folder("junk"), "junk", 4);
    assert_int_equal(fab_regression_load(&r, in_folder("junk"), NULL), FAB_BAD_FILE);
    assert_null(r);

    const char *const few[] = {"epochs=2", NULL};
    fab_gauss *g;
    double mean[32], sd[32];
    r = fit(&d, &(fab_plan){.model = "mlp:2", .method = "sgd", .settings = few});
    assert_int_equal(fab_regression_gauss(r, &g), FAB_UNSUPPORTED);
    assert_int_equal(fab_regression_coefficients(r, mean, sd), FAB_UNSUPPORTED);
    fab_regression_free(r);
}

static void steps_out_of_order_are_refused(void **state)
{
    (void)state;
    const fab_arrays all = part_of(0, N);
    const fab_data d = {.arrays = &all};
    fab_regression *r;
    fab_predictions *p;
    fab_table_report f;
    double mean[D + 1], sd[D + 1];
    assert_int_equal(fab_regression_open(&r, &d, NULL, NULL), FAB_OK);
    assert_int_equal(fab_regression_run(r), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_regression_set(r, "alpha", "1"), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_regression_save(r, in_folder("q")), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_regression_report(r, &f), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_regression_choose(r), FAB_OK);
    assert_int_equal(fab_regression_choose(r), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_regression_predict(r, &d, NULL, &p), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_regression_set(r, "alpha", "0.5"), FAB_OK);
    assert_int_equal(fab_regression_run(r), FAB_OK);
    assert_int_equal(fab_regression_run(r), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_regression_coefficient_name(r, D), "intercept");
    assert_null(fab_regression_coefficient_name(r, D + 1));
    assert_int_equal(fab_regression_report(r, &f), FAB_OK);
    assert_true(f.fit.alpha == 0.5 && f.D == D && f.guessed);
    assert_int_equal(fab_regression_coefficients(r, mean, sd), FAB_OK);
    fab_regression_free(r);
}

static void options_of_files_are_not_for_arrays(void **state)
{
    (void)state;
    const fab_arrays all = part_of(0, N);
    fab_regression *r;
    assert_int_equal(
        fab_regression_fit(&r, &(fab_data){.arrays = &all, .categorical = "age"}, NULL, NULL),
        FAB_BAD_ARGUMENT);
    assert_detail("arrays", "for files");
    assert_int_equal(fab_regression_fit(&r, &(fab_data){0}, NULL, NULL), FAB_BAD_ARGUMENT);
    assert_detail("neither a file", "arrays");
}

/* ---- memory ------------------------------------------------------------------------------------------- */

static fab_plan tried_plan;
static const char *tried_file;

static fab_status fit_use_and_free(void)
{
    const fab_array street = {.name = "street", .text = rows.street};
    const fab_arrays a = {
        .n = 29, .x = rows.x, .D = D, .column = &street, .columns = 1, .y = price};
    const fab_data d = {.arrays = &a};
    fab_regression *r = NULL;
    fab_predictions *p = NULL;
    fab_scores scores;
    fab_status s = fab_regression_fit(&r, &d, &tried_plan, &(fab_exec){.threads = 1});
    if (s == FAB_OK) s = fab_regression_predict(r, &d, NULL, &p);
    if (s == FAB_OK) s = fab_regression_score(r, &d, NULL, &scores, NULL);
    if (s == FAB_OK && !fab_regression_is_network(r)) {
        double mean[16], sd[16];
        s = fab_regression_coefficients(r, mean, sd);
    }
    if (s == FAB_OK) s = fab_regression_save(r, tried_file);
    fab_predictions_free(p);
    fab_regression_free(r);
    if (s == FAB_OK) s = fab_regression_load(&r, tried_file, &(fab_exec){.threads = 1});
    if (s == FAB_OK) {
        if (tried_plan.method && strcmp(tried_plan.method, "lrvga") == 0)
            s = fab_regression_update(r, &d);
        fab_regression_free(r);
    }
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    const fab_array street = {.name = "street", .text = rows.street};
    const fab_arrays a = {
        .n = 29, .x = rows.x, .D = D, .column = &street, .columns = 1, .y = price};
    fab_regression *units = all_units(&a, "gaussian");
    const fab_plan plans[] = {
        {.method = "exact"},
        {.method = "lrvga", .scale_rows = 5},
        {.method = "lrvga", .scaling = fab_regression_scaling(units)},
        {.model = "mlp:2", .method = "sgd", .settings = (const char *const[]){"epochs=1", NULL}}};
    tried_file = in_folder("tried");
    fab_set_allocator(counted_alloc, counted_release);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        fab_status s = FAB_NO_MEMORY;
        tried_plan = plans[i];
        for (alloc_fails_at = 1; s != FAB_OK; alloc_fails_at++) {
            alloc_calls = alloc_held = 0;
            s = fit_use_and_free();
            assert_true(s == FAB_OK || s == FAB_NO_MEMORY);
            assert_int_equal(s == FAB_OK, alloc_calls < alloc_fails_at);
            assert_int_equal(alloc_held, 0);
            if (s == FAB_OK || strstr(fab_detail(), "cannot allocate")) continue;
            assert_detail("lrvga needs", "MB"); /* it allocates to find that out */
        }
        assert_true(alloc_calls > 100);
    }
    fab_set_allocator(NULL, NULL);
    fab_regression_free(units);
}

static void packed_bytes_are_the_file_and_come_back(void **state)
{
    (void)state;
    const fab_arrays a = {.n = N, .x = rows.x, .D = D, .name = number_names, .y = price};
    const fab_data d = {.arrays = &a};
    const char *const methods[] = {"exact", "lrvga"};
    for (int m = 0; m < 2; m++) {
        fab_regression *r = fit(&d, &(fab_plan){.method = methods[m]}), *back;
        void *bytes, *again;
        size_t size, same, n;
        assert_int_equal(fab_regression_pack(r, &bytes, &size), FAB_OK);
        assert_int_equal(fab_regression_save(r, in_folder("q")), FAB_OK);
        char *file = get_bytes(in_folder("q"), &n);
        assert_int_equal(n, size);
        assert_memory_equal(file, bytes, n);
        assert_int_equal(fab_regression_parse(&back, "memory", bytes, size, NULL), FAB_OK);
        assert_int_equal(fab_regression_pack(back, &again, &same), FAB_OK);
        assert_int_equal(size, same);
        assert_memory_equal(bytes, again, size);
        fab_bytes_free(again);
        const fab_status more = fab_regression_update(back, &d),
                         whole = fab_regression_update(r, &d);
        assert_int_equal(more, m == 0 ? FAB_UNSUPPORTED : FAB_OK);
        assert_int_equal(more, whole);
        if (more == FAB_OK) { /* goes on to the same bytes as the one that never left */
            void *one, *two;
            size_t ones, twos;
            assert_int_equal(fab_regression_pack(r, &one, &ones), FAB_OK);
            assert_int_equal(fab_regression_pack(back, &two, &twos), FAB_OK);
            assert_int_equal(ones, twos);
            assert_memory_equal(one, two, ones);
            fab_bytes_free(one);
            fab_bytes_free(two);
        }
        fab_regression_free(back);
        assert_int_equal(fab_regression_parse(&back, "memory", bytes, size / 2, NULL),
                         FAB_BAD_FILE);
        assert_null(back);
        free(file);
        fab_bytes_free(bytes);
        fab_regression_free(r);
    }
}

/* Rows of weight 0 among those of the case: with a word, a class and numbers of their own.  first: in front of all others. */
static const char *write_absent(const char *name, const char *target, int absent, int first)
{
    const char *path = in_folder(name);
    const int classes = strcmp(target, "kind") == 0;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "area,street,rooms,weight,%s\n", target);
    for (int i = 0; i < N; i++) {
        if (absent && (first ? i == 0 : i % 5 == 3))
            for (int k = 0; k < 1 + i % 2; k++)
                fprintf(f, "%d,%s,-7,0,%s\n", 900 + i, i % 2 ? "lane" : "elm",
                        classes ? "tent" : "1e9");
        fprintf(f, "%.17g,%s,%.17g,%.17g,", rows.x[i * D], rows.street[i], rows.x[i * D + 1],
                rows.weight[i]);
        if (classes)
            fprintf(f, "%s\n", rows.kind[i]);
        else
            fprintf(f, "%.17g\n", rows.price[i]);
    }
    fclose(f);
    return path;
}

static void rows_of_weight_0_change_no_byte(void **state)
{
    (void)state;
    const char *const few[] = {"epochs=5", NULL};
    const struct {
        const char *target;
        fab_plan plan;
    } all[] = {{"price", {.method = "exact"}},
               {"price", {.method = "exact", .memory = 1e9}},
               {"kind", {.method = "vga"}},
               {"kind", {.method = "laplace", .calibrate = "temperature"}},
               {"price", {.method = "lrvga", .scale_rows = 9}},
               {"kind", {.method = "lrvga", .scale_rows = 9}},
               {"kind", {.method = "sgd", .model = "mlp:4", .settings = few}}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (int first = 0; first < 2; first++) {
            char without[600];
            snprintf(without, sizeof without, "%s",
                     write_absent("without.csv", all[k].target, 0, first));
            const char *with = write_absent("with.csv", all[k].target, 1, first);
            fab_data d[2] = {{.file = without}, {.file = with}};
            void *bytes[2];
            size_t size[2];
            int64_t n[2];
            for (int a = 0; a < 2; a++) {
                d[a].columns = (fab_columns){.target = all[k].target, .weight = "weight"};
                fab_regression *r = fit(&d[a], &all[k].plan);
                fab_table_report report;
                assert_int_equal(fab_regression_report(r, &report), FAB_OK);
                n[a] = report.rows;
                assert_int_equal(report.dropped, 0);
                r->resumable = 0; /* "read" counts the rows of the file */
                assert_int_equal(fab_regression_pack(r, &bytes[a], &size[a]), FAB_OK);
                fab_regression_free(r);
            }
            assert_int_equal(n[0], n[1]);
            assert_int_equal(size[0], size[1]);
            assert_memory_equal(bytes[0], bytes[1], size[0]);
            fab_bytes_free(bytes[0]);
            fab_bytes_free(bytes[1]);
        }
}

static void a_table_of_weights_0_is_refused(void **state)
{
    (void)state;
    double none[N] = {0};
    const fab_arrays a = {.n = N, .x = rows.x, .D = D, .y = price, .weight = {.p = none}};
    fab_regression *r;
    for (int m = 0; m < 2; m++) {
        const fab_plan p = {.method = m ? "lrvga" : "exact"};
        assert_int_equal(fab_regression_fit(&r, &(fab_data){.arrays = &a}, &p, NULL), FAB_BAD_DATA);
        assert_string_equal(fab_detail(),
                            "arrays: every weight is zero: none of the 61 rows is there; "
                            "expected a number > 0 in column 'weight'");
    }
    none[3] = -1;
    assert_int_equal(fab_regression_fit(&r, &(fab_data){.arrays = &a}, NULL, NULL), FAB_BAD_DATA);
}

/* rows, columns, levels of the target, and the method that such classes get */
static void classes_get_the_method_that_suits_their_size(void **state)
{
    (void)state;
    const struct {
        int64_t n, columns, levels;
        const char *method;
    } cases[] = {{40, 3, 2, "vga"},         {40, 3, 4, "vga"},         {100001, 1, 2, "laplace"},
                 {30, 1999, 2, "vga"},      {30, 2001, 2, "vga"},      {30, 700, 3, "vga"},
                 {700, 700, 3, "laplace"},  {700, 2001, 3, "laplace"}, {100, 13000, 4, "laplace"},
                 {3000, 900, 2, "vga"},     {4000, 900, 2, "laplace"}, {1500, 190, 10, "vga"},
                 {20000, 48, 10, "laplace"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const int64_t n = cases[k].n, width = cases[k].columns;
        double *x = calloc((size_t)(n * width), sizeof *x), *y = calloc((size_t)n, sizeof *y);
        assert_true(x && y);
        for (int64_t i = 0; i < n; i++) {
            x[i * width] = (double)(i % 7);
            y[i] = (double)(i % cases[k].levels);
        }
        const fab_arrays a = {.n = n, .x = x, .D = width, .y = {.p = y}};
        const fab_plan p = {.likelihood = cases[k].levels > 2 ? "categorical" : "bernoulli"};
        fab_regression *r;
        assert_int_equal(fab_regression_open(&r, &(fab_data){.arrays = &a}, &p, NULL), FAB_OK);
        assert_int_equal(fab_regression_choose(r), FAB_OK);
        assert_string_equal(fab_method_name(fab_regression_method(r)), cases[k].method);
        fab_regression_free(r);
        free(x);
        free(y);
    }
}

/* n x width numbers of two waves, and classes 0, 1, 2 of them; freed by the caller */
static double *wide_rows(int64_t n, int64_t width, double *y)
{
    double *x = calloc((size_t)(n * width), sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) {
        y[i] = (double)(i * i % 3);
        for (int64_t d = 0; d < width; d++)
            x[i * width + d] = sin((double)((i + 1) * (d % 97 + 1))) +
                               0.2 * y[i] * cos(2.385 * (double)d);
    }
    return x;
}

static const char *chosen(const fab_arrays *a, const fab_plan *p)
{
    fab_regression *r;
    fab_status s = fab_regression_open(&r, &(fab_data){.arrays = a}, p, NULL);
    if (s == FAB_OK) s = fab_regression_choose(r);
    if (s != FAB_OK) fail_msg("%s", fab_detail());
    const char *name = fab_method_name(fab_regression_method(r));
    fab_regression_free(r);
    return name;
}

static void a_wide_table_is_a_stream_only_where_one_is_asked_for_or_its_rows_are_too_many(
    void **state)
{
    (void)state;
    enum { n = 300, width = 2101 };
    double y[n];
    double *x = wide_rows(n, width, y);
    const char *const target[] = {"categorical", "poisson", "negative-binomial", "gaussian"};
    const char *const method[] = {"vga", "lrvga", "laplace", "exact"};
    for (int k = 0; k < 4; k++) {
        const int64_t columns = k == 3 ? 7 * width : width, few_rows = k == 3 ? n / 7 : n;
        const fab_arrays b = {.n = few_rows, .x = x, .D = columns, .y = {.p = y}};
        const fab_plan plan = {.likelihood = target[k]};
        fab_plan saved = plan, few = plan, narrow = plan;
        saved.checkpoint = 100;
        saved.output = in_folder("saved");
        few.scale_rows = 40;
        narrow.memory = 6e6;
        assert_string_equal(chosen(&b, &plan), method[k]);
        assert_string_equal(chosen(&b, &saved), "lrvga");
        assert_string_equal(chosen(&b, &few), "lrvga");
        assert_string_equal(chosen(&b, &narrow), "lrvga");
    }
    free(x);
}

static void a_wide_stream_is_the_same_whether_its_method_is_named_or_found_by_reading_ahead(
    void **state)
{
    (void)state;
    enum { n = 1600, width = 2101 };
    double y[n];
    double *x = wide_rows(n, width, y);
    const fab_arrays a = {.n = n, .x = x, .D = width, .y = {.p = y}};
    const fab_data d = {.arrays = &a};
    const char *const settings[] = {"K=1", "inner_rank=4", "sweeps=1", NULL};
    fab_plan plan = {.likelihood = "poisson", .memory = 1.4e8, .settings = settings};
    static double mean[2][width + 1], sd[2][width + 1];
    for (int k = 0; k < 2; k++) {
        fab_regression *r = fit(&d, &plan);
        assert_string_equal(fab_method_name(fab_regression_method(r)), "lrvga");
        assert_int_equal(fab_regression_coefficients(r, mean[k], sd[k]), FAB_OK);
        fab_regression_free(r);
        plan.method = "lrvga";
    }
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(sd[0], sd[1], sizeof sd[0]);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_wide_table_is_a_stream_only_where_one_is_asked_for_or_its_rows_are_too_many),
        TEST(a_wide_stream_is_the_same_whether_its_method_is_named_or_found_by_reading_ahead),
        TEST(classes_get_the_method_that_suits_their_size),
        TEST(rows_of_weight_0_change_no_byte),
        TEST(a_table_of_weights_0_is_refused),
        TEST(numbers_in_any_layout_are_the_file),
        TEST(words_and_codes_are_the_file),
        TEST(sparse_rows_are_the_libsvm_file),
        TEST(a_linear_model_is_that_of_the_command_line),
        TEST(a_network_is_that_of_the_command_line),
        TEST(an_update_is_all_rows_at_once),
        TEST(units_that_are_given_are_those_of_the_stream),
        TEST(words_and_classes_of_given_units_are_known_from_the_first_row),
        TEST(units_of_something_else_are_refused_with_a_sentence),
        TEST(a_stream_stops_where_it_is_asked_and_not_behind_the_piece),
        TEST(a_stopped_network_goes_on_to_the_same_bytes),
        TEST(coefficients_draws_and_the_gaussian_agree),
        TEST(the_kind_of_a_file_is_what_its_json_says),
        TEST(a_wrong_plan_is_refused_with_a_sentence),
        TEST(wrong_arrays_are_refused_with_a_sentence),
        TEST(a_missing_value_is_dropped_or_filled_when_asked_for),
        TEST(a_wrong_use_is_refused_with_a_sentence),
        TEST(steps_out_of_order_are_refused),
        TEST(packed_bytes_are_the_file_and_come_back),
        TEST(options_of_files_are_not_for_arrays),
        TEST(every_failed_allocation_is_reported),
    };
    make_rows();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
