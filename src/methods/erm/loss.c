/* loss.c - the losses of a regularised risk, and sums over rows that all ways need.
 *
 *     squared           (y - f)^2                          absolute      |y - f|
 *     pinball           2 max(tau r, (tau - 1) r), r = y - f
 *     eps-insensitive   (|y - f| - eps)_+                  hinge         (1 - y f)_+,         y = -1, 1
 *     logistic          log(1 + e^(-y f))                  exponential   e^(-y f)
 *
 * SPDX-License-Identifier: MIT */
#include "methods/erm/erm.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

int fab_erm_is_smooth(fab_loss l)
{
    return l == FAB_LOSS_LOGISTIC || l == FAB_LOSS_EXPONENTIAL;
}

int fab_erm_of_classes(fab_loss l)
{
    return fab_erm_is_smooth(l) || l == FAB_LOSS_HINGE;
}

int fab_erm_is_pieces(fab_loss l)
{
    return l != FAB_LOSS_SQUARED && !fab_erm_is_smooth(l);
}

double fab_erm_loss(const fab_erm_rows *r, double y, double f)
{
    const double e = y - f, m = y * f;
    switch (r->loss) {
    case FAB_LOSS_ABSOLUTE: return fabs(e);
    case FAB_LOSS_PINBALL: return 2 * fmax(r->tau * e, (r->tau - 1) * e);
    case FAB_LOSS_EPS_INSENSITIVE: return fmax(fabs(e) - r->eps, 0);
    case FAB_LOSS_HINGE: return fmax(1 - m, 0);
    case FAB_LOSS_LOGISTIC: return m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
    case FAB_LOSS_EXPONENTIAL: return exp(-m);
    case FAB_LOSS_AUTO:
    case FAB_LOSS_SQUARED: break;
    }
    return e * e;
}

double fab_erm_slope(const fab_erm_rows *r, double y, double f)
{
    const double m = y * f;
    return r->loss == FAB_LOSS_EXPONENTIAL ? -y * exp(-m) : -y / (1 + exp(m));
}

double fab_erm_curve(const fab_erm_rows *r, double y, double f)
{
    const double m = y * f, e = exp(-fabs(m));
    return r->loss == FAB_LOSS_EXPONENTIAL ? exp(-m) : e / ((1 + e) * (1 + e));
}

double fab_erm_f(const fab_erm_rows *r, const double *theta, int64_t i)
{
    const double *x = r->X + i * r->P;
    double f = r->offset[i];
    for (int64_t j = 0; j < r->P; j++) f += theta[j] * x[j];
    return f;
}

double fab_erm_mean(const fab_erm_rows *r, const double *theta, const int64_t *which, int64_t n)
{
    double sum = 0, V = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = which ? which[k] : k;
        if (!(r->v[i] > 0)) continue;
        sum += r->v[i] * fab_erm_loss(r, r->y[i], fab_erm_f(r, theta, i));
        V += r->v[i];
    }
    return sum / V;
}

double fab_erm_objective(const fab_erm_rows *r, const double *theta, const fab_erm_penalty *p)
{
    double absolute = 0, square = 0;
    for (int64_t j = 0; j < r->D; j++) {
        absolute += fabs(theta[j]);
        square += theta[j] * theta[j];
    }
    return fab_erm_mean(r, theta, NULL, r->n) + p->l1 * absolute + p->l2 * square;
}

fab_status fab_erm_gram(const fab_erm_rows *r, const double *s, double *C, double *block,
                        fab_watch *w)
{
    const int64_t P = r->P;
    int64_t held = 0;
    memset(C, 0, (size_t)(P * P) * sizeof *C);
    for (int64_t i = 0; i < r->n; i++) {
        if (s[i] > 0) {
            const double root = sqrt(s[i]), *x = r->X + i * P;
            double *to = block + held++ * P;
            for (int64_t j = 0; j < P; j++) to[j] = root * x[j];
        }
        if (held < FAB_ERM_BLOCK && i + 1 < r->n) continue;
        if (held) fab_syrk(held, P, block, P, C, P);
        FAB_TRY(fab_watch_work(w, (double)(held * P) * (double)P / 8, r->who, i, r->n));
        held = 0;
    }
    return FAB_OK;
}
