/* curvature.c - from the mode of a network to its Gaussian: steps 2 and 5 - 7 of net.c.
 *
 * Up to FAB_LAPLACE_MAX coordinates G is in memory: its eigenvalues, the log det of A and, without K, A^-1 are
 * exact.  Above it is known by its products (train/curvature.c), and its spectrum is an estimate (lanczos.c).  Of a
 * diagonal all is exact, and it is the diagonal of G.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "methods/laplace/laplace.h"
#include "methods/laplace/net.h"
#include "train/precisions.h"
#include "la/small.h"
#include "model/ggn.h"
#include "posterior/spread.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t columns_of(const fab_laplace_net *f)
{
    if (f->structure == FAB_STRUCTURE_DIAGONAL) return 0;
    return f->K > FAB_PROBES ? f->K : FAB_PROBES;
}

static fab_status open_curvature(fab_laplace_net *f)
{
    const fab_train t = fab_laplace_last_train(f);
    const int64_t first = f->last.net ? 0 : f->first;
    return fab_curvature_init(&f->G, t.who, &t.m, t.theta, t.joint.batches, first, f->P,
                              columns_of(f), &f->train.watch);
}

static void close_curvature(fab_laplace_net *f)
{
    fab_curvature_free(f->G);
    f->G = NULL;
}

/* The number of epochs stands still meanwhile: a run that is saved every so many of them is not stopped here. */
static fab_status tick(void *self, int64_t done, int64_t total)
{
    const fab_train *t = &((const fab_laplace_net *)self)->train;
    char what[64];
    snprintf(what, sizeof what, "%s: curvature, loop %lld of %lld", t->who, (long long)done + 1,
             (long long)total);
    return fab_watch_tick(&t->watch, what, t->count.epochs + t->after, t->total);
}

/* ---- 2: the spectrum ---------------------------------------------------------------------------------- */

typedef struct eigenvalues {
    fab_spectrum face; /* lends the other two */
    int64_t P;
    int dense;       /* or a diagonal, whose entries they are */
    double *t, *one; /* P each */
    double *G;       /* P x P */
    double *work;
} eigenvalues;

static void layout_eigenvalues(fab_layout *l, void *handle)
{
    eigenvalues *e = handle;
    e->t = fab_place(l, e->P, sizeof(double));
    e->one = fab_place(l, e->P, sizeof(double));
    e->G = fab_place(l, e->dense ? e->P * e->P : 0, sizeof(double));
    e->work = fab_place(l, e->dense ? fab_eig_work(e->P) : 0, sizeof(double));
}

static fab_status all_eigenvalues(fab_laplace_net *f, fab_spectrum **s)
{
    const eigenvalues proto = {.P = f->P, .dense = f->dense};
    eigenvalues *e;
    FAB_TRY(fab_build((void **)&e, sizeof proto, &proto, layout_eigenvalues));
    fab_status done = f->dense ? fab_curvature_full(f->G, e->G) : fab_curvature_diag(f->G, e->t);
    if (done == FAB_OK && f->dense) done = fab_eig(f->P, e->G, e->t, e->work);
    if (done != FAB_OK) {
        fab_release(e);
        return done;
    }
    for (int64_t i = 0; i < f->P; i++) e->one[i] = 1;
    e->face = (fab_spectrum){f->P, e->t, e->one};
    *s = &e->face;
    return FAB_OK;
}

static fab_status times_G(void *self, int64_t k, const double *V, double *out)
{
    return fab_curvature_times(((const fab_laplace_net *)self)->G, k, V, out);
}

/* The spectrum where the curvature is open. */
static fab_status spectrum(fab_laplace_net *f, fab_spectrum **s)
{
    const fab_products G = {f->P, f, times_G, tick};
    if (f->dense || f->structure == FAB_STRUCTURE_DIAGONAL) return all_eigenvalues(f, s);
    return fab_lanczos(s, &G, NULL, f->s.train.seed);
}

fab_status fab_laplace_spectrum(fab_laplace_net *f, fab_spectrum **s, fab_fit_of_rows *fit)
{
    *s = NULL;
    FAB_TRY(open_curvature(f));
    fab_status done = fab_curvature_fit(f->G, fit);
    if (done == FAB_OK) done = spectrum(f, s);
    close_curvature(f);
    return done;
}

/* ---- 6: the Gaussian ---------------------------------------------------------------------------------- */

/* A while the Gaussian is made. */
typedef struct posterior {
    fab_laplace_net *f;
    int64_t P, D;
    double *A, *L, *G, *Gi; /* P x P: dense; the last two in full */
    double *scale;          /* P */
    double *diag;           /* P: of A */
    double *prior;          /* D: diagonal of the prior's precision */
    double logdet;          /* of A */
} posterior;

static void layout_posterior(fab_layout *l, void *handle)
{
    posterior *b = handle;
    const int64_t square = b->f->dense ? b->P * b->P : 0, full = b->f->K ? 0 : square;
    b->A = fab_place(l, square, sizeof(double));
    b->L = fab_place(l, square, sizeof(double));
    b->G = fab_place(l, full, sizeof(double));
    b->Gi = fab_place(l, full, sizeof(double));
    b->scale = fab_place(l, b->P, sizeof(double));
    b->diag = fab_place(l, b->P, sizeof(double));
    b->prior = fab_place(l, b->D, sizeof(double));
}

double fab_laplace_curvature_bytes(const fab_laplace_net *f)
{
    posterior proto = {.f = (fab_laplace_net *)(uintptr_t)f, .P = f->P, .D = f->train.m.D};
    const double P = (double)f->P, columns = (double)columns_of(f),
                 room = (double)fab_build_size(sizeof proto, &proto, layout_posterior) +
                        fab_curvature_bytes(&f->train.m, f->first, f->P, columns_of(f));
    if (f->structure == FAB_STRUCTURE_DIAGONAL) return room + sizeof(double) * 4 * P;
    if (f->dense) return room + sizeof(double) * 4 * P * P; /* eigenvalues, the Gaussian */
    return room + sizeof(double) * P * (2 * columns + 3 * FAB_PROBES);
}

/* A = G + prior, in full or its diagonal */
static fab_status form(posterior *b)
{
    fab_laplace_net *f = b->f;
    fab_prior *prior = &f->train.joint.prior;
    FAB_TRY(fab_prior_diag(prior, b->prior));
    if (!f->dense) {
        FAB_TRY(fab_curvature_diag(f->G, b->diag));
        for (int64_t i = 0; i < b->P; i++) b->diag[i] += b->prior[f->first + i];
        for (int64_t i = 0; i < b->P; i++)
            b->logdet += log(b->diag[i]); /* where that is all of A */
        return FAB_OK;
    }
    memset(b->L, 0, (size_t)(b->P * b->P) * sizeof *b->L);
    fab_add_identity(b->P, b->L);
    FAB_TRY(fab_curvature_full(f->G, b->A));
    FAB_TRY(fab_prior_times(prior, f->first, b->P, b->P, b->L, b->A));
    for (int64_t i = 0; i < b->P; i++) b->diag[i] = b->A[i * b->P + i];
    const fab_status s = fab_scaled_chol(b->P, b->A, b->scale, b->L, &b->logdet);
    return s == FAB_OK ? s : fab_prefix(s, "laplace: the curvature at the mode: ");
}

static fab_status times_A(void *self, int64_t k, const double *V, double *out)
{
    const posterior *b = self;
    const int64_t P = b->P;
    if (b->f->dense) {
        fab_gemm(FAB_F64, FAB_N, FAB_N, P, k, P, 1, b->A, P, V, k, 0, out, k);
        return FAB_OK;
    }
    FAB_TRY(fab_curvature_times(b->f->G, k, V, out));
    return fab_prior_times(&b->f->train.joint.prior, b->f->first, P, k, V, out);
}

static fab_status tick_A(void *self, int64_t done, int64_t total)
{
    return tick(((const posterior *)self)->f, done, total);
}

/* An empty q, theta in it: over part of theta, or over all of it with its noise (7). */
static fab_status create(posterior *b, fab_form form, int64_t K)
{
    fab_laplace_net *f = b->f;
    const double *theta = f->train.theta;
    const int64_t D = b->D;
    const int part = f->s.last_layer != 0;
    FAB_TRY(part ? fab_gauss_create_part(&f->q, form, f->train.m.type, b->P, K, D)
                 : fab_gauss_create(&f->q, form, f->train.m.type, D, K));
    memcpy(f->q->mu, theta + f->first, (size_t)f->q->D * sizeof *theta);
    if (part) {
        memcpy(f->q->theta, theta, (size_t)D * sizeof *theta);
        for (int64_t i = 0; i < b->P; i++) f->q->index[i] = f->first + i;
    }
    return FAB_OK;
}

static fab_status full(posterior *b)
{
    fab_gauss *weights;
    FAB_TRY(fab_gauss_create(&weights, FAB_FORM_COVARIANCE, FAB_F64, b->P, b->P));
    fab_status s = fab_spread_inverse(weights, b->scale, b->L, b->G, b->Gi);
    if (s == FAB_OK) s = create(b, FAB_FORM_COVARIANCE, b->P);
    if (s == FAB_OK) fab_laplace_put(b->f->q, b->P, weights->F, weights->psi);
    fab_gauss_free(weights);
    return s;
}

/* The rows of the curvature themselves: F = S', psi = alpha. */
static fab_status all_rows(posterior *b, int64_t n)
{
    double *S;
    FAB_TRY(fab_alloc_array((void **)&S, 2 * n * b->P, sizeof *S, b->f->train.who));
    double *F = S + n * b->P;
    fab_status s = fab_curvature_rows(b->f->G, S);
    if (s == FAB_OK) s = create(b, FAB_FORM_PRECISION, n);
    if (s == FAB_OK) {
        for (int64_t i = 0; i < b->P * n; i++) F[i] = S[i % n * b->P + i / n];
        fab_laplace_put(b->f->q, b->P, F, b->prior + b->f->first);
    }
    fab_release(S);
    return s;
}

static fab_status cut(posterior *b)
{
    fab_laplace_net *f = b->f;
    const fab_products A = {b->P, b, times_A, tick_A};
    const fab_rank_plan p = {f->K, f->s.inner, f->s.rank_tol, f->s.train.seed};
    fab_rank *r;
    FAB_TRY(fab_rank_em(&r, &A, b->diag, &p, &f->train.exec));
    f->floored = r->floored;
    const fab_status s = create(b, FAB_FORM_PRECISION, f->K);
    if (s == FAB_OK) fab_laplace_put(f->q, b->P, r->W, r->psi);
    fab_release(r);
    return s;
}

/* ---- 5: the evidence ---------------------------------------------------------------------------------- */

static fab_status add_evidence(posterior *b, double loglik)
{
    fab_laplace_net *f = b->f;
    const double alpha = f->train.joint.prior.alpha, *theta = f->train.theta + f->first;
    double size = 0;
    fab_spectrum *G;
    if (f->train.given) return FAB_OK;
    if (f->structure == FAB_STRUCTURE_LOW_RANK && !f->dense) {
        FAB_TRY(spectrum(f, &G));
        b->logdet = fab_precisions_logdet(G, alpha);
        fab_release(G);
    }
    for (int64_t i = 0; i < b->P; i++) size += theta[i] * theta[i];
    f->log_evidence = loglik + 0.5 * ((double)b->P * log(alpha) - alpha * size - b->logdet);
    return FAB_OK;
}

/* 5 - 7 */
static fab_status compute(posterior *b)
{
    fab_laplace_net *f = b->f;
    const fab_train *t = &f->train;
    const int64_t rows = fab_minibatch_rows(t->joint.batches) * t->m.outputs, noise = b->D - 1;
    fab_fit_of_rows fit;
    FAB_TRY(fab_curvature_fit(f->G, &fit));
    FAB_TRY(form(b));
    FAB_TRY(add_evidence(b, fit.loglik));         /* 5 */
    if (f->structure == FAB_STRUCTURE_DIAGONAL) { /* 6 */
        FAB_TRY(create(b, FAB_FORM_PRECISION, 0));
        fab_laplace_put(f->q, b->P, NULL, b->diag);
    } else if (!f->K)
        FAB_TRY(full(b));
    else if (!t->given && rows <= f->K) /* nothing is to be cut */
        FAB_TRY(all_rows(b, rows));
    else
        FAB_TRY(cut(b));
    if (f->learned && !f->q->total) { /* 7 */
        const double precision = fit.weight * fab_glm_noise_curvature(&t->m.head) + b->prior[noise];
        f->q->psi[noise] = f->q->form == FAB_FORM_PRECISION ? precision : 1 / precision;
    }
    return fab_gauss_check(f->q);
}

fab_status fab_laplace_gauss(fab_laplace_net *f)
{
    const posterior proto = {.f = f, .P = f->P, .D = f->train.m.D};
    posterior *b;
    FAB_TRY(fab_build((void **)&b, sizeof proto, &proto, layout_posterior));
    fab_status s = open_curvature(f);
    if (s == FAB_OK) s = compute(b);
    close_curvature(f);
    fab_release(b);
    if (s == FAB_OK) return FAB_OK;
    fab_gauss_free(f->q);
    f->q = NULL;
    return s;
}
