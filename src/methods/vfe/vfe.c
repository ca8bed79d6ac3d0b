/* vfe.c - sparse Gaussian processes of numbers: the methods vfe, dtc and fitc.
 *
 * y_i = f(x_i) + offset_i + noise of variance s^2 / w_i, f a process with mean 0 and covariance k, known through its values at m
 * inducing inputs Z (bound.c has the three objectives):
 *
 *   1  parameters of the kernel and s^2 where the exact evidence of search_rows rows, drawn at random, is largest
 *      (train/evidence.h); those that the kernel's text or beta gives stay
 *   2  Z = rows by pivoted Cholesky (kernel/features.c), of at most LANDMARK_ROWS drawn at random: m, or as many as are no
 *      rounding of those before
 *   3  s^2 alone where the objective of all rows is largest, as the noise of few rows has no place for what Z leaves of the others: beside
 *      it the bound is so low that a first step may end anywhere.  fitc has that place in d and begins as it is
 *   4  parameters and s^2 by L-BFGS, `steps` evaluations at most; with `optimise`, Z too, by `steps` of Adam at a rate that falls from RATE
 *      to 0, in units of a column's standard deviation: the best of them.  L-BFGS needs several times the steps there, as coordinates of Z
 *      are curved a hundred times less than parameters
 *   5  the posterior of v = L^-1 f(Z), Kzz = L L', from sums over all rows
 *   6  more rows: their terms of the sums; parameters and Z stay.  The value is then that of all rows
 *
 * The result is q(v), in the form of its precision; parameters, Z and the sums stand beside it.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/vfe/vfe.h"
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/settings.h"
#include "fit/method.h"
#include "kernel/features.h"
#include "la/small.h"
#include "methods/vfe/bound.h"
#include "methods/vfe/climb.h"
#include "model/kernel.h"
#include "model/likelihoods/likelihood.h"
#include "train/evidence.h"
#include "train/optim.h"
#include "train/state.h"
#include <math.h>
#include <string.h>

#define RATE 0.2 /* of Adam */
#define PI   3.14159265358979323846
enum { LANDMARK_ROWS = 8192, ORDER = 3 /* stream of the order of rows */ };

typedef struct vfe {
    fab_vfe_settings s;
    fab_bound_kind kind;
    const char *name;
    fab_glm m;
    const fab_kernel *kernel; /* the model's, borrowed */
    fab_exec exec;            /* its progress is `hear` */
    fab_watch watch;
    struct { /* of the search, while there is one: what bounds and processes tell is a part of it */
        int64_t done, total;
    } told;
    int64_t n;
    double *X, *y,
        *weight;      /* n x D, n, n: until the search is over; weight 1 where there is none */
    double *theta;    /* found, of the kernel and the noise's precision; NULL: not yet */
    fab_bound *bound; /* NULL: none yet */
    fab_process *p;   /* NULL: none of the bound as it stands */
    fab_vfe_search search;
    fab_gauss *q;
    fab_report report;
} vfe;

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_vfe_settings
static const fab_field fields[] = {
    AUTOMATIC(beta, F64, 1e-300, 1e300,
              "precision of the noise; auto: where the objective is largest"),
    FIELD(seed, I64, 1, 0, 0x1p53,
          "seed of the rows that the search begins with, and of the starts"),
    FIELD(inducing, I64, 500, 1, 20000, "inducing inputs; fewer where rows are too much alike"),
    SWITCH(optimise, 0, "move the inducing inputs, too; better with steps=200"),
    FIELD(steps, I64, 50, 0, 1e6, "evaluations of the objective on all rows, about; 0: none"),
    AUTOMATIC(starts, I64, 1, 1000, "searches of the first rows; auto: as many as gp has"),
    FIELD(search_rows, I64, 1000, 1, 20000,
          "rows whose exact evidence says where the search begins, at most"),
    FIELD(tol, F64, 1e-9, 0, 1, "relative change of the objective at which a search ends"),
};
static const fab_fields table_vfe = TABLE("vfe", fields);
static const fab_fields table_dtc = TABLE("dtc", fields);
static const fab_fields table_fitc = TABLE("fitc", fields);
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
#undef SETTINGS

/* ---- who watches -------------------------------------------------------------------------------------- */

static int hear(void *ctx, const char *what, int64_t done, int64_t total)
{
    vfe *f = ctx;
    if (strcmp(what, "evidence") == 0) {
        f->told.done = done;
        f->told.total = total;
    }
    if (f->told.total == 0) return fab_watch_tick(&f->watch, what, done, total) != FAB_OK;
    return fab_watch_tick(&f->watch, "evidence", f->told.done, f->told.total) != FAB_OK;
}

/* ---- life --------------------------------------------------------------------------------------------- */

static fab_status refuse_likelihood(const vfe *f, const fab_likelihood_row *row)
{
    if (row->normal && f->m.nu == 0) return FAB_OK;
    if (row->normal)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: nu = %g: noise of Student's t is not offered",
                        f->name, f->m.nu);
    return FAB_FAIL(FAB_UNSUPPORTED,
                    "%s: a %s target is not offered: gp takes it up to its exact_limit, and "
                    "--model nystrom:%s:500 with laplace or lrvga any number of rows",
                    f->name, row->name, fab_kernel_text(f->kernel));
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x,
                       fab_bound_kind kind, const char *name)
{
    vfe *f;
    *handle = NULL;
    const vfe proto = {.s = *(const fab_vfe_settings *)settings,
                       .kind = kind,
                       .name = name,
                       .m = in->model->head,
                       .kernel = in->model->kernel,
                       .watch = fab_watch_of(x)};
    FAB_TRY(refuse_likelihood(&proto, fab_likelihood_row_of(proto.m.likelihood)));
    if (in->prior)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: a prior over the parameters of a kernel is not offered", name);
    FAB_TRY(fab_check_alone(name, x));
    FAB_TRY(fab_alloc_array((void **)&f, 1, sizeof *f, name));
    *f = proto;
    if (x) f->exec = *x;
    f->exec.progress = hear;
    f->exec.progress_ctx = f;
    *handle = f;
    return FAB_OK;
}

static fab_status init_vfe(void **handle, const void *s, const fab_input *in, const fab_exec *x)
{
    return init(handle, s, in, x, FAB_BOUND_VFE, "vfe");
}

static fab_status init_dtc(void **handle, const void *s, const fab_input *in, const fab_exec *x)
{
    return init(handle, s, in, x, FAB_BOUND_DTC, "dtc");
}

static fab_status init_fitc(void **handle, const void *s, const fab_input *in, const fab_exec *x)
{
    return init(handle, s, in, x, FAB_BOUND_FITC, "fitc");
}

static void drop_rows(vfe *f)
{
    fab_release(f->X);
    fab_release(f->y);
    fab_release(f->weight);
    f->X = f->y = f->weight = NULL;
}

static void release(void *handle)
{
    vfe *f = handle;
    if (!f) return;
    drop_rows(f);
    fab_process_free(f->p);
    fab_bound_free(f->bound);
    fab_gauss_free(f->q);
    fab_release(f->theta);
    fab_release(f);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rows, those of the search, landmarks and bound. */
static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    enum { SQUARES = 12, BLOCKS = 4096, PANEL = 256, CORES = 16 };
    const fab_vfe_settings *s = settings;
    const double N = (double)n, D = (double)in->model->head.D, m = (double)least(s->inducing, n),
                 first = (double)least(s->search_rows, n),
                 looked =
                     (double)least(n, LANDMARK_ROWS > s->inducing ? LANDMARK_ROWS : s->inducing);
    const double threads = x && x->threads > 0 ? (double)x->threads : CORES;
    const double bound = SQUARES * m * m + m * (BLOCKS + PANEL * threads + 32 * D);
    return 8 * (N * (D + 3) + fmax(3 * first * first, fmax(looked * (m + D), bound)));
}

/* ---- rows --------------------------------------------------------------------------------------------- */

static fab_status take_rows(vfe *f, const fab_examples *e)
{
    const int64_t n = e->x.n, D = f->m.D;
    FAB_TRY(fab_alloc_array((void **)&f->X, n * D, sizeof *f->X, f->name));
    FAB_TRY(fab_alloc_array((void **)&f->y, n, sizeof *f->y, f->name));
    FAB_TRY(fab_alloc_array((void **)&f->weight, n, sizeof *f->weight, f->name));
    for (int64_t i = 0; i < n; i++) {
        fab_rows_get(&e->x, i, D, f->X + i * D);
        f->y[i] = e->y[i] - (e->offset ? e->offset[i] : 0);
        f->weight[i] = e->weight ? e->weight[i] : 1;
    }
    return FAB_OK;
}

static fab_bound_rows rows_of(const vfe *f, int64_t n)
{
    return (fab_bound_rows){n, f->X, f->y, f->weight};
}

/* 6 */
static fab_status append(vfe *f, const fab_examples *e)
{
    if (!f->theta)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: more rows are added after the result, and there is none yet", f->name);
    fab_status s = take_rows(f, e);
    if (s == FAB_OK) {
        const fab_bound_rows rows = rows_of(f, e->x.n);
        fab_process_free(f->p);
        f->p = NULL;
        s = fab_bound_add(f->bound, &rows, &f->search.bound);
    }
    drop_rows(f);
    if (s == FAB_OK) f->n += e->x.n;
    return s;
}

static fab_status update(void *handle, const fab_examples *e)
{
    vfe *f = handle;
    if (f->n) return append(f, e);
    const fab_status s = take_rows(f, e);
    if (s == FAB_OK)
        f->n = e->x.n;
    else
        drop_rows(f);
    return s;
}

/* ---- 1, 2 --------------------------------------------------------------------------------------------- */

/* The first `few` of the random order, side by side. */
static fab_status some_rows(const vfe *f, int64_t few, double **X, double **y, double **weight)
{
    const int64_t D = f->m.D;
    int64_t *order;
    *X = NULL;
    FAB_TRY(fab_alloc_array((void **)&order, f->n, sizeof *order, f->name));
    fab_status s = fab_alloc_array((void **)X, few * (D + 2), sizeof **X, f->name);
    if (s == FAB_OK) {
        *y = *X + few * D;
        *weight = *y + few;
        fab_random_shuffle((uint64_t)f->s.seed, FAB_PURPOSE_START, ORDER, f->n, order);
        for (int64_t i = 0; i < few; i++) {
            memcpy(*X + i * D, f->X + order[i] * D, (size_t)D * sizeof **X);
            (*y)[i] = f->y[order[i]];
            (*weight)[i] = f->weight[order[i]];
        }
    }
    fab_release(order);
    return s;
}

static double given_noise(const vfe *f)
{
    return fab_is_auto_f64(f->s.beta) ? 0 : 1 / f->s.beta;
}

static void note_search(vfe *f, const fab_evidence_report *found)
{
    f->search.starts = (double)found->starts;
    f->search.optima = (double)found->optima;
    f->search.second = found->optima > 1 ? found->second : 0;
    f->search.evaluations = (double)found->evaluations;
    f->search.searched = (double)found->rows;
}

/* 1: k and *noise become those of the exact evidence of some rows. */
static fab_status begin(vfe *f, fab_kernel *k, double *noise)
{
    const int64_t few = least(f->n, f->s.search_rows);
    const fab_evidence_plan plan = {.starts = fab_is_auto_i64(f->s.starts) ? 0 : f->s.starts,
                                    .seed = (uint64_t)f->s.seed,
                                    .rows = few,
                                    .tol = f->s.tol,
                                    .noise = given_noise(f)};
    fab_evidence_report found;
    double *X, *y, *weight, *theta = NULL;
    fab_process *p = NULL;
    FAB_TRY(some_rows(f, few, &X, &y, &weight));
    fab_status s = fab_process_create(&p, k, few, X, f->m.D, few, &f->exec);
    if (s == FAB_OK) s = fab_evidence_maximise(p, y, weight, &plan, &found, &f->exec);
    if (s == FAB_OK)
        s = fab_alloc_array((void **)&theta, fab_kernel_size(k), sizeof *theta, f->name);
    if (s == FAB_OK) {
        fab_kernel_get(fab_process_kernel(p), theta);
        s = fab_kernel_set(k, theta);
        *noise = fab_process_noise(p);
        note_search(f, &found);
    }
    fab_release(theta);
    fab_process_free(p);
    fab_release(X);
    return s;
}

/* 2: Gives *Z. */
static fab_status choose_inputs(const vfe *f, const fab_kernel *k, int64_t *m, double **Z)
{
    const int64_t most = LANDMARK_ROWS > f->s.inducing ? LANDMARK_ROWS : f->s.inducing,
                  rows = least(f->n, most), D = f->m.D;
    double *X, *y, *weight;
    fab_features *map = NULL;
    *Z = NULL;
    FAB_TRY(some_rows(f, rows, &X, &y, &weight));
    fab_status s = fab_features_nystrom(&map, k, least(f->s.inducing, rows), rows, X, D, &f->exec);
    if (s == FAB_OK) {
        *m = fab_features_size(map);
        s = fab_alloc_array((void **)Z, *m * D, sizeof **Z, f->name);
        if (s == FAB_OK) memcpy(*Z, fab_features_landmarks(map), (size_t)(*m * D) * sizeof **Z);
    }
    fab_features_free(map);
    fab_release(X);
    return s;
}

/* ---- 3, 4 --------------------------------------------------------------------------------------------- */

/* theta and noise go on to where the objective is largest. */
static fab_status climb(vfe *f, fab_kernel *k, double scale, double *theta, double *noise)
{
    const fab_bound_plan plan = {.evaluations = f->s.steps,
                                 .noise = given_noise(f),
                                 .tol = f->s.tol,
                                 .seed = (uint64_t)f->s.seed};
    fab_evidence_report found = {0};
    FAB_TRY(fab_bound_climb(f->bound, k, &plan, scale, theta, noise, &found, &f->exec));
    f->search.steps = (double)found.evaluations;
    f->search.at_bound = (double)found.at_bound;
    f->search.noise_at_bound = (double)found.noise_at_bound;
    f->search.converged = (double)found.converged;
    return FAB_OK;
}

/* Parameters, log noise and Z side by side, as the gradient of a bound has them. */
typedef struct path {
    int64_t n, size;
    double *u, *best, *gradient, *unit, *lo, *hi, *m,
        *v; /* n each; best: u where the objective was largest */
} path;

enum { VECTORS = 8 };

static void lay_out(path *p, double *block)
{
    double **const to[VECTORS] = {&p->u,  &p->best, &p->gradient, &p->unit,
                                  &p->lo, &p->hi,   &p->m,        &p->v};
    for (int i = 0; i < VECTORS; i++) *to[i] = block + i * p->n;
    memset(block, 0, (size_t)(VECTORS * p->n) * sizeof *block);
}

/* u is in units: 1 of logarithms, of Z the standard deviation of its column. */
static void begin_path(const vfe *f, const fab_kernel *k, double scale, const double *theta,
                       double noise, const double *Z, path *p)
{
    const int64_t D = f->m.D, size = p->size;
    for (int64_t i = 0; i < size; i++) {
        fab_kernel_parameter q;
        fab_kernel_parameter_at(k, i, &q);
        p->u[i] = theta[i];
        p->unit[i] = 1;
        p->lo[i] = q.fixed ? theta[i] : log(q.lo);
        p->hi[i] = q.fixed ? theta[i] : log(q.hi);
    }
    p->u[size] = log(noise);
    p->unit[size] = 1;
    p->lo[size] = given_noise(f) > 0 ? p->u[size] : log(FAB_BOUND_QUIETEST * scale);
    p->hi[size] = given_noise(f) > 0 ? p->u[size] : log(FAB_BOUND_LOUDEST * scale);
    for (int64_t d = 0; d < D; d++) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < f->n; i++) mean += f->X[i * D + d] / (double)f->n;
        for (int64_t i = 0; i < f->n; i++) square += pow(f->X[i * D + d] - mean, 2) / (double)f->n;
        for (int64_t i = size + 1 + d; i < p->n; i += D) p->unit[i] = square > 0 ? sqrt(square) : 1;
    }
    for (int64_t i = size + 1; i < p->n; i++) {
        p->lo[i] = -HUGE_VAL;
        p->hi[i] = HUGE_VAL;
        p->u[i] = Z[i - size - 1] / p->unit[i];
    }
    memcpy(p->best, p->u, (size_t)p->n * sizeof *p->u);
}

/* theta, noise and Z as p->u has them; the value, and the gradient by p->u of its negative. */
static fab_status look(vfe *f, path *p, double *theta, double *noise, double *Z, double *value)
{
    memcpy(theta, p->u, (size_t)p->size * sizeof *theta);
    *noise = exp(p->u[p->size]);
    for (int64_t i = p->size + 1; i < p->n; i++) Z[i - p->size - 1] = p->u[i] * p->unit[i];
    FAB_TRY(fab_bound_at(f->bound, theta, *noise, Z, 0, value, p->gradient));
    for (int64_t i = 0; i < p->n; i++) p->gradient[i] *= -p->unit[i];
    return isfinite(*value) ? FAB_OK
                            : FAB_FAIL(FAB_NUMERIC, "%s: the objective is no number", f->name);
}

static fab_status follow(vfe *f, path *p, double *theta, double *noise, double *Z)
{
    fab_optim o = {.kind = FAB_OPTIMISER_ADAM,
                   .momentum = 0.9,
                   .second = 0.999,
                   .epsilon = 1e-8,
                   .n = p->n,
                   .threads = 1,
                   .m = p->m,
                   .v = p->v};
    const double steps = (double)f->s.steps;
    double best = -INFINITY, value, rate = RATE;
    for (int64_t t = 0; t < f->s.steps; t++) {
        f->told.done = t;
        f->told.total = f->s.steps;
        FAB_TRY(fab_watch_tick(&f->watch, "evidence", t, f->s.steps));
        const fab_status s = look(f, p, theta, noise, Z, &value);
        if (s == FAB_NUMERIC &&
            t > 0) { /* no factor there: from the best again, in half the steps */
            rate /= 2;
            o.t = 0;
            memset(p->m, 0, (size_t)p->n * sizeof *p->m);
            memset(p->v, 0, (size_t)p->n * sizeof *p->v);
            memcpy(p->u, p->best, (size_t)p->n * sizeof *p->u);
            continue;
        }
        FAB_TRY(s);
        if (value > best) {
            best = value;
            memcpy(p->best, p->u, (size_t)p->n * sizeof *p->u);
        }
        fab_optim_step(&o, rate * (1 + cos(PI * (double)t / steps)) / 2, p->gradient, 0, 0, p->u);
        for (int64_t i = 0; i < p->n; i++) p->u[i] = fmin(fmax(p->u[i], p->lo[i]), p->hi[i]);
    }
    return FAB_OK;
}

/* theta, noise and Z where the objective was largest on the way. */
static fab_status climb_with_inputs(vfe *f, const fab_kernel *k, double scale, double *theta,
                                    double *noise, double *Z)
{
    const int64_t size = fab_kernel_size(k), inputs = fab_bound_size(f->bound) * f->m.D;
    path p = {.n = size + 1 + inputs, .size = size};
    double *block;
    FAB_TRY(fab_alloc_array((void **)&block, VECTORS * p.n, sizeof *block, f->name));
    lay_out(&p, block);
    begin_path(f, k, scale, theta, *noise, Z, &p);
    const fab_status s = follow(f, &p, theta, noise, Z);
    memcpy(theta, p.best, (size_t)size * sizeof *theta);
    *noise = exp(p.best[size]);
    for (int64_t i = size + 1; i < p.n; i++) Z[i - size - 1] = p.best[i] * p.unit[i];
    for (int64_t i = 0; i <= size; i++) {
        const int bounded = p.lo[i] < p.hi[i] && (p.best[i] <= p.lo[i] || p.best[i] >= p.hi[i]);
        f->search.at_bound += bounded;
        f->search.noise_at_bound += bounded && i == size;
    }
    f->search.steps = (double)f->s.steps;
    fab_release(block);
    return s;
}

/* 3, 4 */
static fab_status improve(vfe *f, fab_kernel *k, double *theta, double *noise, double *Z)
{
    double scale = 0, value;
    if (f->s.steps == 0) return FAB_OK;
    for (int64_t i = 0; i < f->n; i++) scale += f->y[i] * f->y[i] / (double)f->n;
    if (!(given_noise(f) > 0) && f->kind != FAB_BOUND_FITC)
        FAB_TRY(fab_bound_settle(f->bound, theta, scale, 2, noise, &value)); /* 3 */
    return f->s.optimise ? climb_with_inputs(f, k, scale, theta, noise, Z)
                         : climb(f, k, scale, theta, noise);
}

/* 2 to 5 with the kernel and noise that the search begins with; theta: room. */
static fab_status go_on(vfe *f, fab_kernel *k, double noise, double *theta)
{
    const fab_bound_rows rows = rows_of(f, f->n);
    int64_t m;
    double *Z;
    FAB_TRY(choose_inputs(f, k, &m, &Z));
    fab_status s = fab_bound_create(&f->bound, f->kind, k, &rows, m, Z, NULL, &f->exec);
    fab_kernel_get(k, theta);
    if (s == FAB_OK) s = improve(f, k, theta, &noise, Z);
    if (s == FAB_OK) s = fab_bound_at(f->bound, theta, noise, Z, 1, &f->search.bound, NULL); /* 5 */
    if (s == FAB_OK) theta[fab_kernel_size(k)] = -log(noise);
    if (s != FAB_OK) {
        fab_bound_free(f->bound);
        f->bound = NULL;
    }
    fab_release(Z);
    return s;
}

static fab_status learn(vfe *f)
{
    fab_kernel *k = NULL;
    double *theta, noise = 0;
    f->search = (fab_vfe_search){.is_bound = f->kind == FAB_BOUND_VFE,
                                 .asked = (double)f->s.inducing,
                                 .noise_given = given_noise(f) > 0};
    FAB_TRY(fab_alloc_array((void **)&theta, fab_process_size(&f->m, f->kernel), sizeof *theta,
                            f->name));
    fab_status s = fab_kernel_copy(&k, f->kernel);
    if (s == FAB_OK) s = begin(f, k, &noise);
    if (s == FAB_OK) s = go_on(f, k, noise, theta);
    fab_kernel_free(k);
    f->told.done = f->told.total = 0;
    if (s == FAB_OK) {
        f->theta = theta;
        drop_rows(f);
    } else {
        fab_release(theta);
    }
    return s;
}

/* ---- result --------------------------------------------------------------------------------------------- */

static fab_status result(void *handle, const fab_gauss **q)
{
    vfe *f = handle;
    if (!f->bound) FAB_TRY(learn(f));
    const int64_t m = fab_bound_size(f->bound), noise = fab_kernel_size(f->kernel);
    if (!f->p) FAB_TRY(fab_bound_process(f->bound, &f->p, &f->exec));
    if (!f->q) FAB_TRY(fab_gauss_create(&f->q, FAB_FORM_PRECISION, FAB_F64, m, m));
    FAB_TRY(fab_bound_gauss(f->bound, f->q));
    f->search.rows = (double)f->n;
    f->search.jitter = fab_bound_jitter(f->bound);
    f->report = (fab_report){.alpha = NAN,
                             .beta = exp(f->theta[noise]),
                             .log_evidence = f->search.bound,
                             .iterations = (int64_t)f->search.steps,
                             .converged = (int64_t)f->search.converged};
    FAB_TRY(fab_gauss_check(f->q));
    *q = f->q;
    return FAB_OK;
}

static fab_status report(void *handle, fab_report *r)
{
    *r = ((const vfe *)handle)->report;
    return FAB_OK;
}

static fab_status process(void *handle, fab_process **p)
{
    *p = ((vfe *)handle)->p;
    return FAB_OK;
}

/* ---- in files --------------------------------------------------------------------------------------------- */

static fab_status tensors(void *handle, fab_tensors *t)
{
    const vfe *f = handle;
    const int64_t m = fab_bound_size(f->bound), D = f->m.D, sums = FAB_BOUND_SUMS,
                  search = FAB_VFE_SEARCH, size = fab_process_size(&f->m, f->kernel);
    const double *a, *L, *C, *b, *S;
    const fab_bound_sums *of_rows;
    fab_bound_parts(f->bound, &a, &L, &C);
    fab_bound_state(f->bound, &of_rows, &b, &S);
    FAB_TRY(fab_tensors_add(t, "X", FAB_F64, 2, (int64_t[]){m, D}, fab_bound_inputs(f->bound)));
    FAB_TRY(fab_tensors_add(t, "a", FAB_F64, 1, &m, a));
    FAB_TRY(fab_tensors_add(t, "L", FAB_F64, 2, (int64_t[]){m, m}, L));
    FAB_TRY(fab_tensors_add(t, "C", FAB_F64, 2, (int64_t[]){m, m}, C));
    FAB_TRY(fab_tensors_add(t, "S", FAB_F64, 2, (int64_t[]){m, m}, S));
    FAB_TRY(fab_tensors_add(t, "b", FAB_F64, 1, &m, b));
    FAB_TRY(fab_tensors_add(t, "sums", FAB_F64, 1, &sums, of_rows));
    FAB_TRY(fab_tensors_add(t, "centre", FAB_F64, 1, &D, fab_bound_centre(f->bound)));
    FAB_TRY(fab_tensors_add(t, "parameters", FAB_F64, 1, &size, f->theta));
    return fab_tensors_add(t, "search", FAB_F64, 1, &search, &f->search);
}

/* Finite numbers of that shape; lent by t. */
static fab_status find(const vfe *f, const fab_tensors *t, const char *name, int64_t n, int64_t k,
                       const double **numbers)
{
    const fab_tensor *v = fab_tensors_find(t, name);
    if (!v || v->type != FAB_F64 || v->ndim != (k ? 2 : 1) || v->shape[0] != n ||
        (k && v->shape[1] != k))
        return FAB_FAIL(FAB_BAD_FILE, "%s: its tensor '%s' is absent or of another shape", f->name,
                        name);
    *numbers = v->data;
    for (int64_t i = 0; i < n * (k ? k : 1); i++)
        if (!isfinite((*numbers)[i]))
            return FAB_FAIL(FAB_BAD_FILE, "%s: its tensor '%s' has a number that is %g", f->name,
                            name, (*numbers)[i]);
    return FAB_OK;
}

static fab_status resume(vfe *f, const fab_kernel *k, int64_t m, const fab_tensors *t)
{
    const fab_bound_rows none = {0};
    const int64_t D = f->m.D;
    const double *Z, *centre, *sums, *b, *S;
    fab_bound_sums of_rows;
    FAB_TRY(find(f, t, "X", m, D, &Z));
    FAB_TRY(find(f, t, "centre", D, 0, &centre));
    FAB_TRY(find(f, t, "sums", FAB_BOUND_SUMS, 0, &sums));
    FAB_TRY(find(f, t, "b", m, 0, &b));
    FAB_TRY(find(f, t, "S", m, m, &S));
    memcpy(&of_rows, sums, sizeof of_rows);
    if (!(of_rows.rows >= 1 && of_rows.rows <= 0x1p53))
        return FAB_FAIL(FAB_BAD_FILE, "%s: it has seen %g rows", f->name, of_rows.rows);
    f->n = (int64_t)of_rows.rows;
    FAB_TRY(fab_bound_create(&f->bound, f->kind, k, &none, m, Z, centre, &f->exec));
    const fab_status s = fab_bound_resume(f->bound, f->theta, exp(-f->theta[fab_kernel_size(k)]),
                                          &of_rows, b, S, &f->search.bound);
    return s == FAB_NUMERIC || s == FAB_BAD_ARGUMENT ? fab_prefix(FAB_BAD_FILE, "its state: ") : s;
}

/* The state is the file itself: inputs, parameters and sums. */
static fab_status load(void *handle, const fab_tensors *t)
{
    vfe *f = handle;
    const fab_tensor *X = fab_tensors_find(t, "X");
    const int64_t size = fab_process_size(&f->m, f->kernel), searched = FAB_VFE_SEARCH;
    if (!X || X->type != FAB_F64 || X->ndim != 2 || X->shape[1] != f->m.D || X->shape[0] < 1)
        return FAB_FAIL(FAB_BAD_FILE, "%s: the inducing inputs are absent, or of another model",
                        f->name);
    FAB_TRY(fab_alloc_array((void **)&f->theta, size, sizeof *f->theta, f->name));
    FAB_TRY(fab_state_take(t, "parameters", FAB_F64, 1, &size, f->theta));
    FAB_TRY(fab_state_take(t, "search", FAB_F64, 1, &searched, &f->search));
    return resume(f, f->kernel, X->shape[0], t);
}

#define SPARSE(name_, summary_)                                                                \
    {                                                                                          \
        .name = #name_, .summary = summary_, .takes = FAB_TAKES_KERNEL, .appends = 1,          \
        .suits = fab_suits_normal, .fields = &table_##name_, .init = init_##name_,             \
        .free = release, .bytes = bytes, .update = update, .result = result, .report = report, \
        .tensors = tensors, .process = process, .load = load,                                  \
    }

const fab_method fab_vfe_method =
    SPARSE(vfe, "a Gaussian process through inducing inputs, by a bound of its evidence");
const fab_method fab_dtc_method = SPARSE(
    dtc, "a Gaussian process through inducing inputs alone: Nystrom's matrix for its kernel");
const fab_method fab_fitc_method =
    SPARSE(fitc, "the same with the right variance at every row: what inputs leave is noise");
