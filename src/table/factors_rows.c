/* factors_rows.c - the rows of a factor analysis, from a source or from memory.
 *
 * A stream goes through one buffer; a batch method gets its table whole, and is refused with the number of bytes as
 * soon as table and work do not fit.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/memory.h"
#include "base/rows.h"
#include "data/source/source.h"
#include "table/factors.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- memory ----------------------------------------------------------------------------------------- */

/* 1234567 -> "1.23M" */
static const char *count_text(double x, char buf[24])
{
    static const char unit[] = {' ', 'k', 'M', 'G', 'T'};
    int u = 0;
    while (x >= 999.5 && u < 4) {
        x /= 1000;
        u++;
    }
    snprintf(buf, 24, u ? "%.3g%c" : "%.3g", x, unit[u]);
    return buf;
}

/* The work of the method for n rows, the buffer of a stream, and the table of a batch method. */
static fab_status check_memory(fab_factors *f, int64_t n, int whole)
{
    char need[24], room[24];
    const double held = (double)(f->method->streams ? f->piece : n);
    const double limit = f->limit > 0 ? f->limit : fab_memory_free();
    const double work = fab_factors_fit_bytes(f, n);
    if (!(work < (double)SIZE_MAX)) /* or there was no memory to count it in */
        return FAB_FAIL(FAB_NO_MEMORY, "%s: %s cannot allocate its work for D = %" PRId64, f->who,
                        f->method->name, f->D);
    f->needed = work + 8 * held * (double)f->columns;
    if (!(f->needed > limit)) return FAB_OK;
    return FAB_FAIL(FAB_NO_MEMORY,
                    "%s: %s needs %s%sB for %s%" PRId64 " rows of D = %" PRId64 ", and %sB are %s",
                    f->who, f->method->name, whole ? "" : "more than ", count_text(f->needed, need),
                    whole ? "" : "the first ", n, f->D, count_text(limit, room),
                    f->limit > 0 ? "allowed" : "free");
}

/* ---- rows ------------------------------------------------------------------------------------------- */

fab_rows fab_factors_coordinates(const fab_factors *f, const double *x, int64_t n)
{
    return (fab_rows){x + f->columns - f->D, FAB_F64, n, f->columns, NULL, NULL};
}

/* Keep track of the coordinates that never change: a few rows settle it for the others. */
static void watch(fab_factors *f, const fab_rows *rows)
{
    int64_t kept = 0;
    if (rows->n == 0) return;
    if (f->n == f->before) { /* the first rows */
        for (int64_t d = 0; d < f->D; d++) {
            f->first[d] = fab_rows_at(rows, 0, d);
            f->constant[d] = d;
        }
        f->constants = f->D;
    }
    for (int64_t i = 0; i < f->constants; i++) {
        const int64_t d = f->constant[i];
        int64_t j = 0;
        while (j < rows->n && fab_rows_at(rows, j, d) == f->first[d]) j++;
        if (j == rows->n) f->constant[kept++] = d;
    }
    f->constants = kept;
}

static fab_status tell(const fab_factors *f)
{
    int64_t done, total;
    fab_source_position(f->source, &done, &total);
    const fab_watch w = fab_watch_of(&f->exec);
    return fab_watch_tick(&w, "rows", done, total);
}

fab_status fab_factors_check_rows(const fab_factors *f, int64_t n)
{
    const int64_t K = fab_factors_get(f, "K");
    if (n > K && n > 1) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA,
                    "%s: %" PRId64 " row%s for K = %" PRId64
                    "; more rows than factors are needed, and at least 2",
                    f->who, n, n == 1 ? "" : "s", K);
}

/* On failure f is as it was; FAB_STOPPED: with the rows that were taken. */
static fab_status take(fab_factors *f, const fab_rows *rows)
{
    const int64_t before = fab_factors_fit_rows(f);
    const fab_status s = fab_factors_fit_update(f, rows);
    if (s != FAB_OK && s != FAB_STOPPED) return s;
    const fab_rows taken = fab_rows_part(rows, 0, fab_factors_fit_rows(f) - before);
    watch(f, &taken);
    f->n += taken.n;
    fab_solver_free(f->solver);
    f->solver = NULL;
    return s;
}

/* A piece of a file, which is short, is taken in whole: the file is behind it already. */
static fab_status take_piece(fab_factors *f, const fab_rows *rows)
{
    const int64_t before = f->n;
    fab_status s = take(f, rows);
    while (s == FAB_STOPPED && f->n - before < rows->n) {
        const int64_t done = f->n - before;
        const fab_rows rest = fab_rows_part(rows, done, rows->n - done);
        const fab_status more = take(f, &rest);
        if (more != FAB_OK) s = more;
    }
    return s;
}

/* A stream takes rows and forgets them. */
static fab_status take_rows(fab_factors *f, const fab_rows *rows, int from_file)
{
    FAB_TRY(from_file ? take_piece(f, rows) : take(f, rows));
    /* A state that has no more rows than factors is not worth a file yet. */
    if (f->checkpoint && f->n % f->checkpoint == 0 && f->n > fab_factors_get(f, "K"))
        FAB_TRY(fab_factors_fit_save(f, f->output));
    return FAB_OK;
}

/* A batch method takes all its rows, and works. */
static fab_status take_table(fab_factors *f, const fab_rows *rows)
{
    char need[24];
    const fab_gauss *q;
    FAB_TRY(fab_factors_check_rows(f, rows->n));
    FAB_TRY(check_memory(f, rows->n, 1));
    const fab_watch w = fab_watch_of(&f->exec);
    fab_watch_log(&w, "%s works on the whole table: %sB for %" PRId64 " rows", f->method->name,
                  count_text(f->needed, need), rows->n);
    FAB_TRY(take(f, rows));
    f->table = *rows;
    return fab_factors_fit_result(f, &q);
}

/* Rows until the next save, counted from the first row of all. */
static int64_t until_checkpoint(const fab_factors *f)
{
    return f->checkpoint ? f->checkpoint - f->n % f->checkpoint : INT64_MAX;
}

static fab_status read_stream(fab_factors *f)
{
    FAB_TRY(check_memory(f, 0, 1));
    for (;;) {
        const int64_t until = until_checkpoint(f), most = until < f->piece ? until : f->piece;
        int64_t got = 0;
        FAB_TRY(fab_source_next(f->source, most, f->buffer, &got));
        if (got == 0) return FAB_OK;
        const fab_rows rows = fab_factors_coordinates(f, f->buffer, got);
        FAB_TRY(take_rows(f, &rows, 1));
        FAB_TRY(tell(f));
    }
}

/* Room for `rows` rows, the first n as they were. */
static fab_status grow(fab_factors *f, int64_t n, int64_t rows)
{
    double *p;
    const size_t width = (size_t)f->columns * sizeof *p;
    FAB_TRY(fab_alloc_array((void **)&p, rows, width, f->who));
    if (n > 0) memcpy(p, f->table_own, (size_t)n * width);
    fab_release(f->table_own);
    f->table_own = p;
    return FAB_OK;
}

/* Read until the end; the memory is checked before each piece is asked for. */
static fab_status read_table(fab_factors *f)
{
    const int64_t known = f->source->kept ? -1 : fab_source_rows(f->source);
    int64_t n = 0, room = 0, got = 1;
    if (known > 0) {
        FAB_TRY(check_memory(f, known, 1));
        room = known + 1; /* where the end shows */
        FAB_TRY(grow(f, 0, room));
    }
    while (got > 0) {
        if (known <= 0) FAB_TRY(check_memory(f, n + 1, 0));
        if (n == room) {
            room += room / 2 + f->piece;
            FAB_TRY(grow(f, n, room));
        }
        const int64_t most = room - n < f->piece ? room - n : f->piece;
        FAB_TRY(fab_source_next(f->source, most, f->table_own + n * f->columns, &got));
        n += got;
        FAB_TRY(tell(f));
    }
    const fab_rows rows = fab_factors_coordinates(f, f->table_own, n);
    return take_table(f, &rows);
}

fab_status fab_factors_read(fab_factors *f)
{
    const double start = fab_clock();
    if (!f->source)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: there is no source to read rows from", f->who);
    const fab_status s = f->method->streams ? read_stream(f) : read_table(f);
    f->seconds += fab_clock() - start;
    return s;
}

fab_status fab_factors_update(fab_factors *f, const fab_rows *rows)
{
    const double start = fab_clock();
    const fab_status s = f->method->streams ? take_rows(f, rows, 0) : take_table(f, rows);
    f->seconds += fab_clock() - start;
    return s;
}
