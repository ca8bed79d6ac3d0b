/* recursive_em.c - recursive factor analysis in blocks ([L] Alg. 1, widened).
 *
 *   state: n rows seen, mu, S ~ W W' + psi with W of rank R >= K
 *   for each block of m rows x_1 .. x_m:
 *   1  e = mean of the block - mu;  X = [x_j - mu - e, sqrt(n m / (n + m)) e]      exact centring
 *   2  S <- n / (n + m) S + 1 / (n + m) X X',  back to rank R by EM (absorb)
 *   3  mu += m / (n + m) e,  n += m                        (forget: n <- n forget^m before this)
 *   start:
 *   4  svd: v the variances of the first rows, Z = v^-1/2 X / sqrt(m) = V s U';
 *      W = v^1/2 V_R sqrt(max(s^2 - 1, 0.05)), psi = max(v - |w_i|^2, 0.3 v);  then EM on these rows
 *      alone until psi settles
 *   5  random ([L] 5.1.2): psi = (1 - eps) c, columns of W of norm sqrt(eps D c / R), c the mean
 *      variance of the first rows; it counts as one row
 *   result:
 *   6  the pending rows are absorbed into a copy, and that is cut from R to K by EM on itself
 *
 * A row of weight w counts as w rows: m is the sum of the weights, the mean is weighted, and the column of the row is
 * sqrt(w) (x - mu - e).  Blocks are counted in rows.  A block of 2 D rows or more is squeezed to D columns with the same X X' before 2.
 * A block of one row has one column, sqrt(n / (n + 1)) (x - mu).  Rows are kept as x - mu in the columns
 * of `absorb`, so nothing is copied twice.  A coordinate that is constant in 4 gets psi_min times the
 * mean variance, which it keeps until it varies.  Factors that the
 * first rows do not show begin at random, small: EM could never raise them from 0.
 * Rows that are all the same make no start: they are counted, and the next ones are waited for.
 *
 * A wider R loses less of what the next blocks still need: at
 * K = 10, R = 2 K one pass stands within about a percent of converged maximum likelihood, R = K does not.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/fa/recursive_em.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/settings.h"
#include "fit/method.h"
#include "train/state.h"
#include "fabayes/gauss.h"
#include "fabayes/random.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

enum {
    MAX_BLOCK = 1000,
    MORE_RANK =
        40 /* inner_rank = auto: beside 2 K; what a rank of 2 K loses shows on tables of 30 columns and more */
};

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_recursive_em_settings
static const char *const starts[] = {"svd", "random", NULL};
static const char *const centres[] = {"exact", "none", NULL};
static const fab_field fields[] = {
    REQUIRED(K, I64, 1, 4096, "number of factors"),
    AUTOMATIC(block, I64, 1, 0x1p20,
              "rows absorbed at a time; auto: as many as `memory` holds, at most 1000"),
    AUTOMATIC(inner, I64, 1, 1000,
              "EM loops for each block; auto: 5, or 5000 / D, at most 50, when a block has 2 D "
              "rows or more"),
    AUTOMATIC(inner_rank, I64, 1, 8192, "rank kept inside, at least K; auto: 2 K + 40, at most D"),
    SWITCH(expand, 1, "parameter-expanded EM"),
    CHOICE(start, START_SVD, starts, "how F begins: from the first rows, or at random as in [L]"),
    AUTOMATIC(warmup, I64, 1, 0x1p20,
              "rows the start is made from; auto: block or 4 inner_rank, the larger; 2 for random"),
    FIELD(start_eps, F64, 1e-8, 1e-300, 0.999, "random start: share of the variance that is in F"),
    CHOICE(centre, CENTRE_EXACT, centres,
           "subtract the running mean exactly, or take rows of mean 0 as they are"),
    FIELD(forget, F64, 1, 0.5, 1,
          "weight of the past for each new row; below 1 for streams that drift"),
    FIELD(psi_min, F64, 1e-6, 1e-300, 0.5, "floor of psi, relative to the coordinate's variance"),
    FIELD(tol, F64, 1e-6, 1e-15, 1,
          "cut to K: stop when psi changes by less, relative (where ml cuts: the log-likelihood by "
          "less than its square)"),
    FIELD(max_iter, I64, 1000, 1, 1e6,
          "cut to K: at most so many EM steps (where ml cuts: evaluations per start)"),
    FIELD(memory, F64, 256, 0.001, 1e9, "MB for the block of rows when block is auto"),
    FIELD(seed, I64, 1, 0, 0x1p53, "seed of the random start"),
    FAB_HELD_FIELD,
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("recursive-em", fields);
#undef SETTINGS

/* Put numbers where the rules say auto; D: the coordinates of all processes, which choose alike. */
static void resolve(fab_recursive_em_settings *s, int64_t D)
{
    const double fit = s->memory * 1e6 / (8 * (double)D);
    if (fab_is_auto_i64(s->block)) s->block = fab_recursive_clamp(fit, 1, MAX_BLOCK);
    const double loops = s->block >= 2 * D ? 5000 / (double)D
                                           : 5; /* squeezed, a loop costs little */
    if (fab_is_auto_i64(s->inner)) s->inner = fab_recursive_clamp(loops, 5, 50);
    if (fab_is_auto_i64(s->inner_rank)) s->inner_rank = 2 * s->K + MORE_RANK;
    if (s->inner_rank > D) s->inner_rank = D;
    if (!fab_is_auto_i64(s->warmup)) return;
    const int64_t wide = fab_recursive_clamp(fit, 2 * s->inner_rank, 4 * s->inner_rank);
    const int64_t least = s->centre == CENTRE_NONE ? 1 : 2;
    s->warmup = s->block > wide ? s->block : wide;
    if (s->start == START_RANDOM) s->warmup = least;
}

/* ---- life ------------------------------------------------------------------------------------- */

static int64_t columns_of(const fab_recursive_em_settings *s)
{
    const int64_t rows = s->block > s->warmup ? s->block : s->warmup;
    return rows > 1 && s->centre == CENTRE_EXACT ? rows + 1 : rows;
}

/* The start works on the smaller of D x D and rows x rows. */
static int64_t side_of(const recursive_em *e)
{
    if (e->set.start != START_SVD) return 0;
    const int64_t rows =
        fab_recursive_svd_rows(e, e->set.warmup + 1); /* and the mean of constant rows before */
    return rows < e->D || e->run.comm.sum ? rows : e->D;
}

static fab_absorb_settings absorb_settings(const fab_recursive_em_settings *s)
{
    return (fab_absorb_settings){
        .inner = s->inner, .expand = s->expand, .cut = FAB_CUT_EM, .psi_min = s->psi_min};
}

static void layout(fab_layout *l, void *handle)
{
    recursive_em *e = handle;
    const int64_t side = side_of(e), R = e->set.inner_rank, D = e->D;
    const int64_t squeezed = e->columns >= 2 * D ? D : 0; /* fewer than R where processes share D */
    const int64_t least = squeezed > R ? squeezed : R, wide = side > least ? side : least;
    int64_t eig = 0;
    if (side) eig = side > R ? side : R;
    const int64_t long_side = D > e->columns ? D : e->columns;
    e->constant = fab_place(l, e->D, sizeof *e->constant);
    e->before = fab_place(l, side ? e->D : 0, sizeof *e->before);
    e->gram = fab_place(l, side * side, sizeof *e->gram);
    e->lambda = fab_place(l, eig, sizeof *e->lambda);
    e->eig = fab_place(l, eig ? fab_eig_work(eig) : 0, sizeof *e->eig);
    e->M = fab_place(l, wide * R, sizeof *e->M);
    e->norm = fab_place(l, R, sizeof *e->norm);
    e->B = fab_place(l, squeezed * squeezed, sizeof *e->B);
    e->B_copy = fab_place(l, squeezed * squeezed, sizeof *e->B_copy);
    e->B_work =
        fab_place(l, squeezed ? 2 * squeezed + fab_eig_work(squeezed) : 0, sizeof *e->B_work);
    e->w = fab_place(l, e->columns + 1, sizeof *e->w);
    e->mix = fab_place(l, e->columns, sizeof *e->mix);
    fab_reservoir_layout(l, &e->held);
    const int64_t cols = wide > e->columns ? wide : e->columns;
    const fab_absorb_settings a = absorb_settings(&e->set);
    const size_t own = e->run.ops->work(long_side, wide, cols, e->run.threads),
                 absorbing = fab_absorb_work(0, D, R, e->columns, &a, &e->exec);
    e->run.work = fab_place(l, (int64_t)(own > absorbing ? own : absorbing), 1);
}

static void release(void *handle)
{
    recursive_em *e = handle;
    if (!e) return;
    fab_absorb_free(e->absorb);
    fab_gauss_free(e->S);
    fab_gauss_free(e->tail);
    fab_gauss_free(e->q);
    fab_batch_free(e->ml);
    fab_release(e->kept);
    fab_release(e->constant_tail);
    fab_release(e->constant_file);
    fab_release(e->psi);
    fab_release(e);
}

static fab_status build_parts(recursive_em *e)
{
    const fab_recursive_em_settings *s = &e->set;
    const fab_absorb_settings a = absorb_settings(s);
    const fab_dtype type = e->run.ops->type;
    FAB_TRY(fab_gauss_create(&e->S, FAB_FORM_COVARIANCE, type, e->D, s->inner_rank));
    FAB_TRY(fab_absorb_create_in(&e->absorb, 0, e->D, s->inner_rank, e->columns, &a, e->run.work,
                                 &e->exec));
    e->v = fab_absorb_vector(e->absorb);
    fab_absorb_watch(e->absorb, &e->run.watch);
    return FAB_OK;
}

static fab_status check_settings(const fab_recursive_em_settings *s)
{
    if (s->inner_rank < s->K)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "recursive-em: inner_rank = %lld is below K = %lld",
                        (long long)s->inner_rank, (long long)s->K);
    if (s->warmup < 2 && s->centre == CENTRE_EXACT)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "recursive-em: warmup = 1 with centre = exact, expected at least 2");
    return FAB_OK;
}

static fab_status prototype(recursive_em *e, const void *settings, const fab_input *in,
                            const fab_exec *x)
{
    *e = (recursive_em){.set = *(const fab_recursive_em_settings *)settings, .D = in->vectors};
    FAB_TRY(fab_run_init(&e->run, x, x && x->ops ? x->ops->type : FAB_F64));
    resolve(&e->set, fab_total(x ? x->comm : NULL, e->D));
    FAB_TRY(check_settings(&e->set));
    e->columns = columns_of(&e->set);
    const int64_t room = fab_reservoir_room(e->set.held, fab_total(x ? x->comm : NULL, e->D));
    e->held = (fab_reservoir){.D = e->D,
                              .room = room,
                              .seed = e->set.seed,
                              .forget = e->set.forget,
                              .unsized = e->run.comm.sum != NULL};
    e->exec = fab_watch_exec(
        &e->run.watch,
        (fab_exec){.ops = e->run.ops, .comm = x ? x->comm : NULL, .threads = e->run.threads});
    return FAB_OK;
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    recursive_em proto, *e;
    *handle = NULL;
    FAB_TRY(prototype(&proto, settings, in, x));
    FAB_TRY(fab_build((void **)&e, sizeof *e, &proto, layout));
    const fab_status s = build_parts(e);
    if (s != FAB_OK) {
        release(e);
        return s;
    }
    *handle = e;
    return FAB_OK;
}

/* Does ml make the cut?  It works on the D x D matrix of S, of all processes, in each of them. */
static int cut_by_ml(const recursive_em *e)
{
    return e->set.inner_rank > e->set.K && fab_total(&e->run.comm, e->D) <= FAB_DENSE_MAX;
}

static fab_ml_settings cut_settings(const fab_recursive_em_settings *s)
{
    return (fab_ml_settings){.K = s->K,
                             .starts = FAB_AUTO_I64,
                             .tol = s->tol *
                                    s->tol, /* an error e in psi is e^2 in the likelihood */
                             .max_iter = s->max_iter,
                             .psi_min = s->psi_min,
                             .seed = s->seed};
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    recursive_em proto;
    (void)n; /* a stream: the same for any number of rows */
    if (prototype(&proto, settings, in, x) != FAB_OK) return NAN;
    const fab_recursive_em_settings *s = &proto.set;
    const fab_absorb_settings a = absorb_settings(s);
    const double D = (double)proto.D, R = (double)s->inner_rank, size = (double)proto.run.ops->size;
    const double state = D * (R * size + 16);
    double result = D * 8;             /* R = K: a psi of its own, perhaps */
    if (s->block > 1 || s->warmup > 1) /* the state with the pending rows, and these */
        result += state + D * ((double)proto.columns * size + 1);
    if (s->inner_rank > s->K) result += D * ((double)s->K * size + 16);
    const fab_ml_settings set = cut_settings(s);
    const int64_t all = fab_total(&proto.run.comm, proto.D);
    const double cutting =
        cut_by_ml(&proto) ? fab_ml_bytes(all, all, &set, NULL) + 8 * (double)all * (R + 1) : 0;
    return state + result + cutting + (double)fab_build_size(sizeof proto, &proto, layout) +
           fab_absorb_bytes(0, proto.D, s->inner_rank, proto.columns, &a, &proto.exec);
}

static fab_status check_fault(const recursive_em *e)
{
    if (e->fault == FAB_OK) return FAB_OK;
    return FAB_FAIL(e->fault,
                    "recursive-em: a block failed after %.0f rows, and the stream cannot go on",
                    e->rows);
}

static double work(const void *handle)
{
    const recursive_em *e = handle;
    const int64_t D = e->run.comm.sum ? e->run.comm.total_rows : e->D, R = e->set.inner_rank;
    return (double)(D * e->set.inner) * (double)(2 * R) * (1 + (double)R / (double)e->set.block);
}

static fab_status update(void *handle, const fab_examples *x)
{
    recursive_em *e = handle;
    const fab_rows *rows = &x->x;
    FAB_TRY(check_fault(e));
    for (int64_t done = 0; done < rows->n;) {
        const int64_t full = e->n > 0 ? e->set.block : e->set.warmup;
        const int64_t left = rows->n - done, room = full - e->pending,
                      take = left < room ? left : room;
        if (!(e->rows > 0) && e->pending == 0 &&
            e->set.centre == CENTRE_EXACT) /* any point near the rows */
            fab_rows_get(rows, done, e->D, e->S->mu);
        const fab_rows part = fab_rows_part(rows, done, take);
        const fab_long X = fab_recursive_columns(e, e->pending, take);
        e->run.ops->load(&e->run, &part, e->set.centre == CENTRE_EXACT ? e->S->mu : NULL, &X);
        for (int64_t j = 0; j < take; j++) {
            e->w[e->pending + j] = x->weight ? x->weight[done + j] : 1;
            e->weighted |= e->w[e->pending + j] != 1;
            fab_reservoir_offer(&e->held, rows, done + j, e->w[e->pending + j]);
        }
        e->pending += take;
        done += take;
        if (e->pending < full) break;
        const int before = fab_blas_enter();
        e->fault = fab_recursive_flush(e);
        fab_blas_leave(before);
        FAB_TRY(e->fault);
    }
    return FAB_OK;
}

/* ---- the result ------------------------------------------------------------------------------- */

static void copy_gauss(fab_gauss *to, const fab_gauss *from)
{
    const size_t element = from->type == FAB_F32 ? sizeof(float) : sizeof(double);
    memcpy(to->mu, from->mu, (size_t)from->D * sizeof *to->mu);
    memcpy(to->psi, from->psi, (size_t)from->D * sizeof *to->psi);
    memcpy(to->F, from->F, (size_t)(from->D * from->K) * element);
}

/* The state with the pending rows in it, made in a copy: the stream goes on as if nobody had asked. */
static fab_status absorb_pending(recursive_em *e, double *n)
{
    const size_t size = (size_t)(e->pending * e->D) * e->run.ops->size;
    void *X = fab_absorb_columns(e->absorb);
    memcpy(e->kept, X, size);
    recursive_em copy = *e;
    copy.S = e->tail;
    copy.constant = e->constant_tail;
    memcpy(copy.constant, e->constant, (size_t)e->D * sizeof *copy.constant);
    const int before = fab_blas_enter();
    const fab_status s = fab_recursive_flush(&copy);
    fab_blas_leave(before);
    memcpy(X, e->kept, size);
    *n = copy.n;
    return s;
}

/* The matrix of the whole for ml, all rows of W from all processes; a coordinate that is constant has no variance. */
static fab_status fill_target(recursive_em *e, const unsigned char *constant, fab_target *t)
{
    const int64_t D = e->D, all = t->D, R = e->set.inner_rank, first = e->run.comm.first_row;
    const fab_long W = fab_long_rows(e->whole->F, D, R);
    memset(t->mu, 0, (size_t)all * sizeof *t->mu);
    e->run.ops->get(&e->run, &W, t->W + first * R); /* row-major: R x D in columns */
    for (int64_t i = 0; i < D; i++) {
        t->rest[first + i] = constant[i] ? 0 : e->whole->psi[i]; /* the row of W is 0 then */
        t->mu[first + i] = e->whole->mu[i];
    }
    FAB_TRY(fab_sum(&e->run, t->W, all * (R + 1)));
    FAB_TRY(fab_sum(&e->run, t->mu, all));
    const int before = fab_blas_enter();
    fab_mm(FAB_T, FAB_N, all, all, R, 1, t->W, t->W, 0, t->S);
    fab_blas_leave(before);
    fab_symmetrise(all, t->S);
    for (int64_t i = 0; i < all; i++) t->S[i + i * all] += t->rest[i];
    return fab_target_check(t, "recursive-em");
}

static fab_status cut_with_ml(recursive_em *e, int once, const unsigned char *constant)
{
    const fab_ml_settings set = cut_settings(&e->set);
    const int64_t all = fab_total(&e->run.comm, e->D), first = e->run.comm.first_row;
    fab_exec alone = e->exec;
    fab_target t;
    alone.comm = NULL;
    fab_status s = e->ml ? FAB_OK : fab_ml_init(&e->ml, "recursive-em", all, &set, &alone);
    if (s == FAB_OK) s = fab_target_init_matrix(&t, "recursive-em", all, e->ml->width, &alone);
    const int made = s == FAB_OK;
    if (made) s = fab_target_factor(&t, "recursive-em", e->set.inner_rank);
    s = fab_agree(&e->run.comm, s, 0, "");
    if (s == FAB_OK) s = fill_target(e, constant, &t);
    if (s == FAB_OK) s = once ? fab_ml_solve_once(e->ml, &t) : fab_batch_solve(e->ml, &t);
    if (made) fab_target_free(&t);
    FAB_TRY(s);
    e->view = *e->ml->q; /* this process's rows of it */
    e->view.D = e->D;
    e->view.mu += first;
    e->view.psi += first;
    e->view.F = (char *)e->view.F + (size_t)(first * e->set.K) * e->run.ops->size;
    return FAB_OK;
}

/* The whole, cut to K (6), where ml does it perhaps from one start only; with R = K it is that itself. */
static fab_status cut(recursive_em *e, int once, const unsigned char *constant)
{
    const fab_recursive_em_settings *s = &e->set;
    if (s->inner_rank == s->K) {
        e->view = *e->whole;
        return FAB_OK;
    }
    if (cut_by_ml(e)) return cut_with_ml(e, once, constant);
    memcpy(e->q->mu, e->whole->mu, (size_t)e->D * sizeof *e->q->mu);
    e->view = *e->q;
    return fab_gauss_cut_into(e->q, e->whole, s->tol, s->max_iter, &e->exec);
}

/* The state with the pending rows, its weight, and the coordinates that are constant in it. */
static fab_status take_all(recursive_em *e, double *n, const unsigned char **constant)
{
    *n = e->n;
    *constant = e->constant;
    e->whole = e->S;
    if (!e->pending) return FAB_OK;
    copy_gauss(e->tail, e->S);
    e->whole = e->tail;
    *constant = e->constant_tail;
    return absorb_pending(e, n);
}

/* What a result needs and the stream does not. */
static fab_status make_room(recursive_em *e)
{
    const fab_dtype type = e->run.ops->type;
    const int64_t D = e->D, K = e->set.K, R = e->set.inner_rank;
    if (e->pending && !e->tail)
        FAB_TRY(fab_gauss_create(&e->tail, FAB_FORM_COVARIANCE, type, D, R));
    if (e->pending && !e->kept)
        FAB_TRY(fab_alloc_array(&e->kept, e->columns * D, e->run.ops->size, "recursive-em"));
    if (e->pending && !e->constant_tail)
        FAB_TRY(fab_alloc_array((void **)&e->constant_tail, D, sizeof *e->constant_tail,
                                "recursive-em"));
    if (R == K || cut_by_ml(e) || e->q) return FAB_OK;
    return fab_gauss_create(&e->q, FAB_FORM_COVARIANCE, type, D, K);
}

/* R = K: the result has the psi of the whole, or where a floor will act on it one of its own.  v: diag(S) */
static fab_status own_psi(recursive_em *e, const unsigned char *constant)
{
    int64_t floored = 0;
    if (e->view.psi != e->whole->psi) return FAB_OK;
    for (int64_t i = 0; i < e->D; i++)
        floored += constant[i] || !(e->view.psi[i] > e->set.psi_min * e->v[i]);
    if (!floored) return FAB_OK;
    if (!e->psi) FAB_TRY(fab_alloc_array((void **)&e->psi, e->D, sizeof *e->psi, "recursive-em"));
    memcpy(e->psi, e->whole->psi, (size_t)e->D * sizeof *e->psi);
    e->view.psi = e->psi;
    return FAB_OK;
}

static fab_status form(recursive_em *e, int once, const fab_gauss **q)
{
    const int64_t D = e->D, R = e->set.inner_rank;
    double n;
    const unsigned char *constant;
    FAB_TRY(check_fault(e));
    FAB_TRY(fab_agree(&e->run.comm, make_room(e), 0, ""));
    FAB_TRY(take_all(e, &n, &constant));
    if (!(n > 0))
        return FAB_FAIL(FAB_BAD_DATA, "recursive-em: every column is constant in all rows so far");
    FAB_TRY(fab_agree(&e->run.comm, cut(e, once, constant), 0, ""));
    const fab_long W = fab_long_rows(e->whole->F, D, R);
    memcpy(e->v, e->whole->psi, (size_t)D * sizeof *e->v);
    e->run.ops->rowquad(&e->run, &W, NULL, R, 1, e->v); /* diag(S) */
    FAB_TRY(fab_agree(&e->run.comm, own_psi(e, constant), 0, ""));
    for (int64_t i = 0; i < D; i++)
        if (constant[i]) e->v[i] = e->view.psi[i] = 0; /* at the floor */
    FAB_TRY(fab_state_floor(&e->view, e->v, e->set.psi_min, &e->run, &e->floored));
    FAB_TRY(fab_gauss_check(&e->view));
    *q = &e->view;
    return FAB_OK;
}

static fab_status result(void *handle, const fab_gauss **q)
{
    return form(handle, 0, q);
}

static fab_status so_far(void *handle, const fab_gauss **q)
{
    return form(handle, 1, q);
}

static fab_status report(void *handle, fab_report *d)
{
    recursive_em *e = handle;
    *d = (fab_report){.floored = e->floored, .converged = -1};
    return fab_reservoir_loglik(&e->held, &e->view, e->v, &e->exec, d);
}

/* ---- files ------------------------------------------------------------------------------------ */

static fab_states state_of(recursive_em *e, int64_t pending)
{
    const fab_dtype type = e->run.ops->type;
    const int64_t D = e->D;
    return (fab_states){{{"state.constant", FAB_I64, D, 0, e->constant_file},
                         {"state.mu", FAB_F64, D, 0, e->S->mu},
                         {"state.F", type, D, e->set.inner_rank, e->S->F},
                         {"state.psi", FAB_F64, D, 0, e->S->psi},
                         {"state.weight", FAB_F64, 1, 0, &e->n},
                         {"state.rows", FAB_F64, 1, 0, &e->rows},
                         {"state.trace", FAB_F64, 1, 0, &e->constant_psi},
                         {"state.pending", type, pending, D, fab_absorb_columns(e->absorb)},
                         {"state.pending_weight", FAB_F64, pending, 0, e->weighted ? e->w : NULL}}};
}

static fab_status make_flags(recursive_em *e)
{
    if (e->constant_file) return FAB_OK;
    return fab_alloc_array((void **)&e->constant_file, e->D, sizeof *e->constant_file,
                           "recursive-em");
}

static fab_status save(void *handle, fab_tensors *t)
{
    recursive_em *e = handle;
    FAB_TRY(make_flags(e));
    for (int64_t i = 0; i < e->D; i++) e->constant_file[i] = e->constant[i];
    const fab_states all = state_of(e, e->pending);
    FAB_TRY(fab_states_save(&all, t));
    return fab_reservoir_save(&e->held, t);
}

/* Numbers from a file: weights that add up, and rows that passed the door. */
static fab_status check_loaded(const recursive_em *e)
{
    const int64_t full = e->n > 0 ? e->set.block : e->set.warmup, D = e->D;
    const fab_rows rows = {fab_absorb_columns(e->absorb), e->run.ops->type, e->pending, D};
    if (!(e->n >= 0 && e->rows >= 0 && e->constant_psi >= 0) ||
        !isfinite(e->n + e->rows + e->constant_psi))
        return FAB_FAIL(FAB_BAD_FILE, "the weights of the state are not positive numbers");
    for (int64_t j = 0; j < e->pending; j++)
        if (!(e->w[j] > 0 && isfinite(e->w[j])))
            return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.pending_weight' has the weight %g",
                            e->w[j]);
    if (e->pending >= full)
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.pending' has %lld rows, a block has %lld",
                        (long long)e->pending, (long long)full);
    if (fab_rows_check("state.pending", &rows, D) != FAB_OK) return FAB_BAD_FILE;
    return fab_gauss_check(e->S) == FAB_OK ? FAB_OK : FAB_BAD_FILE;
}

static fab_status load(void *handle, const fab_tensors *t)
{
    recursive_em *e = handle;
    const fab_tensor *pending = fab_tensors_find(t, "state.pending");
    if (!pending || pending->ndim != 2 || pending->shape[0] < 0 || pending->shape[0] > e->columns)
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.pending' is absent or does not fit the block");
    e->pending = pending->shape[0];
    e->weighted = fab_tensors_find(t, "state.pending_weight") != NULL;
    for (int64_t j = 0; j < e->pending; j++) e->w[j] = 1;
    FAB_TRY(make_flags(e));
    const fab_states all = state_of(e, e->pending);
    FAB_TRY(fab_states_load(&all, t));
    e->constants = 0;
    for (int64_t i = 0; i < e->D; i++) {
        e->constant[i] = e->constant_file[i] != 0;
        e->constants += e->constant[i];
    }
    FAB_TRY(fab_reservoir_load(&e->held, t));
    return check_loaded(e);
}

const fab_method fab_recursive_em_method = {
    .name = "recursive-em",
    .summary = "recursive factor analysis in blocks, one pass: the default for a stream",
    .streams = 1,
    .any_rank = 1,
    .takes = FAB_TAKES_VECTORS | FAB_TAKES_WEIGHTS,
    .fields = &table,
    .init = init,
    .update = update,
    .work = work,
    .result = result,
    .so_far = so_far,
    .report = report,
    .free = release,
    .save = save,
    .load = load,
    .bytes = bytes,
};
