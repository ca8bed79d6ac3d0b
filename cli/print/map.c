/* map.c - what is said of features of a kernel.
 *
 * SPDX-License-Identifier: MIT */
#include "print/map.h"
#include "fabayes/kernel.h"
#include <inttypes.h>
#include <stdio.h>

/* Features of a kernel: how many, of which, and where it comes from. */
int map_print(const fab_regression *r)
{
    const fab_map_report m = fab_regression_map(r);
    const fab_features *f = fab_regression_scaling(r)->features;
    char *text = NULL;
    if (!f) return DONE;
    const fab_status s = fab_kernel_describe(fab_features_kernel(f), &text);
    if (s != FAB_OK) return say_status(s);
    printf("%" PRId64 " %s of %s", fab_features_size(f),
           fab_features_leave(f) ? "landmarks" : "random features", text);
    if (m.rows) printf(", by the evidence of %" PRId64 " rows (log %.6g)", m.rows, m.lml);
    if (m.at_bound) printf("; %" PRId64 " parameters end at a bound", m.at_bound);
    if (m.rows && !m.converged) printf("; the search had not converged");
    printf("\n");
    fab_text_free(text);
    return DONE;
}

/* The same for programs: the kernel with its numbers, and by name. */
void map_put(json_t *j, const fab_regression *r)
{
    const fab_map_report m = fab_regression_map(r);
    const fab_features *f = fab_regression_scaling(r)->features;
    if (!f) return;
    const fab_kernel *k = fab_features_kernel(f);
    json_t *map = json_object(), *theta = json_array();
    for (int64_t i = 0; i < fab_kernel_size(k); i++) {
        fab_kernel_parameter p;
        json_t *one = json_object();
        fab_kernel_parameter_at(k, i, &p);
        json_put(one, "name", json_text(p.name));
        json_put(one, "kernel", json_text(p.kernel));
        json_put(one, "column", p.column < 0 ? json_null() : json_integer(p.column));
        json_put(one, "value", json_number(p.value));
        json_array_append_new(theta, one);
    }
    json_put(map, "kind", json_text(fab_features_leave(f) ? "nystrom" : "rff"));
    json_put(map, "kernel", json_text(fab_kernel_text(k)));
    json_put(map, "theta", theta);
    if (m.rows) {
        json_put(map, "rows", json_integer(m.rows));
        json_put(map, "lml", json_number(m.lml));
        json_put(map, "noise", json_number(m.noise));
        json_put(map, "at_bound", json_integer(m.at_bound));
        json_put(map, "optima", json_integer(m.optima));
        json_put(map, "converged", json_boolean(m.converged));
    }
    json_put(j, "features_of", map);
}
