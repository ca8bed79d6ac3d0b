/* fit.h - the inside of a fab_fit, shared by its verbs (fit.c) and its files (files.c).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FIT_FIT_H
#define FAB_FIT_FIT_H

#include "base/fail.h"
#include "base/hooks.h"
#include "fit/method.h"

enum { FAB_MOST_METHODS = 256 };

/* Room for the settings of any method. */
typedef struct fab_any_settings {
    int64_t field[64];
} fab_any_settings;

typedef struct fab_drive fab_drive;

struct fab_fit {
    const fab_method *m;
    void *settings;   /* m->fields->size bytes, auto as chosen for the model */
    int64_t vectors;  /* length of vectors; 0: a model */
    int64_t all;      /* the sum of it over the processes */
    fab_comm comm;    /* zeros: alone */
    fab_model model;  /* D = 0: vectors */
    fab_glm glm;      /* what a linear model points to */
    fab_gauss *prior; /* a copy that the runs borrow, or NULL */
    fab_watch watch;  /* of whoever made the fit */
    fab_watch pieces; /* of the rows of a stream: through the fit, as its runs */
    int stopped;      /* the answer was to stop, in this call of a verb */
    int muted;        /* nobody is asked now */
    int64_t n;        /* rows seen */
    int64_t runs;
    int64_t taken;          /* runs that have taken a piece that was stopped at the others */
    void **handle;          /* runs; NULL where there is none yet */
    const fab_gauss **part; /* runs */
    double *weight;         /* runs */
    fab_mixture mixture;    /* of the parts, or what the method lends */
    int ready;              /* the parts are those of all rows */
    fab_tensors *tensors;   /* what the method has beside them; NULL: not asked for */

    struct { /* the rows of an update whose weight is not 0, where others came with them */
        fab_examples e;
        void *rows;      /* where x lies; NULL: there are none */
        double *numbers; /* y, weight and offset */
    } present;

    struct fab_example_rows *example_rows; /* of a model that has `gradients` alone, or NULL */
    fab_drive *drive;                      /* of a fit driven by ask and tell, or NULL */
};

/* A fit of in->rows examples that nobody shows it: *model asks, and fab_fit_tell answers; the rows of a linear model are
 * asked for, and *model is as it was.  f has its method and the model that the caller described, whose self is borrowed
 * as y, weight and offset are.  Gives *d, also where it fails. */
fab_status fab_drive_create(fab_drive **d, fab_fit *f, const fab_input *in, fab_model *model,
                            const fab_exec *x);
/* Before a state is saved: what was told enters it.  Refused while a question waits. */
fab_status fab_drive_rest(fab_drive *d);
/* May a result be computed, an update be made, now? */
fab_status fab_drive_check_result(const fab_drive *d);
fab_status fab_drive_check_update(const fab_drive *d);
void fab_drive_free(fab_drive *d); /* takes NULL */

/* The posterior of each run, or of an unfinished one so far. */
fab_status fab_fit_parts(fab_fit *f, int unfinished);

/* Has the method a posterior of an unfinished run? */
int fab_fit_has_so_far(const fab_fit *f);

/* The posterior of the rows so far, on the way: of vectors with less search where the method has such a thing, and nobody is
 * asked whether to stop.  Lends until the next update, result or free. */
fab_status fab_fit_so_far(fab_fit *f, const fab_mixture **q);

/* The same of a linear model with the model as in force, where the method has it cheaper than its result; else *q NULL.  *root 1:
 * q->F is a root of the precision, upper triangular with F'F the precision, and q->psi says nothing. */
fab_status fab_fit_rough(fab_fit *f, const fab_gauss **q, int *root, fab_glm *m);

/* The Gaussian process that the method has found, after the result; *p NULL: it finds none.  Lends until the next update or free. */
fab_status fab_fit_process(fab_fit *f, fab_process **p);
/* A mixture of them, of which that is the first; n 0: it is alone. */
fab_status fab_fit_places(fab_fit *f, fab_process_places *places);
/* The same of several classes (kernel/classes.h), whose base is that process. */
fab_status fab_fit_classes(fab_fit *f, struct fab_class_process **p);

/* The state of all runs as tensors state.*, and back, with n rows seen. */
fab_status fab_fit_save_state(const fab_fit *f, fab_tensors *t);
fab_status fab_fit_load_state(fab_fit *f, const fab_tensors *t, int64_t n);

#endif
