/* predicting.c - what `predict` and `score` share: FILE and DATA to predictions.
 *
 * SPDX-License-Identifier: MIT */
#include "predicting.h"

/* No option may be given and mean nothing. */
static int check_options(fab_regression *r, const fab_predict_plan *how)
{
    const int network = fab_regression_is_network(r);
    if (how->linearised && !network)
        return say_wrong("--linearised is for networks: a linear model needs no draws");
    if (how->linearised && how->samples)
        return say_wrong("--linearised predicts without draws, and --samples asks for some");
    if (how->samples && !network && fab_regression_scaling(r)->levels <= 2)
        return say_wrong(
            "--samples is for networks and for several classes: this model needs no draws");
    return DONE;
}

int predicting(fab_regression **r, fab_predictions **p, const char *file, const data_options *d,
               const fab_predict_plan *how, int64_t quiet)
{
    fab_data rows;
    int status = data_of(&rows, d);
    *r = NULL;
    *p = NULL;
    if (status != DONE) return status;
    progress_open(quiet);
    fab_set_progress(progress_tick, NULL);
    fab_status s = fab_regression_load(r, file, NULL);
    status = s == FAB_OK ? check_options(*r, how) : say_status(s);
    if (status != DONE) return status;
    s = fab_regression_predict(*r, &rows, how, p);
    progress_close();
    return s == FAB_OK ? DONE : say_status(s);
}
