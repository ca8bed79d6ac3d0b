/* bessel.c - K_nu by Temme's series (1975) for s <= 2, by Steed's continued fraction beyond, and upward in the order.
 *
 * With mu = nu less the nearest whole number, |mu| <= 1/2, both give K_mu and K_(mu + 1).  Upward in products
 *
 *     T_m = s^m K_m / (2^(m - 1) Gamma(m)),        T_(m + 1) = T_m + s^2 / (4 m (m - 1)) T_(m - 1)
 *
 * neither grow nor shrink, whatever s and the order.
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/basic/bessel.h"
#include <float.h>
#include <math.h>
#include <stdint.h>

static const double pi = 3.14159265358979323846;
enum { TERMS = 10000 };

/* (1 / Gamma(1 - m) - 1 / Gamma(1 + m)) / (2 m), which m near 0 would cancel: from the series of 1 / Gamma(1 + m), whose
 * coefficients of odd powers are these (Abramowitz and Stegun 6.1.34). */
static double gamma_difference(double m)
{
    static const double odd[] = {0.5772156649015329, -0.0420026350340952, -0.0421977345555443,
                                 0.0072189432466630, -0.0002152416741149, -0.0000201348547807,
                                 0.0000011330272320, 0.0000000061160950,  -0.0000000011812746,
                                 0.0000000000077823};
    double sum = 0;
    for (int i = (int)(sizeof odd / sizeof *odd) - 1; i >= 0; i--) sum = sum * m * m + odd[i];
    return -sum;
}

/* K_m and K_(m + 1) of 0 < s <= 2 */
static void temme(double m, double s, double *K0, double *K1)
{
    const double half = s / 2, lg = -log(half), e = m * lg;
    const double sinc = fabs(m) < 1e-9 ? 1 : pi * m / sin(pi * m);
    const double sinh_e = fabs(e) < 1e-9 ? 1 : sinh(e) / e;
    const double up = 1 / tgamma(1 + m), down = 1 / tgamma(1 - m);
    const double g1 = gamma_difference(m), g2 = (up + down) / 2;
    double f = sinc * (g1 * cosh(e) + g2 * sinh_e * lg);
    double p = exp(e) / (2 * up), q = exp(-e) / (2 * down), c = 1;
    double sum0 = f, sum1 = p;
    for (int i = 1; i < TERMS; i++) {
        f = (i * f + p + q) / (i * i - m * m);
        c *= half * half / i;
        p /= i - m;
        q /= i + m;
        const double add = c * f;
        sum0 += add;
        sum1 += c * (p - i * f);
        if (fabs(add) < fabs(sum0) * DBL_EPSILON / 4) break;
    }
    *K0 = sum0;
    *K1 = sum1 / half;
}

/* e^s K_m and e^s K_(m + 1) of s > 2 */
static void steed(double m, double s, double *K0, double *K1)
{
    double b = 2 * (1 + s), d = 1 / b, h = d, delta = d, q0 = 0, q1 = 1;
    const double a1 = 0.25 - m * m;
    double q = a1, c = a1, a = -a1, sum = 1 + q * delta;
    for (int i = 2; i < TERMS; i++) {
        a -= 2 * (i - 1);
        c = -a * c / i;
        const double next = (q0 - b * q1) / a;
        q0 = q1;
        q1 = next;
        q += c * next;
        b += 2;
        d = 1 / (b + a * d);
        delta = (b * d - 1) * delta;
        h += delta;
        const double add = q * delta;
        sum += add;
        if (fabs(add) < fabs(sum) * DBL_EPSILON / 4) break;
    }
    h *= a1;
    *K0 = sqrt(pi / (2 * s)) / sum;
    *K1 = *K0 * (m + s + 0.5 - h) / s;
}

double fab_bessel_matern(double nu, double s, double *other)
{
    if (other) *other = nu > 1 ? 1 / (2 * (nu - 1)) : 0;
    if (!(s > 0)) return 1;
    const double ups = floor(nu + 0.5), m = nu - ups; /* |m| <= 1/2 */
    double K0, K1, scale = 1;
    if (s > 2) {
        if (s > 740) { /* below the least number */
            if (other) *other = 0;
            return 0;
        }
        steed(m, s, &K0, &K1);
        scale = exp(-s);
    } else {
        temme(m, s, &K0, &K1);
    }
    if (ups == 0) { /* nu < 1/2: K_nu = K0, K_(nu - 1) = K_(1 - nu) by the recurrence downward */
        const double front = exp2(1 - nu) / tgamma(nu) * pow(s, nu) * scale;
        if (other) *other = front / s * (K1 - 2 * nu / s * K0);
        return front * K0;
    }
    /* T of m + 1; before it, with the same factor, s^m K_m */
    double order = m + 1;
    const double front = exp2(1 - order) / tgamma(order) * scale;
    double T = front * pow(s, order) * K1, before = front * pow(s, m) * K0;
    for (int64_t i = 1; i < (int64_t)ups; i++) {
        /* s^(o+1) K_(o+1) = s^2 s^(o-1) K_(o-1) + 2 o s^o K_o, over 2^o Gamma(o + 1) = 2 o times what T is over */
        const double next = T + s * s * before / (2 * order);
        before = T / (2 * order);
        T = next;
        order += 1;
    }
    if (other) *other = before;
    return T;
}
