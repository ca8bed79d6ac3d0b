/* fit.c - `fabayes fit`: a linear model, or a network, of one column of DATA.
 *
 * SPDX-License-Identifier: MIT */
#include "choice.h"
#include "print/coefficients.h"
#include "print/learned.h"
#include "print/process.h"
#include "print/svm.h"

/* Options that need one another. */
static int check_call(const choice *c)
{
    const fab_method *m = fab_regression_method(c->r);
    const int layers = fab_regression_recipe(c->r).layers != NULL;
    const char *given = c->plan.checkpoint ? "checkpoint" : "resume";
    if (c->plan.scale_rows && (!fab_method_streams(m) || layers))
        return say_wrong("fit: %s takes its units from all rows: --scale-rows is for streams",
                         fab_method_name(m));
    if (!c->plan.checkpoint && !c->plan.resume) return DONE;
    if (fab_method_streams(m) && layers)
        return say_wrong("fit: %s of a network has nothing to --%s; `update` goes on with its file",
                         fab_method_name(m), given);
    if (!fab_method_streams(m) && !fab_regression_is_network(c->r))
        return say_wrong("fit: %s is a batch method: there is nothing to --%s", fab_method_name(m),
                         given);
    return DONE;
}

/* What a person wants to see. */
static int say_fit(choice *c)
{
    coefficients all = {0};
    int status = learned_print(c->r, c->quiet, c->start);
    if (status != DONE || c->quiet) return status;
    if (fab_regression_is_process(c->r)) {
        status = process_print(c->r);
    } else if (!fab_regression_is_network(c->r)) {
        status =
            coefficients_of(&all, c->data.file, c->r, coefficients_reference(c->plan.reference, 0));
        if (status == DONE) coefficients_print(&all);
        coefficients_close(&all);
    }
    if (status == DONE) next_print(c->plan.output);
    return status;
}

static int fit(choice *c, int64_t json)
{
    if (fab_svm_is_model(c->plan.model)) return svm_fit(c, json);
    int status = choice_put(c);
    if (status == DONE) status = check_call(c);
    if (status == DONE && c->plan.reference && (json || fab_regression_is_network(c->r)))
        status = json ? say_wrong("fit: --json has no coefficients; `info --json --reference` has")
                      : say_wrong("fit: --reference is for the coefficients of a linear model");
    if (status == DONE) status = choice_say(c, fab_regression_run(c->r));
    if (status != DONE) return status;
    return json ? learned_json(c->r, c->plan.output, c->start) : say_fit(c);
}

static int run(const verb *self, int argc, char **argv)
{
    choice c = {.verb = "fit", .start = fab_clock()};
    int64_t json = 0;
    // clang-format off
    const option options[] = {
        CHOICE_OPTIONS(&c),
        OPTION_OUTPUT(&c.plan.output, "save the posterior, the model and the scaling"),
        {"prior", 0, OPT_TEXT, &c.plan.prior, "FILE", 0, 0, NULL, "a Gaussian over the coefficients; of an earlier fit: its posterior, in its units"},
        {"scale-rows", 0, OPT_I64, &c.plan.scale_rows, "N", 1, 0x1p40, NULL, "rows that the units of a stream come from (default 1000)"},
        {"units", 0, OPT_TEXT, &c.units, "FILE", 0, 0, NULL, "the units and words of an earlier fit instead of those of the rows, for shards that will be merged"},
        {"checkpoint", 0, OPT_I64, &c.plan.checkpoint, "N", 1, 0x1p53, NULL, "save to the output every N rows, or epochs of a network"},
        {"resume", 0, OPT_FLAG, &c.plan.resume, NULL, 0, 0, NULL, "go on from the output, to the same bytes"},
        {"effort", 0, OPT_TEXT, &c.plan.effort, "E", 0, 0, ((const char *const[]){"quick", "default", "thorough", NULL}), "of --model mlp or auto: quick, default or thorough"},
        {"calibrate", 0, OPT_TEXT, &c.plan.calibrate, "WAY", 0, 0, ((const char *const[]){"temperature", "conformal", NULL}), "leave out a fifth of the rows: temperature, for classes, or conformal, for intervals and sets with a guarantee"},
        {"reference", 0, OPT_TEXT, &c.plan.reference, "COLUMN=LEVEL", 0, 0, NULL, "show levels as differences to this one; several, separated by commas; none: as they are (default: the first level of each column)"},
        OPTION_DTYPE(&c.dtype, "element type of F and of the work (default f64)"),
        OPTION_JSON(&json),
    };
    // clang-format on
    const call_shape shape = {options, COUNT(options),  &c.data.file, 1,
                              1,       choice_settings, &c,           NULL};
    int status;
    if (options_parse(self, &shape, argc, argv, NULL, &status)) status = fit(&c, json);
    choice_close(&c);
    return status;
}

const verb verb_fit = {"fit", "DATA -y TARGET | -f 'TARGET ~ TERMS' [-m METHOD]",
                       "a model of one column of DATA: linear or a network", run};
