/* parts.h - the parts of a mixture, and one step of EM for all of them over a table of rows.
 *
 * Part g is N(mu_g, F_g F_g' + diag psi_g) with F of q columns, or of a full covariance with F its Cholesky factor.
 *
 *     fab_parts_begin(p);                        // per step: P, log weights, sums to 0
 *     fab_parts_rows(p, &rows, weight, NULL);    // E step, and the sums of the M step
 *     fab_parts_maximise(p);                     // M step
 *
 * Small matrices are column-major as everywhere (la/small.h), D x k arrays row-major.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MIXTURE_PARTS_H
#define FAB_MIXTURE_PARTS_H

#include "fabayes/gauss.h"
#include "la/ops.h"

/* What the covariances of the parts have in common. */
typedef enum fab_shape {
    FAB_SHAPE_OWN = 0,   /* F_g and psi_g of its own */
    FAB_SHAPE_COMMON,    /* F_g of its own, one psi for all */
    FAB_SHAPE_ISOTROPIC, /* F_g of its own, psi_g one number */
    FAB_SHAPE_FULL,      /* a full covariance each */
    FAB_SHAPE_TIED       /* one full covariance for all */
} fab_shape;

typedef struct fab_parts {
    const char *who;
    int64_t D, G, q;
    int64_t k;     /* columns of P of a part: q, or D of a full covariance */
    int64_t width; /* columns of P in all */
    int64_t sets;  /* of such columns: G, or 1 of a tied covariance */
    fab_shape shape;
    double least; /* floor of psi and of eigenvalues, in variances of the column */
    int threads;
    int density_only; /* no M step: no room for its sums */

    /* What is fitted, in memory of whoever owns it. */
    double *weight; /* G */
    double *mu,
        *psi; /* G x D; psi of a full covariance: half its floor, which stands in for what F leaves */
    double *F;        /* sets x D x k */
    double *centre;   /* D: rows are taken from here */
    double *variance; /* D: of the columns of all rows; of a constant one the mean of the others */

    /* Of the E step. */
    /* D x width: psi^-1 F L^-T with L L' = I + F' psi^-1 F, and behind them (mu - centre) / psi of all parts; full: F^-T */
    double *P;
    double *M;       /* sets x k x k: L */
    double *gram;    /* sets x k x k: F' psi^-1 F */
    double *shift;   /* G x k: P'(mu - centre) */
    double *inverse; /* G x D: 1 / psi */
    double *offset;  /* G: (mu - centre)' psi^-1 (mu - centre) */
    double *from;    /* G x D: mu - centre */
    double *top;     /* G: log weight - (D log 2 pi + log det) / 2 */

    /* The sums of the M step. */
    double *n; /* G: of responsibilities */
    /* G x (k + 1) x D: of r a d' with a = P'd, d = x - mu, and behind them r d; full: D x D, r d d' lower, and r d */
    double *sum;
    double *square;      /* G x D: of r d^2 */
    double loglik, rows; /* sum of w log p, of w */

    int64_t block, piece; /* rows at a time, of a task */
    double *Y, *A, *R;    /* block x D, block x width, block x G */
    double *taken;        /* G x block: R times the weight of its row */
    double *density;      /* block: log p */
    double *T;            /* threads x piece x (D + k + 1): rows of a part, gathered */
    double *small;        /* 7 k x k + (k + 1) x D */

    int64_t floored, dropped; /* coordinates or eigenvalues at the floor; parts that have died */
} fab_parts;

/* Lay out all but what is fitted; p has who, D, G, q, shape, threads. */
void fab_parts_layout(fab_layout *l, fab_parts *p);
/* Numbers of what is fitted: of F. */
int64_t fab_parts_columns(int64_t D, int64_t q, fab_shape shape);
int64_t fab_parts_size_of_F(int64_t D, int64_t G, int64_t q, fab_shape shape);

/* Ready for rows: FAB_NUMERIC where a covariance is none. */
fab_status fab_parts_begin(fab_parts *p);
/* Add what these rows say.  label (or NULL): the part of each, instead of responsibilities.  weight: NULL: 1.  density
 * (or NULL): log p of each row; share (or NULL): n x G, its responsibilities. */
void fab_parts_rows(fab_parts *p, const fab_rows *x, const double *weight, const int64_t *label,
                    double *density, double *share);
/* Move the parts. */
fab_status fab_parts_maximise(fab_parts *p);

/* The parts that live as Gaussians with weights; part and weight have room for G, *n says how many.  The Gaussians have been made
 * by fab_parts_gauss_create, G of them. */
fab_status fab_parts_give(const fab_parts *p, fab_gauss *const *own, const fab_gauss **part,
                          double *weight, int64_t *n);

#endif
