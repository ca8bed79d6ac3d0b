/* vifa_linear.c - vifa of a linear model, whose posterior and whose optimum at rank K are known.
 *
 * SPDX-License-Identifier: MIT */
#include "vifa_linear.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STARTS = 8 }; /* of the optimum's search */

/* The average of -log p(y | x, theta) and its gradient. */
static fab_status linear_loss(void *self, const double *theta, const fab_examples *e, double *loss,
                              double *gradient)
{
    const linear_case *c = self;
    const double n = (double)e->x.n;
    *loss = -0.5 * log(c->beta / 6.283185307179586477);
    for (int64_t d = 0; d < c->D && gradient; d++) gradient[d] = 0;
    for (int64_t i = 0; i < e->x.n; i++) {
        const double *x = (const double *)e->x.p + i * e->x.ld;
        double r = e->y[i];
        for (int64_t d = 0; d < c->D; d++) r -= x[d] * theta[d];
        *loss += 0.5 * c->beta * r * r / n;
        for (int64_t d = 0; d < c->D && gradient; d++) gradient[d] -= c->beta * r * x[d] / n;
    }
    return FAB_OK;
}

void linear_case_solve(linear_case *c)
{
    fab_exact_settings s = fab_exact_defaults();
    fab_glm glm = {
        .likelihood = FAB_LIKELIHOOD_GAUSSIAN, .D = c->D, .classes = 1, .intercept = 0, .beta = 1};
    const fab_model m = fab_model_linear(&glm);
    fab_report r;
    if (c->alpha > 0) s.glm.alpha = c->alpha;
    if (c->beta > 0) s.glm.beta = c->beta;
    must(fab_fit_create(&c->fit, "exact", &s, sizeof s, &(fab_input){.model = &m}, NULL));
    must(fab_fit_update(c->fit, &c->e));
    must(fab_fit_gauss(c->fit, &c->posterior));
    must(fab_fit_report(c->fit, &r));
    c->alpha = r.alpha;
    c->beta = r.beta;
    must(fab_vifa_optimum(&c->best, &c->kl, c->posterior, c->K, STARTS, 1));
}

void linear_case_free(linear_case *c)
{
    fab_fit_free(c->fit);
    fab_gauss_free(c->best);
}

linear_case linear_case_scaled(const linear_case *c, double *y)
{
    const int64_t n = c->e.x.n;
    linear_case out = *c;
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) mean += c->e.y[i] / (double)n;
    for (int64_t i = 0; i < n; i++) square += pow(c->e.y[i] - mean, 2) / (double)n;
    for (int64_t i = 0; i < n; i++) y[i] = c->e.y[i] / sqrt(square);
    out.e.y = y;
    out.alpha *= square;
    out.beta *= square;
    out.unit = sqrt(square);
    linear_case_solve(&out);
    return out;
}

static fab_vifa_settings settings_of(const linear_case *c, int64_t seed, const variant *v)
{
    const fab_fields *fields = fab_method_fields(fab_method_find("vifa"));
    fab_vifa_settings s = fab_vifa_defaults();
    char rows[32];
    s.train.alpha = c->alpha;
    s.K = c->K;
    s.train.seed = seed;
    snprintf(rows, sizeof rows, "%lld", (long long)c->e.x.n);
    for (int i = 0; v->settings[i]; i += 2) {
        const char *value = v->settings[i + 1];
        must(fab_settings_parse(fields, &s, v->settings[i], strcmp(value, "N") ? value : rows));
    }
    return s;
}

/* Steps of a run: a step takes a batch for each draw or pair of draws, with newton all rows. */
static int64_t steps_of(const linear_case *c, const fab_vifa_settings *s)
{
    if (s->optimiser == FAB_VIFA_NEWTON) return s->train.epochs;
    const int64_t each = s->shared ? 1 : s->pairs ? (s->draws + 1) / 2 : s->draws;
    return s->train.epochs * ((c->e.x.n + s->train.batch - 1) / s->train.batch) / each;
}

static void print_line(const linear_case *c, const char *name, int64_t seed, const char *label,
                       const fab_gauss *q, const fab_vifa_settings *s, double seconds)
{
    double mean, covariance, w2, best, kl;
    must(fab_distance_mean(q, c->posterior, &mean));
    must(fab_distance_covariance(q, c->posterior, NULL, &covariance));
    must(fab_distance_covariance(c->best, c->posterior, NULL, &best));
    must(fab_distance_w2(q, c->posterior, NULL, &w2));
    must(fab_distance_kl(q, c->posterior, NULL, &kl));
    if (c->unit > 0) w2 *= c->unit;
    printf("%s,%lld,%s,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%lld,%lld,%lld,%.3g\n", name, (long long)seed,
           label, mean, covariance, w2 / (double)c->D, best, kl, c->kl, (long long)steps_of(c, s),
           (long long)s->train.epochs, (long long)s->draws, seconds);
    fflush(stdout);
}

void linear_case_run(const linear_case *c, const char *name, int64_t seed, const variant *v,
                     fab_gauss **q)
{
    const fab_model m = {.D = c->D,
                         .head = {.D = c->D, .classes = 1, .beta = c->beta},
                         .linear = 1,
                         .self = (void *)(uintptr_t)c,
                         .loss = linear_loss};
    const fab_vifa_settings s = settings_of(c, seed, v);
    const fab_gauss *found;
    fab_fit *f;
    must(fab_fit_create(&f, "vifa", &s, sizeof s, &(fab_input){.model = &m},
                        &(fab_exec){.threads = 1}));
    const double begin = fab_clock();
    must(fab_fit_update(f, &c->e));
    must(fab_fit_gauss(f, &found));
    print_line(c, name, seed, v->label, found, fab_fit_settings(f), fab_clock() - begin);
    if (q) must(fab_gauss_copy(q, found, FAB_F64));
    fab_fit_free(f);
}
