/* process.c - a Gaussian process on the curve of the part before: a band, and functions that the rows allow.
 *
 *   1  wave.csv is fitted, as the command on the page says
 *   2  wave_held_out.csv is predicted: how many y lie inside their 90 % interval, where there were data and in the gap
 *   3  functions are drawn jointly at its rows
 *
 * SPDX-License-Identifier: MIT */
#include "demo/demo.h"
#include "demo/wave.h"
#include "options.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FUNCTIONS = 4,
    EACH = 10,
    TRAIN = WAVE_TRAIN,
    HELD_OUT = WAVE_HELD_OUT,
    SHOWN = HELD_OUT / EACH,
    SEED = 1
};
static const char command[] = "fabayes fit wave.csv -y y --model gp:rbf -o wave_gp.safetensors";

typedef struct region {
    int64_t rows, inside;
    double width; /* of the intervals: a sum, in the end the mean */
} region;

typedef struct band {
    char table[DEMO_PATH], held_out[DEMO_PATH], model[DEMO_PATH];
    double x[TRAIN], y[TRAIN];
    double at[HELD_OUT], new_y[HELD_OUT];
    double shown[SHOWN], mean[SHOWN], lower[SHOWN], upper[SHOWN], function[FUNCTIONS][SHOWN];
    region data, gap;
    double length, noise, lml; /* as found */
} band;

/* n rows of x and y behind a head. */
static int read_rows(const char *path, int64_t n, double *x, double *y)
{
    FILE *in = fopen(path, "r");
    int64_t i = 0;
    if (!in) return say_failed("%s: cannot be read", path);
    if (fscanf(in, "%*[^\n]") == 0)
        while (i < n && fscanf(in, "%lf,%lf", &x[i], &y[i]) == 2) i++;
    fclose(in);
    return i == n ? DONE : say_failed("%s: has fewer rows than it was made with", path);
}

static void count_row(region *r, const fab_prediction *p, double y)
{
    r->rows++;
    r->inside += p->lower <= y && y <= p->upper;
    r->width += p->upper - p->lower;
}

static void take_predictions(band *m, const fab_predictions *all)
{
    for (int64_t i = 0; i < HELD_OUT; i++) {
        const fab_prediction *p = &all->p[i];
        if (m->at[i] > WAVE_GAP_FROM && m->at[i] < WAVE_GAP_TO)
            count_row(&m->gap, p, m->new_y[i]);
        else if (m->at[i] > WAVE_LEFT && m->at[i] < WAVE_RIGHT)
            count_row(&m->data, p, m->new_y[i]);
        if (i % EACH) continue;
        m->shown[i / EACH] = m->at[i];
        m->mean[i / EACH] = p->mean;
        m->lower[i / EACH] = p->lower;
        m->upper[i / EACH] = p->upper;
    }
    m->gap.width /= (double)m->gap.rows;
    m->data.width /= (double)m->data.rows;
}

static fab_status ask(band *m)
{
    const fab_data d = {.file = m->held_out};
    const fab_process_summary *found;
    fab_regression *r = NULL;
    fab_predictions *all = NULL;
    double *draws = NULL;
    int64_t rows = 0;
    fab_status s = fab_regression_load(&r, m->model, NULL);
    if (s == FAB_OK) s = fab_regression_predict(r, &d, NULL, &all);
    if (s == FAB_OK) take_predictions(m, all);
    if (s == FAB_OK) s = fab_regression_functions(r, &d, SEED, 0, FUNCTIONS, &draws, &rows);
    for (int k = 0; k < FUNCTIONS && s == FAB_OK; k++)
        for (int i = 0; i < SHOWN; i++) m->function[k][i] = draws[k * rows + i * EACH];
    if (s == FAB_OK) s = fab_regression_process(r, &found);
    if (s == FAB_OK) {
        m->length = found->parameter[1].value; /* s2, l, noise */
        m->noise = sqrt(found->parameter[2].value);
        m->lml = found->lml;
    }
    fab_bytes_free(draws);
    fab_predictions_free(all);
    fab_regression_free(r);
    return s;
}

static int run(void **part, const demo_call *call)
{
    band *m = calloc(1, sizeof *m);
    *part = m;
    if (!m) return say_failed("demo: no memory for the curve");
    int status = demo_path(m->table, call, "wave.csv");
    if (status == DONE) status = demo_path(m->held_out, call, "wave_held_out.csv");
    if (status == DONE) status = demo_path(m->model, call, "wave_gp.safetensors");
    if (status == DONE) status = read_rows(m->table, TRAIN, m->x, m->y);
    if (status == DONE) status = read_rows(m->held_out, HELD_OUT, m->at, m->new_y);
    if (status == DONE) status = demo_fit(call, command); /* 1 */
    if (status != DONE) return status;
    const fab_status s = ask(m); /* 2, 3 */
    return s == FAB_OK ? DONE : say_status(s);
}

/* ---- what is said ------------------------------------------------------------------------------------ */

static double share(const region *r)
{
    return (double)r->inside / (double)r->rows;
}

static void print(const void *part)
{
    const band *m = part;
    printf("The same curve by a Gaussian process: length-scale %.2f and noise %.3f by the "
           "evidence.\n\n",
           m->length, m->noise);
    printf("inside %.1f %% (data) and %.1f %% (gap), width %.2f and %.2f\n\n",
           100 * share(&m->data), 100 * share(&m->gap), m->data.width, m->gap.width);
    printf("%-10s %s\n", "model", m->model);
}

static json_t *json_region(const region *r)
{
    json_t *j = json_object();
    json_put(j, "n", json_integer(r->rows));
    json_put(j, "coverage90", json_number(share(r)));
    json_put(j, "width90", json_number(r->width));
    return j;
}

static json_t *json(const void *part)
{
    const band *m = part;
    json_t *j = json_object();
    json_put(j, "command", json_text(command));
    json_put(j, "length", json_number(m->length));
    json_put(j, "noise", json_number(m->noise));
    json_put(j, "lml", json_number(m->lml));
    json_put(j, "data", json_region(&m->data));
    json_put(j, "gap", json_region(&m->gap));
    json_put(j, "file", json_text(m->model));
    return j;
}

static fab_status show(const void *part, fab_page *page)
{
    const band *m = part;
    fab_curve curve[3 + FUNCTIONS] = {
        {.name = "predicted", .x = m->shown, .y = m->mean, .n = SHOWN},
        {.name = "learned from", .x = m->x, .y = m->y, .n = TRAIN, .style = FAB_CURVE_POINTS},
        {.name = "90 % interval",
         .x = m->shown,
         .y = m->lower,
         .n = SHOWN,
         .style = FAB_CURVE_BAND,
         .upper = m->upper},
    };
    for (int k = 0; k < FUNCTIONS; k++)
        curve[3 + k] = (fab_curve){
            .name = k ? "another" : "a function", .x = m->shown, .y = m->function[k], .n = SHOWN};
    const fab_plot plot = {"A Gaussian process", "x", "y", 0, 0, curve, COUNT(curve)};
    char text[500];
    fab_page_part(page, "The same curve by a Gaussian process");
    fab_page_text(page, "A Gaussian process needs no layers: its prior says how alike y is at two "
                        "x by their distance, and the "
                        "posterior is exact. How far one row speaks for others (the length-scale) "
                        "and how large the noise is are found where the "
                        "probability of all rows together, the evidence, is highest. Functions are "
                        "drawn jointly from the posterior: they agree where "
                        "rows are, and part in the gap.");
    snprintf(text, sizeof text,
             "Length-scale %.2f, noise %.3f (true: %.2f). Of fresh rows %.1f %% lie in their 90 %% "
             "interval where there were data, and %.1f %% "
             "in the gap; it is %.2f wide on average where there were data, %.2f in the gap.",
             m->length, m->noise, WAVE_NOISE, 100 * share(&m->data), 100 * share(&m->gap),
             m->data.width, m->gap.width);
    const fab_status s = fab_page_plot(page, &plot, text);
    if (s != FAB_OK) return s;
    fab_page_heading(page, "The same with your own data");
    fab_page_code(
        page,
        "fabayes fit wave.csv -y y --model gp:rbf -o wave_gp.safetensors\n"
        "fabayes predict wave_gp.safetensors wave_held_out.csv        # mean, sd, lower, upper\n"
        "fabayes sample wave_gp.safetensors wave_held_out.csv -n 4 -o functions.npy\n"
        "fabayes fit table.csv -y column --model gp:rbf:ard -o g.safetensors");
    return FAB_OK;
}

const demo_part demo_process = {"process", run, print, json, show, free};
