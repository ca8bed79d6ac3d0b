/* method.h - what a method is: its name, its settings, what it takes, and its verbs.
 *
 * A method is a file that ends in its `const fab_method`, and a line in list.h.  The verbs are called by fit.c, which
 * has checked what comes in: settings inside their ranges, an input the method takes, a prior in f64 over all of theta
 * that stays until free, rows that are finite and of the right length.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FIT_METHOD_H
#define FAB_FIT_METHOD_H

#include "fabayes/fit.h"

struct fab_class_process;  /* kernel/classes.h */
struct fab_likelihood_row; /* model/likelihoods/likelihood.h */

/* Processes at several places in the space of their parameters: lent until update or free. */
typedef struct fab_process_places {
    int64_t n;
    fab_process *const *p;        /* n */
    const double *weight, *noise; /* n each; of predictions */
} fab_process_places;

struct fab_method {
    const char *name, *summary;
    int64_t takes;            /* fab_takes */
    int64_t asks;             /* fab_asks besides those that follow from `takes` (methods.c) */
    int64_t streams;          /* 1: any number of updates; 0: its whole table in one update */
    int64_t appends;          /* 1: and then, after its result, rows that are appended to it */
    int64_t any_rank;         /* 1: a stream whose state knows no K: a result for any */
    int64_t anywhere;         /* 1: runs on kernels that have memory of their own: a device */
    int64_t saturates;        /* 1: its report knows `saturated` */
    int64_t penalises;        /* 1: its report knows `lambda`, `objective` and `gap` */
    int64_t starts;           /* 1: of clusters: begins where the input says */
    const fab_fields *fields; /* its settings */
    int dispersion; /* 1: takes likelihoods that have one (likelihood.h), and nu, of linear models */
    /* Does it take this likelihood?  NULL: any, but what `dispersion` speaks of. */
    int (*suits)(const struct fab_likelihood_row *l);
    /* What the tables of table/ ask: */
    /* of clusters with a likelihood: free parameters of the covariances of n parts; NULL: a row belongs to the nearest mean */
    double (*parameters)(const void *settings, int64_t n, int64_t D);
    int bounds; /* of clusters: 1: log_evidence of its report is a bound, which chooses their number */
    int one_psi; /* of vectors: 1: psi is one number for all coordinates */
    int no_psi;  /* 1: its psi is not fitted, so that ranks cannot be compared by it */
    int iterates; /* 1: the vectors are iterates of an optimiser and no draws, and psi_min is a number, no share */
    int trains;  /* 1: its settings are those of the networks that a search trains */
    int several; /* 1: a mixture of such networks, whose noise rows left out may set */
    int closed; /* 1: a closed form for every coefficient of a table, which no prior makes sparse */
    int linearises; /* 1: predictions of a network are those of its slope unless draws are asked for */

    fab_status (*init)(void **handle, const void *settings, const fab_input *in, const fab_exec *x);
    void (*free)(void *handle);
    /* Bytes a handle needs for n rows, the rows and the model not counted. */
    double (*bytes)(const void *settings, const fab_input *in, int64_t n, const fab_exec *x);
    /* Put numbers where the rules of the settings say auto; NULL: nothing to choose from the input. */
    void (*resolve)(void *settings, const fab_input *in);

    fab_status (*update)(void *handle, const fab_examples *e); /* batch: borrows until result */
    /* Elementary operations that a row of the next update costs: fit.c feeds a stream pieces of so many rows that it can
     * be watched and stopped between them, and an update is then never stopped inside.  0 or NULL: rows stay together. */
    double (*work)(const void *handle);
    fab_status (*result)(void *handle, const fab_gauss **q); /* lends until update or free */
    fab_status (*so_far)(void *handle, const fab_gauss **q); /* result, of an unfinished run */
    /* In the place of these two, of a method that finds clusters and has no `runs`: a mixture with weights, whose parts may
     * be other ones each time.  Lends until update or free. */
    fab_status (*mixture)(void *handle, const fab_mixture **q);
    fab_status (*mixture_so_far)(void *handle, const fab_mixture **q);
    /* The rows so far by a root of the precision, cheaper than `result`: F = R, T x T and upper, R'R the precision; psi says
     * nothing.  Lends until the next verb; *q NULL, or no such verb: there is none. */
    fab_status (*root)(void *handle, const fab_gauss **q);
    /* `result` with less search, for scores on the way; NULL: there is no such thing. */
    fab_status (*rough)(void *handle, const fab_gauss **q);
    fab_status (*report)(void *handle, fab_report *r); /* after result, root or rough */
    /* Add what the method has beside the Gaussian, by name (borrowed as the state is); after result.  NULL: nothing. */
    fab_status (*tensors)(void *handle, fab_tensors *t);

    /* The Gaussian process that it has found (lent until update or free); after result.  NULL: it finds none. */
    fab_status (*process)(void *handle, fab_process **p);
    /* The same of several classes, whose kernel and rows are those of `process`; NULL: it finds none. */
    /* The places of a mixture of them, the first of which is `process`; n 0: it finds none.  NULL: never. */
    fab_status (*places)(void *handle, fab_process_places *places);
    fab_status (*classes)(void *handle, struct fab_class_process **p);

    /* Add the tensors state.* needed to continue exactly (borrowed until the set is freed or the handle is used
     * again); take them back into a fresh handle of the same settings.  NULL: cannot continue. */
    fab_status (*save)(void *handle, fab_tensors *t);
    fab_status (*load)(void *handle, const fab_tensors *t);

    /* Take over the rows of another handle of the same settings, exactly; that one is as it was.  NULL: states do not add up. */
    fab_status (*merge)(void *handle, const void *other);

    /* Who does the same for a model without a linear predictor; NULL: the method itself, or nobody. */
    const fab_method *general;
    /* Who does the same for vectors; NULL: the method itself, or nobody. */
    const fab_method *vectors;
};

/* A whole-number setting by name; 0 when there is none of that name. */
int64_t fab_method_setting(const fab_method *m, const void *settings, const char *name);

/* fab_method_lacks, whatever the likelihood: a method has its own sentence for one that it does not take. */
const char *fab_method_lacks_model(const fab_method *m, const fab_model *model);

/* For `suits`: y normal given the predictor; recursive and batch variational inference is offered. */
int fab_suits_normal(const struct fab_likelihood_row *l);
int fab_suits_recursion(const struct fab_likelihood_row *l);
int fab_suits_expectations(const struct fab_likelihood_row *l);

#define FAB_METHOD(name) extern const fab_method fab_##name##_method;
#include "fit/list.h"
#undef FAB_METHOD

/* Under the names of laplace and lrvga, for models without a linear predictor. */
extern const fab_method fab_laplace_net_method, fab_lrvga_net_method;
/* Under the name of swag, for iterates that somebody else makes. */
extern const fab_method fab_swag_vectors_method;

#endif
