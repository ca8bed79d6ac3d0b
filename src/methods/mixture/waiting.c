/* waiting.c - what the mixtures of a stream share: rows that wait until a block is full, and how much the past counts beside it.
 *
 *   the statistics of all blocks so far are  s <- (1 - gamma) s + gamma s_block,  gamma = (t0 + t)^-kappa  (Cappe and Moulines 2009)
 *   and with running sums gamma = w / (n + w).  As n counts rows, the former is a factor c for it: c n / (c n + w) = 1 - gamma.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/mixture/waiting.h"
#include "base/fail.h"
#include "base/rows.h"
#include <math.h>

fab_status fab_waiting_check(const char *who, double kappa, double forget)
{
    if (!(kappa > 0) || !(forget < 1)) return FAB_OK;
    return FAB_FAIL(
        FAB_BAD_ARGUMENT,
        "%s: kappa = %g and forget = %g both say how fast the past fades: expected one of "
        "them, kappa = 0 or forget = 1",
        who, kappa, forget);
}

int64_t fab_waiting_room(const fab_waiting *p)
{
    return p->first > p->block ? p->first : p->block;
}

void fab_waiting_layout(fab_layout *l, fab_waiting *p)
{
    p->rows = fab_place(l, fab_waiting_room(p) * p->D, sizeof *p->rows);
    p->w = fab_place(l, fab_waiting_room(p), sizeof *p->w);
    p->blocks = fab_place(l, 1, sizeof *p->blocks);
}

fab_rows fab_waiting_rows(const fab_waiting *p)
{
    return (fab_rows){.p = p->rows, .type = FAB_F64, .n = p->n, .ld = p->D};
}

fab_status fab_waiting_update(fab_waiting *p, const fab_examples *x, fab_status (*flush)(void *),
                              void *handle)
{
    for (int64_t j = 0; j < x->x.n; j++) {
        fab_rows_get(&x->x, j, p->D, p->rows + p->n * p->D);
        p->w[p->n++] = x->weight ? x->weight[j] : 1;
        if (p->n < (p->started ? p->block : p->first)) continue;
        const fab_status s = flush(handle);
        if (s == FAB_OK) continue;
        p->n--; /* this row has not been taken */
        return s;
    }
    return FAB_OK;
}

double fab_waiting_past(const fab_waiting *p, double n, double w)
{
    if (!(p->kappa > 0) || !(n > 0)) return 1;
    const double gamma = pow(p->t0 + p->blocks[0] + 1, -p->kappa);
    return w * (1 - gamma) / (gamma * n);
}

/* ---- files -------------------------------------------------------------------------------------------- */

void fab_waiting_save(fab_waiting *p, fab_states *s)
{
    fab_states_add(s, "state.started", FAB_I64, 1, 0, &p->started);
    if (p->kappa > 0) fab_states_add(s, "state.blocks", FAB_F64, 1, 0, p->blocks);
}

void fab_waiting_save_rows(fab_waiting *p, fab_states *s)
{
    if (!p->n) return;
    fab_states_add(s, "state.pending", FAB_F64, p->n, p->D, p->rows);
    fab_states_add(s, "state.pending_weight", FAB_F64, p->n, 0, p->w);
}

fab_status fab_waiting_load(fab_waiting *p, const fab_tensors *t)
{
    const fab_tensor *pending = fab_tensors_find(t, "state.pending");
    FAB_TRY(fab_state_take(t, "state.started", FAB_I64, 1, (int64_t[]){1}, &p->started));
    p->started = p->started != 0;
    const int64_t room = p->started ? p->block : p->first;
    p->n = 0;
    if (pending && (pending->ndim != 2 || pending->shape[0] < 0 || pending->shape[0] >= room))
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.pending' does not fit a block of %lld rows",
                        (long long)room);
    if (pending) p->n = pending->shape[0];
    return FAB_OK;
}

fab_status fab_waiting_check_loaded(const fab_waiting *p)
{
    for (int64_t j = 0; j < p->n; j++)
        if (!(p->w[j] > 0))
            return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.pending_weight' has the weight %g",
                            p->w[j]);
    if (!(p->blocks[0] >= 0))
        return FAB_FAIL(FAB_BAD_FILE, "tensor 'state.blocks' has the number %g", p->blocks[0]);
    return FAB_OK;
}
