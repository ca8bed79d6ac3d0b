/* core.c - the module fabayes._core: failures, arrays, the tables of methods and settings.
 *
 * SPDX-License-Identifier: MIT */
#include "core.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static core_state state; /* one interpreter: the module is made once */

core_state *core_of_module(void)
{
    return &state;
}

/* ---- failures ------------------------------------------------------------------------------------ */

static PyObject *raise_error(fab_status s, const char *sentence)
{
    PyObject *e = PyObject_CallFunction(state.error, "is", (int)s, sentence);
    if (!e) return NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(e), e);
    Py_DECREF(e);
    return NULL;
}

PyObject *core_fail(fab_status s)
{
    if (PyErr_Occurred()) return NULL; /* it stopped the work */
    return raise_error(s, *fab_detail() ? fab_detail() : fab_strerror(s));
}

PyObject *core_refuse(fab_status s, const char *format, ...)
{
    char sentence[400];
    va_list list;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    return raise_error(s, sentence);
}

static _Thread_local int deaf;

void core_listen(int yes)
{
    deaf = !yes;
}

/* On the thread that called the verb: a signal that Python has got becomes an exception there, and the answer stays the same as
 * long as it is pending. */
static int watch(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    if (deaf) return 0;
    const PyGILState_STATE g = PyGILState_Ensure();
    const int stop = PyErr_Occurred() || PyErr_CheckSignals() != 0;
    PyGILState_Release(g);
    return stop;
}

fab_exec core_exec(int64_t threads)
{
    return (fab_exec){.threads = threads, .progress = watch};
}

/* ---- arrays -------------------------------------------------------------------------------------- */

/* The letter of an element in the byte order of this machine; '?' of any other. */
static char kind_of(const Py_buffer *view)
{
    const int32_t one = 1;
    const char order = *(const char *)&one ? '<' : '>';
    const char *f = view->format ? view->format : "B";
    if (*f == '@' || *f == '=' || *f == order) f++;
    if (strlen(f) != 1) return '?';
    return *f == 'l' && view->itemsize == 8 ? 'q' : *f;
}

/* Forwards, by whole elements; a stride that is never taken does not count. */
static int goes_forward(const Py_buffer *v)
{
    for (int i = 0; i < v->ndim; i++)
        if (v->shape[i] == 0) return 1;
    for (int i = 0; i < v->ndim; i++)
        if (v->shape[i] > 1 && (v->strides[i] < 1 || v->strides[i] % v->itemsize != 0)) return 0;
    return 1;
}

int core_get(core_array *a, PyObject *o, const char *what, const char *kinds, int ndim)
{
    memset(a, 0, sizeof *a);
    if (!o || o == Py_None) return 1;
    if (PyObject_GetBuffer(o, &a->view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) return 0;
    const char kind = kind_of(&a->view);
    if (!strchr(kinds, kind) || a->view.ndim != ndim)
        core_refuse(FAB_BAD_ARGUMENT,
                    "%s: an array of %d dimensions and format '%s', expected %d and one of '%s'",
                    what, a->view.ndim, a->view.format ? a->view.format : "B", ndim, kinds);
    else if (!goes_forward(&a->view) || (uintptr_t)a->view.buf % (size_t)a->view.itemsize != 0)
        core_refuse(FAB_BAD_ARGUMENT, "%s: expected strides that go forward by whole elements",
                    what);
    a->type = kind == 'd' ? FAB_F64 : kind == 'f' ? FAB_F32 : FAB_I64;
    if (!PyErr_Occurred()) return 1;
    core_drop(a);
    return 0;
}

int core_need(core_array *a, PyObject *o, const char *what, const char *kinds, int ndim)
{
    if (!core_get(a, o, what, kinds, ndim)) return 0;
    if (!a->view.obj) core_refuse(FAB_BAD_ARGUMENT, "%s: expected an array, found none", what);
    return a->view.obj != NULL;
}

void core_drop(core_array *a)
{
    if (a->view.obj) PyBuffer_Release(&a->view);
    a->view.obj = NULL;
}

int core_rows(const core_array *a, fab_rows *rows)
{
    const Py_buffer *v = &a->view;
    *rows = (fab_rows){.p = v->buf,
                       .type = a->type,
                       .n = v->shape[0],
                       .ld = v->strides[0] / v->itemsize,
                       .stride = v->strides[1] / v->itemsize};
    if (v->shape[1] == 1) rows->stride = 1;
    if (v->shape[0] <= 1) rows->ld = rows->stride * v->shape[1];
    if (rows->ld > 0 && rows->stride > 0) return 1;
    core_refuse(FAB_BAD_ARGUMENT, "rows: expected strides that go forward by whole elements");
    return 0;
}

PyObject *core_matrix(int64_t n, int64_t width, size_t size, void *p)
{
    const int64_t most = PY_SSIZE_T_MAX / (int64_t)size;
    if (n < 0 || width < 0 || (width > 0 && n > most / width))
        return core_refuse(FAB_NO_MEMORY, "no memory for %lld x %lld numbers", (long long)n,
                           (long long)width);
    PyObject *o = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(n * width * (int64_t)size));
    if (o) {
        *(void **)p = PyByteArray_AsString(o);
        return o;
    }
    PyErr_Clear();
    return core_refuse(FAB_NO_MEMORY, "no memory for %lld x %lld numbers", (long long)n,
                       (long long)width);
}

PyObject *core_room(int64_t n, void *p)
{
    return core_matrix(n, 1, 8, p);
}

PyObject *core_copy(const void *p, int64_t n, size_t size)
{
    return PyByteArray_FromStringAndSize(p, (Py_ssize_t)((size_t)n * size));
}

PyObject *core_bytes(fab_status s, void *bytes, size_t size)
{
    PyObject *out = s == FAB_OK ? PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size) : core_fail(s);
    fab_bytes_free(bytes);
    return out;
}

int core_seed(PyObject *o, void *seed)
{
    PyObject *whole = PyNumber_Index(o);
    if (!whole) return 0;
    *(uint64_t *)seed = PyLong_AsUnsignedLongLong(whole);
    Py_DECREF(whole);
    if (!PyErr_Occurred()) return 1;
    PyErr_Clear();
    core_refuse(FAB_BAD_ARGUMENT, "the seed is not in 0 .. 2^64 - 1");
    return 0;
}

int core_text(PyObject *o, const char *what, const char **text)
{
    *text = NULL;
    if (!o || o == Py_None) return 1;
    if (!PyUnicode_Check(o)) {
        core_refuse(FAB_BAD_ARGUMENT, "%s: expected text", what);
        return 0;
    }
    Py_ssize_t n;
    *text = PyUnicode_AsUTF8AndSize(o, &n);
    return *text != NULL;
}

/* ---- settings ------------------------------------------------------------------------------------ */

int core_settings(const fab_method *m, PyObject *dict, void **settings)
{
    const fab_fields *t = fab_method_fields(m);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    *settings = malloc(t->size);
    if (!*settings) return PyErr_NoMemory() != NULL;
    fab_settings_defaults(t, *settings);
    while (dict && dict != Py_None && PyDict_Next(dict, &at, &key, &value)) {
        const char *name, *text;
        if (!core_text(key, "a setting", &name) ||
            !core_text(value, "the value of a setting", &text))
            break;
        const fab_status s = fab_settings_parse(t, *settings, name, text);
        if (s == FAB_OK) continue;
        core_fail(s);
        break;
    }
    if (!PyErr_Occurred()) return 1;
    free(*settings);
    *settings = NULL;
    return 0;
}

static PyObject *names_of(const fab_field *f)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && f->type == FAB_ENUM && f->names[i]; i++) {
        PyObject *name = PyUnicode_FromString(f->names[i]);
        if (!name || PyList_Append(list, name) != 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

/* name, type, default as text, lo, hi, names, help */
static PyObject *field_of(const fab_field *f)
{
    char text[64];
    fab_settings_default_text(f, text, sizeof text);
    return Py_BuildValue("sssddNs", f->name, fab_dtype_name(f->type), text, f->lo, f->hi,
                         names_of(f), f->help);
}

static PyObject *fields_of(const fab_fields *t)
{
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < t->n; i++) {
        PyObject *one = field_of(&t->field[i]);
        if (!one || PyList_Append(list, one) != 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *method_of(const fab_method *m)
{
    return Py_BuildValue("ssiLLNs", fab_method_name(m), fab_method_summary(m),
                         fab_method_streams(m), (long long)fab_method_takes(m),
                         (long long)fab_method_asks(m), fields_of(fab_method_fields(m)),
                         fab_method_name(fab_method_of_networks(m)));
}

static PyObject *methods(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < fab_method_count(); i++) {
        PyObject *one = method_of(fab_method_at(i));
        if (!one || PyList_Append(list, one) != 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* A method for networks or vectors, where it is another than for linear models. */
static const fab_method *counterpart(PyObject *args)
{
    const char *name, *of;
    if (!PyArg_ParseTuple(args, "ss", &name, &of)) return NULL;
    const fab_method *m = fab_method_find(name);
    if (!m) core_refuse(FAB_BAD_ARGUMENT, "there is no method '%s'", name);
    if (m && strcmp(of, "networks") == 0) m = fab_method_of_networks(m);
    if (m && strcmp(of, "vectors") == 0) m = fab_method_of_vectors(m);
    return m;
}

static PyObject *fields(PyObject *self, PyObject *args)
{
    (void)self;
    const fab_method *m = counterpart(args);
    return m ? fields_of(fab_method_fields(m)) : NULL;
}

/* Beside fab_takes: vectors, of which it finds clusters. */
enum { CLUSTERS = 1 << 20 };

static PyObject *takes(PyObject *self, PyObject *args)
{
    (void)self;
    const fab_method *m = counterpart(args);
    PyObject *names = m ? PyList_New(0) : NULL;
    const int64_t all = m ? fab_method_likelihoods(m) : 0;
    for (int l = 0; names && all >> l; l++) {
        if (!(all >> l & 1)) continue;
        PyObject *one = PyUnicode_FromString(fab_likelihood_name((fab_likelihood)l));
        if (!one || PyList_Append(names, one) != 0) Py_CLEAR(names);
        Py_XDECREF(one);
    }
    const long long bits = m ? fab_method_takes(m) | (fab_method_clusters(m) ? CLUSTERS : 0) : 0;
    return names ? Py_BuildValue("LiN", bits, fab_method_streams(m), names) : NULL;
}

static PyObject *nearest(PyObject *self, PyObject *args)
{
    (void)self;
    const char *wrong, *found = NULL, **names;
    PyObject *list;
    if (!PyArg_ParseTuple(args, "sO!", &wrong, &PyList_Type, &list)) return NULL;
    const Py_ssize_t n = PyList_Size(list);
    names = malloc((size_t)(n + 1) * sizeof *names);
    if (!names) return PyErr_NoMemory();
    Py_ssize_t i = 0;
    while (i < n && core_text(PyList_GetItem(list, i), "a name", &names[i])) i++;
    if (i == n) found = fab_nearest(wrong, names, n);
    PyObject *out = PyErr_Occurred() ? NULL : Py_BuildValue("z", found);
    free(names);
    return out;
}

/* ---- the module ---------------------------------------------------------------------------------- */

static PyObject *version(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return PyUnicode_FromString(fab_version());
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "version() -> str"},
    {"methods", methods, METH_NOARGS,
     "methods() -> list of (name, summary, streams, takes, asks, fields, of_networks)"},
    {"fields", fields, METH_VARARGS,
     "fields(method, of) -> list of (name, type, default, lo, hi, names, help)"},
    {"takes", takes, METH_VARARGS, "takes(method, of) -> takes, streams, likelihoods"},
    {"nearest", nearest, METH_VARARGS, "nearest(wrong, names) -> str or None"},
    {NULL, NULL, 0, NULL}};

static int add_type(PyObject *module, PyType_Spec *spec, const char *name, PyObject **keep)
{
    *keep = PyType_FromSpec(spec);
    return *keep && PyModule_AddObjectRef(module, name, *keep) == 0;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "fabayes._core",
                                        "The C library fabayes, as its Python package sees it.",
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *errors = PyImport_ImportModule("fabayes._errors");
    if (!errors) return NULL;
    state.error = PyObject_GetAttrString(errors, "error");
    Py_DECREF(errors);
    PyObject *module = state.error ? PyModule_Create(&definition) : NULL;
    if (!module) return NULL;
    if (PyModule_AddFunctions(module, core_table_functions) == 0 &&
        PyModule_AddFunctions(module, core_gauss_functions) == 0 &&
        PyModule_AddFunctions(module, core_fit_functions) == 0 &&
        PyModule_AddFunctions(module, core_merge_functions) == 0 &&
        PyModule_AddFunctions(module, core_arrow_functions) == 0 &&
        PyModule_AddFunctions(module, core_svm_functions) == 0 &&
        PyModule_AddFunctions(module, core_test_functions) == 0 &&
        add_type(module, &core_gauss_spec, "Gauss", &state.gauss) &&
        add_type(module, &core_regression_spec, "Regression", &state.regression) &&
        add_type(module, &core_factors_spec, "Factors", &state.factors) &&
        add_type(module, &core_fit_spec, "Fit", &state.fit) &&
        add_type(module, &core_net_spec, "Net", &state.net) &&
        add_type(module, &core_propose_spec, "Propose", &state.propose))
        return module;
    Py_DECREF(module);
    return NULL;
}
