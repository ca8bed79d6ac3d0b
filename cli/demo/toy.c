/* toy.c - tables whose rule is known.
 *
 * SPDX-License-Identifier: MIT */
#include "demo/toy.h"
#include "print/csv.h"
#include "verb.h"
#include <fabayes.h>

enum { SEED = 7 };

double toy_uniform(uint64_t stream, int64_t i)
{
    double u;
    fab_random_uniform(SEED, FAB_PURPOSE_DATA, stream, (uint64_t)i, 1, &u);
    return u;
}

double toy_normal(uint64_t stream, int64_t i)
{
    double z;
    fab_random_normal(SEED, FAB_PURPOSE_DATA, stream, (uint64_t)i, 1, FAB_F64, &z);
    return z;
}

int toy_write(const char *path, toy_line_fn *make, int64_t first, int64_t n)
{
    csv c;
    char line[TOY_LINE];
    if (csv_open(&c, path) != DONE) return FAILED;
    make(-1, line);
    fprintf(c.f, "%s\n", line);
    for (int64_t i = 0; i < n; i++) {
        make(first + i, line);
        fprintf(c.f, "%s\n", line);
    }
    return csv_close(&c, DONE);
}
