/* moons.c - can a network's probabilities be trusted?  Two classes that overlap.
 *
 *   1  moons.csv: points of two half circles with noise, so that no rule tells the classes apart for sure;
 *      moons_held_out.csv: more of them
 *   2  two networks of the same shape and prior are fitted to the first, as the commands on the page say:
 *      one with a posterior, a mixture of Gaussians over its weights, one at its mode alone
 *   3  both predict the second; how often the class is the likelier one, beside how often it should be
 *
 * SPDX-License-Identifier: MIT */
#include "demo/pair.h"
#include "options.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TRAIN = 250,
    HELD_OUT = 5000,
    BINS = 10,  /* of the probability */
    CLASS = 30, /* streams of random numbers */
    TURN = 31,
    EAST = 32,
    NORTH = 33
};
static const double noise = 0.35; /* the radius of the half circles is 1 */
static const double sure = 0.95;
static const double pi = 3.14159265358979323846;

typedef struct network {
    fab_scores scores;
    double promised[BINS], observed[BINS]; /* of red, in percent, in the bins that have rows */
    int bins;
    int64_t sure,
        wrong; /* rows with a class above `sure`, and those of them that are of the other */
} network;

typedef struct moons {
    pair pair;
    network network[NETWORKS];
} moons;

/* ---- 1: the data ------------------------------------------------------------------------------------- */

static void make_line(int64_t i, char line[TOY_LINE])
{
    if (i < 0) {
        snprintf(line, TOY_LINE, "east,north,colour");
        return;
    }
    const int red = toy_uniform(CLASS, i) < 0.5;
    const double turn = pi * toy_uniform(TURN, i);
    const double east = red ? 1 - cos(turn) : cos(turn);
    const double north = red ? 0.5 - sin(turn) : sin(turn);
    snprintf(line, TOY_LINE, "%.3f,%.3f,%s", east + noise * toy_normal(EAST, i),
             north + noise * toy_normal(NORTH, i), red ? "red" : "blue");
}

/* ---- 2 and 3: the networks --------------------------------------------------------------------------- */

/* Rows by their probability of red: the mean of it and the share of red in each bin. */
static void take_predictions(pair *of, int which, const fab_predictions *all)
{
    network *n = &((moons *)of)->network[which];
    n->scores = all->scores;
    double p[BINS] = {0}, red[BINS] = {0}, rows[BINS] = {0};
    for (int64_t i = 0; i < all->n; i++) {
        const double p_red = all->p[i].mean;
        const int bin = p_red < 1 ? (int)(BINS * p_red) : BINS - 1;
        p[bin] += p_red;
        red[bin] += all->y[i];
        rows[bin]++;
        if (fmax(p_red, 1 - p_red) < sure) continue;
        n->sure++;
        n->wrong += (p_red > 0.5) != (all->y[i] > 0.5);
    }
    for (int b = 0; b < BINS; b++) {
        if (!(rows[b] > 0)) continue;
        n->promised[n->bins] = 100 * p[b] / rows[b];
        n->observed[n->bins++] = 100 * red[b] / rows[b];
    }
}

/* ---- what is said ------------------------------------------------------------------------------------ */

enum { COLUMNS = 6, CELL = 40, CELLS = (NETWORKS + 1) * COLUMNS };

static void make_cells(const moons *m, char cell[][CELL], const char **shown)
{
    static const char *const head[COLUMNS] = {"network", "right, %", "ece, %",
                                              "nll",     "sure",     "wrong, %"};
    demo_begin_table(cell[0], CELL, CELLS, head, COLUMNS, shown);
    for (int i = 0; i < NETWORKS; i++) {
        const network *n = &m->network[i];
        char(*c)[CELL] = cell + (i + 1) * COLUMNS;
        snprintf(c[0], CELL, "%s", pair_names[i]);
        snprintf(c[1], CELL, "%.1f", 100 * n->scores.accuracy);
        snprintf(c[2], CELL, "%.1f", 100 * n->scores.ece);
        snprintf(c[3], CELL, "%.3f", n->scores.nll);
        snprintf(c[4], CELL, "%lld", (long long)n->sure);
        snprintf(c[5], CELL, "%.1f", n->sure ? 100 * (double)n->wrong / (double)n->sure : 0);
    }
}

static void print(const void *part)
{
    const moons *m = part;
    char cell[CELLS][CELL];
    const char *shown[CELLS];
    make_cells(m, cell, shown);
    printf("Red or blue: %d points of two classes that overlap, %d held out, by two networks.\n\n",
           TRAIN, HELD_OUT);
    demo_print_table(shown, NETWORKS + 1, COLUMNS);
    printf("\nece: calibration error; sure: rows with a probability of %.0f %% or more, of which "
           "at most "
           "%.0f %% should be wrong\n\n",
           100 * sure, 100 * (1 - sure));
    pair_print(&m->pair);
}

static void say_network(const pair *p, int which, json_t *j)
{
    const network *n = &((const moons *)p)->network[which];
    json_put(j, "nll", json_number(n->scores.nll));
    json_put(j, "accuracy", json_number(n->scores.accuracy));
    json_put(j, "ece", json_number(n->scores.ece));
    json_put(j, "sure", json_integer(n->sure));
    json_put(j, "wrong", json_integer(n->wrong));
}

static json_t *json(const void *part)
{
    const moons *m = part;
    json_t *j = json_object();
    json_put(j, "n", json_integer(TRAIN));
    json_put(j, "n_held_out", json_integer(HELD_OUT));
    pair_json(&m->pair, j);
    return j;
}

/* ---- the page ---------------------------------------------------------------------------------------- */

static fab_status add_plot(const moons *m, fab_page *page)
{
    static const double diagonal[] = {0, 100};
    const network *p = &m->network[POSTERIOR], *q = &m->network[MODE];
    const fab_curve curve[] = {
        {.name = "as promised", .x = diagonal, .y = diagonal, .n = COUNT(diagonal)},
        {.name = pair_names[MODE],
         .x = q->promised,
         .y = q->observed,
         .n = q->bins,
         .style = FAB_CURVE_POINTS},
        {.name = pair_names[POSTERIOR],
         .x = p->promised,
         .y = p->observed,
         .n = p->bins,
         .style = FAB_CURVE_POINTS},
    };
    const fab_plot plot = {"Are the probabilities right?",
                           "promised: probability of red, %",
                           "observed: share of red, %",
                           0,
                           0,
                           curve,
                           COUNT(curve)};
    char text[500];
    snprintf(
        text, sizeof text,
        "The held-out points in %d groups, by the probability that a network gave them of being "
        "red, and how many of a group are red. On the line the probabilities hold what they "
        "promise. The calibration error (ece: how far the share of right answers is from its "
        "probability, on average) is %.1f %% for the posterior and %.1f %% for the mode.",
        BINS, 100 * p->scores.ece, 100 * q->scores.ece);
    return fab_page_plot(page, &plot, text);
}

static void add_table(const moons *m, fab_page *page)
{
    char cell[CELLS][CELL], text[900];
    const char *shown[CELLS];
    const network *p = &m->network[POSTERIOR], *q = &m->network[MODE];
    make_cells(m, cell, shown);
    fab_page_heading(page, "Sure, and wrong");
    fab_page_table(page, shown, NETWORKS + 1, COLUMNS);
    snprintf(
        text, sizeof text,
        "A network is sure of a point when it gives a class %.0f %% or more; at most %.0f %% of "
        "such "
        "points should be of the other class. The mode is sure of %lld points and wrong in %lld "
        "of them, the posterior of %lld and in %lld. nll is the mean of -log p(class): less is "
        "better. A mode can be held back by a stronger prior (a larger alpha) or by stopping "
        "early, and fabayes tune looks for such settings; the posterior needs less of this luck, "
        "because it averages over all weights that agree with the rows.",
        100 * sure, 100 * (1 - sure), (long long)q->sure, (long long)q->wrong, (long long)p->sure,
        (long long)p->wrong);
    fab_page_text(page, text);
}

static fab_status show(const void *part, fab_page *page)
{
    const moons *m = part;
    char text[500], commands[900];
    fab_page_part(page, "Probabilities that mean what they say");
    snprintf(
        text, sizeof text,
        "moons.csv holds %d points, red or blue, on two half circles with so much noise that "
        "nobody can tell them apart for sure. A network says how probable red is. When it says "
        "80 %% of many points, about 80 %% of them should be red: that is held against %d more "
        "points in moons_held_out.csv.",
        TRAIN, HELD_OUT);
    fab_page_text(page, text);
    const fab_status s = add_plot(m, page);
    if (s != FAB_OK) return s;
    add_table(m, page);
    fab_page_heading(page, "The same with your own data");
    fab_page_text(page,
                  "A column of words to explain is all it takes. In the folder of this page:");
    snprintf(
        commands, sizeof commands,
        "%s\n%s\nfabayes predict moons.safetensors moons_held_out.csv  # class, p_blue, p_red\n"
        "fabayes score moons.safetensors moons_held_out.csv    # nll, accuracy, ece, ..\n"
        "fabayes score moons_map.safetensors moons_held_out.csv",
        m->pair.command[POSTERIOR], m->pair.command[MODE]);
    fab_page_code(page, commands);
    return FAB_OK;
}

/* ---- the part ---------------------------------------------------------------------------------------- */

static int run(void **part, const demo_call *call)
{
    moons *m = *part = calloc(1, sizeof *m);
    if (!m) return say_failed("out of memory");
    m->pair = (pair){
        .name = "moons",
        .train = TRAIN,
        .held = HELD_OUT,
        .make = make_line,
        .command = {"fabayes fit moons.csv -y colour --model mlp:20,20 -m vifa --runs=5 \\\n"
                    "    --draws=4 --alpha=0.1 -o moons.safetensors",
                    "fabayes fit moons.csv -y colour --model mlp:20,20 -m map \\\n"
                    "    --alpha=0.1 --epochs=1000 -o moons_map.safetensors"},
        .take = take_predictions,
        .say = say_network,
    };
    return pair_run(&m->pair, call);
}

const demo_part demo_moons = {"moons", run, print, json, show, free};
