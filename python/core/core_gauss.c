/* core_gauss.c - Gauss: a Gaussian whose arrays belong to Python, and its solver.
 *
 * SPDX-License-Identifier: MIT */
#include "core.h"
#include <stdlib.h>
#include <string.h>

typedef struct gauss {
    PyObject_HEAD core_array mu, F, psi; /* borrowed from the caller's arrays; or */
    fab_gauss *own;                      /* memory of the library */
    fab_gauss g;
    fab_solver *solver; /* made when first asked for */
    PyThread_type_lock lock;
} gauss;

/* ---- life ---------------------------------------------------------------------------------------- */

static gauss *make(PyTypeObject *type)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    gauss *self = (gauss *)alloc(type, 0);
    if (!self || (self->lock = PyThread_allocate_lock())) return self;
    Py_DECREF(self);
    PyErr_NoMemory();
    return NULL;
}

static void drop(PyObject *o)
{
    gauss *self = (gauss *)o;
    PyTypeObject *type = Py_TYPE(o);
    fab_solver_free(self->solver);
    fab_gauss_free(self->own);
    core_drop(&self->mu);
    core_drop(&self->F);
    core_drop(&self->psi);
    if (self->lock) PyThread_free_lock(self->lock);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(o);
    Py_DECREF(type);
}

static int is_contiguous(const core_array *a)
{
    return PyBuffer_IsContiguous(&a->view, 'C');
}

/* Gauss(mean, factor, diag, form): D; D x K; D numbers, None of a point. */
static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *none)
{
    (void)none;
    PyObject *mu, *F, *psi;
    const char *form;
    if (!PyArg_ParseTuple(args, "OOOs", &mu, &F, &psi, &form)) return NULL;
    gauss *self = make(type);
    if (!self) return NULL;
    if (!core_need(&self->mu, mu, "mean", "d", 1) || !core_need(&self->F, F, "factor", "df", 2) ||
        !core_get(&self->psi, psi, "diag", "d", 1)) {
        Py_DECREF(self);
        return NULL;
    }
    fab_gauss *g = &self->g;
    int known = 0;
    for (int f = FAB_FORM_COVARIANCE; f <= FAB_FORM_POINT && !known; f++) {
        g->form = (fab_form)f;
        known = strcmp(form, fab_form_name(g->form)) == 0;
    }
    fab_status s = FAB_OK;
    if (!known)
        core_refuse(FAB_BAD_ARGUMENT, "form = '%s', expected covariance, precision or point", form);
    else if (!self->psi.view.obj && g->form != FAB_FORM_POINT)
        core_refuse(FAB_BAD_ARGUMENT, "mean, factor and diag are needed");
    else if (self->F.view.shape[0] != self->mu.view.shape[0] ||
             (self->psi.view.obj && self->psi.view.shape[0] != self->mu.view.shape[0]))
        core_refuse(FAB_BAD_ARGUMENT, "mean has %lld coordinates, factor %lld rows and diag %lld",
                    (long long)self->mu.view.shape[0], (long long)self->F.view.shape[0],
                    self->psi.view.obj ? (long long)self->psi.view.shape[0] : 0);
    else if (!is_contiguous(&self->mu) || !is_contiguous(&self->F) ||
             (self->psi.view.obj && !is_contiguous(&self->psi)))
        core_refuse(FAB_BAD_ARGUMENT, "mean, factor and diag must be contiguous");
    if (PyErr_Occurred()) {
        Py_DECREF(self);
        return NULL;
    }
    g->type = self->F.type;
    g->D = self->mu.view.shape[0];
    g->K = self->F.view.shape[1];
    g->mu = self->mu.view.buf;
    g->F = self->F.view.buf;
    g->psi = g->form == FAB_FORM_POINT ? NULL : self->psi.view.buf;
    CORE_WORK(s, fab_gauss_check(g));
    if (s == FAB_OK) return (PyObject *)self;
    Py_DECREF(self);
    return core_fail(s);
}

/* Takes *own. */
static PyObject *wrap_own(fab_gauss *own)
{
    gauss *self = make((PyTypeObject *)core_of_module()->gauss);
    if (!self) {
        fab_gauss_free(own);
        return NULL;
    }
    self->own = own;
    self->g = *own;
    return (PyObject *)self;
}

/* What a verb gave; it is freed where the verb did not go well. */
static PyObject *give_own(fab_status s, fab_gauss *own)
{
    if (s == FAB_OK) return wrap_own(own);
    fab_gauss_free(own);
    return core_fail(s);
}

PyObject *core_gauss_wrap(const fab_gauss *g)
{
    fab_gauss *own = NULL;
    const fab_status s = fab_gauss_copy(&own, g, g->type);
    return give_own(s, own);
}

const fab_gauss *core_gauss_of(PyObject *o)
{
    if (PyObject_TypeCheck(o, (PyTypeObject *)core_of_module()->gauss)) return &((gauss *)o)->g;
    core_refuse(FAB_BAD_ARGUMENT, "expected a Gaussian");
    return NULL;
}

/* ---- what it is ---------------------------------------------------------------------------------- */

static PyObject *get_form(PyObject *o, void *none)
{
    (void)none;
    return PyUnicode_FromString(fab_form_name(((gauss *)o)->g.form));
}

static PyObject *get_shape(PyObject *o, void *none)
{
    (void)none;
    const fab_gauss *g = &((gauss *)o)->g;
    return Py_BuildValue("LLsL", (long long)g->D, (long long)g->K, fab_dtype_name(g->type),
                         (long long)g->total);
}

/* mean, factor, diag, theta, index as bytearrays; the last three None where there is none */
static PyObject *arrays(PyObject *o, PyObject *none)
{
    (void)none;
    const fab_gauss *g = &((gauss *)o)->g;
    PyObject *psi = g->psi ? core_copy(g->psi, g->D, 8) : Py_NewRef(Py_None);
    PyObject *theta = g->total ? core_copy(g->theta, g->total, 8) : Py_NewRef(Py_None);
    PyObject *index = g->total ? core_copy(g->index, g->D, 8) : Py_NewRef(Py_None);
    return Py_BuildValue("NNNNN", core_copy(g->mu, g->D, 8),
                         core_copy(g->F, g->D * g->K, g->type == FAB_F32 ? 4 : 8), psi, theta,
                         index);
}

/* ---- by the solver ------------------------------------------------------------------------------- */

static fab_status need_solver(gauss *self)
{
    const fab_exec x = core_exec(0);
    return self->solver ? FAB_OK : fab_solver_create(&self->solver, &self->g, &x);
}

typedef fab_status by_rows(fab_solver *s, const fab_rows *x, double *out);

static fab_status run_rows(gauss *self, by_rows *verb, const fab_rows *rows, double *out)
{
    const fab_status s = need_solver(self);
    return s == FAB_OK ? verb(self->solver, rows, out) : s;
}

static PyObject *of_rows(PyObject *o, PyObject *arg, by_rows *verb, int wide)
{
    gauss *self = (gauss *)o;
    core_array a;
    fab_rows rows;
    double *out;
    fab_status s = FAB_OK;
    if (!core_need(&a, arg, "rows", "df", 2)) return NULL;
    PyObject *room = NULL;
    if (a.view.shape[1] != self->g.D)
        core_refuse(FAB_BAD_DATA, "rows of %lld numbers, and the Gaussian has D = %lld",
                    (long long)a.view.shape[1], (long long)self->g.D);
    else if (core_rows(&a, &rows))
        room = core_matrix(rows.n, wide ? self->g.D : 1, 8, &out);
    if (room) CORE_WORK_BY(self, s, run_rows(self, verb, &rows, out));
    core_drop(&a);
    if (s == FAB_OK) return room;
    Py_XDECREF(room);
    return core_fail(s);
}

static PyObject *log_prob(PyObject *o, PyObject *x)
{
    return of_rows(o, x, fab_solver_logpdf, 0);
}

static PyObject *mahalanobis(PyObject *o, PyObject *x)
{
    return of_rows(o, x, fab_solver_mahalanobis, 0);
}

static PyObject *times_covariance(PyObject *o, PyObject *x)
{
    return of_rows(o, x, fab_solver_times_covariance, 1);
}

static PyObject *times_precision(PyObject *o, PyObject *x)
{
    return of_rows(o, x, fab_solver_times_precision, 1);
}

static fab_status run_scores(gauss *self, fab_rotation_kind kind, int rotate, const fab_rows *rows,
                             double *z)
{
    fab_rotation *r = NULL;
    fab_status s = need_solver(self);
    if (s == FAB_OK && rotate) s = fab_rotation_create(&r, &self->g, kind, 0);
    if (s == FAB_OK) s = fab_solver_scores(self->solver, r, rows, z);
    fab_rotation_free(r);
    return s;
}

static int kind_of(const char *name, fab_rotation_kind *kind)
{
    const fab_status s = name ? fab_rotation_find(name, kind) : FAB_OK;
    if (s != FAB_OK) core_fail(s);
    return s == FAB_OK;
}

/* scores(rows, rotation) */
static PyObject *scores(PyObject *o, PyObject *args)
{
    gauss *self = (gauss *)o;
    PyObject *x;
    const char *name;
    core_array a;
    fab_rows rows;
    fab_rotation_kind kind = FAB_ROTATION_PRINCIPAL;
    double *z;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "Oz", &x, &name) || !kind_of(name, &kind)) return NULL;
    if (!core_need(&a, x, "rows", "df", 2)) return NULL;
    PyObject *room = NULL;
    if (a.view.shape[1] != self->g.D)
        core_refuse(FAB_BAD_DATA, "rows of %lld numbers, and the Gaussian has D = %lld",
                    (long long)a.view.shape[1], (long long)self->g.D);
    else if (core_rows(&a, &rows))
        room = core_matrix(rows.n, self->g.K, 8, &z);
    if (room) CORE_WORK_BY(self, s, run_scores(self, kind, name != NULL, &rows, z));
    core_drop(&a);
    if (s == FAB_OK) return room;
    Py_XDECREF(room);
    return core_fail(s);
}

/* loadings(rotation): D x K */
static PyObject *loadings(PyObject *o, PyObject *args)
{
    gauss *self = (gauss *)o;
    const char *name;
    fab_rotation_kind kind;
    fab_rotation *r;
    double *out;
    if (!PyArg_ParseTuple(args, "s", &name) || !kind_of(name, &kind)) return NULL;
    const fab_status s = fab_rotation_create(&r, &self->g, kind, 0);
    if (s != FAB_OK) return core_fail(s);
    PyObject *room = core_matrix(self->g.D, self->g.K, 8, &out);
    if (room) fab_rotation_factors(r, &self->g, 0, self->g.D, out);
    fab_rotation_free(r);
    return room;
}

typedef fab_status to_numbers(fab_solver *s, double *out);

static fab_status run_numbers(gauss *self, to_numbers *verb, double *out)
{
    const fab_status s = need_solver(self);
    return s == FAB_OK ? verb(self->solver, out) : s;
}

static PyObject *numbers(PyObject *o, to_numbers *verb, int64_t n)
{
    gauss *self = (gauss *)o;
    double *out;
    fab_status s;
    PyObject *room = core_room(n, &out);
    if (!room) return NULL;
    CORE_WORK_BY(self, s, run_numbers(self, verb, out));
    if (s == FAB_OK) return room;
    Py_DECREF(room);
    return core_fail(s);
}

static PyObject *variances(PyObject *o, PyObject *none)
{
    (void)none;
    return numbers(o, fab_solver_variances, ((gauss *)o)->g.D);
}

static PyObject *dense(PyObject *o, PyObject *none)
{
    (void)none;
    const int64_t D = ((gauss *)o)->g.D;
    if (D > FAB_DENSE_MAX)
        return core_refuse(FAB_UNSUPPORTED,
                           "a covariance of %lld x %lld numbers is not formed, %d at most",
                           (long long)D, (long long)D, FAB_DENSE_MAX);
    return numbers(o, fab_solver_dense, D * D);
}

typedef fab_status to_number(const fab_solver *s, double *out);

static fab_status run_number(gauss *self, to_number *verb, double *out)
{
    const fab_status s = need_solver(self);
    return s == FAB_OK ? verb(self->solver, out) : s;
}

static PyObject *number(PyObject *o, to_number *verb)
{
    double out;
    fab_status s;
    CORE_WORK_BY((gauss *)o, s, run_number((gauss *)o, verb, &out));
    return s == FAB_OK ? PyFloat_FromDouble(out) : core_fail(s);
}

static PyObject *entropy(PyObject *o, PyObject *none)
{
    (void)none;
    return number(o, fab_solver_entropy);
}

static PyObject *logdet(PyObject *o, PyObject *none)
{
    (void)none;
    return number(o, fab_solver_logdet);
}

static fab_status run_sample(gauss *self, uint64_t seed, int64_t first, int64_t n, fab_dtype type,
                             void *out, int64_t ld)
{
    const fab_status s = need_solver(self);
    return s == FAB_OK
               ? fab_solver_sample(self->solver, seed, FAB_PURPOSE_SAMPLE, first, n, type, out, ld)
               : s;
}

/* sample(n, seed, first, single) */
static PyObject *sample(PyObject *o, PyObject *args)
{
    gauss *self = (gauss *)o;
    long long n, first;
    uint64_t seed;
    int single;
    if (!PyArg_ParseTuple(args, "LO&Lp", &n, core_seed, &seed, &first, &single)) return NULL;
    if (n < 0 || first < 0)
        return core_refuse(FAB_BAD_ARGUMENT, "n = %lld draws from number %lld: expected 0 or more",
                           n, first);
    const int64_t D = self->g.total ? self->g.total : self->g.D;
    void *out;
    PyObject *room = core_matrix(n, D, single ? 4 : 8, &out);
    fab_status s;
    if (!room) return NULL;
    CORE_WORK_BY(self, s, run_sample(self, seed, first, n, single ? FAB_F32 : FAB_F64, out, D));
    if (s == FAB_OK) return room;
    Py_DECREF(room);
    return core_fail(s);
}

/* ---- other Gaussians ----------------------------------------------------------------------------- */

static PyObject *marginal(PyObject *o, PyObject *arg)
{
    gauss *self = (gauss *)o;
    core_array index;
    fab_gauss *out = NULL;
    fab_status s;
    if (!core_need(&index, arg, "index", "q", 1)) return NULL;
    const fab_exec x = core_exec(0);
    if (!is_contiguous(&index)) {
        core_drop(&index);
        return core_refuse(FAB_BAD_ARGUMENT, "index must be contiguous");
    }
    CORE_WORK(s, fab_gauss_marginal(&out, &self->g, index.view.buf, index.view.shape[0], &x));
    core_drop(&index);
    return give_own(s, out);
}

/* cut(K, tol, max_iter) */
static PyObject *cut(PyObject *o, PyObject *args)
{
    gauss *self = (gauss *)o;
    long long K, most;
    double tol;
    fab_gauss *out = NULL;
    fab_status s;
    if (!PyArg_ParseTuple(args, "LdL", &K, &tol, &most)) return NULL;
    const fab_exec x = core_exec(0);
    CORE_WORK(s, fab_gauss_cut(&out, &self->g, K, tol, most, &x));
    return give_own(s, out);
}

typedef fab_status distance(const fab_gauss *a, const fab_gauss *b, const fab_exec *x, double *out);

static PyObject *distance_to(PyObject *o, PyObject *other, distance *verb)
{
    double out;
    fab_status s;
    const fab_gauss *b = core_gauss_of(other);
    if (!b) return NULL;
    const fab_exec x = core_exec(0);
    CORE_WORK(s, verb(&((gauss *)o)->g, b, &x, &out));
    return s == FAB_OK ? PyFloat_FromDouble(out) : core_fail(s);
}

static PyObject *kl_to(PyObject *o, PyObject *other)
{
    return distance_to(o, other, fab_distance_kl);
}

static PyObject *w2_to(PyObject *o, PyObject *other)
{
    return distance_to(o, other, fab_distance_w2);
}

/* ---- files --------------------------------------------------------------------------------------- */

static PyObject *save(PyObject *o, PyObject *args)
{
    const char *path;
    fab_status s;
    if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
    CORE_WORK(s, fab_gauss_save(path, &((gauss *)o)->g, NULL));
    if (s != FAB_OK) return core_fail(s);
    Py_RETURN_NONE;
}

static PyObject *pack(PyObject *o, PyObject *none)
{
    (void)none;
    const fab_gauss *g = &((gauss *)o)->g;
    const double one = 1;
    const fab_mixture m = {.n = 1, .part = &g, .weight = &one};
    void *bytes = NULL;
    size_t size;
    fab_status s;
    CORE_WORK(s, fab_posterior_pack(&m, NULL, &bytes, &size));
    return core_bytes(s, bytes, size);
}

/* The parts and weights of a posterior, and what it is of: vectors, linear, network, callback or gp. */
static PyObject *parts_of(const fab_posterior *p)
{
    static const char *const kinds[] = {"vectors", "linear", "network", "callback", "gp"};
    PyObject *list = PyList_New(0), *meta = PyDict_New();
    for (int64_t i = 0; list && i < p->mix.n; i++) {
        PyObject *g = core_gauss_wrap(p->mix.part[i]);
        PyObject *one = g ? Py_BuildValue("Nd", g, p->mix.weight[i]) : NULL;
        if (!one || PyList_Append(list, one) != 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    for (int64_t i = 0; meta && i < fab_tensors_meta_count(p->file); i++) {
        const char *key = fab_tensors_meta_key(p->file, i);
        PyObject *text = PyUnicode_FromString(fab_tensors_get(p->file, key));
        if (!text || PyDict_SetItemString(meta, key, text) != 0) Py_CLEAR(meta);
        Py_XDECREF(text);
    }
    if (list && meta) return Py_BuildValue("NNs", list, meta, kinds[fab_file_kind(p->file)]);
    Py_XDECREF(list);
    Py_XDECREF(meta);
    return NULL;
}

/* posterior(path) or posterior_of(bytes) -> [(Gauss, weight)], metadata, kind */
static PyObject *posterior(PyObject *self, PyObject *args)
{
    (void)self;
    const char *path;
    fab_posterior *p = NULL;
    fab_status s;
    if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
    CORE_WORK(s, fab_posterior_load(&p, path));
    PyObject *out = s == FAB_OK ? parts_of(p) : core_fail(s);
    fab_posterior_free(p);
    return out;
}

static PyObject *posterior_of(PyObject *self, PyObject *args)
{
    (void)self;
    const char *bytes;
    Py_ssize_t size;
    fab_posterior *p;
    if (!PyArg_ParseTuple(args, "y#", &bytes, &size)) return NULL;
    const fab_status s = fab_posterior_parse(&p, "bytes", bytes, (size_t)size);
    if (s != FAB_OK) return core_fail(s);
    PyObject *out = parts_of(p);
    fab_posterior_free(p);
    return out;
}

/* write(path, bytes): a file whose bytes are at hand, atomically */
static PyObject *write_bytes(PyObject *self, PyObject *args)
{
    (void)self;
    const char *path, *bytes;
    Py_ssize_t size;
    fab_tensors *t;
    if (!PyArg_ParseTuple(args, "sy#", &path, &bytes, &size)) return NULL;
    fab_status s = fab_tensors_parse(&t, path, bytes, (size_t)size);
    if (s == FAB_OK) CORE_WORK(s, fab_tensors_write(t, path));
    fab_tensors_free(t);
    if (s != FAB_OK) return core_fail(s);
    Py_RETURN_NONE;
}

PyMethodDef core_gauss_functions[] = {
    {"write", write_bytes, METH_VARARGS, "write(path, bytes)"},
    {"posterior", posterior, METH_VARARGS, "posterior(path) -> parts, metadata, kind"},
    {"posterior_of", posterior_of, METH_VARARGS, "posterior_of(bytes) -> parts, metadata, kind"},
    {NULL, NULL, 0, NULL}};

/* ---- the type ------------------------------------------------------------------------------------ */

static PyMethodDef verbs[] = {
    {"arrays", arrays, METH_NOARGS, "mean, factor, diag, theta, index"},
    {"log_prob", log_prob, METH_O, "log density of each row"},
    {"mahalanobis", mahalanobis, METH_O, "squared distance of each row from the mean"},
    {"times_covariance", times_covariance, METH_O, "covariance times each row"},
    {"times_precision", times_precision, METH_O, "precision times each row"},
    {"scores", scores, METH_VARARGS, "factor scores of each row"},
    {"loadings", loadings, METH_VARARGS, "rotated loadings"},
    {"variances", variances, METH_NOARGS, "the marginal variances"},
    {"dense", dense, METH_NOARGS, "the covariance"},
    {"entropy", entropy, METH_NOARGS, "in nats"},
    {"logdet", logdet, METH_NOARGS, "of the covariance"},
    {"sample", sample, METH_VARARGS, "draws, one per row"},
    {"marginal", marginal, METH_O, "the marginal of some coordinates"},
    {"cut", cut, METH_VARARGS, "the nearest of a lower rank"},
    {"kl_to", kl_to, METH_O, "KL(self || other)"},
    {"w2_to", w2_to, METH_O, "2-Wasserstein distance"},
    {"save", save, METH_VARARGS, "to a safetensors file"},
    {"pack", pack, METH_NOARGS, "the bytes of that file"},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef members[] = {{"form", get_form, NULL, "covariance, precision or point", NULL},
                                {"shape", get_shape, NULL, "D, K, type, total", NULL},
                                {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, create},
                              {Py_tp_dealloc, drop},
                              {Py_tp_methods, verbs},
                              {Py_tp_getset, members},
                              {0, NULL}};
PyType_Spec core_gauss_spec = {"fabayes._core.Gauss", sizeof(gauss), 0, Py_TPFLAGS_DEFAULT, slots};
