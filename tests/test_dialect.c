/* test_dialect.c - tables as people have them: separators, decimal marks, signs, dates, comments, row names, encodings.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "data/source/notation.h"
#include "data/source/recode.h"
#include "source_case.h"
#include <bzlib.h>
#include <lzma.h>
#include <math.h>
#include <zstd.h>

static const fab_source_options plain = {0}, words = {.words = 1},
                                both = {.words = 1, .missing = 1},
                                fit = {.words = 1, .missing = 1, .leave_index = 1};

static void check(const char *text, const fab_source_options *o, fab_format format, int64_t rows,
                  int64_t columns, const double *values)
{
    check_values(text, strlen(text), o, format, rows, columns, values);
}

static void refused(const char *text, const fab_source_options *o, const char *sentence)
{
    check_refused_with(text, strlen(text), o, sentence);
}

static fab_source *open_text(const char *text, const fab_source_options *o)
{
    fab_source *s;
    if (fab_source_open_memory(&s, "rows.csv", text, strlen(text), o, 2) != FAB_OK)
        fail_msg("%s", fab_detail());
    return s;
}

/* The notes of an open source hold the sentence, once. */
static void check_note(const char *text, const fab_source_options *o, const char *sentence)
{
    fab_source *s = open_text(text, o);
    double out[MANY];
    int64_t got, found = 0;
    fab_source_next(s, 8, out, &got);
    for (int64_t i = 0; i < fab_source_notes(s); i++)
        found += strcmp(fab_source_note(s, i), sentence) == 0;
    if (found != 1 && fab_source_notes(s)) print_message("%s\n", fab_source_note(s, 0));
    assert_int_equal(found, 1);
    assert_null(fab_source_note(s, fab_source_notes(s)));
    fab_source_close(s);
}

static void check_silent(const char *text, const fab_source_options *o)
{
    fab_source *s = open_text(text, o);
    assert_int_equal(fab_source_notes(s), 0);
    fab_source_close(s);
}

static fab_source_options with(const fab_source_options *o, const char *part, const char *text)
{
    fab_source_options more = *o;
    if (fab_dialect_set(&more.dialect, part, text) != FAB_OK) fail_msg("%s", fab_detail());
    return more;
}

/* ---- separator and decimal mark ------------------------------------------------------------------------ */

static void decimal_commas_between_semicolons_are_numbers(void **state)
{
    (void)state;
    const double x[] = {3.14, 2, -0.5, 1e3};
    check("a;b\n3,14;2\n-0,5;1e3\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("a;b\n3,14;2\n-0,5;1e3\n", &plain, FAB_FORMAT_CSV, 2, 2, x);
    check("3,14;2\n-0,5;1,0e3\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("a\tb\n3,14\t2\n-0,5\t1e3\n", &words, FAB_FORMAT_TSV, 2, 2, x);
    check("a b\n3,14 2\n-0,5 1e3\n", &words, FAB_FORMAT_TEXT, 2, 2, x);
    check("\"3,14\",2\n\"-0,5\",1000\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check_note("a;b\n3,14;2\n-0,5;1e3\n", &words,
               "rows.csv: numbers are read with a decimal comma, as '3,14' in column 1 ('a'); "
               "--decimal point reads them with a point");
    check_silent("a;b\n3.14;2\n-0.5;1e3\n", &words);
    check_silent("a,b\n3,14\n5,1e3\n", &words);
}

static void a_comma_is_read_to_the_bits_of_a_point(void **state)
{
    (void)state;
    static const char *const text[] = {"0.1", "1.7976931348623157e308",  "123456789012345678.5e-7",
                                       ".5",  "00000000000000000000.25", "1e999",
                                       "5."};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        char point[64] = {0}, comma[64] = {0};
        double x, y;
        strcpy(point, text[i]);
        for (size_t c = 0; text[i][c]; c++) comma[c] = text[i][c] == '.' ? ',' : text[i][c];
        const char *p = fab_number(point, &x), *q = fab_number_comma(comma, &y);
        assert_int_equal(p ? p - point : -1, q ? q - comma : -1);
        assert_memory_equal(&x, &y, sizeof x);
    }
}

static void the_separator_is_found_or_given(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4};
    check("a|b\n1|2\n3|4\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("1|2\n3|4\n", &plain, FAB_FORMAT_CSV, 2, 2, x);
    check("a;b,c\n1;2\n3;4\n", &words, FAB_FORMAT_CSV, 2, 2, x); /* a comma in a name */
    fab_source_options o = with(&plain, "separator", "~");
    check("a~b\n1~2\n3~4\n", &o, FAB_FORMAT_CSV, 2, 2, x);
    o = with(&plain, "separator", "tab");
    check("a\tb\n1\t2\n3\t4\n", &o, FAB_FORMAT_TSV, 2, 2, x);
    o = with(&plain, "separator", "blank");
    check("a;a b\n1  2\n3 4\n", &o, FAB_FORMAT_TEXT, 2, 2, x);
    o = with(&words, "separator", "semicolon");
    check("a;b,x\n1;2\n3;4\n", &o, FAB_FORMAT_CSV, 2, 2, x);
    o.format = FAB_FORMAT_TSV;
    refused("a\tb\n1\t2\n", &o, "rows.csv: is tsv, and the separator ';' is given");
    o.format = FAB_FORMAT_AUTO;
    check_refused_with("\x93NUMPY\x01\0v\0{'descr'", 18, &o,
                       "rows.csv: is npy, and the separator ';' is given");
}

static void the_line_that_tells_excel_the_separator_is_taken(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4};
    check("sep=;\r\na;b\r\n1;2\r\n3;4\r\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("\"sep=;\"\n# of the shop\na,x;b\n1;2\n3;4\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("sep=\t\na\tb\n1\t2\n3\t4\n", &words, FAB_FORMAT_TSV, 2, 2, x);
    check_note("sep=|\na|b\n1|2\n3|4\n", &words,
               "rows.csv: its first line, 'sep=|', gives the separator");
    refused("sep=;\na;b\n1;2\nx;4\n", &plain,
            "rows.csv: line 4, column 1 ('a'): 'x' is not a number");
    check("sep=1\n2\n3\n", &words, FAB_FORMAT_TEXT, 2, 1, (double[]){2, 3}); /* a name */
    fab_source_options o = with(&words, "separator", "semicolon");
    check("sep=,\na;b\n1;2\n3;4\n", &o, FAB_FORMAT_CSV, 2, 2, x); /* the call goes before it */
}

static void a_decimal_mark_that_was_given_holds(void **state)
{
    (void)state;
    fab_source_options o = with(&words, "decimal", "comma");
    check("a;b\n1,050;2\n2,5;3\n", &o, FAB_FORMAT_CSV, 2, 2, (double[]){1.05, 2, 2.5, 3});
    check("a;b\n1,050;2\n", &o, FAB_FORMAT_CSV, 1, 2, (double[]){1.05, 2});
    check("a;b\n1.050;2\n2.345,5;3\n", &o, FAB_FORMAT_CSV, 2, 2, (double[]){1050, 2, 2345.5, 3});
    check_note("a;b\n1.050;2\n2.345,5;3\n", &o,
               "rows.csv: column 1 ('a'): the marks between groups of three digits are left out: "
               "'1.050' is 1050");
    refused(
        "a,b\n1,5\n2,5\n", &o,
        "rows.csv: the comma separates its fields, and none has a decimal comma in quotes; --sep "
        "gives another separator");
    o = with(&plain, "decimal", "point");
    refused("a;b\n3,14;2\n", &o,
            "rows.csv: line 2, column 1 ('a'): '3,14' is not a number with a decimal point; "
            "--decimal comma reads decimal commas");
    refused("a;b\n3,14;2.5\n", &words,
            "rows.csv: column 1 ('a') has decimal commas, as '3,14', and column 2 ('b') decimal "
            "points; --decimal comma or --decimal point says which are numbers");
    fab_source_options comma = with(&words, "decimal", "comma");
    check_note(
        "a;b\n3,14;2.5\n", &comma,
        "rows.csv: column 2 ('b'): its values are numbers that are not all written in one way: "
        "they are read as words");
    check_note("a,b\n\"3,14\",2.5\n", &words,
               "rows.csv: column 1 ('a') has values as '3,14', which are no numbers with a decimal "
               "point; --decimal comma reads them as numbers");
}

static void parts_of_a_dialect_are_checked(void **state)
{
    (void)state;
    fab_dialect d = {0};
    static const char *const bad[][2] = {
        {"separator", "ab"}, {"separator", "5"}, {"separator", ""},
        {"separator", "\""}, {"decimal", ";"},   {"comment", "##"},
        {"dates", "us"},     {"na", ""},         {"colour", "red"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(fab_dialect_set(&d, bad[i][0], bad[i][1]), FAB_BAD_ARGUMENT);
    char many[FAB_NA_ROOM + 1];
    memset(many, 'x', FAB_NA_ROOM);
    many[FAB_NA_ROOM] = '\0';
    assert_int_equal(fab_dialect_set(&d, "na", many), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_dialect_set(&d, "na", many + 1), FAB_OK);
}

/* ---- signs and groups ---------------------------------------------------------------------------------- */

static void a_sign_that_all_values_have_is_left_out(void **state)
{
    (void)state;
    const double x[] = {3.2, 7.1, -4, 0.5};
    check("a,b\n$3.20,7.1%\n-$4,0.5 %\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("a;b\n3,2 EUR;7,1%\n-4 EUR;0,5%\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("a,b\n\xE2\x82\xAC 3.20,7.1%\n\xE2\x82\xAC-4,0.5%\n", &plain, FAB_FORMAT_CSV, 2, 2, x);
    check("a,b\n\x80 3.20,7.1%\n\x80-4,0.5%\n", &plain, FAB_FORMAT_CSV, 2, 2, x);
    check("a,b\n$1,NA\nNA,2%\n", &both, FAB_FORMAT_CSV, 2, 2, (double[]){1, NAN, NAN, 2});
    check_note("a,b\n$3.20,1\n$4,2\n", &words,
               "rows.csv: column 1 ('a'): the sign '$' is left out: '$3.20' is 3.2");
    refused("a,b\n$3.20,1\n4,2\n", &plain,
            "rows.csv: line 2, column 1 ('a'): '$3.20' is not a number");
    fab_source *s =
        open_text("a,b\n$3.20,AB1\n4,AB2\n", &words); /* another sign, and no sign at all */
    assert_true(fab_source_is_words(s, 0) && fab_source_is_words(s, 1));
    fab_source_close(s);
}

static void a_value_with_another_sign_behind_the_head_is_refused(void **state)
{
    (void)state;
    char text[4000];
    size_t n = (size_t)sprintf(text, "a\n");
    for (int i = 0; i < 20; i++) n += (size_t)sprintf(text + n, "$%d.5\n", i);
    sprintf(text + n, "21\n");
    refused(
        text, &plain,
        "rows.csv: line 22, column 1 ('a'): '21' is not a number with the sign '$', as those above "
        "it are");
}

static void groups_of_three_are_numbers_where_nothing_speaks_against_it(void **state)
{
    (void)state;
    const double x[] = {1050, 2.5, 950, 3};
    check("a;b\n1,050;2.5\n950;3\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("a,b\n\"1,050\",2.5\n950,3\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("a;b\n1,234,567;1\n1,050.25;2\n", &words, FAB_FORMAT_CSV, 2, 2,
          (double[]){1234567, 1, 1050.25, 2});
    check("a,b\n\"$1,050\",1\n\"-$2,000\",2\n", &words, FAB_FORMAT_CSV, 2, 2,
          (double[]){1050, 1, -2000, 2});
    check_note("a,b\n\"1,050\",2.5\n950,3\n", &words,
               "rows.csv: column 1 ('a'): the marks between groups of three digits are left out: "
               "'1,050' is 1050");
    refused(
        "a;b\n1,050;2\n950;3\n", &words,
        "rows.csv: column 1 ('a'): '1,050' is a number in groups of three digits, or one with a "
        "decimal comma; --decimal point or --decimal comma says which");
    refused(
        "a,b\n\"1,050\",2\n1050,3\n", &words,
        "rows.csv: column 1 ('a'): '1,050' is a number in groups of three digits, or one with a "
        "decimal comma, and '1050' is not grouped; --decimal point or --decimal comma says which");
    char text[4000]; /* the eleventh row says that 1,050 is no group */
    double rows[12];
    size_t n = (size_t)sprintf(text, "a\tb\n");
    for (int i = 0; i < 12; i++) {
        n += (size_t)sprintf(text + n, "%d\t%s\n", i, i < 11 ? "1,050" : "1,5");
        rows[i] = i < 11 ? 1.05 : 1.5;
    }
    double out[MANY];
    int64_t got;
    assert_int_equal(read_memory(text, n, &plain, 64, out, &got), FAB_OK);
    for (int i = 0; i < 12; i++) assert_true(out[2 * i + 1] == rows[i]);
    fab_source_options o = with(&words, "decimal", "point");
    check("a;b\n1,050;2\n950;3\n", &o, FAB_FORMAT_CSV, 2, 2, (double[]){1050, 2, 950, 3});
    o = words;
    o.categorical = "a"; /* as they stand */
    check("a;b\n1,050;2\n950;3\n", &o, FAB_FORMAT_CSV, 2, 2, (double[]){0, 2, 1, 3});
}

static void shapes_of_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        fab_shape shape;
    } cases[] = {{"1050", FAB_SHAPE_WHOLE},
                 {"3.14", FAB_SHAPE_POINT},
                 {"3,14", FAB_SHAPE_COMMA},
                 {"1.050", FAB_SHAPE_EITHER_POINT},
                 {"1,050", FAB_SHAPE_EITHER_COMMA},
                 {"0,050", FAB_SHAPE_COMMA},
                 {"1,050e3", FAB_SHAPE_COMMA},
                 {"1234,567", FAB_SHAPE_COMMA},
                 {"1,234,567", FAB_SHAPE_POINT},
                 {"1.234.567", FAB_SHAPE_COMMA},
                 {"1,234.5", FAB_SHAPE_POINT},
                 {"1.234,5", FAB_SHAPE_COMMA},
                 {"1,23,456", FAB_SHAPE_NONE},
                 {"1.2.3", FAB_SHAPE_NONE},
                 {"12,34.5", FAB_SHAPE_NONE},
                 {",", FAB_SHAPE_NONE},
                 {"", FAB_SHAPE_NONE},
                 {"$", FAB_SHAPE_NONE},
                 {"-", FAB_SHAPE_NONE},
                 {"e5", FAB_SHAPE_NONE},
                 {"1e", FAB_SHAPE_NONE},
                 {"--1", FAB_SHAPE_NONE},
                 {"-$-1", FAB_SHAPE_NONE},
                 {"$1%", FAB_SHAPE_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (fab_notation_look(cases[i].text, strlen(cases[i].text)).shape != cases[i].shape)
            fail_msg("%s", cases[i].text);
}

/* ---- missing values ------------------------------------------------------------------------------------ */

static void what_spreadsheets_and_pandas_write_is_missing(void **state)
{
    (void)state;
    static const char *const holes[] = {"#N/A",  "#NA",  "#VALUE!", "#DIV/0!",
                                        "#REF!", "-nan", "<NA>",    "NaT"};
    for (size_t i = 0; i < sizeof holes / sizeof *holes; i++) {
        char text[128];
        snprintf(text, sizeof text, "x,c\n1,red\n%s,%s\n3,blue\n", holes[i], holes[i]);
        check(text, &both, FAB_FORMAT_CSV, 3, 2, (double[]){1, 0, NAN, NAN, 3, 1});
    }
}

static void words_for_missing_values_can_be_given(void **state)
{
    (void)state;
    fab_source_options o = with(&both, "na", "-99, unknown");
    check("x,c\n1,NA\n-99,red\n-99.0,Unknown\n", &o, FAB_FORMAT_CSV, 3, 2,
          (double[]){1, 0, NAN, 1, NAN, NAN}); /* they take the place of the usual ones */
    check("x y\n1 2\n-99 3\n", &o, FAB_FORMAT_TEXT, 2, 2, (double[]){1, 2, NAN, 3});
    o.missing = 0;
    refused("x y\n1 2\n-99 3\n", &o, "rows.csv: line 3, column 1 ('x'): '-99' is a missing value");
    o = with(&both, "na", "-9,9");
    check("x;y\n1;2\n9;3\n", &o, FAB_FORMAT_CSV, 2, 2, (double[]){1, 2, NAN, 3});
}

static void none_is_a_word_where_it_is_frequent(void **state)
{
    (void)state;
    char text[4000];
    double expected[2 * 25], out[MANY];
    size_t n = (size_t)sprintf(text, "x,c\n");
    int64_t got;
    for (int i = 0; i < 25; i++) {
        const int none = i % 5 == 0;
        n += (size_t)sprintf(text + n, "%d,%s\n", i, none ? "None" : "brick");
        expected[2 * i] = i;
        expected[2 * i + 1] = none ? 0 : 1;
    }
    check(text, &both, FAB_FORMAT_CSV, 25, 2, expected);
    check_note(
        text, &both,
        "rows.csv: column 2 ('c'): 'None' is frequent and taken for a word; --na None makes it "
        "a missing value");
    fab_source_options o = both;
    o.none = "";
    fab_source *s = open_text(text, &o); /* as a model says that has no such level */
    assert_int_equal(fab_source_next(s, 25, out, &got), FAB_OK);
    assert_true(isnan(out[1]));
    fab_source_close(s);
    o.none = "c,gone";
    check("x,c\n1,None\n2,brick\n", &o, FAB_FORMAT_CSV, 2, 2, (double[]){1, 0, 2, 1});
    o = with(&both, "na", "None");
    s = open_text(text, &o);
    assert_int_equal(fab_source_next(s, 25, out, &got), FAB_OK);
    assert_true(isnan(out[1]));
    fab_source_close(s);
}

/* ---- rows of several lines, encodings, line ends --------------------------------------------------------- */

static void line_ends_inside_quotes_belong_to_the_field(void **state)
{
    (void)state;
    const char *text = "x,c,y\n1,\"a\nb\",2\n3,\"a\n\n\"\"b\",4\r\n5,plain,6\n";
    check(text, &words, FAB_FORMAT_CSV, 3, 3, (double[]){1, 0, 2, 3, 1, 4, 5, 2, 6});
    fab_source *s = open_text(text, &words);
    double out[MANY];
    int64_t got;
    assert_int_equal(fab_source_next(s, 3, out, &got), FAB_OK);
    assert_string_equal(fab_source_word(s, 1, 0), "a\nb");
    assert_string_equal(fab_source_word(s, 1, 1), "a\n\n\"b");
    fab_source_close(s);
    s = open_text(text, &words); /* rows that are passed over have several lines too */
    assert_int_equal(fab_source_skip(s, 2), FAB_OK);
    assert_int_equal(fab_source_next(s, 3, out, &got), FAB_OK);
    assert_true(got == 1 && out[0] == 5);
    fab_source_close(s);
    refused("x,c\n1,\"a\nb\"\n1e999,\"c\nd\"\n", &words,
            "rows.csv: line 4, column 1 ('x'): '1e999' is too large for a double");
    refused("x,y\n1,2\n3,\"4\n5,6\n", &plain, "rows.csv: line 3 opens a quote that does not close");
    check("x\tc\n1\t\"a\nb\"\n2\t\"a\tb\"\n", &words, FAB_FORMAT_TSV, 2, 2, (double[]){1, 0, 2, 1});
}

/* A quote that does not close is not searched for to the end of the file. */
static void a_quote_that_does_not_close_takes_little_memory(void **state)
{
    (void)state;
    enum { ROWS = 1 << 20 };
    char *text = malloc(4 * ROWS + 64);
    size_t n = (size_t)sprintf(text, "x,y\n1,2\n3,\"4\n");
    for (int i = 0; i < ROWS; i++, n += 4) memcpy(text + n, "5,6\n", 4);
    fab_source *s;
    double out[2];
    int64_t got;
    assert_int_equal(fab_source_open_memory(&s, "rows.csv", text, n, NULL, 64), FAB_OK);
    assert_int_equal(fab_source_next(s, 1, out, &got), FAB_OK);
    assert_int_equal(fab_source_next(s, 1, out, &got), FAB_BAD_DATA);
    assert_string_equal(fab_detail(), "rows.csv: line 3 opens a quote that does not close");
    assert_int_equal(fab_source_next(s, 1, out, &got), FAB_OK); /* the line behind it */
    assert_true(got == 1 && out[0] == 5 && out[1] == 6);
    assert_true(s->in.room <= 1 << 21);
    fab_source_close(s);
    free(text);
}

/* Text of ASCII and two letters beyond it as UTF-16: free. */
static char *to_utf16(const char *text, int big, int mark, size_t *n)
{
    char *out = malloc(2 * strlen(text) + 2);
    *n = 0;
    for (int i = mark ? -1 : 0; i < 0 || text[i]; i++) {
        unsigned unit = i < 0 ? 0xFEFF : (unsigned char)text[i];
        if (i >= 0 && text[i] == '@') unit = 0x20AC;
        const char low = (char)(unit & 0xFF), high = (char)(unit >> 8);
        out[(*n)++] = big ? high : low;
        out[(*n)++] = big ? low : high;
    }
    return out;
}

static void utf16_is_read_with_and_without_its_mark(void **state)
{
    (void)state;
    const char *text = "x,c\n1,red\n2,@5\n3,red\n";
    for (int kind = 0; kind < 4; kind++) {
        size_t n;
        char *bytes = to_utf16(text, kind & 1, kind & 2, &n);
        check_values(bytes, n, &words, FAB_FORMAT_CSV, 3, 2, (double[]){1, 0, 2, 1, 3, 0});
        fab_source *s;
        double out[MANY];
        int64_t got;
        assert_int_equal(fab_source_open_memory(&s, "rows.csv", bytes, n, &words, 2), FAB_OK);
        assert_int_equal(fab_source_next(s, 3, out, &got), FAB_OK);
        assert_string_equal(fab_source_word(s, 1, 1), "\xE2\x82\xAC"
                                                      "5");
        assert_string_equal(fab_source_note(s, 0), "rows.csv: is UTF-16, and is read as UTF-8");
        fab_source_close(s);
        check_refused_with(bytes, n - 1, &words,
                           "rows.csv: is cut short: UTF-16 with an odd number of bytes");
        free(bytes);
    }
    size_t n;
    char *svm = to_utf16("1 1:2 3:4\n2 2:5\n", 0, 1, &n); /* read twice */
    check_values(svm, n, &plain, FAB_FORMAT_LIBSVM, 2, 4, (double[]){1, 2, 0, 4, 2, 0, 5, 0});
    free(svm);
    check_values("\xEF\xBB\xBF"
                 "1 1:2\n",
                 9, &plain, FAB_FORMAT_LIBSVM, 1, 2, (double[]){1, 2});
}

static fab_status give(void *ctx, void *to, size_t n, size_t *got, int *ended)
{
    fab_span *left = ctx;
    *got = n < left->n ? n : left->n;
    *ended = *got == 0;
    memcpy(to, left->p, *got);
    left->p += *got;
    left->n -= *got;
    return FAB_OK;
}

static void surrogates_become_one_character_or_a_replacement(void **state)
{
    (void)state;
    static const char pairs[] = "\x3D\xD8\x00\xDE"
                                "\x3D\xD8"
                                "a\0"
                                "\x00\xDE"
                                "\x3D\xD8"; /* U+1F600 */
    fab_span left = {pairs, sizeof pairs - 1};
    fab_recoder *r;
    char out[64];
    size_t used = 0, got;
    int ended = 0;
    assert_int_equal(fab_recode_open(&r, FAB_ENCODING_UTF16_LITTLE, "x"), FAB_OK);
    while (!ended) {
        assert_int_equal(fab_recode_read(r, give, &left, out + used, 3, &got, &ended), FAB_OK);
        used += got;
    }
    fab_recode_close(r);
    out[used] = '\0';
    assert_string_equal(out, "\xF0\x9F\x98\x80\xEF\xBF\xBD"
                             "a\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_true(fab_is_utf8(out, used));
}

static void what_is_utf8(void **state)
{
    (void)state;
    static const char *const good[] = {"", "abc", "\xC3\xA9", "\xE2\x82\xAC", "\xF4\x8F\xBF\xBF"},
                             *const bad[] = {"\x80",
                                             "\xC3",
                                             "\xC0\x80",
                                             "\xE0\x80\x80",
                                             "\xED\xA0\x80",
                                             "\xF4\x90\x80\x80",
                                             "\xF8\x80\x80\x80",
                                             "\xE2\x82",
                                             "\xE9t\xE9"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(fab_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(fab_is_utf8(bad[i], strlen(bad[i])));
}

static void words_that_are_no_utf8_are_those_of_windows_1252(void **state)
{
    (void)state;
    const char *text = "gr\xF6\xDF"
                       "e,c\n1,\x80uro\n2,caf\xE9\n3,\"\xE9\"\"\xE9\"\n";
    fab_source *s = open_text(text, &words);
    double out[MANY];
    int64_t got;
    assert_string_equal(fab_source_name(s, 0), "gr\xC3\xB6\xC3\x9F"
                                               "e");
    assert_int_equal(fab_source_next(s, 3, out, &got), FAB_OK);
    assert_string_equal(fab_source_word(s, 1, 0), "\xE2\x82\xAC"
                                                  "uro");
    assert_string_equal(fab_source_word(s, 1, 1), "caf\xC3\xA9");
    assert_string_equal(fab_source_word(s, 1, 2), "\xC3\xA9\"\xC3\xA9");
    fab_source_close(s);
    check_note(text, &words,
               "rows.csv: is not UTF-8: its words are taken for Windows-1252 (Latin-1)");
    check_silent("gr\xC3\xB6\xC3\x9F"
                 "e,c\n1,caf\xC3\xA9\n",
                 &words);
}

static void lines_may_end_in_returns_alone(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4};
    check("a,b\r1,2\r3,4\r", &plain, FAB_FORMAT_CSV, 2, 2, x);
    check("a,b\r1,2\r3,4", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("a b\r1 2\r3 4", &plain, FAB_FORMAT_TEXT, 2, 2, x);
    check("a,b\r\n1,2\r\n3,4\r\n", &plain, FAB_FORMAT_CSV, 2, 2, x);
    check_note("a,b\r1,2\r", &plain,
               "rows.csv: its lines end in carriage returns alone, as on an old Mac");
    check_silent("1,2\r", &plain);
}

/* ---- comments ------------------------------------------------------------------------------------------ */

static void comments_are_passed_over(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4};
    check("# by hand, in May\n\n#\na,b\n1,2\n# three\n3,4\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("a,b\n1,2\n# three, more, fields\n3,4\n", &words, FAB_FORMAT_CSV, 2, 2, x);
    check("# x\n1 1:2\n# y\n3 1:4\n", &plain, FAB_FORMAT_LIBSVM, 2, 2, x);
    check_note(
        "# by hand\na,b\n1,2\n", &words,
        "rows.csv: lines that begin with '#' are taken for comments; --comment none reads them");
    check("\t\n1\t2\n", &both, FAB_FORMAT_TSV, 2, 2, (double[]){NAN, NAN, 1, 2}); /* not blank */
    fab_source_options o = with(&plain, "comment", "%");
    check("% by hand\na,b\n1,2\n%\n3,4\n", &o, FAB_FORMAT_CSV, 2, 2, x);
    check("a,b\n#1,2\n#2,4\n", &words, FAB_FORMAT_CSV, 2, 2, (double[]){0, 2, 1, 4}); /* words */
    o = with(&words, "comment", "none");
    check("#1,2\n#2,4\n", &o, FAB_FORMAT_CSV, 2, 2, (double[]){0, 2, 1, 4});
    refused("#1,2\n#2,4\n", &words,
            "rows.csv: all its lines begin with '#', as comments do; --comment none reads them");
}

static void a_comment_may_be_the_header(void **state)
{
    (void)state;
    fab_source *s = open_text("# made by numpy\n# a b c\n1 2 3\n4 5 6\n", &words);
    assert_string_equal(fab_source_name(s, 0), "a");
    assert_string_equal(fab_source_name(s, 2), "c");
    fab_source_close(s);
    s = open_text("##x\n#CHROM\tPOS\nchr1\t5\nchr1\t7\n", &words);
    assert_string_equal(fab_source_name(s, 0), "CHROM");
    assert_true(fab_source_is_words(s, 0) && !fab_source_is_words(s, 1));
    fab_source_close(s);
    s = open_text("# first, second\na,b\n1,2\n", &words); /* the row below is one itself */
    assert_string_equal(fab_source_name(s, 0), "a");
    fab_source_close(s);
}

/* ---- row names ----------------------------------------------------------------------------------------- */

static void the_index_of_write_csv_is_known(void **state)
{
    (void)state;
    static const char numbers[] = "\"\",\"a\",\"b\"\n\"1\",5,6\n\"2\",7,8\n",
                      names[] = ",a,b\nMazda RX4,5,6\nDatsun 710,7,8\n";
    const double left[] = {5, 6, 7, 8};
    check(numbers, &fit, FAB_FORMAT_CSV, 2, 2, left);
    check(names, &fit, FAB_FORMAT_CSV, 2, 2, left);
    check(numbers, &words, FAB_FORMAT_CSV, 2, 3, (double[]){1, 5, 6, 2, 7, 8});
    check(names, &words, FAB_FORMAT_CSV, 2, 3, (double[]){0, 5, 6, 1, 7, 8});
    check(names, &plain, FAB_FORMAT_CSV, 2, 3, (double[]){0, 5, 6, 1, 7, 8});
    fab_source *s = open_text(names, &words);
    assert_true(fab_source_is_index(s, 0) && !fab_source_is_index(s, 1));
    assert_false(fab_source_is_words(s, 0));
    fab_source_close(s);
    s = open_text(names, &fit);
    assert_true(!fab_source_is_index(s, 0) && strcmp(fab_source_name(s, 0), "a") == 0);
    fab_source_close(s);
    check_note(
        numbers, &fit,
        "rows.csv: its first column has no name and a value of its own in each row: an index, "
        "which is left out");
    s = open_text(",a\n1,2\n1,3\n", &fit); /* a value twice */
    assert_int_equal(fab_source_columns(s), 2);
    fab_source_close(s);
    s = open_text(",a\n1.5,2\n2,3\n", &fit); /* measured */
    assert_int_equal(fab_source_columns(s), 2);
    fab_source_close(s);
    refused(
        ",a,b\n1,5,6\n2,x,8\n", &(fab_source_options){.leave_index = 1},
        "rows.csv: line 3, column 2 ('a'): 'x' is not a number; --exclude a leaves the column out");
    refused(",a,b\n1,5,6\n2,3\n", &fit, "rows.csv: line 3 has 2 values, expected 3");
}

static void the_shape_of_write_table_is_known(void **state)
{
    (void)state;
    const double left[] = {5, 6, 7, 8};
    check("\"a\" \"b\"\n\"Mazda RX4\" 5 6\n\"Datsun\" 7 8\n", &fit, FAB_FORMAT_TEXT, 2, 2, left);
    check("\"a\" \"b\"\n\"1\" 5 6\n\"2\" 7 8\n", &fit, FAB_FORMAT_TEXT, 2, 2, left);
    check("a\tb\nx1\t5\t6\nx2\t7\t8\n", &fit, FAB_FORMAT_TSV, 2, 2, left);
    check("a,b\n1,5,6\n2,7,8\n", &fit, FAB_FORMAT_CSV, 2, 2, left);
    fab_source *s = open_text("\"a\" \"b\"\n\"Mazda RX4\" 5 6\n", &words);
    assert_string_equal(fab_source_name(s, 0), "x0");
    assert_string_equal(fab_source_name(s, 2), "b");
    fab_source_close(s);
    refused("a,b\n4,5,6\n2,7,8\n", &fit, "rows.csv: line 2 has 3 values, expected 2"); /* data */
    refused("a,b\nx,5,\ny,7,\n", &fit,
            "rows.csv: line 2 has 3 values, expected 2"); /* a comma too many */
    refused("a,b\nx,5,6\nx,7,8\n", &fit, "rows.csv: line 2 has 3 values, expected 2"); /* twice */
}

/* ---- dates --------------------------------------------------------------------------------------------- */

static void dates_are_known_and_read_as_days_on_request(void **state)
{
    (void)state;
    const char *iso = "when,x\n1970-01-02,1\n2024-03-01T12:00:00Z,2\n1969-12-31 18:00,3\n";
    fab_source *s = open_text(iso, &words);
    assert_true(fab_source_is_date(s, 0) && fab_source_is_words(s, 0) && !fab_source_is_date(s, 1));
    fab_source_close(s);
    check_note(iso, &words,
               "rows.csv: column 1 ('when'): dates are read as words; --dates numbers reads days, "
               "--dates parts "
               "year, month and weekday");
    fab_source_options o = with(&words, "dates", "numbers");
    check(iso, &o, FAB_FORMAT_CSV, 3, 2, (double[]){1, 1, 19783.5, 2, -0.25, 3});
    check("2024-02-29\n2024-03-01\n", &o, FAB_FORMAT_TEXT, 2, 1, (double[]){19782, 19783});
    check("d\n13/01/2024\n01/02/2024\n", &o, FAB_FORMAT_TEXT, 2, 1, (double[]){19735, 19754});
    check("d\n01/13/2024\n02/01/2024\n", &o, FAB_FORMAT_TEXT, 2, 1, (double[]){19735, 19754});
    refused("d\n01/02/2024\n02/03/2024\n", &o,
            "rows.csv: column 1 ('d'): '01/02/2024' has day and month in either order; --dates "
            "day-first or --dates month-first says which");
    o = with(&words, "dates", "day-first");
    check("d\n13.01.2024\n1.2.2024\n", &o, FAB_FORMAT_TEXT, 2, 1, (double[]){19735, 19754});
    check("d\n01/02/2024\n", &o, FAB_FORMAT_TEXT, 1, 1, (double[]){19754});
    refused("d\n01/13/2024\n", &o,
            "rows.csv: column 1 ('d'): its dates do not have the day first, as '01/13/2024'");
    check("x,d\n1,Jan 13 2024\n2,Feb 1 2024\n", &o, FAB_FORMAT_CSV, 2, 2,
          (double[]){1, 19735, 2, 19754});
    refused("x,d\n1,2024-01-01\n", &plain,
            "rows.csv: line 2, column 2 ('d'): '2024-01-01' is a date; --dates numbers reads the "
            "column "
            "as days");
    check_note("d\n01/02/2024\n", &o,
               "rows.csv: column 1 ('d'): dates are read as days since 1970-01-01");
    o = with(&words, "dates", "numbers");
    check("x,d\n1,Jan 13 2024\n2,Feb 1 2024 12:00\n", &o, FAB_FORMAT_CSV, 2, 2,
          (double[]){1, 19735, 2, 19754.5});
    check("d;x\n13-JAN-2024;1\n1-february-2024;2\n", &o, FAB_FORMAT_CSV, 2, 2,
          (double[]){19735, 1, 19754, 2});
    check("x,d\n1,\"January 13, 2024\"\n2,\"Feb 1, 2024\"\n", &o, FAB_FORMAT_CSV, 2, 2,
          (double[]){1, 19735, 2, 19754});
    check("x,d\n1,2024-Sept-01\n", &o, FAB_FORMAT_CSV, 1, 2, (double[]){1, 19967});
}

static void every_day_has_the_number_behind_the_day_before(void **state)
{
    (void)state;
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    double next = -719162; /* 0001-01-01 */
    for (int year = 1; year <= 2401; year++)
        for (int month = 1; month <= 12; month++) {
            const int leap = year % 4 == 0 && (year % 100 || year % 400 == 0);
            const int last = days[month - 1] + (month == 2 && leap);
            for (int day = 1; day <= last + 1; day++) {
                char text[64];
                double x;
                const int n = sprintf(text, "%04d-%02d-%02d", year, month, day);
                assert_int_equal(fab_date_days(text, (size_t)n, FAB_ORDER_YEAR, &x), day <= last);
                if (day <= last && x != next++) fail_msg("%s: %g", text, x);
            }
        }
}

static void what_is_no_date(void **state)
{
    (void)state;
    static const char *const bad[] = {"2024-13-01",
                                      "2024-02-30",
                                      "2024-1",
                                      "24-01-01",
                                      "2024-01/01",
                                      "2024-01-01x",
                                      "2024-01-01 ",
                                      "2024-01-01T25:00",
                                      "2024-01-01T10",
                                      "2024-01-01T10:00:61",
                                      "2024-01-01T10:00+15:00",
                                      "1.2.3",
                                      "2024-01-01T10:00:00.",
                                      "0000-01-01",
                                      "123.456.7890",
                                      "Ja 1 2000",
                                      "Janus 1 2000",
                                      "Jan 1 20",
                                      "Jan Feb 2000",
                                      "Feb 30 2000",
                                      "1-Jan/2000",
                                      "1, Jan 2000",
                                      "Jan, 1 2000",
                                      "2024 01 01",
                                      "1 2000 Jan",
                                      "January 2000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (fab_date_orders(bad[i], strlen(bad[i]))) fail_msg("%s", bad[i]);
    double x;
    const char *zone = "2024-03-01T01:00+02:00";
    assert_true(fab_date_days(zone, strlen(zone), FAB_ORDER_YEAR, &x));
    assert_true(fabs(x - (19783 - 1.0 / 24)) < 1e-9);
}

/* ---- what holds where a file does not say ---------------------------------------------------------------- */

static void the_usual_dialect_holds_where_the_file_does_not_say(void **state)
{
    (void)state;
    fab_dialect usual = {
        .separator = '~', .decimal = ',', .dates = FAB_DATES_DAY_FIRST, .na = "gone"};
    fab_source_options o = both;
    o.usual = &usual;
    check("a~b\n1,050~2\n", &o, FAB_FORMAT_CSV, 1, 2, (double[]){1.05, 2});
    check("a;b\n1,050;gone\n", &o, FAB_FORMAT_CSV, 1, 2, (double[]){1.05, NAN});
    check("a,b\n1.5,2\n", &o, FAB_FORMAT_CSV, 1, 2, (double[]){1.5, 2}); /* it says */
    check("a,b\n1.050,2\n", &o, FAB_FORMAT_CSV, 1, 2,
          (double[]){1.05, 2}); /* no comma but between fields */
    check("a;b\n1.050;2\n", &o, FAB_FORMAT_CSV, 1, 2, (double[]){1.05, 2});
    check("d,a\n01/02/2024,1\n", &o, FAB_FORMAT_CSV, 1, 2, (double[]){19754, 1});
}

/* ---- compressed ---------------------------------------------------------------------------------------- */

static void xz_bzip2_and_zstd_are_known_by_their_bytes(void **state)
{
    (void)state;
    char text[3000], two[4096];
    double values[600];
    size_t n = 0;
    for (int i = 0; i < 300; i++) {
        n += (size_t)sprintf(text + n, "%d,%d\n", i, i % 10);
        values[2 * i] = i;
        values[2 * i + 1] = i % 10;
    }
    for (int kind = 0; kind < 3; kind++) {
        static const char *const name[] = {"xz", "bzip2", "zstd"};
        static const size_t spot[] = {8, 4, 0};
        char sentence[100];
        size_t used = 0, half = 0;
        for (int part = 0; part < 2; part++) { /* two files in a row are one */
            char *from = part ? text + n / 2 : text;
            const size_t m = part ? n - n / 2 : n / 2;
            unsigned char *to = (unsigned char *)two + used;
            unsigned room = (unsigned)(sizeof two - used);
            size_t got = 0;
            half = used;
            if (kind == 0)
                assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (uint8_t *)from,
                                                         m, to, &got, room),
                                 LZMA_OK);
            if (kind == 1) {
                assert_int_equal(
                    BZ2_bzBuffToBuffCompress((char *)to, &room, from, (unsigned)m, 1, 0, 0), BZ_OK);
                got = room;
            }
            if (kind == 2) got = ZSTD_compress(to, room, from, m, 3);
            used += got;
        }
        check_values(two, used, NULL, FAB_FORMAT_CSV, 300, 2, values);
        snprintf(sentence, sizeof sentence, "rows.csv: is cut short: its %s data do not end",
                 name[kind]);
        check_refused_with(two, used - 5, NULL, sentence);
        two[half + spot[kind]] ^= 0x55; /* a check sum, the mark of a block, the mark of all */
        double out[MANY];
        int64_t rows;
        assert_int_equal(read_memory(two, used, NULL, 64, out, &rows), FAB_BAD_FILE);
        snprintf(sentence, sizeof sentence, "its %s data are damaged", name[kind]);
        assert_non_null(strstr(fab_detail(), sentence));
    }
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static fab_status open_messy(void)
{
    static const char text[] =
        "# made by hand\n\"\";price;rate;when;c\n\"1\";$3,20;7,1%;01/02/2024;caf\xE9\n"
        "\"2\";$4,20;8,1%;13/02/2024;\"a\nb\"\n";
    fab_source_options o = both;
    double out[MANY];
    int64_t rows;
    o.leave_index = 1;
    o.dialect.dates = FAB_DATES_NUMBERS;
    o.none = "c";
    return read_memory(text, sizeof text - 1, &o, 16, out, &rows);
}

static fab_status open_utf16(void)
{
    size_t n;
    double out[MANY];
    int64_t rows;
    char *bytes = to_utf16("a,b\r1,2\r", 1, 1, &n);
    const fab_status status = read_memory(bytes, n, &words, 16, out, &rows);
    free(bytes);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_int_equal(open_messy(), FAB_OK);
    assert_true(fail_every_allocation(open_messy) > 20);
    assert_true(fail_every_allocation(open_utf16) > 8);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(decimal_commas_between_semicolons_are_numbers),
        TEST(a_comma_is_read_to_the_bits_of_a_point),
        TEST(the_separator_is_found_or_given),
        TEST(the_line_that_tells_excel_the_separator_is_taken),
        TEST(a_decimal_mark_that_was_given_holds),
        TEST(parts_of_a_dialect_are_checked),
        TEST(a_sign_that_all_values_have_is_left_out),
        TEST(a_value_with_another_sign_behind_the_head_is_refused),
        TEST(groups_of_three_are_numbers_where_nothing_speaks_against_it),
        TEST(shapes_of_numbers),
        TEST(what_spreadsheets_and_pandas_write_is_missing),
        TEST(words_for_missing_values_can_be_given),
        TEST(none_is_a_word_where_it_is_frequent),
        TEST(line_ends_inside_quotes_belong_to_the_field),
        TEST(a_quote_that_does_not_close_takes_little_memory),
        TEST(utf16_is_read_with_and_without_its_mark),
        TEST(surrogates_become_one_character_or_a_replacement),
        TEST(what_is_utf8),
        TEST(words_that_are_no_utf8_are_those_of_windows_1252),
        TEST(lines_may_end_in_returns_alone),
        TEST(comments_are_passed_over),
        TEST(a_comment_may_be_the_header),
        TEST(the_index_of_write_csv_is_known),
        TEST(the_shape_of_write_table_is_known),
        TEST(dates_are_known_and_read_as_days_on_request),
        TEST(every_day_has_the_number_behind_the_day_before),
        TEST(what_is_no_date),
        TEST(the_usual_dialect_holds_where_the_file_does_not_say),
        TEST(xz_bzip2_and_zstd_are_known_by_their_bytes),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
