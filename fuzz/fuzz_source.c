/* fuzz_source.c - any bytes as a table: refused with a sentence, or the same finite rows for every window.
 *
 * The first byte chooses format, number of features and the size of the window; the rest is the file.
 *
 * SPDX-License-Identifier: MIT */
#include "data/number.h"
#include "data/source.h"
#include "fabayes/hooks.h"
#include "fuzz.h"
#include <math.h>

enum { MAX_COLUMNS = 4096, BATCH = 3, MAX_BYTES = 1 << 24 };

/* The library must live with a machine that has little memory. */
static void *small_alloc(size_t bytes)
{
    return bytes > MAX_BYTES ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

/* A refusal blames the file, by name, in one line without control characters. */
static void check_sentence(fab_status s)
{
    must(s == FAB_BAD_FILE || s == FAB_BAD_DATA || s == FAB_NO_MEMORY);
    must(strncmp(fab_detail(), "fuzz.csv", 8) == 0);
    for (const char *c = fab_detail(); *c; c++) must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

typedef struct outcome {
    fab_status opened, ended;
    int64_t columns, rows;
    uint64_t bits; /* a sum over the values */
} outcome;

static void add_rows(outcome *r, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits;
        must(isfinite(x[i]));
        memcpy(&bits, &x[i], sizeof bits);
        r->bits = r->bits * 31 + bits;
    }
}

static void touch_names(const fab_source *s, int64_t columns)
{
    for (int64_t j = 0; j < columns && j < 100; j++) {
        const char *name = fab_source_name(s, j);
        if (name) touch(name, strlen(name));
    }
}

/* Read on behind bad rows; a failure that stays is the end. */
static void read_rows(fab_source *s, outcome *r)
{
    static double x[BATCH * MAX_COLUMNS];
    for (int failures = 0; failures < 100;) {
        int64_t got, done, total;
        const fab_status status = fab_source_next(s, BATCH, x, &got);
        must(got >= 0 && got <= BATCH);
        add_rows(r, x, got * r->columns);
        r->rows += got;
        fab_source_position(s, &done, &total);
        must(done >= 0 && done <= total);
        if (status != FAB_OK) check_sentence(r->ended = status);
        if (status != FAB_OK) failures++;
        if (status == FAB_OK && got == 0) return;
    }
}

static outcome read_all(const uint8_t *bytes, size_t size, const fab_source_options *o, size_t room)
{
    outcome r = {FAB_OK, FAB_OK, 0, 0, 0};
    fab_source *s;
    r.opened = fab_source_open_memory(&s, "fuzz.csv", bytes, size, o, room);
    if (r.opened != FAB_OK) {
        must(!s);
        check_sentence(r.opened);
        return r;
    }
    r.columns = fab_source_columns(s);
    must(r.columns > 0);
    touch_names(s, r.columns);
    if (r.columns <= MAX_COLUMNS) read_rows(s, &r);
    fab_source_close(s);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0) return 0;
    fab_set_allocator(small_alloc, free);
    const uint8_t choice = *bytes++;
    const fab_source_options o = {(fab_format)(choice % 7), choice & 64 ? 5 : 0, NULL};
    const outcome a = read_all(bytes, size - 1, &o, 2 + choice / 7 % 16);
    const outcome b = read_all(bytes, size - 1, &o, 1 << 16);
    if (a.opened == FAB_NO_MEMORY || b.opened == FAB_NO_MEMORY) return 0;
    if (a.ended == FAB_NO_MEMORY || b.ended == FAB_NO_MEMORY) return 0;
    must(a.opened == b.opened && a.ended == b.ended && a.columns == b.columns);
    must(a.rows == b.rows && a.bits == b.bits);
    return 0;
}
