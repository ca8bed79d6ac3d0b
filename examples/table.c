/* table.c - fit a table that stands in memory, with a column of words, and predict with intervals.
 *
 * SPDX-License-Identifier: MIT */
#include <fabayes.h>
#include <stdio.h>

enum { HOUSES = 12 };

int main(void)
{
    const double area[HOUSES] = {52, 75, 110, 64, 88, 131, 45, 97, 70, 120, 83, 58};
    const double price[HOUSES] = {171, 268, 394, 196, 312, 418, 152, 345, 226, 431, 264, 205};
    const char *const street[HOUSES] = {"elm", "oak", "oak", "elm", "oak", "elm",
                                        "elm", "oak", "elm", "oak", "elm", "oak"};
    const fab_array columns[] = {{.name = "area", .p = area}, {.name = "street", .text = street}};
    const fab_arrays houses = {.n = HOUSES, .column = columns, .columns = 2, .y = {"price", price}};

    const double new_area[] = {60, 100, 100};
    const char *const new_street[] = {"elm", "elm", "oak"};
    const fab_array wanted[] = {{.name = "area", .p = new_area},
                                {.name = "street", .text = new_street}};
    const fab_arrays more = {.n = 3, .column = wanted, .columns = 2};

    fab_regression *r = NULL;
    fab_predictions *p = NULL;
    fab_status s = fab_regression_fit(&r, &(fab_data){.arrays = &houses}, NULL, NULL);
    if (s == FAB_OK) s = fab_regression_predict(r, &(fab_data){.arrays = &more}, NULL, &p);
    if (s != FAB_OK) fprintf(stderr, "%s\n", fab_detail());
    for (int64_t i = 0; s == FAB_OK && i < p->n; i++)
        printf("%3.0f m2, %s: %.0f, with 90 %% probability %.0f to %.0f\n", new_area[i],
               new_street[i], p->p[i].mean, p->p[i].lower, p->p[i].upper);
    fab_predictions_free(p);
    fab_regression_free(r);
    return s != FAB_OK;
}
