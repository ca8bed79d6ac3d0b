/* update.c - `fabayes update`: continue a streaming fit with more rows.
 *
 * A file with a model in it was made by `fit`, one without by `fa`.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "data.h"
#include "print/clusters.h"
#include "print/learned.h"
#include "print/summary.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct update_call {
    const char *file, *output;
    data_options data;
    int64_t threads, json, quiet;
    fab_regression *r; /* of a model */
} update_call;

static int check_file(const update_call *c, const fab_tensors *t)
{
    const char *method = fab_tensors_get(t, "method");
    const fab_method *m = method ? fab_method_find(method) : NULL;
    if (fab_svm_is_file(t))
        return say_failed(
            "%s: is a support vector machine, and cannot be continued; fit again with "
            "all rows",
            c->file);
    if (!method || !fab_tensors_get(t, "settings") || !fab_tensors_get(t, "n"))
        return say_failed(
            "%s: is not a file of `fabayes fa` or `fit`: there is nothing to continue", c->file);
    if (!m) return say_failed("%s: was made by method '%s', which is not known", c->file, method);
    if (fab_tensors_get(t, "merged") && fab_method_streams(m) && !fab_tensors_find(t, "state.mu"))
        return say_failed(
            "%s: was merged from other files, and is no stream that could be continued; "
            "fit the new rows, and merge again",
            c->file);
    if (fab_file_kind(t) == FAB_KIND_VECTORS) m = fab_method_of_vectors(m);
    if (!fab_method_continues(m))
        return say_failed("%s: was made by %s, a batch method, and cannot be continued; fit again "
                          "with all rows",
                          c->file, method);
    return DONE;
}

static int update_factors(const update_call *c, fab_source *source, fab_factors **f)
{
    const char *output = c->output ? c->output : c->file;
    const fab_factors_plan plan = {.source = source};
    const fab_gauss *q;
    fab_rotation *r = NULL;
    fab_status s = fab_factors_load(f, &plan, c->file, &(fab_exec){.threads = c->threads});
    if (s == FAB_OK) s = fab_factors_read(*f);
    if (s == FAB_OK) s = fab_factors_result(*f, &q);
    if (s != FAB_OK) return factors_failed("update", s);
    s = fab_factors_save(*f, output);
    if (s == FAB_OK) s = fab_rotation_create(&r, q, FAB_ROTATION_PRINCIPAL, 0);
    if (s != FAB_OK) return say_status(s);
    progress_close();
    const int status = summary_say(&(summary){*f, r, c->data.file, output, c->json, c->quiet});
    fab_rotation_free(r);
    return status;
}

static int update_clusters(const update_call *c, fab_source *source, fab_clusters **f)
{
    const char *output = c->output ? c->output : c->file;
    const fab_clusters_plan plan = {.source = source};
    fab_status s = fab_clusters_load(f, &plan, c->file, &(fab_exec){.threads = c->threads});
    if (s == FAB_OK) s = fab_clusters_read(*f);
    if (s == FAB_OK) s = fab_clusters_save(*f, output);
    if (s != FAB_OK) return clusters_failed("update", s);
    progress_close();
    return clusters_say(&(clusters_summary){*f, c->data.file, output, c->json, c->quiet});
}

static int update_vectors(const update_call *c, int of_clusters)
{
    fab_source *source = NULL;
    fab_factors *f = NULL;
    fab_clusters *clusters = NULL;
    if (c->data.labels) return say_wrong("update: %s is of vectors, which have no labels", c->file);
    int status = data_open(&source, &c->data);
    if (status == DONE && of_clusters) status = update_clusters(c, source, &clusters);
    if (status == DONE && !of_clusters) status = update_factors(c, source, &f);
    fab_clusters_free(clusters);
    fab_factors_free(f);
    fab_source_close(source);
    return status;
}

/* ---- a model ---------------------------------------------------------------------------------------- */

static int say_update(fab_status s)
{
    if (s == FAB_MISSING_VALUE)
        return say_failed("%s; leave the row out, or fit with --missing mean, after which update "
                          "fills it",
                          fab_detail());
    return s == FAB_OK ? DONE : say_status(s);
}

static int update_model(update_call *c)
{
    const fab_exec exec = {.threads = c->threads};
    fab_data more;
    if (c->data.only || c->data.exclude)
        return say_wrong("update: --only and --exclude are for files of `fa`: %s knows its columns",
                         c->file);
    const char *output = c->output ? c->output : c->file;
    const double start = fab_clock();
    const int status = data_of(&more, &c->data);
    if (status != DONE) return status;
    fab_status s = fab_regression_load(&c->r, c->file, &exec);
    if (s == FAB_OK) s = fab_regression_update(c->r, &more);
    if (s == FAB_OK) s = fab_regression_save(c->r, output);
    if (s != FAB_OK) return say_update(s);
    return c->json ? learned_json(c->r, output, start) : learned_print(c->r, c->quiet, start);
}

static int in_place(const update_call *c)
{
    struct stat in, out;
    if (!c->output) return 1;
    return stat(c->file, &in) == 0 && stat(c->output, &out) == 0 && in.st_dev == out.st_dev &&
           in.st_ino == out.st_ino;
}

static int update(update_call *c)
{
    fab_tensors *t = NULL;
    fab_lock *lock =
        NULL; /* from before the reading until after the writing, where the file is replaced */
    fab_set_progress(progress_tick, NULL);
    fab_status s = in_place(c) ? fab_file_lock(&lock, c->file, NULL) : FAB_OK;
    if (s == FAB_OK) s = fab_tensors_read(&t, c->file);
    if (s != FAB_OK) {
        fab_file_unlock(lock);
        return say_status(s);
    }
    int status = check_file(c, t);
    if (status == DONE)
        status = fab_file_kind(t) == FAB_KIND_VECTORS ? update_vectors(c, clusters_file(t))
                                                      : update_model(c);
    fab_tensors_free(t);
    fab_file_unlock(lock);
    return status;
}

static int run(const verb *self, int argc, char **argv)
{
    update_call c = {0};
    const char *operand[2];
    const option options[] = {
        OPTION_OUTPUT(&c.output, "save there (default: replace FILE)"),
        OPTION_FORMAT(&c.data.format),
        OPTION_ROWS(&c.data.rows),
        OPTIONS_COLUMNS(&c.data.only, &c.data.exclude),
        OPTION_LABELS(&c.data.labels),
        OPTION_FEATURES(&c.data.features),
        OPTIONS_DIALECT(&c.data),
        OPTION_THREADS(&c.threads),
        OPTION_JSON(&c.json),
        OPTION_QUIET(&c.quiet),
    };
    const call_shape shape = {options, COUNT(options), operand, 2, 2, NULL, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, NULL, &status)) return status;
    c.file = operand[0];
    c.data.file = operand[1];
    c.data.threads = c.threads;
    status = output_check(c.output ? c.output : c.file, c.data.file);
    if (status != DONE) return status;
    progress_open(c.quiet);
    status = update(&c);
    fab_regression_free(c.r);
    return status;
}

const verb verb_update = {"update", "FILE DATA [-o OUT]", "continue a streaming fit with more rows",
                          run};
