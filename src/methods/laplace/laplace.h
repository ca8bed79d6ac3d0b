/* laplace.h - what laplace and map share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_LAPLACE_H
#define FAB_LAPLACE_H

#include "fabayes/fit.h"
#include "fabayes/methods.h"
#include "train/mode.h"
#include "train/products.h"

enum { FAB_TURN_ALPHA, FAB_TURN_BETA };
enum { FAB_LAPLACE_RANK = 20 }; /* of the curvature, above FAB_LAPLACE_MAX coordinates */

typedef struct fab_laplace_fit {
    const char *who;
    fab_laplace_settings s;
    fab_glm model;
    const fab_gauss *prior; /* borrowed, or NULL */
    fab_exec exec;
    fab_dtype type; /* of F */
    int point;      /* the mode alone */
    int64_t P, K;   /* coordinates; rank of the curvature, 0: full */
    int dense;      /* P x P matrices are affordable */
    int evidence;   /* is wanted */
    int spread;     /* 4: beta, a dispersion, is auto */
    int turn;       /* 4: what is searched: FAB_TURN_ALPHA, FAB_TURN_BETA */
    double alpha;   /* in force */
    fab_examples e;
    fab_objective *o;
    fab_mode *mode;
    double *extra; /* P x P when dense */
    fab_gauss *q;
    fab_report report;
} fab_laplace_fit;

/* F (P x K) and psi of the first P coordinates as q keeps them. */
void fab_laplace_put(fab_gauss *q, int64_t P, const double *F, const double *psi);

/* q at the mode: N(theta, A^-1), in full or at rank K; in full it leaves the factors of the mode destroyed. */
fab_status fab_laplace_posterior(fab_laplace_fit *fit);
/* The same but for its mean: the curvature at rank K plus diagonal, in precision form. */
fab_status fab_laplace_rank(fab_laplace_fit *fit);

/* The temperature of classes, by rows left out; fit->mode is at its end, and destroyed. */
fab_status fab_laplace_temper(fab_laplace_fit *fit, double *T);
enum { FAB_TEMPER_DRAWS = 32 };     /* of q at a time */
#define FAB_LAPLACE_COLDEST 0x1p-16 /* temperature; where classes separate q is that wide */
/* q at temperature T */
void fab_laplace_cool(fab_gauss *q, double T);

/* Products with the curvature that fab_objective_curvature has left. */
fab_products fab_laplace_products(fab_laplace_fit *fit);

/* log det of the curvature at the mode under a plain prior, estimated with FAB_PROBES random vectors. */
fab_status fab_laplace_logdet(fab_laplace_fit *fit, double *logdet);

/* The verbs of laplace and map. */
fab_status fab_laplace_init(void **handle, const char *who, int point, const void *settings,
                            const fab_input *in, const fab_exec *x);
fab_status fab_laplace_update(void *handle, const fab_examples *e);
fab_status fab_laplace_result(void *handle, const fab_gauss **q);
fab_status fab_laplace_report(void *handle, fab_report *r);
void fab_laplace_free(void *handle);
double fab_laplace_bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x);
extern const fab_fields fab_laplace_table, fab_laplace_net_table, fab_map_table;

/* The row of laplace and map in the list of methods, but for name, summary, fields and general. */
#define FAB_LAPLACE_VERBS                                                                     \
    .takes = FAB_TAKES_LINEAR, .dispersion = 1, .bytes = fab_laplace_bytes, .init = init,     \
    .update = fab_laplace_update, .result = fab_laplace_result, .report = fab_laplace_report, \
    .free = fab_laplace_free

#endif
