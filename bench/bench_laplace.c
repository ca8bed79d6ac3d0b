/* bench_laplace.c - the curvature of a large network, 784-400-400-10, beside its training.
 *
 *     bench_laplace [--quick]
 *
 * Rows are random, classes a function of them.  Each line is one fit of two epochs, then two rounds of alpha: processor
 * seconds of the whole, of the same epochs by sgd, and their difference, the cost of the curvature.  The way through the Jacobian of all
 * weights (a model that does not tell its features) is timed on few rows and stated for as many as the others have.
 * Goal: the last layer of 500 rows in 2 s.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/memory.h"
#include "fabayes/fit.h"
#include "fabayes/net.h"
#include "fabayes/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { D = 784, CLASSES = 10, SLOW_ROWS = 3 };

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "bench_laplace: %s\n", fab_detail());
    exit(1);
}

static double *doubles(int64_t n)
{
    double *p = fab_alloc((size_t)n * sizeof *p);
    if (!p) exit(1);
    return p;
}

/* Processor seconds of a fit. */
static double time_fit(const char *method, const fab_model *m, const void *s, size_t size,
                       const fab_examples *e)
{
    const fab_gauss *q;
    fab_fit *f;
    const clock_t before = clock();
    must(fab_fit_create(&f, method, s, size, &(fab_input){.model = m}, NULL));
    must(fab_fit_update(f, e));
    must(fab_fit_gauss(f, &q));
    const double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    fab_fit_free(f);
    return seconds;
}

static fab_laplace_settings settings(int64_t last_layer, fab_structure structure)
{
    fab_laplace_settings s = fab_laplace_defaults();
    s.train.epochs = 2, s.train.rate = 1e-3;
    s.rounds = 2, s.again = 1;
    s.last_layer = last_layer;
    s.structure = structure;
    return s;
}

int main(int argc, char **argv)
{
    const int quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    const int64_t most = quick ? 100 : 10000;
    const fab_net_plan plan = {.layers = "mlp:400,400",
                               .features = D,
                               .likelihood = FAB_LIKELIHOOD_CATEGORICAL,
                               .classes = CLASSES};
    const fab_exec one = {.threads = 1};
    double *x = doubles(most * D), *y = doubles(most);
    fab_net *net;
    must(fab_net_create(&net, &plan, &one));
    const fab_model *m = fab_net_model(net);
    fab_model slow = *m;
    slow.features = NULL;
    fab_random_normal(1, FAB_PURPOSE_DATA, 1, 0, most * D, FAB_F64, x);
    for (int64_t i = 0; i < most; i++) {
        y[i] = 0;
        for (int64_t c = 1; c < CLASSES; c++)
            if (x[i * D + c] > x[i * D + (int64_t)y[i]]) y[i] = (double)c;
    }
    fab_sgd_settings trained = fab_sgd_defaults();
    trained.epochs = 4, trained.rate = 1e-3;
    const fab_laplace_settings last = settings(1, FAB_STRUCTURE_AUTO),
                               diagonal = settings(1, FAB_STRUCTURE_DIAGONAL),
                               all = settings(0, FAB_STRUCTURE_DIAGONAL);
    printf("Processor seconds of 784-400-400-10, two epochs and two rounds of one; in brackets: "
           "without the training\n");
    printf("%8s %10s %20s %20s %20s\n", "rows", "4 epochs", "last layer, K = 20", "its diagonal",
           "diagonal of all");
    for (int64_t N = quick ? 100 : 500; N <= most; N *= 20) {
        const fab_examples e = {.x = {x, FAB_F64, N, D}, .y = y};
        const double base = time_fit("sgd", m, &trained, sizeof trained, &e),
                     a = time_fit("laplace", m, &last, sizeof last, &e),
                     b = time_fit("laplace", m, &diagonal, sizeof diagonal, &e),
                     c = time_fit("laplace", m, &all, sizeof all, &e);
        /* The last layer's rounds train that layer alone: two epochs of the four. */
        printf("%8lld %10.2f %10.2f (%7.2f) %10.2f (%7.2f) %10.2f (%7.2f)\n", (long long)N, base, a,
               a - base / 2, b, b - base / 2, c, c - base);
        fflush(stdout);
    }
    if (!quick) {
        const fab_examples few = {.x = {x, FAB_F64, SLOW_ROWS, D}, .y = y};
        const double seconds = time_fit("laplace", &slow, &last, sizeof last, &few);
        printf("the last layer through the Jacobian of all weights: %.1f s of %d rows, %.0f s of "
               "500\n",
               seconds, SLOW_ROWS, seconds * 500 / SLOW_ROWS);
    }
    fab_net_free(net);
    fab_release(x);
    fab_release(y);
    return 0;
}
