/* rows.c - the rows of a fit: the first ones, all of them, or one piece after the other.
 *
 *   1  the first rows say what the columns are, and which of them name the rows and are left out; where they show one level of the target only, all rows are looked
 *      through for others (the file may be sorted)
 *   2  a batch method reads what is left before it begins
 *   3  a stream takes in the rows at hand, then piece by piece: read, bring to fitting units, predict, update, save when
 *      it is time (prequential.c says which rows are predicted before they are learned)
 *   4  the result; a network is stopped every so many epochs, saved, and goes on; then the rows are forgotten
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/bytes.h"
#include "base/hooks.h"
#include "base/rows.h"
#include "base/settings.h"
#include "data/columns/table.h"
#include "data/source/source.h"
#include "model/net/examples.h"
#include "table/regression.h"
#include <math.h>
#include <string.h>

enum {
    FIRST_NUMBERS = 1 << 27, /* that the first rows may hold: 1 GB */
    LOAD_NUMBERS = 1 << 24,  /* of a table read before the memory is looked at again */
    AHEAD_NUMBERS = 1 << 20, /* read at a time until it is known whether there are more */
    PIECE_NUMBERS = 1 << 17, /* of a stream read at a time: 1 MB */
    MAP_NUMBERS = 1 << 20,   /* and of features of a kernel, which threads make in blocks */
    LEAST_NUMBERS = 1 << 16, /* whose half megabyte is not worth a word */
    COLUMN_BYTES = 300,      /* of memory for a column beside its numbers: names, words, units */
    FEW_COLUMNS = 10000      /* whose bytes are not worth one: the method has the better sentence */
};

/* What is wrong with the data names it, and is not a wrong call. */
static fab_status of_data(const fab_regression *r, fab_status s)
{
    return fab_about(fab_data_name(&r->data), s == FAB_BAD_ARGUMENT ? FAB_BAD_DATA : s);
}

static fab_status read_rows(fab_regression *r, int64_t most)
{
    const int64_t before = r->table->n;
    const fab_status s = fab_feed_read(r->feed, most, r->table);
    r->rows += r->table->n - before;
    r->dropped = r->table->dropped;
    return of_data(r, s);
}

static int64_t at_most(int64_t rows, int64_t numbers, int64_t columns)
{
    const int64_t fit = numbers / columns > 0 ? numbers / columns : 1;
    return rows < fit ? rows : fit;
}

static double memory_limit(const fab_regression *r)
{
    return r->plan.memory > 0 ? r->plan.memory : fab_memory_free();
}

/* Numbers to read before the memory is looked at again: no more than a quarter of it holds, for the table doubles when it grows. */
static int64_t numbers_for(const fab_regression *r, int64_t most)
{
    const double fit = memory_limit(r) / (4 * sizeof(double));
    if (fit < LEAST_NUMBERS) return LEAST_NUMBERS;
    return fit < (double)most ? (int64_t)fit : most;
}

/* The table doubles when it grows; a sparse one has 12 bytes for each value. */
static fab_status check_table(fab_regression *r)
{
    const fab_dataset *t = r->table;
    const double bytes = t->packed ? 12.0 * (double)t->cells.values : 8.0 * (double)(t->n * t->D);
    r->limit = memory_limit(r);
    if (2 * bytes < r->limit || bytes <= 8.0 * LEAST_NUMBERS) return FAB_OK;
    r->large = FAB_LARGE_TABLE;
    r->needed = 2 * bytes;
    return FAB_FAIL(FAB_NO_MEMORY,
                    "%s: %lld rows of %lld columns and more are too many for %.3g MB of memory; "
                    "method lrvga reads them as a stream",
                    fab_data_name(&r->data), (long long)t->n, (long long)t->columns,
                    1e-6 * r->limit);
}

/* A libsvm file of one line may have 2e9 columns. */
static fab_status check_columns(fab_regression *r)
{
    const double columns = (double)fab_feed_columns(r->feed), limit = memory_limit(r);
    if (columns <= FEW_COLUMNS || columns * COLUMN_BYTES < limit) return FAB_OK;
    return FAB_FAIL(FAB_NO_MEMORY, "%s: %.0f columns are too many for %.3g MB of memory",
                    fab_data_name(&r->data), columns, 1e-6 * limit);
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

fab_status fab_regression_survey(fab_regression *r)
{
    fab_data again = r->data;
    fab_feed *feed;
    if (fab_feed_at_end(r->feed) || !fab_data_again(&r->data)) return FAB_OK;
    again.source = NULL;
    FAB_TRY(fab_feed_open_data(&feed, &again));
    fab_feed_watch(feed, &r->exec);
    fab_status s = r->left ? fab_feed_leave_out(feed, NULL, r->left) : FAB_OK;
    if (s == FAB_OK) s = fab_feed_survey(feed, r->table);
    fab_feed_close(feed);
    return of_data(r, s);
}

/* Note a column that names the rows. */
static fab_status note_key(fab_regression *r, int64_t c, char key)
{
    const fab_dataset *t = r->table;
    int64_t rows = 0;
    char *name;
    for (int64_t i = 0; i < t->n; i++) rows += !isnan(t->x[i * t->D + c]);
    FAB_TRY(fab_copy_text(&name, t->name[c]));
    r->key[r->keys++] = (fab_key){.column = name,
                                  .number = fab_feed_column(r->feed, c),
                                  .levels = t->words[c].n,
                                  .rows = rows,
                                  .left_out = key != FAB_KEY_REMARK};
    return FAB_OK;
}

/* Words of which each row has its own explain the rows at hand to the last digit, and no other. */
static fab_status nothing_left(const fab_regression *r)
{
    const fab_key *k = &r->key[0];
    char shown[FAB_SHOWN];
    const char *name = fab_show(shown, k->column, strlen(k->column));
    const int date = fab_feed_is_date(r->feed, 0);
    return FAB_FAIL(
        FAB_BAD_DATA,
        "%s: '%s' has %lld different words in %lld rows: it names the rows, and no other "
        "column is there to explain '%s'; %s%s%s--categorical %s reads it all the same",
        fab_data_name(&r->data), name, (long long)k->levels, (long long)k->rows,
        r->table->target_name, date ? "--dates numbers reads days, " : "",
        date ? "--dates parts year, month and weekday, " : "", date ? "and " : "", name);
}

/* Leave out what names the rows. */
static fab_status leave_keys(fab_regression *r)
{
    const fab_dataset *t = r->table;
    const int64_t columns = t->columns;
    int64_t left = 0, met = 0;
    char *named;
    FAB_TRY(fab_alloc_array((void **)&r->left, columns, 1, "regression"));
    FAB_TRY(fab_feed_named(r->feed, r->data.categorical, &named));
    const fab_status found = fab_dataset_keys(t, named, r->left);
    fab_release(named);
    FAB_TRY(found);
    for (int64_t c = 0; c < columns; c++) met += r->left[c] != FAB_KEY_NONE;
    if (met == 0) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&r->key, met, sizeof *r->key, "regression"));
    for (int64_t c = 0; c < columns; c++) {
        if (r->left[c]) FAB_TRY(note_key(r, c, r->left[c]));
        r->left[c] = r->left[c] == FAB_KEY_WORDS || r->left[c] == FAB_KEY_NUMBERS;
        left += r->left[c];
    }
    if (left == columns) return nothing_left(r);
    return left ? fab_feed_leave_out(r->feed, r->table, r->left) : FAB_OK;
}

fab_status fab_regression_open_rows(fab_regression *r)
{
    const int64_t rows =
        fab_map_rows(&r->map, r->plan.scale_rows ? r->plan.scale_rows : FAB_SCALE_ROWS);
    FAB_TRY(fab_feed_open_data(&r->feed, &r->data));
    fab_feed_watch(r->feed, &r->exec);
    FAB_TRY(check_columns(r));
    FAB_TRY(fab_feed_table(r->feed, &r->table));
    if (!r->table->target_name)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: its target, the column to explain, is not given",
                        fab_data_name(&r->data));
    int64_t more = at_most(rows, numbers_for(r, FIRST_NUMBERS), r->table->columns);
    const int64_t most = more;
    do { /* the first ones may all be left out; those of weight 0 are not there */
        const int64_t absent = fab_feed_weightless(r->feed);
        FAB_TRY(read_rows(r, more));
        FAB_TRY(check_table(r));
        more = fab_feed_weightless(r->feed) - absent;
        if (more == 0 && r->table->n == 0) more = most;
    } while (more > 0 && !fab_feed_at_end(r->feed));
    if (r->table->n == 0)
        return fab_about(fab_data_name(&r->data), fab_feed_no_rows(r->feed, r->table));
    FAB_TRY(leave_keys(r));
    return fab_dataset_levels(r->table, 2) < 2 ? fab_regression_survey(r) : FAB_OK; /* sorted? */
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

fab_status fab_regression_load_rows(fab_regression *r)
{
    while (!fab_feed_at_end(r->feed)) {
        const int64_t most = at_most(INT64_MAX, numbers_for(r, LOAD_NUMBERS), r->table->columns);
        FAB_TRY(read_rows(r, most));
        FAB_TRY(check_table(r));
    }
    if (r->table->n == 1 && r->dropped > 0)
        return fab_about(fab_data_name(&r->data), fab_feed_no_rows(r->feed, r->table));
    return FAB_OK;
}

fab_status fab_regression_read_on(fab_regression *r, int64_t columns, double most)
{
    const fab_dataset *t = r->table;
    const int64_t numbers = numbers_for(r, FIRST_NUMBERS), piece = numbers_for(r, AHEAD_NUMBERS);
    while (!fab_feed_at_end(r->feed) && (double)t->n * (double)columns <= most) {
        /* 12 bytes for a value of a sparse table; features of a kernel are to be made of the columns */
        const int64_t held = t->packed ? t->cells.values * 3 / 2
                                       : t->n * (columns > t->D ? columns : t->D);
        if (2 * held > numbers) break;
        FAB_TRY(read_rows(r, at_most(INT64_MAX, piece, columns)));
        FAB_TRY(check_table(r));
    }
    return FAB_OK;
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

fab_status fab_regression_open_scores(fab_regression *r, const fab_tensors *file)
{
    const fab_method *m = r->fit.what.method;
    const fab_field *forget = fab_settings_find(m->fields, "forget");
    const fab_glm *head = r->fit.net ? &fab_net_model(r->fit.net)->head : &r->fit.glm;
    const int64_t rows = fab_fit_rows(r->fit.fit);
    fab_prequential_plan plan = {.D = r->scaling->D,
                                 .units = r->scaling,
                                 .target = fab_likelihood_target(head->likelihood),
                                 .net = r->fit.net,
                                 .forget = 1,
                                 .threads = r->exec.threads};
    fab_prequential_free(r->ahead);
    r->ahead = NULL;
    if (!m->streams || r->exec.comm) return FAB_OK;
    if (r->fit.net && rows == 0) return FAB_OK; /* its first rows are trained with, all together */
    if (forget) plan.forget = fab_settings_number(m->fields, r->fit.settings, "forget");
    FAB_TRY(fab_prequential_create(&r->ahead, &plan));
    return rows > 0 ? fab_prequential_load(r->ahead, file, rows) : FAB_OK;
}

/* Predict some rows, then learn them. */
static fab_status learn(fab_regression *r)
{
    const fab_dataset *t = r->table;
    const fab_rows all = fab_dataset_rows(t);
    const fab_examples e = {all, t->y, t->weight, t->offset};
    const fab_glm *head = r->fit.net ? &fab_net_model(r->fit.net)->head : &r->fit.glm;
    if (!r->ahead || fab_examples_check(r->fit.what.method->name, head, &e) != FAB_OK)
        return fab_fitting_update(&r->fit, t); /* it refuses them by their numbers */
    fab_prequential_seen(r->ahead, fab_fit_rows(r->fit.fit));
    for (int64_t done = 0, n; done < t->n; done += n) {
        int due;
        n = fab_prequential_next(r->ahead, t->n - done, &due);
        if (due) {
            const fab_gauss *q;
            fab_glm m;
            int root;
            FAB_TRY(fab_fitting_so_far(&r->fit, &q, &root, &m));
            FAB_TRY(fab_prequential_take(r->ahead, due, q, root, &m));
        }
        const fab_rows x = fab_rows_part(&all, done, n);
        FAB_TRY(fab_prequential_score(r->ahead, &x, t->y + done,
                                      t->offset ? t->offset + done : NULL,
                                      t->residual ? t->residual + done : NULL, n));
        FAB_TRY(fab_fitting_update_part(&r->fit, t, done, n));
    }
    return FAB_OK;
}

static fab_status take_in(fab_regression *r)
{
    const fab_dataset *t = r->table;
    FAB_TRY(of_data(r, fab_scaling_apply_on(r->scaling, r->table, &r->exec)));
    if (t->y)
        for (int64_t i = 0; i < t->n; i++) r->counted |= t->y[i] != 0;
    if (r->fit.what.method->streams)
        FAB_TRY(fab_order_watch(&r->order, t->y, t->n, r->scaling->levels));
    return of_data(r, learn(r));
}

/* A piece ends where a save is due, counted from the first row of the data. */
static fab_status take_next(fab_regression *r)
{
    const int64_t every = r->plan.checkpoint;
    const int64_t until = every ? every - fab_feed_rows(r->feed) % every : INT64_MAX;
    fab_dataset_clear(r->table);
    FAB_TRY(read_rows(r, r->scaling->inputs ? at_most(until, MAP_NUMBERS, r->scaling->D)
                                            : at_most(until, PIECE_NUMBERS, r->table->columns)));
    if (r->table->n > 0) FAB_TRY(take_in(r));
    if (!every || fab_feed_at_end(r->feed) || fab_feed_rows(r->feed) % every != 0) return FAB_OK;
    return r->plan.output ? fab_regression_write(r, r->plan.output, 0) : FAB_OK;
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

/* What the fit reports to: whoever watches the regression; and every so many epochs of a network it stops, for a save. */
static int pause_tick(void *ctx, const char *what, int64_t done, int64_t total)
{
    fab_regression *r = ctx;
    const fab_watch w = fab_watch_of(&r->exec);
    r->pause.due = 0;
    if (fab_watch_tick(&w, what, done, total) != FAB_OK) return 1;
    if (!r->pause.every || total == 0 || done == r->pause.last) return 0; /* total 0: no epochs */
    r->pause.last = done;
    r->pause.due = done < total && done % r->pause.every == 0;
    return r->pause.due;
}

void fab_regression_watch(fab_regression *r)
{
    r->fit.exec.progress = pause_tick;
    r->fit.exec.progress_ctx = r;
}

static fab_status finish(fab_regression *r)
{
    const char *output = r->plan.output;
    const int saves = r->fit.net && output && r->plan.checkpoint;
    r->pause.every = saves ? r->plan.checkpoint : 0;
    r->pause.last = 0;
    fab_status saved = FAB_OK, s = fab_fitting_finish(&r->fit);
    while (s == FAB_STOPPED && r->pause.due && saved == FAB_OK) {
        saved = fab_regression_write(r, output, 1);
        if (saved == FAB_OK) s = fab_fitting_finish(&r->fit);
    }
    r->pause.every = 0;
    if (saved != FAB_OK) return saved;
    s = of_data(r, s);
    if (s == FAB_STOPPED && saves)
        (void)fab_regression_write(r, output, 1); /* the stop is what is said */
    return s;
}

/* The names and words of the columns stay. */
static void forget_rows(fab_dataset *t)
{
    fab_dataset_clear(t);
    fab_release(t->x);
    fab_release(t->y);
    fab_release(t->weight);
    fab_release(t->offset);
    fab_release(t->group);
    fab_release(t->residual);
    t->residual = NULL;
    fab_sparse_free(&t->cells);
    t->x = t->y = t->weight = t->offset = t->group = NULL;
    t->room = 0;
}

fab_status fab_regression_take_rows(fab_regression *r)
{
    if (r->table->n > 0) FAB_TRY(take_in(r));
    if (fab_method_continues(r->fit.what.method))
        while (!fab_feed_at_end(r->feed)) FAB_TRY(take_next(r));
    FAB_TRY(finish(r));
    FAB_TRY(of_data(r, fab_regression_note(r)));
    forget_rows(r->table);
    return FAB_OK;
}
