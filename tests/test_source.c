/* test_source.c - tables of numbers read as streams: every format, every window, every refusal.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/npy_header.h"
#include "data/source/number.h"
#include "data/source/source.h"
#include "fabayes/files.h"
#include "fabayes/random.h"
#include "source_case.h"
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <sys/wait.h>
#include <zlib.h>

/* ---- what the tests share ---------------------------------------------------------------------- */

static void check_text(const char *text, fab_format format, int64_t rows, int64_t columns,
                       const double *values)
{
    check_values(text, strlen(text), NULL, format, rows, columns, values);
    const fab_source_options given = {.format = format};
    check_values(text, strlen(text), &given, format, rows, columns, values);
}

static void check_refused_bytes(const void *bytes, size_t n, fab_format format,
                                const char *sentence)
{
    const fab_source_options o = {.format = format};
    check_refused_with(bytes, n, &o, sentence);
}

static void check_refused(const char *text, const char *sentence)
{
    check_refused_bytes(text, strlen(text), FAB_FORMAT_AUTO, sentence);
}

static void check_names(const char *text, int64_t n, const char *const *names)
{
    fab_source *s;
    assert_int_equal(fab_source_open_memory(&s, "rows.csv", text, strlen(text), NULL, 2), FAB_OK);
    assert_int_equal(fab_source_columns(s), n);
    for (int64_t j = 0; j < n; j++) assert_string_equal(fab_source_name(s, j), names[j]);
    assert_null(fab_source_name(s, -1));
    assert_null(fab_source_name(s, n));
    fab_source_close(s);
}

/* Gives the bytes compressed: free. */
static unsigned char *compress_bytes(const void *bytes, size_t n, size_t *size)
{
    z_stream z = {.next_in = (void *)(uintptr_t)bytes, .avail_in = (unsigned)n};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    *size = deflateBound(&z, n);
    unsigned char *out = malloc(*size);
    z.next_out = out;
    z.avail_out = (unsigned)*size;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *size = z.total_out;
    deflateEnd(&z);
    return out;
}

/* ---- numbers ----------------------------------------------------------------------------------- */

/* Same end and same bits as strtod; what overflows is no number. */
static void check_number(const char *text)
{
    char *end, padded[2048];
    double x;
    snprintf(padded, sizeof padded, "%s,xxxxxxxxxxxxxxxx", text);
    const double expected = strtod(padded, &end);
    const char *got = fab_number(padded, &x);
    if (isinf(expected)) {
        assert_null(got);
        assert_true(x == expected);
    } else if (got != end || memcmp(&x, &expected, sizeof x) != 0) {
        fail_msg("%s: %a, expected %a", text, x, expected);
    }
}

static void numbers_at_the_edges_are_those_of_strtod(void **state)
{
    (void)state;
    // clang-format off
    static const char *const text[] = {
        "0", "-0", "+0", "0.0", "1", "+1", "-1", "1.", ".5", "-.5", "1e5", "1E5", "1e+5", "1e-5",
        "1.e3", "00012", "0.1", "0.2", "0.3", "123456789", "12345678", "1234567",
        "1234567890123456789", "9007199254740992", "9007199254740993", "9007199254740994",
        "9007199254740995", "9007199254740993.0000000000000000000000000000001",
        "18446744073709551615", "18446744073709551616", "9999999999999999999",
        "10000000000000000000", "1e22", "1e23", "1e-22", "1e-23", "8.5e22",
        "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e308",
        "1e309", "-1e309", "1e999999999999999999999", "-1e-999999999999999999999",
        "0e99999999999999999999", "2.2250738585072014e-308", "2.2250738585072011e-308",
        "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
        "1e-323", "5e-324", "1e-400", "0.000000000000000000000000000000000000001",
        "1000000000000000000000000000000000000000", "123456789012345678901234567890",
        "0.123456789012345678901234567890", "1e", "1e+", "1e-", "1ex", "1.2.3",
        "7450580596923828125e-27", "9223372036854775808e27", "18014398509481985e-5"};
    // clang-format on
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) check_number(text[i]);
}

/* 1 + 2^-53 is a tie; a digit far behind decides. */
static void a_digit_beyond_the_767th_decides_a_tie(void **state)
{
    (void)state;
    char text[2000];
    strcpy(text, "1.00000000000000011102230246251565404236316680908203125");
    check_number(text);
    const size_t n = strlen(text);
    for (size_t zeros = 700; zeros < 900; zeros += 7) {
        memset(text + n, '0', zeros);
        strcpy(text + n + zeros, "0");
        check_number(text);
        strcpy(text + n + zeros, "1");
        check_number(text);
    }
}

static void many_zeros_and_a_large_exponent_cancel(void **state)
{
    (void)state;
    enum { ZEROS = 300000 };
    char *text = malloc(ZEROS + 64);
    double x;
    memset(text, '0', ZEROS + 2);
    text[1] = '.';
    strcpy(text + ZEROS + 2, "25e300001,        ");
    assert_ptr_equal(fab_number(text, &x), strchr(text, ','));
    assert_true(x == 2.5);
    free(text);
}

/* Text of a random number: random bits as %.*e, or random digits with point and exponent. */
static void random_text(uint64_t i, char *text, size_t size)
{
    uint32_t r[4];
    fab_random_bits(2385, FAB_PURPOSE_DATA, 1, i, r);
    const uint64_t bits = (uint64_t)r[0] << 32 | r[1], more = (uint64_t)r[2] << 32 | r[3];
    double x;
    memcpy(&x, &bits, sizeof x);
    if (!isfinite(x)) x = 1.5;
    switch (more % 6) {
    case 0: snprintf(text, size, "%.17g", x); return;
    case 1: snprintf(text, size, "%.*e", (int)(more / 8 % 25), x); return;
    case 2: snprintf(text, size, "%.17g", (double)(int64_t)bits * 1e-12); return;
    case 3: snprintf(text, size, "%" PRIu64 "e%d", bits, (int)(more / 8 % 60) - 30); return;
    case 4: snprintf(text, size, "%" PRIu64 ".%" PRIu64, bits >> more / 8 % 64, more); return;
    default:
        snprintf(text, size, "%.*f", (int)(more / 8 % 30),
                 ldexp((double)r[1], (int)(r[2] % 80) - 60));
    }
}

static void random_numbers_are_those_of_strtod(void **state)
{
    (void)state;
    char text[1024];
    for (uint64_t i = 0; i < 100000; i++) {
        random_text(i, text, sizeof text);
        check_number(text);
    }
}

/* Halfway between neighbouring doubles of 17 digits and their next: the hardest short cases. */
static void numbers_next_to_ties_are_those_of_strtod(void **state)
{
    (void)state;
    char text[64];
    for (uint64_t i = 0; i < 20000; i++) {
        uint32_t r[4];
        fab_random_bits(2385, FAB_PURPOSE_DATA, 2, i, r);
        const uint64_t m = ((uint64_t)r[0] << 32 | r[1]) >> 11 | UINT64_C(1) << 52; /* 53 bits */
        for (int up = -1; up <= 1; up++) {
            snprintf(text, sizeof text, "%" PRIu64 "e%d", 2 * m + 1 + (uint64_t)(int64_t)up,
                     (int)(r[2] % 55) - 27);
            check_number(text); /* 2m + 1 is a tie */
            snprintf(text, sizeof text, "%" PRIu64 ".%d", m, 5 + up);
            check_number(text);
        }
    }
}

static void what_is_no_number_is_not_read_as_one(void **state)
{
    (void)state;
    static const char *const text[] = {"",    "-",   "+",   ".",    "-.", "e5",
                                       ".e5", "nan", "inf", "-inf", "x",  "--1"};
    double x;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        char padded[64];
        snprintf(padded, sizeof padded, "%s,                ", text[i]);
        assert_null(fab_number(padded, &x));
        assert_true(x == 0);
    }
    const char *hex = "0x10,          ";
    assert_ptr_equal(fab_number(hex, &x), hex + 1);
    assert_string_equal(fab_number_word("nan", 3), "NaN");
    assert_string_equal(fab_number_word("-Infinity", 9), "-Inf");
    assert_string_equal(fab_number_word("+INF", 4), "Inf");
    assert_null(fab_number_word("info", 4));
    assert_null(fab_number_word("-", 1));
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    double x;
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    for (int i = 0; i < 3; i++)
        if (setlocale(LC_NUMERIC, locales[i])) break; /* where there is none the C locale is read */
    const char *text = "0.12345678901234567890123e-30,         ";
    assert_non_null(fab_number(text, &x));
    setlocale(LC_NUMERIC, "C");
    assert_true(x == strtod(text, NULL));
}

/* ---- formats ----------------------------------------------------------------------------------- */

static const double six[] = {1, -2.385, 3e5, 4, 0.5, 6};

static void csv_reads_back(void **state)
{
    (void)state;
    check_text("1,-2.385,3e5\n4,.5,6.\n", FAB_FORMAT_CSV, 2, 3, six);
    check_text("1,-2.385,3e5\n4,.5,6", FAB_FORMAT_CSV, 2, 3, six);       /* no last line end */
    check_text("1,-2.385,3e5\r\n4,.5,6\r\n", FAB_FORMAT_CSV, 2, 3, six); /* CRLF */
    check_text(" 1 ,\t-2.385,3e5 \n\n4, +.5 ,6\n\n \n", FAB_FORMAT_CSV, 2, 3, six);
    check_text("\"1\",\"-2.385\" , \"3e5\"\n4,\".5\",6\n", FAB_FORMAT_CSV, 2, 3, six);
    check_text("a,b,c\n1,-2.385,3e5\n4,.5,6\n", FAB_FORMAT_CSV, 2, 3, six);
    check_text("\n\n1,-2.385,3e5\n4,.5,6\n", FAB_FORMAT_CSV, 2, 3, six);
    check_text("\xEF\xBB\xBF"
               "1,-2.385,3e5\n4,.5,6\n",
               FAB_FORMAT_CSV, 2, 3, six);
    check_text("1;-2.385;3e5\n4;.5;6\n", FAB_FORMAT_CSV, 2, 3, six);
    check_text("\"a;b\";\"c,d\";e\n1;-2.385;3e5\n4;.5;6\n", FAB_FORMAT_CSV, 2, 3, six);
}

static void tsv_reads_back(void **state)
{
    (void)state;
    check_text("1\t-2.385\t3e5\n4\t.5\t6\n", FAB_FORMAT_TSV, 2, 3, six);
    check_text("body height\tb\tc, d\r\n1\t-2.385\t3e5\r\n4\t .5\t6\r\n", FAB_FORMAT_TSV, 2, 3,
               six);
}

static void text_reads_back(void **state)
{
    (void)state;
    check_text("1 -2.385 3e5\n4 .5 6\n", FAB_FORMAT_TEXT, 2, 3, six);
    check_text("  1  -2.385\t3e5 \r\n  4\t .5 6\t\r\n\r\n", FAB_FORMAT_TEXT, 2, 3, six);
    check_text("a b c\n1 -2.385 3e5\n4 .5 6", FAB_FORMAT_TEXT, 2, 3, six);
    check_text("1 -2.385 3e5\t\n4 .5 6\t\n", FAB_FORMAT_TEXT, 2, 3,
               six); /* tabs that separate nothing */
    check_text("1\n-2.385\n3e5\n4\n.5\n6\n", FAB_FORMAT_TEXT, 6, 1, six);
    check_text("height\n1\n-2.385\n3e5\n4\n.5\n6\n", FAB_FORMAT_TEXT, 6, 1, six);
}

static void libsvm_reads_back_as_dense_rows(void **state)
{
    (void)state;
    const double dense[] = {1, 0.5, 0, -2.385, -1, 0, 0, 0, 2.5, 0, 7, 0};
    check_text("+1 1:0.5 3:-2.385\n-1\n2.5 2:7\n", FAB_FORMAT_LIBSVM, 3, 4, dense);
    check_text("+1\t1:.5  3:-2.385 \r\n\r\n  -1 \r\n2.5 2:7", FAB_FORMAT_LIBSVM, 3, 4, dense);
    const char *const names[] = {"label", "x1", "x2", "x3"};
    check_names("1 1:0.5 3:-2.385\n-1\n", 4, names);
}

static char last_log[512];
static void keep_log(void *ctx, const char *sentence)
{
    ++*(int *)ctx;
    snprintf(last_log, sizeof last_log, "%s", sentence);
}

static void libsvm_ignores_and_counts_features_that_were_not_asked_for(void **state)
{
    (void)state;
    const char *text = "1 1:2 5:1 9:1\n0 2:3 7:1\n";
    const double two[] = {1, 2, 0, 0, 0, 3}, wide[] = {1, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0};
    const fab_source_options narrow = {.format = FAB_FORMAT_AUTO, .features = 2},
                             wider = {.format = FAB_FORMAT_LIBSVM, .features = 11};
    double out[24];
    int64_t rows;
    int said = 0;
    fab_set_log(keep_log, &said);
    assert_int_equal(read_memory(text, strlen(text), &narrow, 64, out, &rows), FAB_OK);
    fab_set_log(NULL, NULL);
    assert_int_equal(said, 1);
    assert_string_equal(last_log, "rows.csv: 3 values have an index above 2 and were ignored");
    assert_int_equal(rows, 2);
    assert_memory_equal(out, two, sizeof two);
    assert_int_equal(read_memory(text, strlen(text), &wider, 64, out, &rows), FAB_OK);
    assert_memory_equal(out, wide, sizeof wide);
}

static void npy_reads_back(void **state)
{
    (void)state;
    float single[6];
    for (int i = 0; i < 6; i++) single[i] = (float)six[i];
    double back[6];
    for (int i = 0; i < 6; i++) back[i] = single[i];
    const fab_npy arrays[] = {{(void *)(uintptr_t)six, FAB_F64, 2, 2, 3},
                              {single, FAB_F32, 2, 3, 2},
                              {(void *)(uintptr_t)six, FAB_F64, 1, 6, 1}};
    for (int i = 0; i < 3; i++) {
        size_t n;
        assert_int_equal(fab_npy_write(in_folder("a.npy"), &arrays[i]), FAB_OK);
        char *bytes = get_bytes(in_folder("a.npy"), &n);
        check_values(bytes, n, NULL, FAB_FORMAT_NPY, arrays[i].rows, arrays[i].cols,
                     i == 1 ? back : six);
        check_refused_bytes(bytes, n - 1, FAB_FORMAT_AUTO,
                            i == 1 ? "rows.csv: its header promises 152 bytes, the file has 151"
                                   : "rows.csv: its header promises 176 bytes, the file has 175");
        free(bytes);
    }
    fab_source *s;
    assert_int_equal(fab_source_open(&s, in_folder("a.npy"), NULL), FAB_OK);
    assert_int_equal(fab_source_rows(s), 6);
    assert_string_equal(fab_source_name(s, 0), "x0");
    fab_source_close(s);
}

/* rows x columns numbers, column after column, behind a header that says so. */
static char *fortran(fab_dtype type, int64_t rows, int64_t columns, size_t *n)
{
    const int64_t size = type == FAB_F32 ? 4 : 8;
    char *file = malloc((size_t)(FAB_NPY_WRITTEN + rows * columns * size));
    fab_npy_header_print(file, type, 2, rows, columns);
    char *order = strstr(file + 10, "False");
    memcpy(order, "True ", 5);
    *n = FAB_NPY_WRITTEN;
    for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++, *n += (size_t)size) {
            const double x = (double)(r * columns + c) + 0.5;
            const float single = (float)x;
            memcpy(file + *n, type == FAB_F32 ? (const void *)&single : &x, (size_t)size);
        }
    return file;
}

static void npy_in_fortran_order_is_read_by_rows(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{2, 3}, {1, 5}, {5, 1}, {20000, 7}, {300, 29}};
    for (int i = 0; i < 10; i++) {
        const int64_t rows = shapes[i / 2][0], columns = shapes[i / 2][1];
        size_t n;
        char *file = fortran(i % 2 ? FAB_F32 : FAB_F64, rows, columns, &n);
        put_bytes(in_folder("f.npy"), file, n);
        for (int memory = 0; memory < 2; memory++) {
            fab_source *s;
            double x[29];
            int64_t got, done, total;
            const fab_status opened = memory
                                          ? fab_source_open_memory(&s, "f.npy", file, n, NULL, 61)
                                          : fab_source_open(&s, in_folder("f.npy"), NULL);
            assert_int_equal(opened, FAB_OK);
            assert_true(fab_source_rows(s) == rows && fab_source_columns(s) == columns);
            for (int64_t r = 0; r < rows; r++) {
                if (r % 1000 == 999) assert_int_equal(fab_source_skip(s, 1), FAB_OK);
                if (r % 1000 == 999) continue;
                assert_int_equal(fab_source_next(s, 1, x, &got), FAB_OK);
                assert_int_equal(got, 1);
                for (int64_t c = 0; c < columns; c++)
                    assert_true(x[c] == (double)(r * columns + c) + 0.5);
            }
            fab_source_position(s, &done, &total);
            assert_true(done == total && total == (int64_t)n);
            assert_int_equal(fab_source_next(s, 1, x, &got), FAB_OK);
            assert_int_equal(got, 0);
            fab_source_close(s);
        }
        free(file);
    }
}

static void bad_npy_in_fortran_order_is_refused(void **state)
{
    (void)state;
    size_t n, packed;
    char *file = fortran(FAB_F64, 300, 3, &n);
    check_refused_bytes(file, n - 1, FAB_FORMAT_AUTO,
                        "rows.csv: its header promises 7328 bytes, the file has 7327");
    unsigned char *gz = compress_bytes(file, n, &packed);
    check_refused_bytes(gz, packed, FAB_FORMAT_AUTO,
                        "rows.csv: the array is in Fortran order, whose rows stand apart, and is "
                        "compressed: save np.ascontiguousarray(a)");
    free(gz);
    put_bytes(in_folder("f.npy"), file, n); /* it becomes shorter while it is read */
    fab_source *s;
    double x[3];
    int64_t got;
    assert_int_equal(fab_source_open(&s, in_folder("f.npy"), NULL), FAB_OK);
    assert_int_equal(truncate(in_folder("f.npy"), 4000), 0);
    assert_int_equal(fab_source_next(s, 1, x, &got), FAB_BAD_FILE);
    assert_non_null(strstr(fab_detail(), "is cut short: it ends in column 1 (from 0) of 3"));
    fab_source_close(s);
    memset(file + n - 8 * 300 + 8 * 29, 0xFF, 8);
    check_refused_bytes(file, n, FAB_FORMAT_AUTO, "rows.csv: row 29, column 2 (from 0) is NaN");
    free(file);
}

/* A row longer than the window and than the pieces it is converted in. */
static void a_long_npy_row_reads_back(void **state)
{
    (void)state;
    enum { D = 10007 };
    double *x = malloc(3 * D * sizeof *x), *y = malloc(3 * D * sizeof *y);
    fab_random_uniform(2385, FAB_PURPOSE_DATA, 3, 0, 3 * D, x);
    const fab_npy a = {x, FAB_F64, 2, 3, D};
    assert_int_equal(fab_npy_write(in_folder("a.npy"), &a), FAB_OK);
    fab_source *s;
    int64_t got;
    assert_int_equal(fab_source_open_room(&s, in_folder("a.npy"), NULL, 16), FAB_OK);
    assert_int_equal(fab_source_next(s, 1, y, &got), FAB_OK);
    assert_int_equal(fab_source_skip(s, 1), FAB_OK);
    assert_int_equal(fab_source_next(s, 5, y + 2 * D, &got), FAB_OK);
    assert_int_equal(got, 1);
    assert_memory_equal(x, y, D * sizeof *x);
    assert_memory_equal(x + 2 * D, y + 2 * D, D * sizeof *x);
    fab_source_close(s);
    free(x);
    free(y);
}

static void idx_reads_back_flattened(void **state)
{
    (void)state;
    const double bytes[] = {0, 1, 2, 253, 254, 255, 7, 8}, sbytes[] = {0, 1, 2, -3, -2, -1, 7, 8};
    const char cube[] = "\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02\0\x01\x02\xFD\xFE\xFF\x07\x08";
    check_values(cube, sizeof cube - 1, NULL, FAB_FORMAT_IDX, 2, 4, bytes);
    const char flat[] = "\0\0\x08\x01\0\0\0\x08\0\x01\x02\xFD\xFE\xFF\x07\x08";
    check_values(flat, sizeof flat - 1, NULL, FAB_FORMAT_IDX, 8, 1, bytes);
    const char sflat[] = "\0\0\x09\x01\0\0\0\x08\0\x01\x02\xFD\xFE\xFF\x07\x08";
    check_values(sflat, sizeof sflat - 1, NULL, FAB_FORMAT_IDX, 8, 1, sbytes);
    const double two[] = {-2, 258}, floats[] = {1.5, -2};
    const char shorts[] = "\0\0\x0B\x01\0\0\0\x02\xFF\xFE\x01\x02";
    check_values(shorts, sizeof shorts - 1, NULL, FAB_FORMAT_IDX, 2, 1, two);
    const char ints[] = "\0\0\x0C\x02\0\0\0\x01\0\0\0\x02\xFF\xFF\xFF\xFE\0\0\x01\x02";
    check_values(ints, sizeof ints - 1, NULL, FAB_FORMAT_IDX, 1, 2, two);
    const char f4[] = "\0\0\x0D\x01\0\0\0\x02\x3F\xC0\0\0\xC0\0\0\0";
    check_values(f4, sizeof f4 - 1, NULL, FAB_FORMAT_IDX, 2, 1, floats);
    const char f8[] = "\0\0\x0E\x01\0\0\0\x02\x3F\xF8\0\0\0\0\0\0\xC0\0\0\0\0\0\0\0";
    check_values(f8, sizeof f8 - 1, NULL, FAB_FORMAT_IDX, 2, 1, floats);
}

static void gzip_is_known_by_its_bytes(void **state)
{
    (void)state;
    size_t n, m;
    const char *text = "a,b,c\n1,-2.385,3e5\n", *rest = "4,.5,6\n";
    unsigned char *first = compress_bytes(text, strlen(text), &n);
    unsigned char *second = compress_bytes(rest, strlen(rest), &m);
    unsigned char *both = malloc(n + m);
    memcpy(both, first, n);
    memcpy(both + n, second, m);
    check_values(both, n + m, NULL, FAB_FORMAT_CSV, 2, 3, six); /* two members in a row */
    check_values(first, n, NULL, FAB_FORMAT_CSV, 1, 3, six);
    check_refused_bytes(both, n + m - 1, FAB_FORMAT_AUTO,
                        "rows.csv: is cut short: its gzip data do not end");
    both[n + m - 6] ^= 1; /* the checksum */
    double out[MANY];
    int64_t rows;
    assert_int_equal(read_memory(both, n + m, NULL, 64, out, &rows), FAB_BAD_FILE);
    assert_detail("rows.csv", "its gzip data are damaged");
    memset(both + n, 'x', m);
    assert_int_equal(read_memory(both, n + m, NULL, 64, out, &rows), FAB_BAD_FILE);
    assert_detail("rows.csv", "its gzip data are damaged");
    free(first);
    free(second);
    free(both);
}

static void rows_before_damaged_gzip_are_given(void **state)
{
    (void)state;
    char text[4000];
    size_t n = 0, m;
    for (int i = 0; i < 100; i++) n += (size_t)sprintf(text + n, "%d,%d\n", i, i * i);
    unsigned char *gz = compress_bytes(text, n, &m);
    double out[MANY];
    int64_t rows;
    for (int i = 0; i < ROOMS; i++) { /* the checksum is missing: every row is there */
        assert_int_equal(read_memory(gz, m - 8, NULL, rooms[i], out, &rows), FAB_BAD_FILE);
        assert_detail("rows.csv", "is cut short: its gzip data do not end");
        assert_int_equal(rows, 100);
    }
    gz[m - 6] ^= 1; /* the checksum is wrong */
    assert_int_equal(read_memory(gz, m, NULL, 64, out, &rows), FAB_BAD_FILE);
    assert_detail("rows.csv", "its gzip data are damaged");
    assert_true(rows == 100 && out[2 * 99 + 1] == 99 * 99);
    free(gz);
}

static void gzip_libsvm_is_read_twice(void **state)
{
    (void)state;
    char text[4000];
    size_t n = 0, m;
    for (int i = 1; i <= 100; i++) n += (size_t)sprintf(text + n, "%d %d:%d\n", i, i % 30 + 1, i);
    unsigned char *gz = compress_bytes(text, n, &m);
    put_bytes(in_folder("a.gz"), gz, m);
    fab_source *s;
    double out[31];
    int64_t got, done, total;
    assert_int_equal(fab_source_open_room(&s, in_folder("a.gz"), NULL, 16), FAB_OK);
    assert_int_equal(fab_source_columns(s), 31);
    for (int i = 1; i <= 100; i++) {
        assert_int_equal(fab_source_next(s, 1, out, &got), FAB_OK);
        assert_int_equal(got, 1);
        assert_true(out[0] == i && out[i % 30 + 1] == i);
    }
    assert_int_equal(fab_source_next(s, 1, out, &got), FAB_OK);
    assert_int_equal(got, 0);
    fab_source_position(s, &done, &total);
    assert_int_equal(done, m);
    assert_int_equal(total, m);
    fab_source_close(s);
    free(gz);
}

static void formats_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"auto", "csv", "tsv", "text", "npy", "libsvm", "idx"};
    fab_format f;
    for (int i = 0; i < 7; i++) {
        assert_string_equal(fab_format_name((fab_format)i), names[i]);
        assert_int_equal(fab_format_find(&f, names[i]), FAB_OK);
        assert_int_equal(f, i);
    }
    assert_null(fab_format_name((fab_format)7));
    assert_int_equal(fab_format_find(&f, "cvs"), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(), "there is no format 'cvs'; did you mean 'csv'?");
    assert_int_equal(fab_format_find(&f, "parquet-files"), FAB_BAD_ARGUMENT);
    assert_detail("parquet-files", "auto, csv, tsv, text, npy, libsvm or idx");
}

/* ---- the header -------------------------------------------------------------------------------- */

static void names_come_from_the_header_or_are_made_up(void **state)
{
    (void)state;
    const char *const plain[] = {"x0", "x1", "x2"}, *const given[] = {"a", "b c", "2019"};
    check_names("1,2,3\n", 3, plain);
    check_names("1 2 3\n", 3, plain);
    check_names("a, b c ,2019\n1,2,3\n", 3, given);
    check_names("a\tb c\t2019\n1\t2\t3\n", 3, given);
    const char *const quoted[] = {"a,b", "say \"x\"", "x2", "x3"};
    check_names("\"a,b\",\"say \"\"x\"\"\",,\"\"\n1,2,3,4\n", 4, quoted);
    const char *const lines[] = {"one\ntwo", "three\n\nfour"};
    check_names("\"one\ntwo\",\"three\n\nfour\"\r\n1,2\n", 2, lines);
    const char *const odd[] = {"\"a\"b", "c"};
    check_names("\"a\"b,c\n1,2\n", 2, odd);
}

static void a_first_row_with_missing_values_is_no_header(void **state)
{
    (void)state;
    check_refused("1,nan,3\n1,2,3\n", "rows.csv: line 1, column 2 is NaN");
    check_refused("1,-inf,3\n1,2,3\n", "rows.csv: line 1, column 2 is -Inf");
    check_refused("1,,3\n1,2,3\n", "rows.csv: line 1, column 2 is empty: a missing value");
    check_refused("1,NA,3\n1,2,3\n", "rows.csv: line 1, column 2: 'NA' is a missing value");
    check_refused("1,?,3\n1,2,3\n", "rows.csv: line 1, column 2: '?' is a missing value");
    check_refused("1,1e999,3\n", "rows.csv: line 1, column 2: '1e999' is too large for a double");
}

static void lines_are_counted_behind_a_header_of_several_lines(void **state)
{
    (void)state;
    check_refused("\"a\nb\",c\n1,2\n3,x\n",
                  "rows.csv: line 4, column 2 ('c'): 'x' is not a number");
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static void a_bad_value_is_refused_with_its_place(void **state)
{
    (void)state;
    check_refused("age,sex,height\n1,2,3\n4,5,abc\n",
                  "rows.csv: line 3, column 3 ('height'): 'abc' is not a number");
    check_refused("1,2\n3,0x10\n", "rows.csv: line 2, column 2: '0x10' is not a number");
    check_refused("1,2\n3,1e\n", "rows.csv: line 2, column 2: '1e' is not a number");
    check_refused("1,2\n3,4 5\n", "rows.csv: line 2, column 2: '4 5' is not a number");
    check_refused("1,2\n\"3\"4,5\n", "rows.csv: line 2, column 1: '\"3\"4' is not a number");
    check_refused("1,2\n3,\"4\n", "rows.csv: line 2 opens a quote that does not close");
    check_refused("a\tb\n1\t2\n\t3\n",
                  "rows.csv: line 3, column 1 ('a') is empty: a missing value");
    check_refused("a\tb\n1\t2\n\t\n", "rows.csv: line 3, column 1 ('a') is empty: a missing value");
    check_refused("a b\n1 2\n1 NaN\n", "rows.csv: line 3, column 2 ('b') is NaN");
    check_refused("1 2\n1 -Infinity\n", "rows.csv: line 2, column 2 is -Inf");
    check_refused("1 2\n1e400 2\n",
                  "rows.csv: line 2, column 1: '1e400' is too large for a double");
    check_refused("1,2\n\n1,\x01\x02\n",
                  "rows.csv: is neither npy nor idx nor text: byte 7 is 0x01");
    check_refused(
        "1,2\n3,"
        "aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaa\n",
        "rows.csv: line 2, column 2: "
        "'aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbb...' is not a number");
}

static void a_ragged_row_is_refused(void **state)
{
    (void)state;
    check_refused("1,2,3,4,5\n1,2,3,4\n", "rows.csv: line 2 has 4 values, expected 5");
    check_refused("1,2\n1,2,\n", "rows.csv: line 2 has 3 values, expected 2");
    check_refused("1,2\n1\n", "rows.csv: line 2 has 1 value, expected 2");
    check_refused("1 2\n1 2 3\n", "rows.csv: line 2 has 3 values, expected 2");
    check_refused("1 2\n1 2\n\n1\n", "rows.csv: line 4 has 1 value, expected 2");
    check_refused("a\tb\n1\t2\n3\t4\t5\n", "rows.csv: line 3 has 3 values, expected 2");
}

static void a_file_without_rows_is_refused(void **state)
{
    (void)state;
    check_refused("", "rows.csv: is empty");
    check_refused_bytes("", 0, FAB_FORMAT_NPY, "rows.csv: is empty");
    check_refused("\n \n\n", "rows.csv: has no rows");
    check_refused("\xEF\xBB\xBF", "rows.csv: is empty");
    check_refused("a,b\n", "rows.csv: has a header (line 1) and no rows");
    check_refused("\na b\n\n", "rows.csv: has a header (line 2) and no rows");
    check_refused("\"a,b\n1,2\n", "rows.csv: line 1 opens a quote that does not close");
    check_refused_bytes("\n\n", 2, FAB_FORMAT_LIBSVM, "rows.csv: has no rows");
    check_refused_bytes("1\n2\n", 4, FAB_FORMAT_LIBSVM, "rows.csv: no line has index:value");
    const char none[] = "\0\0\x08\x01\0\0\0\0";
    check_refused_bytes(none, sizeof none - 1, FAB_FORMAT_AUTO, "rows.csv: has no rows");
    const char thin[] = "\0\0\x08\x02\0\0\0\x01\0\0\0\0";
    check_refused_bytes(thin, sizeof thin - 1, FAB_FORMAT_AUTO, "rows.csv: has no columns");
}

static void bad_libsvm_is_refused(void **state)
{
    (void)state;
    check_refused("1 1:2\n1 2\n", "rows.csv: line 2: '2' is not index:value");
    check_refused("1 1:2\nx 1:2\n", "rows.csv: line 2, label: 'x' is not a number");
    check_refused("1 1:2\nnan 1:2\n", "rows.csv: line 2, label is NaN");
    check_refused("1 1:2\n1 1:2 1:3\n",
                  "rows.csv: line 2: '1:3' does not follow in increasing order");
    check_refused("1 1:2\n1 0:2\n",
                  "rows.csv: line 2: '0:2': an index is between 1 and 2147483647");
    check_refused(
        "1 1:2\n1 99999999999999999999:2\n",
        "rows.csv: line 2: '99999999999999999999:2': an index is between 1 and 2147483647");
    check_refused("1 1:2\n1 2:nan\n", "rows.csv: line 2, index 2 is NaN");
    check_refused("1 1:2\n1 2:\n", "rows.csv: line 2, index 2 is empty: a missing value");
    check_refused("1 1:2\n1 2:3x\n", "rows.csv: line 2, index 2: '3x' is not a number");
    check_refused("1 1:2\n1 -2:3\n", "rows.csv: line 2: '-2:3' is not index:value");
    check_refused("1 1:2\n1 qid:3 2:5\n", "rows.csv: line 2: 'qid:3' is not index:value");
}

static void bad_npy_and_idx_are_refused(void **state)
{
    (void)state;
    double x[] = {1, 2, 3, NAN, 5, -INFINITY};
    const fab_npy a = {x, FAB_F64, 2, 3, 2};
    size_t n, m;
    assert_int_equal(fab_npy_write(in_folder("a.npy"), &a), FAB_OK);
    char *bytes = get_bytes(in_folder("a.npy"), &n);
    check_refused_bytes(bytes, n, FAB_FORMAT_AUTO, "rows.csv: row 1, column 1 (from 0) is NaN");
    check_refused_bytes(bytes, 40, FAB_FORMAT_AUTO,
                        "rows.csv: is cut short: the header ends at byte 128, the file at byte 40");
    check_refused_bytes(bytes, 7, FAB_FORMAT_NPY,
                        "rows.csv: is cut short: 7 bytes are no .npy header");
    check_refused_bytes("1,2\n3,4\n5,6\n", 12, FAB_FORMAT_NPY, "rows.csv: is not a .npy file");
    check_refused_bytes("1,2\n3,4\n5,6\n", 12, FAB_FORMAT_IDX, "rows.csv: is not an idx file");
    check_refused_bytes("\0\1\x08\1\0\0\0\1\7", 9, FAB_FORMAT_IDX, "rows.csv: is not an idx file");
    memcpy(bytes + 128 + 24, x, 8);
    check_refused_bytes(bytes, n, FAB_FORMAT_AUTO, "rows.csv: row 2, column 1 (from 0) is -Inf");

    memcpy(bytes + 128 + 40, x, 8); /* good, and now without a length to compare with */
    unsigned char *gz = compress_bytes(bytes, n - 9, &m);
    check_refused_bytes(gz, m, FAB_FORMAT_AUTO,
                        "rows.csv: is cut short: it ends in row 2 (from 0) of 3");
    free(gz);
    memset(bytes + n, 0, 1);
    gz = compress_bytes(bytes, n + 1, &m);
    check_refused_bytes(gz, m, FAB_FORMAT_AUTO,
                        "rows.csv: goes on after the 3 rows that its header promises");
    free(gz);
    free(bytes);

    const char cut[] = "\0\0\x08\x03\0\0\0\x02\0\0";
    check_refused_bytes(cut, sizeof cut - 1, FAB_FORMAT_AUTO,
                        "rows.csv: is cut short in its header");
    const char huge[] =
        "\0\0\x08\x04\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";
    check_refused_bytes(huge, sizeof huge - 1, FAB_FORMAT_AUTO,
                        "rows.csv: the sizes in its header are too large");
}

static void binary_garbage_is_refused(void **state)
{
    (void)state;
    check_refused_bytes("\x7f"
                        "ELF\x02\x01",
                        6, FAB_FORMAT_AUTO,
                        "rows.csv: is neither npy nor idx nor text: byte 0 is 0x7f");
    check_refused_bytes("1,2\n3,\0", 7, FAB_FORMAT_AUTO,
                        "rows.csv: is neither npy nor idx nor text: byte 6 is 0x00");
    check_refused_bytes("\x10\x01\0\0\0\0\0\0{\"__metadata__\"", 23, FAB_FORMAT_AUTO,
                        "rows.csv: is a safetensors file, as fits are, and no table");
    check_refused_bytes("1,2\n3,4\0\n", 9, FAB_FORMAT_CSV,
                        "rows.csv: line 2, column 2: '4?' is not a number");
}

/* A csv whose first column has such a name is one. */
static void tables_of_other_programs_are_answered_with_the_line_to_type(void **state)
{
    (void)state;
    check_refused_bytes(
        "PAR1\x15\x04\x15\x10", 8, FAB_FORMAT_AUTO,
        "rows.csv: is a Parquet file; python3 -c \"import pandas; "
        "pandas.read_parquet('rows.csv').to_csv('rows.csv.csv', index=False)\" makes a "
        "table of it that can be read here");
    check_refused_bytes(
        "ARROW1\0\0\xff\xff", 10, FAB_FORMAT_AUTO,
        "rows.csv: is an Arrow file; python3 -c \"import pandas; "
        "pandas.read_feather('rows.csv').to_csv('rows.csv.csv', index=False)\" makes a "
        "table of it that can be read here");
    check_text("PAR1,b\n1,2\n", FAB_FORMAT_CSV, 1, 2, (const double[]){1, 2});
}

static void files_that_cannot_be_read_are_refused(void **state)
{
    (void)state;
    fab_source *s;
    assert_int_equal(fab_source_open(&s, in_folder("none.csv"), NULL), FAB_BAD_FILE);
    assert_detail("none.csv", "cannot be opened: No such file or directory");
    assert_null(s);
    assert_int_equal(fab_source_open(&s, folder, NULL), FAB_BAD_FILE);
    assert_detail(folder, "is a folder, not a file");
    assert_int_equal(fab_source_open(&s, NULL, NULL), FAB_BAD_ARGUMENT);
    const fab_source_options negative = {.format = FAB_FORMAT_AUTO, .features = -1},
                             unknown = {.format = (fab_format)17};
    assert_int_equal(fab_source_open(&s, "a", &negative), FAB_BAD_ARGUMENT);
    put_bytes(in_folder("a.csv"), "1,2\n", 4);
    assert_int_equal(fab_source_open(&s, in_folder("a.csv"), &unknown), FAB_BAD_ARGUMENT);
    assert_detail("a.csv", "there is no format 17");
    if (geteuid() == 0) return; /* root may read everything */
    assert_int_equal(chmod(in_folder("a.csv"), 0), 0);
    assert_int_equal(fab_source_open(&s, in_folder("a.csv"), NULL), FAB_BAD_FILE);
    assert_detail("a.csv", "cannot be opened: Permission denied");
}

static void reading_goes_on_behind_a_bad_row(void **state)
{
    (void)state;
    const char *text = "1,2\n3,4\nx,5\n6,7\n8\n9,10\n";
    fab_source *s;
    double out[20];
    int64_t got;
    assert_int_equal(fab_source_open_memory(&s, "rows.csv", text, strlen(text), NULL, 4), FAB_OK);
    assert_int_equal(fab_source_next(s, 10, out, &got), FAB_BAD_DATA);
    assert_int_equal(got, 2);
    assert_true(out[0] == 1 && out[3] == 4);
    assert_detail("rows.csv", "line 3, column 1");
    assert_int_equal(fab_source_next(s, 1, out, &got), FAB_OK);
    assert_true(got == 1 && out[0] == 6 && out[1] == 7);
    assert_int_equal(fab_source_skip(s, 1), FAB_OK); /* what is passed over is not looked at */
    assert_int_equal(fab_source_next(s, 10, out, &got), FAB_OK);
    assert_true(got == 1 && out[0] == 9 && out[1] == 10);
    assert_int_equal(fab_source_next(s, 10, out, &got), FAB_OK);
    assert_int_equal(got, 0);
    assert_int_equal(fab_source_next(s, -1, out, &got), FAB_BAD_ARGUMENT);
    fab_source_close(s);
    fab_source_close(NULL);
}

/* A bad row counts as a row: the numbers of those behind it stay. */
static void rows_behind_a_bad_row_keep_their_numbers(void **state)
{
    (void)state;
    const char *text = "0 0\n1 1\n2 x\n3 3\n4 4\n";
    put_bytes(in_folder("keep.txt"), "2\n3\n", 4);
    const fab_source_options o = {.format = FAB_FORMAT_AUTO, .rows = in_folder("keep.txt")};
    fab_source *s;
    double out[6];
    int64_t got;
    assert_int_equal(fab_source_open_memory(&s, "rows.csv", text, strlen(text), &o, 4), FAB_OK);
    assert_int_equal(fab_source_next(s, 3, out, &got), FAB_BAD_DATA);
    assert_int_equal(got, 0);
    assert_int_equal(fab_source_next(s, 3, out, &got), FAB_OK);
    assert_true(got == 1 && out[0] == 3 && out[1] == 3);
    fab_source_close(s);
}

/* ---- rows, position, pipes --------------------------------------------------------------------- */

static void skip_passes_rows_and_says_when_there_are_fewer(void **state)
{
    (void)state;
    const char *text = "a,b\n1,2\n\n3,4\n5,6";
    fab_source *s;
    double out[2];
    int64_t got, done, total;
    assert_int_equal(fab_source_open_memory(&s, "rows.csv", text, strlen(text), NULL, 3), FAB_OK);
    assert_int_equal(fab_source_rows(s), -1);
    fab_source_position(s, &done, &total);
    assert_int_equal(done, 4);
    assert_int_equal(total, strlen(text));
    assert_int_equal(fab_source_skip(s, 0), FAB_OK);
    assert_int_equal(fab_source_skip(s, 2), FAB_OK);
    fab_source_position(s, &done, &total);
    assert_int_equal(done, 13);
    assert_int_equal(fab_source_next(s, 1, out, &got), FAB_OK);
    assert_true(got == 1 && out[0] == 5 && out[1] == 6);
    assert_int_equal(fab_source_skip(s, 3), FAB_BAD_DATA);
    assert_string_equal(fab_detail(), "rows.csv: cannot pass over 3 rows: it has only 0 more");
    fab_source_close(s);
}

static fab_status read_kept(const char *list, double *out, int64_t *rows)
{
    static const char text[] = "a b\n0 0\n1 10\n2 x\n3 30\n4 40\n";
    const fab_source_options o = {.format = FAB_FORMAT_AUTO, .rows = in_folder("keep.txt")};
    put_bytes(in_folder("keep.txt"), list, strlen(list));
    return read_memory(text, sizeof text - 1, &o, 5, out, rows);
}

static void only_listed_rows_are_kept_in_the_order_of_the_file(void **state)
{
    (void)state;
    double out[MANY];
    int64_t rows;
    assert_int_equal(read_kept("4\n0\n3\n", out, &rows), FAB_OK);
    assert_int_equal(rows, 3);
    const double kept[] = {0, 0, 3, 30, 4, 40};
    assert_memory_equal(out, kept, sizeof kept);
    assert_int_equal(read_kept("1", out, &rows), FAB_OK);
    assert_int_equal(rows, 1);
    assert_true(out[0] == 1 && out[1] == 10);
}

static void a_bad_list_of_rows_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1\n3\n1\n", "row 1 stands there twice"},
        {"1\n-3\n", "line 2: -3 is not a row number"},
        {"1\n2.5\n", "line 2: 2.5 is not a row number"},
        {"row\n2\n", "line 1: 'row' is not a row number"},
        {"1\nx\n", "line 2, column 1: 'x' is not a number"},
        {"1 2\n", "has 2 columns; one row number per line is expected"},
        {"", "is empty"},
        {"3\n7\n", "row 7 is out of range: rows.csv has 5 rows"},
        {"5\n", "row 5 is out of range: rows.csv has 5 rows"}};
    double out[MANY];
    int64_t rows;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_kept(cases[i][0], out, &rows), FAB_BAD_DATA);
        assert_detail("keep.txt", cases[i][1]);
    }
    assert_int_equal(read_kept("2\n", out, &rows), FAB_BAD_DATA);
    assert_detail("rows.csv", "line 4, column 2 ('b'): 'x' is not a number");
    fab_source *s;
    const fab_source_options both = {.format = FAB_FORMAT_AUTO, .rows = "-"};
    assert_int_equal(fab_source_open(&s, "-", &both), FAB_BAD_ARGUMENT);
    assert_detail("rows", "standard input is already the data");
}

/* Run `work` with the bytes on standard input, written in pieces by another process. */
static void with_standard_input(const char *text, size_t piece, void (*work)(void))
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        close(ends[0]);
        for (size_t i = 0, n = strlen(text); i < n; i += piece)
            if (write(ends[1], text + i, n - i < piece ? n - i : piece) < 0) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    const int before = dup(STDIN_FILENO);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    work();
    if (before >= 0) dup2(before, STDIN_FILENO);
    if (before >= 0) close(before);
    int code;
    assert_int_equal(waitpid(writer, &code, 0), writer);
    assert_int_equal(code, 0);
}

static void read_six(void)
{
    fab_source *s;
    double out[MANY];
    int64_t rows, done, total;
    if (fab_source_open(&s, "-", NULL) != FAB_OK) fail_msg("%s", fab_detail());
    fab_source_position(s, &done, &total);
    assert_int_equal(total, 0);
    assert_int_equal(drain(s, out, &rows), FAB_OK);
    assert_int_equal(rows, 2);
    assert_memory_equal(out, six, sizeof six);
}

static void read_sparse(void)
{
    fab_source *s;
    assert_int_equal(fab_source_open(&s, "-", NULL), FAB_BAD_ARGUMENT);
    assert_string_equal(fab_detail(),
                        "standard input: is a pipe, read only once: say how many features "
                        "its rows have");
}

static void read_two_features(void)
{
    fab_source *s;
    double out[MANY];
    int64_t rows;
    const fab_source_options two = {.format = FAB_FORMAT_AUTO, .features = 2};
    assert_int_equal(fab_source_open(&s, "-", &two), FAB_OK);
    assert_int_equal(drain(s, out, &rows), FAB_OK);
    const double dense[] = {1, 0, 2};
    assert_int_equal(rows, 1);
    assert_memory_equal(out, dense, sizeof dense);
}

static void refuse_third(void)
{
    fab_source *s;
    double out[MANY];
    int64_t rows;
    assert_int_equal(fab_source_open(&s, "-", NULL), FAB_OK);
    assert_int_equal(drain(s, out, &rows), FAB_BAD_DATA);
    assert_string_equal(fab_detail(), "standard input: line 3, column 2: 'c' is not a number");
}

static void standard_input_is_read_as_it_comes(void **state)
{
    (void)state;
    with_standard_input("1,-2.385,3e5\n4,.5,6\n", 1, read_six);
    with_standard_input("1 -2.385 3e5\n4 .5 6", 100, read_six);
    with_standard_input("1 2:2\n", 100, read_sparse);
    with_standard_input("1 2:2\n", 2, read_two_features);
    with_standard_input("1,2\n3,4\n5,c\n", 3, refuse_third);
}

/* A file on standard input that has been read in part starts where it stands, and can be read twice. */
static void standard_input_from_a_file_starts_where_it_stands(void **state)
{
    (void)state;
    put_bytes(in_folder("a.txt"), "skip\n7 1:5 2:6\n", 15);
    const int before = dup(STDIN_FILENO), file = open(in_folder("a.txt"), O_RDONLY);
    assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(lseek(STDIN_FILENO, 5, SEEK_SET), 5);
    fab_source *s;
    double out[MANY];
    int64_t rows, done, total;
    assert_int_equal(fab_source_open(&s, "-", NULL), FAB_OK);
    fab_source_position(s, &done, &total);
    assert_int_equal(total, 10);
    assert_int_equal(fab_source_columns(s), 3);
    assert_int_equal(drain(s, out, &rows), FAB_OK);
    assert_true(rows == 1 && out[0] == 7 && out[2] == 6);
    if (before >= 0) dup2(before, STDIN_FILENO);
    if (before >= 0) close(before);
    close(file);
}

/* ---- many rows and long lines ------------------------------------------------------------------ */

static void every_window_gives_the_same_rows(void **state)
{
    (void)state;
    enum { ROWS = 41, D = 29 };
    double x[ROWS * D], out[MANY];
    char *text = malloc(ROWS * D * 32);
    size_t n = 0, m;
    fab_random_uniform(2385, FAB_PURPOSE_DATA, 4, 0, ROWS * D, x);
    for (int i = 0; i < ROWS * D; i++)
        n += (size_t)sprintf(text + n, "%.17g%s", x[i] - 0.5, (i + 1) % D ? "," : "\r\n");
    for (int i = 0; i < ROWS * D; i++) x[i] = x[i] - 0.5;
    unsigned char *gz = compress_bytes(text, n, &m);
    for (size_t room = 2; room < 3000; room += 1 + room / 7) {
        int64_t rows;
        assert_int_equal(read_memory(text, n, NULL, room, out, &rows), FAB_OK);
        assert_int_equal(rows, ROWS);
        assert_memory_equal(out, x, sizeof x);
        memset(out, 0, sizeof out);
        assert_int_equal(read_memory(gz, m, NULL, room, out, &rows), FAB_OK);
        assert_memory_equal(out, x, sizeof x);
    }
    free(text);
    free(gz);
}

/* The window grows to the longest line and not to the file. */
static void memory_is_bounded_by_the_longest_line(void **state)
{
    (void)state;
    enum { ROWS = 2000 };
    char *text = malloc(ROWS * 64);
    size_t n = 0;
    for (int i = 0; i < ROWS; i++) n += (size_t)sprintf(text + n, "%d,%d.25,-1.5e-3\n", i, i);
    fab_source *s;
    double out[3];
    int64_t got = 1;
    assert_int_equal(fab_source_open_memory(&s, "rows.csv", text, n, NULL, 2), FAB_OK);
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(fab_source_next(s, 1, out, &got), FAB_OK);
        assert_true(got == 1 && out[0] == i && out[1] == i + 0.25);
    }
    assert_true(s->in.room < 512); /* ten lines were looked at to know the format */
    fab_source_close(s);
    free(text);
}

/* ---- memory ------------------------------------------------------------------------------------ */

static const char *work_text;
static size_t work_size;
static const char *work_rows;

static fab_status open_and_read(void)
{
    const fab_source_options o = {.format = FAB_FORMAT_AUTO, .rows = work_rows};
    fab_source *s;
    fab_status status = fab_source_open_memory(&s, "rows.csv", work_text, work_size, &o, 2);
    double out[64];
    int64_t got;
    if (status == FAB_OK && !fab_source_name(s, 0)) status = FAB_NO_MEMORY;
    if (status == FAB_OK) status = fab_source_next(s, 4, out, &got);
    fab_source_close(s);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    size_t n;
    const char *texts[] = {"a,b\n1,2\n3,4\n", "1 2:3\n4 5:6\n", "1 2 3\n4 5 6\n"};
    put_bytes(in_folder("keep.txt"), "1\n0\n", 4);
    for (int i = 0; i < 6; i++) {
        work_text = texts[i % 3];
        work_size = strlen(work_text);
        work_rows = i < 3 ? NULL : in_folder("keep.txt");
        assert_true(fail_every_allocation(open_and_read) > 4);
    }
    unsigned char *gz = compress_bytes(texts[0], strlen(texts[0]), &n);
    work_text = (const char *)gz;
    work_size = n;
    assert_true(fail_every_allocation(open_and_read) > 6);
    free(gz);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_at_the_edges_are_those_of_strtod),
        TEST(a_digit_beyond_the_767th_decides_a_tie),
        TEST(many_zeros_and_a_large_exponent_cancel),
        TEST(random_numbers_are_those_of_strtod),
        TEST(numbers_next_to_ties_are_those_of_strtod),
        TEST(what_is_no_number_is_not_read_as_one),
        TEST(numbers_do_not_depend_on_the_locale),
        TEST(csv_reads_back),
        TEST(tsv_reads_back),
        TEST(text_reads_back),
        TEST(libsvm_reads_back_as_dense_rows),
        TEST(libsvm_ignores_and_counts_features_that_were_not_asked_for),
        TEST(npy_reads_back),
        TEST(npy_in_fortran_order_is_read_by_rows),
        TEST(bad_npy_in_fortran_order_is_refused),
        TEST(a_long_npy_row_reads_back),
        TEST(idx_reads_back_flattened),
        TEST(formats_have_names),
        TEST(gzip_is_known_by_its_bytes),
        TEST(rows_before_damaged_gzip_are_given),
        TEST(gzip_libsvm_is_read_twice),
        TEST(names_come_from_the_header_or_are_made_up),
        TEST(a_first_row_with_missing_values_is_no_header),
        TEST(lines_are_counted_behind_a_header_of_several_lines),
        TEST(a_bad_value_is_refused_with_its_place),
        TEST(a_ragged_row_is_refused),
        TEST(a_file_without_rows_is_refused),
        TEST(bad_libsvm_is_refused),
        TEST(bad_npy_and_idx_are_refused),
        TEST(binary_garbage_is_refused),
        TEST(tables_of_other_programs_are_answered_with_the_line_to_type),
        TEST(files_that_cannot_be_read_are_refused),
        TEST(reading_goes_on_behind_a_bad_row),
        TEST(rows_behind_a_bad_row_keep_their_numbers),
        TEST(skip_passes_rows_and_says_when_there_are_fewer),
        TEST(only_listed_rows_are_kept_in_the_order_of_the_file),
        TEST(a_bad_list_of_rows_is_refused),
        TEST(standard_input_is_read_as_it_comes),
        TEST(standard_input_from_a_file_starts_where_it_stands),
        TEST(every_window_gives_the_same_rows),
        TEST(memory_is_bounded_by_the_longest_line),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
