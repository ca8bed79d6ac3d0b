/* test_table.c - a table for regression: which column is what, and its units.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/settings.h"
#include "fabayes/data.h"
#include "data/source/source.h"
#include "files.h"
#include <math.h>

static fab_source *open_text(const char *text)
{
    fab_source *s;
    assert_int_equal(fab_source_open_memory(&s, "rows", text, strlen(text), NULL, 1 << 18), FAB_OK);
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

static const char four[] = "a,b,y,w\n1,7,10,1\n2,7,20,1\n6,7,60,2\n";

static void columns_are_found_by_name_number_and_last(void **state)
{
    (void)state;
    const fab_columns ways[] = {{.target = "y"}, {.target = "2"}};
    for (int i = 0; i < 2; i++) {
        fab_dataset *t = read_text(four, ways[i]);
        assert_int_equal(t->n, 3);
        assert_int_equal(t->D, 3);
        assert_string_equal(t->target_name, "y");
        assert_string_equal(t->name[2], "w");
        assert_true(t->y[2] == 60 && t->x[6] == 6 && t->x[8] == 2);
        fab_dataset_free(t);
    }
    fab_dataset *t = read_text(four, (fab_columns){.target = "last", .offset = "a"});
    assert_string_equal(t->target_name, "w");
    assert_string_equal(t->offset_name, "a");
    assert_int_equal(t->D, 2);
    assert_true(t->offset[2] == 6);
    fab_dataset_free(t);
}

static void an_unknown_column_is_answered_with_the_nearest(void **state)
{
    (void)state;
    fab_source *s = open_text("price,area\n1,2\n3,4\n");
    fab_dataset *t;
    assert_int_equal(fab_dataset_read(&t, s, &(fab_columns){.target = "prize"}), FAB_BAD_ARGUMENT);
    assert_null(t);
    assert_detail("prize", "did you mean 'price'?");
    assert_int_equal(fab_dataset_read(&t, s, &(fab_columns){.target = "2"}), FAB_BAD_ARGUMENT);
    assert_detail("no column 2", "has 2");
    fab_source_close(s);
}

static void units_are_weighted_means_and_deviations(void **state)
{
    (void)state;
    fab_dataset *t = read_text(four, (fab_columns){.target = "y", .weight = "w"});
    fab_scaling *k;
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1), FAB_OK);
    const double mean = (1 + 2 + 2 * 6) / 4.0; /* 3.75; squares 7.5625 + 3.0625 + 2 * 5.0625 */
    const double sd = sqrt((7.5625 + 3.0625 + 10.125) / 4);
    assert_true(fabs(k->mean[0] - mean) < 1e-14 && fabs(k->scale[0] - sd) < 1e-14);
    assert_true(fabs(k->target_mean - 10 * mean) < 1e-13 &&
                fabs(k->target_scale - 10 * sd) < 1e-13);
    assert_true(k->scale[1] == 1); /* b hardly varies */
    char constant[3];
    assert_int_equal(fab_dataset_constants(t, constant), FAB_OK);
    assert_true(constant[1] && !constant[0]);
    assert_int_equal(fab_scaling_apply(k, t), FAB_OK);
    assert_true(t->x[1] == 0 && fabs(t->x[4] - (6 - mean) / sd) < 1e-14);
    fab_scaling_free(k);
    fab_dataset_free(t);
}

static void huge_and_tiny_columns_have_units(void **state)
{
    (void)state;
    fab_dataset *t =
        read_text("a,b,y\n1e300,1e-300,1\n-1e300,3e-300,2\n", (fab_columns){.target = "y"});
    fab_scaling *k;
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1), FAB_OK);
    assert_true(fabs(k->scale[0] / 1e300 - 1) < 1e-14 && fabs(k->scale[1] / 1e-300 - 1) < 1e-14);
    fab_scaling_free(k);
    fab_dataset_free(t);
}

static void libsvm_features_are_scaled_and_not_centred(void **state)
{
    (void)state;
    fab_dataset *t = read_text("-1 1:2 2:1\n+1 2:3\n-1 1:4 2:1\n", (fab_columns){0});
    fab_scaling *k;
    assert_string_equal(t->target_name, "label");
    assert_int_equal(fab_dataset_levels(t, 9), 2);
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_CLASSES, 1, 1), FAB_OK);
    assert_true(k->mean[0] == 0 && fabs(k->scale[0] - sqrt(8.0 / 3)) < 1e-14);
    assert_int_equal(fab_scaling_apply(k, t), FAB_OK);
    assert_true(t->y[0] == 0 && t->y[1] == 1 && t->packed);
    assert_true(t->cells.start[2] - t->cells.start[1] == 1 && t->cells.index[2] == 1);
    fab_scaling_free(k);
    fab_dataset_free(t);
}

static void targets_without_information_are_refused(void **state)
{
    (void)state;
    fab_dataset *t = read_text("a,y\n1,5\n2,5\n", (fab_columns){.target = "y"});
    fab_scaling *k;
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1), FAB_BAD_DATA);
    assert_detail("'y'", "constant");
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_CLASSES, 1, 1), FAB_BAD_DATA);
    assert_detail("'y'", "one class");
    assert_null(k);
    fab_dataset_free(t);
}

static void a_scaling_reads_back_from_its_text(void **state)
{
    (void)state;
    fab_dataset *t = read_text("\"a\"\"q\",b,y\n1.1,7,-1\n2.385,8,1\n",
                               (fab_columns){.target = "y", .offset = "b"});
    fab_scaling *k, *again;
    char *text, *other;
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_CLASSES, 1, 1), FAB_OK);
    assert_int_equal(fab_scaling_json(k, &text), FAB_OK);
    assert_int_equal(fab_scaling_from_json(&again, text), FAB_OK);
    assert_int_equal(fab_scaling_json(again, &other), FAB_OK);
    assert_string_equal(text, other);
    assert_true(again->mean[0] == k->mean[0] && again->level[0] == -1 && again->levels == 2);
    fab_text_free(text);
    fab_text_free(other);
    fab_scaling_free(k);
    fab_scaling_free(again);
    fab_dataset_free(t);
}

/* g has values that come again, x none, b two values, r one that comes again in a third of the rows. */
static void values_that_come_again_are_steps(void **state)
{
    (void)state;
    enum { ROWS = 21 };
    double x[ROWS * 4], y[ROWS];
    const char *const name[] = {"x", "g", "b", "r"};
    for (int i = 0; i < ROWS; i++) {
        const double row[] = {i + 0.5, i < 20 ? i % 4 * 2.5 : 99, i % 2, i < 7 ? 0 : i};
        memcpy(x + 4 * i, row, sizeof row);
        y[i] = i * i;
    }
    const fab_arrays a = {.n = ROWS, .x = x, .D = 4, .name = name, .y = {.name = "y", .p = y}};
    fab_dataset *t;
    fab_scaling *plain, *k, *again;
    char *text, *other;
    const fab_data d = {.arrays = &a, .columns = {.target = "y"}};
    assert_int_equal(fab_dataset_create(&t, &d), FAB_OK);
    assert_int_equal(fab_scaling_create(&plain, t, FAB_TARGET_REAL, 1, 1), FAB_OK);
    assert_int_equal(fab_scaling_create_steps(&k, t, FAB_TARGET_REAL, 1, 1), FAB_OK);
    assert_int_equal(plain->D, 4);
    assert_int_equal(k->D, 8); /* 99 is in one row alone */
    assert_int_equal(k->column[1].steps, 4);
    assert_int_equal(k->column[0].steps + k->column[2].steps + k->column[3].steps, 0);
    assert_string_equal(k->name[3], "g=2.5");
    assert_true(k->mean[1] == plain->mean[1] && k->mean[7] == plain->mean[3]);
    assert_true(fabs(k->mean[3] - 5. / 21) < 1e-15);
    assert_int_equal(fab_scaling_json(k, &text), FAB_OK);
    assert_int_equal(fab_scaling_from_json(&again, text), FAB_OK);
    assert_int_equal(fab_scaling_json(again, &other), FAB_OK);
    assert_string_equal(text, other);
    assert_int_equal(fab_scaling_apply(again, t), FAB_OK);
    assert_int_equal(t->D, 8);
    for (int i = 0; i < ROWS; i++)
        for (int s = 0; s < 4; s++) {
            const double is = i < 20 && i % 4 == s, *row = t->x + i * 8;
            assert_true(fabs(row[2 + s] * k->scale[2 + s] + k->mean[2 + s] - is) < 1e-14);
        }
    fab_text_free(text);
    fab_text_free(other);
    fab_scaling_free(plain);
    fab_scaling_free(k);
    fab_scaling_free(again);
    fab_dataset_free(t);
}

static void bad_text_is_no_scaling(void **state)
{
    (void)state;
    const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"columns\": []}",
        "{\"columns\": [\"a\"], \"means\": [0], \"scales\": [0], \"target\": \"y\"}",
        "{\"columns\": [\"a\"], \"means\": [0], \"scales\": [1], \"target\": \"y\"}",
        "{\"columns\": [1], \"means\": [0], \"scales\": [1], \"target\": \"y\"}",
        "{\"columns\": [{\"name\": \"a\", \"steps\": []}]}",
        "{\"columns\": [{\"name\": \"a\", \"steps\": [2, 1]}]}",
        "{\"columns\": [{\"name\": \"a\", \"steps\": [1, \"2\"]}]}"};
    fab_scaling *k;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fab_scaling_from_json(&k, bad[i]), FAB_BAD_FILE);
        assert_null(k);
    }
}

/* Of files and of arrays; an earlier file that has two columns of one name is refused. */
static void every_column_has_a_name_of_its_own(void **state)
{
    (void)state;
    const char *const given[] = {"u", "u", "y", "u.1", "u"}, *const want[] = {"u", "u.2", "y",
                                                                              "u.1", "u.3"};
    double x[10] = {0};
    const fab_arrays a = {.n = 2, .x = x, .D = 5, .name = given};
    fab_source *s;
    fab_scaling *k;
    assert_int_equal(fab_source_open_arrays(&s, &a, NULL), FAB_OK);
    for (int64_t c = 0; c < 5; c++) {
        assert_string_equal(fab_source_name(s, c), want[c]);
        assert_int_equal(fab_source_column(s, want[c]), c);
    }
    fab_source_close(s);
    assert_int_equal(fab_scaling_from_json(
                         &k, "{\"target\":\"y\",\"target_mean\":0,\"target_scale\":1,\"columns\":"
                             "[\"u\",\"v\",\"u\"],\"means\":[0,0,0],\"scales\":[1,1,1]}"),
                     FAB_BAD_FILE);
    assert_non_null(strstr(fab_detail(), "two columns are named 'u'"));
    assert_int_equal(fab_scaling_from_json(
                         &k, "{\"target\":\"y\",\"target_mean\":0,\"target_scale\":1,\"columns\":"
                             "[\"u\",\"v\",\"w\"],\"means\":[0,0,0],\"scales\":[1,1,1]}"),
                     FAB_OK);
    fab_scaling_free(k);
}

static fab_status read_as(fab_dataset **t, fab_source *s, const fab_scaling *k)
{
    fab_feed *f;
    *t = NULL;
    const fab_status found = fab_feed_open_as(&f, s, k, FAB_READ_FEATURES);
    if (found != FAB_OK) return found;
    assert_int_equal(fab_feed_table(f, t), FAB_OK);
    assert_int_equal(fab_feed_read(f, INT64_MAX, *t), FAB_OK);
    fab_feed_close(f);
    return FAB_OK;
}

static void a_model_finds_its_columns_in_another_order(void **state)
{
    (void)state;
    fab_dataset *t = read_text("a,b,y\n1,2,3\n4,5,7\n", (fab_columns){.target = "y"}), *other;
    fab_scaling *k;
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 0, 1), FAB_OK);
    fab_source *s = open_text("b,z,a\n2,0,1\n");
    assert_int_equal(read_as(&other, s, k), FAB_OK);
    assert_true(other->x[0] == 1 && other->x[1] == 2 && !other->y);
    fab_dataset_free(other);
    fab_source_close(s);
    s = open_text("1,2\n3,4\n"); /* no names: by place */
    assert_int_equal(read_as(&other, s, k), FAB_OK);
    assert_true(other->x[0] == 1 && other->x[3] == 4);
    fab_dataset_free(other);
    fab_source_close(s);
    s = open_text("a,c\n1,2\n");
    assert_int_equal(read_as(&other, s, k), FAB_BAD_DATA);
    assert_detail("'b'", "no column");
    fab_source_close(s);
    fab_scaling_free(k);
    fab_dataset_free(t);
}

static fab_source *open_words(const char *text)
{
    fab_source *s;
    const fab_source_options o = {.words = 1, .missing = 1};
    assert_int_equal(fab_source_open_memory(&s, "rows", text, strlen(text), &o, 1 << 18), FAB_OK);
    return s;
}

static const char kinds[] = "kind,a,y\nred,1,10\nblue,2,20\nred,,30\ngreen,4,40\n,5,50\n";

static void pieces_of_a_feed_are_the_whole_table(void **state)
{
    (void)state;
    const fab_columns c = {.target = "y", .missing = FAB_MISSING_MEAN};
    fab_source *s = open_words(kinds), *other = open_words(kinds);
    fab_dataset *whole, *part;
    fab_feed *f;
    assert_int_equal(fab_dataset_read(&whole, s, &c), FAB_OK);
    assert_int_equal(fab_feed_open(&f, other, &c), FAB_OK);
    assert_int_equal(fab_feed_table(f, &part), FAB_OK);
    for (int64_t i = 0; i < 5; i++) {
        fab_dataset_clear(part);
        assert_int_equal(fab_feed_read(f, 1, part), FAB_OK);
        assert_int_equal(part->n, 1);
        assert_memory_equal(part->x, whole->x + 2 * i, 2 * sizeof(double));
        assert_true(part->y[0] == whole->y[i]);
    }
    assert_int_equal(fab_feed_rows(f), 5);
    assert_false(fab_feed_at_end(f));
    assert_int_equal(fab_feed_read(f, 1, part), FAB_OK);
    assert_true(fab_feed_at_end(f) && part->n == 1);
    assert_int_equal(part->words[0].n, 3);
    assert_string_equal(part->words[0].word[2], "green");
    fab_feed_close(f);
    fab_dataset_free(part);
    fab_dataset_free(whole);
    fab_source_close(other);
    fab_source_close(s);
}

static void missing_values_take_the_mean_of_their_column(void **state)
{
    (void)state;
    fab_source *s = open_words(kinds);
    fab_dataset *t;
    fab_scaling *k;
    char *text, *names;
    assert_int_equal(
        fab_dataset_read(&t, s, &(fab_columns){.target = "y", .missing = FAB_MISSING_MEAN}),
        FAB_OK);
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 0, 1), FAB_OK);
    assert_int_equal(k->D, 4); /* blue, green, red, a */
    assert_string_equal(k->name[0], "kind=blue");
    assert_string_equal(k->name[3], "a");
    assert_true(k->fill[0] == 0.25 && k->fill[2] == 0.5 && fabs(k->fill[3] - 3) < 1e-15);
    assert_int_equal(fab_scaling_categorical(k, &names), FAB_OK);
    assert_string_equal(names, "kind");
    assert_int_equal(fab_scaling_apply(k, t), FAB_OK);
    const double want[] = {0, 0, 1, 1, 1, 0, 0, 2, 0, 0, 1, 3, 0, 1, 0, 4, .25, .25, .5, 5};
    for (int i = 0; i < 20; i++) assert_true(fabs(t->x[i] - want[i]) < 1e-15);
    assert_int_equal(fab_scaling_json(k, &text), FAB_OK);
    assert_non_null(
        strstr(text, "{\"name\": \"kind\", \"levels\": [\"blue\", \"green\", \"red\"]}"));
    fab_text_free(text);
    fab_text_free(names);
    fab_scaling_free(k);
    fab_dataset_free(t);
    fab_source_close(s);
}

static void rows_without_a_value_are_dropped_and_counted(void **state)
{
    (void)state;
    fab_source *s = open_words(kinds);
    fab_dataset *t;
    assert_int_equal(
        fab_dataset_read(&t, s, &(fab_columns){.target = "y", .missing = FAB_MISSING_DROP}),
        FAB_OK);
    assert_true(t->n == 3 && t->dropped == 2 && t->y[2] == 40);
    fab_dataset_free(t);
    fab_source_close(s);
}

static void a_survey_finds_what_the_first_rows_lack(void **state)
{
    (void)state;
    static const char text[] = "k,a,y\nu,1,0\nv,2,0\nu,3,1\nw,4,2\n";
    fab_source *s = open_words(text), *again = open_words(text);
    fab_dataset *t;
    fab_scaling *k;
    fab_feed *f, *look;
    assert_int_equal(fab_feed_open(&f, s, &(fab_columns){.target = "y"}), FAB_OK);
    assert_int_equal(fab_feed_open(&look, again, &(fab_columns){.target = "y"}), FAB_OK);
    assert_int_equal(fab_feed_table(f, &t), FAB_OK);
    assert_int_equal(fab_feed_read(f, 2, t), FAB_OK);
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_CLASSES, 1, 1), FAB_BAD_DATA);
    assert_int_equal(fab_feed_survey(look, t), FAB_OK);
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_CLASSES, 1, 1), FAB_OK);
    assert_true(k->levels == 3 && k->level[2] == 2 && k->D == 4);
    for (fab_dataset_clear(t); !fab_feed_at_end(f); fab_dataset_clear(t)) {
        assert_int_equal(fab_feed_read(f, 1, t), FAB_OK);
        assert_int_equal(fab_scaling_apply(k, t), FAB_OK);
    }
    fab_scaling_free(k);
    fab_dataset_free(t);
    fab_feed_close(look);
    fab_feed_close(f);
    fab_source_close(again);
    fab_source_close(s);
}

static void labels_stand_in_a_file_of_their_own(void **state)
{
    (void)state;
    fab_source *s = open_words("1,2\n3,4\n5,6\n"), *labels = open_words("kind\nu\nv\nu\n"),
               *wide = open_words(four);
    fab_feed *f;
    fab_dataset *t;
    assert_int_equal(fab_feed_open(&f, s, &(fab_columns){0}), FAB_OK);
    assert_int_equal(fab_feed_set_labels(f, wide), FAB_BAD_DATA);
    assert_detail("one column", "4");
    assert_int_equal(fab_feed_set_labels(f, labels), FAB_OK);
    assert_int_equal(fab_feed_set_labels(f, labels), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_feed_table(f, &t), FAB_OK);
    assert_int_equal(fab_feed_read(f, 2, t), FAB_OK);
    assert_int_equal(fab_feed_read(f, INT64_MAX, t), FAB_OK);
    assert_true(t->n == 3 && t->D == 2 && t->x[4] == 5 && t->x[5] == 6);
    assert_true(t->y[0] == 0 && t->y[1] == 1 && t->y[2] == 0);
    assert_string_equal(t->target_words.word[1], "v");
    assert_string_equal(t->target_name, "label");
    fab_dataset_free(t);
    fab_feed_close(f);
    fab_source_close(s);
    fab_source_close(labels);
    fab_source_close(wide);
}

static void labels_and_rows_are_as_many(void **state)
{
    (void)state;
    const char *const bad[] = {"1\n2\n", "1\n2\n3\n4\n"}, *const says[] = {"fewer", "more"};
    for (int i = 0; i < 2; i++) {
        fab_source *s = open_words("1,2\n3,4\n5,6\n"), *labels = open_words(bad[i]);
        fab_feed *f;
        fab_dataset *t;
        assert_int_equal(fab_feed_open(&f, s, &(fab_columns){0}), FAB_OK);
        assert_int_equal(fab_feed_set_labels(f, labels), FAB_OK);
        assert_int_equal(fab_feed_table(f, &t), FAB_OK);
        assert_int_equal(fab_feed_read(f, INT64_MAX, t), FAB_BAD_DATA);
        assert_detail(says[i], i ? "row 4" : "row 2");
        fab_dataset_free(t);
        fab_feed_close(f);
        fab_source_close(s);
        fab_source_close(labels);
    }
}

static void the_word_among_numbers_is_the_one_that_is_named(void **state)
{
    (void)state;
    fab_source *s = open_words("a,y\n1,7\n2,1e3\n3,v\n4,7\n");
    fab_dataset *t;
    fab_scaling *k;
    assert_int_equal(fab_dataset_read(&t, s, &(fab_columns){.target = "y"}), FAB_OK);
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1), FAB_BAD_DATA);
    assert_detail("'y'", "'v' is not a number");
    fab_dataset_free(t);
    fab_source_close(s);
}

static void words_for_a_number_are_refused(void **state)
{
    (void)state;
    fab_source *s = open_words("a,y\n1,u\n2,v\n3,u\n");
    fab_dataset *t;
    fab_scaling *k;
    char buf[32];
    assert_int_equal(fab_dataset_read(&t, s, &(fab_columns){.target = "y"}), FAB_OK);
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_REAL, 1, 1), FAB_BAD_DATA);
    assert_detail("'y'", "'u' is not a number");
    assert_int_equal(fab_scaling_create(&k, t, FAB_TARGET_CLASSES, 1, 1), FAB_OK);
    assert_string_equal(fab_scaling_class(k, 1, buf), "v");
    assert_int_equal(fab_scaling_apply(k, t), FAB_OK);
    assert_true(t->y[0] == 0 && t->y[1] == 1 && t->y[2] == 0);
    fab_scaling_free(k);
    fab_dataset_free(t);
    fab_source_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_found_by_name_number_and_last),
        cmocka_unit_test(an_unknown_column_is_answered_with_the_nearest),
        cmocka_unit_test(units_are_weighted_means_and_deviations),
        cmocka_unit_test(huge_and_tiny_columns_have_units),
        cmocka_unit_test(libsvm_features_are_scaled_and_not_centred),
        cmocka_unit_test(targets_without_information_are_refused),
        cmocka_unit_test(a_scaling_reads_back_from_its_text),
        cmocka_unit_test(values_that_come_again_are_steps),
        cmocka_unit_test(bad_text_is_no_scaling),
        cmocka_unit_test(a_model_finds_its_columns_in_another_order),
        cmocka_unit_test(pieces_of_a_feed_are_the_whole_table),
        cmocka_unit_test(missing_values_take_the_mean_of_their_column),
        cmocka_unit_test(rows_without_a_value_are_dropped_and_counted),
        cmocka_unit_test(every_column_has_a_name_of_its_own),
        cmocka_unit_test(a_survey_finds_what_the_first_rows_lack),
        cmocka_unit_test(words_for_a_number_are_refused),
        cmocka_unit_test(the_word_among_numbers_is_the_one_that_is_named),
        cmocka_unit_test(labels_stand_in_a_file_of_their_own),
        cmocka_unit_test(labels_and_rows_are_as_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
