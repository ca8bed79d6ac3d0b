/* cut.c - a Gaussian of rank R brought down to rank K by EM on its own low-rank-plus-diagonal matrix.
 *
 *   S = W0 W0' + psi0 is the target, W0 of rank R
 *   1  W = W0 V_K, the K leading eigenvectors of W0' psi0^-1 W0;  psi = diag(S) - |w_i|^2, at least
 *      a thousandth of diag(S)
 *   2  P'V = H' H + E,  H = W0' psi^-1 W,  E = W' diag(psi0/psi^2) W
 *   3  W <- (W0 H + (psi0/psi) W) right,  psi <- diag(S) - |w_i|^2        parameter-expanded EM
 *   4  until the root mean square of psi'/psi - 1 is below tol
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "la/ops.h"
#include "la/small.h"
#include "posterior/absorb.h"
#include "posterior/em.h"
#include <math.h>
#include <string.h>

#define START_FLOOR 1e-3
#define PSI_FLOOR   1e-12

typedef struct cutter {
    const fab_gauss *g; /* rank R */
    fab_gauss *out;     /* rank K */
    fab_run run;
    int64_t R, K;
    double *diag, *before;          /* D */
    double *sums;                   /* G, E (K x K), H (R x K) */
    double *PV, *right, *work;      /* K x K, work 2 K x K */
    double *T;                      /* R x K */
    double *eig, *lambda, *scratch; /* R x R, R */
} cutter;

static void layout(fab_layout *l, void *handle)
{
    cutter *c = handle;
    const int64_t D = c->g->D, R = c->R, K = c->K;
    c->diag = fab_place(l, D, sizeof *c->diag);
    c->before = fab_place(l, D, sizeof *c->before);
    c->sums = fab_place(l, 2 * K * K + R * K, sizeof *c->sums);
    c->PV = fab_place(l, K * K, sizeof *c->PV);
    c->right = fab_place(l, K * K, sizeof *c->right);
    c->work = fab_place(l, 2 * K * K, sizeof *c->work);
    c->T = fab_place(l, R * K, sizeof *c->T);
    c->eig = fab_place(l, R * R, sizeof *c->eig);
    c->lambda = fab_place(l, R, sizeof *c->lambda);
    c->scratch = fab_place(l, fab_eig_work(R), sizeof *c->scratch);
    c->run.work = fab_place(l, (int64_t)c->run.ops->work(D, R, R, c->run.threads), 1);
}

static fab_sweep sweep_of(cutter *c)
{
    const int64_t K = c->K;
    return (fab_sweep){.n = c->g->D,
                       .K = K,
                       .w = fab_long_rows(c->g->F, c->g->D, c->R),
                       .R = c->T,
                       .out = fab_long_rows(c->out->F, c->g->D, K),
                       .psi0 = c->g->psi,
                       .psi_out = c->out->psi,
                       .G = c->sums,
                       .E = c->sums + K * K,
                       .H = c->sums + 2 * K * K};
}

/* 1 */
static fab_status begin(cutter *c)
{
    const int64_t R = c->R, K = c->K;
    const fab_long W0 = fab_long_rows(c->g->F, c->g->D, R);
    for (int64_t i = 0; i < c->g->D; i++) c->diag[i] = 1 / c->g->psi[i];
    c->run.ops->gram(&c->run, &W0, c->diag, c->eig);
    FAB_TRY(fab_sum(&c->run, c->eig, R * R));
    FAB_TRY(fab_eig(R, c->eig, c->lambda, c->scratch));
    for (int64_t k = 0; k < K; k++)
        memcpy(c->T + k * R, c->eig + (R - 1 - k) * R, (size_t)R * sizeof *c->T);
    fab_sweep s = sweep_of(c);
    s.c0 = s.c1 = 1;
    s.psi = c->g->psi;
    s.base_out = c->diag;
    s.floor = START_FLOOR;
    c->run.ops->sweep(&c->run, &s);
    return fab_sum(&c->run, c->sums, 2 * K * K + R * K);
}

/* 2, 3 */
static fab_status step(cutter *c)
{
    const int64_t R = c->R, K = c->K;
    double *G = c->sums, *E = G + K * K, *H = E + K * K;
    memcpy(c->PV, E, (size_t)(K * K) * sizeof *E);
    fab_mm(FAB_T, FAB_N, K, K, R, 1, H, H, 1, c->PV);
    FAB_TRY(fab_em_step(K, 1, G, c->PV, c->right, NULL, c->work));
    fab_mm(FAB_N, FAB_N, R, K, K, 1, H, c->right, 0, c->T);
    memcpy(c->before, c->out->psi, (size_t)c->g->D * sizeof *c->before);
    fab_sweep s = sweep_of(c);
    s.u = s.out;
    s.T = c->right;
    s.s_num = c->g->psi;
    s.s_den = c->before;
    s.c3 = 1;
    s.d2 = c->diag;
    s.floor = PSI_FLOOR;
    c->run.ops->sweep(&c->run, &s);
    return fab_sum(&c->run, c->sums, 2 * K * K + R * K);
}

/* 4 */
static fab_status change(cutter *c, double *rms)
{
    double sum[2] = {0, (double)c->g->D};
    for (int64_t i = 0; i < c->g->D; i++) {
        const double d = c->out->psi[i] / c->before[i] - 1;
        sum[0] += d * d;
    }
    FAB_TRY(fab_sum(&c->run, sum, 2));
    *rms = sqrt(sum[0] / sum[1]);
    return FAB_OK;
}

static fab_status run(cutter *c, double tol, int64_t max_iter)
{
    FAB_TRY(begin(c));
    const double all = (double)fab_total(&c->run.comm, c->g->D),
                 work = all * (double)(c->K * (c->R + 2 * c->K));
    double rms;
    for (int64_t iter = 0; iter < max_iter; iter++) {
        FAB_TRY(step(c));
        FAB_TRY(change(c, &rms));
        FAB_TRY(fab_agree(&c->run.comm, fab_watch_work(&c->run.watch, work, "cut", iter + 1, 0), 0,
                          ""));
        if (!(rms > tol)) break;
    }
    return fab_gauss_check(c->out);
}

fab_status fab_gauss_cut_into(fab_gauss *out, const fab_gauss *g, double tol, int64_t max_iter,
                              const fab_exec *x)
{
    cutter proto = {.g = g, .out = out, .R = g->K, .K = out->K}, *c;
    FAB_TRY(fab_run_init(&proto.run, x, g->type));
    fab_status s = fab_build((void **)&c, sizeof proto, &proto, layout);
    s = fab_agree(&proto.run.comm, s, (uint64_t)(proto.R + 65537 * proto.K),
                  "cut: the processes have another rank");
    if (s == FAB_OK) {
        const int before = fab_blas_enter();
        s = run(c, tol, max_iter);
        fab_blas_leave(before);
    }
    fab_release(c);
    return s;
}

fab_status fab_gauss_cut(fab_gauss **out, const fab_gauss *g, int64_t K, double tol,
                         int64_t max_iter, const fab_exec *x)
{
    *out = NULL;
    FAB_TRY(fab_gauss_check(g));
    if (g->form == FAB_FORM_POINT || K < 1 || K > g->K)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "cut: K = %lld is outside [1, %lld], the rank of the Gaussian",
                        (long long)K, (long long)g->K);
    if (!(tol > 0) || max_iter < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "cut: tol = %g, max_iter = %lld, expected positive numbers", tol,
                        (long long)max_iter);
    if (K == g->K) return fab_gauss_copy(out, g, g->type);
    FAB_TRY(fab_gauss_create_part(out, g->form, g->type, g->D, K, g->total));
    memcpy((*out)->mu, g->mu, (size_t)g->D * sizeof *g->mu);
    if (g->total) memcpy((*out)->theta, g->theta, (size_t)g->total * sizeof *g->theta);
    if (g->total) memcpy((*out)->index, g->index, (size_t)g->D * sizeof *g->index);
    const fab_status s = fab_gauss_cut_into(*out, g, tol, max_iter, x);
    if (s != FAB_OK) {
        fab_gauss_free(*out);
        *out = NULL;
    }
    return s;
}
