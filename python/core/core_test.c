/* core_test.c - two samples compared, two groups of columns tested for independence.
 *
 * SPDX-License-Identifier: MIT */
#include "core.h"
#include <stdio.h>

static PyObject *report(fab_status s, const fab_test_report *r)
{
    if (s != FAB_OK) return core_fail(s);
    return Py_BuildValue("ddddLdd", r->test.statistic, r->test.p, r->test.biased, r->test.p_gamma,
                         (long long)r->test.permutations, r->l, r->l_y);
}

static fab_arrays arrays_of(const core_array *a)
{
    fab_rows rows;
    core_rows(a, &rows);
    return (fab_arrays){.n = rows.n,
                        .x = rows.p,
                        .type = rows.type,
                        .D = a->view.shape[1],
                        .row_stride = rows.ld,
                        .column_stride = rows.stride ? rows.stride : 1};
}

typedef struct call {
    fab_test_plan plan;
    long long permutations, threads;
} call;

/* test_samples(X, Y, kernel, raw, permutations, seed, threads) -> statistic, p, biased, p by Gamma, permutations, bandwidths */
static PyObject *test_samples(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *x, *y, *kernel;
    core_array a = {0}, b = {0};
    call c = {0};
    int raw;
    fab_test_report r;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "OOOpLO&L", &x, &y, &kernel, &raw, &c.permutations, core_seed,
                          &c.plan.seed, &c.threads) ||
        !core_text(kernel, "kernel", &c.plan.kernel))
        return NULL;
    c.plan.raw = raw;
    c.plan.permutations = c.permutations;
    if (core_need(&a, x, "X", "df", 2) && core_need(&b, y, "Y", "df", 2)) {
        const fab_arrays of_x = arrays_of(&a), of_y = arrays_of(&b);
        const fab_exec e = core_exec(c.threads);
        CORE_WORK(s, fab_test_samples(&r, NULL, &(fab_data){.arrays = &of_x},
                                      &(fab_data){.arrays = &of_y}, &c.plan, &e));
    }
    core_drop(&a);
    core_drop(&b);
    return PyErr_Occurred() ? NULL : report(s, &r);
}

/* test_columns(XY, width of X, kernel, kernel of y, raw, permutations, seed, threads) -> as test_samples */
static PyObject *test_columns(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *xy, *kernel, *of_y;
    core_array a = {0};
    call c = {0};
    long long width;
    int raw;
    char left[48], right[48];
    fab_test_report r;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "OLOOpLO&L", &xy, &width, &kernel, &of_y, &raw, &c.permutations,
                          core_seed, &c.plan.seed, &c.threads) ||
        !core_text(kernel, "kernel", &c.plan.kernel) ||
        !core_text(of_y, "kernel_y", &c.plan.kernel_y))
        return NULL;
    c.plan.raw = raw;
    c.plan.permutations = c.permutations;
    if (core_need(&a, xy, "X and Y", "df", 2)) {
        const fab_arrays arrays = arrays_of(&a);
        const fab_exec e = core_exec(c.threads);
        snprintf(left, sizeof left, "0:%lld", width - 1);
        snprintf(right, sizeof right, "%lld:%lld", width, (long long)arrays.D - 1);
        CORE_WORK(s,
                  fab_test_columns(&r, &(fab_data){.arrays = &arrays}, left, right, &c.plan, &e));
    }
    core_drop(&a);
    return PyErr_Occurred() ? NULL : report(s, &r);
}

PyMethodDef core_test_functions[] = {
    {"test_samples", test_samples, METH_VARARGS,
     "test_samples(X, Y, kernel, raw, permutations, seed, threads) -> numbers"},
    {"test_columns", test_columns, METH_VARARGS,
     "test_columns(XY, width, kernel, kernel_y, raw, permutations, seed, threads) -> numbers"},
    {NULL, NULL, 0, NULL}};
