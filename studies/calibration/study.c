/* study.c - simulation-based calibration: does a posterior cover the theta that made the data?
 *
 *     study SETS SETS_GLM [RANKS.csv]    prints csv lines: model, method, K, sets, coverage of the 50, 90 and
 *                                        95 % intervals pooled over coordinates, the largest chi-square of the
 *                                        ranks of a coordinate and its p-value (Bonferroni over coordinates),
 *                                        mean rank histogram into RANKS.csv
 *
 * theta is drawn from the prior that the fit is given, the data from theta.  If the posterior is right, the rank
 * of theta_i among 99 draws of it is uniform on 0 .. 99 and theta_i lies in 90 % of the 90 % intervals, whatever
 * the model.  Exit status 1: a method that is exact in theory (linear: exact, lrvga with K = D) covers less than
 * 88 or more than 92 %, or its ranks are refused at level 0.001.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/fa_model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 6, N = 60, DRAWS = 99, BINS = 20, MAX_SETTINGS = 512, MAX_P = D + 1 };
#define ALPHA 1.0
#define BETA  1.0
#define LEVEL 0.001

typedef struct trial {
    const char *model, *method;
    fab_likelihood likelihood;
    int64_t K; /* 0: the method has none */
    int exact; /* in theory */
} trial;

static const trial trials[] = {
    {"linear", "exact", FAB_LIKELIHOOD_GAUSSIAN, 0, 1},
    {"linear", "lrvga", FAB_LIKELIHOOD_GAUSSIAN, D, 1},
    {"linear", "lrvga", FAB_LIKELIHOOD_GAUSSIAN, 2, 0},
    {"logistic", "laplace", FAB_LIKELIHOOD_BERNOULLI, 0, 0},
    {"logistic", "lrvga", FAB_LIKELIHOOD_BERNOULLI, D + 1, 0},
    {"logistic", "lrvga", FAB_LIKELIHOOD_BERNOULLI, 2, 0},
    {"poisson", "laplace", FAB_LIKELIHOOD_POISSON, 0, 0},
    {"poisson", "lrvga", FAB_LIKELIHOOD_POISSON, D + 1, 0},
    {"poisson", "lrvga", FAB_LIKELIHOOD_POISSON, 2, 0},
};

typedef struct tally {
    int64_t P, sets;
    double count[MAX_P][BINS];
    double within50, within90, within95; /* coordinates, over all sets */
} tally;

/* ---- data --------------------------------------------------------------------------------------- */

/* The least y with P(Y <= y) >= u. */
static double poisson_of(double u, double rate)
{
    double y = 0, p = exp(-rate), sum = p;
    while (sum < u && y < 1e6) sum += p *= rate / ++y;
    return y;
}

static double target_of(fab_likelihood l, double eta, double u, double z)
{
    if (l == FAB_LIKELIHOOD_BERNOULLI) return u < 1 / (1 + exp(-eta));
    return l == FAB_LIKELIHOOD_POISSON ? poisson_of(u, exp(eta)) : eta + z / sqrt(BETA);
}

/* theta from the prior, rows with correlated columns, targets; data set number `set`. */
static void simulate(const trial *t, int64_t P, uint64_t set, double *theta, double *x, double *y)
{
    const double slope =
        t->likelihood == FAB_LIKELIHOOD_POISSON ? 0.4 : 1; /* counts stay below some thousands */
    double u[N], z[N];
    fab_random_normal(set, FAB_PURPOSE_DATA, 1, 0, P, FAB_F64, theta);
    fab_random_normal(set, FAB_PURPOSE_DATA, 2, 0, N * D, FAB_F64, x);
    fab_random_uniform(set, FAB_PURPOSE_DATA, 3, 0, N, u);
    fab_random_normal(set, FAB_PURPOSE_DATA, 4, 0, N, FAB_F64, z);
    for (int64_t i = 0; i < P; i++) theta[i] /= sqrt(ALPHA);
    for (int64_t j = 0; j < N; j++) {
        double eta = P > D ? theta[D] : 0;
        for (int64_t i = 1; i < D; i++) x[j * D + i] = 0.8 * x[j * D + i] + 0.6 * x[j * D];
        for (int64_t i = 0; i < D; i++) eta += (x[j * D + i] *= slope) * theta[i];
        y[j] = target_of(t->likelihood, eta, u[j], z[j]);
    }
}

/* ---- fits --------------------------------------------------------------------------------------- */

static void set_number(const fab_fields *fields, void *settings, const char *name, double v)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", v);
    must(fab_settings_parse(fields, settings, name, text));
}

static fab_fit *begin(const trial *t)
{
    const fab_fields *fields = fab_method_fields(fab_method_find(t->method));
    const int linear = t->likelihood == FAB_LIKELIHOOD_GAUSSIAN;
    fab_glm glm = {
        .likelihood = t->likelihood, .D = D, .classes = 1, .intercept = !linear, .beta = BETA};
    const fab_model model = fab_model_linear(&glm);
    double settings[MAX_SETTINGS];
    fab_fit *f;
    fab_settings_defaults(fields, settings);
    set_number(fields, settings, "alpha", ALPHA);
    if (linear) set_number(fields, settings, "beta", BETA);
    set_number(fields, settings, "intercept_alpha", ALPHA);
    if (t->K) set_number(fields, settings, "K", (double)t->K);
    must(fab_fit_create(&f, t->method, settings, fields->size, &(fab_input){.model = &model},
                        &(fab_exec){.threads = 1}));
    return f;
}

/* Add one posterior: intervals of its marginals, ranks among its draws. */
static void judge(const fab_gauss *q, uint64_t set, const double *theta, tally *a)
{
    double v[MAX_P], draws[DRAWS * MAX_P];
    fab_solver *s;
    must(fab_solver_create(&s, q, NULL));
    must(fab_solver_variances(s, v));
    must(fab_solver_sample(s, set + 1000000, FAB_PURPOSE_SAMPLE, 0, DRAWS, FAB_F64, draws, q->D));
    for (int64_t i = 0; i < q->D; i++) {
        const double z = fabs(theta[i] - q->mu[i]) / sqrt(v[i]);
        int rank = 0;
        for (int k = 0; k < DRAWS; k++) rank += draws[k * q->D + i] < theta[i];
        a->count[i][rank * BINS / (DRAWS + 1)]++;
        a->within50 += z < 0.67448975;
        a->within90 += z < 1.64485363;
        a->within95 += z < 1.95996398;
    }
    fab_solver_free(s);
    a->sets++;
}

static void fit_all(const trial *t, int64_t sets, tally *a)
{
    double theta[MAX_P], x[N * D], y[N];
    *a = (tally){.P = D + (t->likelihood != FAB_LIKELIHOOD_GAUSSIAN)};
    for (uint64_t set = 1; set <= (uint64_t)sets; set++) {
        const fab_gauss *q;
        fab_fit *f = begin(t);
        simulate(t, a->P, set, theta, x, y);
        must(fab_fit_update(f, &(fab_examples){.x = {x, FAB_F64, N, D}, .y = y}));
        must(fab_fit_gauss(f, &q));
        judge(q, set, theta, a);
        fab_fit_free(f);
    }
}

/* ---- the verdict -------------------------------------------------------------------------------- */

/* P(chi-square of BINS - 1 = 19 degrees > x): the finite sum for an odd number. */
static double chi_square_tail(double x)
{
    double term = sqrt(x), sum = term;
    for (int k = 3; k < BINS - 1; k += 2) sum += term *= x / k;
    return erfc(sqrt(x / 2)) + 2 * sum * exp(-x / 2) / sqrt(8 * atan(1));
}

static double largest_chi_square(const tally *a)
{
    const double expected = (double)a->sets / BINS;
    double worst = 0;
    for (int64_t i = 0; i < a->P; i++) {
        double sum = 0;
        for (int b = 0; b < BINS; b++)
            sum += (a->count[i][b] - expected) * (a->count[i][b] - expected) / expected;
        worst = fmax(worst, sum);
    }
    return worst;
}

/* 1 when a method that is exact is not calibrated */
static int report(const trial *t, const tally *a, FILE *ranks)
{
    const double all = (double)(a->sets * a->P), chi = largest_chi_square(a),
                 p = fmin(1, (double)a->P * chi_square_tail(chi)), covered = a->within90 / all;
    printf("%s,%s,%lld,%lld,%.4f,%.4f,%.4f,%.1f,%.2g\n", t->model, t->method,
           (long long)(t->K ? t->K : a->P), (long long)a->sets, a->within50 / all, covered,
           a->within95 / all, chi, p);
    fflush(stdout);
    for (int b = 0; b < BINS && ranks; b++) {
        double sum = 0;
        for (int64_t i = 0; i < a->P; i++) sum += a->count[i][b];
        fprintf(ranks, "%s %s K=%lld,%d,%.5f\n", t->model, t->method,
                (long long)(t->K ? t->K : a->P), b, sum / all * BINS);
    }
    if (ranks) fprintf(ranks, "\n\n");
    return t->exact && !(covered >= 0.88 && covered <= 0.92 && p >= LEVEL);
}

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "usage: study SETS SETS_GLM [RANKS.csv]\n"), 2;
    FILE *ranks = argc > 3 ? fopen(argv[3], "w") : NULL;
    int wrong = 0;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        tally a;
        fit_all(&trials[i], atoll(argv[trials[i].likelihood == FAB_LIKELIHOOD_GAUSSIAN ? 1 : 2]),
                &a);
        wrong += report(&trials[i], &a, ranks);
    }
    if (ranks) fclose(ranks);
    if (wrong) fprintf(stderr, "%d exact methods are not calibrated\n", wrong);
    return wrong > 0;
}
