/* study.c - draws from a precision of low rank (ensemble sampling) against exact moments: [L] Prop. 1, Table 3.
 *
 *     study table d p TIMES      csv lines: d, p, sampler, times, trace of the covariance (mean, standard deviation and
 *                                standard error of estimates from 10 draws each), E sigma(x . theta) (the same)
 *     study entries d p N        csv lines at 100, 1000, .. N draws: d, p, sampler, draws, distance of their
 *                                covariance from the exact one (Frobenius, relative), and the root mean square over
 *                                its entries in their standard errors: near 1 when the sampler is right
 *
 * SPDX-License-Identifier: MIT */
#include "../common/study.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { W_STREAM = 1, PSI_STREAM, X_STREAM, NORMAL_STREAM };
enum { SEED = 1, DRAWS = 10, DENSE_LIMIT = 2000, FIRST_LINE = 100 };
static const double ETA = 1.3, VARIANCE = 0.5;   /* of x . theta: E sigma is near that of Table 3 */
static const double PROBIT2 = 2.546479089470325; /* 8 / pi */

typedef struct sampler {
    const char *label;
    const fab_gauss *q;
    fab_solver *s;
    double *root;  /* d x d, lower: of the covariance; NULL: the draws of the library */
    double *draws; /* DRAWS x d */
} sampler;

/* ---- what is drawn from ------------------------------------------------------------------------- */

/* Precision W W' + psi: columns of W of falling length, psi between 500 and 1500. */
static fab_gauss *precision(int64_t d, int64_t p)
{
    fab_gauss *q;
    must(fab_gauss_create(&q, FAB_FORM_PRECISION, FAB_F64, d, p));
    double *W = q->F;
    fab_random_normal(SEED, FAB_PURPOSE_DATA, W_STREAM, 0, d * p, FAB_F64, W);
    fab_random_uniform(SEED, FAB_PURPOSE_DATA, PSI_STREAM, 0, d, q->psi);
    for (int64_t i = 0; i < d; i++) {
        q->psi[i] = 500 + 1000 * q->psi[i];
        for (int64_t k = 0; k < p; k++) W[i * p + k] *= 30 / (double)(k + 1);
    }
    return q;
}

/* An x with x'Px = VARIANCE, and the mean of q such that x . mu = ETA. */
static double *direction(fab_gauss *q, fab_solver *s)
{
    double *x = numbers(q->D), *Px = numbers(q->D), quadratic = 0;
    fab_random_normal(SEED, FAB_PURPOSE_DATA, X_STREAM, 0, q->D, FAB_F64, x);
    must(fab_solver_times_covariance(s, &(fab_rows){x, FAB_F64, 1, q->D}, Px));
    for (int64_t i = 0; i < q->D; i++) quadratic += x[i] * Px[i];
    for (int64_t i = 0; i < q->D; i++) {
        x[i] *= sqrt(VARIANCE / quadratic);
        q->mu[i] = ETA / sqrt(VARIANCE * quadratic) * Px[i];
    }
    free(Px);
    return x;
}

/* The lower root of the dense covariance. */
static double *dense_root(fab_solver *s, int64_t d)
{
    double *S = numbers(d * d);
    must(fab_solver_dense(s, S));
    for (int64_t k = 0; k < d; k++)
        for (int64_t a = k; a < d; a++) {
            double t = S[a * d + k];
            for (int64_t b = 0; b < k; b++) t -= S[a * d + b] * S[k * d + b];
            S[a * d + k] = a == k ? sqrt(t) : t / S[k * d + k];
        }
    return S;
}

static void use_root(sampler *g)
{
    g->label = "cholesky";
    g->root = dense_root(g->s, g->q->D);
}

static void draw(const sampler *g, uint64_t seed)
{
    const int64_t d = g->q->D;
    if (!g->root) {
        must(fab_solver_sample(g->s, seed, FAB_PURPOSE_SAMPLE, 0, DRAWS, FAB_F64, g->draws, d));
        return;
    }
    fab_random_normal(seed, FAB_PURPOSE_SAMPLE, NORMAL_STREAM, 0, DRAWS * d, FAB_F64, g->draws);
    for (int64_t j = 0; j < DRAWS; j++)
        for (int64_t a = d - 1; a >= 0; a--) {
            double t = g->q->mu[a];
            for (int64_t b = 0; b <= a; b++) t += g->root[a * d + b] * g->draws[j * d + b];
            g->draws[j * d + a] = t;
        }
}

/* ---- Table 3 ------------------------------------------------------------------------------------ */

/* Trace of the covariance and E sigma(x . theta) from DRAWS draws. */
static void estimate(const sampler *g, const double *x, uint64_t seed, double *trace, double *mean)
{
    const int64_t d = g->q->D;
    *trace = *mean = 0;
    draw(g, seed);
    for (int64_t j = 0; j < DRAWS; j++) {
        double eta = 0;
        for (int64_t i = 0; i < d; i++) {
            const double theta = g->draws[j * d + i];
            eta += x[i] * theta;
            *trace += pow(theta - g->q->mu[i], 2) / DRAWS;
        }
        *mean += 1 / (1 + exp(-eta)) / DRAWS;
    }
}

static void print_line(const fab_gauss *q, const char *label, int64_t times, const double *mean,
                       const double *sd)
{
    printf("%lld,%lld,%s,%lld", (long long)q->D, (long long)q->K, label, (long long)times);
    for (int k = 0; k < 2; k++)
        printf(",%.8g,%.3g,%.3g", mean[k], sd[k], sd[k] / sqrt((double)times));
    printf("\n");
    fflush(stdout);
}

static void repeat(const sampler *g, const double *x, int64_t times)
{
    double mean[2] = {0}, sd[2] = {0};
    for (int64_t r = 0; r < times; r++) {
        double value[2];
        estimate(g, x, (uint64_t)r, &value[0], &value[1]);
        for (int k = 0; k < 2; k++) { /* Welford */
            const double off = value[k] - mean[k];
            mean[k] += off / (double)(r + 1);
            sd[k] += off * (value[k] - mean[k]);
        }
    }
    for (int k = 0; k < 2; k++) sd[k] = sqrt(sd[k] / (double)(times - 1));
    print_line(g->q, g->label, times, mean, sd);
}

/* The trace exactly; E sigma by a fine sum, and as [L] does by sigma as a probit. */
static void print_exact(const fab_gauss *q, fab_solver *s)
{
    double *var = numbers(q->D), mean[2] = {0}, weights = 0;
    const double none[2] = {0};
    must(fab_solver_variances(s, var));
    for (int64_t i = 0; i < q->D; i++) mean[0] += var[i];
    for (double z = -9; z <= 9; z += 0.01) {
        mean[1] += exp(-z * z / 2) / (1 + exp(-ETA - sqrt(VARIANCE) * z));
        weights += exp(-z * z / 2);
    }
    mean[1] /= weights;
    print_line(q, "exact", 1, mean, none);
    mean[1] = 1 / (1 + exp(-ETA * sqrt(PROBIT2 / (VARIANCE + PROBIT2))));
    print_line(q, "probit", 1, mean, none);
    free(var);
}

static void table(sampler *g, fab_gauss *q, int64_t times)
{
    double *x = direction(q, g->s);
    print_exact(q, g->s);
    repeat(g, x, times);
    if (q->D <= DENSE_LIMIT) {
        use_root(g);
        repeat(g, x, times);
    }
    free(x);
}

/* ---- Prop. 1 ------------------------------------------------------------------------------------ */

/* Distances of T / n from S, for lower triangles.  The variance of an entry of the covariance of n draws with known
 * mean is (S_aa S_bb + S_ab^2) / n. */
static void print_distance(const sampler *g, const double *S, const double *T, int64_t n)
{
    const int64_t d = g->q->D;
    double z2 = 0, off2 = 0, norm2 = 0;
    for (int64_t a = 0; a < d; a++)
        for (int64_t b = 0; b <= a; b++) {
            const double s = S[a * d + b], off = T[a * d + b] / (double)n - s,
                         twice = a == b ? 1 : 2;
            z2 += off * off * (double)n / (S[a * d + a] * S[b * d + b] + s * s);
            off2 += twice * off * off;
            norm2 += twice * s * s;
        }
    printf("%lld,%lld,%s,%lld,%.5g,%.4f\n", (long long)d, (long long)g->q->K, g->label,
           (long long)n, sqrt(off2 / norm2), sqrt(z2 / (double)(d * (d + 1) / 2)));
}

static void accumulate(const sampler *g, const double *S, int64_t n)
{
    const int64_t d = g->q->D;
    double *T = numbers(d * d);
    int64_t next = FIRST_LINE;
    for (int64_t j = 0; j < n; j += DRAWS) {
        draw(g, (uint64_t)j);
        for (int64_t k = 0; k < DRAWS; k++)
            for (int64_t a = 0; a < d; a++)
                for (int64_t b = 0; b <= a; b++)
                    T[a * d + b] += g->draws[k * d + a] * g->draws[k * d + b];
        if (j + DRAWS == next) {
            print_distance(g, S, T, next);
            next *= 10;
        }
    }
    free(T);
}

static void entries(sampler *g, int64_t n)
{
    double *S = numbers(g->q->D * g->q->D);
    must(fab_solver_dense(g->s, S));
    accumulate(g, S, n);
    use_root(g);
    accumulate(g, S, n);
    free(S);
}

int main(int argc, char **argv)
{
    if (argc != 5) return fprintf(stderr, "usage: study table|entries d p TIMES\n"), 2;
    const int64_t d = atoll(argv[2]), n = atoll(argv[4]);
    fab_gauss *q = precision(d, atoll(argv[3]));
    sampler g = {.label = "ensemble", .q = q, .draws = numbers(DRAWS * d)};
    must(fab_solver_create(&g.s, q, NULL));
    if (strcmp(argv[1], "table") == 0)
        table(&g, q, n);
    else
        entries(&g, n);
    fab_solver_free(g.s);
    fab_gauss_free(q);
    free(g.root);
    free(g.draws);
    return 0;
}
