/* merge.c - `fabayes merge`: posteriors that were learned apart become that of all rows.
 *
 * SPDX-License-Identifier: MIT */
#include "options.h"
#include "print/output.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_FILES = 4096 };

typedef struct merge_call {
    const char *output;
    fab_merge_plan plan;
    int64_t threads, json, quiet;
    const char *file[MOST_FILES];
    int files;
    fab_posterior *part[MOST_FILES];
} merge_call;

static const char *meaning_of(fab_merge_way way)
{
    switch (way) {
    case FAB_MERGE_STATES:
        return "the states of the streams, added up; it goes on by `fabayes update`";
    case FAB_MERGE_MOMENTS: return "mean and covariance of all parts together";
    case FAB_MERGE_ROWS: return "the moments of all rows, fitted again";
    case FAB_MERGE_PRODUCT: return "what the rows of each part say, and the prior once";
    case FAB_MERGE_MIXTURE: break;
    }
    return "all parts, with equal weights";
}

static void put_if_known(json_t *j, const char *key, double x)
{
    if (is_finite(x)) json_put(j, key, json_number(x));
}

static int say_json(const merge_call *c, const fab_merge_report *r)
{
    json_t *j = json_object();
    json_put(j, "output", json_text(c->output));
    json_put(j, "way", json_text(fab_merge_way_name(r->way)));
    json_put(j, "parts", json_integer(r->parts));
    json_put(j, "n", json_number(r->n));
    json_put(j, "D", json_integer(r->D));
    json_put(j, "K", json_integer(r->K));
    put_if_known(j, "alpha", r->alpha);
    put_if_known(j, "beta", r->beta);
    json_put(j, "kl", json_number(r->kl));
    return json_say(j);
}

static void say_text(const merge_call *c, const fab_merge_report *r)
{
    printf("%-10s %" PRId64 " files, %.10g rows\n", "merged", r->parts, r->n);
    printf("%-10s %s: %s\n", "way", fab_merge_way_name(r->way), meaning_of(r->way));
    printf("%-10s %" PRId64 "\n%-10s %" PRId64 "\n", "D", r->D, "K", r->K);
    if (is_finite(r->alpha)) printf("%-10s %.6g\n", "alpha", r->alpha);
    if (is_finite(r->beta)) printf("%-10s %.6g\n", "beta", r->beta);
    if (r->kl > 0)
        printf("%-10s %.6g nats lost by the cut to %" PRId64 " columns\n", "kl", r->kl, r->K);
    printf("%-10s %s\n", "output", c->output);
}

static int merge(merge_call *c)
{
    const fab_exec exec = {.threads = c->threads};
    fab_posterior *all = NULL;
    fab_merge_report r;
    fab_status s = FAB_OK;
    for (int i = 0; i < c->files && s == FAB_OK; i++)
        s = fab_posterior_load(&c->part[i], c->file[i]);
    if (s == FAB_OK)
        s = fab_merge(&all, c->file, (const fab_posterior *const *)c->part, c->files, &c->plan,
                      &exec, &r);
    if (s == FAB_OK) s = fab_tensors_write(all->file, c->output);
    fab_posterior_free(all);
    progress_close();
    if (s != FAB_OK) return say_status(s);
    if (c->json) return say_json(c, &r);
    if (!c->quiet) say_text(c, &r);
    return DONE;
}

static int run_call(const verb *self, merge_call *c, int argc, char **argv)
{
    const option options[] = {
        OPTION_OUTPUT(&c->output, "save there (required)"),
        {NULL, 'k', OPT_I64, &c->plan.K, "K", 1, 65536, NULL,
         "columns of F, at most (default: as many as the file that has most)"},
        {"alpha", 0, OPT_F64, &c->plan.alpha, "A", 1e-300, 1e300, NULL,
         "prior precision of the coefficients afterwards (default: as given to the fits, or chosen "
         "again)"},
        OPTION_THREADS(&c->threads),
        OPTION_JSON(&c->json),
        OPTION_QUIET(&c->quiet),
    };
    const call_shape shape = {options, COUNT(options), c->file, 2, MOST_FILES, NULL, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, &c->files, &status)) return status;
    if (!c->output)
        return say_wrong("merge: -o FILE says where the merged posterior goes; the files are kept");
    for (int i = 0; i < c->files; i++) {
        status = output_check(c->output, c->file[i]);
        if (status != DONE) return status;
    }
    progress_open(c->quiet);
    fab_set_progress(progress_tick, NULL);
    status = merge(c);
    for (int i = 0; i < c->files; i++) fab_posterior_free(c->part[i]);
    return status;
}

static int run(const verb *self, int argc, char **argv)
{
    merge_call *c = calloc(1, sizeof *c);
    if (!c) return say_failed("merge: out of memory");
    const int status = run_call(self, c, argc, argv);
    free(c);
    return status;
}

const verb verb_merge = {"merge", "FILE FILE.. -o OUT",
                         "posteriors of shards of the rows become one", run};
