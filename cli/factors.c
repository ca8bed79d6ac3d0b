/* factors.c - the principal axes of F, and varimax.
 *
 * SPDX-License-Identifier: MIT */
#include "factors.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 200 };
#define SMALL 1e-12 /* an angle that turns nothing any more */

static double loading(const fab_gauss *g, int64_t i)
{
    return g->type == FAB_F32 ? (double)((const float *)g->F)[i] : ((const double *)g->F)[i];
}

static void product(int64_t K, const double *x, const double *turn, double *out)
{
    memset(out, 0, (size_t)K * sizeof *out);
    for (int64_t i = 0; i < K; i++)
        for (int64_t k = 0; k < K; k++) out[k] += x[i] * turn[i * K + k];
}

void factors_row(const factors *f, int64_t d, double *row)
{
    const int64_t K = f->K;
    memset(row, 0, (size_t)K * sizeof *row);
    for (int64_t i = 0; i < K; i++) {
        const double x = loading(f->g, d * K + i);
        for (int64_t k = 0; k < K; k++) row[k] += x * f->turn[i * K + k];
    }
}

void factors_turn(const factors *f, double *rows, int64_t n)
{
    double *copy = f->length + f->K; /* K numbers of room behind the lengths */
    for (int64_t j = 0; j < n; j++) {
        memcpy(copy, rows + j * f->K, (size_t)f->K * sizeof *copy);
        product(f->K, copy, f->turn, rows + j * f->K);
    }
}

/* ---- principal axes: Jacobi's method on F'F ------------------------------------------------------- */

/* G = F' F */
static void gram(const factors *f, double *G, double *row)
{
    const int64_t K = f->K;
    memset(G, 0, (size_t)(K * K) * sizeof *G);
    for (int64_t d = 0; d < f->D; d++) {
        for (int64_t k = 0; k < K; k++) row[k] = loading(f->g, d * K + k);
        for (int64_t i = 0; i < K; i++)
            for (int64_t k = 0; k < K; k++) G[i * K + k] += row[i] * row[k];
    }
}

/* Columns p and q of an n x K matrix turned by an angle. */
static void turn_columns(double *A, int64_t n, int64_t K, int64_t p, int64_t q, double c, double s)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = A[i * K + p], y = A[i * K + q];
        A[i * K + p] = c * x + s * y;
        A[i * K + q] = c * y - s * x;
    }
}

static void turn_rows(double *A, int64_t K, int64_t p, int64_t q, double c, double s)
{
    for (int64_t k = 0; k < K; k++) {
        const double x = A[p * K + k], y = A[q * K + k];
        A[p * K + k] = c * x + s * y;
        A[q * K + k] = c * y - s * x;
    }
}

/* Make G diagonal, with the same turn in f->turn. */
static void diagonalise(const factors *f, double *G)
{
    const int64_t K = f->K;
    int turned = 1;
    for (int sweep = 0; turned && sweep < SWEEPS; sweep++) {
        turned = 0;
        for (int64_t p = 0; p < K; p++)
            for (int64_t q = p + 1; q < K; q++) {
                const double off = G[p * K + q], a = G[p * K + p], b = G[q * K + q];
                if (!(fabs(off) > SMALL * sqrt(fabs(a * b)))) continue;
                const double angle = 0.5 * atan2(2 * off, a - b), c = cos(angle), s = sin(angle);
                turn_columns(G, K, K, p, q, c, s);
                turn_rows(G, K, p, q, c, s);
                turn_columns(f->turn, K, K, p, q, c, s);
                turned = 1;
            }
    }
}

/* ---- varimax -------------------------------------------------------------------------------------- */

/* The angle that maximises the variance of the squared loadings in columns p and q (Kaiser 1958). */
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

/* L: the loadings on the principal axes, rows scaled to length 1. */
static void scaled_loadings(const factors *f, double *L)
{
    for (int64_t d = 0; d < f->D; d++) {
        double *row = L + d * f->K, length = 0;
        factors_row(f, d, row);
        for (int64_t k = 0; k < f->K; k++) length += row[k] * row[k];
        for (int64_t k = 0; k < f->K && length > 0; k++) row[k] /= sqrt(length);
    }
}

static int varimax(const factors *f)
{
    const int64_t D = f->D, K = f->K;
    double *L = malloc((size_t)(D * K) * sizeof *L);
    if (!L) return say_failed("no memory to turn the loadings by varimax");
    scaled_loadings(f, L);
    double widest = 1;
    for (int sweep = 0; widest > 1e-9 && sweep < SWEEPS; sweep++) {
        widest = 0;
        for (int64_t p = 0; p < K; p++)
            for (int64_t q = p + 1; q < K; q++) {
                const double angle = varimax_angle(L, D, K, p, q);
                turn_columns(L, D, K, p, q, cos(angle), sin(angle));
                turn_columns(f->turn, K, K, p, q, cos(angle), sin(angle));
                if (fabs(angle) > widest) widest = fabs(angle);
            }
    }
    free(L);
    return DONE;
}

/* ---- order and signs ------------------------------------------------------------------------------ */

/* Lengths of the columns, and in `peak` the loading of largest size. */
static void measure(const factors *f, double *peak, double *row)
{
    memset(f->length, 0, (size_t)f->K * sizeof *f->length);
    memset(peak, 0, (size_t)f->K * sizeof *peak);
    for (int64_t d = 0; d < f->D; d++) {
        factors_row(f, d, row);
        for (int64_t k = 0; k < f->K; k++) {
            f->length[k] += row[k] * row[k];
            if (fabs(row[k]) > fabs(peak[k])) peak[k] = row[k];
        }
    }
}

static void swap_columns(const factors *f, double *peak, int64_t a, int64_t b)
{
    const double length = f->length[a], p = peak[a];
    f->length[a] = f->length[b];
    peak[a] = peak[b];
    f->length[b] = length;
    peak[b] = p;
    for (int64_t i = 0; i < f->K; i++) {
        const double t = f->turn[i * f->K + a];
        f->turn[i * f->K + a] = f->turn[i * f->K + b];
        f->turn[i * f->K + b] = t;
    }
}

/* The longest column first, the largest loading of each positive. */
static void arrange(const factors *f, double *room)
{
    const int64_t K = f->K;
    double *peak = room, *row = room + K;
    measure(f, peak, row);
    for (int64_t k = 0; k < K; k++) {
        int64_t longest = k;
        for (int64_t j = k + 1; j < K; j++)
            if (f->length[j] > f->length[longest]) longest = j;
        swap_columns(f, peak, k, longest);
        for (int64_t i = 0; i < K && peak[k] < 0; i++) f->turn[i * K + k] *= -1;
    }
}

int factors_open(factors *f, const fab_gauss *g, int with_varimax)
{
    const int64_t K = g->K;
    *f = (factors){.g = g, .D = g->D, .K = K};
    double *room = malloc((size_t)(K * K + 2 * K + 1) * sizeof *room);
    f->turn = calloc((size_t)(K * K + 1), sizeof *f->turn);
    f->length = calloc((size_t)(2 * K + 1), sizeof *f->length);
    int status = room && f->turn && f->length ? DONE : say_failed("no memory for the factors");
    for (int64_t k = 0; k < K && status == DONE; k++) f->turn[k * K + k] = 1;
    if (status == DONE) {
        gram(f, room, room + K * K);
        diagonalise(f, room);
        if (with_varimax) status = varimax(f);
        arrange(f, room);
    }
    for (int64_t d = 0; d < g->D && status == DONE; d++) f->total += g->psi[d];
    for (int64_t k = 0; k < K && status == DONE; k++) f->total += f->length[k];
    free(room);
    return status;
}

void factors_close(factors *f)
{
    free(f->turn);
    free(f->length);
}
