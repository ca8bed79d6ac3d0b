/* test.c - `fabayes test`: do two tables come from one distribution, are columns of one independent?
 *
 * SPDX-License-Identifier: MIT */
#include "data.h"
#include "options.h"
#include "print/output.h"
#include <inttypes.h>
#include <stdio.h>

typedef struct test_call {
    data_options data;
    fab_test_plan plan;
    const char *file[2], *x, *y, *witness;
    int files;
    int64_t missing, threads, seed, json, quiet;
} test_call;

static int is_joint(const test_call *c)
{
    return c->x || c->y;
}

static int check(const test_call *c)
{
    if (c->files == 2 && is_joint(c))
        return say_wrong("test: -x and -y are columns of one table; two tables are compared whole");
    if (c->files == 2) return DONE;
    if (!c->x || !c->y)
        return say_wrong(
            "test: give a second table to compare with, or -x COLUMNS and -y COLUMNS of this one");
    if (c->data.only)
        return say_wrong("test: -x and -y say which columns are read; leave --only out");
    if (c->witness) return say_wrong("test: --witness is of two tables");
    return DONE;
}

static int data_from(const test_call *c, const char *file, fab_data *d)
{
    data_options o = c->data;
    o.file = file;
    o.threads = c->threads;
    const int status = data_of(d, &o);
    d->columns = (fab_columns){
        .missing = (fab_missing)c->missing, .only = c->data.only, .exclude = c->data.exclude};
    return status;
}

/* ---- what is said ------------------------------------------------------------------------------------- */

static void put_if_known(json_t *j, const char *key, double x)
{
    if (is_finite(x)) json_put(j, key, json_number(x));
}

static int say_as_json(const test_call *c, const fab_test_report *r)
{
    json_t *j = json_object();
    json_put(j, "test", json_text(is_joint(c) ? "hsic" : "mmd"));
    json_put(j, "statistic", json_number(r->test.statistic));
    json_put(j, "biased", json_number(r->test.biased));
    json_put(j, "p", json_number(r->test.p));
    put_if_known(j, "p_gamma", r->test.p_gamma);
    json_put(j, "permutations", json_integer(r->test.permutations));
    json_put(j, "as_large", json_integer(r->test.as_large));
    put_if_known(j, "bandwidth", r->l);
    put_if_known(j, "bandwidth_y", r->l_y);
    json_put(j, "n", json_integer(r->n));
    if (!is_joint(c)) json_put(j, "m", json_integer(r->m));
    json_put(j, "features", json_integer(r->D));
    if (is_joint(c)) json_put(j, "features_y", json_integer(r->Dy));
    if (r->dropped) json_put(j, "missing", json_integer(r->dropped));
    return json_say(j);
}

static void say_lengths(const fab_test_report *r)
{
    if (is_finite(r->l)) printf("%-12s %.6g, the median distance of the rows\n", "bandwidth", r->l);
    if (is_finite(r->l_y)) printf("%-12s %.6g, of y\n", "", r->l_y);
}

static void say_text(const test_call *c, const fab_test_report *r)
{
    const fab_kernel_test *t = &r->test;
    if (is_joint(c))
        printf("%-12s are x (%" PRId64 " features) and y (%" PRId64 ") independent?  %" PRId64
               " rows\n%-12s %.6g\n",
               "hsic", r->D, r->Dy, r->n, "statistic", t->statistic);
    else
        printf("%-12s are %" PRId64 " and %" PRId64 " rows of %" PRId64
               " features from one distribution?\n%-12s %.6g, an estimate of MMD^2\n",
               "mmd", r->n, r->m, r->D, "statistic", t->statistic);
    printf("%-12s %.4g: %" PRId64 " of %" PRId64 " random orders of the rows are as large\n", "p",
           t->p, t->as_large, t->permutations);
    if (is_finite(t->p_gamma)) printf("%-12s %.4g, by the Gamma distribution\n", "", t->p_gamma);
    say_lengths(r);
    if (r->dropped) printf("%" PRId64 " rows were left out: a value is missing\n", r->dropped);
}

/* ---- the verb ----------------------------------------------------------------------------------------- */

/* A line for each row: which table it is of, its number there, the witness function. */
static int write_witness(const test_call *c, const fab_test_report *r, const double *w)
{
    fab_output *o;
    FILE *f;
    const fab_status opened = fab_output_open(&o, c->witness, &f);
    if (opened != FAB_OK) return say_status(opened);
    fprintf(f, "table,row,witness\n");
    for (int64_t i = 0; i < r->n + r->m; i++)
        fprintf(f, "%d,%" PRId64 ",%.17g\n", i < r->n ? 1 : 2, i < r->n ? i : i - r->n, w[i]);
    const fab_status s = fab_output_close(o, 1);
    return s == FAB_OK ? DONE : say_status(s);
}

static int run_test(test_call *c)
{
    const fab_exec exec = {.threads = c->threads};
    fab_data a, b;
    fab_test_report r;
    double *witness = NULL;
    int status = data_from(c, c->file[0], &a);
    if (status == DONE && c->files == 2) status = data_from(c, c->file[1], &b);
    if (status != DONE) return status;
    const fab_status s =
        is_joint(c) ? fab_test_columns(&r, &a, c->x, c->y, &c->plan, &exec)
                    : fab_test_samples(&r, c->witness ? &witness : NULL, &a, &b, &c->plan, &exec);
    progress_close();
    if (s != FAB_OK) return say_status(s);
    if (witness) status = write_witness(c, &r, witness);
    fab_bytes_free(witness);
    if (status != DONE) return status;
    if (c->json) return say_as_json(c, &r);
    say_text(c, &r);
    return DONE;
}

static int run(const verb *self, int argc, char **argv)
{
    static const char *const missing_names[] = {"refuse", "drop", NULL};
    test_call c = {0};
    const option options[] = {
        {NULL, 'x', OPT_TEXT, &c.x, "COLUMNS", 0, 0, NULL,
         "with -y: are these columns of one table independent of those? names, 0-based numbers, "
         "ranges, beginnings (dist*)"},
        {NULL, 'y', OPT_TEXT, &c.y, "COLUMNS", 0, 0, NULL, "the other columns"},
        {"kernel", 0, OPT_TEXT, &c.plan.kernel, "TEXT", 0, 0, NULL,
         "rbf, matern32, rbf:l=0.5, .. (default rbf); a length-scale that is left open is the "
         "median distance"},
        {"kernel-y", 0, OPT_TEXT, &c.plan.kernel_y, "TEXT", 0, 0, NULL,
         "of the y (default: as --kernel)"},
        {"raw", 0, OPT_FLAG, &c.plan.raw, NULL, 0, 0, NULL,
         "numbers as they stand (default: each column over its standard deviation)"},
        {"permutations", 0, OPT_I64, &c.plan.permutations, "N", 1, 0x1p30, NULL,
         "random orders of the rows (default 1000); p is at least 1 / (1 + N)"},
        {"witness", 0, OPT_TEXT, &c.witness, "FILE", 0, 0, NULL,
         "csv: for each row of both tables where they differ; above 0: more of the first"},
        OPTION_FORMAT(&c.data.format),
        OPTIONS_COLUMNS(&c.data.only, &c.data.exclude),
        {"categorical", 0, OPT_TEXT, &c.data.categorical, "COLUMNS", 0, 0, NULL,
         "columns of numbers to read as words"},
        OPTIONS_DIALECT(&c.data),
        OPTION_MAX_COLUMNS(&c.data.columns_max),
        {"missing", 0, OPT_CHOICE, &c.missing, "WAY", 0, 0, missing_names,
         "rows with a missing value: refuse or drop (default refuse)"},
        OPTION_SEED(&c.seed),
        OPTION_THREADS(&c.threads),
        OPTION_JSON(&c.json),
        OPTION_QUIET(&c.quiet)};
    const call_shape shape = {options, COUNT(options), c.file, 1, 2, NULL, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, &c.files, &status)) return status;
    c.plan.seed = (uint64_t)c.seed;
    status = check(&c);
    for (int i = 0; i < c.files && status == DONE && c.witness; i++)
        status = output_check(c.witness, c.file[i]);
    if (status != DONE) return status;
    progress_open(c.quiet);
    fab_set_progress(progress_tick, NULL);
    return run_test(&c);
}

const verb verb_test = {"test", "DATA [DATA]", "are two tables alike, are columns independent?",
                        run};
