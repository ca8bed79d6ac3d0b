/* test_formula.c - formulas, lists of columns, and columns that name the rows.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "data/columns/formula.h"
#include "data/columns/table.h"
#include "fabayes/random.h"
#include "fabayes/settings.h"
#include "fabayes/table.h"
#include "files.h"
#include <math.h>

static const char *const names[] = {"a", "b", "c", "floor area", "k", "n.b"};
static const char all[] = {1, 1, 1, 1, 1, 1};

static fab_status make(fab_formula **f, const char *text)
{
    return fab_formula_create(f, text, names, all, 6);
}

/* ---- terms ---------------------------------------------------------------------------------------- */

static void operators_are_those_of_R(void **state)
{
    (void)state;
    /* the right side is what terms(formula) of R gives, in its order */
    static const char *const is[][2] = {
        {"y ~ a + b", "a + b"},
        {"y~a+b-a", "b"},
        {"y ~ a:b + b", "b + a:b"},
        {"y ~ a*b", "a + b + a:b"},
        {"y ~ a*b - a:b", "a + b"},
        {"y ~ (a + b + c)^2", "a + b + c + a:b + a:c + b:c"},
        {"y ~ (a + b + c)**2 - b:c", "a + b + c + a:b + a:c"},
        {"y ~ (a + b)*c", "a + b + c + a:c + b:c"},
        {"y ~ a/b", "a + a:b"},
        {"y ~ (a + b)/c", "a + b + a:b:c"},
        {"y ~ a:a + a", "a"},
        {"y ~ b:a + a", "a + b:a"},
        {"y ~ a*b*c", "a + b + c + a:b + a:c + b:c + a:b:c"},
        {"y ~ a - 1", "a - 1"},
        {"y ~ 0 + a", "a - 1"},
        {"y ~ a + 0 + 1", "a"},
        {"y ~ -1 + a", "a - 1"},
        {"~ . - b", "a + c + `floor area` + k + n.b"},
        {"y ~ log(a) + log( a )+I(a ^ 2)", "log(a) + I(a^2)"},
        {"y ~ I( (a+ 1)*b/2 - -c )", "I((a + 1) * b / 2 - -c)"},
        {"y ~ poly(a,3):b", "poly(a, 3):b"},
        {"y ~ factor(k) + C(k)", "C(k)"},
        {"y ~ \"floor area\" + log(`floor area`)", "`floor area` + log(`floor area`)"},
        {"y ~ a + offset(log(b))", "a"},
        {"y ~ n.b + log1p(abs(a) + sqrt(b))", "n.b + log1p(abs(a) + sqrt(b))"}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        fab_formula *f, *again;
        if (make(&f, is[i][0]) != FAB_OK) fail_msg("%s: %s", is[i][0], fab_detail());
        assert_string_equal(f->text, is[i][1]);
        assert_int_equal(fab_formula_read(&again, f->text),
                         FAB_OK); /* its text is a formula, the same one */
        assert_int_equal(again->terms, f->terms);
        assert_int_equal(again->no_intercept, f->no_intercept);
        fab_formula_free(again);
        fab_formula_free(f);
    }
    fab_formula *f;
    assert_int_equal(make(&f, "y ~ a + offset(log(b))"), FAB_OK);
    assert_string_equal(f->offset, "log:b");
    assert_string_equal(f->target, "y");
    fab_formula_free(f);
}

static void a_wrong_formula_is_refused_with_its_place(void **state)
{
    (void)state;
    static const char *const is[][3] = {
        {"y a", "character 3", "'~'"},
        {"y ~", "ends where", "a column"},
        {"y ~ a +", "ends where", "a column"},
        {"y ~ a b", "character 7", "operator"},
        {"y ~ aa", "character 5", "did you mean 'a'?"},
        {"y ~ lgo(a)", "character 5", "did you mean 'log'?"},
        {"y ~ log(a", "ends where", "')'"},
        {"y ~ log(a + zz9)", "character 13", "no column 'zz9'"},
        {"y ~ 2*a", "character 5", "I(..)"},
        {"y ~ a^0", "character 7", "whole number"},
        {"y ~ poly(a)", "character 11", "','"},
        {"y ~ poly(a, 21)", "character 13", "1 to 20"},
        {"y ~ a - a", "no term is left", "at least one"},
        {"y ~ 1", "no term is left", "at least one"},
        {"log(y) ~ a", "character 1", "other units"},
        {"y ~ `a", "character 5", "quote"},
        {"y ~ a - offset(b)", "an offset behind a '+'", "formula"},
        {"y ~ a:offset(b)", "a term", "formula"},
        {"y ~ a + y", "character 9", "is the target"},
        {"y ~ I(1e999 * a)", "character 7", "a number"},
        {"y ~ a:b:c:k:n.b:log(a):log(b):log(c):log(k)", "more than 8 factors", "formula"}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        fab_formula *f;
        assert_int_equal(make(&f, is[i][0]), FAB_BAD_ARGUMENT);
        assert_null(f);
        if (!strstr(fab_detail(), is[i][1]) || !strstr(fab_detail(), is[i][2]))
            fail_msg("%s: %s", is[i][0], fab_detail());
    }
    char deep[600] = "y ~ ";
    for (int i = 0; i < 200; i++) strcat(deep, "(");
    fab_formula *f;
    assert_int_equal(make(&f, deep), FAB_BAD_ARGUMENT);
    assert_non_null(strstr(fab_detail(), "fewer parentheses"));
}

/* Operands and operators, now and then a piece that does not belong there: a formula is refused with a sentence, or its text is
 * a formula that reads to the same terms. */
static void whatever_is_read_reads_back(void **state)
{
    (void)state;
    static const char *const operand[] = {"a",       "b",          "n.b",       "`floor area`",
                                          "log(a)",  "poly(b, 2)", "C(k)",      "I(a / -2)",
                                          "(a + k)", "(b - a)",    "(a*b*c)^2", ".",
                                          "1",       "0",          "abs(a^2)",  "offset(b)"};
    static const char *const operator[] = {"+", "-", ":", "*", "/", " + ", " - "};
    static const char *const odd[] = {"log(", ")", "(",  "^",     "**",   ",",  "~",
                                      "2",    "`", "\"", "1.5e3", "xyz(", "C(", "poly(a"};
    enum { TRIES = 20000, ODD = sizeof odd / sizeof *odd };
    int read = 0;
    for (uint64_t i = 0; i < TRIES; i++) {
        char text[400] = "y ~ ";
        uint32_t bits[4];
        for (uint64_t j = 0; j < 1 + i % 8; j++) {
            fab_random_bits(17, FAB_PURPOSE_DATA, i, j, bits);
            if (j) strcat(text, operator[bits[0] % 7]);
            strcat(text, operand[bits[1] % 16]);
            if (bits[2] % 40 == 0) strcat(text, odd[bits[3] % ODD]);
        }
        fab_formula *f, *again;
        const fab_status s = make(&f, text);
        if (s != FAB_OK) {
            assert_int_equal(s, FAB_BAD_ARGUMENT);
            assert_null(f);
            continue;
        }
        read++;
        if (fab_formula_read(&again, f->text) != FAB_OK)
            fail_msg("%s: %s: %s", text, f->text, fab_detail());
        assert_int_equal(again->terms, f->terms);
        assert_int_equal(again->columns, f->columns);
        for (int64_t t = 0; t < f->terms; t++)
            assert_memory_equal(&again->term[t], &f->term[t], sizeof *f->term);
        fab_formula_free(again);
        fab_formula_free(f);
    }
    assert_true(read > TRIES / 3);
}

/* ---- values --------------------------------------------------------------------------------------- */

static fab_source *open_text(const char *text)
{
    fab_source *s;
    const fab_source_options o = {.words = 1, .missing = 1};
    assert_int_equal(fab_source_open_memory(&s, "rows", text, strlen(text), &o, 1 << 18), FAB_OK);
    return s;
}

static fab_dataset *read_text(const char *text, fab_columns c)
{
    fab_source *s = open_text(text);
    fab_dataset *t;
    if (fab_dataset_read(&t, s, &c) != FAB_OK) fail_msg("%s", fab_detail());
    fab_source_close(s);
    return t;
}

static const char rows[] = "a,k,n,y\n1,u,6,3\n2,v,4,1\n4,u,6,2\n7,w,10,8\n11,v,4,5\n";

static void features_are_products_of_numbers_and_levels(void **state)
{
    (void)state;
    fab_dataset *t = read_text(
        rows, (fab_columns){.formula = "y ~ log(a) + k + C(n) + k:a + C(n):k + I(a^2 - 1)"});
    fab_scaling *k;
    assert_int_equal(t->columns, 3); /* a, k, C(n) */
    assert_string_equal(t->name[2], "C(n)");
    assert_int_equal(fab_dataset_features(t), 1 + 3 + 3 + 1 + 3 + 9);
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 0, 1), FAB_OK);
    assert_int_equal(k->D, 20);
    static const char *const want[] = {"log(a)",      "k=u",         "k=v",        "k=w",
                                       "C(n)=10",     "C(n)=4",      "C(n)=6",     "I(a^2 - 1)",
                                       "k=u:a",       "k=v:a",       "k=w:a",      "k=u:C(n)=10",
                                       "k=v:C(n)=10", "k=w:C(n)=10", "k=u:C(n)=4", "k=v:C(n)=4",
                                       "k=w:C(n)=4",  "k=u:C(n)=6",  "k=v:C(n)=6", "k=w:C(n)=6"};
    for (int d = 0; d < 20; d++) assert_string_equal(k->name[d], want[d]);
    assert_int_equal(fab_scaling_apply(k, t), FAB_OK);
    const double a[] = {1, 2, 4, 7, 11}, level[] = {0, 1, 0, 2, 1}, number[] = {2, 1, 2, 0, 1};
    for (int i = 0; i < 5; i++) {
        const double *x = t->x + i * t->D;
        assert_true(x[0] == log(a[i]) && x[7] == a[i] * a[i] - 1);
        for (int l = 0; l < 3; l++) {
            assert_true(x[1 + l] == (level[i] == l) && x[4 + l] == (number[i] == l));
            assert_true(x[8 + l] == (level[i] == l) * a[i]);
            for (int m = 0; m < 3; m++)
                assert_true(x[11 + l + 3 * m] == (level[i] == l) * (number[i] == m));
        }
    }
    fab_scaling_free(k);
    fab_dataset_free(t);
}

static void polynomials_are_those_of_R(void **state)
{
    (void)state;
    static const double want[5][3] = {
        /* poly(c(1, 2, 4, 7, 11), 3) of R 4 */
        {-0.49236596391733101, 0.475997296813150672, -0.44038550605054427},
        {-0.36927447293799809, 0.079332882802191709, 0.33028912953790818},
        {-0.12309149097933272, -0.449553002545753366, 0.55048188256318031},
        {0.24618298195866542, -0.581774473882739507, -0.60553007081949850},
        {0.73854894587599640, 0.475997296813150617, 0.16514456476895417}};
    fab_dataset *t = read_text(rows, (fab_columns){.formula = "y ~ poly(a, 3)"}), *one;
    fab_scaling *k, *back;
    char *text;
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 0, 1), FAB_OK);
    assert_string_equal(k->name[1], "poly(a, 3)2");
    assert_int_equal(fab_scaling_json(k, &text), FAB_OK);
    assert_null(strstr(
        text,
        "\"columns\"")); /* a reader that knows no formulas must not take a for the features */
    if (fab_scaling_from_json(&back, text) != FAB_OK) fail_msg("%s", fab_detail());
    assert_int_equal(fab_dataset_take(&one, t, (int64_t[]){3}, 1),
                     FAB_OK); /* a row alone: by what is stored */
    assert_int_equal(fab_scaling_apply(k, t), FAB_OK);
    assert_int_equal(fab_scaling_apply(back, one), FAB_OK);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 3; j++) assert_true(fabs(t->x[3 * i + j] - want[i][j]) < 1e-14);
    assert_memory_equal(one->x, t->x + 9, 3 * sizeof(double));
    fab_scaling_free(back);
    char *at = strstr(text, "\"poly\": [[");
    assert_non_null(at);
    at[10] = 'x'; /* no JSON any more */
    assert_int_equal(
        fab_scaling_from_json(&back, "{\"formula\": \"poly(a, 3)\", \"from\": [\"a\"]}"),
        FAB_BAD_FILE);
    assert_int_equal(fab_scaling_from_json(&back, text), FAB_BAD_FILE);
    fab_text_free(text);
    fab_scaling_free(k);
    fab_dataset_free(one);
    fab_dataset_free(t);
}

static void a_stored_formula_is_trusted_in_nothing(void **state)
{
    (void)state;
#define REST                                                                                       \
    ", \"means\": [0], \"scales\": [1], \"target\": \"y\", \"target_mean\": 0, \"target_scale\": " \
    "1}"
    static const char *const bad[] = {
        "{\"formula\": \"log(a\", \"from\": [\"a\"]" REST,
        "{\"formula\": \"log(a)\", \"from\": [\"b\"]" REST,
        "{\"formula\": \"log(a)\", \"columns\": [\"a\"]" REST,
        "{\"formula\": \"a + b\", \"from\": [\"a\"]" REST,
        "{\"formula\": \".\", \"from\": [\"a\"]" REST,
        "{\"formula\": \"poly(a, 1)\", \"poly\": [[0, 1, 0]], \"from\": [\"a\"]" REST,
        "{\"formula\": \"log(a)\", \"poly\": [[0, 1, 1]], \"from\": [\"a\"]" REST,
        "{\"formula\": \"log(a)\", \"from\": [{\"name\": \"a\", \"levels\": [\"u\"]}]" REST};
    fab_scaling *k;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fab_scaling_from_json(&k, bad[i]), FAB_BAD_FILE);
        assert_null(k);
    }
    assert_int_equal(fab_scaling_from_json(&k, "{\"formula\": \"log(a)\", \"from\": [\"a\"]" REST),
                     FAB_OK);
    assert_string_equal(k->name[0], "log(a)");
    fab_scaling_free(k);
    assert_int_equal(
        fab_scaling_from_json(
            &k, "{\"formula\": \"poly(a, 1)\", \"poly\": [[0, 1, 1]], \"from\": [\"a\"]" REST),
        FAB_OK);
    fab_scaling_free(k);
}

static fab_status scale(const char *text, const char *formula)
{
    fab_dataset *t = read_text(text, (fab_columns){.formula = formula});
    fab_scaling *k;
    const fab_status s = fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1);
    fab_scaling_free(k);
    fab_dataset_free(t);
    return s;
}

static void what_is_no_number_is_refused_by_row_and_column(void **state)
{
    (void)state;
    static const char zero[] = "a,k,y\n1,u,3\n0,v,1\n4,u,2\n";
    assert_int_equal(scale(zero, "y ~ log(a)"), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "log(a): row 1 (from 0) is infinite (column 'a' has 0)"));
    assert_int_equal(scale(zero, "y ~ sqrt(a - 1)"), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "row 1 (from 0) is no number"));
    assert_int_equal(scale(zero, "y ~ I(1 / a)"), FAB_BAD_DATA);
    assert_int_equal(scale(zero, "y ~ log(k)"), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "'k' holds words"));
    assert_int_equal(scale(zero, "y ~ poly(a, 3)"), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "3 different values"));
    assert_int_equal(scale("a,b,y\n1e200,1e200,1\n2,1,2\n", "y ~ a:b"), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "too large"));
    assert_int_equal(scale(zero, "y ~ log1p(a)"), FAB_OK);
}

static void missing_values_make_missing_features(void **state)
{
    (void)state;
    fab_dataset *t =
        read_text("a,k,y\n1,u,3\n,v,1\n4,,2\n",
                  (fab_columns){.formula = "y ~ log(a) + a:k", .missing = FAB_MISSING_MEAN});
    fab_scaling *k;
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 0, 1), FAB_OK);
    assert_true(k->fill[0] == log(4) / 2 && k->fill[1] == 1 && k->fill[2] == 0);
    assert_int_equal(fab_scaling_apply(k, t), FAB_OK);
    const double want[] = {0, 1, 0, log(4) / 2, 1, 0, log(4), 1, 0};
    for (int i = 0; i < 9; i++) assert_true(fabs(t->x[i] - want[i]) < 1e-15);
    fab_scaling_free(k);
    fab_dataset_free(t);
}

/* Codes of C(n) are met in the same order by pieces and by a survey. */
static void pieces_and_a_survey_have_the_levels_of_the_whole(void **state)
{
    (void)state;
    const fab_columns c = {.formula = "y ~ C(n) + a"};
    fab_dataset *whole = read_text(rows, c), *t;
    fab_source *s = open_text(rows), *again = open_text(rows);
    fab_feed *f, *look;
    fab_scaling *k;
    assert_int_equal(fab_feed_open(&f, s, &c), FAB_OK);
    assert_int_equal(fab_feed_open(&look, again, &c), FAB_OK);
    assert_int_equal(fab_feed_table(f, &t), FAB_OK);
    assert_int_equal(fab_feed_read(f, 2, t), FAB_OK);
    assert_int_equal(t->words[0].n, 2);
    assert_int_equal(fab_feed_survey(look, t), FAB_OK);
    assert_int_equal(t->words[0].n, 3);
    assert_string_equal(t->words[0].word[2], "10");
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 0, 1), FAB_OK);
    assert_int_equal(fab_scaling_apply(k, whole), FAB_OK);
    assert_int_equal(fab_scaling_apply(k, t), FAB_OK);
    assert_memory_equal(t->x, whole->x, 2 * 4 * sizeof(double));
    for (int64_t i = 2; i < 5; i++) {
        fab_dataset_clear(t);
        assert_int_equal(fab_feed_read(f, 1, t), FAB_OK);
        assert_int_equal(fab_scaling_apply(k, t), FAB_OK);
        assert_memory_equal(t->x, whole->x + 4 * i, 4 * sizeof(double));
    }
    fab_scaling_free(k);
    fab_feed_close(f);
    fab_feed_close(look);
    fab_source_close(s);
    fab_source_close(again);
    fab_dataset_free(t);
    fab_dataset_free(whole);
}

/* Arrays, a table of theirs, and a file: one fit. */
static void arrays_and_tables_take_formulas(void **state)
{
    (void)state;
    const double x[] = {1, 6, 2, 4, 4, 6, 7, 10, 11, 4}, y[] = {3, 1, 2, 8, 5};
    const char *const k[] = {"u", "v", "u", "w", "v"};
    const char *const name[] = {"a", "n"};
    const fab_array more[] = {{.name = "k", .text = k}};
    const fab_arrays a = {.n = 5,
                          .x = x,
                          .D = 2,
                          .name = name,
                          .column = more,
                          .columns = 1,
                          .y = {.name = "y", .p = y}};
    const fab_data d = {.arrays = &a, .columns = {.formula = "y ~ log(a) + C(n):k - 1"}};
    const fab_plan plan = {.method = "exact",
                           .settings = (const char *const[]){"alpha=1", "beta=1", NULL}};
    fab_regression *r, *other;
    fab_dataset *t;
    double mean[2][10], sd[2][10];
    if (fab_regression_fit(&r, &d, &plan, NULL) != FAB_OK) fail_msg("%s", fab_detail());
    assert_int_equal(fab_regression_size(r), 10); /* and no intercept */
    assert_int_equal(fab_regression_coefficients(r, mean[0], sd[0]), FAB_OK);
    assert_int_equal(fab_dataset_create(&t, &d), FAB_OK);
    const fab_data again = {.table = t}, twice = {.table = t, .columns = {.formula = "~ log(a)"}};
    assert_int_equal(fab_regression_fit(&other, &twice, &plan, NULL), FAB_BAD_ARGUMENT);
    if (fab_regression_fit(&other, &again, &plan, NULL) != FAB_OK) fail_msg("%s", fab_detail());
    assert_int_equal(fab_regression_coefficients(other, mean[1], sd[1]), FAB_OK);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    fab_regression_free(other);
    fab_regression_free(r);
    fab_dataset_free(t);
}

static fab_status scale_and_free(void)
{
    static const char text[] = "a,k,n,y\n1,u,6,3\n2,v,4,1\n4,u,6,2\n7,w,10,8\n11,v,4,5\n";
    fab_source *s = NULL;
    fab_dataset *t = NULL;
    fab_scaling *k = NULL, *back = NULL;
    char *json = NULL;
    const fab_source_options o = {.words = 1};
    fab_status done = fab_source_open_memory(&s, "rows", text, strlen(text), &o, 1 << 12);
    if (done == FAB_OK)
        done = fab_dataset_read(
            &t, s, &(fab_columns){.formula = "y ~ (log(a) + k)^2 + poly(a, 2) + C(n):k"});
    if (done == FAB_OK) done = fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1);
    if (done == FAB_OK) done = fab_scaling_json(k, &json);
    if (done == FAB_OK) done = fab_scaling_from_json(&back, json);
    if (done == FAB_OK) done = fab_scaling_apply(back, t);
    fab_text_free(json);
    fab_scaling_free(back);
    fab_scaling_free(k);
    fab_dataset_free(t);
    fab_source_close(s);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    if (scale_and_free() != FAB_OK) fail_msg("%s", fab_detail());
    assert_true(fail_every_allocation(scale_and_free) > 50);
}

/* ---- lists of columns ------------------------------------------------------------------------------ */

static void columns_are_chosen_and_left_out_by_lists(void **state)
{
    (void)state;
    static const char text[] = "id,area,rooms,dist1,dist2,y\n1,2,3,4,5,6\n2,3,4,5,6,8\n";
    static const struct {
        const char *only, *exclude, *want;
    } is[] = {{"area, dist2", NULL, "area dist2"},
              {"1:3", NULL, "area rooms dist1"},
              {"rooms:dist2", "dist1", "rooms dist2"},
              {"dist*", NULL, "dist1 dist2"},
              {NULL, "dist*,id", "area rooms"},
              {NULL, "0", "area rooms dist1 dist2"},
              {"*", "1:last", "id"}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        char got[100] = "";
        fab_dataset *t = read_text(
            text, (fab_columns){.target = "y", .only = is[i].only, .exclude = is[i].exclude});
        for (int64_t c = 0; c < t->columns; c++) {
            if (c) strcat(got, " ");
            strcat(got, t->name[c]);
        }
        assert_string_equal(got, is[i].want);
        fab_dataset_free(t);
    }
    static const char *const bad[][2] = {{"aera", "did you mean 'area'?"},
                                         {"z*", "begins with 'z'"},
                                         {"dist2:area", "before"},
                                         {"9", "no column 9"},
                                         {"y", "is target"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fab_source *s = open_text(text);
        fab_dataset *t;
        assert_int_equal(
            fab_dataset_read(&t, s, &(fab_columns){.target = "y", .exclude = bad[i][0]}),
            FAB_BAD_ARGUMENT);
        if (!strstr(fab_detail(), bad[i][1])) fail_msg("%s: %s", bad[i][0], fab_detail());
        fab_source_close(s);
    }
}

static fab_status choose_and_close(void)
{
    static const char text[] = "a,b,c\n1,oops,3\n4,5,6\n";
    fab_source *s;
    fab_status done = fab_source_open_memory(&s, "rows", text, strlen(text), NULL, 1 << 12);
    if (done == FAB_OK) done = fab_source_choose(&s, "a:c", "b");
    double x[4];
    int64_t got = 0;
    if (done == FAB_OK) done = fab_source_next(s, 9, x, &got);
    if (done == FAB_OK) {
        assert_true(got == 2 && x[0] == 1 && x[1] == 3 && x[2] == 4 && x[3] == 6);
        assert_string_equal(fab_source_name(s, 1), "c");
        assert_null(fab_source_name(s, 2));
    }
    fab_source_close(s);
    return done;
}

static void a_source_of_chosen_columns_holds_nothing_behind(void **state)
{
    (void)state;
    assert_int_equal(choose_and_close(), FAB_OK);
    assert_true(fail_every_allocation(choose_and_close) > 5);
}

/* What is left out is not looked at: words among numbers, and nothing at all. */
static void a_column_that_is_left_out_may_hold_anything(void **state)
{
    (void)state;
    char text[1 << 17] = "a,b,y\n";
    for (int i = 0; strlen(text) < 70000; i++)
        snprintf(text + strlen(text), 40, "%d,%d.5,%d\n", i % 7, i, i % 5);
    strcat(text, "1,oops,2\n3,,4\n"); /* behind the head that says what columns are */
    const fab_columns c = {.target = "y"}, without = {.target = "y", .exclude = "b"},
                      formula = {.formula = "y ~ a"};
    fab_source *s = open_text(text);
    fab_dataset *t;
    assert_int_equal(fab_dataset_read(&t, s, &c), FAB_BAD_DATA);
    fab_source_close(s);
    t = read_text(text, without);
    assert_true(t->columns == 1 && t->x[t->n - 1] == 3);
    fab_dataset_free(t);
    t = read_text(text, formula);
    assert_true(t->columns == 1 && t->x[t->n - 2] == 1);
    fab_dataset_free(t);
}

/* ---- columns that name the rows -------------------------------------------------------------------- */

/* n rows: a word of `levels`, a number in sequence under `counter`, another number, the target. */
static fab_status fit_rows(fab_regression **r, int n, int levels, const char *counter,
                           fab_columns c, const char *categorical)
{
    static char text[1 << 16];
    snprintf(text, sizeof text, "word,%s,a,y\n", counter);
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), 64, "w%d,%d,%d,%d\n", i % levels, i + 1, i * i % 11,
                 i * 7 % 13);
    const char *file = in_folder("keys.csv");
    put_bytes(file, text, strlen(text));
    if (!c.formula) c.target = "y";
    const fab_data d = {.file = file, .columns = c, .categorical = categorical};
    const fab_plan plan = {.method = "exact",
                           .settings = (const char *const[]){"alpha=1", "beta=1", NULL}};
    return fab_regression_fit(r, &d, &plan, NULL);
}

static void columns_that_name_the_rows_are_left_out(void **state)
{
    (void)state;
    static const struct {
        int n, levels;
        const char *counter;
        int64_t D, keys, left;
    } is[] = {
        {12, 12, "t", 2, 2, 1},  {20, 19, "t", 2, 2, 1},     {32, 32, "t", 2, 2, 1},
        {12, 6, "t", 8, 1, 0},   {30, 28, "Id", 1, 2, 2},    {20, 18, "t", 20, 1, 0},
        {40, 20, "t", 22, 1, 0}, {40, 21, "t", 2, 2, 1},     {150, 3, "index", 4, 1, 1},
        {9, 9, "id", 11, 0, 0},  {200, 100, "n", 102, 1, 0}, {200, 101, "Unnamed: 0", 1, 2, 2}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        fab_regression *r;
        fab_table_report f;
        int64_t left = 0;
        if (fit_rows(&r, is[i].n, is[i].levels, is[i].counter, (fab_columns){0}, NULL) != FAB_OK)
            fail_msg("%s", fab_detail());
        assert_int_equal(fab_regression_report(r, &f), FAB_OK);
        const fab_key *key;
        const int64_t keys = fab_regression_keys(r, &key);
        for (int64_t k = 0; k < keys; k++) left += key[k].left_out;
        if (f.D != is[i].D || keys != is[i].keys || left != is[i].left)
            fail_msg("%d rows, %d levels, %s: %lld features, %lld keys, %lld left out", is[i].n,
                     is[i].levels, is[i].counter, (long long)f.D, (long long)keys, (long long)left);
        fab_regression_free(r);
    }
}

static void columns_that_the_call_names_stay(void **state)
{
    (void)state;
    static const struct {
        fab_columns c;
        const char *categorical;
        int64_t D;
    } is[] = {{{0}, "word", 33},
              {{.only = "word,a"}, NULL, 33},
              {{.only = "word:a"}, NULL, 1}, /* a range names none */
              {{.only = "id,a"}, NULL, 2},
              {{.formula = "y ~ word + a"}, NULL, 33},
              {{.formula = "y ~ ."}, NULL, 1},
              {{.formula = "y ~ .^2 + id"}, NULL, 3},     /* id, a, id:a */
              {{.formula = "y ~ log(id) + ."}, NULL, 3}}; /* id and a beside its logarithm */
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        fab_regression *r;
        if (fit_rows(&r, 32, 32, "id", is[i].c, is[i].categorical) != FAB_OK)
            fail_msg("%s", fab_detail());
        if (fab_regression_scaling(r)->D != is[i].D)
            fail_msg("%d: %lld features", (int)i, (long long)fab_regression_scaling(r)->D);
        fab_regression_free(r);
    }
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(operators_are_those_of_R),
        TEST(a_wrong_formula_is_refused_with_its_place),
        TEST(whatever_is_read_reads_back),
        TEST(features_are_products_of_numbers_and_levels),
        TEST(polynomials_are_those_of_R),
        TEST(a_stored_formula_is_trusted_in_nothing),
        TEST(what_is_no_number_is_refused_by_row_and_column),
        TEST(missing_values_make_missing_features),
        TEST(pieces_and_a_survey_have_the_levels_of_the_whole),
        TEST(arrays_and_tables_take_formulas),
        TEST(every_failed_allocation_is_reported),
        TEST(columns_are_chosen_and_left_out_by_lists),
        TEST(a_source_of_chosen_columns_holds_nothing_behind),
        TEST(a_column_that_is_left_out_may_hold_anything),
        TEST(columns_that_name_the_rows_are_left_out),
        TEST(columns_that_the_call_names_stay),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
