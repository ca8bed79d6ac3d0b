/* reservoir.h - rows that a stream holds, drawn at random from all that came: the likelihood it reports is theirs.
 *
 *     fab_reservoir_layout(l, &r);                        // in the layout of the handle; D, room, seed, forget set
 *     fab_reservoir_offer(&r, &rows, j, w);               // each row once, with its weight
 *     fab_reservoir_loglik(&r, q, variance, x, &report);  // loglik_mean, loglik_se, loglik_rows
 *
 * Row t of weight w counts w_t = w forget^-(weight so far).  It gets a key e_t = -log(u_t) / a_t, u_t uniform, a_t = w_t s_t;
 * the `room` smallest keys stay (Efraimidis and Spirakis 2006).  With tau the smallest key that did not, row t is there with
 * probability p_t = 1 - exp(-a_t tau), and sums over all rows are estimated by sums of w_t / p_t: without bias whatever the
 * sizes s_t are, and exactly as long as no row was turned away.
 *
 * s_t = 1 + mean of (x_i - m_i)^2 / u_i, with the mean m and the variances u of the rows before it.  One row in ten thousand may
 * be a whole nat of the mean (the elevators table has such); a sample that happens to lack it cannot know, and its standard error
 * says nothing.  By size such a row is nearly always there, with a weight near 1.  Where processes share the coordinates
 * s_t = 1: nobody sees a whole row.
 *
 * The stream knows the mean and the variances v_i of all rows exactly, and so the mean of z = sum_i (x_i - mu_i)^2 / v_i.
 * A row's log-likelihood goes with its z, and what the rows held have too much or too little of z is taken out by
 * regression, with the slope that makes the standard error least: the variance falls by 1 - correlation^2, on tables of
 * pixels to a hundredth.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FA_RESERVOIR_H
#define FAB_FA_RESERVOIR_H

#include "base/memory.h"
#include "fabayes/methods.h"
#include "la/ops.h"
#include "train/state.h"

typedef struct fab_reservoir {
    int64_t D, room, seed;
    double forget;
    int64_t unsized; /* s_t = 1 */

    int64_t offered, n; /* rows that came, rows that are here */
    double age;         /* -log(forget) times the weight of the rows that came */
    double tau;         /* the logarithm of the smallest key turned away; FAB_RESERVOIR_ALL: none */
    double *rows;       /* room x D */
    double *key;        /* room: log e, a heap with the largest on top */
    double *weight;     /* room: log w_t */
    double *size;       /* room: log s_t */
    double *mean, *var; /* D each: of the rows that came */
    double *x;          /* D: the row that comes */
    double seen;        /* their weight */
    int64_t *row;       /* room: which of rows it is */
} fab_reservoir;

#define FAB_RESERVOIR_ALL 1e300

/* The rule of `held = auto` for D coordinates in all processes together. */
int64_t fab_reservoir_room(int64_t held, int64_t D);
#define FAB_HELD_FIELD                                                                  \
    AUTOMATIC(held, I64, 0, 0x1p20,                                                     \
              "rows held, drawn at random from all, whose log-likelihood is reported; " \
              "auto: as many as 4 MB hold, at least 10 and at most 10000; 0: none")

void fab_reservoir_layout(fab_layout *l, fab_reservoir *r);
void fab_reservoir_offer(fab_reservoir *r, const fab_rows *rows, int64_t j, double w);

/* The mean log-likelihood of all rows under q, estimated from the rows held and the variances of all rows (D; 0: of a
 * coordinate that is constant), its standard error, and how many rows are held; NaN, NaN, 0 where none are. */
fab_status fab_reservoir_loglik(const fab_reservoir *r, const fab_gauss *q, const double *variance,
                                const fab_exec *x, fab_report *report);

/* Tensors state.held*; load takes the number of rows from the file. */
fab_status fab_reservoir_save(fab_reservoir *r, fab_tensors *t);
fab_status fab_reservoir_load(fab_reservoir *r, const fab_tensors *t);

#endif
