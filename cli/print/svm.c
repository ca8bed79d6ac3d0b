/* svm.c - what is said of a support vector machine, and of rows by it.
 *
 * SPDX-License-Identifier: MIT */
#include "print/svm.h"
#include "print/csv.h"
#include "print/coefficients.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int is_svm(const char *file)
{
    fab_tensors *t = NULL;
    const int svm = strcmp(file, "-") != 0 && fab_tensors_read(&t, file) == FAB_OK &&
                    fab_svm_is_file(t);
    fab_tensors_free(t);
    return svm;
}

static int failed(fab_status s)
{
    if (s == FAB_MISSING_VALUE)
        return say_failed("%s; --missing drop leaves the row out, --missing mean fills it",
                          fab_detail());
    return say_status(s);
}

/* ---- what was found --------------------------------------------------------------------------------- */

static const char *kind_of(const fab_svm_report *r)
{
    if (r->classes == 0) return "regression within epsilon";
    return r->classes == 2 ? "two classes" : "one against one";
}

static int put_machine(json_t *j, const fab_svm_table *t)
{
    fab_svm_report r;
    char *text;
    const fab_svm *m = fab_svm_table_machine(t);
    fab_svm_report_of(m, &r);
    if (fab_kernel_describe(fab_svm_kernel(m), &text) != FAB_OK) return FAILED;
    json_put(j, "method", json_text("svm"));
    json_put(j, "kernel", json_text(text));
    fab_text_free(text);
    if (fab_settings_json(fab_svm_fields(), fab_svm_table_settings(t), &text) == FAB_OK)
        json_put(j, "settings", json_loads(text, 0, NULL));
    fab_text_free(text);
    json_put(j, "n", json_integer(r.n));
    json_put(j, "D", json_integer(fab_svm_table_scaling(t)->D));
    json_put(j, "classes", json_integer(r.classes));
    json_put(j, "machines", json_integer(r.machines));
    json_put(j, "support", json_integer(r.support));
    json_put(j, "bounded", json_integer(r.bounded));
    json_put(j, "margin_errors", json_integer(r.margin_errors));
    json_put(j, "rho", json_number(r.rho));
    json_put(j, "dual", json_number(r.dual));
    json_put(j, "gap", json_number(r.gap));
    json_put(j, "nu_limit", json_number(r.nu_limit));
    json_put(j, "iterations", json_integer(r.iterations));
    json_put(j, "converged", json_boolean(r.converged));
    return DONE;
}

static void print_machine(const fab_svm_table *t)
{
    fab_svm_report r;
    char *text;
    const fab_svm *m = fab_svm_table_machine(t);
    const fab_svm_settings *s = fab_svm_table_settings(t);
    fab_svm_report_of(m, &r);
    if (fab_kernel_describe(fab_svm_kernel(m), &text) != FAB_OK) return;
    printf("svm, %s: %s, ", kind_of(&r), text);
    fab_text_free(text);
    if (r.classes == 2 && s->nu <= 1 && s->nu > 0)
        printf("nu = %g (at most %.6g)\n", s->nu, r.nu_limit);
    else
        printf("C = %g\n", s->C);
    printf("%-14s %" PRId64 " of %" PRId64 " rows (%.3g %%)\n", "support", r.support, r.n,
           100.0 * (double)r.support / (double)r.n);
    printf("%-14s %" PRId64 "%s\n", "margin errors", r.margin_errors,
           r.machines > 1 ? ", a row once for each machine" : "");
    if (r.machines > 1) printf("%-14s %" PRId64 "\n", "machines", r.machines);
    if (is_finite(r.rho) && r.classes == 2 && s->nu <= 1 && s->nu > 0)
        printf("%-14s %.6g\n", "rho", r.rho);
    printf("%-14s %.10g\n", "dual", r.dual);
    printf("%-14s %.3g after %" PRId64 " steps%s\n", "gap", r.gap, r.iterations,
           r.converged ? "" : ": did not come below tol; more --max_iter, or a larger --tol");
}

/* ---- fit -------------------------------------------------------------------------------------------- */

/* Options that mean nothing here. */
int svm_check(const choice *c)
{
    const fab_plan *p = &c->plan;
    const char *given = NULL;
    if (strcmp(c->verb, "fit") != 0)
        return say_wrong("%s: --model svm:KERNEL is for `fabayes fit`", c->verb);
    if (p->method) given = "-m";
    if (p->likelihood && strcmp(p->likelihood, "gaussian") != 0 &&
        strcmp(p->likelihood, "categorical") != 0)
        return say_wrong(
            "fit: %s takes classes (--likelihood categorical) and numbers (gaussian), not "
            "%s",
            p->model, p->likelihood);
    if (c->k) given = "-k";
    if (c->floor) given = "--noise-floor";
    if (p->noise) given = "--noise";
    if (p->nu != 0) given = "--nu";
    if (p->no_intercept) given = "--no-intercept";
    if (p->prior) given = "--prior";
    if (p->scale_rows) given = "--scale-rows";
    if (c->units) given = "--units";
    if (p->checkpoint) given = "--checkpoint";
    if (p->resume) given = "--resume";
    if (p->effort) given = "--effort";
    if (p->calibrate) given = "--calibrate";
    if (p->reference) given = "--reference";
    if (c->dtype) given = "--dtype";
    if (c->memory > 0) given = "--memory";
    if (!given) return DONE;
    if (strcmp(given, "--nu") == 0)
        return say_wrong("fit: nu of a machine stands in its model: --model %s:nu=0.2", p->model);
    if (strcmp(given, "--memory") == 0)
        return say_wrong("fit: the memory of a machine is --cache, of rows of its kernel");
    return say_wrong("fit: %s means nothing to %s", given, p->model);
}

int svm_fit(choice *c, int64_t json)
{
    const fab_exec exec = {.threads = c->threads};
    const char *of = c->plan.likelihood;
    const fab_svm_plan plan = {.model = c->plan.model,
                               .settings = &c->machine,
                               .no_scale = c->plan.no_scale,
                               .numbers = of && strcmp(of, "gaussian") == 0,
                               .classes = of && strcmp(of, "gaussian") != 0};
    fab_svm_table *t;
    if (c->seed) {
        const fab_status seed = fab_settings_parse(fab_svm_fields(), &c->machine, "seed", c->seed);
        if (seed != FAB_OK) return say_status(seed);
    }
    fab_status s = fab_svm_table_fit(&t, &c->rows, &plan, &exec);
    if (s == FAB_OK && c->plan.output) s = fab_svm_table_save(t, c->plan.output);
    progress_close();
    if (s != FAB_OK) {
        fab_svm_table_free(t);
        return failed(s);
    }
    int status = DONE;
    if (json) {
        json_t *j = json_object();
        status = put_machine(j, t);
        json_put(j, "seconds", json_number(fab_clock() - c->start));
        if (c->plan.output) json_put(j, "output", json_text(c->plan.output));
        status = status == DONE ? json_say(j) : say_failed("out of memory");
    } else if (!c->quiet) {
        print_machine(t);
        next_print(c->plan.output);
    }
    fab_svm_table_free(t);
    return status;
}

/* ---- a file ----------------------------------------------------------------------------------------- */

typedef struct opened {
    fab_svm_table *t;
    fab_svm_predictions *p;
} opened;

static void close_all(opened *o)
{
    fab_svm_predictions_free(o->p);
    fab_svm_table_free(o->t);
}

static int open_all(opened *o, const char *file, const data_options *d, int with_target, int unseen,
                    int64_t quiet)
{
    fab_data rows;
    const int status = data_of(&rows, d);
    if (status != DONE) return status;
    progress_open(quiet);
    fab_set_progress(progress_tick, NULL);
    fab_status s = fab_svm_table_load(&o->t, file);
    if (s == FAB_OK) s = fab_svm_table_predict(o->t, &rows, with_target, unseen, &o->p, NULL);
    progress_close();
    return s == FAB_OK ? DONE : failed(s);
}

static void print_head(FILE *f, const opened *o)
{
    const fab_scaling *k = fab_svm_table_scaling(o->t);
    char buf[32], name[256];
    if (!o->p->classes) {
        fputs("mean\n", f);
        return;
    }
    if (o->p->columns == 1) fputs("decision,class", f);
    if (o->p->columns > 1) fputs("class", f);
    for (int64_t c = 0; c < o->p->columns && o->p->columns > 1; c++) {
        snprintf(name, sizeof name, "decision_%s", fab_scaling_class(k, c, buf));
        fputc(',', f);
        csv_name(f, name);
    }
    if (o->p->probability) {
        snprintf(name, sizeof name, "p_%s", fab_scaling_class(k, 1, buf));
        fputc(',', f);
        csv_name(f, name);
    }
    fputc('\n', f);
}

static int print_rows(FILE *f, const opened *o, int full)
{
    const fab_svm_predictions *p = o->p;
    const fab_scaling *k = fab_svm_table_scaling(o->t);
    const char *number = full ? "%.17g" : "%.6g";
    char buf[32];
    print_head(f, o);
    for (int64_t i = 0; i < p->n && !ferror(f); i++) {
        const double *d = p->decision + i * p->columns;
        const int absent = p->classes ? p->chosen[i] < 0 : !is_finite(d[0]);
        if (absent) {
            const int64_t cells = !p->classes ? 1 : p->columns + 1 + (p->probability != NULL);
            for (int64_t c = 0; c < cells; c++) fputs(c ? ",NA" : "NA", f);
            fputc('\n', f);
            continue;
        }
        if (p->columns == 1) fprintf(f, number, d[0]);
        if (p->classes && p->columns == 1) fputc(',', f);
        if (p->classes) csv_name(f, fab_scaling_class(k, p->chosen[i], buf));
        for (int64_t c = 0; c < p->columns && p->columns > 1; c++) {
            fputc(',', f);
            fprintf(f, number, d[c]);
        }
        if (p->probability) fputc(',', f);
        if (p->probability) fprintf(f, full ? "%.17g" : "%.4g", p->probability[i]);
        fputc('\n', f);
    }
    return DONE;
}

static int write_rows(const opened *o, const char *path, int full)
{
    csv c;
    if (!path) {
        const int status = print_rows(stdout, o, full);
        return status == DONE ? output_flush() : status;
    }
    if (csv_open(&c, path) != DONE) return FAILED;
    return csv_close(&c, print_rows(c.f, o, full));
}

int svm_predict(const char *file, const data_options *d, const char *output, int full, int unseen,
                int64_t json, int64_t quiet)
{
    opened o = {0};
    int status = open_all(&o, file, d, 0, unseen, quiet);
    if (status == DONE) status = write_rows(&o, output, full);
    if (status == DONE && !quiet && o.p->absent)
        fprintf(stderr,
                "fabayes: %" PRId64 " of %" PRId64
                " rows are NA: a value is missing, and the fit was not made with --missing mean\n",
                o.p->absent, o.p->n);
    if (status == DONE && !quiet && o.p->unseen)
        fprintf(stderr,
                "fabayes: %" PRId64
                " words were not met by the fit: they are taken for none of their "
                "columns' words\n",
                o.p->unseen);
    if (status == DONE && json) {
        json_t *j = json_object();
        json_put(j, "file", json_text(file));
        json_put(j, "output", json_text(output));
        json_put(j, "n", json_integer(o.p->n));
        if (o.p->absent) json_put(j, "missing", json_integer(o.p->absent));
        if (o.p->unseen) json_put(j, "unseen", json_integer(o.p->unseen));
        status = json_say(j);
    }
    close_all(&o);
    return status;
}

int svm_score(const char *file, const data_options *d, int64_t json, int64_t quiet)
{
    opened o = {0};
    const int status = open_all(&o, file, d, 1, 0, quiet);
    if (status != DONE) {
        close_all(&o);
        return status;
    }
    const fab_svm_predictions *p = o.p;
    const struct {
        const char *name;
        double value;
        int mine;
    } line[] = {
        {"accuracy", p->accuracy, p->classes > 0}, {"auc", p->auc, p->classes == 2},
        {"hinge", p->hinge, p->classes == 2},      {"rmse", p->rmse, p->classes == 0},
        {"mae", p->mae, p->classes == 0},          {"r2", p->r2, p->classes == 0},
    };
    json_t *j = json_object();
    json_put(j, "n", json_integer(p->n));
    if (!json) printf("%-12s %" PRId64 "\n", "rows", p->n);
    for (int i = 0; i < COUNT(line); i++) {
        if (!line[i].mine) continue;
        json_put(j, line[i].name, json_number(line[i].value));
        if (json) continue;
        if (is_finite(line[i].value))
            printf("%-12s %.6g\n", line[i].name, line[i].value);
        else
            printf("%-12s not defined for these rows\n", line[i].name);
    }
    if (p->dropped) json_put(j, "missing", json_integer(p->dropped));
    if (p->dropped && !json)
        printf("%" PRId64 " rows were left out: a value is missing\n", p->dropped);
    close_all(&o);
    if (json) return json_say(j);
    json_decref(j);
    return DONE;
}

int svm_info(const char *file, int64_t json)
{
    fab_svm_table *t;
    const fab_status s = fab_svm_table_load(&t, file);
    if (s != FAB_OK) return say_status(s);
    int status = DONE;
    if (json) {
        json_t *j = json_object();
        char *text;
        json_put(j, "file", json_text(file));
        status = put_machine(j, t);
        if (fab_scaling_json(fab_svm_table_scaling(t), &text) == FAB_OK) {
            json_put(j, "scaling", json_loads(text, 0, NULL));
            fab_text_free(text);
        }
        status = status == DONE ? json_say(j) : say_failed("out of memory");
    } else {
        printf("%-14s %s\n", "file", one_line(file));
        print_machine(t);
        next_print(file);
    }
    fab_svm_table_free(t);
    return status;
}
