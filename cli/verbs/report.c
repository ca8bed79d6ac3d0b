/* report.c - `fabayes report`: a page to look at, of a fit and of its predictions.
 *
 * SPDX-License-Identifier: MIT */
#include "page/page.h"
#include "print/clusters.h"
#include <stdio.h>
#include <string.h>

/* FILE with .html in the place of its end. */
static int default_output(char *out, size_t size, const char *file)
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(slash ? slash : file, '.');
    const int stem = dot ? (int)(dot - file) : (int)strlen(file);
    if (snprintf(out, size, "%.*s.html", stem, file) < (int)size) return DONE;
    return say_failed("report: the name of FILE is too long");
}

/* No option may be given and mean nothing. */
static int check_data(const page_call *c)
{
    const data_options *d = &c->data;
    const fab_predict_plan *h = &c->how;
    const char *const text[] = {d->rows, d->only,   d->exclude, d->separator, d->decimal,
                                d->na,   d->labels, d->comment, d->dates};
    int given = d->format || h->samples || h->linearised || h->seed;
    for (int i = 0; i < COUNT(text); i++) given |= text[i] != NULL;
    if (!given || d->file) return DONE;
    return say_wrong("report: an option says how DATA is read or predicted, and there is no DATA");
}

static int check_options(const page_call *c, const fab_posterior *p, const char *rotation)
{
    const fab_kind kind = fab_file_kind(p->file);
    const int network = kind == FAB_KIND_NETWORK;
    if (kind == FAB_KIND_SVM)
        return say_failed(
            "%s: is a support vector machine, of which there is no page; `fabayes info` "
            "and `score` say what it is",
            c->file);
    if (kind == FAB_KIND_CALLBACK)
        return say_failed("%s: is of a model that this program does not know", c->file);
    if (rotation && (kind != FAB_KIND_VECTORS || clusters_file(p->file)))
        return say_wrong("report: --rotation is for a factor analysis, and %s %s", c->file,
                         kind == FAB_KIND_VECTORS ? "has clusters" : "is a regression");
    if (c->reference && kind != FAB_KIND_LINEAR)
        return say_wrong("report: --reference is for the coefficients of a linear model");
    if ((c->data.only || c->data.exclude) && kind != FAB_KIND_VECTORS)
        return say_wrong(
            "report: --only and --exclude are for a factor analysis: a regression knows "
            "its columns");
    if ((c->how.linearised || c->how.samples || c->how.seed || c->data.labels) &&
        kind == FAB_KIND_VECTORS)
        return say_wrong(
            "report: --linearised, --samples, --seed and --labels are for the predictions "
            "of a regression, and %s is none",
            c->file);
    if (c->how.linearised && !network)
        return say_wrong("--linearised is for networks: a linear model needs no draws");
    return DONE;
}

static int fill(page_call *c, const char *rotation)
{
    char title[600];
    fab_posterior *p = NULL;
    fab_status s = fab_posterior_load(&p, c->file);
    if (s != FAB_OK) return say_status(s);
    const char *slash = strrchr(c->file, '/');
    int status = check_options(c, p, rotation);
    if (status == DONE) {
        snprintf(title, sizeof title, "%.500s", slash ? slash + 1 : c->file);
        s = fab_page_create(&c->page, title);
        if (s != FAB_OK) status = say_status(s);
    }
    if (status == DONE)
        status = fab_file_kind(p->file) != FAB_KIND_VECTORS ? page_regression(c, p)
                 : clusters_file(p->file)                   ? page_clusters(c, p)
                                                            : page_factors(c, p);
    fab_posterior_free(p);
    return status;
}

static int write_page(page_call *c, const char *output, int64_t json, int64_t quiet)
{
    const fab_status s = fab_page_write(c->page, output);
    if (s != FAB_OK) return say_status(s);
    if (json) {
        json_t *j = json_object();
        json_put(j, "page", json_text(output));
        json_put(j, "figures", json_integer(c->figures));
        return json_say(j);
    }
    if (!quiet) printf("%-12s %s\n", "page", output);
    return DONE;
}

static int run(const verb *self, int argc, char **argv)
{
    page_call c = {.how = {.with_target = 1, .with_cdf = 1}, .rotation = FAB_ROTATION_VARIMAX};
    const char *operand[2], *output = NULL, *rotation = NULL;
    char usual[4096];
    int64_t json = 0, quiet = 0;
    const option options[] = {
        OPTION_OUTPUT(&output, "the page (default: the name of FILE with .html)"),
        {"reference", 0, OPT_TEXT, &c.reference, "COLUMN=LEVEL", 0, 0, NULL,
         "coefficients of levels as differences to this one; several, separated by commas; none: "
         "as they are (default: the first level of each column)"},
        {"rotation", 0, OPT_TEXT, &rotation, "NAME", 0, 0, NULL,
         "of a factor analysis: principal, varimax (default), promax or oblimin"},
        OPTION_FORMAT(&c.data.format),
        OPTION_ROWS(&c.data.rows),
        OPTIONS_COLUMNS(&c.data.only, &c.data.exclude),
        OPTIONS_DIALECT(&c.data),
        OPTION_LABELS(&c.data.labels),
        OPTION_SAMPLES(&c.how.samples),
        OPTION_LINEARISED(&c.how.linearised),
        OPTION_SEED(&c.how.seed),
        OPTION_JSON(&json),
        OPTION_QUIET(&quiet)};
    const call_shape shape = {options, COUNT(options), operand, 1, 2, NULL, NULL, NULL};
    int status, operands;
    if (!options_parse(self, &shape, argc, argv, &operands, &status)) return status;
    c.file = operand[0];
    if (operands > 1) c.data.file = operand[1];
    status = output ? DONE : default_output(usual, sizeof usual, c.file);
    if (status == DONE && !output) output = usual;
    if (status == DONE) status = output_check(output, c.file);
    if (status == DONE && c.data.file) status = output_check(output, c.data.file);
    if (status == DONE && rotation && fab_rotation_find(rotation, &c.rotation) != FAB_OK)
        status = say_wrong("report: --rotation: %s", fab_detail());
    if (status == DONE) status = check_data(&c);
    if (status != DONE) return status;
    progress_open(quiet);
    fab_set_progress(progress_tick, NULL);
    status = fill(&c, rotation);
    progress_close();
    if (status == DONE) status = write_page(&c, output, json, quiet);
    fab_page_free(c.page);
    return status;
}

const verb verb_report = {"report", "FILE [DATA] [-o PAGE]",
                          "a page to look at: the fit, its predictions of DATA", run};
