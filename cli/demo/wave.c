/* wave.c - a network that knows where it has seen nothing: a curve with a gap in its data.
 *
 *   1  wave.csv: x and y = truth(x) + noise, with no x inside the gap; wave_held_out.csv: fresh rows at
 *      even steps of x, through the gap and beyond both ends
 *   2  two networks of the same shape and prior are fitted to the first, as the commands on the page say:
 *      one with a posterior, a mixture of Gaussians over its weights, one at its mode alone
 *   3  both predict the second; how many y lie inside their 90 % interval, where there were data and in
 *      the gap
 *
 * SPDX-License-Identifier: MIT */
#include "demo/pair.h"
#include "demo/wave.h"
#include "options.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TRAIN = WAVE_TRAIN,
    HELD_OUT = WAVE_HELD_OUT,
    EACH = 10, /* every so many held-out rows is drawn */
    SHOWN = HELD_OUT / EACH,
    POSITION = 10, /* streams of random numbers */
    NOISE = 11
};
static const double left = WAVE_LEFT, right = WAVE_RIGHT; /* x of wave.csv */
static const double gap_from = WAVE_GAP_FROM, gap_to = WAVE_GAP_TO;
static const double view = 5; /* x of the held-out rows: -view to view */
static const double noise = WAVE_NOISE;

typedef struct region {
    int64_t rows, inside;
    double width; /* of the intervals: a sum, in the end the mean */
} region;

typedef struct network {
    double mean[SHOWN], lower[SHOWN], upper[SHOWN];
    region data, gap;
} network;

typedef struct wave {
    pair pair;
    double x[TRAIN], y[TRAIN]; /* as in wave.csv */
    double at[SHOWN], truth[SHOWN];
    network network[NETWORKS];
} wave;

/* ---- 1: the data ------------------------------------------------------------------------------------- */

static double truth(double x)
{
    return sin(x) + 0.2 * x;
}

/* Rows TRAIN, TRAIN + 1, .. are the held-out ones. */
static double position(int64_t i)
{
    const double u = toy_uniform(POSITION, i);
    if (i >= TRAIN) return view * (2 * ((double)(i - TRAIN) + 0.5) / HELD_OUT - 1);
    return i % 2 ? gap_to + (right - gap_to) * u : left + (gap_from - left) * u;
}

static void make_row(int64_t i, double *x, double *y)
{
    *x = round(1e3 * position(i)) / 1e3;
    *y = truth(*x) + noise * toy_normal(NOISE, i);
}

static void make_line(int64_t i, char line[TOY_LINE])
{
    double x, y;
    if (i < 0) {
        snprintf(line, TOY_LINE, "x,y");
        return;
    }
    make_row(i, &x, &y);
    snprintf(line, TOY_LINE, "%.3f,%.3f", x, y);
}

/* ---- 2 and 3: the networks --------------------------------------------------------------------------- */

static void count_row(region *r, const fab_prediction *p, double y)
{
    r->rows++;
    r->inside += p->lower <= y && y <= p->upper;
    r->width += p->upper - p->lower;
}

static void take_predictions(pair *of, int which, const fab_predictions *all)
{
    network *n = &((wave *)of)->network[which];
    for (int64_t i = 0; i < HELD_OUT; i++) {
        const double x = position(TRAIN + i);
        const fab_prediction *p = &all->p[i];
        if (x > gap_from && x < gap_to)
            count_row(&n->gap, p, all->y[i]);
        else if (x > left && x < right)
            count_row(&n->data, p, all->y[i]);
        if (i % EACH) continue;
        n->mean[i / EACH] = p->mean;
        n->lower[i / EACH] = p->lower;
        n->upper[i / EACH] = p->upper;
    }
    n->gap.width /= (double)n->gap.rows;
    n->data.width /= (double)n->data.rows;
}

/* ---- what is said ------------------------------------------------------------------------------------ */

static double share(const region *r)
{
    return (double)r->inside / (double)r->rows;
}

enum { COLUMNS = 5, CELL = 40, CELLS = (NETWORKS + 1) * COLUMNS };

static void make_cells(const wave *m, char cell[][CELL], const char **shown)
{
    static const char *const head[COLUMNS] = {"network", "inside, data %", "inside, gap %",
                                              "width, data", "width, gap"};
    demo_begin_table(cell[0], CELL, CELLS, head, COLUMNS, shown);
    for (int i = 0; i < NETWORKS; i++) {
        const network *n = &m->network[i];
        char(*c)[CELL] = cell + (i + 1) * COLUMNS;
        snprintf(c[0], CELL, "%s", pair_names[i]);
        snprintf(c[1], CELL, "%.1f", 100 * share(&n->data));
        snprintf(c[2], CELL, "%.1f", 100 * share(&n->gap));
        snprintf(c[3], CELL, "%.2f", n->data.width);
        snprintf(c[4], CELL, "%.2f", n->gap.width);
    }
}

static void print(const void *part)
{
    const wave *m = part;
    char cell[CELLS][CELL];
    const char *shown[CELLS];
    make_cells(m, cell, shown);
    printf("A curve through %d points with a gap from x = %.1f to %.1f, by two networks.\n\n",
           TRAIN, gap_from, gap_to);
    demo_print_table(shown, NETWORKS + 1, COLUMNS);
    printf("\ninside: of fresh rows, how many lie in their 90 %% interval; width: its mean\n\n");
    pair_print(&m->pair);
}

static json_t *json_region(const region *r)
{
    json_t *j = json_object();
    json_put(j, "n", json_integer(r->rows));
    json_put(j, "coverage90", json_number(share(r)));
    json_put(j, "width90", json_number(r->width));
    return j;
}

static void say_network(const pair *p, int which, json_t *j)
{
    const network *n = &((const wave *)p)->network[which];
    json_put(j, "data", json_region(&n->data));
    json_put(j, "gap", json_region(&n->gap));
}

static json_t *json(const void *part)
{
    const wave *m = part;
    json_t *j = json_object();
    json_put(j, "n", json_integer(TRAIN));
    json_put(j, "n_held_out", json_integer(HELD_OUT));
    json_put(j, "noise_true", json_number(noise));
    json_put(j, "gap", json_range(gap_from, gap_to));
    pair_json(&m->pair, j);
    return j;
}

/* ---- the page ---------------------------------------------------------------------------------------- */

static fab_status add_plot(const wave *m, int which, const char *title, fab_page *page)
{
    const network *n = &m->network[which];
    const fab_curve curve[] = {
        {.name = "predicted", .x = m->at, .y = n->mean, .n = SHOWN},
        {.name = "learned from", .x = m->x, .y = m->y, .n = TRAIN, .style = FAB_CURVE_POINTS},
        {.name = "90 % interval",
         .x = m->at,
         .y = n->lower,
         .n = SHOWN,
         .style = FAB_CURVE_BAND,
         .upper = n->upper},
        {.name = "truth", .x = m->at, .y = m->truth, .n = SHOWN},
    };
    const fab_plot plot = {title, "x", "y", 0, 0, curve, COUNT(curve)};
    char text[400];
    snprintf(text, sizeof text,
             "Of fresh rows %.1f %% lie in their 90 %% interval where there were data, and %.1f %% "
             "in the gap. The interval is %.2f wide on average where there were data, %.2f in the "
             "gap.",
             100 * share(&n->data), 100 * share(&n->gap), n->data.width, n->gap.width);
    return fab_page_plot(page, &plot, text);
}

static void add_start(fab_page *page)
{
    char text[700];
    snprintf(
        text, sizeof text,
        "wave.csv holds %d rows of an x and a y, which is a smooth curve of x plus noise with a "
        "standard deviation of %.2f. It has no row with x between %.1f and %.1f. A network that "
        "is honest about what it knows should be sure where it has seen rows, and unsure in the "
        "gap and beyond both ends. wave_held_out.csv has %d fresh rows, everywhere, to hold "
        "this against.",
        TRAIN, noise, gap_from, gap_to, HELD_OUT);
    fab_page_text(page, text);
}

static void add_reason(fab_page *page)
{
    fab_page_heading(page, "Why the two differ");
    fab_page_text(
        page,
        "Training as usual ends at one set of weights, the mode: a single curve and a single "
        "size of the noise. Its interval is as wide in the gap as anywhere, because the noise "
        "is all that it knows of. The posterior is a distribution over the weights: here a "
        "mixture of five Gaussians from five starts. All of its curves agree where there are "
        "data, and they part where there are none.");
    fab_page_text(
        page,
        "Both networks have the same layers, the same prior and the same rows. A posterior of "
        "this kind is an approximation: its intervals come out a little too wide where there "
        "are data. The gap shows one curve, so the share in the gap is an example and no law.");
}

static fab_status show(const void *part, fab_page *page)
{
    const wave *m = part;
    char commands[900];
    fab_page_part(page, "A network that knows what it has not seen");
    add_start(page);
    fab_status s = add_plot(m, POSTERIOR, "A network with a posterior over its weights", page);
    if (s == FAB_OK) s = add_plot(m, MODE, "The same network at its mode alone", page);
    if (s != FAB_OK) return s;
    add_reason(page);
    fab_page_heading(page, "The same with your own data");
    fab_page_text(page, "In the folder of this page; the last line is for a table of your own.");
    snprintf(
        commands, sizeof commands,
        "%s\n%s\nfabayes predict wave.safetensors wave_held_out.csv  # mean, sd, lower, upper\n"
        "fabayes score wave.safetensors wave_held_out.csv    # nll, rmse, coverage, ..\n"
        "fabayes fit table.csv -y column --model mlp:50 -m vifa --runs=5 -o n.safetensors",
        m->pair.command[POSTERIOR], m->pair.command[MODE]);
    fab_page_code(page, commands);
    return FAB_OK;
}

/* ---- the part ---------------------------------------------------------------------------------------- */

static int run(void **part, const demo_call *call)
{
    wave *m = *part = calloc(1, sizeof *m);
    if (!m) return say_failed("out of memory");
    for (int i = 0; i < TRAIN; i++) make_row(i, &m->x[i], &m->y[i]);
    for (int i = 0; i < SHOWN; i++) {
        m->at[i] = position(TRAIN + i * EACH);
        m->truth[i] = truth(m->at[i]);
    }
    m->pair = (pair){
        .name = "wave",
        .train = TRAIN,
        .held = HELD_OUT,
        .make = make_line,
        .command = {"fabayes fit wave.csv -y y --model mlp:10,10 -m vifa --runs=5 \\\n"
                    "    --alpha=0.01 -o wave.safetensors",
                    "fabayes fit wave.csv -y y --model mlp:10,10 -m map \\\n"
                    "    --alpha=0.01 --epochs=1000 -o wave_map.safetensors"},
        .take = take_predictions,
        .say = say_network,
    };
    return pair_run(&m->pair, call);
}

const demo_part demo_wave = {"wave", run, print, json, show, free};
