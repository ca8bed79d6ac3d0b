/* predict.c - `fabayes predict`: one line for each row of DATA, in the user's units.
 *
 * SPDX-License-Identifier: MIT */
#include "print/clusters.h"
#include "print/csv.h"
#include "print/kept.h"
#include "print/svm.h"
#include "predicting.h"
#include <inttypes.h>
#include <string.h>

/* How it is printed, and what goes with it. */
typedef struct layout {
    const fab_scaling *k;
    int counts;   /* the target has counts */
    int64_t full; /* all digits */
    kept *kept;
    const char *data;
} layout;

static void print_classes(FILE *f, const fab_scaling *k)
{
    char buf[32], name[256];
    for (int64_t c = 0; c < k->levels; c++) {
        snprintf(name, sizeof name, "p_%s", fab_scaling_class(k, c, buf));
        csv_name(f, name);
        if (c + 1 < k->levels) fputc(',', f);
    }
}

/* The classes of row i that are in its set, as one cell: "oak|elm". */
static void print_set(FILE *f, const fab_predictions *p, int64_t i, const fab_scaling *k)
{
    char buf[32];
    const char *between = "";
    fputs(",\"", f);
    for (int64_t c = 0; c < p->classes; c++) {
        if (!p->set[i * p->classes + c]) continue;
        fputs(between, f);
        for (const char *s = fab_scaling_class(k, c, buf); *s; s++) {
            if (*s == '"') fputc('"', f);
            fputc(*s, f);
        }
        between = "|";
    }
    fputc('"', f);
}

/* Mean, sd and bounds to the third digit of the sd, unless all are asked for; bounds of counts are whole. */
static void print_numbers(FILE *f, const fab_prediction *y, const layout *l)
{
    char mean[40], sd[40], lower[40], upper[40];
    const int places = decimals_of(y->sd, 3);
    if (l->full) {
        fprintf(f, "%.17g,%.17g,%.17g,%.17g", y->mean, y->sd, y->lower, y->upper);
        return;
    }
    fprintf(f, "%s,%s,%s,%s", number_text(y->mean, places, mean, sizeof mean),
            number_text(y->sd, places, sd, sizeof sd),
            number_text(y->lower, l->counts ? 0 : places, lower, sizeof lower),
            number_text(y->upper, l->counts ? 0 : places, upper, sizeof upper));
}

/* The most probable class, then the probability of each. */
static void print_probabilities(FILE *f, const fab_predictions *p, int64_t i, const layout *l)
{
    char buf[32];
    csv_name(f, fab_scaling_class(l->k, fab_predictions_class(p, i), buf));
    for (int64_t c = 0; c < p->classes; c++)
        fprintf(f, l->full ? ",%.17g" : ",%.4g", fab_predictions_probability(p, i, c));
}

static int print(FILE *f, const fab_predictions *p, const layout *l)
{
    kept_names(l->kept, f);
    if (p->classes) {
        fprintf(f, "class,");
        print_classes(f, l->k);
    } else {
        fprintf(f, "mean,sd,lower,upper");
    }
    fprintf(f, p->set ? ",set\n" : "\n");
    for (int64_t i = 0; i < p->n && !ferror(f); i++) {
        if (kept_row(l->kept, l->data, f) != DONE) return FAILED;
        if (p->absent && p->absent[i]) {
            for (int64_t c = 0; c < (p->classes ? p->classes + 1 : 4); c++)
                fputs(c ? ",NA" : "NA", f);
            fputs(p->set ? ",NA\n" : "\n", f);
            continue;
        }
        if (p->classes)
            print_probabilities(f, p, i, l);
        else
            print_numbers(f, &p->p[i], l);
        if (p->set) print_set(f, p, i, l->k);
        fputc('\n', f);
    }
    return DONE;
}

static int write_rows(const char *path, const fab_predictions *p, const layout *l)
{
    csv c;
    if (!path) {
        const int status = print(stdout, p, l);
        return status == DONE ? output_flush() : status;
    }
    if (csv_open(&c, path) != DONE) return FAILED;
    return csv_close(&c, print(c.f, p, l));
}

/* The layout for a file that is open; DATA may be opened a second time.  Then the rows. */
static int say_rows(const char *output, fab_regression *r, const fab_predictions *p,
                    const data_options *d, layout *l)
{
    fab_glm m;
    const fab_status s = fab_regression_model(r, &m);
    if (s != FAB_OK) return say_status(s);
    l->k = fab_regression_scaling(r);
    l->counts = fab_likelihood_target(m.likelihood) == FAB_TARGET_COUNTS;
    l->data = d->file;
    return write_rows(output, p, l);
}

/* What a reader of the lines must know. */
static void say_notes(const fab_predictions *p)
{
    if (p->absents)
        fprintf(stderr,
                "fabayes: %" PRId64 " of %" PRId64
                " rows are NA: a value is missing, and the fit was not made with --missing mean\n",
                p->absents, p->n);
    if (p->unseen)
        fprintf(
            stderr,
            "fabayes: %" PRId64
            " words were not met by the fit: their effects are taken as 0, and the uncertainty of "
            "these effects is not in sd and intervals\n",
            p->unseen);
    if (p->clipped)
        fprintf(stderr,
                "fabayes: the variance of the function at %" PRId64
                " rows is 0: rounding put it below\n",
                p->clipped);
    if (p->same_sd)
        fprintf(stderr, "fabayes: sd is by how much rows left out of the fit are missed, the same "
                        "for every row: the file has a mean alone\n");
}

static int report(const char *file, const char *output, const fab_predictions *p)
{
    json_t *j = json_object();
    json_put(j, "file", json_text(file));
    json_put(j, "output", json_text(output));
    json_put(j, "n", json_integer(p->n));
    if (p->absents) json_put(j, "missing", json_integer(p->absents));
    if (p->unseen) json_put(j, "unseen", json_integer(p->unseen));
    if (p->clipped) json_put(j, "clipped", json_integer(p->clipped));
    if (p->same_sd) json_put(j, "same_sd", json_true());
    return json_say(j);
}

static int run(const verb *self, int argc, char **argv)
{
    data_options d = {0};
    int64_t json = 0, quiet = 0;
    fab_predict_plan how = {0};
    const char *operand[2], *output = NULL, *keep = NULL;
    int64_t all = 0;
    kept columns = {0};
    layout l = {.kept = &columns};
    const option options[] = {
        OPTION_OUTPUT(&output, "write a csv file (default: standard output)"),
        {"keep", 0, OPT_TEXT, &keep, "COLUMNS", 0, 0, NULL,
         "columns of DATA to write in front, separated by commas"},
        {"all", 0, OPT_FLAG, &all, NULL, 0, 0, NULL, "all columns of DATA in front"},
        {"level", 0, OPT_F64, &how.level, "P", 1e-6, 1 - 1e-6, NULL,
         "probability of the intervals (default 0.9)"},
        {"full", 0, OPT_FLAG, &l.full, NULL, 0, 0, NULL,
         "all digits (default: to the third digit of the sd; 4 of a probability)"},
        OPTION_FORMAT(&d.format),
        OPTION_ROWS(&d.rows),
        OPTIONS_COLUMNS(&d.only, &d.exclude),
        OPTIONS_DIALECT(&d),
        OPTION_SAMPLES(&how.samples),
        OPTION_LINEARISED(&how.linearised),
        OPTION_SEED(&how.seed),
        OPTION_UNSEEN(&how.unseen),
        OPTION_JSON(&json),
        OPTION_QUIET(&quiet),
    };
    const call_shape shape = {options, COUNT(options), operand, 2, 2, NULL, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, NULL, &status)) return status;
    d.file = operand[1];
    if (json && !output)
        return say_wrong(
            "predict: --json needs -o FILE; standard output would hold the predictions");
    if ((keep || all) && strcmp(d.file, "-") == 0)
        return say_wrong("predict: --%s reads DATA twice, and standard input is read once",
                         keep ? "keep" : "all");
    if (keep && all) return say_wrong("predict: --all keeps every column, and --keep names some");
    if (output && (status = output_check(output, d.file)) != DONE) return status;
    if (output && (status = output_check(output, operand[0])) != DONE) return status;
    if (is_of_clusters(operand[0])) {
        if (keep || all || how.level > 0 || how.samples || how.linearised)
            return say_wrong("predict: %s has clusters: --keep, --all, --level, --samples and "
                             "--linearised are for models",
                             operand[0]);
        return clusters_predict(operand[0], &d, output, l.full != 0, json, quiet);
    }
    if (d.only || d.exclude)
        return say_wrong(
            "predict: --only and --exclude are for clusters: a model knows its columns");
    if (is_svm(operand[0])) {
        if (keep || all || how.level > 0 || how.samples || how.linearised || how.seed)
            return say_wrong("predict: %s is a support vector machine: --keep, --all, --level, "
                             "--samples, --seed and --linearised are for models with a likelihood",
                             operand[0]);
        return svm_predict(operand[0], &d, output, l.full != 0, how.unseen != 0, json, quiet);
    }
    fab_regression *r = NULL;
    fab_predictions *p = NULL;
    status = predicting(&r, &p, operand[0], &d, &how, quiet);
    if (status == DONE && (keep || all))
        status = kept_open(&columns, &d, &fab_regression_scaling(r)->dialect, keep);
    if (status == DONE) status = say_rows(output, r, p, &d, &l);
    kept_close(&columns);
    if (status == DONE && !quiet) say_notes(p);
    if (status == DONE && json) status = report(operand[0], output, p);
    fab_predictions_free(p);
    fab_regression_free(r);
    return status;
}

const verb verb_predict = {"predict", "FILE DATA [-o OUT.csv]",
                           "mean, sd, 90 % interval or class probabilities of each row", run};
