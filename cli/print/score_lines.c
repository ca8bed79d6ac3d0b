/* score_lines.c - which scores are said of predictions, in order.
 *
 * SPDX-License-Identifier: MIT */
#include "print/score_lines.h"
#include "options.h"

/* The scores of the likelihood, in order; how many. */
static int lines_of(const fab_glm *m, const fab_scores *s, score_line *l)
{
    const score_line real[] = {{"nll", s->nll},
                               {"rmse", s->rmse},
                               {"mae", s->mae},
                               {"crps", s->crps},
                               {"coverage50", s->coverage50},
                               {"coverage90", s->coverage90},
                               {"coverage95", s->coverage95}};
    const score_line classes[] = {{"nll", s->nll},
                                  {"accuracy", s->accuracy},
                                  {"brier", s->brier},
                                  {"ece", s->ece},
                                  {"auc", s->auc}};
    const score_line counts[] = {{"nll", s->nll}, {"rmse", s->rmse}, {"dispersion", s->dispersion}};
    const struct {
        const score_line *line;
        int n;
    } all[] = {[FAB_TARGET_REAL] = {real, COUNT(real)},
               [FAB_TARGET_CLASSES] = {classes, COUNT(classes)},
               [FAB_TARGET_COUNTS] = {counts, COUNT(counts)}};
    const fab_target target = fab_likelihood_target(m->likelihood);
    const score_line *from = all[target].line;
    const int n = all[target].n;
    for (int i = 0; i < n; i++) l[i] = from[i];
    return n;
}

/* What conformal adds: coverage of counts; of classes coverage and size of their sets. */
static int conformal_lines(const fab_glm *m, const fab_predictions *p, score_line *l)
{
    const fab_scores *s = &p->scores;
    const score_line counts[] = {{"coverage50", s->coverage50},
                                 {"coverage90", s->coverage90},
                                 {"coverage95", s->coverage95}};
    const score_line sets[] = {{"coverage90", s->coverage90}, {"set_size90", p->set_size}};
    const int n = p->classes ? COUNT(sets) : COUNT(counts);
    if (m->likelihood == FAB_LIKELIHOOD_GAUSSIAN) return 0;
    for (int i = 0; i < n; i++) l[i] = p->classes ? sets[i] : counts[i];
    return n;
}

int score_lines(const fab_glm *m, const fab_calibration *c, const fab_predictions *p,
                score_line line[SCORE_LINES])
{
    int n = lines_of(m, &p->scores, line);
    if (c->way && !(c->temperature > 0)) n += conformal_lines(m, p, line + n);
    return n;
}
