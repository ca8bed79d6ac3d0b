/* file.c - the state of lrvga in files.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "methods/lrvga/state.h"
#include "base/memory.h"
#include <math.h>
#include <string.h>

static fab_states state_of(fab_lrvga *e)
{
    const fab_dtype type = e->run.ops->type;
    fab_states s = {{{"state.mu", FAB_F64, e->T, 0, e->S->mu},
                     {"state.F", type, e->T, e->set.inner_rank, e->S->F},
                     {"state.psi", FAB_F64, e->T, 0, e->S->psi},
                     {"state.prior", FAB_F64, e->T, 0, e->psi0}}};
    fab_pending_states(&e->pending, type, e->classes, e->T, fab_absorb_columns(e->absorb), &s);
    return s;
}

static fab_states counts_of(fab_lrvga *e)
{
    fab_states s = {{{"state.rank", FAB_I64, sizeof e->rank / sizeof(int64_t), 0, &e->rank}}};
    fab_stream_states(&e->stream, &s);
    return s;
}

fab_status fab_lrvga_save(void *handle, fab_tensors *t)
{
    fab_lrvga *e = handle;
    if (!e->psi0) { /* the file has zeros where no prior was given */
        FAB_TRY(fab_alloc_array((void **)&e->psi0, e->T, sizeof *e->psi0, "lrvga"));
        memset(e->psi0, 0, (size_t)e->T * sizeof *e->psi0);
    }
    const fab_states all = state_of(e), counts = counts_of(e);
    FAB_TRY(fab_states_save(&all, t));
    return fab_states_save(&counts, t);
}

/* Earlier files have counts and sums as doubles in one tensor. */
static fab_status load_numbers(fab_lrvga *e, const fab_tensors *t)
{
    fab_stream *s = &e->stream;
    const int64_t count = 13;
    double n[13];
    FAB_TRY(fab_state_take(t, "state.numbers", FAB_F64, 1, &count, n));
    FAB_TRY(fab_stream_whole(n[0], &s->count.started));
    FAB_TRY(fab_stream_whole(n[1], &s->count.given));
    FAB_TRY(fab_stream_whole(n[2], &e->rank.used));
    FAB_TRY(fab_stream_whole(n[3], &e->rank.sound));
    s->scale = (fab_stream_scale){.alpha = n[4], .beta = n[5]};
    FAB_TRY(fab_stream_whole(n[6], &s->count.rows));
    s->sum = (fab_stream_sums){.rows = n[7],
                               .squares = n[8],
                               .uninformative = n[9],
                               .power = n[10],
                               .logdet = n[11],
                               .score = n[12]};
    return FAB_OK;
}

/* Numbers from a file: in their ranges, and rows that passed the door. */
static fab_status check_loaded(const fab_lrvga *e)
{
    FAB_TRY(fab_stream_check_loaded(&e->stream));
    if (e->rank.used < 0 || e->rank.used > e->set.inner_rank || e->rank.sound < 0 ||
        e->rank.sound > 1)
        return FAB_FAIL(FAB_BAD_FILE, "the state has %lld columns of %lld, sound: %lld",
                        (long long)e->rank.used, (long long)e->set.inner_rank,
                        (long long)e->rank.sound);
    if (e->stream.count.given)
        for (int64_t i = 0; i < e->T; i++)
            if (!(e->psi0[i] > 0) || !isfinite(e->psi0[i]))
                return FAB_FAIL(FAB_BAD_FILE, "state.prior[%lld] is %g, expected a number > 0",
                                (long long)i, e->psi0[i]);
    const fab_examples x = {
        {fab_absorb_columns(e->absorb), e->run.ops->type, e->pending.n, e->T * e->classes},
        e->pending.y,
        e->pending.w,
        e->pending.offset};
    if (fab_examples_check("state.pending", &e->stream.model, &x) != FAB_OK) return FAB_BAD_FILE;
    return fab_gauss_check(e->S) == FAB_OK ? FAB_OK : FAB_BAD_FILE;
}

fab_status fab_lrvga_load(void *handle, const fab_tensors *t)
{
    fab_lrvga *e = handle;
    const fab_states counts = counts_of(e);
    FAB_TRY(fab_tensors_find(t, "state.numbers") ? load_numbers(e, t)
                                                 : fab_states_load(&counts, t));
    FAB_TRY(
        fab_pending_find(&e->pending, t, "state.pending", e->classes, fab_lrvga_next(e), "block"));
    if (e->stream.count.given && !e->psi0)
        FAB_TRY(fab_alloc_array((void **)&e->psi0, e->T, sizeof *e->psi0, "lrvga"));
    const fab_states all = state_of(e);
    FAB_TRY(fab_states_load(&all, t));
    return check_loaded(e);
}
