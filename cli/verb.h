/* verb.h - what a verb of the command line is.
 *
 * A new verb is a file with its `const verb`, its name below, and a line in the table of main.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_VERB_H
#define CLI_VERB_H

/* Exit status of every verb. */
enum {
    DONE = 0,
    FAILED = 1, /* files, data or numerics */
    WRONG = 2   /* the call: flags, settings, unknown names */
};

typedef struct verb {
    const char *name;
    const char *arguments; /* as the usage shows them */
    const char *summary;
    int (*run)(const struct verb *self, int argc, char **argv); /* argv behind the verb's name */
    int divides; /* 1: several processes can share the work (processes.h) */
} verb;

extern const verb verb_fa, verb_fit, verb_predict, verb_score, verb_update, verb_sample,
    verb_compare, verb_info, verb_methods, verb_demo, verb_tune, verb_report, verb_propose,
    verb_merge, verb_cluster, verb_test, verb_evidence;

#endif
