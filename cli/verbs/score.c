/* score.c - `fabayes score`: how good the predictions of FILE for DATA are, in the user's units.
 *
 * SPDX-License-Identifier: MIT */
#include "predicting.h"
#include "print/clusters.h"
#include "print/learned.h"
#include "print/score_lines.h"
#include "print/svm.h"
#include <inttypes.h>

/* Shares of the most uncertain rows that are left to a person. */
static const double shares[] = {0.1, 0.2, 0.5};

typedef struct answer {
    score_line line[SCORE_LINES];
    int n;
    fab_calibration calibration;
    const char *error; /* of `selective`: what it is; NULL: not asked for */
    double selective[COUNT(shares)];
} answer;

static int collect(answer *a, fab_regression *r, const fab_predictions *p, int64_t selective)
{
    fab_glm m;
    fab_status s = fab_regression_model(r, &m);
    if (s != FAB_OK) return say_status(s);
    a->calibration = fab_regression_calibration(r);
    a->n = score_lines(&m, &a->calibration, p, a->line);
    if (!selective) return DONE;
    a->error = p->classes ? "error" : "rmse";
    for (int i = 0; i < COUNT(shares) && s == FAB_OK; i++)
        s = fab_predictions_selective(p, shares[i], &a->selective[i]);
    return s == FAB_OK ? DONE : say_status(s);
}

static void print(const answer *a, const fab_predictions *p)
{
    printf("%-12s %" PRId64 "\n", "rows", p->scores.n);
    for (int i = 0; i < a->n; i++)
        if (is_finite(a->line[i].value))
            printf("%-12s %.6g\n", a->line[i].name, a->line[i].value);
        else /* the area under a curve, where a class has no rows */
            printf("%-12s not defined for these rows\n", a->line[i].name);
    if (a->error)
        for (int i = 0; i < COUNT(shares); i++)
            printf("%-12s %.6g when the most uncertain %g %% of the rows are left to a person\n",
                   a->error, a->selective[i], 100 * shares[i]);
    if (a->calibration.way)
        printf("calibrated: %s, by %" PRId64 " rows left out of the fit\n", a->calibration.way,
               a->calibration.rows);
    if (p->dropped) printf("%" PRId64 " rows were left out: a value is missing\n", p->dropped);
}

static int say_json(const answer *a, const fab_predictions *p)
{
    json_t *j = json_object(), *all = json_array();
    json_put(j, "n", json_integer(p->scores.n));
    for (int i = 0; i < a->n; i++) json_put(j, a->line[i].name, json_number(a->line[i].value));
    if (a->error) {
        for (int i = 0; i < COUNT(shares); i++) {
            json_t *one = json_object();
            json_put(one, "left", json_number(shares[i]));
            json_put(one, a->error, json_number(a->selective[i]));
            json_array_append_new(all, one);
        }
        json_put(j, "selective", all);
    } else {
        json_decref(all);
    }
    if (a->calibration.way) json_put(j, "calibration", calibration_json(&a->calibration));
    if (p->dropped) json_put(j, "missing", json_integer(p->dropped));
    return json_say(j);
}

static int run(const verb *self, int argc, char **argv)
{
    data_options d = {0};
    const char *operand[2];
    int64_t json = 0, quiet = 0, selective = 0;
    fab_predict_plan how = {.with_target = 1};
    const option options[] = {OPTION_FORMAT(&d.format),
                              OPTION_ROWS(&d.rows),
                              OPTIONS_COLUMNS(&d.only, &d.exclude),
                              OPTIONS_DIALECT(&d),
                              OPTION_LABELS(&d.labels),
                              OPTION_SAMPLES(&how.samples),
                              OPTION_LINEARISED(&how.linearised),
                              OPTION_SEED(&how.seed),
                              {"selective", 0, OPT_FLAG, &selective, NULL, 0, 0, NULL,
                               "the error too when the most uncertain rows are left to a person"},
                              OPTION_JSON(&json),
                              OPTION_QUIET(&quiet)};
    const call_shape shape = {options, COUNT(options), operand, 2, 2, NULL, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, NULL, &status)) return status;
    d.file = operand[1];
    if (is_of_clusters(operand[0])) {
        if (selective || how.samples || how.linearised)
            return say_wrong(
                "score: %s has clusters: --selective, --samples and --linearised are for models",
                operand[0]);
        return clusters_score(operand[0], &d, json, quiet);
    }
    if (d.only || d.exclude)
        return say_wrong("score: --only and --exclude are for clusters: a model knows its columns");
    if (is_svm(operand[0])) {
        if (selective || how.samples || how.linearised || how.seed)
            return say_wrong(
                "score: %s is a support vector machine: --selective, --samples, --seed and "
                "--linearised are for models with a likelihood",
                operand[0]);
        return svm_score(operand[0], &d, json, quiet);
    }
    fab_regression *r = NULL;
    fab_predictions *p = NULL;
    answer a = {0};
    status = predicting(&r, &p, operand[0], &d, &how, quiet);
    if (status == DONE) status = collect(&a, r, p, selective);
    if (status == DONE && json) status = say_json(&a, p);
    if (status == DONE && !json) print(&a, p);
    fab_predictions_free(p);
    fab_regression_free(r);
    return status;
}

const verb verb_score = {"score", "FILE DATA", "how good the predictions of DATA are", run};
