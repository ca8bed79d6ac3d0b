/* header.c - the first row of a table of text: names or data?  And which columns are words?
 *
 *   1  look at the first row: one line, or several when a quoted name goes on
 *   2  without words: it is a header when one of its fields is a word; done
 *   3  look at the lines that begin in the first FAB_HEAD_BYTES; note what each column has in the first
 *      row and below it: numbers, empty fields, missing values, words
 *   4  it is a header when a column has a word there and below it numbers and no words; or when all its
 *      fields are words, of which the first may be empty (the name of an index often is)
 *   5  a column is one of words when a word was noted in it, the header left out, or when it was named
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "data/source/cells.h"
#include "data/source/words.h"
#include <stdio.h>
#include <string.h>

enum { HEADER_LINES = 100 /* a quoted name may contain line ends, but not more */ };

/* What was noted of a column: 1 << kind of a field in the first row, BELOW << kind in the others. */
enum { BELOW = 1 << (FAB_CELL_WORD + 1) };
enum {
    FIRST_EMPTY = 1 << FAB_CELL_EMPTY,
    FIRST_WORD = 1 << FAB_CELL_WORD,
    BELOW_NUMBER = BELOW << FAB_CELL_NUMBER,
    BELOW_WORD = BELOW << FAB_CELL_WORD
};

/* ---- names ----------------------------------------------------------------------------------- */

/* Copy the names: an array of pointers, then the text, in one block.  An empty name is made up. */
static fab_status keep_names(fab_source *s, fab_split_fn *split, fab_span line)
{
    void *block;
    const int64_t pointers = s->columns * (int64_t)sizeof(char *), made = 24 * s->columns;
    FAB_TRY(fab_alloc_array(&block, pointers + made + (int64_t)line.n, 1, s->in.name));
    s->names = block;
    char *to = (char *)block + pointers;
    const char *p = line.p;
    for (int64_t j = 0; j < s->columns; j++) {
        fab_cut f;
        p = split(s, p, line.p + line.n, &f);
        s->names[j] = to;
        to = f.n ? fab_cell_copy(to, &f) : to + 1 + snprintf(to, 24, "x%lld", (long long)j);
    }
    return FAB_OK;
}

/* Pass a header of `lines` lines; at least one row must follow. */
static fab_status pass_header(fab_source *s, int64_t lines)
{
    fab_span line;
    for (; lines > 0; lines--) FAB_TRY(fab_stream_line(&s->in, &line));
    const int64_t last = s->in.lines;
    FAB_TRY(fab_lines_skip_blank(s));
    FAB_TRY(fab_stream_look(&s->in, 1, &line));
    if (line.n) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA, "%s: has a header (line %lld) and no rows", s->in.name,
                    (long long)last);
}

/* ---- 1 .. 4: the first rows ------------------------------------------------------------------ */

static fab_span without_return(fab_span line)
{
    if (line.n && line.p[line.n - 1] == '\r') line.n--;
    return line;
}

static fab_status look_first(fab_source *s, fab_split_fn *split, fab_span *row, int64_t *lines)
{
    FAB_TRY(fab_stream_look_line(&s->in, 0, row));
    *lines = 1;
    while (row->p && fab_cells_open(s, split, *row)) {
        fab_span longer;
        FAB_TRY(fab_stream_look_line(&s->in, row->n + 1, &longer));
        if (!longer.p || *lines == HEADER_LINES)
            return FAB_FAIL(FAB_BAD_DATA, "%s: line %lld opens a quote that does not close",
                            s->in.name, (long long)s->in.lines + 1);
        *row = longer;
        ++*lines;
    }
    return FAB_OK;
}

static void note(const fab_source *s, fab_split_fn *split, fab_span line, int place,
                 unsigned char *noted)
{
    const char *p = line.p;
    for (int64_t j = 0; p && j < s->columns; j++) {
        fab_cut f;
        p = split(s, p, line.p + line.n, &f);
        noted[j] = (unsigned char)(noted[j] | place << fab_cell_kind(&f));
    }
}

/* The first row, of n bytes with its end, and the lines below it that begin in the first FAB_HEAD_BYTES,
 * at least one of them. */
static fab_status note_head(fab_source *s, fab_split_fn *split, size_t n, unsigned char *noted)
{
    fab_span head;
    memset(noted, 0, (size_t)s->columns);
    FAB_TRY(fab_stream_look(&s->in, n, &head));
    note(s, split, without_return(head), 1, noted);
    for (int64_t below = 0; below == 0 || n < FAB_HEAD_BYTES;) {
        FAB_TRY(fab_stream_look_line(&s->in, n + 1, &head));
        if (!head.p) break;
        const fab_span line = without_return((fab_span){head.p + n + 1, head.n - (n + 1)});
        n = head.n;
        if (fab_lines_is_blank(s, line)) continue;
        note(s, split, line, BELOW, noted);
        below++;
    }
    return FAB_OK;
}

static int is_header(const unsigned char *noted, int64_t columns)
{
    int64_t words = 0;
    for (int64_t j = 0; j < columns; j++) {
        const int word = noted[j] & FIRST_WORD;
        if (word && noted[j] & BELOW_NUMBER && !(noted[j] & BELOW_WORD)) return 1;
        words += word || (j == 0 && columns > 1 && noted[j] & FIRST_EMPTY);
    }
    return words == columns;
}

/* ---- 5: columns of words --------------------------------------------------------------------- */

static fab_status make_words(fab_source *s, int64_t column)
{
    if (!s->words) {
        void *p;
        FAB_TRY(fab_alloc_array(&p, s->columns, sizeof *s->words, s->in.name));
        s->words = p;
        for (int64_t j = 0; j < s->columns; j++) s->words[j] = NULL;
    }
    return s->words[column] ? FAB_OK : fab_dictionary_create(&s->words[column], s->in.name);
}

static fab_status make_noted_words(fab_source *s, const unsigned char *noted)
{
    const int word = s->names ? BELOW_WORD : BELOW_WORD | FIRST_WORD;
    for (int64_t j = 0; j < s->columns; j++)
        if (noted[j] & word) FAB_TRY(make_words(s, j));
    return FAB_OK;
}

/* The columns of the list, whose text is cut at its commas. */
static fab_status make_listed_words(fab_source *s, char *list)
{
    for (char *next = list; next;) {
        char *word = next + strspn(next, " \t"), *comma = strchr(word, ',');
        next = comma ? comma + 1 : NULL;
        char *end = comma ? comma : word + strlen(word);
        while (end > word && strchr(" \t", end[-1])) end--;
        *end = '\0';
        int64_t column;
        FAB_TRY(fab_source_find_column(s, word, &column));
        FAB_TRY(make_words(s, column));
    }
    return FAB_OK;
}

static fab_status make_categorical(fab_source *s)
{
    char *list;
    FAB_TRY(fab_copy_text(&list, s->categorical));
    const fab_status status = make_listed_words(s, list);
    fab_release(list);
    return status;
}

/* ---- the head of a file ---------------------------------------------------------------------- */

static fab_status open_words(fab_source *s, fab_split_fn *split, fab_span row, int64_t lines,
                             unsigned char *noted)
{
    const size_t n = row.n;
    FAB_TRY(note_head(s, split, n, noted));
    FAB_TRY(fab_stream_look(&s->in, n, &row)); /* the window has moved */
    if (is_header(noted, s->columns)) {
        FAB_TRY(keep_names(s, split, without_return(row)));
        FAB_TRY(pass_header(s, lines));
    }
    FAB_TRY(make_noted_words(s, noted));
    return s->categorical ? make_categorical(s) : FAB_OK;
}

static int has_word(const fab_source *s, fab_split_fn *split, fab_span row)
{
    fab_cut f;
    for (const char *p = row.p; p;) {
        p = split(s, p, row.p + row.n, &f);
        if (fab_cell_kind(&f) == FAB_CELL_WORD) return 1;
    }
    return 0;
}

fab_status fab_lines_open(fab_source *s, fab_split_fn *split)
{
    fab_span row;
    int64_t lines;
    FAB_TRY(fab_lines_first(s));
    FAB_TRY(look_first(s, split, &row, &lines));
    const fab_span first = without_return(row);
    s->columns = fab_cells_count(s, split, first);
    if (s->with_words) {
        void *noted;
        FAB_TRY(fab_alloc_array(&noted, s->columns, 1, s->in.name));
        const fab_status status = open_words(s, split, row, lines, noted);
        fab_release(noted);
        return status;
    }
    if (!has_word(s, split, first)) return FAB_OK;
    FAB_TRY(keep_names(s, split, first));
    return pass_header(s, lines);
}
