/* predict.c - `fabayes predict`: one line for each row of DATA, in the user's units.
 *
 * SPDX-License-Identifier: MIT */
#include "csv.h"
#include "linear.h"

static void print_head(FILE *f, const linear *l)
{
    if (l->model.likelihood == FAB_BERNOULLI)
        fprintf(f, "p_%.15g,p_%.15g\n", l->scaling->level[0], l->scaling->level[1]);
    else
        fprintf(f, "mean,sd,lower,upper\n");
}

static void print_rows(FILE *f, const linear *l, const outlook *o)
{
    print_head(f, l);
    for (int64_t i = 0; i < o->data->n && !ferror(f); i++) {
        fab_prediction p;
        fab_predict_y(&o->model, o->eta[i], o->variance[i], &p);
        if (l->model.likelihood == FAB_BERNOULLI)
            fprintf(f, "%.17g,%.17g\n", 1 - p.mean, p.mean);
        else
            fprintf(f, "%.17g,%.17g,%.17g,%.17g\n", p.mean, p.sd, p.lower, p.upper);
    }
}

static int write_rows(const char *path, const linear *l, const outlook *o)
{
    csv c;
    if (!path) {
        print_rows(stdout, l, o);
        return output_flush();
    }
    if (csv_open(&c, path) != DONE) return FAILED;
    print_rows(c.f, l, o);
    return csv_close(&c, DONE);
}

static int report(const char *file, const char *output, const outlook *o)
{
    json_t *j = json_object();
    json_put(j, "file", json_text(file));
    json_put(j, "output", json_text(output));
    json_put(j, "n", json_integer(o->data->n));
    return json_say(j);
}

static int run(const verb *self, int argc, char **argv)
{
    data_options d = {0};
    int64_t json = 0;
    const char *operand[2], *output = NULL;
    const option options[] = {
        OPTION_OUTPUT(&output, "write a csv file (default: standard output)"),
        OPTION_FORMAT(&d.format),
        OPTION_ROWS(&d.rows),
        OPTION_JSON(&json),
    };
    const call_shape shape = {options, COUNT(options), operand, 2, 2, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, NULL, &status)) return status;
    d.file = operand[1];
    if (json && !output)
        return say_wrong(
            "predict: --json needs -o FILE; standard output would hold the predictions");
    if (output && (status = output_check(output, d.file)) != DONE) return status;
    if (output && (status = output_check(output, operand[0])) != DONE) return status;
    fab_posterior *p = NULL;
    linear l = {0};
    outlook o = {0};
    status = outlook_of(operand[0], &d, 0, &p, &l, &o);
    if (status == DONE) status = write_rows(output, &l, &o);
    if (status == DONE && json) status = report(operand[0], output, &o);
    outlook_close(&o);
    linear_close(&l);
    fab_posterior_free(p);
    return status;
}

const verb verb_predict = {"predict", "FILE DATA [-o OUT.csv]",
                           "mean, sd, 90 % interval or class probabilities of each row", run};
