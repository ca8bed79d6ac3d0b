/* runs.h - independent runs of a method, which differ in their seeds: handles in a row, an equal-weight mixture out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_INFER_RUNS_H
#define FAB_INFER_RUNS_H

#include "fabayes/fit.h"

typedef struct fab_runs {
    const fab_infer_verbs *v;
    int64_t n;
    void **handle;          /* n, NULL where there is none yet */
    const fab_gauss **part; /* n */
    double *weight;         /* n */
} fab_runs;

/* Room for n runs.  Free gives back the handles too. */
fab_status fab_runs_init(fab_runs *r, const fab_infer_verbs *v, int64_t n, const char *who);
void fab_runs_free(fab_runs *r);

/* A handle per run, with seeds seed, seed + 1, ..; the settings are as before afterwards. */
fab_status fab_runs_build(fab_runs *r, fab_model_settings *s, const fab_model *m,
                          const fab_gauss *prior, const fab_exec *x);

fab_status fab_runs_update(fab_runs *r, const fab_examples *e);
/* The posterior of each; `verb` is result or so_far. */
fab_status fab_runs_parts(fab_runs *r, fab_status (*verb)(void *handle, const fab_gauss **q));
fab_mixture fab_runs_mixture(const fab_runs *r);

/* State tensors: as the method names them when there is one run, otherwise 0.state, 1.state, .. */
fab_status fab_runs_save(const fab_runs *r, fab_tensors *t);
fab_status fab_runs_load(fab_runs *r, const fab_tensors *t);

#endif
