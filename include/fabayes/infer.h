/* infer.h - a model and its data in, a Gaussian over theta out: the four verbs of inference.
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
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_INFER_H
#define FABAYES_INFER_H

#include "fabayes/glm.h"
#include "fabayes/methods.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a fit says about itself. */
typedef struct fab_inference {
    int64_t n;           /* rows seen */
    int64_t iterations;  /* of a batch method; 0 for a stream */
    int64_t converged;   /* 1 yes, 0 stopped at max_iter, -1 does not apply */
    int64_t floored;     /* coordinates whose psi stands at its floor */
    double alpha, beta;  /* precisions in force: of the prior, of the noise (gaussian) */
    double log_evidence; /* where the method knows it, else NaN */
} fab_inference;

typedef struct fab_infer fab_infer;

/* Build an inference.  Copies *settings; copies `prior` (any Gaussian over theta; NULL: precision alpha,
 * and intercept_alpha for intercepts). */
FAB_API fab_status fab_infer_init(fab_infer **f, const fab_method *m, const void *settings,
                                  const fab_gauss *prior, const fab_exec *x);
FAB_API fab_status fab_infer_update(fab_infer *f, const fab_examples *e);
/* The posterior of the rows so far.  Lends until the next update or free. */
FAB_API fab_status fab_infer_result(fab_infer *f, const fab_gauss **q);
FAB_API void fab_infer_free(fab_infer *f); /* takes NULL */

FAB_API fab_status fab_infer_report(fab_infer *f,
                                    fab_inference *r);        /* computes the result if need be */
FAB_API fab_status fab_infer_model(fab_infer *f, fab_glm *m); /* with beta as in force */
FAB_API const fab_method *fab_infer_method(const fab_infer *f);
FAB_API const void *fab_infer_settings(const fab_infer *f);

/* Save posterior, model (JSON), settings and, for a stream, its state; go on from there. */
FAB_API fab_status fab_infer_save(fab_infer *f, const char *path, const fab_tensors *more);
FAB_API fab_status fab_infer_resume(fab_infer **f, const fab_tensors *file, const fab_exec *x);

/* The verbs a method of inference brings; called by the functions above, which check what comes in.
 * init's prior is a copy in f64 that stays until free; examples are borrowed until result.
 * Every settings table of inference starts with the fields of fab_glm_settings. */
typedef struct fab_infer_verbs {
    fab_status (*init)(void **handle, const void *settings, const fab_gauss *prior,
                       const fab_exec *x);
    fab_status (*update)(void *handle, const fab_examples *e);
    fab_status (*result)(void *handle, const fab_gauss **q);
    fab_status (*report)(void *handle, fab_inference *r);
    void (*free)(void *handle);
    fab_status (*save)(void *handle, fab_tensors *t); /* NULL: cannot continue */
    fab_status (*load)(void *handle, const fab_tensors *t);
} fab_infer_verbs;

/* The settings every method of inference begins with. */
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
