/* predicting.c - what `predict` and `score` share: FILE and DATA to predictions.
 *
 * SPDX-License-Identifier: MIT */
#include "predicting.h"
#include "print/clusters.h"
#include <stdio.h>
#include <string.h>

/* DATA in the place of FILE, and the other way round? */
static int are_swapped(const char *data)
{
    fab_tensors *t = NULL;
    const int swapped = strcmp(data, "-") != 0 && fab_tensors_read(&t, data) == FAB_OK &&
                        fab_tensors_get(t, "form") != NULL;
    fab_tensors_free(t);
    return swapped;
}

int is_of_clusters(const char *file)
{
    fab_tensors *t = NULL;
    const int clusters = strcmp(file, "-") != 0 && fab_tensors_read(&t, file) == FAB_OK &&
                         clusters_file(t);
    fab_tensors_free(t);
    return clusters;
}

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
    if (s == FAB_BAD_FILE) {
        char why[1024]; /* reading DATA as a fit has its own sentence */
        snprintf(why, sizeof why, "%s", fab_detail());
        if (!are_swapped(d->file)) return say_failed("%s", why);
        return say_wrong("%s is a fit and %s is none: the fit comes first, then the data", d->file,
                         file);
    }
    status = s == FAB_OK ? check_options(*r, how) : say_status(s);
    if (status != DONE) return status;
    s = fab_regression_predict(*r, &rows, how, p);
    progress_close();
    return s == FAB_OK ? DONE : say_status(s);
}
