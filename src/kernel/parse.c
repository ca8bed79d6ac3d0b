/* parse.c - the grammar of kernels (fabayes/kernel.h): from text to a sum of products in normal form.
 *
 *     sum     = product {"+" product}
 *     product = factor {"*" factor}
 *     factor  = number | "(" sum ")" | basic
 *     basic   = name {":" ("ard" | "col=" column {"," column} | parameter "=" number {"," number})}
 *
 * Terms stand on a stack: a factor pushes its terms, a product replaces two runs of them by all products of one of each,
 * and what stands there at the end is the kernel.  A leaf of the text is one leaf of the kernel, however many terms share it.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STACK = 4 * FAB_KERNEL_TERMS,
    DEPTH = 32 /* brackets in brackets */
};

typedef struct draft_term {
    uint64_t leaves;
    double s2;
    int fixed;
} draft_term;

typedef struct draft_leaf {
    const fab_basic *kind;
    int ard, has_given, has_own, picked; /* picked: `col` was there */
    int64_t first, columns;              /* in column */
    int64_t lengths;                     /* numbers given for l */
    int64_t length;                      /* in number */
    double given, own;
    int64_t head; /* in heads */
} draft_leaf;

typedef struct draft {
    const char *text, *p;
    int64_t D;
    const char *const *name; /* D names of columns, or NULL */
    int depth;
    int64_t leaves, terms;
    draft_leaf leaf[FAB_KERNEL_LEAVES];
    draft_term term[STACK];
    int64_t *column; /* of the leaves */
    int64_t columns;
    double *number; /* those given for l */
    int64_t numbers;
    fab_text heads; /* one string behind the other */
} draft;

static fab_status refuse_at(const draft *d, const char *expected)
{
    if (!*d->p) return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: expected %s at the end", expected);
    return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: expected %s at '%.40s'", expected, d->p);
}

static void skip(draft *d)
{
    while (*d->p == ' ') d->p++;
}

static int take(draft *d, char c)
{
    skip(d);
    if (*d->p != c) return 0;
    d->p++;
    return 1;
}

static size_t word_length(const char *p)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
    return n;
}

/* A positive number. */
static fab_status parse_number(draft *d, const char *what, double *x)
{
    char *end = NULL;
    skip(d);
    const char *from = d->p;
    if (!isdigit((unsigned char)*from) && *from != '.')
        return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s: expected a number above 0 at '%.40s'", what,
                        from);
    *x = strtod(from, &end);
    d->p = end;
    if (end == from || !(*x >= 1e-150 && *x <= 1e150))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s = %.*s: expected a number above 0", what,
                        (int)(end > from ? end - from : 1), from);
    return FAB_OK;
}

/* ---- basic kernels ------------------------------------------------------------------------------------ */

static fab_status find_basic(const char *word, const fab_basic **kind)
{
    const char *names[2 * FAB_KERNEL_LEAVES];
    int64_t n = 0;
    for (int64_t i = 0; i < fab_basics_count; i++) {
        *kind = fab_basics[i];
        names[n++] = (*kind)->name;
        if (strcmp(word, (*kind)->name) == 0) return FAB_OK;
        if ((*kind)->alias) names[n++] = (*kind)->alias;
        if ((*kind)->alias && strcmp(word, (*kind)->alias) == 0) return FAB_OK;
    }
    return fab_prefix(fab_no_such(FAB_BAD_ARGUMENT, "basic kernel", word, names, n,
                                  ": expected rbf, matern12, matern32, matern52, matern, rq, "
                                  "periodic, linear, poly or const"),
                      "kernel: ");
}

/* Where a column's name may end. */
static int ends(char c)
{
    return !c || strchr(",:*+() ", c) != NULL;
}

/* Bytes of the longest name of a column that stands here; 0: none does. */
static size_t longest_name(const draft *d)
{
    size_t longest = 0;
    for (int64_t c = 0; d->name && c < d->D; c++) {
        const size_t n = strlen(d->name[c]);
        if (n > longest && strncmp(d->p, d->name[c], n) == 0 && ends(d->p[n])) longest = n;
    }
    return longest;
}

static fab_status add_column(draft *d, draft_leaf *f, int64_t c)
{
    for (int64_t i = 0; i < f->columns; i++)
        if (d->column[f->first + i] == c)
            return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s: column %lld stands twice in col",
                            f->kind->name, (long long)c);
    d->column[f->first + f->columns++] = c;
    return FAB_OK;
}

static fab_status unknown_column(const draft *d, const char *word)
{
    if (!d->name)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "kernel: col=%.40s: expected the number of a column, from 0 to %lld", word,
                        (long long)d->D - 1);
    return fab_prefix(fab_no_such(FAB_BAD_ARGUMENT, "column", word, d->name, d->D, ""), "kernel: ");
}

/* One column: its name, or its number from 0. */
static fab_status parse_column(draft *d, draft_leaf *f)
{
    char word[64];
    skip(d);
    const size_t named = longest_name(d);
    if (named > 0) {
        const char *name = d->p;
        d->p += named;
        for (int64_t c = 0; c < d->D; c++)
            if (strlen(d->name[c]) == named && strncmp(name, d->name[c], named) == 0)
                FAB_TRY(add_column(d, f, c));
        return FAB_OK;
    }
    size_t n = 0;
    while (!ends(d->p[n])) n++;
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), d->p);
    char *end = NULL;
    const long long c = isdigit((unsigned char)*word) ? strtoll(word, &end, 10) : -1;
    if (c < 0 || *end || c >= d->D) return unknown_column(d, word);
    d->p += n;
    return add_column(d, f, c);
}

static fab_status parse_columns(draft *d, draft_leaf *f)
{
    f->picked = 1;
    do FAB_TRY(parse_column(d, f));
    while (take(d, ','));
    return FAB_OK;
}

/* l=1,2,3 */
static fab_status parse_lengths(draft *d, draft_leaf *f)
{
    if (f->kind->lengths == FAB_LENGTHS_NONE)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s has no l", f->kind->name);
    f->length = d->numbers;
    do {
        if (f->lengths == d->D)
            return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s: more than %lld numbers of l",
                            f->kind->name, (long long)d->D);
        FAB_TRY(parse_number(d, "l", &d->number[d->numbers]));
        d->numbers++;
        f->lengths++;
    } while (take(d, ','));
    return FAB_OK;
}

static fab_status parse_given(draft *d, draft_leaf *f)
{
    const fab_basic *kind = f->kind;
    FAB_TRY(parse_number(d, kind->given, &f->given));
    f->has_given = 1;
    if (!(f->given >= kind->given_lo && f->given <= kind->given_hi) ||
        (kind->given_whole && f->given != floor(f->given)))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s: %s = %g: expected a %snumber from %g to %g",
                        kind->name, kind->given, f->given, kind->given_whole ? "whole " : "",
                        kind->given_lo, kind->given_hi);
    return FAB_OK;
}

static fab_status unknown_word(const fab_basic *kind, const char *word)
{
    const char *names[8];
    int64_t n = 0;
    if (kind->lengths == FAB_LENGTHS_ANY || kind->lengths == FAB_LENGTHS_ARD) names[n++] = "ard";
    if (kind->lengths != FAB_LENGTHS_NONE) names[n++] = "l";
    if (kind->own.name) names[n++] = kind->own.name;
    if (kind->given) names[n++] = kind->given;
    names[n++] = "col";
    fab_text list = {0};
    for (int64_t i = 0; i < n; i++)
        fab_text_add(&list, "%s%s", i == 0 ? "" : i == n - 1 ? " and " : ", ", names[i]);
    const fab_status s = FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s has no '%.40s': it takes %s",
                                  kind->name, word, list.p ? list.p : "other words");
    fab_release(list.p);
    return s;
}

static fab_status parse_argument(draft *d, draft_leaf *f)
{
    char word[64];
    skip(d);
    const size_t n = word_length(d->p);
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), d->p);
    if (n == 0) return refuse_at(d, "ard or a name");
    d->p += n;
    const fab_basic *kind = f->kind;
    const int can_ard = kind->lengths == FAB_LENGTHS_ANY || kind->lengths == FAB_LENGTHS_ARD;
    if (strcmp(word, "ard") == 0 && can_ard) {
        if (f->ard) return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s: ard twice", kind->name);
        f->ard = 1;
        return FAB_OK;
    }
    const int is_l = strcmp(word, "l") == 0 && kind->lengths != FAB_LENGTHS_NONE,
              is_col = strcmp(word, "col") == 0,
              is_own = kind->own.name && strcmp(word, kind->own.name) == 0,
              is_given = kind->given && strcmp(word, kind->given) == 0;
    if (!is_l && !is_col && !is_own && !is_given) return unknown_word(kind, word);
    if (!take(d, '=')) return refuse_at(d, "=");
    if ((is_l && f->lengths) || (is_col && f->picked) || (is_own && f->has_own) ||
        (is_given && f->has_given))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s: %s twice", kind->name, word);
    if (is_col) return parse_columns(d, f);
    if (is_l) return parse_lengths(d, f);
    if (is_given) return parse_given(d, f);
    f->has_own = 1;
    return parse_number(d, word, &f->own);
}

/* What was said of it, against what it needs. */
static fab_status check_leaf(draft *d, draft_leaf *f)
{
    const fab_basic *kind = f->kind;
    if (!f->picked) {
        if (kind->one_column && d->D > 1)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "kernel: %s on %lld columns: say which, as in %s:col=%s", kind->name,
                            (long long)d->D, kind->name, d->name ? d->name[0] : "0");
        for (int64_t c = 0; c < d->D; c++) d->column[f->first + f->columns++] = c;
    }
    if (kind->given && !f->has_given && kind->given_default == 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s needs %s, as in %s:%s=1.2", kind->name,
                        kind->given, kind->name, kind->given);
    if (kind->lengths == FAB_LENGTHS_ARD && f->lengths && !f->ard)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s has l only with ard", kind->name);
    if (f->lengths > 1 && (!f->ard || f->lengths != f->columns))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %s: %lld numbers of l for %lld%s", kind->name,
                        (long long)f->lengths, (long long)(f->ard ? f->columns : 1),
                        f->ard ? " columns: give one, or one for each" : ": several need ard");
    return FAB_OK;
}

/* The text of a leaf without its parameters: name, ard, what is given, columns. */
static void write_head(draft *d, draft_leaf *f, const char *columns, size_t length)
{
    f->head = (int64_t)d->heads.used;
    fab_text_add(&d->heads, "%s%s", f->kind->name, f->ard ? ":ard" : "");
    if (f->kind->given) {
        char number[32];
        fab_print_double(number, sizeof number, f->given);
        fab_text_add(&d->heads, ":%s=%s", f->kind->given, number);
    }
    if (f->picked) fab_text_add(&d->heads, ":col=%.*s", (int)length, columns);
    fab_text_add(&d->heads, "%c", '\1'); /* the end of it, a 0 later */
}

static fab_status parse_basic(draft *d)
{
    char word[64];
    const size_t n = word_length(d->p);
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), d->p);
    if (n == 0) return refuse_at(d, "a kernel, a number or a (");
    if (d->leaves == FAB_KERNEL_LEAVES)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: more than %d basic kernels", FAB_KERNEL_LEAVES);
    draft_leaf *f = &d->leaf[d->leaves];
    FAB_TRY(find_basic(word, &f->kind));
    d->p += n;
    f->given = f->kind->given_default;
    f->own = f->kind->own.start;
    f->first = d->columns;
    const char *columns = d->p;
    size_t length = 0;
    while (take(d, ':')) {
        const int picked = f->picked;
        skip(d);
        const char *from = d->p;
        FAB_TRY(parse_argument(d, f));
        if (f->picked && !picked) {
            columns = strchr(from, '=') + 1;
            length = (size_t)(d->p - columns);
        }
    }
    FAB_TRY(check_leaf(d, f));
    write_head(d, f, columns, length);
    d->columns += f->columns;
    d->term[d->terms++] = (draft_term){(uint64_t)1 << d->leaves++, 1, 0};
    return FAB_OK;
}

/* ---- sums and products ---------------------------------------------------------------------------------- */

/* The runs base .. mid - 1 and mid .. terms - 1 of the stack become all their products. */
static fab_status multiply(draft *d, int64_t base, int64_t mid)
{
    const int64_t a = mid - base, b = d->terms - mid;
    if (a * b > FAB_KERNEL_TERMS)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: more than %d terms", FAB_KERNEL_TERMS);
    draft_term *to = d->term + d->terms;
    for (int64_t i = 0; i < a; i++)
        for (int64_t j = 0; j < b; j++) {
            const draft_term *x = &d->term[base + i], *y = &d->term[mid + j];
            to[i * b + j] =
                (draft_term){x->leaves | y->leaves, x->s2 * y->s2, x->fixed || y->fixed};
        }
    memmove(d->term + base, to, (size_t)(a * b) * sizeof *to);
    d->terms = base + a * b;
    return FAB_OK;
}

/* A bracket that is open, or the whole text: its first term, the first one of the product that is being read, and whether the next
 * factor multiplies that. */
typedef struct bracket {
    int64_t first, product;
    int multiplies;
} bracket;

/* A number or a basic kernel. */
static fab_status parse_plain_factor(draft *d)
{
    if (!isdigit((unsigned char)*d->p) && *d->p != '.') return parse_basic(d);
    draft_term *t = &d->term[d->terms++];
    *t = (draft_term){0, 1, 1};
    return parse_number(d, "a factor", &t->s2);
}

/* Behind a factor whose first term is `mid`: the product with it; then + or *, or the end, perhaps of brackets, each of which
 * is a factor of what is around it.  *ends: it was the end of the sum. */
static fab_status parse_operator(draft *d, bracket *open, int64_t mid, int *ends)
{
    *ends = 0;
    for (;; mid = open[d->depth--].first) {
        bracket *b = &open[d->depth];
        if (b->multiplies) FAB_TRY(multiply(d, b->product, mid));
        b->multiplies = take(d, '*');
        if (b->multiplies) return FAB_OK;
        if (take(d, '+')) {
            b->product = d->terms;
            return FAB_OK;
        }
        *ends = d->depth == 0;
        if (*ends) return FAB_OK;
        if (!take(d, ')')) return refuse_at(d, "+, * or )");
    }
}

static fab_status parse_sum(draft *d)
{
    bracket open[DEPTH + 1] = {{0}};
    int ends = 0;
    while (!ends) {
        if (d->terms >= FAB_KERNEL_TERMS)
            return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: more than %d terms", FAB_KERNEL_TERMS);
        if (take(d, '(')) {
            if (d->depth == DEPTH)
                return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: more than %d brackets in brackets",
                                DEPTH);
            open[++d->depth] = (bracket){d->terms, d->terms, 0};
            continue;
        }
        const int64_t mid = d->terms;
        FAB_TRY(parse_plain_factor(d));
        FAB_TRY(parse_operator(d, open, mid, &ends));
    }
    return FAB_OK;
}

/* ---- from the draft to the kernel ------------------------------------------------------------------------ */

static int64_t own_lengths(const draft_leaf *f)
{
    switch (f->kind->lengths) {
    case FAB_LENGTHS_NONE: return 0;
    case FAB_LENGTHS_ARD: return f->ard ? f->columns : 0;
    default: return f->ard ? f->columns : 1;
    }
}

/* Bytes of the text of a term. */
static int64_t term_letters(const draft *d, uint64_t leaves)
{
    int64_t n = leaves ? 0 : (int64_t)sizeof "const";
    for (int64_t i = 0; i < d->leaves; i++)
        if (leaves >> i & 1) n += (int64_t)strlen(d->heads.p + d->leaf[i].head) + 1;
    return n;
}

static fab_kernel sizes_of(const draft *d)
{
    fab_kernel k = {.D = d->D, .leaves = d->leaves, .terms = d->terms, .columns = d->columns};
    k.size = d->terms;
    k.letters = (int64_t)strlen(d->text) + 1;
    for (int64_t i = 0; i < d->leaves; i++) {
        const draft_leaf *f = &d->leaf[i];
        k.size += own_lengths(f) + (f->kind->own.name != NULL);
        k.letters += (int64_t)strlen(d->heads.p + f->head) + 1 + (int64_t)strlen(f->kind->name) + 1;
    }
    for (int64_t t = 0; t < d->terms; t++) k.letters += term_letters(d, d->term[t].leaves);
    return k;
}

/* Adds a string to k->text, without its end. */
static void add(fab_kernel *k, int64_t *used, const char *s)
{
    const size_t n = strlen(s);
    memcpy(k->text + *used, s, n);
    *used += (int64_t)n;
}

/* The same with its end; its place there. */
static int64_t keep(fab_kernel *k, int64_t *used, const char *s)
{
    const int64_t at = *used;
    add(k, used, s);
    k->text[(*used)++] = '\0';
    return at;
}

static int64_t keep_term(fab_kernel *k, int64_t *used, uint64_t leaves)
{
    const int64_t at = *used;
    if (leaves == 0) return keep(k, used, "const");
    for (int64_t i = 0; i < k->leaves; i++)
        if (leaves >> i & 1) {
            if (*used > at) add(k, used, "*");
            add(k, used, k->text + k->leaf[i].head);
        }
    k->text[(*used)++] = '\0';
    return at;
}

/* Where lengths of columns of variance 1 are looked for. */
#define LENGTH_LO 1e-3
#define LENGTH_HI 1e4
#define S2_LO     1e-6
#define S2_HI     1e6

static void add_leaf_parameters(fab_kernel *k, const draft *d, int64_t i, int64_t kernel,
                                int64_t *at)
{
    const draft_leaf *from = &d->leaf[i];
    fab_leaf *f = &k->leaf[i];
    f->at = *at;
    f->lengths = own_lengths(from);
    for (int64_t c = 0; c < f->lengths; c++) {
        fab_parameter *p = &k->parameter[(*at)++];
        *p = (fab_parameter){.name = "l", .kernel = kernel, .lo = LENGTH_LO, .hi = LENGTH_HI};
        p->column = f->ard ? k->column[f->first + c] : -1;
        p->fixed = from->lengths > 0;
        p->value = from->lengths == 0 ? sqrt((double)f->columns)
                                      : d->number[from->length + (from->lengths > 1 ? c : 0)];
    }
    f->own = -1;
    if (!f->kind->own.name) return;
    f->own = (*at)++;
    const fab_own *own = &f->kind->own;
    k->parameter[f->own] = (fab_parameter){.name = own->name,
                                           .kernel = kernel,
                                           .column = -1,
                                           .value = from->own,
                                           .lo = own->lo,
                                           .hi = own->hi,
                                           .fixed = from->has_own};
}

/* Terms one after the other, each with s2 and with those leaves that no term before has. */
static void fill(fab_kernel *k, const draft *d)
{
    int64_t used = 0, at = 0;
    uint64_t seen = 0;
    memcpy(k->column, d->column, (size_t)d->columns * sizeof *k->column);
    keep(k, &used, d->text);
    for (int64_t i = 0; i < d->leaves; i++) {
        const draft_leaf *from = &d->leaf[i];
        k->leaf[i] = (fab_leaf){.kind = from->kind,
                                .ard = from->ard,
                                .first = from->first,
                                .columns = from->columns,
                                .given = from->given,
                                .head = keep(k, &used, d->heads.p + from->head)};
    }
    for (int64_t t = 0; t < d->terms; t++) {
        const draft_term *from = &d->term[t];
        const int64_t text = keep_term(k, &used, from->leaves);
        k->term[t] = (fab_term){.leaves = from->leaves, .s2 = at, .text = text};
        k->parameter[at++] = (fab_parameter){.name = "s2",
                                             .kernel = text,
                                             .column = -1,
                                             .value = from->s2,
                                             .lo = S2_LO,
                                             .hi = S2_HI,
                                             .fixed = from->fixed};
        for (int64_t i = 0; i < d->leaves; i++) {
            const uint64_t bit = (uint64_t)1 << i;
            if (!(from->leaves & bit) || seen & bit) continue;
            seen |= bit;
            add_leaf_parameters(k, d, i, keep(k, &used, d->leaf[i].kind->name), &at);
        }
    }
    fab_kernel_settle(k);
}

static fab_status check_text(const char *text)
{
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "kernel: byte %lld of its text is the control character 0x%02x",
                            (long long)(p - text), (unsigned)*p);
    return FAB_OK;
}

static fab_status parse(fab_kernel **k, draft *d)
{
    FAB_TRY(parse_sum(d));
    skip(d);
    if (*d->p) return refuse_at(d, "+, * or the end");
    for (int64_t t = 0; t < d->terms; t++)
        if (!(d->term[t].s2 >= 1e-150 && d->term[t].s2 <= 1e150))
            return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: the numbers of a term make %g",
                            d->term[t].s2);
    if (d->heads.failed) return FAB_FAIL(FAB_NO_MEMORY, "kernel: cannot allocate its text");
    for (size_t i = 0; i < d->heads.used; i++)
        if (d->heads.p[i] == '\1') d->heads.p[i] = '\0';
    const fab_kernel sizes = sizes_of(d);
    FAB_TRY(fab_kernel_build(k, &sizes));
    fill(*k, d);
    return FAB_OK;
}

/* As many leaves as the text can have. */
static int64_t most_leaves(const char *text)
{
    int64_t n = 1;
    for (; *text; text++) n += *text == '+' || *text == '*';
    return n < FAB_KERNEL_LEAVES ? n : FAB_KERNEL_LEAVES;
}

fab_status fab_kernel_parse(fab_kernel **k, const char *text, int64_t D, const char *const *column)
{
    draft *d = NULL;
    const int64_t room = most_leaves(text) * D;
    *k = NULL;
    FAB_TRY(check_text(text));
    FAB_TRY(fab_alloc_array((void **)&d, 1, sizeof *d, "kernel"));
    memset(d, 0, sizeof *d);
    d->text = d->p = text;
    d->D = D;
    d->name = column;
    fab_status s = fab_alloc_array((void **)&d->column, room, sizeof *d->column, "kernel");
    if (s == FAB_OK) s = fab_alloc_array((void **)&d->number, room, sizeof *d->number, "kernel");
    if (s == FAB_OK) s = parse(k, d);
    fab_release(d->heads.p);
    fab_release(d->number);
    fab_release(d->column);
    fab_release(d);
    return s;
}
