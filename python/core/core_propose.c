/* core_propose.c - Propose: Bayesian optimisation, asked and told.
 *
 * SPDX-License-Identifier: MIT */
#include "core.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct propose {
    PyObject_HEAD fab_propose *o;
    fab_range *range; /* their names lie behind them */
    int64_t ranges;
    PyThread_type_lock lock;
} propose;

/* ---- life ---------------------------------------------------------------------------------------- */

/* A list of (name, lo, hi, log, whole), copied with its names. */
static fab_range *read_ranges(PyObject *list, int64_t *n)
{
    size_t letters = 1;
    const char *name;
    *n = PyList_Size(list);
    for (int64_t i = 0; i < *n; i++) {
        PyObject *one = PyList_GetItem(list, i);
        if (!PyTuple_Check(one) || PyTuple_Size(one) != 5) {
            core_refuse(FAB_BAD_ARGUMENT, "ranges: expected tuples of five");
            return NULL;
        }
        if (!core_text(PyTuple_GetItem(one, 0), "the name of a range", &name) || !name) return NULL;
        letters += strlen(name) + 1;
    }
    const size_t ranges = (size_t)(*n + 1) * sizeof(fab_range);
    fab_range *range = malloc(ranges + letters);
    if (!range) {
        PyErr_NoMemory();
        return NULL;
    }
    char *at = (char *)range + ranges;
    for (int64_t i = 0; i < *n; i++) {
        int log, whole;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sddpp", &name, &range[i].lo, &range[i].hi,
                              &log, &whole)) {
            free(range);
            return NULL;
        }
        const size_t length = strlen(name) + 1;
        range[i].name = memcpy(at, name, length);
        range[i].log = log;
        range[i].whole = whole;
        at += length;
    }
    return range;
}

static int find_acquisition(const char *name, fab_acquisition *a)
{
    const char *there[8];
    int n = 0;
    for (; n < 8 && fab_acquisition_name((fab_acquisition)n); n++) {
        there[n] = fab_acquisition_name((fab_acquisition)n);
        *a = (fab_acquisition)n;
        if (strcmp(there[n], name) == 0) return 1;
    }
    const char *near = fab_nearest(name, there, n);
    return core_refuse(FAB_BAD_ARGUMENT, "there is no acquisition '%s'%s%s%s", name,
                       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "") != NULL;
}

/* Propose(ranges, maximise, acquisition, xi, beta, starts, seed) */
static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keys)
{
    (void)keys;
    PyObject *list;
    const char *acquisition;
    int maximise;
    long long starts, seed;
    fab_propose_plan plan = {0};
    if (!PyArg_ParseTuple(args, "O!psddLL", &PyList_Type, &list, &maximise, &acquisition, &plan.xi,
                          &plan.beta, &starts, &seed) ||
        !find_acquisition(acquisition, &plan.acquisition))
        return NULL;
    fab_range *range = read_ranges(list, &plan.ranges);
    if (!range) return NULL;
    const fab_exec x = core_exec(1);
    plan.range = range;
    plan.maximise = maximise;
    plan.starts = starts;
    plan.seed = seed;
    plan.exec = &x;
    fab_propose *o;
    const fab_status s = fab_propose_create(&o, &plan);
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    propose *self = s == FAB_OK ? (propose *)alloc(type, 0) : NULL;
    if (!self) {
        fab_propose_free(s == FAB_OK ? o : NULL);
        free(range);
        return s == FAB_OK ? NULL : core_fail(s);
    }
    self->o = o;
    self->range = range;
    self->ranges = plan.ranges;
    self->lock = PyThread_allocate_lock();
    if (self->lock) return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

static void drop(PyObject *object)
{
    propose *self = (propose *)object;
    PyTypeObject *type = Py_TYPE(object);
    fab_propose_free(self->o);
    free(self->range);
    if (self->lock) PyThread_free_lock(self->lock);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* ---- verbs --------------------------------------------------------------------------------------- */

/* tell(x, y) */
static PyObject *tell(PyObject *object, PyObject *args)
{
    propose *self = (propose *)object;
    PyObject *of_x;
    core_array x;
    double y;
    fab_status s = FAB_BAD_ARGUMENT;
    if (!PyArg_ParseTuple(args, "Od", &of_x, &y) || !core_need(&x, of_x, "x", "d", 1)) return NULL;
    const int fits = x.view.shape[0] == self->ranges && PyBuffer_IsContiguous(&x.view, 'C');
    if (fits) CORE_WORK_BY(self, s, fab_propose_tell(self->o, x.view.buf, y));
    core_drop(&x);
    if (!fits)
        return core_refuse(s, "x: expected %lld numbers, one of each range",
                           (long long)self->ranges);
    if (s != FAB_OK) return core_fail(s);
    Py_RETURN_NONE;
}

/* ask(n): n x ranges numbers */
static PyObject *ask(PyObject *object, PyObject *args)
{
    propose *self = (propose *)object;
    long long n;
    double *x;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "L", &n)) return NULL;
    PyObject *room = core_matrix(n > 0 ? n : 0, self->ranges, 8, &x);
    if (!room) return NULL;
    CORE_WORK_BY(self, s, fab_propose_ask(self->o, n, x));
    if (s == FAB_OK) return room;
    Py_DECREF(room);
    return core_fail(s);
}

/* best(): the number of a trial, or -1 */
static PyObject *best(PyObject *object, PyObject *none)
{
    (void)none;
    propose *self = (propose *)object;
    int64_t i;
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(self->lock, 1);
    i = fab_propose_best(self->o);
    PyThread_release_lock(self->lock);
    Py_END_ALLOW_THREADS return PyLong_FromLongLong(i);
}

static fab_status look_at(propose *self, int64_t n, const double *x, double *out)
{
    return fab_propose_look(self->o, n, x, out, out + n, out + 2 * n, out + 3 * n);
}

/* look(x): median, 5 % and 95 % quantile and the acquisition at n points (n x ranges): 4 x n numbers */
static PyObject *look(PyObject *object, PyObject *of_x)
{
    propose *self = (propose *)object;
    core_array x;
    double *out;
    fab_status s = FAB_BAD_ARGUMENT;
    if (!core_need(&x, of_x, "points", "d", 2)) return NULL;
    const int64_t n = x.view.shape[0];
    const int fits = x.view.shape[1] == self->ranges && PyBuffer_IsContiguous(&x.view, 'C');
    PyObject *room = fits ? core_matrix(4, n, 8, &out) : NULL;
    if (room) CORE_WORK_BY(self, s, look_at(self, n, x.view.buf, out));
    core_drop(&x);
    if (!fits)
        return core_refuse(s, "points: expected %lld numbers each, one of each range",
                           (long long)self->ranges);
    if (room && s == FAB_OK) return room;
    Py_XDECREF(room);
    return PyErr_Occurred() ? NULL : core_fail(s);
}

static PyObject *report(PyObject *object, PyObject *none)
{
    (void)none;
    propose *self = (propose *)object;
    fab_propose_report r;
    char *kernel = NULL;
    fab_status s = FAB_OK;
    PyThread_acquire_lock(self->lock, 1);
    fab_propose_report_of(self->o, &r);
    if (r.kernel) s = fab_kernel_describe(r.kernel, &kernel);
    PyThread_release_lock(self->lock);
    if (s != FAB_OK) return core_fail(s);
    const double unknown = (double)NAN;
    PyObject *out = Py_BuildValue(
        "{sL sL sL sL sO sd sd sz}", "trials", (long long)r.trials, "failed", (long long)r.failed,
        "outside", (long long)r.outside, "elsewhere", (long long)r.elsewhere, "modelled",
        r.modelled ? Py_True : Py_False, "lml", r.modelled ? r.lml : unknown, "noise",
        r.modelled ? r.noise : unknown, "kernel", kernel);
    fab_text_free(kernel);
    return out;
}

static PyMethodDef verbs[] = {{"tell", tell, METH_VARARGS, "a trial at x gave y"},
                              {"ask", ask, METH_VARARGS, "n points for the next trials"},
                              {"best", best, METH_NOARGS, "the number of the best trial"},
                              {"look", look, METH_O, "what is known of the function at points"},
                              {"report", report, METH_NOARGS, "what there is to say"},
                              {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {
    {Py_tp_new, create}, {Py_tp_dealloc, drop}, {Py_tp_methods, verbs}, {0, NULL}};
PyType_Spec core_propose_spec = {"fabayes._core.Propose", sizeof(propose), 0, Py_TPFLAGS_DEFAULT,
                                 slots};
