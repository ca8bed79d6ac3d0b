/* rvga.c - recursive variational inference with the full covariance ([L] (22)-(23), (29)-(30)).
 *
 *   state: L (T x T, lower) and z, the root of the precision P^-1 = L L' and L' mu = z; gaussian targets in units
 *   of the noise
 *   for each row x, y, w:
 *   1  a = L^-1 x,  u0 = a . z + offset,  v0 = a . a                        x . mu = a . z,  x' P x = a . a
 *   2  error, weight = scalar update                                       (scalar.c)
 *   3  z += error a                                                        mu += error P x
 *   4  [L z] <- [L z], with the row sqrt(weight) (x, x . mu) rotated in     P^-1 += weight x x', and mu as it is
 *      gaussian: 4 alone, with the row sqrt(w) (x, y - offset)
 *   9  gaussian: ROWS rows at a time by reflections: [L'; X] <- [L'_new; 0], [z; y] along          (la/chol_rows.c);
 *      what is left of y are the errors one step ahead over their deviations, up to a rotation: their squares are summed, and
 *      sum log(1 + w v0) = log det P^-1_new - log det P^-1.  4 where a column is more than GRADED times as large as the root
 *      along it
 *      categorical: x in the place of each class, error C, weight C x C     (classes.c)
 *   start: 5  L L' = prior; alpha or beta unknown: the first `warmup` rows choose them  (fab_prior_choose)
 *          8  GLMs: these rows are a block: A = X' P X, in turn inside A and again, each given all others
 *             (sequence.c, revisit.c, class_block.c);  4 with the weights they end with,  L z += X c
 *   result: 6  mu = L'^-1 z,  F F' + psi = (L L')^-1 / beta, without loss    (spread.c)
 *           7  beta unknown: from the squared errors one step ahead, each over its variance   (fab_noise)
 *
 * Linear, this is the Kalman filter with a state that rests, and exact: the QR of the table, one row after the other.
 * A root has half the digits of its square at stake.  The covariance itself, P -= gain p p', loses all of them when the
 * prior is 1e16 times as wide as the posterior, or a column so much smaller than another.  A rotation keeps all digits of a small
 * root beside a large row; a reflection takes it from the difference of two large numbers, hence GRADED.
 *
 * Of a GLM it is not: the Gaussian that a row leaves under a wide prior has nearly forgotten it, and where the rows after
 * it are few or repeat it, nothing brings that back.  Hence 8, and no predictor wider than WIDEST.
 *
 * SPDX-License-Identifier: MIT */
#include "base/rows.h"
#include "train/sequence/classes.h"
#include "train/sequence/stream.h"
#include "train/glm_fields.h"
#include "fit/method.h"
#include "la/ops.h"
#include "la/small.h"
#include "posterior/spread.h"
#include <math.h>
#include <string.h>

/* variance of a predictor of a GLM: 8 has the digits for it, counts for no more */
#define WIDEST 1e10
enum { COLUMNS = 400, SWEEPS = 10 }; /* 8: at most so many, so often again; as lrvga has them */
enum { ROWS = 192 };                 /* 9: half the rows of a block of OpenBLAS's product */
#define GRADED     1e3               /* 9: of 16 digits three may be lost */
#define LOG_TWO_PI 1.8378770664093454836

typedef struct rvga {
    fab_rvga_settings set;
    int64_t T;             /* length of theta */
    int64_t classes, part; /* 1 unless categorical; coordinates of one class */

    fab_watch watch;     /* asked in 8 */
    fab_stream stream;   /* 5, 7: the model, its prior and noise, sums over the rows */
    fab_pending pending; /* rows that are to choose the prior, or the row at hand */
    double *X;           /* room x part: theirs */
    double *L;           /* T x T, lower */
    double *z;           /* T */

    double *a;    /* 1  T x classes */
    double *row;  /* 4  T: what is rotated in */
    double *many; /* 1 - 4  categorical: scratch of a row */
    double *G;    /* 5  room x room */
    double *bank; /* 5 */

    struct {          /* 9 */
        int64_t rows; /* at a time; 1: one after the other */
        double *X;    /* rows x T */
        double *y;    /* rows */
        double *diag; /* T: of L before */
        double *work;
    } at_once;

    struct {             /* 8: n = rows x classes columns */
        int64_t rows;    /* of the block; 0: none */
        double *S;       /* T x n: L^-1 X */
        double *A, *eta; /* n x n, n: X' P X, predictors before the rows */
        double *turn;    /* n x n: A, taken in turn; scratch */
        double *V, *B;   /* n x n, n x (n + 2 classes): scratch */
        double *weight;  /* n; categorical: classes x n, roots of the weights */
        double *site;    /* 3 n: c, and scratch */
        double *line;    /* 4 n: scratch */
    } block;

    struct { /* 6 */
        fab_gauss *q;
        fab_stream stream; /* with the pending rows */
        double *S, *Si,
            *work; /* T x T each: a root of the covariance, its inverse; work: first L */
        double *z; /* T: with the pending rows, as the L in work */
    } result;
} rvga;

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_rvga_settings
// clang-format off
static const fab_field fields[] = {
    GLM_FIELDS,
    CHOICE(expectation, FAB_QUADRATURE, fab_expectation_names, "bernoulli: the logistic as a probit, by quadrature, or by draws"),
    FIELD(draws, I64, 64, 1, FAB_MAX_DRAWS, "sampled expectations: draws for each row, pairs of them for a categorical one"),
    CHOICE(scheme, FAB_IMPLICIT, fab_scheme_names, "GLMs: expectations after the row, before it, or after a first step, with its weight or the first one"),
    FIELD(warmup, I64, 200, 1, 0x1p16, "rows that choose alpha and beta when these are auto, by their one-step-ahead score; of a GLM they are learned together, at most 400 over the classes (1: row by row)"),
};
// clang-format on
GLM_LAYOUT(fields);
static const fab_fields table = TABLE("rvga", fields);
static const fab_fields kalman_table = TABLE("kalman", fields);
#undef SETTINGS

/* ---- life ------------------------------------------------------------------------------------- */

/* Numbers that a row of several classes needs. */
static int64_t classes_work(const rvga *e)
{
    return 2 * e->classes * e->classes + 3 * e->classes +
           fab_class_block_work(e->classes, e->set.draws);
}

static void layout(fab_layout *l, void *handle)
{
    rvga *e = handle;
    const int64_t T = e->T, n = e->pending.room;
    const int first = fab_stream_undecided(&e->stream);
    e->L = fab_place(l, T * T, sizeof *e->L);
    e->z = fab_place(l, T, sizeof *e->z);
    e->X = fab_place(l, n * e->part, sizeof *e->X);
    fab_pending_layout(l, &e->pending);
    e->a = fab_place(l, T * e->classes, sizeof *e->a);
    e->row = fab_place(l, T, sizeof *e->row);
    e->many = fab_place(l, e->classes > 1 ? classes_work(e) : 0, sizeof *e->many);
    e->result.S = fab_place(l, T * T, sizeof *e->result.S);
    e->result.Si = fab_place(l, T * T, sizeof *e->result.Si);
    e->result.work = fab_place(l, T * T, sizeof *e->result.work);
    e->result.z = fab_place(l, T, sizeof *e->result.z);
    const int64_t rows = e->at_once.rows > 1 ? e->at_once.rows : 0;
    e->at_once.X = fab_place(l, rows * T, sizeof *e->at_once.X);
    e->at_once.y = fab_place(l, rows, sizeof *e->at_once.y);
    e->at_once.diag = fab_place(l, rows ? T : 0, sizeof *e->at_once.diag);
    e->at_once.work = fab_place(l, rows ? fab_chol_rows_work(T, rows) : 0, sizeof *e->at_once.work);
    const int64_t C = e->classes, m = e->block.rows * C;
    e->block.S = fab_place(l, T * m, sizeof *e->block.S);
    e->block.A = fab_place(l, m * m, sizeof *e->block.A);
    e->block.eta = fab_place(l, m, sizeof *e->block.eta);
    e->block.turn = fab_place(l, m * m, sizeof *e->block.turn);
    e->block.V = fab_place(l, m * m, sizeof *e->block.V);
    e->block.B = fab_place(l, m * (m + 2 * C), sizeof *e->block.B);
    e->block.weight = fab_place(l, m * C, sizeof *e->block.weight);
    e->block.site = fab_place(l, 3 * m, sizeof *e->block.site);
    e->block.line = fab_place(l, 4 * m, sizeof *e->block.line);
    e->G = fab_place(l, first ? n * n : 0, sizeof *e->G);
    e->bank = fab_place(l, first ? fab_prior_work(n) : 0, sizeof *e->bank);
}

static void release(void *handle)
{
    rvga *e = handle;
    if (!e) return;
    fab_gauss_free(e->result.q);
    fab_release(e);
}

static fab_status check_settings(const rvga *e, const fab_exec *x)
{
    if (strcmp(e->stream.who, "kalman") == 0 && !fab_stream_gaussian(&e->stream))
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "kalman: the target is %s, expected gaussian (rvga takes the others)",
                        fab_likelihood_name(e->stream.model.likelihood));
    if (e->classes > 1 && e->set.scheme != FAB_IMPLICIT)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: scheme = %s, expected implicit for a categorical target",
                        e->stream.who, fab_scheme_names[e->set.scheme]);
    if (e->T > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: theta has %lld coordinates, offered up to %d; lrvga takes more",
                        e->stream.who, (long long)e->T, FAB_DENSE_MAX);
    return fab_check_alone(e->stream.who, x);
}

static fab_status prototype(rvga *e, const char *name, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    const fab_rvga_settings *s = settings;
    const fab_glm model = fab_glm_of(in->model, s->glm.beta);
    *e = (rvga){.set = *s,
                .watch = fab_watch_of(x),
                .T = in->model->D,
                .classes = model.classes,
                .part = in->model->D / model.classes,
                .stream = {.who = name,
                           .unit = "row",
                           .model = model,
                           .set = s->glm,
                           .guess = in->beta,
                           .rule = {model.likelihood, (fab_expectation)s->expectation,
                                    (fab_scheme)s->scheme, s->draws, (uint64_t)s->glm.seed},
                           .count = {.given = in->prior != NULL}}};
    const int64_t fit = COLUMNS / e->classes, rows = s->warmup < fit ? s->warmup : fit;
    if (!fab_stream_gaussian(&e->stream) && rows > 1) e->block.rows = rows;
    e->at_once.rows = fab_stream_gaussian(&e->stream) ? ROWS : 1;
    e->pending.room = e->block.rows ? e->block.rows : e->at_once.rows;
    if (fab_stream_undecided(&e->stream) && s->warmup > e->pending.room)
        e->pending.room = s->warmup;
    return check_settings(e, x);
}

/* 5 */
static void start(rvga *e)
{
    const int64_t T = e->T;
    fab_stream_start(&e->stream);
    if (e->stream.count.given) {
        const double unit = 1 / sqrt(e->stream.scale.beta);
        for (int64_t i = 0; i < T * T; i++) e->L[i] *= unit;
        for (int64_t i = 0; i < T; i++) e->z[i] *= unit;
    } else {
        for (int64_t i = 0; i < T; i++)
            e->L[i + i * T] =
                sqrt(fab_stream_prior_of(&e->stream, i % e->part < e->stream.model.D) /
                     e->stream.scale.beta);
    }
}

/* L from R (T x T, upper), R'R = L L', with a positive diagonal. */
static void put_root(rvga *e, const double *R)
{
    const int64_t T = e->T;
    for (int64_t j = 0; j < T; j++) {
        const double sign = R[j + j * T] < 0 ? -1 : 1;
        for (int64_t i = 0; i < T; i++) e->L[i + j * T] = i < j ? 0 : sign * R[j + i * T];
    }
}

/* z = L' mu */
static void put_mean(rvga *e, const double *mu)
{
    fab_mv(FAB_T, e->T, e->T, 1, e->L, mu, 0, e->z);
}

/* The root of F F' + psi is the R of [F'; psi^1/2]; that of its inverse the R of R'^-1.  A: (T + K) x T scratch, R: T x T,
 * work: fab_qr_work. */
static fab_status root_of_prior(rvga *e, const fab_gauss *prior, double *A, double *R, double *work)
{
    const int64_t T = e->T, K = prior->K, m = T + K;
    const double *F = prior->F; /* the door's copy is f64 */
    memset(A, 0, (size_t)(m * T) * sizeof *A);
    for (int64_t i = 0; i < T; i++) {
        for (int64_t k = 0; k < K; k++) A[k + i * m] = F[i * K + k];
        A[K + i + i * m] = sqrt(prior->psi[i]);
    }
    fab_qr_r(m, T, A, R, work);
    if (prior->form == FAB_FORM_COVARIANCE) {
        double *Rt = A, *inverse = e->L;
        for (int64_t j = 0; j < T; j++)
            for (int64_t i = 0; i < T; i++) Rt[i + j * T] = R[j + i * T];
        memset(inverse, 0, (size_t)(T * T) * sizeof *inverse);
        fab_add_identity(T, inverse);
        fab_tri_solve(FAB_LEFT, FAB_N, T, T, Rt, inverse); /* R'^-1, lower */
        fab_qr_r(T, T, inverse, R, work);
    }
    put_root(e, R);
    put_mean(e, prior->mu);
    for (int64_t i = 0; i < T; i++)
        if (!(e->L[i + i * T] > 0 && isfinite(e->L[i + i * T])))
            return FAB_FAIL(FAB_NUMERIC, "%s: the prior has no precision along coordinate %lld",
                            e->stream.who, (long long)i);
    return FAB_OK;
}

static fab_status take_prior(rvga *e, const fab_gauss *prior)
{
    const int64_t T = e->T, stacked = (T + prior->K) * T;
    double *A;
    FAB_TRY(fab_alloc_array((void **)&A, stacked + T * T + fab_qr_work(T + prior->K, T), sizeof *A,
                            e->stream.who));
    const fab_status s = root_of_prior(e, prior, A, A + stacked, A + stacked + T * T);
    fab_release(A);
    return s;
}

static fab_status build(void **handle, const char *name, const void *settings, const fab_input *in,
                        const fab_exec *x)
{
    rvga proto, *e;
    *handle = NULL;
    FAB_TRY(prototype(&proto, name, settings, in, x));
    FAB_TRY(fab_build((void **)&e, sizeof *e, &proto, layout));
    const fab_status s = in->prior ? take_prior(e, in->prior) : FAB_OK;
    if (s != FAB_OK) {
        release(e);
        return s;
    }
    if (!fab_stream_undecided(&e->stream)) start(e);
    *handle = e;
    return FAB_OK;
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    return build(handle, "rvga", settings, in, x);
}

static fab_status init_kalman(void **handle, const void *settings, const fab_input *in,
                              const fab_exec *x)
{
    return build(handle, "kalman", settings, in, x);
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    rvga proto;
    (void)n;
    if (prototype(&proto, "rvga", settings, in, x) != FAB_OK) return NAN;
    return (double)fab_build_size(sizeof proto, &proto, layout);
}

/* ---- the algorithm ----------------------------------------------------------------------------- */

static double dot(int64_t n, const double *a, const double *b)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

/* A GLM has no use for a predictor that may be anything. */
static fab_status check_variance(const rvga *e, long long row, double v0)
{
    const int gaussian = fab_stream_gaussian(&e->stream);
    if (isfinite(v0) && (gaussian || v0 <= WIDEST)) return FAB_OK;
    if (gaussian)
        return FAB_FAIL(FAB_NUMERIC,
                        "%s: the predictor of row %lld has variance %g under the prior, whose "
                        "precision is alpha = %g: scale the columns or raise it",
                        e->stream.who, row, v0, e->stream.scale.alpha);
    return FAB_FAIL(FAB_NUMERIC,
                    "%s: the predictor of row %lld has variance %g under the prior (alpha = %g), "
                    "and digits run out at %g: scale the columns or raise alpha; laplace and vga "
                    "need not",
                    e->stream.who, row, v0, e->stream.scale.alpha, WIDEST);
}

static fab_status check_update(const rvga *e, double v0, double error, double weight)
{
    const long long row = e->stream.count.rows;
    FAB_TRY(check_variance(e, row, v0));
    if (isfinite(error) && isfinite(weight)) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "%s: row %lld has no finite update under scheme = %s",
                    e->stream.who, row, fab_scheme_names[e->set.scheme]);
}

/* 4  L L' += row row', and z as if the row had said: row . mu = target.  e->row is destroyed. */
static void rotate_in(rvga *e, double target)
{
    const int64_t T = e->T;
    double *const row = e->row, *const z = e->z;
    for (int64_t j = 0; j < T; j++) {
        if (row[j] == 0) continue;
        double *Lj = e->L + j * T;
        const double r = hypot(Lj[j], row[j]), c = Lj[j] / r, s = row[j] / r, before = z[j];
        Lj[j] = r;
        for (int64_t i = j + 1; i < T; i++) {
            const double l = Lj[i];
            Lj[i] = c * l + s * row[i];
            row[i] = c * row[i] - s * l;
        }
        z[j] = c * before + s * target;
        target = c * target - s * before;
    }
}

/* 1 to 4 with an error and a weight for each class */
static fab_status take_class_row(rvga *e, int64_t j)
{
    const int64_t T = e->T, C = e->classes, n = e->part;
    const double *x = e->X + j * n;
    double *V0 = e->many, *root = V0 + C * C, *u0 = root + C * C, *more = u0 + 3 * C;
    fab_site s = {.error = u0 + C, .root = root, .u = u0 + 2 * C};
    memset(e->a, 0, (size_t)(T * C) * sizeof *e->a); /* 1  a = L^-1 X (T x C), u0, V0 = a'a */
    for (int64_t c = 0; c < C; c++) memcpy(e->a + c * T + c * n, x, (size_t)n * sizeof *x);
    fab_tri_solve(FAB_LEFT, FAB_N, T, C, e->L, e->a);
    fab_mm(FAB_T, FAB_N, C, C, T, 1, e->a, e->a, 0, V0);
    for (int64_t c = 0; c < C; c++) u0[c] = dot(T, e->a + c * T, e->z) + e->pending.offset[j];
    fab_classes_update(&e->stream.rule, 1 + (uint64_t)e->stream.count.rows, C, e->pending.y[j],
                       e->pending.w[j], u0, V0, C, &s, more); /* 2 */
    FAB_TRY(check_update(e, V0[0], s.error[0], 1));
    fab_mv(FAB_N, T, C, 1, e->a, s.error, 1, e->z); /* 3 */
    for (int64_t c = 0; c < C; c++) u0[c] = dot(T, e->a + c * T, e->z);
    for (int64_t k = 0; k < C; k++) { /* 4  X root e_k */
        const double *by = root + k * C;
        for (int64_t c = 0; c < C; c++)
            for (int64_t i = 0; i < n; i++) e->row[c * n + i] = by[c] * x[i];
        rotate_in(e, dot(C, by, u0));
    }
    e->stream.count.rows++;
    e->stream.sum.score += s.score;
    return FAB_OK;
}

static fab_status take_row(rvga *e, int64_t j)
{
    const int64_t T = e->T;
    const double *x = e->X + j * T, y = e->pending.y[j], w = e->pending.w[j];
    const double offset = e->pending.offset[j];
    fab_stream_sums *sum = &e->stream.sum;
    memcpy(e->a, x, (size_t)T * sizeof *x); /* 1 */
    fab_tri_solve(FAB_LEFT, FAB_N, T, 1, e->L, e->a);
    const double u0 = dot(T, e->a, e->z) + offset, v0 = dot(T, e->a, e->a);
    const fab_scalar s = fab_scalar_update(&e->stream.rule, 1 + (uint64_t)e->stream.count.rows, y,
                                           w, u0, v0); /* 2 */
    FAB_TRY(check_update(e, v0, s.error, s.weight));
    const double r = y - u0, variance = 1 / w + v0, root = sqrt(s.weight);
    double target = y - offset;
    if (!fab_stream_gaussian(&e->stream)) {
        for (int64_t i = 0; i < T; i++) e->z[i] += s.error * e->a[i]; /* 3 */
        target = dot(T, e->a, e->z);
    }
    for (int64_t i = 0; i < T; i++) e->row[i] = root * x[i]; /* 4 */
    rotate_in(e, root * target);
    e->stream.count.rows++;
    sum->rows += w;
    sum->power += w * y * y;
    if (fab_stream_gaussian(&e->stream)) sum->squares += r * r / variance;
    sum->logdet += log1p(w * v0);
    sum->score += fab_scalar_score(e->stream.model.likelihood, y, w, u0, v0, &s);
    return FAB_OK;
}

/* 9  Does a reflection keep the digits of the root beside m rows, which stand in at_once.X? */
static int is_graded(rvga *e, int64_t m)
{
    const int64_t T = e->T;
    double *const most = e->at_once.diag;
    memset(most, 0, (size_t)T * sizeof *most);
    for (int64_t j = 0; j < m; j++) {
        const double *x = e->at_once.X + j * T;
        for (int64_t i = 0; i < T; i++) most[i] = fabs(x[i]) > most[i] ? fabs(x[i]) : most[i];
    }
    for (int64_t i = 0; i < T; i++)
        if (!(most[i] <= GRADED * e->L[i + i * T])) return 1;
    return 0;
}

/* 9  pending rows first .. first + m - 1 */
static fab_status take_rows(rvga *e, int64_t first, int64_t m)
{
    const int64_t T = e->T;
    double *const X = e->at_once.X, *const y = e->at_once.y, *const diag = e->at_once.diag;
    fab_stream_sums *sum = &e->stream.sum;
    double squares = 0, logdet = 0, logs = 0, finite = 0;
    for (int64_t j = 0; j < m; j++) {
        const double *x = e->X + (first + j) * T, root = sqrt(e->pending.w[first + j]);
        for (int64_t i = 0; i < T; i++) X[j * T + i] = root * x[i];
        y[j] = root * (e->pending.y[first + j] - e->pending.offset[first + j]);
    }
    if (is_graded(e, m)) {
        for (int64_t j = 0; j < m; j++) FAB_TRY(take_row(e, first + j));
        return FAB_OK;
    }
    for (int64_t i = 0; i < T; i++) diag[i] = e->L[i + i * T];
    fab_chol_rows(T, m, e->L, X, e->z, y, e->at_once.work);
    for (int64_t i = 0; i < T; i++) {
        logdet += 2 * log(e->L[i + i * T] / diag[i]);
        finite += fabs(e->z[i]);
    }
    for (int64_t j = 0; j < m; j++) {
        const double w = e->pending.w[first + j], t = e->pending.y[first + j];
        squares += y[j] * y[j];
        logs += log(w);
        sum->rows += w;
        sum->power += w * t * t;
    }
    if (!isfinite(logdet) || !isfinite(finite))
        return FAB_FAIL(FAB_NUMERIC, "%s: rows %lld to %lld have no finite update", e->stream.who,
                        (long long)e->stream.count.rows, (long long)(e->stream.count.rows + m - 1));
    sum->squares += squares;
    sum->logdet += logdet;
    sum->score -= 0.5 * ((double)m * LOG_TWO_PI - logs + logdet + squares);
    e->stream.count.rows += m;
    return FAB_OK;
}

/* 8  in turn and again; *settled: whether every row has seen all others */
static fab_status settle_rows(rvga *e, int64_t m, int *settled)
{
    double *line = e->block.line;
    fab_sequence s = {.rule = &e->stream.rule,
                      .first = 1 + (uint64_t)e->stream.count.rows,
                      .m = m,
                      .y = e->pending.y,
                      .w = e->pending.w,
                      .A = e->block.turn,
                      .eta = line,
                      .weight = e->block.weight,
                      .step = line + m,
                      .C = e->block.B,
                      .error = line + 2 * m,
                      .u = line + 3 * m,
                      .watch = &e->watch};
    memcpy(s.A, e->block.A, (size_t)(m * m) * sizeof *s.A);
    memcpy(s.eta, e->block.eta, (size_t)m * sizeof *s.eta);
    FAB_TRY(fab_sequence_run(&s));
    const fab_status status = fab_sequence_revisit(&s, &(fab_revisit){.A = e->block.A,
                                                                      .eta = e->block.eta,
                                                                      .V = e->block.V,
                                                                      .B = e->block.turn,
                                                                      .site = e->block.site,
                                                                      .sweeps = SWEEPS});
    if (status == FAB_STOPPED) return status;
    *settled = status == FAB_OK;
    if (!*settled) return FAB_OK;
    for (int64_t j = 0; j < m; j++) {
        e->block.weight[j] = sqrt(s.weight[j]);
        e->stream.sum.rows += s.w[j];
        e->stream.sum.power += s.w[j] * s.y[j] * s.y[j];
    }
    e->stream.sum.score += s.score;
    return FAB_OK;
}

static fab_status settle_classes(rvga *e, int64_t m)
{
    const int64_t n = m * e->classes;
    fab_class_block b = {.rule = &e->stream.rule,
                         .first = 1 + (uint64_t)e->stream.count.rows,
                         .m = m,
                         .C = e->classes,
                         .sweeps = SWEEPS,
                         .y = e->pending.y,
                         .w = e->pending.w,
                         .A = e->block.A,
                         .eta = e->block.eta,
                         .root = e->block.weight,
                         .step = e->block.line,
                         .V = e->block.V,
                         .B = e->block.B,
                         .site = e->block.site,
                         .d = e->block.line + n,
                         .work = e->many};
    const fab_status s = fab_class_block_run(&b);
    if (s != FAB_OK) return fab_prefix(s, "%s: in the first rows, ", e->stream.who);
    e->stream.sum.score += b.score;
    return FAB_OK;
}

/* 8 of the first m pending rows; *settled = 0: nothing was done, each has to be taken by itself. */
static fab_status take_block(rvga *e, int64_t m, int *settled)
{
    const int64_t T = e->T, C = e->classes, p = e->part, n = m * C;
    double *S = e->block.S, *A = e->block.A, *eta = e->block.eta;
    memset(S, 0, (size_t)(T * n) * sizeof *S); /* L^-1 X, A = X' P X, eta */
    for (int64_t k = 0; k < n; k++)
        memcpy(S + k * T + k % C * p, e->X + k / C * p, (size_t)p * sizeof *S);
    fab_tri_solve(FAB_LEFT, FAB_N, T, n, e->L, S);
    fab_mm(FAB_T, FAB_N, n, n, T, 1, S, S, 0, A);
    fab_mv(FAB_T, T, n, 1, S, e->z, 0, eta);
    for (int64_t k = 0; k < n; k++) {
        eta[k] += e->pending.offset[k / C];
        FAB_TRY(check_variance(e, e->stream.count.rows + k / C, A[k + k * n]));
    }
    *settled = 1;
    FAB_TRY(C > 1 ? settle_classes(e, m) : settle_rows(e, m, settled));
    if (!*settled) return FAB_OK;
    for (int64_t k = 0; k < n; k++) { /* 4  column k % C of the root of row k / C, mu as it is */
        const double *x = e->X + k / C * p, *by = e->block.weight + k * C;
        double target = 0;
        for (int64_t c = 0; c < C; c++) {
            target += by[c] * (eta[k / C * C + c] - e->pending.offset[k / C]);
            for (int64_t i = 0; i < p; i++) e->row[c * p + i] = by[c] * x[i];
        }
        rotate_in(e, target);
    }
    memset(e->row, 0, (size_t)T * sizeof *e->row); /* L z += X c */
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < p; i++)
            e->row[k % C * p + i] += e->block.site[k] * e->X[k / C * p + i];
    fab_tri_solve(FAB_LEFT, FAB_N, T, 1, e->L, e->row);
    for (int64_t i = 0; i < T; i++) e->z[i] += e->row[i];
    e->stream.count.rows += m;
    return FAB_OK;
}

/* Rows that are waited for: those that choose the prior, a first block, or as many as are taken in at once. */
static int64_t next_rows(const rvga *e)
{
    const int first = !e->stream.count.started || (e->block.rows && e->stream.count.rows == 0);
    if (!first) return e->at_once.rows;
    return fab_stream_undecided(&e->stream) ? e->set.warmup : e->pending.room;
}

/* Take in the pending rows; those that are fewer than at_once.rows where `all`. */
static fab_status flush(rvga *e, int all)
{
    const int64_t n = e->pending.n, first = n < e->block.rows ? n : e->block.rows;
    int64_t done = 0;
    int settled = 0;
    if (!e->stream.count.started) { /* 5 */
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < n; i++)
                e->G[i + j * n] = dot(e->stream.model.D, e->X + i * e->part, e->X + j * e->part);
        FAB_TRY(fab_stream_choose(&e->stream, &e->pending, e->G, &e->watch, e->bank));
        start(e);
    }
    if (first > 1 && e->stream.count.rows == 0) FAB_TRY(take_block(e, first, &settled)); /* 8 */
    if (settled) done = first;
    while (done < n && (all || n - done >= e->at_once.rows)) {
        const int64_t m = n - done < e->at_once.rows ? n - done : e->at_once.rows;
        if (fab_stream_gaussian(&e->stream))
            FAB_TRY(take_rows(e, done, m)); /* 9 */
        else
            FAB_TRY(e->classes > 1 ? take_class_row(e, done) : take_row(e, done));
        done += m;
    }
    fab_pending_drop(&e->pending, done);
    memmove(e->X, e->X + done * e->part, (size_t)((n - done) * e->part) * sizeof *e->X);
    return FAB_OK;
}

static double work(const void *handle)
{
    const rvga *e = handle;
    return 2 * (double)e->T * (double)(e->T * e->classes);
}

static fab_status update(void *handle, const fab_examples *x)
{
    rvga *e = handle;
    const int64_t D = e->stream.model.D;
    const int64_t waiting = e->pending.n;
    fab_status s = FAB_OK;
    FAB_TRY(fab_stream_check(&e->stream));
    const int before = fab_blas_enter();
    for (int64_t row = 0; row < x->x.n; row++) {
        double *to = e->X + e->pending.n * e->part;
        fab_rows_get(&x->x, row, D, to);
        if (e->stream.model.intercept) to[D] = 1;
        fab_pending_add(&e->pending, x, row, 1);
        if (e->pending.n < next_rows(e)) continue;
        s = flush(e, 0);
        if (s != FAB_OK) break;
    }
    fab_blas_leave(before);
    if (s == FAB_STOPPED)
        e->pending.n = waiting; /* before the first row was in: as if these had not come */
    else
        e->stream.fault = s;
    return s;
}

/* ---- the result ------------------------------------------------------------------------------- */

/* 6, 7, from the L and z of e, which may be a copy of the stream */
static fab_status put_result(rvga *e)
{
    const int64_t T = e->T;
    const double unit = 1 / sqrt(fab_stream_noise(&e->stream));
    double *const S = e->result.S, *const Si = e->result.Si;
    fab_gauss *const q = e->result.q;
    memcpy(q->mu, e->z, (size_t)T * sizeof *q->mu);
    fab_tri_solve(FAB_LEFT, FAB_T, T, 1, e->L, q->mu); /* mu = L'^-1 z */
    memset(S, 0, (size_t)(T * T) * sizeof *S);
    fab_add_identity(T, S);
    fab_tri_solve(FAB_LEFT, FAB_T, T, T, e->L, S); /* L'^-1 */
    for (int64_t j = 0; j < T; j++)
        for (int64_t i = 0; i < T; i++) Si[i + j * T] = e->L[j + i * T];
    FAB_TRY(fab_spread(q, unit, S, Si, e->result.work));
    return fab_gauss_check(q);
}

/* The pending rows go into a copy: the stream goes on as if nobody had asked. */
static fab_status copy_with_pending(rvga *e, rvga *copy)
{
    const int64_t T = e->T;
    *copy = *e;
    copy->L = e->result.work;
    copy->z = e->result.z;
    memcpy(copy->L, e->L, (size_t)(T * T) * sizeof *e->L);
    memcpy(copy->z, e->z, (size_t)T * sizeof *e->z);
    return flush(copy, 1);
}

static fab_status with_pending(rvga *e)
{
    rvga copy;
    FAB_TRY(copy_with_pending(e, &copy));
    e->result.stream = copy.stream;
    return put_result(&copy);
}

static fab_status create_result(rvga *e)
{
    if (e->result.q) return FAB_OK;
    return fab_gauss_create(&e->result.q, FAB_FORM_COVARIANCE, FAB_F64, e->T, e->T);
}

static fab_status result(void *handle, const fab_gauss **q)
{
    rvga *e = handle;
    FAB_TRY(fab_stream_check(&e->stream));
    FAB_TRY(create_result(e));
    e->result.stream = e->stream;
    const int before = fab_blas_enter();
    const fab_status s = e->pending.n > 0 ? with_pending(e) : put_result(e);
    fab_blas_leave(before);
    FAB_TRY(s);
    *q = e->result.q;
    return FAB_OK;
}

/* The root of beta L L', its mean */
static fab_status root(void *handle, const fab_gauss **q)
{
    rvga *e = handle;
    const int64_t T = e->T;
    rvga now = *e;
    *q = NULL;
    if (e->classes > 1) return FAB_OK;
    FAB_TRY(fab_stream_check(&e->stream));
    FAB_TRY(create_result(e));
    if (e->pending.n > 0) FAB_TRY(copy_with_pending(e, &now));
    e->result.stream = now.stream;
    const double unit = sqrt(fab_stream_noise(&now.stream));
    double *const R = e->result.q->F;
    for (int64_t i = 0; i < T * T; i++) R[i] = unit * now.L[i]; /* row-major L' */
    memcpy(e->result.q->mu, now.z, (size_t)T * sizeof *now.z);
    fab_tri_solve(FAB_LEFT, FAB_T, T, 1, now.L, e->result.q->mu);
    for (int64_t i = 0; i < T; i++) e->result.q->psi[i] = 1;
    *q = e->result.q;
    return FAB_OK;
}

static fab_status report(void *handle, fab_report *r)
{
    fab_stream_report(&((const rvga *)handle)->result.stream, r);
    return FAB_OK;
}

/* ---- files ------------------------------------------------------------------------------------ */

static fab_states state_of(rvga *e)
{
    fab_states s = {{{"state.z", FAB_F64, e->T, 0, e->z}, {"state.L", FAB_F64, e->T, e->T, e->L}}};
    fab_pending_states(&e->pending, FAB_F64, 1, e->part, e->X, &s);
    return s;
}

static fab_states counts_of(rvga *e)
{
    fab_states s = {0};
    fab_stream_states(&e->stream, &s);
    return s;
}

static fab_status save(void *handle, fab_tensors *t)
{
    rvga *e = handle;
    const fab_states all = state_of(e), counts = counts_of(e);
    FAB_TRY(fab_states_save(&all, t));
    return fab_states_save(&counts, t);
}

/* Earlier files have counts and sums as doubles in one tensor. */
static fab_status load_numbers(rvga *e, const fab_tensors *t)
{
    fab_stream *s = &e->stream;
    const int64_t count = 10;
    double n[10];
    FAB_TRY(fab_state_take(t, "state.numbers", FAB_F64, 1, &count, n));
    FAB_TRY(fab_stream_whole(n[0], &s->count.started));
    FAB_TRY(fab_stream_whole(n[1], &s->count.given));
    s->scale = (fab_stream_scale){.alpha = n[2], .beta = n[3]};
    FAB_TRY(fab_stream_whole(n[4], &s->count.rows));
    s->sum = (fab_stream_sums){.rows = n[4],
                               .squares = n[5],
                               .uninformative = n[6],
                               .power = n[7],
                               .logdet = n[8],
                               .score = n[9]};
    return FAB_OK;
}

/* Element i of n from the other end: a matrix with the order of its coordinates reversed. */
static void reverse(int64_t n, double *A)
{
    for (int64_t i = 0; i < n / 2; i++) {
        const double t = A[i];
        A[i] = A[n - 1 - i];
        A[n - 1 - i] = t;
    }
}

/* Earlier files have mu and the covariance P.  With P = d C d, d = diag(P)^1/2, and the order reversed C = U U', U upper:
 * R = U^-1 d^-1 has R'R = P^-1. */
static fab_status load_covariance(rvga *e, const fab_tensors *t)
{
    const int64_t T = e->T, shape[] = {T, T};
    double *C = e->result.S, *R = e->result.Si, *d = e->row, *mu = e->a;
    FAB_TRY(fab_state_take(t, "state.mu", FAB_F64, 1, &T, mu));
    FAB_TRY(fab_state_take(t, "state.P", FAB_F64, 2, shape, C));
    if (!e->stream.count.started && !e->stream.count.given) return FAB_OK; /* no prior yet */
    for (int64_t i = 0; i < T; i++) d[i] = sqrt(C[i + i * T]);
    for (int64_t j = 0; j < T; j++)
        for (int64_t i = 0; i < T; i++) C[i + j * T] /= d[i] * d[j];
    fab_symmetrise(T, C);
    reverse(T * T, C);
    if (fab_chol(T, C) != FAB_OK)
        return FAB_FAIL(FAB_BAD_FILE, "the covariance of the state is not positive definite");
    memset(R, 0, (size_t)(T * T) * sizeof *R);
    fab_add_identity(T, R);
    fab_tri_solve(FAB_LEFT, FAB_N, T, T, C, R);
    reverse(T * T, R); /* U^-1 */
    for (int64_t j = 0; j < T; j++)
        for (int64_t i = 0; i < T; i++) R[i + j * T] /= d[j];
    put_root(e, R);
    put_mean(e, mu);
    return FAB_OK;
}

static fab_status check_loaded(const rvga *e)
{
    const fab_pending *p = &e->pending;
    double sum = 0, least = INFINITY; /* of the diagonal */
    for (int64_t i = 0; i < e->T; i++) sum += fabs(e->z[i]);
    for (int64_t i = 0; i < e->T * e->T; i++) sum += fabs(e->L[i]);
    for (int64_t i = 0; i < e->T; i++) least = fmin(least, e->L[i + i * e->T]);
    if (!isfinite(sum) || (e->stream.count.started && !(least > 0)))
        return FAB_FAIL(FAB_BAD_FILE, "the numbers of the state do not belong together");
    FAB_TRY(fab_stream_check_loaded(&e->stream));
    const fab_examples x = {{e->X, FAB_F64, p->n, e->part}, p->y, p->w, p->offset};
    return fab_examples_check("state.pending", &e->stream.model, &x) == FAB_OK ? FAB_OK
                                                                               : FAB_BAD_FILE;
}

static fab_status load(void *handle, const fab_tensors *t)
{
    rvga *e = handle;
    const fab_states counts = counts_of(e);
    FAB_TRY(fab_tensors_find(t, "state.numbers") ? load_numbers(e, t)
                                                 : fab_states_load(&counts, t));
    FAB_TRY(fab_pending_find(&e->pending, t, "state.pending", 1, next_rows(e), "rows that wait"));
    fab_states all = state_of(e);
    if (fab_tensors_find(t, "state.P")) {
        FAB_TRY(load_covariance(e, t));
        all = (fab_states){0};
        fab_pending_states(&e->pending, FAB_F64, 1, e->part, e->X, &all);
    }
    FAB_TRY(fab_states_load(&all, t));
    return check_loaded(e);
}

#define VERBS                                                                                \
    .streams = 1, .takes = FAB_TAKES_LINEAR, .bytes = bytes, .update = update, .work = work, \
    .result = result, .root = root, .report = report, .free = release, .save = save, .load = load

const fab_method fab_rvga_method = {
    .name = "rvga",
    .summary = "one pass, full covariance: linear, logistic, poisson, softmax; for small D",
    .suits = fab_suits_recursion,
    .fields = &table,
    .init = init,
    VERBS,
};

const fab_method fab_kalman_method = {
    .name = "kalman",
    .summary = "one pass, full covariance: exact linear regression for small D",
    .suits = fab_suits_normal,
    .fields = &kalman_table,
    .init = init_kalman,
    VERBS,
};
