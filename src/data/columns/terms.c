/* terms.c - the features that a formula makes of the columns of a table.
 *
 * For each row:
 *
 *   1  the value of every factor: a number, the place of a level, the part of a date, or the polynomials of a number
 *   2  the features of every term: products of the numbers, at the place of its levels, 0 at all others
 *
 * The first factor runs fastest, as in R:  a=1:b=1, a=2:b=1, a=1:b=2, ..
 *
 * poly(x, k) is R's: polynomials that are orthogonal over the rows of the fit, of length 1.  With norm2_-1 = 1 (R's) and
 *
 *   Z_0 = 1,   Z_j = (x - alpha_j) Z_j-1 - norm2_j-1 / norm2_j-2 Z_j-2,   alpha_j = sum x Z_j-1^2 / norm2_j-1,
 *   norm2_j = sum Z_j^2,   feature j = Z_j / sqrt(norm2_j)                                           (Stieltjes)
 *
 * A missing column makes a missing feature.
 *
 * SPDX-License-Identifier: MIT */
#include "data/columns/formula.h"
#include "base/text.h"
#include "data/columns/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- how many, and their names ------------------------------------------------------------------------ */

static int64_t width_of(const fab_factor *a, const int64_t *levels)
{
    if (a->kind == FAB_FACTOR_POLY || a->kind == FAB_FACTOR_PART) return a->degree;
    if (a->kind == FAB_FACTOR_COLUMN && levels[a->column]) return levels[a->column];
    return 1;
}

fab_status fab_formula_features(const fab_formula *f, const int64_t *levels, int64_t *D)
{
    *D = 0;
    for (int64_t i = 0; i < f->factors; i++)
        for (int64_t s = 0; s < f->factor[i].steps; s++)
            if (f->factor[i].step[s].kind == FAB_STEP_COLUMN && levels[f->factor[i].step[s].at])
                return FAB_FAIL(
                    FAB_BAD_DATA,
                    "formula: %s: column '%s' holds words, and arithmetic needs numbers",
                    f->factor[i].text, f->column[f->factor[i].step[s].at].name);
    for (int64_t t = 0; t < f->terms; t++) {
        int64_t features = 1;
        for (int64_t j = 0; j < f->term[t].n; j++) {
            features *= width_of(&f->factor[f->term[t].factor[j]], levels);
            if (features > 10 * FAB_FORMULA_TERMS)
                return FAB_FAIL(FAB_BAD_DATA,
                                "formula: the term with %s makes more than %d features",
                                f->factor[f->term[t].factor[j]].text, 10 * FAB_FORMULA_TERMS);
        }
        *D += features;
    }
    return FAB_OK;
}

static int64_t levels_of(const fab_scaling *k, const fab_factor *a)
{
    return a->kind == FAB_FACTOR_COLUMN ? k->column[a->column].levels : 0;
}

/* Features of a factor. */
static int64_t scaled_width(const fab_scaling *k, const fab_factor *a)
{
    if (a->kind == FAB_FACTOR_POLY || a->kind == FAB_FACTOR_PART) return a->degree;
    return levels_of(k, a) ? levels_of(k, a) : 1;
}

/* A factor in the name of its feature number i. */
static void add_factor(fab_text *t, const fab_scaling *k, const fab_factor *a, int64_t i)
{
    if (a->kind == FAB_FACTOR_COLUMN)
        fab_text_add(t, "%s", k->column[a->column].name);
    else
        fab_text_add(t, "%s", a->text);
    if (a->kind == FAB_FACTOR_POLY) fab_text_add(t, "%lld", (long long)i + 1);
    if (levels_of(k, a)) fab_text_add(t, "=%s", k->column[a->column].level[i]);
    if (a->kind != FAB_FACTOR_PART) return;
    const fab_date_part *part = &fab_date_parts[a->part];
    if (part->word)
        fab_text_add(t, "=%s", part->word[i]);
    else
        fab_text_add(t, "=%lld", (long long)part->first + (long long)i);
}

fab_status fab_formula_name(const fab_scaling *k, char **name)
{
    const fab_formula *f = k->terms;
    for (int64_t t = 0, d = 0; t < f->terms; t++) {
        const fab_term *one = &f->term[t];
        int64_t features = 1;
        for (int64_t j = 0; j < one->n; j++)
            features *= scaled_width(k, &f->factor[one->factor[j]]);
        for (int64_t i = 0; i < features; i++, d++) {
            fab_text text = {0};
            int64_t rest = i;
            for (int64_t j = 0; j < one->n; j++) {
                const fab_factor *a = &f->factor[one->factor[j]];
                const int64_t width = scaled_width(k, a);
                if (j) fab_text_add(&text, ":");
                add_factor(&text, k, a, rest % width);
                rest /= width;
            }
            FAB_TRY(fab_text_give(&text, &name[d]));
        }
    }
    return FAB_OK;
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

/* An expression of the columns x of a row; NaN where one of them is missing. */
static double evaluate(const fab_factor *a, const double *x)
{
    double stack[FAB_FORMULA_STACK + 1] = {0};
    int64_t n = 0;
    for (int64_t s = 0; s < a->steps; s++) {
        const fab_step *step = &a->step[s];
        switch (step->kind) {
        case FAB_STEP_NUMBER: stack[n++] = step->number; break;
        case FAB_STEP_COLUMN:
            if (isnan(x[step->at])) return NAN;
            stack[n++] = x[step->at];
            break;
        case FAB_STEP_FUNCTION: stack[n - 1] = fab_formula_function(step->at, stack[n - 1]); break;
        case FAB_STEP_MINUS: stack[n - 1] = -stack[n - 1]; break;
        case FAB_STEP_BINARY: {
            const double b = stack[--n], c = stack[n - 1];
            double *to = &stack[n - 1];
            if (step->at == '+') *to = c + b;
            if (step->at == '-') *to = c - b;
            if (step->at == '*') *to = c * b;
            if (step->at == '/') *to = c / b;
            if (step->at == '^') *to = pow(c, b);
            break;
        }
        }
    }
    return stack[0];
}

/* Is a column of the expression missing in the row? */
static int is_missing(const fab_factor *a, const double *x)
{
    for (int64_t s = 0; s < a->steps; s++)
        if (a->step[s].kind == FAB_STEP_COLUMN && isnan(x[a->step[s].at])) return 1;
    return 0;
}

/* No number although nothing is missing: the first column of the expression is named. */
static fab_status no_number(const fab_formula *f, const fab_factor *a, const fab_dataset *t,
                            int64_t row, double value)
{
    const double *x = t->x + row * t->D;
    for (int64_t s = 0; s < a->steps; s++)
        if (a->step[s].kind == FAB_STEP_COLUMN)
            return FAB_FAIL(FAB_BAD_DATA,
                            "formula: %s: row %lld (from 0) is %s (column '%s' has %g), expected a "
                            "finite number",
                            a->text, (long long)(t->before + row),
                            isnan(value) ? "no number" : "infinite", f->column[a->step[s].at].name,
                            x[a->step[s].at]);
    return FAB_FAIL(FAB_BAD_DATA, "formula: %s is no finite number", a->text);
}

static fab_status value_of(const fab_formula *f, const fab_factor *a, const fab_dataset *t,
                           int64_t row, double *value)
{
    const double *x = t->x + row * t->D;
    *value = evaluate(a, x);
    if (isfinite(*value) || is_missing(a, x)) return FAB_OK;
    return no_number(f, a, t, row, *value);
}

/* ---- polynomials --------------------------------------------------------------------------------------- */

/* Degrees that `n` numbers allow: one less than there are different ones, counted up to `most`. */
static int64_t distinct(const double *x, int64_t n, int64_t most)
{
    double met[FAB_FORMULA_POLY + 1];
    int64_t found = 0;
    for (int64_t i = 0; i < n && found < most; i++) {
        int64_t j = 0;
        while (j < found && met[j] != x[i]) j++;
        if (j == found && !isnan(x[i])) met[found++] = x[i];
    }
    return found;
}

/* x: n numbers, NaN: missing; z: 2 n for Z_j and Z_j-1. */
static fab_status find_poly(fab_factor *a, const double *x, int64_t n, double *z)
{
    double *now = z, *before = z + n, ratio = 0;
    if (distinct(x, n, a->degree + 1) <= a->degree)
        return FAB_FAIL(FAB_BAD_DATA,
                        "formula: %s: the rows have %lld different values, expected more than %lld",
                        a->text, (long long)distinct(x, n, a->degree + 1), (long long)a->degree);
    a->norm2[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        now[i] = 1;
        before[i] = 0;
        if (!isnan(x[i])) a->norm2[0] += 1;
    }
    for (int64_t j = 1; j <= a->degree; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            if (!isnan(x[i])) sum += x[i] * now[i] * now[i];
        a->alpha[j - 1] = sum / a->norm2[j - 1]; /* alpha_j */
        a->norm2[j] = 0;
        for (int64_t i = 0; i < n; i++) {
            const double next = (x[i] - a->alpha[j - 1]) * now[i] - ratio * before[i]; /* Z_j */
            before[i] = now[i];
            now[i] = next;
            if (!isnan(x[i])) a->norm2[j] += next * next;
        }
        ratio = a->norm2[j] / a->norm2[j - 1];
        if (!(a->norm2[j] > 0 && isfinite(a->norm2[j])))
            return FAB_FAIL(
                FAB_BAD_DATA,
                "formula: %s: power %lld of these numbers is too large or too small for a double; "
                "write the column in another unit",
                a->text, (long long)j);
    }
    return FAB_OK;
}

fab_status fab_formula_learn(fab_formula *f, const fab_dataset *t)
{
    double *x;
    fab_status s = FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&x, 3 * t->n, sizeof *x, "formula"));
    for (int64_t i = 0; i < f->factors && s == FAB_OK; i++) {
        fab_factor *a = &f->factor[i];
        if (a->kind != FAB_FACTOR_POLY) continue;
        for (int64_t row = 0; row < t->n && s == FAB_OK; row++) s = value_of(f, a, t, row, &x[row]);
        if (s == FAB_OK)
            s = fab_alloc_array((void **)&a->alpha, 2 * a->degree + 1, sizeof *a->alpha, "formula");
        if (s != FAB_OK) break;
        a->norm2 = a->alpha + a->degree;
        s = find_poly(a, x, t->n, x + t->n);
    }
    fab_release(x);
    return s;
}

static void put_poly(const fab_factor *a, double x, double *out)
{
    double now = 1, before = 0;
    for (int64_t j = 1; j <= a->degree; j++) {
        const double ratio = j > 1 ? a->norm2[j - 1] / a->norm2[j - 2] : 0;
        const double next = (x - a->alpha[j - 1]) * now - ratio * before;
        before = now;
        now = next;
        out[j - 1] = now / sqrt(a->norm2[j]);
    }
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* The factors of a row: a number or a place at v[at[i]], degree numbers of a polynomial. */
typedef struct values {
    const fab_scaling *k;
    const fab_formula *f;
    int64_t *at; /* factors */
    double *v;
    int64_t **level; /* columns: the place of each word among the levels, -1: none; NULL: numbers */
} values;

enum { UNSEEN = -1 }; /* a level that the fit did not meet */

/* The features of a term from factor j on: those before make `number` at the place `first`, and every step is `stride`. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a term has factors */
static void put_term(const values *w, const fab_term *term, int64_t j, int64_t first,
                     int64_t stride, double number, double *x)
{
    if (j == term->n) {
        x[first] = number;
        return;
    }
    const fab_factor *a = &w->f->factor[term->factor[j]];
    const double *v = w->v + w->at[term->factor[j]];
    const int64_t levels = a->kind == FAB_FACTOR_PART ? a->degree : levels_of(w->k, a);
    if (levels)
        put_term(w, term, j + 1, first + stride * (int64_t)v[0], stride * levels, number, x);
    else if (a->kind == FAB_FACTOR_POLY)
        for (int64_t i = 0; i < a->degree; i++)
            put_term(w, term, j + 1, first + stride * i, stride * a->degree, number * v[i], x);
    else
        put_term(w, term, j + 1, first, stride, number * v[0], x);
}

/* 2; the first term whose product is too large for a double, or -1 */
static int64_t put_row(const values *w, double *x)
{
    for (int64_t t = 0; t < w->f->terms; t++) {
        const fab_term *term = &w->f->term[t];
        int64_t features = 1;
        int missing = 0, unseen = 0;
        for (int64_t j = 0; j < term->n; j++) {
            const fab_factor *a = &w->f->factor[term->factor[j]];
            const double v = w->v[w->at[term->factor[j]]];
            const int64_t levels = levels_of(w->k, a);
            features *= scaled_width(w->k, a);
            missing |= isnan(v);
            unseen |= levels && v == UNSEEN;
        }
        for (int64_t i = 0; i < features; i++) x[i] = missing ? NAN : 0;
        if (!missing && !unseen) {
            put_term(w, term, 0, 0, 1, 1, x);
            for (int64_t i = 0; i < features; i++)
                if (!isfinite(x[i])) return t;
        }
        x += features;
    }
    return -1;
}

/* 1 */
static fab_status take_row(const values *w, fab_dataset *t, int64_t row)
{
    const double *x = t->x + row * t->D;
    for (int64_t i = 0; i < w->f->factors; i++) {
        const fab_factor *a = &w->f->factor[i];
        double *v = w->v + w->at[i];
        if (a->kind == FAB_FACTOR_COLUMN) {
            v[0] = x[a->column];
            if (levels_of(w->k, a) && !isnan(v[0]))
                FAB_TRY(fab_scaling_level(w->k, t, a->column, w->level[a->column], row, v));
            continue;
        }
        FAB_TRY(value_of(w->f, a, t, row, v));
        if (a->kind == FAB_FACTOR_POLY && !isnan(v[0])) put_poly(a, v[0], v);
        if (a->kind == FAB_FACTOR_PART) v[0] -= (double)fab_date_parts[a->part].first;
    }
    return FAB_OK;
}

fab_status fab_formula_values(const fab_scaling *k, fab_dataset *t, double *x)
{
    values w = {.k = k, .f = k->terms};
    int64_t numbers = 0;
    for (int64_t i = 0; i < w.f->factors; i++)
        numbers += w.f->factor[i].kind == FAB_FACTOR_POLY ? w.f->factor[i].degree : 1;
    FAB_TRY(fab_alloc_array((void **)&w.at, w.f->factors, sizeof *w.at, "formula"));
    fab_status s = fab_alloc_array((void **)&w.v, numbers, sizeof *w.v, "formula");
    if (s == FAB_OK) s = fab_scaling_places(k, t, &w.level);
    numbers = 0;
    for (int64_t i = 0; i < w.f->factors; i++) {
        w.at[i] = numbers;
        numbers += w.f->factor[i].kind == FAB_FACTOR_POLY ? w.f->factor[i].degree : 1;
    }
    for (int64_t i = 0; i < t->n && s == FAB_OK; i++) {
        s = take_row(&w, t, i);
        if (s != FAB_OK) break;
        const int64_t bad = put_row(&w, x + i * k->D);
        if (bad >= 0)
            s = FAB_FAIL(FAB_BAD_DATA,
                         "formula: row %lld (from 0): the term with %s is too large for a double",
                         (long long)(t->before + i), w.f->factor[w.f->term[bad].factor[0]].text);
    }
    if (w.level)
        for (int64_t c = 0; c < k->columns; c++) fab_release(w.level[c]);
    fab_release(w.level);
    fab_release(w.v);
    fab_release(w.at);
    return s;
}

/* ---- levels among the features ------------------------------------------------------------------------- */

static int64_t term_width(const fab_scaling *k, const fab_term *t)
{
    int64_t width = 1;
    for (int64_t j = 0; j < t->n; j++) width *= scaled_width(k, &k->terms->factor[t->factor[j]]);
    return width;
}

/* The first feature of the term with the factors of t but that at `without`; -1: there is none. */
static int64_t smaller_term(const fab_scaling *k, const fab_term *t, int64_t without)
{
    const fab_formula *f = k->terms;
    int64_t first = 0;
    for (int64_t i = 0; i < f->terms; i++) {
        const fab_term *o = &f->term[i];
        int same = o->n == t->n - 1;
        for (int64_t j = 0; j < o->n && same; j++)
            same = o->factor[j] == t->factor[j + (j >= without)];
        if (same) return first;
        first += term_width(k, o);
    }
    return -1;
}

fab_level_place fab_scaling_level_place(const fab_scaling *k, int64_t d, int64_t column)
{
    const fab_formula *f = k->terms;
    fab_level_place p = {.level = -1, .stride = 1, .base = -1};
    if (!f) {
        const fab_column *c = &k->column[column];
        if (d < c->first || d >= c->first + c->levels) return p;
        return (fab_level_place){.level = d - c->first, .stride = 1, .base = k->D};
    }
    int64_t t = 0;
    while (d >= term_width(k, &f->term[t])) d -= term_width(k, &f->term[t++]);
    const fab_term *term = &f->term[t];
    int64_t found = -1, rest = d, other = 0, other_stride = 1, stride = 1;
    for (int64_t j = 0; j < term->n; j++) {
        const fab_factor *a = &f->factor[term->factor[j]];
        const int64_t width = scaled_width(k, a), at = rest % width;
        if (levels_of(k, a) && a->column == column) {
            found = j;
            p.level = at;
            p.stride = stride;
        } else {
            other += at * other_stride;
            other_stride *= width;
        }
        rest /= width;
        stride *= width;
    }
    if (found < 0) return p;
    p.base = term->n == 1 ? k->D : smaller_term(k, term, found);
    if (term->n > 1 && p.base >= 0) p.base += other;
    return p;
}
