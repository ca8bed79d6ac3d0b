/* coefficients.c - the coefficients of a linear model, for programs and people.
 *
 * SPDX-License-Identifier: MIT */
#include "print/coefficients.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int coefficients_open(coefficients *c, const char *file, const fab_posterior *p,
                      const char *reference)
{
    fab_status s = fab_regression_take(&c->r, file, p, NULL);
    if (s != FAB_OK) return say_status(s);
    c->n = fab_regression_size(c->r);
    c->mean = malloc(2 * (size_t)c->n * sizeof *c->mean);
    if (!c->mean) return say_failed("%s: no memory for the coefficients", file);
    c->sd = c->mean + c->n;
    c->reference = reference;
    s = reference ? fab_regression_contrasts(c->r, reference, c->mean, c->sd)
                  : fab_regression_coefficients(c->r, c->mean, c->sd);
    if (s == FAB_OK) return DONE;
    return s == FAB_BAD_ARGUMENT ? say_status(s) : say_status_of(file, s);
}

void coefficients_close(coefficients *c)
{
    fab_regression_free(c->r);
    free(c->mean);
    *c = (coefficients){0};
}

/* A reference itself: nothing is estimated there. */
static int is_reference(const coefficients *c, int64_t i)
{
    return c->reference && !(c->mean[i] < 0) && !(c->mean[i] > 0) && !(c->sd[i] > 0);
}

json_t *coefficients_json(const coefficients *c)
{
    json_t *all = json_array();
    for (int64_t i = 0; i < c->n; i++) {
        if (is_reference(c, i)) continue;
        char buf[32];
        json_t *one = json_object();
        const char *class = fab_regression_coefficient_class(c->r, i, buf);
        json_put(one, "name", json_text(fab_regression_coefficient_name(c->r, i)));
        if (class) json_put(one, "class", json_text(class));
        json_put(one, "mean", json_number(c->mean[i]));
        json_put(one, "sd", json_number(c->sd[i]));
        json_array_append_new(all, one);
    }
    return all;
}

void coefficients_print(const coefficients *c)
{
    enum { SHOWN = 40 };
    char buf[32];
    putchar('\n');
    if (fab_regression_coefficient_class(c->r, 0, buf)) printf("%-16s ", "class");
    printf("%-24s %14s %12s", "coefficient", "mean", "sd");
    if (c->reference) printf("   against %s", c->reference);
    putchar('\n');
    for (int64_t i = 0; i < c->n; i++) {
        if (is_reference(c, i)) continue;
        if (i == SHOWN && c->n > SHOWN + 1) {
            printf("... %" PRId64 " more; `fabayes info --json` shows all\n", c->n - 1 - i);
            i = c->n - 1;
        }
        const char *class = fab_regression_coefficient_class(c->r, i, buf);
        if (class) printf("%-16s ", class);
        printf("%-24s %14.6g %12.4g\n", fab_regression_coefficient_name(c->r, i), c->mean[i],
               c->sd[i]);
    }
}
