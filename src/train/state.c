/* state.c - state tensors in files, and the log-likelihood of a stream.
 *
 * SPDX-License-Identifier: MIT */
#include "train/state.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "posterior/solver.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 128 };

/* Losses may be infinite, before any has been seen; in files of earlier versions they stand among other numbers, which are looked at one by one. */
static const char *const not_finite[] = {"loss", "losses", "numbers", "net"};

/* What a stream or a training goes on from is as finite as a result must be. */
static fab_status check_finite(const fab_tensor *v)
{
    const char *dot = strrchr(v->name, '.');
    int64_t count = 1;
    if (v->type == FAB_I64) return FAB_OK;
    if (dot)
        for (size_t i = 0; i < sizeof not_finite / sizeof *not_finite; i++)
            if (strcmp(dot + 1, not_finite[i]) == 0) return FAB_OK;
    for (int i = 0; i < v->ndim; i++) count *= v->shape[i];
    const fab_rows all = {v->data, v->type, 1, count};
    return count == 0 || fab_rows_check(v->name, &all, count) == FAB_OK ? FAB_OK : FAB_BAD_FILE;
}

/* Bytes of a number. */
static size_t size_of(fab_dtype type)
{
    return type == FAB_F32 ? sizeof(float) : sizeof(double);
}

fab_status fab_state_take(const fab_tensors *t, const char *name, fab_dtype type, int ndim,
                          const int64_t *shape, void *out)
{
    const fab_tensor *v = fab_tensors_find(t, name);
    if (!v)
        return FAB_FAIL(
            FAB_BAD_FILE,
            "there is no tensor '%s' to continue from; a stream that an earlier version "
            "saved may be read, not continued",
            name);
    int same = v->type == type && v->ndim == ndim;
    size_t bytes = size_of(type);
    if (same)
        for (int i = 0; i < ndim; i++) {
            same = same && v->shape[i] == shape[i];
            bytes *= (size_t)shape[i];
        }
    if (!same)
        return FAB_FAIL(FAB_BAD_FILE, "tensor '%s' has not the type and shape the settings ask for",
                        name);
    FAB_TRY(check_finite(v));
    if (bytes) memcpy(out, v->data, bytes);
    return FAB_OK;
}

/* The shape of a tensor; its number of dimensions. */
static int shape_of(const fab_state *v, int64_t shape[2])
{
    shape[0] = v->n;
    shape[1] = v->k;
    return v->k > 0 ? 2 : 1;
}

static const fab_state *end_of(const fab_states *s)
{
    return s->of + sizeof s->of / sizeof s->of[0];
}

void fab_states_add(fab_states *s, const char *name, fab_dtype type, int64_t n, int64_t k, void *p)
{
    fab_state *v = s->of;
    while (v < end_of(s) && v->name) v++;
    assert(v < end_of(s));
    *v = (fab_state){name, type, n, k, p};
}

/* ---- where the kernels are ---------------------------------------------------------------------------- */

static size_t bytes_of(const fab_state *v)
{
    return (size_t)(v->n * (v->k > 0 ? v->k : 1)) * size_of(v->type);
}

/* So many that the next begins at a line of a cache. */
static size_t room_of(const fab_state *v)
{
    return (bytes_of(v) + 63) / 64 * 64;
}

enum { MOST = sizeof(fab_states) / sizeof(fab_state) };

void fab_far_add(fab_far_states *s, const char *name, fab_far_kind kind, fab_dtype type, int64_t n,
                 int64_t k, void *p)
{
    int i = 0;
    while (i < MOST && s->all.of[i].name) i++;
    assert(i < MOST);
    s->all.of[i] = (fab_state){name, type, n, k, p};
    s->kind[i] = kind;
}

static int is_far(const fab_run *r, const fab_far_states *s, int i)
{
    return r->ops->memory && s->kind[i] != FAB_NEAR && s->all.of[i].p;
}

fab_status fab_far_room(const fab_run *r, const fab_far_states *far, fab_states *near, void **room)
{
    size_t bytes = 0;
    *near = far->all;
    *room = NULL;
    for (int i = 0; i < MOST; i++)
        if (is_far(r, far, i)) bytes += room_of(&near->of[i]);
    if (bytes == 0) return FAB_OK;
    FAB_TRY(fab_alloc_array(room, (int64_t)bytes, 1, "a state on its way"));
    char *next = *room;
    for (int i = 0; i < MOST; i++)
        if (is_far(r, far, i)) {
            near->of[i].p = next;
            next += room_of(&near->of[i]);
        }
    return FAB_OK;
}

fab_status fab_far_fetch(const fab_run *r, const fab_far_states *far, fab_states *near, void **room)
{
    const fab_vectors *k = r->ops->vectors;
    FAB_TRY(fab_far_room(r, far, near, room));
    for (int i = 0; i < MOST; i++) {
        const fab_state *from = &far->all.of[i], *to = &near->of[i];
        if (!is_far(r, far, i)) continue;
        if (far->kind[i] == FAB_FAR_VECTOR)
            k->get(r, from->n, from->p, to->p);
        else if (far->kind[i] == FAB_FAR_FLAGS)
            k->get_flags(r, from->n, from->p, to->p);
        else
            k->fetch(r, bytes_of(from), from->p, to->p);
    }
    return FAB_OK;
}

void fab_far_store(const fab_run *r, const fab_states *near, const fab_far_states *far)
{
    const fab_vectors *k = r->ops->vectors;
    for (int i = 0; i < MOST; i++) {
        const fab_state *from = &near->of[i], *to = &far->all.of[i];
        if (!is_far(r, far, i)) continue;
        if (far->kind[i] == FAB_FAR_VECTOR)
            k->put(r, to->n, from->p, to->p);
        else if (far->kind[i] == FAB_FAR_FLAGS)
            k->put_flags(r, to->n, from->p, to->p);
        else
            k->store(r, bytes_of(to), from->p, to->p);
    }
}

/* ---- files --------------------------------------------------------------------------------------------- */

fab_status fab_states_save(const fab_states *s, fab_tensors *t)
{
    int64_t shape[2];
    for (const fab_state *v = s->of; v < end_of(s) && v->name; v++)
        if (v->p) FAB_TRY(fab_tensors_add(t, v->name, v->type, shape_of(v, shape), shape, v->p));
    return FAB_OK;
}

fab_status fab_states_load(const fab_states *s, const fab_tensors *t)
{
    int64_t shape[2];
    for (const fab_state *v = s->of; v < end_of(s) && v->name; v++)
        if (v->p) FAB_TRY(fab_state_take(t, v->name, v->type, shape_of(v, shape), shape, v->p));
    return FAB_OK;
}

fab_status fab_state_rename(const fab_tensors *from, const char *drop, const char *add,
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

fab_status fab_state_loglik(const fab_gauss *q, const double *d2, const fab_exec *x, double *loglik)
{
    fab_solver *s;
    double *inverse, *diag, logdet, excess = 0;
    FAB_TRY(fab_alloc_array((void **)&inverse, 2 * q->D, sizeof *inverse, "log-likelihood"));
    diag = inverse + q->D;
    fab_status status = fab_solver_create(&s, q, x);
    if (status == FAB_OK) {
        const int before = fab_blas_enter();
        status = fab_solver_diag_inverse(s, inverse);
        if (status == FAB_OK) status = fab_solver_diag(s, diag);
        if (status == FAB_OK) status = fab_solver_logdet(s, &logdet);
        fab_blas_leave(before);
        fab_solver_free(s);
    }
    if (status == FAB_OK) {
        fab_run sum = {0};
        if (x && x->comm) sum.comm = *x->comm;
        for (int64_t i = 0; i < q->D; i++) excess += (d2[i] - diag[i]) * inverse[i];
        status = fab_sum(&sum, &excess, 1);
        const double D = (double)fab_total(&sum.comm, q->D);
        *loglik = -0.5 * (D * (1 + 1.8378770664093454836) + logdet + excess);
    }
    fab_release(inverse);
    return status;
}

fab_status fab_state_floor(fab_gauss *q, const double *d2, double psi_min, const fab_run *r,
                           int64_t *floored)
{
    const double D = (double)fab_total(&r->comm, q->D);
    double mean = 0, count = 0;
    for (int64_t i = 0; i < q->D; i++) mean += d2[i] / D;
    FAB_TRY(fab_sum(r, &mean, 1));
    for (int64_t i = 0; i < q->D; i++) {
        const double floor = psi_min * (d2[i] > 0 ? d2[i] : mean);
        if (q->psi[i] > floor) continue;
        q->psi[i] = floor;
        count++;
    }
    FAB_TRY(fab_sum(r, &count, 1));
    *floored = (int64_t)count;
    return FAB_OK;
}
