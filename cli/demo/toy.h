/* toy.h - tables whose rule is known: random numbers with an address, and lines of a csv file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_TOY_H
#define CLI_TOY_H

#include <stdint.h>

enum { TOY_LINE = 120 };

/* Number i of a stream: the same one every time. */
double toy_uniform(uint64_t stream, int64_t i); /* in (0, 1) */
double toy_normal(uint64_t stream, int64_t i);

/* Line i of a csv file, without its end: -1 the head, 0, 1, .. rows. */
typedef void toy_line_fn(int64_t i, char line[TOY_LINE]);

/* A csv file of the head and the rows first .. first + n - 1; an exit status, said. */
int toy_write(const char *path, toy_line_fn *make, int64_t first, int64_t n);

#endif
