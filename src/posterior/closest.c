/* closest.c - the Gaussian of rank K nearest to a precision matrix: argmin KL(q || N(m, A^-1)).
 *
 *   q = N(m, F F' + diag(psi)),  psi = exp gamma, in units in which A has diagonal 1
 *   psi^1/2 A psi^1/2 = V diag(l) V', l ascending;  R: all places but those of the K smallest l that are below 1
 *
 *   1  given psi the best F is psi^1/2 v_k (1 / l_k - 1)^1/2, k not in R:  KL = sum over R of (l - 1 - log l) / 2
 *   2  its slope in gamma_i:  sum_{m in R} (l_m - 1) v_mi^2 / 2
 *   3  its curvature:  H = P o Q / 2 + sum_{k not in R} v_k v_k' o V diag(w_k) V' / 2,  P, Q = sum over R of v v', l v v',
 *      w_k = (l_m - 1)(l_m + l_k) / (l_m - l_k) for m in R, else 0
 *   4  gamma moves by -(H + damping I)^-1 slope, less damped after a success, more after a failure; coordinates
 *      that are at the floor and would go below stay
 *
 * psi at the floor is common: then F alone makes that coordinate's variance.  There are several minima, which differ in the
 * coordinates that are so, hence the starts: psi = 1 for all; then one coordinate after the other with little psi,
 * those of which F has most first; then random ones.
 *
 * SPDX-License-Identifier: MIT */
#include "posterior/closest.h"
#include "fabayes/random.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

enum { ROUNDS = 500, TRIES = 40 };
enum { STREAM = 210 };  /* of random starts, and the numbers behind it */
#define FLOOR      1e-8 /* of psi, times A_ii: below, F psi^-1 F' drowns in rounding */
#define DAMPING    1e-3 /* to begin with */
#define EASE       10   /* factor of the damping after a success or a failure */
#define LEAST_DAMP 1e-14
#define LITTLE     (-4)  /* log psi of a coordinate that a start leaves to F */
#define LONGEST    2     /* step in gamma */
#define TIE        1e-12 /* eigenvalues nearer than this, relatively, count as so far apart */
#define NO_GAIN    1e-14 /* a step that promises less, relative to 1 + KL, is not taken */

void fab_closest_layout(fab_layout *l, fab_closest *n)
{
    const int64_t D = n->D;
    double **const square[] = {&n->A, &n->V, &n->P, &n->Q, &n->H};
    double **const row[] = {&n->unit,  &n->l, &n->gamma, &n->next,
                            &n->slope, &n->w, &n->move,  &n->best};
    for (size_t i = 0; i < sizeof square / sizeof *square; i++)
        *square[i] = fab_place(l, D * D, sizeof(double));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) *row[i] = fab_place(l, D, sizeof(double));
    const int64_t eig = fab_eig_work(D);
    n->work = fab_place(l, eig > D * D ? eig : D * D, sizeof(double));
}

fab_status fab_closest_take(fab_closest *n)
{
    const int64_t D = n->D;
    n->kl = HUGE_VAL;
    for (int64_t i = 0; i < D; i++) {
        const double a = n->A[i + i * D];
        if (!(a > 0 && isfinite(a)))
            return FAB_FAIL(FAB_NUMERIC, "the curvature of coordinate %lld is %g, expected > 0",
                            (long long)i, a);
        n->unit[i] = 1 / sqrt(a);
    }
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++) n->A[i + j * D] *= n->unit[i] * n->unit[j];
    return FAB_OK;
}

/* ---- the divergence, its slope, its curvature ----------------------------------------------------------- */

/* Columns of F that are not zero: eigenvectors 0 .. columns - 1 are those not in R. */
static int64_t columns(const fab_closest *n)
{
    int64_t k = 0;
    while (k < n->K && k < n->D && n->l[k] < 1) k++;
    return k;
}

/* 1 */
static fab_status divergence(fab_closest *n, const double *gamma, double *kl)
{
    const int64_t D = n->D;
    double sum = 0;
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < D; i++)
            n->V[i + j * D] = n->A[i + j * D] * exp((gamma[i] + gamma[j]) / 2);
    FAB_TRY(fab_eig(D, n->V, n->l, n->work));
    for (int64_t m = columns(n); m < D; m++) sum += n->l[m] - 1 - log(n->l[m]);
    *kl = isfinite(sum) ? sum / 2 : HUGE_VAL; /* l < 0: A is not positive definite, to rounding */
    return FAB_OK;
}

/* out = V diag(w) V' */
static void outer_sum(fab_closest *n, double *out)
{
    const int64_t D = n->D;
    for (int64_t m = 0; m < D; m++)
        for (int64_t i = 0; i < D; i++) n->work[i + m * D] = n->V[i + m * D] * n->w[m];
    fab_mm(FAB_N, FAB_T, D, D, D, 1, n->work, n->V, 0, out);
}

/* 2, 3 */
static void derivatives(fab_closest *n)
{
    const int64_t D = n->D, K = columns(n);
    const double *l = n->l;
    memset(n->slope, 0, (size_t)D * sizeof(double));
    for (int64_t m = K; m < D; m++)
        for (int64_t i = 0; i < D; i++)
            n->slope[i] += (l[m] - 1) * n->V[i + m * D] * n->V[i + m * D] / 2; /* 2 */

    for (int64_t m = 0; m < D; m++) n->w[m] = m < K ? 0 : 1;
    outer_sum(n, n->P);
    for (int64_t m = 0; m < D; m++) n->w[m] = m < K ? 0 : l[m];
    outer_sum(n, n->Q);
    for (int64_t i = 0; i < D * D; i++) n->H[i] = n->P[i] * n->Q[i] / 2; /* 3 */
    for (int64_t k = 0; k < K; k++) {
        const double *v = n->V + k * D;
        for (int64_t m = K; m < D; m++)
            n->w[m] = (l[m] - 1) * (l[m] + l[k]) / fmax(l[m] - l[k], TIE * l[m]);
        outer_sum(n, n->Q);
        for (int64_t j = 0; j < D; j++)
            for (int64_t i = 0; i < D; i++) n->H[i + j * D] += v[i] * v[j] * n->Q[i + j * D] / 2;
    }
}

/* ---- 4: descent ----------------------------------------------------------------------------------------- */

/* move = -(H + damping I)^-1 slope, and half of -slope' move: what it would gain if the divergence were quadratic;
 * 0 when there is no such move. */
static int solve(fab_closest *n, double damping, double *promised)
{
    const int64_t D = n->D;
    double longest = 0, sum = 0;
    memcpy(n->P, n->H, (size_t)(D * D) * sizeof(double));
    for (int64_t i = 0; i < D; i++) {
        const int fixed = n->gamma[i] <= log(FLOOR) && n->slope[i] > 0;
        if (fixed)
            for (int64_t j = 0; j < D; j++) n->P[i + j * D] = n->P[j + i * D] = 0;
        n->P[i + i * D] += fixed ? 1 : damping;
        n->move[i] = fixed ? 0 : -n->slope[i];
    }
    if (fab_chol(D, n->P) != FAB_OK) return 0;
    fab_chol_solve(D, 1, n->P, n->move);
    for (int64_t i = 0; i < D; i++) longest = fmax(longest, fabs(n->move[i]));
    if (longest > LONGEST)
        for (int64_t i = 0; i < D; i++) n->move[i] *= LONGEST / longest;
    for (int64_t i = 0; i < D; i++) sum -= n->slope[i] * n->move[i];
    *promised = sum / 2;
    return 1;
}

/* From n->gamma down to a minimum, which is kept if it is the best. */
static fab_status descend(fab_closest *n)
{
    const size_t bytes = (size_t)n->D * sizeof(double);
    double kl, damping = DAMPING;
    FAB_TRY(divergence(n, n->gamma, &kl));
    for (int round = 0; round < ROUNDS; round++) {
        int lower = 0;
        derivatives(n);
        for (int i = 0; i < TRIES && !lower; i++) {
            double promised, trial = kl;
            if (solve(n, damping, &promised)) {
                if (!(promised > NO_GAIN * (1 + kl))) break;
                for (int64_t d = 0; d < n->D; d++)
                    n->next[d] = fmax(n->gamma[d] + n->move[d], log(FLOOR));
                FAB_TRY(divergence(n, n->next, &trial));
                lower = trial < kl;
            }
            if (lower) {
                memcpy(n->gamma, n->next, bytes);
                kl = trial;
                damping = fmax(damping / EASE, LEAST_DAMP);
            } else {
                damping *= EASE;
            }
        }
        if (!lower) break;
    }
    if (kl < n->kl) {
        n->kl = kl;
        memcpy(n->best, n->gamma, bytes);
    }
    return FAB_OK;
}

/* ---- the verbs ------------------------------------------------------------------------------------------ */

fab_status fab_closest_start(fab_closest *n, uint64_t seed, int64_t number)
{
    const int64_t D = n->D;
    memset(n->gamma, 0, (size_t)D * sizeof(double));
    if (number > D)
        fab_random_normal(seed, FAB_PURPOSE_START, STREAM + (uint64_t)number, 0, D, FAB_F64,
                          n->gamma);
    if (number > 0 &&
        number <= D) { /* the coordinate of which F has the number-th most at psi = 1 */
        double kl, *share = n->w;
        int64_t most = 0;
        FAB_TRY(divergence(n, n->gamma, &kl));
        memset(share, 0, (size_t)D * sizeof(double));
        for (int64_t k = 0; k < columns(n); k++)
            for (int64_t i = 0; i < D; i++)
                share[i] += n->V[i + k * D] * n->V[i + k * D] * (1 / n->l[k] - 1);
        for (int64_t rank = 0; rank < number; rank++) {
            most = 0;
            for (int64_t i = 1; i < D; i++)
                if (share[i] > share[most]) most = i;
            share[most] = -1;
        }
        n->gamma[most] = LITTLE;
    }
    return descend(n);
}

fab_status fab_closest_from(fab_closest *n, const double *psi)
{
    for (int64_t i = 0; i < n->D; i++)
        n->gamma[i] = fmax(log(psi[i]) - 2 * log(n->unit[i]), log(FLOOR));
    return descend(n);
}

fab_status fab_closest_give(fab_closest *n, double *F, double *psi)
{
    const int64_t D = n->D, K = n->K;
    double kl;
    if (!isfinite(n->kl))
        return FAB_FAIL(FAB_NUMERIC, "no Gaussian of rank %lld is near the curvature",
                        (long long)K);
    FAB_TRY(divergence(n, n->best, &kl));
    const int64_t used = columns(n);
    for (int64_t i = 0; i < D; i++) {
        const double sd = exp(n->best[i] / 2) * n->unit[i];
        psi[i] = sd * sd;
        for (int64_t k = 0; k < K; k++)
            F[k + i * K] = k < used ? sd * n->V[i + k * D] * sqrt(1 / n->l[k] - 1) : 0; /* 1 */
    }
    return FAB_OK;
}
