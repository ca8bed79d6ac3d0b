/* moons.c - can a network's probabilities be trusted?  Two classes that overlap.
 *
 *   1  moons.csv: points of two half circles with noise, so that no rule tells the classes apart for sure;
 *      moons_held_out.csv: more of them
 *   2  two networks of the same shape and prior are fitted to the first, as the commands on the page say:
 *      one with a posterior, a mixture of Gaussians over its weights, one at its mode alone
 *   3  both predict the second; how often the class is the likelier one, beside how often it should be
 *
 * SPDX-License-Identifier: MIT */
#include "demo/demo.h"
#include "options.h"
#include "demo/toy.h"
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
enum { POSTERIOR, MODE, NETWORKS };
static const double noise = 0.35; /* the radius of the half circles is 1 */
static const double sure = 0.95;
static const double pi = 3.14159265358979323846;

typedef struct network {
    const char *name, *command;
    char file[DEMO_PATH];
    fab_scores scores;
    double promised[BINS], observed[BINS]; /* of red, in percent, in the bins that have rows */
    int bins;
    int64_t sure,
        wrong; /* rows with a class above `sure`, and those of them that are of the other */
} network;

typedef struct moons {
    char table[DEMO_PATH], held_out[DEMO_PATH];
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
    const double east = red ? 1 - cos(turn) : cos(turn), north = red ? 0.5 - sin(turn) : sin(turn);
    snprintf(line, TOY_LINE, "%.3f,%.3f,%s", east + noise * toy_normal(EAST, i),
             north + noise * toy_normal(NORTH, i), red ? "red" : "blue");
}

static int write_tables(moons *m, const demo_call *call)
{
    int status = demo_path(m->table, call, "moons.csv");
    if (status == DONE) status = demo_path(m->held_out, call, "moons_held_out.csv");
    if (status == DONE) status = toy_write(m->table, make_line, 0, TRAIN);
    if (status == DONE) status = toy_write(m->held_out, make_line, TRAIN, HELD_OUT);
    return status;
}

/* ---- 2 and 3: the networks --------------------------------------------------------------------------- */

/* Rows by their probability of red: the mean of it and the share of red in each bin. */
static void find_reliability(network *n, const fab_predictions *all)
{
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

static int run_network(const moons *m, network *n, const demo_call *call)
{
    const fab_data d = {.file = m->held_out};
    const fab_predict_plan how = {.with_target = 1};
    fab_regression *r = NULL;
    fab_predictions *p = NULL;
    const int status = demo_fit(call, n->command);
    if (status != DONE) return status;
    fab_status s = fab_regression_load(&r, n->file, NULL);
    if (s == FAB_OK) s = fab_regression_predict(r, &d, &how, &p);
    if (s == FAB_OK) {
        n->scores = p->scores;
        find_reliability(n, p);
    }
    fab_predictions_free(p);
    fab_regression_free(r);
    return s == FAB_OK ? DONE : say_status(s);
}

static int run_networks(moons *m, const demo_call *call)
{
    network *n = m->network;
    n[POSTERIOR].name = "posterior";
    n[POSTERIOR].command = "fabayes fit moons.csv -y colour --model mlp:20,20 -m vifa --runs=5 \\\n"
                           "    --draws=4 --alpha=0.1 -o moons.safetensors";
    n[MODE].name = "mode alone";
    n[MODE].command = "fabayes fit moons.csv -y colour --model mlp:20,20 -m map \\\n"
                      "    --alpha=0.1 --epochs=1000 -o moons_map.safetensors";
    int status = demo_path(n[POSTERIOR].file, call, "moons.safetensors");
    if (status == DONE) status = demo_path(n[MODE].file, call, "moons_map.safetensors");
    for (int i = 0; i < NETWORKS && status == DONE; i++) status = run_network(m, &n[i], call);
    return status;
}

/* ---- what is said ------------------------------------------------------------------------------------ */

enum { COLUMNS = 6, CELL = 40, CELLS = (NETWORKS + 1) * COLUMNS };

static void make_cells(const moons *m, char cell[][CELL], const char **shown)
{
    static const char *const head[COLUMNS] = {"network", "right, %", "ece, %",
                                              "nll",     "sure",     "wrong, %"};
    for (int j = 0; j < CELLS; j++) shown[j] = cell[j];
    for (int j = 0; j < COLUMNS; j++) snprintf(cell[j], CELL, "%s", head[j]);
    for (int i = 0; i < NETWORKS; i++) {
        const network *n = &m->network[i];
        char(*c)[CELL] = cell + (i + 1) * COLUMNS;
        snprintf(c[0], CELL, "%s", n->name);
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
    printf("%-10s %s, %s\n", "tables", m->table, m->held_out);
    printf("%-10s %s, %s\n", "models", m->network[POSTERIOR].file, m->network[MODE].file);
}

static json_t *json(const void *part)
{
    const moons *m = part;
    json_t *j = json_object(), *list = json_array();
    for (int i = 0; i < NETWORKS; i++) {
        const network *n = &m->network[i];
        json_t *one = json_object();
        json_put(one, "name", json_text(n->name));
        json_put(one, "command", json_text(n->command));
        json_put(one, "nll", json_number(n->scores.nll));
        json_put(one, "accuracy", json_number(n->scores.accuracy));
        json_put(one, "ece", json_number(n->scores.ece));
        json_put(one, "sure", json_integer(n->sure));
        json_put(one, "wrong", json_integer(n->wrong));
        json_put(one, "file", json_text(n->file));
        json_array_append_new(list, one);
    }
    json_put(j, "n", json_integer(TRAIN));
    json_put(j, "n_held_out", json_integer(HELD_OUT));
    json_put(j, "networks", list);
    json_put(j, "table", json_text(m->table));
    json_put(j, "held_out", json_text(m->held_out));
    return j;
}

/* ---- the page ---------------------------------------------------------------------------------------- */

static fab_status add_plot(const moons *m, fab_page *page)
{
    static const double diagonal[] = {0, 100};
    const network *p = &m->network[POSTERIOR], *q = &m->network[MODE];
    const fab_curve curve[] = {
        {.name = "as promised", .x = diagonal, .y = diagonal, .n = COUNT(diagonal)},
        {.name = q->name,
         .x = q->promised,
         .y = q->observed,
         .n = q->bins,
         .style = FAB_CURVE_POINTS},
        {.name = p->name,
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
    snprintf(commands, sizeof commands,
             "%s\n%s\nfabayes predict moons.safetensors moons_held_out.csv  # p_blue, p_red\n"
             "fabayes score moons.safetensors moons_held_out.csv    # nll, accuracy, ece, ..\n"
             "fabayes score moons_map.safetensors moons_held_out.csv",
             m->network[POSTERIOR].command, m->network[MODE].command);
    fab_page_code(page, commands);
    return FAB_OK;
}

/* ---- the part ---------------------------------------------------------------------------------------- */

static int run(void **part, const demo_call *call)
{
    moons *m = *part = calloc(1, sizeof *m);
    if (!m) return say_failed("out of memory");
    const int status = write_tables(m, call);
    return status == DONE ? run_networks(m, call) : status;
}

const demo_part demo_moons = {"moons", run, print, json, show, free};
