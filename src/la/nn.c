/* nn.c - which table of layer kernels runs here, and products of any size.
 *
 * SPDX-License-Identifier: MIT */
#include "la/nn.h"
#include "base/rows.h"
#include "la/cpu/ops.h"
#include <string.h>

/* Steps of a product up to which vector code without packing is as fast as BLAS, or faster: beyond, its columns
 * leave the caches. */
#define SMALL_STEPS 1e8

const fab_nn *fab_nn_find(fab_dtype type)
{
    const int which = type == FAB_F32;
#if defined(__x86_64__)
    const fab_isa *isa = fab_isa_current();
    if (isa == &fab_isa_avx512) return &fab_nn_avx512[which];
    if (isa == &fab_isa_avx2) return &fab_nn_avx2[which];
#endif
    return &fab_nn_base[which];
}

static void *at(const fab_nn *nn, const void *p, int64_t i)
{
    return (char *)(uintptr_t)p + (size_t)i * nn->size;
}

void fab_nn_product(const fab_nn *nn, const fab_product *p)
{
    const double steps = (double)p->m * (double)p->n * (double)p->k;
    if (steps <= SMALL_STEPS) {
        nn->product(p);
        return;
    }
    if (p->bias && p->add)
        for (int64_t i = 0; i < p->m; i++) nn->add(p->n, p->bias, at(nn, p->C, i * p->ldc));
    else if (p->bias)
        for (int64_t i = 0; i < p->m; i++)
            memcpy(at(nn, p->C, i * p->ldc), p->bias, (size_t)p->n * nn->size);
    fab_gemm(nn->type, p->ta, p->tb, p->m, p->n, p->k, 1, p->A, p->lda, p->B, p->ldb,
             p->add || p->bias, p->C, p->ldc);
}

static void put(const fab_nn *nn, void *p, int64_t i, double v)
{
    if (nn->type == FAB_F32)
        ((float *)p)[i] = (float)v;
    else
        ((double *)p)[i] = v;
}

void fab_nn_load(const fab_nn *nn, const fab_rows *x, int64_t j, int64_t D, void *to)
{
    if (x->type == nn->type) {
        fab_rows_copy(x, j, D, to);
    } else if (x->start) { /* sparse */
        memset(to, 0, (size_t)D * nn->size);
        for (int64_t k = 0; k < fab_rows_stored(x, j, D); k++)
            put(nn, to, fab_rows_place(x, j, k), fab_rows_value(x, j, k));
    } else if (fab_rows_stride(x) > 1) {
        for (int64_t i = 0; i < D; i++) put(nn, to, i, fab_rows_value(x, j, i));
    } else if (nn->type == FAB_F32) {
        nn->narrow(D, (const double *)x->p + j * x->ld, to);
    } else {
        fab_rows_get(x, j, D, to);
    }
}
