/* houses_data.c - sales of houses that were never built.
 *
 * House i is made from random numbers with the index i.  Its numbers are rounded as one would write them
 * down, and the price follows from the rounded ones.
 *
 * SPDX-License-Identifier: MIT */
#include "demo/houses_data.h"
#include <math.h>
#include <stdio.h>

enum { AREA = 0, ROOMS, AGE, DISTANCE, DISTRICT, NOISE }; /* the streams */

const houses_number houses_numbers[HOUSES_NUMBERS] = {
    [AREA] = {"area", "m2", 2.6},
    [ROOMS] = {"rooms", "room", 9},
    [AGE] = {"age", "year", -0.8},
    [DISTANCE] = {"distance", "km", -5},
};
const houses_district houses_districts[HOUSES_DISTRICTS] = {
    {"oldtown", 0}, {"harbour", 60}, {"hill", 35}, {"station", -25}};
const double houses_start = 160, houses_noise = 30;

/* About 100 m2, a room for each 27 of them, up to a hundred years old, up to 20 km out. */
static void make_house(int64_t i, double number[HOUSES_NUMBERS])
{
    number[AREA] = round(100 * exp(0.28 * toy_normal(AREA, i)));
    number[ROOMS] = fmax(1, round(number[AREA] / 27 + 0.8 * toy_normal(ROOMS, i)));
    number[AGE] = floor(100 * toy_uniform(AGE, i));
    number[DISTANCE] = round(10 * (0.5 + 19.5 * toy_uniform(DISTANCE, i))) / 10;
}

void houses_line(int64_t i, char line[TOY_LINE])
{
    if (i < 0) {
        snprintf(line, TOY_LINE, "area,rooms,age,distance,district,price");
        return;
    }
    double number[HOUSES_NUMBERS];
    make_house(i, number);
    const houses_district *d =
        &houses_districts[(int)(HOUSES_DISTRICTS * toy_uniform(DISTRICT, i))];
    double price = houses_start + d->worth + houses_noise * toy_normal(NOISE, i);
    for (int j = 0; j < HOUSES_NUMBERS; j++) price += houses_numbers[j].worth * number[j];
    snprintf(line, TOY_LINE, "%.0f,%.0f,%.0f,%.1f,%s,%.1f", number[AREA], number[ROOMS],
             number[AGE], number[DISTANCE], d->name, price);
}
