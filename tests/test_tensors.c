/* test_tensors.c - safetensors files: what is written reads back bit for bit, and what is broken is
 * refused.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/files.h"
#include "files.h"

static void fill(void *p, size_t n)
{
    uint32_t x = 2385;
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)p)[i] = (unsigned char)((x = x * 1664525u + 1013904223u) >> 24);
}

static size_t bytes_of(const fab_tensor *x)
{
    size_t n = x->type == FAB_F32 ? 4 : 8;
    for (int i = 0; i < x->ndim; i++) n *= (size_t)x->shape[i];
    return n;
}

static void assert_same_tensor(const fab_tensor *a, const fab_tensor *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->ndim, b->ndim);
    assert_memory_equal(a->shape, b->shape, sizeof a->shape);
    assert_memory_equal(a->data, b->data, bytes_of(a));
}

static void assert_same_set(const fab_tensors *a, const fab_tensors *b)
{
    assert_int_equal(fab_tensors_count(a), fab_tensors_count(b));
    for (int64_t i = 0; i < fab_tensors_count(a); i++)
        assert_same_tensor(fab_tensors_at(a, i), fab_tensors_at(b, i));
    assert_int_equal(fab_tensors_meta_count(a), fab_tensors_meta_count(b));
    for (int64_t i = 0; i < fab_tensors_meta_count(a); i++) {
        const char *key = fab_tensors_meta_key(a, i);
        assert_string_equal(key, fab_tensors_meta_key(b, i));
        assert_string_equal(fab_tensors_get(a, key), fab_tensors_get(b, key));
    }
}

/* ---- round trips -------------------------------------------------------------------------------------- */

/* Thirty tensors of all types and 0 to 8 dimensions, named against the alphabet. */
static void add_many(fab_tensors *t, const void *data)
{
    for (int i = 0; i < 30; i++) {
        char name[16];
        int64_t shape[FAB_MAX_DIMS];
        snprintf(name, sizeof name, "z%d", 97 - i);
        for (int k = 0; k < FAB_MAX_DIMS; k++) shape[k] = (i * 7 + k * 3) % 4 + (i % 5 != 4);
        const fab_dtype type = i % 3 == 0 ? FAB_F32 : i % 3 == 1 ? FAB_F64 : FAB_I64;
        assert_int_equal(fab_tensors_add(t, name, type, i % 5, shape, data), FAB_OK);
    }
    const int64_t ones[FAB_MAX_DIMS] = {1, 1, 1, 3, 1, 1, 1, 1};
    assert_int_equal(fab_tensors_add(t, "deep", FAB_F32, FAB_MAX_DIMS, ones, data), FAB_OK);
    assert_int_equal(fab_tensors_add(t, "nothing", FAB_F64, 1, (int64_t[]){0}, NULL), FAB_OK);
}

static void what_is_written_reads_back_bit_for_bit(void **state)
{
    (void)state;
    static unsigned char data[8 * 5 * 5 * 5 * 5];
    const char *path = in_folder("q.safetensors");
    fab_tensors *a, *b;
    fill(data, sizeof data);
    assert_int_equal(fab_tensors_create(&a), FAB_OK);
    add_many(a, data);
    for (int n = 0; n < 70; n++) { /* every length of header, so every padding */
        char value[80] = "";
        memset(value, 'x', (size_t)n);
        assert_int_equal(fab_tensors_set(a, "value", value), FAB_OK);
        assert_int_equal(fab_tensors_write(a, path), FAB_OK);
        assert_int_equal(fab_tensors_read(&b, path), FAB_OK);
        assert_same_set(a, b);
        fab_tensors_free(b);
    }
    fab_tensors_free(a);
    assert_int_equal(count_files(), 1);
}

static void reading_and_writing_again_gives_the_same_file(void **state)
{
    (void)state;
    static unsigned char data[8 * 5 * 5 * 5 * 5];
    fab_tensors *a, *b;
    fill(data, sizeof data);
    assert_int_equal(fab_tensors_create(&a), FAB_OK);
    add_many(a, data);
    assert_int_equal(fab_tensors_set(a, "z", "last of the alphabet, first of the file"), FAB_OK);
    assert_int_equal(fab_tensors_set(a, "a", "\"\\\n\t\x01 \xc3\xa9 \xf0\x9f\x98\x80"), FAB_OK);
    assert_int_equal(fab_tensors_set(a, "", ""), FAB_OK);
    assert_int_equal(fab_tensors_write(a, in_folder("1.safetensors")), FAB_OK);
    assert_int_equal(fab_tensors_read(&b, in_folder("1.safetensors")), FAB_OK);
    assert_same_set(a, b);
    assert_int_equal(fab_tensors_write(b, in_folder("2.safetensors")), FAB_OK);
    size_t n, m;
    char *one = get_bytes(in_folder("1.safetensors"), &n),
         *two = get_bytes(in_folder("2.safetensors"), &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, two, n);
    free(one);
    free(two);
    fab_tensors_free(a);
    fab_tensors_free(b);
}

static void an_empty_set_is_a_file(void **state)
{
    (void)state;
    fab_tensors *t;
    assert_int_equal(fab_tensors_create(&t), FAB_OK);
    assert_int_equal(fab_tensors_write(t, in_folder("q.safetensors")), FAB_OK);
    fab_tensors_free(t);
    assert_int_equal(fab_tensors_read(&t, in_folder("q.safetensors")), FAB_OK);
    assert_int_equal(fab_tensors_count(t), 0);
    assert_int_equal(fab_tensors_meta_count(t), 0);
    assert_null(fab_tensors_at(t, 0));
    assert_null(fab_tensors_at(t, -1));
    assert_null(fab_tensors_meta_key(t, 0));
    assert_null(fab_tensors_find(t, "mu"));
    assert_null(fab_tensors_get(t, "form"));
    fab_tensors_free(t);
    fab_tensors_free(NULL);
}

/* A file from a header text and data bytes 0, 1, 2, ...  Returns its size. */
static size_t make_file(char *file, const char *header, size_t bytes)
{
    const uint64_t n = strlen(header);
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    for (size_t i = 0; i < bytes; i++) file[8 + n + i] = (char)i;
    return 8 + n + bytes;
}

static void data_that_lie_crooked_are_straightened(void **state)
{
    (void)state;
    char file[512];
    fab_tensors *t;
    const size_t n = make_file(file,
                               "{\"b\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[4,20]},"
                               "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
                               20);
    for (size_t shift = 0; shift < 8; shift++) {
        char *moved = malloc(n + 8);
        memcpy(moved + shift, file, n);
        assert_int_equal(fab_tensors_parse(&t, "q", moved + shift, n), FAB_OK);
        free(moved); /* nothing is borrowed */
        const fab_tensor *b = fab_tensors_find(t, "b");
        assert_ptr_equal(b, fab_tensors_at(t, 0)); /* the order of the header */
        assert_int_equal((uintptr_t)b->data % 8, 0);
        assert_memory_equal(b->data, file + n - 16, 16);
        assert_memory_equal(fab_tensors_find(t, "a")->data, file + n - 20, 4);
        fab_tensors_free(t);
    }
}

static void our_data_lie_straight_in_the_file(void **state)
{
    (void)state;
    const double x[2] = {2.385, 29};
    fab_tensors *t;
    assert_int_equal(fab_tensors_create(&t), FAB_OK);
    assert_int_equal(fab_tensors_add(t, "f", FAB_F32, 1, (int64_t[]){1}, x), FAB_OK);
    assert_int_equal(fab_tensors_add(t, "d", FAB_F64, 1, (int64_t[]){2}, x), FAB_OK);
    assert_int_equal(fab_tensors_write(t, in_folder("q.safetensors")), FAB_OK);
    fab_tensors_free(t);
    size_t n;
    uint64_t length;
    char *file = get_bytes(in_folder("q.safetensors"), &n);
    memcpy(&length, file, 8);
    assert_int_equal((8 + length) % 64, 0);
    assert_int_equal(n, 8 + length + 20);
    assert_memory_equal(file + 8 + length, x, 16); /* d, though f was added first */
    free(file);
}

/* ---- refusals ----------------------------------------------------------------------------------------- */

#define F64(name, shape, offsets) \
    "\"" name "\":{\"dtype\":\"F64\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void a_broken_header_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header, *reason;
    } broken[] = {
        /* with 16 bytes of data */
        {"", "not a JSON object"},
        {"[]", "not a JSON object"},
        {" {}", "not a JSON object"},
        {"{", "is not JSON"},
        {"{}}", "is not JSON"},
        {"{\"a\":\"\xff\"}", "is not JSON"},
        {"{\"a\":\"\\u0000\"}", "is not JSON"},
        {"{\"a\\u0000\":1}", "is not JSON"},
        {"{" F64("mu", "[1]", "[0,8]") "," F64("mu", "[1]", "[8,16]") "}", "twice"},
        {"{\"mu\":{\"dtype\":\"F64\",\"dtype\":\"F32\"}}", "twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", "twice"},
        {"{\"__metadata__\":3}", "metadata is not an object"},
        {"{\"__metadata__\":{\"n\":29}}", "metadata 'n' is not a string"},
        {"{\"__metadata__\":{\"n\":null}}", "metadata 'n' is not a string"},
        {"{" F64("", "[2]", "[0,16]") "}", "empty name"},
        {"{\"mu\":3}", "tensor 'mu' is not described by an object"},
        {"{\"mu\":{}}", "tensor 'mu' has no dtype"},
        {"{\"mu\":{\"dtype\":8}}", "tensor 'mu' has no dtype"},
        {"{\"mu\":{\"dtype\":\"BF16\",\"shape\":[8],\"data_offsets\":[0,16]}}",
         "'mu' is of dtype BF16"},
        {"{\"mu\":{\"dtype\":\"f64\",\"shape\":[2],\"data_offsets\":[0,16]}}",
         "'mu' is of dtype f64"},
        {"{\"mu\":{\"dtype\":\"F64\",\"data_offsets\":[0,16]}}",
         "shape of tensor 'mu' is not a list"},
        {"{" F64("mu", "2", "[0,16]") "}", "shape of tensor 'mu' is not a list"},
        {"{" F64("mu", "[-2]", "[0,16]") "}", "shape of tensor 'mu' is not a list"},
        {"{" F64("mu", "[2.0]", "[0,16]") "}", "shape of tensor 'mu' is not a list"},
        {"{" F64("mu", "[\"2\"]", "[0,16]") "}", "shape of tensor 'mu' is not a list"},
        {"{" F64("mu", "[99999999999999999999]", "[0,16]") "}", "too big integer"},
        {"{" F64("mu", "[1,1,1,1,1,1,1,1,2]", "[0,16]") "}", "'mu' has 9 dimensions"},
        {"{" F64("mu", "[4611686018427387904,4]", "[0,0]") "}",
         "shape of tensor 'mu' is too large"},
        {"{" F64("mu", "[1152921504606846976]", "[0,0]") "}", "shape of tensor 'mu' is too large"},
        {"{\"mu\":{\"dtype\":\"F64\",\"shape\":[2]}}", "data_offsets of tensor 'mu' are not two"},
        {"{" F64("mu", "[2]", "[16]") "}", "data_offsets of tensor 'mu' are not two"},
        {"{" F64("mu", "[2]", "[0,16,16]") "}", "data_offsets of tensor 'mu' are not two"},
        {"{" F64("mu", "[2]", "[-8,8]") "}", "data_offsets of tensor 'mu' are not two"},
        {"{" F64("mu", "[2]", "[0,16.0]") "}", "data_offsets of tensor 'mu' are not two"},
        {"{" F64("mu", "[2]", "[16,0]") "}", "starts at byte 16 and ends before, at byte 0"},
        {"{" F64("mu", "[3]", "[0,16]") "}", "tensor 'mu' takes 16 bytes but its shape needs 24"},
        {"{" F64("mu", "[3]", "[0,24]") "}",
         "tensor 'mu' ends at byte 24 but the data end at byte 16"},
        {"{" F64("mu", "[]", "[9223372036854775799,9223372036854775807]") "}",
         "but the data end at"},
        {"{" F64("mu", "[1]", "[0,8]") "}",
         "the tensors end at byte 8 but the data end at byte 16"},
        {"{}", "the tensors end at byte 0 but the data end at byte 16"},
        {"{" F64("mu", "[1]", "[8,16]") "}", "a gap: bytes 0 to 8 before tensor 'mu'"},
        {"{" F64("a", "[1]", "[0,8]") "," F64("b", "[2]", "[0,16]") "}",
         "'b' starts at byte 0 and overlaps"},
        {"{" F64("a", "[2]", "[0,16]") "," F64("b", "[1]", "[8,16]") "}",
         "'b' starts at byte 8 and overlaps"},
        {"{" F64("a", "[2]", "[0,16]") "," F64("b", "[0]", "[8,8]") "}",
         "'b' starts at byte 8 and overlaps"},
        {"{" F64("\\u001b[31m", "[3]", "[0,16]") "}", "tensor '?[31m' takes"},
    };
    char file[512];
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        fab_tensors *t = (fab_tensors *)file;
        const size_t n = make_file(file, broken[i].header, 16);
        assert_int_equal(fab_tensors_parse(&t, "q.safetensors", file, n), FAB_BAD_FILE);
        assert_detail("q.safetensors: ", broken[i].reason);
        assert_null(t);
    }
}

static void empty_tensors_may_stand_anywhere_between_others(void **state)
{
    (void)state;
    char file[512];
    fab_tensors *t;
    const size_t n = make_file(file,
                               "{" F64("c", "[0]", "[16,16]") "," F64("b", "[1]", "[8,16]") "," F64(
                                   "a", "[3,0]", "[8,8]") "," F64("d", "[]", "[0,8]") "}",
                               16);
    assert_int_equal(fab_tensors_parse(&t, "q", file, n), FAB_OK);
    assert_int_equal(fab_tensors_count(t), 4);
    assert_string_equal(fab_tensors_at(t, 0)->name, "c");
    assert_int_equal(fab_tensors_find(t, "a")->shape[0], 3);
    fab_tensors_free(t);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    char file[512];
    const size_t n = make_file(file, "{" F64("mu", "[2]", "[0,16]") "}", 16);
    for (size_t cut = 0; cut < n; cut++) {
        fab_tensors *t;
        char *part = malloc(cut + 1); /* so that reading past the end is seen */
        memcpy(part, file, cut);
        assert_int_equal(fab_tensors_parse(&t, "q.safetensors", part, cut), FAB_BAD_FILE);
        assert_detail("q.safetensors: ", cut < n - 16 ? "is cut short" : "but the data end at");
        free(part);
    }
}

static void an_absurd_header_length_is_refused(void **state)
{
    (void)state;
    static const uint64_t absurd[] = {100000001, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX};
    char file[64] = {0};
    fab_tensors *t;
    for (int i = 0; i < 4; i++) {
        memcpy(file, &absurd[i], 8);
        assert_int_equal(fab_tensors_parse(&t, "q.safetensors", file, sizeof file), FAB_BAD_FILE);
        assert_detail("q.safetensors: ", "is not believed");
    }
}

static void a_file_that_is_none_is_refused(void **state)
{
    (void)state;
    fab_tensors *t;
    assert_int_equal(fab_tensors_read(&t, in_folder("none.safetensors")), FAB_BAD_FILE);
    assert_detail("none.safetensors: ", "No such file");
    assert_int_equal(fab_tensors_read(&t, folder), FAB_BAD_FILE);
    assert_detail(folder, "is a folder");
    put_bytes(in_folder("text.safetensors"), "mu,psi\n1,2\n", 11);
    assert_int_equal(fab_tensors_read(&t, in_folder("text.safetensors")), FAB_BAD_FILE);
    assert_detail("text.safetensors: ", "is this a safetensors file?");
    assert_null(t);
}

static void a_wrong_call_is_refused(void **state)
{
    (void)state;
    const double x[2] = {0};
    const int64_t two[FAB_MAX_DIMS + 1] = {2, 1, 1, 1, 1, 1, 1, 1, 1}, negative = -1;
    const int64_t huge[2] = {INT64_MAX / 2, 3};
    fab_tensors *t;
    assert_int_equal(fab_tensors_create(&t), FAB_OK);
    assert_int_equal(fab_tensors_add(t, "mu", FAB_F64, 1, two, x), FAB_OK);
    const struct {
        const char *name;
        fab_dtype type;
        int ndim;
        const int64_t *shape;
        const void *data;
        const char *reason;
    } wrong[] = {
        {"mu", FAB_F64, 1, two, x, "tensor 'mu' is there already"},
        {"", FAB_F64, 1, two, x, "empty name"},
        {NULL, FAB_F64, 1, two, x, "empty name"},
        {"__metadata__", FAB_F64, 1, two, x, "cannot be named '__metadata__'"},
        {"\xff", FAB_F64, 1, two, x, "is not UTF-8"},
        {"F", FAB_BOOL, 1, two, x, "its type is not f64, f32 or i64"},
        {"F", FAB_F64, FAB_MAX_DIMS + 1, two, x, "9 dimensions"},
        {"F", FAB_F64, -1, two, x, "-1 dimensions"},
        {"F", FAB_F64, 1, &negative, x, "negative or too large"},
        {"F", FAB_F64, 2, huge, x, "negative or too large"},
        {"F", FAB_F64, 1, two, NULL, "its data are NULL"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(fab_tensors_add(t, wrong[i].name, wrong[i].type, wrong[i].ndim,
                                         wrong[i].shape, wrong[i].data),
                         FAB_BAD_ARGUMENT);
        assert_detail("", wrong[i].reason);
    }
    assert_int_equal(fab_tensors_set(t, "\xff", "x"), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_tensors_set(t, "x", "\xc3"), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_tensors_set(t, "x", NULL), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_tensors_count(t), 1);
    assert_int_equal(fab_tensors_meta_count(t), 0);
    fab_tensors_free(t);
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    fab_tensors *t;
    size_t n;
    assert_int_equal(fab_tensors_create(&t), FAB_OK);
    put_bytes(in_folder("old"), "as it was", 9);
    assert_int_equal(fab_tensors_write(t, in_folder("old/q.safetensors")), FAB_BAD_FILE);
    assert_detail("old/q.safetensors: cannot be written", "Not a directory");
    assert_int_equal(fab_tensors_write(t, in_folder("none/q.safetensors")), FAB_BAD_FILE);
    assert_detail("none/q.safetensors: cannot be written", "No such file");
    assert_int_equal(fab_tensors_write(t, folder), FAB_BAD_FILE);
    char *bytes = get_bytes(in_folder("old"), &n);
    assert_int_equal(n, 9);
    assert_memory_equal(bytes, "as it was", 9);
    assert_int_equal(count_files(), 1);
    free(bytes);
    fab_tensors_free(t);
}

static void what_is_lent_stays_good_while_the_set_grows(void **state)
{
    (void)state;
    const double x = 2.385;
    fab_tensors *t;
    assert_int_equal(fab_tensors_create(&t), FAB_OK);
    assert_int_equal(fab_tensors_add(t, "mu", FAB_F64, 0, NULL, &x), FAB_OK);
    assert_int_equal(fab_tensors_set(t, "form", "precision"), FAB_OK);
    const fab_tensor *mu = fab_tensors_find(t, "mu");
    const char *form = fab_tensors_get(t, "form");
    for (int i = 0; i < 100; i++) {
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(fab_tensors_add(t, name, FAB_F64, 0, NULL, &x), FAB_OK);
        assert_int_equal(fab_tensors_set(t, name, name), FAB_OK);
    }
    assert_ptr_equal(fab_tensors_find(t, "mu"), mu);
    assert_ptr_equal(fab_tensors_get(t, "form"), form);
    assert_string_equal(mu->name, "mu");
    assert_string_equal(form, "precision");
    assert_int_equal(fab_tensors_set(t, "form", "point"), FAB_OK);
    assert_string_equal(fab_tensors_get(t, "form"), "point");
    assert_string_equal(fab_tensors_meta_key(t, 0), "form"); /* in its old place */
    assert_int_equal(fab_tensors_meta_count(t), 101);
    fab_tensors_free(t);
}

static fab_status build_write_and_read(void)
{
    static const double x[2] = {2.385, 29};
    fab_tensors *t, *u = NULL;
    fab_status s = fab_tensors_create(&t);
    if (s != FAB_OK) return s;
    s = fab_tensors_add(t, "mu", FAB_F64, 1, (int64_t[]){2}, x);
    if (s == FAB_OK) s = fab_tensors_add(t, "F", FAB_F32, 2, (int64_t[]){3, 1}, x);
    if (s == FAB_OK) s = fab_tensors_set(t, "form", "point");
    if (s == FAB_OK) s = fab_tensors_set(t, "form", "precision");
    if (s == FAB_OK) s = fab_tensors_write(t, in_folder("n.safetensors"));
    if (s == FAB_OK) s = fab_tensors_read(&u, in_folder("n.safetensors"));
    fab_tensors_free(t);
    fab_tensors_free(u);
    return s;
}

static fab_status parse_crooked(void)
{
    char file[512];
    fab_tensors *t;
    const size_t n =
        make_file(file,
                  "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}," F64(
                      "b", "[2]", "[4,20]") "}",
                  20);
    const fab_status s = fab_tensors_parse(&t, "q", file, n);
    if (s == FAB_OK)
        fab_tensors_free(t);
    else
        assert_null(t);
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(build_write_and_read) > 15);
    assert_int_equal(count_files(), 1);
    assert_int_equal(fail_every_allocation(parse_crooked), 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_reads_back_bit_for_bit),
        TEST(reading_and_writing_again_gives_the_same_file),
        TEST(an_empty_set_is_a_file),
        TEST(data_that_lie_crooked_are_straightened),
        TEST(our_data_lie_straight_in_the_file),
        TEST(a_broken_header_is_refused),
        TEST(empty_tensors_may_stand_anywhere_between_others),
        TEST(a_file_cut_anywhere_is_refused),
        TEST(an_absurd_header_length_is_refused),
        TEST(a_file_that_is_none_is_refused),
        TEST(a_wrong_call_is_refused),
        TEST(a_failed_write_leaves_the_old_file),
        TEST(what_is_lent_stays_good_while_the_set_grows),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
