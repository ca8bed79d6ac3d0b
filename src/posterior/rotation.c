/* rotation.c - the factors of a Gaussian, rotated so that a person can read them.
 *
 * F F' does not change when F becomes F R with an orthogonal R:
 *
 *     1  G = F' F,  R = I
 *     2  principal axes: Jacobi's rotations make R' G R diagonal
 *     3  varimax (Kaiser 1958): rotate two columns of F R at a time, its rows scaled to length 1, by the angle that
 *        makes the variance of their squares largest, until no angle is left
 *     4  the longest column first, the largest loading of each positive
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "fabayes/gauss.h"
#include <math.h>
#include <string.h>

enum { SWEEPS = 200 };
#define SMALL 1e-12 /* of the two lengths: a product that Jacobi leaves alone */
#define ANGLE 1e-9  /* varimax ends when no angle is larger */

static const char *const names[] = {"principal", "varimax"};

const char *fab_rotation_name(fab_rotation_kind kind)
{
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : NULL;
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
            const double x = loading(g, (first + d) * K + i);
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
static void principal_axes(const fab_gauss *g, double *R, double *work)
{
    const int64_t K = g->K;
    double *G = work, *row = work + K * K;
    memset(G, 0, (size_t)(K * K) * sizeof *G);
    for (int64_t d = 0; d < g->D; d++) { /* 1  G = F' F */
        for (int64_t k = 0; k < K; k++) row[k] = loading(g, d * K + k);
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

/* ---- order and signs -------------------------------------------------------------------------------- */

/* work: 2 K numbers */
static void arrange(const fab_rotation *r, const fab_gauss *g, double *work)
{
    const int64_t K = r->K;
    double *peak = work, *row = work + K,
           *length = r->length; /* peak: the loading of largest size */
    memset(peak, 0, (size_t)K * sizeof *peak);
    for (int64_t d = 0; d < r->D; d++) {
        fab_rotation_factors(r, g, d, 1, row);
        for (int64_t k = 0; k < K; k++) {
            length[k] += row[k] * row[k];
            if (fabs(row[k]) > fabs(peak[k])) peak[k] = row[k];
        }
    }
    for (int64_t k = 0; k < K; k++) { /* 4 */
        int64_t longest = k;
        for (int64_t j = k + 1; j < K; j++)
            if (length[j] > length[longest]) longest = j;
        const double l = length[k], p = peak[k], sign = peak[longest] < 0 ? -1 : 1;
        length[k] = length[longest];
        length[longest] = l;
        peak[longest] = p;
        for (int64_t i = 0; i < K; i++) {
            const double t = r->R[i * K + k];
            r->R[i * K + k] = r->R[i * K + longest];
            r->R[i * K + longest] = t;
            r->R[i * K + k] *= sign; /* the last, so that it holds where k is the longest */
        }
    }
}

/* ---- life ------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_rotation *r = handle;
    r->R = fab_place(l, r->K * r->K, sizeof *r->R);
    r->length = fab_place(l, r->K, sizeof *r->length);
}

static fab_status compute(fab_rotation *r, const fab_gauss *g)
{
    const int64_t K = g->K;
    double *work;
    FAB_TRY(fab_alloc_array((void **)&work, K * (K + 1) + 2 * K + 1, sizeof *work, "rotation"));
    for (int64_t k = 0; k < K; k++) r->R[k * K + k] = 1;
    principal_axes(g, r->R, work);
    const fab_status s = r->kind == FAB_ROTATION_VARIMAX ? varimax(r, g) : FAB_OK;
    if (s == FAB_OK) arrange(r, g, work);
    fab_release(work);
    FAB_TRY(s);
    for (int64_t d = 0; d < g->D; d++) r->total += g->psi[d];
    for (int64_t k = 0; k < K; k++) r->total += r->length[k];
    return FAB_OK;
}

fab_status fab_rotation_create(fab_rotation **r, const fab_gauss *g, fab_rotation_kind kind)
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
    const fab_rotation proto = {.kind = kind, .D = g->D, .K = g->K};
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
