/* feed.c - rows of a source, some at a time, added to a table.
 *
 * SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "data/columns/formula.h"
#include "data/columns/table.h"
#include "data/source/words.h"
#include <math.h>
#include <string.h>

enum { PIECE = 1 << 17 }; /* numbers read at a time: 1 MB */
enum { ROWS = 1 << 12 };  /* sparse rows read at a time */

/* The words of a column that rows have which are there: `code` of the n of them, and the place of each code. */
typedef struct met {
    int64_t n, room, places;
    int64_t *code, *place; /* room; places: -1: not met */
} met;

struct fab_feed {
    fab_source *source;
    fab_roles role;
    fab_missing missing;
    int chooses; /* 1: the call says what becomes of missing values; 0: the fit that reads has said it */
    int64_t ordered;
    fab_source *labels;    /* the target comes from there, and stands behind the columns; or NULL */
    double *label;         /* most */
    int64_t columns, most; /* of a row; rows read at a time */
    int64_t rows;          /* read or skipped */
    int at_end;
    int packed;    /* rows stay sparse */
    double *piece; /* most x columns; NULL: they stay sparse */
    fab_watch watch;
    fab_source *owned, *owned_labels; /* closed with the feed; or NULL */
    fab_formula *formula;             /* of the call; NULL: none, or the scaling's */
    /* role.n: of columns whose numbers are levels, else NULL; NULL: no such column */
    fab_dictionary **levels;
    struct met *met; /* columns: the words of rows that are there; NULL: all are */
    int64_t met_columns;
    int64_t weightless; /* rows of weight 0, which are absent */
    /* role.n: rows left out in which the feature is missing; NULL: none is left out for one */
    int64_t *gaps;
};

/* ---- life ------------------------------------------------------------------------------------------ */

/* A libsvm file whose label is the target or left out, and whose features are all wanted in their order? */
static int stays_sparse(const fab_feed *f)
{
    const fab_roles *r = &f->role;
    const int beside = f->source->arrays ? (r->weight >= 0) + (r->offset >= 0) : 0;
    if (fab_source_format(f->source) != FAB_FORMAT_LIBSVM || r->n != f->columns - 1 - beside)
        return 0;
    for (int64_t c = 0; c < r->n; c++)
        if (r->feature[c] != c + 1) return 0;
    if (r->target > 0 || r->group >= 0) return 0;
    return f->source->arrays || (r->weight < 0 && r->offset < 0);
}

/* A dictionary for each column whose numbers are levels. */
static fab_status open_levels(fab_feed *f)
{
    if (!f->role.coded) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&f->levels, f->role.n, sizeof *f->levels, "feed"));
    for (int64_t c = 0; c < f->role.n; c++) f->levels[c] = NULL;
    for (int64_t c = 0; c < f->role.n; c++)
        if (f->role.coded[c]) FAB_TRY(fab_dictionary_create(&f->levels[c], "levels"));
    return FAB_OK;
}

/* The source need not look at columns that have no role: whatever stands there, words among numbers or nothing. */
static fab_status leave_unread(const fab_feed *f)
{
    const fab_roles *r = &f->role;
    const int64_t n = fab_source_columns(f->source);
    char **unread = &f->source->unread;
    int64_t left = 0;
    if (!*unread) FAB_TRY(fab_alloc_array((void **)unread, n, 1, "feed"));
    memset(*unread, 1, (size_t)n);
    for (int64_t c = 0; c < r->n; c++) (*unread)[r->feature[c]] = 0;
    if (r->target >= 0 && r->target < n)
        (*unread)[r->target] = 0; /* labels stand behind the columns */
    if (r->weight >= 0) (*unread)[r->weight] = 0;
    if (r->offset >= 0) (*unread)[r->offset] = 0;
    if (r->group >= 0) (*unread)[r->group] = 0;
    for (int64_t c = 0; c < n; c++) left += (*unread)[c];
    if (left) return FAB_OK;
    fab_release(*unread);
    *unread = NULL;
    return FAB_OK;
}

static fab_status start(fab_feed *f, fab_status found)
{
    if (found != FAB_OK) return found;
    FAB_TRY(open_levels(f));
    FAB_TRY(leave_unread(f));
    f->columns = fab_source_columns(f->source);
    f->packed = stays_sparse(f);
    if (f->packed) return FAB_OK;
    if (f->missing == FAB_MISSING_DROP) {
        FAB_TRY(fab_alloc_array((void **)&f->gaps, f->role.n, sizeof *f->gaps, "feed"));
        memset(f->gaps, 0, (size_t)f->role.n * sizeof *f->gaps);
    }
    f->most = PIECE / f->columns > 0 ? PIECE / f->columns : 1;
    if (f->role.weight >= 0 || f->missing != FAB_MISSING_REFUSE) {
        const int64_t all = f->columns + 1; /* and that of labels */
        FAB_TRY(fab_alloc_array((void **)&f->met, all, sizeof *f->met, "feed"));
        memset(f->met, 0, (size_t)all * sizeof *f->met);
        f->met_columns = all;
    }
    return fab_alloc_array((void **)&f->piece, f->most * f->columns, sizeof *f->piece, "feed");
}

static fab_status keep(fab_feed **f, fab_feed *new, fab_status s)
{
    *f = s == FAB_OK ? new : NULL;
    if (s != FAB_OK) fab_feed_close(new);
    return s;
}

fab_status fab_feed_open(fab_feed **f, fab_source *s, const fab_columns *c)
{
    fab_feed *new;
    *f = NULL;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "feed"));
    *new = (fab_feed){.source = s, .missing = c->missing, .chooses = 1, .ordered = c->ordered};
    return keep(f, new, start(new, fab_roles_find(&new->role, s, c, &new->formula)));
}

fab_status fab_feed_open_as(fab_feed **f, fab_source *s, const fab_scaling *k, fab_reading what)
{
    fab_feed *new;
    *f = NULL;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "feed"));
    *new = (fab_feed){.source = s, .missing = FAB_MISSING_REFUSE};
    if (k->fill && what != FAB_READ_FEATURES)
        new->missing = FAB_MISSING_MEAN; /* every row is to be predicted */
    if (!k->fill && what == FAB_READ_TARGET) new->missing = FAB_MISSING_DROP; /* and scored */
    return keep(f, new, start(new, fab_roles_find_as(&new->role, s, k, what)));
}

void fab_feed_watch(fab_feed *f, const fab_exec *x)
{
    f->watch = fab_watch_of(x);
    if (x && x->threads > 0) f->source->in.threads = x->threads;
}

void fab_feed_close(fab_feed *f)
{
    if (!f) return;
    if (f->levels)
        for (int64_t c = 0; c < f->role.n; c++) fab_dictionary_free(f->levels[c]);
    fab_release(f->levels);
    for (int64_t c = 0; c < f->met_columns; c++) {
        fab_release(f->met[c].code);
        fab_release(f->met[c].place);
    }
    fab_release(f->met);
    fab_release(f->gaps);
    fab_formula_free(f->formula);
    fab_release(f->role.feature);
    fab_release(f->role.coded);
    fab_release(f->role.named);
    fab_release(f->piece);
    fab_release(f->label);
    fab_source_close(f->owned);
    fab_source_close(f->owned_labels);
    fab_release(f);
}

fab_status fab_feed_set_formula(fab_feed **f, const char *text)
{
    fab_status s = fab_formula_read(&(*f)->formula, text);
    if (s == FAB_OK && (*f)->formula->columns != (*f)->role.n)
        s = FAB_FAIL(FAB_BAD_ARGUMENT, "table: its columns are not those of its formula");
    if (s == FAB_OK) return FAB_OK;
    fab_feed_close(*f);
    *f = NULL;
    return s;
}

void fab_feed_own(fab_feed *f, fab_source *s, fab_source *labels)
{
    if (s) f->owned = s;
    if (labels) f->owned_labels = labels;
}

fab_status fab_feed_set_labels(fab_feed *f, fab_source *labels)
{
    double *piece;
    if (fab_source_columns(labels) != 1)
        return FAB_FAIL(FAB_BAD_DATA, "labels are one column, and the file has %lld",
                        (long long)fab_source_columns(labels));
    if (f->packed || f->role.target >= 0 || f->labels)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "the rows have their target with them: labels are one more");
    FAB_TRY(fab_alloc_array((void **)&f->label, f->most, sizeof *f->label, "feed"));
    FAB_TRY(fab_alloc_array((void **)&piece, f->most * (f->columns + 1), sizeof *piece, "feed"));
    fab_release(f->piece);
    f->piece = piece;
    f->labels = labels;
    f->role.target = f->columns++;
    return FAB_OK;
}

int fab_feed_at_end(const fab_feed *f)
{
    return f->at_end;
}

int64_t fab_feed_columns(const fab_feed *f)
{
    return f->role.n;
}

int64_t fab_feed_rows(const fab_feed *f)
{
    return f->rows;
}

int64_t fab_feed_weightless(const fab_feed *f)
{
    return f->weightless;
}

fab_status fab_feed_skip(fab_feed *f, int64_t rows)
{
    FAB_TRY(fab_source_skip(f->source, rows));
    if (f->labels) FAB_TRY(fab_source_skip(f->labels, rows));
    f->rows += rows;
    return FAB_OK;
}

/* ---- an empty table -------------------------------------------------------------------------------- */

static fab_status name_columns(fab_dataset *t, const fab_feed *f)
{
    if (!fab_source_name(f->source, 0)) return FAB_NO_MEMORY; /* which it has said */
    FAB_TRY(fab_names_create(&t->name, t->columns));
    FAB_TRY(fab_alloc_array((void **)&t->words, t->columns, sizeof *t->words, "table"));
    memset(t->words, 0, (size_t)t->columns * sizeof *t->words);
    for (int64_t c = 0; c < t->columns; c++) {
        const char *name = fab_source_name(f->source, f->role.feature[c]);
        if (f->role.coded && f->role.coded[c]) {
            fab_text text = {0};
            fab_text_add(&text, "C(%s)", name);
            FAB_TRY(fab_text_give(&text, &t->name[c]));
        } else {
            FAB_TRY(fab_copy_text(&t->name[c], name));
        }
    }
    if (f->formula) {
        FAB_TRY(fab_copy_text(&t->formula, f->formula->text));
        t->no_intercept = f->formula->no_intercept;
    }
    FAB_TRY(fab_copy_text(&t->target_name,
                          f->labels ? "label" : fab_source_name(f->source, f->role.target)));
    FAB_TRY(fab_copy_text(&t->weight_name, fab_source_name(f->source, f->role.weight)));
    FAB_TRY(fab_copy_text(&t->group_name, fab_source_name(f->source, f->role.group)));
    if (!f->role.log_offset)
        return fab_copy_text(&t->offset_name, fab_source_name(f->source, f->role.offset));
    fab_text text = {0}; /* as it was asked for, and will be again */
    fab_text_add(&text, "log:%s", fab_source_name(f->source, f->role.offset));
    return fab_text_give(&text, &t->offset_name);
}

fab_status fab_feed_table(const fab_feed *f, fab_dataset **t)
{
    fab_dataset *new;
    *t = NULL;
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "table"));
    *new = (fab_dataset){.D = f->role.n,
                         .columns = f->role.n,
                         .fills = f->missing == FAB_MISSING_MEAN,
                         .packed = f->packed,
                         .ordered = f->ordered,
                         .dialect = *fab_source_dialect(f->source),
                         .sparse = fab_source_format(f->source) == FAB_FORMAT_LIBSVM};
    const fab_status s = name_columns(new, f);
    if (s == FAB_OK)
        *t = new;
    else
        fab_dataset_free(new);
    return s;
}

/* ---- fewer columns --------------------------------------------------------------------------------- */

int64_t fab_feed_column(const fab_feed *f, int64_t c)
{
    return f->role.feature[c];
}

int fab_feed_is_date(const fab_feed *f, int64_t c)
{
    return fab_source_is_date(f->source, f->role.feature[c]);
}

fab_status fab_feed_named(const fab_feed *f, const char *list, char **named)
{
    const fab_roles *r = &f->role;
    char *mark;
    *named = NULL;
    FAB_TRY(fab_alloc_array((void **)&mark, fab_source_columns(f->source) + r->n, 1, "feed"));
    char *new = mark + fab_source_columns(f->source);
    memset(mark, 0, (size_t)fab_source_columns(f->source));
    fab_status s = list ? fab_columns_mark(f->source, list, mark) : FAB_OK;
    for (int64_t c = 0; c < r->n; c++) new[c] = (r->named && r->named[c]) || mark[r->feature[c]];
    memmove(mark, new, (size_t)r->n);
    if (s == FAB_OK)
        *named = mark;
    else
        fab_release(mark);
    return s;
}

/* A table without them: its rows grow narrower in place. */
static fab_status narrow(fab_dataset *t, const fab_formula *f, const char *out)
{
    int64_t kept = 0;
    for (int64_t i = 0, to = 0; i < t->n; i++)
        for (int64_t c = 0; c < t->columns; c++)
            if (!out[c]) t->x[to++] = t->x[i * t->D + c];
    for (int64_t c = 0; c < t->columns; c++) {
        if (out[c]) {
            fab_release(t->name[c]);
            fab_names_free(t->words[c].word, t->words[c].n);
            continue;
        }
        t->name[kept] = t->name[c];
        t->words[kept++] = t->words[c];
    }
    t->columns = t->D = kept;
    if (!f) return FAB_OK;
    fab_release(t->formula);
    t->formula = NULL;
    return fab_copy_text(&t->formula, f->text);
}

fab_status fab_feed_leave_out(fab_feed *f, fab_dataset *t, const char *out)
{
    fab_roles *r = &f->role;
    int64_t kept = 0;
    if (f->formula) FAB_TRY(fab_formula_without(&f->formula, out));
    for (int64_t c = 0; c < r->n; c++) {
        if (out[c]) {
            if (f->levels) fab_dictionary_free(f->levels[c]);
            continue;
        }
        if (f->levels) f->levels[kept] = f->levels[c];
        if (f->gaps) f->gaps[kept] = f->gaps[c];
        if (r->coded) r->coded[kept] = r->coded[c];
        if (r->named) r->named[kept] = r->named[c];
        r->feature[kept++] = r->feature[c];
    }
    r->n = kept;
    FAB_TRY(leave_unread(f));
    return t ? narrow(t, f->formula, out) : FAB_OK;
}

/* ---- rows ------------------------------------------------------------------------------------------ */

static fab_status grow_array(double **a, int64_t used, int64_t room)
{
    double *new;
    FAB_TRY(fab_alloc_array((void **)&new, room, sizeof *new, "table"));
    if (used) memcpy(new, *a, (size_t)used * sizeof *new);
    fab_release(*a);
    *a = new;
    return FAB_OK;
}

static fab_status make_room(fab_dataset *t, const fab_roles *r, int64_t rows)
{
    if (rows <= t->room) return FAB_OK;
    const int64_t room = 2 * t->n > rows ? 2 * t->n : rows;
    t->room = 0; /* until all have grown */
    if (!t->packed) FAB_TRY(grow_array(&t->x, t->n * t->D, room * t->D));
    if (r->target >= 0) FAB_TRY(grow_array(&t->y, t->n, room));
    if (r->weight >= 0) FAB_TRY(grow_array(&t->weight, t->n, room));
    if (r->offset >= 0) FAB_TRY(grow_array(&t->offset, t->n, room));
    if (r->group >= 0) FAB_TRY(grow_array(&t->group, t->n, room));
    t->room = room;
    return FAB_OK;
}

static int absent(const double *row, int64_t column)
{
    return column >= 0 && isnan(row[column]);
}

/* Which features made the row be left out? */
static void count_gaps(fab_feed *f, const double *row)
{
    if (f->gaps)
        for (int64_t c = 0; c < f->role.n; c++) f->gaps[c] += absent(row, f->role.feature[c]);
}

fab_status fab_feed_no_rows(const fab_feed *f, const fab_dataset *t)
{
    const char *left = t->n ? "one row alone is left" : "no row is left";
    const char *each = t->n ? "the other" : "each of the";
    int64_t worst = 0;
    if (t->dropped == 0 && f->weightless)
        return FAB_FAIL(FAB_BAD_DATA,
                        "every weight is zero: none of the %lld rows is there; expected a number > "
                        "0 in column '%s'",
                        (long long)f->weightless, t->weight_name);
    if (t->dropped == 0) return FAB_FAIL(FAB_BAD_DATA, "there are no rows");
    if (f->gaps)
        for (int64_t c = 1; c < f->role.n; c++)
            if (f->gaps[c] > f->gaps[worst]) worst = c;
    if (!f->gaps || f->role.n == 0 || f->gaps[worst] == 0)
        return FAB_FAIL(FAB_BAD_DATA, "%s: a value is missing in %s %lld rows", left, each,
                        (long long)t->dropped);
    return FAB_FAIL(FAB_BAD_DATA,
                    "%s: a value is missing in %s %lld rows, in %lld of them "
                    "that of '%s'; leave columns with many gaps out (--exclude), or fill them "
                    "(--missing mean)",
                    left, each, (long long)t->dropped, (long long)f->gaps[worst], t->name[worst]);
}

/* Shall the row be left out? */
static int is_dropped(const fab_feed *f, const double *row)
{
    const fab_roles *r = &f->role;
    if (f->missing == FAB_MISSING_REFUSE) return 0;
    if (absent(row, r->target) || absent(row, r->weight) || absent(row, r->offset) ||
        absent(row, r->group))
        return 1;
    if (f->missing == FAB_MISSING_DROP)
        for (int64_t c = 0; c < r->n; c++)
            if (absent(row, r->feature[c])) return 1;
    return 0;
}

/* ---- rows of weight 0, and words of rows that are there ------------------------------------------------- */

static int is_absent(const fab_feed *f, const double *row)
{
    return f->role.weight >= 0 && row[f->role.weight] == 0;
}

/* Does the source find the words of its column c while it reads?  Those of arrays with codes are given: they stay. */
static int finds_words(const fab_feed *f, int64_t c)
{
    const fab_source *s = c < fab_source_columns(f->source) ? f->source : f->labels;
    const int64_t column = s == f->source ? c : 0;
    return s && fab_source_is_words(s, column) && !fab_arrays_words_given(s, column);
}

/* Room for one more of a number of things that double. */
static fab_status grow_codes(int64_t **a, int64_t used, int64_t room)
{
    int64_t *new;
    FAB_TRY(fab_alloc_array((void **)&new, room, sizeof *new, "feed"));
    if (used) memcpy(new, *a, (size_t)used * sizeof *new);
    fab_release(*a);
    *a = new;
    return FAB_OK;
}

/* The words of a row that is there, which get the codes of their order among such rows. */
static fab_status meet_words(fab_feed *f, double *row)
{
    if (!f->met) return FAB_OK;
    for (int64_t c = 0; c < f->columns; c++) {
        met *m = &f->met[c];
        if (isnan(row[c]) || !finds_words(f, c)) continue;
        const int64_t code = (int64_t)row[c];
        if (code >= m->places) {
            const int64_t places = 2 * code + 16;
            FAB_TRY(grow_codes(&m->place, m->places, places));
            while (m->places < places) m->place[m->places++] = -1;
        }
        if (m->place[code] < 0) {
            if (m->n == m->room) {
                FAB_TRY(grow_codes(&m->code, m->n, 2 * m->room + 16));
                m->room = 2 * m->room + 16;
            }
            m->code[m->n] = code;
            m->place[code] = m->n++;
        }
        row[c] = (double)m->place[code];
    }
    return FAB_OK;
}

/* A number that is a level: its code. */
static fab_status code_level(fab_dictionary *w, double *x)
{
    enum { LONGEST = 32 }; /* of a number */
    char *to;
    int64_t code;
    if (isnan(*x)) return FAB_OK;
    FAB_TRY(fab_dictionary_room(w, LONGEST, &to));
    const int length = fab_print_double(to, LONGEST, *x);
    FAB_TRY(fab_dictionary_code(w, (size_t)length, &code));
    if (code == FAB_WORDS_MAX)
        return FAB_FAIL(FAB_BAD_DATA,
                        "formula: a column of C(..) has more than %d different numbers",
                        FAB_WORDS_MAX);
    *x = (double)code;
    return FAB_OK;
}

static fab_status take_row(const fab_feed *f, fab_dataset *t, const double *row)
{
    const fab_roles *r = &f->role;
    double *x = t->x + t->n * t->D;
    for (int64_t c = 0; c < t->D; c++) x[c] = row[r->feature[c]];
    if (f->levels)
        for (int64_t c = 0; c < t->D; c++)
            if (f->levels[c]) FAB_TRY(code_level(f->levels[c], &x[c]));
    if (r->target >= 0) t->y[t->n] = row[r->target];
    if (r->weight >= 0) t->weight[t->n] = row[r->weight];
    if (r->group >= 0) t->group[t->n] = row[r->group];
    if (r->offset >= 0) t->offset[t->n] = r->log_offset ? log(row[r->offset]) : row[r->offset];
    if (r->offset >= 0 && !isnan(row[r->offset]) && !isfinite(t->offset[t->n]))
        return FAB_FAIL(
            FAB_BAD_DATA,
            "offset '%s': row %lld (from 0) has %g, expected more than 0 for its logarithm",
            t->offset_name, (long long)t->n, row[r->offset]);
    t->n++;
    return FAB_OK;
}

/* Words that the source has met since; `levels`, or NULL: those of a column whose numbers are levels; `only`, or NULL: those
 * of rows that are there. */
static fab_status add_words(fab_words *w, const fab_source *s, int64_t column,
                            const fab_dictionary *levels, const met *only)
{
    int64_t n = column >= 0 ? fab_source_words(s, column) : 0;
    char **word;
    if (levels) n = levels->count;
    if (only) n = only->n;
    if (n <= w->n) return FAB_OK;
    FAB_TRY(fab_names_create(&word, n));
    if (w->n) memcpy(word, w->word, (size_t)w->n * sizeof *word);
    fab_release(w->word);
    w->word = word;
    for (; w->n < n; w->n++) {
        const int64_t code = only ? only->code[w->n] : w->n;
        const char *new = levels ? levels->word[w->n] : fab_source_word(s, column, code);
        FAB_TRY(fab_copy_text(&word[w->n], new));
    }
    return FAB_OK;
}

static const met *met_in(const fab_feed *f, int64_t column)
{
    return f->met && column >= 0 && finds_words(f, column) ? &f->met[column] : NULL;
}

static fab_status keep_words(const fab_feed *f, fab_dataset *t)
{
    const int64_t target = f->role.target;
    for (int64_t c = 0; c < t->columns; c++)
        FAB_TRY(add_words(&t->words[c], f->source, f->role.feature[c],
                          f->levels ? f->levels[c] : NULL, met_in(f, f->role.feature[c])));
    if (f->labels) return add_words(&t->target_words, f->labels, 0, NULL, met_in(f, target));
    return add_words(&t->target_words, f->source, target, NULL, met_in(f, target));
}

/* The labels of `got` rows (0: the end, where there must be none left), behind the columns of each. */
static fab_status add_labels(fab_feed *f, int64_t got)
{
    const int64_t width = f->columns;
    int64_t labels;
    const fab_status s = fab_source_next(f->labels, got ? got : 1, f->label, &labels);
    if (s == FAB_MISSING_VALUE)
        return FAB_FAIL(FAB_BAD_DATA, "%s, and every row needs its label", fab_detail());
    FAB_TRY(s);
    if (labels != got)
        return FAB_FAIL(FAB_BAD_DATA, "there are %s labels than rows: row %lld has %s",
                        labels < got ? "fewer" : "more", (long long)(f->rows + labels),
                        labels < got ? "none" : "no columns");
    for (int64_t i = got - 1; i >= 0; i--) {
        memmove(f->piece + i * width, f->piece + i * (width - 1),
                (size_t)(width - 1) * sizeof *f->piece);
        f->piece[i * width + width - 1] = f->label[i];
    }
    return FAB_OK;
}

/* A missing value of a feature could be filled; a row without one of these can only be left out. */
static fab_status refuse_gap(const fab_feed *f)
{
    const int64_t role[] = {f->role.target, f->role.weight, f->role.offset, f->role.group};
    const char *const name[] = {"target", "weight", "offset", "group"};
    for (int i = 0; i < 4; i++)
        if (role[i] >= 0 && role[i] == f->source->gap - 1)
            return FAB_FAIL(FAB_BAD_DATA, "%s, of the %s%s", fab_detail(), name[i],
                            f->chooses ? "; --missing drop leaves the row out"
                                       : ": such a row can only be left out");
    return FAB_MISSING_VALUE;
}

static fab_status next(fab_feed *f, int64_t most, int64_t *got)
{
    const fab_status s = fab_source_next(f->source, most < f->most ? most : f->most, f->piece, got);
    if (s == FAB_MISSING_VALUE) return refuse_gap(f);
    FAB_TRY(s);
    return f->labels ? add_labels(f, *got) : FAB_OK;
}

static fab_status tick(const fab_feed *f)
{
    int64_t done, total;
    fab_source_position(f->source, &done, &total);
    return fab_watch_tick(&f->watch, "read", done, total);
}

/* Close up over the sparse rows behind t->n whose weight is 0. */
static void leave_weightless(fab_feed *f, fab_dataset *t)
{
    fab_sparse *r = &t->cells;
    int64_t kept = t->n, at = r->start[kept];
    for (int64_t i = t->n; i < r->n; i++) {
        const int64_t from = r->start[i], n = r->start[i + 1] - from;
        if (t->weight[i] == 0) {
            f->weightless++;
            continue;
        }
        memmove(r->index + at, r->index + from, (size_t)n * sizeof *r->index);
        memmove(r->value + at, r->value + from, (size_t)n * sizeof *r->value);
        at += n;
        r->label[kept] = r->label[i];
        t->weight[kept] = t->weight[i];
        if (t->offset) t->offset[kept] = t->offset[i];
        r->start[++kept] = at;
    }
    r->n = kept;
    r->values = at;
}

/* Weights and offsets of the sparse rows behind t->n, which stand beside them in arrays. */
static fab_status take_beside(fab_feed *f, fab_dataset *t)
{
    const fab_roles *r = &f->role;
    const int64_t more = t->cells.n - t->n, first = f->rows - more;
    if (r->weight < 0 && r->offset < 0) return FAB_OK;
    FAB_TRY(make_room(t, r, t->cells.n));
    if (r->offset >= 0)
        FAB_TRY(fab_arrays_beside(f->source, r->offset, first, more, t->offset + t->n));
    if (r->weight < 0) return FAB_OK;
    FAB_TRY(fab_arrays_beside(f->source, r->weight, first, more, t->weight + t->n));
    leave_weightless(f, t);
    return FAB_OK;
}

static fab_status read_sparse(fab_feed *f, int64_t most, fab_dataset *t)
{
    int64_t got;
    t->packed = 1;
    for (int64_t left = most; left > 0 && !f->at_end; left -= got) {
        FAB_TRY(fab_source_next_sparse(f->source, left < ROWS ? left : ROWS, &t->cells, &got));
        f->rows += got;
        f->at_end = got == 0;
        FAB_TRY(tick(f));
    }
    if (t->cells.n > t->n) FAB_TRY(take_beside(f, t));
    if (f->role.target >= 0 && t->cells.n > t->n) {
        FAB_TRY(make_room(t, &f->role, t->cells.n));
        memcpy(t->y + t->n, t->cells.label + t->n, (size_t)(t->cells.n - t->n) * sizeof *t->y);
    }
    t->n = t->cells.n;
    return f->source->words ? keep_words(f, t) : FAB_OK;
}

fab_status fab_feed_read(fab_feed *f, int64_t most, fab_dataset *t)
{
    int64_t got = 1;
    if (f->packed) return read_sparse(f, most, t);
    for (int64_t left = most; left > 0 && !f->at_end; left -= got) {
        FAB_TRY(next(f, left, &got));
        FAB_TRY(make_room(t, &f->role, t->n + got));
        for (int64_t i = 0; i < got; i++) {
            double *row = f->piece + i * f->columns;
            if (is_absent(f, row)) {
                f->weightless++;
                continue;
            }
            if (is_dropped(f, row)) {
                t->dropped++;
                count_gaps(f, row);
            } else {
                FAB_TRY(meet_words(f, row));
                FAB_TRY(take_row(f, t, row));
            }
        }
        f->rows += got;
        f->at_end = got == 0;
        FAB_TRY(tick(f));
    }
    return keep_words(f, t);
}

/* ---- a look through --------------------------------------------------------------------------------- */

static fab_status survey_levels(fab_dataset *t)
{
    if (t->level) return FAB_OK;
    return fab_alloc_array((void **)&t->level, FAB_MOST_LEVELS + 1, sizeof *t->level, "table");
}

static fab_status survey_sparse(fab_feed *f, fab_dataset *t, fab_sparse *rows)
{
    while (!f->at_end) {
        int64_t got;
        rows->n = rows->values = 0;
        FAB_TRY(fab_source_next_sparse(f->source, ROWS, rows, &got));
        if (f->role.target >= 0) fab_levels_add(rows->label, got, t->level, &t->levels);
        f->rows += got;
        f->at_end = got == 0;
        FAB_TRY(tick(f));
    }
    return FAB_OK;
}

fab_status fab_feed_survey(fab_feed *f, fab_dataset *t)
{
    const int64_t target = f->role.target;
    FAB_TRY(survey_levels(t));
    if (f->packed) {
        fab_sparse rows = {0};
        const fab_status s = survey_sparse(f, t, &rows);
        fab_sparse_free(&rows);
        return s == FAB_OK && f->source->words ? keep_words(f, t) : s;
    }
    while (!f->at_end) {
        int64_t got;
        FAB_TRY(next(f, f->most, &got));
        for (int64_t i = 0; i < got; i++) {
            double *row = f->piece + i * f->columns;
            if (is_absent(f, row) || is_dropped(f, row)) continue;
            FAB_TRY(meet_words(f, row));
            if (target >= 0) fab_levels_add(row + target, 1, t->level, &t->levels);
            if (f->levels)
                for (int64_t c = 0; c < f->role.n; c++) {
                    double level = row[f->role.feature[c]];
                    if (f->levels[c]) FAB_TRY(code_level(f->levels[c], &level));
                }
        }
        f->rows += got;
        f->at_end = got == 0;
        FAB_TRY(tick(f));
    }
    return keep_words(f, t);
}
