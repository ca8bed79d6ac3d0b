/* calibration.c - rows left out of a fit calibrate its predictions.
 *
 *   1  before the fit a fifth of the rows, drawn at random, is taken out of the table; all that chooses something (units,
 *      a search for a network, the floor of its noise) sees the other rows alone
 *   2  after it they are predicted, as any new rows are
 *   3  temperature  b = 1 / T maximises  sum_i w_i (b l_i,y - log sum_c exp(b l_ic)),  l = log p: concave in b, slope
 *                     g(b) = sum_i w_i (l_i,y - E_b l_i),   -g'(b) = sum_i w_i var_b l_i
 *                   Newton inside a bracket of the root; b stays below the place where the mean of 1 - max_c p is
 *                   1 / (n + 2), unless that is below 1
 *   4  conformal    scores |y - mean| / sd, or -log p(y), in rising order; the quantile of level a is number
 *                   ceil((n + 1) a) of n.  A new score is as likely to have any rank among the n + 1, so it is within
 *                   the quantile with probability k / (n + 1) >= a
 *
 * Vovk, Gammerman, Shafer 2005; Papadopoulos and others 2002 (split, normalised scores); Sadinle, Lei, Wasserman 2019
 * (sets by p(y): the smallest on average); Guo and others 2017 (temperature).
 *
 * SPDX-License-Identifier: MIT */
#include "table/calibration.h"
#include "base/json.h"
#include "base/text.h"
#include "data/columns/split.h"
#include "data/columns/table.h"
#include "fit/method.h"
#include "model/likelihoods/likelihood.h"
#include "table/regression.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHARE 0.2 /* of the rows */

enum { TEMPERATURE, CONFORMAL, WAYS };
static const char *const ways[WAYS] = {"temperature", "conformal"};

enum { LEVELS = 3, OF_SETS = 1 }; /* OF_SETS: 90 %, of the intervals and sets that are given */
static const int percent[LEVELS] = {50, 90, 95};

fab_status fab_calibration_find(const char *name, const char **way)
{
    *way = NULL;
    if (!name) return FAB_OK;
    for (int i = 0; i < WAYS; i++)
        if (strcmp(name, ways[i]) == 0) *way = ways[i];
    if (*way) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "calibrate is temperature or conformal, not '%s'", name);
}

static int is_conformal(const fab_calibration *c)
{
    return c->way == ways[CONFORMAL];
}

fab_calibration fab_regression_calibration(const fab_regression *r)
{
    return r->calibrated ? r->calibration : (fab_calibration){0};
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static fab_status check_split(const fab_regression *r)
{
    const fab_recipe *w = &r->fit.what;
    const fab_dataset *t = r->table;
    const int conformal = is_conformal(&r->calibration);
    if (w->method->streams)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "calibrate leaves rows out of all rows, and %s takes them as a stream",
                        w->method->name);
    if (r->plan.whole)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "calibrate is for a fit, not for a search of settings");
    if (!conformal && fab_likelihood_target(w->likelihood) != FAB_TARGET_CLASSES)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "a temperature is for classes, and this target is %s; conformal "
                        "calibrates its intervals",
                        fab_likelihood_name(w->likelihood));
    if (conformal && t->weight)
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "conformal holds for rows that are drawn alike, and these have weights: '%s'",
            t->weight_name);
    if (t->n < 2 * FAB_CALIBRATION_ROWS)
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: calibrate leaves out at least %d rows and fits as many, so that it "
                        "needs %d; here are %lld",
                        fab_data_name(&r->data), FAB_CALIBRATION_ROWS, 2 * FAB_CALIBRATION_ROWS,
                        (long long)t->n);
    if (t->weight)
        for (int64_t i = 0; i < t->n; i++)
            if (!(t->weight[i] > 0))
                return FAB_FAIL(
                    FAB_BAD_DATA, "%s: weight '%s': row %lld has %g, expected 0 or more",
                    fab_data_name(&r->data), t->weight_name, (long long)i, t->weight[i]);
    return FAB_OK;
}

/* Classes that only rows left out have are classes all the same.  (Words stay with every part of a table.) */
static fab_status keep_levels(fab_dataset *part, const fab_dataset *t)
{
    double level[FAB_MOST_LEVELS + 1];
    int64_t found = 0;
    fab_levels_add(t->y, t->n, level, &found);
    FAB_TRY(fab_alloc_array((void **)&part->level, found, sizeof *level, "table"));
    memcpy(part->level, level, (size_t)found * sizeof *level);
    part->levels = found;
    return FAB_OK;
}

static fab_status take_parts(fab_regression *r, const fab_split *s, fab_dataset **train)
{
    const fab_dataset *t = r->table;
    const int classes = fab_likelihood_target(r->fit.what.likelihood) == FAB_TARGET_CLASSES;
    const int64_t *out, n_out = fab_split_part(s, 1, &out);
    const int64_t *in, n_in = fab_split_part(s, 0, &in);
    FAB_TRY(fab_dataset_take(&r->left_out, t, out, n_out));
    FAB_TRY(fab_dataset_take(train, t, in, n_in));
    r->calibration.rows = n_out;
    return classes && !t->target_words.n ? keep_levels(*train, t) : FAB_OK;
}

fab_status fab_calibration_split(fab_regression *r)
{
    FAB_TRY(fab_calibration_find(r->plan.calibrate, &r->calibration.way));
    if (!r->calibration.way) return FAB_OK;
    FAB_TRY(check_split(r));
    const fab_dataset *t = r->table;
    const double seed = fab_settings_number(r->fit.what.method->fields, r->settings, "seed");
    const double share = fmax(SHARE, FAB_CALIBRATION_ROWS / (double)t->n);
    /* Classes in equal parts would make rows left out more alike than a new row is, and conformal counts on that. */
    const int alike = !is_conformal(&r->calibration);
    fab_dataset *train = NULL;
    fab_split *s;
    FAB_TRY(fab_dataset_test(FAB_PURPOSE_CALIBRATE, &s, t, share, alike,
                             seed >= 0 ? (uint64_t)seed : 0));
    const fab_status taken = take_parts(r, s, &train);
    fab_split_free(s);
    if (taken != FAB_OK) {
        fab_dataset_free(train);
        fab_dataset_free(r->left_out);
        r->left_out = NULL;
        return taken;
    }
    fab_dataset_free(r->table);
    r->table = train;
    return FAB_OK;
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

static fab_status fill_scores(const fab_predictions *p, double *score)
{
    for (int64_t i = 0; i < p->n; i++) {
        score[i] = p->classes ? -p->logp[i * p->classes + (int64_t)p->y[i]]
                              : fabs(p->y[i] - p->p[i].mean) / p->p[i].sd;
        if (isnan(score[i]))
            return FAB_FAIL(FAB_NUMERIC,
                            "calibrate: the prediction of a row left out is no number");
    }
    return FAB_OK;
}

static fab_status take_quantiles(const fab_predictions *p, fab_calibration *c)
{
    double *score;
    FAB_TRY(fab_alloc_array((void **)&score, p->n, sizeof *score, "calibration"));
    fab_status s = fill_scores(p, score);
    if (s == FAB_OK) s = fab_calibration_quantiles(p->n, score, c);
    fab_release(score);
    return s;
}

fab_status fab_calibration_run(fab_regression *r)
{
    const fab_data rows = {.table = r->left_out};
    fab_calibration *c = &r->calibration;
    fab_predictions *p;
    fab_status s;
    if (!c->way) return FAB_OK;
    FAB_TRY(fab_regression_predict(r, &rows, &(fab_predict_plan){.with_target = 1}, &p));
    if (is_conformal(c))
        s = take_quantiles(p, c);
    else
        s = fab_calibration_temperature(p->classes, p->n, p->logp, p->y, r->left_out->weight, c);
    fab_predictions_free(p);
    FAB_TRY(fab_about(fab_data_name(&r->data), s));
    fab_dataset_free(r->left_out);
    r->left_out = NULL;
    r->calibrated = 1;
    return FAB_OK;
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

typedef struct rows {
    int64_t C, n;
    const double *logp, *y, *weight; /* n x C; n; n or NULL */
} rows;

/* Of b: the slope of the log probability, its curvature (of which the sign is turned), and the mean probability of an
 * error. */
typedef struct slope {
    double g, h, error;
} slope;

static slope slope_at(const rows *r, double b)
{
    slope s = {0};
    double total = 0;
    for (int64_t i = 0; i < r->n; i++) {
        const double *l = r->logp + i * r->C, w = r->weight ? r->weight[i] : 1;
        double most = l[0], sum = 0, first = 0, second = 0;
        for (int64_t c = 1; c < r->C; c++) most = fmax(most, l[c]);
        for (int64_t c = 0; c < r->C; c++) {
            const double d = l[c] - most, p = exp(b * d);
            sum += p;
            first += p * d;
            second += p * d * d;
        }
        const double mean = first / sum; /* E_b l - max l */
        s.g += w * (l[(int64_t)r->y[i]] - most - mean);
        s.h += w * fmax(0, second / sum - mean * mean);
        s.error += w * (sum - 1) / sum; /* the likeliest class has exp(0) */
        total += w;
    }
    s.error /= total;
    return s;
}

/* b >= 1 at which the mean probability of an error is `error`; 1 where it is below that already. */
static double limit_of(const rows *r, double error)
{
    double low = 1, high = 1;
    while (slope_at(r, high).error > error && high < 0x1p60) {
        low = high;
        high *= 2;
    }
    while (high - low > 4 * DBL_EPSILON * high) {
        const double middle = low + (high - low) / 2;
        if (slope_at(r, middle).error > error)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static fab_status check_rows(const rows *r)
{
    for (int64_t i = 0; i < r->n * r->C; i++)
        if (!isfinite(r->logp[i]))
            return FAB_FAIL(FAB_NUMERIC,
                            "calibrate: row %lld of those left out gives a class a log probability "
                            "of %g; a temperature needs finite ones",
                            (long long)(i / r->C), r->logp[i]);
    return FAB_OK;
}

fab_status fab_calibration_temperature(int64_t classes, int64_t n, const double *logp,
                                       const double *y, const double *weight, fab_calibration *c)
{
    const rows r = {classes, n, logp, y, weight};
    FAB_TRY(check_rows(&r));
    if (!(slope_at(&r, 0).g > 0))
        return FAB_FAIL(FAB_BAD_DATA,
                        "calibrate: %lld rows left out are predicted no better than if all classes "
                        "were alike; no temperature mends that",
                        (long long)n);
    double low = 0, high = limit_of(&r, 1 / ((double)n + 2)),
           b = 1; /* the root is in [low, high] */
    c->limited = slope_at(&r, high).g >= 0;
    if (c->limited) {
        c->temperature = 1 / high;
        return FAB_OK;
    }
    while (high - low > 4 * DBL_EPSILON * high) {
        const slope s = slope_at(&r, b);
        if (s.g > 0)
            low = b;
        else
            high = b;
        const double next = b + s.g / s.h;                /* b + g / -g' */
        if (fabs(next - b) <= 2 * DBL_EPSILON * b) break; /* what is left is rounding */
        b = next > low && next < high ? next : low + (high - low) / 2;
    }
    c->temperature = 1 / b;
    c->temperature_sd = c->temperature * c->temperature /
                        sqrt(slope_at(&r, b).h); /* |dT/db| sd(b) */
    return FAB_OK;
}

fab_status fab_calibration_heat(const fab_calibration *c, int64_t C, int64_t n, double *logp)
{
    for (int64_t i = 0; i < n; i++) {
        double *l = logp + i * C, most = l[0], sum = 0;
        for (int64_t k = 1; k < C; k++) most = fmax(most, l[k]);
        if (!isfinite(most))
            return FAB_FAIL(FAB_BAD_DATA, "row %lld has no probabilities", (long long)i);
        for (int64_t k = 0; k < C; k++) {
            l[k] = (l[k] - most) / c->temperature;
            sum += exp(l[k]);
        }
        for (int64_t k = 0; k < C; k++) l[k] -= log(sum);
    }
    return FAB_OK;
}

/* ---- 4 ------------------------------------------------------------------------------------------------ */

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

fab_status fab_calibration_quantiles(int64_t n, double *score, fab_calibration *c)
{
    qsort(score, (size_t)n, sizeof *score, rising);
    for (int i = 0; i < LEVELS; i++) {
        const int64_t k = ((n + 1) * percent[i] + 99) / 100; /* ceil((n + 1) a) */
        if (k > n)
            return FAB_FAIL(FAB_BAD_DATA,
                            "calibrate: %d %% need at least %d rows left out, and here are %lld",
                            percent[i], FAB_CALIBRATION_ROWS, (long long)n);
        c->quantile[i] = score[k - 1];
        if (!isfinite(c->quantile[i]))
            return FAB_FAIL(
                FAB_NUMERIC,
                "calibrate: more than %d %% of the rows left out have no probability at "
                "all under the fit",
                100 - percent[i]);
    }
    return FAB_OK;
}

/* A y whose score is the quantile is inside, whatever the rounding of mean, product and sum. */
static void put_interval(double quantile, fab_target target, fab_prediction *p)
{
    const double half = quantile * p->sd;
    const double slack = 8 * DBL_EPSILON * (fabs(p->mean) + half);
    p->lower = p->mean - half - slack;
    p->upper = p->mean + half + slack;
    if (target != FAB_TARGET_COUNTS) return;
    p->lower = fmax(0, floor(p->lower));
    p->upper = ceil(p->upper);
}

fab_status fab_calibration_level(const fab_calibration *c, double level, double *quantile)
{
    *quantile = c->quantile[OF_SETS];
    if (level == 0) return FAB_OK;
    for (int k = 0; k < LEVELS; k++) {
        *quantile = c->quantile[k];
        if (fabs(100 * level - percent[k]) < 1e-9) return FAB_OK;
    }
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "level = %g: the fit is calibrated for intervals of %d, %d and %d %%", level,
                    percent[0], percent[1], percent[2]);
}

void fab_calibration_intervals(const fab_calibration *c, fab_target target, double quantile,
                               fab_predictions *p)
{
    double *const coverage[LEVELS] = {&p->scores.coverage50, &p->scores.coverage90,
                                      &p->scores.coverage95};
    for (int64_t i = 0; i < p->n; i++) put_interval(quantile, target, &p->p[i]);
    if (!p->y) return;
    for (int k = 0; k < LEVELS; k++) {
        int64_t inside = 0;
        for (int64_t i = 0; i < p->n; i++)
            inside += fabs(p->y[i] - p->p[i].mean) / p->p[i].sd <= c->quantile[k];
        *coverage[k] = (double)inside / (double)p->n;
    }
}

fab_status fab_calibration_sets(const fab_calibration *c, fab_predictions *p)
{
    int64_t inside = 0, size = 0;
    const int64_t C = p->classes;
    FAB_TRY(fab_alloc_array((void **)&p->set, p->n * C, 1, "predictions"));
    for (int64_t i = 0; i < p->n; i++) {
        const double *l = p->logp + i * C;
        char *in = p->set + i * C;
        int64_t best = 0;
        for (int64_t k = 1; k < C; k++)
            if (l[k] > l[best]) best = k;
        for (int64_t k = 0; k < C; k++) {
            in[k] = k == best || -l[k] <= c->quantile[OF_SETS];
            size += in[k];
        }
        if (p->y) inside += in[(int64_t)p->y[i]];
    }
    p->set_size = (double)size / (double)p->n;
    if (p->y) p->scores.coverage90 = (double)inside / (double)p->n;
    return FAB_OK;
}

/* ---- in a file ---------------------------------------------------------------------------------------- */

static void add_number(fab_text *t, const char *before, double x)
{
    char number[32];
    fab_print_double(number, sizeof number, x);
    fab_text_add(t, "%s%s", before, number);
}

fab_status fab_calibration_json(const fab_calibration *c, int finished, char **text)
{
    fab_text t = {0};
    fab_text_add(&t, "{\"way\": \"%s\", \"rows\": %lld", c->way, (long long)c->rows);
    if (finished && is_conformal(c)) {
        fab_text_add(&t, ", \"percent\": [");
        for (int i = 0; i < LEVELS; i++) fab_text_add(&t, i ? ", %d" : "%d", percent[i]);
        for (int i = 0; i < LEVELS; i++)
            add_number(&t, i ? ", " : "], \"quantiles\": [", c->quantile[i]);
        fab_text_add(&t, "]");
    } else if (finished) {
        add_number(&t, ", \"temperature\": ", c->temperature);
        if (c->limited)
            fab_text_add(&t, ", \"limited\": 1");
        else
            add_number(&t, ", \"sd\": ", c->temperature_sd);
    }
    fab_text_add(&t, "}");
    return fab_text_give(&t, text);
}

static fab_status read_quantiles(const char *json, fab_calibration *c)
{
    double of[LEVELS] = {0}, before = 0;
    if (fab_json_numbers(json, "percent", of, LEVELS) != LEVELS ||
        fab_json_numbers(json, "quantiles", c->quantile, LEVELS) != LEVELS)
        return FAB_FAIL(FAB_BAD_FILE, "calibration: expected %d quantiles", LEVELS);
    for (int i = 0; i < LEVELS; i++) {
        if (of[i] != percent[i])
            return FAB_FAIL(FAB_BAD_FILE, "calibration: a quantile of %g %%, expected %d %%", of[i],
                            percent[i]);
        if (!(c->quantile[i] >= before && isfinite(c->quantile[i])))
            return FAB_FAIL(FAB_BAD_FILE,
                            "calibration: the quantile of %d %% is %g, expected a number that is "
                            "at least %g",
                            percent[i], c->quantile[i], before);
        before = c->quantile[i];
    }
    return FAB_OK;
}

static fab_status read_calibration(const char *json, fab_target target, fab_calibration *c,
                                   int *finished)
{
    double n = 0, limited = 0;
    *c = (fab_calibration){0};
    *finished = 0;
    for (int i = 0; i < WAYS; i++)
        if (fab_json_is(json, "way", ways[i])) c->way = ways[i];
    if (!c->way) return FAB_FAIL(FAB_BAD_FILE, "calibration: its way is not known");
    if (fab_json_numbers(json, "rows", &n, 1) != 1 || !(n >= FAB_CALIBRATION_ROWS && n < 0x1p53))
        return FAB_FAIL(FAB_BAD_FILE, "calibration: it is of %g rows, expected %d or more", n,
                        FAB_CALIBRATION_ROWS);
    c->rows = (int64_t)n;
    *finished = fab_json_numbers(json, is_conformal(c) ? "quantiles" : "temperature", NULL, 0) != 0;
    if (!*finished) return FAB_OK;
    if (is_conformal(c)) return read_quantiles(json, c);
    if (target != FAB_TARGET_CLASSES)
        return FAB_FAIL(FAB_BAD_FILE, "calibration: a temperature, and the target has no classes");
    if (fab_json_numbers(json, "temperature", &c->temperature, 1) != 1 ||
        !(c->temperature > 0 && isfinite(c->temperature)))
        return FAB_FAIL(FAB_BAD_FILE, "calibration: a temperature of %g, expected more than 0",
                        c->temperature);
    c->limited = fab_json_numbers(json, "limited", &limited, 1) == 1 && limited == 1;
    if (c->limited) return FAB_OK;
    if (fab_json_numbers(json, "sd", &c->temperature_sd, 1) != 1 ||
        !(c->temperature_sd >= 0 && isfinite(c->temperature_sd)))
        return FAB_FAIL(FAB_BAD_FILE, "calibration: the temperature has no standard error");
    return FAB_OK;
}

fab_status fab_calibration_from_json(const char *json, fab_target target, fab_calibration *c,
                                     int *finished)
{
    const int64_t before = fab_json_failures();
    const fab_status s = read_calibration(json, target, c, finished);
    if (fab_json_failures() == before) return s;
    return FAB_FAIL(FAB_NO_MEMORY, "calibration: takes more memory than there is");
}
