/* stream.c - factor analysis of a stream, held against the factor model that made it.
 *
 * A known factor model makes a stream of vectors.  Each streaming method reads it once, and its Gaussian is
 * held against the truth on the way; batch maximum likelihood then sees the whole table.  The Gaussian of
 * recursive-em is saved, loaded and sampled.
 *
 * SPDX-License-Identifier: MIT */
#include "demo/demo.h"
#include "options.h"
#include "demo/toy.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 1000, RANK = 10, ROWS = 20000, POINTS = 8, FIRST = 200, DRAWS = 1000, SEED = 7 };

typedef struct trial {
    const char *name;
    const fab_method *method;
    double rows[POINTS], error[POINTS]; /* |S - truth| / |truth| after so many rows */
    int64_t points;
    double kl, bytes, seconds;
} trial;

typedef struct streaming {
    fab_exec exec;
    fab_gauss *truth;
    double *table; /* ROWS x DIM */
    trial all[3];  /* the last is the batch method */
    int trials;
    char file[DEMO_PATH];
    int64_t same;            /* the loaded Gaussian is the saved one */
    double entropy, sampled; /* of it, and minus the mean log density of draws from it */
} streaming;

/* ---- the data ------------------------------------------------------------------------------------- */

/* Columns of F made orthonormal, one after the other. */
static void orthonormalise(double *F)
{
    for (int k = 0; k < RANK; k++) {
        for (int j = 0; j <= k; j++) {
            double dot = 0;
            for (int d = 0; d < DIM; d++) dot += F[d * RANK + k] * F[d * RANK + j];
            const double scale = j < k ? -dot : 1 / sqrt(dot) - 1; /* j = k: to length 1 */
            for (int d = 0; d < DIM; d++) F[d * RANK + k] += scale * F[d * RANK + j];
        }
    }
}

/* Orthonormal columns, row d scaled by s_d with s_d^2 in (1, 10), and psi_d in (0, 10). */
static int make_truth(streaming *m)
{
    const fab_status s = fab_gauss_create(&m->truth, FAB_FORM_COVARIANCE, FAB_F64, DIM, RANK);
    if (s != FAB_OK) return say_status(s);
    double *F = m->truth->F;
    fab_random_normal(SEED, FAB_PURPOSE_DATA, 1, 0, DIM * RANK, FAB_F64, F);
    fab_random_normal(SEED, FAB_PURPOSE_DATA, 2, 0, DIM, FAB_F64, m->truth->mu);
    orthonormalise(F);
    for (int d = 0; d < DIM; d++) {
        const double scale = sqrt(1 + 9 * toy_uniform(3, d));
        for (int k = 0; k < RANK; k++) F[d * RANK + k] *= scale;
        m->truth->psi[d] = 10 * toy_uniform(4, d);
    }
    return DONE;
}

static int make_rows(streaming *m)
{
    fab_solver *solver = NULL;
    m->table = malloc(sizeof(double) * ROWS * DIM);
    if (!m->table) return say_failed("demo: no memory for %d rows of %d numbers", ROWS, DIM);
    fab_status s = fab_solver_create(&solver, m->truth, &m->exec);
    if (s == FAB_OK)
        s = fab_solver_sample(solver, SEED, FAB_PURPOSE_DATA, 0, ROWS, FAB_F64, m->table, DIM);
    fab_solver_free(solver);
    return s == FAB_OK ? DONE : say_status(s);
}

/* ---- the trials ----------------------------------------------------------------------------------- */

static fab_status note_error(const streaming *m, trial *t, fab_fit *e)
{
    const fab_gauss *q;
    fab_status s = fab_fit_gauss(e, &q);
    double *error = &t->error[t->points];
    if (s == FAB_OK) s = fab_distance_covariance(q, m->truth, &m->exec, error);
    if (s == FAB_OK) s = fab_distance_kl(m->truth, q, &m->exec, &t->kl);
    t->rows[t->points++] = (double)fab_fit_rows(e);
    return s;
}

/* Rows seen at the i-th look: FIRST .. ROWS, evenly spaced for a logarithmic axis. */
static int64_t look_at(int i)
{
    return (int64_t)(FIRST * pow((double)ROWS / FIRST, (double)i / (POINTS - 1)) + 0.5);
}

static fab_status run_stream(const streaming *m, trial *t, fab_fit *e)
{
    for (int64_t seen = 0, i = 0; i < POINTS; i++) {
        const int64_t n = look_at((int)i) - seen;
        const fab_rows rows = {m->table + seen * DIM, FAB_F64, n, DIM};
        const double start = fab_clock();
        fab_status s = fab_fit_update(e, &(fab_examples){.x = rows});
        t->seconds += fab_clock() - start;
        if (s == FAB_OK) s = note_error(m, t, e);
        if (s != FAB_OK) return s;
        seen += n;
        if (progress_tick(NULL, t->name, seen, ROWS)) return FAB_STOPPED;
    }
    return FAB_OK;
}

static fab_status run_batch(const streaming *m, trial *t, fab_fit *e)
{
    const fab_gauss *q;
    const fab_rows rows = {m->table, FAB_F64, ROWS, DIM};
    const double start = fab_clock();
    fab_status s = fab_fit_update(e, &(fab_examples){.x = rows});
    fab_set_progress(progress_tick, NULL);
    if (s == FAB_OK) s = fab_fit_gauss(e, &q);
    fab_set_progress(NULL, NULL);
    t->seconds = fab_clock() - start;
    return s == FAB_OK ? note_error(m, t, e) : s;
}

/* ---- saved, loaded, sampled ----------------------------------------------------------------------- */

static int64_t same_gauss(const fab_gauss *a, const fab_gauss *b)
{
    return a->D == b->D && a->K == b->K && memcmp(a->mu, b->mu, DIM * sizeof(double)) == 0 &&
           memcmp(a->psi, b->psi, DIM * sizeof(double)) == 0 &&
           memcmp(a->F, b->F, DIM * RANK * sizeof(double)) == 0;
}

static fab_status sample(streaming *m, const fab_gauss *q)
{
    fab_solver *solver = NULL;
    double *draws = malloc(sizeof(double) * DRAWS * (DIM + 1));
    if (!draws) return FAB_NO_MEMORY;
    double *density = draws + (int64_t)DRAWS * DIM;
    const fab_rows rows = {draws, FAB_F64, DRAWS, DIM};
    fab_status s = fab_solver_create(&solver, q, &m->exec);
    if (s == FAB_OK)
        s = fab_solver_sample(solver, SEED + 1, FAB_PURPOSE_SAMPLE, 0, DRAWS, FAB_F64, draws, DIM);
    if (s == FAB_OK) s = fab_solver_logpdf(solver, &rows, density);
    if (s == FAB_OK) s = fab_solver_entropy(solver, &m->entropy);
    if (s == FAB_OK)
        for (int i = 0; i < DRAWS; i++) m->sampled -= density[i] / DRAWS;
    fab_solver_free(solver);
    free(draws);
    return s;
}

static fab_status save_and_use(streaming *m, fab_fit *e)
{
    const fab_gauss *q;
    fab_posterior *p = NULL;
    fab_status s = fab_fit_gauss(e, &q);
    if (s == FAB_OK) s = fab_fit_save(e, m->file, NULL);
    if (s == FAB_OK) s = fab_posterior_load(&p, m->file);
    if (s == FAB_OK) {
        m->same = same_gauss(q, p->mix.part[0]);
        s = sample(m, p->mix.part[0]);
    }
    fab_posterior_free(p);
    return s;
}

static fab_status run_trial(streaming *m, trial *t, void *settings)
{
    fab_fit *e = NULL;
    const fab_fields *fields = fab_method_fields(t->method);
    const fab_input in = {.vectors = DIM};
    fab_settings_defaults(fields, settings);
    fab_status s = fab_settings_parse(fields, settings, "K", "10");
    if (s == FAB_OK) s = fab_fit_create(&e, t->name, settings, fields->size, &in, &m->exec);
    if (s == FAB_OK) s = fab_method_streams(t->method) ? run_stream(m, t, e) : run_batch(m, t, e);
    if (s == FAB_OK && t == m->all) s = save_and_use(m, e);
    t->bytes = fab_fit_bytes(t->name, settings, fields->size, &in, ROWS, &m->exec);
    if (!fab_method_streams(t->method)) t->bytes += 8.0 * ROWS * DIM;
    fab_fit_free(e);
    return s;
}

static int run_trials(streaming *m)
{
    static const char *const names[] = {"recursive-em", "online-em", "ml"};
    for (int i = 0; i < COUNT(names); i++) {
        const fab_method *method = fab_method_find(names[i]);
        if (!method) continue;
        trial *t = &m->all[m->trials++];
        *t = (trial){.name = names[i], .method = method};
        void *settings = malloc(fab_method_fields(method)->size);
        const fab_status s = settings ? run_trial(m, t, settings) : FAB_NO_MEMORY;
        free(settings);
        if (s == FAB_STOPPED) return say_failed("demo: stopped");
        if (s != FAB_OK) return say_status(s);
    }
    return DONE;
}

/* ---- what is said --------------------------------------------------------------------------------- */

static double last_error(const trial *t)
{
    return t->error[t->points - 1];
}

enum { COLUMNS = 7, CELL = 32 };

/* The table, also for the page: a head and a row for each method; `shown` points to the cells. */
static void make_cells(const streaming *m, char cell[][CELL], const char **shown)
{
    static const char *const head[COLUMNS] = {"method",     "reads", "seconds", "memory MB",
                                              "error of S", "to ml", "KL"};
    demo_begin_table(cell[0], CELL, 4 * COLUMNS, head, COLUMNS, shown);
    for (int i = 0; i < m->trials; i++) {
        const trial *t = &m->all[i];
        char(*c)[CELL] = cell + (i + 1) * COLUMNS;
        snprintf(c[0], CELL, "%s", t->name);
        snprintf(c[1], CELL, "%s",
                 fab_method_streams(t->method) ? "a stream, once" : "the whole table");
        snprintf(c[2], CELL, "%.2f", t->seconds);
        snprintf(c[3], CELL, "%.0f", t->bytes / 1e6);
        snprintf(c[4], CELL, "%.5f", last_error(t));
        snprintf(c[5], CELL, "%.3f", last_error(t) / last_error(&m->all[m->trials - 1]));
        snprintf(c[6], CELL, "%.4f", t->kl);
    }
}

static void print(const void *part)
{
    const streaming *m = part;
    char cell[4 * COLUMNS][CELL];
    const char *shown[4 * COLUMNS];
    make_cells(m, cell, shown);
    printf("A stream of %d vectors of D = %d, from a factor model of K = %d that is known.\n\n",
           ROWS, DIM, RANK);
    demo_print_table(shown, m->trials + 1, COLUMNS);
    printf("\nerror of S: |S - truth| / |truth|, Frobenius; to ml: over that of ml; KL(truth || "
           "q), nats\n\n");
    printf("%-10s %s\n", "saved", m->file);
    printf("%-10s %s\n", "loaded", m->same ? "the same bytes" : "NOT the same bytes");
    printf("%-10s %d draws, minus their mean log density %.2f; the entropy is %.2f\n", "sampled",
           DRAWS, m->sampled, m->entropy);
}

static json_t *json(const void *part)
{
    const streaming *m = part;
    json_t *j = json_object(), *list = json_array();
    for (int i = 0; i < m->trials; i++) {
        const trial *t = &m->all[i];
        json_t *row = json_object();
        json_put(row, "method", json_text(t->name));
        json_put(row, "seconds", json_number(t->seconds));
        json_put(row, "bytes", json_number(t->bytes));
        json_put(row, "covariance_distance", json_number(last_error(t)));
        json_put(row, "kl", json_number(t->kl));
        json_array_append_new(list, row);
    }
    json_put(j, "D", json_integer(DIM));
    json_put(j, "K", json_integer(RANK));
    json_put(j, "n", json_integer(ROWS));
    json_put(j, "methods", list);
    json_put(j, "same_after_load", json_boolean(m->same));
    json_put(j, "entropy", json_number(m->entropy));
    json_put(j, "minus_mean_log_density", json_number(m->sampled));
    json_put(j, "file", json_text(m->file));
    return j;
}

/* ---- the page ------------------------------------------------------------------------------------- */

static fab_status add_plot(const streaming *m, fab_page *page)
{
    fab_curve curve[COUNT(m->all)];
    for (int i = 0; i < m->trials; i++) {
        const trial *t = &m->all[i];
        curve[i] = (fab_curve){.name = fab_method_streams(t->method) ? t->name : "ml, all rows",
                               .x = t->rows,
                               .y = t->error,
                               .n = t->points};
    }
    const fab_plot plot = {
        "Error of the covariance", "vectors read", "|S - truth| / |truth|", 1, 1, curve, m->trials};
    return fab_page_plot(
        page, &plot,
        "Relative Frobenius error of the learned covariance while the stream is read; the "
        "dashed level is batch maximum likelihood on all rows.");
}

static void add_table(const streaming *m, fab_page *page)
{
    char cell[4 * COLUMNS][CELL];
    const char *shown[4 * COLUMNS];
    make_cells(m, cell, shown);
    fab_page_heading(page, "At the end of the stream");
    fab_page_table(page, shown, m->trials + 1, COLUMNS);
    fab_page_text(
        page,
        "Error of S is |S - truth| / |truth| in the Frobenius norm, \"to ml\" its ratio to the "
        "error of batch maximum likelihood, KL is KL(truth || estimate) in nats. Seconds are "
        "those of learning alone.");
}

static void add_file(const streaming *m, fab_page *page)
{
    char text[400];
    snprintf(text, sizeof text,
             "The Gaussian of recursive-em was saved to q.safetensors and loaded again: %s. %d "
             "draws from it have a mean log density of %.2f; minus its entropy is %.2f.",
             m->same ? "the same bytes" : "NOT the same bytes", DRAWS, -m->sampled, -m->entropy);
    fab_page_heading(page, "Saved, loaded, sampled");
    fab_page_text(page, text);
}

static fab_status show(const void *part, fab_page *page)
{
    char text[600];
    snprintf(text, sizeof text,
             "A factor model with D = %d coordinates and K = %d factors makes %d vectors. A "
             "streaming method sees each of them once and keeps a Gaussian with covariance F F' + "
             "diag(psi), in memory that does not grow with the stream. Batch maximum likelihood "
             "has the whole table in memory.",
             DIM, RANK, ROWS);
    fab_page_part(page, "A stream of vectors, read once");
    fab_page_text(page, text);
    const fab_status s = add_plot(part, page);
    if (s != FAB_OK) return s;
    add_table(part, page);
    add_file(part, page);
    fab_page_heading(page, "The same with your own data");
    fab_page_code(page, "fabayes fa rows.csv -k auto -o q.safetensors    # read once, rank by BIC\n"
                        "fabayes update q.safetensors more.csv           # go on with more rows\n"
                        "fabayes sample q.safetensors -n 1000 -o draws.npy");
    return FAB_OK;
}

/* ---- the part ------------------------------------------------------------------------------------- */

static int run(void **part, const demo_call *call)
{
    streaming *m = *part = calloc(1, sizeof *m);
    if (!m) return say_failed("out of memory");
    m->exec = call->exec;
    int status = demo_path(m->file, call, "q.safetensors");
    if (status == DONE) status = make_truth(m);
    if (status == DONE) status = make_rows(m);
    if (status == DONE) status = run_trials(m);
    return status;
}

static void release(void *part)
{
    streaming *m = part;
    if (!m) return;
    fab_gauss_free(m->truth);
    free(m->table);
    free(m);
}

const demo_part demo_stream = {"stream", run, print, json, show, release};
