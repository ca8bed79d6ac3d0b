/* trend.h - did the loss of a training run still fall at its end?
 *
 * Of a run of at least FAB_TREND_EPOCHS passes over the rows the last tenth of its steps is held against the tenth before; of a
 * shorter one, whose tenths do not see every row, what follows 55 % of the steps against 10 to 55 %.  The run still
 * improves when the mean loss is lower by more than twice its standard error and by more than FAB_TREND_GAIN nats a row.
 * A schedule that lowers the rate to 0 ends the improvement by itself: then `converged` says that the run has come to the end
 * that its schedule wanted, and not that a longer one would be no better.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_TREND_H
#define FAB_TRAIN_TREND_H

#include "fabayes/methods.h"

enum { FAB_TREND_EPOCHS = 10 };
#define FAB_TREND_GAIN 0.05

/* Steps of a window, the sum of their losses and of the squares. */
typedef struct fab_trend_window {
    double n, sum, square;
} fab_trend_window;

/* Doubles: saved as they are.  Start from zeros. */
typedef struct fab_trend {
    double epochs; /* of the run */
    fab_trend_window before, last;
} fab_trend;
enum { FAB_TREND_NUMBERS = sizeof(fab_trend) / sizeof(double) };

/* A step at `part` (0 .. 1) of a run of so many epochs, with the mean loss of its rows. */
void fab_trend_add(fab_trend *t, double part, int64_t epochs, double loss);
/* converged and gain of a report: -1 and NaN where there are too few steps to tell. */
void fab_trend_report(const fab_trend *t, fab_report *r);

#endif
