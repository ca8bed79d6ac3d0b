/* posterior.c - Gaussians and mixtures as safetensors files.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/gauss.h"
#include "base/fail.h"
#include "base/memory.h"
#include <stdio.h>
#include <string.h>

enum { MAX_PARTS = 4096 };

/* A loaded posterior: the public face, then what it owns. */
typedef struct loaded {
    fab_posterior face;
    fab_gauss **part;
    double *weight;
} loaded;

/* ---- reading ---------------------------------------------------------------------------------- */

/* Tensor "mu", or "3.mu" of a mixture. */
static const fab_tensor *find(const fab_tensors *t, int64_t part, const char *name)
{
    char full[64];
    if (part < 0) return fab_tensors_find(t, name);
    snprintf(full, sizeof full, "%lld.%s", (long long)part, name);
    return fab_tensors_find(t, full);
}

static fab_status need(const fab_tensors *t, int64_t part, const char *name, const fab_tensor **out)
{
    *out = find(t, part, name);
    if (*out) return FAB_OK;
    if (part < 0) return FAB_FAIL(FAB_BAD_FILE, "there is no tensor '%s'", name);
    return FAB_FAIL(FAB_BAD_FILE, "there is no tensor '%lld.%s'", (long long)part, name);
}

/* A vector of n elements (n < 0: any length) of type f64, f32 or the one asked for. */
static fab_status check_vector(const fab_tensor *v, int64_t n, int integers)
{
    if (v->ndim != 1 || (n >= 0 && v->shape[0] != n))
        return FAB_FAIL(
            FAB_BAD_FILE,
            "tensor '%s' has %d dimensions and %lld elements in the first, expected a vector%s",
            v->name, v->ndim, v->ndim ? (long long)v->shape[0] : 0LL,
            n >= 0 ? " as long as mu" : "");
    if (integers != (v->type == FAB_I64))
        return FAB_FAIL(FAB_BAD_FILE, "tensor '%s' is %s, expected %s", v->name,
                        fab_dtype_name(v->type), integers ? "i64" : "f64 or f32");
    return FAB_OK;
}

static void copy_numbers(double *out, const fab_tensor *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = v->type == FAB_F32 ? (double)((const float *)v->data)[i]
                                    : ((const double *)v->data)[i];
}

static fab_status read_form(const fab_tensors *t, fab_form *form)
{
    const char *text = fab_tensors_get(t, "form");
    if (!text) return FAB_FAIL(FAB_BAD_FILE, "the metadata has no 'form'");
    for (int f = FAB_FORM_COVARIANCE; f <= FAB_FORM_POINT; f++)
        if (strcmp(text, fab_form_name((fab_form)f)) == 0) {
            *form = (fab_form)f;
            return FAB_OK;
        }
    return FAB_FAIL(FAB_BAD_FILE, "form '%s' is not covariance, precision or point", text);
}

/* The tensors of one part, and whether their shapes agree. */
typedef struct pieces {
    fab_form form;
    const fab_tensor *mu, *F, *psi, *theta, *index;
    int64_t D, K, total;
} pieces;

static fab_status check_F(const fab_tensor *F, int64_t D)
{
    if (F->ndim != 2 || F->shape[0] != D)
        return FAB_FAIL(
            FAB_BAD_FILE,
            "tensor '%s' is not a matrix with one row for each of the %lld elements of mu", F->name,
            (long long)D);
    if (F->type == FAB_I64)
        return FAB_FAIL(FAB_BAD_FILE, "tensor '%s' is i64, expected f64 or f32", F->name);
    return FAB_OK;
}

static fab_status find_pieces(const fab_tensors *t, int64_t part, pieces *p)
{
    *p = (pieces){0};
    FAB_TRY(read_form(t, &p->form));
    FAB_TRY(need(t, part, "mu", &p->mu));
    FAB_TRY(check_vector(p->mu, -1, 0));
    p->D = p->mu->shape[0];
    if (p->D < 1) return FAB_FAIL(FAB_BAD_FILE, "tensor '%s' is empty", p->mu->name);
    p->theta = find(t, part, "theta");
    if (!p->theta && find(t, part, "index")) return need(t, part, "theta", &p->theta);
    if (p->theta) {
        FAB_TRY(check_vector(p->theta, -1, 0));
        FAB_TRY(need(t, part, "index", &p->index));
        FAB_TRY(check_vector(p->index, p->D, 1));
        p->total = p->theta->shape[0];
    }
    if (p->form == FAB_FORM_POINT) return FAB_OK;
    FAB_TRY(need(t, part, "psi", &p->psi));
    FAB_TRY(check_vector(p->psi, p->D, 0));
    p->F = find(t, part, "F"); /* absent: K = 0 */
    if (!p->F) return FAB_OK;
    FAB_TRY(check_F(p->F, p->D));
    p->K = p->F->shape[1];
    return FAB_OK;
}

static fab_status read_part(const fab_tensors *t, int64_t part, fab_gauss **g)
{
    pieces p;
    FAB_TRY(find_pieces(t, part, &p));
    const fab_dtype type = p.F ? p.F->type : FAB_F64;
    FAB_TRY(fab_gauss_create_part(g, p.form, type, p.D, p.K, p.total));
    copy_numbers((*g)->mu, p.mu, p.D);
    if (p.psi) copy_numbers((*g)->psi, p.psi, p.D);
    if (p.F && p.K)
        memcpy((*g)->F, p.F->data,
               (size_t)(p.D * p.K) * (type == FAB_F32 ? sizeof(float) : sizeof(double)));
    if (p.total) copy_numbers((*g)->theta, p.theta, p.total);
    if (p.total) memcpy((*g)->index, p.index->data, (size_t)p.D * sizeof(int64_t));
    return fab_gauss_check(*g);
}

static fab_status read_parts(loaded *l)
{
    const fab_tensors *t = l->face.file;
    const fab_tensor *weights = fab_tensors_find(t, "weights");
    if (!fab_tensors_get(t, "fabayes"))
        return FAB_FAIL(FAB_BAD_FILE,
                        "the metadata has no 'fabayes': this is not a posterior file");
    if (weights) FAB_TRY(check_vector(weights, -1, 0));
    const int64_t n = weights ? weights->shape[0] : 1;
    if (n < 1 || n > MAX_PARTS)
        return FAB_FAIL(FAB_BAD_FILE, "%lld weights, expected 1 to %d", (long long)n, MAX_PARTS);
    FAB_TRY(fab_alloc_array((void **)&l->part, n, sizeof *l->part, "posterior"));
    memset(l->part, 0, (size_t)n * sizeof *l->part);
    l->face.mix.n = n;
    l->face.mix.part = (const fab_gauss *const *)l->part;
    FAB_TRY(fab_alloc_array((void **)&l->weight, n, sizeof *l->weight, "posterior"));
    l->weight[0] = 1;
    l->face.mix.weight = l->weight;
    if (weights) copy_numbers(l->weight, weights, n);
    for (int64_t j = 0; j < n; j++) FAB_TRY(read_part(t, weights ? j : -1, &l->part[j]));
    return fab_mixture_check(&l->face.mix);
}

/* Takes `file` over, whatever happens. */
static fab_status load(fab_posterior **p, const char *name, fab_tensors *file)
{
    loaded *l;
    if (fab_alloc_array((void **)&l, 1, sizeof *l, "posterior") != FAB_OK) {
        fab_tensors_free(file);
        return FAB_NO_MEMORY;
    }
    *l = (loaded){.face = {.file = file}};
    const fab_status s = read_parts(l);
    if (s != FAB_OK) {
        fab_posterior_free(&l->face);
        return fab_prefix(s == FAB_NO_MEMORY ? s : FAB_BAD_FILE, "%s: ", name);
    }
    *p = &l->face;
    return FAB_OK;
}

fab_status fab_posterior_load(fab_posterior **p, const char *path)
{
    fab_tensors *file;
    *p = NULL;
    FAB_TRY(fab_tensors_read(&file, path));
    return load(p, path, file);
}

fab_status fab_posterior_parse(fab_posterior **p, const char *name, const void *bytes, size_t size)
{
    fab_tensors *file;
    *p = NULL;
    FAB_TRY(fab_tensors_parse(&file, name, bytes, size));
    return load(p, name, file);
}

void fab_posterior_free(fab_posterior *p)
{
    loaded *l = (loaded *)p;
    if (!l) return;
    for (int64_t j = 0; j < p->mix.n; j++) fab_gauss_free(l->part[j]);
    fab_release(l->part);
    fab_release(l->weight);
    fab_tensors_free(p->file);
    fab_release(l);
}

/* ---- writing ---------------------------------------------------------------------------------- */

static fab_status add(fab_tensors *t, int64_t part, const char *name, fab_dtype type, int ndim,
                      const int64_t *shape, const void *data)
{
    char full[64];
    snprintf(full, sizeof full, "%lld.%s", (long long)part, name);
    return fab_tensors_add(t, part < 0 ? name : full, type, ndim, shape, data);
}

static fab_status add_part(fab_tensors *t, int64_t part, const fab_gauss *g)
{
    FAB_TRY(add(t, part, "mu", FAB_F64, 1, &g->D, g->mu));
    if (g->K) FAB_TRY(add(t, part, "F", g->type, 2, (const int64_t[]){g->D, g->K}, g->F));
    if (g->psi) FAB_TRY(add(t, part, "psi", FAB_F64, 1, &g->D, g->psi));
    if (g->total) FAB_TRY(add(t, part, "theta", FAB_F64, 1, &g->total, g->theta));
    if (g->total) FAB_TRY(add(t, part, "index", FAB_I64, 1, &g->D, g->index));
    return FAB_OK;
}

/* Would the reader take a tensor of that name for a piece of a Gaussian: "psi", "3.mu", "weights"? */
static int is_reserved(const char *name)
{
    static const char *const own[] = {"mu", "F", "psi", "theta", "index", "weights"};
    const size_t digits = strspn(name, "0123456789");
    if (digits && name[digits] == '.') name += digits + 1;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]) == 0) return 1;
    return 0;
}

static fab_status add_extra(fab_tensors *t, const fab_tensors *more)
{
    if (!more) return FAB_OK;
    for (int64_t i = 0; i < fab_tensors_meta_count(more); i++) {
        const char *key = fab_tensors_meta_key(more, i);
        if (strcmp(key, "fabayes") == 0 || strcmp(key, "form") == 0) continue; /* the file's own */
        FAB_TRY(fab_tensors_set(t, key, fab_tensors_get(more, key)));
    }
    for (int64_t i = 0; i < fab_tensors_count(more); i++) {
        const fab_tensor *e = fab_tensors_at(more, i);
        if (is_reserved(e->name))
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "the name '%s' of an extra tensor belongs to the posterior", e->name);
        FAB_TRY(fab_tensors_add(t, e->name, e->type, e->ndim, e->shape, e->data));
    }
    return FAB_OK;
}

static fab_status collect(fab_tensors *t, const fab_mixture *m, const fab_tensors *more)
{
    FAB_TRY(fab_tensors_set(t, "fabayes", fab_version()));
    FAB_TRY(fab_tensors_set(t, "form", fab_form_name(m->part[0]->form)));
    for (int64_t j = 0; j < m->n; j++) {
        if (m->part[j]->form != m->part[0]->form)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "mixture: parts of different forms cannot share a file");
        FAB_TRY(fab_gauss_check(m->part[j]));
        FAB_TRY(add_part(t, m->n > 1 ? j : -1, m->part[j]));
    }
    if (m->n > 1) FAB_TRY(fab_tensors_add(t, "weights", FAB_F64, 1, &m->n, m->weight));
    return add_extra(t, more);
}

fab_status fab_posterior_save(const char *path, const fab_mixture *m, const fab_tensors *more)
{
    fab_tensors *t;
    FAB_TRY(fab_mixture_check(m));
    FAB_TRY(fab_tensors_create(&t));
    fab_status s = collect(t, m, more);
    if (s == FAB_OK) s = fab_tensors_write(t, path);
    fab_tensors_free(t);
    return s;
}

fab_status fab_posterior_pack(const fab_mixture *m, const fab_tensors *more, void **bytes,
                              size_t *size)
{
    fab_tensors *t;
    *bytes = NULL;
    FAB_TRY(fab_mixture_check(m));
    FAB_TRY(fab_tensors_create(&t));
    fab_status s = collect(t, m, more);
    if (s == FAB_OK) s = fab_tensors_pack(t, bytes, size);
    fab_tensors_free(t);
    return s;
}

fab_status fab_gauss_save(const char *path, const fab_gauss *g, const fab_tensors *more)
{
    const double one = 1;
    return fab_posterior_save(path, &(fab_mixture){1, &g, &one}, more);
}
