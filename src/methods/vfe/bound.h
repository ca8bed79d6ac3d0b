/* bound.h - a Gaussian process through m inducing inputs: its bound or approximate evidence, with gradients, and its posterior.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_METHODS_VFE_BOUND_H
#define FAB_METHODS_VFE_BOUND_H

#include "fabayes/kernel.h"
#include "fabayes/gauss.h"

typedef enum fab_bound_kind { FAB_BOUND_VFE, FAB_BOUND_DTC, FAB_BOUND_FITC } fab_bound_kind;

typedef struct fab_bound fab_bound;

/* Rows that it is of, all borrowed until free or forget. */
typedef struct fab_bound_rows {
    int64_t n;
    const double *X;          /* n x D */
    const double *y, *weight; /* n each; weight NULL: 1 */
} fab_bound_rows;

/* Sums over the rows: all that the posterior knows of them. */
typedef struct fab_bound_sums {
    double rows, log_noise, /* sum log d_i */
        squares,            /* sum y_i^2 / d_i */
        left;               /* sum (k_ii - q_ii) / d_i */
    double jitter;
} fab_bound_sums;

enum { FAB_BOUND_SUMS = sizeof(fab_bound_sums) / sizeof(double) };

/* Copies k and Z (m x D).  centre (D): what inputs are seen from, or NULL: the mean of the rows. */
fab_status fab_bound_create(fab_bound **b, fab_bound_kind kind, const fab_kernel *k,
                            const fab_bound_rows *rows, int64_t m, const double *Z,
                            const double *centre, const fab_exec *x);
void fab_bound_free(fab_bound *b); /* takes NULL */

/* The value at theta (fab_kernel_size(k) logarithms), a noise and Z (NULL: as they are), and its gradient, or NULL, by theta, log
 * noise and, where it is given, Z: size + 1 + m D numbers.  Jitter that a factor needed stays from call to call, so that a search sees one function;
 * fresh: it is looked for again.  FAB_NUMERIC: there is no factor.  Afterwards the posterior is that of all rows. */
fab_status fab_bound_at(fab_bound *b, const double *theta, double noise, const double *Z, int fresh,
                        double *value, double *gradient);
/* One row after the other joins the sums, parameters and Z as they are: so many updates as one likes leave the same bits.  The
 * value is then that of all rows. */
fab_status fab_bound_add(fab_bound *b, const fab_bound_rows *rows, double *value);

fab_bound_kind fab_bound_kind_of(const fab_bound *b);
const fab_bound_rows *fab_bound_rows_of(const fab_bound *b); /* lent until free */
int64_t fab_bound_size(const fab_bound *b);                  /* m */
const double *fab_bound_inputs(const fab_bound *b);
const double *fab_bound_centre(const fab_bound *b);
double fab_bound_jitter(const fab_bound *b);

/* What it knows of rows, for files: sums, c (m) and S (m x m, both halves); lent until the next call.  And back. */
void fab_bound_state(const fab_bound *b, const fab_bound_sums **sums, const double **c,
                     const double **S);
fab_status fab_bound_resume(fab_bound *b, const double *theta, double noise,
                            const fab_bound_sums *sums, const double *c, const double *S,
                            double *value);

/* q(v), v = Lz^-1 f(Z), whose prior is N(0, I): precision I + S = F F' + diag(psi), psi = 1 / 2, mean v.  q: m x m factors. */
fab_status fab_bound_gauss(const fab_bound *b, fab_gauss *q);
/* f at other rows.  Gives *p. */
fab_status fab_bound_process(const fab_bound *b, fab_process **p, const fab_exec *x);
/* Its parts: a (m), L and C (m x m, row-major), as fab_process_of_inducing takes them. */
void fab_bound_parts(const fab_bound *b, const double **a, const double **L, const double **C);

#endif
