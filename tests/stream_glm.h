/* stream_glm.h - examples of generalised linear models, and handles of the methods that stream them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_STREAM_GLM_H
#define FAB_TESTS_STREAM_GLM_H

#include "dense.h"
#include "fabayes/gauss.h"
#include "fit/method.h"

typedef struct data {
    int64_t D, n;
    double *x, *y, *w, *offset; /* n x D, n, n or NULL, n or NULL */
} data;

static inline double sigmoid(double t)
{
    return 1 / (1 + exp(-t));
}

/* Rows x ~ N(0, scale^2), y of the likelihood at coefficients N(0, 1)/sqrt(D) and intercept 0.3. */
static inline data make_data(fab_likelihood l, int64_t D, int64_t n, double scale)
{
    data d = {D, n, doubles(n * D), doubles(n), NULL, NULL};
    double *theta = doubles(D), *z = doubles(n), *u = doubles(n);
    fab_random_normal(21, FAB_PURPOSE_DATA, 0, 0, D, FAB_F64, theta);
    fab_random_normal(21, FAB_PURPOSE_DATA, 1, 0, n * D, FAB_F64, d.x);
    fab_random_normal(21, FAB_PURPOSE_DATA, 2, 0, n, FAB_F64, z);
    fab_random_uniform(21, FAB_PURPOSE_DATA, 3, 0, n, u);
    for (int64_t j = 0; j < n; j++) {
        double eta = 0.3;
        for (int64_t i = 0; i < D; i++) eta += d.x[j * D + i] * theta[i] / sqrt((double)D);
        for (int64_t i = 0; i < D; i++) d.x[j * D + i] *= scale;
        d.y[j] = l == FAB_LIKELIHOOD_GAUSSIAN    ? eta + 0.5 * z[j]
                 : l == FAB_LIKELIHOOD_BERNOULLI ? u[j] < sigmoid(eta)
                                                 : floor(exp(eta) + u[j]);
    }
    return d;
}

/* Weights on (0.5, 1.5) and small offsets as well. */
static inline void add_weights(data *d)
{
    d->w = doubles(d->n);
    d->offset = doubles(d->n);
    fab_random_uniform(21, FAB_PURPOSE_DATA, 4, 0, d->n, d->w);
    fab_random_normal(21, FAB_PURPOSE_DATA, 5, 0, d->n, FAB_F64, d->offset);
    for (int64_t j = 0; j < d->n; j++) d->w[j] += 0.5;
    for (int64_t j = 0; j < d->n; j++) d->offset[j] *= 0.2;
}

static inline fab_examples rows_from(const data *d, int64_t first, int64_t n)
{
    return (fab_examples){{d->x + first * d->D, FAB_F64, n, d->D},
                          d->y + first,
                          d->w ? d->w + first : NULL,
                          d->offset ? d->offset + first : NULL};
}

typedef struct any_settings {
    int64_t field[40]; /* room for any method's struct */
    fab_glm glm;
} any_settings;

/* Words of the model among those of the settings; 0: it is none. */
static inline int model_word(fab_glm *g, const char *name, const char *value)
{
    if (strcmp(name, "classes") == 0)
        g->classes = atoll(value);
    else if (strcmp(name, "intercept") == 0)
        g->intercept = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
    else if (strcmp(name, "likelihood") == 0)
        for (int l = 0; l < 4; l++) {
            if (strcmp(value, fab_likelihood_name((fab_likelihood)l)) == 0)
                g->likelihood = (fab_likelihood)l;
        }
    else
        return 0;
    return 1;
}

/* Settings and model from "name=value name=value", on top of the defaults. */
static inline fab_status try_settings(any_settings *s, const char *method, int64_t D,
                                      const char *text)
{
    const fab_fields *t = fab_method_find(method)->fields;
    char line[512], *save = NULL;
    fab_settings_defaults(t, s);
    s->glm = (fab_glm){.D = D, .classes = 1, .intercept = 1};
    snprintf(line, sizeof line, "%s", text);
    for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        if (model_word(&s->glm, word, value)) continue;
        if (fab_settings_parse(t, s, word, value) != FAB_OK) return FAB_BAD_ARGUMENT;
    }
    return FAB_OK;
}

static inline fab_status create(fab_fit **f, const char *method, any_settings *s,
                                const fab_gauss *prior, const fab_exec *x)
{
    const fab_model m = fab_model_linear(&s->glm);
    return fab_fit_create(f, method, s, fab_method_find(method)->fields->size,
                          &(fab_input){.model = &m, .prior = prior}, x);
}

static inline fab_fit *open_fit(const char *method, int64_t D, const char *text,
                                const fab_gauss *prior, const fab_exec *x)
{
    any_settings s;
    fab_fit *f;
    if (try_settings(&s, method, D, text) != FAB_OK) fail_msg("settings: %s", fab_detail());
    if (create(&f, method, &s, prior, x) != FAB_OK) fail_msg("init: %s", fab_detail());
    return f;
}

static inline void feed(fab_fit *f, const data *d, int64_t first, int64_t n)
{
    const fab_examples e = rows_from(d, first, n);
    if (fab_fit_update(f, &e) != FAB_OK) fail_msg("update: %s", fab_detail());
}

static inline const fab_gauss *result_of(fab_fit *f)
{
    const fab_gauss *q = NULL;
    if (fab_fit_gauss(f, &q) != FAB_OK) fail_msg("result: %s", fab_detail());
    return q;
}

/* The result of all rows in one update.  Gives: fab_gauss_free. */
static inline fab_gauss *fitted(const char *method, const data *d, const char *text,
                                const fab_gauss *prior, const fab_exec *x)
{
    fab_gauss *copy;
    fab_fit *f = open_fit(method, d->D, text, prior, x);
    feed(f, d, 0, d->n);
    const fab_gauss *q = result_of(f);
    assert_int_equal(fab_gauss_copy(&copy, q, q->type), FAB_OK);
    fab_fit_free(f);
    return copy;
}

static inline void assert_same_bits(const fab_gauss *a, const fab_gauss *b)
{
    const size_t size = a->type == FAB_F32 ? 4 : 8;
    assert_int_equal(a->D, b->D);
    assert_int_equal(a->K, b->K);
    assert_memory_equal(a->mu, b->mu, (size_t)a->D * 8);
    assert_memory_equal(a->psi, b->psi, (size_t)a->D * 8);
    assert_memory_equal(a->F, b->F, (size_t)(a->D * a->K) * size);
}

/* ---- the closed form ---------------------------------------------------------------------------- */

typedef struct closed {
    int64_t T;
    real *S; /* covariance */
    real *mu;
} closed;

/* Posterior of a linear model with an intercept as the last coordinate, prior N(0, 1/alpha, 1/intercept). */
static inline closed closed_form(const data *d, double alpha, double beta, double intercept)
{
    const int64_t D = d->D, T = D + (intercept > 0);
    real *A = dense_new(T * T), *b = dense_new(T);
    for (int64_t i = 0; i < T; i++) A[i * T + i] = i < D ? alpha : intercept;
    for (int64_t j = 0; j < d->n; j++) {
        const real w = beta * (d->w ? d->w[j] : 1), y = d->y[j] - (d->offset ? d->offset[j] : 0);
        for (int64_t i = 0; i < T; i++) {
            const real xi = w * (i < D ? d->x[j * D + i] : 1);
            b[i] += xi * y;
            for (int64_t k = 0; k < T; k++) A[i * T + k] += xi * (k < D ? d->x[j * D + k] : 1);
        }
    }
    real *S = dense_inverse(T, A);
    return (closed){T, S, dense_mul(T, T, 1, S, b)};
}

/* The largest error of q, relative to the largest number of its kind. */
static inline double distance_to(const fab_gauss *q, const closed *c)
{
    fab_solver *s;
    double *S = doubles(c->T * c->T), worst = 0;
    real top = 0, mean = 0;
    assert_int_equal(q->D, c->T);
    assert_int_equal(fab_solver_create(&s, q, NULL), FAB_OK);
    assert_int_equal(fab_solver_dense(s, S), FAB_OK);
    fab_solver_free(s);
    for (int64_t i = 0; i < c->T * c->T; i++) top = r_max(top, r_abs(c->S[i]));
    for (int64_t i = 0; i < c->T; i++) mean = r_max(mean, r_abs(c->mu[i]));
    for (int64_t i = 0; i < c->T * c->T; i++)
        worst = fmax(worst, (double)(r_abs(S[i] - c->S[i]) / top));
    for (int64_t i = 0; i < c->T; i++)
        worst = fmax(worst, (double)(r_abs(q->mu[i] - c->mu[i]) / mean));
    return worst;
}

/* The largest error of the means, in standard deviations, and of the standard deviations, relative to themselves. */
static inline double far_off(const fab_gauss *q, const closed *c)
{
    fab_solver *s;
    double *v = doubles(c->T), worst = 0;
    assert_int_equal(q->D, c->T);
    assert_int_equal(fab_solver_create(&s, q, NULL), FAB_OK);
    assert_int_equal(fab_solver_variances(s, v), FAB_OK);
    fab_solver_free(s);
    for (int64_t i = 0; i < c->T; i++) {
        const real sd = r_sqrt(c->S[i * c->T + i]);
        worst = fmax(worst, (double)(r_abs(q->mu[i] - c->mu[i]) / sd));
        worst = fmax(worst, (double)r_abs(r_sqrt(v[i]) / sd - 1));
    }
    return worst;
}

#endif
