/* vga.c - the variational Gaussian of a generalised linear model, from the whole table.
 *
 * q = N(mu, S) with S^-1 = A0 + sum_i (x_i, 1) L_i (x_i, 1)': every optimum has this form, L_i a number for each row, or
 * a C x C matrix for C classes.  It maximises
 *
 *     bound = sum_i w_i E_q log p(y_i | eta_i) - KL(q || prior)  <=  log evidence
 *
 *   1  S^-1 from L, its factor and S; eta_i ~ N(m_i, V_i): m_i = (x_i, 1) mu + offset, V_i = (x_i, 1) S (x_i, 1)'
 *   2  w_i E log p, gradient g_i and curvature H_i = -w_i E d^2 log p / d eta^2: closed, by quadrature
 *      (mean_loglik of the likelihoods), or for several classes over fixed nodes (softmax_mean.c); the bound
 *   3  a step along the natural gradient: L <- (1 - t) L + t H, the alpha inside S likewise, and
 *      mu <- mu + u S (sum_i g_i (x_i, 1) - A0 (mu - m0)); with t = u = 1 it is Newton's with expected derivatives.  t is
 *      the step that would have been right the last time (a fall of the classes' rows from each other turns H against L,
 *      and t = 1 would swing); both are halved until the bound rises
 *   4  alpha auto: where the slope of the bound at its best q, by log alpha, with that of a hyper-prior is 0,
 *          gamma - alpha |mu|^2 + h = 0,       gamma = d - alpha tr S over the d coefficients
 *      h = 2 / (1 + alpha s^2) - 1: the prior's standard deviation is half-Cauchy of scale s = 1 / (root mean square of
 *      the features), because the bound hardly depends on alpha where classes separate.  Secants in log alpha.
 *      beta auto: beta = (sum w - sum beta w v) / sum w (y - m)^2
 *   5  end when neither the gradient (g' S g / 2 nats) nor H - L (sum |tr (H - L) V| / 2) moves the bound any more
 *   6  classes that separate, alpha auto: the Gaussian of a colder posterior, likelihood and prior to the power 1/T, as
 *      narrow as the rows want it.  Row i left out has eta_i ~ N(m_i - U_i g_i, U_i), U_i = (V_i^-1 - L_i)^-1, and so a
 *      density of its own.  T is a quarter as long as their mean rises, then alpha a quarter or four times.  T = 1 stays
 *      unless that mean gains (left_out.c) SURE of its standard errors, and the mean found predicts every row as it is:
 *      then the likelihood has no maximum, and no width of the coefficients is the data's
 *   7  q in full, covariance form (spread.c); or S^-1 at rank K plus diagonal, precision form (rank_em.c)
 *   8  fewer rows than features, and no prior that is given: X' = Q R, so that eta depends on a = Q'theta alone, N
 *      coordinates with the same prior, and what is orthogonal to Q keeps its own, at no cost in the bound.  1 to 6 run on
 *      the rows of R'; mu = Q a, S^-1 = A0 + sum_i (x_i, 1) L_i (x_i, 1)' as it stands: precision form of rank N C
 *
 * A step costs N P^2 multiply-adds twice (C (C + 1) / 2 products of N x W x W for C classes of W coordinates) and P^3.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/rows.h"
#include "fit/method.h"
#include "la/ops.h"
#include "la/small.h"
#include "model/likelihoods/softmax.h"
#include "posterior/element.h"
#include "posterior/solver.h"
#include "posterior/spread.h"
#include "train/glm_fields.h"
#include "train/left_out.h"
#include "train/products.h"
#include <math.h>
#include <string.h>

#define ROUNDING  1e-11 /* of the bound: below this it cannot judge a step */
#define UNEVEN    1e-3 /* the same where nodes make expectations that are not quite its derivatives */
#define SHORTEST  0x1p-10 /* step that still may bring something */
#define LEAST     0.05    /* step of L */
#define TOL       1e-8    /* nats: mu is within 1.5e-4 standard deviations */
#define TOL_NODES 1e-5    /* of the bound, where nodes make it */
#define COARSE    1e-4    /* of the bound: while alpha is sought */
#define WIDTH     10.0    /* variance of eta a priori, where the search for alpha begins */
#define LEAP      2.0     /* log alpha moves by no more in a round */
#define STILL     2e-2    /* log alpha has arrived: the bound is flat at its top */
#define NOISELESS 1e12    /* beta times the mean of y^2, at most */
#define LOWEST    (-23.0) /* range of log alpha, around the mean of x^2 summed over rows */
#define HIGHEST   14.0
#define SURE      2.0   /* standard errors */
#define SINGULAR  1e-13 /* pivot of a row's L beside its largest diagonal: no curvature that way */
enum {
    ROWS = 256,  /* of a block */
    ROUNDS = 60, /* of alpha, by the bound */
    MOVES = 2,   /* of alpha, by rows left out, whose densities are too high where alpha is low */
};

/* One place (mu, S) with what 1 and 2 know of it. */
typedef struct place {
    double *mu;        /* P */
    double *L;         /* N x C x C: row curvatures in S^-1, weighted */
    double inside;     /* alpha inside S^-1 */
    double *H;         /* N x C x C: expected ones */
    double *off;       /* N: tr (H_i - L_i) V_i / 2 */
    double *gradient;  /* P: sum_i g_i (x_i, 1) */
    double loglik;     /* sum_i w_i E log p */
    double squares;    /* sum w (y - m)^2, gaussian */
    double variances;  /* sum w v, gaussian */
    double logdet;     /* of S^-1 */
    double spread;     /* tr(A0 S), with alpha = 1 for the coefficients where it is plain */
    double intercepts; /* tr of S over the intercepts */
    double promise;    /* g' S g / 2, g the slope of the bound by mu: nats a step may bring */
    double change;     /* sum_i |tr (H_i - L_i) V_i| / 2, and of alpha: how far S is from its own
                          equation, in nats */
    int separates;     /* does mu predict every row as it is? */
} place;

typedef struct vga {
    fab_vga_settings s;
    fab_glm m;
    const fab_likelihood_row *row;
    fab_exec exec;
    fab_watch watch;
    fab_dtype type;         /* of F */
    const fab_gauss *prior; /* borrowed, or NULL */
    fab_examples e;
    int64_t N, P, W, C; /* rows; coordinates; of a class; predictors: in 8 those of a */
    int64_t D;          /* features */
    double weights;     /* sum of the weights: N of rows without */
    double alpha;       /* over T */
    double T;           /* temperature */
    place now, next;

    struct {            /* a prior that is given */
        double *A0;     /* P x P: its precision, or NULL */
        double *m0;     /* P */
        double log_det; /* of A0 */
    } given;

    struct {               /* 1 */
        double *A, *G, *S; /* P x P: S^-1, its factor, S */
        double *scale;     /* P */
    } inverse;

    struct {                       /* 2: a block of rows */
        double *x, *z;             /* ROWS x W: (x, 1), and multiplied */
        double *mean, *g;          /* ROWS x C: means, gradients */
        double *V;                 /* ROWS x C x C */
        fab_softmax_mean *softmax; /* of several classes */
    } block;

    struct {                /* 3 */
        double *mu, *slope; /* P each: the step of mu, and the scaled slope of the bound */
        double relaxed;     /* step of L */
    } step;

    struct {                  /* 6: rows left out */
        place warm, kept;     /* mu, L and inside where T = 1, and of the best place; with its */
        double *density;      /* N: log p of each row, at the place kept, */
        double *other, *base; /* N each: at another, and where T = 1 */
        fab_softmax *predict; /* of several classes */
    } cold;

    double *U; /* 4 x C x C and 2 x C: of a row, in 6 and 8 */
    fab_gauss *q;
    fab_report report;
} vga;

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_vga_settings
static const fab_field fields[] = {
    AUTOMATIC_AT(fab_glm_settings, alpha, F64, 1e-300, 1e300,
                 "prior precision of every weight but the intercept's; auto: by the bound"),
    AUTOMATIC_AT(fab_glm_settings, beta, F64, 1e-300, 1e300,
                 "precision of the noise of a gaussian target; auto: by the bound"),
    FIELD_AT(fab_glm_settings, intercept_alpha, F64, 1e-4, 1e-300, 1e300,
             "prior precision of the intercept"),
    FIELD_AT(fab_glm_settings, seed, I64, 1, 0, 0x1p53, "seed of the start at rank K"),
    AUTOMATIC(K, I64, 1, 4096, "rank of the precision; auto: the full covariance"),
    FIELD(inner, I64, 100, 1, 1e6, "EM loops that bring the precision to rank K, at most"),
    FIELD(rank_tol, F64, 1e-3, 0, 1, "stop them when psi changes by less, relative to itself"),
    FIELD(nodes, I64, 128, 1, 1e6, "several classes: nodes, taken with both signs"),
    AUTOMATIC(tol, F64, 0, 1,
              "stop when a step promises less: in nats; with several classes as a share of the "
              "bound; auto: 1e-8, with several classes 1e-5"),
    FIELD(max_iter, I64, 500, 1, 1e6, "steps"),
    AUTOMATIC(temperature, F64, FAB_COLDEST, 1,
              "of the posterior q is near; auto: 1, less where classes separate and rows left out "
              "say so"),
};
static const fab_fields table = TABLE("vga", fields);
GLM_LAYOUT(fields);
#undef SETTINGS

/* ---- life --------------------------------------------------------------------------------------------- */

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_vga_settings *s = settings;
    const fab_glm m = fab_glm_of(in->model, s->glm.beta);
    vga f = {.s = *s,
             .m = m,
             .row = fab_glm_likelihood(&m),
             .watch = fab_watch_of(x),
             .type = x && x->ops ? x->ops->type : FAB_F64,
             .prior = in->prior,
             .D = m.D,
             .C = m.classes};
    *handle = NULL;
    if (x) f.exec = *x;
    if (!f.row->several && !f.row->mean_loglik)
        return FAB_FAIL(FAB_UNSUPPORTED, "vga: a %s target%s has no expectations here", f.row->name,
                        m.nu > 0 ? " with noise of Student's t" : "");
    if (f.prior && !fab_is_auto_f64(s->temperature) && s->temperature < 1)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "vga: temperature = %g with a prior that is given: expected 1",
                        s->temperature);
    FAB_TRY(fab_check_alone("vga", x));
    FAB_TRY(fab_alloc_array(handle, 1, sizeof f, "vga"));
    memcpy(*handle, &f, sizeof f);
    return FAB_OK;
}

static void release(void *handle)
{
    vga *f = handle;
    if (!f) return;
    fab_gauss_free(f->q);
    fab_release(f);
}

static double weight_of(const vga *f, int64_t i)
{
    return f->e.weight ? f->e.weight[i] : 1;
}

/* 8 */
static int is_wide(const vga *f, int64_t N)
{
    return N < f->D && !f->prior;
}

static fab_status update(void *handle, const fab_examples *e)
{
    vga *f = handle;
    const int64_t N = e->x.n, features = is_wide(f, N) ? N : f->D;
    const int64_t W = features + f->m.intercept, P = f->C * W;
    if (P > FAB_VGA_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "vga: %lld coordinates%s, expected at most %d: laplace or lrvga take more",
                        (long long)P, features < f->D ? ", as many features as rows" : "",
                        FAB_VGA_MAX);
    f->e = *e;
    f->N = N;
    f->W = W;
    f->P = P;
    f->m.D = features;
    f->weights = 0;
    for (int64_t i = 0; i < f->N; i++) f->weights += weight_of(f, i);
    return FAB_OK;
}

/* Is T to be found?  With alpha or a prior given, the posterior is the one that was asked for. */
static int is_tempered(const vga *f)
{
    return fab_is_auto_f64(f->s.temperature) && fab_is_auto_f64(f->s.glm.alpha) && !f->prior &&
           f->row->target == FAB_TARGET_CLASSES;
}

static void layout_place(fab_layout *l, const vga *f, place *p)
{
    p->mu = fab_place(l, f->P, sizeof(double));
    p->gradient = fab_place(l, f->P, sizeof(double));
    p->L = fab_place(l, f->N * f->C * f->C, sizeof(double));
    p->H = fab_place(l, f->N * f->C * f->C, sizeof(double));
    p->off = fab_place(l, f->N, sizeof(double));
}

static void layout(fab_layout *l, void *handle)
{
    vga *f = handle;
    const int64_t P = f->P, rows = f->N < ROWS ? f->N : ROWS;
    layout_place(l, f, &f->now);
    layout_place(l, f, &f->next);
    f->inverse.A = fab_place(l, P * P, sizeof(double));
    f->inverse.G = fab_place(l, P * P, sizeof(double));
    f->inverse.S = fab_place(l, P * P, sizeof(double));
    f->given.A0 = f->prior ? fab_place(l, P * P, sizeof(double)) : NULL;
    f->given.m0 = fab_place(l, P, sizeof(double));
    f->inverse.scale = fab_place(l, P, sizeof(double));
    f->step.mu = fab_place(l, P, sizeof(double));
    f->step.slope = fab_place(l, P, sizeof(double));
    f->block.x = fab_place(l, rows * f->W, sizeof(double));
    f->block.z = fab_place(l, rows * f->W, sizeof(double));
    f->block.mean = fab_place(l, rows * f->C, sizeof(double));
    f->block.g = fab_place(l, rows * f->C, sizeof(double));
    f->block.V = fab_place(l, rows * f->C * f->C, sizeof(double));
    f->U = fab_place(l, 4 * f->C * f->C + 2 * f->C, sizeof(double));
    if (!is_tempered(f)) return;
    f->cold.warm.mu = fab_place(l, P, sizeof(double));
    f->cold.warm.L = fab_place(l, f->N * f->C * f->C, sizeof(double));
    f->cold.kept.mu = fab_place(l, P, sizeof(double));
    f->cold.kept.L = fab_place(l, f->N * f->C * f->C, sizeof(double));
    f->cold.density = fab_place(l, f->N, sizeof(double));
    f->cold.other = fab_place(l, f->N, sizeof(double));
    f->cold.base = fab_place(l, f->N, sizeof(double));
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_glm *m = &in->model->head;
    const int wide = n < m->D && !in->prior;
    const double D = (double)m->D, features = wide ? (double)n : D, C = (double)m->classes,
                 W = features + 1, P = C * (features + (double)m->intercept),
                 rows = fmin((double)n, ROWS),
                 F = x && x->ops ? (double)x->ops->size : sizeof(double);
    (void)settings;
    if (P > FAB_VGA_MAX) return 0; /* is refused */
    const double whole = (double)in->model->D, rank = wide ? C * (double)n : P,
                 both = wide ? (double)n * (D + (double)n) + whole * rank : 0; /* Q, R; F in 8 */
    return 8 * (4 * P * P + 10 * P + (double)n * (6 * C * C + 3) + rows * (2 * W + C * (C + 2)) +
                both) +
           F * whole * rank;
}

/* ---- the prior ------------------------------------------------------------------------------------------ */

static fab_status take_prior(vga *f)
{
    fab_solver *solver;
    double *work = NULL;
    FAB_TRY(fab_solver_create(&solver, f->prior, &f->exec));
    fab_status s = fab_solver_logdet(solver, &f->given.log_det);
    f->given.log_det = -f->given.log_det;
    if (s == FAB_OK)
        s = fab_alloc_array((void **)&work, fab_solver_matrix_work(solver), sizeof *work, "vga");
    if (s == FAB_OK)
        s = fab_solver_matrix(solver, f->prior->form != FAB_FORM_PRECISION, f->given.A0, work);
    fab_release(work);
    fab_solver_free(solver);
    memcpy(f->given.m0, f->prior->mu, (size_t)f->P * sizeof *f->given.m0);
    return s;
}

static int is_weight(const vga *f, int64_t i)
{
    return i % f->W < f->m.D;
}

/* out = A0 (mu - m0) */
static void prior_slope(const vga *f, const double *mu, double *out)
{
    for (int64_t i = 0; i < f->P; i++) {
        out[i] = 0;
        if (!f->prior) out[i] = (is_weight(f, i) ? f->alpha : f->s.glm.intercept_alpha) * mu[i];
        if (f->prior)
            for (int64_t j = 0; j < f->P; j++)
                out[i] += f->given.A0[i * f->P + j] * (mu[j] - f->given.m0[j]);
    }
}

/* KL(q || prior) = (tr A0 S + (mu - m0)' A0 (mu - m0) - P - log det A0 + log det S^-1) / 2 */
static double divergence(vga *f, const place *p)
{
    const double weights = (double)(f->C * f->m.D), intercepts = (double)f->P - weights,
                 trace = f->prior ? p->spread
                                  : f->alpha * p->spread + f->s.glm.intercept_alpha * p->intercepts,
                 logdet = f->prior ? f->given.log_det
                                   : weights * log(f->alpha) +
                                         intercepts * log(f->s.glm.intercept_alpha);
    double size = 0;
    prior_slope(f, p->mu, f->step.mu);
    for (int64_t i = 0; i < f->P; i++) size += f->step.mu[i] * (p->mu[i] - f->given.m0[i]);
    return 0.5 * (trace + size - (double)f->P - logdet + p->logdet);
}

/* ---- 1, 2 ------------------------------------------------------------------------------------------------ */

/* Rows first .. of a block, with a 1 behind the features where there is an intercept; how many. */
static int64_t gather(const vga *f, int64_t first)
{
    const int64_t n = f->N - first < ROWS ? f->N - first : ROWS, W = f->W;
    for (int64_t j = 0; j < n; j++) {
        fab_rows_get(&f->e.x, first + j, f->m.D, f->block.x + j * W);
        if (f->m.intercept) f->block.x[j * W + f->m.D] = 1;
    }
    return n;
}

/* 1: A = A0 + sum_i (x_i, 1) L_i (x_i, 1)', its factor G, its log det */
static fab_status form(vga *f, place *p)
{
    const int64_t P = f->P, W = f->W, C = f->C;
    memset(f->inverse.A, 0, (size_t)(P * P) * sizeof *f->inverse.A);
    if (f->prior) memcpy(f->inverse.A, f->given.A0, (size_t)(P * P) * sizeof *f->inverse.A);
    if (!f->prior)
        for (int64_t i = 0; i < P; i++)
            f->inverse.A[i * P + i] = is_weight(f, i) ? p->inside : f->s.glm.intercept_alpha;
    for (int64_t first = 0, n; first < f->N; first += n) {
        n = gather(f, first);
        for (int64_t k = 0; k < C; k++)
            for (int64_t l = 0; l <= k; l++) {
                for (int64_t j = 0; j < n; j++) {
                    const double by = p->L[((first + j) * C + k) * C + l];
                    for (int64_t i = 0; i < W; i++)
                        f->block.z[j * W + i] = by * f->block.x[j * W + i];
                }
                fab_gemm(FAB_F64, FAB_T, FAB_N, W, W, n, 1, f->block.z, W, f->block.x, W, 1,
                         f->inverse.A + k * W * P + l * W, P);
            }
        FAB_TRY(fab_watch_work(&f->watch, (double)(n * P) * (double)P, "vga", first, f->N));
    }
    for (int64_t i = 0; i < P; i++) /* its lower triangle was made */
        for (int64_t j = 0; j < i; j++) f->inverse.A[j * P + i] = f->inverse.A[i * P + j];
    FAB_TRY(fab_watch_work(&f->watch, pow((double)P, 3) / 4, "vga", 0, 0));
    return fab_scaled_chol(P, f->inverse.A, f->inverse.scale, f->inverse.G, &p->logdet);
}

/* S from the factor, and the traces of KL */
static void invert(vga *f, place *p)
{
    const int64_t P = f->P;
    fab_chol_inv(P, f->inverse.G, f->inverse.S);
    p->spread = p->intercepts = 0;
    for (int64_t i = 0; i < P; i++)
        for (int64_t j = 0; j < P; j++)
            f->inverse.S[i * P + j] *= f->inverse.scale[i] * f->inverse.scale[j];
    for (int64_t i = 0; i < P; i++) {
        if (f->prior)
            for (int64_t j = 0; j < P; j++)
                p->spread += f->given.A0[i * P + j] * f->inverse.S[i * P + j];
        else if (is_weight(f, i))
            p->spread += f->inverse.S[i * P + i];
        else
            p->intercepts += f->inverse.S[i * P + i];
    }
}

/* 1: m and V of the n rows of a block */
static void predictors(vga *f, const place *p, int64_t first, int64_t n)
{
    const int64_t P = f->P, W = f->W, C = f->C;
    fab_gemm(FAB_F64, FAB_N, FAB_T, n, C, W, 1, f->block.x, W, p->mu, W, 0, f->block.mean, C);
    if (f->e.offset)
        for (int64_t i = 0; i < n * C; i++) f->block.mean[i] += f->e.offset[first + i / C];
    for (int64_t k = 0; k < C; k++)
        for (int64_t l = 0; l <= k; l++) {
            fab_gemm(FAB_F64, FAB_N, FAB_N, n, W, W, 1, f->block.x, W,
                     f->inverse.S + k * W * P + l * W, P, 0, f->block.z, W);
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t i = 0; i < W; i++)
                    sum += f->block.x[j * W + i] * f->block.z[j * W + i];
                if (k == l && sum < 0) sum = 0; /* rounding */
                f->block.V[(j * C + k) * C + l] = f->block.V[(j * C + l) * C + k] = sum;
            }
        }
}

/* f->step.mu = G^-1 of the scaled slope of the bound by mu, of the place whose factor G is; and what it promises */
static void find_step(vga *f, place *p)
{
    prior_slope(f, p->mu, f->step.mu);
    for (int64_t i = 0; i < f->P; i++)
        f->step.slope[i] = f->step.mu[i] = f->inverse.scale[i] * (p->gradient[i] - f->step.mu[i]);
    fab_chol_solve(f->P, 1, f->inverse.G, f->step.mu);
    p->promise = 0;
    for (int64_t i = 0; i < f->P; i++) p->promise += 0.5 * f->step.mu[i] * f->step.slope[i];
}

/* 2: of all rows; sets what the bound, 3, 4 and 5 need */
static fab_status expect(vga *f, place *p)
{
    const int64_t P = f->P, W = f->W, C = f->C;
    p->loglik = p->squares = p->variances = p->change = 0;
    memset(p->gradient, 0, (size_t)P * sizeof *p->gradient);
    for (int64_t first = 0, n; first < f->N; first += n) {
        n = gather(f, first);
        predictors(f, p, first, n);
        for (int64_t j = 0; j < n; j++) {
            const double w = weight_of(f, first + j) / f->T, y = f->e.y[first + j],
                         *m = f->block.mean + j * C, *V = f->block.V + j * C * C;
            double *g = f->block.g + j * C, *H = p->H + (first + j) * C * C;
            const double *L = p->L + (first + j) * C * C;
            p->loglik += w * (f->row->several
                                  ? fab_softmax_mean_at(f->block.softmax, (int64_t)y, m, V, g, H)
                                  : f->row->mean_loglik(&f->m, y, *m, *V, g, H));
            for (int64_t k = 0; k < C; k++) g[k] *= w;
            double change = 0;
            for (int64_t k = 0; k < C * C; k++) {
                H[k] *= w;
                change += 0.5 * (H[k] - L[k]) * V[k];
            }
            p->off[first + j] = change;
            p->change += fabs(change);
            if (!f->row->noise) continue;
            p->squares += w * (y - *m) * (y - *m);
            p->variances += w * *V;
        }
        fab_gemm(FAB_F64, FAB_T, FAB_N, C, W, n, 1, f->block.g, C, f->block.x, W, 1, p->gradient,
                 W);
        FAB_TRY(fab_watch_work(&f->watch, (double)(n * P) * (double)P, "vga", first, f->N));
    }
    if (!f->prior) p->change += 0.5 * fabs(f->alpha - p->inside) * p->spread;
    find_step(f, p);
    return FAB_OK;
}

/* ---- 3 ---------------------------------------------------------------------------------------------------- */

/* The start: the mean of y, and the curvature of the rows there. */
static fab_status start(vga *f)
{
    place *p = &f->now;
    const int64_t C = f->C;
    double sum = 0;
    for (int64_t j = 0; j < f->N; j++) sum += weight_of(f, j) * f->e.y[j];
    memset(p->mu, 0, (size_t)f->P * sizeof *p->mu);
    if (f->prior) memcpy(p->mu, f->given.m0, (size_t)f->P * sizeof *p->mu);
    if (!f->prior && f->m.intercept && f->row->start)
        p->mu[f->m.D] = f->row->start(sum / f->weights, f->weights);
    p->inside = f->alpha;
    for (int64_t first = 0, n; first < f->N; first += n) {
        n = gather(f, first);
        fab_gemm(FAB_F64, FAB_N, FAB_T, n, C, f->W, 1, f->block.x, f->W, p->mu, f->W, 0,
                 f->block.mean, C);
        for (int64_t j = 0; j < n; j++) {
            const double w = weight_of(f, first + j) / f->T;
            double *L = p->L + (first + j) * C * C;
            for (int64_t k = 0; k < C; k++)
                f->block.mean[j * C + k] += f->e.offset ? f->e.offset[first + j] : 0;
            f->row->loglik(&f->m, f->e.y[first + j], f->block.mean + j * C, NULL, L);
            for (int64_t k = 0; k < C * C; k++) L[k] *= w;
        }
    }
    FAB_TRY(form(f, p));
    invert(f, p);
    return expect(f, p);
}

/* f->next: a step of size t for L, and t_mean for mu, from f->now */
static fab_status try_step(vga *f, double t, double t_mean)
{
    place *p = &f->now, *to = &f->next;
    const int64_t numbers = f->N * f->C * f->C;
    for (int64_t i = 0; i < numbers; i++) to->L[i] = (1 - t) * p->L[i] + t * p->H[i];
    to->inside = (1 - t) * p->inside + t * f->alpha;
    FAB_TRY(form(f, to));
    find_step(f, p); /* by the new S */
    for (int64_t i = 0; i < f->P; i++)
        to->mu[i] = p->mu[i] + t_mean * f->inverse.scale[i] * f->step.mu[i];
    invert(f, to);
    return expect(f, to);
}

/* ---- 4 ---------------------------------------------------------------------------------------------------- */

/* The slope of the bound, and of the log density of the half-Cauchy, by log alpha; and MacKay's step of log alpha. */
static void slope_of_alpha(const vga *f, double square, double *slope, double *move)
{
    const place *p = &f->now;
    const double d = (double)(f->C * f->m.D),
                 h = 2 / (1 + f->alpha / square) - 1; /* s^2 = 1 / square */
    double size = 0;
    for (int64_t i = 0; i < f->P; i++) size += is_weight(f, i) ? p->mu[i] * p->mu[i] : 0;
    const double gamma = d - f->alpha * p->spread + h;
    *slope = 0.5 * (gamma - f->alpha * size);
    *move = gamma > 0 && size > 0 ? log(gamma / size / f->alpha) : LEAP;
}

/* The same of beta; what was computed with the old one follows. */
static double choose_beta(vga *f)
{
    place *p = &f->now;
    const double weights = f->weights;
    double size = 0;
    for (int64_t j = 0; j < f->N; j++) size += weight_of(f, j) * f->e.y[j] * f->e.y[j];
    const double was = f->m.beta, highest = size > 0 ? NOISELESS * weights / size : was,
                 wish = (weights - was * p->variances) / p->squares,
                 most = fmin(exp(LEAP) * was, highest);
    f->m.beta = wish > 0 ? fmin(fmax(wish, was / exp(LEAP)), most) : most;
    const double ratio = f->m.beta / was;
    p->loglik += 0.5 * (weights * log(ratio) - (f->m.beta - was) * (p->squares + p->variances));
    for (int64_t i = 0; i < f->P; i++) p->gradient[i] *= ratio;
    for (int64_t i = 0; i < f->N; i++) p->H[i] *= ratio;
    return fabs(log(ratio));
}

/* The mean square of a feature. */
static fab_status mean_square(vga *f, double *square)
{
    double sum = 0;
    for (int64_t j = 0; j < f->N; j++) {
        fab_rows_get(&f->e.x, j, f->m.D, f->block.x);
        for (int64_t i = 0; i < f->m.D; i++) sum += weight_of(f, j) * f->block.x[i] * f->block.x[i];
    }
    *square = sum / f->weights / (double)f->D; /* that of a row and of its a are one */
    if (*square > 0 && isfinite(*square)) return FAB_OK;
    return FAB_FAIL(
        FAB_BAD_DATA,
        "vga: the features are all 0 or too large, so alpha cannot be found: give alpha");
}

/* ---- the algorithm ---------------------------------------------------------------------------------------- */

/* Is f->next better than f->now, whose bound is given?  Where the bound cannot judge, it shall be nearer to a place that
 * solves its own equations. */
static int is_better(vga *f, double bound)
{
    const place *p = &f->now, *to = &f->next;
    const double rise = to->loglik - divergence(f, to) - bound, size = 1 + fabs(bound);
    if (rise >= -ROUNDING * size) return 1;
    return f->row->several && rise >= -UNEVEN * size &&
           to->promise + to->change < p->promise + p->change;
}

/* The step for L that would have made the last one exact along itself, from how far each row was off before and after it. */
static double relax(const vga *f, double t)
{
    const double *now = f->now.off, *was = f->next.off;
    double along = 0, square = 0;
    for (int64_t i = 0; i < f->N; i++) {
        along += was[i] * (was[i] - now[i]);
        square += (now[i] - was[i]) * (now[i] - was[i]);
    }
    return square > 0 ? fmin(fmax(t * along / square, LEAST), 1) : t;
}

/* 3, 5: the best place for alpha and beta as they stand; tol in nats, or as a share of the bound */
static fab_status settle(vga *f, double tol, int share)
{
    f->report.converged = 0;
    f->step.relaxed = 1;
    while (f->report.iterations < f->s.max_iter) {
        const double bound = f->now.loglik - divergence(f, &f->now),
                     size = share ? 1 + fabs(bound) : 1;
        double t = 1;
        int better = 0;
        for (; t >= SHORTEST; t /= 2) {
            const fab_status s = try_step(f, t * f->step.relaxed, t);
            if (s != FAB_OK && s != FAB_NUMERIC) return s;
            if (s == FAB_NUMERIC && t == SHORTEST) return fab_prefix(s, "vga: S^-1: ");
            better = s == FAB_OK && is_better(f, bound);
            if (better) break;
        }
        f->report.iterations++;
        if (!better) { /* of several classes: as far as their nodes can tell */
            const double reach = f->row->several ? UNEVEN : tol;
            f->report.converged = f->now.promise <= reach * size &&
                                  f->now.change <= sqrt(reach) * size;
            break;
        }
        const place last = f->now;
        f->now = f->next;
        f->next = last;
        f->step.relaxed = relax(f, t * f->step.relaxed);
        f->report.converged = f->now.promise <= tol * size && f->now.change <= sqrt(tol) * size;
        if (f->report.converged) break;
        FAB_TRY(fab_watch_tick(&f->watch, "vga", f->report.iterations, f->s.max_iter));
    }
    return FAB_OK;
}

/* 4: where the slope of the bound by log alpha is 0, by secants inside a bracket; beta beside it */
static fab_status choose(vga *f, int auto_alpha, int auto_beta, double square)
{
    const double centre = log(square * f->weights);
    double x = log(f->alpha), lo = centre + LOWEST, hi = centre + HIGHEST, old = x, old_slope = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double slope, move;
        FAB_TRY(settle(f, COARSE, 1));
        if (!f->report.converged) break; /* said at the end */
        const double noise = auto_beta ? choose_beta(f) : 0;
        if (!auto_alpha) {
            if (noise <= STILL) break;
            continue;
        }
        slope_of_alpha(f, square, &slope, &move);
        if (slope < 0)
            hi = fmin(hi, x);
        else
            lo = fmax(lo, x);
        if (i > 0 && (slope - old_slope) * (x - old) < 0)
            move = -slope * (x - old) / (slope - old_slope);
        double next = x + fmin(fmax(move, -LEAP), LEAP);
        if (!(next > lo && next < hi))
            next = slope < 0 ? 0.5 * (fmax(lo, x - LEAP) + x) : 0.5 * (x + fmin(hi, x + LEAP));
        old = x;
        old_slope = slope;
        x = next;
        f->alpha = exp(x);
        if (fabs(x - old) <= STILL && noise <= STILL) break;
    }
    return FAB_OK;
}

/* ---- 6 ------------------------------------------------------------------------------------------------------ */

/* log p of a row under eta ~ N(m - U g, U), U = (V^-1 - L)^-1 = R (I - R' L R)^-1 R', V = R R'.  A row of weight w is
 * w rows: the share 1 / w of its L is left out, g being the slope of that. */
static fab_status left_out(vga *f, int64_t i, double y, const double *m, const double *V,
                           const double *g, double share, const double *L, double *logp)
{
    const int64_t C = f->C;
    double *R = f->U, *LR = R + C * C, *M = LR + C * C, *U = M + C * C, *mean = U + C * C,
           *all = mean + C;
    memcpy(R, V, (size_t)(C * C) * sizeof *R);
    FAB_TRY(fab_chol(C, R));
    fab_mm(FAB_N, FAB_N, C, C, C, share, L, R, 0, LR);
    fab_mm(FAB_T, FAB_N, C, C, C, -1, R, LR, 0, M);
    fab_add_identity(C, M);
    FAB_TRY(fab_chol(C, M));
    for (int64_t k = 0; k < C; k++)
        for (int64_t l = 0; l < C; l++) LR[l * C + k] = R[k * C + l]; /* R' */
    fab_tri_solve(FAB_LEFT, FAB_N, C, C, M, LR);
    fab_mm(FAB_T, FAB_N, C, C, C, 1, LR, LR, 0, U);
    memcpy(mean, m, (size_t)C * sizeof *mean);
    fab_mv(FAB_N, C, C, -1, U, g, 1, mean);
    if (!f->row->several) {
        *logp = f->row->logp(&f->m, *mean, *U, y);
        return FAB_OK;
    }
    FAB_TRY(fab_softmax_logp(f->cold.predict, i, mean, U, all));
    *logp = all[(int64_t)y];
    return FAB_OK;
}

/* Is m, the predictor of row i without its offset, on the side of y? */
static int is_right(const vga *f, int64_t i, double y, const double *m)
{
    if (!f->row->several) return (y > 0.5 ? 1 : -1) * (*m - (f->e.offset ? f->e.offset[i] : 0)) > 0;
    for (int64_t k = 0; k < f->C; k++)
        if (k != (int64_t)y && !(m[(int64_t)y] > m[k])) return 0;
    return 1;
}

/* f->cold.other: of every row at the place f->now, whose S is there; their mean.  A row without which S^-1 would not be
 * positive definite has no density, and neither has the place. */
static fab_status leave_out(vga *f, double *mean)
{
    const int64_t C = f->C;
    double sum = 0, weights = 0;
    f->now.separates = 1;
    for (int64_t first = 0, n; first < f->N; first += n) {
        n = gather(f, first);
        predictors(f, &f->now, first, n);
        for (int64_t j = 0; j < n; j++) {
            const int64_t i = first + j;
            const double w = weight_of(f, i), y = f->e.y[i], *m = f->block.mean + j * C,
                         *V = f->block.V + j * C * C;
            double *g = f->block.g + j * C, *H = f->U;
            if (f->row->several)
                fab_softmax_mean_at(f->block.softmax, (int64_t)y, m, V, g, H);
            else
                f->row->mean_loglik(&f->m, y, *m, *V, g, H);
            const double share = w > 1 ? 1 / w : 1;
            for (int64_t k = 0; k < C; k++) g[k] *= share * w / f->T;
            const fab_status s =
                left_out(f, i, y, m, V, g, share, f->now.L + i * C * C, &f->cold.other[i]);
            if (s != FAB_OK && s != FAB_NUMERIC) return s;
            if (s != FAB_OK) f->cold.other[i] = -INFINITY;
            if (w > 0 && !is_right(f, i, y, m)) f->now.separates = 0;
            sum += w * f->cold.other[i];
            weights += w;
        }
        FAB_TRY(fab_watch_work(&f->watch, (double)(n * f->P) * (double)f->P, "vga", first, f->N));
    }
    *mean = sum / weights;
    return FAB_OK;
}

/* Everything of f->now from its mu, L and inside. */
static fab_status renew(vga *f)
{
    FAB_TRY(form(f, &f->now));
    invert(f, &f->now);
    return expect(f, &f->now);
}

static void copy_place(const vga *f, place *to, const place *from)
{
    memcpy(to->mu, from->mu, (size_t)f->P * sizeof *to->mu);
    memcpy(to->L, from->L, (size_t)(f->N * f->C * f->C) * sizeof *to->L);
    to->inside = from->inside;
    to->separates = from->separates;
}

/* Go on at temperature T with another alpha, both as a user knows them, from f->now. */
static fab_status change(vga *f, double T, double alpha)
{
    const double by = f->T / T;
    f->T = T;
    f->alpha = alpha / T;
    f->s.glm.intercept_alpha *= by;
    f->now.inside *= by;
    for (int64_t i = 0; i < f->N * f->C * f->C; i++) f->now.L[i] *= by;
    FAB_TRY(renew(f));
    return settle(f, COARSE, 1);
}

/* Is this temperature and alpha better than the best?  f->cold.kept is the best place, now and before.  The steps of a trial are
 * its own, and one that fails is no better. */
static fab_status try_narrower(vga *f, double T, double alpha, double *best, int *better)
{
    const double was_T = f->T, was_alpha = f->alpha * f->T, by = T / was_T;
    const int64_t iterations = f->report.iterations;
    double mean = -INFINITY, *was = f->cold.density;
    f->report.iterations = 0;
    const fab_status s = change(f, T, alpha);
    if (s != FAB_NUMERIC) FAB_TRY(s);
    if (s == FAB_OK) FAB_TRY(leave_out(f, &mean));
    f->report.iterations = iterations;
    *better = s == FAB_OK && f->report.converged && mean > *best;
    if (*better) {
        f->cold.density = f->cold.other;
        f->cold.other = was;
        *best = mean;
        copy_place(f, &f->cold.kept, &f->now);
        return FAB_OK;
    }
    f->T = was_T;
    f->alpha = was_alpha / was_T;
    f->s.glm.intercept_alpha *= by;
    copy_place(f, &f->now, &f->cold.kept);
    return renew(f);
}

/* A quarter of T as long as that helps. */
static fab_status cool(vga *f, double *best)
{
    int better = 1;
    while (better && f->T * FAB_COLDER >= FAB_COLDEST)
        FAB_TRY(try_narrower(f, f->T * FAB_COLDER, f->alpha * f->T, best, &better));
    return FAB_OK;
}

static fab_status temper(vga *f)
{
    const double alpha = f->alpha;
    double best;
    int better;
    FAB_TRY(leave_out(f, &best));
    if (!isfinite(best)) return FAB_OK;
    memcpy(f->cold.base, f->cold.other, (size_t)f->N * sizeof *f->cold.base);
    memcpy(f->cold.density, f->cold.other, (size_t)f->N * sizeof *f->cold.base);
    copy_place(f, &f->cold.warm, &f->now);
    copy_place(f, &f->cold.kept, &f->now);
    FAB_TRY(cool(f, &best));
    if (f->T == 1) return FAB_OK;
    for (int way = 0, helped = 0; way < 2 && !helped; way++)
        for (int i = 0; i < MOVES; i++) {
            const double by = way == 0 ? FAB_COLDER : 1 / FAB_COLDER;
            FAB_TRY(try_narrower(f, f->T, by * f->alpha * f->T, &best, &better));
            if (!better) break;
            helped = 1;
        }
    FAB_TRY(cool(f, &best));
    if (f->cold.kept.separates &&
        fab_left_out_gains(f->N, f->e.weight, f->cold.density, f->cold.base, SURE))
        return FAB_OK;
    f->alpha = alpha;
    f->s.glm.intercept_alpha *= f->T;
    f->T = 1;
    copy_place(f, &f->now, &f->cold.warm);
    return renew(f);
}

static fab_status climb(vga *f)
{
    double square = 1;
    if (f->prior) FAB_TRY(take_prior(f));
    const int auto_alpha = !f->prior && fab_is_auto_f64(f->s.glm.alpha),
              auto_beta = f->row->noise && fab_is_auto_f64(f->s.glm.beta);
    f->alpha = f->prior ? 1 : f->s.glm.alpha;
    f->T = 1;
    if (auto_alpha) {
        FAB_TRY(mean_square(f, &square));
        f->alpha = square * (double)f->D / WIDTH;
    }
    FAB_TRY(start(f));
    if (!isfinite(f->now.loglik))
        return FAB_FAIL(FAB_NUMERIC,
                        "vga: the log-likelihood is not finite: bring the columns to size");
    if (auto_alpha || auto_beta) FAB_TRY(choose(f, auto_alpha, auto_beta, square));
    if (is_tempered(f) && f->report.converged) FAB_TRY(temper(f));
    if (!fab_is_auto_f64(f->s.temperature) && f->s.temperature < 1)
        FAB_TRY(change(f, f->s.temperature, f->alpha));
    const int several = f->row->several;
    FAB_TRY(settle(f, fab_is_auto_f64(f->s.tol) ? several ? TOL_NODES : TOL : f->s.tol, several));
    f->report.alpha = f->prior ? NAN : f->alpha * f->T;
    f->report.temperature = f->T;
    f->report.beta = f->m.beta;
    if (auto_alpha && log(f->report.alpha / square / f->weights) > HIGHEST - LEAP)
        fab_watch_log(&f->watch,
                      "vga: the bound sees no signal: alpha stands at the end of its range");
    f->alpha *= f->T; /* the bound of q is that of the model itself, for any T */
    f->s.glm.intercept_alpha *= f->T;
    f->report.log_evidence = f->T * f->now.loglik - divergence(f, &f->now);
    const double other =
        (double)(f->C * (f->D - f->m.D)); /* 8: orthogonal, of variance T / alpha */
    f->report.log_evidence -= 0.5 * other * (f->T - 1 - log(f->T));
    f->s.glm.intercept_alpha /= f->T; /* for A */
    return FAB_OK;
}

/* ---- 7, 8 ---------------------------------------------------------------------------------------------------- */

/* S^-1 of all coordinates: A, or psi and F F'. */
typedef struct precision {
    int64_t P, rank;
    const double *A;  /* P x P, or NULL */
    double *F, *FV;   /* P x rank; rank x .. */
    double *psi, *mu; /* P */
    fab_watch *watch;
} precision;

static fab_status times(void *self, int64_t k, const double *V, double *out)
{
    const precision *p = self;
    const int64_t P = p->P, n = p->rank;
    if (p->A) {
        fab_gemm(FAB_F64, FAB_N, FAB_N, P, k, P, 1, p->A, P, V, k, 0, out, k);
        return FAB_OK;
    }
    fab_gemm(FAB_F64, FAB_T, FAB_N, n, k, P, 1, p->F, n, V, k, 0, p->FV, k);
    for (int64_t i = 0; i < P * k; i++) out[i] = p->psi[i / k] * V[i];
    fab_gemm(FAB_F64, FAB_N, FAB_N, P, k, n, 1, p->F, n, p->FV, k, 1, out, k);
    return FAB_OK;
}

static fab_status tick(void *self, int64_t done, int64_t total)
{
    return fab_watch_tick(((const precision *)self)->watch, "vga: rank K", done, total);
}

/* diag: of S^-1 */
static fab_status cut(vga *f, precision *p, const double *diag)
{
    const int64_t P = p->P, K = f->s.K;
    const fab_products A = {.P = P, .self = p, .times = times, .tick = tick};
    const fab_rank_plan plan = {K, f->s.inner, f->s.rank_tol, f->s.glm.seed};
    fab_rank *r;
    FAB_TRY(fab_rank_em(&r, &A, diag, &plan, &f->exec));
    f->report.floored = r->floored;
    const fab_status s = fab_gauss_create(&f->q, FAB_FORM_PRECISION, f->type, P, K);
    if (s == FAB_OK) {
        memcpy(f->q->psi, r->psi, (size_t)P * sizeof *r->psi);
        for (int64_t i = 0; i < P * K; i++) fab_gauss_put(f->q, i, r->W[i]);
    }
    fab_release(r);
    return s;
}

static fab_status gauss(vga *f)
{
    const int64_t P = f->P;
    FAB_TRY(form(f, &f->now)); /* of the place that was kept */
    if (!fab_is_auto_i64(f->s.K) && f->s.K < P) {
        precision p = {.P = P, .A = f->inverse.A, .watch = &f->watch};
        for (int64_t i = 0; i < P; i++) f->step.mu[i] = f->inverse.A[i * P + i];
        FAB_TRY(cut(f, &p, f->step.mu));
    } else {
        FAB_TRY(fab_gauss_create(&f->q, FAB_FORM_COVARIANCE, f->type, P, P));
        FAB_TRY(
            fab_spread_inverse(f->q, f->inverse.scale, f->inverse.G, f->inverse.A, f->inverse.S));
    }
    memcpy(f->q->mu, f->now.mu, (size_t)P * sizeof(double));
    return fab_gauss_check(f->q);
}

/* The orthonormal columns of Q and, instead of the rows, those of R'. */
typedef struct span {
    int64_t N, D;
    double *Q, *R, *work;
} span;

static void layout_span(fab_layout *l, void *handle)
{
    span *s = handle;
    s->Q = fab_place(l, s->D * s->N, sizeof(double)); /* a column, then the next */
    s->R = fab_place(l, s->N * s->N, sizeof(double));
    s->work = fab_place(l, fab_qr_work(s->D, s->N), sizeof(double));
}

static fab_status open_span(span **out, vga *f)
{
    const span proto = {.N = f->N, .D = f->D};
    FAB_TRY(fab_build((void **)out, sizeof proto, &proto, layout_span));
    span *s = *out;
    for (int64_t j = 0; j < s->N; j++) fab_rows_get(&f->e.x, j, s->D, s->Q + j * s->D);
    fab_qr(s->D, s->N, s->Q, s->R, s->work);
    f->e.x = (fab_rows){s->R, FAB_F64, s->N, s->N};
    return FAB_OK;
}

/* M = B B', B lower, for M (n x n, destroyed) that may be singular: what is rounding becomes a column of 0. */
static void root(int64_t n, double *M, double *B)
{
    double most = 0;
    for (int64_t k = 0; k < n; k++) most = fmax(most, M[k * n + k]);
    memset(B, 0, (size_t)(n * n) * sizeof *B);
    for (int64_t k = 0; k < n; k++) {
        const double pivot = M[k * n + k];
        if (!(pivot > SINGULAR * most)) continue;
        for (int64_t i = k; i < n; i++) B[i * n + k] = M[i * n + k] / sqrt(pivot);
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = k + 1; j <= i; j++) M[i * n + j] -= B[i * n + k] * B[j * n + k];
    }
}

static void layout_precision(fab_layout *l, void *handle)
{
    precision *p = handle;
    p->F = fab_place(l, p->P * p->rank, sizeof(double));
    p->FV = fab_place(l, p->rank * p->rank, sizeof(double));
    p->psi = fab_place(l, p->P, sizeof(double));
    p->mu = fab_place(l, 2 * p->P, sizeof(double));
}

/* 8: F has the columns (x_i, 1) B_ik, L_i = B_i B_i'; `rows` are those of the table */
static void expand(const vga *f, const span *s, const fab_rows *rows, precision *p)
{
    const int64_t C = f->C, N = f->N, D = f->D, W = D + f->m.intercept;
    double *x = p->mu, *L = f->U, *B = L + C * C;
    for (int64_t i = 0; i < p->P; i++)
        p->psi[i] = i % W < D ? f->now.inside : f->s.glm.intercept_alpha;
    for (int64_t j = 0; j < N; j++) {
        fab_rows_get(rows, j, D, x);
        if (f->m.intercept) x[D] = 1;
        memcpy(L, f->now.L + j * C * C, (size_t)(C * C) * sizeof *L);
        root(C, L, B);
        for (int64_t i = 0; i < p->P; i++)
            for (int64_t k = 0; k < C; k++)
                p->F[i * p->rank + j * C + k] = x[i % W] * B[i / W * C + k];
    }
    for (int64_t c = 0; c < C; c++) { /* mu = Q a */
        fab_gemv(FAB_T, N, D, 1, s->Q, D, f->now.mu + c * f->W, 0, p->mu + c * W);
        if (f->m.intercept) p->mu[c * W + D] = f->now.mu[c * f->W + N];
    }
}

static fab_status gauss_of_wide(vga *f, const span *s, const fab_rows *rows)
{
    const precision proto = {
        .P = f->C * (f->D + f->m.intercept), .rank = f->N * f->C, .watch = &f->watch};
    const int64_t n = proto.rank;
    precision *p;
    FAB_TRY(fab_build((void **)&p, sizeof proto, &proto, layout_precision));
    expand(f, s, rows, p);
    fab_status status = FAB_OK;
    if (!fab_is_auto_i64(f->s.K) && f->s.K < n) {
        double *diag = p->mu + p->P;
        for (int64_t i = 0; i < p->P; i++) {
            diag[i] = p->psi[i];
            for (int64_t k = 0; k < n; k++) diag[i] += p->F[i * n + k] * p->F[i * n + k];
        }
        status = cut(f, p, diag);
    } else {
        status = fab_gauss_create(&f->q, FAB_FORM_PRECISION, f->type, p->P, n);
        if (status == FAB_OK) {
            memcpy(f->q->psi, p->psi, (size_t)p->P * sizeof *p->psi);
            for (int64_t i = 0; i < p->P * n; i++) fab_gauss_put(f->q, i, p->F[i]);
        }
    }
    if (status == FAB_OK) memcpy(f->q->mu, p->mu, (size_t)p->P * sizeof(double));
    fab_release(p);
    FAB_TRY(status);
    return fab_gauss_check(f->q);
}

static fab_status run(vga *f, const span *s, const fab_rows *rows)
{
    FAB_TRY(climb(f));
    return s ? gauss_of_wide(f, s, rows) : gauss(f);
}

static fab_status result(void *handle, const fab_gauss **q)
{
    vga *f = handle, *room = NULL, proto;
    span *wide = NULL;
    fab_gauss_free(f->q);
    f->q = NULL;
    f->report = (fab_report){0};
    proto = *f;
    if (is_wide(f, f->N)) FAB_TRY(open_span(&wide, &proto)); /* 8 */
    fab_status s = fab_build((void **)&room, sizeof proto, &proto, layout);
    if (s == FAB_OK && f->row->several)
        s = fab_softmax_mean_init(&room->block.softmax, f->C, f->s.nodes);
    if (s == FAB_OK && f->row->several) s = fab_softmax_init(&room->cold.predict, f->C, 0, 0);
    const int before = fab_blas_enter();
    if (s == FAB_OK) s = run(room, wide, &f->e.x);
    fab_blas_leave(before);
    if (room) {
        fab_softmax_mean_free(room->block.softmax);
        fab_softmax_free(room->cold.predict);
        f->q = room->q;
        f->report = room->report;
        f->report.gain = room->now.promise / room->weights;
    }
    fab_release(room);
    fab_release(wide);
    FAB_TRY(s);
    *q = f->q;
    return FAB_OK;
}

static fab_status report(void *handle, fab_report *r)
{
    *r = ((const vga *)handle)->report;
    return FAB_OK;
}

const fab_method fab_vga_method = {
    .name = "vga",
    .summary =
        "the variational Gaussian of a generalised linear model, with its bound of the evidence",
    .takes = FAB_TAKES_LINEAR,
    .suits = fab_suits_expectations,
    .fields = &table,
    .bytes = bytes,
    .init = init,
    .update = update,
    .result = result,
    .report = report,
    .free = release,
};
