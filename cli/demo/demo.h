/* demo.h - the parts of `fabayes demo`: each makes its data, does a job and has its place on the page.
 *
 * Every function that returns an exit status has said why it is not DONE.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_DEMO_H
#define CLI_DEMO_H

#include "print/output.h"

enum { DEMO_PATH = 600 };

typedef struct demo_call {
    const char *folder; /* for all files; it is there */
    fab_exec exec;
    int64_t quiet;
} demo_call;

typedef struct demo_part {
    const char *key;                                /* of its object in --json */
    int (*run)(void **part, const demo_call *call); /* gives *part, also when it is not DONE */
    void (*print)(const void *part);                /* for a person at the terminal */
    json_t *(*json)(const void *part);              /* for a program */
    fab_status (*show)(const void *part, fab_page *page);
    void (*free)(void *part); /* takes NULL */
} demo_part;

extern const demo_part demo_houses, demo_wave, demo_process, demo_moons, demo_search, demo_stream;

/* folder/name */
int demo_path(char path[DEMO_PATH], const demo_call *call, const char *name);
/* Run "fabayes fit ..", a command of the page with blanks between its words, or a backslash at the end of a
 * line, on the files of the folder. */
int demo_fit(const demo_call *call, const char *command);
/* A table of n cells of `size` bytes each, whose first row is the head: shown[j] is cell j. */
void demo_begin_table(char *cell, size_t size, int n, const char *const *head, int columns,
                      const char **shown);
/* Rows of cells, the first of them the head, in columns as wide as their widest cell. */
void demo_print_table(const char *const *cell, int rows, int columns);

#endif
