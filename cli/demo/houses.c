/* houses.c - regression for people: prices of houses, held against the rule that made them.
 *
 *   1  houses.csv and held_out.csv: rows of one rule and its noise
 *   2  the first is fitted and saved, as `fabayes fit houses.csv -y price` does it
 *   3  the second is predicted from the saved file, as `fabayes predict` and `score` do it
 *   4  what each column is worth, with an interval, beside the rule
 *   5  how many prices lie inside their intervals, beside what the intervals promise
 *
 * A column of words has a coefficient for each of its words, and the intercept can move into them without a
 * change of any price.  So districts are shown by their difference to the first one, and the intercept
 * with the first one added: these the data do say.
 *
 * SPDX-License-Identifier: MIT */
#include "demo/demo.h"
#include "demo/houses_data.h"
#include "options.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRAIN = 400,
    HELD_OUT = 200,
    WORTHS = HOUSES_NUMBERS + HOUSES_DISTRICTS,   /* the first district stands in the start */
    FEATURES = HOUSES_NUMBERS + HOUSES_DISTRICTS, /* one for each word */
    LEVELS = 19,                                  /* 5 %, 10 %, .. 95 % */
    NAME = 64
};
static const double quantile95 = 1.6448536269514722; /* of the normal: a central interval of 90 % */

typedef struct worth {
    char name[NAME], per[NAME];
    double truth, mean, sd;
    double theta[FEATURES + 1]; /* it is this times the coefficients and the intercept */
} worth;

typedef struct sales {
    char table[DEMO_PATH], held_out[DEMO_PATH], model[DEMO_PATH];
    fab_report fit;
    fab_regression *r;
    fab_predictions *p; /* of the held-out rows */
    fab_scores scores;
    double noise; /* standard deviation, as found */
    worth worth[WORTHS];
    double rank[HELD_OUT]; /* 1, 2, ..: rows by rising prediction, and so the next four */
    double mean[HELD_OUT], lower[HELD_OUT], upper[HELD_OUT], price[HELD_OUT];
    double promised[LEVELS], observed[LEVELS]; /* shares inside central intervals, in percent */
    double chance_low[LEVELS], chance_high[LEVELS]; /* 90 % of the shares of a right model */
} sales;

/* ---- 1 to 3: the jobs of the shell ---------------------------------------------------------------- */

static int write_tables(sales *m, const demo_call *call)
{
    int status = demo_path(m->table, call, "houses.csv");
    if (status == DONE) status = demo_path(m->held_out, call, "held_out.csv");
    if (status == DONE) status = demo_path(m->model, call, "houses.safetensors");
    if (status == DONE) status = toy_write(m->table, houses_line, 0, TRAIN);
    if (status == DONE) status = toy_write(m->held_out, houses_line, TRAIN, HELD_OUT);
    return status;
}

static int fit_table(sales *m, const demo_call *call)
{
    const fab_data d = {.file = m->table, .columns = {.target = "price"}};
    const fab_plan plan = {.likelihood = "gaussian", .method = "exact", .output = m->model};
    fab_regression *r;
    fab_table_report f;
    fab_set_progress(progress_tick, NULL);
    fab_status s = fab_regression_fit(&r, &d, &plan, &call->exec);
    if (s != FAB_OK) return say_status(s);
    s = fab_regression_report(r, &f);
    m->fit = f.fit;
    fab_regression_free(r);
    return s == FAB_OK ? DONE : say_status(s);
}

static int predict(sales *m)
{
    const fab_data d = {.file = m->held_out};
    const fab_predict_plan how = {.with_target = 1};
    fab_glm model;
    fab_status s = fab_regression_load(&m->r, m->model, NULL);
    if (s == FAB_OK) s = fab_regression_predict(m->r, &d, &how, &m->p);
    if (s == FAB_OK) s = fab_regression_model(m->r, &model);
    if (s != FAB_OK) return say_status(s);
    m->noise = 1 / sqrt(model.beta);
    m->scores = m->p->scores;
    return DONE;
}

/* ---- 4: what each column is worth ----------------------------------------------------------------- */

static int64_t feature_named(const fab_scaling *k, const char *name)
{
    int64_t d = 0;
    while (d < k->D && strcmp(k->name[d], name) != 0) d++;
    return d; /* D: the intercept */
}

static int64_t feature_of_district(const fab_scaling *k, int i)
{
    char name[NAME];
    snprintf(name, sizeof name, "district=%s", houses_districts[i].name);
    return feature_named(k, name);
}

static void list_worths(sales *m, const fab_scaling *k)
{
    worth *w = m->worth;
    const int64_t first = feature_of_district(k, 0);
    for (int i = 0; i < HOUSES_NUMBERS; i++, w++) {
        const houses_number *n = &houses_numbers[i];
        snprintf(w->name, NAME, "%s", n->name);
        snprintf(w->per, NAME, "for each %s", n->per);
        w->truth = n->worth;
        w->theta[feature_named(k, n->name)] = 1;
    }
    for (int i = 1; i < HOUSES_DISTRICTS; i++, w++) {
        snprintf(w->name, NAME, "%s", houses_districts[i].name);
        snprintf(w->per, NAME, "instead of %s", houses_districts[0].name);
        w->truth = houses_districts[i].worth;
        w->theta[feature_of_district(k, i)] = 1;
        w->theta[first] = -1;
    }
    snprintf(w->name, NAME, "start");
    snprintf(w->per, NAME, "in %s", houses_districts[0].name);
    w->truth = houses_start;
    w->theta[k->D] = w->theta[first] = 1;
}

/* theta . q of a Gaussian over theta: its mean and standard deviation */
static fab_status weigh(worth *w, const fab_gauss *q, fab_solver *solver)
{
    double product[FEATURES + 1], variance = 0;
    const fab_rows row = {.p = w->theta, .type = FAB_F64, .n = 1, .ld = q->D};
    const fab_status s = fab_solver_times_covariance(solver, &row, product);
    if (s == FAB_OK)
        for (int64_t i = 0; i < q->D; i++) {
            w->mean += w->theta[i] * q->mu[i];
            variance += w->theta[i] * product[i];
        }
    w->sd = sqrt(fmax(0, variance));
    return s;
}

static int find_worths(sales *m)
{
    fab_gauss *q = NULL;
    fab_solver *solver = NULL;
    if (fab_regression_size(m->r) != FEATURES + 1)
        return say_failed("%s: has not seen a house of each district", m->model);
    list_worths(m, fab_regression_scaling(m->r));
    fab_status s = fab_regression_gauss(m->r, &q);
    if (s == FAB_OK) s = fab_solver_create(&solver, q, NULL);
    for (int i = 0; i < WORTHS && s == FAB_OK; i++) s = weigh(&m->worth[i], q, solver);
    fab_solver_free(solver);
    fab_gauss_free(q);
    return s == FAB_OK ? DONE : say_status_of(m->model, s);
}

/* ---- 5: predictions beside the prices ------------------------------------------------------------- */

static int by_first(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_predictions(sales *m)
{
    double row[HELD_OUT][4];
    for (int i = 0; i < HELD_OUT; i++) {
        const fab_prediction *p = &m->p->p[i];
        memcpy(row[i], (double[]){p->mean, p->lower, p->upper, m->p->y[i]}, sizeof row[i]);
    }
    qsort(row, HELD_OUT, sizeof row[0], by_first);
    for (int i = 0; i < HELD_OUT; i++) {
        m->rank[i] = i + 1;
        m->mean[i] = row[i][0];
        m->lower[i] = row[i][1];
        m->upper[i] = row[i][2];
        m->price[i] = row[i][3];
    }
}

/* The share of rows inside the central interval of probability p: those with
 * P(|z| <= |y - mean| / sd) <= p for a standard normal z. */
static double share_inside(const fab_predictions *all, double p)
{
    int64_t inside = 0;
    for (int64_t i = 0; i < all->n; i++)
        inside += erf(fabs(all->y[i] - all->p[i].mean) / (all->p[i].sd * sqrt(2))) <= p;
    return (double)inside / (double)all->n;
}

static void find_calibration(sales *m)
{
    const double n = (double)m->p->n;
    for (int i = 0; i < LEVELS; i++) {
        const double p = (i + 1.0) / (LEVELS + 1);
        const double spread = quantile95 * sqrt(p * (1 - p) / n); /* of a binomial share */
        m->promised[i] = 100 * p;
        m->observed[i] = 100 * share_inside(m->p, p);
        m->chance_low[i] = 100 * (p - spread);
        m->chance_high[i] = 100 * (p + spread);
    }
}

/* ---- what is said --------------------------------------------------------------------------------- */

enum { COLUMNS = 6, CELL = NAME, CELLS = (WORTHS + 1) * COLUMNS };

/* The table of the worths: a head and a row for each; `shown` points to the cells. */
static void make_cells(const sales *m, char cell[][CELL], const char **shown)
{
    static const char *const head[COLUMNS] = {"worth of", "", "true", "found", "from", "to"};
    demo_begin_table(cell[0], CELL, CELLS, head, COLUMNS, shown);
    for (int i = 0; i < WORTHS; i++) {
        const worth *w = &m->worth[i];
        char(*c)[CELL] = cell + (i + 1) * COLUMNS;
        snprintf(c[0], CELL, "%s", w->name);
        snprintf(c[1], CELL, "%s", w->per);
        snprintf(c[2], CELL, "%.2f", w->truth);
        snprintf(c[3], CELL, "%.2f", w->mean);
        snprintf(c[4], CELL, "%.2f", w->mean - quantile95 * w->sd);
        snprintf(c[5], CELL, "%.2f", w->mean + quantile95 * w->sd);
    }
}

static void print(const void *part)
{
    const sales *m = part;
    const fab_scores *s = &m->scores;
    char cell[CELLS][CELL];
    const char *shown[CELLS];
    make_cells(m, cell, shown);
    printf("Prices of houses, in thousands: %d sales to learn from, %d held out.\n\n", TRAIN,
           HELD_OUT);
    demo_print_table(shown, WORTHS + 1, COLUMNS);
    printf("\nfrom, to: the 90 %% interval\n\n");
    printf("%-10s rmse %.1f; the noise is %.0f, found %.1f\n", "held out", s->rmse, houses_noise,
           m->noise);
    printf("%-10s %.1f %% of the prices in their 50 %% interval, %.1f in 90 %%, %.1f in 95 %%\n",
           "", 100 * s->coverage50, 100 * s->coverage90, 100 * s->coverage95);
    printf("%-10s %s, %s\n", "tables", m->table, m->held_out);
    printf("%-10s %s\n", "model", m->model);
}

static json_t *json_worths(const sales *m)
{
    json_t *list = json_array();
    for (int i = 0; i < WORTHS; i++) {
        const worth *w = &m->worth[i];
        json_t *one = json_object();
        json_put(one, "name", json_text(w->name));
        json_put(one, "per", json_text(w->per));
        json_put(one, "true", json_number(w->truth));
        json_put(one, "mean", json_number(w->mean));
        json_put(one, "sd", json_number(w->sd));
        json_put(one, "lower", json_number(w->mean - quantile95 * w->sd));
        json_put(one, "upper", json_number(w->mean + quantile95 * w->sd));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *json(const void *part)
{
    const sales *m = part;
    const fab_scores *s = &m->scores;
    json_t *j = json_object();
    json_put(j, "n", json_integer(m->fit.n));
    json_put(j, "n_held_out", json_integer(s->n));
    json_put(j, "alpha", json_number(m->fit.alpha));
    json_put(j, "beta", json_number(m->fit.beta));
    json_put(j, "log_evidence", json_number(m->fit.log_evidence));
    json_put(j, "noise", json_number(m->noise));
    json_put(j, "noise_true", json_number(houses_noise));
    json_put(j, "worths", json_worths(m));
    json_put(j, "nll", json_number(s->nll));
    json_put(j, "rmse", json_number(s->rmse));
    json_put(j, "coverage50", json_number(s->coverage50));
    json_put(j, "coverage90", json_number(s->coverage90));
    json_put(j, "coverage95", json_number(s->coverage95));
    json_put(j, "table", json_text(m->table));
    json_put(j, "held_out", json_text(m->held_out));
    json_put(j, "file", json_text(m->model));
    return j;
}

/* ---- the page ------------------------------------------------------------------------------------- */

static void add_data(fab_page *page)
{
    enum { SHOWN = 4 };
    char text[600], line[TOY_LINE], lines[(SHOWN + 1) * (TOY_LINE + 1)] = "";
    snprintf(text, sizeof text,
             "houses.csv holds %d sales of houses, and held_out.csv %d more that are not learned "
             "from. The price, in thousands, was made by a rule that is known: a start, so much "
             "for each m2, room, year and km to the centre, so much for the district, and noise "
             "with a standard deviation of %.0f.",
             TRAIN, HELD_OUT, houses_noise);
    fab_page_text(page, text);
    size_t used = 0;
    for (int i = -1; i < SHOWN; i++) {
        houses_line(i, line);
        used += (size_t)snprintf(lines + used, sizeof lines - used, "%s%s", line,
                                 i + 1 < SHOWN ? "\n" : "");
    }
    fab_page_code(page, lines);
}

static fab_status add_predictions(const sales *m, fab_page *page)
{
    const fab_curve curve[] = {
        {.name = "predicted", .x = m->rank, .y = m->mean, .n = HELD_OUT},
        {.name = "true price",
         .x = m->rank,
         .y = m->price,
         .n = HELD_OUT,
         .style = FAB_CURVE_POINTS},
        {.name = "90 % interval",
         .x = m->rank,
         .y = m->lower,
         .n = HELD_OUT,
         .style = FAB_CURVE_BAND,
         .upper = m->upper},
    };
    const fab_plot plot = {"Prices of houses that were held out",
                           "held-out houses, by rising prediction",
                           "price in thousands",
                           0,
                           0,
                           curve,
                           COUNT(curve)};
    char text[300];
    snprintf(text, sizeof text,
             "Each house has a prediction and an interval that should hold its price with 90 %%; "
             "%.1f %% of the %d prices lie inside. The predictions are off by %.1f (rmse), with "
             "noise of %.0f in the prices themselves.",
             100 * m->scores.coverage90, HELD_OUT, m->scores.rmse, houses_noise);
    return fab_page_plot(page, &plot, text);
}

/* Worths whose interval holds the truth. */
static int held_worths(const sales *m)
{
    int held = 0;
    for (int i = 0; i < WORTHS; i++)
        held += fabs(m->worth[i].truth - m->worth[i].mean) <= quantile95 * m->worth[i].sd;
    return held;
}

static void add_worths(const sales *m, fab_page *page)
{
    char cell[CELLS][CELL], text[500];
    const char *shown[CELLS];
    make_cells(m, cell, shown);
    fab_page_heading(page, "What is each column worth?");
    fab_page_table(page, shown, WORTHS + 1, COLUMNS);
    snprintf(
        text, sizeof text,
        "In thousands, as the prices; \"from\" and \"to\" bound the 90 %% interval, which holds "
        "the true value in %d of %d rows. The standard deviation of the noise was found to be "
        "%.1f. Districts are compared with %s: only their differences can be seen in prices.",
        held_worths(m), WORTHS, m->noise, houses_districts[0].name);
    fab_page_text(page, text);
}

static fab_status add_calibration(const sales *m, fab_page *page)
{
    static const double diagonal[] = {0, 100};
    const fab_scores *s = &m->scores;
    const fab_curve curve[] = {
        {.name = "as promised", .x = diagonal, .y = diagonal, .n = COUNT(diagonal)},
        {.name = "held out",
         .x = m->promised,
         .y = m->observed,
         .n = LEVELS,
         .style = FAB_CURVE_POINTS},
        {.name = "chance, 90 %",
         .x = m->promised,
         .y = m->chance_low,
         .n = LEVELS,
         .style = FAB_CURVE_BAND,
         .upper = m->chance_high},
    };
    const fab_plot plot = {"Do the intervals hold what they promise?",
                           "promised: the interval's probability, %",
                           "observed: prices inside, %",
                           0,
                           0,
                           curve,
                           COUNT(curve)};
    char text[400];
    snprintf(text, sizeof text,
             "Of the %d prices %.1f %% lie in their 50 %% interval, %.1f %% in the one of 90 %%, "
             "%.1f %% in the one of 95 %%. The band holds 90 %% of what chance does to a share of "
             "%d rows when the intervals are right.",
             HELD_OUT, 100 * s->coverage50, 100 * s->coverage90, 100 * s->coverage95, HELD_OUT);
    fab_page_heading(page, "Can the intervals be trusted?");
    return fab_page_plot(page, &plot, text);
}

static fab_status show(const void *part, fab_page *page)
{
    fab_page_part(page, "Prices of houses, and how sure they are");
    add_data(page);
    fab_status s = add_predictions(part, page);
    if (s != FAB_OK) return s;
    add_worths(part, page);
    s = add_calibration(part, page);
    if (s != FAB_OK) return s;
    fab_page_heading(page, "The same with your own data");
    fab_page_text(page,
                  "A csv file with a line of names, a row for each case, and columns of "
                  "numbers or words. Run in the folder of this page, these do what it shows:");
    fab_page_code(
        page, "fabayes fit houses.csv -y price -o houses.safetensors  # learn the column price\n"
              "fabayes info houses.safetensors                        # its coefficients\n"
              "fabayes predict houses.safetensors held_out.csv        # mean, sd, lower, upper\n"
              "fabayes score houses.safetensors held_out.csv          # rmse, coverage, ..");
    return FAB_OK;
}

/* ---- the part ------------------------------------------------------------------------------------- */

static int run(void **part, const demo_call *call)
{
    sales *m = *part = calloc(1, sizeof *m);
    if (!m) return say_failed("out of memory");
    int status = write_tables(m, call);
    if (status == DONE) status = fit_table(m, call);
    if (status == DONE) status = predict(m);
    if (status == DONE) status = find_worths(m);
    if (status != DONE) return status;
    sort_predictions(m);
    find_calibration(m);
    return DONE;
}

static void release(void *part)
{
    sales *m = part;
    if (!m) return;
    fab_predictions_free(m->p);
    fab_regression_free(m->r);
    free(m);
}

const demo_part demo_houses = {"houses", run, print, json, show, release};
