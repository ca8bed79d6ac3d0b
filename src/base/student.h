/* student.h - Student's t of nu > 0 degrees of freedom, scale 1, and the normals it is made of.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_STUDENT_H
#define FAB_BASE_STUDENT_H

/* The log density at 0; elsewhere it is less by (nu + 1) / 2 log(1 + t^2 / nu). */
double fab_student_log_top(double nu);

double fab_student_cdf(double nu, double t);

/* The continued fraction of the incomplete beta function, I_x(a, b) = x^a (1 - x)^b / (a B(a, b) fraction), for
 * x < (a + 1) / (a + b + 2), where it is quick. */
double fab_beta_fraction(double a, double b, double x);

/* t is normal with a precision that is itself drawn, from Gamma(nu / 2, nu / 2): here from so many values, whose
 * weights sum to 1. */
enum { FAB_STUDENT_NORMALS = 64 };
void fab_student_normals(double nu, double *precision, double *weight);

#endif
