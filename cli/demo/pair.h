/* pair.h - two networks of the same shape and prior on one table: with a posterior, and at the mode alone.
 *
 * A part that has one begins with it, so that its functions take the part.  Files of NAME: NAME.csv, NAME_held_out.csv,
 * NAME.safetensors, NAME_map.safetensors.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_PAIR_H
#define CLI_PAIR_H

#include "demo/demo.h"
#include "demo/toy.h"

enum { POSTERIOR, MODE, NETWORKS };

typedef struct pair pair;

/* What a part does with one network's predictions of the held-out rows, and what it says of it in --json. */
typedef void pair_take_fn(pair *p, int which, const fab_predictions *all);
typedef void pair_say_fn(const pair *p, int which, json_t *j);

struct pair {
    const char *name;
    int64_t train, held; /* rows */
    toy_line_fn *make;   /* 0 .. train - 1, then the held-out ones */
    const char *command[NETWORKS];
    pair_take_fn *take;
    pair_say_fn *say;
    char table[DEMO_PATH], held_out[DEMO_PATH], file[NETWORKS][DEMO_PATH];
};

extern const char *const pair_names[NETWORKS];

/* Write the tables, run the commands, predict the held-out rows; an exit status, said. */
int pair_run(pair *p, const demo_call *call);
/* The lines of the files. */
void pair_print(const pair *p);
/* Adds networks, table and held_out. */
void pair_json(const pair *p, json_t *j);

#endif
