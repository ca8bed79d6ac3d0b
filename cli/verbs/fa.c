/* fa.c - `fabayes fa`: factor analysis of the rows of DATA.
 *
 * SPDX-License-Identifier: MIT */
#include "print/scores.h"
#include "print/summary.h"
#include "saved.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct fa_call {
    data_options data;
    const char *k, *name, *output, *seed, *scores, *loadings;
    int64_t threads, dtype, json, quiet, checkpoint, resume, varimax, max_factors;
    double memory;
    const fab_method *method;
    void *settings; /* of the method; owned */
    fab_source *source;
    fab_factors *factors;
} fa_call;

/* ---- the call ------------------------------------------------------------------------------------- */

static int find_settings(void *ctx, const fab_fields **table, void **settings)
{
    fa_call *c = ctx;
    const int status = method_named(&c->method, c->name ? c->name : "recursive-em");
    if (status != DONE) return status;
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

static int is_set(const fa_call *c, const char *name)
{
    const fab_field *f = fab_settings_find(fab_method_fields(c->method), name);
    int64_t value = 0;
    if (f) memcpy(&value, (const char *)c->settings + f->offset, sizeof value);
    return value != 0;
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

/* Options that need one another. */
static int check_call(const fa_call *c)
{
    const char *of_stream = c->checkpoint ? "checkpoint" : "resume";
    if (c->max_factors && !by_bic(c)) return say_wrong("fa: --max-factors is for -k auto");
    if (c->varimax && !c->loadings && !c->scores)
        return say_wrong(
            "fa: --varimax turns what --loadings or --scores writes; neither is given");
    if ((c->checkpoint || c->resume) && !c->output)
        return say_wrong("fa: --%s needs -o FILE", of_stream);
    if ((c->checkpoint || c->resume) && !fab_method_streams(c->method))
        return say_wrong("fa: %s is a batch method: there is nothing to --%s",
                         fab_method_name(c->method), of_stream);
    return check_files(c);
}

/* Can -k auto choose? */
static int check_search(const fa_call *c)
{
    const int64_t labels = fab_source_format(c->source) == FAB_FORMAT_LIBSVM;
    const int64_t D = fab_source_columns(c->source) - labels;
    const char *lacks = fab_factors_lacks(c->method);
    if (lacks)
        return say_wrong("fa: %s %s; -k auto needs %s", fab_method_name(c->method), lacks,
                         fab_method_streams(c->method) ? "recursive-em or a batch method"
                                                       : "ml, em, ppca or recursive-em");
    if (c->max_factors > D)
        return say_wrong("fa: --max-factors=%" PRId64 " for D = %" PRId64 " coordinates",
                         c->max_factors, D);
    return DONE;
}

/* ---- the work ------------------------------------------------------------------------------------- */

/* Was the output made by this method, in this precision? */
static int check_saved(const fa_call *c)
{
    fab_tensors *t = NULL;
    const fab_status s = fab_tensors_read(&t, c->output);
    if (s != FAB_OK) return say_status(s);
    const int status = saved_check_method(c->output, t, "fa", c->method, (fab_dtype)c->dtype);
    fab_tensors_free(t);
    return status;
}

static int begin(fa_call *c)
{
    const fab_exec exec = {.ops = fab_ops_find("cpu", (fab_dtype)c->dtype), .threads = c->threads};
    const fab_factors_plan plan = {.source = c->source,
                                   .method = fab_method_name(c->method),
                                   .settings = c->settings,
                                   .size = fab_method_fields(c->method)->size,
                                   .K = by_bic(c) ? FAB_AUTO_I64 : 0,
                                   .max_factors = c->max_factors,
                                   .memory = 1e6 * c->memory,
                                   .output = c->output,
                                   .checkpoint = c->checkpoint};
    struct stat there;
    if (!c->resume || stat(c->output, &there) != 0) {
        const fab_status s = fab_factors_create(&c->factors, &plan, &exec);
        return s == FAB_OK ? DONE : say_status(s);
    }
    const int status = check_saved(c);
    if (status != DONE) return status;
    const fab_status s = fab_factors_resume(&c->factors, &plan, c->output, &exec);
    return s == FAB_OK ? DONE : factors_failed("fa", s);
}

static int fit_rows(fa_call *c)
{
    const fab_gauss *q;
    fab_status s = fab_factors_read(c->factors);
    if (s == FAB_NO_MEMORY && c->memory > 0 && fab_factors_bytes(c->factors) > 1e6 * c->memory)
        return say_failed("%s by --memory", fab_detail());
    if (s == FAB_OK) s = fab_factors_result(c->factors, &q);
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
    const fab_rotation_kind kind = c->varimax ? FAB_ROTATION_VARIMAX : FAB_ROTATION_PRINCIPAL;
    const fab_gauss *q;
    fab_rotation *r = NULL;
    fab_status s = fab_factors_result(c->factors, &q);
    if (s == FAB_OK && c->output) s = fab_factors_save(c->factors, c->output);
    if (s == FAB_OK) s = fab_rotation_create(&r, q, kind);
    if (s != FAB_OK) return say_status(s);
    int status = write_files(c, r);
    progress_close();
    if (status == DONE)
        status = summary_say(&(summary){c->factors, r, c->data.file, c->output, c->json, c->quiet});
    fab_rotation_free(r);
    return status;
}

static int fa(fa_call *c)
{
    int status = put_settings(c);
    if (status == DONE) status = check_call(c);
    if (status != DONE) return status;
    progress_open(c->quiet);
    fab_set_progress(progress_tick, NULL);
    status = data_open(&c->source, &c->data);
    if (status == DONE && by_bic(c)) status = check_search(c);
    if (status == DONE) status = begin(c);
    if (status == DONE) status = fit_rows(c);
    return status == DONE ? finish(c) : status;
}

static int run(const verb *self, int argc, char **argv)
{
    fa_call c = {0};
    // clang-format off
    const option options[] = {
        {NULL, 'k', OPT_TEXT, &c.k, "K|auto", 0, 0, NULL, "number of factors; auto: by BIC"},
        {"method", 'm', OPT_TEXT, &c.name, "METHOD", 0, 0, NULL, "see `fabayes methods` (default recursive-em)"},
        OPTION_OUTPUT(&c.output, "save the Gaussian, and for a stream what `update` needs"),
        {"loadings", 0, OPT_TEXT, &c.loadings, "FILE.csv", 0, 0, NULL, "write name, loadings and psi of each coordinate"},
        {"scores", 0, OPT_TEXT, &c.scores, "FILE", 0, 0, NULL, "write E[z|x] of each row to FILE.npy or FILE.csv"},
        {"varimax", 0, OPT_FLAG, &c.varimax, NULL, 0, 0, NULL, "turn loadings and scores by varimax"},
        {"max-factors", 0, OPT_I64, &c.max_factors, "N", 1, 4096, NULL, "-k auto: candidates up to N (default 32)"},
        {"checkpoint", 0, OPT_I64, &c.checkpoint, "N", 1, 0x1p53, NULL, "save to the output every N rows"},
        {"resume", 0, OPT_FLAG, &c.resume, NULL, 0, 0, NULL, "go on from the output, behind the rows it has seen"},
        {"memory", 0, OPT_F64, &c.memory, "MB", 0.001, 1e9, NULL, "for a block of rows (default 256); batch methods: for all (default: what is free)"},
        OPTION_FORMAT(&c.data.format),
        OPTION_ROWS(&c.data.rows),
        OPTION_FEATURES(&c.data.features),
        OPTION_DTYPE(&c.dtype, "element type of F and of the work (default f64)"),
        {"seed", 0, OPT_TEXT, &c.seed, "N", 0, 0, NULL, "seed of the random numbers (default: the method's)"},
        OPTION_THREADS(&c.threads),
        OPTION_JSON(&c.json),
        OPTION_QUIET(&c.quiet),
    };
    // clang-format on
    const call_shape shape = {options, COUNT(options), &c.data.file, 1, 1, find_settings, &c, NULL};
    int status;
    if (options_parse(self, &shape, argc, argv, NULL, &status)) status = fa(&c);
    fab_factors_free(c.factors);
    fab_source_close(c.source);
    free(c.settings);
    return status;
}

const verb verb_fa = {"fa", "DATA -k K|auto [-m METHOD]", "factor analysis of the rows of DATA",
                      run};
