/* glm.c - generalised linear models: sizes, the check of examples, the log-likelihoods.
 *
 * Every log-likelihood is written so that nothing large is subtracted from something large:
 *
 *   bernoulli    -log(1 + exp(-+eta)); slopes from the tail they live in
 *   poisson      for y >= 16, with d = eta - log y:  -y (exp(d) - 1 - d) - log(2 pi y)/2 - Stirling's rest
 *   categorical  against the largest eta
 *
 * Student's t is a gaussian whose rows count (nu + 1) / (nu + beta r^2) times: rows far off pull less.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/model.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/student.h"
#include <math.h>
#include <stddef.h>

#define LOG_2_PI 1.8378770664093454836
enum {
    STIRLING = 16
}; /* counts from here on by Stirling's series, whose first term left out is 1e-14 */

const char *const fab_likelihood_names[5] = {"gaussian", "bernoulli", "poisson", "categorical",
                                             NULL};

const char *fab_likelihood_name(fab_likelihood l)
{
    return (int)l >= 0 && l <= FAB_LIKELIHOOD_CATEGORICAL ? fab_likelihood_names[l] : "unknown";
}

int64_t fab_glm_size(const fab_glm *m)
{
    return m->classes * (m->D + m->intercept);
}

/* ---- the check at the door -------------------------------------------------------------------- */

static int y_fits(const fab_glm *m, double y)
{
    switch (m->likelihood) {
    case FAB_LIKELIHOOD_BERNOULLI: return y == 0 || y == 1;
    case FAB_LIKELIHOOD_POISSON: return y >= 0 && y <= 0x1p53 && y == floor(y);
    case FAB_LIKELIHOOD_CATEGORICAL: return y >= 0 && y < (double)m->classes && y == floor(y);
    default: return isfinite(y);
    }
}

static const char *y_range(const fab_glm *m)
{
    static const char *const words[] = {"a finite number", "0 or 1", "a count 0, 1, 2, ..",
                                        "a class 0 .. classes - 1"};
    return words[m->likelihood];
}

fab_status fab_examples_check(const char *who, const fab_glm *m, const fab_examples *e)
{
    FAB_TRY(fab_rows_check(who, &e->x, m->D));
    if (e->x.n > 0 && !e->y) return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the examples have no y", who);
    for (int64_t j = 0; j < e->x.n; j++) {
        if (!y_fits(m, e->y[j]))
            return FAB_FAIL(FAB_BAD_DATA, "%s: row %lld has y = %g, expected %s", who, (long long)j,
                            e->y[j], y_range(m));
        if (e->weight && !(e->weight[j] > 0 && isfinite(e->weight[j])))
            return FAB_FAIL(FAB_BAD_DATA,
                            "%s: row %lld has weight %g, expected a finite number > 0", who,
                            (long long)j, e->weight[j]);
        if (e->offset && !isfinite(e->offset[j]))
            return FAB_FAIL(FAB_BAD_DATA, "%s: row %lld has offset %g, expected a finite number",
                            who, (long long)j, e->offset[j]);
    }
    return FAB_OK;
}

/* ---- log-likelihoods --------------------------------------------------------------------------- */

static double gaussian(double beta, double y, double eta, double *gradient, double *curvature)
{
    const double r = y - eta;
    if (gradient) *gradient = beta * r;
    if (curvature) *curvature = beta;
    return 0.5 * (log(beta) - LOG_2_PI - beta * r * r);
}

/* The curvature is the expected one: the other is negative beyond sqrt(nu / beta). */
static double student(const fab_glm *m, double y, double eta, double *gradient, double *curvature)
{
    const double r = y - eta, nu = m->nu, z2 = m->beta * r * r;
    if (gradient) *gradient = m->beta * r * (nu + 1) / (nu + z2);
    if (curvature) *curvature = m->beta * (nu + 1) / (nu + 3);
    return 0.5 * log(m->beta) + fab_student_log_top(nu) - (nu + 1) / 2 * log1p(z2 / nu);
}

static double bernoulli(double y, double eta, double *gradient, double *curvature)
{
    const double t = y > 0 ? -eta : eta; /* log p = -log(1 + exp(t)) */
    const double small = exp(-fabs(t)), one = 1 + small;
    const double miss = (t > 0 ? 1 : small) / one; /* sigma(t), the probability of the other y */
    if (gradient) *gradient = y > 0 ? miss : -miss;
    if (curvature) *curvature = small / one / one;
    return -(t > 0 ? t : 0) - log1p(small);
}

/* log y! = y log y - y + log(2 pi y)/2 + rest */
static double stirling_rest(double y)
{
    const double i = 1 / y, i2 = i * i;
    return i * (1.0 / 12 - i2 * (1.0 / 360 - i2 * (1.0 / 1260 - i2 / 1680)));
}

static double poisson(double y, double eta, double *gradient, double *curvature)
{
    const double mean = exp(eta);
    if (curvature) *curvature = mean;
    if (y >= STIRLING) {
        const double d = eta - log(y), excess = expm1(d);
        if (gradient) *gradient = -y * excess;
        return -y * (excess - d) - 0.5 * (LOG_2_PI + log(y)) - stirling_rest(y);
    }
    double factorial = 1;
    for (int k = 2; k <= (int)y; k++) factorial *= k;
    if (gradient) *gradient = y - mean;
    return (y > 0 ? y * eta : 0) - mean - log(factorial);
}

/* The probability of class k is exp(eta_k - top) / sum. */
static double categorical(int64_t C, double y, const double *eta, double *gradient,
                          double *curvature)
{
    double top = eta[0], sum = 0, others = 0;
    const int64_t mine = (int64_t)y;
    for (int64_t k = 1; k < C; k++) top = eta[k] > top ? eta[k] : top;
    for (int64_t k = 0; k < C; k++) sum += exp(eta[k] - top);
    for (int64_t k = 0; k < C; k++) others += k == mine ? 0 : exp(eta[k] - top);
    for (int64_t k = 0; k < C && gradient; k++)
        gradient[k] = k == mine ? others / sum : -exp(eta[k] - top) / sum;
    for (int64_t k = 0; k < C * C && curvature; k++) {
        const double p = exp(eta[k / C] - top) / sum, q = exp(eta[k % C] - top) / sum;
        double rest = 0; /* 1 - p */
        for (int64_t l = 0; l < C && k / C == k % C; l++)
            rest += l == k / C ? 0 : exp(eta[l] - top) / sum;
        curvature[k] = k / C == k % C ? p * rest : -p * q;
    }
    return eta[mine] == top ? -log1p(others) : eta[mine] - top - log(sum);
}

double fab_glm_loglik(const fab_glm *m, double y, const double *eta, double *gradient,
                      double *curvature)
{
    switch (m->likelihood) {
    case FAB_LIKELIHOOD_BERNOULLI: return bernoulli(y, *eta, gradient, curvature);
    case FAB_LIKELIHOOD_POISSON: return poisson(y, *eta, gradient, curvature);
    case FAB_LIKELIHOOD_CATEGORICAL: return categorical(m->classes, y, eta, gradient, curvature);
    default:
        return m->nu > 0 ? student(m, y, *eta, gradient, curvature)
                         : gaussian(m->beta, y, *eta, gradient, curvature);
    }
}
