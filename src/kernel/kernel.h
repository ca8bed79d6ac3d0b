/* kernel.h - what a kernel is inside: basic kernels, terms of them, parameters.
 *
 * A basic kernel is a curve over one number u that a pair of rows has: its shape (pairs.h).  It is one file in basic/ and one
 * line in basic/list.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_KERNEL_KERNEL_H
#define FAB_KERNEL_KERNEL_H

#include "base/fail.h"
#include "fabayes/kernel.h"

typedef struct fab_shape_of_pairs fab_shape_of_pairs; /* pairs.h */
typedef struct fab_leaf fab_leaf;

typedef enum fab_lengths {
    FAB_LENGTHS_NONE,
    FAB_LENGTHS_ARD, /* only with ard */
    FAB_LENGTHS_ONE, /* no ard */
    FAB_LENGTHS_ANY
} fab_lengths;

/* A parameter beside s2 and l, and the range in which it is looked for. */
typedef struct fab_own {
    const char *name; /* NULL: there is none */
    double start, lo, hi;
} fab_own;

typedef struct fab_basic {
    const char *name, *alias; /* alias: another name, or NULL */
    const fab_shape_of_pairs *shape;
    fab_lengths lengths;
    fab_own own;
    const char *given; /* a number that is no parameter, or NULL; its default, 0: there is none */
    double given_default;
    double given_lo, given_hi;
    int given_whole; /* 1: a whole number */
    int one_column;  /* 1: on several columns only where `col` says so */
    int stationary;

    /* v = k(u) of n pairs; slope = dk/du (where it is infinite, 0) and own = dk/dlog of the own parameter, unless NULL.
     * u, v, slope and own do not overlap. */
    void (*curve)(const fab_leaf *f, int64_t n, const double *u, double *v, double *slope,
                  double *own);
} fab_basic;

struct fab_leaf {
    const fab_basic *kind;
    int64_t ard;
    int64_t first, columns; /* in fab_kernel.column */
    int64_t at, lengths;    /* parameters of it: l's, */
    int64_t own;            /* then this one; -1: none */
    double given;           /* nu, m */
    double length;          /* the one of all columns; 1 where there is none or one for each */
    double value;           /* of the own parameter */
    int64_t head;           /* in fab_kernel.text: its text without parameters */
};

/* s2 times the product of those leaves whose bits are set. */
typedef struct fab_term {
    uint64_t leaves;
    int64_t s2;   /* parameter */
    int64_t text; /* in fab_kernel.text */
} fab_term;

typedef struct fab_parameter {
    const char *name;
    int64_t kernel; /* in fab_kernel.text */
    int64_t column;
    double value, lo, hi;
    int64_t fixed;
} fab_parameter;

enum { FAB_KERNEL_LEAVES = 64, FAB_KERNEL_TERMS = 256 };

/* One block; places in it are offsets, so that a copy is a copy. */
struct fab_kernel {
    int64_t D, leaves, terms, size;
    int64_t columns, letters; /* numbers in column, bytes in text */
    fab_leaf *leaf;           /* leaves */
    fab_term *term;           /* terms */
    fab_parameter *parameter; /* size */
    int64_t *column;          /* columns: those of the leaves */
    char *text;               /* letters: the text it was made of, then those of leaves and terms */
};

/* parse.c; on failure *k is NULL. */
fab_status fab_kernel_parse(fab_kernel **k, const char *text, int64_t D, const char *const *column);
/* A kernel of these sizes, all zeros.  Gives *k. */
fab_status fab_kernel_build(fab_kernel **k, const fab_kernel *sizes);
/* length and value of each leaf, after parameters have changed. */
void fab_kernel_settle(fab_kernel *k);

static inline double fab_length(const fab_kernel *k, const fab_leaf *f, int64_t c)
{
    if (f->lengths == 0) return 1;
    return k->parameter[f->at + (f->ard ? c : 0)].value;
}

/* basic/list.h */
extern const fab_basic *const fab_basics[];
extern const int64_t fab_basics_count;

#endif
