/* factors_rows.c - the rows of a factor analysis, from a source or from memory.
 *
 * A stream goes through one buffer; a batch method gets its table whole, and is refused with the number of bytes as
 * soon as table and work do not fit.  Rows of a libsvm file stay sparse.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/memory.h"
#include "base/rows.h"
#include "data/source/source.h"
#include "la/ops.h"
#include "table/factors.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of a libsvm file that are read at a time, or those of a piece of values. */
enum { SPARSE_ROWS = 4096, SPARSE_ROWS_TOGETHER = 256 }; /* of several processes: alike in all */

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
    if (f->label && !f->method->streams) /* sparse: what is there so far */
        f->needed = work + 12 * (double)f->cells.value_room + 16 * (double)f->cells.row_room;
    else
        f->needed = work + (f->label ? 12 : 8) * held * (double)f->columns;
    if (!(f->needed > limit)) return FAB_OK;
    return FAB_FAIL(FAB_NO_MEMORY,
                    "%s: %s needs %s%sB for %s%" PRId64 " rows of D = %" PRId64 ", and %sB are %s",
                    f->who, f->method->name, whole ? "" : "more than ", count_text(f->needed, need),
                    whole ? "" : "the first ", n, f->D, count_text(limit, room),
                    f->limit > 0 ? "allowed" : "free");
}

/* ---- rows ------------------------------------------------------------------------------------------- */

fab_rows fab_factors_coordinates(const fab_factors *f, double *x, int64_t n, double *weight)
{
    const int64_t columns = f->columns, w = f->weighed;
    if (w >= 0 && !f->label)
        for (int64_t j = 0; j < n; j++) {
            double *row = x + j * columns;
            if (weight) weight[j] = row[w];
            memmove(row + w, row + w + 1, (size_t)(columns - w - 1) * sizeof *row);
        }
    return (fab_rows){.p = x + f->label, .type = FAB_F64, .n = n, .ld = columns};
}

static fab_rows sparse_rows(const fab_factors *f)
{
    const fab_sparse *c = &f->cells;
    return (fab_rows){.p = c->value,
                      .type = FAB_F64,
                      .n = c->n,
                      .ld = f->D,
                      .start = c->start,
                      .index = c->index};
}

/* Weights of the last n rows of the source: named by their numbers there. */
static fab_status check_weights(const fab_factors *f, const double *weight, int64_t n)
{
    const fab_source *s = f->source;
    for (int64_t j = 0; j < n; j++) {
        if (weight[j] >= 0 && isfinite(weight[j])) continue;
        if (isnan(weight[j]) && f->missing == FAB_FACTORS_DROP) continue;
        const int64_t row = s->kept ? s->kept[s->kept_next - n + j] : s->row - n + j;
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: row %" PRId64 " has weight %g in column '%s', expected a number >= 0",
                        f->who, row, weight[j], fab_source_name(s, f->weighed));
    }
    return FAB_OK;
}

/* Rows of weight 0 leave x, n x columns, and their weights; where rows may be dropped so do those with a missing value.  *n:
 * those that are left. */
static void drop_rows(fab_factors *f, double *x, double *weight, int64_t *n)
{
    const int drop = f->missing == FAB_FACTORS_DROP;
    int64_t kept = 0;
    for (int64_t j = 0; j < *n; j++) {
        const double *row = x + j * f->columns;
        const int absent = weight && weight[j] == 0;
        int whole = !drop || !weight || weight[j] == weight[j];
        if (drop)
            for (int64_t d = 0; d < f->D; d++) whole &= row[d] == row[d];
        f->absent += absent;
        f->dropped += !absent && !whole;
        if (absent || !whole) continue;
        if (kept < j) memmove(x + kept * f->columns, row, (size_t)f->D * sizeof *row);
        if (weight) weight[kept] = weight[j];
        kept++;
    }
    *n = kept;
}

/* The same of the last *n rows of f->cells, whose weights are their labels. */
static void drop_sparse(fab_factors *f, int64_t *n)
{
    fab_sparse *c = &f->cells;
    if (f->weighed < 0 || *n == 0) return;
    int64_t kept = c->n - *n, values = c->start[kept];
    for (int64_t j = kept; j < c->n; j++) {
        const int64_t from = c->start[j], here = c->start[j + 1] - from;
        if (c->label[j] == 0) {
            f->absent++;
            --*n;
            continue;
        }
        memmove(c->value + values, c->value + from, (size_t)here * sizeof *c->value);
        memmove(c->index + values, c->index + from, (size_t)here * sizeof *c->index);
        c->label[kept++] = c->label[j];
        c->start[kept] = values += here;
    }
    c->n = kept;
    c->values = values;
}

/* Rows were read, and none of them is there. */
static fab_status check_present(const fab_factors *f, int64_t n)
{
    if (n > 0 || f->absent == 0) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA, "%s: every weight is zero: none of the %" PRId64 " rows is there",
                    f->who, f->absent);
}

/* Keep track of the coordinates that never change: a few rows settle it for the others. */
static void watch(fab_factors *f, const fab_rows *rows)
{
    int64_t kept = 0;
    if (rows->n == 0) return;
    if (f->n == f->before) { /* the first rows */
        fab_rows_get(rows, 0, f->D, f->first);
        for (int64_t d = 0; d < f->D; d++) f->constant[d] = d;
        f->constants = f->D;
    }
    if (rows->start && f->same) { /* a pass over the values that are there */
        memset(f->same, 0, (size_t)f->D * sizeof *f->same);
        for (int64_t j = 0; j < rows->n; j++)
            for (int64_t k = 0; k < fab_rows_stored(rows, j, f->D); k++) {
                const int64_t d = fab_rows_place(rows, j, k);
                if (fab_rows_value(rows, j, k) != f->first[d]) f->same[d] = -2 * rows->n;
                f->same[d]++;
            }
        for (int64_t i = 0; i < f->constants; i++) {
            const int64_t d = f->constant[i];
            const int same = f->first[d] == 0 ? f->same[d] >= 0 : f->same[d] == rows->n;
            if (same) f->constant[kept++] = d;
        }
    } else {
        for (int64_t i = 0; i < f->constants; i++) {
            const int64_t d = f->constant[i];
            int64_t j = 0;
            while (j < rows->n && fab_rows_at(rows, j, d) == f->first[d]) j++;
            if (j == rows->n) f->constant[kept++] = d;
        }
    }
    f->constants = kept;
}

fab_status fab_factors_agree(const fab_factors *f, fab_status mine)
{
    return fab_agree(f->exec.comm, mine, 0, "");
}

static fab_status tell(const fab_factors *f)
{
    int64_t done, total;
    fab_source_position(f->source, &done, &total);
    const fab_watch w = fab_watch_of(&f->exec);
    return fab_factors_agree(f, fab_watch_tick(&w, "rows", done, total));
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

/* On failure f is as it was; FAB_STOPPED: with the rows that were taken.  weight: of each row, or NULL. */
static fab_status take(fab_factors *f, const fab_rows *rows, const double *weight)
{
    const int64_t before = fab_factors_fit_rows(f);
    const fab_status s = fab_factors_fit_update(f, rows, weight);
    if (s != FAB_OK && s != FAB_STOPPED) return s;
    const fab_rows taken = fab_rows_part(rows, 0, fab_factors_fit_rows(f) - before);
    watch(f, &taken);
    f->n += taken.n;
    for (int64_t j = 0; j < taken.n; j++) f->total += weight ? weight[j] : 1;
    fab_solver_free(f->solver);
    f->solver = NULL;
    return s;
}

/* A piece of a file, which is short, is taken in whole: the file is behind it already. */
static fab_status take_piece(fab_factors *f, const fab_rows *rows, const double *weight)
{
    const int64_t before = f->n;
    fab_status s = take(f, rows, weight);
    while (s == FAB_STOPPED && f->n - before < rows->n) {
        const int64_t done = f->n - before;
        const fab_rows rest = fab_rows_part(rows, done, rows->n - done);
        const fab_status more = take(f, &rest, weight ? weight + done : NULL);
        if (more != FAB_OK) s = more;
        if (f->n - before == done) break; /* stopped before any row */
    }
    return s;
}

static int are_fine(const fab_factors *f, const fab_rows *rows, const double *weight)
{
    if (fab_rows_check(f->method->name, rows, f->D) != FAB_OK) return 0;
    if (weight)
        for (int64_t j = 0; j < rows->n; j++)
            if (!(weight[j] >= 0 && isfinite(weight[j]))) return 0;
    return 1;
}

/* Predict some rows, then learn them. */
static fab_status learn(fab_factors *f, const fab_rows *rows, const double *weight, int from_file)
{
    fab_status stopped = FAB_OK;
    /* Rows in memory that will be refused are refused as a whole, by their numbers; a source has checked its own. */
    if (!f->ahead || (!from_file && !are_fine(f, rows, weight)))
        return from_file ? take_piece(f, rows, weight) : take(f, rows, weight);
    fab_prequential_seen(f->ahead, f->n);
    for (int64_t done = 0, n; done < rows->n; done += n) {
        int due;
        n = fab_prequential_next(f->ahead, rows->n - done, &due);
        if (due) {
            const fab_gauss *q;
            FAB_TRY(fab_factors_fit_so_far(f, &q));
            FAB_TRY(fab_prequential_take(f->ahead, due, q, 0, NULL));
        }
        const fab_rows x = fab_rows_part(rows, done, n);
        FAB_TRY(fab_prequential_score(f->ahead, &x, NULL, NULL, NULL, n));
        const double *w = weight ? weight + done : NULL;
        const fab_status s = from_file ? take_piece(f, &x, w) : take(f, &x, w);
        if (s == FAB_STOPPED && from_file)
            stopped = s; /* a piece of a file is taken whole */
        else
            FAB_TRY(s);
    }
    return stopped;
}

/* A stream takes rows and forgets them. */
static fab_status take_rows(fab_factors *f, const fab_rows *rows, const double *weight,
                            int from_file)
{
    FAB_TRY(learn(f, rows, weight, from_file));
    /* A state that has no more rows than factors is not worth a file yet. */
    if (f->checkpoint && f->n % f->checkpoint == 0 && f->n > fab_factors_get(f, "K"))
        FAB_TRY(fab_factors_fit_checkpoint(f, f->output));
    return FAB_OK;
}

/* Room for `rows` rows, the first n as they were. */
static fab_status grow(fab_factors *f, double **table, int64_t width, int64_t n, int64_t rows)
{
    double *p;
    const size_t bytes = (size_t)width * sizeof *p;
    FAB_TRY(fab_alloc_array((void **)&p, rows, bytes, f->who));
    if (n > 0) memcpy(p, *table, (size_t)n * bytes);
    fab_release(*table);
    *table = p;
    return FAB_OK;
}

static int64_t count_present(int64_t n, const double *weight)
{
    int64_t present = 0;
    for (int64_t j = 0; j < n; j++) present += !weight || weight[j] != 0;
    return present;
}

/* The rows of a table whose weight is not 0, of which the fit has a copy too, are kept for the fits to come. */
static fab_status take_present(fab_factors *f, const fab_rows *rows, const double *weight,
                               int64_t n)
{
    f->absent += rows->n - n;
    FAB_TRY(check_present(f, n));
    FAB_TRY(fab_factors_check_rows(f, n));
    FAB_TRY(fab_factors_fit_update(f, rows, weight)); /* which refuses them by their numbers */
    FAB_TRY(fab_rows_present(rows, weight, n, f->D, &f->table, (void **)&f->table_own));
    FAB_TRY(grow(f, &f->weights_own, 1, 0, n));
    f->weights = f->weights_own;
    watch(f, &f->table);
    for (int64_t j = 0, i = 0; j < rows->n; j++) {
        if (weight[j] == 0) continue;
        f->total += weight[j];
        f->weights_own[i++] = weight[j];
    }
    f->n += n;
    return FAB_OK;
}

/* A batch method takes all its rows, and works. */
static fab_status take_table(fab_factors *f, const fab_rows *rows, const double *weight)
{
    char need[24];
    const fab_gauss *q;
    const int64_t present = count_present(rows->n, weight);
    const int all = !weight || present == rows->n;
    if (all) FAB_TRY(fab_factors_check_rows(f, rows->n));
    FAB_TRY(check_memory(f, rows->n, 1));
    const fab_watch w = fab_watch_of(&f->exec);
    fab_watch_log(&w, "%s works on the whole table: %sB for %" PRId64 " rows", f->method->name,
                  count_text(f->needed, need), rows->n);
    if (all) {
        FAB_TRY(take(f, rows, weight));
        f->table = *rows;
        f->weights = weight;
    } else {
        FAB_TRY(take_present(f, rows, weight, present));
    }
    return fab_factors_fit_result(f, &q);
}

/* Rows until the next save, counted from the first row of all. */
static int64_t until_checkpoint(const fab_factors *f)
{
    return f->checkpoint ? f->checkpoint - f->n % f->checkpoint : INT64_MAX;
}

/* The next rows of a libsvm file, `most` at most and not many more values than a piece has, behind those in f->cells. */
static fab_status read_sparse(fab_factors *f, int64_t most, int64_t *got)
{
    const int64_t values =
        f->exec.comm ? INT64_MAX : f->cells.values + f->piece * f->columns; /* alike everywhere */
    *got = 0;
    while (*got < most && f->cells.values < values) {
        const int64_t left = most - *got;
        int64_t more;
        FAB_TRY(
            fab_source_next_sparse(f->source, left < f->piece ? left : f->piece, &f->cells, &more));
        *got += more;
        if (more == 0) break;
    }
    if (f->weighed < 0) return FAB_OK;
    return check_weights(f, f->cells.label + f->cells.n - *got, *got);
}

/* All processes have come to the same row, or none goes on. */
static fab_status read_alike(const fab_factors *f, fab_status mine, int64_t got)
{
    return fab_agree(f->exec.comm, mine, (uint64_t)got,
                     "the processes have read other numbers of rows: DATA is not the same file "
                     "everywhere");
}

static fab_status read_stream(fab_factors *f)
{
    FAB_TRY(fab_factors_agree(f, check_memory(f, 0, 1)));
    for (;;) {
        const int64_t until = until_checkpoint(f);
        const double *weight = NULL;
        fab_rows rows;
        int64_t got = 0, there;
        if (f->label) {
            f->cells.n = f->cells.values = 0;
            const int64_t most = f->exec.comm ? SPARSE_ROWS_TOGETHER : SPARSE_ROWS;
            const fab_status s = read_sparse(f, until < most ? until : most, &got);
            FAB_TRY(read_alike(f, s, got));
            there = got;
            drop_sparse(f, &there);
            rows = sparse_rows(f);
            if (f->weighed >= 0) weight = f->cells.label;
        } else {
            const fab_status s =
                fab_source_next(f->source, until < f->piece ? until : f->piece, f->buffer, &got);
            FAB_TRY(read_alike(f, s, got));
            rows = fab_factors_coordinates(f, f->buffer, got, f->weight);
            if (f->weighed >= 0) weight = f->weight;
            if (weight) FAB_TRY(check_weights(f, weight, got));
            there = got;
            if (weight || f->missing == FAB_FACTORS_DROP)
                drop_rows(f, f->buffer, f->weighed >= 0 ? f->weight : NULL, &there);
            rows.n = there;
        }
        if (got == 0) return check_present(f, f->n);
        if (there == 0) continue;
        FAB_TRY(take_rows(f, &rows, weight, 1));
        FAB_TRY(tell(f));
    }
}

/* Read until the end; the memory is checked before each piece is asked for. */
static fab_status read_table(fab_factors *f)
{
    const int64_t known = f->source->kept ? -1 : fab_source_rows(f->source);
    int64_t n = 0, room = 0, got = 1;
    if (known > 0) {
        FAB_TRY(check_memory(f, known, 1));
        room = known + 1; /* where the end shows */
        FAB_TRY(grow(f, &f->table_own, f->columns, 0, room));
        if (f->weighed >= 0) FAB_TRY(grow(f, &f->weights_own, 1, 0, room));
    }
    while (got > 0) {
        if (known <= 0) FAB_TRY(check_memory(f, n + 1, 0));
        if (n == room) {
            room += room / 2 + f->piece;
            FAB_TRY(grow(f, &f->table_own, f->columns, n, room));
            if (f->weighed >= 0) FAB_TRY(grow(f, &f->weights_own, 1, n, room));
        }
        const int64_t most = room - n < f->piece ? room - n : f->piece;
        double *const x = f->table_own + n * f->columns;
        FAB_TRY(fab_source_next(f->source, most, x, &got));
        if (f->weighed >= 0) {
            fab_factors_coordinates(f, x, got, f->weights_own + n);
            FAB_TRY(check_weights(f, f->weights_own + n, got));
        }
        int64_t whole = got;
        if (f->weighed >= 0 || f->missing == FAB_FACTORS_DROP)
            drop_rows(f, x, f->weighed >= 0 ? f->weights_own + n : NULL, &whole);
        n += whole;
        FAB_TRY(tell(f));
    }
    FAB_TRY(check_present(f, n));
    const fab_rows rows = {
        .p = f->table_own, .type = FAB_F64, .n = n, .ld = f->columns}; /* without the weights */
    return take_table(f, &rows, f->weighed >= 0 ? f->weights_own : NULL);
}

/* The same of a libsvm file, which takes memory by its values. */
static fab_status read_sparse_table(fab_factors *f)
{
    int64_t got = 1;
    while (got > 0) {
        FAB_TRY(check_memory(f, f->cells.n + 1, 0));
        FAB_TRY(read_sparse(f, SPARSE_ROWS, &got));
        int64_t there = got;
        drop_sparse(f, &there);
        FAB_TRY(tell(f));
    }
    FAB_TRY(check_present(f, f->cells.n));
    const fab_rows rows = sparse_rows(f);
    return take_table(f, &rows, f->weighed >= 0 ? f->cells.label : NULL);
}

fab_status fab_factors_read(fab_factors *f)
{
    const double start = fab_clock();
    fab_status s;
    if (!f->source)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: there is no source to read rows from", f->who);
    if (f->method->streams)
        s = read_stream(f);
    else
        s = f->label ? read_sparse_table(f) : read_table(f);
    f->seconds += fab_clock() - start;
    return s;
}

/* Rows of a stream, of which those of weight 0 are passed over: they are refused as a whole, or not at all. */
static fab_status take_runs(fab_factors *f, const fab_rows *rows, const double *weight)
{
    if (count_present(rows->n, weight) == rows->n || !are_fine(f, rows, weight))
        return take_rows(f, rows, weight, 0);
    for (int64_t j = 0, more; j < rows->n; j += more) {
        const int there = weight[j] != 0;
        for (more = 1; j + more < rows->n && (weight[j + more] != 0) == there;) more++;
        const fab_rows part = fab_rows_part(rows, j, more);
        if (there) FAB_TRY(take_rows(f, &part, weight + j, 0));
    }
    return FAB_OK;
}

fab_status fab_factors_update(fab_factors *f, const fab_rows *rows, const double *weight)
{
    const double start = fab_clock();
    const fab_status s = f->method->streams ? take_runs(f, rows, weight)
                                            : take_table(f, rows, weight);
    f->seconds += fab_clock() - start;
    return s;
}
