/* merge_linear.c - linear and generalised linear models of shards become one.
 *
 *   of `exact`, N = sum of weights (the precision of the intercept over beta):  the posterior (L, mu) with its alpha and beta still knows the moments of its rows
 *   1  G = (L - alpha I) / beta,  c = L mu / beta                        Z'Z and Z'y, Z with a column of ones for an intercept
 *   2  rest = (nu - gamma) / beta,  gamma = D - alpha tr(S)              what the evidence makes of its beta (N, without the free one)
 *      y'y = rest + 2 c'mu - mu'G mu
 *   3  in the units of the table, added up over the parts: N, means, D + 1 by D + 1 moments of (x, y)
 *   4  the units of all rows; C = sum_i w_i v_i v_i' their covariance:  2 (D + 1) rows  mean +- sqrt((D + 1) w_i) v_i,  each of
 *      weight N / (2 (D + 1)), have just these moments, and `exact` fits them as it would all rows
 *
 *   others
 *   5  posteriors in units of their own are brought to those of the first: theta_j = T theta + t, densely
 *   6  the product of what the rows say (product.c); cooled by T_j, a posterior counts T_j times and the result is cooled by
 *      the mean of the T_j
 *   7  beta: noise variances by their rows;  alpha: between the least and the greatest of the parts, the one of highest evidence
 *
 * SPDX-License-Identifier: MIT */
#include "table/merge.h"
#include "base/fail.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "fit/method.h"
#include "la/ops.h"
#include "la/small.h"
#include "posterior/element.h"
#include "posterior/product.h"
#include "table/regression.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING  1e-12 /* eigenvalues of C below so much of the largest are rounding of 1 */
#define SAME_FIT 1e-6  /* of R^2: beta is not that of the evidence, and was given */
enum { ALPHAS = 33 };  /* tried */

/* ---- parts ------------------------------------------------------------------------------------ */

static fab_status number_or(const char *json, const char *key, double otherwise, double *x)
{
    FAB_TRY(fab_json_number_or_nan(json, key, x));
    if (isnan(*x)) *x = otherwise;
    return FAB_OK;
}

/* kalman and rvga keep their prior in units of the first noise. */
static double prior_moved(const fab_shard *s)
{
    const fab_tensor *L = fab_tensors_find(s->p->file, "state.L");
    const fab_tensor *scale = fab_tensors_find(s->p->file, "state.scale");
    const int gaussian = s->m.likelihood == FAB_LIKELIHOOD_GAUSSIAN;
    if (!gaussian || !L || !scale || scale->type != FAB_F64 || scale->ndim != 1 ||
        scale->shape[0] != 2)
        return 1;
    const double *numbers = scale->data, first = numbers[1];
    return first > 0 ? s->m.beta / first : 1;
}

static fab_status open_linear(fab_shard *s)
{
    const fab_tensors *t = s->p->file;
    const char *settings = fab_tensors_get(t, "settings"), *alpha = fab_tensors_get(t, "alpha");
    double chosen;
    if (!fab_posterior_is_linear(s->p))
        return FAB_FAIL(FAB_BAD_FILE, "%s: is not a file of `fabayes fit`", s->name);
    FAB_TRY(fab_about(s->name, fab_glm_from_json(&s->m, fab_tensors_get(t, "model"))));
    FAB_TRY(fab_about(s->name, fab_scaling_from_json(&s->k, fab_tensors_get(t, "scaling"))));
    if (s->k->D != s->m.D || s->q->D != fab_glm_size(&s->m) || s->q->total)
        return FAB_FAIL(FAB_BAD_FILE, "%s: its Gaussian, model and scaling do not belong together",
                        s->name);
    if (s->q->form == FAB_FORM_POINT)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: is a point, and knows nothing of how sure its rows were; merge fits "
                        "with a Gaussian",
                        s->name);
    s->alpha = alpha ? strtod(alpha, NULL) : NAN;
    if (!(s->alpha > 0))
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "%s: does not say the precision of its prior (alpha); one that was given as "
            "a file cannot be told from the rows",
            s->name);
    FAB_TRY(number_or(settings, "intercept_alpha", 1e-4, &s->intercept_alpha));
    FAB_TRY(number_or(settings, "temperature", 1, &s->temperature));
    FAB_TRY(number_or(fab_tensors_get(t, "summary"), "alpha_chosen", 0, &chosen));
    FAB_TRY(fab_json_number_or_nan(settings, "alpha", &s->alpha_given));
    FAB_TRY(number_or(fab_tensors_get(t, "merged"), "alpha_chosen", chosen, &chosen));
    if (chosen > 0) s->alpha_given = NAN;
    if (!(s->temperature > 0 && s->temperature <= 1)) s->temperature = 1;
    const double moved = prior_moved(s);
    s->prior_alpha = s->alpha * moved / s->temperature;
    s->prior_intercept = s->intercept_alpha * moved / s->temperature;
    return FAB_OK;
}

static int same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The same target and features, in whatever units?  What they differ in, or NULL. */
static const char *unlike(const fab_shard *a, const fab_shard *b)
{
    if (a->m.likelihood != b->m.likelihood || a->m.nu != b->m.nu) return "their likelihoods";
    if (a->m.classes != b->m.classes || a->k->levels != b->k->levels) return "their classes";
    if (a->m.intercept != b->m.intercept) return "having an intercept";
    if (!same_text(a->k->target, b->k->target)) return "their targets";
    if (a->k->D != b->k->D) return "their features or the words of them";
    for (int64_t d = 0; d < a->k->D; d++)
        if (!same_text(a->k->name[d], b->k->name[d])) return "their features or the words of them";
    if (!same_text(a->k->formula, b->k->formula)) return "their formulas";
    for (int64_t c = 0; c < a->k->levels; c++) {
        if (!a->k->level != !b->k->level) return "their classes";
        if (a->k->level ? a->k->level[c] != b->k->level[c]
                        : !same_text(a->k->level_name[c], b->k->level_name[c]))
            return "their classes";
    }
    return NULL;
}

static int same_units(const fab_shard *a, const fab_shard *b)
{
    const size_t bytes = (size_t)a->k->D * sizeof(double);
    if (!a->k->inputs != !b->k->inputs) return 0;
    if (a->k->inputs) /* features of a kernel: landmarks and frequencies too */
        return strcmp(fab_tensors_get(a->p->file, "scaling"),
                      fab_tensors_get(b->p->file, "scaling")) == 0;
    return memcmp(a->k->mean, b->k->mean, bytes) == 0 &&
           memcmp(a->k->scale, b->k->scale, bytes) == 0 && a->k->target_mean == b->k->target_mean &&
           a->k->target_scale == b->k->target_scale;
}

static int all_same_units(const fab_merging *m)
{
    for (int64_t j = 1; j < m->n; j++)
        if (!same_units(&m->shard[0], &m->shard[j])) return 0;
    return 1;
}

/* alpha as it was given to all of them; NaN: it was chosen, or they differ. */
static double given_alpha(const fab_merging *m)
{
    const double alpha = m->shard[0].alpha_given;
    for (int64_t j = 1; j < m->n; j++)
        if (!(m->shard[j].alpha_given == alpha)) return NAN;
    return alpha;
}

/* ---- 1 - 4: the moments of the rows ------------------------------------------------------------ */

typedef struct moments {
    int64_t D;    /* features */
    double N;     /* sum of weights */
    double *mean; /* D + 1: of x and y */
    double *C;    /* D + 1 by D + 1: sum of products of deviations */
    double *work; /* 3 (D + 1)^2, and D + 1 for the eigenvalues */
    int beta_given;
} moments;

/* 1, 2  One part's: L in work, then G; means and products in its units, into mean and C. */
static fab_status moments_of(const fab_shard *s, const fab_exec *x, moments *o)
{
    const int64_t D = o->D, P = s->q->D, W = D + 1;
    const double alpha = s->alpha, beta = s->m.beta;
    const fab_gauss *q = s->q;
    double *G = o->work, *c = o->work + W * W, *S = o->C, gamma = (double)D, yy = 0, explained;
    fab_solver *solver;
    FAB_TRY(fab_gauss_dense_precision(q, x, G));
    FAB_TRY(fab_solver_create(&solver, q, x));
    fab_status done = fab_solver_times_precision(solver, &(fab_rows){q->mu, FAB_F64, 1, P}, c);
    if (done == FAB_OK) done = fab_solver_variances(solver, S);
    fab_solver_free(solver);
    if (done != FAB_OK) return done;
    for (int64_t d = 0; d < D; d++) {
        G[d + d * P] -= alpha;
        gamma -= alpha * S[d];
    }
    for (int64_t i = 0; i < P * P; i++) G[i] /= beta;
    for (int64_t i = 0; i < P; i++) c[i] /= beta;
    o->N = s->k->weight ? G[P * P - 1] : s->rows;
    const double nu = o->N - (double)s->m.intercept;
    double rest = (nu - gamma) / beta;
    for (int64_t i = 0; i < P; i++) {
        yy += 2 * c[i] * q->mu[i];
        for (int64_t j = 0; j < P; j++) yy -= q->mu[i] * G[i + j * P] * q->mu[j];
    }
    /* the share of y'y that is explained says whether beta was that of the evidence */
    const double mean_y = s->m.intercept ? c[D] / o->N : 0,
                 total = rest + yy - o->N * mean_y * mean_y;
    FAB_TRY(
        fab_json_number_or_nan(fab_tensors_get(s->p->file, "summary"), "explained", &explained));
    o->beta_given = !(rest > 0) || !(fabs(1 - rest / total - explained) <= SAME_FIT);
    if (o->beta_given) rest = fmax(o->N / beta, 0);
    yy += rest;
    for (int64_t i = 0; i < D; i++) o->mean[i] = s->m.intercept ? G[i + D * P] / o->N : 0;
    o->mean[D] = mean_y;
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++)
            o->C[i + j * W] = G[i + j * P] - o->N * o->mean[i] * o->mean[j];
    for (int64_t i = 0; i < D; i++)
        o->C[i + D * W] = o->C[D + i * W] = c[i] - o->N * o->mean[i] * mean_y;
    o->C[D + D * W] = yy - o->N * mean_y * mean_y;
    return FAB_OK;
}

/* 3  From the units of k to those of the table. */
static void to_table(const fab_scaling *k, moments *o)
{
    const int64_t D = o->D, W = D + 1;
    for (int64_t i = 0; i < W; i++) {
        const double unit = i < D ? k->scale[i] : k->target_scale;
        o->mean[i] = unit * o->mean[i] + (i < D ? k->mean[i] : k->target_mean);
        for (int64_t j = 0; j < W; j++) {
            o->C[i + j * W] *= unit;
            o->C[j + i * W] *= unit;
        }
    }
}

static void to_units(const fab_scaling *k, moments *o)
{
    const int64_t D = o->D, W = D + 1;
    for (int64_t i = 0; i < W; i++) {
        const double unit = i < D ? k->scale[i] : k->target_scale;
        o->mean[i] = (o->mean[i] - (i < D ? k->mean[i] : k->target_mean)) / unit;
        for (int64_t j = 0; j < W; j++) {
            o->C[i + j * W] /= unit;
            o->C[j + i * W] /= unit;
        }
    }
}

/* 3  all += one */
static void add_moments(moments *all, const moments *one)
{
    const int64_t W = all->D + 1;
    const double N = all->N + one->N, share = one->N / N, between = all->N * share;
    for (int64_t j = 0; j < W; j++)
        for (int64_t i = 0; i < W; i++)
            all->C[i + j * W] += one->C[i + j * W] + between * (one->mean[i] - all->mean[i]) *
                                                         (one->mean[j] - all->mean[j]);
    for (int64_t i = 0; i < W; i++) all->mean[i] += share * (one->mean[i] - all->mean[i]);
    all->N = N;
}

static int is_scaled(const fab_scaling *k)
{
    int scaled = k->target_scale != 1 || k->target_mean != 0;
    for (int64_t d = 0; d < k->D; d++) scaled |= k->mean[d] != 0 || k->scale[d] != 1;
    return scaled;
}

/* 4  The units of all rows, where each part had its own; as fab_scaling_create makes them. */
static void units_of_all(const fab_merging *m, const moments *o, fab_scaling *k)
{
    const int64_t D = o->D, W = D + 1;
    if (!is_scaled(k) || all_same_units(m) || !m->shard[0].m.intercept) return;
    for (int64_t i = 0; i < W; i++) {
        const double sd = sqrt(o->C[i + i * W] / o->N);
        const double scale = sd > 1e-10 * fabs(o->mean[i]) && sd > 0 ? sd : 1;
        if (i == D) {
            k->target_mean = o->mean[i];
            k->target_scale = scale;
        } else {
            k->mean[i] = o->mean[i];
            k->scale[i] = scale;
        }
    }
    for (int64_t d = 0; d < D && k->fill; d++) {
        double sum = 0;
        for (int64_t j = 0; j < m->n; j++) {
            const fab_scaling *own = m->shard[j].k;
            sum += m->shard[j].n / m->report->n * (own->fill ? own->fill[d] : own->mean[d]);
        }
        k->fill[d] = sum;
    }
}

/* 4  2 (D + 1) rows and their weights: x (rows x D), y, w */
static fab_status rows_of(const moments *o, double *x, double *y, double *w)
{
    const int64_t D = o->D, W = D + 1;
    double *V = o->work, *l = V + W * W;
    for (int64_t i = 0; i < W * W; i++) V[i] = o->C[i] / o->N;
    fab_symmetrise(W, V);
    FAB_TRY(fab_eig(W, V, l, l + W));
    for (int64_t k = 0; k < W; k++) {
        const double root = l[k] > NOTHING * l[W - 1] ? sqrt((double)W * l[k]) : 0;
        for (int64_t side = 0; side < 2; side++) {
            const int64_t row = 2 * k + side;
            const double step = side ? -root : root;
            for (int64_t d = 0; d < D; d++) x[row * D + d] = o->mean[d] + step * V[d + k * W];
            y[row] = o->mean[D] + step * V[D + k * W];
            w[row] = o->N / (double)(2 * W);
        }
    }
    return FAB_OK;
}

/* What `fit` says of its rows, which a later merge asks again: the share of y'y that theta explains. */
static fab_status put_summary(const moments *o, const fab_gauss *q, int alpha_chosen,
                              fab_tensors *more)
{
    const int64_t D = o->D, W = D + 1;
    double fitted = 0;
    for (int64_t i = 0; i < D; i++) {
        fitted += 2 * q->mu[i] * o->C[i + D * W];
        for (int64_t j = 0; j < D; j++) fitted -= q->mu[i] * o->C[i + j * W] * q->mu[j];
    }
    const fab_summary s = {.known = 1,
                           .alpha_chosen = alpha_chosen,
                           .explained = fitted / o->C[D + D * W],
                           .accuracy = NAN,
                           .frequent = NAN};
    return fab_summary_save(&s, more);
}

static fab_status fit_rows(const fab_merging *m, const moments *o, int beta_given, double *x,
                           fab_posterior **out)
{
    const fab_shard *first = &m->shard[0];
    const int64_t W = o->D + 1, rows = 2 * W;
    double *y = x + rows * o->D, *w = y + rows;
    const double alpha = m->plan->alpha > 0 ? m->plan->alpha : given_alpha(m);
    fab_exact_settings s = fab_exact_defaults();
    fab_glm glm = {.likelihood = FAB_LIKELIHOOD_GAUSSIAN,
                   .D = o->D,
                   .classes = 1,
                   .intercept = first->m.intercept,
                   .beta = 1};
    const fab_model model = fab_model_linear(&glm);
    fab_fit *f;
    fab_tensors *more = NULL;
    fab_report r;
    const fab_gauss *q;
    void *bytes = NULL;
    size_t size;
    char *scaling = NULL;
    if (alpha > 0) s.glm.alpha = alpha;
    if (beta_given) s.glm.beta = first->m.beta;
    FAB_TRY(rows_of(o, x, y, w));
    const fab_examples all = {.x = {x, FAB_F64, rows, o->D}, .y = y, .weight = w};
    FAB_TRY(fab_fit_create(&f, "exact", &s, sizeof s, &(fab_input){.model = &model}, m->x));
    fab_status done = fab_fit_update(f, &all);
    if (done == FAB_OK) done = fab_fit_report(f, &r);
    if (done == FAB_OK) done = fab_fit_gauss(f, &q);
    if (done == FAB_OK) done = fab_tensors_create(&more);
    if (done == FAB_OK) done = put_summary(o, q, !(alpha > 0), more);
    if (done == FAB_OK) done = fab_scaling_json(first->k, &scaling);
    if (done == FAB_OK) done = fab_tensors_set(more, "scaling", scaling);
    if (done == FAB_OK) {
        m->report->alpha = r.alpha;
        m->report->alpha_chosen = !(alpha > 0);
        m->report->beta = r.beta;
        m->report->n = o->N;
        done = fab_merge_describe(m, more);
    }
    if (done == FAB_OK) done = fab_fit_pack(f, 0, more, &bytes, &size);
    if (done == FAB_OK) done = fab_posterior_parse(out, "merged", bytes, size);
    fab_bytes_free(bytes);
    fab_text_free(scaling);
    fab_tensors_free(more);
    fab_fit_free(f);
    if (done != FAB_OK) return done;
    m->report->D = (*out)->mix.part[0]->D;
    m->report->K = (*out)->mix.part[0]->K;
    return FAB_OK;
}

/* 1 - 3 */
static fab_status gather(const fab_merging *m, moments *all, moments *one, int *beta_given)
{
    const fab_shard *first = &m->shard[0];
    int given = 0;
    for (int64_t j = 0; j < m->n; j++) {
        const fab_shard *s = &m->shard[j];
        FAB_TRY(fab_about(s->name, moments_of(s, m->x, one)));
        to_table(s->k, one);
        add_moments(all, one);
        given += one->beta_given;
        const double unit = s->k->target_scale / first->k->target_scale;
        if (one->beta_given &&
            !(fabs(s->m.beta - first->m.beta * unit * unit) <= SAME_FIT * s->m.beta))
            return FAB_FAIL(FAB_UNSUPPORTED,
                            "%s: its noise was given (beta), and is not that of %s; leave it to "
                            "the fits",
                            s->name, first->name);
    }
    if (given && given < m->n)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "the noise of some parts was given (beta), and that of others was not");
    *beta_given = given > 0;
    return FAB_OK;
}

static fab_status merge_rows(const fab_merging *m, fab_posterior **out)
{
    const int64_t D = m->shard[0].k->D, W = D + 1, rows = 2 * W;
    moments all = {.D = D}, one = {.D = D};
    double *room;
    int beta_given = 0;
    m->report->way = FAB_MERGE_ROWS;
    const int64_t work = 3 * W * W + fab_eig_work(W);
    FAB_TRY(fab_alloc_array((void **)&room, 2 * (W * W + W) + work + rows * (D + 2), sizeof *room,
                            "merge"));
    memset(room, 0, (size_t)(W * W + W) * sizeof *room);
    all.C = room;
    all.mean = all.C + W * W;
    one.C = all.mean + W;
    one.mean = one.C + W * W;
    all.work = one.work = one.mean + W;
    fab_status s = gather(m, &all, &one, &beta_given);
    if (s == FAB_OK) {
        fab_scaling *k = m->shard[0].k;
        const double unit = k->target_scale;
        units_of_all(m, &all, k);
        m->shard[0].m.beta *= (k->target_scale / unit) * (k->target_scale / unit);
        to_units(k, &all);
        s = fit_rows(m, &all, beta_given, all.work + work, out);
    }
    fab_release(room);
    return s;
}

/* ---- 5 - 7: the product ------------------------------------------------------------------------ */

/* The prior of a part, or with alpha the one afterwards: precisions of all coordinates. */
static void put_prior(const fab_merging *m, double alpha, double intercept, double *prior)
{
    const fab_glm *g = &m->shard[0].m;
    const int64_t width = g->D + g->intercept;
    for (int64_t i = 0; i < g->classes * width; i++)
        prior[i] = i % width < g->D ? alpha : intercept;
}

/* 5  theta_j = T theta + t, block by block: r on the diagonal, and in the row of the intercept b beside u */
typedef struct change {
    const double *r, *b;
    double u, t;
} change;

static void put_change(const fab_scaling *from, const fab_scaling *to, double *r, double *b,
                       change *c)
{
    const double u = to->target_scale / from->target_scale;
    double *rr = r, *bb = b;
    for (int64_t d = 0; d < from->D; d++) {
        rr[d] = u * from->scale[d] / to->scale[d];
        bb[d] = u * (from->mean[d] - to->mean[d]) / to->scale[d];
    }
    *c = (change){r, b, u, (to->target_mean - from->target_mean) / from->target_scale};
}

/* v <- T' v, v over all classes */
static void transpose_times(const fab_glm *g, const change *c, double *v)
{
    const int64_t width = g->D + g->intercept;
    for (int64_t k = 0; k < g->classes; k++, v += width) {
        const double last = g->intercept ? v[g->D] : 0;
        for (int64_t d = 0; d < g->D; d++) v[d] = c->r[d] * v[d] + c->b[d] * last;
        if (g->intercept) v[g->D] = c->u * last;
    }
}

/* 5  A <- T' A T, eta <- T' (eta - A t); t is in the intercepts alone. */
static void change_units(const fab_glm *g, const change *c, int64_t P, double *A, double *eta)
{
    const int64_t width = g->D + g->intercept;
    for (int64_t k = 0; k < g->classes && g->intercept; k++)
        for (int64_t i = 0; i < P; i++) eta[i] -= c->t * A[i + (k * width + g->D) * P];
    transpose_times(g, c, eta);
    for (int turn = 0; turn < 2; turn++) {
        for (int64_t j = 0; j < P; j++) transpose_times(g, c, A + j * P);
        for (int64_t j = 0; j < P; j++)
            for (int64_t i = 0; i < j; i++) {
                const double swap = A[i + j * P];
                A[i + j * P] = A[j + i * P];
                A[j + i * P] = swap;
            }
    }
}

/* What counts how often: beta over the part's own, and its temperature. */
static double power_of(const fab_merging *m, const fab_shard *s, double beta)
{
    const double unit = s->k->target_scale / m->shard[0].k->target_scale;
    if (s->m.likelihood != FAB_LIKELIHOOD_GAUSSIAN || s->m.nu > 0) return s->temperature;
    return beta / s->m.beta * unit * unit;
}

/* A part in units of its own. */
static fab_status add_changed(const fab_merging *m, const fab_shard *s, double power,
                              const double *prior, fab_product *p)
{
    const int64_t P = s->q->D, D = s->k->D;
    fab_product one;
    change c;
    double *room;
    FAB_TRY(fab_alloc_array((void **)&room, 2 * D + 1, sizeof *room, "merge"));
    put_change(s->k, m->shard[0].k, room, room + D, &c);
    fab_status done = fab_product_open(&one, P, 0, m->x);
    if (done == FAB_OK) done = fab_product_add(&one, s->q, prior, power);
    if (done == FAB_OK) {
        change_units(&s->m, &c, P, one.A, one.eta);
        fab_product_add_dense(p, one.A, one.eta);
    }
    fab_product_close(&one);
    fab_release(room);
    return done;
}

static fab_status add_parts(const fab_merging *m, double beta, fab_product *p, double *prior)
{
    for (int64_t j = 0; j < m->n; j++) {
        const fab_shard *s = &m->shard[j];
        const double power = power_of(m, s, beta);
        const int gaussian = s->m.likelihood == FAB_LIKELIHOOD_GAUSSIAN;
        const int free = gaussian && !fab_tensors_find(s->p->file, "state.scale");
        put_prior(m, s->prior_alpha, free ? 0 : s->prior_intercept, prior);
        const fab_status done = same_units(&m->shard[0], s) ? fab_product_add(p, s->q, prior, power)
                                                            : add_changed(m, s, power, prior, p);
        if (done != FAB_OK) return fab_about(s->name, done);
    }
    return FAB_OK;
}

/* 7 */
static fab_status choose_alpha(const fab_merging *m, fab_product *p, double intercept,
                               double *prior, double *alpha)
{
    double least = INFINITY, most = 0, best = -INFINITY, value;
    *alpha = m->plan->alpha > 0 ? m->plan->alpha : given_alpha(m);
    m->report->alpha_chosen = !(*alpha > 0);
    if (*alpha > 0) return FAB_OK;
    for (int64_t j = 0; j < m->n; j++) {
        least = fmin(least, m->shard[j].alpha);
        most = fmax(most, m->shard[j].alpha);
    }
    const int64_t steps = most > least ? ALPHAS : 1;
    for (int64_t i = 0; i < steps; i++) {
        const double a = least * pow(most / least, steps > 1 ? (double)i / (ALPHAS - 1) : 0);
        put_prior(m, a, intercept, prior);
        FAB_TRY(fab_product_gauss(p, prior, NULL, &value));
        if (!(value > best)) continue;
        best = value;
        *alpha = a;
    }
    return FAB_OK;
}

static void cool(fab_gauss *q, double T)
{
    const double by = q->form == FAB_FORM_COVARIANCE ? T : 1 / T, root = sqrt(by);
    for (int64_t i = 0; i < q->D; i++) q->psi[i] *= by;
    for (int64_t at = 0; at < q->D * q->K; at++) fab_gauss_put(q, at, root * fab_gauss_get(q, at));
}

/* The rank to keep: of precisions what was asked for, or what the widest part had. */
static fab_status cut(const fab_merging *m, int64_t K, fab_gauss **q)
{
    fab_gauss *narrow;
    if ((*q)->K <= K) return FAB_OK;
    FAB_TRY(fab_gauss_cut(&narrow, *q, K, 1e-7, 2000, m->x));
    const fab_status s = fab_distance_kl(*q, narrow, m->x, &m->report->kl);
    fab_gauss_free(*q);
    *q = narrow;
    return s;
}

/* The settings of the first part with the alpha of the whole, where they have a number there. */
static fab_status put_settings(const fab_merging *m, fab_tensors *more)
{
    const char *name = fab_tensors_get(m->shard[0].p->file, "method");
    const char *json = fab_tensors_get(m->shard[0].p->file, "settings");
    const fab_method *method = name ? fab_method_find(name) : NULL;
    char alpha[32], *text = NULL;
    void *settings;
    if (!method || !json || !fab_settings_find(method->fields, "alpha")) return FAB_OK;
    fab_print_double(alpha, sizeof alpha, m->report->alpha);
    FAB_TRY(fab_alloc_array(&settings, 1, method->fields->size, method->name));
    fab_settings_defaults(method->fields, settings);
    fab_status s = fab_settings_from_json(method->fields, settings, json);
    if (s == FAB_OK && fab_settings_number(method->fields, settings, "alpha") != FAB_AUTO_F64)
        s = fab_settings_parse(method->fields, settings, "alpha", alpha);
    if (s == FAB_OK) s = fab_settings_json(method->fields, settings, &text);
    if (s == FAB_OK) s = fab_tensors_set(more, "settings", text);
    fab_text_free(text);
    fab_release(settings);
    return s;
}

static fab_status save_product(const fab_merging *m, const fab_gauss *q, double beta,
                               fab_posterior **out)
{
    const double one = 1;
    fab_glm glm = m->shard[0].m;
    fab_tensors *more;
    char *json = NULL;
    glm.beta = beta;
    FAB_TRY(fab_tensors_create(&more));
    fab_status s = fab_glm_json(&glm, &json);
    if (s == FAB_OK) s = fab_tensors_set(more, "model", json);
    if (s == FAB_OK) s = put_settings(m, more);
    if (s == FAB_OK) s = fab_merge_file(m, &(fab_mixture){1, &q, &one}, more, out);
    fab_text_free(json);
    fab_tensors_free(more);
    return s;
}

/* 7; or the dispersion of counts, which stands in the same place */
static double noise_of_all(const fab_merging *m)
{
    double variance = 0;
    for (int64_t j = 0; j < m->n; j++) {
        const fab_shard *s = &m->shard[j];
        const double unit = s->k->target_scale / m->shard[0].k->target_scale;
        variance += s->n / m->report->n * unit * unit / s->m.beta;
    }
    return 1 / variance;
}

static fab_status product(const fab_merging *m, fab_product *p, double *prior, int64_t K,
                          fab_posterior **out)
{
    const fab_shard *first = &m->shard[0];
    const int gaussian = first->m.likelihood == FAB_LIKELIHOOD_GAUSSIAN;
    const double beta = noise_of_all(m);
    double T = 0, alpha, value;
    fab_gauss *q;
    for (int64_t j = 0; j < m->n; j++)
        T += m->shard[j].n / m->report->n * log(m->shard[j].temperature);
    FAB_TRY(add_parts(m, beta, p, prior));
    FAB_TRY(choose_alpha(m, p, first->intercept_alpha, prior, &alpha));
    put_prior(m, alpha, first->intercept_alpha, prior);
    FAB_TRY(fab_product_gauss(p, prior, &q, &value));
    if (T < 0) cool(q, exp(T)); /* 6 */
    m->report->alpha = alpha;
    if (gaussian) m->report->beta = beta;
    fab_status s = cut(m, K, &q);
    if (s == FAB_OK) s = save_product(m, q, beta, out);
    fab_gauss_free(q);
    return s;
}

static fab_status merge_product(const fab_merging *m, fab_posterior **out)
{
    int64_t columns = 0, K = m->plan->K;
    int dense = !all_same_units(m);
    fab_product p;
    double *prior;
    m->report->way = FAB_MERGE_PRODUCT;
    for (int64_t j = 0; j < m->n; j++) {
        fab_shard *s = &m->shard[j];
        if (m->plan->K == 0 && s->q->K > K) K = s->q->K;
        FAB_TRY(fab_shard_widen(s, m->x));
        columns += s->q->K;
        dense |= s->q->form != FAB_FORM_PRECISION;
    }
    const int64_t P = m->shard[0].q->D;
    if (dense && P > FAB_DENSE_MAX)
        return FAB_FAIL(
            FAB_UNSUPPORTED, "%lld coordinates %s: more than %d cannot be merged; %s", (long long)P,
            all_same_units(m) ? "in covariance form" : "in different units", FAB_DENSE_MAX,
            all_same_units(m) ? "fit them by lrvga" : "fit all with the units of one (--units)");
    FAB_TRY(fab_alloc_array((void **)&prior, P, sizeof *prior, "merge"));
    fab_status s = fab_product_open(&p, P, dense ? 0 : columns + (columns == 0), m->x);
    if (s == FAB_OK) s = product(m, &p, prior, dense && m->plan->K == 0 ? P : K, out);
    fab_product_close(&p);
    fab_release(prior);
    return s;
}

/* ---- the door --------------------------------------------------------------------------------- */

/* Does a part still know the moments of its rows?  With an offset they are of what it leaves, and its units are not. */
static int knows_rows(const fab_shard *s)
{
    const char *method = fab_tensors_get(s->p->file, "method");
    const fab_scaling *k = s->k;
    return method && strcmp(method, "exact") == 0 && s->m.likelihood == FAB_LIKELIHOOD_GAUSSIAN &&
           !(s->m.nu > 0) && !k->inputs && !k->offset && s->q->D <= FAB_DENSE_MAX &&
           (s->m.intercept || !k->weight) && fab_tensors_get(s->p->file, "summary");
}

fab_status fab_merge_linear(const fab_merging *m, fab_posterior **out)
{
    int rows = m->plan->K == 0;
    for (int64_t j = 0; j < m->n; j++) {
        fab_shard *s = &m->shard[j];
        if (s->p->mix.n > 1)
            return FAB_FAIL(FAB_UNSUPPORTED, "%s: is a mixture, and mixtures are not merged",
                            s->name);
        FAB_TRY(open_linear(s));
        const char *other = unlike(&m->shard[0], s);
        if (other)
            return FAB_FAIL(FAB_BAD_DATA,
                            "%s and %s differ in %s: they cannot be merged (--units FILE fits a "
                            "shard with the words and units of another)",
                            m->shard[0].name, s->name, other);
        if (!same_units(&m->shard[0], s) && (s->k->sparse || s->k->inputs))
            return FAB_FAIL(FAB_UNSUPPORTED,
                            "%s and %s are in different units, and those of %s cannot be brought "
                            "together; fit all with the units of one (--units)",
                            m->shard[0].name, s->name,
                            s->k->inputs ? "features of a kernel" : "sparse rows");
        if (!knows_rows(s)) rows = 0;
    }
    return rows ? merge_rows(m, out) : merge_product(m, out);
}
