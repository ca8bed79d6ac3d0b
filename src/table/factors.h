/* factors.h - the inside of a factor analysis of a table: what its files share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TABLE_FACTORS_H
#define FAB_TABLE_FACTORS_H

#include "base/hooks.h"
#include "fabayes/table.h"
#include "table/prequential.h"

typedef struct fab_fit fab_factors_fit; /* a method at work on vectors */

struct fab_factors {
    const fab_method *method;
    void *settings; /* of the method, in force */
    fab_exec exec;  /* of the fit */
    fab_exec host;  /* of the work on its result, which is in the host's memory */
    fab_factors_fit *fit;
    int64_t n, before; /* rows seen in all; of them by the file that was loaded */
    double seconds;

    /* the rows */
    fab_source *source; /* NULL: they come by update */
    const char *who;    /* speaks in sentences: the source, or the method */
    int64_t D, columns; /* coordinates; columns of the source */
    int64_t label;      /* 1: column 0 is the label of a libsvm file, whose rows stay sparse */
    int64_t weighed;    /* column of the weights; -1: there is none */
    fab_factors_missing missing;
    int64_t dropped;       /* rows left out */
    int64_t absent;        /* rows of weight 0, which n does not count */
    int64_t piece;         /* rows read at a time */
    double *buffer;        /* piece x columns, of a stream */
    double *weight;        /* piece: their weights */
    fab_sparse cells;      /* sparse: a piece of a stream, or all rows of a batch method */
    fab_rows table;        /* of a batch method: all its rows */
    const double *weights; /* n, of these, or NULL */
    double *table_own;     /* n x columns, where they came from the source */
    double *weights_own;   /* n: the same */
    double total;          /* of all weights seen; rows of weight 1 count 1 */
    double *first;         /* D: the first row of all */
    int64_t *constant;     /* D: coordinates that have been as in the first row ever since */
    int64_t *same;         /* sparse, D: stored values of a piece that are as in the first row */
    int64_t constants;

    fab_prequential *ahead; /* scores of a stream; NULL: none */

    /* the number of factors by BIC */
    int64_t by_bic, most;
    fab_bic *search;

    double limit, needed; /* bytes; limit 0: what is free */
    fab_tensors *more;    /* metadata of the file besides the method's */
    char *output;         /* file of the checkpoints */
    int64_t checkpoint;   /* rows between them */
    int64_t *floored;     /* D: coordinates with psi at its floor */
    fab_solver *solver;   /* of the result, for scores; NULL: not asked for yet */

    struct {       /* all coordinates, in the first of several processes, once they were gathered */
        int64_t D; /* 0: alone, or not yet */
        fab_gauss *q;     /* NULL in the other processes */
        fab_report found; /* of all */
        int64_t *places;  /* 2 x D: constant, floored */
        int64_t processes;
    } whole;

    struct {                /* what fab_factors_back goes back to */
        fab_tensors *state; /* of method and scores; NULL: nothing is kept */
        char *numbers;      /* where they lie; the memory stays for the next */
        size_t room;        /* bytes of it */
        int64_t n, dropped, absent;
        double total;
    } kept;
};

/* Whole-number settings by name; a table that has none of that name says 0 and takes nothing. */
int64_t fab_factors_get(const fab_factors *f, const char *name);
void fab_factors_put(fab_factors *f, const char *name, int64_t value);

/* factors.c, the one section that knows the handle of a method: f->fit */
int64_t fab_factors_fit_rows(const fab_factors *f);
fab_status fab_factors_fit_update(fab_factors *f, const fab_rows *rows, const double *weight);
fab_status fab_factors_fit_result(fab_factors *f, const fab_gauss **q);
fab_status fab_factors_fit_report(fab_factors *f, fab_report *r);
/* On the way, with less search; *q NULL: there is none yet. */
fab_status fab_factors_fit_so_far(fab_factors *f, const fab_gauss **q);
fab_status fab_factors_fit_save(fab_factors *f, const char *path);
fab_status fab_factors_fit_pack(fab_factors *f, void **bytes, size_t *size);
/* On the way: with a Gaussian that took less search, where the method has one. */
fab_status fab_factors_fit_checkpoint(fab_factors *f, const char *path);
/* Copy the state; a fit beside f->fit that has it.  Gives *fit. */
fab_status fab_factors_fit_keep(fab_factors *f);
fab_status fab_factors_fit_back(fab_factors *f, fab_factors_fit **fit);
double fab_factors_fit_bytes(const fab_factors *f, int64_t n); /* for n rows */
/* A fit of the table of a batch method with k factors, beside f->fit.  Gives *fit. */
fab_status fab_factors_fit_table(fab_factors *f, int64_t k, fab_factors_fit **fit,
                                 double *loglik_mean);
void fab_factors_fit_free(fab_factors_fit *fit);
/* f->fit becomes a stream with the same state whose result has k factors. */
fab_status fab_factors_fit_cut(fab_factors *f, int64_t k);

/* factors_rows.c: the coordinates of n rows of numbers as the source has them, and their weights (n, or NULL: not asked
 * for), which leave the rows; are n rows enough for K factors? */
fab_rows fab_factors_coordinates(const fab_factors *f, double *x, int64_t n, double *weight);
fab_status fab_factors_check_rows(const fab_factors *f, int64_t n);

/* Where several processes share the coordinates, what failed in one fails in all. */
fab_status fab_factors_agree(const fab_factors *f, fab_status mine);
/* factors_gather.c: a piece of rows that all processes have room for; what a file of a fit without its state says of it. */
fab_status fab_factors_agree_piece(fab_factors *f);
fab_status fab_factors_describe_fit(const fab_factors *f, fab_tensors *t);
/* factors.c: names of columns and what else is not the method's. */
fab_status fab_factors_describe(const fab_factors *f, fab_tensors *t);

/* factors_report.c: what fab_factors_loadings says, of any Gaussian of covariances. */
void fab_factors_loadings_of(const fab_gauss *q, const fab_rotation *r, double *loading,
                             double *uniqueness, double *explained, int64_t *order);

/* factors_rank.c: put the widest rank into the settings, before the fit begins; choose, after the rows. */
fab_status fab_factors_prepare_search(fab_factors *f, int64_t max_factors);
fab_status fab_factors_choose(fab_factors *f);

#endif
