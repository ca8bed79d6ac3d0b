/* core_merge.c - posteriors of shards become one.
 *
 * SPDX-License-Identifier: MIT */
#include "core.h"
#include <stdlib.h>

typedef struct shards {
    int64_t n;
    const char **name;    /* n, lent by their list */
    fab_posterior **part; /* n */
} shards;

static void drop(shards *s)
{
    for (int64_t i = 0; s->part && i < s->n; i++) fab_posterior_free(s->part[i]);
    free(s->part);
    free(s->name);
}

/* A list of (name, bytes of a file). */
static int take(shards *s, PyObject *list)
{
    s->n = PyList_Size(list);
    s->name = calloc((size_t)s->n + 1, sizeof *s->name);
    s->part = calloc((size_t)s->n + 1, sizeof *s->part);
    if (!s->name || !s->part) {
        PyErr_NoMemory();
        return 0;
    }
    for (int64_t i = 0; i < s->n; i++) {
        const char *bytes;
        Py_ssize_t size;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sy#", &s->name[i], &bytes, &size)) return 0;
        const fab_status read = fab_posterior_parse(&s->part[i], s->name[i], bytes, (size_t)size);
        if (read != FAB_OK) {
            core_fail(read);
            return 0;
        }
    }
    return 1;
}

/* merge([(name, bytes)], rank, alpha, threads) -> bytes, report */
static PyObject *merge(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *list;
    long long rank, threads;
    fab_merge_plan plan = {0};
    fab_merge_report r;
    fab_posterior *all = NULL;
    shards s = {0};
    void *bytes = NULL;
    size_t size = 0;
    fab_status done;
    if (!PyArg_ParseTuple(args, "O!LdL", &PyList_Type, &list, &rank, &plan.alpha, &threads))
        return NULL;
    plan.K = rank;
    if (!take(&s, list)) {
        drop(&s);
        return NULL;
    }
    const fab_exec x = core_exec(threads);
    CORE_WORK(done,
              fab_merge(&all, s.name, (const fab_posterior *const *)s.part, s.n, &plan, &x, &r));
    if (done == FAB_OK) done = fab_tensors_pack(all->file, &bytes, &size);
    fab_posterior_free(all);
    drop(&s);
    PyObject *file = core_bytes(done, bytes, size);
    if (!file) return NULL;
    return Py_BuildValue("N{sssLsdsLsLsdsdsOsd}", file, "way", fab_merge_way_name(r.way), "parts",
                         (long long)r.parts, "rows", r.n, "D", (long long)r.D, "rank",
                         (long long)r.K, "alpha", r.alpha, "beta", r.beta, "alpha_chosen",
                         r.alpha_chosen ? Py_True : Py_False, "kl", r.kl);
}

PyMethodDef core_merge_functions[] = {
    {"merge", merge, METH_VARARGS, "merge([(name, bytes)], rank, alpha, threads) -> bytes, report"},
    {NULL, NULL, 0, NULL}};
