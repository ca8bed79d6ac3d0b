/* runs.c - independent runs of a method, which differ in their seeds.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/runs.h"
#include "base/memory.h"
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 128 };

/* ---- life --------------------------------------------------------------------------------------------- */

fab_status fab_runs_init(fab_runs *r, const fab_infer_verbs *v, int64_t n, const char *who)
{
    *r = (fab_runs){.v = v};
    FAB_TRY(fab_alloc_array((void **)&r->handle, n, 3 * sizeof(void *), who)); /* one block */
    r->n = n;
    r->part = (const fab_gauss **)(void *)(r->handle + n);
    r->weight = (double *)(void *)(r->part + n);
    for (int64_t i = 0; i < n; i++) {
        r->handle[i] = NULL;
        r->part[i] = NULL;
        r->weight[i] = 1 / (double)n;
    }
    return FAB_OK;
}
_Static_assert(sizeof(void *) == sizeof(double), "three arrays share one block");

void fab_runs_free(fab_runs *r)
{
    for (int64_t i = 0; i < r->n; i++)
        if (r->handle[i]) r->v->free(r->handle[i]);
    fab_release(r->handle);
    *r = (fab_runs){0};
}

fab_status fab_runs_build(fab_runs *r, fab_model_settings *s, const fab_model *m,
                          const fab_gauss *prior, const fab_exec *x)
{
    const int64_t seed = s->seed;
    fab_status done = FAB_OK;
    for (int64_t i = 0; i < r->n && done == FAB_OK; i++) {
        s->seed = seed + i;
        done = r->v->init_model(&r->handle[i], s, m, prior, x);
    }
    s->seed = seed;
    return done;
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

fab_status fab_runs_update(fab_runs *r, const fab_examples *e)
{
    for (int64_t i = 0; i < r->n; i++) FAB_TRY(r->v->update(r->handle[i], e));
    return FAB_OK;
}

fab_status fab_runs_parts(fab_runs *r, fab_status (*verb)(void *handle, const fab_gauss **q))
{
    for (int64_t i = 0; i < r->n; i++) {
        const fab_status s = verb(r->handle[i], &r->part[i]);
        if (s == FAB_NUMERIC && r->n > 1)
            return fab_prefix(s, "run %lld of %lld: ", (long long)i + 1, (long long)r->n);
        FAB_TRY(s);
    }
    return FAB_OK;
}

fab_mixture fab_runs_mixture(const fab_runs *r)
{
    return (fab_mixture){r->n, r->part, r->weight};
}

/* ---- files -------------------------------------------------------------------------------------------- */

/* Add the tensors of `from` whose names begin with `drop` to `to`, with `add` in its place. */
static fab_status rename_all(const fab_tensors *from, const char *drop, const char *add,
                             fab_tensors *to)
{
    const size_t skip = strlen(drop);
    char name[NAME_BYTES];
    for (int64_t i = 0; i < fab_tensors_count(from); i++) {
        const fab_tensor *t = fab_tensors_at(from, i);
        if (strncmp(t->name, drop, skip) != 0) continue;
        snprintf(name, sizeof name, "%s%s", add, t->name + skip);
        FAB_TRY(fab_tensors_add(to, name, t->type, t->ndim, t->shape, t->data));
    }
    return FAB_OK;
}

static fab_status save_one(const fab_runs *r, int64_t i, fab_tensors *t)
{
    fab_tensors *one;
    char prefix[NAME_BYTES];
    snprintf(prefix, sizeof prefix, "%lld.", (long long)i);
    FAB_TRY(fab_tensors_create(&one));
    fab_status s = r->v->save(r->handle[i], one);
    if (s == FAB_OK) s = rename_all(one, "", prefix, t);
    fab_tensors_free(one);
    return s;
}

fab_status fab_runs_save(const fab_runs *r, fab_tensors *t)
{
    if (!r->v->save) return FAB_OK;
    if (r->n == 1) return r->v->save(r->handle[0], t);
    for (int64_t i = 0; i < r->n; i++) FAB_TRY(save_one(r, i, t));
    return FAB_OK;
}

static fab_status load_one(fab_runs *r, int64_t i, const fab_tensors *t)
{
    fab_tensors *one;
    char prefix[NAME_BYTES];
    snprintf(prefix, sizeof prefix, "%lld.", (long long)i);
    FAB_TRY(fab_tensors_create(&one));
    fab_status s = rename_all(t, prefix, "", one);
    if (s == FAB_OK) s = r->v->load(r->handle[i], one);
    fab_tensors_free(one);
    return s;
}

fab_status fab_runs_load(fab_runs *r, const fab_tensors *t)
{
    if (r->n == 1) return r->v->load(r->handle[0], t);
    for (int64_t i = 0; i < r->n; i++) FAB_TRY(load_one(r, i, t));
    return FAB_OK;
}
