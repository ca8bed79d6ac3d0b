/* evidence.c - parameters of a kernel and the noise, where the evidence of a Gaussian process is largest.
 *
 *   1  the first start: length-scales at the median distance of rows, variances that share the mean square of y with a
 *      noise of a tenth of it; or where the kernel stands
 *   2  the others: Sobol's points around it, in logarithms; those that explain RANKED rows best.  Of the first start with its
 *      length-scales LONG times as long the best too: points of many columns are seldom long in all of them
 *   3  from each of them some steps of NLopt's L-BFGS within the bounds, over logarithms; on at most FEW rows
 *   4  a sum is at least as good as any part of it: without each of its terms, and for each alone, 1 to 3 with what is left out as
 *      faint as it can be, on RANKED rows.  The best ends of each part that differ are more starts of 3
 *   5  the best ends that differ, and that of each part, go on to their ends, on at most plan->rows.  A term that is faint there
 *      has no slope by log s2, and is tried at LOUDER variances
 *   6  the best of them: all rows are learned there
 *
 * A quasi-Newton method that ends by its tolerance may be in a narrow valley: it starts again there while that still gains.
 * Where no factor can be had the evidence is taken for one that is worse than any, and the search turns back.
 *
 * Two rows with the same columns and the same y add -log(noise)/2 to the evidence as the noise vanishes: it has no bound, and every
 * row would become an island of its own.  A table that has rows twice is searched as if it had them once.
 *
 * SPDX-License-Identifier: MIT */
#include "train/evidence.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/sobol.h"
#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

#define TENTH    0.1  /* of the mean square of y: the noise to begin with */
#define QUIETEST 1e-8 /* and its bounds */
#define LOUDEST  1e2
#define TOL      1e-9
#define SPREAD   2.303 /* log 10: the points reach so far from the first start */
#define WIDE     3.401 /* log 30: of length-scales */
#define FAINT    1e-4  /* of noise: from here times the mean square of y, to a half */
#define APART    0.05  /* nats: ends that differ by more are different */
#define DISTANT  0.5   /* of few rows, which speak of all with some error */
#define HOPELESS 50.0  /* nats below the best: the end of a part that goes no further */
#define FAR      1.0   /* in logarithms: ends that are further apart are different too */
#define EDGE     1e-4  /* in logarithms: so near to a bound is at it */
#define GAIN     1e-7  /* nats worth to start again */
#define BAD      1e6   /* nats below the worst: no factor */
#define LONG     2.303 /* log 10: a start with lengths so much longer than the first, */
#define STEEP    4.605 /* log 100: and variances as they are, or so much larger */
#define SILENT   1.0   /* in logarithms above its lower bound: a variance that is all but nothing */

enum {
    RANKED = 200,
    FEW = 500,
    ROWS = 2000,
    PAIRS = 60,      /* rows whose distances are looked at */
    CANDIDATES = 64, /* points */
    LEAST_STARTS = 5,
    MOST_STARTS = 10,
    FINALISTS = FAB_EVIDENCE_ENDS,
    LONGS = 4,
    PARTS = 8,       /* of a sum, at most, */
    PART_STARTS = 3, /* of which so many ends are starts */
    LOUDER = 3,
    MEMORY = 10,       /* of L-BFGS */
    FIRST = 25,        /* evaluations of a search on few rows */
    EVALUATIONS = 400, /* and of one that goes on, */
    USUAL = 60,        /* as a rule; more are told as the last one */
    AGAIN = 4
};

typedef struct search {
    const fab_evidence_of *how;
    void *ctx, *whole;
    const fab_kernel *kernel;
    fab_evidence_rows rows;
    int64_t D, size, coordinates, starts, candidates, longs, shown; /* rows of the order */
    int64_t terms, parts;                                           /* of the kernel; */
    int64_t
        which[PARTS]; /* +t: without term t; -t: term t without the others; terms count from 1 */
    int noisy;
    double scale; /* the mean square of y */
    double noise, tol;
    fab_exec exec;
    fab_watch watch;
    uint64_t seed;
    const fab_evidence_plan *plan;

    int64_t *at;       /* coordinates: its parameter of the kernel, size: the noise */
    double *lo, *hi;   /* coordinates each */
    double *theta;     /* size: of the kernel, fixed ones too; 1 */
    double *gradient;  /* size + 1 */
    double *point;     /* (1 + candidates + longs) x coordinates */
    double *worth;     /* 1 + candidates + longs: log evidence of RANKED rows */
    double *start;     /* (starts + more) x coordinates, */
    int64_t *start_of; /* of the whole, 0, or of a part */
    double *end;       /* the same of ends, */
    int64_t *end_of;
    double *lml;    /* with the log evidence, */
    int *converged; /* and whether the search ended by itself */
    double *more;   /* parts x PART_STARTS x coordinates: their ends, */
    int64_t *more_of;
    double *kept;     /* coordinates */
    double *u;        /* coordinates: where it stands */
    int64_t *order;   /* n: the rows shown, in a random order */
    int64_t *slot;    /* slots: of a table of them */
    double *distance; /* PAIRS (PAIRS - 1) / 2 */
    double *near;     /* PAIRS x D: rows */

    void *ask;      /* who is asked: the whole, or */
    void *part;     /* of some rows; owned; or NULL */
    double *part_X; /* of them; owned */
    double *part_y, *part_weight, *part_offset;

    nlopt_opt opt;
    int64_t evaluations, expected;
    fab_status status; /* of an evaluation that failed */
    double worst;      /* of them that did not */
} search;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static double within(double x, double lo, double hi)
{
    return x < lo ? lo : (x > hi ? hi : x);
}

/* ---- the evidence ------------------------------------------------------------------------------------- */

/* The parameters that u stands for. */
static double take(search *s, const double *u)
{
    double noise = s->noise;
    for (int64_t i = 0; i < s->coordinates; i++) {
        if (s->at[i] == s->size)
            noise = exp(u[i]);
        else
            s->theta[s->at[i]] = u[i];
    }
    return noise;
}

static fab_status tell(const search *s)
{
    return fab_watch_tick(&s->watch, "evidence", least(s->evaluations, s->expected), s->expected);
}

/* What a process of some rows tells is a part of the search. */
static int inside(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    return tell(ctx) != FAB_OK;
}

/* -log evidence, for NLopt */
static double evaluate(unsigned n, const double *u, double *slope, void *ctx)
{
    search *s = ctx;
    double lml = NAN;
    if (s->status != FAB_OK) return s->worst + BAD; /* told to stop, it may ask once more */
    s->evaluations++;
    s->status = tell(s);
    const double noise = take(s, u);
    if (s->status == FAB_OK)
        s->status = s->how->at(s->ask, s->theta, noise, &lml, slope ? s->gradient : NULL);
    const int failed = s->status == FAB_NUMERIC || (s->status == FAB_OK && !isfinite(lml));
    if (failed) s->status = FAB_OK;
    if (s->status != FAB_OK && s->opt) nlopt_force_stop(s->opt);
    if (s->status == FAB_OK && !failed) s->worst = fmax(s->worst, -lml);
    if (failed || s->status != FAB_OK) lml = -s->worst - BAD;
    for (unsigned i = 0; i < n && slope; i++) slope[i] = failed ? 0 : -s->gradient[s->at[i]];
    return -lml;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

static void close_part(search *s)
{
    s->how->close(s->part);
    fab_release(s->part_X);
    s->part = NULL;
    s->part_X = NULL;
}

/* Ask about the first m rows of the random order from now on; about all of them where there are no more. */
static fab_status ask_rows(search *s, int64_t m)
{
    const fab_evidence_rows *all = &s->rows;
    close_part(s);
    s->worst = 0;
    s->ask = s->whole;
    if (m == all->n) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&s->part_X, m * s->D, sizeof(double), "evidence"));
    for (int64_t i = 0; i < m; i++) {
        const int64_t row = s->order[i];
        memcpy(s->part_X + i * s->D, all->X + row * s->D, (size_t)s->D * sizeof(double));
        s->part_y[i] = all->y[row];
        if (all->weight) s->part_weight[i] = all->weight[row];
        if (all->offset) s->part_offset[i] = all->offset[row];
    }
    const fab_evidence_rows some = {.n = m,
                                    .X = s->part_X,
                                    .y = s->part_y,
                                    .weight = all->weight ? s->part_weight : NULL,
                                    .offset = all->offset ? s->part_offset : NULL};
    fab_exec x = s->exec;
    x.progress = inside;
    x.progress_ctx = s;
    FAB_TRY(s->how->create(&s->part, s->ctx, s->kernel, &some, &x));
    s->ask = s->part;
    return FAB_OK;
}

/* ---- rows that repeat another ------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, double x)
{
    uint64_t bits;
    x += 0.0; /* -0 is 0 */
    memcpy(&bits, &x, sizeof bits);
    h = (h ^ bits) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_of(const search *s, int64_t row)
{
    const fab_evidence_rows *r = &s->rows;
    uint64_t h = mix(1, r->y[row]);
    if (r->weight) h = mix(h, r->weight[row]);
    for (int64_t j = 0; j < s->D; j++) h = mix(h, r->X[row * s->D + j]);
    return h;
}

static int same_row(const search *s, int64_t a, int64_t b)
{
    const fab_evidence_rows *r = &s->rows;
    if (r->y[a] != r->y[b] || (r->weight && r->weight[a] != r->weight[b])) return 0;
    for (int64_t j = 0; j < s->D; j++)
        if (r->X[a * s->D + j] != r->X[b * s->D + j]) return 0;
    return 1;
}

static int64_t slots(int64_t n)
{
    int64_t size = 1;
    while (size < 2 * n) size *= 2;
    return size;
}

/* Of rows that are the same the order keeps the first. */
static void pass_over_repeats(search *s)
{
    const int64_t size = slots(s->rows.n);
    for (int64_t k = 0; k < size; k++) s->slot[k] = -1;
    s->shown = 0;
    for (int64_t i = 0; i < s->rows.n; i++) {
        const int64_t row = s->order[i];
        uint64_t k = hash_of(s, row) % (uint64_t)size;
        while (s->slot[k] >= 0 && !same_row(s, s->slot[k], row)) k = (k + 1) % (uint64_t)size;
        if (s->slot[k] >= 0) continue;
        s->slot[k] = row;
        s->order[s->shown++] = row;
    }
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median distance of rows in one column, or in all (column < 0): of those that differ; 0: none does. */
static double median_distance(search *s, int64_t column)
{
    const int64_t rows = least(s->shown, PAIRS), D = s->D;
    int64_t n = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < i; j++) {
            double q = 0;
            for (int64_t c = column < 0 ? 0 : column; c < (column < 0 ? D : column + 1); c++) {
                const double d = s->near[i * D + c] - s->near[j * D + c];
                q += d * d;
            }
            if (q > 0) s->distance[n++] = sqrt(q);
        }
    if (n == 0) return 0;
    qsort(s->distance, (size_t)n, sizeof *s->distance, rising);
    return s->distance[n / 2];
}

static int is_length(const fab_kernel_parameter *p)
{
    return strcmp(p->name, "l") == 0 && strcmp(p->kernel, "linear") != 0 &&
           strcmp(p->kernel, "periodic") != 0;
}

/* Length-scales of single columns that share the distance of rows with this one. */
static int64_t sharing(const search *s, const fab_kernel_parameter *p)
{
    fab_kernel_parameter other;
    int64_t n = 0;
    for (int64_t i = 0; i < s->size; i++) {
        fab_kernel_parameter_at(s->kernel, i, &other);
        n += is_length(&other) && other.column >= 0 && strcmp(other.kernel, p->kernel) == 0;
    }
    return n;
}

/* Parameter i of the coordinates. */
static fab_kernel_parameter parameter_of(const search *s, int64_t i)
{
    fab_kernel_parameter p = {.name = "noise", .kernel = "", .column = -1};
    if (s->at[i] < s->size) fab_kernel_parameter_at(s->kernel, s->at[i], &p);
    return p;
}

static int is_variance(const fab_kernel_parameter *p)
{
    return strcmp(p->name, "s2") == 0;
}

/* Is parameter i of the kernel one of a term that part 1 .. parts leaves out?  0: the whole.  Parameters stand behind the s2 of the
 * first term that has them. */
static int is_left_out(const search *s, int64_t part, int64_t i)
{
    fab_kernel_parameter p, variance = {0};
    int64_t term = 0;
    if (part == 0 || i >= s->size) return 0;
    for (int64_t j = 0; j <= i; j++) {
        fab_kernel_parameter_at(s->kernel, j, &p);
        if (!is_variance(&p)) continue;
        variance = p;
        term++;
    }
    const int64_t one = s->which[part - 1];
    return one > 0 ? term == one : !variance.fixed && term != -one;
}

/* The variances of s2 in u of what a part leaves out. */
static void leave_out(const search *s, int64_t part, double *u)
{
    for (int64_t i = 0; i < s->coordinates; i++) {
        const fab_kernel_parameter p = parameter_of(s, i);
        if (is_variance(&p) && is_left_out(s, part, s->at[i])) u[i] = s->lo[i];
    }
}

static fab_status scale_variances(search *s, int64_t part)
{
    const int64_t rows = least(s->shown, PAIRS);
    fab_kernel *k;
    double sum = 0;
    for (int64_t i = 0; i < s->size; i++) {
        fab_kernel_parameter p;
        fab_kernel_parameter_at(s->kernel, i, &p);
        if (!p.fixed && is_variance(&p) && is_left_out(s, part, i)) s->theta[i] = log(p.lo);
    }
    FAB_TRY(fab_kernel_copy(&k, s->kernel));
    const fab_status set = fab_kernel_set(k, s->theta);
    if (set == FAB_OK) fab_kernel_diag(k, rows, s->near, s->D, s->distance);
    fab_kernel_free(k);
    FAB_TRY(set);
    for (int64_t i = 0; i < rows; i++) sum += s->distance[i];
    const double by = (1 - TENTH) * s->scale * (double)rows / sum;
    if (!(by > 0 && isfinite(by))) return FAB_OK;
    for (int64_t i = 0; i < s->size; i++) {
        fab_kernel_parameter p;
        fab_kernel_parameter_at(s->kernel, i, &p);
        if (p.fixed || !is_variance(&p) || is_left_out(s, part, i)) continue;
        const double wanted = s->theta[i] + log(by);
        s->theta[i] = within(wanted, log(p.lo), log(p.hi));
        if (s->theta[i] != wanted && !(s->scale >= p.lo && s->scale <= p.hi))
            return FAB_FAIL(FAB_BAD_DATA,
                            "evidence: y is about %.3g in size, and a variance s2 is looked for "
                            "between %g and %g: standardise y, or give s2 as a factor in the "
                            "kernel's text",
                            sqrt(s->scale), p.lo, p.hi);
    }
    return FAB_OK;
}

/* Length-scales at the median distance of rows.  Where none of these is one that is looked for, the kernel sees all rows as the
 * same or all as strangers, and nothing would be learned. */
static fab_status scale_lengths(search *s)
{
    int64_t found = 0, inside = 0;
    double last = 0;
    fab_kernel_parameter p, length = {0};
    for (int64_t i = 0; i < s->size; i++) {
        fab_kernel_parameter_at(s->kernel, i, &p);
        if (p.fixed || !is_length(&p)) continue;
        const double by = p.column < 0 ? 1 : sqrt((double)sharing(s, &p));
        const double distance = by * median_distance(s, p.column);
        if (!(distance > 0)) continue;
        s->theta[i] = within(log(distance), log(p.lo), log(p.hi));
        found++;
        inside += distance >= p.lo && distance <= p.hi;
        last = distance;
        length = p;
    }
    if (found == 0 || inside > 0) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA,
                    "evidence: rows are about %.3g apart, and a length-scale is looked for between "
                    "%g and %g: standardise the columns, or give l in the kernel's text",
                    last, length.lo, length.hi);
}

static fab_status first_start(search *s, int64_t part)
{
    const fab_evidence_plan *plan = s->plan;
    const int64_t rows = least(s->shown, PAIRS);
    for (int64_t i = 0; i < rows; i++)
        memcpy(s->near + i * s->D, s->rows.X + s->order[i] * s->D, (size_t)s->D * sizeof *s->near);
    fab_kernel_get(s->kernel, s->theta);
    if (!plan->here) FAB_TRY(scale_lengths(s));
    if (!plan->here) FAB_TRY(scale_variances(s, part));
    const double noise = plan->noise_start > 0 ? plan->noise_start : TENTH * s->scale;
    for (int64_t i = 0; i < s->coordinates; i++)
        s->point[i] =
            within(s->at[i] == s->size ? log(noise) : s->theta[s->at[i]], s->lo[i], s->hi[i]);
    return FAB_OK;
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

/* Points in the coordinates of a part; the others are those of the first start. */
static void spread(search *s, int64_t part)
{
    const int64_t P = s->coordinates;
    double *place = s->u;
    fab_sobol points;
    int64_t open = 0;
    for (int64_t i = 0; i < P; i++) open += !is_left_out(s, part, s->at[i]);
    fab_sobol_init(&points, s->seed, FAB_PURPOSE_START, 2, open);
    for (int64_t c = 1; c <= s->candidates; c++) {
        double *u = s->point + c * P;
        fab_sobol_point(&points, (uint64_t)c - 1, place);
        for (int64_t i = 0, k = 0; i < P; i++) {
            const fab_kernel_parameter p = parameter_of(s, i);
            const double reach = is_length(&p) ? WIDE : SPREAD;
            double lo = s->point[i] - reach, hi = s->point[i] + reach;
            u[i] = s->point[i];
            if (is_left_out(s, part, s->at[i])) continue;
            if (s->at[i] == s->size) {
                lo = log(FAINT * s->scale);
                hi = log(s->scale / 2);
            }
            lo = within(lo, s->lo[i], s->hi[i]);
            hi = within(hi, s->lo[i], s->hi[i]);
            u[i] = lo + (hi - lo) * place[k++];
        }
    }
    for (int64_t c = 0; c < s->longs; c++) { /* with more noise or less, and steep or not */
        double *u = s->point + (1 + s->candidates + c) * P;
        for (int64_t i = 0; i < P; i++) {
            const fab_kernel_parameter p = parameter_of(s, i);
            double x = s->point[i];
            if (is_length(&p)) x += LONG;
            if (is_variance(&p) && c % 2) x += STEEP;
            if (s->at[i] == s->size && c / 2) x = log(s->scale / 2);
            u[i] = within(x, s->lo[i], s->hi[i]);
        }
        leave_out(s, part, u);
    }
}

/* The best of points first .. end - 1 that was not taken yet. */
static int64_t take_best(search *s, int64_t first, int64_t end)
{
    int64_t best = first;
    for (int64_t c = first + 1; c < end; c++)
        if (s->worth[c] > s->worth[best]) best = c;
    s->worth[best] = -INFINITY;
    return best;
}

/* The starts: the first one, the best of the long ones, the best of all others. */
static fab_status rank(search *s)
{
    const int64_t P = s->coordinates, long_ones = 1 + s->candidates, all = long_ones + s->longs;
    for (int64_t c = 1; c < all; c++) {
        s->worth[c] = -evaluate((unsigned)P, s->point + c * P, NULL, s);
        FAB_TRY(s->status);
    }
    for (int64_t k = 0; k < s->starts; k++) {
        int64_t c = 0;
        if (k == 1 && s->longs)
            c = take_best(s, long_ones, all);
        else if (k > 0)
            c = take_best(s, 1, all);
        memcpy(s->start + k * P, s->point + c * P, (size_t)P * sizeof *s->start);
    }
    return FAB_OK;
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

/* From u to the end of a search that is there in its place. */
static fab_status climb(search *s, int times, double *lml, int *converged)
{
    double before = INFINITY;
    const int64_t most = s->plan->evaluations > 0 ? s->evaluations + s->plan->evaluations : 0;
    for (int again = 0; again < times; again++) {
        double value = INFINITY;
        if (most && s->evaluations >= most) break;
        if (most) nlopt_set_maxeval(s->opt, (int)(most - s->evaluations));
        const nlopt_result r = nlopt_optimize(s->opt, s->u, &value);
        FAB_TRY(s->status);
        if (r == NLOPT_OUT_OF_MEMORY)
            return FAB_FAIL(FAB_NO_MEMORY, "evidence: the optimiser has no memory");
        if (r == NLOPT_INVALID_ARGS)
            return FAB_FAIL(FAB_NUMERIC, "evidence: the optimiser refuses its bounds");
        *converged = r != NLOPT_MAXEVAL_REACHED; /* limited by rounding is as far as it goes */
        *lml = -value;
        if (!(before - value > GAIN + s->tol * fabs(value)) && again > 0) break;
        before = value;
    }
    return FAB_OK;
}

/* Where a term is all but nothing the evidence has no slope by the logarithm of its variance: larger ones are tried. */
static fab_status wake(search *s, double *lml, int *converged)
{
    static const double louder[LOUDER] = {1e-4, 1e-2, 0.1};
    const int64_t P = s->coordinates;
    for (int64_t i = 0; i < P && s->terms > 1; i++) {
        double best = -*lml, at = s->u[i];
        const fab_kernel_parameter p = parameter_of(s, i);
        if (!is_variance(&p) || at - s->lo[i] > SILENT) continue;
        memcpy(s->kept, s->u, (size_t)P * sizeof *s->u);
        for (int k = 0; k < LOUDER; k++) {
            s->u[i] = within(log(louder[k] * s->scale), s->lo[i], s->hi[i]);
            const double value = evaluate((unsigned)P, s->u, NULL, s);
            FAB_TRY(s->status);
            if (value < best) {
                best = value;
                at = s->u[i];
            }
        }
        s->u[i] = at;
        if (at == s->kept[i]) continue;
        double value = -INFINITY;
        int ended = 0;
        FAB_TRY(climb(s, AGAIN, &value, &ended));
        if (value > *lml) {
            *lml = value;
            *converged = ended;
        } else {
            memcpy(s->u, s->kept, (size_t)P * sizeof *s->u);
        }
    }
    return FAB_OK;
}

/* An end among n that are sorted, the best first. */
static void insert(search *s, int64_t n, const double *u, double lml, int converged, int64_t part)
{
    const int64_t P = s->coordinates;
    int64_t at = n;
    for (; at > 0 && s->lml[at - 1] < lml; at--) {
        memcpy(s->end + at * P, s->end + (at - 1) * P, (size_t)P * sizeof *s->end);
        s->lml[at] = s->lml[at - 1];
        s->converged[at] = s->converged[at - 1];
        s->end_of[at] = s->end_of[at - 1];
    }
    memcpy(s->end + at * P, u, (size_t)P * sizeof *s->end);
    s->lml[at] = lml;
    s->converged[at] = converged;
    s->end_of[at] = part;
}

/* From so many starts, one after the other in `from`, to their ends, the best first. */
static fab_status climb_all(search *s, const double *from, int64_t n, int times, int last)
{
    for (int64_t k = 0; k < n; k++) {
        double lml = -INFINITY;
        int converged = 0;
        memcpy(s->u, from + k * s->coordinates, (size_t)s->coordinates * sizeof *s->u);
        FAB_TRY(climb(s, times, &lml, &converged));
        if (last) FAB_TRY(wake(s, &lml, &converged));
        insert(s, k, s->u, lml, converged, s->start_of[k]);
    }
    return FAB_OK;
}

/* By more than so many nats, or in a place so far away? */
static int differ(const search *s, int64_t a, int64_t b, double apart, double far)
{
    double most = 0;
    for (int64_t i = 0; i < s->coordinates; i++)
        most = fmax(most, fabs(s->end[a * s->coordinates + i] - s->end[b * s->coordinates + i]));
    return !(fabs(s->lml[a] - s->lml[b]) <= apart) || most > far;
}

/* Ends that differ from all before them, brought to the front: the best, at most so many of the whole, and the best of each part;
 * how many. */
static int64_t different(search *s, int64_t n, double apart, double far, int64_t most)
{
    int64_t kept = 0, have[PARTS + 1] = {0};
    for (int64_t k = 0; k < n; k++) {
        const int64_t of = s->end_of[k];
        int new = 1;
        for (int64_t i = 0; i < kept; i++) new = new &&differ(s, i, k, apart, far);
        if (kept > 0 && have[of] >= (of ? 1 : most)) continue;
        if (of && s->lml[k] < s->lml[0] - HOPELESS) continue;
        have[of] += new || of; /* a part may have ended where another did */
        if (!new) continue;
        memmove(s->end + kept * s->coordinates, s->end + k * s->coordinates,
                (size_t)s->coordinates * sizeof *s->end);
        s->lml[kept] = s->lml[k];
        s->converged[kept] = s->converged[k];
        kept++;
    }
    return kept;
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

/* The search of each part; its ends are starts behind those of the whole, *n of them in all. */
static fab_status search_parts(search *s, int64_t *n)
{
    const int64_t P = s->coordinates;
    int64_t more = 0;
    for (int64_t part = s->parts; part >= 0; part--) {
        FAB_TRY(first_start(s, part));
        spread(s, part);
        FAB_TRY(rank(s));
        if (part == 0) break; /* the whole is searched on more rows */
        FAB_TRY(climb_all(s, s->start, s->starts, 1, 0));
        const int64_t ends = different(s, s->starts, DISTANT, FAR, PART_STARTS);
        for (int64_t k = 0; k < ends; k++, more++) {
            double *to = s->more + more * P;
            memcpy(to, s->end + k * P, (size_t)P * sizeof *to);
            leave_out(s, part, to);
            s->more_of[more] = part;
        }
    }
    memcpy(s->start + s->starts * P, s->more, (size_t)(more * P) * sizeof *s->start);
    memcpy(s->start_of + s->starts, s->more_of, (size_t)more * sizeof *s->start_of);
    *n = s->starts + more;
    return FAB_OK;
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static fab_status open_search(search *s)
{
    s->opt = nlopt_create(NLOPT_LD_LBFGS, (unsigned)s->coordinates);
    if (!s->opt) return FAB_FAIL(FAB_NO_MEMORY, "evidence: the optimiser has no memory");
    nlopt_set_min_objective(s->opt, evaluate, s);
    nlopt_set_lower_bounds(s->opt, s->lo);
    nlopt_set_upper_bounds(s->opt, s->hi);
    nlopt_set_vector_storage(s->opt, MEMORY);
    nlopt_set_ftol_rel(s->opt, s->tol);
    return FAB_OK;
}

/* Is the evidence in the middle between two ends lower than at both?  Along a parameter of which it does not depend ends are far
 * from each other and still on one hill. */
static fab_status on_one_hill(search *s, int64_t a, int64_t b, int *one)
{
    const double *x = s->end + a * s->coordinates, *y = s->end + b * s->coordinates;
    for (int64_t i = 0; i < s->coordinates; i++) s->u[i] = (x[i] + y[i]) / 2;
    const double middle = -evaluate((unsigned)s->coordinates, s->u, NULL, s);
    *one = middle >= fmin(s->lml[a], s->lml[b]) - APART;
    return s->status;
}

/* The ends of hills of their own, among n. */
static fab_status keep_ends(search *s, int64_t n)
{
    fab_evidence_ends *e = s->plan->ends;
    int64_t kept[FINALISTS];
    if (!e) return FAB_OK;
    e->n = 0;
    for (int64_t k = 0; k < n && k < FINALISTS; k++) {
        int one = 0;
        for (int64_t i = 0; i < e->n && !one; i++) FAB_TRY(on_one_hill(s, kept[i], k, &one));
        if (one) continue;
        const double noise = take(s, s->end + k * s->coordinates);
        memcpy(e->theta + e->n * e->size, s->theta, (size_t)s->size * sizeof *e->theta);
        if (e->size > s->size) e->theta[e->n * e->size + s->size] = log(noise);
        kept[e->n++] = k;
    }
    return FAB_OK;
}

static fab_status search_all(search *s, fab_evidence_report *r)
{
    const int64_t most = s->plan->rows > 0 ? s->plan->rows : ROWS, rows = least(s->shown, most);
    int64_t n = s->starts;
    FAB_TRY(open_search(s));
    nlopt_set_maxeval(s->opt, FIRST);
    if (s->candidates) { /* 1, 2, 4 */
        FAB_TRY(ask_rows(s, least(s->shown, RANKED)));
        FAB_TRY(search_parts(s, &n));
    } else {
        FAB_TRY(first_start(s, 0));
        memcpy(s->start, s->point, (size_t)s->coordinates * sizeof *s->start);
    }
    r->starts = n;
    if (n > 1) { /* 3 */
        FAB_TRY(ask_rows(s, least(rows, FEW)));
        FAB_TRY(climb_all(s, s->start, n, 1, 0));
        n = different(s, n, DISTANT, FAR, FINALISTS);
        memcpy(s->start, s->end, (size_t)(n * s->coordinates) * sizeof *s->start);
    }
    nlopt_set_maxeval(s->opt, EVALUATIONS); /* 5 */
    FAB_TRY(ask_rows(s, rows));
    FAB_TRY(climb_all(s, s->start, n, AGAIN, 1));
    FAB_TRY(keep_ends(s, n));
    r->optima = different(s, n, APART, INFINITY, n);
    r->second = r->optima > 1 ? s->lml[1] : NAN;
    r->converged = s->converged[0];
    r->rows = rows;
    for (int64_t i = 0; i < s->coordinates; i++) {
        const int at = s->end[i] - s->lo[i] < EDGE || s->hi[i] - s->end[i] < EDGE;
        r->at_bound += at;
        r->noise_at_bound += at && s->at[i] == s->size;
    }
    return FAB_OK;
}

static void layout(fab_layout *l, void *handle)
{
    search *s = handle;
    const int64_t all = s->size + 1;
    s->at = fab_place(l, all, sizeof *s->at);
    s->lo = fab_place(l, all, sizeof(double));
    s->hi = fab_place(l, all, sizeof(double));
    s->theta = fab_place(l, all, sizeof(double));
    s->gradient = fab_place(l, all, sizeof(double));
    s->u = fab_place(l, all, sizeof(double));
    const int64_t more = s->parts * PART_STARTS, starts = s->starts + more;
    s->point = fab_place(l, (1 + s->candidates + s->longs) * all, sizeof(double));
    s->worth = fab_place(l, 1 + s->candidates + s->longs, sizeof(double));
    s->start = fab_place(l, starts * all, sizeof(double));
    s->start_of = fab_place(l, starts, sizeof *s->start_of);
    s->end = fab_place(l, starts * all, sizeof(double));
    s->end_of = fab_place(l, starts, sizeof *s->end_of);
    s->lml = fab_place(l, starts, sizeof(double));
    s->converged = fab_place(l, starts, sizeof(int));
    s->more = fab_place(l, more * all, sizeof(double));
    s->more_of = fab_place(l, more, sizeof *s->more_of);
    s->kept = fab_place(l, all, sizeof(double));
    s->order = fab_place(l, s->rows.n, sizeof *s->order);
    s->slot = fab_place(l, slots(s->rows.n), sizeof *s->slot);
    s->distance = fab_place(l, PAIRS * (PAIRS - 1) / 2, sizeof(double));
    s->near = fab_place(l, PAIRS * s->D, sizeof(double));
    s->part_y = fab_place(l, s->rows.n, sizeof(double));
    s->part_weight = fab_place(l, s->rows.weight ? s->rows.n : 0, sizeof(double));
    s->part_offset = fab_place(l, s->rows.offset ? s->rows.n : 0, sizeof(double));
}

/* Coordinates of u, and their bounds. */
static void open_coordinates(search *s)
{
    const fab_evidence_plan *plan = s->plan;
    for (int64_t i = 0; i < s->size; i++) {
        fab_kernel_parameter p;
        fab_kernel_parameter_at(s->kernel, i, &p);
        if (p.fixed) continue;
        s->at[s->coordinates] = i;
        s->lo[s->coordinates] = log(p.lo);
        s->hi[s->coordinates] = log(p.hi);
        s->coordinates++;
    }
    if (s->noisy && !(s->noise > 0)) {
        s->at[s->coordinates] = s->size;
        s->lo[s->coordinates] = log(plan->noise_lo > 0 ? plan->noise_lo : QUIETEST * s->scale);
        s->hi[s->coordinates] = log(plan->noise_hi > 0 ? plan->noise_hi : LOUDEST * s->scale);
        s->coordinates++;
    }
}

/* Starts and the points that they are the best of: by what is free, before it is known where that lies. */
static void choose_starts(search *s)
{
    int64_t found = s->noisy && !(s->noise > 0), lengths = 0, open = 0;
    for (int64_t i = 0; i < s->size; i++) {
        fab_kernel_parameter p;
        fab_kernel_parameter_at(s->kernel, i, &p);
        found += !p.fixed;
        lengths += !p.fixed && is_length(&p);
        s->terms += is_variance(&p);
        if (is_variance(&p) && !p.fixed && open++ < PARTS) s->which[open - 1] = s->terms;
    }
    s->starts = s->plan->starts > 0 ? s->plan->starts : least(LEAST_STARTS + found, MOST_STARTS);
    if (s->plan->starts == 0 && lengths) s->starts++; /* long */
    s->candidates = s->starts > 1 ? (s->starts > CANDIDATES ? s->starts : CANDIDATES) : 0;
    s->longs = s->starts > 2 && lengths ? LONGS : 0;
    if (s->plan->starts > 0 || s->terms < 2) return;
    s->parts = least(open, PARTS);
    for (int64_t i = 0; i < open && open > 2 && s->parts < PARTS;
         i++) /* of two they are the same */
        s->which[s->parts++] = -s->which[i];
}

fab_status fab_evidence_search(const fab_evidence_of *how, void *ctx, void *whole,
                               const fab_kernel *k, const fab_evidence_rows *rows, int noisy,
                               double scale, const fab_evidence_plan *plan, double *theta,
                               double *noise, fab_evidence_report *report, const fab_exec *x)
{
    static const fab_evidence_plan usual = {0};
    search proto = {.how = how,
                    .ctx = ctx,
                    .whole = whole,
                    .kernel = k,
                    .rows = *rows,
                    .noisy = noisy,
                    .D = fab_kernel_columns(k),
                    .size = fab_kernel_size(k),
                    .scale = scale > 0 ? scale : 1,
                    .watch = fab_watch_of(x),
                    .plan = plan ? plan : &usual},
           *s;
    *report = (fab_evidence_report){.second = NAN, .optima = 1, .converged = 1, .rows = rows->n};
    if (!isfinite(scale))
        return FAB_FAIL(FAB_BAD_DATA, "evidence: y has values that are not finite, or too large");
    if (x) proto.exec = *x;
    proto.seed = proto.plan->seed;
    proto.noise = proto.plan->noise;
    proto.tol = proto.plan->tol > 0 ? proto.plan->tol : TOL;
    choose_starts(&proto);
    FAB_TRY(fab_build((void **)&s, sizeof proto, &proto, layout));
    fab_random_shuffle(s->seed, FAB_PURPOSE_START, 1, s->rows.n, s->order);
    open_coordinates(s);
    s->shown = s->rows.n;
    if (s->plan->once && s->noisy && !(s->noise > 0)) pass_over_repeats(s);
    report->repeats = s->rows.n - s->shown;
    s->expected = (1 + s->parts) * (s->candidates + s->longs) +
                  (s->starts > 1 ? (1 + s->parts) * s->starts * FIRST : 0) +
                  s->parts * PART_STARTS * FIRST +
                  (least(s->starts, FINALISTS) + s->parts) *
                      (s->plan->evaluations > 0 ? s->plan->evaluations : USUAL);
    fab_kernel_get(s->kernel, s->theta);
    const fab_status done = s->coordinates ? search_all(s, report) : FAB_OK;
    if (done == FAB_OK) {
        *noise = take(s, s->end);
        memcpy(theta, s->theta, (size_t)s->size * sizeof *theta);
    }
    report->evaluations = s->evaluations;
    nlopt_destroy(s->opt);
    close_part(s);
    fab_release(s);
    return done;
}

/* ---- regression ----------------------------------------------------------------------------------------- */

typedef struct regression {
    fab_process *p;
    const double *y, *weight;
} regression;

static void close_regression(void *self)
{
    regression *g = self;
    if (!g) return;
    fab_process_free(g->p);
    fab_release(g);
}

static fab_status open_regression(void **self, void *ctx, const fab_kernel *k,
                                  const fab_evidence_rows *rows, const fab_exec *x)
{
    regression *g;
    (void)ctx;
    *self = NULL;
    FAB_TRY(fab_alloc_array((void **)&g, 1, sizeof *g, "evidence"));
    *g = (regression){.y = rows->y, .weight = rows->weight};
    const fab_status s =
        fab_process_create(&g->p, k, rows->n, rows->X, fab_kernel_columns(k), rows->n, x);
    if (s == FAB_OK)
        *self = g;
    else
        close_regression(g);
    return s;
}

static fab_status at_regression(void *self, const double *theta, double noise, double *lml,
                                double *gradient)
{
    regression *g = self;
    FAB_TRY(fab_process_set(g->p, theta));
    FAB_TRY(fab_process_learn(g->p, g->y, g->weight, noise));
    return fab_process_evidence(g->p, lml, gradient);
}

fab_status fab_evidence_maximise(fab_process *p, const double *y, const double *weight,
                                 const fab_evidence_plan *plan, fab_evidence_report *report,
                                 const fab_exec *x)
{
    static const fab_evidence_of how = {open_regression, close_regression, at_regression};
    const int64_t n = fab_process_rows(p);
    regression whole = {.p = p, .y = y, .weight = weight};
    fab_evidence_rows rows = {.n = n, .y = y, .weight = weight};
    double *theta, noise = 0, scale = 0;
    fab_evidence_report r = {0};
    fab_evidence_plan once = plan ? *plan : (fab_evidence_plan){0};
    fab_kernel *k; /* the parameters of p are others on the way */
    fab_process_parts(p, &rows.X, NULL, NULL, NULL);
    for (int64_t i = 0; i < n; i++) scale += y[i] * y[i] / (double)n;
    once.once = 1;
    FAB_TRY(fab_kernel_copy(&k, fab_process_kernel(p)));
    fab_status done =
        fab_alloc_array((void **)&theta, fab_kernel_size(k) + 1, sizeof *theta, "evidence");
    if (done == FAB_OK) {
        done = fab_evidence_search(&how, NULL, &whole, k, &rows, 1, scale, &once, theta, &noise, &r,
                                   x);
        if (done == FAB_OK) done = at_regression(&whole, theta, noise, &r.lml, NULL); /* 6 */
        if (done != FAB_OK) { /* as it was: a search that was stopped begins again where it began */
            fab_kernel_get(k, theta);
            (void)fab_process_set(p, theta);
        }
        fab_release(theta);
    }
    fab_kernel_free(k);
    if (done == FAB_OK && r.repeats > 0) {
        const fab_watch w = fab_watch_of(x);
        fab_watch_log(&w,
                      "evidence: %lld of %lld rows repeat another, the target and all: kernel and "
                      "noise are looked for with each of them once",
                      (long long)r.repeats, (long long)n);
    }
    if (done == FAB_OK && report) *report = r;
    return done;
}
