/* study.c - Bayesian logistic regression in one pass at rank p against the true posterior: [L] Fig. 3 and 4.
 *
 *     study PROBLEM d N SIGMA0 SEED SPEC..   prints csv lines: problem, d, N, sigma0, seed, p, method, rows seen,
 *         KL(q || posterior of all rows) up to the evidence, that minus Laplace's, the same with the mean moved to
 *         the mode, the difference by Monte Carlo and its standard error, seconds
 *
 * PROBLEM is the distance of the two clusters that the program of [L] draws, or `text`, what its text says.
 * SPEC is METHOD;LABEL;RANK;POINTS;name value ..: a fit with those settings (the value K is RANK), and a line at each
 * of POINTS equal parts of the pass.  Laplace comes first.  The KL is a sum of one-dimensional integrals
 * (common/logistic.h); Monte Carlo is the check.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/fits.h"
#include "../common/logistic.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 50, DRAW_SEED = 7 };

typedef struct problem {
    const char *kind;
    logistic l;
    double *mode;        /* d */
    double kl;           /* of Laplace */
    double *draws;       /* of Laplace: log q - log p at its DRAWS draws */
    fab_glm model;       /* without an intercept */
    const char *base[3]; /* settings of every fit */
    char alpha[32];
} problem;

static void make(problem *p)
{
    if (strcmp(p->kind, "text") == 0)
        logistic_text(&p->l);
    else
        logistic_clusters(&p->l, atof(p->kind));
    snprintf(p->alpha, sizeof p->alpha, "%.17g", 1 / (p->l.sigma0 * p->l.sigma0));
    p->base[0] = "alpha";
    p->base[1] = p->alpha;
    p->model =
        (fab_glm){.likelihood = FAB_LIKELIHOOD_BERNOULLI, .D = p->l.d, .classes = 1, .beta = 1};
}

/* Mean and standard error of the differences to the draws of Laplace, which have the same random numbers. */
static void paired(const problem *p, const double *draws, double *mean, double *se)
{
    double squares = 0;
    *mean = 0;
    for (int k = 0; k < DRAWS; k++) *mean += (draws[k] - p->draws[k]) / DRAWS;
    for (int k = 0; k < DRAWS; k++) squares += pow(draws[k] - p->draws[k] - *mean, 2);
    *se = sqrt(squares / (DRAWS - 1) / DRAWS);
}

/* ---- fits --------------------------------------------------------------------------------------- */

static void report(const problem *p, const fab_gauss *q, int64_t rank, const char *label,
                   int64_t rows, double seconds)
{
    const double kl = logistic_divergence(&p->l, q, q->mu),
                 at_mode = logistic_divergence(&p->l, q, p->mode);
    double *draws = logistic_draws(&p->l, q, DRAWS, DRAW_SEED), mean, se;
    paired(p, draws, &mean, &se);
    printf("%s,%lld,%lld,%g,%llu,%lld,\"%s\",%lld,%.6f,%.4f,%.4f,%.4f,%.2g,%.3g\n", p->kind,
           (long long)p->l.d, (long long)p->l.N, p->l.sigma0, (unsigned long long)p->l.seed,
           (long long)rank, label, (long long)rows, kl, kl - p->kl, at_mode - p->kl, mean, se,
           seconds);
    fflush(stdout);
    free(draws);
}

/* The Laplace approximation, which the others are held against. */
static void fit_laplace(problem *p)
{
    const fab_examples e = {.x = {p->l.x, FAB_F64, p->l.N, p->l.d}, .y = p->l.y};
    double seconds;
    const fab_gauss *q;
    fab_fit *f = fit_variant("laplace", p->model, p->base, &(variant){"", {NULL}}, 0, &e, &seconds);
    must(fab_fit_gauss(f, &q));
    p->mode = numbers(p->l.d);
    memcpy(p->mode, q->mu, (size_t)p->l.d * sizeof *p->mode);
    p->kl = logistic_divergence(&p->l, q, q->mu);
    p->draws = logistic_draws(&p->l, q, DRAWS, DRAW_SEED);
    report(p, q, p->l.d, "laplace", p->l.N, seconds);
    fab_fit_free(f);
}

/* One pass, with a line at each of `points` equal parts of it. */
static void fit(const problem *p, const char *method, const variant *v, int64_t rank,
                int64_t points)
{
    fab_fit *f = begin_variant(method, p->model, p->base, v, rank);
    double seconds = 0;
    for (int64_t k = 0; k < points; k++) {
        const int64_t first = p->l.N * k / points, last = p->l.N * (k + 1) / points;
        const fab_rows x = {p->l.x + first * p->l.d, FAB_F64, last - first, p->l.d};
        const fab_gauss *q;
        const double before = fab_clock();
        must(fab_fit_update(f, &(fab_examples){.x = x, .y = p->l.y + first}));
        must(fab_fit_gauss(f, &q));
        seconds += fab_clock() - before;
        report(p, q, rank, v->label, last, seconds);
    }
    fab_fit_free(f);
}

/* METHOD;LABEL;RANK;POINTS;name value .. */
static void fit_spec(const problem *p, char *spec)
{
    char *part[5] = {spec};
    for (int i = 1; i < 5; i++) {
        part[i] = strchr(part[i - 1], ';');
        if (!part[i])
            exit((fprintf(stderr, "'%s' is not METHOD;LABEL;RANK;POINTS;SETTINGS\n", spec), 2));
        *part[i]++ = 0;
    }
    const variant v = variant_of_words(part[1], part[4]);
    fit(p, part[0], &v, atoll(part[2]), atoll(part[3]));
}

int main(int argc, char **argv)
{
    if (argc < 6) return fprintf(stderr, "usage: study PROBLEM d N SIGMA0 SEED SPEC..\n"), 2;
    problem p = {.kind = argv[1],
                 .l = {.d = atoll(argv[2]),
                       .N = atoll(argv[3]),
                       .sigma0 = atof(argv[4]),
                       .seed = strtoull(argv[5], NULL, 10)}};
    make(&p);
    fit_laplace(&p);
    for (int i = 6; i < argc; i++) fit_spec(&p, argv[i]);
    free(p.mode);
    free(p.draws);
    logistic_free(&p.l);
    return 0;
}
