/* root.h - a root inside a bracket.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_MODEL_ROOT_H
#define FAB_MODEL_ROOT_H

#define FAB_ROOT_CLOSE 1e-14 /* relative width of a bracket that is small enough */
enum { FAB_ROOT_STEPS = 200 };

typedef double fab_residual(void *ctx, double v);

/* Root of f on [a, b], 0 <= a, where f(a) <= 0 <= f(b). */
double fab_root(fab_residual *f, void *ctx, double a, double b);

#endif
