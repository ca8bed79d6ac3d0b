/* summary.c - what a factor analysis found.
 *
 * SPDX-License-Identifier: MIT */
#include "print/summary.h"
#include "print/stream.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 10, SHARES = 12, COORDINATES = 60, FACTORS = 8 }; /* shown to a person */
#define BLANK 0.1 /* a loading below it is not shown */

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
    return j;
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
        json_array_append_new(names, json_text(one_line(fab_factors_name(f, coordinate[i]))));
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

static json_t *json_matrix(const double *p, int64_t n)
{
    json_t *rows = json_array();
    for (int64_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (int64_t k = 0; k < n; k++) json_array_append_new(row, json_number(p[i * n + k]));
        json_array_append_new(rows, row);
    }
    return rows;
}

/* How well K factors do: null where it is not known. */
static json_t *json_test(const fab_fa_report *r)
{
    if (r->chi_square != r->chi_square) return json_null();
    json_t *j = json_object();
    json_put(j, "chi_square", json_number(r->chi_square));
    json_put(j, "dof", json_integer(r->dof));
    json_put(j, "p_value", json_number(r->p_value));
    json_put(j, "rmsea", json_number(r->rmsea));
    json_put(j, "rmsea_low", json_number(r->rmsea_low));
    json_put(j, "rmsea_high", json_number(r->rmsea_high));
    return j;
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
    json_put(j, "dropped", json_integer(r->dropped));
    json_put(j, "loglik_mean", json_number(r->loglik_mean));
    json_put(j, "loglik_rows", json_integer(r->loglik_rows));
    json_put(j, "loglik_se", json_number(r->loglik_se));
    json_put(j, "rotation", json_text(fab_rotation_name(n->say->r->kind)));
    json_put(j, "factors", json_shares(n->say->r));
    json_put(j, "correlations", json_matrix(n->say->r->phi, n->say->r->K));
    json_put(j, "test", json_test(r));
    json_put(j, "floored", json_integer(r->floored));
    json_put(j, "floored_names", json_names(f, n->floored, n->floored_known));
    json_put(j, "constant_names", json_names(f, n->constant, n->constants));
    json_put(j, "iterations", json_integer(r->iterations));
    json_put(j, "converged", r->converged < 0 ? json_null() : json_boolean(r->converged));
    json_put(j, "gain", json_number(r->gain));
    if (search) json_put(j, "candidates", json_candidates(search));
    if (r->stream) json_put(j, "stream", stream_json(r->stream));
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
        printf("%s %s", i ? "," : "", one_line(fab_factors_name(f, coordinate[i])));
    if (n > shown) printf(" and %" PRId64 " more", n - shown);
    putchar('\n');
}

/* "factor1 ..", or numbers below them */
static void print_heads(int64_t K)
{
    for (int64_t k = 0; k < K; k++) printf("  factor%-2" PRId64, k + 1);
}

static void print_numbers(const char *name, int width, const double *p, int64_t n, double share)
{
    printf("%-*s", width, name);
    for (int64_t k = 0; k < n; k++) printf("  %8.3f", share * p[k]);
    putchar('\n');
}

/* The loadings of some coordinates, and what the factors explain of all. */
static void print_rows(const fab_factors *f, const fab_rotation *r, const double *L,
                       const double *uniqueness, const double *explained, const int64_t *order)
{
    const int64_t K = r->K < FACTORS ? r->K : FACTORS, D = r->D < COORDINATES ? r->D : COORDINATES;
    double sum[FACTORS] = {0};
    int width = 13;
    for (int64_t i = 0; i < D; i++) {
        const int long_name = (int)strlen(one_line(fab_factors_name(f, order[i])));
        if (long_name > width) width = long_name < 28 ? long_name : 28;
    }
    printf("\n%-*s", width, "loadings");
    print_heads(K);
    printf("  uniqueness\n");
    for (int64_t i = 0; i < D; i++) {
        const double *row = L + order[i] * r->K;
        printf("%-*.*s", width, width, one_line(fab_factors_name(f, order[i])));
        for (int64_t k = 0; k < K; k++) {
            if (row[k] < BLANK && row[k] > -BLANK)
                printf("  %8s", "");
            else
                printf("  %8.3f", row[k]);
        }
        printf("  %10.3f\n", uniqueness[order[i]]);
    }
    for (int64_t k = 0; k < K; k++) sum[k] = explained[k] + (k ? sum[k - 1] : 0);
    putchar('\n');
    print_numbers("explained", width, explained, K, 1);
    print_numbers("share", width, explained, K, 1 / (double)r->D);
    print_numbers("cumulative", width, sum, K, 1 / (double)r->D);
    if (r->kind == FAB_ROTATION_PROMAX || r->kind == FAB_ROTATION_OBLIMIN) {
        printf("\n%-*s", width, "correlations");
        print_heads(K);
        putchar('\n');
        for (int64_t k = 0; k < K; k++) {
            char name[24];
            snprintf(name, sizeof name, "factor%" PRId64, k + 1);
            print_numbers(name, width, r->phi + k * r->K, K, 1);
        }
    }
    printf("\nLoadings of columns in their standard deviations, %s; below %g left blank",
           fab_rotation_name(r->kind), BLANK);
    if (r->D > D) printf("; %" PRId64 " columns of %" PRId64, D, r->D);
    if (r->K > K) printf("; %" PRId64 " factors of %" PRId64, K, r->K);
    printf(r->D > D || r->K > K ? "; --loadings FILE.csv writes all.\n\n" : ".\n\n");
}

static int print_loadings(const summary *s)
{
    const size_t D = (size_t)s->r->D, K = (size_t)s->r->K;
    double *numbers = malloc((D * (K + 1) + K) * sizeof *numbers);
    int64_t *order = malloc(D * sizeof *order);
    fab_status known = numbers && order ? FAB_OK : FAB_NO_MEMORY;
    if (known == FAB_OK)
        known = fab_factors_loadings(s->f, s->r, numbers, numbers + D * K, numbers + D * (K + 1),
                                     order);
    if (known == FAB_OK)
        print_rows(s->f, s->r, numbers, numbers + D * K, numbers + D * (K + 1), order);
    free(numbers);
    free(order);
    return known == FAB_OK ? DONE : say_status(known);
}

/* Why K factors are not held against any covariance; methods other than maximum likelihood are no test. */
static void print_no_test(const fab_fa_report *r, const char *method, int64_t D, int64_t K)
{
    const int likely = strcmp(method, "ml") == 0 || strcmp(method, "em") == 0;
    if (!likely && strcmp(method, "online-ml") != 0) return;
    printf("%-15s ", "enough factors?");
    if (r->dof < 1)
        printf("not tested: %" PRId64 " factors of %" PRId64
               " columns leave no degree of freedom\n",
               K, D);
    else if (r->n <= D + 1)
        printf("not tested: %" PRId64 " rows are no more than the columns and 1\n", r->n);
    else if (strcmp(method, "em") == 0)
        printf("not tested: a value is missing, or a column follows from the others; --missing "
               "drop tests the "
               "whole rows\n");
    else
        printf("not tested: a column follows from the others\n");
}

static void print_test(const fab_fa_report *r, const char *method, int64_t D, int64_t K)
{
    if (r->chi_square != r->chi_square) {
        print_no_test(r, method, D, K);
        return;
    }
    printf("%-15s chi-square %.2f on %" PRId64 " degrees of freedom, p = %.3g\n", "enough factors?",
           r->chi_square, r->dof, r->p_value);
    printf("%-15s %.3f (90 %%: %.3f to %.3f)\n", "RMSEA", r->rmsea, r->rmsea_low, r->rmsea_high);
}

static int say_table(const findings *n)
{
    const fab_factors *f = n->say->f;
    const fab_fa_report *r = &n->report;
    const int64_t D = n->say->r->D, K = n->say->r->K;
    char rate[24];
    if (fab_factors_search(f)) print_candidates(fab_factors_search(f));
    if (print_loadings(n->say) != DONE) return FAILED;
    printf("%-15s %s, D = %" PRId64 ", K = %" PRId64 "\n", "method",
           fab_method_name(fab_factors_method(f)), D, K);
    printf("%-15s %" PRId64 " of %s", "rows", r->n - r->before, n->say->file);
    if (r->before) printf(", and %" PRId64 " before", r->before);
    if (r->dropped) printf(", and %" PRId64 " left out for a missing value", r->dropped);
    printf("\n");
    if (r->loglik_mean == r->loglik_mean) { /* known */
        printf("%-15s %.6f per row", "log-likelihood", r->loglik_mean);
        if (r->loglik_rows < r->n)
            printf(" +- %.2g, of %" PRId64 " rows drawn from all", r->loglik_se, r->loglik_rows);
        printf("\n");
    }
    if (r->stream) stream_print(r->stream, "predicted", 15, 1);
    print_shares(n->say->r);
    print_test(r, fab_method_name(fab_factors_method(f)), D, K);
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
               r->converged ? "converged" : "stopped at max_iter: raise --max_iter");
    else if (r->converged == 0)
        printf("%-15s no: the subspace still moved\n", "converged");
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

int summary_say_shared(const summary *s, const fab_fa_report *r, int64_t D, int64_t processes)
{
    char rate[24];
    const char *method = fab_method_name(fab_factors_method(s->f));
    const double speed = (double)r->n / (r->seconds > 0 ? r->seconds : 1e-9);
    if (s->json) {
        json_t *j = json_object();
        json_put(j, "method", json_text(method));
        json_put(j, "settings", json_settings(s->f));
        json_put(j, "D", json_integer(D));
        json_put(j, "n", json_integer(r->n));
        json_put(j, "loglik_mean", json_number(r->loglik_mean));
        json_put(j, "loglik_rows", json_integer(r->loglik_rows));
        json_put(j, "loglik_se", json_number(r->loglik_se));
        json_put(j, "floored", json_integer(r->floored));
        json_put(j, "processes", json_integer(processes));
        json_put(j, "output", json_text(s->output));
        json_put(j, "seconds", json_number(r->seconds));
        json_put(j, "rows_per_s", json_number(speed));
        return json_say(j);
    }
    if (s->quiet) return DONE;
    printf("%-15s %s, D = %" PRId64 " in %" PRId64 " processes\n", "method", method, D, processes);
    printf("%-15s %" PRId64 " of %s\n", "rows", r->n, s->file);
    if (r->loglik_mean == r->loglik_mean)
        printf("%-15s %.6f per row, of %" PRId64 " rows\n", "log-likelihood", r->loglik_mean,
               r->loglik_rows);
    printf("%-15s psi at its floor in %" PRId64 " of %" PRId64 " coordinates\n", "floored",
           r->floored, D);
    printf("%-15s %.3g s, %s rows/s\n", "time", r->seconds, human_count(speed, rate, sizeof rate));
    printf("%-15s %s, a shard for each process\n", "saved", s->output);
    return DONE;
}
