/* summary.c - what a factor analysis found.
 *
 * SPDX-License-Identifier: MIT */
#include "print/summary.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 10, SHARES = 12 }; /* shown to a person */

typedef struct summary {
    fit *f;
    const factors *turned;
    const rank_search *ranks;
    const fab_gauss *q;
    fab_report d;
    int64_t *floored; /* d.floored coordinates, fewer where they cannot be told */
    int64_t named;
    double rate;
} summary;

/* ---- coordinates at the floor --------------------------------------------------------------------- */

static double variance(const fab_gauss *q, int64_t d)
{
    double v = q->psi[d];
    for (int64_t k = 0; k < q->K; k++) {
        const double x = q->type == FAB_F32 ? (double)((const float *)q->F)[d * q->K + k]
                                            : ((const double *)q->F)[d * q->K + k];
        v += x * x;
    }
    return v;
}

/* psi stands at psi_min of the coordinate's own variance, or for a constant one of the mean variance. */
static void find_floored(summary *s)
{
    const fab_field *field = fab_settings_find(s->f->method->table, "psi_min");
    const fab_gauss *q = s->q;
    double psi_min = 0, mean = 0;
    if (!field || !s->d.floored) return;
    memcpy(&psi_min, (const char *)fab_fit_settings(s->f->estim) + field->offset, sizeof psi_min);
    for (int64_t d = 0; d < q->D; d++) mean += variance(q, d) / (double)q->D;
    for (int64_t d = 0; d < q->D && s->named < s->d.floored; d++) {
        const double own = psi_min * variance(q, d), all = psi_min * mean;
        const int low = q->psi[d] <= own * (1 + 1e-3) || fabs(q->psi[d] / all - 1) < 1e-3;
        if (low || s->d.floored == q->D) s->floored[s->named++] = d;
    }
}

/* ---- for programs --------------------------------------------------------------------------------- */

static json_t *json_settings(const summary *s)
{
    char *text = NULL;
    const fab_method *m = s->f->method;
    if (fab_settings_json(m->table, fab_fit_settings(s->f->estim), &text) != FAB_OK) return NULL;
    json_t *j = json_loads(text, 0, NULL);
    fab_text_free(text);
    return j ? j : json_null();
}

static json_t *json_factors(const summary *s)
{
    json_t *shares = json_array();
    for (int64_t k = 0; k < s->turned->K; k++)
        json_array_append_new(shares, json_number(s->turned->length[k] / s->turned->total));
    return shares;
}

static json_t *json_names(const summary *s, const int64_t *coordinate, int64_t n)
{
    json_t *names = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(names, json_text(data_name(&s->f->data, coordinate[i])));
    return names;
}

static json_t *json_candidates(const rank_search *r)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < r->n; i++) {
        json_t *j = json_object();
        json_put(j, "k", json_integer(r->all[i].k));
        json_put(j, "loglik_mean", json_number(r->all[i].loglik_mean));
        json_put(j, "bic", json_number(r->all[i].bic));
        json_array_append_new(list, j);
    }
    return list;
}

static int say_json(const summary *s)
{
    const fit *f = s->f;
    json_t *j = json_object();
    json_put(j, "method", json_text(f->method->name));
    json_put(j, "settings", json_settings(s));
    json_put(j, "D", json_integer(s->q->D));
    json_put(j, "K", json_integer(s->q->K));
    json_put(j, "n", json_integer(s->d.n));
    json_put(j, "rows", json_integer(s->d.n - f->seen));
    json_put(j, "loglik_mean", json_number(s->d.loglik_mean));
    json_put(j, "factors", json_factors(s));
    json_put(j, "floored", json_integer(s->d.floored));
    json_put(j, "floored_names", json_names(s, s->floored, s->named));
    json_put(j, "constant_names", json_names(s, f->data.constant, f->data.constants));
    json_put(j, "iterations", json_integer(s->d.iterations));
    json_put(j, "converged", s->d.converged < 0 ? json_null() : json_boolean(s->d.converged));
    if (s->ranks) json_put(j, "candidates", json_candidates(s->ranks));
    if (f->output) json_put(j, "output", json_text(f->output));
    json_put(j, "bytes", json_number(f->needed));
    json_put(j, "seconds", json_number(f->seconds));
    json_put(j, "rows_per_s", json_number(s->rate));
    return json_say(j);
}

/* ---- for people ----------------------------------------------------------------------------------- */

static void print_candidates(const rank_search *r)
{
    printf("%5s  %16s  %16s\n", "k", "log-likelihood", "BIC");
    for (int64_t i = 0; i < r->n; i++)
        printf("%5" PRId64 "  %16.6f  %16.1f%s\n", r->all[i].k, r->all[i].loglik_mean,
               r->all[i].bic, r->all[i].k == r->chosen ? "  chosen" : "");
    putchar('\n');
}

static void print_shares(const factors *t)
{
    double in_F = 0;
    for (int64_t k = 0; k < t->K; k++) in_F += t->length[k] / t->total;
    printf("%-15s %.4g %% in the factors, %.4g %% in psi\n", "variance", 100 * in_F,
           100 * (1 - in_F));
    printf("%-15s", "each factor");
    for (int64_t k = 0; k < t->K && k < SHARES; k++) printf(" %.3g", 100 * t->length[k] / t->total);
    if (t->K > SHARES) printf(" .. (%" PRId64 " in all)", t->K);
    printf(" %%\n");
}

/* " a, b, c and 5 more" */
static void print_names(const summary *s, const int64_t *coordinate, int64_t known, int64_t n)
{
    const int64_t shown = known < NAMES ? known : NAMES;
    for (int64_t i = 0; i < shown; i++)
        printf("%s %s", i ? "," : "", data_name(&s->f->data, coordinate[i]));
    if (n > shown) printf(" and %" PRId64 " more", n - shown);
    putchar('\n');
}

static void print_odd(const summary *s)
{
    const data *d = &s->f->data;
    if (s->d.floored) {
        printf("%-15s psi at its floor in %" PRId64 " of %" PRId64 " coordinates:", "floored",
               s->d.floored, s->q->D);
        print_names(s, s->floored, s->named, s->d.floored);
    }
    if (d->constants) {
        printf("%-15s", "constant");
        print_names(s, d->constant, d->constants, d->constants);
    }
}

static int say_table(const summary *s)
{
    const fit *f = s->f;
    char rate[24];
    if (s->ranks) print_candidates(s->ranks);
    printf("%-15s %s, D = %" PRId64 ", K = %" PRId64 "\n", "method", f->method->name, s->q->D,
           s->q->K);
    printf("%-15s %" PRId64 " of %s", "rows", s->d.n - f->seen, f->data.o.file);
    if (f->seen) printf(", and %" PRId64 " before", f->seen);
    printf("\n%-15s %.6f per row\n", "log-likelihood", s->d.loglik_mean);
    print_shares(s->turned);
    print_odd(s);
    if (s->d.iterations > 0 && s->d.converged >= 0)
        printf("%-15s %" PRId64 ", %s\n", "iterations", s->d.iterations,
               s->d.converged ? "converged" : "stopped at max_iter");
    printf("%-15s %.3g s, %s rows/s\n", "time", f->seconds,
           human_count(s->rate, rate, sizeof rate));
    if (f->output) printf("%-15s %s\n", "saved", f->output);
    return DONE;
}

int summary_say(fit *f, const factors *turned, const rank_search *ranks, int64_t json)
{
    summary s = {.f = f, .turned = turned, .ranks = ranks, .q = turned->g};
    const fab_status known = fab_fit_report(f->estim, &s.d);
    if (known != FAB_OK) return say_status(known);
    if (f->quiet && f->output && !json) return DONE;
    s.floored = malloc((size_t)(s.d.floored + 1) * sizeof *s.floored);
    if (!s.floored) return say_failed("out of memory");
    s.rate = (double)(s.d.n - f->seen) / (f->seconds > 0 ? f->seconds : 1e-9);
    find_floored(&s);
    const int status = json ? say_json(&s) : say_table(&s);
    free(s.floored);
    return status;
}
