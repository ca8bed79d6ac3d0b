/* features.c - maps of a row to features whose products are near a kernel: random Fourier features and Nystrom's.
 *
 * rff: a term of the kernel, s2 times a product of stationary leaves, is the mean of s2 cos(w'(x - z)) over frequencies w = sum
 * of those of its leaves, each drawn from the spectrum of its own:
 *
 *   rbf         n / l, n normal
 *   matern nu   n / (l sqrt(g)), g = Gamma(nu) / nu: multivariate t with 2 nu degrees of freedom
 *   rq a        n sqrt(g) / l, g = Gamma(a) / a: an rbf whose length-scale is random
 *   periodic    an rbf of (cos, sin)(2 pi x_j / p), which stand behind the columns of x
 *   const       0
 *
 * nystrom:
 *   1  d_i = k(x_i, x_i);  for j = 0, 1, .. m - 1:  p = the row of the largest d, none if that is rounding
 *   2     v_j = (k(X, x_p) - sum_l<j v_l v_l(p)) / sqrt(d_p),  d -= v_j^2                    (pivoted Cholesky)
 *   3  Z = the rows p in this order, L L' = k(Z, Z)
 *   apply: phi = L^-1 k(Z, x),  k - q = k(x, x) - phi'phi
 *
 * Rows are taken in blocks of ROWS, the last one filled up, so that a row's bits do not hang on how many there are.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/kernel.h"
#include "base/hooks.h"
#include "base/text.h"
#include "kernel/features.h"
#include "kernel/kernel.h"
#include "la/nn.h"
#include "la/ops.h"
#include "la/small.h"
#include "la/threads.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define TWO_PI 6.283185307179586477
/* A pivot is known to some m eps k(x, x): this many times as much is no rounding. */
#define SURE 100
/* Rows of a block; blocks of a thread between two questions whether to stop. */
enum { ROWS = 64, BLOCKS = 64 };
#define TURNS 1e6 /* angles up to which cosines come from the kernels of la */

enum kind { RFF, NYSTROM };
static const char *const kinds[] = {"rff", "nystrom"};

struct fab_features {
    fab_kernel *k;
    enum kind kind;
    int64_t m, D, asked;
    struct {
        int64_t pairs, orthogonal,
            waves; /* waves: columns of periodics, each two inputs behind x */
        uint64_t seed;
        int64_t *column; /* waves */
        double *rate;    /* waves: 2 pi / p */
        double *W;       /* (D + 2 waves) x pairs, row-major */
        double *root;    /* pairs: sqrt(s2 / pairs of the term) */
    } rff;
    struct {
        double *Z; /* m x D */
        double *L; /* m x m, column-major, lower */
    } ny;
};

void fab_features_free(fab_features *f)
{
    if (!f) return;
    fab_kernel_free(f->k);
    fab_release(f->rff.column);
    fab_release(f->rff.rate);
    fab_release(f->rff.W);
    fab_release(f->rff.root);
    fab_release(f->ny.Z);
    fab_release(f->ny.L);
    fab_release(f);
}

int64_t fab_features_size(const fab_features *f)
{
    return f->m;
}

const fab_kernel *fab_features_kernel(const fab_features *f)
{
    return f->k;
}

int64_t fab_features_asked(const fab_features *f)
{
    return f->asked;
}

int fab_features_same(const fab_features *f, int64_t m, int64_t orthogonal, uint64_t seed)
{
    if (f->asked != m) return 0;
    return f->kind == NYSTROM || (f->rff.orthogonal == orthogonal && f->rff.seed == seed);
}

const double *fab_features_landmarks(const fab_features *f)
{
    return f->ny.Z;
}

int fab_features_leave(const fab_features *f)
{
    return f->kind == NYSTROM;
}

static fab_status start(fab_features **f, const fab_kernel *k, enum kind kind, int64_t m)
{
    FAB_TRY(fab_alloc_array((void **)f, 1, sizeof **f, "features"));
    **f = (fab_features){.kind = kind, .m = m, .D = fab_kernel_columns(k), .asked = m};
    return fab_kernel_copy(&(*f)->k, k);
}

/* ---- nystrom -------------------------------------------------------------------------------------------- */

/* 3 */
static fab_status factor(fab_features *f, const fab_exec *x)
{
    const int64_t m = f->m;
    FAB_TRY(fab_alloc_array((void **)&f->ny.L, m * m, sizeof *f->ny.L, "features"));
    FAB_TRY(fab_kernel_gram(f->k, m, f->ny.Z, f->D, f->ny.L, m, x));
    return fab_prefix(fab_chol(m, f->ny.L), "landmarks: the matrix of their kernel: ");
}

typedef struct search {
    int64_t n, ldx;
    const double *X;
    double *V;   /* n x m, column-major */
    double *d;   /* n */
    double *row; /* m: row p of V */
} search;

static int64_t largest(int64_t n, const double *d)
{
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++)
        if (d[i] > d[at]) at = i;
    return at;
}

/* 1, 2; the landmarks that there are: f->m of them */
static fab_status choose(fab_features *f, const search *s, const fab_exec *x)
{
    const int64_t n = s->n;
    fab_watch watch = fab_watch_of(x);
    fab_kernel_diag(f->k, n, s->X, s->ldx, s->d);
    const double least = SURE * (double)f->m * DBL_EPSILON *
                         s->d[largest(n, s->d)]; /* NaN: none is larger */
    int64_t j = 0;
    for (; j < f->m; j++) {
        double *v = s->V + j * n;
        const int64_t p = largest(n, s->d);
        const double *z = s->X + p * s->ldx, pivot = s->d[p];
        if (!(pivot > least)) break;
        memcpy(f->ny.Z + j * f->D, z, (size_t)f->D * sizeof *z);
        FAB_TRY(fab_kernel_cross(f->k, n, s->X, s->ldx, 1, z, f->D, v, 1, x));
        for (int64_t l = 0; l < j; l++) s->row[l] = s->V[p + l * n];
        fab_mv(FAB_N, n, j, -1, s->V, s->row, 1, v);
        const double root = sqrt(pivot);
        for (int64_t i = 0; i < n; i++) {
            v[i] /= root;
            s->d[i] -= v[i] * v[i];
        }
        s->d[p] = 0;
        FAB_TRY(fab_watch_work(&watch, (double)n * (double)j, "landmarks", j, f->m));
    }
    f->m = j;
    if (j > 0) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "features: the kernel of the first rows is 0 or no number");
}

static fab_status find(fab_features *f, int64_t n, const double *X, int64_t ldx, const fab_exec *x)
{
    search s = {.n = n, .ldx = ldx, .X = X};
    FAB_TRY(fab_alloc_array((void **)&f->ny.Z, f->m * f->D, sizeof *f->ny.Z, "features"));
    FAB_TRY(fab_alloc_array((void **)&s.V, n * f->m + n + f->m, sizeof *s.V, "features"));
    s.d = s.V + n * f->m;
    s.row = s.d + n;
    const fab_status status = choose(f, &s, x);
    fab_release(s.V);
    FAB_TRY(status);
    return factor(f, x);
}

fab_status fab_features_nystrom(fab_features **f, const fab_kernel *k, int64_t m, int64_t n,
                                const double *X, int64_t ldx, const fab_exec *x)
{
    fab_features *new = NULL;
    *f = NULL;
    if (m < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "nystrom: %lld landmarks, expected 1 or more",
                        (long long)m);
    if (m > n)
        return FAB_FAIL(FAB_BAD_DATA, "nystrom: %lld landmarks are more than the %lld first rows",
                        (long long)m, (long long)n);
    fab_status s = start(&new, k, NYSTROM, m);
    if (s == FAB_OK) s = find(new, n, X, ldx, x);
    if (s == FAB_OK)
        *f = new;
    else
        fab_features_free(new);
    return s;
}

/* Tasks tell nobody: who watches is asked between them. */
static int go_on(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return 0;
}

/* phi of a block of ROWS rows, m x ROWS; X: ROWS x D.  Landmarks come first: their centre is that of all blocks. */
static fab_status apply_nystrom(const fab_features *f, const double *X, double *phi)
{
    const fab_exec alone = {.threads = 1, .progress = go_on};
    FAB_TRY(fab_kernel_cross(f->k, f->m, f->ny.Z, f->D, ROWS, X, f->D, phi, ROWS, &alone));
    fab_tri_solve(FAB_RIGHT, FAB_T, ROWS, f->m, f->ny.L, phi);
    return FAB_OK;
}

/* ---- rff ------------------------------------------------------------------------------------------------ */

enum { TRIES = 64 }; /* of a gamma: each is taken with probability .95 or more */

/* Addresses of the random numbers of one leaf in one term. */
typedef struct source {
    uint64_t seed, stream; /* and the three streams behind it */
} source;

/* Gamma of shape a for number i (Marsaglia and Tsang, 2000; below 1 by a power of a uniform). */
static double gamma_of(const source *s, double a, int64_t i)
{
    const double b = a < 1 ? a + 1 : a, d = b - 1.0 / 3, c = 1 / (3 * sqrt(d));
    const uint64_t first = (uint64_t)i * TRIES;
    double z[TRIES], u[TRIES], boost, v = 1;
    fab_random_normal(s->seed, FAB_PURPOSE_FEATURES, s->stream + 1, first, TRIES, FAB_F64, z);
    fab_random_uniform(s->seed, FAB_PURPOSE_FEATURES, s->stream + 2, first, TRIES, u);
    fab_random_uniform(s->seed, FAB_PURPOSE_FEATURES, s->stream + 3, (uint64_t)i, 1, &boost);
    for (int t = 0; t < TRIES; t++) {
        const double root = 1 + c * z[t];
        v = root * root * root;
        if (root > 0 && log(u[t]) < 0.5 * z[t] * z[t] + d - d * v + d * log(v)) break;
        v = 1;
    }
    return d * v * (a < 1 ? pow(boost, 1 / a) : 1);
}

/* How long the frequency of number i is beside a normal one's, length-scales being 1. */
static double stretch_rbf(const fab_leaf *f, const source *s, int64_t i)
{
    (void)f, (void)s, (void)i;
    return 1;
}

static double stretch_matern12(const fab_leaf *f, const source *s, int64_t i)
{
    (void)f;
    return sqrt(0.5 / gamma_of(s, 0.5, i));
}

static double stretch_matern32(const fab_leaf *f, const source *s, int64_t i)
{
    (void)f;
    return sqrt(1.5 / gamma_of(s, 1.5, i));
}

static double stretch_matern52(const fab_leaf *f, const source *s, int64_t i)
{
    (void)f;
    return sqrt(2.5 / gamma_of(s, 2.5, i));
}

static double stretch_matern(const fab_leaf *f, const source *s, int64_t i)
{
    return sqrt(f->given / gamma_of(s, f->given, i));
}

static double stretch_rq(const fab_leaf *f, const source *s, int64_t i)
{
    return sqrt(gamma_of(s, f->value, i) / f->value);
}

static const struct spectrum {
    const char *name;
    double (*stretch)(const fab_leaf *f, const source *s, int64_t i); /* NULL: all are 0 */
    int waves;
} spectra[] = {
    {"rbf", stretch_rbf, 0},           {"matern12", stretch_matern12, 0},
    {"matern32", stretch_matern32, 0}, {"matern52", stretch_matern52, 0},
    {"matern", stretch_matern, 0},     {"rq", stretch_rq, 0},
    {"periodic", stretch_rbf, 1},      {"const", NULL, 0},
};

static const struct spectrum *spectrum_of(const fab_leaf *f)
{
    for (size_t i = 0; i < sizeof spectra / sizeof *spectra; i++)
        if (strcmp(spectra[i].name, f->kind->name) == 0) return &spectra[i];
    return NULL;
}

/* Rows of G (n x d, n <= d) become orthogonal, their lengths stay: Gram and Schmidt, twice. */
static void make_orthogonal(int64_t n, int64_t d, double *G, double *unit)
{
    for (int64_t i = 0; i < n; i++) {
        double *g = G + i * d, *u = unit + i * d, length = 0, rest = 0;
        for (int64_t j = 0; j < d; j++) length += g[j] * g[j];
        memcpy(u, g, (size_t)d * sizeof *u);
        for (int64_t l = 0; l < 2 * i; l++) {
            const double *e = unit + l % i * d;
            double along = 0;
            for (int64_t j = 0; j < d; j++) along += e[j] * u[j];
            for (int64_t j = 0; j < d; j++) u[j] -= along * e[j];
        }
        for (int64_t j = 0; j < d; j++) rest += u[j] * u[j];
        for (int64_t j = 0; j < d; j++) {
            u[j] /= sqrt(rest);
            g[j] = sqrt(length) * u[j];
        }
    }
}

/* Add the frequencies of leaf number `leaf` to columns first .. first + n - 1 of W.  wave: its place among the waves.  G: room for
 * n x width + width x width. */
static void add_leaf(fab_features *f, int64_t leaf, const source *s, int64_t wave, int64_t first,
                     int64_t n, double *G)
{
    const fab_leaf *l = &f->k->leaf[leaf];
    const struct spectrum *of = spectrum_of(l);
    const int64_t width = of->waves ? 2 * l->columns : l->columns, pairs = f->rff.pairs;
    if (!of->stretch) return;
    fab_random_normal(s->seed, FAB_PURPOSE_FEATURES, s->stream, 0, n * width, FAB_F64, G);
    for (int64_t i = 0; i < n && f->rff.orthogonal; i += width)
        make_orthogonal(n - i < width ? n - i : width, width, G + i * width, G + n * width);
    for (int64_t i = 0; i < n; i++) {
        const double stretch = of->stretch(l, s, i);
        for (int64_t j = 0; j < width; j++) {
            const int64_t c = of->waves ? j / 2 : j;
            const int64_t to = of->waves ? f->D + 2 * wave + j : f->k->column[l->first + j];
            f->rff.W[to * pairs + first + i] += stretch * G[i * width + j] / fab_length(f->k, l, c);
        }
    }
}

/* Pairs of each term: of those beyond one each, a share like its s2, and what is left to the largest remainders. */
static void split(const fab_kernel *k, int64_t pairs, int64_t *of)
{
    const int64_t more = pairs - k->terms;
    double sum = 0;
    int64_t left = more;
    for (int64_t t = 0; t < k->terms; t++) sum += k->parameter[k->term[t].s2].value;
    for (int64_t t = 0; t < k->terms; t++) {
        of[t] = (int64_t)floor((double)more * (k->parameter[k->term[t].s2].value / sum));
        left -= of[t];
    }
    for (; left > 0; left--) {
        double most = -INFINITY;
        int64_t at = 0;
        for (int64_t t = 0; t < k->terms; t++) {
            const double rest = (double)more * (k->parameter[k->term[t].s2].value / sum) -
                                (double)of[t];
            if (rest > most) most = rest, at = t;
        }
        of[at]++;
    }
    for (int64_t t = 0; t < k->terms; t++) of[t]++;
}

/* Columns and rates of all periodics; where those of each leaf begin. */
static void put_waves(fab_features *f, int64_t *wave)
{
    int64_t n = 0;
    for (int64_t i = 0; i < f->k->leaves; i++) {
        const fab_leaf *l = &f->k->leaf[i];
        wave[i] = n;
        if (!spectrum_of(l)->waves) continue;
        for (int64_t c = 0; c < l->columns; c++) {
            f->rff.column[n] = f->k->column[l->first + c];
            f->rff.rate[n++] = TWO_PI / l->value;
        }
    }
}

static fab_status draw(fab_features *f)
{
    const fab_kernel *k = f->k;
    const int64_t pairs = f->rff.pairs;
    int64_t widest = 1, waves = 0, first = 0, wave[FAB_KERNEL_LEAVES], of[FAB_KERNEL_TERMS];
    double *G;
    for (int64_t i = 0; i < k->leaves; i++) {
        const fab_leaf *l = &k->leaf[i];
        const int64_t width = (1 + spectrum_of(l)->waves) * l->columns;
        if (spectrum_of(l)->waves) waves += l->columns;
        if (width > widest) widest = width;
    }
    f->rff.waves = waves;
    const int64_t inputs = f->D + 2 * waves;
    FAB_TRY(fab_alloc_array((void **)&f->rff.column, waves + 1, sizeof *f->rff.column, "features"));
    FAB_TRY(fab_alloc_array((void **)&f->rff.rate, waves + 1, sizeof *f->rff.rate, "features"));
    FAB_TRY(fab_alloc_array((void **)&f->rff.root, pairs, sizeof *f->rff.root, "features"));
    FAB_TRY(fab_alloc_array((void **)&f->rff.W, inputs * pairs, sizeof *f->rff.W, "features"));
    FAB_TRY(fab_alloc_array((void **)&G, (pairs + widest) * widest, sizeof *G, "features"));
    memset(f->rff.W, 0, (size_t)(inputs * pairs) * sizeof *f->rff.W);
    put_waves(f, wave);
    split(k, pairs, of);
    for (int64_t t = 0; t < k->terms; first += of[t], t++) {
        const double root = sqrt(k->parameter[k->term[t].s2].value / (double)of[t]);
        for (int64_t i = 0; i < of[t]; i++) f->rff.root[first + i] = root;
        for (int64_t i = 0; i < k->leaves; i++) {
            const source s = {f->rff.seed, 4 * (uint64_t)(t * FAB_KERNEL_LEAVES + i)};
            if (k->term[t].leaves >> i & 1) add_leaf(f, i, &s, wave[i], first, of[t], G);
        }
    }
    fab_release(G);
    return FAB_OK;
}

static fab_status check_rff(const fab_kernel *k, int64_t m)
{
    if (!fab_kernel_is_stationary(k))
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "rff: the kernel %s is not stationary: random features have k(x, z) depend on "
            "x - z alone; nystrom takes any kernel",
            fab_kernel_text(k));
    for (int64_t i = 0; i < k->leaves; i++)
        if (!spectrum_of(&k->leaf[i]))
            return FAB_FAIL(FAB_UNSUPPORTED, "rff: the spectrum of %s is not known",
                            k->leaf[i].kind->name);
    if (m < 2 || m % 2)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "rff: %lld features, expected an even number: they come in pairs",
                        (long long)m);
    if (m < 2 * k->terms)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "rff: %lld features are too few for %lld terms, of which each needs two",
                        (long long)m, (long long)k->terms);
    return FAB_OK;
}

fab_status fab_features_rff(fab_features **f, const fab_kernel *k, int64_t m, int64_t orthogonal,
                            uint64_t seed)
{
    fab_features *new = NULL;
    *f = NULL;
    FAB_TRY(check_rff(k, m));
    fab_status s = start(&new, k, RFF, m);
    if (s == FAB_OK) {
        new->rff.pairs = m / 2;
        new->rff.orthogonal = orthogonal != 0;
        new->rff.seed = seed;
        s = draw(new);
    }
    if (s == FAB_OK)
        *f = new;
    else
        fab_features_free(new);
    return s;
}

/* phi of n rows, ldphi apart; angle: room for all pairs twice. */
static void apply_rff(const fab_features *f, int64_t n, const double *X, double *phi, int64_t ldphi,
                      double *angle)
{
    const int64_t pairs = f->rff.pairs;
    double *sine = angle + pairs, *cosine = angle;
    for (int64_t r = 0; r < n; r++, X += f->D, phi += ldphi) {
        double most = 0;
        memset(angle, 0, (size_t)pairs * sizeof *angle);
        for (int64_t i = 0; i < f->D + 2 * f->rff.waves; i++) {
            const int64_t w = (i - f->D) / 2;
            const double *W = f->rff.W + i * pairs;
            double x = i < f->D ? X[i] : f->rff.rate[w] * X[f->rff.column[w]];
            if (i >= f->D) x = (i - f->D) % 2 ? sin(x) : cos(x);
            for (int64_t j = 0; j < pairs; j++) angle[j] += x * W[j];
        }
        for (int64_t j = 0; j < pairs; j++) most = fabs(angle[j]) > most ? fabs(angle[j]) : most;
        if (most <= TURNS) {
            fab_nn_find(FAB_F64)->turns(pairs, angle, cosine, sine);
        } else {
            for (int64_t j = 0; j < pairs; j++) {
                sine[j] = sin(angle[j]);
                cosine[j] = cos(angle[j]);
            }
        }
        for (int64_t j = 0; j < pairs; j++) {
            phi[2 * j] = f->rff.root[j] * cosine[j];
            phi[2 * j + 1] = f->rff.root[j] * sine[j];
        }
    }
}

/* ---- apply ---------------------------------------------------------------------------------------------- */

static double squares_of(int64_t n, const double *a)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * a[i];
    return s;
}

typedef struct job {
    const fab_features *f;
    int64_t n, ldx, ldphi;
    const double *X;
    double *phi, *residual, *work; /* work: room for a thread, one behind the other */
    int64_t room;
    int64_t first;      /* block */
    fab_status *status; /* of each thread */
} job;

static int64_t room_of(const fab_features *f)
{
    return ROWS * (f->D + f->m + 1) + (f->kind == RFF ? 2 * f->rff.pairs : 0);
}

static void apply_block(void *ctx, int64_t i, int thread)
{
    const job *j = ctx;
    const fab_features *f = j->f;
    const int64_t first = (j->first + i) * ROWS, left = j->n - first, n = left < ROWS ? left : ROWS;
    double *X = j->work + thread * j->room, *phi = X + ROWS * f->D, *diag = phi + ROWS * f->m;
    if (j->status[thread] != FAB_OK) return;
    memset(X, 0, (size_t)(ROWS * f->D) * sizeof *X);
    for (int64_t r = 0; r < n; r++)
        memcpy(X + r * f->D, j->X + (first + r) * j->ldx, (size_t)f->D * sizeof *X);
    if (f->kind == NYSTROM)
        j->status[thread] = apply_nystrom(f, X, phi);
    else
        apply_rff(f, n, X, j->phi + first * j->ldphi, j->ldphi, diag + ROWS);
    if (j->status[thread] != FAB_OK) return;
    for (int64_t r = 0; r < n && f->kind == NYSTROM; r++) {
        double *to = j->phi + (first + r) * j->ldphi;
        for (int64_t c = 0; c < f->m; c++) to[c] = phi[c * ROWS + r];
    }
    if (!j->residual) return;
    fab_kernel_diag(f->k, n, X, f->D, diag);
    for (int64_t r = 0; r < n; r++) {
        const double rest =
            f->kind == NYSTROM ? diag[r] - squares_of(f->m, j->phi + (first + r) * j->ldphi) : 0;
        j->residual[first + r] = rest < 0 ? 0 : rest; /* NaN stays */
    }
}

static fab_status apply(job *j, const fab_run *run)
{
    const int64_t blocks = (j->n + ROWS - 1) / ROWS, most = (int64_t)run->threads * BLOCKS;
    fab_watch watch = run->watch;
    for (int64_t done = 0, now; done < blocks; done += now) {
        now = blocks - done < most ? blocks - done : most;
        j->first = done;
        fab_parallel(run->threads, now, apply_block, j);
        for (int t = 0; t < run->threads; t++)
            if (j->status[t] != FAB_OK)
                return FAB_FAIL(j->status[t], "features: cannot allocate the kernel of a block");
        const double work = (double)(now * ROWS) * (double)j->f->m;
        FAB_TRY(fab_watch_work(&watch, work * (double)j->f->m, "features", done, blocks));
    }
    return FAB_OK;
}

fab_status fab_features_apply(const fab_features *f, int64_t n, const double *X, int64_t ldx,
                              double *phi, int64_t ldphi, double *residual, const fab_exec *x)
{
    job j = {.f = f,
             .n = n,
             .ldx = ldx,
             .ldphi = ldphi,
             .X = X,
             .phi = phi,
             .residual = residual,
             .room = room_of(f)};
    fab_run run;
    FAB_TRY(fab_run_init(&run, x, FAB_F64));
    const int64_t blocks = (n + ROWS - 1) / ROWS;
    if (blocks < run.threads) run.threads = blocks > 0 ? (int)blocks : 1;
    FAB_TRY(fab_alloc_array((void **)&j.work, j.room * run.threads, sizeof *j.work, "features"));
    fab_status s = fab_alloc_array((void **)&j.status, run.threads, sizeof *j.status, "features");
    if (s == FAB_OK) {
        for (int t = 0; t < run.threads; t++) j.status[t] = FAB_OK;
        s = apply(&j, &run);
    }
    fab_release(j.status);
    fab_release(j.work);
    return s;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static void add_numbers(fab_text *t, const char *key, const double *x, int64_t n)
{
    char number[32];
    fab_text_add(t, ", \"%s\": [", key);
    for (int64_t i = 0; i < n; i++) {
        fab_print_double(number, sizeof number, x[i]);
        fab_text_add(t, i ? ", %s" : "%s", number);
    }
    fab_text_add(t, "]");
}

fab_status fab_features_json(const fab_features *f, char **text)
{
    const int64_t size = fab_kernel_size(f->k);
    fab_text t = {0};
    double *theta;
    *text = NULL;
    FAB_TRY(fab_alloc_array((void **)&theta, size, sizeof *theta, "features"));
    fab_kernel_get(f->k, theta);
    fab_text_add(&t, "{\"kind\": \"%s\", \"kernel\": ", kinds[f->kind]);
    fab_text_add_json(&t, fab_kernel_text(f->k));
    add_numbers(&t, "theta", theta, size);
    fab_release(theta);
    fab_text_add(&t, ", \"size\": %lld", (long long)f->m);
    if (f->kind == NYSTROM) {
        fab_text_add(&t, ", \"asked\": %lld", (long long)f->asked);
        add_numbers(&t, "landmarks", f->ny.Z, f->m * f->D);
    } else
        fab_text_add(&t, ", \"seed\": %llu, \"orthogonal\": %s", (unsigned long long)f->rff.seed,
                     f->rff.orthogonal ? "true" : "false");
    fab_text_add(&t, "}");
    return fab_text_give(&t, text);
}

/* The n numbers of a list. */
static fab_status take_numbers(const json_t *o, const char *key, int64_t n, double *x)
{
    const json_t *a = json_object_get(o, key);
    if (!json_is_array(a) || (int64_t)json_array_size(a) != n)
        return FAB_FAIL(FAB_BAD_FILE, "features: '%s' is not a list of %lld numbers", key,
                        (long long)n);
    for (int64_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(a, (size_t)i);
        x[i] = json_number_value(v);
        if (!json_is_number(v))
            return FAB_FAIL(FAB_BAD_FILE, "features: number %lld of '%s' is none", (long long)i,
                            key);
    }
    return FAB_OK;
}

static fab_status take_kernel(fab_kernel **k, const json_t *o, int64_t D, const char *const *column)
{
    const char *text = json_string_value(json_object_get(o, "kernel"));
    double *theta;
    if (!text) return FAB_FAIL(FAB_BAD_FILE, "features: they have no kernel");
    FAB_TRY(fab_kernel_create(k, text, D, column));
    const int64_t size = fab_kernel_size(*k);
    FAB_TRY(fab_alloc_array((void **)&theta, size, sizeof *theta, "features"));
    fab_status s = take_numbers(o, "theta", size, theta);
    if (s == FAB_OK) s = fab_kernel_set(*k, theta);
    fab_release(theta);
    return s;
}

static fab_status take_landmarks(fab_features **f, const fab_kernel *k, const json_t *o, int64_t m)
{
    FAB_TRY(start(f, k, NYSTROM, m));
    const json_t *asked = json_object_get(o, "asked");
    const int64_t n = m * (*f)->D;
    (*f)->asked = json_integer_value(asked);
    if (!json_is_integer(asked) || (*f)->asked < m || (*f)->asked > FAB_FEATURES_MAX)
        return FAB_FAIL(FAB_BAD_FILE, "features: fewer were asked for than there are");
    FAB_TRY(fab_alloc_array((void **)&(*f)->ny.Z, n, sizeof *(*f)->ny.Z, "features"));
    FAB_TRY(take_numbers(o, "landmarks", n, (*f)->ny.Z));
    return factor(*f, NULL);
}

static fab_status take(fab_features **f, const fab_kernel *k, const json_t *o)
{
    const json_t *size = json_object_get(o, "size"), *seed = json_object_get(o, "seed");
    const char *kind = json_string_value(json_object_get(o, "kind"));
    const int64_t m = json_integer_value(size);
    if (!json_is_integer(size) || m < 1 || m > FAB_FEATURES_MAX)
        return FAB_FAIL(FAB_BAD_FILE, "features: their number cannot be");
    if (kind && strcmp(kind, kinds[NYSTROM]) == 0) return take_landmarks(f, k, o, m);
    if (!kind || strcmp(kind, kinds[RFF]) != 0)
        return FAB_FAIL(FAB_BAD_FILE, "features: their kind is not known");
    if (!json_is_integer(seed) || json_integer_value(seed) < 0)
        return FAB_FAIL(FAB_BAD_FILE, "features: their seed cannot be");
    return fab_features_rff(f, k, m, json_is_true(json_object_get(o, "orthogonal")),
                            (uint64_t)json_integer_value(seed));
}

fab_status fab_features_read(fab_features **f, const json_t *o, int64_t D,
                             const char *const *column)
{
    fab_features *new = NULL;
    fab_kernel *k = NULL;
    *f = NULL;
    fab_status s = take_kernel(&k, o, D, column);
    if (s == FAB_OK) s = take(&new, k, o);
    fab_kernel_free(k);
    if (s == FAB_OK) {
        *f = new;
        return FAB_OK;
    }
    fab_features_free(new);
    return s == FAB_NO_MEMORY ? s : FAB_BAD_FILE;
}

fab_status fab_features_from_json(fab_features **f, const char *json, int64_t D,
                                  const char *const *column)
{
    json_t *o;
    *f = NULL;
    FAB_TRY(fab_json_read_string(&o, "features", json));
    const fab_status s = fab_features_read(f, o, D, column);
    json_decref(o);
    return s;
}
