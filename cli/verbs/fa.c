/* fa.c - `fabayes fa`: factor analysis of the rows of DATA.
 *
 * SPDX-License-Identifier: MIT */
#include "saved.h"
#include "print/summary.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct fa_call {
    data_options data;
    const char *k, *method, *output, *seed, *scores, *loadings;
    int64_t threads, dtype, json, quiet, checkpoint, resume, varimax;
    double memory;
    int by_bic; /* -k auto */
    rank_search ranks;
    fit fit;
} fa_call;

/* ---- the call ------------------------------------------------------------------------------------- */

static int find_settings(void *ctx, const fab_fields **table, void **settings)
{
    fa_call *c = ctx;
    const fab_method *m = NULL;
    int status = method_named(&m, c->method ? c->method : "recursive-em");
    if (status == DONE && m->infer)
        status = say_wrong("fa: %s fits a model of a target; `fabayes fit` runs it", m->name);
    if (status == DONE) status = fit_settings(&c->fit, m);
    if (status != DONE) return status;
    *table = m->table;
    *settings = c->fit.settings;
    return DONE;
}

static int put_text(const fa_call *c, const char *name, const char *text)
{
    const fab_status s = fab_settings_parse(c->fit.method->table, c->fit.settings, name, text);
    return s == FAB_OK ? DONE : say_status(s);
}

/* --memory is the setting of that name where the method has it, else the limit of the whole fit. */
static void put_memory(fa_call *c)
{
    const fab_field *f = fab_settings_find(c->fit.method->table, "memory");
    if (!(c->memory > 0)) return;
    if (f)
        memcpy((char *)c->fit.settings + f->offset, &c->memory, sizeof c->memory);
    else
        c->fit.memory = c->memory;
}

static int put_settings(fa_call *c)
{
    const fab_fields *t = c->fit.method->table;
    if (setting_get(t, c->fit.settings, "D") || setting_get(t, c->fit.settings, "K"))
        return say_wrong("fa: D comes from DATA and K from -k; they are no settings here");
    if (!c->k) return say_wrong("fa: -k K, the number of factors, or -k auto is missing");
    c->by_bic = strcmp(c->k, "auto") == 0;
    put_memory(c);
    int status = c->by_bic ? DONE : put_text(c, "K", c->k);
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
    const int streams = c->fit.method->streams != 0;
    if (c->ranks.most && !c->by_bic) return say_wrong("fa: --max-factors is for -k auto");
    if (c->varimax && !c->loadings && !c->scores)
        return say_wrong(
            "fa: --varimax turns what --loadings or --scores writes; neither is given");
    if ((c->checkpoint || c->resume) && !c->output)
        return say_wrong("fa: --%s needs -o FILE", c->checkpoint ? "checkpoint" : "resume");
    if ((c->checkpoint || c->resume) && !streams)
        return say_wrong("fa: %s is a batch method: there is nothing to --%s", c->fit.method->name,
                         c->checkpoint ? "checkpoint" : "resume");
    return check_files(c);
}

/* ---- --resume ------------------------------------------------------------------------------------- */

/* Was the file made by this call?  With -k auto a finished file has another K. */
static int check_saved(const fa_call *c, const fab_tensors *t)
{
    const fit *f = &c->fit;
    int status = saved_check_method(c->output, t, "fa", f->method, (fab_dtype)c->dtype);
    if (status == DONE)
        status = data_check_names(&f->data, c->output, fab_tensors_get(t, "features"));
    if (status != DONE) return status;
    return saved_check_settings(c->output, fab_tensors_get(t, "settings"), f->method->table,
                                f->settings, c->by_bic ? "K" : NULL);
}

static int resume(fa_call *c)
{
    fab_tensors *t = NULL;
    const fab_status s = fab_tensors_read(&t, c->output);
    if (s != FAB_OK) return say_status(s);
    const int64_t K = setting_get(c->fit.method->table, c->fit.settings, "K");
    int status = check_saved(c, t);
    if (status == DONE) status = fit_resume(&c->fit, c->output, t, K);
    if (status == DONE) status = data_skip(&c->fit.data, c->fit.seen);
    fab_tensors_free(t);
    return status;
}

/* ---- the work ------------------------------------------------------------------------------------- */

static int begin(fa_call *c)
{
    fit *f = &c->fit;
    struct stat there;
    f->verb = "fa";
    f->output = c->output;
    f->checkpoint = c->checkpoint;
    f->quiet = c->quiet;
    f->exec = (fab_exec){.ops = fab_ops_find("cpu", (fab_dtype)c->dtype), .threads = c->threads};
    int status = data_open(&f->data, &c->data);
    if (status != DONE) return status;
    setting_put(f->method->table, f->settings, "D", f->data.D);
    if (c->by_bic) status = rank_prepare(&c->ranks, f);
    if (status == DONE) status = fit_set_names(f);
    if (status != DONE) return status;
    return c->resume && stat(c->output, &there) == 0 ? resume(c) : fit_open(f);
}

static int write_files(const fa_call *c, const factors *turned)
{
    int status = DONE;
    if (c->loadings) status = loadings_write(turned, &c->fit.data, c->loadings);
    if (c->scores && status == DONE)
        status = scores_write(turned, &c->fit, c->scores, fab_fit_rows(c->fit.estim));
    return status;
}

static int finish(fa_call *c)
{
    const fab_gauss *q;
    factors turned = {0};
    const fab_status s = fab_fit_gauss(c->fit.estim, &q);
    if (s != FAB_OK) return say_status_of(c->fit.data.o.file, s);
    int status = fit_save(&c->fit);
    if (status == DONE) status = factors_open(&turned, q, c->varimax != 0);
    if (status == DONE) status = write_files(c, &turned);
    progress_close();
    if (status == DONE)
        status = summary_say(&c->fit, &turned, c->by_bic ? &c->ranks : NULL, c->json);
    factors_close(&turned);
    return status;
}

static int fa(fa_call *c)
{
    int status = put_settings(c);
    if (status == DONE) status = check_call(c);
    if (status != DONE) return status;
    progress_open(c->quiet);
    status = begin(c);
    if (status == DONE) status = fit_rows(&c->fit);
    if (status == DONE && c->by_bic) status = rank_choose(&c->ranks, &c->fit);
    if (status == DONE) status = fit_check_rows(&c->fit, fab_fit_rows(c->fit.estim));
    return status == DONE ? finish(c) : status;
}

static int run(const verb *self, int argc, char **argv)
{
    fa_call c = {0};
    // clang-format off
    const option options[] = {
        {NULL, 'k', OPT_TEXT, &c.k, "K|auto", 0, 0, NULL, "number of factors; auto: by BIC"},
        {"method", 'm', OPT_TEXT, &c.method, "METHOD", 0, 0, NULL, "see `fabayes methods` (default recursive-em)"},
        OPTION_OUTPUT(&c.output, "save the Gaussian, and for a stream what `update` needs"),
        {"loadings", 0, OPT_TEXT, &c.loadings, "FILE.csv", 0, 0, NULL, "write name, loadings and psi of each coordinate"},
        {"scores", 0, OPT_TEXT, &c.scores, "FILE", 0, 0, NULL, "write E[z|x] of each row to FILE.npy or FILE.csv"},
        {"varimax", 0, OPT_FLAG, &c.varimax, NULL, 0, 0, NULL, "turn loadings and scores by varimax"},
        {"max-factors", 0, OPT_I64, &c.ranks.most, "N", 1, 4096, NULL, "-k auto: candidates up to N (default 32)"},
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
    rank_close(&c.ranks);
    fit_close(&c.fit);
    return status;
}

const verb verb_fa = {"fa", "DATA -k K|auto [-m METHOD]", "factor analysis of the rows of DATA",
                      run};
