/* fitting.h - a model and its fit while rows come in.
 *
 * The one place that opens, updates, resumes, saves and asks a fab_fit: a fit of a table and a fold of a search
 * are the same here.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_FITTING_H
#define FAB_TABLE_FITTING_H

#include "fabayes/table.h"

typedef struct fab_fitting {
    fab_recipe what;          /* method, model, likelihood, noise */
    void *settings;           /* of the method; borrowed */
    const fab_scaling *units; /* borrowed */
    const fab_gauss *prior;   /* borrowed; NULL: the method's */
    fab_exec exec;
    fab_glm glm;        /* a linear model, of a method that knows it */
    fab_kernel *kernel; /* of a Gaussian process, its likelihood in glm; NULL: none yet */
    fab_net *net;       /* otherwise; NULL: there is none yet */
    double guess;       /* of beta, for a stream that learns it; 0: none */
    fab_fit *fit;       /* NULL: not open */
    /* Features of a kernel: what they leave of the variance of the predictors (fab_dataset.residual), summed over weighted rows,
     * and their weights.  A noise that is learned holds its mean, which is taken off it: the rest is y's own.  A row of which more than `most` is left
     * counts as if that were: the mean of few rows far from all landmarks says nothing of the noise.  0: no row does. */
    struct {
        double sum, rows, most;
    } left;
} fab_fitting;

/* Does the method know linear models as such?  Otherwise it gets a network. */
int fab_fitting_is_linear(const fab_fitting *f);
/* Or Gaussian processes? */
int fab_fitting_is_process(const fab_fitting *f);
/* The column that each feature comes from: what a kernel calls it.  Gives *names, D texts that are lent: fab_release. */
fab_status fab_fitting_columns(const fab_scaling *k, const char ***names);

/* The linear model or the network for the data. */
fab_status fab_fitting_model(fab_fitting *f);
/* Bytes of the model and an inference of n rows. */
double fab_fitting_bytes(const fab_fitting *f, int64_t n);
/* The inference of that model: from nothing, or from a file of the same model. */
fab_status fab_fitting_open(fab_fitting *f);
fab_status fab_fitting_resume(fab_fitting *f, const fab_tensors *file);
/* The network or the kernel that the file describes, instead of that of the recipe. */
fab_status fab_fitting_model_of(fab_fitting *f, const fab_tensors *file);
/* Levels that the target of such a model has. */
int64_t fab_fitting_levels(const fab_glm *m);
void fab_fitting_close(fab_fitting *f); /* takes zeros */

/* The noise of y alone, where beta was learned with what features leave. */
void fab_fitting_take_off(const fab_fitting *f, fab_glm *m);
/* Rows in fitting units; a batch method borrows them until the result.  Or some of them, of a stream. */
fab_status fab_fitting_update(fab_fitting *f, const fab_dataset *t);
fab_status fab_fitting_update_part(fab_fitting *f, const fab_dataset *t, int64_t first, int64_t n);
/* Work to the result.  FAB_STOPPED: call it again to go on. */
fab_status fab_fitting_finish(fab_fitting *f);
fab_status fab_fitting_mixture(const fab_fitting *f, fab_mixture *m); /* lends its parts */
/* The Gaussian of the rows so far, with its model, on the way (fab_fit_so_far); lends it.  *q NULL: there is none yet.  *root: it is
 * given by a root of its precision (fab_fit_rough). */
fab_status fab_fitting_so_far(const fab_fitting *f, const fab_gauss **q, int *root, fab_glm *m);
/* The model with beta as in force, and what there is to report. */
fab_status fab_fitting_glm_of(const fab_fitting *f, fab_glm *m);
fab_status fab_fitting_report(const fab_fitting *f, fab_report *i);
const void *fab_fitting_settings(const fab_fitting *f); /* auto as chosen */
/* Save with `more`; unfinished: the state of a run as it stands. */
fab_status fab_fitting_save(const fab_fitting *f, const char *path, const fab_tensors *more,
                            int unfinished);

#endif
