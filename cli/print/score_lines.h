/* score_lines.h - which scores are said of predictions, in order: `score` and `report` say the same.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_SCORE_LINES_H
#define CLI_SCORE_LINES_H

#include "print/output.h"

typedef struct score_line {
    const char *name;
    double value; /* not finite: not defined for these rows */
} score_line;

enum { SCORE_LINES = 16 };

/* Those of the likelihood, and what a conformal calibration adds: coverage of counts; of classes coverage and size of their
 * sets.  How many. */
int score_lines(const fab_glm *m, const fab_calibration *c, const fab_predictions *p,
                score_line line[SCORE_LINES]);

#endif
