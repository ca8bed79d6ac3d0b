/* process.c - a Gaussian process as it was learned, for programs and people.
 *
 * SPDX-License-Identifier: MIT */
#include "print/process.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 20, NAME = 40 }; /* parameters shown to a person, at most */

/* "rbf.l.height", "matern32.l", "rbf*periodic.s2", "noise" */
static void name_of(const fab_process_parameter *p, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s%s%s", p->kernel, *p->kernel ? "." : "", p->name,
             p->column ? "." : "", p->column ? p->column : "");
}

int process_put(json_t *j, fab_regression *r)
{
    const fab_process_summary *s;
    const fab_status known = fab_regression_process(r, &s);
    if (known != FAB_OK) return say_status(known);
    json_t *theta = json_array();
    for (int64_t i = 0; i < s->n; i++) {
        const fab_process_parameter *p = &s->parameter[i];
        char name[512];
        json_t *one = json_object();
        name_of(p, name, sizeof name);
        json_put(one, "name", json_text(name));
        json_put(one, "kernel", *p->kernel ? json_text(p->kernel) : json_null());
        json_put(one, "column", p->column ? json_text(p->column) : json_null());
        json_put(one, "value", json_number(p->value));
        json_put(one, "fitted", json_number(p->theta));
        json_put(one, "fixed", json_boolean(p->fixed));
        json_put(one, "at_bound", json_boolean(p->at_bound));
        json_array_append_new(theta, one);
    }
    json_put(j, "kernel", json_text(s->kernel));
    json_put(j, s->objective, json_number(s->lml));
    json_put(j, "theta", theta);
    json_put(j, "jitter", json_number(s->jitter));
    json_put(j, "starts", json_integer(s->starts));
    json_put(j, "optima", json_integer(s->optima));
    json_put(j, "second", json_number(s->second));
    json_put(j, "searched", json_integer(s->searched));
    if (s->places > 1) json_put(j, "places", json_integer(s->places));
    if (s->inducing) {
        json_put(j, "inducing", json_integer(s->inducing));
        json_put(j, "steps", json_integer(s->steps));
    }
    return DONE;
}

static void print_parameter(const fab_process_parameter *p, int width)
{
    char name[512], value[40];
    const int is_length = strcmp(p->name, "l") == 0;
    name_of(p, name, sizeof name);
    printf("%-*.*s  %12s", width, NAME, one_line(p->column ? p->column : name),
           number_text(p->value, FULL_DIGITS, value, sizeof value));
    if (p->relevance == p->relevance) printf("  %9.3g", p->relevance);
    if (p->fixed) printf("  given");
    if (p->at_bound && is_length && p->column && p->relevance < 1)
        printf("  at its bound: the column is switched off");
    else if (p->at_bound)
        printf("  at its bound");
    putchar('\n');
}

const char *process_objective(const fab_process_summary *s)
{
    if (strcmp(s->objective, "bound") == 0) return "bound of the log evidence";
    return s->inducing ? "approximate log evidence" : "log evidence";
}

static void print_inducing(const fab_process_summary *s)
{
    printf("%-14s %" PRId64 " inputs", "inducing", s->inducing);
    if (s->inducing < s->asked)
        printf(" of %" PRId64 " asked for: other rows are too much like them", s->asked);
    printf("; %s %.6g\n", process_objective(s), s->lml);
}

int process_print(fab_regression *r)
{
    const fab_process_summary *s;
    const fab_status known = fab_regression_process(r, &s);
    int width = 12;
    int64_t lengths = 0, shown = 0;
    if (known != FAB_OK) return say_status(known);
    for (int64_t i = 0; i < s->n; i++) {
        const fab_process_parameter *p = &s->parameter[i];
        char name[512];
        name_of(p, name, sizeof name);
        const int w = (int)strlen(one_line(p->column ? p->column : name));
        if (w > width) width = w < NAME ? w : NAME;
        lengths += p->column != NULL;
    }
    printf("\n%-14s %s, on %" PRId64 " rows\n", "kernel", one_line(s->kernel), s->rows);
    if (s->inducing) print_inducing(s);
    if (lengths) printf("%-*s  %12s  %9s\n", width, "column", "length-scale", "relevance");
    for (int64_t k = 0; k < lengths && k < SHOWN; k++, shown++)
        print_parameter(&s->parameter[s->order[k]], width);
    if (shown < lengths)
        printf("the %" PRId64 " most relevant of %" PRId64
               "; `fabayes info FILE --json` shows all\n",
               shown, lengths);
    if (lengths) putchar('\n');
    for (int64_t k = lengths; k < s->n; k++) print_parameter(&s->parameter[s->order[k]], width);
    if (s->places > 1)
        printf("%-14s predictions are a mixture over %" PRId64 " places of these parameters\n",
               "average", s->places);
    if (s->jitter > 0)
        printf("%-14s %.3g was added to the diagonal: rows that are alike, or hardly any noise\n",
               "jitter", s->jitter);
    if (s->optima > 1)
        printf("%-14s %" PRId64 " of %" PRId64
               " searches ended apart; log evidence of the next best: %.6g\n",
               "optima", s->optima, s->starts, s->second);
    return DONE;
}
