/* erm.h - regularised risk: rows, losses, and the ways to the least of it.
 *
 *     sum_i v_i L(y_i, f_i) / V + lambda ((1 - a) |w|^2 + a |w|_1),    f_i = offset_i + x_i'w + b,   V = sum v_i
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_ERM_H
#define FAB_ERM_H

#include "fabayes/methods.h"
#include "methods/erm/quad.h"

enum { FAB_ERM_BLOCK = 256 }; /* rows that are multiplied together */

typedef struct fab_erm_rows {
    const char *who;
    int64_t n, D, P; /* rows; features; with the intercept */
    double *X; /* n x P: less `centre`; a column that does not vary is 0; last the intercept's 1 */
    double *y; /* numbers: less their offset; classes: -1 and 1 */
    double *offset; /* of classes; numbers: 0 */
    double *v;      /* weights; 0: the row is left out */
    double *centre; /* P: the intercept's is 0 */
    fab_loss loss;  /* never auto */
    double tau, eps;
} fab_erm_rows;

/* The penalty of [N]: lambda a |w|_1 + lambda (1 - a) |w|^2. */
typedef struct fab_erm_penalty {
    double l1, l2; /* lambda a, lambda (1 - a) */
    double before; /* l1 of the point that theta is the least of; INFINITY: of none */
} fab_erm_penalty;

typedef struct fab_erm_end {
    double objective, gap;
    int64_t iterations;
    int converged;
} fab_erm_end;

/* L(y, f); its slope in f and its curvature, of smooth ones. */
double fab_erm_loss(const fab_erm_rows *r, double y, double f);
double fab_erm_slope(const fab_erm_rows *r, double y, double f);
double fab_erm_curve(const fab_erm_rows *r, double y, double f);
int fab_erm_is_smooth(fab_loss l); /* logistic, exponential */
int fab_erm_is_pieces(fab_loss l); /* absolute, pinball, eps-insensitive, hinge */
int fab_erm_of_classes(fab_loss l);

/* f_i, and the mean loss of the rows `which` (n of them; NULL: all that are not left out). */
double fab_erm_f(const fab_erm_rows *r, const double *theta, int64_t i);
double fab_erm_mean(const fab_erm_rows *r, const double *theta, const int64_t *which, int64_t n);
/* With the penalty. */
double fab_erm_objective(const fab_erm_rows *r, const double *theta, const fab_erm_penalty *p);

/* The lower triangle of C (P x P, cleared) = sum_i s_i x_i x_i'; block: FAB_ERM_BLOCK x P. */
fab_status fab_erm_gram(const fab_erm_rows *r, const double *s, double *C, double *block,
                        fab_watch *w);

/* ---- squared.c: through the Gram matrix -------------------------------------------------------------------- */

/* Sums over rows: G and c of rows with a 1 (P x P), of y. */
typedef struct fab_erm_sums {
    double *G, *c; /* P x P lower; P */
    double yy, y, V;
} fab_erm_sums;

/* Sums of the rows that s_i > 0 marks. */
fab_status fab_erm_sum(const fab_erm_rows *r, const double *s, fab_erm_sums *to, double *block,
                       fab_watch *w);
/* q of D coordinates of the mean of these sums, the intercept eliminated; and the intercept of its w. */
void fab_erm_quad_of(const fab_erm_rows *r, const fab_erm_sums *s, fab_quad *q);
double fab_erm_intercept_of(const fab_erm_rows *r, const fab_erm_sums *s, const double *w);

/* ---- smooth.c: proximal Newton steps; pieces.c: an interior point ------------------------------------------- */

typedef struct fab_erm_smooth {
    fab_quad q;               /* of P coordinates */
    double *f, *s, *s2, *try; /* n, n, n, P */
    double *block;
} fab_erm_smooth;

void fab_erm_smooth_layout(fab_layout *l, fab_erm_smooth *f, const fab_erm_rows *r);
/* theta (P) from where it stands to the least. */
fab_status fab_erm_smooth_solve(fab_erm_smooth *f, const fab_erm_rows *r, const fab_erm_penalty *p,
                                int64_t max_iter, double *theta, fab_erm_end *end,
                                fab_watch *watch);

typedef struct fab_erm_pieces {
    int64_t m;                                           /* pieces, at most */
    int64_t *row;                                        /* m: of the table, or -1 - j: |w_j| */
    double *t, *lo, *hi;                                 /* m */
    double *p, *q, *a, *dp, *dq, *da, *weight, *rho, *r; /* m */
    double *M, *along, *step, *left, *quadratic, *other; /* P x P; P */
    double *block, *work;                                /* of M's eigenvectors */
} fab_erm_pieces;

void fab_erm_pieces_layout(fab_layout *l, fab_erm_pieces *f, const fab_erm_rows *r);
fab_status fab_erm_pieces_solve(fab_erm_pieces *f, const fab_erm_rows *r, const fab_erm_penalty *p,
                                int64_t max_iter, double *theta, fab_erm_end *end,
                                fab_watch *watch);
/* Of the last: sum over the rows of a_i x_i, P numbers, as sums and not means. */
void fab_erm_pieces_along(const fab_erm_pieces *f, const fab_erm_rows *r, double *along);

#endif
