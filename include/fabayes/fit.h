/* fit.h - one handle for every method: rows or examples in, a posterior out.
 *
 *     fab_online_em_settings s = fab_online_em_defaults(K);
 *     fab_fit *f;
 *     const fab_gauss *q;
 *
 *     fab_fit_create(&f, "online-em", &s, sizeof s, &(fab_input){.vectors = D}, NULL);
 *     while (next(&rows)) fab_fit_update(f, &(fab_examples){.x = rows});
 *     fab_fit_gauss(f, &q);                     // q->mu, q->F, q->psi
 *     fab_fit_save(f, "q.safetensors", NULL);   // and fab_fit_load goes on from there
 *     fab_fit_free(f);
 *
 * What a method is given is vectors, or a model and examples of it:
 *
 *     fab_glm glm = {.likelihood = FAB_LIKELIHOOD_BERNOULLI, .D = D, .classes = 1, .intercept = 1};
 *     fab_model m = fab_model_linear(&glm);
 *     fab_fit_create(&f, "laplace", NULL, 0, &(fab_input){.model = &m}, NULL);                  // NULL: defaults
 *     fab_fit_update(f, &(fab_examples){.x = rows, .y = y});
 *     fab_fit_create(&g, "vifa", NULL, 0, &(fab_input){.model = fab_net_model(net)}, NULL);     // a network: net.h
 *
 * A stream is read once: each row is seen in one update and may be forgotten, and how rows are split over updates
 * does not matter.  A batch method takes its whole table in one update and borrows it until the result.  For a
 * table in a file or in arrays, with words, units and missing values, table.h does all of this and more.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_FIT_H
#define FABAYES_FIT_H

#include "fabayes/files.h"
#include "fabayes/gauss.h"
#include "fabayes/methods.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the list of methods --------------------------------------------------------------------------- */

/* One method.  Its settings struct is in methods.h. */
typedef struct fab_method fab_method;

FAB_API int64_t fab_method_count(void);
FAB_API const fab_method *fab_method_at(int64_t i);
FAB_API const fab_method *fab_method_find(const char *name); /* NULL: no such method */
/* Who does for vectors what m does for a model; m itself where there is no other. */
FAB_API const fab_method *fab_method_of_vectors(const fab_method *m);
/* Who does for other models what m does for those with a linear predictor; m itself where there is no other. */
FAB_API const fab_method *fab_method_of_networks(const fab_method *m);

FAB_API const char *fab_method_name(const fab_method *m);
FAB_API const char *fab_method_summary(const fab_method *m); /* one line */
/* Its settings: names, types, defaults, ranges. */
FAB_API const fab_fields *fab_method_fields(const fab_method *m);
/* 1: any number of updates; 0: its whole table in one update. */
FAB_API int fab_method_streams(const fab_method *m);
/* 1: it goes on with rows that come after its result: a stream, or a batch method that appends (gp). */
FAB_API int fab_method_continues(const fab_method *m);
/* 1: its result is a mixture with weights, one part for each cluster that it finds in vectors. */
FAB_API int fab_method_clusters(const fab_method *m);

/* What a method takes. */
typedef enum fab_takes {
    FAB_TAKES_VECTORS = 1,  /* rows of numbers, without a target */
    FAB_TAKES_LINEAR = 2,   /* a model with a linear predictor: fab_model_linear */
    FAB_TAKES_GRADIENT = 4, /* any model with a loss and its gradient */
    FAB_TAKES_EXAMPLES = 8, /* any model with gradients of single examples: `gradients` is enough */
    FAB_TAKES_JACOBIAN = 16, /* any model with outputs and their Jacobian */
    /* vectors with weights: one of weight w counts as w of them; examples of models always can */
    FAB_TAKES_WEIGHTS = 32,
    FAB_TAKES_SPARSE = 64,   /* rows that are sparse, without making a table of them dense */
    FAB_TAKES_MISSING = 128, /* vectors with NaN where a value is missing */
    FAB_TAKES_KERNEL = 256   /* a Gaussian process: fab_model_kernel */
} fab_takes;
/* The sum of those it takes. */
FAB_API int64_t fab_method_takes(const fab_method *m);
/* The likelihoods of y that it takes, of the models that it takes: the sum of 1 << FAB_LIKELIHOOD_...  0: it fits vectors. */
FAB_API int64_t fab_method_likelihoods(const fab_method *m);
/* Does m take this model and its likelihood?  NULL: yes; otherwise what it lacks, as the end of a sentence: "needs ..". */
FAB_API const char *fab_method_lacks(const fab_method *m, const fab_model *model);

/* What a method may ask for when it is driven from outside (fab_fit_ask). */
typedef enum fab_asks {
    FAB_ASKS_GRADIENT = 1, /* the average loss of some examples, and its gradient */
    FAB_ASKS_EXAMPLES = 2, /* the gradient of each of them */
    FAB_ASKS_OUTPUTS = 4   /* the outputs for each of them, and their Jacobian */
} fab_asks;
/* The sum of those it may ask for; 0: it cannot be driven. */
FAB_API int64_t fab_method_asks(const fab_method *m);

/* ---- a fit ----------------------------------------------------------------------------------------- */

typedef struct fab_fit fab_fit;

/* Build a fit.  Copies `size` bytes of *settings, the struct of the method in methods.h: a shorter one (of an older
 * caller) gets defaults for its tail, a longer one is refused; NULL: defaults.  A method that does not take the input
 * is refused with what it lacks.  On failure *f is NULL and nothing is held. */
FAB_API fab_status fab_fit_create(fab_fit **f, const char *method, const void *settings,
                                  size_t size, const fab_input *in, const fab_exec *x);
FAB_API void fab_fit_free(fab_fit *f); /* takes NULL */

/* Bytes that such a fit needs for n rows, the rows and the model not counted; NaN where it would be refused. */
FAB_API double fab_fit_bytes(const char *method, const void *settings, size_t size,
                             const fab_input *in, int64_t n, const fab_exec *x);

/* Take rows: for vectors e->x, dense or sparse, and where the method has FAB_TAKES_WEIGHTS e->weight.  Numbers that are not finite are refused by row, and the state is as it was.
 * A row of weight 0 is absent: nothing of it is in the result, and fab_fit_rows does not count it.
 * FAB_STOPPED: the rows taken so far are in the state and fab_fit_rows counts them, so that the others may be fed later.
 * (lrvga of a network with start = map takes its first update whole or not at all: give the same rows again, and its
 * training goes on.) */
FAB_API fab_status fab_fit_update(fab_fit *f, const fab_examples *e);
/* Take over the rows that another fit of the same method, settings and input has seen; that one is as it was, and the order of
 * merges does not matter but for rounding.  FAB_UNSUPPORTED: the states of this method do not add up; fab_merge (table.h)
 * makes one posterior of those. */
FAB_API fab_status fab_fit_merge(fab_fit *f, const fab_fit *other);
/* The posterior of the rows so far: one Gaussian, a mixture of equal weights of several runs, or of a method that finds
 * clusters (fab_method_clusters) one part for each, with its share of the rows as its weight.  Lends until the next
 * update or free.  A run that was stopped (FAB_STOPPED) goes on when result is called again, in an epoch where it was, and
 * ends in the same bytes; what is not made of epochs begins again. */
FAB_API fab_status fab_fit_result(fab_fit *f, const fab_mixture **q);
/* The first part of it: all of it, unless there are several runs or clusters. */
FAB_API fab_status fab_fit_gauss(fab_fit *f, const fab_gauss **q);
/* What the method has to say beside the Gaussians, as tensors with a name, which its page lists: spike-slab has
 * `inclusion`.  Of several runs each has the number of the run in front, "0.name"; most methods have none.  The file of a
 * finished fit has them too.  Lends until the next update or free. */
FAB_API fab_status fab_fit_tensors(fab_fit *f, const fab_tensors **t);
/* What happened (of several runs: in the first); computes the result when that is not there yet. */
FAB_API fab_status fab_fit_report(fab_fit *f, fab_report *r);

FAB_API const fab_method *fab_fit_method(const fab_fit *f);
FAB_API const void *fab_fit_settings(const fab_fit *f); /* auto as chosen for the model; lends */
FAB_API int64_t fab_fit_rows(const fab_fit *f);         /* rows taken */
/* The likelihood of y, with beta as in force. */
FAB_API fab_status fab_fit_glm(fab_fit *f, fab_glm *m);

/* ---- steps driven from outside --------------------------------------------------------------------- */

/* A method that works by gradients of batches, or by slopes of the outputs (fab_method_asks), can be driven by whoever
 * has the model, in another language for example.  The fit is created with the number of examples instead of seeing
 * them; its model needs D, head and, unless 0 will do, a start, but no functions of the data:
 *
 *     fab_model m = {.D = D, .head = {.likelihood = .., .D = 1, .classes = 1, .beta = 1}, .batch = 32, .type = FAB_F64};
 *     fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = &m, .rows = N}, NULL);
 *     for (;;) {
 *         fab_fit_ask(f, &q, &done);
 *         if (done) break;
 *         ... loss and gradient of the rows q.row[0 .. q.n-1] at q.theta ...
 *         fab_fit_tell(f, &(fab_answer){.loss = loss, .gradient = g, .type = FAB_F32});
 *     }
 *     fab_fit_gauss(f, &gauss);
 *
 * A method that asks for outputs (lrvga) has the likelihood to itself: its model says how many `outputs` there are and
 * how many rows it answers for at a time (`batch`), and the input has the targets, y and where there are any weight and
 * offset.  Of a linear model (fab_model_linear) it asks for the Jacobian alone, row i classes + c of which has the
 * features of row i, and 1 for an intercept, in the place of class c.
 *
 * Told the numbers that the model would have computed, it ends in the same bits as a fit that sees the examples.  A
 * caller with batches of his own may answer for those, unless the method has the targets: the average is what counts.
 *
 * Between a tell and the next ask a fit can be saved as it stands (fab_fit_checkpoint, fab_fit_pack), and
 * fab_fit_load with the same input goes on from there to the same bits.  The answers are in it; a step that takes
 * several is made as a whole, and is asked for again from its beginning where it is not complete.  lrvga, a stream, goes
 * on behind its rows where the input has more of them.
 *
 * Where the kernels of the fit have memory of their own (a card: fab_exec, fab_ops_open), theta is there and stays there, in
 * the type of the kernels, and the gradient is taken from there without a pass through the host, or from the host.  What a
 * caller does on the card goes through its default stream, or is finished before he tells. */
typedef struct fab_question {
    /* D: where; of a linear model, whose Jacobian has no theta, 0.  Lent until the next ask */
    const double *theta;
    int64_t draw; /* 1: a draw of the posterior so far; 0: its mean, or an optimiser's iterate */
    int64_t n;    /* examples it is about, */
    const int64_t *row; /* n: their numbers, from 0 */
    int64_t gradient;   /* 1: the gradient of their average loss is wanted, and the loss */
    int64_t examples;   /* 1: the gradient of each of them is wanted */
    int64_t loss;       /* 1: their average loss is wanted */
    int64_t outputs;    /* 1: the outputs of the model for each of them are wanted */
    int64_t jacobian;   /* 1: the gradients of these outputs are wanted */
    const double *y; /* n: targets to take instead of their own, for `examples`; NULL: their own */
    /* D numbers of `there_type`: theta in the memory of the kernels, and `theta` is NULL; else NULL */
    const void *there;
    fab_dtype there_type;
} fab_question;

typedef struct fab_answer {
    double loss;          /* average of -weight log p over the examples */
    const void *gradient; /* D: of that average */
    /* n x D, rows ld apart (0: D): of -weight log p of each; of a question with y: weight 1 */
    const void *examples;
    int64_t ld;
    fab_dtype type;        /* of the gradients and the Jacobian: FAB_F64 or FAB_F32 */
    const double *outputs; /* n x outputs, without the offset */
    /* n outputs x D, rows ld apart (0: D): row i outputs + o has the gradient of output o of row
     * i.  Brought along with the outputs it spares the question for it */
    const void *jacobian;
    int64_t there; /* 1: the gradient is in the memory of the kernels */
} fab_answer;

/* The next question; *done = 1: there is none, and the result is ready.  Asked twice, it is the same question.
 * FAB_STOPPED: whoever watches wanted so, and the next ask goes on. */
FAB_API fab_status fab_fit_ask(fab_fit *f, fab_question *q, int *done);
/* Copies the answer.  One that lacks what was asked for, or is not finite, is refused, and the question stands. */
FAB_API fab_status fab_fit_tell(fab_fit *f, const fab_answer *a);
/* Withdraw the question that waits, where the caller cannot answer it or wants to save first: the fit is as it was before
 * the step that asked, and the next ask begins this step again.  Without one it does nothing. */
FAB_API fab_status fab_fit_withdraw(fab_fit *f);

/* ---- files ----------------------------------------------------------------------------------------- */

/* Save posterior, settings, model (JSON) and, for a stream, the state to continue from, with the metadata and tensors
 * of `more` (or NULL).  Atomic. */
FAB_API fab_status fab_fit_save(fab_fit *f, const char *path, const fab_tensors *more);
/* The same of a run as it stands, after a stop for example: the posterior so far and the state to go on from.  Of a
 * driven fit: not while a question waits for its answer. */
FAB_API fab_status fab_fit_checkpoint(fab_fit *f, const char *path, const fab_tensors *more);
/* The bytes of the file that save writes, or checkpoint (unfinished = 1), in memory.  Gives *bytes: fab_bytes_free. */
FAB_API fab_status fab_fit_pack(fab_fit *f, int unfinished, const fab_tensors *more, void **bytes,
                                size_t *size);

/* Go on with a saved fit (fab_tensors_read, or fab_tensors_parse from memory): the same bytes come out as if it had
 * never stopped.  A stream goes on behind its rows; a run of a batch method gets the same rows again in the update
 * that follows.  The settings come from the file; in: the same as at its beginning, or NULL where the file
 * describes it (vectors, linear models). */
FAB_API fab_status fab_fit_load(fab_fit **f, const fab_tensors *file, const fab_input *in,
                                const fab_exec *x);

#ifdef __cplusplus
}
#endif
#endif
