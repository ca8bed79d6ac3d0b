/* study.c - are the iterates of SGD draws from the posterior?  [T] B.2: Table B.3, Figs. B.2 and B.3.
 *
 *     study SEEDS [ITERATES]   prints csv lines for seeds 1 .. SEEDS; writes the iterates of the first seed, and the
 *                              posterior they should be drawn from, into the file ITERATES
 *
 * Linear regression with two weights (synthetic.h).  SGD on the mean of (y - x . theta)^2, lambda theta added to its
 * gradient ("weight decay"):
 *   1  500 epochs, rate 0.001, batches of 100, lambda 0
 *   2  100 epochs at a constant rate, with lambda; theta after every step, or its mean over disjoint windows
 *   3  the Gaussian of these: swag with columns = recursive-em, whose covariance in two dimensions is the empirical one
 * and the posterior is that of alpha = 0.01, beta = 0.1.  [T] takes lambda = alpha / beta, which belongs to
 * sum (y - x . theta)^2 + lambda |theta|^2; to the gradient of the mean belongs 2 alpha / (beta N) = 2e-4.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/study.h"
#include "../common/synthetic.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = SYNTHETIC_ROWS, BEFORE = 500, AFTER = 100 };
static const double BEFORE_RATE = 0.001, NONE = 1e-300; /* a rate or a penalty that does nothing */

typedef struct variant {
    const char *label;
    double rate, lambda;
    int64_t batch, window;
    fab_swag_columns columns;
} variant;

static const variant variants[] = {
    {"iterates", 0.1, 0.1, 100, 1, FAB_SWAG_BY_RECURSIVE_EM},
    {"iterates", 0.1, 0.001, 100, 1, FAB_SWAG_BY_RECURSIVE_EM},
    {"iterates", 0.1, 2e-4, 100, 1, FAB_SWAG_BY_RECURSIVE_EM},
    {"iterates", 0.01, 0.1, 100, 1, FAB_SWAG_BY_RECURSIVE_EM},
    {"iterates", 0.01, 0.001, 100, 1, FAB_SWAG_BY_RECURSIVE_EM},
    {"iterates", 0.01, 2e-4, 100, 1, FAB_SWAG_BY_RECURSIVE_EM},
    {"windows", 0.1, 0.001, 100, 10, FAB_SWAG_BY_RECURSIVE_EM},
    {"windows", 0.1, 2e-4, 100, 10, FAB_SWAG_BY_RECURSIVE_EM},
    {"windows", 0.1, 0.001, 10, 50, FAB_SWAG_BY_RECURSIVE_EM},
    {"windows", 0.1, 2e-4, 10, 50, FAB_SWAG_BY_RECURSIVE_EM},
    {"swag", 0.1, 2e-4, 100, 10, FAB_SWAG_LAST},
};

/* ---- the model: squares, and where it has been ------------------------------------------------------- */

typedef struct squares {
    double start[2];
    FILE *out; /* every theta it is asked for, or NULL */
    const variant *v;
} squares;

static fab_status loss(void *self, const double *theta, const fab_examples *e, double *value,
                       double *gradient)
{
    const squares *q = self;
    const double n = (double)e->x.n, *x = e->x.p;
    double sum[3] = {0};
    for (int64_t i = 0; i < e->x.n; i++) {
        const double r = e->y[i] - x[2 * i] * theta[0] - x[2 * i + 1] * theta[1];
        sum[0] += r * r / n;
        for (int d = 0; d < 2; d++) sum[1 + d] -= 2 * r * x[2 * i + d] / n;
    }
    *value = sum[0];
    if (gradient) memcpy(gradient, sum + 1, 2 * sizeof *gradient);
    if (q->out)
        fprintf(q->out, "%s %g %g %lld %lld %.8g %.8g\n", q->v->label, q->v->rate, q->v->lambda,
                (long long)q->v->batch, (long long)q->v->window, theta[0], theta[1]);
    return FAB_OK;
}

static void start(void *self, uint64_t seed, double *theta)
{
    (void)seed;
    memcpy(theta, ((const squares *)self)->start, 2 * sizeof *theta);
}

static fab_model model_of(squares *q)
{
    return (fab_model){
        .D = 2, .head = {.D = 2, .classes = 1, .beta = 1}, .self = q, .loss = loss, .start = start};
}

/* ---- the runs ---------------------------------------------------------------------------------------- */

/* 1: where training ends, without a penalty */
static void train(uint64_t seed, const fab_examples *e, squares *q)
{
    const fab_model m = model_of(q);
    fab_sgd_settings s = fab_sgd_defaults();
    const fab_gauss *mode;
    fab_fit *f;
    s.alpha = NONE;
    s.epochs = BEFORE;
    s.batch = 100;
    s.rate = BEFORE_RATE;
    s.optimiser = FAB_OPTIMISER_SGD;
    s.schedule = FAB_SCHEDULE_CONSTANT;
    s.seed = (int64_t)seed;
    must(fab_fit_create(&f, "sgd", &s, sizeof s, &(fab_input){.model = &m}, NULL));
    must(fab_fit_update(f, e));
    must(fab_fit_gauss(f, &mode));
    memcpy(q->start, mode->mu, sizeof q->start);
    fab_fit_free(f);
}

/* 2, 3: the gradient of alpha |theta|^2 / (2 N) is lambda theta.  Gives the fit. */
static fab_fit *collect(uint64_t seed, const fab_examples *e, const squares *q)
{
    const fab_model m = model_of((squares *)q);
    const variant *v = q->v;
    fab_swag_settings s = fab_swag_defaults();
    fab_fit *f;
    s.swa.train.alpha = N * v->lambda;
    s.swa.train.epochs = 1;
    s.swa.train.rate = NONE;
    s.swa.train.batch = v->batch;
    s.swa.train.optimiser = FAB_OPTIMISER_SGD;
    s.swa.average = AFTER;
    s.swa.swag_rate = v->rate;
    s.swa.every = v->window;
    s.swa.window = v->window > 1;
    s.K = v->columns == FAB_SWAG_BY_RECURSIVE_EM ? 1 : 2;
    s.columns = v->columns;
    s.swa.train.seed = (int64_t)seed;
    must(fab_fit_create(&f, "swag", &s, sizeof s, &(fab_input){.model = &m}, NULL));
    must(fab_fit_update(f, e));
    return f;
}

static void measure(uint64_t seed, const fab_examples *e, const squares *q, const fab_gauss *truth)
{
    const variant *v = q->v;
    fab_fit *f = collect(seed, e, q);
    double mean, covariance, w2;
    const fab_gauss *fit;
    must(fab_fit_gauss(f, &fit));
    must(fab_distance_mean(fit, truth, &mean));
    must(fab_distance_covariance(fit, truth, NULL, &covariance));
    must(fab_distance_w2(fit, truth, NULL, &w2));
    printf("%s,%g,%g,%lld,%lld,%llu,%.6g,%.6g,%.6g\n", v->label, v->rate, v->lambda,
           (long long)v->batch, (long long)v->window, (unsigned long long)seed, mean, covariance,
           w2 / 2);
    fab_fit_free(f);
}

/* The exact posterior; gives the fit. */
static fab_fit *exact(const fab_examples *e)
{
    fab_exact_settings s = fab_exact_defaults();
    fab_glm glm = {
        .likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = 2, .classes = 1, .intercept = 0, .beta = 1};
    const fab_model m = fab_model_linear(&glm);
    fab_fit *f;
    s.glm.alpha = SYNTHETIC_ALPHA;
    s.glm.beta = SYNTHETIC_BETA;
    must(fab_fit_create(&f, "exact", &s, sizeof s, &(fab_input){.model = &m}, NULL));
    must(fab_fit_update(f, e));
    return f;
}

/* For the picture: mean and covariance of the posterior. */
static void write_truth(FILE *out, const fab_gauss *truth)
{
    double S[4];
    fab_solver *s;
    must(fab_solver_create(&s, truth, NULL));
    must(fab_solver_dense(s, S));
    fab_solver_free(s);
    fprintf(out, "posterior 0 0 0 0 %.8g %.8g %.8g %.8g %.8g\n", truth->mu[0], truth->mu[1], S[0],
            S[1], S[3]);
}

static void one_seed(uint64_t seed, FILE *out)
{
    double *x = numbers(2 * N), *y = numbers(N);
    const fab_examples e = {.x = {.p = x, .type = FAB_F64, .n = N, .ld = 2}, .y = y};
    const fab_gauss *truth;
    squares q = {.out = NULL};
    synthetic_rows(seed, x, y);
    fab_fit *f = exact(&e);
    must(fab_fit_gauss(f, &truth));
    if (out) write_truth(out, truth);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 9, 0, 2, FAB_F64, q.start);
    train(seed, &e, &q);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        q.v = &variants[i];
        q.out = out;
        measure(seed, &e, &q, truth);
    }
    fab_fit_free(f);
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    if (argc < 2) return fprintf(stderr, "usage: study SEEDS [ITERATES]\n"), 2;
    FILE *out = argc > 2 ? fopen(argv[2], "w") : NULL;
    for (int64_t seed = 1; seed <= atoll(argv[1]); seed++)
        one_seed((uint64_t)seed, seed == 1 ? out : NULL);
    if (out) fclose(out);
    return 0;
}
