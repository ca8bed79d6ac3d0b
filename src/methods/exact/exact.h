/* exact.h - what the two ways of exact linear regression share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_EXACT_H
#define FAB_EXACT_H

#include "fabayes/fit.h"
#include "fabayes/methods.h"
#include "methods/exact/cavi.h"
#include "methods/exact/reduced.h"

typedef struct fab_exact_fit {
    const char *who;
    fab_exact_settings s;
    fab_glm model;
    const fab_gauss *prior; /* borrowed, or NULL: alpha and a free intercept */
    fab_exec exec;
    fab_watch watch;
    fab_dtype type; /* of F */
    int point;      /* the mean alone */
    fab_examples e;
    fab_gauss *q;
    fab_report report;
    int has_gammas; /* cavi: alpha and beta that are not given have a prior and a q */
    fab_cavi cavi;
} fab_exact_fit;

/* Many rows: covariance form through the triangular factor of the table.  Few rows: precision form, the
 * rows themselves being the columns of F.  Both make fit->q and fill the report. */
fab_status fab_exact_tall(fab_exact_fit *fit);
fab_status fab_exact_wide(fab_exact_fit *fit);

/* alpha and beta in force, from the singular values of B (n x n, column-major, destroyed) and z = U'y in
 * full: y = B c + noise, with `rest` the squares of y that B cannot reach.  The units of c and y are
 * 1 / c_unit and y_unit of the caller's. */
fab_status fab_exact_choose(fab_exact_fit *fit, int64_t n, double *B, const double *z, double rest,
                            double nu, double c_unit, double y_unit);

/* The verbs of `exact` and `ridge`. */
fab_status fab_exact_init(void **handle, const char *who, int point, const void *settings,
                          const fab_input *in, const fab_exec *x);
fab_status fab_exact_update(void *handle, const fab_examples *e);
fab_status fab_exact_result(void *handle, const fab_gauss **q);
fab_status fab_exact_report(void *handle, fab_report *r);
void fab_exact_free(void *handle);
double fab_exact_bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x);
extern const fab_fields fab_exact_table, fab_ridge_table;

/* The row of exact and ridge in the list of methods, but for name, summary and fields. */
#define FAB_EXACT_VERBS                                                                          \
    .takes = FAB_TAKES_LINEAR, .suits = fab_suits_normal, .closed = 1, .bytes = fab_exact_bytes, \
    .init = init, .update = fab_exact_update, .result = fab_exact_result,                        \
    .report = fab_exact_report, .free = fab_exact_free

#endif
