/* fit.h - the list of methods: what `fabayes methods` prints and `-m NAME` finds.
 *
 * Every method that turns vectors into a Gaussian has the same four verbs behind one table, so that a
 * program can run any of them by name.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_FIT_H
#define FABAYES_FIT_H

#include "fabayes/files.h"
#include "fabayes/gauss.h"
#include "fabayes/model.h"
#include "fabayes/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a method says about a fit. */
typedef struct fab_diagnostics {
    int64_t n;          /* rows seen */
    int64_t floored;    /* coordinates whose psi stands at its floor */
    int64_t iterations; /* of a batch method; 0 for a stream */
    int64_t converged;  /* 1 yes, 0 stopped at max_iter, -1 does not apply */
    double loglik_mean; /* mean log-likelihood per row where the method knows it, else NaN */
} fab_diagnostics;

/* One method.  The functions are called by fab_estim (estim.h), which checks what comes in. */
typedef struct fab_method {
    const char *name, *summary;
    int64_t streams;         /* 1: any number of updates; 0: its whole table in one update */
    const fab_fields *table; /* its settings; D, K and seed are fields of every table */

    fab_status (*init)(void **handle, const void *settings, const fab_exec *x);
    fab_status (*update)(void *handle, const fab_rows *rows); /* batch: borrows rows until result */
    fab_status (*result)(void *handle, const fab_gauss **q);  /* lends until update or free */
    fab_status (*diagnostics)(void *handle, fab_diagnostics *d); /* after result */
    void (*free)(void *handle);

    /* Streams: add the tensors state.* needed to continue exactly (borrowed until the set is freed or
     * the handle is used again); take them back into a fresh handle of the same settings. */
    fab_status (*save)(void *handle, fab_tensors *t);
    fab_status (*load)(void *handle, const fab_tensors *t);

    /* Bytes a handle of these settings needs for n rows, the rows themselves not counted. */
    double (*bytes)(const void *settings, int64_t n, const fab_exec *x);

    /* A method of inference (infer.h) has these verbs instead of the ones above; NULL: vectors in. */
    const struct fab_infer_verbs *infer;
    /* A method of linear models: who does the same for networks, with settings of its own; or NULL. */
    const struct fab_method *network;
} fab_method;

FAB_API int64_t fab_method_count(void);
FAB_API const fab_method *fab_method_at(int64_t i);
FAB_API const fab_method *fab_method_find(const char *name); /* NULL: no such method */
/* Who does for networks what m does for linear models; m itself where there is no other. */
FAB_API const fab_method *fab_method_of_networks(const fab_method *m);

/* ---- estim ------------------------------------------------------------------------------------- */

/* vectors in, a Gaussian out: the four verbs of factor analysis.
 *
 *     fab_recursive_em_settings s = fab_recursive_em_defaults(D, K);
 *     fab_estim *e;
 *     const fab_gauss *q;
 *
 *     fab_estim_init(&e, fab_method_find("recursive-em"), &s, NULL);
 *     while (next(&rows)) fab_estim_update(e, &rows);
 *     fab_estim_result(e, &q);                  // q->mu, q->F, q->psi
 *     fab_estim_save(e, "q.safetensors", NULL); // and fab_estim_resume goes on from there
 *     fab_estim_free(e);
 *
 * A stream is read once: each row is seen in one update and may be forgotten.  How rows are split over
 * updates does not matter: the same rows in the same order give the same bits. */

typedef struct fab_estim fab_estim;

/* Build an estimator.  Copies *settings (the struct that m->table describes).  On failure *e is NULL. */
FAB_API fab_status fab_estim_init(fab_estim **e, const fab_method *m, const void *settings,
                                  const fab_exec *x);
/* Take rows.  A stream forgets them; a batch method takes its whole table in one update and borrows it
 * until result.  A row that is not finite is refused, and the state is as it was. */
FAB_API fab_status fab_estim_update(fab_estim *e, const fab_rows *rows);
/* The Gaussian of the rows so far.  Lends until the next update or free. */
FAB_API fab_status fab_estim_result(fab_estim *e, const fab_gauss **q);
FAB_API void fab_estim_free(fab_estim *e); /* takes NULL */

/* What happened; computes the result when that is not there yet. */
FAB_API fab_status fab_estim_diagnostics(fab_estim *e, fab_diagnostics *d);

FAB_API const fab_method *fab_estim_method(const fab_estim *e);
FAB_API const void *fab_estim_settings(const fab_estim *e); /* lends until free */
FAB_API int64_t fab_estim_rows(const fab_estim *e);         /* rows seen */

/* Save the result, the settings and, for a stream, the state to continue from, with the metadata and
 * tensors of `more` (or NULL).  Atomic. */
FAB_API fab_status fab_estim_save(fab_estim *e, const char *path, const fab_tensors *more);
/* Go on from a saved stream: the same bytes come out as if it had never stopped. */
FAB_API fab_status fab_estim_resume(fab_estim **e, const fab_tensors *file, const fab_exec *x);

/* ---- infer ------------------------------------------------------------------------------------- */

/* a model and its data in, a Gaussian over theta out: the four verbs of inference.
 *
 *     fab_exact_settings s = fab_exact_defaults(D);
 *     fab_infer *f;
 *     const fab_gauss *q;
 *
 *     fab_infer_init(&f, fab_method_find("exact"), &s, NULL, NULL);
 *     fab_infer_update(f, &examples);
 *     fab_infer_result(f, &q);
 *     fab_infer_free(f);
 *
 * Streams take any number of updates, batch methods their whole table in one, borrowed until result.
 * Methods for networks, and for any function of theta with a gradient, take it as a fab_model:
 *
 *     fab_infer_init_model(&f, fab_method_find("sgd"), &s, fab_net_model(net), NULL, NULL); */

/* What a fit says about itself. */
typedef struct fab_inference {
    int64_t n;           /* rows seen */
    int64_t iterations;  /* of a batch method; 0 for a stream */
    int64_t converged;   /* 1 yes, 0 stopped at max_iter, -1 does not apply */
    int64_t floored;     /* coordinates whose psi stands at its floor */
    double alpha, beta;  /* precisions in force: of the prior, of the noise (gaussian) */
    double log_evidence; /* where the method knows it, else NaN */
    double loss;         /* of a model: average of -log p in the last epoch, else NaN */
    double held_out;     /* the same of rows held out, where there are any, else NaN */
} fab_inference;

typedef struct fab_infer fab_infer;

/* Build an inference.  Copies *settings; copies `prior` (any Gaussian over theta; NULL: precision alpha,
 * and intercept_alpha for intercepts). */
FAB_API fab_status fab_infer_init(fab_infer **f, const fab_method *m, const void *settings,
                                  const fab_gauss *prior, const fab_exec *x);
/* The same for any model.  Copies *model, borrows model->self until free; a beta among the settings is held in
 * the model.  prior NULL: precision alpha for all coordinates but the model's free ones. */
FAB_API fab_status fab_infer_init_model(fab_infer **f, const fab_method *m, const void *settings,
                                        const fab_model *model, const fab_gauss *prior,
                                        const fab_exec *x);
/* Bytes a method needs for a model and n rows, both not counted. */
FAB_API double fab_infer_model_bytes(const fab_method *m, const void *settings,
                                     const fab_model *model, int64_t n);
FAB_API fab_status fab_infer_update(fab_infer *f, const fab_examples *e);
/* The posterior of the rows so far.  Lends until the next update or free.  A run that the progress hook stopped
 * (FAB_STOPPED) goes on when result is called again. */
FAB_API fab_status fab_infer_result(fab_infer *f, const fab_gauss **q);
/* The same of all runs (fab_model_settings), with equal weights; result and report are those of the first.  Lends
 * until the next update or free. */
FAB_API fab_status fab_infer_mixture(fab_infer *f, fab_mixture *m);
FAB_API void fab_infer_free(fab_infer *f); /* takes NULL */

FAB_API fab_status fab_infer_report(fab_infer *f,
                                    fab_inference *r);        /* computes the result if need be */
FAB_API fab_status fab_infer_model(fab_infer *f, fab_glm *m); /* with beta as in force */
FAB_API const fab_method *fab_infer_method(const fab_infer *f);
FAB_API const void *fab_infer_settings(const fab_infer *f); /* auto as chosen for the model */

/* Save posterior (of several runs: the mixture), model (JSON), settings and, for a stream, its state; go on from there. */
FAB_API fab_status fab_infer_save(fab_infer *f, const char *path, const fab_tensors *more);
FAB_API fab_status fab_infer_resume(fab_infer **f, const fab_tensors *file, const fab_exec *x);

/* Save a run as it stands, after a stop for example: the posterior so far and the state to go on from.  Methods
 * for models only. */
FAB_API fab_status fab_infer_checkpoint(fab_infer *f, const char *path, const fab_tensors *more);
/* Go on with a saved run: the same model and, in the update that follows, the same rows give the same bytes as
 * a run that was never stopped.  The settings come from the file. */
FAB_API fab_status fab_infer_resume_model(fab_infer **f, const fab_tensors *file,
                                          const fab_model *model, const fab_gauss *prior,
                                          const fab_exec *x);

/* The verbs a method of inference brings; called by the functions above, which check what comes in.
 * init's prior is a copy in f64 that stays until free; examples are borrowed until result.
 * Settings tables start with the fields of fab_glm_settings where there is an init, of fab_model_settings where
 * there is an init_model. */
typedef struct fab_infer_verbs {
    fab_status (*init)(void **handle, const void *settings, const fab_gauss *prior,
                       const fab_exec *x); /* NULL: needs a model */
    fab_status (*init_model)(void **handle, const void *settings, const fab_model *model,
                             const fab_gauss *prior, const fab_exec *x); /* NULL: takes none */
    double (*model_bytes)(const void *settings, const fab_model *model, int64_t n);
    /* Put numbers where the rules of the settings say auto; NULL: nothing to choose from the model. */
    void (*resolve)(void *settings, const fab_model *model);
    fab_status (*so_far)(void *handle, const fab_gauss **q); /* result, of an unfinished run */
    fab_status (*update)(void *handle, const fab_examples *e);
    fab_status (*result)(void *handle, const fab_gauss **q);
    fab_status (*report)(void *handle, fab_inference *r);
    void (*free)(void *handle);
    fab_status (*save)(void *handle, fab_tensors *t); /* NULL: cannot continue */
    fab_status (*load)(void *handle, const fab_tensors *t);
} fab_infer_verbs;

/* The settings every method for any model begins with. */
typedef struct fab_model_settings {
    double alpha;   /* prior precision of the weights */
    double beta;    /* gaussian: noise precision; auto: as the model has it */
    int64_t epochs; /* passes over the rows */
    int64_t batch;  /* rows in a step */
    double rate;    /* learning rate */
    int64_t seed;
    int64_t runs; /* independent runs, with seeds seed, seed + 1, .. */
} fab_model_settings;

/* The settings every method of generalised linear models begins with. */
typedef struct fab_glm_settings {
    int64_t D;              /* features */
    int64_t likelihood;     /* fab_likelihood */
    int64_t classes;        /* categorical */
    int64_t intercept;      /* 1: theta has an intercept */
    double alpha;           /* prior precision of the coefficients; auto: the method's rule */
    double beta;            /* gaussian: noise precision; auto: the method's rule */
    double intercept_alpha; /* prior precision of the intercept (GLMs and streams) */
    int64_t seed;
} fab_glm_settings;

#ifdef __cplusplus
}
#endif
#endif
