/* evidence.c - `fabayes evidence`: how likely DATA are under the model of each FILE, and how well each row is predicted by the others.
 *
 * SPDX-License-Identifier: MIT */
#include "data.h"
#include "options.h"
#include "predicting.h"
#include "print/output.h"
#include "print/svm.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 1000 };
#define TRUSTED 0.7 /* k up to which an estimate is taken */

typedef struct evidence_call {
    data_options data;
    fab_importance_plan plan;
    const char *rows; /* where to write what is said of each row, of one FILE */
    int64_t threads, json, quiet;
} evidence_call;

typedef struct answer {
    const char *file;
    fab_importance *e;
    double probability; /* of the model, where all are equally likely before */
} answer;

/* ---- several models ----------------------------------------------------------------------------------- */

static int compare(answer *all, int n, int *best)
{
    const fab_importance *e[FILES];
    double probability[FILES];
    int64_t first;
    for (int i = 0; i < n; i++) e[i] = all[i].e;
    const fab_status s = fab_importance_compare(n, e, probability, &first);
    if (s != FAB_OK) return say_status(s);
    for (int i = 0; i < n; i++) all[i].probability = probability[i];
    *best = (int)first;
    return DONE;
}

/* ---- what is said ------------------------------------------------------------------------------------- */

static json_t *as_json(const answer *a, int several)
{
    const fab_importance *e = a->e;
    json_t *j = json_object();
    json_put(j, "file", json_text(a->file));
    json_put(j, "n", json_integer(e->n));
    if (e->dropped) json_put(j, "missing", json_integer(e->dropped));
    json_put(j, "parameters", json_integer(e->D));
    json_put(j, "samples", json_integer(e->samples));
    json_put(j, "alpha", json_number(e->alpha));
    if (e->intercept_alpha > 0) json_put(j, "intercept_alpha", json_number(e->intercept_alpha));
    json_put(j, "log_evidence", json_number(e->log_evidence));
    json_put(j, "se", json_number(e->se));
    json_put(j, "ess", json_number(e->ess));
    json_put(j, "k", json_number(e->k));
    json_put(j, "wider", json_number(e->wider));
    json_put(j, "nu", e->nu ? json_integer(e->nu) : json_null());
    if (several) json_put(j, "probability", json_number(a->probability));
    if (!e->row_k) return j;
    json_put(j, "elpd", json_number(e->elpd));
    json_put(j, "elpd_se", json_number(e->elpd_se));
    json_put(j, "p_loo", json_number(e->p_loo));
    json_put(j, "k_above", json_integer(e->bad));
    return j;
}

static int say_as_json(const answer *all, int n)
{
    json_t *j = json_object(), *files = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(files, as_json(&all[i], n > 1));
    json_put(j, "models", files);
    return json_say(j);
}

static const char *k_text(double k, char *buf, size_t size)
{
    if (is_finite(k))
        snprintf(buf, size, "%.2f", k);
    else
        snprintf(buf, size, "%s", k < 0 ? "none" : "?");
    return buf;
}

static void say_text(const answer *all, int n, int best)
{
    char k[32];
    int width = 4;
    for (int i = 0; i < n; i++)
        if ((int)strlen(all[i].file) > width) width = (int)strlen(all[i].file);
    printf("%-*s  %14s %9s %8s %6s", width, "file", "log evidence", "se", "draws", "k");
    if (n > 1) printf(" %12s %11s", "log factor", "probability");
    if (all[0].e->row_k) printf(" %12s %8s %7s", "rows left out", "se", "k > 0.7");
    printf("\n");
    for (int i = 0; i < n; i++) {
        const fab_importance *e = all[i].e;
        printf("%-*s  %14.3f %9.2g %8.0f %6s", width, all[i].file, e->log_evidence, e->se, e->ess,
               k_text(e->k, k, sizeof k));
        if (n > 1)
            printf(" %12.3f %11.4g", e->log_evidence - all[best].e->log_evidence,
                   all[i].probability);
        if (e->row_k) printf(" %13.3f %8.3g %7" PRId64, e->elpd, e->elpd_se, e->bad);
        printf("\n");
    }
    printf("\n%" PRId64
           " rows; evidence in the units of the table, of priors with the precisions alpha and "
           "intercept_alpha of each file\n",
           all[0].e->n);
    if (all[0].e->dropped)
        printf("%" PRId64 " rows were left out: a value is missing\n", all[0].e->dropped);
}

/* What cannot be trusted is said, to whoever reads the table and to whoever reads JSON. */
static void warn(const answer *all, int n)
{
    for (int i = 0; i < n; i++) {
        const fab_importance *e = all[i].e;
        if (e->k > TRUSTED)
            fprintf(
                stderr,
                "fabayes: %s: k = %.2f is above 0.7: its posterior is too far from the rows for "
                "this evidence and its se to be trusted; are these the rows of the fit?  "
                "--nu=4 --wider=1.5, more --samples, or a closer method (vga, laplace)\n",
                all[i].file, e->k);
        if (e->row_k && e->bad > 0)
            fprintf(stderr,
                    "fabayes: %s: %" PRId64 " of %" PRId64
                    " rows have k above 0.7: what is said of "
                    "rows left out is too good; cross-validate (fabayes tune) instead\n",
                    all[i].file, e->bad, e->n);
        if (e->p_loo > 0.4 * (double)e->n)
            fprintf(stderr,
                    "fabayes: %s: %.3g effective parameters for %" PRId64 " rows: the model is too "
                    "wide for rows to be left out by weights\n",
                    all[i].file, e->p_loo, e->n);
    }
}

static int write_rows(const evidence_call *c, const fab_importance *e)
{
    fab_output *o;
    FILE *f;
    const fab_status opened = fab_output_open(&o, c->rows, &f);
    if (opened != FAB_OK) return say_status(opened);
    fprintf(f, "row,elpd,k\n");
    for (int64_t i = 0; i < e->n; i++) {
        fprintf(f, "%" PRId64 ",%.17g,", i, e->row_elpd[i]);
        if (is_finite(e->row_k[i]))
            fprintf(f, "%.4g\n", e->row_k[i]);
        else
            fprintf(f, "%s\n", e->row_k[i] > 0 ? "NA" : "-inf");
    }
    const fab_status s = fab_output_close(o, 1);
    return s == FAB_OK ? DONE : say_status(s);
}

/* ---- the verb ----------------------------------------------------------------------------------------- */

static int ask(const evidence_call *c, const char *file, answer *a)
{
    const fab_exec exec = {.threads = c->threads};
    fab_regression *r;
    fab_data d;
    a->file = file;
    const int status = data_of(&d, &c->data);
    if (status != DONE) return status;
    if (is_of_clusters(file) || is_svm(file)) {
        say_failed("evidence: %s has %s: the evidence is of models of a target with a likelihood "
                   "and a prior",
                   file, is_svm(file) ? "support vector machines" : "clusters");
        return FAILED;
    }
    fab_status s = fab_regression_load(&r, file, &exec);
    if (s == FAB_OK) {
        s = fab_regression_importance(r, &d, &c->plan, &a->e);
        fab_regression_free(r);
    }
    if (s == FAB_OK) return DONE;
    return say_status(s) == WRONG ? WRONG : FAILED;
}

static int run_evidence(const evidence_call *c, const char *const *files, int n, answer *all)
{
    int status = DONE, best = 0;
    for (int i = 0; i < n && status == DONE; i++) status = ask(c, files[i], &all[i]);
    progress_close();
    if (status == DONE) status = compare(all, n, &best);
    if (status == DONE && c->rows) status = write_rows(c, all[0].e);
    if (status != DONE) return status;
    if (!c->quiet) warn(all, n);
    if (c->json) return say_as_json(all, n);
    say_text(all, n, best);
    return DONE;
}

static int check(const evidence_call *c, const char *const *operand, int files)
{
    if (c->rows && files > 1)
        return say_wrong("evidence: --rows-out is for one FILE, and there are %d", files);
    if (c->rows && c->plan.no_rows)
        return say_wrong("evidence: --rows-out is of rows left out, and --no-rows leaves none out");
    if (files > 1 && strcmp(operand[0], "-") == 0)
        return say_wrong("evidence: DATA is read once for each FILE; give a file and not a pipe");
    if (!c->rows) return DONE;
    return output_check(c->rows, operand[0]);
}

static int run(const verb *self, int argc, char **argv)
{
    evidence_call c = {0};
    const char *operand[FILES + 1];
    const option options[] = {
        OPTION_FORMAT(&c.data.format),
        OPTION_ROWS(&c.data.rows),
        OPTIONS_DIALECT(&c.data),
        OPTION_LABELS(&c.data.labels),
        {"samples", 0, OPT_I64, &c.plan.samples, "N", 100, 0x1p30, NULL,
         "draws of theta (default 4000)"},
        {"wider", 0, OPT_F64, &c.plan.wider, "X", 1e-3, 1e3, NULL,
         "standard deviations of the draws over those of the posterior (default 1; 1.2 with --nu=5 "
         "where that is better)"},
        {"nu", 0, OPT_I64, &c.plan.nu, "N", 1, 1000, NULL,
         "draws of Student's t of so many degrees of freedom (default: of the posterior)"},
        {"no-rows", 0, OPT_FLAG, &c.plan.no_rows, NULL, 0, 0, NULL,
         "the evidence alone: rows are not left out"},
        {"rows-out", 0, OPT_TEXT, &c.rows, "FILE", 0, 0, NULL,
         "csv: of each row its log density when it is left out, and its k"},
        OPTION_SEED(&c.plan.seed),
        OPTION_THREADS(&c.threads),
        OPTION_JSON(&c.json),
        OPTION_QUIET(&c.quiet)};
    const call_shape shape = {options, COUNT(options), operand, 2, FILES + 1, NULL, NULL, NULL};
    int status, given;
    if (!options_parse(self, &shape, argc, argv, &given, &status) || given < 2) return status;
    c.data.file = operand[0];
    status = check(&c, operand, given - 1);
    if (status != DONE) return status;
    answer *all = calloc((size_t)given, sizeof *all);
    if (!all) return say_failed("evidence: no memory for %d answers", given);
    progress_open(c.quiet);
    fab_set_progress(progress_tick, NULL);
    status = run_evidence(&c, operand + 1, given - 1, all);
    for (int i = 0; i < given; i++) fab_importance_free(all[i].e);
    free(all);
    return status;
}

const verb verb_evidence = {"evidence", "DATA FILE [FILE..]",
                            "how likely DATA are under each model, and rows left out", run};
