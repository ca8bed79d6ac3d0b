/* tune.c - `fabayes tune`: settings by cross-validation, and the fit with the best of them.
 *
 * SPDX-License-Identifier: MIT */
#include "choice.h"
#include "print/learned.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TRIALS = 30, FOLDS = 5, SAMPLES = 100, MOST_RANGES = 32 };

static const char *const search_names[] = {"random", "bayes", NULL};

typedef struct tune_call {
    choice choice; /* first: a call is passed on as its choice */
    const char *table;
    int64_t trials, folds, samples, resume, json, search, at_once;
    fab_range range[MOST_RANGES];
    int64_t ranges;
    fab_tune *tune;
} tune_call;

/* ---- ranges ------------------------------------------------------------------------------------------- */

static int add_range(tune_call *c, const fab_range *r)
{
    if (c->ranges == MOST_RANGES) return say_wrong("tune: more than %d ranges", MOST_RANGES);
    c->range[c->ranges++] = *r;
    return DONE;
}

/* --name=LO:HI or --name=LO:HI:log is searched. */
static int take_range(void *ctx, const fab_field *field, const char *text, int *taken)
{
    tune_call *c = ctx;
    char *end;
    if (!strchr(text, ':')) return DONE;
    fab_range r = {.name = field->name, .lo = strtod(text, &end)};
    int good = end != text && *end == ':';
    const char *second = end + 1;
    if (good) r.hi = strtod(second, &end);
    good = good && end != second &&
           (*end == 0 || strcmp(end, ":log") == 0 || strcmp(end, ":lin") == 0);
    r.log = good && strcmp(end, ":log") == 0;
    if (!good)
        return say_wrong("tune: --%s=%s is no range; LO:HI, LO:HI:log or LO:HI:lin is", field->name,
                         text);
    *taken = 1;
    return add_range(c, &r);
}

/* Without ranges those of the settings table, but for settings that the call fixes. */
static int propose(tune_call *c)
{
    const fab_method *m = fab_regression_method(c->choice.r);
    const fab_status s = fab_tune_propose(fab_method_fields(m),
                                          fab_regression_settings(c->choice.r), c->range,
                                          MOST_RANGES, &c->ranges);
    if (s != FAB_OK) return say_status(s);
    if (c->ranges) return DONE;
    return say_wrong("tune: %s proposes nothing to search; name a setting, as --alpha=0.01:10:log",
                     fab_method_fields(m)->method);
}

/* ---- the search ------------------------------------------------------------------------------------------ */

static int open_search(tune_call *c)
{
    fab_regression *r = c->choice.r;
    fab_recipe recipe = fab_regression_recipe(r);
    recipe.samples = c->samples;
    for (int64_t j = 0; j < c->ranges; j++) /* a noise that is searched is held in each trial */
        if (strcmp(c->range[j].name, "beta") == 0 && !c->choice.plan.noise)
            recipe.noise = FAB_NOISE_FIXED;
    const fab_tune_plan plan = {.trials = c->trials,
                                .folds = c->folds,
                                .seed = c->choice.seed ? strtoll(c->choice.seed, NULL, 10) : 1,
                                .threads = c->choice.threads,
                                .range = c->range,
                                .ranges = c->ranges,
                                .search = (fab_search)c->search,
                                .at_once = c->at_once};
    const fab_status s = fab_tune_create(&c->tune, &recipe, fab_regression_settings(r),
                                         fab_regression_table(r), &plan);
    if (s != FAB_OK)
        return s == FAB_BAD_ARGUMENT ? say_status(s) : say_status_of(c->choice.data.file, s);
    const fab_status read = c->resume ? fab_tune_read(c->tune, c->table) : FAB_OK;
    return read == FAB_OK ? DONE : say_status(read);
}

static void say_best(const tune_call *c)
{
    const int64_t best = fab_tune_best(c->tune);
    const fab_trial *t = fab_tune_trial(c->tune, best);
    if (c->choice.quiet || c->json || !t) return;
    progress_close();
    fprintf(stderr, "best so far: trial %" PRId64 ", nll %.5g (se %.2g)", best, t->nll, t->se);
    for (int64_t j = 0; j < c->ranges; j++)
        fprintf(stderr, ", %s = %.4g", c->range[j].name, t->value[j]);
    fprintf(stderr, "\n");
}

static int search(tune_call *c)
{
    int64_t best = fab_tune_best(c->tune);
    while (!fab_tune_done(c->tune)) {
        fab_status s = fab_tune_step(c->tune);
        if (s == FAB_OK && c->table) s = fab_tune_write(c->tune, c->table);
        if (s != FAB_OK) return say_status(s);
        if (fab_tune_best(c->tune) != best) say_best(c);
        best = fab_tune_best(c->tune);
    }
    if (best >= 0) return DONE;
    return say_failed("tune: no trial could be fitted: %s", fab_tune_trial(c->tune, 0)->why);
}

/* ---- what is said ---------------------------------------------------------------------------------------- */

static json_t *json_trial(const tune_call *c, int64_t i)
{
    const fab_trial *t = fab_tune_trial(c->tune, i);
    json_t *j = json_object(), *values = json_object();
    for (int64_t k = 0; k < c->ranges; k++)
        json_put(values, c->range[k].name, json_number(t->value[k]));
    json_put(j, "trial", json_integer(i));
    json_put(j, "settings", values);
    json_put(j, "nll", json_number(t->nll));
    json_put(j, "se", json_number(t->se));
    json_put(j, "failed", json_integer(t->failed));
    json_put(j, "seconds", json_number(t->seconds));
    return j;
}

static int say_json(const tune_call *c)
{
    json_t *j = json_object(), *all = json_array();
    for (int64_t i = 0; i < c->trials; i++) json_array_append_new(all, json_trial(c, i));
    json_put(j, "method", json_text(fab_method_name(fab_regression_method(c->choice.r))));
    json_put(j, "best", json_trial(c, fab_tune_best(c->tune)));
    json_put(j, "trials", all);
    json_put(j, "search", json_text(search_names[c->search]));
    json_put(j, "folds", json_integer(c->folds));
    keys_put(j, c->choice.r);
    json_put(j, "output", c->choice.plan.output ? json_text(c->choice.plan.output) : json_null());
    json_put(j, "seconds", json_number(fab_clock() - c->choice.start));
    return json_say(j);
}

static int say_table(const tune_call *c)
{
    const int64_t best = fab_tune_best(c->tune);
    const fab_trial *t = fab_tune_trial(c->tune, best);
    if (c->choice.quiet) return DONE;
    printf("%s: best of %" PRId64 " trials on %" PRId64 " folds: trial %" PRId64
           ", nll %.6g (se %.2g)\n",
           fab_method_name(fab_regression_method(c->choice.r)), c->trials, c->folds, best, t->nll,
           t->se);
    for (int64_t j = 0; j < c->ranges; j++) printf("  --%s=%.6g\n", c->range[j].name, t->value[j]);
    keys_print(stdout, c->choice.r);
    return DONE;
}

/* The fit of all rows with the best settings. */
static int fit_best(tune_call *c)
{
    fab_regression *r = c->choice.r;
    fab_status s = fab_tune_settings(c->tune, fab_tune_best(c->tune), fab_regression_settings(r));
    if (s == FAB_OK) s = fab_regression_run(r);
    return choice_say(&c->choice, s);
}

static int tune(tune_call *c)
{
    choice *h = &c->choice;
    const char *output = h->plan.output;
    int status = output ? output_check(output, h->data.file) : DONE;
    if (status == DONE && c->table) status = output_check(c->table, h->data.file);
    if (status == DONE && c->resume && !c->table)
        status = say_wrong("tune: --resume needs --table FILE");
    if (status == DONE && c->at_once && c->search == FAB_SEARCH_RANDOM)
        status = say_wrong(
            "tune: --at-once is of --search bayes; random trials do not wait for one another");
    if (status == DONE && c->at_once > c->trials)
        status = say_wrong("tune: --at-once %" PRId64 " is more than the %" PRId64 " trials",
                           c->at_once, c->trials);
    if (status == DONE) status = choice_put(h);
    if (status == DONE) status = choice_say(h, fab_regression_prepare(h->r));
    if (status == DONE && !c->ranges) status = propose(c);
    if (status == DONE) status = open_search(c);
    if (status == DONE) status = search(c);
    if (status == DONE && output) status = fit_best(c);
    progress_close();
    if (status != DONE) return status;
    return c->json ? say_json(c) : say_table(c);
}

static int run(const verb *self, int argc, char **argv)
{
    tune_call c = {.choice = {.verb = "tune", .start = fab_clock(), .plan.whole = 1},
                   .trials = TRIALS,
                   .folds = FOLDS,
                   .samples = SAMPLES};
    // clang-format off
    const option options[] = {
        CHOICE_OPTIONS(&c.choice),
        {"trials", 0, OPT_I64, &c.trials, "N", 1, 1e6, NULL, "settings tried (default 30)"},
        {"folds", 0, OPT_I64, &c.folds, "N", 2, 1e6, NULL, "of the cross-validation (default 5)"},
        {"search", 0, OPT_CHOICE, &c.search, NULL, 0, 0, search_names, "settings at random, or where those tried so far promise most (default random)"},
        {"at-once", 0, OPT_I64, &c.at_once, "N", 1, 1000, NULL, "of --search bayes: trials side by side, which do not know of one another (default 1)"},
        {"samples", 0, OPT_I64, &c.samples, "N", 1, 0x1p31, NULL, "draws of theta for the predictions of a network (default 100)"},
        {"table", 0, OPT_TEXT, &c.table, "FILE.csv", 0, 0, NULL, "write the trials, after each group of them"},
        {"resume", 0, OPT_FLAG, &c.resume, NULL, 0, 0, NULL, "take the trials that stand in the table as done"},
        OPTION_OUTPUT(&c.choice.plan.output, "fit all rows with the best settings, and save"),
        OPTION_JSON(&c.json),
    };
    // clang-format on
    const call_shape shape = {options, COUNT(options),  &c.choice.data.file, 1,
                              1,       choice_settings, &c.choice,           take_range};
    int status;
    if (options_parse(self, &shape, argc, argv, NULL, &status)) status = tune(&c);
    fab_tune_free(c.tune);
    choice_close(&c.choice);
    return status;
}

const verb verb_tune = {"tune", "DATA -y TARGET [-m METHOD]",
                        "search settings by cross-validation: --rate=0.001:0.1:log", run};
