/* spike_slab.c - linear regression with a sparse prior: few large effects, over small ones that every column may have.
 *
 * With columns z_j of mean 0 and variance 1, and y alike:
 *
 *     y = sum_j z_j (b_j + u_j) + noise,   noise ~ N(0, s2)
 *     u_j ~ N(0, h s2)                     the dense part: ridge regression, integrated out exactly
 *     b_j ~ pi_0 delta_0 + sum_k pi_k N(0, tau_k),   tau_k = 4^(1 - k), k = 1 .. K      the sparse part
 *
 * q(b) = prod_j q_j, each a mixture of the same form.  pi, h and s2 are where the bound of the evidence is highest, so that
 * the data say how sparse the truth is, and of which sizes; pi_0 = 1 is `exact`, h = 0 the spike and slab alone.
 *
 *   1  columns to mean 0 and variance 1; rows rotated to the M = min(N, D) principal axes, where the dense part is a
 *      variance of each row: Z Z' = U diag(l) U', Z <- U' Z, y <- U' y, var(y_i | b) = s2 / o_i, o_i = 1 / (1 + h l_i)
 *   2  rows times sqrt(o_i); residuals r = y - Z b, squares x_j = |z_j|^2
 *   3  a sweep over the columns, the one most correlated with y first:
 *          t = z_j' r + x_j b_j,   v_k = tau_k / (1 + tau_k x_j / s2),   m_k = v_k t / s2
 *          p_k ~ pi_k (v_k / tau_k)^1/2 exp(t m_k / 2 s2),   p_0 ~ pi_0       the factor q_j
 *          b_j <- sum_k p_k m_k,   c_j <- sum_k p_k (m_k^2 + v_k) - b_j^2,   r follows
 *   4  bound = - nu/2 log 2 pi s2 + 1/2 sum log o_i - (|r|^2 + sum_j x_j c_j + rest) / 2 s2 - sum_j KL(q_j || prior)
 *      end when it rises by less than tol
 *   5  pi_k <- the mean of p_k;  h and s2 <- where the bound is highest, one search over log h.  Go to 2
 *   6  mean: b + h Z' r.  Precision: Z'Z / s2 + diag(psi), 1 / psi_j = h s2 + 1 / e_j, with e_j the precision that with x_j
 *      makes c_j: 1 / c_j = e_j + x_j / s2, so that columns that are kept have their joint covariance
 *
 * A sweep costs about 6 M D multiply-adds, the rotation 3 M^2 max(N, D) and that of M^3 of the eigenvectors.
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
#include "posterior/element.h"
#include "train/glm_fields.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.283185307179586477
/* a column varies by less than this part of its size: rounding */
#define CONSTANT (8 * DBL_EPSILON)
/* eigenvalues below this part of the largest are rounding: no direction of the columns */
#define NOTHING   1e-13
#define NOISELESS 1e-12 /* s2, at least: of the variance of y */
#define FAINTEST  1e-6  /* h times the largest l, at least: a dense part that nothing feels */
#define STRONGEST 1e9   /* and at most */
#define GRID      0.25  /* step of the search, in log h */
#define FINE      1e-4  /* and where it ends */
/* psi of the free intercept, relative to its precision: the error that it makes */
#define SLACK 1e-13
#define FREE  1e-3 /* e_j, at least: of what the rows say of the column */
enum { ROWS = 256, SLABS = 16 };

/* q(b) and what was chosen with it. */
typedef struct place {
    double *b, *c; /* D each: mean and variance under q */
    double h, s2;
    double pi[SLABS + 1];
    double bound; /* 4 */
    int64_t iterations, converged;
} place;

typedef struct spike_slab {
    fab_spike_slab_settings s;
    fab_glm m;
    fab_watch watch;
    fab_dtype type; /* of F */
    fab_examples e;
    int64_t N, D, P, M; /* rows; features; with the intercept; principal axes */
    double weights, nu; /* sum of weights; less 1 for a free intercept */
    int64_t slabs;
    place now;

    struct { /* 1 */
        double y_centre, y_scale;
        double *centre, *scale; /* D: scale 0 of a column that does not vary */
        int64_t *order;         /* columns that vary, `varying` of them */
        int64_t varying;
    } units;

    struct {           /* 1, 2: the table, turned */
        double *Z;     /* D x M: a column of the table in each row; first not rotated, then in 2 */
        double *y;     /* M */
        double *l, *o; /* M */
        double *x;     /* D: squares of the columns, in 2 */
        double rest;   /* square of y outside the axes */
        double *G;     /* M x M: Gram matrix, eigenvectors */
        double *block; /* ROWS x max(D, M) */
        double *work;  /* of the eigenvectors */
    } axes;

    struct {           /* 3, 4 */
        double *r, *g; /* M: residual; E (y - Z b)_i^2, before sqrt(o) */
        double *along; /* D: Z'y */
    } sweep;

    double *inclusion; /* D: the caller's */
    fab_gauss *q;
    fab_report report;
} spike_slab;

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_spike_slab_settings
static const fab_field fields[] = {
    AUTOMATIC_AT(
        fab_glm_settings, alpha, F64, 1e-300, 1e300,
        "precision of the small effects that all columns have, of columns with variance 1; "
        "auto: by "
        "the bound"),
    AUTOMATIC_AT(fab_glm_settings, beta, F64, 1e-300, 1e300,
                 "precision of the noise; auto: by the bound"),
    FIELD_AT(fab_glm_settings, intercept_alpha, F64, 1e-4, 1e-300, 1e300,
             "not used: the intercept is free"),
    FIELD_AT(fab_glm_settings, seed, I64, 1, 0, 0x1p53, "not used: nothing is drawn"),
    FIELD(tol, F64, 1e-4, 0, 1, "stop when a sweep raises the bound by less, in nats"),
    FIELD(max_iter, I64, 1000, 1, 1e6, "sweeps over the columns"),
};
static const fab_fields table = TABLE("spike-slab", fields);
GLM_LAYOUT(fields);
#undef SETTINGS

/* ---- life --------------------------------------------------------------------------------------------- */

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_spike_slab_settings *s = settings;
    const fab_glm m = fab_glm_of(in->model, s->glm.beta);
    spike_slab *f;
    *handle = NULL;
    if (m.likelihood != FAB_LIKELIHOOD_GAUSSIAN)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "spike-slab: takes gaussian targets, not %s; vga or laplace fit it",
                        fab_likelihood_name(m.likelihood));
    if (in->prior)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "spike-slab: has a prior of its own; exact takes one that is given");
    FAB_TRY(fab_check_alone("spike-slab", x));
    FAB_TRY(fab_alloc_array((void **)&f, 1, sizeof *f, "spike-slab"));
    *f = (spike_slab){.s = *s,
                      .m = m,
                      .watch = fab_watch_of(x),
                      .type = x && x->ops ? x->ops->type : FAB_F64,
                      .D = m.D,
                      .P = m.D + m.intercept};
    *handle = f;
    return FAB_OK;
}

static void release(void *handle)
{
    spike_slab *f = handle;
    if (!f) return;
    fab_gauss_free(f->q);
    fab_release(f->inclusion);
    fab_release(f);
}

static fab_status update(void *handle, const fab_examples *e)
{
    spike_slab *f = handle;
    f->e = *e;
    f->N = e->x.n;
    f->M = f->N < f->D ? f->N : f->D;
    if (f->M > FAB_SPIKE_SLAB_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "spike-slab: min(N, D) = %lld is above %d; lrvga fits it at rank K",
                        (long long)f->M, FAB_SPIKE_SLAB_MAX);
    return FAB_OK;
}

static void layout(fab_layout *l, void *handle)
{
    spike_slab *f = handle;
    const int64_t D = f->D, M = f->M;
    double **vectors[] = {&f->units.centre, &f->units.scale, &f->axes.x,
                          &f->sweep.along,  &f->now.b,       &f->now.c};
    double **axes[] = {&f->axes.y, &f->sweep.r, &f->sweep.g, &f->axes.l, &f->axes.o};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = fab_place(l, D, sizeof(double));
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        *axes[i] = fab_place(l, M, sizeof(double));
    f->units.order = fab_place(l, D, sizeof(int64_t));
    f->axes.Z = fab_place(l, D * M, sizeof(double));
    f->axes.G = fab_place(l, M * M, sizeof(double));
    f->axes.block = fab_place(l, ROWS * D, sizeof(double)); /* D >= M */
    f->axes.work = fab_place(l, fab_eig_work(M), sizeof(double));
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const double D = (double)in->model->head.D, M = fmin((double)n, D),
                 F = x && x->ops ? (double)x->ops->size : sizeof(double);
    (void)settings;
    if (M > FAB_SPIKE_SLAB_MAX) return 0; /* is refused */
    return 8 * (D * M + M * M + ROWS * D + 8 * D + 5 * M + (double)fab_eig_work((int64_t)M)) +
           F * (D + 1) * (M + 1);
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static double weight(const spike_slab *f, int64_t j)
{
    return f->e.weight ? f->e.weight[j] : 1;
}

static double target(const spike_slab *f, int64_t j)
{
    return f->e.y[j] - (f->e.offset ? f->e.offset[j] : 0);
}

/* Means, weighted, where there is an intercept, and standard deviations; a second pass removes the rounding of the
 * first. */
static fab_status measure(spike_slab *f)
{
    const int64_t N = f->N, D = f->D;
    double *row = f->axes.block, square = 0;
    f->weights = f->units.y_centre = 0;
    for (int64_t j = 0; j < N; j++) f->weights += weight(f, j);
    for (int pass = 0; pass < 2 && f->m.intercept; pass++) {
        double more = 0;
        memset(f->axes.x, 0, (size_t)D * sizeof *f->axes.x);
        for (int64_t j = 0; j < N; j++) {
            const double share = weight(f, j) / f->weights;
            fab_rows_get(&f->e.x, j, D, row);
            for (int64_t i = 0; i < D; i++) f->axes.x[i] += share * (row[i] - f->units.centre[i]);
            more += share * (target(f, j) - f->units.y_centre);
            FAB_TRY(fab_watch_work(&f->watch, 4 * (double)D, "spike-slab", j, N));
        }
        for (int64_t i = 0; i < D; i++) f->units.centre[i] += f->axes.x[i];
        f->units.y_centre += more;
    }
    for (int64_t j = 0; j < N; j++) {
        const double share = weight(f, j) / f->weights, y = target(f, j) - f->units.y_centre;
        fab_rows_get(&f->e.x, j, D, row);
        for (int64_t i = 0; i < D; i++)
            f->units.scale[i] += share * (row[i] - f->units.centre[i]) *
                                 (row[i] - f->units.centre[i]);
        square += share * y * y;
        FAB_TRY(fab_watch_work(&f->watch, 4 * (double)D, "spike-slab", j, N));
    }
    f->nu = f->weights - (double)f->m.intercept;
    f->units.y_scale = sqrt(square);
    if (!(f->nu > 0))
        return FAB_FAIL(FAB_BAD_DATA,
                        "spike-slab: rows of weight %g in all are too few to learn from",
                        f->weights);
    if (!(f->units.y_scale > fmax(CONSTANT * fabs(f->units.y_centre), DBL_MIN)))
        return FAB_FAIL(FAB_BAD_DATA,
                        "spike-slab: the target does not vary, so there is nothing to find");
    if (!isfinite(f->units.y_scale))
        return FAB_FAIL(FAB_BAD_DATA,
                        "spike-slab: the squares of the target are too large: bring it to size");
    for (int64_t i = 0; i < D; i++) {
        f->units.scale[i] = sqrt(f->units.scale[i]);
        if (!isfinite(f->units.scale[i]))
            return FAB_FAIL(
                FAB_BAD_DATA,
                "spike-slab: the squares of feature %lld are too large: bring it to size",
                (long long)i);
        if (!(f->units.scale[i] > fmax(CONSTANT * fabs(f->units.centre[i]), DBL_MIN)))
            f->units.scale[i] = 0;
        if (f->units.scale[i] > 0) f->units.order[f->units.varying++] = i;
    }
    if (f->units.varying > 0) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA, "spike-slab: no feature varies, so there is nothing to find");
}

/* Row j of the table, times sqrt(weight), in the units of 1; its target. */
static double load(const spike_slab *f, int64_t j, double *row)
{
    const double root = sqrt(weight(f, j));
    fab_rows_get(&f->e.x, j, f->D, row);
    for (int64_t i = 0; i < f->D; i++)
        row[i] = f->units.scale[i] > 0 ? root * ((row[i] - f->units.centre[i]) / f->units.scale[i])
                                       : 0;
    return root * ((target(f, j) - f->units.y_centre) / f->units.y_scale);
}

/* Eigenvalues that are rounding are 0; G holds the eigenvectors, one after the other, the largest number of each
 * positive: their signs are any, and would differ between machines. */
static fab_status eigenvectors(spike_slab *f)
{
    const int64_t M = f->M;
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < i; j++) f->axes.G[j * M + i] = f->axes.G[i * M + j];
    FAB_TRY(fab_watch_tick(&f->watch, "spike-slab: axes", 0, 0));
    const fab_status s = fab_eig(M, f->axes.G, f->axes.l, f->axes.work);
    if (s != FAB_OK) return fab_prefix(s, "spike-slab: ");
    for (int64_t k = 0; k < M; k++) {
        double *v = f->axes.G + k * M, most = 0;
        if (!(f->axes.l[k] > NOTHING * f->axes.l[M - 1])) f->axes.l[k] = 0;
        for (int64_t i = 0; i < M; i++)
            if (fabs(v[i]) > fabs(most)) most = v[i];
        if (most < 0)
            for (int64_t i = 0; i < M; i++) v[i] = -v[i];
    }
    return fab_watch_tick(&f->watch, "spike-slab: axes", 0, 0);
}

/* Fewer rows than columns: Z Z' = U l U', Z <- U' Z */
static fab_status rotate_wide(spike_slab *f)
{
    const int64_t D = f->D, M = f->M;
    double *raw = f->sweep.r;
    for (int64_t j = 0; j < M; j++) {
        raw[j] = load(f, j, f->axes.block);
        for (int64_t i = 0; i < D; i++) f->axes.Z[i * M + j] = f->axes.block[i];
        FAB_TRY(fab_watch_work(&f->watch, 8 * (double)D, "spike-slab", j, M));
    }
    fab_gemv(FAB_N, D, M, 1, f->axes.Z, M, raw, 0, f->sweep.along);
    for (int64_t first = 0; first < D; first += ROWS) {
        const int64_t n = D - first < ROWS ? D - first : ROWS;
        fab_syrk(n, M, f->axes.Z + first * M, M, f->axes.G, M);
        FAB_TRY(fab_watch_work(&f->watch, (double)(n * M) * (double)M / 8, "spike-slab", first, D));
    }
    FAB_TRY(eigenvectors(f));
    fab_gemv(FAB_N, M, M, 1, f->axes.G, M, raw, 0, f->axes.y);
    for (int64_t first = 0; first < D; first += ROWS) {
        const int64_t n = D - first < ROWS ? D - first : ROWS;
        double *part = f->axes.Z + first * M;
        fab_gemm(FAB_F64, FAB_N, FAB_T, n, M, M, 1, part, M, f->axes.G, M, 0, f->axes.block, M);
        for (int64_t i = 0; i < n * M; i++) part[i] = f->axes.l[i % M] > 0 ? f->axes.block[i] : 0;
        FAB_TRY(fab_watch_work(&f->watch, (double)(n * M) * (double)M / 4, "spike-slab", first, D));
    }
    return FAB_OK;
}

/* As many rows as columns or more: Z'Z = V l V', Z <- l^1/2 V', y <- l^-1/2 V' Z'y, and what of y lies outside */
static fab_status rotate_tall(spike_slab *f)
{
    const int64_t D = f->D, N = f->N;
    double square = 0, inside = 0;
    for (int64_t first = 0; first < N; first += ROWS) {
        const int64_t n = N - first < ROWS ? N - first : ROWS;
        for (int64_t j = 0; j < n; j++) {
            double *row = f->axes.block + j * D;
            const double y = load(f, first + j, row);
            for (int64_t i = 0; i < D; i++) f->sweep.along[i] += y * row[i];
            square += y * y;
        }
        fab_syrk(n, D, f->axes.block, D, f->axes.G, D);
        FAB_TRY(fab_watch_work(&f->watch, (double)(n * D) * (double)D / 8, "spike-slab", first, N));
    }
    FAB_TRY(eigenvectors(f));
    for (int64_t k = 0; k < D; k++) {
        const double *v = f->axes.G + k * D, root = sqrt(f->axes.l[k]);
        double sum = 0;
        for (int64_t i = 0; i < D; i++) {
            sum += v[i] * f->sweep.along[i];
            f->axes.Z[i * D + k] = root * v[i];
        }
        f->axes.y[k] = root > 0 ? sum / root : 0;
        inside += f->axes.y[k] * f->axes.y[k];
    }
    f->axes.rest = fmax(square - inside, 0);
    return FAB_OK;
}

typedef struct ranked {
    double by;
    int64_t column;
} ranked;

static int compare(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    if (p->by != q->by) return p->by > q->by ? -1 : 1;
    return p->column < q->column ? -1 : p->column > q->column;
}

/* The columns that vary, the one most correlated with y first. */
static fab_status sort_columns(spike_slab *f)
{
    ranked *all;
    FAB_TRY(fab_alloc_array((void **)&all, f->units.varying, sizeof *all, "spike-slab"));
    for (int64_t t = 0; t < f->units.varying; t++)
        all[t] = (ranked){fabs(f->sweep.along[f->units.order[t]]), f->units.order[t]};
    qsort(all, (size_t)f->units.varying, sizeof *all, compare);
    for (int64_t t = 0; t < f->units.varying; t++) f->units.order[t] = all[t].column;
    fab_release(all);
    return FAB_OK;
}

/* ---- 2, 3, 4 ------------------------------------------------------------------------------------------- */

static double dot(int64_t n, const double *a, const double *b)
{
    double s[8] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int64_t k = 0; k < 8; k++) s[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum += a[i] * b[i];
    return sum + ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* 2: o from now.h; Z, which has the factors of the last o, gets those of this one */
static fab_status weigh(spike_slab *f)
{
    const int64_t M = f->M;
    place *p = &f->now;
    double *change = f->sweep.g;
    for (int64_t i = 0; i < M; i++) {
        const double o = 1 / (1 + p->h * f->axes.l[i]);
        change[i] = sqrt(o / f->axes.o[i]);
        f->axes.o[i] = o;
        f->sweep.r[i] = sqrt(o) * f->axes.y[i];
    }
    for (int64_t t = 0; t < f->units.varying; t++) {
        const int64_t j = f->units.order[t];
        double *z = f->axes.Z + j * M;
        const double b = p->b[j];
        for (int64_t i = 0; i < M; i++) z[i] *= change[i];
        for (int64_t i = 0; i < M; i++) f->sweep.r[i] -= b * z[i];
        f->axes.x[j] = dot(M, z, z);
        FAB_TRY(
            fab_watch_work(&f->watch, 2 * (double)M, "spike-slab", p->iterations, f->s.max_iter));
    }
    return FAB_OK;
}

/* 3: the factor q_j: p (slabs + 1), m_k and v_k; the log of what p was divided by */
static double factor(const spike_slab *f, double x, double t, double *p, double *m, double *v)
{
    const place *at = &f->now;
    double most = -INFINITY, sum = 0, tau = 1;
    m[0] = v[0] = 0;
    for (int64_t k = 0; k <= f->slabs; k++) {
        p[k] = log(fmax(at->pi[k], DBL_MIN));
        if (k > 0) {
            const double gain = 1 + tau * x / at->s2;
            v[k] = tau / gain;
            m[k] = v[k] * t / at->s2;
            p[k] += 0.5 * (t * m[k] / at->s2 - log(gain));
            tau /= 4;
        }
        most = fmax(most, p[k]);
    }
    for (int64_t k = 0; k <= f->slabs; k++) sum += p[k] = exp(p[k] - most);
    for (int64_t k = 0; k <= f->slabs; k++) p[k] /= sum;
    return most + log(sum);
}

/* 3, 4; `share`: the sum of p over the columns */
static fab_status sweep(spike_slab *f, double *share)
{
    const int64_t M = f->M;
    place *at = &f->now;
    double p[SLABS + 1], m[SLABS + 1], v[SLABS + 1], prior = 0, spread = 0, logs = 0;
    memset(f->sweep.g, 0, (size_t)M * sizeof *f->sweep.g);
    memset(share, 0, (SLABS + 1) * sizeof *share);
    for (int64_t n = 0; n < f->units.varying; n++) {
        const int64_t j = f->units.order[n];
        const double *z = f->axes.Z + j * M, x = f->axes.x[j], was = at->b[j];
        const double t = dot(M, z, f->sweep.r) + x * was, log_sum = factor(f, x, t, p, m, v);
        double mean = 0, square = 0;
        for (int64_t k = 0; k <= f->slabs; k++) {
            mean += p[k] * m[k];
            square += p[k] * (m[k] * m[k] + v[k]);
            share[k] += p[k];
        }
        const double c = fmax(square - mean * mean, 0), step = mean - was;
        at->b[j] = mean;
        at->c[j] = c;
        for (int64_t i = 0; i < M; i++) {
            f->sweep.r[i] -= step * z[i];
            f->sweep.g[i] += c * (z[i] * z[i]);
        }
        prior += log_sum - (t * mean - 0.5 * x * square) / at->s2; /* - KL(q_j || prior) */
        spread += x * c;
        FAB_TRY(fab_watch_work(&f->watch, 4 * (double)M + 100, "spike-slab", at->iterations,
                               f->s.max_iter));
    }
    for (int64_t i = 0; i < M; i++) {
        logs += log(f->axes.o[i]);
        f->sweep.g[i] = (f->sweep.g[i] + f->sweep.r[i] * f->sweep.r[i]) / f->axes.o[i];
    }
    at->bound = 0.5 * (logs - f->nu * log(TWO_PI * at->s2) -
                       (dot(M, f->sweep.r, f->sweep.r) + spread + f->axes.rest) / at->s2) +
                prior;
    return FAB_OK;
}

/* ---- 5 -------------------------------------------------------------------------------------------------- */

/* s2 that goes with h, and the part of the bound that the two have a say in. */
static double value(const spike_slab *f, double h, double *s2)
{
    double Q = f->axes.rest, logs = 0;
    for (int64_t i = 0; i < f->M; i++) {
        const double d = 1 + h * f->axes.l[i];
        Q += f->sweep.g[i] / d;
        logs += log(d);
    }
    const double unit = f->units.y_scale * f->units.y_scale;
    if (!fab_is_auto_f64(f->s.glm.beta))
        *s2 = 1 / (f->s.glm.beta * unit);
    else if (!fab_is_auto_f64(f->s.glm.alpha))
        *s2 = 1 / (f->s.glm.alpha * unit * h);
    else
        *s2 = fmax(Q / f->nu, NOISELESS);
    return -0.5 * (f->nu * log(*s2) + logs + Q / *s2);
}

/* The range of log h: none when alpha and beta are given. */
static void range(const spike_slab *f, double *lo, double *hi)
{
    const double unit = f->units.y_scale * f->units.y_scale;
    *lo = log(FAINTEST / f->axes.l[f->M - 1]);
    *hi = log(STRONGEST / f->axes.l[f->M - 1]);
    if (fab_is_auto_f64(f->s.glm.alpha)) return;
    const double dense = 1 / (f->s.glm.alpha * unit); /* h s2 */
    *lo = *hi = log(dense * f->s.glm.beta * unit);
    if (!fab_is_auto_f64(f->s.glm.beta)) return;
    *lo = log(dense / 4); /* s2 from 4 down: y has variance 1 */
    *hi = log(dense / NOISELESS);
}

/* now.h and now.s2: a grid finds the highest hill, golden sections its top; they stay where nothing is higher */
static void choose(spike_slab *f)
{
    const double golden = 0.6180339887498949;
    place *p = &f->now;
    double lo, hi, s2, best, at = log(p->h);
    best = value(f, p->h, &s2);
    p->s2 = s2;
    range(f, &lo, &hi);
    if (!(hi > lo)) return;
    for (double x = lo; x <= hi; x += GRID) {
        const double v = value(f, exp(x), &s2);
        if (!(v > best)) continue;
        best = v;
        at = x;
    }
    double a = fmax(at - GRID, lo), b = fmin(at + GRID, hi), c = b - golden * (b - a),
           d = a + golden * (b - a), vc = value(f, exp(c), &s2), vd = value(f, exp(d), &s2);
    while (b - a > FINE) {
        if (vc > vd) {
            b = d, d = c, vd = vc;
            c = b - golden * (b - a), vc = value(f, exp(c), &s2);
        } else {
            a = c, c = d, vc = vd;
            d = a + golden * (b - a), vd = value(f, exp(d), &s2);
        }
    }
    const double top = 0.5 * (a + b);
    if (value(f, exp(top), &s2) >= best) at = top;
    p->h = exp(at);
    value(f, p->h, &p->s2);
}

/* ---- the algorithm ---------------------------------------------------------------------------------------- */

/* b = 0, pi_0 = 0.9 and no dense part to speak of.  From ridge regression's the bound climbs to the same place. */
static void start(spike_slab *f)
{
    const double unit = f->units.y_scale * f->units.y_scale;
    place *p = &f->now;
    double lo, hi;
    for (int64_t i = 0; i < f->M; i++) f->axes.o[i] = 1;
    /* the smallest slab: an eighth of the standard error of an effect where nothing else is known, or less */
    f->slabs = (int64_t)fmin(fmax(ceil(log(f->weights) / log(4)) + 3, 4), SLABS);
    for (int64_t k = 0; k <= f->slabs; k++) p->pi[k] = k == 0 ? 0.9 : 0.1 / (double)f->slabs;
    range(f, &lo, &hi);
    p->s2 = fab_is_auto_f64(f->s.glm.beta) ? 1 : 1 / (f->s.glm.beta * unit);
    p->h = fab_is_auto_f64(f->s.glm.alpha) ? exp(lo) : 1 / (f->s.glm.alpha * unit * p->s2);
}

/* 2 to 5 */
static fab_status climb(spike_slab *f)
{
    place *p = &f->now;
    double share[SLABS + 1], last = -INFINITY;
    for (;;) {
        FAB_TRY(weigh(f));        /* 2 */
        FAB_TRY(sweep(f, share)); /* 3 */
        p->iterations++;
        if (!isfinite(p->bound))
            return FAB_FAIL(FAB_NUMERIC, "spike-slab: the bound is not finite in sweep %lld",
                            (long long)p->iterations);
        p->converged = p->bound - last <= f->s.tol; /* 4 */
        if (p->converged || p->iterations >= f->s.max_iter) return FAB_OK;
        last = p->bound;
        for (int64_t k = 0; k <= f->slabs; k++)
            p->pi[k] = share[k] / (double)f->units.varying; /* 5 */
        choose(f);
        FAB_TRY(fab_watch_tick(&f->watch, "spike-slab", p->iterations, f->s.max_iter));
    }
}

/* ---- 6 ---------------------------------------------------------------------------------------------------- */

/* P(b_j is not 0) under q. */
static void include(spike_slab *f)
{
    double p[SLABS + 1], m[SLABS + 1], v[SLABS + 1];
    f->report.kept = 0;
    for (int64_t j = 0; j < f->D; j++) f->inclusion[j] = 1 - f->now.pi[0];
    for (int64_t n = 0; n < f->units.varying; n++) {
        const int64_t j = f->units.order[n];
        const double t = dot(f->M, f->axes.Z + j * f->M, f->sweep.r) + f->axes.x[j] * f->now.b[j];
        factor(f, f->axes.x[j], t, p, m, v);
        f->inclusion[j] = fmin(fmax(1 - p[0], 0), 1);
        f->report.kept += f->inclusion[j] > 0.5;
    }
}

static fab_status gauss(spike_slab *f)
{
    const place *p = &f->now;
    const int64_t D = f->D, M = f->M, K = M + f->m.intercept;
    const double noise = p->s2 * f->units.y_scale * f->units.y_scale, root = 1 / sqrt(noise);
    double slab = 0, tau = 1;
    for (int64_t k = 1; k <= f->slabs; k++, tau /= 4) slab += p->pi[k] * tau;
    FAB_TRY(fab_gauss_create(&f->q, FAB_FORM_PRECISION, f->type, f->P, K));
    for (int64_t i = 0; i < M; i++) f->sweep.g[i] = root / sqrt(f->axes.o[i]);
    double far = 0, centre = f->units.y_centre;
    for (int64_t j = 0; j < D; j++) {
        const double *z = f->axes.Z + j * M, scale = f->units.scale[j] > 0 ? f->units.scale[j] : 1,
                     x = f->axes.x[j] / p->s2;           /* what the rows say of b_j */
        double mean = 0, variance = p->h * p->s2 + slab; /* a priori */
        if (f->units.scale[j] > 0) {
            const double e = fmax(1 / fmax(p->c[j], DBL_MIN) - x, FREE * x);
            variance = p->h * p->s2 + 1 / e;
            mean = p->b[j] + p->h * dot(M, z, f->sweep.r);
        }
        f->q->mu[j] = mean * f->units.y_scale / scale;
        f->q->psi[j] = scale * scale / (variance * f->units.y_scale * f->units.y_scale);
        for (int64_t i = 0; i < M; i++)
            fab_gauss_put(f->q, j * K + i,
                          f->units.scale[j] > 0 ? scale * z[i] * f->sweep.g[i] : 0);
        centre -= f->units.centre[j] * f->q->mu[j];
        far += f->units.centre[j] * f->units.centre[j] / f->q->psi[j];
        FAB_TRY(fab_watch_work(&f->watch, 4 * (double)M, "spike-slab", j, D));
    }
    if (!f->m.intercept) return FAB_OK;
    const double all = root * sqrt(f->weights); /* the column sqrt(W / noise) (centre, 1) */
    for (int64_t j = 0; j < D; j++) fab_gauss_put(f->q, j * K + M, all * f->units.centre[j]);
    for (int64_t i = 0; i < M; i++) fab_gauss_put(f->q, D * K + i, 0);
    fab_gauss_put(f->q, D * K + M, all);
    f->q->mu[D] = centre;
    f->q->psi[D] = SLACK / (1 / (all * all) + far);
    return FAB_OK;
}

static fab_status run(spike_slab *f)
{
    FAB_TRY(measure(f));
    FAB_TRY(f->N < f->D ? rotate_wide(f) : rotate_tall(f)); /* 1 */
    FAB_TRY(sort_columns(f));
    start(f);
    FAB_TRY(climb(f));
    const double unit = f->units.y_scale * f->units.y_scale;
    double lo, hi;
    f->report.iterations = f->now.iterations;
    f->report.converged = f->now.converged;
    f->report.alpha = 1 / (f->now.h * f->now.s2 * unit);
    f->report.beta = 1 / (f->now.s2 * unit);
    f->report.log_evidence = f->now.bound - f->nu * log(f->units.y_scale) -
                             (f->m.intercept ? 0.5 * log(f->weights) : 0);
    range(f, &lo, &hi);
    if (fab_is_auto_f64(f->s.glm.beta) && (f->now.s2 <= NOISELESS || log(f->now.h) > hi - GRID))
        fab_watch_log(
            &f->watch,
            "spike-slab: the rows are fitted exactly: beta stands at the end of its range");
    include(f);
    return gauss(f); /* 6 */
}

static fab_status result(void *handle, const fab_gauss **q)
{
    spike_slab *f = handle, *room;
    fab_gauss_free(f->q);
    fab_release(f->inclusion);
    f->q = NULL;
    f->inclusion = NULL;
    f->report = (fab_report){0};
    FAB_TRY(fab_alloc_array((void **)&f->inclusion, f->D, sizeof *f->inclusion, "spike-slab"));
    FAB_TRY(fab_build((void **)&room, sizeof *f, f, layout));
    const int before = fab_blas_enter();
    const fab_status s = run(room);
    fab_blas_leave(before);
    f->q = room->q;
    f->report = room->report;
    fab_release(room);
    FAB_TRY(s);
    if (fab_gauss_check(f->q) != FAB_OK)
        return fab_prefix(FAB_NUMERIC,
                          "spike-slab: the posterior is not finite (beta = %g): ", f->report.beta);
    *q = f->q;
    return FAB_OK;
}

static fab_status report(void *handle, fab_report *r)
{
    *r = ((const spike_slab *)handle)->report;
    return FAB_OK;
}

static fab_status tensors(void *handle, fab_tensors *t)
{
    const spike_slab *f = handle;
    return fab_tensors_add(t, "inclusion", FAB_F64, 1, &f->D, f->inclusion);
}

const fab_method fab_spike_slab_method = {
    .name = "spike-slab",
    .summary = "linear regression with a sparse prior: few large effects over many small ones",
    .takes = FAB_TAKES_LINEAR,
    .suits = fab_suits_normal,
    .fields = &table,
    .bytes = bytes,
    .init = init,
    .update = update,
    .result = result,
    .report = report,
    .tensors = tensors,
    .free = release,
};
