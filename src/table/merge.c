/* merge.c - posteriors of shards become one: the door, factor analyses, networks, and the file.
 *
 *   vectors    1  methods whose states add up (fab_fit_merge): the state of all rows, and its result
 *              2  otherwise the moments: weights n_j / n, mean and covariance of all parts together (pool.c)
 *   linear     merge_linear.c
 *   networks   3  all parts, with equal weights: modes of different starts have no common Gaussian
 *
 * SPDX-License-Identifier: MIT */
#include "table/merge.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/text.h"
#include "fit/method.h"
#include "la/ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *fab_merge_way_name(fab_merge_way way)
{
    static const char *const names[] = {"states", "moments", "rows", "product", "mixture"};
    return names[way];
}

/* ---- the file --------------------------------------------------------------------------------- */

/* What the metadata of one part say is not so of all rows. */
static int is_of_part(const char *key)
{
    static const char *const own[] = {"fabayes", "form",        "n",         "alpha", "read",
                                      "scores",  "summary",     "converged", "left",  "absent",
                                      "merged",  "calibration", "weights"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(key, own[i]) == 0) return 1;
    return 0;
}

static fab_status copy_metadata(const fab_tensors *from, int first, fab_tensors *t)
{
    for (int64_t i = 0; i < fab_tensors_meta_count(from); i++) {
        const char *key = fab_tensors_meta_key(from, i);
        if (first && is_of_part(key)) continue;
        FAB_TRY(fab_tensors_set(t, key, fab_tensors_get(from, key)));
    }
    return FAB_OK;
}

fab_status fab_merge_describe(const fab_merging *m, fab_tensors *t)
{
    const fab_merge_report *r = m->report;
    fab_text text = {0};
    char number[32], *json;
    double rows = 0;
    fab_print_double(number, sizeof number, r->kl);
    fab_text_add(&text, "{\"parts\": %lld, \"way\": \"%s\", \"kl\": %s, \"n\": [",
                 (long long)r->parts, fab_merge_way_name(r->way), number);
    for (int64_t j = 0; j < m->n; j++) {
        fab_print_double(number, sizeof number, m->shard[j].n);
        fab_text_add(&text, "%s%s", j ? ", " : "", number);
    }
    fab_text_add(&text, "]%s}", r->alpha_chosen ? ", \"alpha_chosen\": 1" : "");
    FAB_TRY(fab_text_give(&text, &json));
    fab_status s = fab_tensors_set(t, "merged", json);
    fab_text_free(json);
    if (s != FAB_OK) return s;
    for (int64_t j = 0; j < m->n; j++) rows += m->shard[j].rows;
    fab_print_double(number, sizeof number, rows);
    FAB_TRY(fab_tensors_set(t, "n", number));
    fab_print_double(number, sizeof number, r->n);
    if (fab_tensors_get(m->shard[0].p->file, "weights"))
        FAB_TRY(fab_tensors_set(t, "weights", number));
    if (!(r->alpha > 0)) return FAB_OK;
    fab_print_double(number, sizeof number, r->alpha);
    return fab_tensors_set(t, "alpha", number);
}

fab_status fab_merge_file(const fab_merging *m, const fab_mixture *mix, const fab_tensors *more,
                          fab_posterior **out)
{
    fab_tensors *t;
    void *bytes = NULL;
    size_t size;
    m->report->D = mix->part[0]->D;
    m->report->K = mix->part[0]->K;
    FAB_TRY(fab_tensors_create(&t));
    fab_status s = copy_metadata(m->shard[0].p->file, 1, t);
    if (s == FAB_OK && more) s = copy_metadata(more, 0, t);
    if (s == FAB_OK) s = fab_merge_describe(m, t);
    if (s == FAB_OK) s = fab_posterior_pack(mix, t, &bytes, &size);
    fab_tensors_free(t);
    if (s == FAB_OK) s = fab_posterior_parse(out, "merged", bytes, size);
    fab_bytes_free(bytes);
    return s;
}

/* ---- parts ------------------------------------------------------------------------------------ */

/* The settings of a part with another rank, where its state is wider than its result; *json NULL: it is not. */
static fab_status wider_settings(const fab_shard *s, const fab_method *m, char **json)
{
    const fab_tensor *F = fab_tensors_find(s->p->file, "state.F");
    const fab_field *rank = fab_settings_find(m->fields, "inner_rank");
    void *settings;
    char text[32];
    *json = NULL;
    if (!F || !rank || F->ndim != 2 || F->shape[1] <= s->q->K) return FAB_OK;
    snprintf(text, sizeof text, "%lld", (long long)F->shape[1]);
    FAB_TRY(fab_alloc_array(&settings, 1, m->fields->size, m->name));
    fab_settings_defaults(m->fields, settings);
    fab_status done =
        fab_settings_from_json(m->fields, settings, fab_tensors_get(s->p->file, "settings"));
    if (done == FAB_OK) done = fab_settings_parse(m->fields, settings, "inner_rank", text);
    if (done == FAB_OK) done = fab_settings_parse(m->fields, settings, "K", text);
    if (done == FAB_OK) done = fab_settings_json(m->fields, settings, json);
    fab_release(settings);
    return done;
}

fab_status fab_shard_widen(fab_shard *s, const fab_exec *x)
{
    const char *name = fab_tensors_get(s->p->file, "method");
    const fab_method *m = name ? fab_method_find(name) : NULL;
    const fab_gauss *q;
    fab_tensors *t = NULL;
    fab_fit *f = NULL;
    char *json;
    if (!m || !m->load || !fab_tensors_get(s->p->file, "settings")) return FAB_OK;
    FAB_TRY(wider_settings(s, m, &json));
    if (!json) return FAB_OK;
    fab_exec as = x ? *x : (fab_exec){0};
    as.ops = fab_ops_find("cpu", s->q->type); /* the kernels that the state was made with */
    fab_status done = fab_tensors_create(&t);
    if (done == FAB_OK) done = copy_metadata(s->p->file, 0, t);
    for (int64_t i = 0; i < fab_tensors_count(s->p->file) && done == FAB_OK; i++) {
        const fab_tensor *e = fab_tensors_at(s->p->file, i);
        done = fab_tensors_add(t, e->name, e->type, e->ndim, e->shape, e->data);
    }
    if (done == FAB_OK) done = fab_tensors_set(t, "settings", json);
    if (done == FAB_OK) done = fab_fit_load(&f, t, NULL, &as);
    if (done == FAB_OK) done = fab_fit_gauss(f, &q);
    if (done == FAB_OK) done = fab_gauss_copy(&s->wide, q, FAB_F64);
    if (done == FAB_OK) s->q = s->wide;
    fab_fit_free(f);
    fab_tensors_free(t);
    fab_text_free(json);
    return done == FAB_OK ? FAB_OK : fab_about(s->name, done);
}

static fab_status open_shard(fab_shard *s, const char *name, const fab_posterior *p)
{
    const char *rows = fab_tensors_get(p->file, "n"), *sum = fab_tensors_get(p->file, "weights");
    *s = (fab_shard){.name = name, .p = p, .q = p->mix.part[0]};
    s->rows = rows ? strtod(rows, NULL) : NAN;
    s->n = sum ? strtod(sum, NULL) : s->rows;
    if (!(s->n > 0 && s->n < INFINITY && s->rows >= 1 && s->rows < 0x1p53))
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: does not say how many rows it has learned from (n): is it a fit?",
                        name);
    return FAB_OK;
}

static void close_shards(fab_shard *s, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        fab_gauss_free(s[j].wide);
        fab_scaling_free(s[j].k);
    }
    fab_release(s);
}

/* Is the metadata `key` the same in all of them? */
static fab_status check_same(const fab_merging *m, const char *key, const char *what)
{
    const char *first = fab_tensors_get(m->shard[0].p->file, key);
    for (int64_t j = 1; j < m->n; j++) {
        const char *here = fab_tensors_get(m->shard[j].p->file, key);
        if (first == here || (first && here && strcmp(first, here) == 0)) continue;
        return FAB_FAIL(FAB_BAD_DATA, "%s and %s have %s: they cannot be merged", m->shard[0].name,
                        m->shard[j].name, what);
    }
    return FAB_OK;
}

static fab_status check_kinds(const fab_merging *m)
{
    static const char *const names[] = {"a factor analysis",  "a linear model",
                                        "a network",          "a model of its own",
                                        "a Gaussian process", "a support vector machine"};
    const fab_shard *a = m->shard;
    for (int64_t j = 0; j < m->n; j++) {
        const fab_kind kind = fab_file_kind(a[j].p->file);
        if (kind == FAB_KIND_GP)
            return FAB_FAIL(FAB_UNSUPPORTED,
                            "%s: is a Gaussian process, which needs all rows at once; features of "
                            "its kernel (nystrom:.., rff:..) with one scaling can be merged",
                            a[j].name);
        if (kind == FAB_KIND_SVM)
            return FAB_FAIL(FAB_UNSUPPORTED,
                            "%s: is a support vector machine, which needs all rows at once",
                            a[j].name);
        if (kind != m->report->kind)
            return FAB_FAIL(FAB_BAD_DATA, "%s is %s, and %s is %s: they cannot be merged",
                            a[0].name, names[m->report->kind], a[j].name, names[kind]);
        if (kind != FAB_KIND_LINEAR && (a[j].q->D != a[0].q->D || a[j].q->total != a[0].q->total))
            return FAB_FAIL(FAB_BAD_DATA, "%s has D = %lld, and %s has D = %lld", a[0].name,
                            (long long)a[0].q->D, a[j].name, (long long)a[j].q->D);
    }
    return FAB_OK;
}

/* ---- factor analyses -------------------------------------------------------------------------- */

/* Do all have a state of one method that adds up? */
static int states_add_up(const fab_merging *m)
{
    const char *name = fab_tensors_get(m->shard[0].p->file, "method");
    const char *settings = fab_tensors_get(m->shard[0].p->file, "settings");
    const fab_method *method = name ? fab_method_find(name) : NULL;
    if (!method || !method->merge || !settings) return 0;
    for (int64_t j = 0; j < m->n; j++) {
        const fab_tensors *t = m->shard[j].p->file;
        const char *here = fab_tensors_get(t, "method"), *set = fab_tensors_get(t, "settings");
        if (!here || strcmp(here, name) != 0 || !set || strcmp(set, settings) != 0) return 0;
        if (!fab_tensors_find(t, "state.mu")) return 0;
    }
    return m->plan->K == 0;
}

/* 1 */
static fab_status merge_states(const fab_merging *m, fab_posterior **out)
{
    fab_fit *f, *g = NULL;
    fab_tensors *more = NULL;
    const fab_gauss *q;
    void *bytes = NULL;
    size_t size;
    m->report->way = FAB_MERGE_STATES;
    FAB_TRY(fab_about(m->shard[0].name, fab_fit_load(&f, m->shard[0].p->file, NULL, m->x)));
    fab_status s = FAB_OK;
    for (int64_t j = 1; j < m->n && s == FAB_OK; j++) {
        s = fab_about(m->shard[j].name, fab_fit_load(&g, m->shard[j].p->file, NULL, m->x));
        if (s == FAB_OK) s = fab_fit_merge(f, g);
        fab_fit_free(g);
        g = NULL;
    }
    if (s == FAB_OK) s = fab_fit_gauss(f, &q);
    if (s == FAB_OK) s = fab_tensors_create(&more);
    if (s == FAB_OK) {
        m->report->D = q->D;
        m->report->K = q->K;
        const char *const kept[] = {"features", "weight"};
        for (int i = 0; i < 2 && s == FAB_OK; i++) {
            const char *text = fab_tensors_get(m->shard[0].p->file, kept[i]);
            if (text) s = fab_tensors_set(more, kept[i], text);
        }
    }
    if (s == FAB_OK) s = fab_merge_describe(m, more);
    if (s == FAB_OK) s = fab_fit_pack(f, 0, more, &bytes, &size);
    if (s == FAB_OK) s = fab_posterior_parse(out, "merged", bytes, size);
    fab_bytes_free(bytes);
    fab_tensors_free(more);
    fab_fit_free(f);
    return s;
}

/* 2 */
static fab_status merge_moments(const fab_merging *m, const fab_gauss **part, double *weight,
                                fab_posterior **out)
{
    const double one = 1;
    int64_t K = m->plan->K;
    fab_gauss *q;
    for (int64_t j = 0; j < m->n; j++) {
        if (m->plan->K == 0 && m->shard[j].q->K > K) K = m->shard[j].q->K;
        FAB_TRY(fab_shard_widen(&m->shard[j], m->x));
        if (m->shard[j].q->form != FAB_FORM_COVARIANCE)
            return FAB_FAIL(FAB_UNSUPPORTED,
                            "%s: is in %s form, and only covariances of vectors can be merged",
                            m->shard[j].name, fab_form_name(m->shard[j].q->form));
        part[j] = m->shard[j].q;
        weight[j] = m->shard[j].n / m->report->n;
    }
    const fab_mixture all = {m->n, part, weight};
    m->report->way = FAB_MERGE_MOMENTS;
    FAB_TRY(fab_mixture_pool(&q, &all, K, m->x, &m->report->kl));
    const fab_gauss *only = q;
    const fab_status s = fab_merge_file(m, &(fab_mixture){1, &only, &one}, NULL, out);
    fab_gauss_free(q);
    return s;
}

static fab_status merge_vectors(const fab_merging *m, fab_posterior **out)
{
    const fab_gauss **part;
    double *weight;
    FAB_TRY(check_same(m, "features", "different columns"));
    for (int64_t j = 0; j < m->n; j++)
        if (m->shard[j].p->mix.n > 1)
            return FAB_FAIL(FAB_UNSUPPORTED, "%s: is a mixture, and mixtures are not merged",
                            m->shard[j].name);
    if (states_add_up(m)) return merge_states(m, out);
    FAB_TRY(fab_alloc_array((void **)&part, m->n, sizeof *part, "merge"));
    fab_status s = fab_alloc_array((void **)&weight, m->n, sizeof *weight, "merge");
    if (s == FAB_OK) {
        s = merge_moments(m, part, weight, out);
        fab_release(weight);
    }
    fab_release(part);
    return s;
}

/* ---- networks --------------------------------------------------------------------------------- */

/* 3: each file's weights, divided by the number of files; room for `parts` of them */
static fab_status mix(const fab_merging *m, const fab_gauss **part, double *weight,
                      fab_posterior **out)
{
    int64_t at = 0;
    for (int64_t j = 0; j < m->n; j++) {
        const fab_mixture *mix = &m->shard[j].p->mix;
        for (int64_t i = 0; i < mix->n; i++, at++) {
            part[at] = mix->part[i];
            weight[at] = mix->weight[i] / (double)m->n;
        }
    }
    m->report->way = FAB_MERGE_MIXTURE;
    return fab_merge_file(m, &(fab_mixture){at, part, weight}, NULL, out);
}

static fab_status merge_networks(const fab_merging *m, fab_posterior **out)
{
    const fab_gauss **part;
    double *weight;
    int64_t parts = 0;
    if (m->plan->K || m->plan->alpha > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "networks become a mixture, which has neither K nor alpha");
    FAB_TRY(check_same(m, "model", "different models"));
    FAB_TRY(check_same(m, "scaling", "different units; fit them with the units of one (--units)"));
    for (int64_t j = 0; j < m->n; j++) parts += m->shard[j].p->mix.n;
    FAB_TRY(fab_alloc_array((void **)&part, parts, sizeof *part, "merge"));
    fab_status s = fab_alloc_array((void **)&weight, parts, sizeof *weight, "merge");
    if (s == FAB_OK) {
        s = mix(m, part, weight, out);
        fab_release(weight);
    }
    fab_release(part);
    return s;
}

/* ---- the door --------------------------------------------------------------------------------- */

static fab_status merge(const fab_merging *m, fab_posterior **out)
{
    FAB_TRY(check_kinds(m));
    switch (m->report->kind) {
    case FAB_KIND_VECTORS: return merge_vectors(m, out);
    case FAB_KIND_LINEAR: return fab_merge_linear(m, out);
    case FAB_KIND_NETWORK:
    case FAB_KIND_CALLBACK:
    case FAB_KIND_SVM:
    case FAB_KIND_GP: break; /* check_kinds has refused it */
    }
    return merge_networks(m, out);
}

fab_status fab_merge(fab_posterior **out, const char *const *name, const fab_posterior *const *part,
                     int64_t n, const fab_merge_plan *plan, const fab_exec *x,
                     fab_merge_report *report)
{
    static const fab_merge_plan defaults = {0};
    fab_merge_report own = {0}, *r = report ? report : &own;
    fab_merging m = {.n = n, .plan = plan ? plan : &defaults, .x = x, .report = r};
    *out = NULL;
    if (n < 2)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "merge: %lld posteriors, expected at least 2",
                        (long long)n);
    if (m.plan->K < 0 || !(m.plan->alpha >= 0 && isfinite(m.plan->alpha)))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "merge: K = %lld, alpha = %g", (long long)m.plan->K,
                        m.plan->alpha);
    FAB_TRY(fab_check_alone("merge", x));
    FAB_TRY(fab_alloc_array((void **)&m.shard, n, sizeof *m.shard, "merge"));
    memset(m.shard, 0, (size_t)n * sizeof *m.shard);
    *r = (fab_merge_report){
        .kind = fab_file_kind(part[0]->file), .parts = n, .alpha = NAN, .beta = NAN};
    fab_status s = FAB_OK;
    for (int64_t j = 0; j < n && s == FAB_OK; j++) {
        s = open_shard(&m.shard[j], name[j], part[j]);
        if (s == FAB_OK) r->n += m.shard[j].n;
    }
    if (s == FAB_OK) s = merge(&m, out);
    close_shards(m.shard, n);
    return s;
}
