/* pair.c - two networks of the same shape and prior on one table: with a posterior, and at the mode alone.
 *
 * SPDX-License-Identifier: MIT */
#include "demo/pair.h"
#include <stdio.h>

const char *const pair_names[NETWORKS] = {"posterior", "mode alone"};

static int run_network(pair *p, int which, const demo_call *call)
{
    const fab_data d = {.file = p->held_out};
    const fab_predict_plan how = {.with_target = 1};
    fab_regression *r = NULL;
    fab_predictions *all = NULL;
    const int status = demo_fit(call, p->command[which]);
    if (status != DONE) return status;
    fab_status s = fab_regression_load(&r, p->file[which], NULL);
    if (s == FAB_OK) s = fab_regression_predict(r, &d, &how, &all);
    if (s == FAB_OK) p->take(p, which, all);
    fab_predictions_free(all);
    fab_regression_free(r);
    return s == FAB_OK ? DONE : say_status(s);
}

/* folder/name and its end */
static int path_of(const pair *p, const demo_call *call, const char *end, char path[DEMO_PATH])
{
    char file[64];
    snprintf(file, sizeof file, "%s%s", p->name, end);
    return demo_path(path, call, file);
}

int pair_run(pair *p, const demo_call *call)
{
    int status = path_of(p, call, ".csv", p->table);
    if (status == DONE) status = path_of(p, call, "_held_out.csv", p->held_out);
    if (status == DONE) status = path_of(p, call, ".safetensors", p->file[POSTERIOR]);
    if (status == DONE) status = path_of(p, call, "_map.safetensors", p->file[MODE]);
    if (status == DONE) status = toy_write(p->table, p->make, 0, p->train);
    if (status == DONE) status = toy_write(p->held_out, p->make, p->train, p->held);
    for (int i = 0; i < NETWORKS; i++)
        if (status == DONE) status = run_network(p, i, call);
    return status;
}

void pair_print(const pair *p)
{
    printf("%-10s %s, %s\n", "tables", p->table, p->held_out);
    printf("%-10s %s, %s\n", "models", p->file[POSTERIOR], p->file[MODE]);
}

void pair_json(const pair *p, json_t *j)
{
    json_t *list = json_array();
    for (int i = 0; i < NETWORKS; i++) {
        json_t *one = json_object();
        json_put(one, "name", json_text(pair_names[i]));
        json_put(one, "command", json_text(p->command[i]));
        p->say(p, i, one);
        json_put(one, "file", json_text(p->file[i]));
        json_array_append_new(list, one);
    }
    json_put(j, "networks", list);
    json_put(j, "table", json_text(p->table));
    json_put(j, "held_out", json_text(p->held_out));
}
