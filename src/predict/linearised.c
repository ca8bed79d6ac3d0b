/* linearised.c - predictions of any model from the slope of its outputs.
 *
 * For every part c of the mixture, with mean mu and covariance S:
 *
 *   1  eta = f(x, mu), the noise precision there
 *   2  J = the Jacobian of the outputs at mu, a few rows at a time; covariance J S J' (0 for a point).  Without J where
 *        a  S is over the last layer: row c of J is the layer's inputs a = (phi, 1) at the weights of output c, so with F and
 *           psi seen as one (features + 1) x (outputs K) matrix and one (features + 1) x outputs, b = a'F and z = a^2' psi:
 *               covariance form:  J S J' = diag(z) + b b'
 *               precision form:   the same of psi^-1 and psi^-1 F, and J S J' = diag(z) - b (L L')^-1 b', L of the solver
 *           where that difference has lost its digits, J S J' by the solver
 *        b  S is diagonal, and the model has the covariances
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
#include "la/nn.h"
#include "la/small.h"
#include "model/ggn.h"
#include "model/layers/layers.h"
#include "model/likelihoods/likelihood.h"
#include "model/likelihoods/softmax.h"
#include "posterior/element.h"
#include "posterior/solver.h"
#include "predict/draws.h"
#include "predict/eta.h"
#include <math.h>
#include <string.h>

enum { JACOBIAN_NUMBERS = 1 << 22 }; /* at a time, or one row */
#define CANCELLED 1e-6               /* of a variance under the prior alone: six digits are gone */

typedef enum route { BY_JACOBIAN, BY_FEATURES, BY_DIAGONAL } route;

typedef struct slopes {
    const fab_model *m;
    const fab_mixture *q;
    const fab_rows *x;
    const double *offset;
    const fab_exec *exec;
    route route;
    int64_t rows;  /* at a time */
    double *theta; /* D */
    double *out;   /* rows x outputs */
    void *raw;     /* rows outputs x D, in the model's type */
    double *J, *P; /* rows outputs x D each: J, and J S */
    double *cov;   /* outputs x outputs */
    double *logp;  /* classes */

    int64_t H,
        K;     /* BY_FEATURES: inputs of the last layer, its 1 included; columns of the widest F */
    void *phi; /* rows x (H - 1), in the model's type */
    double *a, *a2;   /* rows x H: (phi, 1), and its squares */
    double *F, *psi;  /* H outputs x K, H outputs: as 2a has them */
    double *b, *z;    /* rows x outputs x K, rows x outputs */
    double *variance; /* BY_DIAGONAL: D */
    double *covs;     /* BY_DIAGONAL: rows x outputs x outputs */
    fab_softmax *softmax;
    fab_draws *d;
} slopes;

static void layout(fab_layout *l, void *handle)
{
    slopes *k = handle;
    const int64_t D = k->m->D, C = k->m->outputs, n = k->rows, H = k->H, P = H * C;
    k->theta = fab_place(l, D, sizeof(double));
    k->out = fab_place(l, n * C, sizeof(double));
    k->cov = fab_place(l, C * C, sizeof(double));
    k->logp = fab_place(l, C, sizeof(double));
    if (k->route == BY_JACOBIAN) {
        k->raw = fab_place(l, n * C * D, sizeof(double));
        k->J = fab_place(l, n * C * D, sizeof(double));
        k->P = fab_place(l, n * C * D, sizeof(double));
    } else if (k->route == BY_FEATURES) {
        k->phi = fab_place(l, n * (H - 1), fab_nn_find(k->m->type)->size);
        k->a = fab_place(l, n * H, sizeof(double));
        k->a2 = fab_place(l, n * H, sizeof(double));
        k->F = fab_place(l, P * k->K, sizeof(double));
        k->psi = fab_place(l, P, sizeof(double));
        k->b = fab_place(l, n * C * k->K, sizeof(double));
        k->z = fab_place(l, n * C, sizeof(double));
        k->J = fab_place(l, C * P, sizeof(double)); /* of one row */
        k->P = fab_place(l, C * P, sizeof(double));
    } else {
        k->variance = fab_place(l, D, sizeof(double));
        k->covs = fab_place(l, n * C * C, sizeof(double));
    }
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
static void by_jacobian(slopes *k, const fab_gauss *q, int64_t i)
{
    const int64_t C = k->m->outputs, D = q->D;
    for (int64_t a = 0; a < C; a++)
        for (int64_t b = 0; b < C; b++) {
            const double *u = k->J + (i * C + a) * D, *v = k->P + (i * C + b) * D;
            double sum = 0;
            if (q->form != FAB_FORM_POINT)
                for (int64_t d = 0; d < D; d++) sum += u[d] * v[d];
            k->cov[a * C + b] = a == b && sum < 0 ? 0
                                                  : sum; /* rounding; NaN stays and is refused */
        }
}

/* ---- 2a ----------------------------------------------------------------------------------------------- */

/* F and psi of a part. */
static void take_factor(slopes *k, const fab_gauss *q)
{
    const int inverse = q->form == FAB_FORM_PRECISION;
    for (int64_t p = 0; p < q->D; p++) k->psi[p] = inverse ? 1 / q->psi[p] : q->psi[p];
    for (int64_t i = 0; i < q->D * q->K; i++)
        k->F[i] = fab_gauss_get(q, i) * (inverse ? k->psi[i / q->K] : 1);
}

/* a, z, and b: in the precision form b L'^-1. */
static fab_status take_features(slopes *k, const fab_gauss *q, const fab_solver *solver,
                                const fab_rows *x)
{
    const int64_t n = x->n, C = k->m->outputs, H = k->H, K = q->K;
    const fab_nn *nn = fab_nn_find(k->m->type);
    FAB_TRY(k->m->features(k->m->self, k->theta, x, k->phi));
    for (int64_t i = 0; i < n; i++) {
        nn->widen(H - 1, 1, fab_at(nn, k->phi, i * (H - 1)), 0, k->a + i * H);
        k->a[i * H + H - 1] = 1;
    }
    for (int64_t i = 0; i < n * H; i++) k->a2[i] = k->a[i] * k->a[i];
    fab_gemm(FAB_F64, FAB_N, FAB_N, n, C, H, 1, k->a2, H, k->psi, C, 0, k->z, C);
    if (K == 0) return FAB_OK;
    fab_gemm(FAB_F64, FAB_N, FAB_N, n, C * K, H, 1, k->a, H, k->F, C * K, 0, k->b, C * K);
    if (q->form == FAB_FORM_PRECISION)
        fab_tri_solve(FAB_LEFT, FAB_N, K, n * C, fab_solver_chol(solver), k->b);
    return FAB_OK;
}

/* The same as by_features, and dear: the rows of J written out. */
static fab_status by_solver(slopes *k, const fab_gauss *q, fab_solver *solver, int64_t i)
{
    const int64_t C = k->m->outputs, H = k->H;
    memset(k->J, 0, (size_t)(C * H * C) * sizeof *k->J);
    for (int64_t c = 0; c < C; c++)
        for (int64_t h = 0; h < H; h++) k->J[c * H * C + h * C + c] = k->a[i * H + h];
    const fab_rows J = {k->J, FAB_F64, C, H * C};
    FAB_TRY(fab_solver_times_covariance(solver, &J, k->P));
    by_jacobian(k, q, 0);
    return FAB_OK;
}

static fab_status by_features(slopes *k, const fab_gauss *q, fab_solver *solver, int64_t i)
{
    const int64_t C = k->m->outputs, K = q->K;
    const double sign = q->form == FAB_FORM_PRECISION ? -1 : 1, *z = k->z + i * C;
    int lost = 0;
    for (int64_t c = 0; c < C; c++)
        for (int64_t d = 0; d < C; d++) {
            const double *u = k->b + (i * C + c) * K, *v = k->b + (i * C + d) * K;
            double sum = 0;
            for (int64_t j = 0; j < K; j++) sum += u[j] * v[j];
            k->cov[c * C + d] = sign * sum + (c == d ? z[c] : 0);
        }
    for (int64_t c = 0; c < C; c++) lost += !(k->cov[c * C + c] > CANCELLED * z[c]);
    return lost > 0 ? by_solver(k, q, solver, i) : FAB_OK;
}

/* ---- what goes which way ------------------------------------------------------------------------------ */

/* Is q over the weights of the last layer, in their order? */
static int is_last(const fab_model *m, const fab_gauss *q)
{
    const int64_t first = m->D - m->free - m->last;
    if (!q->total || q->D != m->last || q->form == FAB_FORM_POINT) return 0;
    for (int64_t i = 0; i < q->D; i++)
        if (q->index[i] != first + i) return 0;
    return 1;
}

static route route_of(const fab_model *m, const fab_mixture *q)
{
    int last = m->features != NULL && m->last > m->outputs, diagonal = m->covariances != NULL;
    for (int64_t c = 0; c < q->n; c++) {
        const fab_gauss *g = q->part[c];
        last = last && is_last(m, g);
        diagonal = diagonal && !g->total && g->K == 0 && g->form != FAB_FORM_POINT;
    }
    if (last) return BY_FEATURES;
    return diagonal ? BY_DIAGONAL : BY_JACOBIAN;
}

/* What all rows of a part have in common. */
static void begin_part(slopes *k, const fab_gauss *q)
{
    if (k->route == BY_FEATURES) take_factor(k, q);
    if (k->route == BY_DIAGONAL)
        for (int64_t d = 0; d < q->D; d++)
            k->variance[d] = q->form == FAB_FORM_PRECISION ? 1 / q->psi[d] : q->psi[d];
}

/* What is computed of several rows at a time. */
static fab_status begin_rows(slopes *k, const fab_gauss *q, fab_solver *solver, const fab_rows *x)
{
    if (!solver) return FAB_OK;
    if (k->route == BY_FEATURES) return take_features(k, q, solver, x);
    if (k->route == BY_DIAGONAL)
        return k->m->covariances(k->m->self, k->theta, x, k->variance, k->covs);
    return take_slopes(k, q, solver, x);
}

static fab_status covariance(slopes *k, const fab_gauss *q, fab_solver *solver, int64_t i)
{
    const int64_t C = k->m->outputs;
    if (k->route == BY_FEATURES) return by_features(k, q, solver, i);
    if (k->route == BY_DIAGONAL)
        memcpy(k->cov, k->covs + i * C * C, (size_t)(C * C) * sizeof *k->cov);
    else
        by_jacobian(k, q, i);
    return FAB_OK;
}

static int are_finite(int64_t n, const double *a)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(a[i])) return 0;
    return 1;
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
    if (!are_finite(C, out) || !are_finite(k->m->outputs * k->m->outputs, k->cov) ||
        (d->beta && !isfinite(d->beta[at])))
        return fab_predict_no_number(&d->head, k->x, row);
    if (!d->logp) return FAB_OK;
    FAB_TRY(add_classes(k, c, row, out));
    return are_finite(C, d->logp + row * C) ? FAB_OK : fab_predict_no_number(&d->head, k->x, row);
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static fab_status add_rows(slopes *k, int64_t c, fab_solver *solver)
{
    const fab_gauss *q = k->q->part[c];
    for (int64_t first = 0; first < k->x->n; first += k->rows) {
        const int64_t left = k->x->n - first, n = left < k->rows ? left : k->rows;
        const fab_rows part = fab_rows_part(k->x, first, n);
        FAB_TRY(k->m->predict(k->m->self, k->theta, &part, k->out)); /* 1 */
        FAB_TRY(begin_rows(k, q, solver, &part));                    /* 2 */
        for (int64_t i = 0; i < n; i++) {
            FAB_TRY(covariance(k, q, solver, i));
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
    begin_part(k, q);
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
    const double C = (double)m->outputs;
    double numbers = (double)m->D * C; /* of a row */
    k.route = route_of(m, q);
    if (k.route == BY_FEATURES) {
        k.H = m->last / m->outputs;
        for (int64_t c = 0; c < q->n; c++) k.K = q->part[c]->K > k.K ? q->part[c]->K : k.K;
        numbers = 3 * (double)k.H + C * (double)(k.K + 1);
    }
    if (k.route == BY_DIAGONAL) numbers = C * C;
    k.rows = (int64_t)fmin(fmax(floor(JACOBIAN_NUMBERS / numbers), 1), (double)m->batch);
    FAB_TRY(fab_draws_new(&k.d, &m->head, x->n, q->n, 1));
    fab_status s = fill(&k);
    if (s == FAB_OK && fab_glm_likelihood(&m->head)->normals) s = split_tails(&k.d);
    if (s == FAB_OK)
        *d = k.d;
    else
        fab_draws_free(k.d);
    return s;
}
