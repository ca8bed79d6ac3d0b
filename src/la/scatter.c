/* scatter.c - the D x D scatter matrix of many rows.
 *
 * Panels of rows are centred and converted once; then every strip of columns of S takes the whole panel
 * in one product.  Strips are independent, so threads share them in any order.
 *
 * SPDX-License-Identifier: MIT */
#include "la/scatter.h"
#include "base/rows.h"
#include <cblas.h>
#include <string.h>

enum {
    PANEL = 1024,
    STRIP = 96,
    FEW_COLUMNS = 256
}; /* one thread below: too little work in a panel */

int64_t fab_scatter_work(int64_t D)
{
    return PANEL * D;
}

/* panel[i * D + d] = x_{first + i, d} - c_d */
static void load_panel(int threads, const fab_rows *x, int64_t first, int64_t n, int64_t D,
                       const double *c, double *panel)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < n; i++) {
        if (x->type == FAB_F64) {
            const double *row = (const double *)x->p + (first + i) * x->ld;
            for (int64_t d = 0; d < D; d++) panel[i * D + d] = row[d] - c[d];
        } else {
            const float *row = (const float *)x->p + (first + i) * x->ld;
            for (int64_t d = 0; d < D; d++) panel[i * D + d] = (double)row[d] - c[d];
        }
    }
}

/* Rows d0 .. D-1 of columns d0 .. d0 + STRIP - 1 of S, and these elements of sum. */
static void add_strip(const double *panel, int64_t n, int64_t D, int64_t d0, double *S, double *sum)
{
    const int64_t width = D - d0 < STRIP ? D - d0 : STRIP;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, (int)(D - d0), (int)width, (int)n, 1,
                panel + d0, (int)D, panel + d0, (int)D, 1, S + d0 + d0 * D, (int)D);
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = d0; d < d0 + width; d++) sum[d] += panel[i * D + d];
}

void fab_scatter(const fab_run *r, const fab_rows *x, int64_t D, const double *c, double *S,
                 double *sum, double *work)
{
    const int64_t strips = (D + STRIP - 1) / STRIP;
    const int threads = D < FEW_COLUMNS ? 1 : r->threads;
    memset(S, 0, (size_t)(D * D) * sizeof *S);
    memset(sum, 0, (size_t)D * sizeof *sum);
    for (int64_t first = 0; first < x->n; first += PANEL) {
        const int64_t n = x->n - first < PANEL ? x->n - first : PANEL;
        load_panel(threads, x, first, n, D, c, work);
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
        for (int64_t t = 0; t < strips; t++) add_strip(work, n, D, t * STRIP, S, sum);
    }
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = 0; i < j; i++) S[i + j * D] = S[j + i * D];
}
