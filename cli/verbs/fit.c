/* fit.c - `fabayes fit`: a linear model, or a network, of one column of DATA.
 *
 * SPDX-License-Identifier: MIT */
#include "choice.h"
#include "print/learned.h"
#include "saved.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct fit_call {
    choice choice;
    const char *prior;
    int64_t dtype, resume, json;
} fit_call;

/* Options that need one another. */
static int check_call(const fit_call *c)
{
    const learning *l = &c->choice.l;
    const char *given = l->checkpoint ? "checkpoint" : "resume";
    if (l->scale_rows && (!l->method->streams || l->layers))
        return say_wrong("fit: %s takes its units from all rows: --scale-rows is for streams",
                         l->method->name);
    if (!l->checkpoint && !c->resume) return DONE;
    if (!l->output) return say_wrong("fit: --%s needs -o FILE", given);
    if (l->method->streams && l->layers)
        return say_wrong("fit: %s of a network has nothing to --%s; `update` goes on with its file",
                         l->method->name, given);
    if (!l->method->streams && learning_glm(l))
        return say_wrong("fit: %s is a batch method: there is nothing to --%s", l->method->name,
                         given);
    return DONE;
}

/* ---- the fit ------------------------------------------------------------------------------------------ */

/* Units, and the settings that come from them. */
static int scale(fit_call *c)
{
    learning *l = &c->choice.l;
    int status = c->prior ? learning_take_prior(l, c->prior) : DONE;
    if (status == DONE) status = learning_scale(l);
    fab_glm_settings *s = learning_glm(l);
    if (status != DONE || !s) return status;
    s->D = l->scaling->D;
    if (l->kind == FAB_LIKELIHOOD_CATEGORICAL) s->classes = l->scaling->levels;
    return DONE;
}

/* Behind the rows that the file has seen. */
static int skip(fit_call *c, const fab_tensors *t)
{
    learning *l = &c->choice.l;
    if (!l->method->streams) return DONE; /* a network goes on with the same table */
    const char *read = fab_tensors_get(t, "read");
    const int64_t behind = read ? strtoll(read, NULL, 10) : -1;
    if (behind < fab_feed_rows(l->feed))
        return say_failed("%s: is not a file that this call left behind", l->output);
    const fab_status s = fab_feed_skip(l->feed, behind - fab_feed_rows(l->feed));
    fab_dataset_clear(l->table);
    l->rows = 0;
    return s == FAB_OK ? DONE : say_status_of(l->data.file, s);
}

static int resume(fit_call *c)
{
    learning *l = &c->choice.l;
    fab_tensors *t = NULL;
    const fab_status s = fab_tensors_read(&t, l->output);
    if (s != FAB_OK) return say_status(s);
    const fab_dtype type = l->method->streams || l->layers ? (fab_dtype)c->dtype : FAB_F64;
    int status = saved_check_method(l->output, t, "fit", l->method, type);
    if (status == DONE)
        status = saved_check_settings(l->output, fab_tensors_get(t, "settings"), l->method->table,
                                      l->settings, NULL);
    if (status == DONE) status = learning_resume(l, l->output, t);
    if (status == DONE) status = skip(c, t);
    fab_tensors_free(t);
    return status;
}

static int begin(fit_call *c)
{
    struct stat there;
    const int again = c->resume && stat(c->choice.l.output, &there) == 0;
    return again ? resume(c) : learning_begin(&c->choice.l);
}

static int fit_all(fit_call *c)
{
    learning *l = &c->choice.l;
    l->exec =
        (fab_exec){.ops = fab_ops_find("cpu", (fab_dtype)c->dtype), .threads = l->exec.threads};
    int status = l->output ? output_check(l->output, l->data.file) : DONE;
    if (status == DONE) status = choice_put(&c->choice);
    if (status == DONE) status = check_call(c);
    if (status == DONE) status = scale(c);
    if (status == DONE) status = begin(c);
    if (status == DONE) status = learning_rows(l);
    if (status == DONE) status = learning_save(l);
    return status == DONE ? learned_say(l, c->choice.guessed, c->json) : status;
}

static int run(const verb *self, int argc, char **argv)
{
    fit_call c = {.choice.l = {.verb = "fit", .start = fab_clock(), .resumable = 1}};
    learning *l = &c.choice.l;
    // clang-format off
    const option options[] = {
        CHOICE_OPTIONS(&c.choice),
        OPTION_OUTPUT(&l->output, "save the posterior, the model and the scaling"),
        {"prior", 0, OPT_TEXT, &c.prior, "FILE", 0, 0, NULL, "a Gaussian over the coefficients; of an earlier fit: its posterior, in its units"},
        {"scale-rows", 0, OPT_I64, &l->scale_rows, "N", 1, 0x1p40, NULL, "rows that the units of a stream come from (default 1000)"},
        {"checkpoint", 0, OPT_I64, &l->checkpoint, "N", 1, 0x1p53, NULL, "save to the output every N rows, or epochs of a network"},
        {"resume", 0, OPT_FLAG, &c.resume, NULL, 0, 0, NULL, "go on from the output, to the same bytes"},
        OPTION_DTYPE(&c.dtype, "element type of F and of the work (default f64)"),
        OPTION_JSON(&c.json),
    };
    // clang-format on
    const call_shape shape = {options, COUNT(options),  &l->data.file, 1,
                              1,       choice_settings, &c.choice,     NULL};
    int status;
    if (options_parse(self, &shape, argc, argv, NULL, &status)) status = fit_all(&c);
    learning_close(l);
    return status;
}

const verb verb_fit = {"fit", "DATA -y TARGET [-m METHOD]",
                       "a model of one column of DATA: linear or a network", run};
