/* study.c - the losses of [N] 2.2.1: their curves, what each of them is the least of, and what outliers do to a line.
 *
 *     study_notes_losses curves | least [ROWS] | outliers
 *
 * `least` fits a constant to drawn rows and holds it against the number that minimises the expected loss, within 5 standard errors,
 * and the objective against the formula's mean over the rows, to 1e-12.  Exit status 1: one of them is not so.
 *
 * SPDX-License-Identifier: MIT */
#include <fabayes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAU 0.9
#define EPS 0.5
#define P   0.7 /* of class 1 */

static const struct {
    const char *name;
    fab_loss loss;
    int classes;
} losses[] = {{"squared", FAB_LOSS_SQUARED, 0},
              {"absolute", FAB_LOSS_ABSOLUTE, 0},
              {"pinball", FAB_LOSS_PINBALL, 0},
              {"eps-insensitive", FAB_LOSS_EPS_INSENSITIVE, 0},
              {"hinge", FAB_LOSS_HINGE, 1},
              {"logistic", FAB_LOSS_LOGISTIC, 1},
              {"exponential", FAB_LOSS_EXPONENTIAL, 1}};
enum { LOSSES = sizeof losses / sizeof *losses };

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "%s\n", fab_detail());
    exit(1);
}

static double *numbers(int64_t n)
{
    double *p = calloc((size_t)n, sizeof *p);
    if (p) return p;
    fprintf(stderr, "no memory\n");
    exit(1);
}

/* r = y - f, or y f with y = -1, 1 */
static double loss_of(fab_loss loss, double r)
{
    switch (loss) {
    case FAB_LOSS_ABSOLUTE: return fabs(r);
    case FAB_LOSS_PINBALL: return 2 * fmax(TAU * r, (TAU - 1) * r);
    case FAB_LOSS_EPS_INSENSITIVE: return fmax(fabs(r) - EPS, 0);
    case FAB_LOSS_HINGE: return fmax(1 - r, 0);
    case FAB_LOSS_LOGISTIC: return log(1 + exp(-r));
    case FAB_LOSS_EXPONENTIAL: return exp(-r);
    case FAB_LOSS_AUTO:
    case FAB_LOSS_SQUARED: break;
    }
    return r * r;
}

static void curves(void)
{
    printf("r,01");
    for (int k = 0; k < LOSSES; k++) printf(",%s", losses[k].name);
    printf("\n");
    for (int i = -60; i <= 60; i++) {
        const double r = 0.05 * i;
        printf("%g,%d", r, r <= 0);
        for (int k = 0; k < LOSSES; k++) printf(",%.6g", loss_of(losses[k].loss, r));
        printf("\n");
    }
}

/* theta of a fit of rows with one feature, and the objective. */
static double fit(fab_loss loss, int classes, int64_t n, const double *x, const double *y,
                  double lambda, double theta[2])
{
    fab_glm glm = {.likelihood = classes ? FAB_LIKELIHOOD_BERNOULLI : FAB_LIKELIHOOD_GAUSSIAN,
                   .D = 1,
                   .classes = 1,
                   .intercept = 1};
    const fab_model model = fab_model_linear(&glm);
    const fab_examples e = {.x = {.p = x, .type = FAB_F64, .n = n, .ld = 1}, .y = y};
    fab_erm_settings s = fab_erm_defaults();
    fab_report report;
    const fab_gauss *q;
    fab_fit *f;
    s.loss = loss;
    s.lambda = lambda;
    s.tau = TAU;
    s.eps = EPS;
    must(fab_fit_create(&f, "erm", &s, sizeof s, &(fab_input){.model = &model}, NULL));
    must(fab_fit_update(f, &e));
    must(fab_fit_gauss(f, &q));
    must(fab_fit_report(f, &report));
    theta[0] = q->mu[0];
    theta[1] = q->mu[1];
    fab_fit_free(f);
    return report.objective;
}

/* ---- least -------------------------------------------------------------------------------------------------- */

/* y = exp(z / 2), z normal: its distribution function and density. */
static double below(double y)
{
    return y > 0 ? 0.5 * erfc(-2 * log(y) / sqrt(2)) : 0;
}

static double density(double y)
{
    const double z = 2 * log(y);
    return y > 0 ? exp(-0.5 * z * z) / sqrt(6.283185307179586) * 2 / y : 0;
}

/* The constant of least expected loss, and the standard error of that of n rows. */
static double least_of(fab_loss loss, double n, double *se)
{
    double lo = 0, hi = 10, c;
    switch (loss) {
    case FAB_LOSS_ABSOLUTE: *se = sqrt(0.25 / n) / density(1); return 1;
    case FAB_LOSS_PINBALL:
        c = exp(0.5 * 1.2815515655446004);
        *se = sqrt(TAU * (1 - TAU) / n) / density(c);
        return c;
    case FAB_LOSS_EPS_INSENSITIVE:
        for (int i = 0; i < 100; i++) {
            c = 0.5 * (lo + hi);
            *(1 - below(c + EPS) > below(c - EPS) ? &lo : &hi) = c;
        }
        c = 0.5 * (lo + hi);
        *se = sqrt((1 - below(c + EPS) + below(c - EPS)) / n) /
              (density(c + EPS) + density(c - EPS));
        return c;
    case FAB_LOSS_HINGE: *se = 1e-9; return 1;
    case FAB_LOSS_LOGISTIC: *se = 1 / sqrt(n * P * (1 - P)); return log(P / (1 - P));
    case FAB_LOSS_EXPONENTIAL: *se = 0.5 / sqrt(n * P * (1 - P)); return 0.5 * log(P / (1 - P));
    case FAB_LOSS_AUTO:
    case FAB_LOSS_SQUARED: break;
    }
    *se = sqrt((exp(0.5) - exp(0.25)) / n);
    return exp(0.125);
}

static int least(int64_t n)
{
    double *x = numbers(n), *y = numbers(n), *kind = numbers(n), theta[2];
    int wrong = 0;
    fab_random_normal(1, FAB_PURPOSE_DATA, 0, 0, n, FAB_F64, y);
    fab_random_uniform(1, FAB_PURPOSE_DATA, 1, 0, n, kind);
    for (int64_t i = 0; i < n; i++) {
        y[i] = exp(0.5 * y[i]);
        kind[i] = kind[i] < P;
    }
    printf("loss,least of the expected loss,of the rows,standard error,difference in errors\n");
    for (int k = 0; k < LOSSES; k++) {
        const int classes = losses[k].classes;
        const double *target = classes ? kind : y;
        double se, sum = 0;
        const double wanted = least_of(losses[k].loss, (double)n, &se),
                     objective = fit(losses[k].loss, classes, n, x, target, 1, theta);
        for (int64_t i = 0; i < n; i++)
            sum +=
                loss_of(losses[k].loss, classes ? (2 * kind[i] - 1) * theta[1] : y[i] - theta[1]);
        wrong += !(fabs(theta[1] - wanted) <= 5 * se) ||
                 !(fabs(objective - sum / (double)n) <= 1e-12 * objective * sqrt((double)n));
        printf("%s,%.4f,%.4f,%.2g,%.2f\n", losses[k].name, wanted, theta[1], se,
               (theta[1] - wanted) / se);
    }
    free(x);
    free(y);
    free(kind);
    return wrong != 0;
}

/* ---- outliers ----------------------------------------------------------------------------------------------- */

/* y = 2 x + noise of .3, and a share of the rows at y = 10 where x is below 0. */
static void outliers(void)
{
    enum { N = 2000 };
    double *x = numbers(N), *y = numbers(N), *u = numbers(N), theta[2];
    printf("share");
    for (int k = 0; k < LOSSES && !losses[k].classes; k++) printf(",%s", losses[k].name);
    printf("\n");
    for (int share = 0; share <= 30; share += 5) {
        fab_random_uniform(2, FAB_PURPOSE_DATA, 0, 0, N, x);
        fab_random_normal(2, FAB_PURPOSE_DATA, 1, 0, N, FAB_F64, y);
        fab_random_uniform(2, FAB_PURPOSE_DATA, 2, 0, N, u);
        for (int64_t i = 0; i < N; i++) {
            x[i] = 2 * x[i] - 1;
            y[i] = 2 * x[i] + 0.3 * y[i];
            if (x[i] < 0 && u[i] < 0.02 * share) y[i] = 10;
        }
        printf("%d", share);
        for (int k = 0; k < LOSSES && !losses[k].classes; k++) {
            fit(losses[k].loss, 0, N, x, y, 1e-9, theta);
            printf(",%.3f", theta[0]);
        }
        printf("\n");
    }
    free(x);
    free(y);
    free(u);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "curves") == 0) {
        curves();
        return 0;
    }
    if (strcmp(what, "least") == 0) return least(argc > 2 ? atoll(argv[2]) : 100000);
    if (strcmp(what, "outliers") == 0) {
        outliers();
        return 0;
    }
    fprintf(stderr, "study_notes_losses curves | least [ROWS] | outliers\n");
    return 1;
}
