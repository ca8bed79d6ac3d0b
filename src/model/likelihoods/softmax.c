/* softmax.c - class probabilities when the predictors are Gaussian, by a fixed set of nodes.
 *
 *   1  B = J S J, J = I - 1 1'/C: what all predictors have in common does not matter to softmax
 *   2  B = V w V', w descending; root R = V sqrt(w), C x (C-1)
 *   3  nodes z_l, l = 1 .. L: coordinate i is the normal quantile of tent(1/2 + l sqrt(prime_i) mod 1);
 *      the first coordinates, where such points are most even, go to the largest w
 *   4  log p_k = log mean over l and both signs of softmax_k(m + R z_l), or over draws z_l
 *
 * The fine rule has other nodes, with weights: up to four classes the points of a grid in a ball around 0 (the trapezoid rule,
 * whose error falls exponentially where the integrand is analytic and its ends are nothing), for more a lattice of 65536 points,
 * u_i = l g_i / 65536 mod 1, that a polynomial brings to 0 at the ends of the interval:
 *
 *     C - 1        1       2      3      4                      5 .. 8          more
 *     step, or t   1/16    1/10   1/4    u^3 (10 - 15 u + 6 u^2)   u^2 (3 - 2 u)   so for 4, then tent(u)
 *     weight                             prod t'(u_i)
 *
 * Largest error of a probability against 2e6 draws, eight random cases each, predictors of standard
 * deviation 0.3, 1 and 3:
 *
 *     classes          3                       10                      26
 *     this rule        .0002  .0011  .0011     .0002  .0014  .0072     .0002  .0021  .0096
 *     pairwise probit  .006   .034   .15       .010   .065   .091      .012   .099   .11
 *
 * Of the fine rule, four random cases each, against independent predictors, whose integrals are single ones
 * (tests/test_gp_classes.c); of five classes and more it is that of softmax_split.c, and the lattice where that one says it is none:
 *
 *     standard dev.    0.3       1         3          the lattice: 0.3  1      3
 *     2 classes        7e-12     2e-11     1e-11
 *     3                5e-11     1e-10     7e-11
 *     4                2e-10     6e-10     2e-9
 *     5                9e-10     2e-9      4e-11      4e-11  4e-10  8e-8
 *     6                8e-10     5e-9      2e-11      4e-8   2e-7   3e-6
 *     8                3e-10     2e-9      1e-9       8e-7   5e-6   9e-5
 *     10               8e-10     4e-9      3e-10      2e-5   3e-5   2e-4
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/softmax.h"
#include "model/likelihoods/softmax_split.h"
#include "base/memory.h"
#include "fabayes/random.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

#define EDGE 0x1p-40 /* a node closer to 0 or 1 would have an infinite quantile */
#define RARE 1e-280  /* a sum of probabilities below is made of logarithms */
/* Of the ball, in standard deviations: beyond it there is less than 1e-8 of the mass in three dimensions. */
#define RADIUS 6.6
enum { PAIRS = 512, STREAM = 1, LATTICE = 1 << 16, GRIDS = 3, SMOOTHEST = 4, SMOOTH = 8 };

static const double grid_step[GRIDS] = {1.0 / 16, 1.0 / 10, 1.0 / 4};

/* Chosen component by component (Korobov spaces of smoothness 4, all weights .05, 900 candidates each). */
static const int32_t generator[] = {1,    17341, 19711, 23057, 31981, 26309, 2733, 7333,
                                    6015, 15803, 17653, 5319,  10079, 21161, 3419};

struct fab_softmax {
    int64_t C, L;  /* classes; nodes */
    int64_t draws; /* nodes are draws of seed, not used with both signs */
    uint64_t seed;
    int fine;
    double *z;      /* (C-1) x L */
    double *weight; /* L, sum 1/2, of the fine rule; else all nodes count the same */
    double *shift;  /* C x L: R z */
    double *R;      /* C x C, then C x (C-1) in front */
    double *w;      /* C */
    double *work;
    fab_softmax_split *split; /* of the fine rule of more than four classes; or NULL */
};

/* ---- nodes ------------------------------------------------------------------------------------------- */

/* Newton on log Phi, which is concave: from the left it never oversteps.  u in (0, 1/2]. */
static double lower_quantile(double u)
{
    double z = -sqrt(-2 * log(u));
    for (int i = 0; i < 100; i++) {
        const double Phi = 0.5 * erfc(-z / sqrt(2)), phi = exp(-z * z / 2) / sqrt(8 * atan(1));
        const double step = Phi / phi * log(u / Phi);
        z += step;
        if (!(step > 1e-12)) break;
    }
    return z;
}

static double quantile(double u)
{
    return u <= 0.5 ? lower_quantile(u) : -lower_quantile(1 - u);
}

static int is_prime(int64_t n)
{
    for (int64_t d = 2; d * d <= n; d++)
        if (n % d == 0) return 0;
    return 1;
}

/* 3 */
void fab_softmax_nodes(int64_t D, int64_t L, double *z)
{
    int64_t prime = 2;
    for (int64_t i = 0; i < D; i++, prime++) {
        while (!is_prime(prime)) prime++;
        for (int64_t l = 0; l < L; l++) {
            const double u = fmod(0.5 + (double)(l + 1) * sqrt((double)prime), 1);
            z[i + l * D] = quantile(fmin(fmax(1 - fabs(2 * u - 1), EDGE), 1 - EDGE));
        }
    }
}

/* ---- the fine rule ------------------------------------------------------------------------------------- */

/* Points of the grid in half a ball, the last coordinate that is not 0 above it, and 0 with half its weight; z NULL: they are
 * counted. */
static int64_t grid(int64_t D, double *z, double *weight)
{
    const double h = grid_step[D - 1];
    const int64_t most = (int64_t)(RADIUS / h);
    int64_t at[GRIDS] = {0}, n = 0;
    for (;;) {
        double square = 0;
        int64_t d = 0;
        for (int64_t i = 0; i < D; i++) square += h * h * (double)(at[i] * at[i]);
        if (square <= RADIUS * RADIUS) {
            for (int64_t i = 0; z && i < D; i++) z[i + n * D] = h * (double)at[i];
            if (z) weight[n] = (n ? 1 : 0.5) * exp(-square / 2);
            n++;
        }
        while (d < D && at[d] == most) d++;
        if (d == D) return n;
        at[d]++;
        for (int64_t i = 0; i < d; i++) at[i] = -most;
    }
}

static double tent(double u)
{
    return 1 - fabs(2 * u - 1);
}

/* Half of the lattice: the other half is it with the other sign. */
static void lattice(int64_t D, double *z, double *weight)
{
    enum { KNOWN = sizeof generator / sizeof *generator };
    int64_t prime = 2;
    for (int64_t l = 0; l < LATTICE / 2; l++) weight[l] = l == LATTICE / 2 - 1 ? 0.5 : 1;
    for (int64_t i = 0; i < D; i++) {
        int64_t g = i < KNOWN ? generator[i] : 0;
        if (i >= KNOWN) {
            prime++;
            while (!is_prime(prime)) prime++;
            g = 2 * (int64_t)(LATTICE / 2 * fmod(sqrt((double)prime), 1)) + 1;
        }
        for (int64_t l = 0; l < LATTICE / 2; l++) {
            const double u = (double)((l + 1) * g % LATTICE) / LATTICE, v = u * (1 - u);
            double t = tent(u);
            if (D <= SMOOTHEST) {
                t = u * u * u * (10 - 15 * u + 6 * u * u);
                weight[l] *= v * v;
            } else if (D <= SMOOTH || i < SMOOTHEST) {
                t = u * u * (3 - 2 * u);
                weight[l] *= v;
            }
            z[i + l * D] = quantile(fmin(fmax(t, EDGE), 1 - EDGE));
        }
    }
}

static int64_t fine_nodes(int64_t D)
{
    return D <= GRIDS ? grid(D, NULL, NULL) : LATTICE / 2;
}

static void set_fine_nodes(fab_softmax *s)
{
    const int64_t D = s->C - 1;
    double sum = 0;
    if (D <= GRIDS)
        (void)grid(D, s->z, s->weight);
    else
        lattice(D, s->z, s->weight);
    for (int64_t l = 0; l < s->L; l++) sum += s->weight[l];
    for (int64_t l = 0; l < s->L; l++) s->weight[l] /= 2 * sum;
}

/* ---- life -------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_softmax *s = handle;
    const int64_t C = s->C;
    s->z = fab_place(l, (C - 1) * s->L, sizeof(double));
    s->weight = fab_place(l, s->fine ? s->L : 0, sizeof(double));
    s->shift = fab_place(l, C * s->L, sizeof(double));
    s->R = fab_place(l, C * C, sizeof(double));
    s->w = fab_place(l, C, sizeof(double));
    s->work = fab_place(l, fab_eig_work(C), sizeof(double));
}

fab_status fab_softmax_init(fab_softmax **s, int64_t C, int64_t samples, int64_t seed)
{
    const fab_softmax proto = {
        .C = C, .L = samples ? samples : PAIRS, .draws = samples, .seed = (uint64_t)seed};
    FAB_TRY(fab_build((void **)s, sizeof proto, &proto, layout));
    if (!samples) fab_softmax_nodes(C - 1, PAIRS, (*s)->z);
    return FAB_OK;
}

fab_status fab_softmax_init_fine(fab_softmax **s, int64_t C)
{
    const fab_softmax proto = {.C = C, .L = fine_nodes(C - 1), .fine = 1};
    FAB_TRY(fab_build((void **)s, sizeof proto, &proto, layout));
    set_fine_nodes(*s);
    if (C - 1 <= GRIDS || C > FAB_SOFTMAX_SPLIT) return FAB_OK;
    const fab_status done = fab_softmax_split_init(&(*s)->split, C);
    if (done != FAB_OK) {
        fab_softmax_free(*s);
        *s = NULL;
    }
    return done;
}

void fab_softmax_free(fab_softmax *s)
{
    if (s) fab_softmax_split_free(s->split);
    fab_release(s);
}

/* ---- one row ----------------------------------------------------------------------------------------- */

/* 1: row means and the mean of all, each taken away once */
static void centre(int64_t C, const double *S, double *mean, double *B)
{
    double all = 0;
    for (int64_t k = 0; k < C; k++) {
        mean[k] = 0;
        for (int64_t l = 0; l < C; l++) mean[k] += S[k * C + l] / (double)C;
        all += mean[k] / (double)C;
    }
    for (int64_t k = 0; k < C; k++)
        for (int64_t l = 0; l < C; l++)
            B[k + l * C] = (S[k * C + l] + S[l * C + k]) / 2 - mean[k] - mean[l] + all;
}

/* 1, 2; eigenvalues below 0 by rounding count as 0 */
static fab_status find_root(fab_softmax *s, const double *S)
{
    const int64_t C = s->C;
    double *V = s->R;
    centre(C, S, s->w, V);
    FAB_TRY(fab_eig(C, V, s->w, s->work));
    for (int64_t i = 0; i < C; i++) {
        const double root = sqrt(fmax(0, s->w[i]));
        for (int64_t k = 0; k < C; k++) V[k + i * C] *= root;
    }
    for (int64_t i = 0; i < C / 2; i++) /* the largest first */
        for (int64_t k = 0; k < C; k++) {
            const double t = V[k + i * C];
            V[k + i * C] = V[k + (C - 1 - i) * C];
            V[k + (C - 1 - i) * C] = t;
        }
    return FAB_OK;
}

/* term = mean + the shift of point l; the largest of them */
static double point(const fab_softmax *s, const double *mean, int64_t l, double *term)
{
    const double sign = l < s->L ? 1 : -1, *shift = s->shift + l % s->L * s->C;
    double top = -INFINITY;
    for (int64_t k = 0; k < s->C; k++) top = fmax(top, term[k] = mean[k] + sign * shift[k]);
    return top;
}

/* term <- exp(term - top); their sum */
static double exponentials(int64_t C, double top, double *term)
{
    double sum = 0;
    for (int64_t k = 0; k < C; k++) sum += term[k] = exp(term[k] - top);
    return sum;
}

/* log of the mean of p_k over the points, where the mean itself is too small for a double */
static double log_rare(const fab_softmax *s, const double *mean, int64_t points, int64_t k,
                       double *term)
{
    double high = -INFINITY, sum = 0;
    for (int64_t l = 0; l < points; l++) {
        const double top = point(s, mean, l, term), mine = term[k] - top;
        const double share = s->fine ? log(2 * (double)s->L * s->weight[l % s->L]) : 0;
        const double logp = mine - log(exponentials(s->C, top, term)) + share;
        sum = logp > high ? 1 + sum * exp(high - logp) : sum + exp(logp - high);
        high = fmax(high, logp);
    }
    return high + log(sum / (double)points);
}

/* 4 */
static void average(fab_softmax *s, const double *mean, double *logp)
{
    const int64_t C = s->C, points = s->draws ? s->L : 2 * s->L;
    double *term = s->w;
    memset(logp, 0, (size_t)C * sizeof *logp);
    for (int64_t l = 0; l < points; l++) {
        const double top = point(s, mean, l, term), total = exponentials(C, top, term);
        const double by = s->fine ? total / (2 * (double)s->L * s->weight[l % s->L]) : total;
        for (int64_t k = 0; k < C; k++) logp[k] += term[k] / by;
    }
    for (int64_t k = 0; k < C; k++)
        logp[k] = logp[k] > RARE ? log(logp[k] / (double)points)
                                 : log_rare(s, mean, points, k, term);
}

/* Without spread. */
static void log_softmax(int64_t C, const double *mean, double *logp)
{
    double top = mean[0], sum = 0;
    for (int64_t k = 1; k < C; k++) top = fmax(top, mean[k]);
    for (int64_t k = 0; k < C; k++) sum += exp(mean[k] - top);
    for (int64_t k = 0; k < C; k++) logp[k] = mean[k] - top - log(sum);
}

fab_status fab_softmax_logp(fab_softmax *s, int64_t row, const double *mean, const double *S,
                            double *logp)
{
    const int64_t C = s->C, numbers = (C - 1) * s->L;
    if (!S) {
        log_softmax(C, mean, logp);
        return FAB_OK;
    }
    if (s->split && fab_softmax_split_logp(s->split, mean, S, logp)) return FAB_OK;
    FAB_TRY(find_root(s, S));
    if (s->draws)
        fab_random_normal(s->seed, FAB_PURPOSE_PREDICT, STREAM, (uint64_t)(row * numbers), numbers,
                          FAB_F64, s->z);
    fab_mm(FAB_N, FAB_N, C, s->L, C - 1, 1, s->R, s->z, 0, s->shift);
    average(s, mean, logp);
    return FAB_OK;
}
