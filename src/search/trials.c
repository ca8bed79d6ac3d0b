/* trials.c - the trials of a search as a table, csv: written whole, and read back by a search that goes on.
 *
 *     trial,alpha,rate,nll,se,failed,seconds
 *     0,0.73912604712345678,0.0123,2.385,0.04,0,0.120
 *
 * A line is believed when its values are those that the search draws for its trial: the settings may not differ in a bit.  By
 * bayes a trial depends on those before it, and any values inside the ranges are.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "search/trials.h"
#include "base/atomic_file.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/source/number.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* ---- writing ------------------------------------------------------------------------------------------- */

static void add_head(fab_text *out, const fab_tune *t)
{
    const fab_range *range;
    const int64_t ranges = fab_tune_ranges(t, &range);
    fab_text_add(out, "trial");
    for (int64_t j = 0; j < ranges; j++) fab_text_add(out, ",%s", range[j].name);
    fab_text_add(out, ",nll,se,failed,seconds\n");
}

static void add_trial(fab_text *out, const fab_tune *t, int64_t i)
{
    const fab_trial *r = fab_tune_trial(t, i);
    const fab_range *range;
    const int64_t ranges = fab_tune_ranges(t, &range);
    fab_text_add(out, "%lld", (long long)i);
    for (int64_t j = 0; j < ranges; j++) fab_text_add(out, ",%.17g", r->value[j]);
    fab_text_add(out, ",%.17g,%.17g,%lld,%.3f\n", r->nll, r->se, (long long)r->failed, r->seconds);
}

fab_status fab_tune_write(const fab_tune *t, const char *path)
{
    fab_text out = {0};
    fab_atomic_file f;
    char *text;
    add_head(&out, t);
    for (int64_t i = 0; fab_tune_trial(t, i); i++)
        if (fab_tune_trial(t, i)->done) add_trial(&out, t, i);
    FAB_TRY(fab_text_give(&out, &text));
    fab_status s = fab_atomic_open(&f, path);
    if (s == FAB_OK) {
        s = fab_atomic_write(&f, text, strlen(text));
        if (s == FAB_OK)
            s = fab_atomic_commit(&f);
        else
            fab_atomic_discard(&f);
    }
    fab_text_free(text);
    return s;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* The number of the next field, and what follows it; NULL: there is none. */
static const char *field(const char *p, double *x)
{
    if (strncmp(p, "inf", 3) == 0) {
        *x = INFINITY;
        return p + 3;
    }
    return fab_number(p, x);
}

static int whole(double x, double most)
{
    return x >= 0 && x <= most && x == floor(x);
}

/* A line, which ends in '\n' or '\0'; 0: it is not one of this search. */
static int recall(fab_tune *t, const char *p)
{
    enum { NLL, SE, FAILED, SECONDS, FIELDS };
    const fab_range *range;
    const int64_t ranges = fab_tune_ranges(t, &range);
    double i, value, x[FIELDS];
    p = field(p, &i);
    if (!p || !whole(i, 0x1p53) || !fab_tune_trial(t, (int64_t)i)) return 0;
    for (int64_t j = 0; j < ranges; j++) {
        if (*p != ',' || !(p = field(p + 1, &value))) return 0;
        if (!fab_tune_takes(t, (int64_t)i, j, value)) return 0;
    }
    for (int j = 0; j < FIELDS; j++) {
        if (*p != ',' || !(p = field(p + 1, &x[j]))) return 0;
    }
    if (*p == '\r') p++;
    if (*p != '\n' && *p != '\0') return 0;
    if (!whole(x[FAILED], 0x1p53) || !(x[SE] >= 0) || !(x[SECONDS] >= 0 && x[SECONDS] < INFINITY))
        return 0;
    if (x[FAILED] == 0 && !isfinite(x[NLL])) return 0;
    return fab_tune_recall(t, (int64_t)i, x[NLL], x[SE], (int64_t)x[FAILED], x[SECONDS]) == FAB_OK;
}

/* Trials of the lines behind the names. */
static fab_status recall_all(fab_tune *t, const char *name, const char *line)
{
    for (int64_t at = 2; line && *line; at++) {
        if (!recall(t, line))
            return FAB_FAIL(FAB_BAD_FILE, "%s: line %lld is not a trial of this search", name,
                            (long long)at);
        line = strchr(line, '\n');
        if (line) line++;
    }
    return FAB_OK;
}

static fab_status check_head(const fab_tune *t, const char *name, const char *text)
{
    fab_text out = {0};
    char *head, shown[FAB_SHOWN];
    add_head(&out, t);
    FAB_TRY(fab_text_give(&out, &head));
    head[strlen(head) - 1] = '\0';
    const size_t n = strcspn(text, "\r\n");
    const int same = n == strlen(head) && memcmp(text, head, n) == 0;
    const fab_status s =
        same ? FAB_OK
             : FAB_FAIL(FAB_BAD_FILE, "%s: is not a table of this search: it begins '%s', not '%s'",
                        name, fab_show(shown, text, n), head);
    fab_text_free(head);
    return s;
}

static fab_status take(fab_tune *t, fab_bytes *b)
{
    const size_t size = fab_bytes_left(b);
    char *text;
    FAB_TRY(fab_alloc_array((void **)&text, (int64_t)size + FAB_NUMBER_PAD, 1, b->name));
    fab_status s = fab_bytes_take(b, text, size);
    memset(text + size, 0, FAB_NUMBER_PAD);
    if (s == FAB_OK && strlen(text) != size)
        s = FAB_FAIL(FAB_BAD_FILE, "%s: is no text: byte %lld is zero", b->name,
                     (long long)strlen(text));
    if (s == FAB_OK) s = check_head(t, b->name, text);
    if (s == FAB_OK) {
        const char *behind = strchr(text, '\n');
        s = recall_all(t, b->name, behind ? behind + 1 : NULL);
    }
    fab_release(text);
    return s;
}

fab_status fab_tune_parse(fab_tune *t, const char *name, const void *bytes, size_t size)
{
    fab_bytes b = fab_bytes_memory(name, bytes, size);
    return take(t, &b);
}

fab_status fab_tune_read(fab_tune *t, const char *path)
{
    struct stat there;
    fab_bytes b;
    if (stat(path, &there) != 0 && errno == ENOENT) return FAB_OK;
    FAB_TRY(fab_bytes_open(&b, path));
    const fab_status s = take(t, &b);
    fab_bytes_close(&b);
    return s;
}
