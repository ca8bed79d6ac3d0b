/* trend.c - did the loss of a training run still fall at its end?
 *
 * SPDX-License-Identifier: MIT */
#include "train/trend.h"
#include <math.h>

void fab_trend_add(fab_trend *t, double part, int64_t epochs, double loss)
{
    const int is_short = epochs < FAB_TREND_EPOCHS;
    const double from = is_short ? 0.1 : 0.8, until = is_short ? 0.55 : 0.9;
    t->epochs = (double)epochs;
    if (part < from) return;
    fab_trend_window *w = part < until ? &t->before : &t->last;
    w->n++;
    w->sum += loss;
    w->square += loss * loss;
}

/* The mean of a window, and the variance of that mean. */
static double mean_of(const fab_trend_window *w, double *variance)
{
    const double mean = w->sum / w->n;
    *variance = fmax(w->square / w->n - mean * mean, 0) / (w->n - 1);
    return mean;
}

void fab_trend_report(const fab_trend *t, fab_report *r)
{
    r->converged = -1;
    r->gain = NAN;
    if (t->before.n < 2 || t->last.n < 2) return;
    double v, w;
    const double gain = mean_of(&t->before, &v) - mean_of(&t->last, &w), se = sqrt(v + w);
    if (!isfinite(gain)) return;
    r->gain = gain;
    if (gain > FAB_TREND_GAIN && gain > 2 * se)
        r->converged = 0;
    else if (t->epochs >= FAB_TREND_EPOCHS)
        r->converged = 1;
}
