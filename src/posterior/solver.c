/* solver.c - use a low-rank-plus-diagonal Gaussian: density, products, variances, draws.
 *
 * Everything is said about A = F F' + diag(psi), which is the covariance or the precision.  With
 * M = I + F' psi^-1 F = L L' (K x K):
 *
 *   1  log det A  = sum log psi + 2 sum log L_kk
 *   2  A^-1 x     = psi^-1 (x - F h),                 h = M^-1 F' psi^-1 x
 *   3  x' A^-1 x  = |psi^-1/2 (x - F h)|^2 + |h|^2    (Woodbury would subtract two large numbers)
 *   4  A x        = psi x + F (F' x),                 x' A x = |psi^1/2 x|^2 + |F' x|^2
 *   5  diag(A^-1) = psi^-1 (1 - l),                   l_i = |L^-1 f_i|^2 / psi_i
 *   6  a draw of the covariance form: mu + F h + sqrt(psi) z
 *   7  a draw of the precision form:  mu + x + psi^-1 F M^-1 (e - F' x),  x = z / sqrt(psi)
 *
 * h minimises the right side of 3, so an error e in h costs e' M e, of second order.  When the columns
 * of psi^-1/2 F are nearly dependent beside the identity, the Gram has lost them: then L comes from the
 * QR of [psi^-1/2 F; I], and h gets one step of refinement (the corrected semi-normal equations).  In 5
 * at most K coordinates can have l near 1; those are computed by 3 with x = e_i.
 *
 * SPDX-License-Identifier: MIT */
#include "posterior/solver.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "fabayes/random.h"
#include "la/small.h"
#include "posterior/factor.h"
#include <math.h>
#include <string.h>

enum { MAX_BATCH = 64 };
#define BATCH_BYTES      64e6 /* of vectors worked on at a time */
#define LEVERAGE_CANCELS 0.999

struct fab_solver {
    const fab_gauss *g;
    fab_run run;
    int64_t D, K, B; /* B vectors at a time */
    int64_t room;    /* small matrices of the callers */
    int refine;
    double logdet;   /* of A */
    fab_long F;      /* D x K */
    void *X;         /* B vectors of length D, in the type of F */
    double *w;       /* D: 1 / psi */
    double *q;       /* D */
    double *L;       /* K x K */
    double *Li;      /* K x K: L'^-1 */
    double *H, *C;   /* K x B */
    double *sum;     /* B */
    double *scratch; /* of the factorisation */
};

/* ---- life ------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_solver *s = handle;
    const int64_t D = s->D, K = s->K, B = s->B;
    if (s->g->form == FAB_FORM_POINT) return;
    s->X = fab_place(l, D * B, s->run.ops->size);
    s->w = fab_place(l, D, sizeof *s->w);
    s->q = fab_place(l, D, sizeof *s->q);
    s->L = fab_place(l, K * K, sizeof *s->L);
    s->Li = fab_place(l, K * K, sizeof *s->Li);
    s->H = fab_place(l, K * B, sizeof *s->H);
    s->C = fab_place(l, K * B, sizeof *s->C);
    s->sum = fab_place(l, B, sizeof *s->sum);
    s->scratch = fab_place(l, fab_factor_scratch(K), sizeof *s->scratch);
    const int64_t rows = K > s->room ? K : s->room, cols = rows > B ? rows : B;
    s->run.work = fab_place(l, (int64_t)s->run.ops->work(D, rows, cols, s->run.threads), 1);
}

static fab_status factor(fab_solver *s);

static fab_status open_solver(fab_solver **s, const fab_gauss *g, const fab_exec *x, int64_t room)
{
    *s = NULL;
    FAB_TRY(fab_gauss_check(g));
    fab_solver proto = {.g = g, .D = g->D, .K = g->K, .room = room};
    FAB_TRY(fab_run_init(&proto.run, x, g->type));
    const double fit = BATCH_BYTES / ((double)g->D * (double)proto.run.ops->size);
    proto.B = (int64_t)fmin(fmax(fit, 1), MAX_BATCH);
    proto.F = fab_long_rows(g->F, g->D, g->K);
    return fab_build((void **)s, sizeof proto, &proto, layout);
}

fab_status fab_solver_init_room(fab_solver **s, const fab_gauss *g, const fab_exec *x, int64_t room)
{
    fab_status status = fab_agree(x ? x->comm : NULL, open_solver(s, g, x, room),
                                  (uint64_t)(4 * g->K + (int64_t)g->form),
                                  "gauss: the processes have another K or another form");
    if (status == FAB_OK && g->form != FAB_FORM_POINT) {
        const int before = fab_blas_enter();
        status = factor(*s);
        fab_blas_leave(before);
    }
    if (status != FAB_OK) {
        fab_solver_free(*s);
        *s = NULL;
    }
    return status;
}

fab_status fab_solver_create(fab_solver **s, const fab_gauss *g, const fab_exec *x)
{
    return fab_solver_init_room(s, g, x, 1);
}

void fab_solver_free(fab_solver *s)
{
    fab_release(s);
}

/* ---- the K x K factor ------------------------------------------------------------------------- */

static fab_status factor(fab_solver *s)
{
    const int64_t K = s->K;
    const double *psi = s->g->psi;
    double log_psi = 0;
    for (int64_t i = 0; i < s->D; i++) s->w[i] = 1 / psi[i];
    for (int64_t i = 0; i < s->D; i++) log_psi += log(psi[i]);
    FAB_TRY(fab_sum(&s->run, &log_psi, 1));
    FAB_TRY(fab_factor(&s->run, &s->F, s->w, s->L, s->scratch, &s->refine));
    s->logdet = log_psi + fab_chol_logdet(K, s->L); /* 1 */
    fab_factor_invert(K, s->L, s->Li);
    if (!isfinite(s->logdet)) return FAB_FAIL(FAB_NUMERIC, "gauss: the determinant is not finite");
    return FAB_OK;
}

/* ---- batches of vectors ----------------------------------------------------------------------- */

static fab_long batch(const fab_solver *s, int64_t k)
{
    return fab_long_vectors(s->X, s->D, k, s->D);
}

static fab_long column(const fab_solver *s, const fab_long *X, int64_t j)
{
    return fab_long_vectors((char *)X->p + (size_t)(j * X->cs) * s->run.ops->size, s->D, 1, s->D);
}

/* C = F' w X, over all processes. */
static fab_status project(fab_solver *s, const double *w, const fab_long *X, double *C)
{
    if (s->K == 0) return FAB_OK;
    s->run.ops->cross(&s->run, &s->F, w, X, C);
    return fab_sum(&s->run, C, s->K * X->k);
}

/* X <- X - F C */
static void take_away(fab_solver *s, double *C, const fab_long *X)
{
    if (s->K == 0) return;
    for (int64_t i = 0; i < s->K * X->k; i++) C[i] = -C[i];
    s->run.ops->mult(&s->run, NULL, &s->F, C, 1, X);
}

/* H = M^-1 F' psi^-1 X,  X <- X - F H:  the residual of 2 and 3 */
static fab_status residual(fab_solver *s, const fab_long *X)
{
    const int64_t n = s->K * X->k;
    FAB_TRY(project(s, s->w, X, s->H));
    fab_chol_solve(s->K, X->k, s->L, s->H);
    memcpy(s->C, s->H, (size_t)n * sizeof *s->C);
    take_away(s, s->C, X);
    if (!s->refine) return FAB_OK;
    for (int round = 0; round < 2; round++) {
        FAB_TRY(project(s, s->w, X, s->C));
        for (int64_t i = 0; i < n; i++) s->C[i] -= s->H[i]; /* the gradient of 3 */
        fab_chol_solve(s->K, X->k, s->L, s->C);
        for (int64_t i = 0; i < n; i++) s->H[i] += s->C[i];
        take_away(s, s->C, X);
    }
    return FAB_OK;
}

/* q_j += |column j of C|^2 */
static void add_squares(int64_t K, int64_t k, const double *C, double *q)
{
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < K; i++) q[j] += C[i + j * K] * C[i + j * K];
}

/* q_j = x_j' A^-1 x_j (destroys X) */
static fab_status quad_inverse(fab_solver *s, const fab_long *X, double *q)
{
    FAB_TRY(residual(s, X));
    s->run.ops->colquad(&s->run, X, s->w, q);
    FAB_TRY(fab_sum(&s->run, q, X->k));
    add_squares(s->K, X->k, s->H, q); /* 3 */
    return FAB_OK;
}

/* q_j = x_j' A x_j */
static fab_status quad(fab_solver *s, const fab_long *X, double *q)
{
    FAB_TRY(project(s, NULL, X, s->C));
    s->run.ops->colquad(&s->run, X, s->g->psi, q);
    FAB_TRY(fab_sum(&s->run, q, X->k));
    add_squares(s->K, X->k, s->C, q); /* 4 */
    return FAB_OK;
}

/* X <- A^-1 X */
static fab_status times_inverse(fab_solver *s, const fab_long *X)
{
    FAB_TRY(residual(s, X));
    s->run.ops->axpy(&s->run, s->w, X, 0, X); /* 2 */
    return FAB_OK;
}

/* X <- A X */
static fab_status times(fab_solver *s, const fab_long *X)
{
    FAB_TRY(project(s, NULL, X, s->C));
    s->run.ops->axpy(&s->run, s->g->psi, X, 0, X);
    if (s->K) s->run.ops->mult(&s->run, NULL, &s->F, s->C, 1, X); /* 4 */
    return FAB_OK;
}

static void give_columns(const fab_solver *s, const fab_long *X, double *out)
{
    for (int64_t j = 0; j < X->k; j++) {
        const fab_long x = column(s, X, j);
        s->run.ops->get(&s->run, &x, out + j * s->D);
    }
}

/* ---- the matrix A, for the distances ---------------------------------------------------------- */

const fab_gauss *fab_solver_gauss(const fab_solver *s)
{
    return s->g;
}

const fab_run *fab_solver_run(const fab_solver *s)
{
    return &s->run;
}

const double *fab_solver_chol(const fab_solver *s)
{
    return s->L;
}

double fab_solver_logdet_matrix(const fab_solver *s)
{
    return s->logdet;
}

fab_status fab_solver_diag(fab_solver *s, double *out)
{
    memcpy(out, s->g->psi, (size_t)s->D * sizeof *out);
    if (s->K) s->run.ops->rowquad(&s->run, &s->F, NULL, s->K, 1, out);
    return FAB_OK;
}

/* out_i = (A^-1)_ii by 3, for a coordinate where 5 cancels */
static fab_status one_diag_inverse(fab_solver *s, int64_t i, double *out)
{
    const fab_long X = batch(s, 1);
    const fab_long cell = {(char *)X.p + (size_t)i * s->run.ops->size, 1, 1, 1, 1};
    s->run.ops->zero(&s->run, &X);
    s->run.ops->put(&s->run, (const double[]){1}, &cell);
    return quad_inverse(s, &X, out);
}

fab_status fab_solver_diag_inverse(fab_solver *s, double *out)
{
    memset(s->q, 0, (size_t)s->D * sizeof *s->q);
    if (s->K) s->run.ops->rowquad(&s->run, &s->F, s->Li, s->K, 0, s->q);
    for (int64_t i = 0; i < s->D; i++) {
        const double leverage = s->q[i] * s->w[i];
        out[i] = s->w[i] * (1 - leverage); /* 5 */
        if (leverage > LEVERAGE_CANCELS && !s->run.comm.sum)
            FAB_TRY(one_diag_inverse(s, i, &out[i]));
    }
    return FAB_OK;
}

fab_status fab_solver_inverse_trace(fab_solver *s, const fab_long *B, double *out)
{
    *out = 0;
    for (int64_t first = 0; first < B->k; first += s->B) {
        const int64_t k = B->k - first < s->B ? B->k - first : s->B;
        const fab_long part = {(char *)B->p + (size_t)(first * B->cs) * s->run.ops->size, B->n, k,
                               B->rs, B->cs};
        const fab_long X = batch(s, k);
        s->run.ops->axpy(&s->run, NULL, &part, 0, &X);
        FAB_TRY(quad_inverse(s, &X, s->sum));
        for (int64_t j = 0; j < k; j++) *out += s->sum[j];
    }
    return FAB_OK;
}

int64_t fab_solver_matrix_work(const fab_solver *s)
{
    return s->D * (s->D + s->K);
}

/* k unit vectors from number `first` on */
static void unit_vectors(fab_solver *s, int64_t first, const fab_long *X)
{
    s->run.ops->zero(&s->run, X);
    for (int64_t j = 0; j < X->k; j++) {
        const fab_long cell = {(char *)X->p + (size_t)(first + j + j * X->cs) * s->run.ops->size, 1,
                               1, 1, 1};
        s->run.ops->put(&s->run, (const double[]){1}, &cell);
    }
}

/* T: column j is [psi^-1/2 (e_j - F h); h], of length D + K */
static fab_status inverse_root(fab_solver *s, double *T)
{
    const int64_t D = s->D, K = s->K, n = D + K;
    for (int64_t first = 0; first < D; first += s->B) {
        const fab_long X = batch(s, D - first < s->B ? D - first : s->B);
        unit_vectors(s, first, &X);
        FAB_TRY(residual(s, &X));
        for (int64_t j = 0; j < X.k; j++) {
            const fab_long x = column(s, &X, j);
            double *t = T + (first + j) * n;
            s->run.ops->get(&s->run, &x, t);
            for (int64_t i = 0; i < D; i++) t[i] *= sqrt(s->w[i]);
            memcpy(t + D, s->H + j * K, (size_t)K * sizeof *t);
        }
    }
    return FAB_OK;
}

fab_status fab_solver_matrix(fab_solver *s, int inverse, double *S, double *work)
{
    const int64_t D = s->D;
    if (inverse) {
        FAB_TRY(inverse_root(s, work));
        fab_mm(FAB_T, FAB_N, D, D, D + s->K, 1, work, work, 0, S); /* 3, for pairs of vectors */
    } else {
        for (int64_t first = 0; first < D; first += s->B) {
            const fab_long X = batch(s, D - first < s->B ? D - first : s->B);
            unit_vectors(s, first, &X);
            FAB_TRY(times(s, &X));
            give_columns(s, &X, S + first * D);
        }
    }
    fab_symmetrise(D, S);
    return FAB_OK;
}

/* ---- the public verbs ------------------------------------------------------------------------- */

static fab_status refuse_point(const fab_solver *s, const char *what)
{
    if (s->g->form != FAB_FORM_POINT) return FAB_OK;
    return FAB_FAIL(FAB_UNSUPPORTED, "a point has no %s", what);
}

fab_status fab_solver_logdet(const fab_solver *s, double *logdet)
{
    FAB_TRY(refuse_point(s, "log-determinant"));
    *logdet = s->g->form == FAB_FORM_COVARIANCE ? s->logdet : -s->logdet;
    return FAB_OK;
}

static const double log_two_pi = 1.8378770664093454836;

/* Coordinates over all processes. */
static double all_rows(const fab_solver *s)
{
    return (double)(s->run.comm.sum ? s->run.comm.total_rows : s->D);
}

fab_status fab_solver_entropy(const fab_solver *s, double *nats)
{
    double logdet;
    FAB_TRY(refuse_point(s, "entropy"));
    FAB_TRY(fab_solver_logdet(s, &logdet));
    *nats = 0.5 * (all_rows(s) * (1 + log_two_pi) + logdet);
    return FAB_OK;
}

/* What is done to a batch; its result goes to q. */
typedef fab_status verb_fn(fab_solver *s, const fab_long *X, double *q);

static fab_status mahalanobis_batch(fab_solver *s, const fab_long *X, double *q)
{
    return s->g->form == FAB_FORM_COVARIANCE ? quad_inverse(s, X, q) : quad(s, X, q);
}

static fab_status covariance_batch(fab_solver *s, const fab_long *X, double *out)
{
    FAB_TRY(s->g->form == FAB_FORM_COVARIANCE ? times(s, X) : times_inverse(s, X));
    give_columns(s, X, out);
    return FAB_OK;
}

static fab_status precision_batch(fab_solver *s, const fab_long *X, double *out)
{
    FAB_TRY(s->g->form == FAB_FORM_COVARIANCE ? times_inverse(s, X) : times(s, X));
    give_columns(s, X, out);
    return FAB_OK;
}

static fab_status in_batches(fab_solver *s, const char *who, verb_fn *verb, const fab_rows *x,
                             const double *mu, double *out, int64_t step)
{
    FAB_TRY(refuse_point(s, who));
    FAB_TRY(fab_agree(&s->run.comm, fab_rows_check_dense(who, x, s->D), (uint64_t)x->n,
                      "gauss: the processes have another number of rows"));
    const int before = fab_blas_enter();
    fab_status status = FAB_OK;
    for (int64_t first = 0; first < x->n && status == FAB_OK; first += s->B) {
        const int64_t k = x->n - first < s->B ? x->n - first : s->B;
        const fab_rows part = fab_rows_part(x, first, k);
        const fab_long X = batch(s, k);
        s->run.ops->load(&s->run, &part, mu, &X);
        status = verb(s, &X, out + first * step);
    }
    fab_blas_leave(before);
    return status;
}

fab_status fab_solver_mahalanobis(fab_solver *s, const fab_rows *x, double *out)
{
    return in_batches(s, "Mahalanobis distance", mahalanobis_batch, x, s->g->mu, out, 1);
}

fab_status fab_solver_logpdf(fab_solver *s, const fab_rows *x, double *out)
{
    double logdet;
    FAB_TRY(refuse_point(s, "density"));
    FAB_TRY(in_batches(s, "density", mahalanobis_batch, x, s->g->mu, out, 1));
    FAB_TRY(fab_solver_logdet(s, &logdet));
    for (int64_t j = 0; j < x->n; j++) out[j] = -0.5 * (all_rows(s) * log_two_pi + logdet + out[j]);
    return FAB_OK;
}

fab_status fab_solver_times_covariance(fab_solver *s, const fab_rows *x, double *out)
{
    return in_batches(s, "covariance", covariance_batch, x, NULL, out, s->D);
}

fab_status fab_solver_times_precision(fab_solver *s, const fab_rows *x, double *out)
{
    return in_batches(s, "precision", precision_batch, x, NULL, out, s->D);
}

fab_status fab_solver_variances(fab_solver *s, double *out)
{
    FAB_TRY(refuse_point(s, "variance"));
    const int before = fab_blas_enter();
    const fab_status status = s->g->form == FAB_FORM_COVARIANCE ? fab_solver_diag(s, out)
                                                                : fab_solver_diag_inverse(s, out);
    fab_blas_leave(before);
    return status;
}

fab_status fab_solver_dense(fab_solver *s, double *S)
{
    const int64_t D = s->D;
    FAB_TRY(refuse_point(s, "covariance"));
    FAB_TRY(fab_check_alone("a dense covariance", &(fab_exec){.comm = &s->run.comm}));
    if (D > FAB_DENSE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED, "a dense covariance is offered up to D = %d, not %lld",
                        FAB_DENSE_MAX, (long long)D);
    for (int64_t i = 0; i < D; i++) {
        memset(S + i * D, 0, (size_t)D * sizeof *S);
        S[i * D + i] = 1;
    }
    FAB_TRY(fab_solver_times_covariance(s, &(fab_rows){S, FAB_F64, D, D}, S));
    fab_symmetrise(D, S);
    return FAB_OK;
}

/* ---- draws ------------------------------------------------------------------------------------ */

/* Draws are made in groups aligned to their numbers: a product of several columns may round
 * differently from a product of one, and draw j must not depend on which call makes it. */
enum { DRAW_GROUP = 8 };

/* Draw number j uses two streams of its seed and purpose: 2j for z (D numbers), 2j + 1 for h or e (K numbers).
 * Columns of the group that nobody wants stay 0. */
static void make_noise(fab_solver *s, uint64_t seed, fab_purpose purpose, int64_t group,
                       int64_t first, int64_t end, const fab_long *X, double *h)
{
    s->run.ops->zero(&s->run, X);
    memset(h, 0, (size_t)(s->K * X->k) * sizeof *h);
    for (int64_t j = first; j < end; j++) {
        const int64_t at = j - group;
        const fab_long z = column(s, X, at);
        s->run.ops->randn(&s->run, seed, purpose, 2 * (uint64_t)j, &z);
        fab_random_normal(seed, purpose, 2 * (uint64_t)j + 1, 0, s->K, FAB_F64, h + at * s->K);
    }
}

static fab_status draw_covariance(fab_solver *s, const fab_long *X)
{
    for (int64_t i = 0; i < s->D; i++) s->q[i] = sqrt(s->g->psi[i]);
    s->run.ops->axpy(&s->run, s->q, X, 0, X);
    if (s->K) s->run.ops->mult(&s->run, NULL, &s->F, s->H, 1, X); /* 6 */
    return FAB_OK;
}

static fab_status draw_precision(fab_solver *s, const fab_long *X)
{
    for (int64_t i = 0; i < s->D; i++) s->q[i] = sqrt(s->w[i]);
    s->run.ops->axpy(&s->run, s->q, X, 0, X);
    if (s->K == 0) return FAB_OK;
    FAB_TRY(project(s, NULL, X, s->C));
    for (int64_t i = 0; i < s->K * X->k; i++) s->H[i] -= s->C[i];
    fab_chol_solve(s->K, X->k, s->L, s->H);
    s->run.ops->mult(&s->run, s->w, &s->F, s->H, 1, X); /* 7 */
    return FAB_OK;
}

static void store(void *out, fab_dtype type, int64_t at, double v)
{
    if (type == FAB_F32)
        ((float *)out)[at] = (float)v;
    else
        ((double *)out)[at] = v;
}

/* One draw, deviation d from mu (NULL: 0), into row `at` of out. */
static void write_draw(const fab_gauss *g, const double *d, fab_dtype type, void *out, int64_t at)
{
    if (!g->total && type == FAB_F64 && d) { /* the common case, in vectors */
        double *theta = out;
        for (int64_t i = 0; i < g->D; i++) theta[at + i] = g->mu[i] + d[i];
        return;
    }
    for (int64_t i = 0; i < g->total; i++) store(out, type, at + i, g->theta[i]);
    for (int64_t i = 0; i < g->D; i++)
        store(out, type, at + (g->total ? g->index[i] : i), g->mu[i] + (d ? d[i] : 0));
}

/* Draws number first .. end - 1, all of one group, into row `first - origin` of out and on. */
static fab_status draw_group(fab_solver *s, uint64_t seed, fab_purpose purpose, int64_t group,
                             int64_t size, int64_t first, int64_t end, fab_dtype type, void *out,
                             int64_t ld, int64_t origin)
{
    const fab_long X = batch(s, size);
    make_noise(s, seed, purpose, group, first, end, &X, s->H);
    FAB_TRY(s->g->form == FAB_FORM_COVARIANCE ? draw_covariance(s, &X) : draw_precision(s, &X));
    for (int64_t j = first; j < end; j++) {
        const fab_long d = column(s, &X, j - group);
        s->run.ops->get(&s->run, &d, s->q);
        write_draw(s->g, s->q, type, out, (j - origin) * ld);
    }
    return FAB_OK;
}

static fab_status draw_all(fab_solver *s, uint64_t seed, fab_purpose purpose, int64_t first,
                           int64_t n, fab_dtype type, void *out, int64_t ld)
{
    const int64_t size = s->B < DRAW_GROUP ? s->B : DRAW_GROUP, end = first + n;
    for (int64_t j = first; j < end;) {
        const int64_t group = j - j % size, stop = end - group > size ? group + size : end;
        FAB_TRY(draw_group(s, seed, purpose, group, size, j, stop, type, out, ld, first));
        j = stop;
    }
    return FAB_OK;
}

fab_status fab_solver_sample(fab_solver *s, uint64_t seed, fab_purpose purpose, int64_t first,
                             int64_t n, fab_dtype type, void *out, int64_t ld)
{
    const fab_gauss *g = s->g;
    const int64_t length = g->total ? g->total : g->D;
    if (n < 0 || first < 0 || first > INT64_MAX - n || ld < length ||
        (type != FAB_F64 && type != FAB_F32))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "sample: %lld draws from number %lld, %lld apart, do not fit draws of "
                        "length %lld in f64 or f32",
                        (long long)n, (long long)first, (long long)ld, (long long)length);
    if (g->form == FAB_FORM_POINT) {
        for (int64_t j = 0; j < n; j++) write_draw(g, NULL, type, out, j * ld);
        return FAB_OK;
    }
    const int before = fab_blas_enter();
    const fab_status status = draw_all(s, seed, purpose, first, n, type, out, ld);
    fab_blas_leave(before);
    return status;
}
