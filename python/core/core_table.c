/* core_table.c - Regression and Factors: fits of tables in the caller's arrays, as the command line makes them from files.
 *
 * SPDX-License-Identifier: MIT */
#include "core.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a table in Python's arrays ------------------------------------------------------------------ */

/* A list of texts, which stays the owner of them. */
typedef struct texts {
    const char **text;
    int64_t n;
} texts;

/* What a dict of arrays is for the library; Python keeps the dict until close. */
typedef struct table {
    core_array x, y, weight, offset, start, index, *of_column;
    texts names, y_words, *words;
    fab_array *column;
    int64_t columns;
    fab_arrays arrays;
    fab_data data;
} table;

static int read_texts(texts *t, PyObject *list, const char *what)
{
    *t = (texts){0};
    if (!list || list == Py_None) return 1;
    if (!PyList_Check(list))
        return core_refuse(FAB_BAD_ARGUMENT, "%s: expected a list of names", what) != NULL;
    t->n = PyList_Size(list);
    t->text = malloc((size_t)(t->n + 1) * sizeof *t->text);
    if (!t->text) return PyErr_NoMemory() != NULL;
    for (int64_t i = 0; i < t->n; i++)
        if (!core_text(PyList_GetItem(list, i), what, &t->text[i]) || !t->text[i]) return 0;
    t->text[t->n] = NULL;
    return 1;
}

static void close_table(table *t)
{
    core_array *const all[] = {&t->x, &t->y, &t->weight, &t->offset, &t->start, &t->index};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) core_drop(all[i]);
    for (int64_t i = 0; i < t->columns; i++) {
        core_drop(&t->of_column[i]);
        free(t->words[i].text);
    }
    free(t->of_column);
    free(t->words);
    free(t->column);
    free(t->names.text);
    free(t->y_words.text);
}

/* n numbers, or codes with their words. */
static int read_array(fab_array *a, core_array *held, texts *words, PyObject *values,
                      PyObject *list, int64_t n, const char *what)
{
    if (!core_get(held, values, what, list && list != Py_None ? "i" : "df", 1)) return 0;
    if (!held->view.obj) return 1;
    if (held->view.shape[0] != n)
        return core_refuse(FAB_BAD_ARGUMENT, "%s has %lld numbers, and there are %lld rows", what,
                           (long long)held->view.shape[0], (long long)n) != NULL;
    a->stride = n > 1 ? held->view.strides[0] / held->view.itemsize : 1;
    if (!list || list == Py_None) {
        a->p = held->view.buf;
        a->type = held->type;
        return 1;
    }
    if (!read_texts(words, list, what)) return 0;
    a->code = held->view.buf;
    a->word = words->text;
    a->words = words->n;
    return 1;
}

static int read_sparse(table *t, PyObject *dict)
{
    fab_arrays *a = &t->arrays;
    PyObject *D = PyDict_GetItemString(dict, "features");
    if (!core_need(&t->x, PyDict_GetItemString(dict, "values"), "values", "df", 1) ||
        !core_need(&t->start, PyDict_GetItemString(dict, "start"), "start", "q", 1) ||
        !core_need(&t->index, PyDict_GetItemString(dict, "index"), "index", "i", 1))
        return 0;
    if (!D || !t->start.view.shape[0])
        return core_refuse(FAB_BAD_ARGUMENT,
                           "sparse rows need values, start, index and features") != NULL;
    if (!PyBuffer_IsContiguous(&t->x.view, 'C') || !PyBuffer_IsContiguous(&t->start.view, 'C') ||
        !PyBuffer_IsContiguous(&t->index.view, 'C'))
        return core_refuse(FAB_BAD_ARGUMENT,
                           "sparse rows: values, start and index must be contiguous") != NULL;
    const int64_t *start = t->start.view.buf, n = t->start.view.shape[0] - 1;
    int64_t rising = start[0] == 0;
    for (int64_t i = 0; i < n && rising; i++) rising = start[i] <= start[i + 1];
    if (!rising || start[n] > t->x.view.shape[0] || start[n] > t->index.view.shape[0])
        return core_refuse(FAB_BAD_ARGUMENT, "sparse rows: start must rise from 0 to the number of "
                                             "values") != NULL;
    a->D = PyLong_AsLongLong(D);
    a->n = t->start.view.shape[0] - 1;
    a->x = t->x.view.buf;
    a->type = t->x.type;
    a->start = t->start.view.buf;
    a->index = t->index.view.buf;
    return 1;
}

static int read_matrix(table *t, PyObject *dict)
{
    fab_arrays *a = &t->arrays;
    PyObject *n = PyDict_GetItemString(dict, "n");
    if (!core_get(&t->x, PyDict_GetItemString(dict, "x"), "x", "df", 2) ||
        !read_texts(&t->names, PyDict_GetItemString(dict, "names"), "names"))
        return 0;
    a->n = n ? PyLong_AsLongLong(n) : 0;
    if (!t->x.view.obj) return !PyErr_Occurred();
    const Py_buffer *v = &t->x.view;
    a->x = v->buf;
    a->type = t->x.type;
    a->D = v->shape[1];
    a->row_stride = v->shape[0] > 1 ? v->strides[0] / v->itemsize : v->shape[1];
    a->column_stride = v->shape[1] > 1 ? v->strides[1] / v->itemsize : 1;
    if (v->shape[0] != a->n || (t->names.text && t->names.n != a->D))
        return core_refuse(FAB_BAD_ARGUMENT, "x, names and n do not agree") != NULL;
    a->name = t->names.text;
    return !PyErr_Occurred();
}

static int read_columns(table *t, PyObject *list)
{
    if (!list || list == Py_None) return 1;
    if (!PyList_Check(list))
        return core_refuse(FAB_BAD_ARGUMENT, "columns: expected a list") != NULL;
    const int64_t n = PyList_Size(list);
    t->of_column = calloc((size_t)n + 1, sizeof *t->of_column);
    t->words = calloc((size_t)n + 1, sizeof *t->words);
    t->column = calloc((size_t)n + 1, sizeof *t->column);
    if (!t->of_column || !t->words || !t->column) return PyErr_NoMemory() != NULL;
    t->columns = n;
    for (int64_t i = 0; i < n; i++) {
        PyObject *values, *words, *one = PyList_GetItem(list, i);
        if (!PyTuple_Check(one))
            return core_refuse(FAB_BAD_ARGUMENT, "columns: expected tuples") != NULL;
        if (!PyArg_ParseTuple(one, "sOO", &t->column[i].name, &values, &words) ||
            !read_array(&t->column[i], &t->of_column[i], &t->words[i], values, words, t->arrays.n,
                        t->column[i].name))
            return 0;
    }
    t->arrays.column = t->column;
    t->arrays.columns = n;
    return 1;
}

static int open_table(table *t, PyObject *dict)
{
    fab_arrays *a = &t->arrays;
    memset(t, 0, sizeof *t);
    const int is_sparse = PyDict_GetItemString(dict, "start") != NULL;
    if (!(is_sparse ? read_sparse(t, dict) : read_matrix(t, dict)) ||
        !read_columns(t, PyDict_GetItemString(dict, "columns")) ||
        !read_array(&a->y, &t->y, &t->y_words, PyDict_GetItemString(dict, "y"),
                    PyDict_GetItemString(dict, "y_words"), a->n, "y") ||
        !read_array(&a->weight, &t->weight, NULL, PyDict_GetItemString(dict, "weight"), NULL, a->n,
                    "sample_weight") ||
        !read_array(&a->offset, &t->offset, NULL, PyDict_GetItemString(dict, "offset"), NULL, a->n,
                    "offset") ||
        !core_text(PyDict_GetItemString(dict, "y_name"), "y_name", &a->y.name) ||
        !core_text(PyDict_GetItemString(dict, "weight_name"), "weight_name", &a->weight.name) ||
        !core_text(PyDict_GetItemString(dict, "offset_name"), "offset_name", &a->offset.name)) {
        close_table(t);
        return 0;
    }
    t->data.arrays = a;
    return 1;
}

/* ---- a regression -------------------------------------------------------------------------------- */

typedef struct regression {
    PyObject_HEAD fab_regression *r;
    PyThread_type_lock lock;
} regression;

/* What a verb gave; it is freed where the verb did not go well. */
static PyObject *give_regression(fab_status s, fab_regression *r)
{
    if (s != FAB_OK || !r) {
        fab_regression_free(r);
        return core_fail(s);
    }
    PyTypeObject *type = (PyTypeObject *)core_of_module()->regression;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    regression *self = (regression *)alloc(type, 0);
    if (!self) {
        fab_regression_free(r);
        return NULL;
    }
    self->r = r;
    self->lock = PyThread_allocate_lock();
    if (self->lock) return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

static void drop_regression(PyObject *o)
{
    regression *self = (regression *)o;
    PyTypeObject *type = Py_TYPE(o);
    fab_regression_free(self->r);
    if (self->lock) PyThread_free_lock(self->lock);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(o);
    Py_DECREF(type);
}

static double number_in(PyObject *dict, const char *key)
{
    PyObject *o = PyDict_GetItemString(dict, key);
    return o && o != Py_None ? PyFloat_AsDouble(o) : 0;
}

/* Settings that are given whatever the method will be: K is refused where the method has none, a seed it does not use is not. */
typedef struct late {
    char K[24], seed[24];
    const char *without; /* the method that has no K */
} late;

static int read_late(late *l, PyObject *dict)
{
    PyObject *K = PyDict_GetItemString(dict, "K"), *seed = PyDict_GetItemString(dict, "seed");
    *l = (late){0};
    if (K && K != Py_None) snprintf(l->K, sizeof l->K, "%lld", PyLong_AsLongLong(K));
    if (seed && seed != Py_None) snprintf(l->seed, sizeof l->seed, "%lld", PyLong_AsLongLong(seed));
    return !PyErr_Occurred();
}

/* Units from their text, whose faults are those of a wrong call. */
static int read_scaling(fab_scaling **k, PyObject *o)
{
    const char *text;
    *k = NULL;
    if (!core_text(o, "scaling", &text)) return 0;
    const fab_status s = text ? fab_scaling_from_json(k, text) : FAB_OK;
    if (s == FAB_BAD_FILE) return core_refuse(FAB_BAD_ARGUMENT, "%s", fab_detail()) != NULL;
    return s == FAB_OK || core_fail(s) != NULL;
}

static PyObject *give_scaling(const fab_scaling *k)
{
    char *json;
    const fab_status s = fab_scaling_json(k, &json);
    if (s != FAB_OK) return core_fail(s);
    PyObject *out = PyUnicode_FromString(json);
    fab_text_free(json);
    return out;
}

/* scaling(text): the same as the library writes it */
static PyObject *scaling_of(PyObject *self, PyObject *o)
{
    (void)self;
    fab_scaling *k;
    if (!read_scaling(&k, o)) return NULL;
    PyObject *out = k ? give_scaling(k) : core_refuse(FAB_BAD_ARGUMENT, "scaling: expected text");
    fab_scaling_free(k);
    return out;
}

/* *k is to be freed. */
static int read_plan(fab_plan *p, fab_scaling **k, texts *settings, PyObject *dict)
{
    PyObject *prior = PyDict_GetItemString(dict, "prior_gauss");
    *p = (fab_plan){0};
    *k = NULL;
    *settings = (texts){0};
    const struct {
        const char *key, **to;
    } words[] = {{"model", &p->model},        {"likelihood", &p->likelihood},
                 {"method", &p->method},      {"noise", &p->noise},
                 {"prior", &p->prior},        {"effort", &p->effort},
                 {"calibrate", &p->calibrate}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!core_text(PyDict_GetItemString(dict, words[i].key), words[i].key, words[i].to))
            return 0;
    if (!read_texts(settings, PyDict_GetItemString(dict, "settings"), "settings")) return 0;
    p->settings = settings->text;
    p->no_scale = number_in(dict, "no_scale") != 0;
    p->no_intercept = number_in(dict, "no_intercept") != 0;
    p->nu = number_in(dict, "nu");
    p->floor = number_in(dict, "floor");
    p->scale_rows = (int64_t)number_in(dict, "scale_rows");
    if (prior && prior != Py_None && !(p->prior_gauss = core_gauss_of(prior))) return 0;
    if (!read_scaling(k, PyDict_GetItemString(dict, "scaling"))) return 0;
    p->scaling = *k;
    return !PyErr_Occurred();
}

static fab_status fit_steps(fab_regression **r, const fab_data *d, const fab_plan *p, late *l,
                            const fab_exec *x)
{
    fab_status s = fab_regression_open(r, d, p, x);
    if (s == FAB_OK) s = fab_regression_choose(*r);
    if (s != FAB_OK) return s;
    const fab_fields *t = fab_method_fields(fab_regression_method(*r));
    if (*l->K && !fab_settings_find(t, "K")) {
        l->without = fab_method_name(fab_regression_method(*r));
        return FAB_BAD_ARGUMENT;
    }
    if (*l->K) s = fab_regression_set(*r, "K", l->K);
    if (s == FAB_OK && *l->seed && fab_settings_find(t, "seed"))
        s = fab_regression_set(*r, "seed", l->seed);
    return s == FAB_OK ? fab_regression_run(*r) : s;
}

/* fit(table, plan, threads) -> Regression */
static PyObject *fit(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *of_table, *of_plan;
    long long threads;
    table t;
    fab_plan plan;
    late l = {0};
    texts settings = {0};
    fab_regression *r = NULL;
    fab_scaling *units = NULL;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "O!O!L", &PyDict_Type, &of_table, &PyDict_Type, &of_plan, &threads))
        return NULL;
    if (!open_table(&t, of_table)) return NULL;
    const fab_exec x = core_exec(threads);
    if (read_plan(&plan, &units, &settings, of_plan) && read_late(&l, of_plan))
        CORE_WORK(s, fit_steps(&r, &t.data, &plan, &l, &x));
    free(settings.text);
    fab_scaling_free(units);
    close_table(&t);
    if (l.without && !PyErr_Occurred())
        core_refuse(s, "rank = %s: %s has no factors", l.K, l.without);
    return give_regression(s, r);
}

/* regression_of(name, bytes, threads) and regression(path, threads) */
static PyObject *regression_of(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name, *bytes;
    Py_ssize_t size;
    long long threads;
    fab_regression *r = NULL;
    fab_status s;
    if (!PyArg_ParseTuple(args, "sy#L", &name, &bytes, &size, &threads)) return NULL;
    const fab_exec x = core_exec(threads);
    CORE_WORK(s, fab_regression_parse(&r, name, bytes, (size_t)size, &x));
    return give_regression(s, r);
}

/* update(table, stoppable) */
static PyObject *update(PyObject *o, PyObject *args)
{
    regression *self = (regression *)o;
    PyObject *of_table;
    int stoppable;
    table t;
    fab_status s;
    if (!PyArg_ParseTuple(args, "O!p", &PyDict_Type, &of_table, &stoppable)) return NULL;
    if (!open_table(&t, of_table)) return NULL;
    core_listen(stoppable);
    CORE_WORK_BY(self, s, fab_regression_update(self->r, &t.data));
    core_listen(1);
    close_table(&t);
    if (s != FAB_OK) return core_fail(s);
    Py_RETURN_NONE;
}

/* n, classes, mean sd lower upper (4 n numbers) or None, log probabilities of classes or None, log p(y) or None */
static PyObject *give_predictions(const fab_predictions *p)
{
    PyObject *y = p->p ? core_copy(p->p, p->n, sizeof *p->p) : Py_NewRef(Py_None);
    PyObject *logp = p->logp ? core_copy(p->logp, p->n * p->classes, 8) : Py_NewRef(Py_None);
    PyObject *density = p->density ? core_copy(p->density, p->n, 8) : Py_NewRef(Py_None);
    return Py_BuildValue("LLNNN", (long long)p->n, (long long)p->classes, y, logp, density);
}

/* predict(table, samples, seed, linearised, unseen, level, density) */
static PyObject *predict(PyObject *o, PyObject *args)
{
    regression *self = (regression *)o;
    PyObject *of_table;
    long long samples, seed;
    int linearised, unseen, density;
    double level;
    table t;
    fab_predictions *p = NULL;
    fab_status s;
    if (!PyArg_ParseTuple(args, "O!LLppdp", &PyDict_Type, &of_table, &samples, &seed, &linearised,
                          &unseen, &level, &density))
        return NULL;
    if (!open_table(&t, of_table)) return NULL;
    const fab_predict_plan how = {.samples = samples,
                                  .seed = seed,
                                  .linearised = linearised,
                                  .unseen = unseen,
                                  .with_target = density,
                                  .with_density = density,
                                  .level = level};
    CORE_WORK_BY(self, s, fab_regression_predict(self->r, &t.data, &how, &p));
    close_table(&t);
    PyObject *out = s == FAB_OK ? give_predictions(p) : core_fail(s);
    fab_predictions_free(p);
    return out;
}

static PyObject *coefficients(PyObject *o, PyObject *none)
{
    (void)none;
    regression *self = (regression *)o;
    const int64_t n = fab_regression_size(self->r);
    double *mean, *sd;
    fab_status s = FAB_OK;
    PyObject *means = core_room(n, &mean), *sds = core_room(n, &sd);
    if (means && sds) CORE_WORK_BY(self, s, fab_regression_coefficients(self->r, mean, sd));
    if (means && sds && s == FAB_OK) return Py_BuildValue("NN", means, sds);
    Py_XDECREF(means);
    Py_XDECREF(sds);
    return s == FAB_OK ? NULL : core_fail(s);
}

/* effects(level): mean, sd, lower, upper and step of each coefficient (size x 5 numbers), and their order, the strongest first */
static PyObject *effects(PyObject *o, PyObject *args)
{
    regression *self = (regression *)o;
    const int64_t n = fab_regression_size(self->r);
    double level;
    fab_effect *e;
    int64_t *order;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "d", &level)) return NULL;
    PyObject *all = core_matrix(n, 5, sizeof(double), &e), *first = core_room(n, &order);
    if (all && first) CORE_WORK_BY(self, s, fab_regression_effects(self->r, NULL, level, e, order));
    if (all && first && s == FAB_OK) return Py_BuildValue("NN", all, first);
    Py_XDECREF(all);
    Py_XDECREF(first);
    return s == FAB_OK ? NULL : core_fail(s);
}

static fab_status coverage_of(const fab_predictions *p, int64_t n, const double *level, double *out)
{
    return fab_predictions_coverage(p, n, level, out, out + n);
}

static fab_status reliability_of(const fab_predictions *p, double *out)
{
    fab_reliability bin[FAB_RELIABILITY_BINS];
    const fab_status s = fab_predictions_reliability(p, bin);
    for (int i = 0; i < FAB_RELIABILITY_BINS && s == FAB_OK; i++) {
        out[3 * i] = (double)bin[i].n;
        out[3 * i + 1] = bin[i].probability;
        out[3 * i + 2] = bin[i].right;
    }
    return s;
}

/* calibration(table, samples, levels): of numbers the share inside the central interval of each level, and how far chance goes;
 * of classes the bins of reliability: rows, mean probability, share that is right */
static PyObject *calibration(PyObject *o, PyObject *args)
{
    regression *self = (regression *)o;
    PyObject *of_table, *of_level, *room = NULL;
    long long samples;
    core_array level;
    double *out;
    table t;
    fab_predictions *p = NULL;
    fab_status s;
    if (!PyArg_ParseTuple(args, "O!LO", &PyDict_Type, &of_table, &samples, &of_level)) return NULL;
    if (!core_need(&level, of_level, "levels", "d", 1)) return NULL;
    if (!PyBuffer_IsContiguous(&level.view, 'C') || !open_table(&t, of_table)) {
        core_drop(&level);
        return PyErr_Occurred() ? NULL
                                : core_refuse(FAB_BAD_ARGUMENT,
                                              "levels: expected numbers, one behind the other");
    }
    const fab_predict_plan how = {.samples = samples, .with_target = 1, .with_cdf = 1};
    const int64_t n = level.view.shape[0];
    CORE_WORK_BY(self, s, fab_regression_predict(self->r, &t.data, &how, &p));
    close_table(&t);
    if (s == FAB_OK)
        room = p->classes ? core_matrix(FAB_RELIABILITY_BINS, 3, 8, &out)
                          : core_matrix(2, n, 8, &out);
    if (room) s = p->classes ? reliability_of(p, out) : coverage_of(p, n, level.view.buf, out);
    core_drop(&level);
    fab_predictions_free(p);
    if (s == FAB_OK) return room;
    Py_XDECREF(room);
    return core_fail(s);
}

/* sample(n, seed, first): n x size numbers */
static PyObject *sample(PyObject *o, PyObject *args)
{
    regression *self = (regression *)o;
    long long n, first;
    uint64_t seed;
    double *out;
    fab_status s;
    if (!PyArg_ParseTuple(args, "LO&L", &n, core_seed, &seed, &first)) return NULL;
    if (n < 0 || first < 0)
        return core_refuse(FAB_BAD_ARGUMENT, "n = %lld draws from number %lld: expected 0 or more",
                           n, first);
    const int64_t D = fab_regression_size(self->r);
    PyObject *room = core_matrix(n, D, 8, &out);
    if (!room) return NULL;
    CORE_WORK_BY(self, s, fab_regression_sample(self->r, seed, first, n, FAB_F64, out, D));
    if (s == FAB_OK) return room;
    Py_DECREF(room);
    return core_fail(s);
}

/* functions(table, n, seed, first): rows, and n x rows numbers */
static PyObject *functions(PyObject *o, PyObject *args)
{
    regression *self = (regression *)o;
    PyObject *of_table;
    long long n, first;
    uint64_t seed;
    double *draws;
    int64_t rows;
    table t;
    fab_status s;
    if (!PyArg_ParseTuple(args, "O!LO&L", &PyDict_Type, &of_table, &n, core_seed, &seed, &first))
        return NULL;
    if (n < 0 || first < 0)
        return core_refuse(FAB_BAD_ARGUMENT, "n = %lld draws from number %lld: expected 0 or more",
                           n, first);
    if (!open_table(&t, of_table)) return NULL;
    CORE_WORK_BY(self, s,
                 fab_regression_functions(self->r, &t.data, seed, first, n, &draws, &rows));
    close_table(&t);
    PyObject *out = s == FAB_OK
                        ? Py_BuildValue("LN", (long long)rows, core_copy(draws, n * rows, 8))
                        : core_fail(s);
    fab_bytes_free(draws);
    return out;
}

/* joint(table): rows, mean (rows numbers), covariance (rows x rows) */
static PyObject *joint(PyObject *o, PyObject *args)
{
    regression *self = (regression *)o;
    PyObject *of_table;
    double *mean, *covariance;
    int64_t n;
    table t;
    fab_status s;
    if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &of_table) || !open_table(&t, of_table))
        return NULL;
    CORE_WORK_BY(self, s, fab_regression_joint(self->r, &t.data, &mean, &covariance, &n));
    close_table(&t);
    PyObject *out = s == FAB_OK ? Py_BuildValue("LNN", (long long)n, core_copy(mean, n, 8),
                                                core_copy(covariance, n * n, 8))
                                : core_fail(s);
    fab_bytes_free(mean);
    fab_bytes_free(covariance);
    return out;
}

/* evidence(theta or None, gradient): log p(y), and its gradient or None */
static PyObject *evidence(PyObject *o, PyObject *args)
{
    regression *self = (regression *)o;
    PyObject *of_theta, *gradient = NULL;
    core_array theta;
    double lml, *slope = NULL;
    int wanted;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "Op", &of_theta, &wanted)) return NULL;
    if (!core_get(&theta, of_theta, "theta", "d", 1)) return NULL;
    const int64_t n = fab_regression_size(self->r);
    if (theta.view.obj && (theta.view.shape[0] != n || !PyBuffer_IsContiguous(&theta.view, 'C')))
        core_refuse(FAB_BAD_ARGUMENT, "theta: expected %lld numbers, one behind the other",
                    (long long)n);
    if (!PyErr_Occurred() && wanted) gradient = core_room(n, &slope);
    if (!PyErr_Occurred())
        CORE_WORK_BY(
            self, s,
            fab_regression_evidence(self->r, theta.view.obj ? theta.view.buf : NULL, &lml, slope));
    core_drop(&theta);
    if (s == FAB_OK && !PyErr_Occurred())
        return Py_BuildValue("dN", lml, wanted ? gradient : Py_NewRef(Py_None));
    Py_XDECREF(gradient);
    return s == FAB_OK ? NULL : core_fail(s);
}

/* What a Gaussian process has learned: a dict, its parameters in the order of theta as (name, kernel, column, theta, value,
 * relevance, fixed, at_bound) */
static PyObject *process(PyObject *o, PyObject *none)
{
    (void)none;
    regression *self = (regression *)o;
    const fab_process_summary *p;
    fab_status s;
    CORE_WORK_BY(self, s, fab_regression_process(self->r, &p));
    if (s != FAB_OK) return core_fail(s);
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < p->n; i++) {
        const fab_process_parameter *q = &p->parameter[i];
        PyObject *one = Py_BuildValue("sszdddii", q->name, q->kernel, q->column, q->theta, q->value,
                                      q->relevance, (int)q->fixed, (int)q->at_bound);
        if (!one || PyList_Append(list, one) != 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    if (!list) return NULL;
    return Py_BuildValue("{ss ss sL sd sd sL sL sL sd sN}", "kernel", p->kernel, "found", p->found,
                         "rows", (long long)p->rows, "lml", p->lml, "jitter", p->jitter, "searched",
                         (long long)p->searched, "starts", (long long)p->starts, "optima",
                         (long long)p->optima, "second", p->second, "parameters", list);
}

static PyObject *gauss(PyObject *o, PyObject *none)
{
    (void)none;
    regression *self = (regression *)o;
    fab_gauss *g = NULL;
    fab_status s;
    CORE_WORK_BY(self, s, fab_regression_gauss(self->r, &g));
    PyObject *out = s == FAB_OK ? core_gauss_wrap(g) : core_fail(s);
    fab_gauss_free(g);
    return out;
}

static PyObject *report(PyObject *o, PyObject *none)
{
    (void)none;
    regression *self = (regression *)o;
    fab_table_report f;
    fab_status s;
    CORE_WORK_BY(self, s, fab_regression_report(self->r, &f));
    if (s != FAB_OK) return core_fail(s);
    return Py_BuildValue("{ss ss sL sL sL sL sL sd sd sd sd sd sd sd}", "method", f.method,
                         "likelihood", f.likelihood, "K", (long long)f.K, "rows",
                         (long long)f.fit.n, "iterations", (long long)f.fit.iterations, "converged",
                         (long long)f.fit.converged, "parameters", (long long)f.parameters, "alpha",
                         f.fit.alpha, "beta", f.fit.beta, "log_evidence", f.fit.log_evidence,
                         "loglik_mean", f.loglik_mean, "lambda", f.fit.lambda, "objective",
                         f.fit.objective, "gap", f.fit.gap);
}

/* What it is of: method, likelihood, features, classes, intercept, beta, size, names of features, levels of the target, columns
 * read and their levels, layers, names of target, weight and offset, whether it is a Gaussian process */
static PyObject *describe(PyObject *o, PyObject *none)
{
    (void)none;
    regression *self = (regression *)o;
    const fab_scaling *k = fab_regression_scaling(self->r);
    const fab_method *m = fab_regression_method(self->r);
    fab_glm glm;
    char *layers;
    fab_status s;
    CORE_WORK_BY(self, s, fab_regression_model(self->r, &glm));
    if (s == FAB_OK) s = fab_regression_layers(self->r, &layers);
    if (s != FAB_OK) return core_fail(s);
    PyObject *names = PyList_New(0), *classes = PyList_New(0), *columns = PyList_New(0);
    for (int64_t d = 0; names && k && d < k->D; d++) {
        PyObject *name = PyUnicode_FromString(k->name[d]);
        if (!name || PyList_Append(names, name) != 0) Py_CLEAR(names);
        Py_XDECREF(name);
    }
    for (int64_t c = 0; classes && k && c < k->levels; c++) {
        PyObject *one = k->level ? PyFloat_FromDouble(k->level[c])
                                 : PyUnicode_FromString(k->level_name[c]);
        if (!one || PyList_Append(classes, one) != 0) Py_CLEAR(classes);
        Py_XDECREF(one);
    }
    for (int64_t c = 0; columns && k && c < k->columns; c++) {
        PyObject *one = Py_BuildValue("sL", k->column[c].name, (long long)k->column[c].levels);
        if (!one || PyList_Append(columns, one) != 0) Py_CLEAR(columns);
        Py_XDECREF(one);
    }
    PyObject *out = NULL;
    if (names && classes && columns)
        out = Py_BuildValue(
            "{sz ss sL sL sL sd sL sO sO sO sz sz sz sz sO}", "method",
            m ? fab_method_name(m) : NULL, "likelihood", fab_likelihood_name(glm.likelihood),
            "features", (long long)glm.D, "classes", (long long)glm.classes, "intercept",
            (long long)glm.intercept, "beta", glm.beta, "size",
            (long long)fab_regression_size(self->r), "names", names, "levels", classes, "columns",
            columns, "layers", layers, "target", k ? k->target : NULL, "weight",
            k ? k->weight : NULL, "offset", k ? k->offset : NULL, "process",
            fab_regression_is_process(self->r) ? Py_True : Py_False);
    Py_XDECREF(names);
    Py_XDECREF(classes);
    Py_XDECREF(columns);
    fab_text_free(layers);
    return out;
}

static PyObject *scaling(PyObject *o, PyObject *none)
{
    (void)none;
    const fab_scaling *k = fab_regression_scaling(((regression *)o)->r);
    return k ? give_scaling(k) : core_refuse(FAB_UNSUPPORTED, "the fit has no units");
}

static PyObject *pack(PyObject *o, PyObject *none)
{
    (void)none;
    regression *self = (regression *)o;
    void *bytes = NULL;
    size_t size;
    fab_status s;
    CORE_WORK_BY(self, s, fab_regression_pack(self->r, &bytes, &size));
    return core_bytes(s, bytes, size);
}

static PyMethodDef regression_verbs[] = {
    {"update", update, METH_VARARGS, "more rows of a stream"},
    {"predict", predict, METH_VARARGS, "n, classes, numbers, logp, log p(y)"},
    {"coefficients", coefficients, METH_NOARGS, "means and standard deviations"},
    {"effects", effects, METH_VARARGS, "coefficients with intervals, and their order"},
    {"calibration", calibration, METH_VARARGS, "coverage of intervals, or reliability of classes"},
    {"sample", sample, METH_VARARGS, "draws of theta"},
    {"functions", functions, METH_VARARGS, "joint draws of a process at rows"},
    {"joint", joint, METH_VARARGS, "mean and covariance of a process at rows"},
    {"evidence", evidence, METH_VARARGS, "log evidence of a process, and its gradient"},
    {"process", process, METH_NOARGS, "what a process has learned"},
    {"gauss", gauss, METH_NOARGS, "the Gaussian in the user's units"},
    {"report", report, METH_NOARGS, "what there is to say of the fit"},
    {"describe", describe, METH_NOARGS, "what it is a regression of"},
    {"scaling", scaling, METH_NOARGS, "its units, as text"},
    {"pack", pack, METH_NOARGS, "the bytes of the file"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot regression_slots[] = {
    {Py_tp_dealloc, drop_regression}, {Py_tp_methods, regression_verbs}, {0, NULL}};
PyType_Spec core_regression_spec = {"fabayes._core.Regression", sizeof(regression), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                    regression_slots};

/* ---- factor analysis ----------------------------------------------------------------------------- */

typedef struct factors {
    PyObject_HEAD fab_factors *f;
    core_array x, weight; /* of a batch method, which borrows them */
    PyThread_type_lock lock;
} factors;

static PyObject *give_factors(fab_status s, fab_factors *f)
{
    if (s != FAB_OK) {
        fab_factors_free(f);
        return core_fail(s);
    }
    PyTypeObject *type = (PyTypeObject *)core_of_module()->factors;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    factors *self = (factors *)alloc(type, 0);
    if (!self) {
        fab_factors_free(f);
        return NULL;
    }
    self->f = f;
    self->lock = PyThread_allocate_lock();
    if (self->lock) return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

static void drop_factors(PyObject *o)
{
    factors *self = (factors *)o;
    PyTypeObject *type = Py_TYPE(o);
    fab_factors_free(self->f);
    core_drop(&self->x);
    core_drop(&self->weight);
    if (self->lock) PyThread_free_lock(self->lock);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(o);
    Py_DECREF(type);
}

/* factors(D, method, settings, K, threads): K None: by BIC */
static PyObject *create_factors(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *dict, *rank;
    const char *name;
    long long D, threads;
    fab_factors *f = NULL;
    void *settings;
    fab_status s;
    if (!PyArg_ParseTuple(args, "LsO!OL", &D, &name, &PyDict_Type, &dict, &rank, &threads))
        return NULL;
    const fab_method *m = fab_method_find(name);
    if (!m) return core_refuse(FAB_BAD_ARGUMENT, "there is no method '%s'", name);
    m = fab_method_of_vectors(m);
    const long long K = rank == Py_None ? FAB_AUTO_I64 : PyLong_AsLongLong(rank);
    if (PyErr_Occurred() || !core_settings(m, dict, &settings)) return NULL;
    if (K < 1 && rank != Py_None) {
        free(settings);
        return core_refuse(FAB_BAD_ARGUMENT, "n_components = %lld, expected at least 1", K);
    }
    const fab_factors_plan plan = {
        .D = D, .method = name, .settings = settings, .size = fab_method_fields(m)->size, .K = K};
    const fab_exec x = core_exec(threads);
    CORE_WORK(s, fab_factors_create(&f, &plan, &x));
    free(settings);
    return give_factors(s, f);
}

/* factors_of(name, bytes, threads) */
static PyObject *factors_of(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name, *bytes;
    Py_ssize_t size;
    long long threads;
    fab_factors *f = NULL;
    fab_status s;
    if (!PyArg_ParseTuple(args, "sy#L", &name, &bytes, &size, &threads)) return NULL;
    const fab_exec x = core_exec(threads);
    const fab_factors_plan plan = {0};
    CORE_WORK(s, fab_factors_parse(&f, &plan, name, bytes, (size_t)size, &x));
    return give_factors(s, f);
}

/* update(rows, weight, stoppable) */
static PyObject *update_factors(PyObject *o, PyObject *args)
{
    factors *self = (factors *)o;
    PyObject *of_x, *of_weight;
    core_array x, weight;
    fab_rows rows;
    int stoppable;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "OOp", &of_x, &of_weight, &stoppable)) return NULL;
    if (!core_need(&x, of_x, "rows", "df", 2)) return NULL;
    if (!core_get(&weight, of_weight, "sample_weight", "d", 1) || !core_rows(&x, &rows)) {
        core_drop(&x);
        core_drop(&weight);
        return NULL;
    }
    if (weight.view.obj &&
        (weight.view.shape[0] != rows.n || !PyBuffer_IsContiguous(&weight.view, 'C'))) {
        core_refuse(FAB_BAD_ARGUMENT, "sample_weight: expected %lld numbers, one behind the other",
                    (long long)rows.n);
    } else {
        core_listen(stoppable);
        CORE_WORK_BY(self, s,
                     fab_factors_update(self->f, &rows, weight.view.obj ? weight.view.buf : NULL));
        core_listen(1);
    }
    if (fab_method_streams(fab_factors_method(self->f)) || s != FAB_OK || PyErr_Occurred()) {
        core_drop(&x);
        core_drop(&weight);
    } else {
        self->x = x;
        self->weight = weight;
    }
    if (s != FAB_OK) return core_fail(s);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static PyObject *result(PyObject *o, PyObject *none)
{
    (void)none;
    factors *self = (factors *)o;
    const fab_gauss *q;
    fab_status s;
    CORE_WORK_BY(self, s, fab_factors_result(self->f, &q));
    return s == FAB_OK ? core_gauss_wrap(q) : core_fail(s);
}

static PyObject *report_factors(PyObject *o, PyObject *none)
{
    (void)none;
    factors *self = (factors *)o;
    fab_fa_report r;
    fab_status s;
    CORE_WORK_BY(self, s, fab_factors_report(self->f, &r));
    if (s != FAB_OK) return core_fail(s);
    return Py_BuildValue("{ss sL sL sL sL sd}", "method",
                         fab_method_name(fab_factors_method(self->f)), "rows", (long long)r.n,
                         "iterations", (long long)r.iterations, "converged", (long long)r.converged,
                         "floored", (long long)r.floored, "loglik_mean", r.loglik_mean);
}

/* keep() and back(): the state of a stream, before rows that may be stopped and where they were */
static PyObject *keep(PyObject *o, PyObject *none)
{
    (void)none;
    factors *self = (factors *)o;
    fab_status s;
    CORE_WORK_BY(self, s, fab_factors_keep(self->f));
    if (s != FAB_OK) return core_fail(s);
    Py_RETURN_NONE;
}

static PyObject *back(PyObject *o, PyObject *none)
{
    (void)none;
    factors *self = (factors *)o;
    fab_status s;
    core_listen(0); /* it is on its way from a stop */
    CORE_WORK_BY(self, s, fab_factors_back(self->f));
    core_listen(1);
    if (s != FAB_OK) return core_fail(s);
    Py_RETURN_NONE;
}

static PyObject *pack_factors(PyObject *o, PyObject *none)
{
    (void)none;
    factors *self = (factors *)o;
    void *bytes = NULL;
    size_t size;
    fab_status s;
    CORE_WORK_BY(self, s, fab_factors_pack(self->f, &bytes, &size));
    return core_bytes(s, bytes, size);
}

static PyMethodDef factors_verbs[] = {
    {"update", update_factors, METH_VARARGS, "rows and their weights"},
    {"result", result, METH_NOARGS, "the Gaussian of the rows so far"},
    {"report", report_factors, METH_NOARGS, "what happened"},
    {"keep", keep, METH_NOARGS, "keep the state of a stream"},
    {"back", back, METH_NOARGS, "go back to it"},
    {"pack", pack_factors, METH_NOARGS, "the bytes of the file"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot factors_slots[] = {
    {Py_tp_dealloc, drop_factors}, {Py_tp_methods, factors_verbs}, {0, NULL}};
PyType_Spec core_factors_spec = {"fabayes._core.Factors", sizeof(factors), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 factors_slots};

PyMethodDef core_table_functions[] = {
    {"fit", fit, METH_VARARGS, "fit(table, plan, threads) -> Regression"},
    {"scaling", scaling_of, METH_O, "scaling(text) -> text, as the library writes it"},
    {"regression_of", regression_of, METH_VARARGS,
     "regression_of(name, bytes, threads) -> Regression"},
    {"factors", create_factors, METH_VARARGS,
     "factors(D, method, settings, K, threads) -> Factors"},
    {"factors_of", factors_of, METH_VARARGS, "factors_of(name, bytes, threads) -> Factors"},
    {NULL, NULL, 0, NULL}};
