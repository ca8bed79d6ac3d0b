/* score.c - `fabayes score`: how good the predictions of FILE for DATA are, in the user's units.
 *
 * SPDX-License-Identifier: MIT */
#include "linear.h"
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
    const int kind = (int)m->likelihood;
    const line *from = kind == FAB_GAUSSIAN ? real : kind == FAB_BERNOULLI ? classes : counts;
    const int n = kind == FAB_GAUSSIAN    ? COUNT(real)
                  : kind == FAB_BERNOULLI ? COUNT(classes)
                                          : COUNT(counts);
    for (int i = 0; i < n; i++) l[i] = from[i];
    return n;
}

static int say(const fab_glm *m, const fab_scores *s, int64_t json)
{
    line l[8];
    const int n = lines_of(m, s, l);
    if (!json) {
        printf("%-12s %" PRId64 "\n", "rows", s->n);
        for (int i = 0; i < n; i++) printf("%-12s %.6g\n", l[i].name, l[i].value);
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
    int64_t json = 0;
    const option options[] = {OPTION_FORMAT(&d.format), OPTION_ROWS(&d.rows), OPTION_JSON(&json)};
    const call_shape shape = {options, COUNT(options), operand, 2, 2, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, NULL, &status)) return status;
    d.file = operand[1];
    fab_posterior *p = NULL;
    linear l = {0};
    outlook o = {0};
    fab_scores s;
    status = outlook_of(operand[0], &d, 1, &p, &l, &o);
    if (status == DONE) {
        const fab_status scored = fab_score(&o.model, o.data->n, o.eta, o.variance, o.data->y, &s);
        status = scored == FAB_OK ? say(&o.model, &s, json) : say_status_of(d.file, scored);
    }
    outlook_close(&o);
    linear_close(&l);
    fab_posterior_free(p);
    return status;
}

const verb verb_score = {"score", "FILE DATA", "how good the predictions of DATA are", run};
