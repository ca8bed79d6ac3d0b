/* houses.c - sales of houses that were never built.
 *
 * House i is made from random numbers with the index i.  Its numbers are rounded as one would write them
 * down, and the price follows from the rounded ones.
 *
 * SPDX-License-Identifier: MIT */
#include "houses.h"
#include "csv.h"
#include "verb.h"
#include <fabayes.h>
#include <math.h>
#include <stdio.h>

enum { SEED = 7, AREA = 0, ROOMS, AGE, DISTANCE, DISTRICT, NOISE }; /* the streams */

const houses_number houses_numbers[HOUSES_NUMBERS] = {
    [AREA] = {"area", "m2", 2.6},
    [ROOMS] = {"rooms", "room", 9},
    [AGE] = {"age", "year", -0.8},
    [DISTANCE] = {"distance", "km", -5},
};
const houses_district houses_districts[HOUSES_DISTRICTS] = {
    {"oldtown", 0}, {"harbour", 60}, {"hill", 35}, {"station", -25}};
const double houses_start = 160, houses_noise = 30;

static double uniform(uint64_t stream, int64_t i)
{
    double u;
    fab_random_uniform(SEED, stream, (uint64_t)i, 1, &u);
    return u;
}

static double normal(uint64_t stream, int64_t i)
{
    double z;
    fab_random_normal(SEED, stream, (uint64_t)i, 1, FAB_F64, &z);
    return z;
}

/* About 100 m2, a room for each 27 of them, up to a hundred years old, up to 20 km out. */
static void make_house(int64_t i, double number[HOUSES_NUMBERS])
{
    number[AREA] = round(100 * exp(0.28 * normal(AREA, i)));
    number[ROOMS] = fmax(1, round(number[AREA] / 27 + 0.8 * normal(ROOMS, i)));
    number[AGE] = floor(100 * uniform(AGE, i));
    number[DISTANCE] = round(10 * (0.5 + 19.5 * uniform(DISTANCE, i))) / 10;
}

void houses_line(int64_t i, char line[HOUSES_LINE])
{
    if (i < 0) {
        snprintf(line, HOUSES_LINE, "area,rooms,age,distance,district,price");
        return;
    }
    double number[HOUSES_NUMBERS];
    make_house(i, number);
    const houses_district *d = &houses_districts[(int)(HOUSES_DISTRICTS * uniform(DISTRICT, i))];
    double price = houses_start + d->worth + houses_noise * normal(NOISE, i);
    for (int j = 0; j < HOUSES_NUMBERS; j++) price += houses_numbers[j].worth * number[j];
    snprintf(line, HOUSES_LINE, "%.0f,%.0f,%.0f,%.1f,%s,%.1f", number[AREA], number[ROOMS],
             number[AGE], number[DISTANCE], d->name, price);
}

int houses_write(const char *path, int64_t first, int64_t n)
{
    csv c;
    char line[HOUSES_LINE];
    if (csv_open(&c, path) != DONE) return FAILED;
    houses_line(-1, line);
    fprintf(c.f, "%s\n", line);
    for (int64_t i = 0; i < n; i++) {
        houses_line(first + i, line);
        fprintf(c.f, "%s\n", line);
    }
    return csv_close(&c, DONE);
}
