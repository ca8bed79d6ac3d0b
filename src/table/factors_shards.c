/* factors_shards.c - a factor analysis that several processes share, each of which writes its own coordinates.
 *
 * No process has them all.  The index comes last, and names shards that are all there.
 *
 * SPDX-License-Identifier: MIT */
#include "base/tensors_shards.h"
#include "base/text.h"
#include "fabayes/settings.h"
#include "fit/fit.h"
#include "la/ops.h"
#include "table/factors.h"
#include <stdio.h>

static const char *const tensor[] = {"mu", "F", "psi"};
enum { TENSORS = sizeof tensor / sizeof *tensor };

/* What is different for another fit, and the same in all processes: the sums of mu and psi. */
static fab_status add_check(const fab_factors *f, const fab_gauss *q, fab_tensors *t)
{
    double sums[2] = {0, 0};
    char text[64], one[32], other[32];
    for (int64_t d = 0; d < q->D; d++) {
        sums[0] += q->mu[d];
        sums[1] += q->psi[d];
    }
    FAB_TRY(f->exec.comm->sum(f->exec.comm->ctx, sums, 2));
    fab_print_double(one, sizeof one, sums[0]);
    fab_print_double(other, sizeof other, sums[1]);
    snprintf(text, sizeof text, "%s %s", one, other);
    return fab_tensors_set(t, FAB_SHARDS_CHECK, text);
}

static fab_status add_part(const fab_gauss *q, int64_t number, fab_tensors *t)
{
    const void *data[TENSORS] = {q->mu, q->F, q->psi};
    for (int k = 0; k < TENSORS; k++) {
        char name[32];
        const int64_t shape[] = {q->D, q->K};
        const int matrix = data[k] == q->F;
        snprintf(name, sizeof name, "%s.%05lld", tensor[k], (long long)number);
        FAB_TRY(fab_tensors_add(t, name, matrix ? q->type : FAB_F64, 1 + matrix, shape, data[k]));
    }
    return FAB_OK;
}

static fab_status write_shard(const fab_gauss *q, int64_t rank, int64_t all, const char *path,
                              fab_tensors *t)
{
    char *name;
    FAB_TRY(fab_shard_name(path, rank + 1, all, 1, &name));
    fab_status s = add_part(q, rank + 1, t);
    if (s == FAB_OK) s = fab_tensors_write(t, name);
    fab_text_free(name);
    return s;
}

static fab_status prepare(fab_factors *f, const fab_gauss *q, const char *path, fab_tensors **t)
{
    FAB_TRY(fab_tensors_create(t));
    if (!fab_is_index(path))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: shards have an index, whose name ends in %s", path,
                        FAB_INDEX_END);
    FAB_TRY(fab_tensors_set(*t, "fabayes", fab_version()));
    FAB_TRY(fab_tensors_set(*t, "form", fab_form_name(q->form)));
    FAB_TRY(fab_factors_describe(f, *t));
    return fab_factors_describe_fit(f, *t);
}

fab_status fab_factors_save_shards(fab_factors *f, int64_t rank, const char *path)
{
    const fab_gauss *q;
    fab_tensors *t = NULL;
    const fab_comm *c = f->exec.comm;
    if (!c || !c->sum || f->whole.D)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: shards are written by several processes, of what was not gathered",
                        path);
    FAB_TRY(fab_factors_result(f, &q));
    fab_status s = fab_factors_agree(f, prepare(f, q, path, &t));
    if (s == FAB_OK) s = fab_factors_agree(f, add_check(f, q, t));
    if (s == FAB_OK) s = fab_factors_agree(f, write_shard(q, rank, f->whole.processes, path, t));
    if (s == FAB_OK)
        s = fab_factors_agree(
            f, c->first_row > 0 ? FAB_OK
                                : fab_index_write(t, tensor, TENSORS, f->whole.processes, path));
    fab_tensors_free(t);
    return s;
}
