/* rotation.c - the factors of a Gaussian, rotated so that a person can read them.
 *
 * F z has the same distribution as (F R)(R^-1 z) for any R that has an inverse: loadings F R, factors R^-1 z with
 * correlations phi = R^-1 R^-1', which are 0 where R is orthogonal.
 *
 *     1  G = F' F,  R = I
 *     2  principal axes: Jacobi's rotations make R' G R diagonal
 *     3  varimax (Kaiser 1958): rotate two columns of F R at a time, its rows scaled to length 1, by the angle that
 *        makes the variance of their squares largest, until no angle is left
 *     and from there, on loadings L = F R divided by the standard deviations of the coordinates:
 *     4  promax (Hendrickson and White 1964): U = (L' L)^-1 L' Q with Q = L |L|^3,  R <- R U, factors of variance 1
 *     5  oblimin (Jennrich and Sampson 1966; here by gradient projection, Jennrich 2002): T, of columns of length 1,
 *        minimises f = sum over i, j < l of A_ij^2 A_il^2 / 2,  A = L T'^-1;  R <- R T'^-1
 *     6  the one that explains most first, the largest loading of each positive
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "fabayes/gauss.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

enum { SWEEPS = 200, POWER = 4, STEPS = 5000, HALVINGS = 30 };
#define SMALL    1e-12 /* of the two lengths: a product that Jacobi leaves alone */
#define ANGLE    1e-9  /* varimax ends when no angle is larger */
#define GRADIENT 1e-9  /* oblimin: when its gradient is shorter, for each factor */

static const char *const names[] = {"principal", "varimax", "promax", "oblimin"};
enum { KINDS = sizeof names / sizeof *names };

const char *fab_rotation_name(fab_rotation_kind kind)
{
    return (unsigned)kind < KINDS ? names[kind] : NULL;
}

fab_status fab_rotation_find(const char *name, fab_rotation_kind *kind)
{
    for (int i = 0; i < KINDS; i++)
        if (name && strcmp(name, names[i]) == 0) {
            *kind = (fab_rotation_kind)i;
            return FAB_OK;
        }
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "there is no rotation '%s'; principal, varimax, promax and oblimin are there",
                    name ? name : "");
}

static int oblique(const fab_rotation *r)
{
    return r->kind == FAB_ROTATION_PROMAX || r->kind == FAB_ROTATION_OBLIMIN;
}

static double loading(const fab_gauss *g, int64_t i)
{
    return g->type == FAB_F32 ? (double)((const float *)g->F)[i] : ((const double *)g->F)[i];
}

void fab_rotation_factors(const fab_rotation *r, const fab_gauss *g, int64_t first, int64_t n,
                          double *out)
{
    const int64_t K = r->K;
    memset(out, 0, (size_t)(n * K) * sizeof *out);
    for (int64_t d = 0; d < n; d++)
        for (int64_t i = 0; i < K; i++) {
            const double scale = r->scale ? r->scale[first + d] : 1;
            const double x = loading(g, (first + d) * K + i) * scale;
            for (int64_t k = 0; k < K; k++) out[d * K + k] += x * r->R[i * K + k];
        }
}

/* Columns p and q of an n x K matrix rotated by an angle of this cosine and sine. */
static void rotate(double *A, int64_t n, int64_t K, int64_t p, int64_t q, double c, double s)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = A[i * K + p], y = A[i * K + q];
        A[i * K + p] = c * x + s * y;
        A[i * K + q] = c * y - s * x;
    }
}

/* ---- principal axes --------------------------------------------------------------------------------- */

/* work: K (K + 1) numbers */
static void principal_axes(const fab_rotation *r, const fab_gauss *g, double *work)
{
    const int64_t K = g->K;
    double *R = r->R, *G = work, *row = work + K * K;
    memset(G, 0, (size_t)(K * K) * sizeof *G);
    for (int64_t d = 0; d < g->D; d++) { /* 1  G = F' F */
        const double scale = r->scale ? r->scale[d] : 1;
        for (int64_t k = 0; k < K; k++) row[k] = loading(g, d * K + k) * scale;
        for (int64_t i = 0; i < K; i++)
            for (int64_t k = 0; k < K; k++) G[i * K + k] += row[i] * row[k];
    }
    int rotated = 1;
    for (int sweep = 0; sweep < SWEEPS; sweep++) { /* 2 */
        if (!rotated) break;
        rotated = 0;
        for (int64_t p = 0; p < K; p++)
            for (int64_t q = p + 1; q < K; q++) {
                const double off = G[p * K + q], a = G[p * K + p], b = G[q * K + q];
                if (!(fabs(off) > SMALL * sqrt(fabs(a * b)))) continue;
                const double angle = 0.5 * atan2(2 * off, a - b), c = cos(angle), s = sin(angle);
                rotate(G, K, K, p, q, c, s);
                for (int64_t k = 0; k < K; k++) { /* and the rows of G */
                    const double x = G[p * K + k], y = G[q * K + k];
                    G[p * K + k] = c * x + s * y;
                    G[q * K + k] = c * y - s * x;
                }
                rotate(R, K, K, p, q, c, s);
                rotated = 1;
            }
    }
}

/* ---- varimax ---------------------------------------------------------------------------------------- */

/* The angle that maximises the variance of the squares in columns p and q. */
static double varimax_angle(const double *L, int64_t D, int64_t K, int64_t p, int64_t q)
{
    double a = 0, b = 0, c = 0, d = 0;
    for (int64_t i = 0; i < D; i++) {
        const double x = L[i * K + p], y = L[i * K + q], u = x * x - y * y, v = 2 * x * y;
        a += u;
        b += v;
        c += u * u - v * v;
        d += 2 * u * v;
    }
    const double n = (double)D;
    return atan2(d - 2 * a * b / n, c - (a * a - b * b) / n) / 4;
}

static fab_status varimax(const fab_rotation *r, const fab_gauss *g)
{
    const int64_t D = g->D, K = g->K;
    double *L; /* D x K: F R, rows scaled to length 1 */
    FAB_TRY(fab_alloc_array((void **)&L, D * K, sizeof *L, "loadings to rotate by varimax"));
    fab_rotation_factors(r, g, 0, D, L);
    for (int64_t d = 0; d < D; d++) {
        double square = 0;
        for (int64_t k = 0; k < K; k++) square += L[d * K + k] * L[d * K + k];
        if (square > 0)
            for (int64_t k = 0; k < K; k++) L[d * K + k] /= sqrt(square);
    }
    double widest = 1;
    for (int sweep = 0; sweep < SWEEPS; sweep++) { /* 3 */
        if (!(widest > ANGLE)) break;
        widest = 0;
        for (int64_t p = 0; p < K; p++)
            for (int64_t q = p + 1; q < K; q++) {
                const double angle = varimax_angle(L, D, K, p, q);
                rotate(L, D, K, p, q, cos(angle), sin(angle));
                rotate(r->R, K, K, p, q, cos(angle), sin(angle));
                if (fabs(angle) > widest) widest = fabs(angle);
            }
    }
    fab_release(L);
    return FAB_OK;
}

/* ---- oblique rotations ------------------------------------------------------------------------------ */

/* Variance of a coordinate: |f|^2 + psi. */
static double variance(const fab_gauss *g, int64_t d)
{
    double sum = g->psi[d];
    for (int64_t k = 0; k < g->K; k++) sum += loading(g, d * g->K + k) * loading(g, d * g->K + k);
    return sum;
}

static void swap(double *a, double *b)
{
    const double t = *a;
    *a = *b;
    *b = t;
}

/* A <- A', K x K */
static void transpose(int64_t K, double *A)
{
    for (int64_t i = 0; i < K; i++)
        for (int64_t k = 0; k < i; k++) swap(&A[i * K + k], &A[k * K + i]);
}

/* B = A^-1, K x K; work: K x K.  By A^-1 = (A' A)^-1 A'. */
static fab_status invert(int64_t K, const double *A, double *B, double *work)
{
    for (int64_t i = 0; i < K; i++)
        for (int64_t k = 0; k < K; k++) {
            double sum = 0;
            for (int64_t j = 0; j < K; j++) sum += A[j * K + i] * A[j * K + k];
            work[i * K + k] = sum;
            B[i + k * K] = A[k * K + i]; /* A', column after column */
        }
    FAB_TRY(fab_chol(K, work));
    fab_chol_solve(K, K, work, B);
    transpose(K, B); /* row after row */
    return FAB_OK;
}

/* C = A B or A' B, K x K, row after row. */
static void product(int64_t K, int turned, const double *A, const double *B, double *C)
{
    for (int64_t i = 0; i < K; i++)
        for (int64_t k = 0; k < K; k++) {
            double sum = 0;
            for (int64_t j = 0; j < K; j++) sum += A[turned ? j * K + i : i * K + j] * B[j * K + k];
            C[i * K + k] = sum;
        }
}

/* 4  work: 3 K x K.  L: D x K. */
static fab_status promax(int64_t D, int64_t K, const double *L, double *U, double *work)
{
    double *A = work, *square = work + K * K, *inverse = work + 2 * K * K;
    memset(A, 0, (size_t)(K * K) * sizeof *A);
    memset(U, 0, (size_t)(K * K) * sizeof *U);
    for (int64_t d = 0; d < D; d++)
        for (int64_t k = 0; k < K; k++) {
            const double x = L[d * K + k], q = x * pow(fabs(x), POWER - 1);
            for (int64_t i = 0; i < K; i++) A[k * K + i] += x * L[d * K + i];
            for (int64_t i = 0; i < K; i++) U[k * K + i] += q * L[d * K + i]; /* column k of L' Q */
        }
    FAB_TRY(fab_chol(K, A));
    fab_chol_solve(K, K, A, U);
    transpose(K, U); /* row after row */
    product(K, 1, U, U, square);
    FAB_TRY(fab_chol(K, square));
    fab_chol_inv(K, square, inverse);
    for (int64_t i = 0; i < K; i++)
        for (int64_t k = 0; k < K; k++) U[i * K + k] *= sqrt(inverse[k * K + k]);
    return FAB_OK;
}

/* f of A = L T'^-1, and where G is given its derivative by T, -(C T^-1)' with C_jk = sum_i A_ij A_ik sum_{l != k} A_il^2.
 * work: 3 K x K. */
static fab_status oblimin_value(int64_t D, int64_t K, const double *L, const double *T, double *f,
                                double *G, double *work)
{
    double *inverse = work, *C = work + K * K, *row = work + 2 * K * K;
    FAB_TRY(invert(K, T, inverse, C));
    memset(C, 0, (size_t)(K * K) * sizeof *C);
    *f = 0;
    for (int64_t d = 0; d < D; d++) {
        double squares = 0;
        for (int64_t k = 0; k < K; k++) { /* row d of A */
            row[k] = 0;
            for (int64_t j = 0; j < K; j++) row[k] += L[d * K + j] * inverse[k * K + j];
            squares += row[k] * row[k];
        }
        for (int64_t k = 0; k < K; k++) {
            const double others = squares - row[k] * row[k];
            *f += row[k] * row[k] * others / 4;
            if (G)
                for (int64_t j = 0; j < K; j++) C[j * K + k] += row[j] * row[k] * others;
        }
    }
    if (!G) return FAB_OK;
    for (int64_t i = 0; i < K; i++) /* G = -(C T^-1)' */
        for (int64_t k = 0; k < K; k++) {
            double sum = 0;
            for (int64_t j = 0; j < K; j++) sum -= C[k * K + j] * inverse[j * K + i];
            G[i * K + k] = sum;
        }
    return FAB_OK;
}

/* 5  U = T'^-1; work: 7 K x K */
static fab_status oblimin(int64_t D, int64_t K, const double *L, double *U, double *work)
{
    double *T = work, *G = T + K * K, *next = G + K * K, *room = next + K * K, f, step = 1;
    memset(T, 0, (size_t)(K * K) * sizeof *T);
    for (int64_t k = 0; k < K; k++) T[k * K + k] = 1;
    FAB_TRY(oblimin_value(D, K, L, T, &f, G, room));
    for (int64_t round = 0; round < STEPS; round++) {
        double length = 0, after = f;
        for (int64_t k = 0; k < K; k++) { /* what keeps the columns of T as long as they are */
            double along = 0;
            for (int64_t i = 0; i < K; i++) along += T[i * K + k] * G[i * K + k];
            for (int64_t i = 0; i < K; i++) G[i * K + k] -= along * T[i * K + k];
            for (int64_t i = 0; i < K; i++) length += G[i * K + k] * G[i * K + k];
        }
        if (sqrt(length) < GRADIENT * (double)K) break;
        step *= 2;
        int lower = 0;
        for (int halving = 0; halving < HALVINGS && !lower; halving++) {
            for (int64_t k = 0; k < K; k++) {
                double square = 0;
                for (int64_t i = 0; i < K; i++) {
                    next[i * K + k] = T[i * K + k] - step * G[i * K + k];
                    square += next[i * K + k] * next[i * K + k];
                }
                for (int64_t i = 0; i < K; i++) next[i * K + k] /= sqrt(square);
            }
            lower = oblimin_value(D, K, L, next, &after, NULL, room) == FAB_OK &&
                    f - after > 0.5 * length * step;
            if (!lower) step /= 2;
        }
        if (!lower) break; /* as far as rounding lets it */
        memcpy(T, next, (size_t)(K * K) * sizeof *T);
        FAB_TRY(oblimin_value(D, K, L, T, &f, G, room));
    }
    FAB_TRY(invert(K, T, next, room));
    for (int64_t i = 0; i < K; i++)
        for (int64_t k = 0; k < K; k++) U[i * K + k] = next[k * K + i];
    return FAB_OK;
}

/* 4, 5  R <- R U */
static fab_status make_oblique(const fab_rotation *r, const fab_gauss *g)
{
    const int64_t D = g->D, K = g->K;
    double *L; /* D x K */
    FAB_TRY(fab_alloc_array((void **)&L, (D + 9 * K) * K, sizeof *L, "loadings to rotate"));
    double *U = L + D * K, *work = U + K * K, *R = work + 7 * K * K;
    fab_rotation_factors(r, g, 0, D, L);
    if (!r->scale)
        for (int64_t d = 0; d < D; d++)
            for (int64_t k = 0; k < K; k++) L[d * K + k] /= sqrt(variance(g, d));
    const fab_status s = r->kind == FAB_ROTATION_PROMAX ? promax(D, K, L, U, work)
                                                        : oblimin(D, K, L, U, work);
    if (s == FAB_OK) {
        product(K, 0, r->R, U, R);
        memcpy(r->R, R, (size_t)(K * K) * sizeof *R);
    }
    fab_release(L);
    if (s == FAB_NUMERIC)
        return FAB_FAIL(FAB_NUMERIC,
                        "%s: two of the %lld factors cannot be told apart; take fewer of them, or "
                        "varimax",
                        fab_rotation_name(r->kind), (long long)K);
    return s;
}

/* ---- order and signs -------------------------------------------------------------------------------- */

/* work: 3 K numbers */
static void arrange(const fab_rotation *r, const fab_gauss *g, double *work)
{
    const int64_t K = r->K;
    double *peak = work, *row = work + K, *rank = work + 2 * K; /* peak: the largest loading */
    memset(work, 0, (size_t)(3 * K) * sizeof *work);
    for (int64_t d = 0; d < r->D; d++) {
        /* principal axes are ordered in the units of the loadings, the others see no units */
        double weight = 1;
        if (r->kind != FAB_ROTATION_PRINCIPAL && !r->scale) weight = 1 / variance(g, d);
        fab_rotation_factors(r, g, d, 1, row);
        for (int64_t k = 0; k < K; k++) {
            double explained = row[k] * row[k];
            if (oblique(r))
                for (int64_t j = 0; j < K; j++)
                    if (j != k) explained += r->phi[k * K + j] * row[j] * row[k];
            r->length[k] += explained;
            rank[k] += weight * explained;
            const double x = sqrt(weight) * row[k];
            if (fabs(x) > fabs(peak[k])) peak[k] = x;
        }
    }
    for (int64_t k = 0; k < K; k++) { /* 6 */
        int64_t first = k;
        for (int64_t j = k + 1; j < K; j++)
            if (rank[j] > rank[first]) first = j;
        const double sign = peak[first] < 0 ? -1 : 1;
        swap(&r->length[k], &r->length[first]);
        swap(&rank[k], &rank[first]);
        swap(&peak[k], &peak[first]);
        for (int64_t i = 0; i < K; i++) {
            swap(&r->R[i * K + k], &r->R[i * K + first]);
            r->R[i * K + k] *= sign; /* the last, so that it holds where k is the first */
        }
    }
}

/* back = R^-1 and phi = R^-1 R^-1'. */
static fab_status find_factors(const fab_rotation *r, double *work)
{
    const int64_t K = r->K;
    if (!oblique(r)) {
        for (int64_t i = 0; i < K; i++)
            for (int64_t k = 0; k < K; k++) {
                r->back[i * K + k] = r->R[k * K + i];
                r->phi[i * K + k] = i == k;
            }
        return FAB_OK;
    }
    FAB_TRY(invert(K, r->R, r->back, work));
    for (int64_t i = 0; i < K; i++)
        for (int64_t k = 0; k < K; k++) {
            double sum = 0;
            for (int64_t j = 0; j < K; j++) sum += r->back[i * K + j] * r->back[k * K + j];
            r->phi[i * K + k] = sum;
        }
    return FAB_OK;
}

/* ---- life ------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_rotation *r = handle;
    r->R = fab_place(l, r->K * r->K, sizeof *r->R);
    r->back = fab_place(l, r->K * r->K, sizeof *r->back);
    r->phi = fab_place(l, r->K * r->K, sizeof *r->phi);
    r->length = fab_place(l, r->K, sizeof *r->length);
    r->scale = r->standardised ? fab_place(l, r->D, sizeof *r->scale) : NULL;
}

static fab_status compute_with(fab_rotation *r, const fab_gauss *g, double *work)
{
    const int64_t K = g->K;
    for (int64_t k = 0; k < K; k++) r->R[k * K + k] = 1;
    if (r->scale)
        for (int64_t d = 0; d < g->D; d++) r->scale[d] = 1 / sqrt(variance(g, d));
    principal_axes(r, g, work);
    if (r->kind != FAB_ROTATION_PRINCIPAL) FAB_TRY(varimax(r, g));
    if (oblique(r)) FAB_TRY(make_oblique(r, g));
    FAB_TRY(find_factors(r, work)); /* phi, which the lengths need */
    arrange(r, g, work);
    FAB_TRY(find_factors(r, work));
    for (int64_t d = 0; d < g->D; d++) {
        const double scale = r->scale ? r->scale[d] : 1;
        r->total += g->psi[d] * scale * scale;
    }
    for (int64_t k = 0; k < K; k++) r->total += r->length[k];
    return FAB_OK;
}

static fab_status compute(fab_rotation *r, const fab_gauss *g)
{
    const int64_t K = g->K;
    double *work;
    FAB_TRY(fab_alloc_array((void **)&work, K * (K + 1) + 3 * K, sizeof *work, "rotation"));
    const fab_status s = compute_with(r, g, work);
    fab_release(work);
    return s;
}

fab_status fab_rotation_create(fab_rotation **r, const fab_gauss *g, fab_rotation_kind kind,
                               int64_t standardise)
{
    *r = NULL;
    if (!fab_rotation_name(kind))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "rotation %d is not known", (int)kind);
    if (g->form != FAB_FORM_COVARIANCE)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "rotation: the Gaussian is in %s form; factors to read are those of a "
                        "covariance",
                        fab_form_name(g->form));
    fab_rotation *new;
    const fab_rotation proto = {
        .kind = kind, .D = g->D, .K = g->K, .standardised = standardise != 0};
    FAB_TRY(fab_build((void **)&new, sizeof *new, &proto, layout));
    const fab_status s = compute(new, g);
    if (s != FAB_OK)
        fab_rotation_free(new);
    else
        *r = new;
    return s;
}

void fab_rotation_free(fab_rotation *r)
{
    fab_release(r);
}
