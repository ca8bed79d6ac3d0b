/* ahead.c - rows of text read some thousand at a time, on several threads.
 *
 *     window:   | row row .. | row row .. | row row .. | part of a row |
 *                 piece 0      piece 1      piece 2      stays for the next block
 *
 *  1  See as many bytes as come without waiting, up to one piece for each thread, and cut them into pieces at line ends.
 *  2  Side by side, each piece: every line by itself is a row that can be read whatever stands before it, or it is not.  A row
 *     that can: its values, and where it began and ended.  Of a cell of words: the number of its spelling.
 *  3  One after the other, as rows are asked for: the row that begins where the last one ended is handed out, its words get their
 *     codes in the order of meeting them.
 *  4  No row was read there: the caller reads it slowly, from the window, as if nothing had been read ahead.
 *
 * A line inside of a quoted field is no row, and step 2 cannot know.  Step 3 does: the slow reader of step 4 has taken it with
 * the row that it belongs to, and no row is handed out that does not begin where another ended.  So nothing hangs on
 * where pieces begin, nor on how many threads there are, and every sentence about what is wrong is that of the slow reader.
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/ahead.h"
#include "base/memory.h"
#include "data/source/cells.h"
#include "data/source/spellings.h"
#include "la/threads.h"
#include <math.h>
#include <string.h>

enum {
    MOST_PIECES = 16,
    PIECE = 1 << 19,      /* bytes: stays in the cache of a core, and some 0.5 ms of work */
    PIECE_MOST = 1 << 22, /* of rows with very many columns */
    ROW_BYTES = 128,      /* of a piece for each column, at least */
    LEAST = 1 << 16,      /* bytes in sight below which the caller reads them all */
    MOST_WORD_COLUMNS = 64
};

/* One row that was read, and the blank lines and comments in front of it. */
typedef struct record {
    uint32_t begin, end; /* in the block */
    uint32_t lines;
} record;

typedef struct piece {
    size_t begin, end; /* of the block, at line ends */
    int64_t rows;
    record *row;              /* most_rows */
    double *x;                /* most_rows x columns */
    fab_spellings *spellings; /* words */
} piece;

struct fab_ahead {
    int pieces;
    size_t bytes, least;  /* of a piece; of a block */
    int64_t most_rows;    /* of a piece */
    int64_t words, named; /* columns of words, and those with the name of the row behind them */
    int64_t *column;      /* words + named */
    int64_t *place;       /* columns: which column of words it is */
    piece *piece;         /* pieces */

    int64_t from, until; /* the block, in bytes of the stream */
    int at;              /* piece */
    int64_t next;        /* row of it */
};

typedef struct job {
    const fab_source *s;
    fab_ahead *a;
    fab_row_fn *row;
    fab_split_fn *split;
    const char *block;
    size_t line_most;
} job;

/* ---- a piece ------------------------------------------------------------------------------------- */

/* One line as fab_lines_next reads it: 1: into out; 0: not so. */
static int read_line(const job *j, piece *p, const char *from, const char *end, double *out)
{
    const fab_source *s = j->s;
    const int plain = !s->words && !s->form;
    if (plain && !s->left && j->row(s, from, end, out) && !fab_lines_has_na(s, out)) return 1;
    if (s->left) {
        fab_cut index;
        from = j->split(s, from, end, &index);
        if (!from) return 0;
        if (plain && j->row(s, from, end, out) && !fab_lines_has_na(s, out)) return 1;
    }
    return fab_cells_try(s, j->split, (fab_span){from, (size_t)(end - from)}, out, p->spellings,
                         j->a->place);
}

static void read_piece(void *ctx, int64_t i, int thread)
{
    const job *j = ctx;
    const fab_source *s = j->s;
    piece *p = &j->a->piece[i];
    size_t begin = p->begin; /* of the row, blank lines included */
    uint32_t lines = 0;
    (void)thread;
    p->rows = 0;
    for (size_t at = p->begin; at < p->end && p->rows < j->a->most_rows;) {
        const char *line = j->block + at, *stop = memchr(line, '\n', p->end - at);
        size_t n = (size_t)(stop - line);
        const size_t after = at + n + 1;
        const int fits = n < j->line_most;
        if (n && line[n - 1] == '\r') n--;
        at = after;
        lines++;
        if (fits && ((s->comment && n && line[0] == s->comment) ||
                     fab_lines_is_blank(s, (fab_span){line, n})))
            continue;
        if (fits && read_line(j, p, line, line + n, p->x + p->rows * s->columns))
            p->row[p->rows++] = (record){(uint32_t)begin, (uint32_t)after, lines};
        begin = after;
        lines = 0;
    }
}

/* ---- a block ------------------------------------------------------------------------------------- */

void fab_ahead_free(fab_ahead *a)
{
    if (!a) return;
    for (int i = 0; a->piece && i < a->pieces; i++) {
        for (int64_t w = 0; a->piece[i].spellings && w < a->words; w++)
            fab_spellings_free(&a->piece[i].spellings[w]);
        fab_release(a->piece[i].spellings);
        fab_release(a->piece[i].row);
        fab_release(a->piece[i].x);
    }
    fab_release(a->piece);
    fab_release(a->column);
    fab_release(a->place);
    fab_release(a);
}

static fab_status make_pieces(fab_source *s, fab_ahead *a)
{
    const char *name = s->in.name;
    void *p;
    FAB_TRY(fab_alloc_array(&p, a->pieces, sizeof *a->piece, name));
    memset(p, 0, (size_t)a->pieces * sizeof *a->piece);
    a->piece = p;
    FAB_TRY(fab_alloc_array((void **)&a->place, s->columns, sizeof *a->place, name));
    FAB_TRY(fab_alloc_array((void **)&a->column, s->columns, sizeof *a->column, name));
    for (int64_t c = 0; c < s->columns; c++) {
        a->place[c] = a->words;
        if (s->words && s->words[c]) a->column[a->words++] = c;
    }
    for (int64_t c = 0; s->form && c < s->columns; c++)
        if (s->form[c].row_name) a->column[a->words + a->named++] = c;
    for (int i = 0; i < a->pieces; i++) {
        piece *one = &a->piece[i];
        FAB_TRY(fab_alloc_array((void **)&one->row, a->most_rows, sizeof *one->row, name));
        FAB_TRY(fab_alloc_array((void **)&one->x, a->most_rows * s->columns, sizeof *one->x, name));
        if (a->words == 0) continue;
        FAB_TRY(fab_alloc_array(&p, a->words, sizeof *one->spellings, name));
        memset(p, 0, (size_t)a->words * sizeof *one->spellings);
        one->spellings = p;
        for (int64_t w = 0; w < a->words; w++)
            FAB_TRY(fab_spellings_grow(&one->spellings[w], name));
    }
    return FAB_OK;
}

static fab_status create(fab_source *s)
{
    void *p;
    const int64_t threads = s->in.threads > 0 ? s->in.threads : fab_cores();
    FAB_TRY(fab_alloc_array(&p, 1, sizeof(fab_ahead), s->in.name));
    fab_ahead *a = p;
    *a = (fab_ahead){.pieces = threads < MOST_PIECES ? (int)threads : MOST_PIECES,
                     .bytes = s->piece,
                     .least = s->piece ? 1 : LEAST};
    s->ahead = a;
    if (a->bytes == 0) {
        a->bytes = s->columns < PIECE_MOST / ROW_BYTES ? (size_t)(s->columns * ROW_BYTES)
                                                       : PIECE_MOST;
        if (a->bytes < PIECE) a->bytes = PIECE;
    }
    a->most_rows = (int64_t)a->bytes / s->columns + 1; /* each field has a byte behind it */
    return FAB_OK;
}

/* May this source be read ahead at all?  Not a small one or through a small window, not where most rows are passed over, nor where words would take too much. */
static int may_be(const fab_source *s)
{
    int64_t words = 0;
    const int small = s->in.total > 0 && s->in.total < LEAST && !s->in.unpack;
    if (!s->piece && (small || s->in.first_room < FAB_STREAM_ROOM)) return 0;
    for (int64_t c = 0; s->words && c < s->columns; c++) words += s->words[c] != NULL;
    return !s->kept && words <= MOST_WORD_COLUMNS && s->columns <= PIECE_MOST / 32;
}

/* 1: cut the n bytes of the block at line ends; what is behind the last of them is for the next block. */
static void cut(fab_ahead *a, const char *block, size_t n)
{
    size_t begin = 0;
    while (n > 0 && block[n - 1] != '\n') n--;
    for (int i = 0; i < a->pieces; i++) {
        size_t end = i + 1 < a->pieces ? n / (size_t)a->pieces * (size_t)(i + 1) : n;
        if (end < begin) end = begin;
        if (end < n) {
            const char *stop = memchr(block + end, '\n', n - end);
            end = (size_t)(stop - block) + 1;
        }
        a->piece[i].begin = begin;
        a->piece[i].end = begin = end;
        a->piece[i].rows = 0;
    }
    a->until = a->from + (int64_t)n;
}

/* 1, 2 */
static fab_status read_block(fab_source *s, fab_row_fn *row, fab_split_fn *split)
{
    fab_ahead *a = s->ahead;
    fab_span seen;
    FAB_TRY(fab_stream_gather(&s->in, (size_t)a->pieces * a->bytes, &seen));
    a->from = s->in.taken;
    a->until = a->from + (int64_t)seen.n;
    a->at = a->pieces;
    if (seen.n < a->least) return FAB_OK;
    if (!a->piece && make_pieces(s, a) != FAB_OK) { /* there is memory for a row at a time */
        fab_ahead_free(a);
        s->ahead = NULL;
        s->alone = 1;
        return FAB_OK;
    }
    for (int i = 0; i < a->pieces; i++)
        for (int64_t w = 0; w < a->words; w++)
            if (a->piece[i].spellings[w].full)
                (void)fab_spellings_grow(&a->piece[i].spellings[w], s->in.name);
    cut(a, seen.p, seen.n);
    const job j = {s, a, row, split, seen.p, fab_stream_line_most(&s->in)};
    fab_parallel(a->pieces, a->pieces, read_piece, (void *)(uintptr_t)&j);
    a->at = 0;
    a->next = 0;
    return FAB_OK;
}

/* ---- row by row ---------------------------------------------------------------------------------- */

/* 3: the row that begins where the stream is; NULL: none was read there. */
static const record *find(fab_ahead *a, int64_t at)
{
    for (; a->at < a->pieces; a->at++, a->next = 0) {
        const piece *p = &a->piece[a->at];
        if (a->from + (int64_t)p->end <= at) continue;
        while (a->next < p->rows && a->from + p->row[a->next].begin < at) a->next++;
        if (a->next == p->rows) {
            if (a->from + (int64_t)p->end > at) return NULL;
            continue;
        }
        return a->from + p->row[a->next].begin == at ? &p->row[a->next] : NULL;
    }
    return NULL;
}

/* 3: the codes of spellings; 0: a word that cannot be. */
static int take_words(fab_source *s, piece *p, double *out)
{
    const fab_ahead *a = s->ahead;
    for (int64_t w = 0; w < a->words; w++) {
        double *x = &out[a->column[w]];
        if (isnan(*x)) continue; /* a column that nobody reads */
        fab_spellings *t = &p->spellings[w];
        fab_spelling *one = &t->spelling[(int64_t)*x];
        if (one->code == FAB_SPELLING_UNREAD) {
            const fab_cut f = {t->text + one->at, one->n, one->quoted};
            if (fab_cells_word(s, a->column[w], &f, x) != FAB_OK) return 0;
            one->code = *x;
        }
        *x = one->code;
    }
    for (int64_t k = 0; k < a->named; k++) out[a->column[a->words + k]] = (double)s->row;
    return 1;
}

fab_status fab_ahead_next(fab_source *s, fab_row_fn *row, fab_split_fn *split, double *out,
                          int *got)
{
    *got = 0;
    if (!s->ahead && !s->alone && (!may_be(s) || create(s) != FAB_OK)) s->alone = 1;
    if (!s->alone && s->in.taken >= s->ahead->until) FAB_TRY(read_block(s, row, split));
    if (s->alone) return FAB_OK;
    fab_ahead *a = s->ahead;
    const record *r = find(a, s->in.taken);
    if (!r) return FAB_OK; /* 4 */
    piece *p = &a->piece[a->at];
    memcpy(out, p->x + a->next * s->columns, (size_t)s->columns * sizeof *out);
    if (a->words + a->named > 0 && !take_words(s, p, out)) return FAB_OK; /* 4 */
    fab_stream_take(&s->in, r->end - r->begin);
    s->in.lines += r->lines;
    s->more_lines = 0;
    a->next++;
    s->ahead_rows++;
    *got = 1;
    return FAB_OK;
}
