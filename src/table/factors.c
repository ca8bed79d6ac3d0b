/* factors.c - factor analysis of a table: its rows through a method, its state through files.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "fit/fit.h"
#include "table/factors.h"
#include "table/same.h"
#include "base/memory.h"
#include "base/tensors_set.h"
#include "base/text.h"
#include "data/source/names.h"
#include "data/source/source.h"
#include "la/ops.h"
#include "methods/fa/em_missing.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 20 }; /* numbers read at a time: 8 MB, or one row where that is longer */

/* ---- settings --------------------------------------------------------------------------------------- */

int64_t fab_factors_get(const fab_factors *f, const char *name)
{
    int64_t v = 0;
    const fab_field *field = fab_settings_find(f->method->fields, name);
    if (field) memcpy(&v, (const char *)f->settings + field->offset, sizeof v);
    return v;
}

void fab_factors_put(fab_factors *f, const char *name, int64_t value)
{
    const fab_field *field = fab_settings_find(f->method->fields, name);
    if (field) memcpy((char *)f->settings + field->offset, &value, sizeof value);
}

static fab_status take_settings(fab_factors *f, const fab_factors_plan *p)
{
    const fab_fields *t = f->method->fields;
    fab_settings_defaults(t, f->settings);
    if (p->settings && p->size > t->size)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: settings of %zu bytes, expected %zu at most",
                        f->method->name, p->size, t->size);
    if (p->settings) memcpy(f->settings, p->settings, p->size);
    if (p->K == FAB_AUTO_I64) return fab_factors_prepare_search(f, p->max_factors);
    if (p->K) fab_factors_put(f, "K", p->K);
    return FAB_OK;
}

/* ---- the method at work: the only section that knows its handle --------------------------------------- */

static fab_status fit_create(const fab_factors *f, fab_factors_fit **fit)
{
    return fab_fit_create(fit, fab_method_name(f->method), f->settings, f->method->fields->size,
                          &(fab_input){.vectors = f->D}, &f->exec);
}

void fab_factors_fit_free(fab_factors_fit *fit)
{
    fab_fit_free(fit);
}

fab_status fab_factors_fit_update(fab_factors *f, const fab_rows *rows, const double *weight)
{
    return fab_about(f->who, fab_fit_update(f->fit, &(fab_examples){.x = *rows, .weight = weight}));
}

int64_t fab_factors_fit_rows(const fab_factors *f)
{
    return fab_fit_rows(f->fit);
}

fab_status fab_factors_fit_result(fab_factors *f, const fab_gauss **q)
{
    return fab_about(f->who, fab_fit_gauss(f->fit, q));
}

fab_status fab_factors_fit_so_far(fab_factors *f, const fab_gauss **q)
{
    const fab_mixture *all;
    *q = NULL;
    const fab_status s = fab_fit_so_far(f->fit, &all);
    if (s == FAB_NO_MEMORY) return fab_about(f->who, s);
    if (s == FAB_OK && all->n == 1) *q = all->part[0];
    return FAB_OK;
}

fab_status fab_factors_fit_report(fab_factors *f, fab_report *r)
{
    return fab_about(f->who, fab_fit_report(f->fit, r));
}

fab_status fab_factors_fit_table(fab_factors *f, int64_t k, fab_factors_fit **fit,
                                 double *loglik_mean)
{
    fab_report d = {0};
    fab_factors_put(f, "K", k);
    fab_status s = fit_create(f, fit);
    if (s == FAB_OK) s = fab_fit_update(*fit, &(fab_examples){.x = f->table, .weight = f->weights});
    if (s == FAB_OK) s = fab_fit_report(*fit, &d);
    *loglik_mean = d.loglik_mean;
    if (s != FAB_OK) {
        fab_fit_free(*fit);
        *fit = NULL;
    }
    return fab_about(f->who, s);
}

static fab_status keep_text(fab_factors *f, const char *key, const char *value)
{
    if (!f->more) FAB_TRY(fab_tensors_create(&f->more));
    return fab_tensors_set(f->more, key, value);
}

/* What the file says besides the method's own. */
fab_status fab_factors_describe(const fab_factors *f, fab_tensors *more)
{
    const int64_t kept = f->more ? fab_tensors_meta_count(f->more) : 0;
    for (int64_t i = 0; i < kept; i++) {
        const char *key = fab_tensors_meta_key(f->more, i);
        FAB_TRY(fab_tensors_set(more, key, fab_tensors_get(f->more, key)));
    }
    if (f->absent) { /* how many rows there are in front of the next, for a run that is resumed */
        char absent[32];
        snprintf(absent, sizeof absent, "%" PRId64, f->absent);
        FAB_TRY(fab_tensors_set(more, "absent", absent));
    }
    return f->ahead ? fab_prequential_save(f->ahead, more) : FAB_OK;
}

static fab_status write_fit(fab_factors *f, const char *path, int on_the_way)
{
    fab_tensors *more;
    FAB_TRY(fab_tensors_create(&more));
    fab_status s = fab_factors_describe(f, more);
    if (s == FAB_OK)
        s = on_the_way && f->method->so_far ? fab_fit_checkpoint(f->fit, path, more)
                                            : fab_fit_save(f->fit, path, more);
    fab_tensors_free(more);
    return s;
}

/* The sum of the weights, where there were any. */
static fab_status keep_total(fab_factors *f)
{
    char total[32];
    const int known = f->more && fab_tensors_get(f->more, "weights");
    if (known ||
        f->total != (double)f->n) { /* there were weights: what BIC counts when the fit goes on */
        fab_print_double(total, sizeof total, f->total);
        FAB_TRY(keep_text(f, "weights", total));
    }
    return FAB_OK;
}

/* The Gaussian of all processes, which keep no state to go on from. */
static fab_status write_whole(fab_factors *f, const char *path)
{
    fab_tensors *more;
    FAB_TRY(fab_tensors_create(&more));
    fab_status s = fab_factors_describe(f, more);
    if (s == FAB_OK) s = fab_factors_describe_fit(f, more);
    if (s == FAB_OK) s = fab_gauss_save(path, f->whole.q, more);
    fab_tensors_free(more);
    return s;
}

fab_status fab_factors_fit_save(fab_factors *f, const char *path)
{
    FAB_TRY(keep_total(f));
    return write_fit(f, path, 0);
}

fab_status fab_factors_fit_pack(fab_factors *f, void **bytes, size_t *size)
{
    fab_tensors *more;
    FAB_TRY(keep_total(f));
    FAB_TRY(fab_tensors_create(&more));
    fab_status s = fab_factors_describe(f, more);
    if (s == FAB_OK) s = fab_fit_pack(f->fit, 0, more, bytes, size);
    fab_tensors_free(more);
    return s;
}

/* The weights that a file has seen; without a word of them as many as rows. */
static fab_status read_total(fab_factors *f, const fab_tensors *t)
{
    const char *text = fab_tensors_get(t, "weights");
    char *end = NULL;
    if (!text) {
        if (!(f->total > 0)) f->total = (double)f->n;
        return FAB_OK;
    }
    f->total = strtod(text, &end);
    if (end == text || *end != '\0' || !(f->total > 0 && isfinite(f->total)))
        return FAB_FAIL(FAB_BAD_FILE, "weights = '%s' is not a number > 0", text);
    return FAB_OK;
}

/* Rows of weight 0 that a file has passed over; without a word of them none. */
static fab_status read_absent(fab_factors *f, const fab_tensors *t)
{
    const char *text = fab_tensors_get(t, "absent");
    char *end = NULL;
    if (!text) return FAB_OK;
    const long long n = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || n < 0 || n > INT64_MAX / 2)
        return FAB_FAIL(FAB_BAD_FILE, "absent = '%s' is not a number of rows", text);
    f->absent = n;
    return FAB_OK;
}

fab_status fab_factors_fit_checkpoint(fab_factors *f, const char *path)
{
    return write_fit(f, path, 1);
}

/* The same tensors and words, with numbers of our own. */
static fab_status copy_state(fab_factors *f, const fab_tensors *t, fab_tensors *own)
{
    size_t all = 0, at = 0;
    for (int64_t i = 0; i < fab_tensors_count(t); i++)
        all += (size_t)fab_tensor_bytes(fab_tensors_at(t, i));
    if (all > f->kept.room) {
        fab_release(f->kept.numbers);
        f->kept.room = 0;
        FAB_TRY(fab_alloc_array((void **)&f->kept.numbers, (int64_t)all, 1, "a state"));
        f->kept.room = all;
    }
    for (int64_t i = 0; i < fab_tensors_count(t); i++) {
        const fab_tensor *a = fab_tensors_at(t, i);
        char *to = f->kept.numbers + at;
        const size_t size = (size_t)fab_tensor_bytes(a);
        memcpy(to, a->data, size);
        at += size;
        FAB_TRY(fab_tensors_add(own, a->name, a->type, a->ndim, a->shape, to));
    }
    for (int64_t i = 0; i < fab_tensors_meta_count(t); i++) {
        const char *key = fab_tensors_meta_key(t, i);
        FAB_TRY(fab_tensors_set(own, key, fab_tensors_get(t, key)));
    }
    return FAB_OK;
}

fab_status fab_factors_fit_keep(fab_factors *f)
{
    fab_tensors *t, *own = NULL;
    FAB_TRY(fab_tensors_create(&t));
    fab_status s = fab_fit_save_state(f->fit, t);
    if (s == FAB_OK && f->ahead) s = fab_prequential_save(f->ahead, t);
    if (s == FAB_OK) s = fab_tensors_create(&own);
    if (s == FAB_OK) s = copy_state(f, t, own);
    fab_tensors_free(t);
    if (s == FAB_OK)
        f->kept.state = own;
    else
        fab_tensors_free(own);
    return fab_about(f->who, s);
}

fab_status fab_factors_fit_back(fab_factors *f, fab_factors_fit **fit)
{
    FAB_TRY(fit_create(f, fit));
    const fab_status s = fab_fit_load_state(*fit, f->kept.state, f->kept.n);
    if (s == FAB_OK) return FAB_OK;
    fab_fit_free(*fit);
    *fit = NULL;
    return fab_about(f->who, s);
}

/* Kernels of this type, where the work is done. */
static void take_type(fab_factors *f, fab_dtype type)
{
    f->exec.ops = f->exec.ops ? fab_ops_as(f->exec.ops, type) : fab_ops_find("cpu", type);
    f->host.ops = fab_ops_host(f->exec.ops);
}

/* Go on from a file of a stream with its settings, K replaced unless it is 0. */
static fab_status fit_load(fab_factors *f, fab_tensors *t, int64_t K)
{
    const fab_tensor *F = fab_tensors_find(t, "F");
    const char *json = fab_tensors_get(t, "settings");
    if (F && (F->type == FAB_F32 || F->type == FAB_F64))
        take_type(f, F->type); /* that of the kernels that the state was made with */
    FAB_TRY(fab_settings_from_json(f->method->fields, f->settings, json ? json : "{}"));
    if (K) {
        char *text;
        fab_factors_put(f, "K", K);
        FAB_TRY(fab_settings_json(f->method->fields, f->settings, &text));
        const fab_status s = fab_tensors_set(t, "settings", text);
        fab_text_free(text);
        FAB_TRY(s);
    }
    fab_factors_fit *fit;
    FAB_TRY(fab_fit_load(&fit, t, NULL, &f->exec));
    fab_fit_free(f->fit);
    f->fit = fit;
    f->n = fab_fit_rows(fit);
    FAB_TRY(read_absent(f, t));
    return read_total(f, t);
}

/* The state through memory, with another K. */
fab_status fab_factors_fit_cut(fab_factors *f, int64_t k)
{
    fab_tensors *t = NULL;
    void *bytes;
    size_t size;
    FAB_TRY(fab_fit_pack(f->fit, 0, NULL, &bytes, &size));
    fab_status s = fab_tensors_parse(&t, "state", bytes, size);
    if (s == FAB_OK) s = fit_load(f, t, k);
    fab_tensors_free(t);
    fab_bytes_free(bytes);
    return s;
}

const void *fab_factors_settings(const fab_factors *f)
{
    return fab_fit_settings(f->fit);
}

double fab_factors_fit_bytes(const fab_factors *f, int64_t n)
{
    const double holes =
        f->missing == FAB_FACTORS_EM ? fab_em_missing_bytes(f->D, fab_factors_get(f, "K"), n) : 0;
    return f->method->bytes(f->settings, &(fab_input){.vectors = f->D}, n, &f->exec) + holes;
}

/* ---- life ------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    fab_factors *f = handle;
    const int dense = f->source && !f->label, streams = f->method->streams != 0;
    f->settings = fab_place(l, 1, f->method->fields->size);
    f->buffer = fab_place(l, dense && streams ? f->piece * f->columns : 0, sizeof *f->buffer);
    f->weight = fab_place(l, dense && streams && f->weighed >= 0 ? f->piece : 0, sizeof *f->weight);
    f->first = fab_place(l, f->D, sizeof *f->first);
    f->constant = fab_place(l, f->D, sizeof *f->constant);
    f->same = fab_place(l, f->label ? f->D : 0, sizeof *f->same);
    f->floored = fab_place(l, f->D, sizeof *f->floored);
}

/* The columns of the source: a label of a libsvm file, weights, coordinates. */
static fab_status find_columns(fab_factors *f, const fab_factors_plan *p)
{
    f->weighed = -1;
    if (!p->source) {
        f->D = f->columns = p->D;
        if (p->weight)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "weights in column '%s' of no source; rows in memory have them beside",
                            p->weight);
        return FAB_OK;
    }
    f->columns = fab_source_columns(p->source);
    f->label = fab_source_format(p->source) == FAB_FORMAT_LIBSVM;
    if (p->weight) FAB_TRY(fab_source_find_column(p->source, p->weight, &f->weighed));
    if (p->weight && f->label && f->weighed != 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: column '%s' cannot be the weights of a libsvm file, only its label "
                        "can",
                        f->who, p->weight);
    f->D = f->columns - (f->label || f->weighed >= 0);
    return FAB_OK;
}

/* What counts rows that others do not see, or needs more than the coordinates of one process. */
static fab_status check_together(const fab_factors *f, const fab_factors_plan *p)
{
    const char *what = NULL;
    if (!f->exec.comm || !f->exec.comm->sum) return FAB_OK;
    if (p->weight) what = "weights";
    if (p->missing != FAB_FACTORS_REFUSE) what = "rows with missing values";
    if (p->checkpoint) what = "checkpoints";
    if (p->K == FAB_AUTO_I64) what = "the number of factors by BIC";
    if (!what) return FAB_OK;
    return FAB_FAIL(FAB_UNSUPPORTED, "%s: %s: in one process, and here there are several", f->who,
                    what);
}

const char *fab_factors_default(int64_t D)
{
    return D <= FAB_FACTORS_SCATTER ? "online-ml" : "recursive-em";
}

/* What is known before there is memory; name NULL: the method of that D. */
static fab_status prepare(fab_factors *to, const fab_factors_plan *p, const char *name,
                          const fab_exec *x)
{
    fab_factors proto = {.source = p->source,
                         .limit = p->memory,
                         .checkpoint = p->checkpoint,
                         .missing = p->missing,
                         .who = p->source ? p->source->in.name : "factors"};
    FAB_TRY(find_columns(&proto, p));
    if (!name && p->settings)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "settings, and no word of the method whose they are");
    if (x && x->comm && x->comm->sum && !name) name = "recursive-em"; /* which can be divided */
    if (!name) name = p->missing == FAB_FACTORS_EM ? "em" : fab_factors_default(proto.D);
    proto.method = fab_method_find(name);
    if (!p->source) proto.who = name;
    if (!proto.method) return FAB_FAIL(FAB_BAD_ARGUMENT, "method '%s' is not known", name);
    proto.method = fab_method_of_vectors(proto.method);
    if (fab_method_clusters(proto.method))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: this method finds clusters, not factors", name);
    if (!(proto.method->takes & FAB_TAKES_VECTORS))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: this method fits a model, not a table of vectors alone", name);
    if (p->weight && !(proto.method->takes & FAB_TAKES_WEIGHTS))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: rows have no weights in this method; online-ml, recursive-em, "
                        "online-em and the batch methods take them",
                        proto.method->name);
    if (p->missing == FAB_FACTORS_EM && !(proto.method->takes & FAB_TAKES_MISSING))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: this method needs every value of a row; em fits those that are there",
                        proto.method->name);
    if (p->checkpoint < 0 || (p->checkpoint && (!p->output || !proto.method->streams)))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "a checkpoint every %" PRId64 " rows: expected a stream and a file for it",
                        p->checkpoint);
    if (p->checkpoint && p->missing != FAB_FACTORS_REFUSE)
        return FAB_FAIL(
            FAB_BAD_ARGUMENT,
            "a checkpoint counts rows, and those with missing values would be left out");
    if (x) proto.exec = proto.host = *x;
    if (proto.exec.ops) proto.host.ops = fab_ops_host(proto.exec.ops);
    FAB_TRY(check_together(&proto, p));
    if (proto.D < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: D = %" PRId64 ", expected at least 1", proto.who,
                        proto.D);
    proto.piece = PIECE / proto.columns > 0 ? PIECE / proto.columns : 1;
    const double limit = proto.limit > 0 ? proto.limit : fab_memory_free();
    const double row = sizeof(double) * (double)proto.columns, most = limit / 8 / row;
    if (most < (double)proto.piece) proto.piece = most > 1 ? (int64_t)most : 1;
    if (!(row < limit)) /* before the buffer is asked for */
        return FAB_FAIL(FAB_NO_MEMORY,
                        "%s: a row of %" PRId64 " columns is too long for %.3g MB of memory",
                        proto.who, proto.columns, 1e-6 * limit);
    *to = proto;
    return FAB_OK;
}

/* A handle without settings and fit. */
static fab_status build(fab_factors **f, const fab_factors_plan *p, const char *name,
                        const fab_exec *x)
{
    fab_factors proto = {0};
    *f = NULL;
    const fab_status s = prepare(&proto, p, name, x);
    FAB_TRY(fab_agree(x ? x->comm : NULL, s, 0, ""));
    FAB_TRY(fab_factors_agree_piece(&proto));
    FAB_TRY(fab_build((void **)f, sizeof **f, &proto, layout));
    return fab_copy_text(&(*f)->output, p->output);
}

void fab_factors_free(fab_factors *f)
{
    if (!f) return;
    fab_solver_free(f->solver);
    fab_factors_fit_free(f->fit);
    fab_bic_free(f->search);
    fab_gauss_free(f->whole.q);
    fab_release(f->whole.places);
    fab_prequential_free(f->ahead);
    fab_tensors_free(f->more);
    fab_tensors_free(f->kept.state);
    fab_release(f->kept.numbers);
    fab_sparse_free(&f->cells);
    fab_release(f->table_own);
    fab_release(f->weights_own);
    fab_release(f->output);
    fab_release(f);
}

/* Scores of the rows to come, with those of the file that the fit goes on from (or NULL).  Not where K is chosen in the
 * end, nor of iterates, which are no draws. */
static fab_status open_scores(fab_factors *f, const fab_tensors *file)
{
    const fab_field *forget = fab_settings_find(f->method->fields, "forget");
    fab_prequential_plan plan = {.D = f->D, .forget = 1, .threads = f->exec.threads};
    if (!f->method->streams || f->by_bic || f->exec.comm || f->method->iterates) return FAB_OK;
    if (forget) plan.forget = fab_settings_number(f->method->fields, f->settings, "forget");
    FAB_TRY(fab_prequential_create(&f->ahead, &plan));
    return file ? fab_prequential_load(f->ahead, file, f->n) : FAB_OK;
}

/* The names of the coordinates go into the file, where the source has some, and that of the weights. */
static fab_status take_names(fab_factors *f)
{
    char *names;
    if (!f->source) return FAB_OK;
    if (!f->source->share && !fab_source_name(f->source, 0))
        return FAB_NO_MEMORY; /* made now, so that none is missing later */
    if (f->weighed >= 0) {
        const char *name = fab_source_name(f->source, f->weighed);
        FAB_TRY(keep_text(f, "weight", name ? name : ""));
    }
    FAB_TRY(fab_source_names_json(f->source, f->label, f->weighed, &names));
    const fab_status s = names ? keep_text(f, "features", names) : FAB_OK;
    fab_text_free(names);
    return s;
}

/* A failed beginning holds nothing. */
static fab_status begun(fab_factors **f, fab_status s)
{
    if (s == FAB_OK) return FAB_OK;
    fab_factors_free(*f);
    *f = NULL;
    return s;
}

fab_status fab_factors_create(fab_factors **f, const fab_factors_plan *p, const fab_exec *x)
{
    fab_status s = build(f, p, p->method, x);
    if (s == FAB_OK) s = take_settings(*f, p);
    if (s == FAB_OK) s = take_names(*f);
    s = fab_agree(x ? x->comm : NULL, s, 0, "");
    if (s == FAB_OK) s = fit_create(*f, &(*f)->fit);
    if (s == FAB_OK) s = open_scores(*f, NULL);
    return begun(f, s);
}

/* ---- files ------------------------------------------------------------------------------------------ */

static fab_status check_names(const fab_factors *f, const char *path, const fab_tensors *t)
{
    if (!f->source) return FAB_OK;
    return fab_source_names_check(f->source, f->label, f->weighed, path,
                                  fab_tensors_get(t, "features"));
}

/* Metadata that is neither the method's nor ours. */
static fab_status keep_metadata(fab_factors *f, const fab_tensors *t)
{
    static const char *const own[] = {"fabayes", "form",   "method",    "settings", "n",
                                      "seed",    "scores", "converged", "absent"};
    for (int64_t i = 0; i < fab_tensors_meta_count(t); i++) {
        const char *key = fab_tensors_meta_key(t, i);
        int written = 0;
        for (size_t j = 0; j < sizeof own / sizeof *own; j++) written |= strcmp(own[j], key) == 0;
        if (!written) FAB_TRY(keep_text(f, key, fab_tensors_get(t, key)));
    }
    return FAB_OK;
}

static fab_status take_file(fab_factors *f, fab_tensors *t, const char *path)
{
    assert(f);
    fab_settings_defaults(f->method->fields, f->settings);
    FAB_TRY(fab_about(path, fit_load(f, t, 0)));
    f->before = f->n;
    const fab_tensor *mu = fab_tensors_find(t, "mu");
    if (mu->shape[0] != f->D)
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s has D = %" PRId64 " coordinates and %s has D = %" PRId64 "%s", path,
                        mu->shape[0], f->who, f->D,
                        f->D > mu->shape[0] ? "; --exclude leaves columns out" : "");
    FAB_TRY(check_names(f, path, t));
    FAB_TRY(take_names(f));
    FAB_TRY(fab_about(path, open_scores(f, t)));
    return keep_metadata(f, t); /* names in the file stay */
}

/* Takes t. */
static fab_status load_tensors(fab_factors **f, const fab_factors_plan *p, fab_tensors *t,
                               const char *path, const fab_exec *x)
{
    fab_factors_plan plan = *p;
    const char *method = fab_tensors_get(t, "method");
    const fab_tensor *mu = fab_tensors_find(t, "mu");
    fab_status s = fab_check_alone(path, x);
    if (s != FAB_OK)
        method = NULL; /* not looked at */
    else if (!method || !mu || mu->ndim != 1)
        s = FAB_FAIL(FAB_BAD_FILE, "%s: is not a file of a factor analysis", path);
    else if (!p->source && !p->D)
        plan.D = mu->shape[0];
    if (p->source && !p->weight) plan.weight = fab_tensors_get(t, "weight");
    if (s == FAB_OK) s = fab_about(path, build(f, &plan, method, x));
    if (s == FAB_OK) s = take_file(*f, t, path);
    fab_tensors_free(t);
    return begun(f, s);
}

fab_status fab_factors_load(fab_factors **f, const fab_factors_plan *p, const char *path,
                            const fab_exec *x)
{
    fab_tensors *t;
    *f = NULL;
    FAB_TRY(fab_tensors_read(&t, path));
    return load_tensors(f, p, t, path, x);
}

fab_status fab_factors_parse(fab_factors **f, const fab_factors_plan *p, const char *name,
                             const void *bytes, size_t size, const fab_exec *x)
{
    fab_tensors *t;
    *f = NULL;
    FAB_TRY(fab_tensors_parse(&t, name, bytes, size));
    return load_tensors(f, p, t, name, x);
}

/* The same fit as f describes?  K is another one once it was chosen. */
static fab_status check_same(const fab_factors *f, const fab_tensors *t, const char *path)
{
    const fab_dtype type = f->exec.ops ? f->exec.ops->type : FAB_F64;
    const char *then = fab_tensors_get(t, "weight");
    const char *now = f->weighed >= 0 ? fab_source_name(f->source, f->weighed) : NULL;
    FAB_TRY(fab_same_method(path, t, "fa", f->method, type));
    if (f->source && strcmp(then ? then : "", now ? now : "") != 0)
        return FAB_FAIL(FAB_BAD_FILE, "%s: was made with %s%s%s, and this call has %s%s%s", path,
                        then ? "weights in column '" : "no weights", then ? then : "",
                        then ? "'" : "", now ? "those in column '" : "none", now ? now : "",
                        now ? "'" : "");
    FAB_TRY(check_names(f, path, t));
    return fab_same_settings(path, t, f->method->fields, f->settings, f->by_bic ? "K" : NULL);
}

fab_status fab_factors_resume(fab_factors **f, const fab_factors_plan *p, const char *path,
                              const fab_exec *x)
{
    fab_tensors *t = NULL;
    *f = NULL;
    FAB_TRY(fab_check_alone(path, x));
    fab_status s = build(f, p, p->method, x);
    if (s == FAB_OK) s = take_settings(*f, p);
    if (s == FAB_OK) s = take_names(*f);
    if (s == FAB_OK) s = fab_tensors_read(&t, path);
    if (s == FAB_OK) s = check_same(*f, t, path);
    if (s == FAB_OK) s = fab_about(path, fit_load(*f, t, fab_factors_get(*f, "K")));
    if (s == FAB_OK) (*f)->before = (*f)->n;
    if (s == FAB_OK) s = fab_about(path, open_scores(*f, t));
    if (s == FAB_OK && p->source) s = fab_source_skip(p->source, (*f)->n + (*f)->absent);
    fab_tensors_free(t);
    return begun(f, s);
}

/* ---- what was found --------------------------------------------------------------------------------- */

fab_status fab_factors_result(fab_factors *f, const fab_gauss **q)
{
    *q = f->whole.q;
    if (f->whole.q) return FAB_OK;
    if (f->by_bic) {
        const double start = fab_clock();
        FAB_TRY(fab_about(f->who, fab_factors_choose(f)));
        f->seconds += fab_clock() - start;
    }
    FAB_TRY(fab_factors_check_rows(f, f->n));
    return fab_factors_fit_result(f, q);
}

fab_status fab_factors_save(fab_factors *f, const char *path)
{
    const fab_gauss *q;
    FAB_TRY(fab_factors_result(f, &q));
    if (f->whole.q) return write_whole(f, path);
    return fab_factors_fit_save(f, path);
}

fab_status fab_factors_pack(fab_factors *f, void **bytes, size_t *size)
{
    const fab_gauss *q;
    *bytes = NULL;
    FAB_TRY(fab_factors_result(f, &q));
    return fab_factors_fit_pack(f, bytes, size);
}

fab_status fab_factors_keep(fab_factors *f)
{
    fab_tensors_free(f->kept.state);
    f->kept.state = NULL;
    if (!f->method->streams || f->exec.comm)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: the state of a stream in one process is kept, and %s",
                        f->method->name,
                        f->exec.comm ? "here there are several" : "it is a batch method");
    f->kept.n = f->n;
    f->kept.dropped = f->dropped;
    f->kept.absent = f->absent;
    f->kept.total = f->total;
    return fab_factors_fit_keep(f);
}

fab_status fab_factors_back(fab_factors *f)
{
    fab_factors_fit *fit;
    fab_prequential *ahead = f->ahead;
    const int64_t n = f->n;
    if (!f->kept.state) return FAB_FAIL(FAB_BAD_ARGUMENT, "factors: no state was kept");
    FAB_TRY(fab_factors_fit_back(f, &fit));
    f->n = f->kept.n;
    f->ahead = NULL;
    const fab_status s = open_scores(f, f->kept.state);
    if (s != FAB_OK) {
        fab_prequential_free(f->ahead);
        fab_factors_fit_free(fit);
        f->ahead = ahead;
        f->n = n;
        return s;
    }
    fab_prequential_free(ahead);
    fab_factors_fit_free(f->fit);
    fab_solver_free(f->solver);
    f->fit = fit;
    f->solver = NULL;
    f->before = f->n; /* what was constant is counted anew */
    f->constants = 0;
    f->dropped = f->kept.dropped;
    f->absent = f->kept.absent;
    f->total = f->kept.total;
    fab_tensors_free(f->kept.state);
    f->kept.state = NULL;
    return FAB_OK;
}

double fab_factors_bytes(const fab_factors *f)
{
    return f->needed;
}

int64_t fab_factors_piece(const fab_factors *f)
{
    return f->piece;
}

const fab_method *fab_factors_method(const fab_factors *f)
{
    return f->method;
}

const fab_bic *fab_factors_search(const fab_factors *f)
{
    return f->by_bic ? NULL : f->search;
}

const char *fab_factors_name(const fab_factors *f, int64_t coordinate)
{
    int64_t column = f->label + coordinate;
    if (f->source && !f->whole.q) column += f->source->share_first;
    if (f->weighed >= 0 && !f->label && column >= f->weighed) column++;
    const char *name = f->source ? fab_source_name(f->source, column) : NULL;
    return name ? name : "?";
}

int64_t fab_factors_constants(const fab_factors *f, const int64_t **coordinate)
{
    *coordinate = f->whole.q ? f->whole.places : f->constant;
    return f->constants;
}

fab_status fab_factors_scores(fab_factors *f, const fab_rotation *r, fab_source *s, double *z,
                              int64_t *got)
{
    const fab_gauss *q;
    double *x;
    *got = 0;
    FAB_TRY(fab_factors_result(f, &q));
    if (fab_source_columns(s) != f->columns)
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: has changed while it was read: D = %" PRId64 ", and %" PRId64
                        " before",
                        s->in.name, fab_source_columns(s) - f->columns + f->D, f->D);
    if (!f->solver) FAB_TRY(fab_solver_create(&f->solver, q, &f->host));
    FAB_TRY(fab_alloc_array((void **)&x, f->piece * f->columns, sizeof *x, "rows to score"));
    fab_status status = fab_source_next(s, f->piece, x, got);
    const fab_rows rows = fab_factors_coordinates(f, x, *got, NULL);
    if (status == FAB_OK && *got > 0) status = fab_solver_scores(f->solver, r, &rows, z);
    fab_release(x);
    FAB_TRY(status);
    int64_t done, total;
    fab_source_position(s, &done, &total);
    const fab_watch w = fab_watch_of(&f->exec);
    return fab_watch_tick(&w, "scores", done, total);
}
