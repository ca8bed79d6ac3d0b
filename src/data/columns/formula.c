/* formula.c - a formula from its text to terms.
 *
 *   formula  = [ name ] '~' sum
 *   sum      = [ '-' ] cross { ( '+' | '-' ) cross }
 *   cross    = product { ( '*' | '/' ) product }        a*b = a + b + a:b,  a/b = a + a:b
 *   product  = power { ':' power }
 *   power    = primary [ ( '^' | '**' ) whole number ]  (a + b)^2 = a + b + a:b
 *   primary  = '(' sum ')' | '.' | '0' | '1' | factor | 'offset' '(' name | 'log' '(' name ')' ')'
 *   factor   = name | 'C' '(' name ')' | 'C' '(' part of a date '(' number ')' ')' | 'poly' '(' number ',' whole number ')' | 'I' '(' number ')' | function '(' number ')'
 *   number   = the arithmetic of columns and constants: + - * / ^ ( ) and functions
 *   name     = letters, digits, '_' and '.', or anything between `` or ""
 *
 *   1  read the text: sets of terms, a term being a rising list of factors
 *   2  order them by the number of their factors, each once
 *   3  write them, with the columns that '.' stands for, and read that: this is the formula
 *
 * SPDX-License-Identifier: MIT */
#include "data/columns/formula.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/source/source.h"
#include "fabayes/settings.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const functions[] = {"log", "log1p", "log2", "log10", "exp", "sqrt", "abs"};
enum { FUNCTIONS = sizeof functions / sizeof *functions };
static double absolute(double x)
{
    return fabs(x);
}

double fab_formula_function(int64_t which, double x)
{
    static double (*const function[])(double) = {log, log1p, log2, log10, exp, sqrt, absolute};
    return which < FUNCTIONS ? function[which](x) : fab_date_parts[which - FUNCTIONS].of(x);
}

/* ---- life ------------------------------------------------------------------------------------------ */

void fab_formula_free(fab_formula *f)
{
    if (!f) return;
    for (int64_t i = 0; i < f->columns; i++) fab_release(f->column[i].name);
    for (int64_t i = 0; i < f->factors; i++) {
        fab_release(f->factor[i].text);
        fab_release(f->factor[i].step);
        fab_release(f->factor[i].alpha);
    }
    fab_release(f->column);
    fab_release(f->factor);
    fab_release(f->term);
    fab_release(f->text);
    fab_release(f->target);
    fab_release(f->offset);
    fab_release(f);
}

/* Room for one more of `size` bytes behind n. */
static fab_status grow(void *array, int64_t n, int64_t *room, size_t size)
{
    void *new;
    if (n < *room) return FAB_OK;
    FAB_TRY(fab_alloc_array(&new, 2 * n + 8, size, "formula"));
    if (n) memcpy(new, *(void **)array, (size_t)n * size);
    fab_release(*(void **)array);
    *(void **)array = new;
    *room = 2 * n + 8;
    return FAB_OK;
}

/* ---- reading: marks and places ------------------------------------------------------------------------ */

typedef struct parser {
    fab_formula *f;
    const char *text, *p; /* all of it; what is next */
    const char *const *name;
    const char *all;
    int64_t n; /* the columns there are; name NULL: any */
    int deep;  /* parentheses that are open */
    int dots;  /* columns are those of '.' */
} parser;

/* A set of terms. */
typedef struct terms {
    fab_term *term;
    int64_t n, room;
} terms;

enum { DEEPEST = 100 };

static fab_status expected(const parser *r, const char *what)
{
    enum { SHOWN = 16 };
    const long long at = r->p - r->text + 1;
    if (!*r->p)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "formula '%s': ends where %s is expected", r->text, what);
    return FAB_FAIL(FAB_BAD_ARGUMENT, "formula '%s': character %lld, '%.*s': expected %s", r->text,
                    at, SHOWN, r->p, what);
}

static void pass_blanks(parser *r)
{
    while (*r->p && strchr(" \t\r\n", *r->p)) r->p++;
}

/* Is the next mark this one?  Then it is passed. */
static int take_mark(parser *r, const char *mark)
{
    const size_t n = strlen(mark);
    pass_blanks(r);
    if (strncmp(r->p, mark, n) != 0) return 0;
    if (strcmp(mark, "*") == 0 && r->p[1] == '*') return 0;
    r->p += n;
    return 1;
}

static fab_status need_mark(parser *r, const char *mark)
{
    char what[8];
    if (take_mark(r, mark)) return FAB_OK;
    snprintf(what, sizeof what, "'%s'", mark);
    return expected(r, what);
}

static int in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

/* A name may begin here: '.' alone is none, nor is .5 or 2x. */
static int starts_name(const char *p)
{
    if (*p == '`' || *p == '"') return 1;
    if (*p == '.') return in_name(p[1]) && !isdigit((unsigned char)p[1]);
    return in_name(*p) && !isdigit((unsigned char)*p);
}

/* The next name.  Gives *name; *quoted or NULL: it stood between quotes. */
static fab_status take_name(parser *r, const char *what, char **name, int *quoted)
{
    pass_blanks(r);
    const char *from = r->p, *end;
    *name = NULL;
    if (!starts_name(from)) return expected(r, what);
    if (quoted) *quoted = *from == '`' || *from == '"';
    if (*from == '`' || *from == '"') {
        const char quote = *from++;
        end = strchr(from, quote);
        if (!end) return expected(r, "a name whose quote closes");
        r->p = end + 1;
    } else {
        for (end = from; in_name(*end); end++) continue;
        r->p = end;
    }
    if (end == from) return r->p = from - 1, expected(r, "a name between the quotes");
    FAB_TRY(fab_alloc_array((void **)name, end - from + 1, 1, "formula"));
    memcpy(*name, from, (size_t)(end - from));
    (*name)[end - from] = '\0';
    return FAB_OK;
}

/* A whole number from 1 to `most`. */
static fab_status take_whole(parser *r, int64_t most, const char *what, int64_t *x)
{
    char *end;
    pass_blanks(r);
    if (!isdigit((unsigned char)*r->p)) return expected(r, what);
    const long long value = strtoll(r->p, &end, 10);
    if (value < 1 || value > most || in_name(*end)) return expected(r, what);
    *x = value;
    r->p = end;
    return FAB_OK;
}

/* ---- reading: columns and factors --------------------------------------------------------------------- */

/* The column of a name in the formula, new or met before. */
static fab_status put_column(parser *r, const char *name, int coded, int64_t *column)
{
    fab_formula *f = r->f;
    for (int64_t i = 0; i < f->columns; i++)
        if (f->column[i].coded == coded && strcmp(f->column[i].name, name) == 0) {
            if (!r->dots) f->column[i].named = 1;
            *column = i;
            return FAB_OK;
        }
    FAB_TRY(grow(&f->column, f->columns, &f->column_room, sizeof *f->column));
    fab_formula_column *c = &f->column[f->columns];
    *c = (fab_formula_column){.coded = coded, .named = !r->dots};
    FAB_TRY(fab_copy_text(&c->name, name));
    *column = f->columns++;
    return FAB_OK;
}

/* A name that stands at `at` must be one of the columns. */
static fab_status check_column(const parser *r, const char *at, const char *name)
{
    char shown[FAB_SHOWN];
    if (!r->name) return FAB_OK;
    for (int64_t i = 0; i < r->n; i++)
        if (strcmp(r->name[i], name) == 0) return FAB_OK;
    const char *near = fab_nearest(name, r->name, r->n);
    fab_show(shown, name, strlen(name));
    const long long place = at - r->text + 1;
    if (r->f->target && strcmp(name, r->f->target) == 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "formula '%s': character %lld: '%s' is the target, and explains itself",
                        r->text, place, shown);
    if (near)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "formula '%s': character %lld: there is no column '%s' for a feature; did "
                        "you mean '%s'?",
                        r->text, place, shown, near);
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "formula '%s': character %lld: there is no column '%s' for a feature", r->text,
                    place, shown);
}

/* Names that are no plain ones stand between `` again. */
static void add_name(fab_text *t, const char *name)
{
    int plain = starts_name(name) && *name != '"' && *name != '`';
    for (const char *p = name; *p; p++) plain = plain && in_name(*p);
    const char *quote = strchr(name, '`') ? "\"" : "`";
    if (plain) quote = "";
    fab_text_add(t, "%s%s%s", quote, name, quote);
}

/* The factor of that text, new or met before; a new one takes over what *made points to, and *made is empty then. */
static fab_status put_factor(parser *r, fab_factor *made, int64_t *factor)
{
    fab_formula *f = r->f;
    for (int64_t i = 0; i < f->factors; i++)
        if (strcmp(f->factor[i].text, made->text) == 0) {
            *factor = i;
            return FAB_OK;
        }
    FAB_TRY(grow(&f->factor, f->factors, &f->factor_room, sizeof *f->factor));
    f->factor[f->factors] = *made;
    *made = (fab_factor){0};
    *factor = f->factors++;
    return FAB_OK;
}

static fab_status put_column_factor(parser *r, const char *name, int coded, int64_t *factor)
{
    fab_factor new = {.kind = FAB_FACTOR_COLUMN};
    fab_text t = {0};
    if (coded) fab_text_add(&t, "C(");
    add_name(&t, name);
    if (coded) fab_text_add(&t, ")");
    fab_status s = fab_text_give(&t, &new.text);
    if (s == FAB_OK) s = put_column(r, name, coded, &new.column);
    if (s == FAB_OK) s = put_factor(r, &new, factor);
    fab_release(new.text);
    return s;
}

/* ---- reading: arithmetic ------------------------------------------------------------------------------- */

/* An expression on its way: postfix steps, its text, and how many numbers it holds at a time. */
typedef struct expression {
    fab_step *step;
    int64_t steps, room;
    int64_t held, most;
    fab_text text;
} expression;

static void close_expression(expression *e)
{
    fab_release(e->step);
    fab_release(e->text.p);
}

/* takes: numbers that the step uses up before it leaves one. */
static fab_status add_step(expression *e, fab_step step, int takes)
{
    FAB_TRY(grow(&e->step, e->steps, &e->room, sizeof *e->step));
    e->step[e->steps++] = step;
    e->held += 1 - takes;
    if (e->held > e->most) e->most = e->held;
    return FAB_OK;
}

static fab_status arithmetic(parser *r, expression *e);

static int64_t function_of(const char *name)
{
    for (int64_t i = 0; i < FUNCTIONS; i++)
        if (strcmp(name, functions[i]) == 0) return i;
    const fab_date_part *part = fab_date_part_find(name);
    return part ? FUNCTIONS + (part - fab_date_parts) : -1;
}

static fab_status no_function(const parser *r, const char *at, const char *name)
{
    static const char *const known[] = {
        "log",    "log1p",  "log2", "log10",   "exp",   "sqrt", "abs",     "I",       "poly", "C",
        "factor", "offset", "year", "quarter", "month", "day",  "yearday", "weekday", "hour"};
    const char *near = fab_nearest(name, known, sizeof known / sizeof *known);
    const long long place = at - r->text + 1;
    if (near)
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "formula '%s': character %lld: there is no function '%.40s' here; did you mean '%s'?",
            r->text, place, name, near);
    return FAB_FAIL(
        FAB_BAD_ARGUMENT,
        "formula '%s': character %lld: there is no function '%.40s' here; log, log1p, "
        "log2, log10, exp, "
        "sqrt, abs, I, poly, C, offset, and year, quarter, month, day, yearday, weekday "
        "and hour of a date are there",
        r->text, place, name);
}

/* NOLINTBEGIN(misc-no-recursion): rules of the grammar, and at most DEEPEST parentheses */

/* A column, or function(number), or I(number) once more. */
static fab_status named_operand(parser *r, expression *e)
{
    const char *at = r->p;
    char *name;
    int quoted;
    int64_t column;
    FAB_TRY(take_name(r, "a column", &name, &quoted));
    fab_status s = FAB_OK;
    if (!quoted && take_mark(r, "(")) {
        const int64_t which = function_of(name);
        const int plain = strcmp(name, "I") == 0;
        if (which < 0 && !plain) s = no_function(r, at, name);
        fab_text_add(&e->text, "%s(", name);
        if (s == FAB_OK) s = arithmetic(r, e);
        if (s == FAB_OK) s = need_mark(r, ")");
        fab_text_add(&e->text, ")");
        if (s == FAB_OK && !plain)
            s = add_step(e, (fab_step){.kind = FAB_STEP_FUNCTION, .at = which}, 1);
    } else {
        s = check_column(r, at, name);
        add_name(&e->text, name);
        if (s == FAB_OK) s = put_column(r, name, 0, &column);
        if (s == FAB_OK) s = add_step(e, (fab_step){.kind = FAB_STEP_COLUMN, .at = column}, 0);
    }
    fab_release(name);
    return s;
}

static fab_status operand(parser *r, expression *e)
{
    pass_blanks(r);
    if (take_mark(r, "(")) {
        fab_text_add(&e->text, "(");
        FAB_TRY(arithmetic(r, e));
        FAB_TRY(need_mark(r, ")"));
        fab_text_add(&e->text, ")");
        return FAB_OK;
    }
    if (starts_name(r->p)) return named_operand(r, e);
    if (!isdigit((unsigned char)*r->p) && *r->p != '.')
        return expected(r, "a column, a number or '('");
    char *end;
    const double number = strtod(r->p, &end);
    if (end == r->p || in_name(*end) || !isfinite(number)) return expected(r, "a number");
    fab_text_add(&e->text, "%.*s", (int)(end - r->p), r->p);
    r->p = end;
    return add_step(e, (fab_step){.kind = FAB_STEP_NUMBER, .number = number}, 0);
}

/* x ^ y, from the right; -x^2 is -(x^2), and x^-1 is 1 / x. */
static fab_status signed_power(parser *r, expression *e)
{
    if (++r->deep > DEEPEST) return expected(r, "fewer parentheses");
    if (take_mark(r, "-")) {
        fab_text_add(&e->text, "-");
        FAB_TRY(signed_power(r, e));
        FAB_TRY(add_step(e, (fab_step){.kind = FAB_STEP_MINUS}, 1));
    } else {
        (void)take_mark(r, "+");
        FAB_TRY(operand(r, e));
        if (take_mark(r, "^") || take_mark(r, "**")) {
            fab_text_add(&e->text, "^");
            FAB_TRY(signed_power(r, e));
            FAB_TRY(add_step(e, (fab_step){.kind = FAB_STEP_BINARY, .at = '^'}, 2));
        }
    }
    r->deep--;
    return FAB_OK;
}

static fab_status quotient(parser *r, expression *e)
{
    FAB_TRY(signed_power(r, e));
    for (;;) {
        const int times = take_mark(r, "*");
        if (!times && !take_mark(r, "/")) return FAB_OK;
        fab_text_add(&e->text, times ? " * " : " / ");
        FAB_TRY(signed_power(r, e));
        FAB_TRY(add_step(e, (fab_step){.kind = FAB_STEP_BINARY, .at = times ? '*' : '/'}, 2));
    }
}

static fab_status arithmetic(parser *r, expression *e)
{
    if (++r->deep > DEEPEST) return expected(r, "fewer parentheses");
    FAB_TRY(quotient(r, e));
    for (;;) {
        const int plus = take_mark(r, "+");
        if (!plus && !take_mark(r, "-")) break;
        fab_text_add(&e->text, plus ? " + " : " - ");
        FAB_TRY(quotient(r, e));
        FAB_TRY(add_step(e, (fab_step){.kind = FAB_STEP_BINARY, .at = plus ? '+' : '-'}, 2));
    }
    r->deep--;
    return FAB_OK;
}

/* name( was read: the factor log(..), I(..) or poly(.., k). */
static fab_status call_factor(parser *r, const char *name, fab_factor *made, expression *e)
{
    const int poly = strcmp(name, "poly") == 0;
    const int64_t which = function_of(name);
    fab_text_add(&e->text, "%s(", name);
    FAB_TRY(arithmetic(r, e));
    if (poly) {
        FAB_TRY(need_mark(r, ","));
        FAB_TRY(take_whole(r, FAB_FORMULA_POLY, "a degree from 1 to 20", &made->degree));
        fab_text_add(&e->text, ", %lld", (long long)made->degree);
    }
    FAB_TRY(need_mark(r, ")"));
    fab_text_add(&e->text, ")");
    if (which >= 0) FAB_TRY(add_step(e, (fab_step){.kind = FAB_STEP_FUNCTION, .at = which}, 1));
    if (e->most > FAB_FORMULA_STACK) return expected(r, "a simpler expression");
    made->kind = poly ? FAB_FACTOR_POLY : FAB_FACTOR_EXPRESSION;
    made->step = e->step;
    made->steps = e->steps;
    e->step = NULL;
    fab_text text = e->text;
    e->text = (fab_text){0};
    return fab_text_give(&text, &made->text);
}

/* C(name( was read, and name stands at `at`: the levels of a part of a date. */
static fab_status part_factor(parser *r, const char *at, const char *name, int64_t *factor)
{
    const fab_date_part *part = fab_date_part_find(name);
    fab_factor made = {0};
    expression e = {0};
    if (!part || !part->levels) {
        r->p = at;
        return expected(r, "a column, or quarter, month, day, weekday or hour of one");
    }
    fab_status s = call_factor(r, name, &made, &e);
    close_expression(&e);
    if (s == FAB_OK) s = need_mark(r, ")");
    if (s == FAB_OK) {
        fab_text t = {0};
        fab_text_add(&t, "C(%s)", made.text);
        fab_release(made.text);
        made.text = NULL;
        made.kind = FAB_FACTOR_PART;
        made.part = part - fab_date_parts;
        made.degree = part->levels;
        s = fab_text_give(&t, &made.text);
    }
    if (s == FAB_OK) s = put_factor(r, &made, factor);
    fab_release(made.text);
    fab_release(made.step);
    return s;
}

/* ---- reading: sets of terms ---------------------------------------------------------------------------- */

static void close_terms(terms *t)
{
    fab_release(t->term);
    *t = (terms){0};
}

static fab_status add_term(const parser *r, terms *t, const fab_term *one)
{
    if (t->n >= FAB_FORMULA_TERMS)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "formula '%.60s': makes more than %d terms", r->text,
                        FAB_FORMULA_TERMS);
    FAB_TRY(grow(&t->term, t->n, &t->room, sizeof *t->term));
    t->term[t->n++] = *one;
    return FAB_OK;
}

static int compare_terms(const fab_term *a, const fab_term *b)
{
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (int64_t i = 0; i < a->n; i++)
        if (a->factor[i] != b->factor[i]) return a->factor[i] < b->factor[i] ? -1 : 1;
    return 0;
}

static void remove_terms(terms *t, const terms *out)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t j = 0;
        while (j < out->n && compare_terms(&t->term[i], &out->term[j]) != 0) j++;
        if (j == out->n) t->term[kept++] = t->term[i];
    }
    t->n = kept;
}

/* Each term once, where it stood first. */
typedef struct placed {
    const fab_term *term;
    int64_t place;
} placed;

static int by_term(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    const int order = compare_terms(x->term, y->term);
    if (order) return order;
    return x->place < y->place ? -1 : 1;
}

static fab_status once(terms *t)
{
    placed *p;
    char *twice;
    int64_t kept = 0;
    if (t->n < 2) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&p, t->n, sizeof *p + 1, "formula"));
    twice = (char *)(p + t->n);
    memset(twice, 0, (size_t)t->n);
    for (int64_t i = 0; i < t->n; i++) p[i] = (placed){&t->term[i], i};
    qsort(p, (size_t)t->n, sizeof *p, by_term);
    for (int64_t i = 1; i < t->n; i++)
        if (compare_terms(p[i].term, p[i - 1].term) == 0) twice[p[i].place] = 1;
    for (int64_t i = 0; i < t->n; i++)
        if (!twice[i]) t->term[kept++] = t->term[i];
    t->n = kept;
    fab_release(p);
    return FAB_OK;
}

/* The factors of both, rising, each once: a:a is a. */
static fab_status join_terms(const parser *r, const fab_term *a, const fab_term *b, fab_term *out)
{
    int64_t i = 0, j = 0;
    *out = (fab_term){0};
    while (i < a->n || j < b->n) {
        int64_t next;
        if (j == b->n || (i < a->n && a->factor[i] <= b->factor[j]))
            next = a->factor[i];
        else
            next = b->factor[j];
        if (i < a->n && a->factor[i] == next) i++;
        if (j < b->n && b->factor[j] == next) j++;
        if (out->n == FAB_FORMULA_DEGREE)
            return FAB_FAIL(FAB_BAD_ARGUMENT, "formula '%.60s': a term has more than %d factors",
                            r->text, FAB_FORMULA_DEGREE);
        out->factor[out->n++] = next;
    }
    return FAB_OK;
}

/* a becomes a:b; with `also` the terms of a stay, and those of b are added: a * b. */
static fab_status multiply(const parser *r, terms *a, const terms *b, int also)
{
    terms all = {0};
    fab_status s = FAB_OK;
    if (also) {
        for (int64_t i = 0; i < a->n && s == FAB_OK; i++) s = add_term(r, &all, &a->term[i]);
        for (int64_t j = 0; j < b->n && s == FAB_OK; j++) s = add_term(r, &all, &b->term[j]);
    }
    for (int64_t i = 0; i < a->n && s == FAB_OK; i++)
        for (int64_t j = 0; j < b->n && s == FAB_OK; j++) {
            fab_term one;
            s = join_terms(r, &a->term[i], &b->term[j], &one);
            if (s == FAB_OK) s = add_term(r, &all, &one);
        }
    if (s == FAB_OK) s = once(&all);
    if (s != FAB_OK) {
        close_terms(&all);
        return s;
    }
    close_terms(a);
    *a = all;
    return FAB_OK;
}

/* a / b = a + (all factors of a):b */
static fab_status nest(const parser *r, terms *a, const terms *b)
{
    fab_term whole = {0}, one;
    for (int64_t i = 0; i < a->n; i++) {
        const fab_term before = whole;
        FAB_TRY(join_terms(r, &before, &a->term[i], &whole));
    }
    for (int64_t j = 0; j < b->n; j++) {
        FAB_TRY(join_terms(r, &whole, &b->term[j], &one));
        FAB_TRY(add_term(r, a, &one));
    }
    return once(a);
}

static fab_status sum(parser *r, terms *out);

/* offset(name) or offset(log(name)); the parenthesis is open. */
static fab_status take_offset(parser *r)
{
    char *name = NULL;
    int quoted;
    pass_blanks(r);
    const char *at = r->p;
    if (r->f->offset || r->deep > 0)
        return r->p = at, expected(r, "one offset, outside of parentheses");
    FAB_TRY(take_name(r, "a column or log(column)", &name, &quoted));
    const int logarithm = !quoted && strcmp(name, "log") == 0 && take_mark(r, "(");
    fab_status s = FAB_OK;
    if (logarithm) {
        fab_release(name);
        pass_blanks(r);
        at = r->p;
        s = take_name(r, "a column", &name, NULL);
        if (s == FAB_OK) s = need_mark(r, ")");
    }
    if (s == FAB_OK) s = need_mark(r, ")");
    if (s == FAB_OK) s = check_column(r, at, name);
    if (s == FAB_OK) {
        fab_text t = {0};
        fab_text_add(&t, logarithm ? "log:%s" : "%s", name);
        s = fab_text_give(&t, &r->f->offset);
    }
    fab_release(name);
    return s;
}

static fab_status named_terms(parser *r, terms *out)
{
    const char *at = r->p;
    char *name;
    int quoted;
    fab_term one = {.n = 1};
    FAB_TRY(take_name(r, "a column or a function", &name, &quoted));
    fab_status s = FAB_OK;
    const int call = !quoted && take_mark(r, "(");
    if (!call) {
        s = check_column(r, at, name);
        if (s == FAB_OK) s = put_column_factor(r, name, 0, &one.factor[0]);
    } else if (strcmp(name, "offset") == 0) {
        one.n = 0;
        s = take_offset(r);
        fab_release(name);
        return s;
    } else if (strcmp(name, "C") == 0 || strcmp(name, "factor") == 0) {
        char *column = NULL;
        pass_blanks(r);
        at = r->p;
        s = take_name(r, "a column", &column, &quoted);
        if (s == FAB_OK && !quoted && take_mark(r, "(")) {
            s = part_factor(r, at, column, &one.factor[0]);
        } else {
            if (s == FAB_OK) s = need_mark(r, ")");
            if (s == FAB_OK) s = check_column(r, at, column);
            if (s == FAB_OK) s = put_column_factor(r, column, 1, &one.factor[0]);
        }
        fab_release(column);
    } else if (function_of(name) >= 0 || strcmp(name, "I") == 0 || strcmp(name, "poly") == 0) {
        fab_factor made = {0};
        expression e = {0};
        s = call_factor(r, name, &made, &e);
        if (s == FAB_OK) s = put_factor(r, &made, &one.factor[0]);
        close_expression(&e);
        fab_release(made.text);
        fab_release(made.step);
    } else {
        s = no_function(r, at, name);
    }
    fab_release(name);
    return s == FAB_OK ? add_term(r, out, &one) : s;
}

/* '.': all columns but those that have another role. */
static fab_status all_columns(parser *r, terms *out)
{
    if (!r->name) return expected(r, "the name of a column");
    r->p++;
    r->dots = 1;
    fab_status s = FAB_OK;
    for (int64_t i = 0; i < r->n && s == FAB_OK; i++) {
        fab_term one = {.n = 1};
        if (!r->all[i]) continue;
        s = put_column_factor(r, r->name[i], 0, &one.factor[0]);
        if (s == FAB_OK) s = add_term(r, out, &one);
    }
    r->dots = 0;
    return s;
}

static fab_status primary(parser *r, terms *out)
{
    pass_blanks(r);
    if (starts_name(r->p)) return named_terms(r, out);
    if (*r->p == '.' && !isdigit((unsigned char)r->p[1])) return all_columns(r, out);
    if (take_mark(r, "(")) {
        if (++r->deep > DEEPEST) return expected(r, "fewer parentheses");
        FAB_TRY(sum(r, out));
        r->deep--;
        return need_mark(r, ")");
    }
    if ((*r->p == '0' || *r->p == '1') && !in_name(r->p[1])) {
        const fab_term one = {0};
        if (*r->p++ == '1') return add_term(r, out, &one);
        return FAB_OK; /* what `sum` makes of it */
    }
    if (isdigit((unsigned char)*r->p))
        return expected(r, "a column: I(..) does arithmetic with numbers");
    return expected(r, "a column, a function or '('");
}

static fab_status power(parser *r, terms *out)
{
    int64_t times;
    FAB_TRY(primary(r, out));
    if (!take_mark(r, "^") && !take_mark(r, "**")) return FAB_OK;
    FAB_TRY(take_whole(r, FAB_FORMULA_DEGREE, "a whole number from 1 to 8; I(x^2) is the square",
                       &times));
    terms base = {0};
    fab_status s = FAB_OK;
    for (int64_t i = 0; i < out->n && s == FAB_OK; i++) s = add_term(r, &base, &out->term[i]);
    for (int64_t i = 1; i < times && s == FAB_OK; i++) s = multiply(r, out, &base, 1);
    close_terms(&base);
    return s;
}

static fab_status product(parser *r, terms *out)
{
    FAB_TRY(power(r, out));
    while (take_mark(r, ":")) {
        terms next = {0};
        fab_status s = out->n ? power(r, &next) : expected(r, "nothing behind 0 and an offset");
        if (s == FAB_OK && next.n == 0) s = expected(r, "a term before this");
        if (s == FAB_OK) s = multiply(r, out, &next, 0);
        close_terms(&next);
        FAB_TRY(s);
    }
    return FAB_OK;
}

static fab_status cross(parser *r, terms *out)
{
    FAB_TRY(product(r, out));
    for (;;) {
        const int times = take_mark(r, "*");
        if (!times && !take_mark(r, "/")) return FAB_OK;
        terms next = {0};
        fab_status s = out->n ? product(r, &next) : expected(r, "nothing behind 0 and an offset");
        if (s == FAB_OK && next.n == 0) s = expected(r, "a term before this");
        if (s == FAB_OK) s = times ? multiply(r, out, &next, 1) : nest(r, out, &next);
        close_terms(&next);
        FAB_TRY(s);
    }
}

/* +0 takes the intercept away as -1 does, and -0 brings it back. */
static fab_status sum(parser *r, terms *out)
{
    int minus = take_mark(r, "-");
    for (;;) {
        terms next = {0}, one = {.term = &(fab_term){0}, .n = 1};
        pass_blanks(r);
        const int zero = *r->p == '0' && !in_name(r->p[1]);
        const char *offset = r->f->offset;
        fab_status s = cross(r, &next);
        if (s == FAB_OK && minus && r->f->offset != offset)
            s = expected(r, "an offset behind a '+'");
        if (s == FAB_OK && zero && next.n == 0) {
            if (minus)
                s = add_term(r, out, one.term);
            else
                remove_terms(out, &one);
        } else if (s == FAB_OK && minus) {
            remove_terms(out, &next);
        } else {
            for (int64_t i = 0; i < next.n && s == FAB_OK; i++) s = add_term(r, out, &next.term[i]);
        }
        close_terms(&next);
        FAB_TRY(s);
        minus = take_mark(r, "-");
        if (!minus && !take_mark(r, "+")) return once(out);
    }
}

/* NOLINTEND(misc-no-recursion) */

/* ---- 1 ------------------------------------------------------------------------------------------------ */

/* The left side, up to and with '~': a column as it stands. */
static fab_status left_side(parser *r)
{
    char *name;
    int quoted;
    if (take_mark(r, "~")) return FAB_OK;
    pass_blanks(r);
    const char *at = r->p;
    FAB_TRY(take_name(r, "the target, or '~'", &name, &quoted));
    if (!quoted && take_mark(r, "(")) {
        r->p = at;
        fab_release(name);
        return expected(r,
                        "the target as a column: predictions of a function of it would be in other "
                        "units; make a column of it in the data");
    }
    r->f->target = name;
    if (!take_mark(r, "~")) return expected(r, "'~' behind the target");
    return FAB_OK;
}

static fab_status right_side(parser *r, terms *all)
{
    FAB_TRY(add_term(r, all, &(fab_term){0}));
    FAB_TRY(sum(r, all));
    pass_blanks(r);
    return *r->p ? expected(r, "an operator (+ - : * / ^) or the end") : FAB_OK;
}

static void take_terms(fab_formula *f, terms *all)
{
    int64_t kept = 0;
    f->no_intercept = 1;
    for (int64_t i = 0; i < all->n; i++)
        if (all->term[i].n == 0)
            f->no_intercept = 0;
        else
            all->term[kept++] = all->term[i];
    f->term = all->term;
    f->terms = kept;
    f->term_room = all->room;
}

static fab_status parse(fab_formula **f, parser *r, int sides)
{
    terms all = {0};
    *f = NULL;
    FAB_TRY(fab_alloc_array((void **)&r->f, 1, sizeof *r->f, "formula"));
    *r->f = (fab_formula){0};
    fab_status s = sides ? left_side(r) : FAB_OK;
    if (s == FAB_OK) s = right_side(r, &all);
    if (s == FAB_OK) {
        take_terms(r->f, &all);
        *f = r->f;
        return FAB_OK;
    }
    close_terms(&all);
    fab_formula_free(r->f);
    return s;
}

fab_status fab_formula_target(const char *text, char **target)
{
    fab_formula f = {0};
    parser r = {.f = &f, .text = text, .p = text};
    const fab_status s = left_side(&r);
    *target = f.target;
    if (s == FAB_OK) return s;
    fab_release(f.target);
    *target = NULL;
    return s;
}

/* ---- 2, 3 --------------------------------------------------------------------------------------------- */

/* Terms with few factors first; `out`, or NULL: columns whose terms are left out. */
static fab_status print_terms(const fab_formula *f, const char *out, char **text)
{
    fab_text t = {0};
    const char *plus = "";
    for (int64_t n = 1; n <= FAB_FORMULA_DEGREE; n++)
        for (int64_t i = 0; i < f->terms; i++) {
            const fab_term *one = &f->term[i];
            int skip = one->n != n;
            if (out)
                for (int64_t j = 0; j < one->n; j++) {
                    const fab_factor *a = &f->factor[one->factor[j]];
                    if (a->kind == FAB_FACTOR_COLUMN && out[a->column]) skip = 1;
                    for (int64_t s = 0; s < a->steps; s++)
                        if (a->step[s].kind == FAB_STEP_COLUMN && out[a->step[s].at]) skip = 1;
                }
            if (skip) continue;
            fab_text_add(&t, "%s", plus);
            for (int64_t j = 0; j < one->n; j++)
                fab_text_add(&t, "%s%s", j ? ":" : "", f->factor[one->factor[j]].text);
            plus = " + ";
        }
    if (*plus == '\0')
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "formula: no term is left, and a model needs at least one");
    if (f->no_intercept) fab_text_add(&t, " - 1");
    return fab_text_give(&t, text);
}

fab_status fab_formula_read(fab_formula **f, const char *text)
{
    parser r = {.text = text, .p = text};
    FAB_TRY(parse(f, &r, 0));
    fab_status s = (*f)->terms ? fab_copy_text(&(*f)->text, text)
                               : FAB_FAIL(FAB_BAD_ARGUMENT, "formula '%s': has no terms", text);
    if (s == FAB_OK) return FAB_OK;
    fab_formula_free(*f);
    *f = NULL;
    return s;
}

/* The formula of what is left; who said the names is handed on. */
static fab_status again(fab_formula **f, fab_formula *from, const char *out)
{
    char *text;
    FAB_TRY(print_terms(from, out, &text));
    const fab_status s = fab_formula_read(f, text);
    fab_release(text);
    FAB_TRY(s);
    (*f)->target = from->target;
    (*f)->offset = from->offset;
    from->target = from->offset = NULL;
    for (int64_t i = 0; i < (*f)->columns; i++) {
        fab_formula_column *c = &(*f)->column[i];
        c->named = 0;
        for (int64_t j = 0; j < from->columns; j++)
            if (from->column[j].named && strcmp(from->column[j].name, c->name) == 0) c->named = 1;
    }
    return FAB_OK;
}

fab_status fab_formula_create(fab_formula **f, const char *text, const char *const *name,
                              const char *all, int64_t n)
{
    parser r = {.text = text, .p = text, .name = name, .all = all, .n = n};
    fab_formula *first;
    *f = NULL;
    FAB_TRY(parse(&first, &r, 1));
    const fab_status s = again(f, first, NULL);
    fab_formula_free(first);
    return s;
}

fab_status fab_formula_without(fab_formula **f, const char *out)
{
    fab_formula *new;
    FAB_TRY(again(&new, *f, out));
    fab_formula_free(*f);
    *f = new;
    return FAB_OK;
}

fab_status fab_formula_column_name(const fab_formula *f, int64_t column, char **name)
{
    const fab_formula_column *c = &f->column[column];
    fab_text t = {0};
    fab_text_add(&t, c->coded ? "C(%s)" : "%s", c->name);
    return fab_text_give(&t, name);
}
