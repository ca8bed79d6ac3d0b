/* cut.c - lines 4 and 5 of slang.c: the precision of the next step, cut down to rank K.
 *
 *   Y = [sqrt(keep) U, sqrt(each) g_1, g_2, ..],  keep = 1 - eta,  each = eta N / (M draws)
 *
 *   a  diag' = keep diag + eta alpha + each sum g_i^2                        the diagonal is kept exactly
 *   b  U' = Y V_K: the leading eigenvectors of Y'Y, lambda their eigenvalues
 *      dense:  of Y Y', U' = Q_K Lambda_K^1/2
 *   c  psi' = diag' - rowdot(U', U'), floored;  I + U'' psi'^-1 U' = L L'
 *
 * SPDX-License-Identifier: MIT */
#include "la/small.h"
#include "methods/slang/slang.h"
#include <math.h>
#include <string.h>

fab_long fab_slang_U(const fab_slang *f, void *U)
{
    return fab_long_rows(U, f->m.D, f->K);
}

fab_long fab_slang_vectors(const fab_slang *f, void *p, int64_t k)
{
    return fab_long_vectors(p, f->m.D, k, f->m.D);
}

void *fab_slang_vector(const fab_slang *f, void *p, int64_t j)
{
    return (char *)p + (size_t)(j * f->m.D) * f->run.ops->size;
}

fab_status fab_slang_not_finite(const fab_slang *f, const char *what, double value)
{
    return FAB_FAIL(FAB_NUMERIC,
                    "%s: %s is %g at step %lld (epoch %lld): lower rate (now %g) or rate_precision "
                    "(now %g), or raise start; mu and the precision are those of the step before",
                    f->who, what, value, (long long)f->count.steps + 1,
                    (long long)f->count.epochs + 1, f->s.train.rate, f->s.rate_precision);
}

double fab_slang_square(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

void fab_slang_cut_layout(fab_layout *l, fab_slang *f)
{
    fab_slang_cut_arrays *c = &f->cut;
    const int64_t D = f->m.D, K = f->K, n = f->grad.most, wide = n > K ? n : K;
    int64_t side = 0;
    if (K > 0) side = c->dense ? D : K + n;
    c->gram = fab_place(l, K > 0 && !c->dense ? n * n : 0, sizeof(double));
    c->cross = fab_place(l, K * n, sizeof(double));
    c->rows = fab_place(l, c->dense ? D * wide : 0, sizeof(double));
    c->Y = fab_place(l, side * side, sizeof(double));
    c->eigenvalues = fab_place(l, side, sizeof(double));
    c->leading = fab_place(l, side * K, sizeof(double));
    c->work = fab_place(l, fab_eig_top_work(side), sizeof(double));
    c->T = fab_place(l, K * K, sizeof(double));
    c->C = fab_place(l, K * n, sizeof(double));
    c->N = fab_place(l, K, sizeof(double));
}

/* b  of Y'Y: T and C, by which U and the gradients are multiplied */
static fab_status eigenvectors(fab_slang *f, double keep, double each, int64_t n)
{
    fab_slang_cut_arrays *c = &f->cut;
    const int64_t K = f->K, side = K + n;
    const double mixed = sqrt(keep * each);
    if (f->grad.products) { /* cross(k, i) = u_k . g_i is at k + i K either way */
        f->m.gram(f->m.self, c->gram);
        f->m.project(f->m.self, K, f->P.U, c->cross);
    } else {
        const fab_long U = fab_slang_U(f, f->P.U), G = fab_slang_vectors(f, f->grad.G, n);
        f->run.ops->gram(&f->run, &G, NULL, c->gram);
        f->run.ops->cross(&f->run, &U, NULL, &G, c->cross);
    }
    memset(c->Y, 0, (size_t)(side * side) * sizeof *c->Y);
    for (int64_t k = 0; k < K; k++) c->Y[k + k * side] = keep * f->P.lambda[k];
    for (int64_t i = 0; i < n; i++) {
        double *column = c->Y + (K + i) * side;
        for (int64_t k = 0; k < K; k++) column[k] = mixed * c->cross[k + i * K];
        for (int64_t j = 0; j < n; j++) column[K + j] = each * c->gram[j + i * n];
        for (int64_t k = 0; k < K; k++) c->Y[K + i + k * side] = column[k];
    }
    const double square = fab_slang_square(side * side, c->Y);
    if (!isfinite(square)) return fab_slang_not_finite(f, "the square of the gradients", square);

    FAB_TRY(fab_eig_top(side, K, c->Y, c->eigenvalues, c->leading, c->work)); /* ascending */
    for (int64_t k = 0; k < K; k++) {
        const double *vector = c->leading + (K - 1 - k) * side;
        f->next.lambda[k] = fmax(c->eigenvalues[K - 1 - k], 0);
        for (int64_t j = 0; j < K; j++) c->T[j + k * K] = sqrt(keep) * vector[j];
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = f->grad.products ? i * K + k : i + k * n;
            c->C[at] = sqrt(each) * vector[K + i];
        }
    }
    return FAB_OK;
}

/* b  of Y Y', D x D: U' itself */
static fab_status dense_eigenvectors(fab_slang *f, double keep, double each, int64_t n)
{
    fab_slang_cut_arrays *c = &f->cut;
    const int64_t D = f->m.D, K = f->K;
    const fab_long U = fab_slang_U(f, f->P.U), G = fab_slang_vectors(f, f->grad.G, n);
    const fab_long U_next = fab_slang_U(f, f->next.U);
    f->run.ops->get(&f->run, &G, c->rows); /* n x D, column-major */
    fab_mm(FAB_T, FAB_N, D, D, n, each, c->rows, c->rows, 0, c->Y);
    f->run.ops->get(&f->run, &U, c->rows);
    fab_mm(FAB_T, FAB_N, D, D, K, keep, c->rows, c->rows, 1, c->Y);
    const double square = fab_slang_square(D * D, c->Y);
    if (!isfinite(square)) return fab_slang_not_finite(f, "the square of the gradients", square);

    FAB_TRY(fab_eig_top(D, K, c->Y, c->eigenvalues, c->leading, c->work)); /* ascending */
    for (int64_t k = 0; k < K; k++) {
        f->next.lambda[k] = fmax(c->eigenvalues[K - 1 - k], 0);
        const double *vector = c->leading + (K - 1 - k) * D, root = sqrt(f->next.lambda[k]);
        for (int64_t i = 0; i < D; i++) c->rows[i * K + k] = root * vector[i];
    }
    f->run.ops->put(&f->run, c->rows, &U_next);
    return FAB_OK;
}

fab_status fab_slang_cut(fab_slang *f, double eta, double scale, int64_t n)
{
    const int64_t D = f->m.D, K = f->K;
    const double keep = 1 - eta, each = eta * scale;
    const fab_long G = fab_slang_vectors(f, f->grad.G, n);
    fab_slang_precision *next = &f->next;

    if (f->grad.products) /* a */
        f->m.squares(f->m.self, next->diag);
    else
        f->run.ops->rowquad(&f->run, &G, NULL, n, 0, next->diag);
    for (int64_t i = 0; i < D; i++)
        next->diag[i] = keep * f->P.diag[i] + eta * f->prior_diag[i] + each * next->diag[i];

    if (K == 0) {
        memcpy(next->psi, next->diag, (size_t)D * sizeof(double));
    } else { /* the Gram U' psi^-1 U and N = U' psi^-1 v come with the pass that writes U and psi */
        const fab_long U_next = fab_slang_U(f, next->U);
        fab_sweep w = {.n = D,
                       .K = K,
                       .out = U_next,
                       .c3 = 1,
                       .d2 = next->diag,
                       .floor = f->psi_min,
                       .psi_out = next->psi, /* c */
                       .G = next->L,
                       .N = f->cut.N,
                       .next = fab_slang_vectors(f, f->grad.v, 1)};
        if (f->cut.dense) {
            FAB_TRY(dense_eigenvectors(f, keep, each, n)); /* b */
            w.w = U_next;
            w.r0 = 1;
        } else if (f->grad.products) {
            FAB_TRY(eigenvectors(f, keep, each, n));
            f->m.combine(f->m.self, K, f->cut.C, next->U); /* G C */
            w.w = U_next;
            w.r0 = 1;
            w.u = fab_slang_U(f, f->P.U); /* + U T */
            w.T = f->cut.T;
        } else {
            FAB_TRY(eigenvectors(f, keep, each, n));
            w.w = fab_slang_U(f, f->P.U); /* U T + G C */
            w.R = f->cut.T;
            w.x = G;
            w.C = f->cut.C;
        }
        f->run.ops->sweep(&f->run, &w);
        f->count.floored = w.floored;
        fab_add_identity(K, next->L);
    }
    const double square = fab_slang_square(K * K, next->L) + fab_slang_square(D, next->psi);
    if (!isfinite(square)) return fab_slang_not_finite(f, "the square of the precision", square);
    return K > 0 ? fab_chol(K, next->L) : FAB_OK;
}
