/* student.c - Student's t, and the normals it is made of.
 *
 *   1  log density at 0:  log Gamma((nu + 1)/2) - log Gamma(nu/2) - log(nu pi)/2
 *   2  P(T <= -|t|) = I_x(nu/2, 1/2) / 2,  x = nu / (nu + t^2),  I the incomplete beta function by its continued fraction
 *   3  with u = log lambda, lambda ~ Gamma(nu/2, nu/2) has a density in u proportional to exp(nu/2 (u + 1 - exp u)): the
 *      trapezoid rule between the places where it is exp(-FAR) converges faster than any power of the step
 *
 * SPDX-License-Identifier: MIT */
#include "base/student.h"
#include <math.h>

#define PI     3.14159265358979323846
#define SERIES 16.0 /* from here on the series of 1, whose first term left out is 3e-14 */
#define CLOSE  1e-15
#define TINY   1e-300
#define FAR    30.0
enum { MOST_TERMS = 10000, BISECTIONS = 60 };

/* ---- 1 ------------------------------------------------------------------------------------------------ */

/* log Gamma(x + 1/2) - log Gamma(x) */
static double half_step(double x)
{
    double shift = 1;
    for (; x < SERIES; x++) shift *= x / (x + 0.5);
    const double i = 1 / x, i2 = i * i;
    return log(shift * sqrt(x)) -
           i * (1.0 / 8 - i2 * (1.0 / 192 - i2 * (1.0 / 640 - i2 * 17 / 14336)));
}

double fab_student_log_top(double nu)
{
    return half_step(nu / 2) - 0.5 * log(nu * PI);
}

/* ---- 2 ------------------------------------------------------------------------------------------------ */

/* Coefficient n = 1, 2, .. of the continued fraction of I_x(a, b). */
static double coefficient(double a, double b, double x, int n)
{
    const double m = n / 2, c = a + 2 * m; /* whole numbers halved */
    return n % 2 ? -(a + m) * (a + b + m) * x / (c * (c + 1)) : m * (b - m) * x / ((c - 1) * c);
}

static double off_zero(double v)
{
    return fabs(v) < TINY ? TINY : v;
}

/* 1 + d_1 / (1 + d_2 / ..), by Lentz's method. */
double fab_beta_fraction(double a, double b, double x)
{
    double value = 1, up = 1, down = 0;
    for (int n = 1; n < MOST_TERMS; n++) {
        const double d = coefficient(a, b, x, n);
        down = 1 / off_zero(1 + d * down);
        up = off_zero(1 + d / up);
        value *= up * down;
        if (fabs(up * down - 1) < CLOSE) break;
    }
    return value;
}

/* I_x(a, b) where x < (a + 1) / (a + b + 2), so that the fraction is quick; log_beta: of the function B(a, b) */
static double incomplete(double a, double b, double x, double log_beta)
{
    return x > 0 ? exp(a * log(x) + b * log1p(-x) - log_beta) / (a * fab_beta_fraction(a, b, x))
                 : 0;
}

double fab_student_cdf(double nu, double t)
{
    const double a = nu / 2, t2 = t * t, x = nu / (nu + t2), rest = t2 / (nu + t2),
                 log_beta = 0.5 * log(PI) - half_step(a); /* B(nu/2, 1/2) */
    const double both = x < (a + 1) / (a + 2.5) ? incomplete(a, 0.5, x, log_beta)
                                                : 1 - incomplete(0.5, a, rest, log_beta);
    return t > 0 ? 1 - both / 2 : both / 2;
}

/* ---- 3 ------------------------------------------------------------------------------------------------ */

/* The log density of log lambda, 0 at its top. */
static double log_height(double nu, double u)
{
    return nu / 2 * (u - expm1(u));
}

/* Where it is -FAR, between 0 and `out`, which is beyond. */
static double edge(double nu, double out)
{
    double in = 0;
    for (int i = 0; i < BISECTIONS; i++) {
        const double u = (in + out) / 2;
        if (log_height(nu, u) > -FAR)
            in = u;
        else
            out = u;
    }
    return out;
}

void fab_student_normals(double nu, double *precision, double *weight)
{
    const double left = edge(nu, -2 - 2 * FAR / nu - 2 * sqrt(FAR / nu)),
                 right = edge(nu, 2 + 2 * sqrt(FAR / nu) + log1p(2 * FAR / nu));
    double sum = 0;
    for (int i = 0; i < FAB_STUDENT_NORMALS; i++) {
        const double u = left + (right - left) * i / (FAB_STUDENT_NORMALS - 1);
        precision[i] = exp(u);
        sum += weight[i] = exp(log_height(nu, u));
    }
    for (int i = 0; i < FAB_STUDENT_NORMALS; i++) weight[i] /= sum;
}
