/* net.c - Laplace's approximation of a network, or of any model whose outputs have a Jacobian.
 *
 *   1  theta = trained as in sgd.c, towards argmax log p(y | theta) - alpha |theta|^2 / 2; the best one where
 *      rows are held out
 *   alpha auto: `rounds` times
 *     2  G = sum_i w_i J_i' Lambda_i J_i at theta, and its eigenvalues t, or Gauss' rule for them    (curvature.c)
 *     3  alpha, and beta where normal noise is learned, by the evidence 5 at this theta              (precisions.c)
 *     4  theta goes on as in sgd.c, for `again` epochs, beta fixed
 *   5  log evidence = log p(y | theta) + (P log alpha - alpha |theta|^2 - sum log(alpha + t)) / 2
 *   6  A = alpha I + G, or the precision of a given prior + G;  q = N(theta, A^-1): in full, in covariance form (spread.c);
 *      or rank K plus diagonal, in precision form (rank_em.c)
 *   7  a learned log noise has the precision sum_i w_i / 2 (less of Student's t), apart from the rest
 *
 * structure = diagonal: 2, 5, 6 with the diagonal of G in its place, and q has no F.
 *
 * last_layer: 2 - 6 speak of its weights alone, and so do the epochs of 4; the rest of theta is a point.  There is a
 * linear model, or a generalised linear one, on features that stay, and 2 - 6 see nothing else           (last.c)
 *
 * State is saved between epochs: a run that goes on from a file ends in the same bytes.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/laplace/net.h"
#include "train/state.h"
#include "methods/laplace/laplace.h"
#include "fit/method.h"
#include "train/precisions.h"
#include "la/ops.h"
#include "model/ggn.h"
#include <math.h>
#include <string.h>

#define ALPHA 1 /* alpha auto: of the first training */
/* structure auto: multiplications of a low rank, some minutes of a core; above, diagonal */
#define MOST_WORK 4e12

/* Is the noise chosen with alpha?  That of Student's t stays with training. */
static int chooses_noise(const fab_laplace_net *f)
{
    return f->learned && !(f->train.m.head.nu > 0);
}

static int chooses(const fab_laplace_net *f)
{
    return fab_is_auto_f64(f->s.train.alpha) && !f->train.given;
}

/* ---- life --------------------------------------------------------------------------------------------- */

static fab_status check(const fab_laplace_settings *s, const fab_model *m)
{
    FAB_TRY(fab_ggn_check("laplace", m));
    if (m->free > 0 &&
        (m->free > 1 || m->head.likelihood != FAB_LIKELIHOOD_GAUSSIAN || m->outputs > 1))
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "laplace: the model has %lld free coordinates; the one it knows the "
                        "curvature of is the log noise of a gaussian target",
                        (long long)m->free);
    if (s->last_layer && !m->last)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "laplace: last_layer of a model that does not say which it is");
    if (s->train.optimiser == FAB_OPTIMISER_ADAMW)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "laplace: adamw does not end at the mode of the posterior; adam does");
    return FAB_OK;
}

static fab_status check_structure(const fab_laplace_net *f)
{
    const fab_laplace_settings *s = &f->s;
    if (s->structure == FAB_STRUCTURE_DIAGONAL && !fab_is_auto_i64(s->K))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "laplace: K = %lld of a diagonal, which has no columns",
                        (long long)s->K);
    if (s->structure != FAB_STRUCTURE_FULL) return FAB_OK;
    if (!fab_is_auto_i64(s->K) && s->K < f->P)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "laplace: K = %lld of %lld coordinates is not the full structure",
                        (long long)s->K, (long long)f->P);
    if (f->P > FAB_LAPLACE_MAX)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "laplace: the full curvature of %lld coordinates is too large, %d are the "
                        "most: structure = low-rank, diagonal, or last_layer",
                        (long long)f->P, FAB_LAPLACE_MAX);
    return FAB_OK;
}

static fab_status check_rank(const fab_laplace_net *f, const fab_model *m)
{
    if (fab_is_auto_i64(f->s.K)) return FAB_OK;
    if (f->s.K > m->D)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "laplace: K = %lld columns for D = %lld coordinates, expected K <= D",
                        (long long)f->s.K, (long long)m->D);
    if (f->dense || f->K < f->P) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "laplace: K = %lld is the full curvature of %lld coordinates, and %d are the "
                    "most it is held for",
                    (long long)f->K, (long long)f->P, FAB_LAPLACE_MAX);
}

/* Multiplications of the low-rank curvature of N rows: spectra of alpha and of the evidence, then EM. */
static double low_rank_work(const fab_laplace_net *f, const fab_model *m, int64_t N)
{
    const double spectra = fab_is_auto_f64(f->s.train.alpha) ? (double)f->s.rounds + 1 : 1,
                 loops = (double)f->s.inner,
                 columns = spectra * FAB_LANCZOS_STEPS * FAB_PROBES + loops * (double)f->K,
                 passes = spectra * FAB_LANCZOS_STEPS + loops;
    if (f->s.last_layer && m->features) return 2 * (double)N * (double)f->P * columns;
    return 2 * (double)(N * m->outputs) * (double)f->P * (columns + passes);
}

/* The structure, and with it K and dense, of N rows. */
static void choose_structure(fab_laplace_net *f, const fab_model *m, int64_t N)
{
    const int given = !fab_is_auto_i64(f->s.K), small = f->P <= FAB_LAPLACE_MAX;
    f->structure = (fab_structure)f->s.structure;
    f->K = given ? f->s.K : FAB_LAPLACE_RANK;
    if (f->structure == FAB_STRUCTURE_AUTO) {
        f->structure = FAB_STRUCTURE_LOW_RANK;
        if (!given && small) f->structure = FAB_STRUCTURE_FULL;
        if (!given && !small && low_rank_work(f, m, N) > MOST_WORK)
            f->structure = FAB_STRUCTURE_DIAGONAL;
    }
    if (small && given && f->K >= f->P) f->structure = FAB_STRUCTURE_FULL;
    if (small && f->K >= f->P && f->structure == FAB_STRUCTURE_LOW_RANK)
        f->structure = FAB_STRUCTURE_FULL;
    if (f->structure != FAB_STRUCTURE_LOW_RANK) f->K = 0;
    f->dense = small && f->structure != FAB_STRUCTURE_DIAGONAL;
}

/* Few rows are assumed where they are not known yet. */
static fab_status prototype(fab_laplace_net *f, const fab_laplace_settings *s, const fab_model *m,
                            int64_t N, const fab_gauss *prior, const fab_exec *x)
{
    const int64_t weights = m->D - m->free, P = s->last_layer ? m->last : weights;
    fab_sgd_settings training = s->train;
    FAB_TRY(check(s, m));
    if (fab_is_auto_f64(s->train.alpha)) training.alpha = ALPHA;
    *f = (fab_laplace_net){
        .s = *s, .first = weights - P, .P = P, .learned = m->free == 1, .log_evidence = NAN};
    FAB_TRY(check_structure(f));
    choose_structure(f, m, N);
    FAB_TRY(check_rank(f, m));
    FAB_TRY(fab_train_init(&f->train, "laplace", &training, m, prior, x));
    if (chooses(f)) f->train.total += s->rounds * s->again;
    return FAB_OK;
}

static void layout(fab_layout *l, void *handle)
{
    fab_train_layout(l, &((fab_laplace_net *)handle)->train);
}

static void release(void *handle)
{
    fab_laplace_net *f = handle;
    if (!f) return;
    fab_gauss_free(f->point);
    fab_gauss_free(f->q);
    fab_release(f);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    const fab_model *m = in->model;
    const fab_gauss *prior = in->prior;
    fab_laplace_net proto, *f;
    *handle = NULL;
    FAB_TRY(prototype(&proto, settings, m, 1, prior, x));
    FAB_TRY(fab_build((void **)&f, sizeof proto, &proto, layout));
    const fab_status s = fab_gauss_create(&f->point, FAB_FORM_POINT, FAB_F64, m->D, 0);
    if (s != FAB_OK) {
        release(f);
        return s;
    }
    fab_train_start(&f->train);
    *handle = f;
    return FAB_OK;
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_model *m = in->model;
    (void)x;
    fab_laplace_net f;
    if (prototype(&f, settings, m, n, NULL, NULL) != FAB_OK) return 0;
    const double columns = (double)(f.structure == FAB_STRUCTURE_FULL ? f.P : f.K),
                 D = (double)m->D;
    return fab_train_bytes(&f.train.s, m, n) + fab_laplace_curvature_bytes(&f) +
           fab_laplace_last_bytes(&f, m, n) + sizeof(double) * D * (3 + columns);
}

/* ---- 4: rounds ---------------------------------------------------------------------------------------- */

/* What training is like in the round at hand. */
static void set_round(fab_laplace_net *f)
{
    fab_train *t = &f->train;
    if (f->round.done == 0) return;
    t->s.epochs = f->s.again;
    t->s.alpha = f->alpha;
    t->joint.prior.alpha = t->s.alpha;
    t->after = f->round.epochs;
    t->from = f->first;
    t->to = chooses_noise(f) ? f->first + f->P : t->m.D;
}

/* The optimiser forgets where coordinates that do not move were going. */
static void forget(fab_train *t, double *moment)
{
    if (!moment) return;
    memset(moment, 0, (size_t)t->from * sizeof *moment);
    memset(moment + t->to, 0, (size_t)(t->m.D - t->to) * sizeof *moment);
}

static void next_round(fab_laplace_net *f, double alpha)
{
    fab_train *t = &f->train;
    f->round.done++;
    f->round.epochs += t->count.epochs;
    f->alpha = alpha;
    t->count = (fab_train_counts){0};
    t->loss.best = INFINITY;
    t->done = 0;
    set_round(f);
    if (fab_optim_moments(t->optim.kind) > 0) forget(t, t->optim.m);
    if (fab_optim_moments(t->optim.kind) > 1) forget(t, t->optim.v);
}

/* 2, 3 */
static fab_status choose(fab_laplace_net *f, double *alpha)
{
    const fab_train *t = &f->train;
    const fab_glm *head = &t->m.head;
    double *noise = t->theta + t->m.D - 1, size = 0;
    fab_fit_of_rows fit;
    fab_spectrum *G;
    FAB_TRY(fab_laplace_spectrum(f, &G, &fit));
    for (int64_t i = 0; i < f->P; i++) size += t->theta[f->first + i] * t->theta[f->first + i];
    fab_precisions p = {.G = G,
                        .size = size,
                        .rows = fit.weight,
                        .squares = chooses_noise(f) ? fit.squares : -1,
                        .beta_most = head->beta_most > 0 ? head->beta_most : INFINITY,
                        .alpha = t->s.alpha,
                        .beta = f->learned ? fab_glm_beta(head, *noise) : 1};
    fab_precisions_find(&p);
    fab_release(G);
    *alpha = p.alpha;
    if (chooses_noise(f)) *noise = log(p.beta);
    return FAB_OK;
}

/* 1, 4; theta is the best one */
static fab_status train(fab_laplace_net *f)
{
    fab_train t = fab_laplace_last_train(f);
    const fab_status s = fab_train_run(&t);
    if (s == FAB_OK) memmove(t.theta, fab_train_best(&t), (size_t)t.m.D * sizeof *t.theta);
    if (s == FAB_OK && t.m.noise) t.m.noise(t.m.self, 0, -1);
    fab_laplace_last_done(f, &t);
    return s;
}

static fab_status solve(fab_laplace_net *f)
{
    double alpha = 0;
    set_round(f);
    if (f->round.done == 0) FAB_TRY(train(f)); /* 1 */
    FAB_TRY(fab_laplace_last_open(f));
    if (f->round.done > 0) FAB_TRY(train(f)); /* 4, of a run that was stopped */
    if (chooses(f))
        while (f->round.done < f->s.rounds) {
            FAB_TRY(choose(f, &alpha)); /* 2, 3 */
            next_round(f, alpha);
            FAB_TRY(train(f)); /* 4 */
        }
    return fab_laplace_gauss(f); /* 5 - 7 */
}

/* A choice that costs something is told. */
static void tell_structure(fab_laplace_net *f)
{
    const fab_train *t = &f->train;
    if (f->s.structure != FAB_STRUCTURE_AUTO || f->structure != FAB_STRUCTURE_DIAGONAL) return;
    f->K = FAB_LAPLACE_RANK;
    const double work = low_rank_work(f, &t->m, t->e.x.n);
    f->K = 0;
    fab_watch_log(
        &t->watch,
        "laplace: the curvature of %lld weights is taken as diagonal: at rank %d it would "
        "take %.1g multiplications; last_layer is often the better choice",
        (long long)f->P, FAB_LAPLACE_RANK, work);
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

static fab_status update(void *handle, const fab_examples *e)
{
    ((fab_laplace_net *)handle)->train.e = *e;
    return FAB_OK;
}

static fab_status so_far(void *handle, const fab_gauss **q)
{
    fab_laplace_net *f = handle;
    *q = fab_train_point(&f->train, f->point);
    return FAB_OK;
}

static fab_status result(void *handle, const fab_gauss **q)
{
    fab_laplace_net *f = handle;
    *q = f->q;
    if (f->q) return FAB_OK;
    choose_structure(f, &f->train.m, f->train.e.x.n);
    FAB_TRY(fab_train_open(&f->train));
    tell_structure(f);
    const int before = fab_blas_enter();
    const fab_status s = solve(f);
    fab_blas_leave(before);
    fab_laplace_last_close(f);
    fab_train_close(&f->train);
    *q = f->q;
    return s;
}

static fab_status report(void *handle, fab_report *r)
{
    const fab_laplace_net *f = handle;
    fab_train_report(&f->train, f->train.theta, r);
    r->log_evidence = f->log_evidence;
    r->floored = f->floored;
    return FAB_OK;
}

/* ---- files -------------------------------------------------------------------------------------------- */

static fab_states state_of(fab_laplace_net *f)
{
    return (fab_states){{{"state.rounds", FAB_I64, sizeof f->round / sizeof(int64_t), 0, &f->round},
                         {"state.alpha", FAB_F64, 1, 0, &f->alpha}}};
}

static fab_status save(void *handle, fab_tensors *t)
{
    fab_laplace_net *f = handle;
    const fab_states all = state_of(f);
    FAB_TRY(fab_states_save(&all, t));
    return fab_train_save(&f->train, t);
}

static fab_status load(void *handle, const fab_tensors *t)
{
    fab_laplace_net *f = handle;
    const fab_states all = state_of(f);
    FAB_TRY(fab_states_load(&all, t));
    const fab_laplace_rounds *r = &f->round;
    if (r->done < 0 || r->done > f->s.rounds || r->epochs < 0 || (r->done > 0 && !(f->alpha > 0)))
        return FAB_FAIL(FAB_BAD_FILE, "laplace: the state says round %lld of %lld, alpha %g",
                        (long long)r->done, (long long)f->s.rounds, f->alpha);
    set_round(f);
    return fab_train_load(&f->train, t);
}

/* ---- the method --------------------------------------------------------------------------------------- */

const fab_method fab_laplace_net_method = {
    .name = "laplace",
    .summary = "the mode of a network and the curvature there, with the evidence",
    .takes = FAB_TAKES_JACOBIAN,
    .linearises = 1,
    .fields = &fab_laplace_net_table,
    .init = init,
    .bytes = bytes,
    .update = update,
    .result = result,
    .so_far = so_far,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
};
