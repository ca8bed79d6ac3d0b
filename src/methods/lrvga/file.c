/* file.c - the state of lrvga in files.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "train/state.h"
#include "methods/lrvga/state.h"
#include <math.h>

enum { NUMBERS = sizeof(fab_lrvga_numbers) / sizeof(double) };

fab_status fab_lrvga_save(void *handle, fab_tensors *t)
{
    fab_lrvga *e = handle;
    const fab_dtype type = e->run.ops->type;
    const int64_t T = e->T, count = NUMBERS, n = e->pending;
    FAB_TRY(fab_tensors_add(t, "state.mu", FAB_F64, 1, &T, e->S->mu));
    FAB_TRY(
        fab_tensors_add(t, "state.F", type, 2, (const int64_t[]){T, e->set.inner_rank}, e->S->F));
    FAB_TRY(fab_tensors_add(t, "state.psi", FAB_F64, 1, &T, e->S->psi));
    FAB_TRY(fab_tensors_add(t, "state.prior", FAB_F64, 1, &T, e->psi0));
    FAB_TRY(fab_tensors_add(t, "state.numbers", FAB_F64, 1, &count, &e->n));
    FAB_TRY(fab_tensors_add(t, "state.y", FAB_F64, 1, &n, e->y));
    FAB_TRY(fab_tensors_add(t, "state.weight", FAB_F64, 1, &n, e->w));
    FAB_TRY(fab_tensors_add(t, "state.offset", FAB_F64, 1, &n, e->offset));
    return fab_tensors_add(t, "state.pending", type, 2, (const int64_t[]){n * e->classes, T},
                           fab_absorb_columns(e->absorb));
}

/* Numbers from a file: in their ranges, and rows that passed the door. */
static fab_status check_loaded(const fab_lrvga *e)
{
    const fab_lrvga_numbers *n = &e->n;
    const double flags[] = {n->started, n->given, n->sound};
    for (int i = 0; i < 3; i++)
        if (flags[i] != 0 && flags[i] != 1)
            return FAB_FAIL(FAB_BAD_FILE, "a flag of the state is %g", flags[i]);
    if (!(n->used >= 0 && n->used <= (double)e->set.inner_rank) || n->used != floor(n->used) ||
        !(n->rows >= 0 && n->count >= 0 && n->squares >= 0) ||
        !isfinite(n->rows + n->squares + n->count))
        return FAB_FAIL(FAB_BAD_FILE, "the numbers of the state do not belong together");
    if (n->started > 0 && !(n->beta0 > 0 && isfinite(n->beta0) && (n->given > 0 || n->alpha > 0)))
        return FAB_FAIL(FAB_BAD_FILE, "the state has no prior");
    for (int64_t i = 0; i < e->T && n->given > 0; i++)
        if (!(e->psi0[i] > 0) || !isfinite(e->psi0[i]))
            return FAB_FAIL(FAB_BAD_FILE, "state.prior[%lld] is %g, expected a number > 0",
                            (long long)i, e->psi0[i]);
    const fab_examples x = {
        {fab_absorb_columns(e->absorb), e->run.ops->type, e->pending, e->T * e->classes},
        e->y,
        e->w,
        e->offset};
    if (fab_examples_check("state.pending", &e->model, &x) != FAB_OK) return FAB_BAD_FILE;
    return fab_gauss_check(e->S) == FAB_OK ? FAB_OK : FAB_BAD_FILE;
}

fab_status fab_lrvga_load(void *handle, const fab_tensors *t)
{
    fab_lrvga *e = handle;
    const fab_dtype type = e->run.ops->type;
    const int64_t T = e->T, count = NUMBERS;
    const fab_tensor *pending = fab_tensors_find(t, "state.pending");
    FAB_TRY(fab_state_take(t, "state.numbers", FAB_F64, 1, &count, &e->n));
    const int64_t full = fab_lrvga_next(e);
    if (!pending || pending->ndim != 2 || pending->shape[0] < 0 || pending->shape[0] % e->classes ||
        pending->shape[0] / e->classes >= full)
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.pending' is absent or does not fit the block");
    const int64_t n = pending->shape[0] / e->classes;
    FAB_TRY(fab_state_take(t, "state.mu", FAB_F64, 1, &T, e->S->mu));
    FAB_TRY(
        fab_state_take(t, "state.F", type, 2, (const int64_t[]){T, e->set.inner_rank}, e->S->F));
    FAB_TRY(fab_state_take(t, "state.psi", FAB_F64, 1, &T, e->S->psi));
    FAB_TRY(fab_state_take(t, "state.prior", FAB_F64, 1, &T, e->psi0));
    FAB_TRY(fab_state_take(t, "state.y", FAB_F64, 1, &n, e->y));
    FAB_TRY(fab_state_take(t, "state.weight", FAB_F64, 1, &n, e->w));
    FAB_TRY(fab_state_take(t, "state.offset", FAB_F64, 1, &n, e->offset));
    FAB_TRY(fab_state_take(t, "state.pending", type, 2, (const int64_t[]){n * e->classes, T},
                           fab_absorb_columns(e->absorb)));
    e->pending = n;
    return check_loaded(e);
}
