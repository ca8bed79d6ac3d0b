/* propose.c - Bayesian optimisation: where the next trial of an expensive function is worth most.
 *
 * Ranges become z, columns of variance 1 if trials were spread evenly, logarithms first where a range is of logarithms;
 * numbers told become y, larger is better, of mean 0 and variance 1.
 *
 *   while there are fewer than `starts` trials that did not fail, or all of them gave one number:
 *   1    a point of Sobol's sequence
 *   else
 *   2    theta and noise where the evidence of the first s trials is largest, s rising by a tenth (and by 1 at least): all
 *        searches together are O(n^3)
 *   3    the other trials are appended to the Cholesky factor; a failed one as no better than the worst that did not fail
 *   4    mu+ = the largest mean at a trial inside the ranges
 *   5    the acquisition at Sobol's points, and at points around the best trials; from the best few it is climbed: by its
 *        gradient where a range is continuous, by single steps where it is of whole numbers
 *   6    of several points each but the last is believed: appended as if it had given its mean
 *
 * A trial that was told is not asked for again: points nearer than NEAR to one in every column are passed over.
 *
 * J. Mockus 1978 has the expected improvement, D. Ginsbourger et al. 2010 the believer of 6.
 *
 * SPDX-License-Identifier: MIT */
#include "search/acquisition.h"
#include "base/fail.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/sobol.h"
#include "train/evidence.h"
#include <assert.h>
#include <math.h>
#include <nlopt.h>
#include <string.h>
#include <stdlib.h>

enum {
    STREAM = 0x70726f70, /* of random numbers: points of candidates, one stream for each question */
    EVEN = 512,          /* candidates spread evenly, */
    AROUND = 16,         /* and around each of */
    CENTRES = 5,         /* so many of the best trials */
    CANDIDATES = EVEN + AROUND * CENTRES,
    AROUND_SIZES = 4,       /* at distances that halve so often */
    NORMALS_FROM = 1 << 12, /* their place in the stream, behind the bits of the even ones */
    MORE_STARTS = 3,        /* Sobol's points at first: so many, and one for each range */
    CLIMBS_OF_THETA = 2,
    CLIMBS = 6,     /* from the best so many of the candidates */
    CLIMB_MAX = 60, /* evaluations of a climb */
    MOST_ASKED = 1000,
    STEP_ROUNDS = 8 /* single steps of whole numbers, and a climb after each */
};
#define SPREAD    3.4641016151377545871 /* of a column: sqrt 12, so that its variance is 1 */
#define NEAR      1e-6                  /* of a range: two points are one */
#define AROUND_SD 0.16                  /* of a range: how far around a trial */
#define APART     0.1  /* of a range: starts of climbs differ by so much in a column */
#define SD_LEAST  1e-9 /* of y: below it nothing is to be learned */
#define CLIMB_TOL 1e-7 /* relative change of an acquisition at which a climb ends */
#define BENT      3.0  /* nats that a bent scale must explain more than the losses as they stand */
#define THETA_TOL 1e-6 /* relative change of the evidence */
/* 2: of columns of variance 1 and y of variance 1, log l ~ N(log SPREAD + L_MEAN + log(D) / 2, L_SD^2), log s2 ~ N(0, S2_SD^2),
 * log noise ~ N(log NOISE, NOISE_SD^2).  That of l grows as the distance of points does. */
#define L_MEAN      -0.8
#define L_SD        0.7
#define S2_SD       1.0
#define NOISE       1e-6
#define NOISE_SD    3.0
#define BETA_USUAL  2.0
#define FROM_MEDIAN 1.64485362695147271486 /* to the 5 % and 95 % quantile, in sd */

typedef enum fate { GOOD, OUTSIDE, BAD, ELSEWHERE } fate;

typedef struct trial {
    double y; /* as told; NaN: failed */
    fate fate;
} trial;

/* y = -(w - shift) / scale, with w of a loss: see bend_of */
typedef struct units {
    double least, bend, shift, scale;
} units;

struct fab_propose {
    fab_propose_plan p;
    fab_range *range;  /* ranges */
    int64_t D;         /* ranges of more than one point: columns of the process */
    int64_t *axis;     /* D: their numbers */
    int64_t smooth;    /* of the columns, those that are no whole numbers */
    int64_t *climbing; /* smooth: their numbers */
    fab_watch watch;
    fab_sobol start;

    int64_t n, room;  /* trials told */
    trial *trial;     /* room */
    double *x;        /* room x ranges, as told */
    double *z;        /* room x D; behind the trials points that are believed */
    double *mu;       /* room: means there, when the last question was answered, of */
    int64_t expected; /* so many trials */

    fab_kernel *kernel;
    fab_process *process; /* NULL: none yet */
    int64_t searched;     /* good trials that theta comes from */
    int64_t used;         /* trials told that the process knows */
    int64_t believed;     /* rows of it that were not told */
    double *theta, noise, lml;
    units units;
    double worst; /* y of the good trials in the process */
    int64_t modelled;

    nlopt_opt opt; /* NULL: nothing is smooth */
    fab_promise promise;
    fab_status status;               /* of an evaluation that failed */
    double *at, *slope;              /* D: where it climbs; by z */
    double *variance_slope;          /* D */
    double *climb;                   /* smooth */
    double *candidate;               /* CANDIDATES x D */
    double *mean, *variance, *value; /* CANDIDATES */
    double *found, found_value;      /* D: the best point so far, not told before */
};

const char *fab_acquisition_name(fab_acquisition a)
{
    static const char *const names[] = {"ei", "pi", "ucb", "thompson"};
    return (int)a >= 0 && a <= FAB_ACQUISITION_THOMPSON ? names[a] : NULL;
}

/* ---- ranges and columns ----------------------------------------------------------------------------------- */

/* From 0 to 1 inside the range. */
static double share_of(const fab_range *r, double x)
{
    return r->log ? log(x / r->lo) / log(r->hi / r->lo) : (x - r->lo) / (r->hi - r->lo);
}

/* A share u in (0, 1) of the range; of whole numbers each has the same share, or its share of the logarithms. */
static double value_of(const fab_range *r, double u)
{
    const double half = r->whole ? 0.5 : 0, lo = r->lo - half, hi = r->hi + half;
    double x = r->log ? exp(log(lo) + u * (log(hi) - log(lo))) : lo + u * (hi - lo);
    if (r->whole) x = nearbyint(x);
    return fmin(fmax(x, r->lo), r->hi);
}

static double column_of(const fab_range *r, double x)
{
    return SPREAD * (share_of(r, x) - 0.5);
}

/* The value that column z stands for, inside the range. */
static double value_at(const fab_range *r, double z)
{
    const double u = z / SPREAD + 0.5;
    double x = r->log ? r->lo * exp(u * log(r->hi / r->lo)) : r->lo + u * (r->hi - r->lo);
    if (r->whole) x = nearbyint(x);
    return fmin(fmax(x, r->lo), r->hi);
}

/* z D -> x ranges */
static void put_values(const fab_propose *o, const double *z, double *x)
{
    for (int64_t j = 0; j < o->p.ranges; j++) x[j] = o->range[j].lo;
    for (int64_t d = 0; d < o->D; d++) x[o->axis[d]] = value_at(&o->range[o->axis[d]], z[d]);
}

/* Shares u in (0, 1), D of them -> z where the values stand. */
static void put_columns(const fab_propose *o, const double *u, double *z)
{
    for (int64_t d = 0; d < o->D; d++) {
        const fab_range *r = &o->range[o->axis[d]];
        z[d] = column_of(r, value_of(r, u[d]));
    }
}

/* z becomes the nearest point that has values. */
static void settle(const fab_propose *o, double *z)
{
    for (int64_t d = 0; d < o->D; d++) {
        const fab_range *r = &o->range[o->axis[d]];
        z[d] = r->whole ? column_of(r, value_at(r, z[d]))
                        : fmin(fmax(z[d], -SPREAD / 2), SPREAD / 2);
    }
}

static int is_told(const fab_propose *o, const double *z)
{
    for (int64_t i = 0; i < o->n + o->believed; i++) {
        int64_t same = 0;
        while (same < o->D && fabs(o->z[i * o->D + same] - z[same]) < NEAR * SPREAD) same++;
        if (same == o->D) return 1;
    }
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------------------- */

static fab_status check_range(fab_range *r)
{
    if (!(r->lo <= r->hi) || !isfinite(r->lo) || !isfinite(r->hi) || (r->log && !(r->lo > 0)))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "propose: %s = %g:%g%s is not a range", r->name, r->lo,
                        r->hi, r->log ? ":log" : "");
    if (!r->whole) return FAB_OK;
    const double lo = ceil(r->lo), hi = floor(r->hi);
    if (!(lo <= hi && fabs(lo) <= 0x1p53 && fabs(hi) <= 0x1p53))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "propose: %s = %g:%g has no whole number up to 2^53",
                        r->name, r->lo, r->hi);
    r->lo = lo, r->hi = hi;
    return FAB_OK;
}

static void layout(fab_layout *l, void *handle)
{
    fab_propose *o = handle;
    const int64_t ranges = o->p.ranges;
    o->range = fab_place(l, ranges, sizeof *o->range);
    o->axis = fab_place(l, ranges, sizeof *o->axis);
    o->climbing = fab_place(l, ranges, sizeof *o->climbing);
    o->theta = fab_place(l, 2 * (ranges + 1), sizeof *o->theta); /* and one more that is tried */
    o->at = fab_place(l, ranges, sizeof *o->at);
    o->slope = fab_place(l, ranges, sizeof *o->slope);
    o->variance_slope = fab_place(l, ranges, sizeof *o->variance_slope);
    o->climb = fab_place(l, ranges, sizeof *o->climb);
    o->found = fab_place(l, ranges, sizeof *o->found);
    o->candidate = fab_place(l, CANDIDATES * ranges, sizeof *o->candidate);
    o->mean = fab_place(l, CANDIDATES, sizeof *o->mean);
    o->variance = fab_place(l, CANDIDATES, sizeof *o->variance);
    o->value = fab_place(l, CANDIDATES, sizeof *o->value);
}

static double promise_there(unsigned n, const double *z, double *gradient, void *ctx);

/* Columns, kernel and optimiser of a plan that was copied. */
static fab_status set_up(fab_propose *o)
{
    for (int64_t j = 0; j < o->p.ranges; j++) {
        FAB_TRY(check_range(&o->range[j]));
        if (!(o->range[j].lo < o->range[j].hi)) continue;
        if (!o->range[j].whole) o->climbing[o->smooth++] = o->D;
        o->axis[o->D++] = j;
    }
    if (o->D == 0) return FAB_OK;
    fab_sobol_init(&o->start, (uint64_t)o->p.seed, FAB_PURPOSE_SEARCH, STREAM - 1, o->D);
    FAB_TRY(fab_kernel_create(&o->kernel, "matern52:ard", o->D, NULL));
    if (o->smooth == 0) return FAB_OK;
    o->opt = nlopt_create(NLOPT_LD_LBFGS, (unsigned)o->smooth);
    if (!o->opt) return FAB_FAIL(FAB_NO_MEMORY, "propose: the optimiser has no memory");
    nlopt_set_max_objective(o->opt, promise_there, o);
    nlopt_set_lower_bounds1(o->opt, -SPREAD / 2);
    nlopt_set_upper_bounds1(o->opt, SPREAD / 2);
    nlopt_set_ftol_rel(o->opt, CLIMB_TOL);
    nlopt_set_maxeval(o->opt, CLIMB_MAX);
    return FAB_OK;
}

fab_status fab_propose_create(fab_propose **o, const fab_propose_plan *plan)
{
    fab_propose proto = {.p = *plan, .watch = fab_watch_of(plan->exec)}, *new;
    *o = NULL;
    if (plan->ranges < 1) return FAB_FAIL(FAB_BAD_ARGUMENT, "propose: no range is given");
    if (plan->starts < 0 || !(plan->xi >= 0 && plan->xi < INFINITY) ||
        !(plan->beta >= 0 && plan->beta < INFINITY) || !fab_acquisition_name(plan->acquisition))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "propose: %lld starts, xi %g, beta %g, acquisition %d; expected numbers "
                        "that are not negative, and an acquisition that is there",
                        (long long)plan->starts, plan->xi, plan->beta, (int)plan->acquisition);
    if (plan->beta == 0) proto.p.beta = BETA_USUAL;
    if (plan->starts == 0) proto.p.starts = plan->ranges + MORE_STARTS;
    FAB_TRY(fab_build((void **)&new, sizeof proto, &proto, layout));
    memcpy(new->range, plan->range, (size_t)plan->ranges * sizeof *plan->range);
    new->p.range = new->range;
    const fab_status s = set_up(new);
    if (s == FAB_OK)
        *o = new;
    else
        fab_propose_free(new);
    return s;
}

void fab_propose_free(fab_propose *o)
{
    if (!o) return;
    nlopt_destroy(o->opt);
    fab_process_free(o->process);
    fab_kernel_free(o->kernel);
    fab_release(o->trial);
    fab_release(o->x);
    fab_release(o->z);
    fab_release(o->mu);
    fab_release(o);
}

/* ---- trials ----------------------------------------------------------------------------------------------- */

static fab_status grow_array(void **p, int64_t used, int64_t room, size_t size)
{
    void *wider;
    FAB_TRY(fab_alloc_array(&wider, room, size, "propose"));
    if (used) memcpy(wider, *p, (size_t)used * size);
    fab_release(*p);
    *p = wider;
    return FAB_OK;
}

/* Room for `more` trials behind those told. */
static fab_status grow(fab_propose *o, int64_t more)
{
    if (o->n + more <= o->room) return FAB_OK;
    const int64_t room = 2 * (o->n + more) + 16, kept = o->room ? o->n : 0;
    FAB_TRY(grow_array((void **)&o->trial, kept, room, sizeof *o->trial));
    FAB_TRY(grow_array((void **)&o->x, kept * o->p.ranges, room * o->p.ranges, sizeof *o->x));
    FAB_TRY(grow_array((void **)&o->z, kept * o->D, room * o->D, sizeof *o->z));
    FAB_TRY(grow_array((void **)&o->mu, kept, room, sizeof *o->mu));
    o->room = room;
    return FAB_OK;
}

static fate fate_of(const fab_propose *o, const double *x, double y)
{
    fate f = GOOD;
    for (int64_t j = 0; j < o->p.ranges; j++) {
        const fab_range *r = &o->range[j];
        if (x[j] >= r->lo && x[j] <= r->hi) continue;
        if (r->lo == r->hi) return ELSEWHERE;
        f = OUTSIDE;
    }
    return isfinite(y) ? f : BAD;
}

fab_status fab_propose_tell(fab_propose *o, const double *x, double y)
{
    for (int64_t j = 0; j < o->p.ranges; j++)
        if (!isfinite(x[j]) || (o->range[j].log && !(x[j] > 0)))
            return FAB_FAIL(FAB_BAD_ARGUMENT, "propose: trial %lld has %s = %g, which is no %s",
                            (long long)o->n, o->range[j].name, x[j],
                            o->range[j].log ? "number with a logarithm" : "finite number");
    FAB_TRY(grow(o, 1));
    o->trial[o->n] = (trial){.y = y, .fate = fate_of(o, x, y)};
    memcpy(o->x + o->n * o->p.ranges, x, (size_t)o->p.ranges * sizeof *x);
    for (int64_t d = 0; d < o->D; d++)
        o->z[o->n * o->D + d] = column_of(&o->range[o->axis[d]], x[o->axis[d]]);
    o->n++;
    return FAB_OK;
}

static int is_good(const trial *t)
{
    return t->fate == GOOD || t->fate == OUTSIDE;
}

/* ---- the process ------------------------------------------------------------------------------------------ */

/* Good trials, and whether they differ. */
static int64_t count_good(const fab_propose *o, int *differ)
{
    int64_t good = 0, first = -1;
    *differ = 0;
    for (int64_t i = 0; i < o->n; i++) {
        if (!is_good(&o->trial[i])) continue;
        if (first < 0) first = i;
        if (o->trial[i].y != o->trial[first].y) *differ = 1;
        good++;
    }
    return good;
}

/* The good trials among which theta is sought when there are `good`: the largest of 2, 3, .., 20, 22, .., each a tenth more. */
static int64_t scheduled(int64_t good)
{
    int64_t s = 2;
    for (;;) {
        const int64_t next = s + (s < 20 ? 1 : s / 10);
        if (next > good) return s;
        s = next;
    }
}

/* Trials up to the `good`th good one. */
static int64_t trials_of(const fab_propose *o, int64_t good)
{
    int64_t i = 0;
    for (; good > 0; i++) good -= is_good(&o->trial[i]);
    return i;
}

/* What is told as a loss. */
static double loss_of(const fab_propose *o, int64_t i)
{
    return o->p.maximise ? -o->trial[i].y : o->trial[i].y;
}

/* A loss on its scale: as it stands, or the logarithm of 1 + d / bend, d what it is above the least one; below that a line. */
static double bend_of(const units *u, double loss)
{
    const double d = loss - u->least;
    if (u->bend == 0) return d;
    return d < 0 ? d / u->bend : log1p(d / u->bend);
}

/* y as the process sees it: larger is better. */
static double y_of(const fab_propose *o, int64_t i)
{
    return -(bend_of(&o->units, loss_of(o, i)) - o->units.shift) / o->units.scale;
}

/* The number told that y stands for. */
static double told_of(const fab_propose *o, double y)
{
    const units *u = &o->units;
    const double w = u->shift - y * u->scale;
    double d = w;
    if (u->bend > 0) d = u->bend * (w < 0 ? w : expm1(w));
    return o->p.maximise ? -(u->least + d) : u->least + d;
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Units of the good ones of the first `trials`, that many, with a bend at `share` of the median above the least (0: none), and y
 * in them.  Returns log |dy / dloss|, summed: what a density of y gains to be one of losses. */
static double find_units(fab_propose *o, int64_t trials, int64_t good, double share, double *y)
{
    units *u = &o->units;
    int64_t n = 0;
    for (int64_t i = 0; i < trials; i++)
        if (is_good(&o->trial[i])) y[n++] = loss_of(o, i);
    qsort(y, (size_t)n, sizeof *y, rising);
    *u = (units){.least = y[0], .bend = share * (y[n / 2] - y[0])};
    double squares = 0, jacobian = 0;
    for (int64_t k = 0; k < n; k++) {
        if (u->bend > 0) jacobian -= log(u->bend + y[k] - y[0]);
        y[k] = bend_of(u, y[k]);
        u->shift += y[k] / (double)good;
    }
    for (int64_t k = 0; k < n; k++) squares += (y[k] - u->shift) * (y[k] - u->shift) / (double)good;
    u->scale = squares > 0 ? sqrt(squares) : 1;
    n = 0;
    for (int64_t i = 0; i < trials; i++)
        if (is_good(&o->trial[i])) y[n++] = y_of(o, i);
    return jacobian - (double)good * log(u->scale);
}

/* The process whose evidence is looked at. */
typedef struct surrogate {
    fab_process *p;
    const double *y;
} surrogate;

static void free_surrogate(void *self)
{
    surrogate *s = self;
    if (!s) return;
    fab_process_free(s->p);
    fab_release(s);
}

static fab_status create_surrogate(void **self, void *ctx, const fab_kernel *k,
                                   const fab_evidence_rows *rows, const fab_exec *x)
{
    surrogate *s;
    (void)ctx;
    *self = NULL;
    FAB_TRY(fab_alloc_array((void **)&s, 1, sizeof *s, "propose"));
    *s = (surrogate){.y = rows->y};
    const fab_status made =
        fab_process_create(&s->p, k, rows->n, rows->X, fab_kernel_columns(k), rows->n, x);
    if (made == FAB_OK)
        *self = s;
    else
        free_surrogate(s);
    return made;
}

/* log of a normal density, but for its constant; *slope grows by its derivative. */
static double prior(double x, double mean, double sd, double *slope)
{
    const double z = (x - mean) / sd;
    if (slope) *slope -= z / sd;
    return -z * z / 2;
}

static fab_status at_surrogate(void *self, const double *theta, double noise, double *lml,
                               double *gradient)
{
    surrogate *s = self;
    FAB_TRY(fab_process_set(s->p, theta));
    FAB_TRY(fab_process_learn(s->p, s->y, NULL, noise));
    FAB_TRY(fab_process_evidence(s->p, lml, gradient));
    const fab_kernel *k = fab_process_kernel(s->p);
    const int64_t size = fab_kernel_size(k);
    const double D = (double)fab_kernel_columns(k);
    for (int64_t i = 0; i < size; i++) {
        fab_kernel_parameter q;
        fab_kernel_parameter_at(k, i, &q);
        double *slope = gradient ? gradient + i : NULL;
        if (q.name[0] == 'l')
            *lml += prior(theta[i], log(SPREAD) + L_MEAN + log(D) / 2, L_SD, slope);
        else
            *lml += prior(theta[i], 0, S2_SD, slope);
    }
    *lml += prior(log(noise), log(NOISE), NOISE_SD, gradient ? gradient + size : NULL);
    return FAB_OK;
}

/* Theta, noise and units of the good trials X, y among the first `trials`. */
static fab_status search_theta(fab_propose *o, int64_t trials, int64_t good, const double *X,
                               double *y, const fab_exec *x)
{
    static const fab_evidence_of how = {create_surrogate, free_surrogate, at_surrogate};
    static const double share[] = {0, 1, 0.1}; /* where a scale of losses bends */
    const fab_evidence_plan plan = {
        .starts = CLIMBS_OF_THETA, .seed = (uint64_t)o->p.seed, .tol = THETA_TOL};
    double *theta = o->theta + fab_kernel_size(o->kernel), noise, best = -INFINITY;
    units chosen = {0};
    for (size_t k = 0; k < sizeof share / sizeof *share; k++) {
        const double jacobian = find_units(o, trials, good, share[k], y);
        const fab_evidence_rows rows = {.n = good, .X = X, .y = y};
        surrogate whole = {.p = o->process, .y = y};
        fab_evidence_report report;
        FAB_TRY(fab_evidence_search(&how, NULL, &whole, o->kernel, &rows, 1, 1, &plan, theta,
                                    &noise, &report, x));
        FAB_TRY(at_surrogate(&whole, theta, noise, &report.lml, NULL));
        const double worth = report.lml + jacobian - (share[k] > 0 ? BENT : 0);
        if (!(worth > best)) continue;
        best = worth;
        chosen = o->units;
        o->noise = noise;
        memcpy(o->theta, theta, (size_t)fab_kernel_size(o->kernel) * sizeof *theta);
    }
    o->units = chosen;
    o->lml = best;
    return FAB_OK;
}

/* 2  A process of the first `good` good trials. */
static fab_status open_process(fab_propose *o, int64_t trials, int64_t good)
{
    const int64_t D = o->D;
    double *X, *y;
    fab_process_free(o->process);
    o->process = NULL;
    FAB_TRY(fab_alloc_array((void **)&X, good * (D + 1), sizeof *X, "propose"));
    y = X + good * D;
    for (int64_t i = 0, row = 0; i < trials; i++)
        if (is_good(&o->trial[i])) memcpy(X + row++ * D, o->z + i * D, (size_t)D * sizeof *X);
    const fab_exec x = fab_watch_exec(&o->watch, (fab_exec){.threads = 1});
    fab_status s = fab_process_create(&o->process, o->kernel, good, X, D, 2 * o->room, &x);
    if (s == FAB_OK && o->searched != good) {
        o->searched = 0;
        s = search_theta(o, trials, good, X, y, &x);
        if (s == FAB_OK) o->searched = good;
    }
    o->worst = INFINITY;
    for (int64_t i = 0, row = 0; i < trials && s == FAB_OK; i++) {
        if (!is_good(&o->trial[i])) continue;
        y[row] = y_of(o, i);
        o->worst = fmin(o->worst, y[row++]);
    }
    if (s == FAB_OK) s = fab_process_set(o->process, o->theta);
    if (s == FAB_OK) s = fab_process_learn(o->process, y, NULL, o->noise);
    fab_release(X);
    return s;
}

/* 3  Trial i becomes a row. */
static fab_status append(fab_propose *o, int64_t i)
{
    const double *z = o->z + i * o->D;
    double y;
    if (o->trial[i].fate == ELSEWHERE) return FAB_OK;
    if (is_good(&o->trial[i])) {
        y = y_of(o, i);
        o->worst = fmin(o->worst, y);
    } else {
        FAB_TRY(fab_process_predict(o->process, 1, z, o->D, &y, NULL, NULL));
        y = fmin(y, o->worst);
    }
    const fab_status s = fab_process_append(o->process, z, y, 1);
    return s == FAB_NUMERIC ? FAB_OK : s; /* nothing is left to learn there under this theta */
}

/* The process of all trials told. */
static fab_status catch_up(fab_propose *o, int64_t good)
{
    const int64_t sought = scheduled(good), trials = trials_of(o, sought);
    if (!o->process || o->searched != sought || o->used < 0) {
        o->used = -1;
        FAB_TRY(open_process(o, trials, sought));
        for (int64_t i = 0; i < trials; i++)
            if (!is_good(&o->trial[i])) FAB_TRY(append(o, i));
        o->used = trials;
    }
    for (; o->used < o->n; o->used++) FAB_TRY(append(o, o->used));
    return FAB_OK;
}

/* ---- the acquisition -------------------------------------------------------------------------------------- */

static double promise_of(const fab_propose *o, double mean, double variance)
{
    double by_mean, by_sd;
    return fab_promise_at(&o->promise, mean, fmax(sqrt(variance), SD_LEAST), &by_mean, &by_sd);
}

/* The value at o->at, with the columns that are smooth from z, and its gradient by these. */
static double promise_there(unsigned n, const double *z, double *gradient, void *ctx)
{
    fab_propose *o = ctx;
    double mean, variance, by_mean, by_sd;
    for (unsigned i = 0; i < n; i++) o->at[o->climbing[i]] = z[i];
    o->status =
        fab_process_slopes(o->process, o->at, &mean, &variance, o->slope, o->variance_slope);
    if (o->status != FAB_OK) {
        nlopt_force_stop(o->opt);
        return 0;
    }
    const double sd = fmax(sqrt(variance), SD_LEAST);
    const double value = fab_promise_at(&o->promise, mean, sd, &by_mean, &by_sd);
    for (unsigned i = 0; i < n && gradient; i++) {
        const int64_t d = o->climbing[i];
        gradient[i] = by_mean * o->slope[d] + by_sd * o->variance_slope[d] / (2 * sd);
    }
    return value;
}

/* Climb from z along the smooth columns. */
static fab_status climb(fab_propose *o, double *z, double *value)
{
    if (o->smooth == 0) return FAB_OK;
    memcpy(o->at, z, (size_t)o->D * sizeof *z);
    for (int64_t i = 0; i < o->smooth; i++) o->climb[i] = z[o->climbing[i]];
    double top = *value;
    o->status = FAB_OK;
    const nlopt_result r = nlopt_optimize(o->opt, o->climb, &top);
    FAB_TRY(o->status);
    if (r == NLOPT_OUT_OF_MEMORY)
        return FAB_FAIL(FAB_NO_MEMORY, "propose: the optimiser has no memory");
    if (!(top > *value)) return FAB_OK; /* limited by rounding at once */
    for (int64_t i = 0; i < o->smooth; i++) z[o->climbing[i]] = o->climb[i];
    *value = top;
    return FAB_OK;
}

/* The best single step of a whole number from z; *moved says whether there is one. */
static fab_status step(fab_propose *o, double *z, double *value, int *moved)
{
    int64_t column = -1;
    double to = 0, top = *value;
    for (int64_t d = 0; d < o->D; d++) {
        const fab_range *r = &o->range[o->axis[d]];
        const double kept = z[d], x = value_at(r, z[d]);
        for (int sign = -1; sign <= 1 && r->whole; sign += 2) {
            double mean, variance;
            if (x + sign < r->lo || x + sign > r->hi) continue;
            z[d] = column_of(r, x + sign);
            FAB_TRY(fab_process_predict(o->process, 1, z, o->D, &mean, &variance, NULL));
            const double there = promise_of(o, mean, variance);
            if (there > top && !is_told(o, z)) {
                top = there;
                column = d;
                to = z[d];
            }
        }
        z[d] = kept;
    }
    *moved = column >= 0;
    if (*moved) z[column] = to;
    *value = top;
    return FAB_OK;
}

/* ---- candidates ------------------------------------------------------------------------------------------- */

/* 4  The good trials inside the ranges, and points believed, with the CENTRES largest means, best first. */
static fab_status find_centres(fab_propose *o, int64_t *centre, int64_t *centres)
{
    *centres = 0;
    const int64_t n = o->n + o->believed;
    FAB_TRY(fab_process_predict(o->process, n, o->z, o->D, o->mu, NULL, NULL));
    o->expected = o->n;
    for (int64_t c = 0; c < CENTRES; c++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++) {
            int taken = o->trial[i].fate != GOOD;
            for (int64_t k = 0; k < c; k++) taken |= centre[k] == i;
            if (!taken && (best < 0 || o->mu[i] > o->mu[best])) best = i;
        }
        if (best < 0) break;
        centre[(*centres)++] = best;
    }
    return FAB_OK;
}

/* 5  Points spread evenly, and around the best trials, nearer and nearer; how many. */
static int64_t spread_candidates(fab_propose *o, const int64_t *centre, int64_t centres)
{
    const uint64_t stream = STREAM + (uint64_t)(o->n + o->believed);
    fab_sobol even;
    int64_t m = 0;
    fab_sobol_init(&even, (uint64_t)o->p.seed, FAB_PURPOSE_SEARCH, stream, o->D);
    for (; m < EVEN; m++) {
        double *z = o->candidate + m * o->D;
        fab_sobol_point(&even, (uint64_t)m, z);
        put_columns(o, z, z);
    }
    for (int64_t c = 0; c < centres; c++)
        for (int64_t k = 0; k < AROUND; k++, m++) {
            double *z = o->candidate + m * o->D, *from = o->z + centre[c] * o->D;
            const double sd = SPREAD * AROUND_SD * pow(0.5, (double)(k % AROUND_SIZES));
            fab_random_normal((uint64_t)o->p.seed, FAB_PURPOSE_SEARCH, stream,
                              (uint64_t)((c * AROUND + k) * o->D) + NORMALS_FROM, o->D, FAB_F64, z);
            for (int64_t d = 0; d < o->D; d++) z[d] = from[d] + sd * z[d];
            settle(o, z);
        }
    return m;
}

/* z is a better point than the one found so far, and was not told. */
static void keep(fab_propose *o, const double *z, double value)
{
    if (!(value > o->found_value) || is_told(o, z)) return;
    o->found_value = value;
    memcpy(o->found, z, (size_t)o->D * sizeof *z);
}

/* The best of the m candidates that is not near one that was climbed from; -1: none. */
static int64_t next_start(const fab_propose *o, int64_t m, const int64_t *start, int64_t starts)
{
    int64_t best = -1;
    for (int64_t i = 0; i < m; i++) {
        const double *z = o->candidate + i * o->D;
        int near = best >= 0 && !(o->value[i] > o->value[best]);
        for (int64_t s = 0; s < starts && !near; s++) {
            double far = 0;
            for (int64_t d = 0; d < o->D; d++)
                far = fmax(far, fabs(z[d] - o->candidate[start[s] * o->D + d]));
            near = far < APART * SPREAD;
        }
        if (!near) best = i;
    }
    return best;
}

/* From candidate i to the top. */
static fab_status climb_from(fab_propose *o, int64_t i)
{
    double *z = o->candidate + i * o->D, value = o->value[i];
    int moved = 1;
    for (int64_t round = 0; round < STEP_ROUNDS && moved; round++) {
        FAB_TRY(climb(o, z, &value));
        keep(o, z, value);
        moved = 0;
        if (o->smooth < o->D) FAB_TRY(step(o, z, &value, &moved));
    }
    keep(o, z, value);
    return FAB_OK;
}

/* One point where a process is, to o->found. */
static fab_status find_point(fab_propose *o)
{
    int64_t centre[CENTRES], centres, start[CLIMBS];
    FAB_TRY(find_centres(o, centre, &centres));
    const int64_t m = spread_candidates(o, centre, centres);
    memcpy(o->found, o->candidate, (size_t)o->D * sizeof *o->found); /* where all were told */
    o->found_value = -INFINITY;
    if (o->p.acquisition == FAB_ACQUISITION_THOMPSON) {
        FAB_TRY(fab_process_draw(o->process, m, o->candidate, o->D, (uint64_t)o->p.seed,
                                 FAB_PURPOSE_SEARCH, o->n + o->believed, 1, o->value, m));
        for (int64_t i = 0; i < m; i++) keep(o, o->candidate + i * o->D, o->value[i]);
        return FAB_OK;
    }
    o->promise = (fab_promise){.kind = o->p.acquisition,
                               .best = centres ? o->mu[centre[0]] : 0,
                               .xi = o->p.xi,
                               .beta = o->p.beta};
    FAB_TRY(fab_process_predict(o->process, m, o->candidate, o->D, o->mean, o->variance, NULL));
    for (int64_t i = 0; i < m; i++) {
        o->value[i] = promise_of(o, o->mean[i], o->variance[i]);
        keep(o, o->candidate + i * o->D, o->value[i]);
    }
    for (int64_t s = 0; s < CLIMBS; s++) {
        start[s] = next_start(o, m, start, s);
        if (start[s] < 0) break;
        FAB_TRY(climb_from(o, start[s]));
    }
    return FAB_OK;
}

/* ---- questions -------------------------------------------------------------------------------------------- */

/* 1  The next of Sobol's points that was not told; where all were, the next one. */
static void start_point(fab_propose *o)
{
    const uint64_t first = (uint64_t)(o->n + o->believed);
    for (uint64_t i = 0; i < EVEN; i++) {
        fab_sobol_point(&o->start, first + (i < EVEN - 1 ? i : 0), o->found);
        put_columns(o, o->found, o->found);
        if (!is_told(o, o->found)) return;
    }
}

/* 6 */
static fab_status believe(fab_propose *o)
{
    double mean;
    if (o->modelled && o->p.acquisition != FAB_ACQUISITION_THOMPSON) {
        FAB_TRY(fab_process_predict(o->process, 1, o->found, o->D, &mean, NULL, NULL));
        const fab_status s = fab_process_append(o->process, o->found, mean, 1);
        if (s != FAB_OK && s != FAB_NUMERIC) return s;
    }
    const int64_t i = o->n + o->believed++;
    o->trial[i] = (trial){.y = NAN, .fate = GOOD};
    memcpy(o->z + i * o->D, o->found, (size_t)o->D * sizeof *o->z);
    return FAB_OK;
}

fab_status fab_propose_ask(fab_propose *o, int64_t n, double *x)
{
    if (n < 1 || n > MOST_ASKED)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "propose: %lld points are asked for; from 1 to %d can be",
                        (long long)n, MOST_ASKED);
    int differ;
    const int64_t good = count_good(o, &differ);
    FAB_TRY(grow(o, n));
    if (o->believed && o->modelled) o->used = -1; /* rows that were not told */
    o->believed = 0;
    o->modelled = o->D > 0 && good >= o->p.starts && good >= 2 && differ;
    if (o->modelled) FAB_TRY(catch_up(o, good));
    for (int64_t i = 0; i < n; i++) {
        FAB_TRY(fab_watch_tick(&o->watch, "propose", i, n));
        if (o->modelled)
            FAB_TRY(find_point(o));
        else if (o->D > 0)
            start_point(o);
        put_values(o, o->found, x + i * o->p.ranges);
        if (i < n - 1) FAB_TRY(believe(o));
    }
    return FAB_OK;
}

/* ---- answers ---------------------------------------------------------------------------------------------- */

int64_t fab_propose_best(const fab_propose *o)
{
    int64_t best = -1;
    const int modelled = o->modelled && o->expected == o->n;
    for (int64_t i = 0; i < o->n; i++) {
        if (o->trial[i].fate != GOOD) continue;
        const double sign = o->p.maximise ? 1 : -1;
        const int better = best < 0 || (modelled ? o->mu[i] > o->mu[best]
                                                 : sign * o->trial[i].y > sign * o->trial[best].y);
        if (better) best = i;
    }
    return best;
}

const double *fab_propose_trial(const fab_propose *o, int64_t i, double *y)
{
    if (i < 0 || i >= o->n) return NULL;
    *y = o->trial[i].y;
    return o->x + i * o->p.ranges;
}

fab_status fab_propose_look(fab_propose *o, int64_t n, const double *x, double *median,
                            double *lower, double *upper, double *acquisition)
{
    if (!o->modelled || !o->process)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "propose: the last answer came of no process");
    for (int64_t i = 0; i < n; i++) {
        double mean, variance;
        for (int64_t d = 0; d < o->D; d++) {
            const int64_t j = o->axis[d];
            o->at[d] = column_of(&o->range[j], x[i * o->p.ranges + j]);
        }
        FAB_TRY(fab_process_predict(o->process, 1, o->at, o->D, &mean, &variance, NULL));
        const double far = FROM_MEDIAN * sqrt(variance);
        const double a = told_of(o, mean - far), b = told_of(o, mean + far);
        median[i] = told_of(o, mean);
        lower[i] = fmin(a, b);
        upper[i] = fmax(a, b);
        if (acquisition)
            acquisition[i] =
                o->p.acquisition == FAB_ACQUISITION_THOMPSON ? 0 : promise_of(o, mean, variance);
    }
    return FAB_OK;
}

void fab_propose_report_of(const fab_propose *o, fab_propose_report *r)
{
    *r = (fab_propose_report){.trials = o->n, .modelled = o->modelled};
    for (int64_t i = 0; i < o->n; i++) {
        r->failed += o->trial[i].fate == BAD;
        r->outside += o->trial[i].fate == OUTSIDE;
        r->elsewhere += o->trial[i].fate == ELSEWHERE;
    }
    if (!o->modelled) return;
    r->lml = o->lml;
    r->noise = o->noise;
    r->kernel = fab_process_kernel(o->process);
}
