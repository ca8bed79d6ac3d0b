/* predict.c - `fabayes predict`: one line for each row of DATA, in the user's units.
 *
 * SPDX-License-Identifier: MIT */
#include "print/csv.h"
#include "outlook.h"
#include <math.h>

static void print_classes(FILE *f, const fab_scaling *k)
{
    char buf[32], name[256];
    for (int64_t c = 0; c < k->levels; c++) {
        snprintf(name, sizeof name, "p_%s", fab_scaling_class(k, c, buf));
        csv_name(f, name);
        fputc(c + 1 < k->levels ? ',' : '\n', f);
    }
}

static void print_class_rows(FILE *f, const outlook *o)
{
    const int64_t C = o->model.classes;
    print_classes(f, o->scaling);
    for (int64_t i = 0; i < o->n && !ferror(f); i++)
        for (int64_t c = 0; c < C; c++)
            fprintf(f, "%.17g%c", exp(o->logp[i * C + c]), c + 1 < C ? ',' : '\n');
}

static void print_rows(FILE *f, const outlook *o)
{
    const int two = o->model.likelihood == FAB_LIKELIHOOD_BERNOULLI;
    if (two)
        print_classes(f, o->scaling);
    else
        fprintf(f, "mean,sd,lower,upper\n");
    for (int64_t i = 0; i < o->n && !ferror(f); i++) {
        fab_prediction p;
        if (o->p)
            p = o->p[i];
        else
            fab_predict_y(&o->model, o->eta[i], o->variance[i], &p);
        if (two)
            fprintf(f, "%.17g,%.17g\n", 1 - p.mean, p.mean);
        else
            fprintf(f, "%.17g,%.17g,%.17g,%.17g\n", p.mean, p.sd, p.lower, p.upper);
    }
}

static void print(FILE *f, const outlook *o)
{
    if (o->logp)
        print_class_rows(f, o);
    else
        print_rows(f, o);
}

static int write_rows(const char *path, const outlook *o)
{
    csv c;
    if (!path) {
        print(stdout, o);
        return output_flush();
    }
    if (csv_open(&c, path) != DONE) return FAILED;
    print(c.f, o);
    return csv_close(&c, DONE);
}

static int report(const char *file, const char *output, const outlook *o)
{
    json_t *j = json_object();
    json_put(j, "file", json_text(file));
    json_put(j, "output", json_text(output));
    json_put(j, "n", json_integer(o->n));
    return json_say(j);
}

static int run(const verb *self, int argc, char **argv)
{
    data_options d = {0};
    int64_t json = 0, quiet = 0;
    outlook_options how = {0};
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
    outlook o;
    progress_open(quiet);
    fab_set_progress(progress_tick, NULL);
    status = outlook_open(&o, operand[0], &d, &how);
    progress_close();
    if (status == DONE) status = write_rows(output, &o);
    if (status == DONE && json) status = report(operand[0], output, &o);
    outlook_close(&o);
    return status;
}

const verb verb_predict = {"predict", "FILE DATA [-o OUT.csv]",
                           "mean, sd, 90 % interval or class probabilities of each row", run};
