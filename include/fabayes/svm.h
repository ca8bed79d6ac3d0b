/* svm.h - support vector machines: of two and more classes, and of numbers; from rows, and from a table in the user's units.
 *
 *     fab_svm_settings s = fab_svm_defaults();
 *     fab_kernel *k;
 *     fab_svm *m;
 *
 *     s.C = 2;
 *     fab_kernel_create(&k, "rbf", D, NULL);
 *     fab_svm_create(&m, k, 2, &s, &rows, y, NULL, NULL);   // y: 0 or 1; its l by the rule below
 *     fab_svm_decide(m, &others, decision, NULL);           // above 0: class 1
 *     fab_svm_free(m);
 *
 *     fab_svm_table *t;                                     // the same of a file: words, units, missing values
 *     fab_svm_table_fit(&t, &(fab_data){.file = "t.csv", .columns = {.target = "class"}},
 *                       &(fab_svm_plan){.model = "svm:rbf"}, NULL);
 *     fab_svm_table_save(t, "t.svm");
 *     fab_svm_table_free(t);
 *
 * docs/methods/svm.md has the equations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_SVM_H
#define FABAYES_SVM_H

#include "fabayes/data.h"
#include "fabayes/gauss.h"
#include "fabayes/kernel.h"
#include "fabayes/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- from rows ----------------------------------------------------------------------------------- */

/* docs/methods/svm.md has default, range and meaning of each. */
typedef struct fab_svm_settings {
    double C, nu; /* nu FAB_AUTO_F64: C says how much a row may weigh */
    double epsilon;
    double tol;
    double cache; /* megabytes */
    int64_t max_iter;
    int64_t probability;
    int64_t seed;
} fab_svm_settings;

FAB_API const fab_fields *fab_svm_fields(void); /* its table; lends it for ever */
FAB_API fab_svm_settings fab_svm_defaults(void);

typedef struct fab_svm fab_svm;

/* Fit.  classes: 0: y are numbers; 2 and more: y are classes from 0 on, each of which has rows; three and more are told apart one
 * against one.  weight: n numbers > 0 that C (or 1 / n of nu) is taken times, or NULL: 1.  The kernel's length-scales that its text does
 * not give become half of the root of the mean square of distances between rows, its other free parameters stay where they start.
 *
 * Copies what it needs.  Gives *s.  FAB_STOPPED: of one machine *s is what it had reached, which is valid; of more it is NULL. */
FAB_API fab_status fab_svm_create(fab_svm **s, const fab_kernel *k, int64_t classes,
                                  const fab_svm_settings *settings, const fab_rows *x,
                                  const double *y, const double *weight, const fab_exec *e);
FAB_API void fab_svm_free(fab_svm *s); /* takes NULL */

/* What was found.  Of several machines: sums of counts and duals, the largest gap. */
typedef struct fab_svm_report {
    int64_t n, classes, machines;
    int64_t support; /* rows with a weight in any machine */
    int64_t bounded; /* weights at their bound */
    /* rows inside the margin (numbers: outside of epsilon), a row once for each machine */
    int64_t margin_errors;
    /* of nu: the margin's size where a_i <= 1 / n; otherwise 1; NaN of several machines, of numbers */
    double rho;
    double dual; /* the dual objective at its end */
    double gap;  /* by how much the conditions of the optimum are missed, in decisions */
    /* of two classes: the largest nu, 2 min(n+, n-) / n with weights; otherwise NaN */
    double nu_limit;
    int64_t iterations, converged; /* converged: 1: gap came below tol */
} fab_svm_report;
FAB_API void fab_svm_report_of(const fab_svm *s, fab_svm_report *r);

/* The kernel with its parameters; lends until free. */
FAB_API const fab_kernel *fab_svm_kernel(const fab_svm *s);

/* Decisions of each row: `machines` of them.  Two classes: above 0 is class 1.  Several: machine (a, b), a < b, in the order (0, 1), (0, 2), ..,
 * (1, 2), .., above 0 is b.  Numbers: the prediction. */
FAB_API fab_status fab_svm_decide(const fab_svm *s, const fab_rows *x, double *decision,
                                  const fab_exec *e);
/* From the decisions of one row: the class, and (classes numbers, or NULL) what stands for each: votes of several classes, with a part below
 * 1/2 by which the sums of their decisions part equal votes; of two -d and d. */
FAB_API int64_t fab_svm_class(const fab_svm *s, const double *decision, double *votes);
/* With `probability`: p of class 1 at a decision, above 1/2 exactly where the decision is above 0; else NaN. */
FAB_API double fab_svm_probability(const fab_svm *s, double decision);

/* What it is made of, for files.  Lends until free; of_parts copies. */
typedef struct fab_svm_parts {
    int64_t support, D, machines;
    const double *X;     /* support x D */
    const int64_t *row;  /* support: which row of the fit it was; of_parts: NULL */
    const double *a;     /* machines x support: y_i a_i, in units in which the margin is 1 */
    const double *b;     /* machines */
    const double *slope; /* 2: of the probability below and above 0; NaN: there is none */
} fab_svm_parts;
FAB_API void fab_svm_parts_of(const fab_svm *s, fab_svm_parts *p);
FAB_API fab_status fab_svm_of_parts(fab_svm **s, const fab_kernel *k, int64_t classes,
                                    const fab_svm_parts *p, const fab_svm_report *r);

/* ---- from a table -------------------------------------------------------------------------------- */

typedef struct fab_svm_plan {
    const char *model;                /* "svm:KERNEL", or with nu: "svm:KERNEL:nu=0.2" */
    const fab_svm_settings *settings; /* NULL: the defaults */
    /* 1: columns, and a target of numbers, as they are, and not in standard deviations */
    int64_t no_scale;
    int64_t numbers; /* 1: a target of two values is a number too */
    int64_t classes; /* 1: numbers are classes too */
} fab_svm_plan;

/* Is it the text of such a model? */
FAB_API int fab_svm_is_model(const char *model);

typedef struct fab_svm_table fab_svm_table;

/* A target of words, or of two values, has classes; other numbers are regressed on.  C, epsilon and decisions of numbers are in standard
 * deviations of the target, unless no_scale.  Borrows nothing.  Gives *t. */
FAB_API fab_status fab_svm_table_fit(fab_svm_table **t, const fab_data *d, const fab_svm_plan *p,
                                     const fab_exec *x);
FAB_API void fab_svm_table_free(fab_svm_table *t); /* takes NULL */
FAB_API fab_status fab_svm_table_save(const fab_svm_table *t, const char *path);
FAB_API fab_status fab_svm_table_load(fab_svm_table **t, const char *path);
FAB_API int fab_svm_is_file(const fab_tensors *file);
/* The bytes of that file; gives *bytes: fab_bytes_free.  And back; name: in sentences. */
FAB_API fab_status fab_svm_table_pack(const fab_svm_table *t, void **bytes, size_t *size);
FAB_API fab_status fab_svm_table_parse(fab_svm_table **t, const char *name, const void *bytes,
                                       size_t size);

FAB_API const fab_svm *fab_svm_table_machine(const fab_svm_table *t);     /* lends until free */
FAB_API const fab_scaling *fab_svm_table_scaling(const fab_svm_table *t); /* lends until free */
FAB_API const fab_svm_settings *fab_svm_table_settings(
    const fab_svm_table *t); /* lends until free */

/* Rows of data, in the user's units.  Rows that miss a value, and have nothing to fill it with, are absent: their decision is NaN. */
typedef struct fab_svm_predictions {
    int64_t n, classes,
        columns;         /* columns of decision: 1, or of several classes as many as these */
    double *decision;    /* n x columns: of numbers the prediction */
    double *probability; /* n: of class 1; NULL: there is none */
    int64_t *chosen;     /* n: the class; NULL: numbers */
    double *y;           /* n: the target, where it was asked for: numbers, or classes from 0 */
    int64_t absent, dropped, unseen; /* unseen: words that the fit did not meet */
    /* With the target: */
    double accuracy, auc, hinge; /* classes; auc and hinge: two; else NaN */
    double rmse, mae, r2;        /* numbers; else NaN */
} fab_svm_predictions;
/* takes_unseen: 1: a word that the fit did not meet is none of its column's, and counted; 0: refused. */
FAB_API fab_status fab_svm_table_predict(const fab_svm_table *t, const fab_data *d, int with_target,
                                         int takes_unseen, fab_svm_predictions **p,
                                         const fab_exec *x);
FAB_API void fab_svm_predictions_free(fab_svm_predictions *p); /* takes NULL */

#ifdef __cplusplus
}
#endif
#endif
