/* posterior.h - a fitted posterior as a file: one Gaussian or a mixture, and what a stranger needs.
 *
 *     fab_posterior *p;
 *     fab_posterior_load(&p, "q.safetensors");
 *     p->mix.part[0]->mu ...  fab_tensors_get(p->file, "method") ...
 *     fab_posterior_free(p);
 *
 * Tensors mu (D), F (D x K), psi (D); a Gaussian over part of theta adds theta and index; a mixture has
 * 0.mu, 0.F, .. and weights.  Metadata: fabayes (version) and form are required, the rest is optional.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_POSTERIOR_H
#define FABAYES_POSTERIOR_H

#include "fabayes/mixture.h"
#include "fabayes/tensors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fab_posterior {
    fab_mixture mix;   /* n = 1, weight 1: a single Gaussian */
    fab_tensors *file; /* all tensors and metadata as they were read */
} fab_posterior;

/* Read and believe nothing.  Gives *p. */
FAB_API fab_status fab_posterior_load(fab_posterior **p, const char *path);
FAB_API fab_status fab_posterior_parse(fab_posterior **p, const char *name, const void *bytes,
                                       size_t size);
FAB_API void fab_posterior_free(fab_posterior *p); /* takes NULL */

/* Write a mixture (n = 1: a single Gaussian) atomically, with the metadata and the extra tensors of
 * `more` (or NULL).  Its `fabayes` and `form` are not taken; a tensor named as the posterior's own is
 * refused. */
FAB_API fab_status fab_posterior_save(const char *path, const fab_mixture *m,
                                      const fab_tensors *more);
FAB_API fab_status fab_gauss_save(const char *path, const fab_gauss *g, const fab_tensors *more);

#ifdef __cplusplus
}
#endif
#endif
