/* stream.c - how good a stream was while it went.
 *
 * SPDX-License-Identifier: MIT */
#include "print/stream.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static json_t *json_score(const char *of, const fab_stream_score *s)
{
    json_t *j = json_object();
    json_put(j, "rows", json_integer(s->rows));
    json_put(j, "scored", json_integer(s->scored));
    if (s->lost) json_put(j, "lost", json_integer(s->lost));
    json_put(j, "log_density", json_number(s->log_density));
    json_put(j, "log_density_se", json_number(s->log_density_se));
    if (strcmp(of, "numbers") == 0) {
        json_put(j, "rmse", json_number(s->rmse));
        json_put(j, "coverage90", json_number(s->coverage90));
    }
    if (strcmp(of, "classes") == 0) json_put(j, "error", json_number(s->error));
    return j;
}

json_t *stream_json(const fab_stream_scores *s)
{
    json_t *j = json_object(), *curve = json_array();
    json_put(j, "of", json_text(s->of));
    json_put(j, "all", json_score(s->of, &s->all));
    json_put(j, "first_half", json_score(s->of, &s->first));
    json_put(j, "recent", json_score(s->of, &s->recent));
    if (s->call.scored) json_put(j, "call", json_score(s->of, &s->call));
    json_put(j, "worse", json_boolean(s->worse));
    for (int64_t i = 0; i < s->points; i++) {
        json_t *point = json_score(s->of, &s->point[i].score);
        json_put(point, "seen", json_integer(s->point[i].seen));
        json_array_append_new(curve, point);
    }
    json_put(j, "curve", curve);
    return j;
}

/* "log density -4.77 per row, rmse 28, 90.2 % inside 90 % intervals" */
static void print_score(const fab_stream_score *s)
{
    printf("log density %.5g", s->log_density);
    if (is_finite(s->rmse)) printf(", rmse %.4g", s->rmse);
    if (is_finite(s->coverage90)) printf(", %.3g %% inside 90 %% intervals", 100 * s->coverage90);
    if (is_finite(s->error)) printf(", %.3g %% in a wrong class", 100 * s->error);
}

void stream_print(const fab_stream_scores *s, const char *label, int width, int of_call)
{
    printf("%-*s ", width, label);
    if (s->all.scored == 0) {
        printf("not defined, rows are scored behind the first %" PRId64 "\n", s->from);
        return;
    }
    print_score(&s->all);
    printf(" (each row before it was learned; %" PRId64 " of %" PRId64 " rows scored)\n",
           s->all.scored, s->all.rows);
    if (s->all.lost)
        printf("%-*s %" PRId64 " rows more have no finite density\n", width, "", s->all.lost);
    if (s->first.scored && s->recent.scored) {
        printf("%-*s the first half: ", width, "");
        print_score(&s->first);
        printf("; the last %" PRId64 " rows: ", s->recent.rows);
        print_score(&s->recent);
        printf("\n");
    }
    if (of_call && s->call.scored && s->call.rows < s->all.rows) {
        printf("%-*s these rows: ", width, "");
        print_score(&s->call);
        printf("\n");
    }
    if (s->worse)
        printf("%-*s the last rows are predicted worse than the first half: the stream drifts, or "
               "its rows have an order\n",
               width, "");
}
