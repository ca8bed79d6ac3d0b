/* predict.c - `fabayes predict`: one line for each row of DATA, in the user's units.
 *
 * SPDX-License-Identifier: MIT */
#include "print/csv.h"
#include "predicting.h"

static void print_classes(FILE *f, const fab_scaling *k)
{
    char buf[32], name[256];
    for (int64_t c = 0; c < k->levels; c++) {
        snprintf(name, sizeof name, "p_%s", fab_scaling_class(k, c, buf));
        csv_name(f, name);
        fputc(c + 1 < k->levels ? ',' : '\n', f);
    }
}

static void print(FILE *f, const fab_predictions *p, const fab_scaling *k)
{
    if (p->classes)
        print_classes(f, k);
    else
        fprintf(f, "mean,sd,lower,upper\n");
    for (int64_t i = 0; i < p->n && !ferror(f); i++) {
        if (!p->classes) {
            const fab_prediction *y = &p->p[i];
            fprintf(f, "%.17g,%.17g,%.17g,%.17g\n", y->mean, y->sd, y->lower, y->upper);
        }
        for (int64_t c = 0; c < p->classes; c++)
            fprintf(f, "%.17g%c", fab_predictions_probability(p, i, c),
                    c + 1 < p->classes ? ',' : '\n');
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

static int report(const char *file, const char *output, int64_t n)
{
    json_t *j = json_object();
    json_put(j, "file", json_text(file));
    json_put(j, "output", json_text(output));
    json_put(j, "n", json_integer(n));
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
        OPTION_SAMPLES(&how.samples),
        OPTION_LINEARISED(&how.linearised),
        OPTION_SEED(&how.seed),
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
    if (status == DONE && json) status = report(operand[0], output, p->n);
    fab_predictions_free(p);
    fab_regression_free(r);
    return status;
}

const verb verb_predict = {"predict", "FILE DATA [-o OUT.csv]",
                           "mean, sd, 90 % interval or class probabilities of each row", run};
