/* propose.c - `fabayes propose`: the next trial of any function, from a table of the trials so far.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "data.h"
#include "print/csv.h"
#include "print/output.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BLOCK = 256 /* rows read at a time */ };

/* Words of a loss that is none, when --na does not say: the usual ones, and those of a run that broke down. */
static const char usual_na[] =
    ",NA,N/A,#N/A,NaN,nan,null,None,?,-,inf,-inf,+inf,Infinity,-Infinity,failed,error";

static const char *const acquisition_names[] = {"ei", "pi", "ucb", "thompson", NULL};

typedef struct propose_call {
    data_options data;
    const char *target;
    option_texts range_text;
    char *names; /* of the ranges, one behind the other */
    fab_range range[OPTION_TEXTS_MAX];
    fab_propose_plan plan;
    int64_t points, acquisition, maximise, seed, json, quiet;
    fab_propose *search;
    double *x; /* points x ranges */
} propose_call;

/* ---- ranges ------------------------------------------------------------------------------------------- */

/* LO:HI and :log, :lin, :int behind it. */
static int take_words(fab_range *r, const char *p)
{
    while (*p == ':') {
        const size_t n = strcspn(p + 1, ":");
        if (n == 3 && strncmp(p + 1, "log", n) == 0)
            r->log = 1;
        else if (n == 3 && strncmp(p + 1, "int", n) == 0)
            r->whole = 1;
        else if (n != 3 || strncmp(p + 1, "lin", n) != 0)
            return 0;
        p += n + 1;
    }
    return *p == '\0';
}

/* NAME=LO:HI.. -> *r; the name goes to *room, which moves on. */
static int take_range(fab_range *r, const char *text, char **room)
{
    const char *equals = strrchr(text, '=');
    char *end = NULL;
    *r = (fab_range){.name = *room};
    int good = equals && equals > text;
    if (good) {
        memcpy(*room, text, (size_t)(equals - text));
        *room += equals - text;
        *(*room)++ = '\0';
        r->lo = strtod(equals + 1, &end);
        good = end != equals + 1 && *end == ':';
    }
    if (good) {
        const char *second = end + 1;
        r->hi = strtod(second, &end);
        good = end != second && take_words(r, end);
    }
    if (good) return DONE;
    return say_wrong("propose: --range %s is no range; NAME=LO:HI is, with :log and :int behind it",
                     text);
}

static int take_ranges(propose_call *c)
{
    size_t size = 1;
    if (c->range_text.n == 0)
        return say_wrong("propose: no range is given; --range rate=1e-4:0.1:log is one");
    for (int j = 0; j < c->range_text.n; j++) size += strlen(c->range_text.text[j]) + 1;
    c->names = malloc(size);
    if (!c->names) return say_failed("out of memory");
    char *room = c->names;
    for (int j = 0; j < c->range_text.n; j++) {
        const int status = take_range(&c->range[j], c->range_text.text[j], &room);
        if (status != DONE) return status;
        for (int k = 0; k < j; k++)
            if (strcmp(c->range[k].name, c->range[j].name) == 0)
                return say_wrong("propose: --range %s is given twice", c->range[j].name);
    }
    c->plan.range = c->range;
    c->plan.ranges = c->range_text.n;
    c->plan.acquisition = (fab_acquisition)c->acquisition;
    c->plan.maximise = c->maximise;
    c->plan.seed = c->seed;
    return DONE;
}

/* ---- trials ------------------------------------------------------------------------------------------- */

/* The column of that name; -1: there is none. */
static int64_t column_named(const fab_source *s, const char *name)
{
    for (int64_t j = 0; j < fab_source_columns(s); j++) {
        const char *known = fab_source_name(s, j);
        if (known && strcmp(known, name) == 0) return j;
    }
    return -1;
}

/* The columns of ranges and target alone; `place` has their order in the table. */
static int choose_columns(propose_call *c, fab_source **s, int64_t *place)
{
    char only[24 * (OPTION_TEXTS_MAX + 1)];
    size_t used = 0;
    const int64_t columns = c->plan.ranges + 1;
    for (int64_t j = 0; j < columns; j++) {
        const char *name = j < c->plan.ranges ? c->range[j].name : c->target;
        place[j] = column_named(*s, name);
        if (place[j] < 0)
            return say_failed("%s: there is no column '%s'", c->data.file, one_line(name));
        for (int64_t k = 0; k < j; k++)
            if (place[k] == place[j])
                return say_wrong("propose: %s is both a range and the target", c->target);
        used +=
            (size_t)snprintf(only + used, sizeof only - used, "%s%" PRId64, j ? "," : "", place[j]);
    }
    const fab_status chosen = fab_source_choose(s, only, NULL);
    if (chosen != FAB_OK) return say_status(chosen);
    for (int64_t j = 0; j < columns; j++)
        place[j] = column_named(*s, j < c->plan.ranges ? c->range[j].name : c->target);
    return DONE;
}

static int tell_all(propose_call *c, fab_source *s, const int64_t *place)
{
    const int64_t columns = c->plan.ranges + 1;
    double row[BLOCK * (OPTION_TEXTS_MAX + 1)], x[OPTION_TEXTS_MAX];
    int64_t got = 0;
    do {
        const fab_status next = fab_source_next(s, BLOCK, row, &got);
        if (next != FAB_OK) return say_status(next);
        for (int64_t i = 0; i < got; i++) {
            for (int64_t j = 0; j < c->plan.ranges; j++) x[j] = row[i * columns + place[j]];
            const fab_status told =
                fab_propose_tell(c->search, x, row[i * columns + place[columns - 1]]);
            if (told != FAB_OK) return say_status_of(c->data.file, told);
        }
    } while (got > 0);
    return DONE;
}

/* Does the file hold more than a header?  Only a plain file can be looked into. */
static int has_rows(const char *path)
{
    struct stat there;
    int lines = 0, c, before = '\n';
    if (strcmp(path, "-") == 0 || stat(path, &there) != 0 || !S_ISREG(there.st_mode)) return 1;
    FILE *f = fopen(path, "r");
    if (!f) return 1; /* the reader says why */
    while (lines < 2 && (c = getc(f)) != EOF) {
        lines += c != '\n' && c != '\r' && before == '\n';
        before = c == '\r' ? '\n' : c;
    }
    const int broken = ferror(f); /* the reader says so */
    fclose(f);
    return broken || lines > 1;
}

static int has_trials(const propose_call *c)
{
    struct stat there;
    if (!c->data.file) return 0;
    const int is_there = strcmp(c->data.file, "-") == 0 || stat(c->data.file, &there) == 0 ||
                         errno != ENOENT;
    if (!is_there && !c->quiet)
        fprintf(stderr, "fabayes: %s is not there: no trials yet\n", one_line(c->data.file));
    return is_there && has_rows(c->data.file);
}

static int read_trials(propose_call *c)
{
    fab_source *s = NULL;
    int64_t place[OPTION_TEXTS_MAX + 1];
    if (!has_trials(c)) return DONE;
    if (!c->target) return say_wrong("propose: the column of the numbers is missing: -y LOSS");
    if (!c->data.na) c->data.na = usual_na;
    c->data.missing = 1;
    c->data.with_index = 1;
    int status = table_open(&s, &c->data);
    if (status == DONE) status = choose_columns(c, &s, place);
    if (status == DONE) status = tell_all(c, s, place);
    fab_source_close(s);
    return status;
}

/* ---- what is said ------------------------------------------------------------------------------------- */

static json_t *json_point(const propose_call *c, const double *x)
{
    json_t *j = json_object();
    for (int64_t k = 0; k < c->plan.ranges; k++)
        json_put(j, c->range[k].name,
                 c->range[k].whole ? json_integer((json_int_t)x[k]) : json_number(x[k]));
    return j;
}

static json_t *json_best(const propose_call *c, int64_t best)
{
    double y;
    json_t *j = json_object();
    const double *x = fab_propose_trial(c->search, best, &y);
    json_put(j, "trial", json_integer(best));
    json_put(j, "point", json_point(c, x));
    json_put(j, c->target, json_number(y));
    return j;
}

static json_t *json_theta(const fab_propose_report *r)
{
    json_t *all = json_array();
    for (int64_t i = 0; i < fab_kernel_size(r->kernel); i++) {
        fab_kernel_parameter p;
        json_t *j = json_object();
        fab_kernel_parameter_at(r->kernel, i, &p);
        json_put(j, "name", json_text(p.name));
        json_put(j, "column", json_integer(p.column));
        json_put(j, "value", json_number(p.value));
        json_array_append_new(all, j);
    }
    return all;
}

static int say_json(const propose_call *c)
{
    fab_propose_report r;
    json_t *j = json_object(), *points = json_array();
    const int64_t best = fab_propose_best(c->search);
    fab_propose_report_of(c->search, &r);
    for (int64_t i = 0; i < c->points; i++)
        json_array_append_new(points, json_point(c, c->x + i * c->plan.ranges));
    json_put(j, "points", points);
    json_put(j, "modelled", json_boolean(r.modelled != 0));
    json_put(j, "trials", json_integer(r.trials));
    json_put(j, "failed", json_integer(r.failed));
    json_put(j, "outside", json_integer(r.outside));
    json_put(j, "elsewhere", json_integer(r.elsewhere));
    json_put(j, "best", best >= 0 ? json_best(c, best) : json_null());
    if (r.modelled) {
        json_put(j, "lml", json_number(r.lml));
        json_put(j, "noise", json_number(r.noise));
        json_put(j, "theta", json_theta(&r));
    }
    return json_say(j);
}

/* In 6 digits where that stays inside the range, else in all. */
static void print_value(const fab_range *r, double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", x);
    const double back = strtod(text, NULL);
    if (r->whole || !(back >= r->lo && back <= r->hi))
        printf("%.17g", x);
    else
        printf("%s", text);
}

static void say_best(const propose_call *c, int64_t best)
{
    double y;
    const double *x = fab_propose_trial(c->search, best, &y);
    if (!x) return;
    fprintf(stderr, "; best: trial %" PRId64 ", %s %.6g at", best, c->target, y);
    for (int64_t j = 0; j < c->plan.ranges; j++)
        fprintf(stderr, "%s %s = %.6g", j ? "," : "", c->range[j].name, x[j]);
}

static void say_trials(const propose_call *c)
{
    fab_propose_report r;
    fab_propose_report_of(c->search, &r);
    if (c->quiet) return;
    fprintf(stderr, "%" PRId64 " trials", r.trials);
    if (r.failed) fprintf(stderr, ", %" PRId64 " failed", r.failed);
    if (r.outside)
        fprintf(stderr, ", %" PRId64 " outside of the ranges: learned from, never the best",
                r.outside);
    if (r.elsewhere)
        fprintf(stderr, ", %" PRId64 " where a range of one point has another value: passed over",
                r.elsewhere);
    say_best(c, fab_propose_best(c->search));
    fprintf(stderr, "%s\n", r.modelled ? "" : "; what follows is of Sobol's points");
}

static int say_csv(const propose_call *c)
{
    say_trials(c);
    for (int64_t j = 0; j < c->plan.ranges; j++) {
        if (j) putchar(',');
        csv_name(stdout, c->range[j].name);
    }
    putchar('\n');
    for (int64_t i = 0; i < c->points; i++) {
        for (int64_t j = 0; j < c->plan.ranges; j++) {
            if (j) putchar(',');
            print_value(&c->range[j], c->x[i * c->plan.ranges + j]);
        }
        putchar('\n');
    }
    return DONE;
}

static int propose(propose_call *c)
{
    int status = take_ranges(c);
    if (status != DONE) return status;
    const fab_status created = fab_propose_create(&c->search, &c->plan);
    if (created != FAB_OK) return say_status(created);
    progress_open(c->quiet || c->json);
    status = read_trials(c);
    if (status != DONE) return status;
    c->x = malloc((size_t)(c->points * c->plan.ranges) * sizeof *c->x);
    if (!c->x) return say_failed("out of memory");
    const fab_status asked = fab_propose_ask(c->search, c->points, c->x);
    progress_close();
    if (asked != FAB_OK) return say_status(asked);
    return c->json ? say_json(c) : say_csv(c);
}

static int run(const verb *self, int argc, char **argv)
{
    propose_call c = {.points = 1};
    // clang-format off
    const option options[] = {
        {"target", 'y', OPT_TEXT, &c.target, "LOSS", 0, 0, NULL, "the column of the numbers, small is good; one that is missing or no number says that the trial failed"},
        {"range", 0, OPT_TEXTS, &c.range_text, "NAME=LO:HI", 0, 0, NULL, "a column that is searched; rate=1e-4:0.1:log by its logarithm, layers=1:4:int whole numbers; once for each"},
        {NULL, 'n', OPT_I64, &c.points, "N", 1, 1000, NULL, "trials to propose, to be run side by side (default 1)"},
        {"acquisition", 0, OPT_CHOICE, &c.acquisition, NULL, 0, 0, acquisition_names, "expected improvement, its probability, upper confidence bound, or a draw (default ei)"},
        {"maximise", 0, OPT_FLAG, &c.maximise, NULL, 0, 0, NULL, "large numbers are good"},
        {"starts", 0, OPT_I64, &c.plan.starts, "N", 1, 1e6, NULL, "trials at Sobol's points before a model speaks (default 3 and one for each range)"},
        {"xi", 0, OPT_F64, &c.plan.xi, "X", 0, 1e6, NULL, "least improvement that counts for ei and pi, in sd of the numbers (default 0)"},
        {"beta", 0, OPT_F64, &c.plan.beta, "B", 1e-6, 1e6, NULL, "of ucb: how many sd above the mean (default 2)"},
        OPTIONS_DIALECT(&c.data),
        OPTION_SEED(&c.seed),
        OPTION_JSON(&c.json),
        OPTION_QUIET(&c.quiet),
    };
    // clang-format on
    const call_shape shape = {options, COUNT(options), &c.data.file, 0, 1, NULL, NULL, NULL};
    int status;
    if (options_parse(self, &shape, argc, argv, NULL, &status)) status = propose(&c);
    fab_propose_free(c.search);
    free(c.names);
    free(c.x);
    return status;
}

const verb verb_propose = {"propose", "[TRIALS.csv -y LOSS] --range NAME=LO:HI",
                           "the next trial of any function, from the trials so far", run};
