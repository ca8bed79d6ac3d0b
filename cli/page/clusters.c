/* clusters.c - the page of clusters: where they are on the first two axes of the mixture, their means, the rows of DATA in them.
 *
 * SPDX-License-Identifier: MIT */
#include "page/page.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CURVES = 8, /* of a plot */
    POINTS = 2000,
    ROUND = 73, /* points of an ellipse, of a density */
    ROWS = 60,
    TABLE = 100, /* clusters of a table */
    NAME = 48
};

static const double reach = 2; /* an ellipse: standard deviations */

typedef struct clusters_page {
    const fab_posterior *p;
    int64_t D, G, axes; /* 1 or 2 */
    double *centre, *axis, share[2];
    double *mean, *covariance; /* G x axes, G x axes x axes */
    int64_t *order;            /* G: by falling weight */
    json_t *names;             /* or NULL */
    /* Of DATA: an even choice of its rows. */
    int64_t rows, kept, every;
    double *u; /* POINTS x axes */
    int64_t *cluster;
    int64_t *count; /* G */
    double *sure;   /* G: sum of the largest share */
} clusters_page;

static void close_page(clusters_page *c)
{
    free(c->centre);
    free(c->order);
    json_decref(c->names);
}

static int open_page(clusters_page *c, const fab_posterior *p)
{
    const fab_mixture *m = &p->mix;
    const int64_t D = m->part[0]->D, G = m->n, k = D > 1 ? 2 : 1;
    const char *names = fab_tensors_get(p->file, "features");
    *c = (clusters_page){.p = p, .D = D, .G = G, .axes = k, .every = 1};
    c->centre = calloc((size_t)(D + k * D + G * (k + k * k + 1) + POINTS * k), sizeof *c->centre);
    c->order = calloc((size_t)(2 * G + POINTS), sizeof *c->order);
    if (!c->centre || !c->order) return say_failed("report: no memory for %" PRId64 " clusters", G);
    c->axis = c->centre + D;
    c->mean = c->axis + k * D;
    c->covariance = c->mean + G * k;
    c->sure = c->covariance + G * k * k;
    c->u = c->sure + G;
    c->count = c->order + G;
    c->cluster = c->count + G;
    for (int64_t g = 0; g < G; g++) {
        int64_t at = g;
        while (at > 0 && m->weight[c->order[at - 1]] < m->weight[g]) {
            c->order[at] = c->order[at - 1];
            at--;
        }
        c->order[at] = g;
    }
    if (names) c->names = json_loads(names, 0, NULL);
    const fab_status s = fab_mixture_axes(m, k, NULL, c->centre, c->axis, c->share);
    if (s != FAB_OK) return say_status(s);
    for (int64_t g = 0; g < G; g++)
        fab_gauss_on_axes(m->part[g], k, c->centre, c->axis, c->mean + g * k,
                          c->covariance + g * k * k);
    return DONE;
}

static const char *name_of(const clusters_page *c, int64_t d, char buf[NAME])
{
    const char *name = c->names ? json_string_value(json_array_get(c->names, (size_t)d)) : NULL;
    if (name)
        snprintf(buf, NAME, "%s", name);
    else
        snprintf(buf, NAME, "x%" PRId64, d);
    return buf;
}

static int show_facts(page_call *c, const clusters_page *q)
{
    const char *method = fab_tensors_get(q->p->file, "method"),
               *n = fab_tensors_get(q->p->file, "n");
    cells t = {0};
    cells_add(&t, "what");
    cells_add(&t, "value");
    cells_add(&t, "model");
    cells_add(&t, "%" PRId64 " cluster%s of %" PRId64 " column%s", q->G, q->G > 1 ? "s" : "", q->D,
              q->D > 1 ? "s" : "");
    cells_add(&t, "method");
    cells_add(&t, "%s", method ? method : "not known");
    if (n) {
        cells_add(&t, "rows learned");
        cells_add(&t, "%s", n);
    }
    return cells_show(c, &t, 2);
}

/* ---- on the axes ------------------------------------------------------------------------------------ */

typedef struct drawing {
    char name[CURVES][NAME], x_label[96], y_label[96];
    fab_curve curve[CURVES];
    fab_plot plot;
} drawing;

static void name_axes(drawing *d, const clusters_page *q, const char *title)
{
    snprintf(d->x_label, sizeof d->x_label, "axis 1, %.3g %% of the variance", 100 * q->share[0]);
    snprintf(d->y_label, sizeof d->y_label, "axis 2, %.3g %% of the variance", 100 * q->share[1]);
    d->plot = (fab_plot){.title = title,
                         .x_label = q->axes > 1 ? d->x_label : "standard deviations from the mean",
                         .y_label = q->axes > 1 ? d->y_label : "share times density",
                         .curve = d->curve};
}

static int draw_parts(page_call *c, const clusters_page *q)
{
    drawing d;
    char text[300];
    const int64_t shown = q->G < CURVES ? q->G : CURVES;
    double *x = malloc(2 * (size_t)(shown * ROUND) * sizeof *x);
    if (!x) return say_failed("report: no memory for a plot");
    name_axes(&d, q, q->axes > 1 ? "Clusters on their first two axes" : "Clusters");
    for (int64_t i = 0; i < shown; i++) {
        double *at = x + 2 * i * ROUND;
        const int64_t g = q->order[i];
        fab_gauss_outline(q->axes, q->mean + g * q->axes, q->covariance + g * q->axes * q->axes,
                          q->axes > 1 ? reach : 2 * reach, ROUND, at, at + ROUND);
        for (int64_t k = 0; k < ROUND && q->axes == 1; k++) at[ROUND + k] *= q->p->mix.weight[g];
        snprintf(d.name[i], NAME, "%" PRId64, q->order[i]);
        d.curve[i] = (fab_curve){.name = d.name[i], .x = at, .y = at + ROUND, .n = ROUND};
    }
    d.plot.curves = shown;
    snprintf(text, sizeof text, "%s%s",
             q->axes > 1
                 ? "Each cluster out to two standard deviations. The axes are the principal ones "
                   "of the mixture, columns in their standard deviations."
                 : "The density of each cluster times its share.",
             q->G > CURVES ? " The eight clusters of the largest shares." : "");
    fab_page_heading(c->page, "Where the clusters are");
    const int status = page_plot(c, &d.plot, text);
    free(x);
    return status;
}

/* ---- rows of DATA ------------------------------------------------------------------------------------ */

/* Every row counts; of each `every` rows one is drawn, and where there is no room every second one of those goes. */
static void take_rows(clusters_page *q, const fab_clusters_rows *r, const fab_rows *x)
{
    const double *X = x->p;
    for (int64_t j = 0; j < r->n; j++, q->rows++) {
        double high = 0;
        for (int64_t g = 0; g < q->G; g++)
            if (r->share[j * q->G + g] > high) high = r->share[j * q->G + g];
        q->count[r->cluster[j]]++;
        q->sure[r->cluster[j]] += high;
        if (q->rows % q->every) continue;
        if (q->kept == POINTS) {
            for (int64_t i = 0; 2 * i < POINTS; i++) {
                q->cluster[i] = q->cluster[2 * i];
                memmove(q->u + i * q->axes, q->u + 2 * i * q->axes, (size_t)q->axes * sizeof *q->u);
            }
            q->kept = POINTS / 2;
            q->every *= 2;
            if (q->rows % q->every) continue;
        }
        for (int64_t a = 0; a < q->axes; a++) {
            double u = 0;
            for (int64_t i = 0; i < q->D; i++)
                u += q->axis[a * q->D + i] * (X[j * x->ld + i] - q->centre[i]);
            q->u[q->kept * q->axes + a] = u;
        }
        q->cluster[q->kept++] = r->cluster[j];
    }
}

static int read_rows(page_call *c, clusters_page *q)
{
    fab_source *source = NULL;
    fab_clusters_view *v = NULL;
    fab_clusters_rows r;
    int status = data_open(&source, &c->data);
    if (status == DONE) {
        const fab_status s = fab_clusters_view_open(&v, c->file, q->p, NULL);
        if (s != FAB_OK) status = say_status(s);
    }
    while (status == DONE) {
        const fab_status s = fab_clusters_view_next(v, source, &r);
        if (s != FAB_OK) status = say_status(s);
        if (s != FAB_OK || r.n == 0) break;
        const fab_rows x = fab_clusters_view_rows(v);
        take_rows(q, &r, &x);
    }
    if (status == DONE && q->rows == 0) status = say_failed("%s: has no rows", c->data.file);
    fab_clusters_view_free(v);
    fab_source_close(source);
    return status;
}

static int draw_rows(page_call *c, const clusters_page *q)
{
    drawing d;
    char text[200];
    const int64_t own = q->G <= CURVES ? q->G : CURVES - 1;
    double *x = malloc(2 * (size_t)q->kept * sizeof *x);
    if (!x) return say_failed("report: no memory for a plot");
    double *y = x + q->kept;
    int64_t at = 0;
    name_axes(&d, q, "Rows in their clusters");
    if (q->axes == 1) d.plot.y_label = "row";
    for (int64_t i = 0; i < CURVES; i++) {
        const int64_t first = at;
        for (int64_t j = 0; j < q->kept; j++) {
            int64_t place = 0;
            while (place < own && q->order[place] != q->cluster[j]) place++;
            if (place != i) continue;
            x[at] = q->u[j * q->axes];
            y[at++] = q->axes > 1 ? q->u[j * q->axes + 1] : (double)(j * q->every);
        }
        if (at == first) continue;
        if (i < own)
            snprintf(d.name[d.plot.curves], NAME, "%" PRId64, q->order[i]);
        else
            snprintf(d.name[d.plot.curves], NAME, "the others");
        d.curve[d.plot.curves] = (fab_curve){.name = d.name[d.plot.curves],
                                             .x = x + first,
                                             .y = y + first,
                                             .n = at - first,
                                             .style = FAB_CURVE_POINTS};
        d.plot.curves++;
    }
    if (q->every > 1)
        snprintf(text, sizeof text,
                 "%" PRId64 " of %" PRId64 " rows of %.100s, one of each %" PRId64 ".", q->kept,
                 q->rows, c->data.file, q->every);
    else
        snprintf(text, sizeof text, "All %" PRId64 " rows of %.100s.", q->rows, c->data.file);
    fab_page_heading(c->page, "Rows in their clusters");
    const int status = page_plot(c, &d.plot, text);
    free(x);
    return status;
}

/* ---- tables ------------------------------------------------------------------------------------------- */

static int list_parts(page_call *c, const clusters_page *q)
{
    cells t = {0};
    const int64_t shown = q->G < TABLE ? q->G : TABLE;
    char text[100];
    cells_add(&t, "cluster");
    cells_add(&t, "share");
    if (q->rows) {
        cells_add(&t, "rows of DATA");
        cells_add(&t, "mean share of the row's cluster");
    }
    for (int64_t i = 0; i < shown; i++) {
        const int64_t g = q->order[i];
        cells_add(&t, "%" PRId64, g);
        cells_add(&t, "%.4f", q->p->mix.weight[g]);
        if (!q->rows) continue;
        cells_add(&t, "%" PRId64, q->count[g]);
        if (q->count[g])
            cells_add(&t, "%.4f", q->sure[g] / (double)q->count[g]);
        else
            cells_add(&t, "%s", "-");
    }
    const int status = cells_show(c, &t, q->rows ? 4 : 2);
    if (q->G > TABLE) {
        snprintf(text, sizeof text, "The %d clusters of the largest shares, of %" PRId64 ".", TABLE,
                 q->G);
        fab_page_text(c->page, text);
    }
    return status;
}

/* Coordinates by falling distance between the means that are furthest apart: the first `rows`.  z: fab_mixture_standings. */
static void choose_rows(const clusters_page *q, const double *z, int64_t rows, int64_t *row)
{
    double far[ROWS];
    int64_t n = 0;
    for (int64_t d = 0; d < q->D; d++) {
        double low = z[d], high = z[d];
        for (int64_t g = 1; g < q->G; g++) {
            const double v = z[g * q->D + d];
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
        int64_t at = n < rows ? n++ : rows;
        while (at > 0 && far[at - 1] < high - low) {
            if (at < rows) far[at] = far[at - 1], row[at] = row[at - 1];
            at--;
        }
        if (at < rows) far[at] = high - low, row[at] = d;
    }
}

static int draw_means(page_call *c, const clusters_page *q)
{
    const int64_t rows = q->D < ROWS ? q->D : ROWS,
                  columns = q->G < FAB_HEAT_COLUMNS ? q->G : FAB_HEAT_COLUMNS;
    char(*buf)[NAME] = malloc((size_t)(rows + columns) * sizeof *buf), text[400];
    const char **name = malloc((size_t)(rows + columns) * sizeof *name);
    double *value = malloc((size_t)(q->G * q->D + rows * columns) * sizeof *value);
    int64_t row[ROWS];
    int status = DONE;
    if (!buf || !name || !value) {
        status = say_failed("report: no memory for the means");
    } else {
        double *z = value + rows * columns;
        const fab_status s = fab_mixture_standings(&q->p->mix, NULL, z);
        if (s != FAB_OK) status = say_status(s);
        if (s == FAB_OK) choose_rows(q, z, rows, row);
        for (int64_t i = 0; i < rows && s == FAB_OK; i++) {
            name[i] = name_of(q, row[i], buf[i]);
            for (int64_t k = 0; k < columns; k++)
                value[i * columns + k] = z[q->order[k] * q->D + row[i]];
        }
        for (int64_t k = 0; k < columns; k++) {
            snprintf(buf[rows + k], NAME, "%" PRId64, q->order[k]);
            name[rows + k] = buf[rows + k];
        }
        snprintf(text, sizeof text,
                 "Means less the mean of the mixture, in standard deviations of the column; "
                 "columns that part the clusters most come first.%s%s",
                 rows < q->D ? " The first sixty columns." : "",
                 columns < q->G ? " The twelve clusters of the largest shares." : "");
        const fab_heat heat = {.title = "Means of the clusters",
                               .row_label = "column",
                               .column_label = "cluster",
                               .rows = rows,
                               .columns = columns,
                               .row = name,
                               .column = name + rows,
                               .value = value,
                               .decimals = 2};
        if (status == DONE) status = page_heat(c, &heat, text);
    }
    free(buf);
    free(name);
    free(value);
    return status;
}

int page_clusters(page_call *c, const fab_posterior *p)
{
    clusters_page q;
    int status = open_page(&q, p);
    if (status == DONE && c->data.file) status = read_rows(c, &q);
    if (status == DONE) status = show_facts(c, &q);
    if (status == DONE) status = draw_parts(c, &q);
    if (status == DONE && q.rows) status = draw_rows(c, &q);
    if (status == DONE) status = list_parts(c, &q);
    if (status == DONE) status = draw_means(c, &q);
    close_page(&q);
    return status;
}
