/* study.c - large-scale approximations of [N] 6.5: the kernel by m features, and what becomes of the posterior's variance.
 *
 *     study kernel SEEDS [MOST]   by m: root mean square error of k(x, z) over pairs of 200 rows, of random features (SEEDS maps),
 *                                 what the formula says, orthogonal ones, and landmarks of these rows; exit status 1: random features
 *                                 are more than 5 standard errors from the formula
 *     study posterior [MOST]      by kernel, approximation and m, beside the exact process at 500 new rows, some of them outside:
 *                                 kernel, by, m, sd: the mean ratio of standard deviations of f; far: the same where the exact one is
 *                                 above half of the prior's; error: rms difference of means in exact sd; nll: mean -log p(y) less that
 *                                 of the exact process; kernel and noise are given
 *     study starvation MAPS       by kernel and m, of random features: the same ratio, mean and standard error over MAPS maps, where
 *                                 rows to learn and new ones are normal and the noise has sd .3
 *
 * Random features come in pairs, cos and sin of one frequency: var of phi(x)' phi(z) is (1 + k(2 d) - 2 k(d)^2) / m at d = x - z.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/study.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 2 };

/* ---- the kernel ----------------------------------------------------------------------------------- */

enum { ROWS = 200 };

/* Mean squared error of phi phi' of all pairs i < j. */
static double error_of(const fab_features *f, const double *x, const double *K)
{
    const int64_t m = fab_features_size(f);
    double *phi = numbers(ROWS * m), sum = 0;
    must(fab_features_apply(f, ROWS, x, D, phi, m, NULL, NULL));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < i; j++) {
            double q = 0;
            for (int64_t a = 0; a < m; a++) q += phi[i * m + a] * phi[j * m + a];
            sum += pow(q - K[i * ROWS + j], 2);
        }
    free(phi);
    return sum / (ROWS * (ROWS - 1) / 2.0);
}

static double random_error(const fab_kernel *k, int64_t m, int64_t orthogonal, int64_t seeds,
                           const double *x, const double *K, double *se)
{
    double sum = 0, squares = 0;
    for (int64_t s = 0; s < seeds; s++) {
        fab_features *f;
        must(fab_features_rff(&f, k, m, orthogonal, (uint64_t)s + 1));
        const double e = error_of(f, x, K);
        sum += e;
        squares += e * e;
        fab_features_free(f);
    }
    const double mean = sum / (double)seeds;
    *se = sqrt(fmax(0, squares / (double)seeds - mean * mean) / (double)seeds);
    return mean;
}

/* The mean of (1 + k(2 d) - 2 k(d)^2) / m over pairs. */
static double formula(const fab_kernel *k, int64_t m, const double *x, const double *K)
{
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < i; j++) {
            double far[D], zero[D] = {0}, twice;
            for (int d = 0; d < D; d++) far[d] = 2 * (x[i * D + d] - x[j * D + d]);
            must(fab_kernel_cross(k, 1, far, D, 1, zero, D, &twice, 1, NULL));
            sum += 1 + twice - 2 * K[i * ROWS + j] * K[i * ROWS + j];
        }
    return sum / (ROWS * (ROWS - 1) / 2.0) / (double)m;
}

static int kernel(int64_t seeds, int64_t most)
{
    static const char *const kernels[] = {"1*rbf:l=1", "1*matern32:l=1"};
    double x[ROWS * D], *K = numbers(ROWS * ROWS), se, other;
    int wrong = 0;
    fab_random_normal(1, FAB_PURPOSE_DATA, 1, 0, ROWS * D, FAB_F64, x);
    printf("kernel,m,rff,formula,orthogonal,nystrom\n");
    for (int a = 0; a < 2; a++) {
        fab_kernel *k;
        must(fab_kernel_create(&k, kernels[a], D, NULL));
        must(fab_kernel_gram(k, ROWS, x, D, K, ROWS, NULL));
        for (int64_t m = 8; m <= most; m *= 2) {
            fab_features *f = NULL;
            const double random = random_error(k, m, 0, seeds, x, K, &se),
                         says = formula(k, m, x, K);
            const double orthogonal = random_error(k, m, 1, seeds, x, K, &other);
            double landmarks = NAN;
            if (m <= ROWS) {
                must(fab_features_nystrom(&f, k, m, ROWS, x, D, NULL));
                landmarks = error_of(f, x, K);
                fab_features_free(f);
            }
            printf("%s,%lld,%.4g,%.4g,%.4g,%.4g\n", kernels[a], (long long)m, sqrt(random),
                   sqrt(says), sqrt(orthogonal), sqrt(landmarks));
            wrong |= fabs(random - says) > 5 * se;
        }
        fab_kernel_free(k);
    }
    free(K);
    return wrong;
}

/* ---- the posterior -------------------------------------------------------------------------------- */

enum { TRAIN = 1000, TEST = 500 };

typedef struct rows {
    double *x, *y, *f;
} rows;

typedef struct scene {
    int normal;   /* rows are; else uniform in a square, new ones in a larger one */
    double noise; /* sd */
} scene;

/* f is one function of the kernel for all rows. */
static void draw(const fab_kernel *k, const scene *s, rows *train, rows *new)
{
    enum { ALL = TRAIN + TEST };
    fab_features *f;
    double *x = numbers(ALL * D), *e = numbers(2 * ALL);
    fab_random_normal(2, FAB_PURPOSE_DATA, 2, 0, 2 * ALL, FAB_F64, e);
    if (s->normal)
        fab_random_normal(2, FAB_PURPOSE_DATA, 3, 0, ALL * D, FAB_F64, x);
    else {
        fab_random_uniform(2, FAB_PURPOSE_DATA, 1, 0, ALL * D, x);
        for (int i = 0; i < ALL * D; i++) x[i] = (i < TRAIN * D ? 3 : 4) * (2 * x[i] - 1);
    }
    must(fab_features_nystrom(&f, k, ALL, ALL, x, D, NULL));
    const int64_t m = fab_features_size(f);
    double *phi = numbers(ALL * m);
    must(fab_features_apply(f, ALL, x, D, phi, m, NULL, NULL));
    rows *const to[] = {train, new};
    for (int i = 0; i < ALL; i++) {
        rows *r = to[i >= TRAIN];
        const int at = i < TRAIN ? i : i - TRAIN;
        for (int64_t j = 0; j < m; j++) r->f[at] += phi[i * m + j] * e[j];
        r->y[at] = r->f[at] + s->noise * e[ALL + i];
        memcpy(r->x + at * D, x + i * D, D * sizeof *x);
    }
    fab_features_free(f);
    free(phi);
    free(x);
    free(e);
}

typedef struct answer {
    double mean[TEST], sd[TEST], nll; /* sd of f */
} answer;

static void predict(const char *model, const char *method, int64_t inducing, double sd,
                    const rows *train, const rows *new, answer *out)
{
    char text[32], noise[32];
    const char *settings[] = {noise, inducing ? text : NULL, NULL};
    const fab_arrays learn = {.n = TRAIN, .x = train->x, .D = D, .y = {.p = train->y}},
                     ask = {.n = TEST, .x = new->x, .D = D, .y = {.p = new->y}};
    const fab_plan plan = {.model = model,
                           .likelihood = "gaussian",
                           .method = method,
                           .settings = settings,
                           .no_scale = 1,
                           .no_intercept = 1};
    fab_regression *r;
    fab_predictions *p;
    snprintf(noise, sizeof noise, "beta=%.17g", 1 / (sd * sd));
    snprintf(text, sizeof text, "inducing=%lld", (long long)inducing);
    must(fab_regression_fit(&r, &(fab_data){.arrays = &learn}, &plan, NULL));
    must(fab_regression_predict(r, &(fab_data){.arrays = &ask},
                                &(fab_predict_plan){.with_target = 1, .with_density = 1}, &p));
    out->nll = 0;
    for (int i = 0; i < TEST; i++) {
        out->mean[i] = p->p[i].mean;
        out->sd[i] = sqrt(fmax(0, p->p[i].sd * p->p[i].sd - sd * sd));
        out->nll -= p->density[i] / TEST;
    }
    fab_predictions_free(p);
    fab_regression_free(r);
}

static void compare(const char *kernel, const char *by, int64_t m, const answer *a,
                    const answer *exact)
{
    double sd = 0, far = 0, error = 0;
    int outside = 0;
    for (int i = 0; i < TEST; i++) {
        const double ratio = a->sd[i] / exact->sd[i];
        sd += ratio / TEST;
        error += pow((a->mean[i] - exact->mean[i]) / exact->sd[i], 2) / TEST;
        if (exact->sd[i] > 0.5) {
            far += ratio;
            outside++;
        }
    }
    printf("%s,%s,%lld,%.3f,%.3f,%.3f,%.3f\n", kernel, by, (long long)m, sd, far / outside,
           sqrt(error), a->nll - exact->nll);
    fflush(stdout);
}

static int posterior(int64_t most)
{
    static const char *const kernels[] = {"1*rbf:l=1", "1*matern32:l=1"};
    static const struct {
        const char *by, *model, *more, *method; /* model NULL: a process with inducing inputs */
    } ways[] = {{"rff", "rff", ":seed=3", "exact"},
                {"orthogonal rff", "rff", ":orthogonal:seed=3", "exact"},
                {"nystrom", "nystrom", "", "exact"},
                {"vfe", NULL, "", "vfe"},
                {"fitc", NULL, "", "fitc"}};
    rows train = {numbers(TRAIN * D), numbers(TRAIN), numbers(TRAIN)},
         new = {numbers(TEST * D), numbers(TEST), numbers(TEST)};
    static answer exact, here;
    const scene s = {0, 0.1};
    char model[128];
    printf("kernel,by,m,sd,far,error,nll\n");
    for (int a = 0; a < 2; a++) {
        fab_kernel *k;
        must(fab_kernel_create(&k, kernels[a], D, NULL));
        memset(train.f, 0, TRAIN * sizeof(double));
        memset(new.f, 0, TEST * sizeof(double));
        draw(k, &s, &train, &new);
        snprintf(model, sizeof model, "gp:%s", kernels[a]);
        predict(model, "gp", 0, s.noise, &train, &new, &exact);
        compare(kernels[a], "exact", TRAIN, &exact, &exact);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            if (!fab_method_find(ways[w].method)) continue;
            for (int64_t m = 16; m <= most; m *= 2) {
                if (ways[w].model)
                    snprintf(model, sizeof model, "%s:%s:%lld%s", ways[w].model, kernels[a],
                             (long long)m, ways[w].more);
                else
                    snprintf(model, sizeof model, "gp:%s", kernels[a]);
                predict(model, ways[w].method, ways[w].model ? 0 : m, s.noise, &train, &new, &here);
                compare(kernels[a], ways[w].by, m, &here, &exact);
            }
        }
        fab_kernel_free(k);
    }
    free(train.x), free(train.y), free(train.f), free(new.x), free(new.y), free(new.f);
    return 0;
}

static int starvation(int maps)
{
    static const char *const kernels[] = {"1*rbf:l=1", "1*matern32:l=1"};
    rows train = {numbers(TRAIN * D), numbers(TRAIN), numbers(TRAIN)},
         new = {numbers(TEST * D), numbers(TEST), numbers(TEST)};
    static answer exact, here;
    const scene s = {1, 0.3};
    char model[128];
    printf("kernel,m,maps,sd,se\n");
    for (int a = 0; a < 2; a++) {
        fab_kernel *k;
        must(fab_kernel_create(&k, kernels[a], D, NULL));
        memset(train.f, 0, TRAIN * sizeof(double));
        memset(new.f, 0, TEST * sizeof(double));
        draw(k, &s, &train, &new);
        snprintf(model, sizeof model, "gp:%s", kernels[a]);
        predict(model, "gp", 0, s.noise, &train, &new, &exact);
        for (int64_t m = 16; m <= 256; m *= 2) {
            double sum = 0, square = 0;
            for (int seed = 1; seed <= maps; seed++) {
                double ratio = 0;
                snprintf(model, sizeof model, "rff:%s:%lld:seed=%d", kernels[a], (long long)m,
                         seed);
                predict(model, "exact", 0, s.noise, &train, &new, &here);
                for (int i = 0; i < TEST; i++) ratio += here.sd[i] / exact.sd[i] / TEST;
                sum += ratio;
                square += ratio * ratio;
            }
            const double mean = sum / maps, var = (square - maps * mean * mean) / (maps - 1);
            printf("%s,%lld,%d,%.3f,%.3f\n", kernels[a], (long long)m, maps, mean,
                   sqrt(fmax(var, 0) / maps));
            fflush(stdout);
        }
        fab_kernel_free(k);
    }
    free(train.x), free(train.y), free(train.f), free(new.x), free(new.y), free(new.f);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "kernel") == 0 && argc > 2)
        return kernel(atoll(argv[2]), argc > 3 ? atoll(argv[3]) : 1024);
    if (strcmp(what, "posterior") == 0) return posterior(argc > 2 ? atoll(argv[2]) : 512);
    if (strcmp(what, "starvation") == 0 && argc > 2 && atoi(argv[2]) > 1)
        return starvation(atoi(argv[2]));
    return fprintf(stderr,
                   "usage: study kernel SEEDS [MOST] | posterior [MOST] | starvation MAPS\n"),
           2;
}
