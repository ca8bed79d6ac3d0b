/* test_settings.c - settings tables: defaults, ranges, text and JSON, all or nothing.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/settings.h"
#include "base/text.h"
#include "dense.h"
#include "fabayes/gauss.h"

typedef struct sample {
    int64_t K, rows, centre, start;
    double rate, wide, guess;
    int64_t width;
} sample;

#define SETTINGS sample
static const char *const starts[] = {"svd", "orthonormal", "random", NULL};
static const fab_field fields[] = {
    REQUIRED(K, I64, 1, 4096, "number of factors"),
    FIELD(rows, I64, 100, -0x1p63, 0x1p63, "any whole number"),
    SWITCH(centre, 1, "take the mean away"),
    CHOICE(start, 1, starts, "how F begins"),
    TUNED(rate, F64, 0.1, 0, 1, LOG, 1e-4, 1, "learning rate"),
    FIELD(wide, F64, -2.385, -DBL_MAX, DBL_MAX, "any number"),
    AUTOMATIC(guess, F64, 0, 10, "auto: the mean of the data"),
    AUTOMATIC(width, I64, 1, 64, "auto: 2 K"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("sample", fields);
#undef SETTINGS

static sample fresh(void)
{
    sample s;
    memset(&s, 0xa5, sizeof s);
    fab_settings_defaults(&table, &s);
    return s;
}

static sample valid(void)
{
    sample s = fresh();
    s.K = 7;
    return s;
}

static void check_same(const sample *a, const sample *b)
{
    assert_memory_equal(a, b, sizeof *a);
}

static void defaults_are_those_of_the_table(void **state)
{
    (void)state;
    const sample s = fresh();
    assert_int_equal(s.K, 0);
    assert_int_equal(s.rows, 100);
    assert_int_equal(s.centre, 1);
    assert_int_equal(s.start, 1);
    assert_near(s.rate, 0.1, 0);
    assert_near(s.wide, -2.385, 0);
    assert_true(fab_is_auto_f64(s.guess) && fab_is_auto_i64(s.width));
    assert_refused(fab_settings_check(&table, &s), FAB_BAD_ARGUMENT,
                   "sample: K = 0 is outside [1, 4096]");
    const sample t = valid();
    assert_ok(fab_settings_check(&table, &t));
}

static void values_outside_their_range_are_named(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY, -1e-300, 1.0000000000000002};
    for (int i = 0; i < 5; i++) {
        sample s = valid();
        s.rate = bad[i];
        assert_refused(fab_settings_check(&table, &s), FAB_BAD_ARGUMENT, "sample: rate = ");
        s = valid();
        s.wide = bad[i];
        assert_int_equal(fab_settings_check(&table, &s), i < 3 ? FAB_BAD_ARGUMENT : FAB_OK);
    }
    sample s = valid();
    s.rate = 0;
    assert_ok(fab_settings_check(&table, &s)); /* both ends are included */
    s.rate = 1;
    assert_ok(fab_settings_check(&table, &s));
    s.K = 4097;
    assert_refused(fab_settings_check(&table, &s), FAB_BAD_ARGUMENT,
                   "K = 4097 is outside [1, 4096]");
    s = valid();
    s.centre = 2;
    assert_refused(fab_settings_check(&table, &s), FAB_BAD_ARGUMENT, "centre = ");
    s = valid();
    s.start = 3;
    assert_refused(fab_settings_check(&table, &s), FAB_BAD_ARGUMENT, "start = 3 is outside svd|");
    s.start = -1;
    assert_refused(fab_settings_check(&table, &s), FAB_BAD_ARGUMENT, "start = -1");
    s = valid();
    s.rate = FAB_AUTO_F64; /* auto is a value of automatic settings only */
    assert_int_equal(fab_settings_check(&table, &s), FAB_BAD_ARGUMENT);
    s = valid();
    s.K = FAB_AUTO_I64;
    assert_int_equal(fab_settings_check(&table, &s), FAB_BAD_ARGUMENT);
    s = valid();
    s.guess = NAN;
    assert_int_equal(fab_settings_check(&table, &s), FAB_BAD_ARGUMENT);
}

/* Print a field of s and read it into a fresh struct: the same bits. */
static void check_round_trip(const sample *s, const char *name)
{
    char text[64], again[64];
    sample t = valid();
    const fab_field *f = fab_settings_find(&table, name);
    assert_non_null(f);
    const int n = fab_settings_print(f, s, text, sizeof text);
    assert_int_equal(n, strlen(text));
    assert_int_equal(fab_settings_print(f, s, NULL, 0), n); /* as snprintf would */
    assert_int_equal(fab_settings_print(f, s, again, 4), n);
    assert_int_equal(strncmp(again, text, 3), 0);
    assert_int_equal(strlen(again), n < 3 ? n : 3);
    assert_ok(fab_settings_parse(&table, &t, name, text));
    assert_memory_equal((char *)&t + f->offset, (const char *)s + f->offset, 8);
}

static void every_type_reads_back_to_the_same_bits(void **state)
{
    (void)state;
    const double numbers[] = {0.0,         -0.0,    0.1,      1.0 / 3,   DBL_MAX,
                              -DBL_MAX,    DBL_MIN, 1e-310,   0x1p-1074, 1e22,
                              1e23,        2.385,   5e15 + 1, 0x1p53,    123456789012345678.0,
                              1 + 0x1p-52, 1e-5,    29};
    sample s = valid();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        s.wide = numbers[i];
        check_round_trip(&s, "wide");
    }
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = 0;
        for (int b = 0; b < 4; b++)
            bits = bits << 16 | (uint64_t)(0x8000 * (1 + noise(1, 4 * i + b)));
        memcpy(&s.wide, &bits, sizeof s.wide);
        if (isfinite(s.wide)) check_round_trip(&s, "wide");
    }
    const int64_t whole[] = {0, 1, -1, 29, INT64_MAX, INT64_MIN + 1, ((int64_t)1 << 53) + 1};
    for (int i = 0; i < 7; i++) {
        s.rows = whole[i];
        check_round_trip(&s, "rows");
    }
    for (s.centre = 0; s.centre < 2; s.centre++) check_round_trip(&s, "centre");
    for (s.start = 0; s.start < 3; s.start++) check_round_trip(&s, "start");
    s = valid();
    check_round_trip(&s, "guess"); /* auto */
    check_round_trip(&s, "width");
    s.guess = 0.3, s.width = 64;
    check_round_trip(&s, "guess");
    check_round_trip(&s, "width");
}

static void text_is_read_as_people_write_it(void **state)
{
    (void)state;
    sample s = valid();
    assert_ok(fab_settings_parse(&table, &s, "rows", "1e6"));
    assert_int_equal(s.rows, 1000000);
    assert_ok(fab_settings_parse(&table, &s, "rows", "-3"));
    assert_int_equal(s.rows, -3);
    assert_ok(fab_settings_parse(&table, &s, "rate", ".5"));
    assert_near(s.rate, 0.5, 0);
    assert_ok(fab_settings_parse(&table, &s, "centre", "false"));
    assert_int_equal(s.centre, 0);
    assert_ok(fab_settings_parse(&table, &s, "centre", "1"));
    assert_int_equal(s.centre, 1);
    assert_ok(fab_settings_parse(&table, &s, "start", "random"));
    assert_int_equal(s.start, 2);
    assert_ok(fab_settings_parse(&table, &s, "guess", "4"));
    assert_ok(fab_settings_parse(&table, &s, "guess", "auto"));
    assert_true(fab_is_auto_f64(s.guess));
    assert_ok(fab_settings_parse(&table, &s, "width", "auto"));
    assert_true(fab_is_auto_i64(s.width));
}

static void a_failed_parse_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *words;
    } wrong[] = {
        {"K", "", "sample: K = ''"},
        {"K", "seven", "a whole number"},
        {"K", "7.5", "a whole number"},
        {"K", "7x", "a whole number"},
        {"K", "0", "outside [1, 4096]"},
        {"K", "5000", "outside [1, 4096]"},
        {"K", "auto", "a whole number"},
        {"rows", "9223372036854775808", "a whole number"},
        {"K", "nan", "a whole number"},
        {"rows", "1e300", "a whole number"},
        {"rate", "nan", "a number"},
        {"rate", "inf", "a number"},
        {"rate", "1e999", "a number"},
        {"rate", "0.5 ", "a number"},
        {"rate", "1.1", "outside [0, 1]"},
        {"rate", "", "a number"},
        {"centre", "yes", "true|false"},
        {"centre", "", "true|false"},
        {"start", "svdd", "svd|orthonormal|random"},
        {"start", "1", "svd|orthonormal|random"},
        {"guess", "-1", "outside [0, 10]"},
        {"guess", "automatic", "or auto"},
        {"guess", "-inf", "or auto"},
        {"width", "0", "outside [1, 64]"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sample s = valid();
        const sample before = s;
        assert_refused(fab_settings_parse(&table, &s, wrong[i].name, wrong[i].text),
                       FAB_BAD_ARGUMENT, wrong[i].words);
        check_same(&s, &before);
    }
}

static void an_unknown_name_is_answered_with_the_nearest(void **state)
{
    (void)state;
    sample s = valid();
    const sample before = s;
    assert_refused(fab_settings_parse(&table, &s, "rat", "0.5"), FAB_BAD_ARGUMENT,
                   "sample: there is no setting 'rat'; did you mean 'rate'?");
    assert_int_equal(fab_settings_parse(&table, &s, "temperature", "1"), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "sample: there is no setting 'temperature'");
    check_same(&s, &before);
    assert_refused(fab_settings_from_json(&table, &s, "{\"ra\\u001b[31mte\": 1}"), FAB_BAD_ARGUMENT,
                   "sample: there is no setting 'ra?[31mte'");
    assert_refused(fab_settings_parse(&table, &s, "centre", "\033[2J\xc2\x9b"), FAB_BAD_ARGUMENT,
                   "sample: centre = '?[2J?\?' is not a choice in true|false");
    check_same(&s, &before);
    assert_null(fab_settings_find(&table, "rat"));
    assert_ptr_equal(fab_settings_find(&table, "rate"), &fields[4]);
}

static void the_table_reads_as_a_page(void **state)
{
    (void)state;
    char *text;
    assert_ok(fab_settings_text(&table, &text));
    static const char *const lines[] = {"setting ",
                                        "K                required   [1, 4096]",
                                        "centre           true       true|false",
                                        "start            orthonormal svd|orthonormal|random",
                                        "rate             0.1        [0, 1]",
                                        "guess            auto ",
                                        "learning rate\n"};
    for (int i = 0; i < 7; i++)
        if (!strstr(text, lines[i])) fail_msg("no '%s' in\n%s", lines[i], text);
    int rows = 0;
    for (const char *c = text; *c; c++) rows += *c == '\n';
    assert_int_equal(rows, table.n + 1);
    fab_text_free(text);
    char buf[16];
    assert_int_equal(fab_settings_default_text(&fields[0], buf, sizeof buf), 8);
    assert_string_equal(buf, "required");
    assert_int_equal(fab_settings_default_text(&fields[4], NULL, 0), 3);
    assert_int_equal(fab_settings_default_text(&fields[6], NULL, 0), 4);
}

static void json_goes_out_and_back_to_the_same_bits(void **state)
{
    (void)state;
    char *text;
    sample s = valid(), t = valid();
    assert_ok(fab_settings_json(&table, &s, &text));
    assert_string_equal(
        text, "{\"K\": 7, \"rows\": 100, \"centre\": true, \"start\": \"orthonormal\", "
              "\"rate\": 0.1, \"wide\": -2.385, \"guess\": \"auto\", \"width\": \"auto\"}");
    fab_text_free(text);
    const double numbers[] = {-0.0,      0.0,  1.0 / 3,  DBL_MAX, -DBL_MAX,
                              0x1p-1074, 1e22, 5e15 + 1, 3,       123456789012345678.0};
    for (int i = 0; i < 10; i++) {
        s.wide = numbers[i];
        s.rows = i % 2 ? INT64_MAX - i : INT64_MIN + 1 + i;
        s.centre = i % 2;
        s.start = i % 3;
        s.guess = i % 4 ? FAB_AUTO_F64 : 3;
        assert_ok(fab_settings_json(&table, &s, &text));
        t = fresh();
        assert_ok(fab_settings_from_json(&table, &t, text));
        fab_text_free(text);
        check_same(&s, &t);
    }
}

static void json_is_taken_whole_or_not_at_all(void **state)
{
    (void)state;
    static const struct {
        const char *json, *words;
    } wrong[] = {
        {"{\"K\": 9, \"rate\": 2}", "rate = 2 is outside [0, 1]"},
        {"{\"K\": 9, \"rat\": 0.5}", "did you mean 'rate'?"},
        {"{\"K\": 9, \"rate\": [1]}", "'rate' is not"},
        {"{\"K\": 9, \"rate\": null}", "'rate' is not"},
        {"{\"K\": 9, \"start\": 1}", "start = '1'"},
        {"{\"K\": 9.5}", "a whole number"},
        {"{\"K\": 9, \"K\": 10}", "not a JSON object"},
        {"{\"K\": 9", "not a JSON object"},
        {"[9]", "not a JSON object"},
        {"", "not a JSON object"},
    };
    sample s = valid();
    const sample before = s;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_refused(fab_settings_from_json(&table, &s, wrong[i].json), FAB_BAD_ARGUMENT,
                       wrong[i].words);
        check_same(&s, &before);
    }
    assert_ok(fab_settings_from_json(&table, &s, "{}"));
    check_same(&s, &before);
    assert_ok(fab_settings_from_json(&table, &s,
                                     "{\"K\": 9, \"rows\": 1e6, \"rate\": 1, \"centre\": false}"));
    assert_true(s.K == 9 && s.rows == 1000000 && s.rate >= 1 && s.centre == 0);
    assert_true(s.start == before.start && fab_is_auto_f64(s.guess)); /* what is not named stays */
}

static fab_status make_table(void)
{
    char *text = (char *)1;
    const fab_status s = fab_settings_text(&table, &text);
    assert_int_equal(s == FAB_OK, text != NULL);
    fab_text_free(text);
    return s;
}

static fab_status make_json(void)
{
    char *text = (char *)1;
    const sample x = valid();
    const fab_status s = fab_settings_json(&table, &x, &text);
    assert_int_equal(s == FAB_OK, text != NULL);
    fab_text_free(text);
    return s;
}

static fab_status take_json(void)
{
    sample x = valid();
    const sample before = x;
    const fab_status s = fab_settings_from_json(&table, &x, "{\"K\": 9}");
    if (s != FAB_OK) check_same(&x, &before);
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(make_table) >= 1);
    assert_true(fail_every_allocation(make_json) >= 1);
    assert_true(fail_every_allocation(take_json) >= 1);
}

static void json_text_is_escaped(void **state)
{
    (void)state;
    fab_text t = {0};
    char *text;
    fab_text_add_json(&t, "a\"b\\c\nd\x01 \xc3\xa9");
    assert_ok(fab_text_give(&t, &text));
    assert_string_equal(text, "\"a\\\"b\\\\c\\u000ad\\u0001 \xc3\xa9\"");
    fab_text_free(text);
    fab_text none = {0};
    assert_ok(fab_text_give(&none, &text));
    assert_string_equal(text, "");
    fab_text_free(text);
}

/* The tables the library has: their defaults pass their own checks. */
static void the_table_of_absorb_is_sound(void **state)
{
    (void)state;
    const fab_absorb_settings s = fab_absorb_defaults();
    const fab_fields *t = fab_absorb_table();
    assert_int_equal(t->size, 8 * t->n);
    assert_ok(fab_settings_check(t, &s));
    for (int64_t i = 0; i < t->n; i++) assert_int_equal(t->field[i].offset, 8 * i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(defaults_are_those_of_the_table),
        TEST(values_outside_their_range_are_named),
        TEST(every_type_reads_back_to_the_same_bits),
        TEST(text_is_read_as_people_write_it),
        TEST(a_failed_parse_changes_nothing),
        TEST(an_unknown_name_is_answered_with_the_nearest),
        TEST(the_table_reads_as_a_page),
        TEST(json_goes_out_and_back_to_the_same_bits),
        TEST(json_is_taken_whole_or_not_at_all),
        TEST(every_failed_allocation_is_reported),
        TEST(json_text_is_escaped),
        TEST(the_table_of_absorb_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
