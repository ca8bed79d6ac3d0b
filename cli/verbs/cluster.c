/* cluster.c - `fabayes cluster`: the rows of DATA in clusters.
 *
 * SPDX-License-Identifier: MIT */
#include "data.h"
#include "print/clusters.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct cluster_call {
    data_options data;
    const char *k, *q, *name, *output, *seed;
    int64_t threads, json, quiet, checkpoint, resume, standardise, drop, most, most_q;
    double memory;
    const fab_method *method;
    void *settings; /* of the method; owned */
    fab_source *source;
    fab_clusters *clusters;
} cluster_call;

static int is_auto(const char *text)
{
    return text && strcmp(text, "auto") == 0;
}

/* Is the number of clusters chosen among candidates?  Methods without G choose it themselves. */
static int by_bic(const cluster_call *c)
{
    return is_auto(c->k) && fab_settings_find(fab_method_fields(c->method), "G");
}

/* The method that nobody has named: a table in a file by kmeans, or a mixture where factors or a choice are asked for; rows that pass
 * by once, by a stream. */
static const char *usual_method(const cluster_call *c)
{
    const int file = data_is_file(&c->data);
    if (c->q) return file || is_auto(c->q) || is_auto(c->k) ? "mfa" : "online-mfa";
    if (is_auto(c->k)) return "gmm";
    return file || !fab_method_find("minibatch-kmeans") ? "kmeans" : "minibatch-kmeans";
}

static int find_settings(void *ctx, const fab_fields **table, void **settings)
{
    cluster_call *c = ctx;
    const int status = method_named(&c->method, c->name ? c->name : usual_method(c));
    if (status != DONE) return status;
    if (!fab_method_clusters(c->method))
        return say_wrong("cluster: %s finds no clusters; `fabayes methods` lists those that do",
                         fab_method_name(c->method));
    c->settings = malloc(fab_method_fields(c->method)->size);
    if (!c->settings) return say_failed("out of memory");
    fab_settings_defaults(fab_method_fields(c->method), c->settings);
    *table = fab_method_fields(c->method);
    *settings = c->settings;
    return DONE;
}

static int put_text(const cluster_call *c, const char *name, const char *text)
{
    const fab_status s = fab_settings_parse(fab_method_fields(c->method), c->settings, name, text);
    return s == FAB_OK ? DONE : say_status(s);
}

static int put_settings(const cluster_call *c)
{
    const fab_fields *t = fab_method_fields(c->method);
    int status = DONE;
    if (!c->k && fab_settings_find(t, "G"))
        return say_wrong("cluster: -k K, the number of clusters, or -k auto is missing");
    if (c->k && !is_auto(c->k) && !fab_settings_find(t, "G"))
        return say_wrong("cluster: %s chooses the number of clusters itself, by its lambda: -k %s "
                         "cannot be met; without -k, or -k auto",
                         fab_method_name(c->method), c->k);
    if (c->q && !fab_settings_find(t, "q"))
        return say_wrong("cluster: %s has no factors: -q is for mfa and online-mfa",
                         fab_method_name(c->method));
    if (c->k && !is_auto(c->k)) status = put_text(c, "G", c->k);
    if (status == DONE && c->q && !is_auto(c->q)) status = put_text(c, "q", c->q);
    if (status == DONE && c->seed) status = put_text(c, "seed", c->seed);
    return status;
}

static int check_call(const cluster_call *c)
{
    const char *of_stream = c->checkpoint ? "checkpoint" : "resume";
    if (c->most && !is_auto(c->k)) return say_wrong("cluster: --max-clusters is for -k auto");
    if (c->most && !by_bic(c))
        return say_wrong("cluster: %s chooses the number of clusters by its lambda: without "
                         "--max-clusters",
                         fab_method_name(c->method));
    if (c->most_q && !is_auto(c->q)) return say_wrong("cluster: --max-factors is for -q auto");
    if ((c->checkpoint || c->resume) && !c->output)
        return say_wrong("cluster: --%s needs -o FILE", of_stream);
    if ((c->checkpoint || c->resume) && !fab_method_streams(c->method))
        return say_wrong("cluster: %s is a batch method: there is nothing to --%s",
                         fab_method_name(c->method), of_stream);
    if ((c->checkpoint || c->resume) && c->drop)
        return say_wrong("cluster: --%s counts rows, and --missing drop would leave some out",
                         of_stream);
    return c->output ? output_check(c->output, c->data.file) : DONE;
}

static int begin(cluster_call *c)
{
    const fab_exec exec = {.threads = c->threads};
    const fab_clusters_plan plan = {.source = c->source,
                                    .method = fab_method_name(c->method),
                                    .settings = c->settings,
                                    .size = fab_method_fields(c->method)->size,
                                    .G = by_bic(c) ? FAB_AUTO_I64 : 0,
                                    .q = is_auto(c->q) ? FAB_AUTO_I64 : 0,
                                    .most = c->most,
                                    .most_q = c->most_q,
                                    .standardise = c->standardise,
                                    .drop = c->drop,
                                    .memory = 1e6 * c->memory,
                                    .output = c->output,
                                    .checkpoint = c->checkpoint};
    struct stat there;
    const int again = c->resume && stat(c->output, &there) == 0;
    const fab_status s = again ? fab_clusters_resume(&c->clusters, &plan, c->output, &exec)
                               : fab_clusters_create(&c->clusters, &plan, &exec);
    return s == FAB_OK ? DONE : say_status(s);
}

static int cluster(cluster_call *c)
{
    int status = put_settings(c);
    if (status == DONE) status = check_call(c);
    if (status != DONE) return status;
    progress_open(c->quiet);
    fab_set_progress(progress_tick, NULL);
    status = data_open(&c->source, &c->data);
    if (status == DONE) status = begin(c);
    if (status != DONE) return status;
    fab_status s = fab_clusters_read(c->clusters);
    if (s == FAB_MISSING_VALUE)
        return say_failed("%s; --missing drop leaves the row out", fab_detail());
    if (s == FAB_OK && c->output) s = fab_clusters_save(c->clusters, c->output);
    if (s != FAB_OK) return clusters_failed("cluster", s);
    progress_close();
    return clusters_say(
        &(clusters_summary){c->clusters, c->data.file, c->output, c->json, c->quiet});
}

static int run(const verb *self, int argc, char **argv)
{
    static const char *const missing_ways[] = {"refuse", "drop", NULL};
    cluster_call c = {0};
    // clang-format off
    const option options[] = {
        {NULL, 'k', OPT_TEXT, &c.k, "K|auto", 0, 0, NULL, "number of clusters; auto: by BIC, of mfa and gmm; by the bound of vbgmm; of dpmeans by its lambda"},
        {NULL, 'q', OPT_TEXT, &c.q, "RANK|auto", 0, 0, NULL, "factors of a cluster, of mfa and online-mfa; auto: by BIC"},
        {"method", 'm', OPT_TEXT, &c.name, "METHOD", 0, 0, NULL, "see `fabayes methods` (default: kmeans; with -q mfa, with -k auto gmm; from a pipe minibatch-kmeans and online-mfa)"},
        OPTION_OUTPUT(&c.output, "save the mixture, and of a stream what `update` needs"),
        {"standardise", 0, OPT_FLAG, &c.standardise, NULL, 0, 0, NULL, "columns count in their standard deviations, as units matter to kmeans; the result is in the units of DATA"},
        {"missing", 0, OPT_CHOICE, &c.drop, "WAY", 0, 0, missing_ways, "rows with a missing value: refuse (default) or drop"},
        {"max-clusters", 0, OPT_I64, &c.most, "N", 1, 4096, NULL, "-k auto: candidates up to N (default 10)"},
        {"max-factors", 0, OPT_I64, &c.most_q, "N", 1, 4096, NULL, "-q auto: candidates up to N (default 5)"},
        {"checkpoint", 0, OPT_I64, &c.checkpoint, "N", 1, 0x1p53, NULL, "save to the output every N rows"},
        {"resume", 0, OPT_FLAG, &c.resume, NULL, 0, 0, NULL, "go on from the output, behind the rows it has seen"},
        {"limit", 0, OPT_F64, &c.memory, "MB", 0.001, 1e9, NULL, "memory of a batch method (default: what is free)"},
        OPTION_FORMAT(&c.data.format),
        OPTION_ROWS(&c.data.rows),
        OPTIONS_COLUMNS(&c.data.only, &c.data.exclude),
        OPTION_FEATURES(&c.data.features),
        OPTION_MAX_COLUMNS(&c.data.columns_max),
        OPTIONS_DIALECT(&c.data),
        {"seed", 0, OPT_TEXT, &c.seed, "N", 0, 0, NULL, "seed of the random numbers (default: the method's)"},
        OPTION_THREADS(&c.threads),
        OPTION_JSON(&c.json),
        OPTION_QUIET(&c.quiet),
    };
    // clang-format on
    const call_shape shape = {options, COUNT(options), &c.data.file, 1, 1, find_settings, &c, NULL};
    int status;
    if (options_parse(self, &shape, argc, argv, NULL, &status)) {
        c.data.missing = c.drop != 0;
        c.data.threads = c.threads;
        status = cluster(&c);
    }
    fab_clusters_free(c.clusters);
    fab_source_close(c.source);
    free(c.settings);
    return status;
}

const verb verb_cluster = {"cluster", "DATA -k K|auto [-o FILE]",
                           "clusters: K-means, mixtures of Gaussians and of factor analysers", run};
