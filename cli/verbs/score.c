/* score.c - `fabayes score`: how good the predictions of FILE for DATA are, in the user's units.
 *
 * SPDX-License-Identifier: MIT */
#include "predicting.h"
#include <inttypes.h>

typedef struct line {
    const char *name;
    double value;
} line;

/* The scores of the likelihood, in order; how many. */
static int lines_of(const fab_glm *m, const fab_scores *s, line *l)
{
    const line real[] = {{"nll", s->nll},
                         {"rmse", s->rmse},
                         {"mae", s->mae},
                         {"crps", s->crps},
                         {"coverage50", s->coverage50},
                         {"coverage90", s->coverage90},
                         {"coverage95", s->coverage95}};
    const line classes[] = {{"nll", s->nll},
                            {"accuracy", s->accuracy},
                            {"brier", s->brier},
                            {"ece", s->ece},
                            {"auc", s->auc}};
    const line counts[] = {{"nll", s->nll}, {"rmse", s->rmse}, {"dispersion", s->dispersion}};
    const struct {
        const line *line;
        int n;
    } all[] = {[FAB_LIKELIHOOD_GAUSSIAN] = {real, COUNT(real)},
               [FAB_LIKELIHOOD_BERNOULLI] = {classes, COUNT(classes)},
               [FAB_LIKELIHOOD_POISSON] = {counts, COUNT(counts)},
               [FAB_LIKELIHOOD_CATEGORICAL] = {classes, COUNT(classes)}};
    const line *from = all[m->likelihood].line;
    const int n = all[m->likelihood].n;
    for (int i = 0; i < n; i++) l[i] = from[i];
    return n;
}

static int say(const fab_glm *m, const fab_scores *s, int64_t dropped, int64_t json)
{
    line l[8];
    const int n = lines_of(m, s, l);
    if (!json) {
        printf("%-12s %" PRId64 "\n", "rows", s->n);
        for (int i = 0; i < n; i++) printf("%-12s %.6g\n", l[i].name, l[i].value);
        if (dropped) printf("%" PRId64 " rows were left out: their target is missing\n", dropped);
        return DONE;
    }
    json_t *j = json_object();
    json_put(j, "n", json_integer(s->n));
    for (int i = 0; i < n; i++) json_put(j, l[i].name, json_number(l[i].value));
    return json_say(j);
}

static int run(const verb *self, int argc, char **argv)
{
    data_options d = {0};
    const char *operand[2];
    int64_t json = 0, quiet = 0;
    fab_predict_plan how = {.with_target = 1};
    const option options[] = {OPTION_FORMAT(&d.format),
                              OPTION_ROWS(&d.rows),
                              OPTION_LABELS(&d.labels),
                              OPTION_SAMPLES(&how.samples),
                              OPTION_LINEARISED(&how.linearised),
                              OPTION_SEED(&how.seed),
                              OPTION_JSON(&json),
                              OPTION_QUIET(&quiet)};
    const call_shape shape = {options, COUNT(options), operand, 2, 2, NULL, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, NULL, &status)) return status;
    d.file = operand[1];
    fab_regression *r = NULL;
    fab_predictions *p = NULL;
    fab_glm m;
    status = predicting(&r, &p, operand[0], &d, &how, quiet);
    if (status == DONE) {
        const fab_status s = fab_regression_model(r, &m);
        status = s == FAB_OK ? say(&m, &p->scores, p->dropped, json) : say_status(s);
    }
    fab_predictions_free(p);
    fab_regression_free(r);
    return status;
}

const verb verb_score = {"score", "FILE DATA", "how good the predictions of DATA are", run};
