/* core.h - what the files of the extension share: failures, buffers, settings, who watches.
 *
 * The extension is thin: arrays come in by the buffer protocol and go out as bytearrays, which NumPy takes without a copy; a
 * handle of the library is an object.  One handle serves one thread at a time (its lock), and whatever works on rows does so
 * without the interpreter's lock.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_CORE_H
#define FABAYES_CORE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>
#include <fabayes.h>

/* ---- failures ------------------------------------------------------------------------------------ */

/* Raise what the library says last; a stop that an exception caused raises that.  Returns NULL. */
PyObject *core_fail(fab_status s);
/* The same with a sentence of our own. */
PyObject *core_refuse(fab_status s, const char *format, ...);

/* Run a verb of the library without the interpreter's lock.  An exception that came up while it worked counts also where the
 * verb was done before it could stop: what it gave is to be freed. */
#define CORE_WORK(status, call)                                                                 \
    do {                                                                                        \
        Py_BEGIN_ALLOW_THREADS(status) = (call);                                                \
        Py_END_ALLOW_THREADS if (PyErr_Occurred() && (status) == FAB_OK)(status) = FAB_STOPPED; \
    } while (0)
/* The same by a handle, which serves one thread at a time. */
#define CORE_WORK_BY(handle, status, call)                                                      \
    do {                                                                                        \
        Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock((handle)->lock, 1);                        \
        (status) = (call);                                                                      \
        PyThread_release_lock((handle)->lock);                                                  \
        Py_END_ALLOW_THREADS if (PyErr_Occurred() && (status) == FAB_OK)(status) = FAB_STOPPED; \
    } while (0)

/* Threads (0: all), and whoever presses Ctrl-C is heard. */
fab_exec core_exec(int64_t threads);
/* 0: verbs of this thread are not stopped, until 1 is said. */
void core_listen(int yes);

/* ---- arrays -------------------------------------------------------------------------------------- */

/* An array of the caller: view.obj is NULL where there is none. */
typedef struct core_array {
    Py_buffer view;
    fab_dtype type; /* FAB_F64, FAB_F32; or I64 for either width of whole numbers */
} core_array;

/* None leaves *a empty.  `kinds`: the formats that are taken ("d", "df", "i", "q").  0 and an exception where it is another, has
 * other than ndim dimensions, or strides that go back or are no multiple of an element. */
int core_get(core_array *a, PyObject *o, const char *what, const char *kinds, int ndim);
/* The same of an array that must be there. */
int core_need(core_array *a, PyObject *o, const char *what, const char *kinds, int ndim);
void core_drop(core_array *a);
/* Dense rows of a matrix of two dimensions. */
int core_rows(const core_array *a, fab_rows *rows);
/* Room for n elements of 8 bytes, or for n x width of `size` bytes; *p points into it.  More than there can be is refused. */
PyObject *core_room(int64_t n, void *p);
PyObject *core_matrix(int64_t n, int64_t width, size_t size, void *p);
PyObject *core_copy(const void *p, int64_t n, size_t size);
/* The bytes of a file that a verb packed, as bytes; they are freed, also where the verb did not go well. */
PyObject *core_bytes(fab_status s, void *bytes, size_t size);

/* ---- settings ------------------------------------------------------------------------------------ */

/* The struct of a method with defaults, then the texts of a dict.  Gives *settings: free. */
int core_settings(const fab_method *m, PyObject *dict, void **settings);

/* Types, for the module. */
extern PyType_Spec core_gauss_spec, core_regression_spec, core_factors_spec, core_fit_spec,
    core_net_spec, core_propose_spec;
extern PyMethodDef core_gauss_functions[], core_table_functions[], core_fit_functions[],
    core_merge_functions[], core_svm_functions[], core_test_functions[], core_arrow_functions[];
/* A Gauss with a copy of *g. */
PyObject *core_gauss_wrap(const fab_gauss *g);
/* That of a Gauss, lent while the object lives; NULL and an exception: it is none. */
const fab_gauss *core_gauss_of(PyObject *o);
int core_text(PyObject *o, const char *what, const char **text); /* None: NULL */
int core_seed(PyObject *o, void *seed); /* for "O&": a uint64_t; 0 and an exception: it is none */

/* What the module keeps. */
typedef struct core_state {
    PyObject *error; /* fabayes._errors.error(status, sentence) */
    PyObject *gauss, *regression, *factors, *fit, *net, *propose;
} core_state;
core_state *core_of_module(void);

#endif
