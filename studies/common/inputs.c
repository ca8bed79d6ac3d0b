/* inputs.c - the inputs of the regressions of [L] section 5.
 *
 * SPDX-License-Identifier: MIT */
#include "inputs.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>

enum { ROWS_STREAM = 1, TURN_STREAMS = 1000 };

/* Rows times a uniform orthogonal matrix: reflections that send e_k to a random direction of e_k .. e_d. */
static void turn(int64_t d, int64_t N, uint64_t seed, double *x)
{
    double *v = numbers(d);
    for (int64_t k = 0; k < d; k++) {
        double norm2 = 0;
        fab_random_normal(seed, FAB_PURPOSE_DATA, TURN_STREAMS + (uint64_t)k, 0, d - k, FAB_F64, v);
        for (int64_t i = 0; i < d - k; i++) norm2 += v[i] * v[i];
        v[0] += copysign(sqrt(norm2), v[0]);
        norm2 = 2 * sqrt(norm2) * fabs(v[0]);
        for (int64_t j = 0; j < N; j++) {
            double *row = x + j * d + k, dot = 0;
            for (int64_t i = 0; i < d - k; i++) dot += row[i] * v[i];
            for (int64_t i = 0; i < d - k; i++) row[i] -= 2 * dot / norm2 * v[i];
        }
    }
    free(v);
}

void inputs_draw(int64_t d, int64_t N, uint64_t seed, double *x)
{
    fab_random_normal(seed, FAB_PURPOSE_DATA, ROWS_STREAM, 0, N * d, FAB_F64, x);
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < d; i++) x[j * d + i] /= sqrt((double)(i + 1));
    turn(d, N, seed, x);
}

void inputs_normalise(int64_t d, int64_t N, double *x)
{
    double mean = 0;
    for (int64_t j = 0; j < N; j++) {
        double norm2 = 0;
        for (int64_t i = 0; i < d; i++) norm2 += x[j * d + i] * x[j * d + i];
        mean += sqrt(norm2) / (double)N;
    }
    for (int64_t i = 0; i < N * d; i++) x[i] /= mean;
}

void inputs_divide_by_spectrum(int64_t d, int64_t N, double *x)
{
    double squares = 0;
    for (int64_t i = 1; i <= d; i++) squares += 1 / ((double)i * (double)i);
    for (int64_t i = 0; i < N * d; i++) x[i] /= sqrt(squares);
}
