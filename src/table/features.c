/* features.c - features of a kernel in front of a linear model.
 *
 *   1  rows: the first ones of a stream, evenly spread ones of a table, in units
 *   2  the working target: y less its offset; of other likelihoods gradient / curvature of log p(y) at a constant predictor,
 *      noise of variance 1 / curvature: the Gaussian that one step of Newton's method takes the likelihood for.  Of several
 *      classes the most frequent one against the others
 *   3  the parameters of the kernel that are not given: where the evidence of a Gaussian process of these rows is largest
 *   4  of nystrom: landmarks by that kernel.  Few landmarks leave much of the variance of a kernel that is best where nothing is left, and a smoother one
 *      may be best for them: from there on to where the bound of vfe by these landmarks is largest (methods/vfe/climb.c), and landmarks again.  Of
 *      the two kernels the one of higher approximate evidence log N(y; 0, Q + s^2 I), each at its own s^2, stays.  Not of landmarks that are more than
 *      half of the rows, which leave little
 *   5  the map, behind the units
 *
 * What then is fitted has the prior N(0, 1) for every weight, which makes the linear model that process: of a number without
 * an intercept, for y is centred; of others with one.
 *
 * SPDX-License-Identifier: MIT */
#include "table/features.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/columns/table.h"
#include "kernel/features.h"
#include "methods/vfe/climb.h"
#include "model/likelihoods/likelihood.h"
#include "train/evidence.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLIMB_TOL 1e-6 /* relative change of the bound at which 4 ends */
#define FINE      1.05 /* steps of a noise */
enum {
    LEAST_ROWS = 1000,
    EVIDENCE_ROWS = 2000,
    CLIMB = 50,    /* evaluations of the bound, about */
    LEFT_ROWS = 64 /* at a time */
};

/* ---- the text ------------------------------------------------------------------------------------------- */

static const struct {
    const char *begins;
    fab_map_kind kind;
} kinds[] = {{"rff:", FAB_MAP_RFF}, {"nystrom:", FAB_MAP_NYSTROM}};

static fab_status expected(const fab_map_plan *p, const char *model)
{
    return FAB_FAIL(
        FAB_BAD_ARGUMENT, "model %s: expected %s", model,
        p->kind == FAB_MAP_RFF
            ? "rff:KERNEL:M, M the number of features, as in rff:rbf:1000, and behind it "
              ":orthogonal or :seed=N where wanted"
            : "nystrom:KERNEL:M, M the number of landmarks, as in nystrom:rbf:500");
}

/* A whole number that is all of text; -1: it is none. */
static int64_t whole_number(const char *text)
{
    char *end;
    if (*text < '0' || *text > '9') return -1;
    errno = 0;
    const long long n = strtoll(text, &end, 10);
    return *end || errno || n > (1LL << 53) ? -1 : n;
}

/* One word from the end of the kernel's text, which loses it. */
static char *last_word(char *text)
{
    char *colon = strrchr(text, ':');
    if (!colon) return NULL;
    *colon = '\0';
    return colon + 1;
}

static fab_status read_words(fab_map_plan *p, const char *model)
{
    for (;;) {
        const char *word = last_word(p->kernel);
        if (!word) return expected(p, model);
        if (p->kind == FAB_MAP_RFF && strcmp(word, "orthogonal") == 0) {
            p->orthogonal = 1;
        } else if (p->kind == FAB_MAP_RFF && strncmp(word, "seed=", 5) == 0) {
            p->seed = whole_number(word + 5);
            if (p->seed < 0) return expected(p, model);
        } else {
            p->m = whole_number(word);
            break;
        }
    }
    return p->m >= 1 && p->m <= FAB_FEATURES_MAX && *p->kernel ? FAB_OK : expected(p, model);
}

fab_status fab_map_read(fab_map_plan *p, const char *model)
{
    *p = (fab_map_plan){0};
    for (size_t i = 0; model && i < sizeof kinds / sizeof *kinds; i++) {
        const size_t n = strlen(kinds[i].begins);
        if (strncmp(model, kinds[i].begins, n) != 0) continue;
        p->kind = kinds[i].kind;
        FAB_TRY(fab_copy_text(&p->kernel, model + n));
        const fab_status s = read_words(p, model);
        if (s != FAB_OK) fab_map_close(p);
        return s;
    }
    return FAB_OK;
}

void fab_map_close(fab_map_plan *p)
{
    fab_release(p->kernel);
    *p = (fab_map_plan){0};
}

int64_t fab_map_rows(const fab_map_plan *p, int64_t rows)
{
    const int64_t least = 2 * p->m > LEAST_ROWS ? 2 * p->m : LEAST_ROWS;
    return p->kind == FAB_MAP_NONE || rows > least ? rows : least;
}

fab_status fab_map_check(const fab_map_plan *p, const char *file, const fab_scaling *k)
{
    static const char *const names[] = {"none", "rff", "nystrom"};
    if (!k->features && p->kind == FAB_MAP_NONE) return FAB_OK;
    const char *then = !k->features                      ? names[FAB_MAP_NONE]
                       : fab_features_leave(k->features) ? names[FAB_MAP_NYSTROM]
                                                         : names[FAB_MAP_RFF];
    if (strcmp(then, names[p->kind]) != 0)
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: was made with features of a kernel: %s, and this call says %s", file,
                        then, names[p->kind]);
    const fab_kernel *kernel = fab_features_kernel(k->features);
    if (strcmp(fab_kernel_text(kernel), p->kernel) == 0 &&
        fab_features_same(k->features, p->m, p->orthogonal, (uint64_t)p->seed))
        return FAB_OK;
    return FAB_FAIL(FAB_BAD_FILE,
                    "%s: was made with %lld features of the kernel %s, and this call says %lld of "
                    "%s, or other random ones",
                    file, (long long)fab_features_asked(k->features), fab_kernel_text(kernel),
                    (long long)p->m, p->kernel);
}

/* ---- 1, 2 ----------------------------------------------------------------------------------------------- */

typedef struct rows {
    fab_dataset *t;     /* in units */
    double *y, *weight; /* n each: the working target, and weights of the noise */
    double noise;       /* 0: learned */
} rows;

static void close_rows(rows *r)
{
    fab_dataset_free(r->t);
    fab_release(r->y);
    fab_release(r->weight);
}

/* n of t->n rows: the first, or evenly spread. */
static fab_status take_rows(fab_dataset **out, const fab_dataset *t, int64_t n, int whole)
{
    int64_t *index;
    if (n > t->n) n = t->n;
    FAB_TRY(fab_alloc_array((void **)&index, n, sizeof *index, "features"));
    for (int64_t i = 0; i < n; i++)
        index[i] = whole ? (int64_t)((double)i * ((double)t->n / (double)n)) : i;
    const fab_status s = fab_dataset_take(out, t, index, n);
    fab_release(index);
    return s;
}

static double most_frequent(const fab_dataset *t, int64_t levels)
{
    int64_t best = 0, most = -1;
    for (int64_t c = 0; c < levels; c++) {
        int64_t count = 0;
        for (int64_t i = 0; i < t->n; i++) count += t->y[i] == (double)c;
        if (count > most) most = count, best = c;
    }
    return (double)best;
}

/* 2 of a target that is no number. */
static fab_status linearise(rows *r, fab_likelihood likelihood, int64_t levels)
{
    const fab_dataset *t = r->t;
    fab_glm m = {.likelihood = likelihood, .D = 1, .classes = 1, .intercept = 1, .beta = 1};
    double sum = 0, total = 0, shift = 0;
    const int several = fab_likelihood_row_of(likelihood)->several;
    const double frequent = several ? most_frequent(t, levels) : 0;
    if (several) m.likelihood = FAB_LIKELIHOOD_BERNOULLI;
    if (likelihood == FAB_LIKELIHOOD_NEGATIVE_BINOMIAL) m.likelihood = FAB_LIKELIHOOD_POISSON;
    const fab_likelihood_row *l = fab_glm_likelihood(&m);
    for (int64_t i = 0; i < t->n; i++) {
        const double w = t->weight ? t->weight[i] : 1;
        r->y[i] = several ? t->y[i] == frequent : t->y[i];
        sum += w * r->y[i];
        shift += w * (t->offset ? t->offset[i] : 0);
        total += w;
    }
    const double start = l->start ? l->start(sum / total, total) : 0;
    r->noise = 1;
    for (int64_t i = 0; i < t->n; i++) {
        const double eta = start + (t->offset ? t->offset[i] - shift / total : 0);
        double gradient, curvature;
        (void)l->loglik(&m, r->y[i], &eta, &gradient, &curvature);
        r->y[i] = gradient / curvature;
        r->weight[i] = (t->weight ? t->weight[i] : 1) * curvature;
        if (!isfinite(r->y[i]) || !(r->weight[i] > 0))
            return FAB_FAIL(FAB_BAD_DATA,
                            "features: row %lld says nothing of the kernel: the targets of the "
                            "first rows are all alike, or its offset is too large",
                            (long long)i);
    }
    return FAB_OK;
}

static fab_status open_rows(rows *r, const fab_scaling *k, const fab_dataset *t,
                            fab_likelihood likelihood, int64_t n, int whole)
{
    FAB_TRY(take_rows(&r->t, t, n, whole));
    FAB_TRY(fab_scaling_apply(k, r->t));
    if (r->t->packed) FAB_TRY(fab_packed_open(r->t));
    n = r->t->n;
    FAB_TRY(fab_alloc_array((void **)&r->y, n, sizeof *r->y, "features"));
    FAB_TRY(fab_alloc_array((void **)&r->weight, n, sizeof *r->weight, "features"));
    if (likelihood != FAB_LIKELIHOOD_GAUSSIAN) return linearise(r, likelihood, k->levels);
    for (int64_t i = 0; i < n; i++) {
        r->y[i] = r->t->y[i] - (r->t->offset ? r->t->offset[i] : 0);
        r->weight[i] = r->t->weight ? r->t->weight[i] : 1;
    }
    return FAB_OK;
}

/* ---- 3 -------------------------------------------------------------------------------------------------- */

static int64_t count_free(const fab_kernel *k)
{
    int64_t n = 0;
    for (int64_t i = 0; i < fab_kernel_size(k); i++) {
        fab_kernel_parameter p;
        fab_kernel_parameter_at(k, i, &p);
        n += !p.fixed;
    }
    return n;
}

static fab_status maximise(fab_kernel *k, fab_process *p, const rows *r, fab_map_report *report,
                           const fab_exec *x)
{
    const fab_evidence_plan plan = {.noise = r->noise, .seed = 1, .rows = EVIDENCE_ROWS};
    fab_evidence_report e;
    double *theta;
    FAB_TRY(fab_evidence_maximise(p, r->y, r->weight, &plan, &e, x));
    FAB_TRY(fab_alloc_array((void **)&theta, fab_kernel_size(k), sizeof *theta, "features"));
    fab_kernel_get(fab_process_kernel(p), theta);
    const fab_status s = fab_kernel_set(k, theta);
    fab_release(theta);
    *report = (fab_map_report){.rows = fab_process_rows(p),
                               .lml = e.lml,
                               .noise = fab_process_noise(p),
                               .at_bound = e.at_bound,
                               .optima = e.optima,
                               .converged = e.converged};
    return s;
}

/* ---- 4 -------------------------------------------------------------------------------------------------- */

/* What landmarks leave of the variance of other rows: the mean over these, weighted, of which they are some. */
static fab_status mean_left(double *mean, const fab_features *f, const rows *r, const fab_exec *x)
{
    const int64_t n = r->t->n, m = fab_features_size(f), D = r->t->D;
    double *phi, left[LEFT_ROWS], sum = 0, all = 0;
    *mean = 0;
    if (n <= m) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&phi, LEFT_ROWS * m, sizeof *phi, "features"));
    fab_status s = FAB_OK;
    for (int64_t first = 0; first < n && s == FAB_OK; first += LEFT_ROWS) {
        const int64_t part = n - first < LEFT_ROWS ? n - first : LEFT_ROWS;
        s = fab_features_apply(f, part, r->t->x + first * D, D, phi, m, left, x);
        for (int64_t i = 0; i < part && s == FAB_OK; i++) {
            sum += r->weight[first + i] * left[i];
            all += r->weight[first + i];
        }
    }
    fab_release(phi);
    *mean = sum / all * ((double)n / (double)(n - m));
    return s;
}

static double mean_square(const rows *r)
{
    double sum = 0;
    for (int64_t i = 0; i < r->t->n; i++) sum += r->y[i] * r->y[i];
    return sum / (double)r->t->n;
}

static fab_status bound_of(fab_bound **b, fab_bound_kind kind, const fab_features *f, const rows *r,
                           const fab_exec *x)
{
    const fab_bound_rows of = {r->t->n, r->t->x, r->y, r->weight};
    return fab_bound_create(b, kind, fab_features_kernel(f), &of, fab_features_size(f),
                            fab_features_landmarks(f), NULL, x);
}

/* log N(y; 0, Q + s^2 I), s^2 where it is largest; theta: room. */
static fab_status approximate(const fab_features *f, const rows *r, double noise, double *theta,
                              double *value, const fab_exec *x)
{
    fab_bound *b;
    FAB_TRY(bound_of(&b, FAB_BOUND_DTC, f, r, x));
    fab_kernel_get(fab_features_kernel(f), theta);
    fab_status s = FAB_OK;
    if (r->noise > 0)
        s = fab_bound_at(b, theta, r->noise, NULL, 1, value, NULL);
    else
        s = fab_bound_settle(b, theta, mean_square(r), 2, &noise, value);
    if (s == FAB_OK && !(r->noise > 0))
        s = fab_bound_settle(b, theta, mean_square(r), FINE, &noise, value);
    fab_bound_free(b);
    return s;
}

/* k and *noise where the bound is largest, from those that f was made with. */
static fab_status climb(const fab_features *f, fab_kernel *k, const rows *r, double *theta,
                        double *noise, fab_evidence_report *found, const fab_exec *x)
{
    const fab_bound_plan plan = {
        .evaluations = CLIMB, .noise = r->noise, .tol = CLIMB_TOL, .seed = 1};
    const double scale = mean_square(r);
    double value;
    fab_bound *b;
    FAB_TRY(bound_of(&b, FAB_BOUND_VFE, f, r, x));
    fab_kernel_get(k, theta);
    fab_status s = FAB_OK;
    if (!(r->noise > 0)) s = fab_bound_settle(b, theta, scale, 2, noise, &value);
    if (s == FAB_OK) s = fab_bound_climb(b, k, &plan, scale, theta, noise, found, x);
    if (s == FAB_OK) s = fab_kernel_set(k, theta);
    fab_bound_free(b);
    return s;
}

/* 4 with room for theta: *f and the report become those of the bound where these are better. */
static fab_status suit(fab_features **f, const fab_map_plan *p, fab_kernel *k, const rows *few,
                       const rows *all, fab_map_report *report, double *most, double *theta,
                       const fab_exec *x)
{
    fab_evidence_report found = {0};
    fab_features *g = NULL;
    double noise = report->noise, before = 0, after = 0;
    FAB_TRY(approximate(*f, few, noise, theta, &before, x));
    FAB_TRY(climb(*f, k, few, theta, &noise, &found, x));
    FAB_TRY(fab_features_nystrom(&g, k, p->m, all->t->n, all->t->x, all->t->D, x));
    const fab_status s = approximate(g, few, noise, theta, &after, x);
    if (s != FAB_OK || !(after > before)) {
        fab_features_free(g);
        return s;
    }
    fab_features_free(*f);
    *f = g;
    *most = report->noise = noise;
    report->at_bound = found.at_bound;
    report->converged = found.converged;
    return FAB_OK;
}

/* 4; few: the rows of the evidence, all: those that landmarks are of. */
static fab_status landmarks(fab_features **f, const fab_map_plan *p, fab_kernel *k, const rows *few,
                            const rows *all, fab_map_report *report, double *most,
                            const fab_exec *x)
{
    double *theta;
    FAB_TRY(fab_features_nystrom(f, k, p->m, all->t->n, all->t->x, all->t->D, x));
    if (!few->t || 2 * fab_features_size(*f) > few->t->n) return FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&theta, fab_kernel_size(k), sizeof *theta, "features"));
    const fab_status s = suit(f, p, k, few, all, report, most, theta, x);
    fab_release(theta);
    return s;
}

static fab_status build(const fab_map_plan *p, fab_scaling *k, fab_kernel *kernel,
                        const fab_dataset *t, fab_likelihood likelihood, int64_t n, int whole,
                        fab_map_report *report, double *most, const fab_exec *x)
{
    rows few = {0}, all = {0};
    fab_process *process = NULL;
    fab_features *f = NULL;
    fab_status s = FAB_OK;
    if (count_free(kernel) > 0) {
        s = open_rows(&few, k, t, likelihood, n < EVIDENCE_ROWS ? n : EVIDENCE_ROWS, whole);
        if (s == FAB_OK)
            s = fab_process_create(&process, kernel, few.t->n, few.t->x, few.t->D, few.t->n, x);
        if (s == FAB_OK) s = maximise(kernel, process, &few, report, x);
    }
    if (s == FAB_OK && p->kind == FAB_MAP_NYSTROM) {
        s = open_rows(&all, k, t, likelihood, fab_map_rows(p, n), whole);
        if (s == FAB_OK) s = landmarks(&f, p, kernel, &few, &all, report, most, x);
        if (s == FAB_OK) s = mean_left(&report->left, f, &all, x);
    } else if (s == FAB_OK) {
        s = fab_features_rff(&f, kernel, p->m, p->orthogonal, (uint64_t)p->seed);
    }
    if (s == FAB_OK) s = fab_scaling_map(k, f);
    if (s != FAB_OK) fab_features_free(f);
    fab_process_free(process);
    close_rows(&few);
    close_rows(&all);
    return s;
}

fab_status fab_map_build(const fab_map_plan *p, fab_scaling *k, const fab_dataset *t,
                         fab_likelihood likelihood, int64_t n, int whole, fab_map_report *report,
                         double *most, const fab_exec *x)
{
    const char **names;
    fab_kernel *kernel;
    *report = (fab_map_report){0};
    *most = 0;
    FAB_TRY(fab_scaling_columns(k, &names));
    fab_status s = fab_kernel_create(&kernel, p->kernel, k->D, names);
    fab_release(names);
    if (s == FAB_OK) s = build(p, k, kernel, t, likelihood, n, whole, report, most, x);
    fab_kernel_free(kernel);
    return s;
}
