/* fa.c - `fabayes fa`: factor analysis of the rows of DATA.
 *
 * SPDX-License-Identifier: MIT */
#include "print/scores.h"
#include "print/summary.h"
#include "data.h"
#include "processes.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct fa_call {
    data_options data;
    const char *k, *name, *output, *seed, *scores, *loadings, *weight, *rotation, *device;
    fab_rotation_kind kind;
    int argc;
    char **argv;
    int64_t threads, dtype, json, quiet, checkpoint, resume, standardise, max_factors, missing;
    double memory;
    const fab_method *method;
    void *settings; /* of the method; owned */
    fab_source *source;
    fab_factors *factors;
    fab_comm share; /* of several processes: the coordinates of this one */
} fa_call;

/* ---- the call ------------------------------------------------------------------------------------- */

/* Coordinates of DATA. */
static int64_t coordinates(const fa_call *c)
{
    const int other = c->weight || fab_source_format(c->source) == FAB_FORMAT_LIBSVM;
    return fab_source_columns(c->source) - other;
}

/* Is there a setting among the arguments that recursive-em has and online-ml has not? */
static int asks_for_recursion(const fa_call *c)
{
    const fab_fields *recursive = fab_method_fields(fab_method_find("recursive-em"));
    const fab_fields *online = fab_method_fields(fab_method_find("online-ml"));
    for (int i = 0; i < c->argc; i++) {
        char name[64];
        const char *equals = strchr(c->argv[i], '=');
        if (strncmp(c->argv[i], "--", 2) != 0 || !equals) continue;
        snprintf(name, sizeof name, "%.*s", (int)(equals - c->argv[i] - 2), c->argv[i] + 2);
        if (fab_settings_find(recursive, name) && !fab_settings_find(online, name)) return 1;
    }
    return 0;
}

static const char *const missing_ways[] = {"refuse", "drop", "em",
                                           NULL}; /* in the order of fab_factors_missing */

static int check_files(const fa_call *c);

/* The method, named or by D, and its settings. */
static int find_settings(void *ctx, const fab_fields **table, void **settings)
{
    fa_call *c = ctx;
    int status = DONE;
    const char *name = c->name;
    c->data.missing = c->missing != FAB_FACTORS_REFUSE;
    if (!name && c->missing == FAB_FACTORS_EM) name = "em";
    if (!name && asks_for_recursion(c)) name = "recursive-em";
    if (!name) {
        status = check_files(c);
        if (status == DONE) progress_open(c->quiet);
        if (status == DONE) status = data_open(&c->source, &c->data);
        if (status == DONE && processes()) name = "recursive-em"; /* which can be divided */
        if (status == DONE && !name) name = fab_factors_default(coordinates(c));
    }
    if (status == DONE) status = method_named(&c->method, name);
    if (status != DONE) return status;
    c->method = fab_method_of_vectors(c->method);
    if (fab_method_clusters(c->method))
        return say_wrong("fa: %s finds clusters, not factors; `fabayes cluster` runs it",
                         fab_method_name(c->method));
    if (!(fab_method_takes(c->method) & FAB_TAKES_VECTORS))
        return say_wrong("fa: %s fits a model of a target; `fabayes fit` runs it",
                         fab_method_name(c->method));
    c->settings = malloc(fab_method_fields(c->method)->size);
    if (!c->settings) return say_failed("out of memory");
    fab_settings_defaults(fab_method_fields(c->method), c->settings);
    *table = fab_method_fields(c->method);
    *settings = c->settings;
    return DONE;
}

static int put_text(const fa_call *c, const char *name, const char *text)
{
    const fab_status s = fab_settings_parse(fab_method_fields(c->method), c->settings, name, text);
    return s == FAB_OK ? DONE : say_status(s);
}

/* Did the call set it as a setting? */
static int is_set(const fa_call *c, const char *name)
{
    const fab_fields *t = fab_method_fields(c->method);
    const fab_field *f = fab_settings_find(t, name);
    char now[64], usual[64];
    if (!f) return 0;
    fab_settings_print(f, c->settings, now, sizeof now);
    fab_settings_default_text(f, usual, sizeof usual);
    return f->origin == FAB_ORIGIN_REQUIRED ? strcmp(now, "0") != 0 : strcmp(now, usual) != 0;
}

static int by_bic(const fa_call *c)
{
    return strcmp(c->k, "auto") == 0;
}

static int put_settings(fa_call *c)
{
    const fab_field *memory = fab_settings_find(fab_method_fields(c->method), "memory");
    if (is_set(c, "D") || is_set(c, "K"))
        return say_wrong("fa: D comes from DATA and K from -k; they are no settings here");
    if (!c->k) return say_wrong("fa: -k K, the number of factors, or -k auto is missing");
    if (c->memory > 0 && memory) { /* the setting of that name, else the limit of the whole fit */
        memcpy((char *)c->settings + memory->offset, &c->memory, sizeof c->memory);
        c->memory = 0;
    }
    int status = by_bic(c) ? DONE : put_text(c, "K", c->k);
    if (status == DONE && c->seed) status = put_text(c, "seed", c->seed);
    if (status == DONE && c->standardise &&
        fab_settings_find(fab_method_fields(c->method), "standardise"))
        status = put_text(c, "standardise", "true");
    return status;
}

static int check_files(const fa_call *c)
{
    const char *const outputs[] = {c->output, c->loadings, c->scores};
    int status = c->scores ? scores_check(c->scores) : DONE;
    for (int i = 0; i < COUNT(outputs) && status == DONE; i++) {
        if (outputs[i]) status = output_check(outputs[i], c->data.file);
        for (int j = 0; j < i && status == DONE; j++)
            if (outputs[i] && outputs[j] && strcmp(outputs[i], outputs[j]) == 0)
                status = say_wrong("fa: %s is named twice as an output", outputs[i]);
    }
    if (status == DONE && c->scores && !data_is_file(&c->data))
        status = say_wrong("fa: --scores reads DATA a second time, and %s can be read only once",
                           strcmp(c->data.file, "-") == 0 ? "standard input" : c->data.file);
    return status;
}

/* Does each process write its own coordinates? */
static int in_shards(const fa_call *c)
{
    static const char end[] = ".safetensors.index.json";
    const size_t n = c->output ? strlen(c->output) : 0;
    return n >= sizeof end && strcmp(c->output + n - (sizeof end - 1), end) == 0;
}

/* Options that need one another. */
static int check_call(fa_call *c)
{
    const char *of_stream = c->checkpoint ? "checkpoint" : "resume";
    if (c->max_factors && !by_bic(c)) return say_wrong("fa: --max-factors is for -k auto");
    if (c->rotation && fab_rotation_find(c->rotation, &c->kind) != FAB_OK)
        return say_wrong("fa: --rotation: %s", fab_detail());
    if ((c->checkpoint || c->resume) && !c->output)
        return say_wrong("fa: --%s needs -o FILE", of_stream);
    if ((c->checkpoint || c->resume) && !fab_method_streams(c->method))
        return say_wrong("fa: %s is a batch method: there is nothing to --%s",
                         fab_method_name(c->method), of_stream);
    if ((c->checkpoint || c->resume) && c->missing)
        return say_wrong("fa: --%s counts rows, and --missing %s would leave some out", of_stream,
                         missing_ways[c->missing]);
    if (in_shards(c) && !processes())
        return say_wrong("fa: -o %s: an index is of shards, and those are written by the processes "
                         "of mpirun; alone -o NAME.safetensors",
                         c->output);
    if (in_shards(c) && (c->loadings || c->scores))
        return say_wrong("fa: --%s needs all coordinates in one process, and in shards none has "
                         "them; -o NAME.safetensors gathers them",
                         c->loadings ? "loadings" : "scores");
    return check_files(c);
}

/* Can -k auto choose? */
static int check_search(const fa_call *c)
{
    const int64_t D = coordinates(c);
    const char *lacks = fab_factors_lacks(c->method);
    if (lacks)
        return say_wrong("fa: %s %s; -k auto needs %s", fab_method_name(c->method), lacks,
                         fab_method_streams(c->method) ? "online-ml, recursive-em or a batch method"
                                                       : "ml, em, ppca, online-ml or recursive-em");
    if (c->max_factors > D)
        return say_wrong("fa: --max-factors=%" PRId64 " for D = %" PRId64 " coordinates",
                         c->max_factors, D);
    return DONE;
}

/* ---- the work ------------------------------------------------------------------------------------- */

/* The coordinates of this process. */
static int take_share(fa_call *c)
{
    int64_t own, D = coordinates(c);
    if (c->resume) return say_wrong("fa: --resume: in one process, and here there are several");
    if (D < fab_processes_count(processes()))
        return say_failed("%s: has %" PRId64 " coordinates for %" PRId64 " processes: start fewer",
                          c->data.file, D, fab_processes_count(processes()));
    c->share = fab_processes_share(processes(), D, &own);
    const fab_status s = fab_source_share(c->source, c->share.first_row, own);
    return s == FAB_OK ? DONE : say_status(s);
}

static int begin(fa_call *c)
{
    fab_exec exec = {.threads = c->threads, .comm = processes() ? &c->share : NULL};
    const fab_status opened =
        fab_ops_open(&exec.ops, c->device ? c->device : "cpu", (fab_dtype)c->dtype);
    if (opened != FAB_OK) return say_status(opened);
    const fab_factors_plan plan = {.source = c->source,
                                   .method = fab_method_name(c->method),
                                   .settings = c->settings,
                                   .size = fab_method_fields(c->method)->size,
                                   .K = by_bic(c) ? FAB_AUTO_I64 : 0,
                                   .max_factors = c->max_factors,
                                   .memory = 1e6 * c->memory,
                                   .output = c->output,
                                   .checkpoint = c->checkpoint,
                                   .weight = c->weight,
                                   .missing = (fab_factors_missing)c->missing};
    struct stat there;
    if (!c->resume || stat(c->output, &there) != 0) {
        const fab_status s = fab_factors_create(&c->factors, &plan, &exec);
        return s == FAB_OK ? DONE : say_status(s);
    }
    const fab_status s = fab_factors_resume(&c->factors, &plan, c->output, &exec);
    return s == FAB_OK ? DONE : factors_failed("fa", s);
}

static int fit_rows(fa_call *c)
{
    const fab_gauss *q;
    fab_status s = fab_factors_read(c->factors);
    if (s == FAB_MISSING_VALUE)
        return say_failed("%s; --missing drop leaves the row out, --missing em fits what is there",
                          fab_detail());
    if (s == FAB_NO_MEMORY && c->memory > 0 && fab_factors_bytes(c->factors) > 1e6 * c->memory)
        return say_failed("%s by --memory", fab_detail());
    if (s == FAB_OK) s = fab_factors_result(c->factors, &q);
    if (s == FAB_OK && !in_shards(c)) s = fab_factors_gather(c->factors);
    return s == FAB_OK ? DONE : factors_failed("fa", s);
}

static int write_files(const fa_call *c, const fab_rotation *r)
{
    fab_fa_report report = {0};
    int status = DONE;
    if (c->loadings) status = loadings_write(c->factors, r, c->loadings);
    if (!c->scores || status != DONE) return status;
    const fab_status s = fab_factors_report(c->factors, &report);
    if (s != FAB_OK) return factors_failed("fa", s);
    return scores_write(c->factors, r, &c->data, c->scores, report.n);
}

static int finish(const fa_call *c)
{
    const fab_gauss *q;
    fab_rotation *r = NULL;
    fab_status s = fab_factors_result(c->factors, &q);
    if (s == FAB_OK && c->output) s = fab_factors_save(c->factors, c->output);
    if (s == FAB_OK) s = fab_rotation_create(&r, q, c->kind, c->standardise);
    if (s != FAB_OK) return say_status(s);
    int status = write_files(c, r);
    progress_close();
    if (status == DONE)
        status = summary_say(&(summary){c->factors, r, c->data.file, c->output, c->json, c->quiet});
    fab_rotation_free(r);
    return status;
}

/* No process has all coordinates, and so none has loadings or scores. */
static int finish_shards(const fa_call *c)
{
    fab_fa_report report;
    const fab_processes *p = processes();
    fab_status s = fab_factors_report(c->factors, &report);
    if (s == FAB_OK) s = fab_factors_save_shards(c->factors, fab_processes_rank(p), c->output);
    if (s != FAB_OK) return say_status(s);
    progress_close();
    if (!processes_first()) return DONE;
    return summary_say_shared(
        &(summary){c->factors, NULL, c->data.file, c->output, c->json, c->quiet}, &report,
        c->share.total_rows, fab_processes_count(p));
}

static int fa(fa_call *c)
{
    int status = put_settings(c);
    if (status == DONE) status = check_call(c);
    if (status != DONE) return status;
    progress_open(c->quiet);
    fab_set_progress(progress_tick, NULL);
    if (!c->source) status = data_open(&c->source, &c->data);
    if (status == DONE && by_bic(c)) status = check_search(c);
    if (status == DONE && processes()) status = take_share(c);
    status = together(status);
    if (status == DONE) status = together(begin(c));
    if (status == DONE) status = together(fit_rows(c));
    if (status == DONE && in_shards(c)) return finish_shards(c);
    return status == DONE && processes_first() ? finish(c) : status;
}

static int run(const verb *self, int argc, char **argv)
{
    fa_call c = {.argc = argc, .argv = argv};
    // clang-format off
    const option options[] = {
        {NULL, 'k', OPT_TEXT, &c.k, "K|auto", 0, 0, NULL, "number of factors; auto: by BIC"},
        {"method", 'm', OPT_TEXT, &c.name, "METHOD", 0, 0, NULL, "see `fabayes methods` (default: online-ml up to D = 1000, above recursive-em); swag: each row is an iterate"},
        {"weight", 0, OPT_TEXT, &c.weight, "COLUMN", 0, 0, NULL, "weights of the rows: one of weight w counts as w of them, one of 0 is absent"},
        {"missing", 0, OPT_CHOICE, &c.missing, "WAY", 0, 0, missing_ways, "rows with a missing value: refuse (default), drop, or em: fit what is there, by EM"},
        OPTION_OUTPUT(&c.output, "save the Gaussian, and for a stream what `update` needs"),
        {"loadings", 0, OPT_TEXT, &c.loadings, "FILE.csv", 0, 0, NULL, "write name, loadings and psi of each coordinate"},
        {"scores", 0, OPT_TEXT, &c.scores, "FILE", 0, 0, NULL, "write E[z|x] of each row to FILE.npy or FILE.csv"},
        {"rotation", 0, OPT_TEXT, &c.rotation, "NAME", 0, 0, ((const char *const[]){"principal", "varimax", "promax", "oblimin", NULL}), "of loadings and scores: principal (default), varimax, promax or oblimin"},
        {"standardise", 0, OPT_FLAG, &c.standardise, NULL, 0, 0, NULL, "loadings of columns in their standard deviations; pca, ppca: of correlations"},
        {"max-factors", 0, OPT_I64, &c.max_factors, "N", 1, 4096, NULL, "-k auto: candidates up to N (default 32)"},
        {"checkpoint", 0, OPT_I64, &c.checkpoint, "N", 1, 0x1p53, NULL, "save to the output every N rows"},
        {"resume", 0, OPT_FLAG, &c.resume, NULL, 0, 0, NULL, "go on from the output, behind the rows it has seen"},
        {"memory", 0, OPT_F64, &c.memory, "MB", 0.001, 1e9, NULL, "for a block of rows (default 256); batch methods: for all (default: what is free)"},
        OPTION_FORMAT(&c.data.format),
        OPTION_ROWS(&c.data.rows),
        OPTIONS_COLUMNS(&c.data.only, &c.data.exclude),
        OPTION_FEATURES(&c.data.features),
        OPTION_MAX_COLUMNS(&c.data.columns_max),
        OPTIONS_DIALECT(&c.data),
        OPTION_DTYPE(&c.dtype, "element type of F and of the work (default f64)"),
        {"device", 0, OPT_TEXT, &c.device, "NAME", 0, 0, NULL, "where the work is done: cpu (default), cuda or cuda:N; online-em, stochastic-em, online-sga and swag run on a card"},
        {"seed", 0, OPT_TEXT, &c.seed, "N", 0, 0, NULL, "seed of the random numbers (default: the method's)"},
        OPTION_THREADS(&c.threads),
        OPTION_JSON(&c.json),
        OPTION_QUIET(&c.quiet),
    };
    // clang-format on
    const call_shape shape = {options, COUNT(options), &c.data.file, 1, 1, find_settings, &c, NULL};
    int status;
    if (options_parse(self, &shape, argc, argv, NULL, &status)) {
        c.data.threads = c.threads;
        status = fa(&c);
    }
    fab_factors_free(c.factors);
    fab_source_close(c.source);
    free(c.settings);
    return status;
}

const verb verb_fa = {"fa", "DATA -k K|auto [-m METHOD]", "factor analysis of the rows of DATA",
                      run, .divides = 1};
