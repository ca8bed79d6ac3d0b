/* test_base.c - statuses, memory, hooks, vectors that come in, random numbers with an address.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/fail.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/text.h"
#include "dense.h"
#include "fabayes/settings.h"
#include <pthread.h>

/* ---- statuses and details ---------------------------------------------------------------------- */

static void every_status_has_a_phrase(void **state)
{
    (void)state;
    for (int s = FAB_OK; s <= FAB_STOPPED; s++) {
        assert_true(strlen(fab_strerror((fab_status)s)) > 3);
        for (int t = FAB_OK; t < s; t++)
            assert_string_not_equal(fab_strerror((fab_status)s), fab_strerror((fab_status)t));
    }
    assert_string_equal(fab_strerror((fab_status)99), "unknown status");
    assert_string_equal(fab_strerror((fab_status)-1), "unknown status");
}

static void *fail_elsewhere(void *arg)
{
    char *seen = arg;
    strcpy(seen, fab_detail()); /* nothing has failed here yet */
    FAB_FAIL(FAB_NUMERIC, "the other thread: %d", 29);
    strcpy(seen + 256, fab_detail());
    return NULL;
}

static void a_detail_belongs_to_its_thread(void **state)
{
    (void)state;
    char seen[512] = "unset";
    pthread_t t;
    assert_int_equal(FAB_FAIL(FAB_BAD_DATA, "this thread: %g", 2.385), FAB_BAD_DATA);
    assert_int_equal(pthread_create(&t, NULL, fail_elsewhere, seen), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
    assert_string_equal(seen, "");
    assert_string_equal(seen + 256, "the other thread: 29");
    assert_string_equal(fab_detail(), "this thread: 2.385");
}

static void a_prefix_goes_before_the_sentence(void **state)
{
    (void)state;
    FAB_FAIL(FAB_BAD_DATA, "psi[2] = 0");
    assert_int_equal(fab_prefix(FAB_BAD_FILE, "%s: ", "q.safetensors"), FAB_BAD_FILE);
    assert_string_equal(fab_detail(), "q.safetensors: psi[2] = 0");
    FAB_FAIL(FAB_BAD_DATA, "again: %s", fab_detail()); /* an argument that is the old detail */
    assert_string_equal(fab_detail(), "again: q.safetensors: psi[2] = 0");
}

static void a_sentence_gets_a_name_that_it_is_not_about(void **state)
{
    (void)state;
    static const struct {
        const char *format, *name, *said;
    } all[] = {{"%s: row 3", "a.csv", "a.csv: row 3"},
               {"%s:7: row 3", "a.csv", "a.csv:7: row 3"},
               {"a.csv: row 3", "a.csv", "a.csv: row 3"},
               {"arrays: row 3 of %s", "arrays", "arrays: row 3 of a.csv"},
               {"%s: row 3", "b.csv", "b.csv: a.csv: row 3"},
               {"%s: row 3", "a", "a: a.csv: row 3"},
               {"%s is no table: none", "a.csv", "a.csv: a.csv is no table: none"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int twice = 0; twice < 2; twice++) {
            fab_sentence kept;
            fab_fail(FAB_BAD_DATA, all[i].format, "a.csv");
            if (twice) fab_about(all[i].name, FAB_BAD_DATA);
            fab_sentence_keep(&kept);
            FAB_FAIL(FAB_NUMERIC, "another");
            assert_int_equal(fab_sentence_raise(FAB_BAD_DATA, &kept), FAB_BAD_DATA);
            assert_int_equal(fab_about(all[i].name, FAB_BAD_DATA), FAB_BAD_DATA);
            assert_string_equal(fab_detail(), all[i].said);
            assert_int_equal(fab_about(NULL, FAB_BAD_DATA), FAB_BAD_DATA);
            assert_int_equal(fab_about("c.csv", FAB_STOPPED), FAB_STOPPED);
            assert_int_equal(fab_about("c.csv", FAB_OK), FAB_OK);
            assert_string_equal(fab_detail(), all[i].said);
        }
}

static void words_behind_a_sentence_leave_whom_it_is_about(void **state)
{
    (void)state;
    FAB_FAIL(FAB_BAD_DATA, "%s: row 3", "a.csv");
    FAB_FAIL(FAB_BAD_DATA, "%s, of the target", fab_detail());
    assert_int_equal(fab_about("a.csv", FAB_BAD_DATA), FAB_BAD_DATA);
    assert_string_equal(fab_detail(), "a.csv: row 3, of the target");
    fab_about("b.csv", FAB_BAD_DATA);
    assert_string_equal(fab_detail(), "b.csv: a.csv: row 3, of the target");
}

static void long_sentences_are_cut_and_stay_strings(void **state)
{
    (void)state;
    char big[3000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    FAB_FAIL(FAB_BAD_DATA, "%s", big);
    assert_int_equal(strlen(fab_detail()), 1023);
    FAB_FAIL(FAB_BAD_DATA, "tail");
    fab_prefix(FAB_BAD_DATA, "%.1020s", big);
    assert_int_equal(strlen(fab_detail()), 1023);
    assert_string_equal(fab_detail() + 1020, "tai");
    FAB_FAIL(FAB_BAD_DATA, "tail");
    fab_prefix(FAB_BAD_DATA, "%s", big);
    assert_int_equal(strlen(fab_detail()), 1023);
}

static void the_version_has_three_numbers(void **state)
{
    (void)state;
    int a, b, c;
    assert_int_equal(sscanf(fab_version(), "%d.%d.%d", &a, &b, &c), 3);
}

/* ---- memory ------------------------------------------------------------------------------------ */

static void hooks_count_and_fail(void **state)
{
    (void)state;
    alloc_calls = alloc_held = 0;
    alloc_fails_at = 2;
    fab_set_allocator(counted_alloc, counted_release);
    void *p = fab_alloc(29), *q = fab_alloc(29), *none = fab_alloc(0);
    assert_non_null(p);
    assert_null(q);
    assert_non_null(none); /* no bytes is not a failure */
    assert_int_equal(alloc_held, 2);
    fab_release(p);
    fab_release(q); /* NULL: the hook does not hear of it */
    fab_release(none);
    assert_int_equal(alloc_held, 0);
    assert_int_equal(alloc_calls, 3);
    fab_set_allocator(NULL, NULL);
    p = fab_alloc(29);
    assert_int_equal((uintptr_t)p % 64, 0);
    fab_release(p);
    assert_int_equal(alloc_calls, 3);
}

static void an_impossible_array_says_so(void **state)
{
    (void)state;
    void *p = &p;
    assert_refused(fab_alloc_array(&p, -1, 8, "rows"), FAB_NO_MEMORY, "rows: ");
    assert_null(p);
    p = &p;
    assert_refused(fab_alloc_array(&p, INT64_MAX, 8, "rows"), FAB_NO_MEMORY, "does not fit");
    assert_null(p);
    assert_refused(fab_alloc_array(&p, INT64_MAX / 8, 8, "rows"), FAB_NO_MEMORY, "cannot allocate");
    assert_null(p);
    assert_null(fab_alloc(SIZE_MAX));
}

typedef struct thing {
    int64_t n, m;
    char *a;
    double *b;
    float *c;
} thing;

static void lay_out(fab_layout *l, void *handle)
{
    thing *t = handle;
    t->a = fab_place(l, t->n, 1);
    t->b = fab_place(l, t->m, sizeof *t->b);
    t->c = fab_place(l, t->n, sizeof *t->c);
}

static void a_handle_is_one_aligned_block_of_zeros(void **state)
{
    (void)state;
    const thing proto = {.n = 29, .m = 7};
    thing *t;
    alloc_calls = alloc_held = 0;
    alloc_fails_at = 0;
    fab_set_allocator(counted_alloc, counted_release);
    assert_ok(fab_build((void **)&t, sizeof *t, &proto, lay_out));
    assert_int_equal(alloc_held, 1);
    assert_int_equal(t->n, 29);
    assert_int_equal((uintptr_t)t->a % 64 + (uintptr_t)t->b % 64 + (uintptr_t)t->c % 64, 0);
    assert_true((char *)t->b >= t->a + 29 && (char *)t->c >= (char *)(t->b + 7));
    const size_t size = fab_build_size(sizeof *t, &proto, lay_out);
    assert_true((char *)(t->c + 29) <= (char *)t + size && size < 64 * 8);
    for (int i = 0; i < 29; i++) assert_true(t->a[i] == 0 && !(fabsf(t->c[i]) > 0));
    fab_release(t);
    assert_int_equal(alloc_held, 0);
    fab_set_allocator(NULL, NULL);
}

static void sizes_beyond_memory_are_said_and_not_wrapped(void **state)
{
    (void)state;
    const int64_t bad[] = {-1, INT64_MAX, INT64_MAX / 8, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        const thing proto = {.n = 29, .m = bad[i]};
        thing *t = (thing *)1;
        assert_int_equal(fab_build((void **)&t, sizeof *t, &proto, lay_out), FAB_NO_MEMORY);
        assert_null(t);
    }
    fab_layout l = {NULL, 0};
    fab_place(&l, INT64_MAX, 2); /* SIZE_MAX - 1 bytes: the rounding up does not fit */
    assert_true(l.used == SIZE_MAX);
    assert_null(fab_place(&l, 1, 1)); /* and it stays so */
    assert_true(l.used == SIZE_MAX);
    fab_layout sum = {NULL, 0};
    fab_place(&sum, INT64_MAX, 1);
    fab_place(&sum, INT64_MAX, 1);
    fab_place(&sum, 4096, 1); /* the sum of sizes that fit */
    assert_true(sum.used == SIZE_MAX);
}

static fab_status build_thing(void)
{
    const thing proto = {.n = 29, .m = 7};
    thing *t = (thing *)1;
    const fab_status s = fab_build((void **)&t, sizeof *t, &proto, lay_out);
    assert_int_equal(s == FAB_OK, t != NULL);
    fab_release(t);
    return s;
}

static fab_status make_text(void)
{
    fab_text t = {0};
    char *text = (char *)1;
    for (int i = 0; i < 200; i++) fab_text_add(&t, "%d, ", i);
    const fab_status s = fab_text_give(&t, &text);
    assert_int_equal(s == FAB_OK, text != NULL);
    if (text) assert_string_equal(text + strlen(text) - 5, "199, ");
    fab_text_free(text);
    return s;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(build_thing) >= 1);
    assert_true(fail_every_allocation(make_text) >= 2);
}

/* ---- hooks ------------------------------------------------------------------------------------- */

static int stop_at(void *ctx, const char *what, int64_t done, int64_t total)
{
    assert_string_equal(what, "rows");
    assert_int_equal(total, 29);
    return done >= *(int64_t *)ctx;
}

static void the_progress_hook_stops_the_work(void **state)
{
    (void)state;
    int64_t limit = 7, other = 3;
    const fab_watch w = fab_watch_of(NULL),
                    own = fab_watch_of(&(fab_exec){.progress = stop_at, .progress_ctx = &other});
    assert_ok(fab_watch_tick(&w, "rows", 29, 29)); /* nobody watches */
    fab_set_progress(stop_at, &limit);
    assert_ok(fab_watch_tick(&w, "rows", 6, 29));
    assert_refused(fab_watch_tick(&w, "rows", 7, 29), FAB_STOPPED, "rows: stopped after 7 of 29");
    assert_refused(fab_watch_tick(&own, "rows", 3, 29), FAB_STOPPED, "rows: stopped after 3 of 29");
    fab_set_progress(NULL, NULL);
    assert_ok(fab_watch_tick(&w, "rows", 29, 29));
}

static void remember(void *ctx, const char *sentence)
{
    snprintf(ctx, 64, "%s", sentence);
}

static void the_log_hook_hears_sentences(void **state)
{
    (void)state;
    char heard[64] = "", mine[64] = "";
    const fab_watch w = fab_watch_of(NULL),
                    own = fab_watch_of(&(fab_exec){.log = remember, .log_ctx = mine});
    fab_watch_log(&w, "nobody %s", "listens");
    fab_set_log(remember, heard);
    fab_watch_log(&w, "psi[%d] is at its floor", 3);
    fab_watch_log(&own, "F is %s", "mine");
    fab_set_log(NULL, NULL);
    fab_watch_log(&w, "unheard");
    assert_string_equal(mine, "F is mine");
    assert_string_equal(heard, "psi[3] is at its floor");
}

static void the_clock_never_goes_back(void **state)
{
    (void)state;
    double before = fab_clock();
    for (int i = 0; i < 1000; i++) {
        const double now = fab_clock();
        assert_true(now >= before);
        before = now;
    }
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void rows_are_checked_at_the_door(void **state)
{
    (void)state;
    double x[3 * 31];
    float y[3 * 31];
    for (int i = 0; i < 93; i++) x[i] = 2.385, y[i] = 2.385f;
    x[29] = x[30] = NAN, y[29] = NAN; /* between the vectors: nobody's */
    const fab_rows a = {x, FAB_F64, 3, 31}, b = {y, FAB_F32, 3, 31};
    assert_ok(fab_rows_check("t", &a, 29));
    assert_ok(fab_rows_check("t", &b, 29));
    assert_ok(fab_rows_check("t", &(fab_rows){x, FAB_F64, 0, 31}, 29));
    assert_ok(fab_rows_check("t", &(fab_rows){NULL, FAB_F64, 0, 31}, 29));
    assert_refused(fab_rows_check("t", &a, 32), FAB_BAD_ARGUMENT, "t: 3 rows 31 apart");
    assert_refused(fab_rows_check("t", &(fab_rows){x, FAB_F64, -1, 31}, 29), FAB_BAD_ARGUMENT,
                   "-1 rows");
    assert_refused(fab_rows_check("t", &(fab_rows){NULL, FAB_F64, 1, 31}, 29), FAB_BAD_ARGUMENT,
                   "t: ");
    assert_refused(fab_rows_check("t", &(fab_rows){x, FAB_I64, 3, 31}, 29), FAB_BAD_ARGUMENT,
                   "i64");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        x[31 + 28] = bad[i], y[62] = (float)bad[i];
        assert_refused(fab_rows_check("t", &a, 29), FAB_BAD_DATA, "t: row 1, column 28");
        assert_refused(fab_rows_check("t", &b, 29), FAB_BAD_DATA, "t: row 2, column 0");
    }
    x[31 + 28] = DBL_MAX, y[62] = -FLT_MAX;
    assert_ok(fab_rows_check("t", &a, 29));
    assert_ok(fab_rows_check("t", &b, 29));
    assert_true(fab_rows_at(&a, 1, 28) >= DBL_MAX && fab_rows_at(&b, 2, 0) <= -(double)FLT_MAX);
    const fab_rows part = fab_rows_part(&b, 2, 1);
    assert_true(part.n == 1 && part.ld == 31 && fab_rows_at(&part, 0, 0) <= -(double)FLT_MAX);
}

static void types_have_names(void **state)
{
    (void)state;
    const char *const name[] = {"f64", "f32", "i64", "bool", "enum"};
    for (int t = 0; t < 5; t++) assert_string_equal(fab_dtype_name((fab_dtype)t), name[t]);
    assert_string_equal(fab_dtype_name((fab_dtype)9), "unknown");
}

/* ---- random numbers ---------------------------------------------------------------------------- */

/* The known answers of Random123 for philox4x32, 10 rounds. */
static void bits_are_those_of_random123(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed, stream, block;
        int purpose;
        uint32_t bits[4];
    } known[] = {
        {0, 0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX,
         UINT64_MAX,
         ((uint64_t)1 << 48) - 1,
         0xffff,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         0x0370734413198a2e,
         0x08d3243f6a88,
         0x85a3,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t bits[4];
        fab_random_bits(known[i].seed, (fab_purpose)known[i].purpose, known[i].stream,
                        known[i].block, bits);
        assert_memory_equal(bits, known[i].bits, sizeof bits);
    }
}

static void split_equals_whole(void **state)
{
    (void)state;
    double u[101], v[101], z[101];
    float f[101], h[101];
    const uint64_t far = (uint64_t)1 << 40;
    fab_random_uniform(29, FAB_PURPOSE_DATA, 3, far, 101, u);
    fab_random_normal(29, FAB_PURPOSE_DATA, 3, far, 101, FAB_F64, z);
    fab_random_normal(29, FAB_PURPOSE_DATA, 3, far, 101, FAB_F32, f);
    for (int64_t cut = 0; cut <= 101; cut++) {
        fab_random_uniform(29, FAB_PURPOSE_DATA, 3, far, cut, v);
        fab_random_uniform(29, FAB_PURPOSE_DATA, 3, far + (uint64_t)cut, 101 - cut, v + cut);
        assert_memory_equal(u, v, sizeof u);
        fab_random_normal(29, FAB_PURPOSE_DATA, 3, far, cut, FAB_F64, v);
        fab_random_normal(29, FAB_PURPOSE_DATA, 3, far + (uint64_t)cut, 101 - cut, FAB_F64,
                          v + cut);
        assert_memory_equal(z, v, sizeof z);
        fab_random_normal(29, FAB_PURPOSE_DATA, 3, far, cut, FAB_F32, h);
        fab_random_normal(29, FAB_PURPOSE_DATA, 3, far + (uint64_t)cut, 101 - cut, FAB_F32,
                          h + cut);
        assert_memory_equal(f, h, sizeof f);
    }
}

static void addresses_do_not_share_numbers(void **state)
{
    (void)state;
    double a[29], b[29], c[29];
    fab_random_uniform(1, FAB_PURPOSE_DATA, 2, 0, 29, a);
    fab_random_uniform(2, FAB_PURPOSE_DATA, 1, 0, 29, b);
    fab_random_uniform(1, FAB_PURPOSE_DATA, 3, 0, 29, c);
    for (int i = 0; i < 29; i++)
        for (int j = 0; j < 29; j++) {
            assert_true(fabs(a[i] - b[j]) > 0 && fabs(a[i] - c[j]) > 0 && fabs(b[i] - c[j]) > 0);
            assert_true(i == j || fabs(a[i] - a[j]) > 0);
        }
}

/* Chi-square of 100 cells over 100 000 uniforms; above 191.6 once in 1e7 (99 degrees, by Wilson and
 * Hilferty).  Mean and variance within 5.5 standard errors, once in 1e7 as well. */
static void uniforms_fill_the_open_interval(void **state)
{
    (void)state;
    enum { N = 100000 };
    double *u = doubles(N), sum = 0, square = 0, chi = 0;
    int count[100] = {0};
    fab_random_uniform(2385, FAB_PURPOSE_DATA, 29, 1, N, u);
    for (int i = 0; i < N; i++) {
        assert_true(u[i] > 0 && u[i] < 1);
        count[(int)(u[i] * 100)]++;
        sum += u[i] - 0.5;
        square += (u[i] - 0.5) * (u[i] - 0.5);
    }
    for (int c = 0; c < 100; c++)
        chi += (count[c] - N / 100.0) * (count[c] - N / 100.0) / (N / 100.0);
    assert_true(chi < 191.6);
    assert_near(sum / N, 0, 5.5 * sqrt(1 / 12.0 / N));
    assert_near(square / N, 1 / 12.0, 5.5 * sqrt(1 / 180.0 / N));
}

/* 24 000 orders of 5: each of 120 expected 200 times; chi-square above 208 once in 1e6 (119 degrees). */
static void a_shuffle_is_a_uniform_permutation(void **state)
{
    (void)state;
    int count[120] = {0};
    for (uint64_t t = 0; t < 24000; t++) {
        int64_t order[5];
        int rank = 0, seen = 0;
        fab_random_shuffle(7, FAB_PURPOSE_DATA, t, 5, order);
        for (int i = 0; i < 5; i++) {
            int smaller = 0;
            for (int j = i + 1; j < 5; j++) smaller += order[j] < order[i];
            rank = rank * (5 - i) + smaller;
            seen |= 1 << order[i];
        }
        assert_int_equal(seen, 31);
        count[rank]++;
    }
    double chi = 0;
    for (int c = 0; c < 120; c++) chi += (count[c] - 200.0) * (count[c] - 200.0) / 200;
    assert_true(chi < 208);
    int64_t one = -1, many[1009], seen[1009] = {0};
    fab_random_shuffle(7, FAB_PURPOSE_DATA, 0, 1, &one);
    fab_random_shuffle(7, FAB_PURPOSE_DATA, 0, 0, NULL);
    fab_random_shuffle(7, FAB_PURPOSE_DATA, 0, 1009, many);
    assert_int_equal(one, 0);
    for (int i = 0; i < 1009; i++) assert_int_equal(seen[many[i]]++, 0);
}

/* ---- names ------------------------------------------------------------------------------------- */

static void the_nearest_name_is_found_or_none(void **state)
{
    (void)state;
    const char *const names[] = {"forget", "psi_min", "warmup", "inner", "K"};
    assert_string_equal(fab_nearest("forgt", names, 5), "forget");
    assert_string_equal(fab_nearest("psi-min", names, 5), "psi_min");
    assert_string_equal(fab_nearest("inmer", names, 5), "inner");
    assert_string_equal(fab_nearest("forget", names, 5), "forget");
    assert_string_equal(fab_nearest("k", names, 5), "K");
    assert_string_equal(fab_nearest("PSI_MIN", names, 5), "psi_min");
    assert_string_equal(fab_nearest("GSP", (const char *const[]){"pc", "gsp"}, 2), "gsp");
    assert_string_equal(fab_nearest("rnus", (const char *const[]){"nu", "runs"}, 2), "runs");
    assert_null(fab_nearest("temperature", names, 5));
    assert_null(fab_nearest("forget", names, 0));
    char longest[300];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(fab_nearest(longest, names, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_status_has_a_phrase),
        TEST(a_detail_belongs_to_its_thread),
        TEST(a_prefix_goes_before_the_sentence),
        TEST(a_sentence_gets_a_name_that_it_is_not_about),
        TEST(words_behind_a_sentence_leave_whom_it_is_about),
        TEST(long_sentences_are_cut_and_stay_strings),
        TEST(the_version_has_three_numbers),
        TEST(hooks_count_and_fail),
        TEST(an_impossible_array_says_so),
        TEST(a_handle_is_one_aligned_block_of_zeros),
        TEST(sizes_beyond_memory_are_said_and_not_wrapped),
        TEST(every_failed_allocation_is_reported),
        TEST(the_progress_hook_stops_the_work),
        TEST(the_log_hook_hears_sentences),
        TEST(the_clock_never_goes_back),
        TEST(rows_are_checked_at_the_door),
        TEST(types_have_names),
        TEST(bits_are_those_of_random123),
        TEST(split_equals_whole),
        TEST(addresses_do_not_share_numbers),
        TEST(uniforms_fill_the_open_interval),
        TEST(a_shuffle_is_a_uniform_permutation),
        TEST(the_nearest_name_is_found_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
