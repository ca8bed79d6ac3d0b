/* test_npy.c - .npy files: what is written reads back bit for bit, and what is broken is refused.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/npy_header.h"
#include "fabayes/files.h"
#include "files.h"
#include <signal.h>
#include <sys/resource.h>

/* Values whose bits matter: any pattern, NaN and infinities included. */
static void fill(unsigned char *p, size_t n)
{
    uint32_t x = 2385;
    for (size_t i = 0; i < n; i++) p[i] = (unsigned char)((x = x * 1664525u + 1013904223u) >> 24);
}

static void check_round_trip(fab_dtype type, int ndim, int64_t rows, int64_t cols)
{
    const char *path = in_folder("a.npy");
    const size_t bytes = (size_t)(rows * cols) * (type == FAB_F32 ? 4 : 8);
    unsigned char *data = malloc(bytes + 1);
    fill(data, bytes);
    fab_npy a = {data, type, ndim, rows, cols}, b;
    assert_int_equal(fab_npy_write(path, &a), FAB_OK);
    assert_int_equal(fab_npy_read(&b, path), FAB_OK);
    assert_int_equal(b.type, type);
    assert_int_equal(b.ndim, ndim);
    assert_int_equal(b.rows, rows);
    assert_int_equal(b.cols, cols);
    assert_non_null(b.data);
    assert_memory_equal(b.data, data, bytes);
    fab_npy_free(&b);
    assert_null(b.data);

    size_t n;
    char *file = get_bytes(path, &n);
    assert_int_equal(n, 128 + bytes);
    assert_int_equal(fab_npy_parse(&b, "memory", file, n), FAB_OK);
    assert_memory_equal(b.data, data, bytes);
    fab_npy_free(&b);
    free(file);
    free(data);
}

static void what_is_written_reads_back_bit_for_bit(void **state)
{
    (void)state;
    const int64_t sizes[] = {0, 1, 2, 3, 29, 64, 257};
    for (int i = 0; i < 7; i++)
        for (int t = 0; t < 2; t++) {
            check_round_trip(t ? FAB_F32 : FAB_F64, 1, sizes[i], 1);
            for (int j = 0; j < 7; j++)
                check_round_trip(t ? FAB_F32 : FAB_F64, 2, sizes[i], sizes[j]);
        }
    assert_int_equal(count_files(), 1);
}

static void pieces_equal_the_whole(void **state)
{
    (void)state;
    double x[29 * 7];
    fill((unsigned char *)x, sizeof x);
    const char *whole = in_folder("whole.npy"), *pieces = in_folder("pieces.npy");
    assert_int_equal(fab_npy_write(whole, &(fab_npy){x, FAB_F64, 2, 29, 7}), FAB_OK);
    fab_npy_writer *w;
    assert_int_equal(fab_npy_open(&w, pieces, FAB_F64, 29, 7), FAB_OK);
    for (int64_t i = 0, n = 0; i < 29 * 7; i += n) {
        n = i % 11 + 1; /* pieces that end within rows */
        if (n > 29 * 7 - i) n = 29 * 7 - i;
        assert_int_equal(fab_npy_append(w, x + i, n), FAB_OK);
        assert_int_equal(access(pieces, F_OK), -1); /* not there before close */
    }
    assert_int_equal(fab_npy_close(w), FAB_OK);
    size_t n, m;
    char *a = get_bytes(whole, &n), *b = get_bytes(pieces, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

/* ---- headers ---------------------------------------------------------------------------------------- */

/* A file of the given version, dictionary and number of data bytes.  Returns its size. */
static size_t make_file(char *file, int version, const char *dictionary, size_t bytes)
{
    const size_t n = strlen(dictionary), start = version == 1 ? 10 : 12;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)version;
    file[7] = 0;
    memset(file + 8, 0, 4);
    file[8] = (char)(n & 0xff);
    file[9] = (char)(n >> 8);
    memcpy(file + start, dictionary, n);
    fill((unsigned char *)file + start + n, bytes);
    return start + n + bytes;
}

#define GOOD "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"

static void every_version_and_spelling_is_read(void **state)
{
    (void)state;
    static const char *const same[] = {
        GOOD,
        GOOD "   \n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3,)}\n",
        "{\"shape\":(2,3),\"descr\":\"<f8\",\"fortran_order\":False}",
        " { 'fortran_order' : False , 'shape' : ( 2 , 3 ) , 'descr' : '<f8' , } \n",
    };
    char file[512];
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        for (int version = 1; version <= 3; version++) {
            fab_npy a;
            const size_t n = make_file(file, version, same[i], 48);
            assert_int_equal(fab_npy_parse(&a, "a.npy", file, n), FAB_OK);
            assert_int_equal(a.rows, 2);
            assert_int_equal(a.cols, 3);
            assert_memory_equal(a.data, file + n - 48, 48);
            fab_npy_free(&a);
        }
}

static void a_broken_dictionary_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary, *reason;
    } broken[] = {
        {"{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", "np.ascontiguousarray"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "the shape is ();"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3), }",
         "the shape is (1, 2, 3);"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (6), }", "not understood near ', }"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (,), }", "not understood near ',)"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2 3), }", "not understood near '3)"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 3), }", "not understood near '-2"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3.0), }",
         "not understood near '.0"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3", "not understood near ''"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': [2, 3], }", "not understood near '[2"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 1), }",
         "too large"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808, 0), }",
         "too large"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
         "too large"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999, 1), }",
         "too large"},
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (2, 3), }", "of type >f8"},
        {"{'descr': '=f8', 'fortran_order': False, 'shape': (2, 3), }", "of type =f8"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }", "of type <i8"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", "of type |O"},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 3), }", "of type [('a'"},
        {"{'descr': 3, 'fortran_order': False, 'shape': (2, 3), }", "of type 3"},
        {"{'descr': '<f8, 'fortran_order': False, 'shape': (2, 3), }", "of type <f8, "},
        {"{'descr': '<f8', 'fortran_order': Falsy, 'shape': (2, 3), }",
         "not understood near 'Falsy"},
        {"{'descr': '<f8', 'fortran_order': False, }", "no entry 'shape'"},
        {"{'descr': '<f8', 'shape': (2, 3), }", "no entry 'fortran_order'"},
        {"{'fortran_order': False, 'shape': (2, 3), }", "no entry 'descr'"},
        {"{'descr': '<f8', 'descr': '<f4', 'fortran_order': False, 'shape': (6,), }",
         "second entry"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", "unknown entry 'x'"},
        {"{'descr': '<f8' 'fortran_order': False, 'shape': (2, 3), }",
         "not understood near ''fortran"},
        {"{'descr' '<f8', 'fortran_order': False, 'shape': (2, 3), }", "not understood near ''<f8"},
        {"{'des\\x63r': '<f8', 'fortran_order': False, 'shape': (2, 3), }", "not understood"},
        {"{, 'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", "not understood near ',"},
        {GOOD " import os", "not understood near 'import os'"},
        {GOOD GOOD, "not understood near '{"},
        {"[]", "not understood near '[]'"},
        {"  ", "not understood near ''"},
    };
    char file[1024];
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        fab_npy a;
        const size_t n = make_file(file, 1, broken[i].dictionary, 48);
        assert_int_equal(fab_npy_parse(&a, "draws.npy", file, n), FAB_BAD_FILE);
        assert_detail("draws.npy: ", broken[i].reason);
        assert_null(a.data);
    }
}

static void a_broken_file_is_refused(void **state)
{
    (void)state;
    char file[512];
    fab_npy a;
    const size_t n = make_file(file, 1, GOOD, 48);
    for (size_t cut = 0; cut < n; cut++) {
        assert_int_equal(fab_npy_parse(&a, "a.npy", file, cut), FAB_BAD_FILE);
        assert_detail("a.npy: ", "is cut short");
    }
    assert_int_equal(fab_npy_parse(&a, "a.npy", file, n - 1), FAB_BAD_FILE);
    assert_detail("a.npy: ", "2 x 3 elements of type f64 take 48 bytes and 47 follow");
    assert_int_equal(fab_npy_parse(&a, "a.npy", file, n + 1), FAB_BAD_FILE);
    assert_detail("a.npy: ", "is too long");
    assert_int_equal(fab_npy_parse(&a, "a.npy", NULL, 0), FAB_BAD_FILE);

    static const struct {
        int at, value;
        const char *reason;
    } change[] = {
        {0, 'X', "is not a .npy file"}, {5, 'X', "is not a .npy file"},
        {6, 0, "version 0.0"},          {6, 4, "version 4.0"},
        {7, 1, "version 1.1"},          {8, 1, "of 1 bytes is not believed"},
    };
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        make_file(file, 1, GOOD, 48);
        file[change[i].at] = (char)change[i].value;
        assert_int_equal(fab_npy_parse(&a, "a.npy", file, n), FAB_BAD_FILE);
        assert_detail("a.npy: ", change[i].reason);
    }
    make_file(file, 2, GOOD, 48);
    file[11] = (char)0xff; /* four thousand million bytes of header */
    assert_int_equal(fab_npy_parse(&a, "a.npy", file, n + 2), FAB_BAD_FILE);
    assert_detail("a.npy: ", "not believed");
}

static void odd_bytes_do_not_reach_the_sentence(void **state)
{
    (void)state;
    char file[512];
    fab_npy a;
    const size_t n = make_file(file, 1, "{'\033[31mred\n': 1}", 0);
    assert_int_equal(fab_npy_parse(&a, "a.npy", file, n), FAB_BAD_FILE);
    assert_detail("a.npy: ", "unknown entry '?[31mred?'");
}

static void the_header_is_read_from_a_stream_in_two_steps(void **state)
{
    (void)state;
    char file[FAB_NPY_WRITTEN];
    fab_npy_header h;
    size_t size;
    fab_npy_header_print(file, FAB_F32, 2, INT64_MAX / 8 / 3, 3);
    assert_true(fab_npy_is_npy(file));
    assert_int_equal(fab_npy_header_size(&size, "-", file), FAB_OK);
    assert_int_equal(size, FAB_NPY_WRITTEN);
    assert_int_equal(file[size - 1], '\n');
    assert_int_equal(fab_npy_header_parse(&h, "-", file, size), FAB_OK);
    assert_int_equal(h.type, FAB_F32);
    assert_int_equal(h.ndim, 2);
    assert_int_equal(h.rows, INT64_MAX / 8 / 3);
    assert_int_equal(h.cols, 3);
    assert_int_equal(h.offset, size);
    assert_int_equal(h.bytes, (size_t)(h.rows * h.cols) * 4);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(fab_npy_header_parse(&h, "-", file, cut), FAB_BAD_FILE);
}

/* ---- files that cannot be ----------------------------------------------------------------------------- */

static void a_file_that_is_none_is_refused(void **state)
{
    (void)state;
    fab_npy a;
    assert_int_equal(fab_npy_read(&a, in_folder("none.npy")), FAB_BAD_FILE);
    assert_detail("none.npy: ", "No such file");
    assert_int_equal(fab_npy_read(&a, folder), FAB_BAD_FILE);
    assert_detail(folder, "is a folder");
    assert_int_equal(fab_npy_read(&a, "/dev/null"), FAB_BAD_FILE);
    assert_detail("/dev/null", "not a regular file");
    assert_null(a.data);
}

static void a_wrong_call_is_refused(void **state)
{
    (void)state;
    double x[6] = {0};
    const char *path = in_folder("a.npy");
    static const struct {
        fab_npy a;
        const char *reason;
    } wrong[] = {
        {{NULL, FAB_I64, 2, 2, 3}, "not i64"},
        {{NULL, FAB_F64, 3, 2, 3}, "not 3"},
        {{NULL, FAB_F64, 0, 2, 3}, "not 0"},
        {{NULL, FAB_F64, 2, -2, 3}, "-2 x 3"},
        {{NULL, FAB_F64, 2, INT64_MAX / 8, 2}, "cannot be written"},
        {{NULL, FAB_F64, 2, 2, 3}, "are NULL"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(fab_npy_write(path, &wrong[i].a), FAB_BAD_ARGUMENT);
        assert_detail("a.npy: ", wrong[i].reason);
    }
    fab_npy_writer *w;
    assert_int_equal(fab_npy_open(&w, path, FAB_F64, 2, 3), FAB_OK);
    assert_int_equal(fab_npy_append(w, x, 5), FAB_OK);
    assert_int_equal(fab_npy_append(w, x, 2), FAB_BAD_ARGUMENT);
    assert_detail("a.npy: ", "2 more elements came");
    assert_int_equal(fab_npy_append(w, x, -1), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_npy_close(w), FAB_BAD_ARGUMENT);
    assert_detail("a.npy: ", "5 of 2 x 3 elements came");
    assert_int_equal(fab_npy_open(&w, path, FAB_F64, 2, 3), FAB_OK);
    fab_npy_discard(w);
    fab_npy_discard(NULL);
    fab_npy_free(NULL);
    assert_int_equal(count_files(), 0);
}

static const double old_data[3] = {2.385, 29, -1};

/* A failed write of `a` to the old file leaves it as it was and nothing else behind. */
static void check_untouched(const char *reason, const fab_npy *a)
{
    size_t n, m;
    const char *path = in_folder("old.npy");
    assert_int_equal(fab_npy_write(path, &(fab_npy){(void *)old_data, FAB_F64, 1, 3, 1}), FAB_OK);
    char *before = get_bytes(path, &n);
    assert_int_equal(fab_npy_write(path, a), FAB_BAD_FILE);
    assert_detail("old.npy: cannot be written", reason);
    char *after = get_bytes(path, &m);
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
    assert_int_equal(count_files(), 1);
    free(before);
    free(after);
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, old.rlim_max}), 0);
    double *x = calloc(4000, sizeof *x);
    check_untouched("File too large", &(fab_npy){x, FAB_F64, 1, 4000, 1}); /* at a write */
    check_untouched("File too large", &(fab_npy){x, FAB_F64, 1, 500, 1});  /* at the last flush */
    free(x);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
}

static void a_lost_write_is_not_forgotten(void **state)
{
    (void)state;
    struct rlimit old;
    fab_npy_writer *w;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    double *x = calloc(4000, sizeof *x);
    assert_int_equal(fab_npy_open(&w, in_folder("a.npy"), FAB_F64, 1, 4000), FAB_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, old.rlim_max}), 0);
    assert_int_equal(fab_npy_append(w, x, 4000), FAB_BAD_FILE);
    setrlimit(RLIMIT_FSIZE, &old); /* the disk has room again, but bytes are missing */
    assert_int_equal(fab_npy_append(w, x, 4000), FAB_OK);
    assert_int_equal(fab_npy_close(w), FAB_BAD_FILE);
    assert_int_equal(count_files(), 0);
    free(x);
    signal(SIGXFSZ, handler);
}

static void a_target_that_is_no_file_is_refused(void **state)
{
    (void)state;
    const fab_npy a = {(void *)old_data, FAB_F64, 1, 3, 1};
    assert_int_equal(fab_npy_write(folder, &a), FAB_BAD_FILE);
    assert_detail(folder, "cannot be written: is a folder");
    assert_int_equal(fab_npy_write("/dev/null", &a), FAB_BAD_FILE);
    assert_detail("/dev/null", "is not a regular file");
    assert_int_equal(fab_npy_write(in_folder("no/where.npy"), &a), FAB_BAD_FILE);
    assert_detail("no/where.npy", "No such file or directory");
    assert_int_equal(fab_npy_write("", &a), FAB_BAD_FILE);
    assert_detail("", "empty name");
    assert_int_equal(count_files(), 0);
}

static void a_new_file_has_the_permissions_of_the_old(void **state)
{
    (void)state;
    const fab_npy a = {(void *)old_data, FAB_F64, 1, 3, 1};
    const char *path = in_folder("a.npy");
    struct stat st;
    const mode_t mask = umask(027);
    assert_int_equal(fab_npy_write(path, &a), FAB_OK);
    umask(mask);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(chmod(path, 0604), 0);
    assert_int_equal(fab_npy_write(path, &a), FAB_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0604);
}

static void a_link_stays_a_link(void **state)
{
    (void)state;
    const fab_npy a = {(void *)old_data, FAB_F64, 1, 3, 1};
    struct stat st;
    assert_int_equal(symlink("real.npy", in_folder("link.npy")), 0);
    assert_int_equal(fab_npy_write(in_folder("link.npy"), &a), FAB_BAD_FILE); /* leads nowhere */
    assert_int_equal(fab_npy_write(in_folder("real.npy"), &a), FAB_OK);
    assert_int_equal(fab_npy_write(in_folder("link.npy"), &(fab_npy){.type = FAB_F64, .ndim = 1}),
                     FAB_OK);
    assert_int_equal(lstat(in_folder("link.npy"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(in_folder("real.npy"), &st), 0);
    assert_int_equal(st.st_size, 128);
    assert_int_equal(count_files(), 2);
}

static fab_status write_and_read(void)
{
    fab_npy b;
    fab_status s =
        fab_npy_write(in_folder("n.npy"), &(fab_npy){(void *)old_data, FAB_F64, 1, 3, 1});
    if (s == FAB_OK) s = fab_npy_read(&b, in_folder("n.npy"));
    if (s == FAB_OK) fab_npy_free(&b);
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_int_equal(fail_every_allocation(write_and_read), 4);
    assert_int_equal(count_files(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_reads_back_bit_for_bit),
        TEST(pieces_equal_the_whole),
        TEST(every_version_and_spelling_is_read),
        TEST(a_broken_dictionary_is_refused),
        TEST(a_broken_file_is_refused),
        TEST(odd_bytes_do_not_reach_the_sentence),
        TEST(the_header_is_read_from_a_stream_in_two_steps),
        TEST(a_file_that_is_none_is_refused),
        TEST(a_wrong_call_is_refused),
        TEST(a_full_disk_leaves_the_old_file),
        TEST(a_lost_write_is_not_forgotten),
        TEST(a_target_that_is_no_file_is_refused),
        TEST(a_new_file_has_the_permissions_of_the_old),
        TEST(a_link_stays_a_link),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
