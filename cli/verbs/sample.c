/* sample.c - `fabayes sample`: draws of theta, one per row, in bounded memory; of a Gaussian process functions at rows.
 *
 * A draw has its own number, so pieces of any size give the same bytes.
 *
 * SPDX-License-Identifier: MIT */
#include "data.h"
#include "print/csv.h"
#include "print/output.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PIECE = 1 << 20, /* elements made at a time: 8 MB of f64 */
    GROUP = 16       /* and whole groups of draws, which share one pass over F */
};

typedef struct sample_call {
    const char *file, *output;
    data_options data; /* the rows of a process */
    int64_t n, seed, threads, dtype, json, quiet;
} sample_call;

/* Where draws come from and how long they are. */
typedef struct maker {
    const fab_mixture *mix;
    fab_solver *solver; /* of a single Gaussian, factored once; NULL: a mixture */
    fab_exec exec;
    int64_t columns, rows_at_once;
    fab_dtype type;
    void *piece;       /* rows_at_once x columns */
    fab_regression *r; /* of a linear model: draws are in the user's units; otherwise NULL */
} maker;

/* A mixture is factored anew for every piece, in time D K^2 per part against D K per draw: as many rows
 * as factors pay for it, and take no more memory than the file. */
static int64_t piece_rows(const fab_mixture *m, int64_t columns, int64_t n)
{
    int64_t rows = PIECE / columns, factors = 1;
    if (m->n > 1)
        for (int64_t i = 0; i < m->n; i++) factors += m->part[i]->K;
    if (rows < factors) rows = factors;
    rows = (rows + GROUP - 1) / GROUP * GROUP;
    return rows < n ? rows : n;
}

static int maker_open(maker *m, const fab_posterior *p, const sample_call *c)
{
    const fab_gauss *g = p->mix.part[0];
    m->mix = &p->mix;
    m->exec.threads = c->threads;
    m->type = (fab_dtype)c->dtype;
    m->columns = g->total ? g->total : g->D;
    m->rows_at_once = piece_rows(m->mix, m->columns, c->n);
    m->piece = malloc((size_t)m->rows_at_once * (size_t)m->columns * sizeof(double));
    if (!m->piece)
        return say_failed("%s: no memory for a draw of %" PRId64 " numbers", c->file, m->columns);
    fab_status s = FAB_OK;
    if (fab_posterior_is_linear(p))
        s = fab_regression_take(&m->r, c->file, p, &m->exec);
    else if (p->mix.n == 1)
        s = fab_solver_create(&m->solver, g, &m->exec);
    return s == FAB_OK ? DONE : say_status_of(c->file, s);
}

static void maker_close(maker *m)
{
    fab_regression_free(m->r);
    fab_solver_free(m->solver);
    free(m->piece);
}

static fab_status make(maker *m, int64_t seed, int64_t first, int64_t n)
{
    if (m->r)
        return fab_regression_sample(m->r, (uint64_t)seed, first, n, m->type, m->piece, m->columns);
    if (m->solver)
        return fab_solver_sample(m->solver, (uint64_t)seed, FAB_PURPOSE_SAMPLE, first, n, m->type,
                                 m->piece, m->columns);
    return fab_mixture_sample(m->mix, (uint64_t)seed, FAB_PURPOSE_SAMPLE, first, n, m->type,
                              m->piece, m->columns, NULL, &m->exec);
}

/* 17 (f32: 9) digits read back to the same number. */
static void print_number(const maker *m, int64_t i)
{
    if (m->type == FAB_F32)
        printf("%.9g", (double)((const float *)m->piece)[i]);
    else
        printf("%.17g", ((const double *)m->piece)[i]);
}

/* One line per draw; ends at the first line that is lost. */
static int print_rows(const maker *m, int64_t n)
{
    progress_close();
    for (int64_t j = 0; j < n && !ferror(stdout); j++)
        for (int64_t d = 0; d < m->columns; d++) {
            print_number(m, j * m->columns + d);
            putchar(d + 1 < m->columns ? ',' : '\n');
        }
    return output_flush();
}

/* A line of names where there are some: of coefficients, with their class where there are several, or of the columns
 * of a factor analysis. */
static int print_names(const maker *m, const fab_posterior *p)
{
    const char *features = fab_tensors_get(p->file, "features");
    json_t *said = !m->r && features ? json_loads(features, 0, NULL) : NULL;
    const json_t *names = json_object_get(said, "names");
    const int known = m->r ||
                      (json_is_array(names) && json_array_size(names) == (size_t)m->columns);
    if (known)
        for (int64_t i = 0; i < m->columns; i++) {
            char buf[32], name[512];
            const char *class = m->r ? fab_regression_coefficient_class(m->r, i, buf) : NULL;
            const char *of = m->r ? fab_regression_coefficient_name(m->r, i)
                                  : json_string_value(json_array_get(names, (size_t)i));
            snprintf(name, sizeof name, "%s%s%s", class ? class : "", class ? ":" : "",
                     of ? of : "?");
            csv_name(stdout, name);
            putchar(i + 1 < m->columns ? ',' : '\n');
        }
    json_decref(said);
    return output_flush();
}

/* Make all draws; each piece goes to the writer, or without one to standard output. */
static int draw(maker *m, const sample_call *c, fab_npy_writer *w)
{
    for (int64_t done = 0; done < c->n;) {
        const int64_t left = c->n - done, n = left < m->rows_at_once ? left : m->rows_at_once;
        fab_status s = make(m, c->seed, done, n);
        if (s != FAB_OK) return say_status_of(c->file, s);
        if (w) s = fab_npy_append(w, m->piece, n * m->columns);
        if (s != FAB_OK) return say_status(s);
        if (!w && print_rows(m, n) != DONE) return FAILED;
        done += n;
        if (progress_tick(NULL, "sample", done, c->n)) return say_failed("sample: stopped");
    }
    return DONE;
}

static int draw_to_file(maker *m, const sample_call *c)
{
    fab_npy_writer *w = NULL;
    fab_status s = fab_npy_open(&w, c->output, m->type, c->n, m->columns);
    if (s != FAB_OK) return say_status(s);
    const int status = draw(m, c, w);
    if (status != DONE) {
        fab_npy_discard(w);
        return status;
    }
    s = fab_npy_close(w);
    return s == FAB_OK ? DONE : say_status(s);
}

static int report(const sample_call *c, const maker *m, double seconds)
{
    if (!c->json) {
        if (!c->quiet)
            printf("%s: %" PRId64 " draws of %" PRId64 " numbers, %s, seed %" PRId64 "\n",
                   c->output, c->n, m->columns, fab_dtype_name(m->type), c->seed);
        return DONE;
    }
    json_t *j = json_object();
    json_put(j, "file", json_text(c->file));
    json_put(j, "output", json_text(c->output));
    json_put(j, "n", json_integer(c->n));
    json_put(j, "D", json_integer(m->mix->part[0]->D));
    json_put(j, "columns", json_integer(m->columns));
    json_put(j, "dtype", json_text(fab_dtype_name(m->type)));
    json_put(j, "seed", json_integer(c->seed));
    json_put(j, "seconds", json_number(seconds));
    return json_say(j);
}

/* ---- functions at rows --------------------------------------------------------------------------------- */

static int write_functions(const sample_call *c, double *draws, int64_t rows)
{
    const fab_npy all = {.data = draws, .type = FAB_F64, .ndim = 2, .rows = c->n, .cols = rows};
    const fab_status s = fab_npy_write(c->output, &all);
    return s == FAB_OK ? DONE : say_status(s);
}

/* Of several classes each row has a function for each. */
static int name_functions(fab_regression *r, int64_t rows)
{
    fab_glm glm;
    const fab_status s = fab_regression_model(r, &glm);
    if (s != FAB_OK) return say_status(s);
    for (int64_t i = 0; i < rows; i++) {
        char name[512], number[32];
        if (glm.classes > 1)
            snprintf(name, sizeof name, "row%" PRId64 ":%s", i / glm.classes,
                     fab_scaling_class(fab_regression_scaling(r), i % glm.classes, number));
        else
            snprintf(name, sizeof name, "row%" PRId64, i);
        csv_name(stdout, name);
        putchar(i + 1 < rows ? ',' : '\n');
    }
    return DONE;
}

static int print_functions(const sample_call *c, fab_regression *r, const double *draws,
                           int64_t rows)
{
    progress_close();
    const int status = name_functions(r, rows);
    if (status != DONE) return status;
    for (int64_t j = 0; j < c->n && !ferror(stdout); j++)
        for (int64_t i = 0; i < rows; i++)
            printf("%.17g%c", draws[j * rows + i], i + 1 < rows ? ',' : '\n');
    return output_flush();
}

static int functions(const sample_call *c, const fab_posterior *p, double start)
{
    maker m = {.mix = &p->mix, .type = FAB_F64};
    fab_data rows;
    double *draws = NULL;
    int status = data_of(&rows, &c->data);
    if (status != DONE) return status;
    if (c->dtype != FAB_F64)
        return say_wrong("sample: functions are f64; --dtype is for draws of theta");
    fab_set_progress(progress_tick, NULL);
    fab_status s = fab_regression_take(&m.r, c->file, p, &(fab_exec){.threads = c->threads});
    if (s == FAB_OK)
        s = fab_regression_functions(m.r, &rows, (uint64_t)c->seed, 0, c->n, &draws, &m.columns);
    if (s == FAB_OK) {
        assert(draws);
        status = c->output ? write_functions(c, draws, m.columns)
                           : print_functions(c, m.r, draws, m.columns);
    } else {
        status = say_status(s);
    }
    progress_close();
    if (status == DONE && c->output) status = report(c, &m, fab_clock() - start);
    fab_bytes_free(draws);
    fab_regression_free(m.r);
    return status;
}

static int sample(const sample_call *c)
{
    maker m = {0};
    fab_posterior *p = NULL;
    const double start = fab_clock();
    const fab_status s = fab_posterior_load(&p, c->file);
    if (s != FAB_OK) return say_status(s);
    const int process = fab_file_kind(p->file) == FAB_KIND_GP;
    if (fab_file_kind(p->file) == FAB_KIND_SVM) {
        fab_posterior_free(p);
        return say_failed("%s: is a support vector machine, which has no distribution to draw from",
                          c->file);
    }
    if (process != (c->data.file != NULL)) {
        fab_posterior_free(p);
        return process
                   ? say_wrong("sample: %s is a Gaussian process, whose functions are drawn at "
                               "rows: fabayes sample FILE DATA -n N",
                               c->file)
                   : say_wrong("sample: DATA is for the functions of a Gaussian process, and %s "
                               "is none",
                               c->file);
    }
    if (process) {
        const int drawn = functions(c, p, start);
        fab_posterior_free(p);
        return drawn;
    }
    int status = maker_open(&m, p, c);
    if (status == DONE && !c->output) status = print_names(&m, p);
    if (status == DONE) status = c->output ? draw_to_file(&m, c) : draw(&m, c, NULL);
    progress_close();
    if (status == DONE && c->output) status = report(c, &m, fab_clock() - start);
    maker_close(&m);
    fab_posterior_free(p);
    return status;
}

static int run(const verb *self, int argc, char **argv)
{
    sample_call c = {0};
    const option options[] = {
        {NULL, 'n', OPT_I64, &c.n, "N", 1, 0x1p53, NULL, "how many draws"},
        OPTION_OUTPUT(&c.output, "write an .npy file (default: csv on standard output)"),
        OPTION_DTYPE(&c.dtype, "element type of the draws (default f64)"),
        OPTION_SEED(&c.seed),
        OPTION_FORMAT(&c.data.format),
        OPTION_ROWS(&c.data.rows),
        OPTIONS_DIALECT(&c.data),
        OPTION_THREADS(&c.threads),
        OPTION_JSON(&c.json),
        OPTION_QUIET(&c.quiet),
    };
    const char *operand[2];
    const call_shape shape = {options, COUNT(options), operand, 1, 2, NULL, NULL, NULL};
    int status, operands;
    if (!options_parse(self, &shape, argc, argv, &operands, &status)) return status;
    c.file = operand[0];
    if (operands > 1) c.data.file = operand[1];
    const data_options *d = &c.data;
    const char *const how[] = {d->rows, d->separator, d->decimal, d->na, d->comment, d->dates};
    int given = d->format != 0;
    for (int i = 0; i < COUNT(how); i++) given |= how[i] != NULL;
    if (given && !d->file)
        return say_wrong("sample: an option says how DATA is read, and there is no DATA");
    if (!c.n) return say_wrong("sample: -n N, the number of draws, is missing");
    if (c.json && !c.output)
        return say_wrong("sample: --json needs -o FILE; standard output would hold the draws");
    if (c.output && (status = output_check(c.output, c.file)) != DONE) return status;
    if (c.output && d->file && (status = output_check(c.output, d->file)) != DONE) return status;
    progress_open(c.quiet);
    return sample(&c);
}

const verb verb_sample = {"sample", "FILE [DATA] -n N [-o DRAWS.npy]",
                          "draws of theta, one per row; of a Gaussian process functions at the "
                          "rows of DATA",
                          run};
