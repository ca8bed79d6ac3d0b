/* search.c - Bayesian optimisation: the highest point of a curve that is seen with noise, in few trials.
 *
 *   1  fab_propose is asked for x and told y = truth(x) + noise, so many times; trials.csv has them
 *   2  what its process then knows of the curve is drawn beside the truth
 *
 * SPDX-License-Identifier: MIT */
#include "demo/demo.h"
#include "demo/toy.h"
#include "options.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIALS = 15, SHOWN = 201, NOISE_STREAM = 30, GRID = 100001 };
static const double lo = -5, hi = 5, noise = 0.01;

typedef struct hill {
    char table[DEMO_PATH];
    double x[TRIALS], y[TRIALS];
    double at[SHOWN], truth[SHOWN], median[SHOWN], lower[SHOWN], upper[SHOWN];
    double best_x, best; /* the trial that is believed to be best, and the curve there */
    double top_x, top;   /* of the curve */
    double next;         /* what would be asked next */
} hill;

static double truth(double x)
{
    return x / 15 - x * x / 50 - (x == 0 ? 1 : sin(x) / x);
}

/* Trial i, x and y, to the digits that trials.csv has. */
static void make_trial(hill *m, int64_t i, double x)
{
    m->x[i] = round(1e4 * x) / 1e4;
    m->y[i] = round(1e4 * (truth(m->x[i]) + noise * toy_normal(NOISE_STREAM, i))) / 1e4;
}

static fab_status search(hill *m, fab_propose *o)
{
    double x;
    for (int64_t i = 0; i < TRIALS; i++) { /* 1 */
        fab_status s = fab_propose_ask(o, 1, &x);
        if (s != FAB_OK) return s;
        make_trial(m, i, x);
        s = fab_propose_tell(o, &m->x[i], m->y[i]);
        if (s != FAB_OK) return s;
    }
    const fab_status s = fab_propose_ask(o, 1, &m->next);
    if (s != FAB_OK) return s;
    m->best_x = m->x[fab_propose_best(o)];
    m->best = truth(m->best_x);
    return fab_propose_look(o, SHOWN, m->at, m->median, m->lower, m->upper, NULL); /* 2 */
}

static int write_trials(const hill *m)
{
    FILE *out = fopen(m->table, "w");
    if (!out) return say_failed("%s: cannot be written", m->table);
    fprintf(out, "x,y\n");
    for (int i = 0; i < TRIALS; i++) fprintf(out, "%.4f,%.4f\n", m->x[i], m->y[i]);
    return fclose(out) == 0 ? DONE : say_failed("%s: cannot be written", m->table);
}

static int run(void **part, const demo_call *call)
{
    const fab_range range[] = {{.name = "x", .lo = lo, .hi = hi}};
    hill *m = calloc(1, sizeof *m);
    fab_propose *o = NULL;
    *part = m;
    if (!m) return say_failed("demo: no memory for the trials");
    for (int i = 0; i < SHOWN; i++) {
        m->at[i] = lo + (hi - lo) * i / (SHOWN - 1);
        m->truth[i] = truth(m->at[i]);
    }
    m->top = -INFINITY;
    for (int i = 0; i < GRID; i++) {
        const double x = lo + (hi - lo) * i / (GRID - 1);
        if (truth(x) > m->top) m->top = truth(x), m->top_x = x;
    }
    int status = demo_path(m->table, call, "trials.csv");
    if (status != DONE) return status;
    const fab_propose_plan plan = {
        .range = range, .ranges = COUNT(range), .maximise = 1, .exec = &call->exec};
    fab_status s = fab_propose_create(&o, &plan);
    if (s == FAB_OK) s = search(m, o);
    fab_propose_free(o);
    return s == FAB_OK ? write_trials(m) : say_status(s);
}

/* ---- what is said ------------------------------------------------------------------------------------ */

static void print(const void *part)
{
    const hill *m = part;
    printf("The highest point of a curve in %d trials with noise, by Bayesian optimisation.\n\n",
           TRIALS);
    printf("found x = %.2f, where the curve is %.4f; its top is %.4f at %.2f\n\n", m->best_x,
           m->best, m->top, m->top_x);
    printf("%-10s %s\n", "trials", m->table);
}

static json_t *json(const void *part)
{
    const hill *m = part;
    json_t *j = json_object();
    json_put(j, "trials", json_integer(TRIALS));
    json_put(j, "x", json_number(m->best_x));
    json_put(j, "value", json_number(m->best));
    json_put(j, "x_true", json_number(m->top_x));
    json_put(j, "value_true", json_number(m->top));
    json_put(j, "next", json_number(m->next));
    json_put(j, "table", json_text(m->table));
    return j;
}

static fab_status show(const void *part, fab_page *page)
{
    const hill *m = part;
    const fab_curve curve[] = {
        {.name = "believed", .x = m->at, .y = m->median, .n = SHOWN},
        {.name = "trials", .x = m->x, .y = m->y, .n = TRIALS, .style = FAB_CURVE_POINTS},
        {.name = "5 % to 95 %",
         .x = m->at,
         .y = m->lower,
         .n = SHOWN,
         .style = FAB_CURVE_BAND,
         .upper = m->upper},
        {.name = "truth", .x = m->at, .y = m->truth, .n = SHOWN},
    };
    const fab_plot plot = {"Where the trials were", "x", "y", 0, 0, curve, COUNT(curve)};
    char text[400];
    fab_page_part(page, "The best setting in few trials");
    fab_page_text(page, "A trial of a machine, a recipe or a program is dear, and its result has "
                        "noise. A Gaussian process of the trials so far says "
                        "what is known of the rest, and the next trial is made where most is to be "
                        "gained: first everywhere, then more and more near the "
                        "top, and never twice where nothing is to be learned.");
    snprintf(text, sizeof text,
             "After %d trials the best is believed at x = %.2f, where the curve is %.4f. Its top "
             "is %.4f at x = %.2f; there is a lower hill at "
             "-3.6. Outside of the trials little is known, and nothing needs to be.",
             TRIALS, m->best_x, m->best, m->top, m->top_x);
    const fab_status s = fab_page_plot(page, &plot, text);
    if (s != FAB_OK) return s;
    fab_page_heading(page, "The same with your own trials");
    fab_page_code(
        page,
        "fabayes propose trials.csv -y y --range x=-5:5 --maximise    # the next x\n"
        "fabayes propose runs.csv -y loss --range rate=1e-4:0.1:log --range layers=1:4:int -n 4");
    return FAB_OK;
}

const demo_part demo_search = {"search", run, print, json, show, free};
