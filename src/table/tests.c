/* tests.c - two tables compared (MMD), two groups of columns of one tested for independence (HSIC): kernel.h for tables.
 *
 *   1  rows of a and of b, or of d, as features: numbers, and 1 or 0 for each word that a column has in either table
 *   2  numbers divided by their standard deviation over all rows, unless raw
 *   3  kernels: length-scales that their texts leave open are the median distance of all rows
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/table.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PERMUTATIONS = 1000 };

/* Columns of one table or of two, as features. */
typedef struct features {
    int64_t n, D;
    double *x;         /* n x D */
    const char **name; /* D: the column's, lent by the first table */
    fab_kernel *kernel;
    double l; /* NaN: not asked for */
} features;

static void let_go(features *f)
{
    fab_kernel_free(f->kernel);
    fab_release((void *)f->name);
    fab_release(f->x);
    *f = (features){0};
}

/* ---- 1 and 2 ------------------------------------------------------------------------------------------ */

static int64_t place_of(const fab_words *w, const char *word)
{
    for (int64_t i = 0; i < w->n; i++)
        if (strcmp(w->word[i], word) == 0) return i;
    return -1;
}

static int64_t column_of(const fab_dataset *t, const char *name)
{
    for (int64_t c = 0; c < t->columns; c++)
        if (strcmp(t->name[c], name) == 0) return c;
    return -1;
}

/* Features of column c of a, whose place in b (or NULL) is `other`: a number, or a feature for each word of either. */
static int64_t width_of(const fab_dataset *a, int64_t c, const fab_dataset *b, int64_t other)
{
    int64_t wide = a->words[c].n ? a->words[c].n : 1;
    if (!b || !a->words[c].n) return wide;
    for (int64_t i = 0; i < b->words[other].n; i++)
        wide += place_of(&a->words[c], b->words[other].word[i]) < 0;
    return wide;
}

/* Column `from` of t into features `at` on; known: the words that have the first of them, those of t alone come behind. */
static void put_column(const fab_dataset *t, int64_t from, const fab_words *known, int64_t first,
                       features *f, int64_t at)
{
    const fab_words *w = &t->words[from];
    int64_t behind = known->n;
    if (!w->n) {
        for (int64_t i = 0; i < t->n; i++) f->x[(first + i) * f->D + at] = t->x[i * t->D + from];
        return;
    }
    for (int64_t word = 0; word < w->n; word++) {
        int64_t place = place_of(known, w->word[word]);
        if (place < 0) place = behind++;
        for (int64_t i = 0; i < t->n; i++)
            if (t->x[i * t->D + from] == (double)word) f->x[(first + i) * f->D + at + place] = 1;
    }
}

static void standardise(features *f, int64_t c)
{
    double mean = 0, square = 0;
    for (int64_t i = 0; i < f->n; i++) mean += (f->x[i * f->D + c] - mean) / (double)(i + 1);
    for (int64_t i = 0; i < f->n; i++) {
        const double d = f->x[i * f->D + c] - mean;
        square += d * d;
    }
    const double sd = sqrt(square / (double)f->n);
    for (int64_t i = 0; i < f->n; i++)
        f->x[i * f->D + c] = sd > 1e-10 * fabs(mean) ? (f->x[i * f->D + c] - mean) / sd : 0;
}

/* The columns `only` (NULL: all; their places) of a, and of b (or NULL) those of the same names. */
static fab_status set_rows(features *f, const fab_dataset *a, const int64_t *only, int64_t columns,
                           const fab_dataset *b, int raw)
{
    *f = (features){.n = a->n + (b ? b->n : 0), .l = NAN};
    for (int64_t i = 0; i < columns; i++) {
        const int64_t c = only ? only[i] : i;
        f->D += width_of(a, c, b, b ? column_of(b, a->name[c]) : 0);
    }
    FAB_TRY(fab_alloc_array((void **)&f->x, f->n * f->D, sizeof *f->x, "the rows of a test"));
    fab_status s = fab_alloc_array((void **)&f->name, f->D, sizeof *f->name, "the names of a test");
    if (s != FAB_OK) {
        let_go(f);
        return s;
    }
    memset(f->x, 0, (size_t)(f->n * f->D) * sizeof *f->x);
    for (int64_t i = 0, at = 0; i < columns; i++) {
        const int64_t c = only ? only[i] : i, other = b ? column_of(b, a->name[c]) : 0;
        const int64_t wide = width_of(a, c, b, other);
        put_column(a, c, &a->words[c], 0, f, at);
        if (b) put_column(b, other, &a->words[c], a->n, f, at);
        if (!a->words[c].n && !raw) standardise(f, at);
        for (int64_t d = 0; d < wide; d++) f->name[at + d] = a->name[c];
        at += wide;
    }
    return FAB_OK;
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

static fab_status set_kernel(features *f, const char *what, const char *text, uint64_t seed)
{
    FAB_TRY(fab_kernel_create(&f->kernel, text ? text : "rbf", f->D, f->name));
    const int64_t P = fab_kernel_size(f->kernel);
    double *theta;
    FAB_TRY(fab_alloc_array((void **)&theta, P, sizeof *theta, "the parameters of a kernel"));
    fab_status s = FAB_OK;
    fab_kernel_get(f->kernel, theta);
    for (int64_t i = 0; i < P && s == FAB_OK; i++) {
        fab_kernel_parameter p;
        fab_kernel_parameter_at(f->kernel, i, &p);
        if (p.fixed) continue;
        theta[i] = 0;
        if (strcmp(p.name, "l") != 0) continue;
        if (isnan(f->l)) s = fab_kernel_median(&f->l, f->n, f->D, f->x, f->D, seed);
        if (s == FAB_OK && f->l == 0)
            s = FAB_FAIL(FAB_BAD_DATA,
                         "test: all rows%s are alike, so that there is no median distance for the "
                         "length-scale of the kernel",
                         what);
        if (s == FAB_OK) theta[i] = log(f->l);
    }
    if (s == FAB_OK) s = fab_kernel_set(f->kernel, theta);
    fab_release(theta);
    return s;
}

/* ---- two tables --------------------------------------------------------------------------------------- */

static fab_status check_table(const char *name, const fab_dataset *t)
{
    if (t->packed)
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "test: %s has sparse rows, which are not compared; write them as csv or npy", name);
    if (t->formula)
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "test: dates as parts and formulas are not for tests; read dates as numbers");
    return FAB_OK;
}

/* Do b's columns match a's, by name and by what they hold? */
static fab_status check_columns(const char *name_a, const fab_dataset *a, const char *name_b,
                                const fab_dataset *b)
{
    for (int64_t c = 0; c < a->columns; c++) {
        const int64_t other = column_of(b, a->name[c]);
        if (other < 0)
            return FAB_FAIL(FAB_BAD_DATA,
                            "test: %s has no column '%s', which %s has; --only or --exclude says "
                            "which are compared",
                            name_b, a->name[c], name_a);
        if ((a->words[c].n > 0) != (b->words[other].n > 0))
            return FAB_FAIL(FAB_BAD_DATA, "test: column '%s' has words in %s and numbers in %s",
                            a->name[c], a->words[c].n ? name_a : name_b,
                            a->words[c].n ? name_b : name_a);
    }
    for (int64_t c = 0; c < b->columns; c++)
        if (column_of(a, b->name[c]) < 0)
            return FAB_FAIL(FAB_BAD_DATA,
                            "test: %s has no column '%s', which %s has; --only or --exclude says "
                            "which are compared",
                            name_a, b->name[c], name_b);
    return FAB_OK;
}

static const fab_test_plan *plan_of(const fab_test_plan *given, fab_test_plan *room)
{
    *room = given ? *given : (fab_test_plan){0};
    if (room->permutations == 0) room->permutations = PERMUTATIONS;
    return room;
}

static fab_status compare(fab_test_report *r, double **witness, features *f, int64_t n,
                          const fab_test_plan *plan, const fab_exec *x)
{
    const int64_t m = f->n - n, D = f->D;
    const double *Y = f->x + n * D;
    FAB_TRY(set_kernel(f, "", plan->kernel, plan->seed));
    FAB_TRY(fab_kernel_mmd(&r->test, f->kernel, n, f->x, D, m, Y, D, plan->permutations, plan->seed,
                           x));
    r->n = n;
    r->m = m;
    r->D = r->Dy = D;
    r->l = f->l;
    r->l_y = NAN;
    if (!witness) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)witness, f->n, sizeof **witness, "the witness function"));
    const fab_status s =
        fab_kernel_witness(f->kernel, n, f->x, D, m, Y, D, f->n, f->x, D, *witness, x);
    if (s == FAB_OK) return FAB_OK;
    fab_release(*witness);
    *witness = NULL;
    return s;
}

fab_status fab_test_samples(fab_test_report *r, double **witness, const fab_data *a,
                            const fab_data *b, const fab_test_plan *plan, const fab_exec *x)
{
    fab_dataset *ta = NULL, *tb = NULL;
    features f = {0};
    fab_test_plan room;
    *r = (fab_test_report){0};
    if (witness) *witness = NULL;
    plan = plan_of(plan, &room);
    fab_status s = fab_dataset_create(&ta, a);
    if (s == FAB_OK) s = fab_dataset_create(&tb, b);
    if (s == FAB_OK) s = check_table(fab_data_name(a), ta);
    if (s == FAB_OK) s = check_table(fab_data_name(b), tb);
    if (s == FAB_OK) s = check_columns(fab_data_name(a), ta, fab_data_name(b), tb);
    if (s == FAB_OK) s = set_rows(&f, ta, NULL, ta->columns, tb, plan->raw != 0);
    if (s == FAB_OK) s = compare(r, witness, &f, ta->n, plan, x);
    if (s == FAB_OK) r->dropped = ta->dropped + tb->dropped;
    let_go(&f);
    fab_dataset_free(tb);
    fab_dataset_free(ta);
    return s;
}

/* ---- two groups of columns ---------------------------------------------------------------------------- */

/* The columns of a list, by name: those of a table of the same data that is opened for them alone. */
static fab_status named(const fab_data *d, const char *list, const fab_dataset *all, int64_t *place,
                        int64_t *count)
{
    fab_data part = *d;
    fab_feed *f;
    fab_dataset *t = NULL;
    part.columns.only = list;
    *count = 0;
    FAB_TRY(fab_feed_open_data(&f, &part));
    const fab_status s = fab_feed_table(f, &t);
    for (int64_t c = 0; s == FAB_OK && c < t->columns; c++) {
        const int64_t at = column_of(all, t->name[c]);
        if (at >= 0) place[(*count)++] = at;
    }
    fab_dataset_free(t);
    fab_feed_close(f);
    return s;
}

static fab_status apart(const fab_dataset *t, const int64_t *x, int64_t of_x, const int64_t *y,
                        int64_t of_y)
{
    for (int64_t i = 0; i < of_x; i++)
        for (int64_t j = 0; j < of_y; j++)
            if (x[i] == y[j])
                return FAB_FAIL(FAB_BAD_ARGUMENT,
                                "test: column '%s' is among the x and among the y, which are to be "
                                "others",
                                t->name[x[i]]);
    return FAB_OK;
}

static fab_status depend(fab_test_report *r, const fab_data *d, const fab_dataset *t,
                         const char *x_columns, const char *y_columns, const fab_test_plan *plan,
                         const fab_exec *x)
{
    features a = {0}, b = {0};
    int64_t *place, of_x = 0, of_y = 0;
    FAB_TRY(
        fab_alloc_array((void **)&place, 2 * t->columns, sizeof *place, "the columns of a test"));
    int64_t *behind = place + t->columns;
    fab_status s = named(d, x_columns, t, place, &of_x);
    if (s == FAB_OK) s = named(d, y_columns, t, behind, &of_y);
    if (s == FAB_OK) s = apart(t, place, of_x, behind, of_y);
    if (s == FAB_OK) s = set_rows(&a, t, place, of_x, NULL, plan->raw != 0);
    if (s == FAB_OK) s = set_rows(&b, t, behind, of_y, NULL, plan->raw != 0);
    if (s == FAB_OK) s = set_kernel(&a, " of x", plan->kernel, plan->seed);
    if (s == FAB_OK)
        s = set_kernel(&b, " of y", plan->kernel_y ? plan->kernel_y : plan->kernel, plan->seed);
    if (s == FAB_OK)
        s = fab_kernel_hsic(&r->test, a.kernel, a.x, a.D, b.kernel, b.x, b.D, t->n,
                            plan->permutations, plan->seed, x);
    r->n = r->m = t->n;
    r->D = a.D;
    r->Dy = b.D;
    r->l = a.l;
    r->l_y = b.l;
    r->dropped = t->dropped;
    let_go(&a);
    let_go(&b);
    fab_release(place);
    return s;
}

fab_status fab_test_columns(fab_test_report *r, const fab_data *d, const char *x_columns,
                            const char *y_columns, const fab_test_plan *plan, const fab_exec *x)
{
    fab_dataset *t = NULL;
    fab_test_plan room;
    fab_data both = *d;
    char *list;
    *r = (fab_test_report){0};
    plan = plan_of(plan, &room);
    const size_t length = strlen(x_columns) + strlen(y_columns) + 2;
    FAB_TRY(fab_alloc_array((void **)&list, (int64_t)length, 1, "the columns of a test"));
    snprintf(list, length, "%s,%s", x_columns, y_columns);
    both.columns.only = list;
    fab_status s =
        fab_dataset_create(&t, &both); /* rows with a missing value are left out of both */
    if (s == FAB_OK && !fab_data_again(d))
        s = FAB_FAIL(FAB_BAD_ARGUMENT,
                     "test: %s is read more than once, give a file and not a pipe",
                     fab_data_name(d));
    if (s == FAB_OK) s = check_table(fab_data_name(d), t);
    if (s == FAB_OK) s = depend(r, d, t, x_columns, y_columns, plan, x);
    fab_dataset_free(t);
    fab_release(list);
    return s;
}
