/* linearised.c - predictions of any model from the slope of its outputs.
 *
 * For every part c of the mixture, with mean mu and covariance S:
 *
 *   1  eta = f(x, mu), the noise precision there
 *   2  J = the Jacobian of the outputs at mu, a few rows at a time; covariance J S J' (0 for a point)
 *   3  one predictor: eta and its variance are a component; several classes: E softmax (softmax.c), and
 *      log p = log sum_c weight_c p_c
 *
 * Student's t is split into the normals it is made of, components of their own: with a predictor that is normal too, all is
 * normal again.
 *
 * SPDX-License-Identifier: MIT */
#include "base/hooks.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/student.h"
#include "model/ggn.h"
#include "model/likelihoods/likelihood.h"
#include "model/likelihoods/softmax.h"
#include "predict/draws.h"
#include <math.h>
#include <string.h>

enum { JACOBIAN_NUMBERS = 1 << 22 }; /* at a time, or one row */

typedef struct slopes {
    const fab_model *m;
    const fab_mixture *q;
    const fab_rows *x;
    const double *offset;
    const fab_exec *exec;
    int64_t rows;  /* at a time */
    double *theta; /* D */
    double *out;   /* rows x outputs */
    void *raw;     /* rows outputs x D, in the model's type */
    double *J, *P; /* rows outputs x D each: J, and J S */
    double *cov;   /* outputs x outputs */
    double *logp;  /* classes */
    fab_softmax *softmax;
    fab_draws *d;
} slopes;

static void layout(fab_layout *l, void *handle)
{
    slopes *k = handle;
    const int64_t D = k->m->D, C = k->m->outputs, J = k->rows * C * D;
    k->theta = fab_place(l, D, sizeof(double));
    k->out = fab_place(l, k->rows * C, sizeof(double));
    k->raw = fab_place(l, J, sizeof(double));
    k->J = fab_place(l, J, sizeof(double));
    k->P = fab_place(l, J, sizeof(double));
    k->cov = fab_place(l, C * C, sizeof(double));
    k->logp = fab_place(l, C, sizeof(double));
}

/* The mean of a part, as a whole theta. */
static void mean_of(const fab_gauss *q, double *theta)
{
    if (q->total) memcpy(theta, q->theta, (size_t)q->total * sizeof *theta);
    for (int64_t d = 0; d < q->D; d++) theta[q->total ? q->index[d] : d] = q->mu[d];
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

/* The columns of the Jacobian that the Gaussian is over, in double. */
static void take_columns(slopes *k, const fab_gauss *q, int64_t rows)
{
    const float *narrow = k->raw;
    const double *wide = k->raw;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t d = 0; d < q->D; d++) {
            const int64_t at = r * k->m->D + (q->total ? q->index[d] : d);
            k->J[r * q->D + d] = k->m->type == FAB_F32 ? (double)narrow[at] : wide[at];
        }
}

/* J and J S of n rows. */
static fab_status take_slopes(slopes *k, const fab_gauss *q, fab_solver *solver, const fab_rows *x)
{
    FAB_TRY(k->m->jacobian(k->m->self, k->theta, x, k->raw, k->m->D));
    take_columns(k, q, x->n * k->m->outputs);
    const fab_rows J = {k->J, FAB_F64, x->n * k->m->outputs, q->D};
    return fab_solver_times_covariance(solver, &J, k->P);
}

/* cov = J S J' of row i of those at hand. */
static void covariance(slopes *k, const fab_gauss *q, int64_t i)
{
    const int64_t C = k->m->outputs, D = q->D;
    for (int64_t a = 0; a < C; a++)
        for (int64_t b = 0; b < C; b++) {
            const double *u = k->J + (i * C + a) * D, *v = k->P + (i * C + b) * D;
            double sum = 0;
            if (q->form != FAB_FORM_POINT)
                for (int64_t d = 0; d < D; d++) sum += u[d] * v[d];
            k->cov[a * C + b] = a == b ? fmax(0, sum) : sum;
        }
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

static double log_sum(double a, double b)
{
    const double top = fmax(a, b);
    return top == -INFINITY ? top : top + log(exp(a - top) + exp(b - top));
}

static fab_status add_classes(slopes *k, int64_t c, int64_t row, const double *eta)
{
    const int64_t C = k->d->head.classes;
    double *logp = k->d->logp + row * C;
    FAB_TRY(fab_softmax_logp(k->softmax, row, eta, k->cov, k->logp));
    for (int64_t o = 0; o < C; o++) {
        const double l = log(k->q->weight[c]) + k->logp[o];
        logp[o] = c == 0 ? l : log_sum(logp[o], l);
    }
    return FAB_OK;
}

/* Row i of those at hand is row `row` of all. */
static fab_status add_row(slopes *k, int64_t c, int64_t i, int64_t row)
{
    fab_draws *d = k->d;
    double *out = k->out + i * k->m->outputs;
    const int64_t at = c * d->n + row, C = d->head.classes;
    if (d->beta) d->beta[at] = fab_model_beta(k->m, k->theta, out);
    for (int64_t o = 0; o < C; o++) out[o] += k->offset ? k->offset[row] : 0;
    memcpy(d->eta + at * C, out, (size_t)C * sizeof *out);
    d->variance[at] = k->cov[0];
    return d->logp ? add_classes(k, c, row, out) : FAB_OK;
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static fab_status add_rows(slopes *k, int64_t c, fab_solver *solver)
{
    const fab_gauss *q = k->q->part[c];
    for (int64_t first = 0; first < k->x->n; first += k->rows) {
        const int64_t left = k->x->n - first, n = left < k->rows ? left : k->rows;
        const fab_rows part = fab_rows_part(k->x, first, n);
        FAB_TRY(k->m->predict(k->m->self, k->theta, &part, k->out)); /* 1 */
        if (solver) FAB_TRY(take_slopes(k, q, solver, &part));       /* 2 */
        for (int64_t i = 0; i < n; i++) {
            covariance(k, q, i);
            FAB_TRY(add_row(k, c, i, first + i)); /* 3 */
        }
        const fab_watch w = fab_watch_of(k->exec);
        FAB_TRY(fab_watch_tick(&w, "predict", c * k->x->n + first + n, k->q->n * k->x->n));
    }
    return FAB_OK;
}

static fab_status add_part(slopes *k, int64_t c)
{
    const fab_gauss *q = k->q->part[c];
    fab_solver *solver = NULL;
    k->d->weight[c] = k->q->weight[c];
    mean_of(q, k->theta);
    if (q->form != FAB_FORM_POINT) FAB_TRY(fab_solver_create(&solver, q, k->exec));
    const fab_status s = add_rows(k, c, solver);
    fab_solver_free(solver);
    return s;
}

static fab_status fill(const slopes *proto)
{
    slopes *k;
    FAB_TRY(fab_build((void **)&k, sizeof *proto, proto, layout));
    fab_status s = FAB_OK;
    if (k->d->logp) s = fab_softmax_init(&k->softmax, k->d->head.classes, 0, 0);
    for (int64_t c = 0; c < k->q->n && s == FAB_OK; c++) s = add_part(k, c);
    fab_softmax_free(k->softmax);
    fab_release(k);
    return s;
}

/* Components c FAB_STUDENT_NORMALS + j: component c with the j-th precision of its noise. */
static void split_component(const fab_draws *from, int64_t c, const double *precision,
                            const double *weight, fab_draws *to)
{
    for (int64_t j = 0; j < FAB_STUDENT_NORMALS; j++) {
        const int64_t s = c * FAB_STUDENT_NORMALS + j;
        to->weight[s] = from->weight[c] * weight[j];
        for (int64_t i = 0; i < from->n; i++) {
            to->eta[s * to->n + i] = from->eta[c * from->n + i];
            to->beta[s * to->n + i] = from->beta[c * from->n + i] * precision[j];
            to->variance[s * to->n + i] = from->variance[c * from->n + i];
        }
    }
}

static fab_status split_tails(fab_draws **d)
{
    double precision[FAB_STUDENT_NORMALS], weight[FAB_STUDENT_NORMALS];
    const fab_likelihood_row *l = fab_glm_likelihood(&(*d)->head);
    fab_draws *from = *d, *to;
    fab_glm head = from->head;
    head.nu = 0;
    l->normals(from->head.nu, precision, weight);
    FAB_TRY(fab_draws_new(&to, &head, from->n, from->samples * FAB_STUDENT_NORMALS, 1));
    for (int64_t c = 0; c < from->samples; c++) split_component(from, c, precision, weight, to);
    fab_draws_free(from);
    *d = to;
    return FAB_OK;
}

fab_status fab_draws_linearise(fab_draws **d, const fab_model *m, const fab_mixture *q,
                               const fab_rows *x, const double *offset, const fab_exec *exec)
{
    slopes k = {.m = m, .q = q, .x = x, .offset = offset, .exec = exec};
    *d = NULL;
    FAB_TRY(fab_draws_check(m, q, x));
    FAB_TRY(fab_rows_check("draws", x, m->head.D));
    if (!m->jacobian)
        return FAB_FAIL(FAB_UNSUPPORTED, "draws: the model has no function `jacobian`");
    const double fit = floor(JACOBIAN_NUMBERS / ((double)m->D * (double)m->outputs));
    k.rows = (int64_t)fmin(fmax(fit, 1), (double)m->batch);
    FAB_TRY(fab_draws_new(&k.d, &m->head, x->n, q->n, 1));
    fab_status s = fill(&k);
    if (s == FAB_OK && fab_glm_likelihood(&m->head)->normals) s = split_tails(&k.d);
    if (s == FAB_OK)
        *d = k.d;
    else
        fab_draws_free(k.d);
    return s;
}
