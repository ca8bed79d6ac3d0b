/* factors_view.c - a factor analysis that was saved, to look at: loadings, what its axes explain, scores of rows.
 *
 * SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/memory.h"
#include "data/source/names.h"
#include "data/source/source.h"
#include "table/factors.h"
#include <inttypes.h>
#include <string.h>

enum { PIECE = 1024 }; /* rows read at a time */

/* ---- names ------------------------------------------------------------------------------------------ */

/* {"names": [..]} of the file; none, or as many as coordinates. */
static fab_status read_names(fab_factors_view *v, const char *json)
{
    json_t *o;
    if (!json) return FAB_OK;
    FAB_TRY(fab_json_read_string(&o, "columns", json));
    const json_t *names = json_object_get(o, "names");
    fab_status s = FAB_OK;
    if (!json_is_array(names) || (int64_t)json_array_size(names) != v->D)
        s = FAB_FAIL(FAB_BAD_FILE, "the names of its columns are not a list of %" PRId64, v->D);
    if (s == FAB_OK) s = fab_alloc_array((void **)&v->name, v->D, sizeof *v->name, "names");
    if (s == FAB_OK) memset(v->name, 0, (size_t)v->D * sizeof *v->name);
    for (int64_t d = 0; d < v->D && s == FAB_OK; d++) {
        const char *text = json_string_value(json_array_get(names, (size_t)d));
        s = text ? fab_copy_text(&v->name[d], text)
                 : FAB_FAIL(FAB_BAD_FILE, "name %" PRId64 " of its columns is no text", d);
    }
    json_decref(o);
    return s;
}

/* ---- open ------------------------------------------------------------------------------------------- */

static fab_status fill(fab_factors_view *v, const fab_posterior *p, fab_rotation_kind kind)
{
    fab_rotation *principal;
    FAB_TRY(read_names(v, fab_tensors_get(p->file, "features")));
    FAB_TRY(fab_rotation_create(&v->rotation, v->q, kind, 1));
    FAB_TRY(fab_alloc_array((void **)&v->loading, v->D * v->K, sizeof *v->loading, "loadings"));
    FAB_TRY(fab_alloc_array((void **)&v->uniqueness, v->D, sizeof *v->uniqueness, "loadings"));
    FAB_TRY(fab_alloc_array((void **)&v->explained, v->K, sizeof *v->explained, "loadings"));
    FAB_TRY(fab_alloc_array((void **)&v->principal, v->K, sizeof *v->principal, "loadings"));
    FAB_TRY(fab_alloc_array((void **)&v->order, v->D, sizeof *v->order, "loadings"));
    fab_factors_loadings_of(v->q, v->rotation, v->loading, v->uniqueness, v->explained, v->order);
    FAB_TRY(fab_rotation_create(&principal, v->q, FAB_ROTATION_PRINCIPAL, 1));
    memcpy(v->principal, principal->length, (size_t)v->K * sizeof *v->principal);
    fab_rotation_free(principal);
    return FAB_OK;
}

fab_status fab_factors_view_open(fab_factors_view **v, const char *file, const fab_posterior *p,
                                 fab_rotation_kind kind)
{
    const fab_gauss *q = p->mix.part[0];
    fab_factors_view *new;
    *v = NULL;
    if (p->mix.n != 1 || q->form != FAB_FORM_COVARIANCE || q->K < 1 || q->total)
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s: has no factors: it is %s, and the Gaussian of a factor analysis is "
                        "one covariance with K of 1 or more",
                        file,
                        p->mix.n != 1                   ? "a mixture"
                        : q->form == FAB_FORM_PRECISION ? "a precision"
                        : q->form == FAB_FORM_POINT     ? "a point"
                        : q->total                      ? "over part of its coordinates"
                                                        : "a covariance with K = 0");
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "factors"));
    *new = (fab_factors_view){.D = q->D, .K = q->K, .q = q};
    const fab_status s = fill(new, p, kind);
    if (s == FAB_OK) {
        *v = new;
        return FAB_OK;
    }
    fab_factors_view_free(new);
    return fab_prefix(s, "%s: ", file);
}

void fab_factors_view_free(fab_factors_view *v)
{
    if (!v) return;
    if (v->name)
        for (int64_t d = 0; d < v->D; d++) fab_release(v->name[d]);
    fab_release(v->name);
    fab_rotation_free(v->rotation);
    fab_release(v->loading);
    fab_release(v->uniqueness);
    fab_release(v->explained);
    fab_release(v->principal);
    fab_release(v->order);
    fab_release(v);
}

/* ---- scores ----------------------------------------------------------------------------------------- */

/* Rows without the column at `weighed` (-1: none) and behind `label`. */
static fab_status score_rows(const fab_factors_view *v, fab_solver *solver, fab_source *s,
                             int64_t label, int64_t weighed, int64_t most, double *z, int64_t *n)
{
    const int64_t columns = fab_source_columns(s);
    double *x;
    fab_status status = FAB_OK;
    FAB_TRY(fab_alloc_array((void **)&x, PIECE * columns, sizeof *x, "rows to score"));
    while (status == FAB_OK && *n < most) {
        int64_t got = 0;
        status = fab_source_next(s, most - *n < PIECE ? most - *n : PIECE, x, &got);
        if (status != FAB_OK || got == 0) break;
        if (weighed >= 0 && !label)
            for (int64_t i = 0; i < got; i++)
                memmove(x + i * columns + weighed, x + i * columns + weighed + 1,
                        (size_t)(columns - weighed - 1) * sizeof *x);
        const fab_rows rows = {.p = x + label, .type = FAB_F64, .n = got, .ld = columns};
        status = fab_solver_scores(solver, v->rotation, &rows, z + *n * v->K);
        *n += got;
    }
    fab_release(x);
    return status;
}

fab_status fab_factors_view_scores(const fab_factors_view *v, const char *file,
                                   const fab_posterior *p, fab_source *s, int64_t most, double *z,
                                   int64_t *n)
{
    const int64_t label = fab_source_format(s) == FAB_FORMAT_LIBSVM;
    const char *weight = fab_tensors_get(p->file, "weight");
    int64_t weighed = -1;
    fab_solver *solver;
    *n = 0;
    if (weight && !label) FAB_TRY(fab_source_find_column(s, weight, &weighed));
    const int64_t D = fab_source_columns(s) - (label || weighed >= 0);
    if (D != v->D)
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s has D = %" PRId64 " coordinates and %s has D = %" PRId64 "%s", file,
                        v->D, s->in.name, D, D > v->D ? "; --exclude leaves columns out" : "");
    FAB_TRY(fab_source_names_check(s, label, weighed, file, fab_tensors_get(p->file, "features")));
    FAB_TRY(fab_solver_create(&solver, v->q, NULL));
    const fab_status status = score_rows(v, solver, s, label, weighed, most, z, n);
    fab_solver_free(solver);
    FAB_TRY(status);
    return *n > 0 ? FAB_OK : FAB_FAIL(FAB_BAD_DATA, "%s: there are no rows", s->in.name);
}
