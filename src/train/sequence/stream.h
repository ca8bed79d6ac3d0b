/* stream.h - what the recursive methods (rvga, lrvga) share: rows that wait for their block, the prior that the first
 * rows choose, and sums over the rows one step ahead.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_STREAM_H
#define FAB_TRAIN_STREAM_H

#include "base/memory.h"
#include "fabayes/methods.h"
#include "train/sequence/sequence.h"
#include "train/state.h"

/* ---- rows that wait ------------------------------------------------------------------------------------ */

/* Rows that wait for their block.  Their features are the method's. */
typedef struct fab_pending {
    int64_t n, room;        /* rows; at most so many */
    double *y, *w, *offset; /* room each, behind one another */
} fab_pending;

void fab_pending_layout(fab_layout *l, fab_pending *p);
/* Rows first .. first + n - 1 of x behind the pending ones: what stands beside the features. */
void fab_pending_add(fab_pending *p, const fab_examples *x, int64_t first, int64_t n);
/* The first m rows leave. */
void fab_pending_drop(fab_pending *p, int64_t m);
/* The pending rows of a file, fewer than `full`, each of `columns` lines of tensor `name`; where they wait for, for the
 * sentence. */
fab_status fab_pending_find(fab_pending *p, const fab_tensors *t, const char *name, int64_t columns,
                            int64_t full, const char *where);

/* ---- a stream ------------------------------------------------------------------------------------------ */

/* Saved. */
typedef struct fab_stream_counts {
    int64_t started; /* 1: alpha and beta are known, and the state holds the prior */
    int64_t given;   /* 1: a prior was given, alpha does not count */
    int64_t rows;    /* in the state */
} fab_stream_counts;

typedef struct fab_stream_scale {
    double alpha; /* prior precision */
    double beta;  /* the unit of the state: noise of this precision; 1 unless gaussian */
} fab_stream_scale;

typedef struct fab_stream_sums {
    /* gaussian: that say something about the noise, and how much; one of weight w counts as w */
    double rows;
    double squares;       /* gaussian: of the errors one step ahead, each over its variance */
    double uninformative; /* rows that say nothing about the noise */
    double power;         /* w y^2: what no noise is measured by */
    double logdet; /* gaussian: of 1 + w v, v the variances of the predictors one step ahead */
    double score;  /* log p(y) one step ahead */
} fab_stream_sums;

typedef struct fab_stream {
    const char *who;  /* for sentences, */
    const char *unit; /* with what is taken in at a time: row, block */
    fab_glm model;
    fab_glm_settings set; /* alpha and beta may be auto */
    fab_rule rule;
    fab_stream_counts count;
    fab_stream_scale scale;
    fab_stream_sums sum;
    fab_status fault; /* of a unit that failed: the stream cannot go on */
    /* > 0: of a beta that is auto: the state begins in its units; 0: the first rows choose */
    double guess;
} fab_stream;

int fab_stream_gaussian(const fab_stream *s);
/* Is something about the prior or the noise to be found in the first rows? */
int fab_stream_undecided(const fab_stream *s);

/* Prior precision of a feature or of an intercept; the same in units of the noise, as a state that subtracts can bear it
 * (lrvga). */
double fab_stream_prior_of(const fab_stream *s, int feature);
double fab_stream_prior_in_state(const fab_stream *s, int feature);

/* Alpha, beta and sum.uninformative from the pending rows; G, watch, work: as fab_prior_choose has them. */
fab_status fab_stream_choose(fab_stream *s, const fab_pending *p, const double *G, fab_watch *watch,
                             double *work);
/* The stream starts with what was set or chosen. */
void fab_stream_start(fab_stream *s);
/* The past counts for a times as much. */
void fab_stream_forget(fab_stream *s, double a);

/* The sentence of a stream that cannot go on. */
fab_status fab_stream_check(const fab_stream *s);

/* Precision of the noise: as it was set, or by the errors one step ahead. */
double fab_stream_noise(const fab_stream *s);
/* alpha, beta, the log score, and, where the Gaussian is the posterior, the same as the log evidence. */
void fab_stream_report(const fab_stream *s, fab_report *r);

/* The state of a stream and of its pending rows as tensors.  X: their features, p->n x columns x T. */
void fab_stream_states(fab_stream *s, fab_states *all);
void fab_pending_states(fab_pending *p, fab_dtype type, int64_t columns, int64_t T, void *X,
                        fab_states *all);
/* A stream that came from a file: in its ranges. */
fab_status fab_stream_check_loaded(const fab_stream *s);
/* A count that an earlier file has as a double. */
fab_status fab_stream_whole(double value, int64_t *count);

#endif
