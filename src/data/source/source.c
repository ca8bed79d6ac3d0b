/* source.c - a table of numbers read once, from top to bottom: open, sniff, hand out rows.
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/source.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "data/source/ahead.h"
#include "data/source/lines.h"
#include "data/source/words.h"
#include "base/settings.h"
#include <stdio.h>
#include <string.h>

/* In the order of asking: first those with magic bytes, last the one that takes any text. */
static const fab_reader *const readers[] = {
    &fab_reader_npy, &fab_reader_idx, &fab_reader_libsvm,
    &fab_reader_tsv, &fab_reader_csv, &fab_reader_text,
};
enum { READERS = sizeof readers / sizeof *readers, FIRST_TEXT = 2 };

/* ---- names of formats ------------------------------------------------------------------------ */

const char *fab_format_name(fab_format f)
{
    if (f == FAB_FORMAT_AUTO) return "auto";
    for (int i = 0; i < READERS; i++)
        if (readers[i]->format == f) return readers[i]->name;
    return NULL;
}

fab_status fab_format_find(fab_format *f, const char *name)
{
    const char *names[READERS + 1];
    for (int i = 0; i <= READERS; i++) {
        names[i] = fab_format_name((fab_format)i);
        *f = (fab_format)i;
        if (strcmp(name, names[i]) == 0) return FAB_OK;
    }
    *f = FAB_FORMAT_AUTO;
    return fab_no_such(FAB_BAD_ARGUMENT, "format", name, names, READERS + 1,
                       ": auto, csv, tsv, text, npy, libsvm or idx");
}

fab_status fab_copy_text(char **out, const char *s)
{
    *out = NULL;
    if (!s) return FAB_OK;
    const size_t n = strlen(s) + 1;
    FAB_TRY(fab_alloc_array((void **)out, (int64_t)n, 1, s));
    memcpy(*out, s, n);
    return FAB_OK;
}

/* ---- the format ------------------------------------------------------------------------------ */

int fab_is_binary(unsigned char c)
{
    return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
}

/* Eight bytes of a length that is believed, and the header's first: what fits are saved in. */
static int is_safetensors(fab_span head)
{
    static const char zeros[4];
    return head.n > 8 && head.p[8] == '{' && memcmp(head.p + 4, zeros, sizeof zeros) == 0;
}

/* Tables of other programs, and who in pandas reads them. */
static const struct {
    const char *magic, *what, *reader;
} foreign[] = {{"PAR1", "a Parquet file", "read_parquet"},
               {"ARROW1", "an Arrow file", "read_feather"}};

/* They are answered with the line that makes csv of them; a name that a shell would take apart is left to the reader. */
static fab_status refuse_foreign(const fab_source *s, const char *what, const char *reader)
{
    const char *name = strpbrk(s->in.name, "'\"\\`$ ") ? "FILE" : s->in.name;
    return FAB_FAIL(FAB_BAD_FILE,
                    "%s: is %s; python3 -c \"import pandas; pandas.%s('%s').to_csv('%s.csv', "
                    "index=False)\" makes a table of it that can be read here",
                    s->in.name, what, reader, name, name);
}

static fab_status check_text(const fab_source *s, fab_span head)
{
    if (is_safetensors(head))
        return FAB_FAIL(FAB_BAD_FILE, "%s: is a safetensors file, as fits are, and no table",
                        s->in.name);
    for (size_t i = 0; i < head.n; i++) {
        const unsigned char c = (unsigned char)head.p[i];
        if (!fab_is_binary(c)) continue;
        for (size_t k = 0; k < sizeof foreign / sizeof *foreign; k++)
            if (strncmp(head.p, foreign[k].magic, strlen(foreign[k].magic)) == 0)
                return refuse_foreign(s, foreign[k].what, foreign[k].reader);
        return FAB_FAIL(FAB_BAD_FILE, "%s: is neither npy nor idx nor text: byte %zu is 0x%02x",
                        s->in.name, i, c);
    }
    return FAB_OK;
}

/* sep=; as the first line, by which a file tells Excel its separator; that of the call goes before it. */
static fab_status take_separator(fab_source *s)
{
    enum { LEAST = 5, QUOTES = 2 };
    fab_span line;
    char shown[FAB_SHOWN];
    FAB_TRY(fab_stream_look_line(&s->in, 0, &line));
    if (!line.p || line.n > LEAST + QUOTES + 1) return FAB_OK;
    const char *p = line.p;
    size_t n = line.n > 0 && p[line.n - 1] == '\r' ? line.n - 1 : line.n;
    if (n == LEAST + QUOTES && p[0] == '"' && p[n - 1] == '"') {
        p++;
        n -= QUOTES;
    }
    if (n != LEAST || memcmp(p, "sep=", 4) != 0 || !strchr(",;|\t ", p[4])) return FAB_OK;
    if (!s->dialect.separator) s->dialect.separator = p[4];
    FAB_TRY(fab_source_say(s, "its first line, '%s', gives the separator", fab_show(shown, p, n)));
    return fab_stream_line(&s->in, &line);
}

/* The stream is text: lines that end in \r alone, the separator for Excel, and comments in front of the first row. */
static fab_status begin_text(fab_source *s)
{
    fab_span head, line;
    FAB_TRY(fab_stream_head(&s->in, FAB_HEAD_LINES, FAB_HEAD_BYTES, &head));
    if (s->in.encoding) FAB_TRY(fab_source_say(s, "is %s, and is read as UTF-8", s->in.encoding));
    const char *stop = memchr(head.p, '\r', head.n);
    if (stop && stop + 1 < head.p + head.n && !memchr(head.p, '\n', head.n)) {
        fab_stream_end_lines_by_returns(&s->in);
        FAB_TRY(fab_source_say(s, "its lines end in carriage returns alone, as on an old Mac"));
    }
    FAB_TRY(take_separator(s));
    const char asked = s->dialect.comment ? s->dialect.comment : s->usual.comment;
    if (asked == FAB_NO_COMMENT) return FAB_OK;
    s->comment = asked;
    const char mark = asked ? asked : '#';
    for (int64_t passed = 0;;) {
        size_t at =
            0; /* behind blank lines, which stay where no comment follows: a tab may be a field */
        int64_t lines = 1;
        FAB_TRY(fab_stream_look_line(&s->in, 0, &line));
        while (line.p && at < FAB_HEAD_BYTES &&
               fab_lines_trimmed((fab_span){line.p + at, line.n - at}) == 0) {
            at = line.n + 1;
            lines++;
            FAB_TRY(fab_stream_look_line(&s->in, at, &line));
        }
        if (!line.p && passed && !asked)
            return FAB_FAIL(FAB_BAD_DATA,
                            "%s: all its lines begin with '#', as comments do; --comment none "
                            "reads them",
                            s->in.name);
        if (!line.p || line.n == at || line.p[at] != mark) return FAB_OK;
        if (passed++ == 0 && !asked)
            FAB_TRY(fab_source_say(s, "lines that begin with '#' are taken for comments; "
                                      "--comment none reads them"));
        for (; lines > 0; lines--) FAB_TRY(fab_stream_line(&s->in, &line));
        s->comment = mark;
        fab_release(s->heading);
        s->heading = NULL;
        if (line.n > FAB_HEAD_BYTES) continue;
        void *copy;
        FAB_TRY(fab_alloc_array(&copy, (int64_t)line.n + FAB_STREAM_PAD, 1, s->in.name));
        memset(copy, 0, line.n + FAB_STREAM_PAD);
        memcpy(copy, line.p + 1, line.n - 1);
        s->heading = copy;
    }
}

/* A separator that a fitted table was read with counts where the first row has it. */
static fab_dialect sniffed(const fab_source *s, fab_span head)
{
    fab_dialect d = s->dialect;
    const char *stop = memchr(head.p, '\n', head.n);
    const size_t first = stop ? (size_t)(stop - head.p) : head.n;
    if (!d.separator && s->usual.separator && memchr(head.p, s->usual.separator, first))
        d.separator = s->usual.separator;
    return d;
}

static fab_status sniff(fab_source *s)
{
    fab_span head;
    fab_dialect given = s->dialect;
    FAB_TRY(fab_stream_head(&s->in, FAB_HEAD_LINES, FAB_HEAD_BYTES, &head));
    if (head.n == 0) return FAB_FAIL(FAB_BAD_DATA, "%s: is empty", s->in.name);
    for (int i = 0; i < READERS; i++) {
        if (i == FIRST_TEXT) {
            FAB_TRY(check_text(s, head));
            FAB_TRY(begin_text(s));
            FAB_TRY(fab_stream_head(&s->in, FAB_HEAD_LINES, FAB_HEAD_BYTES, &head));
            given = sniffed(s, head);
            s->dialect.separator = given.separator;
        }
        s->reader = readers[i];
        if (s->reader->sniff(head, &given)) return FAB_OK;
    }
    return FAB_OK; /* not reached: text takes all */
}

/* The separator that a format has anyway. */
static fab_status check_separator(const fab_source *s)
{
    const char given = s->dialect.separator;
    const fab_format f = s->reader->format;
    if (!given || f == FAB_FORMAT_CSV || (f == FAB_FORMAT_TSV && given == '\t') ||
        (f == FAB_FORMAT_TEXT && given == ' '))
        return FAB_OK;
    char shown[FAB_SHOWN];
    return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: is %s, and the separator '%s' is given", s->in.name,
                    s->reader->name, fab_show(shown, &given, 1));
}

static fab_status choose(fab_source *s, fab_format format)
{
    fab_span seen;
    if (format == FAB_FORMAT_AUTO) {
        FAB_TRY(sniff(s));
        return check_separator(s);
    }
    for (int i = 0; i < READERS; i++)
        if (readers[i]->format == format) s->reader = readers[i];
    if (!s->reader)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: there is no format %d", s->in.name, (int)format);
    FAB_TRY(check_separator(s));
    FAB_TRY(fab_stream_look(&s->in, 1, &seen));
    if (seen.n == 0) return FAB_FAIL(FAB_BAD_DATA, "%s: is empty", s->in.name);
    if (format == FAB_FORMAT_NPY || format == FAB_FORMAT_IDX) return FAB_OK;
    return begin_text(s);
}

/* ---- life ------------------------------------------------------------------------------------ */

static fab_status create(fab_source **s, const char *path, const fab_source_options *o)
{
    *s = NULL;
    if (!path) return FAB_FAIL(FAB_BAD_ARGUMENT, "source: there is no path");
    if (o->features < 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: %lld features is below 0", path,
                        (long long)o->features);
    if (o->features > INT32_MAX)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: %lld features is above %d", path,
                        (long long)o->features, INT32_MAX);
    if (o->columns_max < 0 || o->columns_max > INT32_MAX)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: at most %lld columns, expected 0 to %d", path,
                        (long long)o->columns_max, INT32_MAX);
    if (o->threads < 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: %lld threads, expected 1 or more, or 0 for all cores", path,
                        (long long)o->threads);
    if (o->rows && strcmp(o->rows, "-") == 0 && strcmp(path, "-") == 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "rows: standard input is already the data");
    if (o->categorical && !o->words)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: categorical is given, and words are not asked for",
                        path);
    void *p;
    FAB_TRY(fab_alloc_array(&p, 1, sizeof **s, path));
    *s = p;
    **s = (fab_source){.in.file = -1,
                       .rows = -1,
                       .features = o->features,
                       .columns_max = o->columns_max > 0 ? o->columns_max : FAB_COLUMNS_MAX,
                       .missing = o->missing != 0,
                       .with_words = o->words != 0,
                       .dialect = o->dialect,
                       .number = fab_number,
                       .concern = o->concern,
                       .concerns = o->concerns,
                       .leave_index = o->leave_index != 0};
    if (o->usual) (*s)->usual = *o->usual;
    return fab_copy_text(&(*s)->path, path);
}

fab_status fab_source_check_columns(const fab_source *s, int64_t columns)
{
    if (columns <= s->columns_max) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA,
                    "%s: has %lld columns, more than the %lld that are read; is the separator "
                    "right? --max-columns raises the limit",
                    s->in.name, (long long)columns, (long long)s->columns_max);
}

/* The stream is there: find the format and read the head. */
static fab_status start(fab_source *s, const fab_source_options *o)
{
    s->in.line_max = (size_t)s->columns_max * FAB_COLUMN_BYTES;
    s->in.threads = o->threads;
    FAB_TRY(choose(s, o->format));
    s->categorical = o->categorical;
    s->none = o->none;
    FAB_TRY(s->reader->open(s));
    s->categorical = s->none = NULL;
    if (o->categorical && !s->words)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: is %s: only csv, tsv and text have columns of words",
                        s->in.name, s->reader->name);
    return o->rows ? fab_source_keep(s, o->rows) : FAB_OK;
}

static fab_status finish_open(fab_source **s, fab_status status, const fab_source_options *o)
{
    if (status == FAB_OK) status = start(*s, o);
    if (status == FAB_OK) return FAB_OK;
    fab_source_close(*s);
    *s = NULL;
    return status;
}

static const fab_source_options *defaults(const fab_source_options *o)
{
    static const fab_source_options all_default = {.format = FAB_FORMAT_AUTO};
    return o ? o : &all_default;
}

fab_status fab_source_open_room(fab_source **s, const char *path, const fab_source_options *o,
                                size_t room)
{
    o = defaults(o);
    fab_status status = create(s, path, o);
    if (status == FAB_OK) status = fab_stream_open(&(*s)->in, (*s)->path, room);
    return finish_open(s, status, o);
}

fab_status fab_source_open_memory(fab_source **s, const char *name, const void *bytes, size_t size,
                                  const fab_source_options *o, size_t room)
{
    o = defaults(o);
    fab_status status = create(s, name, o);
    if (status == FAB_OK) status = fab_stream_open_memory(&(*s)->in, (*s)->path, bytes, size, room);
    return finish_open(s, status, o);
}

fab_status fab_source_open(fab_source **s, const char *path, const fab_source_options *o)
{
    return fab_source_open_room(s, path, o, FAB_STREAM_ROOM);
}

void fab_source_close(fab_source *s)
{
    if (!s) return;
    if (s->ignored) fab_libsvm_say_ignored(s);
    fab_stream_close(&s->in);
    if (s->words)
        for (int64_t j = 0; j < s->columns; j++) fab_dictionary_free(s->words[j]);
    fab_ahead_free(s->ahead);
    fab_release(s->by_columns);
    fab_release(s->words);
    fab_release(s->whole);
    fab_release(s->unread);
    fab_release(s->key);
    fab_sparse_free(&s->one);
    fab_release(s->path);
    fab_release(s->names);
    fab_release(s->made);
    fab_release(s->kept);
    fab_release(s->kept_path);
    fab_release(s->heading);
    fab_release(s->form);
    for (int64_t i = 0; i < s->notes; i++) fab_release(s->note[i]);
    fab_release(s->note);
    if (s->chosen_from)
        fab_chosen_free(s->view);
    else
        fab_release(s->view);
    fab_release(s);
}

/* ---- what it is ------------------------------------------------------------------------------ */

int64_t fab_source_columns(const fab_source *s)
{
    return s->share ? s->share + (s->reader->format == FAB_FORMAT_LIBSVM) : s->columns;
}

fab_status fab_source_share(fab_source *s, int64_t first, int64_t n)
{
    const int64_t all = s->columns - (s->reader->format == FAB_FORMAT_LIBSVM);
    if (n < 1 || first < 0 || first > all - n)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: a share of %lld columns from column %lld; there are %lld", s->in.name,
                        (long long)n, (long long)first, (long long)all);
    if (s->row > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: a share is taken before the first row is read",
                        s->in.name);
    if (!s->element && s->reader->format != FAB_FORMAT_LIBSVM && !s->whole)
        FAB_TRY(fab_alloc_array((void **)&s->whole, s->columns, sizeof *s->whole, s->in.name));
    s->share_first = first;
    s->share = n;
    return FAB_OK;
}

int64_t fab_source_rows(const fab_source *s)
{
    return s->rows;
}

fab_format fab_source_format(const fab_source *s)
{
    return s->reader->format;
}

void fab_source_position(const fab_source *s, int64_t *done, int64_t *total)
{
    while (s->chosen_from) s = s->chosen_from;
    if (s->arrays) {
        *done = s->row;
        *total = s->rows;
        return;
    }
    fab_stream_position(&s->in, done, total);
}

/* x0, x1, ... side by side, each in as many bytes as the last needs. */
static fab_status make_names(fab_source *s)
{
    char last[24];
    const int width = 1 + snprintf(last, sizeof last, "label%lld", (long long)s->columns);
    void *p;
    FAB_TRY(fab_alloc_array(&p, s->columns, (size_t)width, s->in.name));
    s->made = p;
    s->made_width = width;
    for (int64_t j = 0; j < s->columns; j++)
        snprintf(s->made + j * width, (size_t)width, "x%lld", (long long)j);
    if (s->first_name) snprintf(s->made, (size_t)width, "%s", s->first_name);
    return FAB_OK;
}

const char *fab_source_name(const fab_source *s, int64_t column)
{
    if (column < 0 || column >= s->columns) return NULL;
    if (s->names) return s->names[column];
    const char *beside = fab_arrays_sparse_name(s, column);
    if (beside) return beside;
    if (!s->made && make_names((fab_source *)s) != FAB_OK)
        return NULL; /* made when first asked for */
    return s->made + column * s->made_width;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* NULL: a column of numbers, or none at all. */
static const fab_dictionary *words_of(const fab_source *s, int64_t column)
{
    return s->words && column >= 0 && column < s->columns ? s->words[column] : NULL;
}

int fab_source_is_words(const fab_source *s, int64_t column)
{
    return words_of(s, column) != NULL;
}

int64_t fab_source_words(const fab_source *s, int64_t column)
{
    const fab_dictionary *w = words_of(s, column);
    return w ? w->count : 0;
}

const char *fab_source_word(const fab_source *s, int64_t column, int64_t code)
{
    const fab_dictionary *w = words_of(s, column);
    return w && code >= 0 && code < w->count ? w->word[code] : NULL;
}

int fab_source_is_date(const fab_source *s, int64_t column)
{
    return s->form && column >= 0 && column < s->columns && s->form[column].date != 0;
}

int fab_source_is_index(const fab_source *s, int64_t column)
{
    return s->has_index && !s->left && column == 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The next row of the file; a bad one counts too. */
static fab_status read_one(fab_source *s, double *out, int *got)
{
    *got = 0;
    double *const to = s->whole && out ? s->whole : out;
    const fab_status status = s->reader->next(s, to, got);
    if (to != out && *got && status == FAB_OK)
        memcpy(out, to + s->share_first, (size_t)s->share * sizeof *out);
    s->row += *got;
    return status;
}

static fab_status out_of_range(const fab_source *s)
{
    return FAB_FAIL(FAB_BAD_DATA, "%s: row %lld is out of range: %s has %lld rows", s->kept_name,
                    (long long)s->kept[s->kept_next], s->in.name, (long long)s->row);
}

/* The next row that is kept. */
static fab_status step(fab_source *s, double *out, int *got)
{
    if (!s->kept) return read_one(s, out, got);
    *got = 0;
    if (s->kept_next == s->kept_count) return FAB_OK;
    while (s->row < s->kept[s->kept_next]) {
        FAB_TRY(read_one(s, NULL, got));
        if (!*got) return out_of_range(s);
    }
    const fab_status status = read_one(s, out, got);
    if (status == FAB_OK && !*got) return out_of_range(s);
    s->kept_next += *got;
    return status;
}

fab_status fab_source_next(fab_source *s, int64_t max, double *out, int64_t *got)
{
    *got = 0;
    if (max < 0 || !out)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: no room for rows was given", s->in.name);
    for (; *got < max; ++*got) {
        int one;
        FAB_TRY(step(s, out + *got * fab_source_columns(s), &one));
        if (!one) break;
    }
    return FAB_OK;
}

fab_status fab_source_next_sparse(fab_source *s, int64_t max, fab_sparse *r, int64_t *got)
{
    double unused;
    fab_status status = FAB_OK;
    int one = 1;
    *got = 0;
    if (s->reader->format != FAB_FORMAT_LIBSVM)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: is %s: only libsvm has sparse rows", s->in.name,
                        s->reader->name);
    s->sparse = r;
    while (status == FAB_OK && *got < max && one) {
        status = step(s, &unused, &one);
        *got += status == FAB_OK && one;
    }
    s->sparse = NULL;
    return status;
}

fab_status fab_source_skip(fab_source *s, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int one;
        FAB_TRY(step(s, NULL, &one));
        if (!one)
            return FAB_FAIL(FAB_BAD_DATA, "%s: cannot pass over %lld rows: it has only %lld more",
                            s->in.name, (long long)n, (long long)i);
    }
    return FAB_OK;
}
