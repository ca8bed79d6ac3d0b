/* prequential.c - how good a stream is while it goes: rows are predicted before they are learned.
 *
 *   1  the first rows are learned alone: 64 of a model; of vectors 8 D and at least 64, the next power of two
 *   2  the Gaussian of all rows so far predicts those that follow, until the next point: rows 64, 128, 256, .. and from
 *      65536 on every eighth more.  Of vectors, whose Gaussian is searched for, it stays until there are 4 times the rows
 *      (8 times where D > 256); of a stream that forgets it is taken again after 8192 rows
 *   3  of rows 0, 1, .. number i is scored when i is a multiple of the largest power of two up to i / 4096 (of vectors i /
 *      512), and stands for so many rows; a stream that forgets is scored as far as it remembers
 *   4  log p(y) in the user's units, the square of the error or a wrong class, and whether the 90 % interval held y,
 *      are added to the point that the row belongs to
 *   5  a point is a step of the learning curve; all of them, those of the first half and the last ones are summed up
 *
 * So the rows that are scored, and by which Gaussian, hang on the number of rows alone and not on how they are read or
 * on the threads.  Measured: 5 % of the time of lrvga, 1e6 rows of 20 columns in an npy file, one core; fa 20 %, 30 ms.
 *
 * SPDX-License-Identifier: MIT */
#include "table/prequential.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/text.h"
#include "la/ops.h"
#include "la/small.h"
#include "model/likelihoods/likelihood.h"
#include "model/likelihoods/softmax.h"
#include <math.h>
#include <string.h>

enum {
    FIRST = 64,              /* rows that are learned alone */
    FINE = 65536,            /* points are an eighth apart from here on */
    OCTAVE = 4096,           /* rows of a model scored while their number doubles */
    OCTAVE_VECTORS = 512,    /* the same of vectors */
    FORGET_ROWS = 8192,      /* a stream that forgets: most rows under one Gaussian */
    CALL = 256,              /* first rows of a call, which are all scored */
    CHUNK = 256,             /* most rows predicted at a time, */
    CHUNK_NUMBERS = 1 << 18, /* of about so many numbers */
    POINTS = 256
};
/* a log density beyond is taken for none: its square would leave the numbers */
#define TOO_FAR 1e100
/* the last rows are worse when their log density is lower by so many standard errors, */
#define WORSE_SE 4.0
#define WORSE    0.05 /* and by so many nats */

/* Sums over rows scored, each with the number of rows that it stands for. */
typedef struct sums {
    double rows;    /* that they stand for */
    double scored;  /* rows */
    double lost;    /* rows whose density was no finite number; in no other sum */
    double density; /* log p(y) */
    double square;  /* its squares */
    double error;   /* (y - mean)^2, or 1 of a wrong class */
    double covered; /* 1: inside the 90 % interval */
} sums;

/* The learning curve: sums of the rows behind so many. */
typedef struct steps {
    int64_t n;
    int64_t seen[POINTS];
    sums of[POINTS];
} steps;

typedef struct told {
    fab_stream_scores all; /* first: it is given away */
    fab_stream_point point[POINTS];
} told;

/* A Gaussian that predicts. */
typedef struct reference {
    int64_t at;   /* rows that it has seen, or when there was none; -1: not asked for yet */
    fab_gauss *q; /* NULL: none */
    int root;     /* 1: F is a root of the precision, upper triangular, and psi says nothing */
    fab_solver *solver;
    fab_glm model; /* beta in fitting units */
} reference;

typedef enum kind { VECTORS, NUMBERS, COUNTS, CLASSES } kind;
static const char *const kinds[] = {"vectors", "numbers", "counts", "classes"};

struct fab_prequential {
    int64_t D, first, ratio, octave, memory, chunk; /* memory: rows that a stream remembers */
    const fab_scaling *units;
    kind of;
    fab_net *net;
    fab_exec exec;

    int64_t n;      /* rows seen */
    int64_t called; /* of them before the call */
    int off; /* the stream has rows behind it that were not scored: its calls are, and there is no curve */
    int asks;               /* the call wants a Gaussian of its own */
    reference by, file, *r; /* of the curve; of the call; the one at work */
    fab_softmax *softmax;   /* of several classes; else NULL */
    double *several;        /* of them: means, covariance, a row for one class, its product */

    steps curve;
    sums call;
    told say;

    double *x, *product;    /* chunk x (D + 1): rows, and their products with the covariance */
    double *y, *offset;     /* chunk */
    double *more;           /* chunk: variance of the predictors beside that of theta */
    double *weight, *extra; /* chunk: rows that each stands for in all; in this call */
    double *eta, *variance; /* chunk */
    double *logp;           /* classes */
};

/* ---- life ---------------------------------------------------------------------------------------------- */

static int go_on(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return 0;
}

static void layout(fab_layout *l, void *handle)
{
    fab_prequential *a = handle;
    const int64_t width = a->D + 1, levels = a->units ? a->units->levels : 0;
    a->x = fab_place(l, a->chunk * width, sizeof(double));
    a->product = fab_place(l, a->units && !a->net ? a->chunk * width : 0, sizeof(double));
    a->y = fab_place(l, a->chunk, sizeof(double));
    a->offset = fab_place(l, a->chunk, sizeof(double));
    a->more = fab_place(l, a->chunk, sizeof(double));
    a->weight = fab_place(l, a->chunk, sizeof(double));
    a->extra = fab_place(l, a->chunk, sizeof(double));
    a->eta = fab_place(l, a->chunk, sizeof(double));
    a->variance = fab_place(l, a->chunk, sizeof(double));
    a->logp = fab_place(l, levels > 0 ? levels : 1, sizeof(double));
}

fab_status fab_prequential_create(fab_prequential **a, const fab_prequential_plan *p)
{
    fab_prequential proto = {.D = p->D,
                             .first = FIRST,
                             .ratio = 1,
                             .octave = OCTAVE,
                             .memory = INT64_MAX,
                             .chunk = CHUNK_NUMBERS / (p->D + 1),
                             .units = p->units,
                             .of = VECTORS,
                             .exec = {.threads = p->threads, .progress = go_on},
                             .by = {.at = -1}};
    *a = NULL;
    if (proto.chunk > CHUNK) proto.chunk = CHUNK;
    if (proto.chunk < 1) proto.chunk = 1;
    if (p->units) {
        proto.of = NUMBERS;
        if (p->target == FAB_TARGET_COUNTS) proto.of = COUNTS;
        if (p->target == FAB_TARGET_CLASSES) proto.of = CLASSES;
    }
    if (p->forget < 1) proto.memory = (int64_t)ceil(1 / (1 - p->forget));
    if (!p->units) {
        proto.octave = OCTAVE_VECTORS;
        proto.ratio = p->D > 256 ? 8 : 4;
        while (proto.first < 8 * p->D) proto.first *= 2;
    }
    if (p->net) {
        char *json;
        FAB_TRY(fab_net_json(p->net, &json));
        const fab_status s = fab_net_from_json(&proto.net, json, 0, NULL);
        fab_text_free(json);
        FAB_TRY(s);
    }
    const fab_status s = fab_build((void **)a, sizeof proto, &proto, layout);
    if (s != FAB_OK) fab_net_free(proto.net);
    return s;
}

static void drop(reference *r)
{
    fab_solver_free(r->solver);
    fab_gauss_free(r->q);
    r->solver = NULL;
    r->q = NULL;
}

void fab_prequential_free(fab_prequential *a)
{
    if (!a) return;
    drop(&a->by);
    drop(&a->file);
    fab_net_free(a->net);
    fab_softmax_free(a->softmax);
    fab_release(a->several);
    fab_release(a);
}

/* ---- 1, 2: which Gaussian ------------------------------------------------------------------------------ */

/* The last point at or before row n, n >= FIRST, and the next one. */
static int64_t point_of(int64_t n, int64_t *next)
{
    int64_t from = FIRST, to = 2 * FIRST;
    while (to <= n) {
        from = to;
        to += to < FINE ? to : to / 8;
    }
    *next = to;
    return from;
}

int64_t fab_prequential_next(const fab_prequential *a, int64_t left, int *due)
{
    const reference *r = &a->by;
    int64_t until;
    *due = 0;
    if (a->n < a->first) return left < a->first - a->n ? left : a->first - a->n;
    if (a->asks) *due = FAB_DUE_CALL;
    if (a->off) return left;
    const int64_t from = point_of(a->n, &until);
    int anew = r->at < 0 || (from > r->at && from / a->ratio >= r->at);
    if (a->memory < INT64_MAX) {
        anew = anew || a->n - r->at >= FORGET_ROWS;
        const int64_t end = (anew ? a->n : r->at) + FORGET_ROWS;
        if (end < until) until = end;
    }
    if (anew) *due |= FAB_DUE_POINT;
    return left < until - a->n ? left : until - a->n;
}

static fab_status put(fab_prequential *a, reference *r, const fab_gauss *q, int root,
                      const fab_glm *m)
{
    drop(r);
    r->at = a->n;
    r->root = root;
    if (!q) return FAB_OK;
    FAB_TRY(fab_gauss_copy(&r->q, q, q->type));
    if (m) r->model = *m;
    fab_status s = FAB_OK;
    if (!a->net && !root && q->form != FAB_FORM_POINT)
        s = fab_solver_create(&r->solver, r->q, &a->exec);
    if (s == FAB_OK && m && !a->net && fab_glm_likelihood(m)->several && !a->softmax) {
        const int64_t C = m->classes;
        s = fab_softmax_init(&a->softmax, C, 0, 0);
        if (s == FAB_OK)
            s = fab_alloc_array((void **)&a->several, C + C * C + 2 * q->D, sizeof(double),
                                "scores");
    }
    if (s != FAB_OK) drop(r);
    return s;
}

fab_status fab_prequential_take(fab_prequential *a, int due, const fab_gauss *q, int root,
                                const fab_glm *m)
{
    if (due & FAB_DUE_POINT) FAB_TRY(put(a, &a->by, q, root, m));
    if (due & FAB_DUE_CALL) FAB_TRY(put(a, &a->file, q, root, m));
    if (due & FAB_DUE_CALL) a->asks = 0;
    return FAB_OK;
}

void fab_prequential_seen(fab_prequential *a, int64_t rows)
{
    a->n = rows;
}

void fab_prequential_call(fab_prequential *a, int64_t seen, int fresh)
{
    a->n = a->called = seen;
    a->call = (sums){0};
    a->asks = (fresh || a->asks) && seen >= a->first; /* a file that was read has asked before */
    drop(&a->file);
}

/* ---- 4: predictions ------------------------------------------------------------------------------------ */

static double dot(int64_t n, const double *a, const double *b)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

static void add(sums *s, double rows, double density, double error, double covered)
{
    if (!(rows > 0)) return;
    if (!(fabs(density) < TOO_FAR && error < TOO_FAR)) {
        s->lost++;
        return;
    }
    s->rows += rows;
    s->scored++;
    s->density += rows * density;
    s->square += rows * density * density;
    s->error += rows * error;
    s->covered += rows * covered;
}

/* Row i of the chunk, whose numbers go where the Gaussian at work belongs to. */
static void add_row(fab_prequential *a, int64_t i, double density, double error, double covered)
{
    if (a->r == &a->by) add(&a->curve.of[a->curve.n - 1], a->weight[i], density, error, covered);
    add(&a->call, a->extra[i], density, error, covered);
}

/* The class of row i against the likeliest. */
static void add_classes(fab_prequential *a, int64_t i, int64_t classes, const double *logp)
{
    const int64_t is = (int64_t)a->y[i];
    int64_t best = 0;
    for (int64_t c = 1; c < classes; c++)
        if (logp[c] > logp[best]) best = c;
    add_row(a, i, logp[is], best != is, 0);
}

/* One row after the other, and class after class: their bits do not hang on the rows beside them. */
static fab_status predict_classes(fab_prequential *a, int64_t n)
{
    const int64_t C = a->r->model.classes, W = a->r->model.D + a->r->model.intercept, P = C * W;
    double *const mean = a->several, *const S = mean + C, *const v = S + C * C, *const Sv = v + P;
    const fab_rows one = {.p = v, .type = FAB_F64, .n = 1, .ld = P};
    for (int64_t i = 0; i < n; i++) {
        const double *x = a->x + i * W;
        for (int64_t c = 0; c < C; c++) {
            mean[c] = dot(W, x, a->r->q->mu + c * W) + a->offset[i];
            if (!a->r->solver) continue;
            memset(v, 0, (size_t)P * sizeof *v);
            memcpy(v + c * W, x, (size_t)W * sizeof *v);
            FAB_TRY(fab_solver_times_covariance(a->r->solver, &one, Sv));
            for (int64_t k = 0; k < C; k++) S[k + c * C] = dot(W, x, Sv + k * W); /* x' S_kc x */
        }
        if (!a->r->solver) memset(S, 0, (size_t)(C * C) * sizeof *S);
        for (int64_t c = 0; c < C; c++) {
            for (int64_t k = 0; k < c; k++)
                S[k + c * C] = S[c + k * C] = 0.5 * (S[k + c * C] + S[c + k * C]);
            S[c + c * C] += a->more[i];
        }
        const double *spread = a->r->solver || a->more[i] > 0 ? S : NULL;
        if (fab_softmax_logp(a->softmax, 0, mean, spread, a->logp) == FAB_OK)
            add_classes(a, i, C, a->logp);
        else
            add_row(a, i, NAN, 0, 0);
    }
    return FAB_OK;
}

static fab_status predict_linear(fab_prequential *a, int64_t n)
{
    const fab_scaling *k = a->units;
    const fab_glm *m = &a->r->model;
    const int64_t width = m->D + m->intercept;
    const fab_rows x = {.p = a->x, .type = FAB_F64, .n = n, .ld = width};
    const double *left = a->x; /* x' S x = left' product */
    if (a->r->root) {          /* row-major R is column-major R' = L, S = (L L')^-1 */
        memcpy(a->product, a->x, (size_t)(n * width) * sizeof *a->x);
        fab_tri_solve(FAB_LEFT, FAB_N, width, n, a->r->q->F, a->product);
        left = a->product;
    } else if (a->r->solver) {
        FAB_TRY(fab_solver_times_covariance(a->r->solver, &x, a->product));
    }
    for (int64_t i = 0; i < n; i++) {
        const int spread = a->r->root || a->r->solver;
        const double v = spread ? dot(width, left + i * width, a->product + i * width) : 0;
        a->eta[i] = dot(width, a->x + i * width, a->r->q->mu) + a->offset[i]; /* x . mu */
        a->variance[i] = (v < 0 ? 0 : v) + a->more[i];                        /* x' S x */
    }
    fab_predict_to_units(k->target_mean, k->target_scale, n, a->eta, a->variance);
    fab_glm in_units = *m;
    if (fab_likelihood_row_of(m->likelihood)->noise)
        in_units.beta /= k->target_scale * k->target_scale;
    for (int64_t i = 0; i < n; i++) {
        const double eta = a->eta[i], v = a->variance[i];
        const double y = k->target_mean + k->target_scale * a->y[i];
        double density = NAN, error = 0, covered = 0;
        if (isfinite(eta) && isfinite(v)) density = fab_predict_logp(&in_units, eta, v, y);
        if (a->of == CLASSES) error = (eta > 0) != (y > 0.5);
        if (a->of == NUMBERS && isfinite(density)) {
            fab_prediction p;
            fab_predict_y(&in_units, eta, v, &p);
            error = (y - p.mean) * (y - p.mean);
            covered = y >= p.lower && y <= p.upper;
        }
        add_row(a, i, density, error, covered);
    }
    return FAB_OK;
}

/* By the slope of the network at the mean of theta. */
static fab_status predict_network(fab_prequential *a, int64_t n)
{
    const fab_scaling *k = a->units;
    const fab_gauss *part = a->r->q;
    const double one = 1;
    const fab_mixture q = {1, &part, (double *)&one};
    const fab_rows x = {.p = a->x, .type = FAB_F64, .n = n, .ld = a->D};
    fab_draws *d;
    FAB_TRY(fab_draws_linearise(&d, fab_net_model(a->net), &q, &x, a->offset, &a->exec));
    fab_draws_to_units(d, k->target_mean, k->target_scale);
    for (int64_t i = 0; i < n; i++) {
        if (a->of == CLASSES) {
            fab_draws_classes(d, i, a->logp);
            add_classes(a, i, k->levels, a->logp);
            continue;
        }
        const double y = k->target_mean + k->target_scale * a->y[i];
        fab_prediction p = {0};
        fab_draws_predict(d, i, &p);
        add_row(a, i, fab_draws_logp(d, i, y), (y - p.mean) * (y - p.mean),
                y >= p.lower && y <= p.upper);
    }
    fab_draws_free(d);
    return FAB_OK;
}

static fab_status predict_vectors(fab_prequential *a, int64_t n)
{
    const fab_rows x = {.p = a->x, .type = FAB_F64, .n = n, .ld = a->D};
    FAB_TRY(fab_solver_logpdf(a->r->solver, &x, a->eta));
    for (int64_t i = 0; i < n; i++) add_row(a, i, a->eta[i], 0, 0);
    return FAB_OK;
}

/* The first n rows of the chunk.  Rows that cannot be predicted are lost to the scores, and not to the stream. */
static fab_status predict(fab_prequential *a, int64_t n)
{
    fab_status s;
    if (n == 0) return FAB_OK;
    if (!a->units)
        s = predict_vectors(a, n);
    else if (a->net)
        s = predict_network(a, n);
    else
        s = a->softmax ? predict_classes(a, n) : predict_linear(a, n);
    if (s == FAB_OK || s == FAB_NO_MEMORY) return s;
    for (int64_t i = 0; i < n; i++) add_row(a, i, NAN, 0, 0);
    return FAB_OK;
}

/* ---- 3: which rows ------------------------------------------------------------------------------------- */

static int64_t stride_of(const fab_prequential *a, int64_t row)
{
    int64_t stride = 1;
    while (stride <= row / a->octave / 2) stride *= 2;
    return stride;
}

/* The n rows that come, by r: those of the sample; or the first ones of a call. */
static fab_status score_by(fab_prequential *a, reference *r, const fab_rows *x, const double *y,
                           const double *offset, const double *more, int64_t n)
{
    const int64_t intercept = a->units && !a->net ? r->model.intercept : 0;
    const int64_t width = a->D + intercept;
    const int of_call = r == &a->file;
    int64_t m = 0;
    a->r = r;
    for (int64_t j = 0; j < n; j++) {
        const int64_t row = a->n + j, stride = stride_of(a, row);
        const int early = a->file.q && row - a->called < CALL;
        if (of_call ? !early : row % stride != 0 || row - r->at >= a->memory) continue;
        a->weight[m] = (double)stride;
        a->extra[m] = (double)stride;
        if (early) a->extra[m] = of_call;
        a->y[m] = y ? y[j] : 0;
        a->offset[m] = offset ? offset[j] : 0;
        a->more[m] = more ? more[j] : 0;
        fab_rows_get(x, j, a->D, a->x + m * width);
        if (intercept) a->x[m * width + a->D] = 1;
        if (++m < a->chunk) continue;
        FAB_TRY(predict(a, m));
        m = 0;
    }
    return predict(a, m);
}

fab_status fab_prequential_score(fab_prequential *a, const fab_rows *x, const double *y,
                                 const double *offset, const double *more, int64_t n)
{
    int64_t next;
    if (a->file.q && a->n - a->called < CALL)
        FAB_TRY(score_by(a, &a->file, x, y, offset, more, n < CALL ? n : CALL));
    if (a->n >= a->first && a->by.q && !a->off) {
        const int64_t from = point_of(a->n, &next);
        steps *c = &a->curve;
        if (c->n == 0 || (from > c->seen[c->n - 1] && c->n < POINTS)) {
            c->seen[c->n] = from;
            c->of[c->n++] = (sums){0};
        }
        FAB_TRY(score_by(a, &a->by, x, y, offset, more, n));
    }
    a->n += n;
    return FAB_OK;
}

/* ---- 5: what there is to say --------------------------------------------------------------------------- */

static void sum_up(sums *to, const sums *s)
{
    to->rows += s->rows;
    to->scored += s->scored;
    to->lost += s->lost;
    to->density += s->density;
    to->square += s->square;
    to->error += s->error;
    to->covered += s->covered;
}

static fab_stream_score score_of(const sums *s, kind of)
{
    fab_stream_score r = {.rows = (int64_t)s->rows,
                          .scored = (int64_t)s->scored,
                          .lost = (int64_t)s->lost,
                          .log_density = NAN,
                          .log_density_se = NAN,
                          .rmse = NAN,
                          .coverage90 = NAN,
                          .error = NAN};
    if (!(s->scored > 0)) return r;
    const double mean = s->density / s->rows, variance = s->square / s->rows - mean * mean;
    r.log_density = mean;
    if (s->scored > 1) r.log_density_se = sqrt(fmax(variance, 0) / (s->scored - 1));
    if (of == CLASSES) r.error = s->error / s->rows;
    if (of == NUMBERS) {
        r.rmse = sqrt(s->error / s->rows);
        r.coverage90 = s->covered / s->rows;
    }
    return r;
}

/* The curve, all of it, its first half and its last tenth at least. */
static void tell(const steps *c, kind of, told *t)
{
    fab_stream_scores *all = &t->all;
    sums whole = {0}, first = {0}, recent = {0};
    *all = (fab_stream_scores){.of = kinds[of], .points = c->n, .point = t->point};
    for (int64_t i = 0; i < c->n; i++) {
        t->point[i] = (fab_stream_point){c->seen[i], score_of(&c->of[i], of)};
        sum_up(&whole, &c->of[i]);
    }
    for (int64_t i = 0; i < c->n && first.rows + c->of[i].rows <= whole.rows / 2; i++)
        sum_up(&first, &c->of[i]);
    for (int64_t i = c->n - 1; i >= 0 && recent.rows < whole.rows / 10; i--)
        sum_up(&recent, &c->of[i]);
    all->all = score_of(&whole, of);
    all->first = score_of(&first, of);
    all->recent = score_of(&recent, of);
    all->call = score_of(&(sums){0}, of);
    const double fall = all->first.log_density - all->recent.log_density;
    const double se = hypot(all->first.log_density_se, all->recent.log_density_se);
    all->worse = fall > WORSE && fall > WORSE_SE * se; /* 0 where either is NaN */
}

const fab_stream_scores *fab_prequential_scores(fab_prequential *a)
{
    tell(&a->curve, a->of, &a->say);
    a->say.all.from = a->first;
    a->say.all.call = a->called > 0 ? score_of(&a->call, a->of) : a->say.all.all;
    return &a->say.all;
}

/* ---- files --------------------------------------------------------------------------------------------- */

enum { ROOT = 3 }; /* behind the forms of gauss.h */
static const char *const columns[] = {"rows",   "scored", "lost",   "density",
                                      "square", "error",  "covered"};
enum { COLUMNS = sizeof columns / sizeof *columns, COUNTS_UNTIL = 3, DENSITY = 3 };

static double *column(sums *s, int c)
{
    double *const of[COLUMNS] = {&s->rows,   &s->scored, &s->lost,   &s->density,
                                 &s->square, &s->error,  &s->covered};
    return of[c];
}

/* {"of": "numbers", "seen": [64, 128], "rows": [64, 12], ..}: sums of each step of the curve; "at": rows that the Gaussian
 * in force has seen, "form" (ROOT: its F is a root of the
 * precision) and "beta" of it.  It is in tensors state.scores.*: a stream goes on with it. */
fab_status fab_prequential_save(fab_prequential *a, fab_tensors *file)
{
    fab_text t = {0};
    char *text, number[32];
    steps *c = &a->curve;
    const fab_gauss *q = a->by.q;
    if (a->off || a->by.at < 0) return FAB_OK; /* nothing yet */
    fab_text_add(&t, "{\"of\": \"%s\", \"seen\": [", kinds[a->of]);
    for (int64_t i = 0; i < c->n; i++)
        fab_text_add(&t, i ? ", %lld" : "%lld", (long long)c->seen[i]);
    for (int k = 0; k < COLUMNS; k++) {
        fab_text_add(&t, "], \"%s\": [", columns[k]);
        for (int64_t i = 0; i < c->n; i++) {
            fab_print_double(number, sizeof number, *column(&c->of[i], k));
            fab_text_add(&t, i ? ", %s" : "%s", number);
        }
    }
    fab_text_add(&t, "], \"at\": %lld", (long long)a->by.at);
    if (q) {
        fab_print_double(number, sizeof number, a->units ? a->by.model.beta : 1);
        fab_text_add(&t, ", \"form\": %d, \"beta\": %s", a->by.root ? ROOT : (int)q->form, number);
    }
    fab_text_add(&t, "}");
    FAB_TRY(fab_text_give(&t, &text));
    fab_status s = fab_tensors_set(file, "scores", text);
    fab_text_free(text);
    if (s != FAB_OK || !q) return s;
    const int64_t shape[] = {q->D, q->K};
    s = fab_tensors_add(file, "state.scores.mu", FAB_F64, 1, shape, q->mu);
    if (s == FAB_OK) s = fab_tensors_add(file, "state.scores.psi", FAB_F64, 1, shape, q->psi);
    if (s == FAB_OK && q->K > 0)
        s = fab_tensors_add(file, "state.scores.F", q->type, 2, shape, q->F);
    return s;
}

static fab_status bad(const char *why)
{
    return FAB_FAIL(FAB_BAD_FILE, "scores: %s", why);
}

static fab_status read_curve(const char *json, steps *c, kind *of)
{
    double x[POINTS];
    int known = 0;
    for (int k = 0; k < 4; k++)
        if (fab_json_is(json, "of", kinds[k])) *of = (kind)k, known = 1;
    if (!known) return bad("what they are of is not known");
    *c = (steps){0};
    const int64_t n = fab_json_numbers(json, "seen", x, POINTS);
    if (n < 0 || n > POINTS) return bad("expected a learning curve");
    for (int64_t i = 0; i < n; i++) {
        const double before = i ? x[i - 1] : FIRST - 1;
        if (!(x[i] > before && x[i] < 0x1p53)) return bad("the rows of the curve do not rise");
        c->seen[i] = (int64_t)x[i];
    }
    for (int k = 0; k < COLUMNS; k++) {
        if (fab_json_numbers(json, columns[k], x, POINTS) != n)
            return bad("the columns of the curve are not of one length");
        for (int64_t i = 0; i < n; i++) {
            if (!isfinite(x[i]) || (x[i] < 0 && k != DENSITY)) return bad("a sum is no number");
            if (k < COUNTS_UNTIL && !(x[i] < 0x1p53)) return bad("a number of rows is too large");
            *column(&c->of[i], k) = x[i];
        }
    }
    for (int64_t i = 0; i < n; i++)
        if (c->of[i].scored > c->of[i].rows) return bad("more rows are scored than there were");
    c->n = n;
    return FAB_OK;
}

/* Has R, n x n, the diagonal of a root? */
static int is_root(int64_t n, const fab_tensor *R)
{
    const double *at = R->data;
    for (int64_t i = 0; i < n; i++)
        if (!(at[i * n + i] > 0)) return 0;
    return 1;
}

/* The Gaussian in force, where there was one. */
static fab_status read_gauss(fab_prequential *a, const char *json, const fab_tensors *file)
{
    const fab_tensor *mu = fab_tensors_find(file, "state.scores.mu");
    const fab_tensor *psi = fab_tensors_find(file, "state.scores.psi");
    const fab_tensor *F = fab_tensors_find(file, "state.scores.F");
    const char *model = fab_tensors_get(file, "model");
    fab_glm m = {0};
    double at, form, beta;
    if (fab_json_numbers(json, "at", &at, 1) != 1 || !(at >= 0 && at <= (double)a->n))
        return bad("the rows of their Gaussian cannot be");
    a->by.at = (int64_t)at;
    if (!mu) return FAB_OK;
    if (fab_json_numbers(json, "form", &form, 1) != 1 ||
        fab_json_numbers(json, "beta", &beta, 1) != 1 || !(beta > 0 && isfinite(beta)) ||
        (form != FAB_FORM_COVARIANCE && form != FAB_FORM_PRECISION && form != ROOT))
        return bad("what is said of their Gaussian cannot be");
    if (a->units && (!model || fab_glm_from_json(&m, model) != FAB_OK || m.D != a->D))
        return bad("there is a Gaussian and no model");
    m.beta = beta;
    const int64_t D = a->units ? fab_glm_size(&m) : a->D;
    const int64_t K = F && F->ndim == 2 ? F->shape[1] : 0;
    const int root = form == ROOT;
    const fab_ops *ops = fab_ops_find("cpu", F ? F->type : FAB_F64);
    if (mu->ndim != 1 || mu->shape[0] != D || mu->type != FAB_F64 || !psi || psi->ndim != 1 ||
        psi->shape[0] != D || psi->type != FAB_F64 || !ops ||
        (F && (F->ndim != 2 || F->shape[0] != D || K < 1 || K > D)) ||
        (root && (!a->units || m.classes > 1 || a->net || K != D || ops->type != FAB_F64)))
        return bad("their Gaussian has another shape");
    fab_gauss *q;
    FAB_TRY(fab_gauss_create(&q, root ? FAB_FORM_PRECISION : (fab_form)(int)form, ops->type, D, K));
    memcpy(q->mu, mu->data, (size_t)D * sizeof(double));
    memcpy(q->psi, psi->data, (size_t)D * sizeof(double));
    if (K > 0) memcpy(q->F, F->data, (size_t)(D * K) * ops->size);
    fab_status s = fab_gauss_check(q) == FAB_OK ? FAB_OK : bad("their Gaussian is none");
    if (s == FAB_OK && root && !is_root(D, F)) s = bad("their Gaussian is none");
    if (s == FAB_OK) s = put(a, &a->by, q, root, a->units ? &m : NULL);
    fab_gauss_free(q);
    a->by.at = (int64_t)at;
    return s;
}

fab_status fab_prequential_load(fab_prequential *a, const fab_tensors *file, int64_t rows)
{
    const char *json = file ? fab_tensors_get(file, "scores") : NULL;
    kind of = a->of;
    fab_prequential_call(a, rows, 1);
    if (!json) {
        a->off = rows > a->first; /* of an earlier version, say */
        return FAB_OK;
    }
    FAB_TRY(read_curve(json, &a->curve, &of));
    if (of != a->of) return bad("they are of another target");
    return read_gauss(a, json, file);
}

fab_status fab_stream_scores_read(fab_stream_scores **s, const fab_tensors *file)
{
    const char *json = fab_tensors_get(file, "scores");
    steps *c;
    told *t;
    kind of = VECTORS;
    *s = NULL;
    if (!json) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&c, 1, sizeof *c, "scores"));
    fab_status status = read_curve(json, c, &of);
    if (status == FAB_OK) status = fab_alloc_array((void **)&t, 1, sizeof *t, "scores");
    if (status == FAB_OK) {
        tell(c, of, t);
        *s = &t->all;
    }
    fab_release(c);
    return status;
}

void fab_stream_scores_free(fab_stream_scores *s)
{
    fab_release(s);
}
