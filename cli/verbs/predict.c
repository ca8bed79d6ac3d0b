/* predict.c - `fabayes predict`: one line for each row of DATA, in the user's units.
 *
 * SPDX-License-Identifier: MIT */
#include "print/csv.h"
#include "predicting.h"
#include <inttypes.h>

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

static void print(FILE *f, const fab_predictions *p, const fab_scaling *k)
{
    if (p->classes)
        print_classes(f, k);
    else
        fprintf(f, "mean,sd,lower,upper");
    fprintf(f, p->set ? ",set\n" : "\n");
    for (int64_t i = 0; i < p->n && !ferror(f); i++) {
        if (p->absent && p->absent[i]) {
            for (int64_t c = 0; c < (p->classes ? p->classes : 4); c++) fputs(c ? ",NA" : "NA", f);
            fputs(p->set ? ",NA\n" : "\n", f);
            continue;
        }
        if (!p->classes) {
            const fab_prediction *y = &p->p[i];
            fprintf(f, "%.17g,%.17g,%.17g,%.17g", y->mean, y->sd, y->lower, y->upper);
        }
        for (int64_t c = 0; c < p->classes; c++)
            fprintf(f, "%s%.17g", c ? "," : "", fab_predictions_probability(p, i, c));
        if (p->set) print_set(f, p, i, k);
        fputc('\n', f);
    }
}

static int write_rows(const char *path, const fab_predictions *p, const fab_scaling *k)
{
    csv c;
    if (!path) {
        print(stdout, p, k);
        return output_flush();
    }
    if (csv_open(&c, path) != DONE) return FAILED;
    print(c.f, p, k);
    return csv_close(&c, DONE);
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
}

static int report(const char *file, const char *output, const fab_predictions *p)
{
    json_t *j = json_object();
    json_put(j, "file", json_text(file));
    json_put(j, "output", json_text(output));
    json_put(j, "n", json_integer(p->n));
    if (p->absents) json_put(j, "missing", json_integer(p->absents));
    if (p->unseen) json_put(j, "unseen", json_integer(p->unseen));
    return json_say(j);
}

static int run(const verb *self, int argc, char **argv)
{
    data_options d = {0};
    int64_t json = 0, quiet = 0;
    fab_predict_plan how = {0};
    const char *operand[2], *output = NULL;
    const option options[] = {
        OPTION_OUTPUT(&output, "write a csv file (default: standard output)"),
        OPTION_FORMAT(&d.format),
        OPTION_ROWS(&d.rows),
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
    if (output && (status = output_check(output, d.file)) != DONE) return status;
    if (output && (status = output_check(output, operand[0])) != DONE) return status;
    fab_regression *r = NULL;
    fab_predictions *p = NULL;
    status = predicting(&r, &p, operand[0], &d, &how, quiet);
    if (status == DONE) status = write_rows(output, p, fab_regression_scaling(r));
    if (status == DONE && !quiet) say_notes(p);
    if (status == DONE && json) status = report(operand[0], output, p);
    fab_predictions_free(p);
    fab_regression_free(r);
    return status;
}

const verb verb_predict = {"predict", "FILE DATA [-o OUT.csv]",
                           "mean, sd, 90 % interval or class probabilities of each row", run};
