/* softmax_mean.c - the mean of log softmax and of its derivatives when the predictors are Gaussian.
 *
 *   1  B = J V J, J = I - 1 1'/C: what all predictors have in common does not matter to softmax
 *   2  B = R R', R C x (C-1), by Cholesky's method in the order of the classes: R, and so the sums below, are smooth in V,
 *      which eigenvectors and pivots would not be
 *   3  nodes z_l and -z_l as in softmax.c, each coordinate brought to the mean square 1
 *   4  p_l = softmax(m + R z_l); E log p(y) = mean of log p_l,y, gradient = [y] - mean of p_l, curvature = mean of
 *      diag(p_l) - p_l p_l'
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "model/likelihoods/softmax.h"
#include <math.h>
#include <string.h>

#define NOTHING 1e-14 /* of the largest variance: rounding */

struct fab_softmax_mean {
    int64_t C, L; /* classes; pairs of nodes */
    double *z;    /* (C-1) x L */
    double *B;    /* C x C */
    double *R;    /* C x (C-1), row-major */
    double *mean; /* C */
    double *p;    /* C */
};

static void layout(fab_layout *l, void *handle)
{
    fab_softmax_mean *s = handle;
    const int64_t C = s->C;
    s->z = fab_place(l, (C - 1) * s->L, sizeof(double));
    s->B = fab_place(l, C * C, sizeof(double));
    s->R = fab_place(l, C * (C - 1), sizeof(double));
    s->mean = fab_place(l, C, sizeof(double));
    s->p = fab_place(l, C, sizeof(double));
}

fab_status fab_softmax_mean_init(fab_softmax_mean **s, int64_t C, int64_t pairs)
{
    const fab_softmax_mean proto = {.C = C, .L = pairs};
    FAB_TRY(fab_build((void **)s, sizeof proto, &proto, layout));
    double *z = (*s)->z;
    fab_softmax_nodes(C - 1, pairs, z);
    for (int64_t i = 0; i < C - 1; i++) { /* 3 */
        double square = 0;
        for (int64_t l = 0; l < pairs; l++) square += z[i + l * (C - 1)] * z[i + l * (C - 1)];
        for (int64_t l = 0; l < pairs; l++) z[i + l * (C - 1)] /= sqrt(square / (double)pairs);
    }
    return FAB_OK;
}

void fab_softmax_mean_free(fab_softmax_mean *s)
{
    fab_release(s);
}

/* 1, 2; 0 where there is no spread */
static int find_root(fab_softmax_mean *s, const double *V)
{
    const int64_t C = s->C, most = C - 1;
    double all = 0, first = 0;
    for (int64_t k = 0; k < C; k++) {
        s->mean[k] = 0;
        for (int64_t l = 0; l < C; l++) s->mean[k] += V[k * C + l] / (double)C;
        all += s->mean[k] / (double)C;
    }
    for (int64_t k = 0; k < C; k++)
        for (int64_t l = 0; l < C; l++)
            s->B[k * C + l] = V[k * C + l] - s->mean[k] - s->mean[l] + all;
    for (int64_t k = 0; k < C; k++) first = fmax(first, s->B[k * C + k]);
    memset(s->R, 0, (size_t)(C * most) * sizeof *s->R);
    for (int64_t r = 0; r < most; r++) {
        const double pivot = s->B[r * C + r];
        if (!(pivot > NOTHING * first)) continue;
        for (int64_t k = r; k < C; k++) s->R[k * most + r] = s->B[k * C + r] / sqrt(pivot);
        for (int64_t k = r; k < C; k++)
            for (int64_t l = r; l < C; l++)
                s->B[k * C + l] -= s->R[k * most + r] * s->R[l * most + r];
    }
    return first > 0;
}

double fab_softmax_mean_at(fab_softmax_mean *s, int64_t y, const double *mean, const double *V,
                           double *gradient, double *curvature)
{
    const int64_t C = s->C, most = C - 1, nodes = find_root(s, V) ? 2 * s->L : 1;
    const double share = 1 / (double)nodes;
    double value = 0, *p = s->p;
    memset(gradient, 0, (size_t)C * sizeof *gradient);
    memset(curvature, 0, (size_t)(C * C) * sizeof *curvature);
    for (int64_t l = 0; l < nodes; l++) { /* 4 */
        const double sign = l < s->L ? 1 : -1, *z = s->z + l % s->L * most;
        double top = -INFINITY, sum = 0;
        for (int64_t k = 0; k < C; k++) {
            double shift = 0;
            const int64_t columns = k < most ? k + 1 : most; /* R is lower triangular */
            for (int64_t r = 0; r < columns; r++) shift += s->R[k * most + r] * z[r];
            p[k] = mean[k] + sign * shift;
            top = fmax(top, p[k]);
        }
        const double mine = p[y] - top;
        for (int64_t k = 0; k < C; k++) sum += p[k] = exp(p[k] - top);
        value += share * (mine - log(fmax(sum, 1))); /* the largest term is 1 */
        for (int64_t k = 0; k < C; k++) {
            p[k] /= sum;
            gradient[k] -= share * p[k];
            for (int64_t j = 0; j <= k; j++) curvature[k * C + j] -= share * p[k] * p[j];
        }
    }
    for (int64_t k = 0; k < C; k++) {
        curvature[k * C + k] -= gradient[k];
        for (int64_t j = 0; j < k; j++) curvature[j * C + k] = curvature[k * C + j];
    }
    gradient[y] += 1;
    return value;
}
