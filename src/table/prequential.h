/* prequential.h - how good a stream is while it goes: rows are predicted before they are learned.
 *
 *     while (rows are left) {
 *         n = fab_prequential_next(a, left, &due);                   // rows under one Gaussian
 *         if (due) FAB_TRY(fab_prequential_take(a, due, q, &model)); // of all rows so far; copied
 *         FAB_TRY(fab_prequential_score(a, &x, y, offset, more, n));       // then learn them
 *     }
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_PREQUENTIAL_H
#define FAB_TABLE_PREQUENTIAL_H

#include "fabayes/table.h"

typedef struct fab_prequential fab_prequential;

/* What is predicted. */
typedef struct fab_prequential_plan {
    int64_t D;                /* numbers of a row */
    const fab_scaling *units; /* of a model: borrowed; NULL: vectors */
    fab_target target;        /* of a model */
    const fab_net *net;       /* of a network: described now, borrowed until create returns */
    double forget;            /* weight of the past, per row; 1: all of it */
    int64_t threads;
} fab_prequential_plan;

/* Gives *a. */
fab_status fab_prequential_create(fab_prequential **a, const fab_prequential_plan *p);
void fab_prequential_free(fab_prequential *a); /* takes NULL */

/* The rows that come next, 1 .. left, are predicted by one Gaussian; *due: which are to be taken before, a sum. */
enum { FAB_DUE_POINT = 1, FAB_DUE_CALL = 2 };
int64_t fab_prequential_next(const fab_prequential *a, int64_t left, int *due);
/* The Gaussian of all rows so far, copied; NULL: there is none yet.  root: its F is a root of the precision, upper triangular with
 * F'F the precision, and psi says nothing: of a model with one predictor.  m: the model with beta as in force, in fitting
 * units; NULL: vectors. */
fab_status fab_prequential_take(fab_prequential *a, int due, const fab_gauss *q, int root,
                                const fab_glm *m);
/* The n rows x; y, offset and more, a variance of the predictor beside that of theta: of a model.  They count as seen. */
fab_status fab_prequential_score(fab_prequential *a, const fab_rows *x, const double *y,
                                 const double *offset, const double *more, int64_t n);

/* Rows seen so far, where it is not those that were scored: some may have been refused. */
void fab_prequential_seen(fab_prequential *a, int64_t rows);
/* From here on a call: its scores are told apart; fresh: by the Gaussian of its first row, which is due. */
void fab_prequential_call(fab_prequential *a, int64_t seen, int fresh);

/* What there is to say.  Lends until the next call. */
const fab_stream_scores *fab_prequential_scores(fab_prequential *a);

/* As metadata "scores" of a file, with the Gaussian in force as tensors that are borrowed until the next take. */
fab_status fab_prequential_save(fab_prequential *a, fab_tensors *file);
/* Go on behind the `rows` rows of a file (NULL: one that has no scores), with a call of its own.  Trusts nothing. */
fab_status fab_prequential_load(fab_prequential *a, const fab_tensors *file, int64_t rows);

#endif
