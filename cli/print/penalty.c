/* penalty.c - what a regularised risk found: its lambda, what was tried for it, and how near to the least it ended.
 *
 * SPDX-License-Identifier: MIT */
#include "print/penalty.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PATH = 5, SHOWN = 10 };

/* lambda, mean loss left out, its standard error, coefficients that are not 0, gap; n of them, or none. */
static fab_status path_of(fab_regression *r, const double **path, int64_t *n)
{
    const fab_tensors *t;
    *path = NULL;
    *n = 0;
    const fab_status s = fab_regression_tensors(r, &t);
    if (s != FAB_OK) return s;
    const fab_tensor *found = fab_tensors_find(t, "path");
    if (!found || found->ndim != 2 || found->shape[1] != PATH) return FAB_OK;
    *path = found->data;
    *n = found->shape[0];
    return FAB_OK;
}

/* ---- for programs ------------------------------------------------------------------------------------ */

int penalty_put(json_t *j, fab_regression *r, const fab_report *f)
{
    const double *path;
    int64_t n;
    if (!is_finite(f->lambda)) return DONE;
    const fab_status s = path_of(r, &path, &n);
    if (s != FAB_OK) return say_status(s);
    json_put(j, "lambda", json_number(f->lambda));
    json_put(j, "objective", json_number(f->objective));
    json_put(j, "gap", json_number(f->gap));
    json_put(j, "nonzero", json_integer(f->kept));
    if (!n) return DONE;
    json_t *all = json_array();
    for (int64_t i = 0; i < n; i++) {
        const double *p = path + i * PATH;
        json_t *one = json_object();
        json_put(one, "lambda", json_number(p[0]));
        json_put(one, "loss", json_number(p[1]));
        json_put(one, "se", json_number(p[2]));
        json_put(one, "nonzero", json_number(p[3]));
        json_put(one, "gap", json_number(p[4]));
        json_array_append_new(all, one);
    }
    json_put(j, "path", all);
    return DONE;
}

/* ---- for people -------------------------------------------------------------------------------------- */

/* About ten of the path, with the chosen one and that of the least loss. */
static void print_path(const double *path, int64_t n, double lambda)
{
    const int64_t step = n > SHOWN ? (n + SHOWN - 1) / SHOWN : 1;
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (path[i * PATH + 1] < path[best * PATH + 1]) best = i;
    printf("%" PRId64 " values of lambda%s, by rows left out:\n%14s %8s %12s %10s\n", n,
           step > 1 ? ", some of them" : "", "lambda", "not 0", "mean loss", "its error");
    for (int64_t i = 0; i < n; i++) {
        const double *p = path + i * PATH;
        const int chosen = !(p[0] < lambda) && !(p[0] > lambda);
        if (i % step && i != n - 1 && i != best && !chosen) continue;
        printf("%s %12.4g %8.0f %12.5g %10.2g\n", chosen ? "*" : " ", p[0], p[3], p[1], p[2]);
    }
}

int penalty_print(fab_regression *r, const fab_report *f)
{
    const double *path;
    int64_t n;
    if (!is_finite(f->lambda)) return DONE;
    const fab_status s = path_of(r, &path, &n);
    if (s != FAB_OK) return say_status(s);
    if (n) print_path(path, n, f->lambda);
    printf("lambda = %.4g, in fitting units: %" PRId64 " of %" PRId64
           " coefficients are not 0; objective %.6g, at most %.2g above the least%s\n",
           f->lambda, f->kept, fab_regression_scaling(r)->D, f->objective, f->gap,
           f->converged ? "" : ": not converged, raise --max_iter");
    return DONE;
}
