/* core_svm.c - support vector machines of rows.
 *
 * SPDX-License-Identifier: MIT */
#include "core.h"
#include <math.h>
#include <string.h>

/* The settings struct with the texts of a dict. */
static int read_settings(PyObject *dict, fab_svm_settings *s)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    *s = fab_svm_defaults();
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name, *text;
        if (!core_text(key, "a setting", &name) ||
            !core_text(value, "the value of a setting", &text))
            return 0;
        const fab_status done = fab_settings_parse(fab_svm_fields(), s, name, text);
        if (done != FAB_OK) return core_fail(done) != NULL;
    }
    return 1;
}

/* What there is to say of a machine, without its rows. */
static PyObject *parts_of(const fab_svm *m)
{
    fab_svm_parts p;
    fab_svm_report r;
    char *text;
    fab_svm_parts_of(m, &p);
    fab_svm_report_of(m, &r);
    const fab_status s = fab_kernel_describe(fab_svm_kernel(m), &text);
    if (s != FAB_OK) return core_fail(s);
    PyObject *out = Py_BuildValue("{sN sN sN sd sd ss sL sL sL sd sd sd sd}", "row",
                                  core_copy(p.row, p.support, sizeof *p.row), "a",
                                  core_copy(p.a, p.support * p.machines, sizeof *p.a), "b",
                                  core_copy(p.b, p.machines, sizeof *p.b), "below", p.slope[0],
                                  "above", p.slope[1], "kernel", text, "iterations",
                                  (long long)r.iterations, "converged", (long long)r.converged,
                                  "margin_errors", (long long)r.margin_errors, "rho", r.rho, "dual",
                                  r.dual, "gap", r.gap, "nu_limit", r.nu_limit);
    fab_text_free(text);
    return out;
}

/* svm_fit(X, y, weight, kernel, classes, settings, threads) -> dict of parts */
static PyObject *svm_fit(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *of_x, *of_y, *of_w, *dict, *out = NULL;
    const char *text;
    long long classes, threads;
    core_array x = {0}, y = {0}, w = {0};
    fab_svm_settings settings;
    fab_kernel *k = NULL;
    fab_svm *m = NULL;
    fab_rows rows;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "OOOsLO!L", &of_x, &of_y, &of_w, &text, &classes, &PyDict_Type,
                          &dict, &threads) ||
        !read_settings(dict, &settings))
        return NULL;
    if (core_need(&x, of_x, "X", "df", 2) && core_need(&y, of_y, "y", "d", 1) &&
        core_get(&w, of_w, "weights", "d", 1) && core_rows(&x, &rows)) {
        const fab_exec e = core_exec(threads);
        if (y.view.shape[0] != rows.n || (w.view.obj && w.view.shape[0] != rows.n) ||
            !PyBuffer_IsContiguous(&y.view, 'C') ||
            (w.view.obj && !PyBuffer_IsContiguous(&w.view, 'C'))) {
            core_refuse(FAB_BAD_ARGUMENT,
                        "y and weights: expected %lld numbers, one behind the other",
                        (long long)rows.n);
        } else {
            s = fab_kernel_create(&k, text, x.view.shape[1], NULL);
            if (s == FAB_OK)
                CORE_WORK(s, fab_svm_create(&m, k, classes, &settings, &rows, y.view.buf,
                                            w.view.obj ? w.view.buf : NULL, &e));
            if (s != FAB_OK)
                core_fail(s);
            else
                out = parts_of(m);
        }
    }
    fab_svm_free(m);
    fab_kernel_free(k);
    core_drop(&x);
    core_drop(&y);
    core_drop(&w);
    return out;
}

/* The decisions of n rows, their classes and votes. */
static PyObject *answers_of(const fab_svm *m, const fab_rows *x, int64_t classes, int64_t machines,
                            const fab_exec *e)
{
    double *d = NULL, *votes = NULL;
    int64_t *chosen = NULL;
    fab_status s = FAB_OK;
    const int64_t C = classes > 0 ? classes : 1;
    PyObject *of_d = core_matrix(x->n, machines, sizeof *d, &d),
             *of_c = of_d ? core_room(x->n, &chosen) : NULL,
             *of_v = of_c ? core_matrix(x->n, C, sizeof *votes, &votes) : NULL;
    if (of_v) {
        CORE_WORK(s, fab_svm_decide(m, x, d, e));
        for (int64_t i = 0; i < x->n && s == FAB_OK; i++)
            chosen[i] = fab_svm_class(m, d + i * machines, votes + i * C);
        if (s != FAB_OK) core_fail(s);
    }
    if (of_v && s == FAB_OK) return Py_BuildValue("NNN", of_d, of_c, of_v);
    Py_XDECREF(of_d);
    Py_XDECREF(of_c);
    Py_XDECREF(of_v);
    return NULL;
}

/* svm_decide(kernel, classes, support, a, b, X, threads) -> decisions, classes, votes */
static PyObject *svm_decide(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *of[4], *out = NULL;
    static const char *const names[] = {"support vectors", "weights", "offsets", "X"};
    const char *text;
    long long classes, threads;
    core_array a[4];
    fab_kernel *k = NULL;
    fab_svm *m = NULL;
    fab_rows x;
    memset(a, 0, sizeof a);
    if (!PyArg_ParseTuple(args, "sLOOOOL", &text, &classes, &of[0], &of[1], &of[2], &of[3],
                          &threads))
        return NULL;
    int there = 1;
    for (int i = 0; i < 4 && there; i++)
        there = core_need(&a[i], of[i], names[i], i == 3 ? "df" : "d", i == 2 ? 1 : 2) &&
                (i == 3 || PyBuffer_IsContiguous(&a[i].view, 'C'));
    if (there && core_rows(&a[3], &x)) {
        const double none[2] = {NAN, NAN};
        const int64_t n = a[0].view.shape[0], D = a[0].view.shape[1], M = a[2].view.shape[0];
        const fab_svm_parts p = {.support = n,
                                 .D = D,
                                 .machines = M,
                                 .X = a[0].view.buf,
                                 .a = a[1].view.buf,
                                 .b = a[2].view.buf,
                                 .slope = none};
        const fab_exec e = core_exec(threads);
        if (a[3].view.shape[1] != D || a[1].view.shape[0] != M || a[1].view.shape[1] != n) {
            core_refuse(FAB_BAD_DATA, "rows of %lld numbers, expected %lld",
                        (long long)a[3].view.shape[1], (long long)D);
        } else {
            fab_status s = fab_kernel_create(&k, text, D, NULL);
            if (s == FAB_OK) s = fab_svm_of_parts(&m, k, classes, &p, NULL);
            if (s != FAB_OK)
                core_fail(s);
            else
                out = answers_of(m, &x, classes, M, &e);
        }
    }
    fab_svm_free(m);
    fab_kernel_free(k);
    for (int i = 0; i < 4; i++) core_drop(&a[i]);
    if (!out && !PyErr_Occurred())
        core_refuse(FAB_BAD_ARGUMENT, "expected numbers one behind the other");
    return out;
}

PyMethodDef core_svm_functions[] = {
    {"svm_fit", svm_fit, METH_VARARGS,
     "svm_fit(X, y, weight, kernel, classes, settings, threads) -> parts"},
    {"svm_decide", svm_decide, METH_VARARGS,
     "svm_decide(kernel, classes, support, a, b, X, threads) -> decisions, classes, votes"},
    {NULL, NULL, 0, NULL}};
