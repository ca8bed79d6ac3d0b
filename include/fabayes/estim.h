/* estim.h - vectors in, a Gaussian out: the four verbs of factor analysis.
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
 * updates does not matter: the same rows in the same order give the same bits.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_ESTIM_H
#define FABAYES_ESTIM_H

#include "fabayes/methods.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
