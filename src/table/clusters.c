/* clusters.c - the clusters of a table: its rows through a method, the number of parts by BIC, files.
 *
 *     batch method:  all rows in memory; in standard deviations where asked for; each candidate a fit of its own
 *     stream:        pieces of rows, each seen once
 *
 * Results and files are in the units of the table.  BIC(G, q) = -2 n l + p log n with l the mean log-likelihood per row and p the free
 * parameters; candidates rise until BIC has risen thrice.  A candidate with a cluster that has collapsed, on rows that a plane of its
 * factors holds, has no likelihood: it grows without end as the floor falls.  Such a one is chosen only where all are.
 *
 * SPDX-License-Identifier: MIT */
#include "table/clusters.h"
#include "base/fail.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/source/names.h"
#include "data/source/source.h"
#include "fit/fit.h"
#include "table/same.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PIECE = 1 << 20, /* numbers read at a time */
    MOST_PARTS = 10, /* candidates when nobody says more */
    MOST_RANK = 5,
    MOST_CANDIDATES = 1024,
    PATIENCE = 3 /* BIC rises so many times before a search ends */
};

struct fab_clusters {
    const fab_method *method;
    void *settings;
    fab_exec exec;
    fab_fit *fit;
    fab_source *source;
    const char *who;
    int64_t D, columns, label, piece;
    int64_t before, dropped, drop, standardise, by_bic_G, by_bic_q, most_G, most_q;
    double limit, seconds;
    /* of a batch method: n x columns, the first `label` columns of each row passed over */
    double *table;
    int64_t n;
    double *mean, *scale; /* D, where it was standardised: x = mean + scale u */
    fab_gauss **own;      /* the result in the units of the table, where it was standardised */
    const fab_gauss **part;
    int64_t parts; /* of own */
    fab_mixture mixture;
    int64_t ready;
    double cost;
    fab_clusters_candidate all[MOST_CANDIDATES];
    int64_t candidates;
    char *output;
    int64_t checkpoint;
    fab_tensors *more; /* what the file says besides the method's own */
};

/* ---- settings --------------------------------------------------------------------------------------- */

static int64_t get(const fab_clusters *f, const char *name)
{
    return fab_method_setting(f->method, f->settings, name);
}

static fab_status put(fab_clusters *f, const char *name, int64_t value)
{
    const fab_field *field = fab_settings_find(f->method->fields, name);
    if (!field) return FAB_FAIL(FAB_BAD_ARGUMENT, "%s has no setting %s", f->method->name, name);
    memcpy((char *)f->settings + field->offset, &value, sizeof value);
    return FAB_OK;
}

double fab_clusters_parameters(const fab_method *m, const void *settings, int64_t n, int64_t D)
{
    const double means = (double)(n - 1) + (double)n * (double)D;
    return means + (m->parameters ? m->parameters(settings, n, D) : 1);
}

int fab_clusters_nearest(const fab_method *m)
{
    return m->parameters == NULL;
}

static fab_status take_settings(fab_clusters *f, const fab_clusters_plan *p)
{
    const fab_fields *t = f->method->fields;
    fab_settings_defaults(t, f->settings);
    if (p->settings && p->size > t->size)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: settings of %zu bytes, expected %zu at most",
                        f->method->name, p->size, t->size);
    if (p->settings) memcpy(f->settings, p->settings, p->size);
    f->by_bic_G = p->G == FAB_AUTO_I64;
    f->by_bic_q = p->q == FAB_AUTO_I64;
    f->most_G = p->most > 0 ? p->most : MOST_PARTS;
    f->most_q = p->most_q > 0 ? p->most_q : MOST_RANK;
    if (f->most_q >= f->D) f->most_q = f->D > 1 ? f->D - 1 : 1;
    if ((f->by_bic_G || f->by_bic_q) && (f->method->streams || !f->method->parameters))
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "%s %s: the number of clusters cannot be chosen by BIC; mfa and gmm do that",
            f->method->name,
            f->method->streams ? "sees each row once" : "has no likelihood to compare by");
    if (f->by_bic_G) FAB_TRY(put(f, "G", 1));
    if (f->by_bic_q) FAB_TRY(put(f, "q", 0));
    if (!f->by_bic_G && p->G) FAB_TRY(put(f, "G", p->G));
    return !f->by_bic_q && p->q ? put(f, "q", p->q) : FAB_OK;
}

/* ---- life ------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_clusters *f = handle;
    f->settings = fab_place(l, 1, f->method->fields->size);
    f->mean = fab_place(l, f->standardise ? 2 * f->D : 0, sizeof *f->mean);
    f->scale = f->standardise && f->mean ? f->mean + f->D : NULL;
}

static fab_status find_method(fab_clusters *f, const fab_clusters_plan *p)
{
    const char *name = p->method ? p->method : p->q ? "mfa" : "kmeans";
    f->method = fab_method_find(name);
    if (!f->method) return FAB_FAIL(FAB_BAD_ARGUMENT, "method '%s' is not known", name);
    if (!fab_method_clusters(f->method))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: this method finds no clusters", name);
    if (p->standardise && f->method->streams)
        return FAB_FAIL(
            FAB_UNSUPPORTED,
            "%s: the standard deviations of a stream are not known when it begins; mixtures "
            "do not need them, and kmeans has the whole table",
            name);
    if (p->checkpoint && (!p->output || !f->method->streams))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "a checkpoint every %" PRId64 " rows: expected a stream and a file for it",
                        p->checkpoint);
    if (p->checkpoint && p->drop)
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "a checkpoint counts rows, and those with missing values would be left out");
    return FAB_OK;
}

static fab_status build(fab_clusters **f, const fab_clusters_plan *p, const fab_exec *x)
{
    *f = NULL;
    if (!p->source)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "clusters: there is no source to read rows from");
    fab_clusters proto = {.source = p->source,
                          .who = p->source->in.name,
                          .standardise = p->standardise != 0,
                          .drop = p->drop != 0,
                          .limit = p->memory,
                          .checkpoint = p->checkpoint,
                          .cost = NAN};
    FAB_TRY(find_method(&proto, p));
    if (x) proto.exec = *x;
    proto.columns = fab_source_columns(p->source);
    proto.label = fab_source_format(p->source) == FAB_FORMAT_LIBSVM;
    proto.D = proto.columns - proto.label;
    if (proto.D < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: D = 0, expected at least 1 column", proto.who);
    proto.piece = PIECE / proto.columns > 0 ? PIECE / proto.columns : 1;
    FAB_TRY(fab_build((void **)f, sizeof **f, &proto, layout));
    return fab_copy_text(&(*f)->output, p->output);
}

static void free_own(fab_clusters *f)
{
    for (int64_t g = 0; g < f->parts; g++) fab_gauss_free(f->own[g]);
    fab_release(f->own);
    f->own = NULL;
    f->parts = 0;
}

void fab_clusters_free(fab_clusters *f)
{
    if (!f) return;
    fab_fit_free(f->fit);
    fab_tensors_free(f->more);
    free_own(f);
    fab_release(f->table);
    fab_release(f->output);
    fab_release(f);
}

static fab_status begun(fab_clusters **f, fab_status s)
{
    if (s == FAB_OK) return FAB_OK;
    fab_clusters_free(*f);
    *f = NULL;
    return s;
}

static fab_status keep_text(fab_clusters *f, const char *key, const char *value)
{
    if (!f->more) FAB_TRY(fab_tensors_create(&f->more));
    return fab_tensors_set(f->more, key, value);
}

static fab_status take_names(fab_clusters *f)
{
    char *names;
    FAB_TRY(fab_source_names_json(f->source, f->label, -1, &names));
    const fab_status s = names ? keep_text(f, "features", names) : FAB_OK;
    fab_text_free(names);
    return s;
}

static fab_status open_fit(fab_clusters *f)
{
    fab_fit_free(f->fit);
    f->fit = NULL;
    return fab_fit_create(&f->fit, f->method->name, f->settings, f->method->fields->size,
                          &(fab_input){.vectors = f->D}, &f->exec);
}

fab_status fab_clusters_create(fab_clusters **f, const fab_clusters_plan *p, const fab_exec *x)
{
    fab_status s = build(f, p, x);
    if (s == FAB_OK) s = take_settings(*f, p);
    if (s == FAB_OK) s = take_names(*f);
    if (s == FAB_OK && (*f)->method->streams) s = open_fit(*f);
    return begun(f, s);
}

/* The state of a stream in t. */
static fab_status go_on(fab_clusters *f, const fab_tensors *t, const char *path)
{
    const fab_tensor *mu = fab_tensors_find(t, "0.mu");
    if (!mu) mu = fab_tensors_find(t, "mu");
    if (!mu || mu->ndim != 1) return FAB_FAIL(FAB_BAD_FILE, "%s: is not a file of clusters", path);
    if (mu->shape[0] != f->D)
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s has D = %" PRId64 " coordinates and %s has D = %" PRId64 "%s", path,
                        mu->shape[0], f->who, f->D,
                        f->D > mu->shape[0] ? "; --exclude leaves columns out" : "");
    FAB_TRY(fab_source_names_check(f->source, f->label, -1, path, fab_tensors_get(t, "features")));
    FAB_TRY(fab_settings_from_json(f->method->fields, f->settings, fab_tensors_get(t, "settings")));
    FAB_TRY(fab_about(path, fab_fit_load(&f->fit, t, NULL, &f->exec)));
    f->n = f->before = fab_fit_rows(f->fit);
    const char *names = fab_tensors_get(t, "features");
    return names ? keep_text(f, "features", names) : FAB_OK;
}

fab_status fab_clusters_load(fab_clusters **f, const fab_clusters_plan *p, const char *path,
                             const fab_exec *x)
{
    fab_tensors *t = NULL;
    fab_clusters_plan plan = *p;
    *f = NULL;
    FAB_TRY(fab_tensors_read(&t, path));
    plan.method = fab_tensors_get(t, "method");
    fab_status s = FAB_OK;
    if (!plan.method || !fab_tensors_get(t, "settings"))
        s = FAB_FAIL(FAB_BAD_FILE, "%s: is not a file of clusters", path);
    if (s == FAB_OK) s = fab_about(path, build(f, &plan, x));
    if (s == FAB_OK) assert(*f);
    if (s == FAB_OK && !(*f)->method->streams)
        s = FAB_FAIL(FAB_UNSUPPORTED, "%s: was made by %s, a batch method, and cannot be continued",
                     path, plan.method);
    if (s == FAB_OK) fab_settings_defaults((*f)->method->fields, (*f)->settings);
    if (s == FAB_OK) s = go_on(*f, t, path);
    fab_tensors_free(t);
    return begun(f, s);
}

fab_status fab_clusters_resume(fab_clusters **f, const fab_clusters_plan *p, const char *path,
                               const fab_exec *x)
{
    fab_tensors *t = NULL;
    fab_status s = build(f, p, x);
    if (s == FAB_OK) s = take_settings(*f, p);
    if (s == FAB_OK) s = take_names(*f);
    if (s == FAB_OK) s = fab_tensors_read(&t, path);
    if (s == FAB_OK) s = fab_same_method(path, t, "cluster", (*f)->method, FAB_F64);
    if (s == FAB_OK) s = fab_same_settings(path, t, (*f)->method->fields, (*f)->settings, NULL);
    if (s == FAB_OK) s = go_on(*f, t, path);
    if (s == FAB_OK) s = fab_source_skip(p->source, (*f)->n);
    fab_tensors_free(t);
    return begun(f, s);
}

/* ---- rows ------------------------------------------------------------------------------------------- */

/* Rows with a missing value leave x. */
static int64_t drop_rows(fab_clusters *f, double *x, int64_t n)
{
    int64_t kept = 0;
    for (int64_t j = 0; j < n; j++) {
        int whole = 1;
        for (int64_t d = f->label; d < f->columns; d++)
            whole &= x[j * f->columns + d] == x[j * f->columns + d];
        if (whole && kept < j)
            memmove(x + kept * f->columns, x + j * f->columns, (size_t)f->columns * sizeof *x);
        kept += whole;
    }
    f->dropped += n - kept;
    return kept;
}

static fab_status tell(const fab_clusters *f)
{
    int64_t done, total;
    fab_source_position(f->source, &done, &total);
    const fab_watch w = fab_watch_of(&f->exec);
    return fab_watch_tick(&w, "rows", done, total);
}

static fab_status next_rows(fab_clusters *f, int64_t most, double *x, int64_t *got, int64_t *n)
{
    FAB_TRY(fab_source_next(f->source, most, x, got));
    *n = f->drop ? drop_rows(f, x, *got) : *got;
    return tell(f);
}

static fab_rows rows_of(const fab_clusters *f, const double *x, int64_t n)
{
    return (fab_rows){.p = x + f->label, .type = FAB_F64, .n = n, .ld = f->columns};
}

/* Feed a piece whole: the file is behind it already. */
static fab_status feed(fab_clusters *f, const fab_rows *rows)
{
    fab_status stopped = FAB_OK;
    for (int64_t done = 0; done < rows->n;) {
        const int64_t before = fab_fit_rows(f->fit);
        const fab_rows rest = fab_rows_part(rows, done, rows->n - done);
        const fab_status s = fab_about(f->who, fab_fit_update(f->fit, &(fab_examples){.x = rest}));
        if (s == FAB_STOPPED)
            stopped = s;
        else
            FAB_TRY(s);
        if (fab_fit_rows(f->fit) == before) break;
        done += fab_fit_rows(f->fit) - before;
    }
    f->n = fab_fit_rows(f->fit);
    return stopped;
}

static fab_status read_stream(fab_clusters *f, double *x)
{
    for (;;) {
        int64_t got, n, most = f->piece;
        if (f->checkpoint && f->checkpoint - f->n % f->checkpoint < most)
            most = f->checkpoint - f->n % f->checkpoint;
        FAB_TRY(next_rows(f, most, x, &got, &n));
        if (got == 0) return FAB_OK;
        const fab_rows rows = rows_of(f, x, n);
        if (n > 0) FAB_TRY(feed(f, &rows));
        if (f->checkpoint && f->n % f->checkpoint == 0 && f->n > 2 * get(f, "G"))
            FAB_TRY(fab_about(f->who, fab_fit_checkpoint(f->fit, f->output, f->more)));
    }
}

static fab_status check_memory(const fab_clusters *f, int64_t n)
{
    const fab_input in = {.vectors = f->D};
    const double work = f->method->bytes ? f->method->bytes(f->settings, &in, n, &f->exec) : 0;
    const double need = work + 8 * (double)n * (double)f->columns;
    const double limit = f->limit > 0 ? f->limit : fab_memory_free();
    if (!(need > limit)) return FAB_OK;
    return FAB_FAIL(FAB_NO_MEMORY,
                    "%s: %s needs %.3g MB for %" PRId64 " rows of D = %" PRId64
                    ", and %.3g are %s; online-mfa sees each row once",
                    f->who, f->method->name, 1e-6 * need, n, f->D, 1e-6 * limit,
                    f->limit > 0 ? "allowed" : "free");
}

static fab_status read_table(fab_clusters *f)
{
    int64_t room = 0, got = 1, n;
    while (got > 0) {
        if (f->n == room) {
            double *more;
            FAB_TRY(check_memory(f, f->n + 1));
            room += room / 2 + f->piece;
            FAB_TRY(fab_alloc_array((void **)&more, room * f->columns, sizeof *more, f->who));
            if (f->n > 0) memcpy(more, f->table, (size_t)(f->n * f->columns) * sizeof *more);
            fab_release(f->table);
            f->table = more;
        }
        const int64_t most = room - f->n < f->piece ? room - f->n : f->piece;
        FAB_TRY(next_rows(f, most, f->table + f->n * f->columns, &got, &n));
        f->n += n;
    }
    return FAB_OK;
}

/* Columns in their standard deviations; one that is constant stays. */
static void standardise(fab_clusters *f)
{
    const int64_t n = f->n, w = f->columns;
    for (int64_t d = 0; d < f->D; d++) {
        double *x = f->table + f->label + d, mean = 0, v = 0;
        for (int64_t j = 0; j < n; j++) mean += x[j * w] / (double)n;
        for (int64_t j = 0; j < n; j++) v += (x[j * w] - mean) * (x[j * w] - mean) / (double)n;
        f->mean[d] = mean;
        f->scale[d] = v > 0 ? sqrt(v) : 1;
        for (int64_t j = 0; j < n; j++) x[j * w] = (x[j * w] - mean) / f->scale[d];
    }
}

/* The fit of the table for the settings in force. */
static fab_status fit_table(fab_clusters *f)
{
    const fab_mixture *q;
    const fab_rows rows = rows_of(f, f->table, f->n);
    FAB_TRY(check_memory(f, f->n));
    FAB_TRY(fab_about(f->who, open_fit(f)));
    FAB_TRY(fab_about(f->who, fab_fit_update(f->fit, &(fab_examples){.x = rows})));
    return fab_about(f->who, fab_fit_result(f->fit, &q));
}

/* Columns that have one value in all rows: their variance stands at its floor in every cluster. */
static int64_t constants_of(const fab_clusters *f)
{
    int64_t constants = 0;
    for (int64_t d = 0; d < f->D; d++) {
        const double *x = f->table + f->label + d;
        int64_t j = 1;
        while (j < f->n && x[j * f->columns] == x[0]) j++;
        constants += j == f->n;
    }
    return constants;
}

/* Has a cluster collapsed?  Without factors one variance at its floor says so, with them as many as there are: a single one may
 * be explained by a factor whole. */
static int has_collapsed(const fab_clusters *f, const fab_mixture *m, int64_t floored)
{
    const int64_t constants = constants_of(f), K = m->part[0]->K;
    const int64_t least = K > 0 && K < f->D ? f->D - constants : 1;
    return floored - m->n * constants >= (least > 1 ? least : 1);
}

static double jacobian_of(const fab_clusters *f)
{
    double sum = 0;
    for (int64_t i = 0; i < f->D && f->standardise; i++) sum += log(f->scale[i]);
    return sum;
}

/* The bound with the orders of its parts, of which those that are empty are all alike. */
static double bound_of(const fab_clusters *f, const fab_report *r, int64_t parts)
{
    const double G = (double)get(f, "G"), empty = G - (double)parts;
    if (!f->method->bounds) return NAN;
    return r->log_evidence - (double)f->n * jacobian_of(f) + lgamma(G + 1) - lgamma(empty + 1);
}

/* One candidate; *bic: its own, or less twice its bound, infinite where it has collapsed. */
static fab_status try_one(fab_clusters *f, int64_t G, int64_t q, double *bic)
{
    fab_report r;
    const fab_mixture *m;
    if (f->by_bic_G) FAB_TRY(put(f, "G", G));
    if (f->by_bic_q) FAB_TRY(put(f, "q", q));
    FAB_TRY(fit_table(f));
    FAB_TRY(fab_fit_result(f->fit, &m));
    FAB_TRY(fab_about(f->who, fab_fit_report(f->fit, &r)));
    const double p = fab_clusters_parameters(f->method, f->settings, m->n, f->D);
    *bic = -2 * (double)f->n * r.loglik_mean + p * log((double)f->n);
    const int collapsed = has_collapsed(f, m, r.floored);
    f->all[f->candidates++] = (fab_clusters_candidate){
        get(f, "G"), f->by_bic_q ? q : get(f, "q"), m->n, r.loglik_mean, *bic, collapsed,
        0,           bound_of(f, &r, m->n)};
    if (f->method->bounds) *bic = -2 * f->all[f->candidates - 1].bound;
    if (collapsed) *bic = INFINITY;
    return FAB_OK;
}

/* q = 0, 1, .. for this G until BIC has risen thrice; the best of them. */
static fab_status try_ranks(fab_clusters *f, int64_t G, int64_t *q, double *best)
{
    int64_t rising = 0;
    *best = INFINITY;
    for (int64_t k = 0; k <= f->most_q && rising < PATIENCE && f->candidates < MOST_CANDIDATES;
         k++) {
        double bic;
        FAB_TRY(try_one(f, G, k, &bic));
        rising = bic < *best ? 0 : rising + 1;
        if (bic < *best) *best = bic, *q = k;
        if (!f->by_bic_q) break;
    }
    return FAB_OK;
}

static fab_status choose(fab_clusters *f)
{
    const int64_t first = f->by_bic_G ? 1 : get(f, "G"), last = f->by_bic_G ? f->most_G : first;
    int64_t G = first, q = 0, rising = 0;
    double best = INFINITY;
    for (int64_t g = first;
         g <= last && g <= f->n && rising < PATIENCE && f->candidates < MOST_CANDIDATES; g++) {
        double bic;
        int64_t k = 0;
        const fab_status s = try_ranks(f, g, &k, &bic);
        if (s == FAB_BAD_DATA && g > first) break; /* more parts than rows that differ */
        FAB_TRY(s);
        rising = bic < best ? 0 : rising + 1;
        if (bic < best) best = bic, G = g, q = k;
    }
    int64_t chosen = 0;
    for (int64_t i = 0; i < f->candidates;
         i++) { /* where all have collapsed the one of least BIC */
        const fab_clusters_candidate *c = &f->all[i];
        if (isinf(best) ? c->bic < f->all[chosen].bic : c->G == G && c->q == q) chosen = i;
    }
    f->all[chosen].chosen = 1;
    if (f->by_bic_G) FAB_TRY(put(f, "G", f->all[chosen].G));
    if (f->by_bic_q) FAB_TRY(put(f, "q", f->all[chosen].q));
    return fit_table(f);
}

fab_status fab_clusters_read(fab_clusters *f)
{
    const double start = fab_clock();
    fab_status s;
    f->ready = 0;
    if (f->method->streams) {
        double *x;
        FAB_TRY(fab_alloc_array((void **)&x, f->piece * f->columns, sizeof *x, f->who));
        s = read_stream(f, x);
        fab_release(x);
    } else {
        s = read_table(f);
        if (s == FAB_OK && f->standardise) standardise(f);
        if (s == FAB_OK) s = f->by_bic_G || f->by_bic_q ? choose(f) : fit_table(f);
    }
    f->seconds += fab_clock() - start;
    return s;
}

/* ---- the result ------------------------------------------------------------------------------------- */

/* From standard deviations to the units of the table. */
static fab_status into_units(fab_clusters *f, const fab_mixture *q)
{
    free_own(f);
    FAB_TRY(fab_alloc_array((void **)&f->own, 2 * q->n, sizeof(fab_gauss *), "clusters"));
    f->part = (const fab_gauss **)(void *)(f->own + q->n);
    for (int64_t g = 0; g < q->n; g++) {
        FAB_TRY(fab_gauss_copy(&f->own[g], q->part[g], FAB_F64));
        f->parts = g + 1;
        fab_gauss *p = f->own[g];
        double *F = p->F;
        for (int64_t d = 0; d < f->D; d++) {
            p->mu[d] = f->mean[d] + f->scale[d] * p->mu[d];
            p->psi[d] *= f->scale[d] * f->scale[d];
            for (int64_t k = 0; k < p->K; k++) F[d * p->K + k] *= f->scale[d];
        }
        f->part[g] = p;
    }
    f->mixture = (fab_mixture){q->n, f->part, q->weight};
    return FAB_OK;
}

fab_status fab_clusters_result(fab_clusters *f, const fab_mixture **q)
{
    const fab_mixture *found;
    *q = NULL;
    if (!f->fit) return FAB_FAIL(FAB_BAD_DATA, "%s: no rows seen, expected at least 2", f->who);
    FAB_TRY(fab_about(f->who, fab_fit_result(f->fit, &found)));
    if (!f->ready && f->standardise)
        FAB_TRY(into_units(f, found));
    else if (!f->ready)
        f->mixture = *found;
    f->ready = 1;
    *q = &f->mixture;
    return FAB_OK;
}

/* A stream saves its state; of what was standardised the mixture alone is worth a file. */
fab_status fab_clusters_save(fab_clusters *f, const char *path)
{
    const fab_mixture *q;
    FAB_TRY(fab_clusters_result(f, &q));
    if (!f->standardise) return fab_fit_save(f->fit, path, f->more);
    char *json;
    char number[32];
    FAB_TRY(fab_settings_json(f->method->fields, f->settings, &json));
    fab_status s = keep_text(f, "settings", json);
    fab_text_free(json);
    if (s == FAB_OK) s = keep_text(f, "method", f->method->name);
    snprintf(number, sizeof number, "%" PRId64, f->n);
    if (s == FAB_OK) s = keep_text(f, "n", number);
    snprintf(number, sizeof number, "%" PRId64, get(f, "seed"));
    if (s == FAB_OK) s = keep_text(f, "seed", number);
    return s == FAB_OK ? fab_posterior_save(path, q, f->more) : s;
}

fab_status fab_clusters_report_of(fab_clusters *f, fab_clusters_report *r)
{
    const fab_mixture *q;
    fab_report d;
    FAB_TRY(fab_clusters_result(f, &q));
    FAB_TRY(fab_about(f->who, fab_fit_report(f->fit, &d)));
    const double jacobian = jacobian_of(f);
    *r = (fab_clusters_report){
        .n = f->n,
        .before = f->before,
        .dropped = f->dropped,
        .parts = q->n,
        .iterations = d.iterations,
        .converged = d.converged,
        .floored = d.floored,
        .gain = d.gain,
        .loglik_mean = d.loglik_mean - jacobian,
        .loglik_rows = d.loglik_rows,
        .cost = fab_clusters_nearest(f->method) ? d.cost : NAN,
        .parameters = fab_clusters_parameters(f->method, f->settings, q->n, f->D),
        .bic = NAN,
        .seconds = f->seconds,
        .bound = f->method->bounds ? d.log_evidence - (double)f->n * jacobian : NAN};
    if (!f->method->streams)
        r->bic = -2 * (double)f->n * r->loglik_mean + r->parameters * log((double)f->n);
    return FAB_OK;
}

int64_t fab_clusters_candidates(const fab_clusters *f, const fab_clusters_candidate **all)
{
    *all = f->all;
    return f->candidates;
}

const fab_method *fab_clusters_method(const fab_clusters *f)
{
    return f->method;
}

const void *fab_clusters_settings(const fab_clusters *f)
{
    return f->fit ? fab_fit_settings(f->fit) : f->settings;
}

const char *fab_clusters_name(const fab_clusters *f, int64_t coordinate)
{
    const char *name = fab_source_name(f->source, f->label + coordinate);
    return name ? name : "?";
}
