/* contrasts.c - coefficients of a linear model against reference levels.
 *
 * The fit treats all levels of a column alike.  Against level r of a column, with 1(r) = 1 - sum of the others,
 *
 *   1  the coefficient of every other level is its difference to that of r:   b_l - b_r
 *   2  what is left without the column (the intercept, or the slope that the levels change) takes up b_r
 *   3  that of r itself is 0
 *
 * for several columns one after the other: rows of a matrix L, and the coefficients are L b.  b = A theta + a (linear.c), so
 * that a coefficient with the row v has the mean v . b and the variance w' S w, w = A' v, by the joint posterior of theta.
 *
 * SPDX-License-Identifier: MIT */
#include "table/regression.h"
#include "base/bytes.h"
#include "data/columns/formula.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the references ------------------------------------------------------------------------------------ */

/* What the column is called in a reference: as its features are, or C(x) without the C(). */
static int is_called(const fab_scaling *k, int64_t c, const char *name, size_t n)
{
    const fab_formula_column *f = k->terms ? &k->terms->column[c] : NULL;
    if (strlen(k->column[c].name) == n && strncmp(k->column[c].name, name, n) == 0) return 1;
    return f && f->coded && strlen(f->name) == n && strncmp(f->name, name, n) == 0;
}

/* The reference at the beginning of text, "column=level" up to a comma or the end; its length, or 0. */
static size_t next_reference(const fab_scaling *k, const char *text, int64_t *column,
                             int64_t *level)
{
    size_t longest = 0;
    for (const char *equals = strchr(text, '='); equals; equals = strchr(equals + 1, '='))
        for (int64_t c = 0; c < k->columns; c++) {
            if (!is_called(k, c, text, (size_t)(equals - text))) continue;
            for (int64_t l = 0; l < k->column[c].levels; l++) {
                const size_t n = strlen(k->column[c].level[l]);
                const char end = strncmp(equals + 1, k->column[c].level[l], n) ? 'x'
                                                                               : equals[1 + n];
                if ((end != '\0' && end != ',') || (size_t)(equals - text) + 1 + n < longest)
                    continue;
                longest = (size_t)(equals - text) + 1 + n;
                *column = c;
                *level = l;
            }
        }
    return longest;
}

static fab_status no_reference(const fab_scaling *k, const char *text)
{
    char shown[FAB_SHOWN];
    const char *equals = strchr(text, '=');
    const size_t n = strcspn(text, ",");
    fab_show(shown, text, n);
    if (!equals || (size_t)(equals - text) > n)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "reference '%s': expected column=level", shown);
    for (int64_t c = 0; c < k->columns; c++) {
        if (!is_called(k, c, text, (size_t)(equals - text))) continue;
        if (!k->column[c].levels)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "reference '%s': column '%s' has numbers, and no levels", shown,
                            k->column[c].name);
        const char *near =
            fab_nearest(equals + 1, (const char *const *)k->column[c].level, k->column[c].levels);
        if (near)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "reference '%s': column '%s' has no such level; did you mean '%s'?",
                            shown, k->column[c].name, near);
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "reference '%s': column '%s' has no such level; one is '%s'", shown,
                        k->column[c].name, k->column[c].level[0]);
    }
    return FAB_FAIL(FAB_BAD_ARGUMENT, "reference '%s': there is no such column", shown);
}

/* ---- the matrix ---------------------------------------------------------------------------------------- */

static fab_status no_base(const fab_scaling *k, int64_t column, int64_t level)
{
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "reference '%s=%s': there is no intercept, nor another term, that could "
                    "take up this level",
                    k->column[column].name, k->column[column].level[level]);
}

/* L against one level; width: of its rows, D and the intercept. */
static fab_status refer(const fab_regression *r, int64_t column, int64_t level, double *L,
                        int64_t width)
{
    const fab_scaling *k = r->scaling;
    int64_t changed = 0;
    for (int64_t d = 0; d < k->D; d++) {
        const fab_level_place p = fab_scaling_level_place(k, d, column);
        if (p.level < 0 || p.base < 0 || p.base >= width) continue;
        const double *reference = L + (d + p.stride * (level - p.level)) * width;
        double *to = L + (p.level == level ? p.base : d) * width;
        const double sign = p.level == level ? 1 : -1;
        for (int64_t j = 0; j < width; j++) to[j] += sign * reference[j]; /* 1, 2 */
        changed++;
    }
    if (changed == 0) return no_base(k, column, level);
    for (int64_t d = 0; d < k->D; d++) {
        const fab_level_place p = fab_scaling_level_place(k, d, column);
        if (p.level != level || p.base < 0 || p.base >= width) continue;
        memset(L + d * width, 0, (size_t)width * sizeof *L); /* 3 */
    }
    return FAB_OK;
}

/* Coefficient i of class c: mean and sd; b: the coefficients of the class, w and product: P numbers. */
static fab_status contrast(const fab_regression *r, int64_t c, const double *v, const double *b,
                           double *w, double *product, double *mean, double *sd)
{
    const fab_scaling *k = r->scaling;
    const fab_gauss *q = r->view.mix.part[0];
    const int64_t width = k->D + r->view.model.intercept, first = c * width;
    const double v0 = r->view.model.intercept ? v[k->D] : 0;
    const fab_rows row = {.p = w, .type = FAB_F64, .n = 1, .ld = q->D};
    double variance = 0;
    *mean = 0;
    for (int64_t j = 0; j < width; j++)
        if (v[j] != 0) *mean += v[j] * b[j];
    memset(w, 0, (size_t)q->D * sizeof *w);
    for (int64_t d = 0; d < k->D; d++)
        w[first + d] = k->target_scale / k->scale[d] * (v[d] - v0 * k->mean[d]); /* A' v */
    if (r->view.model.intercept) w[first + k->D] = k->target_scale * v0;
    if (q->form != FAB_FORM_POINT) {
        FAB_TRY(fab_solver_times_covariance(r->view.solver, &row, product));
        for (int64_t i = 0; i < q->D; i++) variance += w[i] * product[i];
    }
    *sd = sqrt(fmax(0, variance));
    return FAB_OK;
}

/* The next reference of the text, and where the one behind it begins: NULL: it is the last. */
static fab_status take_reference(const fab_scaling *k, const char **text, int64_t *column,
                                 int64_t *level)
{
    *text += strspn(*text, " ");
    const size_t n = next_reference(k, *text, column, level);
    if (n == 0) return no_reference(k, *text);
    *text = (*text)[n] == ',' ? *text + n + 1 : NULL;
    return FAB_OK;
}

static fab_status find(fab_regression *r, const char *reference, double *work, double *mean,
                       double *sd)
{
    const fab_scaling *k = r->scaling;
    const int64_t P = r->view.mix.part[0]->D, width = k->D + r->view.model.intercept;
    double *L = work, *b = L + width * width, *w = b + P, *product = w + P;
    memset(L, 0, (size_t)(width * width) * sizeof *L);
    for (int64_t i = 0; i < width; i++) L[i * width + i] = 1;
    for (const char *text = reference; text;) {
        int64_t column = 0, level = 0;
        FAB_TRY(take_reference(k, &text, &column, &level));
        FAB_TRY(refer(r, column, level, L, width));
    }
    memcpy(b, mean, (size_t)P * sizeof *b);
    for (int64_t i = 0; i < P; i++) {
        const double *v = L + i % width * width;
        int same = 1;
        for (int64_t j = 0; j < width; j++) same = same && v[j] == (j == i % width);
        if (!same)
            FAB_TRY(contrast(r, i / width, v, b + i / width * width, w, product, &mean[i], &sd[i]));
    }
    return FAB_OK;
}

static fab_status too_many(int64_t width)
{
    return FAB_FAIL(FAB_UNSUPPORTED, "%lld features are too many for references: at most %d",
                    (long long)width, FAB_DENSE_MAX);
}

fab_status fab_regression_contrasts(fab_regression *r, const char *reference, double *mean,
                                    double *sd)
{
    double *work;
    FAB_TRY(fab_regression_coefficients(r, mean, sd));
    const int64_t P = r->view.mix.part[0]->D, width = r->scaling->D + 1;
    if (width > FAB_DENSE_MAX) return too_many(width);
    FAB_TRY(fab_alloc_array((void **)&work, width * width + 3 * P, sizeof *work, "contrasts"));
    const fab_status s = find(r, reference, work, mean, sd);
    fab_release(work);
    return s;
}

int fab_regression_can_refer(const fab_scaling *k, int64_t column, int64_t intercept)
{
    for (int64_t d = 0; d < k->D; d++) {
        const fab_level_place p = fab_scaling_level_place(k, d, column);
        if (p.level >= 0 && p.base >= 0 && p.base < k->D + intercept) return 1;
    }
    return 0;
}

fab_status fab_regression_check_reference(const fab_regression *r, const char *reference)
{
    const fab_scaling *k = r->scaling;
    if (!reference || strcmp(reference, "none") == 0) return FAB_OK;
    if (k->D + 1 > FAB_DENSE_MAX) return too_many(k->D + 1);
    for (const char *text = reference; text;) {
        int64_t column = 0, level = 0;
        FAB_TRY(take_reference(k, &text, &column, &level));
        if (!fab_regression_can_refer(k, column, !r->plan.no_intercept))
            return no_base(k, column, level);
    }
    return FAB_OK;
}
