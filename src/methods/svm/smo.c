/* smo.c - sequential minimal optimisation (Platt 1998) with pairs by second order (Fan, Chen, Lin 2005) and shrinking (Joachims 1999).
 *
 *   0  g = K beta + q, of all variables
 *   1  in each group: i that may rise (beta < hi) with the least g, m = g_i
 *   2  j that may fall (beta > lo) with g_j > m and the largest (g_j - m)^2 / (K_ii + K_jj - 2 K_ij); M: the largest g_j
 *   3  M - m <= tol in all groups: done for those that are active; once all are, and g is exact, done
 *   4  d = (g_j - m) / (K_ii + K_jj - 2 K_ij), at most what bounds leave;  beta_i += d, beta_j -= d, g += d (K_i - K_j)
 *   5  now and then: variables at a bound whose g would keep them there, g > M at hi or below m at lo, are laid aside; before the
 *      end all come back, their g from the changes of beta since they were laid aside
 *
 * Passes 1 and 2 add 0 or infinity to g where a variable may not move, so that they have no branches.  Ties go to the first
 * variable: steps do not depend on threads or on rows that are kept.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/svm/smo.h"
#include "base/memory.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    PART = 256,   /* variables whose best is looked for at a time */
    PAUSE = 1000, /* iterations between looks for what can be laid aside, at most */
    REFRESHES = 5 /* of g */
};
/* Rounding of g, which grows with the steps, stays far below a larger tolerance: below it g is made anew before the end. */
#define EXACT 1e-6

typedef struct smo {
    fab_smo *p;
    int64_t n, m; /* variables; active ones, in rising order */
    int64_t groups;
    int64_t *active; /* n */
    /* of those that are active, in their order: */
    double *g, *diag; /* n each */
    double *rise,
        *fall; /* groups x n: 0 where it may and is of the group, else infinity and -infinity */
    double *ki, *kj; /* n each, where rows must be gathered */
    double *then;    /* n, of all: beta where p->g is exact */
    struct {         /* of this step */
        int64_t i, j, group;
        double low, gap, gain, step;
    } best;
    double low[2], high[2];   /* m and M of each group */
    int whole;                /* nothing is laid aside any more */
    int exact;                /* g is of this beta, and not of its steps */
    int64_t refreshes, since; /* the iteration in which all were active last */
} smo;

static void layout(fab_layout *l, void *handle)
{
    smo *s = handle;
    s->active = fab_place(l, s->n, sizeof *s->active);
    s->g = fab_place(l, s->n, sizeof(double));
    s->diag = fab_place(l, s->n, sizeof(double));
    s->rise = fab_place(l, s->groups * s->n, sizeof(double));
    s->fall = fab_place(l, s->groups * s->n, sizeof(double));
    s->ki = fab_place(l, s->n, sizeof(double));
    s->kj = fab_place(l, s->n, sizeof(double));
    s->then = fab_place(l, s->n, sizeof(double));
}

static int64_t row_of(const fab_smo *p, int64_t v)
{
    return p->row ? p->row[v] : v;
}

static int64_t group_of(const fab_smo *p, int64_t v)
{
    return p->group ? p->group[v] : 0;
}

/* What of active variable t may be. */
static void mark(smo *s, int64_t t)
{
    const fab_smo *p = s->p;
    const int64_t v = s->active[t];
    for (int64_t c = 0; c < s->groups; c++) {
        const int mine = group_of(p, v) == c;
        s->rise[c * s->n + t] = mine && p->beta[v] < p->hi[v] ? 0 : INFINITY;
        s->fall[c * s->n + t] = mine && p->beta[v] > p->lo[v] ? 0 : -INFINITY;
    }
}

/* All are active, with the g of p. */
static void activate(smo *s)
{
    const double *diag = fab_svm_rows_diag(s->p->rows);
    s->m = s->n;
    for (int64_t t = 0; t < s->n; t++) {
        s->active[t] = t;
        s->g[t] = s->p->g[t];
        s->diag[t] = diag[row_of(s->p, t)];
        mark(s, t);
    }
    memcpy(s->then, s->p->beta, (size_t)s->n * sizeof *s->then);
    s->since = s->p->iterations;
}

/* The row of K of a variable at the active ones. */
static const double *row_at(smo *s, int64_t v, double *room)
{
    const double *k = fab_svm_rows_get(s->p->rows, row_of(s->p, v));
    if (s->m == s->n && !s->p->row) return k;
    if (s->p->row)
        for (int64_t t = 0; t < s->m; t++) room[t] = k[s->p->row[s->active[t]]];
    else
        for (int64_t t = 0; t < s->m; t++) room[t] = k[s->active[t]];
    return room;
}

static fab_status watch(const smo *s, fab_watch *w, int64_t made, double work)
{
    const fab_svm_rows *r = s->p->rows;
    work += (double)(fab_svm_rows_made(r) - made) * fab_svm_rows_work(r);
    return fab_watch_work(w, work, "pairs", s->p->iterations, s->p->max_iter);
}

/* ---- 0 ------------------------------------------------------------------------------------------------ */

/* p->g += K (beta - then) at the variables that are not active (all: at all of them). */
static fab_status add_changes(smo *s, const double *then, int all, fab_watch *w)
{
    fab_smo *p = s->p;
    for (int64_t v = 0; v < s->n; v++) {
        const double d = p->beta[v] - (then ? then[v] : 0);
        if (d == 0) continue;
        const int64_t made = fab_svm_rows_made(p->rows);
        const double *k = fab_svm_rows_get(p->rows, row_of(p, v));
        int64_t t = 0;
        for (int64_t u = 0; u < s->n; u++) {
            if (!all && t < s->m && s->active[t] == u)
                t++;
            else
                p->g[u] += d * k[row_of(p, u)];
        }
        FAB_TRY(watch(s, w, made, (double)s->n));
    }
    return FAB_OK;
}

static fab_status refresh(smo *s, fab_watch *w)
{
    memcpy(s->p->g, s->p->q, (size_t)s->n * sizeof *s->p->g);
    FAB_TRY(add_changes(s, NULL, 1, w));
    activate(s);
    s->exact = 1;
    return FAB_OK;
}

/* 5, back */
static fab_status restore(smo *s, fab_watch *w)
{
    FAB_TRY(add_changes(s, s->then, 0, w));
    for (int64_t t = 0; t < s->m; t++) s->p->g[s->active[t]] = s->g[t];
    activate(s);
    s->p->restored++;
    return FAB_OK;
}

/* ---- 1, 4 --------------------------------------------------------------------------------------------- */

static int64_t end_of_part(const smo *s, int64_t first)
{
    return s->m - first < PART ? s->m : first + PART;
}

/* g += d (ki - kj), and then the least g + rise of the first group, with its place. */
static int64_t step_and_find(smo *s, double d, const double *ki, const double *kj)
{
    int64_t at = -1;
    double low = INFINITY;
    for (int64_t first = 0; first < s->m; first += PART) {
        const int64_t m = s->m - first < PART ? s->m - first : PART;
        double *g = s->g + first, least = INFINITY;
        const double *rise = s->rise + first, *a = ki + first, *b = kj + first;
#pragma omp simd reduction(min : least)
        for (int64_t t = 0; t < m; t++) {
            g[t] += d * (a[t] - b[t]);
            const double v = g[t] + rise[t];
            least = v < least ? v : least;
        }
        if (least < low) low = least, at = first;
    }
    s->low[0] = low;
    if (at < 0) return -1;
    for (int64_t t = at + 1, end = end_of_part(s, at); t < end; t++)
        if (s->g[t] + s->rise[t] < s->g[at] + s->rise[at]) at = t;
    return at;
}

static int64_t find_least(smo *s, int64_t c)
{
    const double *rise = s->rise + c * s->n;
    int64_t at = -1;
    s->low[c] = INFINITY;
    for (int64_t t = 0; t < s->m; t++)
        if (s->g[t] + rise[t] < s->low[c]) s->low[c] = s->g[t] + rise[t], at = t;
    return at;
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

/* What the pair of a place with value `low` and of place t gains. */
static double won_by(const smo *s, double low, double kii, const double *ki, const double *fall,
                     int64_t t)
{
    const double r = s->g[t] + fall[t] - low, sum = kii + s->diag[t];
    const double least = DBL_EPSILON * sum, exact = sum - 2 * ki[t];
    const double quad = exact > least ? exact : least;
    return r > 0 ? r * r / quad : 0;
}

static int64_t find_partner(smo *s, int64_t c, int64_t i, const double *ki, double *gain)
{
    const double kii = s->diag[i], low = s->low[c], *fall = s->fall + c * s->n;
    int64_t at = -1;
    double most = 0, high = -INFINITY;
    for (int64_t first = 0; first < s->m; first += PART) {
        const int64_t m = s->m - first < PART ? s->m - first : PART;
        const double *g = s->g + first, *f = fall + first, *k = ki + first, *diag = s->diag + first;
        double best = 0, top = -INFINITY;
#pragma omp simd reduction(max : best, top)
        for (int64_t t = 0; t < m; t++) {
            const double v = g[t] + f[t], r = v - low, sum = kii + diag[t];
            const double least = DBL_EPSILON * sum, exact = sum - 2 * k[t];
            const double quad = exact > least ? exact : least;
            const double won = r > 0 ? r * r / quad : 0;
            best = won > best ? won : best;
            top = v > top ? v : top;
        }
        if (best > most) most = best, at = first;
        high = top > high ? top : high;
    }
    s->high[c] = high;
    *gain = most;
    if (at < 0) return -1;
    double best = won_by(s, low, kii, ki, fall, at);
    for (int64_t t = at + 1, end = end_of_part(s, at); t < end; t++) {
        const double won = won_by(s, low, kii, ki, fall, t);
        if (won > best) best = won, at = t;
    }
    return at;
}

/* The pair of this step, i of the first group being known; K_i of the group that has it is in *ki. */
static void choose(smo *s, int64_t first, const double **ki)
{
    s->best.i = s->best.j = -1;
    s->best.gap = s->best.gain = 0;
    for (int64_t c = 0; c < s->groups; c++) {
        double gain;
        const int64_t i = c == 0 ? first : find_least(s, c);
        s->high[c] = -INFINITY;
        if (i < 0) continue;
        const double *k = row_at(s, s->active[i], s->ki);
        const int64_t j = find_partner(s, c, i, k, &gain);
        if (s->high[c] - s->low[c] > s->best.gap) s->best.gap = s->high[c] - s->low[c];
        if (j < 0 || !(gain > s->best.gain)) continue;
        s->best.gain = gain;
        s->best.i = i;
        s->best.j = j;
        s->best.group = c;
    }
    *ki = NULL;
    if (s->best.i >= 0) *ki = row_at(s, s->active[s->best.i], s->ki);
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

/* 0: rounding leaves the pair where it is. */
static int move(smo *s, double kij)
{
    fab_smo *p = s->p;
    const int64_t i = s->active[s->best.i], j = s->active[s->best.j];
    const double sum = s->diag[s->best.i] + s->diag[s->best.j], exact = sum - 2 * kij;
    const double quad = exact > DBL_EPSILON * sum ? exact : DBL_EPSILON * sum;
    const double up = p->hi[i] - p->beta[i], down = p->beta[j] - p->lo[j];
    const double bi = p->beta[i], bj = p->beta[j];
    double d = (s->g[s->best.j] - s->g[s->best.i]) / quad;
    d = d < up ? d : up;
    d = d < down ? d : down;
    p->beta[i] = d < up ? bi + d : p->hi[i];
    p->beta[j] = d < down ? bj - d : p->lo[j];
    mark(s, s->best.i);
    mark(s, s->best.j);
    s->best.step = d;
    return p->beta[i] != bi || p->beta[j] != bj;
}

/* ---- 5 ------------------------------------------------------------------------------------------------ */

/* Those that come back need a row of K for each variable that has changed meanwhile: it pays where steps are many more. */
static int pays(const smo *s, int64_t steps)
{
    int64_t changed = 0;
    for (int64_t v = 0; v < s->n; v++) changed += s->p->beta[v] != s->then[v];
    return steps > 2 * changed;
}

static void lay_aside(smo *s)
{
    const fab_smo *p = s->p;
    int64_t kept = 0;
    for (int64_t c = 0; c < s->groups; c++) {
        s->low[c] = INFINITY;
        s->high[c] = -INFINITY;
        for (int64_t t = 0; t < s->m; t++) {
            s->low[c] = fmin(s->low[c], s->g[t] + s->rise[c * s->n + t]);
            s->high[c] = fmax(s->high[c], s->g[t] + s->fall[c * s->n + t]);
        }
    }
    for (int64_t t = 0; t < s->m; t++) {
        const int64_t v = s->active[t], c = group_of(p, v);
        if (!(p->beta[v] < p->hi[v]) && s->g[t] < s->low[c]) continue;
        if (!(p->beta[v] > p->lo[v]) && s->g[t] > s->high[c]) continue;
        s->active[kept] = v;
        s->g[kept] = s->g[t];
        s->diag[kept] = s->diag[t];
        for (int64_t k = 0; k < s->groups; k++) {
            s->rise[k * s->n + kept] = s->rise[k * s->n + t];
            s->fall[k * s->n + kept] = s->fall[k * s->n + t];
        }
        kept++;
    }
    s->m = kept;
}

/* ---- the end ------------------------------------------------------------------------------------------ */

static void find_levels(smo *s)
{
    fab_smo *p = s->p;
    for (int64_t c = 0; c < 2; c++) {
        double sum = 0, low = INFINITY, high = -INFINITY;
        int64_t inside = 0;
        for (int64_t t = 0; t < s->m; t++) {
            const int64_t v = s->active[t];
            if (group_of(p, v) != c) continue;
            const int may_rise = p->beta[v]<p->hi[v], may_fall = p->beta[v]> p->lo[v];
            if (may_rise && may_fall) sum += s->g[t], inside++;
            if (may_rise) low = fmin(low, s->g[t]);
            if (may_fall) high = fmax(high, s->g[t]);
        }
        if (inside)
            p->level[c] = sum / (double)inside;
        else if (isfinite(low) && isfinite(high))
            p->level[c] = (low + high) / 2;
        else
            p->level[c] = isfinite(low) ? low : isfinite(high) ? high : 0;
    }
}

static void conclude(smo *s)
{
    fab_smo *p = s->p;
    double sum = 0;
    for (int64_t t = 0; t < s->m; t++) p->g[s->active[t]] = s->g[t];
    for (int64_t v = 0; v < s->n; v++) sum += p->beta[v] * (p->g[v] + p->q[v]);
    p->dual = -sum / 2;
    p->gap = s->best.gap > 0 ? s->best.gap : 0;
    find_levels(s);
}

/* 3: nothing moves among the active variables.  *done: that is the end. */
static fab_status settle(smo *s, fab_watch *w, int *done)
{
    fab_smo *p = s->p;
    *done = 0;
    if (s->m < s->n) return restore(s, w);
    if (p->tol < EXACT && !s->exact && s->refreshes < REFRESHES) {
        s->refreshes++;
        return refresh(s, w);
    }
    p->converged = !(s->best.gap > p->tol);
    *done = 1;
    return FAB_OK;
}

static fab_status solve(smo *s, fab_watch *w)
{
    fab_smo *p = s->p;
    const int64_t pause = s->n < PAUSE ? s->n : PAUSE;
    int64_t until = pause;
    int near = 0, done = 0;
    FAB_TRY(refresh(s, w)); /* 0 */
    int64_t i = step_and_find(s, 0, s->g, s->g);
    while (!done) {
        const int64_t made = fab_svm_rows_made(p->rows);
        const double *ki, *kj;
        choose(s, i, &ki); /* 2 */
        int moves = s->best.gap > p->tol && s->best.j >= 0 && s->refreshes < REFRESHES &&
                    p->iterations < p->max_iter;
        if (moves && !move(s, ki[s->best.j])) moves = 0, s->whole = 1; /* 4 */
        if (!moves) {
            FAB_TRY(settle(s, w, &done)); /* 3 */
            i = step_and_find(s, 0, s->g, s->g);
            until = pause;
            continue;
        }
        kj = row_at(s, s->active[s->best.j], s->kj);
        i = step_and_find(s, s->best.step, ki, kj); /* 4, 1 */
        s->exact = 0;
        p->iterations++;
        FAB_TRY(watch(s, w, made, 16 * (double)s->m));
        if (s->whole || --until > 0) continue;
        until = pause;
        if (s->m == s->n && !pays(s, p->iterations - s->since)) continue;
        if (!near && !(s->best.gap > 10 * p->tol)) { /* 5 */
            near = 1;
            if (s->m < s->n) FAB_TRY(restore(s, w));
        } else {
            lay_aside(s);
        }
        i = step_and_find(s, 0, s->g, s->g);
    }
    return FAB_OK;
}

fab_status fab_smo_solve(fab_smo *p, fab_watch *w)
{
    const smo of = {.p = p, .n = p->n, .groups = p->group ? 2 : 1, .whole = p->whole != 0};
    smo *s;
    p->iterations = p->converged = p->restored = 0;
    FAB_TRY(fab_build((void **)&s, sizeof of, &of, layout));
    const fab_status done = solve(s, w);
    if (s->m == 0 && done == FAB_STOPPED) activate(s);
    conclude(s);
    fab_release(s);
    return done;
}
