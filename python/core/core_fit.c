/* core_fit.c - Fit: a fit whose steps or vectors come from Python; Net: a network of the library, to hold it against.
 *
 * A driven fit works on a thread of its own between ask and tell, where Python has no say: nobody watches it, and
 * signals are heard between two steps.  A forked child has no such thread: there it only refuses.
 *
 * SPDX-License-Identifier: MIT */
#include "core.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a network ----------------------------------------------------------------------------------- */

typedef struct net {
    PyObject_HEAD fab_net *net;
    PyThread_type_lock lock;
} net;

static void drop_net(PyObject *o)
{
    net *self = (net *)o;
    PyTypeObject *type = Py_TYPE(o);
    fab_net_free(self->net);
    if (self->lock) PyThread_free_lock(self->lock);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(o);
    Py_DECREF(type);
}

/* Net(layers, features, likelihood, classes, beta, threads): its noise is fixed. */
static PyObject *create_net(PyTypeObject *type, PyObject *args, PyObject *none)
{
    (void)none;
    const char *layers, *likelihood;
    long long features, classes, threads;
    double beta;
    fab_net *made;
    if (!PyArg_ParseTuple(args, "sLsLdL", &layers, &features, &likelihood, &classes, &beta,
                          &threads))
        return NULL;
    fab_net_plan plan = {.layers = layers, .features = features, .classes = classes, .beta = beta};
    const fab_exec x = core_exec(threads);
    fab_status s = fab_likelihood_find(likelihood, &plan.likelihood);
    if (s == FAB_OK) s = fab_net_create(&made, &plan, &x);
    if (s != FAB_OK) return core_fail(s);
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    net *self = (net *)alloc(type, 0);
    if (!self) {
        fab_net_free(made);
        return NULL;
    }
    self->net = made;
    self->lock = PyThread_allocate_lock();
    return (PyObject *)self;
}

static PyObject *net_shape(PyObject *o, void *none)
{
    (void)none;
    const fab_model *m = fab_net_model(((net *)o)->net);
    return Py_BuildValue("LLL", (long long)m->D, (long long)m->head.D, (long long)m->outputs);
}

static PyObject *net_json(PyObject *o, PyObject *none)
{
    (void)none;
    char *text;
    const fab_status s = fab_net_json(((net *)o)->net, &text);
    if (s != FAB_OK) return core_fail(s);
    PyObject *out = PyUnicode_FromString(text);
    fab_text_free(text);
    return out;
}

static PyObject *net_start(PyObject *o, PyObject *args)
{
    const fab_model *m = fab_net_model(((net *)o)->net);
    unsigned long long seed;
    double *theta;
    if (!PyArg_ParseTuple(args, "K", &seed)) return NULL;
    PyObject *room = core_room(m->D, &theta);
    if (room) m->start(m->self, seed, theta);
    return room;
}

/* theta and rows of the network's width; 0 and an exception where they are not. */
static int net_rows(const fab_model *m, core_array *theta, core_array *x, fab_rows *rows,
                    PyObject *of_theta, PyObject *of_x)
{
    memset(x, 0, sizeof *x);
    if (!core_get(theta, of_theta, "theta", "d", 1)) return 0;
    if (!core_get(x, of_x, "rows", "d", 2)) return 0;
    if (!theta->view.obj || theta->view.shape[0] != m->D ||
        !PyBuffer_IsContiguous(&theta->view, 'C') || !x->view.obj || x->view.shape[1] != m->head.D)
        return core_refuse(FAB_BAD_ARGUMENT,
                           "expected a theta of %lld numbers and rows of %lld features",
                           (long long)m->D, (long long)m->head.D) != NULL;
    return core_rows(x, rows);
}

/* predict(theta, rows): n x outputs */
static PyObject *net_predict(PyObject *o, PyObject *args)
{
    net *self = (net *)o;
    const fab_model *m = fab_net_model(self->net);
    PyObject *of_theta, *of_x, *room = NULL;
    core_array theta, x;
    fab_rows rows;
    double *out;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "OO", &of_theta, &of_x)) return NULL;
    if (net_rows(m, &theta, &x, &rows, of_theta, of_x))
        room = core_matrix(rows.n, m->outputs, sizeof *out, &out);
    const int64_t most = m->any_rows || !m->batch ? INT64_MAX : m->batch;
    if (room) {
        Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(self->lock, 1);
        for (int64_t at = 0; s == FAB_OK && at < rows.n; at += most) {
            fab_rows part = rows;
            part.p = (const double *)rows.p + at * rows.ld;
            part.n = rows.n - at < most ? rows.n - at : most;
            s = m->predict(m->self, theta.view.buf, &part, out + at * m->outputs);
            if (most == INT64_MAX) break;
        }
        PyThread_release_lock(self->lock);
        Py_END_ALLOW_THREADS
    }
    core_drop(&theta);
    core_drop(&x);
    if (s == FAB_OK) return room;
    Py_DECREF(room);
    return core_fail(s);
}

/* loss(theta, rows, y) -> average of -log p, gradient */
static PyObject *net_loss(PyObject *o, PyObject *args)
{
    net *self = (net *)o;
    const fab_model *m = fab_net_model(self->net);
    PyObject *of_theta, *of_x, *of_y, *room = NULL;
    core_array theta, x, y = {0};
    fab_examples e = {0};
    double *gradient, loss = 0;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "OOO", &of_theta, &of_x, &of_y)) return NULL;
    if (net_rows(m, &theta, &x, &e.x, of_theta, of_x) && core_get(&y, of_y, "y", "d", 1)) {
        if (!y.view.obj || y.view.shape[0] != e.x.n || !PyBuffer_IsContiguous(&y.view, 'C'))
            core_refuse(FAB_BAD_ARGUMENT, "y: expected %lld numbers", (long long)e.x.n);
        else
            room = core_room(m->D, &gradient);
    }
    if (room) {
        e.y = y.view.buf;
        CORE_WORK_BY(self, s, m->loss(m->self, theta.view.buf, &e, &loss, gradient));
    }
    core_drop(&theta);
    core_drop(&x);
    core_drop(&y);
    if (s == FAB_OK) return room ? Py_BuildValue("dN", loss, room) : NULL;
    Py_DECREF(room);
    return core_fail(s);
}

static PyMethodDef net_verbs[] = {
    {"json", net_json, METH_NOARGS, "its layers, as they stand in a file"},
    {"start", net_start, METH_VARARGS, "start(seed) -> theta"},
    {"predict", net_predict, METH_VARARGS, "predict(theta, rows) -> outputs"},
    {"loss", net_loss, METH_VARARGS, "loss(theta, rows, y) -> average of -log p, its gradient"},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef net_members[] = {{"shape", net_shape, NULL, "D, features, outputs", NULL},
                                    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot net_slots[] = {{Py_tp_new, create_net},
                                  {Py_tp_dealloc, drop_net},
                                  {Py_tp_methods, net_verbs},
                                  {Py_tp_getset, net_members},
                                  {0, NULL}};
PyType_Spec core_net_spec = {"fabayes._core.Net", sizeof(net), 0, Py_TPFLAGS_DEFAULT, net_slots};

/* ---- a fit --------------------------------------------------------------------------------------- */

typedef struct fit {
    PyObject_HEAD fab_fit *f;
    int64_t D, width, outputs; /* of theta; of a row; of the model */
    double *start;             /* D: where a described model begins, or NULL */
    PyObject *net;             /* the network that is fitted, or NULL */
    core_array x, y, w, o;     /* what the library borrows until it is freed */
    fab_question q;            /* the one that waits, if `asked` */
    int asked, driven, vectors;
    pid_t process; /* that made it */
    PyThread_type_lock lock;
} fit;

static void drop_fit(PyObject *o)
{
    fit *self = (fit *)o;
    PyTypeObject *type = Py_TYPE(o);
    if (!self->driven || self->process == getpid()) fab_fit_free(self->f);
    core_drop(&self->x);
    core_drop(&self->y);
    core_drop(&self->w);
    core_drop(&self->o);
    Py_XDECREF(self->net);
    free(self->start);
    if (self->lock) PyThread_free_lock(self->lock);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(o);
    Py_DECREF(type);
}

static fit *make_fit(void)
{
    PyTypeObject *type = (PyTypeObject *)core_of_module()->fit;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    fit *self = (fit *)alloc(type, 0);
    if (!self) return NULL;
    self->process = getpid();
    self->lock = PyThread_allocate_lock();
    return self;
}

/* A driven fit belongs to the process that made it. */
static int is_here(const fit *self)
{
    if (!self->driven || self->process == getpid()) return 1;
    core_refuse(FAB_UNSUPPORTED,
                "a fit that is driven step by step does not work in a forked child; pack it before "
                "and go on from the bytes");
    return 0;
}

/* What is to be fitted: a description, with the rows there are where it is driven. */
typedef struct input {
    fab_input in;
    fab_model model;
    fab_glm glm;
    fab_exec exec;
    core_array centroids; /* G x D: where clusters begin */
    struct points *start; /* of them */
} input;

/* Centroids as a mixture of points; malloc. */
typedef struct points {
    fab_mixture mixture;
    fab_gauss *all;
    const fab_gauss **part;
    double *weight;
} points;

static void drop_points(points *p)
{
    if (!p) return;
    free(p->all);
    free(p->part);
    free(p->weight);
    free(p);
}

/* Borrows the array; NULL with an exception. */
static points *points_of(const core_array *a)
{
    const int64_t G = a->view.shape[0], D = a->view.shape[1];
    points *p = calloc(1, sizeof *p);
    if (p) {
        p->all = calloc((size_t)G + 1, sizeof *p->all);
        p->part = calloc((size_t)G + 1, sizeof *p->part);
        p->weight = calloc((size_t)G + 1, sizeof *p->weight);
    }
    if (!p || !p->all || !p->part || !p->weight) {
        drop_points(p);
        PyErr_NoMemory();
        return NULL;
    }
    for (int64_t k = 0; k < G; k++) {
        p->all[k] = (fab_gauss){.form = FAB_FORM_POINT, .D = D};
        p->all[k].mu = (double *)a->view.buf + k * D;
        p->part[k] = &p->all[k];
        p->weight[k] = 1 / (double)G;
    }
    p->mixture = (fab_mixture){G, p->part, p->weight};
    return p;
}

static void drop_input(input *t)
{
    drop_points(t->start);
    core_drop(&t->centroids);
}

static int64_t whole(PyObject *about, const char *key, int64_t otherwise)
{
    PyObject *o = PyDict_GetItemString(about, key);
    return o && o != Py_None ? PyLong_AsLongLong(o) : otherwise;
}

static void start_there(void *self, uint64_t seed, double *theta)
{
    const fit *f = self;
    (void)seed;
    memcpy(theta, f->start, (size_t)f->D * sizeof *theta);
}

static int read_start(fit *self, PyObject *o)
{
    core_array a;
    if (!o || o == Py_None) return 1;
    if (!core_get(&a, o, "start", "d", 1)) return 0;
    const int fits = a.view.shape[0] == self->D && PyBuffer_IsContiguous(&a.view, 'C');
    if (fits) self->start = malloc((size_t)self->D * sizeof *self->start);
    if (self->start) memcpy(self->start, a.view.buf, (size_t)self->D * sizeof *self->start);
    core_drop(&a);
    if (!fits)
        return core_refuse(FAB_BAD_ARGUMENT, "start: expected %lld numbers", (long long)self->D) !=
               NULL;
    return self->start || PyErr_NoMemory() != NULL;
}

static int read_numbers(core_array *a, const double **p, PyObject *about, const char *key,
                        int64_t n)
{
    if (!core_get(a, PyDict_GetItemString(about, key), key, "d", 1)) return 0;
    if (!a->view.obj) return 1;
    *p = a->view.buf;
    if (a->view.shape[0] == n && PyBuffer_IsContiguous(&a->view, 'C')) return 1;
    return core_refuse(FAB_BAD_ARGUMENT, "%s: expected %lld numbers, one behind the other", key,
                       (long long)n) != NULL;
}

static int read_centroids(input *t, PyObject *o)
{
    if (!o || o == Py_None) return 1;
    if (!core_get(&t->centroids, o, "centroids", "d", 2)) return 0;
    if (!PyBuffer_IsContiguous(&t->centroids.view, 'C'))
        return core_refuse(FAB_BAD_ARGUMENT, "centroids: expected rows one behind the other") !=
               NULL;
    t->start = points_of(&t->centroids);
    if (t->start) t->in.start = &t->start->mixture;
    return t->start != NULL;
}

/* vectors, with centroids where clusters begin, or a model: D, outputs, likelihood, features, classes, beta, batch, start; `linear` with intercept; `net`.
 * Driven: rows, and y, weight, offset where outputs are asked for.  prior: a Gauss.  single: arrays in f32.  device: whose
 * kernels. */
static int read_input(fit *self, input *t, PyObject *about, int64_t threads)
{
    const char *likelihood = NULL;
    PyObject *prior = PyDict_GetItemString(about, "prior");
    PyObject *beta = PyDict_GetItemString(about, "beta");
    PyObject *given = PyDict_GetItemString(about, "net");
    const fab_dtype type = whole(about, "single", 0) ? FAB_F32 : FAB_F64;
    *t = (input){.in = {.vectors = whole(about, "vectors", 0), .rows = whole(about, "rows", 0)}};
    self->driven = t->in.rows != 0;
    t->exec = self->driven ? (fab_exec){.threads = threads} : core_exec(threads);
    if (type == FAB_F32) t->exec.ops = fab_ops_find("cpu", FAB_F32);
    const char *device = NULL;
    if (!core_text(PyDict_GetItemString(about, "device"), "device", &device)) return 0;
    if (device) {
        const fab_status s = fab_ops_open(&t->exec.ops, device, type);
        if (s != FAB_OK) return core_fail(s) != NULL;
    }
    self->D = self->width = t->in.vectors;
    self->vectors = t->in.vectors != 0;
    if (PyErr_Occurred()) return 0;
    if (self->vectors) return read_centroids(t, PyDict_GetItemString(about, "centroids"));

    if (!core_text(PyDict_GetItemString(about, "likelihood"), "likelihood", &likelihood)) return 0;
    fab_glm *g = &t->glm;
    g->D = whole(about, "features", 1);
    g->classes = whole(about, "classes", 1);
    g->intercept = whole(about, "intercept", 1);
    g->beta = beta && beta != Py_None ? PyFloat_AsDouble(beta) : 1;
    const fab_status s = likelihood ? fab_likelihood_find(likelihood, &g->likelihood) : FAB_OK;
    if (s != FAB_OK) return core_fail(s) != NULL;
    t->in.model = &t->model;
    if (given && given != Py_None) {
        if (!PyObject_TypeCheck(given, (PyTypeObject *)core_of_module()->net))
            return core_refuse(FAB_BAD_ARGUMENT, "net: expected a Net") != NULL;
        self->net = Py_NewRef(given);
        t->model = *fab_net_model(((net *)given)->net);
    } else if (whole(about, "linear", 0)) {
        t->model = fab_model_linear(g);
    } else {
        t->model = (fab_model){.D = whole(about, "D", 0),
                               .head = *g,
                               .outputs = whole(about, "outputs", 1),
                               .batch = whole(about, "batch", FAB_NET_BATCH),
                               .type = type,
                               .self = self};
        t->model.head.intercept = 0;
    }
    self->D = t->model.D;
    self->width = t->model.head.D;
    self->outputs = t->model.outputs;
    if (PyErr_Occurred() || !read_start(self, PyDict_GetItemString(about, "start"))) return 0;
    if (self->start && !self->net) t->model.start = start_there;
    if (prior && prior != Py_None && !(t->in.prior = core_gauss_of(prior))) return 0;
    return read_numbers(&self->y, &t->in.y, about, "y", t->in.rows) &&
           read_numbers(&self->w, &t->in.weight, about, "weight", t->in.rows) &&
           read_numbers(&self->o, &t->in.offset, about, "offset", t->in.rows);
}

/* The method of that name for such an input. */
static const fab_method *method_of(const char *name, const input *t)
{
    const fab_method *m = fab_method_find(name);
    if (m && t->in.vectors) return fab_method_of_vectors(m);
    return m && !t->model.glm ? fab_method_of_networks(m) : m;
}

/* fit_of(method, settings, about, threads) */
static PyObject *create_fit(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    PyObject *dict, *about;
    long long threads;
    input t;
    void *settings = NULL;
    fab_status s;
    if (!PyArg_ParseTuple(args, "sO!O!L", &name, &PyDict_Type, &dict, &PyDict_Type, &about,
                          &threads))
        return NULL;
    fit *self = make_fit();
    if (!self) return NULL;
    if (!read_input(self, &t, about, threads)) {
        drop_input(&t);
        Py_DECREF(self);
        return NULL;
    }
    const fab_method *m = method_of(name, &t);
    if (m && !core_settings(m, dict, &settings)) {
        drop_input(&t);
        Py_DECREF(self);
        return NULL;
    }
    const size_t size = m ? fab_method_fields(m)->size : 0;
    CORE_WORK(s, fab_fit_create(&self->f, name, settings, size, &t.in, &t.exec));
    free(settings);
    drop_input(&t);
    if (s == FAB_OK) return (PyObject *)self;
    core_fail(s);
    Py_DECREF(self);
    return NULL;
}

/* fit_from(name, bytes, about, threads): to go on */
static PyObject *load_fit(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name, *bytes;
    Py_ssize_t n;
    PyObject *about;
    long long threads;
    input t;
    fab_tensors *file;
    if (!PyArg_ParseTuple(args, "sy#O!L", &name, &bytes, &n, &PyDict_Type, &about, &threads))
        return NULL;
    fit *self = make_fit();
    if (!self) return NULL;
    if (!read_input(self, &t, about, threads)) {
        drop_input(&t);
        Py_DECREF(self);
        return NULL;
    }
    fab_status s = fab_tensors_parse(&file, name, bytes, (size_t)n);
    if (s == FAB_OK) CORE_WORK(s, fab_fit_load(&self->f, file, &t.in, &t.exec));
    fab_tensors_free(file);
    drop_input(&t);
    if (s == FAB_OK) return (PyObject *)self;
    core_fail(s);
    Py_DECREF(self);
    return NULL;
}

/* nearest_mean(centroids, rows, threads) -> the nearest of each row, n of 8 bytes; squared distances, n */
static PyObject *nearest_mean(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *of_c, *of_x, *labels = NULL, *squares = NULL;
    long long threads;
    core_array c, x = {.type = FAB_F64};
    fab_rows rows;
    int64_t *label;
    double *square;
    points *p = NULL;
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "OOL", &of_c, &of_x, &threads)) return NULL;
    if (!core_get(&c, of_c, "centroids", "d", 2)) return NULL;
    if (c.view.obj && PyBuffer_IsContiguous(&c.view, 'C') && core_get(&x, of_x, "rows", "df", 2) &&
        x.view.obj && core_rows(&x, &rows)) {
        if (x.view.shape[1] != c.view.shape[1])
            core_refuse(FAB_BAD_DATA, "rows of %lld numbers, expected %lld",
                        (long long)x.view.shape[1], (long long)c.view.shape[1]);
        else if ((p = points_of(&c)) && (labels = core_room(rows.n, &label)))
            squares = core_room(rows.n, &square);
        const fab_exec exec = core_exec(threads);
        if (squares) CORE_WORK(s, fab_mixture_nearest(&p->mixture, &rows, &exec, label, square));
    }
    drop_points(p);
    core_drop(&c);
    core_drop(&x);
    if (s != FAB_OK) core_fail(s);
    if (squares && s == FAB_OK) return Py_BuildValue("NN", labels, squares);
    Py_XDECREF(labels);
    Py_XDECREF(squares);
    if (!PyErr_Occurred()) core_refuse(FAB_BAD_ARGUMENT, "expected centroids and rows");
    return NULL;
}

PyMethodDef core_fit_functions[] = {
    {"nearest_mean", nearest_mean, METH_VARARGS,
     "nearest_mean(centroids, rows, threads) -> labels, squared distances"},
    {"fit_of", create_fit, METH_VARARGS, "fit_of(method, settings, about, threads) -> Fit"},
    {"fit_from", load_fit, METH_VARARGS, "fit_from(name, bytes, about, threads) -> Fit"},
    {NULL, NULL, 0, NULL}};

/* ---- steps from outside -------------------------------------------------------------------------- */

/* One behind the other, D of them, f64 or f32, to be written. */
static int get_room(Py_buffer *v, PyObject *o, int64_t D, int *single)
{
    if (PyObject_GetBuffer(o, v, PyBUF_WRITABLE | PyBUF_ND | PyBUF_FORMAT) != 0) return 0;
    const int of_f64 = v->format && strcmp(v->format, "d") == 0;
    *single = v->format && strcmp(v->format, "f") == 0;
    if ((of_f64 || *single) && v->ndim == 1 && v->shape[0] == D) return 1;
    core_refuse(FAB_BAD_ARGUMENT, "theta: expected room for %lld numbers in f64 or f32",
                (long long)D);
    PyBuffer_Release(v);
    return 0;
}

static fab_status ask_for(fit *self, void *theta, int single, int *done)
{
    const fab_status s = fab_fit_ask(self->f, &self->q, done);
    self->asked = s == FAB_OK && !*done;
    if (!self->asked || self->q.there || !theta) return s;
    const double *from = self->q.theta;
    if (!single) memcpy(theta, from, (size_t)self->D * sizeof *from);
    for (int64_t i = 0; single && i < self->D; i++) ((float *)theta)[i] = (float)from[i];
    return s;
}

/* ask(theta) -> None at the end, or draw, rows, wanted, y; theta is filled, where it is not None and not on a device */
static PyObject *ask(PyObject *o, PyObject *theta)
{
    fit *self = (fit *)o;
    Py_buffer room = {0};
    int single = 0, done = 0;
    fab_status s;
    if (!is_here(self)) return NULL;
    if (theta != Py_None && !get_room(&room, theta, self->D, &single)) return NULL;
    CORE_WORK_BY(self, s, ask_for(self, room.buf, single, &done));
    if (theta != Py_None) PyBuffer_Release(&room);
    if (s != FAB_OK) return core_fail(s);
    if (done) Py_RETURN_NONE;
    const fab_question *q = &self->q;
    const int wanted = (q->gradient ? 1 : 0) + (q->examples ? 2 : 0) + (q->outputs ? 4 : 0) +
                       (q->jacobian ? 8 : 0) + (q->loss ? 16 : 0);
    PyObject *y = q->y ? core_copy(q->y, q->n, 8) : Py_NewRef(Py_None);
    return Py_BuildValue("LNiN", (long long)q->draw, core_copy(q->row, q->n, 8), wanted, y);
}

/* What array libraries of a card know it by: D numbers at an address there, ready for their default stream. */
static PyObject *interface_of(unsigned long long address, int64_t D, fab_dtype type)
{
    return Py_BuildValue("{s:(L),s:s,s:(KO),s:O,s:i,s:i}", "shape", (long long)D, "typestr",
                         type == FAB_F32 ? "<f4" : "<f8", "data", address, Py_False, "strides",
                         Py_None, "version", 3, "stream", 1);
}

/* there: that of theta of the question that waits, or None where it is on the host */
static PyObject *fit_there(PyObject *o, void *none)
{
    const fit *self = (const fit *)o;
    (void)none;
    if (!self->asked || !self->q.there) Py_RETURN_NONE;
    return interface_of((unsigned long long)(uintptr_t)self->q.there, self->D, self->q.there_type);
}

/* The address of D numbers one behind the other on a card; 0 and an exception where there are none. */
static uintptr_t address_of(PyObject *known, int64_t D, fab_dtype *type)
{
    PyObject *shape = PyDict_GetItemString(known, "shape"),
             *data = PyDict_GetItemString(known, "data"),
             *strides = PyDict_GetItemString(known, "strides");
    const char *typestr = NULL;
    long long n = -1, stride = 0;
    unsigned long long address = 0;
    PyObject *flag;
    if (!core_text(PyDict_GetItemString(known, "typestr"), "typestr", &typestr)) return 0;
    const int f32 = typestr && strcmp(typestr, "<f4") == 0;
    const int whole_vector = shape && data && PyTuple_Check(shape) && PyTuple_Check(data) &&
                             PyArg_ParseTuple(shape, "L", &n) &&
                             PyArg_ParseTuple(data, "KO", &address, &flag);
    if (!whole_vector) PyErr_Clear();
    if (strides && strides != Py_None && !PyArg_ParseTuple(strides, "L", &stride)) PyErr_Clear();
    *type = f32 ? FAB_F32 : FAB_F64;
    if (whole_vector && n == D && (f32 || (typestr && strcmp(typestr, "<f8") == 0)) &&
        (stride == 0 || stride == (f32 ? 4 : 8)))
        return (uintptr_t)address;
    core_refuse(FAB_BAD_ARGUMENT,
                "gradient: expected %lld numbers on the card, f32 or f64, one behind the other",
                (long long)D);
    return 0;
}

/* tell(loss, gradient) where the gradient is on a card. */
static PyObject *tell_there(fit *self, double loss, PyObject *known)
{
    fab_answer a = {.loss = loss, .there = 1};
    fab_status s;
    if (!PyDict_Check(known))
        return core_refuse(FAB_BAD_ARGUMENT, "__cuda_array_interface__ is no dictionary");
    a.gradient = (const void *)address_of(known, self->D, &a.type);
    if (!a.gradient) return NULL;
    CORE_WORK_BY(self, s, fab_fit_tell(self->f, &a));
    if (s != FAB_OK) return core_fail(s);
    self->asked = 0;
    Py_RETURN_NONE;
}

/* n numbers of an answer, one behind the other. */
static int get_part(core_array *a, PyObject *o, const char *what, const char *kinds, int ndim,
                    int64_t n)
{
    if (!core_get(a, o, what, kinds, ndim)) return 0;
    if (!a->view.obj) return 1;
    const int64_t has = a->view.len / a->view.itemsize;
    if (PyBuffer_IsContiguous(&a->view, 'C') && has == n) return 1;
    return core_refuse(FAB_BAD_ARGUMENT, "%s: %lld numbers, expected %lld one behind the other",
                       what, (long long)has, (long long)n) != NULL;
}

/* tell(loss, gradient, examples, outputs, jacobian); all but outputs (f64) of one type */
static PyObject *tell(PyObject *o, PyObject *args)
{
    enum { GRADIENT, EXAMPLES, OUTPUTS, JACOBIAN, PARTS };
    fit *self = (fit *)o;
    PyObject *of[PARTS] = {NULL};
    core_array part[PARTS];
    fab_answer a = {.type = FAB_F64};
    fab_status s = FAB_OK;
    if (!PyArg_ParseTuple(args, "d|OOOO", &a.loss, &of[GRADIENT], &of[EXAMPLES], &of[OUTPUTS],
                          &of[JACOBIAN]))
        return NULL;
    if (!is_here(self)) return NULL;
    if (!self->asked) return core_refuse(FAB_BAD_ARGUMENT, "nothing was asked");
    if (of[GRADIENT] && of[GRADIENT] != Py_None) {
        PyObject *known = PyObject_GetAttrString(of[GRADIENT], "__cuda_array_interface__");
        if (known) {
            PyObject *told = tell_there(self, a.loss, known);
            Py_DECREF(known);
            return told;
        }
        PyErr_Clear();
    }
    const int64_t n = self->q.n, D = self->D, C = self->outputs;
    memset(part, 0, sizeof part);
    if (get_part(&part[GRADIENT], of[GRADIENT], "gradient", "df", 1, D) &&
        get_part(&part[EXAMPLES], of[EXAMPLES], "examples", "df", 2, n * D) &&
        get_part(&part[OUTPUTS], of[OUTPUTS], "outputs", "d", 2, n * C) &&
        get_part(&part[JACOBIAN], of[JACOBIAN], "jacobian", "df", 2, n * C * D)) {
        a.gradient = part[GRADIENT].view.buf;
        a.examples = part[EXAMPLES].view.buf;
        a.outputs = part[OUTPUTS].view.buf;
        a.jacobian = part[JACOBIAN].view.buf;
        const core_array *of_type = a.gradient   ? &part[GRADIENT]
                                    : a.examples ? &part[EXAMPLES]
                                                 : &part[JACOBIAN];
        if (of_type->view.obj) a.type = of_type->type;
        for (int i = 0; i < PARTS; i++)
            if (i != OUTPUTS && part[i].view.obj && part[i].type != a.type)
                core_refuse(FAB_BAD_ARGUMENT, "gradients of two types in one answer");
        if (!PyErr_Occurred()) CORE_WORK_BY(self, s, fab_fit_tell(self->f, &a));
        if (!PyErr_Occurred() && s == FAB_OK) self->asked = 0;
    }
    for (int i = 0; i < PARTS; i++) core_drop(&part[i]);
    if (s != FAB_OK) return core_fail(s);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static PyObject *withdraw(PyObject *o, PyObject *none)
{
    (void)none;
    fit *self = (fit *)o;
    fab_status s;
    if (!is_here(self)) return NULL;
    CORE_WORK_BY(self, s, fab_fit_withdraw(self->f));
    if (s != FAB_OK) return core_fail(s);
    self->asked = 0;
    Py_RETURN_NONE;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* update(rows, y, weight): vectors, or rows of a model with their targets.  A batch method borrows them. */
static PyObject *update(PyObject *o, PyObject *args)
{
    fit *self = (fit *)o;
    PyObject *of_x, *of_y = NULL, *of_w = NULL;
    core_array x, y = {.type = FAB_F64}, w = {.type = FAB_F64};
    fab_examples e = {0};
    fab_status s = FAB_OK;
    int taken = 0;
    if (!PyArg_ParseTuple(args, "O|OO", &of_x, &of_y, &of_w)) return NULL;
    if (!is_here(self)) return NULL;
    if (!core_get(&x, of_x, "rows", "df", 2)) return NULL;
    if (x.view.obj && core_rows(&x, &e.x) && get_part(&y, of_y, "y", "d", 1, e.x.n) &&
        get_part(&w, of_w, "weight", "d", 1, e.x.n)) {
        const int64_t width = self->width;
        if (x.view.shape[1] != width)
            core_refuse(FAB_BAD_DATA, "rows of %lld numbers, expected %lld",
                        (long long)x.view.shape[1], (long long)width);
        else if (!self->vectors && !y.view.obj)
            core_refuse(FAB_BAD_ARGUMENT, "y: a model needs the targets of its rows");
        else {
            e.y = y.view.buf;
            e.weight = w.view.buf;
            CORE_WORK_BY(self, s, fab_fit_update(self->f, &e));
            taken = s == FAB_OK;
        }
    }
    if (taken && !fab_method_streams(fab_fit_method(self->f))) {
        core_drop(&self->x);
        core_drop(&self->y);
        core_drop(&self->w);
        self->x = x, self->y = y, self->w = w;
    } else {
        core_drop(&x);
        core_drop(&y);
        core_drop(&w);
    }
    if (s != FAB_OK) return core_fail(s);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

/* ---- what there is ------------------------------------------------------------------------------- */

static PyObject *fit_gauss(PyObject *o, PyObject *none)
{
    (void)none;
    fit *self = (fit *)o;
    const fab_gauss *q;
    fab_status s;
    if (!is_here(self)) return NULL;
    CORE_WORK_BY(self, s, fab_fit_gauss(self->f, &q));
    return s == FAB_OK ? core_gauss_wrap(q) : core_fail(s);
}

static PyObject *fit_report(PyObject *o, PyObject *none)
{
    (void)none;
    fit *self = (fit *)o;
    fab_report r;
    fab_status s;
    if (!is_here(self)) return NULL;
    CORE_WORK_BY(self, s, fab_fit_report(self->f, &r));
    if (s != FAB_OK) return core_fail(s);
    return Py_BuildValue("{sL sL sL sL sd sd sd sd sd sd sL}", "rows", (long long)r.n, "iterations",
                         (long long)r.iterations, "converged", (long long)r.converged, "floored",
                         (long long)r.floored, "alpha", r.alpha, "beta", r.beta, "log_evidence",
                         r.log_evidence, "loss", r.loss, "loglik_mean", r.loglik_mean, "cost",
                         r.cost, "moved", (long long)r.moved);
}

/* The settings in force, as texts. */
static PyObject *fit_settings(PyObject *o, PyObject *none)
{
    (void)none;
    const fit *self = (const fit *)o;
    const fab_fields *t = fab_method_fields(fab_fit_method(self->f));
    PyObject *dict = PyDict_New();
    for (int64_t i = 0; dict && i < t->n; i++) {
        char text[64];
        fab_settings_print(&t->field[i], fab_fit_settings(self->f), text, sizeof text);
        PyObject *value = PyUnicode_FromString(text);
        if (!value || PyDict_SetItemString(dict, t->field[i].name, value) != 0) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *fit_shape(PyObject *o, void *none)
{
    (void)none;
    const fit *self = (const fit *)o;
    return Py_BuildValue("sLL", fab_method_name(fab_fit_method(self->f)), (long long)self->D,
                         (long long)fab_fit_rows(self->f));
}

/* A dict of texts as metadata of a file. */
static int read_more(fab_tensors **t, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    fab_status s = fab_tensors_create(t);
    while (s == FAB_OK && PyDict_Next(dict, &at, &key, &value)) {
        const char *name, *text;
        if (!core_text(key, "metadata", &name) || !core_text(value, "metadata", &text)) break;
        s = fab_tensors_set(*t, name, text);
    }
    if (s == FAB_OK && !PyErr_Occurred()) return 1;
    fab_tensors_free(*t);
    return core_fail(s) != NULL;
}

/* pack(unfinished, metadata) -> the bytes of the file */
static PyObject *fit_pack(PyObject *o, PyObject *args)
{
    fit *self = (fit *)o;
    PyObject *dict;
    fab_tensors *more;
    int unfinished;
    void *bytes = NULL;
    size_t size = 0;
    fab_status s;
    if (!PyArg_ParseTuple(args, "pO!", &unfinished, &PyDict_Type, &dict)) return NULL;
    if (!is_here(self) || !read_more(&more, dict)) return NULL;
    CORE_WORK_BY(self, s, fab_fit_pack(self->f, unfinished, more, &bytes, &size));
    fab_tensors_free(more);
    return core_bytes(s, bytes, size);
}

/* save(path, unfinished, metadata) */
static PyObject *fit_save(PyObject *o, PyObject *args)
{
    fit *self = (fit *)o;
    const char *path;
    PyObject *dict;
    fab_tensors *more;
    int unfinished;
    fab_status s;
    if (!PyArg_ParseTuple(args, "spO!", &path, &unfinished, &PyDict_Type, &dict)) return NULL;
    if (!is_here(self) || !read_more(&more, dict)) return NULL;
    if (unfinished)
        CORE_WORK_BY(self, s, fab_fit_checkpoint(self->f, path, more));
    else
        CORE_WORK_BY(self, s, fab_fit_save(self->f, path, more));
    fab_tensors_free(more);
    if (s != FAB_OK) return core_fail(s);
    Py_RETURN_NONE;
}

static PyMethodDef fit_verbs[] = {
    {"ask", ask, METH_O, "ask(theta) -> None at the end, or draw, rows, wanted, y"},
    {"tell", tell, METH_VARARGS, "tell(loss, gradient, examples, outputs, jacobian)"},
    {"withdraw", withdraw, METH_NOARGS, "the question that waits"},
    {"update", update, METH_VARARGS, "update(rows, y, weight)"},
    {"gauss", fit_gauss, METH_NOARGS, "the posterior"},
    {"report", fit_report, METH_NOARGS, "what happened"},
    {"settings", fit_settings, METH_NOARGS, "those in force, as texts"},
    {"pack", fit_pack, METH_VARARGS, "pack(unfinished, metadata) -> bytes"},
    {"save", fit_save, METH_VARARGS, "save(path, unfinished, metadata)"},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef fit_members[] = {{"shape", fit_shape, NULL, "method, D, rows taken", NULL},
                                    {"there", fit_there, NULL, "theta on a card", NULL},
                                    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot fit_slots[] = {
    {Py_tp_dealloc, drop_fit}, {Py_tp_methods, fit_verbs}, {Py_tp_getset, fit_members}, {0, NULL}};
PyType_Spec core_fit_spec = {"fabayes._core.Fit", sizeof(fit), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, fit_slots};
