/* svm.c - support vector machines of a table: rows in and units found, the machine, its file, predictions and scores.
 *
 *   1  all rows; columns that name the rows are left out, as a regression leaves them out
 *   2  a target of words or of two values has classes; units (fab_scaling), the kernel of the features
 *   3  the machine (methods/svm)
 *   4  its file: theta, the logarithms of the kernel's parameters, as a point; X, a, b and slope beside it
 *   5  rows of other data through the units: decisions, classes, probabilities, and scores where there is a target
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/svm.h"
#include "base/fail.h"
#include "base/hooks.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/text.h"
#include "data/columns/table.h"
#include "data/source/source.h"
#include "fabayes/model.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLASSES = 1000, REPORT = 11 };

struct fab_svm_table {
    fab_svm *machine;
    fab_scaling *scaling;
    fab_svm_settings settings;
    char *model; /* as it was asked for */
};

int fab_svm_is_model(const char *model)
{
    return model && (strcmp(model, "svm") == 0 || strncmp(model, "svm:", 4) == 0);
}

const fab_svm *fab_svm_table_machine(const fab_svm_table *t)
{
    return t->machine;
}

const fab_scaling *fab_svm_table_scaling(const fab_svm_table *t)
{
    return t->scaling;
}

const fab_svm_settings *fab_svm_table_settings(const fab_svm_table *t)
{
    return &t->settings;
}

void fab_svm_table_free(fab_svm_table *t)
{
    if (!t) return;
    fab_svm_free(t->machine);
    fab_scaling_free(t->scaling);
    fab_release(t->model);
    fab_release(t);
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static fab_status leave_keys(fab_feed *f, fab_dataset *t, const char *categorical)
{
    const int64_t columns = t->columns;
    int64_t left = 0;
    char *key, *named;
    FAB_TRY(fab_feed_named(f, categorical, &named));
    fab_status s = fab_alloc_array((void **)&key, columns, 1, "svm");
    if (s != FAB_OK) {
        fab_release(named);
        return s;
    }
    s = fab_dataset_keys(t, named, key);
    fab_release(named);
    for (int64_t c = 0; c < columns && s == FAB_OK; c++) {
        key[c] = key[c] == FAB_KEY_WORDS || key[c] == FAB_KEY_NUMBERS;
        left += key[c];
    }
    if (s == FAB_OK && left == columns)
        s = FAB_FAIL(FAB_BAD_DATA, "every column names the rows, and none is there to explain '%s'",
                     t->target_name);
    if (s == FAB_OK && left) s = fab_feed_leave_out(f, t, key);
    fab_release(key);
    return s;
}

static fab_status read_feed(fab_feed *f, const fab_data *d, fab_dataset **t)
{
    FAB_TRY(fab_feed_table(f, t));
    if (!(*t)->target_name)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "its target, the column to explain, is not given");
    FAB_TRY(fab_feed_read(f, INT64_MAX, *t));
    if ((*t)->n < 1) return fab_feed_no_rows(f, *t);
    if ((*t)->offset)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "an offset is for models with a likelihood, not for svm");
    if ((*t)->group_name || (*t)->ordered)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "svm leaves out no groups of rows, and asks for no order of them");
    return leave_keys(f, *t, d->categorical);
}

static fab_status read_all(const fab_data *d, const fab_exec *x, fab_dataset **t)
{
    fab_feed *f;
    *t = NULL;
    FAB_TRY(fab_feed_open_data(&f, d));
    fab_feed_watch(f, x);
    const fab_status s = read_feed(f, d, t);
    fab_feed_close(f);
    if (s == FAB_OK) return FAB_OK;
    fab_dataset_free(*t);
    *t = NULL;
    return fab_about(fab_data_name(d), s);
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

/* The kernel of the text, and nu where it ends so and no kernel has taken it. */
static fab_status read_model(const char *model, const fab_scaling *k, fab_svm_settings *s,
                             fab_kernel **kernel)
{
    const char **names, *text = strlen(model) > 4 ? model + 4 : "";
    char *own = NULL;
    *kernel = NULL;
    if (!*text) return FAB_FAIL(FAB_BAD_ARGUMENT, "model svm needs its kernel, as svm:rbf");
    FAB_TRY(fab_scaling_columns(k, &names));
    fab_status done = fab_kernel_create(kernel, text, k->D, names);
    const char *nu = strstr(text, ":nu=");
    for (const char *next = nu; next; next = strstr(next + 1, ":nu=")) nu = next; /* the last one */
    if (done == FAB_BAD_ARGUMENT && nu && !strpbrk(nu + 1, ":+*")) {
        char *end;
        const double value = strtod(nu + 4, &end);
        if (*end || !(value > 0 && value <= 1)) {
            done = FAB_FAIL(FAB_BAD_ARGUMENT,
                            "model %s: nu is a number above 0 and at most 1, not '%s'", model,
                            nu + 4);
        } else {
            done = fab_copy_text(&own, text);
            if (done == FAB_OK) {
                own[nu - text] = '\0';
                s->nu = value;
                done = fab_kernel_create(kernel, own, k->D, names);
            }
        }
    }
    fab_release(own);
    fab_bytes_free((void *)names);
    return done;
}

static fab_status find_units(const fab_dataset *t, const fab_svm_plan *p, fab_scaling **k)
{
    const int64_t levels = fab_dataset_levels(t, MOST_CLASSES + 1);
    const int classes = t->target_words.n > 0 || p->classes || (levels == 2 && !p->numbers);
    if (levels == 1 && (t->target_words.n > 0 || !p->numbers))
        return FAB_FAIL(
            FAB_BAD_DATA,
            "target '%s' has one value in all %lld rows: a machine needs two classes, or "
            "numbers that vary",
            t->target_name, (long long)t->n);
    if (classes && levels > MOST_CLASSES)
        return FAB_FAIL(FAB_BAD_DATA, "target '%s' has more than %d classes", t->target_name,
                        MOST_CLASSES);
    return fab_scaling_create(k, t, classes ? FAB_TARGET_CLASSES : FAB_TARGET_REAL, !p->no_scale,
                              1);
}

static fab_status fit(fab_svm_table *new, fab_dataset *t, const fab_svm_plan *p, const fab_exec *x)
{
    fab_kernel *kernel;
    FAB_TRY(find_units(t, p, &new->scaling));
    FAB_TRY(read_model(p->model, new->scaling, &new->settings, &kernel));
    fab_status s = fab_scaling_apply_on(new->scaling, t, x);
    const fab_rows rows = fab_dataset_rows(t);
    if (s == FAB_OK)
        s = fab_svm_create(&new->machine, kernel, new->scaling->levels, &new->settings, &rows, t->y,
                           t->weight, x);
    fab_kernel_free(kernel);
    return s;
}

fab_status fab_svm_table_fit(fab_svm_table **t, const fab_data *d, const fab_svm_plan *p,
                             const fab_exec *x)
{
    fab_svm_table *new;
    fab_dataset *rows;
    *t = NULL;
    if (!fab_svm_is_model(p->model))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "model '%s' is no svm:KERNEL", p->model ? p->model : "");
    FAB_TRY(read_all(d, x, &rows));
    fab_status s = fab_alloc_array((void **)&new, 1, sizeof *new, "svm");
    if (s == FAB_OK) {
        *new = (fab_svm_table){.settings = p->settings ? *p->settings : fab_svm_defaults()};
        s = fab_copy_text(&new->model, p->model);
        if (s == FAB_OK) s = fab_about(fab_data_name(d), fit(new, rows, p, x));
        if (s == FAB_OK)
            *t = new;
        else
            fab_svm_table_free(new);
    }
    fab_dataset_free(rows);
    return s;
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

static fab_status set_text(fab_tensors *t, const char *key, char *text)
{
    const fab_status s = fab_tensors_set(t, key, text);
    fab_text_free(text);
    return s;
}

static void put_report(const fab_svm_report *r, double *v)
{
    const double all[REPORT] = {(double)r->n,
                                (double)r->bounded,
                                (double)r->margin_errors,
                                r->rho,
                                r->dual,
                                r->gap,
                                r->nu_limit,
                                (double)r->iterations,
                                (double)r->converged,
                                (double)r->classes,
                                (double)r->support};
    for (int i = 0; i < REPORT; i++) v[i] = isnan(all[i]) ? -1 : all[i];
}

static fab_status describe(const fab_svm_table *f, fab_tensors *t, double *numbers)
{
    fab_svm_parts p;
    fab_svm_report r;
    fab_text model = {0};
    char *text, n[32];
    fab_svm_parts_of(f->machine, &p);
    fab_svm_report_of(f->machine, &r);
    put_report(&r, numbers);
    fab_text_add(&model, "{\"kind\": \"svm\", \"kernel\": ");
    fab_text_add_json(&model, fab_kernel_text(fab_svm_kernel(f->machine)));
    fab_text_add(&model, ", \"features\": %lld, \"classes\": %lld}", (long long)p.D,
                 (long long)r.classes);
    FAB_TRY(fab_text_give(&model, &text));
    FAB_TRY(set_text(t, "model", text));
    FAB_TRY(fab_scaling_json(f->scaling, &text));
    FAB_TRY(set_text(t, "scaling", text));
    FAB_TRY(fab_settings_json(fab_svm_fields(), &f->settings, &text));
    FAB_TRY(set_text(t, "settings", text));
    FAB_TRY(fab_tensors_set(t, "method", "svm"));
    snprintf(n, sizeof n, "%lld", (long long)r.n);
    FAB_TRY(fab_tensors_set(t, "n", n));
    snprintf(n, sizeof n, "%lld", (long long)f->settings.seed);
    FAB_TRY(fab_tensors_set(t, "seed", n));
    FAB_TRY(fab_tensors_add(t, "X", FAB_F64, 2, (int64_t[]){p.support, p.D}, p.X));
    FAB_TRY(fab_tensors_add(t, "a", FAB_F64, 2, (int64_t[]){p.machines, p.support}, p.a));
    FAB_TRY(fab_tensors_add(t, "b", FAB_F64, 1, &p.machines, p.b));
    FAB_TRY(fab_tensors_add(t, "report", FAB_F64, 1, (int64_t[]){REPORT}, numbers));
    return isnan(p.slope[0]) ? FAB_OK
                             : fab_tensors_add(t, "slope", FAB_F64, 1, (int64_t[]){2}, p.slope);
}

static fab_status of_table(fab_status s)
{
    return s == FAB_BAD_ARGUMENT ? FAB_BAD_DATA : s; /* a name in the data that is not UTF-8 */
}

/* The mixture of a file and what stands beside it. */
typedef struct contents {
    fab_gauss *point;
    fab_tensors *more;
    double report[REPORT];
} contents;

static void drop_contents(contents *c)
{
    fab_gauss_free(c->point);
    fab_tensors_free(c->more);
}

static fab_status fill(const fab_svm_table *t, contents *c)
{
    const fab_kernel *k = fab_svm_kernel(t->machine);
    FAB_TRY(fab_gauss_create(&c->point, FAB_FORM_POINT, FAB_F64, fab_kernel_size(k), 0));
    fab_kernel_get(k, c->point->mu);
    FAB_TRY(fab_tensors_create(&c->more));
    return of_table(describe(t, c->more, c->report));
}

fab_status fab_svm_table_save(const fab_svm_table *t, const char *path)
{
    contents c = {0};
    fab_status s = fill(t, &c);
    if (s == FAB_OK) s = fab_gauss_save(path, c.point, c.more);
    drop_contents(&c);
    return s;
}

fab_status fab_svm_table_pack(const fab_svm_table *t, void **bytes, size_t *size)
{
    contents c = {0};
    *bytes = NULL;
    fab_status s = fill(t, &c);
    const fab_gauss *part[] = {c.point};
    const double weight[] = {1};
    if (s == FAB_OK) s = fab_posterior_pack(&(fab_mixture){1, part, weight}, c.more, bytes, size);
    drop_contents(&c);
    return s;
}

int fab_svm_is_file(const fab_tensors *file)
{
    return fab_json_is(fab_tensors_get(file, "model"), "kind", "svm");
}

/* A tensor of finite f64 numbers. */
static fab_status find(const fab_tensors *t, const char *name, int ndim, int64_t n, int64_t k,
                       const double **numbers)
{
    const fab_tensor *v = fab_tensors_find(t, name);
    if (!v || v->type != FAB_F64 || v->ndim != ndim || v->shape[0] != n ||
        (ndim > 1 && v->shape[1] != k))
        return FAB_FAIL(FAB_BAD_FILE, "its tensor '%s' is absent or of another shape", name);
    *numbers = v->data;
    for (int64_t i = 0; i < n * (ndim > 1 ? k : 1); i++)
        if (!isfinite((*numbers)[i]))
            return FAB_FAIL(FAB_BAD_FILE, "its tensor '%s' has a number that is %g", name,
                            (*numbers)[i]);
    return FAB_OK;
}

static fab_status take_kernel(const fab_posterior *p, const fab_scaling *k, int64_t *classes,
                              fab_kernel **kernel)
{
    const fab_gauss *q = p->mix.part[0];
    const int64_t before = fab_json_failures();
    const char **names;
    json_t *o;
    FAB_TRY(fab_json_read_string(&o, "model", fab_tensors_get(p->file, "model")));
    const char *text = json_string_value(json_object_get(o, "kernel"));
    const int64_t D = json_integer_value(json_object_get(o, "features"));
    *classes = json_integer_value(json_object_get(o, "classes"));
    fab_status s = FAB_OK;
    if (!text || D != k->D || *classes != k->levels || *classes > MOST_CLASSES || *classes == 1)
        s = FAB_FAIL(FAB_BAD_FILE, "its model and its scaling do not belong together");
    if (s == FAB_OK) s = fab_scaling_columns(k, &names);
    if (s == FAB_OK) {
        s = fab_kernel_create(kernel, text, D, names);
        fab_bytes_free((void *)names);
    }
    json_decref(o);
    if (fab_json_failures() != before && s == FAB_OK) {
        fab_kernel_free(*kernel);
        *kernel = NULL;
        return FAB_FAIL(FAB_NO_MEMORY, "model: takes more memory than there is");
    }
    FAB_TRY(s);
    if (p->mix.n != 1 || q->form != FAB_FORM_POINT || q->D != fab_kernel_size(*kernel) || q->total)
        return FAB_FAIL(FAB_BAD_FILE, "its parameters and its kernel do not belong together");
    return fab_kernel_set(*kernel, q->mu);
}

static fab_svm_report report_of(const double *v)
{
    return (fab_svm_report){.n = (int64_t)v[0],
                            .bounded = (int64_t)v[1],
                            .margin_errors = (int64_t)v[2],
                            .rho = v[3] < 0 ? NAN : v[3],
                            .dual = v[4],
                            .gap = v[5],
                            .nu_limit = v[6] < 0 ? NAN : v[6],
                            .iterations = (int64_t)v[7],
                            .converged = (int64_t)v[8],
                            .classes = (int64_t)v[9],
                            .support = (int64_t)v[10]};
}

static fab_status take_machine(fab_svm_table *t, const fab_posterior *p, const fab_kernel *kernel,
                               int64_t classes)
{
    const fab_tensor *X = fab_tensors_find(p->file, "X");
    const double none[2] = {NAN, NAN}, *numbers;
    fab_svm_parts s = {.D = fab_kernel_columns(kernel),
                       .machines = classes < 2 ? 1 : classes * (classes - 1) / 2,
                       .slope = none};
    if (!X || X->ndim != 2)
        return FAB_FAIL(FAB_BAD_FILE, "its tensor 'X' is absent or of another shape");
    s.support = X->shape[0];
    FAB_TRY(find(p->file, "X", 2, s.support, s.D, &s.X));
    FAB_TRY(find(p->file, "a", 2, s.machines, s.support, &s.a));
    FAB_TRY(find(p->file, "b", 1, s.machines, 0, &s.b));
    FAB_TRY(find(p->file, "report", 1, REPORT, 0, &numbers));
    for (int i = 0; i < REPORT; i++)
        if (!(fabs(numbers[i]) < 0x1p62))
            return FAB_FAIL(FAB_BAD_FILE, "its report has %g", numbers[i]);
    if (fab_tensors_find(p->file, "slope")) {
        FAB_TRY(find(p->file, "slope", 1, 2, 0, &s.slope));
        if (!(s.slope[0] >= 0 && s.slope[1] >= 0))
            return FAB_FAIL(FAB_BAD_FILE, "its probabilities fall with the decision");
    }
    fab_svm_report r = report_of(numbers);
    r.machines = s.machines;
    if (r.support != s.support || r.classes != classes)
        return FAB_FAIL(FAB_BAD_FILE, "its report is of another machine");
    return fab_svm_of_parts(&t->machine, kernel, classes, &s, &r);
}

static fab_status take(fab_svm_table *t, const fab_posterior *p)
{
    const char *scaling = fab_tensors_get(p->file, "scaling"),
               *settings = fab_tensors_get(p->file, "settings");
    fab_kernel *kernel = NULL;
    int64_t classes = 0;
    if (!fab_svm_is_file(p->file) || !scaling || !settings)
        return FAB_FAIL(FAB_BAD_FILE, "is no file of a support vector machine");
    FAB_TRY(fab_scaling_from_json(&t->scaling, scaling));
    t->settings = fab_svm_defaults();
    FAB_TRY(fab_settings_from_json(fab_svm_fields(), &t->settings, settings));
    fab_status s = take_kernel(p, t->scaling, &classes, &kernel);
    if (s == FAB_OK) s = take_machine(t, p, kernel, classes);
    fab_kernel_free(kernel);
    return s;
}

static fab_status take_whole(fab_svm_table **t, const char *name, fab_posterior *p)
{
    fab_svm_table *new;
    fab_status s = fab_alloc_array((void **)&new, 1, sizeof *new, "svm");
    if (s == FAB_OK) {
        *new = (fab_svm_table){0};
        s = take(new, p);
        s = fab_about(name, s == FAB_BAD_ARGUMENT ? FAB_BAD_FILE : s);
        if (s == FAB_OK)
            *t = new;
        else
            fab_svm_table_free(new);
    }
    fab_posterior_free(p);
    return s;
}

fab_status fab_svm_table_load(fab_svm_table **t, const char *path)
{
    fab_posterior *p;
    *t = NULL;
    FAB_TRY(fab_posterior_load(&p, path));
    return take_whole(t, path, p);
}

fab_status fab_svm_table_parse(fab_svm_table **t, const char *name, const void *bytes, size_t size)
{
    fab_posterior *p;
    *t = NULL;
    FAB_TRY(fab_posterior_parse(&p, name, bytes, size));
    return take_whole(t, name, p);
}

/* ---- 5 ------------------------------------------------------------------------------------------------ */

void fab_svm_predictions_free(fab_svm_predictions *p)
{
    if (!p) return;
    fab_release(p->decision);
    fab_release(p->probability);
    fab_release(p->chosen);
    fab_release(p->y);
    fab_release(p);
}

/* Features of a row that are missing and that nothing fills. */
static int lacks(const fab_rows *x, int64_t i, int64_t D)
{
    for (int64_t p = 0; p < fab_rows_stored(x, i, D); p++)
        if (isnan(fab_rows_value(x, i, p))) return 1;
    return 0;
}

static fab_status decide(const fab_svm_table *t, const fab_rows *x, fab_svm_predictions *p,
                         const fab_exec *e)
{
    fab_svm_report r;
    fab_svm_report_of(t->machine, &r);
    const int64_t C = r.classes, M = r.machines, n = x->n, D = t->scaling->D;
    double *row, *votes;
    FAB_TRY(fab_alloc_array((void **)&row, n * (D + M) + C, sizeof *row, "predictions"));
    double *decision = row + n * D;
    votes = decision + n * M;
    int64_t *place, there = 0;
    fab_status s = fab_alloc_array((void **)&place, n, sizeof *place, "predictions");
    if (s != FAB_OK) {
        fab_release(row);
        return s;
    }
    for (int64_t i = 0; i < n; i++) {
        place[i] = lacks(x, i, D) ? -1 : there;
        if (place[i] >= 0) fab_rows_get(x, i, D, row + there++ * D);
    }
    p->absent = n - there;
    const fab_rows all = {.p = row, .type = FAB_F64, .n = there, .ld = D};
    s = fab_svm_decide(t->machine, &all, decision, e);
    for (int64_t i = 0; i < n && s == FAB_OK; i++) {
        double *to = p->decision + i * p->columns;
        if (place[i] < 0) {
            for (int64_t c = 0; c < p->columns; c++) to[c] = NAN;
            if (p->chosen) p->chosen[i] = -1;
            if (p->probability) p->probability[i] = NAN;
            continue;
        }
        const double *d = decision + place[i] * M;
        if (!p->chosen) {
            to[0] = t->scaling->target_mean + t->scaling->target_scale * d[0];
            continue;
        }
        p->chosen[i] = fab_svm_class(t->machine, d, C > 2 ? votes : NULL);
        if (C > 2)
            memcpy(to, votes, (size_t)C * sizeof *votes);
        else
            to[0] = d[0];
        if (p->probability) p->probability[i] = fab_svm_probability(t->machine, d[0]);
    }
    fab_release(place);
    fab_release(row);
    return s;
}

typedef struct scored {
    double d;
    int one;
} scored;

static int by_decision(const void *a, const void *b)
{
    const double x = ((const scored *)a)->d, y = ((const scored *)b)->d;
    return x < y ? -1 : x > y;
}

/* The share of pairs of both classes that are in order, ties half; NaN where a class has no rows. */
static fab_status area(const fab_svm_predictions *p, double *auc)
{
    scored *all;
    double below = 0, ones = 0, sum = 0;
    int64_t n = 0;
    assert(p->chosen);
    FAB_TRY(fab_alloc_array((void **)&all, p->n, sizeof *all, "scores"));
    for (int64_t i = 0; i < p->n; i++)
        if (p->chosen[i] >= 0) all[n++] = (scored){p->decision[i], p->y[i] > 0};
    qsort(all, (size_t)n, sizeof *all, by_decision);
    for (int64_t i = 0, j; i < n; i = j) {
        double one = 0, other = 0;
        for (j = i; j < n && !(all[j].d > all[i].d); j++) {
            one += all[j].one;
            other += !all[j].one;
        }
        sum += one * (below + other / 2);
        below += other;
        ones += one;
    }
    fab_release(all);
    *auc = ones > 0 && below > 0 ? sum / (ones * below) : NAN;
    return FAB_OK;
}

static fab_status score(fab_svm_predictions *p)
{
    const int64_t *chosen = p->chosen; /* NULL: numbers */
    double right = 0, hinge = 0, square = 0, size = 0, mean = 0, spread = 0, n = 0;
    for (int64_t i = 0; i < p->n; i++) {
        if (isnan(p->decision[i * p->columns])) continue;
        n++;
        if (chosen) {
            right += (double)chosen[i] >= p->y[i] && (double)chosen[i] <= p->y[i];
            hinge += fmax(0, 1 - (p->y[i] > 0 ? 1 : -1) * p->decision[i]);
        } else {
            const double e = p->y[i] - p->decision[i], off = p->y[i] - mean;
            square += e * e;
            size += fabs(e);
            mean += off / n;
            spread += off * (p->y[i] - mean);
        }
    }
    if (p->classes) p->accuracy = right / n;
    if (p->classes == 2) {
        p->hinge = hinge / n;
        return area(p, &p->auc);
    }
    if (p->classes) return FAB_OK;
    p->rmse = sqrt(square / n);
    p->mae = size / n;
    p->r2 = spread > 0 ? 1 - square / spread : NAN;
    return FAB_OK;
}

static fab_status predict(const fab_svm_table *t, fab_dataset *rows, int with_target,
                          fab_svm_predictions *p, const fab_exec *x)
{
    const int64_t n = rows->n, C = t->scaling->levels;
    fab_svm_parts parts;
    fab_svm_parts_of(t->machine, &parts);
    p->n = n;
    p->classes = C;
    p->columns = C > 2 ? C : 1;
    p->dropped = rows->dropped;
    p->unseen = rows->unseen;
    FAB_TRY(fab_alloc_array((void **)&p->decision, n * p->columns, sizeof(double), "predictions"));
    if (C) FAB_TRY(fab_alloc_array((void **)&p->chosen, n, sizeof *p->chosen, "predictions"));
    if (!isnan(parts.slope[0]))
        FAB_TRY(fab_alloc_array((void **)&p->probability, n, sizeof(double), "predictions"));
    const fab_rows all = fab_dataset_rows(rows);
    FAB_TRY(decide(t, &all, p, x));
    if (!with_target) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&p->y, n, sizeof(double), "predictions"));
    for (int64_t i = 0; i < n; i++)
        p->y[i] = C ? rows->y[i] : t->scaling->target_mean + t->scaling->target_scale * rows->y[i];
    return score(p);
}

fab_status fab_svm_table_predict(const fab_svm_table *t, const fab_data *d, int with_target,
                                 int takes_unseen, fab_svm_predictions **p, const fab_exec *x)
{
    fab_svm_predictions *new;
    fab_dataset *rows = NULL;
    fab_feed *f;
    *p = NULL;
    FAB_TRY(fab_feed_open_data_as(&f, d, t->scaling,
                                  with_target ? FAB_READ_TARGET : FAB_READ_FEATURES));
    fab_feed_watch(f, x);
    fab_status s = fab_feed_table(f, &rows);
    if (s == FAB_OK) s = fab_feed_read(f, INT64_MAX, rows);
    if (s == FAB_OK && rows->n == 0) s = fab_feed_no_rows(f, rows);
    if (s == FAB_OK) rows->takes_unseen = takes_unseen;
    if (s == FAB_OK) s = fab_scaling_apply_on(t->scaling, rows, x);
    fab_feed_close(f);
    if (s == FAB_OK) s = fab_alloc_array((void **)&new, 1, sizeof *new, "predictions");
    if (s == FAB_OK) {
        *new = (fab_svm_predictions){
            .accuracy = NAN, .auc = NAN, .hinge = NAN, .rmse = NAN, .mae = NAN, .r2 = NAN};
        s = predict(t, rows, with_target, new, x);
        if (s == FAB_OK)
            *p = new;
        else
            fab_svm_predictions_free(new);
    }
    fab_dataset_free(rows);
    return fab_about(fab_data_name(d), s == FAB_BAD_ARGUMENT ? FAB_BAD_DATA : s);
}
