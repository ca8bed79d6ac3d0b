/* fuzz_source.c - any bytes as a table: refused with a sentence, or the same rows for every window, and read ahead on two
 * threads: finite numbers, codes of words, and NaN where missing values are asked for.  Sparse rows are the dense ones.
 *
 * The first byte chooses format, number of features and the size of the window, the second one the options
 * missing, words, categorical and index, the third one the dialect; the rest is the file.
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/number.h"
#include "data/source/source.h"
#include "fabayes/exec.h"
#include "fuzz.h"
#include <math.h>

enum { MAX_COLUMNS = 4096, BATCH = 3 };

static void check_source(fab_status s)
{
    must(s == FAB_BAD_FILE || s == FAB_BAD_DATA || s == FAB_MISSING_VALUE || s == FAB_NO_MEMORY ||
         s == FAB_BAD_ARGUMENT);
    check_sentence("fuzz.csv");
}

typedef struct outcome {
    fab_status opened, ended;
    int64_t columns, rows, missing;
    uint64_t bits; /* a sum over the values */
} outcome;

/* A code of a column of words has its word. */
static void check_code(const fab_source *s, int64_t column, double x)
{
    must(x >= 0 && x < (double)fab_source_words(s, column));
    const char *word = fab_source_word(s, column, (int64_t)x);
    must(word && (double)(int64_t)x == x);
    touch(word, strlen(word));
}

static void add_rows(outcome *r, const fab_source *s, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits;
        must(isfinite(x[i]) || (r->missing && isnan(x[i])));
        if (fab_source_is_words(s, i % r->columns) && !isnan(x[i]))
            check_code(s, i % r->columns, x[i]);
        memcpy(&bits, &x[i], sizeof bits);
        r->bits = r->bits * 31 + bits;
    }
}

static void touch_names(const fab_source *s, int64_t columns)
{
    for (int64_t j = 0; j < columns && j < 100; j++) {
        const char *name = fab_source_name(s, j);
        if (name) touch(name, strlen(name));
        must(!fab_source_is_date(s, j) || !fab_source_is_index(s, j));
    }
    for (int64_t i = 0; i < fab_source_notes(s); i++)
        touch(fab_source_note(s, i), strlen(fab_source_note(s, i)));
}

/* The next rows, of a libsvm file as they stand if that is asked for, and then dense. */
static fab_status next_rows(fab_source *s, int sparse, double *x, int64_t *got)
{
    fab_sparse r = {0};
    const int64_t columns = fab_source_columns(s);
    if (!sparse) return fab_source_next(s, BATCH, x, got);
    const fab_status status = fab_source_next_sparse(s, BATCH, &r, got);
    must(r.n == *got && *got <= BATCH);
    memset(x, 0, (size_t)(*got * columns) * sizeof *x);
    for (int64_t i = 0; i < *got; i++, x += columns) {
        x[0] = r.label[i];
        for (int64_t k = r.start[i]; k < r.start[i + 1]; k++) {
            must(r.index[k] >= 0 && r.index[k] < columns - 1);
            x[1 + r.index[k]] = r.value[k];
        }
    }
    fab_sparse_free(&r);
    return status;
}

/* Read on behind bad rows; a failure that stays is the end. */
static void read_rows(fab_source *s, int sparse, outcome *r)
{
    static double x[BATCH * MAX_COLUMNS];
    for (int failures = 0; failures < 100;) {
        int64_t got, done, total;
        const fab_status status = next_rows(s, sparse, x, &got);
        must(got >= 0 && got <= BATCH);
        add_rows(r, s, x, got * r->columns);
        r->rows += got;
        fab_source_position(s, &done, &total);
        must(done >= 0 && done <= total);
        if (status != FAB_OK) check_source(r->ended = status);
        if (status != FAB_OK) failures++;
        if (status == FAB_OK && got == 0) return;
    }
}

/* piece: bytes that each of two threads reads ahead; 0: line by line. */
static outcome read_all(const uint8_t *bytes, size_t size, const fab_source_options *o, size_t room,
                        int sparse, size_t piece)
{
    outcome r = {.missing = o->missing};
    fab_source *s;
    r.opened = fab_source_open_memory(&s, "fuzz.csv", bytes, size, o, room);
    if (r.opened != FAB_OK) {
        must(!s);
        check_source(r.opened);
        return r;
    }
    s->piece = piece;
    r.columns = fab_source_columns(s);
    must(r.columns > 0);
    if (r.columns <= MAX_COLUMNS)
        touch_names(s, r.columns); /* names of a million columns take a tenth of a second to make */
    sparse = sparse && fab_source_format(s) == FAB_FORMAT_LIBSVM;
    if (r.columns <= MAX_COLUMNS) read_rows(s, sparse, &r);
    fab_source_close(s);
    return r;
}

static fab_source_options choose(uint8_t first, uint8_t second, uint8_t third)
{
    static const char *const lists[] = {NULL, "0", "a,last", "x1, 3"};
    static const char separators[] = "\0\0\0,;| \t";
    static const fab_dialect usual = {
        .separator = '!', .decimal = ',', .dates = FAB_DATES_DAY_FIRST};
    const int words = second & 1;
    fab_dialect d = {.separator = separators[third & 7], .dates = (fab_dates)(third >> 3 & 3)};
    if (third >> 5 == 1) d.decimal = ',';
    if (third >> 5 == 2) d.decimal = '.';
    if (third >> 5 == 3) strcpy(d.na, "7,none, NA");
    if (third >> 5 == 4) d.comment = FAB_NO_COMMENT;
    return (fab_source_options){.dialect = d,
                                .usual = third >> 5 == 5 ? &usual : NULL,
                                .none = third >> 5 == 6 ? "a,b" : NULL,
                                .leave_index = second >> 4 & 1,
                                .format = (fab_format)(first % 7),
                                .features = first & 64 ? 5 : 0,
                                .columns_max = MAX_COLUMNS,
                                .words = words,
                                .threads = 2,
                                .missing = second >> 1 & 1,
                                .categorical = words ? lists[second >> 2 & 3] : NULL};
}

/* As small_alloc, and quick to fill. */
static void *smaller_alloc(size_t bytes)
{
    return bytes > (size_t)1 << 18 ? NULL : small_alloc(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 3) return 0;
    fab_set_allocator(smaller_alloc, free);
    const fab_source_options o = choose(bytes[0], bytes[1], bytes[2]);
    const size_t room = 2 + bytes[0] / 7 % 16;
    const outcome a = read_all(bytes + 3, size - 3, &o, room, 0, 0);
    for (int ahead = 0; ahead < 2; ahead++) {
        const outcome b = read_all(bytes + 3, size - 3, &o, 1 << 16, 1, ahead ? room : 0);
        if (a.opened == FAB_NO_MEMORY || b.opened == FAB_NO_MEMORY) return 0;
        if (a.ended == FAB_NO_MEMORY || b.ended == FAB_NO_MEMORY) return 0;
        must(a.opened == b.opened && a.ended == b.ended && a.columns == b.columns);
        must(a.rows == b.rows && a.bits == b.bits);
    }
    return 0;
}
