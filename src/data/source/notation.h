/* notation.h - numbers as people write them: $3.20, 7.1%, 1,050, 2024-03-01, Mar 1 2024.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_DATA_NOTATION_H
#define FAB_DATA_NOTATION_H

#include "fabayes/data.h"
#include <stddef.h>

/* How the values of a column are written, beyond plain numbers; all zeros: plainly. */
typedef struct fab_notation {
    unsigned char sign; /* the sign that all values have, numbered from 1; 0: none */
    char decimal;       /* mark of numbers that are written otherwise; 0: they are plain */
    char group;         /* stands between groups of three digits; 0: nothing does */
    unsigned char
        date; /* orders of day and month that the values allow: FAB_ORDER_..; 0: no dates */
    unsigned char number;   /* 1: dates are read as numbers */
    unsigned char time;     /* 1: they have a time of the day */
    unsigned char row_name; /* 1: a name of the row, read as its number */
    unsigned char none;     /* 1: "none" is a word and not a missing value */
} fab_notation;

/* What the marks of a number say. */
typedef enum fab_shape {
    FAB_SHAPE_NONE = 0,     /* no number */
    FAB_SHAPE_WHOLE,        /* 1050 */
    FAB_SHAPE_POINT,        /* 3.14; 1,050.25; 1,234,567: the decimal mark is a point */
    FAB_SHAPE_COMMA,        /* 3,14; 1.050,25; 1.234.567: it is a comma */
    FAB_SHAPE_EITHER_POINT, /* 1.050: a decimal point or a group of three */
    FAB_SHAPE_EITHER_COMMA  /* 1,050 */
} fab_shape;

typedef struct fab_look {
    fab_shape shape;
    unsigned char sign; /* 0: none */
    int groups;         /* a mark stands between groups for certain */
    int long_whole;     /* four digits or more without a mark between groups */
} fab_look;

/* Look at the text of n bytes. */
fab_look fab_notation_look(const char *p, size_t n);
/* The sign of that number as it is written. */
const char *fab_notation_sign(unsigned char sign);
/* Read the text as a number of that form; 0: it is none. */
int fab_notation_number(const fab_notation *f, const char *p, size_t n, double *x);

/* What a date begins with; NAME: its month is a name, so that no order is in doubt. */
enum { FAB_ORDER_YEAR = 1, FAB_ORDER_DAY = 2, FAB_ORDER_MONTH = 4, FAB_ORDER_NAME = 8 };

/* The orders in which the text is a date, or a date and a time; 0: in none. */
unsigned char fab_date_orders(const char *p, size_t n);
/* Days since 1970-01-01, with the part of the day where there is a time; 0: it is no date of that order. */
int fab_date_days(const char *p, size_t n, unsigned char order, double *days);

#endif
