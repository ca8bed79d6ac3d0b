/* test_words.c - columns of words and missing values in csv, tsv and text.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "data/source/words.h"
#include "fabayes/files.h"
#include "source_case.h"
#include <math.h>

static const fab_source_options both = {.missing = 1, .words = 1}, only_words = {.words = 1},
                                only_missing = {.missing = 1};

static void check_with(const char *text, const fab_source_options *o, fab_format format,
                       int64_t rows, int64_t columns, const double *values)
{
    check_values(text, strlen(text), o, format, rows, columns, values);
}

static void check_refused(const char *text, const fab_source_options *o, const char *sentence)
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

/* All rows; keeps the source open. */
static fab_source *open_and_read(const char *text, const fab_source_options *o, double *out)
{
    fab_source *s = open_text(text, o);
    int64_t got;
    if (fab_source_next(s, MANY / fab_source_columns(s), out, &got) != FAB_OK)
        fail_msg("%s", fab_detail());
    return s;
}

/* ---- words --------------------------------------------------------------------------------------- */

static void a_column_of_words_is_read_as_codes_in_the_order_of_meeting_them(void **state)
{
    (void)state;
    const double codes[] = {2.5, 0, 7, -1, 1, 8, 3, 0, 9, 4, 2, 6};
    check_with("x,color,y\n2.5,red,7\n-1,blue,8\n3,red,9\n4,Red,6\n", &only_words, FAB_FORMAT_CSV,
               4, 3, codes);
    check_with("2.5\tred\t7\n-1\tblue\t8\n3\tred\t9\n4\tRed\t6\n", &only_words, FAB_FORMAT_TSV, 4,
               3, codes);
    check_with("x color y\n2.5 red 7\n-1 blue\t8\n3  red 9\n4 Red 6", &only_words, FAB_FORMAT_TEXT,
               4, 3, codes);
}

static void the_words_are_lent_by_code(void **state)
{
    (void)state;
    double out[MANY];
    fab_source *s = open_text("x,color\n1,red\n2,blue\n", &only_words);
    assert_false(fab_source_is_words(s, 0));
    assert_true(fab_source_is_words(s, 1));
    assert_false(fab_source_is_words(s, -1));
    assert_false(fab_source_is_words(s, 2));
    assert_int_equal(fab_source_words(s, 1), 0); /* none was met yet */
    fab_source_close(s);
    s = open_and_read("x,color\n1,red\n2,blue\n", &only_words, out);
    assert_int_equal(fab_source_words(s, 0), 0);
    assert_int_equal(fab_source_words(s, 1), 2);
    assert_string_equal(fab_source_word(s, 1, 0), "red");
    assert_string_equal(fab_source_word(s, 1, 1), "blue");
    assert_null(fab_source_word(s, 1, 2));
    assert_null(fab_source_word(s, 1, -1));
    assert_null(fab_source_word(s, 0, 0));
    assert_null(fab_source_word(s, 2, 0));
    fab_source_close(s);
}

static void quotes_and_blanks_around_a_word_are_not_part_of_it(void **state)
{
    (void)state;
    double out[MANY];
    fab_source *s = open_and_read("a,b\n 3 ,\"1\"\n\"3\",2\nx,\"3\"\n\"say \"\"x\"\", y\" , 4 \n",
                                  &only_words, out);
    const double codes[] = {0, 1, 0, 2, 1, 3, 2, 4}; /* column b is one of numbers */
    assert_memory_equal(out, codes, sizeof codes);
    assert_string_equal(fab_source_word(s, 0, 0), "3");
    assert_string_equal(fab_source_word(s, 0, 1), "x");
    assert_string_equal(fab_source_word(s, 0, 2), "say \"x\", y");
    fab_source_close(s);
}

static void a_number_in_a_column_of_words_is_a_word_as_it_stands(void **state)
{
    (void)state;
    double out[MANY];
    fab_source *s = open_and_read("a,y\n3,1\n3.0,1\nA3,1\ninf,1\n1e999,1\n", &both, out);
    for (int i = 0; i < 5; i++) assert_true(out[2 * i] == i);
    assert_string_equal(fab_source_word(s, 0, 1), "3.0");
    assert_string_equal(fab_source_word(s, 0, 3), "inf");
    fab_source_close(s);
}

static void words_may_have_blanks_inside_between_tabs(void **state)
{
    (void)state;
    double out[MANY];
    fab_source *s = open_and_read("city\tn\nNew York\t1\nRoute 66\t2\n", &only_words, out);
    assert_int_equal(fab_source_format(s), FAB_FORMAT_TSV);
    assert_string_equal(fab_source_word(s, 0, 0), "New York");
    fab_source_close(s);
    s = open_text("1 2\t3\n4 5\t6\n", &only_words); /* two numbers in one field: blanks separate */
    assert_int_equal(fab_source_format(s), FAB_FORMAT_TEXT);
    fab_source_close(s);
}

static void words_that_were_lent_never_move(void **state)
{
    (void)state;
    enum { WORDS = 5000 };
    char *text = malloc(32 * WORDS), word[32];
    size_t n = (size_t)sprintf(text, "a,y\n");
    for (int i = 0; i < WORDS; i++) n += (size_t)sprintf(text + n, "w%d,%d\n", i, i);
    fab_source *s = open_text(text, &only_words);
    const char *lent[WORDS];
    for (int i = 0; i < WORDS; i++) {
        double out[2];
        int64_t got;
        assert_int_equal(fab_source_next(s, 1, out, &got), FAB_OK);
        assert_true(got == 1 && out[0] == i);
        lent[i] = fab_source_word(s, 0, i);
    }
    for (int i = 0; i < WORDS; i++) {
        snprintf(word, sizeof word, "w%d", i);
        assert_ptr_equal(lent[i], fab_source_word(s, 0, i));
        assert_string_equal(lent[i], word);
    }
    fab_source_close(s);
    free(text);
}

static void words_of_rows_that_are_passed_over_are_not_met(void **state)
{
    (void)state;
    double out[4];
    int64_t got;
    fab_source *s = open_text("1,red\n2,blue\n3,green\n", &only_words);
    assert_int_equal(fab_source_skip(s, 1), FAB_OK);
    assert_int_equal(fab_source_next(s, 2, out, &got), FAB_OK);
    assert_true(got == 2 && out[1] == 0 && out[3] == 1);
    assert_string_equal(fab_source_word(s, 1, 0), "blue");
    fab_source_close(s);
}

/* ---- which columns ------------------------------------------------------------------------------- */

/* `rows` rows "i,i", and `word` in column 2 of row `at`. */
static char *make_rows(int rows, int at, const char *word)
{
    char *text = malloc((size_t)rows * 32 + 32);
    size_t n = (size_t)sprintf(text, "x,height\n");
    for (int i = 0; i < rows; i++)
        n += (size_t)(i == at ? sprintf(text + n, "%d,%s\n", i, word)
                              : sprintf(text + n, "%d,%d\n", i, i));
    return text;
}

static void a_word_anywhere_in_the_first_64_kb_makes_a_column_one_of_words(void **state)
{
    (void)state;
    char *text = make_rows(5000, 4000, "abc"); /* line 4002 begins at byte 38909 */
    for (int i = 0; i < ROOMS; i++) {
        fab_source *s;
        assert_int_equal(
            fab_source_open_memory(&s, "rows.csv", text, strlen(text), &only_words, rooms[i]),
            FAB_OK);
        assert_false(fab_source_is_words(s, 0));
        assert_true(fab_source_is_words(s, 1));
        fab_source_close(s);
    }
    free(text);
}

static fab_status read_far(const char *text, const fab_source_options *o)
{
    fab_source *s = open_text(text, o);
    fab_status status = FAB_OK;
    int64_t got = 1;
    while (status == FAB_OK && got > 0) {
        double out[2 * 100];
        status = fab_source_next(s, 100, out, &got);
    }
    fab_source_close(s);
    return status;
}

static void a_word_met_later_is_refused_with_the_way_to_read_it(void **state)
{
    (void)state;
    char *text = make_rows(20000, 15000, "abc");
    assert_int_equal(read_far(text, &only_words), FAB_BAD_DATA);
    assert_string_equal(fab_detail(),
                        "rows.csv: line 15002, column 2 ('height'): 'abc' is not a number; "
                        "--categorical height reads the column as words");
    const fab_source_options named = {.words = 1, .categorical = "height"};
    assert_int_equal(read_far(text, &named), FAB_OK);
    memcpy(text, "x,\"h,t\"\n\n", 9);
    assert_int_equal(read_far(text, &only_words), FAB_BAD_DATA);
    assert_detail("('h,t')", "--categorical 1 reads the column as words");
    free(text);
}

/* The first row may be longer than what is looked at: one row below it is seen all the same. */
static void a_long_header_does_not_hide_the_first_row(void **state)
{
    (void)state;
    enum { NAME = 2 * FAB_HEAD_BYTES };
    char *text = malloc(NAME + 64);
    memset(text, 'a', NAME);
    strcpy(text + NAME, ",b\n\n1,red\n");
    const fab_source_options csv = {.format = FAB_FORMAT_CSV, .words = 1};
    fab_source *s = open_text(text, &csv);
    assert_false(fab_source_is_words(s, 0));
    assert_true(fab_source_is_words(s, 1));
    assert_string_equal(fab_source_name(s, 1), "b");
    fab_source_close(s);
    free(text);
}

static void listed_columns_are_words_by_name_by_number_and_last(void **state)
{
    (void)state;
    const char *text = "zip,n,3,z\n10,1,2,5\n20,1,2,5\n10,1,7,5\n";
    const double codes[] = {0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0};
    const fab_source_options named = {.words = 1, .categorical = "zip, 3 ,last"},
                             numbered = {.words = 1, .categorical = "0,2,3"};
    check_with(text, &named, FAB_FORMAT_CSV, 3, 4, codes);
    check_with(text + 10, &numbered, FAB_FORMAT_CSV, 3, 4, codes);
}

static void a_list_that_fits_no_column_is_refused(void **state)
{
    (void)state;
    const char *text = "height,color\n1,red\n";
    const fab_source_options wrong = {.words = 1, .categorical = "heigth"},
                             far = {.words = 1, .categorical = "2"},
                             other = {.words = 1, .categorical = "absolutely-nothing"},
                             empty = {.words = 1, .categorical = "color,,"},
                             off = {.categorical = "color"},
                             sparse = {.words = 1, .categorical = "label"};
    check_refused(text, &wrong, "rows.csv: there is no column 'heigth'; did you mean 'height'?");
    check_refused(text, &far, "rows.csv: there is no column 2: it has 2");
    check_refused(text, &other,
                  "rows.csv: there is no column 'absolutely-nothing' among its 2: height, color");
    check_refused(text, &empty, "rows.csv: there is no column '' among its 2: height, color");
    check_refused(text, &off, "rows.csv: categorical is given, and words are not asked for");
    check_refused("1 1:2\n", &sparse,
                  "rows.csv: is libsvm: only csv, tsv and text have columns of words");
}

/* ---- the header ---------------------------------------------------------------------------------- */

/* The first name: x0 without a header. */
static void check_first(const char *text, const char *name)
{
    fab_source *s = open_text(text, &both);
    assert_string_equal(fab_source_name(s, 0), name);
    fab_source_close(s);
}

static void words_above_numbers_are_a_header(void **state)
{
    (void)state;
    check_first("a,b\n1,red\n", "a");
    check_first("a,1\n1,red\n", "a");
    check_first("a,red\nNA,blue\n3,red\n", "a");
    check_first("\"a\nb\",c\n1,red\n", "a\nb");
    check_first("a b\r\n1 red\r\n", "a");
}

static void words_above_words_are_a_header_only_where_all_fields_are_words(void **state)
{
    (void)state;
    check_first("1,red\n2,blue\n", "x0");
    check_first("red,1\nblue,2\n", "x0");
    check_first("red,NA\nblue,2\n", "x0");
    check_first("red,\nblue,2\n", "x0");
    check_first("red,1\n3,2\nblue,3\n", "x0");
    check_first("color,city\nred,Rome\n", "color");
    check_first("zip,city\n123,Rome\nA1B,Oslo\n", "zip");
    check_first("red,blue\nred,\n", "red");
    check_first(",color\n0,red\n1,blue\n", "x0");
}

static void the_empty_name_of_an_index_makes_no_row(void **state)
{
    (void)state;
    const double rows[] = {0, 0, 1, 1};
    check_with(",color\n0,red\n1,blue\n", &both, FAB_FORMAT_CSV, 2, 2, rows);
}

static void a_first_row_that_is_data_counts_as_data(void **state)
{
    (void)state;
    const double rows[] = {1, 0, 2, 1};
    check_with("1,red\n", &only_words, FAB_FORMAT_CSV, 1, 2, rows);
    check_with("1,red\n2,NA\n", &only_missing, FAB_FORMAT_CSV, 1, 2, (double[]){2, NAN});
    check_with("1,red\n2,blue\n", &only_words, FAB_FORMAT_CSV, 2, 2, rows);
    check_with("1,red\n2,3\n", &(fab_source_options){.words = 1, .categorical = "red"},
               FAB_FORMAT_CSV, 1, 2, (double[]){2, 0}); /* red stands above a number: a name */
    check_refused("red,blue\n", &only_words, "rows.csv: has a header (line 1) and no rows");
}

/* ---- missing values ------------------------------------------------------------------------------ */

static void a_missing_value_is_nan_where_that_is_asked_for(void **state)
{
    (void)state;
    static const char *const holes[] = {"",  "NA",  "n/a", "null", "None", "?",     "-",
                                        ".", "nan", "NaN", "-nan", "\"\"", "\"NA\""};
    char text[128];
    for (size_t i = 0; i < sizeof holes / sizeof *holes; i++) {
        snprintf(text, sizeof text, "x,c\n1,red\n%s,%s\n3,blue\n", holes[i], holes[i]);
        check_with(text, &both, FAB_FORMAT_CSV, 3, 2, (double[]){1, 0, NAN, NAN, 3, 1});
        snprintf(text, sizeof text, "x,y\n%s,2\n3,%s\n", holes[i], holes[i]);
        check_with(text, &only_missing, FAB_FORMAT_CSV, 2, 2, (double[]){NAN, 2, 3, NAN});
    }
    check_with("x y\n1 ?\n. 2\n", &both, FAB_FORMAT_TEXT, 2, 2, (double[]){1, NAN, NAN, 2});
    check_with("x\ty\n1\t\n\t2\n", &both, FAB_FORMAT_TSV, 2, 2, (double[]){1, NAN, NAN, 2});
}

static void a_missing_value_is_refused_otherwise(void **state)
{
    (void)state;
    check_refused("x,c\n1,red\n2,\n", &only_words,
                  "rows.csv: line 3, column 2 ('c') is empty: a missing value");
    check_refused("x,c\n1,red\n2,NA\n", &only_words,
                  "rows.csv: line 3, column 2 ('c'): 'NA' is a missing value");
    check_refused("x,c\n1,red\nnan,red\n", &only_words, "rows.csv: line 3, column 1 ('x') is NaN");
    check_refused("x,c\n1,red\n?,red\n", &only_words,
                  "rows.csv: line 3, column 1 ('x'): '?' is a missing value");
}

static void infinity_is_never_taken(void **state)
{
    (void)state;
    check_refused("x,c\n1,red\ninf,red\n", &both, "rows.csv: line 3, column 1 ('x') is Inf");
    check_refused("x\n1\n-Infinity\n", &both, "rows.csv: line 3, column 1 ('x') is -Inf");
    check_refused("x\n1\n1e999\n", &only_missing,
                  "rows.csv: line 3, column 1 ('x'): '1e999' is too large for a double");
}

static void npy_has_nan_for_missing_values(void **state)
{
    (void)state;
    size_t n;
    double x[] = {1, NAN, 3, 4};
    const fab_npy a = {x, FAB_F64, 2, 2, 2};
    assert_int_equal(fab_npy_write(in_folder("a.npy"), &a), FAB_OK);
    char *bytes = get_bytes(in_folder("a.npy"), &n);
    check_values(bytes, n, &only_missing, FAB_FORMAT_NPY, 2, 2, x);
    check_refused_with(bytes, n, &only_words, "rows.csv: row 0, column 1 (from 0) is NaN");
    x[1] = INFINITY;
    memcpy(bytes + n - sizeof x, x, sizeof x);
    check_refused_with(bytes, n, &both, "rows.csv: row 0, column 1 (from 0) is Inf");
    free(bytes);
}

/* ---- refusals ------------------------------------------------------------------------------------ */

static void a_bad_row_is_refused_among_words(void **state)
{
    (void)state;
    check_refused("x,c\n1,red\n2\n", &both, "rows.csv: line 3 has 1 value, expected 2");
    check_refused("x,c\n1,red\n2,blue,3\n", &both, "rows.csv: line 3 has 3 values, expected 2");
    check_refused("x,c\n1,red\n2,\"blue\n", &both,
                  "rows.csv: line 3 opens a quote that does not close");
    const fab_source_options csv = {.format = FAB_FORMAT_CSV, .words = 1};
    check_refused_with("x,c\n1,red\n2,a\0b\n", 16, &csv,
                       "rows.csv: line 3, column 2 ('c'): a word with the byte 0x00");
}

static void a_refused_row_does_not_stop_the_rows_behind_it(void **state)
{
    (void)state;
    fab_source *s = open_text("x,c\n1,red\n2,NA\n3,blue\n", &only_words);
    double out[8];
    int64_t got;
    assert_int_equal(fab_source_next(s, 4, out, &got), FAB_MISSING_VALUE);
    assert_int_equal(got, 1);
    assert_int_equal(fab_source_next(s, 4, out, &got), FAB_OK);
    assert_true(got == 1 && out[0] == 3 && out[1] == 1);
    fab_source_close(s);
}

static void a_word_longer_than_any_page_of_words_is_kept(void **state)
{
    (void)state;
    enum { LONG = 3 << 20 };
    char *text = malloc(LONG + 64);
    memset(text, 'a', LONG);
    strcpy(text + LONG, " 1\nb 2\n");
    double out[MANY];
    fab_source *s = open_and_read(text, &only_words, out);
    assert_int_equal(strlen(fab_source_word(s, 0, 0)), LONG);
    assert_string_equal(fab_source_word(s, 0, 1), "b");
    fab_source_close(s);
    free(text);
}

static void more_than_100000_words_are_an_identifier(void **state)
{
    (void)state;
    char *text = malloc(16 * (FAB_WORDS_MAX + 4));
    size_t n = (size_t)sprintf(text, "name,y\n");
    for (int i = 0; i <= FAB_WORDS_MAX; i++) n += (size_t)sprintf(text + n, "w%d,1\n", i);
    sprintf(text + n, "w7,2\n");
    fab_source *s = open_text(text, &only_words);
    double *out = malloc(2 * (FAB_WORDS_MAX + 4) * sizeof *out);
    int64_t got;
    assert_int_equal(fab_source_next(s, FAB_WORDS_MAX + 4, out, &got), FAB_BAD_DATA);
    assert_int_equal(got, FAB_WORDS_MAX);
    assert_true(out[2 * (got - 1)] == FAB_WORDS_MAX - 1);
    assert_string_equal(fab_detail(),
                        "rows.csv: line 100002, column 1 ('name') is the first of more than 100000 "
                        "different words: the column is an identifier, not a category");
    assert_int_equal(fab_source_words(s, 0), FAB_WORDS_MAX);
    assert_int_equal(fab_source_next(s, 1, out, &got), FAB_OK); /* known ones are read on */
    assert_true(got == 1 && out[0] == 7 && out[1] == 2);
    fab_source_close(s);
    free(out);
    free(text);
}

/* ---- numbers, memory ----------------------------------------------------------------------------- */

static void a_file_of_numbers_reads_the_same_with_both_options(void **state)
{
    (void)state;
    const char *text = "a,b,c\n1,-2.385,\"3e5\"\n 4 ,.5,6\n";
    double plain[MANY], with[MANY];
    int64_t rows, again;
    assert_int_equal(read_memory(text, strlen(text), NULL, 7, plain, &rows), FAB_OK);
    assert_int_equal(read_memory(text, strlen(text), &both, 7, with, &again), FAB_OK);
    assert_true(rows == 2 && again == 2);
    assert_memory_equal(plain, with, 6 * sizeof *plain);
    fab_source *s = open_text(text, &both);
    assert_null(s->words); /* the fast way */
    fab_source_close(s);
}

static fab_status open_words(void)
{
    static const char text[] = "a,b\n1,red\n2,\"a long \"\"word\"\"\"\n3,blue\n";
    const fab_source_options o = {.words = 1, .categorical = "a"};
    fab_source *s;
    double out[8];
    int64_t got;
    fab_status status = fab_source_open_memory(&s, "rows.csv", text, sizeof text - 1, &o, 2);
    if (status == FAB_OK) status = fab_source_next(s, 4, out, &got);
    fab_source_close(s);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(open_words) > 12);
}

static fab_status add_words(void)
{
    fab_dictionary *w;
    int64_t code;
    fab_status status = fab_dictionary_create(&w, "words");
    for (int i = 0; status == FAB_OK && i < 300; i++) {
        char *to;
        status = fab_dictionary_room(w, 32, &to);
        if (status == FAB_OK) status = fab_dictionary_code(w, (size_t)sprintf(to, "w%d", i), &code);
        if (status == FAB_OK) assert_int_equal(code, i);
    }
    fab_dictionary_free(w);
    return status;
}

static void a_dictionary_that_cannot_grow_says_so(void **state)
{
    (void)state;
    assert_int_equal(add_words(), FAB_OK);
    assert_true(fail_every_allocation(add_words) > 10);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_column_of_words_is_read_as_codes_in_the_order_of_meeting_them),
        TEST(the_words_are_lent_by_code),
        TEST(quotes_and_blanks_around_a_word_are_not_part_of_it),
        TEST(a_number_in_a_column_of_words_is_a_word_as_it_stands),
        TEST(words_may_have_blanks_inside_between_tabs),
        TEST(words_that_were_lent_never_move),
        TEST(words_of_rows_that_are_passed_over_are_not_met),
        TEST(a_word_anywhere_in_the_first_64_kb_makes_a_column_one_of_words),
        TEST(a_word_met_later_is_refused_with_the_way_to_read_it),
        TEST(a_long_header_does_not_hide_the_first_row),
        TEST(listed_columns_are_words_by_name_by_number_and_last),
        TEST(a_list_that_fits_no_column_is_refused),
        TEST(words_above_numbers_are_a_header),
        TEST(words_above_words_are_a_header_only_where_all_fields_are_words),
        TEST(the_empty_name_of_an_index_makes_no_row),
        TEST(a_first_row_that_is_data_counts_as_data),
        TEST(a_missing_value_is_nan_where_that_is_asked_for),
        TEST(a_missing_value_is_refused_otherwise),
        TEST(infinity_is_never_taken),
        TEST(npy_has_nan_for_missing_values),
        TEST(a_bad_row_is_refused_among_words),
        TEST(a_refused_row_does_not_stop_the_rows_behind_it),
        TEST(a_word_longer_than_any_page_of_words_is_kept),
        TEST(more_than_100000_words_are_an_identifier),
        TEST(a_file_of_numbers_reads_the_same_with_both_options),
        TEST(every_failed_allocation_is_reported),
        TEST(a_dictionary_that_cannot_grow_says_so),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
