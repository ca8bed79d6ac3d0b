/* root.c - a root inside a bracket: secants, halved when one end stays (Illinois), with a bisection now and then so
 * that the bracket always shrinks.
 *
 * SPDX-License-Identifier: MIT */
#include "model/likelihoods/root.h"
#include <math.h>

double fab_root(fab_residual *f, void *ctx, double a, double b)
{
    double fa = f(ctx, a), fb = f(ctx, b), v = b;
    if (!(fa < 0)) return a;
    if (!(fb > 0)) return b;
    int side = 0;
    for (int i = 0; i < FAB_ROOT_STEPS && b - a > FAB_ROOT_CLOSE * b; i++) {
        v = i % 8 == 7 ? 0.5 * (a + b) : (a * fb - b * fa) / (fb - fa);
        if (!(v > a && v < b)) v = 0.5 * (a + b);
        const double fv = f(ctx, v);
        if (fabs(fv) <= 0.25 * FAB_ROOT_CLOSE * v) break;
        if (fv < 0) {
            a = v, fa = fv;
            if (side < 0) fb *= 0.5;
            side = -1;
        } else {
            b = v, fb = fv;
            if (side > 0) fa *= 0.5;
            side = 1;
        }
    }
    return v;
}
