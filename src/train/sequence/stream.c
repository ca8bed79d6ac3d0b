/* stream.c - what the recursive methods share.
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/likelihood.h"
#include "train/sequence/stream.h"
#include "base/settings.h"
#include <math.h>
#include <string.h>

/* least prior precision of an intercept, noise being 1: no prior, but for rounding */
#define FREE   1e-8
#define USUAL  1e-4 /* the default; a smaller one was asked for, and is taken as it is */
#define LOOSE  1e6  /* variance of the intercept, noise being 1, while beta is unknown */
#define TWO_PI 6.283185307179586477
#define WHOLE  0x1p53 /* doubles up to here count */

/* ---- rows that wait ------------------------------------------------------------------------------------ */

void fab_pending_layout(fab_layout *l, fab_pending *p)
{
    p->y = fab_place(l, 3 * p->room, sizeof *p->y);
    p->w = p->y ? p->y + p->room : NULL;
    p->offset = p->y ? p->y + 2 * p->room : NULL;
}

void fab_pending_add(fab_pending *p, const fab_examples *x, int64_t first, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        const int64_t to = p->n + j, from = first + j;
        p->y[to] = x->y[from];
        p->w[to] = x->weight ? x->weight[from] : 1;
        p->offset[to] = x->offset ? x->offset[from] : 0;
    }
    p->n += n;
}

void fab_pending_drop(fab_pending *p, int64_t m)
{
    p->n -= m;
    const size_t left = (size_t)p->n * sizeof(double);
    memmove(p->y, p->y + m, left);
    memmove(p->w, p->w + m, left);
    memmove(p->offset, p->offset + m, left);
}

fab_status fab_pending_find(fab_pending *p, const fab_tensors *t, const char *name, int64_t columns,
                            int64_t full, const char *where)
{
    const fab_tensor *rows = fab_tensors_find(t, name);
    if (!rows || rows->ndim != 2 || rows->shape[0] < 0 || rows->shape[0] % columns ||
        rows->shape[0] / columns >= full)
        return FAB_FAIL(FAB_BAD_FILE, "tensor '%s' is absent or does not fit the %s", name, where);
    p->n = rows->shape[0] / columns;
    return FAB_OK;
}

/* ---- the prior and the noise --------------------------------------------------------------------------- */

int fab_stream_gaussian(const fab_stream *s)
{
    return fab_likelihood_row_of(s->model.likelihood)->noise;
}

int fab_stream_undecided(const fab_stream *s)
{
    if (fab_stream_gaussian(s) && fab_is_auto_f64(s->set.beta) && !(s->guess > 0)) return 1;
    return !s->count.given && fab_is_auto_f64(s->set.alpha);
}

double fab_stream_prior_of(const fab_stream *s, int feature)
{
    return feature ? s->scale.alpha : s->set.intercept_alpha;
}

double fab_stream_prior_in_state(const fab_stream *s, int feature)
{
    const double p = fab_stream_prior_of(s, feature) / s->scale.beta;
    return feature || p > FREE || s->set.intercept_alpha < USUAL ? p : FREE;
}

fab_status fab_stream_choose(fab_stream *s, const fab_pending *p, const double *G, fab_watch *watch,
                             double *work)
{
    const int gaussian = fab_stream_gaussian(s), known = gaussian && !fab_is_auto_f64(s->set.beta);
    fab_stream_prior prior = {.beta = known ? s->set.beta : 0};
    double intercept = 0; /* its variance, noise being 1 */
    if (s->model.intercept) {
        intercept = LOOSE;
        if (!gaussian) intercept = 1 / s->set.intercept_alpha;
        if (known) intercept = s->set.beta / s->set.intercept_alpha;
    }
    FAB_TRY(fab_prior_choose(&s->model, p->n, G, intercept, p->y, p->w, p->offset, watch, &prior,
                             work));
    s->scale.beta = gaussian ? prior.beta : 1;
    s->scale.alpha = prior.alpha * s->scale.beta;
    s->sum.uninformative = s->count.given ? 0 : prior.uninformative;
    return FAB_OK;
}

void fab_stream_start(fab_stream *s)
{
    if (!fab_stream_undecided(s)) {
        s->scale.beta = fab_stream_gaussian(s) ? s->set.beta : 1;
        if (fab_stream_gaussian(s) && fab_is_auto_f64(s->set.beta)) s->scale.beta = s->guess;
    }
    if (!fab_is_auto_f64(s->set.alpha)) s->scale.alpha = s->set.alpha;
    s->count.started = 1;
}

void fab_stream_forget(fab_stream *s, double a)
{
    s->sum.rows *= a;
    s->sum.uninformative *= a;
    s->sum.squares *= a;
    s->sum.power *= a;
}

/* ---- what came out ------------------------------------------------------------------------------------- */

fab_status fab_stream_check(const fab_stream *s)
{
    if (s->fault == FAB_OK) return FAB_OK;
    return FAB_FAIL(s->fault, "%s: a %s failed after %lld rows, and the stream cannot go on",
                    s->who, s->unit, (long long)s->count.rows);
}

double fab_stream_noise(const fab_stream *s)
{
    if (!fab_stream_gaussian(s)) return 1;
    if (!fab_is_auto_f64(s->set.beta)) return s->set.beta;
    return fab_noise(s->sum.rows - s->sum.uninformative - (double)s->model.intercept,
                     s->sum.squares, s->sum.power);
}

void fab_stream_report(const fab_stream *s, fab_report *r)
{
    const fab_stream_sums *sum = &s->sum;
    const double beta = fab_stream_noise(s);
    *r = (fab_report){.converged = -1,
                      .alpha = s->count.given ? NAN : s->scale.alpha,
                      .beta = beta,
                      .log_evidence = NAN,
                      .log_score = sum->score};
    if (!fab_stream_gaussian(s)) return; /* the score depends on the order of the rows */
    r->log_score = 0.5 * (sum->rows * log(beta / TWO_PI) - beta * sum->squares - sum->logdet);
    r->log_evidence = r->log_score;
}

/* ---- files --------------------------------------------------------------------------------------------- */

void fab_stream_states(fab_stream *s, fab_states *all)
{
    fab_states_add(all, "state.counts", FAB_I64, sizeof s->count / sizeof(int64_t), 0, &s->count);
    fab_states_add(all, "state.scale", FAB_F64, sizeof s->scale / sizeof(double), 0, &s->scale);
    fab_states_add(all, "state.sums", FAB_F64, sizeof s->sum / sizeof(double), 0, &s->sum);
}

void fab_pending_states(fab_pending *p, fab_dtype type, int64_t columns, int64_t T, void *X,
                        fab_states *all)
{
    fab_states_add(all, "state.y", FAB_F64, p->n, 0, p->y);
    fab_states_add(all, "state.weight", FAB_F64, p->n, 0, p->w);
    fab_states_add(all, "state.offset", FAB_F64, p->n, 0, p->offset);
    fab_states_add(all, "state.pending", type, p->n * columns, T, X);
}

fab_status fab_stream_check_loaded(const fab_stream *s)
{
    const fab_stream_counts *n = &s->count;
    const int64_t flags[] = {n->started, n->given};
    for (int i = 0; i < 2; i++)
        if (flags[i] != 0 && flags[i] != 1)
            return FAB_FAIL(FAB_BAD_FILE, "a flag of the state is %lld", (long long)flags[i]);
    if (n->rows < 0 || !(s->sum.rows >= 0 && s->sum.squares >= 0) ||
        !isfinite(s->sum.rows + s->sum.squares))
        return FAB_FAIL(FAB_BAD_FILE, "the numbers of the state do not belong together");
    if (n->started &&
        !(s->scale.beta > 0 && isfinite(s->scale.beta) && (n->given || s->scale.alpha > 0)))
        return FAB_FAIL(FAB_BAD_FILE, "the state has no prior");
    return FAB_OK;
}

fab_status fab_stream_whole(double value, int64_t *count)
{
    if (!(value >= 0 && value <= WHOLE && value == floor(value)))
        return FAB_FAIL(FAB_BAD_FILE, "a count of the state is %g", value);
    *count = (int64_t)value;
    return FAB_OK;
}
