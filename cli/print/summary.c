/* summary.c - what a factor analysis found.
 *
 * SPDX-License-Identifier: MIT */
#include "print/summary.h"
#include <inttypes.h>
#include <stdio.h>

enum { NAMES = 10, SHARES = 12 }; /* shown to a person */

typedef struct findings {
    const summary *say;
    fab_fa_report report;
    const int64_t *floored, *constant; /* coordinates */
    int64_t floored_known,
        constants; /* floored_known: report.floored, fewer where they cannot be told */
    double rate;
} findings;

int factors_failed(const char *who, fab_status s)
{
    if (s == FAB_STOPPED) return say_failed("%s: stopped", who);
    return say_failed("%s", fab_detail()[0] ? fab_detail() : fab_strerror(s));
}

/* ---- for programs --------------------------------------------------------------------------------- */

static json_t *json_settings(const fab_factors *f)
{
    char *text = NULL;
    const fab_fields *fields = fab_method_fields(fab_factors_method(f));
    if (fab_settings_json(fields, fab_factors_settings(f), &text) != FAB_OK) return NULL;
    json_t *j = json_loads(text, 0, NULL);
    fab_text_free(text);
    return j ? j : json_null();
}

static json_t *json_shares(const fab_rotation *r)
{
    json_t *shares = json_array();
    for (int64_t k = 0; k < r->K; k++)
        json_array_append_new(shares, json_number(r->length[k] / r->total));
    return shares;
}

static json_t *json_names(const fab_factors *f, const int64_t *coordinate, int64_t n)
{
    json_t *names = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(names, json_text(fab_factors_name(f, coordinate[i])));
    return names;
}

static json_t *json_candidates(const fab_bic *b)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < b->n; i++) {
        json_t *j = json_object();
        json_put(j, "k", json_integer(b->all[i].k));
        json_put(j, "loglik_mean", json_number(b->all[i].loglik_mean));
        json_put(j, "bic", json_number(b->all[i].bic));
        json_array_append_new(list, j);
    }
    return list;
}

static int say_json(const findings *n)
{
    const fab_factors *f = n->say->f;
    const fab_fa_report *r = &n->report;
    const fab_bic *search = fab_factors_search(f);
    json_t *j = json_object();
    json_put(j, "method", json_text(fab_method_name(fab_factors_method(f))));
    json_put(j, "settings", json_settings(f));
    json_put(j, "D", json_integer(n->say->r->D));
    json_put(j, "K", json_integer(n->say->r->K));
    json_put(j, "n", json_integer(r->n));
    json_put(j, "rows", json_integer(r->n - r->before));
    json_put(j, "loglik_mean", json_number(r->loglik_mean));
    json_put(j, "factors", json_shares(n->say->r));
    json_put(j, "floored", json_integer(r->floored));
    json_put(j, "floored_names", json_names(f, n->floored, n->floored_known));
    json_put(j, "constant_names", json_names(f, n->constant, n->constants));
    json_put(j, "iterations", json_integer(r->iterations));
    json_put(j, "converged", r->converged < 0 ? json_null() : json_boolean(r->converged));
    if (search) json_put(j, "candidates", json_candidates(search));
    if (n->say->output) json_put(j, "output", json_text(n->say->output));
    json_put(j, "bytes", json_number(fab_factors_bytes(f)));
    json_put(j, "seconds", json_number(r->seconds));
    json_put(j, "rows_per_s", json_number(n->rate));
    return json_say(j);
}

/* ---- for people ----------------------------------------------------------------------------------- */

static void print_candidates(const fab_bic *b)
{
    printf("%5s  %16s  %16s\n", "k", "log-likelihood", "BIC");
    for (int64_t i = 0; i < b->n; i++)
        printf("%5" PRId64 "  %16.6f  %16.1f%s\n", b->all[i].k, b->all[i].loglik_mean,
               b->all[i].bic, b->all[i].k == b->chosen ? "  chosen" : "");
    putchar('\n');
}

static void print_shares(const fab_rotation *r)
{
    double in_F = 0;
    for (int64_t k = 0; k < r->K; k++) in_F += r->length[k] / r->total;
    printf("%-15s %.4g %% in the factors, %.4g %% in psi\n", "variance", 100 * in_F,
           100 * (1 - in_F));
    printf("%-15s", "each factor");
    for (int64_t k = 0; k < r->K && k < SHARES; k++) printf(" %.3g", 100 * r->length[k] / r->total);
    if (r->K > SHARES) printf(" .. (%" PRId64 " in all)", r->K);
    printf(" %%\n");
}

/* " a, b, c and 5 more" */
static void print_names(const fab_factors *f, const int64_t *coordinate, int64_t known, int64_t n)
{
    const int64_t shown = known < NAMES ? known : NAMES;
    for (int64_t i = 0; i < shown; i++)
        printf("%s %s", i ? "," : "", fab_factors_name(f, coordinate[i]));
    if (n > shown) printf(" and %" PRId64 " more", n - shown);
    putchar('\n');
}

static int say_table(const findings *n)
{
    const fab_factors *f = n->say->f;
    const fab_fa_report *r = &n->report;
    const int64_t D = n->say->r->D, K = n->say->r->K;
    char rate[24];
    if (fab_factors_search(f)) print_candidates(fab_factors_search(f));
    printf("%-15s %s, D = %" PRId64 ", K = %" PRId64 "\n", "method",
           fab_method_name(fab_factors_method(f)), D, K);
    printf("%-15s %" PRId64 " of %s", "rows", r->n - r->before, n->say->file);
    if (r->before) printf(", and %" PRId64 " before", r->before);
    printf("\n%-15s %.6f per row\n", "log-likelihood", r->loglik_mean);
    print_shares(n->say->r);
    if (r->floored) {
        printf("%-15s psi at its floor in %" PRId64 " of %" PRId64 " coordinates:", "floored",
               r->floored, D);
        print_names(f, n->floored, n->floored_known, r->floored);
    }
    if (n->constants) {
        printf("%-15s", "constant");
        print_names(f, n->constant, n->constants, n->constants);
    }
    if (r->iterations > 0 && r->converged >= 0)
        printf("%-15s %" PRId64 ", %s\n", "iterations", r->iterations,
               r->converged ? "converged" : "stopped at max_iter");
    printf("%-15s %.3g s, %s rows/s\n", "time", r->seconds,
           human_count(n->rate, rate, sizeof rate));
    if (n->say->output) printf("%-15s %s\n", "saved", n->say->output);
    return DONE;
}

int summary_say(const summary *s)
{
    findings n = {.say = s};
    fab_status known = fab_factors_report(s->f, &n.report);
    if (known == FAB_OK) known = fab_factors_floored(s->f, &n.floored, &n.floored_known);
    if (known != FAB_OK) return say_status(known);
    if (s->quiet && s->output && !s->json) return DONE;
    n.constants = fab_factors_constants(s->f, &n.constant);
    const double seconds = n.report.seconds > 0 ? n.report.seconds : 1e-9;
    n.rate = (double)(n.report.n - n.report.before) / seconds;
    return s->json ? say_json(&n) : say_table(&n);
}
