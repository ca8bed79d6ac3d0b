/* test_ahead.c - rows that were read ahead on several threads: those of one thread that reads line by line, with every sentence.
 *
 * The oracle is the reader of lines itself: through a small window nothing is read ahead.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "data/source/source.h"
#include "fabayes/random.h"
#include "files.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <unistd.h>
#include <zlib.h>

/* ---- what a reading says, as a text ------------------------------------------------------------- */

enum { TRACE = 1 << 22, CALLS = 4000 };

typedef struct trace {
    char *text;
    size_t n;
    int64_t rows, ahead; /* ahead: 1: something was read so */
} trace;

static void add(trace *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->text + t->n, TRACE - t->n, format, args);
    va_end(args);
    assert_true(n >= 0 && t->n + (size_t)n < TRACE);
    t->n += (size_t)n;
}

static void add_row(trace *t, const fab_source *s, const double *x)
{
    for (int64_t c = 0; c < fab_source_columns(s); c++)
        if (fab_source_is_words(s, c) && !isnan(x[c]))
            add(t, "%g=%s|", x[c], fab_source_word(s, c, (int64_t)x[c]));
        else
            add(t, "%a|", x[c]);
    add(t, "\n");
}

/* Read to the end, behind bad rows too, `batch` rows at a time; pass over two after every `skip` calls (0: never). */
static void read_all(trace *t, fab_source *s, int64_t batch, int skip)
{
    const int64_t columns = fab_source_columns(s);
    double *x = malloc((size_t)(batch * columns) * sizeof *x);
    int64_t got = 1;
    for (int call = 1; call < CALLS; call++) {
        const fab_status status = fab_source_next(s, batch, x, &got);
        for (int64_t i = 0; i < got; i++) add_row(t, s, x + i * columns);
        t->rows += got;
        if (status != FAB_OK) add(t, "%d %s\n", (int)status, fab_detail());
        add(t, "line %" PRId64 "\n", s->in.lines);
        if (status == FAB_OK && got == 0) break;
        if (skip && call % skip == 0 && fab_source_skip(s, 2) != FAB_OK)
            add(t, "%s\n", fab_detail());
    }
    t->ahead |= s->ahead != NULL && s->ahead_rows > 0;
    for (int64_t i = 0; i < fab_source_notes(s); i++) add(t, "%s\n", fab_source_note(s, i));
    free(x);
    fab_source_close(s);
}

/* threads 0: line by line. */
static trace trace_of(const char *text, size_t n, fab_source_options o, int threads, size_t piece,
                      int64_t batch, int skip)
{
    trace t = {.text = malloc(TRACE)};
    fab_source *s;
    o.threads = threads > 0 ? threads : 1;
    const size_t room = threads ? FAB_STREAM_ROOM : 61;
    t.text[0] = '\0';
    if (fab_source_open_memory(&s, "rows.csv", text, n, &o, room) != FAB_OK) {
        add(&t, "%s\n", fab_detail());
        return t;
    }
    s->piece = piece;
    read_all(&t, s, batch, skip);
    return t;
}

/* The same for every number of threads and pieces of every size.  Gives how many readings were ahead. */
static int check_same(const char *text, size_t n, fab_source_options o, int skip)
{
    static const size_t pieces[] = {7, 61, 500, 4096};
    static const int threads[] = {1, 2, 3, 5};
    int ahead = 0;
    const trace alone = trace_of(text, n, o, 0, 0, 3, skip);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            const trace t = trace_of(text, n, o, threads[k], pieces[i], 3, skip);
            if (t.n != alone.n || memcmp(t.text, alone.text, t.n) != 0)
                fail_msg("%d threads, pieces of %zu:\n%s\nline by line:\n%s\nof:\n%s", threads[k],
                         pieces[i], t.text, alone.text, text);
            ahead += t.ahead != 0;
            free(t.text);
        }
    free(alone.text);
    return ahead;
}

/* ---- tables by chance --------------------------------------------------------------------------- */

static uint32_t number; /* of the random bits */

static uint32_t chance(uint32_t below)
{
    uint32_t r[4];
    fab_random_bits(2385, FAB_PURPOSE_DATA, 7, number++, r);
    return r[0] % below;
}

static const char *pick(const char *const *from, uint32_t n)
{
    return from[chance(n)];
}

/* Ten good rows, then rows of which `odd` in a hundred fields are of the kinds that a reader can stumble over. */
static size_t write_table(char *to, char separator, uint32_t odd)
{
    static const char *const numbers[] = {"1",    "-2.385",  "29", "6.02e23",
                                          "0.1",  "1e-320",  "-0", "12345678901234567890",
                                          " 3.5", "\"4.25\""};
    static const char *const words[] = {"oak", "elm", "\"birch tree\"", "hill", "\"hill\"", "n1"};
    static const char *const odds[] = {"",
                                       "NA",
                                       "nan",
                                       "1e999",
                                       "inf",
                                       "caf\xe9",
                                       "\"a\"\"b\"",
                                       "\"two\nlines\"",
                                       "\"3\n,4,\n\"",
                                       "x\"y",
                                       "\"open",
                                       "?",
                                       "2024-03-01",
                                       "7%",
                                       "\"a,b\"",
                                       "1 2",
                                       "none",
                                       "-"};
    static const char *const ends[] = {"\n", "\r\n", "\n\n", "\n  \n", "\n# a comment\n"};
    size_t n = (size_t)sprintf(to, "a%cb%cc%cd\n", separator, separator, separator);
    for (int row = 0; row < 120; row++) {
        uint32_t fields = 4;
        if (row > 10 && odd && chance(40) == 0) fields = 3 + chance(3);
        for (uint32_t f = 0; f < fields; f++) {
            const char *cell = f % 2 ? pick(words, 6) : pick(numbers, 10);
            if (row > 10 && chance(100) < odd) cell = pick(odds, 18);
            n += (size_t)sprintf(to + n, "%s", cell);
            if (f + 1 < fields) to[n++] = separator;
        }
        n += (size_t)sprintf(to + n, "%s", row > 10 && odd ? pick(ends, 5) : "\n");
    }
    if (odd && chance(2)) n--; /* the last line without its end */
    to[n] = '\0';
    return n;
}

static void any_number_of_threads_reads_what_one_line_at_a_time_does(void **state)
{
    (void)state;
    static char text[1 << 16];
    static const fab_source_options kinds[] = {
        {.words = 1},
        {.words = 1, .missing = 1},
        {.words = 1, .missing = 1, .categorical = "c"},
        {.words = 1, .missing = 1, .leave_index = 1, .dialect = {.na = "29,elm"}},
        {.missing = 1},
        {.words = 1, .missing = 1, .none = "b", .dialect = {.dates = FAB_DATES_NUMBERS}},
    };
    int ahead = 0, readings = 0;
    for (int i = 0; i < 150; i++) {
        static const uint32_t odd[] = {0, 1, 5, 30};
        const size_t n = write_table(text, ",;\t"[i % 3], odd[i / 3 % 4]);
        const fab_source_options *o = &kinds[(size_t)i % (sizeof kinds / sizeof *kinds)];
        ahead += check_same(text, n, *o, i % 5 == 0 ? 4 : 0);
        readings += 16;
    }
    assert_true(ahead > readings / 2);
}

/* Numbers alone, with row names in front of them, and blanks between. */
static void plain_tables_are_read_ahead(void **state)
{
    (void)state;
    static char text[1 << 16];
    static const char *const heads[] = {"", "a,b,c\n", ",a,b,c\n", ""};
    for (int kind = 0; kind < 4; kind++) {
        size_t n = (size_t)sprintf(text, "%s", heads[kind]);
        for (int i = 0; i < 300; i++) {
            if (kind == 2) n += (size_t)sprintf(text + n, "\"row %d\",", i);
            n += (size_t)sprintf(text + n, kind == 3 ? "%d %d.385  %de-3\n" : "%d,%d.385,%de-3\n",
                                 i, 29 * i, i);
        }
        /* a piece of 7 bytes has no whole row */
        assert_true(check_same(text, n, (fab_source_options){.words = 1}, 0) >= 12);
        assert_true(check_same(text, n, (fab_source_options){.words = 1, .leave_index = 1}, 0) >=
                    12);
    }
}

/* A quote that opens in one piece and closes in another, with lines inside that look like rows. */
static void quotes_may_go_on_over_pieces(void **state)
{
    (void)state;
    static char text[1 << 16];
    size_t n = (size_t)sprintf(text, "a,b,c\n");
    for (int i = 0; i < 100; i++) {
        n += (size_t)sprintf(text + n, "%d,word,%d\n", i, i);
        if (i % 20 == 15) {
            n += (size_t)sprintf(text + n, "%d,\"", i);
            for (int k = 0; k < 30; k++) n += (size_t)sprintf(text + n, "%d,inside,%d\n", k, k);
            n += (size_t)sprintf(text + n, "\",%d\n", i);
        }
    }
    assert_true(check_same(text, n, (fab_source_options){.words = 1}, 0) >= 12);
    n += (size_t)sprintf(text + n, "3,\"never closed,3\n");
    for (int k = 0; k < 1200; k++) n += (size_t)sprintf(text + n, "%d,x,%d\n", k, k);
    check_same(text, n, (fab_source_options){.words = 1}, 0);
}

/* More spellings than the first tables take, and more words than any column may have. */
static void many_words_get_their_codes_in_order(void **state)
{
    (void)state;
    enum { ROWS = 110000 };
    char *text = malloc(ROWS * 16);
    size_t n = (size_t)sprintf(text, "w,x\n");
    for (int i = 0; i < ROWS; i++)
        n += (size_t)sprintf(text + n, "w%d,%d\n", i < 3000 ? i * 7 % 2000 : i, i);
    for (int threads = 1; threads <= 3; threads++) {
        fab_source *s;
        double x[2];
        int64_t got = 1, rows = 0, met = 0;
        const fab_source_options o = {.words = 1, .threads = threads};
        fab_status status = fab_source_open_memory(&s, "rows.csv", text, n, &o, FAB_STREAM_ROOM);
        assert_int_equal(status, FAB_OK);
        s->piece = 1 << 14;
        for (; got > 0; rows += got) {
            char word[16];
            status = fab_source_next(s, 1, x, &got);
            if (status != FAB_OK || got == 0) break;
            sprintf(word, "w%d", (int)rows < 3000 ? (int)rows * 7 % 2000 : (int)rows);
            assert_string_equal(fab_source_word(s, 0, (int64_t)x[0]), word);
            assert_true(x[0] <= (double)met && x[1] == (double)rows);
            met += x[0] == (double)met;
        }
        assert_int_equal(status, FAB_BAD_DATA);
        assert_int_equal(rows, 1000 + 100000);
        assert_string_equal(
            fab_detail(), "rows.csv: line 101002, column 1 ('w') is the first of more than 100000 "
                          "different words: the column is an identifier, not a category");
        assert_true(s->ahead_rows > rows - rows / 5);
        fab_source_close(s);
    }
    free(text);
}

/* A window that was made larger for blocks takes no longer lines than before. */
static void a_line_is_as_long_as_it_may_be_without(void **state)
{
    (void)state;
    enum { LONG = 400000, BEFORE = 20000 };
    char *text = malloc(BEFORE * 8 + 2 * LONG);
    size_t n = 0;
    for (int i = 0; i < BEFORE; i++) n += (size_t)sprintf(text + n, "%d,2\n", i % 10);
    memset(text + n, ' ', LONG);
    n += LONG;
    n += (size_t)sprintf(text + n, "1,2\n3,4\n");
    const fab_source_options o = {.columns_max = 4, .threads = 2};
    fab_source *s;
    double x[2];
    int64_t got = 1, rows = 0;
    assert_int_equal(fab_source_open_memory(&s, "rows.csv", text, n, &o, FAB_STREAM_ROOM), FAB_OK);
    fab_status status = FAB_OK;
    while (status == FAB_OK && got > 0) {
        status = fab_source_next(s, 1, x, &got);
        rows += got;
    }
    assert_int_equal(status, FAB_BAD_FILE);
    assert_int_equal(rows, BEFORE);
    assert_true(s->ahead_rows > 0 && s->in.room > LONG);
    assert_string_equal(fab_detail(), "rows.csv: line 20001 is longer than 0.000256 MB; is this a "
                                      "table? --max-columns raises the limit");
    fab_source_close(s);
    free(text);
}

/* What has come through a pipe is given before more comes. */
static void a_pipe_is_read_as_it_comes(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const int before = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    char text[1 << 14];
    size_t n = 0;
    for (int i = 0; i < 1000; i++) n += (size_t)sprintf(text + n, "%d,2.385\n", i);
    assert_int_equal(write(ends[1], text, n), (ssize_t)n);
    fab_source *s;
    double x[2];
    int64_t got;
    assert_int_equal(fab_source_open(&s, "-", &(fab_source_options){.threads = 2}), FAB_OK);
    s->piece = 1 << 12;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(fab_source_next(s, 1, x, &got), FAB_OK);
        assert_true(got == 1 && x[0] == i && x[1] == 2.385);
    }
    assert_true(s->ahead_rows > 500);
    assert_int_equal(write(ends[1], "7,8", 3), 3);
    close(ends[1]);
    assert_int_equal(fab_source_next(s, 3, x, &got), FAB_OK);
    assert_true(got == 1 && x[0] == 7 && x[1] == 8);
    fab_source_close(s);
    dup2(before, STDIN_FILENO);
    close(before);
}

/* ---- compressed files ---------------------------------------------------------------------------- */

static unsigned char *gzip(const char *text, size_t n, size_t *size)
{
    z_stream z = {.next_in = (void *)(uintptr_t)text, .avail_in = (unsigned)n};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    *size = deflateBound(&z, n);
    unsigned char *out = malloc(*size);
    z.next_out = out;
    z.avail_out = (unsigned)*size;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *size = z.total_out;
    deflateEnd(&z);
    return out;
}

static char *many_rows(int rows, size_t *n)
{
    char *text = malloc((size_t)rows * 32);
    *n = 0;
    for (int i = 0; i < rows; i++) *n += (size_t)sprintf(text + *n, "%d,%d.385,-1e-3\n", i, i % 29);
    return text;
}

/* Read all rows of many_rows and see that they are; gives the status of the end. */
static fab_status read_many(fab_source *s, int64_t *rows)
{
    double x[30];
    int64_t got = 1;
    fab_status status = FAB_OK;
    for (*rows = 0; status == FAB_OK && got > 0; *rows += got) {
        int64_t done, total;
        status = fab_source_next(s, 10, x, &got);
        for (int64_t i = 0; i < got; i++)
            assert_true(x[3 * i] == (double)(*rows + i) &&
                        x[3 * i + 1] == (double)((*rows + i) % 29) + 0.385);
        fab_source_position(s, &done, &total);
        assert_true(done >= 0 && done <= total);
    }
    return status;
}

static fab_source *open_gzip(const unsigned char *gz, size_t size)
{
    fab_source *s;
    const fab_source_options o = {.threads = 2};
    assert_int_equal(fab_source_open_memory(&s, "rows.csv.gz", gz, size, &o, FAB_STREAM_ROOM),
                     FAB_OK);
    s->in.thread_after = 1;
    return s;
}

static void a_thread_unpacks_what_the_reader_would(void **state)
{
    (void)state;
    enum { ROWS = 200000 };
    size_t n, size;
    int64_t rows, done, total;
    char *text = many_rows(ROWS, &n);
    unsigned char *gz = gzip(text, n, &size);
    fab_source *s = open_gzip(gz, size);
    assert_int_equal(read_many(s, &rows), FAB_OK);
    assert_true(rows == ROWS && s->in.thread != NULL);
    fab_source_position(s, &done, &total);
    assert_true(done == total && total == (int64_t)size);
    fab_source_close(s);
    s = open_gzip(gz, size); /* left in the middle, the thread at work */
    double x[3];
    int64_t got;
    for (int i = 0; i < 50000; i++) assert_int_equal(fab_source_next(s, 1, x, &got), FAB_OK);
    assert_non_null(s->in.thread);
    fab_source_close(s);
    free(text);
    free(gz);
}

static void rows_before_damage_are_given_by_the_thread_too(void **state)
{
    (void)state;
    enum { ROWS = 200000 };
    size_t n, size;
    int64_t rows, alone;
    char *text = many_rows(ROWS, &n);
    unsigned char *gz = gzip(text, n, &size);
    for (int kind = 0; kind < 2; kind++) {
        const size_t left = kind ? size : size / 2;
        if (kind) memset(gz + size / 2, 0xFF, 64);
        fab_source *s = open_gzip(gz, left);
        s->in.threads = 1;
        const fab_status expected = read_many(s, &alone);
        char sentence[300];
        snprintf(sentence, sizeof sentence, "%s", fab_detail());
        assert_true(expected == FAB_BAD_FILE && !s->in.thread);
        fab_source_close(s);
        s = open_gzip(gz, left);
        assert_int_equal(read_many(s, &rows), expected);
        assert_non_null(s->in.thread);
        assert_string_equal(fab_detail(), sentence);
        assert_int_equal(rows, alone);
        assert_int_equal(read_many(s, &rows), expected); /* and again */
        assert_string_equal(fab_detail(), sentence);
        fab_source_close(s);
    }
    free(text);
    free(gz);
}

static int stops_later(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    return ++*(int *)ctx > 2;
}

/* A pipe that stays open and gives nothing: whoever waits for the thread can be stopped, and closing ends it. */
static void a_thread_that_waits_for_a_pipe_can_be_stopped(void **state)
{
    (void)state;
    int ends[2], asked = 0;
    size_t n, size;
    assert_int_equal(pipe(ends), 0);
    const int before = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    char *text = many_rows(2000, &n);
    unsigned char *gz = gzip(text, n, &size);
    assert_true(size < 60000 && write(ends[1], gz, size - 9) == (ssize_t)size - 9);
    fab_source *s;
    double x[3];
    int64_t got = 1, rows = 0;
    assert_int_equal(fab_source_open(&s, "-", &(fab_source_options){.threads = 2}), FAB_OK);
    s->in.thread_after = 1;
    fab_set_progress(stops_later, &asked);
    fab_status status = FAB_OK;
    while (status == FAB_OK) {
        status = fab_source_next(s, 1, x, &got);
        rows += got;
    }
    assert_int_equal(status, FAB_STOPPED);
    assert_true(rows > 1000 && s->in.thread);
    fab_set_progress(NULL, NULL);
    fab_source_close(s);
    close(ends[1]);
    dup2(before, STDIN_FILENO);
    close(before);
    free(text);
    free(gz);
}

/* Without memory for blocks rows come one at a time, and are the same. */
static int64_t allowed;

static void *some_alloc(size_t bytes)
{
    return allowed-- > 0 ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
}

static void without_memory_for_blocks_the_rows_are_the_same(void **state)
{
    (void)state;
    static char text[1 << 16];
    const size_t n = write_table(text, ',', 0);
    const fab_source_options o = {.words = 1, .threads = 2};
    for (int64_t more = 0; more < 30; more++) {
        fab_source *s;
        double x[4];
        int64_t got = 1, rows = 0;
        allowed = 1000;
        fab_set_allocator(some_alloc, free);
        assert_int_equal(fab_source_open_memory(&s, "rows.csv", text, n, &o, FAB_STREAM_ROOM),
                         FAB_OK);
        s->piece = 300;
        fab_status status = FAB_OK;
        allowed = more; /* words that are met ask for memory too */
        while (status == FAB_OK && got > 0) {
            status = fab_source_next(s, 1, x, &got);
            rows += got;
        }
        if (status != FAB_OK) {
            assert_int_equal(status, FAB_NO_MEMORY);
            allowed = 1000;
            for (got = 1; got > 0; rows += got)
                assert_int_equal(fab_source_next(s, 1, x, &got), FAB_OK);
        }
        assert_true(rows >= 119 && rows <= 120); /* the one that had no memory counts as read */
        fab_source_close(s);
        fab_set_allocator(NULL, NULL);
    }
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_number_of_threads_reads_what_one_line_at_a_time_does),
        TEST(plain_tables_are_read_ahead),
        TEST(quotes_may_go_on_over_pieces),
        TEST(many_words_get_their_codes_in_order),
        TEST(a_line_is_as_long_as_it_may_be_without),
        TEST(a_pipe_is_read_as_it_comes),
        TEST(a_thread_unpacks_what_the_reader_would),
        TEST(rows_before_damage_are_given_by_the_thread_too),
        TEST(a_thread_that_waits_for_a_pipe_can_be_stopped),
        TEST(without_memory_for_blocks_the_rows_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
